"""How values show themselves in a notebook."""

from __future__ import annotations


def shown(thing: object) -> str:
    """Return a value as HTML for a notebook, by its type; see :func:`anbexact.displays.by_type.html`."""
    from anbexact.displays import html  # loads the drawings, which importing the package should not

    return html(thing)


class Displayed:
    """A value that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return shown(self)
