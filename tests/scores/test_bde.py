"""BDe: its formula with random prior networks, what follows from it, and the searches that use it."""

from functools import cache
from itertools import combinations, pairwise

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, random_problem
from tiers import examples

from anbexact import (
    ANBClassifier,
    BDeu,
    DiscreteTable,
    NaiveBayesClassifier,
    SearchTooLargeError,
    TANClassifier,
    learn_anb,
    learn_ckg,
    learn_gbn,
    learn_naive_bayes,
    learn_tan,
    load,
    structure_posterior,
)
from anbexact.adapters import from_pgmpy
from anbexact.datasets import load_iris, load_monks
from anbexact.models import ConditionalTable, Structure, TableNetwork
from anbexact.scores import BDe, BoundedScore, Score, SetScore
from anbexact.search import learn_greedy_gbn
from anbexact.tables.vocabulary import Vocabulary


def prior_of(seed, arities, names, more=1):
    """A random positive network over these variables and some more, and its joint distribution without the latter.

    The states of its variables are in another order than those of a table.
    """
    rng = np.random.default_rng(seed)
    sizes = [*arities, *rng.integers(1, 3, more).tolist()]
    all_names = [*names, *(f"more{k}" for k in range(more))]
    order = rng.permutation(len(sizes)).tolist()
    tables = {}
    for place, v in enumerate(order):
        parents = tuple(u for u in order[:place] if rng.random() < 0.4)
        values = rng.gamma(1.0, size=[sizes[u] for u in (v, *parents)]) + 0.01
        tables[v] = parents, values / values.sum(axis=0)
    joint = {}
    for states, p in oracles.network_joint(tables, sizes).items():
        joint[states[: len(arities)]] = joint.get(states[: len(arities)], 0.0) + p
    shuffled = [rng.permutation(size).tolist() for size in sizes]
    own = {
        all_names[v]: ConditionalTable(
            all_names[v],
            tuple(all_names[u] for u in parents),
            values[np.ix_(*(shuffled[u] for u in (v, *parents)))],
        )
        for v, (parents, values) in tables.items()
    }
    class_name = all_names[order[0]]
    network = TableNetwork(
        vocabulary=Vocabulary({name: tuple(shuffled[v]) for v, name in enumerate(all_names)}, class_name),
        cut_points={},
        structure=Structure.given(class_name, {name: table.parents for name, table in own.items()}),
        tables=own,
    )
    return network, joint


def problem_and_prior(seed, n=4, **kwargs):
    problem = random_problem(seed, n, max_arity=3, **kwargs)
    return problem, *prior_of(seed, problem.arities, problem.names)


def local_of(problem, joint, ess):
    """The oracle's local score of features, by number, the class among their parents."""
    known = {}

    def local(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            own = problem.n, *key[1]
            known[key] = oracles.bde_local(problem.rows, problem.weights, problem.arities, child, own, joint, ess)
        return known[key]

    return local


class TestFormula:
    @examples(100, quick=10)
    @given(problem=problems(max_features=3), seed=st.integers(0, 10**9), ess=st.sampled_from([0.1, 1.0, 30.0]))
    def test_counts_of_the_prior_network(self, problem, seed, ess):
        network, joint = prior_of(seed, problem.arities, problem.names)
        score = BDe(network, ess)
        variables = range(len(problem.arities))
        for child in variables:
            for parents in oracles.subsets(v for v in variables if v != child):
                expected = oracles.bde_local(
                    problem.rows, problem.weights, problem.arities, child, parents, joint, ess
                )
                found = score.local_score(problem.table, problem.names[child], [problem.names[v] for v in parents])
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * sum(problem.weights))

    @given(problem=problems(max_features=3), ess=st.sampled_from([0.1, 1.0, 30.0]))
    def test_a_uniform_prior_network_gives_bdeu(self, problem, ess):
        uniform = TableNetwork(
            vocabulary=problem.table.vocabulary,
            cut_points={},
            structure=Structure.given("c", dict.fromkeys(problem.names, ())),
            tables={
                name: ConditionalTable(name, (), np.full(arity, 1 / arity))
                for name, arity in zip(problem.names, problem.arities, strict=True)
            },
        )
        close = {"rel": 1e-9, "abs": 1e-9 * sum(problem.weights)}
        for name in problem.names:
            for parents in oracles.subsets(other for other in problem.names if other != name):
                expected = BDeu(ess).local_score(problem.table, name, parents)
                for score in (BDe(uniform, ess), BDe(ess=ess)):
                    assert score.local_score(problem.table, name, parents) == pytest.approx(expected, **close)

    @given(problem=problems(min_features=2, max_features=3), seed=st.integers(0, 10**9))
    def test_is_score_equivalent(self, problem, seed):
        """All orders of a complete graph are equivalent, and so are both directions of an arc."""
        score = BDe(prior_of(seed, problem.arities, problem.names)[0], 3.0)
        local = score.local_score
        scale = {"rel": 1e-9, "abs": 1e-9 * sum(problem.weights)}
        for a, b in combinations(problem.names, 2):
            forth = local(problem.table, a, []) + local(problem.table, b, [a])
            assert forth == pytest.approx(local(problem.table, b, []) + local(problem.table, a, [b]), **scale)
        totals = [
            sum(local(problem.table, name, order[:k]) for k, name in enumerate(order))
            for order in (problem.names, problem.names[::-1])
        ]
        assert totals[0] == pytest.approx(totals[1], **scale)

    def test_many_rows_of_the_prior_make_its_states_free(self):
        """As the prior counts grow, a row costs -ln P(k | j) by the prior network, whatever the other rows are."""
        problem, network, joint = problem_and_prior(5, 2)
        total = 0.0
        for row, weight in zip(problem.rows, problem.weights, strict=True):
            given_c = oracles.consistent(joint, {2: row[2]})
            both = oracles.consistent(given_c, {0: row[0]})
            total += weight * np.log(sum(both.values()) / sum(given_c.values()))
        assert BDe(network, 1e12).local_score(problem.table, "f0", ["c"]) == pytest.approx(total, rel=1e-6)


class TestSearches:
    @pytest.mark.parametrize("seed", range(4))
    def test_optima_are_those_of_brute_force(self, seed):
        problem, network, joint = problem_and_prior(seed, 3, n_rows=30, weights=("ones", "real")[seed % 2])
        score = BDe(network, 5.0)
        local = local_of(problem, joint, 5.0)
        arguments = problem.rows, problem.weights, problem.arities
        of_class = oracles.bde_local(*arguments, problem.n, (), joint, 5.0)
        close = {"rel": 1e-9, "abs": 1e-9 * sum(problem.weights)}
        anb = learn_anb(problem.table, score)
        best = of_class + oracles.best_over_orders(range(problem.n), local)
        assert anb.score == pytest.approx(best, **close)
        assert anb.certificate.optimal
        tan = learn_tan(problem.table, score)
        assert tan.score == pytest.approx(of_class + oracles.best_branching(problem.n, local, tree=True)[0], **close)
        gbn = learn_gbn(problem.table, score)
        of_any = cache(lambda child, parents: oracles.bde_local(*arguments, child, parents, joint, 5.0))
        everywhere = oracles.best_over_orders(
            range(problem.n + 1), lambda child, own: of_any(child, tuple(sorted(own)))
        )
        assert gbn.score == pytest.approx(everywhere, **close)
        scores = [
            gbn.score,
            anb.score,
            learn_ckg(problem.table, score).score,
            tan.score,
            learn_greedy_gbn(problem.table, score).score,
        ]
        assert all(a >= b - close["abs"] for a, b in pairwise(scores[:4]))
        assert gbn.score >= scores[-1] - close["abs"]

    def test_the_prior_network_decides_without_data(self):
        """With a strong prior and few rows, arcs that it knows are found, which BDeu does not see."""
        rng = np.random.default_rng(0)
        c, a = rng.integers(0, 2, (2, 4000))
        b = np.where(rng.random(4000) < 0.95, a, 1 - a)
        rows = np.stack([a, b], axis=1)
        expert = TANClassifier(ess=1).fit(rows, c)
        few = DiscreteTable.from_frame(rows[:6], c[:6], categories={"x0": [0, 1], "x1": [0, 1], "class": [0, 1]})
        by_prior = BDe(expert.model_, 100.0)
        assert by_prior.local_score(few, "x1", ["class", "x0"]) > by_prior.local_score(few, "x1", ["class"]) + 1

    def test_posterior_of_structures(self):
        problem, network, joint = problem_and_prior(3, 3)
        scores = BDe(network, 2.0), BDe(ess=2.0), BDeu(2.0)
        found, uniform, expected = (
            structure_posterior(problem.table, score, prior="graphs").log_evidence for score in scores
        )
        assert uniform == pytest.approx(expected, rel=1e-9)
        local = local_of(problem, joint, 2.0)
        graphs = list(oracles.graphs(3))
        total = oracles.log_sum([sum(local(v, of_v) for v, of_v in graph.items()) for graph in graphs])
        by_prior = oracles.bde_local(problem.rows, problem.weights, problem.arities, problem.n, (), joint, 2.0)
        assert found - expected != pytest.approx(0, abs=1e-3)
        assert found == pytest.approx(by_prior + total - np.log(len(graphs)), rel=1e-9)

    def test_in_a_classifier(self):
        X, y = load_monks(1)
        earlier = NaiveBayesClassifier(ess=1).fit(X[:200], y[:200])
        fitted = ANBClassifier(structure_score=BDe(earlier.model_, 10.0), ess=1).fit(X[200:], y[200:])
        assert fitted.score_name_ == "BDe"
        assert fitted.structure_.certificate.optimal
        of_pgmpy = BDe(from_pgmpy(earlier.network_, "holding").model_, 10.0)
        again = ANBClassifier(structure_score=of_pgmpy, ess=1).fit(X[200:], y[200:])
        assert again.structure_.score == pytest.approx(fitted.structure_.score, rel=1e-12)

    def test_files_contain_the_prior_network(self, tmp_path):
        X, y = load_iris()
        earlier = TANClassifier(ess=1, discretizer="median").fit(X[::2], y[::2])
        score = BDe(earlier.model_, 10.0)
        fitted = ANBClassifier(structure_score=score, ess=1, discretizer="median").fit(X[::2], y[::2])
        fitted.save(tmp_path / "model.json")
        again = load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
        assert again.structure_score.ess == 10.0
        read = again.structure_score.prior_network
        assert dict(read.vocabulary.states) == dict(earlier.model_.vocabulary.states)
        for name, table in earlier.model_.tables.items():
            assert read.tables[name].parents == table.parents
            np.testing.assert_array_equal(read.tables[name].values, table.values)
        refitted = again.fit(X[::2], y[::2])
        assert refitted.structure_.score == pytest.approx(fitted.structure_.score, rel=1e-12)

    def test_what_it_lacks(self):
        """Neither set scores by kernels nor bounds: exact searches without a limit stop at 16 features and say so."""
        problem = random_problem(0, 17, n_rows=30, max_arity=2)
        score = BDe(ess=2.0)
        assert isinstance(score, Score)
        assert not isinstance(score, SetScore | BoundedScore)
        with pytest.raises(SearchTooLargeError, match="use a score such as BDeu or BIC"):
            learn_anb(problem.table, score)
        assert learn_naive_bayes(problem.table, score).score == pytest.approx(
            learn_naive_bayes(problem.table, BDeu(2.0)).score, rel=1e-9
        )


class TestRefusals:
    def test_of_networks(self):
        X, y = load_monks(1)
        table = DiscreteTable.from_frame(X, y)
        fewer = NaiveBayesClassifier(ess=1).fit(X.drop(columns="holding"), y).model_
        with pytest.raises(ValueError, match="the prior network has no variable 'holding'; its variables are"):
            learn_tan(table, BDe(fewer))
        one = NaiveBayesClassifier(ess=1).fit(X.assign(holding=X["holding"].astype(str).replace("flag", "Flag")), y)
        with pytest.raises(ValueError, match=r"column 'holding' has the states \[.*'flag'.*\], but in the prior"):
            learn_tan(table, BDe(one.model_))
        zeros = NaiveBayesClassifier(ess=1, parameters="ml").fit(X[:5], y[:5].astype(object))
        states = {name: table.vocabulary.states[name] for name in X}
        assert zeros.model_.vocabulary.states.keys() == {*states, "is_monk"}
        only = NaiveBayesClassifier(ess=1, parameters="ml", categories=states).fit(
            X[y == "yes"][:5], y[y == "yes"][:5]
        )
        with pytest.raises(ValueError, match="probability 0: every joint state needs a positive prior"):
            BDe(only.model_).local_score(table, "holding", [])

    @pytest.mark.parametrize("network", [{"a": 1}, "network", NaiveBayesClassifier()])
    def test_of_other_values(self, network):
        with pytest.raises(TypeError, match="prior_network must be a network of conditional tables"):
            BDe(network)

    def test_of_other_models(self):
        densities = NaiveBayesClassifier(continuous="universal").fit(*load_iris()).model_
        with pytest.raises(TypeError, match="prior_network must be a network of conditional tables"):
            BDe(densities)

    @pytest.mark.parametrize("ess", [0, -1.0, float("nan"), "1", 1e101])
    def test_of_sample_sizes(self, ess):
        with pytest.raises(ValueError, match="ess must"):
            BDe(ess=ess)
