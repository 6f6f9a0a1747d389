"""The command ``anbexact``: fit classifiers, predict and sample with them, compare, report on, and convert them.

Exit codes: 0 if all went well, 1 for a failure during the work, 2 for a wrong command line or wrong input, 130 if
interrupted. Results go to standard output; progress (on a terminal only), notes, and the one line of an error go to
standard error.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anbexact
from anbexact._runtime.advice import heard_once
from anbexact._runtime.memory import is_from_system
from anbexact.cli.messages import InputError, in_options, note, noted_once
from anbexact.cli.parsers import FORMATTER, CommandParser, Parser
from anbexact.cli.streams import usable_streams

COMMANDS = {
    "fit": "learn a classifier from a table",
    "predict": "classify the rows of a table",
    "compare": "cross-validate classifiers side by side, recommend one, and explain one of its predictions",
    "report": "write one page on a classifier: network, performance, explanations, an evidence panel",
    "panel": "open a page in which you choose evidence and see all probabilities change",
    "scorecard": "turn a classifier into integer points that can be added up by hand",
    "nomogram": "draw a classifier as rulers of points, on one sheet of paper",
    "sample": "draw rows from the network of a classifier",
    "convert": "write a classifier in another format, or read a network from another program",
}
"""The commands, in the order of the help text, and what they do. The module of each adds its options."""

EXAMPLES = """\
examples:
  anbexact compare                                 on a built-in table
  anbexact compare data.csv --class NAME           on yours: which model predicts best?
  anbexact fit data.csv --class NAME -o model.json
  anbexact predict model.json new.csv --proba -o out.csv
  anbexact report model.json data.csv              one page to share

Run anbexact COMMAND --help for the options of a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, by default those of the process.

    Returns
    -------
    int
        0, 1, 2 or 130; see the module.
    """
    with usable_streams():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    try:
        with _raising_interrupts():
            args = _parser().parse_args(argv)
            with warnings.catch_warnings(), heard_once(), noted_once():
                warnings.simplefilter("ignore")
                warnings.simplefilter("once", UserWarning)
                warnings.showwarning = lambda message, *_: note(str(message))
                with _workers(getattr(args, "workers", 1)):
                    args.run(args)
                sys.stdout.flush()
    except SystemExit as stop:
        return int(stop.code or 0)
    except KeyboardInterrupt as interrupt:
        return _fail(str(interrupt) or "interrupted", 130)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except InputError as error:
        return _fail(str(error), 2)
    except MemoryError as error:
        ran_out = "memory ran out: pass fewer rows or columns, or allow the process more memory"
        return _fail(ran_out if is_from_system(error) else str(error), 1)
    except OSError as error:
        return _fail(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "), 1)
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps what is raised while a class is made
            return _fail("interrupted", 130)
        return _fail(f"{type(error).__name__}: {error}", 1)
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="anbexact",
        description="Exact learning of Bayesian network classifiers.",
        epilog=EXAMPLES,
        formatter_class=FORMATTER,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"anbexact {anbexact.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=CommandParser)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, module=f"{__name__}.{name}")
    return parser


@contextmanager
def _raising_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise within the block where it ends the process, as it does before and after the work."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _workers(number: int) -> Iterator[None]:
    """Divide work among this number of processes; 1 leaves it in this one."""
    if number == 1:
        yield
        return
    from joblib import parallel_config

    with parallel_config(backend="loky", n_jobs=number):
        yield


def _fail(text: str, code: int) -> int:
    print(f"anbexact: error: {' '.join(in_options(text).split())}", file=sys.stderr)
    return code
