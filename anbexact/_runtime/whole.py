"""Methods that change an object wholly or, if they fail, not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """Return a method that, whatever it raises, leaves its object with the attributes that it had before the call.

    A ``fit`` stores what it learns in several attributes. If it fails between two of them (by an error, a warning
    that filters turn into an error, or an interrupt from the keyboard), what was fitted before stays as it was, and
    what was not fitted is not fitted afterwards. This holds for attributes that the method sets or deletes; it must
    not change their values in place.
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
