"""Trials in forked processes: what breaks in one of them leaves this process as it is, and needs no new imports."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 300
"""Processor seconds after which a trial counts as hanging."""
WAITS = 1_800
"""Seconds after which a trial that uses no processor time counts as hanging, on a busy machine too."""


class Outcome(NamedTuple):
    """How a trial ended: the signal that killed it (0 for none), what it returned or raised, and what it printed."""

    killed_by: int
    result: Any
    error: str
    printed: str

    @property
    def hung(self) -> bool:
        """Whether the trial had to be ended."""
        return self.killed_by in (signal.SIGVTALRM, signal.SIGALRM)


def forked(work: Callable[[], Any]) -> Outcome:
    """Return how a call ends in a forked process, in which standard output and standard error are a file."""
    with tempfile.TemporaryDirectory() as folder:
        printed, answer = Path(folder, "printed"), Path(folder, "answer")
        pid = os.fork()
        if pid == 0:
            _run(work, printed, answer)
        _, status = os.waitpid(pid, 0)
        result, error = pickle.loads(answer.read_bytes()) if answer.exists() else (None, "")
        text = printed.read_text("utf-8", errors="replace") if printed.exists() else ""
        return Outcome(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, result, error, text)


def _run(work: Callable[[], Any], printed: Path, answer: Path) -> None:
    """Do the work of a trial, and leave the process without a return to what the parent was doing."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAITS)
    ready = answer.with_name("ready")
    with printed.open("w", encoding="utf-8", buffering=1) as file, ready.open("wb") as out:
        warnings.simplefilter("ignore")
        try:
            with redirect_stdout(file), redirect_stderr(file):
                found = work(), ""
        except BaseException as error:
            found = None, f"{type(error).__name__}: {error}"
            traceback.print_exc(file=file)
        out.write(pickle.dumps(found))
        out.flush()
        os.rename(ready, answer)
        os._exit(0)


def together(works: list[Callable[[], Any]]) -> list[Outcome]:
    """Return how calls end that begin at the same moment, each in a process of its own."""
    from concurrent.futures import ThreadPoolExecutor

    start = time.time() + 0.1

    def at_start(work: Callable[[], Any]) -> Any:
        time.sleep(max(0.0, start - time.time()))
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(lambda work: forked(lambda: at_start(work)), works))
