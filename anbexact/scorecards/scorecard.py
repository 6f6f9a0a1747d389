"""Scorecards: the posterior of a class as a sum of integer points."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact.scorecards.tables import PointRow, PointTable, point_rows, score_name, state_labels
from anbexact.tables.reader import Reader

AGAINST = ("best", "mean")
"""With what the points of a row are compared for its reasons."""


@dataclass(frozen=True)
class Certificate:
    """What is proved about the points of a scorecard.

    Attributes
    ----------
    loss, bound : float
        The mean log loss of the points over the training rows, in nats, and a bound below which that of no other
        points lies. Both contain the pull to the log odds of the model, which decides what the rows leave open.
    relaxed_loss : float
        The least loss of points that need not be whole, of all features.
    most : int
        Points are from -most to most.
    n_features : int or None
        The maximum number of features.
    pull : float
        Precision of the pull, divided by the weight of all rows.
    observed : bool
        Whether the loss is that of the observed classes, not of the posterior of the model.
    scale_is_given : bool
        Whether the scale was given, and not chosen with the points.
    nodes : int
        Nodes of the search.
    seconds : float
    in_time : bool
        Whether the search ended before its limit.
    """

    loss: float
    bound: float
    relaxed_loss: float
    most: int
    n_features: int | None
    pull: float
    observed: bool
    scale_is_given: bool
    nodes: int
    seconds: float
    in_time: bool

    @property
    def gap(self) -> float:
        """By how much the loss may exceed the least one, in nats per row."""
        return max(self.loss - self.bound, 0.0)

    @property
    def optimal(self) -> bool:
        """Whether no other points have a lower loss, up to the rounding of floats."""
        return self.gap <= 1e-8


@dataclass(frozen=True, eq=False)
class Scorecard(Displayed):
    """A classifier as tables of integer points, which are added up.

    Every class other than the reference class has a score, ``intercept + Σ points``, which is the only score if there
    are two classes. The log odds of the class against the reference class are ``scale · score + offset``.

    :func:`~anbexact.adapters.to_scorecard` makes it; no method changes it.

    Attributes
    ----------
    tables : tuple of PointTable
        The points of single features, then those that several features have together.
    intercept : (scores,) int64
        The points with which every row begins.
    scale : float
        Nats of log odds per point.
    offset : (scores,) float64
        Log odds at a score of 0, in nats.
    reference : Any
        The reference class.
    reader : Reader
        How the model reads frames.
    total_weight : float
        Weight of the training rows.
    certificate : Certificate or None
        What is proved about the points; None if the log odds of a model were rounded.
    """

    tables: tuple[PointTable, ...]
    intercept: Positions
    scale: float
    offset: Floats
    reference: Any
    reader: Reader
    total_weight: float
    certificate: Certificate | None = None

    # ---- what it consists of

    @property
    def class_name(self) -> Hashable:
        """The name of the class variable."""
        return self.reader.vocabulary.class_name

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, (classes,): the columns of :meth:`predict_proba`."""
        return self.reader.vocabulary.classes

    @cached_property
    def scored(self) -> tuple[Any, ...]:
        """The classes that have a score: all but the reference class."""
        return tuple(label for label in self.classes_.tolist() if label != self.reference)

    @cached_property
    def features(self) -> tuple[Hashable, ...]:
        """The features that have points, in the order of the training table."""
        used = {name for table in self.tables for name in table.features}
        return tuple(name for name in self.reader.vocabulary.features if name in used)

    @property
    def n_scores(self) -> int:
        """Number of scores: the number of classes minus one."""
        return len(self.intercept)

    @property
    def score_names(self) -> list[str]:
        """The names of the scores in frames and queries."""
        return [score_name(label, self.n_scores) for label in self.scored]

    @property
    def range(self) -> tuple[Positions, Positions]:
        """Bounds of the scores, each (scores,): the sums of the least and of the most points of all tables."""
        flat = [table.points.reshape(-1, self.n_scores) for table in self.tables]
        low = self.intercept + sum((points.min(axis=0) for points in flat), np.zeros(self.n_scores, dtype=np.int64))
        high = self.intercept + sum((points.max(axis=0) for points in flat), np.zeros(self.n_scores, dtype=np.int64))
        return low, high

    def rows(self, table: PointTable) -> list[PointRow]:
        """Return the rows of one of the tables; states with the same points share a row."""
        return list(point_rows(table, self.reader.vocabulary, self.reader.cut_points))

    # ---- predictions

    def score(self, X: Any) -> Positions:
        """Return the scores of rows: (rows,) if there are two classes, else (rows, scores), ordered as ``scored``.

        Columns of a frame are found by their names, and those of other features are ignored; a table without names
        must have the columns of ``fit``. A missing cell, and a value that is not a state, get the points of the row
        "missing or unknown", the rounded mean of the training rows, unless missing cells were a state of their own.

        Raises
        ------
        ValueError
            If a column is missing, or for a cell that the classifier refuses.
        """
        scores = self._scores(X)
        return scores[:, 0] if self.n_scores == 1 else scores

    def _scores(self, X: Any) -> Positions:
        codes = self._codes(X)
        scores = np.tile(self.intercept, (self.n_rows_of(codes, X), 1))
        for table in self.tables:
            scores += table.at(codes)
        return scores

    def _codes(self, X: Any) -> dict[Hashable, Positions]:
        codes = self.reader.codes_of(X, self.features)
        return dict(zip(self.features, codes.astype(np.int64), strict=True))

    @staticmethod
    def n_rows_of(codes: dict[Hashable, Positions], X: Any) -> int:
        """Return the number of rows, also if no feature has points."""
        return len(next(iter(codes.values()))) if codes else len(X)

    def log_odds(self, scores: Positions) -> Floats:
        """Return ln P(class) / P(reference), (rows, classes), of scores (rows, scores); 0 for the reference class."""
        found = np.zeros((len(scores), self.n_scores + 1))
        place = self.classes_.tolist().index(self.reference)
        others = [k for k in range(self.n_scores + 1) if k != place]
        found[:, others] = self.scale * scores + self.offset
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | score), (rows, classes), columns as in ``classes_``."""
        return self.probabilities(self._scores(X))

    def probabilities(self, scores: Positions) -> Floats:
        """Return P(class | score), (rows, classes), of scores (rows, scores)."""
        logs = self.log_odds(scores)
        powers = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, (rows,); of equally probable classes, the first."""
        return np.asarray(self.classes_[self.log_odds(self._scores(X)).argmax(axis=1)])

    def reasons(self, X: Any, *, most: int = 4, against: str = "best", label: Any = None) -> pd.DataFrame:
        """Return what costs every row most points: the reasons of an adverse decision.

        A table of points costs a row the points of the best state of the training rows, or the mean points of these
        rows, minus the points of the row. What several features have together is a reason of its own.

        Parameters
        ----------
        X : table
            The rows.
        most : int, default 4
            Maximum number of reasons for a row; only those that cost points are listed.
        against : {"best", "mean"}
            With what the row is compared.
        label : class label, optional
            The class whose score is meant; needed if there are several scores.

        Returns
        -------
        DataFrame
            One row for every reason, indexed by ``row`` (the label of the row, or its position) and ``rank``: the
            ``feature`` (joined by ``" & "`` if there are several), the ``state``, its ``points``, and their ``cost``.

        Raises
        ------
        ValueError
            For another ``against``, a ``label`` without a score, or a column that is missing.
        """
        if against not in AGAINST:
            raise ValueError(f"against must be one of {', '.join(map(repr, AGAINST))}, not {against!r}")
        if label is None and self.n_scores == 1:
            label = self.scored[0]
        if label not in self.scored:
            raise ValueError(f"label must be a class with a score, one of {list(self.scored)}, not {label!r}")
        k = self.scored.index(label)
        codes = self._codes(X)
        n_rows = self.n_rows_of(codes, X)
        points = np.stack([table.at(codes)[:, k] for table in self.tables] or [np.zeros(n_rows, np.int64)], axis=1)
        reached = np.array([table.best(against)[k] for table in self.tables] or [0.0])
        costs = reached - points
        order = np.argsort(-costs, axis=1, kind="stable")[:, :most]
        labels = self.reader.labels(X, np.arange(n_rows))
        names = [self.labels(table) for table in self.tables]
        listed = []
        for t in range(n_rows):
            for rank, j in enumerate(order[t].tolist(), 1):
                if costs[t, j] <= 0:
                    break
                table = self.tables[j]
                own = (max(codes[name][t], -1) for name in table.features)  # -1 is the last name
                state = " & ".join(texts[code] for texts, code in zip(names[j], own, strict=True))
                name = " & ".join(map(str, table.features))
                listed.append((labels[t], rank, name, state, int(points[t, j]), float(costs[t, j])))
        columns = ["row", "rank", "feature", "state", "points", "cost"]
        found = pd.DataFrame(listed, columns=columns).set_index(["row", "rank"])
        return found.astype({"cost": np.int64}) if against == "best" else found

    def labels(self, table: PointTable) -> list[list[str]]:
        """Return, for every feature of a table, the names of its states as on the card; the last one is `OTHER`."""
        vocabulary, cut_points = self.reader.vocabulary, self.reader.cut_points
        return [state_labels(table, axis, vocabulary, cut_points) for axis in range(len(table.features))]

    # ---- other forms

    def to_frame(self) -> pd.DataFrame:
        """Return the card as a frame: the intercept, then one row for all states of a table with the same points.

        Its columns are ``feature``, ``state``, one column of points for every score, and ``share``, the share of the
        training rows with these states.
        """
        listed = [("(intercept)", "", *self.intercept.tolist(), 1.0)]
        for table in self.tables:
            name = " & ".join(map(str, table.features))
            for row in self.rows(table):
                share = row.weight / self.total_weight
                listed.append((name, " & ".join(row.labels), *row.points.tolist(), share))
        points = [name.replace("score", "points") for name in self.score_names]
        return pd.DataFrame(listed, columns=["feature", "state", *points, "share"])

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str:
        """Return the card as one page with a calculator, which needs no network and prints well.

        Parameters
        ----------
        path : str or Path, optional
            A file to which the page is written, too.
        title : str, optional
            By default, what the card predicts.
        """
        from anbexact.show.scorecard.sheet import sheet

        page = sheet(self, title)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def to_sql(self, dialect: str = "duckdb", *, table: str = "rows", keep: Sequence[str] = ()) -> str:
        """Return a query of the scores, the probabilities and the prediction of the rows of a table.

        See :func:`~anbexact.adapters.to_sql` for the parameters. The columns of the result are those of ``keep``, the
        scores (``score``, or ``score(label)`` for every class that has one), ``P(label)`` for every class, and
        ``prediction``. Missing and unknown cells have points of their own, so no row is left without a score.
        """
        from anbexact.adapters.deploy.scorecard_files import scorecard_sql

        query: str = scorecard_sql(self, dialect, table, keep)
        return query

    def to_python(self, path: str | Path) -> None:
        """Write the card as a Python file without dependencies; see :func:`~anbexact.adapters.to_python`.

        In addition to ``predict_proba`` and ``predict``, it has ``score(row)`` and ``reasons(row)``.
        """
        from anbexact.adapters.deploy.scorecard_files import write_python

        write_python(self, path)

    def to_excel(self, path: str | Path) -> None:
        """Write the card as a workbook: a sheet with the points, and a sheet that scores rows by formulas.

        The formulas need no macros. They refer to the points, so that a changed point changes the scores.

        Raises
        ------
        ModuleNotFoundError
            If openpyxl is not installed.
        """
        from anbexact.adapters.deploy.scorecard_excel import write_workbook

        write_workbook(self, path)

    def __repr__(self) -> str:
        scores = f"scores of {', '.join(map(str, self.scored))} against {self.reference}"
        return f"<Scorecard of {self.class_name!r}: {len(self.features)} features, {scores}>"
