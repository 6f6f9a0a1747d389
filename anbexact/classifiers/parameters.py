"""Parameters that several classifiers share, each written once.

A group is a dataclass of keyword-only parameters. Groups are combined by inheritance, and an estimator inherits its
``__init__`` from one of them. A parameter that an estimator fixes is a field with ``init=False``. What the parameters
mean is documented in :class:`~anbexact.NetworkClassifier` and in the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from numbers import Real
from typing import Any, TypeVar, dataclass_transform

from anbexact._runtime.tasks import thread_count
from anbexact.models.network.universal_measure import UniversalMeasure
from anbexact.search.constraints import Edge
from anbexact.tables.missing import check_handle_missing
from anbexact.tables.prediction import HANDLE_UNKNOWN, check_choice
from anbexact.tables.text_columns import check_decimal
from anbexact.tables.weights import check_class_weight

Group = TypeVar("Group")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameter_group(group: type[Group]) -> type[Group]:
    """Make a class a group of keyword-only parameters, without changing its equality, hash and repr."""
    return dataclass(kw_only=True, eq=False, repr=False)(group)


def named_constructor(estimator: type) -> Callable[..., None]:
    """Return the inherited constructor of an estimator, whose messages name the estimator and its parameters.

    Raises
    ------
    TypeError
        When called, for an unknown parameter or too many positional ones.
    """
    inherited = estimator.__init__  # type: ignore[misc]  # it is only called on instances of the estimator
    parameters = list(signature(inherited).parameters.values())[1:]
    known = [parameter.name for parameter in parameters]
    n_positional = sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in parameters)

    @wraps(inherited)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it is a constructor
        name = type(self).__name__
        if len(args) > n_positional:
            raise TypeError(
                f"{name} takes its parameters by name, such as {known[-1]}=..., not {args[-1]!r} by position"
            )
        unknown = next((name for name in kwargs if name not in known), None)
        if unknown is not None:
            near = get_close_matches(unknown, known, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(known))}"
            raise TypeError(f"{name} has no parameter {unknown!r}: {advice}")
        inherited(self, *args, **kwargs)

    __init__.__qualname__ = f"{estimator.__qualname__}.__init__"
    return __init__


def is_auto(value: object) -> bool:
    """Whether the value of a parameter is ``"auto"``."""
    return isinstance(value, str) and value == "auto"


def is_number(value: object) -> bool:
    """Whether the value of a parameter is a real number, and neither True nor False."""
    return isinstance(value, Real) and not isinstance(value, bool)


@parameter_group
class TableParameters:
    """How a table is read, and how much work may be done at once."""

    discretizer: Any = "auto"
    categories: Mapping[Hashable, Sequence[Any]] | None = None
    group_categories: int | str | None = "auto"
    handle_unknown: str = "marginalize"
    handle_missing: str = "auto"
    drop_identifiers: bool | str = "auto"
    fold_dummies: bool | str = "auto"
    decimal: str | None = None
    class_weight: str | Mapping[Any, float] | None = None
    n_jobs: int | None = None
    verbose: int = 0


def check_reading(given: TableParameters, completing: Sequence[str] = ()) -> None:
    """Refuse invalid parameters of how a table is read; ``handle_missing`` may also be one of ``completing``."""
    check_choice("handle_unknown", given.handle_unknown, HANDLE_UNKNOWN)
    check_handle_missing(given.handle_missing, completing)
    if given.drop_identifiers is not False and given.drop_identifiers != "auto":
        raise ValueError(f"drop_identifiers must be 'auto' or False, not {given.drop_identifiers!r}")
    if given.fold_dummies is not False and given.fold_dummies != "auto":
        raise ValueError(f"fold_dummies must be 'auto' or False, not {given.fold_dummies!r}")
    check_decimal(given.decimal)
    check_class_weight(given.class_weight)
    thread_count(given.n_jobs)


@parameter_group
class NetworkParameters(TableParameters):
    """How a structure is scored, and its conditional tables are estimated."""

    missing_class: str = "error"
    structure_score: Any = "bdeu"
    ess: float | str = "auto"
    parameters: str = "eap"
    smoothing: float | str | None = None


@parameter_group
class EdgeParameters:
    """Which arcs must, and must not, be in the structure."""

    required_edges: Iterable[Edge] = ()
    forbidden_edges: Iterable[Edge] = ()


@parameter_group
class TimeLimitParameters:
    """How long a search may take."""

    time_limit: float | None = None


@parameter_group
class ContinuousParameters(NetworkParameters):
    """How continuous columns are treated."""

    continuous: str | UniversalMeasure = "discretize"


@parameter_group
class BranchingParameters(EdgeParameters, TimeLimitParameters, ContinuousParameters):
    """Parameters of the searches for trees, forests and k-graphs."""


@parameter_group
class SearchParameters(EdgeParameters, TimeLimitParameters, NetworkParameters):
    """Parameters that restrict a search over all graphs."""

    max_parents: int | None = None


@parameter_group
class ExactParameters(SearchParameters):
    """Parameters of the exact searches."""

    memory_limit: float | None = None
