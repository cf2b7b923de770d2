"""Lane-wise expressions cut to fewer channels: strips of some, or one alone.

What a cut expression reads of rows and predicates is what its channels have of them, in the code
around it; what is the same for all channels stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from visim.engine.jit.analysis.lanes import Row, row_of
from visim.engine.jit.analysis.lanewise import Bits
from visim.engine.jit.ir.places import is_repeated
from visim.engine.jit.ir.storage import Storage
from visim.engine.jit.ir.text import Text, scalar_type
from visim.engine.jit.writing.values import Values
from visim.errors import InternalError
from visim.sem.effects import Place
from visim.sem.expr import Expr
from visim.sem.uops import UOPS
from visim.types import BOOL, DataType


class Channels(Protocol):
    """Some channels while code for them is written: what they have of variables."""

    @property
    def strip(self) -> int:
        """How many channels they are."""
        ...

    def execution(self) -> str:
        """Return which of them are active."""
        ...

    def predicate(self, bits: Bits) -> str:
        """Return their bits of a predicate."""
        ...

    def row(self, row: Row) -> str:
        """Return their elements of a row as integers."""
        ...


def place_row(place: Place) -> Row:
    """Return the row that a place of lane-wise code is; it has no other places."""
    row = row_of(place)
    if row is None:
        raise InternalError(f"lane-wise code with a place that is not a row: {place}")
    return row


def from_integers(text: Text, vector: str, kind: DataType, lanes: int) -> str:
    """Return integers as elements of a type of the same width."""
    scalar = scalar_type(kind)
    if not kind.is_float or scalar.startswith("i"):
        return vector
    return text.let(f"bitcast <{lanes} x i{kind.bits}> {vector} to <{lanes} x {scalar}>")


def as_integers(text: Text, vector: str, kind: DataType, lanes: int) -> str:
    """Return elements of a type as integers of the same width."""
    scalar = scalar_type(kind)
    if scalar.startswith("i"):
        return vector
    return text.let(f"bitcast <{lanes} x {scalar}> {vector} to <{lanes} x i{kind.bits}>")


def put_row(storage: Storage, place: Place, buffer: str, *, singly: bool = False) -> None:
    """Put a row to memory that code for some of its channels can index, or `singly` for one."""
    text, scalar = storage.text, f"i{place.type.bits}"
    found = as_integers(text, storage.read(place), place.type, place.lanes)
    if singly:
        text.hand_over(scalar, place.lanes, found, buffer)
    else:
        text.do(f"store <{place.lanes} x {scalar}> {found}, ptr {buffer}, align 64")


def take_row(storage: Storage, place: Place, buffer: str) -> None:
    """Write a row from memory back to its variable."""
    text, kind = storage.text, f"<{place.lanes} x i{place.type.bits}>"
    found = text.let(f"load {kind}, ptr {buffer}, align 64")
    storage.write(place, from_integers(text, found, place.type, place.lanes), None)


@dataclass
class Cutter:
    """The expressions of one instruction, cut to some channels."""

    channels: Channels
    values: Values
    _cuts: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])

    def value(self, expr: Expr) -> str:
        """Return the channels' part of a value."""
        return self.values.value(self._cut(expr))

    def mask(self, mask: Expr | None) -> str | None:
        """Return the channels' part of a mask; None: all of them."""
        found = None if mask is None else self._needed(mask)
        return None if found is None else self.value(found)

    def need(self, masks: Iterable[Expr | None]) -> None:
        """Note for which channels the values are that are asked for from now on."""
        found = [None if mask is None else self._needed(mask) for mask in set(masks)]
        self.values.need(None if mask is None else self._cut(mask) for mask in found)

    def _needed(self, mask: Expr) -> Expr | None:
        """Return a mask without what is known to be on."""
        values = self.values
        if mask.uop.name == "execution" and values.full and mask.lanes <= values.simd:
            return None
        if mask.uop.name != "and":
            return mask
        left, right = (self._needed(arg) for arg in mask.args)
        if left is None or right is None:
            return right if left is None else left
        return mask

    def _cut(self, expr: Expr) -> Expr:
        found = self._cuts.get(expr)
        if found is None:
            found = self._cuts[expr] = self._new(expr)
        return found

    def _new(self, expr: Expr) -> Expr:
        channels, lanes = self.channels, self.channels.strip
        match expr.uop.name:
            case "execution":
                return self._known(BOOL, channels.execution())
            case "predicate":
                variable, offset = expr.attribute
                return self._known(BOOL, channels.predicate((variable.name, offset)))
            case "read":
                return self._read(expr.attribute)
            case "loaded":
                loaded: tuple[object, int] = expr.attribute
                return self._known(expr.type, self.values.loaded[id(loaded[0])][loaded[1]])
            case "broadcast":
                return Expr(expr.uop, expr.type, lanes, expr.args)
            case _:
                args = tuple(map(self._cut, expr.args))
                return Expr(expr.uop, expr.type, lanes, args, expr.attribute)

    def _read(self, place: Place) -> Expr:
        lanes = self.channels.strip
        if is_repeated(place):
            narrow = replace(place, lanes=lanes, width=lanes, row_stride=0, stride=0)
            return Expr(UOPS["read"], place.type, lanes, (), narrow)
        found = self.channels.row(place_row(place))
        return self._known(place.type, from_integers(self.values.text, found, place.type, lanes))

    def _known(self, kind: DataType, name: str) -> Expr:
        leaf = Expr(UOPS["loaded"], kind, self.channels.strip)
        self.values.know(leaf, name)
        return leaf
