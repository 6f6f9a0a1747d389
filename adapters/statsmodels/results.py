"""statsmodels' results at the maximum of a logistic regression that was fitted here."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.discrete.discrete_model import MNLogit
from statsmodels.tools.sm_exceptions import ConvergenceWarning

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.models.logit.design import Design, RowOrder
from anbexact.models.logit.design_frame import DesignRows, design_rows
from anbexact.models.logit.identification import MOST_DESIGN, design_matrix, independent_columns

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel

SAME = 1e-8
"""Maximum difference between statsmodels' log likelihood and the one computed here.

It is relative to the latter, or in nats if that is below 1.
"""


class _Label(str):
    """The name of a class, without the formatting operator ``%``.

    statsmodels computes ``label % 1`` to find out whether a label is a whole number, and expects a TypeError if it is
    a name. A string that contains a % would be formatted instead, or raise another error.
    """

    def __mod__(self, other: object) -> Any:
        return NotImplemented

    def __str__(self) -> str:
        return self


def mnlogit_result(model: LogitModel) -> Any:
    """Return the results of statsmodels' ``MNLogit`` at the maximum that a refit found.

    The columns are the indicators of the model's terms, without those that occur in no row or are linear
    combinations of earlier ones (``LogitModel.unidentified``), so that the design has full rank. The Newton method of
    statsmodels starts at the maximum and makes no step. Names of terms, classes and the class variable are kept.

    The rows (of ``predict()``, ``resid_response``, ``model.endog``, ``model.exog``, ...) are those of the refit, in
    the same order. Their index is that of X, or the positions of the rows if X is not a pandas frame. A row of weight
    k appears k times in succession; rows of weight 0, and rows left out because of missing cells, do not appear.

    Parameters
    ----------
    model : LogitModel
        Refitted with ``l2=0``, and converged.

    Returns
    -------
    statsmodels ``MultinomialResultsWrapper``
        ``summary()``, ``bse``, ``pvalues``, ``conf_int()``, ``wald_test`` and so on.

    Raises
    ------
    ValueError
        If the results would not be valid: the coefficients come from no refit, or from one that has a prior or did
        not converge, for example because classes are separated; some weights are not whole numbers; a class has no
        rows, or there is only one class; the Hessian is not positive definite; or statsmodels finds another log
        likelihood.
    MemoryError
        If the design or the Hessian, which are dense in statsmodels, would be too large.

    Warns
    -----
    UserWarning
        If the order of the rows is not known, because the model was loaded from a file of an earlier version; the
        rows are then sorted.
    """
    refitted = model.refitted
    if refitted is None:
        if model.given:
            raise ValueError(
                "the coefficients were estimated elsewhere, so that their standard errors and tests are not known "
                "here: use the original results, or fit to_mnlogit(X, y)"
            )
        raise ValueError(
            "the coefficients are those of the network, not a maximum of the likelihood, so that they have no "
            "standard errors or tests: refit with l2=0 first"
        )
    if refitted.l2 > 0:
        raise ValueError(
            f"the coefficients were fitted with a prior (l2 = {refitted.l2:.4g}), so that standard errors and tests "
            "of maximum likelihood are not valid: refit with l2=0, or use firth(X, y), which has intervals and tests "
            "even if classes are separated"
        )
    if not refitted.fit.converged:
        raise ValueError(
            f"the likelihood has no maximum, so statsmodels has no results: {model.convergence_message}. For finite "
            "estimates with intervals and tests, use firth(X, y), Firth's penalised likelihood; for estimates alone, "
            "refit(X, y, l2='auto'), with a prior, or to_mnlogit(X, y).fit_regularized(), a lasso"
        )
    if len(model.classes_) == 1:
        raise ValueError(f"there is only one class, {model.classes_.tolist()[0]!r}, and so there are no coefficients")
    by_class = refitted.design.weights.T
    absent = [label for label, weights in zip(model.classes_.tolist(), by_class, strict=True) if not weights.any()]
    if absent:
        raise ValueError(f"no row has the class {absent[0]!r}, so that its coefficients cannot be estimated")
    order = _row_order(refitted.design)
    design = design_matrix(model)
    kept = independent_columns(design)
    rows = DesignRows(design[:, kept], model.terms.index[kept], refitted.design.weights, order)
    unfitted = _mnlogit(model, rows)
    start = _coefficients_on(model, rows.matrix)
    return _results(unfitted, start, model)


def unfitted_mnlogit(model: LogitModel, X: Any, y: Any, sample_weight: Any) -> MNLogit:
    """Return an unfitted ``MNLogit`` of rows; see :meth:`anbexact.adapters.LogitModel.to_mnlogit`."""
    return _mnlogit(model, design_rows(model, X, y, sample_weight))


def _mnlogit(model: LogitModel, rows: DesignRows) -> MNLogit:
    """Return an unfitted model of rows, each repeated as often as its weight says.

    Raises
    ------
    ValueError
        If a weight is not a whole number.
    MemoryError
        If the design or the Hessian would be too large.
    """
    order = rows.order
    if not np.array_equal(order.weights, np.rint(order.weights)):
        raise ValueError(
            "some weights are not whole numbers: statsmodels' MNLogit ignores weights, and rows can only be repeated "
            "a whole number of times"
        )
    n_rows, n_terms = int(order.weights.sum()), len(rows.terms)
    free = (len(model.classes_) - 1) * n_terms
    needed = 8 * n_rows * n_terms
    if needed > MOST_DESIGN or 2 * needed + 4 * 8 * free**2 > available_memory():
        raise MemoryError(
            f"statsmodels needs dense arrays: the design of {n_rows:,} rows and {n_terms:,} terms would take "
            f"{human_bytes(needed)}, the Hessian of {free:,} coefficients {human_bytes(8 * free**2)}"
        )
    repeated = np.repeat(np.arange(len(order.rows)), order.weights.astype(np.int64))
    index = order.index[repeated]
    exog = pd.DataFrame(rows.matrix[order.rows[repeated]], index, rows.terms)
    labels = model.classes_.tolist()
    shown = list(map(str, labels)) if len({*map(str, labels)}) == len(labels) else list(map(repr, labels))
    categories = pd.Index(list(map(_Label, shown)), dtype=object)
    labelled = pd.Categorical.from_codes(order.classes[repeated], categories)
    endog = pd.Series(labelled, index, name=str(model.structure.class_name))
    return MNLogit(endog, exog)


def _row_order(design: Design) -> RowOrder:
    """Return the order of the rows; if it is not known, warn, and return the distinct rows as they are stored."""
    if design.order is not None:
        return design.order
    warn(
        "the model was loaded from a file of an earlier version, which does not record the order of its training "
        "rows: the rows of this result are sorted. Refit the model to have them in the order of X"
    )
    row, class_codes = np.nonzero(design.weights)
    return RowOrder.labelled(row, class_codes, design.weights[row, class_codes], pd.RangeIndex(len(row)))


def _results(logit: MNLogit, start: npt.NDArray[np.float64], model: LogitModel) -> Any:
    """Return the results of statsmodels at some coefficients, shape (terms, classes - 1).

    Raises
    ------
    ValueError
        If the Hessian is not positive definite there, or the log likelihood is not that of the refit.
    """
    assert model.refitted is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # because it makes no step
            result = logit.fit(start.ravel(order="F"), method="newton", maxiter=0, disp=False, warn_convergence=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"the Hessian at the maximum is singular ({error}): there are no standard errors") from None
    expected = model.refitted.fit.log_likelihood
    if not abs(result.llf - expected) <= SAME * max(1.0, abs(expected)):
        raise ValueError(
            f"statsmodels finds the log likelihood {result.llf:.9g} at these coefficients instead of {expected:.9g}: "
            "its results cannot be relied on"
        )
    if not np.isfinite(np.asarray(result.bse)).all():
        raise ValueError("the Hessian at the maximum is not positive definite: some standard errors do not exist")
    result.mle_retvals["converged"] = True
    return result


def _coefficients_on(model: LogitModel, design: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the coefficients of columns of full rank with which every row has the same log odds as in the model."""
    assert model.refitted is not None
    odds = model.refitted.design.sums(model.potentials)
    odds = odds[:, 1:] - odds[:, :1]
    gram = design.T @ design
    found = np.linalg.solve(gram, design.T @ odds)
    # A second step on the residuals recovers digits that are lost because the Gram matrix is ill-conditioned.
    found += np.linalg.solve(gram, design.T @ (odds - design @ found))
    return np.asarray(found, dtype=np.float64)
