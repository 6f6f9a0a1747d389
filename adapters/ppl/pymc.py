"""Networks and refits as PyMC models."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from anbexact.adapters.ppl.bayesian import IMPOSSIBLE, Replacement, logit_sites, network_sites

__all__ = ["logit_to_pymc", "to_pymc"]

TINY = 1e-300
"""Smaller probabilities are rounded up to this value, so that their logarithms are finite."""


def to_pymc(
    classifier: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    tables: str = "prior",
    replace: Mapping[Hashable, Replacement] | None = None,
    prefix: str = "",
) -> Any:
    """Return a fitted network as a PyMC model of its conditional tables.

    The model and its names are the same as those of :func:`to_numpyro`, which also explains the parameters. Within
    the context of a model, the tables are added to that model, so several networks can share sites.

    Parameters
    ----------
    classifier, X, y, sample_weight, tables, replace, prefix
        See :func:`to_numpyro`; the functions of ``replace`` return tensors.

    Returns
    -------
    pymc.Model
        For ``pymc.sample``. The tables are among its variables.

    Raises
    ------
    ImportError
        If PyMC is not installed: ``pip install 'anbexact[pymc]'``.
    TypeError, ValueError
        As :func:`to_numpyro` does.
    """
    pm = _pymc()
    import pytensor.tensor as pt

    sites = network_sites(classifier, X, y, sample_weight, tables, replace)
    given = dict(replace or {})
    model = pm.modelcontext(None) if pm.Model.get_context(error_if_none=False) is not None else pm.Model()
    with model:
        logs = []
        for name, alpha in sites.concentrations.items():
            table = given[name](alpha) if name in given else pm.Dirichlet(prefix + sites.sites[name], a=alpha)
            logs.append(pt.log(pt.maximum(table, TINY)).ravel())
        if X is not None:
            joined = pt.concatenate([*logs, pt.as_tensor([0.0, IMPOSSIBLE])])
            total = pt.dot(sites.counts, joined)
            if len(sites.weights):
                of_rows = pt.logsumexp(joined[sites.completions].sum(axis=2), axis=1)
                total = total + pt.dot(sites.weights, of_rows)
            pm.Potential(f"{prefix}rows", total)
    return model


def logit_to_pymc(model: Any) -> Any:
    """Return a refitted logistic regression as a PyMC model; see :func:`logit_to_numpyro`.

    Parameters
    ----------
    model : LogitModel
        The result of ``refit(X, y)``.

    Returns
    -------
    pymc.Model
        Its variables are standard normal, one for each term, and the deterministic variable ``shift``.

    Raises
    ------
    ImportError
        If PyMC is not installed: ``pip install 'anbexact[pymc]'``.
    TypeError, ValueError
        As :func:`logit_to_numpyro` does.
    """
    pm = _pymc()
    import pytensor.tensor as pt

    sites = logit_sites(model)
    with pm.Model() as regression:
        parts = []
        for name, spread in sites.spreads.items():
            z = pm.Normal(name, 0.0, 1.0, shape=(len(spread), sites.contrasts.shape[1]))
            parts.append(pt.dot(pt.dot(pt.as_tensor(spread), z), sites.contrasts.T))
        shift = pm.Deterministic("shift", pt.concatenate(parts))
        odds = pt.as_tensor(sites.base) + shift[sites.cells].sum(axis=1)
        logs = odds - pt.logsumexp(odds, axis=1, keepdims=True)
        pm.Potential("rows", pt.sum(sites.weights * logs))
    return regression


def _pymc() -> Any:
    """Return the package, or say how to install it."""
    try:
        import pymc
    except ImportError as error:
        raise ImportError("PyMC models need the package pymc: pip install 'anbexact[pymc]'") from error
    return pymc
