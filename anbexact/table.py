"""Tables of discrete variables: vocabularies (names and states) and weighted rows of codes."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.columns import Column, native, read_column, read_columns, sorted_positions

MISSING = -1
"""Code of a missing cell."""
UNKNOWN = -2
"""Code of a cell that holds no state of the vocabulary."""
MISSING_STATE = "(missing)"
"""The state that stands for a missing cell when ``handle_missing="own_state"``."""
MAX_STATES = 32_767
"""Most states that a variable may have (codes are 16-bit)."""

CodeArray = npt.NDArray[np.int16]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Vocabulary:
    """Names and states of the variables of a table.

    Attributes
    ----------
    states : Mapping
        The states of every variable, as native Python objects: features in table order, the class last.
        Declared categories keep their declared order, observed values are sorted; the states of the
        class are always sorted, as scikit-learn expects of ``classes_``.
    class_name : Hashable, optional
        The class variable.
    """

    states: Mapping[Hashable, tuple[Any, ...]]
    class_name: Hashable | None = None
    _places: Mapping[Hashable, Mapping[Any, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        states = {name: tuple(of_name) for name, of_name in self.states.items()}
        if self.class_name is not None and self.class_name not in states:
            raise ValueError(f"the class {self.class_name!r} is not among the variables")
        places = {}
        for name, of_name in states.items():
            if len(of_name) > MAX_STATES:
                raise ValueError(
                    f"column {name!r} has {len(of_name):,} states, more than the {MAX_STATES:,} that a variable may "
                    "have: it looks like an identifier or a free text. Drop it, group its values, or, if it is a "
                    "measurement, cut it into intervals (the classifiers do so with numeric columns)."
                )
            places[name] = {state: code for code, state in enumerate(of_name)}
            if len(places[name]) < len(of_name):
                raise ValueError(f"the states of column {name!r} are not distinct: {of_name!r}")
            if any(pd.api.types.is_scalar(state) and pd.isna(state) for state in of_name):
                raise ValueError(f"the states of column {name!r} hold a missing value: {of_name!r}")
        object.__setattr__(self, "states", MappingProxyType(states))
        object.__setattr__(self, "_places", places)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (dict(self.states), self.class_name)

    @property
    def names(self) -> tuple[Hashable, ...]:
        """All variables: features in table order, then the class."""
        return tuple(self.states)

    @property
    def features(self) -> tuple[Hashable, ...]:
        """All variables but the class."""
        return tuple(name for name in self.states if name != self.class_name)

    def arity(self, name: Hashable) -> int:
        """Return the number of states of a variable."""
        return len(self.states[name])

    def code(self, name: Hashable, state: Any) -> int:
        """Return the code of a state; ``UNKNOWN`` if the variable does not have it."""
        return self._places[name].get(state, UNKNOWN)

    def encode(
        self,
        column: Column,
        *,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        advice: str = "declare it in categories=, or use handle_unknown='marginalize'",
    ) -> CodeArray:
        """Return the codes of a column's cells.

        Parameters
        ----------
        column : Column
            A column named after one of the variables.
        handle_unknown : {"marginalize", "error"}
            A value that is no state becomes ``UNKNOWN``, or is refused.
        handle_missing : {"marginalize", "error", "own_state"}
            A missing cell becomes ``MISSING``, is refused, or becomes the state ``"(missing)"`` where the
            variable has it.
        advice : str
            Ends the message about an unknown value.

        Returns
        -------
        codes : (rows,) int16

        Raises
        ------
        ValueError
            For a refused cell; the message names the column, the value and the first row that holds it.
        """
        coded, categories = column.coded
        places = self._places[column.name]
        lookup = np.empty(len(categories) + 1, dtype=np.int16)
        lookup[:-1] = [places.get(value, UNKNOWN) for value in categories]
        lookup[-1] = places.get(MISSING_STATE, MISSING) if handle_missing == "own_state" else MISSING
        codes = lookup[coded]
        self._warn_of_other_types(column.name, [value for value in categories if value not in places])
        if handle_missing == "error":
            self._refuse(codes == MISSING, column, "is missing", "fill it in, or use handle_missing='marginalize'")
        if handle_unknown == "error":
            self._refuse(
                codes == UNKNOWN,
                column,
                "is not a state",
                advice,
            )
        return codes

    def _warn_of_other_types(self, name: Hashable, unknown: Sequence[Any]) -> None:
        """Warn of an unknown value that reads like a state but is of another type, such as ``"1"`` for ``1``."""
        if not unknown:
            return
        texts = {str(state): state for state in self.states[name]}
        alike = next((value for value in unknown if str(value) in texts), None)
        if alike is not None:
            state = texts[str(alike)]
            warnings.warn(
                f"column {name!r} holds {alike!r}, a {type(alike).__name__}, which is no state, although {state!r}, "
                f"a {type(state).__name__}, is one: pass the types that the table had in fit",
                UserWarning,
                stacklevel=2,
            )

    def _refuse(self, bad: npt.NDArray[np.bool_], column: Column, what: str, advice: str) -> None:
        if not bad.any():
            return
        row = int(bad.argmax())
        codes, categories = column.coded
        value = "the cell" if codes[row] < 0 else f"the value {categories[codes[row]]!r}"
        known = ", ".join(map(repr, self.states[column.name][:8])) + ("…" if self.arity(column.name) > 8 else "")
        raise ValueError(
            f"column {column.name!r}, row {row}: {value} {what} ({int(bad.sum())} such rows; "
            f"states: {known}); {advice}"
        )


@dataclass(frozen=True, eq=False)
class DiscreteTable:
    """Weighted rows of codes, equal rows collapsed.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states; column j of ``codes`` belongs to ``vocabulary.names[j]``.
    codes : (distinct rows, variables) int16
        State of every variable; rows are distinct and in lexicographic order.
    weights : (distinct rows,) float64
        Positive total weight of each distinct row.
    n_rows : int
        Rows of positive weight that the table was made from (rows with missing cells not counted).
    """

    vocabulary: Vocabulary
    codes: CodeArray
    weights: Weights
    n_rows: int

    @classmethod
    def from_frame(
        cls,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        class_name: Hashable | None = None,
    ) -> DiscreteTable:
        """Read a table whose columns are all discrete.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features (and the class, if ``class_name`` names a column of X and ``y`` is None).
        y : series, array or list, optional
            The class of every row; its name is ``class_name``, else the series' own, else ``"class"``.
        sample_weight : (rows,) array of numbers, optional
            Real weights, zero or more; a row of weight 0 is as good as absent.
        categories : mapping of column name to states, optional
            Declared states. Else those of a categorical dtype, else the observed values.
        class_name : Hashable, optional
            See ``X`` and ``y``.

        Returns
        -------
        DiscreteTable
            Rows with a missing feature are left out, with a warning that counts them.

        Raises
        ------
        TypeError, ValueError
            For input that cannot be a table; the message names the column and the value.
        """
        columns = read_columns(X)
        n_rows = len(columns[0])
        target = None
        if y is not None:
            target = read_column(y, class_name_of(y, [column.name for column in columns], class_name))
        elif class_name is not None:
            named = {column.name: column for column in columns}
            if class_name not in named:
                raise ValueError(f"no column is called {class_name!r}; the columns are {list(named)}")
            target = named[class_name]
            columns = [column for column in columns if column is not target]
        weights = check_weights(sample_weight, n_rows)
        return table_from_columns(columns, target, weights, categories=categories)

    @cached_property
    def weight_sum(self) -> float:
        """Total weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {name: j for j, name in enumerate(self.vocabulary.names)}

    def column(self, name: Hashable) -> CodeArray:
        """Return the codes of one variable, shape (distinct rows,)."""
        return self.codes[:, self._position[name]]

    def shape(self, names: Iterable[Hashable]) -> tuple[int, ...]:
        """Return the numbers of states of the named variables."""
        return tuple(self.vocabulary.arity(name) for name in names)

    def counts(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weighted contingency table of the named variables, one axis each."""
        shape = self.shape(names)
        flat = np.zeros(len(self.codes), dtype=np.int64)
        for name, arity in zip(names, shape, strict=True):
            flat = flat * arity + self.column(name)
        size = int(np.prod(shape, dtype=object))
        counts: Weights = np.bincount(flat, self.weights, minlength=size).astype(np.float64, copy=False)
        return counts.reshape(shape)

    def cell_weights(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weights of the observed joint states of the named variables, in no useful order."""
        return np.bincount(self.groups(names), self.weights).astype(np.float64, copy=False)

    def groups(self, names: Sequence[Hashable]) -> npt.NDArray[np.int64]:
        """Return, for every distinct row, the number of its joint state of the named variables.

        Observed joint states are numbered from 0 in lexicographic order.
        """
        return _row_groups([self.column(name) for name in names], self.shape(names), len(self.codes))[1]


def table_from_columns(
    columns: Sequence[Column],
    target: Column | None,
    weights: Weights,
    *,
    categories: Mapping[Hashable, Sequence[Any]] | None = None,
    handle_missing: str = "marginalize",
) -> DiscreteTable:
    """Make a table from columns that are all discrete (see :meth:`DiscreteTable.from_frame`)."""
    names = [column.name for column in columns]
    if target is not None and target.name in names:
        raise ValueError(f"the class and a feature are both called {target.name!r}: rename one of them")
    _check_declared(categories, [*names, *([target.name] if target is not None else [])])
    kept = weights > 0
    if not kept.all():
        columns = [column.take(kept) for column in columns]
        target = target.take(kept) if target is not None else None
        weights = weights[kept]
    if target is not None and target.missing.any():
        raise ValueError(
            f"Input y contains NaN: the class {target.name!r} is missing in {int(target.missing.sum())} rows "
            f"(first: row {int(target.missing.argmax())}). Drop these rows: a classifier cannot learn from them."
        )
    if handle_missing != "own_state":
        columns, target, weights = _drop_missing(columns, target, weights, refuse=handle_missing == "error")
    states = {column.name: _states(column, categories, handle_missing) for column in columns}
    if target is not None:
        of_class = _states(target, categories, "error")
        states[target.name] = tuple(of_class[i] for i in sorted_positions(of_class))
    vocabulary = Vocabulary(states, None if target is None else target.name)
    all_columns = [*columns, *([target] if target is not None else [])]
    codes = np.empty((len(weights), len(all_columns)), dtype=np.int16)
    for j, column in enumerate(all_columns):
        codes[:, j] = vocabulary.encode(
            column,
            handle_unknown="error",
            handle_missing=handle_missing,
            advice="declare it in categories= too, or leave out such rows",
        )
    distinct, inverse = _row_groups(codes.T, [len(states[name]) for name in vocabulary.names], len(codes))
    totals: Weights = np.bincount(inverse, weights, len(distinct)).astype(np.float64, copy=False)
    return DiscreteTable(vocabulary, np.asfortranarray(codes[distinct]), totals, len(weights))


def class_name_of(y: Any, features: Sequence[Hashable], class_name: Hashable | None = None) -> Hashable:
    """Return the name of the class: the given one, else that of ``y``, else ``"class"``."""
    name: Hashable = class_name if class_name is not None else getattr(y, "name", None)
    if name is None or (isinstance(name, str) and not name):
        name = "class"
        while name in features:
            name += "_"
    return name


def check_weights(sample_weight: Any, n_rows: int) -> Weights:
    """Return the weights as a float array; all 1 when None.

    Raises
    ------
    ValueError
        For another shape, a negative, infinite or NaN weight (the first one is named), or a zero sum.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights: Weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_rows},): one weight per row")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"sample_weight[{row}] is {weights[row]}: every weight must be a finite number, zero or more "
            f"({int(bad.sum())} of {n_rows} are not)"
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("the sum of sample_weight is not a finite number: scale the weights down")
    if not weights.any():
        raise ValueError("every sample_weight is zero: there is no row to learn from")
    return weights


def _check_declared(categories: Mapping[Hashable, Sequence[Any]] | None, names: Sequence[Hashable]) -> None:
    if categories is None:
        return
    if not isinstance(categories, Mapping):
        raise TypeError(f"categories must map column names to lists of states, not be a {type(categories).__name__}")
    strangers = [name for name in categories if name not in names]
    if strangers:
        raise ValueError(f"categories names {strangers[0]!r}, but the columns are {list(names)}")


def _drop_missing(
    columns: Sequence[Column], target: Column | None, weights: Weights, *, refuse: bool
) -> tuple[Sequence[Column], Column | None, Weights]:
    """Leave out the rows with a missing feature, and say how many."""
    missing = np.zeros(len(weights), dtype=bool)
    for column in columns:
        missing |= column.missing
    n_missing = int(missing.sum())
    if n_missing == 0:
        return columns, target, weights
    per_column = {column.name: int(column.missing.sum()) for column in columns if column.missing.any()}
    worst = max(per_column, key=per_column.__getitem__)
    advice = "or use handle_missing='own_state' to treat a missing cell as a state of its own"
    if per_column[worst] == len(weights):
        raise ValueError(
            f"column {worst!r} has no observed value (all {len(weights)} cells are missing): drop it, {advice}"
        )
    where = f"most in column {worst!r} ({per_column[worst]})"
    if refuse:
        raise ValueError(
            f"{n_missing} of {len(weights)} rows have a missing feature, {where}: fill or drop them, {advice}"
        )
    if n_missing == len(weights):
        raise ValueError(f"every row has a missing feature, {where}: drop such columns, {advice}")
    warnings.warn(
        f"{n_missing} of {len(weights)} rows have a missing feature ({where}) and are left out of training; "
        f"fill them in, {advice}",
        UserWarning,
        stacklevel=3,
    )
    kept = ~missing
    return (
        [column.take(kept) for column in columns],
        None if target is None else target.take(kept),
        weights[kept],
    )


def _states(
    column: Column, categories: Mapping[Hashable, Sequence[Any]] | None, handle_missing: str
) -> tuple[Any, ...]:
    """Return the states of a column: declared ones, else the observed values."""
    codes, values = column.coded
    if categories is not None and column.name in categories:
        states = tuple(native(value) for value in categories[column.name])
    elif column.declared:
        states = values
    else:
        observed = np.zeros(len(values) + 1, dtype=bool)
        observed[codes] = True
        seen = tuple(value for value, is_seen in zip(values, observed[:-1], strict=True) if is_seen)
        states = tuple(seen[i] for i in sorted_positions(seen))
    if handle_missing == "own_state" and column.missing.any():
        if MISSING_STATE in states:
            raise ValueError(f"column {column.name!r} already has a state {MISSING_STATE!r}: rename it")
        states = (*states, MISSING_STATE)
    return states


def _row_groups(
    columns: Iterable[CodeArray], arities: Iterable[int], n_rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first row of each group of equal rows (groups in lexicographic order) and each row's group."""
    key = np.zeros(n_rows, dtype=np.int64)
    span = 1
    for codes, arity in zip(columns, arities, strict=True):
        if span > 2**62 // max(arity, 1):
            key = np.unique(key, return_inverse=True)[1]
            span = n_rows
        key = key * arity + codes
        span *= arity
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
