"""Total scores of structures: all sets at once, and one local score after the other."""

from signal import SIGINT, raise_signal

import pytest
from strategies import SCORES, random_problem

from anbexact._runtime.deadline import abandonable
from anbexact.scores import BDeu
from anbexact.search import learn_tan
from anbexact.search.scoring import totals
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.totals import sum_of_local_scores, total_score


@pytest.mark.parametrize("weights", ["ones", "real"])
@pytest.mark.parametrize("name", SCORES)
def test_is_the_sum_of_the_local_scores(name, weights):
    problem = random_problem(3, 5, weights=weights)
    table, score = problem.table, SCORES[name]()
    for of in (table, table.without_class()):
        if of is not table and name == "ACLL":  # which needs a class
            continue
        parents = dict(learn_tan(of, score).parents)
        one_by_one = sum(score.local_score(of, child, own) for child, own in parents.items())
        assert sum_of_local_scores(of, score, parents) == one_by_one
        assert total_score(of, score, parents) == pytest.approx(one_by_one, rel=1e-10)


def test_is_computed_at_once_only_without_an_interrupt(monkeypatch):
    table, score = random_problem(3, 5).table, BDeu()
    parents = dict(learn_tan(table, score).parents)
    expected = sum_of_local_scores(table, score, parents)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(totals, "sum_of_local_scores")
        assert total_score(table, score, parents) == pytest.approx(expected, rel=1e-12)
    asked = []
    usual = FamilyScorer.set_scores
    monkeypatch.setattr(FamilyScorer, "set_scores", lambda self, *of: asked.append(usual(self, *of)) or asked[-1])

    def interrupted():
        with abandonable():
            raise_signal(SIGINT)
            assert total_score(table, score, parents) == expected

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert asked == [None]
