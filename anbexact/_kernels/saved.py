"""Compiled kernels on disk: a file for every kernel and signature, which several processes may write at once.

numba lists the signatures of a kernel in an index and numbers their files. If two processes compile two signatures
of a kernel at the same time, both take the same number, and the index of one of them may then lead to the code of the
other, which reads its arguments as values of other types. A process that is killed between the two files has similar
consequences. Here, the name of a file follows from the signature, and a file that is not complete, or that other
sources led to, counts as absent.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

IMPORTED = re.compile(r"^from (anbexact\._kernels\.\w+) import", re.MULTILINE)
"""Imports of other modules with kernels, whose code numba compiles into that of the importing module."""
DIGEST = hashlib.sha256
failures: list[OSError] = []
"""Why compiled code could not be written in this process."""


class SavedKernel(FunctionCache):  # type: ignore[misc]  # numba has no types
    """The compiled signatures of one kernel.

    Raises
    ------
    RuntimeError
        If there is no writable folder.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(Path(self._cache_path, self._impl.filename_base), stamp, function.__module__)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code of a signature; the kernel works even if that fails."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            failures.append(error)


class _Files:
    """The files of one kernel, in the place of numba's index; ``base`` is what their paths begin with."""

    def __init__(self, base: Path, stamp: object, module: str) -> None:
        self._base, self._stamp, self._module = base, stamp, module

    def flush(self) -> None:
        """Remove all files."""
        for path in self._base.parent.glob(f"{self._base.name}.*.nbc"):
            path.unlink(missing_ok=True)

    def save(self, key: tuple[Any, ...], code: object) -> None:
        """Write the file of a signature in one step."""
        content = dumps((self._origin(key), dumps(code)))
        path = self._path(key)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.tmp.", delete=False) as draft:
            try:
                draft.write(DIGEST(content).digest() + content)
                draft.close()
                os.replace(draft.name, path)
            except BaseException:
                draft.close()
                with suppress(OSError):
                    os.unlink(draft.name)
                raise

    def load(self, key: tuple[Any, ...]) -> object:
        """Return the code of a signature; None if there is no file with it."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        size = DIGEST().digest_size
        if DIGEST(content[size:]).digest() != content[:size]:
            return None
        origin, code = pickle.loads(content[size:])
        return pickle.loads(code) if origin == self._origin(key) else None

    def _path(self, key: tuple[Any, ...]) -> Path:
        """Return the path for the types of the arguments and the processor, the first two parts of a key."""
        return self._base.with_name(f"{self._base.name}.{DIGEST(repr(key[:2]).encode()).hexdigest()[:16]}.nbc")

    def _origin(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return all that the code of a signature follows from."""
        return numba.__version__, self._stamp, _imported_sources(self._module), key


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
    loader, file = getattr(found, "__loader__", None), getattr(found, "__file__", None)
    return str(loader.get_data(file), "utf-8") if file and hasattr(loader, "get_data") else ""
