"""Methods that change an object completely or, if they fail, not at all; and estimators with such a `set_params`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Self, TypeVar, cast

from sklearn.base import BaseEstimator

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


class WholeParameters(BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """scikit-learn's base of estimators, whose parameters are all set or, if one is unknown, all kept."""

    @classmethod
    @cache  # for every class; reading the signature anew takes most of the time of a copy
    def _get_param_names(cls) -> list[str]:
        return list(super()._get_param_names())

    @all_or_nothing
    def set_params(self, **params: Any) -> Self:
        """Set constructor parameters; ``estimator__ess=2`` sets ``ess`` of the parameter ``estimator``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter; the parameters of this object then remain as they were.
        """
        super().set_params(**params)
        return self
