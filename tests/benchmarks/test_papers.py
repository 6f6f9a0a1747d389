"""What the papers' tables are computed with: p-values, distances between networks, smallest I-maps, summaries."""

from itertools import combinations
from math import log

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.harness.folds import brier
from benchmarks.papers import accuracy, common, few_children, sensitivity, variants
from benchmarks.papers.methods import METHODS
from benchmarks.papers.table1 import MAIN, hommel, within_interval
from benchmarks.papers.table3 import joint_distribution, kl_divergence, smallest_i_maps

GRAPHS = list(oracles.graphs(4))


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.03, 0.2, 0.6, 1.0]), min_size=1, max_size=6))
def test_hommel_is_the_closed_test_of_simes(uncorrected):
    def simes(chosen):
        ordered = sorted(uncorrected[k] for k in chosen)
        return min(len(ordered) * p / (k + 1) for k, p in enumerate(ordered))

    families = [chosen for chosen in oracles.subsets(range(len(uncorrected))) if chosen]
    expected = [max(simes(chosen) for chosen in families if k in chosen) for k in range(len(uncorrected))]
    np.testing.assert_allclose(hommel(uncorrected), np.minimum(expected, 1), atol=1e-12)


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
    assert brier(proba, ["x", "y"], truth) == pytest.approx(expected)


def test_repeats_count_once_all_their_folds_are_there():
    right = {0: [0.4] * 5 + [0.6] * 5, 1: [0.7] * 10, 2: [0.9] * 9}
    rows = [("t", "m", 10 * repeat + k, of_k) for repeat, own in right.items() for k, of_k in enumerate(own)]
    found = pd.DataFrame(rows, columns=["table", "method", "fold", "accuracy"])
    found["rows"] = np.where(found["fold"] < 5, 2, 1)
    found = found.assign(log_loss=0.0, brier=0.0, fit_s=1.0, **dict.fromkeys(accuracy.STRUCTURE, 0.0))
    means = accuracy.by_table(found).loc[("t", "m")]
    first = (2 * 0.4 + 0.6) / 3
    assert means["accuracy"] == pytest.approx(first)
    assert means["se"] == pytest.approx(np.std(right[0], ddof=1) / 10**0.5)
    assert means["repeats"] == 2
    assert means["over_repeats"] == pytest.approx((first + 0.7) / 2)
    assert means["repeat_sd"] == pytest.approx(np.std([first, 0.7], ddof=1))
    assert means["repeats_apart"] == pytest.approx(abs(first - 0.7))
    assert accuracy.apart(pd.Series([0.5, 0.8, 0.9])) == pytest.approx((0.3 + 0.4 + 0.1) / 3)
    assert np.isnan(accuracy.apart(pd.Series([0.5])))


def test_the_prediction_interval_is_that_of_students_t():
    found = pd.DataFrame({"repeats": [5, 5, 5, 1], "over_repeats": 0.8, "repeat_sd": [0.02, 0.02, 0.02, np.nan]})
    reach = 2.776445 * 0.02 * 1.2**0.5 + 0.00005  # the quantile for four degrees of freedom, and rounding
    found["published"] = [0.8 + 0.99 * reach, 0.8 - 0.99 * reach, 0.8 + 1.01 * reach, 0.8]
    assert within_interval(found).tolist() == [True, True, False, False]


@given(st.integers(0, 10_000), st.integers(0, 3), st.sampled_from([0.0, 0.5, 2.0]))
def test_penalised_optimum_is_that_of_all_graphs(seed, class_node, penalty):
    set_scores = np.random.default_rng(seed).normal(scale=3.0, size=16)

    def total(graph):
        score = 0.0
        for v, parents in graph.items():
            above = sum(1 << u for u in parents)
            score += set_scores[above | 1 << v] - set_scores[above] - penalty * (class_node in parents)
        return score

    expected = max(total(graph) for graph in GRAPHS)
    assert few_children.penalised(set_scores.copy(), class_node, penalty) == pytest.approx(expected)


class Tied:
    """Says the same of all rows: the first two of three classes are equally probable."""

    classes_ = ("a", "b", "c")

    def fit(self, X, y):
        pass

    def predict_proba(self, X):
        return np.tile([0.4, 0.4, 0.2], (len(X), 1))


def test_ties_are_broken_at_random_or_by_order():
    X, y = pd.DataFrame(index=range(300)), pd.Series(["a", "b", "c", "b"] * 75)
    rows = np.arange(300)
    assert accuracy.judged(Tied(), X, y, rows, rows)["accuracy"] == 1 / 4
    assert accuracy.judged(Tied(), X, y, rows, rows, variants.last(0))["accuracy"] == 1 / 2
    drawn = [accuracy.judged(Tied(), X, y, rows, rows, variants.at_random(k))["accuracy"] for k in range(20)]
    assert len(set(drawn)) > 1
    assert np.mean(drawn) == pytest.approx(3 / 8, abs=0.03)


def test_values_equal_to_the_cut_lie_above_or_below():
    X = pd.DataFrame({"a": [1.0, 2.0, 2.0, 9.0, 2.0], "b": [1.0, 2.0, 3.0, 2.0, 2.0]})
    above = variants.median_above(X)
    assert above["a"].tolist() == [False, True, True, True, True]
    above = variants.above_mean(X)
    assert above["a"].tolist() == [False, False, False, True, False]
    assert above["b"].tolist() == [False, False, True, False, False]


@pytest.fixture
def small(monkeypatch):
    """A table of six columns of twelve values instead of the shared ones; a and b are called continuous."""
    X = pd.DataFrame({name: np.arange(12) for name in ("a", "x4", "b", "pdays", "previous", "emp_var_rate")})
    listed = pd.DataFrame({"name": ["australian", "bank"], "continuous": ["a b", "a b pdays"]})
    monkeypatch.setattr(common, "manifest", lambda: listed)
    monkeypatch.setattr(common, "complete_rows", lambda _: (X.copy(), pd.Series(list("uv") * 6, name="class")))
    return list(X)


def states(variant):
    """The number of states of every column of a variant, in order."""
    X, _ = variant.read(0)
    return {name: X[name].nunique() for name in X}


def test_variants_cut_what_their_words_say(small):
    whole = dict.fromkeys(small, 12)
    cut = whole | {"a": 2, "b": 2}

    def variant(**choice):
        return variants.Variant("australian", "", {}, variants.cut_at("australian", **choice))

    assert states(variant()) == cut
    assert states(variant(also=["x4", "a"], whole=["b"])) == whole | {"a": 2, "x4": 2}
    left = states(variant(without=["a"]))
    assert left == {name: n for name, n in cut.items() if name != "a"}
    assert list(left) == small[1:]
    assert states(variants.australian(["x4"])) == cut | {"x4": 2}
    assert states(variants.australian([])) == cut
    assert states(variants.bank(["previous"])) == cut | {"pdays": 2, "previous": 2}
    changed = states(variants.bank(["previous", "pdays"]))
    assert changed == {name: n for name, n in (cut | {"previous": 2}).items() if name != "pdays"}
    by_rule = variants.Variant("australian", "", {}, variants.cut_by("australian", variants.above_mean))
    assert states(by_rule) == cut
    assert list(states(by_rule)) == small


def test_settings_are_those_of_the_classifiers_but_naive_bayes():
    limited = variants.mushroom("at most 2 parents", max_parents=2)
    assert limited.model("GBN-BDeu").max_parents == 2
    assert limited.model("NaiveBayes").get_params() == METHODS["NaiveBayes"].get_params()
    assert METHODS["GBN-BDeu"].max_parents is None


def test_variants_of_one_kind_have_names_of_their_own():
    assert variants.subsets("abc") == [(), ("a",), ("b",), ("c",), *combinations("abc", 2), ("a", "b", "c")]
    names = [variant.name for variant in variants.VARIANTS]
    names += [variants.australian(columns).name for columns in variants.subsets(variants.AUSTRALIAN)]
    names += [variants.bank(columns).name for columns in variants.subsets(variants.BANK)]
    assert len(set(names)) == len(names) == len(variants.VARIANTS) + 32 + 8


def test_waves_are_drawn_by_the_rule():
    X, y = variants.waves(0)
    assert X.shape == (5_000, 21)
    assert set(y.value_counts() > 1_500) == {True}
    shares = X.astype(int).groupby(y, observed=True).mean()  # above the median
    assert shares["x7"].idxmin() == "2"  # only this class lacks the triangle with its top there
    assert shares["x15"].idxmin() == "1"
    assert shares["x11"].idxmin() == "0"
    assert shares.max().max() < 1.0


def test_the_sensitivity_analysis_waits_for_all_that_it_tells_of(tmp_path, monkeypatch):
    monkeypatch.setattr(variants, "complete", lambda: True)
    monkeypatch.setattr(sensitivity, "planned", lambda: (variants.Variant("t", "", {"TAN-aCLL": 1}, None),))
    monkeypatch.setattr(sensitivity, "listed", lambda: pd.DataFrame({"name": ["t"]}))
    monkeypatch.setattr(sensitivity, "FIRST_STORE", tmp_path / "first.csv")
    monkeypatch.setattr(few_children, "STORE", tmp_path / "bounds.csv")
    rows = [("t", method, fold) for method in (*MAIN, "TAN-aCLL") for fold in range(20)]
    first = pd.DataFrame(rows, columns=common.KEYS).assign(rows=1, accuracy=1.0, log_loss=0.0, brier=0.0)

    def complete(first, bounds=10):
        first.to_csv(sensitivity.FIRST_STORE, index=False)
        pd.DataFrame({"fold": range(bounds)}).to_csv(few_children.STORE, index=False)
        return sensitivity.complete()

    assert complete(first)
    assert complete(first[first["fold"] < 10])
    assert not complete(first[first["fold"] != 3])
    assert not complete(first[first["method"] != "TAN-aCLL"])
    assert not complete(first[first["method"] != "GBN-BDeu"])
    assert not complete(first, bounds=9)
    monkeypatch.setattr(variants, "complete", lambda: False)
    assert not complete(first)
