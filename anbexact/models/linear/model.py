"""Linear logistic regression as a value: its posterior, also of rows with missing cells, and its form in files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import log_softmax

from anbexact._runtime.arrays import Bools, Floats
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_checks import listed, number, numbers, reading
from anbexact._runtime.units import counted
from anbexact.models.logit.network import posterior_tables
from anbexact.models.logit.potentials import Potential, Potentials, potential_tables
from anbexact.models.model import Model
from anbexact.models.network.explain import Explanations, Grounds, explain_rows
from anbexact.models.network.explanation_terms import Family
from anbexact.models.network.network import TableNetwork
from anbexact.models.structure import Structure
from anbexact.tables.cuts import Cuts
from anbexact.tables.reader import Rows
from anbexact.tables.vocabulary import CodeArray, Vocabulary

NOTE = "Terms have no counts and no intervals, because they come from a logistic regression."
"""What an explanation says about counts and intervals."""


def naive_bayes_structure(vocabulary: Vocabulary) -> Structure:
    """Return the graph in which the class is the only parent of every feature."""
    class_name = vocabulary.class_name
    return Structure.given(class_name, {class_name: (), **dict.fromkeys(vocabulary.features, (class_name,))})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearModel(ByFields, Model):
    """Log odds that are linear in values of the states: ``ln P(c | x) = b_c + w_c · z(x) + constant``.

    Missing cells are summed out as if the values of a class had the normal distribution with the mean
    ``μ_c = S w_c + δ`` and the covariance S, where δ makes the mean over the classes 0. For complete rows, this has
    the posterior above if the classes have certain prior probabilities π'_c. With the values o of the observed cells,

        ln P(c | x_o) = ln π_c + r (ln π'_c - ln π_c) + μ_co' S_oo⁻¹ z_o - μ_co' S_oo⁻¹ μ_co / 2 + constant,

    where π_c is the share of class c in the training rows, with one row more that all classes share, and r is the
    ratio of the mean squared Mahalanobis distance of the classes from 0 by the observed values,
    ``Σ_c π_c μ_co' S_oo⁻¹ μ_co``, to that by all values. So the probabilities are those above for complete rows, and
    the shares π_c where nothing is observed. In linear discriminant analysis, π' is nearly π.

    Attributes
    ----------
    values : tuple of (states, values) float64
        The values z of the states of every feature; over the training rows, their mean is 0.
    coefficients : (values, classes) float64
        w, in nats.
    constants : (classes,) float64
        b, in nats.
    covariance : (values, values) float64
        S, that within the classes.
    shares : (classes,) float64
        π, above 0; they add up to 1.
    common_logs : tuple of (states,) float64
        Of every feature, the mean over the classes of the logs of its table in naive Bayes, for :meth:`to_network`.
    l2, centre : float
        The precision of the prior, and its centre.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]
    values: tuple[Floats, ...]
    coefficients: Floats
    constants: Floats
    covariance: Floats
    shares: Floats
    common_logs: tuple[Floats, ...]
    l2: float
    centre: float

    def __repr__(self) -> str:
        return f"<LinearModel of {self.vocabulary.class_name!r}: {counted(len(self.vocabulary.features), 'feature')}>"

    @property
    def n_parameters(self) -> int:
        """The number of values plus 1, times the number of classes minus 1."""
        return (len(self.coefficients) + 1) * (len(self.constants) - 1)

    @cached_property
    def _parts(self) -> list[slice]:
        """The places of the values of every feature among all of them."""
        ends = np.cumsum([0, *(own.shape[1] for own in self.values)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @cached_property
    def effects(self) -> tuple[Floats, ...]:
        """What every state adds to the log odds, by feature, (states, classes), in nats."""
        return tuple(own @ self.coefficients[part] for own, part in zip(self.values, self._parts, strict=True))

    @cached_property
    def _means(self) -> Floats:
        """μ, shape (values, classes)."""
        found = self.covariance @ self.coefficients
        return np.asarray(found - (found @ self.shares)[:, None])

    @cached_property
    def _of_all(self) -> tuple[float, Floats]:
        """The mean squared distance of the classes from 0, and ln π'_c - ln π_c up to a constant."""
        distances = np.einsum("vc,vc->c", self._means, np.linalg.solve(self.covariance, self._means))
        return float(distances @ self.shares), self.constants + distances / 2 - np.log(self.shares)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:  # as others have
        """Return ln P(c | observed cells), shape (rows, classes); see :meth:`Model.log_posterior`."""
        varied = np.array([own.shape[1] > 0 for own in self.values], dtype=np.bool_)
        hidden = (codes < 0) & varied[:, None]
        patterns, of_row = np.unique(hidden, axis=1, return_inverse=True)
        found = np.empty((codes.shape[1], len(self.constants)))
        of_row = of_row.reshape(-1)
        for place, pattern in enumerate(patterns.T):
            rows = np.flatnonzero(of_row == place)
            constants, effects = self._of_pattern(pattern)
            logs = np.tile(constants, (len(rows), 1))
            for j in np.flatnonzero(varied & ~pattern):
                logs += effects[j][codes[j, rows]]
            found[rows] = log_softmax(logs, axis=1)
        return found

    def _of_pattern(self, hidden: Bools) -> tuple[Floats, tuple[Floats, ...]]:
        """Return the constants and the effects for rows in which some features are hidden, (features,)."""
        if not hidden.any():
            return self.constants, self.effects
        observed = np.ones(len(self.coefficients), dtype=np.bool_)
        for part in (part for part, is_hidden in zip(self._parts, hidden, strict=True) if is_hidden):
            observed[part] = False
        means = self._means[observed]
        own = np.zeros(self.coefficients.shape)
        own[observed] = np.linalg.solve(self.covariance[np.ix_(observed, observed)], means)
        distances = np.einsum("vc,vc->c", means, own[observed])
        of_all, beyond = self._of_all
        share = float(distances @ self.shares) / of_all if of_all > 0 else 1.0
        effects = tuple(values @ own[part] for values, part in zip(self.values, self._parts, strict=True))
        return np.log(self.shares) + share * beyond - distances / 2, effects

    def facts(self) -> dict[str, Any]:
        """Return the precision and the centre of the prior."""
        return {**super().facts(), "l2": self.l2, "centre": self.centre}

    def to_potentials(self) -> Potentials:
        """Return the log odds as functions of single features, which compare a value with the means of the classes.

        The constants are divided among the features: for the values v of a feature, ``Σ_v (w_cv z_v - μ_cv
        (S⁻¹ μ_c)_v / 2)``. What remains is ln π'_c, up to a constant: in linear discriminant analysis, the log of
        the share of the class.
        """
        by_value = self._means * np.linalg.solve(self.covariance, self._means) / 2
        _, beyond = self._of_all
        found = [Potential(self.vocabulary.class_name, (), np.log(self.shares) + beyond)]
        for name, effect, part in zip(self.vocabulary.features, self.effects, self._parts, strict=True):
            found.append(Potential(name, (name,), effect - by_value[part].sum(axis=0)))
        return tuple(found)

    @property
    def summed_families(self) -> list[tuple[Hashable, Family]]:
        """The effects as tables whose terms explain a row, each with its variable."""
        return [*potential_tables(self.to_potentials(), naive_bayes_structure(self.vocabulary)).items()]

    def explain(self, rows: Rows, label: Any = None, against: Any = None) -> Explanations:
        """Return, for every row, what each feature adds to the log odds of one class against another.

        What depends on hidden cells is one term; see :func:`~anbexact.models.network.explain.explain_rows`.
        """
        families, grounds = self.summed_families, Grounds(None, None, NOTE)
        return explain_rows(rows, _OfModel(self), families, self.vocabulary, grounds, label, against)

    def to_network(self) -> TableNetwork:
        """Return the naive Bayes network with this posterior of complete rows; see :meth:`Model.to_network`.

        Whatever the posterior leaves free is as in naive Bayes. Use it for complete rows only: under this network,
        features are independent given the class. What it says of rows with hidden cells, and of the class when
        nothing is known, can be far from what the model says, which considers the covariances.

        Raises
        ------
        ValueError
            If a table would hold a probability that is too small for a float.
        """
        of_class, *others = self.to_potentials()
        potentials = [
            Potential(own.child, own.features, own.logs + common[:, None])
            for own, common in zip(others, self.common_logs, strict=True)
        ]
        structure = naive_bayes_structure(self.vocabulary)
        try:
            tables = posterior_tables((of_class, *potentials), structure)
        except ValueError as error:
            raise ValueError(
                "no network of conditional tables can represent this posterior: a table would hold probabilities "
                "that are too small for a float. Fit the linear logistic regression with the centre 0, or with a "
                "larger l2"
            ) from error
        return TableNetwork(
            vocabulary=self.vocabulary,
            cut_points=self.cut_points,
            structure=structure,
            tables={name: tables[name] for name in structure.parents},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the values of states, the coefficients, and what missing cells and the network need."""
        return {
            "values": [own.tolist() for own in self.values],
            "coefficients": self.coefficients.tolist(),
            "constants": self.constants.tolist(),
            "covariance": self.covariance.tolist(),
            "shares": self.shares.tolist(),
            "common_logs": [own.tolist() for own in self.common_logs],
            "l2": self.l2,
            "centre": self.centre,
        }

    @classmethod
    def from_dict(
        cls,
        described: Mapping[str, Any],
        vocabulary: Vocabulary,
        cut_points: Mapping[Hashable, Cuts],
        estimator: Any,  # noqa: ARG003  # used by other models
    ) -> LinearModel:
        """Return the model that :meth:`to_dict` described; see :meth:`Model.from_dict`."""
        features, n_classes = vocabulary.features, len(vocabulary.classes)
        arities = [vocabulary.arity(name) for name in features]
        with reading("values"):
            values = []
            for of_feature, arity in zip(listed(described["values"], len(features)), arities, strict=True):
                states = listed(of_feature, arity)
                width = len(listed(states[0]))
                values.append(_matrix(states, arity, width))
        size = sum(own.shape[1] for own in values)
        with reading("coefficients"):
            coefficients = _matrix(described["coefficients"], size, n_classes)
        with reading("constants"):
            constants = numbers(listed(described["constants"], n_classes))
        with reading("covariance"):
            covariance = _matrix(described["covariance"], size, size)
            if not np.array_equal(covariance, covariance.T) or (size and np.linalg.eigvalsh(covariance)[0] <= 0):
                raise ValueError("the covariance must be symmetric and positive definite")
        with reading("shares"):
            shares = numbers(listed(described["shares"], n_classes))
            if (shares <= 0).any() or abs(float(shares.sum()) - 1) > 1e-6:
                raise ValueError("the shares of the classes must be above 0 and add up to 1")
        with reading("common_logs"):
            given = listed(described["common_logs"], len(features))
            common_logs = [numbers(listed(own, arity)) for own, arity in zip(given, arities, strict=True)]
        with reading("l2 and centre"):
            l2, centre = number(described["l2"], above=0), number(described["centre"], least=0)
            if centre > 1:
                raise ValueError(f"a centre of at most 1 was expected, not {centre:g}")
        return cls(
            vocabulary=vocabulary,
            cut_points=cut_points,
            values=tuple(values),
            coefficients=coefficients,
            constants=constants,
            covariance=covariance,
            shares=shares,
            common_logs=tuple(common_logs),
            l2=l2,
            centre=centre,
        )


@dataclass(frozen=True)
class _OfModel:
    """The posterior of a model, for explanations; they need the log joint only up to a function of the row."""

    model: LinearModel

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells)."""
        return self.model.log_posterior(codes, n_jobs)

    log_posterior = log_joint

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells)."""
        return self.model.posterior(codes, n_jobs)


def _matrix(given: Any, n_rows: int, n_columns: int) -> Floats:
    """Return lists of numbers as an array of this shape."""
    rows = [numbers(listed(row, n_columns)) for row in listed(given, n_rows)]
    return np.array(rows, dtype=np.float64).reshape(n_rows, n_columns)
