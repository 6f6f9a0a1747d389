"""Dataclasses whose pickles and copies contain nothing but their fields."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class ByFields:
    """Base of dataclasses that are pickled and copied without cached properties, which are computed again.

    The content of a file therefore does not depend on what was computed before it was written, and has no cycles.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # subclasses
