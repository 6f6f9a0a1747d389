"""Relearned leave-one-out against a search on the table without the row."""

import math

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from strategies import ess_values, problems, random_problem, table_of
from tiers import examples, repeats

from anbexact import ANBClassifier, BDeu, DiscreteTable, learn_anb, relearned_leave_one_out
from anbexact.datasets import load_monks


def collapsed(problem):
    """The distinct rows, with the number of each."""
    rows = {}
    for row, weight in zip(problem.rows, problem.weights, strict=True):
        rows[row] = rows.get(row, 0.0) + weight
    return rows


def by_refits(problem, ess, **limits):
    """P(own class) and the feature parents, for every distinct row, by learning from all other rows."""
    found, rows, n = {}, collapsed(problem), problem.n
    for row in rows:
        others = {**rows, row: rows[row] - 1}
        others = {kept: weight for kept, weight in others.items() if weight}
        if not others:
            continue
        kept, weights = list(others), list(others.values())
        structure = learn_anb(table_of(kept, weights, problem.arities), BDeu(ess), **limits)
        parents = {v: [problem.names.index(p) for p in structure.parents[problem.names[v]]] for v in range(n + 1)}
        joint = []
        for class_ in range(problem.arities[n]):
            own = (*row[:n], class_)
            total = 0.0
            for v in range(n + 1):
                table = oracles.eap(kept, weights, problem.arities, v, parents[v], ess)
                total += math.log(table[own[v], *(own[p] for p in parents[v])])
            joint.append(total)
        shares = np.exp(np.array(joint) - max(joint))
        found[row] = shares[row[n]] / shares.sum(), {(p, v) for v in range(n) for p in parents[v] if p != n}
    return found


def check(problem, ess, **limits):
    rows = collapsed(problem)
    expected = by_refits(problem, ess, **limits)
    if len(expected) < len(rows):  # a table of one row
        return
    found = relearned_leave_one_out(problem.table, ess=ess, **limits)
    total = sum(rows.values())
    losses = 0.0
    held = {}
    for row in found.rows.itertuples(index=False):
        states = tuple(int(cell) for cell in row[: problem.n + 1])
        probability, arcs = expected[states]
        assert row.probability == pytest.approx(probability, rel=1e-9)
        assert row.weight == rows[states]
        losses -= row.weight * math.log(probability)
        for arc in arcs:
            held[arc] = held.get(arc, 0.0) + row.weight
    assert found.log_loss == pytest.approx(losses / total, rel=1e-9)
    listed = {
        (problem.names.index(row.parent), problem.names.index(row.child)): row.rows
        for row in found.arcs.itertuples()
        if row.rows
    }
    assert listed == held
    whole = learn_anb(problem.table, BDeu(ess), **limits)
    optimum = found.arcs[found.arcs["in_optimum"]]
    assert set(zip(optimum["parent"], optimum["child"], strict=True)) == set(whole.feature_edges)


@given(problem=problems(max_features=3, min_arity=2), ess=ess_values)
@examples(40)
def test_small_tables(problem, ess):
    problem.weights = [float(math.ceil(weight)) for weight in problem.weights]
    check(problem, ess)


@pytest.mark.parametrize("seed", repeats(6))
def test_larger_tables(seed):
    problem = random_problem(seed, 5, n_rows=25, n_classes=2, weights="ones" if seed % 2 else "whole")
    check(problem, 1.0)


@pytest.mark.parametrize("seed", repeats(20))
def test_every_bit_is_that_of_a_refit(seed):
    """Probabilities, log loss and arcs against a classifier fitted to the other rows."""
    problem = random_problem(seed, 4, n_rows=12, n_classes=2 + seed % 2, weights="ones" if seed % 2 else "whole")
    X, y = problem.frame()
    found = relearned_leave_one_out(problem.table, ess=1.0)
    of_rows = {tuple(map(int, row[: problem.n + 1])): row for row in found.rows.itertuples(index=False)}
    optimum = set(learn_anb(problem.table, BDeu(1.0)).feature_edges)
    own_class = []
    for row in of_rows:
        weights = np.array(problem.weights)
        weights[problem.rows.index(row)] -= 1
        others = weights > 0
        refit = ANBClassifier(ess=1.0, categories=problem.categories, discretizer=None, verbose=-1, n_jobs=1)
        refit.fit(X[others], y[others], sample_weight=weights[others])
        proba = refit.predict_proba(pd.DataFrame([row[:-1]], columns=X.columns))[0]
        own_class.append(proba[list(refit.classes_).index(row[-1])])
        assert of_rows[row].probability == own_class[-1]
        assert of_rows[row].changes == len(optimum ^ set(refit.structure_.feature_edges))
    weights = found.rows["weight"].to_numpy()
    assert found.log_loss == -float((weights * np.log(own_class)).sum()) / weights.sum()


def test_constraints():
    problem = random_problem(3, 4, n_rows=25, n_classes=3)
    check(problem, 2.0, max_parents=1, required=[("f0", "f1")], forbidden=[("f2", "f3")])


class TestAnswers:
    def test_threads_do_not_matter(self):
        table = random_problem(1, 5).table
        one, two = (relearned_leave_one_out(table, n_jobs=n_jobs) for n_jobs in (1, 2))
        pd.testing.assert_frame_equal(one.rows, two.rows)
        pd.testing.assert_frame_equal(one.arcs, two.arcs)

    def test_of_no_and_of_constant_features(self):
        alone = relearned_leave_one_out(random_problem(0, 0).table)
        assert alone.arcs.empty
        X, y = load_monks(3)
        X, y = X.iloc[:40], y.iloc[:40]
        plain, more = (
            relearned_leave_one_out(DiscreteTable.from_frame(frame, y)) for frame in (X, X.assign(constant="a"))
        )
        assert plain.log_loss == pytest.approx(more.log_loss, rel=1e-12)

    def test_text(self):
        text = str(relearned_leave_one_out(random_problem(2, 3).table))
        assert "log loss" in text
        assert "changes the structure" in text


def test_refusals():
    problem = random_problem(0, 2, weights="real")
    with pytest.raises(ValueError, match="weights must be whole numbers of rows"):
        relearned_leave_one_out(problem.table)
    with pytest.raises(ValueError, match="ess"):
        relearned_leave_one_out(random_problem(0, 2).table, ess=0)
