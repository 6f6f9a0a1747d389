"""A classifier whose structure is given, not learned."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.classifiers.base import NetworkClassifier
from anbexact.scores import Score
from anbexact.search.naive_bayes import total_score
from anbexact.structure import Certificate, Structure
from anbexact.table import DiscreteTable


class FixedStructureClassifier(NetworkClassifier):
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

    def __init__(
        self,
        parents: Mapping[Hashable, Sequence[Hashable]],
        *,
        structure_score: str | Score = "bdeu",
        ess: float | str = 1.0,
        parameters: str = "eap",
        smoothing: float | str | None = None,
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            structure_score=structure_score,
            ess=ess,
            parameters=parameters,
            smoothing=smoothing,
            discretizer=discretizer,
            categories=categories,
            handle_unknown=handle_unknown,
            handle_missing=handle_missing,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.parents = parents

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
