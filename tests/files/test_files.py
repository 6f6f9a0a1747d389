"""Saved classifiers: nothing is lost, and what cannot be read or written is refused by name."""

import copy
import dataclasses
import json
import os
import re
import subprocess
import sys
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from edited import write_edited
from hypothesis import HealthCheck, assume, given, reject
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import KBinsDiscretizer
from strategies import SCORES
from tiers import examples

import anbexact
from anbexact import (
    ANBClassifier,
    BDeu,
    GBNClassifier,
    MDLPDiscretizer,
    MedianDiscretizer,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact._runtime import json_values as values
from anbexact.adapters import from_pgmpy
from anbexact.classifiers import AveragedTANClassifier, FixedStructureClassifier, GreedyGBNClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.discretize import CountPartition, FixedCutsPartition, QuantilePartition
from anbexact.files import classifiers as files
from anbexact.files.document import digest
from anbexact.scores import CLL, CMDL, HQ, MIT, BDs

AWKWARD = [
    "",
    " a\tb\n",
    '"quoted"',
    "naïve",
    "变量",
    "\ud800",
    "\x00",
    "(1.5, 3.0]",
    "__class__",
    10**30,
    -1,
    1.5,
    -0.0,
    float("inf"),
    5e-324,
    True,
    None,
    b"\x00\xff",
    Decimal("1.10"),
    date(2024, 2, 29),
    datetime(2024, 1, 1, 12, 30, 0, 7),
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Zurich")),
    timedelta(days=-1, microseconds=3),
    pd.Timestamp("2024-01-01 00:00:00.123456789"),
    pd.Timestamp("2024-07-01", tz="Europe/Zurich"),
    pd.Timestamp("2024-07-01").as_unit("s"),
    pd.Timedelta(1, "ns"),
    pd.Period("2024-03", "M"),
    pd.Interval(1.5, float("inf")),
    pd.Interval(pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"), closed="both"),
    (1, "a", (2.5, None)),
    frozenset({1, 2}),
]
scalars = (
    st.sampled_from(AWKWARD)
    | st.text(max_size=5)
    | st.integers()
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
)
states = st.one_of(scalars, st.tuples(scalars, scalars))


def same(a, b):
    """Whether two values are equal and of one type, the sign of zero and members included."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def through_file(classifier, tmp_path):
    path = tmp_path / "model.json"
    classifier.save(path)
    return anbexact.load(path)


def assert_same(loaded, classifier, X):
    assert type(loaded) is type(classifier)
    assert repr(loaded) == re.sub(r"np\.float64\((.*?)\)", r"\1", repr(classifier))
    assert same(loaded.vocabulary_.names, classifier.vocabulary_.names)
    for name in classifier.vocabulary_.names:
        assert same(loaded.vocabulary_.states[name], classifier.vocabulary_.states[name])
        assert np.array_equal(loaded.conditional_tables_[name].values, classifier.conditional_tables_[name].values)
        assert loaded.conditional_tables_[name].variables == classifier.conditional_tables_[name].variables
    assert same(loaded.classes_.tolist(), classifier.classes_.tolist())
    assert loaded.classes_.dtype == classifier.classes_.dtype
    assert list(loaded.structure_.parents.items()) == list(classifier.structure_.parents.items())
    assert repr(loaded.structure_.score) == repr(classifier.structure_.score)
    assert repr(loaded.structure_.certificate) == repr(classifier.structure_.certificate)
    assert loaded.n_features_in_ == classifier.n_features_in_
    assert hasattr(loaded, "feature_names_in_") == hasattr(classifier, "feature_names_in_")
    assert {k: v.tolist() for k, v in loaded.cut_points_.items()} == {
        k: v.tolist() for k, v in classifier.cut_points_.items()
    }
    assert loaded.predict_proba(X).tobytes() == classifier.predict_proba(X).tobytes()
    assert loaded.log_evidence(X).tobytes() == classifier.log_evidence(X).tobytes()


@pytest.mark.parametrize("value", AWKWARD, ids=repr)
def test_awkward_values_come_back(value):
    assert same(values.decode(json.loads(json.dumps(values.encode(value), allow_nan=False))), value)


@given(states)
def test_values_come_back(value):
    assert same(values.decode(json.loads(json.dumps(values.encode(value), allow_nan=False))), value)


def test_nan_and_containers_come_back():
    assert np.isnan(values.decode(values.encode(float("nan"))))
    value = {("a", 1): [1, {2.5}], None: {}}
    assert values.decode(json.loads(json.dumps(values.encode(value)))) == value


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_awkward_names_and_states(data, tmp_path):
    """A fitted classifier over names and states of any kind comes back whole."""
    names = data.draw(st.lists(scalars.filter(lambda v: v is not None), min_size=3, max_size=3, unique=True))
    if not all(isinstance(name, str) for name in names):
        names = [name if not isinstance(name, str) else (name,) for name in names]  # pandas: no mixed string names
    choices = [data.draw(st.lists(states.filter(bool), min_size=2, max_size=4, unique=True)) for _ in names]
    codes = np.random.default_rng(0).integers(0, 2, size=(12, 3))
    codes[:2] = [[0, 0, 0], [1, 1, 1]]
    columns = [
        pd.Series([states_of[code] for code in codes[:, j]], dtype=object) for j, states_of in enumerate(choices)
    ]
    assume(not any(column.isna().any() for column in columns))
    X = pd.concat(columns[:2], axis=1)
    X.columns = pd.Index(names[:2], dtype=object, tupleize_cols=False)
    y = columns[2].set_axis(range(12))
    declared = {names[j]: choices[j] for j in range(2)}
    try:
        classifier = ANBClassifier(categories=declared).fit(X, y)
    except (TypeError, ValueError):  # refused by the classifier, not by the file
        reject()
    assert_same(through_file(classifier, tmp_path), classifier, X)


@pytest.mark.parametrize(
    "classifier",
    [
        ANBClassifier(memory_limit=float("inf"), time_limit=60, required_edges=[("PID", "educ")]),
        ANBClassifier(structure_score=BDeu(2.5), ess=np.float64(3.0), discretizer=MedianDiscretizer()),
        ANBClassifier(max_parents=1, categories={"TVnews": np.arange(9)}, forbidden_edges={("PID", "educ")}),
        NaiveBayesClassifier(handle_missing="own_state"),
    ],
    ids=["edges", "objects", "categories", "missing"],
)
def test_mixed_table(classifier, tmp_path):
    X, y = load_anes96()
    X = X.copy()
    if classifier.handle_missing == "own_state":
        X.loc[::7, ["PID", "age"]] = np.nan
    classifier.fit(X, y)
    loaded = through_file(classifier, tmp_path)
    if classifier.get_params().get("categories") is None:
        assert_same(loaded, classifier, X)
    X.loc[::5, ["educ", "popul"]] = np.nan
    assert loaded.predict_log_proba(X).tobytes() == classifier.predict_log_proba(X).tobytes()
    assert loaded.fit(X.dropna(), y[X.dropna().index]).score(X, y) > 0.8


def test_networks_of_others(tmp_path):
    """Scores and bounds that are not finite come back; so does a class with parents."""
    X, y = load_monks(1)
    fixed = from_pgmpy(NaiveBayesClassifier().fit(X, y).to_pgmpy(), y.name)
    assert_same(through_file(fixed, tmp_path), fixed, X)
    assert through_file(fixed, tmp_path).structure_.certificate.gap == float("inf")
    parents = dict.fromkeys(X, ()) | {y.name: ("head_shape", "body_shape")}
    given_parents = FixedStructureClassifier(parents).fit(X, y)
    assert_same(through_file(given_parents, tmp_path), given_parents, X)
    assert through_file(given_parents, tmp_path).parents == parents


def test_array_and_other_frames(tmp_path):
    X, y = load_iris()
    array = NaiveBayesClassifier().fit(X.to_numpy(), y.to_numpy())
    assert_same(through_file(array, tmp_path), array, X.to_numpy())
    numbered = X.set_axis(range(4), axis=1)
    classifier = NaiveBayesClassifier().fit(numbered, [True, False] * 75)
    assert_same(through_file(classifier, tmp_path), classifier, numbered)
    polars = pytest.importorskip("polars").from_pandas(X)
    classifier = NaiveBayesClassifier().fit(polars, y)
    assert_same(through_file(classifier, tmp_path), classifier, polars)


def test_huge_sparse_table_is_small(tmp_path):
    """A table of 2²⁰ cells, nearly all of them uniform, takes some kilobytes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(50, 19)), columns=[f"v{j}" for j in range(19)])
    parents = {"class": (), **{f"v{j}": ("class",) for j in range(18)}}
    parents["v18"] = ("class", *(f"v{j}" for j in range(18)))
    classifier = FixedStructureClassifier(parents).fit(X, rng.integers(0, 2, 50))
    assert_same(through_file(classifier, tmp_path), classifier, X)
    assert (tmp_path / "model.json").stat().st_size < 50_000


def test_file_is_ascii_json_with_its_versions(tmp_path):
    X, y = load_monks(1)
    ANBClassifier().fit(X.rename(columns={"holding": "é"}), y).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text("ascii"))
    assert document["format"] == "anbexact classifier"
    assert document["format_version"] == 2
    assert document["package_version"] == anbexact.__version__
    assert document["estimator"] == "ANBClassifier"


def test_layout_and_unknown_keys_do_not_matter(tmp_path):
    X, y = load_monks(1)
    classifier = ANBClassifier().fit(X, y)
    classifier.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_bytes())
    (tmp_path / "m.json").write_text(json.dumps(dict(reversed(document.items())), indent=4))
    assert_same(anbexact.load(tmp_path / "m.json"), classifier, X)
    document["remark"] = "from a later version"
    rewrite(tmp_path / "m.json", document)
    assert_same(anbexact.load(tmp_path / "m.json"), classifier, X)


@pytest.mark.slow
def test_another_process_reads_the_same(tmp_path):
    X, y = load_monks(1)
    classifier = ANBClassifier().fit(X, y)
    classifier.save(tmp_path / "m.json")
    code = (
        "import sys, anbexact; from anbexact.datasets import load_monks; X, y = load_monks(1)\n"
        "print(anbexact.load(sys.argv[1]).predict_proba(X).tobytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.json"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == classifier.predict_proba(X).tobytes().hex()


def test_written_at_once_or_not_at_all(tmp_path, monkeypatch):
    X, y = load_monks(1)
    classifier = NaiveBayesClassifier().fit(X, y)
    path = tmp_path / "m.json"
    path.write_text("older")
    (tmp_path / "link.json").symlink_to(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            classifier.save(path)
    assert path.read_text() == "older"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "m.json"]
    classifier.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert anbexact.load(str(path)).score(X, y) == classifier.score(X, y)
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_not_written(tmp_path):
    X, y = load_monks(1)
    path = tmp_path / "m.json"
    with pytest.raises(NotFittedError):
        ANBClassifier().save(path)
    with pytest.raises(FileNotFoundError):
        ANBClassifier().fit(X, y).save(tmp_path / "nowhere" / "m.json")

    class Own(NaiveBayesClassifier):
        pass

    class OwnScore(BDeu):
        pass

    with pytest.raises(TypeError, match=r"cannot write a .*Own: only .*ANBClassifier, .* can be saved"):
        files.save(Own().fit(X, y), path)
    with pytest.raises(TypeError, match=r"cannot save the parameter structure_score: a .*OwnScore cannot be written"):
        NaiveBayesClassifier(structure_score=OwnScore()).fit(X, y).save(path)
    odd = [complex(0, k) for k in range(432)]
    with pytest.raises(TypeError, match=r"cannot save a value of column 'odd': a builtins.complex cannot be written"):
        NaiveBayesClassifier(drop_identifiers=False).fit(X.assign(odd=pd.Series(odd, dtype=object)), y).save(path)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def fitted():
    return ANBClassifier().fit(*load_anes96())


@pytest.fixture
def saved(tmp_path, fitted):
    path = tmp_path / "m.json"
    fitted.save(path)
    return path


def rewrite(path, document):
    """Write a document with a checksum that matches: what no accident does."""
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))


def test_foreign_files(tmp_path):
    path = tmp_path / "x.json"
    for content in (b"", b"a,b\n1,2\n", b"\x80\x04pickle", b"PK\x03\x04", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x.json is not a classifier saved by anbexact, or is damaged"):
            anbexact.load(path)
    for content in ("{}", "[1, 2]", "null", '{"format": "something else"}'):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"x.json is JSON, but not a classifier saved by anbexact"):
            anbexact.load(path)
    with pytest.raises(FileNotFoundError):
        anbexact.load(tmp_path / "nowhere.json")


def test_newer_file(saved):
    document = json.loads(saved.read_bytes())
    document.update(format_version=3, package_version="9.0")
    saved.write_text(json.dumps(document))
    with pytest.raises(
        ValueError,
        match=r"m.json was written by anbexact 9\.0 in format 3, but .* formats up to 2: upgrade anbexact$",
    ):
        anbexact.load(saved)


def test_truncated_and_altered_files(saved):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    for length in rng.integers(0, len(content) - 2, 20).tolist():
        saved.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"m\.json is not a classifier saved by anbexact, or is damaged"):
            anbexact.load(saved)
    for place in rng.integers(0, len(content) - 2, 60).tolist():
        if content[place : place + 1].isdigit():
            digit = b"0" if content[place : place + 1] != b"0" else b"1"
            saved.write_bytes(content[:place] + digit + content[place + 1 :])
            with pytest.raises(ValueError, match=r"m\.json"):
                anbexact.load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(estimator="os.system"), "os.system"),
        (
            lambda d: d["parameters"].update(discretizer={"type": "Popen", "value": {}}),
            "the type 'Popen' is not known",
        ),
        (lambda d: d["parameters"].update(colour="red"), "colour"),
        (
            lambda d: d["counts"][0]["weights"].__setitem__(0, -1),
            "counts: 'popul': every cell must have a positive weight",
        ),
        (
            lambda d: d["counts"][0]["weights"].__setitem__(0, float("nan")),
            "'popul': a list of finite numbers",
        ),
        (
            lambda d: d["counts"][0]["weights"].pop(),
            "counts: 'popul': every cell must have a positive weight",
        ),
        (lambda d: d["counts"][0]["cells"].__setitem__(0, -1), "counts: 'popul': the cells must be whole numbers"),
        (lambda d: d["counts"][0]["cells"].__setitem__(0, 10**9), "counts: 'popul': the cells must be whole numbers"),
        (lambda d: d["counts"][0]["cells"].__setitem__(0, 2.5), "counts: 'popul': the cells must be whole numbers"),
        (lambda d: d["counts"][0].update(variables=[0]), "does not match|damaged or was edited"),
        (lambda d: d["counts"].pop(), "not every variable has a table"),
        (lambda d: d["counts"].append(d["counts"][0]), "not every variable has a table"),
        (lambda d: d.update(smoothing=0.0), "ess, smoothing, tables_by and strengths: a finite number above 0"),
        (lambda d: d.pop("ess"), "ess"),
        (lambda d: d["variables"][1].update(name="popul"), "same name"),
        (lambda d: d["structure"]["parents"][0][1].append(6), "cycle|does not match"),
        (lambda d: d.pop("structure"), "structure"),
        (lambda d: d.update({"class": 99}), "damaged or was edited"),
        (lambda d: d.pop("format_version"), "damaged or was edited"),
    ],
)
def test_nonsense_is_refused(saved, change, message):
    """Even with a checksum that matches."""
    document = json.loads(saved.read_bytes())
    change(document)
    if "format_version" in document:
        rewrite(saved, document)
    else:
        saved.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        anbexact.load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["tables"][0]["values"].__setitem__(0, -0.5), "does not contain probabilities"),
        (lambda d: d["tables"][0]["values"].__setitem__(0, float("nan")), "a list of finite numbers was expected"),
        (lambda d: d["tables"][0]["values"].pop(), "its states require 2 probabilities"),
        (lambda d: d["tables"][0].update(runs=[10**9]), "a list of length 2 was expected, not 1"),
        (lambda d: d["tables"][0].update(runs=[10**12, 1]), "its states require 2 probabilities"),
        (lambda d: d["tables"].pop(), "not every variable has a table"),
        (lambda d: d["tables"][0].update(variables=[0]), "damaged or was edited"),
    ],
)
def test_nonsense_in_given_tables_is_refused(saved, tmp_path, change, message):
    given = tmp_path / "given.json"
    from_pgmpy(anbexact.load(saved).network_, "vote").save(given)
    document = json.loads(given.read_bytes())
    change(document)
    rewrite(given, document)
    with pytest.raises(ValueError, match=message):
        anbexact.load(given)


def test_unknown_parameter_of_another_version(saved):
    document = json.loads(saved.read_bytes())
    document["package_version"] = "0.9"
    document["parameters"]["colour"] = "red"
    rewrite(saved, document)
    with pytest.raises(ValueError, match=r"cannot be read by anbexact .* \(it was written by 0\.9\)"):
        anbexact.load(saved)


def test_paths(tmp_path, monkeypatch):
    X, y = load_monks(1)
    monkeypatch.chdir(tmp_path)
    NaiveBayesClassifier().fit(X, y).save("m.json")
    assert Path("m.json").exists()
    assert anbexact.load("m.json").score(X, y) == 0.75


@pytest.mark.parametrize("discretizer", ["mdlp", MDLPDiscretizer(), KBinsDiscretizer(3, strategy="uniform")])
def test_counts_and_equivalent_sample_sizes_are_kept(tmp_path, discretizer):
    X, y = load_iris()
    fitted = ANBClassifier(ess="auto", discretizer=discretizer).fit(X[::2], y[::2])
    loaded = through_file(fitted, tmp_path)
    assert (loaded.ess_, loaded.smoothing_) == (fitted.ess_, fitted.smoothing_)
    assert repr(loaded.discretizer) == repr(fitted.discretizer)
    for name, family in fitted.counts_.items():
        np.testing.assert_array_equal(family.cells, loaded.counts_[name].cells)
        np.testing.assert_array_equal(family.weights, loaded.counts_[name].weights)
    weights = np.linspace(0.1, 3, len(X) // 2)
    for classifier in (fitted, loaded):
        classifier.partial_fit(X[1::2], y[1::2], sample_weight=weights)
    np.testing.assert_array_equal(fitted.predict_proba(X), loaded.predict_proba(X))
    again = through_file(loaded, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), loaded.predict_proba(X))
    assert again.structure_ == loaded.structure_


def test_a_copy_goes_its_own_way():
    X, y = load_iris()
    model = ANBClassifier(ess="auto", discretizer="mdlp").fit(X, y)
    before = model.predict_proba(X)
    twin = copy.deepcopy(model).partial_fit(X, y)
    assert not np.array_equal(twin.predict_proba(X), before)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    np.testing.assert_array_equal(clone(twin).fit(X, y).predict_proba(X), before)


@pytest.mark.parametrize("score", ["cmdl", CLL(), CMDL()], ids=repr)
def test_scores_of_whole_structures(tmp_path, score):
    X, y = load_monks(1)
    loaded = through_file(GreedyGBNClassifier(structure_score=score, random_state=7, restarts=1).fit(X, y), tmp_path)
    assert (loaded.structure_score, loaded.random_state) == (score, 7)


@pytest.mark.parametrize("score", [*(score() for score in SCORES.values()), HQ(0.5), MIT(0.9), BDs(3.0)], ids=repr)
def test_every_score_may_be_a_parameter(tmp_path, score):
    X, y = load_monks(1)
    loaded = through_file(NaiveBayesClassifier(structure_score=score).fit(X, y), tmp_path)
    assert loaded.structure_score == score


OWN_MEASURE = UniversalMeasure(
    {"popul": CountPartition(), "age": FixedCutsPartition([[40], [25.5, 60]], 0, 120), "TVnews": QuantilePartition()},
    levels=3,
    epsilon=0.2,
)


@pytest.mark.parametrize("measure", ["universal", UniversalMeasure(), OWN_MEASURE], ids=["name", "default", "own"])
@pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier, ANBClassifier, GBNClassifier])
def test_measured(model, measure, tmp_path):
    X, y = load_anes96()
    weights = np.random.default_rng(0).gamma(1.0, size=len(X))
    X = X.assign(popul=X["popul"].rank(method="dense")) if measure is OWN_MEASURE else X
    classifier = model(continuous=measure).fit(X, y, sample_weight=weights)
    loaded = through_file(classifier, tmp_path)
    assert loaded.continuous == classifier.continuous
    assert loaded.universal_score_ == classifier.universal_score_
    assert loaded.level_cost_ == classifier.level_cost_
    assert loaded.structure_ == classifier.structure_
    assert list(loaded.densities_) == list(classifier.densities_)
    for name, density in classifier.densities_.items():
        twin = loaded.densities_[name]
        assert (twin.variables, twin.levels, twin.most_probable) == (
            density.variables,
            density.levels,
            density.most_probable,
        )
        np.testing.assert_array_equal(twin.values, density.values)
        np.testing.assert_array_equal(twin.most_probable_values, density.most_probable_values)
        np.testing.assert_array_equal(loaded.counts_[name].weights, classifier.counts_[name].weights)
    asked = X.astype(object)
    asked.loc[::5, ["educ", "popul"]] = None
    for rows in (X, asked):
        assert loaded.predict_proba(rows).tobytes() == classifier.predict_proba(rows).tobytes()
        assert loaded.log_evidence(rows).tobytes() == classifier.log_evidence(rows).tobytes()
    again = loaded.fit(X, y, sample_weight=weights)
    assert again.predict_proba(X).tobytes() == classifier.predict_proba(X).tobytes()


def test_of_a_measure_too_large_for_tables(tmp_path, monkeypatch):
    """The cost of the levels is not known then, which is kept too."""
    import anbexact.models.network.probable_levels

    X, y = load_iris()
    monkeypatch.setattr(anbexact.models.network.probable_levels, "available_memory", lambda: 1)
    classifier = NaiveBayesClassifier(continuous="universal").fit(X, y)
    assert np.isnan(through_file(classifier, tmp_path).level_cost_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["levels"][0].__setitem__(0, 99), "'sepal_length' has no level 99"),
        (lambda d: d["levels"][0].__setitem__(0, 0), "'sepal_length' has no level 0"),
        (lambda d: d["levels"][0].__setitem__(0, 1.5), "'sepal_length' has no level 1.5"),
        (lambda d: d["levels"][0].append(1), "damaged or was edited"),
        (lambda d: d["levels"].pop(), "damaged or was edited"),
        (lambda d: d.pop("levels"), "damaged or was edited"),
        (lambda d: d.pop("level_cost"), "level_cost"),
        (lambda d: d.update(measure="universal"), "the score must be a Universal"),
        (lambda d: d.update(measure={"type": "KT", "value": {}}), "the score must be a Universal"),
        (lambda d: partition_of(d)["cuts"]["value"].pop(), "one cell more than cut points"),
        (lambda d: coarsen(d), "a partition does not match the states"),
        (
            lambda d: partition_of(d)["cuts"]["value"].__setitem__(0, 0.0),
            "a partition does not match the cut points",
        ),
        (lambda d: d["cut_points"].pop(), "the values of 'petal_width' are not those of its states"),
        (lambda d: d["measure"]["value"]["partitions"]["value"].pop(), "a partition does not match the cut points"),
        (lambda d: partition_of(d)["masses"]["value"].__setitem__(0, -1.0), "must be a finite number above 0"),
        (lambda d: d["counts"][0]["cells"].__setitem__(-1, 10**9), "the cells must be whole numbers"),
        (lambda d: d["counts"][0]["weights"].__setitem__(0, -1), "every cell must have a positive weight"),
        (lambda d: d["counts"][0]["variables"].reverse(), "not every variable has a table|has no level"),
        (lambda d: d["counts"].pop(), "damaged or was edited"),
        (lambda d: d.update(estimator="KDBClassifier"), "continuous|damaged or was edited"),
    ],
)
def test_nonsense_in_a_measure_is_refused(tmp_path, change, message):
    X, y = load_iris()
    path = tmp_path / "m.json"
    ANBClassifier(continuous="universal", max_parents=1).fit(X, y).save(path)
    document = json.loads(path.read_bytes())
    change(document)
    rewrite(path, document)
    with pytest.raises(ValueError, match=message):
        anbexact.load(path)


def partition_of(document):
    """The parts of the first partition."""
    return document["measure"]["value"]["partitions"]["value"][0][1]["value"]


def coarsen(document):
    """Take the last cut point, and its cell, from the first partition."""
    for part in partition_of(document).values():
        part["value"].pop()


class TestRefitted:
    """Files of a network and its refit."""

    @pytest.mark.parametrize(
        ("estimator", "l2", "load"),
        [
            pytest.param(None, "auto", load_iris, marks=pytest.mark.slow),
            (
                TANClassifier(ess="auto", discretizer=KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")),
                0.5,
                load_iris,
            ),
            (ANBClassifier(max_parents=2), "auto", lambda: load_monks(1)),
            pytest.param(GBNClassifier(structure_score=BDs(2.0)), 1.0, load_anes96, marks=pytest.mark.slow),
            (NaiveBayesClassifier(parameters="friedman"), 0, lambda: load_monks(1)),
            (NaiveBayesClassifier(continuous=UniversalMeasure(levels=2)), 1, load_iris),
            (FixedStructureClassifier({"is_monk": ("is_smiling",), "is_smiling": ()}, smoothing=0.5), "auto", None),
        ],
    )
    def test_lose_nothing(self, estimator, l2, load, tmp_path):
        X, y = load_monks(1) if load is None else load()
        X = X[["is_smiling"]] if load is None else X
        weights = np.random.default_rng(0).exponential(size=len(y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            classifier = RefittedClassifier(estimator, l2=l2).fit(X, y, weights)
        loaded = through_file(classifier, tmp_path)
        assert repr(loaded) == repr(classifier)
        assert loaded.get_params().keys() == classifier.get_params().keys()
        assert type(loaded.estimator_) is type(classifier.estimator_)
        holes = X.astype(object).mask(np.random.default_rng(1).random(X.shape) < 0.2, None)
        for rows in (X, holes):
            assert loaded.predict_proba(rows).tobytes() == classifier.predict_proba(rows).tobytes()
        assert loaded.estimator_.predict_proba(X).tobytes() == classifier.estimator_.predict_proba(X).tobytes()
        assert loaded.vocabulary_ == classifier.vocabulary_
        assert loaded.feature_names_in_.tolist() == classifier.feature_names_in_.tolist()
        ours, theirs = loaded.logit_, classifier.logit_
        assert repr(ours) == repr(theirs)
        pd.testing.assert_frame_equal(ours.to_frame(), theirs.to_frame())
        pd.testing.assert_frame_equal(ours.unidentified, theirs.unidentified)
        assert ours.separated_terms == theirs.separated_terms
        assert ours.refitted.strength == theirs.refitted.strength
        for name in ("weights", "cells", "totals", "firsts"):
            assert np.array_equal(getattr(ours.refitted.design, name), getattr(theirs.refitted.design, name))
        for field in dataclasses.fields(theirs.refitted.fit):
            found, expected = getattr(ours.refitted.fit, field.name), getattr(theirs.refitted.fit, field.name)
            assert np.array_equal(found, expected), field.name
            assert type(found) is type(expected), field.name
        loaded.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()

    def test_have_standard_errors(self, tmp_path):
        X, y = load_anes96()
        classifier = RefittedClassifier(NaiveBayesClassifier(), l2=0).fit(X, y)
        loaded = through_file(classifier, tmp_path)
        np.testing.assert_array_equal(loaded.logit_.result().bse, classifier.logit_.result().bse)

    @pytest.mark.filterwarnings("ignore:the refit has no finite maximum:UserWarning")
    @pytest.mark.parametrize(
        ("place", "value", "message"),
        [
            (("refit", "fit", "shift", 0), float("nan"), "finite numbers"),
            (("refit", "fit", "shift"), [0.0], "by 2 finite numbers"),
            (("refit", "rows", "states", 0, 1, 0), 99, "codes of .* that are not its states"),
            (("refit", "rows", "states", 0, 1, 0), -1, "codes of .* that are not its states"),
            (("refit", "rows", "states", 0, 1), [0], "codes of .* that are not its states"),
            (("refit", "rows", "states"), [], "do not have the features"),
            (("refit", "rows", "weights", 0), 0, "do not have weights"),
            (("refit", "rows", "weights", 0), 1e308, "the sum of the weights overflows"),
            (("refit", "rows", "cells", 0), 10**6, "do not have weights"),
            (("refit", "rows", "order", "cells", 0), 10**6, "a whole number from 0 to"),
            (("refit", "rows", "order", "weights", 0), 2, "in their order do not add up to its distinct rows"),
            (("refit", "rows", "order", "index"), [1], "in their order do not add up to its distinct rows"),
            (("refit", "rows", "number"), 10**6, "the refit has different numbers of rows and weights"),
            (("network", "estimator"), "AODEClassifier", "damaged or was edited"),
            (("estimator",), "Refitted", "damaged or was edited"),
        ],
    )
    def test_that_were_edited_are_refused(self, place, value, message, tmp_path):
        path = tmp_path / "m.json"
        RefittedClassifier(NaiveBayesClassifier(), l2=0).fit(*load_monks(1)).save(path)
        write_edited(path, place, value)
        with pytest.raises(ValueError, match=f"(?s)m.json is damaged or was edited.*{message}|{message}"):
            anbexact.load(path)

    def test_of_what_was_fitted_elsewhere_are_refused(self, tmp_path):
        X, y = load_monks(1)
        frozen = FrozenEstimator(TANClassifier().fit(X, y))
        with pytest.raises(TypeError, match=r"cannot save the parameter estimator: a sklearn\.frozen"):
            RefittedClassifier(frozen, l2=1).fit(X, y).save(tmp_path / "m.json")
        with pytest.raises(NotFittedError):
            RefittedClassifier().save(tmp_path / "m.json")
        assert not list(tmp_path.iterdir())


def test_rows_of_an_average_whose_weights_overflow_are_refused(tmp_path):
    path = tmp_path / "m.json"
    X, y = load_monks(1)
    AveragedTANClassifier(ess=1.0).fit(X.iloc[:40, :3], y[:40]).save(path)
    document = json.loads(path.read_text())
    document["rows"]["weights"][0] = 1e308
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"m.json is damaged or was edited: rows: the sum of the weights overflows"):
        anbexact.load(path)
