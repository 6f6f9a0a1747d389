"""Estimators of optimal structures with pgmpy's interface: ``estimate()`` returns a ``DAG`` from a data frame."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd

from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers import ANBClassifier, GBNClassifier, NetworkClassifier, TANClassifier

with warnings.catch_warnings():  # pgmpy warns on import about names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.base import DAG
    from pgmpy.estimators import StructureEstimator

__all__ = ["ANBEstimator", "GBNEstimator", "TANEstimator"]

WEIGHT = "_weight"
"""The column in which pgmpy expects the weights of rows."""


class _ExactEstimator(StructureEstimator):  # type: ignore[misc]  # pgmpy has no types
    """A structure estimator that uses a classifier of this package.

    Parameters
    ----------
    data : DataFrame
        Discrete variables, one per column. Cut continuous columns beforehand; pgmpy would treat each number as a
        state.
    class_node : node
        The column of the class.
    state_names : mapping of node to states, optional
        As in pgmpy's estimators. By default, the states of a variable are the observed ones.
    **parameters
        Parameters of the classifier: ``structure_score``, ``ess``, ``max_parents``, ``required_edges``,
        ``time_limit``, ...

    Attributes
    ----------
    classifier_ : NetworkClassifier
        The classifier that :meth:`estimate` has fitted, with its ``structure_`` and the certificate.

    Raises
    ------
    TypeError
        If the data is not a pandas frame.
    ValueError
        If there is no such column.
    """

    _classifier: ClassVar[type[NetworkClassifier]]

    def __init__(
        self,
        data: pd.DataFrame,
        class_node: Hashable,
        state_names: Mapping[Hashable, Sequence[Any]] | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(data, pd.DataFrame):
            raise TypeError(f"data must be a pandas DataFrame, not a {type(data).__name__}")
        if class_node not in data.columns:
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
        features = rows.drop(columns=[self.class_node])
        categories = {name: [state for state in self.state_names[name] if pd.notna(state)] for name in features}
        self.classifier_ = self._classifier(discretizer=None, categories=categories, **self.parameters)
        self.classifier_.fit(features, rows[self.class_node], sample_weight=self.data[WEIGHT] if weighted else None)
        graph = DAG()
        graph.add_nodes_from(rows.columns)
        graph.add_edges_from(self.classifier_.structure_.edges)
        return graph


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
    __doc__ = f"""The optimal network of all variables, class included, by any arcs (``GBNClassifier``).
{(_ExactEstimator.__doc__ or "").partition(chr(10))[2]}"""
    _classifier = GBNClassifier


class TANEstimator(_ExactEstimator):
    __doc__ = f"""The optimal tree-augmented naive Bayes structure (``TANClassifier``).
{(_ExactEstimator.__doc__ or "").partition(chr(10))[2]}"""
    _classifier = TANClassifier
