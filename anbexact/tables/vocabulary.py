"""Vocabularies: the names and states of a table's variables, and the codes of cells."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.cached import cached_property
from anbexact._runtime.units import counted
from anbexact._runtime.warn import warn
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.dummies import Dummies
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.frames.records import ColumnRecord
from anbexact.tables.frames.text_quantities import TextQuantity

MISSING = -1
"""Code of a missing cell."""
UNKNOWN = -2
"""Code of a cell whose value is not a state of the vocabulary."""
LEFT_OUT = "(left out)"
"""The only state of a column that was left out because it looks like an identifier."""
ANY_VALUE = "(any value)"
"""The state of all values of a column that looks like an identifier, but whose missing cells are a state."""
MAX_STATES = 32_767
"""Maximum number of states of a variable (codes are 16-bit)."""

LONGEST_NAME = 60
"""Maximum number of characters in a group's name, unless its first value is longer."""

CodeArray = npt.NDArray[np.int16]
Groups = tuple[tuple[Any, ...], ...]
"""Groups of a column's values, each of which is a state: the values of the first group, of the second, and so on."""


def group_names(groups: Groups) -> tuple[str, ...]:
    """Return readable, distinct names of groups: all values, or the first values and the number of the others.

    Examples
    --------
    >>> group_names((("a", "b"), (3,)))
    ('{a, b}', '{3}')
    """
    names: dict[str, None] = {}
    for values in groups:
        texts: list[str] = []
        length = 0
        for value in values:
            text = str(value)
            length += len(text) + 2
            if texts and length > LONGEST_NAME:
                break
            texts.append(text)
        more = f", … {len(values) - len(texts)} more" if len(texts) < len(values) else ""
        name = plain = "{" + ", ".join(texts) + more + "}"
        number = 1
        while name in names:  # values of different types, such as 1 and "1", look the same, as may shortened names
            number += 1
            name = f"{plain} ({number})"
        names[name] = None
    return tuple(names)


def missing_label(states: Iterable[Any], groups: Groups = ()) -> str:
    """Return a name for the state of missing cells that is neither one of these states nor a value in their groups.

    Examples
    --------
    >>> missing_label(("no", "yes"))
    '(missing)'
    >>> missing_label(("(missing)", "no", "yes"))
    '(missing cell)'
    """
    label = "(missing)"
    taken = {*states, *(value for group in groups for value in group)}
    while label in taken:
        label = f"{label[:-1]} cell)"
    return label


def is_missing(value: Any) -> bool:
    """Whether a value is a missing cell."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def check_number_of_states(name: Hashable, number: int) -> None:
    """Refuse more states than a variable may have."""
    if number > MAX_STATES:
        raise ValueError(
            f"column {name!r} has {number:,} states, more than the {MAX_STATES:,} that a variable may "
            "have: it looks like an identifier or a free text. Drop it, group its values, or, if it is a "
            "measurement, cut it into intervals (the classifiers do so with numeric columns)."
        )


@dataclass(frozen=True)
class Vocabulary:
    """Names and states of the variables of a table.

    Attributes
    ----------
    states : Mapping
        The states of every variable, as native Python objects: features in table order, the class last. Declared
        categories keep their declared order, and observed values are sorted; the states of the class are always
        sorted, as scikit-learn requires for ``classes_``.
    class_name : Hashable, optional
        The class variable.
    quantities : Mapping
        For every variable whose values are dates, durations, decimals or similar, by name: the meaning of its
        numbers.
    groups : Mapping
        For every variable whose states are groups of values: the values of each group, in the order of the states
        (the state of missing cells has no values). A cell with one of the values has the group's state.
    own_missing : frozenset
        The variables that have a state for missing cells, which is their last one. It is called ``"(missing)"``, or
        ``"(missing cell)"`` if another state has this name. Only missing cells are read as this state, and no value.
    records : Mapping
        What is known of the training values of variables whose states are intervals or groups, and of categorical
        columns. Samples are drawn from it; it does not count when vocabularies are compared.
    dummies : Mapping
        For every feature that was one-hot coded in training: the columns that code it, each with the value for which
        it is 1. It does not count when vocabularies are compared, either.
    """

    states: Mapping[Hashable, tuple[Any, ...]]
    class_name: Hashable | None = None
    quantities: Mapping[Hashable, Quantity] = field(default_factory=dict)
    groups: Mapping[Hashable, Groups] = field(default_factory=dict)
    own_missing: Set[Hashable] = frozenset()
    records: Mapping[Hashable, ColumnRecord] = field(default_factory=dict, compare=False, repr=False)
    dummies: Mapping[Hashable, Dummies] = field(default_factory=dict, compare=False, repr=False)
    _places: Mapping[Hashable, Mapping[Any, int]] = field(init=False, repr=False, compare=False)
    _values: Mapping[Hashable, Mapping[Any, int]] = field(init=False, repr=False, compare=False)

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes as an array, shape (classes,): of their own type if they have one, else of objects."""
        assert self.class_name is not None
        states = self.states[self.class_name]
        kinds = {type(state) for state in states}
        if len(kinds) == 1 and kinds <= {bool, int, float, str}:
            plain = np.array(states)
            if plain.dtype.kind in "biufU":
                return plain
        objects = np.empty(len(states), dtype=object)
        objects[:] = states
        return objects

    def __post_init__(self) -> None:
        states = {name: tuple(of_name) for name, of_name in self.states.items()}
        nameless = [name for name in states if name is None or name != name]
        if nameless:
            raise ValueError(f"a column is called {nameless[0]}: give it a name")
        if self.class_name is not None and self.class_name not in states:
            raise ValueError(f"the class {self.class_name!r} is not among the variables")
        places = {}
        for name, of_name in states.items():
            check_number_of_states(name, len(of_name))
            places[name] = {state: code for code, state in enumerate(of_name)}
            if len(places[name]) < len(of_name):
                raise ValueError(f"the states of column {name!r} are not distinct: {of_name!r}")
            if any(map(is_missing, of_name)):
                raise ValueError(f"the states of column {name!r} contain a missing value: {of_name!r}")
        groups = {name: tuple(map(tuple, self.groups[name])) for name in states if name in self.groups}
        object.__setattr__(self, "states", MappingProxyType(states))
        object.__setattr__(self, "groups", MappingProxyType(groups))
        own = {name: quantity for name, quantity in self.quantities.items() if name in states}
        object.__setattr__(self, "quantities", MappingProxyType(own))
        records = {name: record for name, record in self.records.items() if name in states}
        object.__setattr__(self, "records", MappingProxyType(records))
        dummies = {name: group for name, group in self.dummies.items() if name in states}
        object.__setattr__(self, "dummies", MappingProxyType(dummies))
        object.__setattr__(self, "own_missing", frozenset(name for name in states if name in self.own_missing))
        object.__setattr__(self, "_places", places)
        special = {name: self._codes_of_values(name) for name in (*groups, *self.own_missing)}
        object.__setattr__(self, "_values", places | special)

    def __reduce__(self) -> tuple[Any, ...]:
        own = [name for name in self.states if name in self.own_missing]
        mappings = dict(self.records), dict(self.dummies)
        return Vocabulary, (
            dict(self.states),
            self.class_name,
            dict(self.quantities),
            dict(self.groups),
            own,
            *mappings,
        )

    def _codes_of_values(self, name: Hashable) -> dict[Any, int]:
        """Return the codes of the values of a variable; refuse groups that do not match its states."""
        if name not in self.groups:
            return {state: code for code, state in enumerate(self.observed_states(name))}
        groups = self.groups[name]
        values = {value: code for code, group in enumerate(groups) for value in group}
        expected = group_names(groups)
        if self.observed_states(name) != expected or len(values) < sum(map(len, groups)):
            raise ValueError(
                f"the states of column {name!r}, {self.states[name]!r}, are not the names of its groups of distinct "
                f"values, {groups!r}"
            )
        return values

    @property
    def names(self) -> tuple[Hashable, ...]:
        """All variables: features in table order, then the class."""
        return tuple(self.states)

    @cached_property
    def positions(self) -> Mapping[Hashable, int]:
        """The number of every variable: its position among ``names``."""
        return MappingProxyType({name: place for place, name in enumerate(self.names)})

    @property
    def features(self) -> tuple[Hashable, ...]:
        """All variables except the class."""
        return tuple(name for name in self.states if name != self.class_name)

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns of a training table: the features, or the columns that code them."""
        groups = (self.dummies.get(name, ((name, ""),)) for name in self.features)
        return tuple(column for group in groups for column, _ in group)

    @property
    def common_parents(self) -> tuple[Hashable, ...]:
        """The parents of all features in an augmented naive Bayes: the class, if there is one."""
        return () if self.class_name is None else (self.class_name,)

    @property
    def left_out(self) -> tuple[Hashable, ...]:
        """Features that were left out in training and whose cells are ignored."""
        return tuple(name for name in self.features if self.states[name] == (LEFT_OUT,))

    @property
    def used(self) -> tuple[Hashable, ...]:
        """The features that were not left out."""
        return tuple(name for name in self.features if self.states[name] != (LEFT_OUT,))

    def has_any_value(self, name: Hashable) -> bool:
        """Whether every value of a variable is read as the same state, because only whether it is missing counts."""
        return name in self.own_missing and self.observed_states(name) == (ANY_VALUE,)

    def missing_rules(self, handle_missing: str) -> dict[Hashable, str]:
        """Return the rule of every feature; ``"auto"`` is decided by its states."""
        if handle_missing != "auto":
            return dict.fromkeys(self.features, handle_missing)
        return {name: "own_state" if name in self.own_missing else "marginalize" for name in self.features}

    def without(self, names: Iterable[Hashable]) -> Vocabulary:
        """Return the vocabulary without some features."""
        gone = set(names)
        states = {name: states for name, states in self.states.items() if name not in gone}
        return replace(self, states=states)

    def arity(self, name: Hashable) -> int:
        """Return the number of states of a variable."""
        return len(self.states[name])

    def observed_states(self, name: Hashable) -> tuple[Any, ...]:
        """Return the states of a variable without that of its missing cells."""
        return self.states[name][:-1] if name in self.own_missing else self.states[name]

    def missing_code(self, name: Hashable) -> int:
        """Return the code of the state of missing cells; ``MISSING`` if the variable has none."""
        return self.arity(name) - 1 if name in self.own_missing else MISSING

    def code(self, name: Hashable, state: Any) -> int:
        """Return the code of a value, or else of the state with this name; ``UNKNOWN`` if there is neither."""
        code = self._values[name].get(state)
        return self._places[name].get(state, self.code_of_others(name)) if code is None else code

    def code_of_others(self, name: Hashable) -> int:
        """Return the code of values that are not among :meth:`values`: ``UNKNOWN``, unless all have one state."""
        return 0 if self.has_any_value(name) else UNKNOWN

    def values(self, name: Hashable) -> tuple[Any, ...]:
        """Return the values that a column may contain: its states, or the members of its groups."""
        return tuple(self._values[name])

    def encode(
        self,
        column: Column,
        *,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        advice: str = "declare it in categories=, or use handle_unknown='marginalize'",
        rows: npt.NDArray[np.intp] | None = None,
    ) -> CodeArray:
        """Return the codes of a column's cells.

        Parameters
        ----------
        column : Column
            A column named after one of the variables.
        handle_unknown : {"marginalize", "error"}
            A value that is not a known state becomes ``UNKNOWN``, or is refused.
        handle_missing : {"marginalize", "auto", "error", "own_state"}
            The treatment of a missing cell. ``"marginalize"``: it becomes ``MISSING``. ``"auto"``: it becomes the
            state of missing cells if the variable has one, else ``MISSING``. ``"error"``: it is refused.
            ``"own_state"``: it becomes the state of missing cells and is treated as an unknown value if the variable
            has none.
        advice : str
            Text at the end of the message about an unknown value.
        rows : (rows,) integers, optional
            Labels of the rows in messages; by default, their positions.

        Returns
        -------
        codes : (rows,) int16

        Raises
        ------
        ValueError
            For a refused cell; the message names the column, the value and the first row that contains it.
        """
        column = self._with_states(column)
        codes, places = self._codes(column, handle_missing), self._values[column.name]
        if not self.has_any_value(column.name):
            self._warn_of_other_types(column.name, [value for value in column.coded[1] if value not in places])
        if handle_missing == "error":
            filled = "fill it in, or use handle_missing='marginalize'"
            self._refuse(codes == MISSING, column, "is missing", filled, rows)
        if handle_unknown == "error":
            self._refuse(codes == UNKNOWN, column, "is not a state", advice, rows)
            if handle_missing == "own_state":
                what = "is missing, and missing cells are not a state of this column"
                self._refuse(codes == MISSING, column, what, advice, rows)
        return codes

    def code_of_cell(self, column: Column, handle_missing: str) -> int:
        """Return the code of the one cell of a column as :meth:`encode` does, which refuses and warns of nothing."""
        return int(self._codes(self._with_states(column), handle_missing)[0])

    def _codes(self, column: Column, handle_missing: str) -> CodeArray:
        """Return the codes of cells, by default ``UNKNOWN`` for every value that the variable does not have."""
        coded, categories = column.coded
        places, others = self._values[column.name], self.code_of_others(column.name)
        lookup = np.empty(len(categories) + 1, dtype=np.int16)
        lookup[:-1] = [places.get(value, others) for value in categories]
        lookup[-1] = self.missing_code(column.name) if handle_missing in ("auto", "own_state") else MISSING
        return lookup[coded]

    def _with_states(self, column: Column) -> Column:
        """Return a column of quantities in which values that equal states of the variable are replaced by these.

        A date equals midnight of a datetime, a decimal the float next to it, and a moment itself in any time zone.
        """
        codes, values = column.coded
        places, states = self._values[column.name], self.observed_states(column.name)
        quantity = self.quantities.get(column.name)
        if quantity is None and column.quantity is not None and column.quantity.kind == "decimal":
            quantity = column.quantity if all(isinstance(state, int | float) for state in states) else None
        if quantity is None or isinstance(quantity, TextQuantity) or all(value in places for value in values):
            return column
        equal = {quantity.number(state): state for state in states if not isinstance(state, str)}
        try:
            own = [value if value in places else equal.get(quantity.number(value), value) for value in values]
        except ValueError as error:
            raise ValueError(f"column {column.name!r} contained {quantity.noun} in fit, but now {error}") from None
        return Column(column.name, codes, tuple(own))

    def _warn_of_other_types(self, name: Hashable, unknown: Sequence[Any]) -> None:
        """Warn about an unknown value that looks like a state but has another type, such as ``"1"`` for ``1``."""
        if not unknown:
            return
        texts = {str(state): state for state in self._values[name]}
        alike = next((value for value in unknown if str(value) in texts), None)
        if alike is not None:
            state = texts[str(alike)]
            warn(
                f"column {name!r} contains {alike!r} ({type(alike).__name__}), which is not a known state; did you "
                f"mean {state!r} ({type(state).__name__})? Use the same types as in fit."
            )

    def _refuse(
        self,
        bad: npt.NDArray[np.bool_],
        column: Column,
        what: str,
        advice: str,
        rows: npt.NDArray[np.intp] | None,
    ) -> None:
        if not bad.any():
            return
        row = int(bad.argmax())
        codes, categories = column.coded
        value = "the cell" if codes[row] < 0 else f"the value {categories[codes[row]]!r}"
        where = row if rows is None else int(rows[row])
        known = ", ".join(map(repr, self.states[column.name][:8])) + ("…" if self.arity(column.name) > 8 else "")
        raise ValueError(
            f"column {column.name!r}, row {where}: {value} {what} ({counted(int(bad.sum()), 'such row')}; "
            f"states: {known}); {advice}"
        )
