"""The common setting of the functions of this package: the table without features of one state, and the limits."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anbexact._runtime.deadline import check_limit
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.posterior.families import Work
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.single_states import SingleStates
from anbexact.tables.prediction import check_choice
from anbexact.tables.table import DiscreteTable


def chosen_networks(networks: str | None, kinds: Sequence[str], table: DiscreteTable) -> str:
    """Return a kind of network; None means ``"anb"`` if the table has a class, otherwise ``"gbn"``.

    Raises
    ------
    ValueError
        For an unknown kind, or augmented naive Bayes networks of a table without a class.
    """
    with_class = table.vocabulary.class_name is not None
    if networks is None:
        return "anb" if with_class else "gbn"
    check_choice("networks", networks, kinds)
    if networks == "anb" and not with_class:
        others = " or ".join(f"networks={kind!r}" for kind in kinds if kind != "anb")
        raise ValueError(
            "networks='anb' needs a class, but the table has no class variable: pass y or class_name= when you make "
            f"the table, or use {others}"
        )
    return networks


@dataclass(frozen=True)
class Limits:
    """Limits on the structures and the work; the attributes are parameters of the functions of this package."""

    max_parents: int | None = None
    required: Iterable[Edge] = ()
    forbidden: Iterable[Edge] = ()
    memory_limit: float | None = None
    n_jobs: int | None = None
    progress: Progress | None = None

    def setting(self, table: DiscreteTable, score: Score | None, search: str, *, augmented: bool = True) -> Setting:
        """Return the setting of a search.

        Parameters
        ----------
        table : DiscreteTable
            A table with or without a class.
        score : Score, optional
            BDeu by default.
        search : str
            Its name, for messages.
        augmented : bool, default True
            Whether the class, if there is one, is a parent of every feature; otherwise it is an ordinary variable.
        """
        check_limit("memory_limit", self.memory_limit)
        accepted = SearchRequirements(search, class_free=not augmented).accept(score, table)
        name = table.vocabulary.class_name
        required = tuple(self.required)
        given = table if augmented else table.without_class()  # where even the class may have a single state
        rest = SingleStates.of(given, accepted, required, tuple(self.forbidden))
        work = Work(thread_count(self.n_jobs), self.progress, self.memory_limit)
        maker = StructureMaker(name, augmented and name is not None, rest)
        return Setting(accepted, rest.table, self.max_parents, required, work, maker)


@dataclass(frozen=True)
class Setting:
    """The setting of a search.

    Attributes
    ----------
    score : Score
        The score.
    table : DiscreteTable
        The variables whose parents are sought, including the class if it is an ordinary variable.
    max_parents : int, optional
        Maximum number of parents among them.
    required : tuple of (parent, child)
        Arcs that every structure has.
    work : Work
        Threads, progress and memory.
    maker : StructureMaker
        Converts sets of parents to structures over all variables.
    """

    score: Any
    table: DiscreteTable
    max_parents: int | None
    required: tuple[Edge, ...]
    work: Work
    maker: StructureMaker

    def constraints(self) -> Constraints:
        """Return the constraints on the parents, checked."""
        features = self.table.vocabulary.features
        return make_constraints(features, self.max_parents, self.required, self.maker.rest.forbidden)

    def log_class(self, table: DiscreteTable) -> float:
        """Return the local score of a class that is a parent of every feature, otherwise 0."""
        return float(self.score.local_score(table, self.maker.class_name, [])) if self.maker.augmented else 0.0


@dataclass(frozen=True)
class StructureMaker:
    """Adds the variables left out of the sums to sets of parents.

    Attributes
    ----------
    class_name : Hashable or None
        The class; None if there is none.
    augmented : bool
        Whether the class is a parent of every feature; otherwise it is an ordinary variable.
    rest : SingleStates
        The features with a single state; if the class is an ordinary variable, it may be one of them.
    """

    class_name: Hashable | None
    augmented: bool
    rest: SingleStates

    def in_order(self, names: Collection[Hashable]) -> tuple[Hashable, ...]:
        """Return variables in table order."""
        return tuple(name for name in self.rest.names if name in names)

    def make(
        self, parents: Mapping[Hashable, Collection[Hashable]], score: float, certificate: Certificate
    ) -> Structure:
        """Return the structure with these parents, to which a class that is a parent of every feature is added."""
        above = (self.class_name,) if self.augmented else ()
        found: dict[Hashable, tuple[Hashable, ...]] = {
            child: (*above, *self.in_order(parents[child]))
            for child in self.rest.names
            if child in parents and child != self.class_name
        }
        if self.class_name is not None:
            found[self.class_name] = self.in_order(parents.get(self.class_name, ()))
        return self.rest.added_to(Structure(self.class_name, found, score, certificate), below_class=self.augmented)
