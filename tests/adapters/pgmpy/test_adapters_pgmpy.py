"""pgmpy networks: to them, from them, and questions put to them. pgmpy's own inference is the oracle."""

import datetime
import pickle
import subprocess
import sys
from itertools import combinations, product

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy import config
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import problems, random_problem

import anbexact
import anbexact.adapters.pgmpy.networks as adapter
import anbexact.adapters.pgmpy.queries as queries
from anbexact import ANBClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.adapters import class_posterior, d_separated, from_pgmpy, to_pgmpy
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks


def fitted(problem, estimator=None):
    """Fit a classifier (an unconstrained ANB by default) to a problem of strategies."""
    X, y = problem.frame()
    estimator = ANBClassifier() if estimator is None else estimator
    return estimator.set_params(categories=problem.categories).fit(X, y, problem.weights)


def by_pgmpy(network, class_name, evidence):
    """P(class | evidence) by pgmpy alone, in the order of the network's states."""
    return VariableElimination(network).query([class_name], evidence=evidence, show_progress=False).values


def by_enumeration(network, class_name, evidence):
    """P(class | evidence) by summing the joint distribution over every joint state."""
    states = network.states
    total = dict.fromkeys(states[class_name], 0.0)
    for joint in product(*states.values()):
        row = dict(zip(states, joint, strict=True))
        if all(row[name] == state for name, state in evidence.items()):
            cells = [cpd.values[tuple(states[v].index(row[v]) for v in cpd.variables)] for cpd in network.get_cpds()]
            total[row[class_name]] += float(np.prod(cells))
    return np.array(list(total.values())) / sum(total.values())


def table(node, states, values, **parents):
    """Make a CPD; ``values`` in the order (node, parents...)."""
    values = np.asarray(values, dtype=float)
    return TabularCPD(
        node,
        len(states),
        values.reshape(len(states), -1),
        evidence=list(parents) or None,
        evidence_card=[len(of_parent) for of_parent in parents.values()] or None,
        state_names={node: list(states), **{name: list(of_parent) for name, of_parent in parents.items()}},
    )


def random_table(rng, node, states, **parents):
    """Make a CPD of random positive values."""
    values = rng.dirichlet(np.ones(len(states)), [len(of_parent) for of_parent in parents.values()])
    return table(node, states, np.moveaxis(values, -1, 0), **parents)


def network_of(*cpds):
    """Make a network of CPDs, its nodes in their order."""
    network = DiscreteBayesianNetwork()
    network.add_nodes_from([cpd.variable for cpd in cpds])
    network.add_edges_from([(parent, cpd.variable) for cpd in cpds for parent in cpd.variables[1:]])
    network.add_cpds(*cpds)
    return network


GRADE = ("mid", "low", "high")
"""States of the class of `general_network`, in no sorted order."""


def general_network(seed=0):
    """A class with two parents, two children, and a feature that it does not touch directly."""
    rng = np.random.default_rng(seed)
    return network_of(
        random_table(rng, "hint", ("no", "yes"), grade=GRADE, talent=(1, 0, 2)),
        random_table(rng, "effort", (False, True)),
        random_table(rng, "grade", GRADE, talent=(1, 0, 2), effort=(False, True)),
        random_table(rng, "talent", (1, 0, 2)),
        random_table(rng, "letter", ("b", "a"), hint=("no", "yes"), grade=GRADE),
        random_table(rng, "health", ("ill", "well"), effort=(False, True)),
    )


def small():
    """A network that errors are tried on."""
    return network_of(
        table("c", ("n", "y"), [0.25, 0.75]),
        table("x", (0, 1, 2), [[0.2, 0.1], [0.3, 0.1], [0.5, 0.8]], c=("n", "y")),
    )


def snapshot(network):
    """All that a network holds, to compare it later."""
    return (
        list(network.nodes),
        list(network.edges),
        dict(network.graph),
        [(id(c), c.variables, c.values.tobytes(), c.state_names) for c in network.get_cpds()],
    )


class TestToPgmpy:
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("weights", ["ones", "real"])
    def test_complete_and_partial_rows_agree_with_pgmpy(self, seed, weights):
        problem = random_problem(seed, 5, n_rows=80, weights=weights)
        classifier = fitted(problem)
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(
            {f"f{v}": rng.integers(0, problem.arities[v], 25) for v in range(5)}, dtype=float
        )  # all declared states, unseen ones too
        X[rng.random(X.shape) < np.repeat([[0.0], [0.3], [0.7], [0.9], [0.0]], 5, axis=0)] = np.nan
        probabilities = classifier.predict_proba(X)
        for (_, row), ours in zip(X.iterrows(), probabilities, strict=True):
            evidence = {name: int(value) for name, value in row.dropna().items()}
            np.testing.assert_allclose(ours, by_pgmpy(classifier.network_, "c", evidence), rtol=0, atol=1e-10)
            ours_too = class_posterior(classifier.network_, "c", evidence)
            np.testing.assert_allclose(ours, ours_too, rtol=0, atol=1e-10)

    def test_missing_cell_with_an_observed_child_that_has_other_parents(self):
        problem = random_problem(3, 4, n_rows=200)
        parents = {"c": (), "f0": ("c",), "f1": ("c",), "f2": ("c", "f0", "f1"), "f3": ("c", "f2")}
        classifier = fitted(problem, FixedStructureClassifier(parents))
        network = classifier.network_
        checked = 0
        for observed in product([None, 0, 1], repeat=4):
            evidence = {f"f{v}": state for v, state in enumerate(observed) if state is not None}
            X = pd.DataFrame([observed], columns=list(classifier.vocabulary_.features), dtype=float)
            ours = classifier.predict_proba(X)[0]
            np.testing.assert_allclose(ours, by_pgmpy(network, "c", evidence), rtol=0, atol=1e-10)
            np.testing.assert_allclose(ours, by_enumeration(network, "c", evidence), rtol=0, atol=1e-10)
            checked += "f0" not in evidence and "f2" in evidence
        assert checked == 18

    @given(problems(min_arity=1))
    def test_tables_are_those_of_the_classifier_and_columns_sum_to_one(self, problem):
        classifier = fitted(problem)
        network = to_pgmpy(classifier)
        assert type(network) is DiscreteBayesianNetwork
        assert network.check_model()
        assert list(network.nodes) == problem.names
        assert set(network.edges) == set(classifier.structure_.edges)
        for name, own in classifier.conditional_tables_.items():
            cpd = network.get_cpds(name)
            assert tuple(cpd.variables) == own.variables
            np.testing.assert_array_equal(cpd.values, own.values)
            assert np.abs(cpd.values.sum(axis=0) - 1).max() <= 1e-12
            assert not np.shares_memory(cpd.values, own.values)
            for variable in cpd.variables:
                assert tuple(cpd.state_names[variable]) == classifier.vocabulary_.states[variable]

    def test_columns_of_many_states_sum_to_one(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"x": pd.Categorical(rng.integers(0, 3000, 4000), categories=range(3000))})
        network = NaiveBayesClassifier(ess=0.37, group_categories=None).fit(X, rng.integers(0, 3, 4000)).network_
        assert network.get_cpds("x").values.shape == (3000, 3)
        assert np.abs(network.get_cpds("x").values.sum(axis=0) - 1).max() <= 1e-12

    def test_slightly_off_tables_are_normalised(self):
        classifier = NaiveBayesClassifier().fit(*load_monks(1))
        classifier.conditional_tables_["holding"].values[:] *= 1 + 1e-9
        values = to_pgmpy(classifier).get_cpds("holding").values
        assert np.abs(values.sum(axis=0) - 1).max() <= 1e-12

    def test_clearly_off_tables_are_refused(self):
        classifier = NaiveBayesClassifier().fit(*load_monks(1))
        classifier.conditional_tables_["holding"].values[:, 1] *= 1.1
        with pytest.raises(ValueError, match=r"node 'holding' .* P\(holding \| is_monk = 'yes'\) sums to 1\.1"):
            to_pgmpy(classifier)

    @pytest.mark.parametrize(
        "states",
        [
            [3, 1, 2],
            [2.0, -1.0, 7.0],
            [True, False],
            ["10", "9", "ä,b (c]"],
            [pd.Timestamp("2020-02-29"), pd.Timestamp("1999-12-31 23:59")],
            [datetime.date(2020, 1, 1), datetime.date(2019, 1, 1)],
        ],
        ids=["int", "float", "bool", "str", "timestamp", "date"],
    )
    def test_states_stay_native_and_serve_as_evidence(self, states):
        rng = np.random.default_rng(1)
        cells = rng.integers(0, len(states), 60)
        labels = np.where(rng.random(60) < 0.7, cells, rng.integers(0, len(states), 60))
        x = pd.Series([states[i] for i in cells], name="x")
        y = pd.Series([states[i] for i in labels], name="y")
        classifier = NaiveBayesClassifier().fit(x.to_frame(), y)
        network = classifier.network_
        assert network.states == {"x": sorted(states), "y": sorted(states)}
        for name in ("x", "y"):
            assert {type(state) for state in network.states[name]} == {type(states[0])}
        for state in states:
            one = pd.DataFrame({"x": pd.Series([state])})
            posterior = class_posterior(network, "y", {"x": state})
            assert list(posterior.index) == sorted(states)
            assert {type(label) for label in posterior.index} == {type(states[0])}
            np.testing.assert_allclose(posterior, classifier.predict_proba(one)[0], rtol=0, atol=1e-12)
            again = from_pgmpy(network, "y")
            np.testing.assert_allclose(again.predict_proba(one), classifier.predict_proba(one), rtol=0, atol=1e-12)
            assert again.predict(one)[0] == classifier.predict(one)[0]

    def test_declared_order_and_unseen_states_are_kept(self):
        X = pd.DataFrame({"size": pd.Categorical(["S", "L", "S", "L"], categories=["S", "M", "L", "XL"])})
        network = NaiveBayesClassifier(ess=4).fit(X, ["n", "y", "n", "n"]).network_
        assert network.states == {"size": ["S", "M", "L", "XL"], "class": ["n", "y"]}
        # (N_jk + 4/8) / (N_j + 4/2), with N = S 2, L 1 in class n and L 1 in class y
        np.testing.assert_allclose(network.get_cpds("size").values[:, 0], [0.5, 0.1, 0.3, 0.1])
        np.testing.assert_allclose(network.get_cpds("size").values[:, 1], np.array([0.5, 0.5, 1.5, 0.5]) / 3)

    def test_class_node_is_named_after_y(self):
        X, y = load_monks(1)
        assert "is_monk" in NaiveBayesClassifier().fit(X, y).network_
        assert list(NaiveBayesClassifier().fit(X, y.to_numpy()).network_)[-1] == "class"
        assert "verdict" in NaiveBayesClassifier().fit(X, pl.Series("verdict", y.to_list())).network_

    def test_integer_names_become_strings(self):
        X, y = load_monks(1)
        X.columns = range(X.shape[1])
        classifier = ANBClassifier().fit(X, y.rename(99))
        network = classifier.network_
        assert list(network.nodes) == ["0", "1", "2", "3", "4", "5", "99"]
        assert ("0", "1") in network.edges
        row = X.iloc[[7]]
        evidence = {str(name): state for name, state in row.iloc[0].items()}
        np.testing.assert_allclose(
            class_posterior(network, "99", evidence), classifier.predict_proba(row)[0], rtol=0, atol=1e-12
        )
        again = from_pgmpy(network, "99").predict_proba(X.rename(columns=str))
        np.testing.assert_allclose(again, classifier.predict_proba(X), rtol=0, atol=1e-12)

    def test_names_that_collide_as_strings_are_refused(self):
        X = pd.DataFrame([[0, 1], [1, 0]], columns=[1, "1"])
        with pytest.raises(ValueError, match="variables 1 and '1' would both become the node '1'"):
            NaiveBayesClassifier().fit(X, ["a", "b"]).to_pgmpy()
        X = pd.DataFrame([[0], [1]], columns=[1])
        with pytest.raises(ValueError, match="variables 1 and '1' would"):
            to_pgmpy(NaiveBayesClassifier().fit(X, pd.Series(["a", "b"], name="1")))

    def test_network_is_cached_and_rebuilt_by_a_refit(self):
        X, y = load_monks(1)
        classifier = ANBClassifier().fit(X, y)
        first = classifier.network_
        assert classifier.network_ is first
        fresh = classifier.to_pgmpy()
        assert fresh is not first
        assert snapshot(fresh)[:3] == snapshot(first)[:3]
        assert all(first.get_cpds(node) == fresh.get_cpds(node) for node in first.nodes)
        classifier.fit(X.drop(columns="has_tie"), y)
        assert classifier.network_ is not first
        assert "has_tie" in first
        assert "has_tie" not in classifier.network_

    def test_other_objects_and_unfitted_classifiers_are_refused(self):
        with pytest.raises(NotFittedError):
            to_pgmpy(ANBClassifier())
        with pytest.raises(NotFittedError):
            _ = ANBClassifier().network_
        with pytest.raises(TypeError, match="takes a classifier of anbexact, not a DiscreteBayesianNetwork"):
            to_pgmpy(small())

    def test_too_large_tables_are_refused_with_numbers(self, monkeypatch):
        X, y = load_monks(1)
        parents = dict.fromkeys(X.columns, ("is_monk",)) | {
            "is_monk": (),
            "body_shape": ("is_monk", "head_shape"),
        }
        classifier = FixedStructureClassifier(parents).fit(X, y)
        cells = 6 + 18 + 4 + 6 + 8 + 4 + 2
        needed = 8 * (cells + 3 * 18)
        assert needed == 816
        monkeypatch.setattr(adapter, "available_memory", lambda: needed - 1)
        with pytest.raises(MemoryError, match=r"816 bytes .* but 815 bytes .*'body_shape' given its 2 parents"):
            to_pgmpy(classifier)
        monkeypatch.setattr(adapter, "available_memory", lambda: needed)
        assert to_pgmpy(classifier).check_model()

    def test_pgmpy_in_single_precision_is_refused(self):
        classifier = NaiveBayesClassifier().fit(*load_monks(1))
        before = config.get_dtype()
        config.set_dtype("float32")
        try:
            with pytest.raises(ValueError, match=r"does not compute in float64\. Set pgmpy\.config\.set_dtype"):
                to_pgmpy(classifier)
        finally:
            config.set_dtype(before)
        assert to_pgmpy(classifier).check_model()


class TestFromPgmpy:
    @pytest.mark.parametrize("seed", range(6))
    def test_round_trip(self, seed):
        problem = random_problem(seed, 5, weights="real")
        classifier = fitted(problem)
        again = from_pgmpy(to_pgmpy(classifier), "c")
        assert again.vocabulary_ == classifier.vocabulary_
        assert dict(again.structure_.parents) == dict(classifier.structure_.parents)
        assert again.classes_.dtype == classifier.classes_.dtype
        X = problem.frame()[0].astype(float)
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
        for form in (X, pl.from_pandas(X)):
            np.testing.assert_allclose(again.predict_proba(form), classifier.predict_proba(X), rtol=0, atol=1e-12)
        network = to_pgmpy(again)
        for name in problem.names:
            np.testing.assert_array_equal(network.get_cpds(name).values, classifier.network_.get_cpds(name).values)

    @pytest.mark.parametrize("load", [load_anes96, load_iris])
    def test_round_trip_of_discretised_columns(self, load):
        X, y = load()
        classifier = NaiveBayesClassifier().fit(X, y)
        assert classifier.cut_points_
        network = to_pgmpy(classifier)
        again = from_pgmpy(network, y.name)
        np.testing.assert_allclose(again.predict_proba(X), classifier.predict_proba(X), rtol=0, atol=1e-12)
        name = next(iter(classifier.cut_points_))
        assert not np.shares_memory(again.cut_points_[name], network.graph["anbexact_cut_points"][name])
        assert name not in from_pgmpy(network, name).cut_points_

    def test_round_trip_of_a_cut_column_whose_missing_cells_are_a_state(self):
        X, y = load_iris()
        X.loc[::3, "petal_width"] = np.nan
        classifier = NaiveBayesClassifier().fit(X, y)
        assert classifier.handle_missing_["petal_width"] == "own_state"
        back = from_pgmpy(to_pgmpy(classifier), "species")
        np.testing.assert_allclose(back.predict_proba(X), classifier.predict_proba(X), rtol=1e-12)

    def test_without_cut_points_names_of_intervals_are_expected(self):
        X, y = load_iris()
        classifier = NaiveBayesClassifier().fit(X, y)
        network = to_pgmpy(classifier)
        del network.graph["anbexact_cut_points"]
        again = from_pgmpy(network, y.name)
        names = pd.DataFrame(
            {
                name: pd.cut(X[name], [-np.inf, *cuts, np.inf], labels=list(classifier.vocabulary_.states[name]))
                for name, cuts in classifier.cut_points_.items()
            }
        )
        np.testing.assert_allclose(again.predict_proba(names), classifier.predict_proba(X), rtol=0, atol=1e-12)
        prior = again.predict_proba(X)  # numbers are no states: summed out
        np.testing.assert_allclose(prior, np.full((len(X), 3), 1 / 3), rtol=0, atol=1e-12)
        with pytest.raises(ValueError, match="is not a state"):
            again.set_params(handle_unknown="error").predict_proba(X)

    def test_cut_points_that_contradict_the_states_are_refused(self):
        X, y = load_iris()
        network = to_pgmpy(NaiveBayesClassifier().fit(X, y))
        name = next(iter(network.graph["anbexact_cut_points"]))
        network.graph["anbexact_cut_points"][name] = np.array([100.0])
        with pytest.raises(ValueError, match=rf"states of node '{name}', .* are not the intervals of its cut points"):
            from_pgmpy(network, y.name)

    @pytest.mark.parametrize("seed", range(4))
    def test_general_network_with_parents_of_the_class(self, seed):
        network = general_network(seed)
        classifier = from_pgmpy(network, "grade")
        assert classifier.classes_.tolist() == ["high", "low", "mid"]
        assert classifier.vocabulary_.features == ("hint", "effort", "talent", "letter", "health")
        assert classifier.vocabulary_.states["talent"] == (1, 0, 2)
        assert classifier.structure_.parents["grade"] == ("talent", "effort")
        assert next(iter(classifier.structure_.parents)) == "grade"
        features = classifier.vocabulary_.features
        to_sorted = [GRADE.index(label) for label in ("high", "low", "mid")]
        rows = list(product(*((*classifier.vocabulary_.states[name], None) for name in features)))
        probabilities = classifier.predict_proba(pd.DataFrame(rows, columns=list(features), dtype=object))
        for row, ours in zip(rows, probabilities, strict=True):
            evidence = {name: state for name, state in zip(features, row, strict=True) if state is not None}
            np.testing.assert_allclose(ours, by_pgmpy(network, "grade", evidence)[to_sorted], rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            ours, by_enumeration(network, "grade", {})[to_sorted], rtol=0, atol=1e-12
        )  # the last row is all missing
        back = to_pgmpy(classifier)
        assert back.states["grade"] == ["high", "low", "mid"]
        for evidence in ({}, {"letter": "a"}, {"letter": "a", "talent": 0, "health": "ill"}):
            np.testing.assert_allclose(
                by_pgmpy(back, "grade", evidence), by_pgmpy(network, "grade", evidence)[to_sorted], atol=1e-12
            )

    def test_every_node_can_be_the_class(self):
        network = general_network()
        for name in network.nodes:
            others = {other: network.states[other][0] for other in network.nodes if other != name}
            row = pd.DataFrame([others.values()], columns=list(others), dtype=object)
            classifier = from_pgmpy(network, name)
            assert classifier.classes_.tolist() == sorted(network.states[name])
            to_network = [classifier.classes_.tolist().index(state) for state in network.states[name]]
            ours = classifier.predict_proba(row)[0][to_network]
            np.testing.assert_allclose(ours, by_pgmpy(network, name, others), rtol=0, atol=1e-12)

    def test_fitted_attributes_and_forms_of_input(self):
        network = general_network()
        classifier = from_pgmpy(network, "grade")
        assert isinstance(classifier, FixedStructureClassifier)
        assert classifier.n_features_in_ == 5
        assert classifier.feature_names_in_.dtype == object
        assert classifier.feature_names_in_.tolist() == ["hint", "effort", "talent", "letter", "health"]
        assert np.isnan(classifier.structure_.score)
        assert not classifier.structure_.certificate.optimal
        row = ["yes", True, 2, "a", None]
        frame = pd.DataFrame([row], columns=classifier.feature_names_in_)
        expected = by_pgmpy(network, "grade", dict(zip(classifier.feature_names_in_[:4], row, strict=False)))
        expected = expected[[2, 1, 0]]
        np.testing.assert_allclose(classifier.predict_proba(frame)[0], expected, atol=1e-12)
        np.testing.assert_allclose(
            pickle.loads(pickle.dumps(classifier)).predict_proba(frame)[0], expected, atol=1e-12
        )
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            array = classifier.predict_proba(np.array([row], dtype=object))
        np.testing.assert_allclose(array[0], expected, atol=1e-12)
        with pytest.raises(ValueError, match="feature names should match"):
            classifier.predict(frame[["effort", "hint", "talent", "letter", "health"]])
        with pytest.raises(NotFittedError):
            clone(classifier).predict(frame)
        assert "hint" in str(classifier.explain(frame)[0])

    def test_can_be_fitted_to_data(self):
        X, y = load_monks(1)
        learned = ANBClassifier().fit(X, y)
        relearned = from_pgmpy(learned.network_, "is_monk").fit(X, y)
        np.testing.assert_allclose(relearned.predict_proba(X), learned.predict_proba(X), rtol=0, atol=1e-12)
        assert relearned.structure_.score == pytest.approx(learned.structure_.score)

    def test_node_names_that_are_no_strings(self):
        network = DiscreteBayesianNetwork([("c", 7)])
        network.add_cpds(
            table("c", ("n", "y"), [0.25, 0.75]),
            TabularCPD(7, 2, [[0.1, 0.6], [0.9, 0.4]], ["c"], [2], state_names={7: [0, 1], "c": ["n", "y"]}),
        )
        classifier = from_pgmpy(network, "c")
        assert not hasattr(classifier, "feature_names_in_")
        frame = pd.DataFrame({7: [0]})
        np.testing.assert_allclose(classifier.predict_proba(frame)[0], [0.025 / 0.475, 0.45 / 0.475])
        np.testing.assert_allclose(classifier.predict_proba(np.array([[0]])), classifier.predict_proba(frame))

    def test_numpy_states_become_native(self):
        cpds = small().get_cpds()
        network = network_of(*cpds)
        states = list(np.arange(3))
        cpds[1].store_state_names(["x", "c"], [3, 2], {"x": states, "c": ["n", "y"]})
        assert {type(state) for state in network.states["x"]} == {np.int64}
        assert {type(state) for state in from_pgmpy(network, "c").vocabulary_.states["x"]} == {int}

    def test_neither_changes_the_network(self):
        network = general_network()
        network.graph["note"] = "mine"
        before = snapshot(network)
        classifier = from_pgmpy(network, "grade")
        class_posterior(network, "grade", {"letter": "a"})
        d_separated(network, "talent", "effort")
        assert snapshot(network) == before
        for name, own in classifier.conditional_tables_.items():
            assert not np.shares_memory(own.values, network.get_cpds(name).values)


class TestTolerance:
    @pytest.mark.parametrize("off", [1e-13, 1e-9, -9e-7])
    def test_small_deviations_are_normalised(self, off):
        network = small()
        exact = from_pgmpy(network, "c").predict_proba(pd.DataFrame({"x": [0]}))
        network.get_cpds("x").values[:, 1] *= 1 + off
        classifier = from_pgmpy(network, "c")
        assert np.abs(classifier.conditional_tables_["x"].values.sum(axis=0) - 1).max() <= 1e-12
        np.testing.assert_allclose(classifier.predict_proba(pd.DataFrame({"x": [0]})), exact, rtol=0, atol=1e-12)

    def test_large_deviations_are_refused_and_normalize_helps(self):
        network = small()
        network.get_cpds("x").values[:, 1] *= 1.000002
        assert network.check_model()  # pgmpy does not mind
        for call in (from_pgmpy, class_posterior):
            with pytest.raises(ValueError, match=r"'x' does not sum to 1: P\(x \| c = 'y'\) sums to 1\.000002"):
                call(network, "c")
        network.get_cpds("x").normalize()
        np.testing.assert_allclose(class_posterior(network, "c", {"x": 0}), [0.05 / 0.125, 0.075 / 0.125])

    @pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (-0.1, r"-0\.1"), (np.inf, "inf")])
    def test_values_that_are_no_probabilities(self, value, shown):
        network = small()
        network.get_cpds("x").values[2, 0] = value
        with pytest.raises(ValueError, match=rf"node 'x' contains {shown}, in P\(x \| c = 'n'\) at 2"):
            from_pgmpy(network, "c")

    def test_a_root_that_does_not_sum_to_one(self):
        network = small()
        network.get_cpds("c").values[0] = 0.5
        with pytest.raises(ValueError, match=r"node 'c' does not sum to 1: P\(c\) sums to 1\.25"):
            from_pgmpy(network, "c")


class TestInvalidNetworks:
    def test_unknown_class(self):
        for call in (from_pgmpy, class_posterior):
            with pytest.raises(ValueError, match=r"class_name: 'z' is not a node of the network; .*\['c', 'x'\]"):
                call(small(), "z")

    def test_no_feature(self):
        with pytest.raises(ValueError, match="no node except the class 'c'"):
            from_pgmpy(network_of(table("c", ("n", "y"), [0.25, 0.75])), "c")

    def test_not_a_discrete_network(self):
        for call in (from_pgmpy, class_posterior):
            with pytest.raises(TypeError, match="DiscreteBayesianNetwork, not a LinearGaussianBayesianNetwork"):
                call(LinearGaussianBayesianNetwork([("x", "c")]), "c")

    def test_missing_cpd(self):
        network = small()
        network.remove_cpds("x")
        with pytest.raises(ValueError, match="node 'x' has no CPD"):
            from_pgmpy(network, "c")

    def test_continuous_cpd(self):
        network = small()

        class LinearGaussianCPD:
            variable = "x"

        network.cpds[1] = LinearGaussianCPD()
        with pytest.raises(TypeError, match="CPD of node 'x' is a LinearGaussianCPD: only a TabularCPD"):
            from_pgmpy(network, "c")

    def test_cpd_that_does_not_fit_the_graph(self):
        network = small()
        network.add_node("z")
        network.add_edge("z", "x")
        network.add_cpds(table("z", (0, 1), [0.5, 0.5]))
        with pytest.raises(
            ValueError, match=r"node 'x' is given \['c'\], but its parents in the graph are \['c', 'z'"
        ):
            from_pgmpy(network, "c")

    def test_wrong_number_of_state_names(self):
        network = small()
        network.get_cpds("x").state_names["x"] = [0, 1]
        with pytest.raises(ValueError, match=r"node 'x' has 3 states of 'x', but names these: \[0, 1\]"):
            from_pgmpy(network, "c")
        del network.get_cpds("x").state_names["x"]
        with pytest.raises(ValueError, match="node 'x' has 3 states of 'x', but names these: None"):
            from_pgmpy(network, "c")

    def test_states_that_differ_between_parent_and_child(self):
        network = small()
        network.get_cpds("x").state_names["c"] = ["y", "n"]
        with pytest.raises(
            ValueError, match=r"node 'x' gives its parent 'c' the states \['y', 'n'\], but .*\['n', 'y'"
        ):
            from_pgmpy(network, "c")


class TestClassPosterior:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("class_name", ["grade", "talent", "letter"])
    def test_any_evidence(self, seed, class_name):
        network = general_network(seed)
        others = [name for name in network.nodes if name != class_name]
        for size in range(len(others) + 1):
            for observed in combinations(others, size):
                evidence = {name: network.states[name][-1] for name in observed}
                posterior = class_posterior(network, class_name, evidence)
                assert posterior.name == class_name
                assert list(posterior.index) == network.states[class_name]
                expected = by_enumeration(network, class_name, evidence)
                np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-12)

    def test_both_eliminations_agree(self, monkeypatch):
        network = general_network(5)
        evidence = {"letter": "a", "health": "well"}
        by_products = class_posterior(network, "grade", evidence)

        def refuse(*_):
            raise AssertionError("pgmpy was asked")

        monkeypatch.setattr(queries, "LOG_SMALLEST", 0.0)
        monkeypatch.setattr(queries, "VariableElimination", refuse)
        by_logs = class_posterior(network, "grade", evidence)
        pd.testing.assert_series_equal(by_logs, by_products, check_exact=False, rtol=0, atol=1e-12)

    def test_a_row_of_a_frame_and_no_evidence(self):
        X, y = load_monks(1)
        classifier = ANBClassifier().fit(X, y)
        np.testing.assert_allclose(
            class_posterior(classifier.network_, "is_monk", X.iloc[5]), classifier.predict_proba(X.iloc[[5]])[0]
        )
        np.testing.assert_allclose(class_posterior(classifier.network_, "is_monk"), [0.5, 0.5])

    def test_states_that_are_tuples_or_of_several_types(self):
        network = network_of(
            table("c", ((0, 1), (1, 0)), [0.25, 0.75]),
            table("x", (0, "a", None), [[0.2, 0.1], [0.3, 0.1], [0.5, 0.8]], c=((0, 1), (1, 0))),
        )
        posterior = class_posterior(network, "c", {"x": None})
        assert posterior.index.tolist() == [(0, 1), (1, 0)]
        np.testing.assert_allclose(posterior, [0.125 / 0.725, 0.6 / 0.725])

    def test_unconnected_class(self):
        network = network_of(table("c", ("n", "y"), [0.25, 0.75]), table("x", (0, 1), [0.5, 0.5]))
        np.testing.assert_allclose(class_posterior(network, "c", {"x": 1}), [0.25, 0.75])

    def test_products_below_the_smallest_float(self):
        """Each observed state has probability e^-9 or so: pgmpy alone gives NaN."""
        rng = np.random.default_rng(0)
        small_values = rng.uniform(1e-4, 1.2e-4, (120, 2))
        features = {f"x{i}": np.array([p, 1 - p]) for i, p in enumerate(small_values)}
        network = network_of(
            table("c", ("n", "y"), [0.3, 0.7]),
            *(table(name, (0, 1), values, c=("n", "y")) for name, values in features.items()),
        )
        evidence = dict.fromkeys(features, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            assert np.isnan(by_pgmpy(network, "c", evidence)).all()
        logs = np.log([0.3, 0.7]) + np.log(small_values).sum(axis=0)
        expected = 1 / (1 + np.exp(logs[::-1] - logs))
        np.testing.assert_allclose(class_posterior(network, "c", evidence), expected, rtol=1e-9)
        row = pd.DataFrame([evidence])
        np.testing.assert_allclose(from_pgmpy(network, "c").predict_proba(row)[0], expected, rtol=1e-9)
        # half of them: pgmpy's products are small, but no smaller than a float can be
        evidence = dict.fromkeys(list(features)[:60], 0)
        np.testing.assert_allclose(
            class_posterior(network, "c", evidence), by_pgmpy(network, "c", evidence), rtol=1e-9
        )

    def deterministic(self):
        """A network where x repeats c, and w repeats z, which nothing joins to c."""
        return network_of(
            table("c", ("n", "y", "never"), [0.25, 0.75, 0.0]),
            table("x", (0, 1), [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], c=("n", "y", "never")),
            table("z", (0, 1), [0.5, 0.5]),
            table("w", (0, 1), [[1.0, 0.0], [0.0, 1.0]], z=(0, 1)),
            table("v", (0, 1), [[1.0, 0.5], [0.0, 0.5]], x=(0, 1)),
        )

    def test_probabilities_of_zero(self):
        network = self.deterministic()
        np.testing.assert_allclose(class_posterior(network, "c"), [0.25, 0.75, 0])
        np.testing.assert_allclose(class_posterior(network, "c", {"x": 1, "w": 0}), [0, 1, 0])
        np.testing.assert_allclose(class_posterior(network, "c", {"v": 0}), [0.4, 0.6, 0])

    @pytest.mark.parametrize(
        ("evidence", "shown"),
        [({"x": 0, "v": 1}, "x = 0, v = 1"), ({"w": 0, "z": 1}, "w = 0, z = 1")],
        ids=["near the class", "far from it"],
    )
    def test_impossible_evidence(self, evidence, shown):
        with pytest.raises(ValueError, match=f"the evidence {shown} has probability 0 in this network"):
            class_posterior(self.deterministic(), "c", evidence)

    def test_refused_evidence(self):
        network = small()
        with pytest.raises(
            ValueError, match=r"evidence: 'z' is not a node of the network; its nodes are \['c', 'x'\]"
        ):
            class_posterior(network, "c", {"z": 0})
        for state in ("1", 3, [1]):
            with pytest.raises(ValueError, match=r"is not a state of node 'x'; its states are \[0, 1, 2\]"):
                class_posterior(network, "c", {"x": state})
        for missing in (None, float("nan")):
            with pytest.raises(ValueError, match=r"the value of 'x' is missing \((None|nan)\): leave the node out"):
                class_posterior(network, "c", {"x": missing})
        with pytest.raises(ValueError, match="the class 'c' is among the evidence"):
            class_posterior(network, "c", {"x": 0, "c": "n"})
        with pytest.raises(TypeError, match="evidence must map nodes to states, not be a list"):
            class_posterior(network, "c", [("x", 0)])


@st.composite
def dags(draw):
    """A random acyclic graph over up to seven nodes, as sets of arcs."""
    n = draw(st.integers(2, 7))
    order = draw(st.permutations([f"v{i}" for i in range(n)]))
    arcs = draw(st.sets(st.sampled_from(list(combinations(order, 2)))))
    return order, arcs


class TestRefitted:
    """A refitted network is asked as any other is."""

    def test_posterior_and_separation(self):
        X, y = load_monks(1)
        refitted = RefittedClassifier(TANClassifier(), l2=1.0).fit(X, y)
        network = refitted.network_
        evidence = {"jacket_color": "red", "is_monk": "yes"}
        expected = class_posterior(network, "body_shape", evidence)
        pd.testing.assert_series_equal(class_posterior(refitted, "body_shape", evidence), expected)
        np.testing.assert_allclose(
            class_posterior(refitted, None, {"jacket_color": "red"}), refitted.query(jacket_color="red")
        )
        pairs = combinations(X.columns, 2)
        for a, b in pairs:
            assert d_separated(refitted, a, b, given="is_monk") == d_separated(network, a, b, given="is_monk")


class TestDSeparated:
    @given(dags(), st.data())
    def test_pairs_agree_with_pgmpy(self, dag, data):
        nodes, arcs = dag
        network = DiscreteBayesianNetwork()
        network.add_nodes_from(nodes)
        network.add_edges_from(arcs)
        for x, y in combinations(nodes, 2):
            others = [node for node in nodes if node not in (x, y)]
            observed = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
            expected = not network.is_dconnected(x, y, observed=observed)
            assert d_separated(network, x, y, observed) == d_separated(network, y, x, observed) == expected

    @given(dags(), st.data())
    def test_sets_are_separated_if_all_pairs_are(self, dag, data):
        nodes, arcs = dag
        network = DiscreteBayesianNetwork()
        network.add_nodes_from(nodes)
        network.add_edges_from(arcs)
        role = [data.draw(st.sampled_from("xyz")) for _ in nodes]
        x, y, z = ([node for node, own in zip(nodes, role, strict=True) if own == part] for part in "xyz")
        if x and y:
            expected = all(not network.is_dconnected(a, b, observed=z) for a in x for b in y)
            assert d_separated(network, x, tuple(y), set(z)) == expected

    def test_known_graphs(self):
        network = general_network()
        assert d_separated(network, "talent", "effort")
        assert not d_separated(network, "talent", "effort", "grade")
        assert not d_separated(network, "talent", "effort", given=["letter"])
        assert d_separated(network, "health", {"letter", "hint"}, ("grade", "talent"))
        assert not d_separated(network, "health", {"letter", "talent"}, "grade")

    def test_other_graphs(self):
        structure = NaiveBayesClassifier().fit(*load_monks(1)).structure_
        assert d_separated(structure.to_networkx(), "holding", "has_tie", "is_monk")
        graph = nx.DiGraph([(("a", 1), 2), (2, 3)])
        assert d_separated(graph, ("a", 1), 3, 2)
        assert not d_separated(graph, ("a", 1), [2, 3])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("q", "x"), r"x: 'q' is not a node of the network; its nodes are \['c', 'x'\]"),
            (("x", ["c", "q"]), "y: 'q' is not a node"),
            (("x", "c", ["q"]), "given: 'q' is not a node"),
            (("x", 5), "y: 5 is not a node"),
            ((["x", ["c"]], "c"), r"x: \['c'\] is not a node"),
            (("x", ["c", "x"]), "x and y both contain 'x'"),
            (("x", "c", ["c"]), "y and given both contain 'c'"),
            (("x", "c", "x"), "x and given both contain 'x'"),
            (([], "c"), "x contains no node"),
            (("c", ()), "y contains no node"),
        ],
    )
    def test_refused_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            d_separated(small(), *arguments)

    def test_refused_graphs(self):
        with pytest.raises(ValueError, match="directed cycle"):
            d_separated(nx.DiGraph([(1, 2), (2, 3), (3, 1)]), 1, 2)
        with pytest.raises(TypeError, match=r"must be a directed graph, .*or a classifier that is one, not a Graph"):
            d_separated(nx.Graph([(1, 2)]), 1, 2)


class TestPackage:
    def run(self, code):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    @pytest.mark.slow
    def test_importing_is_light_until_a_name_is_used(self):
        done = self.run(
            "import sys, anbexact, anbexact.adapters\n"
            "assert 'to_pgmpy' in dir(anbexact.adapters)\n"
            "print(sorted({'pgmpy', 'statsmodels', 'matplotlib', 'torch'} & set(sys.modules)))\n"
            "from anbexact.adapters import to_pgmpy\n"
            "print('pgmpy' in sys.modules, to_pgmpy.__module__, anbexact.adapters.__dict__['to_pgmpy'] is to_pgmpy)"
        )
        assert done.stdout.splitlines() == ["[]", "True anbexact.adapters.pgmpy.networks True"]

    @pytest.mark.slow
    def test_no_warning_of_pgmpy_reaches_the_user(self):
        done = self.run("from anbexact.adapters import to_pgmpy")
        assert done.stderr == ""

    def test_names(self):
        names = {"class_posterior", "d_separated", "from_pgmpy", "load", "save", "to_pgmpy"}
        assert set(anbexact.adapters.__all__) >= names
        assert names <= set(dir(anbexact.adapters))
        assert all(callable(getattr(anbexact.adapters, name)) for name in names)
        assert anbexact.adapters.to_pgmpy is adapter.to_pgmpy
        with pytest.raises(AttributeError, match=r"module 'anbexact\.adapters' has no attribute 'nothing'"):
            _ = anbexact.adapters.nothing
