"""Shapes of a kernel's inputs: local ids count up in rows, which a launch can look up.

What is compiled in is compared with the registers that the threads of a launch start with, so
nothing is assumed about where local ids stand or how they are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visim.engine.base import SharedStarts, ThreadStart
from visim.engine.jit.affine import InputShape, is_integer
from visim.engine.jit.blocks import expressions
from visim.engine.jit.flow import Flow
from visim.engine.jit.slots import Row, row_of
from visim.linker.program import LinkedKernel
from visim.sem.effects import WriteRegister

_MOST_PIECES = 4


def input_rows(kernel: LinkedKernel, flow: Flow) -> tuple[Row, ...]:
    """Return the rows of input variables that a kernel reads and never writes."""
    inputs = {entry.variable.index for entry in kernel.kernel.inputs}
    found: set[Row] = set()
    written: set[int] = set()
    for node in flow.nodes.values():
        effects = [effect for step in node.block.steps for effect in step.effects]
        written |= {e.place.variable.index for e in effects if isinstance(e, WriteRegister)}
        for expr in expressions(effects):
            if expr.uop.name == "read" and is_integer(expr.type):
                row = row_of(expr.attribute)
                if row is not None and row.variable in inputs:
                    found.add(row)
    return tuple(sorted((row for row in found if row.variable not in written), key=str))


def input_shapes(
    kernel: LinkedKernel, rows: Sequence[Row], shared: SharedStarts
) -> tuple[InputShape, ...]:
    """Return the shapes that rows have in every thread of a dispatch."""
    if not rows:
        return ()
    lanes = np.arange(max(row.lanes for row in rows))
    masks = np.array([start.mask for start in shared.starts], np.uint64)
    active = (masks[:, None] >> lanes.astype(np.uint64) & np.uint64(1)).astype(np.bool_)
    variables = {one.index: one for one in kernel.units[0].unit.generals}
    found: list[InputShape] = []
    for row in rows:
        place = kernel.offset(kernel.units[0], variables[row.variable]) + row.offset
        values = _values(shared.starts, place, row)
        shape = None if values is None else _shape(row, values, active[:, : row.lanes])
        if shape is not None:
            found.append(shape)
    return tuple(found)


def _values(starts: Sequence[ThreadStart], place: int, row: Row) -> NDArray[np.int64] | None:
    """Return what a row holds when each thread starts: [thread, lane]."""
    for number, (offset, data) in enumerate(starts[0].registers):
        delta, end = place - offset, place - offset + row.end - row.offset
        if delta < 0 or end > len(data):
            continue
        parts = [start.registers[number] for start in starts]
        if any(part[0] != offset or len(part[1]) != len(data) for part in parts):
            return None
        octets = np.frombuffer(b"".join(part[1] for part in parts), np.uint8)
        table = octets.reshape(len(parts), len(data))[:, delta:end]
        picks = np.arange(row.lanes)[:, None] * row.stride + np.arange(row.size)
        return table[:, picks].copy().view(f"<u{row.size}")[:, :, 0].astype(np.int64)
    return None


def _shape(row: Row, values: NDArray[np.int64], active: NDArray[np.bool_]) -> InputShape | None:
    step = int(values[0, 1] - values[0, 0])
    piece = row.lanes
    while piece >= 4 and row.lanes // piece <= _MOST_PIECES:
        blocks = values.reshape(len(values), -1, piece)
        wanted = blocks[:, :, :1] + step * np.arange(piece)
        same = (blocks == wanted) | ~active.reshape(blocks.shape)
        if bool(same.all()):
            return InputShape(row, piece, step)
        piece //= 2
    return None
