"""The class posterior of a network as one SQL query."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from anbexact.adapters.deploy.scoring_form import sum_over_families
from anbexact.adapters.deploy.sql_cells import CellQuery, Logs, Term, added, merged, suffix
from anbexact.adapters.deploy.sql_dialects import DIALECTS
from anbexact.models.logit.potentials import Potential, Potentials
from anbexact.models.parameters.tables import ConditionalTable, Tables


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
    classifier : NetworkClassifier, RefittedClassifier, PooledClassifier or LogitModel
        Fitted, with conditional tables that hold no zeros. Of a pool, the query computes the logistic regression
        ``to_logit()``.
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


@dataclass(frozen=True)
class _Query(CellQuery):
    """The query of a class posterior in a dialect; it reads the cells of a table as the classifier reads frames.

    It adds up the logarithms of ``tables``, those of a network, or else ``potentials``, which cannot sum out missing
    cells.
    """

    tables: Tables
    potentials: Potentials

    def text(self, table: str, keep: Sequence[str]) -> str:
        """Return the query: codes of cells, places in tables, logs of classes, and their normalisation."""
        kept = self.kept(keep)
        copied = "".join(f", k{j}" for j in range(len(kept)))
        codes = [f"{self.code(name)} AS c{j}" for j, name in enumerate(self.vocabulary.features)]
        codes += [f"{name} AS k{j}" for j, name in enumerate(kept)]
        places, arrays, logs = self.sums()
        own, end = suffix(table), self.dialect.fence
        stored = f", numbers{own}" if arrays else ""
        steps = [
            f"codes{own} AS (SELECT {', '.join(codes)} FROM {self.name(table)}{end}),",
            f"places{own} AS (SELECT {', '.join(places)}{copied} FROM codes{own}{end}),",
            *([f"numbers{own} AS (SELECT {', '.join(arrays)}),"] if arrays else []),
            f"logs{own} AS (SELECT {', '.join(logs)}{copied} FROM places{own}{stored}{end}),",
        ]
        result = [f"k{j} AS {name}" for j, name in enumerate(kept)]
        return self.normalised(table, steps, result, [f"k{j}" for j in range(len(kept))])

    # ---- tables

    def sums(self) -> tuple[list[str], list[str], list[str]]:
        """Return the columns of three steps: places in tables, the tables if they are stored, and logs of classes.

        The logs are ln P(class, observed features) minus that of the first class.
        """
        terms = [self.term(table) for table in self.tables.values()]
        terms += [self.term_of_potential(potential) for potential in self.potentials]
        alike = [term.place for term in terms if not term.logs.any()]
        terms = merged([term for term in terms if term.logs.any()], self.dialect.most_places)
        places = [f"{term.place} AS p{j}" for j, term in enumerate(terms)]
        if alike:  # terms in which the classes do not differ matter only where a missing cell makes them NULL
            places.append(f"0 * ({added(alike)}) AS p{len(terms)}")
        numbers = range(1, len(self.classes))
        arrays, sums = self.sums_of(terms, numbers, [f"p{len(terms)}"] if alike else [])
        logs = [f"{text} AS l{number}" for number, text in zip(numbers, sums, strict=True)]
        return places, arrays, [f"{self.dialect.float_literal(0.0)} AS l0", *logs]

    def term(self, table: ConditionalTable) -> Term:
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
            return Term(place, logs)
        below = [f"c{self.vocabulary.features.index(name)} IS NULL" for name in self.with_descendants(table.name)]
        place = f"CASE WHEN {' AND '.join(below)} THEN {logs.shape[1]} ELSE {place} END"
        return Term(place, np.pad(logs, ((0, 0), (0, 1))))

    def term_of_potential(self, potential: Potential) -> Term:
        """Return the term of a potential, which is NULL where one of its cells is NULL."""
        logs = np.moveaxis(potential.logs - potential.logs[..., :1], -1, 0)
        return Term(self.place(potential.features), logs.reshape(len(logs), -1))

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
