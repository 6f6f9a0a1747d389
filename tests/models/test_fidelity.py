"""How closely a model follows a teacher."""

from math import log

import numpy as np
import pytest

from anbexact.models.fidelity import Fidelity


def random_probabilities(rng, *shape):
    p = rng.gamma(0.5, size=shape) + 1e-9
    return p / p.sum(axis=-1, keepdims=True)


def test_divergence_and_agreement_by_their_definitions():
    rng = np.random.default_rng(0)
    p, q, w = random_probabilities(rng, 40, 3), random_probabilities(rng, 40, 3), rng.integers(0, 3, 40)
    q[:5] = [0, 1, 0]
    found = Fidelity.of(np.log(p), q, w.astype(float))
    rows = [(v, a, b) for v, a, b in zip(w.tolist(), p.tolist(), q.tolist(), strict=True)]
    divergence = sum(v * b[c] * log(b[c] / a[c]) for v, a, b in rows for c in range(3) if b[c] > 0)
    same = sum(v for v, a, b in rows if a.index(max(a)) == b.index(max(b)))
    assert found.divergence == pytest.approx(divergence / w.sum(), rel=1e-12)
    assert found.agreement == pytest.approx(same / w.sum(), rel=1e-12)


def test_a_model_that_is_its_teacher():
    q = np.array([[0.0, 1.0], [0.5, 0.5]])
    with np.errstate(divide="ignore"):
        found = Fidelity.of(np.log(q), q, np.ones(2))
    assert found == Fidelity(0.0, 1.0)  # of a tie, either class agrees
    assert "0.0000 nats per row; the same most probable class in 100.0% of the rows" in str(found)


@pytest.mark.parametrize("described", [{"divergence": "x", "agreement": 1}, {"divergence": 0, "agreement": 1.1}])
def test_descriptions_are_checked(described):
    assert Fidelity.from_dict({}) is None
    with pytest.raises(ValueError, match=r"a number was expected|must be from 0 to 1"):
        Fidelity.from_dict({"fidelity": described})
