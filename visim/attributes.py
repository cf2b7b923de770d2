"""Names of attributes and alignments: what may stand in a text, and its number in an object.

Data only (specification 4, Attributes and Variables; docs/formats.md).
"""

from __future__ import annotations

from enum import Enum, auto


class AttributeValue(Enum):
    """What an attribute's value is."""

    FLAG = auto()
    INTEGER = auto()
    TEXT = auto()


_FLAG, _INTEGER, _TEXT = AttributeValue.FLAG, AttributeValue.INTEGER, AttributeValue.TEXT

KERNEL_ATTRIBUTES: dict[str, AttributeValue] = {
    "OutputAsmPath": _TEXT,
    "AsmName": _TEXT,
    "Target": _TEXT,
    "SLMSize": _INTEGER,
    "SpillMemOffset": _INTEGER,
    "ArgSize": _INTEGER,
    "RetValSize": _INTEGER,
    "PerThreadInputSize": _INTEGER,
    "CrossThreadInputSize": _INTEGER,
    "SimdSize": _INTEGER,
    "NBarrierCnt": _INTEGER,
    "NumGRF": _INTEGER,
    "MaxRegThreadDispatch": _INTEGER,
    "Extern": _FLAG,
    "NoBarrier": _FLAG,
    "Callable": _FLAG,
    "Caller": _FLAG,
    "Composable": _FLAG,
    "Entry": _FLAG,
    "SepSpillPvtSS": _FLAG,
    "LTO_InvokeOptTarget": _FLAG,
    "AllLaneActive": _FLAG,
    "DisableLoadThreadPayloadWA": _FLAG,
    "ForceSpill": _FLAG,
    "ScratchIndirectMem": _FLAG,
    "ScratchIndirectReg": _FLAG,
    "ScratchInline": _FLAG,
}
VARIABLE_ATTRIBUTES: dict[str, AttributeValue] = {
    "Input": _FLAG,
    "Output": _FLAG,
    "Input_Output": _FLAG,
    "PayloadLiveOut": _FLAG,
    "NoWidening": _FLAG,
    "DoNotSpill": _FLAG,
    "ExclusiveLoad": _FLAG,
    "ForceSpill": _FLAG,
    "Scope": _INTEGER,
    "SurfaceUsage": _INTEGER,
}
#: Values of the attribute Target by their number in an object.
TARGETS = ("cm", "3d")

#: Alignments as tools print them, by their number in an object; "" is no alignment.
ALIGNMENTS = (
    "",
    "word",
    "dword",
    "qword",
    "oword",
    "GRF",
    "GRFx2",
    "hword",
    "wordx32",
    "wordx64",
)
#: Every spelling of an alignment that a text may use, with the one that is printed.
ALIGNMENT_NAMES: dict[str, str] = {
    "byte": "",
    **{name: name for name in ALIGNMENTS if name},
    "2GRF": "GRFx2",
    "2_GRF": "GRFx2",
    "32word": "wordx32",
    "64word": "wordx64",
}
#: Alignments by their bytes, which a text may state instead.
ALIGNMENT_BYTES: dict[int, str] = dict(
    zip(
        (1, 2, 4, 8, 16, 32, 64, 128),
        ("", "word", "dword", "qword", "oword", "hword", "wordx32", "wordx64"),
        strict=True,
    )
)
