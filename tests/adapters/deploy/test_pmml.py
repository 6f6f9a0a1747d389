"""PMML documents, read by a small evaluator written from the standard, and by JPMML where it is installed."""

import bisect
import itertools
import math
from xml.etree import ElementTree as ET

import deployed
import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, TANClassifier, UniversalMeasure
from anbexact.adapters import to_pmml

NS = "{http://www.dmg.org/PMML-4_4}"


class RefusedError(Exception):
    """A cell that the document does not accept."""


def read(value, kind):
    if kind == "boolean":
        return {"true": True, "false": False}[value]
    return {"double": float, "integer": int, "string": str}[kind](value)


class Evaluator:
    """Models with the elements that the exporter uses: MapValues, Discretize, naive Bayes, regressions, networks."""

    def __init__(self, path):
        root = ET.parse(path).getroot()
        self.kinds = {field.get("name"): field.get("dataType") for field in root.iter(NS + "DataField")}
        self.values = {
            field.get("name"): [read(value.get("value"), field.get("dataType")) for value in field]
            for field in root.iter(NS + "DataField")
        }
        self.model = root[2]
        self.kind = self.model.tag.removeprefix(NS)
        self.fields = {field.get("name"): field for field in self.model.iter(NS + "MiningField")}
        self.target = next(name for name, field in self.fields.items() if field.get("usageType") == "target")
        self.derived = {field.get("name"): field[0] for field in self.model.iter(NS + "DerivedField")}

    def probabilities(self, row):
        cells = {name: self.accepted(name, row[name]) for name in self.fields if name != self.target}
        for name, expression in self.derived.items():  # every field comes after those that it is made of
            cells[name] = self.value(expression, cells)
        models = {"NaiveBayesModel": self.bayes, "BayesianNetworkModel": self.network}
        odds = models.get(self.kind, self.regression)(cells)
        top = max(odds)
        weights = [math.exp(value - top) for value in odds]
        return [weight / sum(weights) for weight in weights]

    def accepted(self, name, cell):
        field = self.fields[name]
        if cell is None:
            if field.get("missingValueTreatment") == "returnInvalid":
                raise RefusedError(name)
        elif self.values[name] and cell not in self.values[name]:
            if field.get("invalidValueTreatment") == "returnInvalid":
                raise RefusedError(name)
            assert field.get("invalidValueTreatment") == "asIs"
        return cell

    def value(self, expression, cells):
        if expression.tag == NS + "Discretize":
            cell = cells[expression.get("field")]
            if cell is None:
                return expression.get("mapMissingTo")
            intervals = [(own.get("binValue"), own[0].get("rightMargin", "inf")) for own in expression]
            return intervals[bisect.bisect_left([float(end) for _, end in intervals], cell)][0]
        pairs = [(pair.get("field"), pair.get("column")) for pair in expression.iter(NS + "FieldColumnPair")]
        given = [cells[field] for field, _ in pairs]
        if None in given:
            return expression.get("mapMissingTo")
        for own in expression.iter(NS + "row"):
            texts = {cell.tag.removeprefix(NS): cell.text or "" for cell in own}
            kinds = [self.kinds.get(field, "string") for field, _ in pairs]
            if [read(texts[column], kind) for (_, column), kind in zip(pairs, kinds, strict=True)] == given:
                return texts["out"]
        return expression.get("defaultValue")

    def bayes(self, cells):
        counts = {c.get("value"): float(c.get("count")) for c in self.model.find(NS + "BayesOutput")[0]}
        odds = {label: math.log(count) for label, count in counts.items()}
        for feature in self.model.iter(NS + "BayesInput"):
            if cells[feature.get("fieldName")] is None:
                continue
            for label in odds:
                by_state = {
                    pair.get("value"): float(count.get("count"))
                    for pair in feature
                    for count in pair[0]
                    if count.get("value") == label
                }
                odds[label] += math.log(by_state[cells[feature.get("fieldName")]] / sum(by_state.values()))
        return [odds[field.get("value")] for field in self.model.iter(NS + "OutputField")]

    def network(self, cells):
        """Sum over all joint states of what is missing."""
        tables = {}
        for node in self.model.iter(NS + "DiscreteNode"):
            rows = node.findall(NS + "DiscreteConditionalProbability") or [node]
            tables[node.get("name")] = [
                (
                    {given.get("parent"): given.get("value") for given in row.iter(NS + "ParentValue")},
                    {p.get("value"): float(p.get("probability")) for p in row.iter(NS + "ValueProbability")},
                )
                for row in rows
            ]
        states = {name: list(rows[0][1]) for name, rows in tables.items()}
        known = {name: [cells[name]] if cells.get(name) is not None else own for name, own in states.items()}
        totals = dict.fromkeys(states[self.target], 0.0)
        for joint in itertools.product(*known.values()):
            full = dict(zip(known, joint, strict=True))
            totals[full[self.target]] += math.prod(
                table[full[name]]
                for name, rows in tables.items()
                for given, table in rows
                if all(full[parent] == value for parent, value in given.items())
            )
        odds = [totals[field.get("value")] for field in self.model.iter(NS + "OutputField")]
        return [math.log(total) if total else -math.inf for total in odds]

    def regression(self, cells):
        assert self.model.get("normalizationMethod") == "softmax"
        odds = {}
        for table in self.model.iter(NS + "RegressionTable"):
            odds[table.get("targetCategory")] = float(table.get("intercept")) + sum(
                float(term.get("coefficient")) for term in table if cells[term.get("name")] == term.get("value")
            )
        return [odds[field.get("value")] for field in self.model.iter(NS + "OutputField")]


def native(row):
    cells = {name: cell.item() if isinstance(cell, np.generic) else cell for name, cell in row.items()}
    return {name: cell if cell == cell else None for name, cell in cells.items()}


def hidden_where_refused(evaluate, fitted, X):
    """Compare all rows; return how many were refused."""
    refused = 0
    for row, expected in zip(X.to_dict("records"), deployed.expected(fitted, X), strict=True):
        try:
            found = evaluate(native(row))
        except RefusedError as error:
            found, name = None, str(error)
        if found is None:
            assert native(row)[name] is None or row[name] in ("never seen", -987)
            refused += 1
        else:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    return refused


@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS)
def test_the_probabilities_are_those_of_the_classifier(table, classifier, tmp_path):
    fitted = deployed.model(table, classifier)
    to_pmml(fitted, tmp_path / "model.pmml")
    evaluator = Evaluator(tmp_path / "model.pmml")
    refuses = "handle_unknown" in deployed.TABLES[table][2]
    assert hidden_where_refused(evaluator.probabilities, fitted, deployed.rows(table).iloc[:6]) == 0
    gaps = deployed.rows(table, 0.15, 0 if refuses else 0.15).iloc[:12]
    refused = hidden_where_refused(evaluator.probabilities, fitted, gaps)
    if classifier in ("naive Bayes", "logit"):
        assert evaluator.kind == "NaiveBayesModel"
        assert refused == 0


@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS)
def test_networks_sum_over_every_missing_cell(table, classifier, tmp_path):
    fitted = deployed.model(table, classifier)
    to_pmml(fitted, tmp_path / "model.pmml", as_network=True)
    evaluator = Evaluator(tmp_path / "model.pmml")
    assert evaluator.kind == "BayesianNetworkModel"
    nodes = [node.get("name") for node in evaluator.model.iter(NS + "DiscreteNode")]
    assert set(nodes) == {evaluator.target, *evaluator.derived}
    assert hidden_where_refused(evaluator.probabilities, fitted, deployed.rows(table).iloc[:3]) == 0
    refuses = "handle_unknown" in deployed.TABLES[table][2]
    gaps = deployed.rows(table, 0.3, 0 if refuses else 0.2).iloc[:5]
    assert hidden_where_refused(evaluator.probabilities, fitted, gaps) == 0


def test_networks_with_zeros_and_columns_left_out(tmp_path):
    X = pd.DataFrame({"id": [f"row {k}" for k in range(60)], "a": list("uuvv") * 15, "b": list("pqqq") * 15})
    y = list("xxyy") * 15
    with pytest.warns(UserWarning, match="identifier"):
        fitted = TANClassifier(parameters="ml").fit(X, y)
    to_pmml(fitted, tmp_path / "model.pmml", as_network=True)
    evaluator = Evaluator(tmp_path / "model.pmml")
    assert "id" not in evaluator.fields
    for row, expected in zip(X[:4].to_dict("records"), fitted.predict_proba(X[:4]), strict=True):
        assert evaluator.probabilities(row) == pytest.approx(expected.tolist(), abs=1e-14)


@pytest.mark.parametrize("classifier", [NaiveBayesClassifier, TANClassifier])
def test_columns_may_have_the_names_of_derived_fields(classifier, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    names = ["state 1", "state 0", "state_ 1", "term 2"]
    X = pd.DataFrame({name: [f"{name} {v % 3}" for v in y + rng.integers(2, size=90)] for name in names})
    fitted = classifier().fit(X, y)
    for as_network in (False, True):
        to_pmml(fitted, tmp_path / "model.pmml", as_network=as_network)
        evaluator = Evaluator(tmp_path / "model.pmml")
        assert not set(evaluator.derived) & set(names)
        for row, expected in zip(X[:5].to_dict("records"), fitted.predict_proba(X[:5]), strict=True):
            assert evaluator.probabilities(row) == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.real("jpmml")
def test_jpmml_agrees(tmp_path):
    import jpmml_evaluator as jpmml

    for table, classifier in deployed.MODELS:
        fitted = deployed.model(table, classifier)
        to_pmml(fitted, tmp_path / "model.pmml")
        evaluator = jpmml.make_evaluator(str(tmp_path / "model.pmml"), backend="jpype").verify()

        def evaluate(row, evaluator=evaluator):
            try:
                found = evaluator.evaluate(row)
            except jpmml.JavaError as error:
                name = next(name for name in row if f'"{name}" cannot accept' in str(error))
                raise RefusedError(name) from error
            return [value for name, value in found.items() if name.startswith("P(")]

        assert hidden_where_refused(evaluate, fitted, deployed.rows(table)) == 0
        hidden_where_refused(evaluate, fitted, deployed.rows(table, 0.1))


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_carried_is_named(tmp_path):
    X, y = pd.DataFrame({"a": ["u", "u", "v", "v"] * 9, "b": ["p", "p", "q", "q"] * 9}), ["x", "x", "y", "y"] * 9
    mixed = X.assign(a=pd.Series([0, "u", "u", 0] * 9, dtype=object))
    numbers = X.assign(c=np.random.default_rng(0).normal(size=36))
    for fitted, error, message in (
        (TANClassifier(parameters="ml").fit(X, y), ValueError, "table of '[ab]', which holds zeros"),
        (NaiveBayesClassifier().fit(X.replace("u", "\x00"), y), ValueError, r"'\\x00': XML"),
        (NaiveBayesClassifier().fit(X.rename(columns={"a": "\x1b"}), y), ValueError, r"'\\x1b': XML"),
        (NaiveBayesClassifier().fit(mixed, y), TypeError, "column 'a', which holds both"),
        (NaiveBayesClassifier(continuous=UniversalMeasure()).fit(numbers, y), ValueError, "universal measures"),
    ):
        with pytest.raises(error, match=message):
            to_pmml(fitted, tmp_path / "model.pmml")
        assert not (tmp_path / "model.pmml").exists()
