"""Processes that are killed while they write, and disks that are full while they do."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.store import Row
from benchmarks.robustness.trials import Outcome, forked
from benchmarks.robustness.writers import OLD, WRITERS, Writer, prepare, state, written

CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.link", "os.symlink")
"""Audit events of changes of the file system, besides files that are opened for writing."""
WRITES = os.O_WRONLY | os.O_RDWR
DISK = 1 << 20
"""Bytes of the disk that is filled."""
LARGEST = 0.95
"""The largest share of a file after which its writer is killed: files with seconds differ in their last bytes."""
PAGE = 4096
"""Bytes in which such a disk is given out; the old file takes one page."""


def changes_until(last: int | None) -> Callable[[], int]:
    """Kill this process when it is about to change the file system for the ``last`` time; return a counter."""
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES):
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.addaudithook(hook)
    return lambda: count


def writing(writer: Writer, path: Path, *, last: int | None = None, size: int | None = None) -> Callable[[], int]:
    """Return a trial: it is killed before a change of the file system, or in a file once this has ``size`` bytes."""

    def trial() -> int:
        changes = changes_until(last)
        if size is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which kills; Python would raise OSError
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        writer.write(path)
        return changes()

    return trial


def killed(name: str, n_sizes: int) -> list[Row]:
    """Kill a writer before every change of the file system, and at some bytes of its file; see what is there then."""
    writer, rows = WRITERS[name], []
    for before in ("absent", "old"):
        with tempfile.TemporaryDirectory() as root:
            prepare(Path(root))
            path = Path(root, "out", f"out{writer.suffix}")
            path.parent.mkdir()
            complete = written(writer, path)
            most = LARGEST * path.stat().st_size
            _put(before, path)
            counted = forked(writing(writer, path)).result
            points = [{"last": k} for k in range(counted)]
            points += [{"size": int(size)} for size in np.linspace(0, most, n_sizes)]
            for point in points:
                _put(before, path)
                outcome = forked(writing(writer, path, **point))
                found = state(writer, path, complete)
                good = found in (before, "new") and outcome.killed_by in (signal.SIGKILL, signal.SIGXFSZ)
                where = "in the file" if "size" in point else "before a change"
                rows.append({"where": f"{before}, {where}", "good": good, "found": f"{found}; {_told(outcome)}"})
    return rows


def _put(before: str, path: Path) -> None:
    """Empty the folder of a file but for an old file, if there is to be one."""
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    if before == "old":
        path.write_bytes(OLD)


def full(name: str, n_sizes: int) -> list[Row]:
    """Let the disk be full at some bytes of a file: it must be as it was, and the reason be said in one line.

    Where this process may mount a file system, one of a mebibyte is filled, in which some bytes are left. Elsewhere
    a limit of the size of files stands for it.
    """
    writer, rows = WRITERS[name], []
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as disk:
        prepare(Path(root))
        path = Path(root, "out", f"out{writer.suffix}")
        path.parent.mkdir()
        complete = written(writer, path)
        length = path.stat().st_size
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", disk], capture_output=True, check=False
        )
        try:
            if mounted.returncode == 0:
                shutil.rmtree(path.parent)
                path.parent.symlink_to(disk)
            for size in np.linspace(0, length - 1, n_sizes).astype(int):
                path.write_bytes(OLD)
                if mounted.returncode == 0:
                    Path(disk, "filled").write_bytes(b"\0" * (DISK - PAGE - size // PAGE * PAGE))
                outcome = forked(lambda size=size: limited(writer, path, None if mounted.returncode == 0 else size))
                Path(disk, "filled").unlink(missing_ok=True)
                found, left = state(writer, path, complete), sorted(set(os.listdir(path.parent)) - {path.name})
                refused = "Error" in outcome.error and outcome.printed.count("Traceback") <= 1
                good = not left and ((found == "old" and refused) or (found == "new" and not outcome.error))
                where = "a full disk" if mounted.returncode == 0 else "a limit of size"
                rows.append({"where": where, "good": good, "found": f"{found}; left {left}; {_told(outcome)}"})
        finally:
            if mounted.returncode == 0:
                subprocess.run(["umount", disk], check=True)
    return rows


def limited(writer: Writer, path: Path, size: int | None) -> None:
    """Write, no file above a size."""
    if size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
    try:
        writer.write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _told(outcome: Outcome) -> str:
    """Return how a trial ended, in a line."""
    said = outcome.error or " ".join(outcome.printed.split()[-20:])
    return f"signal {outcome.killed_by}; {said}" if outcome.killed_by else said
