"""Parts of a JSON file, checked while they are read: kinds, ranges, lengths. Errors name the field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_WEIGHT = 1e300
"""Maximum total weight: sums of weights up to this do not overflow."""


@contextmanager
def reading(field: str = "") -> Iterator[None]:
    """Raise errors within the block as ValueError; the message names the field, if one is given."""
    place = f"{field}: " if field else ""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{place}{error} is missing") from error
    except (
        ArithmeticError, AssertionError, AttributeError, IndexError, RecursionError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise ValueError(f"{place}{error}") from error


def listed(value: Any, length: int | None = None) -> list[Any]:
    """Return a list; refuse other values, and lists of another length."""
    if not isinstance(value, list):
        raise ValueError(f"a list was expected, not {shortened(value)}")
    if length is not None and len(value) != length:
        raise ValueError(f"a list of length {length} was expected, not {len(value)}")
    return value


def mapped(value: Any) -> Mapping[str, Any]:
    """Return an object of JSON; refuse anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"an object was expected, not {shortened(value)}")
    return value


def text(value: Any) -> str:
    """Return text; refuse anything else."""
    if not isinstance(value, str):
        raise ValueError(f"text was expected, not {shortened(value)}")
    return value


def flag(value: Any) -> bool:
    """Return True or False; refuse anything else."""
    if type(value) is not bool:
        raise ValueError(f"true or false was expected, not {value!r}")
    return value


def whole(value: Any, least: int = 0, most: float = math.inf) -> int:
    """Return a whole number within limits; refuse anything else, True and 1.0 included."""
    if type(value) is not int or not least <= value <= most:
        limits = f"from {least} to {most:g}" if most < math.inf else f"of {least} or more"
        raise ValueError(f"a whole number {limits} was expected, not {shortened(value)}")
    return value


def number(value: Any, *, least: float = -math.inf, above: float = -math.inf, finite: bool = True) -> float:
    """Return a number that is at least ``least`` and above ``above``; refuse anything else.

    If ``finite`` is False, infinite numbers and NaN are accepted, too, and the limits do not apply.
    """
    if type(value) not in (int, float):
        raise ValueError(f"a number was expected, not {shortened(value)}")
    found = float(value)
    if finite and not (math.isfinite(found) and found >= least and found > above):
        limit = f" above {above:g}" if above > -math.inf else f" of {least:g} or more" if least > -math.inf else ""
        raise ValueError(f"a finite number{limit} was expected, not {shortened(value)}")
    return found


def references(value: Any, count: int) -> list[int]:
    """Return a list of distinct whole numbers from 0 to ``count - 1``; refuse anything else."""
    found = [whole(item, 0, count - 1) for item in listed(value)]
    if len(set(found)) < len(found):
        raise ValueError(f"the numbers {shortened(found)} are not distinct")
    return found


def numbers(value: Any) -> npt.NDArray[np.float64]:
    """Return a list of finite numbers as an array."""
    if not {type(item) for item in listed(value)} <= {int, float}:
        other = next(item for item in value if type(item) not in (int, float))
        raise ValueError(f"a list of numbers was expected, not one that contains {shortened(other)}")
    found = np.array(value, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(
            f"a list of finite numbers was expected, not one that contains {found[~np.isfinite(found)][0]:g}"
        )
    return found


def plain_numbers(values: npt.NDArray[np.float64]) -> list[float] | list[int]:
    """Return numbers as a list, of integers if all are whole: such a list is shorter and easier to read."""
    found: list[float] | list[int] = values.tolist()
    return [int(value) for value in found] if np.array_equal(values, np.rint(values)) else found


def cells_to_dict(cells: npt.NDArray[np.integer[Any]], weights: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return observed cells and their weights."""
    return {"cells": cells.tolist(), "weights": plain_numbers(weights)}


def cells_from_dict(described: Mapping[str, Any], size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the cells that :func:`cells_to_dict` described, ascending and below ``size``, and their weights."""
    places, weights = listed(described["cells"]), numbers(described["weights"])
    if not {type(item) for item in places} <= {int} or not all(0 <= item < size for item in places):
        raise ValueError(f"the cells must be whole numbers from 0 to {size - 1}")
    found = np.array(places, dtype=np.int64)
    if not (np.diff(found) > 0).all() or len(found) != len(weights) or not (weights > 0).all():
        raise ValueError("every cell must have a positive weight, and the cells must be in ascending order")
    refuse_overflow(weights)
    return found, weights


def refuse_overflow(weights: npt.NDArray[np.float64]) -> None:
    """Refuse weights whose sum would overflow where it is computed with."""
    with np.errstate(over="ignore"):
        if not weights.sum() <= MOST_WEIGHT:
            raise ValueError("the sum of the weights overflows")


def shortened(value: Any) -> str:
    """Return a value as text of at most 60 characters."""
    try:
        shown = repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = f"a {type(value).__name__} that is too long to show"
    return shown if len(shown) <= 60 else shown[:57] + "..."
