"""What is kept of expectation maximisation, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anbexact.files.checked import listed, number, text, whole
from anbexact.models.em.record import EMRecord, EMStart
from anbexact.models.em.structural import Round


def describe_em(record: EMRecord) -> dict[str, Any]:
    """Return the JSON form of a record, without its table."""
    return {
        "start": record.start,
        "converged": record.converged,
        "rounds": [[one.searched, one.log_likelihood, one.objective] for one in record.rounds],
        "starts": [[one.name, one.score, one.log_likelihood, one.n_rounds] for one in record.starts],
        "n_incomplete": record.n_incomplete,
        "n_drawn": record.n_drawn,
        "n_completions": record.n_completions,
    }


def restore_em(described: Mapping[str, Any]) -> EMRecord:
    """Return the record that :func:`describe_em` described.

    Raises
    ------
    ValueError
        For what is not one.
    """
    rounds = [listed(one, 3) for one in listed(described["rounds"])]
    starts = [listed(one, 4) for one in listed(described["starts"])]
    return EMRecord(
        text(described["start"]),
        _flag(described["converged"]),
        tuple(
            Round(_flag(searched), number(likelihood), number(objective))
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


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"true or false was expected, not {value!r}")
    return value
