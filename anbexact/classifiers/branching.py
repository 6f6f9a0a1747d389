"""Trees, forests and k-graphs over the features, with the class as a parent of every feature."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.classifiers.parameters import BranchingParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import ACLL, Score
from anbexact.search import learn_ckg, learn_fan, learn_tan
from anbexact.tables.table import DiscreteTable


class BranchingClassifier(BranchingParameters, MeasuredClassifier):
    """The common base of the classifiers of this module.

    Parameters
    ----------
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs between features that the structure must, or must not, contain (``"x0"``, ``"x1"``, ... name the columns
        of an array).
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, naive Bayes (with the required arcs) is used and not
        reported as optimal.
    """

    @abstractmethod
    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the structure; a search takes no longer than ``time_limit`` seconds."""

    def _limits(self, time_limit: float | None) -> dict[str, Any]:
        """Return the common arguments of the searches of this module."""
        return {
            "required": self.required_edges,
            "forbidden": self.forbidden_edges,
            "time_limit": time_limit,
            "n_jobs": self.n_jobs,
            "progress": self.progress(),
        }


OF_ACLL = {"structure_score": "acll", "parameters": "acll"}
"""Structure and tables by aCLL, as its authors learn them."""


@register_classifier(
    "tan",
    "tree augmented naive Bayes (TAN)",
    compared=[
        Compared("TAN", 20),
        Compared("TAN-LL", 21, refitted=False, parameters={"structure_score": "ll", "parameters": "friedman"}),
        Compared("TAN-aCLL", 22, refitted=False, parameters={"structure_score": "acll", "ess": 1.0}),
        Compared("TAN-aCLL uniform", 23, refitted=False, parameters=OF_ACLL | {"structure_score": ACLL("uniform")}),
        Compared("TAN-aCLL Dirichlet", 24, refitted=False, parameters=OF_ACLL),
        Compared("TAN universal", 190, refitted=False, parameters={"continuous": "universal"}),
    ],
    networks="tan",
)
class TANClassifier(BranchingClassifier):
    """Tree augmented naive Bayes (TAN): the highest-scoring spanning tree over the features.

    ``P(c | x) ∝ P(c) Π_i P(x_i | x_π(i), c)``, where every feature but the root of the tree has one feature parent
    π(i). See :func:`~anbexact.learn_tan` for the search, its cost and its tie rule.

    The parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier` and,
    for ``continuous``, :class:`~anbexact.classifiers.MeasuredClassifier`.

    References
    ----------
    Friedman, Geiger and Goldszmidt, *Bayesian network classifiers*, Machine Learning 29 (1997).

    Examples
    --------
    >>> from anbexact import TANClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> tan = TANClassifier().fit(X, y)
    >>> len(tan.structure_.feature_edges)
    5
    >>> round(tan.score(X, y), 3)
    1.0
    """

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_tan(table, score, **self._limits(time_limit))


@register_classifier("fan", "forest augmented naive Bayes (FAN)", compared=[Compared("FAN", 30)], networks="fan")
class FANClassifier(BranchingClassifier):
    """Forest augmented naive Bayes (FAN): the highest-scoring forest over the features.

    ``P(c | x) ∝ P(c) Π_i P(x_i | x_π(i), c)``, where a feature has at most one feature parent π(i), which it has only
    if that raises the score. See :func:`~anbexact.learn_fan` for the search, its cost and its tie rule.

    Parameters and fitted attributes are those of :class:`~anbexact.TANClassifier`.

    References
    ----------
    Edmonds, *Optimum branchings*, J. Research of the National Bureau of Standards 71B (1967).

    Examples
    --------
    >>> from anbexact import FANClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> FANClassifier().fit(X, y).structure_.feature_edges
    (('head_shape', 'body_shape'),)
    """

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_fan(table, score, **self._limits(time_limit))


@parameter_group
class CkGParameters(BranchingParameters):
    """Limit on the parents of a feature in a k-graph, and which features they are chosen from."""

    k: int = 2
    order: str = "ancestors"


@register_classifier("ckg", "consistent k-graph (CkG)", compared=[Compared("C2G", 40, parameters={"k": 2})])
class CkGClassifier(CkGParameters, BranchingClassifier):
    """The best parents of every feature, at most k, among those before it in the optimal tree (CkG).

    ``P(c | x) ∝ P(c) Π_i P(x_i | π_i, c)``, where the feature parents π_i are the best set of at most k of the
    feature's ancestors in the tree that :class:`~anbexact.TANClassifier` learns, or of all features before it in the
    breadth-first order of that tree. See :func:`~anbexact.learn_ckg` for the search, its cost, its tie rule, and in
    which sense it is optimal.

    Parameters
    ----------
    k : int, default 2
        Maximum number of feature parents of a feature, 1 or more.
    order : {"ancestors", "breadth_first"}, default "ancestors"
        The features from which the feature parents are chosen. The breadth-first order offers more of them, so no
        score is lower.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.TANClassifier`.

    References
    ----------
    Carvalho and Oliveira, *Learning Bayesian Networks Consistent with the Optimal Branching*, ICMLA 2007; the
    breadth-first order: Carvalho, Oliveira and Sagot, *Efficient Learning of Bayesian Network Classifiers: An
    Extension to the TAN Classifier*, Australian Joint Conference on Artificial Intelligence 2007.

    Examples
    --------
    >>> from anbexact import CkGClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> CkGClassifier(k=2).fit(X, y).structure_.certificate.method
    'best consistent 2-graph of the optimal branching'
    """

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_ckg(table, score, k=self.k, order=self.order, **self._limits(time_limit))
