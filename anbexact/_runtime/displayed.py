"""What notebooks ask a value for."""

from __future__ import annotations


def shown(thing: object) -> str:
    """Return a value as HTML for a notebook, by its type; see :func:`anbexact.displays.by_type.html`."""
    from anbexact.displays import html  # drawn only when it is shown: importing the package need not load drawings

    return html(thing)


class Displayed:
    """A value that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return shown(self)
