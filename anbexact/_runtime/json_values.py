"""The lossless conversion of names, states and parameters to JSON values.

Reading builds objects from the names in :data:`OBJECTS` and the tags of :func:`encode`. It never imports or evaluates
what a file says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

AnyType = TypeVar("AnyType", bound=type[Any])

OBJECTS: dict[str, type[Any]] = {}
"""Classes whose objects are written as their constructor parameters, by name: scores, classifiers, rules."""


def register_object(cls: AnyType) -> AnyType:
    """Allow objects of a class in files, such as parameters of classifiers; usable as a decorator.

    The class must be a dataclass or a scikit-learn estimator: what is written is its constructor parameters.

    Raises
    ------
    ValueError
        If another class has the name.
    """
    known = OBJECTS.get(cls.__name__)
    if known is not None and known.__module__ != cls.__module__:
        raise ValueError(f"another class is called {cls.__name__!r}: {known.__module__}")
    OBJECTS[cls.__name__] = cls
    return cls


def encode(value: Any) -> Any:
    """Return the JSON form of a name, a state or a parameter.

    Text, whole numbers, booleans, None, finite floats and lists stand for themselves; everything else is an object
    with a ``type`` and a ``value``.

    Raises
    ------
    TypeError
        For a value of a type that has no JSON form.

    Examples
    --------
    >>> from datetime import date
    >>> [encode(value) for value in (1, 1.0, "1", True, date(2024, 1, 31), (1, float("inf")))]
    [1, 1.0, '1', True, {'type': 'date', 'value': '2024-01-31'}, {'type': 'tuple', 'value': [1, {'type': 'float', 'value': 'inf'}]}]
    """  # noqa: E501  # a line of output
    if isinstance(value, np.generic) and value.dtype.kind in "biufSU":
        value = value.item()
    kind = type(value)
    if value is None or kind in (str, int, bool) or (kind is float and np.isfinite(value)):
        return value
    if isinstance(value, np.ndarray | pd.Index | pd.Series | range):
        value, kind = list(value) if isinstance(value, range) else value.tolist(), list
    if kind is list:
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {"type": "mapping", "value": [[encode(key), encode(item)] for key, item in value.items()]}
    if OBJECTS.get(kind.__name__) is kind:
        if hasattr(value, "get_params"):
            parameters = value.get_params(deep=False)
        else:
            parameters = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"type": kind.__name__, "value": {name: encode(item) for name, item in parameters.items()}}
    tag = next((tag for tag, (of_tag, _, _) in _FORMS.items() if of_tag is kind), None)
    if tag is None:
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be written to a file: {value!r}")
    return {"type": tag, "value": _FORMS[tag][1](value)}


def decode(form: Any) -> Any:
    """Return the value that :func:`encode` wrote.

    Raises
    ------
    ValueError
        For an unknown type.
    """
    if isinstance(form, list):
        return [decode(item) for item in form]
    if not isinstance(form, dict):
        return form
    tag, value = form["type"], form["value"]
    if tag == "mapping":
        return {decode(key): decode(item) for key, item in value}
    if (known := OBJECTS.get(tag)) is not None:
        return known(**{name: decode(item) for name, item in value.items()})
    if tag not in _FORMS:
        raise ValueError(f"the type {tag!r} is not known")
    return _FORMS[tag][2](value)


def encode_as(what: str, value: Any) -> Any:
    """Return the JSON form of a value; the error, if it has none, says ``what`` the value is."""
    try:
        return encode(value)
    except TypeError as error:
        raise TypeError(f"cannot save {what}: {error}") from None


def _write_datetime(value: datetime) -> dict[str, Any]:
    zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else None
    text = (value.replace(tzinfo=None) if zone else value).isoformat()
    return {"at": text, "zone": zone, "fold": value.fold}


def _read_datetime(form: dict[str, Any]) -> datetime:
    at = datetime.fromisoformat(form["at"]).replace(fold=form["fold"])
    return at.replace(tzinfo=ZoneInfo(form["zone"])) if form["zone"] else at


def _write_timestamp(value: pd.Timestamp) -> dict[str, Any]:
    return {
        "ticks": int(value.asm8.astype(np.int64)),
        "unit": value.unit,
        "zone": None if value.tz is None else str(value.tz),
    }


def _read_timestamp(form: dict[str, Any]) -> pd.Timestamp:
    at = pd.Timestamp(np.datetime64(form["ticks"], form["unit"]))
    return at if form["zone"] is None else at.tz_localize("UTC").tz_convert(form["zone"])


# By tag: the exact type, the function that writes it, and the function that reads it.
_FORMS: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (float, repr, float),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "decimal": (Decimal, str, Decimal),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "datetime": (datetime, _write_datetime, _read_datetime),
    "timedelta": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda form: timedelta(*form),
    ),
    "Timestamp": (pd.Timestamp, _write_timestamp, _read_timestamp),
    "Timedelta": (
        pd.Timedelta,
        lambda value: [int(value.asm8.astype(np.int64)), value.unit],
        lambda form: pd.Timedelta(np.timedelta64(*form)),
    ),
    "Period": (
        pd.Period,
        lambda value: [value.ordinal, value.freqstr],
        lambda form: pd.Period(ordinal=form[0], freq=form[1]),
    ),
    "Interval": (
        pd.Interval,
        lambda value: [encode(value.left), encode(value.right), value.closed],
        lambda form: pd.Interval(decode(form[0]), decode(form[1]), closed=form[2]),
    ),
    "tuple": (tuple, lambda value: [encode(item) for item in value], lambda form: tuple(map(decode, form))),
    "set": (set, lambda value: [encode(item) for item in value], lambda form: set(map(decode, form))),
    "frozenset": (
        frozenset,
        lambda value: [encode(item) for item in value],
        lambda form: frozenset(map(decode, form)),
    ),
}


def register_form(tag: str, kind: type[Any], write: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
    """Allow values of a type in files: by a tag, a function that returns their JSON form, and one that reads it."""
    _FORMS[tag] = (kind, write, read)
