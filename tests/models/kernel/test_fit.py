"""Fits of kernel logistic regression: the mode of a Gaussian process, and the choice of rate and precision."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from similarities import N_CLASSES, Sample, codes_of, with_holes
from tiers import examples

import anbexact.models.kernel.fit as fit_module
from anbexact import DiscreteTable
from anbexact._runtime.deadline import Deadline
from anbexact.models.kernel.distances import distances_of
from anbexact.models.kernel.fit import FIRST, choose_kernel, learn_kernel
from anbexact.tables.folds import Folding, split_table

ALL = 1000
"""More points than a sample has rows."""


def fitted(sample, rate, l2, points=ALL):
    """The model of a sample."""
    return learn_kernel(sample.table, {}, [rate], [l2], points, Deadline())[0]


@contextmanager
def to_the_end():
    """Let fits go on until rounding ends them; usually, they end where little is left to gain."""

    def patient(*args, options, **others):
        return minimize(*args, options={**options, "ftol": 1e-16, "maxfun": 10**5, "maxiter": 10**5}, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "minimize", patient)
        yield


def process_values(model, rows, sample):
    """The log odds of a model in some rows, less the logs of the class frequencies, and the part of the constant."""
    prior = np.array(oracles.prior_logs(sample.distinct[1]))
    constant = model.biases - prior
    points = [tuple(point) for point in model.points.T.tolist()]
    return constant + sample.correlations(rows, points, model.rate) @ model.coefficients, constant


class TestMode:
    @examples(60)
    @given(
        seed=st.integers(0, 10**6),
        weights=st.sampled_from(["ones", "mixed"]),
        rate=st.sampled_from([0.1, 0.7, 3.0]),
        l2=st.sampled_from([1e-2, 0.1, 1.0]),
    )
    def test_is_that_of_the_gaussian_process(self, seed, weights, rate, l2):
        """Over all functions, although the fit only knows those that the points span."""
        sample = Sample.drawn(seed, 20, weights)
        rows, class_weights = sample.distinct
        new = [*rows, *Sample.drawn(seed + 1, 10).rows]
        covariances = 1 + sample.correlations(new, rows, rate)
        covariance = covariances[: len(rows)]
        with to_the_end():
            exact = fitted(sample, rate, l2).posterior(codes_of(new))
        expected = np.exp(oracles.process_logs(class_weights, covariance, l2, covariances))
        np.testing.assert_allclose(exact, expected, atol=2e-5)
        usual = fitted(sample, rate, l2)
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
        to_rows = sample.correlations(rows, centres, 0.5)
        between = sample.correlations(centres, centres, 0.5)
        excess = class_weights.sum(axis=1, keepdims=True) * model.posterior(codes_of(rows)) - class_weights
        slopes = to_rows.T @ excess + l2 * between @ model.coefficients
        scaled = np.linalg.solve(np.linalg.cholesky(between), slopes)
        np.testing.assert_allclose(scaled, 0, atol=1e-5)
        np.testing.assert_allclose(excess.sum(axis=0) + l2 * constant, 0, atol=1e-5)

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
        rates, precisions = [0.3, 1.0, 3.0], [0.01, 0.1, 1.0]
        chosen = [learn_kernel(of.table, {}, rates, precisions, 20, Deadline())[1] for of in (weighted, repeated)]
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

    def test_parts_of_the_basis_add_up(self, monkeypatch):
        sample = Sample.drawn(0, 40, "mixed")
        codes = codes_of(sample.rows)
        whole = [fitted(sample, 0.5, 0.1, points).posterior(codes) for points in (5, ALL)]
        monkeypatch.setattr(fit_module, "CACHED", 20)
        for points, expected in zip((5, ALL), whole, strict=True):
            np.testing.assert_allclose(fitted(sample, 0.5, 0.1, points).posterior(codes), expected, atol=1e-6)


def losses(sample, table, rates, precisions, n_folds):
    """The log loss in some of three folds by the places of rate and precision, and that of the class frequencies."""
    every, parts = np.array(list(sample.distinct[0])), []
    place = {tuple(row): k for k, row in enumerate(every.tolist())}
    for pair in split_table(table, 3)[:n_folds]:
        part = []
        for rows in pair:
            weights = np.zeros((len(every), N_CLASSES))
            for row, weight in zip(rows.codes.tolist(), rows.weights, strict=True):
                weights[place[tuple(row[:-1])], row[-1]] += weight
            part.append(weights)
        parts.append(part)
    total = sum(held.sum() for _, held in parts)

    def loss_at(i, j):
        found = 0.0
        covariance = 1 + sample.correlations(list(place), list(place), rates[i])
        for left, held in parts:
            known = left.sum(axis=1) > 0
            own = covariance[np.ix_(known, known)], precisions[j], covariance[:, known]
            found -= (held * oracles.process_logs(left[known], *own)).sum()
        return found / total

    baseline = -sum((held @ oracles.prior_logs(left)).sum() for left, held in parts) / total
    return loss_at, baseline


def climbed(loss_at, n_rates, n_precisions):
    """The best place that is reached from the first one by going to the best of four neighbours."""
    known = {}

    def loss(place):
        if place not in known:
            known[place] = loss_at(*place)
        return known[place]

    here = min(FIRST[0], n_rates - 1), min(FIRST[1], n_precisions - 1)
    while True:
        steps = [(here[0] + a, here[1] + b) for a, b in ((0, 1), (0, -1), (1, 0), (-1, 0))]
        near = [place for place in steps if 0 <= place[0] < n_rates and 0 <= place[1] < n_precisions]
        best = min([here, *near], key=loss)
        if best == here:
            return here, loss(here)
        here = best


class TestChoice:
    RATES, PRECISIONS = [0.05, 0.2, 0.8, 3.0, 12.0], [1e-3, 1e-2, 0.1, 1.0, 10.0]

    def chosen(self, table, deadline=None, progress=None):
        return choose_kernel(
            table, distances_of(table, {}), self.RATES, self.PRECISIONS, deadline or Deadline(), progress
        )

    def check(self, sample, table, n_folds=3):
        with to_the_end():
            exact = self.chosen(table)
        usual = self.chosen(table)
        loss_at, baseline = losses(sample, table, self.RATES, self.PRECISIONS, n_folds)
        (i, j), least = climbed(loss_at, len(self.RATES), len(self.PRECISIONS))
        for chosen, tolerance in ((exact, 1e-5), (usual, 2e-3)):
            assert (chosen.rate, chosen.l2) == (self.RATES[i], self.PRECISIONS[j])
            assert chosen.log_loss == pytest.approx(least, abs=tolerance)
            assert chosen.of_frequencies == pytest.approx(baseline)

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
        sample = Sample.drawn(seed, 24, weights)
        self.check(sample, sample.table)

    @pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
    def test_holds_out_whole_groups(self, seed):
        sample = Sample.drawn(seed, 24, "mixed")
        table = sample.table
        place = {tuple(row): k for k, row in enumerate(table.codes.tolist())}
        kept = [
            (place[(*row, label)], label, weight, t % 5)
            for t, (row, label, weight) in enumerate(zip(*vars(sample).values(), strict=True))
            if weight > 0
        ]
        rows, labels, weights, groups = map(np.array, zip(*kept, strict=True))
        grouped = replace(table, folding=Folding.of_groups(rows, labels, weights, N_CLASSES, groups))
        self.check(sample, grouped)
        assert self.chosen(grouped).log_loss != pytest.approx(self.chosen(table).log_loss, rel=1e-2)

    def test_stops_when_enough_rows_are_held_out(self, monkeypatch):
        sample = Sample.drawn(0, 24)
        monkeypatch.setattr(fit_module, "ROWS_TO_PREDICT", 1)
        self.check(sample, sample.table, n_folds=1)

    def test_learns_from_some_of_many_rows(self, monkeypatch):
        table, folds = Sample.drawn(0, 60).table, []

        class Noted(fit_module._Fold):
            def __init__(self, *parts):
                super().__init__(*parts)
                folds.append([len(rows.weights) for rows in parts[:2]])

        monkeypatch.setattr(fit_module, "_Fold", Noted)
        every = self.chosen(table)
        monkeypatch.setattr(fit_module, "ROWS_TO_CHOOSE", 7)
        some, again = self.chosen(table), self.chosen(table)
        assert min(map(min, folds[:3])) > 7
        assert folds[3:] == [[7, 7]] * 6
        assert some == again
        assert some.log_loss != pytest.approx(every.log_loss)

    def test_of_one_rate_and_one_precision_holds_out_nothing(self, monkeypatch):
        monkeypatch.setattr(fit_module, "split_table", None)
        table = Sample.drawn(0).table
        chosen = choose_kernel(table, distances_of(table, {}), [0.5], [0.1], Deadline())
        assert (chosen.rate, chosen.l2) == (0.5, 0.1)
        assert np.isnan([chosen.log_loss, chosen.of_frequencies]).all()

    def test_of_a_single_row_is_where_the_search_begins(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"a": ["u"]}), pd.Series(["x"], name="c"))
        chosen = self.chosen(table)
        assert (chosen.rate, chosen.l2) == (self.RATES[FIRST[0]], self.PRECISIONS[FIRST[1]])
        assert np.isnan(chosen.log_loss)

    def test_without_time_is_where_the_search_begins(self):
        told = []
        chosen = self.chosen(Sample.drawn(0).table, Deadline(1e-9), lambda *step: told.append(step))
        assert (chosen.rate, chosen.l2) == (self.RATES[FIRST[0]], self.PRECISIONS[FIRST[1]])
        assert np.isfinite(chosen.log_loss)
        assert told == [("rate and precision", 1 / 25)]

    def test_tells_its_progress(self):
        told = []
        self.chosen(Sample.drawn(0).table, progress=lambda *step: told.append(step))
        assert [phase for phase, _ in told] == ["rate and precision"] * len(told)
        assert [share for _, share in told] == [(k + 1) / 25 for k in range(len(told))]
        assert 3 <= len(told) <= 25


def test_a_fit_without_time_is_not_the_end_of_it():
    sample = Sample.drawn(0)
    model, _, in_time = learn_kernel(sample.table, {}, [0.5], [0.1], ALL, Deadline(1e-9))
    assert not in_time
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
    assert learn_kernel(sample.table, {}, [0.5], [0.1], ALL, Deadline())[2]
