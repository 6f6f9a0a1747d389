"""Names of array types, by the contents of the arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
"""Positions in other arrays, in the type that kernels take."""
Integers = npt.NDArray[np.intp]
"""Positions in the type that numpy returns."""
