"""Rules for LSC messages: cache controls, addresses, data (specification LSC_UNTYPED).

Cache controls are those of the page's table, which is about pvc; Intel's assembler refuses the same
there. Other devices are not judged, but for SLM, which has no cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import Rules, Site, Wrong
from visim.diag import Severity
from visim.isa import Instruction
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
from visim.isa.lsc_kinds import DATA_SIZES
from visim.operands import (
    AddressModel,
    LscAddress,
    LscBlock,
    LscCache,
    LscShape,
    RawOperand,
)

_LOADS = (LscLoad, LscLoadQuad, LscLoadStrided, LscLoadBlock)
_STORES = (LscStore, LscStoreQuad, LscStoreStrided, LscStoreBlock)
_ATOMICS = (LscAtomic, LscCounter)
_BLOCKS = (LscLoadBlock, LscStoreBlock)
_SHAPED = (*_LOADS[:3], *_STORES[:3], *_ATOMICS)

_CACHES_OF_BOTH = frozenset({("df", "df"), ("uc", "uc"), ("st", "uc")})
_CACHES = (
    (
        _LOADS,
        "loads",
        _CACHES_OF_BOTH | {("uc", "ca"), ("ca", "uc"), ("ca", "ca"), ("st", "ca"), ("ri", "ca")},
    ),
    (
        _STORES,
        "stores",
        _CACHES_OF_BOTH | {("uc", "wb"), ("wt", "uc"), ("wt", "wb"), ("st", "wb"), ("wb", "wb")},
    ),
    # Atomics take place behind the first level, so that it cannot keep anything.
    (_ATOMICS, "atomics", frozenset({("df", "df"), ("uc", "uc"), ("uc", "wb")})),
)
_VECTOR_DATA = frozenset({"d32", "d64", "d8c32", "d16c32"})
_CHANNELS = {"dg2": 16, "pvc": 32}
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
    """The cache controls of a message are a pair that the page's table has for it.

    Messages to shared local memory have none, on every device.
    """
    cache = getattr(at.instruction, "cache", None)
    if not isinstance(cache, LscCache):
        return
    if getattr(at.instruction, "sfid", None) == "slm":
        if cache != LscCache():
            yield Wrong("SLM has no cache", "leave the cache controls out")
        return
    if at.platform is None or at.platform.name != "pvc":
        return
    for forms, what, legal in _CACHES:
        if isinstance(at.instruction, forms) and (cache.l1, cache.l3) not in legal:
            yield Wrong(f"{what} cannot have the cache controls .{cache.l1}.{cache.l3}")


@rules.instruction(
    "lsc-memory",
    f"{_PAGE}, LscSFID",
    failing="lsc_load.slm (M1, 16) D:d32 bti(0x4)[UD]:a32",
    passing="lsc_load.slm (M1, 16) D:d32 flat[UD]:a32",
)
def memory(at: Site) -> Iterator[Wrong]:
    """A message goes to memory that its kind of message has.

    SLM has flat addresses, tgm takes typed messages only, 2D blocks lie in global memory.
    """
    item = at.instruction
    if isinstance(item, _BLOCKS):
        if item.sfid not in {"ugm", "ugml"}:
            yield Wrong(f"2D blocks lie in global memory, not {item.sfid}")
        return
    if not isinstance(item, _SHAPED):
        return
    address = getattr(item, "address", None)
    if item.sfid == "tgm":
        yield Wrong("tgm takes typed messages only")
    elif item.sfid == "slm" and getattr(address, "model", AddressModel.FLAT) != AddressModel.FLAT:
        yield Wrong("SLM has flat addresses, no surfaces")


@rules.instruction(
    "lsc-address-size",
    f"{_PAGE}, AddrSize",
    failing="lsc_load.ugm (M1, 16) D:d32 flat[UD]:a16",
    passing="lsc_load.slm (M1, 16) D:d32 flat[UD]:a16",
)
def address_size(at: Site) -> Iterator[Wrong]:
    """Addresses of 16 bits belong to shared local memory."""
    address = getattr(at.instruction, "address", None)
    if not isinstance(at.instruction, _SHAPED) or not isinstance(address, LscAddress):
        return
    sfid = at.instruction.sfid
    if address.bits == 16 and sfid != "slm":
        yield Wrong(f"a16 addresses in {sfid}; only SLM has them")


@rules.instruction(
    "lsc-transposed",
    f"{_PAGE}, Description",
    failing="lsc_load.ugm (M1, 16) D:d32x8t flat[UD]:a64",
    passing="lsc_load.ugm (M1_NM, 1) D:d32x8t flat[UD]:a64",
)
def transposed(at: Site) -> Iterator[Wrong]:
    """Transposed data belongs to one channel: the execution size is 1; atomics have none."""
    shape = getattr(at.instruction, "shape", None)
    if not isinstance(at.instruction, _SHAPED) or not isinstance(shape, LscShape):
        return
    if not shape.transposed:
        return
    if isinstance(at.instruction, _ATOMICS):
        yield Wrong("the data of atomics cannot be transposed")
    elif at.instruction.exec.size != 1:
        size = at.instruction.exec.size
        yield Wrong(f"transposed data belongs to one channel, not {size}")


@rules.instruction(
    "lsc-atomic-data",
    f"{_PAGE}, Description",
    failing="lsc_atomic_iadd.ugm (M1, 16) D:d8 flat[UD]:a64 W %null",
    passing="lsc_atomic_iadd.ugm (M1, 16) D:d32 flat[UD]:a64 W %null",
)
def atomic_data(at: Site) -> Iterator[Wrong]:
    """Atomics act on one element a channel, of 16 (d16u32), 32 or 64 bits."""
    if not isinstance(at.instruction, _ATOMICS):
        return
    shape = at.instruction.shape
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
    """Vectors have elements of 32 or 64 bits in registers; devices have no others."""
    shape = getattr(at.instruction, "shape", None)
    if not isinstance(at.instruction, _SHAPED) or not isinstance(shape, LscShape):
        return
    if shape.count > 1 and not shape.channels and shape.data not in _VECTOR_DATA:
        yield Wrong(f"a vector of {shape.count} elements of {shape.data}")


@rules.instruction(
    "lsc-channels",
    f"{_PAGE}, Exec_size",
    severity=Severity.WARNING,
    platform="dg2",
    failing="lsc_load.ugm (M1, 32) D:d32 flat[F]:a32",
    passing="lsc_load.ugm (M1, 16) D:d32 flat[F]:a32",
)
def channels(at: Site) -> Iterator[Wrong]:
    """A message has as many channels as the device: 16 on dg2, 32 on pvc."""
    if at.platform is None or not isinstance(at.instruction, _SHAPED):
        return
    most = _CHANNELS.get(at.platform.name)
    size = at.instruction.exec.size
    if most is not None and size > most:
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

    Each element of a vector takes whole registers; elements of 8 or 16 bits are packed.
    """
    shape = getattr(at.instruction, "shape", None)
    if at.platform is None or not isinstance(at.instruction, _SHAPED):
        return
    if not isinstance(shape, LscShape):
        return
    needed = _register_bytes(shape, at.instruction.exec.size, at.platform.grf_bytes)
    for name in ("dst", "data"):
        operand = getattr(at.instruction, name, None)
        if isinstance(operand, RawOperand) and not operand.is_null:
            yield from _fits(name, operand, needed)


def _register_bytes(shape: LscShape, size: int, grf: int) -> int:
    """Return the least bytes of registers that the data takes; the last register may be partial."""
    element = DATA_SIZES[shape.data][1]
    count = len(shape.channels) or shape.count
    if shape.transposed:
        return element * count
    whole = -(-element * size // grf) * grf
    return whole * (count - 1) + element * size


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
    """A 2D block has rows and columns; a store has one block, a load has 1, 2 or 4."""
    item: Instruction = at.instruction
    if not isinstance(item, _BLOCKS):
        return
    block: LscBlock = item.block
    if not (block.width and block.height and block.blocks):
        yield Wrong(f"a block of {block.blocks}x{block.width}x{block.height} elements is empty")
    elif isinstance(item, LscStoreBlock) and block.blocks != 1:
        yield Wrong(f"a store moves one block, not {block.blocks}")
    elif isinstance(item, LscLoadBlock) and block.blocks not in {1, 2, 4}:
        yield Wrong(f"a load moves 1, 2 or 4 blocks, not {block.blocks}")
