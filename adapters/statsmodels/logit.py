"""Classifiers as multinomial logistic regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sklearn.utils.validation import check_is_fitted

from anbexact.models.logit.model import LogitModel

if TYPE_CHECKING:
    from anbexact.classifiers import NetworkClassifier, PooledClassifier, RefittedClassifier
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
    classifier: PooledClassifier, X: Any = None, sample_weight: Any = None, *, intervals: int | None = None
) -> PooledLogit: ...


def to_logit(
    classifier: NetworkClassifier | RefittedClassifier | PooledClassifier,
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
    if isinstance(classifier, type) or not hasattr(classifier, "to_logit"):
        raise TypeError(f"to_logit takes a fitted classifier of anbexact, not {classifier!r}")
    check_is_fitted(classifier)
    if intervals is None:
        return classifier.to_logit()
    if hasattr(classifier, "estimator_"):
        raise TypeError("intervals go with the network that is refitted: pass the classifier's estimator_")
    if hasattr(classifier, "estimators_"):
        raise TypeError("intervals go with a network: a pool has those of its members")
    network: Any = classifier  # neither a refit nor a pool
    found: LogitModel = network.to_logit(X, sample_weight, intervals=intervals)
    return found
