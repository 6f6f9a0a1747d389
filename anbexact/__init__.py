"""Exact learning of Bayesian network classifiers.

The optimal augmented naive Bayes (the class is a parent of every feature, the graph over the features
maximises BDeu, proved optimal) as a scikit-learn classifier and as a pgmpy network.
"""

import signal as _signal
import sys as _sys
from pathlib import PurePath as _PurePath
from typing import TYPE_CHECKING

from anbexact._runtime.lazy import import_on_first_use

if TYPE_CHECKING:
    from anbexact import compare
    from anbexact.classifiers import (
        AdditiveClassifier,
        ANBClassifier,
        AutoClassifier,
        CkGClassifier,
        FANClassifier,
        FSANBClassifier,
        GBNClassifier,
        NaiveBayesClassifier,
        NetworkClassifier,
        PooledClassifier,
        RefittedClassifier,
        TANClassifier,
    )
    from anbexact.files.classifiers import load
    from anbexact.files.networks import load_network, save_network
    from anbexact.files.scorecards import load_scorecard, save_scorecard
    from anbexact.models.network.fitting import fit_network
    from anbexact.models.network.universal_measure import UniversalMeasure
    from anbexact.models.structure import Certificate, Structure
    from anbexact.scores import BDeu
    from anbexact.search import (
        SearchTooLargeError,
        learn_anb,
        learn_ckg,
        learn_fan,
        learn_gbn,
        learn_naive_bayes,
        learn_tan,
    )
    from anbexact.search.exact.verify import verify
    from anbexact.search.posterior import RelearnedLeaveOneOut, StructurePosterior, relearned_leave_one_out
    from anbexact.search.posterior.near_optimal import NearOptimal, near_optimal
    from anbexact.search.posterior.structure_posterior import structure_posterior
    from anbexact.tables.cuts import MDLPDiscretizer, MedianDiscretizer, MODLDiscretizer, MODLGrouper
    from anbexact.tables.table import DiscreteTable
    from anbexact.tables.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "ANBClassifier",
    "AdditiveClassifier",
    "AutoClassifier",
    "BDeu",
    "Certificate",
    "CkGClassifier",
    "DiscreteTable",
    "FANClassifier",
    "FSANBClassifier",
    "GBNClassifier",
    "MDLPDiscretizer",
    "MODLDiscretizer",
    "MODLGrouper",
    "MedianDiscretizer",
    "NaiveBayesClassifier",
    "NearOptimal",
    "NetworkClassifier",
    "PooledClassifier",
    "RefittedClassifier",
    "RelearnedLeaveOneOut",
    "SearchTooLargeError",
    "Structure",
    "StructurePosterior",
    "TANClassifier",
    "UniversalMeasure",
    "Vocabulary",
    "compare",
    "fit_network",
    "learn_anb",
    "learn_ckg",
    "learn_fan",
    "learn_gbn",
    "learn_naive_bayes",
    "learn_tan",
    "load",
    "load_network",
    "load_scorecard",
    "near_optimal",
    "relearned_leave_one_out",
    "save_network",
    "save_scorecard",
    "structure_posterior",
    "verify",
]

_HOMES = {
    "anbexact.classifiers": (
        "ANBClassifier AdditiveClassifier AutoClassifier CkGClassifier FANClassifier FSANBClassifier GBNClassifier "
        "NaiveBayesClassifier NetworkClassifier PooledClassifier RefittedClassifier TANClassifier"
    ),
    "anbexact.files.classifiers": "load",
    "anbexact.files.networks": "load_network save_network",
    "anbexact.files.scorecards": "load_scorecard save_scorecard",
    "anbexact.models.network.fitting": "fit_network",
    "anbexact.models.network.universal_measure": "UniversalMeasure",
    "anbexact.models.structure": "Certificate Structure",
    "anbexact.scores": "BDeu",
    "anbexact.search": ("SearchTooLargeError learn_anb learn_ckg learn_fan learn_gbn learn_naive_bayes learn_tan"),
    "anbexact.search.exact.verify": "verify",
    "anbexact.search.posterior": (
        "NearOptimal RelearnedLeaveOneOut StructurePosterior near_optimal relearned_leave_one_out structure_posterior"
    ),
    "anbexact.tables.cuts": "MDLPDiscretizer MODLDiscretizer MODLGrouper MedianDiscretizer",
    "anbexact.tables.table": "DiscreteTable",
    "anbexact.tables.vocabulary": "Vocabulary",
}
"""The public names by the modules that define them."""
_PACKAGES = (
    "adapters averaging classifiers compare conformal datasets discretize explanations files models plots report "
    "rivals scorecards scores search selection show tables"
)
"""The packages and modules that users find in this one without importing them."""

import_on_first_use(
    __name__,
    {name: home for home, names in _HOMES.items() for name in names.split()}
    | {name: f"{__name__}.{name}" for name in _PACKAGES.split()},
)


def _is_command() -> bool:
    """Whether this process is the command ``anbexact``, or ``python -m anbexact``."""
    started = (getattr(_sys, "argv", None) or [""])[0]
    if started != "-m":  # what it is while the module is looked for
        return _PurePath(started).stem == "anbexact"
    return _sys.orig_argv[_sys.orig_argv.index("-m") :][1:2] == ["anbexact"]


# A Ctrl-C before or after the work ends the command without a traceback; see anbexact.cli.main.
if _is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
