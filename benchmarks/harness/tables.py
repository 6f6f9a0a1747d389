"""Tables for the benchmarks: from ``../shared/data`` where that folder is present, else generated alike."""

from __future__ import annotations

import gzip
import warnings
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import pandas as pd

from benchmarks.harness.places import DATA, REFERENCE, RESULTS

SAMPLES = RESULTS / "samples"
"""Where samples from networks are kept."""
SAMPLE_ROWS = 5_000
SHAPES = {
    "spect": (22, 267, 2, 2),
    "mushroom": (21, 5644, 5, 2),
    "waveform21": (21, 5000, 2, 3),
    "letter": (16, 20000, 16, 26),
    "nursery": (8, 12960, 4, 5),
    "vehicle-like": (18, 850, 2, 4),
    "kr-vs-kp": (36, 3196, 2, 2),
    "soybean": (35, 562, 3, 15),
    "dermatology": (34, 358, 4, 6),
    "ionosphere": (33, 351, 2, 2),
    "insurance": (26, 5000, 3, 3),
    "water": (31, 5000, 4, 3),
    "alarm": (36, 5000, 3, 3),
    "hailfinder": (55, 5000, 4, 3),
    "hepar2": (69, 5000, 2, 2),
    "win95pts": (75, 5000, 2, 2),
}
"""Features, rows, states and classes of the stand-ins."""
ABSENT = "generated (shared/data is absent)"
"""Source of a stand-in."""
MADE_STATES, MADE_NUMBERS = "made, states", "made, numbers"
"""Tables of smoke runs: 60 rows of three features, two classes."""
MAGIC = 19_020, 10
"""Rows and columns of magic."""
Table: TypeAlias = tuple[pd.DataFrame, pd.Series]
Loaded: TypeAlias = tuple[pd.DataFrame, pd.Series, str]
"""Features, class, and where they come from."""


class NeedsData(SystemExit):
    """A benchmark cannot run, since data are absent; the message says which."""


def manifest() -> pd.DataFrame:
    """Return the list of tables, smallest first by features, then rows.

    Raises
    ------
    NeedsData
        If ``../shared/data`` is absent.
    """
    path = DATA / "manifest.csv"
    if not path.exists():
        raise NeedsData(f"this benchmark reads the UCI tables, and {path} is absent")
    return pd.read_csv(path, keep_default_na=False).sort_values(["features", "rows"]).reset_index(drop=True)


def published(name: str) -> pd.DataFrame:
    """Return a published table.

    Raises
    ------
    NeedsData
        If ``../shared/reference`` is absent.
    """
    path = REFERENCE / name
    if not path.exists():
        raise NeedsData(f"the papers' figures are read from {path}, which is absent")
    return pd.read_csv(path, comment="#")


def made_manifest() -> pd.DataFrame:
    """Return the list of tables of smoke runs."""
    return pd.DataFrame(
        {"name": [MADE_STATES, MADE_NUMBERS], "rows": 60, "features": 3, "classes": 2, "continuous": ["", "f0 f1 f2"]}
    )


def read(name: str) -> Table:
    """Return the features as they are, text as text, and the class as text."""
    if name in (MADE_STATES, MADE_NUMBERS):
        X, y = generated(3, 60, 2, 2)
        noise = np.random.default_rng(0).normal(size=X.shape)
        return (X.astype(float) + noise if name == MADE_NUMBERS else X), y
    X = pd.read_csv(DATA / f"{name}.csv.gz")
    return X, X.pop("class").astype(str)


def tiny() -> Loaded:
    """Return the table of smoke runs, as :func:`load` does."""
    X, y = read(MADE_STATES)
    return X.astype("category"), y, "made"


def generated(n: int, rows: int, states: int, classes: int) -> Table:
    """Return a table whose features depend on the class and on each other in a chain."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    columns = {}
    last = y
    for i in range(n):
        noise = rng.integers(0, states, rows)
        last = np.where(rng.random(rows) < 0.55, (last + y * (i % 3)) % states, noise)
        columns[f"f{i}"] = last.astype(str)
    return pd.DataFrame(columns), pd.Series(y.astype(str), name="class")


def load(name: str, *, cut: bool = False) -> Loaded:
    """Return features (categorical dtype), class and where they come from; ``cut`` halves continuous ones."""
    if (DATA / f"{name}.csv.gz").exists():
        X, y = read(name)
        source = "shared/data"
        for column in X:
            if cut and pd.api.types.is_numeric_dtype(X[column]) and X[column].nunique() > 10:
                X[column] = X[column] > X[column].median()
    else:
        X, y = generated(*SHAPES[name])
        source = "generated" if name.endswith("-like") else ABSENT
    return X.astype("category"), y, source


def measurements() -> Loaded:
    """Return magic, a table of continuous columns, or one of its size that is drawn."""
    if (DATA / "magic.csv.gz").exists():
        return *read("magic"), "shared/data"
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, MAGIC[0])
    X = pd.DataFrame(rng.gamma(2 + y[:, None], 10, MAGIC)).add_prefix("x")
    return X, pd.Series(y.astype(str), name="class"), ABSENT


def sampled(name: str, n_rows: int, n_features: int | None = None) -> Loaded:
    """Return rows sampled from a benchmark network (one seed; fewer rows are the first of many), its first features.

    The class is the variable with the most children. All states are declared, whether a row shows them or not.
    """
    path = SAMPLES / f"{name}.npz"
    if not (path.exists() or (DATA / "networks" / f"{name}.bif.gz").exists()):
        X, y = generated(*SHAPES[name])
        return X.iloc[:n_rows, :n_features].astype("category"), y[:n_rows], ABSENT
    if not path.exists():
        SAMPLES.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **_sample(network(name)))
    kept = np.load(path)
    codes, class_node = kept["codes"][:n_rows], int(kept["of_class"])
    columns = {
        str(variable): pd.Categorical.from_codes(codes[:, j], [f"s{k}" for k in range(arity)])
        for j, (variable, arity) in enumerate(zip(kept["names"], kept["arities"], strict=True))
    }
    y = pd.Series(columns.pop(str(kept["names"][class_node])), name="class")
    return pd.DataFrame(columns).iloc[:, :n_features], y, "sampled"


def network(name: str) -> Any:
    """Return a network of ``../shared/data/networks``, of pgmpy.

    Raises
    ------
    NeedsData
        If that folder is absent.
    """
    from pgmpy.readwrite import BIFReader

    path = DATA / "networks" / f"{name.lower()}.bif.gz"
    if not path.exists():
        raise NeedsData(f"this benchmark samples from networks, and {path} is absent")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BIFReader(string=gzip.decompress(path.read_bytes()).decode()).get_model()


def _sample(network: Any) -> dict[str, Any]:
    """Sample rows forward, parents first: codes, names, numbers of states, and the position of the class."""
    names = list(network.nodes)
    graph = nx.DiGraph(network.edges)
    graph.add_nodes_from(names)
    rng = np.random.default_rng(0)
    codes: dict[str, np.ndarray] = {}
    arities = {}
    for variable in nx.lexicographical_topological_sort(graph):
        conditional = network.get_cpds(variable)
        values = np.asarray(conditional.values)  # axes: the variable, then its parents, in the order of variables
        arities[variable] = len(values)
        of_rows = values[(slice(None), *(codes[parent] for parent in conditional.variables[1:]))]
        of_rows = np.broadcast_to(of_rows.reshape(len(values), -1), (len(values), SAMPLE_ROWS))
        above = rng.random(SAMPLE_ROWS) * of_rows.sum(axis=0) >= of_rows.cumsum(axis=0)
        codes[variable] = np.minimum(above.sum(axis=0), len(values) - 1)
    most = max(graph.out_degree(variable) for variable in names)
    class_node = next(j for j, variable in enumerate(names) if graph.out_degree(variable) == most)
    return {
        "codes": np.stack([codes[variable] for variable in names], axis=1).astype(np.int16),
        "names": np.array(names),
        "arities": np.array([arities[variable] for variable in names]),
        "of_class": class_node,
    }
