"""Questions for many rows at once: pgmpy's inference is the oracle on networks, one row at a time."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFReader

import anbexact.adapters.pgmpy.batch_queries as batch_queries
from anbexact import ANBClassifier
from anbexact.adapters import class_posterior, from_pgmpy, most_probable_explanations, posterior
from anbexact.datasets import load_iris

NETWORKS = Path(__file__).parents[4] / "shared" / "data" / "networks"


def hostile():
    """Return a network with awkward names and states: spaces, unicode, numbers as text and text as numbers."""
    states = {"a b": ["x,y", "(", "ü"], "Größe 🙂": [1, 2], "z'": ["1", "1.0", "nan"]}
    rng = np.random.default_rng(0)
    network = DiscreteBayesianNetwork([("a b", "Größe 🙂"), ("a b", "z'"), ("Größe 🙂", "z'")])

    def cpd(node, *parents):
        values = rng.dirichlet(np.ones(len(states[node])), int(np.prod([len(states[p]) for p in parents]))).T
        cards = [len(states[parent]) for parent in parents] or None
        names = {name: states[name] for name in (node, *parents)}
        return TabularCPD(node, len(values), values, list(parents) or None, cards, state_names=names)

    network.add_cpds(cpd("a b"), cpd("Größe 🙂", "a b"), cpd("z'", "a b", "Größe 🙂"))
    return network


EVIDENCE = pd.DataFrame(
    {"z'": ["1", None, "nan", None], "a b": [None, "ü", None, None]}, index=["r", "s", "t", "u"], dtype=object
)


class TestAnswers:
    def test_marginals_and_joint_of_awkward_names(self):
        network, inference = hostile(), VariableElimination(hostile())
        names = ["z'", "Größe 🙂", "a b"]
        each = posterior(network, names, EVIDENCE)
        both = posterior(network, ["Größe 🙂", "a b"], EVIDENCE, joint=True)
        assert each.index.tolist() == both.index.tolist() == ["r", "s", "t", "u"]
        assert both.columns.names == ["Größe 🙂", "a b"]
        for row, values in EVIDENCE.iterrows():
            known = values.dropna().to_dict()
            for name in names:
                if name in known:
                    assert each.loc[row, name].to_dict() == {s: s == known[name] for s in network.states[name]}
                    continue
                factor = inference.query([name], evidence=known, show_progress=False)
                np.testing.assert_allclose(each.loc[row, name], factor.values, atol=1e-12)
            if "a b" not in known:
                factor = inference.query(["Größe 🙂", "a b"], evidence=known, show_progress=False)
                for (size, other), p in both.loc[row].items():
                    assert factor.get_value(**{"Größe 🙂": size, "a b": other}) == pytest.approx(p, abs=1e-12)
            else:
                assert both.loc[row].xs("(", level="a b").tolist() == [0, 0]
        one = posterior(network, "a b", EVIDENCE)
        assert one.columns.tolist() == ["x,y", "(", "ü"]
        np.testing.assert_allclose(one, each["a b"], rtol=1e-13)

    def test_explanations_keep_states_and_index(self):
        found = most_probable_explanations(hostile(), EVIDENCE)
        assert found.states.columns.tolist() == ["a b", "Größe 🙂", "z'"]
        assert found.states.index.tolist() == ["r", "s", "t", "u"]
        assert found.states.loc["s", "a b"] == "ü"
        assert found.states.loc["r", "z'"] == "1"
        joint = posterior(hostile(), ["a b", "Größe 🙂", "z'"], EVIDENCE, joint=True)
        np.testing.assert_allclose(found.probability, joint.max(axis=1), rtol=1e-12)
        assert [tuple(row) for row in found.states.to_numpy()] == joint.idxmax(axis=1).tolist()

    def test_no_evidence_and_other_frames(self):
        network = hostile()
        none = posterior(network, "z'", pd.DataFrame(index=range(2)))
        np.testing.assert_array_equal(none.iloc[0], none.iloc[1])
        np.testing.assert_allclose(none.iloc[0], class_posterior(network, "z'"), atol=1e-12)
        of_polars = posterior(network, "z'", pl.DataFrame({"a b": ["ü", None]}))
        np.testing.assert_array_equal(of_polars, posterior(network, "z'", pd.DataFrame({"a b": ["ü", None]})))

    def test_impossible_rows_are_nan_with_a_warning(self):
        network = DiscreteBayesianNetwork([("a", "b")])
        names = {"a": ["0", "1"], "b": ["0", "1"]}
        network.add_cpds(
            TabularCPD("a", 2, [[1.0], [0.0]], state_names={"a": names["a"]}),
            TabularCPD("b", 2, np.array([[0.4, 0.5], [0.6, 0.5]]), ["a"], [2], state_names=names),
        )
        rows = pd.DataFrame({"a": ["0", "1"]})
        with pytest.warns(UserWarning, match="row 1 is impossible under the network"):
            found = posterior(network, "b", rows)
        assert found.to_numpy()[0].tolist() == pytest.approx([0.4, 0.6])
        assert found.iloc[1].isna().all()
        with pytest.warns(UserWarning, match="row 1 is impossible"):
            explained = most_probable_explanations(network, rows)
        assert explained.states["b"].tolist() == ["1", None]
        assert explained.probability.isna().tolist() == [False, True]

    def test_a_classifier_cuts_its_columns(self):
        X, y = load_iris()
        classifier = ANBClassifier(ess=1, discretizer="mdlp").fit(X, y)
        holed = X.mask(np.random.default_rng(0).random(X.shape) < 0.5)
        found = posterior(classifier, classifier.vocabulary_.class_name, holed)
        np.testing.assert_allclose(found, classifier.predict_proba(holed), atol=1e-12)

    def test_refusals(self, monkeypatch):
        network, rows = hostile(), pd.DataFrame({"a b": ["ü"]})
        with pytest.raises(ValueError, match="targets: 'c' is not a node"):
            posterior(network, ["c"], rows)
        with pytest.raises(ValueError, match="different nodes"):
            posterior(network, ["z'", "z'"], rows)
        with pytest.raises(ValueError, match="evidence: 'w' is not a node of the network"):
            posterior(network, "z'", rows.assign(w=1))
        with pytest.raises(ValueError, match="column 'a b', row 0: the value 'u' is not a state"):
            posterior(network, "z'", pd.DataFrame({"a b": ["u"]}))
        with pytest.raises(TypeError, match="must be a pgmpy DiscreteBayesianNetwork"):
            posterior("network", "z'", rows)
        monkeypatch.setattr(batch_queries, "available_memory", lambda: 40)
        with pytest.raises(MemoryError, match=r"3 columns and 1 rows \(24 bytes\), but 40 bytes are available"):
            posterior(network, "z'", rows)


@pytest.mark.slow
@pytest.mark.skipif(not NETWORKS.exists(), reason="the benchmark networks are not here")
@pytest.mark.parametrize("name", ["asia", "sachs", "child", "insurance", "alarm", "hailfinder", "hepar2", "win95pts"])
def test_parity_with_pgmpy_on_benchmark_networks(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = BIFReader(string=gzip.decompress((NETWORKS / f"{name}.bif.gz").read_bytes()).decode()).get_model()
        for cpd in network.get_cpds():
            cpd.normalize()  # files have few digits
        rows = network.simulate(n_samples=6, seed=1, show_progress=False).astype(str).astype(object)
    nodes = list(network.nodes)
    rng = np.random.default_rng(0)
    target = str(rng.choice(nodes))
    evidence = rows[nodes].drop(columns=target).mask(rng.random((6, len(nodes) - 1)) < [[0.1], [0.2], [0.3]] * 2)
    ours = posterior(network, target, evidence)
    classifier = from_pgmpy(network, target)
    by_classifier = pd.DataFrame(classifier.predict_proba(evidence), columns=classifier.classes_)[ours.columns]
    inference = VariableElimination(network)
    for t in range(6):
        known = evidence.iloc[t].dropna().to_dict()
        theirs = inference.query([target], evidence=known, show_progress=False)
        expected = [theirs.get_value(**{target: state}) for state in ours.columns]
        np.testing.assert_allclose(ours.iloc[t], expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(by_classifier.iloc[t], expected, rtol=0, atol=1e-9)
