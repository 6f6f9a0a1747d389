"""The recommended model as one estimator: a learned network, refitted by conditional likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.deadline import SHORTEST, Deadline, check_limit
from anbexact._runtime.json_values import register_object
from anbexact._runtime.memory import refused_without_memory
from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.branching import FANClassifier
from anbexact.classifiers.choosing.frequencies import later_corrected
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.explaining import Explaining
from anbexact.classifiers.has_network import HasNetwork
from anbexact.classifiers.parameters import TimeLimitParameters, parameter_group
from anbexact.classifiers.refit import refitted_model
from anbexact.models.fidelity import Fidelity
from anbexact.models.logit.refit import check_l2, check_max_iter
from anbexact.models.network.explanation import Explanations
from anbexact.models.structure import Structure
from anbexact.tables.reader import Reader
from anbexact.tables.soft_labels import check_soft_weight

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel


@parameter_group
class RefittedParameters(TimeLimitParameters):
    """Which network is learned first, and how it is refitted."""

    estimator: Any = field(default=None, kw_only=False)
    l2: float | str | None = "auto"
    max_iter: int = 500
    soft_weight: float = 1.0


@register_object
class RefittedClassifier(RefittedParameters, HasNetwork, DiscreteClassifier, Explaining):
    """A classifier that learns a network and then refits it by conditional likelihood, in one ``fit``.

    First ``estimator`` learns a network, which fits features and class together. Then the network's class posterior,
    a multinomial logistic regression, is refitted to maximise ``Σ_t w_t ln P(c_t | x_t) - l2/2 · Σ (ln φ - ln θ)²``
    over the entries φ of the tables of the class and its children, where θ are the entries learned first; see
    :meth:`anbexact.adapters.LogitModel.refit`. Predictions are those of the refitted model.

    Parameters
    ----------
    estimator : NetworkClassifier, optional
        An unfitted network, such as ``TANClassifier(ess="auto")``, which is cloned. None means
        ``FANClassifier(ess="auto")``: its refit predicted about as well as any over 28 tables
        (see the guide "Logistic regression"), its search is exact and fast for any number of features, and it always
        has a ``network_``. A network that is fitted already, within ``sklearn.frozen.FrozenEstimator``, is refitted
        as it is.
    l2 : float, "auto" or None, default "auto"
        Precision of the Gaussian prior around the network's tables. ``"auto"``: the value that predicts held-out rows
        best in cross-validation within the training rows. 0: no prior; the likelihood then has no finite maximum if
        the classes are separable. None: no refit, so that ``logit_`` has the posterior of the network; this is how
        a network that was changed by hand is kept (:meth:`NetworkClassifier.with_logit`).
    max_iter : int, default 500
        Maximum number of iterations of the refit, and of each of the fits under stronger priors that lead to it.
    soft_weight : float, default 1.0
        The share λ of the probabilities ``soft`` in the targets of a fit that has them, from 0 to 1: a row of class y
        has the target ``(1 - λ) e_y + λ q``, where e_y is 1 for its class and 0 for others.
    time_limit : float, optional
        Time limit of the refit in seconds. When it runs out, the best coefficients found so far are used, with a
        warning. The estimator has its own limit.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    estimator_ : NetworkClassifier
        The network as it was learned.
    logit_ : LogitModel
        The refitted logistic regression, with its coefficients; ``logit_.refitted`` describes the refit.
    structure_ : Structure
        The graph, with its score and certificate.
    vocabulary_ : Vocabulary
        Names and states of all variables.
    cut_points_ : dict
        Cut points of every column that was discretised.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The network with the refitted posterior, built and checked on first use; ``dir`` lists it from then on. If
        ``logit_`` is not ``equivalent`` to its network, such a network may not exist, and this raises ValueError.
    n_iter_ : int
        Iterations of the refit.
    fidelity_ : Fidelity or None
        How closely the predictions for the rows of the fit follow the teacher: ``divergence``, in nats per row, and
        ``agreement``; None after a fit to labels alone. :meth:`fidelity` compares other rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, if all of them are strings.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*; Roos, Wettig, Grünwald, Myllymäki and Tirri, Machine Learning 59 (2005).

    Examples
    --------
    >>> from sklearn.model_selection import StratifiedKFold, cross_val_score
    >>> from anbexact import RefittedClassifier, TANClassifier
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> tan = TANClassifier(ess="auto")
    >>> folds = StratifiedKFold(shuffle=True, random_state=0)
    >>> for model in (tan, RefittedClassifier(tan)):
    ...     print(round(cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss").mean(), 2))
    -0.49
    -0.01
    """

    estimator_: NetworkClassifier
    logit_: LogitModel

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, soft: Any = None, groups: Any = None) -> Self:
        """Learn the network, and refit it.

        Parameters
        ----------
        X, y, sample_weight
            As for the estimator's ``fit``.
        soft : frame or (rows, classes) array, optional
            Class probabilities q of the rows, such as those that another classifier, the teacher, predicts for rows
            that it did not learn from. The refit is fitted to them: it maximises
            ``Σ_t w_t Σ_c r_tc ln P(c | x_t)``, less its prior or penalty, where r_t is the target that
            ``soft_weight`` mixes from q_t and the class of the row. Cut points, arcs and the network's tables are
            learned from the classes alone. The columns of a frame are named after the classes, in any order; those
            of an array are in the order of the sorted classes, as in the teacher's ``predict_proba``. See the guide
            "Explain a boosting model by one readable model".
        groups : (rows,) array, optional
            Labels of rows that belong together: whatever is chosen by cross-validation, such as the strength of a
            prior or penalty, is chosen such that every fold holds out whole groups. See the guide "Repeated and
            grouped rows".

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If ``estimator`` is not a network of this package, or for input that is not suitable for training.
        ValueError
            For an invalid parameter, for input that is not suitable for training, if a table of the network contains
            a zero, or for probabilities that are not those of the classes: the message names the row.

        Warns
        -----
        UserWarning
            If the refit does not converge, with the reason; if classes are separable (with ``l2=0``), with the
            coefficients that diverge.
        """
        self.check_parameters()
        network = self._learned(FitRows(X, y, sample_weight, groups=groups))
        with refused_without_memory("refitting the network"):
            return self.set_refitted(network, self._refit(network, X, y, sample_weight, soft=soft, groups=groups))

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        if self.l2 is not None:
            check_l2(self.l2)
        check_max_iter(self.max_iter)
        check_soft_weight(self.soft_weight)
        check_limit("time_limit", self.time_limit)

    @all_or_nothing
    def set_params(self, **params: Any) -> Self:
        """Set parameters of this classifier or, such as ``estimator__ess``, of the network.

        If ``estimator`` is None, the default network takes its place, so that its parameters can be set.

        Raises
        ------
        ValueError
            For an unknown parameter.
        """
        nested = any(name.startswith("estimator__") for name in params)
        if nested and self.estimator is None and "estimator" not in params:
            self.estimator = self._default_estimator()
        super().set_params(**params)
        return self

    def _begun_with(self) -> Any:
        """Return the unfitted network that is learned first: ``estimator``, or the default that None means."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def _fitted_after(
        self,
        learned: Callable[[Any, float], DiscreteClassifier],
        rows: FitRows,
        seconds: float,
        like: DiscreteClassifier | None = None,
    ) -> Self:
        deadline = Deadline(seconds)
        return self._refitted_after(learned(self._begun_with(), seconds), self._taken_over(like), rows, deadline)

    def _taken_over(self, like: DiscreteClassifier | None) -> dict[str, Any]:  # subclasses use it
        """Return parameters that take over choices of a classifier that was fitted to the same rows."""
        return {}

    def _fitted_again(
        self,
        learned: Callable[[DiscreteClassifier, float], DiscreteClassifier],
        rows: FitRows,
        seconds: float,
    ) -> Self:
        refitted, deadline = self.logit_.refitted, Deadline(seconds)
        chosen = {} if refitted is None else refitted.chosen()
        return self._refitted_after(learned(self.estimator_, seconds), chosen, rows, deadline)

    def _refitted_after(
        self, network: DiscreteClassifier, chosen: dict[str, Any], rows: FitRows, deadline: Deadline
    ) -> Self:
        """Return a copy that refits a fitted network to its rows, with the values of some parameters ``chosen``."""
        # Several members may share the network, so the copy gets it fitted and frozen, and only refits it. Then, the
        # copy gets back its own parameters.
        own = inf if self.time_limit is None else self.time_limit
        given = self.get_params(deep=False)
        copy: Self = clone(self).set_params(estimator=FrozenEstimator(network), **chosen)
        left = min(max(deadline.left, SHORTEST), own)
        copy.time_limit = None if left == inf else left
        rows.fitted(copy, soft=rows.soft)
        copy.set_params(**{name: given[name] for name in chosen})
        copy.time_limit = self.time_limit
        copy.estimator = None if self.estimator is None else clone(self.estimator)
        return copy

    def _ended_by(self, seconds: float) -> bool:
        own = inf if self.time_limit is None else self.time_limit
        refitted = self.logit_.refitted
        return refitted is not None and seconds < own and not refitted.in_time

    def _read_by(self) -> NetworkClassifier:
        return self.estimator_

    def _default_estimator(self) -> NetworkClassifier:
        """Return the default network of ``estimator=None``."""
        return FANClassifier(ess="auto")

    def _refit(self, network: NetworkClassifier, X: Any, y: Any, sample_weight: Any, **rows: Any) -> LogitModel:
        """Return the refitted logistic regression of a network that was fitted to these rows.

        ``rows`` are further arguments of ``fit`` about the rows.
        """
        if self.l2 is None:
            if rows.get("soft") is not None:
                raise ValueError(
                    "soft targets are for a refit, which l2=None leaves out: give l2 a number, or 'auto'"
                )
            return network.to_logit()
        return refitted_model(
            network,
            X,
            y,
            sample_weight,
            l2=self.l2,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            soft_weight=self.soft_weight,
            **rows,
        )

    def _learned(self, rows: FitRows) -> NetworkClassifier:
        """Return the fitted network that will be refitted."""
        estimator = self._begun_with()
        frozen = isinstance(estimator, FrozenEstimator)
        network = estimator.estimator if frozen else estimator
        if not can_be_refitted(network):
            made = f"{network.__name__}()" if isinstance(network, type) else "TANClassifier()"
            raise TypeError(
                f"estimator must be a classifier of anbexact with a network, such as {made}, not {network!r}"
            )
        if frozen:
            check_is_fitted(network)
            already: NetworkClassifier = network
            return already
        with later_corrected():
            learned: NetworkClassifier = rows.fitted(clone(network))
        return learned

    @all_or_nothing
    def set_refitted(self, network: NetworkClassifier, model: LogitModel) -> Self:
        """Store a fitted network and its refitted logistic regression; this classifier is then fitted."""
        self.estimator_, self.logit_, self._network = network, model, None
        self.classes_ = model.classes_
        self.n_iter_ = model.refitted.fit.iterations if model.refitted is not None else 0
        self.n_features_in_ = network.n_features_in_
        self.__dict__.pop("feature_names_in_", None)  # an earlier fit may have left them
        if hasattr(network, "feature_names_in_"):
            self.feature_names_in_ = network.feature_names_in_
        return self

    def with_logit(self, model: LogitModel) -> Self:
        """Return a copy of the classifier with another logistic regression, such as one edited by hand.

        Its predictions, explanations, exports and reports are those of the model, and files keep its ``edits``. Its
        ``fit`` learns anew, without them.

        Parameters
        ----------
        model : LogitModel
            :attr:`logit_` after :meth:`~anbexact.adapters.LogitModel.change_shape`,
            :meth:`~anbexact.adapters.LogitModel.remove_arc` or :meth:`~anbexact.adapters.LogitModel.add_arc`.

        Raises
        ------
        ValueError
            If the model does not come from the refit of this classifier.
        """
        own = self.to_logit()
        if model.origin is not own.origin or not (model.learned_again or model.refitted is own.refitted):
            raise ValueError("the model must be an edited logit_ of this classifier")
        found: Self = clone(self).set_refitted(self.estimator_, model)
        return found

    @property
    def class_prior_(self) -> npt.NDArray[np.float64]:
        """The shares of the classes in training: P(class) by ``estimator_`` when no feature is known."""
        check_is_fitted(self)
        return self.estimator_.class_prior_

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        See :meth:`anbexact.NetworkClassifier.explain` and :meth:`anbexact.adapters.LogitModel.explain`.
        """
        return self.to_logit().explain(X, label=label, against=against)

    def to_logit(self) -> LogitModel:
        """Return the refitted logistic regression, ``logit_``."""
        check_is_fitted(self)
        return self.logit_

    def discrete_form(self) -> NetworkClassifier:
        """Return a classifier of the network with the refitted posterior, for other programs.

        Raises
        ------
        ValueError
            If there may be no network with this graph and posterior.
        """
        model = self.to_logit()
        if not model.equivalent:
            raise ValueError(
                "a network of this structure may be unable to represent the refitted posterior "
                f"({model.equivalence_report}). Call logit_.close().to_classifier(), which adds the missing arcs; or "
                "refit a NaiveBayesClassifier, a TANClassifier or a FANClassifier, whose refit always has a network"
            )
        return model.to_classifier()

    @property
    def fidelity_(self) -> Fidelity | None:
        """How closely the predictions for the rows of the fit follow the teacher, if there was one."""
        refitted = self.to_logit().refitted
        return None if refitted is None else refitted.fidelity

    @property
    def structure_(self) -> Structure:
        """The graph, with its score and certificate."""
        return self.logit_.structure

    @property
    def reader_(self) -> Reader:
        """How frames are read, as codes of the states of ``vocabulary_``."""
        return self.to_logit().origin.reader

    @property
    def model_(self) -> LogitModel:
        """The refitted logistic regression, ``logit_``."""
        return self.to_logit()

    def _threads(self) -> int | None:
        """Return the number of threads of the network's classifier."""
        return self.to_logit().origin.n_jobs


def can_be_refitted(estimator: Any) -> bool:
    """Whether a classifier learns a network, from which a refit can start."""
    return isinstance(estimator, NetworkClassifier)
