"""The steps that move taint: for each instruction what its effects do to the shadows.

A step runs before the one that executes the instruction, so it finds the registers as the
instruction does. The shadow of the register image is a byte for each byte, not zero where an
inexact value is. Taint goes from every operand to the result, also from predicates, which choose
what a result is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from visim.engine import lanes
from visim.engine.context import Context
from visim.engine.modes import FloatMode
from visim.engine.plan import StepBuilder
from visim.engine.taint import Reached, Sink, Tracker
from visim.isa import Instruction
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import (
    Atomic,
    CallFunction,
    Effect,
    Jump,
    Load,
    LoadBlock,
    Message,
    Place,
    RegisterWrite,
    Request,
    Space,
    Store,
    StoreBlock,
    Switch,
    Transfer,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr
from visim.sem.requests import BlockLoad, BlockStore, SampleQuery, SizeQuery, TexelStore
from visim.sem.uops import Group

_ADDRESSES = ("surface", "sampler", "addresses", "address")
_CLEAN = {"constant", "vector", "execution", "address", "function", "clock"}


def is_inexact(instruction: Instruction) -> bool:
    """Whether an instruction's results are worth less than bit-exact."""
    destination: Any = getattr(instruction, "dst", None)
    variable = getattr(destination, "variable", destination)
    kind = getattr(variable, "type", None)
    return not instruction.op.worth(getattr(kind, "name", "")).is_exact


class TaintWriter(StepBuilder):
    """Writes the function that moves the taint of one instruction."""

    def __init__(
        self,
        kernel: LinkedKernel,
        unit: LinkedUnit,
        context: Context,
        mode: FloatMode,
        tracker: Tracker,
        instruction: Instruction,
        *,
        full: bool,
    ) -> None:
        super().__init__(kernel, unit, context, mode, full=full)
        self._tracker = self.bind(tracker)
        self._instruction = instruction
        self._inexact = is_inexact(instruction)
        self._shadow_image = context.whole[context.image.size :]
        self._taints: dict[Expr, str | None] = {}
        self._loaded_taints: dict[int, tuple[str, int]] = {}

    def move(self, effects: Sequence[Effect]) -> None:
        """Write what all effects of an instruction do to the shadows."""
        for effect in effects:
            if isinstance(effect, Message):
                self._note_addresses(effect)
                self._message_taint(effect)
            elif isinstance(effect, Transfer):
                self._transfer_taint(effect)
        writes = [effect for effect in effects if isinstance(effect, RegisterWrite)]
        taints = [self._written(write) for write in writes]
        for write, taint in zip(writes, taints, strict=True):
            self._mark(write, taint)

    # Taint of values

    def taint(self, expr: Expr | None) -> str | None:
        """Return the name of an expression's taints, a boolean a lane; None when it has none."""
        if expr is None:
            return None
        if expr not in self._taints:
            is_leaf = expr.uop.group is Group.LEAF
            self._taints[expr] = self._leaf_taint(expr) if is_leaf else self._result_taint(expr)
        return self._taints[expr]

    def _leaf_taint(self, expr: Expr) -> str | None:
        """Return the taints of what an expression reads: its bytes in the shadow that are not 0."""
        name = expr.uop.name
        if name in _CLEAN:
            return None
        match name:
            case "read":
                return self._tainted(self._shadow(expr.attribute))
            case "predicate":
                variable, offset = expr.attribute
                return self._tainted(self._shadow_other(variable.name, offset, expr.lanes, 1))
            case "addresses" | "state":
                variable, element = expr.attribute
                return self._tainted(self._shadow_other(variable.name, element, expr.lanes, 4))
            case "fused":
                return self._fused_taint(expr)
            case "gather":
                self._note(Sink.ADDRESS, self.taint(expr.args[0]), None)
                call, image = self.bind(lanes.gather), self.bind(self.reached(self._shadow_image))
                dtype = self.bind(np.dtype(f"u{np.dtype(expr.type.numpy).itemsize}"))
                found = self.temporary(f"{call}({image}, {self.value(expr.args[0])}, {dtype}) != 0")
                return self._either(found, self.taint(expr.args[0]))
            case _:
                effect, component = expr.attribute
                found, components = self._loaded_taints[id(effect)]
                return f"{found}[:, {component}]" if components > 1 else found

    def _fused_taint(self, expr: Expr) -> str:
        thread, place = expr.attribute
        size = np.dtype(place.type.numpy).itemsize
        start = self.kernel.offset(self.unit, place.variable) + place.offset
        start += self.context.image.size
        image = f"{self.bind(self.context)}.fused[{thread}]"
        dtype = self.bind(np.dtype(f"u{size}"))
        return self.temporary(f"{image}[{start}:{start + place.lanes * size}].view({dtype}) != 0")

    def _result_taint(self, expr: Expr) -> str | None:
        """Return the taints of a result: a lane is tainted if that lane of an operand is."""
        taints = [self.taint(arg) for arg in expr.args]
        if not any(taints):
            return None
        match expr.uop.name:
            case "broadcast":
                return self.temporary(f"{taints[0]}.repeat({expr.lanes})")
            case "take":
                index = self.bind(np.array(expr.attribute, np.intp))
                return self.temporary(f"{taints[0]}[{index}]")
            case "any" | "all" | "mask_bits":
                return self.temporary(f"{self.bind(np.full)}({expr.lanes}, {taints[0]}.any())")
            case "concat":
                pairs = zip(expr.args, taints, strict=True)
                parts = [taint or self._clean(arg.lanes) for arg, taint in pairs]
                return self.temporary(f"{self.bind(lanes.concat)}({', '.join(parts)})")
            case _:
                return self._either(*taints)

    def _clean(self, count: int) -> str:
        return self.bind(np.zeros(count, np.bool_))

    def _either(self, *taints: str | None) -> str | None:
        names = [taint for taint in taints if taint is not None]
        return self.temporary(" | ".join(names)) if len(names) > 1 else next(iter(names), None)

    # The shadow of the register image

    def _shadow(self, place: Place) -> Any:
        return self.place(place, self._shadow_image)

    def _shadow_other(self, name: str, element: int, count: int, size: int) -> Any:
        start = self.unit.others[name] + element * size
        return self._shadow_image[start : start + count * size].view(f"u{size}")

    def _tainted(self, view: Any) -> str:
        flat = ".ravel()" if view.ndim > 1 else ""
        return self.temporary(f"({self.bind(view)} != 0){flat}")

    def _written(self, write: RegisterWrite) -> str | None:
        if isinstance(write, WriteIndirect):
            self._note(Sink.ADDRESS, self.taint(write.addresses), write.mask)
        if self._inexact:
            return self.bind(np.ones(write.value.lanes, np.bool_))
        found = self._either(self.taint(write.value), self.taint(write.mask))
        if isinstance(write, WriteIndirect):
            found = self._either(found, self.taint(write.addresses))
        return found

    def _mark(self, write: RegisterWrite, taint: str | None) -> None:
        """Write the taint of a result where the result goes."""
        count, mask = write.value.lanes, self.mask(write.mask)
        match write:
            case WriteRegister(place):
                view = self._shadow(place)
            case WritePredicate(variable, offset):
                view = self._shadow_other(variable.name, offset, count, 1)
            case WriteAddress(variable, element) | WriteState(variable, element):
                view = self._shadow_other(variable.name, element, count, 4)
            case WriteIndirect():
                size = np.dtype(write.value.type.numpy).itemsize
                value = self._filled(taint or self._clean(count), size)
                call, image = self.bind(lanes.scatter), self.bind(self.reached(self._shadow_image))
                where = self.value(write.addresses)
                self.lines.append(f"{call}({image}, {where}, {value}, {mask})")
                return
        value = "0" if taint is None else self._filled(taint, view.itemsize)
        where = "" if mask is None else f", where={mask}"
        self.lines.append(f"{self.bind(np.copyto)}({self.bind(view)}, {value}{where})")

    def _filled(self, taint: str, size: int) -> str:
        """Return taints as elements all of whose bytes say so."""
        ones = np.dtype(f"u{size}").type(int.from_bytes(b"\x01" * size, "little"))
        return self.temporary(f"{taint} * {self.bind(ones)}")

    # Sinks

    def _note(self, sink: Sink, taint: str | None, mask: Expr | None) -> None:
        if taint is None:
            return
        origin = self._instruction.origin
        file = getattr(getattr(origin, "source", None), "name", None)
        line = getattr(origin, "line", None)
        reached = self.bind(Reached(sink, self._instruction.show(), file, line))
        enabled = self.mask(mask)
        self.lines.append(f"{self._tracker}.note({reached}, {taint}, {enabled})")

    def _note_addresses(self, effect: Message) -> None:
        for name in _ADDRESSES:
            found: tuple[Expr, ...] | Expr | None = getattr(effect, name, None)
            mask: Expr | None = getattr(effect, "mask", None)
            for expr in found if isinstance(found, tuple) else (found,):
                if expr is not None:
                    self._note_address(expr, mask)
        if isinstance(effect, Request):
            for value in effect.places:
                self._note_address(value, effect.mask)

    def _note_address(self, expr: Expr, mask: Expr | None) -> None:
        same = mask if mask is not None and expr.lanes == mask.lanes else None
        self._note(Sink.ADDRESS, self.taint(expr), same)

    def _transfer_taint(self, effect: Transfer) -> None:
        match effect:
            case Jump(_, condition):
                self._note(Sink.BRANCH, self.taint(condition), None)
            case Switch(_, index):
                self._note(Sink.BRANCH, self.taint(index), None)
            case CallFunction(_, target, _, mask):
                self._note(Sink.BRANCH, self.taint(target), None)
                self._note(Sink.BRANCH, self.taint(mask), None)
            case _:
                self._note(Sink.BRANCH, self.taint(effect.mask), None)

    # Memory

    def _message_taint(self, effect: Message) -> None:
        """Move taints between the shadows of registers and memory as a message moves values."""
        match effect:
            case Load():
                self._load(effect, effect.addresses, effect.type.bytes, effect.components)
            case LoadBlock():
                start = f"{self.value(effect.address)}[0]"
                self._load(effect, effect.address, effect.type.bytes, 1, start, effect.count)
            case Store():
                size = effect.values[0].type.bytes
                self._store(effect, self.value(effect.addresses), size, effect.values)
            case StoreBlock():
                size, count = effect.value.type.bytes, effect.value.lanes
                steps = self.bind(np.arange(count, dtype=np.uint64) * size)
                address = self.value(effect.address)
                self._store(effect, f"({steps} + {address}[0])", size, (effect.value,))
            case Atomic():
                self._load(effect, effect.addresses, effect.type.bytes, 1)
                before, _ = self._loaded_taints[id(effect)]
                operands = [self.taint(operand) for operand in effect.operands]
                after = self._either(before, *operands)
                self._put(effect, self.value(effect.addresses), effect.type.bytes, (after,))
            case _:
                self._request(effect)

    def _where(self, effect: Load | LoadBlock | Store | StoreBlock | Atomic) -> str:
        surface = effect.surface
        index = f"int({self.value(surface)}[0])" if surface is not None else "0"
        return f"{self.bind(effect.space)}, {index}"

    def _load(
        self,
        effect: Load | LoadBlock | Atomic,
        addresses: Expr,
        size: int,
        components: int,
        start: str | None = None,
        count: int = 0,
    ) -> None:
        if start is None:
            where, mask, lanes_count = self.value(addresses), self.mask(effect.mask), 0
        else:
            steps = self.bind(np.arange(count, dtype=np.uint64) * size)
            where, mask, lanes_count = f"({steps} + {start})", None, count
        call = f"{self._tracker}.load({self._where(effect)}, {where}, {mask}, {size}, {components})"
        found = self.temporary(call)
        chosen = self.taint(addresses)
        if chosen is not None:
            spread = f"{chosen}.repeat({lanes_count})" if lanes_count else chosen
            column = f"{spread}[:, None]" if components > 1 else spread
            found = self.temporary(f"{found} | {column}")
        self._loaded_taints[id(effect)] = (found, components)

    def _store(
        self, effect: Store | StoreBlock, where: str, size: int, values: Sequence[Expr]
    ) -> None:
        self._put(effect, where, size, tuple(self.taint(value) for value in values))

    def _put(
        self,
        effect: Store | StoreBlock | Atomic,
        where: str,
        size: int,
        taints: tuple[str | None, ...],
    ) -> None:
        """Taint memory; what goes to flat memory or to a surface is output."""
        chosen = self.taint(effect.mask)
        if not isinstance(effect, StoreBlock):
            taints = tuple(self._either(taint, chosen) for taint in taints)
        if effect.space in {Space.FLAT, Space.SURFACE}:
            mask = None if isinstance(effect, StoreBlock) else effect.mask
            self._note(Sink.OUTPUT, self._either(*taints), mask)
        enabled = None if isinstance(effect, StoreBlock) else self.mask(effect.mask)
        columns = "".join(f"{taint}, " for taint in taints)
        code = (
            f"{self._tracker}.store({self._where(effect)}, {where}, {enabled}, {size}, ({columns}))"
        )
        self.lines.append(code)

    def _request(self, effect: Request) -> None:
        """Move taint through an image, which is tainted as a whole."""
        operation, data = effect.operation, effect.content
        index = f"int({self.value(effect.surface)}[0])"
        if data:
            mask = effect.mask if isinstance(operation, TexelStore) else None
            self._image_store(index, self._either(*map(self.taint, data)), mask)
        if isinstance(operation, TexelStore | BlockStore):
            return
        if isinstance(operation, BlockLoad):
            count, chosen = operation.width * operation.height, None
        else:
            count = effect.values[0].lanes
            chosen = self._either(*map(self.taint, effect.places))
        if isinstance(operation, SizeQuery | SampleQuery):
            found = self.bind(np.zeros(count, np.bool_))
        else:
            found = self.temporary(f"{self._tracker}.load_image({index}, {count})")
            found = found if chosen is None else self.temporary(f"{found} | {chosen}")
        columns = operation.columns
        if columns > 1:
            found = self.temporary(f"{found}[:, None].repeat({columns}, axis=1)")
        self._loaded_taints[id(effect)] = (found, columns)

    def _image_store(self, index: str, taint: str | None, mask: Expr | None) -> None:
        if taint is not None:
            self._note(Sink.OUTPUT, taint, mask)
            self.lines.append(f"{self._tracker}.store_image({index}, {taint})")


__all__ = ["TaintWriter", "is_inexact"]
