"""Files of models from their grammar, and near valid files: read as they are meant, or refused.

Whole models are drawn as JSON documents: names, states, arcs and counts. Their posterior is computed here from the
formula, and must be that of what is read. Near valid files are made from every kind of model in
``tests/files/kept``: parts of a document are replaced, left out, repeated or exchanged, with a checksum that matches,
or bytes of a file are damaged. What is accepted must predict, and be the same after it was saved and read again.
"""

import copy
import json
import tarfile
import warnings
from itertools import product
from math import prod

import kept_files
import numpy as np
import pandas as pd
import pytest
from fuzzing import Record, cases, damaged, rngs
from hypothesis import given
from hypothesis import strategies as st

import anbexact
from anbexact.files.document import digest

ARCHIVE = kept_files.FOLDER / f"{anbexact.__version__}.tar.xz"
VALUES = [
    None, True, -1, 0, 1, 7, 10**12, -(10**12), 10**400, 0.5, -0.5, 1e308, 1e-320, float("nan"), float("inf"), "",
    "x", [], [0], [-1], [[0]], {}, {"type": "float", "value": "nan"}, {"type": "tuple", "value": []}, [[]] * 3,
    {"type": "nothing", "value": 0}, {"type": "TANClassifier", "value": {}}, {"type": "mapping", "value": [[0, 1]]},
    {"type": "BDeu", "value": {"ess": 1e9}}, {"type": "date", "value": "2024-02-30"}, {"type": "bytes", "value": "0"},
    {"type": "Timestamp", "value": {"ticks": 1, "unit": "ns", "zone": "Nowhere"}}, {"type": "set", "value": [[0]]},
]  # fmt: skip
NAMES = ["a", "B", "größe", "x y", "1", "class"]
STATES = ["yes", "no", "", "(missing)", 0, 1, 2, 0.5, -1, True, 1.5]


class Kept(dict):
    """Files by the names of their kinds; a test that fails does not show all of them."""

    def __repr__(self):
        return f"<{len(self)} files>"


@pytest.fixture(scope="module", name="records")
def _records():
    records = {name: Record(f"model files, {name}") for name in ("grammar", "edited documents", "damaged bytes")}
    yield records
    for record in records.values():
        record.write()


@pytest.fixture(scope="module", name="kept")
def _kept():
    """Return the bytes of every kept JSON file of this version, by the names of their kinds."""
    with tarfile.open(ARCHIVE) as archive:
        contents = {file.name: archive.extractfile(file).read() for file in archive}
    return Kept({name: contents[f"{name}.json"] for name in kept_files.KINDS if not name.startswith("file")})


def write(document, path):
    """Write a document with the checksum that it should have; return whether there is one."""
    document.pop("sha256", None)
    try:
        document["sha256"] = digest(document)
        path.write_text(json.dumps(document))
    except (ValueError, RecursionError):  # a number that is too long, or too many levels
        return False
    return True


def read(name, path):
    """Return a model and no message, or none and the message of the refusal, as documented."""
    reader = anbexact.load_network if name.startswith("network") else anbexact.load
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return reader(path), ""
        except (ValueError, MemoryError) as error:
            return None, str(error)


def some_rows(model):
    """Return a frame of states, numbers and missing cells, as the model knows them."""
    columns = {}
    for k, name in enumerate(model.vocabulary_.features):
        states = model.vocabulary_.states[name]
        cuts = model.cut_points_.get(name)
        quantity = name in model.vocabulary_.quantities
        known = [None] if quantity else list(states[:3]) if cuts is None else [cuts.min(initial=0.0) - 1, 1e9]
        cells = [known[row % len(known)] for row in range(4)]
        columns[k] = pd.Series(cells, dtype=object if cuts is None or quantity else float)
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index(list(model.vocabulary_.features), dtype=object, tupleize_cols=False)
    return frame


def answers(model):
    """Return what a model says of some rows, and whether it warns of rows that are impossible."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = model.predict_proba(some_rows(model)) if hasattr(model, "classes_") else kept_files.answers(model, [])
    return found, any("impossible" in str(warning.message) for warning in caught)


def assert_sound(model, path, name):
    """The model predicts, and is the same when it is saved and read again."""
    refuses = {getattr(model, "handle_unknown", ""), *getattr(model, "handle_missing_", {}).values()}
    if "error" in refuses:  # the rows have unknown values and missing cells
        return
    found, warns = answers(model)
    if hasattr(model, "predict_proba"):
        possible = found[np.isfinite(found).all(axis=1)]
        assert len(possible) == len(found) or warns
        assert np.abs(possible.sum(axis=1) - 1).max(initial=0) < 1e-9
    kept_files.write(name, model, path.parent)
    again, message = read(name, kept_files.path_of(name, path.parent))
    assert again is not None, message
    assert answers(again)[0].tobytes() == found.tobytes()


def places(document, path=()):
    """Yield the paths to everything in a document."""
    yield path
    for key in document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ():
        yield from places(document[key], (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def near(document, rng):
    """Return a document near a valid one, and how it was edited."""
    found, edits = copy.deepcopy(document), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        paths = [path for path in places(found) if path and path != ("sha256",)]
        short = [path for path in paths if len(path) < 4]
        path = rng.choice(short if rng.random() < 0.5 else paths)
        parent, key = at(found, path[:-1]), path[-1]
        old = parent[key]
        edit = rng.choice(["replace", "leave out", "number", "copy", "list", "exchange"])
        if edit == "leave out":
            del parent[key]
        elif edit == "number" and type(old) in (int, float) and abs(old) < 2**1000:
            parent[key] = rng.choice([old + 1, old - 1, old * 2, -old, old + 0.5, str(old)])
        elif edit == "copy":
            parent[key] = copy.deepcopy(at(found, rng.choice(paths)))
        elif edit == "list" and isinstance(old, list) and old:
            parent[key] = rng.choice([old[:-1], old + old[-1:], old[::-1], old * 2])
        elif edit == "exchange" and isinstance(parent, list):
            other = rng.randrange(len(parent))
            parent[key], parent[other] = parent[other], parent[key]
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
        edits.append((edit, path))
    return found, edits


@cases(280)
@given(place=st.integers(0, 10**6), rng=rngs)
def test_edited_documents(records, kept, place, rng, tmp_path_factory):
    name = list(kept)[place % len(kept)]
    document, edits = near(json.loads(kept[name]), rng)
    path = tmp_path_factory.getbasetemp() / "m.json"
    with records["edited documents"].case() as outcome:
        if not write(document, path):
            outcome.append("refused")
            return
        model, message = read(name, path)
        if model is None:
            assert path.name in message, edits
            outcome.append("refused")
            return
        assert_sound(model, path, name)
        outcome.append("accepted")


@cases(60)
@given(place=st.integers(0, 10**6), rng=rngs)
def test_damaged_bytes(records, kept, place, rng, tmp_path_factory):
    """No damage goes unnoticed, but for blanks and the order of keys, which mean nothing."""
    name = list(kept)[place % len(kept)]
    content = damaged(kept[name], rng)
    path = tmp_path_factory.getbasetemp() / "bytes.json"
    path.write_bytes(content)
    with records["damaged bytes"].case() as outcome:
        model, message = read(name, path)
        if model is None:
            assert path.name in message
            outcome.append("refused")
            return
        assert json.loads(content) == json.loads(kept[name])
        outcome.append("accepted")


@st.composite
def documents(draw):
    """Documents of networks with a class, and their counts as a list of cells for every variable."""
    rng = draw(rngs)
    names = rng.sample(NAMES, draw(st.integers(2, 4)))
    states = [[rng.choice(STATES)] for _ in names]
    for own in states:
        for state in rng.sample(STATES, rng.randint(0, 3)):
            if state not in own:
                own.append(state)
    states[0] = sorted({str(state) for state in states[0]})  # the class
    parents = [[]]
    for k in range(1, len(names)):
        parents.append([0, *rng.sample(range(1, k), rng.randint(0, min(k - 1, 2)))])
    counts = []
    for k, own in enumerate(parents):
        size = prod(len(states[v]) for v in (k, *own))
        counts.append([rng.choice([0, 0, 1, 2, 5, 0.5]) for _ in range(size)])
    smoothing = rng.choice([0.5, 1.0, 3.25])
    return names, states, parents, counts, smoothing


def document_of(names, states, parents, counts, smoothing, template):
    """Return the document of a network."""
    order = [*range(1, len(names)), 0]  # the class comes last
    place = {k: order.index(k) for k in range(len(names))}
    return {
        **{key: template[key] for key in ("format", "format_version", "package_version", "estimator", "parameters")},
        "n_features_in": len(names) - 1,
        "feature_names_in": [names[k] for k in order[:-1]],
        "class": place[0],
        "variables": [{"name": names[k], "states": states[k]} for k in order],
        "own_missing": [],
        "cut_points": [],
        "dropped": [],
        "further": {},
        "structure": {
            "parents": [[place[k], [place[v] for v in parents[k]]] for k in order],
            "score": 0.0,
            "certificate": {
                "optimal": False, "upper_bound": 0.0, "gap": 0.0, "sets_scored": 0, "seconds": 0.0, "method": "drawn",
            },
        },
        "ess": 1.0,
        "smoothing": smoothing,
        "tables_by": "eap",
        "counts": [
            {
                "variables": [place[v] for v in (k, *parents[k])],
                "cells": [cell for cell, weight in enumerate(counts[k]) if weight],
                "weights": [weight for weight in counts[k] if weight],
            }
            for k in order
        ],
    }  # fmt: skip


def posterior(states, parents, counts, smoothing, row):
    """Return P(class | row): the product over the families of θ = (n_jk + s / qr) / (n_j + s / q), normalised."""
    shares = []
    for c in range(len(states[0])):
        state = [c, *row]
        share = 1.0
        for k, own in enumerate(parents):
            shape = [len(states[v]) for v in (k, *own)]
            table = np.array(counts[k], dtype=float).reshape(shape)
            q, r = prod(shape[1:]), shape[0]
            given_by = tuple(state[v] for v in own)
            n_j = table[(slice(None), *given_by)].sum()
            share *= (table[(state[k], *given_by)] + smoothing / (q * r)) / (n_j + smoothing / q)
        shares.append(share)
    return np.array(shares) / sum(shares)


@cases(120)
@given(drawn=documents())
def test_documents_from_the_grammar(records, kept, drawn, tmp_path_factory):
    names, states, parents, counts, smoothing = drawn
    path = tmp_path_factory.getbasetemp() / "drawn.json"
    with records["grammar"].case() as outcome:
        write(document_of(*drawn, json.loads(kept["TANClassifier"])), path)
        model, message = read("classifier", path)
        assert model is not None, message
        assert model.vocabulary_.states == {name: tuple(own) for name, own in zip(names, states, strict=True)}
        rows = list(product(*(range(len(own)) for own in states[1:])))[:6]
        cells = [pd.Series([states[k + 1][row[k]] for row in rows], dtype=object) for k in range(len(names) - 1)]
        frame = pd.DataFrame(dict(zip(names[1:], cells, strict=True)))
        expected = [posterior(states, parents, counts, smoothing, row) for row in rows]
        np.testing.assert_allclose(model.predict_proba(frame), expected, rtol=1e-9)
        outcome.append("accepted")
