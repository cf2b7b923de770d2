"""Which types the operands of messages have, by the pages of the instructions (specification 6).

Signed integers stand beside unsigned ones, and UD beside UQ, where compilers use both for the same.
"""

from collections.abc import Mapping

from visim.isa.operand_types import DWORDS, Types
from visim.types import DF, HF, UB, UD, UQ, UW, B, D, DataType, F, Q, W

Fields = Mapping[str, Types]


def _types(*kinds: DataType) -> Types:
    return frozenset(kinds)


_UD, _UQ, _F = _types(UD), _types(UQ), _types(F)
_DATA = _types(UD, D, F)
_OFFSETS: Fields = {"offset": _UD, "offsets": _UD, "data": _DATA}
# Compilers read and write eight bytes, one for each of eight channels, as two dwords.
_BYTES: Fields = {**_OFFSETS, "data": _DATA | _types(B, UB)}
_OWORDS: Fields = {"offset": _UD}
_FLAT: Fields = {"addresses": _UQ}
_SCALED: Fields = {"address": _types(UD, UQ), "offsets": _UQ}
_TEXELS: Fields = dict.fromkeys(("u", "v", "r", "lod"), DWORDS)
_SAMPLED: Fields = {"offsets": _types(UW), "dst": _types(HF, F, W, UW, D, UD)}
_TYPED: Fields = {**_TEXELS, "data": _DATA}
_QWORDS: Fields = {"offsets": _UD, "data": _types(Q, UQ, DF)}
_BLOCK: Fields = {"address": _UQ}
_PLACE: Fields = {"x": DWORDS, "y": DWORDS}
_BY_PAGE: Mapping[str, Fields] = {
    **dict.fromkeys(("GATHER", "SCATTER", "GATHER4_SCALED", "SCATTER4_SCALED"), _OFFSETS),
    **dict.fromkeys(("GATHER_SCALED", "SCATTER_SCALED"), _BYTES),
    **dict.fromkeys(("QW_GATHER", "QW_SCATTER"), _QWORDS),
    **dict.fromkeys(("OWORD_LD", "OWORD_LD_UNALIGNED", "OWORD_ST"), _OWORDS),
    **dict.fromkeys(("SVM_BLOCK_LD", "SVM_BLOCK_ST"), _BLOCK),
    **dict.fromkeys(("SVM_GATHER", "SVM_SCATTER", "SVM_ATOMIC"), _FLAT),
    **dict.fromkeys(("SVM_GATHER4_SCALED", "SVM_SCATTER4_SCALED"), _SCALED),
    "DWORD_ATOMIC": {"offsets": _UD},
    **dict.fromkeys(("GATHER4_TYPED", "SCATTER4_TYPED"), _TYPED),
    "TYPED_ATOMIC": _TEXELS,
    **dict.fromkeys(("MEDIA_LD", "MEDIA_ST"), _PLACE),
    **dict.fromkeys(("3D_SAMPLE", "3D_SAMPLE4", "3D_LOAD"), _SAMPLED),
    "INFO": {"lod": _UD, "dst": _UD},
    "SAMPLE_UNORM": dict.fromkeys(("u", "v", "delta_u", "delta_v"), _F),
    "AVS": dict.fromkeys(("u", "v", "delta_u", "delta_v", "u2d", "v2d"), _F),
    "RAW_SEND": {"descriptor": _UD},
    "RAW_SENDS": {"extended": _UD, "descriptor": _UD},
    "FADDR": {"dst": _types(UD, UQ)},
    "IFCALL": {"target": _types(UD, UQ)},
    "WAIT": {"mask": _types(UB)},
}
_NONE: Fields = {}


def message_types(page: str) -> Fields:
    """Return the types of the operands that a page names, by the names of the form's fields."""
    return _BY_PAGE.get(page, _NONE)
