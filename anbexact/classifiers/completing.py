"""Networks from rows with missing cells: choose equivalent sample sizes, compare starts, keep the best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from anbexact._runtime.advice import heard_once
from anbexact._runtime.deadline import Deadline, abandonable, check_limit, seconds_left
from anbexact._runtime.memory import available_memory
from anbexact._runtime.warn import warn
from anbexact.classifiers.choosing.sample_size import Learned, Validation
from anbexact.classifiers.choosing.table_strengths import Split
from anbexact.models.em.expectation import CompletionExpectation, Expected
from anbexact.models.em.record import EMRecord, EMStart
from anbexact.models.em.starts import STARTS, available_tables
from anbexact.models.em.structural import LONG, SHORT, Climb, MStep, Patience, climb, first_expected
from anbexact.models.em.validation import IncompleteHeldOut, IncompleteValidation
from anbexact.models.network.estimation import Estimation, TableSettings
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import Counts
from anbexact.models.parameters.tables import Tables
from anbexact.models.structure import Structure
from anbexact.tables.cuts import Cuts
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.table import DiscreteTable

if TYPE_CHECKING:
    from anbexact.classifiers.base import NetworkClassifier

MOST_COMPLETIONS = 50_000
"""Maximum number of completions, or twice the number of distinct rows if that is more: searches remain quick."""
SHARE_OF_MEMORY = 0.25
"""Share of the available memory that completions may take."""
SHARE_OF_CHOICE = 0.3
"""Share of the remaining time in which equivalent sample sizes are chosen."""
SHARE_UNSAID = 0.05
"""Share of the distinct rows that draws may represent without a warning; the certificate always mentions draws."""
IN_ROUNDS = ("eap", "ml")
"""Rules of tables with an objective that no round lowers. With another rule, the rounds use ``"eap"``, and only the
last tables are estimated by the rule."""

StructureLearner = Callable[[DiscreteTable, Validation], Callable[..., Learned]]
"""See ``learner`` of :class:`ExpectationMaximisation`."""
StrengthChoice = Callable[[DiscreteTable, Structure, Learned, Deadline, Split], TableSettings]
"""See ``strengths`` of :class:`ExpectationMaximisation`."""


class ExpectationMaximisation:
    """Expectation maximisation for one classifier.

    Parameters
    ----------
    classifier : NetworkClassifier
        The classifier whose parameters define how structures and tables are learned.
    learner : callable
        ``learner(table, validation)`` returns what chooses equivalent sample sizes and a search.
    strengths : callable
        ``strengths(rows, structure, learned, deadline, split)`` returns the strengths or settings of tables.
    table : IncompleteTable
        The rows, some with missing cells.
    """

    def __init__(
        self,
        classifier: NetworkClassifier,
        learner: StructureLearner,
        strengths: StrengthChoice,
        table: IncompleteTable,
    ) -> None:
        self._classifier, self._learner, self._strengths, self._table = classifier, learner, strengths, table
        limit = getattr(classifier, "time_limit", None)
        check_limit("time_limit", limit)
        self._deadline = Deadline(limit)
        self._progress = classifier.progress()
        self._expectation = CompletionExpectation(table, self._most_completions())

    def network(self, cut_points: Mapping[Hashable, Cuts]) -> tuple[TableNetwork, EMRecord]:
        """Return the network of the best start, and how it was found."""
        self._say_what_is_drawn()
        learned, climbs = self._climbs()
        best = max(climbs, key=lambda one: one.score)
        last = self._climb(best.start, best.expected, learned, LONG)
        best = replace(last, rounds=best.rounds + last.rounds)
        if not best.converged:
            warn(
                f"expectation maximisation did not converge in {len(best.rounds)} rounds"
                + (" within time_limit" if self._deadline.passed else "")
                + "; the network of the last round is used"
            )
        rows = best.expected.rows()
        estimation = self._estimation(learned, rows, best.structure)
        structure = self._certified(best.structure)
        network = TableNetwork.from_counts(
            self._table.vocabulary, structure, best.counts, dict(cut_points), estimation
        )
        return network, self._record(best, climbs, rows)

    def _climbs(self) -> tuple[Learned, list[Climb]]:
        """Return the chosen equivalent sample sizes, and the result of every start for which there was time."""
        firsts = {start: first_expected(self._expectation, start) for start in STARTS}
        learned = self._chosen(cast(Expected, firsts[STARTS[0]]))
        climbs: list[Climb] = []
        for start in STARTS:
            if not (climbs and self._deadline.passed):
                climbs.append(self._climb(start, firsts[start], learned))
        return learned, climbs

    def _chosen(self, expected: Expected) -> Learned:
        """Return the equivalent sample sizes and the search for the expected counts."""
        folds = IncompleteValidation(self._expectation, available_tables)
        validation = Validation(folds.split, IncompleteHeldOut, folds.best_smoothing, complete=False)
        limit = seconds_left(self._deadline.within(SHARE_OF_CHOICE * self._deadline.left))
        return self._learner(expected.rows(), validation)(time_limit=limit)

    def _climb(
        self, start: str, first: Expected | DiscreteTable, learned: Learned, patience: Patience = SHORT
    ) -> Climb:
        """Climb from a start, or continue an earlier climb, with the chosen equivalent sample sizes."""
        rule = self._classifier.parameters if self._classifier.parameters in IN_ROUNDS else "eap"
        score = self._classifier.score_of(learned.ess)
        estimation = Estimation(score, learned.ess, learned.smoothing, rule)

        def estimate(counts: Counts) -> Tables:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # they are given for the last tables
                return estimation.tables(counts, self._table.vocabulary.class_name)

        m_step = MStep(learned.search.learn, score, estimate, learned.smoothing if rule == "eap" else 0.0)
        return climb(self._expectation, start, first, m_step, patience, self._deadline, self._progress)

    def _estimation(self, learned: Learned, rows: DiscreteTable, structure: Structure) -> Estimation:
        """Return how the last tables are estimated."""
        score, rule = self._classifier.score_of(learned.ess), self._classifier.parameters
        split = IncompleteValidation(self._expectation, available_tables).split_completed
        strengths = self._strengths(rows, structure, learned, self._deadline, split)
        return Estimation(score, learned.ess, learned.smoothing, rule, strengths)

    def _most_completions(self) -> int:
        """Return the maximum number of completions that memory allows and with which searches remain quick."""
        limit = getattr(self._classifier, "memory_limit", None)
        memory = SHARE_OF_MEMORY * (available_memory() if limit is None else min(limit, available_memory()))
        each = 6 * len(self._table.vocabulary.names) + 100
        return int(min(max(MOST_COMPLETIONS, 2 * len(self._table.weights)), memory / each))

    def _say_what_is_drawn(self) -> None:
        """Warn if many rows are represented by draws, because they have too many completions."""
        drawn = self._expectation.drawn
        if len(drawn) > SHARE_UNSAID * len(self._table.weights):
            most = float(self._table.n_completions()[drawn].max())
            warn(
                f"{len(drawn)} of {len(self._table.weights)} distinct rows have too many missing cells to be "
                f"completed in every way (up to {most:.2g} ways): while the structure is searched, each is "
                f"represented by {self._expectation.n_draws} completions drawn from the network of the round "
                "before; the tables use exact expectations"
            )

    def _certified(self, structure: Structure) -> Structure:
        """Return the structure with a certificate that says to which table it refers."""
        drawn = (
            f", {len(self._expectation.drawn)} of them by {self._expectation.n_draws} draws each"
            if len(self._expectation.drawn)
            else ""
        )
        about = (
            f"about the expected counts of the last round, in which the missing cells of {self._table.n_incomplete} "
            f"distinct rows were completed{drawn}"
        )
        certificate = structure.certificate
        return replace(structure, certificate=replace(certificate, method=f"{certificate.method}; {about}"))

    def _record(self, best: Climb, climbs: list[Climb], rows: DiscreteTable) -> EMRecord:
        """Return how the network was found; ``rows`` are the completions of the last round."""
        starts = tuple(
            EMStart(one.start, one.score, one.rounds[-1].log_likelihood, len(one.rounds)) for one in climbs
        )
        return EMRecord(
            best.start,
            best.converged,
            best.rounds,
            starts,
            self._table.n_incomplete,
            len(self._expectation.drawn),
            self._expectation.n_completions,
            rows,
        )


def learn_from_incomplete_rows(
    classifier: Any,
    learner: StructureLearner,
    strengths: StrengthChoice,
    table: IncompleteTable,
    cut_points: Mapping[Hashable, Cuts],
) -> tuple[TableNetwork, EMRecord]:
    """Return the network that expectation maximisation learns from rows with missing cells, and how.

    Equivalent sample sizes of ``"auto"`` are chosen on the expected counts of naive Bayes from available cases. Where
    rows are held out, the method is applied only to the other rows, and the missing cells of the held-out rows are
    summed out. With these sizes, the method climbs from every start (:mod:`anbexact.models.em.starts`), and the
    result with the highest score is used (:class:`~anbexact.models.em.record.EMStart`).

    Warns
    -----
    UserWarning
        If rows have too many completions to enumerate, or the rounds did not converge.

    Raises
    ------
    KeyboardInterrupt
        When interrupted, once the search under way has ended; nothing is learned then.
    """
    with abandonable(), heard_once():
        return ExpectationMaximisation(classifier, learner, strengths, table).network(cut_points)
