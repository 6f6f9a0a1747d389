"""Figures with long names of classes: all that is written is inside the figure, and does not cover other texts."""

import itertools
import math
import warnings

import matplotlib as mpl
import numpy as np
import pytest

from anbexact.adapters.figures import plot_shapes
from anbexact.drawing.labels import label_lines, longest_line
from anbexact.logit.shapes import Shape
from anbexact.plots import ConfusionDisplay, ShapeDisplay

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
        figure.draw_without_rendering()
    return figure


def assert_inside(figure):
    """Assert that all that is drawn is inside the figure, up to a hundredth of an inch."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert -0.01 <= box.x0 < box.x1 <= width + 0.01
    assert -0.01 <= box.y0 < box.y1 <= height + 0.01


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


def shape(features, values, label="a", labels=None, against=None):
    """Return a shape with some log odds."""
    values = np.asarray(values, dtype=float)
    labels = labels or [[f"s{k}" for k in range(size)] for size in values.shape]
    return Shape(tuple(features), tuple(map(tuple, labels)), label, against, values, 0.1 + 0 * values, 1 + 0 * values)


def some_shapes(classes, tops):
    """Return the shapes of two features for some classes, and of pairs with the largest log odds of each."""
    found = [shape([name], np.linspace(-2, 2, 5) * (k + 1), c) for k, c in enumerate(classes) for name in "uv"]
    return found + [
        shape(name, top * np.array([[1, -1], [-0.5, 0.25]]), c) for c in classes for name, top in tops.items()
    ]


def maps(figure):
    """Return the heat maps of a figure; hatched cells are another kind of collection."""
    return [one for one in figure.findobj(mpl.collections.QuadMesh) if one.axes.get_xlabel()]


class TestShapes:
    @pytest.mark.parametrize("most", [None, 1, 3])
    @pytest.mark.parametrize("classes", [LONG, LONG[:1], [*LONG, *(f"{name}, again" for name in LONG)]])
    def test_are_readable_with_long_names(self, classes, most):
        figure = drawn(plot_shapes(some_shapes(classes, {("u", "v"): 1.0}), most=most))
        assert_inside(figure)
        for axes in figure.axes:
            assert axes.get_legend() is None
            if axes.get_xlabel():
                assert axes.get_window_extent().width / figure.dpi > 1.8
                assert axes.get_window_extent().height / figure.dpi > 1.3
        assert len(figure.legends) == (len(classes) > 1)
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes if axes.axison)
            assert [text.get_text() for text in legend.texts] == label_lines(classes, 40, 1)

    def test_heat_maps_have_one_scale(self):
        found = maps(plot_shapes(some_shapes(LONG, {("u", "v"): 1.0, ("u", "w"): 3.0, ("v", "w"): 0.02})))
        assert len(found) == 9
        assert {image.get_clim() for image in found} == {(-3.0, 3.0)}
        pairs = [(image.axes.get_ylabel(), image.axes.get_xlabel()) for image in found]
        assert pairs == [pair for pair in [("u", "w"), ("u", "v"), ("v", "w")] for _ in LONG]
        titles = [image.axes.get_title() for image in found[:3]]
        assert [title.replace("\n", " ") for title in titles] == LONG

    def test_what_was_smoothed_away_is_left_out_and_counted(self):
        flat = {("u", "w"): 1e-5, ("v", "w"): 0.004}
        figure = plot_shapes(some_shapes(LONG, {("u", "v"): 1.0, **flat}))
        assert len(maps(figure)) == 3
        assert figure.get_supxlabel() == "2 interactions of less than 0.01 nats left out"
        figure = plot_shapes(some_shapes(LONG, {("u", "w"): 1e-5}))
        assert maps(figure) == []
        assert len(figure.axes) == 2
        assert figure.get_supxlabel() == "1 interaction of less than 0.01 nats left out"
        assert plot_shapes(some_shapes(LONG, {("u", "v"): 1.0})).get_supxlabel() == ""

    def test_one_class_is_enough_to_draw_a_pair(self):
        shapes = some_shapes(LONG, {("u", "v"): 1e-5})
        shapes[-1] = shape("uv", [[0.5, -0.5], [0.0, 0.0]], LONG[2])
        assert len(maps(plot_shapes(shapes))) == 3

    def test_pairs_that_are_asked_for_are_drawn(self):
        pairs = [one for one in some_shapes(LONG, {("u", "v"): 1e-5}) if len(one.features) == 2]
        figure = plot_shapes(pairs)
        assert len(maps(figure)) == 3
        assert figure.get_supxlabel() == ""
        display = ShapeDisplay(pairs[:1]).plot()
        assert [image.get_clim() for image in maps(display.figure_)] == [(-0.01, 0.01)]
        assert_inside(drawn(display.figure_))

    @pytest.mark.parametrize(
        "states", [["C", "M", "N", "S", "SA"], [f"state number {k} of them" for k in range(12)], ["a" * 40, "b" * 40]]
    )
    def test_every_state_is_named(self, states):
        n = len(states)
        shapes = [shape("u", np.arange(n), labels=[states]), shape("uv", np.eye(n), labels=[states, states])]
        figure = drawn(plot_shapes(shapes))
        assert_inside(figure)
        for axes in figure.axes[:2]:
            assert len({text.get_text() for text in axes.get_xticklabels()}) == n
            assert_apart(axes)
        assert len({text.get_text() for text in figure.axes[1].get_yticklabels()}) == n

    def test_cut_points_and_missing_cells_are_named(self):
        labels = ["(-inf, 1.5]", "(1.5, 2.25]", "(2.25, inf)", "(missing)"]
        axes = drawn(plot_shapes([shape("u", np.arange(4), labels=[labels])])).axes[0]
        ticks = dict(zip(axes.get_xticks(), [text.get_text() for text in axes.get_xticklabels()], strict=True))
        assert ticks == {1.0: "1.5", 2.0: "2.25", 3.5: "(missing)"}

    @pytest.mark.parametrize("own", [True, False])
    def test_the_legend_of_a_display_is_above_its_curves(self, own):
        from matplotlib import pyplot

        ax = None if own else pyplot.subplots(figsize=(4, 3), layout="constrained")[1]
        shapes = some_shapes(LONG, {})[::2]
        display = ShapeDisplay(shapes).plot(ax)
        drawn(display.figure_)
        legend = display.ax_.get_legend().get_window_extent()
        axes = display.ax_.get_window_extent()
        assert axes.x0 <= legend.x0 < legend.x1 <= axes.x1
        assert legend.y1 <= axes.y1
        highest = max(float((one.log_odds + 1.96 * one.standard_error).max()) for one in shapes)
        assert display.ax_.transData.transform((0, highest))[1] < legend.y0
