"""What a reader must know: warnings about this model and these rows, and what no report of this kind can say."""

from __future__ import annotations

import math

import numpy as np

from anbexact._runtime.units import agreeing, counted
from anbexact.show.report.document import Block, Heading, Listing, Paragraph, Section
from anbexact.show.report.sections.performance import baseline_beaten
from anbexact.show.report.subject import Subject
from anbexact.show.report.validation import Validation

FEW_ROWS = 30
"""With fewer rows of a class than this, figures about it are called rough."""
FEW_ROWS_PER_PARAMETER = 2.0
"""With fewer rows per free probability than this, the report warns that tables of the network rest on the prior."""
LARGE_SHARE = 0.05
"""Hidden cells of a feature are called frequent above this share."""
MANY_STANDARD_ERRORS = 2.0
"""The report warns if the accuracy on its rows exceeds that on held-out rows by more standard errors than this."""

ASSOCIATION = (
    "An arc means that two variables are modelled as dependent. It does not mean that changing the one changes the "
    "other: terms and arcs describe association, not cause and effect."
)
WITHOUT_ARCS = (
    "Probabilities describe association, not cause and effect: they need not hold for rows in which somebody has "
    "changed a feature."
)
SAME_ROWS = (
    "Probabilities hold for rows of the same kind as those that were learned from, with the same shares of the "
    "classes. Where classes are rarer or more frequent, the probabilities must be adjusted."
)
NARROW = "Credible intervals of terms take structure, states and cut points as given, so they tend to be too narrow."


def limits_section(subject: Subject, validation: Validation | None) -> Section:
    """Return warnings in words, and what always holds."""
    found = warnings_of(subject, validation)
    blocks: list[Block] = [Heading("Warnings")]
    if found:
        blocks.append(Listing(found, key="warnings"))
    else:
        blocks.append(Paragraph("None of the checks of this report found anything unusual."))
    always = (WITHOUT_ARCS, SAME_ROWS) if subject.structure is None else (ASSOCIATION, SAME_ROWS, NARROW)
    blocks += [Heading("Limits"), Listing(always, key="limits")]
    return Section("limits", "Warnings and limits", blocks)


def warnings_of(subject: Subject, validation: Validation | None) -> list[str]:
    """Return what is unusual about a model and rows, in sentences."""
    return [*_of_rows(subject), *_of_model(subject), *_of_predictions(subject, validation)]


def _of_rows(subject: Subject) -> list[str]:
    found = []
    sizes = np.bincount(subject.truth, minlength=len(subject.classes))
    rare = [f"{subject.classes[k]} ({sizes[k]:,})" for k in np.flatnonzero(sizes < FEW_ROWS).tolist()]
    if rare:
        found.append(
            f"These classes have fewer than {FEW_ROWS} rows here, so figures about them are rough: {_listed(rare)}."
        )
    hidden = (subject.codes < 0).mean(axis=1) if subject.codes.size else np.zeros(0)
    names = subject.vocabulary.features
    many = [f"{names[j]} ({hidden[j]:.0%})" for j in np.flatnonzero(hidden > LARGE_SHARE).tolist()]
    if many:
        found.append(f"Missing or unknown cells are summed out; they are frequent in {_listed(many)}.")
    return found


def _of_model(subject: Subject) -> list[str]:
    found = []
    network, structure = subject.network, subject.structure
    if structure is not None and not structure.certificate.optimal:
        gap = structure.certificate.gap
        how = "nothing is proved about it" if math.isinf(gap) else f"another may score up to {gap:.4g} nats more"
        found.append(f"The structure is not proved to be the best of its kind: {how}.")
    if network is not None and len(subject.X) / max(network.n_parameters, 1) < FEW_ROWS_PER_PARAMETER:
        found.append(
            f"The network has {network.n_parameters:,} free probabilities, and there are {len(subject.X):,} rows: "
            "many entries of its tables rest on the prior."
        )
    if network is not None and network.counts is None:
        found.append("The tables of the network were given, so it is not known how many rows are behind its terms.")
    refit = subject.facts.get("refit")
    if refit is not None and refit["complaint"]:
        found.append(f"{refit['complaint']}.")
    if "measure" in subject.facts and refit is None:
        found.append(
            "Columns of numbers have densities and are not cut into intervals. The panel and the feature table take "
            "each column at its most probable level, so the panel can differ from the classifier's own probabilities."
        )
    return found


def _of_predictions(subject: Subject, validation: Validation | None) -> list[str]:
    if validation is None or validation.own not in validation.lines:
        return ["This report was made without a cross-validation: it does not say how the model predicts new rows."]
    found = []
    own = validation.lines[validation.own]
    if baseline_beaten(validation) is False:
        found.append(
            "The model does not predict clearly better than the class frequencies: the interval of the difference of "
            "their log losses contains 0, or the frequencies are better."
        )
    right = float(np.average(subject.proba.argmax(axis=1) == subject.truth, weights=subject.weights))
    held_out = own.values["accuracy"]
    error = math.sqrt(max(held_out * (1 - held_out), 1e-9) / len(own.truth))
    if right - held_out > MANY_STANDARD_ERRORS * error:
        found.append(
            f"The classifier is right for {right:.1%} of these rows, but only for {held_out:.1%} of held-out rows. "
            "If these are the rows that it was learned from, expect the second figure for new rows."
        )
    never = sorted(set(range(len(validation.classes))) - set(own.proba.argmax(axis=1).tolist()))
    if never:
        names = _listed([str(validation.classes[k]) for k in never])
        found.append(f"These classes are never the most probable one of a held-out row: {names}.")
    surprises = int(np.isinf(own.losses).sum())
    if surprises:
        rows, have = counted(surprises, "held-out row"), agreeing(surprises, "has", "have")
        found.append(f"{rows} {have} a true class that was predicted with probability 0.")
    impossible = int(np.isnan(own.losses).sum())
    if impossible:
        rows, are = counted(impossible, "held-out row"), agreeing(impossible, "is", "are")
        their = agreeing(impossible, "its", "their")
        found.append(f"{rows} {are} impossible under the model of {their} fold, whatever the class.")
    return found


def _listed(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
