"""Logic and shift instructions (specification 6, Logic and Shift Instructions)."""

from typing import Annotated

from visim.isa.forms import Binary, Dst, Exec, Pred, Src, Ternary, Unary
from visim.isa.operand_types import (
    BITS,
    BITWISE,
    COUNTED,
    FIELD,
    HIGHEST,
    LOWEST,
    REVERSED,
    ROTATED,
    SHIFT,
    SHIFT_SIGNED,
    SHIFT_UNSIGNED,
    UNSIGNED_DWORD,
)
from visim.isa.registry import Category, Instruction, form
from visim.isa.restrictions import no_pairs, predicates_alone, rotated_quads
from visim.isa.table import Table
from visim.isa.word_kinds import HEX_SUFFIX
from visim.operands import PredicateOperand
from visim.sem.boolean import function_of_three
from visim.sem.expr import Expr, constant, select, signed, unary, unsigned
from visim.sem.tracer import Integers, Tracer, destination_type, source_type
from visim.types import UD, UQ, Q

TABLE = Table(Category.LOGIC)
RING = Integers.RING


@form("{pred}{op}.x{function} {exec} {dst} {src0} {src1} {src2}")
class BooleanFunction(Instruction):
    """A bitwise function of three sources by its truth table."""

    exec: Exec
    pred: Pred
    dst: Dst
    src0: Src
    src1: Src
    src2: Src
    function: Annotated[int, HEX_SUFFIX]


@form("{pred}{op} {exec} {dst} {src0} {src1} {src2} {src3}")
class Quaternary(Instruction):
    """Four sources."""

    exec: Exec
    pred: Pred
    dst: Dst
    src0: Src
    src1: Src
    src2: Src
    src3: Src


def _operands(t: Tracer, i: Binary | Unary) -> list[Expr]:
    """Return the sources of a bitwise function: integers, or predicates when dst is one."""
    sources = [i.src0, i.src1] if isinstance(i, Binary) else [i.src0]
    if not isinstance(i.dst, PredicateOperand):
        return t.lane_sources(sources, i.dst, RING)
    return [
        t.predicate(source.variable, t.exec_size.offset, t.lanes)
        for source in sources
        if isinstance(source, PredicateOperand)
    ]


@TABLE.effect(
    0x20,
    Binary,
    operands=BITWISE,
    restrict=predicates_alone,
    example="and (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x1f:ud",
)
def and_(t: Tracer, i: Binary) -> None:
    """Bitwise and."""
    a, b = _operands(t, i)
    t.write(i.dst, a & b, t.mask())


@TABLE.effect(
    0x21,
    Binary,
    operands=BITWISE,
    restrict=predicates_alone,
    example="or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud",
)
def or_(t: Tracer, i: Binary) -> None:
    """Bitwise or."""
    a, b = _operands(t, i)
    t.write(i.dst, a | b, t.mask())


@TABLE.effect(
    0x22,
    Binary,
    operands=BITWISE,
    restrict=predicates_alone,
    example="xor (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def xor(t: Tracer, i: Binary) -> None:
    """Bitwise exclusive or."""
    a, b = _operands(t, i)
    t.write(i.dst, a ^ b, t.mask())


@TABLE.effect(
    0x23,
    Unary,
    operands=BITWISE,
    restrict=predicates_alone,
    example="not (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def not_(t: Tracer, i: Unary) -> None:
    """Bitwise complement."""
    (a,) = _operands(t, i)
    t.write(i.dst, ~a, t.mask())


@TABLE.effect(
    0x85,
    BooleanFunction,
    operands=BITS,
    example="bfn.x96 (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def bfn(t: Tracer, i: BooleanFunction) -> None:
    """Any bitwise function of three sources; bit s0 + 2*s1 + 4*s2 of the function is the result."""
    a, b, c = t.lane_sources([i.src0, i.src1, i.src2], i.dst, RING)
    t.write(i.dst, function_of_three(i.function, (a, b, c)), t.mask())


def _shift(t: Tracer, i: Binary, rule: Integers) -> tuple[Expr, Expr]:
    """Return the value to shift and the count: its low 5 bits, 6 where 64-bit types take part."""
    (value,) = t.lane_sources([i.src0], i.dst, rule)
    wide = 64 in {source_type(i.src0).bits, destination_type(i.dst).bits}
    if wide and value.type.bits < 64:
        value = value.to(Q if value.type.is_signed else UQ)
    if wide and getattr(i.dst, "saturate", False):
        value = value.to(signed(128))
    count = t.modified(i.src1, UD) & (63 if wide else 31)
    return value, count.to(value.type)


@TABLE.effect(
    0x24, Binary, operands=SHIFT, example="shl (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x2:d"
)
def shl(t: Tracer, i: Binary) -> None:
    """Shift left; the count is src1 modulo 32, or 64 for 64-bit types."""
    value, count = _shift(t, i, RING)
    t.write(i.dst, value << count, t.mask())


@TABLE.effect(
    0x25,
    Binary,
    operands=SHIFT_UNSIGNED,
    example="shr (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x2:d",
)
def shr(t: Tracer, i: Binary) -> None:
    """Shift right and fill with zeros; the source's bits are taken as unsigned."""
    value, count = _shift(t, i, Integers.UNSIGNED)
    t.write(i.dst, value >> count, t.mask())


@TABLE.effect(
    0x26,
    Binary,
    operands=SHIFT_SIGNED,
    example="asr (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x1f:d",
)
def asr(t: Tracer, i: Binary) -> None:
    """Shift right and fill with the sign of the source's value."""
    value, count = _shift(t, i, Integers.EXACT)
    t.write(i.dst, value >> count, t.mask())


def _rotate(t: Tracer, i: Binary, *, left: bool) -> None:
    kind = unsigned(source_type(i.src0).bits)
    value = t.modified(i.src0, source_type(i.src0)).bits_as(kind)
    mask = kind.bits - 1
    count = t.modified(i.src1, UD)
    forward, back = (count & mask).to(kind), (-count & mask).to(kind)
    first, second = (forward, back) if left else (back, forward)
    t.write(i.dst, (value << first) | (value >> second), t.mask())


@TABLE.effect(
    0x80,
    Binary,
    operands=ROTATED,
    restrict=rotated_quads,
    example="rol (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x5:d",
)
def rol(t: Tracer, i: Binary) -> None:
    """Rotate left within the width of src0."""
    _rotate(t, i, left=True)


@TABLE.effect(
    0x81,
    Binary,
    operands=ROTATED,
    restrict=rotated_quads,
    example="ror (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x5:d",
)
def ror(t: Tracer, i: Binary) -> None:
    """Rotate right within the width of src0."""
    _rotate(t, i, left=False)


@TABLE.lane(
    0x27,
    Unary,
    operands=COUNTED,
    integers=Integers.UNSIGNED,
    example="cbit (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def cbit(a: Expr) -> Expr:
    """Number of one bits."""
    return unary("popcount", a)


@TABLE.lane(
    0x1F,
    Unary,
    operands=UNSIGNED_DWORD,
    integers=Integers.UNSIGNED,
    example="lzd (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def lzd(a: Expr) -> Expr:
    """Number of leading zero bits; 32 for 0."""
    return unary("clz", a)


@TABLE.lane(
    0x2E,
    Unary,
    operands=LOWEST,
    integers=Integers.UNSIGNED,
    example="fbl (M1_NM, 1) V40(0,0)<1> V41(0,0)<0;1,0>",
)
def fbl(a: Expr) -> Expr:
    """Position of the lowest one bit; all ones for 0."""
    lowest = unary("popcount", ~a & (a - 1))
    return select(a.eq(0), constant(2**a.type.bits - 1, a.type, a.lanes), lowest)


@TABLE.effect(0x2F, Unary, operands=HIGHEST, example="fbh (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def fbh(t: Tracer, i: Unary) -> None:
    """Leading bits equal to the sign bit of a D, leading zeros of a UD; all ones if none ends."""
    value = t.read(i.src0)
    bits = value.bits_as(unsigned(value.type.bits)).to(UD)
    folded = select(value.lt(0), ~bits, bits) if value.type.is_signed else bits
    found = unary("clz", folded)
    ones = constant(2**32 - 1, UD, t.lanes)
    t.write(i.dst, select(folded.eq(0), ones, found), t.mask())


@TABLE.lane(
    0x48,
    Unary,
    operands=REVERSED,
    integers=Integers.UNSIGNED,
    example="bfrev (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def bfrev(a: Expr) -> Expr:
    """Bits in reverse order."""
    return unary("reverse", a)


@TABLE.effect(
    0x46,
    Ternary,
    operands=FIELD,
    restrict=no_pairs,
    example="bfe (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def bfe(t: Tracer, i: Ternary) -> None:
    """Extract src0 bits of src2 from bit src1 on; sign-extended into a D, else zero-extended."""
    width, offset, value = (t.modified(s, UD) for s in (i.src0, i.src1, i.src2))
    width, offset = width & 31, offset & 31
    field = (value >> offset) & ((constant(1, UD, t.lanes) << width) - 1)
    if destination_type(i.dst).is_signed:
        sign = (constant(1, UD, t.lanes) << width) >> 1
        field = (field ^ sign) - sign
    t.write(i.dst, field, t.mask())


@TABLE.effect(
    0x47,
    Quaternary,
    operands=FIELD,
    restrict=no_pairs,
    example="bfi (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0> "
    "V44(0,0)<1;1,0>",
)
def bfi(t: Tracer, i: Quaternary) -> None:
    """Place the low src0 bits of src2 at bit src1 of src3."""
    width, offset, inserted, base = (t.modified(s, UD) for s in (i.src0, i.src1, i.src2, i.src3))
    offset = offset & 31
    mask = ((constant(1, UD, t.lanes) << (width & 31)) - 1) << offset
    t.write(i.dst, ((inserted << offset) & mask) | (base & ~mask), t.mask())
