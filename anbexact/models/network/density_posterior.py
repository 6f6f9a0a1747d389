"""The class posterior of a network of densities."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.models.network.cells import Axes
from anbexact.models.network.densities import FamilyDensity
from anbexact.models.network.posterior import Posterior
from anbexact.models.network.probable_levels import finest_levels
from anbexact.models.parameters.counts import memory_needed
from anbexact.models.structure import parents_first
from anbexact.scores.base import View
from anbexact.tables.vocabulary import CodeArray

CELLS_PER_BATCH = 1 << 20
"""Number of codes that are evaluated in one batch."""
MOST_CELLS = 1 << 22
"""Maximum number of cells of all densities together, with every variable at its finest level, for which one posterior
serves all patterns of missing cells (32 MB)."""


class DensityPosterior:
    """The class posterior of a network of densities given rows of feature codes, as :class:`Posterior` has it.

    Codes are cells of the finest level. Missing cells are integrated out, separately for every pattern of missing
    cells, over the cells of the finest level that the variable has in a relevant family. Densities are with respect
    to the reference measures.

    Parameters
    ----------
    densities : mapping of variable to FamilyDensity
        The network.
    axes : Axes
        The cells of the variables. If the vocabulary has no class, there is one column for it, as in
        :class:`Posterior`.
    """

    def __init__(self, densities: Mapping[Hashable, FamilyDensity], axes: Axes) -> None:
        self._axes = axes
        self._class = axes.vocabulary.class_name
        features = {
            name: [parent for parent in density.parents if parent != self._class]
            for name, density in densities.items()
            if name != self._class
        }
        own = () if self._class is None else (self._class,)
        self._densities = {name: densities[name] for name in (*parents_first(features), *own)}
        self._n_classes = 1 if self._class is None else axes.vocabulary.arity(self._class)

    @cached_property
    def _complete(self) -> _AtLevels:
        """The evaluator of rows without missing cells."""
        return self._at_levels(self._densities, {})

    @cached_property
    def _incomplete(self) -> _AtLevels | None:
        """The evaluator of rows with any missing cells; None if it would take too many cells."""
        finest = finest_levels(self._densities, {name: d.levels for name, d in self._densities.items()})
        shapes = [self._axes.shape(d.variables, [finest[v] for v in d.variables]) for d in self._densities.values()]
        common = {name: finest[name] for name in self._axes.vocabulary.features}
        return self._at_levels(self._densities, common) if sum(map(prod, shapes)) <= MOST_CELLS else None

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln of the density of class and observed cells, shape (rows, classes); see :class:`Posterior`."""
        return self._evaluate(codes, "log_joint", n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); see :class:`Posterior`."""
        return self._evaluate(codes, "log_posterior", n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells), shape (rows, classes); see :class:`Posterior`."""
        return self._evaluate(codes, "posterior", n_jobs)

    def _evaluate(self, codes: CodeArray, form: str, n_jobs: int | None) -> Floats:
        """Return the result of rows by the method ``form`` of the evaluators, in batches."""
        out = np.empty((codes.shape[1], self._n_classes))
        step = max(1, CELLS_PER_BATCH // max(len(codes), 1))
        for at_levels, rows in self._parts(codes):
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                out[some] = at_levels.evaluate(codes[:, some], form, n_jobs)
        return out

    def _parts(self, codes: CodeArray) -> Iterator[tuple[_AtLevels, npt.NDArray[np.intp]]]:
        """Yield every evaluator that is needed, with the positions of its rows."""
        incomplete = (codes < 0).any(axis=0)
        yield self._complete, np.flatnonzero(~incomplete)
        rest = np.flatnonzero(incomplete)
        if len(rest) and self._incomplete is not None:
            yield self._incomplete, rest
        elif len(rest):
            group = np.unique(np.packbits(codes[:, rest] < 0, axis=0), axis=1, return_inverse=True)[1].reshape(-1)
            by_group = rest[np.argsort(group, kind="stable")]  # rows with the same missing cells follow each other
            for rows in np.split(by_group, np.cumsum(np.bincount(group))[:-1]):
                yield self._of_pattern(codes[:, rows[0]] < 0), rows

    def _check_memory(self, n_missing: int, shapes: Sequence[tuple[int, ...]]) -> None:
        """Refuse densities on the finest cells of the missing features if they would not fit into memory."""
        needed = memory_needed(8 * prod(shape) for shape in shapes)
        if needed > available_memory():
            raise ValueError(
                f"marginalising {n_missing} missing or unknown cells needs densities of {human_bytes(needed)}: fill "
                "in some of them, or fit with a lower max_parents"
            )

    def _of_pattern(self, hidden: npt.NDArray[np.bool_]) -> _AtLevels:
        """Return the evaluator of rows that lack exactly these features."""
        features = self._axes.vocabulary.features
        missing = {name for name, lacks in zip(features, hidden.tolist(), strict=True) if lacks}
        needed = {*features, self._class} - missing
        for name, density in reversed(self._densities.items()):
            if name in needed:
                needed.update(density.parents)
        chosen = {name: density for name, density in self._densities.items() if name in needed}
        as_parents = {name: dict(zip(d.parents, d.levels[1:], strict=True)) for name, d in chosen.items()}
        common = {v: max(levels[v] for levels in as_parents.values() if v in levels) for v in missing & needed}
        shapes = [
            self._axes.shape(d.variables, [common.get(v, k) for v, k in zip(d.variables, d.levels, strict=True)])
            for d in chosen.values()
        ]
        self._check_memory(len(missing), shapes)
        return self._at_levels(chosen, common)

    def _at_levels(self, densities: Mapping[Hashable, FamilyDensity], common: Mapping[Hashable, int]) -> _AtLevels:
        """Return the evaluator of rows that may lack the features that have a common level in all families."""
        axes = self._axes
        logs: list[tuple[Hashable, tuple[Hashable, ...], Floats]] = []
        used: dict[View, None] = {}
        for name, density in densities.items():
            levels = tuple(common.get(v, k) for v, k in zip(density.variables, density.levels, strict=True))
            views = tuple(zip(density.variables, levels, strict=True))
            values = axes.refine(density.values, density.variables, density.levels, levels)
            if name in common:
                finer = max(levels[0], density.levels[0])
                values = axes.join(axes.times_masses(values, (name,), (finer,)), name, finer, levels[0])
            if self._class in density.variables:
                values = np.moveaxis(values, density.variables.index(self._class), -1)
            else:
                values = np.broadcast_to(values[..., None], (*values.shape, self._n_classes))
            own = tuple(view for view in views if view[0] != self._class)
            logs.append((views[0], own, np.log(values)))
            used.update(dict.fromkeys(own))
        posterior = Posterior.from_logs(logs, {view: len(axes.masses(*view)) for view in used})
        return _AtLevels(posterior, tuple(used), frozenset(common), axes)


@dataclass(frozen=True)
class _AtLevels:
    """A posterior whose codes are cells at the levels of some views.

    For features that may be missing, probabilities of cells are used instead of densities.
    """

    posterior: Posterior
    views: tuple[View, ...]
    missing: frozenset[Hashable]
    axes: Axes

    def evaluate(self, codes: CodeArray, form: str, n_jobs: int | None) -> Floats:
        """Return the result for rows of finest codes."""
        place = {name: j for j, name in enumerate(self.axes.vocabulary.features)}
        own = np.empty((len(self.views), codes.shape[1]), dtype=np.int16)
        log_masses = np.zeros(codes.shape[1])
        for k, (name, level) in enumerate(self.views):
            of_feature, partition = codes[place[name]], self.axes.score.partitions.get(name)
            own[k] = of_feature if partition is None else partition.cell_at(level)[of_feature]
            own[k, of_feature < 0] = -1
            if name in self.missing and form == "log_joint":
                log_masses += np.where(own[k] < 0, 0.0, np.log(self.axes.masses(name, level))[own[k]])
        result: Floats = getattr(self.posterior, form)(own, n_jobs)
        return result - log_masses[:, None] if form == "log_joint" else result
