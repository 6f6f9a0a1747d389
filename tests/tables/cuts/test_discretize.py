"""Rules for cut points, and what is done with cut points."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from tiers import examples

from anbexact import ANBClassifier, MDLPDiscretizer, MedianDiscretizer, MODLDiscretizer, NaiveBayesClassifier
from anbexact._kernels.modl import improved
from anbexact.datasets import load_iris
from anbexact.discretize import RULES, MODLGrouper, cut_codes, cuts_from_edges, find_cut_points, interval_names
from anbexact.tables.cuts.base import row_weights, with_coarse_cuts
from anbexact.tables.cuts.continuous import as_states
from anbexact.tables.cuts.rules import equal_frequency
from anbexact.tables.frames.reading import read_columns

VALUES = st.lists(st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 1)), min_size=1, max_size=15)
WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 3.7]), min_size=15, max_size=15)


def cut_of(values, weights=None):
    """The cut of one column; None where it has none."""
    (cuts,) = MedianDiscretizer().fit(np.array(values, dtype=float)[:, None], sample_weight=weights).cut_points_
    assert len(cuts) <= 1
    return cuts[0] if len(cuts) else None


class TestMedian:
    @given(VALUES, WEIGHTS)
    def test_is_a_weighted_median_and_leaves_no_interval_empty(self, values, weights):
        weights = weights[: len(values)]
        if not any(weights):
            return
        cut = cut_of(values, weights)
        kept = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight > 0]
        values, weights = zip(*kept, strict=True)
        if len(set(values)) == 1:
            assert cut is None
            return
        assert any(value <= cut for value in values)
        assert any(value > cut for value in values)
        if not oracles.is_weighted_median(max(values), values, weights):
            assert oracles.is_weighted_median(cut, values, weights)

    @given(VALUES, st.lists(st.integers(0, 3), min_size=15, max_size=15))
    def test_weights_are_copies(self, values, repeats):
        repeats = repeats[: len(values)]
        copies = [value for value, k in zip(values, repeats, strict=True) for _ in range(k)]
        if copies:
            assert cut_of(values, repeats) == cut_of(copies)

    @pytest.mark.parametrize(
        ("values", "cut"),
        [
            ([1, 2, 3, 4], 2.5),
            ([1, 2, 3], 2),
            ([1, 1, 1, 5], 1),
            ([1, 5, 5, 5], 3),
            ([5], None),
            ([2, 2], None),
            ([1, np.nan, 3], 2),
            ([np.nan, np.nan], None),
            ([-0.0, 0.0], None),
            ([1.0, np.nextafter(1.0, 2.0)], 1.0),
            ([-1.7e308, 1.7e308], 0.0),
            ([0.0, 5e-324], 0.0),
        ],
    )
    def test_by_hand(self, values, cut):
        assert cut_of(values) == cut

    @given(VALUES)
    def test_row_order_does_not_matter(self, values):
        assert cut_of(values) == cut_of(values[::-1])


def mdlp(values, labels, weights=None, **settings):
    """The cuts of one column."""
    (cuts,) = MDLPDiscretizer(**settings).fit(np.array(values, dtype=float)[:, None], labels, weights).cut_points_
    return cuts.tolist()


@st.composite
def labelled_columns(draw):
    """Values, labels and weights of a column; often with few values, or labels that follow the values."""
    n = draw(st.integers(1, 40))
    of_value = draw(st.sampled_from([st.integers(0, 4), st.integers(-30, 30)]))
    values = [float(value) for value in draw(st.lists(of_value, min_size=n, max_size=n))]
    noise = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    follow = draw(st.booleans())
    labels = [int(v > 0) + int(v > 10) if follow and k else k for v, k in zip(values, noise, strict=True)]
    of_weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 5).map(float), st.floats(0.01, 20)]))
    return values, labels, draw(st.lists(of_weight, min_size=n, max_size=n))


class TestMDLP:
    @given(labelled_columns())
    @examples(100, quick=30)
    def test_equals_the_published_recursion(self, column):
        values, labels, weights = column
        assert mdlp(*column) == oracles.mdlp_cuts(values, labels, oracles.row_weights(weights))

    @pytest.mark.parametrize("seed", range(6))
    def test_equals_the_published_recursion_on_many_rows(self, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 2 + seed % 3, 400)
        values = np.round(rng.normal(labels * 1.5 * (seed > 0), 1), 2)
        weights = rng.exponential(size=400) if seed % 2 else np.ones(400)
        found = mdlp(values, labels, weights)
        np.testing.assert_allclose(found, oracles.mdlp_cuts(values.tolist(), labels.tolist(), weights.tolist()))
        assert (len(found) > 0) == (seed > 0)

    def test_by_hand(self):
        # 1..6, aaabbb: the cut 3.5 gains 1 bit, more than (log2 5 + log2 7 - 2 * 1) / 6 = 0.522; both sides are pure.
        assert mdlp([1, 2, 3, 4, 5, 6], list("aaabbb")) == [3.5]
        # 1..4, abab: the best cuts, 1.5 and 3.5, gain 1 - 3/4 * 0.918 = 0.311, less than
        # (log2 3 + log2 7 - (2 * 1 - 2 * 0.918)) / 4 = 1.057.
        assert mdlp([1, 2, 3, 4], list("abab")) == []
        # Two separate a's and b's: 1 bit against (log2 1 + log2 7 - 2) / 2 = 0.404.
        assert mdlp([1, 2], list("ab")) == [1.5]
        # aaaa bbbb cccc: first 4.5 or 8.5, which gain log2 3 - 2/3 = 0.918 each, more than
        # (log2 11 + log2 25 - (3 * 1.585 - 2 * 1)) / 12 = 0.446; the lower one is taken, then the other.
        assert mdlp(range(1, 13), list("aaaabbbbcccc")) == [4.5, 8.5]

    @given(labelled_columns(), st.data())
    def test_weights_are_copies(self, column, data):
        values, labels, _ = column
        repeats = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
        if not any(repeats):
            return
        copied = [np.repeat(part, repeats) for part in (values, labels)]
        assert mdlp(values, labels, repeats) == mdlp(*copied)

    @given(labelled_columns(), st.randoms())
    def test_row_order_and_names_of_classes_do_not_matter(self, column, random):
        rows = list(zip(*column, strict=True))
        random.shuffle(rows)
        values, labels, weights = zip(*rows, strict=True)
        assert mdlp(*column) == mdlp(values, ["zyxwv"[k] for k in labels], weights)

    @given(labelled_columns(), st.integers(1, 5))
    @examples(80, quick=25)
    def test_at_most_so_many_intervals(self, column, most):
        values, labels, weights = column
        assert mdlp(*column, max_bins=most) == oracles.mdlp_cuts(values, labels, oracles.row_weights(weights), most)

    def test_most_saving_cut_first(self):
        # The first cut of aaa bbb cccccc dddddd is 6.5; of the two that follow, 12.5 saves more bits than 3.5.
        values, labels = range(1, 19), list("aaabbbccccccdddddd")
        assert mdlp(values, labels) == [3.5, 6.5, 12.5]
        assert mdlp(values, labels, max_bins=1) == []
        assert mdlp(values, labels, max_bins=2) == [6.5]
        assert mdlp(values, labels, max_bins=3) == [6.5, 12.5]

    @pytest.mark.parametrize("rule", [MDLPDiscretizer, MODLDiscretizer])
    @pytest.mark.parametrize("number", [0, -1, 2.5, True, "3"])
    def test_numbers_of_intervals_are_checked(self, rule, number):
        with pytest.raises(ValueError, match=f"max_bins must be a whole number above 0, or None, not {number!r}"):
            rule(max_bins=number).fit([[1.0], [2.0]], ["a", "b"])

    def test_missing_cells_count_for_nothing(self):
        X = [[1.0, 1.0], [2.0, np.nan], [np.nan, 2.0], [3.0, 3.0], [4.0, 4.0]]
        cuts = MDLPDiscretizer().fit(X, list("aabbb")).cut_points_
        assert [of_column.tolist() for of_column in cuts] == [
            mdlp([1, 2, 3, 4], list("aabb")),
            mdlp([1, 2, 3, 4], list("abbb")),
        ]
        assert MDLPDiscretizer().fit([[np.nan], [np.nan]], ["a", "b"]).cut_points_[0].tolist() == []

    def test_very_many_classes(self):
        labels = np.repeat(np.arange(2000), 2)
        assert mdlp(np.arange(4000), labels) == np.arange(1.5, 3999, 2).tolist()  # 3 ** 2000 is beyond a float

    def test_missing_classes_are_refused(self):
        for classes in ([None, "a"], pd.array([pd.NA, "a"])):
            with pytest.raises(ValueError, match="Input y contains NaN"):
                MDLPDiscretizer().fit([[1.0], [2.0]], classes)

    def test_needs_the_classes(self):
        with pytest.raises(ValueError, match="requires y"):
            MDLPDiscretizer().fit([[1.0], [2.0]])


def modl(values, labels, weights=None, **settings):
    """The cuts of one column."""
    (cuts,) = MODLDiscretizer(**settings).fit(np.array(values, dtype=float)[:, None], labels, weights).cut_points_
    return cuts.tolist()


@st.composite
def short_columns(draw):
    """Columns of at most 10 distinct values, whose classes often come in runs; some class codes are not there."""
    n = draw(st.integers(1, 30))
    values = [float(value) for value in draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))]
    noise = draw(st.lists(st.sampled_from([0, 0, 0, 1, 4]), min_size=n, max_size=n))
    labels = [2 * int(v > 4) + int(v > 7) if k == 0 else k for v, k in zip(values, noise, strict=True)]
    of_weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 40).map(float), st.floats(0.01, 20)]))
    return values, labels, draw(st.lists(of_weight, min_size=n, max_size=n))


class TestMODL:
    @given(short_columns(), st.one_of(st.none(), st.integers(1, 6)))
    @examples(80, quick=25)
    def test_no_partition_costs_less(self, column, most):
        values, labels, weights = column
        found = modl(*column, max_bins=most)
        weights = oracles.row_weights(weights)
        best = oracles.modl_best_cost(values, labels, weights, most or 10)
        assert oracles.modl_cost(values, labels, weights, found) == pytest.approx(best, rel=1e-9, abs=1e-7)
        assert len(found) + 1 <= (most or 10)

    def test_khiops_criterion_by_hand(self):
        # Ten values, two classes, aaaaabbbbb. One interval: ln 10 + ln C(10, 0) + ln C(11, 1) + ln 10!/(5! 5!)
        # = ln(10 * 1 * 11 * 252). Two equal ones: ln 10 + ln C(11, 1) + 2 (ln C(6, 1) + ln 1) = ln(10 * 11 * 36).
        values, labels = range(10), list("aaaaabbbbb")
        assert oracles.modl_cost(values, labels, [1] * 10, []) == pytest.approx(np.log(27_720))
        assert oracles.modl_cost(values, labels, [1] * 10, [4.5]) == pytest.approx(np.log(3_960))
        assert modl(values, labels) == [4.5]
        # abab: ln(4 * 1 * 5 * 6) = ln 120 for one interval; the best two, a | bab: ln(4 * 5 * 2 * 4 * 3) = ln 480.
        assert oracles.modl_cost(range(4), list("abab"), [1] * 4, []) == pytest.approx(np.log(120))
        assert oracles.modl_cost(range(4), list("abab"), [1] * 4, [0.5]) == pytest.approx(np.log(480))
        assert modl(range(4), list("abab")) == []

    @given(short_columns(), st.data())
    def test_weights_are_copies(self, column, data):
        values, labels, _ = column
        repeats = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
        if any(repeats):
            assert modl(values, labels, repeats) == modl(*(np.repeat(part, repeats) for part in (values, labels)))

    @given(short_columns(), st.randoms())
    def test_row_order_and_names_of_classes_do_not_matter(self, column, random):
        rows = list(zip(*column, strict=True))
        random.shuffle(rows)
        values, labels, weights = zip(*rows, strict=True)
        assert modl(*column) == modl(values, ["abcde"[k] for k in labels], weights)

    @pytest.mark.parametrize("whole", [True, False])
    @pytest.mark.parametrize("seed", range(4))
    def test_joining_and_improving_comes_close_to_the_optimum(self, seed, whole, monkeypatch):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 2 + seed % 3, 600)
        values = np.round(rng.normal(labels * (seed > 0), 1), 2)
        weights = rng.integers(1, 3, 600) if whole else rng.exponential(size=600)
        weights = weights.astype(float).tolist()
        exact = oracles.modl_cost(values, labels, weights, modl(values, labels, weights))
        monkeypatch.setattr("anbexact.tables.cuts.modl.MOST_EXACT_BLOCKS_SQUARED", 200)
        found = modl(values, labels, weights)
        assert (len(found) > 0) == (seed > 0)
        assert exact - 1e-6 <= oracles.modl_cost(values, labels, weights, found) <= exact + 3.0
        assert len(modl(values, labels, weights, max_bins=2)) <= 1

    def test_steps_improve_a_poor_partition(self):
        sums = np.array(
            [[0, 0], *np.cumsum([[19, 1], [18, 2], [1, 19], [2, 18], [19, 1], [19, 2]], axis=0)], dtype=float
        )
        logs, prices = np.empty(0), np.array([0.0, *(oracles.log_choose(120 + k - 1, k - 1) for k in range(1, 7))])
        for ends in ([0, 6], [0, 1, 6], [0, 1, 2, 3, 4, 5, 6], [0, 3, 4, 5, 6]):
            assert improved(sums, np.array(ends), prices, 6, 1e-9, logs).tolist() == [0, 2, 4, 6]
        assert improved(sums, np.array([0, 6]), prices, 2, 1e-9, logs).tolist() == [0, 4, 6]

    def test_very_many_distinct_values_are_joined_first(self, monkeypatch):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, 5000)
        values = rng.normal(labels * 2.0, 1)
        fine = oracles.modl_cost(values, labels, [1] * 5000, modl(values, labels))
        monkeypatch.setattr("anbexact.tables.cuts.modl.MOST_BLOCKS", 500)
        coarse = modl(values, labels)
        assert fine <= oracles.modl_cost(values, labels, [1] * 5000, coarse) <= fine + 30.0

    def test_missing_cells_count_for_nothing(self):
        X = [[1.0, 1.0], [2.0, np.nan], [np.nan, 2.0], [3.0, 3.0], [4.0, 4.0]]
        X, y = np.repeat(X, 3, axis=0), np.repeat(list("aabbb"), 3)
        cuts = MODLDiscretizer().fit(X, y).cut_points_
        assert [of_column.tolist() for of_column in cuts] == [[2.5], [1.5]]
        assert MODLDiscretizer().fit([[np.nan], [np.nan]], ["a", "b"]).cut_points_[0].tolist() == []


class TestCoarseCuts:
    @pytest.mark.parametrize("rule", [MDLPDiscretizer, MODLDiscretizer])
    def test_columns_that_say_little_are_cut_in_three(self, rule):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 200)
        three = np.where(y == 1, rng.random(200), rng.choice([-1, 1], 200) + rng.random(200))
        many = np.where(np.arange(200) % 10, 0.0, 5.0 * y)
        X = np.column_stack([rng.permutation(200), y + rng.random(200), three, many, np.ones(200)])
        plain, coarse = (rule(coarse=coarse).fit(X, y).cut_points_ for coarse in (False, True))
        assert [len(cuts) for cuts in plain[:3]] == [0, 1, 2]
        assert coarse[0].tolist() == [39.5, 159.5]
        assert len(coarse[1]) == 3
        assert set(plain[1]) < set(coarse[1])
        assert coarse[2].tolist() == plain[2].tolist()
        assert len(coarse[3]) == 1
        assert coarse[4].tolist() == []

    @given(VALUES, WEIGHTS)
    def test_cuts_are_the_nearest_to_the_shares(self, values, weights):
        rows = sorted((v, w) for v, w in zip(values, weights, strict=False) if w > 0)
        if not rows:
            return
        values, weights = map(np.array, zip(*rows, strict=True))
        cuts = with_coarse_cuts(np.empty(0), values, weights)
        possible = [weights[values <= value].sum() for value in sorted(set(values))[:-1]]
        assert len(cuts) <= min(2, len(possible))
        for share in (weights.sum() / 5, 4 * weights.sum() / 5):
            if possible:
                nearest = min(abs(of_cut - share) for of_cut in possible)
                found = min(abs(weights[values <= cut].sum() - share) for cut in cuts)
                assert found == pytest.approx(nearest, abs=1e-6)

    @pytest.mark.parametrize(
        ("cut", "expected"),
        [
            (49.5, [19.5, 49.5, 79.5]),
            (9.5, [9.5, 79.5]),
            (30.5, [30.5, 79.5]),
            (39.5, [19.5, 39.5, 79.5]),
            (90.5, [19.5, 90.5]),
        ],
    )
    def test_a_cut_stays_and_coarse_ones_join_it_from_afar(self, cut, expected):
        assert with_coarse_cuts(np.array([cut]), np.arange(100.0), np.ones(100)).tolist() == expected

    def test_a_column_that_one_cut_parts_is_parted_there(self):
        X = np.arange(200.0).reshape(-1, 1)
        y = np.arange(200) >= 110
        for rule in (MDLPDiscretizer(coarse=True), MODLDiscretizer(coarse=True)):
            assert 109.5 in rule.fit(X, y).cut_points_[0]
        assert NaiveBayesClassifier().fit(X, y).score(X, y) == 1.0

    def test_few_values(self):
        values = np.array([0.0] * 9 + [1.0, 2.0])
        assert with_coarse_cuts(np.array([1.5]), values, np.ones(11)).tolist() == [0.5, 1.5]
        assert with_coarse_cuts(np.empty(0), values, np.ones(11)).tolist() == [0.5]

    def test_weights_are_copies(self):
        values, repeats = np.array([1.0, 2.0, 4.0, 5.0, 9.0]), np.array([3, 1, 0, 2, 5])
        kept = repeats > 0
        weighted = with_coarse_cuts(np.empty(0), values[kept], repeats[kept].astype(float))
        copied = with_coarse_cuts(np.empty(0), np.repeat(values, repeats), np.ones(11))
        assert weighted.tolist() == copied.tolist() == [1.5, 7.0]

    @pytest.mark.parametrize("model", [NaiveBayesClassifier, ANBClassifier])
    def test_by_default_no_column_is_left_whole_and_none_gets_very_many_parents(self, model):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(150, 9))
        y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
        fitted = model().fit(X, y)
        assert all(len(cuts) >= 2 for cuts in fitted.cut_points_.values())
        assert max(map(len, fitted.structure_.parents.values())) <= 4

    def test_by_default_at_most_so_many_intervals(self):
        y = np.arange(3000) // 20 % 2
        assert len(MODLDiscretizer().fit(np.arange(3000.0)[:, None], y).cut_points_[0]) == 149
        (cuts,) = NaiveBayesClassifier().fit(np.arange(3000.0)[:, None], y).cut_points_.values()
        assert len(cuts) <= 15


class TestRowWeights:
    @given(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.3, 0.7, 1.0, 2.5]), min_size=1, max_size=9).filter(any))
    def test_by_the_formula(self, weights):
        kept = [weight for weight in weights if weight > 0]
        np.testing.assert_allclose(row_weights(np.array(kept)), oracles.row_weights(kept), rtol=1e-9)

    @pytest.mark.parametrize("rule", [MDLPDiscretizer, MODLDiscretizer])
    def test_weights_that_sum_to_1_count_as_rows(self, rule):
        X, y = load_iris()
        light = rule().fit(X, y, sample_weight=np.full(150, 1 / 150)).cut_points_
        assert [cuts.tolist() for cuts in light] == [cuts.tolist() for cuts in rule().fit(X, y).cut_points_]

    def test_counts_keep_their_meaning(self):
        counts = np.array([0.25, 0.5, 1.0])
        assert row_weights(counts) is counts


class TestRules:
    @pytest.mark.parametrize("strategy", ["uniform", "quantile", "kmeans"])
    @pytest.mark.parametrize("decimals", [0, 3])
    def test_scikit_learns_bins_part_the_rows_alike(self, strategy, decimals):
        values = np.round(np.random.default_rng(0).gamma(2, 3, (200, 3)), decimals)
        bins = KBinsDiscretizer(
            4, encode="ordinal", strategy=strategy, subsample=None, quantile_method="averaged_inverted_cdf"
        )
        labels = np.zeros(200, dtype=np.int64)
        cuts = find_cut_points(bins, values, labels, np.ones(200))
        ours = np.stack([cut_codes(column, of_column) for column, of_column in zip(values.T, cuts, strict=True)])
        np.testing.assert_array_equal(ours.T, bins.fit_transform(values))

    @pytest.mark.filterwarnings("ignore:Bins whose width")
    @pytest.mark.parametrize("unit", [1.0, 0.1])
    def test_equal_weights_do_not_change_equal_frequencies(self, unit, monkeypatch):
        """Although bins are then found without weights: they are those of rows that are repeated as often."""
        rng = np.random.default_rng(2)
        told = []
        usual = KBinsDiscretizer.fit

        def noted(self, X, y=None, sample_weight=None):
            told.append(sample_weight is not None)
            return usual(self, X, y, sample_weight)

        monkeypatch.setattr(KBinsDiscretizer, "fit", noted)
        for n_rows in range(7, 60, 3):
            values, labels = rng.gamma(2, 3, (n_rows, 2)).round(1), np.zeros(n_rows, dtype=np.int64)
            for intervals in (2, 5, 8):
                rule = equal_frequency(intervals)
                found = find_cut_points(rule, values, labels, np.full(n_rows, unit))
                edges = rule.fit(values, sample_weight=np.ones(n_rows)).bin_edges_
                for cuts, column, own in zip(found, values.T, edges, strict=True):
                    np.testing.assert_array_equal(cuts, cuts_from_edges(column, own[1:-1]))
        assert told == [False, True] * (len(told) // 2)
        find_cut_points(rule, values, labels, 1.0 + (np.arange(n_rows) == 0))
        assert told[-1]
        find_cut_points(KBinsDiscretizer(3, strategy="uniform"), values, labels, np.ones(n_rows))
        assert told[-1]

    def test_an_edge_among_the_values_moves_down(self):
        assert cuts_from_edges(np.array([1.0, 2.0, 4.0]), np.array([2.0, 3.0, 4.0])).tolist() == [1.5, 3.0]
        assert cuts_from_edges(np.array([1.0, 2.0]), np.array([0.5, 1.0, 7.0])).tolist() == []

    @pytest.mark.parametrize("rule", RULES)
    def test_missing_cells_are_passed_by(self, rule):
        rng = np.random.default_rng(1)
        values = rng.normal(size=(60, 2))
        labels = (values[:, 0] > 0.3).astype(np.int64)
        holes = values.copy()
        holes[::3, 1] = np.nan
        cuts = find_cut_points(rule, holes, labels, np.ones(60))
        np.testing.assert_array_equal(cuts[0], find_cut_points(rule, values, labels, np.ones(60))[0])
        kept = ~np.isnan(holes[:, 1])
        alone = find_cut_points(rule, values[kept, 1:], labels[kept], np.ones(40))
        np.testing.assert_array_equal(cuts[1], alone[0])

    def test_what_finds_no_cut_points_is_refused(self):
        with pytest.raises(TypeError, match="neither cut_points_ nor bin_edges_"):
            find_cut_points(StandardScaler(), np.eye(3), np.arange(3), np.ones(3))

    @pytest.mark.parametrize(
        "cuts", [[np.array([2.0, 1.0])], [np.array([1.0]), np.array([1.0])], [np.array([np.nan])]]
    )
    def test_senseless_cut_points_are_refused(self, cuts):
        class Senseless(MedianDiscretizer):
            def fit(self, X, y=None, sample_weight=None):
                self.cut_points_ = cuts
                return self

        with pytest.raises(ValueError, match="must contain increasing numbers for each of 1 columns"):
            find_cut_points(Senseless(), np.arange(9.0)[:, None], np.arange(9) % 2, np.ones(9))


class TestThroughAClassifier:
    @pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "equal_width"])
    def test_weights_are_copies(self, rule):
        rng = np.random.default_rng(0)
        X, y = rng.gamma(2, 3, (150, 2)).round(1), rng.integers(0, 2, 150)
        X[:, 0] += 4 * y
        weights = rng.integers(1, 6, 150)
        weighted = NaiveBayesClassifier(discretizer=rule).fit(X, y, sample_weight=weights)
        copied = NaiveBayesClassifier(discretizer=rule).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        for name, cuts in weighted.cut_points_.items():
            np.testing.assert_array_equal(cuts, copied.cut_points_[name])

    @pytest.mark.parametrize("rule", ["mdlp", "modl", "auto"])
    def test_weights_that_sum_to_1_find_the_cuts_of_rows(self, rule):
        X, y = load_iris()
        light = NaiveBayesClassifier(discretizer=rule).fit(X, y, sample_weight=np.full(150, 1 / 150)).cut_points_
        rows = NaiveBayesClassifier(discretizer=rule).fit(X, y).cut_points_
        assert {name: cuts.tolist() for name, cuts in light.items()} == {n: c.tolist() for n, c in rows.items()}

    def test_boosting_learns_from_weights_that_sum_to_1(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 3))
        y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.3).astype(int)
        boosted = AdaBoostClassifier(NaiveBayesClassifier(), n_estimators=10).fit(X[:200], y[:200])
        assert all(any(map(len, stage.cut_points_.values())) for stage in boosted.estimators_)
        assert boosted.score(X[200:], y[200:]) > 0.85


class TestTransformer:
    def test_transforms_into_two_intervals(self):
        X = [[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [9.0, np.nan]]
        out = MedianDiscretizer().fit_transform(X)
        np.testing.assert_array_equal(out, [[0, 0], [0, 0], [1, 0], [1, np.nan]])

    def test_the_cut_itself_is_below(self):
        transformer = MedianDiscretizer().fit([[1.0], [2.0], [3.0]])
        np.testing.assert_array_equal(transformer.transform([[2.0], [2.0000001], [-1e300]]).ravel(), [0, 1, 0])

    def test_infinity_is_refused(self):
        with pytest.raises(ValueError, match="infinity"):
            MedianDiscretizer().fit([[1.0], [np.inf]])

    def test_weights_are_checked(self):
        with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1.0"):
            MedianDiscretizer().fit([[1.0], [2.0]], sample_weight=[-1, 1])

    def test_frames_and_clones(self):
        X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 3.0]})
        before = X.copy()
        transformer = clone(MedianDiscretizer()).fit(X)
        assert transformer.feature_names_in_.tolist() == ["a", "b"]
        assert [cuts.tolist() for cuts in transformer.cut_points_] == [[1.5], []]
        pd.testing.assert_frame_equal(X, before)


class TestIntervals:
    def test_codes(self):
        assert cut_codes(np.array([0.0, 1.0, 1.5, np.nan, np.inf, -np.inf]), np.array([1.0])).tolist() == [
            0, 0, 1, -1, 1, 0,
        ]  # fmt: skip
        assert cut_codes(np.array([3, 4, 5]), np.array([3.0, 4.0])).tolist() == [0, 1, 2]
        assert cut_codes(np.array([3.0, np.nan]), np.empty(0)).tolist() == [0, -1]

    @given(st.lists(st.floats(-1e9, 1e9, allow_nan=False), unique=True, max_size=5))
    def test_names_are_distinct_and_one_more_than_cuts(self, cuts):
        names = interval_names(np.array(sorted(cuts)))
        assert len(set(names)) == len(names) == len(cuts) + 1

    def test_names_of_close_cuts(self):
        assert interval_names(np.array([1.0, 1.0 + 1e-9])) == (
            "(-inf, 1]",
            "(1, 1.000000001]",
            "(1.000000001, inf)",
        )
        assert interval_names(np.array([1700499600.0])) == ("(-inf, 1700499600]", "(1700499600, inf)")
        assert interval_names(np.empty(0)) == ("(-inf, inf)",)


@pytest.mark.parametrize("given_as", ["pandas", "polars", "array"])
@pytest.mark.parametrize("rule", [MDLPDiscretizer, MODLDiscretizer, MedianDiscretizer, MODLGrouper])
def test_output_as_a_frame_of_either_library(rule, given_as):
    """The same numbers in arrays and frames; names are those of the input."""
    pl = pytest.importorskip("polars")
    y = np.array([0, 1, 1] * 20)
    X = pd.DataFrame({"p": y * 2.0 + np.arange(60) % 2, "q": np.arange(60) % 7.0}, index=range(5, 65))
    rows = {"pandas": X, "polars": pl.DataFrame({name: X[name].to_numpy() for name in X}), "array": X.to_numpy()}[
        given_as
    ]
    names = ["x0", "x1"] if given_as == "array" else ["p", "q"]
    array = rule().fit(rows, y).transform(rows)
    frame = rule().set_output(transform="pandas").fit(rows, y).transform(rows)
    assert frame.columns.tolist() == names
    np.testing.assert_array_equal(frame, array)
    if given_as == "pandas":
        assert frame.index.equals(X.index)
    frame = rule().set_output(transform="polars").fit(rows, y).transform(rows)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == names
    np.testing.assert_array_equal(frame.to_numpy(), array)


def test_columns_that_are_not_cut_keep_the_codes_of_their_values():
    X = pd.DataFrame({"kept": [1, 2, 1, 3], "cut": [0.5, 1.5, 2.5, 3.5], "grouped": list("abca")})
    columns = read_columns(X)
    found = as_states(columns, np.ones(4), {"cut": (1.0,)}, {"grouped": (("a",), ("b", "c"))})
    assert found[0] is columns[0]
    assert found[1].record is not None
    assert found[2].record.values == ("a", "b", "c")
    assert [column.name for column in found] == list(X)
