"""Networks from tables and structures, without a class: tables, joint distribution, and what they refuse."""

from itertools import product

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ess_values, problems, random_problem
from tiers import examples

from anbexact import BDeu, DiscreteTable, Structure, UniversalMeasure, fit_network, learn_anb, learn_gbn
from anbexact.classifiers import FixedStructureClassifier
from anbexact.models.network import posterior as evaluator
from anbexact.models.network.arc_strengths import arc_strengths
from anbexact.scores import BIC, CLL, K2


def plain_table(problem):
    """The table of all variables of a problem, read without a class."""
    frame = pd.DataFrame(problem.rows, columns=problem.names, dtype=np.int64)
    return DiscreteTable.from_frame(frame, sample_weight=problem.weights, categories=problem.categories)


def joint_of(problem, structure, ess):
    """The probability of every joint state, from the formula of the tables."""
    number = {name: v for v, name in enumerate(problem.names)}
    rows, weights, arities = problem.rows, problem.weights, problem.arities
    tables = {}
    for child, parents in structure.parents.items():
        of_child = [number[p] for p in parents]
        tables[number[child]] = of_child, oracles.eap(rows, weights, arities, number[child], of_child, ess)
    return oracles.network_joint(tables, arities)


def codes_of(states):
    return np.array(states, dtype=np.int16).T


class TestTables:
    @given(problem=problems(max_features=3), ess=ess_values, data=st.data())
    @examples(40)
    def test_joint_probabilities_with_any_cells_missing(self, problem, ess, data):
        table = plain_table(problem)
        structure = learn_gbn(table, BDeu(ess))
        network = fit_network(table, structure, BDeu(ess), ess=ess)
        joint = joint_of(problem, structure, ess)
        found = network.log_joint(codes_of(list(joint)))
        assert found.shape == (len(joint), 1)
        np.testing.assert_allclose(np.exp(found[:, 0]), list(joint.values()), rtol=1e-10)
        hidden = data.draw(st.sets(st.integers(0, problem.n)))
        row = data.draw(st.sampled_from(list(joint)))
        observed = {v: state for v, state in enumerate(row) if v not in hidden}
        expected = sum(oracles.consistent(joint, observed).values())
        with pytest.MonkeyPatch.context() as patch:  # by elimination, too
            patch.setattr(evaluator, "MOST_STATES", data.draw(st.sampled_from([1, evaluator.MOST_STATES])))
            partial = [-1 if v in hidden else state for v, state in enumerate(row)]
            one = network.log_joint(codes_of([partial]))
        assert np.exp(one[0, 0]) == pytest.approx(expected, rel=1e-10)

    def test_a_class_is_kept(self):
        problem = random_problem(4, 3, n_rows=60)
        network = fit_network(problem.table, learn_anb(problem.table), ess=2.0)
        classifier = FixedStructureClassifier.from_network(network)
        joint = joint_of(problem, network.structure, 2.0)
        row = problem.rows[0][:-1]
        expected = np.array([joint[(*row, c)] for c in range(problem.arities[-1])])
        np.testing.assert_allclose(classifier.predict_proba([list(row)])[0], expected / expected.sum(), rtol=1e-9)

    def test_parameters_and_strengths_of_arcs(self):
        problem = random_problem(4, 3, n_rows=60, weights="real")
        structure = learn_gbn(plain_table(problem))
        network = fit_network(plain_table(problem), structure)
        arities = dict(zip(problem.names, problem.arities, strict=True))
        expected = sum(
            (arities[child] - 1) * int(np.prod([arities[p] for p in parents]))
            for child, parents in structure.parents.items()
        )
        assert network.n_parameters == expected
        arcs = arc_strengths(network)
        assert [(arc.parent, arc.child) for arc in arcs] == list(structure.edges)
        assert all(arc.gain > 0 for arc in arcs)  # otherwise, the structure without the arc were better

    def test_rows_can_be_added(self):
        problem = random_problem(4, 3, n_rows=60)
        whole = plain_table(problem)
        parts = []
        for rows in (slice(0, 25), slice(25, None)):
            frame = pd.DataFrame(problem.rows[rows], columns=problem.names)
            parts.append(DiscreteTable.from_frame(frame, categories=problem.categories))
        structure = learn_gbn(whole)
        together, added = fit_network(whole, structure), fit_network(parts[0], structure).add(parts[1])
        for name, table in together.tables.items():
            np.testing.assert_allclose(added.tables[name].values, table.values, rtol=1e-12)
        assert added.structure.score == pytest.approx(structure.score)


class TestScore:
    def test_the_certificate_stays_where_the_score_is_that_of_the_search(self):
        table = plain_table(random_problem(4, 3, n_rows=60))
        for score in (BDeu(2.5), K2(), BIC()):
            structure = learn_gbn(table, score)
            assert fit_network(table, structure, score).structure == structure

    def test_otherwise_nothing_is_proved(self):
        table, other = (plain_table(random_problem(4, 3, n_rows=n, unseen=False)) for n in (60, 61))
        structure = learn_gbn(table, K2())
        for rows, score in ((table, BDeu()), (other, K2())):
            network = fit_network(rows, structure, score)
            assert network.structure.parents == structure.parents
            assert not network.structure.certificate.optimal
            expected = sum(score.local_score(rows, v, list(p)) for v, p in structure.parents.items())
            assert network.structure.score == pytest.approx(expected)

    def test_a_structure_that_was_given(self):
        table = plain_table(random_problem(4, 2, n_rows=60))
        network = fit_network(table, Structure.given(None, {"f0": (), "f1": ("c",), "c": ()}))
        assert network.structure.score == pytest.approx(
            sum(BDeu().local_score(table, v, p) for v, p in {"f0": [], "f1": ["c"], "c": []}.items())
        )

    def test_a_score_of_whole_structures(self):
        problem = random_problem(4, 2, n_rows=60)
        structure = learn_anb(problem.table)
        network = fit_network(problem.table, structure, CLL())
        assert network.structure.score == pytest.approx(CLL().structure_score(problem.table, structure.parents))


def measured_frame():
    rng = np.random.default_rng(1)
    x = rng.normal(size=250)
    frame = pd.DataFrame({"x": x, "y": x + 0.4 * rng.normal(size=250), "kind": np.where(x > 0.3, "a", "b")})
    return frame.assign(z=rng.normal(size=250))


class TestDensities:
    def test_a_class_of_one_state_changes_nothing(self):
        """The densities are those of a network with a constant class, whose evaluation is tested elsewhere."""
        frame = measured_frame()
        table, score = UniversalMeasure().read(frame)
        structure = learn_gbn(table, score)
        assert structure.edges
        network = fit_network(table, structure, score)
        with_class, same = UniversalMeasure().read(frame, np.zeros(len(frame), dtype=int), class_name="one")
        below = Structure.given("one", {**{v: ("one", *p) for v, p in structure.parents.items()}, "one": ()})
        constant = fit_network(with_class, below, same)
        codes = np.stack([table.column(name) for name in table.vocabulary.names])
        np.testing.assert_allclose(network.log_joint(codes), constant.log_joint(codes), rtol=1e-10)
        some = codes.copy()
        some[np.random.default_rng(0).random(codes.shape) < 0.3] = -1
        np.testing.assert_allclose(network.log_joint(some), constant.log_joint(some), rtol=1e-9, atol=1e-12)
        assert np.isnan(network.level_cost)
        assert constant.level_cost == pytest.approx(0.0, abs=1e-12)  # a class of one state is predicted by anything

    def test_the_tables_of_the_most_probable_levels(self):
        table, score = UniversalMeasure().read(measured_frame())
        network = fit_network(table, learn_gbn(table, score), score)
        with pytest.warns(UserWarning, match=r"at its most probable level \(cells: x \d+, y \d+, z \d+\)$"):
            discrete = network.to_network()
        states = list(product(*(range(discrete.vocabulary.arity(name)) for name in discrete.vocabulary.names)))
        assert np.exp(discrete.log_joint(codes_of(states))).sum() == pytest.approx(1.0)


REFUSED = {
    "posterior": lambda network, codes: network.posterior(codes),
    "log_posterior": lambda network, codes: network.log_posterior(codes),
    "explain": lambda network, _: network.explain(None),
    "family_sum": lambda network, _: network.family_sum(),
    "to_potentials": lambda network, _: network.to_potentials(),
    "classifier": lambda network, _: FixedStructureClassifier.from_network(network),
    "subperfect": lambda network, _: network.structure.is_subperfect(),
    "augmented": lambda network, _: network.structure.to_anb(),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_what_needs_a_class_says_so(ask):
    table = plain_table(random_problem(4, 2, n_rows=60))
    network = fit_network(table, learn_gbn(table))
    with pytest.raises(ValueError, match=r"without a class has no|the network has no class"):
        ask(network, table.codes.T)


def test_densities_refuse_the_same():
    table, score = UniversalMeasure().read(measured_frame())
    network = fit_network(table, learn_gbn(table, score), score)
    with pytest.raises(ValueError, match="without a class has no posterior of a class"):
        network.posterior(table.codes.T)


BAD = {
    "other variables": (
        {"f0": (), "f1": ()},
        None,
        1.0,
        r"the structure has the variables \['f0', 'f1'\], but the table has",
    ),
    "a class": (
        {"f0": (), "f1": (), "c": ()},
        "c",
        1.0,
        "the class of the structure is 'c', but that of the table is",
    ),
    "ess 0": ({"f0": (), "f1": (), "c": ()}, None, 0, "ess must be a number above 0, not 0"),
    "ess True": ({"f0": (), "f1": (), "c": ()}, None, True, "ess must be a number above 0, not True"),
    "ess auto": ({"f0": (), "f1": (), "c": ()}, None, "auto", "ess must be a number above 0, not 'auto'"),
}


@pytest.mark.parametrize(("parents", "class_name", "ess", "message"), BAD.values(), ids=BAD)
def test_refusals(parents, class_name, ess, message):
    table = plain_table(random_problem(4, 2, n_rows=60))
    with pytest.raises(ValueError, match=message):
        fit_network(table, Structure.given(class_name, parents), ess=ess)


def test_how_it_is_printed():
    table = plain_table(random_problem(4, 2, n_rows=60))
    network = fit_network(table, Structure.given(None, {"f0": ("c",), "f1": (), "c": ()}))
    assert repr(network) == "<TableNetwork: 3 variables, 1 arc>"
