"""How well the classifier predicts: held-out measures, calibration, gains, confusion; the network and its refit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.units import agreeing, counted
from anbexact.compare.curves import confusion, gains, reliability, roc
from anbexact.compare.metrics import BASELINE
from anbexact.show.measures import MEASURES
from anbexact.show.report.document import Block, Charts, Column, Listing, Matrix, Paragraph, Records, Section
from anbexact.show.report.validation import HeldOut, Validation
from anbexact.show.svg.charts import Chart, Line

MOST_CLASSES = 6
"""Most classes that have a curve, the most frequent ones."""
MOST_POINTS = 150
"""Most points of a curve."""
BINS = 10
"""Most bins of a calibration curve."""

DIAGONAL = ((0.0, 0.0), (1.0, 1.0))
"""The ends of the line of calibrated probabilities, or of classes that are guessed at random."""


def performance_section(validation: Validation | None, reason: str = "") -> Section:
    """Return the measures of all models, and the curves of the classifier."""
    title = "How well it predicts"
    if validation is None:
        why = f"The rows cannot be cross-validated ({reason})" if reason else "The cross-validation was left out"
        text = f"{why}, so this report does not say how well the classifier predicts new rows."
        return Section("performance", title, [Paragraph(text)])
    how = (
        f"{validation.folds}-fold cross-validation: in every fold, cut points, structure, tables and coefficients "
        "are learned anew from the other rows, so every row is predicted by a model that has not seen it. Intervals "
        "are 95 % intervals for other rows to predict; other training rows could change the results by more."
    )
    if validation.own in validation.lines and validation.finished < validation.folds:
        n_rows = len(validation.lines[validation.own].truth)
        how += (
            f" The time limit of this report sufficed for {validation.finished} of {validation.folds} folds: what "
            f"follows is measured on their {n_rows:,} of {validation.n_rows:,} rows."
        )
    if validation.own not in validation.lines:
        failed = Paragraph("The classifier was not cross-validated; the notes say why.")
        return Section("performance", title, [failed, Listing(validation.notes, key="notes")])
    own = validation.lines[validation.own]
    blocks: list[Block] = [Paragraph(how), measures(validation)]
    if validation.notes:
        blocks.append(Listing(validation.notes, key="notes"))
    shown = own.possible()
    if len(shown.truth) < len(own.truth):
        count = len(own.truth) - len(shown.truth)
        are, their = agreeing(count, "is", "are"), agreeing(count, "its", "their")
        text = f"Curves leave out {counted(count, 'row')} that {are} impossible under the model of {their} fold."
        blocks.append(Paragraph(text, "note"))
    if len(shown.truth):
        blocks += [_calibration(shown, validation), _gains(shown, validation)]
    blocks.append(_confusion(own, validation.classes))
    return Section("performance", title, blocks)


def measures(validation: Validation) -> Records:
    """Return accuracy, log loss, Brier score and calibration error of all models with intervals."""
    own = validation.lines[validation.own]
    records = []
    for name, line in validation.lines.items():
        low, high = line.accuracy_interval()
        loss, loss_low, loss_high = line.loss_interval()
        difference = (None, None, None) if name == validation.own else line.loss_interval(own)
        records.append(
            {
                "model": name,
                "accuracy": line.values["accuracy"],
                "accuracy_low": low,
                "accuracy_high": high,
                "accuracy_text": f"{line.values['accuracy']:.4f} ({low:.4f} to {high:.4f})",
                "log_loss": loss,
                "log_loss_low": loss_low,
                "log_loss_high": loss_high,
                "log_loss_against_this_model": difference[0],
                "difference_low": difference[1],
                "difference_high": difference[2],
                "difference_text": _difference(difference),
                **{key: line.values[key] for key in ("brier", "calibration_error", "parameters", "fit_seconds")},
            }
        )
    columns = [
        Column("model", "model"),
        Column("accuracy_text", MEASURES["accuracy"].heading),
        _column("log_loss", "share"),
        Column("difference_text", "against this model"),
        *map(_column, ("brier", "calibration_error", "parameters")),
    ]
    note = (
        "Log loss: mean of -ln P(true class), nats per row; the difference from this model is paired over rows, and "
        "above 0 where this model is better. Brier: summed over classes, 0 to 2. ECE: expected calibration error of "
        "the predicted class. Class frequencies: what a model without features achieves."
    )
    return Records("measures", columns, records, "Models, measured on rows that they were not learned from", note)


def _column(name: str, bar: str = "") -> Column:
    """Return the column of a measure."""
    return Column(name, MEASURES[name].heading, MEASURES[name].digits, bar)


def _difference(values: tuple[float | None, float | None, float | None]) -> str:
    mean, low, high = values
    if mean is None or low is None or high is None:
        return ""
    if not math.isfinite(mean):
        return "∞" if mean > 0 else "–"
    return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})".replace("-", "−")


def _shown_classes(own: HeldOut, classes: list[Any]) -> list[int]:
    """Return the classes that have curves: the second one of two, else the most frequent ones."""
    return _in_order(classes)[1:] if len(classes) == 2 else _by_frequency(own, classes)[:MOST_CLASSES]


def _by_frequency(own: HeldOut, classes: list[Any]) -> list[int]:
    """Return the positions of the classes, the most frequent first; equally frequent ones in their order."""
    weights = np.bincount(own.truth, own.weights, len(classes))
    return sorted(_in_order(classes), key=lambda k: -weights[k])


def _in_order(classes: list[Any]) -> list[int]:
    """Return the positions of the classes in ascending order, or in that of their texts if their types are mixed."""
    try:
        return sorted(range(len(classes)), key=lambda k: classes[k])
    except TypeError:
        return sorted(range(len(classes)), key=lambda k: str(classes[k]))


def _calibration(own: HeldOut, validation: Validation) -> Charts:
    lines, rocs = [], []
    for k in _shown_classes(own, validation.classes):
        name, event, p = str(validation.classes[k]), own.truth == k, own.proba[:, k]
        curve = reliability(event, p, BINS, own.weights)
        band = list(zip(curve["predicted"], curve["low"], curve["high"], strict=True))
        lines.append(Line(name, list(zip(curve["predicted"], curve["observed"], strict=True)), band, marks=True))
        points, area = roc(event, p, own.weights)
        if len(points):
            thinned = _thinned(points)
            of_curve = list(zip(thinned["false_positive_rate"], thinned["true_positive_rate"], strict=True))
            rocs.append(Line(f"{name} (area {area:.3f})", of_curve))
    charts = [
        Chart("Calibration", "predicted probability", "observed share", lines, reference=DIAGONAL),
        Chart("ROC", "false positive rate", "true positive rate", rocs, reference=DIAGONAL),
    ]
    note = (
        "Calibration: rows are put into bins of about equal weight by the predicted probability of a class; a point "
        "on the dashed line means that the class is as frequent as predicted. Bands are 95 % intervals. ROC: the "
        "area is the probability that a row of the class gets a higher probability of it than another class's row."
    )
    return Charts("calibration", charts, note + _which(validation.classes))


def _gains(own: HeldOut, validation: Validation) -> Charts:
    captured, lifts, most = [], [], 1.0
    for k in _shown_classes(own, validation.classes):
        name = str(validation.classes[k])
        curve = _thinned(gains(own.truth == k, own.proba[:, k], own.weights).dropna())
        captured.append(Line(name, list(zip(curve["selected"], curve["captured"], strict=True))))
        seen = curve[curve["selected"] >= 0.01]
        lifts.append(Line(name, list(zip(seen["selected"], seen["lift"], strict=True))))
        most = max(most, float(seen["lift"].max()) if len(seen) else 1.0)
    x_label = "share of rows, most probable first"
    charts = [
        Chart("Gains", x_label, "share of the class", captured, reference=DIAGONAL),
        Chart("Lift", x_label, "lift", lifts, (0.0, 1.0), (0.0, most * 1.05), ((0.0, 1.0), (1.0, 1.0))),
    ]
    note = (
        "Gains: the share of a class that is found among the rows with the highest probability of it. Lift: how much "
        "more frequent the class is among these than among all rows, drawn from the first hundredth of the rows on."
    )
    return Charts("gains", charts, note + _which(validation.classes))


def _which(classes: list[Any]) -> str:
    return f" Curves are of the {MOST_CLASSES} most frequent classes." if len(classes) > MOST_CLASSES else ""


def _thinned(frame: pd.DataFrame) -> pd.DataFrame:
    if len(frame) <= MOST_POINTS:
        return frame
    return frame.iloc[np.unique(np.linspace(0, len(frame) - 1, MOST_POINTS).round().astype(int))]


def _confusion(own: HeldOut, classes: list[Any]) -> Matrix:
    order = _by_frequency(own, classes)
    matrix = confusion(own.truth, own.proba.argmax(axis=1), classes, own.weights).to_numpy()[np.ix_(order, order)]
    caption = (
        "Held-out rows by true class (rows) and predicted class (columns), the most frequent class first; shaded by "
        "the share of the true class"
    )
    return Matrix("confusion", [classes[k] for k in order], matrix.tolist(), caption)


def refit_section(validation: Validation | None) -> Section | None:
    """Compare the network as it was learned, its refit, and the pool of both; None if one is missing."""
    if validation is None or validation.refit is None:
        return None
    generative, refitted, pooled = validation.refit
    first, second = validation.lines[generative], validation.lines[refitted]
    mean, low, high = second.loss_interval(first)
    if math.isfinite(low) and high < 0:
        verdict = "The refit predicts better: the interval of the difference lies below 0."
    elif math.isfinite(low) and low > 0:
        verdict = "The network as it was learned predicts better: the interval of the difference lies above 0."
    else:
        verdict = "These rows do not tell which of the two predicts better: the interval contains 0."
    which = "This model is the refit." if refitted == validation.own else "This model is the generative network."
    text = (
        "The same network in two ways: generative, fitted to features and class together, and refitted to the class "
        f"given the features (the same arcs as a logistic regression). {which} The log loss of the refit "
        f"differs from the log loss of the network by {_difference((mean, low, high))} nats per row. {verdict}"
    )
    of_pool = [_difference(validation.lines[pooled].loss_interval(line)) for line in (first, second)]
    together = (
        "Pooled: the normalised geometric mean of the probabilities of both, each learned without the row. The log "
        f"loss of the pool differs from the log loss of the network by {of_pool[0]} nats per row, and from the log "
        f"loss of the refit by {of_pool[1]}; below 0, the pool is better. A PooledClassifier also learns the weights "
        "of its members."
    )
    lines = []
    for name in validation.refit:
        line = validation.lines[name]
        curve = reliability(line.right == 1, line.proba.max(axis=1), BINS, line.weights)
        band = list(zip(curve["predicted"], curve["low"], curve["high"], strict=True))
        lines.append(Line(name, list(zip(curve["predicted"], curve["observed"], strict=True)), band, marks=True))
    least = 1 / len(validation.classes)
    chart = Chart(
        "Calibration of the predicted class",
        "probability of the predicted class",
        "share of rows that are right",
        lines,
        (least, 1.0),
        (0.0, 1.0),
        ((least, least), (1.0, 1.0)),
    )
    said = [Paragraph(text, key="comparison"), Paragraph(together, key="pooled")]
    return Section("refit", "Generative, refitted and pooled", [*said, Charts("refits", [chart])])


def baseline_beaten(validation: Validation) -> bool | None:
    """Whether the log loss is below that of the class frequencies, beyond the interval; None if that is not known."""
    own, baseline = validation.lines.get(validation.own), validation.lines.get(BASELINE)
    if own is None or baseline is None:
        return None
    mean, low, _ = baseline.loss_interval(own)
    if math.isnan(mean):
        return None
    return bool(low > 0) if math.isfinite(mean) else mean > 0
