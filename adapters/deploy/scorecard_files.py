"""Scorecards as SQL and as Python files without dependencies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact.adapters.deploy import scoring_form
from anbexact.adapters.deploy.python_scorer import python_source
from anbexact.adapters.deploy.sql_cells import CellQuery, Term, merged, suffix
from anbexact.adapters.deploy.sql_dialects import DIALECTS
from anbexact.files.atomic import write_atomically
from anbexact.scorecards.tables import axis_groups

if TYPE_CHECKING:
    from anbexact.scorecards.scorecard import Scorecard
    from anbexact.scorecards.tables import PointTable


def scorecard_sql(card: Scorecard, dialect: str, table: str, keep: Sequence[str]) -> str:
    """Return the query of :meth:`anbexact.adapters.Scorecard.to_sql`."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}, not {dialect!r}")
    return _CardQuery(card.reader, DIALECTS[dialect], card).text(table, keep)


@dataclass(frozen=True)
class _CardQuery(CellQuery):
    """The query of a scorecard: codes of cells, places in tables, points, log odds and their normalisation."""

    card: Scorecard

    @property
    def read(self) -> tuple[Hashable, ...]:
        return self.card.features

    def text(self, table: str, keep: Sequence[str]) -> str:
        """Return the query."""
        card, kept = self.card, self.kept(keep)
        taken = [name for name in keep if name.lower() in (own.lower() for own in card.score_names)]
        if taken:
            raise ValueError(
                f"keep= names a column {taken[0]!r}, but the result has a score under this name: rename the column in "
                "a view, and pass the view as table="
            )
        numbers = range(card.n_scores)
        copied = [f"k{j}" for j in range(len(kept))]
        scores = [f"s{k}" for k in numbers]
        codes = [f"COALESCE({self.code(name)}, {self.vocabulary.arity(name)}) AS c{j}"
                 for j, name in enumerate(card.features)]  # fmt: skip
        codes += [f"{name} AS k{j}" for j, name in enumerate(kept)]
        terms = merged([self._term(own) for own in card.tables], self.dialect.most_places)
        places = [f"{term.place} AS p{j}" for j, term in enumerate(terms)]
        arrays, sums = self.sums_of(terms, numbers, [])
        own, end = suffix(table), self.dialect.fence
        stored = f", numbers{own}" if arrays else ""
        points = [f"CAST({text} + {start} AS BIGINT) AS s{k}"
                  for k, (text, start) in enumerate(zip(sums, card.intercept.tolist(), strict=True))]  # fmt: skip
        steps = [
            f"codes{own} AS (SELECT {', '.join(codes) or '0 AS c0'} FROM {self.name(table)}{end}),",
            f"places{own} AS (SELECT {', '.join([*places, *copied]) or '0 AS p0'} FROM codes{own}{end}),",
            *([f"numbers{own} AS (SELECT {', '.join(arrays)}),"] if arrays else []),
            f"points{own} AS (SELECT {', '.join([*points, *copied])} FROM places{own}{stored}{end}),",
            f"logs{own} AS (SELECT {', '.join([*self._logs(), *scores, *copied])} FROM points{own}{end}),",
        ]
        result = [f"k{j} AS {name}" for j, name in enumerate(kept)]
        result += [f"s{k} AS {self.name(name)}" for k, name in enumerate(card.score_names)]
        return self.normalised(table, steps, result, [*scores, *copied])

    def _term(self, table: PointTable) -> Term:
        shape = table.points.shape[:-1]
        columns = [f"c{self.card.features.index(name)}" for name in table.features]
        steps = [prod(shape[k + 1 :]) for k in range(len(shape))]
        place = " + ".join(
            column if step == 1 else f"{step} * {column}" for column, step in zip(columns, steps, strict=True)
        )
        return Term(f"({place})", np.moveaxis(table.points, -1, 0).reshape(self.card.n_scores, -1).astype(np.float64))

    def _logs(self) -> list[str]:
        """Return the log odds of every class against the reference class."""
        found, card, literal = [], self.card, self.dialect.float_literal
        for number, label in enumerate(self.classes):
            text = literal(0.0)
            if label != card.reference:
                k = card.scored.index(label)
                text = f"{literal(card.scale)} * s{k} + {literal(float(card.offset[k]))}"
            found.append(f"{text} AS l{number}")
        return found


def write_python(card: Scorecard, path: str | Path) -> None:
    """Write the file of :meth:`anbexact.adapters.Scorecard.to_python`."""
    columns = scoring_form.card_columns(card.reader, card.features, "to_python")
    classes = card.reader.vocabulary.states[card.class_name]
    places = [classes.index(label) for label in card.scored]
    terms, tables = [], []
    for table in card.tables:
        by_class = np.zeros((*table.points.shape[:-1], len(classes)), dtype=np.int64)
        by_class[..., places] = table.points
        features = tuple(card.features.index(name) for name in table.features)
        terms.append(scoring_form.Term(-1, features, by_class))
        tables.append(_described(card, table))
    form = scoring_form.ScoringForm(card.class_name, classes, columns, tuple(terms), None)
    offsets = np.zeros(len(classes))
    offsets[places] = card.offset + card.scale * card.intercept
    described = {
        "scale": card.scale,
        "offsets": offsets.tolist(),
        "intercept": card.intercept.tolist(),
        "places": places,
        "names": card.score_names,
        "tables": tables,
    }
    write_atomically(Path(path), python_source(form, described))


def _described(card: Scorecard, table: PointTable) -> dict[str, Any]:
    """Return the name of a table, the names of its states along every axis, and the most points by score."""
    states = []
    for axis, arity in enumerate(table.n_states):
        names = [""] * (arity + 1)
        for label, group in axis_groups(table, axis, card.reader.vocabulary, card.reader.cut_points):
            for state in group:
                names[state] = label
        states.append(names)
    name = " & ".join(map(str, table.features))
    return {"name": name, "states": states, "best": table.best("best").astype(int).tolist()}
