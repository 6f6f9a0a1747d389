"""Warnings that point at the caller's own line, and are not repeated when scikit-learn fits many times."""

from __future__ import annotations

import re
import sys
import warnings
from types import FrameType

PACKAGE_NAME = "anbexact"
OUTER_PACKAGES = ("sklearn", "joblib", "concurrent", "threading", "numba", "contextlib")
"""Packages whose frames may lie between the user's line and a warning: meta-estimators, workers and the compiler."""
_given: set[tuple[str, int, str]] = set()
"""Warnings that were given during such fits: file, line, and text without details."""


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, pointing at the innermost line outside this package, scikit-learn and joblib.

    Cross-validation and meta-estimators fit parts of the same data many times, and scikit-learn forgets in between
    which warnings it has shown. During such a fit, a warning that differs from an earlier one for the same line only
    in numbers and names is not repeated, unless the warning filters ask for every one.

    Parameters
    ----------
    text : str
        The problem, and the remedy.
    category : type, default UserWarning
        The kind of warning.
    """
    frame: FrameType | None = sys._getframe(1)
    depth, own_depth, within = 2, None, False
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package != PACKAGE_NAME and own_depth is None:
            own_depth = depth
        if package != PACKAGE_NAME and package not in OUTER_PACKAGES:
            break
        within |= package in OUTER_PACKAGES
        frame, depth = frame.f_back, depth + 1
    if frame is not None and within and first_action(category) not in ("always", "all", "error"):
        key = frame.f_code.co_filename, frame.f_lineno, _without_details(text)
        if key in _given:
            return
        _given.add(key)
    warnings.warn(text, category, stacklevel=depth if frame is not None else own_depth or 2)


def _without_details(text: str) -> str:
    """Return a message without numbers, names and parentheses, and with words that agree with them in the plural."""
    while (shorter := re.sub(r"'[^']*'|\([^()]*\)|\d[\d.,]*", "", text)) != text:
        text = shorter
    words = re.findall(r"\w+", text)
    return " ".join({"has": "have", "is": "are", "it": "them", "row": "rows"}.get(word, word) for word in words)


def first_action(category: type[Warning]) -> str | None:
    """Return what the first warning filter for all warnings of a category does with them; None if there is none."""
    for action, message, of, module, line in warnings.filters:
        if message is None and module is None and line == 0 and issubclass(category, of):
            return action
    return None
