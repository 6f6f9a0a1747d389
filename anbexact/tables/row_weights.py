"""Advice on weights of rows that say more than rows can."""

from __future__ import annotations

import numpy as np

from anbexact._runtime.advice import advise
from anbexact.tables.table import Weights

WEIGHT_IN_DOUBT, COUNT_IN_DOUBT = 10.0, 1000.0
"""Mean weight of a row, and mean count where all weights are whole numbers, above which rows hardly were so many."""
WEIGHTS_OF_A_SURVEY = "a row of weight w counts as w rows"
"""What the advice says of weights."""


def advise_on_weights(weights: Weights) -> None:
    """Advise scaling where weights add up to far more rows than there are, as those of surveys often do."""
    positive = weights[weights > 0]
    whole = bool((positive == np.rint(positive)).all())
    if positive.mean() > (COUNT_IN_DOUBT if whole else WEIGHT_IN_DOUBT):
        advise(
            "weights",
            f"sample_weight adds up to {positive.sum():,.0f} for {len(positive):,} rows, and {WEIGHTS_OF_A_SURVEY}: "
            "small differences will look certain. Divide weights of a survey by their mean; leave them as they are "
            "if they count rows",
        )
