"""Rules for messages before LSC, and for the sources of all atomics.

They are about blocks, the places of addresses and data, and what the sampler is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import Rules, Site, Wrong
from visim.diag import Severity
from visim.isa.lsc_atomics import LscAtomic
from visim.isa.lsc_typed import LscTypedAtomic
from visim.isa.media_blocks import MediaBlock
from visim.isa.memory import (
    OwordLoad,
    OwordStore,
    ScaledBytes,
    SurfaceAtomic,
    SvmAtomic,
    SvmBlock,
    SvmScattered,
    UnalignedOwordLoad,
)
from visim.isa.operand_types import DWORDS, SINGLES, WORDS, shown
from visim.isa.sampler import Gathered, Sampled, Unsampled
from visim.isa.scattered import Qwords
from visim.isa.surfaces import SCRATCH, SLM
from visim.isa.typed import TypedAtomic, TypedChannels
from visim.operands import LscAddress, LscTexel, RawOperand
from visim.predefined import SURFACES
from visim.types import F

LEAST_CHANNELS_OF_BLOCKS = 8
MOST_BYTES_OF_ELEMENT = 4
MOST_OWORDS, MOST_OWORDS_OF_SLM = 8, 16
_ATOMICS = (SvmAtomic, SurfaceAtomic, TypedAtomic)
_LSC_ATOMICS = (LscAtomic, LscTypedAtomic)
_NO_SOURCE = {"inc", "dec", "predec", "iinc", "idec", "load"}
_TWO_SOURCES = {"cmpxchg", "fcmpwr", "icas", "fcas", "bfcas"}
_FLOAT_OPERATIONS = {"fmax", "fmin", "fcmpwr", "fadd", "fsub"}
_SIGNED_OPERATIONS = {"minsint", "maxsint"}
_COORDINATES = ("u", "v", "r", "lod")

_TYPED_PAGES = ("4_TYPED", "TYPED_ATOMIC")
_TEXEL_NUMBERS, _COORDINATE_TYPES = DWORDS | WORDS, SINGLES

rules = Rules()


@rules.instruction(
    "block-count",
    "vISA 6, SVM_GATHER, SVM_SCATTER, GATHER_SCALED, QW_GATHER, OWORD_LD, OWORD_ST",
    platform="skl",
    failing="svm_gather.4.2 (M1, 4) UQ.0 D.0",
    passing="svm_gather.4.2 (M1, 8) UQ.0 D.0\nsvm_scatter.1.4 (M1_NM, 1) UQ.0 D.0",
)
def block_counts(at: Site) -> Iterator[Wrong]:
    """A message moves as many blocks as its page allows.

    Several blocks a channel need 8 channels or more, 8 blocks exactly 8, and at most 4 bytes each;
    up to four bytes are one element of the message, for any number of channels. Messages of
    surfaces move 1, 2 or 4 bytes, or one qword, a channel.
    16 owords are for shared local memory, from dg2 on.
    """
    item = at.instruction
    if isinstance(item, SvmScattered) and item.blocks > 1:
        size = item.exec.size
        if item.size == 1 and item.blocks <= MOST_BYTES_OF_ELEMENT:
            return
        if size < LEAST_CHANNELS_OF_BLOCKS or (item.blocks == 8 and size != 8):
            yield Wrong(f"{item.blocks} blocks for each of {size} channels")
        elif item.blocks == 8 and item.size == 8:
            yield Wrong("8 blocks of 8 bytes a channel")
    elif isinstance(item, ScaledBytes) and item.blocks > MOST_BYTES_OF_ELEMENT:
        yield Wrong(f"{item.blocks} bytes a channel, expected 1, 2 or {MOST_BYTES_OF_ELEMENT}")
    elif isinstance(item, Qwords) and item.blocks > 1:
        yield Wrong(f"{item.blocks} qwords a channel, expected 1")
    elif isinstance(item, SvmBlock) and item.count > MOST_OWORDS:
        yield Wrong(f"{item.count} owords, at most {MOST_OWORDS} are possible")
    elif isinstance(item, OwordLoad | UnalignedOwordLoad | OwordStore):
        has_most = at.platform is None or at.platform.has_lsc
        is_local = item.surface == SURFACES[0]
        most = MOST_OWORDS_OF_SLM if is_local and has_most else MOST_OWORDS
        if item.count > most:
            yield Wrong(f"{item.count} owords, at most {most} are possible")
        if is_local and at.platform and not at.platform.has_local_blocks:
            yield Wrong(f"{at.platform.name} has no blocks in shared local memory")


@rules.instruction(
    "message-addresses",
    "vISA 5, Raw Operands",
    failing=".decl X v_type=G type=uq num_elts=4 align=GRF\nsvm_gather.4.1 (M1, 8) X.0 D.0",
    passing=".decl X v_type=G type=uq num_elts=8 align=GRF\nsvm_gather.4.1 (M1, 8) X.0 D.0",
)
def addresses_fit(at: Site) -> Iterator[Wrong]:
    """The addresses or offsets of a message, one for each channel, fit in their variable."""
    if at.exec_size is None:
        return
    for name, operand, each in _addresses(at):
        needed = each * at.exec_size.size
        left = operand.variable.bytes - operand.offset
        if needed > left and not operand.variable.is_predefined:
            text = f"{name} take {needed} bytes, {operand.variable.name} has {max(left, 0)}"
            yield Wrong(f"{text} from there on")


def _addresses(at: Site) -> Iterator[tuple[str, RawOperand, int]]:
    """Yield the operands that have an element for each channel, with its bytes."""
    item = at.instruction
    for name, operand in at.operands:
        match operand:
            case RawOperand() if name == "addresses":
                yield name, operand, 8
            case RawOperand() if name == "offsets":
                yield name, operand, 8 if item.op.mnemonic.startswith("svm") else 4
            case RawOperand() if name in _COORDINATES and item.op.page.endswith(_TYPED_PAGES):
                yield name, operand, 4
            case LscAddress(pitch=None) if not _is_transposed(at):
                yield "the addresses", operand.base, operand.bits // 8
            case LscTexel():
                for part in _COORDINATES:
                    yield part, getattr(operand, part), operand.bits // 8
            case _:
                continue


def _is_transposed(at: Site) -> bool:
    return getattr(getattr(at.instruction, "shape", None), "transposed", False)


@rules.instruction(
    "atomic-sources",
    "vISA 6, SVM_ATOMIC, DWORD_ATOMIC, LSC_UNTYPED",
    failing="svm_atomic.inc (M1, 8) UQ.0 V0.0 UD.0 V0.0",
    passing="svm_atomic.inc (M1, 8) UQ.0 UD.0 V0.0 V0.0",
)
def atomic_sources(at: Site) -> Iterator[Wrong]:
    """An atomic has as many sources as its operation takes; the others are %null."""
    item = at.instruction
    if isinstance(item, _ATOMICS):
        name = item.operation
    elif isinstance(item, _LSC_ATOMICS):
        name = item.op.mnemonic.split(".", 1)[0].rpartition("_")[2]
    else:
        return
    taken = 0 if name in _NO_SOURCE else 2 if name in _TWO_SOURCES else 1
    for number, source in enumerate((item.src0, item.src1)):
        if number < taken and source.is_null:
            yield Wrong(f"{name} takes {taken} sources, src{number} is %null")
        elif number >= taken and not source.is_null:
            yield Wrong(f"{name} takes {taken or 'no'} sources, src{number} is not %null")


@rules.instruction(
    "atomic-types",
    "vISA 6, SVM_ATOMIC, DWORD_ATOMIC, Notes",
    severity=Severity.WARNING,
    failing="svm_atomic.fmax (M1, 8) UQ.0 UD.0 UD.0 V0.0",
    passing="svm_atomic.fmax (M1, 8) UQ.0 UD.0 F.0 V0.0",
)
def atomic_types(at: Site) -> Iterator[Wrong]:
    """The operands of an atomic have its width; sources are F or signed where the operation is.

    The pages ask for one type in all operands; compilers return old values as UD or UQ.
    """
    item = at.instruction
    if not isinstance(item, _ATOMICS):
        return
    wanted = 8 if item.width == "64" else 4
    for name, operand in (("src0", item.src0), ("src1", item.src1), ("dst", item.dst)):
        kind = operand.variable.type
        if operand.is_null:
            continue
        if kind.bytes != wanted:
            yield Wrong(f"{name} is {kind!r}, its elements have {wanted} bytes")
        elif name != "dst" and item.operation in _FLOAT_OPERATIONS and kind != F:
            yield Wrong(f"{name} of {item.operation} is F, found {kind!r}")
        elif name != "dst" and item.operation in _SIGNED_OPERATIONS and not kind.is_signed:
            yield Wrong(f"{name} of {item.operation} is signed, found {kind!r}")


@rules.instruction(
    "sampler-parameters",
    "vISA 6, 3D_SAMPLE, 3D_SAMPLE4, 3D_LOAD, Notes",
    severity=Severity.WARNING,
    failing="load_lz.RGBA (M1, 8) 0x0:uw T6 F.0 D.0 W.64",
    passing="load_lz.RGBA (M1, 8) 0x0:uw T6 F.0 D.0 D.64",
)
def sampler_parameters(at: Site) -> Iterator[Wrong]:
    """The parameters of a sampler's message have one type: F or HF, of a load dwords or words.

    Those of `sample4_po` messages, whose offsets are D, are not judged.
    """
    item = at.instruction
    if not isinstance(item, Sampled | Unsampled | Gathered) or "_po" in item.op.mnemonic:
        return
    legal = _TEXEL_NUMBERS if isinstance(item, Unsampled) else _COORDINATE_TYPES
    kinds = {one.variable.type for one in item.parameters if not one.is_null}
    if any(kind not in legal for kind in kinds) or len({kind.bits for kind in kinds}) > 1:
        found = ", ".join(sorted(map(repr, kinds)))
        yield Wrong(f"parameters of {found}; they are all {shown(legal)}, of one size")


@rules.instruction(
    "image-surface",
    "vISA 6, the instruction's page, Surface",
    failing="load_lz.RGBA (M1, 8) 0x0:uw %slm F.0 D.0 D.64",
    passing="load_lz.RGBA (M1, 8) 0x0:uw T6 F.0 D.0 D.64",
)
def image_surface(at: Site) -> Iterator[Wrong]:
    """Images and blocks of them are neither in shared local nor in stateless memory."""
    item = at.instruction
    if not isinstance(
        item, Sampled | Unsampled | Gathered | TypedChannels | TypedAtomic | MediaBlock
    ):
        return
    for memory, surface in (("shared local", SURFACES[SLM]), ("stateless", SURFACES[SCRATCH])):
        if item.surface == surface:
            yield Wrong(f"{item.op.mnemonic} of {memory} memory, which has no images")
