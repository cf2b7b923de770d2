"""Matrix instructions (specification DPAS and DPASW)."""

from typing import Annotated

from visim.isa.codecs import Older
from visim.isa.forms import Exec, Raw
from visim.isa.kinds import UNREGIONED
from visim.isa.operand_types import Modifiers, Operands, Saturation
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.isa.word_kinds import BYTE, ChoiceKind
from visim.operands import GeneralSource
from visim.sem import matrix
from visim.sem.tracer import Tracer

TABLE = Table(Category.MATRIX)
UNSATURATED = Operands((), Saturation.NO, Modifiers.NONE)

PRECISIONS = (
    ("u1", 1),
    ("s1", 2),
    ("u2", 3),
    ("s2", 4),
    ("u4", 5),
    ("s4", 6),
    ("u8", 7),
    ("s8", 8),
    ("bf", 9),
    ("hf", 10),
    ("bf8", 11),
    ("tf32", 12),
)
Precision = Annotated[str, ChoiceKind(PRECISIONS, "a precision", any_case=True)]
Count = Annotated[int, BYTE]


_STORED = "{dst} {src0} {src1} {src2} {weights} {activations} {depth} {repeats}"


@form(
    "{op}.{weights}.{activations}.{depth}.{repeats} {exec} {dst} {src0} {src1} {src2}",
    layout=f"{{exec}} 0:2 {_STORED}",
    older=(Older((4, 2), f"{{exec}} {_STORED}", {}),),
)
class Dpas(Instruction):
    """A systolic product of two tiles, added to a third.

    Objects of version 4.2 have a predicate, which is none: the finalizer refuses any other.
    """

    exec: Exec
    dst: Raw
    src0: Raw
    src1: Raw
    src2: Annotated[GeneralSource, UNREGIONED]
    weights: Precision
    activations: Precision
    depth: Count
    repeats: Count


@TABLE.effect(
    0x83,
    Dpas,
    operands=UNSATURATED,
    restrict=matrix.restricted,
    float_exactness=matrix.ACCUMULATION,
    example="dpas.s8.u8.8.8 (M1, 16) V40.0 V41.0 V42.0 V43(0,0)",
)
def dpas(t: Tracer, i: Dpas) -> None:
    """Product of two tiles added to a third: `depth` stages of dot products for each row."""
    matrix.multiply_accumulate(t, i, shared=False)


@TABLE.effect(
    0x1C,
    Dpas,
    operands=UNSATURATED,
    restrict=matrix.restricted,
    float_exactness=matrix.ACCUMULATION,
    example="dpasw.s8.u8.8.8 (M1, 8) V40.0 V41.0 V42.0 V43(0,0)",
)
def dpasw(t: Tracer, i: Dpas) -> None:
    """DPAS of a fused pair of threads: each holds one half of src2, the first the first half."""
    matrix.multiply_accumulate(t, i, shared=True)
