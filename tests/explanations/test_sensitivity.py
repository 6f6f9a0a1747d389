"""Scenarios, tornados and questions against inference in changed rows and changed tables."""

from dataclasses import replace

import explanation_oracles as oracles
import numpy as np
import pandas as pd
import pytest
from explained import MODELS, Case

from anbexact import NaiveBayesClassifier
from anbexact.datasets import load_iris

ROWS = range(0, 60, 9)


def posterior(case, row, tables=None):
    return oracles.posterior(tables or case.tables, "c", row, case.arities, case.n_classes)


@pytest.mark.parametrize("model", ["tan", "class_with_parents", "refitted"])
def test_what_if(model):
    case = Case(model, seed=1)
    X = case.holed().iloc[:6].set_axis(list("uvwxyz"))
    scenarios = {"first": {"f0": 1}, "second": {"f1": 0, "f2": None}}
    frame = case.classifier.what_if(X, scenarios)
    assert len(frame) == 2 * 6 * case.n_classes
    for t, name in enumerate("uvwxyz"):
        row = case.row(t, X)
        before = posterior(case, row)
        for scenario, changes in scenarios.items():
            found = frame[(frame["row"] == name) & (frame["scenario"] == scenario)]
            after = posterior(case, {**row, **changes})
            assert found["class"].tolist() == list(range(case.n_classes))
            np.testing.assert_allclose(found["probability"], after, atol=1e-9)
            np.testing.assert_allclose(found["before"], before, atol=1e-9)
            np.testing.assert_allclose(found["change"], np.subtract(after, before), atol=1e-9)
    listed = case.classifier.what_if(X, [{"f0": 1}, {"f1": 0, "f2": None}])
    assert listed["scenario"].unique().tolist() == ["f0 = 1", "f1 = 0, f2 = unknown"]
    np.testing.assert_array_equal(listed["probability"], frame["probability"])
    one = case.classifier.what_if(X, {"f0": 1})
    np.testing.assert_array_equal(one["probability"], frame["probability"][: len(one)])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"f9": 1}, ValueError, "'f9' is not a feature"),
        ({"f9": None}, ValueError, "'f9' is not a feature"),
        ({"f0": 99}, ValueError, "99 is not a state"),
        ("f0", TypeError, "changes must map features to values"),
    ],
)
def test_scenarios_that_are_refused(changes, error, message):
    case = Case("naive")
    with pytest.raises(error, match=message):
        case.classifier.what_if(case.X, changes)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("holes", [False, True])
def test_tornado_of_features(model, holes):
    case = Case(model, seed=6)
    X = case.holed() if holes else case.X
    frame = case.classifier.tornado(X)
    assert case.classifier.tornado(X, label=1)["label"].unique().tolist() == [1]
    for t in ROWS:
        row = case.row(t, X)
        of_row = frame[frame["row"] == t]
        assert (of_row["high"] - of_row["low"]).is_monotonic_decreasing
        now = posterior(case, row)
        label = int(np.argmax(now))
        assert len(of_row) == sum(arity > 1 for arity in case.arities.values())
        for _, found in of_row.iterrows():
            name = found["feature"]
            varied = [posterior(case, {**row, name: state}) for state in range(case.arities[name])]
            shares = [of_state[label] for of_state in varied]
            assert found["label"] == label
            assert found["state"] == row[name] or (row[name] is None and found["state"] is None)
            assert found["probability"] == pytest.approx(now[label], abs=1e-9)
            assert found["low"] == pytest.approx(min(shares), abs=1e-9)
            assert found["high"] == pytest.approx(max(shares), abs=1e-9)
            assert shares[found["low_state"]] == pytest.approx(min(shares), abs=1e-9)
            assert shares[found["high_state"]] == pytest.approx(max(shares), abs=1e-9)
            assert found["changes_decision"] == any(of_state[label] < max(of_state) - 1e-11 for of_state in varied)


def test_tornado_and_scenarios_of_densities():
    """They need no tables: the posterior of every changed row is that of the classifier."""
    X, y = load_iris()
    X = X.assign(large=np.where(X.iloc[:, 2] > 4, "yes", "no"))
    classifier = NaiveBayesClassifier(continuous="universal").fit(X, y)
    row = X.iloc[[70]]
    found = classifier.tornado(row, label="virginica").set_index("feature").loc["large"]
    shares = [classifier.predict_proba(row.assign(large=state))[0, 2] for state in ("no", "yes")]
    np.testing.assert_allclose([found["low"], found["high"]], sorted(shares), atol=1e-12)
    frame = classifier.what_if(row, {"petal_width": 2.2})
    np.testing.assert_allclose(frame["probability"], classifier.predict_proba(row.assign(petal_width=2.2))[0])
    with pytest.raises(ValueError, match="to_discrete"):
        classifier.next_question(row.assign(petal_width=None))


def with_entry(tables, name, place, value):
    """Return tables in which one entry has another value, those of its distribution changed in proportion."""
    variables, values = tables[name]
    changed = values.copy()
    column = (slice(None), *place[1:])
    changed[column] *= (1 - value) / (1 - values[place])
    changed[place] = value
    return {**tables, name: (variables, changed)}


@pytest.mark.parametrize("model", ["naive", "dense", "class_with_parents", "refitted"])
@pytest.mark.parametrize("holes", [False, True])
def test_tornado_of_entries(model, holes):
    case = Case(model, seed=7, n=5)
    X = (case.holed(share=0.15) if holes else case.X).iloc[:12]
    frame = case.classifier.tornado_of_entries(X, odds=3.0)
    for t in range(0, 12, 4):
        row = case.row(t, X)
        of_row = frame[frame["row"] == t].set_index("entry")
        now = posterior(case, row)
        label = int(np.argmax(now))
        expected = 0
        for name, (variables, values) in case.tables.items():
            if "c" not in variables or len(values) < 2 or any(v != "c" and row[v] is None for v in variables):
                continue
            for c in range(case.n_classes):
                expected += 1
                place = tuple({**row, "c": c}[v] for v in variables)
                given = ", ".join(f"{v} = {k}" for v, k in zip(variables[1:], place[1:], strict=True))
                found = of_row.loc[f"P({name} = {place[0]}" + (f" | {given})" if given else ")")]
                own = values[place] / (1 - values[place])
                ends = [own / 3 / (1 + own / 3), own * 3 / (1 + own * 3)]
                assert found["value"] == pytest.approx(values[place])
                np.testing.assert_allclose([found["value_low"], found["value_high"]], ends)
                shares = [posterior(case, row, with_entry(case.tables, name, place, end))[label] for end in ends]
                np.testing.assert_allclose([found["low"], found["high"]], sorted(shares), atol=1e-9)
                if not np.isnan(found["break_even"]):
                    level = posterior(case, row, with_entry(case.tables, name, place, found["break_even"]))
                    assert level[c] == pytest.approx(max(np.delete(level, c)), abs=1e-7)
                else:
                    assert posterior(case, row, with_entry(case.tables, name, place, 1 - 1e-12))[c] < max(
                        np.delete(now, c)
                    )
                inside = ends[0] < found["break_even"] < ends[1]
                assert found["changes_decision"] == inside
        assert len(of_row) == expected
        assert (of_row["high"] - of_row["low"]).is_monotonic_decreasing


def test_intervals_of_entries():
    """Of Beta distributions, whose parameters are the counts and shares of the prior."""
    from scipy.stats import beta

    X, y = load_iris()
    classifier = NaiveBayesClassifier(ess=2.0, discretizer="mdlp").fit(X, y)
    frame = classifier.tornado_of_entries(X.iloc[[70]]).set_index("entry")
    found = frame.loc["P(petal_width = (1.75, inf] | species = virginica)".replace("]", ")", 1)]
    inside = ((X["petal_width"] > 1.75) & (y == "virginica")).sum()
    a, b = inside + 2 / 9, 50 - inside + 4 / 9
    assert found["value"] == pytest.approx(a / (a + b))
    np.testing.assert_allclose([found["value_low"], found["value_high"]], beta.ppf([0.025, 0.975], a, b))


def test_intervals_of_the_class_with_a_prior_of_its_own():
    from scipy.stats import beta

    X, y = load_iris()
    classifier = NaiveBayesClassifier(ess=2.0, discretizer="mdlp").fit(X, y)
    model = classifier.model_
    classifier.set_model(replace(model, estimation=replace(model.estimation, class_smoothing=30.0)))
    found = classifier.tornado_of_entries(X.iloc[[70]]).set_index("entry").loc["P(species = virginica)"]
    np.testing.assert_allclose([found["value_low"], found["value_high"]], beta.ppf([0.025, 0.975], 60, 120))


def test_entries_without_a_posterior():
    case = Case("refitted")
    with pytest.raises(ValueError, match="Pass odds=2"):
        case.classifier.tornado_of_entries(case.X)
    with pytest.raises(ValueError, match="odds must be a number above 1"):
        case.classifier.tornado_of_entries(case.X, odds=1)


def entropy(shares):
    return -sum(p * np.log(p) for p in shares if p > 0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("criterion", ["information", "costs", "utilities"])
def test_next_question(model, criterion):
    case = Case(model, seed=4)
    X = case.holed(share=0.5).iloc[:30]
    s = case.n_classes
    costs = np.random.default_rng(2).random((s, s)) * (1 - np.eye(s)) if criterion != "information" else 1 - np.eye(s)
    given = {"information": {}, "costs": {"costs": costs}, "utilities": {"utilities": -costs}}[criterion]
    prices = {"f0": 0.01, "f3": 0.002}
    frame = case.classifier.next_question(X, prices=prices, **given)
    for t in range(0, 30, 5):
        row = case.row(t, X)
        now = posterior(case, row)
        of_row = frame[frame["row"] == t].set_index("feature")
        hidden = [name for name in row if row[name] is None and case.arities[name] > 1]
        assert sorted(of_row.index) == hidden
        joint = sum(np.exp(oracles.log_sum_joint(case.tables, "c", row, c, case.arities)) for c in range(s))
        decided = np.flatnonzero(now @ costs <= min(now @ costs) + 1e-11)[0]
        values = {}
        for name in hidden:
            answers = [{**row, name: state} for state in range(case.arities[name])]
            shares = [sum(np.exp(oracles.log_sum_joint(case.tables, "c", full, c, case.arities)) for c in range(s))
                      / joint for full in answers]  # fmt: skip
            after = [posterior(case, full) for full in answers]
            information = entropy(now) - sum(p * entropy(of) for p, of in zip(shares, after, strict=True))
            gain = min(now @ costs) - sum(p * min(of @ costs) for p, of in zip(shares, after, strict=True))
            worse = [(of @ costs)[decided] > min(of @ costs) + 1e-11 for of in after]
            other = sum(p for p, changed in zip(shares, worse, strict=True) if changed)
            found = of_row.loc[name]
            assert found["information"] == pytest.approx(information, abs=1e-10)
            assert found["gain"] == pytest.approx(gain, abs=1e-10)
            assert found["changes_decision"] == pytest.approx(other, abs=1e-10)
            label = int(np.argmax(now))
            assert found["probability"] == pytest.approx(now[label], abs=1e-10)
            assert found["low"] == pytest.approx(min(of[label] for of in after), abs=1e-10)
            assert found["high"] == pytest.approx(max(of[label] for of in after), abs=1e-10)
            values[name] = (information if criterion == "information" else gain) - prices.get(name, 0.0)
            assert found["value"] == pytest.approx(values[name], abs=1e-10)
        assert of_row["value"].is_monotonic_decreasing
        worth = [name for name in hidden if values[name] > 1e-12]
        assert of_row["ask"].sum() == bool(worth)
        if worth:
            assert of_row["ask"].iloc[0]


def test_questions_with_impossible_answers():
    X = pd.DataFrame({"a": ["u", "v", "w"] * 20, "b": ["s", "t"] * 30})
    y = pd.Series(np.where(X["a"] == "u", "yes", "no"), name="c")
    classifier = NaiveBayesClassifier(parameters="ml", categories={"a": ["never", "u", "v", "w"]}).fit(X, y)
    found = classifier.next_question(pd.DataFrame({"a": [None], "b": ["s"]})).iloc[0]
    assert found["information"] == pytest.approx(entropy([1 / 3, 2 / 3]))
    assert (found["gain"], found["changes_decision"]) == pytest.approx((1 / 3, 1 / 3))
    assert (found["low"], found["high"]) == (0, 1)
    with pytest.raises(ValueError, match="holds zeros"):
        classifier.tornado_of_entries(X, odds=2)


def test_questions_that_do_not_fit():
    case = Case("naive")
    assert case.classifier.next_question(case.X).empty
    X = case.holed()
    with pytest.raises(ValueError, match="prices names 'f9'"):
        case.classifier.next_question(X, prices={"f9": 1.0})
    with pytest.raises(ValueError, match="by must be one of"):
        case.classifier.next_question(X, by="luck")
    with pytest.raises(ValueError, match="both given"):
        case.classifier.next_question(X, costs=np.eye(2), utilities=np.eye(2))
    nothing = pd.DataFrame([[None] * 5], columns=X.columns, dtype=object)
    first = case.classifier.next_question(nothing)
    information = case.classifier.explain_global().set_index("feature")["information"]
    np.testing.assert_allclose(first["information"], information[first["feature"]], atol=1e-10)
