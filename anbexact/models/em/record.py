"""The record of expectation maximisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anbexact._runtime.displayed import Displayed
from anbexact._runtime.json_checks import flag, listed, number, text, whole
from anbexact.models.em.structural import Round
from anbexact.tables.table import DiscreteTable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EMStart:
    """The result of one start of expectation maximisation.

    Attributes
    ----------
    name : str
        ``"available cases"``, ``"mode"`` or ``"hot deck"``; see :mod:`anbexact.models.em.starts`.
    score : float
        The number by which starts are compared: the score of the expected counts, minus their log likelihood, plus
        the log likelihood of the observed cells (Cheeseman and Stutz); total in nats.
    log_likelihood : float
        Log likelihood of the observed cells at the end; total in nats.
    n_rounds : int
        Number of rounds of this start, in which there were at most two searches.
    """

    name: str
    score: float
    log_likelihood: float
    n_rounds: int


@dataclass(frozen=True)
class EMRecord(Displayed):
    """How a network was learned from rows with missing cells.

    Attributes
    ----------
    start : str
        The start that was chosen: the one with the highest score.
    converged : bool
        Whether its last search found the same structure as the rounds before, and the objective no longer changed.
    rounds : tuple of Round
        Its rounds: ``searched``, ``log_likelihood`` and ``objective`` of each (:class:`~anbexact.search.Round`).
    starts : tuple of EMStart
        All starts that were tried, as they were when the best was chosen; only the best was then continued to
        convergence.
    n_incomplete, n_drawn : int
        Number of distinct rows with a missing cell, and how many of them have too many completions to enumerate.
    n_completions : int
        Number of completions of the other rows, complete rows included.
    table : DiscreteTable or None
        The completions from which the structure was learned, with their expected weights: the table to which the
        certificate refers and which you pass to :func:`anbexact.verify`. It is not saved, so it is None after
        :func:`anbexact.load`.
    """

    start: str
    converged: bool
    rounds: tuple[Round, ...]
    starts: tuple[EMStart, ...]
    n_incomplete: int
    n_drawn: int
    n_completions: int
    table: DiscreteTable | None = field(default=None, repr=False, compare=False)

    @property
    def log_likelihoods(self) -> tuple[float, ...]:
        """Observed-data log likelihood of every round; total in nats."""
        return tuple(one.log_likelihood for one in self.rounds)

    def to_frame(self) -> pd.DataFrame:
        """Return the rounds, one row each: ``searched``, ``log_likelihood``, ``objective``."""
        import pandas as pd

        frame = pd.DataFrame([vars(one) for one in self.rounds], columns=["searched", "log_likelihood", "objective"])
        return frame.rename_axis("round").rename(index=lambda k: k + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the table."""
        return {
            "start": self.start,
            "converged": self.converged,
            "rounds": [[one.searched, one.log_likelihood, one.objective] for one in self.rounds],
            "starts": [[one.name, one.score, one.log_likelihood, one.n_rounds] for one in self.starts],
            "n_incomplete": self.n_incomplete,
            "n_drawn": self.n_drawn,
            "n_completions": self.n_completions,
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> EMRecord:
        """Return the record that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If this is not the description of a record.
        """
        rounds = [listed(one, 3) for one in listed(described["rounds"])]
        starts = [listed(one, 4) for one in listed(described["starts"])]
        return cls(
            text(described["start"]),
            flag(described["converged"]),
            tuple(
                Round(flag(searched), number(likelihood), number(objective))
                for searched, likelihood, objective in rounds
            ),
            tuple(
                EMStart(text(name), number(score), number(likelihood), whole(n_rounds, 1))
                for name, score, likelihood, n_rounds in starts
            ),
            whole(described["n_incomplete"], 1),
            whole(described["n_drawn"]),
            whole(described["n_completions"]),
        )

    def __str__(self) -> str:
        verdict = "converged" if self.converged else "did not converge"
        n_searches = sum(one.searched for one in self.rounds)
        drawn = f", {self.n_drawn} of them by draws" if self.n_drawn else ""
        return (
            f"expectation maximisation over {self.n_incomplete:,} distinct incomplete rows{drawn}: {verdict} after "
            f"{len(self.rounds)} rounds and {n_searches} searches from the start '{self.start}', log likelihood "
            f"{self.rounds[-1].log_likelihood:.6g} nats"
        )
