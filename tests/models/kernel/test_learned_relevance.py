"""Relevances that are learned: their evidence against that of the formula, its gradient, and its maximum."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from similarities import ARITIES, N_CLASSES, Sample
from tiers import examples

import anbexact.models.kernel.learned_relevance as learned_relevance
from anbexact import DiscreteTable
from anbexact._runtime.deadline import Deadline
from anbexact.models.kernel.distances import distances_of
from anbexact.models.kernel.learned_relevance import PRECISION, NegativeEvidence, with_learned_relevance
from anbexact.models.kernel.rows import DistinctRows


def evidence_of(sample):
    """The function that is minimised for a sample."""
    return NegativeEvidence(DistinctRows.of(sample.table), [own.table for own in distances_of(sample.table, {})])


def relevances_of(table, deadline=None):
    """The relevances that are learned from the rows of a table."""
    found = with_learned_relevance(distances_of(table, {}), DistinctRows.of(table), deadline or Deadline())
    return np.array([own.relevance for own in found])


def oracle(sample, logs):
    """Minus the log evidence and log prior of logarithms of rates and noise, in nats."""
    rows, class_weights = sample.distinct
    rates = np.exp(logs[:-1])
    evidence = oracles.label_evidence(class_weights, sample.correlations(rows, rows, 1.0, rates), np.exp(logs[-1]))
    return -evidence + PRECISION * (N_CLASSES - 1) / 2 * np.sum((logs[:-1] - np.mean(logs[:-1])) ** 2)


class TestEvidence:
    @examples(60)
    @given(seed=st.integers(0, 10**6), n_rows=st.integers(6, 40), weights=st.sampled_from(["ones", "mixed"]))
    def test_is_that_of_the_formula_up_to_a_constant(self, seed, n_rows, weights):
        sample = Sample.drawn(seed, n_rows, weights)
        evidence = evidence_of(sample)
        places = np.random.default_rng(seed).normal([0.0, 0.0, 0.0, -1.0], 1.0, (3, 4))
        found = [evidence.n_rows * evidence.value_and_gradient(logs)[0] for logs in places]
        expected = [oracle(sample, logs) for logs in places]
        np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=1e-4)

    @examples(40)
    @given(seed=st.integers(0, 10**6), weights=st.sampled_from(["ones", "mixed"]))
    def test_gradient_is_that_of_differences(self, seed, weights):
        evidence = evidence_of(Sample.drawn(seed, 25, weights))
        logs = np.random.default_rng(seed).normal([0.0, 0.0, 0.0, -1.0], 1.0)
        numeric = [
            (evidence.value_and_gradient(logs + step)[0] - evidence.value_and_gradient(logs - step)[0]) / 2e-5
            for step in 1e-5 * np.eye(4)
        ]
        np.testing.assert_allclose(evidence.value_and_gradient(logs)[1], numeric, atol=1e-6)


class TestRelevances:
    @pytest.mark.parametrize("seed", range(5))
    def test_without_a_limit_they_are_at_a_maximum(self, seed, monkeypatch):
        """Of the formula, between the bounds: no step in a random direction leads to a higher value."""
        sample, ends = Sample.drawn(seed, 40, "mixed"), []

        def patient(*args, **others):
            found = minimize(*args, **{**others, "options": {"maxiter": 1000, "ftol": 1e-14}})
            ends.append((found.x, *np.array(others["bounds"]).T))
            return found

        monkeypatch.setattr(learned_relevance, "minimize", patient)
        relevances = relevances_of(sample.table)
        end, low, high = ends[0]
        rates = np.exp(end[:-1])
        np.testing.assert_allclose(relevances, rates / rates.mean())
        steps = np.random.default_rng(seed).normal(scale=0.1, size=(60, 4))
        least = oracle(sample, end)
        assert min(oracle(sample, np.clip(end + step, low, high)) for step in steps) > least - 1e-4

    @pytest.mark.parametrize("seed", range(3))
    def test_the_few_iterations_lower_the_value_most_of_the_way(self, seed, monkeypatch):
        sample, values = Sample.drawn(seed, 60), {}

        def compared(function, first, **others):
            found = minimize(function, first, **others)
            longer = minimize(function, first, **{**others, "options": {"maxiter": 1000, "ftol": 1e-14}})
            values.update(first=function(np.array(first))[0], found=found.fun, least=longer.fun)
            return found

        monkeypatch.setattr(learned_relevance, "minimize", compared)
        relevances_of(sample.table)
        assert values["first"] - values["found"] > 0.8 * (values["first"] - values["least"]) > 0

    def test_features_that_matter_have_the_largest(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 4, (300, 6)), columns=list("abcdef"))
        y = pd.Series((X["b"] >= 2) ^ (X["e"] % 2 == 1), name="y")
        found = relevances_of(DiscreteTable.from_frame(X, y))
        assert found.mean() == pytest.approx(1)
        assert set(np.argsort(found)[-2:]) == {1, 4}
        assert found[[1, 4]].min() > 4 * np.delete(found, [1, 4]).max()

    def test_weight_two_is_a_repeated_row_and_the_order_does_not_matter(self):
        sample = Sample.drawn(0)
        repeats = np.random.default_rng(0).integers(0, 3, 30)
        repeats[:N_CLASSES] = 1
        copied = np.random.default_rng(1).permutation(np.repeat(np.arange(30), repeats))
        weighted = Sample(sample.rows, sample.classes, repeats.astype(float).tolist())
        repeated = Sample([sample.rows[t] for t in copied], [sample.classes[t] for t in copied], [1.0] * len(copied))
        np.testing.assert_allclose(relevances_of(weighted.table), relevances_of(repeated.table), rtol=1e-9)

    @pytest.mark.parametrize(
        ("values", "labels"),
        [
            ({"a": [0, 1, 2], "b": [0, 1, 0]}, [1, 1, 1]),
            ({"a": [0, 1, 2], "b": [0, 0, 0]}, [0, 1, 0]),
            ({"a": [0], "b": [1]}, [0]),
            ({"a": [0, 0], "b": [1, 1]}, [0, 1]),
        ],
    )
    def test_are_one_where_nothing_can_be_learned(self, values, labels):
        table = DiscreteTable.from_frame(pd.DataFrame(values), pd.Series(labels, name="c"))
        assert relevances_of(table).tolist() == [1, 1]

    def test_rounding_of_equal_class_shares_is_no_information(self):
        rows = [row for row in Sample.drawn(0).rows for _ in range(2)]
        weights = [share * w for w in np.random.default_rng(0).exponential(size=30) for share in (0.3, 0.7)]
        assert relevances_of(Sample(rows, [0, 1] * 30, weights).table).tolist() == [1, 1, 1]

    def test_heavy_rows_and_tiny_weights_are_no_trouble(self):
        sample = Sample.drawn(0, weights="mixed")
        for factor in (1e9, 1e-9):
            scaled = Sample(sample.rows, sample.classes, [factor * weight for weight in sample.weights])
            found = relevances_of(scaled.table)
            assert np.isfinite(found).all()
            assert found.min() > 0

    @pytest.mark.parametrize(("readings", "most"), [(0, 0), (1, 4)])
    def test_the_search_ends_when_time_has_run_out(self, readings, most, monkeypatch):
        """At its beginning, or after the first iteration."""
        calls = []

        class Clock:
            read = 0

            @property
            def passed(self):
                self.read += 1
                return self.read > readings

        class Counted(NegativeEvidence):
            def value_and_gradient(self, logs):
                calls.append(1)
                return super().value_and_gradient(logs)

        monkeypatch.setattr(learned_relevance, "NegativeEvidence", Counted)
        found = relevances_of(Sample.drawn(0).table, Clock())
        assert bool(most) == bool(calls)
        assert len(calls) <= most
        assert len(found) == len(ARITIES)
        assert found.mean() == pytest.approx(1)
        assert (np.ptp(found) > 0) == bool(most)


@pytest.mark.parametrize(("n_few", "expected"), [(0, 1e-3), (-1, 1e-5)])
def test_the_search_ends_sooner_with_few_rows(n_few, expected, monkeypatch):
    table, tolerances = Sample.drawn(0, 20).table, []
    rows = DistinctRows.of(table)

    def noted(*args, options, **others):
        tolerances.append(options["ftol"])
        return minimize(*args, options=options, **others)

    monkeypatch.setattr(learned_relevance, "minimize", noted)
    monkeypatch.setattr(learned_relevance, "FEW_ROWS", len(rows.weights) + n_few)
    with_learned_relevance(distances_of(table, {}), rows, Deadline())
    assert tolerances == [expected]
