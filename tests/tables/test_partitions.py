"""Nested partitions: what makes one, and the rules that make them of columns."""

from itertools import pairwise
from math import inf

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anbexact.discretize import CountPartition, EqualWidthPartition, FixedCutsPartition, QuantilePartition, cut_codes
from anbexact.tables.partitions import NestedPartition

WHOLE = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=25)
WEIGHTS = st.lists(st.sampled_from([1.0, 1.0, 2.0, 5.0]), min_size=25, max_size=25)


def fit(rule, values, levels, weights=None):
    weights = np.ones(len(values)) if weights is None else np.array(weights, dtype=float)
    return rule.fit("x", np.array(values, dtype=float), weights, levels)


def check_nesting(partition):
    """Every level refines the one before, and its cells are made of whole cells of the finest."""
    finest = partition.cell_at(partition.n_levels)
    assert finest.tolist() == list(range(len(partition.masses)))
    for level in range(1, partition.n_levels + 1):
        cuts = partition.cuts_at(level).tolist()
        assert set(partition.cuts_at(level - 1)) <= set(cuts) <= set(partition.cuts)
        assert cuts == [
            cut for cut, entered in zip(partition.cuts, partition.entered, strict=True) if entered <= level
        ]
        ends = [-inf, *partition.cuts, inf]
        cells = [sum(cut <= low for cut in cuts) for low in ends[:-1]]
        assert partition.cell_at(level).tolist() == cells
        masses = [
            sum(m for m, c in zip(partition.masses, cells, strict=True) if c == j) for j in range(len(cuts) + 1)
        ]
        assert partition.masses_at(level) == pytest.approx(masses)


class TestNestedPartition:
    def test_of_two_levels(self):
        partition = NestedPartition((1.0, 2.0, 5.0), (2, 1, 2), (0.1, 0.2, 0.3, 0.4))
        assert partition.n_levels == 2
        assert partition.finest.tolist() == [1.0, 2.0, 5.0]
        assert partition.cuts_at(1).tolist() == [2.0]
        assert partition.cell_at(1).tolist() == [0, 0, 1, 1]
        assert partition.masses_at(1) == pytest.approx([0.3, 0.7])
        check_nesting(partition)

    def test_without_cuts_there_is_one_level_of_one_cell(self):
        partition = NestedPartition((), (), (2.5,))
        assert (partition.n_levels, partition.cell_at(1).tolist(), partition.masses_at(1).tolist()) == (1, [0], [2.5])

    @pytest.mark.parametrize(
        ("cuts", "entered", "masses", "message"),
        [
            ((1.0,), (), (1.0, 1.0), "one level for every cut point"),
            ((1.0,), (1,), (1.0,), "one cell more"),
            ((), (), (), "one cell more"),
            ((1.0, 1.0), (1, 2), (1.0, 1.0, 1.0), "must increase"),
            ((2.0, 1.0), (1, 2), (1.0, 1.0, 1.0), "must increase"),
            ((1.0, np.nan), (1, 1), (1.0, 1.0, 1.0), "must increase"),
            ((1.0, 2.0), (1, 3), (1.0, 1.0, 1.0), "every level from 1"),
            ((1.0, 2.0), (2, 2), (1.0, 1.0, 1.0), "every level from 1"),
            ((1.0, 2.0), (0, 1), (1.0, 1.0, 1.0), "every level from 1"),
            ((1.0,), (1,), (0.0, 1.0), "a finite number above 0"),
            ((1.0,), (1,), (-1.0, 1.0), "a finite number above 0"),
            ((1.0,), (1,), (np.inf, 1.0), "a finite number above 0"),
            ((1.0,), (1,), (np.nan, 1.0), "a finite number above 0"),
        ],
    )
    def test_what_is_none_is_refused(self, cuts, entered, masses, message):
        with pytest.raises(ValueError, match=message):
            NestedPartition(cuts, entered, masses)


class TestQuantiles:
    @given(WHOLE, WEIGHTS, st.integers(1, 4))
    def test_cuts_are_nearest_to_the_quantiles(self, values, weights, levels):
        """Ties in the column included, which make cuts fall together; every level adds what the oracle's adds."""
        weights = weights[: len(values)]
        partition = fit(QuantilePartition(), values, levels, weights)
        added = oracles.quantile_cuts(values, weights, levels)
        assert partition.n_levels == max(len(added), 1)
        for level, cuts in enumerate(added, 1):
            assert [c for c, e in zip(partition.cuts, partition.entered, strict=True) if e == level] == cuts
        cells = cut_codes(np.array(values), partition.finest)
        assert partition.masses == pytest.approx(np.bincount(cells, weights) / sum(weights))
        check_nesting(partition)

    @given(WHOLE, st.lists(st.integers(1, 3), min_size=25, max_size=25), st.integers(1, 3))
    def test_weights_are_copies(self, values, repeats, levels):
        repeats = repeats[: len(values)]
        copies = [value for value, k in zip(values, repeats, strict=True) for _ in range(k)]
        assert fit(QuantilePartition(), values, levels, repeats) == fit(QuantilePartition(), copies, levels)

    @given(WHOLE, WEIGHTS, st.integers(1, 4))
    def test_monotone_transformations_change_no_cell(self, values, weights, levels):
        weights = weights[: len(values)]
        raised = [value**3 + 2 for value in values]
        ours, theirs = (fit(QuantilePartition(), column, levels, weights) for column in (values, raised))
        assert (ours.entered, ours.masses) == (theirs.entered, theirs.masses)
        assert np.array_equal(cut_codes(np.array(values), ours.finest), cut_codes(np.array(raised), theirs.finest))

    def test_levels_double_the_cells_where_there_are_no_ties(self):
        partition = fit(QuantilePartition(), range(32), 3)
        assert partition.cuts == tuple(3.5 + 4 * k for k in range(7))
        assert partition.entered == (3, 2, 3, 1, 3, 2, 3)
        assert partition.masses == (0.125,) * 8

    def test_a_constant_is_not_cut(self):
        assert fit(QuantilePartition(), [3.0] * 9, 3) == NestedPartition((), (), (1.0,))

    def test_levels_end_where_there_is_nothing_left_to_part(self):
        partition = fit(QuantilePartition(), [1.0, 2.0, 3.0], 50)
        assert (partition.cuts, partition.n_levels) == ((1.5, 2.5), 2)


class TestEqualWidth:
    def test_halves_again_and_again(self):
        partition = fit(EqualWidthPartition(-1, 3), [-1.0, 3.0], 3)
        assert partition.cuts == (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
        assert partition.entered == (3, 2, 3, 1, 3, 2, 3)
        assert partition.masses == (0.5,) * 8
        check_nesting(partition)

    def test_the_column_does_not_matter(self):
        assert fit(EqualWidthPartition(0, 1), [0.5], 2) == fit(EqualWidthPartition(0, 1), [0.1, 0.9, 0.9], 2)

    def test_cells_stay_fewer_than_the_states_a_variable_may_have(self):
        partition = fit(EqualWidthPartition(0, 1), [0.5], 60)
        assert (partition.n_levels, len(partition.masses)) == (14, 1 << 14)

    @pytest.mark.parametrize("values", [[0.5, -0.01], [1.01], [0.2, 7.0, 9.0]])
    def test_values_outside_are_refused(self, values):
        outside = [value for value in values if not 0 <= value <= 1]
        message = rf"'x' contains .*{outside[0]}.*between 0 and 1 \({len(outside)} do not\)"
        with pytest.raises(ValueError, match=message):
            fit(EqualWidthPartition(0, 1), values, 2)

    @pytest.mark.parametrize(
        "ends", [(1, 0), (0, 0), (-inf, 0), (0, inf), (np.nan, 1), (0, np.nan), (-1e308, 1e308), (0, 10**400)]
    )
    def test_ends_that_are_none_are_refused(self, ends):
        with pytest.raises(ValueError, match="finite ends low < high"):
            EqualWidthPartition(*ends)

    @pytest.mark.parametrize("end", ["a", "0", None, True, [0], 1j, np.array([0.0, 1.0])])
    def test_ends_that_are_no_numbers_are_refused(self, end):
        with pytest.raises(ValueError, match=r"low must be a number, not .*"):
            EqualWidthPartition(end, 3)
        with pytest.raises(ValueError, match=r"high must be a number, not .*"):
            EqualWidthPartition(0, end)

    def test_ends_of_numpy_are_numbers(self):
        """Differences of small integers would overflow."""
        rule = EqualWidthPartition(np.int8(-100), np.int8(100))
        assert fit(rule, [0.0], 2) == fit(EqualWidthPartition(-100, 100), [0.0], 2)
        assert hash(rule) == hash(EqualWidthPartition(-100.0, 100.0))
        assert fit(EqualWidthPartition(0, 10**30), [0.0], 1).cuts == (5e29,)

    def test_an_interval_of_too_few_numbers_is_refused(self):
        assert fit(EqualWidthPartition(1, 1 + 2**-50), [1.0], 2).n_levels == 2
        with pytest.raises(
            ValueError, match=r"column 'x': .* too few .* between 1\.0 and .* 3 times: .* fewer levels="
        ):
            fit(EqualWidthPartition(1, 1 + 2**-50), [1.0], 3)


class TestCounts:
    @pytest.mark.parametrize("first", [0, 1, -2])
    def test_tells_the_first_numbers_apart(self, first):
        partition = fit(CountPartition(first), [first, first + 90], 3)
        assert partition.cuts == (first + 0.5, first + 1.5, first + 2.5)
        assert partition.entered == (1, 2, 3)
        assert partition.masses == pytest.approx([1 / 2, 1 / 6, 1 / 12, 1 / 4])
        assert [partition.masses_at(k)[-1] for k in (1, 2, 3)] == pytest.approx([1 / 2, 1 / 3, 1 / 4])
        check_nesting(partition)

    def test_what_is_no_count_is_refused(self):
        with pytest.raises(
            ValueError, match=r"'x' is declared to contain counts, but contains .*2\.5.*: round it, or"
        ):
            fit(CountPartition(), [1.0, 2.5], 2)
        with pytest.raises(ValueError, match=r"'x' contains .*-1.*between 0 and inf"):
            fit(CountPartition(), [3.0, -1.0], 2)
        with pytest.raises(ValueError, match="between 2 and inf"):
            fit(CountPartition(2), [1.0], 2)

    def test_levels_have_no_more_cells_than_halves_have(self):
        halves = fit(EqualWidthPartition(0, 1), [0.5], 60)
        partition = fit(CountPartition(), [3.0], 40_000)
        sizes = [sum(len(p.masses_at(k)) for k in range(1, p.n_levels + 1)) for p in (partition, halves)]
        assert sizes[0] <= sizes[1] < sizes[0] + partition.n_levels + 2
        assert partition.masses[-1] == pytest.approx(1 / (partition.n_levels + 1))
        assert fit(CountPartition(), [3.0], 40).n_levels == 40

    def test_first_numbers_whose_halves_are_rounded_are_refused(self):
        for first in (2**51, -(2**51)):
            cells = cut_codes(
                np.array([first + 252.0, first + 253.0, first + 254.0]), fit(CountPartition(first), [], 999).finest
            )
            assert cells.tolist() == [252, 253, 254]
        for first in (2**51 + 1, -(2**51) - 1, 10**400):
            with pytest.raises(ValueError, match=r"first must be a whole number from -2\*\*51 .*, not .*: "):
                CountPartition(first)


class TestNestedCuts:
    def test_levels_are_as_given(self):
        rule = FixedCutsPartition([[5], [1, 7], [6]], 0, 10)
        partition = fit(rule, [0.0, 10.0], 3)
        assert (partition.cuts, partition.entered) == ((1, 5, 6, 7), (2, 1, 3, 2))
        assert partition.masses == (1, 4, 1, 1, 3)
        check_nesting(partition)
        fewer = fit(rule, [3.0], 2)
        assert (fewer.cuts, fewer.entered, fewer.masses) == ((1, 5, 7), (2, 1, 2), (1, 4, 2, 3))
        assert fit(rule, [3.0], 9) == partition

    def test_halves_are_those_of_an_interval(self):
        levels = [[i / 2**k for i in range(1, 2**k, 2)] for k in (1, 2, 3)]
        assert fit(FixedCutsPartition(levels, 0, 1), [0.5], 3) == fit(EqualWidthPartition(0, 1), [0.5], 3)

    def test_values_outside_are_refused(self):
        with pytest.raises(ValueError, match="between 0 and 10"):
            fit(FixedCutsPartition([[5]], 0, 10), [10.5], 1)

    @pytest.mark.parametrize(
        ("levels", "low", "high", "message"),
        [
            ([], 0, 1, "levels must contain at least one level"),
            ([[0.5], []], 0, 1, "every level must add a cut"),
            ([[0.5], [0.5]], 0, 1, "must be distinct"),
            ([[0.5], [1.5]], 0, 1, "lie between 0 and 1"),
            ([[0.0]], 0, 1, "lie between 0 and 1"),
            ([[1.0]], 0, 1, "lie between 0 and 1"),
            ([[2], [1, 2, 2.5]], 0, 3, r"2\.0 is given twice: list it only at the first level"),
            ([[2**53], [2**53 + 1]], 0, 2**60, "must be distinct"),
            ([[10**400]], 0, 1, "lie between 0 and 1"),
            ([["0.5"]], 0, 1, "a cut point must be a number, not '0.5'"),
            ([[0.5], [None]], 0, 1, "a cut point must be a number, not None"),
            ([[True]], 0, 2, "a cut point must be a number, not True"),
            ([[[0.5]]], 0, 1, r"a cut point must be a number, not \[0\.5\]"),
            ([[0.5]], "0", 1, "low must be a number, not '0'"),
            ([[0.5]], 0, None, "high must be a number, not None"),
            ([[0.5]], False, 1, "low must be a number, not False"),
            ([[0.5]], 1, 0, "low=1 and high=0"),
            ([[0.5]], -1e308, 1e308, "a finite width"),
            ([[0.5]], 0, inf, "finite ends low < high, .* high=inf"),
            ([[0.5]], -inf, 1, "finite ends low < high, .* low=-inf"),
            ([[np.nan]], 0, 1, "lie between 0 and 1"),
            ([[0.5], [np.nan]], 0, 1, "lie between 0 and 1"),
            ([[0.5]], 0, np.nan, "finite ends low < high, .* high=nan"),
        ],
    )
    def test_cuts_that_make_no_levels_are_refused(self, levels, low, high, message):
        with pytest.raises(ValueError, match=message):
            FixedCutsPartition(levels, low, high)

    @pytest.mark.parametrize("levels", [None, 5, "12", ["1"], [1, 2], [[1], 2], {1: [2]}, np.array(1.0), np.ones(2)])
    def test_what_is_no_list_of_lists_is_refused(self, levels):
        with pytest.raises(TypeError, match="levels must be a sequence of sequences of cut points, such as"):
            FixedCutsPartition(levels, 0, 3)

    def test_arrays_are_lists(self):
        assert FixedCutsPartition(np.array([[0.5], [0.2]]), np.float32(0), np.int64(1)) == FixedCutsPartition(
            [[0.5], [0.2]], 0, 1
        )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 4))
def test_every_value_lies_in_one_cell_of_every_level(values, levels):
    for rule in (QuantilePartition(), EqualWidthPartition(0, 1), FixedCutsPartition([[0.3], [0.1, 0.9]], 0, 1)):
        partition = fit(rule, values, levels)
        finest = cut_codes(np.array(values), partition.finest)
        for level in range(1, partition.n_levels + 1):
            cells = cut_codes(np.array(values), partition.cuts_at(level))
            assert np.array_equal(cells, partition.cell_at(level)[finest])
        assert all(a < b for a, b in pairwise(partition.cuts))


class TestRounding:
    def test_neither_order_nor_scale_of_weights_moves_quantiles(self):
        """Sums of weights differ in the last digit, and quantiles that lie between two values stay where they are."""
        rng = np.random.default_rng(0)
        values = np.arange(20.0)
        even = QuantilePartition().fit("x", values, np.ones(20), 4)
        assert QuantilePartition().fit("x", values, np.full(20, 0.1), 4).cuts == even.cuts
        for _ in range(50):
            x, w = rng.integers(0, 8, 40).astype(float), rng.choice([0.1, 0.2, 0.3, 0.7], 40)
            order = rng.permutation(40)
            assert (
                QuantilePartition().fit("x", x, w, 4).cuts == QuantilePartition().fit("x", x[order], w[order], 4).cuts
            )

    def test_weights_that_vanish_beside_others_still_have_a_measure(self):
        partition = QuantilePartition().fit("x", np.arange(12.0), np.array([4.0, *[1e-17] * 10, 4.0]), 3)
        assert min(partition.masses) > 0
        assert sum(partition.masses) == pytest.approx(1.0)


@pytest.mark.parametrize("first", ["0", 0.5, None, True])
def test_counts_start_at_a_whole_number(first):
    with pytest.raises(ValueError, match="first must be a whole number"):
        CountPartition(first)
    assert CountPartition(np.int64(2)) == CountPartition(2)
