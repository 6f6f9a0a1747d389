"""The selective k-dependence Bayesian classifier: k and features against leave-one-out row by row."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ess_values, problems, random_problem, table_of
from tiers import examples

import anbexact
from anbexact import BDeu
from anbexact.classifiers import KDBClassifier, SelectiveKDBClassifier
from anbexact.datasets import load_anes96, load_monks
from anbexact.search import learn_kdb, learn_skdb


def whole(problem):
    """Rows that all differ, each of weight 1 or more, as leaving one out row by row needs them."""
    together = {}
    for row, weight in zip(problem.rows, problem.weights, strict=True):
        together[row] = together.get(row, 0.0) + max(1.0, weight)
    return list(together), list(together.values())


def check(problem, max_k, ess):
    rows, weights = whole(problem)
    table = table_of(rows, weights, problem.arities)
    own = [v for v in range(problem.n) if problem.arities[v] > 1]
    kept = [tuple(row[v] for v in (*own, -1)) for row in rows]
    arities = [problem.arities[v] for v in (*own, -1)]
    found = oracles.selective_k_dependence(kept, weights, arities, max_k, ess)
    structure = learn_skdb(table, max_k=max_k, ess=ess, n_jobs=1)
    if not own:
        assert set(structure.parents.values()) == {()}
        return
    top = max(found.values())
    m, k = min(place for place, value in found.items() if value >= top - 1e-9 * abs(top))
    order, parents = oracles.k_dependence(kept, weights, arities, k)
    for v in range(problem.n):
        chosen = v in own and own.index(v) in order[:m]
        expected = ("c", *(f"f{own[j]}" for j in parents[own.index(v)])) if chosen else ()
        assert structure.parents[f"f{v}"] == expected
    assert f"k = {k} of {max_k} and {m} of {len(own)} features" in structure.certificate.method
    assert float(structure.certificate.method.split()[-2]) == pytest.approx(top, rel=1e-4, abs=1e-9)


@examples(30)
@given(problem=problems(max_features=4, max_rows=8), max_k=st.integers(0, 4), ess=ess_values)
def test_choice_of_any_table(problem, max_k, ess):
    check(problem, max_k, ess)


@pytest.mark.parametrize("weights", ["ones", "real"])
def test_choice(weights):
    check(random_problem(4, 4, n_rows=40, max_arity=3, weights=weights), 3, 1.0)


def test_with_all_features_and_the_k_found_it_is_kdb():
    table = random_problem(9, 3, n_rows=3000, unseen=False).table
    structure = learn_skdb(table, max_k=2)
    assert all("c" in structure.parents[name] for name in ("f0", "f1", "f2"))
    k = int(structure.certificate.method.split("k = ")[1].split()[0])
    assert dict(structure.parents) == dict(learn_kdb(table, k=k).parents)
    assert structure.score == pytest.approx(sum(BDeu().local_score(table, *f) for f in structure.parents.items()))


def test_threads_do_not_matter():
    table = random_problem(3, 6, n_rows=200).table
    assert learn_skdb(table, n_jobs=1).parents == learn_skdb(table, n_jobs=3).parents


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_k": -1}, "max_k must be a whole number"), ({"max_k": True}, "max_k must"), ({"ess": 0}, "ess must be")],
)
def test_senseless_limits(options, message):
    with pytest.raises(ValueError, match=message):
        learn_skdb(random_problem(1, 2).table, **options)


def test_classifier(tmp_path):
    X, y = load_monks(3)
    model = SelectiveKDBClassifier(ess=1.0, n_jobs=1).fit(X, y)
    assert model.removed_ == ("head_shape", "is_smiling", "has_tie")
    model.save(tmp_path / "skdb.json")
    loaded = anbexact.load(tmp_path / "skdb.json")
    assert loaded.removed_ == model.removed_
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    np.testing.assert_allclose(model.to_logit().predict_proba(X), model.predict_proba(X), rtol=1e-7, atol=1e-12)
    holes = X.astype(object)
    holes.loc[::3, "head_shape"] = None
    summed = SelectiveKDBClassifier(ess=1.0, handle_missing="marginalize").fit(X, y)
    np.testing.assert_allclose(summed.predict_proba(holes), summed.predict_proba(X), rtol=1e-12)


def test_predicts_held_out_rows_better_than_more_parents_than_there_are_rows_for():
    X, y = load_anes96()
    rows = np.arange(len(X)) % 2 == 0

    def log_loss(model):
        proba = model.fit(X[rows], y[rows]).predict_proba(X[~rows])
        places = np.searchsorted(model.classes_, y[~rows])
        return -np.log(proba[np.arange(len(places)), places]).mean()

    assert log_loss(SelectiveKDBClassifier(ess=1.0)) < log_loss(KDBClassifier(k=5, ess=1.0))
