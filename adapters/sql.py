"""The class posterior of a network as one SQL query."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.base import NetworkClassifier
from anbexact.networks.network import TableNetwork
from anbexact.parameters.tables import ConditionalTable
from anbexact.tables.vocabulary import LEFT_OUT, MISSING_STATE, Vocabulary

Logs = npt.NDArray[np.float64]


def to_sql(
    classifier: NetworkClassifier, dialect: str = "duckdb", *, table: str = "rows", keep: Sequence[str] = ()
) -> str:
    """Return a query that computes the class posterior of every row of a table.

    The query adds up the logarithms of the conditional tables, ln P(c, x) = Σ ln P(variable | parents), for every
    class c less the first, and normalises them. Its result has the columns ``keep``, then a column ``P(label)`` for
    every class in the order of ``classes_``. It differs from ``predict_proba`` by rounding alone.

    Cells that are missing (NULL or NaN) or hold an unknown value are states of their own, where missing cells were in
    training, or are summed out. A feature is summed out only if none of the features below it in the network is
    observed; in a naive Bayes classifier every feature is of this kind. A row in which another feature is missing
    gets NULL for all probabilities: fill in such cells, or use ``predict_proba``, which sums them out. So does a row
    with a cell that ``predict_proba`` refuses.

    Parameters
    ----------
    classifier : NetworkClassifier
        Fitted, with conditional tables that hold no zeros.
    dialect : {"duckdb", "postgres", "spark", "sqlite"}
        The kind of SQL. SQLite needs its mathematical functions, which most builds have.
    table : str, default "rows"
        The name of the table, whose columns have the names and types of those in ``fit``.
    keep : sequence of str
        Columns of the table to copy into the result, such as a key.

    Raises
    ------
    TypeError
        For a classifier that is not a network, or names of columns that are not text.
    ValueError
        For a network of densities, a table that holds a zero, or a column whose states or units SQL has no literal
        for; the message names it.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> X, y = [["a"], ["a"], ["b"]], ["no", "no", "yes"]
    >>> query = to_sql(NaiveBayesClassifier(ess=1.0).fit(X, y), "sqlite", table="new")
    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE new (x0)")
    >>> _ = connection.execute("INSERT INTO new VALUES ('b')")
    >>> [round(p, 6) for p in connection.execute(query).fetchone()]
    [0.166667, 0.833333]
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}, not {dialect!r}")
    if not isinstance(classifier, NetworkClassifier):
        raise TypeError(f"only networks can be written as SQL, not a {type(classifier).__name__}")
    check_is_fitted(classifier)
    network = classifier.model_
    if not isinstance(network, TableNetwork):
        raise ValueError("a network of densities cannot be written as SQL: use continuous='discretize'")
    return _Query(network, DIALECTS[dialect], classifier.handle_missing_).text(table, keep)


def _quoted(text: str, mark: str) -> str:
    """Return text between marks, the mark itself doubled."""
    if "\0" in text:
        raise ValueError(f"{text!r} contains the character NUL, which SQL cannot hold: rename it")
    return mark + text.replace(mark, mark * 2) + mark


def _spark_text(text: str) -> str:
    """Return a literal of Spark, whose strings have escapes; quotes and backslashes are written by their numbers."""
    _quoted(text, "'")
    return "'" + text.replace("\\", "\\u005c").replace("'", "\\u0027") + "'"


def _listed(logs: Sequence[str], place: str) -> str:
    return f"[{', '.join(logs)}][1 + {place}]"


def _postgres_listed(logs: Sequence[str], place: str) -> str:
    return f"(ARRAY[{', '.join(logs)}]::double precision[])[1 + {place}]"


def _spark_listed(logs: Sequence[str], place: str) -> str:
    return f"array({', '.join(logs)})[{place}]"


def _by_case(logs: Sequence[str], place: str) -> str:
    return f"CASE {place} {' '.join(f'WHEN {k} THEN {log}' for k, log in enumerate(logs))} END"


@dataclass(frozen=True)
class _Dialect:
    """What the kinds of SQL write differently.

    Attributes
    ----------
    title : str
        Its name in messages.
    mark : str
        What names are put between.
    text : callable
        Returns text as a literal.
    chosen : callable
        Returns the expression of the number, among several, at a place from 0; NULL where the place is.
    double : str
        The type of floats.
    is_nan : str
        The test of a float, called ``{}``; none if there are no NaNs.
    largest : str
        The function of several numbers.
    rich : bool
        Whether there are booleans, decimals and dates.
    """

    title: str
    mark: str
    text: Callable[[str], str]
    chosen: Callable[[Sequence[str], str], str]
    double: str
    is_nan: str
    largest: str = "greatest"
    rich: bool = True


DIALECTS = {
    "duckdb": _Dialect("DuckDB", '"', lambda text: _quoted(text, "'"), _listed, "DOUBLE", "isnan({})"),
    "postgres": _Dialect(
        "PostgreSQL",
        '"',
        # A literal with backslashes means the same whatever the server takes them for.
        lambda text: (" E" if "\\" in text else "") + _quoted(text.replace("\\", "\\\\"), "'"),
        _postgres_listed,
        "double precision",
        "{} = 'NaN'::double precision",
    ),
    "spark": _Dialect("Spark", "`", _spark_text, _spark_listed, "DOUBLE", "isnan({})"),
    "sqlite": _Dialect(
        "SQLite", '"', lambda text: _quoted(text, "'"), _by_case, "REAL", "", largest="max", rich=False
    ),
}

STEPS = ("codes", "logs", "tops", "powers", "totals")
"""Names of the steps of a query."""


@dataclass(frozen=True)
class _Query:
    """The query of a network in a dialect; ``rules`` say what becomes of missing cells."""

    network: TableNetwork
    dialect: _Dialect
    rules: dict[Hashable, str]

    @property
    def vocabulary(self) -> Vocabulary:
        return self.network.vocabulary

    def text(self, table: str, keep: Sequence[str]) -> str:
        """Return the query: codes of cells, logs of classes, and their normalisation, one step after the other."""
        classes = self.vocabulary.states[self.vocabulary.class_name]
        features = self.vocabulary.features
        kept = [self.name(name) for name in keep]
        copied = "".join(f", k{j}" for j in range(len(kept)))
        numbers = range(len(classes))
        codes = [f"{self.code(name)} AS c{j}" for j, name in enumerate(features)]
        codes += [f"{name} AS k{j}" for j, name in enumerate(kept)]
        logs = [f"{self.log_joint(number) if number else self.float_literal(0.0)} AS l{number}" for number in numbers]
        every = ", ".join(f"l{number}" for number in numbers)
        top = every if len(classes) == 1 else f"{self.dialect.largest}({every})"
        total = " + ".join(f"e{number}" for number in numbers)
        result = [f"k{j} AS {name}" for j, name in enumerate(kept)]
        result += [f"e{k} / total AS {self.name(f'P({label})')}" for k, label in enumerate(classes)]
        powers = ", ".join(f"exp(l{number} - top) AS e{number}" for number in numbers)
        every_power = ", ".join(f"e{number}" for number in numbers)
        own = "_" if table.lower() in STEPS else ""  # SQLite would take the table for the step
        return "\n".join(
            [
                f"WITH codes{own} AS (SELECT {', '.join(codes)} FROM {self.name(table)}),",
                f"logs{own} AS (SELECT {', '.join(logs)}{copied} FROM codes{own}),",
                f"tops{own} AS (SELECT {every}, {top} AS top{copied} FROM logs{own}),",
                f"powers{own} AS (SELECT {powers}{copied} FROM tops{own}),",
                f"totals{own} AS (SELECT {every_power}, {total} AS total{copied} FROM powers{own})",
                f"SELECT {', '.join(result)} FROM totals{own}",
            ]
        )

    def name(self, name: Hashable) -> str:
        """Return a name between quotation marks."""
        if not isinstance(name, str):
            raise TypeError(f"names of columns and tables must be text in SQL, not {name!r}")
        return _quoted(name, self.dialect.mark)

    # ---- cells

    def code(self, name: Hashable) -> str:
        """Return the expression of a feature's code; NULL where the cell is missing or unknown."""
        states = self.vocabulary.states[name]
        if states == (LEFT_OUT,):
            return "0"
        cell = self.name(name)
        own_state = self.rules[name] == "own_state" and MISSING_STATE in states
        gap = str(states.index(MISSING_STATE)) if own_state else "NULL"
        plain = [state for state in states if not (state == MISSING_STATE and own_state)]
        cuts = self.network.cut_points.get(name)
        if cuts is not None:
            return self.interval(name, cell, cuts, gap)
        cases = [f"WHEN {cell} IS NULL THEN {gap}"]
        if any(isinstance(state, float) for state in plain) and self.dialect.is_nan:
            cases.append(f"WHEN {self.dialect.is_nan.format(cell)} THEN {gap}")
        groups = self.vocabulary.groups.get(name) or tuple((state,) for state in plain)
        for code, values in enumerate(groups):
            cases.append(f"WHEN {cell} IN ({', '.join(self.literal(value, name) for value in values)}) THEN {code}")
        return f"CASE {' '.join(cases)} END"

    def interval(self, name: Hashable, cell: str, cuts: npt.NDArray[np.float64], gap: str) -> str:
        """Return the expression of the number of a cell's interval."""
        quantity = self.vocabulary.quantities.get(name)
        if quantity is not None and quantity.kind != "decimal":
            raise ValueError(
                f"column {name!r} contains {quantity.noun}, whose intervals cannot be written as SQL: pass it to fit "
                "as a number, such as days since 1970"
            )
        number = f"CAST({cell} AS {self.dialect.double})"
        cases = [f"WHEN {cell} IS NULL THEN {gap}"]
        if self.dialect.is_nan:
            cases.append(f"WHEN {self.dialect.is_nan.format(number)} THEN {gap}")
        cases += [f"WHEN {number} <= {self.float_literal(float(cut))} THEN {k}" for k, cut in enumerate(cuts)]
        return f"CASE {' '.join(cases)} ELSE {len(cuts)} END"

    def float_literal(self, value: float) -> str:
        """Return a float with all its digits; the exponent keeps it from being a decimal."""
        if self.dialect.title == "PostgreSQL":
            return f"'{value!r}'::double precision"
        return f"{value:.17e}"

    def literal(self, value: Any, name: Hashable) -> str:
        """Return a state as a literal."""
        if isinstance(value, str):
            return self.dialect.text(value)
        if isinstance(value, bool):
            return str(value).upper() if self.dialect.rich else str(int(value))
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float) and isfinite(value):
            return self.float_literal(value)
        if self.dialect.rich and isinstance(value, Decimal) and value.is_finite():
            return f"{value:f}"
        if self.dialect.rich and type(value) is datetime.date:
            return f"DATE '{value.isoformat()}'"
        raise ValueError(
            f"column {name!r} has the state {value!r}, a {type(value).__name__}, for which {self.dialect.title} has "
            "no literal here: pass text or numbers to fit"
        )

    # ---- tables

    def log_joint(self, number: int) -> str:
        """Return the expression of ln P(class, observed features), less that of the first class."""
        terms = [self.log_probability(table, number) for table in self.network.tables.values()]
        while len(terms) > 1:  # in pairs, since some engines limit how deep expressions are
            pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
            terms = [f"({' + '.join(pair)})" if len(pair) > 1 else pair[0] for pair in pairs]
        return terms[0]

    def log_probability(self, table: ConditionalTable, number: int) -> str:
        """Return the expression of the log of a variable's probability, less that with the first class.

        It is 0 where the variable is summed out.
        """
        class_name = self.vocabulary.class_name
        if not (table.values > 0).all():
            raise ValueError(
                f"the table of {table.name!r} holds a zero, whose logarithm SQL cannot hold: use parameters='eap'"
            )
        values: Logs = np.log(table.values)
        if class_name in table.variables:
            axis = table.variables.index(class_name)
            values = np.take(values, [number], axis) - np.take(values, [0], axis)
        else:
            values = np.zeros_like(values)
        others = [name for name in table.variables if name != class_name]
        logs = [self.float_literal(float(log)) for log in values.ravel()]
        if not others:
            return logs[0]
        columns = [f"c{self.vocabulary.features.index(name)}" for name in others]
        shape = [len(self.vocabulary.states[name]) for name in others]
        steps = [prod(shape[k + 1 :]) for k in range(len(shape))]
        place = " + ".join(
            column if step == 1 else f"{step} * {column}" for column, step in zip(columns, steps, strict=True)
        )
        # What no class differs in matters only where a missing cell makes it NULL.
        log = self.dialect.chosen(logs, f"({place})") if values.any() else f"0 * ({place})"
        if table.name == class_name:
            return log
        below = [f"c{self.vocabulary.features.index(name)} IS NULL" for name in self.with_descendants(table.name)]
        return f"CASE WHEN {' AND '.join(below)} THEN {self.float_literal(0.0)} ELSE {log} END"

    def with_descendants(self, name: Hashable) -> list[Hashable]:
        """Return a feature and all features below it; the class, which is known, is not a way down."""
        found = [name]
        for one in found:
            children = (child for child, table in self.network.tables.items() if one in table.parents)
            found += [child for child in children if child not in found and child != self.vocabulary.class_name]
        return found
