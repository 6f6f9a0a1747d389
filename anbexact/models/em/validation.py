"""Cross-validation of rows with missing cells: held-out rows are predicted from the expected counts of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact.models.em.expectation import CompletionExpectation, Expected
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.smoothing import best_held_out_smoothing, most_repetitions
from anbexact.models.parameters.tables import Tables, eap_tables
from anbexact.models.structure import Structure
from anbexact.tables.folds import SEED, split_weights
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.table import DiscreteTable

FOLDS_OF_SMOOTHING = 5
"""Number of folds for the choice of smoothing if no structure is learned in the folds."""
FIRST_ROUNDS = 4
"""Number of rounds at the largest equivalent sample size, which is considered first."""
Start = Callable[[IncompleteTable], Tables]
"""Returns a first network of rows with missing cells."""


@dataclass(frozen=True, eq=False)
class HeldOutRows(IncompleteTable):
    """Held-out rows, each with a class, and the first E-step of the other rows.

    Attributes
    ----------
    first : Expected
        The E-step of the other rows under their first network.
    learned : (rows,) float64
        The weights of all rows in training: 0 for a row that is held out with its whole weight.
    """

    first: Expected
    learned: Floats


class IncompleteHeldOut:
    """The conditional log likelihood of held-out rows, by the EAP tables of other rows; missing cells are summed out.

    The tables follow from expectation maximisation over the other rows alone, so that no held-out cell helps to
    complete them. Equivalent sample sizes are considered from the largest to the smallest, with one round each that
    starts from the tables of the size before.

    Parameters
    ----------
    _ : DiscreteTable
        Completions of the other rows.
    held_out : HeldOutRows
        Rows to predict.
    structure : Structure
        Over the variables of the tables.
    """

    def __init__(self, _: DiscreteTable, held_out: HeldOutRows, structure: Structure) -> None:
        self._rows, self._structure = held_out, structure
        self._codes = held_out.feature_codes()
        self._labels = held_out.class_codes().astype(np.int64)

    def log_likelihoods(self, ess: Floats) -> Floats:
        """Return the conditional log likelihood for tables of each equivalent sample size; totals in nats."""
        found = np.zeros(len(ess))
        first, learned, deadline = self._rows.first, self._rows.learned, Deadline()
        counts = first.counts(self._structure, learned)
        families = first.expectation.of_families(self._structure)
        for step, k in enumerate(np.argsort(-ess)):
            if deadline.passed:  # after an interrupt; the results are not used then
                break
            for _ in range(1 if step else FIRST_ROUNDS):
                tables = eap_tables(counts, float(ess[k]))
                counts = families.under(tables, learned)[1]
            found[k] = self._log_likelihood(tables)
        return found

    def _log_likelihood(self, tables: Tables) -> float:
        """Return the conditional log likelihood of the held-out rows; total in nats."""
        posterior = Posterior(tables, self._structure.class_name, self._rows.vocabulary.features)
        joint = posterior.log_joint(self._codes, 1)
        true_class_logs = joint[np.arange(len(self._labels)), self._labels]
        return float((true_class_logs - logsumexp(joint, axis=1)) @ self._rows.weights)


class IncompleteValidation:
    """Folds of the rows of an incomplete table.

    Parameters
    ----------
    expectation : CompletionExpectation
        The rows.
    start : callable
        ``start(table)`` returns a first network of rows with missing cells.
    """

    def __init__(self, expectation: CompletionExpectation, start: Start) -> None:
        self._expectation, self._start = expectation, start

    def split(self, _: DiscreteTable, folds: int, seed: int = SEED) -> Sequence[tuple[DiscreteTable, HeldOutRows]]:
        """Return, for every fold, the completed rows of the other folds, and its own rows that have a class.

        The training rows are completed by a first network of their own. Rows with the same observed cells are
        assigned to folds by :func:`~anbexact.tables.folds.split_weights`. A fold that would leave no rows to learn
        from, or to predict, is left out.
        """
        table = self._expectation.table
        known = np.flatnonzero(table.class_codes() >= 0)
        assert table.vocabulary.class_name is not None
        labels = table.class_codes()[known]
        group = np.unique(table.feature_codes()[:, known], axis=1, return_inverse=True)[1].reshape(-1)
        totals = np.zeros((int(group.max()) + 1, table.vocabulary.arity(table.vocabulary.class_name)))
        totals[group, labels] = table.weights[known]
        found = []
        for part in split_weights(totals, folds, seed):
            held = np.zeros(len(table.weights))
            held[known] = part[group, labels]
            rows = np.flatnonzero(held)
            learned = np.maximum(table.weights - held, 0.0)
            others = np.flatnonzero(learned)
            if len(rows) and len(others):
                first = self._expectation.under(self._start(table.rows(others, learned[others])))
                own = HeldOutRows(
                    table.vocabulary, table.codes[rows], held[rows], len(rows), first=first, learned=learned
                )
                found.append((first.rows(learned), own))
        return found

    def split_completed(
        self, rows: DiscreteTable, folds: int, seed: int
    ) -> Sequence[tuple[DiscreteTable, DiscreteTable]]:
        """Return the folds of :meth:`split`; the first network of the other rows completes the held-out rows, too."""
        weights = self._expectation.table.weights
        return [
            (learned, own.first.rows(np.maximum(weights - own.learned, 0.0)))
            for learned, own in self.split(rows, folds, seed)
        ]

    def best_smoothing(self, rows: DiscreteTable, structure: Structure) -> float:
        """Return the equivalent sample size of the tables that predicts the rows of 5 folds best."""
        held_out = [IncompleteHeldOut(*fold, structure) for fold in self.split(rows, FOLDS_OF_SMOOTHING)]
        most = max(100.0, self._expectation.table.weight_sum)
        repeated = most_repetitions(rows.vocabulary)
        return best_held_out_smoothing(held_out, most, repeated)[0]  # type: ignore[arg-type]  # they answer alike
