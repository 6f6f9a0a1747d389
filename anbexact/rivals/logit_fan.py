"""Forests and naive Bayes, both chosen and fitted by conditional likelihood."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import Any

from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.tasks import thread_count
from anbexact._runtime.warn import warn
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.frequencies import compare_refit
from anbexact.classifiers.parameters import NetworkParameters, TimeLimitParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.logit.fit import Effort
from anbexact.models.logit.network import posterior_tables
from anbexact.models.logit.refit import blanket_counts, check_l2, refit
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.tables import Tables, eap_tables
from anbexact.models.structure import Structure
from anbexact.rivals.logit_fan_search import learn_logit_fan
from anbexact.scores import Score
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable

LEAST_L2 = 1e-3
"""Replaces ``l2=0`` if the classes are separated so clearly that no network can represent the posterior."""


@parameter_group
class LogitFANParameters(TimeLimitParameters, NetworkParameters):
    """How a network is fitted by conditional likelihood."""

    structure_score: str = field(default="aic", init=False)
    parameters: str = field(default="eap", init=False)
    smoothing: None = field(default=None, init=False)
    ess: float | str = 1.0
    l2: float | str = "auto"


@register_classifier(
    "logitfan",
    "forest augmented naive Bayes by conditional likelihood (LogitFAN)",
    compared=[Compared("LogitFAN", 170, refitted=False)],
    saved=["l2_"],
)
class LogitFANClassifier(LogitFANParameters, NetworkClassifier):
    """A forest-augmented naive Bayes chosen and fitted by conditional likelihood.

    ``P(c | x) ∝ P(c) Π_i P(x_i | x_π(i), c)``, where a feature has at most one feature parent π(i), and features that
    do not improve the score are disconnected from the class. Starting from naive Bayes, the search adds and removes
    edges between features, and disconnects features, while this raises the conditional log likelihood of the
    equivalent logistic regression minus its number of parameters; see
    :func:`~anbexact.rivals.logit_fan_search.learn_logit_fan` for moves, ties and cost. The network of that structure
    is then fitted by conditional likelihood, with a prior around its generative tables, and has exactly the posterior
    of that fit.

    Parameters
    ----------
    ess : float, default 1.0
        Equivalent sample size of the generative tables.
    l2 : float or "auto", default "auto"
        Precision of the Gaussian prior, around the generative tables, of the log of every table entry. ``"auto"``:
        the value that predicts held-out rows best in cross-validation of the chosen structure. 0: the conditional
        likelihood alone, as in the paper. If the classes are separable, it has no finite maximum; this gives a
        warning, and 0.001 is used instead if a network's tables cannot represent such probabilities.
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, the best structure found so far is used; the final fit
        is not limited.

    ``discretizer``, ``categories``, ``handle_unknown``, ``handle_missing``, ``drop_identifiers``, ``decimal``,
    ``class_weight``, ``n_jobs`` and ``verbose`` are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    structure_ : Structure
        Its ``score`` is the conditional log likelihood at its maximum, minus the number of parameters; in nats.
    l2_ : float
        The value used for ``l2``.

    The other attributes are those of :class:`~anbexact.NetworkClassifier` for given tables. The tables are not
    estimated from counts, so ``partial_fit``, ``ess_``, ``smoothing_`` and ``parameters_`` do not exist.

    Warns
    -----
    UserWarning
        In ``fit``, if the final fit has no finite maximum (with ``l2=0``); the message names the coefficients that
        diverge.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*, section 6.

    Examples
    --------
    >>> from anbexact.classifiers import LogitFANClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> fan = LogitFANClassifier().fit(X, y)
    >>> fan.structure_.feature_edges
    (('head_shape', 'body_shape'),)
    >>> fan.structure_.children("is_monk")
    ('head_shape', 'body_shape', 'jacket_color')
    >>> fan.score(X, y)
    1.0
    """

    _completes = False
    _edges = True
    l2_: float

    @property
    def score_name_(self) -> str:
        """Name of the score of the structure."""
        check_is_fitted(self)
        return "conditional AIC"

    @property
    def partial_fit(self) -> Any:
        """Not supported: rows cannot be added to tables that are not estimated from counts."""
        raise AttributeError(
            f"{type(self).__name__} does not support partial_fit: its tables are not estimated from counts"
        )

    def check_parameters(self) -> None:
        super().check_parameters()
        check_l2(self.l2)
        if isinstance(self.ess, str):
            raise ValueError(f"ess must be a finite number above 0, not {self.ess!r}")

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_logit_fan(
            table, edges=self._edges, time_limit=time_limit, n_jobs=self.n_jobs, progress=self.progress()
        )

    def _estimated(
        self, table: DiscreteTable, structure: Structure, cut_points: dict[Hashable, Cuts], estimation: Estimation
    ) -> TableNetwork:
        """Return the network of a structure, its generative tables refitted to the rows by conditional likelihood."""
        smoothing = estimation.smoothing
        tables = eap_tables(count_families(table, structure), smoothing)

        def relearn(rows: DiscreteTable) -> Tables:
            return eap_tables(blanket_counts(rows, structure), smoothing)

        found = refit(
            table,
            structure,
            tables,
            relearn=relearn,
            l2=self.l2,
            effort=Effort(threads=thread_count(self.n_jobs), progress=self.progress()),
        )
        compare_refit(found)
        complaint = found.complaint(table.vocabulary)
        try:
            fitted = {**tables, **posterior_tables(found.potentials, structure)}
        except ValueError:  # the coefficients grow without bound, and no network can contain such numbers
            found = refit(table, structure, tables, l2=LEAST_L2)
            complaint += f". The classifier is fitted with l2={LEAST_L2:g} instead."
            fitted = {**tables, **posterior_tables(found.potentials, structure)}
        self.l2_ = found.l2
        if complaint:
            warn(complaint)
        return TableNetwork(vocabulary=table.vocabulary, cut_points=cut_points, structure=structure, tables=fitted)


@register_classifier(
    "prunednb",
    "naive Bayes pruned by conditional likelihood (PrunedNB)",
    compared=[Compared("PrunedNB", 165, refitted=False)],
    saved=["l2_"],
)
class PrunedNaiveBayesClassifier(LogitFANClassifier):
    """Naive Bayes without features that add too little, chosen and fitted by conditional likelihood.

    ``P(c | x) ∝ P(c) Π_i P(x_i | c)``. Features are disconnected from the class, one after the other, while this
    raises the conditional log likelihood of the logistic regression minus its number of parameters. This is the
    search of :class:`LogitFANClassifier`, restricted to removing features; everything else is the same.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*, section 6.

    Examples
    --------
    >>> from anbexact.classifiers import PrunedNaiveBayesClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> PrunedNaiveBayesClassifier().fit(X, y).structure_.children("is_monk")
    ('jacket_color',)
    """

    _edges = False
