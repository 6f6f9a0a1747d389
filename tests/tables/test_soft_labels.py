"""Class probabilities as targets: how they are read, refused and mixed with labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from anbexact.tables.soft_labels import check_soft_weight, mixed_with_labels, read_soft

CLASSES = ["a", "b", "c"]
GIVEN = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])


def changed(row, column, value):
    soft = GIVEN.copy()
    soft[row, column] = value
    return soft


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_found_by_name(frame):
    soft = frame({"c": GIVEN[:, 2], "a": GIVEN[:, 0], "b": GIVEN[:, 1]})
    np.testing.assert_array_equal(read_soft(soft, CLASSES, np.ones(2)), GIVEN)


def test_names_that_are_numbers_are_found_as_text():
    soft = pl.DataFrame({"1": [0.25], "0": [0.75]})
    np.testing.assert_array_equal(read_soft(soft, [0, 1], np.ones(1)), [[0.75, 0.25]])


def test_rounded_probabilities_are_divided_by_their_sum():
    found = read_soft(np.float32([[0.33333, 0.33333, 0.33333]]), CLASSES, np.ones(1))
    np.testing.assert_allclose(found, 1 / 3, rtol=1e-15)


def test_rows_of_weight_0_may_hold_anything():
    found = read_soft(changed(0, 1, np.nan), CLASSES, np.array([0.0, 2.0]))
    np.testing.assert_array_equal(found, [[0, 0, 0], GIVEN[1]])


@pytest.mark.parametrize(
    ("soft", "message"),
    [
        (GIVEN[:, :2], r"soft has shape \(2, 2\), expected \(2, 3\)"),
        (GIVEN[:1], r"soft has shape \(1, 3\), expected \(2, 3\)"),
        (GIVEN[:, 0], r"soft has shape \(2,\), expected \(2, 3\)"),
        (pd.DataFrame(GIVEN, columns=list("abd")), r"soft has the columns \['a', 'b', 'd'\].*'c' is missing"),
        (pd.DataFrame(GIVEN, columns=list("abb")), "Expected unique column names"),
        (changed(1, 2, np.nan), r"soft holds nan for class 'c' in row 1.*1 of 2 rows"),
        (changed(1, 1, -0.1), r"soft holds -0.1 for class 'b' in row 1"),
        (changed(0, 0, np.inf), r"soft holds inf for class 'a' in row 0"),
        (changed(0, 0, 0.3), r"add up to 1.1 in row 0, but must add up to 1 \(1 of 2 rows do not\)"),
        ([["x", 0, 1], [1, 0, 0]], "some of its cells are not num"),
    ],
)
def test_refuses(soft, message):
    with pytest.raises(ValueError, match=message):
        read_soft(soft, CLASSES, np.ones(2))


@pytest.mark.parametrize("value", [-0.1, 1.1, "1", True, None, np.nan])
def test_refuses_a_share_that_is_none(value):
    with pytest.raises(ValueError, match="soft_weight must be a number from 0 to 1"):
        check_soft_weight(value)


def test_mixture():
    np.testing.assert_allclose(
        mixed_with_labels(GIVEN, np.array([1, 0]), 0.25), [[0.05, 0.825, 0.125], [1, 0, 0]], rtol=1e-15
    )
