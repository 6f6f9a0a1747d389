"""Draws for ArviZ, by stand-ins for its two versions, and by itself where it is installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from anbexact import ANBClassifier, NaiveBayesClassifier, RefittedClassifier
from anbexact.adapters import to_arviz
from anbexact.classifiers import AveragedANBClassifier
from anbexact.datasets import load_monks


def until_0_x(posterior=None, posterior_predictive=None, log_likelihood=None, coords=None, dims=None):
    groups = {"posterior": posterior, "posterior_predictive": posterior_predictive, "log_likelihood": log_likelihood}
    return {k: v for k, v in groups.items() if v is not None}, coords, dims


def from_1_0(data, *, coords=None, dims=None):
    return data, coords, dims


@pytest.fixture(params=[("arviz", until_0_x), ("arviz_base", from_1_0)], ids=["0.x", "1.x"])
def stand_in(request, monkeypatch):
    package, from_dict = request.param
    monkeypatch.setitem(sys.modules, "arviz", None)
    monkeypatch.setitem(sys.modules, package, SimpleNamespace(from_dict=from_dict))


@pytest.fixture(scope="module")
def rows():
    X, y = load_monks(1)
    return X[::4], y[::4]


@pytest.mark.usefixtures("stand_in")
def test_of_a_network(rows):
    X, y = rows
    network = ANBClassifier(ess=2.0, max_parents=1).fit(X, y)
    groups, coords, dims = to_arviz(network, X[:30], y[:30], draws=600)
    for name, table in network.conditional_tables_.items():
        drawn = groups["posterior"][f"P({name})"]
        assert drawn.shape == (1, 600, *table.values.shape)
        np.testing.assert_allclose(drawn.sum(axis=2), 1)
        np.testing.assert_allclose(drawn.mean(axis=(0, 1)), table.values, atol=0.05)
        assert dims[f"P({name})"] == [f"state of {variable}" for variable in table.variables]
    assert coords["state of is_monk"] == list(network.classes_)
    likelihood = groups["log_likelihood"]["row"]
    joint = network.model_.log_joint(network.reader_.codes(X[:30]))
    truth = np.searchsorted(network.classes_, y[:30])
    mean = logsumexp(likelihood[0], axis=0) - np.log(600)  # the tables are independent given the structure
    np.testing.assert_allclose(mean, joint[np.arange(30), truth], atol=0.1)
    shares = (groups["posterior_predictive"]["class"] == 1).mean(axis=(0, 1))
    np.testing.assert_allclose(shares, network.predict_proba(X[:30])[:, 1], atol=0.12)


@pytest.mark.usefixtures("stand_in")
def test_of_an_average(rows):
    X, y = rows
    averaged = AveragedANBClassifier().fit(X, y)
    groups, coords, dims = to_arviz(averaged, X[:20], draws=500, random_state=2)
    assert groups.keys() == {"posterior", "posterior_predictive"}
    assert dims["arc"] == ["parent", "child"]
    shares = groups["posterior"]["arc"].mean(axis=(0, 1))
    for row in averaged.arcs_.itertuples():
        place = coords["parent"].index(row.parent), coords["child"].index(row.child)
        assert shares[place] == pytest.approx(row.probability, abs=0.1)
    assert groups["posterior"]["ess"].mean() == pytest.approx(averaged.ess_, rel=0.1)
    predicted = (groups["posterior_predictive"]["class"] == 1).mean(axis=(0, 1))
    np.testing.assert_allclose(predicted, averaged.predict_proba(X[:20])[:, 1], atol=0.12)


@pytest.mark.usefixtures("stand_in")
def test_refusals(rows):
    X, y = rows
    network = NaiveBayesClassifier(ess=1.0).fit(X, y)
    assert to_arviz(network, draws=2)[0].keys() == {"posterior"}
    with pytest.raises(ValueError, match="y was given without X"):
        to_arviz(network, y=y)
    with pytest.raises(ValueError, match="the class 'maybe'"):
        to_arviz(network, X[:1], ["maybe"])
    with pytest.raises(ValueError, match="but y has 1"):
        to_arviz(network, X[:2], y[:1])
    with pytest.raises(ValueError, match="draws"):
        to_arviz(network, draws=0)
    with pytest.raises(ValueError, match="posterior"):
        to_arviz(NaiveBayesClassifier(ess=1.0, parameters="ml").fit(X, y))
    with pytest.raises(TypeError, match="RefittedClassifier has no posterior of tables"):
        to_arviz(RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2=1.0).fit(X, y))


@pytest.mark.slow
@pytest.mark.real("arviz")
@pytest.mark.filterwarnings("ignore")
def test_with_arviz(rows):
    import arviz

    X, y = rows
    found = to_arviz(ANBClassifier(ess=2.0).fit(X, y), X, y, draws=50)
    assert found["posterior"]["P(is_monk)"].shape == (1, 50, 2)
    assert np.isfinite(arviz.loo(found, var_name="row").elpd_loo)
