"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
"""Positions in other arrays, as kernels take them."""
Integers = npt.NDArray[np.intp]
"""Positions as numpy returns them."""
