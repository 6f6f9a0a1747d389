"""The classifiers by name, for the command line, comparisons and saved files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from anbexact._runtime.json_values import register_object

AnyClassifier = TypeVar("AnyClassifier", bound=type[Any])


@dataclass(frozen=True)
class Compared:
    """A line of a comparison.

    Attributes
    ----------
    label : str
        The name of the line.
    place : int
        Its position among the other lines; simple models come first.
    refitted : bool
        Whether there can be a line for its refit.
    parameters : mapping
        Parameters of the classifier other than its defaults.
    """

    label: str
    place: int
    refitted: bool = True
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Registered:
    """A classifier, and what other modules need to know about it.

    Attributes
    ----------
    estimator : type
        The class.
    name : str or None
        Its name for ``--model``; None if the command line does not offer it.
    title : str
        Its name in headlines.
    compared : sequence of Compared
        Its lines in comparisons.
    saved : sequence of str
        Fitted attributes, numbers or arrays of numbers, that a file must contain in addition to the model.
    networks : str
        Which networks it searches, by the names of :func:`~anbexact.structure_posterior`, if not all augmented naive
        Bayes networks: ``"tan"``, ``"fan"`` or ``"gbn"``. A subclass searches the same ones.
    """

    estimator: type[Any]
    name: str | None
    title: str
    compared: Sequence[Compared] = ()
    saved: Sequence[str] = ()
    networks: str = ""


CLASSIFIERS: dict[str, Registered] = {}
"""All registered classifiers, by the names of their classes."""


def register_classifier(
    name: str | None = None,
    title: str = "",
    *,
    compared: Sequence[Compared] = (),
    saved: Sequence[str] = (),
    networks: str = "",
) -> Callable[[AnyClassifier], AnyClassifier]:
    """Return a decorator that makes a classifier known to the command line, to comparisons and to saved files.

    Parameters are the attributes of :class:`Registered`.

    Raises
    ------
    ValueError
        If another classifier has the name, one of the labels, or a class of the same name.
    """

    def register(estimator: AnyClassifier) -> AnyClassifier:
        others = [known for key, known in CLASSIFIERS.items() if key != estimator.__name__]
        known = CLASSIFIERS.get(estimator.__name__)
        if known is not None and known.estimator.__module__ != estimator.__module__:
            raise ValueError(f"another classifier class is called {estimator.__name__!r}: rename this one")
        if name is not None and any(other.name == name for other in others):
            raise ValueError(f"another classifier is called {name!r}: choose another name")
        labels = {line.label for other in others for line in other.compared}
        taken = [line.label for line in compared if line.label in labels]
        if taken:
            raise ValueError(f"another line of comparisons is called {taken[0]!r}: choose another label")
        CLASSIFIERS[estimator.__name__] = Registered(estimator, name, title, tuple(compared), tuple(saved), networks)
        return register_object(estimator)

    return register


def named_classifiers() -> dict[str, Registered]:
    """Return the classifiers that the command line offers, by their names there, simple models first."""
    named = [entry for entry in CLASSIFIERS.values() if entry.name is not None]
    return {str(entry.name): entry for entry in sorted(named, key=_place)}


def compared_lines() -> dict[str, tuple[Registered, Compared]]:
    """Return the lines of comparisons by their labels, in their order."""
    lines = [(entry, line) for entry in CLASSIFIERS.values() for line in entry.compared]
    return {line.label: (entry, line) for entry, line in sorted(lines, key=lambda pair: pair[1].place)}


def networks_of(estimator: type[Any]) -> str:
    """Return which networks a classifier searches; ``"anb"`` if no entry of it or of its bases says so."""
    entries = (CLASSIFIERS.get(base.__name__) for base in estimator.__mro__)
    return next((entry.networks for entry in entries if entry is not None and entry.networks), "anb")


def _place(entry: Registered) -> int:
    """Return where a classifier is listed: where its first line stands in comparisons; last if it has none."""
    return min((line.place for line in entry.compared), default=1000)
