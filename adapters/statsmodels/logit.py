"""Classifiers as multinomial logistic regressions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.fitted_pool import FittedPool
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.models.logit.model import LogitModel
from anbexact.models.logit.potentials import network_potentials
from anbexact.models.smooth.refine import check_intervals, refined_network

if TYPE_CHECKING:
    from anbexact.models.pool.logit import PooledLogit

__all__ = ["LogitModel", "to_logit"]


@overload
def to_logit(
    classifier: NetworkClassifier | RefittedClassifier,
    X: Any = None,
    sample_weight: Any = None,
    *,
    intervals: int | None = None,
) -> LogitModel: ...


@overload
def to_logit(
    classifier: FittedPool, X: Any = None, sample_weight: Any = None, *, intervals: int | None = None
) -> PooledLogit: ...


def to_logit(
    classifier: NetworkClassifier | RefittedClassifier | FittedPool,
    X: Any = None,
    sample_weight: Any = None,
    *,
    intervals: int | None = None,
) -> LogitModel | PooledLogit:
    """Return the multinomial logistic regression with the class posterior of a fitted classifier.

    ``ln P(C=a | x) / P(C=0 | x) = Σ_S Σ_f β_S^f(a) Π_{i in S} [x_i = f(i)]``: here S runs over the subsets of the
    families that contain the class (each child of the class with its other parents; the parents of the class), f over
    their states other than the first, and a over the classes other than the first. For every network the coefficients
    are exact, whether or not network and regression are equivalent (see ``LogitModel.equivalent``).

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier or PooledClassifier
        A fitted classifier; the tables of a network must not contain zeros.
    X, sample_weight : optional
        The rows, as in the classifier's ``fit``, and their weights; needed with ``intervals``.
    intervals : int, optional
        Refine every column that was cut to about this many intervals of equal weight: learned cut points are kept,
        and further ones are added between them. The class posterior does not change, but a smooth refit can reach
        more posteriors.

    Returns
    -------
    LogitModel or PooledLogit
        A model with ``refit``, ``result``, ``to_classifier`` and more; for a pool, the result of its ``to_logit``.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If ``classifier`` is not a classifier of this package.
    ValueError
        If a table contains a zero, as maximum likelihood tables may.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*, section 4; Roos, Wettig, Grünwald, Myllymäki and Tirri, Machine Learning 59 (2005).

    Examples
    --------
    >>> from anbexact import TANClassifier
    >>> from anbexact.adapters import to_logit
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> tan = TANClassifier(ess=1.0).fit(X, y)
    >>> logit = to_logit(tan)
    >>> logit.n_parameters, logit.equivalent
    (51, True)
    >>> bool(abs(logit.predict_proba(X) - tan.predict_proba(X)).max() < 1e-12)
    True
    >>> refitted = logit.refit(X, y)
    >>> round(logit.log_likelihood(X, y)), round(refitted.log_likelihood(X, y))
    (-423, -3)
    """
    if isinstance(classifier, RefittedClassifier):
        if intervals is not None:
            raise TypeError("intervals go with the network that is refitted: pass the classifier's estimator_")
        return classifier.to_logit()
    if isinstance(classifier, FittedPool):
        if intervals is not None:
            raise TypeError("intervals go with a network: a pool has those of its members")
        check_is_fitted(classifier)
        return classifier.to_logit()
    if not isinstance(classifier, NetworkClassifier):
        raise TypeError(f"to_logit takes a fitted classifier of anbexact, not {classifier!r}")
    check_is_fitted(classifier)
    origin = replace(classifier.discrete_form().origin(), learned=classifier.model_)
    network = classifier.model_.discrete()
    if intervals is not None:
        if X is None:
            raise ValueError("intervals are made of the rows: pass X, as in fit")
        columns = origin.reader.cut_columns(X, sample_weight)
        network = refined_network(network, columns, check_intervals(intervals))
        origin = replace(origin.classifier_of(network).origin(), learned=classifier.model_)
    return LogitModel(network, origin, network_potentials(network.tables, network.structure))
