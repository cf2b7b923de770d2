"""Matrix instructions (specification DPAS): read and written, not executed yet."""

from typing import Annotated

from visim.isa.forms import Exec, Raw
from visim.isa.kinds import UNREGIONED
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.isa.word_kinds import BYTE, ChoiceKind
from visim.operands import GeneralSource

TABLE = Table(Category.MATRIX)

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
Precision = Annotated[str, ChoiceKind(PRECISIONS, "precision")]
Count = Annotated[int, BYTE]


@form("{op}.{weights}.{activations}.{depth}.{repeats} {exec} {dst} {src0} {src1} {src2}")
class Dpas(Instruction):
    """A systolic product of two tiles, added to a third."""

    exec: Exec
    dst: Raw
    src0: Raw
    src1: Raw
    src2: Annotated[GeneralSource, UNREGIONED]
    weights: Precision
    activations: Precision
    depth: Count
    repeats: Count


TABLE.unexecuted(
    0x83,
    "dpas",
    Dpas,
    doc="Dot products of rows and columns through `depth` stages, for `repeats` rows.",
    example="dpas.s8.u8.8.8 (M1, 8) V40.0 V41.0 V42.0 V43(0,0)",
    reason="matrix instructions are not there yet",
)
