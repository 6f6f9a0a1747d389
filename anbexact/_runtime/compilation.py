"""How long numba has been compiling: no deadline should count it, and no estimate rest on it."""

from __future__ import annotations

import threading
import time

from numba.core.event import Event, Listener, register


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


compilation = _Compilation()
register("numba:compile", compilation)  # type: ignore[no-untyped-call]  # numba has no types
