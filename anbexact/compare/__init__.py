"""Classifiers side by side, cross-validated: this package's, their refits, and what people use today.

``anbexact.compare(X, y)`` is short for ``anbexact.compare.compare(X, y)``.

In every fold everything is learned anew from the training rows: cut points, structure, tables, coefficients, scales,
categories. `data` makes the folds, `models` the classifiers, `trials` fits and predicts, `measures` sums up.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from inspect import signature
from types import ModuleType
from typing import Any

import pandas as pd

from anbexact._runtime.progress import Progress
from anbexact.compare.cross_validation import INTERRUPTED, Trials, warm_up
from anbexact.compare.folds import Data, prepare
from anbexact.compare.metrics import COLUMNS, calibration_error, summary
from anbexact.compare.models import MODELS, choose, has_tables, refits
from anbexact.inputs.identifiers import LOOKS_LIKE_AN_IDENTIFIER

__all__ = ["COLUMNS", "MODELS", "InterruptedComparisonError", "calibration_error", "compare"]


class InterruptedComparisonError(KeyboardInterrupt):
    """A comparison was interrupted (Ctrl-C) before all models were measured.

    Attributes
    ----------
    frame : DataFrame
        The lines of the models that were finished, as :func:`compare` returns them.
    unfinished : list of str
        The names of the other models.
    """

    def __init__(self, frame: pd.DataFrame, unfinished: list[str]) -> None:
        super().__init__(f"interrupted; not evaluated: {', '.join(unfinished)}")
        self.frame = frame
        self.unfinished = unfinished


def compare(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    folds: int = 10,
    seed: int = 0,
    models: Iterable[str] | Mapping[str, Any] | None = None,
    refit: bool = True,
    handle_missing: str | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Cross-validate classifiers on one table, the structure relearned in every fold.

    Every model sees the same stratified folds. ``"NB"``, ``"TAN"``, ``"FAN"``, ``"C2G"`` (CkG with k = 2), ``"kDB"``
    (k = 2), ``"AODE"``, ``"ANB"`` are this package's classifiers with their defaults; ``"GBN"``,
    ``"gGBN"``, ``"GBN-CMDL"``, ``"BNC2P"`` and ``"MC-DAG"``, too, where they are named, and so are
    ``"ANB universal"`` and ``"TAN universal"``, which measure continuous columns instead of cutting them.
    ``"CategoricalNB"`` is scikit-learn's, with numeric columns of more than 10 distinct values cut as these cut them
    (MDLP), and missing or unknown cells replaced by the most frequent state. ``"logistic regression"`` is
    scikit-learn's (L2 penalty, C = 1): numeric columns uncut and standardised, missing ones replaced by the median,
    the others one-hot encoded. ``"class frequencies"`` predicts every row by the shares of the classes in the
    training rows: a model that does no better has learned nothing from the features. ``"GaussianNB"``,
    scikit-learn's, and ``"KDE-NB"`` (:class:`~anbexact.compare.kde.KernelNaiveBayes`), where they are named, take
    columns of numbers alone, missing ones replaced by the median. For all of these the states are turned into numbers
    beforehand, outside of the times.
    A first fit of every model, not counted, keeps compilation out of the times.

    This package's networks are *generative*: they fit features and class together. Each that has conditional tables
    has a second line, "NB refitted" below "NB": the :class:`~anbexact.RefittedClassifier` of the same network, whose
    class posterior is refitted to the same training rows by conditional likelihood, with a prior whose strength is
    chosen by cross-validation within these rows (``l2="auto"``). ``models=["NB refitted"]`` names that line alone.
    ``models=["NB smooth"]`` names that of its :class:`~anbexact.AdditiveClassifier`, not compared by default.
    Missing cells, and states unknown in training, are summed out by both.

    Parameters
    ----------
    X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
        The features.
    y : (rows,) series, array or list
        The classes; a declared class without rows is none. Rows without a class are dropped, with a warning.
    sample_weight : (rows,) array, optional
        Real weights, zero or more; rows of weight 0 are left out. The measures are weighted, and the weights of the
        training rows are passed to every classifier that takes them, of a pipeline to its last step; a note names
        those that do not. The folds do not depend on them.
    folds : int, default 10
        At most the number of rows of the rarest class, else fewer are made, with a warning.
    seed : int, default 0
        Of the shuffle that makes the folds.
    models : names or mapping of name to classifier, optional
        Which of these, or scikit-learn classifiers of your own, to which X and y are passed as pandas objects. Those
        that are networks of this package have a refitted line too.
    refit : bool, default True
        Whether there are refitted lines. On large tables refits take longest.
    handle_missing : str, optional
        The parameter of this name of this package's classifiers, where these are named; by default, theirs.
    n_jobs : int, optional
        Threads of this package's classifiers.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole, 0 to 1.

    Returns
    -------
    DataFrame
        One row per line, in the order of ``models``. All n rows of the table are predicted once, each by the fold
        that leaves it out, and the measures, but for the standard error, are over all of them together:

        - ``accuracy``: share of rows whose most probable class is right; ``accuracy_se`` its standard error, the
          standard deviation over folds divided by the root of their number;
        - ``log_loss``: mean of -ln P(true class), nats per row; infinite where a true class had probability 0;
        - ``cll``: conditional log likelihood, Σ ln P(true class) = -n · ``log_loss``; total in nats (with weights,
          Σ w ln P, n being the sum of the weights);
        - ``brier``: mean of Σ_c (P(c) - [c is true])², the multiclass form from 0 to 2 (for two classes twice
          the one-column form);
        - ``calibration_error``: expected calibration error of the predicted class, 0 to 1, over 10 bins of
          probability (:func:`~anbexact.compare.metrics.calibration_error`);
        - ``parameters``: free ones, mean over folds: of a network its probabilities, Σ_v (r_v - 1) q_v with r_v
          states and q_v joint states of the parents (of measured columns, cells at the likeliest levels); of a refit
          the coefficients of the regression (``n_parameters``); of CategoricalNB (s - 1) + s Σ_i (r_i - 1) with s
          classes; of logistic regression (s - 1) (1 + numeric columns + Σ_i (r_i - 1) over the others); of the
          class frequencies s - 1; of GaussianNB (s - 1) + 2 s per feature. NaN for KDE-NB, and for other classifiers
          of your own;
        - ``fit_seconds``, ``predict_seconds``: mean per fold, wall clock; those of a refit with the fit before it.

        ``attrs["folds"]``, ``attrs["rows"]`` and ``attrs["notes"]`` (texts) belong to it, and ``attrs["refits"]``:
        by the name of a model that of its refitted line. A model that is refused for the memory it needs, or since
        missing cells would cost it a class, has NaN and a note; so has a refit that does not fit into memory, or
        whose network has zeros. Refits that do not converge are counted in a note.

    Raises
    ------
    TypeError
        If ``models`` are no names, or are your own although ``handle_missing`` is given, or one of them is no
        classifier with ``predict_proba``.
    ValueError
        For an unknown model, or none, fewer than two folds, fewer than two classes, a class with a single row, a
        model with the name of another's refitted line, or a column that is no numbers for a model that must have
        them.
    InterruptedComparisonError
        A `KeyboardInterrupt` with the lines of the models that were finished, when you interrupt it.

    Examples
    --------
    >>> from anbexact.compare import compare
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> compare(X, y, folds=3, models=["NB", "ANB"])[["accuracy", "log_loss", "parameters"]].round(2)
                  accuracy  log_loss  parameters
    model
    NB                0.75       0.5        23.0
    NB refitted       0.75       0.5        12.0
    ANB               1.00       0.0        67.0
    ANB refitted      1.00       0.0        40.0
    """
    data = prepare(X, y, sample_weight, folds, seed, handle_missing)
    chosen = choose(models, data, n_jobs, handle_missing)
    named = not isinstance(models, Mapping)
    refit_of = {
        name: f"{name} refitted"
        for name, contender in chosen.items()
        if refit and has_tables(contender.estimator) and (name in refits().values() or not named)
    }
    taken = [name for name in refit_of.values() if name in chosen]
    if taken and isinstance(models, Mapping):
        raise ValueError(
            f"two models would be called {taken[0]!r}: give this model another name, or pass refit=False"
        )
    chosen = {name: contender for name, contender in chosen.items() if name not in taken}
    lines = refit_of | {name: refitted for refitted, name in refits().items() if {name, refitted} <= chosen.keys()}
    rows: dict[str, list[float]] = {}
    unfinished = list(chosen)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*are left out of training")
            warnings.filterwarnings("ignore", message=f".*{LOOKS_LIKE_AN_IDENTIFIER}")
            warnings.filterwarnings("error", message=INTERRUPTED)
            for place, (name, contender) in enumerate(chosen.items()):

                def tell(line: str, fold: int, done: float, place: int = place) -> None:
                    if progress is not None:
                        fraction = (place + (fold + done) / len(data.splits)) / len(chosen)
                        progress(f"{line}, fold {fold + 1} of {len(data.splits)}", fraction)

                warm_up(contender, data, name in refit_of)
                trials = Trials(name, contender, data, refit_of.get(name))
                for line, outcomes in trials.run(tell).items():
                    rows[line] = [float("nan")] * len(COLUMNS) if outcomes is None else summary(outcomes)
                unfinished.remove(name)
    except (KeyboardInterrupt, UserWarning) as stop:
        if isinstance(stop, UserWarning) and not str(stop).startswith(INTERRUPTED):
            raise
        raise InterruptedComparisonError(_frame(rows, data, lines), unfinished) from None
    if progress is not None:
        progress("done", 1.0)
    return _frame(rows, data, lines)


def _frame(rows: dict[str, list[float]], data: Data, refits: Mapping[str, str]) -> pd.DataFrame:
    """Return the lines that there are as a frame, with what belongs to it."""
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    frame.index.name = "model"
    own = {name: line for name, line in refits.items() if line in rows}
    frame.attrs.update(folds=len(data.splits), rows=len(data.codes), notes=data.notes, refits=own)
    return frame


class _CallableModule(ModuleType):
    """A module that can be called as the function that it is named after."""

    __signature__ = signature(compare)

    def __call__(self, *args: Any, **kwargs: Any) -> pd.DataFrame:
        return compare(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
