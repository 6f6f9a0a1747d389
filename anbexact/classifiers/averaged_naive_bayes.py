"""Naive Bayes averaged over all selections of features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from anbexact.classifiers.derived_tables import DerivedTablesClassifier
from anbexact.classifiers.parameters import NetworkParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.scores import Score
from anbexact.tables.table import DiscreteTable


@parameter_group
class AveragedNaiveBayesParameters(NetworkParameters):
    """How probable it is a priori that a feature depends on the class."""

    arc_prior: float = 0.5


@register_classifier(
    "manb",
    "model-averaged naive Bayes (MANB)",
    compared=[Compared("MANB", 14, refitted=False)],
    saved=["arc_probabilities_", "sample_sizes_"],
)
class AveragedNaiveBayesClassifier(AveragedNaiveBayesParameters, DerivedTablesClassifier):
    """Naive Bayes averaged over all 2ⁿ selections of its n features (MANB).

    A priori, every feature depends on the class with probability p, independently of the others. Given rows D, it
    depends on the class with probability

        π_i = p exp(local(i | C)) / [p exp(local(i | C)) + (1 - p) exp(local(i | ∅))],

    where local(·) is the local score, which for BDeu is a log marginal likelihood. The mean of the joint
    distributions of all selections, weighted by their posterior probabilities, is again a naive Bayes, with the
    tables

        P(x_i | c) = π_i P(x_i | c, D) + (1 - π_i) P(x_i | D),

    which are expected a posteriori estimates. Features that carry no information about the class thus lose their
    influence gradually. The classifier has no counts, because counts do not determine its tables, so rows cannot be
    added.

    Parameters
    ----------
    arc_prior : float, default 0.5
        Prior probability p that a feature depends on the class, above 0 and at most 1; 1 is naive Bayes.

    The other parameters are those of :class:`~anbexact.NetworkClassifier`; ``parameters`` must be ``"eap"``.

    Attributes
    ----------
    arc_probabilities_ : (features,) float64
        Posterior probability π_i that a feature depends on the class, in the order of the features.
    sample_sizes_ : (2,) float64
        The values used for ``ess`` and ``smoothing``.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Dash and Cooper, *Model averaging for prediction with discrete Bayesian networks*, Journal of Machine Learning
    Research 5 (2004), section 4.

    Examples
    --------
    >>> from anbexact.classifiers import AveragedNaiveBayesClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(3)
    >>> manb = AveragedNaiveBayesClassifier(ess=1.0).fit(X, y)
    >>> manb.arc_probabilities_.round(2).tolist()
    [0.0, 1.0, 0.03, 0.0, 1.0, 0.03]
    """

    arc_probabilities_: npt.NDArray[np.float64]

    def check_parameters(self) -> None:
        super().check_parameters()
        if not isinstance(self.arc_prior, int | float) or not 0 < self.arc_prior <= 1:
            raise ValueError(f"arc_prior must be a number above 0, up to 1, not {self.arc_prior!r}")
        if self.parameters != "eap":
            raise ValueError(
                f"parameters must be 'eap' for a mean over selections of features, not {self.parameters!r}"
            )

    def _derived(self, table: DiscreteTable, network: TableNetwork) -> Tables:
        class_name, features = network.structure.class_name, table.vocabulary.features
        score: Score = self.score_of(self.ess_)
        gains = [
            score.local_score(table, name, [class_name]) - score.local_score(table, name, []) for name in features
        ]
        with np.errstate(divide="ignore"):
            odds = np.log(self.arc_prior) - np.log1p(-float(self.arc_prior))
        self.arc_probabilities_ = expit(np.array(gains) + odds)
        tables = dict(network.tables)
        for name, probability in zip(features, self.arc_probabilities_, strict=True):
            counts = table.counts([name]) + self.smoothing_ / table.vocabulary.arity(name)
            alone = (counts / counts.sum())[:, None]
            values = probability * network.tables[name].values + (1 - probability) * alone
            tables[name] = ConditionalTable(name, (class_name,), values)
        return tables
