"""Exact samples of rows from a network, given some cells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.models.network.elimination import Elimination
from anbexact.models.network.evidence import (
    code_joint_evidence,
    read_evidence,
    shown_evidence,
    values_within_states,
)
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.models.structure import parents_first
from anbexact.tables.drawn_rows import frame_of_codes
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.models.network.network import TableNetwork

ROWS_AT_ONCE = 1 << 16
"""Number of rows that are drawn at once."""


def sample_network(
    network: TableNetwork,
    n: int,
    evidence: Mapping[Hashable, Any] | None,
    random_state: int | np.random.Generator | None,
    missing: bool,
    reader: Reader | None,
) -> pd.DataFrame:
    """Return rows drawn from a network; see :meth:`anbexact.models.model.Model.sample`."""
    n_rows = _number_of_rows(n)
    vocabulary = network.vocabulary
    if reader is None:
        reader = Reader(
            fitted_by=type(network).__name__,
            feature_names=None,
            vocabulary=vocabulary,
            cut_points=network.cut_points,
            handle_unknown="marginalize",
            handle_missing="auto",
            missing_rules=vocabulary.missing_rules("auto"),
            class_weight=None,
        )
    own = replace(reader, vocabulary=vocabulary, cut_points=network.cut_points)
    known = read_evidence(evidence)
    given = code_joint_evidence(own, known)
    rng = np.random.default_rng(random_state)
    codes = drawn_codes(network.tables, vocabulary, given, n_rows, rng, missing)
    if codes is None:
        if missing or not vocabulary.own_missing:
            what = f"the evidence {shown_evidence(known)} has probability 0 in this network"
        elif known:
            what = f"a row with {shown_evidence(known)} and no other missing cell has probability 0 in this network"
        else:
            what = "a row without missing cells has probability 0 in this network"
        raise ValueError(f"{what}, so there are no rows to draw")
    return frame_of_codes(codes, vocabulary, network.cut_points, values_within_states(own, known), rng)


def _number_of_rows(n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n must be a whole number of rows, 0 or more, not {n!r}")
    return int(n)


def drawn_codes(
    tables: Tables, vocabulary: Vocabulary, given: CodeArray, n: int, rng: np.random.Generator, missing: bool
) -> CodeArray | None:
    """Return states of all variables drawn from their joint distribution, given those of some.

    What is given, and its ancestors, are drawn from the tables of a junction tree (forward filtering, backward
    sampling; Koller and Friedman, Probabilistic Graphical Models, 2009, section 12.3.4); then every other variable,
    after its parents, from its conditional table.

    Parameters
    ----------
    tables : dict
        P(variable | parents) of every variable.
    vocabulary : Vocabulary
        Their names and states.
    given : (variables,) int16
        States in the order of ``vocabulary.names``, negative where not given.
    n : int
        Number of rows.
    rng : Generator
        Source of the draws.
    missing : bool
        Whether variables may have their state of missing cells where it is not given.

    Returns
    -------
    (variables, n) int16, or None if what is given has probability 0.

    Raises
    ------
    ValueError
        If the cliques of the junction tree need more memory than is available.
    """
    names = vocabulary.names
    known = {name: int(code) for name, code in zip(names, given.tolist(), strict=True) if code >= 0}
    excluded = [] if missing else [name for name in names if name in vocabulary.own_missing and name not in known]
    order = parents_first({name: tables[name].parents for name in names})
    conditioned = {*known, *excluded}
    for name in reversed(order):
        if name in conditioned:
            conditioned.update(tables[name].parents)
    of_conditioned = {name: tables[name] for name in order if name in conditioned}
    for name in excluded:
        of_conditioned[name] = _without_state(tables[name], vocabulary.missing_code(name))
    tree = Elimination.of_tables(of_conditioned) if of_conditioned else None
    observed = np.array([[known.get(name, -1)] for name in of_conditioned], dtype=np.int16)
    place = vocabulary.positions
    codes = np.empty((len(names), n), dtype=np.int16)
    for start in range(0, max(n, 1), ROWS_AT_ONCE):
        part = codes[:, start : start + ROWS_AT_ONCE]
        uniforms = 1 - rng.random((len(names), part.shape[1]))
        if tree is not None:
            drawn, log_evidence = tree.draws(observed, uniforms[[place[name] for name in of_conditioned]])
            if log_evidence[0] == -np.inf:
                return None
            part[[place[name] for name in of_conditioned]] = drawn[0].T
        for name in order:
            if name not in conditioned:
                table = tables[name]
                part[place[name]] = _given_parents(
                    table, [part[place[parent]] for parent in table.parents], uniforms[place[name]]
                )
    return codes


def _without_state(table: ConditionalTable, code: int) -> ConditionalTable:
    """Return a table in which a state has probability 0, so that columns no longer add up to 1."""
    values = table.values.copy()
    values[code] = 0
    return ConditionalTable(table.name, table.parents, values)


def _given_parents(table: ConditionalTable, parents: list[CodeArray], uniforms: Floats) -> CodeArray:
    """Return states drawn from a table given those of the parents; numbers above 0, at most 1, decide."""
    n_states, *shape = table.values.shape
    bounds = np.cumsum(table.values.reshape(n_states, -1), axis=0)
    bounds /= bounds[-1]
    cells = np.ravel_multi_index(tuple(parents), tuple(shape)) if parents else np.zeros(len(uniforms), dtype=np.intp)
    codes = np.zeros(len(uniforms), dtype=np.int16)
    for bound in bounds[:-1]:
        codes += uniforms > bound[cells]
    return codes
