"""Missing cells of a training table: where they are a state of their own, and which rows they exclude."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact._runtime.units import agreeing, counted
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import native
from anbexact.tables.vocabulary import Groups, Vocabulary

HANDLE_MISSING = ("auto", "marginalize", "own_state", "error")
"""The treatments of missing cells that every model supports."""
EM = "em"
"""The treatment of missing cells in networks that are learned by expectation maximisation."""
MISSING_CLASS = ("error", EM)
"""The treatments of rows without a class."""
MOST_LOST = 0.02
"""Share of the weight of all rows, and of any class, that ``handle_missing="auto"`` may leave out of training."""
COMPARED_DECIMALS = 12
"""Decimals to which shares are compared, so that the order in which weights are summed does not matter."""


class LostClassError(ValueError):
    """All rows of a class would be left out of training because of missing cells."""


class MissingClassError(ValueError):
    """Rows have no class.

    Parameters
    ----------
    name : hashable
        The class column.
    n_rows : int
        Number of rows without a class.
    first : int, optional
        The position of the first one, if rows have positions.
    """

    def __init__(self, name: Hashable, n_rows: int, first: int | None = None) -> None:
        rows, these = counted(n_rows, "row"), agreeing(n_rows, "this row", "these rows")
        place = "" if first is None else f" (first: row {first})"
        super().__init__(
            f"Input y contains NaN: the class {name!r} is missing in {rows}{place}. Drop {these}: "
            "a classifier cannot learn from rows without a class."
        )


Categories: TypeAlias = Mapping[Hashable, Sequence[Any]] | None
Mask: TypeAlias = npt.NDArray[np.bool_]


def check_handle_missing(value: object, further: Sequence[str] = ()) -> None:
    """Refuse a ``handle_missing`` that does not exist; ``further`` are values that only some classifiers know."""
    known = (*HANDLE_MISSING, *further)
    if value not in known:
        only = "; 'em' is for networks whose tables follow from counts" if value == EM else ""
        raise ValueError(f"handle_missing must be one of {', '.join(map(repr, known))}, not {value!r}{only}")


def check_missing_class(value: object, handle_missing: object, completes: bool) -> None:
    """Refuse a ``missing_class`` that does not exist, or cannot be combined with ``handle_missing``."""
    known = MISSING_CLASS if completes else MISSING_CLASS[:1]
    if value not in known:
        raise ValueError(f"missing_class must be {' or '.join(map(repr, known))}, not {value!r}")
    if value == EM and handle_missing not in (EM, "own_state"):
        raise ValueError(
            "missing_class='em' needs handle_missing='em' or handle_missing='own_state', not with "
            f"{handle_missing!r}, which may leave out the rows"
        )


@dataclass(frozen=True)
class MissingCells:
    """The treatment of the missing cells of a table.

    Attributes
    ----------
    own_state : frozenset
        Columns in which a missing cell is a state.
    single : mapping
        The state of each column that has only one, which is then the state of its missing cells.
    incomplete : (rows,) bool
        The rows of positive weight that are left out, because of a missing cell in another column.
    warning : str
        The warning about these rows; empty if there are none.
    """

    own_state: frozenset[Hashable]
    single: Mapping[Hashable, Any]
    incomplete: Mask
    warning: str = ""


def missing_cells(
    columns: Sequence[Column],
    target: Column | None,
    weights: npt.NDArray[np.float64],
    categories: Categories,
    handle_missing: str,
    measured: Collection[Hashable] = (),
    groups: Mapping[Hashable, Groups] | None = None,
    repeats: npt.NDArray[np.int64] | None = None,
) -> MissingCells:
    """Decide how the missing cells of training rows are treated.

    ``"own_state"``: they are the state ``"(missing)"``, and no row is left out. ``"marginalize"``: the row of a
    missing cell is left out, unless the column has a single state. ``"auto"``: see :func:`often_missing`; the other
    columns are treated as with ``"marginalize"``. ``"error"``: they are refused.

    Parameters
    ----------
    columns, target, weights
        Features, class, and (rows,) weights; rows of weight 0 are ignored.
    categories : mapping, optional
        Declared states.
    handle_missing : {"auto", "marginalize", "own_state", "error"}
        As above.
    measured : collection
        Columns in which a missing cell cannot be a state, because they are measured and not discrete.
    groups : mapping, optional
        Groups of the values of columns whose states are groups, if any.
    repeats : (rows,) int64, optional
        The number of rows that each row represents, if equal ones were merged; messages count these.

    Raises
    ------
    ValueError
        If a missing cell is refused, every row or every row of a class would be left out, or a column has no
        observed cell at all.
    """
    check_handle_missing(handle_missing)
    kept = weights > 0
    cells = {column.name: column.missing & kept for column in columns if (column.missing & kept).any()}
    single = {}
    for column in columns:
        if column.name in cells and column.name not in measured and handle_missing != "error":
            of_column = (groups or {}).get(column.name)
            states = _states(column, kept, categories) if of_column is None else [values[0] for values in of_column]
            if len(states) == 1:
                single[column.name] = states[0]
    own: frozenset[Hashable] = frozenset()
    if handle_missing == "own_state":
        own = frozenset(cells)
    elif handle_missing == "auto":
        possible = {name: missing for name, missing in cells.items() if name not in measured}
        own = often_missing(possible, single, target, weights, MOST_LOST)
    single = {name: state for name, state in single.items() if name not in own}
    costly = {name: missing for name, missing in cells.items() if name not in own and name not in single}
    if not costly:
        return MissingCells(own, single, np.zeros(len(weights), dtype=bool))
    incomplete = np.any(list(costly.values()), axis=0)
    counts = _MissingCounts(costly, incomplete, kept, repeats)
    _refuse(counts, handle_missing)
    if target is not None and (categories is None or target.name not in categories):
        _refuse_lost_class(counts, target, handle_missing)
    return MissingCells(own, single, incomplete, _warning(counts))


def known_missing_cells(
    columns: Sequence[Column], weights: npt.NDArray[np.float64], vocabulary: Vocabulary, handle_missing: str
) -> MissingCells:
    """Return the treatment of missing cells in further rows, whose states are known; see :func:`missing_cells`."""
    kept = weights > 0
    cells = {column.name: column.missing & kept for column in columns if (column.missing & kept).any()}
    rules = vocabulary.missing_rules(handle_missing)
    own = frozenset(name for name in cells if rules[name] == "own_state")
    single = {
        name: vocabulary.groups[name][0][0] if name in vocabulary.groups else vocabulary.states[name][0]
        for name in cells
        if rules[name] == "marginalize" and vocabulary.arity(name) == 1 and name not in vocabulary.own_missing
    }
    costly = {name: missing for name, missing in cells.items() if name not in own and name not in single}
    if not costly:
        return MissingCells(own, single, np.zeros(len(weights), dtype=bool))
    incomplete = np.any(list(costly.values()), axis=0)
    counts = _MissingCounts(costly, incomplete, kept)
    if handle_missing == "error":
        _refuse(counts, handle_missing, again="fit again with ")
    return MissingCells(own, single, incomplete, _warning(counts, again="fit again with "))


def often_missing(
    cells: Mapping[Hashable, Mask],
    free: Collection[Hashable],
    target: Column | None,
    weights: npt.NDArray[np.float64],
    most_lost: float,
) -> frozenset[Hashable]:
    """Return the columns whose missing cells should be a state, because leaving rows out would lose too many.

    The loss of a set of columns is the weight of the rows with a missing cell in one of them, as a share of all rows
    or of the rows of a class, whichever is larger. Every column with a loss above ``most_lost`` is returned. As long
    as the other columns together have a larger loss than that, the one among them with the most missing cells by
    weight (the first of equal ones) is returned as well.

    Parameters
    ----------
    cells : mapping of column name to (rows,) bool
        The missing cells of every column that has some.
    free : collection
        Columns that exclude no row, because they have a single state.
    target : Column, optional
        The class.
    weights : (rows,) float64
        Zero or more.
    most_lost : float
        Share, 0 to 1.
    """
    if target is None:
        codes, n_classes = np.zeros(len(weights), dtype=np.intp), 1
    else:
        class_codes, categories = target.coded
        codes, n_classes = np.maximum(class_codes, 0).astype(np.intp), len(categories)  # weight 0 if missing
    sizes = np.bincount(codes, weights, n_classes)

    def lost(rows: Mask) -> float:
        shares = np.bincount(codes[rows], weights[rows], n_classes)
        of_each_class = shares[sizes > 0] / sizes[sizes > 0]
        return round(float(max(shares.sum() / sizes.sum(), of_each_class.max())), COMPARED_DECIMALS)

    own = {name for name, missing in cells.items() if lost(missing) > most_lost}
    rest = [name for name in cells if name not in own and name not in free]
    rest.sort(key=lambda name: -round(float(weights[cells[name]].sum() / sizes.sum()), COMPARED_DECIMALS))
    per_row = np.zeros(len(weights), dtype=np.intp)
    for name in rest:
        per_row += cells[name]
    for name in rest:
        if lost(per_row > 0) <= most_lost:
            break
        own.add(name)
        per_row -= cells[name]
    return frozenset(own)


def filled(column: Column, single: Mapping[Hashable, Any]) -> Column:
    """Return the column without missing cells if ``single`` says which state it has, else as it is."""
    if column.name not in single or not column.missing.any():
        return column
    codes, categories = column.coded
    state = single[column.name]
    if state not in categories:
        categories = (*categories, state)
    complete = np.where(codes < 0, categories.index(state), codes)
    return Column(column.name, complete, categories, column.declared, quantity=column.quantity, record=column.record)


def _states(column: Column, kept: Mask, categories: Categories) -> Sequence[Any]:
    """Return the declared or observed states of a column, or two of them if there are more."""
    if categories is not None and column.name in categories:
        return [native(value) for value in categories[column.name]]
    codes, values = column.coded
    if column.declared:
        return values
    observed = codes[kept & (codes >= 0)]
    if not len(observed):
        return []
    return [values[code] for code in {int(observed.min()), int(observed.max())}]


def _advice(again: str = "") -> str:
    return f"or {again or 'use '}handle_missing='own_state' to treat a missing cell as a state of its own"


@dataclass(frozen=True)
class _MissingCounts:
    """Missing cells, and how many there are.

    Attributes
    ----------
    costly : mapping of column name to (rows,) bool
        The missing cells of the columns that exclude rows.
    incomplete, kept : (rows,) bool
        Rows that are left out, and rows of positive weight.
    repeats : (rows,) int64, optional
        Number of rows that each row represents.
    """

    costly: Mapping[Hashable, Mask]
    incomplete: Mask
    kept: Mask
    repeats: npt.NDArray[np.int64] | None = None

    def number(self, rows: Mask) -> int:
        """Return the number of rows that a mask selects."""
        return int(rows.sum()) if self.repeats is None else int(self.repeats[rows].sum())

    @property
    def said(self) -> str:
        """A clause that says how many rows, and of how many, are left out."""
        n_missing = self.number(self.incomplete)
        return (
            f"{n_missing:,} of {counted(self.number(self.kept), 'row')} {agreeing(n_missing, 'has', 'have')} "
            "a missing feature"
        )

    def worst(self, rows: Mask) -> tuple[Hashable, int]:
        """Return the column with the most missing cells in the rows, and their number."""
        counts = {name: self.number(missing & rows) for name, missing in self.costly.items()}
        worst = max(counts, key=counts.__getitem__)
        return worst, counts[worst]


def _refuse(counts: _MissingCounts, handle_missing: str, again: str = "") -> None:
    """Raise an error if missing cells are refused, or if no row without one is left."""
    n_missing, n_rows = counts.number(counts.incomplete), counts.number(counts.kept)
    worst, most = counts.worst(counts.kept)
    where = f"most often {worst!r}, in {counted(most, 'row')}"
    advice = _advice(again)
    if most == n_rows and not again:
        raise ValueError(
            f"column {worst!r} has no observed value (all {n_rows:,} cells are missing): drop it, {advice}"
        )
    if handle_missing == "error":
        raise ValueError(f"{counts.said}, {where}: fill or drop {agreeing(n_missing, 'it', 'them')}, {advice}")
    if n_missing == n_rows:
        raise ValueError(f"every row has a missing feature, {where}: drop such columns, {advice}")


def _refuse_lost_class(counts: _MissingCounts, target: Column, handle_missing: str) -> None:
    """Refuse to leave out all rows of a class."""
    codes, labels = target.coded
    before = np.bincount(codes[counts.kept], minlength=len(labels))
    after = np.bincount(codes[counts.kept & ~counts.incomplete], minlength=len(labels))
    gone = np.flatnonzero((before > 0) & (after == 0))
    if not len(gone):
        return
    rows = counts.kept & (codes == gone[0])
    worst, most = counts.worst(rows)
    others = f" (and {len(gone) - 1} more {agreeing(len(gone) - 1, 'class', 'classes')})" if len(gone) > 1 else ""
    n_rows = counts.number(rows)
    its_rows = agreeing(n_rows, "its only row has", f"all of its {n_rows:,} rows have")
    better = "'own_state'" if handle_missing == "auto" else "'auto' or 'own_state'"
    raise LostClassError(
        f"the class {labels[gone[0]]!r} of {target.name!r}{others} would be lost: {its_rows} a missing "
        f"feature, most often {worst!r}, in {counted(most, 'row')}, and such rows are left out of training. Drop the "
        f"column, fill in its cells, or use handle_missing={better}"
    )


def _warning(counts: _MissingCounts, again: str = "") -> str:
    worst, most = counts.worst(counts.kept)
    return (
        f"{counts.said} (most often {worst!r}, in {counted(most, 'row')}) and "
        f"{agreeing(counts.number(counts.incomplete), 'is', 'are')} left out of training; fill in the missing cells, "
        f"{_advice(again)}"
    )


def refuse_missing_class(target: Column | None, weights: Floats) -> None:
    """Refuse rows of positive weight without a class."""
    if target is not None and (absent := target.missing & (weights > 0)).any():
        raise MissingClassError(target.name, int(absent.sum()), int(absent.argmax()))
