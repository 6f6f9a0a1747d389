"""Columns of any eager frame, array or list, in one form.

A :class:`Column` is either *coded* (integer codes into a tuple of categories, as in a pandas
``Categorical``) or *numeric* (a numpy array of numbers), or both: dates, durations, decimals and the like
have numbers, a quantity that says what these stand for, and their own values as categories. Which columns
are continuous, and which states they have, is decided by the vocabulary and the discretizers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.cached import cached_property
from anbexact.tables.frames.native_values import python_value
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.frames.records import ColumnRecord

Codes = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.number[Any]]


@dataclass(frozen=True)
class Cells:
    """Cells of a pandas array of datetimes, durations or periods, which become objects only on demand.

    Attributes
    ----------
    array : pandas array
        The cells.
    kind : {"pandas", "python", "date"}
        The type of the objects: pandas' own, those of Python's ``datetime`` module, or its dates.
    """

    array: Any
    kind: str = "pandas"

    def take(self, rows: npt.NDArray[Any]) -> Cells:
        """Return the cells of some rows (a mask or positions)."""
        return Cells(self.array[rows], self.kind)

    def factorize(self) -> tuple[Codes, tuple[Any, ...]]:
        """Return codes and categories."""
        codes, uniques = pd.factorize(self.array, use_na_sentinel=True)
        if self.kind == "date":
            return codes, tuple(value.date() for value in uniques)
        return codes, tuple(map(python_value, uniques)) if self.kind == "python" else tuple(uniques)


@dataclass(frozen=True)
class Column:
    """One column: its name and either ``codes`` with ``categories``, or ``numbers``, or both.

    Attributes
    ----------
    name : Hashable
        The column's name, of any kind.
    codes : (rows,) integers, optional
        Position of every cell in ``categories``; negative where the cell is missing.
    categories : tuple, optional
        The values that the codes stand for, as native Python objects.
    declared : bool
        Whether the categories come from the dtype (in its order, unseen ones included).
    numbers : (rows,) numeric array, optional
        The cells of a numeric column; NaN where missing.
    quantity : Quantity, optional
        The meaning of the numbers; None if they are the cells themselves.
    cells : Cells, optional
        The cells from which codes and categories are made on demand.
    ordered : bool
        Whether its categories have an order, because of the dtype, or because they are text that means numbers.
    categorical : bool
        Whether the dtype is categorical, so that the cells are not read as numbers, dates or times.
    record : ColumnRecord, optional
        The values of a column in training, if its states are intervals or groups of values.
    dummies : tuple of pairs
        The columns that were folded into this one; see :mod:`~anbexact.tables.frames.dummies`.
    """

    name: Hashable
    codes: Codes | None = None
    categories: tuple[Any, ...] | None = None
    declared: bool = False
    numbers: Numbers | None = None
    quantity: Quantity | None = None
    cells: Cells | None = None
    ordered: bool = False
    categorical: bool = False
    record: ColumnRecord | None = None
    dummies: tuple[tuple[Hashable, str], ...] = ()

    def __len__(self) -> int:
        values = self.codes if self.codes is not None else self.numbers
        assert values is not None
        return len(values)

    @cached_property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Mask of the missing cells, shape (rows,)."""
        if self.codes is not None:
            return np.asarray(self.codes < 0)
        assert self.numbers is not None
        if self.numbers.dtype.kind == "f":
            return np.isnan(self.numbers)
        return np.zeros(len(self.numbers), dtype=bool)

    @cached_property
    def coded(self) -> tuple[Codes, tuple[Any, ...]]:
        """Codes and categories; for a numeric column, those of its observed values."""
        if self.codes is not None and self.categories is not None:
            return self.codes, self.categories
        if self.cells is not None:
            return self.cells.factorize()
        assert self.numbers is not None
        codes, uniques = pd.factorize(self.numbers, use_na_sentinel=True)
        return codes, tuple(np.asarray(uniques).tolist())

    @property
    def dtype_record(self) -> ColumnRecord | None:
        """The record of a column's values, or else of its categorical dtype; None for other columns."""
        own = self.categorical_dtype
        return ColumnRecord(dtype=own) if self.record is None and own else self.record

    @property
    def categorical_dtype(self) -> str:
        """The name of a categorical dtype in a :class:`ColumnRecord`; empty for other dtypes."""
        if not (self.declared or self.categorical):
            return ""
        return "ordered" if self.ordered else "category"

    def values(self) -> list[Any]:
        """Return the cells as native Python objects, None where missing."""
        if self.codes is not None or self.cells is not None:
            codes, categories = self.coded
            return [categories[code] if code >= 0 else None for code in codes.tolist()]
        assert self.numbers is not None
        return [
            None if gone else cell for cell, gone in zip(self.numbers.tolist(), self.missing.tolist(), strict=True)
        ]

    def renamed(self, name: Hashable) -> Column:
        """Return the same column under another name."""
        return self if name == self.name else replace(self, name=name)

    def constant(self, name: Hashable, state: Any) -> Column:
        """Return a column of this length in which every cell has the same state."""
        return Column(name, np.zeros(len(self), dtype=np.int8), (state,), declared=True)

    def presence(self, state: Any) -> Column:
        """Return a column of the same missing cells in which every other cell has the same state."""
        return Column(self.name, np.where(self.missing, -1, 0).astype(np.int8), (state,), declared=True)

    def take(self, rows: npt.NDArray[Any]) -> Column:
        """Return the column restricted to ``rows`` (a mask or positions)."""
        return replace(
            self,
            codes=None if self.codes is None else self.codes[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
            cells=None if self.cells is None else self.cells.take(rows),
        )

    def exactly(self, kept: npt.NDArray[np.bool_]) -> Column:
        """Return the column with the unit, origin or decimal places that suit the rows that are kept.

        Only a column with a quantity is changed.
        """
        if self.quantity is None or self.numbers is None or kept.all():
            return self
        kept = kept & ~self.missing
        if self.quantity.kind == "decimal":
            codes, categories = self.coded
            places = self.quantity.places_of([categories[code] for code in np.unique(codes[kept])])
            return replace(self, quantity=replace(self.quantity, places=places))
        numbers = np.asarray(self.numbers, dtype=np.float64)
        quantity = self.quantity.exactly(numbers[kept])
        return replace(self, numbers=quantity.convert(numbers, self.quantity), quantity=quantity)
