"""States that refine those of all members of a pool."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.models.coding import common_refinement
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import count_families
from anbexact.models.structure import Structure
from anbexact.scores import BDeu


def common_network(models: Sequence[DiscreteClassifier], rows: tuple[Any, Any, Any]) -> FixedStructureClassifier:
    """Return a naive Bayes on the common refinement of the members' states, estimated from rows.

    Parameters
    ----------
    models : sequence of classifiers
        Fitted.
    rows : (X, y, weights)
        The rows to which they were fitted. They are read as the first one reads them.

    Raises
    ------
    DifferentCodingsError
        If the members have no common states.
    """
    common = common_refinement([model.model_.coding for model in models])
    vocabulary, first = common.vocabulary, models[0]
    reader = replace(
        first.reader_,
        vocabulary=vocabulary,
        cut_points=common.cut_points,
        missing_rules=vocabulary.missing_rules(first.reader_.handle_missing),
        class_weight=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about rows that are left out: the members gave them
        table = reader.table(*rows)
    c = vocabulary.class_name
    structure = Structure.given(c, {name: () if name == c else (c,) for name in vocabulary.names}, float("nan"))
    counts = count_families(table, structure)
    network = TableNetwork.from_counts(
        vocabulary, structure, counts, common.cut_points, Estimation(BDeu(1.0), 1.0, 1.0)
    )
    return FixedStructureClassifier.from_network(
        network,
        feature_names=getattr(first, "feature_names_in_", None),
        ess=1.0,
        handle_unknown=reader.handle_unknown,
        handle_missing=reader.handle_missing,
        n_jobs=first._threads(),
    )
