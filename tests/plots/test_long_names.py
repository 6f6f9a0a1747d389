"""Figures with long names of classes: all that is written is inside the figure, and does not cover other texts."""

import itertools
import math
import warnings

import matplotlib as mpl
import numpy as np
import pytest

from anbexact.drawing.labels import label_lines, longest_line
from anbexact.plots import ConfusionDisplay

mpl.use("Agg")
LONG = ["Iris setosa (Virginia blue flag X1)", "Iris versicolor (northern flag X2)", "Iris virginica (southern, X3)"]


@pytest.fixture(autouse=True)
def _closed():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def drawn(figure):
    """Return a figure after its layout, which must have had room for the axes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()
    return figure


def texts(figure):
    """Return all texts of a figure that say something and are seen."""
    found = [text for text in figure.findobj(mpl.text.Text) if text.get_text().strip() and text.get_visible()]
    return [text for text in found if text.get_window_extent().width > 0]


def assert_inside(figure):
    """Assert that all texts are inside the figure, up to a pixel."""
    whole = figure.bbox
    for text in texts(figure):
        box = text.get_window_extent()
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1
        assert inside, (text.get_text(), box)


def assert_apart(axes):
    """Assert that the labels of an x axis do not overlap: side by side, or across the direction of slanted ones."""
    labels = [text for text in axes.get_xticklabels() if text.get_text()]
    for one, other in itertools.pairwise(labels):
        if one.get_rotation() == 0:
            assert one.get_window_extent().x1 < other.get_window_extent().x0, other.get_text()
            continue
        places = [axes.transData.transform((text.get_position()[0], 0))[0] for text in (one, other)]
        lines = one.get_text().count("\n") + 1
        thick = lines * 1.2 * one.get_fontsize() * axes.figure.dpi / 72
        assert (places[1] - places[0]) * math.sin(math.radians(45)) >= 0.95 * thick, other.get_text()


class TestLabels:
    def test_fit_and_stay_apart(self):
        names = [f"the {word} of a class that nobody would call short, number {k}" for word in "ab" for k in range(3)]
        for width, lines in [(22, 2), (12, 3), (10, 1)]:
            labels = label_lines(names, width, lines)
            assert len(set(labels)) == len(names)
            assert longest_line(labels) <= width
            assert max(label.count("\n") for label in labels) < lines

    def test_what_fits_is_whole(self):
        assert [label.replace("\n", " ") for label in label_lines(LONG, 22)] == LONG
        assert label_lines([0, True], 22) == ["0", "True"]
        assert label_lines([], 22) == []


class TestConfusion:
    @pytest.mark.parametrize("n_classes", [3, 5, 8, 12])
    def test_is_readable_with_long_names(self, n_classes):
        classes = [f"{name[:36]} {k}" for k, name in zip(range(n_classes), itertools.cycle(LONG), strict=False)]
        proba = np.eye(n_classes)
        display = ConfusionDisplay.from_predictions(classes, proba, classes)
        figure = drawn(display.figure_)
        assert_inside(figure)
        assert_apart(display.ax_)
        cell = display.ax_.get_window_extent().width / figure.dpi / n_classes
        assert cell >= 0.36  # inches
        colour_bar = figure.axes[1].get_window_extent()
        assert all(not text.get_window_extent().overlaps(colour_bar) for text in display.ax_.get_xticklabels())

    def test_short_names_are_level(self):
        display = ConfusionDisplay.from_predictions(["a", "b"], np.eye(2), ["a", "b"])
        assert {text.get_rotation() for text in display.ax_.get_xticklabels()} == {0.0}
        assert tuple(display.figure_.get_size_inches()) == (4.0, 3.2)
