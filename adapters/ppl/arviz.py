"""Draws of tables and structures for ArviZ."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from anbexact.models.network.posterior import Posterior
from anbexact.models.network.table_draws import Draw, check_draws
from anbexact.models.parameters.tables import Tables
from anbexact.tables.frames.native_values import native

if TYPE_CHECKING:
    from anbexact.classifiers import AveragedClassifier, NetworkClassifier

PACKAGES = ("arviz", "arviz_base")
"""Packages that have ``from_dict``; the second is the part of the first that handles data."""


def to_arviz(
    classifier: NetworkClassifier | AveragedClassifier,
    X: Any = None,
    y: Any = None,
    *,
    draws: int = 500,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    """Return draws from the posterior of a fitted classifier in ArviZ's format (extra ``arviz``).

    The draws are exact and independent, so there is one chain, and convergence needs no diagnosis. For a network, the
    structure is given and its tables are drawn. For an average of networks, each draw also has its own structure and
    equivalent sample size. Tables of different structures have different shapes, so they are used but not stored.

    Parameters
    ----------
    classifier : NetworkClassifier or AveragedClassifier
        Fitted. A network's tables must be posterior means (``parameters="eap"``).
    X, y : features and classes, optional
        Rows, as in ``fit``: with X, the class of every row is predicted; with X and y, the likelihood of every row is
        computed.
    draws : int, default 500
        Number of draws.
    random_state : int or Generator, default 0
        Seed.

    Returns
    -------
    InferenceData or DataTree
        The type depends on the installed version of ArviZ. Its groups are

        - ``posterior``: for a network, ``P(variable)`` for every variable, with the states of the variable and of its
          parents as dimensions; for an average, ``arc`` (1 where the structure has the arc, parents by children, the
          arcs of the class left out) and ``ess``;
        - ``posterior_predictive``, with X: ``class``, the positions of drawn classes in ``classes_``, with rows as
          dimension;
        - ``log_likelihood``, with X and y: ``row``, ln P(class, features) of every row, in nats; missing cells are
          summed out.

    Raises
    ------
    ImportError
        If ArviZ is not installed.
    TypeError, ValueError
        For a classifier without such a posterior; the message says why.
    """
    from_dict = _from_dict()
    check_is_fitted(classifier)
    count = check_draws(0.5, draws).draws
    rng = np.random.default_rng(random_state)
    try:
        drawn = classifier.model_.draw_tables(count, rng)
    except (AttributeError, TypeError):
        raise TypeError(
            f"{type(classifier).__name__} has no posterior of tables: pass a network, or an average of networks"
        ) from None
    found = _Kept(classifier)
    found.read(X, y)
    for draw in drawn:
        found.add(draw, rng)
    return _converted(from_dict, *found.groups())


class _Kept:
    """The parts of draws that are stored."""

    def __init__(self, classifier: NetworkClassifier | AveragedClassifier) -> None:
        self.classifier, self.vocabulary = classifier, classifier.vocabulary_
        self.averaged = classifier.model_.learned is None
        self.codes: npt.NDArray[np.int16] | None = None
        self.classes: npt.NDArray[np.intp] | None = None
        self.posterior: dict[str, list[Any]] = {}
        self.predicted: list[Any] = []
        self.likelihood: list[Any] = []
        self.dims: dict[str, list[str]] = {"class": ["rows"], "row": ["rows"]}
        self.coords: dict[str, list[Any]] = {}

    def read(self, X: Any, y: Any) -> None:
        """Read the rows that are predicted."""
        if X is None:
            if y is not None:
                raise ValueError("y was given without X: pass the features of the rows, too")
            return
        self.codes = self.classifier.reader_.codes(X)
        self.coords["rows"] = list(range(self.codes.shape[1]))
        if y is None:
            return
        place = {native(label): k for k, label in enumerate(self.classifier.classes_.tolist())}
        labels = [native(label) for label in np.asarray(y, dtype=object).tolist()]
        unknown = [label for label in labels if label not in place]
        if unknown:
            raise ValueError(f"y contains the class {unknown[0]!r}, which did not occur in fit")
        if len(labels) != self.codes.shape[1]:
            raise ValueError(f"X has {self.codes.shape[1]} rows, but y has {len(labels)}")
        self.classes = np.array([place[label] for label in labels], dtype=np.intp)

    def add(self, draw: Draw, rng: np.random.Generator) -> None:
        """Keep a draw."""
        if self.averaged:
            self._add_arcs(draw)
        else:
            self._add_tables(draw.tables)
        if self.codes is None:
            return
        class_name = self.vocabulary.class_name
        joint = Posterior(draw.tables, class_name, self.vocabulary.features).log_joint(self.codes)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True)).cumsum(axis=1)
        uniform = rng.random(len(shares)) * shares[:, -1]
        self.predicted.append((shares <= uniform[:, None]).sum(axis=1))
        if self.classes is not None:
            self.likelihood.append(joint[np.arange(len(joint)), self.classes])

    def _add_arcs(self, draw: Draw) -> None:
        names = self.vocabulary.features
        texts = list(map(str, names))
        self.coords |= {"parent": texts, "child": texts}
        self.dims["arc"] = ["parent", "child"]
        place = {name: k for k, name in enumerate(names)}
        arcs = np.zeros((len(names), len(names)), dtype=np.int8)
        for parent, child in draw.structure.feature_edges:
            arcs[place[parent], place[child]] = 1
        self.posterior.setdefault("arc", []).append(arcs)
        self.posterior.setdefault("ess", []).append(draw.ess)

    def _add_tables(self, tables: Tables) -> None:
        for name, table in tables.items():
            key = f"P({name})"
            self.posterior.setdefault(key, []).append(table.values)
            self.dims[key] = [f"state of {variable}" for variable in table.variables]
            for variable in table.variables:
                self.coords[f"state of {variable}"] = [str(state) for state in self.vocabulary.states[variable]]

    def groups(self) -> tuple[dict[str, dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Return the groups, each variable with a chain and draws in front; coordinates; and dimensions."""
        groups: dict[str, dict[str, Any]] = {"posterior": {k: np.array([v]) for k, v in self.posterior.items()}}
        if self.predicted:
            groups["posterior_predictive"] = {"class": np.array([self.predicted])}
        if self.likelihood:
            groups["log_likelihood"] = {"row": np.array([self.likelihood])}
        kept = {name for variables in groups.values() for name in variables}
        return groups, self.coords, {name: dims for name, dims in self.dims.items() if name in kept}


def _from_dict() -> Any:
    """Return ArviZ's ``from_dict``."""
    for package in PACKAGES:
        try:
            return import_module(package).from_dict
        except ImportError:
            continue
    raise ImportError("draws for ArviZ need the package arviz: pip install 'anbexact[arviz]'")


def _converted(from_dict: Any, groups: dict[str, dict[str, Any]], coords: Any, dims: Any) -> Any:
    """Return draws in the format of the installed version of ArviZ: until 0.x, groups are separate parameters."""
    if "posterior" in signature(from_dict).parameters:
        return from_dict(**groups, coords=coords, dims=dims)
    return from_dict(groups, coords=coords, dims=dims)
