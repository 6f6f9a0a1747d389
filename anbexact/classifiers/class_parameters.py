"""The network with the fewest class parameters among I-maps."""

from __future__ import annotations

from collections.abc import Hashable

from anbexact.classifiers.exact import ExactClassifier
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search import learn_gbn, learn_mcp
from anbexact.search.exact.class_parameters import class_parameters
from anbexact.tables.table import DiscreteTable


@register_classifier(
    "mcp",
    "I-map of minimal class parameters (MCP)",
    compared=[Compared("MCP", 115)],
)
class MinimalClassParametersClassifier(ExactClassifier):
    """The network with the fewest class parameters among I-maps, with a proof that none has fewer (MCP).

    The class has no parents. Every order of the features has an I-map according to the score, in which the parents of
    a feature are the highest-scoring subset of the class and the features before it. This classifier is the I-map
    with the fewest parameters of the class and its children, the only parameters on which P(C | x) depends; among
    I-maps with equally few, it is the one with the highest score. See :func:`~anbexact.search.learn_mcp` for the
    search and its proof.

    As the number of rows grows, its P(C | x) approaches the true one with as few parameters as possible for a network
    in which the class has no parents, whether or not the rows come from a Bayesian network. Features that do not
    matter drop out: ``irrelevant_`` names them. With few rows, BDeu finds few dependencies, so many features of minor
    importance drop out as well; the :class:`~anbexact.ANBClassifier` keeps all features.

    Parameters
    ----------
    max_parents : int, optional
        Maximum number of parents of a feature, counting the class. A limit allows more features than those whose
        subsets all fit into memory.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs that the structure must, or must not, contain. The class can be a parent in them, by its name
        (``"class"`` if ``y`` has no name).
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, a greedy structure is used, without a proof.
    memory_limit : float, optional
        Maximum memory of the search in bytes; by default, all available memory. About 24 features fit into 8 GB.

    The other parameters are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    class_parameters_ : int
        Free probabilities of the class and its children: (s - 1) + Σ_{i ∈ ch(C)} (r_i - 1) q_i.
    irrelevant_ : tuple
        The features outside the Markov blanket of the class: their cells do not change P(C | x), unless cells of
        other features are missing.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Sugahara, Kato and Ueno, *Learning Bayesian network classifiers to minimize the class variable parameters*, AAAI
    2024; with Cussens, Journal of Machine Learning Research 27(21), 2026.

    Examples
    --------
    >>> from anbexact.classifiers import MinimalClassParametersClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> mcp = MinimalClassParametersClassifier(ess=1.0).fit(X, y)
    >>> mcp.irrelevant_
    ('is_smiling', 'holding', 'has_tie')
    >>> mcp.class_parameters_
    19
    >>> mcp.score(X, y)
    1.0
    """

    _search = staticmethod(learn_mcp)  # type: ignore[assignment]  # its limits are keyword arguments

    def _search_within(
        self, table: DiscreteTable, score: Score, max_parents: int, time_limit: float | None
    ) -> Structure:
        """Return the best general network with few parents, which only serves to choose equivalent sample sizes."""
        return learn_gbn(table, score, **self._limits(max_parents, time_limit))

    @property
    def class_parameters_(self) -> int:
        """Free probabilities of the class and its children."""
        return class_parameters(self.structure_.parents, self.structure_.class_name, self.vocabulary_.arity)

    @property
    def irrelevant_(self) -> tuple[Hashable, ...]:
        """The features outside the Markov blanket of the class."""
        blanket = self.structure_.markov_blanket(self.structure_.class_name)
        return tuple(name for name in self.structure_.features if name not in blanket)
