"""Trees of tables: against all splits, their tables against the recursion, their settings against held-out rows."""

import pickle
from copy import copy, deepcopy
from dataclasses import replace
from math import log

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, random_problem
from tiers import examples, repeats

import anbexact
from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, TANClassifier
from anbexact._kernels.table_trees import ALL, ONE, UP_TO
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import FixedStructureClassifier, KDBClassifier
from anbexact.classifiers.choosing.table_strengths import chosen_strengths
from anbexact.datasets import load_dataset, load_monks
from anbexact.files.describe import describe
from anbexact.files.restore import restore
from anbexact.models.network import tree_posterior
from anbexact.models.network.posterior import Posterior
from anbexact.models.network.tree_posterior import TreePosterior
from anbexact.models.parameters import trees as of_trees
from anbexact.models.parameters.counts import FamilyCounts, count_families
from anbexact.models.parameters.tree_settings import GRID, HeldOutTrees, best_settings
from anbexact.models.parameters.trees import GrowingTrees, TreeSettings, tree_tables
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.search import learn_kdb, learn_naive_bayes
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

SETTINGS = TreeSettings(class_first=False, prior=0.5, strength=3.0, class_strength=0.7, exponent=1.3)
EVERY = [replace(SETTINGS, class_first=first, prior=prior) for first in (True, False) for prior in (0.0, 0.5, 1.0)]


def problem_and_structure(seed, n_rows=14, **kwargs):
    """A random table, and a graph in which the class may have parents, or not be a parent of all."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, 3, n_rows=n_rows, max_arity=3, weights="real" if seed % 2 else "ones", **kwargs)
    order = rng.permutation(problem.n + 1).tolist()
    parents = {v: tuple(sorted(u for u in order[:k] if rng.random() < 0.7)) for k, v in enumerate(order)}
    return problem, structure_of(problem, parents)


def structure_of(problem, parents):
    """The graph with these parents, by positions."""
    names = problem.names
    return Structure.given("c", {names[v]: tuple(names[u] for u in of) for v, of in parents.items()})


def full_family(problem):
    """The counts of the first feature with all other variables as its parents, and the positions of these."""
    place = {name: v for v, name in enumerate(problem.names)}
    parents = {v: tuple(range(v)) for v in range(1, problem.n + 1)} | {0: tuple(range(1, problem.n + 1))}
    table = problem.table
    names = [problem.names[v] for v in (0, *parents[0])]
    family = FamilyCounts(names[0], tuple(names[1:]), table.shape(names), *table.observed_cells(names))
    return family, tuple(place[name] for name in family.parents)


def as_oracle(tree, problem, parents):
    """The tree in the oracles' form."""

    def below(v, box):
        parent, state, kind, child, _ = tree.nodes[v].tolist()
        if child < 0:
            return box, None
        states = box[parent - 1]
        if kind == ALL:
            parts = [frozenset([one]) for one in sorted(states)]
        else:
            first = frozenset(s for s in states if s == state or (kind == UP_TO and s < state))
            parts = [first, states - first]
            assert all(parts)
            assert kind == UP_TO or (kind == ONE and len(states) > 2)
        return box, [below(child + k, (*box[: parent - 1], part, *box[parent:])) for k, part in enumerate(parts)]

    return below(0, oracles.full_box(problem.arities, parents))


def score_of(problem, parents, tree, prior, skipped=()):
    """The score of a tree in the oracles' form; the prior of the boxes ``skipped`` does not count."""
    box, children = tree
    n_splits = len(oracles.split_boxes(box))
    if children is None:
        counts = oracles.box_counts(problem.rows, problem.weights, problem.arities, 0, parents, box)
        return oracles.marginal_likelihood(counts) - (prior * log(2) if n_splits else 0)
    own = 0 if box in skipped else prior * log(2 * n_splits)
    return sum(score_of(problem, parents, child, prior, skipped) for child in children) - own


def check_optimal(problem, settings):
    """The tree of the first feature has the highest score of all trees."""
    family, parents = full_family(problem)
    assert sum(family.shape[1:]) <= of_trees.MOST_STATES_SEARCHED
    tree = GrowingTrees(family, "c", (settings.prior,)).tree(settings.class_first, settings.prior)
    box = oracles.full_box(problem.arities, parents)
    boxes = oracles.class_boxes(problem.arities, parents, problem.n) if settings.class_first else [box]
    data = problem.rows, problem.weights, problem.arities
    expected = oracles.best_tree_score(*data, 0, parents, settings.prior, boxes)
    skipped = [box] if len(boxes) > 1 else []
    found = score_of(problem, parents, as_oracle(tree, problem, parents), settings.prior, skipped)
    assert found == pytest.approx(expected, abs=1e-7)


@examples(60, quick=20)
@given(problems(3, 3, max_rows=8), st.sampled_from(EVERY))
def test_small_trees_are_optimal(problem, settings):
    check_optimal(problem, settings)


def test_trees_of_light_and_heavy_rows_are_optimal():
    for seed in repeats(30):
        problem = random_problem(seed, 3, n_rows=8, max_arity=3, weights=("ones", "mixed", "whole")[seed % 3])
        for settings in EVERY:
            check_optimal(problem, settings)


@pytest.mark.parametrize("settings", EVERY)
@pytest.mark.parametrize("seed", range(6))
def test_other_trees_are_grown_greedily_and_pruned(seed, settings, monkeypatch):
    monkeypatch.setattr(of_trees, "MOST_STATES_SEARCHED", 0)
    problem = random_problem(seed, 3, n_rows=25, max_arity=4, weights="real")
    family, parents = full_family(problem)
    data = problem.rows, problem.weights, problem.arities, 0, parents
    box = oracles.full_box(problem.arities, parents)
    if settings.class_first:
        boxes = oracles.class_boxes(problem.arities, parents, problem.n)
        expected = box, [oracles.greedy_tree(*data, settings.prior, one)[1] for one in boxes]
    else:
        expected = oracles.greedy_tree(*data, settings.prior, box)[1]
    tree = GrowingTrees(family, "c", (settings.prior,)).tree(settings.class_first, settings.prior)
    assert as_oracle(tree, problem, parents) == expected


@pytest.mark.parametrize("most", [0, of_trees.MOST_STATES_SEARCHED])
def test_tables_are_the_recursion(most, monkeypatch):
    monkeypatch.setattr(of_trees, "MOST_STATES_SEARCHED", most)
    for seed in repeats(6):
        problem = random_problem(seed, 3, n_rows=14, max_arity=3, weights="real" if seed % 4 < 2 else "ones")
        structure = structure_of(problem, {3: (), 0: (3,), 1: (0, 3), 2: (0, 1, 3)})
        counts = count_families(problem.table, structure)
        place = {name: v for v, name in enumerate(problem.names)}
        settings = replace(SETTINGS, class_first=seed % 2 == 0, prior=0.0)
        tables = tree_tables(counts, "c", settings)
        assert list(tables) == list(counts)
        for name, family in counts.items():
            parents = tuple(place[parent] for parent in family.parents)
            tree = GrowingTrees(family, "c", (settings.prior,)).tree(settings.class_first, settings.prior)
            expected = oracles.tree_table(
                problem.rows, problem.weights, problem.arities, place[name], parents,
                as_oracle(tree, problem, parents), problem.n, (0.7, 3.0), 1.3,
            )  # fmt: skip
            assert tables[name].parents == family.parents
            for cell, value in expected.items():
                assert tables[name].values[cell] == pytest.approx(value, rel=1e-9)


@given(problems(1, 4, max_rows=14), st.sampled_from(EVERY))
def test_tables_are_positive_distributions_whatever_the_rows(problem, settings):
    every = tuple(range(problem.n + 1))
    structure = structure_of(problem, {v: every[v + 1 :] for v in every})
    counts = count_families(problem.table, structure)
    for table in tree_tables(counts, "c", settings).values():
        assert (table.values > 0).all()
        np.testing.assert_allclose(table.values.sum(axis=0), 1, rtol=1e-9)


def test_probabilities_do_not_underflow_below_heavy_rows():
    """The last state occurs only at the root; every split leaves nearly all of its probability to the others."""
    arity = 60
    codes = np.array([[min(a, 58) % 2, a] for a in range(arity)] + [[2, 0]])
    cells = np.ravel_multi_index(codes.T, (3, arity))
    order = np.argsort(cells)
    weights = np.where(codes[:, 0] == 2, 1e-3, 1e9)[order]
    family = FamilyCounts("x", ("a",), (3, arity), cells[order], weights)
    tree = GrowingTrees(family, "c", (0.0,)).tree(False, 0.0)
    assert (tree.nodes[:, 3] < 0).sum() > 40
    values = tree_tables({"x": family}, "c", replace(SETTINGS, prior=0.0, strength=1e-6))["x"].values
    assert (values > 0).all()
    assert values[2].min() < 1e-100


@pytest.mark.parametrize("most", [0, of_trees.MOST_STATES_SEARCHED])
def test_a_weight_of_two_is_the_row_twice(most, monkeypatch):
    monkeypatch.setattr(of_trees, "MOST_STATES_SEARCHED", most)
    for seed in repeats(4):
        problem, structure = problem_and_structure(2 * seed, n_rows=30)
        once, table = problem.table, problem.table
        doubled = replace(table, weights=table.weights + (np.arange(len(table.weights)) % 3 == 0))
        rows = np.concatenate([np.arange(len(table.codes)), np.flatnonzero(np.arange(len(table.codes)) % 3 == 0)])
        weights = np.concatenate([once.weights, np.ones(len(rows) - len(once.codes))])
        codes = np.asfortranarray(table.codes[rows])
        repeated = DiscreteTable(table.vocabulary, codes, weights, len(rows))
        ones, others = (tree_tables(count_families(of, structure), "c", SETTINGS) for of in (doubled, repeated))
        for name, one in ones.items():
            np.testing.assert_allclose(one.values, others[name].values, rtol=1e-9)


def narrow_region(arity, n_rows=4000):
    """Counts of x, which is rare unless a = b = 3."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, arity, (n_rows, 2))
    inside = (codes == 3).all(axis=1)
    x = rng.random(n_rows) < np.where(inside, 0.9, 0.1)
    shape = 2, arity, arity
    weights = np.bincount(np.ravel_multi_index((x, *codes.T), shape), minlength=2 * arity**2)
    cells = np.flatnonzero(weights)
    return FamilyCounts("x", ("a", "b"), shape, cells, weights[cells].astype(float))


@pytest.mark.parametrize("arity", [6, 12])
def test_a_narrow_region_has_a_leaf_of_its_own(arity):
    family = narrow_region(arity)
    assert (sum(family.shape[1:]) <= of_trees.MOST_STATES_SEARCHED) == (arity == 6)
    tree = GrowingTrees(family, "c", (0.5,)).tree(False, 0.5)
    assert (tree.nodes[:, 3] < 0).sum() == 3  # the region, and what is left of the two splits that single it out
    values = tree_tables({"x": family}, "c", replace(SETTINGS, strength=1.0))["x"].values
    assert values[1, 3, 3] > 0.6
    others = np.delete(values[1].ravel(), 3 * arity + 3)
    assert others.max() < 0.2
    assert len(np.unique(others)) == 2


def halves(problem):
    """The rows of the table, by turns to learn from and held out."""
    table = problem.table
    return [
        DiscreteTable(table.vocabulary, table.codes[part], table.weights[part], len(table.codes[part]))
        for part in (slice(0, None, 2), slice(1, None, 2))
    ]


def predicted(tables, names, row):
    """P(class | features of a row), by the product of all tables."""
    joint = []
    for label in range(tables["c"].values.shape[0]):
        states = dict(zip(names, [*row[:-1], label], strict=True))
        joint.append(np.prod([of.values[tuple(states[name] for name in of.variables)] for of in tables.values()]))
    return np.array(joint) / sum(joint)


def test_few_rows_are_predicted_without_the_values_of_tables(monkeypatch):
    for seed in repeats(6):
        problem, structure = problem_and_structure(seed, n_rows=24)
        learned, held_out = halves(problem)
        tables = tree_tables(count_families(learned, structure), "c", EVERY[seed % len(EVERY)])
        features = problem.names[:-1]
        trees = TreePosterior([*tables.values()], "c", features)
        codes = np.ascontiguousarray(held_out.codes[:, :-1].T)
        monkeypatch.setattr(tree_posterior, "AT_ONCE", [10**6, 7][seed % 2])
        found = trees.log_joint(codes), trees.log_posterior(codes), trees.posterior(codes)
        assert not any("values" in vars(table) for table in tables.values())
        usual = Posterior(tables, "c", features)
        expected = usual.log_joint(codes), usual.log_posterior(codes), usual.posterior(codes)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        for t, row in enumerate(held_out.codes.tolist()):
            np.testing.assert_allclose(found[2][t], predicted(tables, problem.names, row), rtol=1e-9)
        assert trees.log_joint(codes[:, :0]).shape == (0, found[0].shape[1])


def test_many_or_incomplete_rows_are_predicted_by_the_values_of_tables():
    X, y = load_dataset("iris")
    proba = KDBClassifier(k=3, ess=1.0, parameters="tree").fit(X, y).predict_proba(X)
    model = KDBClassifier(k=3, ess=1.0, parameters="tree").fit(X, y)
    network = model.model_
    assert "class_posterior" not in vars(network)
    cells = sum(np.prod(own.shape) for own in network.tables.values())
    most = int(cells // (3 * 5))
    codes = np.repeat(model.reader_.codes(X)[:, :1], most, axis=1)
    few = network.posterior(codes[:, : most - 3])
    assert isinstance(network.evaluator(codes[:, :3]), TreePosterior)
    assert "class_posterior" not in vars(network)
    assert not any("values" in vars(own) for own in network.tables.values())
    many = network.evaluator(codes[:, :4])  # together with the earlier rows, too many
    assert isinstance(many, Posterior)
    assert network.evaluator(codes[:, :1]) is many  # from now on
    np.testing.assert_allclose(few, np.tile(many.posterior(codes[:, :1]), (most - 3, 1)), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-9)
    other = KDBClassifier(k=3, ess=1.0, parameters="tree", handle_missing="marginalize").fit(X, y)
    holes = X.iloc[:2].mask(X.iloc[:2] < 2)
    assert isinstance(other.model_.evaluator(other.reader_.codes(X.iloc[:2])), TreePosterior)
    assert isinstance(other.model_.evaluator(other.reader_.codes(holes)), Posterior)


def test_tables_are_kept_without_their_values():
    X, y = load_dataset("iris")
    model = KDBClassifier(k=2, ess=1.0, parameters="tree").fit(X, y)
    table = model.conditional_tables_[X.columns[0]]
    before = pickle.dumps(model)
    of_network = model.model_.n_parameters, model.model_.rows_to_read
    table.check()
    assert str(table.shape) in repr(table)
    restored = restore(describe(model))
    assert not any("values" in vars(own) for own in restored.conditional_tables_.values())
    assert "values" not in vars(table)
    assert of_network[0] == sum(own.values.size - own.values[0].size for own in model.conditional_tables_.values())
    assert of_network[1] == sum(own.values[0].size for own in model.conditional_tables_.values())
    assert pickle.dumps(model) == before
    for same in (copy(table), deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert "values" not in vars(same)
        assert (same.name, same.parents, same.shape) == (table.name, table.parents, table.values.shape)
        np.testing.assert_array_equal(same.values, table.values)
    same.distributions[0, 0] += 0.1
    with pytest.raises(ValueError, match="does not contain probabilities"):
        same.check()


def test_a_network_of_the_class_alone_and_a_class_without_rows():
    X, y = load_dataset("iris")
    model = NaiveBayesClassifier(ess=1.0, parameters="tree", categories={y.name: [*y.unique(), "other"]}).fit(X, y)
    few, many = model.predict_proba(X.iloc[:1]), model.model_.class_posterior.posterior(model.reader_.codes(X))
    np.testing.assert_allclose(few[0], many[0], rtol=1e-12)
    assert few[0].min() > 0
    class_alone = TreePosterior([model.conditional_tables_[y.name]], y.name, [])
    prior = model.conditional_tables_[y.name].values
    np.testing.assert_allclose(class_alone.posterior(np.zeros((0, 2), dtype=np.int16)), [prior] * 2, rtol=1e-12)


@pytest.mark.parametrize("most", [0, of_trees.MOST_STATES_SEARCHED])
def test_held_out_rows_are_predicted_from_the_others(most, monkeypatch):
    monkeypatch.setattr(of_trees, "MOST_STATES_SEARCHED", most)
    for seed in repeats(6):
        problem, structure = problem_and_structure(seed, n_rows=24)
        learned, held_out = halves(problem)
        learned.weights[:2] = 0.0  # states of these rows need not occur
        fold = HeldOutTrees(learned, held_out, structure)
        for settings in (replace(one, prior=prior) for one in EVERY[::3] for prior in GRID["prior"]):
            tables = tree_tables(count_families(learned, structure), "c", settings)
            expected = 0.0
            for t, weight in enumerate(held_out.weights):
                row = [int(held_out.column(name)[t]) for name in problem.names]
                expected += weight * log(predicted(tables, problem.names, row)[row[-1]])
            assert fold.log_likelihood(settings) == pytest.approx(expected, rel=1e-9)


def test_many_held_out_rows_are_represented_by_some():
    X, y = load_dataset("tic_tac_toe")
    table = NaiveBayesClassifier().fit(X, y).reader_.table(X, y, None)
    structure = learn_naive_bayes(table)
    learned, held_out = split_table(table, 5)[0]
    some = HeldOutTrees(learned, held_out, structure, most_cells=2 * 10 * 12)
    places = np.linspace(0, len(held_out.codes) - 1, 12).astype(int)
    chosen = DiscreteTable(table.vocabulary, held_out.codes[places], held_out.weights[places], 12)
    expected = HeldOutTrees(learned, chosen, structure).log_likelihood(SETTINGS)
    assert some.log_likelihood(SETTINGS) == pytest.approx(expected, rel=1e-12)


def monks():
    X, y = load_monks(2)
    return X, y, KDBClassifier(k=2, parameters="tree").fit(X, y)


def test_settings_predict_the_rows_of_folds():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    score = model.score_of(model.ess_)
    folds = [
        HeldOutTrees(rows, others, learn_kdb(rows, score, k=2))
        for seed in range(4)
        for rows, others in split_table(table, 5, seed)
    ]
    chosen = model.model_.estimation.strengths
    assert best_settings(folds) == chosen

    def value(settings):
        return sum(fold.log_likelihood(settings) for fold in folds)

    best = value(chosen)
    assert best > value(TreeSettings()) + 1
    for name, values in GRID.items():
        assert getattr(chosen, name) in values
        for one in values:
            assert value(replace(chosen, **{name: one})) <= best
    assert value(replace(chosen, class_first=not chosen.class_first)) <= best


def test_the_class_has_its_own_trees_only_where_this_predicts_better():
    """In tic-tac-toe it does; in the survey, classes share most of what there is to say."""
    found = []
    for name in ("tic_tac_toe", "anes96"):
        X, y = load_dataset(name)
        found.append(KDBClassifier(k=3, parameters="tree").fit(X, y).model_.estimation.strengths.class_first)
    assert found == [True, False]


def test_the_structure_of_all_rows_is_kept_when_the_time_has_run_out():
    X, y = load_monks(2)
    table = DiscreteTable.from_frame(X, y)
    score = BDeu(1.0)
    structure = learn_kdb(table, score, k=2)

    def learn(rows, score, _):
        return learn_naive_bayes(rows, score)

    kept = chosen_strengths(table, structure, None, score, Deadline(), split_table, "tree")
    with pytest.warns(UserWarning, match="in 0 of 20 folds only: the tables may be smoothed too little"):
        assert chosen_strengths(table, structure, learn, score, Deadline(0.0), split_table, "tree") == kept
    assert chosen_strengths(table, structure, learn, score, Deadline(), split_table, "tree") != kept


def test_rows_with_missing_cells():
    X, y = load_dataset("iris")
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    model = KDBClassifier(k=2, handle_missing="em", parameters="tree").fit(holes, y)
    assert model.em_ is not None
    expected = tree_tables(model.counts_, y.name, model.model_.estimation.strengths)
    for name, table in expected.items():
        np.testing.assert_array_equal(model.conditional_tables_[name].values, table.values)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("handle_missing", ["own_state", "marginalize"])
def test_missing_cells_at_prediction(handle_missing):
    X, y = load_dataset("iris")
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    training = holes if handle_missing == "own_state" else X
    model = TANClassifier(ess=1.0, handle_missing=handle_missing, parameters="tree").fit(training, y)
    proba = model.predict_proba(holes)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == np.searchsorted(model.classes_, y)).mean() > 0.85


def test_a_file_must_have_the_settings_of_its_trees():
    document = describe(model := monks()[2])
    assert restore(document).model_.estimation.strengths == model.model_.estimation.strengths
    without = {key: value for key, value in document.items() if key != "tree"}
    with pytest.raises(ValueError, match="tables by 'tree' have settings of trees"):
        restore(without)
    with pytest.raises(ValueError, match="tables by 'eap' do not have settings of trees"):
        restore({**document, "tables_by": "eap"})
    for change, message in [
        ({"prior": -0.1}, "a finite number of 0 or more"),
        ({"exponent": -1.0}, "a finite number of 0 or more"),
        ({"strength": 0.0}, "a finite number above 0"),
        ({"class_strength": "1"}, "a number was expected"),
        ({"class_first": 1}, "true or false"),
    ]:
        with pytest.raises(ValueError, match=message):
            restore({**document, "tree": {**document["tree"], **change}})


@pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier, ANBClassifier, GBNClassifier])
def test_of_every_network(model, tmp_path):
    X, y = load_dataset("iris")
    network = model(ess=1.0, parameters="tree").fit(X, y)
    settings = network.model_.estimation.strengths
    for name, table in tree_tables(network.counts_, y.name, settings).items():
        np.testing.assert_array_equal(network.conditional_tables_[name].values, table.values)
    assert network.score(X, y) > 0.9
    network.save(tmp_path / "model.json")
    read = anbexact.load(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(X), network.predict_proba(X))
    more = read.partial_fit(X[:50], y[:50])
    assert more.model_.estimation.strengths == settings
    for name, table in tree_tables(more.counts_, y.name, settings).items():
        np.testing.assert_array_equal(more.conditional_tables_[name].values, table.values)
    assert any((more.conditional_tables_[n].values != t.values).any() for n, t in network.conditional_tables_.items())


def test_other_forms_of_the_network():
    """The network of pgmpy has its tables, explanations add up to log odds, logistic regression predicts alike."""
    X, y = load_dataset("iris")
    model = TANClassifier(ess=1.0, parameters="tree").fit(X, y)
    for name, table in model.conditional_tables_.items():
        values = model.network_.get_cpds(name).values
        assert values.size == table.values.size
        np.testing.assert_allclose(np.sort(values.ravel()), np.sort(table.values.ravel()), rtol=1e-12)
    explanation = model.explain(X[:1], label=model.classes_[0], against=model.classes_[1])[0]
    proba = model.predict_proba(X[:1])[0]
    assert explanation.terms["nats"].sum() == pytest.approx(log(proba[0] / proba[1]), rel=1e-9)
    np.testing.assert_allclose(model.to_logit().predict_proba(X), model.predict_proba(X), rtol=1e-6)
    with pytest.raises(ValueError, match="tables by parameters='tree' have no Dirichlet posterior"):
        model.predict_proba_interval(X)


def test_given_weights_and_choices_are_used_in_folds_of_a_pool():
    X, y = load_monks(1)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = FixedStructureClassifier({y.name: [], **{name: [y.name] for name in X}}, parameters="tree").fit(
        X, y, weights
    )
    again = model._with_choices(model._choices, X).fit(X, y, weights)
    assert again.model_.estimation == model.model_.estimation
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_local_structure_predicts_better():
    """The class depends on three narrow intervals; kDB with full tables has too few rows for each joint state."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((1200, 4)), columns=["u", "v", "w", "x"])
    inside = ((X - 0.5).abs() < 0.25).iloc[:, :3].all(axis=1)
    y = pd.Series(np.where(inside ^ (rng.random(1200) < 0.05), "in", "out"), name="c")
    losses = []
    for parameters in ("eap", "tree"):
        model = KDBClassifier(k=3, parameters=parameters).fit(X[:800], y[:800])
        logs = model.predict_log_proba(X[800:])
        losses.append(-logs[np.arange(400), np.searchsorted(model.classes_, y[800:])].mean())
    assert losses[1] < losses[0] - 0.02
