"""People are told once that kernels are being compiled, and only if they watch."""

import gc
import sys
from io import StringIO
from types import SimpleNamespace

import pytest

from anbexact._runtime import compilation
from anbexact._runtime.compilation import ONCE
from anbexact._runtime.compilation import compilation as heard


class Terminal(StringIO):
    def isatty(self):
        return True


def kernel_of(module):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})


@pytest.mark.parametrize(
    ("stream", "module", "seconds", "expected"),
    [
        (Terminal, "anbexact._kernels.lattice", 1.0, f"{ONCE}\n"),
        (StringIO, "anbexact._kernels.lattice", 1.0, ""),  # nobody watches
        (Terminal, "elsewhere", 1.0, ""),  # somebody else's kernel
        (Terminal, "anbexact._kernels.lattice", 0.01, ""),  # loaded from disk
    ],
)
def test_the_line(monkeypatch, stream, module, seconds, expected):
    monkeypatch.setattr(sys, "stderr", stream())
    clock = iter([0.0, seconds] * 2)
    monkeypatch.setattr(compilation.time, "perf_counter", lambda: next(clock))
    listener = type(heard)()
    for _ in range(2):
        listener.on_start(kernel_of(module))
        listener.on_end(kernel_of(module))
    assert sys.stderr.getvalue() == expected
    assert listener.seconds == 2 * seconds


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_waits_for_the_compiler_and_is_left_as_it_was(collects):
    listener = type(heard)()
    (gc.enable if collects else gc.disable)()
    try:
        listener.on_start(kernel_of("elsewhere"))
        listener.on_start(kernel_of("elsewhere"))
        listener.on_end(kernel_of("elsewhere"))
        during = gc.isenabled()
        listener.on_end(kernel_of("elsewhere"))
        assert (during, gc.isenabled()) == (False, collects)
    finally:
        gc.enable()
