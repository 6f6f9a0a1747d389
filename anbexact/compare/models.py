"""The classifiers of a comparison, the tables that they take, and their free parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from anbexact._runtime.arrays import Floats
from anbexact._runtime.spelling import letters
from anbexact.classifiers import AdditiveClassifier, RefittedClassifier
from anbexact.classifiers.refitted import can_be_refitted
from anbexact.classifiers.registry import compared_lines
from anbexact.compare.folds import Data
from anbexact.compare.kde import KernelNaiveBayes
from anbexact.compare.metrics import BASELINE
from anbexact.tables.cuts import RULES
from anbexact.tables.cuts.continuous import MANY_VALUES
from anbexact.tables.frames.columns import Column
from anbexact.tables.missing import EM

MODELS = (
    BASELINE,
    "NB",
    "logistic regression",
    "NB smooth",
    "TAN",
    "gradient boosting",
    "random forest",
    "ANB",
    "TAN smooth",
    "auto",
)
"""The models that are compared if none are named, as a rule the quicker ones first."""
OTHERS = ("CategoricalNB", "logistic regression", BASELINE)
"""scikit-learn's classifiers of states and of standardised columns."""
OF_NUMBERS = ("GaussianNB", "KDE-NB")
"""Classifiers that require numeric columns; compared only if named."""
OF_TREES = ("random forest", "gradient boosting")
"""scikit-learn's ensembles of trees."""
ELSEWHERE = {"CkG": "C2G", "pNB": "PrunedNB"}
"""Names that papers use besides those of the lines, and the lines."""
REFITTED, SMOOTH = "refitted", "smooth"
"""What follows the name of a network where its refit, or its smooth refit, is compared."""
UNCUT = ("logistic regression", "ANB universal", "TAN universal", *OF_TREES, *OF_NUMBERS)
"""Models that do not cut continuous columns into intervals."""


def rivals() -> tuple[str, ...]:
    """Return the models that are compared only if named: slower, seldom better, or for numeric columns."""
    return tuple(label for label in (*compared_lines(), *OTHERS, *OF_TREES, *OF_NUMBERS) if label not in MODELS)


def refits() -> dict[str, str]:
    """Return the refits that are compared only if named: their line, and the name of the network."""
    return {f"{label} {REFITTED}": label for label, (_, line) in compared_lines().items() if line.refitted}


def smooths() -> dict[str, str]:
    """Return the smooth refits that are compared only if named: their line, and the name of the network."""
    return {f"{label} {SMOOTH}": label for label in refits().values()}


@dataclass(frozen=True)
class Contender:
    """An unfitted classifier, the kind of table that it takes, and how its free parameters are counted.

    Attributes
    ----------
    estimator : classifier
    table : DataFrame or array
    parameters : callable
        Returns the number of free parameters of the fitted classifier.
    shares : bool
        Whether others that begin with the same network may share its fits.
    network : classifier or None
        The network that a refit begins with.
    """

    estimator: Any
    table: pd.DataFrame | Floats
    parameters: Callable[[Any], float]
    shares: bool = False
    network: Any = None


def sizes(contender: Contender, model: Any) -> tuple[float, float]:
    """Return the free parameters of a fitted classifier, and the rows of the tables that define it.

    The rows of a regression and of other classifiers have the parameters of all classes but one.
    """
    parameters = contender.parameters(model)
    own = getattr(model, "model_", None)
    rows = getattr(own, "rows_to_read", None)
    return parameters, parameters / (len(model.classes_) - 1) if rows is None else float(rows)


def choose(
    models: Iterable[str] | Mapping[str, Any] | None,
    data: Data,
    n_jobs: int | None,
    handle_missing: str | None = None,
    time_limit: float | None = None,
) -> dict[str, Contender]:
    """Return the classifiers by their names; searches of networks that are named end after ``time_limit``."""
    if isinstance(models, Mapping):
        if handle_missing is not None:
            raise TypeError("handle_missing= applies only to models given by name: set it in your own classifiers")
        _check_own(models)
        return {name: Contender(estimator, data.frame, model_parameters) for name, estimator in models.items()}
    if models is not None and not isinstance(models, Iterable):
        raise TypeError(f"models must be names, or a mapping of names to classifiers, not {models!r}")
    given = (models,) if isinstance(models, str) else models
    names = known_names(MODELS if given is None else given)
    columns = data.columns
    _refuse_states([name for name in names if name in OF_NUMBERS], columns)
    numbers = np.column_stack([_as_numbers(column) for column in columns])
    own: dict[str, Any] = {
        label: entry.estimator(n_jobs=n_jobs, **line.parameters) for label, (entry, line) in compared_lines().items()
    }
    for estimator in own.values():
        estimator.set_params(decimal=data.decimal)
        if time_limit is not None and "time_limit" in estimator.get_params(deep=False):
            estimator.set_params(time_limit=time_limit)
    if handle_missing is not None:
        others = []
        for label, estimator in own.items():
            if handle_missing == EM and not (hasattr(estimator, "can_complete") and estimator.can_complete()):
                others += [label] if label in names else []
            else:
                estimator.set_params(handle_missing=handle_missing)
        if others:
            data.notes.append(f"{', '.join(others)} cannot learn by expectation maximisation and keep 'auto'")
    ready = {
        name: Contender(estimator, data.frame, model_parameters, shares=name in refits().values())
        for name, estimator in own.items()
    }
    for lines, refit in ((refits(), RefittedClassifier), (smooths(), AdditiveClassifier)):
        for line, name in lines.items():
            ready[line] = Contender(refit(own[name]), data.frame, model_parameters, shares=True, network=own[name])
    ready["CategoricalNB"] = Contender(_categorical_nb(columns), numbers, categorical_nb_parameters)
    ready["logistic regression"] = Contender(_logistic_regression(columns), numbers, logistic_regression_parameters)
    for name, estimator in zip(OF_TREES, (_random_forest(columns, n_jobs), _gradient_boosting(columns)), strict=True):
        ready[name] = Contender(estimator, numbers, _unknown)
    ready[BASELINE] = Contender(DummyClassifier(strategy="prior"), numbers, frequency_parameters)
    ready["GaussianNB"] = Contender(_of_numbers(GaussianNB()), numbers, gaussian_nb_parameters)
    ready["KDE-NB"] = Contender(_of_numbers(KernelNaiveBayes()), numbers, _unknown)
    return {name: ready[name] for name in names}


def known_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return the names of models in their usual spelling, from names in any case, with or without blanks and hyphens.

    Raises
    ------
    ValueError
        For a name that no model has, with those that are near, or else with all; and if there is no name.
    """
    known = (*MODELS, *rivals(), *refits(), *smooths())
    of_letters = {letters(name): line for name, line in (*ELSEWHERE.items(), *((name, name) for name in known))}
    names = tuple(of_letters.get(letters(str(name)), name) for name in given)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        near = get_close_matches(letters(str(unknown[0])), of_letters, n=3) if unknown else []
        advice = (
            f"did you mean {' or '.join(repr(of_letters[found]) for found in near)}?"
            if near
            else f"known are {', '.join((*MODELS, *rivals()))}; networks also with {REFITTED!r} or {SMOOTH!r} after "
            "the name"
        )
        raise ValueError(f"models must be names of models, not {unknown or names!r}; {advice}")
    return names


def _check_own(models: Mapping[str, Any]) -> None:
    """Refuse classifiers that cannot be cloned and fitted; some show only after a fit if they have probabilities."""
    if not models:
        raise ValueError("models must name at least one classifier")
    for name, estimator in models.items():
        if isinstance(estimator, type):
            raise TypeError(f"models[{name!r}] is a class: pass a classifier, such as {estimator.__name__}()")
        if not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
            raise TypeError(f"models[{name!r}] must be a scikit-learn classifier, not {estimator!r}")


def has_tables(estimator: Any) -> bool:
    """Whether a classifier is a network with conditional tables, which can be refitted."""
    return can_be_refitted(estimator) and getattr(estimator, "continuous", "discretize") == "discretize"


# ---- free parameters of fitted models


def model_parameters(classifier: Any) -> float:
    """Return the number of free parameters of what a fitted classifier of this package has learned; NaN for others.

    For a network, Σ_v (r_v - 1) q_v over the class and the features; with a universal measure, at the most probable
    levels of every variable and its parents. For averaged one-dependence estimators, the probabilities of all pairs.
    For a refit, the coefficients, (s - 1) Σ_S Π_{i in S} (r_i - 1) over the terms S, or the effective degrees of
    freedom of smooth shapes. For a pool, the parameters of its members, a weight for each of them, and s - 1 biases.
    """
    return float(getattr(getattr(classifier, "model_", None), "degrees_of_freedom", float("nan")))


def categorical_nb_parameters(model: Any) -> float:
    """Return the free probabilities of a pipeline that ends in CategoricalNB: (s - 1) + s Σ_i (r_i - 1)."""
    tables = model[-1].feature_log_prob_
    n_classes = len(model.classes_)
    return float(n_classes - 1 + n_classes * sum(table.shape[1] - 1 for table in tables))


def logistic_regression_parameters(model: Any) -> float:
    """Return the number of free coefficients of the pipeline of :func:`_logistic_regression`.

    ``(s - 1) (1 + numeric columns + Σ_i (r_i - 1))``: one class, and one state of every one-hot encoded column, could
    be the reference without a change of what can be predicted.
    """
    encoder = model[0].named_transformers_.get("one-hot")
    redundant = 0 if encoder is None else len(encoder.categories_)
    return float((len(model.classes_) - 1) * (1 + model[-1].coef_.shape[1] - redundant))


def frequency_parameters(model: Any) -> float:
    """Return the number of free probabilities of the class: s - 1."""
    return float(len(model.classes_) - 1)


def gaussian_nb_parameters(model: Any) -> float:
    """Return the free parameters of a GaussianNB pipeline: (s - 1) + 2 s per feature, means and variances."""
    return float(len(model.classes_) - 1 + 2 * model[-1].theta_.size)


def _unknown(_: Any) -> float:
    return float("nan")


# ---- scikit-learn's


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

    cut = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), RULES["auto"]())
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
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_standardised(columns), LogisticRegression(max_iter=1000))


def _random_forest(columns: Sequence[Column], n_jobs: int | None) -> Any:
    """Return scikit-learn's random forest for the columns of :func:`_as_numbers`."""
    from sklearn.pipeline import make_pipeline

    from anbexact.compare.forest import ClippedForest

    return make_pipeline(_standardised(columns), ClippedForest(300, random_state=0, n_jobs=n_jobs))


def _gradient_boosting(columns: Sequence[Column]) -> Any:
    """Return scikit-learn's histogram gradient boosting for the columns of :func:`_as_numbers`."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        _standardised(columns).set_params(sparse_threshold=0.0), HistGradientBoostingClassifier(random_state=0)
    )


def _standardised(columns: Sequence[Column]) -> Any:
    """Return a transformer that standardises numbers and one-hot encodes the other columns of :func:`_as_numbers`."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = [j for j, column in enumerate(columns) if column.numbers is not None]
    others = [j for j, column in enumerate(columns) if column.numbers is None]
    scale = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    parts = [("scale", scale, numeric), ("one-hot", OneHotEncoder(handle_unknown="ignore"), others)]
    return ColumnTransformer([part for part in parts if part[2]])


def _of_numbers(estimator: Any) -> Any:
    """Return a classifier of numbers in which missing cells are replaced by the medians of their columns."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), estimator)


def _refuse_states(names: Sequence[str], columns: Sequence[Column]) -> None:
    """Refuse columns that are not numeric, if a classifier requires numbers."""
    others = [column.name for column in columns if column.numbers is None]
    if names and others:
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        raise ValueError(
            f"{' and '.join(names)} require numeric columns, but {others[0]!r}{more} is not numeric: drop the "
            "column, or leave out the model"
        )


def _is_continuous(column: Column) -> bool:
    return column.numbers is not None and len(pd.unique(column.numbers[~column.missing])) > MANY_VALUES
