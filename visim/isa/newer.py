"""Instructions that nvl-p and cri have alone (objects of version 4.2).

The specification has no page for them; their texts and bytes are those of IGC of 2026.
They are read, written and verified; the two functions that a compiler writes are executed.
"""

import re
from dataclasses import dataclass
from typing import Annotated

from visim.isa.forms import Bare, Dst, Exec, Pred, Raw, Src, Unary
from visim.isa.kinds import UNREGIONED
from visim.isa.matrix import PRECISIONS
from visim.isa.operand_types import FUNCTION
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.table import Table
from visim.isa.word_kinds import BYTE, ChoiceKind, NumberKind
from visim.lex import Cursor
from visim.operands import GeneralSource
from visim.sem import functions
from visim.sem.expr import Expr

TABLE = Table(Category.MISCELLANEOUS)

_FUNCTIONS = (
    ("null", 0x0),
    ("smpl", 0x2),
    ("gtwy", 0x3),
    ("rc", 0x5),
    ("urb", 0x6),
    ("btd", 0x7),
    ("rta", 0x8),
    ("tgm", 0xD),
    ("ugm", 0xE),
    ("slm", 0xF),
)
_SEEDS = (("b32", 0), ("b16v2", 1), ("b8v4", 2))
_CONVERSIONS = (("bftoe2m1", 1), ("bftoint4", 2), ("hftoe2m1", 4), ("hftoint4", 5))
_MODES = (("mode0", 0), ("mode1", 1), ("mode2", 2), ("mode3", 3))
_ROUNDINGS = (("srnd", 0), ("rne", 1))


@dataclass(frozen=True, slots=True)
class UpperHexKind(NumberKind):
    """A plain unsigned integer, printed in upper-case hexadecimal."""

    def show(self, value: int) -> str:
        """Return it in hexadecimal."""
        return f"0x{value:X}"


@dataclass(frozen=True, slots=True)
class SharedFunctionKind(UpperHexKind):
    """The number of a shared function, or its name."""

    expected: str = "a shared function such as '0xF' or 'slm'"

    def parse(self, cursor: Cursor, names: Names) -> int:
        """Take the number or name."""
        word = cursor.match(re.compile(r"[a-z]+\b"))
        if word is None:
            return super(SharedFunctionKind, self).parse(cursor, names)
        known = dict(_FUNCTIONS)
        if word.group() not in known:
            start = cursor.position - len(word.group())
            raise cursor.unknown_word(start, "shared function", word.group(), known)
        return known[word.group()]


Length = Annotated[int, NumberKind("a number of bytes")]
Precision = Annotated[str, ChoiceKind((*PRECISIONS, ("hf8", 14), ("e2m1", 15)), "a precision")]


@form(
    "{pred}{op}.{sfid} {exec} {dst}/{dst_bytes} {src0}/{src0_bytes} {src1}/{src1_bytes} "
    "{indirect0} {indirect1} {descriptor}",
    layout="{sub} {exec} {sfid} {pred} {dst} {dst_bytes} {src0} {src0_bytes} {src1} {src1_bytes} "
    "{indirect0} {indirect1} {descriptor}",
)
class GatheredSend(Instruction):
    """A message with two payloads whose sizes are in bytes."""

    exec: Exec
    pred: Pred
    sfid: Annotated[int, SharedFunctionKind()]
    dst: Raw
    dst_bytes: Length
    src0: Raw
    src0_bytes: Length
    src1: Raw
    src1_bytes: Length
    indirect0: Src
    indirect1: Src
    descriptor: Annotated[int, UpperHexKind("a descriptor", 8)]


@form("{pred}{op} {exec} {dst} {src0} {src1}")
class Shuffle(Instruction):
    """A table and indices into it."""

    exec: Exec
    pred: Pred
    dst: Raw
    src0: Src
    src1: Src


@form(
    "{pred}{op}.{seeds} {exec} {dst} {src0} {src1}",
    layout="{exec} {pred} {seeds} {dst} {src0} {src1}",
)
class ShiftRegister(Instruction):
    """A seed and a polynomial."""

    exec: Exec
    pred: Pred
    seeds: Annotated[str, ChoiceKind(_SEEDS, "a form of seeds")]
    dst: Dst
    src0: Src
    src1: Src


@form(
    "{op}.{weights}.{activations}.{depth}.{repeats} "
    "{exec} {dst} {src0} {src1} {src2} {src3} {src4}",
    layout="{exec} {dst} {src0} {src1} {src2} {src3} {src4} "
    "{weights} {activations} {depth} {repeats}",
)
class ScaledProduct(Instruction):
    """A systolic product of two tiles and their scales, added to a third."""

    exec: Exec
    dst: Raw
    src0: Raw
    src1: Raw
    src2: Raw
    src3: Annotated[GeneralSource, UNREGIONED]
    src4: Annotated[GeneralSource, UNREGIONED]
    weights: Precision
    activations: Precision
    depth: Annotated[int, BYTE]
    repeats: Annotated[int, BYTE]


@form(
    "{pred}{op}.{conversion}.{mode}.{rounding} {exec} {dst} {src0} {src1} {src2}",
    layout="{exec} {pred} {conversion} {mode} {rounding} {dst} {src0} {src1} {src2}",
)
class Downscale(Instruction):
    """A conversion to numbers of four bits."""

    exec: Exec
    pred: Pred
    conversion: Annotated[str, ChoiceKind(_CONVERSIONS, "a conversion")]
    mode: Annotated[str, ChoiceKind(_MODES, "a mode")]
    rounding: Annotated[str, ChoiceKind(_ROUNDINGS, "a rounding")]
    dst: Raw
    src0: Raw
    src1: Raw
    src2: Raw


_REASON = "the specification has no page for it, which would say what it does"
_SEND = "V40.0/64 V41.0/64 V42.0/64 0x0:uq 0x0:uq 0x0"
_TWO = "V40(0,0)<1> V41(0,0)<1;1,0>"


def _send(name: str, sub: int, doc: str) -> None:
    TABLE.unexecuted(
        0x93, name, GatheredSend, sub=sub, page="RAW_SENDG", doc=doc, reason=_REASON,
        example=f"{name}.0xF (M1, 16) {_SEND}",
    )  # fmt: skip


_send("raw_sendg", 0, "Send a message of two payloads that only its descriptor describes.")
_send("raw_sendgc", 1, "Send a message of two payloads after those of earlier threads.")
_send("raw_sendg_eot", 2, "Send a message of two payloads and end the thread.")
_send("raw_sendgc_eot", 3, "Send a message after those of earlier threads, and end the thread.")
TABLE.unexecuted(
    0x94, "breakpoint", Bare, example="breakpoint",
    doc="Hand the thread to a debugger of the device.",
    reason="no debugger of a device is attached, and the specification has no page for it",
)  # fmt: skip
TABLE.unexecuted(
    0x95, "shfl_idx4", Shuffle, reason=_REASON,
    doc="Replace indices of four bits by what a table has for them.",
    example="shfl_idx4 (M1, 16) V40.0 V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)  # fmt: skip


@TABLE.lane(
    0x96, Unary, operands=FUNCTION, exactness=functions.TANH, example=f"tanh (M1, 16) {_TWO}"
)
def tanh(a: Expr) -> Expr:
    """Hyperbolic tangent."""
    return functions.single_precision(functions.hyperbolic_tangent, a)


@TABLE.lane(
    0x97, Unary, operands=FUNCTION, exactness=functions.SIGM, example=f"sigm (M1, 16) {_TWO}"
)
def sigm(a: Expr) -> Expr:
    """Logistic function 1 / (1 + e**-x), SPIR-V's sigmoid."""
    return functions.single_precision(functions.logistic, a)


TABLE.unexecuted(
    0x98, "lfsr", ShiftRegister, reason=_REASON,
    doc="Next numbers of linear feedback shift registers.",
    example=f"lfsr.b32 (M1, 16) {_TWO} V42(0,0)<1;1,0>",
)  # fmt: skip
TABLE.unexecuted(
    0x99, "bdpas", ScaledProduct, reason=_REASON,
    doc="Product of two tiles of scaled blocks added to a third.",
    example="bdpas.bf8.bf8.8.8 (M1, 16) V40.0 V41.0 V42.0 V43.0 V44(0,0) V45(0,0)",
)  # fmt: skip
TABLE.unexecuted(
    0x9A, "dnscl", Downscale, reason=_REASON,
    doc="Convert BF or HF to E2M1 or to integers of four bits.",
    example="dnscl.bftoe2m1.mode0.rne (M1, 16) V40.0 V41.0 V42.0 V43.0",
)  # fmt: skip
