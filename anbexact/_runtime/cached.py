"""Properties that are computed once for an object."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801  # as in functools
        """`functools.cached_property` as from Python 3.12 on, without a lock.

        Python 3.11 has one lock for all objects of a class. Threads with different objects would wait for each
        other, and a process that is forked meanwhile would wait for ever.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            cache = instance.__dict__
            if self.attrname not in cache:
                cache[self.attrname] = self.func(instance)
            return cache[self.attrname]


__all__ = ["cached_property"]
