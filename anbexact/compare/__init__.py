"""Comparison of classifiers by cross-validation, and distances between networks.

The classifiers are this package's, their refits, and those of scikit-learn.

``anbexact.compare(X, y)`` is short for ``anbexact.compare.compare(X, y)``.

In every fold, everything is learned again from the training rows: cut points, structure, tables, coefficients, scales
and categories. `folds` prepares rows and folds, `models` chooses the classifiers, `cross_validation` fits them and
predicts, `metrics` computes the measures.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from anbexact._runtime.progress import Progress
from anbexact.classifiers.choosing.frequencies import PredictedWorseWarning
from anbexact.compare.budget import Budget
from anbexact.compare.cross_validation import INTERRUPTED, measure
from anbexact.compare.folds import Data, prepare
from anbexact.compare.groups import group_metrics
from anbexact.compare.losses import Losses
from anbexact.compare.metrics import (
    COLUMNS,
    ORDERED_COLUMNS,
    calibration_error,
    ordered_summary,
    ranked_probability_score,
    summary,
)
from anbexact.compare.models import MODELS, choose, has_tables, refits
from anbexact.compare.networks import kl_divergence, structural_hamming_distance
from anbexact.compare.recommendation import Comparison, Recommendation
from anbexact.tables.identifiers import LOOKS_LIKE_AN_IDENTIFIER
from anbexact.tables.labels import asked_order, declared_order
from anbexact.tables.weights import WEIGHTS_OF_A_SURVEY

__all__ = [
    "COLUMNS",
    "MODELS",
    "ORDERED_COLUMNS",
    "Comparison",
    "InterruptedComparisonError",
    "Recommendation",
    "calibration_error",
    "compare",
    "group_metrics",
    "kl_divergence",
    "ranked_probability_score",
    "structural_hamming_distance",
]


MOST_CELLS_ALONE, MOST_FEATURES_ALONE = 20_000, 14
"""Most cells, and most features, of a table for which distributing work to threads costs more than it saves."""


class InterruptedComparisonError(KeyboardInterrupt):
    """A comparison was interrupted (Ctrl-C) before all models were evaluated.

    Attributes
    ----------
    frame : Comparison
        The rows of the models that were finished, as :func:`compare` returns them.
    unfinished : list of str
        The names of the other models.
    """

    def __init__(self, frame: Comparison, unfinished: list[str]) -> None:
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
    refit: bool | None = None,
    handle_missing: str | None = None,
    decimal: str | None = None,
    ordered_classes: Sequence[Any] | bool | None = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
    each: Callable[[Comparison], None] | None = None,
) -> Comparison:
    """Compare classifiers on one table by cross-validation; structures are learned again in every fold.

    Every model sees the same stratified folds. By default the comparison includes these models, in this order, in
    which the quicker ones come first:

    - ``"class frequencies"``: predicts every row by the class frequencies of the training rows. A model that is not
      better than this has learned nothing from the features.
    - ``"NB"``, ``"TAN"`` and ``"ANB"``: this package's networks with their default parameters.
    - ``"NB smooth"`` and ``"TAN smooth"``: the :class:`~anbexact.AdditiveClassifier` of these networks.
    - ``"auto"``: the :class:`~anbexact.AutoClassifier`, which often predicts best, and takes longest, in every fold
      up to its budget of 30 seconds or, if that is less, its share of ``time_limit``.
    - ``"logistic regression"``: scikit-learn's (L2 penalty, C = 1). Numeric columns are standardised and not cut,
      their missing cells are replaced by the median; the other columns are one-hot encoded.
    - ``"gradient boosting"`` (on histograms) and ``"random forest"`` (300 trees, probabilities of at least 0.001):
      scikit-learn's, on the columns of logistic regression.

    These models are included only if you name them:

    - ``"pool"``: the :class:`~anbexact.PooledClassifier`, which has more models than ``"auto"`` and no budget.
    - ``"FAN"``, ``"C2G"`` (CkG with k = 2), ``"kDB"`` (k = 2) and ``"AODE"``.
    - ``"CategoricalNB"``: scikit-learn's. Numeric columns with more than 10 distinct values are cut as for this
      package's classifiers; missing or unknown cells are replaced by the most frequent state.
    - ``"GBN"``, ``"gGBN"``, ``"GBN-CMDL"``, ``"BNC2P"`` and ``"MC-DAG"``.
    - the classifiers of papers by their names there, such as ``"TAN-aCLL"``, ``"fsANB-BDeu"`` and ``"pruned NB"``
      (the guide "Which classifier?" lists them).
    - ``"ANB universal"`` and ``"TAN universal"``, which use a universal measure for continuous columns.
    - ``"FAN smooth"``, ``"NB refitted"`` and so on: a network with smooth shapes, or refitted.
    - ``"GaussianNB"`` (scikit-learn) and ``"KDE-NB"`` (:class:`~anbexact.compare.kde.KernelNaiveBayes`). They require
      numeric columns; missing cells are replaced by the median.

    Models that begin with the same network share it: in every fold it is learned once, and its time counts for each
    of them. For models of other packages, times exclude the encoding of states as numbers. All times exclude
    compilation: every model of this package is first fitted once without being timed.

    This package's networks are *generative*: they fit features and class together. If you name a network with
    conditional tables, it has a second row, such as "NB refitted" below "NB". It is the
    :class:`~anbexact.RefittedClassifier` of the same network: its class posterior is refitted to the same training
    rows by conditional likelihood, with a prior whose strength is chosen by cross-validation within these rows
    (``l2="auto"``). ``models=["NB refitted"]`` selects only that row. Both models sum out missing cells, and states
    unknown in training.

    Parameters
    ----------
    X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
        The features.
    y : (rows,) series, array or list
        The classes. Declared classes without rows are ignored. Rows without a class are dropped, and so is the row of
        a class that has only one, with a warning.
    sample_weight : (rows,) array, optional
        Real weights, zero or more; rows of weight 0 are left out. The measures are weighted. The weights of the
        training rows are passed to every classifier that supports them, in a pipeline to its last step; a note names
        the classifiers that do not. The folds do not depend on the weights.
    folds : int, default 10
        Number of folds. If every class has fewer rows, the size of the largest is taken instead, with a warning. The
        rows of a class are in different folds as far as possible, so that no class is missing from training rows.
    seed : int, default 0
        Seed of the shuffle before rows are assigned to folds.
    models : names or mapping of name to classifier, optional
        Names of the models above (in upper or lower case), or scikit-learn classifiers of your own, which receive X
        and y as pandas objects. Your own networks also have a refitted row.
    refit : bool, optional
        Whether to include the refits of the networks. By default, they are included for ``models`` that you pass.
    handle_missing : str, optional
        ``handle_missing`` of this package's classifiers if models are given by name; by default, their own default.
    decimal : {".", ","}, optional
        The decimal mark of numbers in columns of text that leave it open, for models that are given by name.
    ordered_classes : sequence or True, optional
        The classes from the lowest to the highest, if they have an order; by default, and for True, the order of y if
        that is an ordered categorical column. With three or more, there are two more measures.
    n_jobs : int, optional
        Number of threads of this package's classifiers. None: all processors, but one thread for a small table.
    time_limit : float, optional
        Seconds. A model of which not all folds end in time is left out, with a note; later ones that are quicker are
        still tried. A fit that has begun may exceed the limit if the classifier has no time limit of its own.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole, 0 to 1.
    each : callable, optional
        Called with the comparison so far, whenever a model is finished.

    Returns
    -------
    Comparison
        A DataFrame with one row per model or refit, in the order of ``models``. Each of the n rows of the table is
        predicted once, in the fold that holds it out. The measures, except for the standard error, are over all n
        rows together:

        - ``accuracy``: share of rows whose most probable class is right; ``accuracy_se`` its standard error, the
          standard deviation over folds divided by the root of their number;
        - ``log_loss``: mean of -ln P(true class), nats per row; infinite where a true class had probability 0;
        - ``cll``: conditional log likelihood, Σ ln P(true class) = -n · ``log_loss``; total in nats (with weights,
          Σ w ln P, n being the sum of the weights);
        - ``brier``: mean of Σ_c (P(c) - [c is true])², the multiclass form from 0 to 2 (for two classes twice
          the one-column form);
        - ``calibration_error``: expected calibration error of the predicted class, 0 to 1, over 10 bins of
          probability (:func:`~anbexact.compare.metrics.calibration_error`);
        - ``ranked_probability_score`` and ``weighted_kappa``, the last columns, if classes have an order: the mean
          of Σ_k (P(class ≤ k) - [true class ≤ k])² / (s - 1)
          (:func:`~anbexact.compare.metrics.ranked_probability_score`), and Cohen's kappa of the predicted classes
          with quadratic weights, 1 for full agreement and 0 for that of chance;
        - ``parameters``: number of free parameters, mean over folds. For a network: its probabilities, Σ_v (r_v - 1)
          q_v with r_v states and q_v joint states of the parents (for columns modelled by densities, cells at the
          most probable levels). For a refit: the coefficients of the regression (``n_parameters``). For
          CategoricalNB: (s - 1) + s Σ_i (r_i - 1) with s classes. For logistic regression: (s - 1) (1 + numeric
          columns + Σ_i (r_i - 1) over the others). For the class frequencies: s - 1. For GaussianNB: (s - 1) + 2 s
          per feature. NaN for KDE-NB, for ensembles of trees, and for other classifiers of your own;
        - ``rows_to_read``: number of rows of the tables that define the model, mean over folds. For a network: the
          rows of its conditional tables, Σ_v q_v. For a pool: those of all members. For others: parameters / (s - 1),
          since a row has the coefficients of all classes but one;
        - ``fit_seconds``, ``predict_seconds``: mean wall-clock time per fold; the time of a refit includes the
          original fit.

        ``attrs`` contains ``"folds"`` and ``"rows"`` (numbers), ``"notes"`` (texts) and ``"refits"``, which maps the
        name of a model to that of its refit. The frame's ``recommendation`` says which model to use, and why: the
        simplest one within one standard error of the lowest log loss (:class:`Recommendation`). A model has NaN and a
        note if it needs too much memory, or if leaving out rows with missing cells would lose a class; so has a refit
        that needs too much memory, or whose network has probabilities of zero. A note counts refits that do not
        converge, and notes name the models that are left out for lack of time.

    Raises
    ------
    TypeError
        If ``models`` is neither names nor a mapping, if you pass ``handle_missing`` with classifiers of your own, or
        if one of these is not a classifier with ``predict_proba``.
    ValueError
        For an unknown model or no model, fewer than two folds, fewer than two classes, a class with a single row, a
        model named like the refit of another, or a column that is not numeric for a model that requires numbers.
    InterruptedComparisonError
        When you interrupt the comparison. It is a `KeyboardInterrupt` with the rows of the models that were finished.

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
    budget = Budget(time_limit)
    data = prepare(X, y, sample_weight, folds, seed, handle_missing, decimal)
    listed = declared_order(y) if ordered_classes is None else ordered_classes
    order = asked_order(data.classes, listed, y) if listed is not None and len(data.classes) > 2 else None
    threads = _threads(n_jobs, data)
    chosen = choose(models, data, threads, handle_missing, time_limit)
    refit = models is not None if refit is None else refit
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
    losses: dict[str, Losses] = {}
    unfinished = list(chosen)
    try:
        with warnings.catch_warnings(), threadpool_limits(1 if threads == 1 else None, "openmp"):
            warnings.filterwarnings("ignore", message=".*left out of training")
            warnings.filterwarnings("ignore", message=f".*{LOOKS_LIKE_AN_IDENTIFIER}")
            warnings.filterwarnings("ignore", message=f".*{WEIGHTS_OF_A_SURVEY}")
            warnings.simplefilter("ignore", PredictedWorseWarning)  # the line of the class frequencies shows it
            warnings.filterwarnings("error", message=INTERRUPTED)
            for name, found in measure(chosen, refit_of, data, progress, budget):
                for line, outcomes in found.items():
                    if outcomes is None:
                        rows[line] = [float("nan")] * (len(COLUMNS) + len(ORDERED_COLUMNS) * (order is not None))
                        continue
                    rows[line] = summary(outcomes) + ([] if order is None else ordered_summary(outcomes, order))
                    losses[line] = Losses.of(outcomes)
                unfinished.remove(name)
                if each is not None:
                    each(_frame(rows, losses, data, lines))
    except (KeyboardInterrupt, UserWarning) as stop:
        if isinstance(stop, UserWarning) and not str(stop).startswith(INTERRUPTED):
            raise
        raise InterruptedComparisonError(_frame(rows, losses, data, lines), unfinished) from None
    if progress is not None:
        progress("done", 1.0)
    return _frame(rows, losses, data, lines)


def _threads(n_jobs: int | None, data: Data) -> int | None:
    """Return the number of threads: as given, or one for a small table if None is given."""
    n_rows, n_features = data.frame.shape
    small = n_rows * n_features <= MOST_CELLS_ALONE and n_features <= MOST_FEATURES_ALONE
    return 1 if n_jobs is None and small else n_jobs


def _frame(
    rows: dict[str, list[float]], losses: Mapping[str, Losses], data: Data, refits: Mapping[str, str]
) -> Comparison:
    """Return the finished rows as a frame, with its attributes."""
    ordered = any(len(values) > len(COLUMNS) for values in rows.values())
    columns = [*COLUMNS, *(ORDERED_COLUMNS if ordered else ())]
    frame = Comparison(list(rows.values()), index=list(rows), columns=columns, dtype=float)
    frame.index.name = "model"
    own = {name: line for name, line in refits.items() if line in rows}
    frame.attrs.update(folds=len(data.splits), rows=len(data.codes), notes=data.notes, refits=own)
    return frame.with_recommendation(losses)


class _CallableModule(ModuleType):
    """A module that can be called like the function of the same name."""

    __signature__ = signature(compare)

    def __call__(self, *args: Any, **kwargs: Any) -> Comparison:
        return compare(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
