"""The command ``anbexact``: fit, predict and compare classifiers on tables in files.

Exit codes: 0 when all went well, 1 for a failure during the work, 2 for a wrong command line or wrong input, 130 when
interrupted. Results go to standard output; progress (on a terminal only), notes and the one line of an error to
standard error.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import anbexact
from anbexact.report.text import (
    about,
    class_sizes,
    describe,
    print_comparison,
    print_json,
    print_structure,
    print_wrapped,
)

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import NetworkClassifier
    from anbexact.limits import Progress

MISSING_CELLS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"]
DEMO_TABLE = "wine"


class InputError(Exception):
    """What the user passed cannot be worked with."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"anbexact: error: {message} (see {self.prog} --help)\n")


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
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("once", UserWarning)
            warnings.showwarning = lambda message, *_: _note(str(message))
            args.run(args)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except InputError as error:
        return _fail(str(error), 2)
    except MemoryError as error:
        return _fail(str(error) or "out of memory", 1)
    except OSError as error:
        return _fail(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "), 1)
    except Exception as error:
        return _fail(f"{type(error).__name__}: {error}", 1)
    return 0


def _parser() -> argparse.ArgumentParser:
    data_help = (
        f"CSV (also .csv.gz) or Parquet, with column names; missing cells: empty, {', '.join(MISSING_CELLS[1:])}"
    )
    parser = _Parser(
        prog="anbexact", description="Exact learning of Bayesian network classifiers.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"anbexact {anbexact.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    fit = commands.add_parser("fit", help="learn a classifier from a table", allow_abbrev=False)
    fit.add_argument("data", metavar="DATA", help=data_help)
    fit.add_argument("--class", dest="class_name", metavar="NAME", required=True, help="the column to be predicted")
    fit.add_argument("--model", choices=("anb", "nb"), default="anb", help="optimal augmented, or plain, naive Bayes")
    fit.add_argument("-o", "--output", metavar="MODEL.json", help="save the classifier here")
    fit.add_argument("--ess", type=float, default=1.0, metavar="A", help="equivalent sample size (default 1)")
    fit.add_argument("--max-parents", type=int, metavar="K", help="most feature parents of a feature (anb)")
    fit.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds of search (anb): the best so far is taken"
    )
    fit.add_argument("--weights", metavar="COLUMN", help="a column that holds the weight of every row, no feature")
    _common(fit, _fit)

    predict = commands.add_parser("predict", help="classify the rows of a table", allow_abbrev=False)
    predict.add_argument("model", metavar="MODEL.json", help="a classifier that fit saved")
    predict.add_argument("data", metavar="DATA", help=data_help)
    predict.add_argument("--proba", action="store_true", help="add the probability of every class")
    predict.add_argument("-o", "--output", metavar="OUT.csv", help="write here, not to standard output")
    predict.set_defaults(run=_predict)

    compare = commands.add_parser(
        "compare",
        help="cross-validate classifiers side by side, and explain one of them",
        description=f"Without DATA and --dataset, on the embedded table {DEMO_TABLE}.",
        allow_abbrev=False,
    )
    compare.add_argument("data", metavar="DATA", nargs="?", help=data_help)
    compare.add_argument("--class", dest="class_name", metavar="NAME", help="the column to be predicted")
    compare.add_argument("--dataset", metavar="NAME", help="an embedded table, such as wine, iris or tic_tac_toe")
    compare.add_argument("--folds", type=int, default=10, metavar="K", help="of the cross-validation (default 10)")
    _common(compare, _compare)
    return parser


def _threads(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads, 1 or more")
    return int(text)


def _common(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]) -> None:
    parser.add_argument("--threads", type=_threads, metavar="N", help="processors to use (default all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


# --- commands ---------------------------------------------------------------------------------------------------


def _fit(args: argparse.Namespace) -> None:
    if args.model == "nb" and (args.max_parents is not None or args.time_limit is not None):
        raise InputError("--max-parents and --time-limit belong to --model anb: naive Bayes searches nothing")
    if args.output is not None and not Path(args.output).resolve().parent.is_dir():
        raise InputError(f"{args.output}: there is no folder {Path(args.output).resolve().parent}")
    X, y = _features_and_class(_read_table(args.data), args.class_name, args.data)
    weights = None
    if args.weights is not None:
        if args.weights not in X:
            raise InputError(f"{args.data} has no column {args.weights!r} beside the class: it cannot be --weights")
        weights = X.pop(args.weights)
        if weights.dtype.kind not in "iuf":
            raise InputError(f"the column {args.weights!r} cannot be --weights: not all of its cells are numbers")
    classifier = _learn(X, y, weights, args)
    if args.output is not None:
        classifier.save(args.output)
    n_trained = int((X.notna().all(axis=1) if weights is None else X.notna().all(axis=1) & (weights > 0)).sum())
    accuracy = classifier.score(X, y, weights)
    if args.json:
        described = describe(classifier)
        print_json(
            {
                "data": args.data,
                "rows": len(X),
                "rows_trained": n_trained,
                "weights": args.weights,
                "model": args.model,
                "ess": args.ess,
                **described,
                "training_accuracy": accuracy,
                "saved_to": args.output,
            }
        )
        return
    weighted = f", weighted by {args.weights}" if weights is not None else ""
    print(f"{args.data}: {n_trained:,} rows to learn from{weighted}, {X.shape[1]} features")
    print_wrapped(class_sizes(y))
    cuts = [
        f"{name} at {', '.join(f'{cut:g}' for cut in of_name)}" for name, of_name in classifier.cut_points_.items()
    ]
    if cuts:
        print_wrapped(f"cut in two at the median: {'; '.join(cuts)}")
    print()
    title = "optimal augmented naive Bayes (ANB)" if args.model == "anb" else "naive Bayes (NB)"
    print(f"{title}, equivalent sample size {args.ess:g}")
    print_structure(classifier)
    print(f"accuracy on the rows it was learned from: {accuracy:.4f} (flattering; anbexact compare cross-validates)")
    if args.output is not None:
        print(f"saved to {args.output}")


def _predict(args: argparse.Namespace) -> None:
    try:
        classifier = anbexact.load(args.model)
    except OSError as error:
        raise InputError(f"cannot read {args.model}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    import pandas as pd

    vocabulary = classifier.vocabulary_
    columns = {str(name): name for name in vocabulary.names}
    if len(columns) < len(vocabulary.names):
        raise InputError(
            f"{args.model}: two of its columns have the same name as text, which a table cannot tell apart"
        )
    texts = [name for name, own in columns.items() if all(isinstance(state, str) for state in vocabulary.states[own])]
    texts = [name for name in texts if columns[name] not in classifier.cut_points_]
    frame = _read_table(args.data, texts)
    gone = [name for name in map(str, vocabulary.features) if name not in frame]
    if gone:
        raise InputError(f"{args.data} lacks {_listed(gone, 'column')} that {args.model} needs")
    extra = [str(name) for name in frame if name not in columns]
    if extra:
        _note(f"ignoring {_listed(extra, 'column')} that {args.model} does not know")
    X = frame[[str(name) for name in vocabulary.features]].set_axis(list(vocabulary.features), axis=1)
    try:
        _note_unknown(classifier, X)
        proba = classifier.predict_proba(X)
    except (TypeError, ValueError) as error:
        raise InputError(f"{args.data}: {error}") from None
    predicted = classifier.classes_[proba.argmax(axis=1)]
    out = pd.DataFrame({"predicted": predicted})
    if args.proba:
        shares = pd.DataFrame(proba, columns=[f"P({label})" for label in classifier.classes_.tolist()])
        out = pd.concat([out, shares], axis=1)
    out.to_csv(args.output if args.output is not None else sys.stdout, index=False)
    if str(vocabulary.class_name) in frame:
        truth = frame[str(vocabulary.class_name)]
        known = truth.notna().to_numpy()
        if known.any():
            accuracy = float((truth[known].to_numpy(dtype=object) == predicted[known]).mean())
            _note(f"accuracy {accuracy:.4f} on the {int(known.sum()):,} rows whose {vocabulary.class_name} is given")


def _compare(args: argparse.Namespace) -> None:
    if args.data is not None and args.dataset is not None:
        raise InputError("pass DATA or --dataset, not both")
    if (args.data is None) != (args.class_name is None):
        raise InputError("DATA and --class NAME belong together")
    if args.data is not None:
        X, y = _features_and_class(_read_table(args.data), args.class_name, args.data)
        title = args.data
    else:
        from anbexact.datasets import load_dataset

        title = args.dataset or DEMO_TABLE
        try:
            X, y = load_dataset(title)
        except ValueError as error:
            raise InputError(str(error)) from None
        title = f"{title}, an embedded table. {about(title)}"
    if not args.json:
        print_wrapped(title)
        print_wrapped(f"{len(X):,} rows, {X.shape[1]} features; {class_sizes(y)}")
        sys.stdout.flush()
    from anbexact.classifiers.inputs import MANY_VALUES
    from anbexact.compare import compare

    with _Line() as line, warnings.catch_warnings(record=True) as caught:
        try:
            frame = compare(X, y, folds=args.folds, n_jobs=args.threads, progress=line.show)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        if text not in frame.attrs["notes"]:
            _note(text)
    if not args.json:
        print(f"\n{frame.attrs['folds']}-fold cross-validation, structure and cut points relearned in every fold")
        print_comparison(frame)
        if any(X[column].dtype.kind in "iuf" and X[column].nunique() > MANY_VALUES for column in X):
            print("logistic regression sees the measurements as they are, the others cut at the median")
        for note in frame.attrs["notes"]:
            print_wrapped(f"note: {note}")
    defaults = argparse.Namespace(
        model="anb", ess=1.0, max_parents=None, time_limit=None, threads=args.threads, json=args.json
    )
    kept = y.notna()
    X, y = X[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    name = "ANB"
    try:
        classifier = _learn(X, y, None, defaults)
    except anbexact.SearchTooLargeError:
        name, defaults.model = "NB", "nb"
        classifier = _learn(X, y, None, defaults)
    from anbexact.report.query import Query

    query = None
    try:
        query = Query(classifier, X, y, args.threads)
    except (MemoryError, ValueError) as error:
        _note(f"no question is answered: {error}")
    if args.json:
        models = [{"model": model, **row} for model, row in frame.to_dict(orient="index").items()]
        attrs = {key: frame.attrs[key] for key in ("rows", "folds", "notes")}
        learned = {"model": name, **describe(classifier)}
        document = {"data": args.data or args.dataset or DEMO_TABLE, **attrs, "models": models, "learned": learned}
        print_json({**document, "query": query and query.to_dict()})
        return
    print(f"\nThe {name} of all rows, equivalent sample size 1")
    print_structure(classifier)
    if query is not None:
        print()
        query.print()
    if args.data is None:
        print("\nOn a table of your own: anbexact compare DATA.csv --class NAME")


# --- reading ----------------------------------------------------------------------------------------------------


def _read_table(path: str, texts: Iterable[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; the columns ``texts`` are read as text, whatever they look like.

    Raises
    ------
    InputError
        If the file cannot be read, has no header, or a column without a name or with that of another.
    """
    import pandas as pd

    try:
        if path.endswith((".parquet", ".pq")):
            frame = pd.read_parquet(path)
            return frame.set_axis(frame.columns.map(str), axis=1)
        header = _header(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                path,
                dtype=dict.fromkeys(set(texts) & set(header), str),
                keep_default_na=False,
                na_values=MISSING_CELLS,
                encoding="utf-8-sig",
                float_precision="round_trip" if pd.__version__.startswith("2.") else None,
                low_memory=False,
                index_col=False,
            )
    except pd.errors.ParserWarning:
        raise InputError(f"cannot read {path}: it has rows with more cells than there are column names") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"cannot read {path}: it is not UTF-8 text; save it as CSV in UTF-8") from None
    except (ValueError, ImportError, csv.Error, EOFError) as error:
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())}") from None


def _header(path: str) -> list[str]:
    """Return the column names of a CSV file (pandas would rename what is missing or double)."""
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
        header = next(csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline="")), [])
    if not header:
        raise ValueError("the first line, which should hold the column names, is empty")
    for place, name in enumerate(header):
        if not name.strip():
            raise ValueError(
                f"column {place + 1} has no name; name it, or leave it out if it numbers the rows "
                "(pandas writes such a column unless told index=False)"
            )
        if name in header[:place]:
            raise ValueError(f"two columns are called {name!r}; give every column a name of its own")
    return header


def _features_and_class(frame: pd.DataFrame, class_name: str, path: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Split a table, leaving out the rows without a class."""
    if class_name not in frame:
        hint = " (is it separated by commas?)" if frame.shape[1] == 1 else ""
        raise InputError(f"{path} has no column {class_name!r}; its columns: {_listed(map(str, frame), '')}{hint}")
    if not len(frame):
        raise InputError(f"{path} has column names, but no rows")
    y = frame[class_name]
    absent = int(y.isna().sum())
    if absent == len(y):
        raise InputError(f"{path}: no row has a {class_name}")
    if absent:
        _note(f"{absent:,} of {len(y):,} rows have no {class_name} and are left out")
        frame, y = frame[y.notna()], y[y.notna()]
        if y.dtype.kind == "f" and (y == y.round()).all():
            y = y.astype("int64")
    return frame.drop(columns=class_name).reset_index(drop=True), y.reset_index(drop=True)


def _learn(X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None, args: argparse.Namespace) -> Any:
    """Fit the classifier that the options ask for; refused input becomes an `InputError`."""
    verbose = int(sys.stderr.isatty())
    classifier: NetworkClassifier
    if args.model == "nb":
        classifier = anbexact.NaiveBayesClassifier(ess=args.ess, n_jobs=args.threads)
    else:
        classifier = anbexact.ANBClassifier(
            ess=args.ess,
            max_parents=args.max_parents,
            time_limit=args.time_limit,
            n_jobs=args.threads,
            verbose=verbose,
        )
    with _Line():
        try:
            classifier.fit(X, y, sample_weight=weights)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    return classifier.set_params(verbose=0)


def _note_unknown(classifier: NetworkClassifier, X: pd.DataFrame) -> None:
    """Say which columns hold values that are no states, since these are silently summed out."""
    from anbexact.table import UNKNOWN

    unknown = classifier._codes(X) == UNKNOWN
    for j, name in enumerate(classifier.vocabulary_.features):
        if unknown[j].any():
            value = X[name].iloc[int(unknown[j].argmax())]
            count = int(unknown[j].sum())
            _note(f"column {name!r}: {count:,} cells hold no known state (first: {value!r}) and are summed out")


# --- writing ----------------------------------------------------------------------------------------------------


class _Line:
    """A progress line on standard error if that is a terminal; wiped away at the end."""

    def __init__(self) -> None:
        self.show: Progress | None = None
        if sys.stderr.isatty():
            from anbexact.limits import progress_line

            self.show = progress_line()

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self.show is not None:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _note(text: str) -> None:
    print(f"anbexact: note: {' '.join(text.split())}", file=sys.stderr)


def _fail(text: str, code: int) -> int:
    print(f"anbexact: error: {' '.join(text.split())}", file=sys.stderr)
    return code


def _listed(names: Iterable[str], noun: str, most: int = 10) -> str:
    """Return names as text, such as ``the columns 'a', 'b'``."""
    names = list(names)
    shown = ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"the {noun}{'s' if len(names) > 1 else ''} {shown}" if noun else shown
