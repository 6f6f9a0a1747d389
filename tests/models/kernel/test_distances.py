"""Distances between states and correlations between rows: against loops over states, and closed forms."""

import itertools

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from similarities import ARITIES, N_ORDERED, UNSEEN, Sample, codes_of, with_holes
from tiers import examples

from anbexact import DiscreteTable
from anbexact.models.kernel.distances import (
    StateDistances,
    correlations,
    distances_of,
    information,
    log_correlations,
    with_relevance,
)


def one_column(values, weights=None, **options):
    """The distances between the states of a column."""
    table = DiscreteTable.from_frame(
        pd.DataFrame({"a": values}), pd.Series([0] * len(values), name="c"), sample_weight=weights, **options
    )
    return distances_of(table, {})[0]


def intervals(cuts, weights, missing=0.0, power=1.3):
    """The distances between the intervals of a column, each of a weight; the state of missing cells has its own."""
    names = [f"{k:03}" for k in range(len(weights))]
    table = DiscreteTable.from_frame(
        pd.DataFrame({"a": [*names, *[None] * (missing > 0)]}),
        pd.Series(["only"] * (len(names) + (missing > 0)), name="c"),
        sample_weight=[*weights, *[missing] * (missing > 0)],
        categories={"a": names},
        handle_missing="own_state",
    )
    return distances_of(table, {"a": np.asarray(cuts, dtype=np.float64)}, power)[0]


class TestStates:
    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    @pytest.mark.parametrize("seed", range(5))
    def test_distances_are_those_of_the_formula(self, seed, weights):
        sample = Sample.drawn(seed, weights=weights)
        found = distances_of(sample.table, {})
        assert len(found) == len(ARITIES)
        for own, of_states, arity, n in zip(found, sample.state_weights, ARITIES, N_ORDERED, strict=True):
            expected = [[oracles.state_distance(of_states, n, a, b) for b in range(arity)] for a in range(arity)]
            np.testing.assert_allclose(own.table, expected, atol=1e-12)
            np.testing.assert_allclose(own.shares, np.array(of_states) / sum(of_states), atol=1e-12)
            np.testing.assert_array_equal(np.isnan(own.places), np.arange(arity) >= n)

    def test_mid_ranks_count_weights(self):
        own = one_column([1, 2, 5, 5], [4.0, 2.0, 0.5, 1.5])
        assert own.places.tolist() == [0.25, 0.625, 0.875]
        np.testing.assert_allclose(own.table, [[0, 0.75, 1.25], [0.75, 0, 0.5], [1.25, 0.5, 0]])

    def test_a_state_without_rows_lies_between_its_neighbours(self):
        own = distances_of(Sample.drawn(0).table, {})[0]
        below, above = UNSEEN - 1, UNSEEN + 1
        assert own.shares[UNSEEN] == 0
        assert own.table[below, UNSEEN] + own.table[UNSEEN, above] == pytest.approx(own.table[below, above])
        assert own.table[below, UNSEEN] == pytest.approx(own.shares[below])

    @pytest.mark.parametrize("values", [list("abca"), [True, False, True, True]])
    def test_names_are_in_no_order(self, values):
        own = one_column(values)
        np.testing.assert_array_equal(own.table, 1 - np.eye(len(set(values))))

    def test_the_state_of_missing_cells_has_the_same_distance_from_all(self):
        own = one_column([1.0, 2.0, 3.0, None], handle_missing="own_state")
        assert own.table[-1].tolist() == own.table[:, -1].tolist() == [1, 1, 1, 0]
        assert own.table[0, 2] == 1.0  # of four rows, those in no order included, two lie between these

    def test_intervals_follow_an_order_although_their_names_do_not(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"a": list("uvw")}), pd.Series([0, 1, 0], name="c"))
        own = distances_of(table, {"a": np.array([1.0, 2.0])}, 1.3)[0]
        np.testing.assert_allclose(own.table[0], [0, (2 / 3) ** 1.3, (4 / 3) ** 1.3])

    @examples(60)
    @given(weights=st.lists(st.floats(0, 10), min_size=1, max_size=70).filter(any))
    def test_random_rows_are_two_thirds_apart_at_most(self, weights):
        shares = np.array(weights) / sum(weights)
        own = StateDistances(np.cumsum(shares) - shares / 2, shares)
        assert shares @ own.table @ shares <= 2 / 3 + 1e-12


CUTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=63).map(np.cumsum)
"""Ascending cut points, of which neighbours may be much farther apart than others."""


class TestIntervals:
    def test_places_are_means_of_mid_ranks_and_middles(self):
        """The middles are -0.5, 0.5, 3 and 7: the first and the last interval are as wide as their neighbours.

        Mid-ranks are 0.1, 0.3, 0.6 and 0.9. Two rows are 0.304 apart in them on average, and 2.8 in the middles.
        """
        own = intervals([0.0, 1.0, 5.0], [1.0, 1.0, 2.0, 1.0])
        unit = 2.8 / 0.304
        expected = [0.05, (0.3 + 1 / unit) / 2, (0.6 + 3.5 / unit) / 2, (0.9 + 7.5 / unit) / 2]
        np.testing.assert_allclose(own.places, expected)
        np.testing.assert_allclose(own.table[0], (2 * (np.array(expected) - expected[0])) ** 1.3)

    @examples(60)
    @given(
        cuts=CUTS,
        weights=st.lists(st.floats(0.01, 10), min_size=64, max_size=64),
        power=st.sampled_from([0.5, 1.0, 1.3]),
    )
    def test_distances_are_those_of_the_formula(self, cuts, weights, power):
        weights = weights[: len(cuts) + 1]
        middles = [0.0, 1.0]
        if len(cuts) > 1:
            ends = [2 * cuts[0] - cuts[1], *cuts, 2 * cuts[-1] - cuts[-2]]
            middles = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
        n = len(weights)
        expected = [[oracles.interval_distance(weights, middles, power, a, b) for b in range(n)] for a in range(n)]
        np.testing.assert_allclose(intervals(cuts, weights, power=power).table, expected, rtol=1e-6, atol=1e-6)

    @examples(60)
    @given(cuts=CUTS, factor=st.sampled_from([1e-9, 0.1, 7.0, 1e12]), shift=st.sampled_from([-300.0, 0.0, 1000.0]))
    def test_neither_unit_nor_origin_matters(self, cuts, factor, shift):
        weights = np.arange(1.0, len(cuts) + 2)
        own, other = intervals(cuts, weights), intervals(factor * (cuts + shift), weights)
        np.testing.assert_allclose(other.places, own.places, atol=1e-6)

    def test_two_are_as_far_apart_as_two_names(self):
        np.testing.assert_allclose(intervals([5.0], [3.0, 1.0]).table, one_column(list("nyyy")).table, atol=1e-12)

    def test_a_single_one(self):
        assert intervals([], [3.0]).table.tolist() == [[0.0]]

    @pytest.mark.parametrize("weights", [[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    def test_if_all_rows_are_in_one_places_are_mid_ranks(self, weights):
        own, other = intervals([1.0, 7.0], weights), one_column([0, 1, 2], weights, categories={"a": [0, 1, 2]})
        np.testing.assert_array_equal(own.places, other.places)

    @examples(60)
    @given(cuts=CUTS, seed=st.integers(0, 10**6))
    def test_with_those_of_no_rows_and_missing_cells_correlations_are_a_covariance(self, cuts, seed):
        """With the largest power, which is the one that needs the limit of the range of places."""
        rng = np.random.default_rng(seed)
        weights = rng.dirichlet(np.full(len(cuts) + 1, 0.3)) * (rng.random(len(cuts) + 1) < 0.8)
        own = intervals(cuts, weights, missing=0.1)
        assert own.places[-2] - own.places[0] <= 1.35
        assert (np.diff(own.places[:-1]) >= 0).all()
        np.testing.assert_array_equal(own.table[-1, :-1], 1.0)
        for rate in (1e-3, 0.05, 1.0, 8.0):
            assert np.linalg.eigvalsh(np.exp(-rate * own.table)).min() > -1e-12

    def test_with_places_farther_apart_they_would_be_none(self):
        own = StateDistances(np.append(np.linspace(0, 1.7, 20), np.nan), np.full(21, 1 / 21), power=1.3)
        assert np.linalg.eigvalsh(np.exp(-0.05 * own.table)).min() < -1e-4

    def test_cut_points_as_far_apart_as_numbers_can_be(self):
        np.testing.assert_allclose(np.diff(intervals([-1.7e308, 0.0, 1.7e308], [1.0] * 4).places), 0.25)


class TestRelevance:
    @examples(60)
    @given(seed=st.integers(0, 10**6), n_rows=st.integers(5, 80), weights=st.sampled_from(["ones", "mixed"]))
    def test_information_is_that_of_the_formula(self, seed, n_rows, weights):
        sample = Sample.drawn(seed, n_rows, weights)
        table = sample.table
        np.testing.assert_allclose(information(table, distances_of(table, {})), sample.informations, atol=1e-12)

    def test_information_of_many_ordered_states_is_that_of_eight_groups(self):
        """Of 64 states of one row each, which determine the class as exactly as they are known."""
        codes = np.arange(64)
        table = DiscreteTable.from_frame(pd.DataFrame({"a": codes, "b": codes % 2}), pd.Series(codes // 32, name="c"))
        found = information(table, distances_of(table, {}))
        np.testing.assert_allclose(found, [np.log(2) - 7 / 128, 0.0])

    def test_information_does_not_depend_on_the_width_of_intervals(self):
        codes = np.arange(64)
        table = DiscreteTable.from_frame(pd.DataFrame({"a": codes}), pd.Series(codes // 32, name="c"))
        found = information(table, distances_of(table, {"a": np.exp(np.arange(63.0))}))
        np.testing.assert_allclose(found, [np.log(2) - 7 / 128])

    def test_rounding_errors_do_not_move_states_to_other_groups(self):
        """The third state has the mid-rank 4.5/12, which is 3/8; in floating point, its sum was just below."""
        codes = np.repeat(np.arange(5), [2, 2, 1, 3, 4])
        labels = np.array([0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1])
        table = DiscreteTable.from_frame(pd.DataFrame({"a": codes}), pd.Series(labels, name="c"))
        expected = oracles.feature_information(codes.tolist(), labels.tolist(), [1] * 12, 5, 5, 2)
        assert expected == pytest.approx(np.log(12 / 7) * 7 / 12 + np.log(12 / 5) * 5 / 12 - 4 / 24)
        np.testing.assert_allclose(information(table, distances_of(table, {})), [expected])

    @pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 3.0, 1e5])
    def test_is_one_on_average_and_a_power_of_the_information(self, exponent):
        two = StateDistances(np.array([0.25, 0.75]), np.array([0.5, 0.5]))
        alone = StateDistances(np.array([0.5]), np.array([1.0]))
        found = with_relevance([two, two, alone, two], np.array([0.4, 0.1, 0.0, 0.0]), exponent)
        relevances = np.array([own.relevance for own in found])
        assert relevances[[0, 1, 3]].mean() == pytest.approx(1)
        if exponent < 1e5:
            expected = oracles.feature_relevances([0.4, 0.1, 0.0, 0.0], [2, 2, 1, 2], exponent)
            np.testing.assert_allclose(relevances, expected)
            assert relevances[1] / relevances[0] == pytest.approx(0.3**exponent / 1.05**exponent)
        else:
            np.testing.assert_allclose(relevances, [3, 0, 0, 0])
        np.testing.assert_array_equal(found[1].table, relevances[1] * two.table)

    def test_is_one_where_nothing_is_known_of_the_class(self):
        two = StateDistances(np.array([0.25, 0.75]), np.array([0.5, 0.5]))
        assert [own.relevance for own in with_relevance([two, two], np.zeros(2), 1.0)] == [1.0, 1.0]
        alone = StateDistances(np.array([0.5]), np.array([1.0]))
        assert [own.relevance for own in with_relevance([alone], np.zeros(1), 1.0)] == [1.0]


class TestRows:
    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    @pytest.mark.parametrize("seed", range(5))
    def test_correlations_are_products_over_the_features(self, seed, weights):
        sample = Sample.drawn(seed, 20, weights)
        rate = float(np.random.default_rng(seed).choice([0.1, 0.7, 3.0]))
        points, _ = sample.distinct
        rows = [*sample.rows, *with_holes(sample.rows, seed), (None,) * 3, (UNSEEN, 0, 0)]
        distances = distances_of(sample.table, {})
        for exponent in (0.0, 1.0):
            own = with_relevance(distances, np.array(sample.informations), exponent)
            found = correlations(codes_of(rows), codes_of(points), own, rate)
            np.testing.assert_allclose(found, sample.correlations(rows, points, rate, exponent), rtol=1e-10)

    @pytest.mark.parametrize("power", [1.0, 1.3])
    @pytest.mark.parametrize("seed", range(3))
    def test_correlations_of_intervals_are_products_over_the_features(self, seed, power):
        """Also of an interval that no row is in, and of rows with hidden cells."""
        sample = Sample.drawn(seed, 20, "mixed")
        middles, weights = [-0.5, 0.5, 3.0, 5.5, 13.0, 27.0], sample.state_weights
        points, _ = sample.distinct
        rows = [*sample.rows, *with_holes(sample.rows, seed), (None,) * 3, (UNSEEN, 0, 0)]
        distances = distances_of(sample.table, {"size": np.array([0.0, 1.0, 5.0, 6.0, 20.0])}, power)

        def factor(feature, state, other):
            if feature == 0:
                return np.exp(-0.7 * oracles.interval_distance(weights[0], middles, power, state, other))
            return np.exp(-0.7 * oracles.state_distance(weights[feature], N_ORDERED[feature], state, other))

        def mean(feature, cell, other):
            if cell is not None:
                return factor(feature, cell, other)
            factors = [factor(feature, state, other) for state in range(ARITIES[feature])]
            return np.average(factors, weights=weights[feature])

        expected = [
            [np.prod([mean(j, *cells) for j, cells in enumerate(zip(x, z, strict=True))]) for z in points]
            for x in rows
        ]
        found = correlations(codes_of(rows), codes_of(points), distances, 0.7)
        np.testing.assert_allclose(found, expected, rtol=1e-10)

    def test_logs_grow_with_the_rate_where_no_cell_is_missing(self):
        sample = Sample.drawn(1)
        codes, distances = codes_of(sample.rows), distances_of(sample.table, {})
        logs = log_correlations(codes, codes, distances, 1.0)
        np.testing.assert_allclose(log_correlations(codes, codes, distances, 2.5), 2.5 * logs, rtol=1e-12)
        assert (np.diag(logs) == 0).all()

    def test_a_feature_of_one_state_has_no_effect(self):
        only = StateDistances(np.array([0.5]), np.array([1.0]))
        two = StateDistances(np.array([0.25, 0.75]), np.array([0.5, 0.5]))
        codes = np.array([[0, -1], [0, 1]], dtype=np.int16)
        points = np.zeros((2, 1), dtype=np.int16)
        assert log_correlations(codes, points, [only, two], 0.5).tolist() == [[0.0], [-0.5]]

    def test_correlations_are_a_covariance(self):
        """Also with a state of missing cells, which is in no order: no eigenvalue is below 0."""
        for seed in range(5):
            rng = np.random.default_rng(seed)
            shares = rng.dirichlet(np.full(8, 0.5))
            places = np.cumsum(shares) - shares / 2
            places[-1] = np.nan
            own = StateDistances(places, shares)
            states = np.arange(8, dtype=np.int16)[None]
            for rate in (0.05, 1.0, 8.0):
                assert np.linalg.eigvalsh(correlations(states, states, [own], rate)).min() > -1e-12
