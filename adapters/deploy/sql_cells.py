"""Cells of a table as SQL: their codes, the numbers that they choose from tables, and the sums of these."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.warn import warn
from anbexact.adapters.deploy.sql_dialects import Dialect, quoted
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import Vocabulary

Logs = npt.NDArray[np.float64]
"""Logarithms, in nats."""
REFUSED = 10**9
"""The code of a cell that cannot be read: no table has so large a place, so the probabilities are NULL."""
PREDICTION = "prediction"
"""The column of the predicted class."""
STEPS = ("codes", "places", "numbers", "points", "logs", "tops", "powers", "totals")
"""Names of the steps of a query."""


def suffix(table: str) -> str:
    """Return the end of the names of steps: SQLite would take a table with the name of a step for the step."""
    return "_" if table.lower() in STEPS else ""


def _also_narrow(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, and after each float the double that it becomes in a column of single precision."""
    for value in values:
        yield value
        if isinstance(value, float) and isfinite(narrow := float(np.float32(value))) and narrow != value:
            yield narrow


def added(terms: Sequence[str]) -> str:
    """Return the expression of a sum, nested in pairs because some engines limit the depth of expressions."""
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [f"({' + '.join(pair)})" if len(pair) > 1 else pair[0] for pair in pairs]
    return terms[0]


@dataclass(frozen=True)
class Term:
    """A summand of the logarithms of all classes.

    Attributes
    ----------
    place : str
        The expression of the column of ``logs`` that applies to a row; NULL if the probabilities are to be NULL.
    logs : (classes, places)
        The logs minus those of the first class.
    """

    place: str
    logs: Logs

    def plus(self, other: Term) -> Term:
        """Return the sum of two terms as one term, whose places are all pairs of places of the two."""
        logs = self.logs[:, :, None] + other.logs[:, None, :]
        return Term(f"{other.logs.shape[1]} * ({self.place}) + {other.place}", logs.reshape(len(logs), -1))


def merged(terms: Sequence[Term], most_places: int) -> list[Term]:
    """Return terms with the same sum, in which small terms are merged into terms of ``most_places`` at most."""
    found: list[Term] = []
    for term in sorted(terms, key=lambda term: term.logs.shape[1]):
        if found and found[-1].logs.shape[1] * term.logs.shape[1] <= most_places:
            found[-1] = found[-1].plus(term)
        else:
            found.append(term)
    return found


@dataclass(frozen=True)
class CellQuery:
    """A query of a class posterior in a dialect; it reads the cells of a table as a classifier reads frames."""

    reader: Reader
    dialect: Dialect

    @property
    def vocabulary(self) -> Vocabulary:
        return self.reader.vocabulary

    @property
    def read(self) -> tuple[Hashable, ...]:
        """The features that the query reads."""
        return self.vocabulary.features

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.vocabulary.states[self.vocabulary.class_name]

    def kept(self, keep: Sequence[str]) -> list[str]:
        """Return the columns to be copied, in quotation marks; refuse those that the result cannot have."""
        self.check_names(keep)
        if PREDICTION in (name.lower() for name in keep):
            raise ValueError(
                f"keep= names a column {PREDICTION!r}, but the result has the predicted class under this name: "
                "rename the column in a view, and pass the view as table="
            )
        return [self.name(name) for name in keep]

    def sums_of(
        self, terms: Sequence[Term], rows: Sequence[int], further: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Return the tables of numbers if they are stored, and for each of their rows the sum of the chosen numbers.

        The column ``p0`` has the place in the table of the first term, and so on; ``further`` are other summands.
        """
        arrays: list[str] = []
        sums = []
        for row in rows:
            summands = list(further)
            for j, term in enumerate(terms):
                array = self.dialect.array(term.logs[row])
                if self.dialect.stored:
                    arrays.append(f"{array} AS t{j}_{row}")
                    array = f"t{j}_{row}"
                summands.append(self.dialect.chosen.format(array=array, place=f"p{j}"))
            sums.append(added(summands) if summands else self.dialect.float_literal(0.0))
        return arrays, sums

    def normalised(self, table: str, steps: Sequence[str], result: Sequence[str], copied: Sequence[str]) -> str:
        """Return the query of the probabilities and the prediction.

        Parameters
        ----------
        table : str
            The table of the rows.
        steps : sequence of str
            The first steps. The last one is ``logs``, with the logs of the classes as ``l0``, ``l1``, ... and the
            columns ``copied``.
        result : sequence of str
            The first columns of the result, made of those that are copied.
        copied : sequence of str
            Columns that every step keeps.
        """
        numbers = range(len(self.classes))
        every = ", ".join(f"l{number}" for number in numbers)
        top = every if len(self.classes) == 1 else f"{self.dialect.largest}({every})"
        total = " + ".join(f"e{number}" for number in numbers)
        powers = ", ".join(f"exp(l{number} - top) AS e{number}" for number in numbers)
        every_power = ", ".join(f"e{number}" for number in numbers)
        kept = "".join(f", {name}" for name in copied)
        columns = [*result, *(f"e{k} / total AS {self.name(f'P({label})')}" for k, label in enumerate(self.classes))]
        columns.append(f"{self.predicted(self.classes)} AS {self.name(PREDICTION)}")
        own, end = suffix(table), self.dialect.fence
        last = [
            f"tops{own} AS (SELECT {every}, {top} AS top{kept} FROM logs{own}{end}),",
            f"powers{own} AS (SELECT {powers}{kept} FROM tops{own}{end}),",
            f"totals{own} AS (SELECT {every_power}, {total} AS total{kept} FROM powers{own}{end})",
            f"SELECT {', '.join(columns)} FROM totals{own}",
        ]
        return "\n".join(["WITH " + steps[0], *steps[1:], *last])

    def name(self, name: Hashable) -> str:
        """Return a name in quotation marks."""
        if not isinstance(name, str):
            raise TypeError(f"names of columns and tables must be text in SQL, not {name!r}")
        return quoted(name, self.dialect.mark)

    def predicted(self, classes: Sequence[Any]) -> str:
        """Return the expression of the most probable class: the first whose unnormalised probability is 1."""
        cases = ["WHEN total IS NULL THEN NULL"]
        for number, label in enumerate(classes):
            plain = isinstance(label, str | int | float)
            value = self.literal(label, self.vocabulary.class_name) if plain else self.dialect.text(str(label))
            cases.append(f"WHEN e{number} = {self.dialect.float_literal(1.0)} THEN {value}")
        return f"CASE {' '.join(cases)} END"

    def check_names(self, keep: Sequence[str]) -> None:
        """Refuse columns of the table that the dialect cannot tell apart."""
        if not self.dialect.folds_case:
            return
        read = [name for name in self.read if name not in self.vocabulary.left_out]
        folded: dict[str, Hashable] = {}
        for name in dict.fromkeys((*read, *keep)):
            other = folded.setdefault(str(name).lower(), name)
            if other != name:
                raise ValueError(
                    f"columns {other!r} and {name!r} differ only in case, which {self.dialect.title} ignores in "
                    "column names: rename one of them before fit"
                )

    # ---- cells

    def code(self, name: Hashable) -> str:
        """Return the expression of a feature's code; NULL where the cell is missing or unknown."""
        if name in self.vocabulary.left_out:
            return "0"
        cell = self.name(name)
        own_state = self.reader.missing_rules[name] == "own_state" and name in self.vocabulary.own_missing
        missing = str(self.vocabulary.missing_code(name)) if own_state else "NULL"
        values = self.vocabulary.values(name)
        cuts = self.reader.cut_points.get(name)
        if cuts is not None:
            return self.interval(name, cell, cuts, missing)
        cases = [f"WHEN {cell} IS NULL THEN {missing}"]
        if self.vocabulary.has_any_value(name):
            return f"CASE {cases[0]} ELSE {self.vocabulary.code_of_others(name)} END"
        if any(isinstance(value, float) for value in values) and self.dialect.is_nan:
            cases.append(f"WHEN {self.dialect.is_nan.format(cell)} THEN {missing}")
        groups = self.vocabulary.groups.get(name) or tuple((value,) for value in values)
        for code, group in enumerate(groups):
            literals = [self.literal(value, name) for value in _also_narrow(group)]
            cases.append(f"WHEN {cell} IN ({', '.join(literals)}) THEN {code}")
        return f"CASE {' '.join(cases)} END"

    def interval(self, name: Hashable, cell: str, cuts: npt.NDArray[np.float64], missing: str) -> str:
        """Return the expression of the code of a cell's interval; ``missing`` is that of a missing cell."""
        quantity = self.vocabulary.quantities.get(name)
        if quantity is not None and quantity.kind != "decimal":
            raise ValueError(
                f"column {name!r} contains {quantity.noun}, whose intervals cannot be written as SQL: pass it to fit "
                "as a number, such as days since 1970"
            )
        if isinstance(quantity, TextQuantity):
            warn(quantity.expected_as_number(name, "to_sql"))
        number = f"CAST({cell} AS {self.dialect.double})"
        cases = [f"WHEN {cell} IS NULL THEN {missing}"]
        if self.dialect.is_nan:
            cases.append(f"WHEN {self.dialect.is_nan.format(number)} THEN {missing}")
        if self.dialect.is_text:
            cases.append(f"WHEN {self.dialect.is_text.format(cell=cell, number=number)} THEN {REFUSED}")
        cases += [f"WHEN {number} <= {self.dialect.float_literal(float(cut))} THEN {k}" for k, cut in enumerate(cuts)]
        return f"CASE {' '.join(cases)} ELSE {len(cuts)} END"

    def literal(self, value: Any, name: Hashable) -> str:
        """Return a state as a literal."""
        if isinstance(value, str):
            return self.dialect.text(value)
        if isinstance(value, bool):
            return str(value).upper() if self.dialect.rich else str(int(value))
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float) and isfinite(value):
            return self.dialect.float_literal(value)
        if self.dialect.rich and isinstance(value, Decimal) and value.is_finite():
            return f"{value:f}"
        if self.dialect.rich and type(value) is datetime.date:
            return f"DATE '{value.isoformat()}'"
        raise ValueError(
            f"column {name!r} has the state {value!r}, a {type(value).__name__}, for which {self.dialect.title} has "
            "no literal here: pass text or numbers to fit"
        )
