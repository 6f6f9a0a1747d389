"""What a fitted classifier has learned: as values for JSON, and as lines for a terminal, by its type."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import singledispatch
from typing import Any

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
from anbexact.models.logit.refit import Refit
from anbexact.models.network.density_network import DensityNetwork
from anbexact.models.smooth.refit import SmoothRefit
from anbexact.models.smooth.terms import strengths_text
from anbexact.show.report.text import MOST_LINES, print_cells, print_wrapped
from anbexact.tables.cuts import Cuts, cut_texts
from anbexact.tables.vocabulary import Vocabulary

LEAST_JOINED = 0.5
"""Pairs of features that an average joins with this probability or more are printed."""

# ---- values for JSON


@singledispatch
def facts(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return what was learned, for JSON; scores in nats, total.

    ``@facts.register`` adds a type of classifier; a type that is not registered has the facts of its base.
    """
    vocabulary = classifier.vocabulary_
    return {
        "class": vocabulary.class_name,
        "classes": classifier.classes_.tolist(),
        "features": list(vocabulary.features),
        "cut_points": _cut_points(classifier.cut_points_, vocabulary),
        "groups": {name: list(map(list, groups)) for name, groups in vocabulary.groups.items()},
    }


@facts.register
def _facts_of_a_table(classifier: TableClassifier) -> dict[str, Any]:
    """How the columns were read."""
    read = {"missing_as_states": missing_as_states(classifier), "dropped": classifier.dropped_}
    return {**facts.dispatch(DiscreteClassifier)(classifier), **read}


@facts.register
def _facts_of_aode(classifier: AODEClassifier) -> dict[str, Any]:
    return {**_facts_of_a_table(classifier), "ess": classifier.ess_, "min_weight": classifier.min_weight_}


@facts.register
def _facts_of_a2de(classifier: A2DEClassifier) -> dict[str, Any]:
    return {**_facts_of_a_table(classifier), "ess": classifier.ess_}


@facts.register
def _facts_of_an_average(classifier: AveragedClassifier) -> dict[str, Any]:
    """Equivalent sample sizes, and arcs with their probabilities."""
    return {
        **_facts_of_a_table(classifier),
        "ess": classifier.ess_,
        "ess_shares": {f"{ess:g}": float(share) for ess, share in classifier.ess_shares_.items()},
        "exact": classifier.exact_,
        "arcs": [
            {"parent": str(row.parent), "child": str(row.child), "probability": row.probability}
            for row in classifier.arcs_.itertuples()
        ],
    }


@facts.register
def _facts_of_a_network(classifier: NetworkClassifier) -> dict[str, Any]:
    return _network(classifier, {"ess": classifier.ess_, "smoothing": classifier.smoothing_})


@facts.register
def _facts_of_densities(classifier: MeasuredClassifier) -> dict[str, Any]:
    model = classifier.model_
    if not isinstance(model, DensityNetwork):
        return _facts_of_a_network(classifier)
    levels = {
        name: dict(zip(map(str, density.variables), density.most_probable, strict=True))
        for name, density in model.densities.items()
    }
    cut_points = _cut_points(model.discrete_cut_points, model.vocabulary)
    return _network(classifier, {"cut_points": cut_points, "levels": levels, "level_cost": classifier.level_cost_})


def _network(classifier: NetworkClassifier, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the tables or densities, the arcs, the score and its certificate."""
    structure = classifier.structure_
    return {
        **_facts_of_a_table(classifier),
        **settings,
        "edges": structure.edges,
        "feature_edges": structure.feature_edges,
        "score_name": classifier.score_name_,
        "score": structure.score,
        "certificate": structure.certificate.statement(),
    }


@facts.register
def _facts_of_a_refit(classifier: RefittedClassifier) -> dict[str, Any]:
    """The network as it was learned, and the refit; log likelihoods in nats, total."""
    model = classifier.logit_
    assert model.refitted is not None
    refit = {
        "l2": model.refitted.l2,
        "coefficients": model.n_parameters,
        "conditional_log_likelihood": model.refitted.fit.log_likelihood,
        "converged": model.refitted.fit.converged,
        "equivalent_to_network": model.equivalent,
        **_smoothing(model.refitted),
    }
    return {**facts(classifier.estimator_), "refit": refit}


def _smoothing(refitted: Refit) -> dict[str, Any]:
    """Return the strengths of a smooth refit, and its effective degrees of freedom."""
    if not isinstance(refitted, SmoothRefit):
        return {}
    strengths = {
        kind: {str(name): value for name, value in strength.items()} if isinstance(strength, Mapping) else strength
        for kind, strength in refitted.smoothness.settings.items()
    }
    return {"smoothing": strengths, "effective_degrees_of_freedom": sum(refitted.effective_degrees)}


@facts.register
def _facts_of_a_pool(classifier: PooledClassifier) -> dict[str, Any]:
    """Members, weights and biases; log losses in nats per row."""
    return {
        **_facts_of_a_table(first_table_classifier(classifier)),
        "cut_points": _cut_points(classifier.cut_points_, classifier.vocabulary_),
        "members": classifier.members_.reset_index().to_dict(orient="records"),
        "biases": dict(zip(map(str, classifier.classes_.tolist()), classifier.biases_.tolist(), strict=True)),
        "ridge": float(classifier.ridge_),
    }


def _cut_points(cut_points: Mapping[Hashable, Cuts], vocabulary: Vocabulary) -> dict[Hashable, list[Any]]:
    """Return cut points as numbers; those of dates, durations, decimals and the like as text."""
    quantities = vocabulary.quantities
    return {
        name: cut_texts(cuts, quantities[name]) if name in quantities else cuts.tolist()
        for name, cuts in cut_points.items()
    }


def missing_as_states(classifier: TableClassifier) -> list[Hashable]:
    """Return the features that have a state for missing cells."""
    own = classifier.vocabulary_.own_missing
    return [name for name, rule in classifier.handle_missing_.items() if rule == "own_state" and name in own]


# ---- lines for a terminal


@singledispatch
def sample_sizes(_classifier: DiscreteClassifier) -> str:
    """Return the equivalent sample sizes of score and tables as text, or what replaces them, if anything."""
    return ""


@sample_sizes.register(AODEClassifier)
@sample_sizes.register(A2DEClassifier)
def _size_of_a_mixture(classifier: AODEClassifier | A2DEClassifier) -> str:
    return f"equivalent sample size {classifier.ess_:.4g}"


@sample_sizes.register
def _size_of_an_average(classifier: AveragedClassifier) -> str:
    averaged = "equivalent sample size averaged, mean" if classifier.ess == "auto" else "equivalent sample size"
    return f"{averaged} {classifier.ess_:.4g}"


@sample_sizes.register
def _sizes_of_a_network(classifier: NetworkClassifier) -> str:
    model = classifier.model_
    if isinstance(model, DensityNetwork):
        return _measure(model)
    in_score = classifier.score_name_ in ("BDeu", "BDs")
    if classifier.parameters != "eap":
        tables = f"tables by {classifier.parameters}"
        return f"equivalent sample size {classifier.ess_:.4g}, {tables}" if in_score else tables
    if not in_score or classifier.smoothing_ == classifier.ess_:
        return f"equivalent sample size {classifier.smoothing_:.4g}"
    return f"equivalent sample size {classifier.ess_:.4g}, {classifier.smoothing_:.4g} in the tables"


def _measure(model: DensityNetwork) -> str:
    """Return a description of a universal measure: its levels, and the cells of the most probable ones."""
    measure, cut_points = model.measure, model.discrete_cut_points
    name = "universal measure" if measure.epsilon is None else f"universal measure (epsilon {measure.epsilon:g})"
    if not cut_points:
        return f"{name}, all columns discrete"
    finest = max(partition.n_levels for partition in measure.partitions.values())
    cells = [len(cuts) + 1 for cuts in cut_points.values()]
    of_column = str(max(cells)) if min(cells) == max(cells) else f"{min(cells)} to {max(cells)}"
    return f"{name} of up to {finest} level{'s' * (finest > 1)}, {of_column} cells at the most probable"


@sample_sizes.register
def _sizes_of_a_refit(classifier: RefittedClassifier) -> str:
    return sample_sizes(classifier.estimator_)


def print_reading(classifier: TableClassifier) -> None:
    """Print which columns were left out, and which have a state for missing cells."""
    if classifier.dropped_:
        dropped = "; ".join(f"{name} ({reason.partition(':')[0]})" for name, reason in classifier.dropped_.items())
        print_wrapped(f"left out because they look like identifiers: {dropped}")
    own = missing_as_states(classifier)
    if own:
        print_wrapped(f"a missing cell is a state of its own in: {_names(own)}")


@singledispatch
def print_learned(classifier: DiscreteClassifier) -> None:
    """Print what was learned: structure and certificate, members and weights, refit.

    ``@print_learned.register`` adds a type of classifier; for a type that is not registered, as its base is printed.
    """


@print_learned.register
def _print_aode(classifier: AODEClassifier) -> None:
    admitted = classifier.counts_.admitted(classifier.min_weight_)
    vocabulary = classifier.vocabulary_
    print(f"{vocabulary.class_name} and one feature -> every other feature, averaged over {len(vocabulary.features)}")
    weight = f"training weight {classifier.min_weight_:g} or more"
    print(f"the one feature takes {admitted.sum():,} of {len(admitted):,} states, those of {weight}")


@print_learned.register
def _print_a2de(classifier: A2DEClassifier) -> None:
    vocabulary = classifier.vocabulary_
    n_pairs = math.comb(len(vocabulary.features), 2)
    print(f"{vocabulary.class_name} and two features -> every other feature, averaged over {n_pairs:,} pairs")


@print_learned.register
def _print_average(classifier: AveragedClassifier) -> None:
    """Print how predictions are averaged, and the pairs of features that are joined with probability 1/2 or more."""
    how = "sums over all networks" if classifier.exact_ else f"{len(classifier.model_.members):,} drawn networks"
    print(f"{classifier.vocabulary_.class_name} -> every feature; predictions are {how}")
    arcs = classifier.arcs_
    joined = arcs[arcs["adjacent"] >= LEAST_JOINED].sort_values("adjacent", ascending=False, kind="stable")
    pairs: dict[frozenset[Any], str] = {}
    for row in joined.itertuples():
        pairs.setdefault(
            frozenset((row.parent, row.child)),
            f"{row.adjacent:7.1%}  {row.parent} - {row.child}  ({row.parent} -> {row.child} {row.probability:.1%})",
        )
    print(f"{'features' if pairs else 'no features are'} joined with a probability of one half or more")
    for line in pairs.values():
        print(line)


@print_learned.register
def _print_network(classifier: NetworkClassifier) -> None:
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
    if (em := getattr(classifier, "em_", None)) is not None:
        print_wrapped(str(em))


@print_learned.register
def _print_refit(classifier: RefittedClassifier) -> None:
    """Print the network as it was learned, and the result of its refit."""
    print_learned(classifier.estimator_)
    model = classifier.logit_
    assert model.refitted is not None
    likelihood = f"conditional log likelihood {model.refitted.fit.log_likelihood:.3f} nats in total"
    if isinstance(model.refitted, SmoothRefit):
        print_wrapped(
            f"refitted with smooth shapes: {sum(model.refitted.effective_degrees):.1f} effective degrees of freedom, "
            f"strengths {strengths_text(model.refitted.smoothness.settings)}, {likelihood}"
        )
        return
    how = "given" if model.refitted.strength is None else "chosen by cross-validation"
    print_wrapped(
        f"refitted by conditional likelihood: {model.n_parameters:,} coefficients, "
        f"l2 {model.refitted.l2:.4g} ({how}), {likelihood}"
    )


@print_learned.register
def _print_pool(classifier: PooledClassifier) -> None:
    """Print the members of a pool, and their weights."""
    lines = pool_lines(classifier)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        print_cells(first, others, widths)
    print("weight: of the log posterior; log loss: nats per row, of rows that the member did not learn from")


def pool_lines(classifier: PooledClassifier) -> list[list[str]]:
    """Return the cells of a table of all members that were tried, the heading first."""
    lines = [["member", "weight", "log loss", "seconds", ""]]
    for name, row in classifier.members_.iterrows():
        pooled = row["outcome"] == "pooled"
        loss = "-" if row["log_loss"] != row["log_loss"] else f"{row['log_loss']:.4f}"
        weight = f"{row['weight']:.3f}" if pooled else "-"
        outcome = "" if pooled or row["outcome"] == "weight 0" else str(row["outcome"])
        lines.append([str(name), weight, loss, f"{row['seconds']:.2f}", outcome])
    return lines


def _names(names: Sequence[Hashable]) -> str:
    return ", ".join(map(str, names))
