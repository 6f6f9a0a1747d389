"""The display of a logistic regression in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel

MOST_COUNTED = 10_000
"""Maximum number of coefficients for which the text of a model says how many terms were never seen.

Counting takes long for more, and notebooks show the text unasked.
"""


def model_text(model: LogitModel) -> str:
    """Return the number of coefficients, whether network and regression are equivalent, and how the fit went."""
    c = model.structure.class_name
    kind = "equivalent to its network"
    if not model.equivalent:
        kind = f"richer than its network ({model.equivalence_report})"
    lines = [
        f"LogitModel of {c!r}: {model.n_parameters:,} coefficients for {len(model.classes_) - 1} of "
        f"{len(model.classes_)} classes, {kind}"
    ]
    if model.closure is not None:
        lines.append(str(model.closure))
    if model.refitted is None:
        lines.append(
            "given: the coefficients were estimated elsewhere"
            if model.given
            else "generative: the coefficients are those of the network"
        )
    else:
        found = model.refitted.fit
        state = "converged" if found.converged else "separated" if found.separated else "not converged"
        lines.append(
            f"refitted, l2 = {model.refitted.l2:.4g}: conditional log likelihood {found.log_likelihood:.6g} nats; "
            f"{state} in {found.iterations} iterations, {model.refitted.seconds:.2g} s"
        )
        if model.n_parameters <= MOST_COUNTED and not model.seen_terms.all():
            seen = model.seen_terms
            lines.append(f"{int((~seen).sum()):,} of {len(seen):,} terms are in none of the rows; see unidentified")
    if model.edits:
        lines.append(f"edited by hand: {'; '.join(edit.text for edit in model.edits)}")
    return "\n".join(lines)
