"""The optimal augmented naive Bayes over features selected by Bayes factors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.choosing.frequencies import smoothing_compared
from anbexact.classifiers.choosing.sample_size import PLAIN, Learn, Learned, Search, Validation
from anbexact.classifiers.exact import ExactClassifier
from anbexact.classifiers.parameters import ExactParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.parameters.smoothing import best_smoothing
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.scores.acll import check_positive
from anbexact.search import learn_anb
from anbexact.search.bayes_factor import check_thresholds
from anbexact.search.constraints import make_constraints
from anbexact.search.fsanb import Selection, learn_selected
from anbexact.tables.table import DiscreteTable


@parameter_group
class FSANBParameters(ExactParameters):
    """How features are selected."""

    structure_score: str = field(default="bdeu", init=False)
    ess: float | Sequence[float] = (1.0, 2.0, 5.0)  # type: ignore[assignment]  # several, where other networks have one
    threshold: float | Sequence[float] = (3.0, 20.0, 150.0)
    network_ess: float | None = None


@register_classifier(
    "fsanb",
    "optimal augmented naive Bayes over selected features (fsANB)",
    compared=[Compared("fsANB", 110), Compared("fsANB-BDeu", 112, refitted=False, parameters={"ess": 1.0})],
    saved=["selection_ess_", "threshold_", "log_bayes_factors_"],
)
class FSANBClassifier(FSANBParameters, ExactClassifier):
    """The optimal augmented naive Bayes over the features that Bayes factors select (fsANB).

    A feature X_i is dropped if BF(C, X_i) > δ, that is, if the data are more than δ times as probable under
    independence of X_i and the class C as under dependence. A feature with a single state is dropped, too; columns
    that look like identifiers are such features. The optimal augmented naive Bayes over the other features is then
    learned, as by :class:`~anbexact.ANBClassifier`. Dropped features have no arcs in the network: they stay in the
    vocabulary and are required at prediction, but have no influence on the class.

    Equivalent sample size and δ are chosen by accuracy in two-fold cross-validation, for which selection and search
    are repeated in every fold, with EAP tables; see :func:`~anbexact.search.fsanb.learn_selected`. Cut points are
    computed from all rows.

    Parameters
    ----------
    ess : float or sequence of float, default (1.0, 2.0, 5.0)
        Equivalent sample size α of Bayes factors, score and tables, or several values to choose from.
    network_ess : float, optional
        Equivalent sample size of score and tables; by default, that of the Bayes factors. (Sugahara and Ueno seem to
        use 1 here, and one of three values for the Bayes factors: see the page "The papers' tables, measured again".)
    threshold : float or sequence of float, default (3.0, 20.0, 150.0)
        The Bayes factor δ for independence above which a feature is dropped, or several values to choose from.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs between features that the structure must, or must not, contain. Features in required arcs are not
        dropped.
    max_parents : int, optional
        Maximum number of feature parents of a feature, not counting the class; 0 is naive Bayes.
    memory_limit : float, optional
        Maximum memory of the search in bytes; by default, all available memory.
    time_limit : float, optional
        Total time limit in seconds. Up to 70 % is spent choosing ``ess`` and ``threshold``; combinations not tried by
        then are skipped. The rest goes to the final search. Ctrl-C during the choice raises `KeyboardInterrupt`.

    The other parameters are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    selection_ess_, threshold_ : float
        The values chosen for ``ess`` (of the Bayes factors) and for ``threshold``.
    ess_ : float
        Equivalent sample size of score and tables.
    log_bayes_factors_ : (features,) float64
        ln BF(C, X_i) of every feature, in nats; positive if the data support independence.
    removed_ : dict
        The features that were dropped, with their ln BF.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 5.

    Examples
    --------
    >>> from anbexact import FSANBClassifier
    >>> from anbexact.datasets import load_anes96
    >>> X, y = load_anes96()
    >>> fsanb = FSANBClassifier(ess=1.0, threshold=3.0).fit(X, y)
    >>> {name: round(factor, 1) for name, factor in fsanb.removed_.items()}
    {'TVnews': 23.9, 'age': 5.3, 'educ': 18.9}
    """

    selection_ess_: float
    threshold_: float
    log_bayes_factors_: npt.NDArray[np.float64]

    @property
    def removed_(self) -> dict[Hashable, float]:
        """The features that were dropped, with their ln BF; nats."""
        check_is_fitted(self)
        factors = dict(zip(self.vocabulary_.features, self.log_bayes_factors_.tolist(), strict=True))
        return {name: factors[name] for name in self.structure_.features if not self.structure_.parents[name]}

    def _ess_values(self) -> Sequence[Any]:
        return _several(self.ess)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_thresholds("ess", self._ess_values())
        check_thresholds("threshold", _several(self.threshold))
        if self.network_ess is not None:
            check_positive("network_ess", self.network_ess)

    def _structure_learner(self, table: DiscreteTable, validation: Validation = PLAIN) -> Callable[..., Learned]:
        return partial(self._learn_selected, table, validation, time_limit=self.time_limit)

    def _learn_selected(self, table: DiscreteTable, validation: Validation, time_limit: float | None) -> Learned:
        """Return the structure over the selected features, with the equivalent sample sizes."""
        make_constraints(table.vocabulary.features, self.max_parents, self.required_edges, self.forbidden_edges)
        sizes = check_thresholds("ess", self._ess_values())
        thresholds = check_thresholds("threshold", _several(self.threshold))
        found = learn_selected(
            table,
            self._learn,
            choices=[(ess, threshold) for ess in sizes for threshold in thresholds],
            network_ess=self.network_ess,
            always={name for edge in self.required_edges for name in edge},
            time_limit=time_limit,
            n_jobs=self.n_jobs,
            progress=self.progress(),
        )
        self.selection_ess_, self.threshold_ = found.ess, found.threshold
        self.log_bayes_factors_ = found.log_bayes_factors
        structure, ess = found.structure, found.network_ess
        learn = partial(self._learn_chosen, found.ess, found.threshold)
        plain, _ = self._searches(table)
        search = Search(learn, partial(self._selected_structure, plain.rehearse))
        asked = ess if self.smoothing is None else self.smoothing
        given = None if isinstance(asked, str) else float(asked)
        if validation is PLAIN and self.parameters == "eap":
            smoothing, own = smoothing_compared(table, structure, given)
            return Learned(structure, ess, smoothing, search, own)
        return Learned(structure, ess, best_smoothing(table, structure) if given is None else given, search)

    def _selected_structure(
        self, learn: Learn, table: DiscreteTable, score: Score, time_limit: float | None
    ) -> Structure:
        """Return the structure of some rows, over the features selected from them with the values chosen on all."""
        return self._selected(learn, self.selection_ess_, self.threshold_, table, time_limit).structure

    def _learn_chosen(
        self, ess: float, threshold: float, table: DiscreteTable, score: Score, time_limit: float | None
    ) -> Structure:
        """Return the structure over the features that given values select, and store the Bayes factors."""
        found = self._selected(self._learn, ess, threshold, table, time_limit)
        self.log_bayes_factors_ = found.log_bayes_factors
        return found.structure

    def _selected(
        self, learn: Learn, ess: float, threshold: float, table: DiscreteTable, time_limit: float | None
    ) -> Selection:
        """Return the structure over the features that given values select, and the Bayes factors."""
        return learn_selected(
            table,
            learn,
            choices=[(ess, threshold)],
            network_ess=self.network_ess,
            always={name for edge in self.required_edges for name in edge},
            time_limit=time_limit,
            n_jobs=self.n_jobs,
        )

    def _search(self, table: DiscreteTable, score: Score, **limits: Any) -> Structure:
        kept = set(table.vocabulary.features)
        limits["forbidden"] = [edge for edge in self.forbidden_edges if kept.issuperset(edge)]
        return learn_anb(table, score, **limits)


def _several(value: Any) -> Sequence[Any]:
    """Return a value, or an iterable of values, as a tuple."""
    return (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
