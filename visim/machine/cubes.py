"""Cubes: which face a direction meets, and where.

The faces are +x, -x, +y, -y, +z, -z; where two components of a direction are equally long, x comes
before y and y before z. Coordinates on a face go from 0 to 1, v downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Axis = NDArray[Any]

_X, _Y, _Z = range(3)
_FACES = (
    (_X, (_Z, -1), (_Y, -1)),
    (_X, (_Z, 1), (_Y, -1)),
    (_Y, (_X, 1), (_Z, 1)),
    (_Y, (_X, 1), (_Z, -1)),
    (_Z, (_X, 1), (_Y, -1)),
    (_Z, (_X, -1), (_Y, -1)),
)
"""For each face the axis of its normal, and axis and sign of what u and v follow."""


@dataclass(frozen=True, slots=True)
class OnFace:
    """Where directions meet a cube: faces, and coordinates u, v on them; shapes (n,)."""

    face: NDArray[np.int64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    _directions: tuple[Axis, Axis, Axis]

    def gradient(self, change: Sequence[Axis]) -> tuple[Axis, Axis]:
        """Return how u and v change when the direction changes, the face staying the same."""
        found = np.zeros((2, self.face.size))
        for face, (normal, *along) in enumerate(_FACES):
            on = self.face == face
            depth = np.abs(self._directions[normal][on])
            closer = change[normal][on] * np.sign(self._directions[normal][on])
            for row, (axis, sign) in enumerate(along):
                value = sign * self._directions[axis][on]
                step = sign * change[axis][on]
                found[row, on] = (step * depth - value * closer) / (2 * depth * depth)
        return found[0], found[1]


def meet(directions: Sequence[Axis]) -> OnFace:
    """Return where directions (x, y, z) meet the cube; NaN for the direction of length 0."""
    x, y, z = (axis.astype(np.float64) for axis in directions)
    ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
    normal = np.where((ax >= ay) & (ax >= az), _X, np.where(ay >= az, _Y, _Z))
    longest = np.choose(normal, (x, y, z))
    face = 2 * normal + (longest < 0)
    found = np.zeros((2, face.size))
    for number, (_, *along) in enumerate(_FACES):
        on = face == number
        for row, (axis, sign) in enumerate(along):
            found[row, on] = (sign * (x, y, z)[axis][on] / np.abs(longest[on]) + 1) / 2
    return OnFace(face, found[0], found[1], (x, y, z))
