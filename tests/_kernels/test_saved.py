"""Compiled code on disk: complete, of these sources and of this signature, or not used."""

import errno
import importlib.util
import os
import signal

import numpy as np
import pytest

from anbexact._kernels import averaged, saved
from anbexact._kernels.jit import kernel
from anbexact._kernels.saved import SavedKernel

SOURCE = """
from anbexact._kernels.bits import flip

def twice(values):
    total = values[0]
    for value in values[1:]:
        total += value
    return total
"""
WHOLE, REAL = np.array([1, 2, 3]), np.array([0.5, 0.25])


@pytest.fixture(name="process")
def _process(tmp_path):
    """Return a function that makes the kernel of the same source anew, as another process would."""
    path = tmp_path / "sums.py"
    path.write_text(SOURCE)

    def process():
        spec = importlib.util.spec_from_file_location("sums", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return kernel(module.twice)

    return process


def loaded(compiled):
    return sum(compiled.stats.cache_hits.values())


def files(tmp_path):
    return sorted(tmp_path.rglob("*.nbc"))


def test_too_little_memory_is_refused_before_llvm_ends_the_process(process, monkeypatch):
    compiled = process()
    with monkeypatch.context() as patch:
        patch.setattr(saved, "NEEDED", 1 << 60)
        with pytest.raises(MemoryError, match=r"cannot allocate .* for compiled code: allow the process more memory"):
            compiled(REAL)
    assert compiled(REAL) == 0.75


def test_two_processes_that_save_at_once(process, monkeypatch, tmp_path):
    """The second one saves another signature in the midst of the first one's saving."""
    first, second = process(), process()
    replace, calls = os.replace, []

    def interleaved(*paths):
        calls.append(paths)
        if len(calls) == 1:
            assert second(REAL) == 0.75
        replace(*paths)

    monkeypatch.setattr(os, "replace", interleaved)
    assert first(WHOLE) == 6
    assert len(calls) == len(files(tmp_path)) == 2
    third = process()
    assert (third(REAL), third(WHOLE)) == (0.75, 6)
    assert loaded(third) == 2


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda _: b"", lambda content: content[:-1] + b"?"])
def test_a_damaged_file_is_written_anew(process, damage, tmp_path):
    assert process()(WHOLE) == 6
    (path,) = files(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    again = process()
    assert (again(WHOLE), loaded(again)) == (6, 0)
    assert (process()(WHOLE), files(tmp_path)) == (6, [path])


def test_code_of_other_sources_is_not_used(process, tmp_path, monkeypatch):
    """Neither of another source of the kernel, nor of one that it imports."""
    assert process()(WHOLE) == 6
    source = tmp_path / "sums.py"
    source.write_text(SOURCE.replace("+=", "-="))
    os.utime(source, (1, 1))
    assert process()(WHOLE) == -4
    monkeypatch.setattr(saved, "_imported_sources", lambda _: "changed")
    changed = process()
    assert (changed(WHOLE), loaded(changed)) == (-4, 0)
    assert len(files(tmp_path)) == 1


def test_imports_of_imports_count(monkeypatch):
    imported = saved._imported_sources.__wrapped__
    module, read = averaged.__name__, saved._source
    before = imported(module)
    reached = set()
    monkeypatch.setattr(saved, "_source", lambda name: reached.add(name) or read(name))
    assert imported(module) == before
    assert len(reached) > 2
    for changed in reached:
        monkeypatch.setattr(saved, "_source", lambda name, c=changed: read(name) + "#" * (name == c))
        assert (imported(module) == before) == (changed == module)


def test_a_full_disk_is_noted_and_the_kernel_works(process, monkeypatch, tmp_path):
    monkeypatch.setattr(saved, "failures", [])

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert process()(WHOLE) == 6
    assert [error.strerror for error in saved.failures] == ["No space left on device"]
    assert list((tmp_path / "__pycache__").glob("*.nb*")) == []


def test_ctrl_c_waits_until_llvm_has_loaded_the_code(process, monkeypatch):
    """What is raised in the functions that LLVM calls meanwhile is lost, and may end the process."""
    first, compiled, ended = process(), process(), []
    first(WHOLE)  # kept, as numba looks for the module of code whose environment is gone
    form, usual = compiled._cache._form, signal.getsignal(signal.SIGINT)

    def rebuild(*given):
        signal.raise_signal(signal.SIGINT)
        ended.append(type(form).rebuild(form, *given))
        return ended[-1]

    with monkeypatch.context() as patch:
        patch.setattr(form, "rebuild", rebuild)
        with pytest.raises(KeyboardInterrupt):
            compiled(WHOLE)
    assert len(ended) == 1
    assert signal.getsignal(signal.SIGINT) is usual
    assert compiled(WHOLE) == 6
    assert loaded(compiled) == 1


def test_flush_removes_the_files_of_the_kernel(process, tmp_path):
    compiled = process()
    compiled(WHOLE)
    other = tmp_path / "__pycache__" / "other.nbc"
    other.touch()
    SavedKernel(compiled.py_func).flush()
    assert files(tmp_path) == [other]
