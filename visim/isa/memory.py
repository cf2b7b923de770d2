"""Surface and shared virtual memory messages before LSC (specification 6).

Layouts of payloads follow the pages of the instructions: component c of all channels stands in a
block of its own, each block starts at a register.
"""

from dataclasses import field
from typing import Annotated, Any, Protocol

from visim.isa.forms import Exec, Pred, Raw, Src
from visim.isa.older import UNALIGNED_OWORD_LAYOUTS, UNALIGNED_OWORDS
from visim.isa.raw_kinds import SURFACE
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import (
    block_bytes,
    in_space,
    load_slots,
    loaded,
    store_slots,
    surface_space,
)
from visim.isa.table import Table
from visim.isa.version_kinds import UNALIGNED, AlignmentKind
from visim.isa.word_kinds import (
    BITS,
    CHANNELS,
    OWORDS,
    UP_TO_8,
    ChoiceKind,
    OptionalWordKind,
    SizeKind,
)
from visim.operands import RawOperand, SurfaceVariable
from visim.sem.effects import (
    Atomic,
    AtomicOperation,
    Load,
    LoadBlock,
    Space,
    Store,
    StoreBlock,
)
from visim.sem.expr import Expr, broadcast, unsigned
from visim.sem.tracer import Tracer, Unexecutable
from visim.target import Platform
from visim.types import UD, UQ, UW, DataType

TABLE = Table(Category.MEMORY)


ATOMICS = (
    ("add", 0),
    ("sub", 1),
    ("inc", 2),
    ("dec", 3),
    ("min", 4),
    ("max", 5),
    ("xchg", 6),
    ("cmpxchg", 7),
    ("and", 8),
    ("or", 9),
    ("xor", 10),
    ("minsint", 11),
    ("maxsint", 12),
    ("predec", 13),
    ("fmax", 16),
    ("fmin", 17),
    ("fcmpwr", 18),
    ("fadd", 19),
    ("fsub", 20),
)
_OPERATIONS = {
    "min": AtomicOperation.UMIN,
    "max": AtomicOperation.UMAX,
    "minsint": AtomicOperation.SMIN,
    "maxsint": AtomicOperation.SMAX,
    "fcmpwr": AtomicOperation.FCAS,
}

AtomicName = Annotated[str, ChoiceKind(ATOMICS, "an atomic operation")]
AtomicWidth = Annotated[str, OptionalWordKind((("16", 0x20), ("64", 0x40)), "a width")]
Channels = Annotated[str, CHANNELS]
_UNALIGNED_BIT = 0x80
Surface = Annotated[SurfaceVariable, SURFACE]
Blocks = Annotated[int, UP_TO_8]
BlockBytes = Annotated[int, SizeKind(((1, 0), (4, 1), (8, 2)))]
Owords = Annotated[int, OWORDS]


@form(
    "{pred}{op}.{channels} {exec} {surface} {offset} {offsets} {data}",
    layout="{exec} {pred} {channels} 0:2 {surface} {offset} {offsets} {data}",
)
class ScaledChannels(Instruction):
    """Up to four dwords at each offset into a surface."""

    exec: Exec
    pred: Pred
    channels: Channels
    surface: Surface
    offset: Src
    offsets: Raw
    data: Raw


@form(
    "{pred}{op}.{blocks} {exec} {surface} {offset} {offsets} {data}",
    layout="{exec} {pred} 0 {blocks} 0:2 {surface} {offset} {offsets} {data}",
)
class ScaledBytes(Instruction):
    """1, 2, 4 or 8 bytes at each offset into a surface."""

    exec: Exec
    pred: Pred
    blocks: Blocks
    surface: Surface
    offset: Src
    offsets: Raw
    data: Raw


@form("{op} ({count}) {surface} {offset} {data}")
class OwordStore(Instruction):
    """Successive 16-byte words to a surface."""

    count: Owords
    surface: Surface
    offset: Src
    data: Raw


@form("{op} ({count}) {surface} {offset} {data}", layout="{count} 0? {surface} {offset} {data}")
class OwordLoad(Instruction):
    """Successive 16-byte words of a surface."""

    count: Owords
    surface: Surface
    offset: Src
    data: Raw


@form(
    "{op} ({count}) {surface} {offset} {data}",
    layout=UNALIGNED_OWORDS,
    older=UNALIGNED_OWORD_LAYOUTS,
)
class UnalignedOwordLoad(Instruction):
    """Successive 16-byte words of a surface, from any dword on."""

    count: Owords
    surface: Surface
    offset: Src
    data: Raw


@form(
    "{op}{alignment} ({count}) {address} {data}",
    layout="{sub} {count&0x07|unaligned&0x80} {alignment} {address} {data}",
)
class SvmBlock(Instruction):
    """Successive 16-byte words at a virtual address.

    `alignment` is what the text says of the address, since version 4.2. `unaligned` is the bit of
    an object, which older texts do not show: 0x80 where the address need not be a multiple of 16.
    """

    count: Owords
    address: Src
    data: Raw
    alignment: Annotated[str | None, AlignmentKind()] = None
    unaligned: Annotated[int, BITS] = field(default=0, compare=False)

    def __post_init__(self) -> None:
        """Derive the bit from the word."""
        if self.alignment is not None:
            bit = _UNALIGNED_BIT if self.alignment == UNALIGNED else 0
            object.__setattr__(self, "unaligned", bit)


@form(
    "{pred}{op}.{size}.{blocks} {exec} {addresses} {data}",
    layout="{sub} {exec} {pred} {size} {blocks} {addresses} {data}",
)
class SvmScattered(Instruction):
    """`blocks` blocks of `size` bytes at each virtual address."""

    exec: Exec
    pred: Pred
    size: BlockBytes
    blocks: Blocks
    addresses: Raw
    data: Raw


@form(
    "{pred}{op}.{channels} {exec} {address} {offsets} {data}",
    layout="{sub} {exec} {pred} {channels} 0:2 {address} {offsets} {data}",
)
class SvmChannels(Instruction):
    """Up to four dwords at each offset from a virtual address."""

    exec: Exec
    pred: Pred
    channels: Channels
    address: Src
    offsets: Raw
    data: Raw


@form(
    "{pred}{op}.{operation}{width} {exec} {addresses} {dst} {src0} {src1}",
    layout="{sub} {exec} {pred} {operation&0x1f|width&0x60} {addresses} {src0} {src1} {dst}",
)
class SvmAtomic(Instruction):
    """An atomic operation at each virtual address."""

    exec: Exec
    pred: Pred
    operation: AtomicName
    width: AtomicWidth
    addresses: Raw
    src0: Raw
    src1: Raw
    dst: Raw


@form(
    "{pred}{op}.{operation}{width} {exec} {surface} {offsets} {src0} {src1} {dst}",
    layout="{operation&0x1f|width&0x60} {exec} {pred} {surface} {offsets} {src0} {src1} {dst}",
)
class SurfaceAtomic(Instruction):
    """An atomic operation at each offset into a surface."""

    exec: Exec
    pred: Pred
    operation: AtomicName
    width: AtomicWidth
    surface: Surface
    offsets: Raw
    src0: Raw
    src1: Raw
    dst: Raw


def _surface_addresses(t: Tracer, i: ScaledChannels | ScaledBytes) -> Expr:
    base = broadcast(t.scalar(i.offset, UD), t.lanes)
    return in_space(t.raw(i.offsets, UD, t.lanes) + base, i.surface)


_ORDER = "RGBA"


@TABLE.effect(0x74, ScaledChannels, example="gather4_scaled.RGBA (M1, 16) T6 0x0:ud V40.0 V41.0")
def gather4_scaled(t: Tracer, i: ScaledChannels) -> None:
    """Load dwords at offset + 0, 4, 8, 12 of each channel, as R, G, B, A say."""
    space, index = surface_space(i.surface)
    slots = [_ORDER.index(letter) for letter in i.channels]
    found = load_slots(t, space, index, _surface_addresses(t, i), slots, UD)
    for position, value in enumerate(found):
        t.write_raw(i.data, value, t.mask(), position * block_bytes(t, 4))


@TABLE.effect(0x75, ScaledChannels, example="scatter4_scaled.R (M1, 16) T6 0x0:ud V40.0 V41.0")
def scatter4_scaled(t: Tracer, i: ScaledChannels) -> None:
    """Store dwords at offset + 0, 4, 8, 12 of each channel, as R, G, B, A say."""
    space, index = surface_space(i.surface)
    addresses = _surface_addresses(t, i)
    values = _component_values(t, i.data, UD, len(i.channels))
    store_slots(t, space, index, addresses, [_ORDER.index(c) for c in i.channels], values)


def _component_values(t: Tracer, data: RawOperand, kind: DataType, count: int) -> tuple[Expr, ...]:
    size = block_bytes(t, kind.bytes)
    return tuple(t.raw(data, kind, t.lanes, position * size) for position in range(count))


@TABLE.effect(0x78, ScaledBytes, example="gather_scaled.2 (M1, 16) T6 0x0:ud V40.0 V41.0")
def gather_scaled(t: Tracer, i: ScaledBytes) -> None:
    """Load 1, 2 or 4 bytes at each offset into the low part of a dword."""
    space, index = surface_space(i.surface)
    effect = Load(space, index, _surface_addresses(t, i), _bytes_type(i.blocks), 1, t.mask())
    t.emit(effect)
    value = loaded(effect, effect.type, t.lanes).to(UD)
    t.write_raw(i.data, value, effect.mask)


@TABLE.effect(0x79, ScaledBytes, example="scatter_scaled.1 (M1, 16) T6 0x0:ud V40.0 V41.0")
def scatter_scaled(t: Tracer, i: ScaledBytes) -> None:
    """Store the low 1, 2 or 4 bytes of a dword at each offset."""
    space, index = surface_space(i.surface)
    value = t.raw(i.data, UD, t.lanes).to(_bytes_type(i.blocks))
    t.emit(Store(space, index, _surface_addresses(t, i), (value,), t.mask()))


def _bytes_type(count: int) -> DataType:
    if count not in {1, 2, 4}:
        raise Unexecutable(f"{count} bytes a channel")
    return unsigned(8 * count)


def _oword_address(
    t: Tracer, i: OwordLoad | UnalignedOwordLoad | OwordStore, unit: int
) -> tuple[Space, Expr | None, Expr]:
    space, index = surface_space(i.surface)
    offset = t.scalar(i.offset, UD)
    return space, index, in_space(offset if unit == 1 else offset.to(UQ) * unit, i.surface)


def _load_owords(t: Tracer, i: OwordLoad | UnalignedOwordLoad, unit: int) -> None:
    space, index, address = _oword_address(t, i, unit)
    effect = LoadBlock(space, index, address, UD, 4 * i.count, None)
    t.emit(effect)
    t.write_raw(i.data, loaded(effect, UD, effect.count), None)


@TABLE.effect(0x35, OwordLoad, example="oword_ld (8) T6 V40(0,0)<0;1,0> V41.0")
def oword_ld(t: Tracer, i: OwordLoad) -> None:
    """Load successive 16-byte words; the offset counts such words."""
    _load_owords(t, i, 16)


@TABLE.effect(0x3C, UnalignedOwordLoad, example="oword_ld_unaligned (8) T6 V40(0,0)<0;1,0> V41.0")
def oword_ld_unaligned(t: Tracer, i: UnalignedOwordLoad) -> None:
    """Load successive 16-byte words from a byte offset."""
    _load_owords(t, i, 1)


@TABLE.effect(0x36, OwordStore, example="oword_st (8) T6 V40(0,0)<0;1,0> V41.0")
def oword_st(t: Tracer, i: OwordStore) -> None:
    """Store successive 16-byte words; the offset counts such words."""
    space, index, address = _oword_address(t, i, 16)
    value = t.raw(i.data, UD, 4 * i.count)
    t.emit(StoreBlock(space, index, address, value, None))


@TABLE.effect(0x4E, SvmBlock, sub=1, example="svm_block_ld (8) V40(0,0)<0;1,0> V41.0")
def svm_block_ld(t: Tracer, i: SvmBlock) -> None:
    """Load successive 16-byte words from a virtual address."""
    effect = LoadBlock(Space.FLAT, None, t.scalar(i.address, UQ), UD, 4 * i.count, None)
    t.emit(effect)
    t.write_raw(i.data, loaded(effect, UD, effect.count), None)


@TABLE.effect(0x4E, SvmBlock, sub=2, example="svm_block_st (1) V40(0,0)<0;1,0> V41.0")
def svm_block_st(t: Tracer, i: SvmBlock) -> None:
    """Store successive 16-byte words at a virtual address."""
    value = t.raw(i.data, UD, 4 * i.count)
    t.emit(StoreBlock(Space.FLAT, None, t.scalar(i.address, UQ), value, None))


@TABLE.effect(0x4E, SvmScattered, sub=3, example="svm_gather.4.1 (M1, 16) V40.0 V41.0")
def svm_gather(t: Tracer, i: SvmScattered) -> None:
    """Load blocks of 1, 4 or 8 bytes from each virtual address."""
    addresses = t.raw(i.addresses, UQ, t.lanes)
    if i.size == 1:
        kind = unsigned(8 * i.blocks)
        effect = Load(Space.FLAT, None, addresses, kind, 1, t.mask())
        t.emit(effect)
        value = loaded(effect, kind, t.lanes)
        t.write_raw(i.data, value if i.blocks == 8 else value.to(UD), effect.mask)
        return
    effect = Load(Space.FLAT, None, addresses, unsigned(8 * i.size), i.blocks, t.mask())
    t.emit(effect)
    for block in range(i.blocks):
        value = loaded(effect, effect.type, t.lanes, block)
        t.write_raw(i.data, value, effect.mask, block * block_bytes(t, i.size))


@TABLE.effect(0x4E, SvmScattered, sub=4, example="svm_scatter.4.4 (M1, 16) V40.0 V41.0")
def svm_scatter(t: Tracer, i: SvmScattered) -> None:
    """Store blocks of 1, 4 or 8 bytes at each virtual address."""
    addresses = t.raw(i.addresses, UQ, t.lanes)
    if i.size == 1:
        stored = t.raw(i.data, UQ if i.blocks == 8 else UD, t.lanes).to(unsigned(8 * i.blocks))
        t.emit(Store(Space.FLAT, None, addresses, (stored,), t.mask()))
        return
    values = _component_values(t, i.data, unsigned(8 * i.size), i.blocks)
    t.emit(Store(Space.FLAT, None, addresses, values, t.mask()))


def _svm_channel_addresses(t: Tracer, i: SvmChannels) -> Expr:
    return t.raw(i.offsets, UQ, t.lanes) + broadcast(t.scalar(i.address, UQ), t.lanes)


@TABLE.effect(
    0x4E, SvmChannels, sub=6, page="SVM_GATHER4_SCALED",
    example="svm_gather4scaled.RGB (M1, 16) 0x0:ud V40.0 V41.0",
)  # fmt: skip
def svm_gather4scaled(t: Tracer, i: SvmChannels) -> None:
    """Load dwords at address + offset + 0, 4, 8, 12, as R, G, B, A say."""
    slots = [_ORDER.index(letter) for letter in i.channels]
    found = load_slots(t, Space.FLAT, None, _svm_channel_addresses(t, i), slots, UD)
    for position, value in enumerate(found):
        t.write_raw(i.data, value, t.mask(), position * block_bytes(t, 4))


@TABLE.effect(
    0x4E, SvmChannels, sub=7, page="SVM_SCATTER4_SCALED",
    example="svm_scatter4scaled.RGB (M1, 16) 0x0:ud V40.0 V41.0",
)  # fmt: skip
def svm_scatter4scaled(t: Tracer, i: SvmChannels) -> None:
    """Store dwords at address + offset + 0, 4, 8, 12, as R, G, B, A say."""
    values = _component_values(t, i.data, UD, len(i.channels))
    slots = [_ORDER.index(letter) for letter in i.channels]
    store_slots(t, Space.FLAT, None, _svm_channel_addresses(t, i), slots, values)


def narrow_atomic(i: Any, platform: Platform | None) -> str | None:
    """DWORD_ATOMIC, TYPED_ATOMIC: 32 bits, or 16 on devices from tgllp on."""
    if i.width == "64":
        return "its elements have 16 or 32 bits, found 64"
    return short_atomic(i, platform)


def short_atomic(i: Any, platform: Platform | None) -> str | None:
    """SVM_ATOMIC: devices from tgllp on have atomics of 16 bits."""
    if i.width != "16" or platform is None or platform.has_short_atomics:
        return None
    return f"{platform.name} has no atomics of 16 bits"


class AtomicOperands(Protocol):
    """What atomics of the older messages have."""

    @property
    def operation(self) -> str: ...  # noqa: D102
    @property
    def width(self) -> str: ...  # noqa: D102
    @property
    def src0(self) -> RawOperand: ...  # noqa: D102
    @property
    def src1(self) -> RawOperand: ...  # noqa: D102


def atomic_sources(t: Tracer, i: AtomicOperands) -> tuple[AtomicOperation, DataType, list[Expr]]:
    """Return an older atomic's operation, its type in memory, and its operands of that type.

    A compare-and-write has its comparand in src1, but in src0 for floats (DWORD_ATOMIC).
    """
    operation = _OPERATIONS.get(i.operation) or AtomicOperation(i.operation)
    kind = {"16": UW, "64": UQ, "": UD}[i.width]
    slot = UQ if kind is UQ else UD
    sources = [t.raw(source, slot, t.lanes).to(kind) for source in (i.src0, i.src1)]
    del sources[operation.operand_count :]
    if operation is AtomicOperation.CMPXCHG:
        sources.reverse()
    return operation, kind, sources


def _atomic(
    t: Tracer, i: SvmAtomic | SurfaceAtomic, space: Space, index: Expr | None, addresses: Expr
) -> None:
    operation, kind, sources = atomic_sources(t, i)
    effect = Atomic(operation, space, index, addresses, kind, tuple(sources), t.mask())
    t.emit(effect)
    old = loaded(effect, kind, t.lanes)
    t.write_raw(i.dst, old if kind is UQ else old.to(UD), effect.mask)


@TABLE.effect(
    0x4E,
    SvmAtomic,
    sub=5,
    restrict=short_atomic,
    example="svm_atomic.cmpxchg (M1, 8) V40.0 V41.0 V42.0 V43.0",
)
def svm_atomic(t: Tracer, i: SvmAtomic) -> None:
    """Read, modify and write memory at each virtual address; the old values are returned."""
    _atomic(t, i, Space.FLAT, None, t.raw(i.addresses, UQ, t.lanes))


@TABLE.effect(
    0x7D,
    SurfaceAtomic,
    restrict=narrow_atomic,
    example="dword_atomic.add (M1, 16) %slm V40.0 V41.0 %null.0 V42.0",
)
def dword_atomic(t: Tracer, i: SurfaceAtomic) -> None:
    """Read, modify and write a surface at each byte offset; the old values are returned."""
    space, index = surface_space(i.surface)
    addresses = in_space(t.raw(i.offsets, UD, t.lanes), i.surface)
    _atomic(t, i, space, index, addresses)
