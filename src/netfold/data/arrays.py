"""What arrays hold, for annotations: positions and counts are `Ints`, numbers are `Floats`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Floats", "Floats32", "Ints", "Ints32"]

Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
