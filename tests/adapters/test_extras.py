"""A package that is not installed: one clear sentence, which says what to install."""

import re
import sys
from pathlib import Path

import pytest

import anbexact.adapters
from anbexact import NaiveBayesClassifier
from anbexact.datasets import load_monks
from anbexact.plots import NetworkDisplay
from anbexact.show.figures.logit_shapes import plot_shapes
from anbexact.tables.frames.lazy import LazySource


def fitted():
    return NaiveBayesClassifier(ess=1.0).fit(*load_monks(1))


NEEDS = {
    "to_onnx": ("onnx", "to_onnx needs the package onnx: pip install 'anbexact[onnx]'"),
    "register_onnx_converters": (
        "skl2onnx",
        "register_onnx_converters needs the package skl2onnx: pip install 'anbexact[onnx]' skl2onnx",
    ),
    "save_mlflow": ("mlflow", "MLflow models need the package mlflow-skinny: pip install 'anbexact[mlflow]'"),
    "log_mlflow": ("mlflow", "MLflow models need the package mlflow-skinny: pip install 'anbexact[mlflow]'"),
    "to_numpyro": ("numpyro", "NumPyro models need the package numpyro: pip install 'anbexact[numpyro]'"),
    "logit_to_numpyro": ("numpyro", "NumPyro models need the package numpyro: pip install 'anbexact[numpyro]'"),
    "to_pymc": ("pymc", "PyMC models need the package pymc: pip install 'anbexact[pymc]'"),
    "logit_to_pymc": ("pymc", "PyMC models need the package pymc: pip install 'anbexact[pymc]'"),
    "to_arviz": ("arviz", "draws for ArviZ need the package arviz: pip install 'anbexact[arviz]'"),
}
"""Adapters, the package of each, and the sentence."""
ARGUMENTS = {"register_onnx_converters": 0, "save_mlflow": 2, "log_mlflow": 2}


def hide(monkeypatch, package):
    for module in [module for module in sys.modules if module.split(".")[0] in (package, f"{package}_base")]:
        monkeypatch.delitem(sys.modules, module)
    for module in (package, f"{package}_base"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize("name", NEEDS)
def test_adapters_name_the_package(name, monkeypatch):
    package, sentence = NEEDS[name]
    hide(monkeypatch, package)
    function = getattr(anbexact.adapters, name)
    with pytest.raises(ImportError) as refusal:
        function(*[fitted()] * ARGUMENTS.get(name, 1))
    assert str(refusal.value) == sentence


def test_these_are_all_adapters_that_need_a_package():
    packages = "|".join([*sorted({package for package, _ in NEEDS.values()}), "skops", "matplotlib"])
    folder = Path(anbexact.adapters.to_onnx.__code__.co_filename).parents[1]
    imports = re.compile(rf"^ +(?:import|from) (?:{packages})\b|^PACKAGES\b", re.MULTILINE)
    files = {file.stem for file in folder.rglob("*.py") if imports.search(file.read_text(encoding="utf-8"))}
    needing = {getattr(anbexact.adapters, name).__module__.rpartition(".")[2] for name in NEEDS}
    assert files == needing | {"numpyro_simplex"}  # the latter is used by to_numpyro alone


def test_figures_name_the_package(monkeypatch):
    for module in ["matplotlib", *(module for module in sys.modules if module.startswith("matplotlib."))]:
        monkeypatch.setitem(sys.modules, module, None)
    for draw in (lambda: plot_shapes([]), lambda: NetworkDisplay.from_structure(fitted().structure_)):
        with pytest.raises(ImportError) as refusal:
            draw()
        assert str(refusal.value) == "figures need matplotlib: pip install 'anbexact[figures]'"


def test_engines_name_the_package(monkeypatch):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    relation = duckdb.sql("SELECT 1 AS a, 2 AS b")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError) as refusal:
        LazySource.of(relation)
    assert str(refusal.value) == "lazy frames of duckdb need the package pyarrow: pip install 'anbexact[duckdb]'"
