"""Dirichlet distributions that are sampled in log ratios of probabilities.

NumPyro's own transformation to the simplex is stick breaking, in which the last state keeps at least 2⁻⁵² of the
stick. A Dirichlet distribution with a concentration such as 0.003 has most of its mass at smaller probabilities. In
log ratios, nothing has to be truncated, and the density is log-concave, but it has a tail of scale 1 / 0.003 on one
side and a wall on the other. The sampler therefore moves in a variable that is stretched on the side of the tail and
not on the side of the wall.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

from anbexact._runtime.arrays import Floats

NEWTON_STEPS = 40
"""Number of Newton steps for the inverse; once the error is small, each step squares it."""


class Ratios(NamedTuple):
    """Log ratios of the probabilities of a row to the probability of its most frequent state.

    Attributes
    ----------
    places : (*parents, states) array
        The positions of the states among the ratios; the last is that of the reference state.
    centre, upper, stretch : (*parents, states - 1) arrays
        A ratio is ``centre + upper * u - stretch * softplus(-u)``, where u is what the sampler moves.
    """

    places: Any
    centre: Any
    upper: Any
    stretch: Any

    @classmethod
    def of(cls, expected: Floats) -> Ratios:
        """Return ratios for Dirichlet posteriors with these concentrations; linear in u for those of at least 1."""
        order = np.argsort(expected, axis=-1, kind="stable")
        ordered = np.take_along_axis(expected, order, axis=-1)
        others, most = ordered[..., :-1], ordered[..., -1:]
        upper = np.sqrt(polygamma(1, np.maximum(others, 1)) + polygamma(1, most))
        lower = np.sqrt(polygamma(1, others) + polygamma(1, most))
        centre = digamma(np.maximum(others, 1)) - digamma(np.maximum(most, 1))
        return cls(np.argsort(order, axis=-1), centre, upper, lower - upper)


@cache
def _distribution() -> Any:
    """Return the type of the distributions; NumPyro is imported by the first call."""
    import jax.numpy as jnp
    from jax.nn import log_softmax, sigmoid, softplus
    from numpyro.distributions import Dirichlet, biject_to, constraints
    from numpyro.distributions.transforms import Transform

    def tiny(values: Any) -> Any:
        return jnp.finfo(values.dtype).tiny

    class Simplex(constraints.Constraint):  # type: ignore[misc]  # NumPyro may be missing where types are checked
        """The simplex, and how a sampler is to move on it: see :class:`LogRatios`."""

        event_dim = 1

        def __init__(self, concentration: Any, ratios: Any) -> None:
            self.concentration, self.ratios = concentration, ratios

        def __call__(self, x: Any) -> Any:
            return constraints.simplex(x)

        def feasible_like(self, prototype: Any) -> Any:
            return constraints.simplex.feasible_like(prototype)

        def tree_flatten(self) -> Any:
            return (self.concentration, self.ratios), (("concentration", "ratios"), {})

    class LogRatios(Transform):  # type: ignore[misc]  # likewise
        """From standardised log ratios to the probabilities of a row; see :class:`Ratios`."""

        domain, codomain = constraints.real_vector, constraints.simplex

        def __init__(self, concentration: Any, ratios: Any) -> None:
            self.concentration, self.ratios = concentration, ratios

        def logs(self, x: Any) -> Any:
            x = self.ratios.centre + self.ratios.upper * x - self.ratios.stretch * softplus(-x)
            ordered = log_softmax(jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1), axis=-1)
            return jnp.take_along_axis(ordered, jnp.broadcast_to(self.ratios.places, ordered.shape), axis=-1)

        def __call__(self, x: Any) -> Any:
            logs = self.logs(x)
            return jnp.maximum(jnp.exp(logs), tiny(logs))

        def _inverse(self, y: Any) -> Any:
            logs = jnp.log(jnp.maximum(y, tiny(y)))
            order = jnp.argsort(self.ratios.places, axis=-1)
            ordered = jnp.take_along_axis(logs, jnp.broadcast_to(order, logs.shape), axis=-1)
            _, centre, upper, stretch = self.ratios
            aim = ordered[..., :-1] - ordered[..., -1:] - centre
            x = jnp.minimum(aim / upper, aim / (upper + stretch))
            for _ in range(NEWTON_STEPS):  # concave, from the left of the root, so that no step overshoots
                x = x + (aim - upper * x + stretch * softplus(-x)) / (upper + stretch * sigmoid(-x))
            return x

        def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
            # If a probability is smaller than any float, the density is corrected from the float that stands for it.
            logs = self.logs(x)
            good = (self.concentration - 1) * (logs - jnp.log(y))
            slopes = self.ratios.upper + self.ratios.stretch * sigmoid(-x)
            return (logs + good).sum(axis=-1) + jnp.log(slopes).sum(axis=-1)

        def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
            return (*shape[:-1], shape[-1] + 1)

        def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
            return (*shape[:-1], shape[-1] - 1)

        def tree_flatten(self) -> Any:
            return (self.concentration, self.ratios), (("concentration", "ratios"), {})

    class LogRatioDirichlet(Dirichlet):  # type: ignore[misc]  # likewise
        """A Dirichlet distribution with its own :class:`Simplex`."""

        pytree_data_fields = ("ratios",)

        def __init__(self, concentration: Any, ratios: Any) -> None:
            self.ratios = ratios
            super().__init__(concentration)

        @constraints.dependent_property(is_discrete=False, event_dim=1)  # type: ignore[untyped-decorator]  # likewise
        def support(self) -> Any:
            return Simplex(self.concentration, self.ratios)

    @biject_to.register(Simplex)  # type: ignore[untyped-decorator]  # likewise
    def _to_simplex(constraint: Simplex) -> LogRatios:
        return LogRatios(constraint.concentration, constraint.ratios)

    return LogRatioDirichlet


def dirichlet_rows(alpha: Floats, counts: Floats) -> Any:
    """Return Dirichlet distributions of the rows of a table.

    Parameters
    ----------
    alpha : (*parents, states) array
        Their concentrations.
    counts : (*parents, states) array
        Weights of the observations of each state, which determine the scales of the sampler.
    """
    import jax.numpy as jnp

    ratios = Ratios(*map(jnp.asarray, Ratios.of(alpha + counts)))
    return _distribution()(jnp.asarray(alpha), ratios).to_event(alpha.ndim - 1)
