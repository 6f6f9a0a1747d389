"""Reading and writing classifiers, in the format that the extension of a file names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anbexact
from anbexact.cli.messages import InputError, note
from anbexact.cli.writing import check_place

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier

NETWORKS = (".bif", ".xmlbif", ".xml", ".xdsl")
"""Extensions of network files for other programs. JSON loses nothing."""
FORMATS_HELP = "JSON, or by the extension .bif, .xmlbif, .xdsl"
"""What help texts say about the formats of classifiers."""


def is_network(path: str) -> bool:
    """Whether a file is one for other programs; it may be compressed."""
    return path.lower().removesuffix(".gz").endswith(NETWORKS)


def check_output(path: str, *inputs: str) -> None:
    """Refuse, before all the work, an output that could not be written, or that is one of the inputs."""
    if not path.lower().endswith((".json", *NETWORKS)):
        raise InputError(f"{path}: cannot infer the format; use one of the extensions .json, {', '.join(NETWORKS)}")
    check_place(path, *inputs)


def read_model(path: str, class_name: str | None = None) -> DiscreteClassifier:
    """Return the classifier in a file; ``class_name`` is the class of a network file that does not name it."""
    try:
        if is_network(path):
            from anbexact.adapters import from_file

            return from_file(path, class_name)
        classifier = anbexact.load(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(str(error).replace("pass class_name=", "pass --class")) from None
    if class_name is not None and class_name != str(classifier.vocabulary_.class_name):
        raise InputError(f"{path} predicts {str(classifier.vocabulary_.class_name)!r} and nothing else: omit --class")
    return classifier


def write_model(classifier: DiscreteClassifier, path: str) -> None:
    """Write a classifier to a file."""
    if not is_network(path):
        classifier.save(path)
        return
    logit = getattr(classifier, "logit_", None)
    if logit is not None and not logit.equivalent:
        raise InputError(
            f"{path}: a network may be unable to represent this refit ({logit.equivalence_report}): use the "
            "extension .json, or refit a model whose refit always has a network (nb, tan, fan)"
        )
    if hasattr(classifier, "members_"):
        classifier = _as_network(classifier, path)
    if not hasattr(classifier, "to_pgmpy"):
        raise InputError(f"{path}: {type(classifier).__name__} is not a network: use the extension .json")
    from anbexact.adapters import to_file

    try:
        to_file(classifier, path)
    except ValueError as error:
        raise InputError(str(error)) from None
    note(f"the names and types that {path} cannot hold are in {path}.names.json: keep the two together")
    measured = getattr(classifier, "universal_score_", None) is not None
    if getattr(classifier, "counts_", None) is not None and not measured:
        note(f"{path} contains no counts: rows can be added only to a classifier saved as JSON")


def _as_network(pool: Any, path: str) -> DiscreteClassifier:
    """Return one network with the posterior of a pool."""
    try:
        found: DiscreteClassifier = pool.to_logit().to_classifier()
    except (MemoryError, TypeError, ValueError) as error:
        raise InputError(f"{path}: the pool cannot be written as one network: {error}. Use .json") from None
    return found
