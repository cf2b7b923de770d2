"""Rules for LSC messages: cache controls, addresses, data (specification LSC_UNTYPED).

Cache controls are those of the page's table, which is about pvc; Intel's assembler refuses the same
there. Other devices are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import Rules, Site, Wrong
from visim.diag import Severity
from visim.isa.lsc import (
    LscLoad,
    LscLoadQuad,
    LscLoadStrided,
    LscStore,
    LscStoreQuad,
    LscStoreStrided,
)
from visim.isa.lsc_atomics import ATOMIC_SIZES, LscAtomic, LscCounter
from visim.isa.lsc_block2d import LscLoadBlock, LscStoreBlock
from visim.isa.lsc_block_places import arrangement
from visim.isa.lsc_kinds import CACHE, DATA_SIZES
from visim.isa.lsc_typed import LscLoadTexels, LscStoreTexels, LscTypedAtomic
from visim.operands import (
    AddressModel,
    LscBlock,
    LscCache,
    LscPlanePayload,
    LscShape,
    RawOperand,
)

_LOADS = (LscLoad, LscLoadQuad, LscLoadStrided, LscLoadBlock, LscLoadTexels)
_STORES = (LscStore, LscStoreQuad, LscStoreStrided, LscStoreBlock, LscStoreTexels)
_ATOMICS = (LscAtomic, LscCounter, LscTypedAtomic)
_BLOCKS = (LscLoadBlock, LscStoreBlock)
_ADDRESSED = (*_LOADS[:3], *_STORES[:3], LscAtomic)
_SHAPED = (*_ADDRESSED, LscCounter)
_TYPED = (LscLoadTexels, LscStoreTexels, LscTypedAtomic)
_STATES = {
    AddressModel.BINDING_TABLE,
    AddressModel.SURFACE_STATE,
    AddressModel.BINDLESS_SURFACE,
    AddressModel.SURFACE_POINTER,
}

_CACHES_OF_BOTH = frozenset({("df", "df"), ("uc", "uc"), ("st", "uc")})
_PAIRS_OF_LOADS = _CACHES_OF_BOTH | {
    ("uc", "ca"), ("ca", "uc"), ("ca", "ca"), ("st", "ca"), ("ri", "ca")
}  # fmt: skip
_PAIRS_OF_STORES = _CACHES_OF_BOTH | {
    ("uc", "wb"), ("wt", "uc"), ("wt", "wb"), ("st", "wb"), ("wb", "wb")
}  # fmt: skip
# Atomics take place behind the first level, so that it cannot keep anything.
_PAIRS_OF_ATOMICS = frozenset({("df", "df"), ("uc", "uc"), ("uc", "wb")})
_CACHES: dict[type, tuple[str, frozenset[tuple[str, str]]]] = {
    **dict.fromkeys(_LOADS, ("loads", _PAIRS_OF_LOADS)),
    **dict.fromkeys(_STORES, ("stores", _PAIRS_OF_STORES)),
    **dict.fromkeys(_ATOMICS, ("atomics", _PAIRS_OF_ATOMICS)),
}
_VECTOR_DATA = frozenset({"d32", "d64", "d8c32", "d16c32"})
_MOST_ELEMENTS, _MOST_DWORDS, _CHANNELS_OF_DWORDS = 4, 8, 16
_BLOCK_COUNTS = {1: (1, 2, 4), 2: (1, 2, 4), 4: (1, 2)}
_WIDEST, _HIGHEST = 64, 32
_DWORD, _QUAD_BYTES = 4, 8
_PAYLOAD_BYTES = 8 * _DWORD
_STORE_QUAD, _IN_ORDER = "lsc_store_quad", "xyzw"
_STATUS = "lsc_load_status"
_PAGE = "vISA 6, LSC_UNTYPED"

rules = Rules()


@rules.instruction(
    "lsc-cache",
    f"{_PAGE}, CachingL1",
    platform="pvc",
    failing="lsc_load.ugm.wb.wb (M1, 16) D:d32 flat[UD]:a64",
    passing="lsc_load.ugm.ca.ca (M1, 16) D:d32 flat[UD]:a64",
)
def cache_controls(at: Site) -> Iterator[Wrong]:
    """The cache controls of a message are a pair that the page's table has for it."""
    item = at.instruction
    if not isinstance(item, (*_SHAPED, *_BLOCKS, *_TYPED)) or _is_local(item):
        return
    if at.platform is None or at.platform.name != "pvc":
        return
    what, legal = _CACHES[type(item)]
    cache = item.cache
    if cache.l2 is not None or (cache.l1, cache.l3) not in legal:
        yield Wrong(f"{what} cannot have the cache controls {CACHE.show(cache)}")


@rules.instruction(
    "lsc-local-cache",
    f"{_PAGE}, CachingL1",
    severity=Severity.NOTE,
    failing="lsc_load.slm.ca.ca (M1, 16) D:d32 flat[UD]:a32",
    passing="lsc_load.slm (M1, 16) D:d32 flat[UD]:a32",
)
def local_caches(at: Site) -> Iterator[Wrong]:
    """Shared local memory has no cache; compilers write controls all the same, which do nothing."""
    item = at.instruction
    if isinstance(item, (*_SHAPED, *_BLOCKS)) and _is_local(item) and item.cache != LscCache():
        yield Wrong("SLM has no cache", "leave the cache controls out")


def _is_local(item: object) -> bool:
    return getattr(item, "sfid", "") == "slm"


@rules.instruction(
    "lsc-memory",
    f"{_PAGE}, LscSFID",
    failing="lsc_load.slm (M1, 16) D:d32 bti(0x4)[UD]:a32",
    passing="lsc_load.slm (M1, 16) D:d32 flat[UD]:a32",
)
def memory(at: Site) -> Iterator[Wrong]:
    """A message goes to memory that its kind of message has.

    SLM has flat addresses, tgm takes typed messages only, 2D blocks lie in global memory, append
    counters belong to surfaces, and only pvc has ugml.
    """
    item = at.instruction
    if isinstance(item, _BLOCKS):
        if item.sfid not in {"ugm", "ugml"}:
            yield Wrong(f"2D blocks lie in global memory, not {item.sfid}")
        return
    if not isinstance(item, _SHAPED):
        return
    place = item.surface if isinstance(item, LscCounter) else item.address
    if item.sfid == "tgm":
        yield Wrong("tgm takes typed messages only")
    elif item.sfid == "slm" and place.model != AddressModel.FLAT:
        yield Wrong("SLM has flat addresses, no surfaces")
    elif item.sfid == "ugml" and at.platform is not None and at.platform.name != "pvc":
        yield Wrong(f"{at.platform.name} has no ugml")
    elif isinstance(item, LscCounter) and place.model not in _STATES:
        yield Wrong(f"an append counter belongs to a surface, not to {place.model} memory")


@rules.instruction(
    "lsc-address-size",
    f"{_PAGE}, AddrSize",
    failing="lsc_load.ugm (M1, 16) D:d32 flat[UD]:a16",
    passing="lsc_load.slm (M1, 16) D:d32 flat[UD]:a16",
)
def address_size(at: Site) -> Iterator[Wrong]:
    """Addresses of 16 bits belong to shared local memory, those of 64 to flat global memory.

    Offsets into surfaces and arguments have 32 bits.
    """
    item = at.instruction
    if not isinstance(item, _ADDRESSED):
        return
    bits, model = item.address.bits, item.address.model
    if bits == 16 and item.sfid != "slm":
        yield Wrong(f"a16 addresses in {item.sfid}; only SLM has them")
    elif bits == 64 and item.sfid == "slm":
        yield Wrong("a64 addresses in SLM, which has a16 and a32")
    elif bits == 64 and model != AddressModel.FLAT:
        yield Wrong(f"a64 addresses of model {model}; it has a32")


@rules.instruction(
    "lsc-transposed",
    f"{_PAGE}, Description",
    failing="lsc_load.ugm (M1, 16) D:d32x8t flat[UD]:a64",
    passing="lsc_load.ugm (M1_NM, 1) D:d32x8t flat[UD]:a64",
)
def transposed(at: Site) -> Iterator[Wrong]:
    """Transposed data belongs to one channel: the execution size is 1; atomics have none."""
    item = at.instruction
    if not isinstance(item, _SHAPED) or not item.shape.transposed:
        return
    if isinstance(item, _ATOMICS):
        yield Wrong("the data of atomics cannot be transposed")
    elif item.exec.size != 1:
        yield Wrong(f"transposed data belongs to one channel, not {item.exec.size}")


@rules.instruction(
    "lsc-atomic-data",
    f"{_PAGE}, Description",
    failing="lsc_atomic_iadd.ugm (M1, 16) D:d8 flat[UD]:a64 W %null",
    passing="lsc_atomic_iadd.ugm (M1, 16) D:d32 flat[UD]:a64 W %null",
)
def atomic_data(at: Site) -> Iterator[Wrong]:
    """Atomics act on one element a channel, of 16 (d16u32), 32 or 64 bits."""
    item = at.instruction
    if not isinstance(item, _ATOMICS):
        return
    shape = item.shape
    if shape.count != 1:
        yield Wrong(f"atomics act on one element a channel, not {shape.count}")
    elif shape.data not in ATOMIC_SIZES:
        yield Wrong(f"there are no atomics on {shape.data}, only on d16u32, d32 and d64")


@rules.instruction(
    "lsc-vector-data",
    f"{_PAGE}, DataElemsPerAddr",
    severity=Severity.WARNING,
    failing="lsc_load.ugm (M1, 16) D:d16x2 flat[UD]:a64",
    passing="lsc_load.ugm (M1, 16) D:d32x2 flat[UD]:a64",
)
def vector_data(at: Site) -> Iterator[Wrong]:
    """Vectors have elements of 32 or 64 bits in registers, and more than 4 only transposed.

    Devices have no others but 8 of 32 bits for up to 16 channels, which compilers for pvc write.
    The same holds of the components of quad and typed messages.
    """
    item = at.instruction
    if not isinstance(item, (*_SHAPED, *_TYPED)):
        return
    shape = item.shape
    if (shape.count > 1 or shape.channels) and shape.data not in _VECTOR_DATA:
        yield Wrong(f"a vector of {len(shape.channels) or shape.count} elements of {shape.data}")
    elif not shape.transposed and shape.count > _most_elements(shape, item.exec.size):
        yield Wrong(f"a vector of {shape.count} elements that is not transposed")


def _most_elements(shape: LscShape, channels: int) -> int:
    """Return how many elements each of a message's channels has at most."""
    few = shape.data == "d32" and channels <= _CHANNELS_OF_DWORDS
    return _MOST_DWORDS if few else _MOST_ELEMENTS


@rules.instruction(
    "lsc-store-components",
    f"{_PAGE}, DataElemsPerAddr",
    severity=Severity.WARNING,
    platform="pvc",
    failing="lsc_store_quad.ugm (M1, 16) flat[UD]:a64 D:d32.xz",
    passing="lsc_store_quad.ugm (M1, 16) flat[UD]:a64 D:d32.xyz",
)
def store_components(at: Site) -> Iterator[Wrong]:
    """The components that a quad store writes begin with x and have no gap.

    The page of typed messages has an example with x and z; Intel's assembler refuses it.
    """
    item = at.instruction
    if not isinstance(item, (*_SHAPED, *_TYPED)) or not item.op.mnemonic.startswith(_STORE_QUAD):
        return
    channels = item.shape.channels
    if not _IN_ORDER.startswith(channels):
        first = _IN_ORDER[: len(channels)]
        yield Wrong(f"a store of {channels}; devices store x, xy, xyz or xyzw", f"store {first}")


@rules.instruction(
    "lsc-channels",
    f"{_PAGE}, Exec_size",
    severity=Severity.WARNING,
    platform="dg2",
    failing="lsc_load.ugm (M1, 32) D:d32 flat[F]:a32",
    passing="lsc_load.ugm (M1, 16) D:d32 flat[F]:a32",
)
def channels(at: Site) -> Iterator[Wrong]:
    """A message has as many channels as the device: 16 on dg2, 32 from pvc on."""
    item = at.instruction
    if at.platform is None or not isinstance(item, _SHAPED):
        return
    most, size = at.platform.message_channels, item.exec.size
    if size > most:
        yield Wrong(f"{size} channels, a message of {at.platform.name} has at most {most}")


@rules.instruction(
    "lsc-data-size",
    "vISA 5, Raw Operands",
    platform="pvc",
    failing="lsc_load.ugm (M1, 16) D:d64x4 flat[UD]:a64",
    passing="lsc_load.ugm (M1, 16) D:d64x2 flat[UD]:a64",
)
def data_size(at: Site) -> Iterator[Wrong]:
    """The data of a message fits in its variable.

    Each element of a vector takes whole registers; elements of 8 or 16 bits are packed. A status
    has a bit for each channel, the payload of a 2D block eight dwords.
    """
    item = at.instruction
    if at.platform is None:
        return
    if item.op.mnemonic == _STATUS:
        needed = _DWORD
    elif isinstance(item, _BLOCKS):
        needed = _block_bytes(item.block, at.platform.grf_bytes)
    elif isinstance(item, _SHAPED):
        needed = _register_bytes(item.shape, item.exec.size, at.platform.grf_bytes)
    else:
        return
    for name, operand in at.operands:
        if name in {"dst", "data"} and not operand.is_null:
            yield from _fits(name, operand, needed)
    if isinstance(item, _BLOCKS) and isinstance(item.address, LscPlanePayload):
        payload = item.address.payload_at(at.platform.grf_bytes)
        yield from _fits("the payload", payload, _PAYLOAD_BYTES)


def _register_bytes(shape: LscShape, size: int, grf: int) -> int:
    """Return the least bytes of registers that the data takes; the last register may be partial."""
    element = DATA_SIZES[shape.data][1]
    count = len(shape.channels) or shape.count
    if shape.transposed:
        return element * count
    whole = -(-element * size // grf) * grf
    return whole * (count - 1) + element * size


def _block_bytes(block: LscBlock, grf: int) -> int:
    """Return the bytes of registers up to the last element of a 2D block; 0 if none is known."""
    memory, register = DATA_SIZES[block.data]
    if memory != register or not _is_small(block) or _vnni_misfit(block):
        return 0
    cells = arrangement(block, grf)
    return memory * (1 + max(at for at, cell in enumerate(cells) if cell is not None))


def _fits(name: str, operand: RawOperand, needed: int) -> Iterator[Wrong]:
    variable = operand.variable
    left = variable.bytes - operand.offset
    if not variable.is_predefined and needed > left:
        text = f"{name} takes {needed} bytes, {variable.name} has {max(left, 0)} from there on"
        yield Wrong(text)


@rules.instruction(
    "lsc-block-shape",
    f"{_PAGE}, Description",
    failing="lsc_load_block2d.ugm (M1_NM, 1) D:d32.3x8x8nn flat[UD,UD,UD,UD,0x0,0x0]",
    passing="lsc_load_block2d.ugm (M1_NM, 1) D:d32.1x8x8nn flat[UD,UD,UD,UD,0x0,0x0]",
)
def block_shape(at: Site) -> Iterator[Wrong]:
    """A 2D block has rows and columns; a store has one block, a load has 1, 2 or 4.

    Loads of d32 have at most 2, those of d64 one. A block is at most 64 bytes wide and 32 rows
    high: the page refers to the documentation of devices, Intel's assembler knows these limits.
    VNNI transformed blocks have elements of 8, 16 or 32 bits that fill dwords.
    """
    item = at.instruction
    if not isinstance(item, _BLOCKS):
        return
    block, memory = item.block, DATA_SIZES[item.block.data][0]
    if not (block.width and block.height and block.blocks):
        yield Wrong(f"a block of {block.blocks}x{block.width}x{block.height} elements is empty")
    elif isinstance(item, LscStoreBlock) and block.blocks != 1:
        yield Wrong(f"a store moves one block, not {block.blocks}")
    elif block.blocks not in _BLOCK_COUNTS.get(memory, (1,)):
        legal = ", ".join(map(str, _BLOCK_COUNTS.get(memory, (1,))))
        yield Wrong(f"a load of {block.data} moves {legal} blocks, not {block.blocks}")
    elif not _is_small(block):
        size = f"{block.width * memory} bytes wide and {block.height} rows high"
        yield Wrong(f"a block {size}, at most {_WIDEST} and {_HIGHEST} are possible")
    elif misfit := _vnni_misfit(block):
        yield Wrong(misfit)


def _is_small(block: LscBlock) -> bool:
    width = block.width * DATA_SIZES[block.data][0]
    return 0 < width <= _WIDEST and 0 < block.height <= _HIGHEST and block.blocks > 0


def _vnni_misfit(block: LscBlock) -> str | None:
    """Tell why a block cannot be VNNI transformed, if it should be."""
    memory = DATA_SIZES[block.data][0]
    along = block.width if block.transposed else block.height
    if not block.vnni or (memory < _QUAD_BYTES and along % max(1, _DWORD // memory) == 0):
        return None
    return f"{along} elements of {block.data} to a column do not fill dwords"
