"""What was learned and measured, as lines of text or as values for JSON."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anbexact.classifiers import (
    A2DEClassifier,
    AODEClassifier,
    AveragedClassifier,
    DiscreteClassifier,
    MeasuredClassifier,
    NetworkClassifier,
    PooledClassifier,
    RefittedClassifier,
    TableClassifier,
)
from anbexact.classifiers.fitted_pool import first_table_classifier
from anbexact.discretize import cut_texts
from anbexact.displays.frames import BASELINE
from anbexact.logit.refit import Refit
from anbexact.logit.smooth import SmoothRefit
from anbexact.logit.smooth_terms import strengths_text
from anbexact.report.averaged import describe_averaged
from anbexact.report.pools import describe_pool, pool_lines
from anbexact.scores import Universal
from anbexact.tables.vocabulary import MISSING_STATE

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.discretize import Cuts
    from anbexact.tables.vocabulary import Vocabulary

WIDTH = 118
"""Characters in a line."""
TABLE_WIDTH = 100
"""Characters in a line of the comparison."""
MOST_LINES = 10
"""Lines that are printed of a structure or an explanation, and cells of a row."""


def print_wrapped(text: str, indent: str = "", width: int = WIDTH) -> None:
    print(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent + "  "))


def print_json(document: object) -> None:
    print(json.dumps(plain_values(document), indent=2, ensure_ascii=False, allow_nan=False))


def plain_values(value: Any) -> Any:
    """Return a value that JSON has: no infinity, no NaN (null instead), no dates (text)."""
    if isinstance(value, dict):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def describe(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return what was learned, for JSON; scores in nats, total."""
    if isinstance(classifier, RefittedClassifier):
        return {**describe(classifier.estimator_), "refit": _describe_refit(classifier)}
    if isinstance(classifier, PooledClassifier):
        common = _describe_reading(first_table_classifier(classifier))
        return {
            **common,
            "cut_points": _cut_points(classifier.cut_points_, classifier.vocabulary_),
            **describe_pool(classifier),
        }
    assert isinstance(classifier, TableClassifier)
    vocabulary, common = classifier.vocabulary_, _describe_reading(classifier)
    if isinstance(classifier, AODEClassifier):
        return {**common, "ess": classifier.ess_, "min_weight": classifier.min_weight_}
    if isinstance(classifier, A2DEClassifier):
        return {**common, "ess": classifier.ess_}
    if isinstance(classifier, AveragedClassifier):
        return {**common, **describe_averaged(classifier)}
    assert isinstance(classifier, NetworkClassifier)
    structure = classifier.structure_
    if isinstance(classifier, MeasuredClassifier) and classifier.densities_ is not None:
        cut_points = classifier.model_.discrete_cut_points
        settings = {
            "cut_points": _cut_points(cut_points, vocabulary),
            "levels": {
                name: dict(zip(map(str, density.variables), density.most_probable, strict=True))
                for name, density in classifier.densities_.items()
            },
            "level_cost": classifier.level_cost_,
        }
    else:
        settings = {"ess": classifier.ess_, "smoothing": classifier.smoothing_}
    return {
        **common,
        **settings,
        "edges": structure.edges,
        "feature_edges": structure.feature_edges,
        "score_name": classifier.score_name_,
        "score": structure.score,
        "certificate": structure.certificate.statement(),
    }


def _describe_reading(classifier: TableClassifier) -> dict[str, Any]:
    """Return how the columns of a table were read, for JSON."""
    vocabulary = classifier.vocabulary_
    return {
        "class": vocabulary.class_name,
        "classes": classifier.classes_.tolist(),
        "features": list(vocabulary.features),
        "cut_points": _cut_points(classifier.cut_points_, vocabulary),
        "groups": {name: list(map(list, groups)) for name, groups in vocabulary.groups.items()},
        "missing_as_states": _missing_as_states(classifier),
        "dropped": classifier.dropped_,
    }


def _missing_as_states(classifier: TableClassifier) -> list[Hashable]:
    """Return the features that have a state for missing cells."""
    states = classifier.vocabulary_.states
    rules = classifier.handle_missing_
    return [name for name, rule in rules.items() if rule == "own_state" and MISSING_STATE in states[name]]


def print_reading(classifier: TableClassifier) -> None:
    """Print which columns were left out, and where missing cells are a state."""
    if classifier.dropped_:
        dropped = "; ".join(f"{name} ({reason.partition(':')[0]})" for name, reason in classifier.dropped_.items())
        print_wrapped(f"left out because they look like identifiers: {dropped}")
    own = _missing_as_states(classifier)
    if own:
        print_wrapped(f"a missing cell is a state of its own in: {_names(own)}")


def _cut_points(cut_points: Mapping[Hashable, Cuts], vocabulary: Vocabulary) -> dict[Hashable, list[Any]]:
    """Return cut points as numbers; those of dates, durations, decimals and the like as text."""
    quantities = vocabulary.quantities
    return {
        name: cut_texts(cuts, quantities[name]) if name in quantities else cuts.tolist()
        for name, cuts in cut_points.items()
    }


def _describe_refit(classifier: RefittedClassifier) -> dict[str, Any]:
    """Return how a refit went, for JSON; log likelihoods in nats, total."""
    model = classifier.logit_
    assert model.refitted is not None
    return {
        "l2": model.refitted.l2,
        "coefficients": model.n_parameters,
        "conditional_log_likelihood": model.refitted.fit.log_likelihood,
        "converged": model.refitted.fit.converged,
        "equivalent_to_network": model.equivalent,
        **_describe_smoothing(model.refitted),
    }


def _describe_smoothing(refitted: Refit) -> dict[str, Any]:
    """Return the strengths of a smooth refit, and its effective degrees of freedom, for JSON."""
    if not isinstance(refitted, SmoothRefit):
        return {}
    strengths = {
        kind: {str(name): value for name, value in strength.items()} if isinstance(strength, Mapping) else strength
        for kind, strength in refitted.smoothness.settings.items()
    }
    return {"smoothing": strengths, "effective_degrees_of_freedom": sum(refitted.effective_degrees)}


def sample_sizes(classifier: DiscreteClassifier) -> str:
    """Return the equivalent sample sizes of score and tables as text, or what takes their place."""
    if isinstance(classifier, AODEClassifier | A2DEClassifier):
        return f"equivalent sample size {classifier.ess_:.4g}"
    if isinstance(classifier, AveragedClassifier):
        averaged = "equivalent sample size averaged, mean" if classifier.ess == "auto" else "equivalent sample size"
        return f"{averaged} {classifier.ess_:.4g}"
    assert isinstance(classifier, NetworkClassifier)
    if isinstance(classifier, MeasuredClassifier) and classifier.universal_score_ is not None:
        return _measure(classifier.universal_score_, classifier.model_.discrete_cut_points)
    in_score = classifier.score_name_ in ("BDeu", "BDs")
    if classifier.parameters != "eap":
        tables = f"tables by {classifier.parameters}"
        return f"equivalent sample size {classifier.ess_:.4g}, {tables}" if in_score else tables
    if not in_score or classifier.smoothing_ == classifier.ess_:
        return f"equivalent sample size {classifier.smoothing_:.4g}"
    return f"equivalent sample size {classifier.ess_:.4g}, {classifier.smoothing_:.4g} in the tables"


def _measure(measure: Universal, cut_points: Mapping[Hashable, Cuts]) -> str:
    """Return what a universal measure says of its columns, given the cut points of their most probable levels."""
    name = "universal measure" if measure.epsilon is None else f"universal measure (epsilon {measure.epsilon:g})"
    if not cut_points:
        return f"{name}, all columns discrete"
    finest = max(partition.n_levels for partition in measure.partitions.values())
    cells = [len(cuts) + 1 for cuts in cut_points.values()]
    of_column = str(max(cells)) if min(cells) == max(cells) else f"{min(cells)} to {max(cells)}"
    return f"{name} of up to {finest} level{'s' * (finest > 1)}, {of_column} cells at the most probable"


def print_mixture(classifier: AODEClassifier | A2DEClassifier) -> None:
    """Print which estimators are averaged."""
    if isinstance(classifier, A2DEClassifier):
        vocabulary = classifier.vocabulary_
        n_pairs = math.comb(len(vocabulary.features), 2)
        print(f"{vocabulary.class_name} and two features -> every other feature, averaged over {n_pairs:,} pairs")
        return
    admitted = classifier.counts_.admitted(classifier.min_weight_)
    vocabulary = classifier.vocabulary_
    print(f"{vocabulary.class_name} and one feature -> every other feature, averaged over {len(vocabulary.features)}")
    weight = f"training weight {classifier.min_weight_:g} or more"
    print(f"the one feature takes {admitted.sum():,} of {len(admitted):,} states, those of {weight}")


def _names(names: Sequence[Hashable]) -> str:
    return ", ".join(map(str, names))


def print_structure(classifier: NetworkClassifier) -> None:
    """Print the arcs of the class and between features, the score and the certificate."""
    structure = classifier.structure_
    arcs: dict[Hashable, list[str]] = {}
    for parent, child in structure.feature_edges:
        arcs.setdefault(child, []).append(str(parent))
    n_arcs = len(structure.feature_edges)
    between = "no arcs between features" if not n_arcs else f"{n_arcs} arc{'s' * (n_arcs > 1)} between features:"
    of_class = _names(structure.parents[structure.class_name])
    children = structure.children(structure.class_name)
    if children == structure.features:
        print(f"{structure.class_name} -> every feature{', and ' if n_arcs else '; '}{between}")
    else:
        if of_class:
            print_wrapped(f"{of_class} -> {structure.class_name}")
        if children:
            print_wrapped(f"{structure.class_name} -> {_names(children)}")
        touched = {name for edge in structure.edges for name in edge}
        alone = [name for name in structure.parents if name not in touched]
        if alone:
            print_wrapped(f"without arcs: {_names(alone)}")
        print(between)
    for child, parents in list(arcs.items())[:MOST_LINES]:
        print_wrapped(f"{', '.join(parents)} -> {child}", "  ")
    if len(arcs) > MOST_LINES:
        print(f"  ... and arcs into {len(arcs) - MOST_LINES} more features")
    print("arcs show which variables are modelled as dependent; they are not causes")
    print(f"score ({classifier.score_name_}) {structure.score:.3f} nats in total")
    print_wrapped(f"certificate: {structure.certificate}")


def print_refit(classifier: RefittedClassifier) -> None:
    """Print the result of the refit of a network."""
    model = classifier.logit_
    assert model.refitted is not None
    if isinstance(model.refitted, SmoothRefit):
        print_wrapped(
            f"refitted with smooth shapes: {sum(model.refitted.effective_degrees):.1f} effective degrees of freedom, "
            f"strengths {strengths_text(model.refitted.smoothness.settings)}, "
            f"conditional log likelihood {model.refitted.fit.log_likelihood:.3f} nats in total"
        )
        return
    how = "given" if model.refitted.strength is None else "chosen by cross-validation"
    print_wrapped(
        f"refitted by conditional likelihood: {model.n_parameters:,} coefficients, "
        f"l2 {model.refitted.l2:.4g} ({how}), "
        f"conditional log likelihood {model.refitted.fit.log_likelihood:.3f} nats in total"
    )


def print_pool(classifier: PooledClassifier) -> None:
    """Print the members of a pool, and their weights."""
    lines = pool_lines(classifier)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        print_cells(first, others, widths)
    print("weight: of the log posterior; log loss: nats per row, of rows that the member did not learn from")


def print_features(report: pd.DataFrame, class_name: Hashable) -> None:
    """Print what the features tell about the class, those of which the data say so most clearly first."""
    shown = report.sort_values("rank", kind="stable")[:MOST_LINES]
    lines = [
        (str(name), f"{row.log_bayes_factor:,.1f}", "-" if math.isnan(row.information) else f"{row.information:.4f}")
        for name, row in shown.iterrows()
    ]
    lines = [(f"what features tell about {class_name}:", "ln BF", "information"), *lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print()
    for first, *others in lines:
        print_cells(first, others, widths)
    if len(report) > MOST_LINES:
        print(f"... and {len(report) - MOST_LINES} more features")
    print("ln BF: log Bayes factor, for independence above 0, for dependence below; information: conditional mutual")
    print("  information with the class in this network, nats per row")


def print_comparison(frame: pd.DataFrame) -> None:
    """Print the comparison, the best of every measure starred (the baseline apart), and how to read it."""
    columns: dict[str, tuple[str, str, Callable[[list[float]], float] | None]] = {
        "accuracy": ("accuracy", "{:.4f}", max),
        "cll": ("CLL", "{:,.1f}", max),
        "log_loss": ("log loss", "{:.4f}", min),
        "brier": ("Brier", "{:.4f}", min),
        "calibration_error": ("ECE", "{:.4f}", min),
        "parameters": ("parameters", "{:,.0f}", None),
        "fit_seconds": ("fit s", "{:.3f}", None),
    }
    cells = [["", *(heading for heading, _, _ in columns.values())]]
    shown = {
        key: [form.format(value) if not math.isnan(value) else "-" for value in frame[key]]
        for key, (_, form, _) in columns.items()
    }
    judged = frame.drop(BASELINE, errors="ignore")
    best = {
        key: form.format(choose(finite)) if choose and (finite := judged[key].dropna().tolist()) else ""
        for key, (_, form, choose) in columns.items()
    }
    for row, model in enumerate(frame.index):
        spread = frame["accuracy_se"].iloc[row]
        starred = [model != BASELINE and shown[key][row] == best[key] for key in columns]
        texts = [shown[key][row] + ("*" if star else " ") for key, star in zip(columns, starred, strict=True)]
        if not math.isnan(spread):
            texts[0] = f"{texts[0][:-1]} ± {spread:.4f}{texts[0][-1]}"
        cells.append([str(model), *texts])
    widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
    for line in cells:
        end = " " if line is cells[0] else ""
        print_cells(line[0], [text + end for text in line[1:]], widths)
    print("* best; ± standard error over folds; CLL: conditional log likelihood of all rows, in nats; log loss:")
    print("  the same per row, with a minus sign; Brier: summed over classes, 0 to 2; ECE: expected calibration")
    print("  error, the mean gap between the predicted class's probability and its share of hits, in 10 bins")
    print("parameters: free probabilities, or coefficients; fit s: seconds to learn; both means over folds")
    if any(str(name).endswith(" refitted") for name in frame.index):
        print("refitted: the network as a logistic regression, its coefficients fitted to the class given the")
        print("  features; how far they move is chosen by cross-validation in training; fit s is of both fits")
    if any(str(name).endswith(" smooth") for name in frame.index):
        print(
            "smooth: shapes on fine intervals, fitted to the class given the features; its parameters are effective"
        )
        print("  degrees of freedom")


def read_comparison(frame: pd.DataFrame) -> list[str]:
    """Return, in sentences, which line has the lowest log loss, and what the refits did to it.

    Log losses are compared as they are printed, to four decimals.
    """
    losses = frame["log_loss"].round(4).dropna().to_dict()
    sentences = []
    least = min(losses.values(), default=math.inf)
    if math.isfinite(least):
        names = [str(name) for name, loss in losses.items() if loss == least]
        log_loss = frame["log_loss"].min()
        sentences.append(
            f"Lowest log loss: {_enumerated(names)}. The true classes have a probability of "
            f"{math.exp(-log_loss):.3f} there, in the geometric mean over the rows."
        )
    refits = {str(old): losses[new] - losses[old] for old, new in frame.attrs["refits"].items() if new in losses}
    lowered = [f"{name} by {-change:.4f}" for name, change in refits.items() if change < 0]
    raised = [f"{name} by {change:.4f}" for name, change in refits.items() if change > 0]
    if refits:
        which = f" ({_enumerated(lowered)})" if lowered else ""
        others = f", and raised that of {len(raised)} ({_enumerated(raised)})" if raised else ""
        sentences.append(
            f"The refit lowered the log loss of {len(lowered)} of {len(refits)} networks{which}{others}."
        )
    return sentences


def _enumerated(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def print_cells(first: str, others: Sequence[str], widths: Sequence[int]) -> None:
    """Print a line of a table: the first cell to the left, the others to the right."""
    cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
    print("  ".join([first.ljust(widths[0]), *cells]).rstrip())


def class_sizes(y: pd.Series[Any], most: int = 8) -> str:
    """Return the classes and how many rows each has, the largest ones first."""
    sizes = list(y.value_counts().items())
    sizes = [(label, n) for label, n in sizes if n]
    shown = ", ".join(f"{label} ({n:,})" for label, n in sizes[:most])
    return f"class {y.name}: {shown}" + (f" and {len(sizes) - most} more classes" if len(sizes) > most else "")


def about(name: str) -> str:
    """Return the first sentence of what an embedded table's loader says of it."""
    from anbexact import datasets

    loader: Any = datasets.LOADERS[name]
    summary = (getattr(loader, "func", loader).__doc__ or "").strip().split("\n\n")[0]
    sentence = " ".join(summary.split()).removeprefix("Return ")
    return sentence[:1].upper() + sentence[1:]
