"""Record what a version of the package gives, and compare another version with that record.

    python tests/golden_record.py record build/golden                # writes the record of the version at hand
    python tests/golden_record.py compare build/golden               # recomputes it, and names every difference
    python tests/golden_record.py compare build/golden plain pooled  # these groups only

Record before a change that must not be felt, and compare after every step of it. A record is a folder with one file
for each group of cases (`GROUPS`). Groups do not depend on each other, so several processes can share them out; all
of them take about ten minutes on one core. The exit code of a comparison is 1 if anything differs.

The groups of `KINDS` cover whatever `CLASSIFIERS` lists: each classifier by itself, with densities of measured
columns, refitted, smooth, pooled with naive Bayes, and with missing cells completed in training. Each learns with and
without weights and missing cells, and is then asked in all ways of `ALWAYS`; on some tables also in those of `TWICE`
and `ONCE`. What a classifier does not do is recorded with the message of its refusal. Public methods that no
expression asks are listed under "not asked": give each of them an expression, or a place in `INNER`.

Most results are named by the expression that gives them. Numbers are hexadecimal floats; of long arrays and long
lines there are the checksum and the beginning. So a record holds for one machine and one set of libraries. The clocks
stand still while it is made; what raises is recorded with its message. `model_` and `reader_` are not recorded, what
they answer is. Only public names of the package are used, so that its modules may move. pytest does not collect this
file.
"""

from __future__ import annotations

import copy
import dataclasses
import gzip
import hashlib
import inspect
import io
import itertools
import json
import pickle
import platform
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import KBinsDiscretizer  # noqa: F401  # in expressions
from threadpoolctl import threadpool_limits

import anbexact
from anbexact import adapters, classifiers, datasets
from anbexact.classifiers.registry import CLASSIFIERS, compared_lines, named_classifiers  # noqa: F401  # in expressions
from anbexact.cli import main as command_line

Case = tuple[str, Callable[[], Any]]
Table = tuple[Any, Any, Any]  # features, class, weights or None
SHOWN, LETTERS = 8, 400
"""Numbers of a long array that are written out, and letters of a long line."""
MOST_LINES, OF_A_CASE = 20, 3
"""Differences that are printed for a group, and for each of its cases; what is only new comes last."""
NEW = ' instead of "(nothing)"'
VOLATILE = {"seconds", "fit_seconds", "predict_seconds", "sha256", "package_version"}
"""Keys of files, columns and fields that differ from run to run, or from version to version."""
PACKAGES = "adapters averaging classifiers compare conformal datasets discretize plots report scores search selection"
MODULES = [anbexact, *(import_module(f"anbexact.{name}") for name in PACKAGES.split())]
NAMES = {name: getattr(module, name) for module in MODULES for name in module.__all__}
"""What expressions may use, beside the names of this file and those of `data`."""

# ---- tables


def sample(name: str, step: int, weighted: bool = False) -> Table:
    """Return every so manyth row of an embedded table, with real weights, some of them 0, if asked for."""
    X, y = (whole.iloc[::step] for whole in datasets.load_dataset(name))
    return X, y, np.random.default_rng(3).gamma(1.0, 1.0, len(X)).round(1) if weighted else None


def all_kinds() -> Table:
    """Return columns of all kinds: one state, dates, durations, many categories, ordered ones, an identifier, ..."""
    rng, n = np.random.default_rng(7), 160
    level = rng.integers(0, 3, n)
    size = np.minimum(level + rng.integers(0, 3, n), 4)
    columns = {
        "constant": ["only"] * n,
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n) + 60 * level, unit="D"),
        "wait": pd.to_timedelta(rng.exponential(900, n) * (1 + 3 * size), unit="s").round("s"),
        "town": np.array([f"town {k:02}" for k in range(25)])[(rng.integers(0, 9, n) + 5 * size) % 25],
        "size": pd.Categorical.from_codes(size, ["XS", "S", "M", "L", "XL"], ordered=True),
        "flag": (size > 1) ^ (rng.random(n) < 0.1),
        "grade": rng.integers(1, 4, n) + (size > 2),
        "length": (rng.normal(size=n) + level + size).round(3),
        "id": [f"case {k:04}" for k in range(n)],
    }
    classes = pd.Series(np.array(["low", "middle", "high"])[level], name="level")
    return pd.DataFrame(columns), classes, rng.gamma(2.0, 0.5, n)


def with_gaps() -> Table:
    """Return a table with missing cells: many in one column, few in others."""
    X, y, weights = sample("anes96", 5)
    rng = np.random.default_rng(5)
    for name, share in {"PID": 0.3, "age": 0.02, "educ": 0.01}.items():
        X = X.assign(**{name: X[name].where(rng.random(len(X)) >= share)})
    return X, y, weights


def nameless() -> Table:
    """Return an array of floats, and classes that are whole numbers."""
    X, y, weights = sample("wine", 2, weighted=True)
    return X.iloc[:, :6].to_numpy(), y.str[-1].astype(int).to_numpy(), weights


def mixed(gaps: bool = False, weighted: bool = False) -> Table:
    """Return measured, ordered and unordered columns and three classes; many missing cells in one, few in another."""
    rng, n = np.random.default_rng(23), 84
    level = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": (rng.normal(size=n) + level).round(2),
            "kind": np.array(["a", "b", "c"])[(level + (rng.random(n) < 0.3)) % 3],
            "size": pd.Categorical.from_codes(rng.integers(0, 3, n), ["S", "M", "L"], ordered=True),
            "visits": rng.poisson(3 + 4 * level),
        }
    )
    X["sick"] = (X["kind"] == "a") ^ (rng.random(n) < 0.2)
    if gaps:
        X = X.assign(
            **{name: X[name].where(rng.random(n) >= share) for name, share in {"kind": 0.3, "age": 0.03}.items()}
        )
    eighths = (8 * rng.gamma(1.5, 1.0, n)).round() / 8  # engines add them up in any order, without rounding
    weights = eighths * (rng.random(n) >= 0.05) if weighted else None
    return X, pd.Series(np.array(["low", "mid", "high"])[level], name="risk"), weights


TABLES: dict[str, Callable[[], Table]] = {
    "anes": partial(sample, "anes96", 4),
    "array": nameless,
    "balance": partial(sample, "balance_scale", 3, weighted=True),
    "cells": partial(sample, "breast_cancer", 6),
    "gaps": with_gaps,
    "iris": partial(sample, "iris", 1),
    "lenses": partial(sample, "lenses", 1),
    "made": all_kinds,
    "mixed": mixed,
    "mixed_gaps": partial(mixed, gaps=True),
    "mixed_gaps_weighted": partial(mixed, gaps=True, weighted=True),
    "mixed_weighted": partial(mixed, weighted=True),
    "monks": partial(sample, "monks1", 2, weighted=True),
    "multiplexer": partial(sample, "multiplexer6", 1),
    "tictactoe": partial(sample, "tic_tac_toe", 4),
}


@cache
def data(name: str) -> dict[str, Any]:
    """Return a table by the names that expressions use: X, y, w, and what is derived from these."""
    X, y, w = TABLES[name]()
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).add_prefix("x")
    label, names = getattr(y, "name", "class"), list(frame)
    few = [column for column in names if frame[column].nunique() <= 10]
    own = {"X": X, "y": y, "w": w, "label": label, "known": frame.iloc[0, 1:3].to_dict()}
    own["chain"] = {label: (), names[0]: (label,)} | {b: (label, a) for a, b in itertools.pairwise(names)}
    own["rows"] = few and NAMES["DiscreteTable"].from_frame(frame[few], y, sample_weight=w, class_name=label)
    own |= {kind: disturbed(frame, kind) for kind in ("missing", "unknown")}
    return own if X is frame else own | {kind: own[kind].to_numpy() for kind in ("missing", "unknown")}


def disturbed(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the first rows with cells that are "missing", or "unknown": of a value that is no state."""
    cells = frame.head(40).astype(object)
    for i, j in np.ndindex(cells.shape):
        value = cells.iat[i, j]
        if kind == "missing" and (i + 2 * j) % 5 < 2:
            cells.iat[i, j] = None
        elif kind == "unknown" and (i + j) % 4 == 0 and not isinstance(value, pd.Timestamp | pd.Timedelta):
            cells.iat[i, j] = 1e6 if isinstance(value, int | float) and value is not True else "never seen"
    return cells


# ---- values as JSON


def masked(text: str) -> str:
    """Return a text without times, addresses and paths of modules."""
    text = re.sub(r"\bin [\d.,e+-]+ s\b", "in ... s", re.sub(r"0x[0-9a-f]{6,}", "0x...", text))
    return re.sub(r"\banbexact(\.\w+)*\.(?=[A-Za-z_])", "", text)


def digest_of(content: bytes) -> str:
    """Return the checksum of bytes."""
    return hashlib.sha256(content).hexdigest()


def plain(value: Any) -> Any:
    """Return a value as JSON holds it, floats bit for bit."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        text = masked(str(value))
        return text if len(text) <= 2 * LETTERS else {"sha256": digest_of(text.encode()), "begins": text[:LETTERS]}
    if isinstance(value, bytes):
        return {"sha256": digest_of(value), "bytes": len(value)}
    if isinstance(value, float):
        return float(value).hex()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        first = [plain(number) for number in value.ravel()[:SHOWN].tolist()]
        digest = {"sha256": digest_of(value.tobytes())} if value.size > SHOWN else {}
        return {"shape": "x".join(map(str, value.shape)), "numbers": first, **digest}
    if isinstance(value, np.ndarray | pd.Index):
        return [plain(cell) for cell in np.ravel(value).tolist()]
    if isinstance(value, pd.DataFrame | pd.Series):
        columns = value.to_frame() if isinstance(value, pd.Series) else value
        own = {str(name): plain(columns[name].to_numpy()) for name in columns if name not in VOLATILE}
        return {"index": plain(value.index), **own, **({"notes": plain(value.attrs)} if value.attrs else {})}
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in value if key not in VOLATILE}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, adapters.LogitModel):
        return {
            "coefficients": plain(value.to_frame()),
            "equivalent": value.equivalent,
            "why": plain(value.equivalence_report),
        }
    if dataclasses.is_dataclass(value) and not isinstance(value, type | BaseEstimator):
        names = [own.name for own in dataclasses.fields(value) if not own.name.startswith("_")]
        return {"type": type(value).__name__, **plain({name: getattr(value, name) for name in names})}
    return masked(repr(value.item() if isinstance(value, np.generic) else value))


def attempt(work: Callable[[], Any]) -> Any:
    """Return what a piece of work returns, or what it raises, with the warnings given on the way."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = plain(work())
        except Exception as error:
            result = {"raised": masked(f"{type(error).__name__}: {error}")}
    texts = [masked(str(one.message)) for one in given if issubclass(one.category, UserWarning)]
    return {"result": result, "warnings": texts} if texts else result


def value_of(expression: str, **own: Any) -> Any:
    """Return what an expression gives."""
    return eval(expression, {**globals(), **NAMES, **own})


def evaluated(expressions: Iterable[str], **own: Any) -> dict[str, Any]:
    """Return what expressions give, by their text."""
    return {text: attempt(partial(value_of, text, **own)) for text in expressions}


# ---- fitted classifiers

MEASURED = "ANB CkG FAN GBN NaiveBayes TAN"
ALL = f"{MEASURED} AODE BNC2P FSANB FixedStructure GreedyGBN KDB LogitFAN MCDAG PrunedNaiveBayes Refitted"
SCORE_NAMES = ("bdeu", "bds", "k2", "kt", "ll", "aic", "bic", "hq", "mit", "qnml", "fnml", "acll")
BY_OBJECT = [f"structure_score={score}" for score in ("BDeu(3.0)", "HQ(0.2)", "MIT(0.9)", "ACLL('uniform', 2.0)")]
CUTS = ["'median'", "'mdlp'", "'modl'", "'equal_frequency'", "'equal_width'", "MDLPDiscretizer(max_bins=3)"]
BINS = "KBinsDiscretizer(4, encode='ordinal', quantile_method='averaged_inverted_cdf')"
LEVELS = ["UniversalMeasure(levels=3)", "UniversalMeasure({'petal_width': EqualWidthPartition(0, 3)})"]
ARCS = "required_edges=[('selfLR', 'PID')], forbidden_edges=[('ClinLR', 'DoleLR'), ('DoleLR', 'ClinLR')]"
STATES = "categories={'grade': [1, 2, 3, 4, 5], 'size': ['XXL', 'XL', 'L', 'M', 'S', 'XS'], 'flag': [True, False]}"
NETWORKS = [f"{name}Classifier()" for name in (*MEASURED.split(), "KDB", "GreedyGBN", "AODE")]
FITS: list[tuple[str, str, list[str]]] = [  # classifiers, tables, arguments
    (ALL, "iris lenses made gaps tictactoe balance array", [""]),
    (ALL, "tictactoe", ["ess=1.0"]),
    ("ANB TAN", "monks", [f"structure_score={name!r}" for name in SCORE_NAMES]),
    ("GBN CkG KDB", "lenses", [f"structure_score={name!r}, ess=2.0" for name in SCORE_NAMES]),
    ("ANB FAN GreedyGBN", "monks", BY_OBJECT),
    ("GreedyGBN", "monks", ["structure_score=CLL()", "structure_score=CMDL()"]),
    ("GreedyGBN", "anes", ["ess=1.0, tabu=5, restarts=2, random_state=0, max_parents=2"]),
    ("ANB NaiveBayes BNC2P", "lenses", [f"parameters={rule!r}" for rule in ("eap", "ml", "friedman", "acll")]),
    ("ANB KDB FAN", "monks", ["smoothing='auto', ess=1.0", "smoothing=2.5", "smoothing=0.5, ess=3.0"]),
    ("ANB", "iris", [f"discretizer={rule}, ess=1.0" for rule in (*CUTS, BINS, "None")]),
    (MEASURED, "iris made", ["continuous='universal'"]),
    ("ANB TAN", "iris", [f"continuous={measure}" for measure in LEVELS]),
    ("TAN GBN", "gaps", ["continuous='universal', handle_missing='marginalize'"]),
    ("ANB GBN", "anes", [f"max_parents={most}, ess=1.0" for most in (0, 1, 2)]),
    ("ANB GBN TAN FAN CkG GreedyGBN FSANB", "anes", [f"ess=1.0, {ARCS}"]),
    ("ANB", "cells", ["structure_score='bic'"]),
    ("ANB AODE Refitted", "multiplexer", [""]),
    ("ANB AODE", "gaps", [f"handle_missing={rule!r}" for rule in ("marginalize", "own_state", "error")]),
    ("TAN", "lenses", ["class_weight='balanced'", "class_weight={'hard': 2.5}", "handle_unknown='error'"]),
    ("TAN", "lenses", ["n_jobs=2", "ess=-1", "k=3", "smoothing=1.0, parameters='ml'", "structure_score='nothing'"]),
    ("NaiveBayes", "made", ["group_categories=None", "group_categories=3", "drop_identifiers=False", STATES]),
    ("CkG KDB", "tictactoe", ["k=1, ess=1.0", "k=3, ess=1.0"]),
    ("AODE", "made", ["min_weight=0", "min_weight=8.5, ess=2.0"]),
    ("FSANB", "anes", ["ess=1.0, threshold=3.0", "network_ess=4.0, max_parents=1", "smoothing='auto'"]),
    ("LogitFAN PrunedNaiveBayes", "monks", ["l2=0.5", "l2=4.0"]),
    ("MCDAG", "lenses", ["max_parents=1, ess=1.0", "max_parents=None"]),
    ("FixedStructure", "monks anes", [f"l2={l2}, ess=1.0" for l2 in ("None", "2.0", "'auto'")]),
    ("Refitted", "monks", [f"TANClassifier(ess=1.0), l2={l2}" for l2 in ("0", "0.5", "'auto'")]),
    ("Refitted", "lenses", [f"{network}, l2=1.0" for network in NETWORKS]),
    ("Refitted", "anes iris", ["TANClassifier(continuous='universal'), max_iter=3"]),
]
ANSWERS = ["it.predict_proba({})", "it.log_evidence({})", "it.predict({})"]
ANSWERS = [text.format(rows) for text in ANSWERS for rows in ("X", "missing", "unknown")]
ANSWERS += ["str(it.explain(X[:2])).splitlines()", "str(it.explain(missing[1:3])).splitlines()", "it.query({})"]
ANSWERS += ["it.explain(X[:2]).to_frame()", "it.explain(missing[1:3]).to_frame()", "it.query(known)"]
OF_FITS = ["it.get_params()", "it.score(X, y, w)", "it.to_discrete().predict_proba(X)", "more_rows(it, X, y, w)"]
OF_FITS += ["through_file(it, X, missing)", *ANSWERS]


def unfitted(name: str, arguments: str, given: Mapping[str, Any]) -> Any:
    """Return a classifier, with one thread unless the arguments say otherwise."""
    arguments = f"chain, {arguments}" if name == "FixedStructure" else arguments
    it = value_of(f"{name}Classifier({arguments})", **given)
    return it if it.get_params().get("n_jobs", 1) else it.set_params(n_jobs=1)


def fitted(name: str, table: str, arguments: str) -> dict[str, Any]:
    """Fit a classifier, and return all that it says."""
    given = data(table)
    it = unfitted(name, arguments, given)
    found = evaluated(["it.fit(X, y, w)"], it=it, **given)
    if not hasattr(it, "classes_"):
        return found
    return found | evaluated(attributes_of(it) + OF_FITS, it=it, **given)


def attributes_of(it: Any) -> list[str]:
    """Return the fitted attributes, but those whose form may change: what they say is asked."""
    names = [name for name in dir(it) if re.fullmatch(r"[a-z]\w*_", name) and name not in ("model_", "reader_")]
    return [f"it.{name}" for name in names]


def through_file(it: Any, X: Any, missing: Any) -> dict[str, Any]:
    """Save a classifier and load it; return what the file says, and whether the same comes back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        it.save(path)
        again, document = anbexact.load(path), json.loads(path.read_text())
    same = [again.predict_proba(rows).tobytes() == it.predict_proba(rows).tobytes() for rows in (X, missing)]
    return {"same": same, "loaded": repr(again), "document": document}


def more_rows(it: Any, X: Any, y: Any, w: Any) -> dict[str, Any]:
    """Add the first rows once more, to a copy of a classifier."""
    again = copy.deepcopy(it).partial_fit(X[:20], y[:20], sample_weight=w if w is None else w[:20])
    return {"structure": getattr(again, "structure_", None), "posterior": again.predict_proba(X)}


# ---- networks in other forms

CONVERTED: list[tuple[str, str, list[str]]] = [
    ("ANB", "monks gaps", ["ess=1.0"]),
    ("GBN KDB", "lenses", ["ess=1.0"]),
    ("TAN", "made array", ["ess=1.0"]),
    ("NaiveBayes", "multiplexer", ["ess=1.0"]),
    ("NaiveBayes", "iris", ["continuous='universal'"]),
    ("FSANB", "anes", ["ess=1.0, threshold=3.0"]),
    ("Refitted", "lenses", ["l2=2.0"]),
    ("FixedStructure", "lenses", ["l2=1.0"]),
    ("AODE", "lenses", [""]),
]
MODEL = [
    "it",
    "it.terms",
    "it.unidentified",
    "it.separated_terms",
    "it.convergence_message",
    "it.closure",
    "it.result().params",
]
MODEL += ["it.log_likelihood(X, y, w)", "it.predict_proba(X)", "it.predict_proba(missing)", "it.result().bse"]
MODEL += ["it.to_classifier().conditional_tables_", "it.to_classifier().predict_proba(X)"]
NETWORK = [
    "[[table.variables, table.state_names, table.get_values()] for table in network.get_cpds()]",
    "[list(network.nodes), list(network.edges), network.graph]",
    "class_posterior(network, str(label), {name: network.states[name][0] for name in list(network.nodes)[1:3]})",
    "class_posterior(it, list(network.nodes)[0], {})",
    "[d_separated(it, a, b, z) for a in list(chain)[1:4] for b in list(chain)[4:] for z in ((), (label,))]",
    "from_pgmpy(network, str(label)).predict_proba(X)",
    *(f"as_file(it, {kind!r}, X)" for kind in ("bif", "xmlbif", "xdsl")),
]


def converted(name: str, table: str, arguments: str) -> dict[str, Any]:
    """Return a classifier as a logistic regression, its refits, with the arcs that it lacks; and as a network."""
    given = data(table)
    it = unfitted(name, arguments, given).fit(given["X"], given["y"], given["w"])
    found = evaluated(["to_logit(it)", "to_pgmpy(it)"], it=it)
    if isinstance(it, classifiers.AODEClassifier):
        return found
    for first in ("to_logit(it)", "to_logit(it).close()"):
        for then in ("", ".refit(X, y, w, l2=0)", ".refit(X, y, w, l2=2.0)", ".refit(X, y, w, l2='auto')"):
            model = value_of(first + then, it=it, **given)
            found[first + then] = evaluated([*MODEL, *ANSWERS[-6:]], **(given | {"it": model}))
    return found | evaluated(NETWORK, it=it, network=adapters.to_pgmpy(it), **given)


def as_file(it: Any, kind: str, X: Any) -> dict[str, Any]:
    """Return the file for other programs, that of its names, and the posterior of what is read from them."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        adapters.to_file(it, f"network.{kind}")
        texts = {path.name: path.read_text().splitlines() for path in sorted(Path().iterdir())}
        return texts | {"posterior": adapters.from_file(f"network.{kind}").predict_proba(X)}


# ---- every registered classifier, in every form, by every door

Estimators = Iterator[tuple[str, Callable[[], Any]]]


def entry_of(name: str, **parameters: Any) -> Any:
    """Return a registered classifier, unfitted: small, with one thread, and with such of the parameters as it has."""
    of = CLASSIFIERS[name].estimator
    known = inspect.signature(of).parameters
    required = {"parents": data("mixed")["chain"]} if "parents" in known else {}
    parameters = {"n_jobs": 1, "folds": 2, "random_state": 0} | parameters
    return of(**required, **{key: value for key, value in parameters.items() if key in known})


def plain_ones() -> Estimators:
    """Yield classifiers as they are, and those of a comparison whose parameters are others."""
    for name, entry in CLASSIFIERS.items():
        yield name, partial(entry_of, name)
        yield from (
            (f"{name}, {line.label}", partial(entry_of, name, **line.parameters))
            for line in entry.compared
            if line.parameters and "continuous" not in line.parameters
        )


def measured_ones() -> Estimators:
    """Yield classifiers with densities of measured columns."""
    for name, entry in CLASSIFIERS.items():
        if "continuous" in inspect.signature(entry.estimator).parameters:
            yield name, partial(entry_of, name, continuous="universal")


def refits(of: Callable[..., Any], **parameters: Any) -> Estimators:
    """Yield refits of all classifiers; those that have none refuse."""
    for name in CLASSIFIERS:
        yield name, lambda name=name: of(entry_of(name), **parameters)
    yield "None", lambda: of(**parameters)
    if "continuous" in inspect.signature(classifiers.TANClassifier).parameters:
        yield "TANClassifier, measured", lambda: of(entry_of("TANClassifier", continuous="universal"), **parameters)


def pools() -> Estimators:
    """Yield pools of naive Bayes and each other classifier, and such of refits."""
    bayes = partial(entry_of, "NaiveBayesClassifier")

    def pool(**members: Any) -> Any:
        return entry_of("PooledClassifier", members=list(members.items()), ridge=1.0)

    for name in CLASSIFIERS:
        yield name, lambda name=name: pool(bayes=bayes(), other=entry_of(name))
    smooth = partial(classifiers.AdditiveClassifier, intervals=4, smooth=1.0)
    yield "refits", lambda: pool(refit=classifiers.RefittedClassifier(bayes(), l2=1.0), smooth=smooth(bayes()))
    yield "measured", lambda: pool(bayes=bayes(), measured=entry_of("TANClassifier", continuous="universal"))
    yield "cut differently", lambda: pool(one=bayes(), other=bayes().set_params(discretizer="median"))
    yield "one member", lambda: pool(bayes=bayes())


def completed_ones() -> Estimators:
    """Yield classifiers that complete missing cells in training, or refuse to."""
    for name in CLASSIFIERS:
        yield name, partial(entry_of, name, handle_missing="em")


KINDS: dict[str, Callable[[], Estimators]] = {
    "plain": plain_ones,
    "measured": measured_ones,
    "refitted": partial(refits, classifiers.RefittedClassifier, l2=1.0),
    "smooth": partial(refits, classifiers.AdditiveClassifier, intervals=4, smooth=1.0),
    "pooled": pools,
    "completed": completed_ones,
}
WAYS = ["mixed", "mixed_weighted", "mixed_gaps", "mixed_gaps_weighted"]
COSTS = "costs={'low': {'low': 0, 'mid': 1, 'high': 5}, 'mid': {'low': 2, 'mid': 0, 'high': 1}, "
COSTS += "'high': {'low': 9, 'mid': 3, 'high': 0}}"
PRIOR = "class_prior={'low': 0.2, 'mid': 0.2, 'high': 0.6}"
ALWAYS = {
    "answers": [
        *ANSWERS[:9],
        *(f"it.predict_log_proba({rows}, {PRIOR})" for rows in ("X", "missing")),
        *("it.query({})", "it.query(known)", "it.query({'nothing': 1})", "it.query(size='L')"),
        "it.predict_proba_interval(missing[:4], draws=20, random_state=0)",
        *("it.score(X, y, w)", f"it.decide(missing, {COSTS}, reject=0.5)", "it.predict_proba(X[['age']])"),
        *("list(it.predict_frame(X, keep=['kind'], proba=True))", "it.get_params(deep=False)", "repr(it)"),
    ],
    "explanations": [
        *(f"str(it.explain({rows})).splitlines()" for rows in ("X[:2]", "missing[1:3]", "unknown[:2]")),
        *("it.explain(X[:2]).to_frame()", "it.explain(missing[1:3], label='low', against='high').to_frame()"),
        *("it.explain_local(X[:2]).frame", "it.explain_local(missing[1:3], label='low').frame"),
        *("it.explain_local(X[:2], conditional=True).frame", "str(it.explain_local(X[:2])).splitlines()"),
        *(
            "it.shapley_values(X[:4])",
            "it.shapley_values(missing[:4])",
            "it.explain_global()",
            "it.explain_global(X)",
        ),
        *("it.sufficient_reasons(X[:4])", "it.sufficient_reasons(missing[:4], size='smallest')"),
        *("str(it.sufficient_reasons(X[:2])).splitlines()", "it.what_if(missing[:2], {'size': 'L'})"),
        *("it.nearest_change(X[:4])", "it.nearest_change(X[:4], keep=['age'], target='low')"),
        *("it.tornado(missing[:3])", "it.tornado_of_entries(X[:2], label='mid')", "it.next_question(missing[:3])"),
    ],
    "files": [
        *("through_file(it, X, missing)", "more_rows(it, X, y, w)", "merged(it, X, y, w)", "copied(it, X)"),
        *("it.to_discrete().predict_proba(missing)", "it.discrete_form().predict_proba(missing)"),
    ],
    "exports": [
        *(f"to_sql(it, dialect={dialect!r}).splitlines()" for dialect in ("duckdb", "spark")),
        *(
            "in_onnx(it)",
            "as_python(it)",
            "as_pmml(it)",
            *(f"as_file(it, {kind!r}, X)" for kind in ("xmlbif", "xdsl")),
        ),
        *("tables_of(it.to_pgmpy())", "tables_of(it.network_)", "to_logit(it)"),
        *("[it.to_logit().predict_proba(rows) for rows in (X, missing)]", "it.to_logit().explain(X[:2]).to_frame()"),
        "it.to_logit().close().predict_proba(missing)",
    ],
}
"""Doors by which a classifier is asked on every table."""
TWICE = {
    "skops": ["in_skops(it, missing)"],
    "told": [
        *(
            "feature_report(it, X, y, w)",
            "arc_report(it)",
            "it.drift(X[:30], y[:30])",
            "as_page(report, it, X, y, w)",
        ),
        *("as_page(panel, it)", "shown(it)", "shown(it.explain(X[:3]))", "shown(it.explain(X[:1])[0])"),
        *("shown(it.explain_local(X[:2]))", "shown(it.sufficient_reasons(X[:2]))", "shown(it.structure_)"),
        *("shown(it.to_logit())", "shown(it.to_logit().shapes())", "it.explain(X[:2], intervals=True).to_frame()"),
    ],
    "more exports": [
        *("as_file(it, 'bif', X)", "in_onnx(it, double=False)"),
        *("to_arviz(it)", "to_numpyro(it)", "to_pymc(it)", "posterior(it, ['size'], missing[:4])"),
        *("most_probable_explanations(it, missing[:4])", "class_posterior(it, 'risk', known)"),
        "d_separated(it, 'age', 'size', ['risk'])",
    ],
}
"""Doors that take longer: on the first and on the last table."""
ONCE = {
    "figures": [
        *(f"drawn({name}Display.from_estimator(it))" for name in ("ArcProbability", "Network", "Pool", "SampleSize")),
        *("drawn(WaterfallDisplay.from_estimator(it, X))", "drawn(InformationDisplay.from_estimator(it, X, y))"),
        *("drawn(ShapeDisplay.from_estimator(it, 'age'))", "drawn(ReliabilityDisplay.from_estimator(it, X, y))"),
    ],
}
"""Doors that take longest: on the first table."""
HELPED = "fit( it.merge( it.partial_fit( it.save( it.without_rows("
ASKED = f"it.{HELPED} {' '.join(itertools.chain(*ALWAYS.values(), *TWICE.values(), *ONCE.values()))}"
"""What is asked, by functions of this file or by expressions."""
INNER = (
    "averaging can_complete check_parameters draw_structures from_network origin progress score_of set_model"
    " set_params set_pool set_refitted"
)
INNER += " model_type"
"""Public methods that other modules call, not users."""


def asked(make: Callable[[], Any], table: str) -> dict[str, Any]:
    """Fit a classifier, and return what it says at every door."""
    given = data(table)
    it = make()
    found = {"fit": attempt(lambda: it.fit(given["X"], given["y"], given["w"]))}
    if not hasattr(it, "classes_"):
        return found
    found["attributes"] = evaluated(attributes_of(it), it=it, **given)
    doors = (TWICE if table in (WAYS[0], WAYS[-1]) else {}) | ALWAYS | (ONCE if table == WAYS[0] else {})
    found |= {door: evaluated(expressions, it=it, **given) for door, expressions in doors.items()}
    own = [name for name in dir(type(it)) if not name.startswith("_") and callable(getattr(type(it), name, None))]
    ours = [name for name in own if str(getattr(type(it), name).__module__).startswith("anbexact")]
    return found | {"not asked": [name for name in ours if f"it.{name}(" not in ASKED and name not in INNER.split()]}


def kind_cases(kind: str) -> Iterator[Case]:
    """Yield the classifiers of a kind on all tables, or on those where cells are missing."""
    ways = [table for table in WAYS if kind != "completed" or "gaps" in table]
    for table, (name, make) in itertools.product(ways, KINDS[kind]()):
        yield f"{name}/{table}", partial(asked, make, table)


def lazy_cases() -> Iterator[Case]:
    """Yield classifiers that learn from a lazy frame."""
    for table, (name, make) in itertools.product(WAYS, plain_ones()):
        yield f"{name}/{table}", partial(lazily, make, table)


def lazily(make: Callable[[], Any], table: str) -> dict[str, Any]:
    """Fit a classifier to a lazy frame; return what it has learned and predicts."""
    polars, given = import_module("polars"), data(table)
    named = {"risk": given["y"], **({} if given["w"] is None else {"weight": given["w"]})}
    frame = polars.from_pandas(given["X"].assign(**named)).lazy()
    it = make().fit(frame, "risk", sample_weight=None if given["w"] is None else "weight")
    found = {"structure": getattr(it, "structure_", None), "vocabulary": it.vocabulary_, "cuts": it.cut_points_}
    return found | {"rows": it.predict_proba(given["X"]), "lazy": list(it.predict_frame(frame, proba=True))}


def conformal_cases() -> Iterator[Case]:
    """Yield sets of classes by every classifier, and by the optimal network relearned with every class."""
    sets = "it.fit(X, y).predict_set(missing, confidence=0.8)"
    for name, make in plain_ones():
        yield name, partial(in_sets, anbexact.conformal.SplitConformalClassifier, make, sets, "mixed_gaps")
    optimal = partial(entry_of, "ANBClassifier", ess=1.0, discretizer="equal_frequency")
    for text in (sets.replace("missing", "X[::9]"), f"shown({sets.replace('missing', 'X[::9]')})"):
        yield text, partial(in_sets, anbexact.conformal.FullConformalClassifier, optimal, text, "mixed")


def in_sets(of: Callable[..., Any], make: Callable[[], Any], text: str, table: str) -> Any:
    """Return what an expression gives for sets of classes."""
    return value_of(text, it=of(make(), random_state=0), **data(table))


def text_of(html: str) -> list[str]:
    """Return a page by lines, one for each element with a text; scripts, styles and data as their checksums."""
    html = re.sub(
        r"(?s)(<(script|style)\b[^>]*>)(.*?)</\2>", lambda part: f"{part[1]}{digest_of(part[3].encode())}", html
    )
    return re.sub(r"(</(?:p|li|tr|h\d|td|th|text|section|summary)>)\s*", r"\1\n", html).splitlines()


def shown(thing: Any) -> list[str]:
    """Return what a notebook shows; scikit-learn's own part, which comes first, is left out."""
    html = thing._repr_html_()
    return text_of(html[max(html.find('<div class="anbexact'), 0) :])


def as_page(of: Callable[..., Any], it: Any, *rows: Any) -> Any:
    """Return a report in its three forms, without validation; or an evidence panel."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "page.html")
        if not rows:
            of(it, place)
            return text_of(place.read_text(encoding="utf-8"))
        X, y, w = rows
        made = of(it, X, y, sample_weight=w, folds=None)
        return {"html": text_of(made.to_html()), "text": made.to_markdown().splitlines(), "json": made.to_dict()}


def merged(it: Any, X: Any, y: Any, w: Any) -> dict[str, Any]:
    """Learn from the same rows three times, as two workers would; return the sum."""
    worker = copy.deepcopy(it).without_rows()
    other = copy.deepcopy(worker)
    for one in (worker, other):
        one.partial_fit(X, y, sample_weight=w)
    again = copy.deepcopy(it).merge(worker, other)
    return {"structure": getattr(again, "structure_", None), "posterior": again.predict_proba(X)}


def copied(it: Any, X: Any) -> list[bool]:
    """Return whether a pickled classifier predicts the same, and whether its unfitted clone is the same."""
    again = pickle.loads(pickle.dumps(it))
    return [again.predict_proba(X).tobytes() == it.predict_proba(X).tobytes(), repr(clone(it)) == repr(it)]


def in_skops(it: Any, rows: Any) -> bool:
    """Return whether a classifier is the same after a file of skops."""
    skops = import_module("skops.io")
    again = skops.loads(skops.dumps(it), trusted=adapters.skops_types())
    return bool(again.predict_proba(rows).tobytes() == it.predict_proba(rows).tobytes())


def in_onnx(it: Any, **options: Any) -> dict[str, Any]:
    """Return the names, the operations and the content of an ONNX graph."""
    model = adapters.to_onnx(it, **options)
    places = [masked(str(value)).splitlines() for value in (*model.graph.input, *model.graph.output)]
    operations = [node.op_type for node in model.graph.node]
    return {"places": places, "operations": operations, "content": model.SerializeToString(deterministic=True)}


def as_python(it: Any) -> list[str]:
    """Return the module that scores rows without this package."""
    with tempfile.TemporaryDirectory() as folder:
        adapters.to_python(it, Path(folder, "scorer.py"))
        return Path(folder, "scorer.py").read_text(encoding="utf-8").splitlines()


def as_pmml(it: Any) -> dict[str, Any]:
    """Return the two forms of PMML."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pmml")

        def form(as_network: bool) -> list[str]:
            adapters.to_pmml(it, path, as_network=as_network)
            return path.read_text(encoding="utf-8").splitlines()

        return {str(kind): attempt(partial(form, kind)) for kind in (False, True)}


def tables_of(network: Any) -> list[Any]:
    """Return the tables of a network of pgmpy."""
    return [[table.variables, table.state_names, table.get_values()] for table in network.get_cpds()]


def drawn(display: Any) -> dict[str, Any]:
    """Return what a figure shows: its texts, and the data of its lines, bars and points."""
    pyplot = import_module("matplotlib.pyplot")
    try:
        axes = display.figure_.axes
        texts = [[text.get_text() for text in one.findobj(import_module("matplotlib.text").Text)] for one in axes]
        lines = [[line.get_xydata() for line in one.lines] for one in axes]
        return {"texts": texts, "lines": lines, "patches": [[repr(patch) for patch in one.patches] for one in axes]}
    finally:
        pyplot.close("all")


# ---- searches, scores, selection, cut points, reports

SCORES = [f"{name}()" for name in ("AIC", "BIC", "HQ", "K2", "KT", "LL", "MIT", "QNML", "BDs", "ACLL", "FNML")]
SCORES += ["BDeu(5.0)", "Universal()", "CLL()", "CMDL()"]
SEARCHES = ["anb({})", "gbn({})", "tan({})", "fan({})", "ckg({})", "kdb({})", "naive_bayes({})", "greedy_gbn({})"]
SEARCHES += ["anb({}, max_parents=1)", "anb({}, memory_limit=1e9, n_jobs=2)", "gbn({}, max_parents=2)"]
SEARCHES += ["ckg({}, k=3)", "kdb({}, k=1)", "greedy_gbn({}, tabu=3, restarts=2, random_state=1)"]
WITH_SCORES = [one.format(f"rows, {score}") for one in SEARCHES for score in ("None", *SCORES)]
EDGES = ARCS.replace("_edges", "")
WITH_ARCS = [f"{one}(rows, {EDGES})" for one in ("anb", "gbn", "tan", "fan", "ckg", "greedy_gbn")]
TESTS = ["G2Test()", "G2Test(0.3, 2.0)", "BayesFactorTest()", "UniversalTest()"]
LOCAL = [f"{name}({test})" for name in ("HITONPC", "MMPC", "PCMB") for test in TESTS]
LOCAL += [f"{name}({score})" for name in ("SLL", "S2TMB") for score in ("BDeu(2.0)", "BIC()")]
CUT = "find_cut_points({}, np.asarray(X), np.unique(y, return_inverse=True)[1], np.ones(len(y)))"
SELECTORS = ["BayesFactorSelector()", "BayesFactorSelector(threshold=0.01, ess=4)"]
TRANSFORMERS = ["MDLPDiscretizer()", "MODLDiscretizer()", "MODLDiscretizer(max_bins=4, coarse=True)"]
LEARNED = "learned({}.fit(X, y, sample_weight=w), X)"
REPORTED = ["ANBClassifier(ess=1.0)", "TANClassifier()", "GBNClassifier(ess=2.0)", "FSANBClassifier()"]
COMPARED = [["NB", "TAN", "ANB"], ["AODE", "C2G", "kDB"], ["CategoricalNB"], ["GBN", "BNC2P", "gGBN"]]
OF_NUMBERS = ["logistic regression", "GaussianNB", "KDE-NB", "TAN universal"]
EXPRESSIONS: dict[str, list[tuple[str, list[str]]]] = {  # of groups: tables, expressions
    "searches": [
        ("lenses monks made", [f"searched(learn_{one}, rows)" for one in WITH_SCORES]),
        ("anes", [f"searched(learn_{one}, rows)" for one in WITH_ARCS]),
    ],
    "scores": [
        ("lenses monks made anes", [f"family_scores({score}, rows)" for score in SCORES]),
        ("iris", ["[acll_constants(n, prior) for n in (2, 5) for prior in ('uniform', ('dirichlet', 1.0, 2.0))]"]),
        ("iris", ["log_regret([1, 2.5, 10, 1000], [2, 3, 4, 50])"]),
        ("iris made gaps", ["UniversalMeasure().read(X, y, sample_weight=w)"]),
        ("iris made", ["learn_gbn(*UniversalMeasure(levels=3).read(X, y, sample_weight=w), n_jobs=1)"]),
    ],
    "selection": [
        ("monks lenses made", [f"[{one}.parents_children(rows, v) for v in rows.vocabulary.names]" for one in LOCAL]),
        ("monks made anes", ["rows", "log_bayes_factors(rows, ess=1.5, n_jobs=1)"]),
        ("monks anes", ["[log_bayes_factor(rows, label, v, list(known)) for v in rows.vocabulary.features[3:]]"]),
        ("iris array made gaps", [LEARNED.format(one) for one in SELECTORS]),
    ],
    "cut_points": [
        ("iris array", [CUT.format(rule) for rule in CUTS]),
        ("iris array", [f"list(map(interval_names, {CUT.format(rule)}))" for rule in CUTS]),
        ("iris array", [LEARNED.format(one) for one in (*TRANSFORMERS, "MedianDiscretizer()")]),
        ("made", ["learned(MODLGrouper().fit(X[['town', 'size', 'grade']], y), X[['town', 'size', 'grade']])"]),
    ],
    "reports": [
        ("monks lenses made gaps", [f"feature_report({it}.fit(X, y, w), X, y, w)" for it in REPORTED]),
        ("iris", ["feature_report(TANClassifier(continuous='universal').fit(X, y), X, y)"]),
        ("iris monks gaps", [f"compare(X, y, sample_weight=w, folds=2, models={names})" for names in COMPARED]),
        ("iris", [f"compare(X, y, folds=2, models={OF_NUMBERS})", "list(map(load_dataset, dataset_names()))"]),
        ("mixed", [f"validated({it}.fit(X, y, w), X, y, w)" for it in REPORTED]),
        ("monks", ["shown(compare(X, y, sample_weight=w, folds=2, models=['NB', 'AODE']))"]),
        ("mixed", ["drawn(ComparisonDisplay.from_frame(compare(X, y, folds=2, models=['NB', 'TAN'])))"]),
    ],
    "comparisons": [
        ("mixed_gaps_weighted", ["compare(X, y, sample_weight=w, folds=2, n_jobs=1)"]),
        ("mixed", ["compare(X, y, folds=2, models=[*compared_lines()], refit=False, n_jobs=1)"]),
    ],
    "averages": [
        ("lenses monks made", [f"structure_posterior(rows, networks={kind!r}, n_jobs=1)" for kind in ("tan", "fan")]),
        ("lenses monks", ["structure_posterior(rows, n_jobs=1)", "near_optimal(rows, n_jobs=1)"]),
        ("lenses monks", ["relearned_leave_one_out(rows, n_jobs=1)"]),
        (
            "lenses",
            [f"shown({one}(rows))" for one in ("structure_posterior", "near_optimal", "relearned_leave_one_out")],
        ),
        ("lenses", ["drawn(ArcProbabilityDisplay.from_posterior(structure_posterior(rows)))"]),
    ],
}


def validated(it: Any, X: Any, y: Any, w: Any) -> dict[str, Any]:
    """Return the sections of a report with all sections, apart from those that `as_page` has."""
    costs = {a: {b: 1 + (a < b) if a != b else 0 for b in it.classes_} for a in it.classes_}
    made = anbexact.report.report(
        it, X, y, sample_weight=w, models=["NB"], folds=2, stability=True, costs=costs, reject=0.7
    )
    return {"text": made.to_markdown().splitlines(), "json": made.to_dict(), "html": text_of(made.to_html())}


def searched(structure: Any, rows: Any) -> dict[str, Any]:
    """Return a structure, and whether its certificate holds, which it must not for a better score."""
    better = dataclasses.replace(structure, score=structure.score + 1.0)
    proved = structure.certificate.proof is not None
    return {"structure": structure, "verified": [anbexact.verify(one, rows) for one in (structure, better) if proved]}


def family_scores(score: Any, rows: Any) -> dict[str, Any]:
    """Return the scores of random families, with the class among the parents and without, or of naive Bayes."""
    names, label, rng = rows.vocabulary.names, rows.vocabulary.class_name, np.random.default_rng(11)
    bayes = {label: ()} | dict.fromkeys(rows.vocabulary.features, (label,))
    texts = ["score.structure_score(rows, bayes)"] if hasattr(score, "structure_score") else []
    for size in (0, 1, 1, 2, 2, 3, 3):
        child, *parents = (names[k] for k in rng.permutation(len(names) - 1)[: size + 1])
        texts += [f"score.local_score(rows, {child!r}, {of})" for of in (parents, [*parents, label])]
        texts += [f"score.set_score(rows, {[child, *parents]})"] if hasattr(score, "set_score") else []
    return evaluated(texts, score=score, rows=rows, bayes=bayes)


def learned(transformer: Any, X: Any) -> dict[str, Any]:
    """Return what a transformer has learned, and what it makes of rows."""
    own = {name: value for name, value in vars(transformer).items() if re.fullmatch(r"[a-z]\w*_", name)}
    return own | {"names": transformer.get_feature_names_out(), "rows": np.asarray(transformer.transform(X))}


# ---- the command line, and what is public

COMMANDS = """
fit t.csv --class vote -o m.json
fit t.csv --class vote -o r.json --json --model tan --refit
fit t.csv --class vote --model fsanb --missing own_state --ess 1,2 --threshold 3 --drop popul
fit t.csv --class vote --model ckg --k 1 --continuous universal --weights TVnews
fit t.csv --class vote --required selfLR->PID --max-parents 1 --score bic --discretizer median
fit t.csv --class nothing
predict m.json t.csv --proba --id age
predict m.json t.csv --explain
predict r.json t.csv --proba --keep
convert m.json m.bif
convert m.bif n.json
convert r.json r.xdsl
predict n.json t.csv
predict r.xdsl t.csv
compare t.csv --class vote --models NB,TAN --folds 2
compare t.csv --class vote --models ANB,AODE --folds 2 --json --no-refit
compare --dataset lenses --models NB --folds 2
"""


OF_EACH = """
fit mixed.csv --class risk --model NAME -o NAME.json
predict NAME.json mixed.csv --proba
predict NAME.json mixed.csv --explain
report NAME.json mixed.csv --no-validation --json
convert NAME.json NAME.xdsl
"""
"""Commands for every classifier that the command line offers."""


def command_cases() -> Iterator[Case]:
    """Yield commands on a small file, in a folder of their own, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        data("gaps")["X"].assign(vote=data("gaps")["y"])[::2].to_csv(Path(folder, "t.csv"), index=False)
        data("mixed_gaps")["X"].assign(risk=data("mixed_gaps")["y"]).to_csv(Path(folder, "mixed.csv"), index=False)
        of_each = [
            line.replace("NAME", name) for name in named_classifiers() for line in OF_EACH.strip().splitlines()
        ]
        for line in (*COMMANDS.strip().splitlines(), *of_each):
            yield line, partial(commanded, line.split(), folder)


def commanded(arguments: list[str], folder: str) -> dict[str, Any]:
    """Run a command; return its exit code and what it prints, without times."""
    threads = ["--threads", "1"] if arguments[0] in ("fit", "compare") else []
    out, notes = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(notes):
        code = command_line(arguments + threads)
    text = re.sub(r'("\w*seconds": )[\d.e-]+', r"\1...", out.getvalue())
    text = re.sub(r"(?m)^(.*\d ± \d.*\S) +\S+$", r"\1 ...", text)  # the last column of a comparison
    lines = [re.sub(r"(?<=\S) {2,}", "  ", line) for line in text.splitlines()]
    return {"code": code, "output": lines, "notes": notes.getvalue().splitlines()}


def interface_cases() -> Iterator[Case]:
    """Yield what the record was made with, and everything public."""
    packages = ["numpy", "scipy", "numba", "pandas", "scikit-learn", "statsmodels", "pgmpy", "narwhals", "networkx"]
    yield "environment", lambda: [platform.machine(), platform.python_version(), *map(version, packages)]
    for module in MODULES:
        yield module.__name__, partial(sorted, module.__all__)
        yield from ((f"{module.__name__}/{own}", partial(interface, getattr(module, own))) for own in module.__all__)


def signature(of: Any) -> str:
    """Return a signature without quotes and modules."""
    return re.sub(r"(?<![\w.])(?:[A-Za-z_]\w*\.)+(?=\w)", "", masked(str(inspect.signature(of)))).replace("'", "")


def interface(of: Any) -> Any:
    """Return the signature of a function, or of a class with its public members, and an estimator's defaults."""
    if not isinstance(of, type):
        return signature(of) if callable(of) else of
    bases = [base.__name__ for base in of.__mro__ if NAMES.get(base.__name__) is base]
    found = {"call": attempt(lambda: signature(of)), "public bases": bases}
    for name in (name for name in dir(of) if not name.startswith("_")):
        member = inspect.getattr_static(of, name)
        if isinstance(member, property):
            found[name] = "property"
        elif str(getattr(getattr(of, name), "__module__", "")).startswith("anbexact"):
            found[name] = attempt(lambda name=name: signature(getattr(of, name)))
    if issubclass(of, BaseEstimator) and not inspect.isabstract(of):
        it = of({"class": ()}) if of is classifiers.FixedStructureClassifier else of()
        found["defaults"] = [it.get_params(), repr(it), repr(clone(it)), repr(copy.deepcopy(it))]
    return found


# ---- the record


def cases_on_tables(kind: Callable[..., Any], several: list[tuple[str, str, list[str]]]) -> Iterator[Case]:
    """Yield classifiers with arguments on tables."""
    for names, tables, arguments in several:
        for name, table, own in itertools.product(names.split(), tables.split(), arguments):
            yield f"{name}Classifier/{table}/{own or 'defaults'}", partial(kind, name, table, own)


def expression_cases(several: list[tuple[str, list[str]]]) -> Iterator[Case]:
    """Yield expressions on tables."""
    for tables, expressions in several:
        for table, text in itertools.product(tables.split(), expressions):
            yield f"{table}/{text}", partial(value_of, text, **data(table))


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "interface": interface_cases,
    "fits": partial(cases_on_tables, fitted, FITS),
    "conversions": partial(cases_on_tables, converted, CONVERTED),
    **{group: partial(expression_cases, several) for group, several in EXPRESSIONS.items()},
    "commands": command_cases,
    **{kind: partial(kind_cases, kind) for kind in KINDS},
    "lazy": lazy_cases,
    "conformal": conformal_cases,
}


def recorded(group: str) -> dict[str, Any]:
    """Compute all cases of a group, while the clocks stand still: nothing takes any time."""
    began = time.perf_counter()
    with threadpool_limits(1), patch.multiple(time, perf_counter=float, process_time=float):
        found = {name: attempt(work) for name, work in GROUPS[group]()}
    print(f"{group}: {len(found)} cases computed in {time.perf_counter() - began:.1f} s", flush=True)
    return json.loads(json.dumps(found))


def differences(new: Any, old: Any, path: str) -> Iterator[str]:
    """Yield a line for every value that differs, with its path."""
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        new, old = dict(enumerate(new)), dict(enumerate(old))
    if isinstance(new, dict) and isinstance(old, dict):
        for key in {**old, **new}:
            yield from differences(new.get(key, "(nothing)"), old.get(key, "(nothing)"), f"{path} > {key}")
    elif new != old or type(new) is not type(old):
        yield f"{path}: {json.dumps(new)[:90]} instead of {json.dumps(old)[:90]}"


def compared(group: str, old: Mapping[str, Any]) -> int:
    """Compute a group again, print how it differs from its record, and return in how many cases."""
    new = recorded(group)
    found = {name: list(differences(new.get(name), old.get(name), name)) for name in {**old, **new}}
    of_cases = [sorted(lines, key=lambda line: line.endswith(NEW)) for lines in found.values() if lines]
    shown = [line for lines in of_cases for line in lines[:OF_A_CASE]]
    for line in sorted(shown, key=lambda line: line.endswith(NEW))[:MOST_LINES]:
        print(f"  {line}")
    values = list(itertools.chain.from_iterable(of_cases))
    added = sum(line.endswith(NEW) for line in values)
    counts = f"{len(of_cases)} differ, in {len(values)} values" + (f", {added} of them only new" if added else "")
    print(f"{group}: {len(found)} cases compared, {counts}", flush=True)
    return len(of_cases)


def main(arguments: Sequence[str]) -> int:
    """Record, or compare; return the exit code."""
    if len(arguments) < 2 or arguments[0] not in ("record", "compare") or not GROUPS.keys() >= set(arguments[2:]):
        print(f"usage: golden_record.py record|compare FOLDER [group ...]\ngroups: {', '.join(GROUPS)}")
        return 2
    paths = {group: Path(arguments[1], f"{group}.json.gz") for group in arguments[2:] or GROUPS}
    if arguments[0] == "compare":
        return min(
            1, sum(compared(group, json.loads(gzip.decompress(path.read_bytes()))) for group, path in paths.items())
        )
    Path(arguments[1]).mkdir(parents=True, exist_ok=True)
    for group, path in paths.items():
        path.write_bytes(gzip.compress(json.dumps(recorded(group), indent=1, sort_keys=True).encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
