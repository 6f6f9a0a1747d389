"""Sets of features as bits in words of 64."""

import numpy as np

from anbexact._kernels.jit import inner


@inner
def holds(mask, v):
    """Return whether a set holds feature v."""
    return (mask[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != 0


@inner
def flip(mask, v):
    """Put feature v into a set, or take it out."""
    mask[v >> 6] ^= np.uint64(1) << np.uint64(v & 63)
