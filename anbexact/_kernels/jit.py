"""How kernels are compiled: without the interpreter lock, and saved on disk if there is a writable folder."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

from anbexact._kernels.saved import SavedKernel


def _is_kept() -> bool:
    """Whether numba finds a writable folder: that of the source, the user's cache folder, or ``NUMBA_CACHE_DIR``."""
    try:
        SavedKernel(_is_kept)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return False
    return True


KEPT = _is_kept()


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return the kernel of a function, which is compiled when it is called."""
    compiled = njit(nogil=True, **options)(function)
    if KEPT and compiled is not function:  # numba returns the function itself under NUMBA_DISABLE_JIT
        compiled._cache = SavedKernel(function)
    return compiled


kernel = partial(_compiled, no_cfunc_wrapper=True)
"""Decorator of functions that other packages call."""

inner = partial(_compiled, no_cfunc_wrapper=True, no_cpython_wrapper=True)
"""Decorator of functions that only kernels call. Without the code for calls from Python it is compiled a sixth
faster; such a call would crash the interpreter.
"""

vectorised = partial(inner, error_model="numpy")
"""Like :data:`inner`, for loops that divide: without a test for a divisor of 0, the compiler can vectorise them."""

summing = partial(inner, fastmath={"reassoc", "contract"})
"""Like :data:`inner`, for sums of products: in whatever order is quickest, the compiler can vectorise them."""

inlined = partial(_compiled, inline="always")
"""Decorator of functions that are compiled into the kernels that call them."""
