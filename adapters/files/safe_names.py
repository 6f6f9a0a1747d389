"""Identifiers that every file format allows, and the JSON file that explains them."""

from __future__ import annotations

import json
import re
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import anbexact
from anbexact._runtime.json_values import decode, encode, encode_as
from anbexact.adapters.pgmpy.networks import from_pgmpy
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.files.document import digest, refuse_newer
from anbexact.files.earlier import own_missing_of_earlier
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Structure
from anbexact.tables.cuts import Cuts, interval_names
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.vocabulary import Vocabulary

with warnings.catch_warnings():  # pgmpy warns on import about names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.models import DiscreteBayesianNetwork

FORMAT = "anbexact names"
FORMAT_VERSION = 1
KEPT_PARAMETERS = ("handle_unknown", "handle_missing")
"""Constructor parameters that affect predictions."""

LONGEST = 60
"""Most characters of a safe name."""
RESERVED = frozenset({"default", "discrete", "network", "probability", "property", "table", "type", "variable"})
"""Words of the BIF grammar, in lower case."""

_MARKED = re.compile("anbexact_[0-9a-f]{16}")
_SAFE = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{LONGEST - 1}}}")
_INTERVAL = re.compile(r"([\[(])\s*([^,\s][^,]*),\s*([^,]*[^,\s])\s*([\])])")
_MINUS = re.compile(r"(?:(?<=\de)|(?<![A-Za-z0-9_)]))-(?=[\d.]|inf)")
_SIGNS = {
    "<=": "up to",
    ">=": "at least",
    "≤": "up to",
    "≥": "at least",
    "<": "below",
    ">": "above",
    "%": "percent",
    "&": "and",
    "+": "plus",
    "=": "equals",
    "#": "number",
}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_READ_AS_NUMBER = re.compile(r"(table|default)(?=[0-9eE])")  # pgmpy reads "table1" as the word and a number


def safe_names(values: Iterable[Any], first: str) -> list[str]:
    """Return a safe name for every value: ASCII letters, digits and underscores, a letter first.

    Names differ in more than case, are not in `RESERVED`, and have at most `LONGEST` characters. A value that is
    already such a name is kept. Any other name resembles its value, and has a number at its end if two names would be
    equal.

    Parameters
    ----------
    values : iterable
        Names of variables, or states of one variable.
    first : str
        A letter that is put in front of a name that would be empty or begin with a digit.

    Examples
    --------
    >>> safe_names(["petal length (cm)", "petal_length", "naïve", "table", 0], "x")
    ['petal_length_cm', 'petal_length', 'naive', 'table_', 'x0']
    >>> safe_names([-1, "<5", "(-inf, 3.1]", "(3.1, 4.7]", "(4.7, inf)", "", "变量", "变"], "v")
    ['minus_1', 'below_5', 'up_to_3_1', 'from_3_1_to_4_7', 'above_4_7', 'empty', 'v', 'v_2']
    >>> safe_names(["a b", "a_b", "A_B"], "v")
    ['a_b_2', 'a_b', 'A_B_3']
    """
    texts = [str(value) for value in values]
    names: list[str] = []
    taken: set[str] = set()
    for text in texts:  # of names that differ only in case, the first is kept
        kept = text if _is_safe(text) and text.lower() not in taken else ""
        names.append(kept)
        taken.add(kept.lower())
    last_number: defaultdict[str, int] = defaultdict(lambda: 1)
    for i, text in enumerate(texts):
        if names[i]:
            continue
        base = name = _readable(text, first)
        while name.lower() in taken or not _is_safe(name):
            last_number[base.lower()] += 1
            ending = f"_{last_number[base.lower()]}"
            name = base[: LONGEST - len(ending)] + ending
        names[i] = name
        taken.add(name.lower())
    return names


def names_path(path: Path) -> Path:
    """Return the path of the file that explains the names in a network file."""
    return path.with_name(f"{path.name}.names.json")


def network_name(document: Mapping[str, Any]) -> str:
    """Return the name of the network whose names a document explains; it distinguishes the files of two exports."""
    return f"anbexact_{document['sha256'][:16]}"


def describe_names(
    classifier: NetworkClassifier,
    names: Mapping[Hashable, str],
    states: Mapping[Hashable, Mapping[Any, str]],
) -> dict[str, Any]:
    """Return the contents of the file that explains the names, and stores what network files cannot represent."""
    groups = classifier.vocabulary_.groups
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": anbexact.__version__,
        "class": names[classifier.structure_.class_name],
        "named_columns": hasattr(classifier, "feature_names_in_") or not _all_text(classifier.vocabulary_.features),
        "parameters": {key: getattr(classifier, key) for key in KEPT_PARAMETERS},
        "own_missing": [safe for name, safe in names.items() if name in classifier.vocabulary_.own_missing],
        "variables": [
            {
                "safe": safe,
                "name": encode_as("the column name", name),
                "states": [
                    [safe_state, encode_as(f"a state of column {name!r}", state)]
                    for state, safe_state in states[name].items()
                ],
                "cut_points": encode(classifier.cut_points_[name]) if name in classifier.cut_points_ else None,
                **_quantity(classifier.vocabulary_, name),
                **({"groups": encode_as(f"a value of column {name!r}", groups[name])} if name in groups else {}),
            }
            for name, safe in names.items()
        ],
    }
    return document | {"sha256": digest(document)}


def _quantity(vocabulary: Vocabulary, name: Hashable) -> dict[str, Any]:
    """Return the meaning of a variable's numbers, if they represent another quantity."""
    return {"quantity": encode(vocabulary.quantities[name])} if name in vocabulary.quantities else {}


def read_names(path: Path) -> dict[str, Any] | None:
    """Return the contents of the file of names, with names and states decoded; None if it does not exist."""
    advice = "Restore it, or delete it to read the network under the names in its file."
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is not complete JSON ({error}). {advice}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path} is not a file of names: {FORMAT!r} is missing. {advice}")
    refuse_newer(document, path, FORMAT_VERSION)
    try:
        if digest(document) != document.get("sha256"):
            raise ValueError("its contents do not match its checksum")
        document["parameters"] = {key: document["parameters"][key] for key in KEPT_PARAMETERS}
        for variable in document["variables"]:
            variable["name"] = decode(variable["name"])
            variable["states"] = [(safe, decode(state)) for safe, state in variable["states"]]
            variable["quantity"] = decode(variable.get("quantity"))
            if not isinstance(variable["quantity"], Quantity | None):
                raise ValueError(f"the quantity of {variable['name']!r} is not valid")
            if variable["cut_points"] is not None:
                cuts = variable["cut_points"] = np.array(decode(variable["cut_points"]), dtype=np.float64)
                intervals = interval_names(cuts, variable["quantity"])
                if intervals != tuple(state for _, state in variable["states"])[: len(cuts) + 1]:
                    raise ValueError(f"the states of {variable['name']!r} are not the intervals of its cut points")
        names = {variable["safe"]: variable["name"] for variable in document["variables"]}
        states = {
            variable["name"]: tuple(state for _, state in variable["states"]) for variable in document["variables"]
        }
        groups = {
            variable["name"]: decode(variable["groups"]) for variable in document["variables"] if "groups" in variable
        }
        class_name = names[document["class"]]
        if "own_missing" in document:
            own_missing = frozenset(names[safe] for safe in document["own_missing"])
        else:
            own_missing = own_missing_of_earlier(states, class_name, document["parameters"]["handle_missing"])
        document["groups"], document["own_missing"] = groups, own_missing
        Vocabulary(states, class_name, groups=groups, own_missing=own_missing)
        if min(len(names), len(states)) < len(document["variables"]):
            raise ValueError("two variables have the same name")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged or was edited: {error}. {advice}") from error
    return document


def new_states(
    names: Mapping[Hashable, Hashable], states: Mapping[Hashable, Mapping[Any, Any]]
) -> dict[Hashable, tuple[Any, ...]]:
    """Return the new states of all variables by their new names; the parameters are those of :func:`renamed`."""
    return {new: tuple(states[name].values()) for name, new in names.items()}


def renamed(
    network: NetworkClassifier,
    names: Mapping[Hashable, Hashable],
    states: Mapping[Hashable, Mapping[Any, Any]],
    vocabulary: Vocabulary,
    cut_points: dict[Hashable, Cuts],
    **parameters: Any,
) -> FixedStructureClassifier:
    """Return a classifier with the same network under other names.

    Parameters
    ----------
    network : NetworkClassifier
        Fitted.
    names : mapping of name to new name
        The new names of all variables, in the new order: features, class.
    states : mapping of name to mapping of state to new state
        The new states of all variables, in their new order.
    vocabulary, cut_points
        Those of the result, by the new names; :func:`new_states` returns the states.
    **parameters
        Parameters of the constructor.
    """
    tables: dict[Hashable, ConditionalTable] = {}
    for name in names:
        table = network.conditional_tables_[name]
        values = table.values
        for axis, variable in enumerate(table.variables):
            place = {state: k for k, state in enumerate(network.vocabulary_.states[variable])}
            order = [place[state] for state in states[variable]]
            if order != sorted(order):
                values = np.ascontiguousarray(values.take(order, axis=axis))
        tables[names[name]] = ConditionalTable(names[name], tuple(names[parent] for parent in table.parents), values)
    parents = {name: table.parents for name, table in tables.items()}
    structure = Structure.given(vocabulary.class_name, parents)
    new = TableNetwork(vocabulary=vocabulary, cut_points=cut_points, structure=structure, tables=tables)
    return FixedStructureClassifier.from_network(new, **parameters)


def restored(
    network: DiscreteBayesianNetwork, document: Mapping[str, Any], class_name: Hashable | None
) -> FixedStructureClassifier:
    """Return the classifier of a network with safe names, under the names that a document explains.

    Raises
    ------
    ValueError
        If the network is not the one that the document was written for, or ``class_name`` is not one of its
        variables.
    """
    names: dict[Hashable, Hashable] = {variable["safe"]: variable["name"] for variable in document["variables"]}
    states: dict[Hashable, dict[Any, Any]] = {
        variable["safe"]: dict(variable["states"]) for variable in document["variables"]
    }
    advice = "Put back the file of this export, or delete it to read the network under the names in its file"
    if _MARKED.fullmatch(network.name or "") and network.name != network_name(document):
        raise ValueError(f"the file of names next to it is from another export. {advice}")
    found = {cpd.variable: cpd.state_names[cpd.variable] for cpd in network.get_cpds()}
    at_odds = [name for name in names.keys() | found if set(states.get(name, ())) != set(found.get(name, ()))]
    if at_odds:
        name = min(map(str, at_odds))
        raise ValueError(
            f"the file of names next to it is for other variables or states: for {name!r}, it explains the states "
            f"{list(states.get(name, ()))}, but the network has {found.get(name, [])}. {advice}"
        )
    chosen = document["class"] if class_name is None else next((s for s, n in names.items() if n == class_name), None)
    if chosen is None:
        raise ValueError(f"class_name: {class_name!r} is not one of its variables, {list(names.values())}")
    names[chosen] = names.pop(chosen)  # features first
    classes = list(states[chosen].items())
    states[chosen] = dict(classes[i] for i in sorted_positions([state for _, state in classes]))
    cut_points = {
        names[variable["safe"]]: variable["cut_points"]
        for variable in document["variables"]
        if variable["cut_points"] is not None and variable["safe"] != chosen
    }
    quantities = {
        names[variable["safe"]]: variable["quantity"]
        for variable in document["variables"]
        if variable["quantity"] is not None
    }
    safe = from_pgmpy(network, chosen)
    vocabulary = Vocabulary(
        new_states(names, states), names[chosen], quantities, document["groups"], document["own_missing"]
    )
    classifier = renamed(safe, names, states, vocabulary, cut_points, **document["parameters"])
    features = classifier.vocabulary_.features
    if document["named_columns"] and _all_text(features):
        classifier.feature_names_in_ = np.array(features, dtype=object)
    return classifier


def _all_text(names: Iterable[Hashable]) -> bool:
    return all(isinstance(name, str) for name in names)


def _is_safe(text: str) -> bool:
    return _SAFE.fullmatch(text) is not None and text.lower() not in RESERVED and _READ_AS_NUMBER.search(text) is None


def _readable(text: str, first: str) -> str:
    """Return an identifier that resembles a text."""
    if not text:
        return "empty"
    text = text[: 4 * LONGEST]
    interval = _INTERVAL.fullmatch(text)
    if interval is not None:
        text = _interval_text(text, *interval.groups())
    text = _MINUS.sub(" minus ", text)
    text = _SIGN.sub(lambda sign: f" {_SIGNS[sign.group()]} ", text)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name[:1].isalpha():
        name = first + name
    name = _READ_AS_NUMBER.sub(lambda word: word.group().capitalize(), name)[:LONGEST].strip("_")
    return name + "_" if name.lower() in RESERVED else name


def _interval_text(text: str, left: str, low: str, high: str, right: str) -> str:
    """Return an interval in words; a bounded pair in round parentheses, such as a tuple, is not an interval."""
    if low == "-inf":
        return "any number" if high == "inf" else f"up to {high}" if right == "]" else f"below {high}"
    if high == "inf":
        return f"above {low}" if left == "(" else f"at least {low}"
    return text if (left, right) == ("(", ")") else f"from {low} to {high}"
