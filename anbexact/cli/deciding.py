"""Decisions on the command line: other shares of the classes, costs, rejection."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anbexact.cli.messages import InputError, listed
from anbexact.explanations.decisions import Costs, check_class_prior, decided_by_costs, read_costs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from anbexact.classifiers import DiscreteClassifier


def add_deciding(parser: argparse.ArgumentParser) -> None:
    """Add the options of decisions: ``--class-prior``, ``--cost`` and ``--reject``."""
    group = parser.add_argument_group("decisions")
    group.add_argument(
        "--class-prior",
        action="append",
        default=[],
        metavar="CLASS=SHARE[,...]",
        help="the shares of the classes where the rows come from, if they differ from those in training; repeatable",
    )
    add_costs(group)


def add_costs(group: argparse._ArgumentGroup) -> None:
    """Add ``--cost`` and ``--reject``."""
    group.add_argument(
        "--cost",
        action="append",
        default=[],
        metavar="CLASS=COST[,...]",
        help="what it costs to mistake a row of this class for another class; by default 1; repeatable",
    )
    group.add_argument(
        "--reject", type=_cost, metavar="COST", help="what it costs to leave a row undecided, as (reject)"
    )


def add_cost_table(parser: argparse.ArgumentParser) -> None:
    """Add ``--costs``, ``--cost`` and ``--reject``."""
    group = parser.add_argument_group("decisions")
    group.add_argument(
        "--costs",
        metavar="FILE",
        help="a CSV file of what decisions cost: true classes in the first column, decisions in the first line",
    )
    add_costs(group)


def costs_of(args: argparse.Namespace, classes: list[Any]) -> Costs | None:
    """Return what decisions cost, from a file or by class; None if no option names a cost."""
    if args.costs is None:
        if not args.cost and args.reject is None:
            return None
        return read_costs(costs_by_class(args.cost, classes), "costs", classes).with_rejection(args.reject)
    if args.cost:
        raise InputError("--costs and --cost exclude each other")
    import pandas as pd

    known = {str(label): label for label in classes}
    try:
        frame = pd.read_csv(args.costs, index_col=0, dtype=str)
        frame = frame.rename(index=lambda label: known.get(str(label), label), columns=lambda d: known.get(d, d))
        return read_costs(frame, "costs", classes).with_rejection(args.reject)
    except (OSError, ValueError) as error:
        raise InputError(f"--costs {args.costs}: {error}") from None


def check_deciding(args: argparse.Namespace) -> None:
    """Refuse options that do not apply together."""
    given = [name for name in ("class_prior", "cost", "reject") if getattr(args, name) not in ([], None)]
    if args.explain and given:
        option = "--" + given[0].replace("_", "-")
        raise InputError(f"--explain and {option} exclude each other: the terms are those of the classifier as it is")


def probabilities(classifier: DiscreteClassifier, X: Any, args: argparse.Namespace) -> npt.NDArray[np.float64]:
    """Return P(class | row), adjusted to the shares of the classes if ``--class-prior`` names them."""
    if not args.class_prior:
        return classifier.predict_proba(X)
    shares = _by_class(args.class_prior, "--class-prior", classifier.classes_.tolist())
    try:
        check_class_prior(shares, classifier.classes_.tolist())
    except ValueError as error:
        raise InputError(f"--class-prior: {error}") from None
    known: dict[str, Any] = {"class_prior": shares}
    return classifier.predict_proba(X, **known)


def decided(classifier: DiscreteClassifier, proba: npt.NDArray[np.float64], args: argparse.Namespace) -> Any:
    """Return the decision about every row: the most probable class, or the decision of least expected cost."""
    if not args.cost and args.reject is None:
        return classifier.classes_[proba.argmax(axis=1)]
    classes = classifier.classes_.tolist()
    given = costs_by_class(args.cost, classes)
    return decided_by_costs(proba, classes, read_costs(given, "costs", classes), args.reject)["decision"].to_numpy()


def costs_by_class(texts: Sequence[str], classes: Sequence[Any]) -> dict[Any, float]:
    """Return the cost of taking a row of a class for another, from texts such as ``"yes=10"``; by default 1."""
    given = _by_class(texts, "--cost", classes)
    for label, cost in given.items():
        if not 0 <= cost < math.inf:
            raise InputError(f"--cost {label}={cost:g}: what an error costs must be a finite number, 0 or more")
    return {**dict.fromkeys(classes, 1.0), **given}


def _cost(text: str) -> float:
    """Return the value of an option that is a cost."""
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not 0 <= cost < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a cost: it must be a finite number, 0 or more")
    return cost


def _by_class(texts: Sequence[str], option: str, classes: Sequence[Any]) -> dict[Any, float]:
    """Return numbers by class, from texts such as ``"yes=0.2,no=0.8"``."""
    known = {str(label): label for label in classes}
    found = {}
    for part in (part for text in texts for part in text.split(",")):
        label, equals, number = part.rpartition("=")
        if not equals or label not in known:
            raise InputError(f"{option} {part!r}: write CLASS=NUMBER, where CLASS is one of {listed(known, '')}")
        try:
            found[known[label]] = float(number)
        except ValueError:
            raise InputError(f"{option} {part!r}: {number!r} is not a number") from None
    return found
