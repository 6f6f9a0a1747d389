"""What all classifiers that are networks share: structure, conditional tables, and other forms of the network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.has_network import HasNetwork
from anbexact.classifiers.parameters import NetworkParameters
from anbexact.classifiers.sample_size import Learn, Learner, learn_structure
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.discretize import Cuts
from anbexact.inputs.reading import cell_values, check_choice
from anbexact.networks.explain import Explanations, Family, Grounds, Rows, explain_rows
from anbexact.networks.posterior import ClassPosterior, Posterior
from anbexact.parameters.counts import Counts, count_families
from anbexact.parameters.tables import Tables, acll_tables, eap_tables, friedman_tables, ml_tables
from anbexact.scores import ACLL, Score
from anbexact.scores.registry import SCORES
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.columns import read_columns
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from anbexact.adapters.logit import LogitModel

PARAMETERS = ("eap", "ml", "friedman", "acll")
"""How conditional tables can be estimated."""


def _check_ess(name: str, value: Any) -> None:
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number above 0, or 'auto', not {value!r}")


class NetworkClassifier(NetworkParameters, HasNetwork, TableClassifier):
    """A Bayesian network that classifies. Subclasses say how the structure is learned.

    Parameters
    ----------
    structure_score : str or Score, default "bdeu"
        What the structure is scored by: ``"bdeu"``, ``"bds"``, ``"k2"``, ``"kt"``, ``"ll"``, ``"aic"``, ``"bic"``,
        ``"hq"``, ``"mit"``, ``"qnml"``, ``"fnml"`` or ``"acll"``, with the defaults of :mod:`anbexact.scores`, or an
        object from there or of your own. (``score`` is scikit-learn's method.)
    ess : float or "auto", default "auto"
        Equivalent sample size of the scores ``"bdeu"`` and ``"bds"`` and, unless ``smoothing`` says otherwise, of the
        conditional tables. ``"auto"``: for BDeu one that, with the structure, gives the data a high marginal
        likelihood, for other scores 1, and ``smoothing="auto"``. With a total weight below 1,000, the choice is
        cross-validated against 1. That takes two to five searches, and up to eleven more with few rows. Where an
        exact search would take more than half a second, searches with at most two feature parents take their place,
        and one exact search follows. See :func:`~anbexact.classifiers.sample_size.learn_structure` and
        ``docs/equivalent-sample-size.md``. The papers have 1.0.
    parameters : {"eap", "ml", "friedman", "acll"}, default "eap"
        How the conditional tables are estimated: by :func:`~anbexact.parameters.tables.eap_tables`, ``ml_tables``,
        ``friedman_tables`` or ``acll_tables`` (with the prior and pseudo-count of ``structure_score`` if that is an
        :class:`~anbexact.scores.ACLL`). Tables of ``"ml"`` and ``"friedman"`` may hold zeros: a row that no class
        allows for then gets the first class and NaN probabilities, with a warning.
    smoothing : float, "auto" or None, default None
        Equivalent sample size of the conditional tables alone, for ``parameters="eap"``. ``"auto"``: the one that
        predicts every training row best from the others (see :func:`~anbexact.parameters.smoothing.best_smoothing`),
        or, with a total weight below 1,000, rows held out in 5 folds in which the structure is learned again. None:
        as ``ess`` says.
    discretizer : {"auto", "median", "mdlp", "modl", "equal_frequency", "equal_width"}, None or transformer
        What cuts numeric columns with more than 10 distinct values: :class:`~anbexact.MDLPDiscretizer`,
        :class:`~anbexact.MODLDiscretizer`, :class:`~anbexact.MedianDiscretizer`, or scikit-learn's
        ``KBinsDiscretizer`` with five intervals; None refuses such columns. ``"auto"``, the default, is
        ``MODLDiscretizer(max_bins=16, coarse=True)``, which leaves no column whole that has two values; measured in
        ``docs/cut-points.md``. A transformer must offer ``fit(X, y, sample_weight=...)`` and then ``cut_points_``, or
        ``bin_edges_``.
    categories : mapping of column name to states, optional
        Declared states. Else those of a categorical dtype, else the observed values.
    group_categories : "auto", int or None, default "auto"
        Columns of categories with more observed values than this number (``"auto"``: more than 10) have groups of
        values as states, the most probable ones given the classes; see :class:`~anbexact.MODLGrouper`. A column that
        is declared in ``categories`` is never grouped; the values of an ordered categorical dtype are only grouped
        with their neighbours. None groups nothing.
    handle_unknown : {"marginalize", "error"}, default "marginalize"
        A value at prediction that is no state is summed out, or refused.
    handle_missing : {"auto", "marginalize", "own_state", "error"}, default "auto"
        What becomes of missing cells of features. ``"marginalize"``: they are summed out at prediction, and their
        rows are left out of training, with a warning; but a column with a single state costs no row.
        ``"own_state"``: they are a state, ``"(missing)"``, where a column has some in training. ``"auto"``: they are
        a state in columns that would cost too many rows (see :func:`~anbexact.inputs.missing.common_gaps`), and
        marginalised in the others (measured in ``docs/missing-cells.md``). ``"error"``: they are refused. The cut
        points of a column come from all rows in which it is observed.
    drop_identifiers : {"auto", False}, default "auto"
        Whether columns that look like identifiers, free text or numbers of the rows are left out, with a warning that
        names them: from 50 observed rows on, text of which 95 % of the values or more are distinct, and whole numbers
        that hardly repeat where numbers of such a range would (see
        :func:`~anbexact.inputs.identifiers.identifier_reason`); never floats, nor what ``categories`` names. A column
        that is left out stays a feature with the single state ``"(left out)"``: prediction expects it, and takes any
        value.
    class_weight : None, "balanced" or mapping, optional
        Multiplies the weight of every row by that of its class: the given one, 1 for a class that is not in the
        mapping; or, ``"balanced"``, by W / (s W_c), with W the weight of all rows, s classes, and W_c the weight of
        the class. Probabilities are then those of a world in which the classes have these shares.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. Results do not depend on it.
    verbose : int, default 0
        Above 0, progress is shown on standard error; at 0 only on a terminal or in a notebook, from five seconds on;
        below 0 never.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    vocabulary_ : Vocabulary
        Names and states of all variables.
    structure_ : Structure
        The graph, with its score and certificate.
    ess_, smoothing_, parameters_ : float, float, str
        What ``ess`` (of the named scores), ``smoothing`` and ``parameters`` came to; those other than ``"eap"`` make
        no use of ``smoothing_``. Not there for a network whose tables were given.
    counts_ : dict or None
        Weighted counts of every variable with its parents, from which ``conditional_tables_`` are estimated; None for
        a network whose tables were given.
    conditional_tables_ : dict
        P(variable | parents) of every variable.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The same network for pgmpy, built and checked on first use; ``dir`` lists it from then on.
    cut_points_ : dict
        Cut points of every column that was discretised.
    handle_missing_ : dict
        What ``handle_missing`` came to for every feature: ``"own_state"``, ``"marginalize"`` or ``"error"``.
    dropped_ : dict
        The columns that were left out as identifiers, each with the reason.
    groups_ : dict
        Groups of values of every column of categories that was grouped, each a tuple of its values.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where all of them are strings.
    """

    _relearns = True
    """Whether structures may be learned again in folds of the rows, to choose equivalent sample sizes."""
    structure_: Structure
    smoothing_: float
    parameters_: str
    counts_: Counts | None
    conditional_tables_: Tables
    _posterior: ClassPosterior

    @abstractmethod
    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the structure; a search takes no longer than ``time_limit`` seconds."""

    def _learn_table(self, table: DiscreteTable, cut_points: dict[Hashable, Cuts]) -> Self:
        """Learn structure and parameters."""
        structure, ess, smoothing = self._choose(table)
        counts = count_families(table, structure)
        return self._set_learned(table, structure, counts, cut_points, (ess, smoothing, self.parameters))

    def _add(self, table: DiscreteTable) -> Self:
        """Add the counts of more rows."""
        assert self.counts_ is not None
        vocabulary = self.vocabulary_
        added = count_families(table, self.structure_)
        counts = {name: family + added[name] for name, family in self.counts_.items()}
        score = self._structure_score(self.ess_)
        total = sum(
            score.local_score(family.table(vocabulary), name, family.parents) for name, family in counts.items()
        )
        updated = Certificate.unknown("learned from earlier rows, not searched again")
        structure = Structure(self.structure_.class_name, self.structure_.parents, total, updated)
        settings = (self.ess_, self.smoothing_, self.parameters_)
        return self._set_counted(vocabulary, structure, counts, self.cut_points_, settings)

    def _set_learned(
        self,
        table: DiscreteTable,
        structure: Structure,
        counts: Counts,
        cut_points: dict[Hashable, Cuts],
        settings: tuple[float, float, str],
    ) -> Self:
        """Estimate the tables, and store the network; `table` has the rows behind the counts."""
        return self._set_counted(table.vocabulary, structure, counts, cut_points, settings)

    def _choose(self, table: DiscreteTable) -> tuple[Structure, float, float]:
        """Return the structure, and the equivalent sample sizes of its score and of its tables."""
        chooses_ess = self.ess == "auto" and self.structure_score == "bdeu"
        chooses_smoothing = self.smoothing == "auto" or (self.smoothing is None and self.ess == "auto")
        smooths = self.parameters == "eap"
        learner = Learner(
            self._learn, self._rehearsal(table), self._structure_score, chooses_ess, chooses_smoothing and smooths,
            smooths and self._relearns,
        )  # fmt: skip
        ess = 1.0 if isinstance(self.ess, str) else float(self.ess)
        smoothing = None if self.smoothing is None or isinstance(self.smoothing, str) else float(self.smoothing)
        learned = learn_structure(table, learner, ess, smoothing, getattr(self, "time_limit", None))
        return learned.structure, learned.ess, learned.smoothing

    def _rehearsal(self, table: DiscreteTable) -> Learn:  # a search may depend on the table
        """Return what learns the structures that only serve to choose equivalent sample sizes."""
        return self._learn

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, as for ``predict``.
        label : class label, optional
            The class that is explained; by default the most probable one of every row, other than ``against``.
        against : class label, optional
            The class that it is compared with; by default the most probable one of every row, other than ``label``.

        Returns
        -------
        list of Explanation
            One for each row, to be printed or taken apart (``terms``); ``to_frame()`` of the list has the terms of
            all rows. See :class:`~anbexact.networks.explain.Explanation`. Terms of measured columns are differences
            of log densities.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same.
        """
        return explain_rows(
            self._rows(X),
            self._posterior,
            self._families(),
            self.vocabulary_,
            self._grounds(),
            label,
            against,
        )

    def _rows(self, X: Any) -> Rows:
        """Return rows as explanations take them."""
        codes = self._codes(X)
        values = cell_values(read_columns(X), self.vocabulary_.features)
        index = X.index.tolist() if isinstance(X, pd.DataFrame) else range(codes.shape[1])
        return Rows(codes, values, index)

    def _families(self) -> Mapping[Hashable, Family]:
        """Return the tables whose logarithms add up to the log joint probability."""
        return self.conditional_tables_

    def _grounds(self) -> Grounds:
        """Return what these tables rest on."""
        if self.counts_ is None:
            note = (
                "There are no counts and no intervals: the tables of this network were given, not counted from rows."
            )
            return Grounds(None, None, note)
        if self.parameters_ == "eap":
            return Grounds(self.counts_, self.smoothing_)
        note = f"There are no intervals: tables by parameters={self.parameters_!r} have no Dirichlet posterior."
        return Grounds(self.counts_, None, note)

    @property
    def score_name_(self) -> str:
        """Name of the score of the structure, as in the literature."""
        check_is_fitted(self)
        return self._structure_score(self.ess_).name

    def _with_tables(self) -> NetworkClassifier:
        """Return a classifier that has conditional tables, for other programs: this one."""
        return self

    def _reported_table(self, X: Any, y: Any, sample_weight: Any) -> DiscreteTable:
        """Return rows as a table for reports, columns of numbers in few cells."""
        return self._table(X, y, sample_weight)

    def to_logit(self) -> LogitModel:
        """Return the equivalent logistic regression; see :func:`anbexact.adapters.to_logit`."""
        from anbexact.adapters.logit import to_logit

        return to_logit(self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("parameters", self.parameters, PARAMETERS)
        for value in self._ess_values():
            _check_ess("ess", value)
        if self.smoothing is not None:
            _check_ess("smoothing", self.smoothing)
            if self.parameters != "eap":
                raise ValueError(
                    f"smoothing={self.smoothing!r} goes with parameters='eap' only: leave it None for "
                    f"parameters={self.parameters!r}"
                )
        self._structure_score(1.0)

    def _ess_values(self) -> Sequence[Any]:
        """Return the equivalent sample sizes that are given to choose from."""
        return (self.ess,)

    def _structure_score(self, ess: float) -> Score:
        """Return the score of the structure, given what the equivalent sample size came to."""
        if isinstance(self.structure_score, str) and self.structure_score in SCORES:
            return SCORES[self.structure_score](ess)
        if isinstance(self.structure_score, str) or not isinstance(self.structure_score, Score):
            raise (ValueError if isinstance(self.structure_score, str) else TypeError)(
                f"structure_score must be one of {', '.join(map(repr, SCORES))}, or a Score, not "
                f"{self.structure_score!r}"
            )
        return self.structure_score

    def _set_counted(
        self,
        vocabulary: Vocabulary,
        structure: Structure,
        counts: Counts,
        cut_points: dict[Hashable, Cuts],
        settings: tuple[float, float, str],
    ) -> Self:
        """Estimate the tables from counts, and store the network.

        ``settings`` are what ``ess``, ``smoothing`` and ``parameters`` came to in ``fit``.
        """
        _, smoothing, rule = settings
        tables = self._estimate(counts, structure.class_name, rule, smoothing)
        self._set_fitted(vocabulary, structure, tables, cut_points)
        self.ess_, self.smoothing_, self.parameters_ = settings
        self.counts_ = counts
        return self

    def _estimate(self, counts: Counts, class_name: Hashable, rule: str, smoothing: float) -> Tables:
        """Return the tables that a rule makes of the counts."""
        if rule == "ml":
            return ml_tables(counts)
        if rule == "friedman":
            return friedman_tables(counts)
        if rule == "acll":
            score = self.structure_score if isinstance(self.structure_score, ACLL) else ACLL()
            return acll_tables(counts, class_name, score.prior, score.pseudo_count)
        return eap_tables(counts, smoothing)

    def _set_fitted(
        self,
        vocabulary: Vocabulary,
        structure: Structure,
        tables: Tables,
        cut_points: dict[Hashable, Cuts],
    ) -> Self:
        """Store a network whose tables are given, and prepare the posterior."""
        posterior = Posterior(tables, vocabulary.class_name, vocabulary.features)
        self._keep(vocabulary, cut_points, posterior)
        self.structure_ = structure
        self.counts_ = None
        self.conditional_tables_ = tables
        self._network = None
        return self
