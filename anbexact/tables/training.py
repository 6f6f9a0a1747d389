"""Frames as columns to learn from: names recorded, identifiers left out, weights and classes checked."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, validate_data

from anbexact._runtime.arrays import Integers
from anbexact.tables.cuts import Cuts
from anbexact.tables.cuts.continuous import as_states, fit_cut_points, fit_groups
from anbexact.tables.folds import in_groups, read_groups
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.dummies import find_dummies, fold, report_dummies, warn_of_unnamed_dummies
from anbexact.tables.frames.lazy import is_lazy
from anbexact.tables.frames.reading import frame_names, read_columns
from anbexact.tables.identifiers import warn_about_class, without_identifiers
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.labels import check_classes, read_target
from anbexact.tables.missing import EM, missing_cells, refuse_missing_class
from anbexact.tables.table import (
    DiscreteTable,
    Weights,
    check_declared,
    check_weights,
    merged_table,
    rows_from_columns,
    table_from_columns,
)
from anbexact.tables.text_columns import read_texts
from anbexact.tables.vocabulary import Groups
from anbexact.tables.weights import advise_on_weights, apply_class_weight


def record_columns(estimator: BaseEstimator, X: Any, y: Any) -> list[Column]:
    """Read X for training and record its names and width on the estimator, as scikit-learn does.

    Raises
    ------
    ValueError
        If y is missing or has another length. The message does not name the estimator, which may be part of another
        one.
    """
    if y is None:
        raise ValueError("learning requires y to be passed, but the target y is None: y is the class of every row")
    columns = read_columns(X, estimator=estimator)
    names = frame_names(X)
    if names is None or any(type(name) is not str for name in names):
        validate_data(estimator, np.empty((len(columns[0]), len(columns)), dtype=bool), y, skip_check_array=True)
    else:  # set here, because scikit-learn 1.7 cannot read the names of polars 2
        estimator.feature_names_in_, estimator.n_features_in_ = np.array(names, dtype=object), len(names)
    check_consistent_length(columns[0].missing, y)
    return columns


def without_dummies(
    estimator: Any,
    columns: list[Column],
    kept: npt.NDArray[np.bool_],
    class_name: Hashable,
    declared: Collection[Hashable],
) -> list[Column]:
    """Return columns in which one-hot coded columns are folded back into those that they code, with a warning.

    See :func:`~anbexact.tables.frames.dummies.find_dummies`. Without names that ``fit`` recorded, there are none.
    """
    if not hasattr(estimator, "feature_names_in_"):
        warn_of_unnamed_dummies(columns, kept)
        return columns
    dummies = find_dummies(columns, kept, class_name, declared)
    report_dummies(dummies, columns)
    return fold(columns, dummies)


def declared_states(
    estimator: Any, features: Sequence[Hashable], class_name: Hashable, classes: Any = None
) -> Mapping[Hashable, Sequence[Any]]:
    """Return the declared states of the columns, and those of the class that ``classes`` are.

    Raises
    ------
    TypeError, ValueError
        If they are not a mapping, name a column that does not exist, or declare the classes twice.
    """
    check_declared(estimator.categories, [*features, class_name])
    categories: Mapping[Hashable, Sequence[Any]] = estimator.categories or {}
    if classes is None:
        return categories
    if class_name in categories:
        raise ValueError(f"the classes are declared twice, by classes= and for {class_name!r} in categories=")
    return {**categories, class_name: check_classes(classes)}


@dataclass(frozen=True)
class TrainingColumns:
    """The training data, before continuous columns are cut.

    Attributes
    ----------
    columns : list of Column
        The features.
    target : Column
        The class.
    weights : (rows,) float64
        Weights of all rows, class weights included.
    categories : mapping
        Declared states, those of the class included.
    groups : mapping
        The groups of categorical columns that have many values.
    handle_missing : str
        The treatment of missing cells.
    dropped : mapping
        The columns that are left out because they look like identifiers, each with the reason.
    missing_class : {"error", "em"}
        The treatment of rows without a class.
    row_groups : (rows,) int64 array or None
        The group of every row, which folds keep together.
    """

    columns: list[Column]
    target: Column
    weights: Weights
    categories: Mapping[Hashable, Sequence[Any]]
    groups: Mapping[Hashable, Groups]
    handle_missing: str
    dropped: Mapping[Hashable, str]
    missing_class: str = "error"
    row_groups: Integers | None = None

    @property
    def completes(self) -> bool:
        """Whether missing cells, or classes, are to be completed by expectation maximisation."""
        return EM in (self.handle_missing, self.missing_class)

    def incomplete(self, discretizer: Any) -> tuple[DiscreteTable | IncompleteTable, dict[Hashable, Cuts]]:
        """Return the table with its missing cells, if any, and its continuous columns cut; and the cut points.

        Cells that are not to be completed have a state of their own. Cut points are those of :meth:`discretised`; a
        rule that looks at the class sees the rows that have one.
        """
        cut_points = fit_cut_points(self.columns, self.target, self.weights, discretizer, self.categories)
        kept = self.weights > 0
        incomplete = {c.name for c in self.columns if self.handle_missing == EM and (c.missing & kept).any()}
        if self.missing_class == EM and (self.target.missing & kept).any():
            incomplete.add(self.target.name)
        else:
            refuse_missing_class(self.target, self.weights)
        table = table_from_columns(
            as_states(self.columns, self.weights, cut_points, self.groups),
            self.target,
            self.weights,
            categories=self.categories,
            groups=self.groups,
            handle_missing="own_state",
        )
        found = IncompleteTable.with_missing_cells(table, incomplete)
        return (found if found.n_incomplete else found.complete()), cut_points

    def table(self, cut_points: Mapping[Hashable, Cuts], measured: Collection[Hashable] = ()) -> DiscreteTable:
        """Return the table with columns cut as given; in those ``measured``, a missing cell cannot be a state."""
        refuse_missing_class(self.target, self.weights)
        rows = rows_from_columns(
            as_states(self.columns, self.weights, cut_points, self.groups),
            self.target,
            self.weights,
            categories=self.categories,
            groups=self.groups,
            handle_missing=self.handle_missing,
            measured=measured,
        )
        table = merged_table(rows)
        return table if self.row_groups is None else in_groups(table, rows, self.row_groups)

    def discretised(self, discretizer: Any) -> tuple[DiscreteTable, dict[Hashable, Cuts]]:
        """Return the table with its continuous columns cut, and the cut points.

        The cut points are those that the discretizer finds, of every column in all rows in which it is observed.

        Raises
        ------
        TypeError, ValueError
            As :func:`~anbexact.tables.cuts.continuous.fit_cut_points` does.
        """
        cut_points = fit_cut_points(self.columns, self.target, self.weights, discretizer, self.categories)
        return self.table(cut_points), cut_points

    def learned_weights(self, measured: Collection[Hashable]) -> Weights:
        """Return the weights of the rows if the columns ``measured`` are measured: 0 for rows that are left out."""
        cells = missing_cells(
            self.columns, self.target, self.weights, self.categories, self.handle_missing, measured, self.groups
        )
        return self.weights * ~cells.incomplete


def training_columns(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any = None,
    *,
    undropped: Collection[Hashable] = (),
    unfolded: Collection[Hashable] = (),
    row_groups: Any = None,
) -> TrainingColumns:
    """Read the training data as the estimator's parameters say.

    Names and width of X are recorded on the estimator; ``classes`` are declared states of the class. The columns
    ``undropped`` are kept even if they look like identifiers, and ``unfolded`` even if they look one-hot coded.
    ``row_groups`` are labels of rows that folds keep together.
    """
    if is_lazy(X):
        if row_groups is not None:
            raise ValueError(
                "groups needs the rows one by one, but those of a lazy frame are counted: collect it first"
            )
        from anbexact.tables.counted.learning import counted_columns

        return counted_columns(estimator, X, y, sample_weight, classes, undropped)
    columns = record_columns(estimator, X, y)
    weights = check_weights(sample_weight, len(columns[0]))
    advise_on_weights(weights)
    target = read_target(y, columns, weights)
    if getattr(estimator, "fold_dummies", False):
        declared = estimator.categories if isinstance(estimator.categories, Mapping) else {}
        columns = without_dummies(estimator, columns, weights > 0, target.name, {*declared, *unfolded})
    categories = declared_states(estimator, [column.name for column in columns], target.name, classes)
    warn_about_class(target, weights, categories.get(target.name, ()))
    weights = apply_class_weight(
        getattr(estimator, "class_weight", None), target, weights, categories.get(target.name, ())
    )
    columns = read_texts(columns, weights > 0, categories, getattr(estimator, "decimal", None))
    dropped: dict[Hashable, str] = {}
    if getattr(estimator, "drop_identifiers", False):
        own_state = estimator.handle_missing == "own_state"
        columns, dropped = without_identifiers(columns, weights, {*categories, *undropped}, own_state=own_state)
    columns = [column.exactly(weights > 0) for column in columns]
    groups = fit_groups(columns, target, weights, estimator.group_categories, categories)
    missing_class = getattr(estimator, "missing_class", "error")
    together = read_groups(row_groups, len(weights), weights)
    if together is not None and EM in (estimator.handle_missing, missing_class):
        raise ValueError(
            "groups cannot be combined with handle_missing='em' or missing_class='em', whose rows are completed with "
            "several classes or states each: use handle_missing='own_state', or leave groups out"
        )
    return TrainingColumns(
        columns, target, weights, categories, groups, estimator.handle_missing, dropped, missing_class, together
    )
