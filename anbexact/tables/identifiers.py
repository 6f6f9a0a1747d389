"""Warnings about a training table: columns that look like identifiers, and labels that do not look like classes."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import pdtr

from anbexact._runtime.warn import warn
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.text_advice import unread_advice
from anbexact.tables.vocabulary import ANY_VALUE, LEFT_OUT

FEWEST_ROWS = 50
"""Minimum number of observed rows for a column to be taken for an identifier."""
DISTINCT_SHARE = 0.95
"""Minimum share of distinct values for which a column of text is an identifier, and labels cannot be classes."""
CHANCE_PROBABILITY = 1e-4
"""Probability below which the lack of repetitions among whole numbers is not chance."""
LOOKS_LIKE_AN_IDENTIFIER = "looks like an identifier"
"""The description of the columns in the warning that they are left out."""
MANY_CLASSES = 100
"""Number of classes above which there is a warning."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def without_identifiers(
    columns: Sequence[Column],
    weights: npt.NDArray[np.float64],
    stay: Collection[Hashable],
    *,
    own_state: bool = False,
) -> tuple[list[Column], dict[Hashable, str]]:
    """Replace the columns that look like identifiers by columns of a single state, and warn about it.

    A column that is left out stays among the features, but its values are ignored both in training and at prediction:
    every row has the state ``"(left out)"``. If missing cells are states, a column of text with missing cells is not
    left out altogether: it has the state ``"(any value)"`` where it is not missing.

    Parameters
    ----------
    columns : sequence of Column
        The features.
    weights : (rows,) float64
        Rows of weight 0 are ignored.
    stay : collection
        Columns that are left as they are, because the user declared them.
    own_state : bool, default False
        Whether a missing cell is a state.

    Returns
    -------
    columns : list of Column
        In the same order.
    dropped : dict
        The columns that are left out, each with the reason.

    Raises
    ------
    ValueError
        If all columns look like identifiers.
    """
    kept = weights > 0
    reasons = {column.name: identifier_reason(column, kept) for column in columns if column.name not in stay}
    reasons = {name: reason for name, reason in reasons.items() if reason}
    present = {column.name for column in columns if column.name in reasons and own_state and may_miss(column, kept)}
    dropped = report_identifiers(reasons, len(columns), present)
    found = []
    for column in columns:
        if column.name in present:
            column = column.presence(ANY_VALUE)
        found.append(column.constant(column.name, LEFT_OUT) if column.name in dropped else column)
    return found, dropped


def may_miss(column: Column, kept: npt.NDArray[np.bool_]) -> bool:
    """Whether a column is one of text that is missing in some of the rows that are kept."""
    return column.numbers is None and bool((column.missing & kept).any())


def report_identifiers(
    reasons: Mapping[Hashable, str], n_columns: int, present: Collection[Hashable] = ()
) -> dict[Hashable, str]:
    """Return the columns to leave out, each with the reason, and warn about them; see :func:`without_identifiers`.

    ``present`` are columns that look like identifiers, but of which it counts whether a cell is missing.
    """
    dropped = {name: reason for name, reason in reasons.items() if reason}
    if not dropped:
        return {}
    shown = "; ".join(f"{name!r} ({reason})" for name, reason in list(dropped.items())[:5])
    more = f"; and {len(dropped) - 5} more" if len(dropped) > 5 else ""
    if len(dropped) == n_columns and not present:
        raise ValueError(
            f"every column {LOOKS_LIKE_AN_IDENTIFIER}: {shown}{more}. An identifier says nothing about the class of "
            "another row. Pass columns that describe the rows, or drop_identifiers=False to use these"
        )
    these = "it" if len(dropped) == 1 else "them"
    of = ", ".join(map(repr, [name for name in dropped if name in present][:5]))
    still = f". It still counts whether a cell of {of} is missing" if of else ""
    warn(
        f"each column that {LOOKS_LIKE_AN_IDENTIFIER} is left out: {shown}{more}; pass drop_identifiers=False to "
        f"use {these}{still}",
    )
    return {name: reason for name, reason in dropped.items() if name not in present}


def identifier_reason(
    column: Column,
    kept: npt.NDArray[np.bool_],
    repeats: npt.NDArray[np.int64] | None = None,
    *,
    fewest: int | None = None,
) -> str:
    """Return the reason why a column looks like an identifier; nothing if it does not.

    Columns with fewer than ``fewest`` observed rows never do, by default 50, and neither do floats, dates, durations
    and decimals. Text and other states do if at least 95 % of the observed cells are distinct. Whole numbers must
    also repeat less often than they should: if n of them were drawn from the R numbers of their range (in units of
    their greatest common divisor), some n (n - 1) / 2R pairs would be equal by chance, and more under any
    distribution that is not uniform. With at least 95 % of them distinct, they are an identifier if the probability
    of so few equal pairs is below 10⁻⁴ by the Poisson distribution, or if all are distinct and the name of the column
    contains a word such as "id". An income in full units, or another quantity with a wide range, is not. If equal
    rows were merged, ``repeats`` is the number of rows that each row represents.
    """
    observed = kept & ~column.missing
    n = int(observed.sum() if repeats is None else repeats[observed].sum())
    quantity = column.quantity
    if n < (FEWEST_ROWS if fewest is None else fewest):
        return ""
    if quantity is not None and not (isinstance(quantity, TextQuantity) and quantity.plain):
        return ""
    if column.numbers is None:
        codes, categories = column.coded
        if len(categories) < DISTINCT_SHARE * n:
            return ""
        n_distinct = len(pd.unique(codes[observed]))
        if n_distinct < DISTINCT_SHARE * n:
            return ""
        advice = "" if column.declared or column.categorical else unread_advice(categories)
        return f"{n_distinct:,} different values in {n:,} rows{advice and ': ' + advice}"
    values = column.numbers[observed]
    if values.dtype.kind == "f" and (column.codes is None or (values % 1 != 0).any()):
        return ""
    if float(values.max()) - float(values.min()) + 1 < DISTINCT_SHARE * n:
        return ""
    distinct = np.sort(pd.unique(values))
    n_repeated = n - len(distinct)
    if len(distinct) < DISTINCT_SHARE * n:
        return ""
    steps = np.diff(distinct)
    numbers = float(distinct[-1] - distinct[0]) / float(np.gcd.reduce(steps.astype(np.int64))) + 1
    if n_repeated == 0 and _is_called_id(column.name):
        return f"a different whole number in each of {n:,} rows, and an id by its name"
    if pdtr(n_repeated, n * (n - 1) / (2 * numbers)) < CHANCE_PROBABILITY:
        return f"whole numbers that number the rows, {len(distinct):,} different values in {n:,} rows"
    return ""


def _is_called_id(name: Hashable) -> bool:
    """Whether the first or the last word of a name is "id", as in ``customer_id`` or ``LoanID``."""
    words = [word.lower() for word in _WORD.findall(str(name))]
    return bool(words) and "id" in (words[0], words[-1])


def warn_about_class(
    target: Column,
    weights: npt.NDArray[np.float64],
    declared: Sequence[object] = (),
    repeats: npt.NDArray[np.int64] | None = None,
) -> None:
    """Warn about a class with a single state, unless several are declared, or with very many.

    If equal rows were merged, ``repeats`` is the number of rows that each row represents.

    Raises
    ------
    ValueError
        If, with 50 rows or more, nearly all labels are different, so that no class could be learned.
    """
    kept = (weights > 0) & ~target.missing
    codes, labels = target.coded
    occurring = np.flatnonzero(np.bincount(codes[kept]))
    n, n_classes = int(kept.sum() if repeats is None else repeats[kept].sum()), len(occurring)
    if n_classes == 1 and len(declared) < 2:
        warn(
            f"the class {target.name!r} is {labels[occurring[0]]!r} in every row: with a single class there is "
            "nothing to learn, and that class is predicted for every row",
        )
    elif n >= FEWEST_ROWS and n_classes >= DISTINCT_SHARE * n:
        raise ValueError(
            f"the class {target.name!r} has {n_classes:,} different labels in {n:,} rows, so that almost every row "
            "would be a class of its own: it looks like an identifier or a measurement. Choose another column, or, "
            "if it is a quantity, cut it into a few classes, for instance with pandas.qcut(y, 3)"
        )
    elif n_classes > MANY_CLASSES:
        warn(
            f"the class {target.name!r} has {n_classes:,} different labels in {n:,} rows: if it is a quantity, cut "
            "it into a few classes, for instance with pandas.qcut(y, 3); if most of them are rare, merge these",
        )
