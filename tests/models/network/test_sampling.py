"""Samples of networks: distributed as the joint distribution given the evidence, exactly."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare
from sklearn.exceptions import NotFittedError
from strategies import random_problem

from anbexact import (
    ANBClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact.adapters import class_posterior
from anbexact.classifiers import A2DEClassifier, AODEClassifier, AveragedTANClassifier, FixedStructureClassifier
from anbexact.datasets import load_iris, load_monks
from anbexact.discretize import CountPartition, EqualWidthPartition
from anbexact.models.network import sampling
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Structure
from anbexact.tables.vocabulary import Vocabulary

LEAST = 1e-4
"""Least p value; the seeds are fixed."""
PARENTS = {"c": ("f0",), "f0": (), "f1": ("c",), "f2": ("c", "f1"), "f3": ("f2", "f0")}


def assert_distributed(cells, probabilities):
    """Assert by a χ² test that cells, flat positions, have these probabilities; those of probability 0 are absent."""
    probabilities = np.asarray(probabilities, dtype=float)
    counts = np.bincount(cells, minlength=len(probabilities))
    assert (counts[probabilities == 0] == 0).all()
    expected = probabilities / probabilities.sum() * len(cells)
    rare = expected < 5
    parts = [(counts[~rare], expected[~rare])]
    if expected[rare].sum() > 5:
        parts.append(([counts[rare].sum()], [expected[rare].sum()]))
    counts, expected = (np.concatenate(of_parts) for of_parts in zip(*parts, strict=True))
    if len(counts) > 1:
        assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > LEAST


def joint_of(tables, names, arities):
    """The joint distribution of all variables, an axis each: the product of their tables."""
    joint = np.ones(arities)
    for table in tables.values():
        axes = [names.index(name) for name in table.variables]
        values = table.values.transpose(np.argsort(axes))
        joint = joint * values.reshape([n if v in axes else 1 for v, n in enumerate(arities)])
    return joint


def joint_of_network(network):
    """The joint distribution of a network's variables, in the order of its vocabulary."""
    names = list(network.vocabulary.names)
    return joint_of(network.tables, names, [network.vocabulary.arity(name) for name in names])


def only(network, name, code):
    """1 for the joint states in which a variable has a state, and 0 for all others."""
    names = network.vocabulary.names
    chosen = np.arange(network.vocabulary.arity(name)) == code
    return chosen.reshape([-1 if other == name else 1 for other in names])


def network_of(seed, zeros=False):
    """A network of random tables over PARENTS with 2 to 4 states, and its joint distribution by enumeration."""
    rng = np.random.default_rng(seed)
    names = ("f0", "f1", "f2", "f3", "c")
    arities = [3, 2, 4, 2, 3]
    tables = {}
    for name in ("c", "f0", "f1", "f2", "f3"):
        shape = [arities[names.index(v)] for v in (name, *PARENTS[name])]
        values = rng.gamma(0.7, size=shape)
        if zeros:
            values[rng.random(shape) < 0.3] = 0
            values[0] += values.sum(axis=0) == 0
        tables[name] = ConditionalTable(name, PARENTS[name], values / values.sum(axis=0))
    states = {n: tuple(f"{n}={k}" for k in range(a)) for n, a in zip(names, arities, strict=True)}
    vocabulary = Vocabulary(states, "c")
    network = TableNetwork(
        vocabulary=vocabulary, cut_points={}, structure=Structure.given("c", PARENTS), tables=tables
    )
    return network, joint_of_network(network)


def flat(rows, vocabulary):
    """The joint states of rows as flat positions."""
    codes = [rows[name].map({s: k for k, s in enumerate(vocabulary.states[name])}) for name in vocabulary.names]
    return np.ravel_multi_index(tuple(map(np.asarray, codes)), [vocabulary.arity(name) for name in vocabulary.names])


EVIDENCE = [
    {}, {"c": 1}, {"f0": 2}, {"f1": 0}, {"f2": 3}, {"f3": 1}, {"f3": 0, "c": 2}, {"f1": 1, "f3": 1},
    {"f0": 0, "f2": 2, "c": 0}, {"f0": 1, "f1": 1, "f2": 0, "f3": 0, "c": 1},
]  # fmt: skip


@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])
@pytest.mark.parametrize("codes", EVIDENCE, ids=str)
def test_joint_states_are_those_of_enumeration(codes, zeros):
    network, joint = network_of(3 if zeros else 5, zeros)
    names = network.vocabulary.names
    possible = np.zeros_like(joint)
    place = tuple(codes.get(name, slice(None)) for name in names)
    possible[place] = joint[place]
    evidence = {name: network.vocabulary.states[name][code] for name, code in codes.items()}
    if not possible.any():
        with pytest.raises(ValueError, match="has probability 0 in this network, so there are no rows to draw"):
            network.sample(10, evidence)
        return
    rows = network.sample(20_000, evidence, random_state=7)
    assert rows.columns.tolist() == list(names)
    assert_distributed(flat(rows, network.vocabulary), possible.ravel())


def test_draws_in_several_batches(monkeypatch):
    """Batches are not copies of each other."""
    monkeypatch.setattr(sampling, "ROWS_AT_ONCE", 7)
    network, joint = network_of(5)
    rows = network.sample(6000, random_state=1)
    assert_distributed(flat(rows, network.vocabulary), joint.ravel())
    assert len(rows[:7].merge(rows[7:14])) < 49


@pytest.mark.parametrize("evidence", [{}, {"c": 1}, {"f6": 0, "f2": 1}], ids=str)
def test_all_families_of_a_learned_network(evidence):
    """Every family has the distribution that follows from the joint one."""
    problem = random_problem(2, 8, n_rows=400, n_classes=3, max_arity=4, weights="real")
    X, y = problem.frame()
    classifier = ANBClassifier(ess=1.0, categories=problem.categories).fit(X, y, sample_weight=problem.weights)
    rows = classifier.sample(20_000, evidence, random_state=3)
    names = list(classifier.vocabulary_.names)
    assert rows.columns.tolist() == names
    joint = joint_of_network(classifier.model_)
    for name, value in evidence.items():
        joint = joint * only(classifier.model_, name, value)
    for name, parents in classifier.structure_.parents.items():
        family = sorted((name, *parents), key=names.index)
        expected = joint.sum(axis=tuple(v for v, other in enumerate(names) if other not in family))
        cells = np.ravel_multi_index(tuple(rows[v].to_numpy() for v in family), expected.shape)
        assert_distributed(cells, expected.ravel())


def with_missing():
    """A classifier with states for missing cells."""
    problem = random_problem(8, 3, n_rows=300, n_classes=2, max_arity=3, unseen=False)
    X, y = problem.frame()
    X = X.astype(object)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.3] = None
    return GBNClassifier(ess=1.0, handle_missing="own_state").fit(X, y)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("evidence", [{}, {"c": 1}, {"f1": None}, {"f0": 0, "f2": None}], ids=str)
def test_missing_cells(missing, evidence):
    """Unless they are asked for, rows are drawn given that no cell is missing but those of the evidence."""
    classifier = with_missing()
    vocabulary = classifier.vocabulary_
    assert vocabulary.own_missing == {"f0", "f1", "f2"}
    place = vocabulary.positions
    joint = joint_of_network(classifier.model_)
    arities = joint.shape
    possible = np.ones_like(joint)
    for name, v in place.items():
        allowed = np.ones(arities[v], dtype=bool)
        if name in evidence:
            allowed[:] = False
            value = evidence[name]
            allowed[vocabulary.missing_code(name) if value is None else vocabulary.code(name, value)] = True
        elif not missing and name in vocabulary.own_missing:
            allowed[-1] = False
        possible *= allowed.reshape([-1 if u == v else 1 for u in range(len(arities))])
    rows = classifier.sample(20_000, evidence, random_state=5, missing=missing)
    codes = []
    for name in vocabulary.names:
        code = {state: k for k, state in enumerate(vocabulary.observed_states(name))}
        codes.append([vocabulary.missing_code(name) if pd.isna(cell) else code[cell] for cell in rows[name]])
    assert_distributed(np.ravel_multi_index(tuple(map(np.array, codes)), arities), (joint * possible).ravel())


def test_rows_that_cannot_be_without_missing_cells():
    X = pd.DataFrame({"a": [None] * 20 + ["u", "v"] * 5, "b": ["x", "y"] * 15})
    y = pd.Series(["no"] * 20 + ["yes"] * 10, name="y")
    model = NaiveBayesClassifier(parameters="ml", handle_missing="own_state").fit(X, y)
    assert model.sample(50, {"y": "no"}, missing=True)["a"].isna().all()
    with pytest.raises(ValueError, match=r"a row with y = 'no' and no other missing cell has probability 0"):
        model.sample(50, {"y": "no"})


# ---- densities


@pytest.mark.parametrize("evidence", [{}, {"species": "virginica"}, {"petal_width": 1.7}], ids=str)
def test_cells_of_densities(evidence):
    """Joint cells of two columns have the probabilities of the network of cells."""
    X, y = load_iris()
    classifier = TANClassifier(continuous="universal").fit(X[["petal_length", "petal_width"]], y)
    cells = classifier.model_.on_cells()
    rows = classifier.sample(20_000, evidence, random_state=2)
    names = list(cells.vocabulary.names)
    possible = joint_of_network(cells)
    codes = [
        np.searchsorted(cells.cut_points[name], rows[name].to_numpy())
        if name in cells.cut_points
        else rows[name].map({s: k for k, s in enumerate(cells.vocabulary.states[name])}).to_numpy()
        for name in names
    ]
    for name, value in evidence.items():
        assert (rows[name] == value).all()
        possible = possible * only(cells, name, codes[names.index(name)][0])
    assert_distributed(np.ravel_multi_index(tuple(codes), possible.shape), possible.ravel())


def test_densities_of_widths_are_drawn_exactly():
    """Measured by width, all numbers of a cell are equally probable, also those beyond the training values."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"v": rng.beta(2, 5, 300), "n": rng.poisson(2, 300)})
    y = pd.Series(rng.integers(0, 2, 300), name="y")
    measure = UniversalMeasure({"v": EqualWidthPartition(0, 2), "n": CountPartition()}, levels=3)
    classifier = TANClassifier(continuous=measure).fit(X, y)
    rows = classifier.sample(40_000, random_state=0)
    assert rows["v"].between(0, 2).all()
    cells = classifier.model_.on_cells()
    parts = 160
    joint = joint_of_network(cells)
    v = cells.vocabulary.names.index("v")
    shares = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis != v))
    edges = np.concatenate([[0], cells.cut_points["v"], [2]])
    cell = np.searchsorted(edges, (np.arange(parts) + 0.5) * 2 / parts) - 1
    within = np.floor(rows["v"].to_numpy() / 2 * parts).astype(int)
    assert_distributed(within, shares[cell] / np.diff(edges)[cell])
    assert rows["v"].max() > X["v"].max() + 0.5
    assert rows["n"].dtype == np.int64
    assert set(rows["n"]) <= set(X["n"])


# ---- refits and networks without a class


def test_a_refit_draws_from_its_network():
    X, y = load_monks(1)
    refitted = RefittedClassifier(NaiveBayesClassifier(), l2=1.0).fit(X, y)
    network = refitted.model_.to_network()
    pd.testing.assert_frame_equal(refitted.sample(50, random_state=1), network.sample(50, random_state=1))
    rows = refitted.sample(20_000, {"is_monk": y.iloc[0]}, random_state=1)
    assert_distributed(
        rows["holding"].map({"balloon": 0, "flag": 1, "sword": 2}).to_numpy(),
        class_posterior(refitted.model_.to_classifier(), "holding", {"is_monk": y.iloc[0]}),
    )


def test_a_network_without_a_class():
    """Its variables are all alike, and any of them can be evidence."""
    network, joint = network_of(5)
    vocabulary = Vocabulary(dict(network.vocabulary.states))
    assert vocabulary.class_name is None
    without = SimpleNamespace(vocabulary=vocabulary, tables=network.tables, cut_points={})
    rows = sampling.sample_network(without, 20_000, {"c": "c=1", "f2": "f2=0"}, 0, missing=False, reader=None)
    assert rows.columns.tolist() == list(vocabulary.names)
    possible = joint * only(network, "c", 1) * only(network, "f2", 0)
    assert_distributed(flat(rows, vocabulary), possible.ravel())


# ---- seeds, sizes, refusals


@pytest.fixture(scope="module")
def iris():
    return ANBClassifier(ess=1.0, discretizer="mdlp").fit(*load_iris())


def test_seeds(iris):
    first = iris.sample(30, random_state=3)
    pd.testing.assert_frame_equal(first, iris.sample(30, random_state=3))
    pd.testing.assert_frame_equal(first, iris.sample(30, random_state=np.random.default_rng(3)))
    assert not first.equals(iris.sample(30, random_state=4))
    assert not iris.sample(30).equals(iris.sample(30))
    rng = np.random.default_rng(3)
    assert not iris.sample(30, random_state=rng).equals(iris.sample(30, random_state=rng))


def test_threads_do_not_matter(iris):
    first = iris.sample(200, {"petal_width": 1.7}, random_state=3)
    for n_jobs in (1, 2, -1):
        iris.set_params(n_jobs=n_jobs)
        pd.testing.assert_frame_equal(first, iris.sample(200, {"petal_width": 1.7}, random_state=3))


@pytest.mark.parametrize("evidence", [None, {"species": "setosa"}], ids=str)
def test_no_rows(iris, evidence):
    X = load_iris()[0]
    rows = iris.sample(0, evidence)
    assert rows.shape == (0, 5)
    assert rows.drop(columns="species").dtypes.equals(X.dtypes)


def test_evidence_is_read_as_in_query(iris):
    row = load_iris()[0].iloc[77]
    rows = iris.sample(10, row, random_state=0)
    assert (rows[list(row.index)] == row.to_numpy()).all(axis=None)
    with pytest.raises(TypeError, match="evidence must map features to values"):
        iris.sample(10, ["petal_width"])
    for evidence, what in (
        ({"petal": 1.7}, "'petal' is not a feature"),
        ({"species": "rosa"}, r"'rosa' is not a state of 'species'; its states: 'setosa', 'versicolor', 'virginica'"),
        ({"petal_width": None}, "the value of 'petal_width' is missing"),
    ):
        with pytest.raises(ValueError, match=what):
            iris.sample(10, evidence)


@pytest.mark.parametrize("n", [-1, 1.5, True, "3", None])
def test_numbers_of_rows(iris, n):
    with pytest.raises(ValueError, match="n must be a whole number of rows, 0 or more, not"):
        iris.sample(n)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        ANBClassifier().sample(3)


@pytest.mark.parametrize(
    "model",
    [
        AODEClassifier(),
        A2DEClassifier(),
        AveragedTANClassifier(ess=1.0),
        pytest.param(PooledClassifier([NaiveBayesClassifier(), TANClassifier(ess=1.0)]), marks=pytest.mark.slow),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_are_not_one_network(model):
    X, y = load_monks(1)
    model.fit(X.iloc[:80, :3], y[:80])
    with pytest.raises(TypeError, match=r"rows cannot be drawn from an? .*, because it is not one network"):
        model.sample(3)


def test_a_refit_without_a_network():
    parents = {"c": (), "f0": ("c",), "f1": ("c",), "f2": ("c", "f0", "f1")}
    problem = random_problem(1, 3, n_rows=200, n_classes=2, unseen=False)
    X, y = problem.frame()
    refitted = RefittedClassifier(FixedStructureClassifier(parents, ess=1.0), l2=1.0).fit(X, y)
    assert not refitted.logit_.equivalent
    with pytest.raises(ValueError, match="close"):
        refitted.sample(3)
