"""A page that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from anbexact.show.svg.markup import Markup, element, static_text

PACKAGE = "anbexact.show.report.page"
PANEL_SCRIPTS = ("engine.js", "averages.js", "draws.js", "panel.js")
"""What an evidence panel runs, in this order."""
ZOOM, NETWORK = "zoom.js", 'class="anbexact-network"'
"""What enlarges pictures of networks, and how a page shows that it has one."""


def page(
    title: str,
    sections: Sequence[tuple[str, str, Markup]],
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    contents: bool = True,
) -> Markup:
    """Return a page.

    Its content security policy names its scripts by their checksums, and forbids all other scripts and every
    connection.

    Parameters
    ----------
    title : str
        The title of the page.
    sections : sequence of (anchor, heading, content)
        What the page shows.
    scripts, styles : sequence of str
        Files in the folder ``static``: scripts that the page runs, in this order, and further styles.
    contents : bool, default True
        Whether to list the sections.
    """
    with_network = any(NETWORK in content for _, _, content in sections)
    programs = [static_text(PACKAGE, name) for name in (*scripts, *([ZOOM] if with_network else ()))]
    policy = "; ".join(
        [
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            "script-src " + (" ".join(map(_checksum, programs)) or "'none'"),
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    sheets = [static_text(PACKAGE, name) for name in ("page.css", *styles)]
    style = "".join([static_text("anbexact.show.notebook", "display.css"), *sheets])
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="anbexact"),
        element("title", title),
        element("style", Markup(style)),
    )
    parts = [element("section", element("h2", heading), body, id=key) for key, heading, body in sections]
    listed = [element("li", element("a", heading, href=f"#{key}")) for key, heading, _ in sections]
    navigation = element("nav", element("ol", *listed), aria_label="Contents") if contents else Markup("")
    layout = "columns with-contents" if contents else "columns"
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", element("h1", title)),
        element("div", navigation, element("main", *parts, id="content", class_="anbexact"), class_=layout),
        *(element("script", script) for script in programs),
    )
    return Markup("<!doctype html>\n" + element("html", head, body, lang="en") + "\n")


def _checksum(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
