"""Nomograms of fitted classifiers: a sheet for paper, and the same sheet with a calculator as a page."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anbexact.explanations.nomogram import Correction, PointSystem, Ruler, point_system
from anbexact.files.atomic import atomic_path, write_atomically
from anbexact.models.family_sum import FamilySum
from anbexact.models.model import Model
from anbexact.models.network.network import TableNetwork
from anbexact.show.report.embedded import data_script, described, encoded, table_bytes, text_of
from anbexact.show.report.making import PANEL_BYTES, framed
from anbexact.show.report.page.page import page
from anbexact.show.svg.charts import COLOURS
from anbexact.show.svg.markup import element
from anbexact.show.svg.nomogram import LEFT, RIGHT, Sheet, sheet_of, state_texts
from anbexact.tables.reader import Reader

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 20_000_000
"""Most bytes that the terms of a page may take."""
PICTURES = (".pdf", ".png", ".svg")
"""Extensions of files that matplotlib writes."""


@dataclass(frozen=True, eq=False)
class Nomogram:
    """A nomogram; made by :func:`nomogram`.

    Attributes
    ----------
    system : PointSystem
        The points of all features, whose sums are the log odds exactly.
    sheet : Sheet
        What is drawn, on one sheet of A4; its ``system`` lacks what is left out.
    reader : Reader
        How the classifier reads rows.
    """

    system: PointSystem
    sheet: Sheet
    reader: Reader

    @property
    def left_out(self) -> list[tuple[Hashable, ...]]:
        """What is not on the sheet, because it would not fit: features, and sets of features that interact."""
        return list(self.sheet.system.left_out)

    def to_frame(self) -> pd.DataFrame:
        """Return the points as a frame, with a row for every class, ruler and state.

        The columns are ``class``, ``feature``, ``given`` (states of other features, if the points depend on them),
        ``state`` and ``points``. Corrections have their features, joined by ``" & "``, as ``feature``, and those of
        their states as ``state``.
        """
        rows = []
        vocabulary = self.system.source.vocabulary
        for part in self.system.parts:
            texts = [state_texts(vocabulary, self.reader.cut_points, name) for name in part.features]
            for cell in np.ndindex(part.points.shape[:-1]):
                states = [texts[axis][k] for axis, k in enumerate(cell)]
                for contrast, k in enumerate(self.system.compared):
                    names = _names_of(part, states)
                    rows.append((self.system.classes[k], *names, float(part.points[*cell, contrast])))
        return pd.DataFrame(rows, columns=["class", "feature", "given", "state", "points"])

    def plot(self) -> Figure:
        """Return the sheet as a matplotlib figure of the size of A4.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from anbexact.show.figures.nomogram import draw_sheet

        return draw_sheet(self.sheet)

    def to_html(self) -> str:
        """Return a page that needs no other file and no network: a calculator, and the sheet.

        The calculator computes the probabilities from all terms, whether they are on the sheet or not. Printing the
        page prints the sheet alone.

        Raises
        ------
        ValueError
            If the terms are too large for a page.
        """
        description = _described(self)
        noscript = element("p", "The calculator needs JavaScript, which is switched off here.", class_="note")
        body = element(
            "div",
            element("div", class_="nomogram-calculator"),
            element("noscript", noscript),
            element("figure", self.sheet.svg()),
            data_script(description, "nomogram-data"),
            class_="nomogram-page",
        )
        title = f"{self.system.source.vocabulary.class_name}: nomogram"
        sections = [("nomogram", "Enter values, or print the sheet", body)]
        return page(title, sections, scripts=("engine.js", "nomogram.js"), styles=("nomogram.css",), contents=False)

    def save(self, path: str | Path) -> None:
        """Write a file: a page with the calculator (``.html``), or the sheet alone (``.pdf``, ``.png`` or ``.svg``).

        Raises
        ------
        ImportError
            If matplotlib, which writes all but HTML, is not installed.
        ValueError
            For another extension, or if the terms are too large for a page.
        OSError
            If the file cannot be written.
        """
        place = Path(path)
        kind = place.suffix.lower()
        if kind in (".html", ".htm"):
            write_atomically(place, self.to_html(), "utf-8")
        elif kind in PICTURES:
            with atomic_path(place) as draft:
                self.plot().savefig(draft, format=kind[1:], dpi=300)
        else:
            raise ValueError(f"{path}: cannot infer the format; use one of the extensions .html, .pdf, .png, .svg")

    def __repr__(self) -> str:
        shown = self.sheet.system
        return f"<Nomogram of {shown.source.vocabulary.class_name!r}: {len(shown.rulers)} rulers>"

    def _repr_html_(self) -> str:
        return framed(self.to_html(), "nomogram")


def nomogram(classifier: Any, *, against: Any = None, most: int | None = None, title: str = "") -> Nomogram:
    """Return the nomogram of a fitted classifier: rulers of points that add up to the log odds of its classes.

    Every feature has a ruler on a common scale of points, the widest from 0 to 100. The sum of the points is a linear
    function of the log odds, ``ln P(class | x) / P(reference | x)``, so an axis below the total points shows the
    probability. With more than two classes, every class other than the reference has its own rulers and its own
    outcome axis, of its odds o against the reference; then ``P(class | x) = o / (1 + Σ o)``.

    Where a feature depends on others in the model, its ruler has a line for every state of these. If there were more
    than four, it has one line, and there is a two-way table of points to add or subtract.

    Parameters
    ----------
    classifier : DiscreteClassifier or LogitModel
        Fitted; any whose log odds are a sum over families of features: naive Bayes, TAN, ANB and other networks,
        their refits, smooth or not, and pools of these.
    against : class label, optional
        The reference class; by default, the first.
    most : int, optional
        Maximum number of features on the sheet, the most important ones: those whose points have the largest
        standard deviation. By default, as many as fit on one sheet of A4. Whatever is left out counts with its mean
        points, and the sheet says so.
    title : str, optional
        What is written above the sheet.

    Returns
    -------
    Nomogram
        ``save("sheet.html")`` writes a page with a calculator, ``save("sheet.pdf")`` the sheet alone, and ``plot()``
        returns a matplotlib figure.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If its log odds are not a sum over families, as those of averages are not.
    ValueError
        If a table contains a zero, columns are modelled by densities, there is one class only, or an argument is
        invalid.

    References
    ----------
    Možina, Demšar, Kattan and Zupan, *Nomograms for visualization of naive Bayesian classifier*, PKDD (2004);
    Harrell, *Regression Modeling Strategies* (2015), chapter 10.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.datasets import load_breast_cancer
    >>> from anbexact.report import nomogram
    >>> X, y = load_breast_cancer()
    >>> made = nomogram(NaiveBayesClassifier().fit(X, y), most=8)
    >>> made
    <Nomogram of 'diagnosis': 8 rulers>
    >>> len(made.left_out)
    22
    """
    if most is not None and (isinstance(most, bool) or int(most) < 1):
        raise ValueError(f"most must be a whole number above 0, not {most!r}")
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    model, reader = _summed(classifier)
    source = model.family_sum()
    _check_terms(source)
    system = point_system(source, against)
    return Nomogram(system, sheet_of(system, reader.cut_points, most=most, title=title), reader)


def _summed(classifier: Any) -> tuple[Model, Reader]:
    """Return the model whose log odds are a sum, and how it reads rows: of a pool, its logistic regression."""
    model: Model = classifier.model_
    try:
        model.family_sum()
        return model, classifier.reader_
    except TypeError as error:
        if not hasattr(classifier, "to_logit"):
            raise TypeError(
                f"a nomogram needs log odds that are a sum of terms, and {error}: learn one network, such as "
                "TANClassifier or AdditiveClassifier"
            ) from error
    logit = classifier.to_logit()
    return logit, logit.reader_


def _check_terms(source: FamilySum) -> None:
    """Refuse densities and tables with zeros, with what to do."""
    try:
        source.potentials  # noqa: B018  # computed, or refused, here
    except ValueError as error:
        raise ValueError(f"there is no nomogram of this classifier: {error}") from error


def _names_of(part: Ruler | Correction, states: Sequence[str]) -> tuple[str, str, str]:
    """Return feature, given states and state of a cell, for a frame."""
    if isinstance(part, Correction):
        return " & ".join(map(str, part.features)), "", " & ".join(states)
    given = "; ".join(f"{name}: {state}" for name, state in zip(part.given, states[1:], strict=True))
    return str(part.feature), given, states[0]


def _described(made: Nomogram) -> dict[str, Any]:
    """Return what the page computes with."""
    system, sheet, source = made.system, made.sheet, made.system.source
    vocabulary = source.vocabulary
    place = {name: j for j, name in enumerate(vocabulary.features)}
    size = 11 * sum(of.logs.size for of in source.potentials)
    if size > MOST_BYTES:
        raise ValueError(
            f"the terms would take {size / 1e6:,.1f} MB of the page, and {MOST_BYTES / 1e6:,.0f} MB are set aside "
            "for them: save the sheet as PDF"
        )
    network = _network_of(source)
    return {
        "classes": [text_of(label) for label in system.classes],
        "compared": system.compared,
        "colours": [COLOURS[k % len(COLOURS)] for k in range(len(system.constant))],
        "features": [_feature(made.reader, name, source) for name in vocabulary.features],
        "places": [vocabulary.positions[name] for name in vocabulary.features],
        "terms": [
            {"features": [place[name] for name in of.features], "logs": encoded(of.logs, "<f8")}
            for of in source.potentials
        ],
        "network": None if network is None else described(network, intervals=False),
        "parts": [
            *(_ruler(ruler, place) for ruler in sheet.system.rulers),
            *(_part(correction, place) for correction in sheet.system.corrections),
        ],
        "constant": sheet.system.constant.tolist(),
        "points_per_nat": system.points_per_nat,
        "left_out": bool(sheet.system.left_out),
        "axes": {
            "totals": list(sheet.totals),
            "left": LEFT,
            "right": RIGHT,
            "total_y": sheet.total_y,
            "outcome_y": sheet.outcome_y,
        },
    }


def _network_of(source: FamilySum) -> TableNetwork | None:
    """Return the network that sums out values that are not known; None if there is none, or if it is too large."""
    try:
        network = source.network
    except (ValueError, MemoryError):
        return None
    return network if table_bytes(network) <= PANEL_BYTES else None


def _feature(reader: Reader, name: Hashable, source: FamilySum) -> dict[str, Any]:
    """Return how the calculator reads a feature: as a number between cut points, or as a choice of codes."""
    vocabulary = source.vocabulary
    cuts = reader.cut_points.get(name)
    missing = {"marginalize": -1, "error": -2}.get(reader.missing_rules[name], vocabulary.missing_code(name))
    found: dict[str, Any] = {"name": text_of(name), "size": vocabulary.arity(name), "missing": missing}
    if name in vocabulary.left_out:
        return found | {"hidden": True}
    if cuts is not None and name not in vocabulary.quantities:
        return found | {"cuts": cuts.tolist()}
    if cuts is not None:
        texts = state_texts(vocabulary, reader.cut_points, name)
        return found | {"choices": [[text, code] for code, text in enumerate(texts)]}
    return found | {"choices": [[text_of(value), vocabulary.code(name, value)] for value in vocabulary.values(name)]}


def _part(part: Ruler | Correction, place: dict[Hashable, int]) -> dict[str, Any]:
    return {"features": [place[name] for name in part.features], "points": encoded(part.points, "<f8")}


def _ruler(ruler: Ruler, place: dict[Hashable, int]) -> dict[str, Any]:
    """Return a ruler as the page reads it; ``lines`` has the name of the line of every joint state of the others."""
    first = {cell: list(of[0]) for of in ruler.lines(1e-6) for cell in of}
    lines = [first[cell] for cell in np.ndindex(ruler.points.shape[1:-1])]
    unknown = None if ruler.unknown is None else encoded(ruler.unknown, "<f8")
    return {**_part(ruler, place), "unknown": unknown, "lines": lines}
