"""JSON documents with a format, a version and a checksum: what files of classifiers, networks and cards share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anbexact
from anbexact._runtime.json_checks import reading, shortened, whole
from anbexact.files.atomic import write_atomically
from anbexact.files.earlier import migrated

FORMAT_VERSION = 2
"""The newest version of the formats, and the only one that is written. Every version since 1 is read: before you
increment it, add to ``MIGRATIONS`` of :mod:`anbexact.files.earlier` what changes a document of the version before."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Kind:
    """What a file contains.

    Attributes
    ----------
    format : str
        The format that the file names.
    noun : str
        What the contents are called.
    written_by, read_by : str
        What writes such files, and what reads them.
    """

    format: str
    noun: str
    written_by: str
    read_by: str


CLASSIFIER = Kind("anbexact classifier", "classifier", "the save method", "anbexact.load")
"""Files of fitted classifiers."""
NETWORK = Kind("anbexact network", "network", "anbexact.save_network", "anbexact.load_network")
"""Files of Bayesian networks."""
SCORECARD = Kind("anbexact scorecard", "scorecard", "anbexact.save_scorecard", "anbexact.load_scorecard")
"""Files of scorecards."""


def write_document(kind: Kind, contents: Mapping[str, Any], path: str | Path) -> None:
    """Write JSON values to a file, which is replaced only when the new one is complete.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    document = {
        "format": kind.format,
        "format_version": FORMAT_VERSION,
        "package_version": anbexact.__version__,
        **contents,
    }
    document["sha256"] = digest(document)
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items()]
    write_atomically(Path(path), "{\n" + ",\n".join(lines) + "\n}\n")


def read_document(kind: Kind, path: str | Path, restore: Callable[[Mapping[str, Any]], Value]) -> Value:
    """Return what ``restore`` makes of the document in a file.

    Raises
    ------
    ValueError
        If the file does not contain this kind of document, is damaged, or was written by a newer version of the
        package; the message says which, and what to do.
    OSError
        If the file cannot be read.
    """
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a {kind.noun} saved by anbexact, or is damaged: it is not complete JSON ({error}). "
            f"Pass a file that {kind.written_by} wrote, or save it again."
        ) from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != kind.format:
        other = next((other for other in (CLASSIFIER, NETWORK, SCORECARD) if other.format == found), None)
        if other is not None:
            raise ValueError(f"{path} contains a {other.noun}, not a {kind.noun}: read it with {other.read_by}.")
        raise ValueError(
            f"{path} is JSON, but not a {kind.noun} saved by anbexact ({kind.format!r} is missing). "
            f"Pass a file that {kind.written_by} wrote."
        )
    refuse_newer(document, path, FORMAT_VERSION)
    try:
        with reading("sha256"):
            if digest(document) != document.get("sha256"):
                raise ValueError("its contents do not match its checksum")
        with reading("format_version"):
            version = whole(document.get("format_version"), 1, FORMAT_VERSION)
        with reading():  # the migration names the fields
            document = migrated(document, version)
        return restore(document)
    except ValueError as error:
        writer = document.get("package_version")
        what = "is damaged or was edited"
        if writer != anbexact.__version__:
            what += f", or cannot be read by anbexact {anbexact.__version__} (it was written by {writer})"
        raise ValueError(
            f"{path} {what}: {error}. Restore it from a copy, or fit and save the {kind.noun} again."
        ) from error
    except MemoryError as error:
        raise type(error)(f"cannot read {path}: {error}") from error


def refuse_newer(document: Mapping[str, Any], path: str | Path, newest: int) -> None:
    """Refuse a document whose format is newer than ``newest``, the newest one that is read.

    Raises
    ------
    ValueError
        The message is one sentence, which says what to do.
    """
    version = document.get("format_version")
    if isinstance(version, int) and version > newest:
        writer = str(document.get("package_version"))
        raise ValueError(
            f"{path} was written by anbexact {shortened(writer)[1:-1]} in format {shortened(version)}, but anbexact "
            f"{anbexact.__version__} reads formats up to {newest}: upgrade anbexact"
        )


def digest(document: Mapping[str, Any]) -> str:
    """Return the checksum of the contents of a document, regardless of its layout."""
    contents = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(contents, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
