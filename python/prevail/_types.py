"""Types of arguments, for annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Label = Any
# The prevalence of the positive class; by label; in the order of the classes; or a text like "0.005-0.02" or "unknown".
Prevalence = Union[float, str, Mapping[Any, float], Sequence[float], NDArray[np.float64]]
# The same by stratum.
PrevalenceByStratum = Union[Prevalence, Mapping[Any, Prevalence]]
# {"wait": {0: 0, 1: 50}}, a data frame, or an array [actions][classes].
Costs = Any
# Array-like or data frame.
Rows = Any
