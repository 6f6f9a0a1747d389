"""How benchmarks print and write tables, pages and figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show(table: pd.DataFrame | Sequence[dict[str, Any]], title: str = "", decimals: int | None = None) -> None:
    """Print a table: numbers with so many decimals, by default with three significant digits."""
    frame = pd.DataFrame(table)
    shown = (lambda number: f"{number:,.3g}") if decimals is None else None
    frame = frame if decimals is None else frame.round(decimals)
    text = frame.to_string(index=not isinstance(frame.index, pd.RangeIndex), float_format=shown)
    print(f"\n{title}\n{text}" if title else text, flush=True)


def write_csv(
    folder: Path,
    name: str,
    frame: pd.DataFrame,
    *,
    decimals: int | dict[str, int] | None = None,
    float_format: str | None = None,
) -> None:
    """Write a table as CSV, its index too unless it only numbers the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    rounded = frame if decimals is None else frame.round(decimals)
    index = not isinstance(frame.index, pd.RangeIndex)
    rounded.to_csv(folder / f"{name}.csv", index=index, lineterminator="\n", float_format=float_format)


def markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


@cache
def template(folder: Path, name: str) -> Template:
    """Return the prose of a page, or of a section of it, with ``$name`` where values belong.

    It is read from ``templates/NAME.md`` in the folder.
    """
    return Template((folder / "templates" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))


def write_page(path: Path, text: str) -> None:
    """Write a page; it ends with one line feed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")


def panels(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Return a figure and its panels, which have no frame above and on the right."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, layout="constrained", **options)
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Write a figure, and forget it."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
