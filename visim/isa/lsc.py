"""Load/store cache messages (specification LSC_UNTYPED; the seed of this name comes first)."""

from typing import Annotated

from visim.isa.forms import Exec, Pred
from visim.isa.kinds import RAW_LSC
from visim.isa.lsc_kinds import ADDRESS, CACHE, DATA_SIZES, SHAPE
from visim.isa.memory import SLM_ADDRESS_BITS, block_bytes, loaded
from visim.isa.registry import Category, Instruction, form
from visim.isa.sync import SFIDS
from visim.isa.table import Table
from visim.isa.word_kinds import ChoiceKind
from visim.operands import AddressModel, LscAddress, LscCache, LscShape, RawOperand
from visim.sem.effects import Atomic, AtomicOperation, Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import Expr, broadcast, unsigned
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD, UQ, DataType

TABLE = Table(Category.MEMORY)

Sfid = Annotated[str, ChoiceKind(SFIDS, "shared function")]
Cache = Annotated[LscCache, CACHE]
Shape = Annotated[LscShape, SHAPE]
Address = Annotated[LscAddress, ADDRESS]
Data = Annotated[RawOperand, RAW_LSC]

# What all messages begin with. An object has the length of the vector twice, and a raw operand of
# 6 bytes that are 0 where the message has none.
_MESSAGE = (
    "{sub} {exec} {pred} {sfid} {cache} {address.model} {address.scale} {address.offset} "
    "{address.bits} {shape.data} {shape.transposed} {shape.count} {shape.count} {address.surface}"
)


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {dst}{shape}  {address}",
    layout=f"{_MESSAGE} {{dst}} {{address.base}} 0:6 0:6",
)
class LscLoad(Instruction):
    """A load."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Address
    shape: Shape
    dst: Data


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {address}  {data}{shape}",
    layout=f"{_MESSAGE} 0:6 {{address.base}} {{data}} 0:6",
)
class LscStore(Instruction):
    """A store."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Address
    shape: Shape
    data: Data


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {dst}{shape}  {address}  {src0}  {src1}",
    layout=f"{_MESSAGE} {{dst}} {{address.base}} {{src0}} {{src1}}",
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


def _space(i: LscLoad | LscStore | LscAtomic, t: Tracer) -> tuple[Space, Expr | None]:
    if i.sfid == "tgm":
        raise Unexecutable("typed LSC messages")
    match i.address.model:
        case AddressModel.FLAT:
            return (Space.SLM if i.sfid == "slm" else Space.FLAT), None
        case AddressModel.SURFACE_STATE:
            return Space.SCRATCH, None
        case AddressModel.ARGUMENT:
            return Space.ARGUMENT, None
        case AddressModel.BINDING_TABLE:
            surface = i.address.surface
            if surface is None:
                raise Unexecutable("a binding table address without an index")
            return Space.SURFACE, t.scalar(surface, UD)
        case AddressModel.BINDLESS_SURFACE:
            raise Unexecutable("bindless surfaces (bss)")


def _addresses(t: Tracer, address: LscAddress, space: Space, lanes: int) -> Expr:
    kind = unsigned(address.bits)
    wide = UQ if space is Space.FLAT else UD
    base = t.raw(address.base, kind, lanes).to(wide)
    if address.scale != 1:
        base = base * address.scale
    if address.offset:
        base = base + address.offset % 2**wide.bits
    return base & SLM_ADDRESS_BITS if space is Space.SLM else base


def _element(shape: LscShape) -> tuple[DataType, DataType]:
    """Return the types of an element in memory and in its register slot."""
    memory, register = DATA_SIZES[shape.data]
    if shape.data == "d16c32h":
        raise Unexecutable("d16c32h data")
    return unsigned(8 * memory), unsigned(8 * register)


@TABLE.effect(
    0x89, LscLoad, sub=0x00, page="LSC_UNTYPED",
    example="lsc_load.ugm.ca.ca (M1, 32)  V40:d32x4  flat[V41+0x10]:a64",
)  # fmt: skip
def lsc_load(t: Tracer, i: LscLoad) -> None:
    """Load a vector of elements from each channel's address, or one block when transposed."""
    space, index = _space(i, t)
    memory, register = _element(i.shape)
    if i.shape.transposed:
        address = _addresses(t, i.address, space, 1)
        block = LoadBlock(space, index, address, memory, i.shape.count, t.mask())
        t.emit(block)
        _write_block(t, i.dst, loaded(block, memory, block.count).to(register), block.mask)
        return
    addresses = _addresses(t, i.address, space, t.lanes)
    effect = Load(space, index, addresses, memory, i.shape.count, t.mask())
    t.emit(effect)
    for component in range(i.shape.count):
        value = loaded(effect, memory, t.lanes, component).to(register)
        offset = component * block_bytes(t, register.bytes)
        t.write_raw(i.dst, value, effect.mask, offset)


def _write_block(t: Tracer, dst: RawOperand, value: Expr, mask: Expr | None) -> None:
    """Write a transposed block: all of it or nothing, as its one channel is enabled."""
    if mask is None:
        t.write_raw(dst, value, None)
        return
    t.write_raw(dst, value, broadcast(mask, value.lanes))


@TABLE.effect(
    0x89, LscStore, sub=0x04, page="LSC_UNTYPED",
    example="lsc_store.ugm (M1, 32)  flat[V40]:a64  V41:d32",
)  # fmt: skip
def lsc_store(t: Tracer, i: LscStore) -> None:
    """Store a vector of elements at each channel's address, or one block when transposed."""
    space, index = _space(i, t)
    memory, register = _element(i.shape)
    if i.shape.transposed:
        value = t.raw(i.data, register, i.shape.count).to(memory)
        address = _addresses(t, i.address, space, 1)
        t.emit(StoreBlock(space, index, address, value, t.mask()))
        return
    size = block_bytes(t, register.bytes)
    values = tuple(
        t.raw(i.data, register, t.lanes, component * size).to(memory)
        for component in range(i.shape.count)
    )
    addresses = _addresses(t, i.address, space, t.lanes)
    t.emit(Store(space, index, addresses, values, t.mask()))


def _atomic(t: Tracer, i: LscAtomic, operation: AtomicOperation, operands: int) -> None:
    space, index = _space(i, t)
    memory, register = _element(i.shape)
    sources = (i.src0, i.src1)[:operands]
    values = tuple(t.raw(source, register, t.lanes).to(memory) for source in sources)
    addresses = _addresses(t, i.address, space, t.lanes)
    effect = Atomic(operation, space, index, addresses, memory, values, t.mask())
    t.emit(effect)
    t.write_raw(i.dst, loaded(effect, memory, t.lanes).to(register), effect.mask)


def _declare_atomic(name: str, sub: int, operation: AtomicOperation, operands: int) -> None:
    first = "V42" if operands else "%null"
    second = "V43" if operands > 1 else "%null"

    def meaning(t: Tracer, i: LscAtomic) -> None:
        _atomic(t, i, operation, operands)

    meaning.__name__ = f"lsc_atomic_{name}"
    meaning.__doc__ = f"Atomic {operation} at each channel's address; the old values are returned."
    example = f"lsc_atomic_{name}.ugm (M1, 32)  V40:d32  flat[V41]:a64  {first}  {second}"
    TABLE.effect(0x89, LscAtomic, sub=sub, page="LSC_UNTYPED", example=example)(meaning)


for _name, _sub, _operation, _operands in (
    ("iinc", 0x08, AtomicOperation.INC, 0),
    ("idec", 0x09, AtomicOperation.DEC, 0),
    ("load", 0x0A, AtomicOperation.LOAD, 0),
    ("store", 0x0B, AtomicOperation.XCHG, 1),
    ("iadd", 0x0C, AtomicOperation.ADD, 1),
    ("isub", 0x0D, AtomicOperation.SUB, 1),
    ("smin", 0x0E, AtomicOperation.SMIN, 1),
    ("smax", 0x0F, AtomicOperation.SMAX, 1),
    ("umin", 0x10, AtomicOperation.UMIN, 1),
    ("umax", 0x11, AtomicOperation.UMAX, 1),
    ("icas", 0x12, AtomicOperation.CMPXCHG, 2),
    ("fadd", 0x13, AtomicOperation.FADD, 1),
    ("fsub", 0x14, AtomicOperation.FSUB, 1),
    ("fmin", 0x15, AtomicOperation.FMIN, 1),
    ("fmax", 0x16, AtomicOperation.FMAX, 1),
    ("fcas", 0x17, AtomicOperation.FCAS, 2),
    ("and", 0x18, AtomicOperation.AND, 1),
    ("or", 0x19, AtomicOperation.OR, 1),
    ("xor", 0x1A, AtomicOperation.XOR, 1),
):
    _declare_atomic(_name, _sub, _operation, _operands)
