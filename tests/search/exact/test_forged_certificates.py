"""Forged certificates: no statement that is false by more than rounding passes the check, however it is made."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pytest
from forced import force
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_problem
from test_verification import with_certificate, with_proof

import anbexact.search.exact.candidates as candidates_module
import anbexact.search.exact.possible_parents as configurations
from anbexact import BDeu, Structure, learn_anb, learn_gbn, verify
from anbexact._runtime.memory import SearchTooLargeError
from anbexact.models.proof import Component, Duals, Exhaustion, Proof, Split
from anbexact.models.structure import Certificate
from anbexact.scores import ACLL, FNML, MIT, BDs
from anbexact.search.exact.solution import rounding_error

HUGE = [2.9e18, 1e19, 1e25, 1e200, 1e300, 1.7e308, 10**400, 2**70]
TINY = [0.0, -0.0, 5e-324, 1e-310, 1e-20]
BAD = [math.nan, math.inf, -math.inf, -1.0, -5e-324, -1e300]


def random_parents(rng, features, class_name):
    """A random augmented naive Bayes, sparse."""
    order = rng.permutation(len(features)).tolist()
    parents = {}
    for place, k in enumerate(order):
        own = sorted(j for j in order[:place] if rng.random() < 0.3)
        parents[features[k]] = (class_name, *(features[j] for j in own))
    return {**{name: parents[name] for name in features}, class_name: ()}


def claim(table, score, parents, components, *, optimal=True, largest=None, gap=0.0, apart=(), above=0.0):
    """A structure of the right score with a certificate that says what one likes."""
    total = sum(score.local_score(table, child, list(of_child)) for child, of_child in parents.items())
    proof = Proof(score, len(table.vocabulary.features) - 1, (), (), largest, tuple(components), gap, apart)
    certificate = Certificate(optimal, total + above, above, 0, 0.0, "forged", proof)
    return Structure(table.vocabulary.class_name, parents, total, certificate)


def scores_of(table, score, parents, names):
    return {name: score.local_score(table, name, list(parents[name])) for name in names}


def random_duals(rng, names, depth=0):
    """Splits and multipliers, most of them absurd."""
    if depth < 3 and len(names) > 1 and rng.random() < 0.4:
        parent, child = (names[k] for k in rng.choice(len(names), 2, replace=False))
        return Split(parent, child, random_duals(rng, names, depth + 1), random_duals(rng, names, depth + 1))
    clusters = []
    for _ in range(int(rng.integers(0, 5))):
        size = int(rng.integers(2, len(names) + 1)) if len(names) > 1 else 1
        cluster = tuple(names[k] for k in rng.choice(len(names), size, replace=False))
        if rng.random() < 0.05:
            cluster = (*cluster, cluster[0])
        pool = [HUGE, TINY, BAD, [float(rng.uniform(0, 30))], [float(2.0 ** rng.integers(30, 62))]]
        own = pool[int(rng.choice(5, p=[0.3, 0.1, 0.05, 0.4, 0.15]))]
        least = int(rng.integers(1, max(size, 2))) if rng.random() < 0.95 else int(rng.integers(-1, size + 2))
        clusters += [(cluster, least, own[int(rng.integers(len(own)))])] * int(rng.choice([1, 1, 1, 2, 7]))
    return Duals(tuple(clusters))


def forgery(rng, table, score, honest):
    """One false or true claim about a random structure, with its components as the forger needs them."""
    features, class_name = table.vocabulary.features, table.vocabulary.class_name
    parents = dict(honest.parents) if rng.random() < 0.3 else random_parents(rng, features, class_name)
    shuffled = [features[k] for k in rng.permutation(len(features))]
    cuts = sorted(set(rng.integers(1, len(features), int(rng.integers(0, len(features)))).tolist()))
    groups = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(features)], strict=True)]
    local = scores_of(table, score, parents, features)
    slack = rounding_error(table, honest.score)
    components = []
    for group in groups:
        case = Exhaustion() if rng.random() < 0.15 else random_duals(rng, group)
        short = slack * float(rng.choice([0.0, 0.9, 1.0, -1.0])) if rng.random() < 0.5 else 0.0
        components.append(Component(tuple(group), sum(local[name] for name in group) - short, case))
    if rng.random() < 0.2:
        components += [Component((), -0.9 * slack, Duals(()))] * int(rng.integers(1, 40))
    largest = int(rng.integers(-1, len(features) + 3)) if rng.random() < 0.25 else None
    above = float(rng.choice([0.0, 0.0, slack, -slack, 1.0, math.inf, -math.inf, math.nan]))
    forged = claim(table, score, parents, components, optimal=bool(rng.random() < 0.8), largest=largest, above=above)
    if rng.random() < 0.1:
        forged = with_certificate(forged, gap=float(rng.choice([math.inf, -math.inf, math.nan, -1.0, slack])))
    return forged


class TestForger:
    @pytest.mark.parametrize("seed", range(12))
    def test_nothing_false_passes(self, seed):
        """Against the optimum by brute force over orders."""
        problem = random_problem(
            900 + seed, 4, n_rows=60, max_arity=3, n_classes=2, weights=("ones", "real", "whole")[seed % 3]
        )
        table, score = problem.table, BDeu(1.0)
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            honest = learn_anb(table, score)
        optimum = oracles.anb_optimum(problem.rows, problem.weights, problem.arities, 1.0)
        slack = rounding_error(table, honest.score)
        rng = np.random.default_rng(seed)
        passed = 0
        for _ in range(60):
            forged = forgery(rng, table, score, honest)
            if verify(forged, table):
                passed += 1
                assert forged.certificate.upper_bound >= optimum - 1.01 * slack
                if forged.certificate.optimal:
                    assert forged.score >= optimum - 1.01 * slack
        if seed == 0:
            assert verify(honest, table)
        assert passed < 60

    @given(st.sampled_from([*HUGE, 1e3, 1e9, 1e15]), st.integers(0, 30), st.integers(1, 3))
    def test_a_multiplier_that_hides_the_scores(self, z, seed, least):
        """A cluster of all features, times a number beside which their local scores are rounding."""
        problem = random_problem(seed, 5, n_rows=50, max_arity=3)
        table, score = problem.table, BDeu(1.0)
        naive = {**dict.fromkeys(problem.names[:-1], ("c",)), "c": ()}
        names = table.vocabulary.features
        bound = sum(scores_of(table, score, naive, names).values())
        forged = claim(table, score, naive, [Component(names, bound, Duals(((names, least, z),)))])
        if learn_anb(table, score).score > forged.score + 1e-6:
            assert not verify(forged, table)

    def test_slack_counts_once(self):
        """Components that are empty, or whose bounds are each short by a little, hide nothing between them."""
        problem = random_problem(3, 6, n_rows=60)
        table, score = problem.table, BDeu(1.0)
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            honest = learn_anb(table, score, max_parents=0)
        honest = with_proof(honest, components=honest.certificate.proof.components)
        assert verify(honest, table)
        slack = rounding_error(table, honest.score)
        parts = honest.certificate.proof.components
        assert len(parts) == 6
        hidden = tuple(replace(part, bound=part.bound - 0.9 * slack) for part in parts)
        total = honest.certificate.upper_bound - 5.4 * slack
        gap = total - honest.score
        lower = with_certificate(with_proof(honest, components=hidden), upper_bound=total, gap=gap)
        assert not verify(lower, table)
        empty = (*parts, *[Component((), -0.9 * slack, Duals(()))] * 1000)
        total = honest.certificate.upper_bound - 900 * slack
        lower = with_certificate(with_proof(honest, components=empty), upper_bound=total, gap=total - honest.score)
        assert not verify(lower, table)

    def test_deep_splits(self):
        """A proof of any depth is answered: a chain of 5,000 divisions on the same arc."""
        problem = random_problem(1, 5, n_rows=50)
        table = problem.table
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            honest = learn_anb(table)
        part = max(honest.certificate.proof.components, key=lambda part: len(part.features))
        assert len(part.features) > 1
        a, b = part.features[:2]
        case = part.case
        for _ in range(5000):
            case = Split(a, b, case, case)
        parts = tuple(replace(p, case=case) if p is part else p for p in honest.certificate.proof.components)
        assert verify(with_proof(honest, components=parts), table)
        lower = tuple(replace(p, bound=p.bound - 1e-3) if p.case is case else p for p in parts)
        assert not verify(with_proof(honest, components=lower), table)

    def test_multipliers_are_summed_exactly(self):
        """What is computed is what fractions give, to within the precision asked for."""
        from anbexact.search.exact.case_bounds import ListedSets, case_bound

        rng = np.random.default_rng(0)
        for _ in range(60):
            n = int(rng.integers(2, 6))
            names = [f"f{k}" for k in range(n)]
            own = [np.unique(rng.random((6, n)) < 0.4, axis=0) for _ in range(n)]
            for k, rows in enumerate(own):
                rows[:, k] = False
            scores = [-rng.random(len(rows)) * 10.0 ** rng.integers(0, 6) for rows in own]
            sets = ListedSets(
                {name: k for k, name in enumerate(names)}, names, np.concatenate(own), np.concatenate(scores),
                np.cumsum([0, *map(len, own)]),
            )  # fmt: skip
            clusters = []
            for _ in range(int(rng.integers(0, 4))):
                chosen = rng.choice(n, int(rng.integers(2, n + 1)), replace=False).tolist()
                least = int(rng.integers(1, len(chosen)))
                clusters.append(
                    (tuple(names[k] for k in chosen), least, float(rng.random() * 10.0 ** rng.integers(8)))
                )
            exact = Fraction(0)
            for k in range(n):
                values = []
                for row, score in zip(own[k], scores[k].tolist(), strict=True):
                    value = Fraction(score)
                    for cluster, least, z in clusters:
                        if names[k] in cluster and sum(row[names.index(v)] for v in cluster) < least:
                            value += Fraction(z)
                    values.append(value)
                exact += max(values)
            exact -= sum(least * Fraction(z) for _, least, z in clusters)
            found = case_bound(Duals(tuple(clusters)), sets, 1e-7)
            assert abs(Fraction(found) - exact) <= Fraction(1e-7)


class TestApart:
    def test_named_twice(self):
        problem = random_problem(5, 3, n_rows=40)
        problem.rows = [(*row[:2], 0, row[-1]) for row in problem.rows]
        problem.arities[2] = 1
        table, score = problem.table, BDeu(1.0)
        best = learn_anb(table, score)
        parents = {**dict(best.parents), "f2": ()}
        parents = {child: tuple(p for p in of_child if p != "f2") for child, of_child in parents.items()}
        local = scores_of(table, score, parents, ["f0", "f1"])
        part = Component(("f0", "f1"), sum(local.values()), Exhaustion())
        assert verify(claim(table, score, parents, [part], apart=("f2",)), table)
        assert not verify(claim(table, score, parents, [part], apart=("f2", "f2")), table)
        assert not verify(claim(table, score, parents, [part], apart=("f2", "c")), table)
        assert not verify(claim(table, score, parents, [part], apart=("f1",)), table)


class TestInterrupts:
    def interrupted(self, monkeypatch, calls):
        """Let work in threads be interrupted after so many calls."""
        usual, count = candidates_module.run_tasks, []

        def run(tasks, n_tasks, threads, deadline, phase, progress):
            count.append(phase)
            if len(count) > calls:
                deadline.interrupt()
                raise KeyboardInterrupt
            return usual(tasks, n_tasks, threads, deadline, phase, progress)

        monkeypatch.setattr(candidates_module, "run_tasks", run)

    @pytest.mark.parametrize("calls", [0, 1, 2])
    def test_an_interrupt_is_raised(self, calls, monkeypatch):
        """Also where the certificate is false, and where the lists were cut short."""
        table = random_problem(520, 8, n_rows=150, max_arity=3).table
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            structure = learn_anb(table)
        lower = with_certificate(structure, upper_bound=structure.certificate.upper_bound - 1, gap=-1.0)
        self.interrupted(monkeypatch, calls)
        for one in (structure, lower):
            with pytest.raises(KeyboardInterrupt):
                verify(one, table)
            monkeypatch.undo()
            self.interrupted(monkeypatch, calls)

    def test_lists_that_a_limit_ended_are_no_proof(self, monkeypatch):
        """The optimum among structures without feature parents is not shown to be the optimum of all."""
        table = random_problem(520, 8, n_rows=150, max_arity=3).table
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            best = learn_anb(table)
            few = learn_anb(table, max_parents=0)
        assert best.score > few.score + 1e-3
        forged = with_proof(few, max_parents=7)
        assert not verify(forged, table)
        monkeypatch.setattr(configurations, "MOST_CONFIGURATION_COUNTS", 3)
        assert not verify(forged, table)
        assert not verify(best, table)

    @pytest.mark.slow
    def test_too_many_features_to_enumerate(self):
        """A component that says it was solved by dynamic programming, of more features than memory holds."""
        table = random_problem(1, 70, n_rows=30, dependent=False).table
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            honest = learn_anb(table, max_parents=1)
        assert verify(honest, table)
        names = table.vocabulary.features
        bound = sum(part.bound for part in honest.certificate.proof.components)
        forged = with_proof(honest, components=(Component(names, bound, Exhaustion()),))
        with pytest.raises(SearchTooLargeError, match="enumerating all sets of 70 features"):
            verify(forged, table)


class TestInfiniteBounds:
    @pytest.mark.parametrize(
        ("learn", "score"),
        [(learn_anb, score) for score in (FNML(), BDs(1.0), MIT(), ACLL())]
        + [(learn_gbn, score) for score in (FNML(), BDs(1.0), MIT())],
        ids=lambda value: getattr(value, "__name__", str(value)),
    )
    def test_time_limit(self, learn, score):
        table = random_problem(530, 30, n_rows=60, max_arity=3).table
        structure = learn(table, score, max_parents=2, time_limit=1e-9)
        assert structure.certificate.upper_bound == math.inf
        assert verify(structure, table)
        assert not verify(with_certificate(structure, optimal=True), table)
        assert not verify(with_certificate(structure, gap=3.0), table)
        assert not verify(with_certificate(structure, upper_bound=structure.score + 1, gap=1.0), table)
        assert not verify(replace(structure, score=structure.score + 1), table)
        assert not verify(with_certificate(structure, upper_bound=-math.inf, gap=-math.inf), table)


class TestParentsNamedTwice:
    def test_refused(self):
        table = random_problem(2, 3, n_rows=80).table
        structure = learn_anb(table)
        child, parent = "f0", "f1"
        parents = {**structure.parents, child: ("c", parent, parent)}
        with pytest.raises(ValueError, match="'f1' is named more than once among the parents of 'f0'"):
            replace(structure, parents=parents)
        with pytest.raises(ValueError, match="'c' is named more than once among the parents of 'f2'"):
            replace(structure, parents={**structure.parents, "f2": ("c", "c")})
        with pytest.raises(ValueError, match="directed cycle"):
            replace(structure, parents={**structure.parents, "f2": ("c", "f2")})
