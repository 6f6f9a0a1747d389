"""Networks and classifiers for other libraries, and for files.

Every function is imported on first use, so that importing this package loads neither pgmpy nor statsmodels nor ArviZ.
"""

from typing import TYPE_CHECKING

from anbexact._runtime.lazy import import_on_first_use

if TYPE_CHECKING:
    from anbexact.adapters.deploy.mlflow import log_mlflow, save_mlflow
    from anbexact.adapters.deploy.onnx import register_onnx_converters, to_onnx
    from anbexact.adapters.deploy.pmml import to_pmml
    from anbexact.adapters.deploy.python_scorer import to_python
    from anbexact.adapters.deploy.skops import skops_types
    from anbexact.adapters.deploy.sql import to_sql
    from anbexact.adapters.files.network_files import from_file, to_file
    from anbexact.adapters.pgmpy.batch_queries import MostProbableExplanations, most_probable_explanations, posterior
    from anbexact.adapters.pgmpy.networks import from_pgmpy, to_pgmpy
    from anbexact.adapters.pgmpy.queries import class_posterior, d_separated
    from anbexact.adapters.pgmpy.rows import states_of
    from anbexact.adapters.pgmpy.structure_estimators import ANBEstimator, GBNEstimator, TANEstimator
    from anbexact.adapters.ppl.arviz import to_arviz
    from anbexact.adapters.ppl.numpyro import logit_to_numpyro, to_numpyro
    from anbexact.adapters.ppl.pymc import logit_to_pymc, to_pymc
    from anbexact.adapters.statsmodels.logit import LogitModel, to_logit
    from anbexact.files.classifiers import load, save
    from anbexact.scorecards.making import to_scorecard
    from anbexact.scorecards.scorecard import Scorecard

__all__ = [
    "ANBEstimator",
    "GBNEstimator",
    "LogitModel",
    "MostProbableExplanations",
    "Scorecard",
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
    "states_of",
    "to_arviz",
    "to_file",
    "to_logit",
    "to_numpyro",
    "to_onnx",
    "to_pgmpy",
    "to_pmml",
    "to_pymc",
    "to_python",
    "to_scorecard",
    "to_sql",
]

import_on_first_use(
    __name__,
    {
        "ANBEstimator": "anbexact.adapters.pgmpy.structure_estimators",
        "GBNEstimator": "anbexact.adapters.pgmpy.structure_estimators",
        "LogitModel": "anbexact.models.logit.model",
        "MostProbableExplanations": "anbexact.adapters.pgmpy.batch_queries",
        "Scorecard": "anbexact.scorecards.scorecard",
        "TANEstimator": "anbexact.adapters.pgmpy.structure_estimators",
        "class_posterior": "anbexact.adapters.pgmpy.queries",
        "d_separated": "anbexact.adapters.pgmpy.queries",
        "from_file": "anbexact.adapters.files.network_files",
        "from_pgmpy": "anbexact.adapters.pgmpy.networks",
        "load": "anbexact.files.classifiers",
        "log_mlflow": "anbexact.adapters.deploy.mlflow",
        "logit_to_numpyro": "anbexact.adapters.ppl.numpyro",
        "logit_to_pymc": "anbexact.adapters.ppl.pymc",
        "most_probable_explanations": "anbexact.adapters.pgmpy.batch_queries",
        "posterior": "anbexact.adapters.pgmpy.batch_queries",
        "register_onnx_converters": "anbexact.adapters.deploy.onnx",
        "save": "anbexact.files.classifiers",
        "save_mlflow": "anbexact.adapters.deploy.mlflow",
        "skops_types": "anbexact.adapters.deploy.skops",
        "states_of": "anbexact.adapters.pgmpy.rows",
        "to_arviz": "anbexact.adapters.ppl.arviz",
        "to_file": "anbexact.adapters.files.network_files",
        "to_logit": "anbexact.adapters.statsmodels.logit",
        "to_numpyro": "anbexact.adapters.ppl.numpyro",
        "to_onnx": "anbexact.adapters.deploy.onnx",
        "to_pgmpy": "anbexact.adapters.pgmpy.networks",
        "to_pmml": "anbexact.adapters.deploy.pmml",
        "to_pymc": "anbexact.adapters.ppl.pymc",
        "to_python": "anbexact.adapters.deploy.python_scorer",
        "to_scorecard": "anbexact.scorecards.making",
        "to_sql": "anbexact.adapters.deploy.sql",
    },
)
