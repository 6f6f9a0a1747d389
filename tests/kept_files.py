"""Files of every kind of model, kept for each version of the package: all later versions are tested on them.

    python tests/kept_files.py    # writes tests/files/kept/VERSION.tar.xz, of the version at hand (make keep-files)

An archive contains, for every name in ``KINDS``, what the version saved (``NAME.json``, or a network file and the
file of its names), and ``NAME.expected.json`` with what is expected of the model that is read from it: its class, its
structure, some rows, and its answer for each of them as hexadecimal floats. Run this once for every release, before
the version becomes public. An archive of a version that was released is never written again.
"""

from __future__ import annotations

import io
import json
import platform
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import anbexact
from anbexact import DiscreteTable, UniversalMeasure, fit_network, learn_gbn, learn_tan, load_network, save_network
from anbexact.adapters import from_file, from_pgmpy, to_file
from anbexact.classifiers import (
    AdditiveClassifier,
    ANBClassifier,
    AODEClassifier,
    AveragedANBClassifier,
    AveragedTANClassifier,
    FixedStructureClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.discretize import MODLDiscretizer
from anbexact.scores import ACLL, BDe, BDs

FOLDER = Path(__file__).parent / "files" / "kept"
CHAIN = {"risk": [], "age": ["risk"], "kind": ["risk"], "visits": ["risk", "kind"]}
NETWORK_FILES = (".bif", ".xmlbif", ".xdsl")


def rows() -> tuple[pd.DataFrame, pd.Series]:
    """Return a measured column, a column of text and one of small counts, and three classes."""
    rng, n = np.random.default_rng(23), 45
    level = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": (rng.normal(size=n) + level).round(1),
            "kind": np.array(["a", "b", "c"])[(level + (rng.random(n) < 0.3)) % 3],
            "visits": np.minimum(rng.poisson(0.5 + level), 3),
        }
    )
    return X, pd.Series(np.array(["low", "mid", "high"])[level], name="risk")


def holed() -> tuple[pd.DataFrame, pd.Series]:
    """Return rows some of whose cells are missing."""
    X, y = rows()
    return X.assign(kind=X["kind"].mask(np.arange(len(X)) % 4 == 0), age=X["age"].mask(np.arange(len(X)) == 7)), y


def odd() -> tuple[pd.DataFrame, pd.Series]:
    """Return dates, many categories, booleans, and a column with a single value; the classes are numbers."""
    X, y = rows()
    n = np.arange(len(X))
    columns = {
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(n * 7 % 40 + 10 * X["visits"], unit="D"),
        "town": [f"town {k:02}" for k in (n * 5 + X["visits"]) % 13],
        "flag": X["visits"] > 1,
        "only": 1.5,
    }
    return pd.DataFrame(columns), (y == "low").astype(int)


def nameless() -> tuple[np.ndarray, np.ndarray]:
    """Return arrays."""
    X, y = rows()
    return X[["age", "visits"]].to_numpy(), (y == "low").to_numpy()


def fitted(
    estimator: Callable[[], Any], table: Callable[[], tuple[Any, Any]] = rows, *, weighted: bool = False
) -> Callable[[], Any]:
    """Return what makes a fitted classifier."""

    def make() -> Any:
        X, y = table()
        weights = np.random.default_rng(3).gamma(1.0, 1.0, len(X)).round(1) if weighted else None
        return estimator().fit(X, y, weights)

    return make


def table_of(X: pd.DataFrame) -> DiscreteTable:
    """Return the columns of text and of counts as a table without a class."""
    return DiscreteTable.from_frame(X[["kind", "visits"]].assign(old=X["age"] > 1))


def network() -> Any:
    """Return the best network of a table without a class."""
    table = table_of(rows()[0])
    return fit_network(table, learn_gbn(table))


def network_with_prior() -> Any:
    """Return a network whose score has a network as its prior."""
    table = table_of(rows()[0])
    score = BDe(fit_network(table, learn_tan(table)))
    return fit_network(table, learn_gbn(table, score), score)


def measured_network() -> Any:
    """Return a network of densities."""
    table, score = UniversalMeasure().read(rows()[0][["age", "visits"]].astype(float))
    return fit_network(table, learn_gbn(table, score), score)


WITH_ARGUMENTS = ("FixedStructureClassifier", "PooledClassifier")
"""Classifiers that are not made by their defaults."""
KINDS: Mapping[str, Callable[[], Any]] = {
    **{name: fitted(of.estimator) for name, of in sorted(CLASSIFIERS.items()) if name not in WITH_ARGUMENTS},
    "FixedStructureClassifier": fitted(lambda: FixedStructureClassifier(CHAIN)),
    "FixedStructureClassifier refitted": fitted(lambda: FixedStructureClassifier(CHAIN, l2=1.0)),
    "given tables": lambda: from_pgmpy(fitted(TANClassifier, odd)().network_, "risk"),
    "RefittedClassifier": fitted(lambda: RefittedClassifier(TANClassifier(ess=1.0), l2=1.0)),
    "RefittedClassifier without prior": fitted(lambda: RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2=0)),
    "RefittedClassifier of densities": fitted(
        lambda: RefittedClassifier(NaiveBayesClassifier(continuous="universal"), l2=1.0)
    ),
    "AdditiveClassifier": fitted(lambda: AdditiveClassifier(TANClassifier(ess=1.0), intervals=4, smooth=1.0)),
    "AdditiveClassifier with conditions": fitted(
        lambda: AdditiveClassifier(
            NaiveBayesClassifier(ess=1.0),
            intervals=4,
            smooth=1.0,
            ordered=["kind"],
            monotone={"age": {"high": 1}},
            convex={"visits": "low"},
            cyclic=["kind"],
            flat_beyond={"age": (-1.0, 2.5)},
        )
    ),
    "PooledClassifier of smooth shapes": fitted(
        lambda: PooledClassifier(
            [
                ("smooth", AdditiveClassifier(NaiveBayesClassifier(ess=1.0), intervals=4, smooth=1.0)),
                ("averaged", AveragedTANClassifier(ess=1.0)),
            ],
            ridge=1.0,
            folds=2,
        )
    ),
    "PooledClassifier": fitted(
        lambda: PooledClassifier(
            [
                ("aode", AODEClassifier()),
                ("refitted", RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2=1.0)),
                ("missing as a state", TANClassifier(ess=1.0, handle_missing="own_state")),
            ],
            ridge=1.0,
            folds=2,
        ),
        holed,
    ),
    "densities": fitted(lambda: TANClassifier(continuous="universal")),
    "expectation maximisation": fitted(lambda: TANClassifier(ess=1.0, handle_missing="em"), holed),
    "missing cells as a state": fitted(lambda: ANBClassifier(ess=1.0, handle_missing="own_state"), holed),
    "weights": fitted(lambda: KDBClassifier(ess=1.0, class_weight="balanced"), weighted=True),
    "columns of other types": fitted(lambda: NaiveBayesClassifier(ess=1.0, drop_identifiers=False), odd),
    "columns without names": fitted(lambda: NaiveBayesClassifier(ess=1.0, handle_unknown="error"), nameless),
    "hierarchical tables": fitted(lambda: KDBClassifier(ess=1.0, parameters="hierarchical")),
    "trees as tables": fitted(lambda: KDBClassifier(ess=1.0, parameters="tree")),
    "another score": fitted(lambda: ANBClassifier(structure_score=BDs(2.0), discretizer=MODLDiscretizer(max_bins=3))),
    "conditional score": fitted(lambda: TANClassifier(structure_score=ACLL(), parameters="acll")),
    "drawn structures": fitted(lambda: AveragedANBClassifier(ess=1.0, draws=3, random_state=0)),
    "network": network,
    "network with a prior network": network_with_prior,
    "network of densities": measured_network,
    **{f"file{extension}": fitted(lambda: ANBClassifier(ess=1.0), holed) for extension in NETWORK_FILES},
}
"""What makes a model of every kind, by name. Names that begin with "network" are of networks, the others of
classifiers; those that begin with "file" are written for other programs."""


def path_of(name: str, folder: Path) -> Path:
    """Return where the file of a kind is."""
    return folder / (name if name.startswith("file.") else f"{name}.json")


def write(name: str, model: Any, folder: Path) -> None:
    """Write the file, or the files, of a kind."""
    path = path_of(name, folder)
    if name.startswith("network"):
        save_network(model, path)
    elif name.startswith("file"):
        to_file(model, path)
    else:
        model.save(path)


def read(name: str, folder: Path) -> Any:
    """Read the model of a kind."""
    reader = load_network if name.startswith("network") else from_file if name.startswith("file") else anbexact.load
    return reader(path_of(name, folder))


def some_rows(model: Any) -> list[list[Any]]:
    """Return rows as JSON can hold them: values in and out of range, unknown values and missing cells."""
    drawn = {
        "age": [-1.3, 0.4, 1.1, 2.6, None, 99.0],
        "kind": ["a", "b", "c", "d", None, "a"],
        "visits": [0, 1, 2, 3, 0, None],
        "day": ["2024-01-01", "2024-01-20", "2024-02-09", "2031-01-01", None, "2024-03-01"],
        "town": ["town 00", "town 05", "town 12", "town 07", None, "elsewhere"],
        "flag": [True, False, True, False, None, True],
        "only": [1.5, 1.5, 2.5, 1.5, None, 1.5],
    }
    drawn |= {"x0": drawn["age"], "x1": drawn["visits"]}
    known = model.handle_unknown == "error" if hasattr(model, "handle_unknown") else False
    columns = [drawn[name] for name in model.vocabulary_.features]
    return [list(row) for row in zip(*columns, strict=True)][: 3 if known else None]


def answers(model: Any, given: list[list[Any]]) -> np.ndarray:
    """Return the log class posterior of rows, or log joint probabilities of a network without a class."""
    if hasattr(model, "log_joint") and not hasattr(model, "predict_proba"):
        arities = [model.vocabulary.arity(name) for name in model.vocabulary.names]
        codes = np.stack([np.arange(6) % arity for arity in arities]).astype(np.int16)
        return np.asarray(model.log_joint(codes)).reshape(6, -1)
    frame = pd.DataFrame(given, columns=list(model.vocabulary_.features))
    if "day" in frame:
        frame["day"] = pd.to_datetime(frame["day"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_log_proba(frame if hasattr(model, "feature_names_in_") else frame.to_numpy(dtype=float))


def structure_of(model: Any) -> list[Any] | None:
    """Return every variable with its parents, as text; None for a model without a structure."""
    found = getattr(model, "structure_", None) or getattr(model, "structure", None)
    parents = getattr(found, "parents", None)
    return None if parents is None else [[str(name), list(map(str, of_name))] for name, of_name in parents.items()]


def made_on() -> list[str]:
    """Return what the last bits of an answer may depend on."""
    from importlib.metadata import version

    import llvmlite.binding as llvm

    versions = [f"{package} {version(package)}" for package in ("numpy", "scipy", "numba")]
    return [platform.machine(), llvm.get_host_cpu_name(), platform.libc_ver()[1], *versions]


def expected_of(model: Any) -> dict[str, Any]:
    """Return what is expected of a model that is read again."""
    given = some_rows(model) if hasattr(model, "vocabulary_") else []
    classes = [str(label) for label in model.classes_] if hasattr(model, "classes_") else None
    return {
        "class": type(model).__name__,
        "classes": classes,
        "structure": structure_of(model),
        "rows": given,
        "answers": [[float(value).hex() for value in row] for row in answers(model, given)],
        "made_on": made_on(),
    }


def main() -> int:
    """Write the archive of this version."""
    path = FOLDER / f"{anbexact.__version__}.tar.xz"
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name_of_folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name_of_folder)
        for name, make in KINDS.items():
            model = make()
            write(name, model, folder)
            expected = expected_of(read(name, folder))
            (folder / f"{name}.expected.json").write_text(json.dumps(expected))
        with tarfile.open(path, "w:xz") as archive:
            for file in sorted(folder.iterdir()):
                described = tarfile.TarInfo(file.name)  # without an owner and a time, so that equal files are equal
                described.size = file.stat().st_size
                archive.addfile(described, io.BytesIO(file.read_bytes()))
    print(f"{path}: {len(KINDS)} models, {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
