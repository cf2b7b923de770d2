"""In which order the threads of a media thread space may run (docs/kernel-abi.md).

Pure functions of sizes and patterns; knows no launch and runs nothing. Threads have numbers in
dispatch order: thread (x, y) is `y * width + x`.

Follows specification 3 (execution model: thread space and dependency pattern).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError, shown

Vector = tuple[int, int]
Wave = NDArray[np.int32]
"""Numbers of threads that do not depend on each other, ascending."""

_LEFT, _ABOVE = (-1, 0), (0, -1)
_ABOVE_LEFT, _ABOVE_RIGHT, _BELOW_LEFT = (-1, -1), (1, -1), (-1, 1)

_FAR = 1 << 16
PATTERNS: Mapping[str, tuple[Vector, ...]] = {
    "none": (),
    "wavefront": (_LEFT, _ABOVE_LEFT, _ABOVE),
    "wavefront26": (_LEFT, _ABOVE_LEFT, _ABOVE, _ABOVE_RIGHT),
    "vertical": (_LEFT,),
    "horizontal": (_ABOVE,),
}
"""The threads waited for, as (dx, dy), by the pattern's name."""

ZIGZAG = "wavefront26z"
ZIGZAG_PATTERN: Mapping[tuple[int, int], tuple[Vector, ...]] = {
    (0, 0): (_BELOW_LEFT, _LEFT, _ABOVE, _ABOVE_RIGHT),
    (0, 1): (_LEFT, _ABOVE, _ABOVE_RIGHT),
    (1, 0): (_LEFT, _ABOVE, _ABOVE_RIGHT),
    (1, 1): (_LEFT, _ABOVE),
}
"""The threads waited for in the pattern "wavefront26z", by the parity of (x, y)."""

Dependency = str | tuple[Vector, ...]
"""A pattern's name, or the vectors themselves."""


def read_dependency(value: object) -> Dependency:
    """Return what a caller gave as `dependency`.

    Raises:
        ArgumentError: it is neither the name of a pattern nor a list of pairs of integers.
    """
    if isinstance(value, str):
        if value in PATTERNS or value == ZIGZAG:
            return value
        known = ", ".join([*PATTERNS, ZIGZAG])
        raise ArgumentError(f"dependency: there is no pattern {shown(value)}; known: {known}")
    if not isinstance(value, (list, tuple)):
        raise _no_dependency(value)
    return tuple(dict.fromkeys(_vector(item) for item in cast("Sequence[object]", value)))


def _vector(item: object) -> Vector:
    if not isinstance(item, (list, tuple)):
        raise _no_dependency(item)
    pair = cast("Sequence[Any]", item)
    try:
        x, y = (operator.index(number) for number in pair)
    except (TypeError, ValueError):
        raise _no_dependency(pair) from None
    return (x, y)


def _no_dependency(found: object) -> ArgumentError:
    return ArgumentError(
        "dependency: expected the name of a pattern or a list of vectors such as [(-1, 0)], "
        f"found {shown(found)}"
    )


def depends_on(dependency: Dependency, x: int, y: int) -> tuple[Vector, ...]:
    """Return the vectors from thread (x, y) to those it waits for, also outside the space."""
    if dependency == ZIGZAG:
        return ZIGZAG_PATTERN[x & 1, y & 1]
    return PATTERNS[dependency] if isinstance(dependency, str) else dependency


def schedule(width: int, height: int, dependency: Dependency) -> tuple[Wave, ...]:
    """Return the threads of a space in waves.

    A thread is in the first wave in which all threads that it waits for are done, so waves are as
    wide as the dependency allows. Threads outside the space count as done.

    Raises:
        ArgumentError: threads wait for each other in a circle, or "wavefront26z" has an odd side.
    """
    if dependency == ZIGZAG and (width % 2 or height % 2):
        raise ArgumentError(
            f"dependency: {ZIGZAG!r} needs even sides, the thread space is {width}x{height}"
        )
    space = _Space(width, height, dependency)
    waves = tuple(space.waves())
    left = width * height - sum(wave.size for wave in waves)
    if left:
        first = int(np.flatnonzero(space.pending)[0])
        raise ArgumentError(
            f"dependency: {left} threads wait for each other in a cycle, the first is thread "
            f"{(first % width, first // width)}"
        )
    return waves


class _Space:
    """How many threads each thread still waits for; `pending` is flat."""

    def __init__(self, width: int, height: int, dependency: Dependency) -> None:
        self._width, self._height = width, height
        self._rules = tuple(_rules(dependency))
        counts = np.zeros((height, width), np.int32)
        for (dx, dy), parity in self._rules:
            rows, columns = _inside(height, dy, parity, 1), _inside(width, dx, parity, 0)
            counts[np.ix_(rows, columns)] += 1
        self.pending = counts.reshape(-1)

    def waves(self) -> Iterator[Wave]:
        """Yield the waves until no thread is free."""
        wave = np.flatnonzero(self.pending == 0).astype(np.int32)
        while wave.size:
            yield wave
            wave = self._released(wave)

    def _released(self, wave: Wave) -> Wave:
        """Note that the threads of `wave` are done; return those that wait for nobody any more."""
        y, x = np.divmod(wave, self._width)
        parts: list[Wave] = []
        for (dx, dy), parity in self._rules:
            waiting_x, waiting_y = x - dx, y - dy
            fits = (waiting_x >= 0) & (waiting_x < self._width)
            fits &= (waiting_y >= 0) & (waiting_y < self._height)
            if parity is not None:
                fits &= ((waiting_x & 1) == parity[0]) & ((waiting_y & 1) == parity[1])
            waiting = (waiting_y * self._width + waiting_x)[fits]
            self.pending[waiting] -= 1
            parts.append(waiting)
        if not parts:
            return np.empty(0, np.int32)
        touched = np.concatenate(parts)
        return np.unique(touched[self.pending[touched] == 0])


def _rules(dependency: Dependency) -> Iterator[tuple[Vector, tuple[int, int] | None]]:
    """Yield each vector with the parity of the threads that have it (None: all)."""
    if dependency == ZIGZAG:
        for parity, vectors in ZIGZAG_PATTERN.items():
            for vector in vectors:
                yield vector, parity
        return
    for dx, dy in PATTERNS[dependency] if isinstance(dependency, str) else dependency:
        # Behind the largest space nobody is, however far.
        yield (max(-_FAR, min(dx, _FAR)), max(-_FAR, min(dy, _FAR))), None


def _inside(size: int, step: int, parity: tuple[int, int] | None, axis: int) -> NDArray[np.intp]:
    """Return the coordinates from which `step` leads to a coordinate inside the space."""
    places = np.arange(max(0, -step), min(size, size - step))
    return places if parity is None else places[places % 2 == parity[axis]]


__all__ = [
    "PATTERNS",
    "ZIGZAG",
    "ZIGZAG_PATTERN",
    "Dependency",
    "Wave",
    "depends_on",
    "read_dependency",
    "schedule",
]
