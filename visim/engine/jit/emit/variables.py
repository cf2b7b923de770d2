"""Variables in memory: what a thread starts with, and those whose addresses are taken.

They are where the writers of traced graphs have them (`ir.storage`).
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.ir.storage import Storage, bits_vector, vector_bits
from visim.engine.jit.ir.text import scalar_type
from visim.engine.jit.lift.state import CONTROL
from visim.engine.jit.lift.webs import Variable, variable_of
from visim.engine.jit.mir.attributes import Bank, Home
from visim.engine.jit.mir.values import Value
from visim.errors import InternalError
from visim.operands import General
from visim.types import BOOL, DataType

_MOST_SPARSE = 4
"""Elements are read and written one by one where they have more than so many times their number."""


class VariableWriter:
    """Reads and writes elements of the variables of one unit."""

    def __init__(self, storage: Storage, flow: Flow) -> None:
        self.storage = storage
        self.text = storage.text
        places = (place for node in flow.nodes.values() for place in node.block.places)
        self._generals: dict[Variable, General] = {
            variable_of(place): place.variable for place in (CONTROL, *places)
        }

    def read(self, home: Home, kind: DataType) -> str:
        """Return the elements of a home as a vector."""
        lanes = len(home.places)
        if home.bank is Bank.GENERAL:
            return self._read_general(home, kind)
        first = _first(home)
        if home.bank is Bank.PREDICATE:
            bits = self.storage.load_bits(home.name)
            return bits_vector(self.text, bits, first, lanes)
        pointer = self.storage.element(home.name, first, lanes)
        return self.text.let(f"load <{lanes} x i32>, ptr {pointer}, align 4")

    def write(self, home: Home, value: Value, name: str, mask: str | None) -> None:
        """Write a vector to a home, in the lanes of a mask (None: all)."""
        lanes = len(home.places)
        match home.bank:
            case Bank.GENERAL:
                self._write_general(home, value, name, mask)
            case Bank.PREDICATE if mask is None:
                bits = vector_bits(self.text, name, lanes)
                self.storage.write_bits(home.name, _first(home), lanes, bits, None)
            case Bank.ADDRESS | Bank.STATE if mask is None:
                pointer = self.storage.element(home.name, _first(home), lanes)
                self.text.do(f"store <{lanes} x i32> {name}, ptr {pointer}, align 4")
            case _:
                raise InternalError(f"some lanes of {home.name} in memory")

    def _pointer(self, home: Home, offset: int) -> str:
        return self.storage.pointer(self._generals[home.variable], offset)

    def _read_general(self, home: Home, kind: DataType) -> str:
        text, scalar, lanes = self.text, scalar_type(kind), len(home.places)
        low, span = min(home.places), _span(home.places, kind.bytes)
        if span is not None:
            count, picks = span
            pointer = self._pointer(home, low)
            found = text.let(f"load <{count} x {scalar}>, ptr {pointer}, align 1")
            return text.shuffle(scalar, count, found, picks)
        vector = "poison"
        for lane, place in enumerate(home.places):
            one = text.let(f"load {scalar}, ptr {self._pointer(home, place)}, align 1")
            put = f"<{lanes} x {scalar}> {vector}, {scalar} {one}, i64 {lane}"
            vector = text.let(f"insertelement {put}")
        return vector

    def _write_general(self, home: Home, value: Value, name: str, mask: str | None) -> None:
        kind = value.type
        if kind is None or kind is BOOL:
            raise InternalError("a register gets what is no number")
        text, scalar, lanes = self.text, scalar_type(kind), value.lanes
        vector, low = f"<{lanes} x {scalar}>", min(home.places)
        if home.places == tuple(range(low, low + lanes * kind.bytes, kind.bytes)):
            pointer = self._pointer(home, low)
            if mask is not None:
                old = text.let(
                    f"freeze {vector} {text.let(f'load {vector}, ptr {pointer}, align 1')}"
                )
                name = text.let(f"select <{lanes} x i1> {mask}, {vector} {name}, {vector} {old}")
            text.do(f"store {vector} {name}, ptr {pointer}, align 1")
            return
        for lane, place in enumerate(home.places):  # Of lanes that share bytes the last one stays.
            pointer = self._pointer(home, place)
            one = text.let(f"extractelement {vector} {name}, i64 {lane}")
            if mask is not None:
                bit = text.let(f"extractelement <{lanes} x i1> {mask}, i64 {lane}")
                old = text.let(f"load {scalar}, ptr {pointer}, align 1")
                one = text.let(f"select i1 {bit}, {scalar} {one}, {scalar} {old}")
            text.do(f"store {scalar} {one}, ptr {pointer}, align 1")


def _first(home: Home) -> int:
    """Return the first of successive elements of a variable that is no general one."""
    first = home.places[0]
    if home.places != tuple(range(first, first + len(home.places))):
        raise InternalError(f"elements of {home.name} that are not successive")
    return first


def _span(places: Sequence[int], size: int) -> tuple[int, list[int]] | None:
    """Return how many elements have all places, and which they are, if these are dense."""
    low = min(places)
    if any((place - low) % size for place in places):
        return None
    picks = [(place - low) // size for place in places]
    count = max(picks) + 1
    return None if count > _MOST_SPARSE * len(places) else (count, picks)


__all__ = ["VariableWriter"]
