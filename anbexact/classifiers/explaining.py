"""Exact explanations as methods of the classifiers that have a network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from anbexact.tables.prediction import check_choice
from anbexact.tables.reader import Reader

if TYPE_CHECKING:
    import pandas as pd

    from anbexact._runtime.arrays import Floats
    from anbexact.explanations.local import LocalExplanations
    from anbexact.explanations.reasons import Reasons
    from anbexact.models.family_sum import FamilySum
    from anbexact.models.model import Model


class Explaining:
    """A fitted classifier whose log odds are a sum over families."""

    @property
    @abstractmethod
    def reader_(self) -> Reader:
        """How frames are read."""

    if TYPE_CHECKING:  # an attribute, or a property

        @property
        def model_(self) -> Model:
            """What was learned."""

    @abstractmethod
    def _threads(self) -> int | None:
        """Return the number of threads; None for all processors."""

    def explain_local(
        self,
        X: Any,
        *,
        label: Any = None,
        against: Any = None,
        background: Any = None,
        conditional: bool = False,
    ) -> LocalExplanations:
        """Return exact Shapley values of the features of every row, for the log odds of one class against another.

        The value of a set S of features is the expected log odds when the features of S have the values of the row.
        A feature's Shapley value is what it adds to this, averaged over all orders in which the features become
        known. With ``base``, the expected log odds when nothing is known, the values of a row add up to its log odds.
        Because log odds are a sum over the families of a network, only the subsets of each family are enumerated:
        the values are exact, not sampled.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, as for ``predict``.
        label : class label, optional
            The class to explain; by default, the most probable class of each row other than ``against``.
        against : class label, optional
            The class to compare it with; by default, the most probable class of each row other than ``label``.
        background : {"training", "network"} or table, optional
            The distribution of the unknown features, independent of the known ones: the weighted training rows, the
            network's own marginals, or the rows of a table. The default is the training rows if the network has their
            counts, else the network.
        conditional : bool, default False
            Whether unknown features are summed out given the known ones, under the network:
            ``v(S) = ln P(label | x_S) / P(against | x_S)``. This enumerates the subsets of all features that depend
            on each other given the class, up to 12 of them.

        Returns
        -------
        LocalExplanations
            ``values`` (rows by features), ``base``, and the tidy ``frame``; ``print`` shows all rows. A missing or
            unknown cell is not a player in the game: its feature follows the background, or stays summed out. With
            ``conditional=False``, the term ``(missing cells)`` is the difference between the classifier's log odds,
            which sum missing cells out, and the value of the observed ones.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, if a table of the network contains a zero, or if columns are
            modelled by densities; with ``conditional=True``, if too many features depend on each other.

        References
        ----------
        Lundberg and Lee, *A unified approach to interpreting model predictions*, NeurIPS 2017; Janzing, Minorics and
        Blöbaum, *Feature relevance quantification in explainable AI: a causal problem*, AISTATS 2020.
        """
        from anbexact.explanations.local import explain_locally

        return explain_locally(
            self._family_sum(),
            self.reader_.rows(X),
            label=label,
            against=against,
            background=self._drawn(background),
            conditional=conditional,
            n_jobs=self._threads(),
        )

    def shapley_values(self, X: Any, *, background: Any = None) -> Floats:
        """Return the exact Shapley values of all classes, shape (rows, features, classes), in nats.

        They are the values of :meth:`explain_local` (with ``conditional=False``) for ``ln P(c | row)`` minus its mean
        over the classes, so they add up to 0 over the classes. The difference between the values of two classes is
        the value for their log odds.

        Parameters
        ----------
        X, background
            As for :meth:`explain_local`.
        """
        from anbexact.explanations.shapley import centred_values

        return centred_values(self._family_sum(), self.reader_.codes(X), self._drawn(background), self._threads())

    def explain_global(self, X: Any = None, *, background: Any = None) -> pd.DataFrame:
        """Return the importance of every feature, the most important first.

        Parameters
        ----------
        X : table, optional
            Rows to average over, as for ``predict``.
        background
            As for :meth:`explain_local`.

        Returns
        -------
        DataFrame
            ``feature``; ``mean_abs_nats``, the mean of the absolute :meth:`shapley_values` over the rows and the
            classes (only with X); ``information``, the mutual information of the feature with the class under the
            network, in nats, when no other feature is known; ``share``, that information divided by the entropy of
            the class.
        """
        from anbexact.explanations.shapley import explain_globally

        codes = None if X is None else self.reader_.codes(X)
        return explain_globally(self._family_sum(), codes, self._drawn(background), self._threads())

    def sufficient_reasons(self, X: Any, *, size: str = "minimal") -> Reasons:
        """Return, for every row, features whose values alone decide the prediction.

        The same class is predicted for all states that the other features can have. This is proved by elimination,
        not tested on rows. The other classes must stay behind by at least 1e-9 nats.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        size : {"minimal", "smallest"}, default "minimal"
            ``"minimal"``: no feature can be left out of the reason. ``"smallest"``: in addition, no other reason has
            fewer features. This takes a search, which is abandoned after 20,000 nodes per row.

        Returns
        -------
        Reasons
            ``frame`` has one row per row; ``print`` shows sentences. Missing and unknown cells are never part of a
            reason. Where such cells leave the decision open, there is no reason.

        Raises
        ------
        ValueError
            If the network has so many arcs that the elimination would need tables of more than 20 million numbers;
            the message states their size.

        References
        ----------
        Shih, Choi and Darwiche, *A symbolic approach to explaining Bayesian network classifiers*, IJCAI 2018.
        """
        from anbexact.explanations.reasons import sufficient_reasons

        return sufficient_reasons(self._family_sum(), self.reader_.rows(X), size, self._threads())

    def nearest_change(self, X: Any, *, keep: Collection[Hashable] = (), target: Any = None) -> pd.DataFrame:
        """Return, for every row, the fewest features to change so that another class is predicted.

        Among changes of equally few features, it is the one after which another class leads the predicted one by
        most; with ``target``, it is one of those after which that class leads all others. Elimination proves that no
        change of fewer features suffices. A change describes what the classifier would predict for another row, not
        what would happen if somebody changed the features.

        Parameters
        ----------
        X : table
            Complete rows, as for ``predict``.
        keep : collection of features
            Features that must stay as they are, such as an age.
        target : class label, optional
            The class that should be predicted; by default, any other class. A target takes a search, which is slower
            and is abandoned after 20,000 nodes for every number of changes.

        Returns
        -------
        DataFrame
            ``row`` (label of the row in the index of X, else its position); ``decision``, the predicted class;
            ``exists``, whether any change suffices; ``smallest``, whether it is proved that fewer changes do not
            suffice (only an abandoned search leaves this open); ``size``, the number of changed features, 0 where
            ``target`` is predicted already; ``changes``, a mapping of these features to their new states; ``text``;
            ``becomes`` and ``probability``, the class that is predicted after the change and its probability.

        Raises
        ------
        ValueError
            If a cell is missing, if ``keep`` contains a name that is not a feature, if ``target`` is not a class, or
            if the network has too many arcs; see :meth:`sufficient_reasons`.
        """
        from anbexact.explanations.nearest import nearest_change

        return nearest_change(self._family_sum(), self.reader_.rows(X), keep, target, self._threads())

    def what_if(self, X: Any, changes: Any) -> pd.DataFrame:
        """Return the class posteriors of rows in which some features have other values.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        changes : mapping, or list or mapping of mappings
            The new values of some features: one scenario, or several, in a list or by name. None, or another missing
            value, means that the feature is unknown.

        Returns
        -------
        DataFrame
            One row per scenario, row and class: ``row``, ``scenario``, ``class``, ``before`` (P(class | row)),
            ``probability`` (P(class | changed row)) and ``change``, their difference.

        Raises
        ------
        TypeError, ValueError
            If ``changes`` has another form, or contains an unknown feature or state.
        """
        from anbexact.explanations.sensitivity import what_if

        reader = self.reader_
        return what_if(self._family_sum(), reader, reader.rows(X), changes)

    def tornado(self, X: Any, *, label: Any = None) -> pd.DataFrame:
        """Return, for every row, how far each feature on its own can move the probability of a class.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        label : class label, optional
            The class; by default the predicted one of every row.

        Returns
        -------
        DataFrame
            One row per row and feature of two states or more, the widest range of a row first: ``row``, ``label``,
            ``feature``, ``state`` (None where missing), ``probability`` (P(label | row)), ``low`` and ``high`` (its
            range over all states of the feature, the other cells as they are), ``low_state`` and ``high_state``, and
            ``changes_decision``, whether another class is predicted for some state.
        """
        from anbexact.explanations.sensitivity import tornado

        return tornado(self._family_sum(), self.reader_.rows(X), label)

    def tornado_of_entries(self, X: Any, *, label: Any = None, odds: float | None = None) -> pd.DataFrame:
        """Return, for every row, how far each entry of the conditional tables can move the probability of a class.

        P(label | row) is a quotient of two linear functions of an entry if the other entries of the same distribution
        change in proportion, as they do here. Entries on which the row does not depend are left out, and so are those
        of families with a missing cell.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        label : class label, optional
            The class; by default the predicted one of every row.
        odds : float, optional
            The range of every entry is found by dividing and multiplying its odds by this number. The default range
            is the 95 % credible interval of the entry, with equal tails, from its Dirichlet posterior.

        Returns
        -------
        DataFrame
            The widest range of a row first: ``row``, ``label``, ``entry`` (text), ``value``, ``value_low`` and
            ``value_high`` (the entry and its range), ``probability`` (P(label | row)), ``low`` and ``high`` (its
            range), ``break_even`` (the value at which the entry's class is as probable as the best other class, NaN
            if there is none up to 1) and ``changes_decision``, whether that lies within the range.

        Raises
        ------
        ValueError
            If the tables have no Dirichlet posterior and ``odds`` is not given.

        References
        ----------
        Coupé and van der Gaag, *Properties of sensitivity analysis of Bayesian belief networks*, Annals of
        Mathematics and Artificial Intelligence 36 (2002).
        """
        from anbexact.explanations.entries import tornado_of_entries

        return tornado_of_entries(self._family_sum(), self.reader_.rows(X), label, odds)

    def next_question(
        self,
        X: Any,
        *,
        costs: Any = None,
        utilities: Any = None,
        prices: Mapping[Hashable, float] | None = None,
        by: str | None = None,
    ) -> pd.DataFrame:
        """Return the expected value of knowing each missing cell, and the one to ask for next.

        Expectations are over the answers, given the observed cells. Do not ask a question that is worth less than its
        price; stop when none is worth its price. The rule looks one answer ahead. Two answers can be worth something
        together even if each alone is worth nothing, which is more likely for ``gain`` than for ``information``.
        ``sufficient_reasons(X).exists`` tells whether any answers can still change the decision.

        Parameters
        ----------
        X : table
            The features; missing cells are the possible questions.
        costs, utilities : optional
            Costs or utilities of decisions; see :meth:`decide`. By default, a wrong decision costs 1.
        prices : mapping of feature to number, optional
            The cost of a question, in the units of ``by``; by default, questions are free.
        by : {"information", "gain"}, optional
            The quantity by which questions are ranked: by default the information, or the gain if there are costs or
            utilities.

        Returns
        -------
        DataFrame
            One row per missing cell of a feature of two states or more, the most valuable of a row first: ``row``,
            ``feature``; ``information``, by how much the entropy of the class is expected to fall, in nats; ``gain``,
            by how much the expected cost of the best decision is expected to fall; ``changes_decision``, the
            probability that the answer changes the decision; ``probability``, P(predicted class), and ``low``
            and ``high``, its range over the answers; ``value``, the information or gain less the price; and ``ask``,
            whether this is the question to ask next.

        Raises
        ------
        ValueError
            If costs or prices do not fit, or for an invalid ``by``.

        References
        ----------
        Heckerman, Horvitz and Middleton, *An approximate nonmyopic computation for value of information*, IEEE
        Transactions on Pattern Analysis and Machine Intelligence 15 (1993).
        """
        from anbexact.explanations.decisions import read_costs
        from anbexact.explanations.questions import next_questions

        if costs is not None and utilities is not None:
            raise ValueError("costs and utilities were both given: a decision follows from one of them")
        plain = costs is None and utilities is None
        ranked = ("information" if plain else "gain") if by is None else by
        check_choice("by", ranked, ("information", "gain"))
        source = self._family_sum()
        classes = source.vocabulary.states[source.vocabulary.class_name]
        name = "utilities" if utilities is not None else "costs"
        matrix = read_costs(utilities if utilities is not None else costs, name, classes)
        return next_questions(source, self.reader_.rows(X), matrix, prices or {}, ranked)

    def _family_sum(self) -> FamilySum:
        check_is_fitted(self)
        return self.model_.family_sum()

    def _drawn(self, background: Any) -> Any:
        """Return a background with rows as codes."""
        return background if background is None or isinstance(background, str) else self.reader_.codes(background)
