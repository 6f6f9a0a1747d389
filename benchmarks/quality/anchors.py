"""The pool on other people's splits: the folds of OpenML and the published results of TabZilla on 17 tables.

McElfresh et al. (*When do neural nets outperform boosted trees on tabular data?*, NeurIPS 2023) tune 19 kinds of
models on the ten folds that OpenML fixes for every table, with eight folds to train, one to tune on and one to test.
``../shared/anchors`` has the means of log loss and accuracy over the ten test folds for 35 rows of tuned and default
models. Here, :class:`~anbexact.PooledClassifier` with its defaults is fitted to eight folds, too: the test fold and
the next one are left out. It needs no fold to tune on, so that the ninth fold is not used at all.

OpenML draws folds by Weka's cross-validation from Java's generator with seed 0, and publishes the MD5 of the file
that lists them. Where rows are in the order of OpenML, as this MD5 proves, the test folds are the same rows; on the
other tables, folds are drawn by the same rule from rows in another order.

Target: a mean log loss below that of the best of the 35 models of every table, known afterwards; a mean rank of at
most 3 of 36. Takes half an hour; it is resumable. Writes ``docs/measurements/anchors.csv``, for every fold
``docs/measurements/anchors_folds.csv``, and the page ``docs/measurements/anchors.md``.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from anbexact import PooledClassifier
from benchmarks.harness.folds import judge
from benchmarks.harness.output import markdown, show, template, write_page
from benchmarks.harness.places import ANCHORS
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import DATA, NeedsData, read
from benchmarks.harness.timing import timed

FOLDS = 10
POOL = "pool"
CLEAR = 0.005
"""Difference of log loss from which a table counts as clearly won or lost."""
HEAD = """@relation {name}_splits

@attribute type {{TRAIN,TEST}}
@attribute rowid numeric
@attribute repeat numeric
@attribute fold numeric

@data
"""
"""The head of the file of folds whose MD5 OpenML publishes."""


class JavaRandom:
    """The generator ``java.util.Random``, as its documentation defines it (a linear congruential generator).

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def _next31(self) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self._state >> 17

    def below(self, bound: int) -> int:
        """Return a whole number from 0 to ``bound - 1``, as ``nextInt(bound)`` does."""
        if bound & (bound - 1) == 0:
            return (bound * self._next31()) >> 31
        while True:
            bits = self._next31()
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:
                return value


def openml_folds(classes: Sequence[str], folds: int = FOLDS) -> list[list[int]]:
    """Return the rows of every fold: Weka's shuffle and stratification, from seed 0, as OpenML draws them."""
    random, order, n = JavaRandom(0), list(range(len(classes))), len(classes)
    for j in range(n - 1, 0, -1):
        k = random.below(j + 1)
        order[j], order[k] = order[k], order[j]
    # Bring rows of a class together by swaps, in the order in which classes first occur.
    i = 1
    while i < n:
        label = classes[order[i - 1]]
        for j in range(i, n):
            if classes[order[j]] == label:
                order[i], order[j] = order[j], order[i]
                i += 1
        i += 1
    order = [row for start in range(folds) for row in order[start::folds]]
    ends = np.cumsum([n // folds + (fold < n % folds) for fold in range(folds)])
    return [order[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def md5_of(name: str, folds: Sequence[Sequence[int]]) -> str:
    """Return the MD5 of the file in which OpenML lists these folds for the data set of this name."""
    lines = []
    for fold, test in enumerate(folds):
        train = [row for other, rows in enumerate(folds) if other != fold for row in rows]
        lines += [f"TRAIN,{row},0,{fold}" for row in train] + [f"TEST,{row},0,{fold}" for row in test]
    text = HEAD.format(name=name) + "\n".join(lines)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def published() -> pd.DataFrame:
    """Return TabZilla's log loss and accuracy by table and model, with the name and task of OpenML.

    Raises
    ------
    NeedsData
        If ``../shared/anchors`` is absent.
    """
    path = ANCHORS / "tabzilla.csv"
    if not path.exists():
        raise NeedsData(f"TabZilla's results are read from {path}, which is absent")
    return pd.read_csv(path).rename(columns={"log_loss_mean10": "log_loss", "accuracy_mean10": "accuracy"})


def proved(table: str) -> bool:
    """Return whether OpenML publishes the MD5 of these folds for a task on the table."""
    known = set(pd.read_csv(ANCHORS / "openml_task_split_md5.csv")["md5_hash"])
    name = published().set_index("table").loc[[table], "dataset"].iloc[0]
    return md5_of(name, openml_folds(list(read(table)[1]))) in known


def one_fold(name: str, fold: int) -> list[Row]:
    """Return log loss, accuracy and time of the pool on a test fold; the next fold is left out, too."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    folds = openml_folds(list(y))
    test = folds[fold]
    train = [row for k, rows in enumerate(folds) if k not in (fold, (fold + 1) % FOLDS) for row in rows]
    model, _, took = timed(PooledClassifier(n_jobs=1).fit, X.iloc[train], y.iloc[train])
    return [{**judge(model.predict_proba(X.iloc[test]), list(model.classes_), y.iloc[test]), "seconds": took}]


def tasks(run: Run, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield table and fold, small tables first."""
    yield from ((name, fold) for name in names for fold in run.folds(FOLDS))


def main(run: Run) -> None:
    """Measure what is missing, then summarise the tables of which all folds are measured."""
    anchors = published()
    listed = run.manifest()
    wanted = list(dict.fromkeys(anchors["table"]))
    there = [name for name in listed.sort_values("rows")["name"] if name in wanted or run.smoke]
    absent = [name for name in wanted if not (DATA / f"{name}.csv.gz").exists()]
    measured = run.measure("anchors", ["table", "fold"], tasks(run, there), one_fold, jobs=1)
    counts = measured.groupby("table").size()
    if not run.smoke:
        summarise(run, measured[measured["table"].map(counts) == FOLDS], anchors, absent)


def summarise(run: Run, measured: pd.DataFrame, anchors: pd.DataFrame, absent: Sequence[str]) -> None:
    """Write and show, for every table, the pool next to the best of the published models."""
    ours = measured.groupby("table")[["log_loss", "accuracy", "seconds"]].mean()  # means of folds, as published
    losses = anchors.pivot(index="table", columns="algorithm", values="log_loss")
    frame = ours.assign(
        same_folds=[proved(name) for name in ours.index],
        best=[losses.loc[name].min() for name in ours.index],
        best_model=[losses.loc[name].idxmin() for name in ours.index],
        rank=[1 + int((losses.loc[name] < ours.loc[name, "log_loss"]).sum()) for name in ours.index],
        models=[int(losses.loc[name].notna().sum()) + 1 for name in ours.index],
    )
    run.write("anchors_folds", measured.set_index(["table", "fold"]).sort_index(), 5)
    run.write("anchors", frame, 5)
    show(frame, f"{len(frame)} tables", 4)
    if run.only:
        return
    missing = [name for name in dict.fromkeys(anchors["table"]) if name not in frame.index and name not in absent]
    write_page(run.summaries / "anchors.md", page(frame, losses.loc[frame.index], missing, absent))


def page(frame: pd.DataFrame, losses: pd.DataFrame, missing: Sequence[str], absent: Sequence[str]) -> str:
    """Return the page of results."""
    gain = frame["best"] - frame["log_loss"]
    rows = [
        [
            name + ("" if row["same_folds"] else " *"),
            f"{row['log_loss']:.3f}",
            f"{row['best']:.3f}",
            row["best_model"],
            f"{row['rank']} of {row['models']}",
            f"{row['accuracy']:.3f}",
            f"{row['seconds']:.0f}",
        ]
        for name, row in frame.iterrows()
    ]
    complete = losses.loc[:, losses.notna().all()]
    ranks = pd.concat([complete, frame["log_loss"].rename(POOL)], axis=1).rank(axis=1)
    everyone = pd.DataFrame({"log_loss": complete.mean(), "rank": ranks[complete.columns].mean()})
    everyone.loc[POOL] = [frame["log_loss"].mean(), ranks[POOL].mean()]
    everyone["wins"] = [
        "" if name == POOL else int((losses[name] > frame["log_loss"]).sum()) for name in everyone.index
    ]
    everyone["losses"] = [
        "" if name == POOL else int((losses[name] < frame["log_loss"]).sum()) for name in everyone.index
    ]
    models = [
        [
            f"**{name}**" if name == POOL else name,
            f"{row['log_loss']:.3f}",
            f"{row['rank']:.1f}",
            row["wins"],
            row["losses"],
        ]
        for name, row in everyone.sort_values("log_loss").iterrows()
    ]
    return template(Path(__file__).parent, "anchors").substitute(
        n=len(frame),
        n_proved=int(frame["same_folds"].sum()),
        pool=f"{frame['log_loss'].mean():.4f}",
        best=f"{frame['best'].mean():.4f}",
        rank=f"{frame['rank'].mean():.1f}",
        won=int((gain > CLEAR).sum()),
        lost=int((gain < -CLEAR).sum()),
        clear=CLEAR,
        seconds=f"{frame['seconds'].mean():.0f}",
        left_out=_left_out(missing, "not measured to the end") + _left_out(absent, "not among the tables at hand"),
        tables=markdown(["table", "pool", "best of the others", "which", "rank", "accuracy", "seconds"], rows),
        models=markdown(["model", "mean log loss", "mean rank", "worse than the pool", "better"], models),
    )


def _left_out(names: Sequence[str], why: str) -> str:
    """Return a sentence on tables that are left out; empty if there are none."""
    return f" Left out, because {why}: {', '.join(names)}." if names else ""


if __name__ == "__main__":
    main(Run())
