"""Scorecards as workbooks whose formulas score rows."""

from __future__ import annotations

from collections.abc import Hashable
from io import BytesIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact.adapters.deploy.scoring_form import CodedColumn, card_columns
from anbexact.files.atomic import check_place
from anbexact.scorecards.tables import OTHER

if TYPE_CHECKING:
    from anbexact.scorecards.scorecard import Scorecard
    from anbexact.scorecards.tables import PointTable

N_ROWS = 100
"""Rows of the sheet that have formulas."""
POINTS, LISTS, ROWS, CODES = "Points", "Lists", "Rows", "Codes"
"""The sheets: what counts how much, the states and cut points of the features, the rows to be scored, and the numbers
of their states, without which formulas of many features would be longer than a cell can hold."""
EDITS = "Changes by hand"
"""The sheet with the log of changes by hand, if there are any."""
HEADINGS = {
    "edit": "edit",
    "reason": "reason",
    "before": "log loss before",
    "after": "after",
    "difference": "difference",
    "difference_error": "standard error",
}
"""What that sheet shows of every edit, with the headings of its columns."""


def write_workbook(card: Scorecard, path: str | Path) -> None:
    """Write the workbook of :meth:`anbexact.adapters.Scorecard.to_excel`."""
    from openpyxl import Workbook
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    columns = card_columns(card.reader, card.features, "to_excel")
    check_place(Path(path))
    book = Workbook()
    rows = book.active
    rows.title = ROWS
    points, lists, codes_of_rows = (book.create_sheet(title) for title in (POINTS, LISTS, CODES))
    ranges = _write_lists(lists, columns)
    places, constants = _write_points(card, points)
    labels = [str(label) for label in card.classes_.tolist()]
    head = [*map(_text, card.features), *card.score_names, *(f"P({label})" for label in labels), "prediction"]
    rows.append(head)
    codes_of_rows.append(head[: len(columns)])
    n_features, n_scores = len(columns), card.n_scores
    for number in range(2, N_ROWS + 2):
        cells = [f"{get_column_letter(j + 1)}{number}" for j in range(n_features)]
        given = zip(columns, cells, ranges, strict=True)
        codes_of_rows.append([f"={_code(column, f'{ROWS}!{cell}', of)}" for column, cell, of in given])
        codes = [f"{CODES}!{cell}" for cell in cells]
        scores = []
        for k in range(n_scores):
            summands = [constants[f"intercept {k}"]]
            for table, of_scores in zip(card.tables, places, strict=True):
                summands.append(f"INDEX({of_scores[k]},{_place(card, table, codes)})")
            scores.append(f"={'+'.join(summands)}")
        score_cells = [f"{get_column_letter(n_features + 1 + k)}{number}" for k in range(n_scores)]
        odds = [f"EXP({constants['scale']}*{cell}+{constants[f'offset {k}']})" for k, cell in enumerate(score_cells)]
        total = f"(1+{'+'.join(odds)})"
        by_class = dict(zip(card.scored, odds, strict=True))
        chances = [f"={by_class.get(label, '1')}/{total}" for label in card.classes_.tolist()]
        first, last = n_features + n_scores + 1, n_features + n_scores + len(labels)
        span = f"{get_column_letter(first)}{number}:{get_column_letter(last)}{number}"
        heads = f"{LISTS}!$A$2:$A${len(labels) + 1}"
        rows.append([*[None] * n_features, *scores, *chances, f"=INDEX({heads},MATCH(MAX({span}),{span},0))"])
    if card.edits:
        edits = book.create_sheet(EDITS)
        edits.append(list(HEADINGS.values()))
        for edit in card.edits:
            edits.append([_value(edit.record()[key]) for key in HEADINGS])
    for k, label in enumerate(card.classes_.tolist()):
        lists.cell(k + 2, 1, _value(label))
    lists.cell(1, 1, _text(card.class_name))
    for sheet in book.worksheets:
        for cell in sheet[1]:
            cell.font = Font(bold=True)
        sheet.freeze_panes = "A2"
        for j in range(1, sheet.max_column + 1):
            sheet.column_dimensions[get_column_letter(j)].width = 18
    # On a full disk, openpyxl would leave an archive open, which fails again when it is collected.
    content = BytesIO()
    book.save(content)
    Path(path).write_bytes(content.getvalue())


def _write_lists(sheet: Any, columns: tuple[CodedColumn, ...]) -> list[str]:
    """Write the states or cut points of every feature in a column; return the ranges of these."""
    from openpyxl.utils import get_column_letter

    ranges = []
    for j, column in enumerate(columns, 2):
        values: list[Any] = list(column.codes) if column.cuts is None else list(column.cuts)
        sheet.cell(1, j, _text(column.name))
        for row, value in enumerate(values, 2):
            sheet.cell(row, j, _value(value))
        letter = get_column_letter(j)
        ranges.append(f"{LISTS}!${letter}$2:${letter}${max(len(values), 1) + 1}")
        if column.cuts is None:  # the code of every value stands beside it, because a group has several values
            for row, code in enumerate(column.codes.values(), 2):
                sheet.cell(row, j + len(columns), code)
            beside = get_column_letter(j + len(columns))
            ranges[-1] += f"|{LISTS}!${beside}$2:${beside}${max(len(values), 1) + 1}"
    return ranges


def _write_points(card: Scorecard, sheet: Any) -> tuple[list[list[str]], dict[str, str]]:
    """Write all points; return the ranges of every table by score, and the cells of the constants."""
    from openpyxl.utils import get_column_letter

    sheet.append(["table", "states", *(name.replace("score", "points") for name in card.score_names)])
    letters = [get_column_letter(3 + k) for k in range(card.n_scores)]
    constants: dict[str, str] = {}
    for title, values in (("intercept", card.intercept.tolist()), ("offset", card.offset.tolist())):
        sheet.append([f"({title})", "log odds at a score of 0" if title == "offset" else "", *values])
        constants |= {f"{title} {k}": f"{POINTS}!${letter}${sheet.max_row}" for k, letter in enumerate(letters)}
    sheet.append(["(scale)", "log odds per point", card.scale])
    constants["scale"] = f"{POINTS}!$C${sheet.max_row}"
    ranges = []
    for table in card.tables:
        first = sheet.max_row + 1
        names = [_state_names(card, table, axis) for axis in range(len(table.features))]
        for cell in np.ndindex(table.points.shape[:-1]):
            states = " & ".join(names[axis][code] for axis, code in enumerate(cell))
            sheet.append([_text(" & ".join(map(str, table.features))), _text(states), *table.points[cell].tolist()])
        ranges.append([f"{POINTS}!${letter}${first}:${letter}${sheet.max_row}" for letter in letters])
    return ranges, constants


def _state_names(card: Scorecard, table: PointTable, axis: int) -> list[str]:
    """Return the name of every state, and that of missing or unknown cells."""
    name: Hashable = table.features[axis]
    return [*map(str, card.reader.vocabulary.states[name]), OTHER]


def _code(column: CodedColumn, cell: str, ranges: str) -> str:
    """Return the formula of the code of a cell, counted from 0."""
    unknown, missing = column.unknown, column.missing
    unknown = column.arity - 1 if unknown < 0 else unknown
    missing = column.arity - 1 if missing < 0 else missing
    if column.ignored:
        return "0"
    if column.cuts is not None:
        number = f"SUMPRODUCT(--({ranges}<{cell}))" if column.cuts else "0"
        return f"IF(ISNUMBER({cell}),{number},{missing})"
    # MATCH would take "a" for "A", and the text "a*" for a pattern; EXACT compares texts only.
    values, codes = ranges.split("|")
    same = f'EXACT({values}&"",{cell}&"")*({values}={cell})'
    return f'IF({cell}="",{missing},IF(SUMPRODUCT({same})>0,SUMPRODUCT({same},{codes}),{unknown}))'


def _place(card: Scorecard, table: PointTable, codes: list[str]) -> str:
    """Return the formula of the place of a row in a table, counted from 1."""
    shape = table.points.shape[:-1]
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    own = [codes[card.features.index(name)] for name in table.features]
    return "+".join(["1", *(f"{step}*{code}" for step, code in zip(steps, own, strict=True))])


def _value(value: Any) -> Any:
    """Return a state as the value of a cell."""
    return _text(value) if isinstance(value, str) else value


def _text(value: Any) -> str:
    """Return text as a cell can hold it; it must not begin like a formula."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    text: str = ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", str(value))
    return f"'{text}" if text.startswith("=") else text
