"""The optimal augmented naive Bayes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from anbexact.classifiers.base import NetworkClassifier
from anbexact.scores import Score
from anbexact.search import learn_anb
from anbexact.search.constraints import Edge
from anbexact.structure import Structure
from anbexact.table import DiscreteTable


class ANBClassifier(NetworkClassifier):
    """The augmented naive Bayes of highest score, proved optimal.

    The class is a parent of every feature, and the acyclic graph over the features maximises the score:
    ``P(c | x) ∝ P(c) Π_i P(x_i | π_i, c)``. See :func:`~anbexact.learn_anb` for the search, its cost (about
    2ⁿ sets for n features) and its tie rule.

    Parameters
    ----------
    structure_score : {"bdeu"} or Score, default "bdeu"
        What the structure maximises. (``score`` is scikit-learn's method.)
    ess : float, default 1.0
        Equivalent sample size of the score ``"bdeu"`` and of the conditional tables.
    parameters : {"eap"}, default "eap"
        How the conditional tables are estimated.
    max_parents : int, optional
        Most feature parents of a feature, the class not counted; 0 is naive Bayes.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs between features that must, and must not, be there (``"x0"``, ``"x1"``, ... name the columns
        of an array).
    discretizer : "auto", None or transformer, default "auto"
        What cuts numeric columns with more than 10 distinct values: ``"auto"`` stands for
        :class:`~anbexact.MedianDiscretizer`; None refuses such columns. A transformer must offer
        ``fit(X, y, sample_weight)`` and ``cut_points_``.
    categories : mapping of column name to states, optional
        Declared states. Else those of a categorical dtype, else the observed values.
    handle_unknown : {"marginalize", "error"}, default "marginalize"
        A value at prediction that is no state is summed out, or refused.
    handle_missing : {"marginalize", "error", "own_state"}, default "marginalize"
        A missing cell is summed out at prediction and its row left out of training with a warning; or
        it is refused; or it is a state of its own, ``"(missing)"``.
    time_limit : float, optional
        Seconds of search after which the best structure so far is taken, with its gap.
    memory_limit : float, optional
        Bytes that the search may use; all that is available by default.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. Results do not depend on it.
    verbose : int, default 0
        Above 0, progress is shown on standard error.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    vocabulary_ : Vocabulary
        Names and states of all variables.
    structure_ : Structure
        The graph, with its score and certificate.
    conditional_tables_ : dict
        P(variable | parents) of every variable.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The same network for pgmpy, built and checked on first use.
    cut_points_ : dict
        Cut points of every column that was discretised.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where all of them are strings.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> anb = ANBClassifier().fit(X, y)
    >>> anb.score(X, y)
    1.0
    >>> anb.structure_.feature_edges
    (('head_shape', 'body_shape'), ('jacket_color', 'body_shape'))
    """

    def __init__(
        self,
        *,
        structure_score: str | Score = "bdeu",
        ess: float = 1.0,
        parameters: str = "eap",
        max_parents: int | None = None,
        required_edges: Iterable[Edge] = (),
        forbidden_edges: Iterable[Edge] = (),
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        time_limit: float | None = None,
        memory_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure_score = structure_score
        self.ess = ess
        self.parameters = parameters
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.discretizer = discretizer
        self.categories = categories
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, table: DiscreteTable, score: Score) -> Structure:
        return learn_anb(
            table,
            score,
            max_parents=self.max_parents,
            required=self.required_edges,
            forbidden=self.forbidden_edges,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            n_jobs=self.n_jobs,
            progress=self._progress(),
        )
