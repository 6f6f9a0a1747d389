"""Compiled kernels: plain ``njit`` functions on arrays and scalars.

Every function releases the interpreter lock and is cached on disk. Kernels do not know tables, structures or
estimators; their callers validate, allocate, and distribute the work over threads.
"""
