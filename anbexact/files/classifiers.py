"""Fitted classifiers as lossless JSON files.

A file is one JSON object. Variables are numbered in the order of the vocabulary, and all references to a variable use
its number, so names and states are written only once and may be of any type that :func:`encode` knows. Floats are
written as the shortest decimal that reads back as the same number.

Reading builds objects from fixed registries of names (`ESTIMATORS`, `OBJECTS`, the tags of `encode`) and never
imports or evaluates anything that a file names. Readers ignore keys that they do not know; a change that they must
not ignore increments `FORMAT_VERSION`, and :mod:`anbexact.files.earlier` then says how files of the format before are
read.
"""

from __future__ import annotations

from pathlib import Path

from anbexact.classifiers import DiscreteClassifier
from anbexact.files.describe import describe
from anbexact.files.document import CLASSIFIER, read_document, write_document
from anbexact.files.restore import restore


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
    write_document(CLASSIFIER, describe(classifier), path)


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
    MemoryError
        If the model needs more memory than there is, or than its ``memory_limit`` allows.
    OSError
        If the file cannot be read.
    """
    return read_document(CLASSIFIER, path, restore)
