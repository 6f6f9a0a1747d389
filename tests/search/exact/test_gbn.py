"""General networks: against brute force over all acyclic graphs, and as classifiers."""

import itertools
import json

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, ess_values, problems, random_problem, table_of
from test_pruned import few_sets

import anbexact
import anbexact.classifiers.choosing.limits as memory
import anbexact.search.exact.branch_and_cut as branch_and_cut
from anbexact import BDeu, GBNClassifier, learn_anb, learn_gbn, learn_naive_bayes, verify
from anbexact.scores import BIC, FNML, LL
from anbexact.search.exact import plan
from anbexact.search.exact.candidates import has_candidates
from anbexact.search.scoring.totals import total_score


def by_number(structure, problem):
    """The parents of a structure, variables by number."""
    number = {name: v for v, name in enumerate(problem.names)}
    return {number[child]: [number[p] for p in of_child] for child, of_child in structure.parents.items()}


def optimum(problem, local, **constraints):
    """Highest total of ``local`` over the acyclic graphs on all variables."""
    known = {}

    def kept(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            known[key] = local(child, list(key[1]))
        return known[key]

    return oracles.best_over_orders(range(problem.n + 1), kept, **constraints)


@st.composite
def constraints_on(draw, n):
    """Constraints on n variables that some graph respects."""
    order = draw(st.permutations(range(n)))
    required, forbidden = [], []
    for a, b in itertools.permutations(range(n), 2):
        fate = draw(st.sampled_from(["free", "free", "free", "required", "forbidden"]))
        if fate == "required" and order.index(a) < order.index(b):
            required.append((a, b))
        elif fate == "forbidden":
            forbidden.append((a, b))
    crowd = max([0, *(sum(child == b for _, b in required) for child in range(n))])
    return {"max_parents": draw(st.none() | st.integers(crowd, 4)), "required": required, "forbidden": forbidden}


class TestOptimum:
    @given(problem=problems(max_features=4), ess=ess_values)
    def test_bdeu_equals_brute_force(self, problem, ess):
        structure = learn_gbn(problem.table, BDeu(ess))
        rows, weights, arities = problem.rows, problem.weights, problem.arities
        expected = optimum(problem, lambda i, s: oracles.bdeu_local(rows, weights, arities, i, s, ess))
        assert structure.score == pytest.approx(expected, rel=1e-10, abs=1e-9)
        found = by_number(structure, problem)
        assert oracles.is_acyclic(found)
        rescored = oracles.structure_score(rows, weights, arities, found, ess)
        assert structure.score == pytest.approx(rescored, rel=1e-10, abs=1e-9)
        assert structure.certificate.optimal
        assert verify(structure, problem.table)

    @pytest.mark.parametrize("name", [name for name in SCORES if name != "ACLL"])
    @given(problem=problems(max_features=3), lists=st.booleans())
    def test_every_score_equals_brute_force(self, name, problem, lists):
        """By set scores, by families, and by candidate lists with cuts where there are such."""
        score = SCORES[name]()
        general = problem.table.without_class()
        with pytest.MonkeyPatch.context() as patch:
            if lists:
                patch.setattr(plan.Plan, "fits", property(lambda _self: False))
                patch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
            listed = lists and has_candidates(problem.table, score)
            structure = learn_gbn(problem.table, score) if listed or not lists else None
        if structure is None:
            return
        assert structure.certificate.method.startswith("pruned search") == listed

        def local(child, parents):
            return score.local_score(general, problem.names[child], [problem.names[p] for p in parents])

        assert structure.score == pytest.approx(optimum(problem, local), rel=1e-9, abs=1e-8)
        assert structure.certificate.optimal
        assert verify(structure, problem.table)

    @given(data=st.data(), problem=problems(max_features=3), ess=ess_values, lists=st.booleans())
    def test_constraints_bear_on_the_class_too(self, data, problem, ess, lists):
        limits = data.draw(constraints_on(problem.n + 1))
        named = {
            key: [(problem.names[a], problem.names[b]) for a, b in limits[key]] for key in ("required", "forbidden")
        }
        with pytest.MonkeyPatch.context() as patch:
            if lists:
                patch.setattr(plan.Plan, "fits", property(lambda _self: False))
            structure = learn_gbn(problem.table, BDeu(ess), max_parents=limits["max_parents"], **named)
        assert structure.certificate.method.startswith("pruned search") == lists
        rows, weights, arities = problem.rows, problem.weights, problem.arities
        expected = optimum(problem, lambda i, s: oracles.bdeu_local(rows, weights, arities, i, s, ess), **limits)
        assert structure.score == pytest.approx(expected, rel=1e-10, abs=1e-9)
        for child, parents in by_number(structure, problem).items():
            assert oracles.admitted(child, parents, **limits)
        assert verify(structure, problem.table)

    @given(problem=problems(max_features=4), ess=ess_values)
    def test_no_augmented_naive_bayes_is_better(self, problem, ess):
        general, augmented = learn_gbn(problem.table, BDeu(ess)), learn_anb(problem.table, BDeu(ess))
        assert general.score >= augmented.score - 1e-9 * max(1.0, abs(augmented.score))

    def test_a_table_of_the_class_alone(self):
        table = anbexact.DiscreteTable.from_frame(pd.DataFrame({"c": ["a", "b", "b"]}), class_name="c")
        structure = learn_gbn(table)
        assert dict(structure.parents) == {"c": ()}
        assert structure.score == pytest.approx(learn_naive_bayes(table).score)

    @pytest.mark.slow
    def test_many_features_by_candidate_lists(self):
        problem = random_problem(1, 30, n_rows=150)
        structure = learn_gbn(problem.table, BIC())
        assert structure.certificate.optimal
        assert structure.certificate.method == "pruned search"
        assert structure.score > learn_anb(problem.table, BIC()).score
        assert verify(structure, problem.table)

    def test_forged_certificates_do_not_pass(self):
        problem = random_problem(2, 5)
        structure = learn_gbn(problem.table)
        naive = learn_naive_bayes(problem.table)
        forged = anbexact.Structure("c", naive.parents, naive.score, structure.certificate)
        assert not verify(forged, problem.table)
        augmented = learn_anb(problem.table)
        assert not verify(
            anbexact.Structure("c", structure.parents, structure.score, augmented.certificate), problem.table
        )

    def test_a_time_limit_leaves_a_structure_and_a_bound(self):
        problem = random_problem(3, 8)
        structure = learn_gbn(problem.table, BDeu(), time_limit=1e-9, required=[("f0", "c")])
        best = learn_gbn(problem.table, required=[("f0", "c")])
        assert not structure.certificate.optimal
        assert "f0" in structure.parents["c"]
        assert structure.score <= best.score + 1e-9 <= structure.certificate.upper_bound + 2e-9

    def test_limits_are_told_in_its_own_words(self):
        method = learn_gbn(random_problem(4, 4).table, max_parents=1).certificate.method
        assert method.endswith("among structures with at most 1 parent")

    def test_lists_that_are_cut_say_so(self, monkeypatch):
        problem = random_problem(5, 9, n_rows=200)
        monkeypatch.setattr(plan.Plan, "fits", property(lambda _self: False))
        few_sets(monkeypatch, 60)
        structure = learn_gbn(problem.table, BDeu(10.0))
        assert not structure.certificate.optimal
        assert verify(structure, problem.table)
        monkeypatch.undo()
        best = learn_gbn(problem.table, BDeu(10.0))
        assert best.score <= structure.certificate.upper_bound + 1e-9

    def test_refuses_a_score_that_needs_the_class(self):
        with pytest.raises(TypeError, match=r"learn_gbn treats .* aCLL needs it among the parents of every feature"):
            learn_gbn(random_problem(6, 3).table, SCORES["ACLL"]())

    def test_refuses_an_edge_between_strangers(self):
        with pytest.raises(ValueError, match=r"names 'nobody', but edges can be required between \['f0', .*'c'\]"):
            learn_gbn(random_problem(7, 2).table, required=[("nobody", "c")])


class TestClassifier:
    @given(problem=problems(max_features=3, min_arity=2), ess=ess_values, data=st.data())
    def test_posterior_equals_the_formula(self, problem, ess, data):
        """Also where cells are missing, and where features are the parents of the class."""
        required = data.draw(st.sampled_from([(), (("f0", "c"),), (("c", "f0"),)]))
        X, y = problem.frame()
        classifier = GBNClassifier(ess=ess, categories=problem.categories, required_edges=required)
        classifier.fit(X, y, sample_weight=problem.weights)
        parents = by_number(classifier.structure_, problem)
        rows, weights, arities = problem.rows, problem.weights, problem.arities
        tables = {v: (of_v, oracles.eap(rows, weights, arities, v, of_v, ess)) for v, of_v in parents.items()}
        evidence = {v: data.draw(st.none() | st.integers(0, arities[v] - 1), label=f"f{v}") for v in range(problem.n)}
        row = pd.DataFrame({f"f{v}": pd.array([state], dtype="Int64") for v, state in evidence.items()})
        observed = {v: state for v, state in evidence.items() if state is not None}
        expected = np.exp(oracles.log_posterior(tables, arities, problem.n, observed))
        assert classifier.predict_proba(row)[0] == pytest.approx(expected, rel=1e-9)

    def test_posterior_equals_that_of_pgmpy(self):
        from pgmpy.inference import VariableElimination

        problem = random_problem(8, 5, n_rows=120)
        X, y = problem.frame()
        classifier = GBNClassifier(required_edges=[("f0", "c"), ("f1", "c")], categories=problem.categories).fit(X, y)
        inference = VariableElimination(classifier.network_)
        ours = classifier.predict_proba(X.head(10))
        for k, row in enumerate(X.head(10).itertuples(index=False)):
            found = inference.query(["c"], evidence=row._asdict(), show_progress=False)
            assert [found.get_value(c=state) for state in classifier.classes_] == pytest.approx(ours[k], rel=1e-9)

    def test_only_the_markov_blanket_matters(self):
        problem = random_problem(9, 6, n_rows=40)
        X, y = problem.frame()
        classifier = GBNClassifier(max_parents=1).fit(X, y)
        structure = classifier.structure_
        children = structure.children("c")
        blanket = {*structure.parents["c"], *children, *(p for child in children for p in structure.parents[child])}
        others = [name for name in X if name not in blanket]
        assert others
        changed = X.assign(**{name: X[name].iloc[::-1].to_numpy() for name in others})
        assert classifier.predict_proba(changed) == pytest.approx(classifier.predict_proba(X), rel=1e-9)

    def test_learns_again_with_fewer_parents_where_tables_are_too_large(self, monkeypatch):
        problem = random_problem(10, 6, n_rows=300)
        X, y = problem.frame()
        monkeypatch.setattr(memory, "available_memory", lambda: 1000.0)
        monkeypatch.setattr(memory, "TABLE_MEMORY", 2000)
        with pytest.warns(UserWarning, match="learned again with max_parents="):
            classifier = GBNClassifier(ess=100.0).fit(X, y)
        most = max(map(len, classifier.structure_.parents.values()))
        assert most < max(map(len, learn_gbn(problem.table, BDeu(100.0)).parents.values()))

    def test_a_file_keeps_posterior_and_proof(self, tmp_path):
        problem = random_problem(11, 5)
        X, y = problem.frame()
        classifier = GBNClassifier(structure_score="bic", categories=problem.categories).fit(X, y)
        classifier.save(tmp_path / "gbn.json")
        again = anbexact.load(tmp_path / "gbn.json")
        assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
        assert verify(again.structure_, problem.table)
        assert json.loads((tmp_path / "gbn.json").read_text())["estimator"] == "GBNClassifier"

    def test_rows_can_be_added(self):
        problem = random_problem(12, 4, n_rows=80)
        X, y = problem.frame()
        halves = GBNClassifier(ess=1.0, categories=problem.categories).fit(X[:40], y[:40])
        structure = halves.structure_
        halves.partial_fit(X[40:], y[40:])
        assert halves.structure_.score == pytest.approx(
            total_score(problem.table.without_class(), BDeu(), dict(structure.parents))
        )

    @pytest.mark.parametrize("score", ["bdeu", "bic", "fnml"])
    def test_the_logistic_regression_has_the_same_posterior(self, score):
        problem = random_problem(13, 4, n_rows=80)
        X, y = problem.frame()
        classifier = GBNClassifier(structure_score=score, required_edges=[("f0", "c")]).fit(X, y)
        assert classifier.to_logit().predict_proba(X) == pytest.approx(classifier.predict_proba(X), rel=1e-9)

    def test_the_equivalent_sample_size_can_be_left_to_the_data(self):
        problem = random_problem(14, 5, n_rows=200)
        X, y = problem.frame()
        classifier = GBNClassifier(ess="auto").fit(X, y)
        assert classifier.structure_.certificate.optimal
        assert classifier.structure_.score >= GBNClassifier(ess=1.0).fit(X, y).structure_.score


def test_equivalent_scores_choose_equivalent_networks_whatever_the_order_of_columns():
    problem = random_problem(15, 4, n_rows=200)
    X, y = problem.frame()
    first = learn_gbn(anbexact.DiscreteTable.from_frame(X, y))
    second = learn_gbn(anbexact.DiscreteTable.from_frame(X[X.columns[::-1]], y))
    assert first.score == pytest.approx(second.score, rel=1e-12)


def test_likelihood_takes_all_arcs():
    structure = learn_gbn(random_problem(16, 4, n_rows=300, unseen=False).table, LL())
    assert len(structure.edges) == 10


def test_families_without_set_scores_are_all_scored():
    certificate = learn_gbn(random_problem(17, 3).table, FNML()).certificate
    assert certificate.method == "dynamic programme over families"
    assert certificate.sets_scored == 4 * 2**3


@pytest.mark.parametrize("learn", [learn_gbn, learn_anb])
@pytest.mark.parametrize("seed", range(15))
def test_lists_and_lattice_agree_whatever_the_order_of_rows(learn, seed, monkeypatch):
    """Equally good structures are common: the rule for ties decides, not rounding."""
    problem = random_problem(seed, 5, n_rows=40, weights="real")
    usual = learn(problem.table)
    monkeypatch.setattr(plan.Plan, "fits", property(lambda _self: False))
    order = np.random.default_rng(seed).permutation(len(problem.rows))
    turned = table_of([problem.rows[k] for k in order], [problem.weights[k] for k in order], problem.arities)
    for table in (problem.table, turned):
        found = learn(table)
        assert found.certificate.method == "pruned search"
        assert dict(found.parents) == dict(usual.parents)


@pytest.mark.parametrize("name", [None, np.nan])
def test_a_column_without_a_name_is_refused(name):
    X, y = random_problem(30, 2).frame()
    X.columns = pd.Index(["f0", name], dtype=object)
    with pytest.raises(ValueError, match=f"a column is called {name}: give it a name"):
        GBNClassifier().fit(X, y)
