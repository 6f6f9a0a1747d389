"""Classifiers side by side, cross-validated: this package's and what people use today.

In every fold everything is learned anew from the training rows: cut points, structure, tables, scales, categories.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone

from anbexact.classifiers import (
    ANBClassifier,
    CkGClassifier,
    FANClassifier,
    NaiveBayesClassifier,
    NetworkClassifier,
    TANClassifier,
)
from anbexact.classifiers.inputs import MANY_VALUES
from anbexact.columns import Column, is_frame, is_series, read_columns
from anbexact.discretize import AUTO, RULES
from anbexact.limits import Progress, SearchTooLargeError

MODELS = ("NB", "TAN", "FAN", "C2G", "ANB", "CategoricalNB", "logistic regression")
COLUMNS = ("accuracy", "accuracy_se", "log_loss", "brier", "fit_seconds", "predict_seconds")
Floats = npt.NDArray[np.float64]


def compare(
    X: Any,
    y: Any,
    *,
    folds: int = 10,
    seed: int = 0,
    models: Iterable[str] | Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Cross-validate classifiers on one table, the structure relearned in every fold.

    Every model sees the same stratified folds. ``"NB"``, ``"TAN"``, ``"FAN"``, ``"C2G"`` (CkG with k = 2) and
    ``"ANB"`` are this package's classifiers with their defaults. ``"CategoricalNB"`` is scikit-learn's, with numeric
    columns of more than 10 distinct values cut as these cut them (MDLP), and missing or unknown cells replaced by the
    most frequent state. ``"logistic regression"`` is scikit-learn's (L2 penalty, C = 1): numeric columns uncut and
    standardised, missing ones replaced by the median, the others one-hot encoded. For scikit-learn's two the states
    are turned into numbers beforehand, outside of the times. A first fit of every model, not counted, keeps
    compilation out of the times.

    Parameters
    ----------
    X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
        The features.
    y : (rows,) series, array or list
        The classes; a declared class without rows is none. Rows without a class are dropped, with a warning.
    folds : int, default 10
        At most the number of rows of the rarest class, else fewer are made, with a warning.
    seed : int, default 0
        Of the shuffle that makes the folds.
    models : names or mapping of name to classifier, optional
        Which of these, or scikit-learn classifiers of your own, to which X and y are passed as pandas objects.
    n_jobs : int, optional
        Threads of this package's classifiers.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole, 0 to 1.

    Returns
    -------
    DataFrame
        One row per model, in the order of ``models``:

        - ``accuracy``: share of rows whose most probable class is right; ``accuracy_se`` its standard error, the
          standard deviation over folds divided by the root of their number;
        - ``log_loss``: mean of -ln P(true class), nats per row; infinite where a true class had probability 0;
        - ``brier``: mean of Σ_c (P(c) - [c is true])², the multiclass form from 0 to 2 (for two classes twice
          the one-column form);
        - ``fit_seconds``, ``predict_seconds``: mean per fold, wall clock.

        ``attrs["folds"]``, ``attrs["rows"]`` and ``attrs["notes"]`` (texts) belong to it. A model that is refused
        for the memory it needs has NaN and a note.

    Raises
    ------
    ValueError
        For an unknown model, fewer than two folds, fewer than two classes, or a class with a single row.

    Examples
    --------
    >>> from anbexact.compare import compare
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> compare(X, y, folds=3, models=["NB", "ANB"])["accuracy"].round(2).to_dict()
    {'NB': 0.75, 'ANB': 1.0}
    """
    data = _prepare(X, y, folds, seed)
    chosen = _choose(models, data, n_jobs)
    rows: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*are left out of training")
        for place, (name, (estimator, table)) in enumerate(chosen.items()):
            _warm_up(estimator, table, data)
            results = []
            try:
                for k, (train, test) in enumerate(data.splits):
                    if progress is not None:
                        done = (place + k / len(data.splits)) / len(chosen)
                        progress(f"{name}, fold {k + 1} of {len(data.splits)}", done)
                    results.append(_run(estimator, table, data, train, test))
            except SearchTooLargeError as error:
                data.notes.append(f"{name} was refused: {error}")
                rows[name] = [float("nan")] * len(COLUMNS)
            else:
                rows[name] = _summary(results)
    if progress is not None:
        progress("done", 1.0)
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    frame.index.name = "model"
    frame.attrs.update(folds=len(data.splits), rows=len(data.codes), notes=data.notes)
    return frame


@dataclass(frozen=True, eq=False)
class _Data:
    """The table, its classes as codes, and the folds."""

    frame: pd.DataFrame
    target: pd.Series[Any]
    classes: list[Any]
    codes: npt.NDArray[np.intp]
    splits: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]
    notes: list[str]


@dataclass(frozen=True)
class _FoldResult:
    accuracy: float
    log_loss: float
    brier: float
    n_rows: int
    fit_seconds: float
    predict_seconds: float


def _prepare(X: Any, y: Any, folds: int, seed: int) -> _Data:
    """Drop the rows without a class and make the folds."""
    from sklearn.model_selection import StratifiedKFold

    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise ValueError(f"folds must be a whole number, 2 or more, not {folds!r}")
    frame, target = _as_pandas(X, y)
    notes: list[str] = []
    if isinstance(target.dtype, pd.CategoricalDtype):
        target = target.cat.remove_unused_categories()
    codes, classes = pd.factorize(target, use_na_sentinel=True)
    if (codes < 0).any():
        _note(notes, f"{int((codes < 0).sum())} of {len(codes)} rows have no class and are left out")
        kept = codes >= 0
        frame, target, codes = frame[kept], target[kept], codes[kept]
    if len(classes) < 2:
        raise ValueError(f"a comparison needs two classes or more, but y holds {list(classes)}")
    sizes = Counter(codes.tolist())
    rarest = min(sizes, key=sizes.__getitem__)
    if sizes[rarest] < 2:
        raise ValueError(
            f"the class {classes[rarest]!r} has a single row, which cannot be both learned from and tested on: "
            "drop it, or merge it with another class"
        )
    if sizes[rarest] < folds:
        _note(notes, f"{sizes[rarest]} folds instead of {folds}: the class {classes[rarest]!r} has no more rows")
        folds = sizes[rarest]
    with_missing = int(frame.isna().any(axis=1).sum())
    if with_missing:
        notes.append(
            f"{with_missing} rows have a missing feature: NB to ANB learn without these rows, and sum the missing "
            "cells out to predict; scikit-learn's two have them filled in"
        )
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return _Data(frame, target, list(classes), codes, list(splitter.split(codes, codes)), notes)


def _as_pandas(X: Any, y: Any) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features and classes as pandas objects with a plain index."""
    if isinstance(X, pd.DataFrame):
        frame = X.reset_index(drop=True)
    elif is_frame(X):
        frame = nw.from_native(X, eager_only=True).to_pandas().reset_index(drop=True)
    else:
        frame = pd.DataFrame(X if isinstance(X, np.ndarray) else list(X)).infer_objects()
        frame.columns = pd.Index([f"x{j}" for j in range(frame.shape[1])])
    if is_series(y) and not isinstance(y, pd.Series | pd.Index):
        y = nw.from_native(y, series_only=True).to_pandas()
    name = getattr(y, "name", None)
    target = pd.Series(y.array if isinstance(y, pd.Series) else y, name=name)
    if len(target) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, but y has {len(target)}")
    read_columns(frame)
    return frame, target


def _note(notes: list[str], text: str) -> None:
    notes.append(text)
    warnings.warn(text, UserWarning, stacklevel=4)


def _choose(
    models: Iterable[str] | Mapping[str, Any] | None, data: _Data, n_jobs: int | None
) -> dict[str, tuple[Any, Any]]:
    """Return, for every model, a classifier and the table that it takes."""
    if isinstance(models, Mapping):
        return {name: (estimator, data.frame) for name, estimator in models.items()}
    names = MODELS if models is None else (models,) if isinstance(models, str) else tuple(models)
    strangers = [name for name in names if name not in MODELS]
    if strangers or not names:
        raise ValueError(f"models must be among {', '.join(map(repr, MODELS))}, not {strangers or names!r}")
    columns = read_columns(data.frame)
    numbers = np.column_stack([_as_numbers(column) for column in columns])
    ready: dict[str, Callable[[], tuple[Any, Any]]] = {
        "NB": lambda: (NaiveBayesClassifier(n_jobs=n_jobs), data.frame),
        "TAN": lambda: (TANClassifier(n_jobs=n_jobs), data.frame),
        "FAN": lambda: (FANClassifier(n_jobs=n_jobs), data.frame),
        "C2G": lambda: (CkGClassifier(k=2, n_jobs=n_jobs), data.frame),
        "ANB": lambda: (ANBClassifier(n_jobs=n_jobs), data.frame),
        "CategoricalNB": lambda: (_categorical_nb(columns), numbers),
        "logistic regression": lambda: (_logistic_regression(columns), numbers),
    }
    return {name: ready[name]() for name in names}


def _as_numbers(column: Column) -> Floats:
    """Return the cells as floats: numbers as they are, other states as codes; NaN where missing."""
    if column.numbers is not None:
        return np.asarray(column.numbers, dtype=np.float64)
    codes = np.asarray(column.coded[0], dtype=np.float64)
    return np.where(codes < 0, np.nan, codes)


def _categorical_nb(columns: Sequence[Column]) -> Any:
    """Return scikit-learn's CategoricalNB for the columns of :func:`_as_numbers`."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    continuous = [j for j, column in enumerate(columns) if _is_continuous(column)]
    declared = [j for j, column in enumerate(columns) if column.declared]
    observed = sorted(set(range(len(columns))) - {*continuous, *declared})
    arities = [len(columns[j].coded[1]) for j in declared]

    def codes(categories: Any) -> Any:
        encoder = OrdinalEncoder(
            categories=categories, handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
        )
        mode = SimpleImputer(missing_values=-1, strategy="most_frequent", keep_empty_features=True)
        return make_pipeline(encoder, mode)

    cut = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), RULES[AUTO]())
    parts = [
        ("cut", cut, continuous),
        ("declared", codes([np.arange(float(arity)) for arity in arities]), declared),
        ("observed", codes("auto"), observed),
    ]
    transformer = ColumnTransformer([part for part in parts if part[2]])
    least = [1] * len(continuous) + arities + [1] * len(observed)
    return make_pipeline(transformer, CategoricalNB(min_categories=np.array(least)))


def _logistic_regression(columns: Sequence[Column]) -> Any:
    """Return scikit-learn's logistic regression for the columns of :func:`_as_numbers`."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = [j for j, column in enumerate(columns) if column.numbers is not None]
    others = [j for j, column in enumerate(columns) if column.numbers is None]
    scale = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    parts = [("scale", scale, numeric), ("one-hot", OneHotEncoder(handle_unknown="ignore"), others)]
    return make_pipeline(ColumnTransformer([part for part in parts if part[2]]), LogisticRegression(max_iter=1000))


def _is_continuous(column: Column) -> bool:
    return column.numbers is not None and len(pd.unique(column.numbers[~column.missing])) > MANY_VALUES


def _rows(table: Any, rows: npt.NDArray[np.intp]) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]


def _warm_up(estimator: Any, table: Any, data: _Data) -> None:
    """Fit and predict once on few rows (and columns), so that compilation is not timed."""
    few = data.splits[0][1]
    small = _rows(table, few)
    if isinstance(estimator, NetworkClassifier):
        small = small.iloc[:, :4]
    with contextlib.suppress(ValueError, SearchTooLargeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(estimator).fit(small, data.target.iloc[few]).predict_proba(small)


def _run(
    estimator: Any, table: Any, data: _Data, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]
) -> _FoldResult:
    """Learn from one part of the rows and predict the other."""
    model = clone(estimator)
    X_train, y_train, X_test = _rows(table, train), data.target.iloc[train], _rows(table, test)
    began = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    of_model = model.predict_proba(X_test)
    ended = time.perf_counter()
    proba = np.zeros((len(test), len(data.classes)))
    place = {label: k for k, label in enumerate(data.classes)}
    proba[:, [place[label] for label in model.classes_.tolist()]] = of_model
    truth = np.eye(len(data.classes))[data.codes[test]]
    right = model.classes_[of_model.argmax(axis=1)]
    with np.errstate(divide="ignore"):
        log_loss = -np.log(proba[np.arange(len(test)), data.codes[test]])
    return _FoldResult(
        accuracy=float(np.mean([place[label] for label in right.tolist()] == data.codes[test])),
        log_loss=float(log_loss.mean()),
        brier=float(((proba - truth) ** 2).sum(axis=1).mean()),
        n_rows=len(test),
        fit_seconds=fitted - began,
        predict_seconds=ended - fitted,
    )


def _summary(results: Sequence[_FoldResult]) -> list[float]:
    """Return the values of `COLUMNS`: losses averaged over rows, times over folds."""
    weights = [result.n_rows for result in results]
    accuracies = [result.accuracy for result in results]
    return [
        float(np.average(accuracies, weights=weights)),
        float(np.std(accuracies, ddof=1) / np.sqrt(len(results))),
        float(np.average([result.log_loss for result in results], weights=weights)),
        float(np.average([result.brier for result in results], weights=weights)),
        float(np.mean([result.fit_seconds for result in results])),
        float(np.mean([result.predict_seconds for result in results])),
    ]
