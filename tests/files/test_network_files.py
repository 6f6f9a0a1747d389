"""Networks as files: without loss, with and without a class; and files that are something else."""

import json

import numpy as np
import pandas as pd
import pytest
from strategies import SCORES, random_problem

import anbexact
from anbexact import (
    ANBClassifier,
    DiscreteTable,
    UniversalMeasure,
    fit_network,
    learn_anb,
    learn_gbn,
    learn_tan,
    load_network,
    save_network,
    verify,
)
from anbexact.datasets import load_iris
from anbexact.files.document import digest
from anbexact.scores import BDe

GENERAL = {name: score for name, score in SCORES.items() if name not in ("ACLL", "Universal")}


def plain_table(problem):
    frame = pd.DataFrame(problem.rows, columns=problem.names, dtype=np.int64)
    return DiscreteTable.from_frame(frame, sample_weight=problem.weights, categories=problem.categories)


def rewritten(path, **changes):
    """Change fields of a file, so that its checksum is right."""
    document = {**json.loads(path.read_text()), **changes}
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))


@pytest.fixture
def saved(tmp_path):
    table = plain_table(random_problem(3, 3, n_rows=50))
    path = tmp_path / "network.json"
    save_network(fit_network(table, learn_gbn(table)), path)
    return path


class TestRoundTrip:
    @pytest.mark.parametrize("score", GENERAL.values(), ids=GENERAL)
    def test_tables(self, tmp_path, score):
        table, score = plain_table(random_problem(3, 3, n_rows=50, weights="real")), score()
        network = fit_network(table, learn_gbn(table, score), score, ess=3.5)
        save_network(network, tmp_path / "network.json")
        again = load_network(str(tmp_path / "network.json"))
        assert type(again) is type(network)
        assert again.vocabulary == network.vocabulary
        assert again.vocabulary.class_name is None
        assert again.structure == network.structure
        assert again.estimation == network.estimation
        assert verify(again.structure, table)
        for name, of_name in network.tables.items():
            assert again.tables[name].variables == of_name.variables
            np.testing.assert_array_equal(again.tables[name].values, of_name.values)

    def test_a_score_with_a_prior_network(self, tmp_path):
        """The prior of a table without a class is a network without a class."""
        table = plain_table(random_problem(3, 3, n_rows=50))
        score = BDe(fit_network(table, learn_tan(table)))
        network = fit_network(table, learn_gbn(table, score), score)
        assert network.structure.certificate.optimal
        save_network(network, tmp_path / "network.json")
        again = load_network(tmp_path / "network.json")
        assert again.estimation.score.prior_network.vocabulary.class_name is None
        assert verify(again.structure, table)

    def test_a_network_with_a_class(self, tmp_path):
        problem = random_problem(3, 3, n_rows=50)
        network = fit_network(problem.table, learn_anb(problem.table))
        save_network(network, tmp_path / "network.json")
        again = load_network(tmp_path / "network.json")
        codes = np.array(problem.rows, dtype=np.int16)[:, :-1].T
        np.testing.assert_array_equal(again.posterior(codes), network.posterior(codes))
        assert again.structure.class_name == "c"

    def test_that_of_a_classifier_with_cut_points(self, tmp_path):
        model = ANBClassifier(ess=1).fit(*load_iris()).model_
        save_network(model, tmp_path / "network.json")
        again = load_network(tmp_path / "network.json")
        assert {name: cuts.tolist() for name, cuts in again.cut_points.items()} == {
            name: cuts.tolist() for name, cuts in model.cut_points.items()
        }

    def test_densities(self, tmp_path):
        table, score = UniversalMeasure().read(load_iris()[0])
        network = fit_network(table, learn_gbn(table, score), score)
        save_network(network, tmp_path / "network.json")
        again = load_network(tmp_path / "network.json")
        assert type(again) is type(network)
        codes = np.stack([table.column(name) for name in table.vocabulary.names])
        np.testing.assert_array_equal(again.log_joint(codes), network.log_joint(codes))
        assert verify(again.structure, table)

    def test_names_and_states_of_any_type(self, tmp_path):
        frame = pd.DataFrame({1: [True, False, True], "ä b": ["x", None, "y"], ("t", 2): [1.5, 2.5, 2.5]})
        table = DiscreteTable.from_frame(frame, handle_missing="own_state")
        network = fit_network(table, learn_gbn(table))
        save_network(network, tmp_path / "network.json")
        assert load_network(tmp_path / "network.json").vocabulary == network.vocabulary


class TestRefusals:
    def test_what_is_not_a_network(self, tmp_path):
        fitted = ANBClassifier(ess=1).fit(*load_iris())
        with pytest.raises(TypeError, match=r"writes networks.*not ANBClassifier objects; its own save method"):
            save_network(fitted, tmp_path / "network.json")
        with pytest.raises(TypeError, match="not LogitModel objects"):
            save_network(fitted.to_logit(), tmp_path / "network.json")
        assert not any(tmp_path.iterdir())

    def test_files_of_another_kind_name_their_reader(self, saved, tmp_path):
        with pytest.raises(
            ValueError, match=r"contains a network, not a classifier: read it with anbexact\.load_network"
        ):
            anbexact.load(saved)
        ANBClassifier(ess=1).fit(*load_iris()).save(tmp_path / "iris.json")
        with pytest.raises(ValueError, match=r"contains a classifier, not a network: read it with anbexact\.load\."):
            load_network(tmp_path / "iris.json")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"score": 3}, "score: a score was expected"),
            ({"class": 99}, "class: a whole number from 0 to 3 was expected, not 99"),
            ({"ess": -1.0}, "ess"),
            ({"counts": []}, "not every variable has a table"),
            ({"format_version": 99}, "in format 99, but anbexact .* reads formats up to 2: upgrade anbexact$"),
            ({"format": "recipe"}, "not a network saved by anbexact"),
        ],
    )
    def test_nonsense(self, saved, changes, message):
        rewritten(saved, **changes)
        with pytest.raises(ValueError, match=message):
            load_network(saved)

    def test_a_missing_field(self, saved):
        document = json.loads(saved.read_text())
        for field in ("score", "variables", "structure", "class", "cut_points"):
            less = {key: value for key, value in document.items() if key not in (field, "sha256")}
            saved.write_text(json.dumps({**less, "sha256": digest(less)}))
            with pytest.raises(ValueError, match=f"damaged or was edited.*{field}"):
                load_network(saved)

    def test_an_edited_file(self, saved):
        saved.write_text(saved.read_text().replace('"smoothing": 1.0', '"smoothing": 2.0'))
        with pytest.raises(ValueError, match=r"do not match its checksum.*save the network again"):
            load_network(saved)
