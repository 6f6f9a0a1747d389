"""Figures against coarse pictures of themselves, which other fonts and versions of matplotlib hardly change.

A picture is the mean darkness of 12 x 16 fields, as digits from 0 to 9. To record all of them again after a figure
has changed on purpose, and to see which ones changed:

    ANBEXACT_RECORD=1 pytest tests/show/figures/test_pictures.py --tier=full
    git diff tests/show/figures/pictures.json
"""

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, Structure, plots
from anbexact.datasets import load_iris
from anbexact.plots import (
    ArcProbabilityDisplay,
    ComparisonDisplay,
    ConfusionDisplay,
    GainsDisplay,
    InformationDisplay,
    LearningCurveDisplay,
    LiftDisplay,
    NetworkDisplay,
    PoolDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
    SampleSizeDisplay,
    ShapeDisplay,
    WaterfallDisplay,
)
from anbexact.show.svg.network import diagram, network_svg

mpl.use("Agg")
STORED = Path(__file__).with_name("pictures.json")
ROWS, COLUMNS = 12, 16
MOST_APART = 0.05
"""Mean difference of the darkness of two pictures, of 0 to 1, above which they are not the same."""
LEAST_COMMON = 0.85
"""Least correlation of their fields, which tells displacements that the mean hides."""


def coarse(figure):
    """Return the darkness of the fields of a drawn figure, 0 to 1, as it is stored: shares of its darkest field."""
    figure.set_dpi(60)
    figure.canvas.draw()
    grey = 1 - np.asarray(figure.canvas.buffer_rgba())[:, :, :3].mean(axis=2) / 255
    bands = np.array_split(grey, ROWS, axis=0)
    fields = np.array([[part.mean() for part in np.array_split(band, COLUMNS, axis=1)] for band in bands])
    return fields / fields.max()


def as_text(fields):
    """Return fields as lines of digits."""
    return ["".join(str(round(9 * value)) for value in row) for row in fields.tolist()]


def as_fields(lines):
    """Return lines of digits as fields."""
    return np.array([[int(digit) for digit in line] for line in lines]) / 9


def alike(one, other):
    """Return whether two pictures are about the same."""
    common = np.corrcoef(one.ravel(), other.ravel())[0, 1]
    return bool(np.abs(one - other).mean() <= MOST_APART and common >= LEAST_COMMON)


def predictions():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.7, 0.7], 400)
    truth = (rng.random(400) < proba[:, 1]).astype(int)
    return truth, proba, [0, 1]


def explanation():
    rng = np.random.default_rng(1)
    y = pd.Series(rng.integers(0, 2, 300), name="c")
    X = pd.DataFrame({f"x{k}": (y + rng.integers(0, 2 + k, 300)) % 3 for k in range(4)})
    return NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y).explain(X[:1])[0]


def structure():
    return Structure.given("c", {"c": (), "a": ("c",), "b": ("c", "a"), "d": ("c", "b"), "e": ("c", "b")})


def posterior():
    from anbexact import DiscreteTable, structure_posterior
    from anbexact.datasets import load_monks

    return structure_posterior(DiscreteTable.from_frame(*load_monks(1)), networks="fan")


def smooth():
    from anbexact import AdditiveClassifier

    X, y = load_iris()
    return AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), intervals=6, smooth=1.0).fit(X, y)


def comparison():
    columns = {"accuracy": [0.9, 0.85, 0.6], "accuracy_se": [0.02, 0.03, 0.01]}
    return pd.DataFrame(columns, index=["ANB", "NB", "class frequencies"])


def learning():
    sizes = np.repeat([30, 60, 120], 2)
    losses = [0.9, 1.1, 0.7, 0.75, 0.6, 0.5]
    return pd.DataFrame({"rows": sizes, "model": ["generative", "refitted"] * 3, "log_loss": losses})


INFORMATION = ["a", "b", "d"], np.array([[0.4, 0.3, 0.05], [0.3, 0.2, 0.1], [0.05, 0.1, 0.02]])
SCORES = pd.Series([-130.0, -120.0, -118.0, -125.0, -140.0], index=[1.0, 2.0, 4.0, 8.0, 16.0])
OF_PREDICTIONS = [ConfusionDisplay, GainsDisplay, LiftDisplay, PrecisionRecallDisplay, ReliabilityDisplay, RocDisplay]
FIGURES = {
    **{of.__name__: lambda of=of: of.from_predictions(*predictions()) for of in OF_PREDICTIONS},
    "ArcProbabilityDisplay": lambda: ArcProbabilityDisplay.from_posterior(posterior(), least=0.01),
    "ComparisonDisplay": lambda: ComparisonDisplay.from_frame(comparison(), measure="accuracy"),
    "InformationDisplay": lambda: InformationDisplay(*INFORMATION).plot(),
    "LearningCurveDisplay": lambda: LearningCurveDisplay(learning()).plot(),
    "NetworkDisplay": lambda: NetworkDisplay.from_structure(structure()),
    "PoolDisplay": lambda: PoolDisplay(
        pd.DataFrame({"weight": [0.6, 0.3, 0.0], "log_loss": [0.4, 0.5, 0.9]}, index=["ANB", "NB", "TAN"])
    ).plot(),
    "SampleSizeDisplay": lambda: SampleSizeDisplay(SCORES, 4.0).plot(),
    "ShapeDisplay": lambda: ShapeDisplay.from_estimator(smooth(), "petal_width"),
    "WaterfallDisplay": lambda: WaterfallDisplay.from_explanation(explanation()),
}


def drawn(name):
    """Return the coarse picture of a display."""
    from matplotlib import pyplot

    with mpl.rc_context(mpl.rcParamsDefault):
        mpl.use("Agg")
        figure = FIGURES[name]().figure_
        try:
            return coarse(figure)
        finally:
            pyplot.close(figure)


def drawn_as_svg():
    """Return where the SVG of a network has its nodes and arcs: how many numbers of it fall into each field."""
    root = ElementTree.fromstring(network_svg(diagram(structure())))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    fields = np.zeros((ROWS, COLUMNS))
    for of in root.iter():
        places = []
        if "x" in of.attrib and "y" in of.attrib:
            places = [(float(of.attrib["x"]), float(of.attrib["y"]))]
        elif of.tag.endswith("path"):
            numbers = [float(text) for text in re.findall(r"-?[0-9.]+", of.attrib["d"])]
            places = list(zip(numbers[::2], numbers[1::2], strict=False))
        for x, y in places:
            row, column = int(ROWS * y / height), int(COLUMNS * x / width)
            fields[min(max(row, 0), ROWS - 1), min(max(column, 0), COLUMNS - 1)] += 1
    return fields / fields.max()


def stored(name, fields):
    """Return the stored picture, or store this one if all are to be recorded again."""
    pictures = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if os.environ.get("ANBEXACT_RECORD"):
        pictures[name] = as_text(fields)
        STORED.write_text(json.dumps(dict(sorted(pictures.items())), indent=1) + "\n", encoding="utf-8")
    return as_fields(pictures[name])


def test_every_display_has_a_picture():
    assert {name for name in plots.__all__ if name.endswith("Display")} == set(FIGURES)
    assert set(json.loads(STORED.read_text(encoding="utf-8"))) == {*FIGURES, "svg"}


@pytest.mark.parametrize("name", FIGURES)
def test_displays_look_as_they_did(name):
    fields = drawn(name)
    assert alike(fields, stored(name, fields)), "\n".join(as_text(fields))


def test_the_network_as_svg_looks_as_it_did():
    fields = drawn_as_svg()
    assert alike(fields, stored("svg", fields)), "\n".join(as_text(fields))


def test_other_figures_do_not_pass():
    """Every two stored pictures differ, and a picture differs from itself upside down or moved by a field."""
    pictures = {name: as_fields(of) for name, of in json.loads(STORED.read_text(encoding="utf-8")).items()}
    for name, one in pictures.items():
        assert not alike(one, one[::-1]), name
        assert not alike(one, np.roll(one, 1, axis=1)), name
        assert alike(one, np.clip(one + np.where(np.indices(one.shape).sum(axis=0) % 2, 0.02, -0.02), 0, 1)), name
        for other, fields in pictures.items():
            assert (other == name) == alike(one, fields), (name, other)


def test_a_figure_without_its_data_does_not_pass():
    for name in ("ConfusionDisplay", "WaterfallDisplay", "PoolDisplay"):
        figure = FIGURES[name]().figure_
        for artist in [*figure.axes[0].patches, *figure.axes[0].images, *figure.axes[0].texts]:
            artist.remove()
        assert not alike(coarse(figure), as_fields(json.loads(STORED.read_text(encoding="utf-8"))[name])), name
