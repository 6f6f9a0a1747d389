"""Decisions by costs, thresholds and class shares, as methods of all classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anbexact.explanations import decisions

if TYPE_CHECKING:
    import pandas as pd


class Deciding:
    """A fitted classifier with probabilities."""

    classes_: npt.NDArray[Any]

    @property
    def class_prior_(self) -> npt.NDArray[np.float64]:
        """P(class) when no feature is known, shape (classes,), in the order of ``classes_``."""
        return np.asarray(self.query(), dtype=np.float64)  # type: ignore[attr-defined]  # defined by the classifier

    def _adjusted(self, log_posterior: npt.NDArray[np.float64], class_prior: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row) with other shares of the classes; see :meth:`decide`."""
        after = decisions.check_class_prior(class_prior, self.classes_.tolist())
        return decisions.with_class_prior(log_posterior, self.class_prior_, after)

    def decide(
        self,
        X: Any,
        *,
        costs: Any = None,
        utilities: Any = None,
        reject: float | None = None,
        thresholds: Mapping[Any, float] | None = None,
        class_prior: Any = None,
        ordered_classes: Sequence[Any] | None = None,
    ) -> pd.DataFrame:
        """Return the best decision for every row, given what decisions cost.

        A decision d has the expected cost ``Σ_c P(c | row) cost(c, d)``. The decision with the lowest expected cost
        is made, the first one if several are equally good. Without costs, a wrong decision costs 1, so the decision
        is the most probable class.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        costs, utilities : DataFrame, mapping or array, optional
            A frame with the true classes as index and the decisions as columns, which need not be classes; or a
            mapping of every true class to a mapping of decisions to costs, or to the cost of any wrong decision; or
            an array, true classes in rows and decisions in columns, in the order of ``classes_``; or, for costs of
            classes in an order, ``"absolute"`` or ``"squared"``: the number of classes by which the decision is off,
            or its square. Utilities are maximised instead of minimised.
        reject : float, optional
            The cost (or utility) of leaving the decision to somebody else. The decision is ``"(reject)"`` where this
            is better than the expected cost (or utility) of every decision. Without costs, that is where the
            probability of the most probable class is below ``1 - reject``.
        thresholds : mapping of class to number, optional
            Thresholds instead of costs. The decision is the class with the largest ratio of probability to threshold.
            With two classes, one threshold is enough: the decision is that class where its probability is above the
            threshold.
        class_prior : mapping or array, optional
            Shares of the classes in the population that the rows come from, if they differ from those in training;
            see ``predict_proba``.
        ordered_classes : sequence, optional
            The classes from the lowest to the highest, if they have an order.

        Returns
        -------
        DataFrame
            One row for each row of X, with its index if it has one. The columns are ``decision``; ``probability``,
            the probability of the class decided for (NaN if the decision is not a class); and, unless there are
            thresholds, ``expected_cost`` or ``expected_utility``, and ``advantage``, by how much the next best
            decision is worse. With ``ordered_classes``, there is also ``expected_class``, the mean of the classes
            weighted by their probabilities, as numbers; classes that are not numbers count as 0, 1, 2 and so on.

        Raises
        ------
        ValueError
            If costs, utilities, thresholds, shares or an order do not fit the classes, if several of costs, utilities
            and thresholds are given, or if costs need an order of the classes and there is none.

        References
        ----------
        Elkan, *The foundations of cost-sensitive learning*, IJCAI 2001; Chow, *On optimum recognition error and
        reject tradeoff*, IEEE Transactions on Information Theory 16 (1970).
        """
        given = [name for name, of in (("costs", costs), ("utilities", utilities), ("thresholds", thresholds))
                 if of is not None]  # fmt: skip
        if len(given) > 1:
            raise ValueError(f"{given[0]} and {given[1]} were both given: a decision follows from one of them")
        classes = self.classes_.tolist()
        known = {} if class_prior is None else {"class_prior": class_prior}
        proba = self.predict_proba(X, **known)  # type: ignore[attr-defined]  # likewise
        if thresholds is not None:
            if reject is not None:
                raise ValueError("reject applies to costs or utilities, not to thresholds")
            frame = decisions.decided_by_thresholds(proba, classes, decisions.read_thresholds(thresholds, classes))
        else:
            name = "utilities" if utilities is not None else "costs"
            if isinstance(costs, str):
                costs = decisions.distance_costs(costs, classes, ordered_classes)
            matrix = decisions.read_costs(utilities if utilities is not None else costs, name, classes)
            frame = decisions.decided_by_costs(proba, classes, matrix, reject)
        if ordered_classes is not None:
            frame["expected_class"] = proba @ decisions.class_numbers(classes, ordered_classes)
        index = getattr(X, "index", None)
        return frame if index is None or callable(index) else frame.set_index(index)
