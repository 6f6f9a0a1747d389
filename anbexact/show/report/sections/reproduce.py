"""How to make the model and the report again."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version

import numpy as np

import anbexact
from anbexact.show.report.document import Code, Column, Paragraph, Records, Section
from anbexact.show.report.subject import Subject

LIBRARIES = ("numpy", "scipy", "numba", "pandas", "scikit-learn")
"""The libraries whose versions can change results."""


def reproduce_section(subject: Subject, command: str, folds: int | None, seed: int) -> Section:
    """Return parameters, versions, and a fingerprint of the rows."""
    versions = {"anbexact": anbexact.__version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    records = [{"what": name, "version": text} for name, text in versions.items()]
    records.append({"what": "rows, as the classifier reads them (SHA-256)", "version": fingerprint(subject)})
    columns = [Column("what", "software or data"), Column("version", "version")]
    how = "without cross-validation" if folds is None else f"with {folds} folds, seed {seed}"
    text = f"The classifier is {subject.classifier!r}. The report was made {how}, by:"
    return Section(
        "reproduce",
        "How to reproduce this",
        [Paragraph(text, key="classifier"), Code(command, key="command"), Records("versions", columns, records)],
    )


def fingerprint(subject: Subject) -> str:
    """Return the first 16 digits of the SHA-256 checksum of the rows' codes, classes and weights, in their order."""
    digest = hashlib.sha256()
    for values, kind in ((subject.codes, "<i2"), (subject.truth, "<i8"), (subject.weights, "<f8")):
        digest.update(np.ascontiguousarray(values).astype(kind).tobytes())
    return digest.hexdigest()[:16]
