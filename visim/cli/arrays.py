"""Arrays in JSON: the type, the shape and the elements in their order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def arrays_to_dict(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return arrays by their names.

    JSON has neither infinities nor NaN: they are the strings "Infinity", "-Infinity" and "NaN".
    """
    return {
        name: {
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "data": [_element(value) for value in array.ravel().tolist()],
        }
        for name, array in arrays.items()
    }


def _element(value: Any) -> Any:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
