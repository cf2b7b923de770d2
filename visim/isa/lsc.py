"""Load/store cache messages (specification LSC_UNTYPED).

What all untyped messages share, and those that act on each channel's address or on one block of
successive elements. Atomics and 2D blocks have tables of their own.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from visim.isa.forms import Exec, Pred
from visim.isa.lsc_kinds import CACHE, DATA_SIZES, LOAD_CACHE, QUAD, SHAPE
from visim.isa.lsc_places import ADDRESS, STRIDED
from visim.isa.raw_kinds import RAW_LSC
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import (
    SLM_ADDRESS_BITS,
    block_bytes,
    load_slots,
    loaded,
    store_slots,
    surface_of_state,
)
from visim.isa.sync import SFIDS
from visim.isa.table import Table
from visim.isa.word_kinds import ChoiceKind
from visim.operands import (
    AddressModel,
    GeneralSource,
    Immediate,
    LscAddress,
    LscCache,
    LscCorner,
    LscShape,
    LscSurface,
    LscTexel,
    RawOperand,
    VectorSource,
)
from visim.sem.effects import Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import UOPS, Expr, bits_constant, broadcast, lane_numbers, unsigned
from visim.sem.tracer import SCRATCHLOC, Tracer, Unexecutable
from visim.types import UD, UQ, D, DataType, Q

TABLE = Table(Category.MEMORY)

Sfid = Annotated[str, ChoiceKind(SFIDS, "a shared function")]
Cache = Annotated[LscCache, CACHE]
LoadCache = Annotated[LscCache, LOAD_CACHE]
Shape = Annotated[LscShape, SHAPE]
Address = Annotated[LscAddress, ADDRESS]
Data = Annotated[RawOperand, RAW_LSC]


def message_layout(*, elements: str = "count") -> str:
    """Return the bytes that all messages with addresses begin with.

    An object has the elements of a vector, or the channels of a quad message, twice; a strided
    message has no channels there. A raw operand that a message does not have is 6 bytes that are 0.
    """
    return f"{_HEAD} {{shape.{elements}}} {{shape.{elements}}} {_SURFACE}"


_SURFACE = "{address.surface} {address.index}"
_HEAD = (
    "{sub} {exec} {pred} {sfid} {cache} {address.model} {address.scale} {address.offset} "
    "{address.size} {shape.data} {shape.transposed}"
)
_STRIDED_HEAD = f"{_HEAD} {{shape.count}} 0? {_SURFACE}"


_LOAD = "{pred}{op}.{sfid}{cache} {exec}  {dst}{shape}  {address}"
_STORE = "{pred}{op}.{sfid}{cache} {exec}  {address}  {data}{shape}"


@form(_LOAD, layout=f"{message_layout()} {{dst}} {{address.base}} null null")
class LscLoad(Instruction):
    """A load."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: LoadCache
    address: Address
    shape: Shape
    dst: Data


@form(_STORE, layout=f"{message_layout()} null {{address.base}} {{data}} null")
class LscStore(Instruction):
    """A store."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Address
    shape: Shape
    data: Data


@form(_LOAD, layout=f"{message_layout(elements='channels')} {{dst}} {{address.base}} null null")
class LscLoadQuad(Instruction):
    """A load of some of four successive elements."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: LoadCache
    address: Address
    shape: Annotated[LscShape, QUAD]
    dst: Data


@form(_STORE, layout=f"{message_layout(elements='channels')} null {{address.base}} {{data}} null")
class LscStoreQuad(Instruction):
    """A store of some of four successive elements."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Address
    shape: Annotated[LscShape, QUAD]
    data: Data


def _with_pitch(address: LscAddress, shape: LscShape) -> LscAddress:
    """Return a strided address with its pitch; the default is that of packed elements."""
    if address.pitch is not None:
        return address
    return replace(address, pitch=Immediate(DATA_SIZES[shape.data][0] * shape.count, UD))


@form(_LOAD, layout=f"{_STRIDED_HEAD} {{dst}} {{address.base}} {{address.pitch}} null")
class LscLoadStrided(Instruction):
    """A load from addresses at the same distance from each other."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Annotated[LscAddress, STRIDED]
    shape: Shape
    dst: Data

    def __post_init__(self) -> None:
        """Fill in the default pitch, as assemblers do."""
        object.__setattr__(self, "address", _with_pitch(self.address, self.shape))


@form(_STORE, layout=f"{_STRIDED_HEAD} null {{address.base}} {{address.pitch}} {{data}}")
class LscStoreStrided(Instruction):
    """A store at addresses at the same distance from each other."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Annotated[LscAddress, STRIDED]
    shape: Shape
    data: Data

    def __post_init__(self) -> None:
        """Fill in the default pitch, as assemblers do."""
        object.__setattr__(self, "address", _with_pitch(self.address, self.shape))


# What messages share


@dataclass(frozen=True, slots=True)
class Element:
    """An element's types in memory and in its register slot.

    A narrow one stands in the low bits of its slot, or in the high ones (`high`); a load clears
    the others.
    """

    memory: DataType
    register: DataType
    high: bool

    @property
    def _shift(self) -> int:
        return self.register.bits - self.memory.bits if self.high else 0

    def from_memory(self, value: Expr) -> Expr:
        """Return what a register slot gets of an element."""
        wide = value.to(self.register)
        return wide << self._shift if self.high else wide

    def to_memory(self, slot: Expr) -> Expr:
        """Return what memory gets of a register slot."""
        return (slot >> self._shift if self.high else slot).to(self.memory)


def element_of(data: str) -> Element:
    """Return the element that a data size names."""
    memory, register = DATA_SIZES[data]
    return Element(unsigned(8 * memory), unsigned(8 * register), data == "d16c32h")


def space_of(
    t: Tracer, sfid: str, place: LscAddress | LscSurface | LscTexel | LscCorner
) -> tuple[Space, Expr | None]:
    """Return the memory that a message reaches, and the index of its surface if it has one."""
    model, surface = place.model, place.surface
    if sfid == "tgm":
        raise Unexecutable("an untyped message to the unit for typed ones (tgm)")
    if model is AddressModel.FLAT:
        return (Space.SLM if sfid == "slm" else Space.FLAT), None
    if sfid == "slm":
        raise Unexecutable(f"SLM with addresses of model {model}")
    if model is AddressModel.ARGUMENT:
        return Space.ARGUMENT, None
    if model is AddressModel.SURFACE_STATE:
        return Space.SCRATCH, None
    if surface is None:
        raise Unexecutable(f"an address of model {model} without a surface")
    if model is AddressModel.SURFACE_POINTER and _is_scratch(surface):
        return Space.SCRATCH, None
    index = t.scalar(surface, UQ if model is AddressModel.SURFACE_POINTER else UD)
    if model in {AddressModel.BINDLESS_SURFACE, AddressModel.SURFACE_POINTER}:
        index = surface_of_state(index)
    return Space.SURFACE, index + place.index if place.index else index


def _is_scratch(pointer: VectorSource) -> bool:
    """Return whether a pointer to a surface's state is the one to that of scratch memory."""
    return isinstance(pointer, GeneralSource) and pointer.variable.root()[0].index == SCRATCHLOC


def addresses_of(t: Tracer, address: LscAddress, space: Space) -> Expr:
    """Return the channels' addresses: scale * base + offset, or with a pitch + channel * pitch.

    In flat memory with a base all that is added to the base; it is no address by itself then, and
    its bits are extended as the message says. Addresses of shared local memory have 32 bits, so
    that their sign does not matter.
    """
    lanes = 1 if address.pitch is not None else t.lanes
    found = _extended(t, address, space, lanes)
    wide = found.type
    if address.scale != 1:
        found = found * address.scale
    if address.offset:
        found = found + address.offset % 2**wide.bits
    if address.pitch is not None:
        steps = broadcast(t.scalar(address.pitch, wide), t.lanes)
        found = broadcast(found, t.lanes) + steps * lane_numbers(t.lanes).to(wide)
    if address.model is AddressModel.FLAT and address.surface is not None:
        base = t.scalar(address.surface, UD if space is Space.SLM else UQ)
        found = broadcast(base, t.lanes).to(found.type) + found
    return found & SLM_ADDRESS_BITS if space is Space.SLM else found


def _extended(t: Tracer, address: LscAddress, space: Space, lanes: int) -> Expr:
    """Return what a message has in its registers, in as many bits as its addresses are."""
    kind = unsigned(address.bits)
    found = t.raw(address.base, kind, lanes)
    has_base = address.model is AddressModel.FLAT and address.surface is not None
    if has_base and space is not Space.SLM and kind is not UQ and not address.extended:
        raise Unexecutable(f"indices of size a{address.bits} from a base, with or without sign")
    if address.extended == "s":
        return found.bits_as(D).to(Q).bits_as(UQ)
    return found.to(UQ if space is Space.FLAT or kind is UQ or address.extended else UD)


def _one_channel(t: Tracer) -> None:
    if t.lanes != 1:
        raise Unexecutable(f"transposed data of {t.lanes} channels; it belongs to one")


# Meanings

Loading = LscLoad | LscLoadStrided
Storing = LscStore | LscStoreStrided


def _load(t: Tracer, i: Loading) -> None:
    """Record a load; one without a destination is a prefetch, which changes and checks nothing."""
    if i.dst.is_null:
        return
    space, index = space_of(t, i.sfid, i.address)
    element = element_of(i.shape.data)
    addresses = addresses_of(t, i.address, space)
    if i.shape.transposed:
        _one_channel(t)
        block = LoadBlock(space, index, addresses, element.memory, i.shape.count, t.mask())
        t.emit(block)
        value = element.from_memory(loaded(block, element.memory, block.count))
        mask = None if block.mask is None else broadcast(block.mask, value.lanes)
        t.write_raw(i.dst, value, mask)
        return
    effect = Load(space, index, addresses, element.memory, i.shape.count, t.mask())
    t.emit(effect)
    for component in range(i.shape.count):
        value = element.from_memory(loaded(effect, element.memory, t.lanes, component))
        t.write_raw(i.dst, value, effect.mask, component * block_bytes(t, element.register.bytes))


def _store(t: Tracer, i: Storing) -> None:
    space, index = space_of(t, i.sfid, i.address)
    element = element_of(i.shape.data)
    addresses = addresses_of(t, i.address, space)
    if i.shape.transposed:
        _one_channel(t)
        value = element.to_memory(t.raw(i.data, element.register, i.shape.count))
        t.emit(StoreBlock(space, index, addresses, value, t.mask()))
        return
    values = _components(t, i.data, element, i.shape.count)
    t.emit(Store(space, index, addresses, values, t.mask()))


def _components(t: Tracer, data: RawOperand, element: Element, count: int) -> tuple[Expr, ...]:
    """Return what memory gets of `count` components, each of which begins at a register."""
    size = block_bytes(t, element.register.bytes)
    return tuple(
        element.to_memory(t.raw(data, element.register, t.lanes, component * size))
        for component in range(count)
    )


@TABLE.effect(
    0x89, LscLoad, sub=0x00, page="LSC_UNTYPED",
    example="lsc_load.ugm.ca.ca (M1, 32)  V40:d32x4  flat[V41+0x10]:a64",
)  # fmt: skip
def lsc_load(t: Tracer, i: LscLoad) -> None:
    """Load a vector of elements from each channel's address, or one block when transposed."""
    _load(t, i)


@TABLE.effect(
    0x89, LscLoadStrided, sub=0x01, page="LSC_UNTYPED",
    example="lsc_load_strided.ugm (M1, 32)  V40:d32  flat[V41+0x10, 0x8]:a64",
)  # fmt: skip
def lsc_load_strided(t: Tracer, i: LscLoadStrided) -> None:
    """Load a vector of elements from base + channel * pitch."""
    _load(t, i)


@TABLE.effect(
    0x89, LscLoadQuad, sub=0x02, page="LSC_UNTYPED",
    example="lsc_load_quad.ugm (M1, 32)  V40:d32.xzw  flat[V41]:a64",
)  # fmt: skip
def lsc_load_quad(t: Tracer, i: LscLoadQuad) -> None:
    """Load the chosen ones of four successive elements from each channel's address."""
    if i.dst.is_null:
        return
    space, index = space_of(t, i.sfid, i.address)
    element = element_of(i.shape.data)
    addresses = addresses_of(t, i.address, space)
    found = load_slots(t, space, index, addresses, _slots(i.shape), element.memory)
    for position, value in enumerate(found):
        place = position * block_bytes(t, element.register.bytes)
        t.write_raw(i.dst, element.from_memory(value), t.mask(), place)


def _slots(shape: LscShape) -> list[int]:
    return ["xyzw".index(letter) for letter in shape.channels]


@TABLE.effect(
    0x89, LscStore, sub=0x04, page="LSC_UNTYPED",
    example="lsc_store.ugm (M1, 32)  flat[V40]:a64  V41:d32",
)  # fmt: skip
def lsc_store(t: Tracer, i: LscStore) -> None:
    """Store a vector of elements at each channel's address, or one block when transposed."""
    _store(t, i)


@TABLE.effect(
    0x89, LscStoreStrided, sub=0x05, page="LSC_UNTYPED",
    example="lsc_store_strided.ugm (M1, 32)  flat[V40, 0x10]:a64  V41:d32",
)  # fmt: skip
def lsc_store_strided(t: Tracer, i: LscStoreStrided) -> None:
    """Store a vector of elements at base + channel * pitch."""
    _store(t, i)


@TABLE.effect(
    0x89, LscStoreQuad, sub=0x06, page="LSC_UNTYPED",
    example="lsc_store_quad.ugm (M1, 32)  flat[V40]:a64  V41:d32.xyz",
)  # fmt: skip
def lsc_store_quad(t: Tracer, i: LscStoreQuad) -> None:
    """Store to the chosen ones of four successive elements at each channel's address."""
    space, index = space_of(t, i.sfid, i.address)
    element = element_of(i.shape.data)
    addresses = addresses_of(t, i.address, space)
    slots = _slots(i.shape)
    values = _components(t, i.data, element, len(slots))
    store_slots(t, space, index, addresses, slots, values)


@TABLE.effect(
    0x89, LscLoad, sub=0x1B, page="LSC_UNTYPED",
    example="lsc_load_status.ugm (M1, 32)  V40:d32  flat[V41]:a64",
)  # fmt: skip
def lsc_load_status(t: Tracer, i: LscLoad) -> None:
    """Return a bit for each enabled channel: its address lies in a valid page.

    All memory that visim has is valid, so that the bits are those of the enabled channels; an
    address outside of it stops the run, as for a load.
    """
    space, index = space_of(t, i.sfid, i.address)
    element = element_of(i.shape.data)
    addresses = addresses_of(t, i.address, space)
    mask = t.mask()
    t.emit(Load(space, index, addresses, element.memory, i.shape.count, mask))
    enabled = bits_constant(1, UD, t.lanes).ne(0) if mask is None else mask
    t.write_raw(i.dst, Expr(UOPS["mask_bits"], UD, 1, (enabled,)), None)


@TABLE.effect(
    0x89, LscStore, sub=0x1C, page="LSC_UNTYPED",
    example="lsc_store_uncompressed.ugm (M1, 32)  flat[V40]:a64  V41:d32",
)  # fmt: skip
def lsc_store_uncompressed(t: Tracer, i: LscStore) -> None:
    """Store without compression; visim compresses nothing, so that it is a plain store."""
    _store(t, i)


TABLE.unexecuted(
    0x89, "lsc_ccs_update", LscStore, sub=0x1D, page="LSC_UNTYPED",
    doc="Change the state of compression of memory.",
    example="lsc_ccs_update.ugm (M1, 32)  flat[V40]:a64  V41:d32",
    reason="no page says what it does, and visim compresses nothing",
)  # fmt: skip
