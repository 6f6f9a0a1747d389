"""What fits choose within their rows if these belong together in groups."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, cross_val_score

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers import FSANBClassifier, KDBClassifier
from anbexact.datasets import load_iris, load_tic_tac_toe
from anbexact.models.logit import prior_precision
from anbexact.models.smooth import smoothness

REFIT = RefittedClassifier(NaiveBayesClassifier(ess=1))


@pytest.fixture(scope="module")
def repeated():
    """Rows of tic-tac-toe, each five times with the same class drawn by chance: nothing can be learned from them."""
    X, _ = load_tic_tac_toe()
    rows = np.repeat(np.arange(0, 958, 32), 5)
    rng = np.random.default_rng(0)
    y = rng.choice(["lost", "won"], size=30).repeat(5)
    return X.iloc[rows].reset_index(drop=True), y, rows


def test_repeated_rows_no_longer_weaken_the_prior(repeated):
    X, y, groups = repeated
    free = REFIT.fit(X, y).logit_.refitted.l2
    assert REFIT.fit(X, y, groups=groups).logit_.refitted.l2 > 100 * free


def test_repeated_rows_no_longer_weaken_penalties(repeated):
    X, y, groups = repeated
    model = AdditiveClassifier(NaiveBayesClassifier(ess=1), smooth="cv")

    def strengths(**rows):
        """The strength of every feature, which can be the same for all."""
        found = model.fit(X, y, **rows).logit_.refitted.smoothness.strengths["level"]
        return list(found.values()) if isinstance(found, dict) else [found]

    assert min(strengths(groups=groups)) > 100 * max(strengths())


def test_repeated_rows_no_longer_give_weight_to_members(repeated):
    X, y, groups = repeated
    members = [("kDB", KDBClassifier(k=2, ess=1))]
    free, grouped = (PooledClassifier(members, ridge=1.0).fit(X, y, **rows) for rows in ({}, {"groups": groups}))
    assert grouped.weights_[0] < 0.5 * free.weights_[0]
    assert grouped.members_["log_loss"].iloc[0] > free.members_["log_loss"].iloc[0] + 0.2


@pytest.mark.slow
def test_a_pool_of_two_groups(repeated):
    X, y, _ = repeated
    pool = PooledClassifier([("NB", REFIT)]).fit(X, y, groups=np.arange(150) < 75)
    assert pool.members_["outcome"].iloc[0] in ("pooled", "weight 0")


@pytest.mark.filterwarnings("ignore:in cross-validation:UserWarning")
@pytest.mark.parametrize(
    "model", [TANClassifier(), pytest.param(ANBClassifier(max_parents=2), marks=pytest.mark.slow)]
)
def test_repeated_rows_no_longer_shorten_the_smoothing(repeated, model):
    X, y, groups = repeated
    free = model.fit(X, y).smoothing_
    assert model.fit(X, y, groups=groups).smoothing_ > 2 * free


@pytest.mark.parametrize(
    "model", [KDBClassifier(k=2, parameters="hierarchical"), FSANBClassifier(ess=(1.0, 5.0)), TANClassifier(ess=1)]
)
@pytest.mark.filterwarnings("ignore:in cross-validation:UserWarning")
def test_every_choice_takes_groups(repeated, model):
    X, y, groups = repeated
    model.fit(X, y, groups=groups)
    assert model.predict_proba(X).shape == (150, 2)


@pytest.mark.parametrize("module", [prior_precision, smoothness])
def test_folds_of_refits_hold_out_whole_groups(monkeypatch, module):
    X, y = (part.iloc[::2].reset_index(drop=True) for part in load_iris())
    groups, seen = np.arange(75) // 5, []
    kept = module._Fold.__init__

    def noted(self, problem, part, *further):
        seen.append(part)
        kept(self, problem, part, *further)

    monkeypatch.setattr(module._Fold, "__init__", noted)
    model = REFIT if module is prior_precision else AdditiveClassifier(NaiveBayesClassifier(ess=1))
    model.fit(X, y, groups=groups)
    sizes = [part.held.sum() for part in seen]
    assert sum(sizes) == pytest.approx(75)
    assert all(size % 5 == 0 for size in sizes)


def test_groups_of_single_rows_need_no_more_than_the_rows():
    X, y = load_iris()
    proba = REFIT.fit(X, y, groups=np.arange(150)).predict_proba(X)
    np.testing.assert_allclose(proba, REFIT.fit(X, y).predict_proba(X), atol=0.1)


@pytest.mark.parametrize("model", [TANClassifier(), REFIT, PooledClassifier([("NB", NaiveBayesClassifier())])])
def test_refuses_groups_of_other_rows(repeated, model):
    X, y, groups = repeated
    with pytest.raises(ValueError, match=r"groups has shape \(149,\), expected \(150,\)"):
        model.fit(X, y, groups=groups[1:])


def test_groups_cannot_be_combined_with_completed_cells(repeated):
    X, y, groups = repeated
    with pytest.raises(ValueError, match="groups cannot be combined with handle_missing='em'"):
        TANClassifier(handle_missing="em").fit(X.mask(X == "b"), y, groups=groups)


def test_groups_are_routed_through_cross_validation(repeated):
    X, y, groups = repeated
    with config_context(enable_metadata_routing=True):
        model = RefittedClassifier(NaiveBayesClassifier(ess=1)).set_fit_request(groups=True)
        scores = cross_val_score(
            model, X, y, cv=GroupKFold(3), params={"groups": groups}, scoring="neg_log_loss", error_score="raise"
        )
    assert np.isfinite(scores).all()
