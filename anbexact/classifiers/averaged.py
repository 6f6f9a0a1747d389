"""Classifiers that average over all networks of a kind instead of choosing one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.progress import Progress
from anbexact.classifiers.parameters import EdgeParameters, TableParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.classifiers.structureless import StructurelessClassifier
from anbexact.models.network.table_draws import check_draws
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.search.posterior.averaged_model import ESS_GRID, AveragedModel, Averaging, averaged_intervals
from anbexact.search.posterior.structure_posterior import PRIORS
from anbexact.tables.cuts import Cuts
from anbexact.tables.prediction import check_choice
from anbexact.tables.table import DiscreteTable


@parameter_group
class AveragedParameters(EdgeParameters, TableParameters):
    """Parameters of all averages over networks."""

    ess: float | str = "auto"
    draws: int = 200
    random_state: int = 0


class AveragedClassifier(AveragedParameters, StructurelessClassifier):
    """The average of all networks of a kind, weighted by their posterior probability. Subclasses name the kind.

    ``P(c, x) = Σ_G P(G | D) P(c, x | G, D)``, where ``P(c, x | G, D)`` is the prediction of network G with expected a
    posteriori tables. The probabilities of a single network, even one that is proved optimal, ignore other networks
    that may be almost as probable. Here all of them contribute. See the page "How sure is a structure?".

    There is no single structure, so predictions cannot be explained, and the model cannot be converted.

    Parameters
    ----------
    ess : float or "auto", default "auto"
        Equivalent sample size of BDeu and of the tables. ``"auto"`` also averages over the values 1, 2, 4, 8, 16, 32
        and 64, all equally probable a priori.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs between features that all networks must, or must not, contain.
    draws : int, default 200
        Number of networks drawn from the posterior. They replace the sum over all networks where there are too many
        of these, and for rows whose missing cells have more than 1,024 joint states.
    random_state : int, default 0
        Seed of these draws.

    ``discretizer``, ``categories``, ``group_categories``, ``handle_unknown``, ``handle_missing``,
    ``drop_identifiers``, ``decimal``, ``class_weight``, ``n_jobs`` and ``verbose`` are those of
    :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    arcs_ : DataFrame
        The probabilities of all arcs; see :class:`~anbexact.StructurePosterior`.
    ess_shares_ : Series
        The posterior probabilities of the equivalent sample sizes.
    ess_ : float
        The mean of the equivalent sample size.
    exact_ : bool
        Whether complete rows are predicted by the sum over all networks, not by draws.

    ``classes_``, ``vocabulary_``, ``cut_points_``, ``n_features_in_`` and ``feature_names_in_`` are those of
    :class:`~anbexact.NetworkClassifier`.
    """

    model_: AveragedModel
    model_type = AveragedModel

    @abstractmethod
    def _networks(self) -> str:
        """Return the kind of networks that are averaged."""

    @property
    def arcs_(self) -> pd.DataFrame:
        """The probabilities of all arcs."""
        return self.model_.arcs.copy()

    @property
    def ess_shares_(self) -> pd.Series[float]:
        """The posterior probabilities of the equivalent sample sizes."""
        return self.model_.ess_shares.copy()

    @property
    def ess_(self) -> float:
        """The mean of the equivalent sample size."""
        shares = self.model_.ess_shares
        return float((shares * shares.index).sum())

    @property
    def exact_(self) -> bool:
        """Whether complete rows are predicted by the sum over all networks."""
        return self.model_.exact

    def draw_structures(self, n: int = 1, *, random_state: Any = None) -> list[Structure]:
        """Return independent draws of structures from the posterior, each with its own equivalent sample size.

        Parameters
        ----------
        n : int, default 1
            Number of structures.
        random_state : int or Generator, optional
            Seed of the draws.
        """
        return [structure for _, structure in self.model_.draw(n, random_state)]

    def predict_proba_interval(
        self, X: Any, *, mass: float = 0.95, draws: int = 1000, random_state: int | np.random.Generator | None = 0
    ) -> npt.NDArray[np.float64]:
        """Return credible intervals of P(class | row), given how uncertain sample size, structure and tables are.

        Each draw from the posterior consists of an equivalent sample size, a structure and all of its tables, and
        predicts all rows. States and cut points are taken as given. For n features, a draw takes at most O(n 2ⁿ)
        steps; a draw of a tree or forest takes O(n⁴).

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, as for ``predict_proba``; missing cells are summed out in each drawn network.
        mass : float, default 0.95
            Posterior probability of the interval; the two tails have equal probability.
        draws : int, default 1000
            Number of independent draws. With 1,000 draws, the ends of 95 % intervals vary by about 5 % of their
            width.
        random_state : int or Generator, default 0
            Seed of the draws.

        Returns
        -------
        (rows, classes, 2) array
            Lower and upper ends; classes as in ``classes_``.

        Raises
        ------
        ValueError
            For an invalid parameter.
        """
        rows = self.reader_.codes(X)
        return averaged_intervals(self.model_, rows, check_draws(mass, draws), random_state, self.n_jobs)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.ess != "auto":
            BDeu(self.ess)  # type: ignore[arg-type]  # it refuses values that are not positive numbers
        draws: Any = self.draws
        if isinstance(draws, bool) or not isinstance(draws, Integral) or draws < 1:
            raise ValueError(f"draws must be a whole number of at least 1, not {draws!r}")
        seed: Any = self.random_state
        if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
            raise ValueError(f"random_state must be a whole number of at least 0, not {seed!r}")

    def averaging(self) -> Averaging:
        """Return which networks are averaged, and how."""
        return Averaging(
            networks=self._networks(),
            required=_edges(self.required_edges),
            forbidden=_edges(self.forbidden_edges),
            ess=ESS_GRID if isinstance(self.ess, str) else (float(self.ess),),
            draws=int(self.draws),
            random_state=int(self.random_state),
            n_jobs=self.n_jobs,
        )

    def _model_of(
        self, table: DiscreteTable, cut_points: dict[Hashable, Cuts], progress: Progress | None
    ) -> AveragedModel:
        return AveragedModel(
            vocabulary=table.vocabulary, cut_points=cut_points, table=table, averaging=self.averaging()
        )


def _edges(edges: Iterable[Any]) -> tuple[Any, ...]:
    """Return arcs as tuples; an arc may be given as a list."""
    return tuple(tuple(edge) if isinstance(edge, list) else edge for edge in edges)


@register_classifier(
    "averaged-tan",
    "average of all tree augmented naive Bayes networks",
    compared=[Compared("TAN averaged", 25, refitted=False)],
)
class AveragedTANClassifier(AveragedClassifier):
    """The average of all tree augmented naive Bayes networks (TAN), exact for any number of features.

    The sum over all n^(n-1) trees, directed away from their roots and all equally probable a priori, is a
    determinant, so each row and class takes O(n³) steps for n features. No structure is chosen, and there is no
    search.

    The parameters, and the fitted attributes, are those of :class:`~anbexact.classifiers.AveragedClassifier`.

    References
    ----------
    Meilă and Jaakkola, *Tractable Bayesian learning of tree belief networks*, UAI 2000; Cerquides and López de
    Mántaras, *TAN classifiers based on decomposable distributions*, Machine Learning 59 (2005).

    Examples
    --------
    >>> from anbexact.classifiers import AveragedTANClassifier
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> averaged = AveragedTANClassifier().fit(X, y)
    >>> averaged.exact_
    True
    >>> round(averaged.score(X, y), 3)
    0.832
    """

    def _networks(self) -> str:
        return "tan"


@register_classifier(
    "averaged-fan",
    "average of all forest augmented naive Bayes networks",
    compared=[Compared("FAN averaged", 35, refitted=False)],
)
class AveragedFANClassifier(AveragedClassifier):
    """The average of all forest augmented naive Bayes networks (FAN), exact for any number of features.

    Like :class:`~anbexact.classifiers.AveragedTANClassifier`, but over all (n + 1)^(n-1) forests, including
    naive Bayes.

    The parameters, and the fitted attributes, are those of :class:`~anbexact.classifiers.AveragedClassifier`.

    Examples
    --------
    >>> from anbexact.classifiers import AveragedFANClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> AveragedFANClassifier().fit(X, y).arcs_.head(2).round(3)
           parent       child  probability  adjacent
    0  head_shape  body_shape          0.5       1.0
    1  body_shape  head_shape          0.5       1.0
    """

    def _networks(self) -> str:
        return "fan"


@parameter_group
class AveragedANBParameters(AveragedParameters):
    """Parameters of averages over augmented naive Bayes networks."""

    prior: str = "orders"
    max_parents: int | None = None
    memory_limit: float | None = None


@register_classifier(
    "averaged-anb",
    "average of all augmented naive Bayes networks",
    compared=[Compared("ANB averaged", 75, refitted=False)],
)
class AveragedANBClassifier(AveragedANBParameters, AveragedClassifier):
    """The average of all augmented naive Bayes networks (ANB).

    The class is a parent of every feature, and the graph over the features is any acyclic graph. With up to 14
    features of two or more states, predictions are exact sums over all orders of the features and all networks
    compatible with them, in O(n² 2ⁿ) steps for each row and class. With more features, up to about 25, predictions
    come from networks drawn from the exact posterior.

    Parameters
    ----------
    prior : {"orders", "graphs"}, default "orders"
        Whether all orders of the features or all graphs are equally probable a priori; see
        :func:`~anbexact.structure_posterior`. ``"graphs"`` supports up to 12 features and predicts by draws with 8 or
        more.
    max_parents : int, optional
        Maximum number of feature parents of a feature.
    memory_limit : float, optional
        Maximum memory of the sums in bytes, for each equivalent sample size; by default, all available memory.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.classifiers.AveragedClassifier`.

    References
    ----------
    Koivisto and Sood, *Exact Bayesian structure discovery in Bayesian networks*, JMLR 5 (2004).

    Examples
    --------
    >>> from anbexact.classifiers import AveragedANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> averaged = AveragedANBClassifier().fit(X, y)
    >>> averaged.score(X, y)
    1.0
    >>> len(averaged.draw_structures(3, random_state=0))
    3
    """

    _most_compared = 10

    def _networks(self) -> str:
        return "anb"

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("prior", self.prior, PRIORS)

    def averaging(self) -> Averaging:
        """Return which networks are averaged, and how."""
        common = super().averaging()
        return replace(common, prior=self.prior, max_parents=self.max_parents, memory_limit=self.memory_limit)
