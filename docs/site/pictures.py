"""The gallery: runs every script of a folder, and writes one page with their pictures and what made them."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

LINES = 3
"""Lines that a script has after its imports: the rows, the model, the picture."""
PIXELS = 1200
"""Width of a picture, for screens with two pixels to a point."""
HEAD = """# Gallery

Twelve pictures, each with the three lines that draw it. The tables come with anbexact, and all pictures are drawn
anew whenever this site is built. The link below each picture leads to the whole script, with its imports.

"""


def write_gallery(scripts: Path, folder: Path) -> None:
    """Run the scripts, and write their pictures, copies of them and the page ``index.md`` into the folder.

    Raises
    ------
    ValueError
        If a script has more or fewer lines after its imports, or draws no figure.
    """
    folder.mkdir(exist_ok=True)
    sections = [section(script, folder) for script in sorted(scripts.glob("*.py"))]
    (folder / "index.md").write_text(HEAD + "\n".join(sections), encoding="utf-8")


def section(script: Path, folder: Path) -> str:
    """Return the part of the page about one script, whose picture and copy are written into the folder."""
    text = script.read_text(encoding="utf-8")
    title, _, about = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    shown = text.rpartition("\n\n")[2].strip()
    if len(shown.splitlines()) != LINES:
        raise ValueError(f"{script}: {LINES} lines must follow the imports and an empty line, not {shown!r}")
    draw(script, text, folder / f"{script.stem}.png")
    (folder / script.name).write_text(text, encoding="utf-8")
    return (
        f"## {title}\n\n{about.strip()}\n\n![{title}]({script.stem}.png)\n\n```python\n{shown}\n```\n\n"
        f"{{download}}`The whole script <{script.name}>`\n"
    )


def draw(script: Path, text: str, picture: Path) -> None:
    """Run a script, and save the last figure that it draws."""
    import matplotlib.pyplot as plt

    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, str(script), "exec"), {"__name__": "__main__"})
    if not plt.get_fignums():
        raise ValueError(f"{script} draws no figure")
    figure = plt.gcf()
    figure.savefig(picture, dpi=PIXELS / figure.get_size_inches()[0], bbox_inches="tight")
    plt.close("all")
