"""Runs MIR, one operation after another, with the interpreter's arithmetic and its machine.

What a thread does is then that of its MIR alone, so that running a kernel here and in the
interpreter compares both. Nothing else of the JIT takes part, and no LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visim.engine import lanes
from visim.engine.expressions import ValueBuilder
from visim.engine.jit.mir.attributes import Home
from visim.engine.jit.mir.ops import ANY_MODE, NO_MODE, ROLES
from visim.engine.jit.mir.values import Block, Function, Value
from visim.engine.modes import CR0_USED, float_mode
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.atomics import AtomicOperation
from visim.sem.expr import Expr
from visim.sem.uops import UOPS

Vector = NDArray[Any]
Variables = Mapping[Any, int]


class Code(Protocol):
    """A unit as MIR, and where its variables begin in the register image."""

    @property
    def function(self) -> Function:
        """The function."""
        ...

    @property
    def homes(self) -> Variables:
        """Where each variable begins, by its bank, name and number."""
        ...


@dataclass
class Environment:
    """The values of one activation of a function, by number."""

    values: list[Vector]


@dataclass
class Activation:
    """Where an open function is: its values, the block and the next operation in it."""

    code: Compiled
    environment: Environment
    block: Block
    at: int = 0


@dataclass
class Compiled:
    """A function whose pure operations have become Python, made when they are first run.

    `holder` has the values on which the code works. `observe` is told what pure values are.
    """

    kernel: LinkedKernel
    unit: LinkedUnit
    code: Code
    context: Any
    observe: Callable[[Value, Vector], None] | None = None
    holder: list[list[Vector]] = field(default_factory=list[list[Vector]])
    _steps: dict[tuple[Value, int], Callable[[], None]] = field(
        default_factory=dict[tuple[Value, int], Callable[[], None]]
    )

    def __post_init__(self) -> None:
        self.function = self.code.function
        self.names = self.function.names
        self.holder.append([])

    def enter(self, on: Vector) -> Activation:
        """Return the function at its start, with channels that are on."""
        environment = Environment([np.zeros(0)] * len(self.names))
        entry = self.function.entry
        environment.values[self.names[entry.params[0]]] = on
        return Activation(self, environment, entry)

    def compute(self, value: Value, environment: Environment) -> None:
        """Compute a pure value."""
        values = environment.values
        bits = value.mode
        if bits == ANY_MODE:
            bits = int(values[self.names[value.args[-1]]][0]) & CR0_USED
        step = self._steps.get((value, bits))
        if step is None:
            step = self._steps[value, bits] = self._made(value, bits)
        self.holder[0] = values
        step()
        if self.observe is not None:
            self.observe(value, values[self.names[value]])

    def _made(self, value: Value, bits: int) -> Callable[[], None]:
        """Return a function that computes a value where the holder has its operands."""
        mode = float_mode(0 if bits == NO_MODE else bits)
        builder = ValueBuilder(self.kernel, self.unit, self.context, mode, full=False)
        holder = builder.bind(self.holder)
        args: list[Expr] = []
        for arg in value.operands:
            name = f"{holder}[0][{self.names[arg]}]"
            assert arg.type is not None
            leaf = Expr(UOPS["loaded"], arg.type, arg.lanes)
            builder.know(leaf, builder.temporary(name))
            args.append(leaf)
        builder.lines.append(
            f"{holder}[0][{self.names[value]}] = {self._result(builder, value, args)}"
        )
        return builder.build()

    def _result(self, builder: ValueBuilder, value: Value, args: list[Expr]) -> str:
        """Return what computes a value from operands that the builder knows."""
        match value.op.name:
            case "start":
                assert isinstance(value.attribute, Home)
                return f"{builder.bind(self.starting(value))}()"
            case "insert":
                old, new = (builder.value(arg) for arg in args)
                picks = builder.bind(np.array(value.attribute, np.intp))
                return f"{builder.bind(_inserted)}({old}, {new}, {picks})"
            case "regroup":
                dtype = builder.bind(_numpy(value))
                return f"{builder.bind(_regrouped)}({builder.value(args[0])}, {dtype})"
            case "canonical":
                role = ROLES[str(value.attribute)]
                return builder.value(self._expr(value, args, role))
            case _:
                return builder.value(self._expr(value, args, value.attribute))

    @staticmethod
    def _expr(value: Value, args: list[Expr], attribute: Any) -> Expr:
        assert value.op.uop is not None
        assert value.type is not None
        return Expr(value.op.uop, value.type, value.lanes, tuple(args), attribute)

    # Variables in memory

    def starting(self, value: Value) -> Callable[[], Vector]:
        """Return what reads a variable from the register image."""
        places, dtype = self.places(value.attribute, value.type), _numpy(value)
        return lambda: self.context.image[places].reshape(-1).view(dtype)

    def places(self, home: Any, kind: Any) -> NDArray[np.intp]:
        """Return the bytes of each lane of a home in the register image."""
        size = np.dtype(kind.numpy).itemsize
        step = 1 if home.bank == "general" else size
        first = self.code.homes[home.variable] + np.array(home.places, np.intp) * step
        return first[:, None] + np.arange(size)


def _inserted(old: Vector, new: Vector, picks: NDArray[np.intp]) -> Vector:
    found = old.copy()
    found[picks] = new
    return found


def _regrouped(value: Vector, dtype: np.dtype[Any]) -> Vector:
    return np.ascontiguousarray(value).view(dtype)


def _numpy(value: Value) -> np.dtype[Any]:
    assert value.type is not None
    return np.dtype(value.type.numpy)


class Performer:
    """Performs operations that have effects, on the machine of a run."""

    def __init__(self, compiled: Compiled, activation: Activation) -> None:
        self._compiled = compiled
        self._context = compiled.context
        self._values = activation.environment.values
        self._names = compiled.names

    def _of(self, value: Value) -> Vector:
        return self._values[self._names[value]]

    def perform(self, value: Value) -> None:
        """Perform an operation and keep its result."""
        found = _EFFECTS[value.op.name](self, value)
        if value.type is not None:
            assert found is not None
            self._values[self._names[value]] = found

    def peek(self, value: Value) -> Vector:
        """Return a variable that stays in memory."""
        return self._compiled.starting(value)()

    def poke(self, value: Value) -> None:
        """Write such a variable, where the mask is on."""
        new = value.args[0]
        places = self._compiled.places(value.attribute, new.type)
        octets = np.ascontiguousarray(self._of(new)).view(np.uint8).reshape(places.shape)
        mask = self._of(value.args[1]) if len(value.args) > 1 else np.ones(new.lanes, bool)
        for lane in np.flatnonzero(mask):
            self._context.image[places[lane]] = octets[lane]

    @property
    def _reached(self) -> NDArray[np.uint8]:
        return self._context.image[: self._compiled.kernel.reached_bytes]

    def gather(self, value: Value) -> Vector:
        """Return elements of variables at addresses."""
        return lanes.gather(self._reached, self._of(value.args[0]), _numpy(value))

    def scatter(self, value: Value) -> None:
        """Write such elements."""
        addresses, new, *mask = (self._of(arg) for arg in value.args)
        lanes.scatter(self._reached, addresses, new, mask[0] if mask else None)

    def clock(self, value: Value) -> Vector:
        """Return how many instructions the thread has executed."""
        return np.full(1, self._context.clock(0), np.uint32)

    def nothing(self, value: Value) -> None:
        """Do nothing: in program order no access overtakes another one."""

    # Messages

    def _method(self, value: Value, verb: str) -> tuple[Callable[..., Any], list[Vector], Any]:
        """Return what performs a message, its operands, and its mask."""
        message: Any = value.attribute
        operands = [self._of(arg) for arg in value.args]
        mask = operands.pop() if message.masked else None
        context, name = self._context, message.space.name
        if name == "SURFACE":
            index = int(operands.pop(0)[0]) if message.surface else 0
            method = getattr(context.surfaces, verb)
            return (lambda *given: method(index, *given)), operands, mask
        if message.surface:
            operands.pop(0)
        memory = {
            "FLAT": context.flat,
            "SHADOW": context.flat,
            "SLM": context.slm,
            "SCRATCH": context.scratch,
            "ARGUMENT": context.arguments,
        }[name]
        return getattr(memory, verb), operands, mask

    def load(self, value: Value) -> Vector:
        """Return elements of memory, first of all lanes."""
        message: Any = value.attribute
        method, (addresses,), mask = self._method(value, "load")
        found = method(addresses, mask, _numpy(value), message.count)
        return np.ascontiguousarray(found.T).reshape(-1)

    def load_block(self, value: Value) -> Vector:
        """Return successive elements of memory."""
        method, (address,), mask = self._method(value, "load_block")
        dtype = _numpy(value)
        if mask is not None and not mask[0]:
            return np.zeros(value.lanes, dtype)
        return method(int(address[0]), value.lanes * dtype.itemsize).view(dtype)

    def store(self, value: Value) -> None:
        """Write elements of memory."""
        method, (addresses, *given), mask = self._method(value, "store")
        if len(given) == 1:
            method(addresses, mask, given[0])
        else:
            method(addresses, mask, np.stack(given, axis=1), len(given))

    def store_block(self, value: Value) -> None:
        """Write successive elements of memory."""
        method, (address, given), mask = self._method(value, "store_block")
        if mask is None or mask[0]:
            method(int(address[0]), np.ascontiguousarray(given).view(np.uint8))

    def atomic(self, value: Value) -> Vector:
        """Read, modify and write memory."""
        message: Any = value.attribute
        method, (addresses, *given), mask = self._method(value, "atomic")
        operation = AtomicOperation(message.detail)
        return method(operation, addresses, mask, _numpy(value), *given)

    def request(self, value: Value) -> Vector | None:
        """Ask the sampler, or the unit for typed surfaces."""
        ask: Any = value.attribute
        operands = [self._of(arg) for arg in value.args]
        mask = operands.pop() if ask.masked else None
        surface = int(operands.pop(0)[0])
        sampler = int(operands.pop(0)[0]) if ask.sampler else None
        found = self._context.surfaces.request(
            ask.operation, surface, sampler, tuple(operands), mask
        )
        if value.type is None:
            return None
        return np.ascontiguousarray(found.T).reshape(-1).view(_numpy(value))


_EFFECTS: dict[str, Callable[[Performer, Value], Any]] = {
    "peek": Performer.peek,
    "poke": Performer.poke,
    "gather": Performer.gather,
    "scatter": Performer.scatter,
    "clock": Performer.clock,
    "fence": Performer.nothing,
    "load": Performer.load,
    "load_block": Performer.load_block,
    "store": Performer.store,
    "store_block": Performer.store_block,
    "atomic": Performer.atomic,
    "request": Performer.request,
    "request_store": Performer.request,
}

__all__ = ["Activation", "Code", "Compiled", "Performer"]
