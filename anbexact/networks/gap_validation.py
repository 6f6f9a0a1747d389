"""Rows with missing cells that are held out: predicted from the expected counts of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact.networks.gap_expectation import Expected
from anbexact.networks.posterior import Posterior
from anbexact.parameters.counts import count_families
from anbexact.parameters.smoothing import best_held_out_smoothing
from anbexact.parameters.tables import eap_tables
from anbexact.structures.structure import Structure
from anbexact.tables.folds import split_weights
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.table import DiscreteTable

FOLDS_OF_SMOOTHING = 5


class GapHeldOut:
    """The conditional log likelihood of held-out rows, their missing cells summed out, by the EAP tables of others.

    Parameters
    ----------
    learned : DiscreteTable
        Completions of the rows to count.
    held_out : IncompleteTable
        Rows to predict, each with a class.
    structure : Structure
        Over the variables of the tables.
    """

    def __init__(self, learned: DiscreteTable, held_out: IncompleteTable, structure: Structure) -> None:
        self._counts = count_families(learned, structure)
        self._class_name = structure.class_name
        self._features = held_out.vocabulary.features
        self._codes = held_out.feature_codes()
        self._labels = held_out.class_codes().astype(np.int64)
        self._weights = held_out.weights

    def log_likelihoods(self, ess: Floats) -> Floats:
        """Return the conditional log likelihood for tables of each equivalent sample size; totals in nats."""
        return np.array([self._log_likelihood(float(size)) for size in ess])

    def _log_likelihood(self, ess: float) -> float:
        posterior = Posterior(eap_tables(self._counts, ess), self._class_name, self._features)
        joint = posterior.log_joint(self._codes, 1)
        of_truth = joint[np.arange(len(self._labels)), self._labels]
        return float((of_truth - logsumexp(joint, axis=1)) @ self._weights)


class GapValidation:
    """Folds of the rows of an incomplete table, those to learn from completed as a network expects.

    Parameters
    ----------
    expected : Expected
        What the network expects of all rows.
    most_smoothing : float
        Largest equivalent sample size of tables that is tried.
    """

    def __init__(self, expected: Expected, most_smoothing: float) -> None:
        self._expected, self._most = expected, most_smoothing

    def split(self, _: DiscreteTable, folds: int) -> Sequence[tuple[DiscreteTable, IncompleteTable]]:
        """Return, for every fold, completions of the rows of the others, and its own rows that have a class.

        Rows with the same observed cells come into folds as :func:`~anbexact.tables.folds.split_weights` says. A
        fold that would leave nothing to learn from, or to predict, is left out.
        """
        table = self._expected.expectation.table
        known = np.flatnonzero(table.class_codes() >= 0)
        assert table.vocabulary.class_name is not None
        labels = table.class_codes()[known]
        group = np.unique(table.feature_codes()[:, known], axis=1, return_inverse=True)[1].reshape(-1)
        totals = np.zeros((int(group.max()) + 1, table.vocabulary.arity(table.vocabulary.class_name)))
        totals[group, labels] = table.weights[known]
        found = []
        for part in split_weights(totals, folds):
            held = np.zeros(len(table.weights))
            held[known] = part[group, labels]
            rows = np.flatnonzero(held)
            if len(rows) and held.sum() < table.weight_sum:
                others = self._expected.rows(np.maximum(table.weights - held, 0.0))
                found.append((others, table.rows(rows, held[rows])))
        return found

    def best_smoothing(self, rows: DiscreteTable, structure: Structure) -> float:
        """Return the equivalent sample size of the tables that predicts the rows of 5 folds best."""
        held_out = [GapHeldOut(*fold, structure) for fold in self.split(rows, FOLDS_OF_SMOOTHING)]
        return best_held_out_smoothing(held_out, self._most)[0]  # type: ignore[arg-type]  # they answer alike
