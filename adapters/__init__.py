"""Networks and classifiers for other libraries, and for files.

Every function is imported on first use, so that importing this package loads neither pgmpy nor statsmodels nor ArviZ.
"""

from typing import TYPE_CHECKING

from anbexact._runtime.lazy import import_on_first_use

if TYPE_CHECKING:
    from anbexact.adapters.arviz import to_arviz
    from anbexact.adapters.batch_queries import MostProbableExplanations, most_probable_explanations, posterior
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
    from anbexact.adapters.sql import to_sql
    from anbexact.adapters.structure_estimators import ANBEstimator, GBNEstimator, TANEstimator
    from anbexact.persistence.classifiers import load, save

__all__ = [
    "ANBEstimator",
    "GBNEstimator",
    "LogitModel",
    "MostProbableExplanations",
    "TANEstimator",
    "class_posterior",
    "d_separated",
    "from_file",
    "from_pgmpy",
    "load",
    "log_mlflow",
    "logit_to_numpyro",
    "logit_to_pymc",
    "most_probable_explanations",
    "posterior",
    "register_onnx_converters",
    "save",
    "save_mlflow",
    "skops_types",
    "to_arviz",
    "to_file",
    "to_logit",
    "to_numpyro",
    "to_onnx",
    "to_pgmpy",
    "to_pmml",
    "to_pymc",
    "to_python",
    "to_sql",
]

import_on_first_use(
    __name__,
    {
        "ANBEstimator": "anbexact.adapters.structure_estimators",
        "GBNEstimator": "anbexact.adapters.structure_estimators",
        "LogitModel": "anbexact.logit.model",
        "MostProbableExplanations": "anbexact.adapters.batch_queries",
        "TANEstimator": "anbexact.adapters.structure_estimators",
        "class_posterior": "anbexact.adapters.queries",
        "d_separated": "anbexact.adapters.queries",
        "from_file": "anbexact.adapters.network_files",
        "from_pgmpy": "anbexact.adapters.pgmpy",
        "load": "anbexact.persistence.classifiers",
        "log_mlflow": "anbexact.adapters.mlflow",
        "logit_to_numpyro": "anbexact.adapters.numpyro",
        "logit_to_pymc": "anbexact.adapters.pymc",
        "most_probable_explanations": "anbexact.adapters.batch_queries",
        "posterior": "anbexact.adapters.batch_queries",
        "register_onnx_converters": "anbexact.adapters.onnx",
        "save": "anbexact.persistence.classifiers",
        "save_mlflow": "anbexact.adapters.mlflow",
        "skops_types": "anbexact.adapters.skops",
        "to_arviz": "anbexact.adapters.arviz",
        "to_file": "anbexact.adapters.network_files",
        "to_logit": "anbexact.adapters.logit",
        "to_numpyro": "anbexact.adapters.numpyro",
        "to_onnx": "anbexact.adapters.onnx",
        "to_pgmpy": "anbexact.adapters.pgmpy",
        "to_pmml": "anbexact.adapters.pmml",
        "to_pymc": "anbexact.adapters.pymc",
        "to_python": "anbexact.adapters.python_scorer",
        "to_sql": "anbexact.adapters.sql",
    },
)
