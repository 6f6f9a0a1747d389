"""Fitted classifiers as network files for other programs, and network files as classifiers.

pgmpy writes the formats, but alters names, and numbers in XDSL. A file therefore contains *safe* names, and a second
file next to it maps them back. The file that pgmpy wrote is read again and compared before it gets its final name.
Files are read by :mod:`anbexact.adapters.files.network_parsers`.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import secrets
import shutil
import warnings
import zlib
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import networkx as nx
import numpy as np

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.adapters.files.network_parsers import parse
from anbexact.adapters.files.safe_names import (
    describe_names,
    names_path,
    network_name,
    new_states,
    read_names,
    renamed,
    restored,
    safe_names,
)
from anbexact.adapters.pgmpy.networks import States, Tables, discrete_form, from_pgmpy, read_network, to_pgmpy
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.files.atomic import check_place, write_atomically
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from anbexact.classifiers import NetworkClassifier, RefittedClassifier

with warnings.catch_warnings():  # pgmpy warns on import about names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFWriter, XDSLWriter, XMLBIFWriter

__all__ = ["from_file", "to_file"]

FORMATS = {".bif": "BIF", ".xmlbif": "XMLBIF", ".xml": "XMLBIF", ".xdsl": "XDSL"}
"""The formats by file extension."""
CLOSE = 1e-12
"""Maximum relative difference of a probability that is read back. With n variables, each of two log joint
probabilities then differs by at most n times this, and a posterior by half of n times this: by 5e-10 for a thousand
variables."""
BYTES_TO_READ = {"BIF": 15, "XMLBIF": 5, "XDSL": 5}
"""Memory that reading was measured to need, in bytes per byte of the file."""
BYTES_TO_WRITE = {"BIF": 400, "XMLBIF": 250, "XDSL": 250}
"""Memory that writing, and reading what was written, was measured to need, in bytes per probability."""


def to_file(classifier: NetworkClassifier | RefittedClassifier, path: str | Path) -> None:
    r"""Write a fitted classifier's network to a file for other programs, and the meaning of its names to a second
    one.

    The extension determines the format: ``.bif``, ``.xmlbif`` or ``.xml`` (XMLBIF), ``.xdsl`` (GeNIe). No format
    allows every name, so variables and states are written under names of ASCII letters, digits and underscores,
    derived from their own: ``petal length (cm)`` becomes ``petal_length_cm``, and its state ``(3.1, 4.7]``
    ``from_3_1_to_4_7``. The file ``<path>.names.json`` maps them back and stores what no format can: types, cut
    points, the class variable, and the order of the features. Keep the two together: :func:`from_file` then needs
    nothing else.

    The file is read again before it gets its final name: every probability equals the classifier's within a relative
    error of 1e-12. An older file is kept until the new one is complete. The two files are replaced one after the
    other; whoever reads between these two moments finds files that do not match, which :func:`from_file` refuses.
    Only ``save`` keeps *all* of a classifier.

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        A fitted classifier, such as :class:`~anbexact.ANBClassifier`.
    path : str or Path
        The file; its folder must exist.

    Raises
    ------
    NotFittedError
        If the classifier was not fitted.
    TypeError
        If it is not a classifier of this package, or if a name or a state is of a type that ``save`` cannot write
        either.
    ValueError
        If the extension is not one of the above, or the file would not represent the classifier.
    MemoryError
        If pgmpy would need more memory than is available.
    OSError
        If a file cannot be written; an older pair is then unchanged.

    Examples
    --------
    >>> import tempfile
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import from_file, to_file
    >>> from anbexact.datasets import load_iris
    >>> X, y = load_iris()
    >>> X = X.add_suffix(" (cm)")
    >>> path = tempfile.mkdtemp() + "/iris.bif"
    >>> to_file(ANBClassifier().fit(X, y), path)
    >>> print(*open(path).read().splitlines()[2:5], sep="\n")
    variable petal_length_cm {
        type discrete [ 3 ] { up_to_2_45, from_2_45_to_4_75, above_4_75 };
    }
    >>> from_file(path).predict(X[:2])
    array(['setosa', 'setosa'], dtype='<U10')
    """
    path = Path(path)
    if hasattr(classifier, "to_network"):
        raise TypeError(
            "to_file takes a classifier, not a network: save_network writes a network to JSON, and "
            "to_pgmpy(network).save(path) to BIF"
        )
    source = discrete_form(classifier, "to_file")
    kind = _kind(path, f"; {type(classifier).__name__}.save writes JSON, without loss")
    vocabulary = source.vocabulary_
    n_probabilities = sum(table.values.size for table in source.conditional_tables_.values())
    needed = BYTES_TO_WRITE[kind] * n_probabilities
    if needed > available_memory():
        raise MemoryError(
            f"writing {n_probabilities:,} probabilities as {kind} to {path} would need about {human_bytes(needed)}, "
            f"and {human_bytes(available_memory())} are available: "
            + ("XMLBIF and XDSL need less; or " if kind == "BIF" else "")
            + "save the classifier itself, as JSON"
        )
    names = dict(zip(vocabulary.names, safe_names(vocabulary.names, "x"), strict=True))
    states = {
        name: dict(zip(of_name, safe_names(of_name, "v"), strict=True)) for name, of_name in vocabulary.states.items()
    }
    document = describe_names(source, names, states)
    plain = Vocabulary(new_states(names, states), names[vocabulary.class_name])
    twin = renamed(source, names, states, plain, {})
    text = _written(to_pgmpy(twin), kind, network_name(document))
    try:
        _compare(twin.conditional_tables_, dict(twin.vocabulary_.states), _parsed(text.encode("ascii"), kind))
    except ValueError as error:
        raise ValueError(
            f"cannot write {path}: the {kind} that pgmpy wrote reads back differently ({error}). Nothing was "
            "written; try another format or the save method."
        ) from error
    _replace_pair(path, text, json.dumps(document, indent=1, allow_nan=False) + "\n")


def from_file(path: str | Path, class_name: Hashable | None = None) -> FixedStructureClassifier:
    """Return a fitted classifier with the class posterior of the network in a file.

    The file may come from :func:`to_file`, perhaps edited in another program since, or from another program: its
    probabilities and its arcs are used. With the ``<path>.names.json`` of :func:`to_file` next to it, the classifier
    has the names, types, orders and cut points of the one that was written. Without this file, names and states are
    used as they are in the network file, all of them text; see :func:`~anbexact.adapters.from_pgmpy`. The file may be
    compressed by gzip (``alarm.bif.gz``).

    Parameters
    ----------
    path : str or Path
        A file with extension ``.bif``, ``.xmlbif``, ``.xml`` or ``.xdsl``, or one of these and ``.gz``.
    class_name : Hashable, optional
        The variable to classify, which can be any variable of the network; by default, the class of the classifier
        that was written.

    Returns
    -------
    FixedStructureClassifier
        Fitted. It treats missing and unknown values like the classifier that was written.

    Raises
    ------
    ValueError
        If the file is damaged or has another format, its network cannot classify, the two files do not match, or
        ``class_name`` is needed; the message names the file and says what to do.
    MemoryError
        If pgmpy would need more memory than is available.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from anbexact.adapters import from_file
    >>> path = Path(tempfile.mkdtemp()) / "rain.bif"
    >>> _ = path.write_text('''network rain { }
    ... variable rain { type discrete [ 2 ] { yes, no }; }
    ... variable wet { type discrete [ 2 ] { yes, no }; }
    ... probability ( rain ) { table 0.2, 0.8; }
    ... probability ( wet | rain ) {
    ...   (yes) 0.9, 0.1;
    ...   (no) 0.2, 0.8;
    ... }''')
    >>> classifier = from_file(path, "rain")
    >>> classifier.classes_.tolist(), classifier.predict_proba([["yes"]])
    (['no', 'yes'], array([[0.47058824, 0.52941176]]))
    """
    path = Path(path)
    plain = path.with_name(path.name[:-3]) if path.suffix.lower() == ".gz" else path
    kind = _kind(plain)
    content = path.read_bytes()
    explained = names_path(plain)
    try:
        network = _parsed(_decompressed(content), kind)
    except ValueError as error:
        raise ValueError(
            f"{path} is not a valid {kind} file: {error}. Restore it, or write it again; the format must "
            "match the extension."
        ) from error
    document = read_names(explained)
    if document is None and class_name is None:
        raise ValueError(
            f"{path} does not say which variable is the class, and {explained} does not exist: pass class_name=, "
            f"one of {list(network.nodes)}"
        )
    try:
        if document is None:
            return from_pgmpy(network, class_name)
        return restored(network, document, class_name)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _kind(path: Path, advice: str = "") -> str:
    """Return the format for a file's extension."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        known = ", ".join(f"{extension} ({name})" for extension, name in FORMATS.items())
        raise ValueError(f"{path} has none of the known extensions, {known}{advice}")
    return kind


class _XMLBIFWriter(XMLBIFWriter):  # type: ignore[misc]  # pgmpy has no types
    """pgmpy's writer in linear time: its own method takes time that grows with the square of a table's size."""

    def get_values(self) -> dict[str, ElementTree.Element]:
        tags = {}
        for cpd in self.model.get_cpds():
            tags[cpd.variable] = ElementTree.SubElement(self.definition[cpd.variable], "TABLE")
            tags[cpd.variable].text = " ".join(map(repr, cpd.get_values().ravel("F").tolist()))
        return tags


def _written(network: DiscreteBayesianNetwork, kind: str, name: str) -> str:
    """Return the text of a file for a network with safe names."""
    network.name = name
    if kind == "BIF":
        return str(BIFWriter(network))
    places = {node: (120 * (i % 8), 80 * (i // 8)) for i, node in enumerate(nx.topological_sort(network))}
    if kind == "XMLBIF":  # Weka fails on the empty property of a node without properties
        nx.set_node_attributes(network, places, "position")
        return str(_XMLBIFWriter(network))
    state = random.getstate()
    writer = XDSLWriter(network, network_id=name)  # places the nodes at random
    random.setstate(state)
    for node, cpt in writer.variables.items():  # pgmpy writes 16 decimals, and loses anything below 1e-16
        values = network.get_cpds(node).get_values().ravel("F").tolist()
        cpt.find("probabilities").text = " ".join(np.format_float_positional(value, trim="-") for value in values)
    for shown in writer.root.iter("node"):
        x, y = places[shown.get("id")]
        shown.find("position").text = f"{x} {y} {x + 72} {y + 48}"
    ElementTree.indent(writer.root, "    ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(writer.root).decode("ascii")}\n'


def _decompressed(content: bytes) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"its compression by gzip is damaged ({error})") from error


def _parsed(content: bytes, kind: str) -> DiscreteBayesianNetwork:
    """Return the network in a file's content, with its names as they are.

    Raises
    ------
    ValueError
        If it does not follow the grammar of the format.
    MemoryError
        If it needs more memory than is available.
    """
    needed, available = BYTES_TO_READ[kind] * len(content), available_memory()
    if needed > available:
        raise MemoryError(
            f"about {human_bytes(needed)} would be needed to read {human_bytes(len(content))} of {kind}, but "
            f"{human_bytes(available)} are available" + (": XMLBIF and XDSL need less" if kind == "BIF" else "")
        )
    if not content.strip():
        raise ValueError("it is empty")
    try:
        found = parse(content, kind)
    except (ElementTree.ParseError, LookupError, RecursionError) as error:  # the XML, or the name of its encoding
        raise ValueError(f"it is not well-formed XML ({error})") from error
    network = DiscreteBayesianNetwork()
    network.name = found.name
    network.add_nodes_from(found.states)
    try:
        network.add_edges_from((parent, name) for name, (parents, _) in found.tables.items() for parent in parents)
    except ValueError as error:  # a cycle
        raise ValueError(f"its arcs are not those of a network ({error})") from error
    for name, (parents, values) in found.tables.items():
        network.add_cpds(
            TabularCPD(
                name,
                len(values),
                values.reshape(len(values), -1),
                evidence=parents or None,
                evidence_card=list(values.shape[1:]) or None,
                state_names={variable: list(found.states[variable]) for variable in (name, *parents)},
            )
        )
    return network


def _compare(tables: Tables, states: States, network: DiscreteBayesianNetwork) -> None:
    """Refuse a network that does not have these tables and states; see `CLOSE`."""
    read_tables, read_states = read_network(network)
    if read_states != states:
        raise ValueError("the names of variables or states differ")
    for name, table in tables.items():
        if read_tables[name].variables != table.variables:
            raise ValueError(f"the parents of {name!r} differ")
        if not np.allclose(read_tables[name].values, table.values, rtol=CLOSE, atol=0):
            raise ValueError(f"the probabilities of {name!r} differ")


def _replace_pair(path: Path, text: str, names_text: str) -> None:
    """Write a network file and the file of its names; on failure, leave the old files unchanged.

    The network file is replaced first. If the program were killed at that moment, the name of the network would
    reveal that the file of names next to it is older, and it would be refused.
    """
    check_place(path)
    place, names_place = Path(os.path.realpath(path)), Path(os.path.realpath(names_path(path)))
    mark = secrets.token_hex(6)
    older = place.with_name(f".{place.name}.{mark}.old")
    draft = names_place.with_name(f".{names_place.name}.{mark}.tmp")
    try:
        if place.exists():
            shutil.copy2(place, older)
        write_atomically(draft, names_text)
        write_atomically(place, text)
        try:
            os.replace(draft, names_place)
        except BaseException:
            if older.exists():
                os.replace(older, place)
            else:
                place.unlink()
            raise
    finally:
        older.unlink(missing_ok=True)
        draft.unlink(missing_ok=True)
