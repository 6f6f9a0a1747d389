"""The class posterior of a network as one SQL query."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.warn import warn
from anbexact.adapters.deploy.scoring_form import sum_over_families
from anbexact.adapters.deploy.sql_dialects import DIALECTS, Dialect, quoted
from anbexact.models.logit.potentials import Potential, Potentials
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import Vocabulary

Logs = npt.NDArray[np.float64]
"""Logarithms, in nats."""


def to_sql(classifier: Any, dialect: str = "duckdb", *, table: str = "rows", keep: Sequence[str] = ()) -> str:
    """Return a query that computes the class posterior of every row of a table, and predicts its class.

    The query adds up the logarithms of the conditional tables, ln P(c, x) = Σ ln P(variable | parents), for every
    class c, subtracts those of the first class, and normalises the result. Its columns are those of ``keep``, then
    ``P(label)`` for every class in the order of ``classes_``, and then ``prediction``, the most probable class (the
    first, if several are equally probable). The probabilities differ from ``predict_proba`` only by rounding.

    A refit is written as the network with the same posterior, whose tables are those of ``to_classifier()`` of its
    logistic regression. If there is no such network, because its tables would be too large or a probability would
    underflow, the query adds up the potentials of the regression, and cannot sum out missing cells.

    A missing cell (NULL or NaN) is a state of its own if missing cells were one in training. Otherwise it is summed
    out, and so is a cell with an unknown value. The query can sum out a feature only if none of the features below it
    in the network is observed, which holds for every feature of a naive Bayes classifier. A row in which another
    feature would have to be summed out gets NULL for all probabilities: fill in such cells, or use ``predict_proba``.
    So does a row with text that is not a number in a column of numbers, where the engine itself does not refuse it.
    ``"error"`` as ``handle_missing`` or ``handle_unknown`` has no effect here: the query sums out cells that
    ``predict_proba`` then refuses. Numbers of single precision are compared in double precision; such a number may
    lie on the other side of a cut point that has the same decimals.

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier, AdditiveClassifier or LogitModel
        Fitted, with conditional tables that hold no zeros. For a pool of such classifiers, pass its ``to_logit()``.
    dialect : {"duckdb", "postgres", "spark", "sqlite"}
        The kind of SQL. SQLite needs its mathematical functions, which most builds have.
    table : str, default "rows"
        The name of the table, whose columns have the names and types of those in ``fit``.
    keep : sequence of str
        Columns of the table to copy into the result, such as a key.

    Raises
    ------
    TypeError
        For a classifier of another kind, or names of columns that are not text.
    ValueError
        For a network of densities, a table that holds a zero, columns whose names differ only in case (except in
        PostgreSQL), a column whose states or units have no literal in SQL, or a column ``prediction`` in ``keep``;
        the message names it.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> X, y = [["a"], ["a"], ["b"]], ["no", "no", "yes"]
    >>> query = to_sql(NaiveBayesClassifier(ess=1.0).fit(X, y), "sqlite", table="new")
    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE new (x0)")
    >>> _ = connection.execute("INSERT INTO new VALUES ('b')")
    >>> connection.execute(f"SELECT round([P(yes)], 6), prediction FROM ({query})").fetchone()
    (0.833333, 'yes')
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}, not {dialect!r}")
    found, reader = sum_over_families(classifier, "to_sql")
    try:
        query = _Query(reader, DIALECTS[dialect], found.network.tables, ())
    except (ValueError, MemoryError):
        query = _Query(reader, DIALECTS[dialect], {}, found.potentials)
    return query.text(table, keep)


REFUSED = 10**9
"""The code of a cell that cannot be read: no table has so large a place, so the probabilities are NULL."""
PREDICTION = "prediction"
"""The column of the predicted class."""
STEPS = ("codes", "places", "numbers", "logs", "tops", "powers", "totals")
"""Names of the steps of a query."""


def _also_narrow(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, and after each float the double that it becomes in a column of single precision."""
    for value in values:
        yield value
        if isinstance(value, float) and isfinite(narrow := float(np.float32(value))) and narrow != value:
            yield narrow


def _sum(terms: Sequence[str]) -> str:
    """Return the expression of a sum, nested in pairs because some engines limit the depth of expressions."""
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [f"({' + '.join(pair)})" if len(pair) > 1 else pair[0] for pair in pairs]
    return terms[0]


@dataclass(frozen=True)
class _Term:
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

    def plus(self, other: _Term) -> _Term:
        """Return the sum of two terms as one term, whose places are all pairs of places of the two."""
        logs = self.logs[:, :, None] + other.logs[:, None, :]
        return _Term(f"{other.logs.shape[1]} * ({self.place}) + {other.place}", logs.reshape(len(logs), -1))


def _merged(terms: Sequence[_Term], most_places: int) -> list[_Term]:
    """Return terms with the same sum, in which small terms are merged into terms of ``most_places`` at most."""
    found: list[_Term] = []
    for term in sorted(terms, key=lambda term: term.logs.shape[1]):
        if found and found[-1].logs.shape[1] * term.logs.shape[1] <= most_places:
            found[-1] = found[-1].plus(term)
        else:
            found.append(term)
    return found


@dataclass(frozen=True)
class _Query:
    """The query of a class posterior in a dialect; it reads the cells of a table as the classifier reads frames.

    It adds up the logarithms of ``tables``, those of a network, or else ``potentials``, which cannot sum out missing
    cells.
    """

    reader: Reader
    dialect: Dialect
    tables: Tables
    potentials: Potentials

    @property
    def vocabulary(self) -> Vocabulary:
        return self.reader.vocabulary

    def text(self, table: str, keep: Sequence[str]) -> str:
        """Return the query: codes of cells, places in tables, logs of classes, and their normalisation."""
        classes = self.vocabulary.states[self.vocabulary.class_name]
        self.check_names(keep)
        kept = [self.name(name) for name in keep]
        if PREDICTION in (name.lower() for name in keep):
            raise ValueError(
                f"keep= names a column {PREDICTION!r}, but the result has the predicted class under this name: "
                "rename the column in a view, and pass the view as table="
            )
        copied = "".join(f", k{j}" for j in range(len(kept)))
        numbers = range(len(classes))
        codes = [f"{self.code(name)} AS c{j}" for j, name in enumerate(self.vocabulary.features)]
        codes += [f"{name} AS k{j}" for j, name in enumerate(kept)]
        places, arrays, logs = self.sums()
        every = ", ".join(f"l{number}" for number in numbers)
        top = every if len(classes) == 1 else f"{self.dialect.largest}({every})"
        total = " + ".join(f"e{number}" for number in numbers)
        result = [f"k{j} AS {name}" for j, name in enumerate(kept)]
        result += [f"e{k} / total AS {self.name(f'P({label})')}" for k, label in enumerate(classes)]
        result.append(f"{self.predicted(classes)} AS {self.name(PREDICTION)}")
        powers = ", ".join(f"exp(l{number} - top) AS e{number}" for number in numbers)
        every_power = ", ".join(f"e{number}" for number in numbers)
        own = "_" if table.lower() in STEPS else ""  # SQLite would take the table for the step
        stored = f", numbers{own}" if arrays else ""
        end = self.dialect.fence
        return "\n".join(
            [
                f"WITH codes{own} AS (SELECT {', '.join(codes)} FROM {self.name(table)}{end}),",
                f"places{own} AS (SELECT {', '.join(places)}{copied} FROM codes{own}{end}),",
                *([f"numbers{own} AS (SELECT {', '.join(arrays)}),"] if arrays else []),
                f"logs{own} AS (SELECT {', '.join(logs)}{copied} FROM places{own}{stored}{end}),",
                f"tops{own} AS (SELECT {every}, {top} AS top{copied} FROM logs{own}{end}),",
                f"powers{own} AS (SELECT {powers}{copied} FROM tops{own}{end}),",
                f"totals{own} AS (SELECT {every_power}, {total} AS total{copied} FROM powers{own}{end})",
                f"SELECT {', '.join(result)} FROM totals{own}",
            ]
        )

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
        read = [name for name in self.vocabulary.features if name not in self.vocabulary.left_out]
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

    # ---- tables

    def sums(self) -> tuple[list[str], list[str], list[str]]:
        """Return the columns of three steps: places in tables, the tables if they are stored, and logs of classes.

        The logs are ln P(class, observed features) minus that of the first class.
        """
        terms = [self.term(table) for table in self.tables.values()]
        terms += [self.term_of_potential(potential) for potential in self.potentials]
        alike = [term.place for term in terms if not term.logs.any()]
        terms = _merged([term for term in terms if term.logs.any()], self.dialect.most_places)
        places = [f"{term.place} AS p{j}" for j, term in enumerate(terms)]
        if alike:  # terms in which the classes do not differ matter only where a missing cell makes them NULL
            places.append(f"0 * ({_sum(alike)}) AS p{len(terms)}")
        arrays: list[str] = []
        logs = [f"{self.dialect.float_literal(0.0)} AS l0"]
        for number in range(1, len(self.vocabulary.states[self.vocabulary.class_name])):
            summands = [f"p{len(terms)}"] if alike else []
            for j, term in enumerate(terms):
                array = self.dialect.array(term.logs[number])
                if self.dialect.stored:
                    arrays.append(f"{array} AS t{j}_{number}")
                    array = f"t{j}_{number}"
                summands.append(self.dialect.chosen.format(array=array, place=f"p{j}"))
            logs.append(f"{_sum(summands)} AS l{number}")
        return places, arrays, logs

    def term(self, table: ConditionalTable) -> _Term:
        """Return the term of a conditional table; its last place is for a variable that is summed out."""
        class_name = self.vocabulary.class_name
        if not (table.values > 0).all():
            raise ValueError(
                f"the table of {table.name!r} holds a zero, whose logarithm SQL cannot hold: use parameters='eap'"
            )
        others = [name for name in table.variables if name != class_name]
        shape = [len(self.vocabulary.states[name]) for name in others]
        logs: Logs = np.zeros((len(self.vocabulary.states[class_name]), prod(shape)))
        if class_name in table.variables:
            values = np.moveaxis(np.log(table.values), table.variables.index(class_name), 0)
            logs = (values - values[:1]).reshape(logs.shape)
        place = self.place(others)
        if table.name == class_name:
            return _Term(place, logs)
        below = [f"c{self.vocabulary.features.index(name)} IS NULL" for name in self.with_descendants(table.name)]
        place = f"CASE WHEN {' AND '.join(below)} THEN {logs.shape[1]} ELSE {place} END"
        return _Term(place, np.pad(logs, ((0, 0), (0, 1))))

    def term_of_potential(self, potential: Potential) -> _Term:
        """Return the term of a potential, which is NULL where one of its cells is NULL."""
        logs = np.moveaxis(potential.logs - potential.logs[..., :1], -1, 0)
        return _Term(self.place(potential.features), logs.reshape(len(logs), -1))

    def place(self, names: Sequence[Hashable]) -> str:
        """Return the expression of the place that the states of some features have in a table of these features."""
        shape = [len(self.vocabulary.states[name]) for name in names]
        columns = [f"c{self.vocabulary.features.index(name)}" for name in names]
        steps = [prod(shape[k + 1 :]) for k in range(len(shape))]
        place = " + ".join(
            column if step == 1 else f"{step} * {column}" for column, step in zip(columns, steps, strict=True)
        )
        return f"({place})" if names else "0"

    def with_descendants(self, name: Hashable) -> list[Hashable]:
        """Return a feature and its descendants, without those that are descendants only through the class."""
        found = [name]
        for one in found:
            children = (child for child, table in self.tables.items() if one in table.parents)
            found += [child for child in children if child not in found and child != self.vocabulary.class_name]
        return found
