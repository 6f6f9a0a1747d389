"""Saved files that were edited, their checksum made right: refused by name, or fit to predict."""

import copy
import json
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tiers import scaled

import anbexact
from anbexact import AdditiveClassifier, ANBClassifier, TANClassifier, verify
from anbexact.adapters import from_pgmpy
from anbexact.classifiers import AODEClassifier, AveragedANBClassifier, AveragedTANClassifier, FSANBClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.files.document import digest
from anbexact.tables.table import DiscreteTable

REPLACEMENTS = [
    None, True, -1, 0, 1, 7, 10**12, -(10**12), 10**400, 0.5, -0.5, 1e308, 1e-320, float("nan"), float("inf"), "",
    "x", [], [0], [-1], [[0]], {}, {"type": "float", "value": "nan"}, {"type": "tuple", "value": []},
    {"type": "nothing", "value": 0},
]  # fmt: skip


def discrete():
    X, y = load_anes96()
    return ANBClassifier(ess="auto", max_parents=1).fit(X[["TVnews", "selfLR"]][:300], y[:300])


def continuous():
    return ANBClassifier(discretizer="mdlp").fit(*load_iris())


def universal():
    X, y = load_iris()
    return TANClassifier(continuous="universal").fit(X.iloc[:, :2], y)


def aode():
    X, y = load_monks(1)
    return AODEClassifier(min_weight=2.0).fit(X.iloc[:, :3], y)


def averaged():
    X, y = load_monks(1)
    return AveragedTANClassifier(ess=1.0).fit(X.iloc[:60, :3], y[:60])


def drawn():
    X, y = load_monks(1)
    classifier = AveragedANBClassifier(draws=3).fit(X.iloc[:60, :3], y[:60])
    model = classifier.model_
    return classifier.set_model(replace(model, drawn=model.members))


def given_tables():
    X, y = load_monks(1)
    return from_pgmpy(ANBClassifier().fit(X.iloc[:, :3], y).network_, "is_monk")


def selected():
    X, y = load_monks(1)
    return FSANBClassifier().fit(X, y)


def smooth():
    X, y = load_iris()
    X, y = X.iloc[::5, 2:], y[::5]
    return AdditiveClassifier(
        TANClassifier(), intervals=4, smooth={"slope": {"petal_length": 1.0, "petal_width": 2.0}, "interaction": 3.0}
    ).fit(X, y)


def places(document, path=()):
    """The paths to everything in a document."""
    yield path
    for key in document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ():
        yield from places(document[key], (*path, key))


def edits(document, path, rng, most):
    """Copies of a document with another value at a path, or without it."""

    def at(edited, path):
        for key in path:
            edited = edited[key]
        return edited

    old = at(document, path)
    pool = [("set", value) for value in REPLACEMENTS] + [("delete", None)]
    if isinstance(old, int | float) and not isinstance(old, bool):
        pool += [("set", value) for value in (old + 1, old - 1, old * 2, -old, old + 0.5, str(old))]
    if isinstance(old, str):
        pool += [("set", old + "x"), ("set", old[:-1])]
    if isinstance(old, list):
        pool += [("set", value) for value in (old[:-1], old + old[-1:], old[::-1], old * 2)]
    if isinstance(old, dict) and old:
        pool += [("drop", key) for key in old]
    for kind, value in rng.sample(pool, min(most, len(pool))):
        edited = copy.deepcopy(document)
        if kind == "set":
            at(edited, path[:-1])[path[-1]] = value
        elif kind == "delete":
            del at(edited, path[:-1])[path[-1]]
        else:
            del at(edited, path)[value]
        yield (path, kind, value), edited


def some_rows(classifier):
    """A frame of states and numbers that a classifier knows."""
    rng = np.random.default_rng(0)
    columns = {}
    for name in classifier.vocabulary_.features:
        if name in classifier.cut_points_:
            cuts = classifier.cut_points_[name]
            columns[name] = pd.Series(rng.uniform(cuts.min(initial=0) - 1, cuts.max(initial=1) + 1, 8))
        else:
            states = classifier.vocabulary_.states[name]
            column = np.empty(8, dtype=object)
            column[:] = [states[k] for k in rng.integers(0, len(states), 8)]
            columns[name] = pd.Series(column)
    frame = pd.DataFrame(dict(enumerate(columns.values())))
    frame.columns = pd.Index(list(columns), dtype=object, tupleize_cols=False)
    return frame


def write(document, path):
    """Write a document with the checksum that it should have."""
    document.pop("sha256", None)
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))


FIELDS = (
    "format", "estimator", "parameters", "variables", "class", "cut_points", "n_features_in", "feature_names_in",
    "further", "structure", "counts", "tables", "measure", "pairs", "ess", "sha256", "newer than the format",
    "network", "refined", "refit", "rows", "drawn",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        *(discrete, continuous, universal, smooth),
        *(pytest.param(make, marks=pytest.mark.slow) for make in (aode, averaged, drawn, given_tables, selected)),
    ],
)
def test_an_edited_file(make, tmp_path):
    path = tmp_path / "m.json"
    make().save(path)
    document = json.loads(path.read_text())
    write(document, path)
    some_rows(anbexact.load(path))
    rng = random.Random(0)  # a choice of edits
    paths = [place for place in places(document) if place and place != ("sha256",)]
    outcomes = {"refused": 0, "predicts": 0}
    for place in paths:
        most = scaled(25) if len(place) < 3 else 1 if rng.random() < scaled(60) / len(paths) else 0
        for edit, edited in edits(document, place, rng, most):
            write(edited, path)
            loaded, refusal = None, ""
            try:
                loaded = anbexact.load(path)
            except ValueError as error:
                refusal = str(error)
            if loaded is None:
                assert "m.json" in refusal, edit
                assert any(field in refusal for field in FIELDS), (edit, refusal)
                outcomes["refused"] += 1
                continue
            shares = loaded.predict_proba(some_rows(loaded))
            assert np.isfinite(shares).all(), edit
            assert np.abs(shares.sum(axis=1) - 1).max() < 1e-9, edit
            outcomes["predicts"] += 1
    assert min(outcomes.values()) > 0


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("n_features_in",), 3, "n_features_in: a whole number from 2 to 2 was expected, not 3"),
        (("feature_names_in", 0), "x", "feature_names_in: the names must be those of the features"),
        (("class",), True, "class: a whole number from 0 to 2 was expected, not True"),
        (("variables", 0, "states"), [], "variables: the variable 'TVnews' has no states"),
        (("parameters", "n_jobs"), 0, "parameters: n_jobs must be None"),
        (("counts", 0, "cells", 0), 10**12, "counts: 'TVnews': the cells must be whole numbers from 0 to"),
        (("counts", 0, "cells", 0), 0.0, "counts: 'TVnews': the cells must be whole numbers from 0 to"),
        (("counts", 0, "weights", 0), 1e308, "counts: 'TVnews': the sum of the weights overflows"),
        (("counts", 0, "variables", 1), -1, "counts: a whole number from 0 to 2 was expected, not -1"),
        (("tables_by",), "guess", "ess, smoothing, tables_by and strengths: tables_by must be"),
        (("smoothing",), 1e-323, "ess, smoothing, tables_by and strengths: ess must lie between 1e-100 and"),
        (("structure", "parents", 0, 1), [2, 2], r"structure: the numbers \[2, 2\] are not distinct"),
        (("structure", "certificate", "optimal"), 1, "structure: certificate, optimal: true or false was expected"),
        (("structure", "proof", "components"), 7, "structure: proof: components: a list was expected, not 7"),
        (("structure", "proof", "max_parents"), -1, "structure: proof: limits: a whole number of 0 or more"),
        (("structure", "proof", "components", 0, "bound"), None, "structure: proof: components: a number was"),
    ],
)
def test_what_is_refused_is_named(place, value, message, tmp_path):
    path = tmp_path / "m.json"
    discrete().save(path)
    document = json.loads(path.read_text())
    part = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    write(document, path)
    with pytest.raises(ValueError, match=rf"m\.json is damaged or was edited: {message}"):
        anbexact.load(path)


def test_what_was_learned_besides_the_model_is_missed(tmp_path):
    path = tmp_path / "m.json"
    selected().save(path)
    document = json.loads(path.read_text())
    for name in document["further"]:
        write(
            {**document, "further": {key: document["further"][key] for key in document["further"] if key != name}},
            path,
        )
        with pytest.raises(ValueError, match=f"further: '{name}' is missing"):
            anbexact.load(path)


def test_a_limit_of_memory_that_is_too_low(tmp_path):
    path = tmp_path / "m.json"
    X, y = load_monks(1)
    AveragedANBClassifier(ess=1.0).fit(X.iloc[:60, :3], y[:60]).save(path)
    document = json.loads(path.read_text())
    document["parameters"]["memory_limit"] = 1
    write(document, path)
    with pytest.raises(MemoryError, match=r"cannot read .*m\.json: .*memory_limit"):
        anbexact.load(path)


def test_proofs_survive(tmp_path):
    """Edited proofs are loaded if they are proofs at all; whether they hold is for verify to say."""
    X, y = load_monks(1)
    classifier = ANBClassifier().fit(X, y)
    path = tmp_path / "m.json"
    classifier.save(path)
    table = DiscreteTable.from_frame(X, y)
    assert verify(anbexact.load(path).structure_, table)
    document = json.loads(path.read_text())
    document["structure"]["proof"]["components"][0]["bound"] -= 1.0
    write(document, path)
    assert not verify(anbexact.load(path).structure_, table)
