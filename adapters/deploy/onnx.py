"""Fitted classifiers as ONNX models."""

from __future__ import annotations

import json
from collections.abc import Hashable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact._runtime.units import agreeing, counted
from anbexact._runtime.warn import warn
from anbexact.adapters.deploy.onnx_graph import ML, Graph, Source, add_posterior, check_exportable, class_labels
from anbexact.adapters.deploy.scoring_form import ScoringForm, scoring_form
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.files.atomic import atomic_path

if TYPE_CHECKING:
    import onnx

__all__ = ["register_onnx_converters", "to_onnx"]

OPSET = 21
"""The default version of ONNX's operators."""
ML_OPSET = 3
"""The version of the operators in ONNX's domain for machine learning."""
FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11
"""The numbers of ONNX's tensor types, from its standard."""
MOST_NAMED = 3
"""Most inputs that a warning names."""
TYPES = {np.float32: FLOAT, np.float64: DOUBLE, np.int64: INT64}
"""Tensor types by numpy's types."""


def to_onnx(
    classifier: Any, path: str | Path | None = None, *, double: bool = False, opset: int = OPSET
) -> onnx.ModelProto:
    """Return a fitted classifier as an ONNX model, and write it if a path is given.

    If all columns contain numbers, the input is one tensor ``X`` of shape (rows, features), in the order of ``fit``.
    Otherwise every column is an input of shape (rows, 1), of numbers or of text. The input has the name of the column
    if this is an ASCII identifier, as names in ONNX must be, and ``column_0`` and so on, by position, if it is not; a
    warning names these columns. The ``doc_string`` of an input is the name of its column.
    Columns that were left out in training are then not among the inputs. The outputs are ``label``, shape (rows,),
    and ``probabilities``, (rows, classes), columns as in ``classes_``. Pass about ten thousand rows at a time,
    because the logarithms of all terms are kept in memory for all rows.

    Numbers are float32, as usual in ONNX. Cut points become float32 thresholds that put every float32 number on the
    same side as the classifier does. Pass ``double=True`` for a model that reads float64, if values such as 0.1 lie
    at cut points of your data. States that are numbers are compared as float32 too.

    NaN and the empty text are missing cells. In a column where the empty text is a state, a missing cell is written
    ``"(missing)"``, or as another text if that is a state, too; the model's metadata lists these texts by column,
    under ``anbexact_missing_texts``. A missing cell is a state of its own if the classifier has one for it. A missing
    or unknown cell of a feature that is not a parent of another variable is summed out. In any other column, the
    graph can neither sum over the cell nor refuse the row: the probabilities are then NaN, and the label is the empty
    text, or the smallest int64. The names of these columns are in the model's metadata, under
    ``anbexact_complete_columns``.

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier, PooledClassifier or LogitModel
        Fitted.
    path : str or Path, optional
        The file, which is replaced if it exists.
    double : bool, default False
        Whether numbers and probabilities are float64.
    opset : int, default 21
        Version of ONNX's operators, 18 or later.

    Returns
    -------
    onnx.ModelProto
        Checked by ONNX's checker.

    Raises
    ------
    ImportError
        If onnx is not installed: ``pip install 'anbexact[onnx]'``.
    NotFittedError
        If the classifier is not fitted.
    TypeError
        For another kind of classifier, for a column that contains both text and numbers, and for a name, state or
        class that is neither. The message names it.
    ValueError
        For universal measures, for columns of dates and similar types, for states that are equal in float32, and for
        tables that are too large.

    Warns
    -----
    UserWarning
        If an input cannot be named after its column.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install 'anbexact[onnx]'") from error
    from onnx import helper, numpy_helper

    form = scoring_form(classifier, "to_onnx")
    check_exportable(form, double, "to_onnx")
    inputs, sources = _inputs(form, double)
    taken = {put.name for put in inputs}
    numbers = count()
    graph = Graph(lambda name: next(own for k in numbers if (own := f"{name}__{k}") not in taken))
    add_posterior(graph, form, sources, ("label", "probabilities"), double)
    labels, number = class_labels(form.classes), DOUBLE if double else FLOAT
    of_label = INT64 if labels.dtype == np.int64 else STRING
    outputs = [
        helper.make_tensor_value_info("label", of_label, ["rows"]),
        helper.make_tensor_value_info("probabilities", number, ["rows", len(form.classes)]),
    ]
    nodes = [
        helper.make_node(operator, given, made, domain=domain, **_attributes(attributes))
        for operator, given, made, domain, attributes in graph.nodes
    ]
    constants = [numpy_helper.from_array(values, name) for name, values in graph.constants.items()]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(ML, ML_OPSET)]
    model = helper.make_model(
        helper.make_graph(nodes, "class_posterior", inputs, outputs, constants),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="anbexact",
    )
    helper.set_model_props(model, _metadata(form))
    onnx.checker.check_model(model)
    if path is not None:
        with atomic_path(Path(path)) as draft:
            draft.write_bytes(model.SerializeToString())
    return model


def _attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with tensor types instead of numpy's types."""
    return {name: TYPES[value] if name == "to" else value for name, value in attributes.items()}


def _metadata(form: ScoringForm) -> dict[str, str]:
    needed = [form.columns[j].name for j in sorted(form.parents)]
    return {
        "anbexact_features": json.dumps([column.name for column in form.columns]),
        "anbexact_classes": json.dumps(list(form.classes)),
        "anbexact_complete_columns": json.dumps(needed),
        "anbexact_missing_texts": json.dumps([[c.name, c.missing_text] for c in form.columns if c.missing_text]),
    }


def _inputs(form: ScoringForm, double: bool) -> tuple[list[Any], dict[Hashable, Source]]:
    """Return the inputs, and where the features are in them."""
    from onnx import helper

    number = DOUBLE if double else FLOAT
    names = [column.name for column in form.columns]
    if not any(column.ignored for column in form.columns) and all(column.numeric for column in form.columns):
        shape: list[str | int | None] = ["rows", len(names)]
        return [helper.make_tensor_value_info("X", number, shape)], {name: ("X", j) for j, name in enumerate(names)}
    inputs, sources = [], {}
    for j, column in enumerate(form.columns):
        if column.ignored:
            continue
        own = isinstance(column.name, str) and column.name.isidentifier() and column.name.isascii()
        taken = column.name in ("label", "probabilities") or str(column.name).startswith("column_")
        name = str(column.name) if own and not taken else f"column_{j}"
        kind = number if column.numeric else STRING
        inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1], doc_string=str(column.name)))
        sources[column.name] = (name, 0)
    called = {name: column for column, (name, _) in sources.items() if name != column}
    if called:
        shown = [f"{name} is {column!r}" for name, column in list(called.items())[:MOST_NAMED]]
        warn(
            "an input in ONNX must be named by an ASCII identifier that is not the name of an output, so "
            f"{counted(len(called), 'input')} {agreeing(len(called), 'is', 'are')} named by position: "
            f"{', '.join(shown)}{', ...' if len(called) > MOST_NAMED else ''}. The doc_string of each input is the "
            "name of its column; to keep the names, rename the columns before fit"
        )
    return inputs, sources


def register_onnx_converters() -> None:
    """Register the classifiers with skl2onnx, so that it converts pipelines that end in one of them.

    A pipeline passes one tensor to its last step: of numbers if all columns are numbers, else of text. Several inputs
    of one column each, numbers or text, are read in the order of ``fit``.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: ``pip install 'anbexact[onnx]' skl2onnx``.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "register_onnx_converters needs the package skl2onnx: pip install 'anbexact[onnx]' skl2onnx"
        ) from error

    estimators: list[type[Any]] = [RefittedClassifier, *(known.estimator for known in CLASSIFIERS.values())]
    for estimator in estimators:
        # skl2onnx requires these two options of every classifier
        options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
        update_registered_converter(estimator, f"Anbexact{estimator.__name__}", _shapes, _convert, options=options)


def _shapes(operator: Any) -> None:
    """Set the types of the outputs, as skl2onnx requires."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    labels = class_labels(tuple(operator.raw_operator.classes_.tolist()))
    operator.outputs[0].type = (Int64TensorType if labels.dtype == np.int64 else StringTensorType)([None])
    operator.outputs[1].type = FloatTensorType([None, len(labels) - 1])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier to a graph of skl2onnx."""
    from onnx.helper import np_dtype_to_tensor_dtype
    from skl2onnx.common.data_types import StringTensorType

    form = scoring_form(operator.raw_operator, "skl2onnx")
    check_exportable(form, False, "skl2onnx")
    graph = Graph(scope.get_unique_variable_name)
    sources: dict[Hashable, Source] = {}
    columns = iter(form.columns)
    for variable in operator.inputs:
        text = isinstance(variable.type, StringTensorType)
        tensor = variable.full_name if text else graph.add("Cast", variable.full_name, to=np.float32)
        for place in range(variable.type.shape[1]):
            column = next(columns)
            if column.numeric == text and not column.ignored:
                kind = "text" if text else "numbers"
                raise TypeError(f"column {column.name!r} is an input of {kind}, which it was not in fit")
            sources[column.name] = (tensor, place)
    outputs = operator.outputs[0].full_name, operator.outputs[1].full_name
    add_posterior(graph, form, sources, outputs, double=False)
    for name, values in graph.constants.items():
        of_tensor = STRING if values.dtype == object else np_dtype_to_tensor_dtype(values.dtype)
        container.add_initializer(name, of_tensor, values.shape, values.ravel().tolist())
    for k, (node, given, made, domain, attributes) in enumerate(graph.nodes):
        version = ML_OPSET if domain else min(container.target_opset, OPSET)
        name = scope.get_unique_operator_name(f"{node}_{k}")
        container.add_node(
            node, given, made, op_domain=domain, op_version=version, name=name, **_attributes(attributes)
        )
