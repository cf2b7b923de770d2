"""Instructions over groups of neighbouring channels (specification 6; 8 for DP2 to LINE)."""

from visim.isa.forms import Binary, Ternary
from visim.isa.operand_types import BYTES, PLAIN_F, WORDS, Operands, row
from visim.isa.registry import Category
from visim.isa.table import Table
from visim.sem import tuples
from visim.sem.expr import Expr, constant, fma
from visim.sem.tracer import Tracer
from visim.types import D

TABLE = Table(Category.ARITHMETIC)
TWO_SOURCES = "(M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>"


@TABLE.effect(
    0x04,
    Binary,
    operands=PLAIN_F,
    restrict=tuples.whole_groups,
    exactness=tuples.FUSED,
    example=f"dp2 {TWO_SOURCES}",
)
def dp2(t: Tracer, i: Binary) -> None:
    """Dot product of the first two of each four elements, in all four channels."""
    tuples.dot_product(t, i, 2, homogeneous=False)


@TABLE.effect(
    0x05,
    Binary,
    operands=PLAIN_F,
    restrict=tuples.whole_groups,
    exactness=tuples.FUSED,
    example=f"dp3 {TWO_SOURCES}",
)
def dp3(t: Tracer, i: Binary) -> None:
    """Dot product of the first three of each four elements, in all four channels."""
    tuples.dot_product(t, i, 3, homogeneous=False)


@TABLE.effect(
    0x06,
    Binary,
    operands=PLAIN_F,
    restrict=tuples.whole_groups,
    exactness=tuples.FUSED,
    example=f"dp4 {TWO_SOURCES}",
)
def dp4(t: Tracer, i: Binary) -> None:
    """Dot product of each four elements, in all four channels."""
    tuples.dot_product(t, i, 4, homogeneous=False)


@TABLE.effect(
    0x07,
    Binary,
    operands=PLAIN_F,
    restrict=tuples.whole_groups,
    exactness=tuples.FUSED,
    example=f"dph {TWO_SOURCES}",
)
def dph(t: Tracer, i: Binary) -> None:
    """Dot product of the first three of each four elements plus the fourth of src1."""
    tuples.dot_product(t, i, 3, homogeneous=True)


@TABLE.effect(
    0x0A,
    Binary,
    operands=PLAIN_F,
    restrict=tuples.whole_groups,
    exactness=tuples.FUSED,
    example="line (M1, 16) V40(0,0)<1> V41(0,0)<0;1,0> V42(0,0)<1;1,0>",
)
def line(t: Tracer, i: Binary) -> None:
    """Line p * u + q: p and q are the elements 0 and 3 of src0, u is src1."""
    tuples.line(t, i)


@TABLE.effect(
    0x6B,
    Binary,
    operands=PLAIN_F,
    restrict=tuples.plane_size,
    exactness=tuples.FUSED,
    page="PLN",
    example="plane (M1, 16) V40(0,0)<1> V41(0,0)<0;1,0> V42(0,0)<1;1,0>",
)
def plane(t: Tracer, i: Binary) -> None:
    """Plane p * u + q * v + r: the scalars are elements 0, 1, 3 of src0, u and v are in src1."""
    tuples.plane(t, i)


@TABLE.lane(
    0x0E,
    Ternary,
    operands=PLAIN_F,
    exactness=tuples.FUSED,
    example="lrp (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def lrp(a: Expr, b: Expr, c: Expr) -> Expr:
    """Blend: src1 times src0 plus src2 times 1 - src0."""
    return fma(a, b, c * (constant(1, a.type, a.lanes) - a))


@TABLE.effect(
    0x16,
    Binary,
    operands=Operands((row(WORDS, BYTES),)),
    restrict=tuples.whole_pairs,
    example=f"sad2 {TWO_SOURCES}",
)
def sad2(t: Tracer, i: Binary) -> None:
    """Sum of two neighbours' absolute differences, in the even channel; the odd one is kept."""
    t.write(i.dst, tuples.differences(t, i), tuples.even_channels(t))


@TABLE.effect(
    0x6A,
    Ternary,
    operands=Operands((row(WORDS, BYTES, BYTES, WORDS),)),
    restrict=tuples.whole_pairs,
    example="sad2add (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def sad2add(t: Tracer, i: Ternary) -> None:
    """Sum of two neighbours' absolute differences plus src2; the odd channel is kept."""
    total = tuples.differences(t, i) + t.modified(i.src2, D)
    t.write(i.dst, total, tuples.even_channels(t))
