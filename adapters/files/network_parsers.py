"""What BIF, XMLBIF and XDSL files say, read strictly: nothing in a file is overlooked, and nothing is guessed.

pgmpy's readers skip what they do not recognise. If a row is given twice, a word is misspelt or an element is unknown,
they return a network with other probabilities than the file has. Here, whatever is not in the grammar of the format
is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, TypeAlias
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Parts: TypeAlias = list[list[str]]
"""Words between commas."""
Row: TypeAlias = tuple[str, Parts, list[float]]
"""Probabilities in BIF: ``"table"``, ``"default"`` or ``"("``, the states of the parents, and the values."""

_COMMENT = re.compile(r'"[^"]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];,|"]|[^\s{}()\[\];,|"]+')
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_END = ""
"""Stands for the end of a BIF file among its tokens."""


@dataclass
class ParsedNetwork:
    """What a network file says.

    Attributes
    ----------
    name : str or None
        The name of the network.
    states : dict of str to list of str
        The states of every variable, in the order of the file.
    tables : dict of str to (parents, values)
        P(variable | parents), shape (states of the variable, states of the first parent, ...).
    """

    name: str | None = None
    states: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[str, tuple[list[str], npt.NDArray[np.float64]]] = field(default_factory=dict)

    def declare(self, name: str, states: list[str]) -> None:
        """Add a variable; refuse one that was declared before, and states that are not distinct."""
        if name in self.states:
            raise ValueError(f"it declares the variable {name!r} more than once")
        if not states:
            raise ValueError(f"the variable {name!r} has no states")
        twice = [state for state, times in Counter(states).items() if times > 1]
        if twice:
            raise ValueError(f"the variable {name!r} has the state {twice[0]!r} more than once")
        self.states[name] = states

    def shape(self, name: str, parents: list[str]) -> tuple[int, ...]:
        """Return the shape of a variable's table; refuse a second table, and variables that are not declared."""
        variables = [name, *parents]
        unknown = [variable for variable in variables if variable not in self.states]
        if unknown:
            raise ValueError(f"it contains probabilities of {name!r}, but does not declare {unknown[0]!r}")
        if len(set(variables)) < len(variables):
            raise ValueError(f"the probabilities of {name!r} name a variable more than once, {variables}")
        if name in self.tables:
            raise ValueError(f"it contains the probabilities of {name!r} more than once")
        return tuple(len(self.states[variable]) for variable in variables)

    def define(self, name: str, parents: list[str], values: list[float]) -> None:
        """Add the table of a variable: its values one by one, those of the first state of all parents first."""
        shape = self.shape(name, parents)
        check_number(name, values, prod(shape))
        self.tables[name] = (parents, np.moveaxis(np.array(values).reshape(*shape[1:], shape[0]), -1, 0))

    def define_rows(self, name: str, parents: list[str], rows: list[Row]) -> None:
        """Add the table of a variable that is given as a whole, or by the states of its parents."""
        shape = self.shape(name, parents)
        kinds = Counter(kind for kind, _, _ in rows)
        if kinds["table"]:
            if len(rows) > 1:
                raise ValueError(f"the probabilities of {name!r} are given as a table and in another way")
            check_number(name, rows[0][2], prod(shape))
            self.tables[name] = (parents, np.array(rows[0][2]).reshape(shape))
            return
        if kinds["default"] > 1:
            raise ValueError(f"the probabilities of {name!r} have two defaults")
        if 16 * prod(shape) > available_memory():
            raise MemoryError(f"the table of {name!r} needs {human_bytes(8 * prod(shape))}, which are not available")
        columns = np.zeros((*shape[1:], shape[0]))
        given = np.zeros(shape[1:], dtype=bool)
        for kind, parts, values in sorted(rows, key=lambda row: row[0] != "default"):
            check_number(name, values, shape[0])
            if kind == "default":
                columns[...] = values
                continue
            states = parts[0] if len(parts) == 1 < len(parents) else [" ".join(words) for words in parts]
            if len(states) != len(parents):
                raise ValueError(f"{states} are not states of the parents of {name!r}, {parents}")
            place = tuple(self._place(parent, state) for parent, state in zip(parents, states, strict=True))
            if given[place]:
                raise ValueError(f"the probabilities of {name!r} given {states} are given more than once")
            given[place], columns[place] = True, values
        if not kinds["default"] and not given.all():
            missing = [self.states[parent][k] for parent, k in zip(parents, np.argwhere(~given)[0], strict=True)]
            raise ValueError(f"it contains no probabilities of {name!r} given {missing}")
        self.tables[name] = (parents, np.moveaxis(columns, -1, 0))

    def _place(self, name: str, state: str) -> int:
        """Return the position of a state of a variable."""
        if state not in self.states[name]:
            raise ValueError(f"{state!r} is not a state of {name!r}, {self.states[name]}")
        return self.states[name].index(state)


def parse(content: bytes, kind: str) -> ParsedNetwork:
    """Return what the content of a file says; ``kind`` is ``"BIF"``, ``"XMLBIF"`` or ``"XDSL"``.

    Raises
    ------
    ValueError
        If the content does not follow the grammar of the format, or a variable has no probabilities.
    """
    found = PARSERS[kind](content)
    if not found.states:
        raise ValueError("it does not declare any variables")
    bare = found.states.keys() - found.tables.keys()
    if bare:
        raise ValueError(f"it contains no probabilities of {min(bare)!r}")
    return found


def check_number(name: str, values: Collection[float], expected: int) -> None:
    """Refuse another number of probabilities of a variable than its states require."""
    if len(values) != expected:
        raise ValueError(f"it contains {len(values)} probabilities of {name!r}, where its states require {expected}")


# ---- BIF


class Tokens:
    """The words, quoted texts and signs of a BIF file, without its comments; the next one can be looked at."""

    def __init__(self, text: str) -> None:
        plain = _COMMENT.sub(
            lambda found: found[0] if found[0].startswith('"') else " " + "\n" * found[0].count("\n"), text
        )
        self._tokens = [
            (number, token) for number, line in enumerate(_lines(plain), start=1) for token in _TOKEN.findall(line)
        ]
        self._place = 0
        if any(token == '"' for _, token in self._tokens):
            raise ValueError("a quotation mark is not closed in its line")

    @property
    def next(self) -> str:
        """The next token; ``_END`` behind the last one."""
        return self._tokens[self._place][1] if self._place < len(self._tokens) else _END

    def take(self) -> str:
        """Return the next token, and pass it."""
        token = self.next
        self._place += 1
        return token

    def takes(self, expected: str) -> bool:
        """Pass the next token if it is the one expected, and return whether it is."""
        found = self.next == expected
        self._place += found
        return found

    def expect(self, *expected: str) -> str:
        """Return the next token, which must be one of those expected, and pass it."""
        if self.next not in expected:
            raise self.wrong(" or ".join(map(repr, expected)))
        return self.take()

    def wrong(self, expected: str) -> ValueError:
        """Return the error that something else was expected here."""
        if self.next == _END:
            return ValueError(f"{expected} was expected, but the file ends")
        return ValueError(f"line {self._tokens[self._place][0]}: {expected} was expected, not {self.next!r}")

    def names(self, *ends: str) -> Parts:
        """Return the words between commas, up to one of some signs, which is not passed."""
        parts: Parts = [[]]
        while self.next not in ends:
            if self.next == _END or self.next in "{}()[];|":
                raise self.wrong(f"a name or {' or '.join(map(repr, ends))}")
            word = self.take()
            if word == ",":
                parts.append([])
            else:
                parts[-1].append(word.strip('"').strip())
        if not all(parts) or not all(map(all, parts)):
            raise self.wrong("a name")
        return parts

    def numbers(self) -> list[float]:
        """Return numbers up to a semicolon, which is passed; there may be commas between them."""
        values: list[float] = []
        while not self.takes(";"):
            if values:
                self.takes(",")
            if not _NUMBER.fullmatch(self.next):
                raise self.wrong("a number or ';'")
            values.append(float(self.take()))
        return values

    def skip_property(self) -> None:
        """Pass a property, which ends in a semicolon."""
        while not self.takes(";"):
            if self.next == _END:
                raise self.wrong("';'")
            self.take()


def _lines(text: str) -> list[str]:
    """Return the lines of a text, whose line ends may be of any kind."""
    return re.split("\r\n?|\n", text)


def _parse_bif(content: bytes) -> ParsedNetwork:
    """Return what a BIF file says (Cozman, *The Interchange Format for Bayesian Networks*, version 0.15).

    Names of variables, and states between commas, may consist of several words. In the table of a variable with
    parents, the states of the variable vary slowest, and those of the last parent fastest.
    """
    tokens = Tokens(content.decode("utf-8-sig"))
    found = ParsedNetwork()
    blocks: list[tuple[Parts, Parts, list[Row]]] = []
    while tokens.next != _END:
        block = tokens.expect("network", "variable", "probability")
        if block == "network":
            if found.name is not None:
                raise ValueError("it describes more than one network")
            found.name = _network_name(tokens)
        elif block == "variable":
            found.declare(*_variable(tokens))
        else:
            blocks.append(_probabilities(tokens))
    for own, given, rows in blocks:  # a block may precede those of its variables
        name, parents = _family(found.states, own, given)
        found.define_rows(name, parents, rows)
    return found


def _network_name(tokens: Tokens) -> str:
    """Return the name of the network; its properties are passed."""
    name = _one_name(tokens, tokens.names("{"))
    tokens.expect("{")
    while not tokens.takes("}"):
        tokens.expect("property", "}")
        tokens.skip_property()
    return name


def _one_name(tokens: Tokens, parts: Parts) -> str:
    """Return the only name there is."""
    if len(parts) > 1:
        raise tokens.wrong("a single name before this")
    return " ".join(parts[0])


def _variable(tokens: Tokens) -> tuple[str, list[str]]:
    """Return the name and the states of a variable."""
    name = _one_name(tokens, tokens.names("{"))
    tokens.expect("{")
    states: list[str] | None = None
    while not tokens.takes("}"):
        if tokens.expect("type", "property") == "property":
            tokens.skip_property()
            continue
        if states is not None:
            raise ValueError(f"the variable {name!r} has two types")
        tokens.expect("discrete")
        tokens.expect("[")
        number = tokens.take()
        tokens.expect("]")
        tokens.expect("{")
        parts = tokens.names("}")
        tokens.expect("}")
        tokens.expect(";")
        states = parts[0] if len(parts) == 1 else [" ".join(words) for words in parts]
        if number != str(len(states)):
            raise ValueError(f"the variable {name!r} declares {number} states, but names {len(states)}, {states}")
    if states is None:
        raise ValueError(f"the variable {name!r} has no type")
    return name, states


def _probabilities(tokens: Tokens) -> tuple[Parts, Parts, list[Row]]:
    """Return the variables of a block of probabilities, before and after the bar, and the lines of the block."""
    tokens.expect("(")
    own = tokens.names("|", ")")
    given: Parts = []
    if tokens.expect("|", ")") == "|":
        given = tokens.names(")")
        tokens.expect(")")
    tokens.expect("{")
    rows: list[Row] = []
    while not tokens.takes("}"):
        kind = tokens.expect("table", "default", "(", "property", "}")
        if kind == "property":
            tokens.skip_property()
            continue
        states: Parts = []
        if kind == "(":
            states = tokens.names(")")
            tokens.expect(")")
        rows.append((kind, states, tokens.numbers()))
    return own, given, rows


def _family(declared: Collection[str], own: Parts, given: Parts) -> tuple[str, list[str]]:
    """Return a variable and its parents, as they are declared; the case of letters may differ.

    Older files have no bar: the first name is the variable, and the others are its parents.
    """
    names = [" ".join(words) for words in (*own, *given)]
    if not given and len(own) == 1 and _declared(declared, names[0]) not in declared:
        names = own[0]
    if given and len(own) > 1:
        raise ValueError(f"the probabilities of several variables, {names[: len(own)]}, are in one block")
    name, *parents = (_declared(declared, name) for name in names)
    return name, parents


def _declared(declared: Collection[str], name: str) -> str:
    """Return the declared name that is this one, or the only one that differs from it by the case of letters."""
    alike = [other for other in declared if other.lower() == name.lower()]
    return alike[0] if name not in declared and len(alike) == 1 else name


# ---- XMLBIF and XDSL


def _parse_xmlbif(content: bytes) -> ParsedNetwork:
    """Return what an XMLBIF file says (Cozman, *The Interchange Format for Bayesian Networks*, version 0.3).

    The states of a variable vary fastest, and those of its first parent slowest.
    """
    root = ElementTree.fromstring(content)
    if root.tag != "BIF":
        raise ValueError(f"its outermost element is {root.tag!r}, not 'BIF'")
    network = _only(_parts(root, {"NETWORK"})["NETWORK"], "NETWORK")
    parts = _parts(network, {"NAME", "PROPERTY", "VARIABLE", "DEFINITION"})
    found = ParsedNetwork(_text(_only(parts["NAME"], "NAME")))
    for variable in parts["VARIABLE"]:
        own = _parts(variable, {"NAME", "OUTCOME", "PROPERTY"})
        name = _text(_only(own["NAME"], "NAME"))
        if variable.get("TYPE", "nature") != "nature":
            raise ValueError(f"the variable {name!r} is not random, but of the type {variable.get('TYPE')!r}")
        found.declare(name, list(map(_text, own["OUTCOME"])))
    for definition in parts["DEFINITION"]:
        own = _parts(definition, {"FOR", "GIVEN", "TABLE", "PROPERTY"})
        name = _text(_only(own["FOR"], "FOR"))
        table = _text(_only(own["TABLE"], f"TABLE of {name!r}"))
        found.define(name, list(map(_text, own["GIVEN"])), _numbers(name, table.split()))
    return found


def _parse_xdsl(content: bytes) -> ParsedNetwork:
    """Return what an XDSL file says (BayesFusion, *GeNIe Modeler*, "XDSL file format").

    The states of a variable vary fastest, and those of its first parent slowest.
    """
    root = ElementTree.fromstring(content)
    if root.tag != "smile":
        raise ValueError(f"its outermost element is {root.tag!r}, not 'smile'")
    found = ParsedNetwork(root.get("id"))
    nodes = _only(root.findall("nodes"), "nodes")
    others = {node.tag for node in nodes} - {"cpt"}
    if others:
        raise ValueError(f"it contains nodes that are not tables of probabilities ({', '.join(sorted(others))})")
    described = []
    for node in nodes:
        own = _parts(node, {"state", "parents", "probabilities", "property"})
        name = _identifier(node)
        found.declare(name, list(map(_identifier, own["state"])))
        parents = _text(_only(own["parents"], f"parents of {name!r}")).split() if own["parents"] else []
        described.append((name, parents, _text(_only(own["probabilities"], f"probabilities of {name!r}")).split()))
    for name, parents, values in described:  # a node may stand before its parents
        found.define(name, parents, _numbers(name, values))
    return found


def _parts(element: Element, known: Collection[str]) -> Mapping[str, list[Element]]:
    """Return the elements within one by their tags; refuse others, and text between them."""
    found: dict[str, list[Element]] = {tag: [] for tag in known}
    for part in element:
        if part.tag not in known:
            raise ValueError(f"the element {element.tag!r} contains an unknown element {part.tag!r}")
        found[part.tag].append(part)
    if any((text or "").strip() for text in (element.text, *(part.tail for part in element))):
        raise ValueError(f"the element {element.tag!r} contains text between its elements")
    return found


def _only(elements: list[Element], what: str) -> Element:
    """Return the only element of a kind."""
    if len(elements) != 1:
        raise ValueError(f"it contains {len(elements)} elements {what} in a place where there must be one")
    return elements[0]


def _text(element: Element) -> str:
    """Return the text of an element without blanks at its ends."""
    text = (element.text or "").strip()
    if len(element) or not text:
        raise ValueError(f"an element {element.tag!r} contains other elements, or no text")
    return text


def _numbers(name: str, words: Iterable[str]) -> list[float]:
    """Return probabilities of a variable as numbers."""
    words = list(words)
    other = next((word for word in words if not _NUMBER.fullmatch(word)), None)
    if other is not None:
        raise ValueError(f"the probabilities of {name!r} contain {other!r}, which is not a number")
    return list(map(float, words))


def _identifier(element: Element) -> str:
    """Return the attribute that names a node or a state, without blanks at its ends."""
    name = (element.get("id") or "").strip()
    if not name:
        raise ValueError(f"an element {element.tag!r} has no id")
    return name


PARSERS: Mapping[str, Callable[[bytes], ParsedNetwork]] = {
    "BIF": _parse_bif,
    "XMLBIF": _parse_xmlbif,
    "XDSL": _parse_xdsl,
}
"""What reads each format."""
