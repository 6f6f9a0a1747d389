"""A logarithmic pool: the weighted sum of the log posteriors of several models."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact.models.coding import common_refinement
from anbexact.models.fidelity import Fidelity
from anbexact.models.logit.predictions import Origin
from anbexact.models.model import Model
from anbexact.models.network.explanation import Explanations
from anbexact.models.network.network import TableNetwork
from anbexact.models.pool.explanation import ExplainedMember, explain_pool
from anbexact.models.pool.logit import PooledLogit
from anbexact.models.pool.union import MemberTerms, union_of_terms
from anbexact.models.pool.weights import LEAST_LOG, PoolWeights
from anbexact.tables.cuts import Cuts
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import CodeArray, Vocabulary


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolMember:
    """A member of a pool.

    Attributes
    ----------
    name : str
    weight : float
        Its weight, 0 or more.
    model : Model
    reader : Reader
        How it reads frames: members may cut columns differently.
    n_jobs : int or None
        Its number of threads.
    """

    name: str
    weight: float
    model: Model
    reader: Reader
    n_jobs: int | None

    def codes(self, X: Any) -> CodeArray:
        """Return the codes of the rows of a frame, as the model takes them."""
        return self.model.codes(self.reader, X)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pool(Model):
    """A logarithmic pool: ``P(c | x) ∝ exp(b_c + Σ_m w_m ln P_m(c | x))``.

    Its codes are the codes of all members, one below the other: shape (features of all members, rows).

    Attributes
    ----------
    members : tuple of PoolMember
        All have the same features and classes; the order of the classes may differ.
    biases : (classes,) float64
        The constant added to the log odds of every class, in nats.
    ridge : float
        Precision of the prior of the weights.
    common : Origin or None
        A network on states that refine those of all members; None if there are no such states.
    fidelity : Fidelity or None
        How closely it follows its teacher; None if it learned from labels alone.
    """

    members: tuple[PoolMember, ...]
    biases: Floats
    ridge: float
    common: Origin | None
    fidelity: Fidelity | None = None

    @property
    def _source(self) -> Model:
        return self.members[0].model if self.common is None else self.common.learned

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and states of all variables: the members' common states, or else the states of the first member."""
        return self._source.vocabulary

    @property
    def cut_points(self) -> Mapping[Hashable, Cuts]:
        """Cut points of every column that was discretised.

        They are the cut points of all members if these have common states, else those of the first member.
        """
        return self._source.cut_points

    @property
    def weights(self) -> PoolWeights:
        """The weights of the members, and the biases."""
        return PoolWeights(np.array([member.weight for member in self.members]), self.biases, self.ridge)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of all members, plus the number of weights, plus the number of classes minus one."""
        own = len(self.members) + len(self.biases) - 1
        return own + sum(member.model.n_parameters for member in self.members)

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of all members, plus the number of weights, plus the number of classes minus one."""
        of_members = sum(member.model.degrees_of_freedom for member in self.members)
        return of_members + len(self.members) + len(self.biases) - 1

    @property
    def rows_to_read(self) -> float:
        """Rows of the tables of all members."""
        return sum(member.model.rows_to_read for member in self.members)

    def codes(self, reader: Reader, X: Any) -> CodeArray:  # members have readers of their own
        """Return the codes of the rows of a frame in the states of every member."""
        return np.concatenate([member.codes(X) for member in self.members])

    @property
    def n_codes(self) -> int:
        """Number of codes of a row, over all members."""
        return sum(member.model.n_codes for member in self.members)

    def log_posteriors(self, codes: CodeArray) -> Floats:
        """Return ln P_m(class | row), shape (rows, members, classes)."""
        classes = self.members[0].model.vocabulary.classes.tolist()
        place = {label: k for k, label in enumerate(classes)}
        found = np.full((codes.shape[1], len(self.members), len(classes)), LEAST_LOG)
        ends = np.cumsum([member.model.n_codes for member in self.members]).tolist()
        for m, (member, end) in enumerate(zip(self.members, ends, strict=True)):
            columns = [place[label] for label in member.model.vocabulary.classes.tolist()]
            own = codes[end - member.model.n_codes : end]
            found[:, m, columns] = member.model.log_posterior(own, member.n_jobs)
        return found

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); every member has its own number of threads."""
        return self.weights.log_posterior(self.log_posteriors(codes))

    def answer(
        self, reader: Reader, evidence: Mapping[Hashable, Any] | None, values: Mapping[str, Any]
    ) -> pd.Series[float]:
        """Return P(class | some cells), indexed by class: the pooled answers of the members."""
        answers = [member.model.answer(member.reader, evidence, values) for member in self.members]
        with np.errstate(divide="ignore"):
            logs = np.log(np.stack([answer.to_numpy() for answer in answers]))[None]
        pooled = answers[0].copy()
        pooled[:] = np.exp(self.weights.log_posterior(logs)[0])
        return pooled

    def explain(self, X: Any, label: Any = None, against: Any = None) -> Explanations:
        """Return, for every row of a frame, the weighted sums of the members' terms, family by family.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same; or if the members have no common states.
        """
        rows = self.on_common_states().reader.rows(X)
        logs = self.log_posteriors(np.concatenate([member.codes(X) for member in self.members]))
        explained = [
            ExplainedMember(
                member.name,
                member.weight,
                logs[:, m],
                member.model.vocabulary,
                member.reader.codes(X),
                member.model.summed_families,
            )
            for m, member in enumerate(self.members)
        ]
        pooled = self.weights.log_posterior(logs), self.biases
        return explain_pool(rows, explained, pooled, self.vocabulary, label, against)

    def facts(self) -> dict[str, Any]:
        """Return the cut points, the members with their weights, the biases and the ridge."""
        weights = {member.name: member.weight for member in self.members}
        members = pd.DataFrame({"weight": weights}).rename_axis("member")
        classes = self.members[0].model.vocabulary.classes.tolist()
        return {
            "cut_points": self.cut_points,
            "weights": weights,
            "members": members.assign(log_loss=nan, seconds=nan, outcome="pooled"),
            "biases": dict(zip(classes, self.biases.tolist(), strict=True)),
            "ridge": float(self.ridge),
            **({} if self.fidelity is None else {"fidelity": self.fidelity}),
        }

    def on_one_graph(self, most_cells: int) -> PooledLogit:
        """Return :meth:`to_logit`."""
        return self.to_logit()

    def on_common_states(self) -> Origin:
        """Return the network on the common states of the members.

        Raises
        ------
        ValueError
            If there are no such states; the message names a column that members read differently.
        """
        if self.common is None:
            common_refinement([member.model.coding for member in self.members])
            raise ValueError("the members of this pool have no common states")
        return self.common

    def to_dict(self) -> dict[str, Any]:
        """Return weights, biases, ridge and fidelity; a file stores members and common states separately."""
        fidelity = {} if self.fidelity is None else {"fidelity": self.fidelity.to_dict()}
        return {**self.weights.to_dict(), **fidelity}

    def to_logit(self) -> PooledLogit:
        """Return the logistic regression with this posterior; see :meth:`anbexact.PooledClassifier.to_logit`."""
        origin = self.on_common_states()
        terms = [self._terms(member) for member in self.members]
        network = origin.learned.discrete()
        return PooledLogit(network, origin, union_of_terms(terms, self.biases, network.coding))

    def _terms(self, member: PoolMember) -> MemberTerms:
        """Return the contribution of a member; refuse one that is not a network."""
        try:
            return MemberTerms(member.weight, member.model.coding, member.model.to_potentials())
        except TypeError as error:
            raise TypeError(
                f"the member {member.name!r}, {member.reader.fitted_by}, is not a network: only a pool of networks "
                "and their refits, without averages of networks or other pools, is a logistic regression"
            ) from error

    def to_network(self) -> TableNetwork:
        """Return one network with the posterior of the pool, on the common states of its members.

        Raises
        ------
        TypeError
            If a member is not a network.
        ValueError, MemoryError
            If there is no such network, or its tables would not fit into memory.
        """
        return self.to_logit().to_network()
