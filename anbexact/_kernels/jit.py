"""How kernels are compiled: without the interpreter lock, and saved on disk if there is a writable folder."""

from numba import njit


def _is_kept() -> bool:
    """Whether numba finds a writable folder: that of the source, the user's cache folder, or ``NUMBA_CACHE_DIR``."""
    try:
        njit(cache=True)(_is_kept)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return False
    return True


KEPT = _is_kept()
OPTIONS = {"cache": KEPT, "nogil": True, "no_cfunc_wrapper": True}

kernel = njit(**OPTIONS)  # type: ignore[call-overload]  # the last option is not in numba's types
"""Decorator of functions that other packages call."""

inner = njit(**OPTIONS, no_cpython_wrapper=True)  # type: ignore[call-overload]  # likewise
"""Decorator of functions that only kernels call. Without the code for calls from Python it is compiled a sixth
faster; such a call would crash the interpreter.
"""

inlined = njit(cache=KEPT, nogil=True, inline="always")
"""Decorator of functions that are compiled into the kernels that call them."""
