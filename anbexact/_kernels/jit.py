"""How kernels are compiled: with the interpreter lock released, and kept on disk."""

from numba import njit

kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True)
"""Decorator of what other rooms call."""

inner = njit(cache=True, nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)
"""Decorator of what kernels alone call. Without the code for calls from Python it is compiled a sixth faster; such a
call would crash the interpreter.
"""
