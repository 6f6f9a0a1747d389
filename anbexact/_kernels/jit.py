"""How kernels are compiled: with the interpreter lock released, and kept on disk."""

from numba import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}

kernel = njit(**OPTIONS)  # type: ignore[call-overload]  # the last option is not in numba's types
"""Decorator of what other packages call."""

inner = njit(**OPTIONS, no_cpython_wrapper=True)  # type: ignore[call-overload]  # likewise
"""Decorator of what kernels alone call. Without the code for calls from Python it is compiled a sixth faster; such a
call would crash the interpreter.
"""
