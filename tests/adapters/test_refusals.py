"""What adapters say of a pool: how to make one network of it."""

import numpy as np
import pytest

from anbexact import NaiveBayesClassifier, PooledClassifier, TANClassifier
from anbexact.adapters import from_pgmpy, to_file, to_pgmpy
from anbexact.datasets import load_monks

WRITERS = {
    "to_pgmpy": lambda model, _: to_pgmpy(model),
    "to_file": lambda model, path: to_file(model, path / "model.xdsl"),
}


@pytest.fixture(scope="module")
def pool():
    X, y = load_monks(1)
    return PooledClassifier([NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0)], ridge=np.inf).fit(X, y)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_pool_is_refused_with_advice(writer, pool, tmp_path):
    with pytest.raises(TypeError, match=r"not a PooledClassifier: pass its to_logit\(\)\.to_classifier\(\)"):
        WRITERS[writer](pool, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_advice_helps(pool):
    X, _ = load_monks(1)
    read = from_pgmpy(to_pgmpy(pool.to_logit().to_classifier()), "is_monk")
    np.testing.assert_allclose(read.predict_proba(X), pool.predict_proba(X), atol=1e-9)
