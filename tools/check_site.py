"""Checks the built site of the documentation: ``python tools/check_site.py [build/site] [--no-browser]``.

Without a browser: every page with its images is at most 1 MB, every link within the site leads to a page and an
anchor that exist, every image has an alternative text, every page a title and a language; no text names a source of
the documentation (``docs/….md``), and no link is called by a file name. With Chromium, which is started headless: no
error on the console, texts that stand out from what is behind them (WCAG AA: a contrast of 4.5, or of 3 for large
text), in the light and in the dark theme, and a search that finds the page about a word first. The status is 1 if
something is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

MOST_BYTES = 1_000_000
"""Of a page with its images."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 600
"""Seconds for all pages in the browser."""
ADDRESS = "/check-of-the-site.html"
SOURCE = re.compile(r"docs/[\w/-]+\.md")
"""A page of the documentation, named as a file, which readers of the site do not have."""
FILE_NAME = re.compile(r"[\w./-]+\.(?:md|rst|csv|html?|ipynb|json|png|py|svg|txt)")
"""A link text that says where, but not what."""
SEARCHES = {
    "threshold": "guides/costs.html",
    "currency": "guides/column-types.html",
    "class imbalance": "guides/weights.html",
    "missing values": "guides/missing-cells.html",
    "odds ratio": "guides/logit.html",
    "separation": "guides/logit.html",
    "gam": "guides/smooth-shapes.html",
    "batch prediction": "guides/large-tables.html",
    "update": "guides/workers.html",
    "confidence interval": "background/how-sure.html",
    "calibration": "guides/calibration.html",
    "shap": "background/exact-explanations.html",
    "feature selection": "guides/feature-selection.html",
    "onnx": "guides/deploying.html",
}
"""What readers search for, with the page that must be the first result."""

SCRIPT = """<!doctype html><meta charset=utf-8><title>check</title><iframe id=frame width=1200 height=900></iframe>
<script>
const frame = document.getElementById('frame'), pages = PAGES, searches = SEARCHES, found = {};
const luminance = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
const rgba = text => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
const over = (top, under) => [0, 1, 2].map(k => top[k] * top[3] + under[k] * (1 - top[3]));
function behind(view, element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = view.getComputedStyle(at);
    if (style.backgroundImage !== 'none') return null;
    layers.push(rgba(style.backgroundColor));
    if (layers.at(-1)[3] === 1) break;
  }
  return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
}
function faint(view, theme) {
  const page = view.document, walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT), seen = {};
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || element.closest('svg, script, style, noscript, template, .headerlink')) continue;
    if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const style = view.getComputedStyle(element), ground = behind(view, element);
    if (!ground || !element.getClientRects().length) continue;
    const ink = over(rgba(style.color), ground), size = parseFloat(style.fontSize);
    const [low, high] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (contrast < (large ? 3 : 4.5) - 0.005)
      seen[`${theme} ${element.tagName.toLowerCase()}.${element.className} ${style.color}`] =
        `${contrast.toFixed(2)} ${text.slice(0, 40)}`;
  }
  return seen;
}
const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));
async function check(address) {
  await new Promise(done => { frame.onload = done; frame.src = address; });
  const view = frame.contentWindow, all = {};
  const still = view.document.createElement('style');
  still.textContent = '* { transition: none !important; animation: none !important }';
  view.document.head.append(still);
  for (const theme of ['light', 'dark']) {
    view.document.body.dataset.theme = theme;
    await pause(20);
    Object.assign(all, faint(view, theme));
  }
  return {faint: all, broken: [...view.document.images].filter(image => image.complete && !image.naturalWidth)
    .map(image => image.getAttribute('src'))};
}
async function first(words) {
  await new Promise(done => { frame.onload = done; frame.src = '/search.html?q=' + encodeURIComponent(words); });
  for (let waited = 0; waited < 10000; waited += 50) {
    const link = frame.contentDocument.querySelector('#search-results li a');
    if (link) return link.pathname.slice(1);
    await pause(50);
  }
  return 'nothing';
}
(async () => {
  for (const address of pages) {
    console.info('page ' + address);
    try { found[address] = await check(address); } catch (error) { found[address] = {error: String(error)}; }
  }
  for (const words of searches) {
    console.info('page /search.html?q=' + words);
    found['search ' + words] = {first: await first(words)};
  }
  await fetch('ADDRESS', {method: 'POST', body: JSON.stringify(found)});
})();
</script>"""


class Page(HTMLParser):
    """What a page refers to, and what it can be referred to by."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.images: list[str] = []
        self.unnamed: list[str] = []
        self.language = self.titled = False
        self.sources: list[str] = []
        self.file_names: list[str] = []
        self._link: list[str] | None = None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := found.get(key)))
        self.language |= tag == "html" and bool(found.get("lang"))
        self.titled |= tag == "title"
        if tag in ("a", "link") and (address := found.get("href")):
            self.links.append(address)
        if tag == "a":
            self._link = []
        if tag in ("img", "script", "source") and (address := found.get("src")):
            self.links.append(address)
        if tag == "img":
            self.images.append(found.get("src") or "")
            decorative = found.get("alt") == "" and (found.get("src") or "").endswith(
                "_thumb.png"
            )  # its title follows
            if not decorative and not (found.get("alt") or "").strip():
                self.unnamed.append(found.get("src") or "")

    def handle_data(self, data: str) -> None:
        self.sources += SOURCE.findall(data)
        if self._link is not None:
            self._link.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._link is not None:
            name, self._link = "".join(self._link).strip(), None
            self.file_names += [name] if FILE_NAME.fullmatch(name) else []


def target(site: Path, page: Path, address: str) -> tuple[Path, str] | None:
    """Return the file and the anchor of a link within the site, None for others."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    found = page if not path else (site / path.lstrip("/") if path.startswith("/") else page.parent / path).resolve()
    return (found / "index.html" if found.is_dir() else found), unquote(parts.fragment)


def check_files(site: Path) -> list[str]:
    """Return what is wrong with the files."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(site)
        images = {found[0] for image in page.images if (found := target(site, path, image)) and found[0].exists()}
        weight = sum(file.stat().st_size for file in {path, *images})
        if weight > MOST_BYTES:
            wrong.append(f"{name}: {weight / 1e6:.2f} MB with its images")
        wrong += [f"{name}: no alternative text: {image}" for image in page.unnamed]
        wrong += [f"{name}: names a source instead of linking to the page: {source}" for source in page.sources]
        wrong += [f"{name}: a link is called by its file name: {text}" for text in page.file_names]
        if not page.language or not page.titled:
            wrong.append(f"{name}: no {'title' if page.language else 'language'}")
        for address in dict.fromkeys(page.links):
            found = target(site, path, address)
            if found is None:
                continue
            if not found[0].exists():
                wrong.append(f"{name}: dead link {address}")
            elif found[1] and found[0] in pages and found[1] not in pages[found[0]].anchors:
                wrong.append(f"{name}: no such anchor {address}")
    sizes = sorted(((path.stat().st_size, path.relative_to(site)) for path in pages), reverse=True)
    sys.stdout.write(f"{len(pages)} pages; the largest is {sizes[0][1]}, {sizes[0][0] / 1000:.0f} kB\n")
    return wrong


class Site(SimpleHTTPRequestHandler):
    """Serves the site and the page that checks it, and takes what that page has found."""

    found: dict[str, dict[str, object]]
    script: str
    done: threading.Event

    def do_GET(self) -> None:
        if self.path != ADDRESS:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.script.encode())

    def do_POST(self) -> None:
        type(self).found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.done.set()

    def log_message(self, *_arguments: object) -> None:
        pass


def check_in_browser(site: Path, browser: str) -> list[str]:
    """Return what is wrong with the pages as a browser shows them."""
    names = [
        f"/{path.relative_to(site).as_posix()}"
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    ]
    Site.script = SCRIPT.replace("PAGES", json.dumps(names)).replace("ADDRESS", ADDRESS)
    Site.script = Site.script.replace("SEARCHES", json.dumps(list(SEARCHES)))
    Site.done, Site.found = threading.Event(), {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                f"--user-data-dir={profile}",
                f"http://127.0.0.1:{server.server_port}{ADDRESS}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        finished = Site.done.wait(PATIENCE)
        process.terminate()
        process.wait()
        server.shutdown()
        said.seek(0)
        console = [line.strip() for line in said if "CONSOLE" in line]
    wrong, page = [] if finished else [f"the browser did not finish within {PATIENCE} s"], ""
    for line in console:
        message = line.partition("] ")[2]
        if message.startswith('"page '):
            page = message.split('"')[1].removeprefix("page /")
        elif "favicon.ico" not in message:
            wrong.append(f"{page}: on the console: {message}")
    for words, expected in SEARCHES.items():
        first = Site.found.pop(f"search {words}", {}).get("first", "nothing")
        wrong += [f"the search for {words!r} finds {first} first, not {expected}"] if first != expected else []
    faint: dict[str, list[str]] = {}
    for name, about in Site.found.items():
        wrong += [f"{name[1:]}: {about['error']}"] if "error" in about else []
        wrong += [f"{name[1:]}: image not shown: {image}" for image in about.get("broken", [])]
        for what, text in about.get("faint", {}).items():
            faint.setdefault(what, []).append(f"{text} ({name[1:]})")
    wrong += [f"contrast, {what}: {places[0]} and {len(places) - 1} more pages" for what, places in faint.items()]
    sys.stdout.write(f"{len(Site.found)} pages seen in {browser}\n")
    return wrong


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, default=Path(__file__).parents[1] / "build" / "site")
    parser.add_argument("--no-browser", action="store_true", help="check the files alone")
    options = parser.parse_args()
    site = options.site.resolve()
    if not (site / "index.html").exists():
        parser.error(f"{site} has no index.html: run make docs first")
    wrong = check_files(site)
    if not options.no_browser:
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            parser.error(f"none of {', '.join(BROWSERS)} was found; --no-browser checks the files alone")
        wrong += check_in_browser(site, browser)
    sys.stdout.write("\n".join([*wrong, f"{len(wrong)} complaints" if wrong else "nothing is wrong", ""]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
