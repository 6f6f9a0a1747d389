"""The state of missing cells is a fact about a column, not a word: columns that contain "(missing)" as a text."""

import json
import pickle
import runpy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_onnx import fed, session
from test_pmml import Evaluator
from test_sql import DATABASES, DIALECTS

import anbexact
from anbexact import (
    AdditiveClassifier,
    DiscreteTable,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
    Vocabulary,
)
from anbexact.adapters import from_file, from_pgmpy, posterior, to_file, to_onnx, to_pgmpy, to_pmml, to_python, to_sql
from anbexact.classifiers import AODEClassifier
from anbexact.files.document import digest

WORD = "(missing)"


def table(gaps=True, n=150):
    """Text columns, one with many values, of which WORD is one, some of whose cells are missing; and the class."""
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=n)
    job = np.array([WORD, "clerk", "nurse"], dtype=object)[(y + (rng.random(n) < 0.3) * rng.integers(3, size=n)) % 3]
    town = np.array([WORD, *(f"t{k:02}" for k in range(30))], dtype=object)[(16 * y + rng.integers(16, size=n)) % 31]
    X = pd.DataFrame({"job": job, "town": town, "size": (y + rng.normal(size=n)).round(2).astype(object)})
    if gaps:
        X = X.mask((rng.random(X.shape) < 0.2) * (1 + y[:, None]) > rng.random(X.shape), None)
    return X, pd.Series(np.array(["no", "yes"], dtype=object)[y], name="ill")


def renamed(X):
    """Return the rows with another word that sorts as WORD does."""
    return X.replace(WORD, "(mizzing)")


KINDS = [(gaps, rule) for gaps in (False, True) for rule in ("own_state", "marginalize", "auto")]
MODELS = {
    "naive Bayes": NaiveBayesClassifier,
    "TAN": TANClassifier,
    "AODE": AODEClassifier,
    "refit": lambda **given: RefittedClassifier(TANClassifier(**given), l2=1.0),
    "smooth": lambda **given: AdditiveClassifier(NaiveBayesClassifier(**given), smooth=1.0),
    "pool": lambda **given: PooledClassifier(
        [("NB", NaiveBayesClassifier(**given)), ("TAN", TANClassifier(**given))]
    ),
}


def made(model, rule):
    return MODELS[model](ess=1.0, group_categories=5, handle_missing=rule)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("gaps", "rule"), KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_the_word_is_as_good_as_any_other(model, gaps, rule, tmp_path):
    X, y = table(gaps)
    rows = table(True)[0]
    other = made(model, rule).fit(renamed(X), y)
    expected = other.predict_proba(renamed(rows))
    classifier = made(model, rule).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(rows), expected, rtol=0, atol=1e-12)
    classifier.save(tmp_path / "model.json")
    for again in (anbexact.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(classifier))):
        np.testing.assert_array_equal(again.predict_proba(rows), classifier.predict_proba(rows))
        assert again.vocabulary_ == classifier.vocabulary_
    first = {name: value for name, value in rows.iloc[0].items() if pd.notna(value)}
    np.testing.assert_allclose(
        classifier.query(first), other.query({name: {WORD: "(mizzing)"}.get(v, v) for name, v in first.items()})
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("gaps", "rule"), KINDS)
@pytest.mark.parametrize("model", ["naive Bayes", "TAN"])
def test_in_sql(model, gaps, rule, dialect):
    classifier = made(model, rule).fit(*table(gaps))
    rows = table(gaps)[0]
    found = DATABASES[dialect](to_sql(classifier, dialect, table='ro"ws'), rows).to_numpy(float)
    sums = model == "TAN" and gaps and rule == "marginalize"  # which a query cannot always do
    known = ~np.isnan(found).any(axis=1) if sums else np.ones(len(found), dtype=bool)
    np.testing.assert_allclose(found[known], classifier.predict_proba(rows)[known], rtol=0, atol=1e-12)
    assert known.sum() > 50


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("gaps", "rule"), KINDS)
@pytest.mark.parametrize("extension", ["bif", "xdsl", "xmlbif"])
def test_in_networks_and_their_files(gaps, rule, extension, tmp_path):
    classifier = made("TAN", rule).fit(*table(gaps))
    rows = table(True)[0]
    expected = classifier.predict_proba(rows)
    back = from_pgmpy(to_pgmpy(classifier), "ill").set_params(handle_missing=rule)
    to_file(classifier, tmp_path / f"net.{extension}")
    for again in (back, from_file(tmp_path / f"net.{extension}")):
        np.testing.assert_allclose(again.predict_proba(rows), expected, rtol=0, atol=1e-10)
        assert again.vocabulary_.own_missing == classifier.vocabulary_.own_missing


def test_a_network_from_elsewhere_does_not_absorb_missing_cells():
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork([("c", "a")])
    states = {"c": ["n", "y"], "a": ["u", WORD]}
    network.add_cpds(
        TabularCPD("c", 2, [[0.3], [0.7]], state_names={"c": ["n", "y"]}),
        TabularCPD("a", 2, [[0.9, 0.2], [0.1, 0.8]], ["c"], [2], state_names=states),
    )
    rows = pd.DataFrame({"a": [None, WORD]})
    expected = [[0.3, 0.7], np.array([0.03, 0.56]) / 0.59]
    np.testing.assert_allclose(from_pgmpy(network, "c").predict_proba(rows), expected)
    np.testing.assert_allclose(posterior(network, "c", rows), expected)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_right_value(dialect, tmp_path):
    """P(yes | job) = (N(job, yes) + 1/6) / (N(job) + 2/6), as the classes have 75 rows each: worked out by hand."""
    n_yes, n_no = {WORD: 36, "clerk": 20, "nurse": 19}, {WORD: 6, "clerk": 34, "nurse": 35}
    jobs = np.array([job for counts in (n_yes, n_no) for job, n in counts.items() for _ in range(n)], dtype=object)
    classifier = NaiveBayesClassifier(ess=1.0).fit(pd.DataFrame({"job": jobs}), ["yes"] * 75 + ["no"] * 75)
    rows = pd.DataFrame({"job": [WORD, "clerk", "nurse", None]})
    right = [217 / 254, 121 / 326, 115 / 326, 0.5]  # .854, .371, .353; a missing cell says nothing
    to_file(classifier, tmp_path / "net.xdsl")
    back = from_file(tmp_path / "net.xdsl")
    for found in (classifier, back, from_pgmpy(to_pgmpy(classifier), back.vocabulary_.class_name)):
        np.testing.assert_allclose(found.predict_proba(rows)[:, 1], right, rtol=1e-12)
    in_sql = DATABASES[dialect](to_sql(classifier, dialect, table='ro"ws'), rows).to_numpy(float)
    np.testing.assert_allclose(in_sql[:, 1], right, rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["naive Bayes", "TAN"])
def test_columns_of_which_only_missing_cells_count(model, tmp_path):
    """Rows with new texts are predicted as the classifier predicts them, in all formats."""
    X, y = table(n=200)
    X["note"] = np.where(X["job"].isna() | (np.arange(200) % 3 == 0), None, [f"text {k}" for k in range(200)])
    fitted = made(model, "own_state").fit(X, y)
    assert fitted.vocabulary_.states["note"] == ("(any value)", "(missing)")
    new = X[:60].assign(note=X["note"][:60].where(X["note"][:60].isna(), "new"))
    expected = fitted.predict_proba(X[:60])
    fitted.save(tmp_path / "model.json")
    to_file(fitted, tmp_path / "net.bif")
    to_python(fitted, tmp_path / "scorer.py")
    to_pmml(fitted, tmp_path / "model.pmml")
    for again in (anbexact.load(tmp_path / "model.json"), from_file(tmp_path / "net.bif")):
        np.testing.assert_allclose(again.predict_proba(new), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fed(session(to_onnx(fitted)), new)[1], expected, rtol=0, atol=1e-6)
    rows = new.astype(object).where(new.notna(), None).to_dict("records")
    scorer, evaluator = runpy.run_path(str(tmp_path / "scorer.py")), Evaluator(tmp_path / "model.pmml")
    for row, own in zip(rows, expected, strict=True):
        assert list(scorer["predict_proba"](row).values()) == pytest.approx(own.tolist(), abs=1e-12)
        assert evaluator.probabilities(row) == pytest.approx(own.tolist(), abs=1e-12)
    found = DATABASES["sqlite"](to_sql(fitted, "sqlite", table='ro"ws'), new).to_numpy(float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_tables_put_together():
    X, y = table(gaps=False)
    X = X[["job"]]
    holes = X.mask(X == WORD, None)
    with_word = DiscreteTable.from_frame(X, y, handle_missing="own_state")
    with_holes = DiscreteTable.from_frame(holes, y, handle_missing="own_state")
    assert with_word.vocabulary.own_missing == set()
    assert with_holes.vocabulary == Vocabulary(
        {"job": ("clerk", "nurse", WORD), "ill": ("no", "yes")}, "ill", own_missing={"job"}
    )
    for both in (with_word + with_holes, with_holes + with_word):
        together = DiscreteTable.from_frame(pd.concat([X, holes]), pd.concat([y, y]), handle_missing="own_state")
        assert both.vocabulary == together.vocabulary
        assert both.vocabulary.states["job"] == (WORD, "clerk", "nurse", "(missing cell)")
        np.testing.assert_array_equal(both.codes, together.codes)
        np.testing.assert_array_equal(both.weights, together.weights)


def test_evidence_names_missing_cells_by_none():
    X, y = table(gaps=False)
    X = X[["job"]].replace(WORD, None)
    classifier = NaiveBayesClassifier(ess=1.0, handle_missing="own_state").fit(X, y)
    np.testing.assert_allclose(classifier.query(job=None), classifier.predict_proba(pd.DataFrame({"job": [None]}))[0])
    with pytest.raises(ValueError, match=r"'clerk', 'nurse', and None for a missing cell"):
        classifier.query(job=WORD)
    with pytest.raises(ValueError, match="is not a state"):
        classifier.set_params(handle_unknown="error").predict(pd.DataFrame({"job": [WORD]}))


@pytest.mark.filterwarnings("ignore")
def test_classes_may_be_called_so():
    X, y = table(gaps=False)
    y = y.replace("no", WORD).mask(np.arange(len(y)) % 7 == 0, None)
    model = NaiveBayesClassifier(ess=1.0, handle_missing="own_state", missing_class="em").fit(X, y)
    assert model.classes_.tolist() == [WORD, "yes"]
    other = NaiveBayesClassifier(ess=1.0, handle_missing="own_state", missing_class="em")
    other.fit(X, y.replace(WORD, "no"))
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-12)


def test_files_of_earlier_versions(tmp_path):
    """They did not say which state was that of missing cells: a last state "(missing)" was."""
    X, y = table()
    X = X[["job"]].replace(WORD, "porter")
    for rule, own in (("own_state", {"job"}), ("marginalize", set())):
        classifier = NaiveBayesClassifier(ess=1.0, handle_missing="own_state").fit(X, y)
        classifier.save(tmp_path / "model.json")
        document = json.loads((tmp_path / "model.json").read_text())
        earlier = {key: value for key, value in document.items() if key not in ("own_missing", "sha256")}
        earlier["parameters"]["handle_missing"], earlier["format_version"] = rule, 1
        earlier["sha256"] = digest(earlier)
        (tmp_path / "model.json").write_text(json.dumps(earlier))
        assert anbexact.load(tmp_path / "model.json").vocabulary_.own_missing == own


def test_files_of_earlier_versions_in_single_precision(tmp_path):
    """The states of a float32 were its numbers in double precision."""
    X, y = table()
    X = pd.DataFrame({"size": np.where(y == "yes", 0.7, 0.1) + np.arange(len(y)) % 2})
    wide = X.astype(np.float32).astype(np.float64)
    NaiveBayesClassifier(ess=1.0).fit(wide, y).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    earlier = {key: value for key, value in document.items() if key not in ("own_missing", "sha256")}
    earlier["format_version"] = 1
    (tmp_path / "model.json").write_text(json.dumps(earlier | {"sha256": digest(earlier)}))
    classifier, expected = anbexact.load(tmp_path / "model.json"), NaiveBayesClassifier(ess=1.0).fit(X, y)
    assert classifier.vocabulary_.states["size"] == (0.1, 0.7, 1.1, 1.7)
    np.testing.assert_array_equal(classifier.predict_proba(X.astype(np.float32)), expected.predict_proba(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("gaps", "rule"), KINDS)
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_in_lazy_frames(engine, gaps, rule):
    X, y = table(gaps)
    X = X.astype({"size": float})
    whole = X.assign(ill=y)
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        frame = duckdb.connect().from_df(whole)
    else:
        frame = pl.from_pandas(whole).lazy()
    eager, lazy = made("TAN", rule).fit(X, y), made("TAN", rule).fit(frame, "ill")
    assert lazy.vocabulary_ == eager.vocabulary_
    np.testing.assert_array_equal(lazy.predict_proba(X), eager.predict_proba(X))
