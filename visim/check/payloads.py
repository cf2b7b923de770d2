"""Rules for data that is no region: it fits in the variables that hold it (specification 5).

How many bytes of registers a message takes follows from its page. LSC messages with data of one
shape have a rule of their own in `visim.check.messages`.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import Rules, Site, Wrong
from visim.isa.lsc_atomics import ATOMIC_SIZES, LscAtomic
from visim.isa.lsc_kinds import DATA_SIZES
from visim.isa.lsc_typed import LscLoadTexels, LscStoreTexels, LscTypedAtomic
from visim.isa.lsc_typed_blocks import LscLoadRectangle, LscStoreRectangle
from visim.isa.media_blocks import MediaBlock, row_pitch
from visim.isa.memory import (
    OwordLoad,
    OwordStore,
    ScaledBytes,
    ScaledChannels,
    SurfaceAtomic,
    SvmAtomic,
    SvmBlock,
    SvmChannels,
    SvmScattered,
    UnalignedOwordLoad,
)
from visim.isa.sampler import Gathered, Question, Sampled, SamplesQuestion, Unsampled
from visim.isa.scattered import Gathering, Qwords, Scattering
from visim.isa.typed import TypedAtomic, TypedChannels
from visim.operands import GeneralDestination, GeneralSource, RawOperand

Payload = tuple[str, RawOperand, int]
"""An operand's name, the operand, the bytes from its start on that the message reads or writes."""
_OWORD, _QWORD, _DWORD, _WORD = 16, 8, 4, 2
_COMPONENTS = 4
_STATUS = "lsc_load_status"
_SCALARS = 4

rules = Rules()


@rules.instruction(
    "operand-sequence",
    "vISA 6, MADW, PLN; 8, LINE",
    platform="skl",
    failing="plane (M1, 16) F(0,0)<1> F(0,0)<0;1,0> F(5,0)<8;8,1>",
    passing="plane (M1, 16) F(0,0)<1> F(0,0)<0;1,0> F(4,0)<8;8,1>",
)
def sequences_fit(at: Site) -> Iterator[Wrong]:
    """What an instruction takes one after another, whatever the region, fits in its variable.

    That are the two blocks of results of MADW, the four scalars of LINE and PLN, and two elements
    for each channel of PLN.
    """
    if at.platform is None or at.exec_size is None:
        return
    for name, operand, needed in _sequences(at, at.exec_size.size, at.platform.grf_bytes):
        variable = operand.variable
        start = operand.row * at.platform.grf_bytes + operand.col * variable.type.bytes
        left = max(variable.bytes - start, 0)
        if needed > left and not variable.is_predefined:
            yield Wrong(f"{name} takes {needed} bytes, {variable.name} has {left} from there on")


def _sequences(
    at: Site, lanes: int, grf: int
) -> Iterator[tuple[str, GeneralSource | GeneralDestination, int]]:
    """Yield the direct operands of which an instruction takes more than their region says."""
    mnemonic, operands = at.instruction.op.mnemonic, dict(at.operands)
    dst, src0, src1 = operands.get("dst"), operands.get("src0"), operands.get("src1")
    if mnemonic == "madw" and isinstance(dst, GeneralDestination):
        last = ((lanes - 1) * dst.stride + 1) * _DWORD
        yield "dst", dst, -(-lanes * _DWORD // grf) * grf + last
    if mnemonic in {"line", "plane"} and isinstance(src0, GeneralSource):
        yield "src0", src0, _SCALARS * _DWORD
    if mnemonic == "plane" and isinstance(src1, GeneralSource):
        yield "src1", src1, 2 * lanes * _DWORD


def register_bytes(element: int, channels: int, components: int, grf: int) -> int:
    """Return the least bytes of `components` blocks, each of which begins at a register."""
    whole = -(-element * channels // grf) * grf
    return whole * (components - 1) + element * channels


@rules.instruction(
    "message-data-size",
    "vISA 5, Raw Operands",
    platform="skl",
    failing=".decl X v_type=G type=d num_elts=8 align=GRF\noword_ld (4) T6 0x0:ud X.0",
    passing=".decl X v_type=G type=d num_elts=16 align=GRF\noword_ld (4) T6 0x0:ud X.0",
)
def data_fits(at: Site) -> Iterator[Wrong]:
    """The data of a message fits in its variables: what lies beyond belongs to others.

    Components of several channels take whole registers each. A store of one oword may take less:
    compilers store the 8 bytes of a pointer so.
    """
    if at.platform is None:
        return
    for name, operand, needed in _payloads(at, at.platform.grf_bytes):
        variable = operand.variable
        left = max(variable.bytes - operand.offset, 0)
        if needed > left and not variable.is_predefined:
            yield Wrong(f"{name} takes {needed} bytes, {variable.name} has {left} from there on")


def _payloads(at: Site, grf: int) -> Iterator[Payload]:
    """Yield the operands of a message that hold data."""
    item = at.instruction
    lanes = at.exec_size.size if at.exec_size is not None else 1
    match item:
        case OwordLoad() | UnalignedOwordLoad():
            yield "data", item.data, _OWORD * item.count
        case OwordStore() | SvmBlock():
            if item.count > 1 or item.op.mnemonic.endswith("ld"):
                yield "data", item.data, _OWORD * item.count
        case ScaledChannels() | SvmChannels() | TypedChannels():
            yield "data", item.data, register_bytes(_DWORD, lanes, len(item.channels), grf)
        case SvmScattered():
            yield "data", item.data, _scattered_bytes(item, lanes, grf)
        case ScaledBytes() | Gathering() | Scattering():
            yield "data", item.data, _DWORD * lanes
        case Qwords():
            yield "data", item.data, _QWORD * lanes
        case SvmAtomic() | SurfaceAtomic() | TypedAtomic():
            size = _QWORD if item.width == "64" else _DWORD
            yield from _of_atomic(item, size * lanes)
        case LscAtomic() if item.shape.data in ATOMIC_SIZES:
            yield from _atomic_sources(item, DATA_SIZES[item.shape.data][1] * lanes)
        case LscTypedAtomic() if item.shape.data in ATOMIC_SIZES:
            yield from _of_atomic(item, DATA_SIZES[item.shape.data][1] * lanes)
        case MediaBlock():
            yield "data", item.data, _rectangle_bytes(item.width, item.height)
        case _:
            yield from _of_images(item, lanes, grf)


def _scattered_bytes(item: SvmScattered, lanes: int, grf: int) -> int:
    """Return the bytes of SVM_GATHER and SVM_SCATTER: up to four bytes stand in a dword."""
    if item.size > 1:
        return register_bytes(item.size, lanes, item.blocks, grf)
    return max(_DWORD, item.blocks) * lanes


def _of_atomic(
    item: SvmAtomic | SurfaceAtomic | TypedAtomic | LscTypedAtomic, needed: int
) -> Iterator[Payload]:
    """Yield what an atomic reads and writes; what it does not have is %null."""
    yield from _atomic_sources(item, needed)
    yield "dst", item.dst, needed


def _atomic_sources(
    item: SvmAtomic | SurfaceAtomic | TypedAtomic | LscAtomic | LscTypedAtomic, needed: int
) -> Iterator[Payload]:
    """Yield what an atomic reads; the result of untyped LSC atomics is data of one shape."""
    yield "src0", item.src0, needed
    yield "src1", item.src1, needed


def _of_images(item: object, lanes: int, grf: int) -> Iterator[Payload]:
    """Yield the data of messages to the sampler, and of typed LSC messages."""
    match item:
        case Sampled() | Unsampled() | Gathered():
            count = _COMPONENTS if isinstance(item, Gathered) else len(item.channels)
            yield "dst", item.dst, register_bytes(_slot(item.dst), lanes, count, grf)
            for number, operand in enumerate(item.parameters):
                yield f"parameter {number}", operand, _slot(operand) * lanes
        case Question() | SamplesQuestion():
            yield "dst", item.dst, register_bytes(_DWORD, lanes, len(item.channels), grf)
        case LscLoadTexels() if item.op.mnemonic.startswith(_STATUS):
            yield "dst", item.dst, _DWORD
        case LscLoadTexels():
            size = DATA_SIZES[item.shape.data][1]
            count = len(item.shape.channels)
            yield "dst", item.dst, register_bytes(size, lanes, count, grf)
        case LscStoreTexels():
            size = DATA_SIZES[item.shape.data][1]
            count = len(item.shape.channels)
            yield "data", item.data, register_bytes(size, lanes, count, grf)
        case LscLoadRectangle():
            yield "dst", item.dst, _rectangle_bytes(item.extent.width, item.extent.height)
        case LscStoreRectangle():
            yield "data", item.data, _rectangle_bytes(item.extent.width, item.extent.height)
        case _:
            return


def _slot(operand: RawOperand) -> int:
    """Return the bytes that a channel takes in a sampler's operand: that of its type, 2 or 4."""
    return _WORD if operand.variable.type.bytes == _WORD else _DWORD


def _rectangle_bytes(width: int, height: int) -> int:
    return row_pitch(width) * (height - 1) + width
