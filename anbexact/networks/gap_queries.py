"""Rows with too many missing cells for all their completions: what a network expects of them, family by family."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import product
from math import prod

import numpy as np
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats, Integers
from anbexact.networks.posterior import Posterior
from anbexact.structures.structure import Structure
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.vocabulary import CodeArray

CELLS_AT_ONCE = 1 << 22
"""Codes of queries that are laid out at a time."""
SEED = 0
"""Seed of the order in which states are dealt to draws."""


class GapQueries:
    """Asks a network about the missing cells of rows.

    Parameters
    ----------
    table : IncompleteTable
        The rows.
    n_jobs : int, optional
        Number of threads.
    """

    def __init__(self, table: IncompleteTable, n_jobs: int | None = None) -> None:
        self._table = table
        self._names = table.vocabulary.names
        self._class_name = table.vocabulary.class_name
        self._features = table.feature_codes()
        self._labels = table.class_codes()
        self._n_jobs = n_jobs

    def log_likelihood(self, posterior: Posterior) -> float:
        """Return Σ_t w_t ln P(observed cells of row t); total in nats."""
        logs = self._of_label(posterior.log_joint(self._features, self._n_jobs), self._labels)
        return float(self._table.weights @ logsumexp(logs, axis=1))

    def counts(self, posterior: Posterior, structure: Structure) -> Mapping[Hashable, Floats]:
        """Return the expected counts of every family, axes as in its conditional table."""
        return {name: self._of_family(posterior, (name, *of)) for name, of in structure.parents.items()}

    def _of_label(self, logs: Floats, labels: CodeArray) -> Floats:
        """Return ln P(c, ...) of rows, (rows, classes), in which other classes than a known one are impossible."""
        others = (labels >= 0)[:, None] & (np.arange(logs.shape[1]) != labels[:, None])
        return np.where(others, -np.inf, logs)

    def _of_family(self, posterior: Posterior, variables: tuple[Hashable, ...]) -> Floats:
        """Return the expected counts of the joint states of some variables."""
        shape = tuple(self._table.vocabulary.arity(name) for name in variables)
        features = [name for name in variables if name != self._class_name]
        places = [self._table.vocabulary.features.index(name) for name in features]
        own = self._features[places]
        totals = np.zeros(prod(shape))
        patterns, group = np.unique(own < 0, axis=1, return_inverse=True)
        for k in range(patterns.shape[1]):
            rows = np.flatnonzero(group.reshape(-1) == k)
            open_places = [place for place, gap in zip(places, patterns[:, k], strict=True) if gap]
            arities = [self._table.vocabulary.arity(self._table.vocabulary.features[j]) for j in open_places]
            states = np.array(list(product(*map(range, arities))), dtype=np.int16).reshape(prod(arities), -1)
            step = max(1, CELLS_AT_ONCE // (len(self._features) * len(states)))
            for start in range(0, len(rows), step):
                self._add(posterior, variables, (rows[start : start + step], open_places, states), totals)
        return totals.reshape(shape)

    def _add(
        self,
        posterior: Posterior,
        variables: tuple[Hashable, ...],
        asked: tuple[Integers, list[int], CodeArray],
        totals: Floats,
    ) -> None:
        """Add the expected counts of rows whose open features take each of some joint states."""
        rows, open_places, states = asked
        codes = np.repeat(self._features[:, rows], len(states), axis=1)
        codes[open_places] = np.tile(states, (len(rows), 1)).T
        labels = np.repeat(self._labels[rows], len(states))
        logs = self._of_label(posterior.log_joint(np.ascontiguousarray(codes), self._n_jobs), labels)
        logs = logs.reshape(len(rows), -1)
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) * self._table.weights[rows, None]
        by_class = shares.reshape(codes.shape[1], -1)
        cell = np.zeros(by_class.shape, dtype=np.int64)
        for name in variables:
            own = np.arange(by_class.shape[1])[None, :]
            if name != self._class_name:
                own = codes[self._table.vocabulary.features.index(name)].astype(np.int64)[:, None]
            cell = cell * self._table.vocabulary.arity(name) + own
        totals += np.bincount(cell.ravel(), by_class.ravel(), len(totals))

    def draws(self, posterior: Posterior, n_draws: int) -> CodeArray:
        """Return completions drawn from P(missing cells | observed cells), shape (rows · draws, variables).

        The draws of a row follow each other. Cells are drawn one after the other, each given the cells drawn before.
        The uniform numbers of the draws of a row are (k + ½) / draws in an order that depends on the variable alone,
        so that the same network gives the same draws.
        """
        order = np.random.default_rng(SEED)
        codes = np.repeat(self._features, n_draws, axis=1)
        labels = np.repeat(self._labels, n_draws)
        uniforms = (np.arange(n_draws) + 0.5) / n_draws

        def dealt(rows: Integers) -> Floats:
            return np.asarray(order.permutation(uniforms)[rows % n_draws])

        rows = np.flatnonzero(labels < 0)
        if len(rows):
            logs = posterior.log_joint(np.ascontiguousarray(codes[:, rows]), self._n_jobs)
            labels[rows] = _drawn(logs, dealt(rows))
        for j, name in enumerate(self._table.vocabulary.features):
            rows = np.flatnonzero(codes[j] < 0)
            if len(rows):
                logs = self._next(posterior, codes[:, rows], labels[rows], j, self._table.vocabulary.arity(name))
                codes[j, rows] = _drawn(logs, dealt(rows))
        by_name = dict(zip(self._table.vocabulary.features, codes, strict=True)) | {self._class_name: labels}
        return np.stack([by_name[name] for name in self._names], axis=1)

    def _next(self, posterior: Posterior, codes: CodeArray, labels: CodeArray, j: int, arity: int) -> Floats:
        """Return ln P(state of feature j, class, cells) of rows whose classes are known, shape (rows, states)."""
        together = np.concatenate([codes, labels[None, :]])
        distinct, inverse = np.unique(together, axis=1, return_inverse=True)
        asked = np.repeat(distinct[:-1], arity, axis=1)
        asked[j] = np.tile(np.arange(arity, dtype=np.int16), distinct.shape[1])
        logs = posterior.log_joint(np.ascontiguousarray(asked), self._n_jobs)
        known = np.repeat(distinct[-1], arity).astype(np.int64)
        own: Floats = logs[np.arange(len(known)), known].reshape(-1, arity)
        return own[inverse.reshape(-1)]


def _drawn(logs: Floats, uniforms: Floats) -> Integers:
    """Return the state of every row, of unnormalised log probabilities (rows, states), at its uniform number."""
    ends = np.cumsum(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), axis=1)
    return np.minimum((uniforms[:, None] > ends).sum(axis=1), logs.shape[1] - 1)
