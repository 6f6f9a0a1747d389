"""Fitted classifiers as PMML 4.4."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from anbexact.adapters.deploy.scoring_form import REFUSED, SUMMED_OUT, CodedColumn, ScoringForm, Term, scoring_form
from anbexact.files.atomic import write_atomically

__all__ = ["to_pmml"]

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""
MOST_CELLS = 2_000_000
"""Maximum number of numbers in a file; each takes about 70 characters."""


def to_pmml(classifier: Any, path: str | Path, *, as_network: bool = False) -> None:
    """Write a fitted classifier as a PMML 4.4 document.

    A naive Bayes becomes a ``NaiveBayesModel``. Any other network becomes a ``RegressionModel`` with the
    normalization ``softmax``: the log probability of each class is a sum of coefficients, one for the state of each
    feature, or for the joint state of a feature and its parents. This is exact. The outputs are ``P(class)`` for
    every class.

    ``as_network=True`` writes a ``BayesianNetworkModel`` instead: every conditional table, including zeros, with the
    arcs of the network. It sums over all missing cells. Neither JPMML nor PMML4S evaluates this element, so it is for
    programs that read networks.

    Cut points, groups of values and states of missing cells are part of the document. A missing or unknown cell of a
    feature that is not a parent of another variable is summed out. A regression cannot sum over other features. If
    one of these is missing or unknown, the document tells the evaluator to return no result (``returnInvalid``), as
    it does for cells that the classifier refuses.

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier, PooledClassifier or LogitModel
        Fitted.
    path : str or Path
        The file, which is replaced if it exists.
    as_network : bool, default False
        Whether to write the network itself.

    Raises
    ------
    NotFittedError
        If the classifier is not fitted.
    TypeError
        For another kind of classifier; for a column that contains both text and numbers; for a name, state or class
        that is neither. The message names it.
    ValueError
        For universal measures; for columns of dates and similar types; for text that XML cannot represent; for
        probabilities of 0, which have no logarithm (a network may have them); for a refit that is not a network, if
        ``as_network`` is True; and for tables that are too large.
    """
    form = scoring_form(classifier, "to_pmml")
    if as_network and form.network is None:
        raise ValueError(f"to_pmml cannot carry this refit as a network: {form.obstacle}")
    terms = form.network if as_network and form.network is not None else form.exported
    _check(form, terms, zeros=as_network)
    root = ET.Element("PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    ET.SubElement(ET.SubElement(root, "Header"), "Application", name="anbexact")
    _add_dictionary(root, form)
    simple = form.network is not None and all(term.features == (term.child,) * (term.child >= 0) for term in terms)
    used = sorted({j for term in terms for j in term.features if not form.columns[j].ignored})
    kind = "NaiveBayesModel" if simple and used else "RegressionModel"
    kind = "BayesianNetworkModel" if as_network else kind
    model = ET.SubElement(root, kind, functionName="classification")
    _add_fields(model, form, used, frozenset() if as_network else form.parents)
    local = ET.SubElement(model, "LocalTransformations")
    states = {j: f"{_free('state', form)} {j}" for j in used}
    for j, name in states.items():
        _add_states(local, form.columns[j], name)
    if as_network:
        _add_nodes(model, form, terms, states)
    elif kind == "NaiveBayesModel":
        _add_counts(model, form, terms, states)
    else:
        _add_regression(model, local, form, terms, states)
    ET.indent(root, " ")
    text = ET.tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii")
    write_atomically(Path(path), text.replace("\r", "&#13;") + "\n")


def _free(beginning: str, form: ScoringForm) -> str:
    """Return a prefix that no column's name has."""
    names = [str(form.class_name), *(str(column.name) for column in form.columns)]
    while any(name.startswith(f"{beginning} ") for name in names):
        beginning += "_"
    return beginning


def _check(form: ScoringForm, terms: tuple[Term, ...], *, zeros: bool) -> None:
    """Refuse values that XML or, without ``zeros``, a sum of logarithms cannot represent; name them."""
    texts = [form.class_name, *form.classes]
    for column in form.columns:
        texts += [column.name, *column.codes]
        if not column.numeric and not all(isinstance(value, str) for value in column.codes):
            raise TypeError(
                f"to_pmml cannot carry column {column.name!r}, which holds both text and numbers: convert it to text "
                "before fit"
            )
    for text in texts:
        if isinstance(text, str) and NOT_XML.search(text):
            raise ValueError(
                f"to_pmml cannot carry {text!r}: XML has no way to write one of its characters; rename it"
            )
    for term in terms:
        if np.isneginf(term.logs).any() and not zeros:
            name = form.class_name if term.child < 0 else form.columns[term.child].name
            raise ValueError(
                f"to_pmml cannot carry the conditional table of {name!r}, which holds zeros: estimate the tables "
                "with parameters='eap'"
            )
    size = sum(term.logs.size for term in terms)
    if size > MOST_CELLS:
        raise ValueError(f"to_pmml cannot carry {size:,} probabilities: limit the parents with max_parents=")


def _kind(values: Iterable[Any]) -> str:
    """Return PMML's type of values."""
    types = {type(value) for value in values}
    if types == {bool}:
        return "boolean"
    if types == {int}:
        return "integer"
    return "double" if types <= {bool, int, float} else "string"


def _text(value: Any, kind: str) -> str:
    """Return a value as PMML writes it."""
    if kind == "boolean":
        return str(value).lower()
    return repr(float(value)) if kind == "double" else str(value)


def _values(column: CodedColumn) -> Mapping[Any, int]:
    """Return the codes of the values of a column of states, without text if the column is one of numbers."""
    return column.numbers if column.numeric else column.codes


def _add_dictionary(root: ET.Element, form: ScoringForm) -> None:
    """Add the types and values of the features and the class."""
    dictionary = ET.SubElement(root, "DataDictionary")
    for column in form.columns:
        if column.ignored:
            continue
        values = _values(column)
        kind = "double" if column.cuts is not None else _kind(values)
        optype = "continuous" if column.cuts is not None else "categorical"
        field = ET.SubElement(dictionary, "DataField", name=str(column.name), optype=optype, dataType=kind)
        for value in values:
            ET.SubElement(field, "Value", value=_text(value, kind))
    kind = _kind(form.classes)
    field = ET.SubElement(dictionary, "DataField", name=str(form.class_name), optype="categorical", dataType=kind)
    for label in form.classes:
        ET.SubElement(field, "Value", value=_text(label, kind))


def _add_fields(model: ET.Element, form: ScoringForm, used: list[int], complete: frozenset[int]) -> None:
    """Add the inputs and outputs of the model; some features must not be missing."""
    schema = ET.SubElement(model, "MiningSchema")
    ET.SubElement(schema, "MiningField", name=str(form.class_name), usageType="target")
    for j in used:
        column = form.columns[j]
        refused = {REFUSED, SUMMED_OUT} if j in complete else {REFUSED}
        attributes = {"invalidValueTreatment": "returnInvalid" if column.unknown in refused else "asIs"}
        if column.missing in refused:
            attributes["missingValueTreatment"] = "returnInvalid"
        ET.SubElement(schema, "MiningField", {"name": str(column.name), **attributes})
    output = ET.SubElement(model, "Output")
    taken = {str(column.name) for column in form.columns} | {str(form.class_name)}
    kind = _kind(form.classes)
    for label in form.classes:
        value = _text(label, kind)
        name = f"P({value})"
        while name in taken:
            name += "_"
        taken.add(name)
        attributes = {"feature": "probability", "optype": "continuous", "dataType": "double", "value": value}
        ET.SubElement(output, "OutputField", {"name": name, **attributes})


def _add_states(local: ET.Element, column: CodedColumn, name: str) -> None:
    """Add a field for the state of a feature, which is missing for a cell that is summed out."""
    field = ET.SubElement(local, "DerivedField", name=name, optype="categorical", dataType="string")
    missing: dict[str, str] = {"mapMissingTo": str(column.missing)} if column.missing >= 0 else {}
    if column.cuts is None:
        missing |= {"defaultValue": str(column.unknown)} if column.unknown >= 0 else {}
        kind = _kind(_values(column))
        rows = ((_text(value, kind), str(code)) for value, code in _values(column).items())
        _add_map(field, [str(column.name)], rows, missing)
        return
    bins = ET.SubElement(field, "Discretize", {"field": str(column.name), **missing})
    ends: list[str | None] = [None, *map(repr, column.cuts), None]
    for code in range(len(column.cuts) + 1):
        own = ET.SubElement(bins, "DiscretizeBin", binValue=str(code))
        margins = {"leftMargin": ends[code], "rightMargin": ends[code + 1]}
        given: dict[str, str] = {name: end for name, end in margins.items() if end is not None}
        ET.SubElement(own, "Interval", {"closure": "openClosed" if column.cuts else "openOpen", **given})


def _add_map(
    field: ET.Element, inputs: list[str], rows: Iterable[tuple[str, ...]], attributes: dict[str, str]
) -> None:
    """Add a table from values of the inputs to text, the last cell of every row."""
    table = ET.SubElement(field, "MapValues", {"outputColumn": "out", "dataType": "string", **attributes})
    for k, name in enumerate(inputs):
        ET.SubElement(table, "FieldColumnPair", field=name, column=f"in{k}")
    inline = ET.SubElement(table, "InlineTable")
    for cells in rows:
        row = ET.SubElement(inline, "row")
        for k, cell in enumerate(cells[:-1]):
            ET.SubElement(row, f"in{k}").text = cell
        ET.SubElement(row, "out").text = cells[-1]


def _add_counts(model: ET.Element, form: ScoringForm, terms: tuple[Term, ...], states: Mapping[int, str]) -> None:
    """Add probabilities as counts; an evaluator divides these by their sums, which are 1."""
    model.set("threshold", "0")
    inputs = ET.SubElement(model, "BayesInputs")
    kind = _kind(form.classes)
    labels = [_text(label, kind) for label in form.classes]
    for term in terms:
        if term.child < 0 or form.columns[term.child].ignored:
            continue
        own = ET.SubElement(inputs, "BayesInput", fieldName=states[term.child])
        for state, row in enumerate(np.exp(term.logs).tolist()):
            counts = ET.SubElement(ET.SubElement(own, "PairCounts", value=str(state)), "TargetValueCounts")
            for label, probability in zip(labels, row, strict=True):
                ET.SubElement(counts, "TargetValueCount", value=label, count=repr(probability))
    output = ET.SubElement(model, "BayesOutput", fieldName=str(form.class_name))
    counts = ET.SubElement(output, "TargetValueCounts")
    (prior,) = (term for term in terms if term.child < 0)
    for label, probability in zip(labels, np.exp(prior.logs).tolist(), strict=True):
        ET.SubElement(counts, "TargetValueCount", value=label, count=repr(probability))


def _add_nodes(model: ET.Element, form: ScoringForm, terms: tuple[Term, ...], states: Mapping[int, str]) -> None:
    """Add the conditional table of every variable."""
    nodes = ET.SubElement(model, "BayesianNetworkNodes")
    kind = _kind(form.classes)
    class_axis = str(form.class_name), [_text(label, kind) for label in form.classes]
    for term in terms:
        if term.child >= 0 and form.columns[term.child].ignored:
            continue
        # Only some axes of a table are variables of the document: a column that was left out has a single state.
        values = np.exp(term.logs)
        axes: list[tuple[str, list[str]]] = []
        for axis, j in reversed(list(enumerate(term.features))):
            if form.columns[j].ignored:
                values = values.take(0, axis)
            else:
                axes.insert(0, (states[j], [str(state) for state in range(values.shape[axis])]))
        if term.child >= 0 and (values == values[..., :1]).all():
            values = values[..., 0]
        else:
            axes.append(class_axis)
        child = len(axes) - 1 if term.child < 0 else 0
        (name, own), parents = axes.pop(child), axes
        node = ET.SubElement(nodes, "DiscreteNode", name=name)
        rows = np.moveaxis(values, child, -1).reshape(-1, len(own)).tolist()
        for given, row in zip(product(*(of_parent for _, of_parent in parents)), rows, strict=True):
            table = ET.SubElement(node, "DiscreteConditionalProbability") if parents else node
            for (parent, _), state in zip(parents, given, strict=True):
                ET.SubElement(table, "ParentValue", {"parent": parent, "value": state})
            for state, probability in zip(own, row, strict=True):
                ET.SubElement(table, "ValueProbability", value=state, probability=repr(probability))


def _add_regression(
    model: ET.Element, local: ET.Element, form: ScoringForm, terms: tuple[Term, ...], states: Mapping[int, str]
) -> None:
    """Add a sum of coefficients for every class."""
    model.set("normalizationMethod", "softmax")
    of_terms = _free("term", form)
    names: dict[int, str] = {}
    for m, term in enumerate(terms):
        if len(term.features) == 1:
            names[m] = states[term.features[0]]
        elif term.features:
            names[m] = f"{of_terms} {m}"
            field = ET.SubElement(local, "DerivedField", name=names[m], optype="categorical", dataType="string")
            cells = product(*(range(size) for size in term.logs.shape[:-1]))
            rows = ((*map(str, codes), str(row)) for row, codes in enumerate(cells))
            _add_map(field, [states[j] for j in term.features], rows, {})
    kind = _kind(form.classes)
    for c, label in enumerate(form.classes):
        intercept = sum(float(term.logs[c]) for term in terms if not term.features)
        category = _text(label, kind)
        table = ET.SubElement(model, "RegressionTable", targetCategory=category, intercept=repr(intercept))
        for m, name in names.items():
            for row, log in enumerate(terms[m].logs[..., c].ravel().tolist()):
                ET.SubElement(table, "CategoricalPredictor", name=name, value=str(row), coefficient=repr(log))
