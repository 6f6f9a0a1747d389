"""The logistic regression of a fitted network, refitted to the rows from which the network was learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact._runtime.warn import warn
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.frequencies import compare_refit
from anbexact.tables.labels import read_labels
from anbexact.tables.missing import EM
from anbexact.tables.table import check_weights

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel


def refitted_model(
    network: NetworkClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    l2: float | str,
    **how: Any,
) -> LogitModel:
    """Return the logistic regression of a network that was fitted to these rows, refitted to them.

    ``how`` are parameters of :meth:`anbexact.adapters.LogitModel.refit`. Warnings about the rows were given when the
    network was fitted and are not repeated.

    Raises
    ------
    ValueError
        If a table of the network contains a zero, or if ``l2="auto"`` cannot learn its tables again from a subset of
        the rows.

    Warns
    -----
    UserWarning
        If the refit does not converge, with the reason.
    """
    if l2 == "auto" and network.discrete_form().counts_ is None:
        raise ValueError(
            f"l2='auto' is chosen by cross-validation, which estimates the tables again from part of the rows, but "
            f"those of {type(network).__name__} are not estimated from counts"
            + (" alone: use continuous='discretize', or" if network.counts_ is not None else ":")
            + " set l2 to a number, such as 10"
        )
    sample_weight = _of_labelled(network, y, sample_weight)
    model = _refit(network.to_logit(), X, y, sample_weight, l2=l2, **how)
    compare_refit(model.refitted)
    return model


def smoothed_model(
    network: NetworkClassifier, X: Any, y: Any, sample_weight: Any, *, intervals: int, **how: Any
) -> LogitModel:
    """Return the logistic regression of a network on fine intervals, refitted to these rows with smooth shapes.

    ``how`` are parameters of :meth:`anbexact.adapters.LogitModel.refit`. It gives the same warnings as
    :func:`refitted_model`.

    Raises
    ------
    ValueError
        If a table of the network contains a zero.
    """
    sample_weight = _of_labelled(network, y, sample_weight)
    return _refit(network.to_logit(X, sample_weight, intervals=intervals), X, y, sample_weight, **how)


def _of_labelled(network: NetworkClassifier, y: Any, sample_weight: Any) -> Any:
    """Return the weights for a refit: rows without a class that expectation maximisation completed get weight 0.

    Warn if rows with missing cells, from which the network was learned, are left out of the refit.
    """
    if getattr(network, "em_", None) is None:
        return sample_weight
    if network.handle_missing == EM:
        warn(
            "the network was learned from rows with missing cells, too; the refit by conditional likelihood uses the "
            "complete rows alone"
        )
    missing = read_labels(y).missing
    return np.where(missing, 0.0, check_weights(sample_weight, len(missing))) if missing.any() else sample_weight


def _refit(model: LogitModel, X: Any, y: Any, sample_weight: Any, **how: Any) -> LogitModel:
    """Return the refitted model; warnings about the rows, which ``fit`` of the network gave, are not repeated.

    Rows with missing cells that were completed to learn the network are left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = model.refit(X, y, sample_weight, **how)
    if complaint := model.convergence_message:
        warn(complaint)
    return model
