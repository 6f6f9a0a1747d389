"""What the kinds of SQL write differently: names, literals, and numbers chosen by their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


def quoted(text: str, mark: str) -> str:
    """Return text between marks, the mark itself doubled."""
    if "\0" in text:
        raise ValueError(f"{text!r} contains the character NUL, which SQL cannot hold: rename it")
    return mark + text.replace(mark, mark * 2) + mark


def _spark_text(text: str) -> str:
    """Return a literal of Spark, whose strings have escapes; quotes and backslashes are written by their numbers."""
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
    """What the kinds of SQL write differently.

    Attributes
    ----------
    title : str
        Its name in messages.
    mark : str
        What names are put between.
    text : callable
        Returns text as a literal.
    array : callable
        Returns several numbers as an expression.
    chosen : str
        The expression of the number ``{array}`` at a ``{place}`` from 0; NULL where the place is.
    double : str
        The type of floats.
    is_nan : str
        The test of a float, called ``{}``; none if there are no NaNs.
    is_text : str
        A test for a ``{cell}`` that is not a ``{number}``, for dialects that silently cast such text to a number.
    largest : str
        The function of several numbers.
    rich : bool
        Whether there are booleans, decimals and dates.
    stored : bool
        Whether arrays are read once, in a step of one row, since a literal is copied for every block of rows.
    most_places : int
        Numbers of an array up to which arrays are merged, so that fewer are looked at.
    folds_case : bool
        Whether quoted names that differ only in case are the same.
    fence : str
        What ends a step whose columns would otherwise be computed again wherever they are named.
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
        # A literal with backslashes means the same whatever the server takes them for.
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
        "{cell} <> CAST({cell} AS NUMERIC)",  # compared as a number only if all of the text is one
        largest="max",
        rich=False,
        most_places=1,
        fence=" LIMIT -1 OFFSET 0",
    ),
}
