"""Scorecards of random tables and models: scores, probabilities, reasons, and every form in which they leave."""

import gc
import json
import runpy
import sqlite3
import subprocess
from importlib.resources import files
from math import log

import numpy as np
import pandas as pd
import pytest
from real_parts import found
from tiers import repeats

from anbexact import (
    AdditiveClassifier,
    FANClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import Scorecard, to_logit, to_scorecard
from anbexact.classifiers import AODEClassifier
from anbexact.datasets import load_iris
from anbexact.scorecards.grouping import grouped
from anbexact.scorecards.tables import PointTable
from anbexact.show.scorecard.sheet import described


def table(seed, n_classes=2, n=150):
    """Return rows with a number that is cut, states that no row has, awkward names, and pairs that matter."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "it's": pd.Categorical.from_codes((a + y * b) % 3, ["x", "y", 'z"<b>', "unseen"]),
            "b": pd.Categorical.from_codes(b, ["no", "yes"]),
            "size": (rng.normal(size=n) + y).round(2),
            "noise": rng.integers(0, 3, n),
        }
    )
    return X, pd.Series(np.array(["bad", "good", "so so"])[y], name="outcome")


def holes(X, seed=0):
    """Return rows with missing cells, and values that are no states."""
    rng = np.random.default_rng(seed)
    found = X.astype({"it's": object, "b": object, "noise": float}).mask(rng.random(X.shape) < 0.2)
    found.loc[found.index[::9], "b"] = "perhaps"
    return found


MODELS = {
    "nb": NaiveBayesClassifier(ess=1.0),
    "tan": TANClassifier(ess=1.0),
    "refitted": RefittedClassifier(FANClassifier(ess=1.0), l2=1.0),
    "smooth": AdditiveClassifier(TANClassifier(ess=1.0), smooth=1.0),
}


@pytest.fixture(scope="module", params=[("tan", 2), ("smooth", 3), ("small", 2)], ids=lambda of: f"{of[0]}-{of[1]}")
def made(request):
    """A card, and its rows with and without holes."""
    model, n_classes = request.param
    X, y = table(1, n_classes)
    if model == "small":
        fitted = TANClassifier(ess=1.0).fit(X, y)
        return to_scorecard(fitted, X, y, max_points=4, n_features=3, reference="good"), holes(X)
    return to_scorecard(MODELS[model].fit(X, y)), holes(X)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fine_points_have_the_posterior_of_the_model(model, n_classes):
    X, y = table(0, n_classes)
    fitted = MODELS[model].fit(X, y)
    card = to_scorecard(fitted, points_to_double_odds=1e6)
    assert np.abs(card.predict_proba(X) - fitted.predict_proba(X)).max() < 1e-4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_score_means_what_its_scale_says(n_classes):
    """At the base score the odds are the base odds, and so many more points double them."""
    X, y = table(0, n_classes)
    fitted = MODELS["tan"].fit(X, y)
    card = to_scorecard(fitted, points_to_double_odds=5, base_score=100, base_odds=3, reference="good")
    assert card.scored == tuple(label for label in ("bad", "so so")[: n_classes - 1])
    scores = np.full((2, n_classes - 1), 100)
    scores[1, 0] = 105
    chances = card.probabilities(scores)
    odds = chances[:, 0] / chances[:, card.classes_.tolist().index("good")]
    assert odds == pytest.approx([3, 6])
    posterior = fitted.predict_proba(X)
    exact = 100 + np.log(posterior[:, 0] / posterior[:, 1] / 3) * 5 / log(2)
    own = card.score(X) if n_classes == 2 else card.score(X)[:, 0]
    assert np.abs(own - exact).max() <= (len(card.tables) + 1) / 2  # half a point for each table, and the intercept


def test_missing_cells_get_the_mean_points():
    rng = np.random.default_rng(0)
    points, weight = rng.integers(-9, 9, (2, 3, 1)), rng.random((2, 3))
    weight[0] = 0
    made = PointTable.of_states(("a", "b"), points, weight).points[..., 0]
    assert (made[:2, :3] == points[..., 0]).all()
    assert made[0, 3] == np.rint(points[0, :, 0].mean())
    assert made[1, 3] == np.rint(np.average(points[1, :, 0], weights=weight[1]))
    assert made[2, :3].tolist() == points[1, :, 0].tolist()
    assert made[2, 3] == np.rint(np.average(points[..., 0], weights=weight))


def test_scores_add_up_what_the_frame_says(made):
    """Every row finds one row in every table of the frame."""
    card, X = made
    scores = card.score(X).reshape(len(X), -1)
    for t in range(0, len(X), 15):
        total = card.intercept.copy()
        codes = dict(zip(card.features, card.reader.codes_of(X[t : t + 1], card.features)[:, 0], strict=True))
        for own in card.tables:
            cell = [arity if codes[n] < 0 else codes[n] for n, arity in zip(own.features, own.n_states, strict=True)]
            rows = [r for r in card.rows(own) if all(c in g for c, g in zip(cell, r.cells, strict=True))]
            assert len(rows) == 1
            total += rows[0].points
        assert total.tolist() == scores[t].tolist()
    frame = card.to_frame()
    listed = 1 + sum(len(card.rows(own)) for own in card.tables)
    assert len(frame) == listed
    low, high = card.range
    assert ((low <= scores) & (scores <= high)).all()


def test_sql_and_python_have_the_same_points(made, tmp_path):
    card, X = made
    scores = card.score(X).reshape(len(X), -1)
    with sqlite3.connect(":memory:") as connection:
        X.to_sql("rows", connection, index_label="key")
        found = pd.read_sql(card.to_sql("sqlite", keep=["key"]), connection)
    assert found["key"].tolist() == list(range(len(X)))
    assert (found[card.score_names].to_numpy() == scores).all()
    chances = found[[f"P({label})" for label in card.classes_]].to_numpy()
    assert np.abs(chances - card.predict_proba(X)).max() < 1e-12
    assert found["prediction"].tolist() == card.predict(X).tolist()
    card.to_python(tmp_path / "card.py")
    scorer = runpy.run_path(tmp_path / "card.py")
    rows = X[list(card.features)].astype(object).where(X[list(card.features)].notna(), None).to_dict("records")
    for row, own, chance in zip(rows, scores, chances, strict=True):
        of_row = scorer["score"](row)
        assert (list(of_row.values()) if isinstance(of_row, dict) else [of_row]) == own.tolist()
        assert list(scorer["predict_proba"](row).values()) == pytest.approx(chance.tolist(), abs=1e-12)
    label = card.scored[0]
    expected = card.reasons(X[:20], label=label).droplevel("rank")
    for t, row in enumerate(rows[:20]):
        own = expected.loc[[t]].to_dict("records") if t in expected.index else []
        assert [list(reason.values()) for reason in scorer["reasons"](row, label=label)] == [
            list(reason.values()) for reason in own
        ]


def test_duckdb_has_the_same_points(made):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    card, rows = made
    found = duckdb.sql(card.to_sql()).df() if len(rows) else None
    assert (found[card.score_names].to_numpy() == card.score(rows).reshape(len(rows), -1)).all()


@pytest.mark.real("node")
def test_the_calculator_has_the_same_points(made):
    """Its script, run by node, on the texts that a visitor would enter."""
    card, X = made
    script = files("anbexact.show.report.page").joinpath("static", "scorecard.js")
    texts = []
    for t in range(len(X)):
        row = []
        for name in card.features:
            value = X[name].iloc[t]
            code = -1 if pd.isna(value) else card.reader.vocabulary.code(name, value)
            cut = name in card.reader.cut_points
            row.append("" if pd.isna(value) or (not cut and code < 0) else repr(float(value)) if cut else str(code))
        texts.append(row)
    run = """
    const card = require(process.argv[1]), given = JSON.parse(require("fs").readFileSync(0));
    console.log(JSON.stringify(given.rows.map((row) => {
      const scores = card.scores(given.card, row.map((text, j) => card.code(given.card.features[j], text)));
      return [scores, card.probabilities(given.card, scores)];
    })));
    """
    job = json.dumps({"card": described(card), "rows": texts})
    done = subprocess.run(["node", "-e", run, str(script)], input=job, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [scores for scores, _ in found] == card.score(X).reshape(len(X), -1).tolist()
    assert np.abs(np.array([chances for _, chances in found]) - card.predict_proba(X)).max() < 1e-12


def test_reasons_are_the_largest_costs(made):
    card, X = made
    label = card.scored[-1]
    k = card.scored.index(label)
    found = card.reasons(X, most=2, label=label)
    mean = card.reasons(X, most=99, label=label, against="mean")
    codes = dict(zip(card.features, card.reader.codes_of(X, card.features).astype(int), strict=True))
    for t in range(0, len(X), 10):
        costs, of_mean = {}, {}
        for own in card.tables:
            inner = own.points[tuple(slice(0, -1) for _ in own.features)][..., k]
            points = own.at({name: of[t : t + 1] for name, of in codes.items()})[0, k]
            name = " & ".join(map(str, own.features))
            costs[name] = inner[own.weight > 0].max() - points
            of_mean[name] = (inner * own.weight).sum() / own.weight.sum() - points
        best = sorted((cost for cost in costs.values() if cost > 0), reverse=True)[:2]
        assert (found.loc[[t], "cost"].tolist() if t in found.index.get_level_values(0) else []) == best
        own = mean.loc[[t]] if t in mean.index.get_level_values(0) else mean[:0]
        assert dict(zip(own["feature"], own["cost"], strict=True)) == pytest.approx(
            {name: cost for name, cost in of_mean.items() if cost > 0}
        )


def test_small_points_keep_their_limits():
    for seed in repeats(4):
        X, y = table(seed)
        weights = np.random.default_rng(seed).random(len(X))
        fitted = TANClassifier(ess=1.0).fit(X, y, weights)
        card = to_scorecard(fitted, X, y, weights, max_points=2, n_features=2, gap=0.004)
        assert len(card.features) <= 2
        assert max(abs(own.points).max() for own in card.tables) <= 2
        assert card.certificate.in_time
        assert card.certificate.gap <= 0.0041
        chances = card.predict_proba(X)[np.arange(len(X)), np.searchsorted(card.classes_, y)]
        loss = -weights @ np.log(chances) / weights.sum()
        assert 0 <= card.certificate.loss - loss < 0.5 * card.certificate.pull * 50  # squared distances, summed
        assert card.certificate.relaxed_loss <= card.certificate.bound <= card.certificate.loss


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_features_have_points_on_the_scale_of_log_odds(n_classes):
    X, y = table(5, n_classes)
    fitted = TANClassifier(ess=1.0).fit(X, y)
    card = to_scorecard(fitted, X, y, n_features=2, points_to_double_odds=30, base_score=500, base_odds=20)
    assert len(card.features) == 2
    assert card.scale == pytest.approx(log(2) / 30)
    at_base = card.log_odds(np.full((1, card.n_scores), 500))[0, 1:]
    assert abs(at_base - log(20)).max() <= card.scale / 2 + 1e-12
    loss = -np.log(card.predict_proba(X)[np.arange(len(X)), np.searchsorted(card.classes_, y)]).mean()
    assert card.certificate.bound - 1e-9 <= loss + 50 * card.certificate.pull  # squared distances, summed
    assert loss <= card.certificate.loss <= card.certificate.bound + 0.0011
    small = to_scorecard(fitted, X, y, n_features=2, max_points=3)
    assert card.certificate.loss <= small.certificate.loss + 0.0011


def test_the_rows_of_a_refit_suffice():
    X, y = table(2)
    fitted = MODELS["smooth"].fit(X, y)
    how = {"max_points": 3, "n_features": 2, "gap": 0.01}
    card, same = to_scorecard(fitted, **how), to_scorecard(fitted, X, **how)
    assert card.certificate.loss == pytest.approx(same.certificate.loss, abs=0.02)
    assert not card.certificate.observed
    assert to_scorecard(fitted, X, y, **how).certificate.observed


def test_groups_have_least_variance():
    """The groups of an ordered effect, against all ways to cut it."""
    X, y = table(3)
    logit = to_logit(AdditiveClassifier(NaiveBayesClassifier(ess=1.0), intervals=8, smooth=0.01).fit(X, y))
    effect = next(own for own in logit.additive_effects().effects if own.features == ("size",))
    values = (effect.log_odds[:, 1] - effect.log_odds[:, 0])[:, None]
    (groups,) = grouped(effect, values, logit.vocabulary, {"size"}, 3)
    assert groups.tolist() == sorted(groups)

    def within(cuts):
        parts = np.split(np.arange(len(values)), cuts)
        means = (np.average(values[p, 0], weights=effect.weight[p]) for p in parts)
        return sum(effect.weight[p] @ (values[p, 0] - mean) ** 2 for p, mean in zip(parts, means, strict=True))

    n = len(values)
    own = within(np.flatnonzero(np.diff(groups)) + 1)
    assert own == pytest.approx(min(within([i, j]) for i in range(1, n) for j in range(i + 1, n)), rel=1e-5)


def test_workbooks_hold_every_point(made, tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    card, _ = made
    card.to_excel(tmp_path / "card.xlsx")
    book = openpyxl.load_workbook(tmp_path / "card.xlsx")
    rows = [row[2 : 2 + card.n_scores] for row in book["Points"].iter_rows(values_only=True)]
    flat = [list(points) for own in card.tables for points in own.points.reshape(-1, card.n_scores).tolist()]
    assert [list(row) for row in rows[4:]] == flat
    first = next(book["Rows"].iter_rows(min_row=2, max_row=2, values_only=True))
    assert str(first[len(card.features)]).startswith("=Points!")


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_ends_a_workbook_with_one_error(made, tmp_path):
    """What is left of an archive that could not be written does not fail again."""
    (tmp_path / "full.xlsx").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        made[0].to_excel(tmp_path / "full.xlsx")
    gc.collect()


@pytest.mark.real("libreoffice")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_workbooks_score_rows(n_classes, tmp_path):
    """Also where states differ in case, look like patterns, or are missing or unknown."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    X, y = table(1, n_classes)
    X["it's"] = X["it's"].cat.rename_categories({"x": "Y", "unseen": "y*"})
    card = to_scorecard(TANClassifier(ess=1.0).fit(X, y))
    card.to_excel(tmp_path / "card.xlsx")
    book = openpyxl.load_workbook(tmp_path / "card.xlsx")
    rows = holes(X)[:60].reset_index(drop=True)
    rows.loc[:3, "it's"] = ["Y", "y", "y*", "y?"]
    for t, cells in enumerate(rows[list(card.features)].astype(object).itertuples(index=False), 2):
        for j, value in enumerate(cells, 1):
            if pd.notna(value):
                book["Rows"].cell(t, j, value)
    (tmp_path / "computed").mkdir()
    book.save(tmp_path / "filled.xlsx")
    subprocess.run(
        [found(("soffice", "libreoffice")), f"-env:UserInstallation=file://{tmp_path}/profile", "--headless",
         "--convert-to", "xlsx", "--outdir", tmp_path / "computed", tmp_path / "filled.xlsx"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    computed = pd.read_excel(tmp_path / "computed" / "filled.xlsx", sheet_name="Rows")[: len(rows)]
    scores = card.score(rows).reshape(len(rows), -1)
    np.testing.assert_array_equal(computed[card.score_names].to_numpy(), scores)
    chances = computed[[f"P({label})" for label in card.classes_]].to_numpy()
    np.testing.assert_allclose(chances, card.predict_proba(rows), rtol=1e-12)
    assert computed["prediction"].tolist() == card.predict(rows).tolist()


@pytest.mark.slow
def test_formulas_of_many_features_fit_into_cells(tmp_path):
    """A cell holds 8,192 characters."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (80, 60)), columns=[f"feature {j}" for j in range(60)])
    to_scorecard(TANClassifier(ess=1.0).fit(X, X["feature 0"].rename("y") % 2)).to_excel(tmp_path / "card.xlsx")
    book = openpyxl.load_workbook(tmp_path / "card.xlsx")
    longest = max(len(str(cell.value)) for sheet in ("Rows", "Codes") for cell in book[sheet][2])
    assert longest < 8_192


X2, Y2 = table(4)
REFUSED = [
    ({"max_points": 0}, "max_points must be a whole number, 1 or more, not 0"),
    ({"X": X2, "y": Y2}, "y= belongs to points of least loss: pass max_points= or n_features="),
    ({"max_points": 2, "base_score": 5}, "scores then begin at 0"),
    ({"points_to_double_odds": -1}, "points_to_double_odds must be a number above 0, not -1"),
    ({"reference": "best"}, "reference must be one of the classes"),
    ({"max_points": 2}, "points of least loss need rows: pass X"),
    ({"y": Y2, "max_points": 2}, "y and sample_weight need the rows"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        to_scorecard(NaiveBayesClassifier(ess=1.0).fit(X2, Y2), **options)


def test_refused_calls():
    card = to_scorecard(NaiveBayesClassifier(ess=1.0).fit(X2, Y2))
    assert isinstance(card, Scorecard)
    with pytest.raises(ValueError, match="X has no column 'b'"):
        card.score(X2.drop(columns="b"))
    with pytest.raises(ValueError, match="against must be one of 'best', 'mean', not 'all'"):
        card.reasons(X2, against="all")
    with pytest.raises(ValueError, match="label must be a class with a score"):
        card.reasons(X2, label="bad")
    with pytest.raises(ValueError, match="dialect must be one of"):
        card.to_sql("tsql")
    with pytest.raises(ValueError, match="the result has a score under this name"):
        card.to_sql(keep=["Score"])
    with pytest.raises(TypeError, match="whose log odds are a sum over families"):
        to_scorecard(AODEClassifier().fit(X2, Y2))


def test_frames_may_have_other_columns():
    card = to_scorecard(NaiveBayesClassifier(ess=1.0).fit(X2, Y2))
    mixed = X2[X2.columns[::-1]].assign(more=1)
    assert (card.score(mixed) == card.score(X2)).all()
    X, y = load_iris()
    card = to_scorecard(NaiveBayesClassifier(ess=1.0).fit(X.to_numpy(), y))
    assert card.score(X.to_numpy()).shape == (150, 2)
