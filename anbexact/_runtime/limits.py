"""Time, memory, threads: what a search may use, and work that can be watched and stopped."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from pathlib import Path
from typing import TextIO

import psutil
from numba.core.event import Event, Listener, register
from threadpoolctl import threadpool_limits

from anbexact._runtime.warn import warn

Progress = Callable[[str, float], None]
"""Called with the name of the phase and the finished fraction of it, 0 to 1."""


LONG_WAIT = 5.0
"""Seconds after which progress is shown to people who did not ask for it."""


def progress_line(stream: TextIO | None = None, *, after: float = 0.0) -> Progress:
    """Return a progress callback that writes to a stream (standard error by default).

    On a terminal, or in a notebook, one line is kept up to date, and wiped when its phase ends; elsewhere a line is
    written for every phase that ended.

    Parameters
    ----------
    stream : text stream, optional
        Where to.
    after : float, default 0.0
        Seconds, from now, before which nothing is written.
    """
    out = sys.stderr if stream is None else stream
    began = time.monotonic()
    shown, width = began + after - 0.2, 0

    def show(phase: str, fraction: float) -> None:
        nonlocal shown, width
        now = time.monotonic()
        if now < began + after:
            return
        if not _is_watched(out):
            if fraction >= 1:
                print(f"{phase}: done", file=out, flush=True)
        elif fraction >= 1 or now - shown > 0.2:
            shown = now
            text = f"{phase}: {fraction:4.0%}" if fraction < 1 else ""
            rest = "\033[K" if out.isatty() else " " * (width - len(text))
            if text or width:
                print(f"\r{text}{rest}", end="", file=out, flush=True)
            width = len(text)

    return show


def default_progress() -> Progress | None:
    """Return what shows the progress of long work to people who watch, unasked; None if nobody does.

    On a terminal or in a notebook it is a :func:`progress_line` that appears after five seconds.
    """
    return progress_line(after=LONG_WAIT) if _is_watched(sys.stderr) else None


def _is_watched(stream: TextIO) -> bool:
    """Whether a stream is a terminal, or the output of a notebook's cell."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


_heard: ContextVar[set[str] | None] = ContextVar("heard", default=None)


@contextmanager
def heard_once() -> Iterator[None]:
    """Let every kind of advice (see :func:`advise`) be given once within, however often it applies."""
    token = None if _heard.get() is not None else _heard.set(set())
    try:
        yield
    finally:
        if token is not None:
            _heard.reset(token)


def advise(kind: str, message: str) -> None:
    """Warn the caller of the package, unless advice of this kind was heard within :func:`heard_once`."""
    heard = _heard.get()
    if heard is not None:
        if kind in heard:
            return
        heard.add(kind)
    warn(message)


class _Compilation(Listener):
    """Adds up the seconds in which numba compiles, or loads what it has compiled, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth, self._began, self._total = 0, 0.0, 0.0

    def on_start(self, event: Event) -> None:
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1

    def on_end(self, event: Event) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._total += time.perf_counter() - self._began

    @property
    def seconds(self) -> float:
        with self._lock:
            return self._total + (time.perf_counter() - self._began if self._depth else 0.0)


_compilation = _Compilation()
register("numba:compile", _compilation)  # type: ignore[no-untyped-call]  # numba has no types


class SearchTooLargeError(MemoryError):
    """A search was refused, before it started, because it would need more memory than allowed."""


def human_bytes(size: float) -> str:
    """Return a size in the largest fitting unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def human_seconds(seconds: float) -> str:
    """Return a duration in the largest fitting unit."""
    for unit, length in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if seconds < length * 2:
            return f"{seconds:.2g} {unit}" if seconds < 10 else f"{seconds:.0f} {unit}"
        seconds /= length
    if seconds > 36_500:
        return "more than a century"
    return f"{seconds:,.0f} days"


def available_memory() -> int:
    """Return the bytes that can be used now: of the machine, or of the container if it allows less."""
    available = int(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text()) - _reclaimable(group)
    except (OSError, ValueError):
        return available
    return min(available, max(limit - used, 0))


def _reclaimable(group: Path) -> int:
    """Return the bytes of a container's memory that are file cache, given back when they are needed."""
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return sum(int(stat.get(name, 0)) for name in ("inactive_file", "active_file", "slab_reclaimable"))


def check_limit(name: str, value: object) -> None:
    """Refuse a limit that is not None or a number above 0."""
    if value is not None and not (isinstance(value, Real) and float(value) > 0):
        raise ValueError(f"{name} must be None or a number above 0, not {value!r}")


def thread_count(n_jobs: object) -> int:
    """Return how many threads to use: all available processors for None or -1.

    Raises
    ------
    ValueError
        For 0 or a number below -1.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None or n_jobs == -1:
        return processors
    if not isinstance(n_jobs, Integral) or n_jobs < 1:
        raise ValueError(f"n_jobs must be None, -1 (all processors) or at least 1, not {n_jobs!r}")
    return int(n_jobs)


_single = threading.Lock()
_single_uses = 0
_single_limits: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let linear algebra use one thread, in the whole process, until the last of those who asked for it has ended.

    Matrices of a few hundred rows are worked up to ten times as fast so.
    """
    global _single_uses, _single_limits
    with _single:
        if _single_uses == 0:
            _single_limits = threadpool_limits(1, user_api="blas")
        _single_uses += 1
    try:
        yield
    finally:
        with _single:
            _single_uses -= 1
            if _single_uses == 0 and _single_limits is not None:
                _single_limits.restore_original_limits()


_abandonable: ContextVar[Deadline | None] = ContextVar("abandonable", default=None)


class Deadline:
    """A moment after which no further work is started; an interrupt can bring it forward.

    Parameters
    ----------
    seconds : float, optional
        From now; None for no limit.
    outer : Deadline, optional
        One that holds, too.
    """

    def __init__(self, seconds: float | None = None, outer: Deadline | None = None) -> None:
        self.began = time.perf_counter()
        self._compiled = _compilation.seconds
        self.seconds = seconds
        self.outer = outer
        self._interrupted = False
        self._work = _abandonable.get()

    @property
    def elapsed(self) -> float:
        """Seconds since the deadline was set."""
        return time.perf_counter() - self.began

    @property
    def compiling(self) -> float:
        """Seconds since the deadline was set in which kernels were compiled, or loaded."""
        return _compilation.seconds - self._compiled

    @property
    def worked(self) -> float:
        """Seconds since the deadline was set, without those of compilation."""
        return max(self.elapsed - self.compiling, 0.0)

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt brought this deadline forward, or one around it, or :func:`abandonable` work."""
        return self._interrupted or any(other.interrupted for other in (self.outer, self._work) if other is not None)

    @property
    def left(self) -> float:
        """Seconds that are left, 0 or more; infinite without a limit."""
        if self.interrupted:
            return 0.0
        own = math.inf if self.seconds is None else max(self.seconds - self.elapsed, 0.0)
        return own if self.outer is None else min(own, self.outer.left)

    @property
    def passed(self) -> bool:
        """Whether the time is used up."""
        return self.left <= 0

    def within(self, seconds: float) -> Deadline:
        """Return a deadline that passes in ``seconds``, or with this one."""
        return Deadline(seconds, self)

    def interrupt(self) -> None:
        """Let this deadline, and those that it lies within, pass now."""
        self._interrupted = True
        for other in (self.outer, self._work):
            if other is not None:
                other.interrupt()


class ProcessorDeadline(Deadline):
    """A deadline that passes after so many processor seconds of this process, or with one around it.

    So what is reached by then does not depend on who else uses the processors.
    """

    def __init__(self, seconds: float, outer: Deadline) -> None:
        super().__init__(seconds, outer)
        self._spent = time.process_time()

    @property
    def elapsed(self) -> float:
        """Processor seconds since the deadline was set."""
        return time.process_time() - self._spent

    def within(self, seconds: float) -> Deadline:
        """Return a deadline that passes after so many processor seconds, or with this one."""
        return ProcessorDeadline(seconds, self)


def seconds_left(deadline: Deadline) -> float | None:
    """Return the time left as a time limit: None if there is none, else above 0."""
    return None if math.isinf(deadline.left) else max(deadline.left, 0.001)


@contextmanager
def interruptible(deadline: Deadline) -> Iterator[None]:
    """Let a first Ctrl-C make the deadline pass, and raise only from the second on; in the main thread alone."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
        yield
        return

    def interrupt(*_: object) -> None:
        if deadline.interrupted:
            raise KeyboardInterrupt
        deadline.interrupt()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def abandonable() -> Iterator[None]:
    """Let a first Ctrl-C end whatever is searched within, and raise it then: choices half made are no result.

    Deadlines that are set within pass with it.
    """
    work = Deadline()
    token = _abandonable.set(work)
    try:
        with interruptible(work):
            yield
    finally:
        _abandonable.reset(token)
    if work.interrupted:
        raise KeyboardInterrupt


def run_tasks(
    tasks: Iterable[Callable[[], object]],
    n_tasks: int,
    threads: int,
    deadline: Deadline,
    phase: str,
    progress: Progress | None,
) -> bool:
    """Run tasks that release the interpreter lock, in threads; return whether all were run.

    No task is started after the deadline. An interrupt (Ctrl-C) lets the deadline pass, waits for the tasks under
    way, starts no other, and is raised.
    """
    waiting = iter(tasks)
    done = 0

    def finished(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(phase, done / n_tasks)

    if threads == 1 or n_tasks == 1:
        for task in waiting:
            if deadline.passed:
                return False
            try:
                task()
                finished(1)
            except BaseException:
                deadline.interrupt()
                raise
        return True
    pool = ThreadPoolExecutor(threads)
    running: set[Future[object]] = set()
    complete = True
    try:
        for task in waiting:
            if deadline.passed:
                complete = False
                running -= {future for future in running if future.cancel()}
                break
            running.add(pool.submit(task))
            if len(running) >= 2 * threads:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                finished(len(ended))
        for future in running:
            future.result()
        finished(len(running))
    except BaseException:
        deadline.interrupt()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return complete
