"""The facts about a fitted classifier: what it has learned, as values for JSON and as lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.units import counted, number_text
from anbexact.classifiers import DiscreteClassifier
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.models.estimator_average import AnDE
from anbexact.models.network.network import Network
from anbexact.models.smooth.terms import strengths_text
from anbexact.models.structure import Structure
from anbexact.scores import Universal
from anbexact.show.report.lines import print_cells, print_wrapped
from anbexact.show.report.text import MOST_LINES
from anbexact.tables.cuts import Cuts, cut_texts
from anbexact.tables.vocabulary import Vocabulary

Facts = Mapping[str, Any]
"""What a classifier has learned, by the names that :meth:`anbexact.models.model.Model.facts` explains."""

LEAST_JOINED = 0.5
"""Pairs of features that an average joins with this probability or more are printed."""
OF_ESTIMATORS = ("ess", "smoothing", "parameters", "score_name", "members")
"""Facts that fitted attributes of the classifier replace, because these may say more than the facts of its model."""


def learned_network(classifier: Any) -> Network | None:
    """Return the network that a fitted classifier has learned; None if it has none."""
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    return getattr(getattr(classifier, "model_", None), "learned", None)


def facts_of(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return how the rows were read, and the facts of the model; scores and log likelihoods in nats, total."""
    reading = first_table_classifier(classifier)
    vocabulary = reading.vocabulary_
    found = {
        "class": vocabulary.class_name,
        "classes": reading.classes_.tolist(),
        "features": list(vocabulary.features),
        "cut_points": reading.cut_points_,
        "groups": {name: list(map(list, groups)) for name, groups in vocabulary.groups.items()},
        **_reading(reading),
        "em": getattr(reading, "em_", None),
        **classifier.model_.facts(),
    }
    for name in OF_ESTIMATORS:
        if name in found:
            known = getattr(reading, f"{name}_", found[name])
            found[name] = getattr(classifier, f"{name}_", known)
    found["cut_points"] = _cut_points(found["cut_points"], vocabulary)
    return {name: value for name, value in found.items() if value is not None}


def _reading(estimator: Any) -> dict[str, Any]:
    """Return which features have a state for missing cells and which columns were left out, as far as it is known."""
    if not hasattr(estimator, "dropped_"):
        return {}
    own = estimator.vocabulary_.own_missing
    rules = estimator.handle_missing_.items()
    missing = [name for name, rule in rules if rule == "own_state" and name in own]
    return {"missing_as_states": missing, "dropped": estimator.dropped_}


def _cut_points(cut_points: Mapping[Hashable, Cuts], vocabulary: Vocabulary) -> dict[Hashable, list[Any]]:
    """Return cut points as numbers; those of dates, durations, decimals and the like as text."""
    quantities = vocabulary.quantities
    return {
        name: cut_texts(cuts, quantities[name]) if name in quantities else cuts.tolist()
        for name, cuts in cut_points.items()
    }


# ---- values for JSON


def facts(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return what was learned, for JSON; scores in nats, total."""
    found: dict[str, Any] = {}
    for name, value in facts_of(classifier).items():
        found |= WRITTEN[name](value) if name in WRITTEN else {name: _computed(value)}
    return found


def _computed(value: Any) -> Any:
    """Return the value of a fact; a fact that takes long to compute is a function."""
    return value() if callable(value) else value


def _structure(structure: Structure) -> dict[str, Any]:
    return {
        "edges": structure.edges,
        "feature_edges": structure.feature_edges,
        "score_name": None,
        "score": structure.score,
        "certificate": structure.certificate.statement(),
    }


def _arcs(arcs: Callable[[], pd.DataFrame]) -> dict[str, Any]:
    shown = [
        {"parent": str(row.parent), "child": str(row.child), "probability": row.probability}
        for row in arcs().itertuples()
    ]
    return {"arcs": shown}


def _refit(refit: Facts) -> dict[str, Any]:
    return {"refit": {name: _computed(value) for name, value in refit.items() if name not in ("chosen", "complaint")}}


def _nothing(_: Any) -> dict[str, Any]:
    return {}


WRITTEN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "structure": _structure,
    "ess_shares": lambda shares: {"ess_shares": {f"{ess:g}": float(share) for ess, share in shares.items()}},
    "arcs": _arcs,
    "refit": _refit,
    "fidelity": lambda fidelity: {"fidelity": fidelity.to_dict()},
    "members": lambda members: {"members": members.reset_index().to_dict(orient="records")},
    **dict.fromkeys(("em", "parameters", "measure", "estimators", "draws", "n_drawn", "weights"), _nothing),
}
"""What is written to JSON for a fact, if not its value; facts that map to `_nothing` are not written."""


# ---- lines for a terminal


def sample_sizes(classifier: DiscreteClassifier) -> str:
    """Return as text how tables are estimated: the equivalent sample sizes of score and tables, or another rule."""
    return sizes_text(facts_of(classifier))


def sizes_text(found: Facts) -> str:
    """Return the text of :func:`sample_sizes` for facts."""
    if "measure" in found:
        return _measure(found["measure"], found["cut_points"])
    if "ess" not in found:
        return "tables given" if "structure" in found else ""
    ess = f"equivalent sample size {number_text(found['ess'], 4)}"
    if "ess_shares" in found:
        several = len(found["ess_shares"]) > 1
        return f"equivalent sample size averaged, mean {number_text(found['ess'], 4)}" if several else ess
    if "structure" not in found:
        return ess
    in_score = found["score_name"] in ("BDeu", "BDs")
    if found["parameters"] != "eap":
        tables = f"tables by {found['parameters']}"
        return f"{ess}, {tables}" if in_score else tables
    if not in_score or found["smoothing"] == found["ess"]:
        return f"equivalent sample size {number_text(found['smoothing'], 4)}"
    own = found.get("class_smoothing")
    class_table = "" if own is None else f", {number_text(own, 4)} for the table of the class"
    return f"{ess} for the structure, {number_text(found['smoothing'], 4)} for the tables{class_table}"


def _measure(measure: Universal, cut_points: Mapping[Hashable, Sequence[Any]]) -> str:
    """Return a description of a universal measure: its levels, and the cells of the most probable ones."""
    name = "universal measure" if measure.epsilon is None else f"universal measure (epsilon {measure.epsilon:g})"
    if not cut_points:
        return f"{name}, all columns discrete"
    finest = max(partition.n_levels for partition in measure.partitions.values())
    cells = [len(cuts) + 1 for cuts in cut_points.values()]
    of_column = str(max(cells)) if min(cells) == max(cells) else f"{min(cells)} to {max(cells)}"
    return f"{name} of up to {finest} level{'s' * (finest > 1)}, {of_column} cells at the most probable one"


def print_reading(classifier: DiscreteClassifier) -> None:
    """Print which columns were left out, and which have a state for missing cells."""
    found = _reading(first_table_classifier(classifier))
    if dropped := found.get("dropped"):
        reasons = "; ".join(f"{name} ({reason.partition(':')[0]})" for name, reason in dropped.items())
        print_wrapped(f"left out because they look like identifiers: {reasons}")
    if own := found.get("missing_as_states"):
        print_wrapped(f"a missing cell is a state of its own in: {_names(own)}")


def print_learned(classifier: DiscreteClassifier) -> None:
    """Print what was learned: structure and certificate, members and weights, refit."""
    found = facts_of(classifier)
    for name, show in PRINTED.items():
        if name in found:
            show(found)
    for line in other_facts(found):
        print_wrapped(line)


def other_facts(found: Facts) -> list[str]:
    """Return lines for the facts that are not in `SHOWN`: name and value."""
    return [f"{name.replace('_', ' ')}: {_computed(value)}" for name, value in found.items() if name not in SHOWN]


def _print_estimators(found: Facts) -> None:
    """Print what an average of estimators consists of."""
    average: AnDE = found["estimators"]
    features = ("one feature", "two features")[average.order - 1]
    n_features = len(average.vocabulary.features)
    number = counted(n_features, "feature") if average.order == 1 else counted(math.comb(n_features, 2), "pair")
    print(f"{found['class']} and {features} -> every other feature, averaged over {number}")
    if "min_weight" in found:
        admitted, weight = average.admitted, f"training weight {found['min_weight']:g} or more"
        print(f"{admitted.sum():,} of {len(admitted):,} states of the one feature are used, those with {weight}")


def _print_arcs(found: Facts) -> None:
    """Print how predictions are averaged, and the pairs of features that are joined with probability 1/2 or more."""
    how = "sums over all networks" if found["exact"] else f"{found['n_drawn']():,} drawn networks"
    print(f"{found['class']} -> every feature; predictions are {how}")
    arcs = found["arcs"]()
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


def _print_structure(found: Facts) -> None:
    """Print the arcs of the class and between features, the score and the certificate."""
    structure: Structure = found["structure"]
    arcs: dict[Hashable, list[str]] = {}
    for parent, child in structure.feature_edges:
        arcs.setdefault(child, []).append(str(parent))
    n_arcs = len(structure.feature_edges)
    between = "no arcs between features" if not n_arcs else f"{n_arcs} arc{'s' * (n_arcs > 1)} between features:"
    class_parents = _names(structure.parents[structure.class_name])
    children = structure.children(structure.class_name)
    if children == structure.features:
        print(f"{structure.class_name} -> every feature{', and ' if n_arcs else '; '}{between}")
    else:
        if class_parents:
            print_wrapped(f"{class_parents} -> {structure.class_name}")
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
    if "score_name" in found:
        print(f"score ({found['score_name']}) {structure.score:.3f} nats in total")
    print_wrapped(f"certificate: {structure.certificate}")
    if "em" in found:
        print_wrapped(str(found["em"]))


def _print_refit(found: Facts) -> None:
    """Print the result of a refit."""
    refit = found["refit"]
    likelihood = f"conditional log likelihood {refit['conditional_log_likelihood']:.3f} nats in total"
    if "smoothing" in refit:
        degrees = refit["effective_degrees_of_freedom"]()
        print_wrapped(f"refitted with smooth shapes: {degrees:.1f} effective degrees of freedom, {likelihood}")
        print_wrapped(f"strengths of the penalties: {strengths_text(refit['smoothing'], spread=True)}")
        if "ordered_classes" in refit:
            order = " < ".join(map(str, refit["ordered_classes"]))
            print_wrapped(f"classes in an order share their shapes: {order}")
        if asked := refit.get("pairs_by_residuals"):
            shown = ", ".join(f"{first} & {second}" for first, second in asked)
            print_wrapped(
                "pairs added to those of the learned network, because residuals of left-out rows asked for them: "
                f"{shown}; the certificate of the learned network does not cover them"
            )
        for feature, text in refit.get("constraints", {}).items():
            print(f"  {feature}: {text}")
        if "optimality_gap" in refit:
            print(
                f"  these conditions cost {refit['cost_of_constraints']:.3f} nats of the penalised likelihood; no "
                f"shapes that meet them gain more than {refit['optimality_gap']:.1g} nats"
            )
        return
    how = "chosen by cross-validation" if refit["chosen"] else "given"
    print_wrapped(
        f"refitted by conditional likelihood: {refit['coefficients']:,} coefficients, "
        f"l2 {refit['l2']:.4g} ({how}), {likelihood}"
    )


def _print_edits(found: Facts) -> None:
    """Print the changes by hand with their costs."""
    for edit in found["edits"]:
        reason = f" ({edit['reason']})" if edit["reason"] else ""
        cost = "not measured"
        if edit["difference"] is not None:
            error = f"standard error {edit['difference_error']:.4f}"
            cost = f"log loss {edit['before']:.4f} to {edit['after']:.4f}, {edit['difference']:+.4f} ({error})"
        print_wrapped(f"edited by hand: {edit['edit']}{reason}; {cost}")


def _print_members(found: Facts) -> None:
    """Print the members that were tried for a pool, with their weights."""
    lines = [["member", "weight", "log loss", "seconds", ""]]
    for name, row in found["members"].iterrows():
        pooled = row["outcome"] == "pooled"
        loss = "-" if row["log_loss"] != row["log_loss"] else f"{row['log_loss']:.4f}"
        weight = f"{row['weight']:.3f}" if pooled else "-"
        outcome = "" if pooled or row["outcome"] == "weight 0" else str(row["outcome"])
        lines.append([str(name), weight, loss, f"{row['seconds']:.2f}", outcome])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        print_cells(first, others, widths)
    print("weight: factor of the member's log probabilities; log loss: nats per row, on held-out rows")


def _names(names: Sequence[Hashable]) -> str:
    return ", ".join(map(str, names))


PRINTED: dict[str, Callable[[Facts], None]] = {
    "estimators": _print_estimators,
    "arcs": _print_arcs,
    "structure": _print_structure,
    "refit": _print_refit,
    "edits": _print_edits,
    "members": _print_members,
}
"""The facts that are printed, in this order."""
SHOWN = {
    *("class", "classes", "features", "cut_points", "groups", "missing_as_states", "dropped"),
    *("ess", "smoothing", "score_name", "min_weight", "exact", "levels", "level_cost", "biases", "ridge"),
    "edits",
    *(name for name in WRITTEN if name != "fidelity"),
}
"""The facts that are printed in their own form, or as a part of another fact; all others are printed by name."""
