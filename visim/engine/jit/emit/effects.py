"""Operations with effects as LLVM IR: one lowering for each, none left out.

Messages are written by the writers of traced graphs' messages, with the shapes that facts give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import StaticBlock
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.emit.errors import NotEmitted
from visim.engine.jit.emit.values import MirValues, kind_of
from visim.engine.jit.emit.variables import VariableWriter
from visim.engine.jit.ir.storage import vector_bits
from visim.engine.jit.ir.text import scalar_type
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.mir.attributes import Ask, Callee, Home, Sources
from visim.engine.jit.mir.attributes import Message as Attribute
from visim.engine.jit.mir.ops import OPS
from visim.engine.jit.mir.values import NOWHERE, Function, Value
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.anchors import Anchors
from visim.engine.jit.writing.asking import Requests
from visim.engine.jit.writing.calling import CallOutWriter
from visim.engine.jit.writing.functioncalls import FunctionCaller
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.messages import MessageWriter
from visim.engine.jit.writing.ready import Passed
from visim.engine.jit.writing.registers import RegisterAccess
from visim.engine.jit.writing.supposing import Suppositions
from visim.engine.jit.writing.synchronizing import Synchronizer
from visim.errors import InternalError
from visim.sem.atomics import AtomicOperation
from visim.sem.effects import (
    Atomic,
    Barrier,
    BarrierSignal,
    BarrierWait,
    Load,
    LoadBlock,
    Message,
    NamedBarrierSignal,
    NamedBarrierWait,
    Request,
    Store,
    StoreBlock,
    Synchronization,
    WriteIndirect,
    Yield,
    operands,
)
from visim.sem.expr import Expr
from visim.sem.requests import BlockLoad
from visim.sem.uops import UOPS

_LOADED, _GATHER = UOPS["loaded"], UOPS["gather"]


class EffectWriter:
    """Writes the operations of one function that have effects.

    Args:
        unit: the function.
        values: its values.
        function: its MIR.
        blocks: the blocks of the program, by their first instructions.
    """

    def __init__(
        self,
        unit: FunctionFrame,
        values: MirValues,
        function: Function,
        blocks: Mapping[int, StaticBlock],
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.variables = VariableWriter(unit.storage, unit.flow)
        self.callouts = CallOutWriter(unit)
        self._blocks = blocks
        self._used = _used(function)
        self._repeats = False

    def begin_block(self, *, repeats: bool) -> None:
        """Begin a block; `repeats` says that it is in a loop."""
        unit, self._repeats = self.unit, repeats
        anchors = Anchors(self.text, shares=unit.module.version.runs(Pass.BASES))
        self._passed = Passed(anchors, Requests(unit, anchors), {})

    def write(self, value: Value) -> None:
        """Write an operation."""
        if value.pc != NOWHERE:
            self.unit.pc = value.pc
        self.values.begin_effect()
        _TABLE[value.op.name](self, value)

    def _exprs(self, values: Iterable[Value]) -> tuple[Expr, ...]:
        return tuple(map(self.values.expr, values))

    # Variables in memory

    def peek(self, value: Value) -> None:
        """Read a variable."""
        self.values.define(value, self.variables.read(_home(value), kind_of(value)))

    def poke(self, value: Value) -> None:
        """Write a variable."""
        given, *mask = value.args
        on = self.values.mask(self.values.expr(mask[0])) if mask else None
        self.variables.write(_home(value), given, self.values.name(given), on)

    def gather(self, value: Value) -> None:
        """Read elements of variables at addresses."""
        expr = Expr(_GATHER, kind_of(value), value.lanes, self._exprs(value.args))
        self.values.define(value, RegisterAccess(self.unit).gather(self.values, expr))

    def scatter(self, value: Value) -> None:
        """Write elements of variables at addresses."""
        addresses, given, *rest = self._exprs(value.args)
        mask = rest[0] if rest else None
        name, on = self.values.value(given), self.values.mask(mask)
        access = RegisterAccess(self.unit)
        if isinstance(value.attribute, Sources):
            where, sources = self.values.value(addresses), value.attribute
            kind = given.lanes, given.type
            access.scatter_lanes(where, name, on, kind, sources.channels, sources.pcs)
        else:
            access.scatter(self.values, WriteIndirect(addresses, given, mask), name, on)

    def clock(self, value: Value) -> None:
        """Read how many instructions the thread has executed."""
        wide = self.text.let(f"load i64, ptr {self.unit.clock}")
        low = self.text.let(f"trunc i64 {wide} to i32")
        self.values.define(value, self.text.spread("i32", value.lanes, low))

    def fence(self, value: Value) -> None:
        """Keep LLVM from moving accesses across."""
        self.text.do('fence syncscope("singlethread") seq_cst')

    # Messages

    def message(self, value: Value) -> None:
        """Load, store, or update memory."""
        attribute = value.attribute
        if not isinstance(attribute, Attribute):
            raise InternalError(f"{value.op.name} without how it reaches memory")
        args = list(self._exprs(value.args))
        mask = args.pop() if attribute.masked else None
        surface = args.pop(0) if attribute.surface else None
        where, *given = args
        space = attribute.space
        effect: Message
        match value.op.name:
            case "load":
                kind = kind_of(value)
                effect = Load(space, surface, where, kind, attribute.count, mask)
            case "load_block":
                effect = LoadBlock(space, surface, where, kind_of(value), value.lanes, mask)
            case "store":
                effect = Store(space, surface, where, tuple(given), mask)
            case "store_block":
                effect = StoreBlock(space, surface, where, given[0], mask)
            case _:
                operation = AtomicOperation(attribute.detail)
                kind = kind_of(value)
                effect = Atomic(operation, space, surface, where, kind, tuple(given), mask)
        if is_called_out(effect):
            self._call_out(value, effect, attribute.count)
        else:
            self._reach(value, effect)

    def _reach(self, value: Value, effect: Message) -> None:
        """Write a message that native code moves."""
        writer = MessageWriter(
            self.unit,
            self.values,
            Bindings(),
            self._passed,
            value.pc,
            Suppositions(),
            repeats=self._repeats,
            scattered=True,
        )
        if isinstance(effect, Load | Store):
            writer.finish(writer.ready(effect))
        elif isinstance(effect, LoadBlock | StoreBlock | Atomic):
            wanted = [self._answer(value, effect, 0)] if value in self._used else []
            writer.message(effect, wanted)
        found = self.values.loaded.pop(id(effect), None)
        if value.type is not None and value in self._used:
            self.values.define(value, self._joined(value, found or []))

    def _answer(self, value: Value, effect: Message, component: int, parts: int = 1) -> Expr:
        lanes = value.lanes // parts
        return Expr(_LOADED, kind_of(value), lanes, (), (effect, component))

    def _joined(self, value: Value, parts: Sequence[str]) -> str:
        """Return the elements of all components, one component behind the other."""
        if len(parts) == 1:
            return parts[0]
        sizes = [value.lanes // len(parts)] * len(parts)
        return Weaver(self.text).behind(scalar_type(kind_of(value)), sizes, parts)

    def _call_out(self, value: Value, effect: Message, parts: int) -> None:
        """Leave a message to the host."""
        wanted = value.type is not None
        outputs = [self._answer(value, effect, one, parts) for one in range(parts) if wanted]
        found = self.callouts.call(self.values, effect, operands(effect), tuple(outputs))
        if wanted:
            self.values.define(value, self._joined(value, found))

    def request(self, value: Value) -> None:
        """Ask the sampler, or the unit for typed surfaces."""
        ask = value.attribute
        if not isinstance(ask, Ask):
            raise InternalError(f"{value.op.name} without what is asked for")
        args = list(self._exprs(value.args))
        mask = args.pop() if ask.masked else None
        surface = args.pop(0)
        sampler = args.pop(0) if ask.sampler else None
        effect = Request(ask.operation, surface, sampler, tuple(args), mask)
        is_block = isinstance(ask.operation, BlockLoad)
        self._call_out(value, effect, 1 if is_block else ask.operation.columns)

    # Time slices

    def tick(self, value: Value) -> None:
        """Count the instructions of a block."""
        self.unit.count(self._blocks[value.pc])

    def pause(self, value: Value) -> None:
        """Let others run if the time slice is over."""
        self.unit.pause(value.pc)

    def synchronize(self, value: Value) -> None:
        """Wait for others, signal, or give way."""
        effect = _SYNCHRONIZATIONS[value.op.name](*self._exprs(value.args))
        synchronizer = Synchronizer(self.unit)
        synchronizer.note_place(value.pc + 1)
        synchronizer.perform(self.values, effect, value.pc + 1)

    # Calls

    def call(self, value: Value) -> None:
        """Call a function with the channels of a mask."""
        text, unit, callee = self.text, self.unit, value.attribute
        if not isinstance(callee, Callee):
            raise InternalError("a call without what is called")
        on = value.args[-1]
        bits = vector_bits(text, self.values.name(on), on.lanes)
        chosen = text.let(f"trunc i64 {bits} to i32")
        handle = None
        if callee.name is None:
            handle = self.values.scalar(self.values.expr(value.args[0]))
        FunctionCaller(unit, value.pc, callee.control).call(callee.name, handle, chosen)

    def refuse(self, value: Value) -> None:
        """Refuse what today's writers of traced graphs do.

        Raises:
            NotEmitted: always.
        """
        raise NotEmitted(f"{value.op.name}: {value.op.doc}")


def _home(value: Value) -> Home:
    if not isinstance(value.attribute, Home):
        raise InternalError(f"{value.op.name} without places")
    return value.attribute


def _used(function: Function) -> set[Value]:
    """Return the values that something is made of."""
    found = set[Value]()
    for block in function.blocks:
        for value in block.body:
            found.update(value.args)
        found.update(block.end.args)
        for edge in block.end.edges:
            found.update(edge.args)
    return found


_SYNCHRONIZATIONS: dict[str, Callable[..., Synchronization]] = {
    "barrier": Barrier,
    "signal": BarrierSignal,
    "wait": BarrierWait,
    "named_signal": NamedBarrierSignal,
    "named_wait": NamedBarrierWait,
    "yield": Yield,
}
_TABLE: dict[str, Callable[[EffectWriter, Value], None]] = {
    "peek": EffectWriter.peek,
    "poke": EffectWriter.poke,
    "gather": EffectWriter.gather,
    "scatter": EffectWriter.scatter,
    "clock": EffectWriter.clock,
    "fence": EffectWriter.fence,
    "load": EffectWriter.message,
    "load_block": EffectWriter.message,
    "store": EffectWriter.message,
    "store_block": EffectWriter.message,
    "atomic": EffectWriter.message,
    "request": EffectWriter.request,
    "request_store": EffectWriter.request,
    "tick": EffectWriter.tick,
    "pause": EffectWriter.pause,
    **dict.fromkeys(_SYNCHRONIZATIONS, EffectWriter.synchronize),
    "call": EffectWriter.call,
    **dict.fromkeys(("fused", "exchange", "watch"), EffectWriter.refuse),
}
"""The lowering of each operation that has effects."""
_MISSING = [name for name, op in OPS.items() if not op.is_pure and name not in _TABLE]
if _MISSING:
    raise InternalError(f"no lowering from MIR for: {', '.join(_MISSING)}")

__all__ = ["EffectWriter"]
