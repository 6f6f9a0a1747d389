"""Fitted classifiers as plain numbers, for programs and formats that do not depend on this package."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.arrays import Floats
from anbexact._runtime.units import with_article
from anbexact._runtime.warn import warn
from anbexact.models.family_sum import FamilySum
from anbexact.models.logit.potentials import Potentials
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import MISSING, missing_label

SUMMED_OUT = -1
"""Code of a cell that is summed out."""
REFUSED = -2
"""Code of a cell that the classifier refuses."""


@dataclass(frozen=True)
class CodedColumn:
    """How the cells of a feature become codes of states.

    Attributes
    ----------
    name : Hashable
        The feature.
    arity : int
        Number of states.
    cuts : tuple of float or None
        Increasing cut points: the code of a number is the number of cut points below it. None for a column of states.
    codes : mapping of value to int
        The codes of the values of a column of states; empty where there are cut points.
    missing, unknown : int
        The code of a missing cell, and of a value that is not a state: ``SUMMED_OUT``, ``REFUSED`` or a state.
    ignored : bool
        Whether the column was left out in training, so that its cells are ignored.
    """

    name: Hashable
    arity: int
    cuts: tuple[float, ...] | None
    codes: Mapping[Any, int]
    missing: int
    unknown: int
    ignored: bool

    @property
    def numeric(self) -> bool:
        """Whether all values, if any, are numbers."""
        return all(isinstance(value, int | float) for value in self.codes)

    @property
    def missing_text(self) -> str:
        """The text that marks a missing cell in a column of text: the empty text, unless that is a state."""
        return missing_label(self.codes) if "" in self.codes else ""

    @property
    def numbers(self) -> dict[Any, int]:
        """The codes of the values that are numbers."""
        return {value: code for value, code in self.codes.items() if isinstance(value, int | float)}


@dataclass(frozen=True, eq=False)
class Term:
    """A function of some features and the class, in nats.

    Attributes
    ----------
    child : int
        Position of the feature whose conditional distribution the function comes from; -1 for the class.
    features : tuple of int
        The axes of ``logs`` but the last, as positions of features.
    logs : (*states of the features, classes) array
        For a network, ln P(child | parents); minus infinity where the probability is 0.
    """

    child: int
    features: tuple[int, ...]
    logs: Floats


@dataclass(frozen=True, eq=False)
class ScoringForm:
    """A class posterior as plain numbers: ``P(c | x)`` is proportional to the exponential of a sum of terms.

    Attributes
    ----------
    class_name : Hashable
        The class variable.
    classes : tuple
        Its states, in the order of ``classes_``.
    columns : tuple of CodedColumn
        The features, in the order of ``fit``.
    complete : tuple of Term
        The terms for rows without a cell that is summed out.
    network : tuple of Term or None
        The log conditional tables of all variables, for the other rows. None if there is no such network.
    obstacle : str
        Why there is no such network.
    """

    class_name: Hashable
    classes: tuple[Any, ...]
    columns: tuple[CodedColumn, ...]
    complete: tuple[Term, ...]
    network: tuple[Term, ...] | None
    obstacle: str = ""

    @property
    def parents(self) -> frozenset[int]:
        """The features of exported terms that are parents of some variable; all features if there is no network.

        Any other missing feature is summed out by omitting its term, if it has one.
        """
        if self.network is None:
            return frozenset(range(len(self.columns)))
        used = {j for term in self.exported for j in term.features}
        return frozenset(j for term in self.network for j in term.features if j != term.child and j in used)

    @property
    def exported(self) -> tuple[Term, ...]:
        """The terms that concern the class, for formats that cannot sum over cells.

        If there is a network, they are its terms: leaving out a term sums it out.
        """
        terms = self.complete if self.network is None else self.network
        return tuple(term for term in terms if _concerns_class(term))


def scoring_form(classifier: Any, what: str) -> ScoringForm:
    """Return a fitted classifier as plain numbers.

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier, PooledClassifier or LogitModel
        Fitted.
    what : str
        The name of the exporting function, for messages.

    Raises
    ------
    NotFittedError
        If the classifier is not fitted.
    TypeError
        If it is of another kind, or a name, state or class is neither text nor a number; the message names it.
    ValueError
        If it models columns by densities, a column contains dates, durations or similar values, or two names are the
        same text.
    """
    classifier = _one_sum(classifier)
    found, reader = sum_over_families(classifier, what)
    try:
        terms, obstacle = _tables_as_terms(found.network), ""
    except (ValueError, MemoryError) as error:
        terms, obstacle = None, str(error)
    if terms is not None and found.network is classifier.model_:
        return _form(reader, what, terms, terms)
    complete = _potentials_as_terms(found.potentials, reader.vocabulary.features)
    return _form(reader, what, complete, terms, obstacle)


def card_columns(reader: Reader, features: Sequence[Hashable], what: str) -> tuple[CodedColumn, ...]:
    """Return the columns of a scorecard, in which missing and unknown cells have the code after the last state.

    Raises
    ------
    TypeError, ValueError
        For names, states or columns that cannot be carried, as :func:`scoring_form` does.
    """
    _check_names(reader, (*features, reader.vocabulary.class_name), what)
    found = []
    for name in features:
        column = _column(reader, name, what)
        missing, unknown = (column.arity if code == SUMMED_OUT else code for code in (column.missing, column.unknown))
        found.append(replace(column, arity=column.arity + 1, missing=missing, unknown=unknown))
    return tuple(found)


def sum_over_families(classifier: Any, what: str) -> tuple[FamilySum, Reader]:
    """Return the log odds of a fitted classifier as a sum of functions, and how the classifier reads frames.

    Raises
    ------
    NotFittedError, TypeError, ValueError
        For other classifiers, as :func:`scoring_form` does.
    """
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    if getattr(classifier, "universal_score_", None) is not None:
        raise ValueError(
            f"{what} cannot carry the universal measures of {type(classifier).__name__}, which are densities: "
            "export the classifier that its to_discrete() returns"
        )
    classifier = _one_sum(classifier)
    try:
        return classifier.model_.family_sum(), classifier.reader_
    except (AttributeError, TypeError):
        raise TypeError(
            f"{what} takes a fitted network, a refitted classifier or a LogitModel of anbexact, all of them sums "
            f"over the families of one network, not {named(classifier)}"
        ) from None


def _one_sum(classifier: Any) -> Any:
    """Return the logistic regression of a fitted pool, and any other classifier as it is."""
    return classifier.to_logit() if hasattr(classifier, "members_") else classifier


def named(given: object) -> str:
    """Return the kind of an object with its article; for a pool, also what to pass instead."""
    text = with_article(type(given).__name__)
    if hasattr(given, "to_logit") and not hasattr(given, "discrete_form"):
        text += ": pass its to_logit().to_classifier(), one network with the same posterior"
    return text


def _form(
    reader: Reader, what: str, complete: tuple[Term, ...], network: tuple[Term, ...] | None, obstacle: str = ""
) -> ScoringForm:
    vocabulary = reader.vocabulary
    _check_names(reader, vocabulary.names, what)
    columns = tuple(_column(reader, name, what) for name in vocabulary.features)
    return ScoringForm(
        vocabulary.class_name, vocabulary.states[vocabulary.class_name], columns, complete, network, obstacle
    )


def _check_names(reader: Reader, names: Sequence[Hashable], what: str) -> None:
    """Refuse names and classes that are not text or numbers, and names that are the same text."""
    texts: dict[str, Hashable] = {}
    for name in names:
        _check_plain(name, f"the name {name!r}", what)
        if texts.setdefault(str(name), name) is not name:
            raise ValueError(
                f"{what} writes column names as text, and columns {texts[str(name)]!r} and {name!r} would have the "
                "same name: rename one of them before fit"
            )
    for label in reader.vocabulary.states[reader.vocabulary.class_name]:
        _check_plain(label, f"the class {label!r}", what)


def _column(reader: Reader, name: Hashable, what: str) -> CodedColumn:
    vocabulary = reader.vocabulary
    ignored = name in vocabulary.left_out
    quantity = vocabulary.quantities.get(name)
    if quantity is not None and quantity.kind != "decimal" and not ignored:
        raise ValueError(
            f"{what} cannot carry column {name!r}, which holds {quantity.noun}: learn from its numbers instead"
        )
    if isinstance(quantity, TextQuantity) and not ignored:
        warn(quantity.expected_as_number(name, what))
    rule = reader.missing_rules[name]
    unknown = REFUSED if reader.handle_unknown == "error" else SUMMED_OUT
    if vocabulary.has_any_value(name):
        unknown = vocabulary.code_of_others(name)
    missing = {"marginalize": SUMMED_OUT, "error": REFUSED}.get(rule)
    if missing is None:
        missing = unknown if vocabulary.missing_code(name) == MISSING else vocabulary.missing_code(name)
    cuts = reader.cut_points.get(name)
    codes: dict[Any, int] = {}
    if cuts is None and not ignored:
        codes = {value: vocabulary.code(name, value) for value in vocabulary.values(name)}
        for value in codes:
            _check_plain(value, f"the state {value!r} of column {name!r}", what)
    points = None if cuts is None else tuple(cuts.tolist())
    return CodedColumn(name, vocabulary.arity(name), points, codes, missing, unknown, ignored)


def _check_plain(value: Any, named: str, what: str) -> None:
    if not isinstance(value, str | int | float):
        raise TypeError(
            f"{what} carries only text and numbers, but {named} is a {type(value).__name__}: learn from a table in "
            "which it is text or a number"
        )


def _tables_as_terms(network: TableNetwork) -> tuple[Term, ...]:
    place = {name: j for j, name in enumerate(network.vocabulary.features)}
    return tuple(
        _table_as_term(table, place, network.vocabulary.class_name, network.vocabulary.arity)
        for table in network.tables.values()
    )


def _table_as_term(table: ConditionalTable, place: Mapping[Hashable, int], class_name: Hashable, arity: Any) -> Term:
    values = table.values[..., None]
    if class_name in table.variables:
        values = np.moveaxis(table.values, table.variables.index(class_name), -1)
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    features = tuple(place[name] for name in table.variables if name != class_name)
    shape = (*logs.shape[:-1], arity(class_name))
    return Term(place.get(table.name, -1), features, np.ascontiguousarray(np.broadcast_to(logs, shape)))


def _potentials_as_terms(potentials: Potentials, features: Sequence[Hashable]) -> tuple[Term, ...]:
    place = {name: j for j, name in enumerate(features)}
    return tuple(
        Term(place.get(potential.child, -1), tuple(place[name] for name in potential.features), potential.logs)
        for potential in potentials
    )


def _concerns_class(term: Term) -> bool:
    """Whether the class is among the variables of a term, or a row may be impossible because of it."""
    return term.child == -1 or bool(np.isneginf(term.logs).any() or (np.ptp(term.logs, axis=-1) > 0).any())
