"""What breaks when things break: files, objects and processes after kills, full disks, interrupts and the like.

Every trial is a process of its own, forked from this one. A trial is good if what it leaves is whole:

- ``kill -9`` before every change of the file system, and within a file: the old file or the new one, both complete;
- a full disk: the old file, one sentence, and nothing else left in the folder;
- Ctrl-C at random moments: the object as it was, fitted anew or not at all; the command ends with status 0 or 130 and
  without a traceback;
- two processes that compile two signatures of one kernel at once: right answers of a third one, which loads both;
- a fork while another thread fits and compiles: the new process fits as well;
- little memory (``ulimit -v``): a result, or an error that says what helps; a limited control group is seen;
- an installation that cannot be written to, without a home: the command works, and says how to keep what it compiles;
- no standard streams, or such as lack characters: each command ends with status 0.

    make break
    python -m benchmarks.robustness breaking

Target: no trial that is not good. Takes half an hour; it is resumable, and its results are kept by trial. Writes
``docs/measurements/breaking.md`` and ``breaking.csv``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks.harness.output import markdown, template, write_page
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.robustness import interrupted, killed, others
from benchmarks.robustness.writers import WRITERS

Trials = Callable[[str, int, int], list[Row]]
SHARES = 10
"""Parts of the moments of an interrupted work, which are stored one by one."""
PARTS: dict[str, tuple[Trials, tuple[str, ...], int, int]] = {
    "narrow streams": (others.streamed, ("none", *others.NARROW), 1, 1),
    "read-only installation": (others.read_only, ("without a home", "with NUMBA_CACHE_DIR"), 1, 2),
    "control group": (others.limited_group, tuple(others.GROUPS), 1, 1),
    "little memory": (others.little_memory, ("ulimit -v",), 1, 20),
    "compiling at once": (others.compiled_at_once, tuple(others.SAVINGS), 1, 50),
    "fork beside threads": (others.forked_beside_threads, ("a fit",), 1, 50),
    "kill": (lambda name, _, n: killed.killed(name, n), tuple(WRITERS), 1, 4),
    "full disk": (lambda name, _, n: killed.full(name, n), tuple(WRITERS), 1, 4),
    "Ctrl-C": (
        interrupted.interrupted,
        (*interrupted.ESTIMATORS, "compare", *interrupted.COMMANDS),
        SHARES,
        200 // SHARES,
    ),
}
"""What is tried: the trials, of what, in how many parts, and how many of each."""
KNOWN_TO_FAIL = ("numba alone",)
"""What is measured for comparison."""


def main(run: Run) -> None:
    """Try what is missing, then write the page."""

    def work(part: str, case: str, share: int) -> list[Row]:
        trials, _, _, n = PARTS[part]
        return trials(case, share, 2 if run.smoke else n)

    tasks = [
        (part, case, share)
        for part, (_, cases, shares, _) in PARTS.items()
        if not run.only or part in run.only
        for share in range(1 if run.smoke else shares)
        for case in (cases[:1] if run.smoke else cases)
    ]
    report(run, run.measure("breaking", ["part", "case", "share"], tasks, work, jobs=1))


def report(run: Run, found: pd.DataFrame) -> None:
    """Print what failed, and write the table and the page, which show what has been tried so far."""
    left_out = found["found"].astype(str).str.startswith(others.LEFT_OUT)
    possible, impossible = found[~left_out], found[left_out]
    summary = possible.groupby(["part", "case"], sort=False)["good"].agg(["size", "sum"]).reset_index()
    summary = summary.assign(failed=summary["size"] - summary["sum"]).rename(columns={"size": "trials"})
    summary = summary.drop(columns="sum")
    print(summary.to_string(index=False))
    bad = found[~found["good"].astype(bool) & ~found["case"].isin(KNOWN_TO_FAIL)]
    print(bad.to_string(index=False, max_colwidth=200) if len(bad) else "nothing failed")
    run.write("breaking", summary)
    if not run.only:
        values = {
            "table": markdown(list(summary), summary.astype(str).to_numpy().tolist()),
            "outcomes": _outcomes(found),
            "left_out": "".join(f"Of {row.part}, {row.case} was {row.found}.\n" for row in impossible.itertuples()),
        }
        write_page(run.summaries / "breaking.md", template(Path(__file__).parent, "breaking").substitute(values))


def _outcomes(found: pd.DataFrame) -> str:
    """Return a table of how often interrupted works ended in which way."""
    interrupts = found[found["part"] == "Ctrl-C"]
    if interrupts.empty:
        return "None has been interrupted yet."
    counts = pd.crosstab(interrupts["case"], interrupts["found"])
    return markdown(["work", *counts], [list(row) for row in counts.itertuples()])
