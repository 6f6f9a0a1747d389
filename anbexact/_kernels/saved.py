"""Compiled kernels on disk: a file for every kernel and signature, which several processes may write at once.

numba lists the signatures of a kernel in an index and numbers their files. If two processes compile two signatures
of a kernel at the same time, both take the same number, and the index of one of them may then lead to the code of the
other, which reads its arguments as values of other types. A process that is killed between the two files has similar
consequences. Here, the name of a file follows from the signature, and a file that is not complete, or that other
sources led to, counts as absent.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl
from numba.core.serialize import dumps

IMPORTED = re.compile(r"^from (anbexact\._kernels\.\w+) import", re.MULTILINE)
"""Imports of other modules with kernels, whose code numba compiles into that of the importing module."""
DIGEST = hashlib.sha256
NEEDED = 128 << 20
"""Bytes of address space that must be left when a kernel is loaded or compiled; most need a tenth of it."""
failures: list[OSError] = []
"""Why compiled code could not be written in this process."""


class SavedKernel:
    """The compiled signatures of one kernel, in the place of numba's own record of them.

    Raises
    ------
    RuntimeError
        If there is no writable folder.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._form: Any = CompileResultCacheImpl(function)
        self._module = function.__module__
        self._stamp = self._form.locator.get_source_stamp()
        self.cache_path = self._form.locator.get_cache_path()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code of a signature; None if there is no file with it, and it has to be compiled.

        Raises
        ------
        MemoryError
            If the process may not allocate what either of them needs.
        """
        _require_memory()
        with _later_interrupts():
            target_context.refresh()
            return self._load((sig, target_context.codegen().magic_tuple()), target_context)

    def _load(self, key: tuple[Any, Any], target_context: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        size = DIGEST().digest_size
        if DIGEST(content[size:]).digest() != content[:size]:
            return None
        origin, code = pickle.loads(content[size:])
        return self._form.rebuild(target_context, pickle.loads(code)) if origin == self._origin(key) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code of a signature in one step; the kernel works even if that fails."""
        if not self._form.check_cachable(data):
            return
        key = sig, data.codegen.magic_tuple()
        content = dumps((self._origin(key), dumps(self._form.reduce(data))))
        try:
            self._form.locator.ensure_cache_path()
            _replace(self._path(key), DIGEST(content).digest() + content)
        except OSError as error:
            failures.append(error)

    def flush(self) -> None:
        """Remove the files of all signatures."""
        for path in Path(self.cache_path).glob(f"{self._form.filename_base}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: tuple[Any, Any]) -> Path:
        """Return the path for the types of the arguments and the processor."""
        return Path(self.cache_path, f"{self._form.filename_base}.{DIGEST(repr(key).encode()).hexdigest()[:16]}.nbc")

    def _origin(self, key: tuple[Any, Any]) -> tuple[Any, ...]:
        """Return all that the code of a signature follows from."""
        return numba.__version__, self._stamp, _imported_sources(self._module), key


@contextmanager
def _later_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, where this is the main thread and a function handles it.

    While LLVM loads code, or compiles what all kernels need, it calls functions of llvmlite. What is raised in these
    is lost, and LLVM then goes on without the code that it asked for, which may end the process.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *given: came.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(*came[0])


def _require_memory() -> None:
    """Refuse to go on where LLVM could not allocate memory: it would end the process."""
    try:
        mmap.mmap(-1, NEEDED).close()
    except OSError as error:
        raise MemoryError(
            f"cannot allocate {NEEDED >> 20} MiB for compiled code: allow the process more memory (ulimit -v)"
        ) from error


def _replace(path: Path, content: bytes) -> None:
    """Write a file next to its place, then move it there in one step."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.tmp.", delete=False) as draft:
        try:
            draft.write(content)
            draft.close()
            os.replace(draft.name, path)
        except BaseException:
            draft.close()
            with suppress(OSError):
                os.unlink(draft.name)
            raise


@cache
def _imported_sources(module: str) -> str:
    """Return a digest of the sources that a module imports kernels from, directly or not."""
    sources: dict[str, str] = {}
    found = [module]
    while found:
        name = found.pop()
        if name not in sources:
            sources[name] = _source(name)
            found += IMPORTED.findall(sources[name])
    del sources[module]  # the stamp stands for it
    return DIGEST(repr(sorted(sources.items())).encode()).hexdigest()


def _source(module: str) -> str:
    """Return the source of an imported module; an empty text where there is none."""
    found = sys.modules.get(module)
    loader: Any = getattr(found, "__loader__", None)
    file = getattr(found, "__file__", None)
    return str(loader.get_data(file), "utf-8") if file and hasattr(loader, "get_data") else ""
