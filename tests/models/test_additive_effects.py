"""Effects of log odds whose rows are not known: weights from counts, by the formula."""

import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, PooledClassifier, TANClassifier
from anbexact.adapters import to_logit, to_scorecard
from anbexact.classifiers import FixedStructureClassifier
from anbexact.models.additive_effects import rows_of_counts


def rows(seed=0, n=300):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = (y + rng.integers(0, 2, n)) % 4
    X = pd.DataFrame({"a": a, "b": (a * y + rng.integers(0, 2, n)) % 3, "d": rng.integers(0, 2, n)})
    return X, pd.Series(np.array(["u", "v", "w"])[y], name="c")


def test_features_of_several_families_are_independent_given_the_class():
    X, y = rows()
    parents = {"c": (), "a": ("c",), "b": ("c",), "d": ()}
    model = FixedStructureClassifier(parents, n_jobs=1).fit(X, y)
    network = model.model_
    arities = {name: network.vocabulary.arity(name) for name in network.vocabulary.names}
    states, weights = rows_of_counts(network.counts, arities, "c")(("a", "b", "d"))
    for a, b, d, weight in zip(states["a"], states["b"], states["d"], weights, strict=True):
        expected = (
            sum(
                (y == k).sum()
                * ((X["a"] == a) & (y == k)).sum()
                * ((X["b"] == b) & (y == k)).sum()
                / (y == k).sum() ** 2
                for k in "uvw"
            )
            * (X["d"] == d).mean()
        )
        assert weight == pytest.approx(expected)
    assert weights.sum() == pytest.approx(len(X))
    assert len(weights) == 4 * 3 * 2


def test_a_pool_and_an_edited_network_have_scorecards_without_rows():
    """Points are the log odds, rounded: with the right total, whatever weights divide them among the tables."""
    X, y = rows()
    members = [("nb", NaiveBayesClassifier(n_jobs=1)), ("tan", TANClassifier(n_jobs=1))]
    tan = TANClassifier(n_jobs=1).fit(X, y)
    arc = tan.structure_.feature_edges[0]
    for model in (PooledClassifier(members, n_jobs=1).fit(X, y), to_logit(tan).remove_arc(*arc)):
        card = to_scorecard(model, points_to_double_odds=2000)
        logs = np.log(card.predict_proba(X)) - model.predict_log_proba(X)
        assert np.abs(logs - logs[:, :1]).max() < 0.01
