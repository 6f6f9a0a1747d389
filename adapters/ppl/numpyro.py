"""Networks and refits as NumPyro models."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from anbexact.adapters.ppl.bayesian import IMPOSSIBLE, Replacement, logit_sites, network_sites
from anbexact.adapters.ppl.numpyro_simplex import dirichlet_rows

__all__ = ["logit_to_numpyro", "to_numpyro"]


def to_numpyro(
    classifier: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    tables: str = "prior",
    replace: Mapping[Hashable, Replacement] | None = None,
    prefix: str = "",
) -> Callable[[], dict[Hashable, Any]]:
    """Return a fitted network as a NumPyro model of its conditional tables.

    Every row of every table has a Dirichlet distribution, independent of the others. The table of a variable is one
    site, ``P(variable | parents)``, whose value has the axes (parents, states of the variable). Given rows, the model
    includes their likelihood, in which missing cells and missing classes are summed out exactly. Complete rows enter
    as counts, so the time of a step does not depend on their number.

    With ``tables="prior"`` and the rows of ``fit``, the posterior means are the classifier's tables. Sampling becomes
    useful with ``replace``, which gives any table another prior, such as one that several networks share.

    Parameters
    ----------
    classifier : NetworkClassifier
        Fitted, with ``parameters="eap"``; it gives the structure, the states and the prior.
    X, y, sample_weight : optional
        The rows, their classes and weights. A missing class is None or NaN; with ``y=None`` all are missing.
    tables : {"prior", "posterior"}, default "prior"
        The concentrations: those of the prior, or these plus the counts of ``fit``. With ``"posterior"``, do not pass
        rows that were used in ``fit``, because they would count twice.
    replace : mapping of variable to function, optional
        Functions that take the concentrations of a table and return its probabilities, an array of the same shape.
        They are called within the model, so they may sample sites of their own.
    prefix : str, default ""
        Prefix of the names of sites, for models of several networks.

    Returns
    -------
    callable
        A model without arguments, for ``numpyro.infer``; it returns the tables by variable.

    Raises
    ------
    ImportError
        If NumPyro is not installed: ``pip install 'anbexact[numpyro]'``.
    TypeError
        If the classifier is not a network of this package.
    ValueError
        If its tables have no Dirichlet posterior; for a class or variable that does not exist; or if a row has so
        many missing cells that they cannot be summed over.
    """
    numpyro = _numpyro()
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    sites = network_sites(classifier, X, y, sample_weight, tables, replace)
    given = dict(replace or {})

    def model() -> dict[Hashable, Any]:
        found, first = {}, 0
        for name, alpha in sites.concentrations.items():
            counts = sites.counts[first : first + alpha.size].reshape(alpha.shape)
            first += alpha.size
            if name in given:
                found[name] = given[name](alpha)
            else:
                found[name] = numpyro.sample(prefix + sites.sites[name], dirichlet_rows(alpha, counts))
        if X is not None:
            tiny = jnp.finfo(jnp.result_type(float)).tiny
            logs = [jnp.log(jnp.maximum(jnp.asarray(found[name]), tiny)).ravel() for name in sites.concentrations]
            joined = jnp.concatenate([*logs, jnp.array([0.0, IMPOSSIBLE])])
            total = jnp.dot(sites.counts, joined)
            if len(sites.weights):
                of_rows = logsumexp(joined[sites.completions].sum(axis=2), axis=1)
                total = total + jnp.dot(sites.weights, of_rows)
            numpyro.factor(f"{prefix}rows", total)
        return found

    return model


def logit_to_numpyro(model: Any) -> Callable[[], Any]:
    """Return a refitted logistic regression as a NumPyro model: a Bayesian multinomial regression with its prior.

    The rows are those of the refit, and the prior is the refit's: independent normal shifts of precision ``l2``
    around the network's logarithms, or, after a smooth refit, shapes that are smooth along the order of states.
    :meth:`LogitModel.refit` returns the mode of this posterior; the bands of ``shapes()`` show its Laplace
    approximation.

    Parameters
    ----------
    model : LogitModel
        The result of ``refit(X, y)``.

    Returns
    -------
    callable
        A model without arguments. Its sites are standard normal, one for each term. The shifts themselves are the
        deterministic site ``shift``, shape (cells, classes), with the cells in the order of ``model.refitted``.

    Raises
    ------
    ImportError
        If NumPyro is not installed: ``pip install 'anbexact[numpyro]'``.
    TypeError
        If the model is not a LogitModel.
    ValueError
        If it was not refitted, or was refitted without a prior.
    """
    numpyro = _numpyro()
    import jax.numpy as jnp
    from jax.nn import log_softmax

    sites = logit_sites(model)

    def regression() -> Any:
        parts = []
        for name, spread in sites.spreads.items():
            shape = len(spread), sites.contrasts.shape[1]
            z = numpyro.sample(name, numpyro.distributions.Normal(0.0, 1.0).expand(shape).to_event(2))
            parts.append(jnp.asarray(spread) @ z @ jnp.asarray(sites.contrasts).T)
        shift = numpyro.deterministic("shift", jnp.concatenate(parts))
        logs = log_softmax(jnp.asarray(sites.base) + shift[sites.cells].sum(axis=1), axis=1)
        numpyro.factor("rows", jnp.vdot(jnp.asarray(sites.weights), logs))
        return shift

    return regression


def _numpyro() -> Any:
    """Return the package, or say how to install it."""
    try:
        import numpyro
        import numpyro.distributions
    except ImportError as error:
        raise ImportError("NumPyro models need the package numpyro: pip install 'anbexact[numpyro]'") from error
    return numpyro
