"""What the command tells the user apart from its results: refusals, notes and progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anbexact._runtime.progress import Progress, progress_line

OPTIONS = {
    "structure_score": "--score",
    "ess": "--ess",
    "network_ess": "--network-ess",
    "parameters": "--parameters",
    "smoothing": "--smoothing",
    "continuous": "--continuous",
    "discretizer": "--discretizer",
    "max_parents": "--max-parents",
    "k": "--k",
    "threshold": "--threshold",
    "min_weight": "--min-weight",
    "readable": "--readable",
    "required_edges": "--required",
    "forbidden_edges": "--forbidden",
    "handle_missing": "--missing",
    "missing_class": "--missing-class",
    "handle_unknown": "--unknown",
    "time_budget": "--time-budget",
    "time_limit": "--time-limit",
    "memory_limit": "--memory-limit",
    "tabu": "--tabu",
    "restarts": "--restarts",
    "random_state": "--random-state",
    "draws": "--draws",
    "prior": "--prior",
    "sample_weight": "--weights",
    "n_jobs": "--threads",
    "models": "--models",
    "folds": "--folds",
    "seed": "--seed",
    "class_name": "--class",
    "decimal": "--decimal",
}
"""The option for each parameter of the library."""
SENTENCES = (
    (r"drop_identifiers=False", "--keep-identifiers"),
    (r"fold_dummies=False", "--keep-dummies"),
    (r"readable=True", "--readable"),
    (
        r"this model has no counts of rows: pass X",
        "this model has no counts of rows: pass them with --rows",
    ),
    (r"need rows: pass X, or a refit, which has its rows", "need rows: pass the training table with --rows"),
    (r"; if it is a quantity, convert it with pandas.to_numeric", ""),
    (r"; make these cells missing to", "; leave these cells empty to"),
    (r"convert it with pandas.to_datetime and format=.*?'(?= or |[;)]|$)( or '.*?')?", "write dates as 2024-01-31"),
    (r"TANClassifier is quicker", "--model tan is quicker"),
    (r"Use AdditiveClassifier\(NaiveBayesClassifier\(\)\) instead", "Use --model nb --smooth instead"),
    (r"handle_missing='auto' or 'own_state'", "--missing auto or --missing own_state"),
    (r"declare it in categories=, or use handle_unknown='marginalize'", "or fit again with --unknown marginalize"),
    (r"(, or )?declare its states in categories=", r"\1name the column in --text"),
    (r"classes are declared twice, by classes= and for (.*) in categories=", r"classes are declared twice, for \1"),
    (r"\bleave it (None|1\.0|'\w+')", "leave it out"),
    (r"or pass refit=False", "or pass --no-refit"),
    (r"Divide weights of a survey by their mean; leave", "Pass --scale-weights for those of a survey; leave"),
    (r"sample_weight\[(\d+)\]", r"--weights, row \1 (counted from 0),"),
    (r"(Use the same types as in fit)\.", r"\1 (--text reads a column as text)."),
    (r"\bpass class_name=", "pass --class"),
    (r"\bmust be None or a\b", "must be a"),
    (r"Unknown label type: .*?(?=The class '.*' contains )", ""),
    (
        r"Cut them .* pass labels as text",
        "Cut them into a few classes, or name the class in --text to predict each of them",
    ),
    (
        r"0 feature\(s\) \(.*\) while a minimum of 1 is required",
        "no feature is left: there must be a column besides the class",
    ),
)
"""Parts of the library's messages that need other words on the command line: patterns, and their replacements."""
_NAMES = "|".join(sorted(OPTIONS, key=len, reverse=True))
_SETTING = re.compile(rf"(?<![\w.-])({_NAMES})=(?:'([^']*)'|([\w.+-]*\w)|)")
_SUBJECT = re.compile(rf"^({_NAMES})(?= must be\b)")
_BARE = re.compile(rf"(?<![\w.'/-])({'|'.join(name for name in OPTIONS if '_' in name)})(?![\w=.'/])")


def in_options(text: str) -> str:
    """Return a message of the library in the words of the command line: options instead of parameters."""
    for pattern, replacement in SENTENCES:
        text = re.sub(pattern, replacement, text)
    text = _SETTING.sub(lambda found: " ".join(filter(None, [OPTIONS[found[1]], found[2] or found[3]])), text)
    text = _SUBJECT.sub(lambda found: OPTIONS[found[1]], text)
    return _BARE.sub(lambda found: OPTIONS[found[1]], text)


class InputError(Exception):
    """The options or the input that the user passed are invalid."""


class ChangedError(InputError):
    """The file of the table changed while it was read."""


class ProgressLine:
    """A progress line on standard error if that is a terminal; wiped away at the end."""

    def __init__(self) -> None:
        self.show: Progress | None = None
        if sys.stderr.isatty():
            self.show = progress_line()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def wipe(self) -> None:
        """Empty the line, before something else is printed; the next progress fills it again."""
        if self.show is not None:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


_noted: ContextVar[set[str] | None] = ContextVar("noted", default=None)


@contextmanager
def noted_once() -> Iterator[None]:
    """Print every note only once within the block."""
    token = _noted.set(set())
    try:
        yield
    finally:
        _noted.reset(token)


def note(text: str) -> None:
    """Print a note on standard error, unless it was printed already within :func:`noted_once`."""
    text = " ".join(in_options(text).split())
    noted = _noted.get()
    if noted is None or text not in noted:
        print(f"anbexact: note: {text}", file=sys.stderr)
    if noted is not None:
        noted.add(text)


def listed(names: Iterable[str], noun: str, most: int = 10) -> str:
    """Return names as text, such as ``the columns 'a', 'b'``."""
    names = list(names)
    shown = ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"the {noun}{'s' if len(names) > 1 else ''} {shown}" if noun else shown
