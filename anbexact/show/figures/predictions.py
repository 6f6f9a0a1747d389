"""Predictions against the truth: reliability, ROC, precision and recall, gains, lift, confusion."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact._runtime.units import number_text
from anbexact.compare.curves import confusion, gains, precision_recall, reliability, roc
from anbexact.show.figures.display import BLUE, GREY, Display, legend
from anbexact.show.svg.labels import SHORT_NAME, aslant, inches, label_lines, longest_line, plain
from anbexact.tables.labels import read_labels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    CurveOf = Callable[[Bools, Floats], tuple[pd.DataFrame, float]]

MOST_NUMBERS = 12
"""Most classes for which a confusion matrix shows numbers, and curves have a legend."""
NAME_CHARACTERS = 22
"""Most characters in a line of a class's name in a confusion matrix."""
FONT = {"small": 8.33, "x-small": 6.94}
"""Sizes of fonts, in points."""


def class_codes(y: Any, classes: list[Any]) -> Integers:
    """Return the places of labels among the classes.

    Raises
    ------
    ValueError
        For a label that is missing or not a class.
    """
    codes, categories = read_labels(y).coded
    place = {label: k for k, label in enumerate(classes)}
    unknown = [label for label in categories if label not in place]
    if unknown or (codes < 0).any():
        what = f"the class {unknown[0]!r}, which the model does not know" if unknown else "missing labels"
        raise ValueError(f"y contains {what}; the classes are {classes}: leave out these rows")
    lookup = np.array([place[label] for label in categories], dtype=np.intp)
    return lookup[codes]


class _PredictionDisplay(Display):
    """A display of predictions for rows whose classes are known."""

    from_predictions: ClassVar[Any]
    """Computes the display from predictions, and draws it."""

    @classmethod
    def from_estimator(cls, classifier: Any, X: Any, y: Any, **how: Any) -> Self:
        """Predict rows and draw the result; use rows from which the classifier was not learned.

        Parameters
        ----------
        classifier : classifier
            A fitted classifier with ``predict_proba``.
        X, y
            Rows and their classes.
        **how
            As for :meth:`from_predictions`.
        """
        drawn: Self = cls.from_predictions(y, classifier.predict_proba(X), classifier.classes_, **how)
        return drawn


class _ClassDisplay(_PredictionDisplay):
    """Curves, one for each class that is shown."""

    x_label: ClassVar[str]
    y_label: ClassVar[str]
    summary_name: ClassVar[str] = ""
    """What ``summary`` holds, as the legend says it."""

    def __init__(self, curves: dict[Any, pd.DataFrame], summary: dict[Any, float]) -> None:
        self.curves, self.summary = curves, summary

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        proba: Floats,
        classes: Any,
        *,
        label: Any = None,
        sample_weight: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute and draw.

        Parameters
        ----------
        y : (rows,) array
            The true classes.
        proba : (rows, classes) array
            Their predicted probabilities.
        classes : sequence
            The columns of ``proba``.
        label : class label, optional
            The class whose probability is evaluated, against all others; by default every class, or only the second
            of two.
        sample_weight : (rows,) array, optional
            Weights of the rows.
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Raises
        ------
        ValueError
            If ``label`` is not a class, or y contains a label that is not a class.
        """
        return cls._of(y, proba, classes, label, partial(cls._curve, sample_weight=sample_weight)).plot(ax)

    @classmethod
    def _of(cls, y: Any, proba: Floats, classes: Any, label: Any, curve_of: CurveOf) -> Self:
        """Return the display of one curve per class, which ``curve_of`` makes of its events and probabilities."""
        listed = np.asarray(classes).tolist()
        if label is not None and label not in listed:
            raise ValueError(f"label={label!r} is not a class; the classes are {listed}")
        truth = class_codes(y, listed)
        shown = [label] if label is not None else listed[1:] if len(listed) == 2 else listed
        curves, summary = {}, {}
        for one in shown:
            k = listed.index(one)
            curves[one], summary[one] = curve_of(truth == k, np.asarray(proba, dtype=np.float64)[:, k])
        return cls(curves, summary)

    @classmethod
    @abstractmethod
    def _curve(cls, event: Bools, p: Floats, sample_weight: Any) -> tuple[pd.DataFrame, float]:
        """Return the curve of one class, and the number that summarises it."""

    def _draw(self, ax: Axes) -> None:
        for k, (label, curve) in enumerate(self.curves.items()):
            self._line(ax, curve, f"C{k % 10}" if len(self.curves) > 1 else BLUE, self._name(label))
        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.y_label)
        ax.spines[["top", "right"]].set_visible(False)
        if len(self.curves) <= MOST_NUMBERS:
            legend(ax)

    def _name(self, label: Any) -> str:
        number = self.summary[label]
        return plain(label if number != number else f"{label} ({self.summary_name} {number:.3f})")

    @abstractmethod
    def _line(self, ax: Axes, curve: pd.DataFrame, colour: str, name: str) -> None:
        """Draw the curve of one class."""


class ReliabilityDisplay(_ClassDisplay):
    """The observed frequency of a class among rows with about the same predicted probability, with 95 % bands.

    Points on the diagonal are calibrated probabilities. ``curves`` has a frame for every class
    (:func:`anbexact.compare.curves.reliability`), ``summary`` the mean distance from the diagonal, weighted by rows.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_predict
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.datasets import load_anes96
    >>> from anbexact.plots import ReliabilityDisplay
    >>> X, y = load_anes96()
    >>> proba = cross_val_predict(NaiveBayesClassifier(), X, y, method="predict_proba", cv=5)
    >>> display = ReliabilityDisplay.from_predictions(y, proba, ["Clinton", "Dole"], bins=5)
    >>> len(display.curves["Dole"])
    5
    """

    x_label, y_label = "predicted probability", "observed share, 95 % interval"
    summary_name = "calibration error"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        proba: Floats,
        classes: Any,
        *,
        label: Any = None,
        sample_weight: Any = None,
        ax: Axes | None = None,
        bins: int = 10,
    ) -> Self:
        """Compute and draw; ``bins`` is the maximum number of bins, and the rest is as for :class:`RocDisplay`."""
        curve_of = partial(cls._curve, sample_weight=sample_weight, bins=bins)
        return cls._of(y, proba, classes, label, curve_of).plot(ax)

    @classmethod
    def _curve(cls, event: Bools, p: Floats, sample_weight: Any, bins: int = 10) -> tuple[pd.DataFrame, float]:
        curve = reliability(event, p, bins, sample_weight)
        return curve, float(np.average((curve["observed"] - curve["predicted"]).abs(), weights=curve["weight"]))

    def _line(self, ax: Axes, curve: pd.DataFrame, colour: str, name: str) -> None:
        ax.fill_between(curve["predicted"], curve["low"], curve["high"], color=colour, alpha=0.18, lw=0)
        ax.plot(curve["predicted"], curve["observed"], "o-", color=colour, ms=4, label=name)
        ax.axline((0, 0), slope=1, color=GREY, lw=0.8, ls="--", zorder=0)


class RocDisplay(_ClassDisplay):
    """True and false positive rates of each class against the others; ``summary`` has the areas under the curves."""

    x_label, y_label = "false positive rate", "true positive rate"
    summary_name = "AUC"

    @classmethod
    def _curve(cls, event: Bools, p: Floats, sample_weight: Any) -> tuple[pd.DataFrame, float]:
        return roc(event, p, sample_weight)

    def _line(self, ax: Axes, curve: pd.DataFrame, colour: str, name: str) -> None:
        ax.plot(curve["false_positive_rate"], curve["true_positive_rate"], color=colour, label=name)
        ax.axline((0, 0), slope=1, color=GREY, lw=0.8, ls="--", zorder=0)


class PrecisionRecallDisplay(_ClassDisplay):
    """Precision by recall of each class against the others; ``summary`` has the average precisions."""

    x_label, y_label = "recall", "precision"
    summary_name = "average precision"

    @classmethod
    def _curve(cls, event: Bools, p: Floats, sample_weight: Any) -> tuple[pd.DataFrame, float]:
        return precision_recall(event, p, sample_weight)

    def _line(self, ax: Axes, curve: pd.DataFrame, colour: str, name: str) -> None:
        ax.plot(curve["recall"], curve["precision"], color=colour, drawstyle="steps-pre", label=name)
        ax.set_ylim(-0.02, 1.02)


class GainsDisplay(_ClassDisplay):
    """Share of a class's rows found among the rows with its highest probabilities, by the share of rows selected."""

    x_label, y_label = "share of rows selected, most probable first", "share of the class captured"

    @classmethod
    def _curve(cls, event: Bools, p: Floats, sample_weight: Any) -> tuple[pd.DataFrame, float]:
        return gains(event, p, sample_weight), float("nan")

    def _line(self, ax: Axes, curve: pd.DataFrame, colour: str, name: str) -> None:
        ax.plot(curve["selected"], curve["captured"], color=colour, label=name)
        ax.axline((0, 0), slope=1, color=GREY, lw=0.8, ls="--", zorder=0)


class LiftDisplay(GainsDisplay):
    """How much more frequent a class is among the rows with its highest probabilities than among all rows."""

    x_label, y_label = "share of rows selected, most probable first", "lift"

    def _line(self, ax: Axes, curve: pd.DataFrame, colour: str, name: str) -> None:
        ax.plot(curve["selected"], curve["lift"], color=colour, label=name)
        ax.axhline(1.0, color=GREY, lw=0.8, ls="--", zorder=0)


class ConfusionDisplay(_PredictionDisplay):
    """Rows by true and predicted class; cells are shaded by their share of the true class.

    The name of a class takes up to two lines of 22 characters, or a single line if there are more than 12 classes;
    the middle of a longer name is left out.

    Parameters
    ----------
    matrix : DataFrame
        Weights of rows, true classes by predicted ones.
    """

    def __init__(self, matrix: pd.DataFrame) -> None:
        self.matrix = matrix
        few = len(matrix) <= MOST_NUMBERS
        self._font = "small" if few else "x-small"
        self._names = label_lines(list(matrix.index), NAME_CHARACTERS, 2 if few else 1)
        side = min(max(3.2, 0.42 * len(matrix) + 1.6), 11.0)
        room = inches(max(longest_line(self._names) - SHORT_NAME, 0), FONT[self._font])
        self.size = side + 0.8 + room, side + room / math.sqrt(2)

    @classmethod
    def from_predictions(
        cls, y: Any, proba: Floats, classes: Any, *, sample_weight: Any = None, ax: Axes | None = None
    ) -> Self:
        """Compute and draw; the most probable class of a row is its predicted one."""
        listed = np.asarray(classes).tolist()
        predicted = np.asarray(proba).argmax(axis=1)
        return cls(confusion(class_codes(y, listed), predicted, listed, sample_weight)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        values = self.matrix.to_numpy()
        totals = values.sum(axis=1, keepdims=True)
        shares = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
        image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        ax.figure.colorbar(image, ax=ax, label="share of the true class")
        names = [plain(name) for name in self._names]
        ax.set_xticks(range(len(names)), names, fontsize=self._font)
        ax.set_yticks(range(len(names)), names, fontsize=self._font)
        if longest_line(self._names) > SHORT_NAME:
            aslant(ax.xaxis)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("true class")
        if len(names) <= MOST_NUMBERS:
            for (i, j), value in np.ndenumerate(values):
                colour = "white" if shares[i, j] > 0.6 else "0.2"
                ax.text(j, i, number_text(value, 4), ha="center", va="center", color=colour, fontsize="small")
