"""From traced effects to steps: straight-line Python over views of the register image.

Each static instruction is traced once. Its graph becomes the source of a small function. There is
a version for each floating-point mode, and one for the common case that all channels are on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine import lanes
from visim.engine.accesses import where
from visim.engine.context import Bytes
from visim.engine.expressions import ValueBuilder
from visim.sem.effects import (
    Atomic,
    Effect,
    Load,
    LoadBlock,
    Message,
    RegisterWrite,
    Request,
    Space,
    Store,
    StoreBlock,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr

Step = Callable[[], None]


class StepBuilder(ValueBuilder):
    """Writes the function of one instruction: its messages in order, then its register writes."""

    def effects(self, effects: Sequence[Effect], noted: Mapping[int, int] | None = None) -> None:
        """Write an instruction's messages in order, then its register writes.

        Args:
            effects: what the instruction does.
            noted: the numbers of sites, by the identity of effects that are noted for observers.
        """
        for effect in effects:
            if noted and id(effect) in noted:
                self._observe(effect, noted[id(effect)])
            if isinstance(effect, Message):
                self._message(effect)
        writes = [effect for effect in effects if isinstance(effect, RegisterWrite)]
        values = [(write, self.value(write.value), self.mask(write.mask)) for write in writes]
        if len(writes) > 1:
            values = [
                (write, self._own(value), mask and self._own(mask)) for write, value, mask in values
            ]
        for write, value, mask in values:
            self._write(write, value, mask)

    def _own(self, name: str) -> str:
        """Return a copy of a bare view of the image, which an earlier write might change."""
        return self.temporary(f"{name}.copy()") if name in self._views else name

    def _apart(self, name: str, written: NDArray[Any]) -> str:
        """Return a copy of a bare view of the image that overlaps what is `written`.

        NumPy copies between overlapping views of one dimension in an order that is right for equal
        strides only.
        """
        if name not in self._views:
            return name
        view = self.bound[int(name[1:])]
        is_safe = view.strides == written.strides or not np.may_share_memory(view, written)
        return name if is_safe else self.temporary(f"{name}.copy()")

    def _write(self, write: RegisterWrite, value: str, mask: str | None) -> None:
        """Write the line that stores a value into a register, for the channels of a mask."""
        match write:
            case WriteRegister(place):
                view = self.place(place)
            case WritePredicate(variable, offset):
                view = self.other(variable.name, offset, write.value.lanes, "bool")
            case WriteAddress(variable, element) | WriteState(variable, element):
                view = self.other(variable.name, element, write.value.lanes, "uint32")
            case WriteIndirect():
                reached = self.bind(self.reached(self.context.image))
                scatter, addresses = self.bind(lanes.scatter), self.value(write.addresses)
                self.lines.append(f"{scatter}({reached}, {addresses}, {value}, {mask})")
                return
        value = self._apart(value, view)
        if mask is None:
            self.lines.append(f"{self.bind(view)}[...] = {value}")
        else:
            copy = self.bind(np.copyto)
            self.lines.append(f"{copy}({self.bind(view)}, {value}, where={mask})")

    def _observe(self, effect: Effect, number: int) -> None:
        index, addresses, mask = where(effect)
        place = "0" if index is None else f"int({self.value(index)}[0])"
        lanes = None if addresses is None else self.value(addresses)
        on = self.mask(mask)
        self.lines.append(f"{self.bind(self.context)}.note({number}, {place}, {lanes}, {on})")

    def _message(self, effect: Message) -> None:
        """Write the lines that send a message; what it loads is kept for expressions."""
        context = self.bind(self.context)
        match effect:
            case Request():
                self._request(effect)
            case Load():
                call = self._memory(context, effect.space, effect.surface, "load")
                where = f"{self.value(effect.addresses)}, {self.mask(effect.mask)}"
                dtype = self.bind(np.dtype(effect.type.numpy))
                code = f"{call}{where}, {dtype}, {effect.components})"
                self._loaded[id(effect)] = self.temporary(code)
            case LoadBlock():
                self._load_block(context, effect)
            case Store():
                call = self._memory(context, effect.space, effect.surface, "store")
                where = f"{self.value(effect.addresses)}, {self.mask(effect.mask)}"
                self.lines.append(f"{call}{where}, {self._stored(effect.values)})")
            case StoreBlock():
                self._store_block(context, effect)
            case Atomic():
                self._atomic(context, effect)

    def _memory(self, context: str, space: Space, surface: Expr | None, verb: str) -> str:
        """Return the start of a call of one of a memory's methods."""
        match space:
            case Space.FLAT | Space.SHADOW:
                return f"{context}.flat.{verb}("
            case Space.SLM:
                return f"{context}.slm.{verb}("
            case Space.SCRATCH:
                return f"{context}.scratch.{verb}("
            case Space.ARGUMENT:
                return f"{context}.arguments.{verb}("
            case Space.SURFACE:
                index = self.value(surface) if surface is not None else "[0]"
                return f"{context}.surfaces.{verb}(int({index}[0]), "

    def _stored(self, values: tuple[Expr, ...]) -> str:
        names = [self.value(value) for value in values]
        if len(names) == 1:
            return names[0]
        stack = self.bind(_columns)
        return f"{stack}(({', '.join(names)})), {len(names)}"

    def _load_block(self, context: str, effect: LoadBlock) -> None:
        size = effect.count * effect.type.bytes
        call = self._memory(context, effect.space, effect.surface, "load_block")
        code = f"{call}int({self.value(effect.address)}[0]), {size})"
        mask = self.mask(effect.mask)
        if mask is not None:
            zeros = self.bind(np.zeros(size, np.uint8))
            code = f"({code} if {mask}[0] else {zeros})"
        dtype = self.bind(np.dtype(effect.type.numpy))
        self._loaded[id(effect)] = self.temporary(f"{code}.view({dtype})")

    def _store_block(self, context: str, effect: StoreBlock) -> None:
        call = self._memory(context, effect.space, effect.surface, "store_block")
        octets = f"{self.bind(_octets)}({self.value(effect.value)})"
        code = f"{call}int({self.value(effect.address)}[0]), {octets})"
        mask = self.mask(effect.mask)
        self.lines.append(code if mask is None else f"if {mask}[0]: {code}")

    def _atomic(self, context: str, effect: Atomic) -> None:
        operation = self.bind(effect.operation)
        where = f"{self.value(effect.addresses)}, {self.mask(effect.mask)}"
        dtype = self.bind(np.dtype(effect.type.numpy))
        operands = "".join(f", {self.value(operand)}" for operand in effect.operands)
        call = self._memory(context, effect.space, effect.surface, "atomic")
        self._loaded[id(effect)] = self.temporary(f"{call}{operation}, {where}, {dtype}{operands})")

    # Samplers and typed surfaces

    def _request(self, effect: Request) -> None:
        context, operation = self.bind(self.context), self.bind(effect.operation)
        index = f"int({self.value(effect.surface)}[0])"
        sampler = None if effect.sampler is None else f"int({self.value(effect.sampler)}[0])"
        values = "".join(f"{self.value(value)}, " for value in effect.values)
        where = f"{index}, {sampler}, ({values}), {self.mask(effect.mask)}"
        code = f"{context}.surfaces.request({operation}, {where})"
        if effect.operation.columns:
            self._loaded[id(effect)] = self.temporary(code)
        else:
            self.lines.append(code)


def _columns(values: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    return np.stack(values, axis=1)


def _octets(value: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(value).view(np.uint8)
