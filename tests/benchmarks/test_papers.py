"""What the papers' tables are computed with: p-values, distances between networks, smallest I-maps, summaries."""

import sys
import warnings
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import oracles
from papers import accuracy, common, few_children, readings, reasons, store
from papers.methods import METHODS
from papers.table1 import MAIN, hommel, one_more_deal
from papers.table3 import joint_distribution, kl_divergence, shd, smallest_i_maps

GRAPHS = list(oracles.graphs(4))
CLASSES = {}
for graph in GRAPHS:
    CLASSES.setdefault(oracles.equivalence_class(graph), []).append(graph)


def completed(graph):
    """The marks of every pair of nodes: the arcs that some graph of the equivalence class has between them."""
    members = CLASSES[oracles.equivalence_class(graph)]
    arcs = {(a, b) for member in members for b, parents in member.items() for a in parents}
    return {pair: (pair in arcs, pair[::-1] in arcs) for pair in combinations(graph, 2)}


@given(st.sampled_from(GRAPHS), st.sampled_from(GRAPHS))
def test_shd_counts_pairs_that_the_equivalence_classes_join_differently(first, second):
    one, other = completed(first), completed(second)
    assert shd(first, second) == sum(one[pair] != other[pair] for pair in one)


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.03, 0.2, 0.6, 1.0]), min_size=1, max_size=6))
def test_hommel_is_the_closed_test_of_simes(raw):
    def simes(chosen):
        ordered = sorted(raw[k] for k in chosen)
        return min(len(ordered) * p / (k + 1) for k, p in enumerate(ordered))

    families = [chosen for chosen in oracles.subsets(range(len(raw))) if chosen]
    expected = [max(simes(chosen) for chosen in families if k in chosen) for k in range(len(raw))]
    np.testing.assert_allclose(hommel(raw), np.minimum(expected, 1), atol=1e-12)


def random_joint(rng, graph, states):
    """The joint distribution of a network with random tables, an axis for every variable."""
    joint = np.ones(states)
    for v, parents in graph.items():
        shape = [states[u] if u in (*parents, v) else 1 for u in range(len(states))]
        table = rng.gamma(1.0, size=shape)
        joint = joint * (table / table.sum(axis=v, keepdims=True))
    return joint


def factorised(joint, graph):
    """The product of the conditional distributions that a graph takes from a joint one."""
    result = np.ones(joint.shape)
    for v, parents in graph.items():
        others = tuple(u for u in range(joint.ndim) if u not in (*parents, v))
        family = joint.sum(axis=others, keepdims=True)
        result = result * family / family.sum(axis=v, keepdims=True)
    return result


@pytest.mark.parametrize("seed", range(12))
def test_smallest_i_maps_are_those_of_all_networks(seed):
    rng = np.random.default_rng(seed)
    states = tuple(rng.integers(2, 4, 4).tolist())
    joint = random_joint(rng, GRAPHS[rng.integers(len(GRAPHS))], states)
    fewest = {}
    for own in oracles.graphs(3):
        network = {**{v: (*parents, 3) for v, parents in own.items()}, 3: ()}
        if np.allclose(factorised(joint, network), joint, atol=1e-9):
            size = sum((states[v] - 1) * np.prod([states[u] for u in of_v]) for v, of_v in network.items())
            fewest.setdefault(size, []).append(tuple(own.values()))
    assert smallest_i_maps(joint) == sorted(fewest[min(fewest)])


def test_joint_distribution_is_the_product_of_the_tables():
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork([("a", "b")])
    of_b = TabularCPD("b", 2, [[0.1, 0.6], [0.9, 0.4]], evidence=["a"], evidence_card=[2])
    network.add_cpds(TabularCPD("a", 2, [[0.3], [0.7]]), of_b)
    expected = [[0.3 * 0.1, 0.7 * 0.6], [0.3 * 0.9, 0.7 * 0.4]]
    np.testing.assert_allclose(joint_distribution(network, ["b", "a"]), expected)


def test_kl_divergence_weighs_rows_and_leaves_out_those_of_weight_0():
    p, q = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]])
    expected = 0.25 * log(2) + 0.75 * (0.5 * log(2) + 0.5 * log(2 / 3))
    assert kl_divergence(p, q, np.array([0.25, 0.75, 0.0])) == pytest.approx(expected)
    assert kl_divergence(q, q, np.ones(3) / 3) == 0.0


def test_summary_says_how_the_class_stands():
    parents = {"a": (), "b": ("c", "e"), "d": (), "e": (), "c": ("a", "d")}
    X = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 0], "d": [0, 1, 1], "e": [0, 0, 0]}).astype("category")
    X["d"] = X["d"].cat.add_categories([2])
    assert accuracy.summary(parents, "c", X) == {
        "class_parents": 2,
        "class_children": 1,
        "sparse": 6 - 3,
        "blanket": 4,
        "max_parents": 2,
        "removed": 0,
    }
    alone = {"a": (), "b": ("c",), "d": ("b",), "e": (), "c": ()}
    found = accuracy.summary(alone, "c", X)
    assert (found["sparse"], found["blanket"], found["removed"]) == (0, 1, 3)


def test_brier_is_the_squared_distance_to_the_class_that_is_true():
    proba = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
    truth = pd.Series(["x", "x", "unseen"])
    expected = (2 * 0.3**2 + 2 * 0.8**2 + 1 + 2 * 0.5**2) / 3
    assert accuracy.brier(proba, ["x", "y"], truth) == pytest.approx(expected)


def test_deals_count_once_all_their_folds_are_there():
    right = {0: [0.4] * 5 + [0.6] * 5, 1: [0.7] * 10, 2: [0.9] * 9}
    rows = [("t", "m", 10 * deal + k, of_k) for deal, own in right.items() for k, of_k in enumerate(own)]
    found = pd.DataFrame(rows, columns=["table", "method", "fold", "accuracy"])
    found["rows"] = np.where(found["fold"] < 5, 2, 1)
    found = found.assign(log_loss=0.0, brier=0.0, fit_s=1.0, **dict.fromkeys(accuracy.STRUCTURE, 0.0))
    means = accuracy.by_table(found).loc[("t", "m")]
    first = (2 * 0.4 + 0.6) / 3
    assert means["accuracy"] == pytest.approx(first)
    assert means["se"] == pytest.approx(np.std(right[0], ddof=1) / 10**0.5)
    assert means["deals"] == 2
    assert means["over_deals"] == pytest.approx((first + 0.7) / 2)
    assert means["deal_sd"] == pytest.approx(np.std([first, 0.7], ddof=1))
    assert means["deals_apart"] == pytest.approx(abs(first - 0.7))
    assert accuracy.apart(pd.Series([0.5, 0.8, 0.9])) == pytest.approx((0.3 + 0.4 + 0.1) / 3)
    assert np.isnan(accuracy.apart(pd.Series([0.5])))


def test_one_more_deal_is_in_the_prediction_interval_of_students_t():
    found = pd.DataFrame({"deals": [5, 5, 5, 1], "over_deals": 0.8, "deal_sd": [0.02, 0.02, 0.02, np.nan]})
    reach = 2.776445 * 0.02 * 1.2**0.5 + 0.00005  # the quantile for four degrees of freedom, and rounding
    found["published"] = [0.8 + 0.99 * reach, 0.8 - 0.99 * reach, 0.8 + 1.01 * reach, 0.8]
    assert one_more_deal(found).tolist() == [True, True, False, False]


@given(st.integers(0, 10_000), st.integers(0, 3), st.sampled_from([0.0, 0.5, 2.0]))
def test_penalised_optimum_is_that_of_all_graphs(seed, of_class, penalty):
    set_scores = np.random.default_rng(seed).normal(scale=3.0, size=16)

    def total(graph):
        score = 0.0
        for v, parents in graph.items():
            above = sum(1 << u for u in parents)
            score += set_scores[above | 1 << v] - set_scores[above] - penalty * (of_class in parents)
        return score

    expected = max(total(graph) for graph in GRAPHS)
    assert few_children.penalised(set_scores.copy(), of_class, penalty) == pytest.approx(expected)


class Tied:
    """Says the same of all rows: the first two of three classes are equally probable."""

    classes_ = ("a", "b", "c")

    def fit(self, X, y):
        pass

    def predict_proba(self, X):
        return np.tile([0.4, 0.4, 0.2], (len(X), 1))


def test_ties_are_broken_by_lot_or_by_order():
    X, y = pd.DataFrame(index=range(300)), pd.Series(["a", "b", "c", "b"] * 75)
    rows = np.arange(300)
    assert accuracy.judged(Tied(), X, y, rows, rows)["accuracy"] == 1 / 4
    assert accuracy.judged(Tied(), X, y, rows, rows, readings.last(0))["accuracy"] == 1 / 2
    drawn = [accuracy.judged(Tied(), X, y, rows, rows, readings.by_lot(k))["accuracy"] for k in range(20)]
    assert len(set(drawn)) > 1
    assert np.mean(drawn) == pytest.approx(3 / 8, abs=0.03)


def test_values_equal_to_the_cut_lie_above_or_below():
    X = pd.DataFrame({"a": [1.0, 2.0, 2.0, 9.0, 2.0], "b": [1.0, 2.0, 3.0, 2.0, 2.0]})
    above = readings.median_above(X)
    assert above["a"].tolist() == [False, True, True, True, True]
    above = readings.above_mean(X)
    assert above["a"].tolist() == [False, False, False, True, False]
    assert above["b"].tolist() == [False, False, True, False, False]


@pytest.fixture
def small(monkeypatch):
    """A table of six columns of twelve values instead of the shared ones; a and b are called continuous."""
    X = pd.DataFrame({name: np.arange(12) for name in ("a", "x4", "b", "pdays", "previous", "emp_var_rate")})
    listed = pd.DataFrame({"name": ["australian", "bank"], "continuous": ["a b", "a b pdays"]})
    monkeypatch.setattr(common, "manifest", lambda: listed)
    monkeypatch.setattr(common, "read_original", lambda _: (X.copy(), pd.Series(list("uv") * 6, name="class")))
    return list(X)


def states(reading):
    """The number of states of every column of a reading, in order."""
    X, _ = reading.read(0)
    return {name: X[name].nunique() for name in X}


def test_readings_cut_what_their_words_say(small):
    whole = dict.fromkeys(small, 12)
    cut = whole | {"a": 2, "b": 2}

    def reading(**choice):
        return readings.Reading("australian", "", {}, readings.cut_at("australian", **choice))

    assert states(reading()) == cut
    assert states(reading(also=["x4", "a"], whole=["b"])) == whole | {"a": 2, "x4": 2}
    left = states(reading(without=["a"]))
    assert left == {name: n for name, n in cut.items() if name != "a"}
    assert list(left) == small[1:]
    assert states(readings.australian(["x4"])) == cut | {"x4": 2}
    assert states(readings.australian([])) == cut
    assert states(readings.bank(["previous"])) == cut | {"pdays": 2, "previous": 2}
    changed = states(readings.bank(["previous", "pdays"]))
    assert changed == {name: n for name, n in (cut | {"previous": 2}).items() if name != "pdays"}
    by_rule = readings.Reading("australian", "", {}, readings.cut_by("australian", readings.above_mean))
    assert states(by_rule) == cut
    assert list(states(by_rule)) == small


def test_settings_are_those_of_the_classifiers_but_naive_bayes():
    limited = readings.mushroom("at most 2 parents", max_parents=2)
    assert limited.model("GBN-BDeu").max_parents == 2
    assert limited.model("NaiveBayes").get_params() == METHODS["NaiveBayes"].get_params()
    assert METHODS["GBN-BDeu"].max_parents is None


def test_readings_of_one_kind_have_names_of_their_own():
    assert readings.subsets("abc") == [(), ("a",), ("b",), ("c",), *combinations("abc", 2), ("a", "b", "c")]
    names = [reading.name for reading in readings.READINGS]
    names += [readings.australian(columns).name for columns in readings.subsets(readings.AUSTRALIAN)]
    names += [readings.bank(columns).name for columns in readings.subsets(readings.BANK)]
    assert len(set(names)) == len(names) == len(readings.READINGS) + 32 + 8


def test_waves_are_drawn_by_the_rule():
    X, y = readings.waves(0)
    assert X.shape == (5_000, 21)
    assert set(y.value_counts() > 1_500) == {True}
    shares = X.astype(int).groupby(y, observed=True).mean()  # above the median
    assert shares["x7"].idxmin() == "2"  # only this class lacks the triangle with its top there
    assert shares["x15"].idxmin() == "1"
    assert shares["x11"].idxmin() == "0"
    assert shares.max().max() < 1.0


def test_what_is_stored_is_not_measured_again(tmp_path):
    asked = []

    def work(table, method, folds):
        asked.append((table, method, list(folds)))
        return [{"table": table, "method": method, "fold": fold, "value": 10 * fold} for fold in folds]

    path = tmp_path / "raw" / "measured.csv"
    store.measure(path, [("t", "m")], [0, 1], work, jobs=1)
    found = store.measure(path, [("t", "m"), ("t", "n")], [0, 1, 2], work, jobs=1)
    assert asked == [("t", "m", [0, 1]), ("t", "m", [2]), ("t", "n", [0, 1, 2])]
    assert found[["method", "fold", "value"]].to_numpy().tolist() == [
        *(["m", fold, 10 * fold] for fold in range(3)),
        *(["n", fold, 10 * fold] for fold in range(3)),
    ]


def test_only_the_warning_of_replaced_processes_is_silenced(tmp_path):
    def work(table, method, folds):
        warnings.warn(table, UserWarning, stacklevel=2)
        return [{"table": table, "method": method, "fold": fold} for fold in folds]

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        store.measure(tmp_path / "m.csv", [("A worker stopped while", "m"), ("mind this", "m")], [0], work, jobs=1)
    assert [str(warning.message) for warning in seen] == ["mind this"]


def test_the_section_on_reasons_waits_for_all_that_it_tells_of(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "complete", lambda: True)
    monkeypatch.setattr(reasons, "planned", lambda: (readings.Reading("t", "", {"TAN-aCLL": 1}, None),))
    monkeypatch.setattr(reasons, "listed", lambda: pd.DataFrame({"name": ["t"]}))
    monkeypatch.setattr(reasons, "FIRST_STORE", tmp_path / "first.csv")
    monkeypatch.setattr(few_children, "STORE", tmp_path / "bounds.csv")
    rows = [("t", method, fold) for method in (*MAIN, "TAN-aCLL") for fold in range(20)]
    first = pd.DataFrame(rows, columns=store.KEYS).assign(rows=1, accuracy=1.0, log_loss=0.0, brier=0.0)

    def complete(first, bounds=10):
        first.to_csv(reasons.FIRST_STORE, index=False)
        pd.DataFrame({"fold": range(bounds)}).to_csv(few_children.STORE, index=False)
        return reasons.complete()

    assert complete(first)
    assert complete(first[first["fold"] < 10])
    assert not complete(first[first["fold"] != 3])
    assert not complete(first[first["method"] != "TAN-aCLL"])
    assert not complete(first[first["method"] != "GBN-BDeu"])
    assert not complete(first, bounds=9)
    monkeypatch.setattr(readings, "complete", lambda: False)
    assert not complete(first)
