"""The highest penalised likelihood of shapes under linear conditions, by an interior-point method, and its proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsyrk, dtrsv
from scipy.linalg.lapack import dpotrs
from scipy.sparse import csr_matrix

from anbexact._kernels.smooth import project, solve
from anbexact._kernels.softmax import CLASSES, add_curvature, value_and_gradient
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.json_checks import number, whole
from anbexact.models.logit.fit import OUT_OF_TIME
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.fit import SmoothProblem
from anbexact.models.smooth.modes import Factor

Codes = npt.NDArray[np.int64]
GAP = 1e-6
"""Duality gap, in nats, at which a fit ends."""
FIRST, FARTHEST = 0.05, 0.995
"""Least slack of a condition at the start, and the share of the way to the boundary that a step may go."""
ALL_CONDITIONS = 2_000
"""Size of a cone up to which a fit considers all conditions from the beginning."""
MOST_CONDITIONS = 8_000
"""Largest size of a cone that a fit may consider at once; its covariances take 512 megabytes."""
ROUNDS = 20
"""Maximum number of rounds in which conditions that a fit violates are added to those that it considers."""
REGULAR = 1e-11
"""Share of the largest variance of a condition that is added to all, so that dependent conditions do no harm."""
LEFT = 3e-2
"""Share of the residual of a Newton step that conjugate gradients may leave."""
MOST_PRODUCTS = 300
"""Maximum number of products with the Hessian for one step."""
HALVINGS = 12
"""How often a step is halved at most."""


@dataclass(frozen=True, eq=False)
class Cone:
    """Conditions ``forms[form_i] @ (δ[:, up_i] - δ[:, down_i]) + (free @ m)_i >= 0`` on shifts δ, for some m.

    Attributes
    ----------
    forms : (forms, cells) sparse array
    form, up, down : (conditions,) int64
        The form of every condition, and the classes whose difference it concerns.
    free : (conditions, free) sparse array
        Coefficients of the numbers m, of which any may be chosen.
    """

    forms: Any
    form: Codes
    up: Codes
    down: Codes
    free: Any

    @property
    def of_interactions(self) -> npt.NDArray[np.bool_]:
        """Whether a condition is one of an interaction, in which the coefficient of some m is -1, (conditions,)."""
        return np.asarray(self.free.min(axis=1).toarray().ravel() < 0) if self.free.shape[1] else self.form < 0

    def chosen(self, which: npt.NDArray[np.bool_]) -> Cone:
        """Return the cone of some of the conditions, with all m."""
        if which.all():
            return self
        used, form = np.unique(self.form[which], return_inverse=True)
        return Cone(self.forms[used], form, self.up[which], self.down[which], self.free[which])

    @cached_property
    def hub(self) -> int | None:
        """The class that all conditions compare with others, if there are several others; otherwise None."""
        hubs = (
            c for c in {*self.up[:1].tolist(), *self.down[:1].tolist()} if ((self.up == c) | (self.down == c)).all()
        )
        several = len(set(zip(np.minimum(self.up, self.down), np.maximum(self.up, self.down), strict=True))) > 1
        return next(hubs, None) if several else None

    @cached_property
    def blocks(self) -> list[Codes]:
        """The conditions on every difference between the hub and another class, or all conditions without a hub."""
        if self.hub is None:
            return [np.arange(len(self.form))]
        other = np.where(self.up == self.hub, self.down, self.up)
        return [np.flatnonzero(other == c) for c in np.unique(other)]

    @property
    def size(self) -> float:
        """The number of conditions in a single block with as many covariances as all blocks have."""
        return float(np.sqrt(sum(len(block) ** 2 for block in self.blocks)))

    def values(self, shift: Floats) -> Floats:
        """Return the left-hand sides without m, (conditions,)."""
        of_forms = self.forms @ shift
        return np.asarray(of_forms[self.form, self.up] - of_forms[self.form, self.down])

    def best_free(self, values: Floats) -> Floats:
        """Return the largest m that leave no condition of an interaction, whose coefficient is -1, below 0."""
        found = np.full(self.free.shape[1], np.inf)
        rows = self.free.tocoo()
        lowers = rows.data < 0
        np.minimum.at(found, rows.col[lowers], values[rows.row[lowers]])
        return found

    def following(self, change: Floats) -> Floats:
        """Return the change of m for which ``free @ dm`` is some change of the conditions, in least squares."""
        return np.asarray(cho_solve(self._products, self.free.T @ change, check_finite=False))

    @cached_property
    def _products(self) -> Any:
        """The Cholesky factor of ``freeᵀ free``."""
        return cho_factor((self.free.T @ self.free).toarray(), check_finite=False)


@dataclass(frozen=True)
class Proof:
    """How far a constrained fit can be from the highest penalised likelihood.

    Attributes
    ----------
    gap : float
        The penalised log likelihood of any shifts that meet the conditions exceeds the one of the fit by at most
        this; in nats. With the slacks ``s > 0`` and multipliers ``λ >= 0`` of the conditions, it is
        ``λᵀ s + ½ rᵀ S⁻¹ r``, where S is the prior precision of the shifts and r is the residual.
    residual : float
        Largest component of r, the gradient of the penalised log likelihood plus that of ``λᵀ s`` by the shifts, per
        unit of weight.
    cost : float
        By how much the highest penalised log likelihood without conditions exceeds the one of the fit; in nats.
    conditions, active : int
        Number of conditions, and of those whose multiplier exceeds their slack.
    """

    gap: float
    residual: float
    cost: float
    conditions: int
    active: int

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Proof:
        """Return the proof whose fields are described."""
        values = {name: number(described[name], least=0) for name in ("gap", "residual", "cost")}
        return cls(**values, conditions=whole(described["conditions"]), active=whole(described["active"]))


@dataclass(frozen=True, eq=False)
class ConeFit:
    """Where a constrained fit ended; see :class:`Proof`."""

    shift: Floats
    log_likelihood: float
    penalised: float
    iterations: int
    message: str
    proof: Proof


class _Program:
    """The penalised log likelihood and the conditions as functions of the modes; see :mod:`anbexact._kernels.smooth`.

    Arrays of modes have the shape (modes, padded classes), and sum to 0 over the classes. For classes in an order,
    they are multiples of the scores, but for the intercept.
    """

    def __init__(self, problem: SmoothProblem, cone: Cone, factor: Factor) -> None:
        self.problem, self.cone, self.modes = problem, cone, factor.modes
        self._s = problem.n_classes
        self._scores = problem.rows[-1]
        self._factor = factor.arrays
        information, kept, ends, lower, _, _ = factor.arrays
        self._information, self._kept = information, []
        start = 0
        for c in range(1 if self._alike else self._s):
            own = kept[ends[c] : ends[c + 1]]
            upper = lower[start : start + len(own) ** 2].reshape(len(own), len(own))
            self._kept.append((own, np.asfortranarray(upper)))
            start += len(own) ** 2
        self._probability: Floats = np.zeros((0, 0))

    @property
    def _alike(self) -> bool:
        """Whether the factor is the same for all classes."""
        return self._s == 2 or len(self._scores) > 0

    def evaluate(self, u: Floats) -> tuple[float, float, Floats]:
        """Return the log likelihood without and with the penalty, and minus the gradient of the latter."""
        cells, _, totals, weights, base, _, _ = self.problem.rows
        gradient, self._probability = np.zeros(u.shape), np.zeros(base.shape)
        likelihood = value_and_gradient(
            cells, totals, weights, base, self.modes.shifts(u), self._probability, gradient
        )
        return likelihood, likelihood - float(np.vdot(u, u)) / 2, self._centred(self.modes.by_modes(gradient) + u)

    def product(self, v: Floats) -> Floats:
        """Return minus the Hessian at the point of the last evaluation, times v."""
        cells, _, totals, _, _, _, _ = self.problem.rows
        found = np.zeros(v.shape)
        add_curvature(cells, totals, self._probability, self.modes.shifts(v), found)
        return self._centred(self.modes.by_modes(found) + v)

    def _centred(self, values: Floats) -> Floats:
        """Return values that sum to 0 over the classes, or multiples of the scores; 0 for impossible classes."""
        project(values, self._s, self._scores)
        values[:, self._s :] = 0.0
        return values

    def _of_class(self, c: int, values: Floats) -> Floats:
        """Return the inverse of the factor's precision of a class times values, (modes, columns)."""
        own, upper = self._kept[0 if self._alike else c]
        found = values / (1.0 + self._information[:, c, None])
        if len(own):
            found[own], _ = dpotrs(upper, values[own])
        return np.asarray(found)

    def solve(self, gradient: Floats) -> Floats:
        """Return the inverse of the factor's precision times a gradient."""
        if self.cone.hub is not None and not len(self._scores):
            return self._solved_by_differences(self.cone.hub, gradient)
        found = np.zeros(gradient.shape)
        solve(self._factor, self._s, self._scores, gradient, found)
        return self._centred(found)

    def _solved_by_differences(self, hub: int, gradient: Floats) -> Floats:
        """Return what :meth:`solve` returns if the differences between a class and the others are independent.

        Their covariances are the sums of those of the two classes. Conditions on different differences then have no
        covariance, so that their Schur complement consists of blocks. Conjugate gradients need a few more products,
        which are quick compared with factors of a large matrix.
        """
        others = [c for c in range(self._s) if c != hub]
        found = np.zeros(gradient.shape)
        differences = -self._of_class(hub, gradient[:, others])
        for place, c in enumerate(others):
            differences[:, place] -= self._of_class(c, gradient[:, c, None])[:, 0]
        found[:, others] = -differences
        return self._centred(found)

    def values(self, u: Floats) -> Floats:
        """Return the left-hand sides of the conditions without m and without what does not depend on u."""
        return self.cone.values(self.modes.shifts(u))

    def pull(self, multipliers: Floats) -> Floats:
        """Return the gradient of ``multipliers @ values(u)``."""
        of_forms = (self._signs @ multipliers).reshape(-1, self._s + -self._s % CLASSES)
        return self._centred(self.modes.by_modes(self._turned @ of_forms))

    @cached_property
    def _signs(self) -> Any:
        """The signs of the conditions in every form and class, (forms times padded classes, conditions)."""
        width, n, cone = self._s + -self._s % CLASSES, len(self.cone.form), self.cone
        rows = np.concatenate([cone.form * width + cone.up, cone.form * width + cone.down])
        signs = np.repeat([1.0, -1.0], n)
        return csr_matrix((signs, (rows, np.tile(np.arange(n), 2))), shape=(cone.forms.shape[0] * width, n))

    @cached_property
    def _turned(self) -> Any:
        """The transpose of the forms."""
        return self.cone.forms.T.tocsr()

    @cached_property
    def free(self) -> list[tuple[Codes, Floats]]:
        """The numbers m of every block, and their coefficients in its conditions, (conditions, numbers)."""
        found = []
        for block in self.cone.blocks:
            own = self.cone.free[block].toarray()
            columns = np.flatnonzero(own.any(axis=0))
            found.append((columns, own[:, columns]))
        return found

    @cached_property
    def gram(self) -> list[Floats]:
        """The covariances of the conditions under the factor's precision, (conditions, conditions) of every block."""
        form, s = self.cone.form, self._s
        forms = self.modes.by_modes(self.cone.forms.toarray().T)
        if self._alike:
            # One contrast of the classes has all that there is: the scores, or that of two classes.
            scores = self._scores[:s] if len(self._scores) else np.array([-1.0, 1.0]) / np.sqrt(2)
            times = scores[self.cone.up] - scores[self.cone.down]
            covariance = self._covariance(0, forms)
            return [covariance[np.ix_(form, form)] * np.outer(times, times)]
        found = [np.zeros((len(block), len(block))) for block in self.cone.blocks]
        of_hub = None if self.cone.hub is None else self._covariance(self.cone.hub, forms)
        for c in range(s):
            for block, gram in zip(self.cone.blocks, found, strict=True):
                sign = (self.cone.up[block] == c).astype(np.float64) - (self.cone.down[block] == c)
                here = np.flatnonzero(sign)
                if not len(here):
                    continue
                used, place = np.unique(form[block][here], return_inverse=True)
                if c == self.cone.hub and of_hub is not None:
                    covariance = of_hub[np.ix_(used, used)]
                else:
                    covariance = self._covariance(c, np.ascontiguousarray(forms[:, used]))
                gram[np.ix_(here, here)] += np.outer(sign[here], sign[here]) * covariance[np.ix_(place, place)]
        return found

    def _covariance(self, c: int, forms: Floats) -> Floats:
        """Return ``formsᵀ P⁻¹ forms`` for the precision P of a class, from a root of it: half of the work."""
        own, upper = self._kept[0 if self._alike else c]
        root = forms / np.sqrt(1.0 + self._information[:, c, None])
        if len(own):
            root[own] = solve_triangular(upper, forms[own], trans=1, check_finite=False)
        lower = dsyrk(1.0, root, trans=1, lower=1)
        return np.asarray(lower + np.tril(lower, -1).T)


class _Newton:
    """The linear equations of a Newton step, for ``ratio``: the slack of every condition over its multiplier.

    ``H du - Aᵀ λ = -g``, ``A du + E dm + ratio λ = q`` and ``Eᵀ λ = 0``, in which H is minus the Hessian, A maps
    modes to conditions and E = ``free``. With the factor's precision P in place of H, they are solved by the Schur
    complement. Conjugate gradients, which are preconditioned by that, solve them with H. The multipliers are carried
    along, so that nothing is multiplied by the inverse of a ratio close to 0 (Gould, Hribar and Nocedal, *On the
    solution of equality constrained quadratic programming problems arising in optimization*, SIAM Journal on
    Scientific Computing 23, 2001).
    """

    def __init__(self, program: _Program, ratio: Floats) -> None:
        self._program = program
        largest = max(float(np.diagonal(gram).max(initial=0.0)) for gram in program.gram)
        self._regular = REGULAR * largest
        self._blocks = []
        for block, gram, (columns, free) in zip(program.cone.blocks, program.gram, program.free, strict=True):
            schur = gram.copy()
            schur[np.diag_indices_from(schur)] += ratio[block] + self._regular
            root = cholesky(schur.T, lower=True, overwrite_a=True, check_finite=False)
            spread = solve_triangular(root, free, lower=True, check_finite=False) if len(columns) else None
            inner = None if spread is None else cholesky(spread.T @ spread, lower=True, check_finite=False)
            self._blocks.append((block, root, spread, inner))

    def _multipliers(self, q: Floats) -> Floats:
        """Return λ with ``(G + ratio) λ + E dm = q`` and ``Eᵀ λ = 0``."""
        found = np.empty(len(q))
        for block, root, spread, inner in self._blocks:
            half = dtrsv(root, q[block], lower=1)
            if spread is not None:
                half -= spread @ dpotrs(inner, spread.T @ half, lower=1)[0]
            found[block] = dtrsv(root, half, lower=1, trans=1)
        return found

    def _preconditioned(self, residual: Floats) -> tuple[Floats, Floats]:
        """Return z with ``P z + Aᵀ y = residual``, and y."""
        found = self._program.solve(residual)
        y = self._multipliers(self._program.values(found))
        return found - self._program.solve(self._program.pull(y)), y

    def step(self, gradient: Floats, q: Floats, before: Floats, enough: float) -> tuple[Floats, Floats]:
        """Return ``du`` and λ; the square of the residual that remains is at most ``enough``, or a share of `LEFT`.

        If ``enough`` is infinite, the step is that of the factor's precision. Changes of the multipliers ``before``
        count a little, so that dependent conditions do no harm.
        """
        program = self._program
        q = q + self._regular * before
        multipliers = self._multipliers(q + program.values(program.solve(gradient)))
        moved = program.solve(program.pull(multipliers) - gradient)
        if enough == np.inf:
            return moved, multipliers
        residual = program.pull(multipliers) - gradient - program.product(moved)
        z, y = self._preconditioned(residual)
        direction, along = z, y
        size = float(np.vdot(residual, z))
        bound = max(LEFT**2 * float(np.vdot(residual, residual)), enough)
        for _ in range(MOST_PRODUCTS):
            if float(np.vdot(residual, residual)) <= bound or size <= 0.0:
                break
            product = program.product(direction) + program.pull(along)
            length = size / float(np.vdot(direction, product))
            moved, multipliers = moved + length * direction, multipliers - length * along
            residual = residual - length * product
            z, y = self._preconditioned(residual)
            last, size = size, float(np.vdot(residual, z))
            direction, along = z + size / last * direction, y + size / last * along
        return moved, multipliers


def constrained_fit(
    problem: SmoothProblem,
    cone: Cone,
    factor: Factor,
    free_shift: Floats,
    offset: Floats,
    *,
    max_iter: int,
    deadline: Deadline | None = None,
) -> ConeFit:
    """Maximise the objective of :func:`~anbexact.models.smooth.fit.smooth_fit` over shifts that meet conditions.

    The conditions are ``cone.values(δ) + offset + cone.free @ m >= 0`` for some m. The objective is strictly
    concave and the set of such shifts is convex, so that there is one maximum. A primal-dual interior-point method
    with Mehrotra's predictor and corrector ends once the gap of :class:`Proof` is at most `GAP`. The conditions then
    hold strictly, if by little, so that rounding does not undo them.

    If the size of the cone is above `ALL_CONDITIONS`, conditions of interactions that are far from being violated are
    left out at first, and added once a fit violates them. Conditions that are left out have the multiplier 0, so that
    the gap bounds what is lost in comparison with all of them.

    Parameters
    ----------
    problem : SmoothProblem
    cone : Cone
    factor : Factor
        That of the fit without conditions.
    free_shift : (cells, classes) array
        The shifts at the maximum without conditions.
    offset : (conditions,) array
    max_iter : int
        Maximum number of Newton steps of a round.
    deadline : Deadline, optional

    Raises
    ------
    ValueError
        If more than `MOST_CONDITIONS` conditions would have to be considered at once.

    References
    ----------
    Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM Journal on Optimization 2 (1992);
    Wright, *Primal-Dual Interior-Point Methods* (1997), chapter 10.
    """
    values = cone.values(free_shift) + offset
    considered = np.ones(len(values), dtype=bool)
    of_interactions = cone.of_interactions
    if cone.size > ALL_CONDITIONS:
        considered = ~of_interactions | (values + cone.free @ cone.best_free(values) < FIRST)
    iterations = 0
    for _ in range(ROUNDS):
        own = cone.chosen(considered)
        if own.size > MOST_CONDITIONS:
            raise ValueError(
                f"monotone, convex and concave ask for more conditions than a fit can consider at once "
                f"({int(considered.sum()):,}): constrain fewer features, or use fewer intervals or "
                "interactions='none'"
            )
        found, m = _fit_within(problem, own, factor, free_shift, offset[considered], max_iter, deadline)
        iterations += found.iterations
        values = cone.values(found.shift) + offset + cone.free @ m
        violated = (values <= 0) & ~considered
        if found.message or not violated.any():
            break
        # Of the main effects, all conditions are considered. So m can be lowered to what is violated only if the
        # least of them has room for that, which the next round finds out.
        considered |= violated | ((values < FIRST / 10) & of_interactions)
    proof = replace(found.proof, conditions=len(values))
    if not found.message and violated.any():
        return replace(found, iterations=iterations, message="max_iter was reached", proof=replace(proof, gap=np.inf))
    return replace(found, iterations=iterations, proof=proof)


def _fit_within(
    problem: SmoothProblem,
    cone: Cone,
    factor: Factor,
    free_shift: Floats,
    offset: Floats,
    max_iter: int,
    deadline: Deadline | None,
) -> tuple[ConeFit, Floats]:
    """Return the fit under all conditions of a cone, and m; see :func:`constrained_fit`."""
    program = _Program(problem, cone, factor)
    s = problem.n_classes
    u = np.zeros((problem.n_cells, s + -s % CLASSES))
    u[:, :s] = factor.modes.of_shifts(problem.within(free_shift))
    of_u = program.values(u) + offset
    m = cone.best_free(of_u)
    values = of_u + cone.free @ m
    likelihood, penalised, gradient = program.evaluate(u)
    highest = penalised
    violated = np.maximum(-values, 0.0)
    slack = np.maximum(values, 0.0) + max(1.5 * float(violated.max()), FIRST)
    variance = np.empty(len(values))
    for block, gram in zip(program.cone.blocks, program.gram, strict=True):
        variance[block] = np.diagonal(gram)
    typical = float((violated / variance).mean())
    multipliers = _balanced(cone, np.full(len(values), max(typical, FIRST)))
    weight = max(float(problem.weights.sum()), 1e-300)
    message, iterations = "", 0
    gap, residual = _gap(gradient - program.pull(multipliers), multipliers, values)
    while gap > GAP:
        if iterations >= max_iter or (deadline is not None and deadline.passed):
            message = "max_iter was reached" if iterations >= max_iter else OUT_OF_TIME
            break
        newton = _Newton(program, slack / multipliers)
        mean = float(slack @ multipliers) / len(slack)
        target: Any = 0.0
        for predicting in (True, False):
            enough = np.inf if predicting else GAP / 100
            du, wanted = newton.step(gradient, slack + target / multipliers - values, multipliers, enough)
            dl = wanted - multipliers
            ds = target / multipliers - slack / multipliers * wanted
            length = min(1.0, FARTHEST * min(_longest(slack, ds), _longest(multipliers, dl)))
            if predicting:
                after = float((slack + length * ds) @ (multipliers + length * dl)) / len(slack)
                target = max((after / mean) ** 3 * mean, GAP / (10 * len(slack))) - ds * dl
        of_du = program.values(du)
        dm = cone.following(ds + slack - values - of_du)
        before = float(np.linalg.norm(gradient - program.pull(multipliers)))
        for _ in range(HALVINGS):
            tried = u + length * du, slack + length * ds, multipliers + length * dl
            likelihood, penalised, tried_gradient = program.evaluate(tried[0])
            if np.linalg.norm(tried_gradient - program.pull(tried[2])) <= 2 * before + 1:
                break
            length /= 2
        u, slack, multipliers = tried
        m, gradient = m + length * dm, tried_gradient
        values = program.values(u) + offset + cone.free @ m
        iterations += 1
        if (np.abs(values - slack) < slack / 10).all():
            slack = values.copy()  # what is left of the difference is rounding
        gap, residual = _gap(gradient - program.pull(_balanced(cone, multipliers)), multipliers, values)
    shift = np.ascontiguousarray(factor.modes.shifts(u)[:, :s])
    steepest = float(np.abs(factor.modes.by_shifts(residual)).max(initial=0.0)) / weight
    proof = Proof(gap, steepest, highest - penalised, len(values), int((multipliers > values).sum()))
    return ConeFit(shift, likelihood, penalised, iterations, message, proof), m


def _gap(residual: Floats, multipliers: Floats, values: Floats) -> tuple[float, Floats]:
    """Return the gap, which is infinite if a condition is violated, and the residual."""
    if values.min(initial=np.inf) < 0:
        return np.inf, residual
    return float(multipliers @ values + np.vdot(residual, residual) / 2), residual


def _balanced(cone: Cone, multipliers: Floats) -> Floats:
    """Return multipliers with ``free.T @ multipliers = 0``: those of interactions are scaled."""
    if not cone.free.shape[1]:
        return multipliers
    positive, negative = cone.free.maximum(0).T, -cone.free.minimum(0)
    sums = negative.T @ multipliers
    factors = (positive @ multipliers) / sums
    return np.where(cone.of_interactions, negative @ factors, 1.0) * multipliers


def _longest(values: Floats, change: Floats) -> float:
    """Return the largest length of a step along which no value falls below 0."""
    falling = change < 0
    return float((values[falling] / -change[falling]).min(initial=np.inf))


def _merit(*residuals: Floats) -> float:
    """Return the root of the sum of the squares of residuals."""
    return float(np.sqrt(sum(np.vdot(residual, residual) for residual in residuals)))
