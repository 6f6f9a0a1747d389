"""Networks as immutable values: what was learned from a table, and the answers that follow from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anbexact._kernels.posterior import PROBABILITY
from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact._runtime.json_checks import listed, mapped, reading, references
from anbexact._runtime.json_values import decode, encode, register_form
from anbexact._runtime.units import counted
from anbexact.models.coding import Coding
from anbexact.models.family_sum import FamilySum, counts_of_rows
from anbexact.models.logit.potentials import Potentials, class_families, network_potentials
from anbexact.models.model import JointModel, check_class
from anbexact.models.network.elimination import CliqueTooLargeError, Elimination
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.explain import explain_rows
from anbexact.models.network.explanation import Explanations
from anbexact.models.network.explanation_terms import Family, Grounds
from anbexact.models.network.posterior import ClassPosterior, Posterior, parents_first_class_last
from anbexact.models.network.sampling import sample_network
from anbexact.models.network.table_draws import Draw, draws_of_network
from anbexact.models.network.tree_posterior import TreePosterior
from anbexact.models.parameters.counts import Counts, FamilyCounts, check_memory, count_families
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.models.parameters.trees import TreeTable
from anbexact.models.structure import Certificate, Structure, structure_from_dict, structure_to_dict
from anbexact.scores.capabilities import scores_structures
from anbexact.tables.cuts import Cuts
from anbexact.tables.reader import Reader, Rows
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import MISSING, CodeArray, Vocabulary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Network(JointModel, Displayed):
    """A Bayesian network: a structure and, for every variable, its distribution given its parents.

    Networks are immutable; estimators have one as ``model_``. :func:`~anbexact.fit_network` makes one from a table,
    which need not have a class; without one, whatever concerns a class is refused. It is a :class:`TableNetwork` if
    all variables are discrete or discretised, and a :class:`DensityNetwork` if columns are modelled by a universal
    measure.

    Attributes
    ----------
    structure : Structure
        The graph, with its score and certificate.
    counts : dict or None
        Weighted counts of every variable with its parents; None for a network whose tables were given.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    structure: Structure
    counts: Counts | None = None

    @property
    @abstractmethod
    def families(self) -> Mapping[Hashable, Family]:
        """The conditional distributions, whose logarithms add up to the log joint probability."""

    @property
    @abstractmethod
    def grounds(self) -> Grounds:
        """The counts behind the distributions, for explanations."""

    @abstractmethod
    def discrete(self) -> TableNetwork:
        """Return the network with conditional tables: this one, or the one with only the most probable levels."""

    @property
    @abstractmethod
    def discrete_vocabulary(self) -> Vocabulary:
        """The vocabulary of :meth:`discrete`."""

    @property
    @abstractmethod
    def discrete_cut_points(self) -> Mapping[Hashable, Cuts]:
        """The cut points of :meth:`discrete`."""

    @abstractmethod
    def discrete_counts(self) -> Counts | None:
        """Return the counts in the vocabulary of :meth:`discrete`; None if the tables were given."""

    @property
    def coding(self) -> Coding:
        """The states and cut points of :meth:`discrete`."""
        return Coding(self.discrete_vocabulary, self.discrete_cut_points)

    @property
    def summed_families(self) -> list[tuple[Hashable, Family]]:
        """The conditional distributions, each with its variable."""
        return [*self.families.items()]

    def to_potentials(self) -> Potentials:
        """Return the logarithms of the tables of :meth:`to_network` that depend on the class."""
        check_class(self.vocabulary, "log odds")
        network = self.to_network()
        return network_potentials(network.tables, network.structure)

    @property
    def learned(self) -> Self:
        """The network itself."""
        return self

    def draw_tables(self, n: int, rng: np.random.Generator) -> Iterator[Draw]:
        """Return an iterator over draws of the tables, which must be means of Dirichlet posteriors."""
        return draws_of_network(self, n, rng)

    def family_sum(self) -> FamilySum:
        """Return the log odds as a sum of the network's log conditional tables.

        Its ``network`` and ``potentials`` raise ValueError if columns are modelled by densities, and its potentials
        do if a table contains a zero.
        """
        check_class(self.vocabulary, "log odds")
        counts = counts_of_rows(self.counts)
        return FamilySum(self.vocabulary, counts, self.log_posterior, self._potentials, lambda: self.summing_network)

    @property
    @abstractmethod
    def summing_network(self) -> TableNetwork:
        """The network of conditional tables under which missing cells are summed out."""

    def _potentials(self) -> Potentials:
        """Return the logarithms of the tables that depend on the class; refuse tables with zeros."""
        tables = self.summing_network.tables
        for name in class_families(self.structure):
            if not (tables[name].values > 0).all():
                raise ValueError(
                    f"the conditional table of {name!r} holds zeros, so that log odds can be infinite and cannot "
                    "be divided among features: estimate the tables with parameters='eap'"
                )
        return network_potentials(tables, self.structure)

    def to_dict(self) -> dict[str, Any]:
        """Return the structure; subclasses add what determines their tables or densities."""
        return {"structure": structure_to_dict(self.structure, self.vocabulary)}

    def _counts_to_dict(self) -> list[dict[str, Any]]:
        assert self.counts is not None
        positions = self.vocabulary.positions
        return [family.to_dict(positions) for family in self.counts.values()]

    @property
    def has_table_posterior(self) -> bool:
        """Whether the tables are means of Dirichlet posteriors."""
        return self.grounds.smoothing is not None

    def __repr__(self) -> str:
        n_features, n_arcs = len(self.vocabulary.features), len(self.structure.edges)
        what = f" of {self.structure.class_name!r}: {counted(n_features, 'feature')}"
        if self.structure.class_name is None:
            what = f": {counted(n_features, 'variable')}"
        return f"<{type(self).__name__}{what}, {counted(n_arcs, 'arc')}>"

    def explain(self, rows: Rows, label: Any = None, against: Any = None) -> Explanations:
        """Return, for every row, what each feature adds to the log odds of one class against another.

        See :func:`~anbexact.models.network.explain.explain_rows`.
        """
        check_class(self.vocabulary, "explanations")
        return explain_rows(
            rows, self.class_posterior, self.summed_families, self.vocabulary, self.grounds, label, against
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableNetwork(Network):
    """A network of discrete variables.

    Attributes
    ----------
    tables : dict
        P(variable | parents) of every variable.
    estimation : Estimation or None
        How the tables follow from ``counts``; None, like ``counts``, if the tables were given.

    The other attributes are those of :class:`Network`.
    """

    tables: Tables
    estimation: Estimation | None = None

    @classmethod
    def from_counts(
        cls,
        vocabulary: Vocabulary,
        structure: Structure,
        counts: Counts,
        cut_points: Mapping[Hashable, Cuts],
        estimation: Estimation,
    ) -> TableNetwork:
        """Return the network whose tables are estimated from counts."""
        return cls(
            vocabulary=vocabulary,
            cut_points=cut_points,
            structure=structure,
            counts=counts,
            tables=estimation.tables(counts, structure.class_name),
            estimation=estimation,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the structure, and the counts with the rule for the tables; or the tables, if these were given."""
        if self.counts is None or self.estimation is None:
            positions = self.vocabulary.positions
            return {**super().to_dict(), "tables": [table.to_dict(positions) for table in self.tables.values()]}
        return {**super().to_dict(), **self.estimation.to_dict(self.counts), "counts": self._counts_to_dict()}

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], estimator: Any
    ) -> TableNetwork:
        """Return the network that :meth:`to_dict` described; see :meth:`Model.from_dict`."""
        names, structure = vocabulary.names, read_structure(described, vocabulary)
        if "tables" in described:
            with reading("tables"):
                given = [
                    ConditionalTable.from_dict(mapped(table), names, vocabulary)
                    for table in listed(described["tables"])
                ]
                check_families(given, structure)
                tables = {table.name: table for table in given}
                network = cls(vocabulary=vocabulary, cut_points=cut_points, structure=structure, tables=tables)
                network.prepare()
                return network
        with reading("counts"):
            families = [
                FamilyCounts.from_dict(mapped(family), names, vocabulary.arity)
                for family in listed(described["counts"])
            ]
            check_families(families, structure)
            check_memory(sum(prod(family.shape) for family in families))
        with reading("ess, smoothing, tables_by and strengths"):
            counts = {family.name: family for family in families}
            estimation = Estimation.from_dict(described, counts, estimator.score_of)
            network = cls.from_counts(vocabulary, structure, counts, cut_points, estimation)
            for table in network.tables.values():
                table.check()
            network.prepare()
            return network

    @cached_property
    def class_posterior(self) -> Posterior:
        """The evaluator of the joint and posterior probabilities of the class."""
        return Posterior(self.tables, self.structure.class_name, self.vocabulary.features)

    def evaluator(self, codes: CodeArray) -> ClassPosterior:
        """Return the evaluator for rows of these codes, shape (features, rows).

        It is :attr:`class_posterior`; or that of the trees if all tables are trees, few rows were evaluated so far,
        and all of these are complete.
        """
        trees = self._trees
        if trees is None or "class_posterior" in vars(self):
            return self.class_posterior
        return trees if trees.is_quicker_for(codes.shape[1]) and codes.min(initial=0) >= 0 else self.class_posterior

    @cached_property
    def _trees(self) -> TreePosterior | None:
        """The evaluator of the posterior for few rows; None without a class, or if not all tables are trees."""
        class_name = self.structure.class_name
        trees = [table for table in self.tables.values() if isinstance(table, TreeTable)]
        if class_name is None or len(trees) < len(self.tables):
            return None
        ordered = {table.name: table for table in trees}
        order = parents_first_class_last(self.tables, class_name)
        return TreePosterior([ordered[name] for name in order], class_name, self.vocabulary.features)

    def prepare(self) -> None:
        """Compute the evaluator of the class posterior; the values of trees are left until many rows need them."""
        if self._trees is None:
            self.class_posterior  # noqa: B018  # cached

    def marginal(self, names: Sequence[Hashable]) -> Floats:
        """Return the joint distribution of some variables, features or class, exactly.

        The other variables are summed out by a junction tree of the variables that matter.

        Parameters
        ----------
        names : sequence
            Different variables.

        Returns
        -------
        (states of the first, states of the second, ...) float64
            Probabilities that sum to 1.

        Raises
        ------
        ValueError
            If a name is not a variable or occurs twice, or if the sums need more memory than is available.
        """
        positions = self.vocabulary.positions
        unknown = [name for name in names if name not in positions]
        if unknown or len(set(names)) < len(names):
            raise ValueError(f"names must be different variables of the network, not {unknown or list(names)}")
        places = [positions[name] for name in names]
        nothing = np.full((len(positions), 1), MISSING, dtype=np.int16)
        try:
            found = self._elimination.joint(nothing, sorted(places), PROBABILITY, n_jobs=1)
        except CliqueTooLargeError as error:
            raise ValueError(f"the joint distribution of {list(names)} under the network {error.cost}") from None
        ascending = found.reshape([self.vocabulary.arity(self.vocabulary.names[place]) for place in sorted(places)])
        return ascending.transpose(np.argsort(np.argsort(places)))

    def log_probability(self, names: Sequence[Hashable], codes: CodeArray) -> Floats:
        """Return the log probability of joint states of some variables, features or class; the others are summed out.

        Parameters
        ----------
        names : sequence
            Different variables of the network.
        codes : (variables, joint states) int16
            Their states.

        Returns
        -------
        (joint states,) float64
            Nats.

        Raises
        ------
        ValueError
            If the sums need more memory than is available.
        """
        positions = self.vocabulary.positions
        rows = np.full((len(positions), codes.shape[1]), MISSING, dtype=np.int16)
        rows[[positions[name] for name in names]] = codes
        return self._elimination.marginals(rows, [], n_jobs=1)[1]

    @cached_property
    def _elimination(self) -> Elimination:
        """The sums over all variables, in the order of the vocabulary."""
        return Elimination.of_tables({name: self.tables[name] for name in self.vocabulary.names})

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: Σ_v (r_v - 1) q_v, with r_v states and q_v joint states of the parents."""
        return sum(prod(table.shape) - prod(table.shape[1:]) for table in self.tables.values())

    @property
    def rows_to_read(self) -> float:
        """Number of rows of the conditional tables: Σ_v q_v, with q_v joint states of the parents."""
        return float(sum(prod(table.shape[1:]) for table in self.tables.values()))

    @property
    def families(self) -> Tables:
        """The conditional tables."""
        return self.tables

    @property
    def grounds(self) -> Grounds:
        """The counts and, if the tables are posterior means, their smoothing."""
        if self.counts is None or self.estimation is None:
            note = "Counts and intervals are not available: the tables of this network were given, not estimated."
            return Grounds(None, None, note)
        if self.estimation.rule == "eap":
            own = self.estimation.class_smoothing
            return Grounds(self.counts, self.estimation.smoothing, "", self.structure.class_name, own)
        note = (
            f"Intervals are not available: tables by parameters={self.estimation.rule!r} have no Dirichlet posterior."
        )
        return Grounds(self.counts, None, note)

    def discrete(self) -> TableNetwork:
        """Return this network."""
        return self

    def on_one_graph(self, most_cells: int) -> TableNetwork:
        """Return this network."""
        return self

    def facts(self) -> dict[str, Any]:
        """Return how its tables are estimated, and its structure."""
        own = self.estimation
        ess, smoothing, rule = (None, None, None) if own is None else (own.ess, own.smoothing, own.rule)
        return {
            "ess": ess,
            "smoothing": smoothing,
            **({} if own is None or own.class_smoothing is None else {"class_smoothing": own.class_smoothing}),
            "parameters": rule,
            "structure": self.structure,
            "score_name": None if own is None else own.score.name,
        }

    def to_network(self) -> TableNetwork:
        """Return this network."""
        return self

    def sample(
        self,
        n: int,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        random_state: int | np.random.Generator | None = None,
        missing: bool = False,
        reader: Reader | None = None,
    ) -> pd.DataFrame:
        """Return rows drawn from the network, given the values of some variables; see :meth:`Model.sample`."""
        return sample_network(self, n, evidence, random_state, missing, reader)

    def counted(self) -> TableNetwork:
        """Return this network."""
        return self

    @property
    def summing_network(self) -> TableNetwork:
        """The network itself."""
        return self

    @property
    def discrete_vocabulary(self) -> Vocabulary:
        """The vocabulary."""
        return self.vocabulary

    @property
    def discrete_cut_points(self) -> Mapping[Hashable, Cuts]:
        """The cut points."""
        return self.cut_points

    def discrete_counts(self) -> Counts | None:
        """Return the counts."""
        return self.counts

    def add(self, table: DiscreteTable) -> TableNetwork:
        """Return the network with the rows of another table of the same vocabulary added.

        Counts add up, so the tables are those of all rows; structure, states and equivalent sample sizes do not
        change.

        Raises
        ------
        ValueError
            If the tables were given, so that there are no counts to add to.
        """
        if self.counts is None or self.estimation is None:
            raise ValueError(
                "rows cannot be added: the tables of this network were given, not estimated from counts. "
                "Call fit to count rows."
            )
        return self._with(count_families(table, self.structure), self.estimation)

    def without_rows(self) -> TableNetwork:
        """Return the network with all counts 0, so that its tables are the means of the prior.

        It has no records of training values either, since these reveal values of the rows.

        Raises
        ------
        ValueError
            If the network has no counts.
        """
        if self.counts is None or self.estimation is None:
            raise ValueError(
                "there are no rows to leave out: the tables of this network were given, not estimated from counts"
            )
        counts = {
            name: replace(own, cells=own.cells[:0], weights=own.weights[:0]) for name, own in self.counts.items()
        }
        structure = Structure.given(self.structure.class_name, self.structure.parents, 0.0)
        vocabulary = replace(self.vocabulary, records={})  # which hold values of the rows
        return TableNetwork.from_counts(vocabulary, structure, counts, self.cut_points, self.estimation)

    def merge(self, other: TableNetwork) -> TableNetwork:
        """Return the network of the rows of both, which were counted separately.

        Both must have the same variables, states, cut points, arcs and equivalent sample sizes; their counts are
        added up.

        Raises
        ------
        ValueError
            If they differ in one of these, which the message names, have no counts, or have a score that does not
            follow from counts.
        """
        if self.counts is None or self.estimation is None or other.counts is None or other.estimation is None:
            raise ValueError(
                "networks whose tables were given, not estimated from counts, cannot be merged: fit them to rows"
            )
        pairs = {
            "variables": (self.vocabulary.names, other.vocabulary.names),
            "states": (self.vocabulary, other.vocabulary),
            "cut points": (_plain(self.cut_points), _plain(other.cut_points)),
            "arcs": (dict(self.structure.parents), dict(other.structure.parents)),
            "score, equivalent sample size or rule of the tables": (True, self.estimation.same_as(other.estimation)),
        }
        unlike = [what for what, (own, others) in pairs.items() if own != others]
        if unlike:
            raise ValueError(
                f"the networks do not have the same {unlike[0]}: learn one from some of the rows, and let "
                "partial_fit of its without_rows() count the others"
            )
        return self._with(other.counts, self.estimation)

    def _with(self, added: Counts, estimation: Estimation) -> TableNetwork:
        """Return the network with counts added; its score is that of all rows."""
        assert self.counts is not None
        if scores_structures(estimation.score):
            raise ValueError(
                f"rows cannot be added, because the {estimation.score.name} score of all rows does not follow from "
                "counts: fit again with all rows"
            )
        counts = {name: family + added[name] for name, family in self.counts.items()}
        total = sum(
            estimation.score.local_score(family.table(self.vocabulary), name, family.parents)
            for name, family in counts.items()
        )
        certificate = Certificate.unknown("learned from earlier rows, not searched again")
        structure = Structure(self.structure.class_name, self.structure.parents, total, certificate)
        return TableNetwork.from_counts(self.vocabulary, structure, counts, self.cut_points, estimation)


def _network_to_json(network: TableNetwork) -> dict[str, Any]:
    """Return a network that is a value of a parameter, such as the prior of a score: its states and its tables."""
    vocabulary = network.vocabulary
    return {
        "variables": [[encode(name), encode(list(states))] for name, states in vocabulary.states.items()],
        "class": vocabulary.positions.get(vocabulary.class_name),  # None without a class
        **replace(network, counts=None, estimation=None).to_dict(),
    }


def _network_from_json(described: Mapping[str, Any]) -> TableNetwork:
    """Return the network that :func:`_network_to_json` described."""
    pairs = [listed(pair, 2) for pair in listed(described["variables"])]
    states = {decode(name): tuple(decode(of_name)) for name, of_name in pairs}
    place = described["class"]
    class_name = None if place is None else list(states)[references([place], len(states))[0]]
    return TableNetwork.from_dict(described, Vocabulary(states, class_name), {}, None)


register_form("TableNetwork", TableNetwork, _network_to_json, _network_from_json)


def read_structure(described: Mapping[str, Any], vocabulary: Vocabulary) -> Structure:
    """Return the structure that the description of a network contains."""
    with reading("structure"):
        return structure_from_dict(mapped(described["structure"]), vocabulary)


def check_families(families: Sequence[FamilyCounts | ConditionalTable], structure: Structure) -> None:
    """Refuse families unless they are those of a structure, one for each variable."""
    parents = {family.name: family.parents for family in families}
    if parents.keys() != structure.parents.keys() or len(parents) < len(families):
        raise ValueError("not every variable has a table and a place in the structure")
    if any(set(parents[name]) != set(structure.parents[name]) for name in parents):
        raise ValueError("a table does not match the structure")


def _plain(cut_points: Mapping[Hashable, Cuts]) -> dict[Hashable, list[float]]:
    return {name: cuts.tolist() for name, cuts in cut_points.items()}
