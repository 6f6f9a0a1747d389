"""Networks whose families are scored and counted on the rows in which their own variables are observed.

The score is BDeu, times all rows over these rows, so that families are compared per row, as node-average likelihoods
are: Balov, *Consistent model selection of discrete Bayesian networks from incomplete data*, EJS 2013; Bodewes and
Scutari, *Learning Bayesian networks from incomplete data with the node-average likelihood*, IJAR 2021.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from anbexact import NaiveBayesClassifier, Structure, learn_anb, learn_tan
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.counts import Counts, FamilyCounts
from anbexact.models.parameters.tables import eap_tables
from anbexact.scores.rising import log_rising
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import MISSING
from benchmarks.harness.folds import splits

MAX_PARENTS = 2
"""Most feature parents of the ANB."""
ESS_GRID = tuple(float(10**k) for k in np.linspace(-1, 3, 13))
INNER_FOLDS = 3


@dataclass(frozen=True)
class AvailableBDeu:
    """BDeu of every family on the rows where it is observed, times all rows over these."""

    ess: float

    name: ClassVar[str] = "available BDeu"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Any) -> float:
        """Return the local score of a family; its variables' last states are the missing cells."""
        return self.of_counts(observed_counts(table, [child, *parents]), table.weight_sum)

    def of_counts(self, counts: np.ndarray, weight_sum: float) -> float:
        """Return the local score from the counts; the child's axis is the first."""
        if not counts.any():
            return -np.inf
        given = counts.sum(axis=0)
        scores = log_rising(self.ess / counts.size, counts).sum() - log_rising(self.ess / given.size, given).sum()
        return float(scores * weight_sum / counts.sum())


def observed_counts(table: DiscreteTable, names: list[Hashable]) -> np.ndarray:
    """Return the contingency table of the rows in which all of these variables are observed."""
    observed = (len(table.vocabulary.observed_states(name)) for name in names)
    return table.counts(names)[tuple(map(slice, observed))]


def learned(table: DiscreteTable, model: str, score: Any) -> Structure:
    """Return the structure of a model."""
    if model == "NB":
        return learn_naive_bayes(table, score)
    return (
        learn_tan(table, score, n_jobs=1)
        if model == "TAN"
        else learn_anb(table, score, max_parents=MAX_PARENTS, n_jobs=1)
    )


def of_available_rows(model: str, X: pd.DataFrame, y: pd.Series, X_test: pd.DataFrame) -> tuple[np.ndarray, list]:
    """Return probabilities of the test rows, families counted on the rows in which they are observed; and classes."""
    encoder = NaiveBayesClassifier(handle_missing="own_state", n_jobs=1).fit(X, y)
    table = encoder.reader_.table(X, y, None)
    structure, ess = None, 10.0
    for _ in range(3):
        found = learned(table, model, AvailableBDeu(ess))
        if structure is not None and found.parents == structure.parents:
            break
        structure = found
        families = [observed_counts(table, [name, *of]) for name, of in structure.parents.items()]
        ess = max(
            ESS_GRID,
            key=lambda a: sum(AvailableBDeu(a).of_counts(counts, table.weight_sum) for counts in families),
        )
    place = np.array([encoder.classes_.tolist().index(label) for label in y])
    losses = dict.fromkeys(ESS_GRID, 0.0)
    for learn, judged in splits(y, INNER_FOLDS):
        part = encoder.reader_.table(X.iloc[learn], y.iloc[learn], None)
        codes = observed_codes(encoder, X.iloc[judged])
        for a in ESS_GRID:
            logs = posterior(part, structure, a).log_posterior(codes, 1)
            losses[a] -= logs[np.arange(len(judged)), place[judged]].sum()
    smoothing = min(losses, key=losses.__getitem__)
    return posterior(table, structure, smoothing).posterior(
        observed_codes(encoder, X_test), 1
    ), encoder.classes_.tolist()


def posterior(table: DiscreteTable, structure: Structure, ess: float) -> Posterior:
    """Return the class posterior of tables that are estimated from observed families."""
    counts: Counts = {}
    for name, parents in structure.parents.items():
        dense = observed_counts(table, [name, *parents])
        cells = np.flatnonzero(dense)
        counts[name] = FamilyCounts(name, parents, dense.shape, cells, dense.ravel()[cells])
    return Posterior(eap_tables(counts, ess), table.vocabulary.class_name, table.vocabulary.features)


def observed_codes(encoder: NaiveBayesClassifier, X: pd.DataFrame) -> np.ndarray:
    """Return the codes of rows, missing cells being no state."""
    codes = encoder.reader_.codes(X)
    for j, name in enumerate(encoder.vocabulary_.features):
        codes[j][codes[j] == encoder.vocabulary_.missing_code(name)] = MISSING
    return codes
