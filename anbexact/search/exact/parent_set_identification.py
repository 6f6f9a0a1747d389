"""The search for the parent sets of one feature that can be optimal, size by size."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.candidates import Current, Extent, Listed, extend_sets
from anbexact._kernels.child_scores import COUNTS, Added, score_cells
from anbexact._kernels.open_sets import OpenSets, rehash
from anbexact._kernels.refinement import LIKELIHOOD, Layout
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact.scores import BoundedScore
from anbexact.search.exact.laid_out_rows import (
    LaidOutRows,
    lay_out_rows,
    size_laid_out,
)
from anbexact.search.exact.parent_sets import Masks, ParentSets, n_words, pack, unpack
from anbexact.search.exact.possible_parents import PossibleParents, SharedResources
from anbexact.search.exact.solution import rough_bound
from anbexact.tables.table import DiscreteTable

SETS_PER_CALL = 20_000
"""Approximate number of sets that a kernel scores between two checks of the clock and the memory (0.05 s)."""


class CompleteList(NamedTuple):
    """A list that was completed elsewhere: what is listed, and the number of sets that were scored for it."""

    listed: Listed
    scored: int


class ParentSetSearch:
    """The search for the parent sets of one child, size by size; see :mod:`anbexact._kernels.candidates`.

    Until the rows are laid out, the list contains only the required parents.

    Attributes
    ----------
    laid_out : bool
        Whether the rows are laid out, or not needed any more.
    """

    def __init__(
        self, table: DiscreteTable, score: BoundedScore, possible: PossibleParents, shared: SharedResources
    ) -> None:
        self.table, self.score, self.possible, self.shared = table, score, possible, shared
        self.rows: LaidOutRows | None = None
        words = n_words(len(possible.added))
        self.open_sets = OpenSets.zeros(1, 2, words)
        self.listed = Listed(np.zeros((1, words), np.uint64), np.zeros(1))
        self.extent = Extent(next=0, end=1, n_open=1, n_listed=1, n_scored=1, n_tables=0, bound=-inf)
        self.n_listed = 1
        self.size = 0
        self.behind = False
        self.laid_out = False

    def stand_in(self) -> None:
        """List the required parents, and bound the score of all other sets with little work."""
        child, given = self.possible.child, self.possible.given
        bound = rough_bound(self.table, self.score, child, given, self.possible.least_arity)
        self._list_required(self.score.local_score(self.table, child, given), bound)

    @property
    def size_laid_out(self) -> int:
        """Bytes that the rows take once they are laid out."""
        return size_laid_out(self.table, self.possible)

    def lay_out(self, dispersion: Floats, deadline: Deadline) -> None:
        """Sort the rows, merge those that agree, and score the required parents; abandoned when time runs out."""
        rows = lay_out_rows(self.table, self.score, self.possible, dispersion, self.shared, deadline)
        if rows is not None:
            self.extent = self.extent._replace(n_tables=rows.n_tables)
            rehash(self.open_sets.masks, 1, self.open_sets.slots)
            self._score_required(rows)
            self.rows = rows
            self.laid_out = True

    def complete_list(self) -> CompleteList | None:
        """Return the list alone, without rows and open sets; None if it is not complete."""
        if self.open or not self.laid_out:
            return None
        masks, scores = self.listed.masks[: self.n_listed].copy(), self.listed.scores[: self.n_listed].copy()
        return CompleteList(Listed(masks, scores), self.scored)

    def take_over(self, complete: CompleteList) -> None:
        """Take a list that was completed elsewhere; no rows have to be laid out for it."""
        self.listed, self.n_listed = complete.listed, len(complete.listed.scores)
        self.extent = self.extent._replace(n_scored=complete.scored)
        self.ahead, self.beyond = 0, -inf
        self.laid_out = True

    @property
    def largest(self) -> int:
        """Size of the sets that can be enumerated."""
        return self.possible.most_added if self.rows is None else self.rows.largest

    def _score_required(self, rows: LaidOutRows) -> None:
        """Score the set that every parent set contains: the class and the required parents."""
        scoring, cells, states = rows.scoring, rows.cells, self.possible.states
        one_state, alone = np.zeros((len(cells.rows), 1), np.uint16), np.ones(1, np.int64)
        added = Added.zeros(1, states, cells.weights.dtype)
        added.tables[0] = -1
        added.child_parameters[0], added.parameters[0] = scoring.child_parameter[0], scoring.parameter[0]
        score_cells(scoring.kind, states, cells, one_state, alone, added, 0, 1, rows.tables)
        self.open_sets.rest[0] = scoring.ceiling - added.totals[0]
        bound = -np.log(states) * added.observed[0]
        if scoring.kind == LIKELIHOOD:
            bound = scoring.ceiling - scoring.next_penalty[0]
        self._list_required(float(added.totals[0] - scoring.penalty[0]), float(bound))

    def _list_required(self, score: float, bound: float) -> None:
        """List the required parents alone, given a bound on all supersets."""
        self.listed.scores[0] = self.open_sets.best[0] = score
        self.ahead = len(self.possible.added) if self.possible.most_added > 0 and score < bound else 0
        self.beyond = bound if self.ahead else -inf

    @property
    def parents(self) -> int:
        """Number of feature parents of the sets that were enumerated last."""
        return len(self.possible.required) + self.size

    @property
    def open(self) -> bool:
        """Whether larger sets could be useful."""
        return self.ahead > 0

    def begin(self) -> None:
        """Begin to enumerate the sets with one more member."""
        self.behind = self.open
        self.extent = self.extent._replace(bound=-inf)

    def end(self) -> None:
        """Add the enumerated sets to the list, now that those of all features have been enumerated."""
        if not self.open:
            return
        self.size += 1
        began, end = self.extent.end, self.extent.n_open
        self.n_listed = self.extent.n_listed
        self.extent = self.extent._replace(end=end)
        self.ahead = int(_lowest(self.open_sets.masks[began:end]).sum())
        self.beyond = self.extent.bound if self.ahead else -inf
        if not self.ahead:
            self._forget()

    @property
    def scored(self) -> int:
        """Number of sets that were scored."""
        return self.extent.n_scored

    def grow(self, deadline: Deadline) -> None:
        """Enumerate the sets with one more member, or the rest of them; ``behind`` says whether some are left."""
        rows, possible = self.rows, self.possible
        assert rows is not None
        depths, cells = self.size + 2, rows.cells
        n_rows, dtype = len(cells.weights), cells.weights.dtype
        laid_out = depths * n_rows * (10 + dtype.itemsize)
        if not self.shared.take(laid_out):
            return
        most_states = int(possible.arities.max())
        layout = Layout.of(cells, depths, most_states)
        current = Current.zeros(self.open_sets.masks.shape[1], depths)
        added = Added.zeros(len(possible.added), max(most_states * possible.states, COUNTS), dtype)
        atoms = rows.atoms._replace(
            cells=np.repeat(rows.atoms.cells, depths, axis=0), by_cell=np.empty((2, n_rows + 1))
        )
        while self.behind and not deadline.passed and self._grow_arrays():
            self.extent = extend_sets(
                self.extent, SETS_PER_CALL, possible.most_added, rows.features, rows.scoring, rows.tables, atoms,
                current, added, layout, self.open_sets, self.listed,
            )  # fmt: skip
            self.behind = self.extent.next < self.extent.end
        self.shared.take(-laid_out)

    def _grow_arrays(self) -> bool:
        """Enlarge the arrays for the results of one call of the kernel; return whether there was enough memory."""
        most, words = SETS_PER_CALL + len(self.possible.added), self.open_sets.masks.shape[1]
        n_open, n_listed, old = self.extent.n_open, self.extent.n_listed, self.open_sets
        if n_open + most > len(old.best):
            length = max(2 * len(old.best), n_open + most)
            slots = 1 << (2 * length - 1).bit_length()
            more = (16 * words + 20) * (length - len(old.best)) + 4 * (slots - len(old.slots))
            if length >= 2**31 or not self.shared.take(more):
                return False
            self.open_sets = OpenSets(
                _longer(old.masks, length), np.full(slots, -1, np.int32), _longer(old.best, length),
                _longer(old.rest, length), _longer(old.first_child, length), _longer(old.children, length),
            )  # fmt: skip
            rehash(self.open_sets.masks, n_open, self.open_sets.slots)
        if n_listed + most > len(self.listed.scores):
            length = max(2 * len(self.listed.scores), n_listed + most)
            if not self.shared.take((8 * words + 8) * (length - len(self.listed.scores))):
                return False
            self.listed = Listed(_longer(self.listed.masks, length), _longer(self.listed.scores, length))
        return True

    def _forget(self) -> None:
        """Release the memory of the open sets."""
        words = self.open_sets.masks.shape[1]
        size = (16 * words + 20) * len(self.open_sets.best) + 4 * len(self.open_sets.slots)
        self.open_sets = OpenSets.zeros(0, 0, words)
        self.shared.take(-size)

    def parent_sets(self, limit: str) -> ParentSets:
        """Return the list; ``limit`` is the reason why the enumeration ended if the list is not complete."""
        listed, features = self.n_listed, self.table.vocabulary.features
        members = np.zeros((listed, len(features)), dtype=bool)
        place = {name: k for k, name in enumerate(features)}
        added = [place[name] for name in self.possible.added]
        members[:, added] = unpack(self.listed.masks[:listed], len(added))
        members[:, self.possible.required] = True
        scores = self.listed.scores[:listed]
        first_features = np.packbits(members, axis=1)
        order = np.lexsort((*(~first_features.T[::-1]), members.sum(axis=1), -scores))
        return ParentSets(pack(members[order]), scores[order], self.scored, limit if self.ahead else "", self.beyond)


def _lowest(keys: Masks) -> npt.NDArray[np.int64]:
    """Return the smallest member of every set; sets must not be empty."""
    lowest = np.zeros(len(keys), np.int64)
    for w in reversed(range(keys.shape[1])):
        word = keys[:, w]
        bit = np.bitwise_count((word & (~word + np.uint64(1))) - np.uint64(1)).astype(np.int64)
        lowest = np.where(word > 0, 64 * w + bit, lowest)
    return lowest


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return a copy with room for more."""
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
