"""The classifier of fewest class parameters: what it says, and every form that it can take."""

import numpy as np
import oracles
import pytest
from strategies import random_problem

from anbexact import DiscreteTable, load, verify
from anbexact.adapters import from_pgmpy
from anbexact.classifiers import MinimalClassParametersClassifier
from anbexact.compare import compare
from anbexact.datasets import load_anes96, load_monks


@pytest.fixture(scope="module")
def frame():
    return random_problem(21, 5, n_rows=300, weights="ones", unseen=False).frame()


@pytest.fixture(scope="module")
def fitted(frame):
    return MinimalClassParametersClassifier(ess=1.0, n_jobs=1).fit(*frame)


def test_posterior_is_that_of_the_tables(frame, fitted):
    X, _ = frame
    problem = random_problem(21, 5, n_rows=300, weights="ones", unseen=False)
    parents = fitted.structure_.parents
    place = {name: k for k, name in enumerate([*X.columns, fitted.structure_.class_name])}
    tables = {}
    for child, of_child in parents.items():
        family = [place[name] for name in of_child]
        tables[place[child]] = (
            family,
            oracles.eap(problem.rows, problem.weights, problem.arities, place[child], family, 1.0),
        )
    for row, found in zip(problem.rows[:20], fitted.predict_proba(X.iloc[:20]), strict=True):
        joint = np.array(
            [
                np.prod([table[(cells[v], *(cells[p] for p in own))] for v, (own, table) in tables.items()])
                for cells in ((*row[:-1], c) for c in range(problem.arities[-1]))
            ]
        )
        np.testing.assert_allclose(found, joint / joint.sum(), rtol=1e-10)


def test_irrelevant_features_do_not_change_the_class(frame, fitted):
    X, _ = frame
    X2 = X.copy()
    rng = np.random.default_rng(0)
    for name in fitted.irrelevant_:
        X2[name] = rng.permutation(X2[name])
    np.testing.assert_allclose(fitted.predict_proba(X2), fitted.predict_proba(X), rtol=1e-12)
    monks = MinimalClassParametersClassifier(ess=1.0).fit(*load_monks(1))
    assert monks.irrelevant_ == ("is_smiling", "holding", "has_tie")
    assert monks.class_parameters_ == monks.structure_.certificate.proof.components[0].case.count


def test_through_a_file_with_its_proof(frame, fitted, tmp_path):
    X, y = frame
    fitted.save(tmp_path / "mcp.json")
    loaded = load(tmp_path / "mcp.json")
    assert isinstance(loaded, MinimalClassParametersClassifier)
    assert loaded.structure_ == fitted.structure_
    assert loaded.structure_.certificate.proof == fitted.structure_.certificate.proof
    assert loaded.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert loaded.irrelevant_ == fitted.irrelevant_
    assert verify(loaded.structure_, DiscreteTable.from_frame(X, y))


def test_to_other_forms(frame, fitted):
    X, _ = frame
    expected = fitted.predict_proba(X)
    np.testing.assert_allclose(fitted.to_logit().predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_allclose(from_pgmpy(fitted.network_, fitted.structure_.class_name).predict_proba(X), expected)


def test_missing_cells_are_summed_out(frame):
    X, y = frame
    model = MinimalClassParametersClassifier(ess=1.0, handle_missing="marginalize").fit(X.astype(str), y)
    gaps = X.astype(str).astype(object)
    gaps.iloc[:, 0] = None
    states = sorted(set(X.iloc[:, 0].astype(str)))
    joint = np.zeros((len(X), len(model.classes_)))
    for state in states:
        filled = gaps.copy()
        filled.iloc[:, 0] = state
        joint += model.predict_proba(filled) * np.exp(model.log_evidence(filled))[:, None]
    np.testing.assert_allclose(model.predict_proba(gaps), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)


def test_weights_are_copies_of_rows(frame):
    X, y = frame
    weights = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = MinimalClassParametersClassifier(ess=1.0).fit(X, y, sample_weight=weights)
    copied = MinimalClassParametersClassifier(ess=1.0).fit(X.iloc[rows], y.iloc[rows])
    assert weighted.structure_.parents == copied.structure_.parents
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-9)


def test_is_compared():
    X, y = load_anes96()
    found = compare(X, y, folds=2, models=["NB", "MCP"], refit=False)
    assert list(found.index) == ["NB", "MCP"]
    assert np.isfinite(found.select_dtypes("number").to_numpy()).any()


def test_sample_sizes_are_chosen_by_climbing_over_general_networks(monkeypatch):
    """Where a search is not quick, hill climbing chooses, with the class as a variable like any other."""
    import anbexact.classifiers.exact as exact

    monkeypatch.setattr(exact, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(exact, "AFFORDABLE_SECONDS", 0.0)
    climbs = []

    def climbed(table, score, **options):
        climbs.append((options["below_class"], options["max_parents"]))
        return climb_from_forest(table, score, **options)

    climb_from_forest = exact.climb_from_forest
    monkeypatch.setattr(exact, "climb_from_forest", climbed)
    X, y = load_anes96()
    model = MinimalClassParametersClassifier(n_jobs=1).fit(X, y)
    assert set(climbs) == {(False, None)}
    assert "fewest class parameters" in model.structure_.certificate.method
