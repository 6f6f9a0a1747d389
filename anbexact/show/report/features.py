"""How much every feature tells about the class."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact.classifiers import NetworkClassifier, RefittedClassifier
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.models.structure import Structure
from anbexact.scores import LL
from anbexact.selection import log_bayes_factors
from anbexact.show.report.facts import learned_network
from anbexact.tables.table import DiscreteTable

if TYPE_CHECKING:
    import pandas as pd


def feature_report(
    classifier: NetworkClassifier | RefittedClassifier, X: Any, y: Any, sample_weight: Any = None
) -> pd.DataFrame:
    """Return, for every feature, the evidence that the class depends on it, and its information in the network.

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        Fitted; of a refit, the network that it was made of.
    X, y, sample_weight
        The rows that the figures describe, as in ``fit``: those that the classifier was learned from, or others.
        Columns that were measured, not discretised, are divided into the cells of their most probable levels.

    Returns
    -------
    DataFrame
        Indexed by feature, in table order:

        - ``log_bayes_factor``: ln BF(C, X_i) in nats, total; below 0 the data speak for dependence (see
          :func:`~anbexact.selection.log_bayes_factor`; by the classifier's ``ess_``, or 1);
        - ``information``: conditional mutual information of the class and the feature, in nats per row: for a child
          of the class given its other parents, for a parent of the class given the class's other parents; NaN for a
          feature without an arc from or to the class;
        - ``rank``: 1 for the lowest Bayes factor.

    Raises
    ------
    TypeError
        If the classifier has no network.
    ValueError
        For a value or class that is not a state of the classifier's vocabulary, or if no row is complete.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.report import feature_report
    >>> X, y = load_monks(1)
    >>> report = feature_report(ANBClassifier(ess=1.0).fit(X, y), X, y)
    >>> report.loc["jacket_color"].round(2).to_dict()
    {'log_bayes_factor': -84.33, 'information': 0.22, 'rank': 1.0}
    """
    import pandas as pd

    from anbexact.show.notebook.frames import FeatureFrame

    network = learned_network(classifier)
    if network is None:
        raise TypeError(
            f"{type(classifier).__name__} has no network in which its features could be compared: pass a fitted "
            "network classifier"
        )
    learned = first_table_classifier(classifier)
    reader = replace(learned.reader_, vocabulary=network.discrete_vocabulary, cut_points=network.discrete_cut_points)
    table = reader.table(X, y, sample_weight)
    if table.weight_sum == 0:
        raise ValueError(
            "every row has a missing feature, so the features cannot be assessed: impute the missing cells"
        )
    features = list(table.vocabulary.features)
    factors = log_bayes_factors(table, ess=getattr(learned, "ess_", 1.0), n_jobs=learned.n_jobs)
    told = [_information(table, network.structure, name) for name in features]
    ranks = pd.Series(factors).round(9).rank(method="min").astype(int)
    columns: dict[str, Any] = {"log_bayes_factor": factors, "information": told, "rank": ranks.to_numpy()}
    return FeatureFrame(columns, index=pd.Index(features, name="feature"))


def _information(table: DiscreteTable, structure: Structure, name: Hashable) -> float:
    """Return the conditional mutual information of the class and a feature that is adjacent to it; nats per row."""
    class_name = structure.class_name
    if class_name in structure.parents[name]:
        child, parent = name, class_name
    elif name in structure.parents[class_name]:
        child, parent = class_name, name
    else:
        return np.nan
    parents = structure.parents[child]
    others = [other for other in parents if other != parent]
    gain = LL().local_score(table, child, list(parents)) - LL().local_score(table, child, others)
    return max(gain, 0.0) / table.weight_sum
