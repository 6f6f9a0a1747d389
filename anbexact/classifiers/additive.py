"""Generalised additive models, as one estimator: the arcs of a learned network are the interactions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from anbexact._runtime.deadline import check_limit
from anbexact._runtime.json_values import register_object
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.parameters import TimeLimitParameters, parameter_group
from anbexact.classifiers.refit import smoothed_model
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.models.logit.refit import check_max_iter
from anbexact.models.smooth.refine import INTERVALS, check_intervals
from anbexact.models.smooth.refit import SmoothRefit, check_interactions, check_smooth
from anbexact.models.smooth.shape_constraints import AskedConstraints
from anbexact.models.smooth.smoothness import SameRows
from anbexact.tables.soft_labels import check_soft_weight

if TYPE_CHECKING:
    from anbexact.classifiers.discrete import DiscreteClassifier
    from anbexact.models.logit.model import LogitModel


@parameter_group
class AdditiveParameters(TimeLimitParameters):
    """Which network is learned first, and how shapes are fitted."""

    estimator: Any = field(default=None, kw_only=False)
    intervals: int = INTERVALS
    smooth: str | float | Mapping[str, Any] = "auto"
    interactions: str = "families"
    ordered: Collection[Hashable] = ()
    monotone: Mapping[Hashable, Any] | None = None
    convex: Collection[Hashable] = ()
    concave: Collection[Hashable] = ()
    cyclic: Collection[Hashable] = ()
    flat_beyond: Mapping[Hashable, tuple[float | None, float | None]] | None = None
    ordered_classes: Sequence[Any] | bool | None = None
    max_iter: int = 100
    soft_weight: float = 1.0


@register_object
class AdditiveClassifier(AdditiveParameters, RefittedClassifier):
    """A generalised additive model: smooth shapes of single features, and of features that a network joins.

    First ``estimator`` learns a network on coarse intervals. Then its columns are cut finely, and the log odds of the
    class are refitted as a sum of shapes, step functions that follow the order of the intervals: one for every
    feature, and one for every family of the network with several features. Naive Bayes gives main effects only, a TAN
    gives a tree of pairs, and an exact ANB gives the interactions of the network with the highest score. The fit
    maximises the conditional log likelihood of the classes minus a penalty on the slope and the curvature of the
    shapes; see :meth:`anbexact.adapters.LogitModel.refit` and the guide "Smooth shapes".

    Parameters
    ----------
    estimator : NetworkClassifier, optional
        An unfitted network, such as ``NaiveBayesClassifier()`` or ``ANBClassifier()``, which is cloned. None means
        ``TANClassifier()``. A network that is fitted already, within ``sklearn.frozen.FrozenEstimator``, is used as
        it is.
    intervals : int, default 32
        Number of intervals of about equal weight for the main effect of a column that the estimator cuts; learned cut
        points are kept. Interactions have coarser grids, 10 by 10 for two features; with ``smooth="auto"``, pairs
        have finer ones, up to that of the main effects, where these predict left-out rows better.
    smooth : {"auto", "evidence", "cv"}, float or mapping, default "auto"
        How strongly slopes, curvatures and interactions are penalised. ``"evidence"``: the strengths with the highest
        Laplace evidence. ``"cv"``: the strengths that predict left-out rows best in cross-validation; only first
        differences are penalised, and each feature has a strength of its own where that is clearly better.
        ``"auto"``: the strengths of ``"evidence"``, with a strength of curvature for every feature. Unless there are
        more than 2,000 rows and fits are slow, ``"auto"`` also multiplies strengths by a factor (0.01 to 3) chosen by
        cross-validation, and draws shapes not to 0 but to a share of the log odds of naive Bayes: a quarter, or 0, a
        half or three quarters where these predict left-out rows better by a standard error. With up to 2,000 rows and
        quick fits, it penalises slopes alone if this is better by a standard error, too.
        The guide "Smooth shapes" compares them. A number is the strength of all first differences; a mapping
        gives the strengths of ``"slope"``, ``"curvature"``, ``"level"`` (for features without an order) and
        ``"interaction"``, each as a number or by feature, and the share as ``"centre"``: ``{"slope": {"age": 5.0,
        "dose": 0.5}, "centre": 0.25}``. ``"grids"`` lists pairs with finer grids as ``("age", "dose", parts,
        order)``: every interval of an interaction is cut into so many parts, and differences of order 1 or 2 are
        penalised; the strength of the latter is ``"bending"``.
    interactions : {"families", "more", "pairs", "none"}, default "families"
        Which shapes there are in addition to the shapes of single features. ``"families"``: of all features of a
        family together and, where two features can have finer intervals, also of each child with each of its feature
        parents. ``"more"``: these and, if left-out rows are then predicted better, up to ten pairs of features that
        the network does not join, but for which the residuals of left-out rows ask; ``logit_.structure`` has arcs for
        them, and ``logit_.refitted.smoothness.pairs`` names them. ``"pairs"``: only of each child with each of its
        feature parents. ``"none"``: no further shapes.
    ordered : collection of features, default ()
        Further features whose states have an order. Features that are cut into intervals and features whose states
        are numbers are always ordered.
    monotone : mapping, optional
        Features along which log odds may not fall, ``{"age": 1}``, or not rise, ``{"age": -1}``, whatever the other
        features are. With two classes, these are the log odds of the second class. With more, name the class, whose
        log odds against every other class, and so against all others together, are meant: ``{"age": {"high": 1}}``.
        The guide "Shapes that keep to what is known" states what is guaranteed.
    convex, concave : list, or mapping of feature to class
        Features along which the log odds of the second class, or of the class that is named, against every other
        class are convex or concave. Numbers lie where they are, and intervals at their middle; the first and the last
        interval count as wide as their neighbours. In interactions, such features keep all their intervals.
    cyclic : list of features
        Features whose last state is followed by the first, such as hours, months and angles: penalties also join the
        two.
    flat_beyond : mapping of feature to (low, high)
        Log odds are constant below ``low`` and above ``high``, either of which may be None. The whole interval in
        which a bound lies is flat.
    ordered_classes : sequence or True, optional
        The classes from the lowest to the highest, or True if y is an ordered categorical column that declares this
        order. All classes then share their shapes: the log odds of each class against the one below it are a constant
        of its own plus the same shapes (the model of adjacent categories). ``monotone={"age": 1}`` then asks that
        higher classes do not become less probable with age. ``logit_.order_test()`` tests the order against shapes
        for every class; see the guide "Ordered classes".
    max_iter : int, default 100
        Maximum number of Newton steps of the refit.
    soft_weight : float, default 1.0
        The share of the probabilities ``soft`` in the targets of a fit that has them, as for
        :class:`~anbexact.RefittedClassifier`.
    time_limit : float, optional
        Time limit of the refit in seconds. When it runs out, the best coefficients found so far are used, with a
        warning. The estimator has its own limit.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    estimator_ : NetworkClassifier
        The network as it was learned.
    logit_ : LogitModel
        The refitted model; ``logit_.shapes()`` returns its shapes, and ``logit_.refitted`` describes the refit.
    structure_ : Structure
        The graph, with its score and certificate.
    vocabulary_ : Vocabulary
        Names and states of all variables, on the fine intervals.
    cut_points_ : dict
        Cut points of every column that was discretised: the learned ones and the additional ones between them.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The network with the refitted posterior; see :class:`~anbexact.RefittedClassifier`.
    n_iter_ : int
        Iterations of the last fit.
    fidelity_ : Fidelity or None
        How closely the predictions for the rows of the fit follow the teacher; see
        :class:`~anbexact.RefittedClassifier`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, if all of them are strings.

    References
    ----------
    Hastie and Tibshirani, *Generalized Additive Models* (1990); Wood and Fasiolo, Biometrics 73 (2017); Lou, Caruana,
    Gehrke and Hooker, *Accurate Intelligible Models with Pairwise Interactions*, KDD (2013).

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from anbexact import AdditiveClassifier, NaiveBayesClassifier, RefittedClassifier
    >>> from anbexact.datasets import load_iris
    >>> X, y = load_iris()
    >>> bayes = NaiveBayesClassifier()
    >>> for model in (bayes, RefittedClassifier(bayes), AdditiveClassifier(bayes)):
    ...     print(round(cross_val_score(model, X, y, scoring="neg_log_loss").mean(), 1))
    -0.2
    -0.2
    -0.1
    """

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        check_intervals(self.intervals)
        if check_smooth(self.smooth) is None:
            raise ValueError("smooth must not be None: use RefittedClassifier for a refit without smooth shapes")
        check_interactions(self.interactions)
        AskedConstraints(self.monotone, self.convex, self.concave, self.cyclic, self.flat_beyond).check()
        check_max_iter(self.max_iter)
        check_soft_weight(self.soft_weight)
        check_limit("time_limit", self.time_limit)

    def _default_estimator(self) -> NetworkClassifier:
        from anbexact.classifiers.branching import TANClassifier

        return TANClassifier()

    def _taken_over(self, like: DiscreteClassifier | None) -> dict[str, Any]:
        same = None if like is None or self.smooth != "auto" else like._tuned
        return {} if same is None else {"smooth": same}

    @property
    def _tuned(self) -> SameRows | None:
        refitted = self.logit_.refitted
        if self.smooth != "auto" or not isinstance(refitted, SmoothRefit):
            return None
        chosen = refitted.smoothness
        return SameRows(chosen) if chosen.complete and chosen.by_evidence is not None else None

    def _refit(self, network: NetworkClassifier, X: Any, y: Any, sample_weight: Any, **rows: Any) -> LogitModel:
        return smoothed_model(
            network,
            X,
            y,
            sample_weight,
            intervals=self.intervals,
            smooth=self.smooth,
            interactions=self.interactions,
            ordered=self.ordered,
            monotone=self.monotone,
            convex=self.convex,
            concave=self.concave,
            cyclic=self.cyclic,
            flat_beyond=self.flat_beyond,
            ordered_classes=self.ordered_classes,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            soft_weight=self.soft_weight,
            **rows,
        )
