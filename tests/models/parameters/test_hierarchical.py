"""Hierarchical tables: against their recursion, and their strengths against counting and other strengths."""

import signal
from dataclasses import replace
from itertools import pairwise
from math import exp, log

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.optimize import minimize
from strategies import random_problem
from tiers import repeats

import anbexact
from anbexact import ANBClassifier, FSANBClassifier, GBNClassifier, NaiveBayesClassifier, TANClassifier
from anbexact._kernels.hierarchy import BLOCK
from anbexact._runtime.deadline import Deadline, abandonable
from anbexact.classifiers import FixedStructureClassifier, KDBClassifier
from anbexact.classifiers.choosing.table_strengths import chosen_strengths, n_repetitions
from anbexact.datasets import load_dataset, load_monks
from anbexact.files.describe import describe
from anbexact.files.restore import restore
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.hierarchical import Strengths, hierarchical_tables, ordered_parents
from anbexact.models.parameters.strengths import (
    CENTRE,
    SPREAD,
    SPREAD_OF_EXPONENT,
    SPREAD_OF_VARIABLES,
    HeldOutHierarchy,
    best_strengths,
)
from anbexact.models.parameters.strengths import EXPONENT as PRIOR_EXPONENT
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.search import learn_kdb, learn_naive_bayes
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

STRENGTHS = (2.0, 0.5, 7.0, 1.5)
EXPONENT = 1.3


def different_strengths(names):
    """Strengths that differ from variable to variable."""
    of_variables = {
        name: tuple(strength * (1 + place / 3) for strength in STRENGTHS) for place, name in enumerate(names)
    }
    return Strengths(of_variables, EXPONENT)


def problem_and_parents(seed):
    """A random table, and a graph in which the class may have parents, or not be a parent of all."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, 3, n_rows=14, max_arity=3, weights="real" if seed % 2 else "ones")
    order = rng.permutation(problem.n + 1).tolist()
    parents = {v: tuple(sorted(u for u in order[:k] if rng.random() < 0.7)) for k, v in enumerate(order)}
    names = problem.names
    structure = Structure.given("c", {names[v]: tuple(names[u] for u in parents[v]) for v in range(problem.n + 1)})
    return problem, structure


def orders(problem, structure):
    """The ordered parents of every variable, by positions."""
    counts = count_families(problem.table, structure)
    place = {name: v for v, name in enumerate(problem.names)}
    return {place[name]: tuple(place[p] for p in ordered_parents(of, "c")) for name, of in counts.items()}


@pytest.mark.parametrize("seed", range(4))
def test_parents_come_in_the_order_of_what_they_tell(seed):
    problem, structure = problem_and_parents(seed)
    c = problem.n
    for child, order in orders(problem, structure).items():
        assert order[:1] == (c,) or c not in order
        given = [c] if c in order else []
        told = [
            oracles.conditional_information(problem.rows, problem.weights, child, parent, given)
            for parent in order
            if parent != c
        ]
        assert all(one >= other - 1e-6 for one, other in pairwise(told))


@pytest.mark.parametrize("seed", range(4))
def test_tables_are_the_recursion(seed):
    problem, structure = problem_and_parents(seed)
    counts = count_families(problem.table, structure)
    strengths = different_strengths(problem.names)
    tables = hierarchical_tables(counts, "c", strengths)
    place = {name: v for v, name in enumerate(problem.names)}
    for child, order in orders(problem, structure).items():
        table = tables[problem.names[child]]
        np.testing.assert_allclose(table.values.sum(axis=0), 1)
        for cell in np.ndindex(table.values.shape):
            states = {place[name]: code for name, code in zip(table.variables, cell, strict=True)}
            expected = oracles.hierarchical_entry(
                problem.rows,
                problem.weights,
                problem.arities,
                child,
                order,
                strengths.of_variables[table.name],
                EXPONENT,
                states,
            )
            assert table.values[cell] == pytest.approx(expected, abs=1e-12)


def halves(problem):
    """The rows of the table, by turns to learn from and held out."""
    table = problem.table
    return [
        DiscreteTable(table.vocabulary, table.codes[part], table.weights[part], len(table.codes[part]))
        for part in (slice(0, None, 2), slice(1, None, 2))
    ]


def of_levels(fold, strengths):
    """M of every level, and the exponent: the arguments of `log_likelihood`."""
    return np.array([strengths.of_variables[name][depth] for name, depth in fold.levels]), strengths.exponent


def test_held_out_rows_are_predicted_from_the_others():
    for seed in repeats(6):
        problem, structure = problem_and_parents(seed)
        learned, held_out = halves(problem)
        learned.weights[:2] = 0.0  # states of these rows need not occur
        counts = count_families(learned, structure)
        place = {name: v for v, name in enumerate(problem.names)}
        parents = {place[name]: tuple(place[p] for p in ordered_parents(of, "c")) for name, of in counts.items()}
        strengths = different_strengths(problem.names)
        by_place = {place[name]: of_name for name, of_name in strengths.of_variables.items()}
        rows = [[int(learned.column(name)[t]) for name in problem.names] for t in range(len(learned.codes))]
        expected = 0.0
        for t, weight in enumerate(held_out.weights):
            row = [int(held_out.column(name)[t]) for name in problem.names]
            posterior = oracles.hierarchical_posterior(
                rows, learned.weights.tolist(), problem.arities, parents, by_place, EXPONENT, row
            )
            expected += weight * log(posterior[row[-1]])
        fold = HeldOutHierarchy(learned, held_out, structure)
        assert fold.log_likelihood(*of_levels(fold, strengths))[0] == pytest.approx(expected, rel=1e-9)


def test_derivatives_by_strengths_are_differences():
    for seed in repeats(4):
        problem, structure = problem_and_parents(seed)
        fold = HeldOutHierarchy(*halves(problem), structure)
        at, exponent = of_levels(fold, different_strengths(problem.names))
        *slopes, by_exponent = fold.log_likelihood(at, exponent)[1]
        for level, slope in enumerate(slopes):
            step = np.exp(1e-5 * (np.arange(len(at)) == level))
            above, below = fold.log_likelihood(at * step, exponent)[0], fold.log_likelihood(at / step, exponent)[0]
            assert slope == pytest.approx((above - below) / 2e-5, abs=1e-6)
        above, below = (fold.log_likelihood(at, exponent + step)[0] for step in (1e-5, -1e-5))
        assert by_exponent == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_rows_beyond_one_block_count_as_well():
    problem, structure = problem_and_parents(1)
    learned, held_out = halves(problem)
    times = 3 * BLOCK // len(held_out.codes) + 1
    codes, weights = np.tile(held_out.codes, (times, 1)), np.tile(held_out.weights, times)
    assert len(codes) % BLOCK
    many = DiscreteTable(learned.vocabulary, np.asfortranarray(codes), weights, len(codes))
    at = of_levels(HeldOutHierarchy(learned, many, structure), different_strengths(problem.names))
    value, slopes = HeldOutHierarchy(learned, many, structure).log_likelihood(*at)
    of_once, slopes_of_once = HeldOutHierarchy(learned, held_out, structure).log_likelihood(*at)
    assert value == pytest.approx(times * of_once, rel=1e-12)
    np.testing.assert_allclose(slopes, times * slopes_of_once, rtol=1e-9, atol=1e-12)


def test_many_held_out_rows_are_represented_by_some():
    X, y = load_dataset("tic_tac_toe")
    table = NaiveBayesClassifier().fit(X, y).reader_.table(X, y, None)
    structure = learn_naive_bayes(table)
    learned, held_out = split_table(table, 5)[0]
    some = HeldOutHierarchy(learned, held_out, structure, most_cells=2 * 19 * 10)
    places = np.linspace(0, len(held_out.codes) - 1, 10).astype(int)
    chosen = DiscreteTable(table.vocabulary, held_out.codes[places], held_out.weights[places], 10)
    strengths = of_levels(some, different_strengths(table.vocabulary.names))
    expected = HeldOutHierarchy(learned, chosen, structure).log_likelihood(*strengths)[0]
    assert some.log_likelihood(*strengths)[0] == pytest.approx(expected, rel=1e-12)


def monks():
    X, y = load_monks(2)
    return X, y, KDBClassifier(k=2, parameters="hierarchical").fit(X, y)


def test_strengths_predict_the_rows_of_folds():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    score = model.score_of(model.ess_)
    folds = [
        HeldOutHierarchy(rows, others, learn_kdb(rows, score, k=2))
        for seed in range(4)
        for rows, others in split_table(table, 5, seed)
    ]
    assert best_strengths(folds, model.structure_, 4) == model.model_.estimation.strengths


def test_no_other_strengths_are_better(monkeypatch):
    monkeypatch.setattr("anbexact.models.parameters.strengths.PRECISION", 1e-9)
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    folds = [HeldOutHierarchy(*fold, model.structure_) for seed in (0, 1) for fold in split_table(table, 5, seed)]
    found = best_strengths(folds, model.structure_, 2)
    every = {name: [*of_name] for name, of_name in found.of_variables.items()}
    depths = max(len(of_name) for of_name in every.values())

    def value(strengths, exponent=found.exponent):
        """The objective, maximised over the mean of every depth."""
        both = Strengths(strengths, exponent)
        total = sum(fold.log_likelihood(*of_levels(fold, both))[0] for fold in folds) / 2
        total -= (exponent - PRIOR_EXPONENT) ** 2 / 2 / SPREAD_OF_EXPONENT**2
        for depth in range(depths):
            logs = np.array([log(of_name[depth]) for of_name in strengths.values() if depth < len(of_name)])
            within, between = len(logs) / SPREAD_OF_VARIABLES**2, 1 / SPREAD**2
            mean = (within * logs.mean() + between * log(CENTRE)) / (within + between)
            total -= ((logs - mean) ** 2).sum() / 2 / SPREAD_OF_VARIABLES**2
            total -= (mean - log(CENTRE)) ** 2 / 2 / SPREAD**2
        return total

    best = value(every)
    for name, of_name in every.items():
        for depth in range(len(of_name)):
            for step in (-0.5, -0.05, 0.05, 0.5):
                other = [strength * exp(step * (d == depth)) for d, strength in enumerate(of_name)]
                assert value({**every, name: other}) < best
    for depth in range(depths):
        for step in (-2.0, -0.2, 0.2, 2.0):
            moved = {n: [m * exp(step * (d == depth)) for d, m in enumerate(of)] for n, of in every.items()}
            assert value(moved) < best
    for step in (-0.5, -0.05, 0.05, 0.5):
        assert value(every, found.exponent + step) < best


@pytest.mark.slow
def test_strengths_are_the_maximum_of_the_page():
    """The page on scores, with the posterior by the oracle and the maximum by scipy, without derivatives."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, [2, 3], (30, 2)), columns=["a", "b"]).astype(str)
    y = pd.Series((X["a"] == "1").to_numpy() ^ (rng.random(30) < 0.3), name="c").map({False: "n", True: "y"})
    weights = rng.integers(30, 80, 30).astype(float)  # 1,500 rows or more, so that they are split once
    assert weights.sum() >= 1500
    parents = {"c": [], "a": ["c"], "b": ["c", "a"]}
    model = FixedStructureClassifier(parents, parameters="hierarchical").fit(X, y, weights)
    found = model.model_.estimation.strengths
    table = model.reader_.table(X, y, weights)
    names = list(table.vocabulary.names)
    arities = [table.vocabulary.arity(name) for name in names]
    levels = [(name, depth) for name, of in parents.items() for depth in range(len(of) + 1)]
    folds = []
    for learned, held_out in split_table(table, 5):
        ordered = {name: ordered_parents(of, "c") for name, of in count_families(learned, model.structure_).items()}
        orders_ = {names.index(name): tuple(map(names.index, of)) for name, of in ordered.items()}
        folds.append((learned.codes.tolist(), learned.weights.tolist(), orders_, held_out))

    def loss(unknowns):
        means, logs, exponent = unknowns[:3], unknowns[3:-1], unknowns[-1]
        of_variables = {}
        for (name, _), value in zip(levels, logs, strict=True):
            of_variables.setdefault(names.index(name), []).append(exp(value))
        total = 0.0
        for rows, of_rows, orders_, held_out in folds:
            for row, weight in zip(held_out.codes.tolist(), held_out.weights, strict=True):
                p = oracles.hierarchical_posterior(rows, of_rows, arities, orders_, of_variables, exponent, row)
                total += weight * log(p[row[-1]])
        total -= sum((mean - log(5)) ** 2 for mean in means) / 2 / 4**2
        total -= sum((v - means[d]) ** 2 for (_, d), v in zip(levels, logs, strict=True)) / 2 / 0.5**2
        return -(total - (exponent - 1) ** 2 / 2 / 1.5**2)

    start = np.array([*[log(5)] * (3 + len(levels)), 1.0])
    bounds = [(log(0.01), log(1e4))] * 3 + [(None, None)] * len(levels) + [(0.0, 6.0)]
    best = minimize(loss, start, method="L-BFGS-B", bounds=bounds)
    logs = np.array([log(found.of_variables[name][depth]) for name, depth in levels])
    between, within = 1 / 4**2, 1 / 0.5**2
    means = [
        (between * log(5) + within * sum(own)) / (between + within * len(own))
        for own in ([v for (_, k), v in zip(levels, logs, strict=True) if k == d] for d in range(3))
    ]
    ours = loss(np.array([*means, *logs, found.exponent]))
    assert ours == pytest.approx(best.fun, abs=2e-4 * abs(best.fun))
    assert loss(start) - best.fun > 10 * abs(ours - best.fun)
    np.testing.assert_allclose(logs, best.x[3:-1], atol=0.3)


def test_depths_that_no_fold_has_get_the_mean_of_the_deepest():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    folds = [HeldOutHierarchy(*fold, learn_naive_bayes(fold[0])) for fold in split_table(table, 5)]
    strengths = best_strengths(folds, model.structure_).of_variables
    deep = {strength for of_name in strengths.values() for strength in of_name[2:]}
    first = [log(of_name[1]) for of_name in strengths.values() if len(of_name) > 1]
    assert len(deep) == 1
    assert min(first) < log(deep.pop()) < max(first)
    assert best_strengths([], model.structure_).of_variables["is_monk"] == pytest.approx((CENTRE,))


class SearchCounter(KDBClassifier):
    """Counts its searches."""

    searches = 0

    def _learn(self, table, score, time_limit):
        type(self).searches += 1
        return super()._learn(table, score, time_limit)


def test_structures_are_learned_again_in_every_fold():
    X, y = load_monks(1)
    SearchCounter.searches = 0
    SearchCounter(k=2, ess=1.0, parameters="eap").fit(X, y)
    once, SearchCounter.searches = SearchCounter.searches, 0
    SearchCounter(k=2, ess=1.0, parameters="hierarchical").fit(X, y)
    assert SearchCounter.searches == once + 4 * 5  # 432 rows, split four times


@pytest.mark.parametrize(
    ("n_rows", "weight_sum", "expected"),
    [(24, 24.0, 4), (499, 499.0, 4), (500, 500.0, 3), (1499, 1499.0, 2), (1500, 1500.0, 1), (9000, 1.0, 1),
     (10, 1e6, 1)],
)  # fmt: skip
def test_few_rows_are_split_repeatedly(n_rows, weight_sum, expected):
    table = load_monks_table()
    weights = table.weights * weight_sum / table.weight_sum
    assert n_repetitions(replace(table, weights=weights, n_rows=n_rows)) == expected


def load_monks_table():
    X, y = load_monks(2)
    return DiscreteTable.from_frame(X, y)


def strengths_by(learn, deadline):
    table = load_monks_table()
    score = BDeu(1.0)
    structure = learn_kdb(table, score, k=2)
    return chosen_strengths(table, structure, learn, score, deadline, split_table)


def test_the_structure_of_all_rows_is_kept_when_the_time_has_run_out():
    calls = []

    def learn(table, score, seconds):
        calls.append(seconds)
        deadline.seconds = 0.0 if len(calls) == 3 else 1e6
        return learn_naive_bayes(table, score)

    deadline = Deadline(1e6)
    with pytest.warns(UserWarning, match="learned again in 3 of 20 folds only"):
        some = strengths_by(learn, deadline)
    assert calls[0] == pytest.approx(1e6 / 20, rel=1e-3)
    assert calls[1] == pytest.approx(1e6 / 19, rel=1e-3)
    kept = strengths_by(None, Deadline())
    assert some != kept
    with pytest.warns(UserWarning, match="in 0 of 20 folds only"):
        assert strengths_by(learn, Deadline(0.0)) == kept
    assert len(calls) == 3


def test_an_interrupt_ends_the_searches():
    calls = []

    def learn(table, score, seconds):
        calls.append(seconds)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return learn_naive_bayes(table, score)

    with pytest.raises(KeyboardInterrupt):
        strengths_by(learn, Deadline())
    assert len(calls) == 2


def test_an_interrupt_during_a_search_is_raised():
    def interrupted():
        with abandonable():
            signal.raise_signal(signal.SIGINT)
            learn_kdb(load_monks_table(), BDeu(1.0), k=2)

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_ties_keep_their_order_whatever_the_weight():
    """Two copies of a parent tell the same, and so does their order in large tables."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (200, 2))
    X = pd.DataFrame(
        {"b": rows[:, 0], "a": (rows[:, 0] * 2) % 3, "x": (rows.sum(axis=1) + rng.integers(0, 2, 200)) % 3}
    )
    for weight in (1.0, 1e8 / 7):
        table = DiscreteTable.from_frame(
            X.astype(str), pd.Series(rows[:, 1] % 2, name="c").astype(str), sample_weight=np.full(200, weight)
        )
        for parents in (("c", "a", "b"), ("c", "b", "a")):
            structure = Structure.given("c", {"c": (), "a": ("c",), "b": ("c",), "x": parents})
            assert ordered_parents(count_families(table, structure)["x"], "c") == parents


def test_many_joint_states_are_ordered_alike(monkeypatch):
    for seed in repeats(4):
        problem, structure = problem_and_parents(seed)
        dense = orders(problem, structure)
        monkeypatch.setattr("anbexact.models.parameters.hierarchical.MOST_STATES", 0)
        assert orders(problem, structure) == dense
        fold = HeldOutHierarchy(*halves(problem), structure)
        strengths = of_levels(fold, different_strengths(problem.names))
        monkeypatch.setattr("anbexact.models.parameters.strengths.DENSE_STATES", 0)
        sparse = HeldOutHierarchy(*halves(problem), structure)
        assert sparse.log_likelihood(*strengths)[0] == fold.log_likelihood(*strengths)[0]
        monkeypatch.undo()


def test_selected_features_keep_their_bayes_factors():
    X, y = load_dataset("anes96")
    removed = [
        FSANBClassifier(ess=1.0, threshold=3.0, parameters=parameters).fit(X, y).removed_
        for parameters in ("eap", "hierarchical")
    ]
    assert removed[0] == removed[1]


def test_a_single_feature_of_three_states():
    X, y = load_dataset("iris")
    feature = pd.cut(X.iloc[:, 2], [0, 2, 5, 9]).astype(str).to_frame()
    model = KDBClassifier(k=5, parameters="hierarchical").fit(feature, y)
    tables = hierarchical_tables(model.counts_, y.name, model.model_.estimation.strengths)
    assert {len(of_name) for of_name in model.model_.estimation.strengths.of_variables.values()} == {1, 2}
    states = [tables[name].values for name in (y.name, feature.columns[0])]
    joint = states[0][:, None] * states[1].T
    codes = model.reader_.codes(feature)[0]
    np.testing.assert_allclose(model.predict_proba(feature), (joint / joint.sum(axis=0)).T[codes], atol=1e-12)


def test_rows_with_missing_cells():
    X, y = load_dataset("iris")
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    model = KDBClassifier(k=2, handle_missing="em", parameters="hierarchical").fit(holes, y)
    assert {len(of_name) for of_name in model.model_.estimation.strengths.of_variables.values()} == {1, 2, 3, 4}
    assert model.score(X, y) > 0.9


def test_a_file_must_have_the_strengths_of_its_tables():
    document = describe(model := monks()[2])
    assert restore(document).model_.estimation.strengths == model.model_.estimation.strengths
    assert model.model_.estimation.strengths.exponent > 0
    del document["exponent"]  # of earlier versions, where strengths did not depend on the states that occur
    assert restore(document).model_.estimation.strengths.exponent == 0
    for change, message in [
        ({"strengths": document["strengths"][1:]}, "a list of length"),
        ({"strengths": [strengths[1:] for strengths in document["strengths"]]}, "a list of length"),
        ({"exponent": -1.0}, "a finite number of 0 or more"),
        ({"tables_by": "eap"}, "tables by 'eap' do not have strengths"),
    ]:
        with pytest.raises(ValueError, match=message):
            restore({**document, **change})


@pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier, ANBClassifier, GBNClassifier])
def test_of_every_network(model, tmp_path):
    X, y = load_dataset("iris")
    network = model(ess=1.0, parameters="hierarchical").fit(X, y)
    expected = hierarchical_tables(network.counts_, y.name, network.model_.estimation.strengths)
    for name, table in expected.items():
        np.testing.assert_array_equal(network.conditional_tables_[name].values, table.values)
    assert network.score(X, y) > 0.9
    network.save(tmp_path / "model.json")
    read = anbexact.load(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(X), network.predict_proba(X))
    more = read.partial_fit(X, y)
    assert more.model_.estimation.strengths == network.model_.estimation.strengths
    assert np.isfinite(more.predict_log_proba(X)).all()


def test_dense_tables_predict_better():
    X, y = load_dataset("tic_tac_toe")
    train = np.random.default_rng(0).random(len(y)) < 0.7
    losses = []
    for parameters in ("eap", "hierarchical"):
        model = KDBClassifier(k=5, parameters=parameters).fit(X[train], y[train])
        logs = model.predict_log_proba(X[~train])
        codes = np.searchsorted(model.classes_, y[~train])
        losses.append(-logs[np.arange(len(codes)), codes].mean())
    assert losses[1] < losses[0] - 0.05


def test_strengths_for_other_parents_are_completed_by_means_of_the_same_depth():
    strengths = Strengths({"a": (1.0, 2.0), "b": (4.0, 8.0, 3.0), "c": (2.0,)}, 0.5)
    other = strengths.of_parents({"a": ("b", "c", "k"), "b": ("k",), "c": ("k",), "d": ()})
    assert other.exponent == 0.5
    expected = {"a": (1.0, 2.0, 3.0, 3.0), "b": (4.0, 8.0), "c": (2.0, 4.0), "d": (2.0,)}  # 4 = sqrt(2 * 8)
    assert other.of_variables.keys() == expected.keys()
    for name, own in expected.items():
        assert other.of_variables[name] == pytest.approx(own)
    assert Strengths().of_parents({"a": ("b",)}) == Strengths()
