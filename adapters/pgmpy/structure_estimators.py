"""Estimators of optimal structures with pgmpy's interface: ``estimate()`` returns a ``DAG`` from a data frame."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd

from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers import ANBClassifier, GBNClassifier, NetworkClassifier, TANClassifier
from anbexact.models.structure import Structure
from anbexact.search import learn_gbn, learn_tan
from anbexact.tables.table import DiscreteTable

with warnings.catch_warnings():  # pgmpy warns on import about names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.base import DAG
    from pgmpy.estimators import StructureEstimator

__all__ = ["ANBEstimator", "GBNEstimator", "TANEstimator"]

WEIGHT = "_weight"
"""The column in which pgmpy expects the weights of rows."""
SEARCH_OPTIONS = {
    "max_parents": "max_parents",
    "required_edges": "required",
    "forbidden_edges": "forbidden",
    "time_limit": "time_limit",
    "memory_limit": "memory_limit",
    "n_jobs": "n_jobs",
}
"""Parameters of the classifiers, and the parameters of the searches that they stand for."""


class _ExactEstimator(StructureEstimator):  # type: ignore[misc]  # pgmpy has no types
    """A structure estimator that uses a classifier of this package, or its search.

    Parameters
    ----------
    data : DataFrame
        Discrete variables, one per column. Cut continuous columns beforehand; pgmpy would treat each number as a
        state.
    class_node : node, optional
        The column of the class. GBNEstimator and TANEstimator need none: without a class, they learn the optimal
        network, or tree, of all variables.
    state_names : mapping of node to states, optional
        As in pgmpy's estimators. By default, the states of a variable are the observed ones.
    **parameters
        Parameters of the classifier: ``structure_score``, ``ess``, ``max_parents``, ``required_edges``,
        ``time_limit``, ... Without a class, those of the score (``ess`` is then 1 by default) and of the search.

    Attributes
    ----------
    structure_ : Structure
        The structure that :meth:`estimate` has found, with its certificate.
    classifier_ : NetworkClassifier
        With a class, the classifier that it has fitted.

    Raises
    ------
    TypeError
        If the data is not a pandas frame, a class is needed and not given, or a parameter needs a class.
    ValueError
        If there is no such column.
    """

    _classifier: ClassVar[type[NetworkClassifier]]
    _search: ClassVar[Callable[..., Structure] | None] = None
    """The search for tables without a class; None if it needs one."""
    structure_: Structure

    def __init__(
        self,
        data: pd.DataFrame,
        class_node: Hashable | None = None,
        state_names: Mapping[Hashable, Sequence[Any]] | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(data, pd.DataFrame):
            raise TypeError(f"data must be a pandas DataFrame, not a {type(data).__name__}")
        if class_node is None:
            self._check_without_class(parameters)
        elif class_node not in data.columns:
            raise ValueError(f"class_node: {class_node!r} is not a column; the columns are {list(data.columns)}")
        super().__init__(data=data, state_names=state_names)
        self.class_node = class_node
        self.parameters = parameters

    @all_or_nothing
    def estimate(self, weighted: bool = False) -> DAG:
        """Return the optimal structure, with all columns as nodes in their order.

        Parameters
        ----------
        weighted : bool, default False
            Whether the column ``"_weight"`` contains the weights of rows; it is then not a node.

        Returns
        -------
        DAG
            Ready for ``DiscreteBayesianNetwork`` and pgmpy's estimators of parameters.

        Raises
        ------
        ValueError
            If ``weighted`` is True and there is no column ``"_weight"``, and for the same reasons as the classifier's
            ``fit``.
        """
        if weighted and WEIGHT not in self.data.columns:
            raise ValueError(f"weighted=True needs a column {WEIGHT!r} with the weights of the rows")
        rows = self.data.drop(columns=[WEIGHT]) if weighted else self.data
        weights = self.data[WEIGHT] if weighted else None
        features = rows if self.class_node is None else rows.drop(columns=[self.class_node])
        categories = {name: [state for state in self.state_names[name] if pd.notna(state)] for name in features}
        classifier = self._classifier(discretizer=None, categories=categories, **self.parameters)
        if self.class_node is None:
            self.structure_ = self._learned(classifier, rows, weights, categories)
        else:
            self.classifier_ = classifier.fit(features, rows[self.class_node], sample_weight=weights)
            self.structure_ = classifier.structure_
        graph = DAG()
        graph.add_nodes_from(rows.columns)
        graph.add_edges_from(self.structure_.edges)
        return graph

    def _check_without_class(self, parameters: Mapping[str, Any]) -> None:
        """Refuse to do without a class where the structure needs one, and parameters that do."""
        name = type(self).__name__
        if self._search is None:
            raise TypeError(f"{name} needs class_node=, the column of the class: GBNEstimator does without")
        known = {"structure_score", "ess", *SEARCH_OPTIONS}
        others = [given for given in parameters if given not in known]
        if others:
            raise TypeError(f"{name} has no parameter {others[0]!r} without class_node=; it has {sorted(known)}")

    def _learned(
        self, unfitted: NetworkClassifier, rows: pd.DataFrame, weights: Any, categories: Mapping[Hashable, Any]
    ) -> Structure:
        """Return the structure of a table without a class, by the score that an unfitted classifier has."""
        unfitted.check_parameters()
        score = unfitted.score_of(1.0 if unfitted.ess == "auto" else float(unfitted.ess))
        options = {SEARCH_OPTIONS[key]: value for key, value in self.parameters.items() if key in SEARCH_OPTIONS}
        table = DiscreteTable.from_frame(rows, sample_weight=weights, categories=categories)
        assert self._search is not None
        return self._search(table, score, **options)


class ANBEstimator(_ExactEstimator):
    __doc__ = f"""The optimal augmented naive Bayes structure, with any arcs between features (``ANBClassifier``).
{(_ExactEstimator.__doc__ or "").partition(chr(10))[2]}
    Examples
    --------
    >>> import pandas as pd
    >>> from anbexact.adapters import ANBEstimator
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> graph = ANBEstimator(X.assign(is_monk=y), "is_monk", ess=1.0).estimate()
    >>> sorted(graph.predecessors("body_shape"))
    ['head_shape', 'is_monk', 'jacket_color']
    """
    _classifier = ANBClassifier


class GBNEstimator(_ExactEstimator):
    __doc__ = f"""The optimal network of all variables, by any arcs, with or without a class (``GBNClassifier``).
{(_ExactEstimator.__doc__ or "").partition(chr(10))[2]}
    Examples
    --------
    >>> from anbexact.adapters import GBNEstimator
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, _ = load_tic_tac_toe()
    >>> estimator = GBNEstimator(X.astype(object))
    >>> len(estimator.estimate().edges), estimator.structure_.certificate.optimal
    (10, True)
    """
    _classifier = GBNClassifier
    _search = staticmethod(learn_gbn)


class TANEstimator(_ExactEstimator):
    __doc__ = f"""The optimal tree augmented naive Bayes (``TANClassifier``), or tree without a class (Chow and Liu).
{(_ExactEstimator.__doc__ or "").partition(chr(10))[2]}"""
    _classifier = TANClassifier
    _search = staticmethod(learn_tan)
