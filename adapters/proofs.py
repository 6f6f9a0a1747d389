"""Proofs of certificates as JSON, features by number."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.proof import Case, Component, Duals, Exhaustion, Proof, Split
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
    return {}


def restore_proof(described: Mapping[str, Any], names: Sequence[Hashable], score: Score) -> Proof:
    """Return the proof that :func:`describe_proof` described; ``names[k]`` is the feature of number k."""
    return Proof(
        score,
        described["max_parents"],
        tuple((names[parent], names[child]) for parent, child in described["required"]),
        tuple((names[parent], names[child]) for parent, child in described["forbidden"]),
        described["largest"],
        tuple(
            Component(
                tuple(names[k] for k in component["features"]),
                component["bound"],
                _restore_case(component["case"], names),
            )
            for component in described["components"]
        ),
        described["gap"],
        tuple(names[k] for k in described.get("apart", ())),
    )


def _restore_case(described: Mapping[str, Any], names: Sequence[Hashable]) -> Case:
    if "arc" in described:
        parent, child = described["arc"]
        absent, present = (_restore_case(described[key], names) for key in ("absent", "present"))
        return Split(names[parent], names[child], absent, present)
    if "clusters" in described:
        return Duals(tuple((tuple(names[k] for k in cluster), *rest) for cluster, *rest in described["clusters"]))
    return Exhaustion()
