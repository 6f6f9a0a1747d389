"""Reports of a classifier: one page to share, and the same as Markdown and JSON."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.units import counted
from anbexact.classifiers import DiscreteClassifier
from anbexact.explanations.decisions import Costs, costs_given
from anbexact.files.atomic import write_atomically
from anbexact.show.report.document import Block, Document, Fragment, Listing, Paragraph, Section
from anbexact.show.report.evidence_panel import panel_or_reason
from anbexact.show.report.page.page import PANEL_SCRIPTS, page
from anbexact.show.report.plain import plain_values
from anbexact.show.report.plain_intervals import spoken_intervals, with_spoken_intervals
from anbexact.show.report.sections.card import model_section, use_section
from anbexact.show.report.sections.decisions import decisions_section
from anbexact.show.report.sections.edits import edits_section
from anbexact.show.report.sections.features import cases_section, features_section
from anbexact.show.report.sections.groups import groups_section
from anbexact.show.report.sections.limits import limits_section, warnings_of
from anbexact.show.report.sections.network import arcs_section, network_section
from anbexact.show.report.sections.performance import performance_section, refit_section
from anbexact.show.report.sections.pool import pool_section
from anbexact.show.report.sections.reproduce import reproduce_section
from anbexact.show.report.sections.rows import rows_section
from anbexact.show.report.sections.shapes import shapes_section
from anbexact.show.report.sections.stability import stability_section
from anbexact.show.report.subject import Subject
from anbexact.show.report.validation import Validation, obstacle, validate
from anbexact.show.svg.markup import Markup, joined

PANEL_BYTES = 900_000
"""Most bytes that the tables of a panel may take within a report; ``anbexact panel`` writes pages for larger ones."""


TIME_LIMIT = 15.0
"""Default number of seconds for a report; ``anbexact report`` takes some more to read classifier and table."""
LEAST_SHARE = 0.3
"""Share of the time limit that the cross-validation has in any case."""


@dataclass(frozen=True)
class Settings:
    """How a report is made.

    Attributes
    ----------
    models : tuple of str
        Names of the rivals that are cross-validated, too.
    folds : int or None
        Number of folds; None for no cross-validation.
    time_limit : float or None
        Seconds for the report, of which the cross-validation has what the other sections leave; None for no limit.
    seed : int
        Seed of the folds.
    command : str
        The command or call that makes the report again.
    progress : callable or None
        Called with the progress of the cross-validation.
    stability : bool
        Whether there is a section on how certain the arcs and the probabilities are.
    costs : Costs or None
        What decisions cost; None for no section on decisions.
    by : mapping of str to (rows,) array
        Groups of the rows, by the names of columns, by which predictions are compared.
    """

    models: tuple[str, ...] = ()
    folds: int | None = 5
    time_limit: float | None = TIME_LIMIT
    seed: int = 0
    command: str = ""
    progress: Progress | None = None
    stability: bool = False
    costs: Costs | None = None
    by: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a classifier; made by :func:`report`.

    Attributes
    ----------
    document : Document
        Its sections.
    spoken : mapping of str to str
        What intervals are called on a page, by their names as states.
    """

    document: Document
    spoken: Mapping[str, str] = field(default_factory=dict)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no other file and no network."""
        sections = [
            (section.key, section.title, self._spoken(joined((block.html() for block in section.blocks), "\n")))
            for section in self.document.sections
        ]
        with_panel = any(
            isinstance(block, PanelBlock) for section in self.document.sections for block in section.blocks
        )
        return page(self.document.title, sections, scripts=PANEL_SCRIPTS if with_panel else ())

    def to_markdown(self) -> str:
        """Return the report as Markdown, without pictures and without the panel."""
        return with_spoken_intervals(self.document.markdown(), self.spoken, markdown=True)

    def _spoken(self, content: Markup) -> Markup:
        return Markup(with_spoken_intervals(content, self.spoken))

    def to_dict(self) -> dict[str, Any]:
        """Return what the report says as values for JSON, by section and table."""
        values: dict[str, Any] = plain_values(self.document.data())
        return values

    def save(self, path: str | Path) -> None:
        """Write the report to a file, by its extension: ``.html``, ``.md`` or ``.json``.

        Raises
        ------
        ValueError
            For another extension.
        OSError
            If the file cannot be written.
        """
        place = Path(path)
        kind = place.suffix.lower()
        if kind in (".html", ".htm"):
            text = self.to_html()
        elif kind in (".md", ".markdown"):
            text = self.to_markdown()
        elif kind == ".json":
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        else:
            raise ValueError(f"{path}: cannot infer the format; use one of the extensions .html, .md, .json")
        write_atomically(place, text, "utf-8")

    def __repr__(self) -> str:
        return f"<Report {self.document.title!r}: {len(self.document.sections)} sections>"

    def _repr_html_(self) -> str:
        return framed(self.to_html(), self.document.title)


class PanelBlock(Fragment):
    """The evidence panel of a page."""


def framed(text: str, title: str) -> str:
    """Return a page as a frame within another one, such as a notebook."""
    source = html.escape(text)
    label = html.escape(title)
    return (
        f'<iframe title="{label}" srcdoc="{source}" style="width:100%;height:80vh;border:1px solid #8888"></iframe>'
    )


def report(
    classifier: DiscreteClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    models: Iterable[str] = (),
    folds: int | None = 5,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    stability: bool = False,
    costs: Any = None,
    utilities: Any = None,
    reject: float | None = None,
    by: Any = (),
) -> Report:
    """Report on a fitted classifier: its data, network, predictions, features, single cases and limits.

    Parameters
    ----------
    classifier : DiscreteClassifier
        Fitted. Networks and their refits have all sections; an AODE has neither network nor explanations.
    X, y : features and classes
        The rows that the report is about, as in ``fit``: usually those that the classifier was learned from. Rows
        without a class are left out.
    sample_weight : (rows,) array, optional
        Weights of the rows.
    models : names, optional
        Rivals that are cross-validated with the classifier, by the names of :func:`anbexact.compare.compare`.
    folds : int or None, default 5
        Folds of the cross-validation, in which the classifier is learned again; None leaves it out.
    time_limit : float or None, default 15
        Seconds for the report. The cross-validation, which takes by far the longest, has what the other sections
        leave; if that is not enough for all folds, the report has those that are finished, and says so. None: no
        limit.
    seed : int, default 0
        Seed of the folds.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole.
    stability : bool, default False
        Whether there is a section on how certain the arcs and the probabilities are: the posterior over structures,
        what depends on single rows, and intervals of the probabilities of the single cases. With many features it can
        take some minutes.
    costs, utilities : DataFrame, mapping or array, optional
        What decisions cost, or are worth, as in :meth:`~anbexact.NetworkClassifier.decide`. The report then has a
        section on decisions: what is decided for each class, what it costs per row, and what it would cost to decide
        the most probable class. The evidence panel starts with these costs.
    reject : float, optional
        The cost (or utility) of leaving the decision about a row to somebody else.
    by : feature, list of features, or mapping of name to (rows,) array, optional
        Groups of rows, such as their sex, for a section on predictions by group: selection, error rates and
        calibration (:func:`anbexact.compare.group_metrics`). The groups are the states of a feature, more than
        six intervals joined into quarters of the rows, or the values of any other column in a mapping.

    Returns
    -------
    Report
        ``save("report.html")`` writes one self-contained page, ``save("report.md")`` and ``save("report.json")`` the
        same without pictures; in a notebook it shows itself.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    ValueError
        For rows that the classifier cannot read, a class that it does not know, an unknown rival, rows that cannot be
        divided into folds, or costs that do not fit the classes.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.report import report
    >>> X, y = load_iris()
    >>> made = report(ANBClassifier().fit(X, y), X, y, folds=None)
    >>> [section.key for section in made.document.sections][:4]
    ['summary', 'data', 'network', 'performance']
    """
    named = (models,) if isinstance(models, str) else tuple(models)
    said = {"models": repr(list(named)) if named else "", "stability": "True" if stability else ""}
    own = {"sample_weight": sample_weight, "costs": costs, "utilities": utilities, "by": by or None}
    said |= {name: name for name, value in own.items() if value is not None}
    said |= {"reject": "" if reject is None else f"{reject:g}", "folds": repr(folds), "seed": repr(seed)}
    said |= {"time_limit": "" if time_limit == TIME_LIMIT else repr(time_limit)}
    command = _call(type(classifier).__name__, {name: value for name, value in said.items() if value})
    subject = Subject.of(classifier, X, y, sample_weight)
    decided = costs_given(subject.classes, costs, utilities, reject)
    settings = (named, folds, time_limit, seed, command, progress, stability, decided)
    return make_report(subject, Settings(*settings, subject.groups(by)))


def model_card(
    classifier: DiscreteClassifier,
    X: Any,
    y: Any,
    *,
    use: str = "",
    by: Any = (),
    sample_weight: Any = None,
    folds: int | None = 5,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Return a model card: what a classifier is, what it is for, how good and how fair it is, and its limits.

    It is a short report in the order of Mitchell et al. (2019): the model with its certificate, the intended use, the
    data, held-out measures with calibration, predictions by group, changes by hand, warnings and limits.

    Parameters
    ----------
    classifier, X, y, sample_weight, folds, time_limit, seed, progress, by
        As for :func:`report`.
    use : str, optional
        Who may use the model, for what, and for what not. Without it, the card says that this was not stated.

    Returns
    -------
    Report
        ``save("card.md")`` writes Markdown, ``save("card.html")`` a page, and ``save("card.json")`` JSON.

    Raises
    ------
    sklearn.exceptions.NotFittedError, ValueError
        As for :func:`report`.

    References
    ----------
    Mitchell et al., *Model cards for model reporting*, FAT* (2019).

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.report import model_card
    >>> X, y = load_iris()
    >>> card = model_card(NaiveBayesClassifier().fit(X, y), X, y, use="Teaching.", folds=None)
    >>> [section.key for section in card.document.sections]
    ['model', 'use', 'data', 'performance', 'limits', 'reproduce']
    """
    subject = Subject.of(classifier, X, y, sample_weight)
    said = {"use": repr(use) if use else "", "by": "by" if by else "", "folds": repr(folds), "seed": repr(seed)}
    said |= {"time_limit": "" if time_limit == TIME_LIMIT else repr(time_limit)}
    arguments = ", ".join(f"{name}={value}" for name, value in said.items() if value)
    command = f"from anbexact.report import model_card\n\nmodel_card(classifier, X, y, {arguments}).save('card.md')"
    settings = Settings((), folds, time_limit, seed, command, progress, by=subject.groups(by))
    return make_card(subject, settings, use)


def make_card(subject: Subject, settings: Settings, use: str) -> Report:
    """Return the model card of a classifier; see :func:`model_card`."""
    deadline, data = Deadline(settings.time_limit), rows_section(subject)
    validation, reason = _validated(subject, settings, deadline)
    sections = [
        model_section(subject),
        use_section(use),
        data,
        _card_performance(validation, reason),
        groups_section(subject, validation, settings.by),
        edits_section(subject),
        limits_section(subject, validation),
        reproduce_section(subject, settings.command, settings.folds if validation else None, settings.seed),
    ]
    about = {"class": subject.class_name, "classes": subject.classes, "rows": len(subject.X), "model": subject.name}
    title = f"Model card: {subject.class_name} by {subject.title}"
    return Report(Document(title, [section for section in sections if section is not None], about), _spoken(subject))


def _card_performance(validation: Validation | None, reason: str) -> Section:
    """Return the measures and the calibration of a cross-validated classifier."""
    found = performance_section(validation, reason)
    kept = [block for block in found.blocks if block.key not in ("gains", "confusion")]
    return Section(found.key, found.title, kept)


def _validated(subject: Subject, settings: Settings, deadline: Deadline) -> tuple[Validation | None, str]:
    """Return the cross-validation that was asked for, or why rows cannot be divided into folds."""
    reason = "" if settings.folds is None else obstacle(subject)
    if settings.folds is None or reason:
        return None, reason
    limit = settings.time_limit
    left = None if limit is None else max(deadline.left, LEAST_SHARE * limit)
    found = validate(subject, settings.folds, settings.seed, settings.models, settings.progress, left)
    return found, ""


def _call(name: str, given: Mapping[str, str]) -> str:
    """Return the call that makes a report again, with the arguments that were given."""
    arguments = ", ".join(["classifier", "X", "y", *(f"{key}={value}" for key, value in given.items())])
    return (
        f"from anbexact.report import report\n\n# classifier: the {name} of this report\n"
        f"report({arguments}).save('report.html')"
    )


def make_report(subject: Subject, settings: Settings) -> Report:
    """Return the report on a classifier and rows; see :func:`report`."""
    deadline = Deadline(settings.time_limit)
    data, network, pool = rows_section(subject), network_section(subject), pool_section(subject)
    told = [features_section(subject), shapes_section(subject), cases_section(subject)]
    told += [_panel(subject.classifier, settings.costs), arcs_section(subject)]
    told.append(stability_section(subject) if settings.stability else None)
    validation, reason = _validated(subject, settings, deadline)
    sections = [
        _summary(subject, validation),
        data,
        network,
        performance_section(validation, reason),
        pool,
        refit_section(validation),
        edits_section(subject),
        groups_section(subject, validation, settings.by),
        decisions_section(subject, validation, settings.costs),
        *told,
        limits_section(subject, validation),
        reproduce_section(subject, settings.command, settings.folds if validation else None, settings.seed),
    ]
    title = f"{subject.class_name}: {subject.title}"
    about = {"class": subject.class_name, "classes": subject.classes, "rows": len(subject.X), "model": subject.name}
    return Report(Document(title, [section for section in sections if section is not None], about), _spoken(subject))


def _spoken(subject: Subject) -> dict[str, str]:
    """Return what intervals are called on a page, by their names as states."""
    model: Any = subject.classifier.model_
    models = [model, model.learned, *(getattr(member, "model", None) for member in getattr(model, "members", ()))]
    return dict(spoken_intervals(of for of in models if of is not None))


def _summary(subject: Subject, validation: Validation | None) -> Section:
    """Return the report in a few sentences."""
    structure = subject.structure
    sentences = [
        f"{subject.title[:1].upper()}{subject.title[1:]}: a model of the probabilities of {len(subject.classes)} "
        f"classes of {subject.class_name}, given {counted(len(subject.vocabulary.used), 'feature')}."
    ]
    if structure is not None:
        n_arcs = len(structure.feature_edges)
        proved = "is proved" if structure.certificate.optimal else "is not proved"
        sentences.append(
            f"Its network has {counted(n_arcs, 'arc') if n_arcs else 'no arcs'} between features and {proved} to "
            "have the best score of its kind."
        )
    blocks: list[Block] = [Paragraph(" ".join(sentences), "lead", "text")]
    points = []
    if validation is not None and validation.own in validation.lines:
        own = validation.lines[validation.own]
        low, high = own.accuracy_interval()
        loss = own.loss_interval()[0]
        points.append(
            f"Held-out rows: {own.values['accuracy']:.1%} are classified correctly (95 % interval {low:.1%} to "
            f"{high:.1%}); log loss {loss:.4f} nats per row: on average, the true class gets a probability of "
            f"{np.exp(-loss):.3f} (geometric mean)."
        )
        shares = np.bincount(own.truth, own.weights, len(validation.classes)) / own.weights.sum()
        points.append(f"Always answering the most frequent class would be right for {shares.max():.1%} of the rows.")
    count = len(warnings_of(subject, validation))
    points.append(f"Warnings: {count}, in the section on warnings and limits." if count else "Warnings: none.")
    return Section("summary", "In short", [*blocks, Listing(points, key="points")])


def _panel(classifier: DiscreteClassifier, costs: Costs | None) -> Section:
    """Return the evidence panel, or a sentence that says why there is none."""
    found = panel_or_reason(classifier, PANEL_BYTES, costs)
    title = "Try it: evidence and probabilities"
    if isinstance(found, str) and not isinstance(found, Markup):
        return Section("panel", title, [Paragraph(found)])
    return Section("panel", title, [PanelBlock(found, "The evidence panel is part of the HTML report.")])
