"""How long numba has been compiling, which deadlines and estimates must not count, and what users are told of it."""

from __future__ import annotations

import gc
import sys
import threading
import time

from numba.core.event import Event, Listener, register

from anbexact._kernels.jit import KEPT
from anbexact._runtime.progress import is_watched
from anbexact._runtime.warn import warn

COMPILED_SECONDS = 0.2
"""Seconds from which a kernel was compiled, and not loaded from disk."""
ONCE = "anbexact: compiling, once: the first use after installation takes some seconds longer"
ALWAYS = (
    "compiled code cannot be saved, because there is no writable folder for it, and every process compiles again, "
    "which takes seconds to minutes: set the environment variable NUMBA_CACHE_DIR to a writable folder that persists"
)


class _Compilation(Listener):
    """Adds up the seconds in which numba compiles, or loads what it has compiled, in any thread.

    The compiler makes many objects and little garbage, so the garbage collector waits meanwhile, which saves a tenth
    of the time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth, self._began, self._total = 0, 0.0, 0.0
        self._told = False
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
        if self._told or seconds < COMPILED_SECONDS:
            return
        kernel = getattr((event.data or {}).get("dispatcher"), "py_func", None)
        if getattr(kernel, "__module__", "").startswith("anbexact."):
            self._told = True
            if not KEPT:
                warn(ALWAYS)
            elif is_watched(sys.stderr):
                print(ONCE, file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        with self._lock:
            return self._total + (time.perf_counter() - self._began if self._depth else 0.0)


compilation = _Compilation()
register("numba:compile", compilation)  # type: ignore[no-untyped-call]  # numba has no types
