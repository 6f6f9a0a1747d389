"""Tables that are cut without a class, and the networks that keep their cut points."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from anbexact import MODLDiscretizer, fit_network, learn_gbn, load_network, save_network
from anbexact.adapters import posterior, states_of, to_pgmpy
from anbexact.discretize import MedianDiscretizer, cut_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "y": np.exp(x), "kind": np.where(x > 0, "a", "b"), "few": rng.integers(0, 4, 200)})
    return frame.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 200), unit="D"))


@pytest.mark.parametrize(
    ("rule", "n"),
    [
        ("equal_frequency", 5),
        ("equal_width", 5),
        ("median", 2),
        (MedianDiscretizer(), 2),
        (KBinsDiscretizer(3, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"), 3),
    ],
)
def test_numbers_and_dates_are_cut_and_nothing_else(frame, rule, n):
    table, cut_points = cut_table(frame, rule)
    assert table.vocabulary.class_name is None
    assert set(cut_points) == {"x", "y", "day"}
    assert table.vocabulary.arity("x") == len(cut_points["x"]) + 1 == n
    assert table.vocabulary.states["few"] == (0, 1, 2, 3)
    counts = np.histogram(frame["x"], [-np.inf, *np.nextafter(cut_points["x"], np.inf), np.inf])[0]
    np.testing.assert_array_equal(table.counts(["x"]), counts)


def test_equal_frequencies_are_equal_by_weight(frame):
    weights = np.where(frame["x"] > 1, 10.0, 1.0)
    table, _ = cut_table(frame, sample_weight=weights)
    np.testing.assert_allclose(table.counts(["x"]), weights.sum() / 5, atol=10)


def test_declared_states_are_kept(frame):
    values = sorted(frame["x"])
    table, cut_points = cut_table(frame, categories={"x": values})
    assert table.vocabulary.states["x"] == tuple(values)
    assert "x" not in cut_points


def test_missing_cells_are_a_state_of_their_own(frame):
    frame.loc[:19, "x"] = np.nan
    table, cut_points = cut_table(frame, handle_missing="own_state")
    assert table.vocabulary.arity("x") == len(cut_points["x"]) + 2
    assert table.counts(["x"])[-1] == 20


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ("mdlp", ValueError, "'mdlp' looks at the class, and the table has none: use one of 'median', 'equal_frequ"),
        (MODLDiscretizer(), ValueError, r"MODLDiscretizer\(\) looks at the class"),
        (None, ValueError, "column 'x' is numeric with more than 10 distinct values"),
        ("thirds", TypeError, "discretizer must be one of"),
    ],
)
def test_refused_rules(frame, rule, error, message):
    with pytest.raises(error, match=message):
        cut_table(frame, rule)


class TestNetworks:
    def test_numbers_are_read_later(self, frame, tmp_path):
        """By pgmpy's network, and after a file: the frequencies in the table answer for the parent of a family."""
        table, cut_points = cut_table(frame)
        network = fit_network(table, learn_gbn(table), cut_points=cut_points)
        save_network(network, tmp_path / "network.json")
        again = load_network(tmp_path / "network.json")
        assert {name: cuts.tolist() for name, cuts in again.cut_points.items()} == {
            name: cuts.tolist() for name, cuts in cut_points.items()
        }
        converted = to_pgmpy(again)
        rows = frame[["x", "day"]].head(3)
        states = states_of(converted, rows)
        assert set(states["x"]) <= set(table.vocabulary.states["x"])
        found = posterior(converted, "y", states[["x"]])
        assert (found.max(axis=1) > 0.9).all()  # y is a function of x

    def test_rows_are_drawn_in_the_units_of_the_columns(self, frame, tmp_path):
        table, cut_points = cut_table(frame)
        network = fit_network(table, learn_gbn(table), cut_points=cut_points)
        drawn = network.sample(500, {"kind": "a"}, random_state=0)
        assert list(drawn.columns) == list(frame.columns)
        assert set(drawn["kind"]) == {"a"}
        assert drawn["x"].between(frame["x"].min(), frame["x"].max()).all()
        assert drawn["day"].between(frame["day"].min(), frame["day"].max()).all()
        assert (drawn["x"] > 0).mean() > 0.8  # as in the rows of this kind, but for the interval around 0
        save_network(network, tmp_path / "network.json")
        again = load_network(tmp_path / "network.json").sample(500, {"kind": "a"}, random_state=0)
        pd.testing.assert_frame_equal(drawn, again)

    def test_cut_points_of_another_table_are_refused(self, frame):
        table, cut_points = cut_table(frame)
        structure = learn_gbn(table)
        with pytest.raises(ValueError, match=r"cut_points: 'x' has the states .*, but its cut points make"):
            fit_network(table, structure, cut_points={"x": cut_points["x"][1:]})
        with pytest.raises(ValueError, match="cut_points: 'z' is not a variable of the table"):
            fit_network(table, structure, cut_points={"z": cut_points["x"]})
