"""Networks as multinomial logistic regressions, refitted by conditional likelihood, and back as networks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import check_limit
from anbexact._runtime.displayed import Displayed
from anbexact._runtime.json_checks import listed, mapped
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.warn import warn
from anbexact.models.additive_effects import AdditiveEffect, AdditiveEffects
from anbexact.models.logit.changed_arcs import network_with_arc, network_without, refit_with_arc, refuse_arc
from anbexact.models.logit.closure import Closure, close, closed_cells, obstacles
from anbexact.models.logit.design import RowTargets
from anbexact.models.logit.design_frame import design_frame
from anbexact.models.logit.edits import (
    ADDED,
    ARC,
    SHAPE,
    Edit,
    apply_edit,
    cost_of,
    heir_of,
    holding,
    read_state,
    without_interaction,
)
from anbexact.models.logit.firth_result import FirthResult, firth_result
from anbexact.models.logit.fit import Effort
from anbexact.models.logit.given import read_coefficients, with_changes
from anbexact.models.logit.identification import identified
from anbexact.models.logit.model_text import model_text
from anbexact.models.logit.network import posterior_tables
from anbexact.models.logit.potentials import Potentials, network_potentials
from anbexact.models.logit.predictions import LogitPosterior, Origin
from anbexact.models.logit.refit import Refit, check_l2, refit
from anbexact.models.logit.relearning import relearner
from anbexact.models.logit.term_list import TermList, cells_of_counts, cells_of_design
from anbexact.models.logit.terms import term_frame
from anbexact.models.network.network import TableNetwork
from anbexact.models.smooth.order_test import OrderTest, order_test
from anbexact.models.smooth.pairs import joined_network
from anbexact.models.smooth.refit import SmoothRefit, check_ridge, check_smooth, smooth_refit
from anbexact.models.smooth.shape_constraints import AskedConstraints
from anbexact.models.smooth.shapes import Shapes, shape_effects, shapes_of, smooth_result, with_edits
from anbexact.models.structure import Structure
from anbexact.tables.folds import read_groups
from anbexact.tables.labels import asked_order
from anbexact.tables.soft_labels import check_soft_weight, mixed_with_labels, read_soft
from anbexact.tables.table import merged_table
from anbexact.tables.vocabulary import CodeArray

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

    from anbexact.classifiers.fixed import FixedStructureClassifier


class LogitModel(LogitPosterior, Displayed):
    """A multinomial logistic regression on the states of the features and their interactions.

    :func:`~anbexact.adapters.to_logit` makes it; no method changes it.

    Parameters
    ----------
    network : TableNetwork
        The network that has the same class posterior, or had it before the refit.
    origin : Origin
        What is taken over from the classifier of that network, such as how frames are read.
    potentials : tuple of Potential
        The logs of the network's tables, shifted by the refit if there was one.
    structure : Structure, optional
        The structure that determines the terms; by default, that of the network.
    refitted, closure : Refit and Closure, optional
        The record of the fit, and the arcs that were added.
    given : bool, default False
        Whether the coefficients were estimated elsewhere; see :meth:`with_coefficients`.
    edits : sequence of Edit, default ()
        The changes by hand that the potentials contain; see :meth:`change_shape`, :meth:`remove_arc` and
        :meth:`add_arc`.

    Attributes
    ----------
    classes_ : (classes,) array
        Columns of ``predict_proba``; the first is the reference of the coefficients.
    structure : Structure
        The structure that determines the terms.
    potentials : tuple of Potential
        The logs of its tables, shifted by the refit if there was one: ``ln P(c | x)`` is their sum up to a function
        of x.
    equivalent : bool
        Whether network and logistic regression represent the same conditional distributions of the class.
    equivalence_report : str
        Names the parents of a common child that are not adjacent, or says that there are none.
    closure : Closure or None
        The arcs that :meth:`close` added; None if the model is not a result of it.
    refitted : Refit or None
        How :meth:`refit` fitted the coefficients: ``l2``, ``strength`` (the results of the cross-validation), ``fit``
        (``converged``, ``separated``, ``gradient``, ...), ``seconds``. None without a refit.
    edits : tuple of Edit
        The changes by hand since the fit, in their order, each with its reason and its cost.
    """

    def __init__(
        self,
        network: TableNetwork,
        origin: Origin,
        potentials: Potentials,
        structure: Structure | None = None,
        refitted: Refit | None = None,
        closure: Closure | None = None,
        given: bool = False,
        edits: Sequence[Edit] = (),
    ) -> None:
        self.network = network
        self.origin = origin
        self.potentials = potentials
        self.structure = network.structure if structure is None else structure
        self.refitted = refitted
        self.closure = closure
        self.given = given
        self.edits = tuple(edits)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the parts of the model; derived results are computed again when they are needed."""
        made_of = self.network, self.origin, self.potentials, self.structure
        return type(self), (*made_of, self.refitted, self.closure, self.given, self.edits)

    @cached_property
    def _listed(self) -> TermList:
        """The terms, and which of them are listed if there are too many."""
        sources = []
        if self.network.counts is not None:
            sources.append(cells_of_counts(self.network.counts, self.network.structure))
        if self.refitted is not None:
            sources.append(cells_of_design(self.refitted.design))
        return TermList(self.structure, self.vocabulary, sources)

    # ---- terms and coefficients

    @cached_property
    def n_parameters(self) -> int:
        """Number of coefficients: terms times classes other than the first."""
        return self._listed.n_parameters

    @property
    def degrees_of_freedom(self) -> float:
        """Number of coefficients; after a smooth refit, its effective degrees of freedom."""
        if isinstance(self.refitted, SmoothRefit):
            return float(sum(self.refitted.effective_degrees))
        return super().degrees_of_freedom

    @cached_property
    def terms(self) -> pd.DataFrame:
        """One row for every coefficient: its features and their states, with its name as index.

        Smaller sets of features come first, and among sets of the same size those with earlier features. Models of
        more than 10 million coefficients list only the terms that occur in the rows from which the model was learned
        or to which it was refitted.

        Raises
        ------
        ValueError
            If there are more than 10 million coefficients, and no rows that show which terms occur.
        """
        return term_frame(*self._listed.variables_and_states())

    @cached_property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """β in nats, shape (terms, classes - 1): rows as in ``terms``, columns as in ``classes_[1:]``."""
        return self._listed.coefficients(self.potentials)

    # ---- equivalence

    @cached_property
    def _obstacles(self) -> tuple[tuple[Hashable, Hashable, Hashable], ...]:
        """What keeps the network from having every posterior of the regression; see :func:`.closure.obstacles`."""
        return obstacles(self.structure)

    @property
    def equivalent(self) -> bool:
        """Whether the network can have the posterior of any coefficients, because its structure is subperfect."""
        return not self._obstacles

    @property
    def equivalence_report(self) -> str:
        """Why the network is equivalent to the logistic regression, or why it is not."""
        if self.equivalent:
            return "variables with a common child are adjacent, or both parents of the class"
        shown = "; ".join(f"{a!r} and {b!r}, parents of {child!r}" for child, a, b in self._obstacles[:6])
        rest = len(self._obstacles) - 6
        return f"not adjacent: {shown}" + (f"; and {rest} more pairs" if rest > 0 else "")

    def close(self) -> LogitModel:
        """Return the model of a network with further arcs, with which it is equivalent to its logistic regression.

        The posterior does not change, but a :meth:`refit` can reach more posteriors. ``closure`` says which arcs were
        added and how many parameters they cost. Arcs point from the earlier to the later variable in a topological
        order. They are chosen greedily, so that fewer may be possible.

        Raises
        ------
        MemoryError
            If the tables of the closed network would not fit into memory.
        """
        structure, potentials, closure = close(self.structure, self.potentials, self.network.tables, self._shape)
        how = (self.refitted, closure, self.given, self.edits)
        return LogitModel(self.network, self.origin, potentials, structure, *how)

    @cached_property
    def _closed(self) -> LogitModel:
        """The result of :meth:`close`, computed once."""
        return self.close()

    @property
    def summing_network(self) -> TableNetwork:
        """The network with this posterior, under which missing and unknown cells are summed out."""
        if self.refitted is None and not self.given and not self.edits:
            return self.network
        return (self if self.equivalent else self._closed).to_network()

    @cached_property
    def _cells_to_close(self) -> int:
        known = self.equivalent or (self.refitted is None and not self.given and not self.edits)
        return 0 if known else closed_cells(self.structure, self._shape)

    # ---- refit

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        l2: float | str = "auto",
        smooth: str | float | Mapping[str, Any] | None = None,
        interactions: str = "families",
        ordered: Collection[Hashable] = (),
        monotone: Mapping[Hashable, Any] | None = None,
        convex: Collection[Hashable] = (),
        concave: Collection[Hashable] = (),
        cyclic: Collection[Hashable] = (),
        flat_beyond: Mapping[Hashable, tuple[float | None, float | None]] | None = None,
        ordered_classes: Sequence[Any] | bool | None = None,
        max_iter: int = 500,
        time_limit: float | None = None,
        progress: Progress | None = None,
        soft: Any = None,
        soft_weight: float = 1.0,
        groups: Any = None,
    ) -> LogitModel:
        """Return the model refitted to maximise the conditional log likelihood of rows.

        The refit maximises ``Σ_t w_t ln P(c_t | x_t) - l2/2 · Σ (ln φ - ln θ)²``, where ``P(c | x) ∝ Π φ``, φ runs
        over the entries of the tables of the class and its children, and θ over the corresponding entries of the
        network. This is a Gaussian prior around the generative estimate. Unlike a prior on β, it does not depend on
        which class and which states come first. Entries without rows stay at θ, and combinations of entries that the
        rows cannot distinguish do not change either. The fit starts at the network itself.

        Parameters
        ----------
        X, y, sample_weight
            As in the classifier's ``fit``; usually the same rows. Rows with a missing feature are left out, with a
            warning.
        l2 : float or "auto", default "auto"
            Precision of the prior. ``"auto"``: the value that predicts left-out rows best in cross-validation (if the
            network was fitted to these rows, its tables are learned again in every fold). 0: maximum likelihood, with
            infinite coefficients if the classes can be separated.
        smooth : None, "auto", "evidence", "cv", float or mapping, default None
            None: the fit described above. Otherwise, the log odds are a sum of shapes, functions of one feature or of
            a family's features, and roughness along the order of their states is penalised instead; see
            the guide "Smooth shapes". The strengths of the penalties are

            - for ``"evidence"``, chosen by the Laplace evidence;
            - for ``"cv"``, chosen by cross-validation, with penalties of first differences alone, and by feature for
              shapes of single features where that is clearly better;
            - for ``"auto"``, chosen by the evidence, with a strength of curvature for every feature. Unless that is
              slow, cross-validation then chooses a factor of all strengths, and the ``"centre"``: the share of the
              log odds of naive Bayes to which shapes are shrunk. With few rows, slopes alone are penalised if that
              predicts better, and pairs have finer grids where these do;
            - for a number, that number for all first differences;
            - for a mapping, its values for ``"slope"``, ``"curvature"``, ``"level"``, ``"interaction"`` and
              ``"bending"``, each a number or a mapping of feature to number; it may contain ``"centre"`` and
              ``"grids"``, too; see :class:`~anbexact.AdditiveClassifier`.

            Columns should have many intervals: ``to_logit(..., intervals=32)``. ``l2`` is then a ridge in addition to
            the penalty, by default 0.001, and must be above 0.
        interactions : {"families", "more", "pairs", "none"}, default "families"
            With ``smooth``: ``"families"`` has shapes of all features of a family together, and of each child with
            each of its parents other than the class where intervals are finer for these two; ``"more"`` adds pairs
            that the network does not join, but for which the residuals of left-out rows ask; ``"pairs"`` has shapes
            of child and parent only, and ``"none"`` those of single features only.
        ordered : collection of features, default ()
            With ``smooth``: further features whose states have an order, in addition to those that were cut into
            intervals and those with numbers as states.
        monotone, convex, concave, cyclic, flat_beyond : optional
            With ``smooth``: conditions on shapes, by feature; see :class:`~anbexact.AdditiveClassifier`. Their
            optimum is proved: ``refitted.proof.gap`` bounds, in nats, what any other shapes under these conditions
            could gain.
        ordered_classes : sequence or True, optional
            With ``smooth``: the classes from the lowest to the highest, or True if y is an ordered categorical column
            that declares this order. All classes then share their shapes: the log odds of each class against the one
            below it are a constant of its own plus the same shapes. :meth:`order_test` tests this against shapes for
            every class. See the guide "Ordered classes".
        max_iter : int, default 500
            Maximum number of iterations, also of each of the fits under stronger priors that lead to one with a weak
            prior.
        time_limit : float, optional
            Time limit in seconds, after which the best coefficients found so far are returned as not converged.
        progress : callable, optional
            Called with a phase and its finished fraction. The default follows the classifier's ``verbose``.
        soft : frame or (rows, classes) array, optional
            Class probabilities q of the rows, such as those that another classifier, the teacher, predicts for rows
            that it did not learn from. The refit then maximises ``Σ_t w_t Σ_c r_tc ln P(c | x_t)`` less the penalty,
            with ``r_t = (1 - soft_weight) e_y + soft_weight q_t``, where e_y is 1 for the class of the row. The
            columns of a frame are named after the classes; those of an array are in the order of ``classes_``.
        soft_weight : float, default 1.0
            The share of these probabilities in the targets, from 0 to 1.
        groups : (rows,) array, optional
            Labels of rows that belong together: the folds of cross-validation hold out whole groups.

        Returns
        -------
        LogitModel
            Its ``refitted`` describes the fit, and with ``soft``, ``refitted.fidelity`` how closely the model follows
            the teacher in these rows.

        Warns
        -----
        UserWarning
            If the fit did not converge, with the reason; if classes are separated, with the terms whose coefficients
            go to infinity.

        Raises
        ------
        ValueError
            For a value or class that is not a state, a parameter out of its range, if no row is complete, or for
            probabilities that :func:`~anbexact.tables.soft_labels.read_soft` refuses.
        """
        check_limit("time_limit", time_limit)
        share = check_soft_weight(soft_weight)
        rows = (reader := self.origin.reader).coded_rows(X, y, sample_weight)
        if not len(rows.weights):
            raise ValueError("there is no row without a missing feature to refit to")
        n_rows = len(np.asarray(y))
        weights = np.zeros(n_rows)
        weights[rows.places] = rows.weights
        numbers = read_groups(groups, n_rows, weights)
        by, teacher = RowTargets(rows, None, None if numbers is None else numbers[rows.places]), None
        if soft is not None:
            teacher = read_soft(soft, self.classes_.tolist(), weights)[rows.places]
            by = by._replace(targets=mixed_with_labels(teacher, by.codes, share))
        threads = thread_count(self.origin.n_jobs)
        effort = Effort(max_iter, time_limit, threads, progress or self.origin.progress)
        order = None
        if ordered_classes is not None:
            order = tuple(asked_order(self.classes_.tolist(), ordered_classes, y).tolist())
        constraints = AskedConstraints(monotone, convex, concave, cyclic, flat_beyond, order)
        network = network_without(self.network, self.structure)
        if (strengths := check_smooth(smooth)) is not None:
            how: dict[str, Any] = {"interactions": interactions, "ordered": ordered, "ridge": check_ridge(l2)}
            how["constraints"] = constraints
            smooth_found = smooth_refit(by, network, smooth=strengths, effort=effort, **how)
            smooth_found = smooth_found.following(teacher, rows)
            if pairs := smooth_found.smoothness.pairs:
                network = joined_network(network, pairs)
                return LogitModel(network, self.origin, smooth_found.potentials)._refitted(smooth_found)
            return self._refitted(smooth_found, network)
        if order is not None:
            raise ValueError("ordered_classes needs smooth shapes, which classes share: pass smooth='auto', too")
        if constraints:
            raise ValueError(
                "monotone, convex, concave, cyclic and flat_beyond are conditions on smooth shapes: pass "
                "smooth='auto', too"
            )
        table, chooses = merged_table(rows), not isinstance(check_l2(l2), float)
        how = {"l2": l2, "relearn": relearner(network, table) if chooses else None}
        found = refit(table, self.structure, network.tables, effort=effort, by=by, **how)
        if teacher is not None:
            return self._refitted(found.following(teacher, rows), network)
        return self._refitted(found.in_order_of(rows, reader.labels(X, rows.places)), network)

    def _refitted(self, found: Refit, network: TableNetwork | None = None) -> LogitModel:
        """Return the model of a refit, of this network or another one; warn if the fit is not as requested."""
        network = self.network if network is None else network
        model = LogitModel(network, self.origin, found.potentials, self.structure, found, self.closure)
        if model.convergence_message:
            warn(model.convergence_message)
        return model

    # ---- designs for other programs, and coefficients from them

    @cached_property
    def identified_terms(self) -> npt.NDArray[np.bool_]:
        """Whether the rows of the refit identify the coefficients of each term, shape (terms,)."""
        return identified(self)

    @property
    def counted_terms(self) -> npt.NDArray[np.bool_]:
        """Whether each term occurs in the rows that the network has counted, shape (terms,).

        All terms count as occurring if the tables of the network were given.
        """
        if self.network.counts is None:
            return np.ones(len(self.terms), dtype=bool)
        return self._listed.seen(cells_of_counts(self.network.counts, self.network.structure))

    def design(self, X: Any, *, redundant: bool = False) -> pd.DataFrame:
        """Return the columns of the regression for some rows: for every term its indicator, 1 where its states occur.

        Parameters
        ----------
        X : table
            The features, as for ``predict``; they need not be training rows.
        redundant : bool, default False
            Whether to include terms that the rows of the refit do not identify (``unidentified``): those that occur
            in no row, and those whose column is a linear combination of earlier columns. By default they are left
            out. Without a refit, only terms that occur in no training row are left out.

        Returns
        -------
        DataFrame
            One row per row of X, with its index if X is a pandas frame, and one column per term, named as in the
            index of ``terms``; the first is the intercept. If a feature of a term is missing or has an unknown state
            in a row, the entry is NaN.

        Raises
        ------
        MemoryError
            If the frame would take more than 1 GB.

        Examples
        --------
        >>> from anbexact import TANClassifier
        >>> from anbexact.adapters import to_logit
        >>> from anbexact.datasets import load_monks
        >>> X, y = load_monks(1)
        >>> logit = to_logit(TANClassifier(ess=1.0).fit(X, y))
        >>> logit.design(X.head(2)).iloc[:, :3]
           (intercept)  head_shape=square  head_shape=octagon
        0          1.0                0.0                 0.0
        1          1.0                0.0                 0.0
        """
        return design_frame(self, X, redundant=redundant)

    def to_mnlogit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return an unfitted ``MNLogit`` of statsmodels with these rows and the columns of the design.

        Its methods ``fit`` and ``fit_regularized`` return results with covariances and tests, of which
        :meth:`with_coefficients` makes a model. Columns that are linear combinations of earlier ones in these rows
        are left out. Rows with a missing cell or unknown state are left out, too, with a warning. MNLogit ignores
        weights, so weights must be whole numbers, and a row of weight k appears k times.

        Parameters
        ----------
        X, y, sample_weight
            As in the classifier's ``fit``.

        Raises
        ------
        ValueError
            For a class that is not known or has no rows, a single class, or a weight that is not a whole number.
        MemoryError
            If the design would take more than 1 GB.
        """
        from anbexact.adapters.statsmodels.results import unfitted_mnlogit

        return unfitted_mnlogit(self, X, y, sample_weight)

    def firth(self, X: Any, y: Any, sample_weight: Any = None) -> FirthResult:
        """Return coefficients by Firth's penalised likelihood, which are finite even if classes are separated.

        They maximise ``ℓ(β) + ½ ln |I(β)|`` over the terms that these rows identify. I is the Fisher information, and
        the penalty is the log density of Jeffreys' prior. Intervals and tests are those of the profile penalised
        likelihood, and agree with each other: an interval of level 1 - α contains 0 if and only if the p-value is at
        least α. With few rows for many terms the penalised likelihood can have several maxima; the highest that was
        found counts.

        Parameters
        ----------
        X, y, sample_weight
            As in the classifier's ``fit``; weights need not be whole numbers. Rows with a missing cell or unknown
            state are left out, with a warning.

        Returns
        -------
        FirthResult
            It has ``params``, ``bse`` (standard errors) and ``conf_int()``, in nats, ``pvalues``, and ``summary()``,
            which shows all of them; :meth:`with_coefficients` makes a model of it.

        Warns
        -----
        UserWarning
            If rows are left out, or if the maximum was not found.

        Raises
        ------
        ValueError
            For a class that is not known or has no rows, or a single class.
        MemoryError
            If the design would take more than 1 GB, or the Fisher information more memory than is available.

        References
        ----------
        Firth, *Bias reduction of maximum likelihood estimates*, Biometrika 80 (1993); Heinze and Schemper, *A
        solution to the problem of separation in logistic regression*, Statistics in Medicine 21 (2002); Bull, Mak and
        Greenwood, *A modified score function estimator for multinomial logistic regression in small samples*,
        Computational Statistics & Data Analysis 39 (2002).

        Examples
        --------
        >>> from anbexact import NaiveBayesClassifier
        >>> from anbexact.adapters import to_logit
        >>> from anbexact.datasets import load_iris
        >>> X, y = load_iris()
        >>> logit = to_logit(NaiveBayesClassifier(ess=1.0).fit(X[["petal_width"]], y))
        >>> firth = logit.firth(X[["petal_width"]], y)
        >>> bool(abs(firth.params).max(axis=None) < 12)
        True
        >>> logit.with_coefficients(firth).predict(X[["petal_width"]].head(1)).tolist()
        ['setosa']
        """
        return firth_result(self, X, y, sample_weight)

    def with_coefficients(self, coefficients: Any) -> LogitModel:
        """Return the model with coefficients that were estimated elsewhere.

        It predicts and explains with them. ``to_classifier`` and ``to_pgmpy`` return a network with that posterior,
        after :meth:`close` if the model is not ``equivalent`` (by Algorithm 1 of Feelders and Ivanovs, for any β).
        Coefficients do not determine the distribution of the features, which stays close to that of the network.

        Parameters
        ----------
        coefficients : DataFrame, results of statsmodels or FirthResult
            β in nats, of the log odds against the first class: terms in rows, named as in the index of ``terms``,
            and classes other than the first in columns. Terms that are not named have the coefficient 0.

        Raises
        ------
        TypeError
            If ``coefficients`` is of another type.
        ValueError
            For a term or class that the model does not have, other classes or another order of classes in the
            results, a term that is named twice, or a coefficient that is not finite.

        Examples
        --------
        >>> from anbexact import TANClassifier
        >>> from anbexact.adapters import to_logit
        >>> from anbexact.datasets import load_tic_tac_toe
        >>> X, y = load_tic_tac_toe()
        >>> logit = to_logit(TANClassifier(ess=1.0).fit(X, y))
        >>> result = logit.to_mnlogit(X, y).fit_regularized(alpha=1.0, disp=False)
        >>> lasso = logit.with_coefficients(result)
        >>> bool(abs(lasso.predict_proba(X) - result.predict()).max() < 1e-12)
        True
        >>> type(lasso.to_pgmpy()).__name__
        'DiscreteBayesianNetwork'
        """
        change = read_coefficients(self, coefficients) - self.coefficients
        potentials = with_changes(self.potentials, self._listed.sets, self._listed.blocks(change))
        return LogitModel(self.network, self.origin, potentials, self.structure, None, self.closure, True)

    # ---- changes by hand

    def change_shape(
        self,
        features: Hashable | list[Hashable],
        changes: Mapping[Any, float],
        *,
        label: Any = None,
        reason: str = "",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> LogitModel:
        """Return the model with some values of a shape changed by hand.

        For a state in ``changes``, its number is added to the log odds of ``label`` against every other class.
        Predictions, explanations, shapes and exports of the result follow from the changed terms. Its last edit says
        what the change costs; standard errors of shapes are those of the fit.

        Parameters
        ----------
        features : Hashable or list
            A feature, or a list of several that have a term together.
        changes : mapping of state to nats
            States as in ``vocabulary``, a value, or a number, which stands for the interval that contains it; for
            several features, tuples of these. On coarse grids of smooth refits, all states of a group must change
            alike.
        label : class label, optional
            The class; by default, the second of two.
        reason : str, optional
            Why the change is made; it is kept with the edit.
        X, y, sample_weight : optional
            Rows on which the log loss before and after is measured, best ones that the model was not fitted to. By
            default, the rows of the refit; without a refit, the cost stays unknown.

        Returns
        -------
        LogitModel
            Its ``edits`` end with this one.

        Raises
        ------
        ValueError
            For a feature, state or class that is not known, features without a common term, a number that is not
            finite, or states that must change alike and do not.

        Examples
        --------
        >>> from anbexact import AdditiveClassifier, NaiveBayesClassifier
        >>> from anbexact.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer()
        >>> X = X[["mean_radius", "mean_texture"]]
        >>> model = AdditiveClassifier(NaiveBayesClassifier(), intervals=4, smooth=1.0).fit(X, y)
        >>> edited = model.with_logit(model.logit_.change_shape("mean_texture", {30.0: -0.5}, reason="two rows only"))
        >>> print(edited.logit_.edits[0].text)
        mean_texture = (22.185, inf): -0.5 nats for malignant
        """
        names = tuple(features) if isinstance(features, list) else (features,)
        holding(self.potentials, names)
        k = self._label_of(label)
        change = np.zeros([*(self._shape[name] for name in names), len(self.classes_)])
        said = []
        for states, nats in changes.items():
            given = states if isinstance(features, list) else (states,)
            if len(given) != len(names):
                raise ValueError(f"a state of {names} has {len(names)} parts, not {states!r}")
            codes = [
                read_state(self.vocabulary, self.cut_points, name, value)
                for name, value in zip(names, given, strict=True)
            ]
            if not np.isfinite(nats):
                raise ValueError(f"the change of {states!r} must be a finite number of nats, not {nats!r}")
            change[(*codes, k)] += nats
            state = ", ".join(
                f"{name} = {self.vocabulary.states[name][code]}" for name, code in zip(names, codes, strict=True)
            )
            said.append(f"{state}: {nats:+.4g} nats")
        if isinstance(self.refitted, SmoothRefit):
            with_edits(self.refitted, [(names, change)], strict=True)
        text = f"{'; '.join(said)} for {self.classes_[k]}"
        return self._costed(Edit(names, text, reason, None, SHAPE, change), X, y, sample_weight)

    def remove_arc(
        self,
        parent: Hashable,
        child: Hashable,
        *,
        reason: str = "",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> LogitModel:
        """Return the model without an arc between features: its interaction is removed by hand.

        The term of the child becomes the nearest function of the child and of the parent that adds up from both,
        weighted by the rows, so that the effects of either feature alone stay. The ``structure`` of the result lacks
        the arc. Nothing is fitted again; :meth:`refit` fits a model without the arc.

        Parameters
        ----------
        parent, child : Hashable
            The ends of the arc.
        reason, X, y, sample_weight
            As for :meth:`change_shape`.

        Raises
        ------
        ValueError
            If there is no such arc, or if no other term has all parents of the child, so that :meth:`close` must be
            called first.
        """
        held = next((of for of in self.potentials if of.child == child and parent in of.features), None)
        if held is None or parent == child:
            arcs = list(self.structure.feature_edges)
            raise ValueError(f"there is no arc from {parent!r} to {child!r}; the arcs between features are {arcs}")
        names = (child, parent, *(name for name in held.features if name not in (child, parent)))
        heir_of(self.potentials, names)
        text = f"arc from {parent} to {child} removed"
        return self._costed(Edit(names, text, reason, None, ARC, self._without(names)), X, y, sample_weight)

    def add_arc(
        self,
        parent: Hashable,
        child: Hashable,
        *,
        reason: str = "",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> LogitModel:
        """Return the model with another arc between features, by hand: an interaction that the network lacks.

        What depends on the arc is learned as it was without it:

        - of a network without a refit, the conditional table of the child, from the counts of the training rows, by
          the same rule (by default, posterior means);
        - after a refit, all coefficients, with the same ``l2``, from the rows of the refit. The prior of the
          additional coefficients is that of a network whose table of the child does not depend on the parent;
        - after a smooth refit, all shapes and one for the pair, with the same strengths and the same conditions on
          shapes. If there was no interaction before, the strength of the pair is the one for which residuals give
          most evidence.

        Earlier edits are kept: changes of shapes are added to the new ones, and removed arcs are removed again.

        Parameters
        ----------
        parent, child : Hashable
            The ends of the arc; ``child`` must be a child of the class. The direction matters for the table of a
            network, but hardly after a refit.
        reason : str, optional
            Why the arc is added; it is kept with the edit.
        X, y, sample_weight : optional
            Without a refit, the rows from which the network was learned, which are required, as a network has only
            the counts of its own families. After a refit, rows on which the log loss before and after is measured, by
            default those of the refit.

        Returns
        -------
        LogitModel
            Its ``edits`` end with this one, whose cost is negative if the interaction helps; on the rows of the fit,
            it nearly always does.

        Raises
        ------
        ValueError
            If there is such an arc or it would close a cycle, if the child is no child of the class, if the rows of
            the refit do not have the parent, if these are not the rows from which the network was learned, or after
            :meth:`close` or :meth:`with_coefficients`.

        Examples
        --------
        >>> from anbexact import NaiveBayesClassifier
        >>> from anbexact.datasets import load_tic_tac_toe
        >>> X, y = load_tic_tac_toe()
        >>> model = NaiveBayesClassifier(ess=1.0).fit(X, y)
        >>> edited = model.to_logit().add_arc("middle_middle", "top_left", X=X, y=y)
        >>> print(edited.edits[0].text)
        arc from middle_middle to top_left added
        >>> model.with_logit(edited).structure_.feature_edges
        (('middle_middle', 'top_left'),)
        """
        arc = parent, child
        if self.given or self.closure is not None:
            before = "with_coefficients()" if self.given else "close()"
            raise ValueError(f"the arc from {parent!r} to {child!r} must be added before {before}")
        refuse_arc(arc, self.structure, self.network.structure)
        if self.refitted is None:
            if X is None:
                raise ValueError(
                    f"pass X and y, the rows from which the network was learned: the table of {child!r} is learned "
                    "again from their counts"
                )
            table = merged_table(self.origin.reader.coded_rows(X, y, sample_weight))
            model = self._of_network(network_with_arc(self.network, arc, table))
        else:
            effort = Effort(threads=thread_count(self.origin.n_jobs))
            network, refitted = refit_with_arc(self.refitted, self.network, arc, effort)
            model = LogitModel(network, self.origin, refitted.potentials, refitted=refitted)
            if model.convergence_message:
                warn(model.convergence_message)
        for earlier in self.edits:
            model = model._edited(model._again(earlier))
        names, shape = (child, parent), (self._shape[child], self._shape[parent], len(self.classes_))
        edit = Edit(names, f"arc from {parent} to {child} added", reason, None, ADDED, np.zeros(shape))
        training = self.refitted is None
        return self._costed_by(edit, model._edited, X, y, sample_weight, training)

    def _of_network(self, network: TableNetwork) -> LogitModel:
        """Return the regression of another network over the same columns."""
        return LogitModel(network, self.origin, network_potentials(network.tables, network.structure))

    def _again(self, edit: Edit) -> Edit:
        """Return an earlier edit as one of this model; the removal of an arc depends on the child's potential."""
        if edit.kind != ARC:
            return edit
        held = next(of for of in self.potentials if of.child == edit.features[0])
        names = tuple(dict.fromkeys((*edit.features, *held.features)))
        return replace(edit, features=names, change=self._without(names))

    def _without(self, names: Sequence[Hashable]) -> Floats:
        """Return the change that leaves no interaction of a child and its parent, the first two names of its term."""
        held = next(of for of in self.potentials if of.child == names[0])
        axes = [held.features.index(name) for name in names]
        logs = held.logs.transpose([*axes, len(axes)])
        return without_interaction(logs, self._weights_of(names)) - logs

    def _label_of(self, label: Any) -> int:
        """Return the position of a class, by default of the second of two."""
        classes = self.classes_.tolist()
        if label is None and len(classes) == 2:
            return 1
        if label not in classes:
            raise ValueError(f"label must be one of the classes {classes}, not {label!r}")
        return int(classes.index(label))

    def _weights_of(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weights of the joint states of features in the rows of the fit; equal ones without rows."""
        shape = [self._shape[name] for name in names]
        if self.refitted is not None:
            design = self.refitted.design
            cells = np.ravel_multi_index([design.states(name) for name in names], shape)
            return np.bincount(cells, design.totals, int(np.prod(shape))).reshape(shape).astype(np.float64)
        counts = None if self.network.counts is None else self.network.counts.get(names[0])
        if counts is None or not set(names) <= set(counts.variables):
            return np.ones(shape)
        others = tuple(k for k, name in enumerate(counts.variables) if name not in names)
        kept = [name for name in counts.variables if name in names]
        return np.asarray(counts.dense().sum(axis=others).transpose([kept.index(name) for name in names]))

    def _costed(self, edit: Edit, X: Any, y: Any, sample_weight: Any) -> LogitModel:
        """Return the model after an edit, with its cost."""
        return self._costed_by(edit, self._edited, X, y, sample_weight)

    def _costed_by(
        self,
        edit: Edit,
        after: Callable[[Edit], LogitModel],
        X: Any,
        y: Any,
        sample_weight: Any,
        training: bool = False,
    ) -> LogitModel:
        """Return the model after an edit, which a function makes, with the cost in these rows or those of the fit."""
        edited = after(edit)
        if X is not None:
            before, weights = self._logs_of_classes(X, y, sample_weight)
            then = edited._logs_of_classes(X, y, sample_weight)[0]
            return after(replace(edit, cost=cost_of(before, then, weights, training=training)))
        if self.training_rows is None:
            return edited
        codes, weights = self.training_rows
        rows, classes = np.nonzero(weights)
        before, then = (model.log_posterior(codes, self.origin.n_jobs)[rows, classes] for model in (self, edited))
        return after(replace(edit, cost=cost_of(before, then, weights[rows, classes], training=True)))

    def _edited(self, edit: Edit) -> LogitModel:
        """Return the model after an edit."""
        potentials, structure = apply_edit(edit, self.potentials, self.structure)
        how = (self.refitted, self.closure, self.given, (*self.edits, edit))
        return LogitModel(self.network, self.origin, potentials, structure, *how)

    @property
    def learned_again(self) -> bool:
        """Whether tables or shapes were learned again with an arc that was added by hand."""
        return any(edit.kind == ADDED for edit in self.edits)

    # ---- what a refit identifies

    @cached_property
    def seen_terms(self) -> npt.NDArray[np.bool_]:
        """Whether each term occurs in the rows of the refit, shape (terms,)."""
        assert self.refitted is not None
        return self._listed.seen(cells_of_design(self.refitted.design))

    @cached_property
    def unidentified(self) -> pd.DataFrame:
        """The terms whose coefficients the rows of the refit do not identify, with the reason.

        The frame has the columns of ``terms``, and the column ``reason``: ``"never seen"`` if the states do not occur
        together in any row, ``"redundant"`` if the term is a linear combination of earlier ones in these rows. The
        coefficients of such terms are those of the network, plus whatever the shifts of observed table entries add to
        them. The frame is empty without a refit.

        Raises
        ------
        MemoryError
            If the design would take more than 1 GB.
        """
        if self.refitted is None:
            return self.terms.assign(reason="")[:0]
        frame = self.terms.assign(reason=np.where(self.seen_terms, "redundant", "never seen"))
        return frame[~self.identified_terms]

    @property
    def separated_terms(self) -> list[str]:
        """The coefficients that go to infinity if the classes are separated, the steepest first.

        ``"x=1:y=0: class=b -> 0"`` says that the probability of class b given these states tends to 0 as the
        likelihood rises; ``-> 1``, that it tends to 1. The list is empty if no separation was found.
        """
        return [] if self.refitted is None else self.refitted.diverging(self.vocabulary)

    @property
    def convergence_message(self) -> str:
        """Why the refit did not converge as requested; empty if it did, or if there was no refit."""
        return "" if self.refitted is None else self.refitted.complaint(self.vocabulary)

    # ---- other uses of a refitted model

    def shapes(self, label: Any = None, against: Any = None) -> Shapes:
        """Return the contributions of features and interactions to the log odds of classes, with standard errors.

        They add up to the log odds of the refit, up to a constant. They are its functional ANOVA, weighted by its
        rows (Hooker 2007): an interaction averages to 0 along every axis, so that no part of it depends on fewer of
        its features. All subsets of a family's features have shapes, or only those that have a term if all would have
        more than 10,000 cells.

        Parameters
        ----------
        label : class label, optional
            The class; by default, every class, or only the second if there are two.
        against : class label, optional
            The class to compare it with; by default, the other class if there are two, and otherwise the geometric
            mean of all.

        Returns
        -------
        list of Shape
            Its method ``to_frame()`` returns a frame with a row for every cell, and ``plot()`` draws the shapes.

        Raises
        ------
        ValueError
            If this is not the result of a smooth refit, or a label is not a class.
        """
        if not isinstance(self.refitted, SmoothRefit):
            raise ValueError("there are no shapes: refit with smooth='auto' first")
        return shapes_of(self._with_edits(self.refitted), self.vocabulary, self.classes_.tolist(), label, against)

    def _with_edits(self, refitted: SmoothRefit) -> SmoothRefit:
        """Return a smooth refit whose shapes contain the edits."""
        return with_edits(refitted, [(edit.features, edit.change) for edit in self.edits])

    def order_test(self) -> OrderTest:
        """Return a test of shared shapes, of a refit with ``ordered_classes``, against shapes for every class.

        Returns
        -------
        OrderTest
            ``statistic``, ``df``, ``p_value`` and ``gain``. Edits by hand do not count.

        Raises
        ------
        ValueError
            Without ``ordered_classes`` for three or more classes, with shapes that must be monotone, convex or
            concave, or with more than 6,000 cells times classes.
        """
        if not isinstance(self.refitted, SmoothRefit):
            raise ValueError("there is no order to test: refit with smooth='auto' and ordered_classes first")
        return order_test(self.refitted)

    @property
    def training_rows(self) -> tuple[CodeArray, Floats] | None:
        """The distinct rows of the refit; see :attr:`LogitPosterior.training_rows`."""
        if self.refitted is None:
            return None
        design, features = self.refitted.design, self.vocabulary.features
        codes = np.zeros((len(features), len(design.weights)), dtype=np.int16)
        for name in design.features:
            codes[features.index(name)] = design.states(name)
        return codes, design.weights

    def additive_effects(self, codes: CodeArray | None = None, weights: Floats | None = None) -> AdditiveEffects:
        """Return the log odds as effects; those of a smooth refit are weighted by its rows and have its grids.

        See :meth:`LogitPosterior.additive_effects`.
        """
        if not isinstance(self.refitted, SmoothRefit):
            return super().additive_effects(codes, weights)
        edited = self._with_edits(self.refitted)
        found = (
            AdditiveEffect(
                effect.features,
                effect.groups,
                (matrix @ edited.shift[cells]).reshape(*effect.shape, -1),
                effect.weight,
            )
            for effect, cells, matrix in shape_effects(edited)
        )
        return AdditiveEffects.anchored(tuple(found), self.log_posterior, self.vocabulary.features)

    def result(self) -> Any:
        """Return the results of statsmodels for the rows of the refit, or, of a smooth refit, its own.

        See :func:`~anbexact.adapters.statsmodels.results.mnlogit_result` and
        :class:`~anbexact.models.smooth.shapes.SmoothResult`.
        """
        if isinstance(self.refitted, SmoothRefit):
            return smooth_result(self.refitted)
        from anbexact.adapters.statsmodels.results import mnlogit_result

        return mnlogit_result(self)

    @cached_property
    def _network_of_posterior(self) -> TableNetwork:
        """The result of :meth:`to_network`, computed once."""
        if not self.equivalent:
            raise ValueError(
                f"a network of this structure may be unable to represent the posterior ({self.equivalence_report}): "
                "call close(), which adds the missing arcs"
            )
        source = self.network
        tables = {**source.tables, **posterior_tables(self.potentials, self.structure)}
        parents = {name: table.parents for name, table in tables.items()}
        score = source.structure.score if self.structure is source.structure else float("nan")
        structure = Structure.given(self.structure.class_name, parents, score)
        return replace(source, structure=structure, tables=tables, counts=None, estimation=None)

    def facts(self) -> dict[str, Any]:
        """Return the facts of the network that was learned, the refit, and the edits by hand."""
        found = self.learned.facts()
        if self.refitted is not None:
            found["refit"] = {
                "l2": self.refitted.l2,
                "coefficients": self.n_parameters,
                "conditional_log_likelihood": self.refitted.fit.log_likelihood,
                "converged": self.refitted.fit.converged,
                "equivalent_to_network": self.equivalent,
                "chosen": self.refitted.strength is not None,
                "complaint": self.convergence_message,
                **self.refitted.facts(self.vocabulary),
            }
            if self.refitted.fidelity is not None:
                found["fidelity"] = self.refitted.fidelity
        if self.edits:
            found["edits"] = [edit.record() for edit in self.edits]
        return found

    def on_one_graph(self, most_cells: int) -> LogitModel:
        """Return the model itself if it is ``equivalent`` to its network, and else what :meth:`close` returns."""
        return self if self.equivalent else self.close()

    def to_network(self) -> TableNetwork:
        """Return the network with this posterior; see :meth:`to_classifier`.

        Raises
        ------
        ValueError
            If the model is not ``equivalent`` to its network: call :meth:`close` first.
        """
        return self._network_of_posterior

    def to_classifier(self) -> FixedStructureClassifier:
        """Return a network classifier with this posterior.

        The tables of the class and of its children come from the coefficients (Algorithm 1 of Feelders and Ivanovs).
        Whatever these leave free is as close as possible to the network from which the model was made, with all
        classes treated alike; the other tables are those of that network.

        Returns
        -------
        FixedStructureClassifier
            Fitted. Its tables are not based on counts, so rows cannot be added. Its own ``fit``, and therefore
            cross-validation, repeats the procedure with other rows: it estimates the tables of this structure and, if
            this model is refitted, refits them with the ``l2`` that was given to :meth:`refit`, but not smoothly.

        Raises
        ------
        ValueError
            If the model is not ``equivalent`` to its network: call :meth:`close` first.
        """
        l2 = None
        if self.refitted is not None:
            given = self.refitted.strength is None and not isinstance(self.refitted, SmoothRefit)
            l2 = self.refitted.l2 if given else "auto"
        return self.origin.classifier_of(self.to_network(), l2)

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the refit and the edits; network and origin are not part of it."""
        positions = self.vocabulary.positions
        described = {} if self.refitted is None else self.refitted.to_dict(positions)
        return {**described, "edits": [edit.to_dict(positions) for edit in self.edits]} if self.edits else described

    @classmethod
    def of_refit(cls, described: Mapping[str, Any], network: TableNetwork, origin: Origin) -> LogitModel:
        """Return the model that :meth:`to_dict` described, given its network and origin.

        Raises
        ------
        ValueError
            If the description does not match the network, or is inconsistent.
        """
        if "l2" in described:
            kind = SmoothRefit if "smooth" in described else Refit
            refitted = kind.from_dict(described, network)
            model = cls(network, origin, refitted.potentials, refitted=refitted)
        else:
            model = cls(network, origin, network_potentials(network.tables, network.structure))
        for of_edit in listed(described.get("edits", [])):
            model = model._edited(Edit.from_dict(mapped(of_edit), network.vocabulary))
        return model

    def to_pgmpy(self) -> DiscreteBayesianNetwork:
        """Return a pgmpy network with this posterior; see :meth:`to_classifier`."""
        return self.to_classifier().to_pgmpy()

    def __repr__(self) -> str:
        return model_text(self)
