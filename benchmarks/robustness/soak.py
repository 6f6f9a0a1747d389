"""Hours of use in one process: is the memory flat, and is every answer the one that a batch gives?

- ``batches``: rows are added to a TAN by ``partial_fit``, batch after batch. At the end, its posteriors are compared
  with those of a TAN to which the same rows were added in one call.
- ``threads``: single rows are predicted by one classifier from several threads at once, and each posterior is
  compared with that of the same row in one batch.
- ``service``: ``examples/rest_scorer.py`` runs under uvicorn, and connections of an httpx client ask it without a
  pause. Each posterior is compared with that of the batch.

What is measured of a process is its resident memory, from the time when a tenth of the work is done. Its slope is
that of a straight line by least squares.

    python -m benchmarks.robustness soak                                       # full size
    python -m benchmarks.robustness.soak --rows 1000000 --batches 1000 --predictions 100000 --seconds 60

Target: no growth of memory that goes on, and no answer that differs. Takes half an hour; the service needs uvicorn.
Writes ``docs/measurements/soak.md``, ``soak.csv`` and ``soak.png``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from anbexact import TANClassifier
from benchmarks.harness.output import markdown, panels, save, template, write_page
from benchmarks.harness.places import ROOT
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import NeedsData
from benchmarks.harness.timing import alone
from benchmarks.robustness.endless_rows import batch

SAMPLES = 200
"""How often a process is looked at."""
ASKED_ROWS = 2_000
"""Number of different rows that are predicted, over and over."""
EXACT = 1e-12
"""The largest difference from the batch that counts as none, where a service sums in another order."""
WARM = 0.1
"""The share of the work after which growth of memory counts."""
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Sizes:
    """How much is done: rows and batches of ``partial_fit``, predictions and threads, connections and seconds."""

    rows: int = 10_000_000
    batches: int = 10_000
    predictions: int = 1_000_000
    threads: int = 8
    connections: int = 16
    seconds: float = 600


TINY = Sizes(rows=2_000, batches=4, predictions=64, threads=2, connections=2, seconds=1)


class Watch:
    """The resident memory and the processor time of a process over time, and the work that was done by then."""

    def __init__(self, process: psutil.Process) -> None:
        self._process, self._began, self.rows = process, time.perf_counter(), list[Row]()
        self._worked = self._processor_seconds()

    def _processor_seconds(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def look(self, done: int, wrong: int, worst: float) -> None:
        """Note the memory, after ``done`` units of work, of which ``wrong`` differed, by up to ``worst``."""
        memory = self._process.memory_info().rss / 2**20
        seconds, worked = time.perf_counter() - self._began, self._processor_seconds() - self._worked
        noted = {"seconds": seconds, "processor_seconds": worked, "done": done, "mebibytes": memory}
        self.rows.append({**noted, "wrong": wrong, "worst": worst})


def learned(n_rows: int) -> TANClassifier:
    """Return a TAN of the first batch."""
    return TANClassifier(ess=1.0, n_jobs=1).fit(*batch(0, n_rows))


def by_batches(sizes: Sizes) -> list[Row]:
    """Add rows batch by batch, then compare with the same rows added in one call."""
    n_rows = sizes.rows // sizes.batches
    grown, watch = learned(n_rows), Watch(psutil.Process())
    every = max(1, sizes.batches // SAMPLES)
    for number in range(1, sizes.batches):
        grown.partial_fit(*batch(number, n_rows))
        if number % every == 0 or number == sizes.batches - 1:
            watch.look((number + 1) * n_rows, 0, 0.0)
    others = [batch(number, n_rows) for number in range(1, sizes.batches)]
    X, y = (pd.concat(list(parts), ignore_index=True) for parts in zip(*others, strict=True))
    at_once = learned(n_rows).partial_fit(X, y)
    asked = batch(sizes.batches, ASKED_ROWS)[0]
    differences = np.abs(grown.predict_proba(asked) - at_once.predict_proba(asked)).max(axis=1)
    watch.rows[-1].update(wrong=int((differences > 0).sum()), worst=float(differences.max()))
    return watch.rows


def by_threads(sizes: Sizes) -> list[Row]:
    """Predict single rows from several threads, and compare each answer with that of the batch.

    Every call gets a frame of its own: pandas notes in a frame which series were made of its columns, 80 bytes each,
    and clears these notes only after hundreds, so that a few thousand frames that are read again and again would
    grow to hundreds of megabytes.
    """
    classifier = learned(ASKED_ROWS)
    asked = batch(1, ASKED_ROWS)[0]
    expected = classifier.predict_proba(asked)
    done, wrong, worst = (np.zeros(sizes.threads, dtype) for dtype in (int, int, float))

    def predict(own: int) -> None:
        for k in range(own, sizes.predictions, sizes.threads):
            place = k % ASKED_ROWS
            difference = np.abs(classifier.predict_proba(asked.iloc[[place]])[0] - expected[place]).max()
            wrong[own] += difference > 0
            worst[own] = max(worst[own], difference)
            done[own] += 1

    workers = [threading.Thread(target=predict, args=(own,)) for own in range(sizes.threads)]
    watch = Watch(psutil.Process())
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        before = done.sum()
        while done.sum() < before + sizes.predictions / SAMPLES and any(worker.is_alive() for worker in workers):
            time.sleep(0.02)
        watch.look(int(done.sum()), int(wrong.sum()), float(worst.max()))
    return watch.rows


def by_service(sizes: Sizes) -> list[Row]:
    """Ask a service for as long as is wanted, and compare each answer with that of the batch."""
    if not (find_spec("uvicorn") and find_spec("fastapi") and find_spec("httpx")):
        raise NeedsData("the service needs the packages uvicorn, fastapi and httpx")
    classifier = learned(ASKED_ROWS)
    asked = batch(1, ASKED_ROWS)[0]
    expected = classifier.predict_proba(asked)
    cells = asked.astype(object).where(asked.notna(), None)
    bodies = cells.to_dict("records")
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        model = Path(folder) / "model.json"
        classifier.save(model)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        command = [sys.executable, "-m", "uvicorn", "rest_scorer:app", "--app-dir", str(ROOT / "examples")]
        command += ["--port", str(port), "--log-level", "warning"]
        server = subprocess.Popen(command, env={**os.environ, "ANBEXACT_MODEL": str(model)}, cwd=folder)
        try:
            return asyncio.run(_load(port, sizes, bodies, expected, server.pid))
        finally:
            server.terminate()
            server.wait()


async def _load(port: int, sizes: Sizes, bodies: list[dict[str, Any]], expected: np.ndarray, pid: int) -> list[Row]:
    """Ask from several connections, each without a pause, until the time is over."""
    import httpx

    waits: list[float] = []
    counts = {"done": 0, "wrong": 0}
    worst = 0.0

    async def ask(client: httpx.AsyncClient, own: int, end: float) -> None:
        nonlocal worst
        k = own
        while (began := time.perf_counter()) < end:
            place = k % len(bodies)
            answer = await client.post("/predict", json=bodies[place])
            waits.append(time.perf_counter() - began)
            difference = np.inf
            if answer.status_code == 200:
                found = np.array(list(answer.json()["probabilities"].values()))
                difference = float(np.abs(found - expected[place]).max())
            worst = max(worst, difference)
            counts["wrong"] += difference > EXACT
            counts["done"] += 1
            k += sizes.connections

    limits = httpx.Limits(max_connections=sizes.connections)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=60) as client:
        await _ready(client)
        watch = Watch(psutil.Process(pid))  # what it took to start is not counted
        end = time.perf_counter() + sizes.seconds
        asking = asyncio.gather(*(ask(client, own, end) for own in range(sizes.connections)))
        while not asking.done():
            await asyncio.sleep(sizes.seconds / SAMPLES)
            watch.look(counts["done"], counts["wrong"], worst)
            if waits:
                median, slow = np.quantile(waits, [0.5, 0.99])
                watch.rows[-1].update(median_wait=1e3 * median, slow_wait=1e3 * slow)
                waits.clear()
        await asking
    return watch.rows


async def _ready(client: Any) -> None:
    """Wait until the service answers; a minute at most."""
    import httpx

    for _ in range(600):
        try:
            await client.post("/predict", json={})
            return
        except httpx.TransportError:
            await asyncio.sleep(0.1)
    raise TimeoutError("the service did not start within a minute")


PARTS: dict[str, Callable[[Sizes], list[Row]]] = {
    "batches": by_batches,
    "threads": by_threads,
    "service": by_service,
}
TITLES = {
    "batches": "rows added by partial_fit",
    "threads": "single rows predicted in threads",
    "service": "requests to a REST service",
}


def measured(run: Run, sizes: Sizes) -> pd.DataFrame:
    """Return what was seen of each part, in processes of their own; what is stored is not repeated."""

    def work(part: str, _size: str) -> list[Row]:
        answered = PARTS[part](sizes) if run.smoke else alone(PARTS[part], sizes)
        return [{"median_wait": np.nan, "slow_wait": np.nan, **row} for row in answered]

    tasks = [(part, repr(sizes)) for part in PARTS if not run.only or part in run.only]
    found = run.measure("soak", ["part", "sizes"], tasks, work, jobs=1)
    return found[found["sizes"] == repr(sizes)].drop(columns="sizes")


def summary(of_part: pd.DataFrame) -> Row:
    """Return the rate and the growth of memory of a part once it was warm, and the answers that differed."""
    first, last = of_part.iloc[0], of_part.iloc[-1]
    warm = of_part[of_part["done"] >= WARM * last["done"]]
    per_million = np.polyfit(warm["done"] / 1e6, warm["mebibytes"], 1)[0] if len(warm) > 1 else np.nan
    return {
        "done": int(last["done"]),
        "seconds": last["seconds"],
        "per second": (last["done"] - first["done"]) / max(last["seconds"] - first["seconds"], 1e-9),
        "µs of processor each": 1e6 * last["processor_seconds"] / last["done"],
        "MiB when warm": warm["mebibytes"].iloc[0],
        "MiB at the end": last["mebibytes"],
        "MiB at most": warm["mebibytes"].max(),
        "slope (MiB per million)": per_million,
        "answers that differ": int(last["wrong"]),
        "largest difference": last["worst"],
    }


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw the memory of each process along the work, from zero, so that flat looks flat and growth shows."""
    parts = [part for part in PARTS if (found["part"] == part).any()]
    figure, axes = panels(1, len(parts), figsize=(1 + 3.4 * len(parts), 3.2), squeeze=False)
    axes = axes[0]
    for ax, part in zip(axes, parts, strict=True):
        title, series = TITLES[part], found[found["part"] == part]
        unit, name = (1e6, "millions") if series["done"].max() >= 1e6 else (1e3, "thousands")
        ax.plot(series["done"] / unit, series["mebibytes"], color="#4477aa", linewidth=1.6)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel(name)
        ax.set_ylim(0, 1.15 * series["mebibytes"].max())
        ax.set_xlim(0)
    axes[0].set_ylabel("resident memory (MiB)")
    save(figure, path)


def main(run: Run, sizes: Sizes | None = None) -> None:
    """Measure what is missing, then summarise, draw and write the page."""
    sizes = sizes or (TINY if run.smoke else Sizes())
    report(run, sizes, measured(run, sizes))


def report(run: Run, sizes: Sizes, found: pd.DataFrame) -> None:
    """Print, draw and write what has been measured so far."""
    rows = {part: summary(found[found["part"] == part]) for part in PARTS if (found["part"] == part).any()}
    shown = pd.DataFrame(rows).T
    print(shown.T.to_string(float_format=lambda number: f"{number:,.4g}"))
    if not run.smoke and sizes != Sizes():
        print("soak.md is not written, since this is not the full size")
        return
    run.write("soak", found, 6)
    draw(found, run.summaries / "soak.png")
    lines = [[TITLES[part], *(f"{value:,.3g}" if value % 1 else f"{value:,.0f}" for value in row.values())]
             for part, row in rows.items()]  # fmt: skip
    values = {
        "table": markdown(["work", *rows["batches"]], lines),
        "rows": f"{sizes.rows:,}", "batches": f"{sizes.batches:,}", "predictions": f"{sizes.predictions:,}",
        "threads": sizes.threads, "connections": sizes.connections, "minutes": f"{sizes.seconds / 60:.3g}",
        "processors": os.cpu_count(), "remarks": _remarks(found, list(rows)),
    }  # fmt: skip
    write_page(run.summaries / "soak.md", template(FOLDER, "soak").substitute(values))


def _remarks(found: pd.DataFrame, parts: list[str]) -> str:
    """Return what the page says below its table: how long requests waited, and what has not been measured yet."""
    texts = []
    if "service" in parts:
        waits = found.loc[found["part"] == "service", ["median_wait", "slow_wait"]].median()
        median, slow = waits["median_wait"], waits["slow_wait"]
        texts.append(f"Requests waited {median:.3g} ms in the median, and {slow:.3g} ms at the 99th percentile.")
    if missing := [TITLES[part] for part in PARTS if part not in parts]:
        texts.append(f"Not yet measured at this size: {', '.join(missing)}.")
    return "\n".join(texts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness.soak", description="Soak at other sizes.")
    for field in fields(Sizes):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    main(Run(), Sizes(**vars(parser.parse_args())))
