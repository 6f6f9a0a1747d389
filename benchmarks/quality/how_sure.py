"""Whether the answers of ``docs/background/how-sure.md`` are right, and what they take: all its figures in one run.

Arcs, draws and near-optimal structures are compared with the list of all structures of small random tables, the
relearned leave-one-out with classifiers fitted to all other rows, and intervals with tables (and structures) drawn
from the prior, from which rows are drawn. Times are those of :mod:`benchmarks.speed.averaging`. Conformal sets have a
benchmark of their own, ``conformal``.

Target: the column ``target`` (at least for probabilities of chi-square tests, draws and equal answers, at most for
times, memory and differences; coverages within 0.02). Takes ten minutes. Writes ``docs/measurements/how_sure.csv``
and, with times, ``how_sure_times.csv``.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, permutations, product
from math import comb, log
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import chi2

from anbexact import (
    ANBClassifier,
    BDeu,
    DiscreteTable,
    NaiveBayesClassifier,
    near_optimal,
    relearned_leave_one_out,
    structure_posterior,
)
from anbexact.classifiers import AveragedANBClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import Table
from benchmarks.speed import averaging

KINDS = (("anb", "orders"), ("anb", "graphs"), ("gbn", "orders"), ("gbn", "graphs"), ("tan", None), ("fan", None))
DRAWS = {"anb": 100_000, "gbn": 100_000, "tan": 10_000, "fan": 10_000}
TABLES = 20
COVERAGE_RUNS, COVERAGE_ROWS, COVERAGE_DRAWS, COVERAGE_ESS = 2_000, 60, 400, 4.0
FACTORS = (3, 20, 150)
Graph = tuple[tuple[int, ...], ...]
"""The parents of every variable."""


def random_table(seed: int, n: int, n_rows: int) -> Table:
    """Return a small table of columns with two or three states that depend on each other and on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    columns, last = {}, y
    for k in range(n):
        last = np.where(rng.random(n_rows) < 0.5, last + y * (k % 2), rng.integers(0, 3, n_rows)) % rng.integers(2, 4)
        columns[f"f{k}"] = last
    return pd.DataFrame(columns), pd.Series(y, name="class")


def all_graphs(n: int) -> Iterator[Graph]:
    """Yield all acyclic graphs of a few variables."""
    sets = [[own for k in range(n) for own in combinations([p for p in range(n) if p != v], k)] for v in range(n)]
    return (graph for graph in product(*sets) if n_orders(graph))


def n_orders(graph: Graph) -> int:
    """Return the number of orders in which parents come before their children."""
    found = 0
    for order in permutations(range(len(graph))):
        place = {v: k for k, v in enumerate(order)}
        found += all(place[p] < place[v] for v, parents in enumerate(graph) for p in parents)
    return found


def structures(n: int, networks: str) -> list[Graph]:
    """Return all structures of a kind."""
    if networks not in ("tan", "fan"):
        return list(all_graphs(n))
    forests = product(*([(), *((p,) for p in range(n) if p != v)] for v in range(n)))
    arcs = {n - 1} if networks == "tan" else range(n)
    return [forest for forest in forests if sum(map(len, forest)) in arcs and n_orders(forest)]


def log_weights(table: DiscreteTable, graphs: list[Graph], networks: str, prior: str | None) -> np.ndarray:
    """Return ln of prior times likelihood of every structure, from the scores of its families."""
    names = table.vocabulary.names if networks == "gbn" else table.vocabulary.features
    above = [] if networks == "gbn" else [table.vocabulary.class_name]
    n, known = len(names), {}
    found = np.zeros(len(graphs))
    for k, graph in enumerate(graphs):
        for v, parents in enumerate(graph):
            if (v, parents) not in known:
                of = [*above, *(names[p] for p in parents)]
                known[v, parents] = BDeu(1.0).local_score(table, names[v], of)
            found[k] += known[v, parents] - (log(comb(n - 1, len(parents))) if prior == "orders" else 0.0)
        found[k] += log(n_orders(graph)) if prior == "orders" else 0.0
    return found


def arcs_against_enumeration(networks: str, prior: str | None, n: int) -> float:
    """Return the largest difference of the probability of an arc from the sum over all structures."""
    table = DiscreteTable.from_frame(*random_table(1, n, 40))
    size = n + (networks == "gbn")
    graphs = structures(size, networks)
    weights = log_weights(table, graphs, networks, prior)
    probabilities = np.exp(weights - logsumexp(weights))
    names = table.vocabulary.names if networks == "gbn" else table.vocabulary.features
    expected: Counter[tuple[Any, Any]] = Counter()
    for graph, probability in zip(graphs, probabilities.tolist(), strict=True):
        for v, parents in enumerate(graph):
            for p in parents:
                expected[names[p], names[v]] += probability
    arcs = structure_posterior(table, networks=networks, prior=prior).arcs
    return max(abs(row.probability - expected[row.parent, row.child]) for row in arcs.itertuples())


def draws_by_chi_square(networks: str, prior: str | None, draws: int) -> float:
    """Return the probability of a chi-square as large by chance, rare structures taken together."""
    n = 3
    table = DiscreteTable.from_frame(*random_table(2, n, 15))
    graphs = structures(n + (networks == "gbn"), networks)
    weights = log_weights(table, graphs, networks, prior)
    names = table.vocabulary.names if networks == "gbn" else table.vocabulary.features
    place = {name: k for k, name in enumerate(names)}
    drawn = structure_posterior(table, networks=networks, prior=prior).draw(draws, random_state=0)
    seen = Counter(
        tuple(tuple(sorted(place[p] for p in own.parents[name] if p in place)) for name in names) for own in drawn
    )
    chances = np.exp(weights - logsumexp(weights)) * draws
    counts = np.array([seen[graph] for graph in graphs])
    rare = chances < 5
    chances = np.append(chances[~rare], chances[rare].sum())
    counts = np.append(counts[~rare], counts[rare].sum())
    kept = chances > 0
    return float(chi2.sf(((counts - chances)[kept] ** 2 / chances[kept]).sum(), kept.sum() - 1))


def near_optimal_lists(tables: int) -> float:
    """Return the share of complete lists: as many classes and structures as among all that reach the threshold."""
    graphs, right = structures(4, "anb"), 0
    for seed in range(tables):
        table = DiscreteTable.from_frame(*random_table(seed, 4, 30))
        weights = log_weights(table, graphs, "anb", None)
        for factor in FACTORS:
            within = [
                graph for graph, w in zip(graphs, weights, strict=True) if w >= weights.max() - log(factor) - 1e-9
            ]
            found = near_optimal(table, bayes_factor=factor)
            expected = sorted(Counter(map(equivalence_class, within)).values())
            right += found.complete and sorted(found.members) == expected
    return right / (tables * len(FACTORS))


def equivalence_class(graph: Graph) -> tuple[frozenset[Any], frozenset[Any]]:
    """Return the pairs that are joined, and the pairs of parents that are not."""
    joined = frozenset(frozenset((p, v)) for v, parents in enumerate(graph) for p in parents)
    colliders = frozenset(
        (pair, v)
        for v, parents in enumerate(graph)
        for pair in combinations(parents, 2)
        if frozenset(pair) not in joined
    )
    return joined, colliders


def bits_of_leave_one_out(tables: int) -> float:
    """Return the share of the rows whose probability has the bits of a classifier fitted to the other rows."""
    equal = []
    for seed in range(tables):
        X, y = random_table(seed, 4, 25)
        states = {name: sorted(X[name].unique().tolist()) for name in X} | {"class": [0, 1]}
        found = relearned_leave_one_out(DiscreteTable.from_frame(X, y, categories=states)).rows
        own = {row[: X.shape[1] + 1]: row.probability for row in found.itertuples(index=False, name="Row")}
        for t in range(len(X)):
            others = np.arange(len(X)) != t
            refit = ANBClassifier(ess=1.0, categories=states, n_jobs=1, verbose=-1).fit(X[others], y[others])
            probability = refit.predict_proba(X.iloc[[t]])[0, list(refit.classes_).index(y[t])]
            equal.append(own[(*X.iloc[t].tolist(), y[t])] == probability)
    return float(np.mean(equal))


def coverage(runs: int, draws: int, *, averaged: bool) -> float:
    """Return the share of 95 % intervals that hold the true probability.

    Every run draws a structure from the prior (no arcs between features, or any graph of three features), its tables
    and 60 rows.
    """
    rng, graphs, hits = np.random.default_rng(0), structures(3, "anb"), 0
    for _ in range(runs):
        graph = graphs[rng.integers(len(graphs))] if averaged else ((), (), ())
        class_prior = rng.dirichlet([COVERAGE_ESS / 2] * 2)
        tables = [rng.dirichlet([COVERAGE_ESS / (2 * 3 ** len(of) * 3)] * 3, (2, *[3] * len(of))) for of in graph]
        depth = sorted(range(3), key=partial(ancestors, graph))
        y = rng.choice(2, COVERAGE_ROWS, p=class_prior)
        codes = np.zeros((COVERAGE_ROWS, 3), dtype=np.int64)
        for v in depth:
            shares = tables[v][(y, *(codes[:, p] for p in graph[v]))]
            codes[:, v] = (rng.random((COVERAGE_ROWS, 1)) > shares.cumsum(axis=1)[:, :2]).sum(axis=1)
        new = rng.integers(0, 3, 3)
        joint = class_prior * np.prod(
            [tables[v][(slice(None), *new[list(graph[v])], new[v])] for v in range(3)], axis=0
        )
        X = pd.DataFrame(codes, columns=["a", "b", "c"])
        states = {name: [0, 1, 2] for name in X} | {"y": [0, 1]}
        model: Callable[..., Any] = (
            partial(AveragedANBClassifier, prior="graphs", max_parents=None) if averaged else NaiveBayesClassifier
        )
        fitted = model(
            ess=COVERAGE_ESS, categories=states, discretizer=None, drop_identifiers=False, n_jobs=1, verbose=-1
        )
        fitted.fit(X, pd.Series(y, name="y"))
        new_row = pd.DataFrame([new], columns=X.columns)
        low, high = fitted.predict_proba_interval(new_row, draws=draws)[0, 0]
        hits += bool(low <= joint[0] / joint.sum() <= high)
    return hits / runs


def ancestors(graph: Graph, v: int) -> int:
    """Return how many variables are above one, counted along all ways."""
    return sum(1 + ancestors(graph, p) for p in graph[v])


def main(run: Run) -> None:
    """Measure everything, and write it."""
    warnings.simplefilter("ignore")
    found: list[Row] = []

    def keep(what: str, case: str, measured: float, unit: str, target: float) -> None:
        found.append({"what": what, "case": case, "measured": measured, "unit": unit, "target": target})

    for networks, prior in KINDS:
        n = {"anb": 4, "gbn": 3}.get(networks, 5)
        named = f"{networks}, {prior}" if prior else networks
        n = 3 if run.smoke else n
        case = f"{named}: all structures of {n} features"
        keep("arcs", case, arcs_against_enumeration(networks, prior, n), "difference", 1e-10)
        draws = 200 if run.smoke else DRAWS[networks]
        keep("chi-square", f"{named}: {draws:,} draws", draws_by_chi_square(networks, prior, draws), "p", 0.001)
    tables = 1 if run.smoke else TABLES
    keep("near_optimal", f"{tables} tables × 3 factors", near_optimal_lists(tables), "complete", 1.0)
    keep("leave_one_out", f"{tables} tables × 25 rows", bits_of_leave_one_out(tables), "equal bits", 1.0)
    for averaged, case in ((False, "structure given"), (True, "structure drawn")):
        runs = 3 if run.smoke else COVERAGE_RUNS
        measured = coverage(runs, 20 if run.smoke else COVERAGE_DRAWS, averaged=averaged)
        keep("intervals", f"{case}: {runs:,} simulations", measured, "coverage", 0.95)
    run.write("how_sure", rounded(found))
    show(rounded(found))
    times = averaging.rows(run)
    run.write("how_sure_times", rounded(times))
    show(rounded(times))


def rounded(rows: list[Row]) -> pd.DataFrame:
    """Return rows with three significant digits."""
    frame = pd.DataFrame(rows)
    for name in frame.columns.intersection(["measured", "processor"]):
        frame[name] = [float(f"{value:.3g}") for value in frame[name].astype(float)]
    return frame
