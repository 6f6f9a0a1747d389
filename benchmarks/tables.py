"""Tables for the benchmarks: from ``../shared/data`` where that folder is present, else generated alike."""

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SAMPLES = Path(__file__).resolve().parent / "raw" / "samples"
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


def generated(n: int, rows: int, states: int, classes: int) -> tuple[pd.DataFrame, pd.Series]:
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


def load(name: str, *, cut: bool = False) -> tuple[pd.DataFrame, pd.Series, str]:
    """Return features (categorical dtype), class and where they come from; ``cut`` halves continuous ones."""
    path = DATA / f"{name}.csv.gz"
    if path.exists():
        X = pd.read_csv(path)
        y = X.pop("class").astype(str)
        source = "shared/data"
        for column in X:
            if cut and pd.api.types.is_numeric_dtype(X[column]) and X[column].nunique() > 10:
                X[column] = X[column] > X[column].median()
    else:
        X, y = generated(*SHAPES[name])
        source = "generated" if name.endswith("-like") else "generated (shared/data is absent)"
    return X.astype("category"), y, source


def sampled(name: str, n_rows: int, n_features: int | None = None) -> tuple[pd.DataFrame, pd.Series, str]:
    """Return rows sampled from a benchmark network (one seed; fewer rows are the first of many), its first features.

    The class is the variable with the most children. All states are declared, whether a row shows them or not.
    """
    source = "sampled"
    path = SAMPLES / f"{name}.npz"
    if not (path.exists() or (DATA / "networks" / f"{name}.bif.gz").exists()):
        X, y = generated(*SHAPES[name])
        return X.iloc[:n_rows, :n_features].astype("category"), y[:n_rows], "generated (shared/data is absent)"
    if not path.exists():
        SAMPLES.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **_sample(name))
    kept = np.load(path)
    codes, of_class = kept["codes"][:n_rows], int(kept["of_class"])
    columns = {
        str(variable): pd.Categorical.from_codes(codes[:, j], [f"s{k}" for k in range(arity)])
        for j, (variable, arity) in enumerate(zip(kept["names"], kept["arities"], strict=True))
    }
    y = pd.Series(columns.pop(str(kept["names"][of_class])), name="class")
    return pd.DataFrame(columns).iloc[:, :n_features], y, source


def _sample(name: str) -> dict[str, object]:
    """Sample rows forward, parents first: codes, names, numbers of states, and the position of the class."""
    import networkx as nx
    from pgmpy.readwrite import BIFReader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = gzip.decompress((DATA / "networks" / f"{name}.bif.gz").read_bytes()).decode()
        network = BIFReader(string=text).get_model()
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
    of_class = next(j for j, variable in enumerate(names) if graph.out_degree(variable) == most)
    return {
        "codes": np.stack([codes[variable] for variable in names], axis=1).astype(np.int16),
        "names": np.array(names),
        "arities": np.array([arities[variable] for variable in names]),
        "of_class": of_class,
    }


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median wall-clock time of a call."""
    times = []
    for _ in range(repeats):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return median(times)
