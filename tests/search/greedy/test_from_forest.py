"""Hill climbing from the best forest: admitted, never above the optimum, and the optimum for one parent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, constrained_problems, random_problem, table_of
from tiers import examples

from anbexact import BDeu, learn_anb, learn_fan, learn_gbn
from anbexact.search.exact.solution import rounding_error
from anbexact.search.greedy.from_forest import climb_from_forest
from anbexact.search.naive_bayes import learn_naive_bayes

GENERAL = sorted(name for name in SCORES if name != "ACLL")


def named(problem, drawn):
    """The constraints by the names of the variables."""
    return drawn | {
        kind: [(problem.names[a], problem.names[b]) for a, b in drawn[kind]] for kind in ("required", "forbidden")
    }


def check_admitted(structure, table, limits, *, below_class):
    """The class is where it must be, no variable has too many parents, and arcs are as required."""
    class_name = table.vocabulary.class_name
    counted = 0
    for child, parents in structure.parents.items():
        if below_class and child != class_name:
            assert parents[0] == class_name
        counted = max(counted, len(parents) - (below_class and child != class_name))
    assert limits["max_parents"] is None or counted <= limits["max_parents"]
    arcs = set(structure.edges)
    assert arcs.issuperset(limits["required"])
    assert arcs.isdisjoint(limits["forbidden"])
    assert structure.score == pytest.approx(
        sum(limits["score"].local_score(table, child, list(of)) for child, of in structure.parents.items()), abs=1e-9
    )


@given(drawn=constrained_problems(max_features=4), name=st.sampled_from(GENERAL), below_class=st.booleans())
@examples(60)
def test_is_admitted_and_not_better_than_the_optimum(drawn, name, below_class):
    problem, limits = drawn[0], named(*drawn)
    table, score = problem.table, SCORES[name]()
    search = learn_anb if below_class else learn_gbn
    found = climb_from_forest(table, score, below_class=below_class, **limits)
    best = search(table, score, **limits)
    check_admitted(
        found, table if below_class else table.without_class(), limits | {"score": score}, below_class=below_class
    )
    assert found.score <= best.score + rounding_error(table, best.score)
    assert not found.certificate.optimal


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ess", [1.0, 20.0])
def test_is_the_optimum_if_features_have_one_parent(seed, ess):
    table = random_problem(seed, 7, n_rows=150).table
    found = climb_from_forest(table, BDeu(ess), below_class=True, max_parents=1)
    best = learn_anb(table, BDeu(ess), max_parents=1)
    assert found.score == pytest.approx(best.score, abs=rounding_error(table, best.score))
    assert found.score >= learn_naive_bayes(table, BDeu(ess)).score


@pytest.mark.parametrize("below_class", [True, False])
def test_is_often_the_optimum(below_class):
    """Of twelve random tables, the optimum is found often, and no forest is better in any."""
    search, optimal = learn_anb if below_class else learn_gbn, 0
    for seed in range(12):
        table = random_problem(seed, 5, n_rows=200).table
        best = search(table).score
        found = climb_from_forest(table, BDeu(), below_class=below_class).score
        optimal += abs(found - best) < 1e-8 * abs(best)
        assert found >= learn_fan(table).score - 1e-8 * abs(best)
    assert optimal > (6 if below_class else 0)


def test_a_feature_of_one_state_has_no_feature_parent():
    problem = random_problem(3, 4, n_rows=60, unseen=False)
    rows = [(row[0], 0, *row[2:]) for row in problem.rows]
    table = table_of(rows, problem.weights, [problem.arities[0], 1, *problem.arities[2:]])
    structure = climb_from_forest(table, BDeu(), below_class=True)
    assert structure.parents["f1"] == ("c",)
    assert not structure.children("f1")
    assert tuple(structure.parents) == table.vocabulary.names
    assert climb_from_forest(table, BDeu(), below_class=False).parents["f1"] == ()
