"""Networks and classifiers for other libraries, and for files.

Every function is imported on first use, so that importing this package loads neither pgmpy nor statsmodels.
"""

from typing import TYPE_CHECKING

from anbexact._runtime.lazy import import_on_first_use

if TYPE_CHECKING:
    from anbexact.adapters.logit import LogitModel, to_logit
    from anbexact.adapters.mlflow import log_mlflow, save_mlflow
    from anbexact.adapters.network_files import from_file, to_file
    from anbexact.adapters.numpyro import logit_to_numpyro, to_numpyro
    from anbexact.adapters.onnx import register_onnx_converters, to_onnx
    from anbexact.adapters.pgmpy import from_pgmpy, to_pgmpy
    from anbexact.adapters.pmml import to_pmml
    from anbexact.adapters.pymc import logit_to_pymc, to_pymc
    from anbexact.adapters.python_scorer import to_python
    from anbexact.adapters.queries import class_posterior, d_separated
    from anbexact.adapters.skops import skops_types
    from anbexact.persistence.classifiers import load, save

__all__ = [
    "LogitModel",
    "class_posterior",
    "d_separated",
    "from_file",
    "from_pgmpy",
    "load",
    "log_mlflow",
    "logit_to_numpyro",
    "logit_to_pymc",
    "register_onnx_converters",
    "save",
    "save_mlflow",
    "skops_types",
    "to_file",
    "to_logit",
    "to_numpyro",
    "to_onnx",
    "to_pgmpy",
    "to_pmml",
    "to_pymc",
    "to_python",
]

import_on_first_use(
    __name__,
    {
        "LogitModel": "anbexact.logit.model",
        "class_posterior": "anbexact.adapters.queries",
        "d_separated": "anbexact.adapters.queries",
        "from_file": "anbexact.adapters.network_files",
        "from_pgmpy": "anbexact.adapters.pgmpy",
        "load": "anbexact.persistence.classifiers",
        "log_mlflow": "anbexact.adapters.mlflow",
        "logit_to_numpyro": "anbexact.adapters.numpyro",
        "logit_to_pymc": "anbexact.adapters.pymc",
        "register_onnx_converters": "anbexact.adapters.onnx",
        "save": "anbexact.persistence.classifiers",
        "save_mlflow": "anbexact.adapters.mlflow",
        "skops_types": "anbexact.adapters.skops",
        "to_file": "anbexact.adapters.network_files",
        "to_logit": "anbexact.adapters.logit",
        "to_numpyro": "anbexact.adapters.numpyro",
        "to_onnx": "anbexact.adapters.onnx",
        "to_pgmpy": "anbexact.adapters.pgmpy",
        "to_pmml": "anbexact.adapters.pmml",
        "to_pymc": "anbexact.adapters.pymc",
        "to_python": "anbexact.adapters.python_scorer",
    },
)
