"""A fitted network's logistic regression, refitted to the rows that the network was learned from."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from anbexact._runtime.warn import warn
from anbexact.classifiers.base import NetworkClassifier

if TYPE_CHECKING:
    from anbexact.logit.model import LogitModel


def refitted_model(
    network: NetworkClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    l2: float | str,
    max_iter: int = 500,
    time_limit: float | None = None,
) -> LogitModel:
    """Return the logistic regression of a network that was fitted to these rows, refitted to them.

    What there was to warn of about the rows was said when the network was fitted, and is not said again.

    Raises
    ------
    ValueError
        If a table of the network holds a zero, or ``l2="auto"`` cannot learn its tables again from a part of the
        rows.

    Warns
    -----
    UserWarning
        If the refit does not converge, with the reason.
    """
    from anbexact.adapters.logit import to_logit

    if l2 == "auto" and network.discrete_form().counts_ is None:
        raise ValueError(
            f"l2='auto' is chosen by cross-validation, which estimates the tables again from part of the rows, but "
            f"those of {type(network).__name__} are not estimated from counts"
            + (" alone: use continuous='discretize', or" if network.counts_ is not None else ":")
            + " set l2 to a number, such as 10"
        )
    return _refit(to_logit(network), X, y, sample_weight, l2=l2, max_iter=max_iter, time_limit=time_limit)


def smoothed_model(
    network: NetworkClassifier, X: Any, y: Any, sample_weight: Any, *, intervals: int, **how: Any
) -> LogitModel:
    """Return the logistic regression of a network on fine intervals, refitted to these rows with smooth shapes.

    ``how`` are parameters of :meth:`anbexact.adapters.LogitModel.refit`. Warnings are those of
    :func:`refitted_model`.

    Raises
    ------
    ValueError
        If a table of the network holds a zero.
    """
    from anbexact.adapters.logit import to_logit

    return _refit(to_logit(network, X, sample_weight, intervals=intervals), X, y, sample_weight, **how)


def _refit(model: LogitModel, X: Any, y: Any, sample_weight: Any, **how: Any) -> LogitModel:
    """Return a model refitted to rows of which all there was to warn of was said before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = model.refit(X, y, sample_weight, **how)
    if complaint := model.convergence_message:
        warn(complaint)
    return model
