"""Methods that change an object completely or, if they fail, not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """Decorate a method so that an exception restores the attributes that the object had before the call.

    A ``fit`` stores what it learns in several attributes. If it fails between two of them (because of an error, a
    warning that filters turn into an error, or Ctrl-C), a fitted object keeps its earlier fit, and an unfitted one
    remains unfitted. The method may set and delete attributes, but must not change their values in place.
    """

    @wraps(method)
    def whole(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # one assignment, which cannot be interrupted half-way
            raise

    return cast(Method, whole)
