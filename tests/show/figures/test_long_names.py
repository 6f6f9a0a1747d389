"""Figures with long names of classes: all that is written is inside the figure, and does not cover other texts."""

import itertools
import math
import warnings

import matplotlib as mpl
import numpy as np
import pytest

from anbexact.models.network.explanation import Explanation, Term
from anbexact.models.smooth.shapes import Shape
from anbexact.plots import ConfusionDisplay, ShapeDisplay, WaterfallDisplay
from anbexact.show.figures.logit_shapes import plot_shapes
from anbexact.show.svg.labels import label_lines, longest_line

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
    @pytest.mark.parametrize(
        "classes",
        [LONG, LONG[:1], pytest.param([*LONG, *(f"{name}, again" for name in LONG)], marks=pytest.mark.slow)],
    )
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

    @pytest.mark.slow
    def test_heat_maps_have_one_scale(self):
        found = maps(plot_shapes(some_shapes(LONG, {("u", "v"): 1.0, ("u", "w"): 3.0, ("v", "w"): 0.02})))
        assert len(found) == 9
        assert {image.get_clim() for image in found} == {(-3.0, 3.0)}
        pairs = [(image.axes.get_ylabel(), image.axes.get_xlabel()) for image in found]
        assert pairs == [pair for pair in [("u", "w"), ("u", "v"), ("v", "w")] for _ in LONG]
        titles = [image.axes.get_title() for image in found[:3]]
        assert [title.replace("\n", " ") for title in titles] == LONG

    @pytest.mark.slow
    def test_what_was_smoothed_away_is_left_out_and_counted(self):
        flat = {("u", "w"): 1e-5, ("v", "w"): 0.004}
        figure = plot_shapes(some_shapes(LONG, {("u", "v"): 1.0, **flat}))
        assert len(maps(figure)) == 3
        assert figure.get_supxlabel() == "2 interactions with a range of less than 0.01 nats left out"
        figure = plot_shapes(some_shapes(LONG, {("u", "w"): 1e-5}))
        assert maps(figure) == []
        assert len(figure.axes) == 2
        assert figure.get_supxlabel() == "1 interaction with a range of less than 0.01 nats left out"
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


def explanation(*terms, label=LONG[0], against=LONG[1]):
    """Return an explanation of some terms: feature, given, nats, and the ends of the interval."""
    nan = math.nan
    own = [
        Term(name, 1, 1, given, nats, low, high, math.exp(nats), nan, nan, nan, nan)
        for name, given, nats, low, high in terms
    ]
    return Explanation(label, against, label, against, 0.75, sum(term.nats for term in own), "", tuple(own))


def whiskers(display):
    """Return the ends of the whiskers by row, and of the arrows as (row, end, marker)."""
    lines = [line for line in display.ax_.lines if line.get_color() == "0.2"]
    ends = {line.get_ydata()[0]: tuple(line.get_xdata()) for line in lines if len(line.get_xdata()) == 2}
    arrows = [(line.get_ydata()[0], line.get_xdata()[0], line.get_marker()) for line in lines]
    return ends, [(row, end, marker) for row, end, marker in arrows if marker in ("<", ">")]


class TestWaterfall:
    @pytest.mark.parametrize("length", [10, 34, 40, 80])
    def test_is_readable_with_long_names(self, length):
        label, against = (
            f"{letter} name of a class that is written in very many words, {letter * 80}" for letter in "ab"
        )
        one = explanation(
            ("u", "", 2.0, 1.0, 3.0),
            ("v" * 30, "another feature = 1, one more feature = 2, and a third feature = 3", -1.0, -1.5, -0.5),
            label=label[:length],
            against=against[:length],
        )
        display = WaterfallDisplay.from_explanation(one)
        assert_inside(drawn(display.figure_))
        words = f"log odds of {one.label} against {one.against} (nats)"
        assert length > 40 or display.ax_.get_xlabel().split() == words.split()
        assert display.ax_.get_window_extent().width / display.figure_.dpi > 3.5

    def test_labels_fit_given_axes(self):
        from matplotlib import pyplot

        terms = [("u", f"a parent with a long name = {k}", 2.0 - 0.1 * k, 1.0, 3.0) for k in range(12)]
        figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
        display = WaterfallDisplay.from_explanation(explanation(*terms), ax=axes[1])
        assert_inside(drawn(figure))
        boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
        assert all(one.y0 > other.y1 for one, other in itertools.pairwise(boxes))
        assert display.ax_.get_window_extent().width / figure.dpi > 2.0
        labels = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert len(set(labels)) == 13
        assert all(f" = {k}" in label for k, label in enumerate(labels[:12]))

    def test_conditions_that_do_not_fit_are_told(self):
        from matplotlib import pyplot

        terms = [(name, "a parent with a long name = 5, and another = 6", 2.0, 1.0, 3.0) for name in "abcdefghijkl"]
        axes = pyplot.subplots(figsize=(5, 3))[1]
        display = WaterfallDisplay.from_explanation(explanation(*terms, ("m", "n = 1", 1.0, 0.5, 1.5)), ax=axes)
        labels = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert labels == [*(f"{name} = 1, given …" for name in "abcdefghijkl"), "m = 1, given n = 1", "sum"]

    def test_a_huge_interval_does_not_hide_the_bars(self):
        one = explanation(("u", "", 20.0, 10.0, 3240.0), ("v", "", -8.0, -9.0, -7.0), ("w", "", 1.0, -math.inf, 2.0))
        display = WaterfallDisplay.from_explanation(one)
        ends, arrows = whiskers(display)
        assert ends == {0: (10.0, 40.0), 1: (11.0, 13.0), 2: (-20.0, 14.0)}  # bars from 0 to 20, and as much beyond
        assert arrows == [(0, 40.0, ">"), (2, -20.0, "<")]
        assert display.ax_.get_xlim() == pytest.approx((-23.0, 43.0))

    def test_ordinary_intervals_are_whole(self):
        display = WaterfallDisplay.from_explanation(explanation(("u", "", 2.0, 1.0, 3.0), ("v", "", 1.0, -0.5, 1.5)))
        assert whiskers(display) == ({0: (1.0, 3.0), 1: (1.5, 3.5)}, [])
        display = WaterfallDisplay.from_explanation(explanation(("u", "", 2.0, math.nan, math.nan)))
        assert whiskers(display) == ({}, [])
        assert WaterfallDisplay.from_explanation(explanation()).ax_.get_xlim() == (-1.0, 1.0)

    def test_labels_have_conditions_and_differ(self):
        nan = math.nan
        many = ", ".join(f"parent_{k} = {k}" for k in range(9))
        givens = ["", "b = 2", many, many.replace("= 4", "= 7"), "b = 3"]
        terms = [("a", given, 2.0 - 0.1 * k, nan, nan) for k, given in enumerate(givens)]
        display = WaterfallDisplay.from_explanation(explanation(*terms))
        labels = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert labels[:2] == ["a = 1", "a = 1, given b = 2"]
        assert len(set(labels)) == len(terms) + 1
        assert longest_line(labels) <= 48
        display = WaterfallDisplay.from_explanation(explanation(*terms), most=2)
        labels = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert labels == ["a = 1", "a = 1, given b = 2", "3 weaker terms", "sum"]


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        (["528102112", "528104295", "528105764"], ["528102112", "528104295", "528105764"]),
        (["12345.5", "20.25"], ["12346", "20.25"]),
        (["1.23456", "2.5"], ["1.23", "2.5"]),
        (["2021-06-15", "2021-07-01"], ["2021-06-15", "2021-07-01"]),
    ],
)
def test_cut_points_on_an_axis_are_told_apart_and_written_out(cuts, expected):
    ends = ["-inf", *cuts, "inf"]
    labels = [f"({low}, {high}]" for low, high in itertools.pairwise(ends)]
    display = ShapeDisplay([shape(["PID"], np.arange(len(labels)), labels=[labels])])
    axes = display.plot().ax_
    assert [text.get_text() for text in axes.get_xticklabels()] == expected
