"""What a search costs: how it is foreseen and announced, how limits are kept, and what is returned at a limit."""

import io
import re
import time
import warnings
from math import comb

import numba
import numpy as np
import pytest
from numba.core.event import Event, EventStatus
from strategies import random_problem

import anbexact.search.exact.lattice as lattice
from anbexact import ANBClassifier, BDeu, DiscreteTable, learn_anb, learn_gbn, learn_tan, verify
from anbexact._runtime import deadline as deadlines
from anbexact._runtime import progress as progress_module
from anbexact._runtime.advice import advise, heard_once
from anbexact._runtime.deadline import Deadline, ProcessorDeadline
from anbexact._runtime.memory import SearchTooLargeError
from anbexact.scores import AIC, BIC, K2, LL, QNML, BDs
from anbexact.search.constraints import make_constraints
from anbexact.search.ess import START_ESS, climb_in_ess
from anbexact.search.exact import exact_search, plan, pruned
from anbexact.search.exact.candidates import Candidates
from anbexact.search.exact.parent_set_identification import ParentSetSearch
from anbexact.search.exact.solution import local_bound
from anbexact.search.scoring.set_scores import SetScoreProblem, prepare


def random_table(n, rows, states=2, seed=0):
    """Return a table of independent columns and a class."""
    rng = np.random.default_rng(seed)
    return DiscreteTable.from_frame(rng.integers(0, states, (rows, n)), rng.integers(0, 2, rows))


class TestCountingSets:
    @pytest.mark.parametrize("score", [BDeu(), BDeu(20.0), BIC(), QNML()], ids=["bdeu", "bdeu 20", "bic", "qnml"])
    @pytest.mark.parametrize("weights", ["ones", "whole", "real"])
    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_comes_to_what_refining_does(self, score, weights, most):
        problem = prepare(random_problem(4, 7, n_rows=90, weights=weights).table, score, most)
        refined = lattice.score_all_sets(problem, 2, Deadline(), None)
        counted = lattice._counted_scores(problem, 2, Deadline(), None)
        small = np.bitwise_count(np.arange(len(refined))) <= most
        np.testing.assert_allclose(counted[small], refined[small], rtol=1e-11, atol=1e-9)
        assert not counted[~small].any()

    def test_a_search_by_counting_finds_the_optimum(self, monkeypatch):
        table = random_problem(4, 7, n_rows=90).table
        for search in (learn_anb, learn_gbn):
            usual = search(table, max_parents=2)
            with monkeypatch.context() as patched:
                patched.setattr(lattice, "counting_pays", lambda _: True)
                patched.setattr(lattice, "score_all_sets", None)
                counted = search(table, max_parents=2)
                assert verify(counted, table)
            assert counted.parents == usual.parents
            assert counted.certificate.sets_scored == usual.certificate.sets_scored

    def test_where_sets_are_few_and_rows_are_many(self):
        long, wide, short = random_table(20, 30_000, 3), random_table(20, 30_000, 12), random_table(20, 2_000, 3)
        assert lattice.counting_pays(prepare(long, BDeu(), 3))
        assert not lattice.counting_pays(prepare(long, BDeu(), 20)), "all sets"
        assert not lattice.counting_pays(prepare(wide, BDeu(), 4)), "cells of few rows"
        assert not lattice.counting_pays(prepare(short, BDeu(), 3)), "few rows"

    def test_the_estimate_lays_out_no_rows(self, monkeypatch):
        monkeypatch.setattr(SetScoreProblem, "laid_out", None)
        table = random_table(20, 30_000, 3)
        steps = sum(comb(20, k) for k in range(4)) * len(table.weights)
        assert lattice.lattice_seconds(table, BDeu(), 2, Deadline()) == pytest.approx(
            steps * lattice.COUNTING_SECONDS + 20 * 2**19 * 16e-9
        )

    def test_an_ended_time_ends_it(self):
        problem = prepare(random_table(6, 50), BDeu(), 3)
        assert lattice._counted_scores(problem, 1, Deadline(0.0), None) is None


class TestEstimate:
    @pytest.mark.parametrize("n_constant", [0, 12, 20])
    def test_takes_few_steps_whatever_the_table(self, n_constant, monkeypatch):
        """Also where columns of one state take part in the search, as required arcs make them."""
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.integers(0, 2, (2_000, 6)), np.zeros((2_000, n_constant), int)])
        table = DiscreteTable.from_frame(X, rng.integers(0, 2, 2_000))
        steps = []
        usual = SetScoreProblem.subtree

        def counted(problem, prefix, out):
            steps.append((usual(problem, prefix, out), len(out)))
            return steps[-1][0]

        monkeypatch.setattr(SetScoreProblem, "subtree", counted)
        assert lattice.lattice_seconds(table, BDeu(), 30, Deadline()) > 0
        assert lattice.LEAST_SAMPLES <= len(steps) <= lattice.MOST_SAMPLES
        most = 2 ** (lattice.FEWER_SETS_TIMES_ROWS + 3)
        assert max(work for work, _ in steps) <= most
        assert sum(work for work, _ in steps[:-1]) <= max(lattice.STEPS_TRIED, lattice.LEAST_SAMPLES * most)

    def test_keeps_the_time_limit(self, monkeypatch):
        monkeypatch.setattr(SetScoreProblem, "subtree", None)
        assert lattice.lattice_seconds(random_table(12, 100), BDeu(), 11, Deadline(0.0)) is None

    def test_counts_the_work_of_all_sets(self, monkeypatch):
        """The parts are taken at random; where they are all there is, their work is that of the search."""
        table = random_table(9, 300, 3)
        problem = prepare(table, BDeu(), 9)
        work = sum(problem.subtree(prefix, np.empty(1 << problem.dense)) for prefix in range(1 << 9 - problem.dense))
        monkeypatch.setattr(lattice, "MOST_SAMPLES", 2_000)
        monkeypatch.setattr(lattice, "FEWER_SETS_TIMES_ROWS", 0)
        expected = 2**9 * 180e-9 + work * 1.3e-9 + 9 * 2**8 * 16e-9
        assert lattice.lattice_seconds(table, BDeu(), 8, Deadline()) == pytest.approx(expected, rel=0.1)

    def test_few_features_are_left_to_the_end_of_the_walk(self):
        X = np.column_stack([np.zeros((20, 18), int), np.arange(20)[:, None] % 2])
        assert prepare(DiscreteTable.from_frame(X, np.arange(20) % 3), BDeu(), 19).dense == 5

    def test_tasks_stay_short_on_long_tables(self):
        for rows in (100, 10_000, 2_000_000):
            table = random_table(20, 10)
            problem = prepare(table, BDeu(), 20)
            object.__setattr__(table, "weights", np.broadcast_to(1.0, rows))
            assert (rows << 20 - problem.decided) <= 2 ** (lattice.SETS_TIMES_ROWS + 1)


class TestFallback:
    """What is returned when the time does not suffice is no worse than the tree, and its bound holds."""

    CONSTRAINTS = (
        {},
        {"max_parents": 2},
        {"max_parents": 1},
        {"forbidden": [("f0", "f1"), ("f2", "f3")]},
        {"required": [("f3", "f0")]},
    )

    @pytest.mark.parametrize("options", CONSTRAINTS, ids=str)
    @pytest.mark.parametrize("score", [BDeu(), BIC(), K2(), BDs()], ids=lambda score: score.name)
    @pytest.mark.parametrize("foreseen", [0.0, 100.0, 1e6])
    def test_of_the_search_through_all_sets(self, options, score, foreseen, monkeypatch):
        monkeypatch.setattr(lattice, "score_all_sets", lambda *_: None)
        monkeypatch.setattr(exact_search, "solve_families", lambda *_: exact_search.Stopped(np.inf, 0))
        monkeypatch.setattr(plan.Plan, "seconds", foreseen)
        monkeypatch.setattr(plan.Plan, "prunes", False)
        table = random_problem(8, 6, n_rows=200).table
        edges = {name: value for name, value in options.items() if name != "max_parents"}
        structure = learn_anb(table, score, time_limit=60, **options)
        assert structure.score >= learn_tan(table, score, **edges).score - 1e-9
        assert not structure.certificate.optimal
        assert structure.certificate.upper_bound >= learn_anb_in_time(table, score, options, monkeypatch) - 1e-9

    def test_of_a_general_network(self, monkeypatch):
        monkeypatch.setattr(lattice, "score_all_sets", lambda *_: None)
        for seed in range(4):
            table = random_problem(seed, 6, n_rows=200).table
            structure = learn_gbn(table, time_limit=60)
            assert structure.score >= learn_tan(table).score - 1e-9
            required = [("f1", "c"), ("f2", "f1")]
            assert set(required) <= set(learn_gbn(table, time_limit=60, required=required).edges)

    def test_of_lists_that_there_was_no_time_for(self, monkeypatch):
        monkeypatch.setattr(plan.Plan, "prunes", True)
        monkeypatch.setattr(plan.Plan, "fits", False)
        monkeypatch.setattr(ParentSetSearch, "lay_out", lambda *_: None)
        table = random_problem(8, 6, n_rows=200).table
        for search in (learn_anb, learn_gbn):
            structure = search(table, time_limit=60)
            assert structure.score >= learn_tan(table).score - 1e-9
            assert "stopped by time_limit; the best forest" in structure.certificate.method
            assert not structure.certificate.optimal
            monkeypatch.undo()
            assert structure.certificate.upper_bound >= search(table).score - 1e-9
            monkeypatch.setattr(plan.Plan, "prunes", True)
            monkeypatch.setattr(plan.Plan, "fits", False)
            monkeypatch.setattr(ParentSetSearch, "lay_out", lambda *_: None)

    def test_a_search_without_hope_is_not_begun(self, monkeypatch):
        monkeypatch.setattr(plan.Plan, "seconds", 1e6)
        monkeypatch.setattr(plan.Plan, "prunes", False)
        monkeypatch.setattr(exact_search, "solve_lattice", None)
        structure = learn_anb(random_problem(8, 6).table, time_limit=60, n_jobs=1)
        assert structure.certificate.method.endswith(
            "stopped by time_limit, because all sets of features would take about 12 days"
        )
        assert structure.certificate.sets_scored == 0

    @pytest.mark.parametrize("score", [BDeu(), LL(), AIC(), QNML()], ids=lambda score: score.name)
    def test_rough_bounds_hold(self, score, monkeypatch):
        monkeypatch.setattr("anbexact.search.exact.solution.MOST_CELLS_READ", 0)
        for weights in ("ones", "real"):
            problem = random_problem(6, 5, n_rows=30, weights=weights)
            for table in (problem.table, problem.table.without_class()):
                best = (learn_anb if table is problem.table else learn_gbn)(problem.table, score)
                for child in table.vocabulary.features:
                    local = score.local_score(table, child, best.parents[child])
                    assert local <= local_bound(table, score, child) + 1e-9


def learn_anb_in_time(table, score, options, monkeypatch):
    """Return the optimum, the test's own changes undone."""
    monkeypatch.undo()
    return learn_anb(table, score, **options).score


class TestListsOfLongTables:
    def test_are_refused_before_rows_are_laid_out(self, monkeypatch):
        monkeypatch.setattr(ParentSetSearch, "lay_out", None)
        table = random_table(10, 500)
        constraints = make_constraints(table.vocabulary.features, 2, (), ())
        needed = 16 * 10 * 9 * len(table.weights)
        with pytest.raises(SearchTooLargeError, match=r"to lay out the \d+ distinct rows for each of 10 feat"):
            Candidates(table, BDeu(), constraints, 1, needed - 1)
        Candidates(table, BDeu(), constraints, 1, needed)

    @pytest.mark.filterwarnings("ignore:the search over 10 features")
    @pytest.mark.parametrize("name", ["BYTES_IN_ANY_CASE", "SECONDS_PER_ROW_PAIR"])
    def test_do_not_take_the_place_of_all_sets_that_need_less(self, name, monkeypatch):
        monkeypatch.setattr(plan.Plan, "seconds", 100.0)
        table = random_table(10, 500)
        assert "pruned" in learn_anb(table, max_parents=1).certificate.method
        monkeypatch.setattr(plan, name, {"BYTES_IN_ANY_CASE": -1, "SECONDS_PER_ROW_PAIR": 1.0}[name])
        monkeypatch.setattr(plan, "lattice_cost", lambda *_, **__: plan.Cost(1, 1, 1.0))
        assert "lattice" in learn_anb(table, max_parents=1).certificate.method


def test_a_trial_goes_by_processor_time(monkeypatch):
    spent, outer = [5.0], Deadline(1000)
    monkeypatch.setattr(deadlines.time, "process_time", lambda: spent[0])
    trial = deadlines.ProcessorDeadline(4.0, outer)
    share = trial.within(2.0)
    assert (trial.left, share.left) == (4.0, 2.0)
    spent[0] += 3.0
    assert (trial.left, share.passed, trial.passed) == (1.0, True, False)
    outer.interrupt()
    assert trial.passed


class TestAdvice:
    @pytest.fixture
    def foreseen(self, monkeypatch):
        monkeypatch.setattr(plan.Plan, "foreseen", 100.0)

    @pytest.mark.usefixtures("foreseen")
    def test_a_long_search_is_announced(self):
        table = random_table(7, 50)
        with pytest.warns(UserWarning, match=r"over 7 features and \d+ distinct rows \(128 sets") as caught:
            learn_anb(table)
        [told] = caught
        assert "may take about 100 s" in str(told.message)
        assert "max_parents=2 leaves 64 sets" in str(told.message)
        assert told.filename == __file__
        with pytest.warns(UserWarning, match=r"To shorten it: time_limit="):
            learn_gbn(table, max_parents=2)

    @pytest.mark.usefixtures("foreseen")
    def test_not_where_a_time_limit_was_given_nor_by_verify(self):
        table = random_table(5, 50)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            structure = learn_anb(table, time_limit=60)
            assert verify(structure, table)

    @pytest.mark.usefixtures("foreseen")
    @pytest.mark.parametrize("ess", [1.0, "auto"])
    def test_it_is_announced_once_in_a_fit(self, ess, monkeypatch):
        monkeypatch.setattr("anbexact.classifiers.exact.QUICK_SECONDS", 0.0)
        X, y = np.random.default_rng(0).integers(0, 2, (60, 5)), np.arange(60) % 2
        with pytest.warns(UserWarning, match="may take about") as caught:
            ANBClassifier(ess=ess).fit(X, y)
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_a_search_that_is_short_is_not_announced(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learn_anb(random_table(6, 50))

    @pytest.mark.filterwarnings("ignore:the search over 6 features")
    @pytest.mark.parametrize("max_parents", [1, 2])
    def test_lists_of_few_parents_are_foreseen_instead_of_all_sets(self, max_parents):
        problem = random_problem(5, 29, n_rows=200, max_arity=2)
        constraints = make_constraints(problem.table.vocabulary.features, max_parents, (), ())
        search = plan.Plan(problem.table, BDeu(), constraints, 2, Deadline(), 64e9)
        assert search.all_sets
        assert search.prunes
        assert search.foreseen < 5 < search.seconds

    def test_a_proof_that_was_given_up_is_told_of_once(self, monkeypatch):
        monkeypatch.setattr(exact_search, "FEWER_SETS", 20)
        monkeypatch.setattr(plan.Plan, "prunes", True)
        monkeypatch.setattr(plan.Plan, "fits", False)
        table = random_problem(1, 6, n_rows=200).table

        def learn(rows, score, limit):
            return learn_anb(rows, score, time_limit=limit)

        told_once = pytest.warns(
            UserWarning, match=r"not proved optimal \(the gap is .*max_parents=2 is usually proved"
        )
        with told_once as caught, heard_once():
            climb_in_ess(table, learn, learn(table, BDeu(START_ESS), None), Deadline(None))
        assert sum("not proved" in str(told.message) for told in caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learn_anb(table, time_limit=60)

    @pytest.mark.parametrize(("most_sets", "limited"), [(20, True), (1_000_000, False)])
    def test_a_proof_for_incomplete_lists_has_processor_seconds(self, most_sets, limited, monkeypatch):
        """What is proved by default does not depend on who else uses the processors; complete lists have no limit."""
        given, solve = [], pruned.solve_lists

        def solved(lists, names, tolerance, deadline, *others, **keywords):
            given.append(deadline)
            return solve(lists, names, tolerance, deadline, *others, **keywords)

        monkeypatch.setattr(exact_search, "FEWER_SETS", most_sets)
        monkeypatch.setattr(plan.Plan, "prunes", True)
        monkeypatch.setattr(plan.Plan, "fits", False)
        monkeypatch.setattr(pruned, "solve_lists", solved)
        learn_anb(random_problem(1, 6, n_rows=200).table)
        assert [isinstance(deadline, ProcessorDeadline) for deadline in given] == [limited]
        assert not limited or given[0].seconds == pruned.PROOF_SECONDS

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, (1.4 + 10, 1.6 + 10)),  # BDeu's lists do not end by themselves; the proof has 20 processor seconds
            ({"score": BIC()}, (0, 0.2)),
            ({"max_parents": 2}, (0, 0.2)),
            ({"score": BDs(), "max_parents": 2}, (0, 0.2)),
        ],
    )
    def test_what_is_foreseen_beyond_all_sets(self, options, expected):
        table = random_table(40, 250)
        options = {"score": BDeu(), "max_parents": 39, **options}
        constraints = make_constraints(table.vocabulary.features, options["max_parents"], (), ())
        search = plan.Plan(table, options["score"], constraints, 2, Deadline(), 4e9)
        assert search.prunes
        assert expected[0] <= search.foreseen <= expected[1]

    def test_several_kinds_are_all_heard(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with heard_once():
                with heard_once():
                    advise("a", "a")
                advise("a", "a again")
                advise("b", "b")
            advise("a", "c")
        assert [str(told.message) for told in caught] == ["a", "b", "c"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


class TestProgressUnasked:
    @pytest.fixture
    def clock(self, monkeypatch):
        now = [100.0]
        monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
        return now

    def test_appears_on_a_terminal_after_a_while(self, clock, monkeypatch):
        screen = Terminal()
        monkeypatch.setattr(progress_module.sys, "stderr", screen)
        show = ANBClassifier().progress()
        show("set scores", 0.1)
        show("set scores", 1.0)
        assert screen.getvalue() == ""
        clock[0] += progress_module.LONG_WAIT
        show("layer 1", 0.5)
        assert screen.getvalue() == "\rlayer 1:  50%\033[K"
        show("layer 1", 1.0)
        assert screen.getvalue().endswith("\r\033[K")

    def test_appears_in_a_notebook(self, clock, monkeypatch):
        stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
        monkeypatch.setattr(progress_module.sys, "stderr", stream)
        show = progress_module.default_progress()
        clock[0] += progress_module.LONG_WAIT
        show("layer 1", 0.5)
        show("layer 1", 1.0)
        assert stream.getvalue() == "\rlayer 1:  50%\r" + " " * len("layer 1:  50%")

    def test_says_which_of_several_searches_it_is(self, clock, monkeypatch):
        """A default fit searches many times, each in less than it takes to appear: together they are long."""
        screen = Terminal()
        monkeypatch.setattr(progress_module.sys, "stderr", screen)
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40)

        def search(table, score, *, progress, **limits):
            clock[0] += 1
            progress("proof", 0.5)
            progress("proof", 1.0)
            return learn_anb(table, score, max_parents=limits["max_parents"])

        monkeypatch.setattr(ANBClassifier, "_search", staticmethod(search))
        monkeypatch.setattr(ANBClassifier, "_sharing", lambda *_: None)  # its searches take no time
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ANBClassifier().fit(X, y)
        shown = re.findall(r"search (\d+) of at most (\d+), proof:  50%", screen.getvalue())
        numbers = [int(number) for number, _ in shown]
        assert numbers == list(range(5, 5 + len(numbers)))
        assert 15 < numbers[-1] <= int(shown[0][1])
        assert len({most for _, most in shown}) == 1

    def test_nobody_watches_a_file(self, monkeypatch):
        monkeypatch.setattr(progress_module.sys, "stderr", io.StringIO())
        assert ANBClassifier().progress() is None
        assert ANBClassifier(verbose=1).progress() is not None

    def test_a_negative_verbosity_is_silence(self, monkeypatch):
        monkeypatch.setattr(progress_module.sys, "stderr", Terminal())
        assert ANBClassifier(verbose=-1).progress() is None


class TestCompilation:
    def test_is_not_counted_as_work(self, monkeypatch):
        deadline = Deadline()

        @numba.njit
        def new(x):
            return x + 1

        assert new(1) == 2
        now = time.perf_counter()
        monkeypatch.setattr(deadlines.time, "perf_counter", lambda: now)
        assert 0 < deadline.compiling < deadline.elapsed
        assert deadline.worked == pytest.approx(deadline.elapsed - deadline.compiling)

    def test_overlapping_compilations_count_once(self, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(deadlines.time, "perf_counter", lambda: now[0])
        kernels, event = deadlines._Compilation(), Event("numba:compile", EventStatus.START)
        for moment, told in ((1, "start"), (2, "start"), (4, "end"), (5, "end"), (9, "start")):
            now[0] = float(moment)
            getattr(kernels, f"on_{told}")(event)
        now[0] = 10.0
        assert kernels.seconds == 5.0

    def test_certificates_leave_it_out(self, monkeypatch):
        table = random_problem(8, 4).table
        monkeypatch.setattr(Deadline, "compiling", property(lambda self: self.elapsed))
        assert learn_anb(table).certificate.seconds == 0
        assert learn_tan(table).certificate.seconds == 0
