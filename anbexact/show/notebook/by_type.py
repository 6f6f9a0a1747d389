"""How a value is shown in a notebook, by its type."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from anbexact.show.svg.markup import Markup


@singledispatch
def html(thing: Any) -> Markup:
    """Return a value as a fragment of HTML.

    ``@html.register`` above a function of one argument says how values of its type are shown, your own types
    included; a type without a function is shown as its base is.

    Raises
    ------
    TypeError
        If neither the type nor a base of it is registered.
    """
    raise TypeError(f"nothing is registered to show a {type(thing).__name__}")
