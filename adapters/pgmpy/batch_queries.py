"""Queries of a network for all rows of a frame: distributions of variables, and most probable explanations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from anbexact._kernels.posterior import PROBABILITY
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.adapters.pgmpy.networks import as_table_network
from anbexact.models.network.elimination import Elimination
from anbexact.tables.cuts import Cuts
from anbexact.tables.cuts.continuous import discretise
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.vocabulary import MISSING, CodeArray, Vocabulary

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

    from anbexact.classifiers import NetworkClassifier, RefittedClassifier

__all__ = ["MostProbableExplanations", "most_probable_explanations", "posterior"]


class MostProbableExplanations(NamedTuple):
    """The most probable explanations of the rows of a frame.

    Attributes
    ----------
    states : (rows, nodes) DataFrame
        The state of every node: the observed states, and the jointly most probable states of the others. The latter
        are None in impossible rows.
    probability : (rows,) Series
        P(states of the others | observed states); NaN in impossible rows.
    log_joint : (rows,) Series
        ln P(all states), in nats per row.
    """

    states: pd.DataFrame
    probability: pd.Series[float]
    log_joint: pd.Series[float]


def posterior(
    network: DiscreteBayesianNetwork | NetworkClassifier | RefittedClassifier,
    targets: Hashable | Sequence[Hashable],
    evidence: Any,
    *,
    joint: bool = False,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Return P(target | observed cells) for every row of a frame, exactly.

    All targets are computed together: a junction tree is built for every pattern of missing cells, and messages are
    sent in both directions for every row. The computation uses logarithms, so many observed nodes do not cause
    underflow.

    Parameters
    ----------
    network : DiscreteBayesianNetwork or classifier
        A pgmpy network with a ``TabularCPD`` for every node, or a fitted classifier that is a network.
    targets : node or sequence of nodes
        The variables whose distributions are returned.
    evidence : dataframe
        A row for every case, and a column for every node with known values. Missing cells are not evidence, and
        neither are nodes without a column. A classifier's columns are cut and grouped as in ``predict``. A target
        that is observed in a row has probability 1 in its state there.
    joint : bool, default False
        Whether the joint distribution of all targets is returned, rather than the distribution of each.
    n_jobs : int, optional
        Number of threads; all processors by default.

    Returns
    -------
    (rows, states) DataFrame
        Probabilities, with the index of the evidence. For a single target, the columns are its states; for a sequence
        of targets, they are pairs (node, state); with ``joint``, they are the joint states, with one level for each
        target. Rows that are impossible under the network are NaN, with a warning.

    Raises
    ------
    TypeError
        If the network is not discrete.
    ValueError
        If a node or a value is unknown, a target occurs twice, a CPD is invalid (as in :func:`from_pgmpy`), or a row
        needs more memory than is available; the message names the largest clique of its junction tree.
    MemoryError
        If the result would not fit into memory.

    Examples
    --------
    >>> import pandas as pd
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import posterior
    >>> from anbexact.datasets import load_monks
    >>> network = ANBClassifier(ess=1).fit(*load_monks(1)).network_
    >>> evidence = pd.DataFrame({"is_monk": ["yes", None], "body_shape": ["round", "square"]})
    >>> posterior(network, "head_shape", evidence).round(2)
    head_shape  round  square  octagon
    0            0.67    0.17     0.17
    1            0.33    0.33     0.33
    >>> posterior(network, ["head_shape", "jacket_color"], evidence).round(2)["jacket_color"]
    state   red  yellow  green  blue
    0      0.50    0.17   0.17  0.17
    1      0.25    0.25   0.25  0.25
    """
    asked = _read(network)
    single = not joint and (targets in asked.vocabulary.states if isinstance(targets, Hashable) else False)
    names = [targets] if single or isinstance(targets, str) else list(_iterable(targets))
    for name in names:
        if name not in asked.vocabulary.states:
            raise ValueError(f"targets: {name!r} is not a node of the network; its nodes are {asked.nodes}")
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"targets must be one or more different nodes, not {names}")
    codes, index = asked.codes(evidence)
    states = [asked.vocabulary.states[name] for name in names]
    n_columns = prod(map(len, states)) if joint else sum(map(len, states))
    needed, available = 8.0 * n_columns * len(index), available_memory()
    if needed > available / 2:
        raise MemoryError(
            f"the result would have {n_columns:,} columns and {len(index):,} rows ({human_bytes(needed)}), but "
            f"{human_bytes(available)} are available: ask for fewer targets at once, or pass fewer rows"
        )
    places = [asked.nodes.index(name) for name in names]
    if joint:
        shape = [len(asked.vocabulary.states[asked.nodes[place]]) for place in sorted(places)]
        values = asked.elimination.joint(codes, sorted(places), PROBABILITY, n_jobs).reshape(len(index), *shape)
        order = [1 + sorted(places).index(place) for place in places]
        values = values.transpose(0, *order).reshape(len(index), n_columns)
        columns: pd.Index[Any] = pd.MultiIndex.from_tuples([*product(*states)], names=names)
    else:
        values, _ = asked.elimination.marginals(codes, places, n_jobs)
        pairs = [(name, state) for name, of_name in zip(names, states, strict=True) for state in of_name]
        columns = pd.MultiIndex.from_tuples(pairs, names=["node", "state"])
        if single:
            columns = pd.Index(states[0], dtype=object, name=names[0])
    impossible = np.isnan(values[:, 0])
    if impossible.any():
        _warn_of_impossible(int(impossible.argmax()), int(impossible.sum()))
    return pd.DataFrame(values, index=index, columns=columns)


def most_probable_explanations(
    network: DiscreteBayesianNetwork | NetworkClassifier | RefittedClassifier,
    evidence: Any,
    *,
    n_jobs: int | None = None,
) -> MostProbableExplanations:
    """Return, for every row of a frame, the jointly most probable states of all nodes that are not observed.

    They may differ from the most probable state of each single node. If several explanations are equally probable
    (their log probabilities differ by less than 1e-9), the first one is returned: nodes are compared in the order of
    the network, and states in the order of the node's states.

    Parameters
    ----------
    network, evidence, n_jobs
        As for :func:`posterior`.

    Returns
    -------
    MostProbableExplanations
        The states, their probability given the observed ones, and the log probability of all.

    Raises
    ------
    TypeError, ValueError
        As :func:`posterior` does.

    Examples
    --------
    >>> import pandas as pd
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import most_probable_explanations
    >>> from anbexact.datasets import load_monks
    >>> network = ANBClassifier(ess=1).fit(*load_monks(1)).network_
    >>> found = most_probable_explanations(network, pd.DataFrame({"is_monk": ["yes"], "body_shape": ["round"]}))
    >>> found.states[["head_shape", "jacket_color", "is_monk"]]
      head_shape jacket_color is_monk
    0      round          red     yes
    """
    asked = _read(network)
    codes, index = asked.codes(evidence)
    found, log_joint = asked.elimination.explanations(codes, n_jobs)
    _, log_evidence = asked.elimination.marginals(codes, [], n_jobs)
    impossible = np.isneginf(log_joint)
    if impossible.any():
        _warn_of_impossible(int(impossible.argmax()), int(impossible.sum()))
    columns = {}
    for name, of_name in zip(asked.nodes, found, strict=True):
        states = np.empty(len(asked.vocabulary.states[name]) + 1, dtype=object)  # the last is for code -1
        states[:-1] = asked.vocabulary.states[name]
        columns[name] = pd.Series(states[of_name], index=index, dtype=object)
    frame = pd.DataFrame(columns, index=index)
    frame.columns = pd.Index(asked.nodes, tupleize_cols=False)
    with np.errstate(invalid="ignore"):
        probability = np.exp(log_joint - log_evidence)
    return MostProbableExplanations(
        frame,
        pd.Series(probability, index=index, name="probability"),
        pd.Series(log_joint, index=index, name="log_joint"),
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """A network that is queried, with what it needs to read frames."""

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]
    elimination: Elimination

    @property
    def nodes(self) -> list[Hashable]:
        """The nodes, in the order of the network."""
        return list(self.vocabulary.names)

    def codes(self, evidence: Any) -> tuple[CodeArray, pd.Index[Any]]:
        """Return the codes of a frame's rows, shape (nodes, rows), and its index."""
        own_index = evidence.index if isinstance(evidence, pd.DataFrame) else None
        if own_index is not None and not len(evidence.columns):
            return np.full((len(self.nodes), len(evidence)), MISSING, dtype=np.int16), own_index
        columns = read_columns(evidence, min_rows=0)
        codes = np.full((len(self.nodes), len(columns[0])), MISSING, dtype=np.int16)
        for column in columns:
            if column.name not in self.vocabulary.states:
                raise ValueError(
                    f"evidence: {column.name!r} is not a node of the network; its nodes are {self.nodes}"
                )
            codes[self.nodes.index(column.name)] = self.vocabulary.encode(
                discretise(column, self.cut_points, self.vocabulary),
                handle_unknown="error",
                handle_missing="auto",
                advice="leave the cell empty if nothing is known",
            )
        return codes, pd.RangeIndex(codes.shape[1]) if own_index is None else own_index


def _read(network: DiscreteBayesianNetwork | NetworkClassifier | RefittedClassifier) -> _Asked:
    source = as_table_network(network)
    tables = {name: source.tables[name] for name in source.vocabulary.names}
    return _Asked(source.vocabulary, source.cut_points, Elimination.of_tables(tables))


def _iterable(targets: Any) -> Iterable[Hashable]:
    if not isinstance(targets, Iterable):
        raise TypeError(f"targets must be a node or a sequence of nodes, not {targets!r}")
    return targets


def _warn_of_impossible(first: int, count: int) -> None:
    warn(f"row {first} is impossible under the network ({count} such rows): its distributions are undefined")
