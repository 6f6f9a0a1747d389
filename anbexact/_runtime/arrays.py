"""Names of array types, by the contents of the arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
"""Numbers of any shape; docstrings state the shape and the unit."""
Positions = npt.NDArray[np.int64]
"""Positions in other arrays, in the type that kernels take."""
Integers = npt.NDArray[np.intp]
"""Positions in the type that numpy returns."""
