"""Fitted classifiers as lossless JSON files.

A file is one JSON object. Variables are numbered in the order of the vocabulary, and all references to a variable use
its number, so names and states are written only once and may be of any type that :func:`encode` knows. Floats are
written as the shortest decimal that reads back as the same number.

Reading builds objects from fixed registries of names (`ESTIMATORS`, `OBJECTS`, the tags of `encode`) and never
imports or evaluates anything that a file names. Readers ignore keys that they do not know; a change that they must
not ignore increments `FORMAT_VERSION`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anbexact
from anbexact._runtime.json_checks import reading
from anbexact.classifiers import DiscreteClassifier
from anbexact.files.atomic import check_place, write_atomically
from anbexact.files.describe import describe
from anbexact.files.restore import restore

FORMAT = "anbexact classifier"
"""The entry ``format`` of a classifier's JSON file."""
FORMAT_VERSION = 1
"""The newest version of the format, and the only one that is written."""


def save(classifier: DiscreteClassifier, path: str | Path) -> None:
    """Write a fitted classifier to a JSON file that :func:`load` reads.

    The file is replaced only when the new one is complete; until then, an older file of that name is kept. It
    contains counts of rows and, for columns that were cut or grouped, the training values or their quantiles, from
    which :meth:`~anbexact.NetworkClassifier.sample` draws. The file of a :class:`~anbexact.RefittedClassifier`
    contains the distinct training rows, as codes of states, because standard errors and the identification of terms
    depend on them. With ``l2=0``, it also contains their order and the labels of their index. The file of an
    :class:`~anbexact.classifiers.AveragedClassifier` contains the distinct rows, too, because its posterior over
    structures depends on them.

    Parameters
    ----------
    classifier : DiscreteClassifier
        One of this package's classifiers, fitted.
    path : str or Path
        The file; its folder must exist.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If the classifier, a constructor parameter, a name or a state has a type that cannot be written; the message
        names it, and nothing is written.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import anbexact
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> path = tempfile.mkdtemp() + "/monks.json"
    >>> anbexact.ANBClassifier().fit(X, y).save(path)
    >>> anbexact.load(path).score(X, y)
    1.0
    """
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": anbexact.__version__,
        **describe(classifier),
    }
    document["sha256"] = digest(document)
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items()]
    check_place(Path(path))
    write_atomically(Path(os.path.realpath(path)), "{\n" + ",\n".join(lines) + "\n}\n")


def load(path: str | Path) -> DiscreteClassifier:
    """Read a classifier written by :func:`save`. Its predictions are identical, bit for bit.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    DiscreteClassifier
        Fitted, of the class that was saved, with the same constructor parameters.

    Raises
    ------
    ValueError
        If the file was not written by :func:`save`, is damaged, or was written by a newer version of the package; the
        message says which, and what to do.
    OSError
        If the file cannot be read.
    """
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a classifier saved by anbexact, or is damaged: it is not complete JSON ({error}). "
            "Pass a file that the save method wrote, or save it again."
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"{path} is JSON, but not a classifier saved by anbexact ({FORMAT!r} is missing). "
            "Pass a file that the save method wrote."
        )
    version = document.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ValueError(
            f"{path} was written by anbexact {document.get('package_version')} in format {version}, newer than the "
            f"format {FORMAT_VERSION} that anbexact {anbexact.__version__} reads. Upgrade anbexact."
        )
    try:
        with reading("sha256"):
            if digest(document) != document.get("sha256"):
                raise ValueError("its contents do not match its checksum")
        return restore(document)
    except ValueError as error:
        writer = document.get("package_version")
        what = "is damaged or was edited"
        if writer != anbexact.__version__:
            what += f", or cannot be read by anbexact {anbexact.__version__} (it was written by {writer})"
        raise ValueError(
            f"{path} {what}: {error}. Restore it from a copy, or fit and save the classifier again."
        ) from error


def digest(document: Mapping[str, Any]) -> str:
    """Return the checksum of the contents of a document, regardless of its layout."""
    contents = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(contents, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
