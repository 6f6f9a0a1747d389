"""How a value is shown in a notebook, by its type."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from anbexact.show.svg.markup import Markup


@singledispatch
def html(thing: Any) -> Markup:
    """Return a value as a fragment of HTML.

    ``@html.register`` on a function of one argument determines how values of its type are shown; this also works for
    your own types. A type without a function is shown like its base.

    Raises
    ------
    TypeError
        If neither the type nor a base of it is registered.
    """
    raise TypeError(f"nothing is registered to show a {type(thing).__name__}")
