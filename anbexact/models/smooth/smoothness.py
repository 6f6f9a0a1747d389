"""How strongly a smooth refit penalises roughness: by the Laplace evidence, by cross-validation, or by both."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact.models.logit.curvature import Curvature
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.fit import SmoothProblem, smooth_fit
from anbexact.models.smooth.modes import Factor
from anbexact.models.smooth.terms import Grid, SmoothTerm, Strength, Strengths, grouped_axis, kinds_of
from anbexact.tables.folds import Part

START = {"slope": 1.0, "curvature": 0.1, "level": 1.0, "interaction": 10.0, "bending": 0.1}
"""Strengths at which the climb on the evidence starts."""
WEAKEST = 1e-5
"""Lower bound of the strengths that the evidence chooses."""
STRONGEST = {"slope": 1e4, "curvature": 1e3, "level": 1e4, "interaction": 1e4, "bending": 1e3}
"""Upper bounds of the strengths that the evidence chooses.

A shape of size 1 has a slope and a curvature of 1 to 100, so no shape is left at these strengths.
"""
MOST_CHANGE = 3.0
"""Maximum change of the logarithm of a strength in one step."""
SETTLED, NEARLY_SETTLED = 0.03, 0.2
"""The climb ends when the logarithm of every strength changes by less than this: by the second number for ``"auto"``,
which then multiplies strengths by factors that differ much more."""
OWN = 1.0
"""Degrees of freedom of the prior that draws each feature's strength of curvature to the common strength."""
OWN_SETTLED, OWN_ROUNDS = 0.1, 8
"""What `SETTLED` and `ROUNDS` are for the common strengths, for strengths by feature."""
NEGLIGIBLE = 0.1
"""Effective degrees of freedom of a kind of penalty below which its strength need not settle."""
ROUNDS = 30
"""Maximum number of rounds of the climb, each a fit and a step."""
PRECISION = 1e-4
"""Squared Newton decrement, in nats per unit of weight, at which fits for the choice of strengths end."""
FACTORS, FURTHER = (3.0, 1.0, 0.3, 0.1), (0.03, 0.01)
"""Factors of the strengths that the evidence chooses, of which the one that predicts left-out rows best is used.

With several classes and few rows, the evidence smooths too much; and more so where the classes can be told apart
without errors. `FURTHER` is for the latter: these factors are used only if they are better by `ERRORS` standard
errors.
"""
ERRORS = 3.0
"""On mushroom, a weaker factor of `FURTHER` is better by twelve standard errors or more; on banknote, vote and
balance-scale by up to three, but no better for new rows."""
FEW_ROWS, MOST_WORK = 2_000, 20_000_000
"""Strengths are tuned if the total weight is at most the first, or a pass over the rows takes at most the second."""
LITTLE_WORK = 200_000
"""Work of a pass over the rows up to which penalties on slopes alone are tried.

Their fits take five to ten times as long as fits with penalties on curvatures.
"""
CENTRE, MORE = 0.25, (0.5, 0.75)
"""Shares of the log odds of naive Bayes to which shapes are shrunk: where tuning starts, and further ones to try."""
SLOPES = (0.3, 0.1, 0.03, 0.01)
"""Strengths of slopes that are tried without penalties on curvatures if there are few rows."""
GRID = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Strengths that cross-validation tries, from strong to weak."""
RELEVANCE, WEAKER = 3.0, 0.3
"""In cross-validation, the degrees of freedom of the prior that draws each feature's strength to the common strength,
and the factor by which the resulting strengths may be weaker."""
MANY_ROWS_FOR_RELEVANCE = 20_000
"""Total weight above which features have no strengths of their own: with so many rows, strengths matter little."""
FOLDS = 5
"""Number of folds."""
MANY_ROWS = 2_000
"""Total weight from which 3 folds are used instead of `FOLDS`."""
ENOUGH = 3_000
"""Total weight of left-out rows that is enough to compare strengths, or grids."""
GROUPS = 5
"""Maximum number of groups of neighbouring states of an ordered feature in naive Bayes."""
ESS = 1.0
"""Equivalent sample size of the tables of naive Bayes."""


@dataclass(frozen=True)
class Tuning:
    """How the strengths that the evidence chooses are changed so that left-out rows are predicted best.

    Attributes
    ----------
    factor : float
        Factor of all strengths.
    slope : float or None
        The strength of slopes if curvatures are not penalised; None if they are.
    centre : float
        Share of the log odds of naive Bayes to which shapes are shrunk.
    """

    factor: float = 1.0
    slope: float | None = None
    centre: float = 0.0

    def strengths(self, chosen: Strengths) -> dict[str, Any]:
        """Return the changed strengths."""
        changed = scaled(chosen, self.factor)
        return changed if self.slope is None else {**changed, "slope": self.slope, "curvature": 0.0}


@dataclass(frozen=True)
class Smoothness:
    """The strengths of the penalties, and how they were chosen.

    Attributes
    ----------
    strengths : dict
        By kind: ``"slope"`` and ``"curvature"`` of main effects with an order, ``"level"`` of other main effects,
        ``"interaction"``. Each is a number, or a mapping of feature to number if it was given or chosen by feature.
    rule : {"auto", "evidence", "cv", "given"}
        How they were chosen.
    rounds : int
        Number of rounds of climbs on the evidence, plus that of strengths that cross-validation tried by ``"cv"``.
    complete : bool
        Whether the choice was completed; False if the time ran out before.
    centre : float, default 0
        Share of the log odds of naive Bayes to which shapes are shrunk.
    by_evidence : dict or None
        The strengths that the evidence chose, and ``tuning``, how they were changed; None if they were chosen
        otherwise or come from a file.
    tuning : Tuning or None
    grids : tuple of Grid, default ()
        The pairs whose terms have finer grids.
    pairs : tuple of pairs, default ()
        The pairs of features that were added to those of the network.
    """

    strengths: dict[str, Any]
    rule: str
    rounds: int
    complete: bool
    centre: float = 0.0
    by_evidence: dict[str, Any] | None = None
    tuning: Tuning | None = None
    grids: tuple[Grid, ...] = ()
    pairs: tuple[tuple[Hashable, Hashable], ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The value of ``smooth`` that gives the same penalty: the strengths, and the centre and grids if any."""
        centre = {"centre": self.centre} if self.centre else {}
        return {**self.strengths, **centre, **({"grids": self.grids} if self.grids else {})}


@dataclass(frozen=True)
class SameRows:
    """Another refit of the same rows, whose tuning is taken over.

    Attributes
    ----------
    smoothness : Smoothness
        Its strengths, chosen by ``"auto"``.
    """

    smoothness: Smoothness


def by_evidence(
    problem: SmoothProblem,
    *,
    start: Strengths = START,
    rounds: int = ROUNDS,
    enough: float = SETTLED,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> tuple[Smoothness, Floats]:
    """Return strengths near a maximum of the Laplace evidence, and the shifts there.

    The evidence is ``ln p(classes | rows, τ) ≈ l(δ) - ½ δᵀ S_τ δ + ½ ln |S_τ| - ½ ln |H + S_τ|`` at the penalised
    maximum δ, where H is minus the Hessian of the log likelihood l and ``S_τ = Σ_k τ_k S_k + ridge I``. Generalised
    Fellner–Schall steps climb it: ``τ_k ← τ_k [tr(S_τ⁻¹ S_k) - tr((H + S_τ)⁻¹ S_k)] / (δᵀ S_k δ)``, summed over all
    classes. The logarithm of a strength changes by twice such a step if this has the direction of the last one. The
    climb ends where the derivatives of the evidence vanish with H held fixed; because H depends on τ, this is near
    the maximum, but not exactly at it. The difference of traces is approximated; see :meth:`.Factor.gained`.

    Parameters
    ----------
    problem : SmoothProblem
    start : mapping
        The strength of every kind at which the climb starts.
    rounds : int
        Maximum number of rounds.
    enough : float
        Change of the logarithms of strengths below which the climb ends.
    deadline, progress : optional

    References
    ----------
    Wood and Fasiolo, *A generalized Fellner-Schall method for smoothing parameter optimization with application to
    Tweedie location, scale and shape models*, Biometrics 73 (2017).
    """
    kinds = kinds_of(problem.terms)
    strengths = {kind: _common(start[kind]) for kind in kinds}
    shift = np.zeros((problem.n_cells, problem.n_classes))
    before: dict[str, float] = {}
    settled, complete, done = not kinds or problem.n_classes < 2, True, 0
    while not settled and done < rounds:
        found, factor = smooth_fit(
            problem, strengths, start=shift, variances=True, precision=PRECISION, deadline=deadline
        )
        shift, done = found.shift, done + 1
        if deadline is not None and deadline.passed:
            complete = False
            break
        if progress is not None:
            progress("strength of smoothing", done / rounds)
        moved, degrees = _fellner_schall(problem, strengths, shift, factor)
        changes = {kind: np.log(moved[kind] / strengths[kind]) for kind in kinds}
        settled = all(abs(changes[kind]) < enough or degrees[kind] < NEGLIGIBLE for kind in kinds)
        for kind in kinds:
            same_way = changes[kind] * before.get(kind, 0.0) > 0
            change = np.clip(changes[kind] * (2.0 if same_way else 1.0), -MOST_CHANGE, MOST_CHANGE)
            strengths[kind] = float(np.clip(strengths[kind] * np.exp(change), WEAKEST, STRONGEST[kind]))
        before = changes
    return _by_evidence_alone(Smoothness(strengths, "evidence", done, complete)), shift


def _by_evidence_alone(chosen: Smoothness) -> Smoothness:
    """Return strengths that the evidence chose, with the record that they were not tuned."""
    return replace(chosen, by_evidence=chosen.strengths, tuning=Tuning())


def _common(strength: Strength) -> float:
    """Return a strength, or the geometric mean of the strengths of features."""
    if not isinstance(strength, Mapping):
        return strength
    return float(np.exp(np.mean(np.log(np.maximum(list(strength.values()), WEAKEST)))))


def by_evidence_again(
    problem: SmoothProblem, chosen: Smoothness, *, rounds: int, deadline: Deadline | None = None
) -> Smoothness:
    """Return strengths for further terms or other grids of the same rows.

    The climb on the evidence starts from the strengths that it chose before. The strengths of curvature of the
    features keep their ratios, and the tuning stays as it was.
    """
    assert chosen.by_evidence is not None
    assert chosen.tuning is not None
    start = {**START, **chosen.by_evidence}
    enough = SETTLED if chosen.rule == "evidence" else NEARLY_SETTLED
    found, _ = by_evidence(problem, start=start, rounds=rounds, enough=enough, deadline=deadline)
    strengths = dict(found.strengths)
    if "curvature" in strengths:
        strengths["curvature"] = _for_features(problem, start["curvature"], strengths["curvature"])
    return replace(retuned(replace(found, strengths=strengths), chosen.tuning), by_evidence=strengths)


def of_similar_rows(problem: SmoothProblem, similar: Smoothness) -> Smoothness:
    """Return the strengths that were chosen for rows similar to those of a problem, for all its kinds of penalties.

    Kinds of penalties that those rows did not have get the strengths at which climbs on the evidence start, and
    features without a curvature there get the common strength of curvature.
    """
    assert similar.by_evidence is not None
    assert similar.tuning is not None
    known = {**START, **similar.by_evidence}
    strengths = {kind: known[kind] for kind in kinds_of(problem.terms)}
    if "curvature" in strengths:
        strengths["curvature"] = _for_features(problem, known["curvature"], _common(known["curvature"]))
    taken = replace(similar, strengths=strengths, by_evidence=strengths, rounds=0, complete=True)
    return retuned(taken, similar.tuning)


def _for_features(problem: SmoothProblem, known: Strength, common: float) -> Strength:
    """Return strengths of curvature around a common one, in the ratios of known ones if these differ by feature."""
    if not isinstance(known, Mapping):
        return common
    curved = [term.features[0] for term in problem.terms if "curvature" in term.kinds]
    usual = _common(known)
    return {name: common / usual * known.get(name, usual) for name in curved}


def by_feature(
    problem: SmoothProblem,
    strengths: Mapping[str, float],
    kinds: Collection[str],
    shift: Floats,
    *,
    degrees: float,
    deadline: Deadline | None = None,
) -> tuple[dict[str, Strength], Floats, int]:
    """Choose strengths of some kinds for every feature, by the evidence and a prior around the common strengths.

    The prior of a strength τ_j is a gamma distribution with ν degrees of freedom, whose mean is the common strength τ
    of its kind. The log density of ln τ_j is ``ν/2 · (ln τ_j - τ_j / τ)`` up to a constant. The objective is the
    evidence of :func:`by_evidence` plus the sum of these; all other strengths stay as they are. A step therefore is
    ``τ_j ← (τ_j [tr(S⁻¹ S_j) - tr((H + S)⁻¹ S_j)] + ν) / (δᵀ S_j δ + ν / τ)``.

    Parameters
    ----------
    problem : SmoothProblem
    strengths : mapping
        The strength of every kind of penalty, the same for all features.
    kinds : collection of str
        Kinds of penalties of main effects, of which a term has at most one.
    shift : (cells, classes) array
        Where the fits start.
    degrees : float
        ν; the more, the closer to the common strength.
    deadline : Deadline, optional

    Returns
    -------
    dict, array, int
        The strengths, the shifts at which the last fit ended, and the number of fits. When the deadline has passed,
        the strengths are those of the last completed step.
    """
    own: dict[str, dict[Hashable, float]] = {}
    places = {}
    for place, term in enumerate(problem.terms):
        for kind in (kind for kind in term.kinds if kind in kinds):
            places[place] = kind
            own.setdefault(kind, {})[term.features[0]] = strengths[kind]
    found: dict[str, Strength] = {**strengths, **own}
    rounds, largest = 0, np.inf
    while largest >= OWN_SETTLED and rounds < OWN_ROUNDS:
        fitted, factor = smooth_fit(
            problem, found, start=shift, variances=True, precision=PRECISION, deadline=deadline
        )
        shift, rounds = fitted.shift, rounds + 1
        if deadline is not None and deadline.passed:
            break
        largest, gains = 0.0, factor.gained(*problem.reduced)
        for place, kind in places.items():
            term, common, of_kind = problem.terms[place], strengths[kind], own[kind]
            (name,), of_term = term.features, shift[term.cells]
            gained = max(float(np.vdot(gains[place], factor.modes.roughness(term, place)[kind])), 0.0)
            rough = float(np.vdot(of_term, term.penalties[kind] @ of_term))
            change = np.log((of_kind[name] * gained + degrees) / (rough + degrees / common) / of_kind[name])
            largest = max(largest, abs(change))
            of_kind[name] = float(np.clip(of_kind[name] * np.exp(change), WEAKEST, STRONGEST[kind]))
    return found, shift, rounds


def scaled(strengths: Strengths, factor: float) -> dict[str, Any]:
    """Return all strengths times a factor."""
    return {
        kind: {name: value * factor for name, value in strength.items()}
        if isinstance(strength, Mapping)
        else strength * factor
        for kind, strength in strengths.items()
    }


def _fellner_schall(
    problem: SmoothProblem, strengths: Mapping[str, float], shift: Floats, factor: Factor
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the strengths after a generalised Fellner–Schall step, and each kind's effective degrees of freedom."""
    gained = dict.fromkeys(strengths, 0.0)
    rough = dict.fromkeys(strengths, 0.0)
    values = factor.modes.of_shifts(shift)
    for place, (term, variances) in enumerate(zip(problem.terms, factor.gained(*problem.reduced), strict=True)):
        own = values[term.cells]
        for kind, form in factor.modes.roughness(term, place).items():
            gained[kind] += max(float(np.vdot(variances, form)), 0.0)
            rough[kind] += float(np.vdot(own, form @ own if form.ndim == 2 else form[:, None] * own))
    moved = {
        kind: float(np.clip(strength * max(gained[kind], 1e-10) / max(rough[kind], 1e-10), WEAKEST, STRONGEST[kind]))
        for kind, strength in strengths.items()
    }
    return moved, {kind: strength * gained[kind] for kind, strength in strengths.items()}


def by_evidence_and_feature(
    problem: SmoothProblem,
    *,
    start: Strengths = START,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> tuple[Smoothness, Floats]:
    """Return about the strengths of :func:`by_evidence`, but with a strength of curvature for every feature."""
    how: dict[str, Any] = {"enough": NEARLY_SETTLED, "deadline": deadline, "progress": progress}
    chosen, shift = by_evidence(problem, start=start, **how)
    if chosen.complete and sum("curvature" in term.kinds for term in problem.terms) > 1:
        strengths, shift, rounds = by_feature(
            problem, chosen.strengths, {"curvature"}, shift, degrees=OWN, deadline=deadline
        )
        in_time = deadline is None or not deadline.passed
        chosen = replace(chosen, strengths=strengths, rounds=chosen.rounds + rounds, complete=in_time)
    return replace(_by_evidence_alone(chosen), rule="auto"), shift


def tuned_alike(
    problem: SmoothProblem, same: SameRows, *, deadline: Deadline | None = None, progress: Progress | None = None
) -> tuple[Smoothness, Floats]:
    """Return the strengths of :func:`by_evidence_and_feature`, with the tuning of another refit of the same rows.

    The climb on the evidence starts from the strengths that the evidence chose for that refit. Penalties on slopes
    alone are taken over only where :func:`tuned` would try them.
    """
    other = same.smoothness
    assert other.by_evidence is not None
    start = {**START, **other.by_evidence}
    chosen, shift = by_evidence_and_feature(problem, start=start, deadline=deadline, progress=progress)
    if other.tuning is None or is_slow(problem) or not chosen.strengths or not chosen.complete:
        return chosen, shift
    return retuned(chosen, other.tuning if is_quick(problem) else replace(other.tuning, slope=None)), shift


def is_quick(problem: SmoothProblem) -> bool:
    """Return whether there are few rows and fits are quick, so that penalties on slopes alone are tried."""
    return bool(problem.weights.sum() <= FEW_ROWS and problem.pass_work <= LITTLE_WORK)


def is_slow(problem: SmoothProblem) -> bool:
    """Return whether there are many rows and fits are slow, so that nothing is chosen by left-out rows."""
    return bool(problem.weights.sum() > FEW_ROWS and problem.pass_work > MOST_WORK)


def tuned(
    problem: SmoothProblem,
    chosen: Smoothness,
    shift: Floats,
    *,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> tuple[Smoothness, Floats]:
    """Return the strengths times a factor, and the centre, that predict left-out rows best; and a start for folds.

    The start is the mean of the shifts at which the last fits of the folds ended, or ``shift`` if there were none.

    The centre is the share of the log odds of naive Bayes to which shapes are shrunk. The factor is chosen with the
    share `CENTRE`. Then another share replaces this one if it predicts left-out rows better by more than a standard
    error of the difference. With few rows and quick fits (see `LITTLE_WORK`), penalties on slopes alone replace
    penalties on slopes and curvatures under the same condition. With many rows and slow fits (see `MOST_WORK`), the
    strengths stay as they are and the centre is 0.

    Parameters
    ----------
    problem : SmoothProblem
    chosen : Smoothness
        The strengths of :func:`by_evidence_and_feature`.
    shift : (cells, classes) array
        Where the fits start.
    deadline, progress : optional
    """
    if is_slow(problem) or not chosen.strengths or not chosen.complete:
        return chosen, shift
    folds = SmoothFolds(problem, shift, few=True)
    if not len(folds):
        return retuned(chosen, Tuning(centre=CENTRE)), shift
    best = _with_best_factor(folds, chosen.strengths, deadline, progress)
    if deadline is not None and deadline.passed:
        return replace(chosen, complete=False), shift
    best = _with_best_centre(folds, best, deadline)
    if is_quick(problem) and "curvature" in chosen.strengths:
        rough = _without_curvature(folds, best, deadline)
        if rough.surpasses(best):
            best = _with_best_centre(folds, rough, deadline) if rough.tuning.centre == CENTRE else rough
    if deadline is not None and deadline.passed:
        return replace(retuned(chosen, replace(best.tuning, centre=CENTRE)), complete=False), shift
    return retuned(chosen, best.tuning), folds.mean_shift


def retuned(chosen: Smoothness, tuning: Tuning) -> Smoothness:
    """Return the strengths that the evidence chose, changed by a tuning."""
    return replace(chosen, strengths=tuning.strengths(chosen.strengths), centre=tuning.centre, tuning=tuning)


class Tried:
    """A tuning of strengths, and how they then predict left-out rows.

    Attributes
    ----------
    chosen : mapping
        The strengths before they are tuned.
    tuning : Tuning
    logs : array
        ln P of the classes of left-out rows, in nats; see :meth:`SmoothFolds.logs`.
    value : float
        Their log likelihood; total in nats.
    """

    def __init__(self, folds: SmoothFolds, chosen: Strengths, tuning: Tuning, deadline: Deadline | None) -> None:
        self.chosen, self.tuning = chosen, tuning
        self.logs = folds.logs(tuning.strengths(chosen), deadline, tuning.centre)
        self._weights = folds.weights
        self.value = float(self._weights @ self.logs)

    def surpasses(self, other: Tried, errors: float = 1.0) -> bool:
        """Return whether left-out rows are predicted better by more than some standard errors of the difference."""
        gains, weights = self.logs - other.logs, self._weights
        total = float(weights @ gains)
        return total > errors * float(np.sqrt(weights @ (gains - total / weights.sum()) ** 2))


def _with_best_factor(
    folds: SmoothFolds, chosen: Strengths, deadline: Deadline | None, progress: Progress | None
) -> Tried:
    """Return the tuning with the best factor of the strengths, see `FACTORS`, and the share `CENTRE`.

    From the third factor on, they are tried until one is the worst so far, as the likelihood then falls.
    """
    tried: list[Tried] = []
    for factor in (*FACTORS, *FURTHER):
        if factor in FURTHER and not tried[-1].surpasses(tried[-2], ERRORS):
            break
        if progress is not None:
            progress("factor of the strengths", len(tried) / (len(FACTORS) + len(FURTHER)))
        tried.append(Tried(folds, chosen, Tuning(factor, centre=CENTRE), deadline))
        if deadline is not None and deadline.passed:
            break
        if len(tried) > 2 and tried[-1].value == min(each.value for each in tried):
            break
    usual, further = tried[: len(FACTORS)], tried[len(FACTORS) :]
    best = max(usual, key=lambda each: each.value)
    for other in further:
        best = other if other.surpasses(best, ERRORS) else best
    return best


def _with_best_centre(folds: SmoothFolds, own: Tried, deadline: Deadline | None) -> Tried:
    """Return the tuning with the best share of naive Bayes to which shapes are shrunk.

    This is the share of ``own`` unless another one predicts left-out rows better by more than a standard error of the
    difference.
    """
    found = own
    for share in MORE:
        other = Tried(folds, own.chosen, replace(own.tuning, centre=share), deadline)
        if other.value <= found.value or not other.surpasses(own):
            break
        found = other
    if found is own:
        other = Tried(folds, own.chosen, replace(own.tuning, centre=0.0), deadline)
        found = other if other.surpasses(own) else own
    return found


def _without_curvature(folds: SmoothFolds, own: Tried, deadline: Deadline | None) -> Tried:
    """Return the tuning without penalties on curvatures, and with the best of `SLOPES` for slopes."""
    best = None
    for slope in SLOPES:
        tried = Tried(folds, own.chosen, replace(own.tuning, slope=slope), deadline)
        if best is not None and tried.value <= best.value:
            break
        best = tried
    assert best is not None
    return best


def by_cross_validation(
    problem: SmoothProblem, *, deadline: Deadline | None = None, progress: Progress | None = None
) -> tuple[Smoothness, Floats]:
    """Return the strengths under which left-out rows are predicted best, and shifts from which a fit can start.

    The objective is ``L(τ) = Σ_t w_t ln P(c_t | x_t; τ, fitted without the fold of t)``, total in nats, over 5 folds
    (3 if the total weight is 2,000 or more), with penalties on first differences only. In a first run, all kinds have
    the same strength, which takes the values of `GRID`. In a second run, only the strength of interactions varies. A
    run ends early at the sixth value or a later one if L is more than 2 nats below its highest value so far.

    If there are two features or more and not more than `MANY_ROWS_FOR_RELEVANCE` rows, strengths by feature then
    replace those of main effects if they predict left-out rows better by more than a standard error of the
    difference: those of :func:`by_feature` with `RELEVANCE` degrees of freedom, chosen on all rows. Under the same
    condition, all strengths are then multiplied by `WEAKER`, those of interactions included.
    """
    kinds = [kind for kind in kinds_of(problem.terms) if kind != "curvature"]
    folds = SmoothFolds(problem)
    if not len(folds):
        start = np.zeros((problem.n_cells, problem.n_classes))
        return Smoothness(dict.fromkeys(kinds, GRID[0]), "cv", 0, complete=True), start
    tried = 0
    strengths = dict.fromkeys(kinds, GRID[0])
    for varied in (kinds, [kind for kind in kinds if kind == "interaction"]):
        best = -np.inf
        chosen = strengths
        for place, strength in enumerate(GRID if varied else ()):
            candidate = {**strengths, **dict.fromkeys(varied, strength)}
            value = float(folds.weights @ folds.logs(candidate, deadline))
            tried += 1
            if deadline is not None and deadline.passed:
                return Smoothness(chosen, "cv", tried, complete=False), folds.mean_shift
            if progress is not None:
                progress("strength of smoothing", place / len(GRID))
            if value < best - 2.0 and place >= len(GRID) // 2:
                break
            if value > best:
                best, chosen = value, candidate
        strengths = chosen
    common = Smoothness(strengths, "cv", tried, complete=True)
    many = problem.weights.sum() > MANY_ROWS_FOR_RELEVANCE
    if many or sum(len(term.axes) == 1 for term in problem.terms) < 2:
        return common, folds.mean_shift
    return _with_relevance(problem, folds, common, deadline, progress), folds.mean_shift


def _with_relevance(
    problem: SmoothProblem,
    folds: SmoothFolds,
    common: Smoothness,
    deadline: Deadline | None,
    progress: Progress | None,
) -> Smoothness:
    """Return strengths of main effects by feature if left-out rows speak for them, or else the common ones."""
    best = Tried(folds, common.strengths, Tuning(), deadline)
    own, _, fits = by_feature(
        problem, common.strengths, {"slope", "level"}, folds.mean_shift, degrees=RELEVANCE, deadline=deadline
    )
    rounds = common.rounds + fits
    for place, tuning in enumerate((Tuning(), Tuning(WEAKER))):
        if progress is not None:
            progress("strengths by feature", (1 + place) / 3)
        tried = Tried(folds, own, tuning, deadline)
        rounds += 1
        best = tried if tried.surpasses(best) else best
    if deadline is not None and deadline.passed:
        return replace(common, rounds=rounds, complete=False)
    return replace(common, strengths=best.tuning.strengths(best.chosen), rounds=rounds)


def effective_degrees(problem: SmoothProblem, strengths: Strengths, curvature: Curvature) -> Sequence[float]:
    """Return the effective degrees of freedom of every term: ``tr[(H + S_τ)⁻¹ H]`` over its cells."""
    covariance = curvature.total
    return [
        problem.contrasts(term).shape[1] * term.size - float(np.vdot(covariance[term.cells, term.cells], precision))
        for term, precision in zip(problem.terms, problem.precisions(strengths), strict=True)
    ]


class SmoothFolds:
    """Cross-validation of a smooth refit: how well strengths predict left-out rows.

    A fit starts where the last one of the same fold ended, which saves steps and does not change the maximum. The
    factor of one fold is passed on to the next, which saves the time to compute it.

    Parameters
    ----------
    problem : SmoothProblem
    start : (cells, classes) array, optional
        Shifts from which the first fits start; by default, zeros.
    few : bool, default False
        Whether there are only as many folds as leave out rows of a total weight of about `ENOUGH`.
    """

    def __init__(self, problem: SmoothProblem, start: Floats | None = None, *, few: bool = False) -> None:
        total = float(problem.weights.sum())
        n_folds = FOLDS if total < MANY_ROWS else 3
        parts = [part for part in problem.parts(n_folds) if part.held.any() and part.left.any()]
        if few and total > ENOUGH:
            parts = parts[: ceil(ENOUGH * n_folds / total)]
        self._folds = [_Fold(problem, part, start) for part in parts]

    def __len__(self) -> int:
        return len(self._folds)

    @property
    def weights(self) -> Floats:
        """The positive weights of the predicted rows, one for each row and class."""
        return np.concatenate([fold.weights for fold in self._folds])

    @property
    def mean_shift(self) -> Floats:
        """The mean of the shifts at which the last fits of the folds ended, (cells, classes)."""
        return np.asarray(np.mean([fold.shift for fold in self._folds], axis=0))

    def residuals(self) -> tuple[npt.NDArray[np.int32], Floats, Floats]:
        """Return the cells of the left-out rows, and their derivatives by log odds at the last fits of the folds.

        The first derivatives of the log likelihood, and minus the second ones, both (rows, classes): for class c,
        ``w_c - w p_c`` and ``w p_c (1 - p_c)``, where w is the sum of the weights w_c.
        """
        parts = [fold.residuals for fold in self._folds]
        cells, first, second = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cells, first, second

    def logs(self, strengths: Strengths, deadline: Deadline | None, share: float = 0.0) -> Floats:
        """Return ln P of the classes of left-out rows, in nats; the entries correspond to `weights`.

        Parameters
        ----------
        strengths : mapping
        deadline : Deadline, optional
        share : float
            Share of the log odds to which shapes are shrunk: those of naive Bayes, learned from the rows of the fit.
        """
        near: Factor | None = None
        for fold in self._folds:
            near = fold.fit(strengths, share, near, deadline)
        return np.concatenate([fold.logs for fold in self._folds])


class _Fold:
    """A fold: the rows of the fit, and those that are predicted."""

    def __init__(self, problem: SmoothProblem, part: Part, start: Floats | None) -> None:
        self._left_in = problem.weighted(part.left)
        self._left_out = problem.weighted(part.held)
        self._naive_bayes = naive_bayes(self._left_in)
        self.shift = np.zeros((problem.n_cells, problem.n_classes)) if start is None else start

    @property
    def weights(self) -> Floats:
        """The positive weights of the predicted rows, one for each row and class."""
        return self._left_out.weights[self._left_out.weights > 0]

    def fit(self, strengths: Strengths, share: float, near: Factor | None, deadline: Deadline | None) -> Factor:
        """Fit from where the last fit ended, and return the factor that was used last."""
        centre = share * self._naive_bayes
        found, factor = smooth_fit(
            drawn(self._left_in, centre),
            strengths,
            start=self.shift - centre,
            near=near,
            precision=PRECISION,
            deadline=deadline,
        )
        self.shift = found.shift + centre
        return factor

    @property
    def residuals(self) -> tuple[npt.NDArray[np.int32], Floats, Floats]:
        """The cells of the predicted rows, and their derivatives; see :meth:`SmoothFolds.residuals`."""
        p = softmax(self._left_out.predictors(self.shift), axis=1)
        total = self._left_out.weights.sum(axis=1, keepdims=True)
        return self._left_out.cells, self._left_out.weights - total * p, total * p * (1 - p)

    @property
    def logs(self) -> Floats:
        """The values ln P of the classes of the predicted rows, in nats; the entries correspond to `weights`."""
        logs = log_softmax(self._left_out.predictors(self.shift), axis=1)
        return np.asarray(logs[self._left_out.weights > 0])


def naive_bayes(problem: SmoothProblem) -> Floats:
    """Return the log odds of naive Bayes as shifts of the intercept and the main effects, shape (cells, classes).

    The states of an ordered feature are merged into `GROUPS` groups of about equal weight. The log odds of a group
    apply at its middle. Between the middles of two groups they are interpolated, linearly in the cumulative weight of
    the rows. Shifts sum to 0 over the classes; shifts of interactions are 0. For classes in an order, the shifts are
    the nearest multiples of the scores.
    """
    found = np.zeros((problem.n_cells, problem.n_classes))
    for place, term in enumerate(problem.terms):
        if len(term.axes) > 1:
            continue
        counts = _sums_by(problem.cells[:, place] - term.first, problem.weights, term.size)
        logs = _feature(term, counts) if term.axes else np.log(counts + ESS / problem.n_classes)
        found[term.cells] = logs
    return problem.within(found)


def _sums_by(places: npt.NDArray[np.integer], values: Floats, n_places: int) -> Floats:
    """Return the sums of rows of values with the same place, (places, columns)."""
    return np.stack([np.bincount(places, column, n_places) for column in values.T], axis=1)


def drawn(problem: SmoothProblem, centre: Floats) -> SmoothProblem:
    """Return the problem with some shifts, (cells, classes), added to its base: only deviations are penalised."""
    return replace(problem, base=problem.predictors(centre)) if centre.any() else problem


def _feature(term: SmoothTerm, counts: Floats) -> Floats:
    """Return ``ln P(x | c)`` of a feature for the groups of its axis, up to a term that is equal for all classes."""
    (axis,) = term.axes
    weights = counts.sum(axis=1)
    merged = grouped_axis(replace(axis, groups=np.arange(axis.size)), weights, GROUPS)
    of_group = _sums_by(merged.groups, counts, merged.size)
    logs = np.log((of_group + ESS / of_group.size) / (of_group.sum(axis=0) + ESS / counts.shape[1]))
    found: Floats = logs[merged.groups]
    if axis.ordered:
        own = weights[: axis.ordered] + 1e-9 * max(float(weights.sum()), 1.0)
        groups = merged.groups[: axis.ordered]
        place = np.cumsum(own) - own / 2
        middle = np.bincount(groups, own * place) / np.bincount(groups, own)
        for k, class_logs in enumerate(logs[: merged.ordered].T):
            found[: axis.ordered, k] = np.interp(place, middle, class_logs, period=own.sum() if axis.cyclic else None)
    return found
