"""Figures: what they draw, into which axes, and what they refuse."""

import math
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from strategies import problems

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, PooledClassifier, TANClassifier
from anbexact.classifiers import AODEClassifier
from anbexact.compare import compare
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.plots import (
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
from anbexact.show.figures.information import pair_information

mpl.use("Agg")
OF_PREDICTIONS = [ConfusionDisplay, GainsDisplay, LiftDisplay, PrecisionRecallDisplay, ReliabilityDisplay, RocDisplay]


@pytest.fixture(autouse=True)
def _closed():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture(scope="module", name="iris")
def _iris():
    X, y = load_iris()
    return ANBClassifier(ess=1.0, n_jobs=1).fit(X, y), X, y


def drawings(classifier, X, y):
    frame = compare(X, y, folds=2, models=["NB", "class frequencies"], refit=False, n_jobs=1)
    return {
        "network": lambda ax: NetworkDisplay.from_estimator(classifier, ax=ax),
        "structure": lambda ax: NetworkDisplay.from_structure(classifier.structure_, ax=ax),
        "waterfall": lambda ax: WaterfallDisplay.from_estimator(classifier, X, row=77, ax=ax),
        "comparison": lambda ax: ComparisonDisplay.from_frame(frame, measure="accuracy", ax=ax),
        "score": lambda ax: SampleSizeDisplay.from_estimator(classifier, ax=ax),
        "information": lambda ax: InformationDisplay.from_estimator(classifier, X, y, ax=ax),
        "learning": lambda ax: LearningCurveDisplay.from_estimator(
            NaiveBayesClassifier(ess=1.0, n_jobs=1), X, y, sizes=[30, 60], folds=2, ax=ax
        ),
        **{of.__name__: lambda ax, of=of: of.from_estimator(classifier, X, y, ax=ax) for of in OF_PREDICTIONS},
    }


def test_axes_in_and_out(iris):
    from matplotlib.figure import Figure

    for name, draw in drawings(*iris).items():
        axes = Figure().subplots()
        display = draw(axes)
        assert display.ax_ is axes, name
        assert display.figure_ is axes.figure
        own = display.plot()
        assert own.ax_ is not axes
        assert own.ax_.has_data() or own.ax_.texts


def test_the_waterfall_ends_at_the_log_odds(iris):
    classifier, X, _ = iris
    explanation = classifier.explain(X[77:78])[0]
    display = WaterfallDisplay.from_explanation(explanation, most=2)
    *terms, total = display.ax_.patches
    ends = [bar.get_x() + bar.get_width() for bar in terms]
    assert len(terms) == 3  # two, and the weaker ones together
    assert total.get_width() == pytest.approx(explanation.log_odds)
    assert ends[-1] == pytest.approx(explanation.log_odds)
    assert "virginica against versicolor" in display.ax_.get_xlabel()


def test_the_network_has_all_names_and_arcs(iris):
    classifier, *_ = iris
    display = NetworkDisplay.from_estimator(classifier)
    assert {text.get_text() for text in display.ax_.texts if text.get_text()} == set(classifier.vocabulary_.names)
    assert len(display.ax_.lines) == len(classifier.structure_.feature_edges)


def test_two_classes_have_one_curve_and_more_have_all(iris):
    classifier, X, y = iris
    assert list(RocDisplay.from_estimator(classifier, X, y).curves) == ["setosa", "versicolor", "virginica"]
    assert list(RocDisplay.from_estimator(classifier, X, y, label="setosa").curves) == ["setosa"]
    X, y = load_monks(1)
    monks = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y)
    assert list(GainsDisplay.from_estimator(monks, X, y).curves) == monks.classes_.tolist()[1:]


@pytest.mark.slow
def test_names_are_not_formulas(iris):
    classifier, X, y = iris
    proba = classifier.predict_proba(X)
    classes = ["$a$", "b$", "$\\frac$"]
    y = [classes[code] for code in proba.argmax(axis=1)]
    for of in OF_PREDICTIONS:
        of.from_predictions(y, proba, classes).figure_.canvas.draw()


@given(problem=problems(max_features=3, min_arity=2))
def test_pairs_have_the_information_of_the_rows(problem):
    found = pair_information(problem.table)
    total = sum(problem.weights)

    def entropy(*variables):
        sums = {}
        for row, weight in zip(problem.rows, problem.weights, strict=True):
            key = tuple(row[v] for v in variables)
            sums[key] = sums.get(key, 0.0) + weight / total
        return -sum(p * math.log(p) for p in sums.values())

    c = len(problem.names) - 1
    for i in range(c):
        assert found[i, i] == pytest.approx(entropy(i) + entropy(c) - entropy(i, c), abs=1e-9)
        for j in range(i):
            expected = entropy(i, c) + entropy(j, c) - entropy(i, j, c) - entropy(c)
            assert found[i, j] == found[j, i] == pytest.approx(expected, abs=1e-9)


def test_the_information_graph_draws_the_most_informative_pairs(iris):
    classifier, X, y = iris
    display = InformationDisplay.from_estimator(classifier, X, y, most=2)
    pairs = np.sort(display.information[np.triu_indices(4, 1)])
    widths = sorted(line.get_linewidth() for line in display.ax_.lines)
    assert widths == pytest.approx([0.5 + 4.5 * pairs[-2] / pairs[-1], 5.0])
    assert len(InformationDisplay.from_estimator(classifier, X, y).ax_.lines) == 6  # all that four features have


def test_the_score_at_the_classifiers_sample_size_is_its_own(iris):
    classifier, *_ = iris
    display = SampleSizeDisplay.from_estimator(classifier, ess=[0.5, 1.0, 2.0])
    assert display.chosen == 1.0
    assert display.scores[1.0] == pytest.approx(classifier.structure_.score)
    assert (
        SampleSizeDisplay.from_estimator(NaiveBayesClassifier(structure_score="k2").fit(*load_monks(1))).chosen
        is None
    )


def test_learning_curves_are_held_out_losses():
    X, y = load_monks(1)
    estimator = NaiveBayesClassifier(ess=1.0, n_jobs=1)
    curve = LearningCurveDisplay.from_estimator(estimator, X, y, sizes=[216], folds=2).curve
    frame = compare(X, y, folds=2, models={"NB": estimator})
    losses = curve.groupby("model")["log_loss"].mean()
    assert losses["generative"] == pytest.approx(frame.loc["NB", "log_loss"])
    assert losses["refitted"] == pytest.approx(frame.loc["NB refitted", "log_loss"], rel=1e-4)


@pytest.mark.slow
def test_shapes_of_a_feature_and_of_a_pair():
    model = AdditiveClassifier(TANClassifier(n_jobs=1), intervals=6, smooth=1.0).fit(*load_anes96())
    pair = next(shape.features for shape in model.logit_.shapes() if len(shape.features) == 2)
    assert ShapeDisplay.from_estimator(model, "age").ax_.get_xlabel() == "age"
    assert {ShapeDisplay.from_estimator(model, *pair).ax_.get_ylabel()} <= set(pair)
    with pytest.raises(ValueError, match=r"the shapes are .*age"):
        ShapeDisplay.from_estimator(model, "height")


def test_refusals(iris):
    classifier, X, y = iris
    mixture = AODEClassifier().fit(X, y)
    frame = compare(X, y, folds=2, models=["NB"], refit=False)
    refused = [
        (ValueError, "'rose' is not a class", lambda: RocDisplay.from_estimator(classifier, X, y, label="rose")),
        (ValueError, "does not know", lambda: RocDisplay.from_estimator(classifier, X, ["rose"] * len(X))),
        (ValueError, "missing labels", lambda: RocDisplay.from_estimator(classifier, X, [None] * len(X))),
        (TypeError, "has no network", lambda: NetworkDisplay.from_estimator(mixture)),
        (TypeError, "has no network", lambda: InformationDisplay.from_estimator(mixture, X, y)),
        (TypeError, "conditional tables", lambda: SampleSizeDisplay.from_estimator(mixture)),
        (TypeError, "must be a network", lambda: LearningCurveDisplay.from_estimator(mixture, X, y)),
        (ValueError, "'accuracy'", lambda: ComparisonDisplay.from_frame(frame, measure="height")),
        (ValueError, "one feature", lambda: ShapeDisplay([])),
    ]
    for error, message, draw in refused:
        with pytest.raises(error, match=message):
            draw()


@pytest.mark.slow
def test_matplotlib_is_imported_by_the_first_figure_alone():
    code = (
        "import sys, anbexact, anbexact.plots, anbexact.report; assert 'matplotlib' not in sys.modules; "
        "sys.modules['matplotlib'] = None; from anbexact.datasets import load_monks; "
        "c = anbexact.NaiveBayesClassifier().fit(*load_monks(1)); c._repr_html_(); "
        "anbexact.plots.NetworkDisplay.from_estimator(c)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "ImportError: figures need matplotlib: pip install 'anbexact[figures]'"


def test_bins_of_equal_weight(iris):
    classifier, X, y = iris
    display = ReliabilityDisplay.from_estimator(classifier, X, y, label="versicolor", bins=3)
    curve = display.curves["versicolor"]
    assert display.summary["versicolor"] == pytest.approx(
        np.average(abs(curve["observed"] - curve["predicted"]), weights=curve["weight"])
    )


def test_weights_of_a_pool(iris):
    classifier, X, y = iris
    pool = PooledClassifier([NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0)]).fit(X, y)
    display = PoolDisplay.from_estimator(pool)
    assert [bar.get_width() for bar in display.ax_.patches] == pool.members_["weight"].tolist()
    assert [text.get_text() for text in display.ax_.texts] == [
        f"log loss {loss:.3f}" for loss in pool.members_["log_loss"]
    ]
    with pytest.raises(TypeError, match="ANBClassifier is not a pool"):
        PoolDisplay.from_estimator(classifier)
