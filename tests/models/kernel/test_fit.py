"""Fits of kernel logistic regression: the mode of a Gaussian process, and the choice of its parameters."""

import itertools
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from math import inf, sqrt

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from similarities import N_CLASSES, Sample, codes_of, with_holes
from tiers import examples

import anbexact.models.kernel.fit as fit_module
import anbexact.models.kernel.mode as mode_module
from anbexact import DiscreteTable
from anbexact._runtime.deadline import Deadline
from anbexact.models.kernel.distances import distances_of
from anbexact.models.kernel.fit import FIRST, KernelSetting, choose_kernel, learn_kernel
from anbexact.models.kernel.learned_relevance import LEARNED, with_learned_relevance
from anbexact.models.kernel.mode import Objective
from anbexact.models.kernel.rows import DistinctRows
from anbexact.tables.folds import Folding, split_table

ALL = 1000
"""More points than a sample has rows."""


def fitted(sample, rate, l2, points=ALL, relevance=0.5):
    """The model of a sample."""
    return learn_kernel(sample.table, {}, [[rate], [l2], [relevance], [1.0]], points, Deadline())[0]


@contextmanager
def to_the_end():
    """Let fits go on until rounding ends them; usually, they end where little is left to gain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mode_module, "STATIONARY", {8: 1e-16, 4: 1e-16})
        patch.setattr(fit_module, "ENOUGH", 0.0)
        yield


def process_values(model, rows, sample):
    """The log odds of a model in some rows, less the logs of the class frequencies, and the part of the constant."""
    prior = np.array(oracles.prior_logs(sample.distinct[1]))
    constant = model.biases - prior
    points = [tuple(point) for point in model.points.T.tolist()]
    return constant + sample.correlations(rows, points, model.rate, model.relevance) @ model.coefficients, constant


class TestMode:
    @examples(60)
    @given(
        seed=st.integers(0, 10**6),
        weights=st.sampled_from(["ones", "mixed"]),
        rate=st.sampled_from([0.1, 0.7, 3.0]),
        l2=st.sampled_from([1e-2, 0.1, 1.0]),
        relevance=st.sampled_from([0.0, 0.5, 1.0]),
    )
    def test_is_that_of_the_gaussian_process(self, seed, weights, rate, l2, relevance):
        """Over all functions, although the fit only knows those that the points span."""
        sample = Sample.drawn(seed, 20, weights)
        rows, class_weights = sample.distinct
        new = [*rows, *Sample.drawn(seed + 1, 10).rows]
        covariances = 1 + sample.correlations(new, rows, rate, relevance)
        covariance = covariances[: len(rows)]
        with to_the_end():
            exact = fitted(sample, rate, l2, relevance=relevance).posterior(codes_of(new))
        expected = np.exp(oracles.process_logs(class_weights, covariance, l2, covariances))
        np.testing.assert_allclose(exact, expected, atol=2e-5)
        usual = fitted(sample, rate, l2, relevance=relevance)
        best = oracles.process_mode(class_weights, covariance, l2)
        least, value = (
            oracles.process_objective(odds, class_weights, covariance, l2)
            for odds in (best, process_values(usual, rows, sample)[0])
        )
        total = class_weights.sum()
        assert least - 1e-9 * total <= value <= least + 1e-5 * total
        np.testing.assert_allclose(usual.posterior(codes_of(new)), expected, atol=1e-2)

    @pytest.mark.parametrize("points", [5, ALL])
    @pytest.mark.parametrize("seed", range(3))
    def test_no_direction_leads_further(self, seed, points):
        """The derivatives by every coefficient vanish, scaled as the prior scales coefficients."""
        sample, l2 = Sample.drawn(seed, 40, "mixed"), 0.05
        rows, class_weights = sample.distinct
        with to_the_end():
            model = fitted(sample, 0.5, l2, points)
        centres = [tuple(point) for point in model.points.T.tolist()]
        assert len(centres) == min(points, len(rows))
        _, constant = process_values(model, rows, sample)
        to_rows = sample.correlations(rows, centres, 0.5, 0.5)
        between = sample.correlations(centres, centres, 0.5, 0.5)
        excess = class_weights.sum(axis=1, keepdims=True) * model.posterior(codes_of(rows)) - class_weights
        slopes = to_rows.T @ excess + l2 * between @ model.coefficients
        scaled = np.linalg.solve(np.linalg.cholesky(between), slopes)
        tolerance = 1e-5 if len(centres) == len(rows) else 1e-3  # with fewer points, numbers have single precision
        np.testing.assert_allclose(scaled, 0, atol=tolerance)
        np.testing.assert_allclose(excess.sum(axis=0) + l2 * constant, 0, atol=tolerance)

    @examples(30)
    @given(
        seed=st.integers(0, 10**6),
        weights=st.sampled_from(["ones", "mixed"]),
        relevance=st.sampled_from([0.0, 0.5, 1.0]),
        fewest=st.sampled_from([2, 100]),
    )
    def test_of_some_rows_is_that_of_their_process(self, seed, weights, relevance, fewest):
        """With the correlations that all rows give, and all of them as points."""
        sample, l2 = Sample.drawn(seed, 30, weights), 0.1
        left, _ = split_table(sample.table, 3)[0]
        some = DistinctRows.of(left)
        rows = [tuple(row) for row in some.codes.T.tolist()]
        new = [*rows, *Sample.drawn(seed + 1, 10).rows]
        covariances = 1 + sample.correlations(new, rows, 0.7, relevance)
        with to_the_end(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(mode_module, "FEWEST_PASSES", fewest)
            model, _, fit = learn_kernel(sample.table, {}, [[0.7], [l2], [relevance], [1.0]], ALL, Deadline())
            again, in_time = fit.again(model, left, Deadline())
        assert in_time
        expected = np.exp(oracles.process_logs(some.weights, covariances[: len(rows)], l2, covariances))
        np.testing.assert_allclose(again.posterior(codes_of(new)), expected, atol=1e-3)  # in single precision
        assert np.abs(model.posterior(codes_of(new)) - expected).max() > 1e-3

    def test_of_some_rows_knows_nothing_of_the_others(self):
        """It ends where a fit does that never saw them: it begins at 0, with the preconditioner of all rows."""
        sample = Sample.drawn(0, 30)
        left, _ = split_table(sample.table, 3)[0]
        model, _, fit = learn_kernel(sample.table, {}, [[0.7], [1e-4], [0.5], [1.0]], ALL, Deadline())
        unseen = fit._replace(mode=fit.mode._replace(coefficients=np.full_like(fit.mode.coefficients, np.nan)))
        found, expected = (of.again(model, left, Deadline())[0] for of in (unseen, fit))
        np.testing.assert_array_equal(found.coefficients, expected.coefficients)

    @pytest.mark.parametrize("seed", range(3))
    def test_of_some_rows_with_the_same_few_points(self, seed):
        """The derivatives by every coefficient vanish, as those of a fit to all rows do."""
        sample, l2 = Sample.drawn(seed, 40, "mixed"), 0.05
        left, _ = split_table(sample.table, 3)[0]
        model, _, fit = learn_kernel(sample.table, {}, [[0.5], [l2], [0.5], [1.0]], 5, Deadline())
        with to_the_end():
            again, _ = fit.again(model, left, Deadline())
        np.testing.assert_array_equal(again.points, model.points)
        some = DistinctRows.of(left)
        rows, centres = ([tuple(row) for row in codes.T.tolist()] for codes in (some.codes, model.points))
        to_rows = sample.correlations(rows, centres, 0.5, 0.5)
        between = sample.correlations(centres, centres, 0.5, 0.5)
        excess = some.weights.sum(axis=1, keepdims=True) * again.posterior(some.codes) - some.weights
        slopes = to_rows.T @ excess + l2 * between @ again.coefficients
        np.testing.assert_allclose(np.linalg.solve(np.linalg.cholesky(between), slopes), 0, atol=1e-3)
        assert not fit.again(model, left, Deadline(1e-9))[1]

    @pytest.mark.parametrize("points", [5, ALL])
    @pytest.mark.parametrize("seed", range(3))
    def test_preconditioners_lead_to_the_same_with_fewer_products(self, seed, points, monkeypatch):
        sample = Sample.drawn(seed, 40, "mixed")
        codes = codes_of(sample.rows)
        products: list[int] = []
        usual = Objective.product
        monkeypatch.setattr(Objective, "product", lambda *given: products.append(1) or usual(*given))
        monkeypatch.setattr(mode_module, "STATIONARY", {8: 1e-12, 4: 1e-12})
        monkeypatch.setattr(mode_module, "PASSES", {8: 0.0, 4: 0.0})
        monkeypatch.setattr(mode_module, "QUICK", 0)  # products are counted one by one

        def fitted_after(fewest):
            products.clear()
            monkeypatch.setattr(mode_module, "FEWEST_PASSES", fewest)
            model, _, fit = learn_kernel(sample.table, {}, [[3.0], [1e-3], [0.5], [1.0]], points, Deadline())
            return model.posterior(codes), len(products), fit.mode.root

        expected, plain, root = fitted_after(10**4)
        assert root is None
        changed, own, root = fitted_after(5)
        assert root is not None
        assert own < plain
        np.testing.assert_allclose(changed, expected, atol=1e-3)

    def test_far_from_all_rows_there_are_the_class_frequencies(self):
        """And everywhere with a prior that allows nothing else; a class without rows has a small probability."""
        sample = Sample.drawn(0)
        sample.classes = [min(label, 1) for label in sample.classes]
        counts = np.bincount(sample.classes, minlength=N_CLASSES) + 1 / 3
        strict = fitted(sample, 1.0, 1e9)
        np.testing.assert_allclose(strict.posterior(codes_of(sample.rows)), [counts / counts.sum()] * 30, atol=1e-6)
        assert 0 < fitted(sample, 1.0, 0.1).posterior(codes_of(sample.rows))[:, 2].max() < 0.1


class TestRows:
    @pytest.mark.parametrize("seed", range(3))
    def test_weight_two_is_a_repeated_row_and_weight_zero_none(self, seed):
        sample = Sample.drawn(seed)
        repeats = np.random.default_rng(seed).integers(0, 3, 30)
        repeats[:N_CLASSES] = 1
        copied = np.repeat(np.arange(30), repeats)
        weighted = replace(sample, weights=repeats.astype(float).tolist())
        repeated = Sample([sample.rows[t] for t in copied], [sample.classes[t] for t in copied], [1.0] * len(copied))
        codes = codes_of(with_holes(sample.rows))
        for points in (4, ALL):
            one, other = (fitted(of, 0.5, 0.1, points).posterior(codes) for of in (weighted, repeated))
            np.testing.assert_array_equal(one, other)
        values = [0.3, 1.0, 3.0], [0.01, 0.1, 1.0], [0.0, 1.0], [1.0]
        chosen = [learn_kernel(of.table, {}, values, 20, Deadline())[1] for of in (weighted, repeated)]
        assert chosen[0] == chosen[1]

    @pytest.mark.parametrize("points", [4, ALL])
    def test_the_order_of_rows_does_not_matter(self, points):
        sample = Sample.drawn(1, weights="mixed")
        order = np.random.default_rng(0).permutation(30)
        moved = Sample(*([part[t] for t in order] for part in (sample.rows, sample.classes, sample.weights)))
        one, other = (fitted(of, 0.5, 0.1, points) for of in (sample, moved))
        np.testing.assert_array_equal(one.points, other.points)
        codes = codes_of(sample.rows)
        np.testing.assert_allclose(one.posterior(codes), other.posterior(codes), atol=1e-6)

    def test_points_are_distinct_rows_in_ascending_order(self):
        sample = Sample.drawn(2, weights="mixed")
        rows, _ = sample.distinct
        assert [tuple(point) for point in fitted(sample, 0.5, 0.1).points.T.tolist()] == sorted(rows)
        some = [tuple(point) for point in fitted(sample, 0.5, 0.1, 6).points.T.tolist()]
        assert len(set(some)) == 6
        assert some == sorted(set(some) & set(rows))

    @pytest.mark.parametrize("least", [0.0, 0.01, 0.1, 0.5, 2.0])
    def test_points_are_left_out_that_others_explain(self, least):
        """The choice of points, against conditional variances by their formula."""
        sample = Sample.drawn(5, 60)
        rows, _ = sample.distinct
        exact = sample.correlations(rows, rows, 0.3, 0.5)
        chosen = []
        while len(chosen) < len(rows):
            known = np.linalg.solve(exact[np.ix_(chosen, chosen)], exact[chosen])
            left = 1 - np.einsum("ij,ij->j", exact[chosen], known)
            left[chosen] = -inf
            if chosen and left.max() <= least:
                break
            chosen.append(int(left.argmax()))
        assert len(chosen) == {0.0: len(rows), 2.0: 1}.get(least, len(chosen))
        assert fit_module._needed(exact.copy(), least).tolist() == sorted(chosen)

    def test_superfluous_points_are_left_out_and_hardly_matter(self, monkeypatch):
        sample = Sample.drawn(5, 60)
        codes = codes_of(sample.rows)
        n_points = len(sample.distinct[0]) - 1

        def found(**constants):
            for name, value in constants.items():
                monkeypatch.setattr(fit_module, name, value)
            return fitted(sample, 0.05, 10.0, n_points)

        some = found()
        assert some.points.shape[1] < n_points / 2
        assert fitted(sample, 0.05, 10.0).points.shape[1] == n_points + 1  # all rows are points
        np.testing.assert_array_equal(found(POINTS_TO_SAMPLE=10, MANY_NEEDED=0.95).points, some.points)
        for constants in ({"MANY_NEEDED": 0.0}, {"MANY_NEEDED": 0.95, "UNEXPLAINED": 0.0}):
            every = found(**constants)
            assert every.points.shape[1] == n_points
            differences = some.log_posterior(codes) - every.log_posterior(codes)
            assert 0 < np.abs(differences).max() < 0.1

    def test_points_are_needed_under_any_precision(self):
        sample = Sample.drawn(5, 60)
        n_points = len(sample.distinct[0]) - 1
        found = [fitted(sample, 0.05, l2, n_points).points for l2 in (0.01, 10.0, 50.0, 1e6)]
        assert found[0].shape[1] > found[1].shape[1] > 3
        np.testing.assert_array_equal(found[2], found[1])
        np.testing.assert_array_equal(found[3], found[1])

    @pytest.mark.parametrize("factor", [1e-3, 100.0, 1e4])
    def test_precision_counts_relative_to_weights(self, factor):
        sample = Sample.drawn(5, 60)
        n_points = len(sample.distinct[0]) - 1
        table = replace(sample.table, weights=factor * sample.table.weights)
        one = fitted(sample, 0.05, 0.1, n_points, relevance=0.0)
        other, *_ = learn_kernel(table, {}, [[0.05], [0.1 * factor], [0.0], [1.0]], n_points, Deadline())
        assert one.points.shape[1] < n_points
        np.testing.assert_array_equal(other.points, one.points)

    @pytest.mark.parametrize(("rate", "precise"), [(1.0, False), (1e-4, True)])
    def test_basis_of_rows_that_are_not_points(self, rate, precise, monkeypatch):
        monkeypatch.setattr(fit_module, "ROWS_AT_ONCE", 7)
        sample = Sample.drawn(5, 60)
        distinct = DistinctRows.of(sample.table)
        points = distinct.at(np.arange(0, len(distinct.weights), 2))
        rows, chosen = ([tuple(row) for row in of.codes.T.tolist()] for of in (distinct, points))
        root = np.linalg.cholesky(sample.correlations(chosen, chosen, rate, 0.0) + 1e-8 * np.eye(len(chosen)))
        assert (root.diagonal().min() < fit_module.SMALL_PIVOT) == precise
        expected = np.linalg.solve(root, sample.correlations(chosen, rows, rate, 0.0)).T
        found = fit_module._basis(distinct, points, root, distances_of(sample.table, {}), rate)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=2e-6)

    def test_fewer_points_are_always_the_same_and_less_likely(self):
        sample = Sample.drawn(3, 60)
        few, again, every = (fitted(sample, 0.5, 0.01, points) for points in (5, 5, ALL))
        np.testing.assert_array_equal(few.points, again.points)
        np.testing.assert_array_equal(few.coefficients, again.coefficients)
        assert few.coefficients.shape == (5, N_CLASSES)
        rows, class_weights = sample.distinct
        logs = [model.log_posterior(codes_of(rows)) for model in (few, every)]
        of_few, of_every = (float((class_weights * own).sum()) for own in logs)
        frequencies = float((class_weights * oracles.prior_logs(class_weights)).sum())
        assert frequencies + 1 < of_few < of_every - 1

    def test_correlations_that_do_not_fit_leave_fewer_points(self, monkeypatch):
        sample = Sample.drawn(0)
        n_rows = len(sample.distinct[0])
        monkeypatch.setattr(fit_module, "MOST_CORRELATIONS", 3 * n_rows + 1)
        assert fitted(sample, 0.5, 0.1).points.shape[1] == 3
        monkeypatch.setattr(fit_module, "MOST_CORRELATIONS", 1)
        assert fitted(sample, 0.5, 0.1).points.shape[1] == 1

    def test_with_little_time_there_are_fewer_points(self, monkeypatch):
        sample = Sample.drawn(0)
        n_rows = len(sample.distinct[0])

        def points(deadline, most=ALL):
            return learn_kernel(sample.table, {}, [[0.5], [0.1], [0.5], [1.0]], most, deadline)[0].points.shape[1]

        monkeypatch.setattr(fit_module, "PRODUCTS_PER_SECOND", n_rows * 4.2**2 / 500)
        monkeypatch.setattr(fit_module, "FEWEST_POINTS", 2)
        assert points(Deadline(1000)) == 4  # half of the time is for at least n_rows × 4² products
        assert points(Deadline(1000), 3) == 3
        assert points(Deadline(1e-9)) == 2
        assert points(Deadline()) == n_rows

    def test_parts_of_the_basis_add_up(self, monkeypatch):
        sample = Sample.drawn(0, 40, "mixed")
        codes = codes_of(sample.rows)

        def found():
            with to_the_end():
                return [fitted(sample, 0.5, 0.1, points).posterior(codes) for points in (5, ALL)]

        monkeypatch.setattr(mode_module, "FEWEST_PASSES", 4)
        whole = found()
        monkeypatch.setattr(mode_module, "CACHED", 150)
        monkeypatch.setattr(mode_module, "AT_ONCE", 200)
        for own, expected in zip(found(), whole, strict=True):
            np.testing.assert_allclose(own, expected, atol=1e-4)  # in single precision with five points


class FoldLosses:
    """Losses in some of three folds: of every row to predict, by the places of the values; and of the frequencies."""

    def __init__(self, table, values, n_folds):
        self.values, self.folds, self.learned = values, [], []
        for pair in split_table(table, 3)[:n_folds]:
            left, held = map(Sample.of, pair)
            self.folds.append((left, *left.distinct, *held.distinct))
            distances = with_learned_relevance(distances_of(pair[0], {}), DistinctRows.of(pair[0]), Deadline())
            self.learned.append([own.relevance for own in distances])
        self.weights = [of_held.sum() for *_, of_held in self.folds]
        self.of_rows, self._covariances = cache(self._of_rows), cache(self._covariances_of)

    @cached_property
    def of_frequencies(self):
        total = sum((of_new @ oracles.prior_logs(of_known)).sum() for _, _, of_known, _, of_new in self.folds)
        return -total / sum(self.weights)

    def _covariances_of(self, fold, rate, relevance):
        left, known, _, new, _ = self.folds[fold]
        relevance = self.learned[fold] if relevance == LEARNED else relevance
        return tuple(1 + left.correlations(rows, known, rate, relevance) for rows in (known, new))

    def _of_rows(self, place):
        rate, l2, relevance, _ = (own[k] for own, k in zip(self.values, place, strict=True))
        found = []
        for fold, (_, _, of_known, _, of_new) in enumerate(self.folds):
            own, to_new = self._covariances(fold, rate, relevance)
            found.append((-(of_new * oracles.process_logs(of_known, own, l2, to_new)).sum(axis=1)).tolist())
        return found


def climbed(of_rows, weights, lengths, learned=False, powers=1, guided=True, ahead=0.0):
    """Where the search of `choose_kernel` ends: it changes the precision, the exponent, the rate, and so on.

    It climbs on the loss in the first fold, if this one guides it, and then on that in all folds. Before each further
    fold, a setting competes with the best one: it is left out while it is worse, in the folds in which it is known,
    by more than a standard error, the root of the sum of squared differences of rows. It replaces the best one if it
    is better by more than ``ahead`` standard errors. If relevances may be learned, that comes after the last
    exponent, and the search goes on there without exponents. Where it ended best, it begins again with the second
    power, if there are two.
    """
    known = {}

    def gains(place, rival, n_folds):
        both = zip(of_rows(place)[:n_folds], of_rows(rival), strict=False)
        return [other - own for ours, others in both for own, other in zip(ours, others, strict=True)]

    def compared(place, n_folds, rival=None):
        while known.get(place, 0) < n_folds:
            if rival is not None:
                won = gains(place, rival, known.get(place, 0))
                if -sum(won) > sqrt(sum(own**2 for own in won)):
                    return inf
            known[place] = known.get(place, 0) + 1
        return sum(map(sum, of_rows(place)[:n_folds])) / sum(weights[:n_folds])

    def end(here, axes):
        for n_folds in (1, len(weights))[not guided :]:
            compared(here, n_folds)
            before = None
            while here != before:
                before = here
                for axis in axes:
                    steps = [-1, 1]
                    while steps:
                        near = {step: tuple(k + step * (a == axis) for a, k in enumerate(here)) for step in steps}
                        near = {step: place for step, place in near.items() if 0 <= place[axis] < lengths[axis]}
                        found = {step: compared(place, n_folds, here) for step, place in near.items()}
                        best = sorted(found, key=found.get)[:1]
                        steps = [step for step in best if found[step] < compared(here, n_folds)]
                        if steps:
                            won = gains(near[steps[0]], here, n_folds)
                            steps = steps if sum(won) > ahead * sqrt(sum(own**2 for own in won)) else []
                        here = near[steps[0]] if steps else here
        return here

    def better(*ends):
        return min(ends, key=lambda place: compared(place, len(weights)))

    found = end((*(min(first, max(n - 1, 0)) for first, n in zip(FIRST, lengths, strict=True)), 0), (1, 2, 0))
    if learned and lengths[2]:
        found = better(found, end((*found[:2], lengths[2], 0), (1, 0)))
    return found if powers == 1 else better(found, end((*found[:3], 1), (1, 0)))


class TestChoice:
    VALUES = [0.05, 0.2, 0.8, 3.0, 12.0], [1e-3, 1e-2, 0.1, 1.0, 10.0], [0.0, 0.5, 1.0], [1.0]
    START = (3.0, 1.0, 0.5, 1.0)

    def chosen(self, table, deadline=None, progress=None):
        return choose_kernel(table, {}, self.VALUES, 1_000, deadline or Deadline(), progress)

    @pytest.fixture(autouse=True)
    def _races(self, monkeypatch):
        """Let settings compete, and the first fold guide the search, on the few rows of a sample."""
        monkeypatch.setattr(fit_module, "ROWS_TO_RACE", 1)
        monkeypatch.setattr(fit_module, "ROWS_TO_GUIDE", 1)
        monkeypatch.setattr(fit_module, "ROWS_TO_TRUST", 1)

    def check(self, table, n_folds=3, values=VALUES, tie=2e-3, ahead=0.0):
        """Fits that go on to the end choose the setting of the formula; usual ones may decide a tie otherwise."""
        with to_the_end():
            exact = choose_kernel(table, {}, values, 1_000, Deadline())
        usual = choose_kernel(table, {}, values, 1_000, Deadline())
        losses = FoldLosses(table, values, n_folds)
        exponents = [value for value in values[2] if value != LEARNED]
        lengths = [*map(len, values[:2]), len(exponents)]
        place = climbed(losses.of_rows, losses.weights, lengths, LEARNED in values[2], ahead=ahead)
        setting = tuple(own[k] for own, k in zip(values, place, strict=True))
        assert exact.setting == setting
        of_usual = tuple(own.index(value) for own, value in zip(values, usual.setting, strict=True))
        least, of_usual = (sum(map(sum, losses.of_rows(of))) / sum(losses.weights) for of in (place, of_usual))
        assert usual.setting == setting or of_usual < least + tie
        for chosen, tolerance in ((exact, 1e-5), (usual, 4e-3)):
            assert chosen.log_loss == pytest.approx(least, abs=tolerance)
            assert chosen.of_frequencies == pytest.approx(losses.of_frequencies)

    @pytest.mark.parametrize(
        ("seed", "weights"),
        [
            (0, "ones"),
            (1, "mixed"),
            *(pytest.param(seed, "ones", marks=pytest.mark.slow) for seed in range(2, 6)),
            *(pytest.param(seed, "mixed", marks=pytest.mark.slow) for seed in range(2, 6)),
        ],
    )
    def test_is_the_end_of_a_climb(self, seed, weights):
        self.check(Sample.drawn(seed, 20, weights).table)

    @pytest.mark.parametrize(
        ("seed", "weights"),
        [(0, "mixed"), *(pytest.param(seed, "ones", marks=pytest.mark.slow) for seed in range(4))],
    )
    @pytest.mark.parametrize("exponents", [[0.0, 1.0], []])
    def test_may_be_learned_relevances(self, seed, weights, exponents):
        values = [0.2, 0.8, 3.0, 12.0], [1e-3, 1e-2, 0.1, 1.0], [*exponents, LEARNED], [1.0]
        self.check(Sample.drawn(seed, 20, weights).table, values=values)

    @pytest.mark.parametrize(
        ("seed", "weights", "learned"),
        [
            (0, "ones", False),
            (1, "mixed", True),
            *(pytest.param(seed, "ones", True, marks=pytest.mark.slow) for seed in range(2, 6)),
            *(pytest.param(seed, "mixed", False, marks=pytest.mark.slow) for seed in range(2, 6)),
        ],
    )
    def test_of_few_rows_replaces_a_setting_only_if_it_is_better_by_standard_errors(
        self, seed, weights, learned, monkeypatch
    ):
        table = Sample.drawn(seed, 20, weights).table
        values = [*self.VALUES[:2], [*self.VALUES[2], *[LEARNED] * learned], [1.0]]
        held = [DistinctRows.of(held).weights for _, held in split_table(table, 3)]
        n_rows = sum(max(len(of_fold), of_fold.sum()) for of_fold in held)
        monkeypatch.setattr(fit_module, "ROWS_TO_TRUST", n_rows + 1e-6)
        self.check(table, values=values, ahead=fit_module.AHEAD)
        monkeypatch.setattr(fit_module, "AHEAD", inf)
        shy = choose_kernel(table, {}, values, 1_000, Deadline()).setting
        assert shy[:2] == self.START[:2]
        assert shy[2] in (self.START[2], LEARNED)
        monkeypatch.setattr(fit_module, "ROWS_TO_TRUST", n_rows - 1e-6)
        self.check(table, values=values)

    @pytest.mark.parametrize("ahead", [0.0, 0.5, 1.5])
    @pytest.mark.parametrize("learned", [False, True])
    @pytest.mark.parametrize("powers", [1, 2])
    @pytest.mark.parametrize("guided", [True, False])
    @pytest.mark.parametrize("lengths", [(5, 5, 3), (2, 5, 1), (7, 1, 3)])
    def test_order_of_the_climb_decides_between_several_ends(
        self, lengths, guided, learned, powers, ahead, monkeypatch
    ):
        """On losses of many local minima, which no model has; a first fold of enough rows guides the climb.

        With few rows in all folds, it only goes to settings that are better by ``ahead`` standard errors.
        """
        monkeypatch.setattr(fit_module, "ROWS_TO_GUIDE", 4 if guided else 5)
        monkeypatch.setattr(fit_module, "ROWS_TO_TRUST", 13 if ahead else 12)
        monkeypatch.setattr(fit_module, "AHEAD", ahead)
        values, ends = [list(map(float, range(n))) for n in (*lengths, powers)], set()
        values[2] += [LEARNED] * learned
        for seed in range(20):
            of_folds = np.random.default_rng(seed).random((3, *lengths[:2], lengths[2] + learned, powers, 4))
            folds = iter(of_folds)

            class Known:
                n_held, weight, loss_of_frequencies = 4, 4.0, 0.0

                def __init__(self, *parts, folds=folds):
                    self.of_place = next(folds)

                def losses(self, setting, _):
                    place = tuple(own.index(value) for own, value in zip(values, setting, strict=True))
                    return self.of_place[place]

            monkeypatch.setattr(fit_module, "_Fold", Known)
            chosen = choose_kernel(Sample.drawn(0).table, {}, values, 1_000, Deadline())

            def of_rows(place, of_folds=of_folds):
                return [of_fold[place].tolist() for of_fold in of_folds]

            place = climbed(of_rows, [4.0] * 3, lengths, learned, powers, guided, ahead)
            assert chosen.setting == tuple(own[k] for own, k in zip(values, place, strict=True))
            assert chosen.log_loss == pytest.approx(of_folds.mean(axis=(0, -1))[place])
            ends.add(place)
        assert len(ends) > (1 if ahead else 3)
        assert {place[3] for place in ends} == set(range(powers))

    @pytest.mark.parametrize("relevance", [0.0, 1.0, LEARNED])
    def test_losses_in_a_fold_are_those_of_fits_to_its_rows(self, relevance):
        """Where differences of intervals are raised to one power after the other."""
        table, cut_points = Sample.drawn(0, 40).table, {"size": np.array([0.0, 1.0, 5.0, 6.0, 20.0])}
        for left, held in split_table(table, 3):
            fold = fit_module._Fold(left, held, cut_points, ALL, np.random.default_rng(0))
            for rate, l2, power in ((0.7, 0.1, 1.3), (0.7, 0.01, 1.3), (0.7, 0.01, 1.0), (2.0, 0.1, 1.0)):
                setting = KernelSetting(rate, l2, relevance, power)
                with to_the_end():
                    found = fold.losses(setting, Deadline())
                    model, _ = fit_module.fit_kernel(left, cut_points, setting, ALL, Deadline())
                assert [own.power for own in model.distances] == [power, 1.0, 1.0]
                rows = DistinctRows.of(held)
                expected = -(rows.weights * model.log_posterior(rows.codes)).sum(axis=1)
                np.testing.assert_allclose(found, expected, atol=1e-5)

    @pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
    def test_holds_out_whole_groups(self, seed):
        sample = Sample.drawn(seed, 20, "mixed")
        table = sample.table
        place = {tuple(row): k for k, row in enumerate(table.codes.tolist())}
        kept = [
            (place[(*row, label)], label, weight, t % 5)
            for t, (row, label, weight) in enumerate(zip(*vars(sample).values(), strict=True))
            if weight > 0
        ]
        rows, labels, weights, groups = map(np.array, zip(*kept, strict=True))
        grouped = replace(table, folding=Folding.of_groups(rows, labels, weights, N_CLASSES, groups))
        self.check(grouped, tie=4e-3)
        other_folds, folds = (self.chosen(of).of_frequencies for of in (grouped, table))
        assert abs(other_folds - folds) > 1e-3

    def test_stops_when_enough_rows_are_held_out(self, monkeypatch):
        monkeypatch.setattr(fit_module, "ROWS_TO_PREDICT", 1)
        self.check(Sample.drawn(0, 20).table, n_folds=1)

    def test_learns_from_some_of_many_rows(self, monkeypatch):
        table, folds = Sample.drawn(0, 60).table, []

        class Noted(fit_module._Fold):
            def __init__(self, *parts):
                super().__init__(*parts)
                folds.append([len(rows.weights) for rows in (self._left, self._held)])

        monkeypatch.setattr(fit_module, "_Fold", Noted)
        every = self.chosen(table)
        monkeypatch.setattr(fit_module, "ROWS_TO_LEARN", 7)  # less than the least number for few points
        monkeypatch.setattr(fit_module, "ROWS_TO_COMPARE", 9)
        some, again = self.chosen(table), self.chosen(table)
        assert min(map(min, folds[:3])) > 9
        assert folds[3:] == [[7, 9]] * 6
        assert some == again
        assert some.log_loss != pytest.approx(every.log_loss)

    @pytest.mark.parametrize(("points", "learned"), [(3, 8), (9, 9), (30, 10)])
    def test_learns_from_about_as_many_rows_as_there_are_points(self, points, learned, monkeypatch):
        found = []

        class Noted(fit_module._Fold):
            def __init__(self, *parts):
                super().__init__(*parts)
                found.append(len(self._left.weights))

        monkeypatch.setattr(fit_module, "_Fold", Noted)
        monkeypatch.setattr(fit_module, "LEAST_TO_LEARN", 8)
        monkeypatch.setattr(fit_module, "ROWS_TO_LEARN", 10)
        choose_kernel(Sample.drawn(0, 60).table, {}, self.VALUES, points, Deadline())
        assert set(found) == {learned}

    @pytest.mark.parametrize(("behind", "rows", "fewest"), [(2.0, 8, 1), (2.0, 9, 2), (2.0, 25, 3), (inf, 8, 3)])
    def test_settings_that_are_behind_are_not_tried_in_all_folds(self, behind, rows, fewest, monkeypatch):
        """A fold of eight equal differences tells, since 8 / √8 is above 2; three of one difference each do not."""
        monkeypatch.setattr(fit_module, "BEHIND", behind)
        monkeypatch.setattr(fit_module, "ROWS_TO_RACE", rows)
        tried = []

        class Known:
            n_held, weight, loss_of_frequencies = 8, 8.0, 0.0

            def __init__(self, *parts):
                pass

            def losses(self, setting, _):
                tried.append(setting)
                far = abs(setting.rate - 2.0) + abs(setting.l2 - 0.1) + setting.relevance
                return np.where(np.arange(8) < (8 if setting.relevance else 1), far, 0.0)

        monkeypatch.setattr(fit_module, "_Fold", Known)
        values = [0.5, 1.0, 2.0, 4.0], [0.01, 0.1, 1.0], [0.0, 0.5], [1.0]
        chosen = choose_kernel(Sample.drawn(0).table, {}, values, 1_000, Deadline())
        assert chosen.setting == (2.0, 0.1, 0.0, 1.0)
        times = {setting: tried.count(setting) for setting in tried}
        near = [(rate, l2, 0.0, 1.0) for rate, l2 in [(1.0, 0.1), (4.0, 0.1), (2.0, 0.01), (2.0, 1.0)]]
        assert [times.pop(setting) for setting in (chosen.setting, *near)] == [3] * 5
        assert times.pop((2.0, 0.1, 0.5, 1.0)) == fewest
        assert set(times.values()) == {1}  # the search came past them with the first fold

    def test_relevances_are_learned_from_some_of_many_rows(self, monkeypatch):
        seen = []

        def noted(distances, rows, deadline):
            seen.append(len(rows.weights))
            return with_learned_relevance(distances, rows, deadline)

        monkeypatch.setattr(fit_module, "with_learned_relevance", noted)
        table = Sample.drawn(0, 60).table
        parts = [table, *(left for left, _ in split_table(table, 3))]
        thirds = [len(DistinctRows.of(part).weights) // 3 for part in parts]
        assert max(thirds[1:]) < thirds[0]
        for fewest, most in ((thirds[0] + 1, 100), (2, min(thirds) - 1), (2, 100)):
            seen.clear()
            monkeypatch.setattr(fit_module, "ROWS_FOR_RELEVANCE", (fewest, most))
            learn_kernel(table, {}, [[0.5, 1.0], [0.1], [LEARNED], [1.0]], ALL, Deadline())
            of_all, *of_folds = (min(max(third, fewest), most) for third in thirds)
            assert seen == [*of_folds, of_all]

    def test_of_one_value_each_holds_out_nothing(self, monkeypatch):
        monkeypatch.setattr(fit_module, "split_table", None)
        chosen = choose_kernel(Sample.drawn(0).table, {}, [[0.5], [0.1], [0.0], [1.0]], 1_000, Deadline())
        assert chosen.setting == (0.5, 0.1, 0.0, 1.0)
        assert np.isnan([chosen.log_loss, chosen.of_frequencies]).all()

    def test_of_a_single_row_is_where_the_search_begins(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"a": ["u"]}), pd.Series(["x"], name="c"))
        chosen = self.chosen(table)
        assert chosen.setting == self.START
        assert np.isnan(chosen.log_loss)

    def test_without_time_is_where_the_search_begins(self):
        told = []
        chosen = self.chosen(Sample.drawn(0).table, Deadline(1e-9), lambda *step: told.append(step))
        assert chosen.setting == self.START
        assert np.isfinite(chosen.log_loss)
        assert told == [("rate, precision, relevance and power", 1 / 75)]

    @pytest.mark.parametrize("distinct", [1, 4])
    @pytest.mark.parametrize(("weight", "trusted"), [(4.0, True), (3.0, False)])
    def test_trusts_few_distinct_rows_of_enough_weight(self, distinct, weight, trusted, monkeypatch):
        """Twelve held-out rows are enough, be it by their number or by their weight, whichever is more in a fold."""
        monkeypatch.setattr(fit_module, "ROWS_TO_TRUST", 12)
        monkeypatch.setattr(fit_module, "AHEAD", inf)
        values = [0.5, 1.0, 2.0, 4.0], [0.01, 0.1, 1.0], [0.0], [1.0]

        class Known:
            n_held, loss_of_frequencies = distinct, 0.0

            def __init__(self, *parts):
                self.weight = weight

            def losses(self, setting, _):
                return np.full(distinct, abs(setting.rate - 2.0) + abs(setting.l2 - 0.1))

        monkeypatch.setattr(fit_module, "_Fold", Known)
        chosen = choose_kernel(Sample.drawn(0).table, {}, values, 1_000, Deadline())
        assert chosen.setting[:2] == ((2.0, 0.1) if trusted or distinct == 4 else (4.0, 1.0))

    @pytest.mark.parametrize("few", [False, True])
    @pytest.mark.parametrize(("learned", "powers"), [(False, 1), (True, 1), (False, 2), (True, 2)])
    def test_without_more_time_is_the_best_so_far(self, learned, powers, few, monkeypatch):
        """Time runs out after a number of fits. What was known in fewer folds does not replace what was in all."""
        monkeypatch.setattr(fit_module, "ROWS_TO_TRUST", 4 if few else 1)
        monkeypatch.setattr(fit_module, "AHEAD", 0.5)
        values, n_folds = [[0.5, 1.0, 2.0, 4.0], [0.01, 0.1, 1.0], [0.0, 0.5, 1.0], [1.3, 1.0][:powers]], set()
        shape = tuple(map(len, values))
        values[2] = values[2] + [LEARNED] * learned

        class Timed:
            def __init__(self, most):
                self.most, self.known = most, []
                self.left = inf

            @property
            def passed(self):
                return len(self.known) >= self.most

        for seed, most in itertools.product(range(3), range(1, 60 * powers, 2)):
            of_folds = np.random.default_rng(seed).random((3, *shape[:2], shape[2] + learned, powers))
            deadline, folds = Timed(most), iter(enumerate(of_folds))

            class Known:
                n_held = 1

                def __init__(self, *parts, folds=folds, deadline=deadline):
                    self.fold, self.of_place = next(folds)
                    self.weight, self.loss_of_frequencies, self.deadline = 1.0, float(self.fold), deadline

                def losses(self, setting, _):
                    place = tuple(own.index(value) for own, value in zip(values, setting, strict=True))
                    self.deadline.known.append((self.fold, setting))
                    return np.array([self.of_place[place]])

            monkeypatch.setattr(fit_module, "_Fold", Known)
            chosen = choose_kernel(Sample.drawn(0).table, {}, values, 1_000, deadline)
            tried = [fold for fold, setting in deadline.known if setting == chosen.setting]
            place = tuple(own.index(value) for own, value in zip(values, chosen.setting, strict=True))
            assert tried == list(range(len(tried)))
            assert chosen.log_loss == pytest.approx(of_folds[: len(tried), *place].mean())
            assert chosen.of_frequencies == pytest.approx(np.mean(tried))
            most_folds = max(Counter(setting for _, setting in deadline.known).values())
            assert len(tried) == most_folds
            n_folds.add(len(tried))
        assert {1, 3} <= n_folds

    def test_tells_its_progress(self):
        told = []
        self.chosen(Sample.drawn(0).table, progress=lambda *step: told.append(step))
        assert [phase for phase, _ in told] == ["rate, precision, relevance and power"] * len(told)
        assert [share for _, share in told] == [(k + 1) / 75 for k in range(len(told))]
        assert 4 <= len(told) <= 75


def test_a_fit_without_time_is_not_the_end_of_it():
    sample = Sample.drawn(0)
    model, _, fit = learn_kernel(sample.table, {}, [[0.5], [0.1], [0.5], [1.0]], ALL, Deadline(1e-9))
    assert not fit.in_time
    rows, class_weights = sample.distinct
    of_first, of_best, of_frequencies = (
        float((class_weights * logs).sum())
        for logs in (
            model.log_posterior(codes_of(rows)),
            fitted(sample, 0.5, 0.1).log_posterior(codes_of(rows)),
            oracles.prior_logs(class_weights),
        )
    )
    assert of_frequencies < of_first < of_best
    assert learn_kernel(sample.table, {}, [[0.5], [0.1], [0.5], [1.0]], ALL, Deadline())[2].in_time
