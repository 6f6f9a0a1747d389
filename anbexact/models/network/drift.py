"""Evidence from later rows about a network that was learned from earlier ones."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anbexact._runtime.displayed import Displayed
from anbexact._runtime.units import number_text
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import FamilyCounts, count_families
from anbexact.scores import BDeu
from anbexact.tables.reader import Unseen
from anbexact.tables.table import DiscreteTable

MOST_LINES = 5
"""Maximum number of variables, values and arcs that the summary lists of each kind."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Drift(Displayed):
    """Evidence from later rows about a network that was learned from earlier ones.

    Attributes
    ----------
    weight, left_out : float
        Weight of the later rows that are compared, and of those that are left out because they contain a value that
        is not a state.
    earlier_weight : float
        Weight of the earlier rows.
    variables : DataFrame
        One row per variable, the strongest evidence of a change first:

        - ``log_bayes_factor``: ln of the Bayes factor for one conditional table of all rows against one table of the
          earlier rows and another of the later rows; in nats, total. It is negative if the later rows are evidence
          for a separate table.
        - ``earlier``, ``later``: mean log probability of the variable given its parents, in nats per row: for the
          earlier rows, each left out of the counts in turn, and for the later rows under the unchanged tables.
        - ``new_configurations``: share of the later rows whose parents are in a joint state without earlier rows.
        - ``unseen``: weight of later rows with a value that is not a state.
    arcs : DataFrame
        One row per arc (index ``parent``, ``child``), the greatest loss first. ``before``, ``after`` and ``alone``
        are the contributions of the arc to the score of the earlier rows, of all rows, and of the later rows alone
        (ln BDeu; nats, total); ``change`` is ``after - before``.
    unseen : DataFrame
        ``column``, ``value`` and ``weight`` of every value that is not a state.
    """

    weight: float
    left_out: float
    earlier_weight: float
    variables: pd.DataFrame
    arcs: pd.DataFrame
    unseen: pd.DataFrame

    @property
    def log_bayes_factor(self) -> float:
        """Sum over the variables of ln of the Bayes factor for the same tables against separate tables (nats)."""
        return float(self.variables["log_bayes_factor"].sum())

    @property
    def changed(self) -> list[Hashable]:
        """The variables for which the later rows are evidence for a separate table, the strongest evidence first."""
        return self.variables.index[self.variables["log_bayes_factor"] < 0].tolist()

    @property
    def contradicted(self) -> list[tuple[Hashable, Hashable]]:
        """The arcs that the later rows alone do not support and whose gain they lower, the greatest loss first."""
        return self.arcs.index[(self.arcs["alone"] < 0) & (self.arcs["change"] < 0)].tolist()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.changed)} of {len(self.variables)} variables changed>"

    def __str__(self) -> str:
        means = self.variables[["earlier", "later"]].sum()
        lines = [
            f"{number_text(self.weight, 6)} later rows against {number_text(self.earlier_weight, 6)} earlier ones",
            f"mean log probability of a row: {means['earlier']:.3f} nats earlier, {means['later']:.3f} nats later",
            f"ln Bayes factor for the same tables against separate tables: {self.log_bayes_factor:+.1f}",
        ]
        factors = self.variables["log_bayes_factor"]
        lines += [f"  {name}: {factor:+.1f}" for name, factor in factors[factors < 0].head(MOST_LINES).items()]
        rest = len(self.changed) - MOST_LINES
        lines += [f"  and {rest} more variables that changed"] if rest > 0 else []
        if self.left_out:
            lines.append(f"{number_text(self.left_out, 6)} rows with values that are not states were left out:")
            for column, value, weight in self.unseen.head(MOST_LINES).astype(object).to_numpy().tolist():
                lines.append(f"  {column} = {value} ({number_text(weight, 6)})")
        changes = self.arcs["change"].to_dict()
        for parent, child in self.contradicted[:MOST_LINES]:
            change = changes[parent, child]
            lines.append(f"the later rows are evidence against the arc {parent} -> {child} ({change:+.3g} nats)")
        return "\n".join(lines)


def measure_drift(network: TableNetwork, table: DiscreteTable, unseen: Unseen, left_out: float = 0.0) -> Drift:
    """Return the evidence from later rows about a network.

    The rows of a variable's table have the Dirichlet prior of BDeu, with the equivalent sample size α of the
    network's tables. Let F be the BDeu score of a variable given its parents, n the earlier and m the later counts.
    The ln Bayes factor for one table of all rows is then ``F(n + m) - F(n) - F(m)``.

    Parameters
    ----------
    network : TableNetwork
        The network, with the counts of the earlier rows.
    table : DiscreteTable
        The later rows, in the network's vocabulary.
    unseen : mapping
        For each column, the values that are not states, with the weights of their rows, which are left out.
    left_out : float
        Weight of these rows.

    Raises
    ------
    ValueError
        If the network has no counts, or has counted no rows.

    References
    ----------
    The Bayes factor is that of two multinomial samples: Good, Annals of Statistics 4 (1976).
    """
    if network.counts is None or network.estimation is None:
        raise ValueError(
            "drift needs the counts of earlier rows: the tables of this network were given, not estimated"
        )
    if not network.counts[network.structure.class_name].weights.any():
        raise ValueError(
            "drift compares rows with the counts of earlier ones, but this network has counted none: call fit or "
            "partial_fit first"
        )
    estimation = network.estimation
    usual = estimation.smoothing if estimation.smoothing > 0 else estimation.ess
    rows, arcs = {}, {}
    for name, later in count_families(table, network.structure).items():
        own_ess = estimation.class_smoothing if name == network.structure.class_name else None
        ess = usual if own_ess is None else own_ess
        score = BDeu(ess)
        earlier = network.counts[name]
        both = earlier + later
        tables = [family.table(network.vocabulary) for family in (earlier, both, later)]
        whole = [score.local_score(own, name, later.parents) for own in tables]
        rows[name] = (
            whole[1] - whole[0] - whole[2],
            *_means(earlier, later, ess),
            sum(unseen.get(name, {}).values()),
        )
        for parent in later.parents:
            others = tuple(other for other in later.parents if other != parent)
            gains = [
                with_it - score.local_score(own, name, others) for with_it, own in zip(whole, tables, strict=True)
            ]
            arcs[parent, name] = (*gains, gains[1] - gains[0])
    columns = ["log_bayes_factor", "earlier", "later", "new_configurations", "unseen"]
    variables = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    variables.index.name = "variable"
    index = pd.MultiIndex.from_tuples(list(arcs), names=["parent", "child"]) if arcs else _no_arcs()
    values = [(column, value, weight) for column, of in unseen.items() for value, weight in of.items()]
    return Drift(
        weight=float(table.weights.sum()),
        left_out=left_out,
        earlier_weight=float(next(iter(network.counts.values())).weights.sum()),
        variables=variables.sort_values("log_bayes_factor", kind="stable"),
        arcs=pd.DataFrame(
            list(arcs.values()), index=index, columns=["before", "after", "alone", "change"], dtype=float
        ).sort_values("change", kind="stable"),
        unseen=pd.DataFrame(values, columns=["column", "value", "weight"]).sort_values(
            "weight", ascending=False, kind="stable", ignore_index=True
        ),
    )


def _means(earlier: FamilyCounts, later: FamilyCounts, ess: float) -> tuple[float, float, float]:
    """Return the mean log probabilities of earlier and later rows, and the later rows' share of new parent states."""
    before, after = (family.dense().reshape(family.shape[0], -1) for family in (earlier, later))
    a = ess / before.size
    given = before.sum(axis=0)
    once = np.maximum(before - 1, 0) + a
    left_in = np.log(once) - np.log(np.maximum(given - 1, 0) + a * len(before))
    logs = np.log(before + a) - np.log(given + a * len(before))
    weight = after.sum()
    return (
        float((before * left_in).sum() / before.sum()) if before.any() else float("nan"),
        float((after * logs).sum() / weight) if weight else float("nan"),
        float(after[:, given == 0].sum() / weight) if weight else float("nan"),
    )


def _no_arcs() -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([[], []], names=["parent", "child"])
