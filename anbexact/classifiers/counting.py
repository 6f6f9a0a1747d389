"""What counts allow: adding up rows counted in different places, and comparing later rows with earlier ones."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.model import Model
from anbexact.models.network.drift import Drift, measure_drift
from anbexact.tables.table import check_weights


class Counting(TableClassifier):
    """A classifier whose network is based on counts."""

    def without_rows(self) -> Self:
        """Return a copy with the same states, cut points, arcs and sample sizes whose counts are all zero.

        Its ``partial_fit`` can count rows elsewhere; see :meth:`merge`.

        Raises
        ------
        ValueError
            If the network has no counts.
        """
        check_is_fitted(self)
        empty = copy(self)
        return empty._keep_network(self.model_.counted().without_rows())

    @all_or_nothing
    def merge(self, *others: Counting) -> Self:
        """Add the counts of other classifiers with the same structure; the rows themselves need not be pooled.

        For example, one hospital learns a classifier and sends its :meth:`without_rows` to the others, each of which
        counts its own rows with ``partial_fit`` and sends it back. The counts are added up, so the tables are those
        of all rows.

        Parameters
        ----------
        *others : NetworkClassifier
            Fitted classifiers with the same variables, states, cut points, arcs, scores and equivalent sample sizes.
            They may be copies or come from files. A row that two of them have counted counts twice.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the classifiers differ in one of these, which the message names, if they have no counts, or if their
            score is a conditional likelihood, which does not follow from counts. In this case, nothing is added.
        """
        check_is_fitted(self)
        model = self.model_
        for other in others:
            check_is_fitted(other)
            model = model.counted().merge(other.model_.counted())
        return self._keep_network(model)

    def drift(self, X: Any, y: Any, sample_weight: Any = None) -> Drift:
        """Compare later rows with those that the classifier has counted, before ``partial_fit`` adds them.

        The result tells whether the later rows follow the same conditional tables, which of their values were never
        seen before, and against which arcs they are evidence. The classifier does not change.

        Parameters
        ----------
        X, y, sample_weight
            The later rows, as in ``fit``. Rows with a value or class that is not a state are reported and left out
            of the comparison; so are rows with missing cells, unless these are a state.

        Returns
        -------
        Drift
            ``print`` shows a summary; ``variables``, ``arcs`` and ``unseen`` are frames.

        Raises
        ------
        ValueError
            If the network has no counts or has counted no rows, if no row can be compared, or if the columns are not
            those of ``fit``.

        Examples
        --------
        >>> from anbexact import NaiveBayesClassifier
        >>> from anbexact.datasets import load_tic_tac_toe
        >>> X, y = load_tic_tac_toe()
        >>> classifier = NaiveBayesClassifier(ess=1).fit(X[::2], y[::2])
        >>> print(classifier.drift(X[1::2].assign(top_left="x"), y[1::2]))
        479 later rows against 479 earlier ones
        mean log probability of a row: -10.185 nats earlier, -9.938 nats later
        ln Bayes factor for the same tables against separate tables: -142.9
          top_left: -236.3
        the later rows are evidence against the arc x_wins -> top_left (-0.045 nats)
        """
        check_is_fitted(self)
        network, reader = self.model_.counted(), self.reader_
        unseen, known = reader.unseen(X, y, sample_weight)
        weights = check_weights(sample_weight, len(known))
        if not (known & (weights > 0)).any():
            raise ValueError("no row can be compared: every row has a value or class that is not a state")
        rows = np.flatnonzero(known)
        part = (_safe_indexing(X, rows), _safe_indexing(y, rows), weights[rows])
        return measure_drift(network, reader.table(*part), unseen, float(weights[~known].sum()))

    def _keep_network(self, network: Model) -> Self:
        """Store a network, keeping the record of the columns that were left out."""
        dropped = self.dropped_
        self.set_model(network)
        self.dropped_ = dropped
        return self
