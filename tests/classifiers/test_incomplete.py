"""Networks learned from rows with missing cells, and without a class."""

import warnings
from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from strategies import random_problem
from tiers import repeats

import anbexact
from anbexact import ANBClassifier, DiscreteTable, NaiveBayesClassifier, TANClassifier, verify
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import (
    AODEClassifier,
    BNC2PClassifier,
    EMRecord,
    FixedStructureClassifier,
    FSANBClassifier,
    GBNClassifier,
    GreedyGBNClassifier,
    KDBClassifier,
    LogitFANClassifier,
    MCDAGClassifier,
    RefittedClassifier,
)
from anbexact.cli import main
from anbexact.files.describe import describe
from anbexact.models.em.expectation import CompletionExpectation
from anbexact.models.em.structural import LONG, MStep, climb, first_expected
from anbexact.models.parameters.tables import eap_tables
from anbexact.scores import BDeu
from anbexact.tables.incomplete import IncompleteTable

GRAPH = {0: [4], 1: [0, 4], 2: [1, 4], 3: [0, 2, 4], 4: []}
PARENTS = {"f0": ["c"], "f1": ["f0", "c"], "f2": ["f1", "c"], "f3": ["f0", "f2", "c"], "c": []}


def incomplete_table(seed, *, share=0.25, unlabelled=0.0, n_rows=40):
    """Return rows with None in the place of missing cells, and the same as features, class, weights and states."""
    problem = random_problem(seed, 4, n_rows=n_rows, max_arity=3, weights="mixed")
    rng = np.random.default_rng(seed)
    chances = np.array([share] * 4 + [unlabelled])
    rows = [tuple(None if rng.random() < chances[v] else cell for v, cell in enumerate(row)) for row in problem.rows]
    frame = pd.DataFrame(rows, columns=problem.names, dtype=object)
    return rows, problem, frame.drop(columns="c"), frame["c"]


def incomplete(rows, problem):
    """Return the rows as a table with missing cells."""
    codes = np.array([[-1 if cell is None else cell for cell in row] for row in rows], dtype=np.int16)
    vocabulary = problem.table.vocabulary
    return IncompleteTable(vocabulary, np.asfortranarray(codes), np.array(problem.weights), len(rows))


def fitted(estimator, X, y, problem, **parameters):
    model = estimator(handle_missing="em", categories=problem.categories, n_jobs=1, **parameters)
    return model.fit(X, y, sample_weight=problem.weights)


def rises(record):
    """Whether the objective never falls from one round to the next of the same structure."""
    pairs = zip(record.rounds, record.rounds[1:], strict=False)
    return all(b.searched or b.objective >= a.objective - 1e-10 * max(1, abs(a.objective)) for a, b in pairs)


@pytest.mark.parametrize("unlabelled", [0.0, 0.3])
@pytest.mark.parametrize("seed", repeats(6))
def test_a_fixed_structure_has_the_rounds_of_brute_force(seed, unlabelled):
    rows, problem, X, y = incomplete_table(seed, unlabelled=unlabelled)
    how = {"missing_class": "em"} if unlabelled else {}
    model = fitted(FixedStructureClassifier, X, y, problem, parents=PARENTS, ess=2.0, **how)
    assert isinstance(model.em_, EMRecord)
    assert rises(model.em_)
    assert model.em_.converged
    table = incomplete(rows, problem)
    structure = model.structure_
    m_step = MStep(lambda *_: structure, BDeu(2.0), lambda counts: eap_tables(counts, 2.0), 2.0)
    expectation = CompletionExpectation(table, 10**6)
    first = first_expected(expectation, "available cases")
    rounds = climb(expectation, "available cases", first, m_step, LONG, Deadline(None)).rounds
    tables = oracles.available_naive_bayes(rows, problem.weights, problem.arities, 4)
    tables = oracles.em_round(rows, problem.weights, problem.arities, tables, GRAPH, 2.0)[0]
    for own in rounds[:4]:
        tables, total, objective = oracles.em_round(rows, problem.weights, problem.arities, tables, GRAPH, 2.0)
        assert own.log_likelihood == pytest.approx(total, rel=1e-11)
        assert own.objective == pytest.approx(objective, rel=1e-11)


@pytest.mark.parametrize("seed", repeats(4))
def test_the_last_round_is_brute_force_from_its_own_tables(seed):
    rows, problem, X, y = incomplete_table(seed)
    model = fitted(FixedStructureClassifier, X, y, problem, parents=PARENTS, ess=2.0)
    names = problem.names
    own = {
        v: (
            [names.index(parent) for parent in table.parents],
            {cell: float(value) for cell, value in np.ndenumerate(table.values)},
        )
        for v, table in ((names.index(name), table) for name, table in model.conditional_tables_.items())
    }
    _, total, objective = oracles.em_round(rows, problem.weights, problem.arities, own, GRAPH, 2.0)
    assert 0 <= objective - model.em_.rounds[-1].objective + 1e-9 <= 1e-4 * sum(problem.weights)
    assert total == pytest.approx(model.em_.log_likelihoods[-1], abs=1e-2 * sum(problem.weights))
    assert total == pytest.approx(oracles.expected_rows(rows, problem.weights, problem.arities, own)[2])


def test_maximum_likelihood_climbs_the_likelihood_itself():
    _, problem, X, y = incomplete_table(5)
    model = fitted(NaiveBayesClassifier, X, y, problem, ess=1.0, parameters="ml")
    assert rises(model.em_)
    assert all(one.objective == one.log_likelihood for one in model.em_.rounds)


@pytest.mark.parametrize("seed", repeats(4))
def test_the_structure_is_optimal_for_the_expected_counts(seed):
    _, problem, X, y = incomplete_table(seed)
    model = fitted(ANBClassifier, X, y, problem, ess=1.0)
    table = model.em_.table
    best = oracles.anb_optimum(table.codes.tolist(), table.weights.tolist(), problem.arities, 1.0)
    assert model.structure_.score == pytest.approx(best)
    assert model.structure_.certificate.optimal
    assert "about the expected counts" in model.structure_.certificate.method
    assert verify(model.structure_, table)
    assert not verify(replace(model.structure_, score=model.structure_.score + 0.5), table)


@pytest.mark.parametrize(
    "estimator", [ANBClassifier, GBNClassifier, TANClassifier, NaiveBayesClassifier, KDBClassifier, FSANBClassifier]
)
def test_without_missing_cells_it_is_the_plain_fit(estimator):
    problem = random_problem(3, 4, n_rows=60, weights="mixed")
    X, y = problem.frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, em = (
            estimator(handle_missing=rule, n_jobs=1).fit(X, y, sample_weight=problem.weights)
            for rule in ("auto", "em")
        )
    first, second = describe(plain), describe(em)
    assert em.em_ is None
    for document in (first, second):
        document.pop("parameters")
        document["structure"]["certificate"].pop("seconds")
    assert first == second


@pytest.mark.parametrize(
    "estimator", [GBNClassifier, TANClassifier, KDBClassifier, FSANBClassifier, GreedyGBNClassifier]
)
def test_every_search_learns_from_incomplete_rows(estimator):
    _, problem, X, y = incomplete_table(2, unlabelled=0.2, n_rows=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(estimator, X, y, problem, missing_class="em")
    assert model.em_.converged
    assert rises(model.em_)
    assert model.classes_.tolist() == list(range(problem.arities[-1]))
    assert sum(model.counts_["c"].weights) == pytest.approx(sum(problem.weights))
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.allclose(proba, TANClassifier.predict_proba(model.set_params(handle_missing="marginalize"), X))


def test_a_file_keeps_how_it_was_learned(tmp_path):
    _, problem, X, y = incomplete_table(4)
    model = fitted(TANClassifier, X, y, problem)
    model.save(tmp_path / "model.json")
    again = anbexact.load(tmp_path / "model.json")
    assert again.em_ == model.em_
    assert again.em_.table is None
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert str(again.em_).startswith("expectation maximisation over ")
    assert list(again.em_.to_frame()) == ["searched", "log_likelihood", "objective"]
    assert again.em_.to_frame().index[0] == 1


def test_rows_are_added_only_if_complete():
    _, problem, X, y = incomplete_table(4)
    model = fitted(NaiveBayesClassifier, X, y, problem, ess=1.0)
    with pytest.raises(ValueError, match="rows have a missing feature"):
        model.partial_fit(X, y)
    rows, classes = problem.frame()
    before = model.counts_["c"].weights.sum()
    assert model.partial_fit(rows, classes).counts_["c"].weights.sum() == pytest.approx(before + len(rows))


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (AODEClassifier, {"handle_missing": "em"}, "'em' is for networks whose tables follow from counts"),
        (LogitFANClassifier, {"handle_missing": "em"}, "'em' is for networks"),
        (BNC2PClassifier, {"handle_missing": "em"}, "'em' is for networks"),
        (MCDAGClassifier, {"handle_missing": "em"}, "'em' is for networks"),
        (GreedyGBNClassifier, {"handle_missing": "em", "structure_score": "cmdl"}, "'em' is for networks"),
        (ANBClassifier, {"handle_missing": "em", "continuous": "universal"}, "'em' is for networks"),
        (ANBClassifier, {"missing_class": "em"}, "needs handle_missing='em' or handle_missing="),
        (LogitFANClassifier, {"missing_class": "em", "handle_missing": "own_state"}, "missing_class must be 'error'"),
    ],
)
def test_what_cannot_be_learned_so_is_refused(estimator, parameters, message):
    X, y = random_problem(1, 3).frame()
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, y)


def test_a_missing_class_is_refused_unless_asked_for():
    _, problem, X, y = incomplete_table(2, unlabelled=0.2)
    with pytest.raises(ValueError, match="the class 'c' is missing in"):
        fitted(NaiveBayesClassifier, X, y, problem)


def test_rows_without_a_class_count_beside_states_for_missing_cells():
    _, _, X, y = incomplete_table(2, unlabelled=0.2)
    model = NaiveBayesClassifier(handle_missing="own_state", missing_class="em", ess=1.0).fit(X, y)
    assert model.em_.n_incomplete > 0
    assert all("(missing)" in model.vocabulary_.states[name] for name in X)
    assert model.counts_["c"].weights.sum() == pytest.approx(len(X))


def test_a_column_without_values_is_named():
    _, _, X, y = incomplete_table(2)
    with pytest.raises(ValueError, match="'empty': it has no observed value"):
        NaiveBayesClassifier(handle_missing="em").fit(X.assign(empty=None), y)


@pytest.mark.slow
def test_rows_with_too_many_missing_cells_are_drawn_with_a_warning(monkeypatch):
    _, problem, X, y = incomplete_table(2, share=0.4)
    monkeypatch.setattr("anbexact.classifiers.completing.MOST_COMPLETIONS", 1)
    with pytest.warns(UserWarning, match="rows have too many missing cells to be completed in every way"):
        drawn = fitted(NaiveBayesClassifier, X, y, problem, ess=1.0)
    assert drawn.em_.n_drawn > 0
    monkeypatch.undo()
    exact = fitted(NaiveBayesClassifier, X, y, problem, ess=1.0)
    assert drawn.em_.log_likelihoods[-1] == pytest.approx(exact.em_.log_likelihoods[-1], rel=1e-3)
    assert "by 8 draws each" in drawn.structure_.certificate.method


def test_a_time_limit_ends_the_rounds_with_a_warning():
    _, problem, X, y = incomplete_table(2)
    with pytest.warns(UserWarning, match="did not converge in .* rounds within time_limit"):
        model = fitted(TANClassifier, X, y, problem, time_limit=1e-9)
    assert not model.em_.converged
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_refit_says_that_it_uses_complete_rows():
    _, _, X, y = incomplete_table(2, unlabelled=0.2, n_rows=80)
    network = NaiveBayesClassifier(handle_missing="em", missing_class="em", ess=1.0)
    with pytest.warns(UserWarning, match="the refit by conditional likelihood uses the complete rows alone"):
        refitted = RefittedClassifier(network, l2=10.0).fit(X, y)
    assert np.isfinite(refitted.predict_proba(X)).all()


def test_an_unlabelled_table_keeps_numbers_as_classes():
    X = pd.DataFrame({"a": ["x", "y", "x", "y", "x", "y"], "b": ["u", "u", "v", None, "v", "u"]})
    y = pd.Series([2, 1, np.nan, 1, 2, np.nan], name="stage")
    model = NaiveBayesClassifier(handle_missing="em", missing_class="em", ess=1.0).fit(X, y)
    assert model.classes_.tolist() == [1.0, 2.0]
    assert model.predict(X.iloc[:2]).tolist() == [2.0, 1.0]


def test_expected_rows_form_a_table():
    _, problem, X, y = incomplete_table(6)
    table = fitted(TANClassifier, X, y, problem, ess=1.0).em_.table
    assert isinstance(table, DiscreteTable)
    assert table.weight_sum == pytest.approx(sum(problem.weights))
    assert (np.diff([tuple(row) for row in table.codes.tolist()], axis=0) != 0).any(axis=1).all()


def test_the_command_line_and_comparisons_know_it(tmp_path, capsys):
    _, _, X, y = incomplete_table(6, n_rows=60)
    path = tmp_path / "rows.csv"
    X.assign(c=[f"class {k}" for k in y]).to_csv(path, index=False)
    main(["fit", str(path), "--class", "c", "--model", "nb", "--ess", "1", "--missing", "em", "-o", f"{path}.json"])
    printed = capsys.readouterr().out
    assert "rows.csv: 60 rows, " in printed
    assert "to learn from" not in printed
    assert "expectation maximisation over" in printed
    assert anbexact.load(f"{path}.json").em_.converged
    frame = anbexact.compare(X, y, folds=2, models=["NB", "AODE"], handle_missing="em", refit=False)
    notes = " ".join(frame.attrs["notes"])
    assert "AODE cannot learn by expectation maximisation and keep 'auto'" in notes
    assert "completed as the network itself expects" in notes
