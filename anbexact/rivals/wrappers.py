"""Classifiers whose structure is chosen by greedy search with leave-one-out: joined features, and trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from time import perf_counter

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.parameters import NetworkParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Certificate, Structure
from anbexact.rivals.wrappers_search import (
    Families,
    Steps,
    add_tree_arcs,
    groups_of,
    join_backwards,
    join_forwards,
    learn_greedily,
)
from anbexact.scores import Score
from anbexact.search.scoring.totals import total_score
from anbexact.tables.table import DiscreteTable


@parameter_group
class WrapperParameters(NetworkParameters):
    """How long a greedy search may take."""

    time_limit: float | None = None


class WrapperClassifier(WrapperParameters, NetworkClassifier):
    """A network found by greedy search, guided by predictions of every row from the other rows.

    Parameters
    ----------
    time_limit : float, optional
        Time limit of the search in seconds, after which the best structure found so far is used.
    structure_score : str or Score, default "bdeu"
        The score that is reported for the structure. Its equivalent sample size, if it has one, is that of the tables
        that predict rows.
    """

    _steps: Steps
    _relearns = False

    @abstractmethod
    def _start(self, features: tuple[Hashable, ...]) -> Families:
        """Return the families from which the search starts."""

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        began, name, features = perf_counter(), table.vocabulary.class_name, table.vocabulary.features
        ess = float(getattr(score, "ess", 1.0))
        families, value = learn_greedily(
            table, self._start(features), type(self)._steps, ess=ess, time_limit=time_limit
        )
        place = {feature: k for k, feature in enumerate(features)}
        parents: dict[Hashable, tuple[Hashable, ...]] = {
            feature: (name, *sorted(families[feature], key=place.__getitem__)) if feature in families else ()
            for feature in features
        }
        parents[name] = ()
        method = f"greedy by leave-one-out: conditional log likelihood {value:.6g} nats"
        certificate = Certificate(False, float("inf"), float("inf"), 0, perf_counter() - began, method)
        return Structure(name, parents, total_score(table, score, parents), certificate)


class JoiningClassifier(WrapperClassifier):
    """Naive Bayes over groups of joined features; each group is one variable with all joint states."""

    @property
    def groups_of_features_(self) -> tuple[tuple[Hashable, ...], ...]:
        """The groups; features in no group were left out."""
        structure = self.structure_
        order = [name for name in structure.topological_order() if structure.parents[name]]
        return tuple(groups_of({name: structure.parents[name][1:] for name in order}))

    @property
    def removed_(self) -> tuple[Hashable, ...]:
        """The features that were left out."""
        return tuple(name for name in self.structure_.features if not self.structure_.parents[name])


@register_classifier("fssj", "forward selection and joining of features (FSSJ)", compared=[Compared("FSSJ", 16)])
class FSSJClassifier(JoiningClassifier):
    """Naive Bayes over features that a forward search selects and joins (FSSJ).

    The search starts without features. Each step adds a feature, either alone or joined with others into one variable
    with all joint states. The search takes the step that predicts every row best from the others, measured by the
    conditional log likelihood (Pazzani counts errors), and ends when no step is an improvement. Joined features are
    completely connected in the network, which gives the same distribution; groups have at most 4 million joint states
    with the class. A step tries at most n² networks.

    Parameters are those of :class:`~anbexact.NetworkClassifier`, and ``time_limit``.

    Attributes
    ----------
    groups_of_features_ : tuple of tuple
        The groups of joined features; a feature on its own is a group of one.
    removed_ : tuple
        The features that were left out.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Pazzani, *Constructive induction of Cartesian product attributes*, ISIS 1996.

    Examples
    --------
    >>> from anbexact.classifiers import FSSJClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(3)
    >>> FSSJClassifier(ess=1.0).fit(X, y).groups_of_features_
    (('body_shape', 'jacket_color', 'holding'),)
    """

    _steps = staticmethod(join_forwards)

    def _start(self, features: tuple[Hashable, ...]) -> Families:
        return {}


@register_classifier("bsej", "backward elimination and joining of features (BSEJ)", compared=[Compared("BSEJ", 18)])
class BSEJClassifier(JoiningClassifier):
    """Naive Bayes over features that a backward search eliminates and joins (BSEJ).

    The search starts with naive Bayes. Each step leaves a feature out, or joins two variables into one with all joint
    states. The search takes the step that predicts every row best from the others, measured by the conditional log
    likelihood (Pazzani counts errors), and ends when no step is an improvement. Joined features are completely
    connected in the network, which gives the same distribution; groups have at most 4 million joint states with the
    class. A step tries at most n² networks.

    Parameters are those of :class:`~anbexact.NetworkClassifier`, and ``time_limit``.

    Attributes
    ----------
    groups_of_features_ : tuple of tuple
        The groups of joined features; a feature on its own is a group of one.
    removed_ : tuple
        The features that were left out.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Pazzani, *Constructive induction of Cartesian product attributes*, ISIS 1996.

    Examples
    --------
    >>> from anbexact.classifiers import BSEJClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> BSEJClassifier(ess=1.0).fit(X, y).removed_
    ('is_smiling', 'holding', 'has_tie')
    """

    _steps = staticmethod(join_backwards)

    def _start(self, features: tuple[Hashable, ...]) -> Families:
        return dict.fromkeys(features, ())


@register_classifier(
    "tanhc", "tree augmented naive Bayes by hill climbing (TAN-HC)", compared=[Compared("TAN-HC", 32)]
)
class TANHCClassifier(WrapperClassifier):
    """Forest augmented naive Bayes found by greedy search with leave-one-out (TAN-HC).

    The search starts with naive Bayes. Each step adds an arc to a feature without a feature parent: the arc that
    predicts every row best from the others, measured by the conditional log likelihood (Keogh and Pazzani count
    errors). The search ends when no arc is an improvement. A step tries at most n² networks.

    The parameters are those of :class:`~anbexact.NetworkClassifier`, and ``time_limit``; the attributes are those of
    :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Keogh and Pazzani, *Learning augmented Bayesian classifiers*, AISTATS 1999.

    Examples
    --------
    >>> from anbexact.classifiers import TANHCClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> TANHCClassifier(ess=1.0).fit(X, y).structure_.feature_edges
    (('body_shape', 'head_shape'),)
    """

    _steps = staticmethod(add_tree_arcs)

    def _start(self, features: tuple[Hashable, ...]) -> Families:
        return dict.fromkeys(features, ())
