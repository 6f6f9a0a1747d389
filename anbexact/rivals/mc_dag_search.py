"""Greedy search over Markov equivalence classes of minimal class-focused graphs, by conditional likelihood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from anbexact._runtime.deadline import Deadline, check_limit, interruptible
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import counted
from anbexact._runtime.warn import warn
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import CLL
from anbexact.search.constraints import make_constraints
from anbexact.search.equivalence import EquivalenceClass, class_of_graph
from anbexact.search.exact.solution import rounding_error
from anbexact.search.graphs import Graph, children, elements
from anbexact.search.greedy.conditional_likelihood import ConditionalLikelihood, Exchange
from anbexact.search.greedy.hill_climbing import as_parents
from anbexact.search.scoring.totals import class_of
from anbexact.search.single_states import single_states_apart
from anbexact.tables.table import DiscreteTable

OPERATORS_PER_LOOK = 1000
"""Number of operators between two checks of the clock."""


@single_states_apart(below_class=False)
def learn_mc_dag(
    table: DiscreteTable,
    *,
    max_parents: int | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn a minimal class-focused graph of high conditional likelihood by greedy equivalence search.

    In a minimal class-focused graph (MC-DAG), every arc points to the class or to a child of the class. For complete
    data, these graphs can represent every class posterior that Bayesian networks can. The search moves between their
    Markov equivalence classes. Starting from the empty graph, it makes the insertion that raises
    :class:`~anbexact.scores.CLL` most until none raises it. Then it makes deletions in the same way. Both phases are
    repeated until neither raises it. Ties (to within rounding) are broken by the head of the arc that comes first in
    table order, then by the tail that does (the class comes last), then by fewer changed edges.

    Each of Chickering's operators changes one family of some graph of the equivalence class, so its gain follows from
    two families: at the maximum likelihood parameters (uniform for joint states of the parents that do not occur),
    Markov equivalent networks represent the same distribution. A step takes O(n² s N) operations for n variables, s
    classes and N distinct rows, times the number of sets of neighbours that an operator can turn into parents, which
    is small unless there are large cliques.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    max_parents : int, optional
        Maximum number of parents of a variable, counting the class. (The largest number of parents is the same in all
        graphs of an equivalence class.)
    time_limit : float, optional
        Time limit in seconds, after which the structure found so far is returned.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        A minimal class-focused graph; the class has parents only where every graph of the equivalence class has
        them. ``score`` is the CLL, in nats; nothing is proved about it. An interrupt (Ctrl-C) returns the structure
        so far, with a warning.

    Raises
    ------
    ValueError
        For invalid limits.

    References
    ----------
    Mihaljević, Bielza and Larrañaga, *Learning Bayesian network classifiers with completed partially directed acyclic
    graphs*, PGM 2018; Chickering, *Optimal structure identification with greedy search*, JMLR 3 (2002), Theorems 15
    and 17.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.rivals.mc_dag_search import learn_mc_dag
    >>> structure = learn_mc_dag(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.edges
    (('is_monk', 'jacket_color'),)
    """
    check_limit("time_limit", time_limit)
    deadline = Deadline(time_limit)
    class_name = class_of(table)
    names = table.vocabulary.names
    constraints = make_constraints(names, max_parents, (), ())
    posterior = ConditionalLikelihood(table, thread_count(n_jobs), deadline, progress)
    search = _Search(posterior, constraints.max_parents, rounding_error(table), deadline)
    with interruptible(deadline):
        complete = search.run()
    if deadline.interrupted:
        warn("interrupted: this is the best structure found so far")
    method = "greedy equivalence search by CLL over minimal class-focused graphs"
    if constraints.max_parents < len(names) - 1:
        method += f", at most {counted(constraints.max_parents, 'parent')}"
    if not complete:
        method += ", interrupted" if deadline.interrupted else ", stopped by time_limit"
    parents = as_parents(names, class_name, extension(search.found, posterior.class_position))
    certificate = replace(Certificate.unknown(method), sets_scored=search.scored, seconds=deadline.worked)
    return Structure(class_name, parents, CLL().structure_score(table, parents), certificate)


@dataclass(frozen=True)
class Operator:
    """An insertion or a deletion of the edge between tail and head.

    Attributes
    ----------
    tail, head : int
    before : int
        The neighbours of the head that become its parents in a certain graph of the class: one that differs only by
        ``tail → head`` from a graph of the resulting class.
    given : int
        The parents of the head in that graph, without the tail.
    """

    tail: int
    head: int
    before: int
    given: int


def extension(found: EquivalenceClass, *first: int) -> Graph:
    """Return a graph of the class in which some nodes, all of them neighbours, come first in their component.

    The other nodes of a component (joined by edges without direction) follow by maximum cardinality: the next node is
    always one with the most neighbours among the nodes before it, the lowest number if there are several. The
    neighbours before a node are then all neighbours of each other.
    """
    parents = list(found.parents)
    nodes = range(len(parents))
    done = 0
    for start in (first, *((node,) for node in nodes)):
        waiting = list(start)
        while waiting:
            node = waiting.pop(0)
            if done >> node & 1:
                continue
            parents[node] |= found.neighbours[node] & done
            done |= 1 << node
            if not waiting:
                joined = {v: (found.neighbours[v] & done).bit_count() for v in nodes if not done >> v & 1}
                waiting = [v for v in joined if joined[v] and joined[v] == max(joined.values())][:1]
    return tuple(parents)


def is_class_focused(found: EquivalenceClass, class_node: int) -> bool:
    """Whether the equivalence class contains a graph in which every arc points to the class or to its children.

    If there is such a graph, there is also one in which the class is the first node of its component (of nodes that
    are joined by edges without direction). Otherwise, the class has a parent in the component. This parent is not a
    child of the class, so no arc may point to it: it is the first node, and the only parent of the class. The arc
    between the two is then covered, and reversing it makes the parent a child.

    With the class first, an arc points to every other node of its component. An arc also points to every node that
    has a compelled parent, and, whichever directions are chosen, to all nodes but one of any other component. The
    nodes of a component have the same parents outside it, so either all of them are children of the class or none is.
    The condition is therefore that every node with parents or neighbours, except the class, is a child of the class.
    """
    class_neighbours = found.neighbours[class_node] | children(found.parents)[class_node]
    return all(
        node == class_node or class_neighbours >> node & 1 or not (found.parents[node] | found.neighbours[node])
        for node in range(len(found.parents))
    )


def insertions(found: EquivalenceClass, max_parents: int) -> Iterator[Operator]:
    """Yield the valid insertions ``Insert(tail, head, T)``: Theorem 15 of Chickering (2002).

    Tail and head are not joined. NA are the neighbours of the head that are joined to the tail, and T are some of the
    neighbours of the head that are not. The union of NA and T, which is ``before``, must be a clique, and every path
    from the head to the tail along arcs and edges must contain one of its nodes.
    """
    below = children(found.parents)
    joined = [found.adjacent(node, below) for node in range(len(below))]
    everything = (1 << len(below)) - 1
    for head, neighbours in enumerate(found.neighbours):
        for tail in elements(everything & ~(joined[head] | 1 << head)):
            shared = neighbours & joined[tail]
            most = max_parents - 1 - found.parents[head].bit_count()
            for before in cliques(shared, neighbours & ~joined[tail], joined, most):
                if not _leads(found, below, head, tail, before):
                    yield Operator(tail, head, before, before | found.parents[head])


def deletions(found: EquivalenceClass) -> Iterator[Operator]:
    """Yield the valid deletions ``Delete(tail, head, H)``: Theorem 17 of Chickering (2002).

    There is an arc from tail to head, or an edge between them. H are some of the neighbours of the head that are
    joined to the tail; the other ones, which are ``before``, must be a clique.
    """
    below = children(found.parents)
    joined = [found.adjacent(node, below) for node in range(len(below))]
    for head, neighbours in enumerate(found.neighbours):
        for tail in elements(neighbours | found.parents[head]):
            for before in cliques(0, neighbours & joined[tail], joined, len(below)):
                yield Operator(tail, head, before, (before | found.parents[head]) & ~(1 << tail))


def cliques(core: int, others: int, joined: list[int], most: int) -> Iterator[int]:
    """Yield the cliques of at most a given size that consist of a core and some other nodes, smaller ones first."""
    if core.bit_count() > most or any(core & ~(joined[v] | 1 << v) for v in elements(core)):
        return
    common = others
    for v in elements(core):
        common &= joined[v]
    layer = [(core, common)]
    while layer:
        yield from (clique for clique, _ in layer)
        layer = [
            (clique | 1 << v, fitting & joined[v] & ~((2 << v) - 1))
            for clique, fitting in layer
            for v in elements(fitting)
            if clique.bit_count() < most
        ]


def _leads(found: EquivalenceClass, below: list[int], start: int, end: int, around: int) -> bool:
    """Whether a path along arcs and edges leads from one node to another while avoiding some nodes."""
    reached, waiting = around, 1 << start
    while waiting:
        reached |= waiting
        following = 0
        for v in elements(waiting):
            following |= below[v] | found.neighbours[v]
        waiting = following & ~reached
        if waiting >> end & 1:
            return True
    return False


def applied(found: EquivalenceClass, operator: Operator) -> EquivalenceClass:
    """Return the equivalence class that a valid operator leads to."""
    first = list(elements(operator.before))
    tail = 1 << operator.tail
    if found.neighbours[operator.head] & tail:
        first.append(operator.tail)
    graph = list(extension(found, *first, operator.head))
    graph[operator.head] ^= tail
    return class_of_graph(tuple(graph))


class _Search:
    """A search in progress: the equivalence class that it has reached."""

    def __init__(
        self, likelihood: ConditionalLikelihood, max_parents: int, rounding: float, deadline: Deadline
    ) -> None:
        empty = (0,) * likelihood.n
        self.found = EquivalenceClass(empty, empty)
        self.scored = 0
        self._likelihood, self._max_parents = likelihood, max_parents
        self._rounding, self._deadline = rounding, deadline

    def run(self) -> bool:
        """Insert and delete in turn until there is nothing to gain; return whether this was reached in time."""
        insert = moved = True
        while moved:
            moved = False
            while not self._deadline.passed:
                following = self._step(insert=insert)
                if following is None:
                    return False
                if following == self.found:
                    break
                self.found, moved = following, True
            else:
                return False
            insert = not insert
        return True

    def _step(self, *, insert: bool) -> EquivalenceClass | None:
        """Return the class after the best operator, or the same class if no operator gains; None if time ran out."""
        likelihood, found = self._likelihood, self.found
        likelihood.move_to(extension(found, likelihood.class_position))
        operators = insertions(found, self._max_parents) if insert else deletions(found)
        by_family: dict[tuple[int, int], list[Operator]] = {}
        exchanges: list[Exchange] = []
        listed: list[Operator] = []
        for k, own in enumerate(operators):
            if k % OPERATORS_PER_LOOK == 0 and self._deadline.passed:
                return None
            if likelihood.holds_class(own.head, own.given | 1 << own.tail):
                now = own.given if insert else own.given | 1 << own.tail
                by_family.setdefault((own.head, now), []).append(own)
        for (head, now), of_family in by_family.items():
            new = tuple(now ^ 1 << own.tail for own in of_family)
            exchanges.append(Exchange(((head, now),), (), head, new))
            listed += of_family
        self.scored += len(listed)
        kind = "insertions into" if insert else "deletions from"
        values = likelihood.likelihoods(exchanges, f"{kind} {likelihood.total:.6g} nats")
        if values is None:
            return None
        gains = [float(value) - likelihood.total for of_family in values for value in of_family]
        places = sorted(range(len(gains)), key=lambda k: -gains[k])
        while places and gains[places[0]] > self._rounding:
            best = gains[places[0]]
            tied = [k for k in places if gains[k] >= best - self._rounding]
            for k in sorted(tied, key=lambda k: self._rank(listed[k])):
                following = applied(found, listed[k])
                if is_class_focused(following, likelihood.class_position):
                    return following
            places = places[len(tied) :]
        return found

    @staticmethod
    def _rank(operator: Operator) -> tuple[int, int, int, int]:
        return operator.head, operator.tail, operator.before.bit_count(), operator.before
