"""How Sphinx builds the site; `make docs` copies docs/ to build/docs and runs it there."""

from __future__ import annotations

import inspect
import re
import sys
import typing
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import anbexact

sys.path.insert(0, str(Path(__file__).parent))
from pictures import write_gallery

SOURCES = Path(__file__).resolve().parents[1]
"""The folder of the pages."""

project = "anbexact"
author = "The anbexact developers"
release = version = anbexact.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["site", "gallery_scripts", "notebook_scripts", "**.ipynb"]

suppress_warnings = ["myst.header", "config.cache", "ref.python"]  # the last: types such as "features" in docstrings
nitpicky = False
default_role = "literal"  # a single backtick in docstrings and in the gallery, as in Markdown

# ---- pages

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "anbexact"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_copyright = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "monokai"

# ---- reference

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request, set_partial_fit_request"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
REFERENCE = {
    "anbexact": "The classifiers, searches and values that most programs need.",
    "anbexact.classifiers": "All classifiers.",
    "anbexact.adapters": "Networks for other libraries, and files.",
    "anbexact.compare": "Comparison by cross-validation.",
    "anbexact.plots": "Figures, by matplotlib.",
    "anbexact.report": "Reports to share.",
    "anbexact.averaging": "All structures instead of one.",
    "anbexact.conformal": "Sets of classes with a guarantee.",
    "anbexact.selection": "Feature selection.",
    "anbexact.search": "Searches for structures.",
    "anbexact.scores": "Scores of structures.",
    "anbexact.discretize": "Cut points and groups.",
    "anbexact.datasets": "Small built-in tables.",
}
"""The public packages, in the order of the reference."""


def write_reference(folder: Path) -> None:
    """Write a page for every public object, and one for every package that lists its own.

    The navigation names packages only: with 200 objects in it, half of every page was navigation.
    """
    written: set[int] = set()
    packages = []
    for package, summary in REFERENCE.items():
        module = import_module(package)
        lines = [package, "=" * len(package), "", summary, ""]
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or typing.get_origin(thing) is not None or id(thing) in written:
                continue
            written.add(id(thing))
            page = f"{package}.{name}"
            (folder / f"{page}.rst").write_text(_page(page, package, thing), encoding="utf-8")
            lines += [f":doc:`{name} <{page}>`", f"    {_first_sentence(thing)}"]
        (folder / f"{package}.index.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")
        packages.append(f"   {package} <{package}.index>")
    head = ["Reference", "=========", "", "Every public object has a page of its own.", "", ".. toctree::"]
    (folder / "index.rst").write_text("\n".join([*head, "   :maxdepth: 2", "", *packages]) + "\n", encoding="utf-8")


def _first_sentence(thing: object) -> str:
    """Return the first sentence of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _page(name: str, package: str, thing: object) -> str:
    """Return the page of one object."""
    short = name.rpartition(".")[2]
    if isinstance(thing, type):
        directive = [f".. autoclass:: {name}", "   :members:", "   :inherited-members: BaseEstimator"]
    else:
        directive = [f".. autofunction:: {name}"]
    above = f"In the package :doc:`{package} <{package}.index>`."
    return "\n".join([":orphan:", "", short, "=" * len(short), "", above, "", *directive]) + "\n"


# ---- notebooks

sphinx_gallery_conf = {
    "examples_dirs": ["notebook_scripts"],
    "gallery_dirs": ["notebooks"],
    "filename_pattern": r"\.py",
    # The notebook that needs DuckDB is left out where DuckDB is not installed.
    "ignore_pattern": r"__init__\.py" if find_spec("duckdb") else r"__init__\.py|many_rows\.py",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "within_subsection_order": "FileNameSortKey",
}
warnings.filterwarnings("ignore", category=UserWarning, module="sphinx_gallery")


# ---- sources of pages

SEARCH = re.compile(r"^<!-- search: (.*?) -->$", re.DOTALL | re.MULTILINE)
"""What readers may search for, in the head of a page that answers it."""


LAST_LINE_EMPTY = re.compile(r"\n\n(```)$", re.MULTILINE)
"""The end of a block of code with an empty line, which doctest needs and readers do not."""


def mend_page(_app: object, _page: str, source: list[str]) -> None:
    """Let the search find a page first by the words that its head lists, and shorten its code by empty lines."""
    text = SEARCH.sub(lambda found: _entries(found[1].split(",")), source[0])
    source[0] = LAST_LINE_EMPTY.sub(r"\n\1", text)


def _entries(words: list[str]) -> str:
    return "```{index} " + ", ".join(f"! {' '.join(word.split())}" for word in words) + "\n```"


# ---- docstrings


def titles() -> dict[str, str]:
    """Return the pages by their titles, and by the beginnings of these up to a colon, as docstrings quote them."""
    found = {}
    for path in sorted(SOURCES.rglob("*.md")):
        head = path.read_text(encoding="utf-8").partition("\n")[0]
        if head.startswith("# "):
            page = f"/{path.relative_to(SOURCES).with_suffix('').as_posix()}"
            for title in (head[2:], head[2:].partition(":")[0]):
                found[title] = page
    return found


TITLES = titles()


def link_changes(path: Path) -> None:
    """Let the release notes, a copy of those in the folder of the project, link to the pages that they name."""
    by_page = {page: title for title, page in TITLES.items()}
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"`docs(/[\w/-]+)\.md`", lambda found: f"[{by_page[found[1]]}]({found[1][1:]}.md)", text)
    path.write_text(text, encoding="utf-8")


QUOTED = re.compile(r'\b([Gg]uide|[Pp]age) "([^"]+)"')
"""How docstrings, which people read without a browser, too, refer to pages."""


def link_pages(lines: list[str], name: str) -> list[str]:
    """Return the lines of a docstring with links instead of the quoted titles of pages.

    Raises
    ------
    ValueError
        If there is no such page.
    """

    def linked(found: re.Match[str]) -> str:
        title = " ".join(found[2].split())
        if title not in TITLES:
            raise ValueError(f"the docstring of {name} refers to the page {title!r}, which does not exist")
        return f"{found[1]} :doc:`{title} <{TITLES[title]}>`"

    return QUOTED.sub(linked, "\n".join(lines)).split("\n")


def skip_foreign(_app: object, _what: str, _name: str, thing: object, skip: bool, _options: object) -> bool:
    """Leave out what classes inherit from other libraries; their own documentation has it."""
    function = getattr(thing, "fget", None) or getattr(thing, "func", None) or getattr(thing, "__func__", thing)
    module = getattr(function, "__module__", None)
    return skip or (isinstance(module, str) and not module.startswith("anbexact"))


def mend_docstring(_app: object, _what: str, name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Let Sphinx read what people read without it: titles of pages, paragraphs after parameters, |K| for a number."""
    lines[:] = link_pages(lines, name)
    section, after = "", []
    for k, line in enumerate(lines):
        following = lines[k + 1] if k + 1 < len(lines) else ""
        if following and set(following) == {"-"}:
            section = line
            continue
        of_list = section in ("Parameters", "Attributes") and not lines[k - 1]
        if of_list and line and not line.startswith((" ", "-")) and not following.startswith("    "):
            after.append(k)
        if "``" not in line:
            lines[k] = re.sub(r"\|([^|]*)\|", r"\\|\1\\|", line)
    for k in reversed(after):
        lines[k:k] = ["Notes", "-----"]


def setup(app: typing.Any) -> None:
    app.connect("source-read", mend_page)
    app.connect("autodoc-process-docstring", mend_docstring, priority=100)
    app.connect("autodoc-skip-member", skip_foreign)


link_changes(SOURCES.parent / "CHANGELOG.md")
(SOURCES / "reference").mkdir(exist_ok=True)
write_reference(SOURCES / "reference")
write_gallery(SOURCES / "gallery_scripts", SOURCES / "gallery")
