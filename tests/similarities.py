"""Tables with ordered and other states, states that no row has and missing cells, as oracles of kernels need them."""

from dataclasses import dataclass

import numpy as np
import oracles
import pandas as pd

from anbexact import DiscreteTable

NAMES, KINDS = ["size", "kind", "part"], list("uvw")
ARITIES, N_ORDERED = [6, 3, 5], [6, 0, 4]
"""The sizes are numbers, the kinds are none, and the parts are numbers or missing, which is their last state."""
UNSEEN = 2
"""A size that no row has."""
N_CLASSES = 3


@dataclass
class Sample:
    """Rows of state numbers, their classes and their weights."""

    rows: list
    classes: list
    weights: list

    @classmethod
    def drawn(cls, seed, n_rows=30, weights="ones"):
        """Draw rows of which some are equal, and whose class depends on all features together."""
        rng = np.random.default_rng(seed)
        sizes = np.array([size for size in range(ARITIES[0]) if size != UNSEEN])
        rows = np.stack([rng.choice(sizes, n_rows), rng.integers(0, 3, n_rows), rng.integers(0, 5, n_rows)], axis=1)
        rows[: n_rows // 3] = rows[rng.integers(n_rows // 3, n_rows, n_rows // 3)]
        rows[0, 2], rows[1, 2] = 4, 0
        noise = rng.integers(0, N_CLASSES, n_rows) * (rng.random(n_rows) < 0.3)
        classes = (rows.sum(axis=1) // 2 + noise) % N_CLASSES
        classes[:N_CLASSES] = range(N_CLASSES)
        drawn = np.ones(n_rows) if weights == "ones" else rng.choice([0.0, 0.3, 1.0, 2.0, 2.5], n_rows)
        drawn[:N_CLASSES] = 1.0
        return cls([tuple(row) for row in rows.tolist()], classes.tolist(), drawn.tolist())

    @classmethod
    def of(cls, table):
        """The rows of a table."""
        rows = table.codes.tolist()
        return cls([tuple(row[:-1]) for row in rows], [row[-1] for row in rows], table.weights.tolist())

    def frame(self):
        """The features as a frame, and the classes."""
        sizes, kinds, parts = zip(*self.rows, strict=True)
        cells = [sizes, [KINDS[kind] for kind in kinds], [None if part == 4 else float(part) for part in parts]]
        return pd.DataFrame(dict(zip(NAMES, cells, strict=True))), pd.Series(self.classes, name="c")

    @property
    def categories(self):
        """All states, without that of missing cells."""
        return {"size": list(range(6)), "kind": KINDS, "part": [0.0, 1.0, 2.0, 3.0], "c": list(range(N_CLASSES))}

    @property
    def table(self):
        """The table."""
        return DiscreteTable.from_frame(
            *self.frame(), sample_weight=self.weights, categories=self.categories, handle_missing="own_state"
        )

    @property
    def state_weights(self):
        """The weight of every state of every feature."""
        found = [[0.0] * arity for arity in ARITIES]
        for row, weight in zip(self.rows, self.weights, strict=True):
            for own, state in zip(found, row, strict=True):
                own[state] += weight
        return found

    @property
    def distinct(self):
        """The distinct rows of positive weight, and the weights of their classes, shape (rows, classes)."""
        found = {}
        for row, label, weight in zip(self.rows, self.classes, self.weights, strict=True):
            if weight > 0:
                found.setdefault(row, [0.0] * N_CLASSES)[label] += weight
        return list(found), np.array(list(found.values()))

    @property
    def informations(self):
        """What every feature says about the class, in nats."""
        return [
            oracles.feature_information(states, self.classes, self.weights, arity, n, N_CLASSES)
            for states, arity, n in zip(zip(*self.rows, strict=True), ARITIES, N_ORDERED, strict=True)
        ]

    def correlations(self, rows, points, rate, relevance=0.0):
        """The correlations between rows, whose cells may be None, and points, if this sample is the training rows.

        The relevance is that of every feature, or an exponent.
        """
        state_weights = self.state_weights
        if isinstance(relevance, float):
            relevance = oracles.feature_relevances(self.informations, ARITIES, relevance)
        rates = [rate * r for r in relevance]
        return np.array(
            [[oracles.row_correlation(x, z, state_weights, N_ORDERED, rates) for z in points] for x in rows]
        )


def codes_of(rows):
    """Codes of rows of state numbers, shape (features, rows); None is a missing cell."""
    return np.array([[-1 if cell is None else cell for cell in row] for row in rows], dtype=np.int16).T


def with_holes(rows, seed=0):
    """Rows of which a third of the cells are hidden."""
    rng = np.random.default_rng(seed)
    return [tuple(None if rng.random() < 1 / 3 else cell for cell in row) for row in rows]
