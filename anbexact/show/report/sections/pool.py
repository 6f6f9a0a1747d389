"""The members of a pool and their weights."""

from __future__ import annotations

from typing import Any

from anbexact.show.report.document import Block, Column, Paragraph, Records, Section
from anbexact.show.report.subject import Subject

MOST_MEMBERS = 60
"""Most members that are listed."""


def pool_section(subject: Subject) -> Section | None:
    """Return the members of a pool with their weights; None for a classifier that is not a pool."""
    if "members" not in subject.facts:
        return None
    members = subject.facts["members"].reset_index(names="member")
    records: list[Any] = members.sort_values("weight", ascending=False, kind="stable").to_dict("records")
    weights = subject.facts["weights"].values()
    columns = [
        Column("member", "member"),
        Column("weight", "weight", 3, "share"),
        Column("log_loss", "log loss", 4),
        Column("seconds", "seconds", 2),
        Column("outcome", "outcome"),
    ]
    note = (
        "Log loss: nats per row, on rows that the member was not learned from. A member of weight 0 was dropped: it "
        "adds nothing to the others, although it may predict well by itself. Not needed: the others predict as well "
        "without it. Out of time: the member was not learned in all folds, so it has no part in the pool. Same as "
        "another one: learned from all rows, both predict them alike, and the other has the weight of both. Far "
        "behind: the simpler members that it extends predict much worse than the best, so it was not learned."
    )
    alone = (
        f"One model was kept. Its log probabilities are multiplied by its weight, {sum(weights):.3f}: a weight below "
        "1 makes the probabilities less extreme, and a weight above 1 more extreme."
    )
    blocks: list[Block] = [
        Paragraph(
            alone
            if len(weights) == 1
            else f"The log probabilities of {len(weights):,} members are added up with these weights, whose sum is "
            f"{sum(weights):.3f}. With a sum of 1, the log odds of the pool are a weighted mean of the members' log "
            "odds. With a smaller sum, the pool is less certain than this mean, with a larger sum more certain."
        ),
        Records("members", columns, records[:MOST_MEMBERS], "Members, the heaviest first", note),
    ]
    biases = [{"class": label, "bias": bias} for label, bias in subject.facts["biases"].items()]
    blocks.append(
        Records(
            "biases",
            [Column("class", "class"), Column("bias", "bias", 4, "signed")],
            biases,
            "Bias: what is added to the log probability of every class before normalisation, in nats",
        )
    )
    return Section("pool", "The pool", blocks)
