"""What later rows say of a network, against the formulas, row by row."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from anbexact import ANBClassifier, NaiveBayesClassifier
from anbexact.adapters import from_pgmpy, to_pgmpy
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.datasets import load_monks, load_tic_tac_toe

PARENTS = {"a": ["c"], "b": ["c", "a"], "d": ["b"], "c": []}
STATES = {"a": 3, "b": 2, "d": 4, "c": 3}


def log_marginal_likelihood(rows, weights, child, parents, ess):
    """Logarithm of the Dirichlet-multinomial probability of a column given others (BDeu)."""
    q = math.prod(STATES[p] for p in parents)
    r = STATES[child]
    cells, totals = Counter(), Counter()
    for row, w in zip(rows, weights, strict=True):
        j = tuple(row[p] for p in parents)
        cells[j, row[child]] += w
        totals[j] += w
    value = sum(math.lgamma(ess / q) - math.lgamma(ess / q + n) for n in totals.values())
    return value + sum(math.lgamma(ess / (q * r) + n) - math.lgamma(ess / (q * r)) for n in cells.values())


def log_probability(rows, weights, row, child, ess, without=0.0):
    """Logarithm of the posterior mean of a row's state given its parents."""
    parents = PARENTS[child]
    q = math.prod(STATES[p] for p in parents)
    same = [w for other, w in zip(rows, weights, strict=True) if all(other[p] == row[p] for p in parents)]
    equal = [w for other, w in zip(rows, weights, strict=True) if all(other[v] == row[v] for v in (*parents, child))]
    a = ess / (q * STATES[child])
    return math.log(max(sum(equal) - without, 0) + a) - math.log(max(sum(same) - without, 0) + a * STATES[child])


@st.composite
def batches(draw):
    def rows(n):
        return [{v: draw(st.integers(0, r - 1)) for v, r in STATES.items()} for _ in range(n)]

    sizes = [draw(st.integers(1, 12)), draw(st.integers(1, 8))]
    weights = [draw(st.lists(st.sampled_from([1.0, 2.0, 0.5, 3.0]), min_size=n, max_size=n)) for n in sizes]
    return (
        [rows(n) for n in sizes],
        weights,
        draw(st.sampled_from([0.5, 1.0, 7.0])),
        draw(st.sampled_from([None, 4.0])),
    )


def frames(rows):
    frame = pd.DataFrame(rows).map(lambda code: f"s{code}")
    return frame.drop(columns="c"), frame["c"]


@given(batches())
@examples(60, quick=15)
def test_formulas(drawn):
    (earlier, later), (w, v), usual, of_the_class = drawn
    declared = {name: [f"s{k}" for k in range(r)] for name, r in STATES.items()}
    classifier = FixedStructureClassifier(PARENTS, ess=usual, categories=declared).fit(*frames(earlier), w)
    model = classifier.model_
    classifier.set_model(replace(model, estimation=replace(model.estimation, class_smoothing=of_the_class)))
    drift = classifier.drift(*frames(later), v)
    assert drift.weight == pytest.approx(sum(v))
    assert drift.earlier_weight == pytest.approx(sum(w))
    for child, parents in PARENTS.items():
        ess = of_the_class if child == "c" and of_the_class is not None else usual

        def score(rows, weights, parents, child=child, ess=ess):
            return log_marginal_likelihood(rows, weights, child, parents, ess)

        found = drift.variables.loc[child]
        three = [(earlier, w), (earlier + later, w + v), (later, v)]
        whole = [score(*part, parents) for part in three]
        assert found["log_bayes_factor"] == pytest.approx(whole[1] - whole[0] - whole[2], abs=1e-9)
        left_out = [
            weight * log_probability(earlier, w, row, child, ess, 1) for row, weight in zip(earlier, w, strict=True)
        ]
        assert found["earlier"] == pytest.approx(sum(left_out) / sum(w), rel=1e-9)
        logs = [weight * log_probability(earlier, w, row, child, ess) for row, weight in zip(later, v, strict=True)]
        assert found["later"] == pytest.approx(sum(logs) / sum(v), rel=1e-9)
        met = {tuple(row[p] for p in parents) for row in earlier}
        new = sum(weight for row, weight in zip(later, v, strict=True) if tuple(row[p] for p in parents) not in met)
        assert found["new_configurations"] == pytest.approx(new / sum(v))
        for parent in parents:
            others = [other for other in parents if other != parent]
            gains = [score(*part, parents) - score(*part, others) for part in three]
            arc = drift.arcs.loc[(parent, child)]
            assert arc[["before", "after", "alone"]].tolist() == pytest.approx(gains, abs=1e-9)
            assert arc["change"] == pytest.approx(gains[1] - gains[0], abs=1e-9)
    assert drift.variables["log_bayes_factor"].is_monotonic_increasing
    assert drift.arcs["change"].is_monotonic_increasing


class TestReports:
    def test_the_same_source_and_another(self):
        X, y = load_tic_tac_toe()
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X.iloc[order], y.iloc[order]
        classifier = NaiveBayesClassifier().fit(X[:500], y[:500])
        before = classifier.predict_proba(X)
        same = classifier.drift(X[500:], y[500:])
        assert same.log_bayes_factor > 0
        assert same.changed == []
        assert same.unseen.empty
        other = classifier.drift(X[500:].assign(top_left="x"), y[500:])
        assert other.changed == ["top_left"]
        assert "top_left: -" in str(other)
        assert repr(other) == "<Drift: 1 of 10 variables changed>"
        np.testing.assert_array_equal(classifier.predict_proba(X), before)

    def test_an_arc_that_no_longer_holds(self):
        X, y = load_monks(1)
        classifier = ANBClassifier(ess=1).fit(X, y)
        parent, child = classifier.structure_.feature_edges[0]
        shuffled = X.assign(**{child: np.random.default_rng(1).permutation(X[child])})
        drift = classifier.drift(shuffled, y)
        assert (parent, child) in drift.contradicted
        assert f"are evidence against the arc {parent} -> {child}" in str(drift)

    def test_values_and_classes_that_are_no_states(self):
        X, y = load_tic_tac_toe()
        classifier = NaiveBayesClassifier().fit(X, y)
        strange = X[:6].astype(object)
        strange.iloc[0, 0] = strange.iloc[1, 0] = "?"
        strange.iloc[1, 1] = None
        classes = pd.Series([*y[:4], "draw", y.iloc[5]], name=y.name)
        drift = classifier.drift(strange, classes, [1, 2, 1, 1, 4, 1])
        assert drift.left_out == 7
        assert drift.weight == 3
        assert drift.unseen.values.tolist() == [["x_wins", "draw", 4.0], ["top_left", "?", 3.0]]
        assert drift.variables["unseen"].to_dict() | {} == {
            name: {"x_wins": 4.0, "top_left": 3.0}.get(name, 0) for name in drift.variables.index
        }
        assert "7 rows with values that are not states were left out:\n  x_wins = draw (4)" in str(drift)

    def test_refusals(self):
        X, y = load_monks(1)
        classifier = NaiveBayesClassifier().fit(X, y)
        with pytest.raises(ValueError, match="no row can be compared"):
            classifier.drift(X.assign(**{X.columns[0]: "?"}), y)
        with pytest.raises(ValueError, match="this network has counted none"):
            NaiveBayesClassifier().fit(*load_monks(1)).without_rows().drift(*load_monks(1))
        with pytest.raises(ValueError, match="tables of this network were given"):
            from_pgmpy(to_pgmpy(classifier), class_name=y.name).drift(X.astype(str), y.astype(str))
        numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(len(y), 2)))
        with pytest.raises(ValueError, match="cannot be counted separately"):
            NaiveBayesClassifier(continuous="universal").fit(numbers, y).drift(numbers, y)
