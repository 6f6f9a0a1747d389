"""A classifier whose structure is given, not learned."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.parameters import NetworkParameters, parameter_group
from anbexact.scores import Score
from anbexact.search.naive_bayes import total_score
from anbexact.structure import Certificate, Structure
from anbexact.table import DiscreteTable


@parameter_group
class FixedStructureParameters(NetworkParameters):
    """The structure that is given."""

    parents: Mapping[Hashable, Sequence[Hashable]] = field(kw_only=False)


class FixedStructureClassifier(FixedStructureParameters, NetworkClassifier):
    """A network of given structure; ``fit`` estimates its conditional tables.

    This is what :func:`anbexact.adapters.from_pgmpy` returns. The class may have parents.

    Parameters
    ----------
    parents : mapping of variable to its parents
        All variables, the class included under the name that it gets in ``fit``.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier`.

    Raises
    ------
    ValueError
        In ``fit``, if the mapping is not an acyclic graph over exactly the table's variables.
    """

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        names = table.vocabulary.names
        strangers = set(names) ^ set(self.parents)
        if strangers:
            raise ValueError(
                f"parents must name exactly the variables {list(names)}; at odds: {sorted(map(str, strangers))}"
            )
        parents = {name: tuple(self.parents[name]) for name in names}
        return given_structure(table.vocabulary.class_name, parents, total_score(table, score, parents))


def given_structure(
    class_name: Hashable, parents: Mapping[Hashable, tuple[Hashable, ...]], score: float
) -> Structure:
    """Return a structure about whose optimality nothing is known."""
    return Structure(class_name, parents, score, Certificate.unknown("structure given, not searched"))
