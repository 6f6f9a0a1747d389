"""Exact learning of Bayesian network classifiers.

The optimal augmented naive Bayes (the class is a parent of every feature, the graph over the features
maximises BDeu, proved optimal) as a scikit-learn classifier and as a pgmpy network.
"""

import gc as _gc
import pathlib as _pathlib
import signal as _signal
import sys as _sys
from typing import Any as _Any


def _is_command() -> bool:
    """Whether this process is the command ``anbexact``, or ``python -m anbexact``."""
    started = (getattr(_sys, "argv", None) or [""])[0]
    if started != "-m":  # what it is while the module is looked for
        return _pathlib.PurePath(started).stem == "anbexact"
    return _sys.orig_argv[_sys.orig_argv.index("-m") :][1:2] == ["anbexact"]


# A Ctrl-C during the imports, which take a second, ends the command without a traceback; see anbexact.cli.main.
if _is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

_collects = _gc.isenabled()
_gc.disable()  # imports create many objects but no garbage; searching for it takes a tenth of the time
try:
    from anbexact.classifiers import (
        AdditiveClassifier,
        ANBClassifier,
        CkGClassifier,
        DiscreteClassifier,
        FANClassifier,
        FSANBClassifier,
        GBNClassifier,
        NaiveBayesClassifier,
        NetworkClassifier,
        PooledClassifier,
        RefittedClassifier,
        TANClassifier,
    )
    from anbexact.models.network.fitting import fit_network
    from anbexact.models.network.network import Network as _Network
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
    from anbexact.search.posterior import (
        NearOptimal,
        RelearnedLeaveOneOut,
        StructurePosterior,
        near_optimal,
        relearned_leave_one_out,
        structure_posterior,
    )
    from anbexact.tables.cuts import MDLPDiscretizer, MedianDiscretizer, MODLDiscretizer, MODLGrouper
    from anbexact.tables.table import DiscreteTable
    from anbexact.tables.vocabulary import Vocabulary
finally:
    if _collects:
        if not _gc.get_freeze_count():
            _gc.freeze()
            _gc.unfreeze()  # imported objects count as old, so that the next collection does not search them
        _gc.enable()

__version__ = "0.1.0"

__all__ = [
    "ANBClassifier",
    "AdditiveClassifier",
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
    "near_optimal",
    "relearned_leave_one_out",
    "save_network",
    "structure_posterior",
    "verify",
]


def load(path: str | _pathlib.Path) -> DiscreteClassifier:
    """Read a fitted classifier that its ``save`` wrote; see :func:`anbexact.files.classifiers.load`."""
    from anbexact.files.classifiers import load

    return load(path)


def save_network(network: _Network, path: str | _pathlib.Path) -> None:
    """Write a Bayesian network to a file; see :func:`anbexact.files.networks.save_network`."""
    from anbexact.files.networks import save_network

    save_network(network, path)


def load_network(path: str | _pathlib.Path) -> _Network:
    """Read a network that ``save_network`` wrote; see :func:`anbexact.files.networks.load_network`."""
    from anbexact.files.networks import load_network

    return load_network(path)


def __getattr__(name: str) -> _Any:
    if name == "compare":  # imports all of scikit-learn's preprocessing, so only on use
        from importlib import import_module

        return import_module("anbexact.compare")
    raise AttributeError(f"module 'anbexact' has no attribute {name!r}")
