"""A package that is not installed: one clear sentence."""

import sys

import pytest

import anbexact.adapters


@pytest.mark.parametrize(
    ("name", "package", "message"),
    [
        ("to_onnx", "onnx", r"to_onnx needs the package onnx: pip install 'anbexact\[onnx\]'"),
        ("save_mlflow", "mlflow", r"MLflow models need the package mlflow-skinny: pip install 'anbexact\[mlflow\]'"),
        ("to_numpyro", "numpyro", r"need the package numpyro: pip install 'anbexact\[numpyro\]'"),
        ("logit_to_pymc", "pymc", r"need the package pymc: pip install 'anbexact\[pymc\]'"),
    ],
)
def test_missing_packages_are_named(name, package, message, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    function = getattr(anbexact.adapters, name)
    arguments = [None] * (2 if name == "save_mlflow" else 1)
    with pytest.raises(ImportError, match=message):
        function(*arguments)
