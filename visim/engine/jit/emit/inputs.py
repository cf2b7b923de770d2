"""What a launch says of the rows that threads start with, as facts of MIR."""

from __future__ import annotations

from visim.engine.jit.mir.attributes import Bank, Home
from visim.engine.jit.mir.facts import Fact, anything
from visim.engine.jit.mir.ops import OPS
from visim.engine.jit.mir.values import Function, Value
from visim.engine.jit.writing.versions import Version

_START = OPS["start"]


def rows_of(function: Function, version: Version) -> dict[Value, Fact]:
    """Return the inputs whose lanes differ by a step in every thread, which do not wrap.

    Where threads start with some channels only, lanes of others may differ; then none are known.
    """
    if not version.full:
        return {}
    steps = {
        (one.row.variable, one.row.size, _places(one.row.offset, one.row.stride, one.piece)): one
        for one in version.inputs
        if one.piece == one.row.lanes
    }
    found: dict[Value, Fact] = {}
    for value in function.entry.body if steps else ():
        home, kind = value.attribute, value.type
        if value.op is not _START or kind is None or kind.is_float or not isinstance(home, Home):
            continue
        row = steps.get((home.index, kind.bytes, home.places))
        if row is not None and home.bank is Bank.GENERAL:
            found[value] = anything(kind, value.lanes)._replace(step=row.step)
    return found


def _places(first: int, stride: int, lanes: int) -> tuple[int, ...]:
    return tuple(first + lane * stride for lane in range(lanes))


__all__ = ["rows_of"]
