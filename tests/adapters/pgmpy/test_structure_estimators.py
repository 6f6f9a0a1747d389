"""Estimators in pgmpy's manner: their graphs, and what pgmpy does with them."""

import warnings

import networkx as nx
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

from anbexact import (
    ANBClassifier,
    BDeu,
    DiscreteTable,
    GBNClassifier,
    TANClassifier,
    fit_network,
    learn_gbn,
    learn_tan,
)
from anbexact.adapters import (
    ANBEstimator,
    GBNEstimator,
    TANEstimator,
    d_separated,
    from_file,
    from_pgmpy,
    most_probable_explanations,
    posterior,
    to_file,
    to_pgmpy,
)
from anbexact.datasets import load_monks
from anbexact.scores import BIC

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


class TestWithoutAClass:
    PAIRS = ((GBNEstimator, learn_gbn), (TANEstimator, learn_tan))

    @pytest.mark.parametrize(("estimator", "search"), PAIRS)
    def test_the_graph_is_that_of_the_search(self, frame, estimator, search):
        found = estimator(frame, ess=2.0, forbidden_edges=[("holding", "is_monk")])
        graph = found.estimate()
        assert list(graph.nodes) == list(frame.columns)
        expected = search(DiscreteTable.from_frame(frame), BDeu(2.0), forbidden=[("holding", "is_monk")])
        assert set(graph.edges) == set(expected.edges)
        assert graph.edges
        assert found.structure_.class_name is None
        assert found.structure_.score == expected.score

    def test_states_weights_and_scores_are_used(self, frame):
        names = {name: [*sorted(map(str, frame[name].unique())), "never"] for name in frame.columns}
        weights = np.random.default_rng(0).integers(0, 4, len(frame))
        estimator = GBNEstimator(frame.assign(_weight=weights), state_names=names, structure_score="bic")
        graph = estimator.estimate(weighted=True)
        assert "_weight" not in graph
        table = DiscreteTable.from_frame(frame, sample_weight=weights, categories=names)
        assert estimator.structure_.score == pytest.approx(learn_gbn(table, BIC()).score)

    @pytest.mark.parametrize(
        ("estimator", "parameters", "message"),
        [
            (ANBEstimator, {}, "ANBEstimator needs class_node=, the column of the class: GBNEstimator"),
            (GBNEstimator, {"smoothing": 2.0}, "no parameter 'smoothing' without class_node=; it has"),
        ],
    )
    def test_what_needs_a_class_says_so(self, frame, estimator, parameters, message):
        with pytest.raises(TypeError, match=message):
            estimator(frame, **parameters)

    def test_a_score_that_needs_a_class(self, frame):
        with pytest.raises(ValueError, match="aCLL needs a class"):
            TANEstimator(frame, structure_score="acll").estimate()


class TestNetworksWithoutAClass:
    @pytest.fixture
    def network(self, frame):
        table = DiscreteTable.from_frame(frame)
        return fit_network(table, learn_gbn(table))

    def test_pgmpy_computes_the_same_probabilities(self, network, frame):
        converted = to_pgmpy(network)
        assert list(converted.nodes) == list(frame.columns)
        assert set(converted.edges) == set(network.structure.edges)
        names = network.vocabulary.names
        observed = {"holding": "flag", "is_monk": "yes"}
        codes = np.full((len(names), 1), -1, dtype=np.int16)
        for name, state in observed.items():
            codes[names.index(name)] = network.vocabulary.code(name, state)
        joint = VariableElimination(converted).query(list(observed), show_progress=False)
        assert joint.get_value(**observed) == pytest.approx(np.exp(network.log_joint(codes)[0, 0]), rel=1e-9)

    def test_a_classifier_of_any_variable(self, network, frame):
        """Bayes' theorem, from the joint distribution of the network."""
        classifier = from_pgmpy(to_pgmpy(network), "body_shape")
        row = frame.iloc[[5]]
        found = classifier.predict_proba(row.drop(columns="body_shape"))[0]
        names, states = network.vocabulary.names, network.vocabulary.states["body_shape"]
        cells = [[network.vocabulary.code(name, row[name].item()) for name in names] for _ in states]
        codes = np.array(cells, dtype=np.int16)
        codes[:, names.index("body_shape")] = range(len(states))
        joint = np.exp(network.log_joint(codes.T)[:, 0])
        assert classifier.classes_.tolist() == sorted(states)
        np.testing.assert_allclose(found, (joint / joint.sum())[np.argsort(states)], rtol=1e-9)

    def test_d_separation(self, network):
        assert network.structure.edges
        parent, child = network.structure.edges[0]
        assert not d_separated(network, parent, child)
        assert d_separated(network, "holding", "is_monk") == nx.is_d_separator(
            network.structure.to_networkx(), {"holding"}, {"is_monk"}, set()
        )

    def test_a_bif_file_by_pgmpy(self, network, tmp_path):
        to_pgmpy(network).save(str(tmp_path / "network.bif"), filetype="bif")
        again = from_file(tmp_path / "network.bif", "is_monk")
        expected = from_pgmpy(to_pgmpy(network), "is_monk")
        for evidence in ({"holding": "flag"}, {"jacket_color": "red", "body_shape": "round"}):
            pd.testing.assert_series_equal(again.query(evidence), expected.query(evidence), rtol=1e-9)
        with pytest.raises(TypeError, match="to_file takes a classifier, not a network"):
            to_file(network, tmp_path / "other.bif")
