"""One model on all folds: learned, refitted, and applied to the rows that were left out."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from anbexact._runtime.deadline import SHORTEST
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread, worker_count
from anbexact.classifiers import NetworkClassifier, RefittedClassifier
from anbexact.classifiers.pooling.shared_fits import SharedFits, network_key
from anbexact.compare.budget import Budget
from anbexact.compare.folds import Data, Rows
from anbexact.compare.metrics import Outcome
from anbexact.compare.models import Contender, model_parameters, sizes
from anbexact.tables.missing import LostClassError
from anbexact.tables.table import Weights

INTERRUPTED = "interrupted: "
"""The beginning of the warning of a search that Ctrl-C ends early; here, Ctrl-C ends the comparison."""


WARM_SECONDS = 1.0
"""Budget of time of a fit that only compiles."""


def warm_up(contender: Contender, data: Data, refit: bool) -> None:
    """Fit, refit and predict once on few rows (and columns), so that compilation is not timed.

    scikit-learn's classifiers, which take numbers, need none.
    """
    if not isinstance(contender.table, pd.DataFrame):
        return
    few = data.splits[0][1]
    small = _rows(contender.table, few)
    if hasattr(contender.estimator, "to_pgmpy"):
        small = small.iloc[:, :4]
    if "time_budget" in contender.estimator.get_params(deep=False):
        contender = replace(contender, estimator=clone(contender.estimator).set_params(time_budget=WARM_SECONDS))
    with contextlib.suppress(ValueError, MemoryError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=INTERRUPTED)
        model = _fitted(contender, small, data.target.iloc[few], _weights(data, few))
        model.predict_proba(small)
        if refit:
            refitted = RefittedClassifier(FrozenEstimator(model), l2=1.0)
            refitted.fit(small, data.target.iloc[few]).predict_proba(small)


@dataclass(frozen=True)
class _Setting:
    """The common settings of all folds and models; ``progress`` only if they run in this process.

    ``fits`` are those of the folds in this process, ``network_seconds`` what the networks of a fold took.
    """

    chosen: Mapping[str, Contender]
    refit_of: Mapping[str, str]
    data: Data
    progress: Progress | None
    budget: Budget
    fits: dict[int, SharedFits] = field(default_factory=dict)
    network_seconds: dict[tuple[str, int], float] = field(default_factory=dict)

    def fits_of(self, number: int) -> SharedFits:
        """Return the fits to the training rows of a fold, which models that begin with the same network share."""
        if number not in self.fits:
            train = self.data.splits[number][0]
            rows = self.data.frame.iloc[train], self.data.target.iloc[train]
            self.fits[number] = SharedFits(*rows, _weights(self.data, train))
        return self.fits[number]

    def tell(self, line: str, name: str, number: int, done: float) -> None:
        """Report the finished fraction of one fold of one model."""
        n_folds = len(self.data.splits)
        if self.progress is not None:
            fraction = (list(self.chosen).index(name) + (number + done) / n_folds) / len(self.chosen)
            self.progress(f"{line}, fold {number + 1} of {n_folds}", fraction)


@dataclass(frozen=True)
class _Job:
    """One fold of a model, and whether the model is refitted, too."""

    name: str
    number: int
    refit: bool


@dataclass
class _Fold:
    """The predictions of a model, and of its refit, for the rows that one fold leaves out.

    Attributes
    ----------
    name : str
        The model.
    own, refit : Outcome or None
        None if it could not be computed, or was not requested.
    refusal, refit_refusal : str
        Why it could not be computed; empty if it could.
    late : bool
        Whether the reason was the time limit.
    complaint, refit_complaint : str
        Why the fit did not converge as requested, of a model that is itself a refit, and of the refit of the model;
        empty if it did.
    """

    name: str
    own: Outcome | None = None
    refit: Outcome | None = None
    refusal: str = ""
    late: bool = False
    refit_refusal: str = ""
    complaint: str = ""
    refit_complaint: str = ""


def measure(
    chosen: Mapping[str, Contender],
    refit_of: Mapping[str, str],
    data: Data,
    progress: Progress | None = None,
    budget: Budget | None = None,
    *,
    partial: bool = False,
) -> Iterator[tuple[str, dict[str, list[Outcome] | None]]]:
    """Yield, model by model, the predictions for the rows that each fold leaves out.

    The folds run on the workers that :func:`joblib.parallel_config` configures, if it does.

    Parameters
    ----------
    chosen : mapping of name to Contender
        The models.
    refit_of : mapping of name to name
        The names of the refits of some of the models.
    data : Data
        The table and its folds.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole.
    budget : Budget, optional
        A model is left out whose next fold would not end in time.
    partial : bool, default False
        Whether such a model keeps the folds that have ended.

    Yields
    ------
    name : str
        The model.
    lines : dict
        The outcomes of its folds by line: its own line, and that of its refit; None for a line that could not be
        computed. There is no line for a model that was left out for lack of time.
    """
    n_folds = len(data.splits)
    is_local = worker_count() == 1
    found: dict[str, list[_Fold]] = {name: [] for name in chosen}
    refused: set[str] = set()

    def jobs() -> Iterator[_Job]:
        for name in chosen:
            for number in range(n_folds):
                if name not in refused:
                    refit = name in refit_of and not any(fold.refit_refusal for fold in found[name])
                    yield _Job(name, number, refit)

    setting = _Setting(chosen, refit_of, data, progress if is_local else None, budget or Budget())
    results = spread(_run, setting, jobs())
    for name, contender in chosen.items():
        if data.weights is not None and _weights_argument(contender.estimator) is None:
            data.notes.append(f"{name} does not support sample weights and gives all rows the same weight")
        while len(found[name]) < n_folds and name not in refused:
            fold = next(results)
            found[fold.name].append(fold)
            refused |= {fold.name} if fold.refusal else set()
            if partial and fold.late and len(found[name]) > 1:
                found[name].pop()
            if progress is not None and not is_local:
                of_all = sum(map(len, found.values())) / (n_folds * len(chosen))
                progress(f"{fold.name}, fold {len(found[fold.name])} of {n_folds}", of_all)
        yield name, _lines(name, refit_of.get(name), found[name], data.notes)


_warm: set[str] = set()
"""Models that were fitted in this process."""


def _run(setting: _Setting, job: _Job) -> _Fold:
    """Learn from the rows of one fold and predict the others; if requested, refit and predict again."""
    name, data, contender = job.name, setting.data, setting.chosen[job.name]
    train, test = data.splits[job.number]
    if late := setting.budget.refusal(name, _expected(contender, setting)):
        return _Fold(name, refusal=late, late=True)
    if job.number == 0 or name not in _warm:
        warm_up(contender, data, job.refit)
        _warm.add(name)
    setting.tell(name, name, job.number, 0.0)
    fold = _Fold(name)
    began_all = time.perf_counter()
    try:
        model, seconds = _learned(setting, job, train)
        fold.own = _ask(model, _rows(contender.table, test), test, data, *sizes(contender, model), seconds)
        fold.complaint = _complaint(model)
        if job.refit:
            setting.tell(setting.refit_of[name], name, job.number, 0.5)
            _refit(model, seconds, train, test, data, fold)
    except (MemoryError, LostClassError) as error:
        fold.refusal = str(error) or "out of memory"
    setting.budget.took(name, time.perf_counter() - began_all)
    if not fold.refusal and setting.budget.left <= 0 and job.number + 1 < len(data.splits):
        return _Fold(name, refusal=setting.budget.refusal(name), late=True)
    return fold


LARGE = 20_000
"""Rows from which on the time of a classifier that has no time limit of its own is estimated from a part of them."""


def _expected(contender: Contender, setting: _Setting) -> float:
    """Return the seconds that a fold takes at least: those of its held-out rows, times the ratio of the rows."""
    data = setting.data
    if isinstance(contender.table, pd.DataFrame) or len(data.codes) < LARGE or setting.budget.left == inf:
        return 0.0
    name = next(name for name, other in setting.chosen.items() if other is contender)
    if setting.budget.knows(name):
        return 0.0
    train, few = data.splits[0]
    began = time.perf_counter()
    _fitted(contender, _rows(contender.table, few), data.target.iloc[few], _weights(data, few))
    return (time.perf_counter() - began) * len(train) / len(few)


def _learned(setting: _Setting, job: _Job, train: Rows) -> tuple[Any, float]:
    """Return a model learned from the training rows of a fold, and the seconds that it took, with its network's."""
    data, contender = setting.data, setting.chosen[job.name]
    began = time.perf_counter()
    if not contender.shares:
        left = setting.budget.left
        own = contender.estimator.get_params(deep=False)
        limited = contender
        if left < inf:
            shares = {"time_limit": left, "time_budget": left / (len(data.splits) - job.number)}
            within = {
                name: min(max(share, SHORTEST), own[name] or inf) for name, share in shares.items() if name in own
            }
            limited = replace(contender, estimator=clone(contender.estimator).set_params(**within))
        model = _fitted(limited, _rows(contender.table, train), data.target.iloc[train], _weights(data, train))
        return model, time.perf_counter() - began
    fits = setting.fits_of(job.number)
    before = 0.0
    if contender.network is not None:
        key = network_key(contender.network), job.number
        fits.fitted(contender.network)
        setting.network_seconds.setdefault(key, time.perf_counter() - began)
        before, began = setting.network_seconds[key], time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the refit ")  # a note counts such fits
        model = fits.fitted(contender.estimator, max(setting.budget.left, SHORTEST))
    seconds = before + time.perf_counter() - began
    if contender.network is None:
        seconds = setting.network_seconds.setdefault((network_key(contender.estimator), job.number), seconds)
    return model, seconds


def _refit(model: NetworkClassifier, fit_seconds: float, train: Rows, test: Rows, data: Data, fold: _Fold) -> None:
    """Refit a model that was learned from one part of the rows and predict the other, or note the failure."""
    began = time.perf_counter()
    try:
        contender = Contender(RefittedClassifier(FrozenEstimator(model)), data.frame, model_parameters)
        refitted = _fitted(contender, data.frame.iloc[train], data.target.iloc[train], _weights(data, train))
        fold.refit_complaint = _complaint(refitted)
        seconds = fit_seconds + time.perf_counter() - began
        fold.refit = _ask(refitted, data.frame.iloc[test], test, data, *sizes(contender, refitted), seconds)
    except (MemoryError, ValueError) as error:  # a table contains a zero, or a closed network is too large
        fold.refit_refusal = str(error) or "out of memory"


def _complaint(model: Any) -> str:
    """Return why a model that is a refit did not converge as requested; empty if it did, or is not a refit."""
    return str(getattr(getattr(model, "logit_", None), "convergence_message", ""))


def _lines(
    name: str, refit_name: str | None, folds: list[_Fold], notes: list[str]
) -> dict[str, list[Outcome] | None]:
    """Return the outcomes of the folds for every line; None, and a note that says why, if there are none."""
    lines: dict[str, list[Outcome] | None] = {name: None}
    if refit_name is not None:
        lines[refit_name] = None
    refusals = [fold.refusal for fold in folds if fold.refusal]
    if refusals:
        if any(fold.late for fold in folds):
            notes.append(f"{name} is left out: {refusals[0]}")
            return {}
        notes.append(f"{name} could not be learned: {refusals[0]}")
        return lines
    lines[name] = [fold.own for fold in folds if fold.own is not None]
    notes.extend(_complaints(name, [fold.complaint for fold in folds]))
    failures = [fold.refit_refusal for fold in folds if fold.refit_refusal]
    if refit_name is not None and failures:
        notes.append(f"{refit_name} is left out: {failures[0]}")
    elif refit_name is not None:
        lines[refit_name] = [fold.refit for fold in folds if fold.refit is not None]
        notes.extend(_complaints(refit_name, [fold.refit_complaint for fold in folds]))
    return lines


def _complaints(line: str, complaints: list[str]) -> list[str]:
    """Return the number of folds with a complaint, and the first complaint; nothing if there was none."""
    given = [complaint for complaint in complaints if complaint]
    return [f"{line}: in {len(given)} of {len(complaints)} folds {given[0]}"] if given else []


def _weights(data: Data, rows: Rows) -> Weights | None:
    """Return the weights of some rows; None if there are none."""
    return None if data.weights is None else data.weights[rows]


def _weights_argument(estimator: Any) -> str | None:
    """Return the name of the weights of rows in a classifier's ``fit``; None if it does not accept weights."""
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


def _ask(
    model: Any, X: Any, test: Rows, data: Data, parameters: float, rows_to_read: float, fit_seconds: float
) -> Outcome:
    """Return the predictions of a fitted model for the rows of a fold."""
    began = time.perf_counter()
    of_model = model.predict_proba(X)
    seconds = time.perf_counter() - began
    place = {label: k for k, label in enumerate(data.classes)}
    columns = np.array([place[label] for label in model.classes_.tolist()])
    proba = np.zeros((len(test), len(data.classes)))
    proba[:, columns] = of_model
    weights = np.ones(len(test)) if data.weights is None else data.weights[test]
    predicted = columns[of_model.argmax(axis=1)]
    return Outcome(data.codes[test], predicted, proba, parameters, rows_to_read, fit_seconds, seconds, weights)


def _rows(table: Any, rows: Rows) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
