"""Queries with partial evidence: equal to the sum over everything else, in the words of the table."""

import subprocess
import sys
import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from strategies import random_problem

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier
from anbexact.adapters import class_posterior, d_separated, from_pgmpy
from anbexact.classifiers import AODEClassifier, FixedStructureClassifier
from anbexact.datasets import load_iris, load_monks

PARENTS = {"c": ("f0",), "f0": (), "f1": ("c",), "f2": ("c", "f1"), "f3": ("f2",)}


def fitted(parents=None, seed=4):
    """A classifier, and its tables as the oracles have them."""
    problem = random_problem(seed, 4, n_rows=70, n_classes=3, max_arity=3, weights="real")
    X, y = problem.frame()
    model = FixedStructureClassifier(parents, ess=1.0) if parents else ANBClassifier(ess=1.0)
    classifier = model.set_params(categories=problem.categories).fit(X, y, sample_weight=problem.weights)
    number = {name: v for v, name in enumerate(problem.names)}
    tables = {}
    for name, v in number.items():
        of_v = [number[parent] for parent in classifier.structure_.parents[name]]
        tables[v] = (of_v, oracles.eap(problem.rows, problem.weights, problem.arities, v, of_v, 1.0))
    return problem, classifier, tables


@pytest.mark.parametrize("parents", [None, PARENTS])
def test_equals_the_sum_over_the_rest(parents):
    problem, classifier, tables = fitted(parents)
    rng = np.random.default_rng(0)
    for size in range(5):
        for _ in range(4):
            names = rng.choice(4, size, replace=False).tolist()
            evidence = {v: int(rng.integers(problem.arities[v])) for v in names}
            expected = np.exp(oracles.log_posterior(tables, problem.arities, 4, evidence))
            of_names = {problem.names[v]: state for v, state in evidence.items()}
            posterior = classifier.query(of_names)
            np.testing.assert_allclose(posterior, expected, rtol=1e-9)
            assert posterior.name == "c"
            assert posterior.index.tolist() == list(range(problem.arities[4]))
            pd.testing.assert_series_equal(classifier.query(**of_names), posterior)
            pd.testing.assert_series_equal(classifier.query(pd.Series(of_names, dtype=object)), posterior)
            pd.testing.assert_series_equal(class_posterior(classifier, "c", of_names), posterior)
            pd.testing.assert_series_equal(class_posterior(classifier, evidence=of_names), posterior)


@pytest.mark.parametrize("parents", [None, PARENTS])
def test_posteriors_of_features(parents):
    """Any variable of a classifier can be asked for, the class being evidence or not."""
    problem, classifier, tables = fitted(parents)
    for asked in range(4):
        for evidence in ({}, {4: 1}, {(asked + 1) % 4: 0}, {(asked + 1) % 4: 1, (asked + 2) % 4: 0, 4: 2}):
            expected = np.exp(oracles.log_posterior(tables, problem.arities, asked, evidence))
            of_names = {problem.names[v]: state for v, state in evidence.items()}
            posterior = class_posterior(classifier, problem.names[asked], of_names)
            np.testing.assert_allclose(posterior, expected, rtol=1e-9)
            assert posterior.index.tolist() == list(range(problem.arities[asked]))


@pytest.mark.parametrize(
    "model",
    [
        ANBClassifier(),
        GBNClassifier(),
        AODEClassifier(),
        ANBClassifier(continuous="universal"),
        NaiveBayesClassifier(handle_missing="own_state"),
        NaiveBayesClassifier(handle_missing="error", handle_unknown="error"),
    ],
    ids=str,
)
def test_values_are_read_as_in_predict(model):
    X, y = load_iris()
    X = X.assign(garden=np.where(X["sepal_width"] > 3, "yes", "no"), petals=X["petal_length"].round().astype(int))
    classifier = model.fit(X, y)
    row = X.iloc[[77]].astype(object)
    evidence = {"petal_width": 1.7, "garden": row["garden"].iloc[0], "petals": np.int64(5)}
    posterior = classifier.query(evidence)
    reader = classifier if model.handle_missing in ("auto", "marginalize") else NaiveBayesClassifier().fit(X, y)
    row.loc[:, ~row.columns.isin(list(evidence))] = None
    expected = reader.predict_proba(row)[0]
    np.testing.assert_allclose(posterior, expected, rtol=1e-9)
    np.testing.assert_allclose(classifier.query(X.iloc[77]), classifier.predict_proba(X.iloc[[77]])[0], rtol=1e-9)
    assert classifier.query().sum() == pytest.approx(1)


def test_missing_as_a_state_is_evidence():
    X = pd.DataFrame({"a": ["u", None, "v", "u"] * 10, "b": [0, 1] * 20})
    classifier = NaiveBayesClassifier(handle_missing="own_state").fit(X, [0, 1, 0, 0] * 10)
    alone = NaiveBayesClassifier().fit(X[["a"]].fillna("gone"), [0, 1, 0, 0] * 10)
    np.testing.assert_allclose(classifier.query(a=None), alone.query(a="gone"))
    assert classifier.query(b=1)[1] < classifier.query(a=None)[1]
    with pytest.raises(ValueError, match=r"nan is not a state of 'b'; its states: 0, 1"):
        classifier.query(b=np.nan)


def test_names_that_are_no_identifiers_and_arrays():
    X, y = load_iris()
    plain = ANBClassifier().fit(X, y).query(sepal_length=6, petal_width=1.7)
    named = ANBClassifier().fit(X.set_axis(pd.Index([1, ("a", 2), 3, "d"], tupleize_cols=False), axis=1), y)
    np.testing.assert_allclose(named.query({1: 6, "d": 1.7}), plain)
    np.testing.assert_allclose(named.query({1: 6}, d=1.7), plain)
    np.testing.assert_allclose(ANBClassifier().fit(X.to_numpy(), y).query(x0=6, x3=1.7), plain)
    clash = ANBClassifier().fit(X.set_axis(["self", "evidence", "values", "X"], axis=1), y)
    np.testing.assert_allclose(clash.query(self=6, X=1.7), plain)
    assert clash.query(evidence=3, values=4).sum() == pytest.approx(1)


def test_refusals():
    X, y = load_iris()
    X = X.assign(code=[1, 2, 3] * 50)
    classifier = NaiveBayesClassifier().fit(X, y)
    features = "'sepal_length', 'sepal_width', 'petal_length', 'petal_width', 'code'"
    with pytest.raises(ValueError, match=f"'width' is not a feature of the classifier; its features are {features}"):
        classifier.query(width=3)
    with pytest.raises(ValueError, match="the class 'species' is among the evidence"):
        classifier.query(species="setosa")
    with pytest.raises(ValueError, match="4 is not a state of 'code'; its states: 1, 2, 3"):
        classifier.query(code=4)
    with pytest.raises(ValueError, match=r"'2' \(str\) is not a state of 'code'; did you mean 2 \(int\)\?"):
        classifier.query(code="2")
    with pytest.raises(ValueError, match=r"column 'petal_width' was numeric in fit.* contains 'wide': pass numbers"):
        classifier.query(petal_width="wide")
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="the value of 'code' is missing"):
            classifier.query(code=missing)
    with pytest.raises(ValueError, match="'code' is in the evidence twice"):
        classifier.query({"code": 1}, code=1)
    with pytest.raises(TypeError, match="evidence must map features to values, not be a list"):
        classifier.query([("code", 1)])
    with pytest.raises(NotFittedError):
        NaiveBayesClassifier().query(code=1)
    zeros = NaiveBayesClassifier(parameters="ml", categories={"code": [1, 2, 3, 4]}).fit(X, y)
    with pytest.raises(ValueError, match="the evidence code = 4 has probability 0 in this network"):
        zeros.query(code=4)


def test_nothing_is_changed_and_nothing_warned(recwarn):
    X, y = load_iris()
    classifier = NaiveBayesClassifier(handle_missing="error", handle_unknown="error").fit(X, y)
    classifier.query(petal_width=1)
    assert (classifier.handle_missing, classifier.handle_unknown) == ("error", "error")
    assert not recwarn.list


def test_threads_that_query_share_no_warning_filters(monkeypatch):
    """They belong to the process: a thread that replaces them for a while may restore what another one has set."""
    X, y = load_iris()
    classifier = NaiveBayesClassifier().fit(X.assign(code=[1, 2, 3] * 50), y)
    filters = []
    monkeypatch.setattr(warnings, "simplefilter", lambda action, *_: filters.append(action))
    assert classifier.query(petal_width=1.7, code=2).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="did you mean 2"):
        classifier.query(code="2")
    assert "ignore" not in filters


def test_classifiers_from_networks():
    X, y = load_iris()
    classifier = ANBClassifier().fit(X, y)
    np.testing.assert_allclose(
        from_pgmpy(classifier.network_, "species").query(petal_width=1.7), classifier.query(petal_width=1.7)
    )
    interval = next(state for state in classifier.vocabulary_.states["petal_width"] if "1.75]" in state)
    np.testing.assert_allclose(
        class_posterior(classifier.network_, "species", {"petal_width": interval}), classifier.query(petal_width=1.7)
    )


def test_class_posterior_refuses():
    X, y = load_monks(1)
    classifier = ANBClassifier().fit(X, y)
    with pytest.raises(ValueError, match="class_name: 'hat' is not a variable; the variables are"):
        class_posterior(classifier, "hat")
    with pytest.raises(ValueError, match="'holding' is among the evidence"):
        class_posterior(classifier, "holding", {"holding": "flag"})
    with pytest.raises(ValueError, match="evidence='maybe' is not a class of 'is_monk'"):
        class_posterior(classifier, "holding", {"is_monk": "maybe"})
    with pytest.raises(TypeError, match="AODEClassifier provides the posterior of its class only, not of 'holding'"):
        class_posterior(AODEClassifier().fit(X, y), "holding")
    with pytest.raises(TypeError, match="class_posterior needs class_name="):
        class_posterior(classifier.network_)


def test_d_separation_in_classifiers():
    X, y = load_monks(1)
    for model in (NaiveBayesClassifier(), ANBClassifier(), GBNClassifier()):
        classifier = model.fit(X.set_axis(range(6), axis=1), y.rename("c").to_numpy())
        graph = classifier.structure_.to_networkx()
        for a in range(5):
            for given in ((), ("class",)):
                expected = d_separated(graph, a, a + 1, given)
                assert d_separated(classifier, a, a + 1, given) == expected
                assert d_separated(classifier.structure_, a, a + 1, given) == expected
                number = {name: v for v, name in enumerate(graph.nodes)}
                parents = {v: [number[p] for p in classifier.structure_.parents[n]] for n, v in number.items()}
                observed = [number[g] for g in given]
                assert expected == oracles.d_separated(parents, number[a], number[a + 1], observed)
    with pytest.raises(TypeError, match="not a AODEClassifier"):
        d_separated(AODEClassifier().fit(X, y), "holding", "has_tie")
    with pytest.raises(NotFittedError):
        d_separated(ANBClassifier(), "holding", "has_tie")


@pytest.mark.slow
def test_queries_need_no_pgmpy():
    code = (
        "import sys\n"
        "from anbexact import ANBClassifier\n"
        "from anbexact.datasets import load_iris\n"
        "classifier = ANBClassifier().fit(*load_iris())\n"
        "classifier.query(petal_width=1.7), classifier.explain(load_iris()[0][:2]).to_frame()\n"
        "print('pgmpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
