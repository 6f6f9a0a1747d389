"""ONNX models: the classifier's probabilities in float32, exact at cut points, or nothing at all."""

import json
import warnings

import deployed
import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, TANClassifier, UniversalMeasure
from anbexact.adapters.deploy.onnx_graph import NO_INTEGER, at_most
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_iris

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from anbexact.adapters import register_onnx_converters, to_onnx  # noqa: E402
from anbexact.tables.frames.native_values import in_double  # noqa: E402


def session(model):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), options)


def fed(ready, X):
    """Return label and probabilities of rows, missing cells as NaN and as the text that stands for them."""
    inputs = ready.get_inputs()
    metadata = ready.get_modelmeta().custom_metadata_map  # what skl2onnx has converted has none
    texts = dict(json.loads(metadata.get("anbexact_missing_texts", "[]")))
    numbers = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    if [put.name for put in inputs] == ["X"]:
        return ready.run(None, {"X": X.astype(float).to_numpy(numbers[inputs[0].type])})
    feeds = {}
    for j, put in enumerate(inputs):
        cells = X.iloc[:, [j]]
        dtype = numbers.get(put.type)
        text = texts.get(X.columns[j], "")
        feeds[put.name] = (
            cells.fillna(text).to_numpy(object) if dtype is None else cells.astype(float).to_numpy(dtype)
        )
    return ready.run(None, feeds)


def in_float32(X, fitted):
    """Return the rows as a float32 model reads them: numbers that are cut are rounded."""
    X = X.copy()
    for name in fitted.cut_points_:
        X[name] = X[name].astype(np.float32)
    return X


def cut_points(fitted):
    return fitted.cut_points_ if hasattr(fitted, "cut_points_") else fitted.cut_points


def needed(model):
    props = {prop.key: json.loads(prop.value) for prop in model.metadata_props}
    return props["anbexact_complete_columns"]


def test_names_that_onnx_cannot_have_are_told():
    X = pd.DataFrame({"État": ["a", "b"] * 20, "ok": ["c", "d", "d", "d"] * 10, "label": ["e", "f"] * 20, "a b": 1})
    fitted = NaiveBayesClassifier().fit(X, ["u", "v"] * 20)
    told = (
        "3 inputs are named by position: column_0 is 'État', column_2 is 'label', column_3 is 'a b'. The doc_string"
    )
    with pytest.warns(UserWarning, match=told):
        model = to_onnx(fitted)
    assert [(put.name, put.doc_string) for put in model.graph.input] == [
        ("column_0", "État"),
        ("ok", "ok"),
        ("column_2", "label"),
        ("column_3", "a b"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_onnx(NaiveBayesClassifier().fit(X[["ok"]], ["u", "v"] * 20))


@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS)
def test_the_probabilities_are_those_of_the_classifier(table, classifier):
    fitted = deployed.model(table, classifier)
    X = deployed.rows(table)
    for double, tolerance in ((False, 1e-6), (True, 1e-12)):
        label, probabilities = fed(session(to_onnx(fitted, double=double)), X)
        known = X
        if not double:
            known = X.astype(dict.fromkeys(cut_points(fitted), np.float32))
        expected = deployed.expected(fitted, known)
        np.testing.assert_allclose(probabilities, expected, rtol=0, atol=tolerance)
        best = fitted.classes_[expected.argmax(axis=1)]
        assert [str(value) for value in label.tolist()] == [str(value) for value in best.tolist()] or np.all(
            label.astype(float) == best.astype(float)
        )


@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS)
def test_cells_that_are_no_state(table, classifier):
    fitted = deployed.model(table, classifier)
    refuses = "handle_unknown" in deployed.TABLES[table][2]
    X = deployed.rows(table, 0.15, 0 if refuses else 0.15)
    model = to_onnx(fitted, double=True)
    label, probabilities = fed(session(model), X)
    vocabulary = fitted.vocabulary if classifier == "logit" else fitted.vocabulary_
    hidden = pd.DataFrame({name: _hidden(X[name], name, fitted, vocabulary) for name in X.columns})
    undefined = hidden[needed(model)].any(axis=1).to_numpy()
    expected = deployed.expected(fitted, X)
    np.testing.assert_allclose(probabilities[~undefined], expected[~undefined], rtol=0, atol=1e-12)
    assert np.isnan(probabilities[undefined]).all()
    assert set(label[undefined]) <= {"", NO_INTEGER}
    if classifier in ("naive Bayes", "logit"):
        assert not undefined.any()


def _hidden(cells, name, fitted, vocabulary):
    """Whether the cells are summed out."""
    own = name in vocabulary.own_missing
    if name in cut_points(fitted):
        return [cell is None and not own for cell in cells]
    return [not own if cell is None or cell != cell else vocabulary.code(name, cell) < 0 for cell in cells]


@pytest.mark.parametrize("table", ["numbers", "mixed", "gaps"])
def test_every_float32_falls_on_the_right_side(table):
    fitted = deployed.model(table, "TAN")
    ready = session(to_onnx(fitted))
    X = deployed.rows(table).dropna().iloc[[0, 0, 0, 0, 0]]
    n_compared = 0
    for name, cuts in fitted.cut_points_.items():
        for cut in cuts.tolist():
            near = np.float32(cut)
            below, above = (np.nextafter(near, np.float32(sign * np.inf)) for sign in (-1, 1))
            values = np.array([below, near, above, below, above], dtype=np.float32)
            _, probabilities = fed(ready, X.assign(**{name: values}))
            expected = fitted.predict_proba(X.assign(**{name: values}))
            np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-6)
            n_compared += 1
    assert n_compared


@pytest.mark.parametrize("seed", range(3))
def test_thresholds_are_the_largest_that_are_not_above_the_cut(seed):
    rng = np.random.default_rng(seed)
    for cut in [
        0.1,
        1 / 3,
        1e39,
        -1e39,
        1e-46,
        -1e-46,
        2.0**24 + 1,
        *(rng.normal(size=50) * 10.0 ** rng.integers(-9, 9)),
    ]:
        threshold = at_most(cut, np.float32)
        assert in_double(np.array([threshold]))[0] <= cut
        with np.errstate(over="ignore"):
            assert in_double(np.array([np.nextafter(threshold, np.float32(np.inf))]))[0] > cut
        assert float(at_most(cut, np.float64)) == cut


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_carried_is_named():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"a": rng.integers(3, size=50), "b": rng.normal(size=50)}), rng.integers(2, size=50)
    mixed = X.astype({"a": object}).replace({"a": {0: "zero"}})
    close = X.assign(a=[2.0**24 + k for k in X["a"]])
    odd = X.assign(a=pd.Categorical.from_codes(X["a"], pd.Index(["\ud800", "b", "c"], dtype=object)))
    for made, error, message in (
        (NaiveBayesClassifier().fit(mixed, y), TypeError, "column 'a', which holds both text and numbers"),
        (NaiveBayesClassifier().fit(close, y), ValueError, "column 'a' apart as numbers; double=True"),
        (NaiveBayesClassifier().fit(odd, y), ValueError, "no UTF-8 form"),
        (NaiveBayesClassifier(continuous=UniversalMeasure()).fit(X, y), ValueError, "universal measures"),
    ):
        with pytest.raises(error, match=message):
            to_onnx(made)
    assert to_onnx(NaiveBayesClassifier().fit(close, y), double=True).graph.input[0].name == "X"


def test_a_row_that_is_impossible_whatever_its_class_has_no_prediction():
    """A table with zeros says so, even if the class is not among its variables."""
    X = pd.DataFrame({"a": ["u", "u", "u", "v", "v", "v"], "b": ["p", "p", "p", "q", "q", "q"]})
    arcs = {"class": (), "a": ("class",), "b": ("a",)}
    fitted = FixedStructureClassifier(arcs, parameters="ml").fit(X, ["x", "x", "y", "y", "y", "x"])
    rows = pd.DataFrame({"a": ["u", "u", "v"], "b": ["p", "q", "q"]})
    _, probabilities = fed(session(to_onnx(fitted, double=True)), rows)
    assert np.isnan(probabilities).all(axis=1).tolist() == [False, True, False]
    assert probabilities[[0, 2]] == pytest.approx(fitted.predict_proba(rows)[[0, 2]])


def test_a_refused_cell_has_no_prediction():
    X, y, _ = deployed.TABLES["numbers"]
    fitted = NaiveBayesClassifier(handle_missing="error", handle_unknown="error").fit(X.drop(columns="f"), y)
    ready = session(to_onnx(fitted))
    rows = X.drop(columns="f").iloc[:3].astype({"whole": float})
    rows.iloc[0, 0] = np.nan
    rows.iloc[1, 2] = 55.0
    label, probabilities = fed(ready, rows)
    assert label.tolist()[:2] == [NO_INTEGER, NO_INTEGER]
    assert np.isnan(probabilities).all(axis=1).tolist() == [True, True, False]


def test_a_model_without_used_features_predicts_shares(tmp_path):
    X = pd.DataFrame({"a": [1.0, 1.0, 1.0, 1.0], "b": [0, 0, 0, 0]})
    fitted = TANClassifier().fit(X, [0, 1, 1, 1])
    model = to_onnx(fitted, tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == model
    _, probabilities = fed(session(model), X)
    np.testing.assert_allclose(probabilities, fitted.predict_proba(X), atol=1e-6)


def test_columns_may_have_the_names_of_tensors():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)

    def fitted(names):
        X = pd.DataFrame({name: [f"s{v % 3}" for v in y + rng.integers(2, size=60)] for name in names})
        return X, TANClassifier().fit(X, y)

    _, plain = fitted(["a", "b", "c"])
    graph = to_onnx(plain).graph
    names = [*(made for node in graph.node for made in node.output), *(array.name for array in graph.initializer)]
    X, awkward = fitted([name for name in names if name not in ("label", "probabilities")][:3])
    probabilities = fed(session(to_onnx(awkward)), X)[1]
    np.testing.assert_allclose(probabilities, awkward.predict_proba(X), rtol=0, atol=1e-6)


def test_columns_left_out_are_no_inputs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": [f"row {k}" for k in range(60)], "a": rng.integers(3, size=60)})
    with pytest.warns(UserWarning, match="identifier"):
        fitted = TANClassifier().fit(X, rng.integers(2, size=60))
    ready = session(to_onnx(fitted))
    assert [put.name for put in ready.get_inputs()] == ["a"]
    probabilities = fed(ready, X[["a"]])[1]
    np.testing.assert_allclose(probabilities, fitted.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.real("skl2onnx")
def test_pipelines_by_skl2onnx():
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    register_onnx_converters()
    X, y = load_iris()
    numbers = X.to_numpy(np.float32)
    pipeline = make_pipeline(StandardScaler(), TANClassifier()).fit(numbers, np.asarray(y))
    model = skl2onnx.to_onnx(pipeline, numbers[:1], options={"zipmap": False})
    label, probabilities = session(model).run(None, {"X": numbers})
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(numbers), rtol=0, atol=1e-6)
    assert label.tolist() == pipeline.predict(numbers).tolist()
    fitted = deployed.model("mixed", "TAN")
    X = deployed.rows("mixed")
    kinds = [FloatTensorType if isinstance(cell, float | int) else StringTensorType for cell in X.iloc[0]]
    types = [(f"c{j}", kind([None, 1])) for j, kind in enumerate(kinds)]
    made = skl2onnx.convert_sklearn(fitted, initial_types=types, options={id(fitted): {"zipmap": False}})
    X = in_float32(X, fitted)
    np.testing.assert_allclose(fed(session(made), X)[1], fitted.predict_proba(X), rtol=0, atol=1e-6)
