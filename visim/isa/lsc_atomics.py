"""LSC atomics: on each channel's address, and on the counter of a surface (LSC_UNTYPED)."""

from typing import Annotated

from visim.isa.forms import Exec, Pred
from visim.isa.lsc import (
    Address,
    Cache,
    Data,
    Element,
    Sfid,
    Shape,
    addresses_of,
    element_of,
    message_layout,
    space_of,
)
from visim.isa.lsc_places import SURFACE_ONLY
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import counter_of, loaded
from visim.isa.table import Table
from visim.operands import LscShape, LscSurface, RawOperand
from visim.sem.effects import Atomic, AtomicOperation, Space
from visim.sem.expr import constant
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD

TABLE = Table(Category.MEMORY)
#: Data sizes of atomics.
ATOMIC_SIZES = frozenset({"d16c32", "d32", "d64"})


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {dst}{shape}  {address}  {src0}  {src1}",
    layout=f"{message_layout()} {{dst}} {{address.base}} {{src0}} {{src1}}",
)
class LscAtomic(Instruction):
    """An atomic operation."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Address
    shape: Shape
    dst: Data
    src0: Data
    src1: Data


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {dst}{shape}  {surface}  {data}{shape}",
    layout="{sub} {exec} {pred} {sfid} {cache} {surface.model} {shape.data} {shape.transposed} "
    "{shape.count} {shape.count} {surface.surface} {surface.index} {dst} {data}",
)
class LscCounter(Instruction):
    """An atomic operation on a surface's append counter."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    surface: Annotated[LscSurface, SURFACE_ONLY]
    shape: Shape
    dst: Data
    data: Data


def _element(shape: LscShape) -> Element:
    if shape.count != 1 or shape.transposed or shape.data not in ATOMIC_SIZES:
        order = "t" if shape.transposed else ""
        raise Unexecutable(f"atomics on {shape.data}x{shape.count}{order}")
    return element_of(shape.data)


def _atomic(
    t: Tracer, i: LscAtomic, operation: AtomicOperation, sources: tuple[RawOperand, ...]
) -> None:
    element = _element(i.shape)
    space, index = space_of(t, i.sfid, i.address)
    values = tuple(
        element.to_memory(t.raw(source, element.register, t.lanes)) for source in sources
    )
    addresses = addresses_of(t, i.address, space)
    effect = Atomic(operation, space, index, addresses, element.memory, values, t.mask())
    t.emit(effect)
    old = element.from_memory(loaded(effect, element.memory, t.lanes))
    t.write_raw(i.dst, old, effect.mask)


def _declare_atomic(name: str, sub: int, operation: AtomicOperation) -> None:
    count = operation.operand_count
    first = "V42" if count else "%null"
    second = "V43" if count > 1 else "%null"

    def meaning(t: Tracer, i: LscAtomic) -> None:
        _atomic(t, i, operation, (i.src0, i.src1)[:count])

    meaning.__name__ = f"lsc_atomic_{name}"
    meaning.__doc__ = f"Atomic {operation} at each channel's address; the old values are returned."
    example = f"lsc_atomic_{name}.ugm (M1, 32)  V40:d32  flat[V41]:a64  {first}  {second}"
    TABLE.effect(0x89, LscAtomic, sub=sub, page="LSC_UNTYPED", example=example)(meaning)


LSC_ATOMICS = (
    ("iinc", 0x08, AtomicOperation.INC),
    ("idec", 0x09, AtomicOperation.DEC),
    ("load", 0x0A, AtomicOperation.LOAD),
    ("store", 0x0B, AtomicOperation.XCHG),
    ("iadd", 0x0C, AtomicOperation.ADD),
    ("isub", 0x0D, AtomicOperation.SUB),
    ("smin", 0x0E, AtomicOperation.SMIN),
    ("smax", 0x0F, AtomicOperation.SMAX),
    ("umin", 0x10, AtomicOperation.UMIN),
    ("umax", 0x11, AtomicOperation.UMAX),
    ("icas", 0x12, AtomicOperation.CMPXCHG),
    ("fadd", 0x13, AtomicOperation.FADD),
    ("fsub", 0x14, AtomicOperation.FSUB),
    ("fmin", 0x15, AtomicOperation.FMIN),
    ("fmax", 0x16, AtomicOperation.FMAX),
    ("fcas", 0x17, AtomicOperation.FCAS),
    ("and", 0x18, AtomicOperation.AND),
    ("or", 0x19, AtomicOperation.OR),
    ("xor", 0x1A, AtomicOperation.XOR),
)
"""Names of operations, their sub-codes (of untyped and typed messages), what they do."""

for _name, _sub, _operation in LSC_ATOMICS:
    _declare_atomic(_name, _sub, _operation)


def _count(t: Tracer, i: LscCounter, operation: AtomicOperation) -> None:
    """Record an operation of all channels, one after another, on the counter of a surface."""
    if i.shape.data != "d32":
        raise Unexecutable(f"append counters of {i.shape.data}; they have 32 bits")
    element = _element(i.shape)
    space, index = space_of(t, i.sfid, i.surface)
    if space is not Space.SURFACE or index is None:
        raise Unexecutable(f"the append counter of a surface of model {i.surface.model}")
    values = (t.raw(i.data, element.register, t.lanes),)
    first = constant(0, UD, t.lanes)
    effect = Atomic(operation, space, counter_of(index), first, element.memory, values, t.mask())
    t.emit(effect)
    t.write_raw(i.dst, loaded(effect, element.memory, t.lanes), effect.mask)


@TABLE.effect(
    0x89, LscCounter, sub=0x28, page="LSC_UNTYPED",
    example="lsc_apndctr_atomic_add.ugm (M1, 32)  V40:d32  bti(0xA0)  V41:d32",
)  # fmt: skip
def lsc_apndctr_atomic_add(t: Tracer, i: LscCounter) -> None:
    """Add to a surface's append counter, channel by channel; the old values are returned."""
    _count(t, i, AtomicOperation.ADD)


@TABLE.effect(
    0x89, LscCounter, sub=0x29, page="LSC_UNTYPED",
    example="lsc_apndctr_atomic_sub.ugm (M1, 32)  V40:d32  bti(0xA0)  V41:d32",
)  # fmt: skip
def lsc_apndctr_atomic_sub(t: Tracer, i: LscCounter) -> None:
    """Subtract from a surface's append counter, channel by channel; the old values are returned."""
    _count(t, i, AtomicOperation.SUB)
