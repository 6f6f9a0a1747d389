"""Folds that hold out groups of rows as a whole."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from strategies import random_problem

from anbexact import NaiveBayesClassifier
from anbexact.tables.folds import equal_rows, frame_folds, read_groups, split_groups, split_table
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.labels import read_target
from anbexact.tables.training import training_columns


def unevenness(weights, folds, n_folds):
    """Σ over classes and folds of the squared share that the fold has of the class."""
    shares = weights / np.maximum(weights.sum(axis=0), 1e-300)
    return sum((shares[folds == k].sum(axis=0) ** 2).sum() for k in range(n_folds))


@pytest.mark.parametrize("seed", range(5))
def test_classes_have_similar_shares_in_all_folds(seed):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 3, size=(7, 3)) * (rng.random((7, 3)) < 0.7)
    found = unevenness(weights, split_groups(weights, 3), 3)
    every = sorted(unevenness(weights, np.array(folds), 3) for folds in product(range(3), repeat=7))
    assert every[0] - 1e-12 <= found <= every[0] + 0.25 * (every[len(every) // 2] - every[0])


def test_single_rows_of_equal_classes_are_dealt_out_evenly():
    weights = np.eye(2)[np.arange(40) % 2]
    folds = split_groups(weights, 4)
    assert {weights[folds == k].sum(axis=0).tolist().__str__() for k in range(4)} == {"[5.0, 5.0]"}


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_labels_of_groups_are_numbered(kind):
    assert read_groups(kind(["b", "a", "b"]), 3, np.ones(3)).tolist() == [0, 1, 0]
    assert read_groups(None, 3, np.ones(3)) is None


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"groups has shape \(2,\), expected \(3,\)"),
        ([1, None, 2], r"groups is missing in row 1 \(1 of 3 rows\)"),
        ([1.0, np.nan, np.nan], r"groups is missing in row 1 \(2 of 3 rows\)"),
        (["a", "a", "b"], "all rows are in one group"),
    ],
)
def test_refuses(groups, message):
    with pytest.raises(ValueError, match=message):
        read_groups(groups, 3, np.array([1.0, 1.0, 0.0]) if "one group" in message else np.ones(3))


@pytest.mark.parametrize("weights", ["ones", "real"])
def test_tables_are_split_by_groups(weights):
    problem = random_problem(3, 2, n_rows=40, n_classes=3, weights=weights)
    X, y = problem.frame()
    groups = np.arange(40) // 4
    network = NaiveBayesClassifier(categories=problem.categories)
    read = training_columns(network, X, y, problem.weights, row_groups=groups)
    table, _ = read.discretised(None)
    of_group = np.zeros((10, len(table.weights)))  # what each group adds to the rows of the table
    place = {tuple(row): k for k, row in enumerate(table.codes.tolist())}
    whole = network.fit(X, y, problem.weights).reader_.coded_rows(X, y, problem.weights)
    for codes, weight, t in zip(whole.codes.tolist(), whole.weights, whole.places, strict=True):
        of_group[groups[t], place[tuple(codes)]] += weight
    np.testing.assert_allclose(of_group.sum(axis=0), table.weights)
    held_out = []
    for rows, others in split_table(table, 3):
        held = np.zeros(len(table.weights))
        for codes, weight in zip(others.codes.tolist(), others.weights, strict=True):
            held[place[tuple(codes)]] = weight
        which = np.linalg.lstsq(of_group.T, held, rcond=None)[0].round(6)
        matches = [s for s in product([0, 1], repeat=10) if np.allclose(np.array(s) @ of_group, held)]
        assert matches, which
        held_out.append(held)
        assert rows.folding is None
        np.testing.assert_allclose(rows.weights.sum() + others.weights.sum(), table.weights.sum())
    np.testing.assert_allclose(sum(held_out), table.weights)


def test_frames_are_split_by_groups():
    problem = random_problem(4, 2, n_rows=30, n_classes=2, weights="real")
    X, y = problem.frame()
    y = y.astype(str)
    y.iloc[:3] = "rare"  # the first group alone has it
    groups, weights = np.arange(30) // 3, np.array(problem.weights)
    columns = read_columns(X)
    folds = frame_folds(columns, read_target(y, columns, weights), weights, 4, groups)
    for learned, held in folds:
        np.testing.assert_array_equal(learned + held, weights)
        assert not ((learned > 0) & (held > 0)).any()
        assert not set(groups[learned > 0]) & set(groups[held > 0])
    held = sum(held for _, held in folds)
    np.testing.assert_array_equal(held, np.where(y == "rare", 0, weights))


@pytest.mark.parametrize("n_columns", [1, 3, 30])
def test_equal_rows_are_numbered_in_the_order_of_their_values(n_columns):
    """Missing cells come first; with thirty columns, joint states are more than 2⁶²."""
    rng = np.random.default_rng(n_columns)
    every = [None, *range(7)]
    distinct = [[every[k] for k in rng.integers(0, len(every), n_columns)] for _ in range(9)]
    picked = rng.integers(0, len(distinct), 60)
    X = pd.DataFrame([distinct[k] for k in picked], columns=[f"x{j}" for j in range(n_columns)], dtype="Int64")
    y, weights = rng.integers(0, 2, 60).astype(str), (rng.random(60) < 0.8).astype(float)
    columns = read_columns(X)
    counted, group, classes = equal_rows(columns, read_target(y, columns, weights), weights)
    assert counted.tolist() == np.flatnonzero(weights).tolist()
    rows = [tuple(-1 if cell is None else cell for cell in distinct[k]) for k in picked[counted]]
    numbers = {row: number for number, row in enumerate(sorted(set(rows)))}
    assert group.tolist() == [numbers[row] for row in rows]
    assert classes.tolist() == [int(label) for label in y[counted]]
