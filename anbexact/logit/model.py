"""Networks as multinomial logistic regressions, refitted by conditional likelihood, and back as networks."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from anbexact._runtime.limits import Progress, check_limit, thread_count
from anbexact._runtime.warn import warn
from anbexact.discretize import Cuts
from anbexact.inputs.labels import read_labels
from anbexact.inputs.reader import Reader
from anbexact.logit.closure import Closure, close, obstacles
from anbexact.logit.identification import identified
from anbexact.logit.network import posterior_tables
from anbexact.logit.potentials import Potentials, potential_tables
from anbexact.logit.refit import Refit, blanket_counts, refit, same_counts
from anbexact.logit.term_list import TermList, cells_of_counts, cells_of_design
from anbexact.logit.terms import term_name
from anbexact.networks.evidence import query_network
from anbexact.networks.explain import Explanations, Grounds, explain_rows
from anbexact.networks.network import TableNetwork
from anbexact.networks.posterior import Posterior
from anbexact.parameters.tables import Tables, eap_tables
from anbexact.structures.structure import Structure
from anbexact.tables.table import DiscreteTable, check_weights
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

    from anbexact.classifiers.fixed import FixedStructureClassifier

MOST_COUNTED = 10_000
"""Coefficients up to which the text of a model says how many terms were never seen: notebooks show it unasked."""


class FittedClassifier(Protocol):
    """What a logistic regression needs of the classifier whose network it was made of."""

    n_jobs: int | None
    classes_: npt.NDArray[Any]

    @property
    def reader_(self) -> Reader:
        """How frames are read."""

    def progress(self) -> Progress | None:
        """Return what is called with the progress of long work."""

    def with_network(self, network: TableNetwork, l2: float | str | None = None) -> FixedStructureClassifier:
        """Return a fitted classifier of another network over the same columns."""


class LogitModel:
    """A multinomial logistic regression on the states of the features and their interactions.

    Made by :func:`~anbexact.adapters.to_logit`; not changed by any method.

    Parameters
    ----------
    network : TableNetwork
        The network whose class posterior it has, or had before it was refitted.
    classifier : FittedClassifier
        The classifier of that network, which reads frames.
    potentials : tuple of Potential
        The logs of the network's tables, shifted if refitted.
    structure : Structure, optional
        Which terms there are, by default those of the network's structure.
    refitted, closure : Refit and Closure, optional
        How the coefficients were fitted, and which arcs were added.

    Attributes
    ----------
    classes_ : (classes,) array
        Columns of ``predict_proba``; the first is the reference of the coefficients.
    structure : Structure
        The network that the terms come from.
    potentials : tuple of Potential
        The logs of its tables, shifted if refitted: ``ln P(c | x)`` is their sum up to a function of x.
    equivalent : bool
        Whether network and logistic regression index the same conditional distributions of the class.
    why : str
        Which parents of which child are not adjacent, or that there are none such.
    closure : Closure or None
        What :meth:`close` added, if this is its result.
    refitted : Refit or None
        How the coefficients were fitted, if this is the result of :meth:`refit`: ``l2``, ``strength`` (what the
        cross-validation saw), ``fit`` (``converged``, ``separated``, ``gradient``, ...), ``seconds``.
    """

    def __init__(
        self,
        network: TableNetwork,
        classifier: FittedClassifier,
        potentials: Potentials,
        structure: Structure | None = None,
        refitted: Refit | None = None,
        closure: Closure | None = None,
    ) -> None:
        self.network = network
        self.classifier = classifier
        self.potentials = potentials
        self.structure = network.structure if structure is None else structure
        self.refitted = refitted
        self.closure = closure

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy what the model is made of; what it has worked out is worked out again when it is needed."""
        parts = (self.network, self.classifier, self.potentials, self.structure, self.refitted, self.closure)
        return type(self), parts

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and states of all variables."""
        return self.network.vocabulary

    @property
    def cut_points(self) -> dict[Hashable, Cuts]:
        """Cut points of every feature that was discretised."""
        return dict(self.network.cut_points)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, the reference first."""
        return self.classifier.classes_

    @cached_property
    def _shape(self) -> dict[Hashable, int]:
        return {name: self.vocabulary.arity(name) for name in self.vocabulary.names}

    @cached_property
    def _listed(self) -> TermList:
        sources = []
        if self.network.counts is not None:
            sources.append(cells_of_counts(self.network.counts, self.network.structure))
        if self.refitted is not None:
            sources.append(cells_of_design(self.refitted.design))
        return TermList(self.structure, self.vocabulary, sources)

    # ---- terms and coefficients

    @cached_property
    def n_parameters(self) -> int:
        """Number of coefficients: terms times classes but the first."""
        return self._listed.n_parameters

    @cached_property
    def terms(self) -> pd.DataFrame:
        """One row for every coefficient: its features and their states, and as index its name.

        Smaller sets of features come first, then those of earlier features. Models of more than 10 million
        coefficients list only the terms that occur in the rows they were learned from or refitted to.

        Raises
        ------
        ValueError
            If there are too many, and no rows to say which occur.
        """
        variables, states = self._listed.variables_and_states()
        names = [term_name(of_set, of_term) for of_set, of_term in zip(variables, states, strict=True)]
        frame = pd.DataFrame(
            {"variables": pd.Series(variables, dtype=object), "states": pd.Series(states, dtype=object)}
        )
        frame.index = pd.Index(names, name="term")
        return frame

    @cached_property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """β, shape (terms, classes but the first), in nats: rows as in ``terms``, columns as in ``classes_[1:]``."""
        return self._listed.coefficients(self.potentials)

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficients with their names: terms by classes but the first."""
        columns = pd.Index(self.classes_[1:], name=self.structure.class_name)
        return pd.DataFrame(self.coefficients, index=self.terms.index, columns=columns)

    # ---- equivalence

    @cached_property
    def _obstacles(self) -> tuple[tuple[Hashable, Hashable, Hashable], ...]:
        return obstacles(self.structure)

    @property
    def equivalent(self) -> bool:
        """Whether the network has a posterior for all values of the coefficients (it is subperfect)."""
        return not self._obstacles

    @property
    def why(self) -> str:
        """Why the network is, or is not, equivalent to the logistic regression."""
        if self.equivalent:
            return "variables with a common child are adjacent, or both parents of the class"
        shown = "; ".join(f"{a!r} and {b!r}, parents of {child!r}" for child, a, b in self._obstacles[:6])
        rest = len(self._obstacles) - 6
        return f"not adjacent: {shown}" + (f"; and {rest} pairs more" if rest > 0 else "")

    def close(self) -> LogitModel:
        """Return the model with the arcs added that make network and logistic regression equivalent.

        The posterior stays as it is; what a :meth:`refit` can reach grows. ``closure`` says which arcs were added
        and what they cost in parameters. Arcs go from the earlier to the later in a topological order; they are few,
        but there may be ways with fewer.

        Raises
        ------
        MemoryError
            If the tables of the closed network would not fit into memory.
        """
        structure, potentials, closure = close(self.structure, self.potentials, self.network.tables, self._shape)
        return LogitModel(self.network, self.classifier, potentials, structure, self.refitted, closure)

    @cached_property
    def _closed(self) -> LogitModel:
        return self.close()

    # ---- prediction

    @cached_property
    def _posterior(self) -> Posterior:
        logs = [(potential.child, potential.features, potential.logs) for potential in self.potentials]
        return Posterior.from_logs(logs, {name: self._shape[name] for name in self.vocabulary.features})

    def _log_posterior(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row); that of a row does not depend on the others."""
        codes = self.classifier.reader_.codes(X)
        n_jobs = self.classifier.n_jobs
        hidden = np.any(codes < 0, axis=0)
        if not hidden.any():
            return self._posterior.log_posterior(codes, n_jobs)
        logs = np.empty((codes.shape[1], len(self.classes_)))
        logs[~hidden] = self._posterior.log_posterior(np.ascontiguousarray(codes[:, ~hidden]), n_jobs)
        rest = np.ascontiguousarray(codes[:, hidden])
        logs[hidden] = self._summing_network.log_posterior(rest, n_jobs)
        return logs

    @property
    def _summing_network(self) -> TableNetwork:
        """The network, of this posterior, under which hidden cells are summed out."""
        if self.refitted is None:
            return self.network
        return (self if self.equivalent else self._closed).to_network()

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes); see :meth:`predict_proba`."""
        return self._log_posterior(X)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``.

        Missing cells and unknown states are summed out under a network with this posterior (:meth:`to_classifier`,
        after :meth:`close` where it is needed).
        """
        return np.exp(self._log_posterior(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); the first of equally probable ones."""
        return np.asarray(self.classes_[self._log_posterior(X).argmax(axis=1)])

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        See :meth:`anbexact.NetworkClassifier.explain`. The terms are differences of the ``potentials``: of the logs
        of the network's tables, as the refit shifted them, which is as little as the rows and the prior ask for. (The
        tables of :meth:`to_classifier` have the same sums, but in larger terms that cancel each other.) Rows with
        missing or unknown cells are explained by the tables of the network under which these are summed out.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same.
        """
        rows = self.classifier.reader_.rows(X)
        hidden = np.any(rows.codes < 0, axis=0)
        counts = self.network.counts if self.structure is self.network.structure else None
        note = "There are no intervals: refitted terms have no Dirichlet posterior."
        compared = (self.vocabulary, Grounds(counts, None, note), label, against)
        families = potential_tables(self.potentials, self.structure)
        if not hidden.any():
            return explain_rows(rows, self._posterior, families, *compared)
        network = self._summing_network
        complete = iter(explain_rows(rows.chosen(~hidden), self._posterior, families, *compared))
        grounds = Grounds(None, None, note)
        others = iter(
            explain_rows(
                rows.chosen(hidden),
                network.class_posterior,
                network.tables,
                self.vocabulary,
                grounds,
                label,
                against,
            )
        )
        return Explanations((next(others if of_row else complete) for of_row in hidden.tolist()), rows.index)

    def query(self, evidence: Mapping[Hashable, Any] | None = None, /, **values: Any) -> pd.Series[float]:
        """Return P(class | some cells), the others being summed out; see :meth:`anbexact.NetworkClassifier.query`.

        They are summed out under a network with this posterior, as in :meth:`predict_proba`.
        """
        return query_network(self._summing_network, self.classifier.reader_, evidence, values)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the conditional log likelihood ``Σ_t w_t ln P(c_t | x_t)``; total in nats.

        Raises
        ------
        ValueError
            For a class that was not there in ``fit``.
        """
        logs = self._log_posterior(X)
        check_consistent_length(logs, y)
        weights = check_weights(sample_weight, len(logs))
        codes, labels = read_labels(y).coded
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        strangers = [labels[code] if code >= 0 else None for code in np.unique(codes[weights > 0])]
        strangers = [label for label in strangers if label not in place]
        if strangers:
            raise ValueError(
                f"y holds {strangers[0]!r}, which is no class of this model (classes: {self.classes_.tolist()}): "
                "such rows have no likelihood under it, leave them out"
            )
        known = np.array([*(place.get(label, 0) for label in labels), 0])[codes]
        return float(weights @ logs[np.arange(len(logs)), known])

    # ---- refit

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        l2: float | str = "auto",
        solver: str = "trust-ncg",
        max_iter: int = 500,
        time_limit: float | None = None,
        progress: Progress | None = None,
    ) -> LogitModel:
        """Return the model refitted to maximise the conditional log likelihood of rows.

        Maximised is ``Σ_t w_t ln P(c_t | x_t) - l2/2 · Σ (ln φ - ln θ)²``, where ``P(c | x) ∝ Π φ``, and φ runs over
        the entries of the tables of the class and its children, θ being those of the network: a Gaussian prior around
        the generative estimate. Unlike a prior of β it does not depend on which class and which states
        come first. Entries that no row meets stay at θ, and so do combinations of entries that the rows do not
        tell apart. The start is the network itself.

        Parameters
        ----------
        X, y, sample_weight
            As in the classifier's ``fit``; usually the same rows. Rows with a missing feature are left out, with a
            warning.
        l2 : float or "auto", default "auto"
            Precision of the prior. ``"auto"``: the one under which left-out rows are predicted best in
            cross-validation (within which the tables of a network that was fitted to these rows are relearned). 0:
            the pure maximum, which is infinite if the classes can be separated.
        solver : {"trust-ncg", "newton-cg"}, default "trust-ncg"
            scipy's optimiser; ``python -m benchmarks.speed refit`` compares them.
        max_iter : int, default 500
            Most iterations.
        time_limit : float, optional
            Seconds after which the best so far is returned, not converged.
        progress : callable, optional
            Called with a phase and the finished fraction of it. By default as the classifier's ``verbose`` says.

        Returns
        -------
        LogitModel
            Its ``refitted`` says how it went.

        Warns
        -----
        UserWarning
            If the fit did not converge, with the reason; under separation, with the terms that go to infinity.

        Raises
        ------
        ValueError
            For a value or class that is no state, or a senseless parameter.
        """
        check_limit("time_limit", time_limit)
        table = self.classifier.reader_.table(X, y, sample_weight)
        if not len(table.weights):
            raise ValueError("there is no row without a missing feature to refit to")
        found = refit(
            table,
            self.structure,
            self.network.tables,
            relearn=self._relearn(table) if l2 == "auto" else None,
            l2=l2,
            solver=solver,
            max_iter=max_iter,
            time_limit=time_limit,
            threads=thread_count(self.classifier.n_jobs),
            progress=progress or self.classifier.progress(),
        )
        model = LogitModel(self.network, self.classifier, found.potentials, self.structure, found, self.closure)
        if complaint := model.complaint():
            warn(complaint)
        return model

    def _relearn(self, table: DiscreteTable) -> Any:
        """Return how the tables are learned from rows, if they were learned from those of this table."""
        network, structure = self.network, self.network.structure
        estimation = network.estimation
        if (
            network.counts is None
            or estimation is None
            or not same_counts(blanket_counts(table, structure), network.counts)
        ):
            return None

        def relearn(rows: DiscreteTable) -> Tables:
            counts = blanket_counts(rows, structure)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                tables = estimation.tables(counts, structure.class_name)
            positive = all((of_name.values > 0).all() for of_name in tables.values())
            return tables if positive else eap_tables(counts, estimation.smoothing)

        return relearn

    @cached_property
    def _seen(self) -> npt.NDArray[np.bool_]:
        """Which terms occur in the rows of the refit, shape (terms,)."""
        assert self.refitted is not None
        return self._listed.seen(cells_of_design(self.refitted.design))

    @cached_property
    def unidentified(self) -> pd.DataFrame:
        """The terms whose coefficients the rows of the refit say nothing about, with the reason.

        As ``terms``, with a column ``reason``: ``"never seen"``, the states do not occur together in any row, or
        ``"redundant"``, in these rows the term is a linear combination of earlier ones. A term of either kind
        is as the network has it, up to the shifts of its subsets' tables. Empty without a refit.

        Raises
        ------
        MemoryError
            If the design would take more than 1 GB.
        """
        if self.refitted is None:
            return self.terms.assign(reason="")[:0]
        frame = self.terms.assign(reason=np.where(self._seen, "redundant", "never seen"))
        return frame[~identified(self)]

    def diverging(self) -> list[str]:
        """Return what goes to infinity if the classes are separated, the steepest first.

        ``"x=1 & y=0: class=b -> 0"`` says that the probability of class b given these states tends to 0 (or to 1) as
        the likelihood grows. Empty if separation was not found.
        """
        return [] if self.refitted is None else self.refitted.diverging(self.vocabulary)

    def complaint(self) -> str:
        """Return why the fit is not what was asked for; nothing if it is, or if there was none."""
        return "" if self.refitted is None else self.refitted.complaint(self.vocabulary)

    # ---- what else a refitted model is good for

    def result(self) -> Any:
        """Return statsmodels' ``MNLogit`` results at this model's maximum; see :func:`mnlogit_result`."""
        from anbexact.adapters.statsmodels import mnlogit_result

        return mnlogit_result(self)

    @cached_property
    def _network_of_posterior(self) -> TableNetwork:
        if not self.equivalent:
            raise ValueError(
                f"there may be no network of this structure with the posterior ({self.why}): call "
                "close(), which adds the arcs that are missing"
            )
        source = self.network
        tables = {**source.tables, **posterior_tables(self.potentials, self.structure)}
        parents = {name: table.parents for name, table in tables.items()}
        score = source.structure.score if self.structure is source.structure else float("nan")
        structure = Structure.given(self.structure.class_name, parents, score)
        return replace(source, structure=structure, tables=tables, counts=None, estimation=None)

    def to_network(self) -> TableNetwork:
        """Return the network with this posterior, as a value; see :meth:`to_classifier`.

        Raises
        ------
        ValueError
            If the model is not ``equivalent`` to its network: call :meth:`close` first.
        """
        return self._network_of_posterior

    def to_classifier(self) -> FixedStructureClassifier:
        """Return a network classifier with this posterior.

        Its tables of the class and of its children come from the coefficients (Algorithm 1 of Feelders and Ivanovs).
        What these leave free stays as near to the network that the model was made of as can be, treating all classes
        alike; other tables are that network's.

        Returns
        -------
        FixedStructureClassifier
            Fitted; there are no counts behind its tables, so that rows cannot be added to it. Its own ``fit``, and so
            a cross-validation of it, does the same again with other rows: it estimates the tables of this structure
            and, if this model is refitted, refits them with ``l2`` as given to :meth:`refit`.

        Raises
        ------
        ValueError
            If the model is not ``equivalent`` to its network: call :meth:`close` first.
        """
        l2 = None
        if self.refitted is not None:
            l2 = self.refitted.l2 if self.refitted.strength is None else "auto"
        return self.classifier.with_network(self.to_network(), l2)

    def to_pgmpy(self) -> DiscreteBayesianNetwork:
        """Return a pgmpy network with this posterior; see :meth:`to_classifier`."""
        return self.to_classifier().to_pgmpy()

    def __repr__(self) -> str:
        c = self.structure.class_name
        lines = [
            f"LogitModel of {c!r}: {self.n_parameters:,} coefficients for {len(self.classes_) - 1} of "
            f"{len(self.classes_)} classes, "
            + ("equivalent to its network" if self.equivalent else f"richer than its network ({self.why})")
        ]
        if self.closure is not None:
            lines.append(str(self.closure))
        if self.refitted is None:
            lines.append("generative: the coefficients are those of the network")
        else:
            found = self.refitted.fit
            state = "converged" if found.converged else "separated" if found.separated else "not converged"
            lines.append(
                f"refitted, l2 = {self.refitted.l2:.4g}: conditional log likelihood {found.log_likelihood:.6g} nats; "
                f"{state} in {found.iterations} iterations, {self.refitted.seconds:.2g} s"
            )
            never = int((~self._seen).sum()) if self.n_parameters <= MOST_COUNTED else 0
            if never:
                lines.append(f"{never:,} of {len(self._seen):,} terms are in none of the rows; see unidentified")
        return "\n".join(lines)
