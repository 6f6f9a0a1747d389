"""What every feature is worth over all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import logsumexp, xlogy

from anbexact._runtime.arrays import Floats
from anbexact.explanations.background import distributions
from anbexact.explanations.shapley import ShapleyTables
from anbexact.models.family_sum import FamilySum
from anbexact.tables.vocabulary import MISSING, CodeArray


def centred_values(
    source: FamilySum, codes: CodeArray, background: str | CodeArray | None = None, n_jobs: int | None = None
) -> Floats:
    """Return the Shapley values of ``ln P(c | x) - mean over all classes``; shape (rows, features, classes), nats."""
    absent = bool(codes.min(initial=0) < 0)
    tables = ShapleyTables.made(source, distributions(source, background), absent)
    n_rows, s = codes.shape[1], source.n_classes
    mean = np.full(n_rows, s)
    return np.stack([tables.values(codes, np.full(n_rows, c), mean, n_jobs) for c in range(s)], axis=-1)


def informations(source: FamilySum) -> tuple[Floats, float]:
    """Return the mutual information of every feature with the class under the network, and the class's entropy; nats.

    ``I(X_j; C) = Σ P(x_j, c) ln P(x_j, c) / (P(x_j) P(c))``.
    """
    n_features = len(source.arities)
    codes = np.full((n_features, int(source.arities.sum()) + 1), MISSING, dtype=np.int16)
    bounds = np.cumsum([0, *source.arities])
    for j in range(n_features):
        codes[j, bounds[j] : bounds[j + 1]] = np.arange(source.arities[j])
    logs = source.network.log_joint(codes)
    joint, prior = np.exp(logs[:-1]), np.exp(logs[-1] - logsumexp(logs[-1]))
    of_states = joint.sum(axis=1, keepdims=True)
    terms = (xlogy(joint, joint) - xlogy(joint, of_states * prior)).sum(axis=1)
    found = np.array([terms[bounds[j] : bounds[j + 1]].sum() for j in range(n_features)])
    return found, float(-xlogy(prior, prior).sum())


def explain_globally(
    source: FamilySum, codes: CodeArray | None, background: str | CodeArray | None, n_jobs: int | None
) -> pd.DataFrame:
    """Return one row per feature; see :meth:`anbexact.classifiers.explaining.Explaining.explain_global`."""
    information, entropy = informations(source)
    frame = pd.DataFrame({"feature": pd.Series(list(source.vocabulary.features), dtype=object)})
    if codes is not None:
        values = np.abs(centred_values(source, codes, background, n_jobs))
        frame["mean_abs_nats"] = values.mean(axis=(0, 2))
    frame["information"] = information
    frame["share"] = information / entropy if entropy > 0 else np.nan
    first = "information" if codes is None else "mean_abs_nats"
    return frame.sort_values(first, ascending=False, kind="stable", ignore_index=True)
