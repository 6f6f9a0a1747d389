"""Networks and refits in NumPyro and PyMC: their log densities are those of the formulas."""

import math
import runpy
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anbexact import GBNClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_logit
from anbexact.adapters.ppl import bayesian
from anbexact.adapters.ppl.bayesian import logit_sites, network_sites


def problem(seed, gaps=0.2):
    """Return a fitted network, rows some of whose cells and classes are missing, and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=40)
    X = pd.DataFrame({
        "a": pd.Categorical.from_codes((y + rng.integers(2, size=40)) % 3, ["u", "v", "w", "never"]),
        "b": (y > 0) ^ (rng.random(40) < 0.2),
        3: rng.integers(2, size=40),
    })  # fmt: skip
    fitted = (TANClassifier if seed % 2 else GBNClassifier)(ess=2.5, smoothing=3.0).fit(X, y)
    rows = X.astype(object).mask(rng.random(X.shape) < gaps)
    labels = pd.Series(y, dtype=object).mask(rng.random(40) < gaps)
    return fitted, rows, labels, rng.integers(1, 5, size=40) / 2


def random_tables(fitted, seed):
    """Return random tables, axes (parents, states)."""
    rng = np.random.default_rng(seed)
    alphas = network_sites(fitted, None, None, None, "prior", None).concentrations
    return {name: rng.dirichlet(np.ones(alpha.shape[-1]), size=alpha.shape[:-1]) for name, alpha in alphas.items()}


def log_density(fitted, tables, X, y, weights, counted):
    """Return ln p(tables, rows): Dirichlet densities, and the sum over all completions of every row."""
    vocabulary = fitted.vocabulary_
    names = list(tables)
    total = 0.0
    for name, table in tables.items():
        r = table.shape[-1]
        n = fitted.counts_[name].dense()
        for config in np.ndindex(table.shape[:-1]):
            alpha = [fitted.smoothing_ / table.size + (n[(k, *config)] if counted else 0) for k in range(r)]
            total += math.lgamma(sum(alpha)) - sum(map(math.lgamma, alpha))
            total += sum((a - 1) * math.log(p) for a, p in zip(alpha, table[config], strict=True))
    if X is None:
        return total
    for t in range(len(X)):
        choices = []
        for name in names:
            cell = y.iloc[t] if name == vocabulary.class_name else X.iloc[t][name]
            states = range(vocabulary.arity(name))
            choices.append(states if pd.isna(cell) else [vocabulary.states[name].index(cell)])
        likelihood = 0.0
        for states in product(*choices):
            at = dict(zip(names, states, strict=True))
            likelihood += math.prod(
                table[(*(at[parent] for parent in fitted.structure_.parents[name]), at[name])]
                for name, table in tables.items()
            )
        total += weights[t] * math.log(likelihood)
    return total


def in_logs(fitted, tables, X, y, weights):
    """Return the log likelihood of the rows as the sites have it."""
    sites = network_sites(fitted, X, y, weights, "prior", None)
    logs = np.concatenate([*(np.log(tables[name]).ravel() for name in sites.concentrations), [0.0, -1e30]])
    rows = logs[sites.completions].sum(axis=2)
    return logs @ sites.counts + sites.weights @ np.logaddexp.reduce(rows, axis=1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gaps", [0.0, 0.3, 1.0])
def test_rows_are_summed_over_their_completions(seed, gaps):
    fitted, X, y, weights = problem(seed, gaps)
    tables = random_tables(fitted, seed)
    prior = log_density(fitted, tables, None, None, None, False)
    expected = log_density(fitted, tables, X, y, weights, False) - prior
    assert in_logs(fitted, tables, X, y, weights) == pytest.approx(expected, abs=1e-9)
    expected = log_density(fitted, tables, X, pd.Series([None] * len(X)), weights, False) - prior
    assert in_logs(fitted, tables, X, None, weights) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@pytest.mark.real("numpyro")
@pytest.mark.parametrize("counted", [False, True])
def test_networks_in_numpyro(counted):
    import numpyro

    from anbexact.adapters import to_numpyro

    numpyro.enable_x64()
    for seed in range(2):
        fitted, X, y, weights = problem(seed)
        rows = {} if counted else {"X": X, "y": y, "sample_weight": weights}
        model = to_numpyro(fitted, **rows, tables="posterior" if counted else "prior", prefix="north: ")
        tables = random_tables(fitted, seed)
        sites = network_sites(fitted, None, None, None, "prior", None).sites
        values = {f"north: {sites[name]}": table for name, table in tables.items()}
        density, _ = numpyro.infer.util.log_density(model, (), {}, values)
        given = (None, None, None) if counted else (X, y, weights)
        assert float(density) == pytest.approx(log_density(fitted, tables, *given, counted), abs=1e-8)


@pytest.mark.slow
@pytest.mark.real("numpyro")
def test_samplers_of_numpyro_move_in_stretched_log_ratios():
    """The unconstrained density is that of the Dirichlet distributions, with their Jacobian, in every tail."""
    import jax
    import jax.numpy as jnp
    import numpyro

    from anbexact.adapters.ppl.numpyro_simplex import dirichlet_rows

    numpyro.enable_x64()
    rng = np.random.default_rng(0)
    alpha = 10 ** rng.uniform(-1.5, 1, (2, 3, 4))
    counts = rng.integers(0, 20, alpha.shape) * (rng.random(alpha.shape) < 0.5)
    rows = dirichlet_rows(alpha, counts)
    way = numpyro.distributions.biject_to(rows.support)
    u = jnp.asarray(rng.normal(size=(2, 3, 3)))
    p = way(u)
    assert way.inverse_shape(p.shape) == u.shape
    assert way.forward_shape(u.shape) == p.shape
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(way._inverse(p), u, rtol=0, atol=1e-8)
    jacobian = jax.jacobian(lambda v: way(v)[..., :-1].ravel())(u).reshape(u.size, u.size)
    assert float(way.log_abs_det_jacobian(u, p)) == pytest.approx(np.linalg.slogdet(jacobian)[1], abs=1e-8)
    # far below the smallest float, the density goes on as u and the concentration say
    tail = dirichlet_rows(np.array([0.001, 5.0]), np.zeros(2))
    way = numpyro.distributions.biject_to(tail.support)
    total = [float(tail.log_prob(way(v)) + way.log_abs_det_jacobian(v, way(v))) for v in jnp.array([[-8.0], [-9.0]])]
    assert float(way(jnp.array([-8.0]))[0]) == np.finfo(float).tiny
    assert total[0] - total[1] == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
@pytest.mark.real("numpyro")
def test_sites_are_replaced_in_numpyro():
    import numpyro

    from anbexact.adapters import to_numpyro

    fitted, X, y, _ = problem(1)
    seen = []

    def uniform(alpha):
        seen.append(alpha.shape)
        return np.full(alpha.shape, 1 / alpha.shape[-1]) + 0 * numpyro.sample("own", numpyro.distributions.Normal())

    model = to_numpyro(fitted, X, y, replace={"a": uniform})
    trace = numpyro.handlers.trace(numpyro.handlers.seed(model, 0)).get_trace()
    assert "own" in trace
    assert not any(name.startswith("P(a") for name in trace)
    assert seen == [network_sites(fitted, None, None, None, "prior", None).concentrations["a"].shape]


@pytest.mark.slow
@pytest.mark.real("numpyro")
def test_the_example_of_related_hospitals():
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "hospitals.py"))
    patients = example["made_up"]()
    samples = example["shrunk"](patients, draws=50)
    common = samples["common"][:, 0, 0].mean()
    alone, together = [], []
    for hospital in example["HOSPITALS"]:
        here = patients.query("hospital == @hospital and risk == 'high' and treatment == 'new'")["complication"]
        alone.append(here.mean())
        together.append(samples[f"{hospital}: rates"][:, 0, 0, 1].mean())
    assert np.std(together) < np.std(alone) / 2
    assert min(together) - 0.05 < common < max(together) + 0.05


@pytest.mark.slow
@pytest.mark.real("numpyro")
def test_the_means_of_numpyro_are_the_tables():
    import jax
    import numpyro

    from anbexact.adapters import to_numpyro

    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = pd.DataFrame({"a": (y + rng.integers(2, size=200)) % 3, "b": y ^ (rng.random(200) < 0.2)})
    fitted = TANClassifier(ess=2.0).fit(X, y)
    kernel = numpyro.infer.NUTS(to_numpyro(fitted, X, y))
    chain = numpyro.infer.MCMC(kernel, num_warmup=200, num_samples=500, progress_bar=False)
    chain.run(jax.random.PRNGKey(1))
    sites = network_sites(fitted, None, None, None, "prior", None).sites
    for name, table in fitted.conditional_tables_.items():
        drawn = np.asarray(chain.get_samples()[sites[name]])
        size = numpyro.diagnostics.effective_sample_size(drawn[None])
        error = drawn.std(axis=0) / np.sqrt(size)
        assert (abs(drawn.mean(axis=0) - np.moveaxis(table.values, 0, -1)) < 4 * error).all()


def refits():
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=90)
    X = pd.DataFrame({"a": y + rng.normal(size=90), "b": (y + rng.integers(2, size=90)) % 3})
    logit = to_logit(TANClassifier().fit(X, y))
    smooth = to_logit(NaiveBayesClassifier().fit(X, y), X, intervals=6)
    return [logit.refit(X, y, l2=0.7), smooth.refit(X, y, smooth={"slope": 2.0, "curvature": 0.5}, l2=0.01)]


def standard(model, sites):
    """Return the standard normal variables at the mode: what the refit's shifts are made of."""
    shift = model.refitted.fit.shift
    found, first = {}, 0
    for name, spread in sites.spreads.items():
        own = shift[first : first + len(spread)]
        found[name] = np.linalg.solve(spread, own @ sites.contrasts)
        first += len(spread)
    return found


@pytest.mark.parametrize("which", [0, 1])
def test_refits_are_the_modes_of_their_posteriors(which):
    """The formula: Σ w ln softmax(base + shifts) - ½ Σ z², whose gradient vanishes at the refit."""
    model = refits()[which]
    sites = logit_sites(model)
    z = standard(model, sites)
    shift = np.concatenate([sites.spreads[name] @ z[name] @ sites.contrasts.T for name in z])
    np.testing.assert_allclose(shift, model.refitted.fit.shift, atol=1e-10)
    odds = sites.base + shift[sites.cells].sum(axis=1)
    p = np.exp(odds - np.logaddexp.reduce(odds, axis=1)[:, None])
    residual = sites.weights - sites.weights.sum(axis=1, keepdims=True) * p
    by_cell = np.zeros_like(shift)
    for column in sites.cells.T:
        np.add.at(by_cell, column, residual)
    first, steepest = 0, 0.0
    for name, spread in sites.spreads.items():
        gradient = spread.T @ by_cell[first : first + len(spread)] @ sites.contrasts - z[name]
        steepest = max(steepest, abs(gradient).max())
        first += len(spread)
    assert steepest < 1e-3
    log_likelihood = float((sites.weights * np.log(p)).sum())
    assert log_likelihood == pytest.approx(model.refitted.fit.log_likelihood, abs=1e-8)
    penalty = sum(float((values**2).sum()) for values in z.values()) / 2
    assert log_likelihood - penalty == pytest.approx(model.refitted.fit.penalised, abs=1e-8)


@pytest.mark.slow
@pytest.mark.real("numpyro")
@pytest.mark.parametrize("which", [0, 1])
def test_refits_in_numpyro(which):
    import numpyro

    from anbexact.adapters import logit_to_numpyro

    numpyro.enable_x64()
    model = refits()[which]
    z = standard(model, logit_sites(model))
    density, trace = numpyro.infer.util.log_density(logit_to_numpyro(model), (), {}, z)
    normal = sum(values.size for values in z.values()) * math.log(2 * math.pi) / 2
    assert float(density) == pytest.approx(model.refitted.fit.penalised - normal, abs=1e-7)
    np.testing.assert_allclose(trace["shift"]["value"], model.refitted.fit.shift, atol=1e-8)


@pytest.mark.slow
@pytest.mark.real("pymc")
@pytest.mark.filterwarnings("ignore")
def test_models_in_pymc():
    import pymc as pm
    import pytensor

    from anbexact.adapters import logit_to_pymc, to_pymc

    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        fitted, X, y, weights = problem(1)
        tables = random_tables(fitted, 0)
        model = to_pymc(fitted, X, y, weights)
        names = network_sites(fitted, None, None, None, "prior", None).sites
        free = {model.rvs_to_values[model[names[name]]]: table for name, table in tables.items()}
        logp = model.logp(jacobian=False)
        found = float(logp.eval({value: _unconstrained(model, value, table) for value, table in free.items()}))
        assert found == pytest.approx(log_density(fitted, tables, X, y, weights, False), abs=1e-6)
        with pm.Model() as both:
            shared = pm.Dirichlet("shared", a=np.ones(2))
            for prefix in ("north: ", "south: "):
                assert to_pymc(fitted, replace={"b": lambda a: shared + np.zeros(a.shape)}, prefix=prefix) is both
        assert {"shared", f"north: {names['a']}", f"south: {names['a']}"} <= set(both.named_vars)
        for refitted in refits():
            z = standard(refitted, logit_sites(refitted))
            regression = logit_to_pymc(refitted)
            given = {regression.rvs_to_values[regression[name]]: value for name, value in z.items()}
            density = float(regression.logp().eval(given))
            normal = sum(values.size for values in z.values()) * math.log(2 * math.pi) / 2
            assert density == pytest.approx(refitted.refitted.fit.penalised - normal, abs=1e-6)


def _unconstrained(model, value, table):
    variable = model.values_to_rvs[value]
    transform = model.rvs_to_transforms[variable]
    return transform.forward(table, *variable.owner.inputs).eval()


def test_what_has_no_posterior_is_refused():
    fitted, X, _, _ = problem(1)
    for arguments, error, message in (
        ((to_logit(fitted), None, None, None, "prior", None), TypeError, "not a LogitModel"),
        ((fitted, None, None, None, "mean", None), ValueError, "tables must be one of 'prior', 'posterior'"),
        ((fitted, None, None, None, "prior", {"z": None}), ValueError, "'z', which is not a variable"),
        ((fitted, X, [7] * len(X), None, "prior", None), ValueError, "7, which is not a class"),
    ):
        with pytest.raises(error, match=message):
            network_sites(*arguments)
    X = pd.DataFrame(np.random.default_rng(0).integers(9, size=(50, 12)), columns=[f"x{j}" for j in range(12)])
    naive = NaiveBayesClassifier(parameters="ml").fit(X, (X["x0"] > 4).to_numpy())
    with pytest.raises(ValueError, match="parameters='eap'"):
        network_sites(naive, None, None, None, "prior", None)
    with pytest.raises(ValueError, match="no prior"):
        logit_sites(to_logit(fitted))
    with pytest.raises(TypeError, match="not a TANClassifier"):
        logit_sites(fitted)


def test_too_many_completions_are_refused(monkeypatch):
    fitted, X, y, _ = problem(1, 0.5)
    network_sites(fitted, X, y, None, "prior", None)
    monkeypatch.setattr(bayesian, "MOST_COMPLETIONS", 200)
    with pytest.raises(ValueError, match="missing cells that matter"):
        network_sites(fitted, X, y, None, "prior", None)
