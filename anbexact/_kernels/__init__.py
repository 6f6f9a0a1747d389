"""Compiled kernels: plain ``njit`` functions on arrays and scalars.

Every function releases the interpreter lock and is cached on disk. Nothing here knows tables,
structures or estimators; the callers validate, allocate and hand out the work to threads.
"""
