"""One model on all folds: learned, refitted, asked about the rows that were left out."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from anbexact._runtime.progress import Progress
from anbexact.classifiers import NetworkClassifier, RefittedClassifier
from anbexact.compare.folds import Data, Rows
from anbexact.compare.metrics import Outcome
from anbexact.compare.models import Contender, refit_parameters
from anbexact.tables.missing import LostClassError
from anbexact.tables.table import Weights

Tell = Callable[[str, int, float], None]
"""Called with the name of a line, the number of a fold and the finished fraction of that fold."""
INTERRUPTED = "interrupted: "
"""How searches begin their warning when Ctrl-C ends them with the best found so far; here it ends the comparison."""


def warm_up(contender: Contender, data: Data, refit: bool) -> None:
    """Fit, refit and predict once on few rows (and columns), so that compilation is not timed."""
    few = data.splits[0][1]
    small = _rows(contender.table, few)
    if isinstance(contender.estimator, NetworkClassifier | RefittedClassifier):
        small = small.iloc[:, :4]
    with contextlib.suppress(ValueError, MemoryError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=INTERRUPTED)
        model = _fitted(contender, small, data.target.iloc[few], _weights(data, few))
        model.predict_proba(small)
        if refit:
            refitted = RefittedClassifier(FrozenEstimator(model), l2=1.0)
            refitted.fit(small, data.target.iloc[few]).predict_proba(small)


class Trials:
    """One model, and its refit if ``refit_name`` says what that is to be called, on all folds."""

    def __init__(self, name: str, contender: Contender, data: Data, refit_name: str | None) -> None:
        self._name = name
        self._contender = contender
        self._data = data
        self._refits = None if refit_name is None else _Refits(refit_name, data)

    def run(self, tell: Tell) -> dict[str, list[Outcome] | None]:
        """Return for every line what it says of the folds; None if it cannot be had, which is noted."""
        refits, data, complaints = self._refits, self._data, _Complaints(self._name)
        lines: dict[str, list[Outcome] | None] = {self._name: None}
        if refits is not None:
            lines[refits.name] = None
        outcomes = []
        if data.weights is not None and _weights_argument(self._contender.estimator) is None:
            data.notes.append(f"{self._name} does not support sample weights and gives all rows the same weight")
        try:
            for fold, (train, test) in enumerate(data.splits):
                tell(self._name, fold, 0.0)
                model, outcome = self._learn(train, test)
                outcomes.append(outcome)
                complaints.add(model)
                if refits is not None and refits.failure is None:
                    tell(refits.name, fold, 0.5)
                    refits.run(model, outcome.fit_seconds, train, test)
        except (MemoryError, LostClassError) as error:
            data.notes.append(f"{self._name} was refused: {str(error) or 'out of memory'}")
            return lines
        lines[self._name] = outcomes
        data.notes.extend(complaints.notes(len(data.splits)))
        if refits is not None:
            data.notes.extend(refits.notes())
            lines[refits.name] = refits.outcomes if refits.failure is None else None
        return lines

    def _learn(self, train: Rows, test: Rows) -> tuple[Any, Outcome]:
        """Learn from one part of the rows and predict the other."""
        X_train, y_train = _rows(self._contender.table, train), self._data.target.iloc[train]
        began = time.perf_counter()
        model = _fitted(self._contender, X_train, y_train, _weights(self._data, train))
        seconds = time.perf_counter() - began
        X_test = _rows(self._contender.table, test)
        return model, _ask(model, X_test, test, self._data, self._contender.parameters(model), seconds)


def measure(
    chosen: Mapping[str, Contender],
    refit_of: Mapping[str, str],
    data: Data,
    progress: Progress | None = None,
) -> Iterator[tuple[str, dict[str, list[Outcome] | None]]]:
    """Yield, model by model, what each says of the rows that every fold leaves out.

    Parameters
    ----------
    chosen : mapping of name to Contender
        The models.
    refit_of : mapping of name to name
        What the refits of some of them are called.
    data : Data
        The table and its folds.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole.

    Yields
    ------
    name : str
        The model.
    lines : dict
        The outcomes of its folds by line: its own, and that of its refit; None for a line that cannot be had.
    """
    for place, (name, contender) in enumerate(chosen.items()):

        def tell(line: str, fold: int, done: float, place: int = place) -> None:
            if progress is not None:
                fraction = (place + (fold + done) / len(data.splits)) / len(chosen)
                progress(f"{line}, fold {fold + 1} of {len(data.splits)}", fraction)

        warm_up(contender, data, name in refit_of)
        yield name, Trials(name, contender, data, refit_of.get(name)).run(tell)


class _Complaints:
    """What there is to say of the refits of a line that did not converge."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._complaints: list[str] = []

    def add(self, model: Any) -> None:
        """Take down why the fit of a model is not what was asked for, if it is a refit and is not."""
        if isinstance(model, RefittedClassifier) and (complaint := model.logit_.convergence_message):
            self._complaints.append(complaint)

    def notes(self, n_folds: int) -> list[str]:
        """Return how many folds were concerned, and the first reason; nothing if none was."""
        found = self._complaints
        return [f"{self._line}: in {len(found)} of {n_folds} folds {found[0]}"] if found else []


class _Refits:
    """The refits of one model: what they say of the folds, and what is to be said of them."""

    def __init__(self, name: str, data: Data) -> None:
        self.name = name
        self.outcomes: list[Outcome] = []
        self.failure: str | None = None
        self._data = data
        self._complaints = _Complaints(name)

    def run(self, model: NetworkClassifier, fit_seconds: float, train: Rows, test: Rows) -> None:
        """Refit a model that was learned from one part of the rows and predict the other, or note the failure."""
        data = self._data
        began = time.perf_counter()
        try:
            contender = Contender(RefittedClassifier(FrozenEstimator(model)), data.frame, refit_parameters)
            weights = _weights(data, train)
            refitted = _fitted(contender, data.frame.iloc[train], data.target.iloc[train], weights)
            self._complaints.add(refitted)
            seconds = fit_seconds + time.perf_counter() - began
            n_parameters = refit_parameters(refitted)
            self.outcomes.append(_ask(refitted, data.frame.iloc[test], test, data, n_parameters, seconds))
        except (MemoryError, ValueError) as error:  # a table holds a zero, or a closed network is too large
            self.failure = str(error) or "out of memory"

    def notes(self) -> list[str]:
        """Return what is to be known of all refits together."""
        if self.failure is not None:
            return [f"{self.name} is left out: {self.failure}"]
        return self._complaints.notes(len(self._data.splits))


def _weights(data: Data, rows: Rows) -> Weights | None:
    """Return the weights of some rows; None if there are none."""
    return None if data.weights is None else data.weights[rows]


def _weights_argument(estimator: Any) -> str | None:
    """Return what a classifier's ``fit`` calls the weights of rows; None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        of_last = _weights_argument(last)
        return None if of_last is None else f"{name}__{of_last}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _fitted(contender: Contender, X: Any, y: Any, weights: Weights | None) -> Any:
    """Return a fitted copy of a classifier; refuse one without probabilities."""
    argument = None if weights is None else _weights_argument(contender.estimator)
    of_rows = {} if argument is None else {argument: weights}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the refit ")  # a note counts such fits
        model = clone(contender.estimator).fit(X, y, **of_rows)
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"models must be classifiers with predict_proba(), but {contender.estimator!r} has none")
    return model


def _ask(model: Any, X: Any, test: Rows, data: Data, parameters: float, fit_seconds: float) -> Outcome:
    """Return what a fitted model says of the rows of a fold."""
    began = time.perf_counter()
    of_model = model.predict_proba(X)
    seconds = time.perf_counter() - began
    place = {label: k for k, label in enumerate(data.classes)}
    columns = np.array([place[label] for label in model.classes_.tolist()])
    proba = np.zeros((len(test), len(data.classes)))
    proba[:, columns] = of_model
    weights = np.ones(len(test)) if data.weights is None else data.weights[test]
    predicted = columns[of_model.argmax(axis=1)]
    return Outcome(data.codes[test], predicted, proba, parameters, fit_seconds, seconds, weights)


def _rows(table: Any, rows: Rows) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
