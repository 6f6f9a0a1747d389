"""The values of states: places in an order, and indicators of other states."""

import numpy as np
import oracles
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from similarities import ARITIES, N_ORDERED, Sample
from tiers import examples

from anbexact import DiscreteTable
from anbexact.models.kernel.distances import distances_of
from anbexact.models.linear.values import values_of_states


@examples(60)
@given(seed=st.integers(0, 10**6), weights=st.sampled_from(["ones", "mixed"]))
def test_values(seed, weights):
    sample = Sample.drawn(seed, weights=weights)
    found = values_of_states(sample.table, {})
    for (own, measured), of_states, arity, n_ordered in zip(
        found, sample.state_weights, ARITIES, N_ORDERED, strict=True
    ):
        ranks = np.cumsum(of_states) - np.array(of_states) / 2
        places = [float(ranks[s]) if s < n_ordered else None for s in range(arity)]
        np.testing.assert_allclose(own, oracles.linear_values(places, of_states), atol=1e-12)
        assert measured.tolist() == [True] * (n_ordered > 0) + [False] * (own.shape[1] - (n_ordered > 0))


@examples(30)
@given(seed=st.integers(0, 10**6))
def test_they_are_standardised(seed):
    sample = Sample.drawn(seed, weights="mixed")
    for (own, _), of_states in zip(values_of_states(sample.table, {}), sample.state_weights, strict=True):
        shares = np.array(of_states) / sum(of_states)
        np.testing.assert_allclose(shares @ own, 0.0, atol=1e-12)
        np.testing.assert_allclose((shares @ own**2).sum(), 1.0)


def test_places_of_intervals():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 40)
    table = DiscreteTable.from_frame(pd.DataFrame({"x": codes}), pd.Series(rng.integers(0, 2, 40), name="c"))
    cuts = {"x": np.array([0.0, 1.0, 100.0])}
    places, of_states = distances_of(table, cuts)[0].places, np.bincount(codes, minlength=4)
    found = values_of_states(table, cuts)[0].values
    np.testing.assert_allclose(found, oracles.linear_values(places.tolist(), of_states.tolist()), atol=1e-12)
    assert found[3] - found[2] > found[2] - found[1]


def test_a_single_state_has_no_values():
    table = DiscreteTable.from_frame(
        pd.DataFrame({"x": ["a"] * 4, "z": [1.0] * 4}), pd.Series([0, 1, 0, 1], name="c")
    )
    assert [own.values.shape for own in values_of_states(table, {})] == [(1, 0), (1, 0)]


def test_two_states_have_one_value_whatever_they_are():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 2, 30), pd.Series(rng.integers(0, 2, 30), name="c")
    kinds = [codes, codes.astype(bool), np.where(codes, "yes", "no")]
    found = [values_of_states(DiscreteTable.from_frame(pd.DataFrame({"x": of}), y), {})[0] for of in kinds]
    for values, measured in found:
        np.testing.assert_allclose(np.abs(values), np.abs(found[0].values))
        assert measured.tolist() == [False]
