"""The indicators of a logistic regression's terms as columns of a frame, for other programs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.units import human_bytes
from anbexact.models.logit.design import RowOrder
from anbexact.models.logit.identification import MOST_DESIGN, independent_columns
from anbexact.tables.vocabulary import CodeArray

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel


def term_columns(model: LogitModel, codes: CodeArray, chosen: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the indicators of some terms, shape (rows, terms); NaN where the code of a feature is negative.

    Raises
    ------
    MemoryError
        If they would take more than 1 GB.
    """
    needed = 8 * codes.shape[1] * len(chosen)
    if needed > MOST_DESIGN:
        raise MemoryError(
            f"the dense design of {codes.shape[1]:,} rows and {len(chosen):,} terms would take "
            f"{human_bytes(needed)}, more than the {human_bytes(MOST_DESIGN)} set aside for it"
        )
    place = {name: j for j, name in enumerate(model.vocabulary.features)}
    present: dict[tuple[Hashable, Any], npt.NDArray[np.float64]] = {}
    matrix = np.ones((codes.shape[1], len(chosen)), order="F")
    variables, states = model.terms["variables"].to_numpy(), model.terms["states"].to_numpy()
    for column, term in enumerate(chosen.tolist()):
        for name, state in zip(variables[term], states[term], strict=True):
            if (name, state) not in present:
                own = codes[place[name]]
                indicator = (own == model.vocabulary.states[name].index(state)).astype(np.float64)
                present[name, state] = np.where(own < 0, np.nan, indicator)
            matrix[:, column] *= present[name, state]
    return matrix


def kept_terms(model: LogitModel) -> npt.NDArray[np.intp]:
    """Return the positions of the terms that have a column in the design.

    After a refit, these are the terms that its rows identify; without a refit, those that occur in the counts of the
    network; and if the tables of the network were given, all terms.
    """
    if model.refitted is not None:
        return np.flatnonzero(model.identified_terms)
    return np.flatnonzero(model.counted_terms)


def design_frame(model: LogitModel, X: Any, *, redundant: bool) -> pd.DataFrame:
    """Return the design of rows; see :meth:`anbexact.adapters.LogitModel.design`."""
    reader = model.origin.reader
    codes = reader.codes(X)
    chosen = np.arange(len(model.terms)) if redundant else kept_terms(model)
    matrix = term_columns(model, codes, chosen)
    index = reader.labels(X, np.arange(codes.shape[1]))
    return pd.DataFrame(matrix, index, model.terms.index[chosen].rename(None))


@dataclass(frozen=True, eq=False)
class DesignRows:
    """Rows and their classes as a design of full column rank.

    Attributes
    ----------
    matrix : (distinct rows, columns) float64
        The indicators of the terms that these rows identify.
    terms : (columns,) index
        Their names.
    weights : (distinct rows, classes) float64
        Total weight of the rows with these indicators and this class.
    order : RowOrder
        The rows one by one.
    """

    matrix: npt.NDArray[np.float64]
    terms: pd.Index[Any]
    weights: npt.NDArray[np.float64]
    order: RowOrder


def design_rows(model: LogitModel, X: Any, y: Any, sample_weight: Any) -> DesignRows:
    """Return rows and their classes as a design of full column rank.

    Raises
    ------
    ValueError
        If a class has no rows, or there is only one class.
    MemoryError
        If the design would take more than 1 GB.
    """
    reader = model.origin.reader
    rows = reader.coded_rows(X, y, sample_weight)
    classes = model.classes_.tolist()
    if len(classes) == 1:
        raise ValueError(f"there is only one class, {classes[0]!r}, and so there are no coefficients")
    place = {name: j for j, name in enumerate(rows.vocabulary.names)}
    codes = rows.codes[:, [place[name] for name in model.vocabulary.features]]
    class_codes = rows.codes[:, place[rows.vocabulary.class_name]].astype(np.int64)
    distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
    weights = np.zeros((len(distinct), len(classes)))
    np.add.at(weights, (inverse.reshape(-1), class_codes), rows.weights)
    absent = [label for label, weight in zip(classes, weights.sum(axis=0), strict=True) if not weight]
    if absent:
        raise ValueError(f"no row has the class {absent[0]!r}, so that its coefficients cannot be estimated")
    matrix = term_columns(model, np.ascontiguousarray(distinct.T), np.arange(len(model.terms)))
    kept = independent_columns(matrix)
    order = RowOrder.labelled(inverse.reshape(-1), class_codes, rows.weights, reader.labels(X, rows.places))
    return DesignRows(matrix[:, kept], model.terms.index[kept].rename(None), weights, order)
