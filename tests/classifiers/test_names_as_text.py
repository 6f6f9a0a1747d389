"""Names of columns that are no text: files and lazy frames write them as text."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anbexact
from anbexact import (
    ANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers import AODEClassifier
from anbexact.cli import main
from anbexact.conformal import FullConformalClassifier
from anbexact.selection import BayesFactorSelector

RNG = np.random.default_rng(0)
Y = RNG.integers(2, size=120)
X = pd.DataFrame(
    {2: np.where(RNG.random(120) < 0.1, 1 - Y, Y), 10: np.where(RNG.random(120) < 0.4, Y, 1 - Y), "k": Y * 0 + 1}
)
AS_TEXT = X.rename(columns=str)
MODELS = [
    NaiveBayesClassifier(ess=1.0),
    ANBClassifier(ess=1.0),
    AODEClassifier(ess=1.0),
    RefittedClassifier(TANClassifier(ess=1.0), l2=1.0),
    PooledClassifier([("a", NaiveBayesClassifier(ess=1.0)), ("b", TANClassifier(ess=1.0))]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", [[2, 10, "k"], [2, 10, 4]])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_numbers_are_also_found_as_text(model, names, tmp_path):
    named = X.set_axis(names, axis=1)
    texts = named.rename(columns=str)
    fitted = model.fit(named, Y)
    fitted.save(tmp_path / "model.json")
    for classifier in (fitted, anbexact.load(tmp_path / "model.json")):
        expected = classifier.predict_proba(named)
        for rows in (texts, pl.from_pandas(texts), named.to_numpy()):
            np.testing.assert_array_equal(classifier.predict_proba(rows), expected)
        for reordered in (texts.iloc[:, [1, 0, 2]], pl.from_pandas(texts)[:, [2, 1, 0]], named.iloc[:, [1, 0, 2]]):
            with pytest.raises(ValueError, match="names should match those that were passed during fit, in the same"):
                classifier.predict_proba(reordered)
        with pytest.raises(ValueError, match=r"unseen at fit time: \['3'\]; now missing: \[2\]"):
            classifier.predict(texts.rename(columns={"2": "3"}))
        with pytest.raises(ValueError, match="X has 2 features"):
            classifier.predict(named.to_numpy()[:, :2])
        for part in (texts.iloc[:, [1, 0, 2]].assign(more=1), pl.from_pandas(texts)[:, [2, 1, 0]].lazy()):
            (found,) = classifier.predict_frame(part, proba=True)
            np.testing.assert_array_equal(found.iloc[:, 1:].to_numpy(float), expected)


def test_text_is_also_found_as_numbers():
    numbers = X.set_axis([2, 10, 4], axis=1)
    classifier = NaiveBayesClassifier(ess=1.0).fit(numbers.rename(columns=str), Y)
    np.testing.assert_array_equal(
        classifier.predict_proba(numbers), classifier.predict_proba(numbers.rename(columns=str))
    )
    with pytest.raises(ValueError, match="names should match"):
        classifier.predict(numbers[[10, 2, 4]])


@pytest.mark.filterwarnings("error")
def test_tables_without_names():
    array = X.to_numpy()
    classifier = NaiveBayesClassifier(ess=1.0).fit(array, Y)
    expected = classifier.predict_proba(array)
    np.testing.assert_array_equal(classifier.predict_proba(pd.DataFrame(array)), expected)
    with pytest.warns(UserWarning, match="X has feature names, but NaiveBayesClassifier was fitted without"):
        np.testing.assert_array_equal(classifier.predict_proba(AS_TEXT), expected)
    with pytest.raises(ValueError, match="names should match"):
        classifier.predict(AS_TEXT.set_axis(["x1", "x0", "x2"], axis=1))


@pytest.mark.filterwarnings("ignore")
def test_explanations_and_conformal_sets():
    named = X[[2, 10]]
    texts = named.rename(columns=str)
    classifier = ANBClassifier(ess=1.0, discretizer="equal_frequency").fit(named, Y)
    (first,), (second,) = classifier.explain(named.iloc[:1]), classifier.explain(texts.iloc[:1])
    assert str(first) == str(second)
    sets = FullConformalClassifier(ANBClassifier(ess=1.0, max_parents=0)).fit(named, Y)
    np.testing.assert_array_equal(sets.p_values(texts.iloc[:3]), sets.p_values(named.iloc[:3]))


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_reads_columns_by_their_names(capsys, tmp_path):
    classifier = NaiveBayesClassifier(ess=1.0).fit(X, Y)
    classifier.save(tmp_path / "model.json")
    AS_TEXT[["k", "10", "2"]].to_csv(tmp_path / "rows.csv", index=False)
    assert main(["predict", str(tmp_path / "model.json"), str(tmp_path / "rows.csv"), "--proba"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    np.testing.assert_allclose(found[["P(0)", "P(1)"]], classifier.predict_proba(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_selected_columns():
    selector = BayesFactorSelector().fit(X[[2, 10]], Y)
    np.testing.assert_array_equal(selector.transform(AS_TEXT[["2", "10"]]), selector.transform(X[[2, 10]]))
    with pytest.raises(ValueError, match="names should match"):
        selector.transform(AS_TEXT[["10", "2"]])
