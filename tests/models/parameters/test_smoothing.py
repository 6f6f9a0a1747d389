"""Equivalent sample sizes that are chosen: of the score by marginal likelihood, of the tables by leave-one-out."""

import warnings
from dataclasses import replace
from math import inf, log

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ess_values, problems, random_problem
from tiers import examples

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    BDeu,
    DiscreteTable,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
    learn_anb,
    learn_naive_bayes,
    learn_tan,
    load,
)
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import FixedStructureClassifier, WeightedNaiveBayesClassifier
from anbexact.classifiers.choosing import sample_size
from anbexact.classifiers.choosing.frequencies import PredictedWorseWarning
from anbexact.classifiers.choosing.sample_size import Learner, Search, learn_structure
from anbexact.datasets import load_dataset
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters import smoothing
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.smoothing import (
    HeldOut,
    HeldOutFolds,
    LeaveOneOut,
    best_held_out_smoothing,
    best_smoothing,
    class_families,
    most_smoothing,
    second_held_out_smoothing,
    second_smoothing,
)
from anbexact.models.parameters.tables import eap_tables
from anbexact.models.structure import Certificate, Structure
from anbexact.search.ess import START_ESS, best_ess, climb_in_ess
from anbexact.search.scoring.totals import total_score
from anbexact.show.report.facts import sample_sizes
from anbexact.tables.folds import split_table


def climb(table, learn, time_limit=None):
    """The first search, and the climb from its structure."""
    deadline = Deadline(time_limit)
    return climb_in_ess(table, learn, learn(table, BDeu(START_ESS), time_limit), deadline)


@st.composite
def problems_with_graphs(draw):
    """A problem and any acyclic graph over its variables: the class may have parents, or no children."""
    problem = draw(problems(max_features=3, max_rows=10))
    order = draw(st.permutations(range(problem.n + 1)))
    parents = {
        child: tuple(sorted(v for v in order[:place] if draw(st.booleans()))) for place, child in enumerate(order)
    }
    return problem, parents


def structure_of(problem, parents):
    names = problem.names
    named = {names[child]: tuple(names[v] for v in of_child) for child, of_child in parents.items()}
    return Structure("c", {name: named[name] for name in names}, 0.0, Certificate.unknown("test"))


def learn(table, score, _=None):
    return learn_anb(table, score)


def learner(search=learn, *, chooses_smoothing=True):
    found = Search(search, search)
    return Learner(found, (found,), BDeu, True, chooses_smoothing, True)


def random_frame(n_features, n_rows):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = (rng.random((n_rows, n_features)) < 0.3 + 0.4 * y[:, None]).astype(str)
    return X, y


def repeated(rng, n_rows, n_features, rare=0.5):
    """A naive Bayes network, and rows of features that say the same about a class of two."""
    y = rng.random(n_rows) < rare
    once = rng.random(n_rows) < np.where(y, 0.75, 0.45)
    copies = once[:, None] ^ (rng.random((n_rows, n_features)) < 0.03)
    table = DiscreteTable.from_frame(pd.DataFrame(copies).rename(columns=str), pd.Series(y, name="y"))
    return table, learn_naive_bayes(table)


def two_causes_frame(n_rows, n_features, seed=0):
    """Features that say, more or less, which of six values two causes have; in one of the classes, mostly 0."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.3).astype(int)
    cause = np.where(rng.random((n_rows, 2)) < 0.9 * y[:, None], 0, rng.integers(0, 6, (n_rows, 2)))
    told = rng.random((n_rows, n_features)) < 0.7
    return np.where(told, cause[:, np.arange(n_features) % 2], rng.integers(0, 6, (n_rows, n_features))), y


def two_causes(n_rows, n_features):
    return DiscreteTable.from_frame(*two_causes_frame(n_rows, n_features))


class TestLeaveOneOut:
    @given(problems_with_graphs(), ess_values)
    @examples(60)
    def test_equals_fitting_without_every_row(self, drawn, ess):
        problem, parents = drawn
        weights = [max(1.0, weight) for weight in problem.weights]
        together = {}
        for row, weight in zip(problem.rows, weights, strict=True):
            together[row] = together.get(row, 0.0) + weight
        rows, weights = list(together), list(together.values())
        expected = oracles.leave_one_out(rows, weights, problem.arities, parents, ess)
        problem.weights, problem.rows = weights, rows
        found = LeaveOneOut(problem.table, structure_of(problem, parents)).log_likelihood(ess)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)

    @pytest.mark.parametrize(("n_features", "weights"), [(7, "whole"), (7, "ones"), (20, "ones")])
    def test_many_rows_and_families(self, n_features, weights):
        """More rows than are predicted at once, and a number of them and of families that nothing divides."""
        problem = random_problem(1, n_features, n_rows=300, max_arity=3, weights=weights)
        table = problem.table
        structure = learn_anb(table, max_parents=2) if n_features < 10 else learn_tan(table)
        rows, weights = table.codes.tolist(), table.weights.tolist()
        assert len(rows) > 128
        sizes = np.array([0.2, 3.0, 500.0])
        expected = [oracles.leave_one_out(rows, weights, *self.of(problem, structure), ess) for ess in sizes]
        np.testing.assert_allclose(LeaveOneOut(table, structure).log_likelihoods(sizes), expected, rtol=1e-10)

    @pytest.mark.parametrize("half", [20, 120])
    @pytest.mark.parametrize("own", [0, 1])
    @pytest.mark.parametrize("ess", [0.5, 1e-4])
    def test_features_that_contradict_each_other(self, half, own, ess):
        """The first features make one class all but impossible, and the others make up for it."""
        y = np.arange(100) % 2
        X = np.repeat(y[:, None], 2 * half, axis=1)
        asked = np.repeat([[0, 1]], half, axis=1)
        rows = DiscreteTable.from_frame(X.astype(str), y)
        held = DiscreteTable.from_frame(asked.astype(str), np.array([own]), categories=rows.vocabulary.states)
        found = HeldOut(rows, held, learn_naive_bayes(rows)).log_likelihoods(np.array([ess, 10.0]))
        np.testing.assert_allclose(found, np.log([0.5, 0.5]), rtol=1e-9)  # both classes are equally far away

        X[own], y[own] = asked, own
        table = DiscreteTable.from_frame(X.astype(str), y)
        others = np.bincount(y[np.arange(100) != own])
        cell = np.where(asked[0] == np.array([[0], [1]]), others[:, None], 0)
        logs = np.log(others + ess / 2) + np.log((cell + ess / 4) / (others[:, None] + ess / 2)).sum(axis=1)
        of_row = logs[own] - np.logaddexp(*logs)
        assert LeaveOneOut(table, learn_naive_bayes(table)).log_likelihood(ess) == pytest.approx(of_row, rel=1e-9)

    @pytest.mark.parametrize("n_features", [3, 40, 90, 200])
    def test_many_rows_that_are_all_but_impossible(self, n_features):
        """The product of their shares would leave the range of floats."""
        y = np.arange(100) % 2
        rows = DiscreteTable.from_frame(np.repeat(y[:, None], n_features, axis=1).astype(str), y)
        asked, own = np.zeros((150, n_features)).astype(int).astype(str), np.ones(150, int)
        asked[:, 0] = np.arange(150) % 2
        held = DiscreteTable.from_frame(asked, own, categories=rows.vocabulary.states)
        held = replace(held, codes=np.repeat(held.codes, 75, axis=0), weights=np.ones(150))
        found = HeldOut(rows, held, learn_naive_bayes(rows)).log_likelihoods(np.array([1.0]))
        right, wrong = np.log(50 + 0.25) - np.log(50.5), np.log(0.25) - np.log(50.5)
        odds = np.array([n_features, n_features - 2]) * (right - wrong)
        assert found[0] == pytest.approx(-75 * np.logaddexp(0, odds).sum(), rel=1e-9)

    @pytest.mark.parametrize("weight", [1e-150, 1e-60, 1e34, 1e80, 1e250])
    def test_extreme_weights(self, weight):
        """Products of counts would be too large or too small: the log likelihood is that of smaller weights."""
        problem = random_problem(2, 6, n_rows=90, max_arity=3)
        table = problem.table
        structure, halves = learn_anb(table, max_parents=1), split_table(table, 2)
        sizes = np.array([0.5, 20.0])
        for rows, others in halves:
            heavier = replace(rows, weights=rows.weights * weight)
            found = HeldOut(heavier, others, structure).log_likelihoods(sizes * weight)
            np.testing.assert_allclose(found, HeldOut(rows, others, structure).log_likelihoods(sizes), rtol=1e-9)
        if weight > 1:
            heavier = replace(table, weights=table.weights * weight)
            codes = table.codes.tolist()
            expected = oracles.held_out(codes, table.weights, codes, table.weights, *self.of(problem, structure), 0.5)
            found = LeaveOneOut(heavier, structure).log_likelihood(0.5 * weight) / weight  # 1 is next to nothing
            assert found == pytest.approx(expected, rel=1e-9)

    @staticmethod
    def of(problem, structure):
        """The numbers of states and the parents of all variables, for the oracles."""
        place = {name: k for k, name in enumerate(problem.table.vocabulary.names)}
        parents = {place[child]: tuple(place[p] for p in of) for child, of in structure.parents.items()}
        return problem.arities, parents

    @pytest.mark.parametrize("n_features", [30, 900])
    def test_a_class_that_is_all_but_impossible(self, n_features):
        """All features are the class, but for one row, whose class is then too improbable for a product."""
        y = np.arange(80) % 3
        X = np.repeat(y[:, None], n_features, axis=1)
        X[5] = 0
        assert y[5] == 2
        table = DiscreteTable.from_frame(X.astype(str), y)
        ess, n_others = 0.5, np.bincount(y[np.arange(80) != 5], minlength=3)
        same = np.bincount(X[np.arange(80) != 5, 0], minlength=3)
        assert same.tolist() == n_others.tolist()
        logs = np.log(n_others + ess / 3)
        logs += n_features * np.log((np.array([n_others[0], 0, 0]) + ess / 9) / (n_others + ess / 3))
        of_row = logs[2] - np.logaddexp.reduce(logs)
        assert (of_row < np.log(1e-300)) == (n_features == 900)
        structure = learn_naive_bayes(table)
        rest = [t for t in range(80) if t != 5]
        alone = DiscreteTable.from_frame(X[5:6].astype(str), y[5:6], categories=table.vocabulary.states)
        learned = DiscreteTable.from_frame(X[rest].astype(str), y[rest], categories=table.vocabulary.states)
        found = HeldOut(learned, alone, structure).log_likelihoods(np.array([ess]))
        assert found == pytest.approx([of_row], rel=1e-12)
        # the other rows predict themselves with next to no loss
        assert LeaveOneOut(table, structure).log_likelihood(ess) == pytest.approx(of_row, rel=1e-3)

    @given(problems_with_graphs(), ess_values)
    def test_light_rows_make_no_trouble(self, drawn, ess):
        problem, parents = drawn
        problem.weights = [weight / 1000 for weight in problem.weights]
        found = LeaveOneOut(problem.table, structure_of(problem, parents)).log_likelihood(ess)
        assert -inf < found <= 1e-9

    @pytest.mark.parametrize("seed", range(4))
    def test_the_best_is_no_worse_than_a_grid(self, seed):
        table = random_problem(seed, 5, n_rows=200).table
        structure = learn_anb(table)
        left_out = LeaveOneOut(table, structure)
        best = left_out.log_likelihood(best_smoothing(table, structure))
        grid = max(left_out.log_likelihood(ess) for ess in np.geomspace(0.1, 200, 60))
        assert best >= grid - 1e-3 * abs(grid)

    def test_one_where_it_makes_no_difference(self):
        table = random_problem(0, 2, n_classes=1, unseen=False).table
        assert best_smoothing(table, learn_naive_bayes(table)) == 1.0


@given(problems_with_graphs())
def test_families_of_few_and_of_many_joint_states_are_counted_alike(drawn):
    problem, parents = drawn
    structure, limit = structure_of(problem, parents), smoothing.DENSE_CELLS_PER_ROW
    found = []
    try:
        for smoothing.DENSE_CELLS_PER_ROW in (0, 10**6):
            found.append(class_families(problem.table, structure))
    finally:
        smoothing.DENSE_CELLS_PER_ROW = limit
    for sparse, dense in zip(*found, strict=True):
        for name in ("state", "cells", "given"):
            np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name))
        assert (sparse.size, sparse.arity, sparse.conditional) == (dense.size, dense.arity, dense.conditional)


class TestHeldOut:
    @pytest.mark.parametrize("seed", range(3))
    def test_structures_of_a_fold_share_families_without_a_difference(self, seed):
        table = random_problem(seed, 4, n_rows=60, weights=["ones", "real", "whole"][seed]).table
        folds = split_table(table, 3)
        together, sizes = HeldOutFolds(folds), np.array([0.3, 1.0, 20.0])
        for ess, most in ((1.0, None), (1.0, 1), (30.0, None), (1.0, None)):
            for rows, others in folds:
                structure = learn_anb(rows, BDeu(ess), max_parents=most)
                found, alone = together(rows, others, structure), HeldOut(rows, others, structure)
                np.testing.assert_array_equal(found.log_likelihoods(sizes), alone.log_likelihoods(sizes))
                own = found.with_class_ess(0.5).log_likelihoods(sizes)
                np.testing.assert_array_equal(own, alone.with_class_ess(0.5).log_likelihoods(sizes))
                assert (own != found.log_likelihoods(sizes)).any()

    @given(problems_with_graphs(), st.data())
    @examples(60)
    def test_equals_fitting_to_the_other_rows(self, drawn, data):
        problem, parents = drawn
        table, structure = problem.table, structure_of(problem, parents)
        folds = split_table(table, data.draw(st.integers(2, 4)))
        sizes = np.array(data.draw(st.lists(ess_values, min_size=1, max_size=3)))
        for learned, others in folds:
            found = HeldOut(learned, others, structure).log_likelihoods(sizes)
            expected = [
                oracles.held_out(
                    learned.codes.tolist(),
                    learned.weights.tolist(),
                    others.codes.tolist(),
                    others.weights.tolist(),
                    problem.arities,
                    parents,
                    size,
                )
                for size in sizes
            ]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("seed", range(4))
    def test_the_best_is_the_top_of_a_fine_grid(self, seed):
        table = random_problem(seed, 5, n_rows=200).table
        folds = [HeldOut(rows, others, learn_naive_bayes(rows)) for rows, others in split_table(table, 5)]
        best, value = best_held_out_smoothing(folds, most_smoothing(table), 1)
        grid = np.geomspace(0.1, most_smoothing(table), 400)
        values = sum(fold.log_likelihoods(grid) for fold in folds)
        assert value <= values.max() + 1e-9
        at_best = sum(fold.log_likelihoods(np.array([best]))[0] for fold in folds)
        assert at_best >= values.max() - 1e-3 * abs(values.max())

    def test_beyond_the_total_weight_where_features_repeat_each_other(self):
        rng = np.random.default_rng(0)
        table, structure = repeated(rng, 300, 20)
        folds = [HeldOut(rows, others, structure) for rows, others in split_table(table, 5)]
        best, value = best_held_out_smoothing(folds, most_smoothing(table), 20)
        grid = np.geomspace(0.1, 20 * 300, 400)
        values = sum(fold.log_likelihoods(grid) for fold in folds)
        assert best > 2 * most_smoothing(table)
        assert values.max() - 1e-2 * abs(values.max()) <= value <= values.max() + 1e-9
        assert best_held_out_smoothing(folds, most_smoothing(table), 1)[0] == most_smoothing(table)
        left_out = LeaveOneOut(table, structure)
        assert left_out.log_likelihood(best_smoothing(table, structure)) >= 0.999 * max(
            map(left_out.log_likelihood, grid[::10]), key=abs
        )

    def test_with_a_sample_size_of_its_own_for_the_class(self):
        """Tables by the formula; held-out rows by a network with these tables; one size for all is a special case."""
        table = random_problem(3, 3, n_rows=40, max_arity=3, unseen=False).table
        structure, features = learn_naive_bayes(table), table.vocabulary.features
        rows, held = split_table(table, 3)[0]
        counts = count_families(rows, structure)
        tables = Estimation(BDeu(2.0), 2.0, 30.0, class_smoothing=0.5).tables(counts, "c")
        shares = counts["c"].dense()
        np.testing.assert_allclose(
            tables["c"].values, (shares + 0.5 / len(shares)) / (shares.sum() + 0.5), rtol=1e-14
        )
        for name, expected in eap_tables(counts, 30.0).items():
            assert name == "c" or np.array_equal(tables[name].values, expected.values)
        codes, truth = np.stack([held.column(name) for name in features]), held.column("c")
        logs = Posterior(tables, "c", features).log_posterior(codes)[np.arange(len(truth)), truth]
        of_rows = HeldOut(rows, held, structure)
        found = of_rows.with_class_ess(0.5).log_likelihoods(np.array([30.0]))
        assert found == pytest.approx([held.weights @ logs], rel=1e-12)
        one, left_out = np.array([7.0]), LeaveOneOut(table, structure)
        np.testing.assert_array_equal(of_rows.with_class_ess(7.0).log_likelihoods(one), of_rows.log_likelihoods(one))
        assert left_out.with_class_ess(7.0).log_likelihood(7.0) == left_out.log_likelihood(7.0)
        assert left_out.with_class_ess(7.0).log_likelihood(3.0) != left_out.log_likelihood(3.0)

    def test_the_class_keeps_its_own_in_files_draws_and_texts(self, tmp_path):
        X, y = two_causes_frame(400, 40)
        with pytest.warns(PredictedWorseWarning):
            fitted = NaiveBayesClassifier().fit(X, y)
        assert fitted.model_.estimation.class_smoothing == 1.0
        frequencies = (np.bincount(y) + 0.5) / (len(y) + 1.0)
        np.testing.assert_allclose(fitted.class_prior_, frequencies, rtol=1e-12)
        fitted.save(tmp_path / "nb.json")
        loaded = load(tmp_path / "nb.json")
        assert loaded.model_.estimation == fitted.model_.estimation
        np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
        assert loaded.merge(fitted.without_rows()).model_.estimation == fitted.model_.estimation
        draws = fitted.model_.draw_tables(400, np.random.default_rng(0))
        shares = np.array([draw.tables[fitted.vocabulary_.class_name].values for draw in draws])
        spread = np.sqrt(frequencies.prod() / (len(y) + 2.0))
        np.testing.assert_allclose(shares.mean(axis=0), frequencies, atol=4 * spread / np.sqrt(400))
        np.testing.assert_allclose(shares.std(axis=0), spread, rtol=0.15)
        assert "1 for the table of the class" in sample_sizes(fitted)

    @pytest.mark.parametrize("n_rows", [400, 1500])
    def test_the_second_maximum_where_the_first_is_worse_than_the_class_frequencies(self, n_rows):
        """Two causes of 40 features: 0.1 is the best up to the total weight, but far worse than the frequencies."""
        table = two_causes(n_rows, 40)
        structure, most = learn_naive_bayes(table), most_smoothing(table)
        folds = [HeldOut(rows, others, structure) for rows, others in split_table(table, 5)]
        counts = np.bincount(table.column(table.vocabulary.class_name), table.weights)
        by_frequencies = float(counts @ np.log(counts / counts.sum()))
        nearer, value = best_held_out_smoothing(folds, most, 40)
        assert nearer < 1
        assert value < 1.3 * by_frequencies
        best, own, value = second_held_out_smoothing(folds, most, 40)
        assert best > 5 * most
        assert own in (None, 1.0)
        assert value > 1.03 * by_frequencies
        left_out = LeaveOneOut(table, structure)
        grid = np.geomspace(most, 40 * 30 * most, 120)
        ess, own, chosen = second_smoothing(table, left_out)
        assert chosen == (left_out if own is None else left_out.with_class_ess(own)).log_likelihood(ess)
        alone = left_out.with_class_ess(1.0)
        assert chosen > 1.002 * max(max(map(form.log_likelihood, grid)) for form in (left_out, alone))
        with pytest.warns(PredictedWorseWarning, match=r"so smoothing=[\d.e+]+ is used, with 0\.[345]"):
            fitted = NaiveBayesClassifier().fit(*two_causes_frame(n_rows, 40))
        assert fitted.smoothing_ > 5 * most
        X, y = two_causes_frame(4000, 40, seed=1)
        held_out = np.log(fitted.predict_proba(X)[np.arange(len(y)), y]).mean()
        assert held_out > by_frequencies / table.weight_sum - 0.01

    def test_one_where_it_makes_no_difference(self):
        table = random_problem(0, 2, n_classes=1, unseen=False).table
        folds = [HeldOut(rows, others, learn_naive_bayes(rows)) for rows, others in split_table(table, 3)]
        assert best_held_out_smoothing(folds, 100.0, 5) == (1.0, 0.0)


class TestFewRows:
    """Below a total weight of 1,000 the choice is cross-validated, structures relearned in every fold."""

    @pytest.mark.parametrize("seed", range(4))
    def test_what_predicts_held_out_rows_best_is_chosen(self, seed):
        table = random_problem(seed, 6, n_rows=120).table
        chosen = learn_structure(table, learner(), 1.0, None, None)
        by_likelihood = climb(table, learn)[1].ess
        values = {}
        for size in (by_likelihood, 1.0):
            folds = [HeldOut(rows, others, learn_anb(rows, BDeu(size))) for rows, others in split_table(table, 5)]
            values[size] = best_held_out_smoothing(folds, most_smoothing(table), 1)
        same = learn_anb(table, BDeu(1.0)).parents == learn_anb(table, BDeu(by_likelihood)).parents
        best = by_likelihood if same else max(values, key=lambda size: values[size][1])
        assert chosen.ess == best
        assert chosen.smoothing == values[best][0]
        assert chosen.structure.parents == learn_anb(table, BDeu(best)).parents

    def test_fewer_arcs_where_they_do_not_last(self):
        """The marginal likelihood of 178 rows asks for three times the arcs of those that predict best."""
        X, y = load_dataset("wine")
        auto = ANBClassifier().fit(X, y)
        with_all_rows = climb(auto.reader_.table(X, y, None), learn)[0]
        assert auto.ess_ == 1.0
        assert len(auto.structure_.feature_edges) < len(with_all_rows.feature_edges)

    def test_many_rows_are_not_cross_validated(self):
        problem = random_problem(0, 4, n_rows=300)
        problem.weights = [1001 / 300] * 300
        searches = []

        def counted(table, score, _):
            searches.append(table.weight_sum)
            return learn_anb(table, score)

        chosen = learn_structure(problem.table, learner(counted), 1.0, None, None)
        assert set(np.round(searches)) == {1001.0}
        assert chosen.smoothing == best_smoothing(problem.table, chosen.structure)

    def test_a_given_smoothing_is_kept(self):
        table = random_problem(1, 5, n_rows=80).table
        chosen = learn_structure(table, learner(chooses_smoothing=False), 1.0, 7.0, None)
        assert chosen.smoothing == 7.0

    def test_a_rehearsal_chooses_and_the_search_learns(self):
        table = random_problem(2, 5, n_rows=80).table
        searches = []

        def final(table, score, _):
            searches.append(score.ess)
            return learn_anb(table, score)

        def rehearse(table, score, _):
            return learn_anb(table, score, max_parents=1)

        chosen = learn_structure(table, replace(learner(final), compared=(Search(final, rehearse),)), 1.0, None, None)
        assert searches == [chosen.ess]
        assert chosen.structure.parents == learn_anb(table, BDeu(chosen.ess)).parents

    def test_a_long_choice_is_announced_after_the_first_search(self, monkeypatch):
        monkeypatch.setattr(sample_size, "LONG_SEARCH", 0.0)
        table = random_problem(3, 5, n_rows=80).table
        searches, began = [], []

        def counted(table, score, _):
            searches.append(score.ess)
            return learn_anb(table, score)

        monkeypatch.setattr(sample_size, "advise", lambda kind, text: began.append((kind, text, len(searches))))
        learn_structure(table, learner(counted), 1.0, None, None)
        ((_, text, after),) = [told for told in began if told[0] == "long choice"]
        assert after == 1
        assert "choosing the equivalent sample sizes may take 12 searches" in text
        began.clear()
        learn_structure(table, learner(counted), 1.0, None, 100.0)
        assert began == []

    def test_no_choice_outlasts_the_time_limit(self):
        table = random_problem(3, 5, n_rows=80).table
        searches = []

        def slow(table, score, seconds):
            searches.append(seconds)
            return learn_anb(table, score)

        chosen = learn_structure(table, learner(slow), 1.0, None, 1e-9)
        assert len(searches) == 1
        assert chosen.ess == START_ESS

    def test_fewer_parents_where_they_predict_better(self):
        """Each of 12 features says a little about the class of 60 rows, and nothing about the others."""
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 60)
        X = pd.DataFrame({f"f{j}": np.where(rng.random(60) < 0.3, y, rng.integers(0, 2, 60)) for j in range(12)})
        most = {
            limit: max(map(len, ANBClassifier(max_parents=limit).fit(X, y).structure_.parents.values()))
            for limit in (None, "auto")
        }
        assert most["auto"] <= 3 < most[None]

    def test_predictions_worse_than_frequencies_are_told_of(self):
        rng = np.random.default_rng(1)
        X = pd.DataFrame({f"f{j}": rng.integers(0, 3, 60) for j in range(6)})
        with pytest.warns(
            UserWarning, match=r"worse than by the class frequencies .*0\.\d+ against 0\.\d+.*5\d distinct rows"
        ):
            ANBClassifier(smoothing=1.0, max_parents=None).fit(X, rng.integers(0, 2, 60))
        X, y = load_dataset("iris")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ANBClassifier().fit(X, y)

    def test_many_rows_are_compared_with_the_frequencies_too(self):
        """Copies of one feature and a rare class: naive Bayes and its like count the same evidence many times."""
        table, _ = repeated(np.random.default_rng(0), 1200, 12, rare=0.12)
        X = pd.DataFrame(np.repeat(table.codes[:, :-1], table.weights.astype(int), axis=0)).rename(columns=str)
        y = np.repeat(table.codes[:, -1], table.weights.astype(int))
        advised = (
            r"against 0\.\d+ nats.*of the 12 features.*Use AdditiveClassifier\(NaiveBayesClassifier\(\)\) instead"
        )
        by_frequencies = -(np.log(np.bincount(y) / len(y)) @ np.bincount(y)) / len(y)
        for model in (NaiveBayesClassifier, TANClassifier):
            with pytest.warns(PredictedWorseWarning, match=advised):
                fitted = model().fit(X, y)
            assert -np.log(fitted.predict_proba(X)[np.arange(1200), y]).mean() < by_frequencies + 1e-3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            WeightedNaiveBayesClassifier().fit(X, y)  # with the tables that this smoothing gives
            smooth = AdditiveClassifier(NaiveBayesClassifier()).fit(X, y)
            TANClassifier(ess=1.0).fit(X, y)  # nothing was chosen
            RefittedClassifier(NaiveBayesClassifier()).fit(X, y)
            FixedStructureClassifier(parents={"class": [], **{str(j): ["class"] for j in range(12)}}, l2="auto").fit(
                X, y
            )
        shares = np.bincount(y) / len(y)
        assert -np.log(smooth.predict_proba(X)[np.arange(1200), y]).mean() < -(shares * np.log(shares)).sum()

    def test_where_searches_take_long_climbing_chooses(self, monkeypatch):
        X, y = random_frame(13, 60)
        limits, climbs = [], []

        def search(_, table, score, **given):
            limits.append(given["max_parents"])
            return learn_anb(table, score, **{**given, "max_parents": 0})

        def climb_from_forest(table, score, **given):
            climbs.append(given["max_parents"])
            return learn_anb(table, score, max_parents=0)

        monkeypatch.setattr(ANBClassifier, "_search", search)
        monkeypatch.setattr("anbexact.classifiers.exact.climb_from_forest", climb_from_forest)
        monkeypatch.setattr("anbexact.classifiers.exact.QUICK_SECONDS", 0.0)
        for limit, climbed, searched in [("auto", {2, 1}, [2]), (1, {1}, [1]), (None, set(), None)]:
            ANBClassifier(max_parents=limit).fit(X, y)
            assert set(climbs) == climbed
            assert limits == searched or (searched is None and set(limits) == {None} and len(limits) > 5)
            limits.clear()
            climbs.clear()
        monkeypatch.setattr("anbexact.classifiers.exact.AFFORDABLE_SECONDS", 0.0)
        ANBClassifier(max_parents=None).fit(X, y)
        assert set(climbs) == {None}
        assert limits == [None]


class TestBestEss:
    @given(problems(max_features=3, max_rows=12))
    @examples(40)
    def test_no_other_scores_higher(self, problem):
        table = problem.table
        structure = learn_naive_bayes(table)
        parents = dict(structure.parents)
        best = total_score(table, BDeu(best_ess(table, structure)), parents)
        for ess in np.geomspace(0.01, 1e5, 40):
            assert best >= total_score(table, BDeu(ess), parents) - 1e-6 * max(1.0, abs(best))

    def test_equal_sizes_and_weights_are_counted_once(self):
        """Families of the same size, some of whose cells have the same weights with opposite signs."""
        rows = [(a, a, b, a ^ b) for a in (0, 1) for b in (0, 1) for _ in range(2 + 3 * a)]
        table = DiscreteTable.from_frame(
            pd.DataFrame([row[:3] for row in rows], columns=list("abc")), [r[3] for r in rows]
        )
        structure = learn_anb(table, BDeu(1.0))
        grid = np.geomspace(0.01, 1e5, 2_000)
        scores = [total_score(table, BDeu(ess), dict(structure.parents)) for ess in grid]
        best = best_ess(table, structure)
        assert total_score(table, BDeu(best), dict(structure.parents)) >= max(scores) - 1e-4
        assert abs(np.log(best / grid[int(np.argmax(scores))])) < 0.1

    def test_scores_may_be_computed_in_parts(self, monkeypatch):
        table = random_problem(0, 4, n_rows=60).table
        structure = learn_naive_bayes(table)
        at_once = best_ess(table, structure)
        monkeypatch.setattr("anbexact.search.ess.CELLS_AT_ONCE", 1)
        assert best_ess(table, structure) == pytest.approx(at_once, rel=1e-9)

    @pytest.mark.parametrize("seed", range(5))
    def test_alternation_ends_at_the_best_of_a_grid(self, seed):
        table = random_problem(seed, 6, n_rows=150).table
        structure, score = climb(table, lambda table, score, _: learn_anb(table, score))
        assert structure.certificate.optimal
        assert learn_anb(table, score).score == pytest.approx(structure.score)
        grid = max(learn_anb(table, BDeu(ess)).score for ess in (0.5, 1, 2, 5, 10, 20, 50, 100))
        assert structure.score >= grid - 1e-6

    def test_never_more_than_five_searches_nor_more_time_than_given(self):
        table = random_problem(1, 4).table
        calls = []

        def learn(table, score, seconds):
            calls.append(seconds)
            return replace(learn_anb(table, score, max_parents=len(calls) % 2), score=0.0)

        climb(table, learn)
        assert calls == [None] * 5
        calls.clear()
        climb(table, learn, time_limit=100)
        assert calls[0] == 100
        assert all(seconds <= 100 for seconds in calls)
        calls.clear()
        climb(table, learn, time_limit=1e-9)
        assert len(calls) == 1


@pytest.mark.parametrize("model", [NaiveBayesClassifier, ANBClassifier])
class TestClassifiers:
    def test_auto(self, model):
        X, y = load_dataset("tic_tac_toe")
        plain, auto = model(ess=1.0).fit(X, y), model().fit(X, y)
        assert (plain.ess_, plain.smoothing_) == (1.0, 1.0)
        assert auto.ess_ > 1
        assert auto.smoothing_ != auto.ess_
        assert auto.structure_.score > plain.structure_.score
        assert auto.structure_.certificate.optimal
        again = model(ess=auto.ess_, smoothing=auto.smoothing_).fit(X, y)
        np.testing.assert_array_equal(auto.predict_proba(X), again.predict_proba(X))

    def test_smoothing_alone(self, model):
        X, y = load_dataset("tic_tac_toe")
        plain, smooth = model(ess=1.0).fit(X, y), model(ess=1.0, smoothing="auto").fit(X, y)
        assert smooth.structure_.parents == plain.structure_.parents
        assert smooth.ess_ == 1.0
        table_free = model(ess=1.0, smoothing=7.0).fit(X, y)
        assert table_free.smoothing_ == 7.0
        assert model(ess=3.0).fit(X, y).smoothing_ == 3.0

    def test_a_score_of_ones_own_keeps_its_ess(self, model):
        X, y = load_dataset("tic_tac_toe")
        own = model(structure_score=BDeu(2.0), ess="auto").fit(X, y)
        assert own.structure_.parents == model(ess=2.0).fit(X, y).structure_.parents
        assert own.smoothing_ == model(ess=2.0, smoothing="auto").fit(X, y).smoothing_


@pytest.mark.parametrize("quick", [False, True])
def test_auto_keeps_the_time_limit(quick, monkeypatch):
    """A quick search is the optimal one all the same: what the choice counted is enough to prove it."""
    if not quick:
        monkeypatch.setattr("anbexact.classifiers.exact.QUICK_SECONDS", 0.0)
    X, y = load_dataset("wine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hasty = ANBClassifier(ess="auto", time_limit=1e-6).fit(X, y)
    assert hasty.structure_.certificate.optimal == quick
    assert log(hasty.smoothing_) < 10
