"""Results with one entry for every row, which are indexed and iterated over by rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np

from anbexact.tables.reader import Rows


class ByRow:
    """A dataclass of the rows, and of arrays whose first axis is that of the rows.

    An index or a slice chooses rows by position. The result is one of the same kind, so that it can be printed and
    tabulated as the whole can.
    """

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows.index)

    def __getitem__(self, place: int | slice) -> Self:
        chosen = range(len(self))[place]
        places = list(chosen) if isinstance(chosen, range) else [chosen]
        parts: dict[str, Any] = {"rows": self.rows.at(places)}
        for field in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                parts[field.name] = value[places]
        found: Self = replace(self, **parts)  # type: ignore[type-var]  # as above
        return found

    def __iter__(self) -> Iterator[Self]:
        return (self[place] for place in range(len(self)))
