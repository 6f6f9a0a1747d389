"""Every classifier is printed, shown and reported by the facts that it has: also a stranger's that is no network."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from anbexact import AdditiveClassifier, NaiveBayesClassifier, PooledClassifier, RefittedClassifier, TANClassifier
from anbexact.classifiers.registry import named_classifiers, networks_of
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.datasets import load_iris, load_monks
from anbexact.models.model import Model
from anbexact.plots import ArcProbabilityDisplay, InformationDisplay, NetworkDisplay, PoolDisplay, SampleSizeDisplay
from anbexact.report import arc_report, feature_report, panel, report, stability_report
from anbexact.show.notebook import html
from anbexact.show.report.facts import facts, print_learned, print_reading, sample_sizes, sizes_text
from anbexact.show.report.plain import print_json
from anbexact.tables.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False, kw_only=True)
class Stump(Model):
    """P(class | the state of one feature)."""

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Any]
    feature: Hashable
    logs: np.ndarray

    @property
    def n_parameters(self):
        return self.logs[:-1].size - len(self.logs) + 1

    def log_posterior(self, codes, n_jobs=None):
        return self.logs[codes[self.vocabulary.features.index(self.feature)]]  # the last row: missing or unknown


@dataclass(frozen=True, eq=False, kw_only=True)
class TalkingStump(Stump):
    def facts(self):
        return {"splits_on": self.feature, "share": 0.5}


class StumpClassifier(TableClassifier):
    model = Stump

    def _learn_model(self, read):
        table, cut_points = read.discretised(self.discretizer)
        vocabulary = table.vocabulary
        feature = vocabulary.features[-1]
        counts = table.counts([feature, vocabulary.class_name]) + 1.0
        counts = np.vstack([counts, counts.sum(axis=0)])
        logs = np.log(counts / counts.sum(axis=1, keepdims=True))
        return self.model(vocabulary=vocabulary, cut_points=cut_points, feature=feature, logs=logs)


class TalkingStumpClassifier(StumpClassifier):
    model = TalkingStump


@pytest.fixture(scope="module", name="rows")
def _rows():
    return load_iris()


@pytest.fixture(params=[StumpClassifier, TalkingStumpClassifier], name="stump")
def _stump(request, rows):
    return request.param(n_jobs=1).fit(*rows)


OWN = {
    StumpClassifier: {"free_parameters": 6},
    TalkingStumpClassifier: {"splits_on": "petal_width", "share": 0.5},
}
LINES = {
    StumpClassifier: ["free parameters: 6"],
    TalkingStumpClassifier: ["splits on: petal_width", "share: 0.5"],
}


def test_it_is_printed(stump, capsys):
    print_reading(stump)
    print_learned(stump)
    assert sample_sizes(stump) == ""
    assert capsys.readouterr().out.splitlines() == LINES[type(stump)]


def test_its_facts_are_written_to_json(stump, capsys):
    print_json(facts(stump))
    written = json.loads(capsys.readouterr().out)
    assert written["classes"] == ["setosa", "versicolor", "virginica"]
    assert written["dropped"] == {}
    read = ["class", "classes", "features", "cut_points", "groups", "missing_as_states", "dropped"]
    assert {key: value for key, value in written.items() if key not in read} == OWN[type(stump)]


def test_a_notebook_shows_it(stump):
    shown = html(stump)
    assert shown in stump._repr_html_()
    assert "species: 3 classes, 4 features." in shown
    for line in LINES[type(stump)]:
        assert line in shown


def test_it_is_reported(stump, rows):
    made = report(stump, *rows, folds=2, stability=True)
    keys = [section.key for section in made.document.sections]
    assert keys == ["summary", "data", "model", "performance", "panel", "limits", "reproduce"]
    assert made.document.title == f"species: {type(stump).__name__}"
    document = made.to_dict()
    assert document["model"]["facts"] == LINES[type(stump)]
    lines = {line["model"]: line for line in document["performance"]["measures"]}
    assert lines[f"{type(stump).__name__} (this model)"]["accuracy"] > 0.9
    for text in (made.to_html(), made.to_markdown()):
        assert LINES[type(stump)][0] in text.replace("\\_", "_")
        assert "An evidence panel is not available" in text


def test_what_it_does_not_have_is_refused_in_a_sentence(stump, rows, tmp_path):
    name = type(stump).__name__
    with pytest.raises(TypeError, match=r"not available: a (Talking)?Stump is not a network of conditional tables"):
        panel(stump, tmp_path / "panel.html")
    with pytest.raises(TypeError, match=f"{name} has no network"):
        feature_report(stump, *rows)
    with pytest.raises(TypeError, match=f"{name} has no network"):
        arc_report(stump)
    with pytest.raises(TypeError, match=f"{name} has no network"):
        stability_report(stump, *rows)
    for display, arguments in ((NetworkDisplay, ()), (InformationDisplay, rows), (SampleSizeDisplay, ())):
        with pytest.raises(TypeError, match=f"{name} has no network"):
            display.from_estimator(stump, *arguments)
    with pytest.raises(TypeError, match=f"{name} is not an average"):
        ArcProbabilityDisplay.from_estimator(stump)
    with pytest.raises(TypeError, match=f"{name} is not a pool"):
        PoolDisplay.from_estimator(stump)
    with pytest.raises(TypeError, match="a classifier of anbexact with a network"):
        RefittedClassifier(stump).fit(*rows)


@pytest.mark.parametrize("name", [name for name in named_classifiers() if name not in ("pool", "auto")])
def test_every_registered_classifier_tells_what_it_learned(name, capsys):
    X, y = (part[::6] for part in load_monks(1))
    classifier = named_classifiers()[name].estimator(n_jobs=1).fit(X, y)
    print_learned(classifier)
    assert y.name in capsys.readouterr().out
    assert sample_sizes(classifier)
    print_json(facts(classifier))
    assert json.loads(capsys.readouterr().out)["class"] == y.name
    assert 'class="anbexact"' in html(classifier)


def test_what_takes_long_is_computed_only_where_it_is_shown(rows, capsys):
    """The effective degrees of freedom can take longer than the fit; a page and a notebook do not show them."""
    smooth = AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), intervals=4, smooth=1.0).fit(*rows)
    html(smooth)
    report(smooth, *rows, folds=None).to_html()
    assert "effective_degrees" not in vars(smooth.logit_.refitted)
    print_learned(smooth)
    degrees = facts(smooth)["refit"]["effective_degrees_of_freedom"]
    assert f"{degrees:.1f} effective degrees of freedom" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"score_name": "BDeu", "smoothing": 2.0}, "equivalent sample size 2"),
        ({"score_name": "BDs", "smoothing": 0.5}, "equivalent sample size 2 for the structure, 0.5 for the tables"),
        ({"score_name": "BIC", "smoothing": 0.5}, "equivalent sample size 0.5"),
        ({"score_name": "BDeu", "parameters": "ml"}, "equivalent sample size 2, tables by ml"),
        ({"score_name": "BIC", "parameters": "ml"}, "tables by ml"),
    ],
)
def test_sample_sizes_are_named_where_something_depends_on_them(given, text):
    assert sizes_text({"ess": 2.0, "smoothing": 2.0, "parameters": "eap", "structure": None, **given}) == text


def test_the_classifier_knows_more_of_its_members_than_the_model(rows):
    pool = PooledClassifier([("NB", NaiveBayesClassifier(n_jobs=1)), ("TAN", TANClassifier(n_jobs=1))]).fit(*rows)
    members = facts(pool)["members"]
    assert [member["outcome"] for member in members] == pool.members_["outcome"].tolist()
    assert [member["log_loss"] for member in members] == pool.members_["log_loss"].tolist()
    assert np.isfinite(pool.members_["log_loss"]).all()


def test_tables_that_were_given_have_no_sample_sizes(rows, capsys):
    given = RefittedClassifier(NaiveBayesClassifier(n_jobs=1)).fit(*rows).logit_.to_classifier()
    assert sample_sizes(given) == "tables given"
    assert not {"ess", "smoothing"} & set(facts(given))
    print_learned(given)
    assert "species -> every feature" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "networks"), [("tan", "tan"), ("fan", "fan"), ("gbn", "gbn"), ("anb", "anb")])
def test_which_networks_are_searched(name, networks):
    estimator = named_classifiers()[name].estimator
    assert networks_of(estimator) == networks
    assert networks_of(type("Own", (estimator,), {})) == networks
