"""Sums over the missing cells of rows: exact, in logarithms, by a junction tree for every pattern."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.elimination import (
    CELLS,
    COLUMNS,
    DONE,
    NEAR,
    PAUSED,
    REFUSED,
    count_rows,
    draw_rows,
    explanation_rows,
    joint_rows,
    marginal_rows,
)
from anbexact._kernels.elimination_plan import (
    ARITIES,
    CHILDREN,
    FIRSTS,
    KEPT,
    N_FACTORS,
    N_ROWS,
    OFFSETS,
    SCRATCH,
    STRIDES,
    VARIABLES,
    WANTED,
    Limits,
    Net,
    Room,
)
from anbexact._kernels.posterior import normalise_rows
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.memory import available_memory
from anbexact._runtime.tasks import in_threads, thread_count
from anbexact._runtime.units import human_bytes
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import parents_first
from anbexact.tables.vocabulary import CodeArray

ROWS_PER_CHUNK = 4096
"""Number of rows that are sorted by their missing cells and processed together: equal patterns share a plan."""
ROWS_TO_SORT = 16
"""Minimum number of rows to be sorted: for fewer, sorting would take longer than a few additional plans."""
CELLS_PER_CALL = 3e8
"""Number of cells after which a kernel returns, so that an interrupt is noticed."""
WORK_PER_THREAD = 200_000
"""Number of rows times variables for which a further thread is worthwhile."""
MOST_BYTES = 4e9
"""Bytes that the tables and messages of a row may always take, regardless of the available memory."""
BYTES_PER_CELL = 32
"""Bytes for a cell of the tables and messages: its logarithm, room for its exponential, and as much in reserve."""
USUALLY_HIDDEN, USUAL_CELLS, USUAL_STEPS = 64, 4096, 4
"""Numbers of hidden variables, of cells, and of strides per factor for which a workspace has room at first."""
MOST_SHOWN = 12
"""Maximum number of variables of a clique that a message names."""


class CliqueTooLargeError(ValueError):
    """Sums over the missing cells of a row need more memory than may be used.

    Attributes
    ----------
    cost : str
        The memory, and the largest table, as a sentence without its subject.
    """

    def __init__(self, message: str, cost: str = "") -> None:
        super().__init__(message)
        self.cost = cost


class _Work(Protocol):
    """Processes rows of codes from the position ``start``; see :func:`joint_rows`."""

    def __call__(self, rows: Integers, start: int, limits: Limits, room: Room) -> tuple[int, int, float]: ...


class Elimination:
    """A product of factors over discrete variables, summed or maximised over missing cells.

    Parameters
    ----------
    net : Net
        The factors. If they are summed, those that are not observed are distributions of their children.
    names : sequence
        The variables, for messages.
    """

    def __init__(self, net: Net, names: Sequence[object]) -> None:
        self._net = net
        self._names = names
        self.arities: list[int] = net.table[ARITIES, : len(names)].tolist()

    @classmethod
    def of_tables(cls, tables: Mapping[Hashable, ConditionalTable]) -> Self:
        """Return the elimination for a network; its variables are in the order of ``tables``."""
        names = list(tables)
        place = {name: v for v, name in enumerate(names)}
        order = parents_first({name: table.parents for name, table in tables.items()})
        values = [tables[name].values for name in order]
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([of_name.reshape(-1) for of_name in values]))
        net = make_net(
            [place[name] for name in order],
            [[place[variable] for variable in tables[name].variables] for name in order],
            [[prod(of_name.shape[k + 1 :]) for k in range(of_name.ndim)] for of_name in values],
            logs,
            [of_name.size for of_name in values],
            [len(table.values) for table in tables.values()],
        )
        return cls(net, names)

    def joint(self, codes: CodeArray, kept: Sequence[int], form: int, n_jobs: int | None = None) -> Floats:
        """Return the joint distribution of some variables together with, or given, the observed cells of every row.

        Parameters
        ----------
        codes : (variables, rows) int16
            States, negative where missing. Rows for the last variables may be omitted; these variables are then
            missing.
        kept : sequence of int
            The variables, ascending.
        form : int
            JOINT, PROBABILITY or LOG_PROBABILITY of :mod:`anbexact._kernels.posterior`. Where the observed cells are
            impossible, probabilities do not exist, and the row becomes NaN.
        n_jobs : int, optional
            Threads; all processors by default.

        Returns
        -------
        (rows, joint states) float64
            The last of the variables varies fastest.

        Raises
        ------
        CliqueTooLargeError
            If the cliques of a row need more memory than is available; the message names the largest. It is a
            ValueError.
        """
        codes = np.ascontiguousarray(codes)  # the kernel is compiled for this layout alone
        out = np.empty((codes.shape[1], prod(self.arities[v] for v in kept)))
        roles = self._roles(kept, KEPT)

        def work(rows: Integers, start: int, limits: Limits, room: Room) -> tuple[int, int, float]:
            return joint_rows(  # type: ignore[no-any-return]
                codes, rows, self._net, roles, start, limits, room, out
            )

        self._run(work, codes, n_jobs)
        for start in range(0, len(out), ROWS_PER_CHUNK):
            some = out[start : start + ROWS_PER_CHUNK]
            normalise_rows(some, form, np.empty(some.size), np.empty(some.size, dtype=np.int64))
        return out

    def marginals(self, codes: CodeArray, wanted: Sequence[int], n_jobs: int | None = None) -> tuple[Floats, Floats]:
        """Return the distributions of some variables given the observed cells of every row.

        Parameters
        ----------
        codes, n_jobs
            As in :meth:`joint`.
        wanted : sequence of int
            The variables.

        Returns
        -------
        probabilities : (rows, states of all of them) float64
            One variable after the other, in the order of ``wanted``; NaN where the observed cells are impossible.
        log_evidence : (rows,) float64
            ln of the probability of the observed cells, in nats per row.

        Raises
        ------
        ValueError
            As in :meth:`joint`.
        """
        roles = self._roles(wanted, WANTED)
        columns = np.zeros(len(self.arities), dtype=np.int64)
        columns[list(wanted)] = np.cumsum([0, *(self.arities[v] for v in wanted)])[:-1]
        out = np.empty((codes.shape[1], sum(self.arities[v] for v in wanted)))
        log_evidence = np.empty(codes.shape[1])

        def work(rows: Integers, start: int, limits: Limits, room: Room) -> tuple[int, int, float]:
            return marginal_rows(  # type: ignore[no-any-return]
                codes, rows, self._net, roles, columns, start, limits, room, out, log_evidence
            )

        self._run(work, codes, n_jobs)
        return out, log_evidence

    def explanations(self, codes: CodeArray, n_jobs: int | None = None) -> tuple[CodeArray, Floats]:
        """Return the most probable states of all variables given the observed cells of every row.

        Among equally probable states (their logarithms differ by less than 1e-9), the result has those that come
        first in the first variable in which they differ.

        Parameters
        ----------
        codes, n_jobs
            As in :meth:`joint`.

        Returns
        -------
        states : (variables, rows) int16
            The observed states, and the most probable other states; the latter are -1 where the observed cells are
            impossible.
        log_joint : (rows,) float64
            ln of the probability of all of them together, in nats per row.

        Raises
        ------
        ValueError
            As in :meth:`joint`.
        """
        out = np.empty((len(self.arities), codes.shape[1]), dtype=np.int16)
        log_joint = np.empty(codes.shape[1])
        roles = self._roles(range(len(self.arities)), WANTED)

        def work(rows: Integers, start: int, limits: Limits, room: Room) -> tuple[int, int, float]:
            return explanation_rows(  # type: ignore[no-any-return]
                codes, rows, self._net, roles, start, limits, room, out, log_joint
            )

        self._run(work, codes, n_jobs)
        return out, log_joint

    def expected_counts(self, codes: CodeArray, weights: Floats) -> tuple[Floats, float]:
        """Return the expected counts of all factors given the observed cells, and the log likelihood of the rows.

        Parameters
        ----------
        codes : (variables, rows) int16
            States, negative where missing.
        weights : (rows,) float64
            Rows of weight 0 do not count.

        Returns
        -------
        counts : (values,) float64
            Σ_t w_t P(cell of a factor | observed cells of row t), in the same order as the values of the factors.
        log_likelihood : float
            Σ_t w_t ln P(observed cells of row t); total in nats.

        Raises
        ------
        ValueError
            As in :meth:`joint`.
        """
        counts, log_evidence = np.zeros(len(self._net.logs)), np.zeros(codes.shape[1])
        roles = self._roles(range(len(self.arities)), WANTED)

        def work(rows: Integers, start: int, limits: Limits, room: Room) -> tuple[int, int, float]:
            return count_rows(  # type: ignore[no-any-return]
                codes, rows, weights, self._net, roles, start, limits, room, counts, log_evidence
            )

        self._run(work, codes, 1)
        return counts, float(weights @ log_evidence)

    def draws(self, codes: CodeArray, uniforms: Floats) -> tuple[CodeArray, Floats]:
        """Return completions of every row, drawn given its observed cells.

        Parameters
        ----------
        codes : (variables, rows) int16
            States, negative where missing.
        uniforms : (variables, draws) float64
            Numbers between 0 and 1, the same for every row.

        Returns
        -------
        states : (rows, draws, variables) int16
            The observed and the drawn states; the latter are 0 where the observed cells are impossible.
        log_evidence : (rows,) float64
            ln of the probability of the observed cells, in nats per row.

        Raises
        ------
        ValueError
            As in :meth:`joint`.
        """
        out = np.empty((codes.shape[1], uniforms.shape[1], len(self.arities)), dtype=np.int16)
        log_evidence = np.empty(codes.shape[1])
        roles = self._roles(range(len(self.arities)), WANTED)

        def work(rows: Integers, start: int, limits: Limits, room: Room) -> tuple[int, int, float]:
            return draw_rows(  # type: ignore[no-any-return]
                codes, rows, uniforms, self._net, roles, start, limits, room, out, log_evidence
            )

        self._run(work, codes, 1)
        return out, log_evidence

    def _roles(self, variables: Sequence[int], role: int) -> Integers:
        """Return the roles of all variables for the kernels: some have this one, the others none."""
        roles = np.zeros(len(self.arities), dtype=np.int64)
        roles[list(variables)] = role
        return roles

    def _run(self, work: _Work, codes: CodeArray, n_jobs: int | None) -> None:
        """Process all rows in chunks, each sorted by the missing cells of its rows."""
        n_rows = codes.shape[1]
        threads = max(1, min(thread_count(n_jobs), n_rows * len(self.arities) // WORK_PER_THREAD))

        def chunk(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            if n_rows >= ROWS_TO_SORT:
                rows = rows[np.argsort(_pattern_hashes(codes[:, start:stop]))]
            room, most = self._room(), float(USUAL_CELLS)
            done, reason = 0, PAUSED
            while reason != DONE:
                done, reason, needed = work(rows, done, Limits(most, CELLS_PER_CALL), room)
                if reason == REFUSED:
                    # The available memory is asked for only when a row needs more than the usual room.
                    if most == USUAL_CELLS:
                        most = min(MOST_BYTES, available_memory() / 2 / threads) / BYTES_PER_CELL
                    if needed > most:
                        self._refuse(codes[:, rows[done]], room, needed, most)
                room = _larger(room, reason, needed, most)

        starts = range(0, n_rows, ROWS_PER_CHUNK)
        stops = [min(start + ROWS_PER_CHUNK, n_rows) for start in starts]
        with in_threads(threads) as run:
            run(chunk, starts, stops)

    def _room(self) -> Room:
        """Return a new workspace of the usual size."""
        n_columns = USUAL_STEPS * int(self._net.table[N_FACTORS, 0]) + len(self.arities) + 2
        return Room(
            np.empty((N_ROWS, n_columns), dtype=np.int64),
            np.empty((USUALLY_HIDDEN, USUALLY_HIDDEN), dtype=np.bool_),
            np.empty(USUALLY_HIDDEN),
            np.empty(USUAL_CELLS),
            np.empty(USUAL_CELLS, dtype=np.int64),
        )

    def _refuse(self, row: CodeArray, room: Room, needed: float, most: float) -> None:
        """Refuse a row whose cliques have ``needed`` cells, more than ``most``; the workspace holds the largest."""
        clique = room.plan[SCRATCH, 1 : 1 + room.plan[SCRATCH, 0]].tolist()
        cells = prod(float(self.arities[v]) for v in clique)
        shown = ", ".join(repr(self._names[v]) for v in clique[:MOST_SHOWN])
        rest = f" and {len(clique) - MOST_SHOWN} more" if len(clique) > MOST_SHOWN else ""
        cost = (
            f"needs {human_bytes(BYTES_PER_CELL * needed)}, but only {human_bytes(BYTES_PER_CELL * most)} may be "
            f"used. The largest table has {cells:.3g} joint states of {len(clique)} variables: {shown}{rest}"
        )
        raise CliqueTooLargeError(
            f"summing over the {int((row < 0).sum())} missing or unknown cells of a row {cost}. Fill in some of "
            "these cells, or use a network with fewer parents (max_parents=)",
            cost,
        )


def _larger(room: Room, reason: int, needed: float, most: float) -> Room:
    """Return a larger workspace if a kernel needs more room."""
    if reason == NEAR:
        n = 2 * int(needed)
        return room._replace(near=np.empty((n, n), dtype=np.bool_), weights=np.empty(n))
    if reason == COLUMNS:
        return room._replace(plan=np.empty((N_ROWS, 2 * int(needed)), dtype=np.int64))
    if reason == CELLS:
        n = int(min(2 * needed, most))
        return room._replace(cells=np.empty(n), powers=np.empty(n, dtype=np.int64))
    return room


def _pattern_hashes(codes: CodeArray) -> npt.NDArray[np.uint64]:
    """Return a number for every row by which rows with the same missing cells are sorted together."""
    hashes = np.zeros(codes.shape[1], dtype=np.uint64)
    for of_bytes in np.packbits(codes < 0, axis=0):
        # The factor is 2⁶⁴ divided by the golden ratio, which spreads patterns that differ in few bits (Knuth).
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + of_bytes
    return hashes


def make_net(
    children: Sequence[int],
    scopes: Sequence[Sequence[int]],
    strides: Sequence[Sequence[int]],
    logs: Floats,
    sizes: Sequence[int],
    arities: Sequence[int],
) -> Net:
    """Return a network of factors, parents before children, with their values concatenated in ``logs``."""
    rows: dict[int, Sequence[int] | Integers] = {
        CHILDREN: children,
        FIRSTS: np.cumsum([0, *map(len, scopes)]),
        OFFSETS: np.cumsum([0, *sizes])[:-1],
        VARIABLES: [v for scope in scopes for v in scope],
        STRIDES: [step for of_factor in strides for step in of_factor],
        ARITIES: arities,
        N_FACTORS: [len(children)],
    }
    table = np.zeros((len(rows), max(map(len, rows.values()))), dtype=np.int64)
    for row, values in rows.items():
        table[row, : len(values)] = values
    return Net(table, logs)
