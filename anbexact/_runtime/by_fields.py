"""Dataclasses that are pickled and copied without what was derived from them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class ByFields:
    """Base of dataclasses of which a pickle or copy has the fields alone; cached properties are computed again.

    So what a file holds does not depend on which questions were asked before, and has no cycles.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # subclasses
