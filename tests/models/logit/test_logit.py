"""Networks as logistic regressions and back: coefficients, equivalence, closure, tables."""

from dataclasses import replace
from itertools import product

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.inference import VariableElimination
from strategies import Problem, problems, random_problem
from tiers import examples

from anbexact import (
    ANBClassifier,
    CkGClassifier,
    FANClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    Structure,
    TANClassifier,
)
from anbexact.adapters import LogitModel, from_pgmpy, to_logit
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_balance_scale, load_iris, load_monks
from anbexact.models.logit import closure, predictions, term_list
from anbexact.models.logit.closure import Closure, closing_arcs, obstacles, with_arcs
from anbexact.models.structure import Certificate

MODELS = [NaiveBayesClassifier, TANClassifier, FANClassifier, CkGClassifier, ANBClassifier]


def fit(problem, estimator):
    X, y = problem.frame()
    return estimator.set_params(categories=problem.categories, discretizer=None).fit(X, y, problem.weights)


def random_parents(seed, n, p=0.5, most=3):
    """Return the parents of n features and the class c, which is anywhere in the order."""
    rng = np.random.default_rng(seed)
    names = [*(f"f{v}" for v in range(n)), "c"]
    order = rng.permutation(names).tolist()
    parents = {}
    for place, name in enumerate(order):
        chosen = [earlier for earlier in order[:place] if rng.random() < p]
        parents[name] = tuple(sorted(rng.permutation(chosen).tolist()[:most]))
    return {name: parents[name] for name in names}


def general(seed, n=4, **arguments):
    """Return a random problem, fitted to a random network in which the class may have parents."""
    problem = random_problem(seed, n, max_arity=3, weights="real", **arguments)
    return problem, fit(problem, FixedStructureClassifier(random_parents(seed, n)))


def moved(model, seed, size=1.0):
    """Return a model with random potentials: what a refit could end at."""
    rng = np.random.default_rng(seed)
    potentials = tuple(replace(p, logs=p.logs + rng.normal(0, size, p.logs.shape)) for p in model.potentials)
    return LogitModel(model.network, model.origin, potentials, model.structure, closure=model.closure)


def tables_of(classifier):
    """The conditional tables as the oracles want them: variables by number, the class last."""
    number = {name: v for v, name in enumerate(classifier.vocabulary_.names)}
    tables = {}
    for name, table in classifier.conditional_tables_.items():
        parents = [number[parent] for parent in table.parents]
        assert table.variables == (name, *table.parents)
        tables[number[name]] = parents, dict(np.ndenumerate(table.values))
    return tables


def arities_of(model):
    return [model.vocabulary.arity(name) for name in model.vocabulary.names]


def joint_states(model):
    """All joint states of the features, as state numbers and as a frame."""
    vocabulary = model.vocabulary
    codes = list(product(*(range(vocabulary.arity(name)) for name in vocabulary.features)))
    states = [[vocabulary.states[name][k] for name, k in zip(vocabulary.features, row, strict=True)] for row in codes]
    return codes, pd.DataFrame(states, columns=list(vocabulary.features))


def graph_of(structure):
    """Parents by number, and the number of the class."""
    number = {name: v for v, name in enumerate((*structure.features, structure.class_name))}
    graph = {number[name]: tuple(number[parent] for parent in of_name) for name, of_name in structure.parents.items()}
    return graph, number[structure.class_name]


def terms_of(model):
    """The terms as frames show them, in the form of the oracle's."""
    number = {name: v for v, name in enumerate(model.vocabulary.names)}
    terms = []
    for variables, states in zip(model.terms["variables"], model.terms["states"], strict=True):
        codes = [model.vocabulary.states[name].index(state) for name, state in zip(variables, states, strict=True)]
        S = tuple(number[name] for name in variables)
        terms.append((S, dict(zip(S, codes, strict=True))))
    return terms


def check_coefficients(classifier):
    """Compare terms, coefficients and log odds with the oracles."""
    model = to_logit(classifier)
    tables, arities = tables_of(classifier), arities_of(model)
    class_ = len(arities) - 1
    graph = {v: parents for v, (parents, _) in tables.items()}
    terms = terms_of(model)
    assert terms == list(oracles.logit_terms(graph, arities, class_))
    assert model.coefficients.shape == (len(terms), arities[-1] - 1)
    assert model.n_parameters == model.coefficients.size
    for (S, f), betas in zip(terms, model.coefficients, strict=True):
        expected = [oracles.logit_coefficient(tables, class_, S, f, a) for a in range(1, arities[-1])]
        np.testing.assert_allclose(betas, expected, rtol=0, atol=1e-10)
    codes, X = joint_states(model)
    log_proba = model.predict_log_proba(X)
    for row, logs in zip(codes, log_proba, strict=True):
        expected = oracles.log_posterior(tables, arities, class_, dict(enumerate(row)))
        np.testing.assert_allclose(logs, expected, rtol=0, atol=1e-10)
        odds = oracles.log_odds(terms, model.coefficients, row)
        np.testing.assert_allclose(odds, np.subtract(expected[1:], expected[0]), rtol=0, atol=1e-10)
    return model


class TestCoefficients:
    @examples(15)
    @given(problem=problems(max_features=3))
    @pytest.mark.parametrize("model", MODELS)
    def test_are_sums_over_the_tables(self, model, problem):
        check_coefficients(fit(problem, model()))

    @pytest.mark.parametrize("seed", range(12))
    def test_of_networks_in_which_the_class_is_anywhere(self, seed):
        _, classifier = general(seed)
        check_coefficients(classifier)

    @pytest.mark.parametrize("seed", range(3))
    def test_of_wide_families_and_many_classes(self, seed):
        problem = random_problem(seed, 3, n_classes=5, weights="real")
        check_coefficients(
            fit(problem, FixedStructureClassifier({"f0": ["c"], "f1": ["f0", "c"], "f2": ["f1", "c", "f0"], "c": []}))
        )

    @pytest.mark.parametrize("seed", range(3))
    def test_of_networks_of_pgmpy(self, seed):
        _, classifier = general(seed)
        network = from_pgmpy(classifier.to_pgmpy(), "c")
        model = check_coefficients(network)
        ours = classifier.to_logit().to_frame()
        ours.columns = model.to_frame().columns
        pd.testing.assert_frame_equal(model.to_frame(), ours, atol=1e-10)

    def test_is_the_log_odds_ratio_of_naive_bayes(self):
        X, y = load_monks(1)
        classifier = NaiveBayesClassifier().fit(X, y)
        model = classifier.to_logit()
        name = X.columns[0]
        table = classifier.conditional_tables_[name].values
        state = model.vocabulary.states[name][1]
        expected = np.log(table[1, 1] / table[1, 0]) - np.log(table[0, 1] / table[0, 0])
        assert model.to_frame().loc[f"{name}={state}"].item() == pytest.approx(expected, abs=1e-12)

    def test_of_discretised_columns_name_their_intervals(self):
        X, y = load_iris()
        classifier = TANClassifier().fit(X, y)
        model = classifier.to_logit()
        for variables, states in zip(model.terms["variables"], model.terms["states"], strict=True):
            assert all(s in model.vocabulary.states[v][1:] for v, s in zip(variables, states, strict=True))
        np.testing.assert_allclose(model.predict_proba(X), classifier.predict_proba(X), rtol=0, atol=1e-12)

    def test_with_a_zero_are_refused(self):
        X, y = load_monks(1)
        name = X.columns[0]
        classifier = NaiveBayesClassifier(parameters="ml", categories={name: [*X[name].unique(), "none"]}).fit(X, y)
        with pytest.raises(ValueError, match=rf"table of {name!r} holds 2 zeros out of 8"):
            classifier.to_logit()

    def test_of_nothing_else(self):
        with pytest.raises(TypeError, match="not 'network'"):
            to_logit("network")
        with pytest.raises(ValueError, match="not fitted"):
            to_logit(NaiveBayesClassifier())


class TestTerms:
    def test_names_states_and_order(self):
        X = pd.DataFrame({"size": list("SLMSLM"), 7: [0, 1, 0, 1, 1, 0]})
        y = pd.Series(["no", "yes", "no", "yes", "maybe", "no"], name="answer")
        categories = {"size": ["S", "M", "L"], "answer": ["no", "yes", "maybe"]}
        network = FixedStructureClassifier(
            {"size": ["answer", 7], 7: ["answer"], "answer": []}, categories=categories
        )
        model = network.fit(X, y).to_logit()
        assert model.terms.index.tolist() == [
            "(intercept)",
            "size=M",
            "size=L",
            "7=1",
            "size=M:7=1",
            "size=L:7=1",
        ]
        assert model.terms.index.name == "term"
        assert model.terms["variables"].tolist() == [(), ("size",), ("size",), (7,), ("size", 7), ("size", 7)]
        assert model.terms["states"].tolist() == [(), ("M",), ("L",), (1,), ("M", 1), ("L", 1)]
        frame = model.to_frame()
        assert (frame.columns.tolist(), frame.columns.name) == (["no", "yes"], "answer")
        assert frame.index.equals(model.terms.index)
        np.testing.assert_array_equal(frame, model.coefficients)
        assert model.classes_.tolist() == ["maybe", "no", "yes"]

    @given(problem=problems(max_features=4, max_arity=4))
    @examples(20)
    def test_number_is_one_less_than_states_of_each_feature(self, problem):
        model = fit(problem, TANClassifier()).to_logit()
        r = dict(zip(problem.names, problem.arities, strict=True))
        edges = model.structure.feature_edges
        terms = 1 + sum(r[f] - 1 for f in problem.names[:-1]) + sum((r[a] - 1) * (r[b] - 1) for a, b in edges)
        assert len(model.terms) == terms
        assert model.n_parameters == terms * (r["c"] - 1)

    @pytest.mark.parametrize("n_classes", [1, 2])
    @pytest.mark.parametrize("arity", [1, 3])
    def test_one_feature(self, n_classes, arity):
        rows = [(t % arity, t % n_classes) for t in range(7)]
        model = check_coefficients(fit(Problem(rows, [1.0] * 7, [arity, n_classes]), NaiveBayesClassifier()))
        assert model.coefficients.shape == (arity, n_classes - 1)
        assert model.n_parameters == arity * (n_classes - 1)

    def test_class_without_neighbours_has_an_intercept_only(self):
        problem = random_problem(3, 2, unseen=False)
        X, y = problem.frame()
        model = check_coefficients(fit(problem, FixedStructureClassifier({"f0": ["f1"], "f1": [], "c": []})))
        assert model.terms.index.tolist() == ["(intercept)"]
        proba = model.refit(X, y, l2=0).to_classifier().predict_proba(X)
        np.testing.assert_allclose(proba, [np.bincount(y) / len(y)] * len(y), atol=1e-6)


class TestManyCoefficients:
    @pytest.fixture(autouse=True)
    def few_allowed(self, monkeypatch):
        monkeypatch.setattr(term_list, "MANY_COEFFICIENTS", 5)

    def check_listed(self, model, rows):
        """The terms are those that a row shows, and give every row its log odds."""
        terms = terms_of(model)
        graph, class_ = graph_of(model.structure)
        everything = oracles.logit_terms(graph, arities_of(model), class_)
        assert terms == [(S, f) for S, f in everything if any(all(row[v] == f[v] for v in S) for row in rows)]
        X = pd.DataFrame([row[:-1] for row in rows], columns=list(model.vocabulary.features))
        logs = model.predict_log_proba(X)
        for row, of_row in zip(rows, logs, strict=True):
            odds = oracles.log_odds(terms, model.coefficients, row)
            np.testing.assert_allclose(odds, of_row[1:] - of_row[0], rtol=0, atol=1e-10)

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("seed", range(2))
    def test_only_seen_terms_are_listed(self, model, seed):
        problem = random_problem(seed, 4, n_rows=12, weights="real")
        found = fit(problem, model()).to_logit()
        self.check_listed(found, problem.rows)
        assert len(found.terms) * 2 < found.n_parameters

    @pytest.mark.parametrize("seed", range(4))
    def test_where_the_class_has_parents(self, seed):
        problem, classifier = general(seed, n_rows=12)
        self.check_listed(classifier.to_logit(), problem.rows)

    def test_of_the_rows_of_a_refit_too(self):
        problem, other = (random_problem(0, 4, n_rows=12, unseen=False), random_problem(5, 4, n_rows=12))
        rows = [tuple(min(k, r - 1) for k, r in zip(row, problem.arities, strict=True)) for row in other.rows]
        X, y = Problem(rows, [1.0] * 12, problem.arities).frame()
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "f3": ["c"], "c": []})
        closed = fit(problem, network).to_logit().close()
        assert closed.closure.arcs
        self.check_listed(closed.refit(X, y, l2=1), problem.rows + rows)

    def test_without_rows_there_is_no_saying(self):
        _, classifier = general(0)
        model = from_pgmpy(classifier.to_pgmpy(), "c").to_logit()
        with pytest.raises(ValueError, match=rf"has {model.n_parameters:,} coefficients, too many to list"):
            _ = model.terms


@st.composite
def graphs(draw):
    """Parents of c and up to five features: any orientation along a random order."""
    names = [*"abdef"[: draw(st.integers(1, 5))], "c"]
    order = draw(st.permutations(names))
    parents = {child: tuple(p for p in order[:k] if draw(st.booleans())) for k, child in enumerate(order)}
    return Structure("c", {name: parents[name] for name in names}, 0.0, Certificate.unknown("by hand"))


class TestEquivalence:
    @examples(300)
    @given(structure=graphs())
    def test_is_definition_and_set_criterion(self, structure):
        graph, class_ = graph_of(structure)
        found = not obstacles(structure)
        assert found == oracles.is_subperfect(graph, class_)
        assert found == (oracles.logit_sets(graph, class_) == oracles.logit_sets_of_algorithm(graph, class_))

    @examples(100)
    @given(structure=graphs())
    def test_obstacles_are_the_pairs_that_are_not_adjacent(self, structure):
        parents = structure.parents
        for child, a, b in obstacles(structure):
            assert {"c", a, b} <= {"c", *parents[child]}
            assert "c" in parents[child]
            assert a not in parents[b]
            assert b not in parents[a]
            assert not {a, b} <= set(parents["c"])

    @pytest.mark.parametrize("model", MODELS[:3])
    @pytest.mark.parametrize("seed", range(3))
    def test_of_naive_bayes_and_forests(self, model, seed):
        found = fit(random_problem(seed, 5, weights="real"), model()).to_logit()
        assert found.equivalent
        assert found.equivalence_report == "variables with a common child are adjacent, or both parents of the class"
        assert "equivalent to its network" in repr(found)

    def test_fails_for_an_exact_network_with_a_common_child(self):
        rng = np.random.default_rng(0)
        a, b, c = rng.integers(0, 2, (3, 400))
        X = pd.DataFrame({"a": a, "b": b, "either": a ^ b})
        classifier = ANBClassifier().fit(X, pd.Series(c, name="c"))
        # the best graphs are equivalent: any of the three may be the child of the other two
        (child,) = (name for name, of_name in classifier.structure_.parents.items() if len(of_name) == 3)
        first, second = (name for name in X.columns if name != child)
        model = classifier.to_logit()
        assert not model.equivalent
        assert model.equivalence_report == f"not adjacent: {first!r} and {second!r}, parents of {child!r}"
        assert f"richer than its network ({model.equivalence_report})" in repr(model)
        with pytest.raises(ValueError, match=f"{first!r} and {second!r}, parents of {child!r}"):
            model.to_classifier()

    def test_of_many_obstacles_names_some(self):
        parents = {f"f{v}": ["c"] for v in range(5)} | {"f5": ["c", *(f"f{v}" for v in range(5))], "c": []}
        model = fit(random_problem(0, 6, max_arity=2), FixedStructureClassifier(parents)).to_logit()
        assert model.equivalence_report.count("parents of") == 6
        assert model.equivalence_report.endswith("; and 4 more pairs")


def n_probabilities(structure, arity):
    """Free probabilities, counted one by one."""
    return sum(
        len(range(1, arity[name]))
        for name, parents in structure.parents.items()
        for _ in product(*(range(arity[v]) for v in parents))
    )


class TestClosure:
    @examples(300)
    @given(structure=graphs())
    def test_arcs_are_new_and_make_graphs_equivalent(self, structure):
        shape = {name: 2 + len(name) for name in structure.parents}
        arcs = closing_arcs(structure, shape)
        assert bool(arcs) == bool(obstacles(structure))
        assert len({frozenset(arc) for arc in arcs}) == len(arcs)
        assert not {frozenset(arc) for arc in arcs} & {frozenset(edge) for edge in structure.edges}
        closed = with_arcs(structure, arcs)
        assert set(closed.edges) == {*structure.edges, *arcs}
        assert oracles.is_subperfect(*graph_of(closed))

    def test_joins_no_parents_of_the_class(self):
        parents = {"a": (), "b": (), "d": ("b",), "e": ("a", "b", "c"), "c": ("a", "d")}
        structure = Structure("c", parents, 0.0, Certificate.unknown("by hand"))
        assert closing_arcs(structure, dict.fromkeys(parents, 2)) == (("b", "c"),)

    @pytest.mark.parametrize("seed", range(12))
    def test_keeps_the_posterior_and_counts_parameters(self, seed):
        _, classifier = general(seed, 5)
        model = moved(to_logit(classifier), seed)
        closed = model.close()
        assert closed.equivalent
        assert set(closed.structure.edges) == {*model.structure.edges, *closed.closure.arcs}
        arity = {name: model.vocabulary.arity(name) for name in model.vocabulary.names}
        assert closed.closure.network_parameters == n_probabilities(closed.structure, arity) - n_probabilities(
            model.structure, arity
        )
        graph, class_ = graph_of(closed.structure)
        n_terms = len(list(oracles.logit_terms(graph, arities_of(model), class_)))
        assert closed.closure.logit_parameters == n_terms * (arity["c"] - 1) - model.n_parameters
        assert closed.n_parameters == n_terms * (arity["c"] - 1)
        X = joint_states(model)[1]
        np.testing.assert_allclose(closed.predict_log_proba(X), model.predict_log_proba(X), rtol=0, atol=1e-12)
        old = dict(zip(model.terms.index, model.coefficients, strict=True))
        for name, betas in zip(closed.terms.index, closed.coefficients, strict=True):
            np.testing.assert_allclose(betas, old.get(name, 0.0), rtol=0, atol=1e-12)

    def test_says_what_it_added(self):
        problem = random_problem(2, 3, unseen=False, max_arity=2)
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "c": []})
        closed = fit(problem, network).to_logit().close()
        assert closed.closure.arcs == (("f0", "f1"),)
        assert (closed.closure.logit_parameters, closed.closure.network_parameters) == (0, 3)
        said = (
            "1 arc added (f0 -> f1): 0 more coefficients in the logistic regression, 3 more probabilities in the "
            "network"
        )
        assert str(closed.closure) == said
        assert said in repr(closed)

    def test_may_need_more_coefficients(self):
        pairs = {"f3": ["c", "f0", "f1"], "f4": ["c", "f1", "f2"], "f5": ["c", "f0", "f2"]}
        problem = random_problem(2, 6, unseen=False)
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "f2": ["c"], **pairs, "c": []})
        closed = fit(problem, network).to_logit().close()
        assert {frozenset(arc) for arc in closed.closure.arcs} == {
            frozenset(of_name[1:]) for of_name in pairs.values()
        }
        r = problem.arities
        assert closed.closure.logit_parameters == (r[0] - 1) * (r[1] - 1) * (r[2] - 1) * 2

    def test_has_nothing_to_add_where_there_is_equivalence(self):
        X, y = load_monks(1)
        model = TANClassifier().fit(X, y).to_logit()
        closed = model.close()
        assert closed.closure == Closure((), 0, 0)
        assert str(closed.closure) == "nothing to add: network and logistic regression are equivalent"
        assert closed.structure == model.structure
        np.testing.assert_array_equal(closed.coefficients, model.coefficients)
        again = closed.close()
        assert again.closure.arcs == ()

    def test_that_would_not_fit_into_memory_is_refused(self, monkeypatch):
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "c": []})
        model = fit(random_problem(2, 3), network).to_logit()
        monkeypatch.setattr(closure, "available_memory", lambda: 100)
        with pytest.raises(MemoryError, match=r"adds 1 arcs, .* that of 'f2' given \['c', 'f0', 'f1'\]"):
            model.close()


@pytest.fixture(params=[*MODELS, *range(8), "two classes", "one class"], scope="module")
def equivalent(request):
    """A model to turn into a network: of a classifier, or of a closed general network; moved at random."""
    if isinstance(request.param, int):
        return moved(general(request.param)[1].to_logit().close(), request.param)
    if isinstance(request.param, str):
        problem = random_problem(1, 3, n_classes=["", "one class", "two classes"].index(request.param))
        return moved(fit(problem, TANClassifier()).to_logit(), 1)
    problem = random_problem(7, 4, max_arity=3, weights="real")
    return moved(fit(problem, request.param()).to_logit().close(), 0)


def check_normalised(classifier):
    for table in classifier.conditional_tables_.values():
        assert (table.values > 0).all()
        np.testing.assert_allclose(table.values.sum(axis=0), 1, rtol=1e-12)


class TestBack:
    def test_has_the_same_posterior_and_coefficients(self, equivalent):
        model = equivalent
        network = model.to_classifier()
        check_normalised(network)
        assert dict(network.structure_.parents) == dict(model.structure.parents)
        codes, X = joint_states(model)
        np.testing.assert_allclose(network.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-10)
        tables, arities = tables_of(network), arities_of(model)
        for row, logs in zip(codes[::5], model.predict_log_proba(X[::5]), strict=True):
            expected = oracles.log_posterior(tables, arities, len(arities) - 1, dict(enumerate(row)))
            np.testing.assert_allclose(logs, expected, rtol=0, atol=1e-10)
        again = to_logit(network)
        assert again.terms.equals(model.terms)
        np.testing.assert_allclose(again.coefficients, model.coefficients, rtol=0, atol=1e-8)

    def test_is_a_network_as_algorithm_1_finds_one(self, equivalent):
        model = equivalent
        arities = arities_of(model)
        generative = tables_of(to_logit(model.origin.classifier_of(model.network)).close().to_classifier())
        beta = {
            (S, tuple(f[v] for v in S)): betas
            for (S, f), betas in zip(terms_of(model), model.coefficients, strict=True)
        }
        found = oracles.feelders_ivanovs(generative, arities, len(arities) - 1, beta)
        codes, X = joint_states(model)
        ours = model.to_classifier().predict_log_proba(X)
        for row, logs in zip(codes, ours, strict=True):
            expected = oracles.log_posterior(found, arities, len(arities) - 1, dict(enumerate(row)))
            np.testing.assert_allclose(logs, expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("seed", range(6))
    def test_of_no_refit_is_the_network_itself(self, seed):
        problem = random_problem(seed, 4, weights="real")
        classifier = fit(problem, TANClassifier())
        network = to_logit(classifier).to_classifier()
        for name, table in classifier.conditional_tables_.items():
            np.testing.assert_allclose(network.conditional_tables_[name].values, table.values, rtol=1e-12)
        assert network.structure_.score == classifier.structure_.score

    def test_is_not_changed_by_functions_of_the_features(self):
        problem = random_problem(1, 4, weights="real")
        parents = {"f0": ["c"], "f1": ["c", "f0"], "f2": ["c", "f1", "f0"], "f3": ["f2", "c"], "c": []}
        classifier = fit(problem, FixedStructureClassifier(parents))
        model = to_logit(classifier)
        rng = np.random.default_rng(0)
        potentials = [
            p if p.child == "c" else replace(p, logs=p.logs + rng.normal(size=(1, *p.logs.shape[1:-1], 1)))
            for p in model.potentials
        ]
        network = LogitModel(model.network, classifier.origin(), tuple(potentials)).to_classifier()
        for name, table in classifier.conditional_tables_.items():
            np.testing.assert_allclose(network.conditional_tables_[name].values, table.values, rtol=1e-10)

    def test_leaves_other_variables_alone(self):
        parents = {"f0": [], "f1": ["f0"], "f2": ["c", "f1"], "f3": ["f2"], "c": ["f1"]}
        problem = random_problem(4, 4, weights="real")
        classifier = fit(problem, FixedStructureClassifier(parents))
        network = moved(to_logit(classifier), 0).to_classifier()
        for name in ("f0", "f1", "f3"):
            assert network.conditional_tables_[name] is classifier.conditional_tables_[name]
        for name in ("f2", "c"):
            assert (
                abs(network.conditional_tables_[name].values - classifier.conditional_tables_[name].values).max()
                > 0.1
            )

    @pytest.mark.parametrize("seed", range(4))
    def test_has_the_posterior_in_pgmpy(self, seed):
        model = moved(general(seed)[1].to_logit().close(), seed)
        network = model.to_pgmpy()
        inference = VariableElimination(network)
        _, X = joint_states(model)
        for _, row in X[::17].iterrows():
            found = inference.query(["c"], evidence=row.to_dict(), show_progress=False)
            np.testing.assert_allclose(
                [found.get_value(c=state) for state in model.classes_.tolist()],
                model.predict_proba(pd.DataFrame([row]))[0],
                rtol=0,
                atol=1e-10,
            )

    def test_cannot_be_given_more_rows(self):
        problem, _ = general(1)
        network = fit(problem, TANClassifier()).to_logit().to_classifier()
        with pytest.raises(ValueError, match="not estimated from counts"):
            network.partial_fit(*problem.frame())


class TestPrediction:
    def holes(self, model):
        X = joint_states(model)[1].astype(object)
        mask = np.random.default_rng(0).random(X.shape) < 0.3
        return X.mask(mask, None), mask.any(axis=1)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("hole", [None, "strange"])
    def test_of_an_equivalent_refit_sums_missing_cells_out(self, seed, hole):
        problem = random_problem(seed, 4, max_arity=3)
        model = fit(problem, TANClassifier()).to_logit().refit(*problem.frame(), l2=1)
        X, mask = self.holes(model)
        X = X.where(X.notna(), hole)
        network = model.to_classifier()
        np.testing.assert_allclose(model.predict_proba(X), network.predict_proba(X), rtol=0, atol=1e-10)
        assert mask.any()
        tables, arities = tables_of(network), arities_of(model)
        row = X[mask].iloc[0]
        known = {v: value for v, value in enumerate(row) if value != hole}
        expected = oracles.log_posterior(tables, arities, 4, known)
        np.testing.assert_allclose(model.predict_log_proba(X[mask])[0], expected, rtol=0, atol=1e-10)

    def common_child(self):
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "f3": ["f1"], "c": []})
        problem = random_problem(2, 4, max_arity=3, unseen=False)
        return problem, fit(problem, network)

    def test_without_refit_is_the_networks(self):
        _, classifier = self.common_child()
        model = to_logit(classifier)
        X, mask = self.holes(model)
        found, expected = model.predict_proba(X), np.exp(classifier.predict_log_proba(X))
        np.testing.assert_array_equal(found[mask], expected[mask])
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    @pytest.mark.parametrize("refit", [False, True])
    def test_of_a_row_does_not_depend_on_the_others(self, refit):
        problem, classifier = self.common_child()
        model = to_logit(classifier)
        if refit:
            model = model.refit(*problem.frame(), l2=1)
        X, mask = self.holes(model)
        together = model.predict_proba(X)
        for rows in (mask, ~mask):
            np.testing.assert_array_equal(model.predict_proba(X[rows]), together[rows])
        np.testing.assert_array_equal(model.predict_proba(X[-1:]), together[-1:])

    def test_of_missing_cells_is_that_of_a_network_with_this_posterior(self):
        problem, classifier = self.common_child()
        refitted = to_logit(classifier).refit(*problem.frame(), l2=1)
        with pytest.raises(ValueError, match=r"'f0' and 'f1', parents of 'f2'.*close\(\)"):
            refitted.to_classifier()
        closed = refitted.close()
        assert closed.closure.arcs == (("f0", "f1"),)
        assert closed.refit(*problem.frame(), l2=1).closure == closed.closure
        network = closed.to_classifier()
        check_normalised(network)
        X = problem.frame()[0].astype(object)
        X.loc[3, "f1"], X.loc[4, "f0"] = None, 77
        for model in (refitted, closed, to_logit(classifier).close().refit(*problem.frame(), l2=1)):
            own = model.to_classifier() if model.equivalent else network
            np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(X), rtol=0, atol=1e-10)
            complete, _ = joint_states(closed)[::-1]
            np.testing.assert_allclose(model.predict_proba(complete), own.predict_proba(complete), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("most", [0, 5, 10_000])
    def test_of_rows_with_few_hidden_cells_needs_no_closed_network(self, most, monkeypatch):
        """``P(c | x_o) = Σ_h P(x_h | x_o) P(c | x)`` with the features' distribution of the network as learned."""
        problem, classifier = self.common_child()
        model = to_logit(classifier).refit(*problem.frame(), l2=1)
        X = problem.frame()[0].astype(object)[:9]
        X.loc[3, "f1"], X.loc[4, "f0"], X.loc[5, ["f0", "f2"]], X.loc[6, :] = None, 77, None, None
        closed = model.predict_proba(X)
        monkeypatch.setattr(predictions, "MOST_CLOSED", 0)
        monkeypatch.setattr(predictions, "MOST_COMPLETIONS", most)
        states, tables = classifier.vocabulary_.states, classifier.model_.tables

        def density(row):
            total = 0.0
            for c in range(len(classifier.classes_)):
                codes = {**{name: states[name].index(value) for name, value in row.items()}, "c": c}
                cells = (
                    table.values[tuple(codes[v] for v in (name, *table.parents))] for name, table in tables.items()
                )
                total += np.prod(list(cells))
            return total

        for t, row in enumerate(X.to_dict("records")):
            open_to = [[value] if value in states[name] else states[name] for name, value in row.items()]
            completions = [dict(zip(row, values, strict=True)) for values in product(*open_to)]
            weights = np.array([density(one) for one in completions])
            expected = weights @ model.predict_proba(pd.DataFrame(completions)) / weights.sum()
            if len(completions) > most:
                expected = closed[t]
            np.testing.assert_allclose(model.predict_proba(X.loc[[t]])[0], expected, rtol=0, atol=1e-12)
        assert abs(model.predict_proba(X) - closed).max() > (1e-6 if most == 10_000 else -1)

    def test_names_the_most_probable_class(self):
        _, classifier = self.common_child()
        model = moved(to_logit(classifier), 3)
        X = joint_states(model)[1]
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        assert model.predict(X).tolist() == model.classes_[proba.argmax(axis=1)].tolist()

    def test_log_likelihood_is_the_weighted_sum(self):
        problem, classifier = self.common_child()
        X, y = problem.frame()
        weights = np.random.default_rng(0).exponential(size=len(y))
        weights[:5] = 0
        logs = np.log(classifier.predict_proba(X))
        expected = sum(w * logs[t, c] for t, (w, c) in enumerate(zip(weights, y, strict=True)))
        assert classifier.to_logit().log_likelihood(X, y, weights) == pytest.approx(expected, rel=1e-12)

    def test_log_likelihood_of_unknown_classes_is_refused_unless_of_no_weight(self):
        problem, classifier = self.common_child()
        X, y = problem.frame()
        model = classifier.to_logit()
        strange = y.copy()
        strange[2] = 9
        with pytest.raises(
            ValueError, match=r"y contains 9, which is not a class of this model \(classes: \[0, 1, 2\]\)"
        ):
            model.log_likelihood(X, strange)
        weights = np.ones(len(y))
        weights[2] = 0
        assert model.log_likelihood(X, strange, weights) == pytest.approx(model.log_likelihood(X, y, weights))


class TestOwnState:
    def test_is_kept_when_the_classifier_learns_anew(self):
        X, y = load_monks(1)
        classifier = TANClassifier().fit(X, y)
        holes = X.astype(object)
        holes.iloc[0, 0] = None
        model = to_logit(classifier).refit(X, y, l2=1)
        generative = to_logit(classifier)
        before = model.predict_proba(holes), generative.predict_proba(holes), len(model.terms)
        classifier.partial_fit(X[:50], y[:50])
        classifier.fit(X.iloc[:9, ::-1], y[:9])
        np.testing.assert_array_equal(model.predict_proba(holes), before[0])
        np.testing.assert_array_equal(generative.predict_proba(holes), before[1])
        assert len(model.terms) == before[2]

    def test_is_kept_when_the_network_learns_anew(self):
        X, y = load_monks(1)
        holes = X.astype(object)
        holes.iloc[0, 0] = None
        model = to_logit(TANClassifier().fit(X, y)).refit(X, y, l2=1)
        before = model.predict_proba(holes)
        model.to_classifier().fit(X[::7], y[::7])
        np.testing.assert_array_equal(model.predict_proba(holes), before)


def test_network_of_probabilities_too_small_for_numbers_is_refused():
    X, y = load_balance_scale()
    with pytest.warns(UserWarning, match="no finite maximum"):
        model = to_logit(NaiveBayesClassifier().fit(X, y)).refit(X, y, l2=0)
    assert (model.predict(X) == y).all()
    with pytest.raises(ValueError, match=r"table of 'tips_to' would hold probabilities below 1e-290.*l2='auto'"):
        model.to_classifier()
    with pytest.raises(TypeError, match="to_logit takes a fitted classifier of anbexact, not <class"):
        to_logit(TANClassifier)


@pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier, GBNClassifier])
def test_of_a_universal_measure_has_the_most_probable_levels(model):
    X, y = load_iris()
    classifier = model(continuous="universal").fit(X, y)
    with pytest.warns(UserWarning, match="every variable is exported at its most probable level"):
        logit = to_logit(classifier)
    discrete = classifier.to_discrete()
    np.testing.assert_allclose(logit.predict_proba(X), discrete.predict_proba(X), rtol=1e-9)
    assert len(logit.terms) == len(to_logit(discrete).terms)
    refitted = logit.refit(X, y, l2=0.1)
    assert refitted.log_likelihood(X, y) > logit.log_likelihood(X, y)
