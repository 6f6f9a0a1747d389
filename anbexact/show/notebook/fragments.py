"""What all displays share: the frame, its style, and paragraphs."""

from __future__ import annotations

from anbexact.show.svg.markup import Markup, element, joined, static_text


def fragment(*parts: object) -> Markup:
    """Return pieces as one fragment of a page, with the style that it needs."""
    style = element("style", static_text("anbexact.show.notebook", "display.css"))
    return element("div", style, joined(parts, "\n"), class_="anbexact")


def paragraph(*parts: object) -> Markup:
    """Return a paragraph."""
    return element("p", *parts)


def note(text: object) -> Markup:
    """Return a remark in small print."""
    return element("p", text, class_="note")


def folded(summary: str, *parts: object) -> Markup:
    """Return parts that are hidden below a summary until the reader opens it."""
    return element("details", element("summary", summary), *parts)
