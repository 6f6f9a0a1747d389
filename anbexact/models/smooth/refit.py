"""The refit of a network's class posterior with shapes that follow the order of states."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.json_checks import mapped, number, references, whole
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.fidelity import Fidelity
from anbexact.models.logit.closure import Arc
from anbexact.models.logit.curvature import Curvature
from anbexact.models.logit.design import Design, RowTargets, make_design
from anbexact.models.logit.fit import Effort, Fit
from anbexact.models.logit.potentials import Floats, Potential, Potentials, class_families, network_potentials
from anbexact.models.logit.refit import Refit, Shifts, check_l2, check_max_iter
from anbexact.models.network.network import TableNetwork
from anbexact.models.smooth.cone import ConeFit, Proof, constrained_fit
from anbexact.models.smooth.fit import (
    PRECISION,
    RIDGE,
    SmoothProblem,
    class_scores,
    smooth_curvature,
    smooth_fit,
    smooth_problem,
)
from anbexact.models.smooth.grids import on_grids, quick, with_finer_grids
from anbexact.models.smooth.modes import strength_of
from anbexact.models.smooth.pairs import asked_arcs, joined_network, pair_evidence, pair_strength, pair_term
from anbexact.models.smooth.shape_constraints import AskedConstraints, ShapeConstraints, cone_of
from anbexact.models.smooth.smoothness import (
    SameRows,
    SmoothFolds,
    Smoothness,
    by_cross_validation,
    by_evidence,
    by_evidence_and_feature,
    drawn,
    effective_degrees,
    is_slow,
    naive_bayes,
    of_similar_rows,
    tuned,
    tuned_alike,
)
from anbexact.models.smooth.terms import (
    INTERACTIONS,
    KINDS,
    Grid,
    SmoothTerm,
    Strength,
    Strengths,
    kinds_of,
    ordered_features,
    read_terms,
    smooth_terms,
)
from anbexact.models.structure import Structure
from anbexact.tables.table import DiscreteTable, merged_table
from anbexact.tables.vocabulary import Vocabulary

RULES = {"auto": by_evidence_and_feature, "evidence": by_evidence, "cv": by_cross_validation}
"""The rules that choose strengths; the guide "Smooth shapes" compares them."""
SIMILAR = 1e-8
"""Squared Newton decrement, in nats per unit of weight, at which the refit to rows similar to others ends.

Only its predictions are of interest, not its standard errors or whether its gradient vanishes.
"""
MOST_PARTS = 64
"""Maximum number of parts of an interval that can be asked for."""
STIFF = 1e6
"""Maximum strength of a penalty. It leaves no shape, and far above it the curvature is singular in floating point."""


@dataclass(frozen=True, eq=False)
class SmoothRefit(Refit):
    """A refit with shapes that follow the order of states; ``l2`` is the ridge, added to the penalty.

    Attributes
    ----------
    smoothness : Smoothness
        The strengths of the penalties, and how they were chosen.
    problem : SmoothProblem
        The rows as cells of the terms. Its ``base`` has the log odds to which shapes are shrunk, and ``fit.shift`` is
        added to them.
    shift : (cells, classes) array
        What each cell of the terms adds to the log odds in all; it sums to 0 over the classes.
    constraints : ShapeConstraints
        The conditions on the shapes.
    proof : Proof or None
        How far the fit can be from the optimum under these conditions; None if there are no inequalities among them.

    Notes
    -----
    All other attributes are those of :class:`~anbexact.models.logit.refit.Refit`; the cells of ``design`` are those
    of the network's families.
    """

    smoothness: Smoothness
    problem: SmoothProblem
    shift: Floats
    constraints: ShapeConstraints = field(default_factory=ShapeConstraints)
    proof: Proof | None = None

    @property
    def in_time(self) -> bool:
        """Whether the fit, and the choice of the strengths, ended before the time limit."""
        return super().in_time and self.smoothness.complete

    def chosen(self) -> dict[str, Any]:
        """Return what the refit chose from its rows, as the parameter with which similar rows are refitted alike."""
        return {"smooth": self.smoothness} if self.smoothness.by_evidence is not None else {}

    def as_shifts(self, structure: Structure) -> Shifts:
        """Return the rows, and the Gaussian prior that corresponds to the penalty.

        Raises
        ------
        ValueError
            If shapes must be monotone, convex or concave: no Gaussian prior contains such conditions. If classes are
            ordered.
        """
        if self.constraints.demands:
            raise ValueError(
                "the shapes of this refit are constrained to be monotone, convex or concave, which a Gaussian prior "
                "cannot express: refit without monotone, convex and concave"
            )
        problem = self.problem
        if problem.scores is not None:
            raise ValueError(
                "ordered classes share their shapes, but not the intercept, while a probabilistic program has the "
                "same contrasts of classes in all terms: refit without ordered_classes"
            )
        roots = [np.linalg.inv(np.linalg.cholesky(own)).T for own in problem.precisions(self.smoothness.strengths)]
        names = [f"shifts of {', '.join(map(str, term.features))}" for term in problem.terms]
        s = problem.n_classes
        contrasts = np.linalg.qr(np.eye(s)[:, 1:] - 1 / s)[0]
        spreads = dict(zip(names, roots, strict=True))
        return Shifts(problem.base, problem.weights, problem.cells.astype(np.int64), spreads, contrasts)

    @cached_property
    def curvature(self) -> Curvature:
        """Minus the Hessian of the penalised log likelihood at the fit."""
        with one_blas_thread():
            return smooth_curvature(self.problem, self.smoothness.strengths, self.fit.shift)

    @cached_property
    def effective_degrees(self) -> tuple[float, ...]:
        """The effective degrees of freedom of every term."""
        with one_blas_thread():
            return tuple(effective_degrees(self.problem, self.smoothness.strengths, self.curvature))

    def facts(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Return the strengths, and a function for the effective degrees of freedom, which can take long."""
        found: dict[str, Any] = {"smoothing": self.smoothness.settings}
        if self.smoothness.pairs:
            found["pairs_by_residuals"] = [list(pair) for pair in self.smoothness.pairs]
        classes = vocabulary.classes.tolist()
        if self.constraints.class_order is not None:
            found["ordered_classes"] = [classes[k] for k in self.constraints.class_order]
        if self.constraints:
            found["constraints"] = self.constraints.texts(classes)
        if self.proof is not None:
            found["optimality_gap"], found["cost_of_constraints"] = self.proof.gap, self.proof.cost
        return {**found, "effective_degrees_of_freedom": lambda: sum(self.effective_degrees)}

    def complaint(self, vocabulary: Any) -> str:
        """Return the reason why the fit is not as requested; empty if it is."""
        if self.fit.converged and not self.smoothness.complete:
            return (
                "the strengths of smoothing of the refit may be too weak or too strong: time_limit ended the search "
                f"for them after {self.smoothness.rounds} rounds"
            )
        return super().complaint(vocabulary)

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which variables are given by their numbers in ``positions``."""
        smoothness = self.smoothness
        return {
            **super().to_dict(positions),
            "fit": self.fit.to_dict(self.shift),
            "smooth": {
                "strengths": {
                    kind: [[positions[name], value] for name, value in strength.items()]
                    if isinstance(strength, Mapping)
                    else strength
                    for kind, strength in smoothness.strengths.items()
                },
                "centre": smoothness.centre,
                "rule": smoothness.rule,
                "rounds": smoothness.rounds,
                "complete": bool(smoothness.complete),
                "terms": [
                    [[positions[axis.feature], axis.ordered, axis.groups.tolist()] for axis in term.axes]
                    for term in self.problem.terms
                ],
                **(
                    {"grids": [[positions[a], positions[b], *rest] for a, b, *rest in smoothness.grids]}
                    if smoothness.grids
                    else {}
                ),
                **(
                    {"pairs": [[positions[a], positions[b]] for a, b in smoothness.pairs]} if smoothness.pairs else {}
                ),
                **({"constraints": self.constraints.to_dict(positions)} if self.constraints else {}),
                **({"proof": asdict(self.proof)} if self.proof is not None else {}),
            },
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], network: TableNetwork) -> SmoothRefit:
        """Return the refit of a network on fine intervals that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If the description does not match the network, or is inconsistent.
        """
        names = network.vocabulary.names
        design = Design.from_dict(described["rows"], network.structure, network.vocabulary)
        smooth = described["smooth"]
        strengths = check_smooth(
            {
                kind: {names[whole(j, 0, len(names) - 1)]: value for j, value in strength}
                if isinstance(strength, list)
                else number(strength)
                for kind, strength in mapped(smooth["strengths"]).items()
            }
        )
        if not isinstance(strengths, dict) or smooth["rule"] not in (*RULES, "given"):
            raise ValueError("the strengths of smoothing are not known")
        conditions = mapped(smooth.get("constraints", {"demands": [], "cyclic": [], "flat": []}))
        constraints = ShapeConstraints.from_dict(conditions, names, design.n_classes)
        pairs = [references(pair, len(names)) for pair in smooth.get("pairs", ())]
        grids = [
            (*(names[j] for j in references([first, second], len(names))), parts, order)
            for first, second, parts, order in smooth.get("grids", ())  # files of earlier versions have none
        ]
        terms = read_terms(smooth["terms"], names, design, constraints.cyclic, _check_grids(grids))
        base, ridge = np.zeros(design.weights.shape), number(described["l2"], above=0)
        problem = smooth_problem(design, terms, base, ridge, class_scores(constraints.class_order))
        found = Fit.from_dict(described["fit"], (problem.n_cells, design.n_classes))
        share = number(smooth.get("centre", 0.0))  # files of earlier versions have none
        if not 0 <= share <= 1:
            raise ValueError("the centre of smoothing must be from 0 to 1")
        centre = share * naive_bayes(problem)
        return cls(
            potentials=smooth_potentials(network, problem, found.shift),
            l2=problem.ridge,
            strength=None,
            fit=replace(found, shift=found.shift - centre),
            design=design,
            seconds=float(described["seconds"]),
            smoothness=Smoothness(
                strengths,
                smooth["rule"],
                int(smooth["rounds"]),
                bool(smooth["complete"]),
                share,
                grids=_check_grids(grids),
                pairs=tuple((names[a], names[b]) for a, b in pairs),
            ),
            problem=drawn(problem, centre),
            shift=found.shift,
            constraints=constraints,
            proof=Proof.from_dict(mapped(smooth["proof"])) if "proof" in smooth else None,
            fidelity=Fidelity.from_dict(described),
        )


def check_smooth(smooth: Any) -> str | dict[str, Strength] | Smoothness | SameRows | None:
    """Return strengths as a mapping by kind, or the name of a rule; refuse anything else.

    A number is the strength of all first differences. Strengths above `STIFF` are lowered to it. The strengths of a
    refit of similar rows, or of the same rows, are returned as they are. ``"grids"`` names pairs whose grids are
    finer, as :class:`~anbexact.models.smooth.terms.Grid`.
    """
    if smooth is None or isinstance(smooth, Smoothness | SameRows) or (isinstance(smooth, str) and smooth in RULES):
        return smooth
    first = [kind for kind in KINDS if kind not in ("curvature", "bending")]
    given = dict(smooth) if isinstance(smooth, Mapping) else dict.fromkeys(first, smooth)
    grids = _check_grids(given.pop("grids")) if "grids" in given else None
    centre = given.get("centre", 0.0)
    numbers = [
        value
        for strength in given.values()
        for value in (strength.values() if isinstance(strength, Mapping) else (strength,))
    ]
    valid = all(type(v) is not bool and isinstance(v, Real) and 0 <= float(v) < np.inf for v in numbers)
    if not valid or not set(given) <= {*KINDS, "centre"}:
        raise ValueError(
            f"smooth must be None, one of {', '.join(map(repr, RULES))}, a finite number, 0 or more, or a mapping of "
            f"some of {', '.join(map(repr, KINDS))} to such numbers, or to mappings of features to such numbers, "
            f"of 'grids' to a list, and of 'centre' to a number from 0 to 1, not {smooth!r}"
        )
    if isinstance(centre, Mapping) or centre > 1:
        raise ValueError(f"the centre of smooth must be a number from 0 to 1, not {centre!r}")
    strengths = {
        kind: {name: min(float(value), STIFF) for name, value in strength.items()}
        if isinstance(strength, Mapping)
        else min(float(strength), STIFF)
        for kind, strength in given.items()
    }
    found: dict[str, Any] = strengths if grids is None else {**strengths, "grids": grids}
    return found


def _check_grids(grids: Any) -> tuple[Grid, ...]:
    """Return grids of pairs; refuse what is not a list of two features, a number of parts, and 1 or 2."""
    valid = isinstance(grids, list | tuple) and all(
        isinstance(grid, list | tuple) and len(grid) == 4 for grid in grids
    )
    found = tuple(Grid(*grid) for grid in grids) if valid else ()
    if not valid or not all(
        type(grid.parts) is int and 1 <= grid.parts <= MOST_PARTS and type(grid.order) is int and grid.order in (1, 2)
        for grid in found
    ):
        raise ValueError(
            "the grids of smooth must be a list of (first feature, second feature, parts of an interval, order of "
            f"differences), with 1 to {MOST_PARTS} parts and the order 1 or 2, not {grids!r}"
        )
    return found


def _refuse_unknown_pairs(grids: Sequence[Grid], terms: Sequence[SmoothTerm]) -> None:
    """Refuse grids of pairs that have no term of their own."""
    pairs = {frozenset(term.features) for term in terms if len(term.axes) == 2}
    for grid in grids:
        if frozenset((grid.first, grid.second)) not in pairs:
            raise ValueError(
                f"grids names {grid.first!r} and {grid.second!r}, but there is no interaction of just these: name "
                "a feature and one of its parents in the network"
            )


def check_ridge(l2: Any) -> float:
    """Return the ridge that is added to the penalty; refuse 0, with which constants of terms are not identified."""
    ridge = check_l2(l2)
    if not isinstance(ridge, float):
        return RIDGE
    if ridge == 0:
        raise ValueError("l2 must be above 0 with smooth: the constants of shapes are not identified without it")
    return ridge


def check_interactions(interactions: Any) -> str:
    """Refuse values that are not a choice of interactions."""
    if not isinstance(interactions, str) or interactions not in INTERACTIONS:
        raise ValueError(f"interactions must be one of {', '.join(map(repr, INTERACTIONS))}, not {interactions!r}")
    return interactions


def smooth_refit(
    by: RowTargets,
    network: TableNetwork,
    *,
    smooth: str | Strengths | Smoothness | SameRows = "auto",
    interactions: str = "families",
    ordered: Collection[Hashable] = (),
    ridge: float = RIDGE,
    effort: Effort | None = None,
    constraints: AskedConstraints | None = None,
) -> SmoothRefit:
    """Maximise the conditional log likelihood of a network's rows, less a penalty on the roughness of its terms.

    ``ln P(c | x) = Σ_T f_T(x_T, c) + a function of x``, where the terms T are the intercept, every feature of the
    families that contain the class, and interactions within these families. See
    :func:`~anbexact.models.smooth.fit.smooth_fit`.

    Parameters
    ----------
    by : RowTargets
        The rows, in the vocabulary of the network, with what they are to teach and how folds may divide them.
    network : TableNetwork
        The network; the part of its potentials that does not affect the class posterior is kept.
    smooth : {"auto", "evidence", "cv"} or mapping
        The rule that chooses strengths, or the strengths themselves, by kind, or by kind and feature; ``"centre"`` is
        the share of the log odds of naive Bayes to which shapes are shrunk. What a refit of similar rows chose, such
        as those of which these are a part, is taken over; another refit of the same rows shortens the choice. See
        :func:`~anbexact.models.smooth.smoothness.of_similar_rows` and
        :func:`~anbexact.models.smooth.smoothness.tuned_alike`.
    interactions : {"families", "more", "pairs", "none"}
        See :data:`~anbexact.models.smooth.terms.INTERACTIONS`. With ``"more"``, the refit is repeated with the pairs
        of :func:`~anbexact.models.smooth.pairs.asked_arcs`, and replaces the first one if it predicts left-out rows
        better; its ``smoothness.pairs`` are then the arcs by which the network must be extended.
    ordered : collection
        Features whose states have an order, in addition to those that were cut and those with numbers as states.
    ridge : float
        Precision of the prior of every shift, in addition to the penalty.
    effort : Effort, optional
        The limits of the fit; 100 iterations by default.
    constraints : AskedConstraints, optional
        Conditions on the shapes. The rule chooses strengths without the inequalities among them. With an order of the
        classes, ``f_T(x_T, c) = k_c g_T(x_T)`` with the rank k_c of class c for all terms but the intercept, which is
        the model of adjacent categories (Agresti, *Analysis of Ordinal Categorical Data*, 2010, section 4.1).
    """
    effort = effort or Effort(max_iter=100)
    check_max_iter(effort.max_iter)
    check_interactions(interactions)
    if interactions == "more" and smooth != "auto" and not isinstance(smooth, Smoothness):
        raise ValueError(
            f"interactions='more' finds pairs of features by left-out rows, which needs smooth='auto', not {smooth!r}"
        )
    how: dict[str, Any] = {"by": by, "ordered": ordered, "ridge": ridge, "constraints": constraints}
    deadline, table = Deadline(effort.time_limit), merged_table(by.rows)
    first = _refit(table, network, smooth, interactions, (), effort, how)
    wanted = smooth.pairs if isinstance(smooth, Smoothness) else ()
    if interactions == "more" and isinstance(smooth, str) and first.in_time and not _keeps_pairs(first.problem):
        centre = first.smoothness.centre * naive_bayes(first.problem)
        problem = replace(first.problem, base=np.zeros_like(first.problem.base))
        with one_blas_thread():
            evidence = pair_evidence(problem, first.smoothness, first.fit.shift + centre)
    else:
        evidence = dict.fromkeys(wanted, np.inf)
    arcs = asked_arcs(evidence, network)
    if not arcs or deadline.passed:
        return _finished(first)
    joined = joined_network(network, arcs)
    if effort.time_limit is not None:
        effort = effort._replace(time_limit=max(effort.time_limit - deadline.elapsed, 1e-3))
    second = _refit(table, joined, smooth, interactions, arcs, effort, how)
    return _finished(second if not isinstance(smooth, str) or _predicts_better(second, first) else first)


def _finished(found: SmoothRefit) -> SmoothRefit:
    """Return a refit without what was needed for it only: how folds divide its rows, and the number of threads."""
    design, problem = replace(found.design, folding=None), replace(found.problem, folding=None, threads=1)
    return replace(found, design=design, problem=problem)


def _keeps_pairs(problem: SmoothProblem) -> bool:
    """Return whether no further pairs are looked for: fits are slow, or classes in an order share their shapes."""
    return is_slow(problem) or problem.scores is not None


def _predicts_better(one: SmoothRefit, other: SmoothRefit) -> bool:
    """Return whether a refit predicts left-out rows better than another one."""
    values = []
    for refit in (one, other):
        smoothness = refit.smoothness
        centre = smoothness.centre * naive_bayes(refit.problem)
        problem = replace(refit.problem, base=np.zeros_like(refit.problem.base))
        folds = SmoothFolds(problem, refit.fit.shift + centre)
        values.append(float(folds.weights @ folds.logs(smoothness.strengths, None, smoothness.centre)))
    return values[0] > values[1]


def _refit(
    table: DiscreteTable,
    network: TableNetwork,
    smooth: str | Strengths | Smoothness | SameRows,
    interactions: str,
    arcs: Sequence[Arc],
    effort: Effort,
    how: Mapping[str, Any],
) -> SmoothRefit:
    """Return the refit with the pairs of some arcs of the network by themselves; see :func:`smooth_refit`."""
    ordered, ridge, constraints, by = how["ordered"], how["ridge"], how["constraints"], how["by"]
    deadline, time_limit, progress = Deadline(effort.time_limit), effort.time_limit, effort.progress
    vocabulary = network.vocabulary
    design = make_design(table, class_families(network.structure)).taught(by)
    in_order = ordered_features(vocabulary, network.cut_points, ordered)
    asked = (AskedConstraints() if constraints is None else constraints).read(vocabulary, in_order)
    own_axes = asked.axes(vocabulary, in_order, network.cut_points)
    more = {frozenset(arc) for arc in arcs}
    kinds: dict[str, Any] = {"interactions": interactions, "axes_of": own_axes, "fine": asked.fine, "more": more}
    terms = smooth_terms(design, vocabulary, in_order, **kinds)
    scores = class_scores(asked.class_order)
    problem = smooth_problem(design, terms, np.zeros(design.weights.shape), ridge, scores, effort.threads)
    with one_blas_thread():
        start = None
        if isinstance(smooth, Smoothness):
            problem, _ = on_grids(problem, smooth.grids)
            smoothness = of_similar_rows(problem, smooth)
        elif isinstance(smooth, str | SameRows):
            limit = Deadline(time_limit and time_limit / 2)
            constrained = {demand.feature for demand in asked.demands}
            problem, smoothness, start = _chosen(problem, smooth, constrained, deadline=limit, progress=progress)
        else:
            _refuse_unknown(smooth, vocabulary)
            grids = _check_grids(smooth.get("grids", ()))
            _refuse_unknown_pairs(grids, terms)
            problem, _ = on_grids(problem, grids)
            given = {kind: smooth.get(kind, 0.0) for kind in kinds_of(problem.terms)}
            share = smooth.get("centre", 0.0)
            assert not isinstance(share, Mapping)
            smoothness = Smoothness(given, "given", 0, complete=True, centre=share, grids=grids)
        smoothness = replace(smoothness, pairs=tuple(arcs))
        precision = SIMILAR if isinstance(smooth, Smoothness) else PRECISION
        return _fitted(network, problem, smoothness, asked, design, start, (effort, deadline), precision)


def with_pair(refitted: SmoothRefit, network: TableNetwork, arc: Arc, effort: Effort) -> SmoothRefit:
    """Return a refit to the same rows with one more term, of the two features of an arc.

    All shapes are fitted again, with the same strengths, the same centre and the same conditions. Without a strength
    of interactions, the term has the one for which the residuals give most evidence; see
    :func:`~anbexact.models.smooth.pairs.pair_strength`.

    Parameters
    ----------
    refitted : SmoothRefit
    network : TableNetwork
        The network with the arc.
    arc : (parent, child)
        Two features with terms of their own, which have no term together.
    effort : Effort
    """
    deadline, smoothness, old = Deadline(effort.time_limit), refitted.smoothness, refitted.problem
    table = refitted.design.table(refitted.design.weights, network.vocabulary)
    design = make_design(table, class_families(network.structure))
    term = pair_term(old, arc, refitted.constraints.fine)
    base = np.zeros(design.weights.shape)
    problem = smooth_problem(design, (*old.terms, term), base, old.ridge, old.scores, effort.threads)
    start = np.concatenate([refitted.shift, np.zeros((term.size, problem.n_classes))])
    with one_blas_thread():
        known = {name: strength_of(smoothness.strengths, "interaction", name) for name in design.features}
        if not all(known[name] for name in arc):
            own = dict.fromkeys(arc, pair_strength(problem, start, term))
            positive = {name: strength for name, strength in known.items() if strength}
            smoothness = replace(smoothness, strengths={**smoothness.strengths, "interaction": {**own, **positive}})
        limits = effort, deadline
        return _finished(_fitted(network, problem, smoothness, refitted.constraints, design, start, limits))


def _fitted(
    network: TableNetwork,
    problem: SmoothProblem,
    smoothness: Smoothness,
    asked: ShapeConstraints,
    design: Design,
    start: Floats | None,
    limits: tuple[Effort, Deadline],
    precision: float = PRECISION,
) -> SmoothRefit:
    """Return the refit with given strengths, under the conditions that are asked for."""
    effort, deadline = limits
    centre = smoothness.centre * naive_bayes(problem)
    problem = drawn(problem, centre)
    start = None if start is None else start - centre
    how: dict[str, Any] = {"max_iter": effort.max_iter, "deadline": deadline}
    found, factor = smooth_fit(problem, smoothness.strengths, start=start, precision=precision, **how)
    cone, proof = cone_of(asked, problem.terms, network.vocabulary, network.cut_points), None
    if cone is not None and design.n_classes > 1:
        bound = constrained_fit(problem, cone, factor, found.shift, cone.values(centre), **how)
        found, proof = _under(found, bound), bound.proof
    shift = found.shift + centre
    if effort.progress is not None:
        effort.progress("refit", 1.0)
    return SmoothRefit(
        potentials=smooth_potentials(network, problem, shift),
        l2=problem.ridge,
        strength=None,
        fit=found,
        design=design,
        seconds=deadline.elapsed,
        smoothness=smoothness,
        problem=problem,
        shift=shift,
        constraints=asked,
        proof=proof,
    )


def _under(found: Fit, bound: ConeFit) -> Fit:
    """Return the fit under conditions, given the one without them."""
    return replace(
        found,
        shift=bound.shift,
        log_likelihood=bound.log_likelihood,
        penalised=bound.penalised,
        gradient=bound.proof.residual,
        converged=found.converged and not bound.message,
        iterations=found.iterations + bound.iterations,
        message=found.message or bound.message,
    )


def _refuse_unknown(strengths: Strengths, vocabulary: Vocabulary) -> None:
    """Refuse strengths for names that are not features."""
    named = [name for strength in strengths.values() if isinstance(strength, Mapping) for name in strength]
    unknown = [name for name in named if name not in vocabulary.features]
    if unknown:
        raise ValueError(f"smooth names {unknown[0]!r}, which is not a feature")


def _chosen(
    problem: SmoothProblem, smooth: str | SameRows, kept: Collection[Hashable], **how: Any
) -> tuple[SmoothProblem, Smoothness, Floats]:
    """Return the problem on the grids that a rule chooses, the strengths, and shifts from which the fit can start.

    ``smooth`` is the name of the rule; or another refit of the same rows, whose factor and centre are taken over.
    With more than `FEW_UNKNOWNS` unknowns, the rule works on coarser grids of interactions. The factor and the centre
    of ``"auto"`` are chosen on the grids of the refit. ``kept`` are the features of pairs that have no finer grids.
    """
    small, of_small = quick(problem)
    smoothness, shift = RULES[smooth](small, **how) if isinstance(smooth, str) else tuned_alike(small, smooth, **how)
    shift = shift[of_small]
    if isinstance(smooth, SameRows) or smooth == "auto":
        of_folds = shift
        if isinstance(smooth, str):
            smoothness, of_folds = tuned(problem, smoothness, shift, **how)
        if problem.scores is not None:
            return problem, smoothness, shift
        return with_finer_grids(problem, smoothness, shift, of_folds, kept=kept, deadline=how["deadline"])
    return problem, smoothness, shift


def smooth_potentials(network: TableNetwork, problem: SmoothProblem, shift: Floats) -> Potentials:
    """Return potentials that have the class posterior of the terms and otherwise stay close to those of the network.

    Every term is added to the first family that contains its features. The class posterior does not depend on the
    mean of a potential over the classes, which therefore stays as in the network.
    """
    potentials = []
    left = list(problem.terms)
    c = network.structure.class_name
    for potential in network_potentials(network.tables, network.structure):
        by_class = np.moveaxis(potential.logs, -1, 0)  # sums along a last axis of few entries are slow
        logs = np.empty_like(potential.logs)
        logs[...] = (sum(by_class, np.zeros(by_class.shape[1:])) / len(by_class))[..., None]
        here = [
            term
            for term in left
            if set(term.features) <= set(potential.features) and (term.axes or potential.child == c)
        ]
        for term in here:
            logs += term.spread(shift[term.cells], potential.features)
        left = [term for term in left if term not in here]
        potentials.append(Potential(potential.child, potential.features, logs))
    assert not left
    return tuple(potentials)
