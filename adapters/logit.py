"""Classifiers as multinomial logistic regressions, refitted by conditional likelihood, and back as networks."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from copy import copy
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from anbexact._runtime.limits import Progress, check_limit, thread_count
from anbexact._runtime.warn import warn
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier, given_structure
from anbexact.classifiers.parameters import NetworkParameters
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.discretize import Cuts
from anbexact.inputs.reading import read_labels
from anbexact.logit.closure import Closure, close, obstacles
from anbexact.logit.identification import identified
from anbexact.logit.network import posterior_tables
from anbexact.logit.potentials import Potentials, network_potentials, potential_tables
from anbexact.logit.refit import Refit, blanket_counts, refit, same_counts
from anbexact.logit.term_list import TermList, cells_of_counts, cells_of_design
from anbexact.logit.terms import term_name
from anbexact.networks.explain import Explanations, Grounds, Rows, explain_rows
from anbexact.networks.posterior import Posterior
from anbexact.parameters.tables import Tables, eap_tables
from anbexact.scores import Score
from anbexact.scores.registry import SCORES
from anbexact.structures.structure import Structure
from anbexact.tables.table import DiscreteTable, check_weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

__all__ = ["LogitModel", "to_logit"]

MOST_COUNTED = 10_000
"""Coefficients up to which the text of a model says how many terms were never seen: notebooks show it unasked."""


def to_logit(classifier: NetworkClassifier | RefittedClassifier) -> LogitModel:
    """Return the multinomial logistic regression with the class posterior of a fitted classifier.

    ``ln P(C=a | x) / P(C=0 | x) = Σ_S Σ_f β_S^f(a) Π_{i in S} [x_i = f(i)]``: S runs over the subsets of the families
    that the class is part of (each child of the class with its other parents; the parents of the class), f over their
    states other than the first, a over the classes other than the first. For every network
    the coefficients are exact, whether or not network and regression are equivalent (see ``LogitModel.equivalent``).

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        Fitted; a network's tables must not hold zeros.

    Returns
    -------
    LogitModel
        For ``refit``, ``result``, ``to_classifier`` and more.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If it is no classifier of this package.
    ValueError
        If a table holds a zero: tables of maximum likelihood may.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*, section 4; Roos, Wettig, Grünwald, Myllymäki and Tirri, Machine Learning 59 (2005).

    Examples
    --------
    >>> from anbexact import TANClassifier
    >>> from anbexact.adapters import to_logit
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> tan = TANClassifier(ess=1.0).fit(X, y)
    >>> logit = to_logit(tan)
    >>> logit.n_parameters, logit.equivalent
    (51, True)
    >>> bool(abs(logit.predict_proba(X) - tan.predict_proba(X)).max() < 1e-12)
    True
    >>> refitted = logit.refit(X, y)
    >>> round(logit.log_likelihood(X, y)), round(refitted.log_likelihood(X, y))
    (-423, -3)
    """
    if isinstance(classifier, RefittedClassifier):
        return classifier.to_logit()
    if not isinstance(classifier, NetworkClassifier):
        raise TypeError(f"to_logit takes a fitted classifier of anbexact, not {classifier!r}")
    check_is_fitted(classifier)
    fitted = copy(classifier._with_tables())  # which a later fit of the classifier does not change
    return LogitModel(fitted, fitted.structure_, network_potentials(fitted.conditional_tables_, fitted.structure_))


class LogitModel:
    """A multinomial logistic regression on the states of the features and their interactions.

    Made by :func:`to_logit`; not changed by any method.

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
        classifier: NetworkClassifier,
        structure: Structure,
        potentials: Potentials,
        refitted: Refit | None = None,
        closure: Closure | None = None,
    ) -> None:
        self._classifier = classifier
        self.potentials = potentials
        self.structure = structure
        self.refitted = refitted
        self.closure = closure

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy what the model is made of; what it has worked out is worked out again when it is needed."""
        return type(self), (self._classifier, self.structure, self.potentials, self.refitted, self.closure)

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and states of all variables."""
        return self._classifier.vocabulary_

    @property
    def cut_points(self) -> dict[Hashable, Cuts]:
        """Cut points of every feature that was discretised."""
        return self._classifier.cut_points_

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, the reference first."""
        return self._classifier.classes_

    @cached_property
    def _shape(self) -> dict[Hashable, int]:
        return {name: self.vocabulary.arity(name) for name in self.vocabulary.names}

    @cached_property
    def _listed(self) -> TermList:
        sources = []
        if self._classifier.counts_ is not None:
            sources.append(cells_of_counts(self._classifier.counts_, self._classifier.structure_))
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
        structure, potentials, closure = close(
            self.structure, self.potentials, self._classifier.conditional_tables_, self._shape
        )
        return LogitModel(self._classifier, structure, potentials, self.refitted, closure)

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
        codes: CodeArray = self._classifier._codes(X)
        n_jobs = self._classifier.n_jobs
        hidden = np.any(codes < 0, axis=0)
        if not hidden.any():
            return self._posterior.log_posterior(codes, n_jobs)
        logs = np.empty((codes.shape[1], len(self.classes_)))
        logs[~hidden] = self._posterior.log_posterior(np.ascontiguousarray(codes[:, ~hidden]), n_jobs)
        rest = np.ascontiguousarray(codes[:, hidden])
        logs[hidden] = self._summing_network._posterior.log_posterior(rest, n_jobs)
        return logs

    @property
    def _summing_network(self) -> NetworkClassifier:
        """The network, of this posterior, under which hidden cells are summed out."""
        if self.refitted is None:
            return self._classifier
        return (self if self.equivalent else self._closed)._network

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
        rows = self._classifier._rows(X)
        hidden = np.any(rows.codes < 0, axis=0)
        counts = self._classifier.counts_ if self.structure is self._classifier.structure_ else None
        note = "There are no intervals: refitted terms have no Dirichlet posterior."
        compared = (self.vocabulary, Grounds(counts, None, note), label, against)
        families = potential_tables(self.potentials, self.structure)
        if not hidden.any():
            return explain_rows(rows, self._posterior, families, *compared)
        network = self._summing_network
        complete = iter(explain_rows(_chosen(rows, ~hidden), self._posterior, families, *compared))
        grounds = Grounds(None, None, note)
        others = iter(
            explain_rows(
                _chosen(rows, hidden),
                network._posterior,
                network.conditional_tables_,
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
        return self._summing_network.query(evidence, **values)

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
            scipy's optimiser; ``benchmarks/refit.py`` compares them.
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
        table = self._classifier._table(X, y, sample_weight)
        if not len(table.weights):
            raise ValueError("there is no row without a missing feature to refit to")
        found = refit(
            table,
            self.structure,
            self._classifier.conditional_tables_,
            relearn=self._relearn(table) if l2 == "auto" else None,
            l2=l2,
            solver=solver,
            max_iter=max_iter,
            time_limit=time_limit,
            threads=thread_count(self._classifier.n_jobs),
            progress=progress or self._classifier._progress(),
        )
        model = LogitModel(self._classifier, self.structure, found.potentials, found, self.closure)
        if complaint := model.complaint():
            warn(complaint)
        return model

    def _relearn(self, table: DiscreteTable) -> Any:
        """Return how the tables are learned from rows, if they were learned from those of this table."""
        classifier = self._classifier
        structure = classifier.structure_
        if classifier.counts_ is None or not same_counts(blanket_counts(table, structure), classifier.counts_):
            return None
        rule, smoothing = classifier.parameters_, classifier.smoothing_

        def relearn(rows: DiscreteTable) -> Tables:
            counts = blanket_counts(rows, structure)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                tables = classifier._estimate(counts, structure.class_name, rule, smoothing)
            positive = all((of_name.values > 0).all() for of_name in tables.values())
            return tables if positive else eap_tables(counts, smoothing)

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
    def _network(self) -> FixedStructureClassifier:
        """The network with this posterior."""
        if not self.equivalent:
            raise ValueError(
                f"there may be no network of this structure with the posterior ({self.why}): call "
                "close(), which adds the arcs that are missing"
            )
        source = self._classifier
        tables = {**source.conditional_tables_, **posterior_tables(self.potentials, self.structure)}
        parents = {name: table.parents for name, table in tables.items()}
        score = source.structure_.score if self.structure is source.structure_ else float("nan")
        classifier = FixedStructureClassifier(parents, **self._learning_parameters())
        structure = given_structure(self.structure.class_name, parents, score)
        classifier._set_fitted(self.vocabulary, structure, tables, source.cut_points_)
        classifier.n_features_in_ = source.n_features_in_
        if hasattr(source, "feature_names_in_"):
            classifier.feature_names_in_ = source.feature_names_in_.copy()
        return classifier

    def _learning_parameters(self) -> dict[str, Any]:
        """Return, as parameters of a classifier, how this model's tables were learned and refitted."""
        source = self._classifier
        given = source.get_params(deep=False)
        parameters = {name: given[name] for name in signature(NetworkParameters).parameters if name in given}
        if hasattr(source, "ess_") and source.ess != "auto":
            parameters["ess"] = source.ess_  # chosen from several, where the source has several
        score = given.get("structure_score", "bdeu")
        if not (score in SCORES if isinstance(score, str) else isinstance(score, Score)):
            del parameters["structure_score"]  # it can score a search alone
        parameters["l2"] = given.get("l2")
        if self.refitted is not None:
            parameters["l2"] = self.refitted.l2 if self.refitted.strength is None else "auto"
        return parameters

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
        return copy(self._network)

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


def _chosen(rows: Rows, mask: npt.NDArray[np.bool_]) -> Rows:
    """Return some of the rows."""
    places = np.flatnonzero(mask).tolist()
    values = {name: [of_name[t] for t in places] for name, of_name in rows.values.items()}
    return Rows(np.ascontiguousarray(rows.codes[:, places]), values, [rows.index[t] for t in places])
