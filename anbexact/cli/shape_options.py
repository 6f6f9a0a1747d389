"""The options of ``anbexact fit`` that are conditions on smooth shapes, or on how classes share them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from anbexact.cli.messages import InputError

NAMES = ("monotone", "convex", "concave", "cyclic", "flat_beyond", "ordered_classes")
"""Parameters of :class:`~anbexact.AdditiveClassifier` that the options set."""


def add_shapes(group: argparse._ArgumentGroup) -> None:
    """Add the options; all of them need ``--smooth``."""
    group.add_argument(
        "--monotone",
        nargs="+",
        metavar="A=1",
        help="with --smooth: features along which the log odds of the second class may not fall (A=1) or not rise "
        "(A=-1); A=CLASS:1 for another class",
    )
    group.add_argument(
        "--convex",
        nargs="+",
        metavar="A",
        help="with --smooth: features along which the log odds of the second class are convex; A=CLASS for another",
    )
    group.add_argument(
        "--concave",
        nargs="+",
        metavar="A",
        help="with --smooth: features along which the log odds of the second class are concave; A=CLASS for another",
    )
    group.add_argument(
        "--cyclic", nargs="+", metavar="A", help="with --smooth: features whose last state is followed by the first"
    )
    group.add_argument(
        "--flat-beyond",
        nargs="+",
        metavar="A=LOW:HIGH",
        help="with --smooth: bounds beyond which shapes are constant; LOW or HIGH may be left out",
    )
    group.add_argument(
        "--ordered-classes",
        nargs="+",
        metavar="CLASS",
        help="with --smooth: the classes from the lowest to the highest, which then share their shapes",
    )


def chosen_shapes(args: argparse.Namespace, classes: Iterable[Any]) -> dict[str, Any]:
    """Return the conditions on shapes that options name; classes are those of the table.

    Raises
    ------
    InputError
        If shapes are not smooth, or a condition is not written as it should be.
    """
    given = {name: getattr(args, name) for name in NAMES if getattr(args, name, None)}
    if given and not args.smooth:
        raise InputError(f"--{next(iter(given)).replace('_', '-')} is a condition on smooth shapes: add --smooth")
    labels = {str(label): label for label in classes}
    found: dict[str, Any] = {}
    for name, texts in given.items():
        option = f"--{name.replace('_', '-')}"
        if name == "cyclic":
            found[name] = texts
        elif name == "ordered_classes":
            found[name] = [_label(text, labels, option) for text in texts]
        elif name == "flat_beyond":
            found[name] = dict(_bounds(text) for text in texts)
        elif name == "monotone":
            found[name] = _directions(texts, labels)
        else:
            pairs = [text.rpartition("=")[::2] if "=" in text else (text, "") for text in texts]
            named = {feature: _label(label, labels, option) for feature, label in pairs if label}
            found[name] = {feature: named.get(feature) for feature, _ in pairs} if named else texts
    return found


def _directions(texts: Iterable[str], labels: dict[str, Any]) -> dict[str, Any]:
    """Return the directions of features, each written as ``A=1`` or ``A=CLASS:1``."""
    found: dict[str, Any] = {}
    for text in texts:
        feature, _, rest = text.rpartition("=")
        label, _, sign = rest.rpartition(":")
        if not feature or sign not in ("1", "+1", "-1"):
            raise InputError(f"--monotone {text}: this is not a direction such as age=1 or age=-1")
        if label:
            of_feature = found.setdefault(feature, {})
            if isinstance(of_feature, dict):
                of_feature[_label(label, labels, "--monotone")] = int(sign)
                continue
        if feature in found:
            raise InputError(f"--monotone {text}: {feature} has another direction already; name it once")
        found[feature] = int(sign)
    return found


def _label(text: str, labels: dict[str, Any], option: str) -> Any:
    """Return the class that a text names."""
    if text not in labels:
        raise InputError(f"{option} names {text!r}, which is not one of the classes {', '.join(labels)}")
    return labels[text]


def _bounds(text: str) -> tuple[str, tuple[float | None, float | None]]:
    """Return a feature and its bounds, written as ``A=LOW:HIGH``."""
    feature, _, rest = text.rpartition("=")
    ends = rest.split(":")
    try:
        low, high = (float(end) if end else None for end in ends)
    except ValueError:
        raise InputError(f"--flat-beyond {text}: these are not bounds such as age=20:80 or age=:80") from None
    return feature, (low, high)
