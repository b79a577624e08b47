"""What arguments are, for annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Label = Any
# A number of the positive class; by label; in the order of the classes; or a text such as "0.005-0.02" or "unknown".
Prevalence = Union[float, str, Mapping[Any, float], Sequence[float], NDArray[np.float64]]
# By stratum as well.
PrevalenceByStratum = Union[Prevalence, Mapping[Any, Prevalence]]
# {"wait": {0: 0, 1: 50}}, a data frame, or an array of actions by classes.
Costs = Any
# Whatever is like an array or a data frame.
Rows = Any
