"""Fits of which only predictions are needed end early, within a block and in its thread alone."""

from contextvars import Context

import numpy as np
import pytest

from anbexact import AdditiveClassifier, RefittedClassifier, TANClassifier
from anbexact._runtime.approximate import predictions_only, sufficient
from anbexact.classifiers.kdb import KDBClassifier
from anbexact.datasets import load_tic_tac_toe


def test_a_coarser_precision_suffices_within_the_block():
    assert sufficient(1e-7, 1e-3) == 1e-7
    with predictions_only():
        assert sufficient(1e-7, 1e-3) == 1e-3
        assert sufficient(1e-2, 1e-3) == 1e-2
        with predictions_only():
            assert sufficient(1e-7, 1e-3) == 1e-3
        assert sufficient(1e-7, 1e-3) == 1e-3
        with predictions_only(wanted=False):
            assert sufficient(1e-7, 1e-3) == 1e-3
        assert Context().run(sufficient, 1e-7, 1e-3) == 1e-7
    with predictions_only(wanted=False):
        assert sufficient(1e-7, 1e-3) == 1e-7
    assert sufficient(1e-7, 1e-3) == 1e-7


def test_an_error_ends_the_block():
    with pytest.raises(ValueError, match="within"), predictions_only():
        raise ValueError("within")
    assert sufficient(1e-7, 1e-3) == 1e-7


@pytest.mark.parametrize(
    "classifier",
    [RefittedClassifier(KDBClassifier(), l2=0.1), AdditiveClassifier(TANClassifier())],
    ids=["refit", "smooth"],
)
def test_fits_end_earlier_and_predict_almost_the_same(classifier):
    X, y = load_tic_tac_toe()
    usual = classifier.fit(X, y).logit_
    with predictions_only():
        early = classifier.fit(X, y).logit_
    assert early.refitted.fit.converged
    assert early.refitted.fit.iterations < usual.refitted.fit.iterations
    assert early.refitted.fit.penalised == pytest.approx(usual.refitted.fit.penalised, abs=1e-4 * len(y))
    assert early.refitted.fit.penalised < usual.refitted.fit.penalised
    np.testing.assert_allclose(early.predict_proba(X), usual.predict_proba(X), atol=0.02)
    assert (early.predict_proba(X) != usual.predict_proba(X)).any()


def test_networks_within_the_block_are_prepared_at_the_first_prediction():
    X, y = load_tic_tac_toe()
    usual = TANClassifier(ess=1.0).fit(X, y)
    with predictions_only():
        early = TANClassifier(ess=1.0).fit(X, y)
    assert "class_posterior" in vars(usual.model_)
    assert "class_posterior" not in vars(early.model_)
    np.testing.assert_array_equal(early.predict_proba(X), usual.predict_proba(X))
    assert "class_posterior" in vars(early.model_)
