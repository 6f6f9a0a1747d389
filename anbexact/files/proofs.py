"""Proofs of certificates as JSON, features by number."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.files.checked import listed, mapped, number, reading, references, whole
from anbexact.models.proof import Case, Component, Duals, Exhaustion, FewestClassParameters, Proof, Split
from anbexact.scores import Score


def describe_proof(proof: Proof, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the JSON form of a proof, its score left to the caller; ``number`` gives every feature's number."""
    return {
        "max_parents": proof.max_parents,
        "required": [[number[parent], number[child]] for parent, child in proof.required],
        "forbidden": [[number[parent], number[child]] for parent, child in proof.forbidden],
        "largest": proof.largest,
        "gap": proof.gap,
        "apart": [number[name] for name in proof.apart],
        "components": [
            {
                "features": [number[name] for name in component.features],
                "bound": component.bound,
                "case": _describe_case(component.case, number),
            }
            for component in proof.components
        ],
    }


def _describe_case(case: Case, number: Mapping[Hashable, int]) -> dict[str, Any]:
    if isinstance(case, Split):
        return {
            "arc": [number[case.parent], number[case.child]],
            "absent": _describe_case(case.absent, number),
            "present": _describe_case(case.present, number),
        }
    if isinstance(case, Duals):
        return {"clusters": [[[number[name] for name in cluster], *rest] for cluster, *rest in case.clusters]}
    if isinstance(case, FewestClassParameters):
        return {"class_parameters": case.count}
    return {}


def restore_proof(described: Mapping[str, Any], names: Sequence[Hashable], score: Score) -> Proof:
    """Return the proof that :func:`describe_proof` described; ``names[k]`` is the feature of number k.

    Raises
    ------
    ValueError
        For what is not a proof; whether a proof is right is for :func:`anbexact.verify` to say.
    """
    with reading("components"):
        components = tuple(
            Component(
                _named(component["features"], names),
                number(component["bound"]),
                _restore_case(mapped(component["case"]), names),
            )
            for component in map(mapped, listed(described["components"]))
        )
    with reading("limits"):
        largest = described["largest"]
        return Proof(
            score,
            whole(described["max_parents"]),
            _edges(described["required"], names),
            _edges(described["forbidden"], names),
            None if largest is None else whole(largest, -1),
            components,
            number(described["gap"]),
            _named(described.get("apart", []), names),
        )


def _named(described: Any, names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    return tuple(names[k] for k in references(described, len(names)))


def _edges(described: Any, names: Sequence[Hashable]) -> tuple[tuple[Hashable, Hashable], ...]:
    edges = []
    for edge in listed(described):
        parent, child = references(listed(edge, 2), len(names))
        edges.append((names[parent], names[child]))
    return tuple(edges)


def _restore_case(described: Mapping[str, Any], names: Sequence[Hashable]) -> Case:
    if "arc" in described:
        parent, child = references(listed(described["arc"], 2), len(names))
        absent, present = (_restore_case(mapped(described[key]), names) for key in ("absent", "present"))
        return Split(names[parent], names[child], absent, present)
    if "clusters" in described:
        clusters = [listed(cluster, 3) for cluster in listed(described["clusters"])]
        return Duals(
            tuple((_named(features, names), whole(least, 1), number(z, least=0)) for features, least, z in clusters)
        )
    if "class_parameters" in described:
        return FewestClassParameters(whole(described["class_parameters"]))
    return Exhaustion()
