"""Copies of arrays.

An assignment ``target[:] = source`` between arrays compiles the text of an error about their shapes: two seconds.
"""

from anbexact._kernels.jit import inner


@inner
def copy_to(target, source):
    """Copy the values of ``source`` to the beginning of ``target``."""
    for k in range(len(source)):
        target[k] = source[k]
