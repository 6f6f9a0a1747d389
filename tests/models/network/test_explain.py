"""Explanations: the terms add up to the log odds, and each is what it says."""

import itertools
import re
from datetime import datetime

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from strategies import random_problem

import anbexact.models.network.explanation_terms
from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier
from anbexact.adapters import from_pgmpy
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_iris, load_monks
from anbexact.models.network.explanation_text import REMARK, cell_text, factor_text


def fitted(model=ANBClassifier, seed=0, n=4, **kwargs):
    problem = random_problem(seed, n, n_rows=120, max_arity=3, **kwargs)
    X, y = problem.frame()
    return problem, model(categories=problem.categories).fit(X, y), X


@pytest.mark.parametrize("model", [ANBClassifier, NaiveBayesClassifier])
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_terms_sum_to_the_log_odds(model, n_classes):
    _, classifier, X = fitted(model, n_classes=n_classes, unseen=False)
    proba = classifier.predict_proba(X)
    for t, explanation in enumerate(classifier.explain(X)):
        order = np.argsort(-proba[t], kind="stable")
        assert explanation.predicted == classifier.predict(X.iloc[[t]])[0]
        assert explanation.probability == pytest.approx(proba[t, order[0]])
        runner_up = order[min(1, n_classes - 1)]
        assert explanation.runner_up == classifier.classes_[runner_up]
        assert explanation.log_odds == pytest.approx(np.log(proba[t, order[0]] / proba[t, runner_up]), abs=1e-9)
        assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds, abs=1e-9)
        assert explanation.terms["nats"].abs().is_monotonic_decreasing
        assert len(explanation.terms) == 5


def test_every_term_is_a_log_ratio_of_its_table():
    problem, classifier, X = fitted()
    row = X.iloc[[3]]
    (explanation,) = classifier.explain(row)
    first, second = (classifier.classes_.tolist().index(c) for c in (explanation.predicted, explanation.runner_up))
    terms = explanation.terms.set_index("feature")
    for name, table in classifier.conditional_tables_.items():
        if name == "c":
            expected = np.log(table.values[first] / table.values[second])
            assert terms.loc["(prior of c)", "nats"] == pytest.approx(expected)
            continue
        cell = {**row.iloc[0].to_dict()}
        values = [table.values[tuple(cell[v] if v != "c" else c for v in table.variables)] for c in (first, second)]
        assert terms.loc[name, "nats"] == pytest.approx(np.log(values[0] / values[1]))
        assert terms.loc[name, "state"] == cell[name]
        given = ", ".join(f"{parent} = {cell[parent]}" for parent in table.parents if parent != "c")
        assert terms.loc[name, "given"] == given
    assert problem.n == len(terms) - 1


@pytest.mark.parametrize("parents", [None, {"c": ("f0",), "f0": (), "f1": ("c",), "f2": ("f1",), "f3": ("c", "f2")}])
def test_missing_cells_are_gathered_in_one_term(parents):
    problem, classifier, _ = fitted()
    if parents:
        X, y = problem.frame()
        classifier = FixedStructureClassifier(parents, categories=problem.categories).fit(X, y)
    rows = list(itertools.product(*([None, 0] for _ in range(problem.n))))
    X = pd.DataFrame(rows, columns=problem.names[:-1], dtype=object)
    log_proba = classifier.predict_log_proba(X)
    for t, explanation in enumerate(classifier.explain(X)):
        ranked = np.sort(log_proba[t])[::-1]
        assert explanation.log_odds == pytest.approx(ranked[0] - ranked[1], abs=1e-9)
        assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds, abs=1e-9)
        hidden = [name for name, cell in zip(X.columns, rows[t], strict=True) if cell is None]
        gathered = [term for term in explanation.terms["feature"] if "unobserved" in term]
        assert len(gathered) == bool(hidden)
        for name in hidden:
            assert name in gathered[0]


def test_text():
    X = pd.DataFrame({"colour": ["red", "blue", "red"] * 20, "size": [1, 2, 1] * 20, "one": ["k"] * 60})
    fruit = pd.Series(["apple", "plum", "apple"] * 20, name="fruit")
    classifier = NaiveBayesClassifier(ess=1.0).fit(X, fruit)
    text = str(classifier.explain(X.iloc[:1])[0])
    assert text.startswith("apple with probability 0.99")
    assert "against plum" in text
    assert "colour = red" in text
    assert "size = 1" in text
    assert "(prior of fruit)" in text
    assert "95 % interval  rows of apple   of plum" in text
    assert re.search("40 of 40 +0 of 20", text)
    assert text.endswith(REMARK)
    assert "one" not in text  # a term of exactly 0
    assert "one" in classifier.explain(X.iloc[:1])[0].terms["feature"].tolist()


def test_states_that_look_empty_are_shown():
    X = pd.DataFrame({"a": ["", "x"] * 5, "b": [0, 1] * 5, "c": [False, True] * 5})
    text = str(NaiveBayesClassifier().fit(X, ["p", "q"] * 5).explain(X.iloc[:1])[0])
    assert "b = 0" in text
    assert "c = False" in text
    assert "a = ''" in text


def test_a_term_that_is_0_but_for_rounding_is_0(monkeypatch):
    X, y = load_iris()
    model = NaiveBayesClassifier(ess=1.0).fit(X, y)
    terms = model.explain(X[:1])[0].terms
    smallest = terms["nats"].abs()[terms["nats"] != 0].nsmallest(2).tolist()
    monkeypatch.setattr("anbexact.models.network.explanation_terms.NEGLIGIBLE_NATS", sum(smallest) / 2)
    found = model.explain(X[:1])[0].terms.set_index("feature")["nats"]
    assert (found == 0).sum() == (terms["nats"] == 0).sum() + 1
    assert found[found != 0].abs().min() == smallest[1]


def test_does_not_change_the_classifier_or_the_rows():
    _, classifier, X = fitted()
    before, proba = X.copy(), classifier.predict_proba(X)
    classifier.explain(X)
    pd.testing.assert_frame_equal(X, before)
    np.testing.assert_array_equal(classifier.predict_proba(X), proba)


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier,
        *(pytest.param(model, marks=pytest.mark.slow) for model in (ANBClassifier, GBNClassifier)),
    ],
)
def test_of_a_universal_measure(model):
    """Terms are differences of log densities; they add up, with and without missing cells."""
    X, y = load_iris()
    X = X.assign(large=np.where(X.iloc[:, 2] > 4, "yes", "no"))
    classifier = model(continuous="universal").fit(X, y)
    rows = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.2)
    rows.iloc[:10] = X.iloc[:10]
    log_proba = classifier.predict_log_proba(rows)
    for t, explanation in enumerate(classifier.explain(rows)):
        first, second = (
            classifier.classes_.tolist().index(c) for c in (explanation.predicted, explanation.runner_up)
        )
        assert explanation.log_odds == pytest.approx(log_proba[t, first] - log_proba[t, second], abs=1e-9)
        terms = explanation.terms.set_index("feature")["nats"]
        assert terms.sum() == pytest.approx(explanation.log_odds, abs=1e-9)
        hidden = rows.iloc[t].isna()
        assert sum("unobserved" in str(feature) for feature in terms.index) == hidden.any()
        for name, density in classifier.densities_.items():
            label = name if name != y.name else f"(prior of {name})"
            told = y.name in density.variables and not hidden[[v for v in density.variables if v != y.name]].any()
            assert (label in terms.index) == told
            if told:
                values = [density_at(classifier, density, rows.iloc[t], c) for c in (first, second)]
                assert terms[label] == pytest.approx(np.log(values[0] / values[1]), abs=1e-9)


def density_at(classifier, density, row, label):
    """The value of a density in the cells of a row, found by counting the cut points below."""
    index = []
    for v, level in zip(density.variables, density.levels, strict=True):
        if v in classifier.universal_score_.partitions:
            index.append(sum(cut < row[v] for cut in classifier.universal_score_.partitions[v].cuts_at(level)))
        elif v in row:
            index.append(classifier.vocabulary_.states[v].index(row[v]))
        else:
            index.append(label)
    return density.values[tuple(index)]


PARENTS = {"c": ("f0",), "f0": (), "f1": ("c",), "f2": ("c", "f1", "f0"), "f3": ("c", "f2")}


class TestCounts:
    """The weights behind a term, and its interval."""

    @pytest.mark.parametrize("weights", ["ones", "real"])
    @pytest.mark.parametrize("parents", [None, PARENTS])
    def test_against_the_rows(self, weights, parents):
        problem = random_problem(5, 4, n_rows=60, n_classes=4, max_arity=3, weights=weights)
        X, y = problem.frame()
        model = FixedStructureClassifier(parents, ess=2.0) if parents else ANBClassifier(ess=2.0)
        classifier = model.set_params(categories=problem.categories).fit(X, y, sample_weight=problem.weights)
        number = {name: v for v, name in enumerate(problem.names)}
        for row in range(0, 60, 9):
            for label, against in ((0, 2), (3, 1)):
                (explanation,) = classifier.explain(X.iloc[[row]], label=label, against=against)
                cells = dict(enumerate(problem.rows[row]))
                terms = explanation.terms.set_index("feature")
                for name, of_name in classifier.structure_.parents.items():
                    if "c" not in (name, *of_name):
                        assert name not in terms.index
                        continue
                    nats, numbers = oracles.explained_term(
                        problem.rows,
                        problem.weights,
                        problem.arities,
                        number[name],
                        [number[parent] for parent in of_name],
                        4,
                        cells,
                        label,
                        against,
                        2.0,
                    )
                    term = terms.loc[name if name != "c" else "(prior of c)"]
                    assert term["nats"] == pytest.approx(nats)
                    assert term["odds"] == pytest.approx(np.exp(nats))
                    shown = term[["rows", "of", "rows_against", "of_against"]].to_list()
                    assert shown == pytest.approx(numbers)

    @pytest.mark.parametrize("parents", [None, PARENTS])
    def test_intervals_hold_draws_of_the_posterior(self, parents):
        """Tables drawn from their Dirichlet posteriors: 95 % of the terms that they give lie in the interval."""
        problem = random_problem(2, 4, n_rows=80, n_classes=3, max_arity=3, weights="mixed")
        X, y = problem.frame()
        model = FixedStructureClassifier(parents, ess=3.0) if parents else ANBClassifier(ess=3.0)
        classifier = model.set_params(categories=problem.categories).fit(X, y, sample_weight=problem.weights)
        (explanation,) = classifier.explain(X.iloc[[4]], label=2, against=0)
        terms = explanation.terms.set_index("feature")
        assert terms["low"].notna().all()
        rng = np.random.default_rng(0)
        for name, counts in classifier.counts_.items():
            if "c" not in counts.variables:
                continue
            alpha = counts.dense() + 3.0 / np.prod(counts.shape)
            cell = {**X.iloc[4].to_dict()}
            drawn = []
            for c in (2, 0):
                given_parents = tuple(c if v == "c" else cell[v] for v in counts.parents)
                draws = oracles.log_dirichlet_draws(alpha[(slice(None), *given_parents)], 100_000, rng)
                drawn.append(draws[:, c if name == "c" else cell[name]])
                if name == "c":  # both probabilities come from one distribution
                    drawn = [draws[:, 2], draws[:, 0]]
                    break
            term = terms.loc[name if name != "c" else "(prior of c)"]
            inside = (drawn[0] - drawn[1] >= term["low"]) & (drawn[0] - drawn[1] <= term["high"])
            assert inside.mean() == pytest.approx(0.95, abs=0.006)

    def test_one_state_one_class_and_states_without_rows(self):
        X = pd.DataFrame({"one": ["k"] * 6, "x": [0, 0, 0, 1, 1, 1]})
        classifier = NaiveBayesClassifier(categories={"x": [0, 1, 2]}).fit(X, list("aabbbb"))
        terms = classifier.explain(X.iloc[:1].assign(x=2), label="a")[0].terms.set_index("feature")
        assert terms.loc["one", ["nats", "low", "high"]].tolist() == [0, 0, 0]
        assert terms.loc["x", ["rows", "of", "rows_against", "of_against"]].tolist() == [0, 2, 0, 4]
        assert terms.loc["x", "low"] < terms.loc["x", "nats"] < terms.loc["x", "high"]
        (same,) = NaiveBayesClassifier().fit(X, ["k"] * 6).explain(X.iloc[:1])
        assert (same.terms[["nats", "low", "high"]] == 0).all(axis=None)
        assert same.terms.set_index("feature").loc["x", ["rows", "of"]].tolist() == [3, 6]

    @pytest.mark.parametrize("parameters", ["ml", "friedman", "acll"])
    def test_tables_without_a_dirichlet_posterior(self, parameters):
        X, y = load_monks(1)
        classifier = NaiveBayesClassifier(parameters=parameters).fit(X, y)
        (explanation,) = classifier.explain(X.iloc[:1])
        assert explanation.terms[["low", "high"]].isna().all(axis=None)
        assert explanation.terms[["rows", "of", "rows_against", "of_against"]].notna().all(axis=None)
        assert f"Intervals are not available: tables by parameters='{parameters}'" in str(explanation)
        assert "95 %" not in str(explanation)

    def test_tables_that_were_given(self):
        X, y = load_monks(1)
        classifier = ANBClassifier().fit(X, y)
        given_tables = from_pgmpy(classifier.network_, "is_monk")
        (explanation,) = given_tables.explain(X.iloc[:1])
        (counted,) = classifier.explain(X.iloc[:1])
        np.testing.assert_allclose(explanation.terms["nats"], counted.terms["nats"])
        unknown = ["low", "high", "rows", "of", "rows_against", "of_against"]
        assert explanation.terms[unknown].isna().all(axis=None)
        assert "the tables of this network were given, not estimated" in " ".join(str(explanation).split())
        assert "rows of" not in str(explanation)

    def test_measured_columns_have_counts_of_their_finest_cells(self):
        X, y = load_iris()
        classifier = NaiveBayesClassifier(continuous="universal").fit(X, y)
        (explanation,) = classifier.explain(X.iloc[[77]])
        for feature, term in explanation.terms.set_index("feature").iterrows():
            if feature not in X:
                continue
            low, high = (float(end) for end in term["state"].strip("(])").split(","))
            inside = (X[feature] > low) & (X[feature] <= high)
            assert term["rows"] == (inside & (y == explanation.label)).sum()
            assert term["of"] == 50
        assert explanation.terms[["low", "high"]].isna().all(axis=None)
        assert "no Dirichlet posterior" in str(explanation)

    def test_loaded_and_added_rows(self, tmp_path):
        X, y = load_monks(1)
        classifier = NaiveBayesClassifier().fit(X, y)
        classifier.save(tmp_path / "m.json")
        pd.testing.assert_frame_equal(
            anbexact.load(tmp_path / "m.json").explain(X).to_frame(), classifier.explain(X).to_frame()
        )
        twice = NaiveBayesClassifier().fit(X, y).partial_fit(X, y).explain(X.iloc[:1])[0].terms
        once = classifier.explain(X.iloc[:1])[0].terms
        assert twice["of"].sum() == 2 * once["of"].sum()


class TestOpponents:
    """Which classes are compared."""

    def test_any_two_classes(self):
        X, y = load_iris()
        classifier = ANBClassifier().fit(X, y)
        log_proba = pd.DataFrame(classifier.predict_log_proba(X), columns=classifier.classes_)
        labels = [None, *classifier.classes_]
        for label, against in itertools.product(labels, labels):
            if label is not None and label == against:
                continue
            for t in (3, 77, 140):
                (explanation,) = classifier.explain(X.iloc[[t]], label=label, against=against)
                of_row = log_proba.loc[t].sort_values(ascending=False, kind="stable")
                first = label if label is not None else next(c for c in of_row.index if c != against)
                second = against if against is not None else next(c for c in of_row.index if c != first)
                assert (explanation.label, explanation.against) == (first, second)
                assert explanation.log_odds == pytest.approx(of_row[first] - of_row[second])
                assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds)
                assert explanation.probability == pytest.approx(np.exp(of_row[first]))
                assert [explanation.predicted, explanation.runner_up] == of_row.index[:2].tolist()
                assert f"against {second}" in str(explanation)
                assert ("(predicted: " in str(explanation)) == (first != of_row.index[0])

    def test_refusals(self):
        X, y = load_iris()
        classifier = NaiveBayesClassifier().fit(X, y)
        known = r"is not a class of 'species'; the classes are \['setosa', 'versicolor', 'virginica'\]"
        for wrong in ("rose", 0, ["setosa"], np.nan):
            with pytest.raises(ValueError, match=f"label=.* {known}"):
                classifier.explain(X, label=wrong)
            with pytest.raises(ValueError, match=f"against=.* {known}"):
                classifier.explain(X, against=wrong)
        with pytest.raises(ValueError, match="label and against are both 'setosa': an explanation compares two"):
            classifier.explain(X, label="setosa", against="setosa")
        alone = NaiveBayesClassifier().fit(X, ["k"] * 150)
        assert alone.explain(X[:1], label="k")[0].log_odds == 0
        with pytest.raises(ValueError, match="against='k' is the only class"):
            alone.explain(X, against="k")

    def test_classes_that_are_numbers(self):
        X, _ = load_iris()
        y = np.repeat([2, 5, 7], 50)
        classifier = NaiveBayesClassifier().fit(X, y)
        (explanation,) = classifier.explain(X[:1], label=y[60], against=7.0)
        assert (explanation.label, explanation.against) == (5, 7)


class TestFrame:
    """Terms of many rows in one table."""

    def test_terms_of_all_rows(self):
        X, y = load_iris()
        X = X.set_axis([f"flower {t}" for t in range(150)])
        rows = X.iloc[::7].astype(object)
        rows.iloc[0, 0] = None
        classifier = ANBClassifier().fit(X, y)
        explanations = classifier.explain(rows)
        frame = explanations.to_frame()
        assert frame["row"].unique().tolist() == rows.index.tolist()
        assert len(frame) == sum(len(explanation.terms) for explanation in explanations)
        for name, explanation in zip(rows.index, explanations, strict=True):
            own = frame[frame["row"] == name].reset_index(drop=True)
            pd.testing.assert_frame_equal(own.drop(columns=["row", "label", "against"]), explanation.terms)
            assert set(own["label"]) == {explanation.label}
            assert set(own["against"]) == {explanation.against}
        for _, term in frame[frame["feature"].isin(X.columns)].iterrows():
            assert term["value"] == rows.loc[term["row"], term["feature"]]
        assert str(explanations) == "\n\n".join(str(explanation) for explanation in explanations)

    @pytest.mark.parametrize("convert", [lambda X: X.to_numpy(), pl.from_pandas, lambda X: X.to_numpy().tolist()])
    def test_rows_without_an_index_are_numbered(self, convert):
        X, y = load_iris()
        classifier = NaiveBayesClassifier().fit(convert(X), y)
        frame = classifier.explain(convert(X[:4])).to_frame()
        assert frame["row"].unique().tolist() == [0, 1, 2, 3]
        values = frame[frame["row"] == 2].set_index("feature")["value"]
        assert sorted(values.dropna()) == sorted(X.iloc[2])

    def test_values_stay_as_they_are(self):
        X = pd.DataFrame({"i": [1, 2, 3, 4] * 5, "b": [True, False] * 10, "s": ["u", "v"] * 10})
        X["d"] = np.linspace(0.25, 5, 20)
        classifier = NaiveBayesClassifier(discretizer="median").fit(X, [0, 1] * 10)
        terms = classifier.explain(X.iloc[[2]]).to_frame().set_index("feature")
        assert [terms.loc[name, "value"] for name in X] == [3, True, "u", 0.75]
        assert [type(terms.loc[name, "value"]) for name in X] == [int, bool, str, float]
        assert terms.loc["i", "state"] == 3
        assert terms.loc["d", "state"].startswith("(-inf, ")

    def test_intervals_of_equal_terms_are_found_once(self, monkeypatch):
        X, y = load_monks(1)
        classifier = NaiveBayesClassifier().fit(X, y)
        asked = []
        original = anbexact.models.network.explanation_terms.log_ratio_intervals
        monkeypatch.setattr(
            anbexact.models.network.explanation_terms,
            "log_ratio_intervals",
            lambda *args: asked.append(len(args[0])) or original(*args),
        )
        classifier.explain(pd.concat([X, X, X]))
        assert sum(asked) <= 2 * sum(X.nunique())


class TestText:
    """What a reader sees."""

    def test_values_beside_their_intervals(self):
        X, y = load_iris()
        classifier = ANBClassifier().fit(X, y)
        text = str(classifier.explain(X.iloc[[77]])[0])
        assert "petal_width = 1.7 in (0.8, 1.75], given" in text
        assert max(map(len, text.splitlines())) <= 100

    def test_intervals_stay_on_one_line(self):
        X, y = load_iris()
        for explanation in ANBClassifier().fit(X, y).explain(X):
            for line in str(explanation).splitlines()[1:]:
                assert line.count("(") == line.count("]") + line.count(")")

    def test_missing_cells_as_a_state(self):
        X = pd.DataFrame({"a": ["u", None, "v", None] * 10, "b": [1.0, 2.0, np.nan, 4.0] * 10})
        classifier = NaiveBayesClassifier(handle_missing="own_state").fit(X, [0, 1, 0, 0] * 10)
        text = str(classifier.explain(X.iloc[[1]])[0])
        assert "a = (missing)" in text
        assert "b = 2" in text

    def test_the_terms_and_the_rest_multiply_to_the_odds(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 3, (300, 30))).add_prefix("a_feature_with_a_very_long_name_")
        y = np.where(rng.random(300) < 0.3, rng.integers(0, 2, 300), X.iloc[:, 0] > 0)
        y = np.where(y, "a class of many words", "another class of many words")
        (explanation,) = NaiveBayesClassifier().fit(X, y).explain(X[:1])
        lines = str(explanation).splitlines()
        assert sum(" weaker terms together" in line for line in lines) == 1
        assert max(map(len, lines)) <= 100
        factors = [float(line.split()[1]) for line in lines if line.startswith("  x ")]
        (total,) = (float(line.split()[1]) for line in lines if line.startswith("  = "))
        assert np.prod(factors) == pytest.approx(total, rel=0.15)

    @pytest.mark.parametrize(
        ("value", "state", "text"),
        [
            (39.1, "(-inf, 42.35]", "39.1 in (-inf, 42.35]"),
            ("red", "red", "red"),
            (1, 1.0, "1"),
            (True, True, "True"),
            (None, "(missing)", "(missing)"),
            ("Bergen", "west", "Bergen in west"),
            ("u", "{" + ", ".join("abcdefghijklmnopqrstu") + "}", "u in {a, b, c, d, e, f, g, h, i, j, k, l, m,…"),
            (np.float32(6.7).item(), "(6, 7]", "6.7 in (6, 7]"),
            (123456789.0, "(0, inf)", "123456789 in (0, inf)"),
            ("", "", "''"),
            ("w" * 60, "w" * 60, "w" * 39 + "…"),
            (("a", 1), ("a", 1), "('a', 1)"),
            (pd.Timestamp("2021-06-15"), pd.Timestamp("2021-06-15"), "2021-06-15"),
            (datetime(2021, 6, 15, 12), datetime(2021, 6, 15, 12), "2021-06-15 12:00:00"),
            (pd.Timestamp("2021-06-15", tz="UTC"), "2021", "2021-06-15 00:00:00+00:00 in 2021"),
        ],
    )
    def test_cells(self, value, state, text):
        assert cell_text(value, state) == text

    @pytest.mark.parametrize(
        ("factor", "text"),
        [
            (1, "1.00"),
            (379.51, "380"),
            (0.031, "0.03"),
            (0.0033, "0.0033"),
            (123456.7, "123,457"),
            (2.5e7, "2.5e+07"),
        ],
    )
    def test_factors(self, factor, text):
        assert factor_text(np.log(factor)) == text

    def test_extreme_factors(self):
        assert factor_text(2000.0) == "3.9e+868"
        assert factor_text(-2000.0) == "2.6e-869"
        assert factor_text(np.log(9.99e7)) == "1.0e+08"
        assert [factor_text(x) for x in (np.inf, -np.inf, np.nan)] == ["inf", "0", "nan"]

    def test_rows_that_no_class_allows_for(self):
        """Tables with zeros: terms are infinite or not numbers, and are shown as such."""
        X = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
        classifier = NaiveBayesClassifier(parameters="ml", categories={"a": [0, 1, 2]}).fit(X, list("xyxy"))
        with pytest.warns(UserWarning, match="impossible"):
            (explanation,) = classifier.explain(pd.DataFrame({"a": [2], "b": [0]}))
        assert np.isnan(explanation.terms.set_index("feature").loc["a", "nats"])
        assert "a = 2" in str(explanation)
        (explanation,) = classifier.explain(X[:1])
        assert explanation.terms.iloc[0]["nats"] == np.inf
        assert "x inf" in str(explanation)
