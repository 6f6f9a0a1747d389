"""Scores rows by a Bayesian network classifier, with Python's standard library alone.

    predict_proba({"age": 61, "smoker": "yes"})     # {class: probability}
    predict({"age": 61, "smoker": "yes"})           # the most probable class
    python THIS_FILE.py rows.csv > scored.csv       # a table with a header

A feature that a row does not have, or whose value is None or NaN, is a missing cell. Missing cells and unknown values
are treated as the classifier treats them: summed out exactly, read as a state of their own, or refused.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from bisect import bisect_left
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Tuple  # noqa: UP035  # for older Pythons

SUMMED_OUT = -1
REFUSED = -2
MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
MOST_CELLS = 5_000_000
"""Most cells of a factor that is summed over."""
MODEL = ""
Factor = Tuple[Tuple[int, ...], Dict[Tuple[int, ...], List[float]]]  # noqa: UP006  # for older Pythons


class Column:
    """How the cells of a feature become codes of states."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.name = given["name"]
        self.arity = given["arity"]
        self.cuts = given["cuts"]
        self.codes = dict(given["codes"])
        self.texts = {str(value): value for value in self.codes}
        self.missing, self.unknown, self.ignored = given["missing"], given["unknown"], given["ignored"]

    def code(self, value: Any) -> int:
        """Return the code of a cell; ValueError for one that the classifier refuses."""
        if self.ignored:
            return 0
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self._checked(self.missing, "the cell is missing")
        if self.cuts is None:
            try:
                code = self.codes.get(value, self.unknown)
            except TypeError:
                code = self.unknown
            return self._checked(code, f"{value!r} is not a state")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"column {self.name!r}: {value!r} is not a number") from None
        if math.isnan(number):
            return self._checked(self.missing, "the cell is missing")
        return bisect_left(self.cuts, number)

    def _checked(self, code: int, what: str) -> int:
        if code == REFUSED:
            raise ValueError(f"column {self.name!r}: {what}")
        return code

    def value(self, text: str) -> Any:
        """Return the value that a text in a file stands for."""
        if text in self.texts:
            return self.texts[text]
        if text in MISSING_TEXTS:
            return None
        try:
            number = float(text)
        except ValueError:
            return text
        return number if self.cuts is not None or number in self.codes else text


class Term:
    """A function of some features and the class: logs for every joint state, the class last."""

    def __init__(self, given: dict[str, Any], arities: list[int], n_classes: int) -> None:
        self.child = given["child"]
        self.features = given["features"]
        self.logs: list[float] = given["logs"]
        self.n_classes = n_classes
        self.steps: list[int] = []
        step = n_classes
        for feature in reversed(self.features):
            self.steps.insert(0, step)
            step *= arities[feature]

    def at(self, codes: Any) -> list[float]:
        """Return the logs by class at the codes of a row."""
        start = 0
        for step, feature in zip(self.steps, self.features):  # noqa: B905  # for older Pythons
            start += step * codes[feature]
        return self.logs[start : start + self.n_classes]


class Scorer:
    """A class posterior: a sum of terms for complete rows, and sums over hidden cells for other rows."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.classes = model["classes"]
        self.columns = [Column(column) for column in model["columns"]]
        self.places = {column.name: j for j, column in enumerate(self.columns)}
        self.arities = [column.arity for column in self.columns]
        self.obstacle = model["obstacle"]
        self.complete = self._terms(model["complete"])
        same = model["network"] == "complete"
        self.network = self.complete if same else self._terms(model["network"] or [])
        self.card: dict[str, Any] = model.get("card", {})

    def _terms(self, given: list[dict[str, Any]]) -> list[Term]:
        return [Term(term, self.arities, len(self.classes)) for term in given]

    def codes(self, row: Any) -> list[int]:
        """Return the codes of the cells of a row."""
        unknown = [name for name in row if name not in self.places]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a feature; the features are {list(self.places)}")
        return [column.code(row.get(column.name)) for column in self.columns]

    def sums(self, codes: list[int]) -> list[float]:
        """Return the sums of the terms by class."""
        found: list[float] = [0] * len(self.classes)
        for term in self.complete:
            found = _sums(found, term.at(codes))
        return found

    def probabilities(self, row: Any) -> list[float]:
        """Return the probabilities of the classes, a list; NaN for a row that is impossible for every class."""
        codes = self.codes(row)
        if self.card:
            logs = _sums([self.card["scale"] * total for total in self.sums(codes)], self.card["offsets"])
        elif min(codes, default=0) >= 0:
            logs = self.sums(codes)
        else:
            logs = self._summed_out(codes)
        top = max(logs)
        if top == -math.inf:
            return [math.nan] * len(logs)
        weights = [math.exp(log - top) for log in logs]
        total = sum(weights)
        return [weight / total for weight in weights]

    def _summed_out(self, codes: list[int]) -> list[float]:
        """Return ln P(class, observed cells) by eliminating the hidden cells one after the other."""
        if not self.network:
            raise ValueError(f"a row with a missing or unknown cell cannot be scored: {self.obstacle}")
        factors = [self._factor(term, codes) for term in self._needed(codes)]
        while True:
            waiting = {feature for scope, _ in factors for feature in scope}
            if not waiting:
                break
            chosen = min(sorted(waiting), key=lambda feature: self._size(_joined(factors, feature)))
            scope = _joined(factors, chosen)
            if self._size(scope) > MOST_CELLS:
                raise ValueError("too many cells of the row are missing or unknown to be summed over")
            product = [factor for factor in factors if chosen in factor[0]]
            factors = [factor for factor in factors if chosen not in factor[0]]
            factors.append(self._eliminated(product, [chosen] + [f for f in scope if f != chosen]))
        logs = [0.0] * len(self.classes)
        for _, values in factors:
            logs = _sums(logs, values[()])
        return logs

    def _needed(self, codes: list[int]) -> list[Term]:
        """Return the terms of the class, of observed features, and of hidden features above one of these."""
        needed = {-1}.union(j for j, code in enumerate(codes) if code >= 0)
        kept: list[Term] = []
        waiting = list(self.network)
        while True:
            found = [term for term in waiting if term.child in needed]
            waiting = [term for term in waiting if term.child not in needed]
            for term in found:
                needed.update(term.features)
            kept += found
            if not found:
                return kept

    def _size(self, scope: Any) -> int:
        cells = 1
        for feature in scope:
            cells *= self.arities[feature]
        return cells

    def _states(self, scope: Any) -> Iterator[dict[int, int]]:
        """Yield all joint states of features as dictionaries."""
        if not scope:
            yield {}
            return
        for rest in self._states(scope[1:]):
            for state in range(self.arities[scope[0]]):
                yield {**rest, scope[0]: state}

    def _factor(self, term: Term, codes: list[int]) -> Factor:
        """Return a term at the observed cells: its hidden features, and the logs of their joint states."""
        hidden = tuple(feature for feature in term.features if codes[feature] < 0)
        at = dict(enumerate(codes))
        values = {}
        for states in self._states(hidden):
            at.update(states)
            values[tuple(states[feature] for feature in hidden)] = term.at(at)
        return hidden, values

    def _eliminated(self, factors: list[Factor], scope: list[int]) -> Factor:
        """Return the product of factors, summed over the first feature of the scope."""
        rest = tuple(scope[1:])
        values = {}
        for others in self._states(rest):
            rows: list[list[float]] = []
            for state in range(self.arities[scope[0]]):
                others[scope[0]] = state
                logs = [0.0] * len(self.classes)
                for hidden, of_factor in factors:
                    logs = _sums(logs, of_factor[tuple(others[feature] for feature in hidden)])
                rows.append(logs)
            by_class = [[row[c] for row in rows] for c in range(len(self.classes))]
            values[tuple(others[feature] for feature in rest)] = [_log_sum(logs) for logs in by_class]
        return rest, values


def _joined(factors: list[Factor], feature: int) -> list[int]:
    return sorted({other for scope, _ in factors if feature in scope for other in scope})


def _sums(one: list[float], other: list[float]) -> list[float]:
    return [a + b for a, b in zip(one, other)]  # noqa: B905  # for older Pythons


def _log_sum(logs: list[float]) -> float:
    top = max(logs)
    return top if top == -math.inf else top + math.log(sum(math.exp(log - top) for log in logs))


@lru_cache(maxsize=None)  # noqa: UP033  # for older Pythons
def scorer() -> Scorer:
    """Return the model of this file."""
    return Scorer(json.loads(MODEL))


def predict_proba(row: Any) -> dict[Any, float]:
    """Return the probability of every class given a row, a mapping of features to values."""
    return dict(zip(scorer().classes, scorer().probabilities(row)))  # noqa: B905  # for older Pythons


def predict(row: Any) -> Any:
    """Return the most probable class of a row; the first of equally probable ones."""
    probabilities = scorer().probabilities(row)
    return scorer().classes[probabilities.index(max(probabilities)) if probabilities[0] == probabilities[0] else 0]


def card_scores(row: Any) -> list[int]:
    """Return the scores of a row, if the model of this file is a scorecard."""
    card, sums = scorer().card, scorer().sums(scorer().codes(row))
    return [card["intercept"][k] + sums[place] for k, place in enumerate(card["places"])]


def main(arguments: Any = None) -> int:
    """Read a table with a header, and write its rows with the prediction and the probabilities of the classes."""
    parser = argparse.ArgumentParser(description="Score the rows of a CSV file.")
    parser.add_argument("table", help="a CSV file with a header; - reads standard input")
    parser.add_argument("--delimiter", default=",", help="what separates the cells")
    options = parser.parse_args(arguments)
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure") and not stream.isatty():  # pipes are UTF-8, as files are
            stream.reconfigure(encoding="utf-8-sig" if stream is sys.stdin else "utf-8")
    with sys.stdin if options.table == "-" else open(options.table, encoding="utf-8-sig", newline="") as source:
        reader = csv.DictReader(source, delimiter=options.delimiter)
        header = list(reader.fieldnames or [])
        lacking = [str(column.name) for column in scorer().columns if str(column.name) not in header]
        if lacking:
            parser.error(f"the table has no column {lacking[0]!r}")
        labels = [f"P({label})" for label in scorer().classes]
        writer = csv.writer(sys.stdout, delimiter=options.delimiter, lineterminator="\n")
        writer.writerow([*header, *scorer().card.get("names", []), "prediction", *labels])
        for number, cells in enumerate(reader, 1):
            row = {column.name: column.value(cells[str(column.name)] or "") for column in scorer().columns}
            try:
                probabilities = list(predict_proba(row).values())
                prediction = predict(row)
            except ValueError as error:
                parser.error(f"row {number}: {error}")
            scores = card_scores(row) if scorer().card else []
            writer.writerow([*(cells[name] for name in header), *scores, prediction, *map(repr, probabilities)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
