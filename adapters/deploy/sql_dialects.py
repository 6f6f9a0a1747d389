"""How kinds of SQL differ: in names, literals, and the choice of a number by its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
"""The numbers of an array."""


def quoted(text: str, mark: str) -> str:
    """Return text between marks; a mark within the text is doubled."""
    if "\0" in text:
        raise ValueError(f"{text!r} contains the character NUL, which SQL cannot hold: rename it")
    return mark + text.replace(mark, mark * 2) + mark


def _spark_text(text: str) -> str:
    """Return a literal of Spark, whose strings have escapes: quotes and backslashes are written as code points."""
    quoted(text, "'")
    return "'" + text.replace("\\", "\\u005c").replace("'", "\\u0027") + "'"


def _texts(numbers: Numbers) -> Iterator[str]:
    return map(repr, numbers.tolist())


def _duckdb_array(numbers: Numbers) -> str:
    """Return a list as text that is cast, which DuckDB reads many times faster than a list of literals."""
    return f"CAST('[{','.join(_texts(numbers))}]' AS DOUBLE[])"


def _postgres_array(numbers: Numbers) -> str:
    return f"('{{{','.join(_texts(numbers))}}}'::double precision[])"


def _spark_array(numbers: Numbers) -> str:
    return f"array({', '.join(f'{number:.17e}' for number in numbers.tolist())})"


def _cases(numbers: Numbers) -> str:
    return " ".join(f"WHEN {place} THEN {number:.17e}" for place, number in enumerate(numbers.tolist()))


@dataclass(frozen=True)
class Dialect:
    """A kind of SQL.

    Attributes
    ----------
    title : str
        Its name in messages.
    mark : str
        The quotation mark of names.
    text : callable
        Returns text as a literal.
    array : callable
        Returns several numbers as an expression.
    chosen : str
        The expression of the number that is in ``{array}`` at ``{place}``, counted from 0; NULL if the place is NULL.
    double : str
        The type of floats.
    is_nan : str
        A test of the float ``{}`` for NaN; empty if the dialect has no NaNs.
    is_text : str
        A test of a ``{cell}`` that is not a ``{number}``, for dialects that silently cast such text to a number.
    largest : str
        The name of the function that returns the largest of several numbers.
    rich : bool
        Whether there are booleans, decimals and dates.
    stored : bool
        Whether arrays are read once, in a step of one row, because a literal is copied for every block of rows.
    most_places : int
        Most numbers of an array into which smaller arrays are merged, so that fewer numbers have to be looked up.
    folds_case : bool
        Whether quoted names that differ only in case are the same name.
    fence : str
        The end of a step; it keeps the engine from computing the columns of the step again wherever they are used.
    """

    title: str
    mark: str
    text: Callable[[str], str]
    array: Callable[[Numbers], str]
    chosen: str
    double: str
    is_nan: str
    is_text: str = ""
    largest: str = "greatest"
    rich: bool = True
    stored: bool = False
    most_places: int = 256
    folds_case: bool = True
    fence: str = ""

    def float_literal(self, value: float) -> str:
        """Return a float with all its digits; the exponent keeps it from being a decimal."""
        if self.title == "PostgreSQL":
            return f"'{value!r}'::double precision"
        return f"{value:.17e}"


DIALECTS = {
    "duckdb": Dialect(
        "DuckDB",
        '"',
        lambda text: quoted(text, "'"),
        _duckdb_array,
        "{array}[1 + {place}]",
        "DOUBLE",
        "isnan({})",
        stored=True,
    ),
    "postgres": Dialect(
        "PostgreSQL",
        '"',
        # With E, a literal with backslashes means the same whether or not the server treats them as escapes.
        lambda text: (" E" if "\\" in text else "") + quoted(text.replace("\\", "\\\\"), "'"),
        _postgres_array,
        "{array}[1 + {place}]",
        "double precision",
        "{} = 'NaN'::double precision",
        folds_case=False,
        fence=" OFFSET 0",
    ),
    "spark": Dialect(
        "Spark", "`", _spark_text, _spark_array, "{array}[{place}]", "DOUBLE", "isnan({})", "{number} IS NULL"
    ),
    "sqlite": Dialect(
        "SQLite",
        '"',
        lambda text: quoted(text, "'"),
        _cases,
        "CASE {place} {array} END",
        "REAL",
        "",
        "{cell} <> CAST({cell} AS NUMERIC)",  # compared as a number only if the whole text is a number
        largest="max",
        rich=False,
        most_places=1,
        fence=" LIMIT -1 OFFSET 0",
    ),
}
