"""Deadlines of searches, which do not count the compilation of kernels, and interrupts that bring them forward."""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from numbers import Real

from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import Event, Listener, register

from anbexact._kernels.jit import KEPT
from anbexact._kernels.saved import failures
from anbexact._runtime.progress import is_watched
from anbexact._runtime.warn import warn

SHORTEST = 1e-3
"""Seconds that a fit is given if it must be made although no time is left."""
COMPILED_SECONDS = 0.2
"""Seconds from which on a kernel counts as compiled; loading it from disk takes less."""
ONCE = "anbexact: compiling, once: the first use after installation takes some seconds longer"
ALWAYS = (
    "compiled code cannot be saved, because {}, and every process compiles again, which takes seconds to minutes: "
    "set the environment variable NUMBA_CACHE_DIR to a writable folder that persists"
)
NO_FOLDER = "there is no writable folder for it"


class _Compilation(Listener):
    """Adds up the seconds in which numba compiles, or loads what it has compiled, in any thread.

    Meanwhile, the garbage collector is switched off, which saves a tenth of the time: the compiler makes many objects
    and little garbage.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth, self._began, self._total = 0, 0.0, 0.0
        self._told = self._told_unsaved = False
        self._collects = False

    def on_start(self, event: Event) -> None:
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
                self._collects = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self, event: Event) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                took = time.perf_counter() - self._began
                self._total += took
                if self._collects:
                    gc.enable()
                self._tell(event, took)

    def _tell(self, event: Event, seconds: float) -> None:
        """Say once that kernels are being compiled: in an interactive session, or always if the code is not saved."""
        if failures and not self._told_unsaved:
            self._told_unsaved = True
            warn(ALWAYS.format(f"writing to {failures[0].filename or 'disk'} failed ({failures[0].strerror})"))
        if self._told or seconds < COMPILED_SECONDS:
            return
        kernel = getattr((event.data or {}).get("dispatcher"), "py_func", None)
        if getattr(kernel, "__module__", "").startswith("anbexact."):
            self._told = True
            if not KEPT:
                warn(ALWAYS.format(NO_FOLDER))
            elif is_watched(sys.stderr):
                print(ONCE, file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        """Seconds of compilation so far, in this process."""
        with self._lock:
            return self._total + (time.perf_counter() - self._began if self._depth else 0.0)

    def before_fork(self) -> None:
        """Wait for other threads that compile: the new process would wait for them in vain."""
        global_compiler_lock.acquire()  # type: ignore[no-untyped-call]  # numba has no types
        self._lock.acquire()

    def after_fork(self) -> None:
        """Let them go on."""
        self._lock.release()
        global_compiler_lock.release()  # type: ignore[no-untyped-call]  # numba has no types


compilation = _Compilation()
"""The compilation in this process, in all threads."""
register("numba:compile", compilation)  # type: ignore[no-untyped-call]  # numba has no types
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=compilation.before_fork,
        after_in_parent=compilation.after_fork,
        after_in_child=compilation.after_fork,
    )


def check_limit(name: str, value: object) -> None:
    """Refuse a limit that is not None or a number above 0."""
    if value is not None and not (isinstance(value, Real) and float(value) > 0):
        raise ValueError(f"{name} must be None or a number above 0, not {value!r}")


_abandonable: ContextVar[Deadline | None] = ContextVar("abandonable", default=None)
"""The deadline of the innermost block of :func:`abandonable`, with which all deadlines set in it pass."""


class Deadline:
    """A moment after which no further work is started; an interrupt can bring it forward.

    The time in which kernels are compiled does not count: the first fit after an installation would otherwise have
    little time left, and a worse result than all later ones.

    If a deadline is sent to another process, it passes there at the same time, by the clocks of both processes; an
    interrupt is not sent along.

    Parameters
    ----------
    seconds : float, optional
        From now; None for no limit.
    outer : Deadline, optional
        Another deadline; when it passes, this one passes, too.
    """

    def __init__(self, seconds: float | None = None, outer: Deadline | None = None) -> None:
        self.began = time.perf_counter()
        self._compiled = compilation.seconds
        self.seconds = seconds
        self.outer = outer
        self._interrupted = False
        self._work = _abandonable.get()
        # collected once, because `interrupted` is read very often
        others = [other for other in (outer, self._work) if other is not None]
        interrupting = [(other, *other._interrupting) for other in others]
        self._interrupting: tuple[Deadline, ...] = tuple(dict.fromkeys(chain(*interrupting)))

    def __reduce__(self) -> tuple[Callable[[float], Deadline], tuple[float]]:
        return _at, (time.time() + self.left,)

    @property
    def elapsed(self) -> float:
        """Seconds since the deadline was set."""
        return time.perf_counter() - self.began

    @property
    def compiling(self) -> float:
        """Seconds since the deadline was set in which kernels were compiled, or loaded."""
        return compilation.seconds - self._compiled

    @property
    def worked(self) -> float:
        """Seconds since the deadline was set, without the time of compilation."""
        return max(self.elapsed - self.compiling, 0.0)

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt brought forward this deadline, an outer one, or one of :func:`abandonable`."""
        if self._interrupted:
            return True
        for other in self._interrupting:  # noqa: SIM110  # any() with a generator takes three times as long
            if other._interrupted:
                return True
        return False

    @property
    def left(self) -> float:
        """Seconds of work until the deadline, 0 or more; infinite without a limit."""
        if self.interrupted:
            return 0.0
        own = math.inf if self.seconds is None else max(self.seconds - self.worked, 0.0)
        return own if self.outer is None else min(own, self.outer.left)

    @property
    def passed(self) -> bool:
        """Whether the time is used up."""
        return self.left <= 0

    def within(self, seconds: float) -> Deadline:
        """Return a deadline that passes in ``seconds``, or with this one if that is earlier."""
        return Deadline(seconds, self)

    def interrupt(self) -> None:
        """Let this deadline and all outer ones pass now."""
        self._interrupted = True
        for other in (self.outer, self._work):
            if other is not None:
                other.interrupt()


def _at(moment: float) -> Deadline:
    """Return the deadline that passes at a time of the system's clock, which may be infinite."""
    return Deadline(None if math.isinf(moment) else moment - time.time())


class ProcessorDeadline(Deadline):
    """A deadline that passes after a number of processor seconds of this process, or with an outer deadline.

    What is computed before it passes therefore does not depend on other processes that use the processors.
    """

    def __init__(self, seconds: float, outer: Deadline) -> None:
        super().__init__(seconds, outer)
        self._spent = time.process_time()

    @property
    def elapsed(self) -> float:
        """Processor seconds since the deadline was set."""
        return time.process_time() - self._spent

    def within(self, seconds: float) -> Deadline:
        """Return a deadline that passes after a number of processor seconds, or with this one if that is earlier."""
        return ProcessorDeadline(seconds, self)


def seconds_left(deadline: Deadline) -> float | None:
    """Return the remaining time as a time limit: None if there is no limit, else a number above 0."""
    return None if math.isinf(deadline.left) else max(deadline.left, 0.001)


@contextmanager
def interruptible(deadline: Deadline) -> Iterator[None]:
    """Let a first Ctrl-C make the deadline pass, and a second one raise; in the main thread only."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
        yield
        return
    with _on_interrupt(_Interrupt(deadline)):
        yield


class _Interrupt:
    """The handler of Ctrl-C within :func:`interruptible`."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __call__(self, *_: object) -> None:
        if self._deadline.interrupted:
            raise KeyboardInterrupt
        self._deadline.interrupt()


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise at once even within :func:`interruptible`, for waiting while other processes work."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(usual, _Interrupt):
        yield
        return
    with _on_interrupt(signal.default_int_handler):
        yield


@contextmanager
def _on_interrupt(handler: Callable[..., object]) -> Iterator[None]:
    usual = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def abandonable() -> Iterator[None]:
    """Let a first Ctrl-C end the searches within the block, then raise it, because an unfinished choice is useless.

    All deadlines that are set within the block pass at that moment.
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
