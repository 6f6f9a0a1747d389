"""A model that is the average of all networks of a kind, as an immutable value."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import log, prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import log_softmax, logsumexp, softmax

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_checks import listed, mapped, number, numbers, reading, references, refuse_overflow, whole
from anbexact.models.model import JointModel
from anbexact.models.network.posterior import Posterior
from anbexact.models.network.table_draws import Draw, Wanted, drawn_tables, intervals_of_draws, same_smoothing
from anbexact.models.parameters.counts import Counts, FamilyCounts, count_families
from anbexact.models.parameters.tables import ConditionalTable, eap_tables
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import BDeu
from anbexact.search.posterior.predictive import Predictive, exact_predictive
from anbexact.search.posterior.setting import Limits
from anbexact.search.posterior.structure_posterior import StructurePosterior, posterior_and_setting
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary

ESS_GRID = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Equivalent sample sizes that are averaged over, all of them equally probable a priori."""
LOG_LOST_SHARE = log(2.0**-54)
"""ln of the share of a float64 that, added to it, never changes it: at most half the distance to the next number."""
MOST_COMPLETIONS = 1024
"""Maximum number of joint states of a row's missing cells for which predictions sum over all of them."""
ROWS_AT_ONCE = 1 << 14
"""Number of completed rows that are predicted at once."""


@dataclass(frozen=True)
class Averaging:
    """Which structures are averaged, and how.

    Attributes
    ----------
    networks, prior, max_parents, required, forbidden
        As in :func:`~anbexact.structure_posterior`.
    ess : tuple of float
        Equivalent sample sizes, all equally probable a priori.
    draws, random_state : int
        Number of structures that are drawn if predictions do not sum over all structures, and the seed.
    memory_limit, n_jobs
        Limits of the work.
    """

    networks: str = "anb"
    prior: str | None = None
    max_parents: int | None = None
    required: tuple[tuple[Hashable, Hashable], ...] = ()
    forbidden: tuple[tuple[Hashable, Hashable], ...] = ()
    ess: tuple[float, ...] = ESS_GRID
    draws: int = 200
    random_state: int = 0
    memory_limit: float | None = None
    n_jobs: int | None = None


@dataclass(frozen=True)
class Member:
    """A structure that was drawn: its share in the average, its equivalent sample size, and its parents."""

    share: float
    ess: float
    parents: Mapping[Hashable, tuple[Hashable, ...]]

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which variables are numbers, those that they have in ``positions``."""
        return {
            "share": self.share,
            "ess": self.ess,
            "parents": [
                [positions[child], [positions[parent] for parent in parents]]
                for child, parents in self.parents.items()
            ],
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], vocabulary: Vocabulary) -> Member:
        """Return the structure that :meth:`to_dict` described; refuse what is not a structure."""
        names = vocabulary.names
        pairs = [listed(pair, 2) for pair in listed(described["parents"], len(names))]
        children = references([child for child, _ in pairs], len(names))
        parents = {
            names[child]: tuple(names[parent] for parent in references(above, len(names)))
            for child, (_, above) in zip(children, pairs, strict=True)
        }
        Structure(vocabulary.class_name, parents, 0.0, Certificate.unknown("drawn from the posterior"))
        return cls(number(described["share"], above=0), number(described["ess"], above=0), parents)


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragedModel(JointModel):
    """The average of all networks of a kind, weighted by their posterior probability.

    Attributes
    ----------
    table : DiscreteTable
        The training rows, which the posterior over structures needs.
    averaging : Averaging
        Which structures are averaged, and how.
    drawn : tuple of Member, optional
        Structures that represent all structures if predictions do not sum over all; drawn on first use.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    table: DiscreteTable
    averaging: Averaging
    drawn: tuple[Member, ...] | None = field(default=None)

    @cached_property
    def _summed(self) -> list[tuple[float, StructurePosterior, Predictive | None]]:
        """The posterior over structures and its predictor, for every equivalent sample size."""
        own = self.averaging
        limits = Limits(own.max_parents, own.required, own.forbidden, own.memory_limit, own.n_jobs)
        found = []
        for ess in own.ess:
            posterior, setting = posterior_and_setting(self.table, BDeu(ess), limits, own.networks, own.prior)
            found.append((ess, posterior, exact_predictive(setting, posterior.sums)))
        return found

    @cached_property
    def ess_shares(self) -> pd.Series[float]:
        """The posterior probabilities of the equivalent sample sizes."""
        evidence = np.array([posterior.log_evidence for _, posterior, _ in self._summed])
        return pd.Series(softmax(evidence), index=pd.Index(self.averaging.ess, name="ess"), name="probability")

    @cached_property
    def arcs(self) -> pd.DataFrame:
        """The probabilities of all arcs, averaged over the equivalent sample sizes."""
        frames = [
            posterior.arcs.set_index(["parent", "child"]) * share
            for (_, posterior, _), share in zip(self._summed, self.ess_shares, strict=True)
        ]
        first = frames[0]
        total = sum((frame.loc[first.index] for frame in frames[1:]), first)
        return total.reset_index().sort_values("probability", ascending=False, kind="stable", ignore_index=True)

    def draw(self, n: int, random_state: int | np.random.Generator | None) -> list[tuple[float, Structure]]:
        """Return independent draws of an equivalent sample size and a structure."""
        rng = np.random.default_rng(random_state)
        shares = self.ess_shares.to_numpy()
        chosen = rng.choice(len(shares), size=n, p=shares / shares.sum())
        drawn: list[tuple[float, Structure]] = []
        for k, (ess, posterior, _) in enumerate(self._summed):
            count = int((chosen == k).sum())
            drawn += [(ess, structure) for structure in posterior.draw(count, random_state=rng)]
        return [drawn[k] for k in rng.permutation(n)]

    def draw_tables(self, n: int, rng: np.random.Generator) -> Iterator[Draw]:
        """Return an iterator over independent draws of structures, each with draws of its tables."""
        known: dict[tuple[tuple[Hashable, tuple[Hashable, ...]], ...], Counts] = {}
        for ess, structure in self.draw(n, rng):
            key = tuple(structure.parents.items())
            if key not in known:
                known[key] = count_families(self.table, structure)
            yield Draw(structure, drawn_tables(known[key], same_smoothing(ess), rng), ess)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """Drawn structures that represent all of them, equal ones merged."""
        if self.drawn is not None:
            return self.drawn
        rng = np.random.default_rng(self.averaging.random_state)
        found: dict[tuple[float, tuple[tuple[Hashable, ...], ...]], float] = {}
        names = self.vocabulary.names
        for (ess, posterior, _), share in zip(self._summed, self.ess_shares, strict=True):
            count = round(self.averaging.draws * share)
            for structure in posterior.draw(count, random_state=rng):
                key = ess, tuple(tuple(structure.parents[name]) for name in names)
                found[key] = found.get(key, 0.0) + share / count
        total = sum(found.values())
        return tuple(
            Member(share / total, ess, dict(zip(names, parents, strict=True)))
            for (ess, parents), share in found.items()
        )

    def facts(self) -> dict[str, Any]:
        """Return the equivalent sample sizes, how predictions are averaged, and the probabilities of arcs."""
        shares = self.ess_shares
        return {
            "ess": float((shares * shares.index).sum()),
            "ess_shares": shares,
            "exact": self.exact,
            "draws": self.averaging.draws,
            "n_drawn": None if self.exact else lambda: len(self.members),
            "arcs": lambda: self.arcs,
        }

    @property
    def exact(self) -> bool:
        """Whether complete rows are predicted by the sum over all structures, not by draws."""
        return self.drawn is None and all(predictive is not None for _, _, predictive in self._summed)

    @cached_property
    def class_posterior(self) -> AveragedPosterior:
        """The evaluator of the joint and posterior probabilities of the class."""
        terms = []
        if self.exact:
            log_shares = log_softmax([posterior.log_evidence for _, posterior, _ in self._summed]).tolist()
            terms = [
                (log_share, predictive)
                for log_share, (_, _, predictive) in zip(log_shares, self._summed, strict=True)
                if predictive is not None
            ]
        return AveragedPosterior(self, sorted(terms, key=lambda term: -term[0]))

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities of a network, averaged over the posterior and rounded."""
        arity = self.vocabulary.arity
        s = arity(self.vocabulary.class_name)
        if not self.exact:
            return round(sum(own.share * _free(own.parents, arity) for own in self.members))
        total = float(s - 1)
        for share, (_, posterior, _) in zip(self.ess_shares, self._summed, strict=True):
            sums = posterior.sums
            for child, name in enumerate(sums.names):
                cells = sum(p * prod(map(arity, parents)) for parents, p in sums.parent_sets(child))
                total += share * s * (arity(name) - 1) * cells
        return round(total)

    def add(self, table: DiscreteTable) -> AveragedModel:
        """Return the model of the rows of both tables: the posterior over structures is that of all rows."""
        return replace(self, table=self.table + table, drawn=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the distinct rows, as codes of states, and the structures if predictions rest on some."""
        positions = self.vocabulary.positions
        return {
            "rows": {
                "number": int(self.table.n_rows),
                "codes": self.table.codes.tolist(),
                "weights": self.table.weights.tolist(),
            },
            "drawn": [] if self.exact else [member.to_dict(positions) for member in self.members],
        }

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], estimator: Any
    ) -> AveragedModel:
        """Return the model that :meth:`to_dict` described; see :meth:`~anbexact.models.model.Model.from_dict`."""
        with reading("rows"):
            table = _read_rows(mapped(described["rows"]), vocabulary)
        with reading("drawn"):
            drawn = tuple(Member.from_dict(mapped(member), vocabulary) for member in listed(described["drawn"]))
        with reading("parameters"):
            averaging = estimator.averaging()
        if not {member.ess for member in drawn} <= set(averaging.ess):
            raise ValueError("drawn: an equivalent sample size is not one of those that are averaged over")
        with reading("rows and parameters"):
            model = cls(
                vocabulary=vocabulary, cut_points=cut_points, table=table, averaging=averaging, drawn=drawn or None
            )
            model.prepare()
            return model


def _read_rows(described: Mapping[str, Any], vocabulary: Vocabulary) -> DiscreteTable:
    weights = numbers(described["weights"])
    rows = [listed(row, len(vocabulary.names)) for row in listed(described["codes"], len(weights))]
    if not rows or not (weights > 0).all():
        raise ValueError("rows of positive weight were expected")
    refuse_overflow(weights)
    most = [vocabulary.arity(name) - 1 for name in vocabulary.names]
    checked = [[whole(code, 0, top) for code, top in zip(row, most, strict=True)] for row in rows]
    if any(first >= second for first, second in pairwise(checked)):
        raise ValueError("the rows must be distinct and in ascending order")
    codes = np.asfortranarray(np.array(checked, dtype=np.int16))
    return DiscreteTable(vocabulary, codes, weights, whole(described["number"], 1))


def _free(parents: Mapping[Hashable, tuple[Hashable, ...]], arity: object) -> int:
    assert callable(arity)
    return sum((arity(name) - 1) * prod(map(arity, above)) for name, above in parents.items())


class AveragedPosterior:
    """The class posterior of an average of networks.

    Missing cells are summed over their joint states if a row has no more than 1,024 of them; rows with more are
    predicted by structures drawn from the posterior. In each of these, missing cells are summed out exactly.

    Parameters
    ----------
    model : AveragedModel
        The model.
    terms : sequence of (float, Predictive)
        ln of the share of every equivalent sample size, and the predictor under it, the most probable size first;
        empty if structures are drawn.
    """

    def __init__(self, model: AveragedModel, terms: Sequence[tuple[float, Predictive]]) -> None:
        self._model, self._terms = model, terms
        vocabulary = model.vocabulary
        self._features = vocabulary.features
        self._n_classes = vocabulary.arity(vocabulary.class_name)
        if not terms:
            self._networks  # noqa: B018  # prepared now rather than at the first prediction

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, observed cells of x), shape (rows, classes)."""
        if not self._terms:
            return self._by_draws(codes, n_jobs)
        names = self._terms[0][1].names
        places = np.array([self._features.index(name) for name in names], dtype=np.intp)
        arities = np.array([self._model.vocabulary.arity(name) for name in names], dtype=np.int64)
        missing = codes[places] < 0
        log_completions = np.log(np.where(missing, arities[:, None], 1)).sum(axis=0)
        out = np.empty((codes.shape[1], self._n_classes))
        many = np.flatnonzero(log_completions > log(MOST_COMPLETIONS) + 1e-9)
        if len(many):
            out[many] = self._by_draws(codes[:, many], n_jobs)
        for rows in _batches(np.flatnonzero(log_completions <= log(MOST_COMPLETIONS) + 1e-9), log_completions):
            out[rows] = self._completed(codes[np.ix_(places, rows)], arities, n_jobs)
        return out

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells of x), shape (rows, classes)."""
        return np.asarray(log_softmax(self.log_joint(codes, n_jobs), axis=1))

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells of x), shape (rows, classes)."""
        return np.asarray(np.exp(self.log_posterior(codes, n_jobs)))

    def _completed(self, codes: CodeArray, arities: Positions, n_jobs: int | None) -> Floats:
        """Return ln P(c, observed cells), summed over all states of the missing cells."""
        columns, owners = [], []
        for r, row in enumerate(codes.T):
            missing = np.flatnonzero(row < 0)
            for states in product(*(range(int(arities[k])) for k in missing)):
                full = row.copy()
                full[missing] = states
                columns.append(full)
                owners.append(r)
        complete = np.array(columns, dtype=np.int16).reshape(len(columns), len(arities)).T
        logs = self._of_all_sizes(complete, n_jobs)
        if len(owners) == codes.shape[1]:
            return logs
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        highest = np.maximum.reduceat(logs, starts)
        shares = np.exp(logs - highest[owners])
        return np.asarray(highest + np.log(np.add.reduceat(shares, starts)))

    def _of_all_sizes(self, complete: CodeArray, n_jobs: int | None) -> Floats:
        """Return ln P(c, x) of complete rows, summed over all equivalent sample sizes.

        A size adds at most its share, because P(c, x) ≤ 1. It is left out for rows whose sums would not change in
        float64.
        """
        log_share, predictive = self._terms[0]
        logs: Floats = log_share + predictive.log_joint(complete, n_jobs)
        for log_share, predictive in self._terms[1:]:
            rows = np.flatnonzero(log_share > logs.min(axis=1) + LOG_LOST_SHARE)
            if len(rows):
                added = log_share + predictive.log_joint(complete[:, rows], n_jobs)
                logs[rows] = np.logaddexp(logs[rows], added)
        return logs

    def _by_draws(self, codes: CodeArray, n_jobs: int | None) -> Floats:
        logs = [log_share + network.log_joint(codes, n_jobs) for log_share, network in self._networks]
        return np.asarray(logsumexp(logs, axis=0))

    @cached_property
    def _networks(self) -> list[tuple[float, Posterior]]:
        """The networks of the structures that were drawn, with ln of their shares."""
        tables: dict[tuple[float, Hashable, tuple[Hashable, ...]], ConditionalTable] = {}
        table, vocabulary = self._model.table, self._model.vocabulary
        found = []
        for member in self._model.members:
            of_member = {}
            for name, parents in member.parents.items():
                key = member.ess, name, tuple(parents)
                if key not in tables:
                    family = [name, *parents]
                    counts = FamilyCounts(name, key[2], table.shape(family), *table.observed_cells(family))
                    tables[key] = eap_tables({name: counts}, member.ess)[name]
                of_member[name] = tables[key]
            found.append((log(member.share), Posterior(of_member, vocabulary.class_name, vocabulary.features)))
        return found


def _batches(rows: npt.NDArray[np.intp], log_completions: Floats) -> list[npt.NDArray[np.intp]]:
    """Return rows in batches with a limited number of completions."""
    ends = np.cumsum(np.exp(log_completions[rows])) // ROWS_AT_ONCE
    return [own for own in np.split(rows, np.flatnonzero(np.diff(ends)) + 1) if len(own)]


def averaged_intervals(
    model: AveragedModel,
    codes: CodeArray,
    wanted: Wanted,
    random_state: int | np.random.Generator | None,
    n_jobs: int | None,
) -> Floats:
    """Return intervals of P(class | row), shape (rows, classes, 2), by draws of whole networks from their posterior.

    Each draw is an equivalent sample size, a structure given it, and all tables given both. The draws are independent
    and exact.

    Parameters
    ----------
    model : AveragedModel
        The model that is averaged.
    codes : (features, rows) int16
        Rows as for ``posterior``; negative codes are summed out.
    wanted : Wanted
        The probability between the ends, with equal tails on both sides, and the number of draws.
    random_state, n_jobs
        The seed; threads.
    """
    rng = np.random.default_rng(random_state)
    table = model.table
    known: dict[tuple[Hashable, ...], FamilyCounts] = {}

    def counts(name: Hashable, parents: tuple[Hashable, ...]) -> FamilyCounts:
        family = (name, *parents)
        if family not in known:
            known[family] = FamilyCounts(name, parents, table.shape(family), *table.observed_cells(family))
        return known[family]

    drawn_from = [
        ({name: counts(name, tuple(parents)) for name, parents in structure.parents.items()}, same_smoothing(ess))
        for ess, structure in model.draw(wanted.draws, rng)
    ]
    return intervals_of_draws(model.vocabulary, drawn_from, codes, wanted.mass, rng, n_jobs)
