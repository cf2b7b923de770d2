"""LSC messages of Xe2, nvl-p and cri that no page describes (IGC's grammar, printer and tables).

They are read, written and verified. What the assembler's decoder (MessageDecoderLSC and its
successor for nvl-p and cri) calls them is all that is known of what they do; a status is the
exception, which IGC takes for what it makes of the bits of older devices (EmitVISAPass, typed loads
with a status).
"""

from dataclasses import dataclass
from typing import Annotated, Never

from visim.isa.codecs import CodingError, DecodeTables, EncodeTables
from visim.isa.forms import Exec, Pred
from visim.isa.lsc import Address, Sfid
from visim.isa.lsc_atomics import LscAtomic, LscCounter
from visim.isa.lsc_kinds import CACHE_AND_MORE
from visim.isa.lsc_typed import (
    UNIT,
    LscLoadTexels,
    LscStoreTexels,
    declared_as,
    load_of_texels,
)
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import ONE_SAMPLE
from visim.isa.table import Table
from visim.isa.word_kinds import ChoiceKind
from visim.layout import Reader, Writer
from visim.operands import LscCache
from visim.sem.expr import bits_constant
from visim.sem.tracer import Tracer
from visim.types import UD

TABLE = Table(Category.MEMORY)


@dataclass(frozen=True, slots=True)
class TextOnlyKind(ChoiceKind):
    """A word that objects have no place for."""

    def decode(self, reader: Reader, tables: DecodeTables) -> Never:
        """Refuse the bytes: IGC's reader of objects has none for it."""
        raise CodingError("no layout of it in an object is known")

    def encode(self, value: str, writer: Writer, tables: EncodeTables) -> Never:
        """Refuse to write it."""
        raise CodingError(f"an object has no place for '.{value}'")


@form(
    "{pred}{op}.{sfid}{cache}.{operation}.{size} {exec} {address}",
    layout="{sub} {operation} {size} {exec} {pred} {sfid} {cache} {address.model} {address.scale} "
    "{address.offset} {address.size} {address.surface} {address.index} {address.base}",
)
class LscCacheControl(Instruction):
    """What is to become of lines in the caches."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Annotated[LscCache, CACHE_AND_MORE]
    operation: Annotated[str, TextOnlyKind((("reset", 0),), "an operation on caches")]
    size: Annotated[str, TextOnlyKind((("64B", 0),), "a number of bytes")]
    address: Address


_NARROW = "no page says how sums of bfloat16 are rounded, nor what becomes of denormals and NaN"

for _name, _sub, _operands in (
    ("bfadd", 0x21, "V42  %null"),
    ("bfsub", 0x22, "V42  %null"),
    ("bfmin", 0x23, "V42  %null"),
    ("bfmax", 0x24, "V42  %null"),
    ("bfcas", 0x25, "V42  V43"),
):
    TABLE.unexecuted(
        0x89, f"lsc_atomic_{_name}", LscAtomic, sub=_sub, page="LSC_UNTYPED", reason=_NARROW,
        doc=f"Atomic {_name} on bfloat16 at each channel's address; the old values are returned.",
        example=f"lsc_atomic_{_name}.ugm (M1, 32)  V40:d16c32  flat[V41]:a64  {_operands}",
    )  # fmt: skip
TABLE.unexecuted(
    0x89, "lsc_apndctr_atomic_store", LscCounter, sub=0x2A, page="LSC_UNTYPED",
    doc="Store into a surface's append counter; the old values are returned.",
    reason="no page says which of the channels' values stays in the counter",
    example="lsc_apndctr_atomic_store.ugm (M1, 32)  V40:d32  bti(0xA0)  V41:d32",
)  # fmt: skip
TABLE.unexecuted(
    0x89, "lsc_extended_cache_ctrl", LscCacheControl, sub=0x33, page="LSC_UNTYPED",
    doc="Forget what caches hold of lines that were written.",
    reason="what memory holds afterwards depends on when caches write",
    example="lsc_extended_cache_ctrl.ugm.reset.64B (M1, 32) flat[V41]:a64",
)  # fmt: skip


def _load_quad_status(t: Tracer, i: LscLoadTexels) -> None:
    """Return a dword for each channel: 1, as its texel lies in a valid page, as all do."""
    effect = load_of_texels(t, i)
    t.write_raw(i.dst, bits_constant(1, UD, t.lanes), effect.mask)


_TEXELS = "bti(0x4)[V41, V42, %null, %null]:a32"
TABLE.effect(
    0x8A, LscLoadTexels, sub=0x36, page="LSC_TYPED",
    example=f"lsc_load_quad_status.tgm (M1, 8)  V40:d32.xyzw  {_TEXELS}",
)(declared_as(_load_quad_status, "load_quad_status"))  # fmt: skip
TABLE.unexecuted(
    0x8A, f"lsc_load_quad_msrt{UNIT}", LscLoadTexels, sub=0x31, page="LSC_TYPED",
    doc="Read components of one of several samples of texels; the last coordinate is its number.",
    reason=ONE_SAMPLE, example=f"lsc_load_quad_msrt.tgm (M1, 8)  V40:d32.xyzw  {_TEXELS}",
)  # fmt: skip
TABLE.unexecuted(
    0x8A, f"lsc_store_quad_msrt{UNIT}", LscStoreTexels, sub=0x32, page="LSC_TYPED",
    doc="Write components of one of several samples of texels; the last coordinate is its number.",
    reason=ONE_SAMPLE, example=f"lsc_store_quad_msrt.tgm (M1, 8)  {_TEXELS}  V42:d32.xy",
)  # fmt: skip
