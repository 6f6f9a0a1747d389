"""Fitted classifiers as a single Python file without dependencies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from anbexact.adapters.deploy.scoring_form import CodedColumn, ScoringForm, Term, scoring_form
from anbexact.files.atomic import write_atomically

__all__ = ["to_python"]

PLACE = 'MODEL = ""\n'
"""The placeholder for the model in the source of the scorer."""
MAIN = "def main("
"""Where the functions of scorecards are inserted."""
BEGIN = "# ---- functions\n"
"""Where they begin in their source."""
CHUNK = 100
"""Characters of the model in a line of the file."""


def to_python(classifier: Any, path: str | Path) -> None:
    """Write a fitted classifier as a Python file that needs only the standard library.

    The file has ``predict_proba(row)``, which takes a mapping of features to values and returns a dictionary of
    classes to probabilities, ``predict(row)``, and a command line, ``python FILE rows.csv``, that adds the prediction
    and the probabilities to a table. It runs on Python 3.8 or later and contains no compiled code, so it can be used
    where nothing can be installed. Its probabilities are those of the classifier within 1e-12.

    A feature that a row does not have is a missing cell. Missing cells and unknown values are treated according to
    ``handle_missing`` and ``handle_unknown``; summing out is exact. Names and states are data in the file, never
    code, whatever characters they contain.

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier, PooledClassifier or LogitModel
        Fitted.
    path : str or Path
        The file, which is replaced if it exists.

    Raises
    ------
    NotFittedError
        If the classifier is not fitted.
    TypeError
        For another kind of classifier, such as an AODE classifier; or for a name, state or class that is neither text
        nor a number. The message names it.
    ValueError
        For universal measures, and for columns of dates, durations and similar types.

    Examples
    --------
    >>> import runpy
    >>> import tempfile
    >>> from anbexact import TANClassifier
    >>> from anbexact.adapters import to_python
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> path = tempfile.mkdtemp() + "/monks_scorer.py"
    >>> to_python(TANClassifier().fit(X, y), path)
    >>> scorer = runpy.run_path(path)
    >>> scorer["predict"]({"jacket_color": "red"})
    'yes'
    """
    write_atomically(Path(path), python_source(scoring_form(classifier, "to_python")))


def python_source(form: ScoringForm, card: Mapping[str, Any] | None = None) -> str:
    """Return the text of the file; that of a scorecard also has functions for scores and reasons."""
    source = Path(__file__).with_name("scorer_source.py").read_text(encoding="utf-8")
    plain = _plain(form)
    if card is not None:
        plain["card"] = card
        further = Path(__file__).with_name("card_source.py").read_text(encoding="utf-8").split(BEGIN)[1]
        before, after = source.split(MAIN)
        source = f"{before}{further.strip()}\n\n\n{MAIN}{after}"
    text = json.dumps(plain, separators=(",", ":"))
    chunks = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
    before, after = source.split(PLACE)
    literal = "".join(f"    {chunk!r}\n" for chunk in chunks)
    return f"{before}MODEL = (\n{literal})\n{after}"


def _plain(form: ScoringForm) -> dict[str, Any]:
    """Return the form as values of JSON."""
    same = form.network is form.complete
    network = None if form.network is None else _terms(form.network)
    return {
        "classes": list(form.classes),
        "columns": [_column(column) for column in form.columns],
        "complete": _terms(form.complete),
        "network": "complete" if same else network,
        "obstacle": form.obstacle,
    }


def _column(column: CodedColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "arity": column.arity,
        "cuts": column.cuts,
        "codes": list(column.codes.items()),
        "missing": column.missing,
        "unknown": column.unknown,
        "ignored": column.ignored,
    }


def _terms(terms: Iterable[Term]) -> list[dict[str, Any]]:
    return [{"child": term.child, "features": term.features, "logs": term.logs.ravel().tolist()} for term in terms]
