"""Feature selection by Bayes factors before the exact search: the structure of fsANB."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._runtime.advice import heard_once
from anbexact._runtime.deadline import Deadline, abandonable, check_limit, seconds_left
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.tables import fit_eap
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.search.bayes_factor import log_bayes_factors, relevant
from anbexact.search.scoring.totals import class_of
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

FOLDS = 2
"""Number of folds in which the ESS and the threshold are chosen."""
COMPARED_DECIMALS = 9
"""Decimals to which accuracy and conditional log likelihood, in nats per row, are compared."""
TIE_NATS = 1e-9
"""Log probabilities of classes that differ by no more than this count as equal."""
SHARE_OF_FOLDS = 0.7
"""Share of the time limit that the choice of ESS and threshold may take."""
Learn = Callable[[DiscreteTable, BDeu, float | None], Structure]


@dataclass(frozen=True, eq=False)
class Selection:
    """A structure over the selected features; the other features have no arcs.

    Attributes
    ----------
    structure : Structure
        Its score and certificate also count the features without arcs.
    ess, threshold : float
        Equivalent sample size of the Bayes factors and threshold δ that were chosen.
    network_ess : float
        Equivalent sample size of the network.
    log_bayes_factors : (features,) float64
        ln BF(C, X_i) under that equivalent sample size, in table order; nats.
    """

    structure: Structure
    ess: float
    threshold: float
    network_ess: float
    log_bayes_factors: npt.NDArray[np.float64]


def learn_selected(
    table: DiscreteTable,
    learn: Learn,
    *,
    choices: Sequence[tuple[float, float]],
    network_ess: float | None = None,
    always: Collection[Hashable] = (),
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Drop every feature X_i with BF(C, X_i) > δ, and learn the structure over the others.

    If there are several choices, the one with the highest accuracy in two-fold cross-validation is used; among
    equally accurate ones, the one with the highest conditional log likelihood, then the first. A row with several
    most probable classes counts in equal shares for each. Bayes factors, structure and EAP tables are computed again
    in every fold.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    learn : callable
        ``learn(table, score, seconds)`` returns the best structure it finds in the given time (None: no limit).
    choices : sequence of (ess, threshold)
        Equivalent sample sizes of the Bayes factors, and thresholds δ, to choose from.
    network_ess : float, optional
        Equivalent sample size of the score and the tables; by default that of the Bayes factors.
    always : collection of features
        Features that are never dropped.
    time_limit : float, optional
        Total time limit in seconds; choices that were not tried in 70 % of it are not considered.

    Raises
    ------
    KeyboardInterrupt
        When interrupted while choices are tried, once the search under way has ended.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 5.
    """
    check_limit("time_limit", time_limit)
    deadline = Deadline(time_limit)
    chosen = choices[0]
    if len(choices) > 1:
        with abandonable(), heard_once():
            share = deadline.within(SHARE_OF_FOLDS * deadline.left)
            chosen = _Validation(table, learn, network_ess, always, n_jobs, share).best(choices, progress)
    factors = log_bayes_factors(table, ess=chosen[0], n_jobs=n_jobs)
    kept = _kept(table, factors, chosen[1], always)
    score = BDeu(chosen[0] if network_ess is None else network_ess)
    structure = learn(table.restricted([*kept, class_of(table)]), score, seconds_left(deadline))
    return Selection(_with_others(table, structure, score), *chosen, score.ess, factors)


def _kept(
    table: DiscreteTable, factors: npt.NDArray[np.float64], threshold: float, always: Collection[Hashable]
) -> tuple[Hashable, ...]:
    """Return the features that are not dropped."""
    kept = relevant(table, factors, threshold)
    return tuple(name for name, stays in zip(table.vocabulary.features, kept, strict=True) if stays or name in always)


def _with_others(table: DiscreteTable, structure: Structure, score: BDeu) -> Structure:
    """Add the features that the structure does not have to it and to its proof; they stand alone."""
    apart = tuple(name for name in table.vocabulary.features if name not in structure.parents)
    if not apart:
        return structure
    alone = sum(score.local_score(table, name, []) for name in apart)
    certificate, proof = structure.certificate, structure.certificate.proof
    parents = {name: structure.parents.get(name, ()) for name in table.vocabulary.names}
    stated = replace(
        certificate,
        upper_bound=certificate.upper_bound + alone,
        method=f"{certificate.method}, over {len(structure.features)} of {len(parents) - 1} features",
        proof=None if proof is None else replace(proof, apart=apart),
    )
    return Structure(structure.class_name, parents, structure.score + alone, stated)


class _Network(NamedTuple):
    """A network to be learned in a fold: the number of the fold, the equivalent sample size, and the features."""

    fold: int
    ess: float
    kept: tuple[Hashable, ...]


class _Validation:
    """Two-fold cross-validation of equivalent sample sizes and thresholds; networks are jobs for joblib's workers."""

    def __init__(
        self,
        table: DiscreteTable,
        learn: Learn,
        network_ess: float | None,
        always: Collection[Hashable],
        n_jobs: int | None,
        deadline: Deadline,
    ) -> None:
        self.learn, self.network_ess, self.always, self.n_jobs, self.deadline = (
            learn,
            network_ess,
            always,
            n_jobs,
            deadline,
        )
        self.folds = split_table(table, FOLDS)
        self.weight_sum = table.weight_sum

    def best(self, pairs: Sequence[tuple[float, float]], progress: Progress | None) -> tuple[float, float]:
        """Return the best pair among those tried in time; the first if none was tried."""
        best, chosen = (-np.inf, -np.inf), pairs[0]
        networks = {pair: [self._network(fold, *pair) for fold in range(len(self.folds))] for pair in pairs}
        distinct = list(dict.fromkeys(network for of_pair in networks.values() for network in of_pair))
        known: dict[_Network, tuple[float, float]] = {}
        with closing(spread(_judged, self, distinct)) as found:
            for k, (pair, of_pair) in enumerate(networks.items()):
                for network in of_pair:
                    if network not in known:
                        known[network] = next(found)
                if self.deadline.passed or not of_pair:
                    break
                right, likelihood = (
                    round(sum(known[network][part] for network in of_pair) / self.weight_sum, COMPARED_DECIMALS)
                    for part in (0, 1)
                )
                if (right, likelihood) > best:
                    best, chosen = (right, likelihood), pair
                if progress is not None:
                    progress("choice of ESS and threshold", (k + 1) / len(networks))
        return chosen

    def _network(self, fold: int, ess: float, threshold: float) -> _Network:
        """Return the network that a pair needs in a fold."""
        rows, _ = self.folds[fold]
        kept = _kept(rows, log_bayes_factors(rows, ess=ess, n_jobs=self.n_jobs), threshold, self.always)
        return _Network(fold, ess if self.network_ess is None else self.network_ess, kept)

    def judge(self, network: _Network) -> tuple[float, float]:
        """Return the weight of held-out rows that are classified correctly, and the conditional log likelihood."""
        rows, held_out = self.folds[network.fold]
        kept, class_name = network.kept, class_of(rows)
        own = rows.restricted([*kept, class_name])
        structure = self.learn(own, BDeu(network.ess), seconds_left(self.deadline))
        posterior = Posterior(fit_eap(own, structure, network.ess), class_name, kept)
        codes = np.stack([held_out.column(name) for name in kept]) if kept else np.empty((0, len(held_out.codes)))
        logs = posterior.log_posterior(codes.astype(np.int16, copy=False), self.n_jobs)
        truth = held_out.column(class_name).astype(np.intp)
        of_truth = logs[np.arange(len(truth)), truth]
        highest = logs >= logs.max(axis=1, keepdims=True) - TIE_NATS
        share = np.where(of_truth >= logs.max(axis=1) - TIE_NATS, 1 / highest.sum(axis=1), 0.0)
        return float(held_out.weights @ share), float(held_out.weights @ of_truth)


def _judged(validation: _Validation, network: _Network) -> tuple[float, float]:
    """Return :meth:`_Validation.judge`."""
    return validation.judge(network)
