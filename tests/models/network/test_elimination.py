"""Sums and maxima over missing cells: against enumeration of all joint states of random networks."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import anbexact.models.network.elimination
import anbexact.models.network.posterior
from anbexact._kernels.posterior import JOINT, LOG_PROBABILITY, PROBABILITY
from anbexact.models.network.elimination import Elimination
from anbexact.models.network.network import TableNetwork
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Structure
from anbexact.tables.vocabulary import Vocabulary


def random_network(rng, n, *, few_values=False):
    """Return tables by number, and arities: variables of one to four states, in any order, with impossible ones.

    ``few_values`` makes many joint states equally probable.
    """
    arities = rng.integers(1, 5, n).tolist()
    order = rng.permutation(n).tolist()
    tables = {}
    for k, v in enumerate(order):
        parents = sorted(order[:k], key=lambda _: rng.random())[: rng.integers(0, min(k, 3) + 1)]
        shape = [arities[v], *(arities[parent] for parent in parents)]
        values = rng.integers(0, 3, shape) * 1.0 if few_values else rng.random(shape) ** 6 * (rng.random(shape) < 0.8)
        values[0] += values.sum(axis=0) == 0
        tables[v] = tuple(parents), values / values.sum(axis=0)
    return tables, arities


def table_network(tables, arities):
    """The network as a model, whose class is the last variable."""
    own = {v: ConditionalTable(v, *tables[v]) for v in sorted(tables)}
    last = len(arities) - 1
    return TableNetwork(
        vocabulary=Vocabulary({v: tuple(range(arity)) for v, arity in enumerate(arities)}, last),
        cut_points={},
        structure=Structure.given(last, {v: table.parents for v, table in own.items()}),
        tables=own,
    )


def compiled(tables):
    return Elimination.of_tables({v: ConditionalTable(v, *tables[v]) for v in sorted(tables)})


def random_rows(rng, arities, n_rows):
    codes = np.stack([rng.integers(0, arity, n_rows) for arity in arities]).astype(np.int16)
    codes[rng.random(codes.shape) < rng.random(n_rows)] = -1
    return codes


def observed_in(codes, t):
    return {v: int(code) for v, code in enumerate(codes[:, t]) if code >= 0}


seeds = st.integers(0, 10**9)


class TestEnumeration:
    @examples(200)
    @given(seed=seeds)
    def test_joint_distributions(self, seed):
        rng = np.random.default_rng(seed)
        tables, arities = random_network(rng, rng.integers(1, 7))
        kept = sorted(rng.permutation(len(arities))[: rng.integers(0, 4)].tolist())
        codes = random_rows(rng, arities, 5)
        joint = oracles.network_joint(tables, arities)
        found = [compiled(tables).joint(codes, kept, form) for form in (JOINT, PROBABILITY, LOG_PROBABILITY)]
        for t in range(5):
            expected = np.zeros([arities[v] for v in kept])
            for states, p in oracles.consistent(joint, observed_in(codes, t)).items():
                expected[tuple(states[v] for v in kept)] += p
            expected = expected.reshape(-1)
            np.testing.assert_allclose(np.exp(found[0][t]), expected, rtol=1e-10, atol=1e-300)
            with np.errstate(invalid="ignore"):
                expected = expected / expected.sum()
            np.testing.assert_allclose(found[1][t], expected, rtol=1e-10, atol=1e-300)
            np.testing.assert_allclose(np.exp(found[2][t]), expected, rtol=1e-10, atol=1e-300)

    @examples(100)
    @given(seed=seeds, most_states=st.sampled_from([0, 1, 6, 10**4]))
    def test_class_posteriors_one_state_after_the_other_and_by_elimination(self, seed, most_states):
        rng = np.random.default_rng(seed)
        tables, arities = random_network(rng, rng.integers(1, 7))
        class_code = int(rng.integers(len(arities)))
        features = [v for v in range(len(arities)) if v != class_code]
        codes = random_rows(rng, arities, 20)
        codes[class_code] = -1
        posterior = Posterior({v: ConditionalTable(v, *of) for v, of in tables.items()}, class_code, features)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(anbexact.models.network.posterior, "MOST_STATES", most_states)
            patch.setattr(anbexact.models.network.posterior, "ROWS_TO_PART", int(rng.integers(30)))
            found = posterior.log_joint(codes[features])
        joint = oracles.network_joint(tables, arities)
        for t in range(codes.shape[1]):
            expected = np.zeros(arities[class_code])
            for states, p in oracles.consistent(joint, observed_in(codes, t)).items():
                expected[states[class_code]] += p
            np.testing.assert_allclose(np.exp(found[t]), expected, rtol=1e-10, atol=1e-300)

    @examples(200)
    @given(seed=seeds)
    def test_marginals(self, seed):
        rng = np.random.default_rng(seed)
        tables, arities = random_network(rng, rng.integers(1, 7))
        wanted = rng.permutation(len(arities))[: rng.integers(1, len(arities) + 1)].tolist()
        codes = random_rows(rng, arities, 5)
        joint = oracles.network_joint(tables, arities)
        found, log_evidence = compiled(tables).marginals(codes, wanted)
        for t in range(5):
            consistent = oracles.consistent(joint, observed_in(codes, t))
            total = sum(consistent.values())
            expected = [
                sum(p for states, p in consistent.items() if states[v] == j) / total if total else np.nan
                for v in wanted
                for j in range(arities[v])
            ]
            np.testing.assert_allclose(found[t], expected, rtol=1e-10, atol=1e-300)
            assert np.exp(log_evidence[t]) == pytest.approx(total, rel=1e-10, abs=0)

    @examples(200)
    @given(seed=seeds, few_values=st.booleans())
    def test_most_probable_explanations_and_ties(self, seed, few_values):
        rng = np.random.default_rng(seed)
        tables, arities = random_network(rng, rng.integers(1, 7), few_values=few_values)
        codes = random_rows(rng, arities, 5)
        joint = oracles.network_joint(tables, arities)
        found, log_joint = compiled(tables).explanations(codes)
        for t in range(5):
            consistent = oracles.consistent(joint, observed_in(codes, t))
            best = max(consistent.values())
            assert np.exp(log_joint[t]) == pytest.approx(best, rel=1e-10, abs=0)
            if best == 0:
                assert found[:, t].tolist() == codes[:, t].tolist()
            else:
                expected = min(states for states, p in consistent.items() if p >= best * (1 - 1e-10))
                assert tuple(found[:, t].tolist()) == expected

    def test_room_that_grows_changes_nothing(self, monkeypatch):
        rng = np.random.default_rng(3)
        tables, arities = random_network(rng, 9)
        codes = random_rows(rng, arities, 60)
        network = compiled(tables)

        def answers():
            return (
                network.joint(codes, [0, 4], LOG_PROBABILITY),
                *network.marginals(codes, range(9)),
                *network.explanations(codes),
            )

        expected = answers()
        for name, value in {
            "USUALLY_HIDDEN": 1,
            "USUAL_CELLS": 1,
            "ROWS_PER_CHUNK": 7,
            "CELLS_PER_CALL": 5.0,
        }.items():
            monkeypatch.setattr(anbexact.models.network.elimination, name, value)
        for one, other in zip(answers(), expected, strict=True):
            np.testing.assert_array_equal(one, other)


class TestNumbers:
    def chain(self, n, rare):
        """Return a chain of n binary variables, of which each observed child has the probability ``rare``."""
        tables = {0: ((), np.array([0.5, 0.5]))}
        for v in range(1, n):
            tables[v] = (v - 1,), np.array([[1 - rare, 1 - 2 * rare], [rare, 2 * rare]])
        return tables

    def test_evidence_too_improbable_for_a_float(self):
        codes = np.ones((500, 1), dtype=np.int16)
        codes[::2] = -1
        network = compiled(self.chain(500, 1e-30))
        found, log_evidence = network.marginals(codes, [0])
        # An observed state 1 is twice as probable after a state 1 as after a state 0.
        assert found[0, 1] == pytest.approx(2 / 3, rel=1e-12)
        assert -250 * 70 < log_evidence[0] < -250 * 69
        assert np.isfinite(network.explanations(codes)[1]).all()

    def test_a_wide_clique_is_refused_by_name(self):
        parents = tuple(range(40))
        tables = {f"p{v}": ConditionalTable(f"p{v}", (), np.array([0.5, 0.5])) for v in parents}
        for v in parents:
            for w in range(v):
                name = f"c{v}-{w}"
                values = np.full((2, 2, 2), 0.5)
                tables[name] = ConditionalTable(name, (f"p{v}", f"p{w}"), values)
        network = Elimination.of_tables(tables)
        codes = np.full((len(tables), 2), 0, dtype=np.int16)
        codes[:3] = -1
        assert network.marginals(codes, [0])[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
        codes[:40, 1] = -1
        with pytest.raises(
            ValueError,
            match=r"the 40 missing or unknown cells .* 1.1e\+12 joint states of 40 variables: 'p0', 'p1', .* 28",
        ):
            network.marginals(codes, [0])


class TestMarginals:
    @examples(100, quick=10)
    @given(seed=seeds)
    def test_of_a_network_are_sums_over_its_joint_states(self, seed):
        rng = np.random.default_rng(seed)
        tables, arities = random_network(rng, rng.integers(1, 7))
        network = table_network(tables, arities)
        names = rng.permutation(len(arities))[: rng.integers(0, 4)].tolist()
        expected = np.zeros([arities[v] for v in names])
        for states, p in oracles.network_joint(tables, arities).items():
            expected[tuple(states[v] for v in names)] += p
        np.testing.assert_allclose(network.marginal(names), expected, atol=1e-12)

    def test_refusals(self, monkeypatch):
        rng = np.random.default_rng(1)
        tables, arities = random_network(rng, 4)
        network = table_network(tables, arities)
        with pytest.raises(ValueError, match=r"must be different variables of the network, not \['z'\]"):
            network.marginal([0, "z"])
        with pytest.raises(ValueError, match=r"must be different variables of the network, not \[1, 1\]"):
            network.marginal([1, 1])
        chain = {v: ((v - 1,) if v else (), np.full((9, 9) if v else 9, 1 / 9)) for v in range(5)}
        large = table_network(chain, [9] * 5)
        monkeypatch.setattr(anbexact.models.network.elimination, "USUAL_CELLS", 1)
        monkeypatch.setattr(anbexact.models.network.elimination, "MOST_BYTES", 1)
        with pytest.raises(ValueError, match=r"the joint distribution of \[0, 4\] under the network needs"):
            large.marginal([0, 4])
