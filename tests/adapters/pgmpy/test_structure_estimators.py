"""Estimators in pgmpy's manner: their graphs, and what pgmpy does with them."""

import warnings

import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.base import DAG
    from pgmpy.estimators import StructureEstimator
    from pgmpy.inference import CausalInference, VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteBayesianEstimator

from anbexact import ANBClassifier, GBNClassifier, TANClassifier
from anbexact.adapters import ANBEstimator, GBNEstimator, TANEstimator, most_probable_explanations, posterior
from anbexact.datasets import load_monks

PAIRS = [(ANBEstimator, ANBClassifier), (GBNEstimator, GBNClassifier), (TANEstimator, TANClassifier)]


@pytest.fixture(scope="module")
def frame():
    X, y = load_monks(1)
    return X.assign(is_monk=y.astype(object)).astype(object)


class TestStructure:
    @pytest.mark.parametrize(("estimator", "classifier"), PAIRS)
    def test_the_graph_is_that_of_the_classifier(self, frame, estimator, classifier):
        found = estimator(frame, "is_monk", ess=2.0).estimate()
        assert isinstance(found, DAG)
        assert issubclass(estimator, StructureEstimator)
        assert list(found.nodes) == list(frame.columns)
        expected = classifier(ess=2.0).fit(frame.drop(columns="is_monk"), frame["is_monk"])
        assert set(found.edges) == set(expected.structure_.edges)

    def test_states_and_weights_are_used(self, frame):
        names = {name: [*sorted(map(str, frame[name].unique())), "never"] for name in frame.columns[:-1]}
        weights = np.random.default_rng(0).integers(0, 4, len(frame))
        estimator = ANBEstimator(frame.assign(_weight=weights), "is_monk", state_names=names, ess=1.0)
        graph = estimator.estimate(weighted=True)
        assert "_weight" not in graph
        assert estimator.classifier_.vocabulary_.states["holding"][-1] == "never"
        repeated = frame.loc[frame.index.repeat(weights)].reset_index(drop=True)
        again = ANBEstimator(repeated, "is_monk", state_names=names, ess=1.0)
        assert set(again.estimate().edges) == set(graph.edges)
        assert again.classifier_.structure_.score == pytest.approx(estimator.classifier_.structure_.score)

    def test_refusals(self, frame):
        with pytest.raises(ValueError, match="'other' is not a column"):
            ANBEstimator(frame, "other")
        with pytest.raises(TypeError, match="must be a pandas DataFrame, not a ndarray"):
            ANBEstimator(frame.to_numpy(), "is_monk")
        with pytest.raises(ValueError, match="needs a column '_weight'"):
            ANBEstimator(frame, "is_monk").estimate(weighted=True)


class TestInPgmpy:
    @pytest.fixture
    def network(self, frame):
        graph = ANBEstimator(frame, "is_monk", ess=1.0).estimate()
        network = DiscreteBayesianNetwork(graph.edges)
        network.add_nodes_from(graph.nodes)
        return network.fit(frame, estimator=DiscreteBayesianEstimator(prior_type="BDeu", equivalent_sample_size=1))

    def test_inference_and_explanations_agree(self, frame, network):
        evidence = frame.head(3)[["holding", "jacket_color"]]
        ours = posterior(network, "is_monk", evidence)
        inference = VariableElimination(network)
        explained = most_probable_explanations(network, evidence)
        for t in range(3):
            known = evidence.iloc[t].to_dict()
            theirs = inference.query(["is_monk"], evidence=known, show_progress=False)
            np.testing.assert_allclose(ours.iloc[t], theirs.values, atol=1e-10)
            others = [node for node in network.nodes if node not in known]
            joint = inference.query(others, evidence=known, show_progress=False)
            best = inference.map_query(others, evidence=known, show_progress=False)
            assert joint.get_value(**best) == pytest.approx(explained.probability[t], rel=1e-9)
            assert joint.get_value(**explained.states.loc[t, others]) == pytest.approx(joint.values.max(), rel=1e-9)

    @pytest.mark.skipif(
        np.unique([[0]], axis=0, return_inverse=True)[1].ndim > 1,
        reason="numpy 2.0.0 alone gives numpy.unique's inverse another shape, which pgmpy's sampling does not expect",
    )
    def test_sampling(self, network):
        sample = network.simulate(n_samples=200, seed=0, show_progress=False)
        assert set(sample.columns) == set(network.nodes)

    def test_causal_inference(self, network):
        effect = CausalInference(network).query(["jacket_color"], do={"is_monk": "yes"}, show_progress=False)
        ours = posterior(network, "jacket_color", pd.DataFrame({"is_monk": ["yes"]})).iloc[0]
        np.testing.assert_allclose(effect.values, ours, atol=1e-10)  # nothing causes the class here


def test_an_estimate_that_is_refused_leaves_the_classifier_of_the_last_one(frame):
    estimator = TANEstimator(frame, "is_monk", ess=1.0)
    estimator.estimate()
    before = estimator.classifier_
    estimator.parameters = {"ess": -1.0}
    with pytest.raises(ValueError, match="ess must be"):
        estimator.estimate()
    assert estimator.classifier_ is before
