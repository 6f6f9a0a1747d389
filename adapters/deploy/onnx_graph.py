"""The computation of a class posterior in ONNX operators, without the package ``onnx``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats, Positions
from anbexact.adapters.deploy.scoring_form import SUMMED_OUT, CodedColumn, ScoringForm, Term
from anbexact.tables.frames.native_values import in_double

ML = "ai.onnx.ml"
NO_INTEGER = -(2**63)
"""The label of a row without a prediction if labels are integers; if they are text, it is the empty text."""
EXACT_FLOAT = 2**23
"""Most cells of all tables whose positions are computed in float32, which has all whole numbers up to 2²⁴."""
MOST_CELLS = 200_000_000
"""Maximum number of logarithms in a file: in float64 they take 1.6 GB, and protocol buffers are limited to 2 GB."""
Numbers = npt.NDArray[Any]
"""An array of any type."""
Source = tuple[str, int]
"""Where a feature comes from: the name of a tensor, and the position of its column there."""


@dataclass
class Graph:
    """Nodes and constants in the order in which they are computed.

    Attributes
    ----------
    named : callable
        Makes a name that no other tensor has.
    nodes : list
        Operator, inputs, outputs, domain and attributes of every node.
    constants : dict
        Arrays by name.
    """

    named: Callable[[str], str]
    nodes: list[tuple[str, list[str], list[str], str, dict[str, Any]]] = field(default_factory=list)
    constants: dict[str, Numbers] = field(default_factory=dict)

    def constant(self, name: str, values: Any) -> str:
        """Add an array; return its name."""
        name = self.named(name)
        self.constants[name] = np.asarray(values)
        return name

    def add(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node of one output; return the output's name."""
        output = output or self.named(operator.lower())
        self.nodes.append((operator, list(inputs), [output], domain, attributes))
        return output


@dataclass(frozen=True)
class _Extended:
    """A feature with additional states for cells whose value is not a state.

    Attributes
    ----------
    arity, size : int
        Numbers of states, without and with these.
    blank, poison : int
        The state for which the term of the feature is omitted, and the state for which there is no posterior; -1 if
        there is no such state.
    """

    arity: int
    size: int
    blank: int
    poison: int

    @classmethod
    def of(cls, column: CodedColumn, parent: bool) -> _Extended:
        kinds = {column.missing, column.unknown}
        blank = column.arity if SUMMED_OUT in kinds and not parent else -1
        size = column.arity + (blank >= 0)
        poison = size if min(kinds) < SUMMED_OUT or (parent and SUMMED_OUT in kinds) else -1
        return cls(column.arity, size + (poison >= 0), blank, poison)

    def state(self, code: int) -> int:
        """Return the state of a code of ``CodedColumn``."""
        if code >= 0:
            return code
        return self.blank if code == SUMMED_OUT and self.blank >= 0 else self.poison


def check_exportable(form: ScoringForm, double: bool, what: str) -> None:
    """Refuse columns whose values are neither all numbers nor all text, or become equal in float32; name them.

    Raises
    ------
    TypeError
        For a column of mixed values.
    ValueError
        For text that has no UTF-8 form, or for numbers that a tensor cannot distinguish.
    """
    texts = [form.class_name, *form.classes]
    for column in form.columns:
        texts += [column.name, *column.codes]
        if not column.numeric and not all(isinstance(value, str) for value in column.codes):
            raise TypeError(
                f"{what} cannot carry column {column.name!r}, which holds both text and numbers: convert it to text "
                "before fit"
            )
        if column.numeric and column.numbers:
            exact = np.array(list(column.numbers), dtype=np.float64 if double else np.float32)
            if not np.isfinite(exact).all() or len(np.unique(exact)) < len(exact):
                advice = "" if double else "; double=True distinguishes all numbers that differ in float64"
                raise ValueError(f"{what} cannot tell the states of column {column.name!r} apart as numbers{advice}")
    for text in texts:
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise ValueError(f"{what} cannot carry {text!r}, which has no UTF-8 form: rename it") from None


def class_labels(classes: Sequence[Any]) -> Numbers:
    """Return the labels of the classes and that of a row without a prediction, as int64 or as text."""
    if all(isinstance(label, int) and not isinstance(label, bool) and -(2**63) < label < 2**63 for label in classes):
        return np.array([*classes, NO_INTEGER], dtype=np.int64)
    return np.array([*map(str, classes), ""], dtype=object)


def add_posterior(
    graph: Graph, form: ScoringForm, sources: Mapping[Hashable, Source], outputs: tuple[str, str], double: bool
) -> None:
    """Add the nodes that lead from the features to the label and the probabilities.

    Every number becomes one bit for every threshold that it exceeds. The position of a row in the table of each term
    is a linear function of these bits; the logarithms found there are added up in float64.

    Parameters
    ----------
    graph : Graph
        The graph to extend.
    form : ScoringForm
        The class posterior.
    sources : mapping of feature to Source
        Where the features come from; numbers as float32, or float64 if ``double``.
    outputs : (str, str)
        Names of the label, shape (rows,), and of the probabilities, (rows, classes).
    double : bool
        Whether numbers are float64.

    Raises
    ------
    ValueError
        If the tables are too large for a file.
    """
    parents, terms = form.parents, form.exported
    extended = [_Extended.of(column, j in parents) for j, column in enumerate(form.columns)]
    sizes = [int(np.prod([extended[j].size for j in term.features], dtype=float)) for term in terms]
    if sum(sizes) * len(form.classes) > MOST_CELLS:
        raise ValueError(f"to_onnx cannot carry tables of {sum(sizes):,} rows: limit the parents with max_parents=")
    starts = np.cumsum([0, *sizes])[:-1]
    strides = np.zeros((len(form.columns), len(terms)))
    for m, term in enumerate(terms):
        step = 1
        for j in reversed(term.features):
            strides[j, m] = step
            step *= extended[j].size
    used = [j for j in range(len(form.columns)) if strides[j].any() and not form.columns[j].ignored]
    dtype = np.float64 if double else np.float32
    bits, weights, base = _bits(graph, form, sources, used, extended, dtype)
    table = np.concatenate([_extended_logs(term, extended) for term in terms])
    rows = starts + base @ strides
    place = np.float64 if len(table) > EXACT_FLOAT else np.float32
    if bits:
        joined = graph.add("Concat", *bits, axis=1) if len(bits) > 1 else bits[0]
        if place is np.float64:
            joined = graph.add("Cast", joined, to=place)
        linear = graph.add("MatMul", joined, graph.constant("steps", (weights @ strides).astype(place)))
        linear = graph.add("Add", linear, graph.constant("first_rows", rows.astype(place)))
        index = graph.add("Cast", linear, to=np.int64)
    else:
        index = _constant_rows(graph, next(iter(sources.values()))[0], rows)
    found = graph.add("Gather", graph.constant("logs", table), index, axis=0)
    logs = graph.add("ReduceSum", found, graph.constant("of_terms", np.array([1])), keepdims=0)
    probabilities = graph.add("Softmax", logs, axis=1)
    graph.add("Cast", probabilities, output=outputs[1], to=dtype)
    best = graph.add("ArgMax", logs, axis=1, keepdims=0)
    total = graph.add("ReduceSum", probabilities, graph.constant("of_classes", np.array([1])), keepdims=0)
    none = graph.add("IsNaN", total)
    best = graph.add("Where", none, graph.constant("no_class", np.array(len(form.classes))), best)
    graph.add("Gather", graph.constant("labels", class_labels(form.classes)), best, output=outputs[0], axis=0)


def _bits(
    graph: Graph,
    form: ScoringForm,
    sources: Mapping[Hashable, Source],
    used: Sequence[int],
    extended: Sequence[_Extended],
    dtype: Any,
) -> tuple[list[str], Floats, Floats]:
    """Add the bits of all features.

    Returns
    -------
    names : list of str
        Tensors of shape (rows, bits of the tensor), float32.
    weights : (bits, features) array
        The increment of each feature's state by each bit.
    base : (features,) array
        The states where all bits are 0.
    """
    base = np.zeros(len(form.columns))
    names: list[str] = []
    rows: list[Floats] = []

    def weigh(j: int, steps: Sequence[int]) -> None:
        weights = np.zeros((len(steps), len(form.columns)))
        weights[:, j] = steps
        rows.append(weights)

    by_tensor: dict[str, list[int]] = {}
    for j in used:
        if form.columns[j].numeric:
            by_tensor.setdefault(sources[form.columns[j].name][0], []).append(j)
    for tensor, features in by_tensor.items():
        thresholds: list[float] = []
        places: list[int] = []
        for j in features:
            own, states = _thresholds(form.columns[j], extended[j], dtype)
            thresholds += own
            places += [sources[form.columns[j].name][1]] * len(own)
            base[j] = states[0]
            weigh(j, np.diff(states).tolist())
        if thresholds:
            columns = graph.add("Gather", tensor, graph.constant("columns", np.array(places)), axis=1)
            above = graph.add("Greater", columns, graph.constant("thresholds", np.array(thresholds, dtype=dtype)))
            names.append(graph.add("Cast", above, to=np.float32))
        own_places = np.array([sources[form.columns[j].name][1] for j in features])
        cells = graph.add("Gather", tensor, graph.constant("own_columns", own_places), axis=1)
        names.append(graph.add("Cast", graph.add("IsNaN", cells), to=np.float32))
        for j in features:
            weigh(j, [extended[j].state(form.columns[j].missing) - int(base[j])])
    for j in used:
        if not form.columns[j].numeric:
            names.append(_text_states(graph, form.columns[j], extended[j], sources[form.columns[j].name]))
            weigh(j, [1])
    weights = np.concatenate(rows) if rows else np.zeros((0, len(form.columns)))
    return names, weights, base


def _thresholds(column: CodedColumn, extended: _Extended, dtype: Any) -> tuple[list[float], list[int]]:
    """Return increasing thresholds, and the state of a number by how many of them it exceeds.

    A number of ``dtype`` exceeds a cut point exactly if it exceeds the largest number of ``dtype`` that is not above
    the cut point.
    """
    if column.cuts is not None:
        return [float(at_most(cut, dtype)) for cut in column.cuts], list(range(len(column.cuts) + 1))
    unknown = extended.state(column.unknown)
    thresholds: list[float] = []
    states = [unknown]
    for value, code in sorted((dtype(value), code) for value, code in column.numbers.items()):
        below = float(np.nextafter(value, dtype(-np.inf)))
        if thresholds and thresholds[-1] == below:
            states[-1] = code
        else:
            thresholds.append(below)
            states.append(code)
        thresholds.append(float(value))
        states.append(unknown)
    return thresholds, states


def at_most(cut: float, dtype: Any) -> Any:
    """Return the largest number of a type that, read as a cell, is at most the cut point."""
    with np.errstate(over="ignore"):
        near = dtype(cut)
    return near if in_double(np.array([near]))[0] <= cut else np.nextafter(near, dtype(-np.inf))


def _text_states(graph: Graph, column: CodedColumn, extended: _Extended, source: Source) -> str:
    """Add the states of a column of text, shape (rows, 1), float32."""
    tensor, place = source
    cells = graph.add("Gather", tensor, graph.constant("text_column", np.array([place])), axis=1)
    states = {column.missing_text: extended.state(column.missing), **column.codes}
    attributes: dict[str, Any] = {
        "keys_strings": list(states),
        "values_int64s": list(states.values()),
        "default_int64": extended.state(column.unknown),
    }
    return graph.add("Cast", graph.add("LabelEncoder", cells, domain=ML, **attributes), to=np.float32)


def _constant_rows(graph: Graph, tensor: str, rows: Floats) -> str:
    """Add the same positions for every row of a tensor."""
    shape = graph.add("Shape", tensor, start=0, end=1)
    terms = graph.constant("n_terms", np.array([len(rows)]))
    positions: Positions = rows.astype(np.int64)[None]
    return graph.add("Expand", graph.constant("rows", positions), graph.add("Concat", shape, terms, axis=0))


def _extended_logs(term: Term, extended: Sequence[_Extended]) -> Floats:
    """Return the logs of a term, shape (joint states, classes), with the additional states of the features."""
    logs = np.full((*(extended[j].size for j in term.features), term.logs.shape[-1]), np.nan)
    known = tuple(slice(extended[j].arity) for j in term.features)
    logs[known] = term.logs
    if term.child in term.features:
        axis = term.features.index(term.child)
        blank = extended[term.child].blank
        if blank >= 0:
            logs[tuple(blank if k == axis else of for k, of in enumerate(known))] = 0.0
    return logs.reshape(-1, logs.shape[-1])
