"""The evidence panel: its tables are the network's, its posteriors those of prediction, in node and in a browser."""

import base64
import itertools
import json
import re
import subprocess

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from pages import Page
from panels import DRAWS, in_node, needs_node
from scipy.special import digamma, polygamma
from strategies import problems

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, RefittedClassifier, Structure, Vocabulary
from anbexact.classifiers import AveragedTANClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.report import panel
from anbexact.show.report.evidence_panel import described, panel_markup, panel_network, panel_or_reason

RUN_DRAWS = """
global.anbexactEngine = require(process.argv[1]);
const { intervals } = require(process.argv[2]);
const jobs = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(jobs.map(({ network, evidence }) => {
  const net = anbexactEngine.network(network);
  return evidence.map((of) => intervals(net, of));
})));
"""
GAMMAS = """
const { logGammas, uniforms } = require(process.argv[1]), draw = logGammas(uniforms(1));
const shapes = JSON.parse(process.argv[2]), count = Number(process.argv[3]);
console.log(JSON.stringify(shapes.map((a) => {
  let sum = 0, logs = 0, squares = 0;
  for (let k = 0; k < count; k++) { const x = draw(a); sum += Math.exp(x); logs += x; squares += x * x; }
  return [sum / count, logs / count, squares / count];
})));
"""


def random_evidence(network, rows, seed):
    """Return random states of random features, -1 elsewhere; the class last, never known."""
    rng = np.random.default_rng(seed)
    arities = [network.vocabulary.arity(name) for name in network.vocabulary.features]
    known = [rng.random(len(arities)) < share for share in np.linspace(0, 1, rows)]
    return [[int(rng.integers(r)) if k else -1 for r, k in zip(arities, of, strict=True)] + [-1] for of in known]


def brute_force(network, evidence):
    """Return P(state, class, evidence) of every variable, by the sum over all joint states."""
    names = network.vocabulary.names
    arities = [network.vocabulary.arity(name) for name in names]
    place = {name: k for k, name in enumerate(names)}
    found = [np.zeros((r, arities[-1])) for r in arities]
    for row in np.ndindex(*arities):
        if any(state not in (-1, cell) for cell, state in zip(row, evidence, strict=True)):
            continue
        p = np.prod([t.values[tuple(row[place[v]] for v in t.variables)] for t in network.tables.values()])
        for v, cell in enumerate(row):
            found[v][cell, row[-1]] += p
    return found


@pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier])
@given(problem=problems(max_features=3))
def test_the_embedded_tables_are_the_networks(model, problem):
    X, y = problem.frame()
    classifier = model(ess=1.0, n_jobs=1, categories=problem.categories).fit(X, y, problem.weights)
    found = json.loads(json.dumps(described(classifier.model_)))
    names = classifier.vocabulary_.names
    assert [of["name"] for of in found["variables"]] == list(map(str, names))
    assert names[found["target"]] == classifier.vocabulary_.class_name
    for name, table in zip(names, found["tables"], strict=True):
        own = classifier.conditional_tables_[name]
        assert tuple(names[k] for k in table["scope"]) == own.variables
        logs = np.frombuffer(base64.b64decode(table["logs"]), "<f8")
        np.testing.assert_allclose(np.exp(logs), own.values.ravel(), rtol=1e-15)
        v, parents = table["scope"][0], table["scope"][1:]
        joint = oracles.counts(problem.rows, problem.weights, problem.arities, table["scope"])
        states = itertools.product(*(range(problem.arities[p]) for p in parents))
        ranges = [[joint[(k, *j)] for k in range(problem.arities[v])] for j in states]
        totals = np.frombuffer(base64.b64decode(table["totals"]), "<f4")
        np.testing.assert_allclose(totals, np.sum(ranges, axis=1) + 1.0 / len(ranges), rtol=1e-6)


@needs_node
@pytest.mark.parametrize(
    ("draws", "masses"), [(200, (0.999, 0.86)), pytest.param(4000, (0.984, 0.9), marks=pytest.mark.slow)]
)
def test_intervals_are_those_of_the_classifier(draws, masses):
    """Ends between quantiles of the classifier's draws that chance, with 1,000 draws, does not exceed."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.integers(0, 3, (40, 4)), columns=list("abcd")).assign(e=rng.integers(0, 2, 40))
    y = (X["a"] + X["b"] * X["e"] + (rng.random(40) < 0.3)) % 3
    fitted = [
        ANBClassifier(ess=2.0, n_jobs=1, required_edges=[("a", "b"), ("c", "d")]).fit(X, y),
        GBNClassifier(ess=2.0, n_jobs=1, required_edges=[("a", "class"), ("b", "class"), ("c", "d")]).fit(X, y),
    ]
    holes = X.iloc[:10].astype(object).where(rng.random((10, 5)) < np.linspace(0, 1, 10)[:, None], None)
    jobs = [(panel_network(of), [[*row, -1] for row in of.reader_.codes(holes).T.tolist()]) for of in fitted]
    for classifier, answers in zip(fitted, in_node(*jobs, run=RUN_DRAWS), strict=True):
        wide, narrow = (classifier.predict_proba_interval(holes, mass=mass, draws=draws) for mass in masses)
        for t, answer in enumerate(answers):
            assert (answer["status"], answer["draws"]) == ("ok", 1000)
            assert (wide[t, :, 0] - 1e-6 < answer["low"]).all()
            assert (answer["low"] < narrow[t, :, 0] + 1e-6).all()
            assert (narrow[t, :, 1] - 1e-6 < answer["high"]).all()
            assert (answer["high"] < wide[t, :, 1] + 1e-6).all()


@needs_node
def test_logarithms_of_gamma_variables():
    """Means of x, ln x and (ln x)² against a, ψ(a) and ψ₁(a) + ψ(a)²."""
    shapes, count = np.array([0.01, 0.4, 1.0, 2.5, 60.0]), 20_000
    done = subprocess.run(
        ["node", "-e", GAMMAS, str(DRAWS), json.dumps(shapes.tolist()), str(count)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    means, logs, squares = np.array(json.loads(done.stdout)).T
    assert (np.abs(means - shapes) < 4 * np.sqrt(shapes / count)).all()
    spread = polygamma(1, shapes)
    assert (np.abs(logs - digamma(shapes)) < 4 * np.sqrt(spread / count)).all()
    np.testing.assert_allclose(squares - logs**2, spread, rtol=0.1)


@needs_node
def test_where_there_are_no_intervals():
    X, y = load_monks(1)
    X, y = X.iloc[:60], y.iloc[:60]
    bayes, given_tables = (NaiveBayesClassifier(n_jobs=1, parameters=of).fit(X, y) for of in ("eap", "ml"))
    wide = pd.DataFrame(np.arange(60)[:, None] // np.arange(1, 201) % 2).add_prefix("x")
    many = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(wide, pd.Series(np.arange(60) % 10, name="c"))
    states = [0, 0, 0, 0, 0, 0]
    jobs = [
        (panel_network(bayes), [[*states, -1], [*states, 1]]),
        (panel_network(given_tables), [[*states, -1]]),
        (panel_network(many), [[0] * 200 + [-1], [0] * 20 + [-1] * 181]),
    ]
    known, fixed, large = in_node(*jobs, run=RUN_DRAWS)
    assert [answer["status"] for answer in (*known, *fixed, *large)] == ["ok", "none", "none", "large", "ok"]


@needs_node
def test_all_posteriors_equal_the_sum_over_joint_states():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 3, (60, 4)), columns=list("abcd")).assign(e=rng.integers(0, 2, 60))
    y = (X["a"] + X["b"] + rng.integers(0, 2, 60)) % 3
    networks = [
        ANBClassifier(ess=0.5, n_jobs=1, required_edges=[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
        .fit(X, y)
        .model_,
        GBNClassifier(ess=5.0, n_jobs=1).fit(X, y).model_,
        NaiveBayesClassifier(parameters="ml", n_jobs=1).fit(X, y).model_,
    ]
    jobs = [(network, random_evidence(network, 8, seed)) for seed, network in enumerate(networks)]
    for _, evidence in jobs:
        evidence.append([*evidence[3][:-1], 1])  # the class is known, too
    for (network, evidence), answers in zip(jobs, in_node(*jobs), strict=True):
        for of, answer in zip(evidence, answers, strict=True):
            expected = brute_force(network, of)
            total = expected[-1].sum()
            if total == 0:
                assert answer["status"] == "impossible"
                continue
            assert answer["status"] == "ok"
            assert answer["logEvidence"] == pytest.approx(np.log(total), abs=1e-9)
            np.testing.assert_allclose(answer["classes"], np.diag(expected[-1]) / total, atol=1e-12)
            for v, state in enumerate(of[:-1]):
                if state >= 0:
                    assert answer["joint"][v] is None
                else:
                    np.testing.assert_allclose(answer["joint"][v], (expected[v] / total).ravel(), atol=1e-12)


@needs_node
def test_the_class_posterior_is_that_of_prediction_with_missing_cells():
    X, y = load_anes96()
    classifiers = [
        ANBClassifier(ess=1.0, n_jobs=1).fit(X, y),
        RefittedClassifier(ANBClassifier(ess=1.0, n_jobs=1), l2=1.0).fit(X, y),
    ]
    holes = X.astype(object).where(np.random.default_rng(0).random(X.shape) < 0.6, None)[:40]
    jobs = [(panel_network(of), [[*row, -1] for row in of.reader_.codes(holes).T.tolist()]) for of in classifiers]
    for classifier, answers in zip(classifiers, in_node(*jobs), strict=True):
        proba = classifier.predict_proba(holes)
        assert np.abs(proba - [answer["classes"] for answer in answers]).max() < 1e-9
    changes = in_node(jobs[0])[0]
    network, evidence = jobs[0]
    for of, answer in zip(evidence[:10], changes, strict=False):
        for change in answer["changes"]:
            fewer = np.array([of[:-1], of[:-1]], dtype=np.int16)
            fewer[1, change["variable"]] = -1
            logs = network.log_joint(np.asfortranarray(fewer.T))
            odds = logs[:, 0] - logs[:, -1]
            assert change["nats"] == pytest.approx(odds[0] - odds[1], abs=1e-9)


def decided_everywhere(network, evidence, label):
    """Return whether a class leads all others by more than 1e-9 nats, whatever features without evidence are."""
    free = [
        range(network.vocabulary.arity(v)) if s < 0 else [s]
        for v, s in zip(network.vocabulary.features, evidence, strict=True)
    ]
    codes = np.array(list(itertools.product(*free)), dtype=np.int16)
    logs = network.log_joint(np.asfortranarray(codes.T))
    others = np.delete(logs, label, axis=1).max(axis=1)
    return bool((logs[:, label] - others > 1e-9).all())


@needs_node
def test_reasons_settle_the_class_and_none_of_their_findings_can_be_left_out():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.integers(0, 3, (200, 4)), columns=list("abcd")).assign(e=rng.integers(0, 2, 200))
    y = (X["a"] + X["b"] * X["e"] + (rng.random(200) < 0.2)) % 3
    networks = [of(ess=1.0, n_jobs=1).fit(X, y).model_ for of in (ANBClassifier, GBNClassifier, NaiveBayesClassifier)]
    jobs = [(network, random_evidence(network, 25, seed)) for seed, network in enumerate(networks)]
    seen = set()
    for (network, evidence), answers in zip(jobs, in_node(*jobs), strict=True):
        for of, answer in zip(evidence, answers, strict=True):
            label, reason = answer["best"], answer["reason"]
            seen.add((reason["status"], len(reason.get("variables", ()))))
            settled = decided_everywhere(network, of[:-1], label)
            assert reason["status"] == ("settled" if settled else "open")
            if not settled:
                continue
            kept = [state if v in reason["variables"] else -1 for v, state in enumerate(of[:-1])]
            assert decided_everywhere(network, kept, label)
            for v in reason["variables"]:
                fewer = [-1 if u == v else state for u, state in enumerate(kept)]
                assert not decided_everywhere(network, fewer, label)
    assert len({status for status, _ in seen}) == 2
    assert len({size for _, size in seen}) > 2


@needs_node
def test_decisions_and_questions_are_those_of_the_classifier():
    X, y = load_anes96()
    classifier = ANBClassifier(ess=1.0, n_jobs=1).fit(X, y)
    holes = X.astype(object).where(np.random.default_rng(1).random(X.shape) < 0.5, None)[:12]
    costs = pd.DataFrame({"Clinton": [0.0, 3.0], "Dole": [1.0, 0.0], "wait": [0.4, 0.4]}, index=classifier.classes_)
    job = panel_network(classifier), [[*row, -1] for row in classifier.reader_.codes(holes).T.tolist()]
    answers = in_node(job, costs=costs.to_numpy().tolist())[0]
    decided = classifier.decide(holes, costs=costs)
    asked = classifier.next_question(holes, costs=costs)
    names = classifier.vocabulary_.features
    for t, answer in enumerate(answers):
        assert costs.columns[np.argmin(answer["expected"])] == decided["decision"].iloc[t]
        assert min(answer["expected"]) == pytest.approx(decided["expected_cost"].iloc[t], abs=1e-9)
        own = asked[asked["row"] == holes.index[t]].set_index("feature")["gain"]
        for v, saving in enumerate(answer["savings"][:-1]):
            assert (saving is None) == (job[1][t][v] >= 0)
            if saving is not None:
                assert saving == pytest.approx(own[names[v]], abs=1e-9)


@needs_node
def test_tables_with_zeros_have_no_reasons():
    X, _ = load_monks(1)
    network = NaiveBayesClassifier(parameters="ml", n_jobs=1).fit(X, X["head_shape"].rename("c")).model_
    answer = in_node((network, [[0] + [-1] * 6]))[0][0]
    assert answer["reason"] == {"status": "zeros"}


@pytest.mark.slow
@needs_node
def test_eliminations_that_are_too_large_are_refused():
    """Thirteen hubs with thirteen children of four each: nothing known leaves the class its prior."""
    rng = np.random.default_rng(0)
    n = 26
    parents = {"c": (), **{f"x{k}": ("c",) for k in range(13)}}
    parents |= {f"x{k}": ("c", *(f"x{(k + step) % 13}" for step in (0, 1, 5))) for k in range(13, n)}
    names = [*(f"x{k}" for k in range(n)), "c"]
    vocabulary = Vocabulary({name: tuple("abcdef"[: 2 if name == "c" else 6]) for name in names}, "c")
    tables = {}
    for name, of in parents.items():
        shape = [vocabulary.arity(variable) for variable in (name, *of)]
        values = rng.dirichlet(np.ones(shape[0]), size=shape[1:])
        tables[name] = ConditionalTable(name, of, np.moveaxis(values, -1, 0))
    structure = Structure.given("c", parents)
    network = TableNetwork(vocabulary=vocabulary, cut_points={}, structure=structure, tables=tables)
    nothing, leaves, all_known = [-1] * (n + 1), [-1] * 13 + [0] * 13 + [-1], [0] * n + [-1]
    answers = in_node((network, [nothing, leaves, all_known]))[0]
    assert [answer["status"] for answer in answers] == ["class", "large", "ok"]
    shares = network.tables["c"].values
    np.testing.assert_allclose(answers[0]["classes"], shares, atol=1e-12)


def test_the_panel_is_escaped_data():
    X = pd.DataFrame({"</script><script>alert(1)</script>": ["<b>", "\u2028", ""] * 20})
    y = pd.Series(["<!--", "x"] * 30, name="<i>")
    markup = panel_markup(NaiveBayesClassifier(n_jobs=1).fit(X, y).model_)
    page = Page(markup)
    assert [tag for tag, _ in page.elements] == ["div", "p", "script"]
    data = json.loads(page.text[-1])
    assert data["variables"][0]["name"] == "</script><script>alert(1)</script>"
    assert data["variables"][1]["states"] == ["<!--", "x"]
    assert "<" not in page.text[-1]


def test_refits_and_measured_columns_have_a_remark():
    X, y = load_iris()
    refit = RefittedClassifier(NaiveBayesClassifier(n_jobs=1), l2=1.0).fit(X, y)
    measured = ANBClassifier(continuous="universal", n_jobs=1).fit(X, y)
    plain = NaiveBayesClassifier(n_jobs=1).fit(X, y)
    texts = [" ".join(Page(panel_or_reason(of, 10**7)).text) for of in (refit, measured, plain)]
    assert "This model is a refit" in texts[0]
    assert "its probabilities are those of the classifier for any value in a cell" in texts[1]
    assert "at its most probable level" in " ".join(Page(panel_or_reason(measured, 2_000)).text)
    assert not any(said in texts[2] for said in ("refit", "level", "not available"))
    assert ['"totals"' in text for text in texts] == [False, False, True]
    without = NaiveBayesClassifier(n_jobs=1, parameters="ml").fit(X, y)
    assert "have no Dirichlet posterior" in panel_or_reason(without, 10**7)
    needed = len("".join(re.findall('"logs":"([^"]*)"', panel_or_reason(plain, 10**7))))
    assert "Intervals are left out here" in panel_or_reason(plain, needed)


def test_what_has_no_panel_says_why(tmp_path):
    X, y = load_monks(1)
    average = AveragedTANClassifier(n_jobs=1).fit(X[:50], y[:50])
    with pytest.raises(TypeError, match="AveragedTANClassifier averages over more networks than a page can hold"):
        panel(average, tmp_path / "p.html")
    network = NaiveBayesClassifier(n_jobs=1).fit(X, y)
    assert "'anbexact panel' writes a page" in panel_or_reason(network, 100)
    panel(network, tmp_path / "p.html", costs={"no": 1, "yes": 5}, reject=0.25)
    page = Page((tmp_path / "p.html").read_text(encoding="utf-8").removeprefix("<!doctype html>\n"))
    assert [tag for tag, _ in page.elements].count("script") == 5
    data = json.loads(next(text for text in page.text if text.startswith("{")))
    assert data["decisions"] == ["no", "yes", "(reject)"]
    assert data["costs"] == [[0.0, 1.0, 0.25], [5.0, 0.0, 0.25]]
