"""Explanations as text."""

from __future__ import annotations

import math
import re
import textwrap
from datetime import datetime
from numbers import Number
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anbexact.models.network.explanation import Explanation, Term

WIDTH = 100
"""Number of characters in a line."""
MOST_TERMS = 12
"""Maximum number of terms that are printed one by one."""
MOST_CHARACTERS = 40
"""Maximum number of characters of a value; the name of a class in a heading has at most a third of this."""
MIDNIGHT = "T00:00:00"
"""The time of a date, as ``isoformat`` writes it, which is not shown."""
INTERVAL = re.compile(r"(\([^\s(),]+,) ([^\s(),]+[)\]])")
"""An interval as text, which is not broken over two lines."""
REMARK = "Terms multiply the odds. They describe association, not cause and effect."
"""The last line of every explanation."""


def value_text(value: Any) -> str:
    """Return a cell as text: numbers in seven digits, midnight as a date."""
    if isinstance(value, float):
        text = f"{value:.7g}" if abs(value) < 1e7 else f"{value:.0f}"
    elif isinstance(value, datetime) and value.isoformat().endswith(MIDNIGHT):  # without a time zone
        text = value.isoformat().removesuffix(MIDNIGHT)
    else:
        text = str(value) or "''"
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def cell_text(value: Any, state: Any) -> str:
    """Return a cell with the state as which it was read, if this differs: ``"39.1 in (-inf, 42.35]"``."""
    same = str(value) == str(state) or (
        isinstance(value, Number) and isinstance(state, Number) and bool(value == state)
    )
    if value is None or same:
        return value_text(state)
    return f"{value_text(value)} in {value_text(state)}"


def explanation_text(explanation: Explanation) -> str:
    """Return the text of an explanation: the odds, the terms that add up to them, and the rows behind them."""
    label, against = (_short(of) for of in (explanation.label, explanation.against))
    predicted = "" if explanation.label == explanation.predicted else f" (predicted: {explanation.predicted})"
    interval = ""
    if not math.isnan(explanation.low):
        interval = f" (95 % interval {explanation.low:.4f} to {explanation.high:.4f})"
    lines = textwrap.wrap(
        f"{explanation.label} with probability {explanation.probability:.4f}{interval}{predicted}; log odds "
        f"{explanation.log_odds:+.3f} nats against {explanation.against}:",
        WIDTH,
    )
    shown = [term for term in explanation._terms if term.nats != 0]
    counted = any(not math.isnan(term.of) for term in shown)
    credible = any(not math.isnan(term.low) for term in shown)
    table = [["odds"] + ["95 % interval"] * credible + [f"rows of {label}", f"of {against}"] * counted]
    table += [_numbers(term, credible, counted) for term in shown[:MOST_TERMS]]
    texts = ["", *(_label(term) for term in shown[:MOST_TERMS])]
    rest = shown[MOST_TERMS:]
    if rest:
        factor = factor_text(sum(term.nats for term in rest))
        table.append(["x " + factor] + [""] * (len(table[0]) - 1))
        texts.append(f"{len(rest)} weaker terms together")
    table.append(["= " + factor_text(explanation.log_odds)] + [""] * (len(table[0]) - 1))
    texts.append(f"odds of {explanation.label} against {explanation.against}")
    widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
    for cells, text in zip(table, texts, strict=True):
        start = "  " + "  ".join(_aligned(cell, width) for cell, width in zip(cells, widths, strict=True)) + "  "
        indent = " " * len(start)
        width = max(WIDTH, len(start) + 30)
        lines += wrapped(text, width, start, indent + "  ") or [start.rstrip()]
    if explanation.note:
        lines += textwrap.wrap(explanation.note, WIDTH)
    lines.append(REMARK)
    return "\n".join(lines)


def wrapped(text: str, width: int = WIDTH, first: str = "", rest: str = "  ") -> list[str]:
    """Return a text as lines that are indented by ``first`` and ``rest``; intervals are not broken over two lines."""
    whole = INTERVAL.sub("\\1\N{NO-BREAK SPACE}\\2", text)
    lines = textwrap.wrap(whole, width, initial_indent=first, subsequent_indent=rest)
    return [line.replace("\N{NO-BREAK SPACE}", " ").rstrip() for line in lines]


def _numbers(term: Term, credible: bool, counted: bool) -> list[str]:
    """Return the cells of a term's line: its factor, its interval if any is known, and its counts if any are."""
    cells = ["x " + factor_text(term.nats)]
    if credible:
        known = not math.isnan(term.low)
        cells.append(f"{odds_end(term.low)} to {odds_end(term.high)}" if known else "")
    if counted:
        for count, of in ((term.rows, term.of), (term.rows_against, term.of_against)):
            cells.append("" if math.isnan(of) else f"{weight_text(count)} of {weight_text(of)}")
    return cells


def _label(term: Term) -> str:
    """Return the text of a term: the feature, its cell, and the cells of its parents."""
    text = str(term.feature)
    if term.state != "" or term.value is not None:
        text += f" = {cell_text(term.value, term.state)}"
    return text + (f", given {term.given}" if term.given else "")


def _aligned(cell: str, width: int) -> str:
    """Return a cell to the right; a sign before a number stays to the left."""
    sign, space, number = cell.partition(" ")
    if sign in ("x", "=") and space:
        return sign + " " + number.rjust(width - 2)
    return cell.rjust(width)


def _short(label: Any) -> str:
    text, most = str(label), MOST_CHARACTERS // 3
    return text if len(text) <= most else text[: most - 1] + "…"


def weight_text(weight: float) -> str:
    """Return the weight of rows as text: whole numbers exactly, others to one decimal place."""
    return f"{weight:,.0f}" if abs(weight - round(weight)) < 1e-6 else f"{weight:,.1f}"


def factor_text(nats: float) -> str:
    """Return exp(nats) with about three digits, however large it is."""
    if math.isnan(nats):
        return "nan"
    if math.isinf(nats):
        return "inf" if nats > 0 else "0"
    if not math.log(1e-4) < nats < math.log(1e6):
        exponent = math.floor(nats / math.log(10))
        mantissa = f"{math.exp(nats - exponent * math.log(10)):.1f}"
        return f"{mantissa}e{exponent:+03d}" if mantissa != "10.0" else f"1.0e{exponent + 1:+03d}"
    factor = math.exp(nats)
    if factor < 0.01:
        return f"{factor:.2g}"
    return f"{factor:.2f}" if factor < 100 else f"{factor:,.0f}"


def odds_end(nats: float) -> str:
    """Return the end of an interval of odds; beyond a million, it is not informative."""
    if nats > math.log(1e6):
        return "> 1e6"
    return "< 1e-6" if nats < -math.log(1e6) else factor_text(nats)
