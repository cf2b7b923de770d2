"""Shapes of a kernel's inputs: local ids count up in rows, which a launch can look up.

What is compiled in is compared with the registers that the threads of a launch start with, so
nothing is assumed about where local ids stand or how they are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visim.engine.base import SharedStarts, ThreadStart
from visim.engine.jit.analysis.affine import InputShape
from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.analysis.lanes import Row, row_of
from visim.engine.jit.analysis.slots import is_integer, reads
from visim.linker.program import LinkedKernel
from visim.sem.effects import WriteRegister

_MOST_PIECES = 4
_MOST_KNOWN = 64


class InputRow(NamedTuple):
    """A row that a kernel reads, and the channel of lane 0 where its lanes are of channels."""

    row: Row
    channel: int


def input_rows(kernel: LinkedKernel, flow: Flow) -> tuple[InputRow, ...]:
    """Return the rows of input variables that a kernel reads and never writes."""
    inputs = {entry.variable.index for entry in kernel.kernel.inputs}
    inputs -= kernel.reached(kernel.units[0])
    found: dict[Row, set[int]] = {}
    written: set[int] = set()
    for node in flow.nodes.values():
        effects = [effect for step in node.block.steps for effect in step.effects]
        written |= {e.place.variable.index for e in effects if isinstance(e, WriteRegister)}
        for place, channel in (one for effect in effects for one in reads(effect)):
            row = row_of(place) if is_integer(place.type) else None
            if row is not None and row.variable in inputs:
                found.setdefault(row, set()).update([] if channel is None else [channel])
    return tuple(
        InputRow(row, min(channels, default=0))
        for row, channels in sorted(found.items(), key=str)
        if row.variable not in written
    )


class Inputs:
    """Looks up the shapes of a kernel's inputs; those of a launch like an earlier one are known.

    Args:
        kernel: the kernel.
        rows: what its threads find in inputs that may have a shape.
    """

    def __init__(self, kernel: LinkedKernel, rows: Sequence[InputRow]) -> None:
        variables = {one.index: one for one in kernel.units[0].unit.generals}
        first = kernel.units[0]
        self._rows = [
            (one, kernel.offset(first, variables[one.row.variable]) + one.row.offset)
            for one in rows
        ]
        self._known: dict[object, tuple[InputShape, ...]] = {}
        self._last: tuple[tuple[ThreadStart, ...], tuple[InputShape, ...]] = (), ()

    def shapes(self, shared: SharedStarts) -> tuple[InputShape, ...]:
        """Return the shapes that rows have in every thread of a dispatch.

        Arguments have none: what is compiled in would be compiled for each value of theirs.
        """
        starts, shapes = self._last
        if shared.starts is starts:
            return shapes
        parts = [_part(shared.starts, place, one.row) for one, place in self._rows]
        masks = tuple(start.mask for start in shared.starts)
        known = masks, tuple(parts)
        if known not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[known] = self._looked_up(np.array(masks, np.uint64), parts)
        self._last = shared.starts, self._known[known]
        return self._known[known]

    def _looked_up(
        self, masks: NDArray[np.uint64], parts: Sequence[_Part | None]
    ) -> tuple[InputShape, ...]:
        found: list[InputShape] = []
        for (one, _), part in zip(self._rows, parts, strict=True):
            if part is None:
                continue
            channels = np.arange(one.channel, one.channel + one.row.lanes, dtype=np.uint64)
            active = (masks[:, None] >> channels & np.uint64(1)).astype(np.bool_)
            shape = _shape(one, _values(part, one.row), active)
            if shape is not None:
                found.append(shape)
        return tuple(found)


_Part = tuple[int, tuple[bytes, ...]]
"""Where a row begins in registers that threads start with, and what each thread finds there."""


def _part(starts: Sequence[ThreadStart], place: int, row: Row) -> _Part | None:
    numbers = _holding(starts[0].registers, place, row)
    if not numbers:
        return None
    first = [starts[0].registers[number] for number in numbers]
    found: list[bytes] = []
    for start in starts:
        parts = [start.registers[number] for number in numbers]
        if any(_span(one) != _span(other) for one, other in zip(parts, first, strict=True)):
            return None
        found.append(b"".join(data for _, data in parts))
    return place - first[0][0], tuple(found)


def _span(register: tuple[int, bytes]) -> tuple[int, int]:
    offset, data = register
    return offset, len(data)


def _holding(registers: Sequence[tuple[int, bytes]], place: int, row: Row) -> list[int]:
    """Return the number of the first register that has all of a row, or of two that have halves."""
    end = place + row.end - row.offset
    spans = [(offset, offset + len(data)) for offset, data in registers]
    for number, (offset, behind) in enumerate(spans):
        if offset <= place and end <= behind:
            return [number]
    for number, (offset, middle) in enumerate(spans):
        if offset <= place < middle:
            seconds = [n for n, (at, behind) in enumerate(spans) if at == middle and end <= behind]
            if seconds:
                return [number, seconds[0]]
    return []


def _values(part: _Part, row: Row) -> NDArray[np.int64]:
    """Return what a row holds when each thread starts: [thread, lane]."""
    delta, data = part
    table = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), -1)
    picks = np.arange(row.lanes)[:, None] * row.stride + np.arange(row.size) + delta
    return table[:, picks].copy().view(f"<u{row.size}")[:, :, 0].astype(np.int64)


def _shape(
    found: InputRow, values: NDArray[np.int64], active: NDArray[np.bool_]
) -> InputShape | None:
    row, thread = found.row, int(active[:, :2].all(axis=1).argmax())
    step = int(values[thread, 1] - values[thread, 0])
    piece = row.lanes
    while piece >= 4 and row.lanes // piece <= _MOST_PIECES:
        blocks = values.reshape(len(values), -1, piece)
        wanted = blocks[:, :, :1] + step * np.arange(piece)
        same = (blocks == wanted) | ~active.reshape(blocks.shape)
        if bool(same.all()):
            starts = [one.tobytes() for one in blocks[:, :, 0].T]
            alike = tuple(map(starts.index, starts))
            return InputShape(row, piece, step, alike, found.channel)
        piece //= 2
    return None
