"""Kernel logistic regression as a value: its posterior, and its form in files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy.special import log_softmax

from anbexact._runtime.arrays import Floats
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.json_checks import listed, mapped, number, numbers, reading, whole
from anbexact._runtime.memory import available_memory
from anbexact._runtime.tasks import run_on_rows
from anbexact._runtime.units import human_bytes
from anbexact.models.kernel.distances import MOST_POWER, StateDistances, correlations
from anbexact.models.kernel.learned_relevance import LEARNED
from anbexact.models.logit.potentials import Potential, Potentials
from anbexact.models.model import Model
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import CodeArray, Vocabulary

ARRAYS_AT_ONCE = 3
"""How many arrays of the size of the table of all joint states are in memory at once."""
CELLS_AT_ONCE = 1 << 20
"""Maximum number of correlations between rows and points that are computed at once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelModel(ByFields, Model):
    """Log odds with interactions of all orders: ``ln P(c | x) = b_c + Σ_i a_ic k(x, z_i) + constant``.

    ``k(x, z) = Π_j exp(-θ d_j(x_j, z_j))`` for the distances d_j of :class:`~.distances.StateDistances`. For a
    missing cell, the factor of its feature is replaced by its mean over the training rows: the log odds are then
    their mean over cells that are drawn from the column, independently of the other cells.

    Attributes
    ----------
    distances : tuple of StateDistances
        The distances between the states of every feature.
    points : (features, points) int16
        The rows z_i, as codes of states.
    coefficients : (points, classes) float64
        a_ic, in nats.
    biases : (classes,) float64
        b_c, in nats.
    rate : float
        θ, above 0.
    l2 : float
        λ, above 0: the precision of the prior under which the coefficients were fitted.
    relevance : float or "learned"
        The exponent from which the relevances of the features follow (see :func:`~.distances.with_relevance`), or
        that they were learned (see :func:`~.learned_relevance.with_learned_relevance`).
    power : float
        The power to which differences of intervals are raised.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]
    distances: tuple[StateDistances, ...]
    points: CodeArray
    coefficients: Floats
    biases: Floats
    rate: float
    l2: float
    relevance: float | str
    power: float

    @property
    def n_parameters(self) -> int:
        """The number of points plus 1, times the number of classes minus 1."""
        return (len(self.coefficients) + 1) * (len(self.biases) - 1)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); see :meth:`Model.log_posterior`."""
        out = np.empty((codes.shape[1], len(self.biases)))

        def work(start: int, stop: int) -> None:
            own = correlations(codes[:, start:stop], self.points, self.distances, self.rate)
            out[start:stop] = log_softmax(self.biases + own @ self.coefficients, axis=1)

        run_on_rows(work, len(out), max(1, CELLS_AT_ONCE // max(len(self.coefficients), 1)), n_jobs)
        return out

    def facts(self) -> dict[str, Any]:
        """Return the rate, the precision of the prior, how relevances were found, the power, and how many points."""
        return {
            **super().facts(),
            "rate": float(f"{self.rate:.4g}"),
            "l2": self.l2,
            "relevance": self.relevance,
            "power": self.power,
            "points": len(self.coefficients),
        }

    def to_potentials(self) -> Potentials:
        """Return the log posterior as one function of the class and of all features that have two states or more.

        See :meth:`Model.to_potentials`.

        Raises
        ------
        MemoryError
            If its table would not fit into memory; the message says how much it needs.
        """
        vocabulary = self.vocabulary
        varied = [k for k, name in enumerate(vocabulary.features) if vocabulary.arity(name) > 1]
        features = tuple(vocabulary.features[k] for k in varied)
        shape = tuple(vocabulary.arity(name) for name in features)
        needed = ARRAYS_AT_ONCE * 8 * prod(shape) * len(self.biases)
        if needed > available_memory():
            raise MemoryError(
                "the log odds of kernel logistic regression are one function of all features: its table for their "
                f"{prod(shape):,} joint states would need {human_bytes(needed)}. Leave this model out of the pool "
                "(for automatic members, readable=True); predict and explain of the pool do not need the table"
            )
        logs = np.empty((prod(shape), len(self.biases)))
        for start in range(0, len(logs), CELLS_AT_ONCE):
            cells = np.arange(start, min(start + CELLS_AT_ONCE, len(logs)))
            codes = np.zeros((len(vocabulary.features), len(cells)), dtype=np.int16)
            if varied:
                codes[varied] = np.unravel_index(cells, shape)
            logs[cells] = self.log_posterior(codes)
        return (Potential(vocabulary.class_name, features, logs.reshape(*shape, -1)),)

    def to_dict(self) -> dict[str, Any]:
        """Return the distances of states, the points and the coefficients."""
        return {
            "states": [
                {
                    "places": [None if np.isnan(place) else place for place in own.places.tolist()],
                    "shares": own.shares.tolist(),
                    "relevance": own.relevance,
                }
                for own in self.distances
            ],
            "points": self.points.T.tolist(),
            "coefficients": self.coefficients.tolist(),
            "biases": self.biases.tolist(),
            "rate": self.rate,
            "l2": self.l2,
            "relevance": self.relevance,
            "power": self.power,
        }

    @classmethod
    def from_dict(
        cls,
        described: Mapping[str, Any],
        vocabulary: Vocabulary,
        cut_points: Mapping[Hashable, Cuts],
        estimator: Any,  # noqa: ARG003  # used by other models
    ) -> KernelModel:
        """Return the model that :meth:`to_dict` described; see :meth:`Model.from_dict`."""
        features = vocabulary.features
        with reading("power"):
            power = number(described.get("power", 1.0), above=0)  # files without it have distances of power 1
            if power > MOST_POWER:
                raise ValueError(f"a number of at most {MOST_POWER} was expected, not {power:g}")
        with reading("states"):
            distances = tuple(
                _read_distances(mapped(own), vocabulary.arity(name), power if name in cut_points else 1.0)
                for name, own in zip(features, listed(described["states"], len(features)), strict=True)
            )
        with reading("points"):
            most = [vocabulary.arity(name) - 1 for name in features]
            rows = [listed(row, len(features)) for row in listed(described["points"])]
            points = [[whole(code, 0, top) for code, top in zip(row, most, strict=True)] for row in rows]
        n_classes = len(vocabulary.classes)
        with reading("coefficients"):
            given = listed(described["coefficients"], len(points))
            coefficients = [numbers(listed(own, n_classes)) for own in given]
        with reading("biases"):
            biases = numbers(listed(described["biases"], n_classes))
        with reading("rate, l2 and relevance"):
            rate, l2 = number(described["rate"], above=0), number(described["l2"], above=0)
            given = described["relevance"]
            relevance = given if given == LEARNED else number(given, least=0)
        return cls(
            vocabulary=vocabulary,
            cut_points=cut_points,
            distances=distances,
            points=np.array(points, dtype=np.int16).reshape(-1, len(features)).T,
            coefficients=np.array(coefficients, dtype=np.float64).reshape(-1, n_classes),
            biases=biases,
            rate=rate,
            l2=l2,
            relevance=relevance,
            power=power,
        )


def _read_distances(described: Mapping[str, Any], n_states: int, power: float) -> StateDistances:
    places = listed(described["places"], n_states)
    shares = numbers(listed(described["shares"], n_states))
    if (shares < 0).any() or abs(float(shares.sum()) - 1) > 1e-6:
        raise ValueError("the shares of the states must be 0 or more and add up to 1")
    read = [np.nan if place is None else number(place, least=0) for place in places]
    relevance = number(described["relevance"], least=0)
    return StateDistances(np.array(read, dtype=np.float64), shares, relevance, power)
