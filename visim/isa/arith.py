"""Arithmetic instructions (specification 6, Arithmetic Instructions)."""

from visim.isa.forms import Binary, Carry, Dst, Exec, Pred, Src, Ternary, Unary, UnpredicatedBinary
from visim.isa.operand_types import (
    CARRY,
    DWORDS,
    EXTREME,
    FLOAT,
    FUNCTION,
    HIGH_PRODUCT,
    MACRO,
    NARROW,
    PLAIN_F,
    PRODUCT,
    PRODUCT_SUM,
    QUOTIENT,
    SUM,
    UNSATURATED_F,
    UNSATURATED_MACRO,
    WORDS,
    Modifiers,
    Operands,
    Saturation,
    row,
)
from visim.isa.registry import Category, Instruction, form
from visim.isa.restrictions import whole_quads
from visim.isa.table import Table
from visim.operands import PredicateOperand
from visim.sem import functions, library
from visim.sem.effects import WritePredicate
from visim.sem.expr import Expr, fma, maximum, minimum, node, unary
from visim.sem.tracer import Integers, Tracer, destination_type
from visim.sem.uops import Role
from visim.target import Platform
from visim.types import UD, UQ, D, Q

TABLE = Table(Category.ARITHMETIC)
RING = Integers.RING


@TABLE.lane(
    0x01,
    Binary,
    operands=SUM,
    integers=RING,
    example="add (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x1:w",
)
def add(a: Expr, b: Expr) -> Expr:
    """Sum of two sources."""
    return a + b


@TABLE.lane(
    0x84,
    Ternary,
    operands=Operands((row(WORDS | DWORDS),)),
    integers=RING,
    example="add3 (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def add3(a: Expr, b: Expr, c: Expr) -> Expr:
    """Sum of three sources."""
    return a + b + c


@form("{pred}{op} {exec} {dst} {src0} {src1} {src2}")
class OverflowAdd(Instruction):
    """Three sources; the predicate is a second destination."""

    exec: Exec
    pred: Pred
    dst: Dst
    src0: Src
    src1: Src
    src2: Src


def _plain_predicate(i: OverflowAdd, platform: Platform | None) -> str | None:
    """Tell whether the predicate is changed although it is a destination."""
    if i.pred is not None and (i.pred.invert or i.pred.combine):
        return "the predicate takes the overflow, it cannot be inverted or combined"
    return None


@TABLE.effect(
    0x92,
    OverflowAdd,
    operands=Operands((row(WORDS | DWORDS),), Saturation.NO),
    restrict=_plain_predicate,
    example="(P1) add3o (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def add3o(t: Tracer, i: OverflowAdd) -> None:
    """Sum of three integers; the predicate gets whether the destination could not hold it."""
    a, b, c = (t.modified(source, Q) for source in (i.src0, i.src1, i.src2))
    total = a + b + c
    kept = total.to(destination_type(i.dst))
    mask = None if i.exec.no_mask else t.execution_mask()
    t.write(i.dst, kept, mask)
    if i.pred is not None:
        overflow = total.ne(kept.to(Q))
        t.emit(WritePredicate(i.pred.variable, i.exec.offset, overflow, mask))


@TABLE.lane(
    0x10,
    Binary,
    operands=PRODUCT,
    restrict=whole_quads,
    integers=RING,
    example="mul (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x3dcccccd:f",
)
def mul(a: Expr, b: Expr) -> Expr:
    """Product of two sources."""
    return a * b


@TABLE.lane(
    0x0C,
    Ternary,
    operands=PRODUCT_SUM,
    integers=RING,
    example="mad (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def mad(a: Expr, b: Expr, c: Expr) -> Expr:
    """Product of two sources plus the third; on floats it rounds once."""
    return fma(a, b, c) if a.type.is_float else a * b + c


@TABLE.effect(
    0x0D,
    Binary,
    operands=HIGH_PRODUCT,
    example="mulh (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def mulh(t: Tracer, i: Binary) -> None:
    """High 32 bits of the 64-bit product of two 32-bit integers."""
    a, b = t.lane_sources([i.src0, i.src1], i.dst, Integers.EXACT)
    wide = Q if a.type.is_signed else UQ
    high = (a.to(wide) * b.to(wide)) >> 32
    t.write(i.dst, high.to(UD if wide is UQ else D), t.mask())


@TABLE.effect(
    0x91,
    Ternary,
    operands=Operands((row(DWORDS),), Saturation.NO),
    example="madw (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> 0x0:ud",
)
def madw(t: Tracer, i: Ternary) -> None:
    """64-bit product plus addend: low halves first, high halves from the next register on."""
    sources = t.lane_sources([i.src0, i.src1, i.src2], i.dst, Integers.EXACT)
    wide = Q if sources[0].type.is_signed else UQ
    a, b, c = (source.to(wide) for source in sources)
    result = (a * b + c).bits_as(UQ)
    low = result.to(UD)
    high = (result >> 32).to(UD)
    t.write(i.dst, low, t.mask())
    t.write(library.next_register_block(i.dst, t.lanes, t.platform), high, t.mask())


@TABLE.effect(
    0x49,
    Carry,
    operands=CARRY,
    example="addc (M1, 16) V40(0,0)<1> V41(0,0)<1> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def addc(t: Tracer, i: Carry) -> None:
    """Sum of two UD sources, and its carry (0 or 1)."""
    a, b = (t.modified(source, UD) for source in (i.src0, i.src1))
    total = a + b
    t.write(i.dst, total, t.mask())
    t.write(i.carry, library.one_where(total.lt(a), UD), t.mask())


@TABLE.effect(
    0x4A,
    Carry,
    operands=CARRY,
    example="subb (M1, 16) V40(0,0)<1> V41(0,0)<1> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def subb(t: Tracer, i: Carry) -> None:
    """Difference of two UD sources, and its borrow (0 or 1)."""
    a, b = (t.modified(source, UD) for source in (i.src0, i.src1))
    t.write(i.dst, a - b, t.mask())
    t.write(i.carry, library.one_where(a.lt(b), UD), t.mask())


@TABLE.lane(
    0x03,
    Binary,
    operands=QUOTIENT,
    example="div (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def div(a: Expr, b: Expr) -> Expr:
    """Quotient of two sources, rounded to zero for integers; integer x / 0 is all ones."""
    return library.quotient(a, b) if a.type.is_float else node("div", a.type, a, b)


@TABLE.lane(
    0x0F,
    Binary,
    operands=Operands((row(NARROW),)),
    example="mod (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def mod(a: Expr, b: Expr) -> Expr:
    """Remainder of two integers with the dividend's sign; x mod 0 is all ones."""
    return node("rem", a.type, a, b)


@TABLE.lane(
    0x7F,
    Binary,
    operands=MACRO,
    example="divm (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def divm(a: Expr, b: Expr) -> Expr:
    """Quotient of two floats, correctly rounded."""
    return node("fdiv", a.type, a, b)


@TABLE.lane(0x7E, Unary, operands=MACRO, example="sqrtm (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def sqrtm(a: Expr) -> Expr:
    """Square root, correctly rounded."""
    return unary("fsqrt", a)


@form("{pred}{op} {exec} {dst} {special} {src0} {src1}")
class BinaryMacro(Instruction):
    """Two sources, and a predicate for results that need no refinement."""

    exec: Exec
    pred: Pred
    dst: Dst
    special: Dst
    src0: Src
    src1: Src


@form("{pred}{op} {exec} {dst} {special} {src0}")
class UnaryMacro(Instruction):
    """One source, and a predicate for results that need no refinement."""

    exec: Exec
    pred: Pred
    dst: Dst
    special: Dst
    src0: Src


def _special_predicate(i: BinaryMacro | UnaryMacro, platform: Platform | None) -> str | None:
    """Tell whether the second destination is no predicate."""
    is_predicate = isinstance(i.special, PredicateOperand)
    return None if is_predicate else "its second destination is a predicate variable"


@TABLE.effect(
    0x9B,
    BinaryMacro,
    operands=UNSATURATED_MACRO,
    restrict=_special_predicate,
    exactness=library.APPROXIMATION,
    example="invm (M1, 16) V40(0,0)<1> P1 V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def invm(t: Tracer, i: BinaryMacro) -> None:
    """Start of a division; the predicate tells which quotients are zero, infinite or NaN."""
    a, b = t.lane_sources([i.src0, i.src1], i.dst, Integers.EXACT)
    library.macro(t, i, library.quotient(a, b))


@TABLE.effect(
    0x9C,
    UnaryMacro,
    operands=UNSATURATED_MACRO,
    restrict=_special_predicate,
    exactness=library.APPROXIMATION,
    example="rsqtm (M1, 16) V40(0,0)<1> P1 V41(0,0)<1;1,0>",
)
def rsqtm(t: Tracer, i: UnaryMacro) -> None:
    """Start of a reciprocal square root; the predicate tells which are zero, infinite or NaN."""
    (a,) = t.lane_sources([i.src0], i.dst, Integers.EXACT)
    library.macro(t, i, library.reciprocal_root(a))


@TABLE.lane(
    0x45,
    UnpredicatedBinary,
    operands=EXTREME,
    sub=0,
    page="MIN_MAX",
    example="min (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x7:d",
)
def min_(a: Expr, b: Expr) -> Expr:
    """Smaller of two sources; of a number and a NaN the number."""
    return minimum(a, b)


@TABLE.lane(
    0x45,
    UnpredicatedBinary,
    operands=EXTREME,
    sub=1,
    page="MIN_MAX",
    example="max (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x7:d",
)
def max_(a: Expr, b: Expr) -> Expr:
    """Larger of two sources; of a number and a NaN the number."""
    return maximum(a, b)


@TABLE.lane(
    0x02,
    Binary,
    operands=Operands((row(NARROW),)),
    example="avg (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def avg(a: Expr, b: Expr) -> Expr:
    """Average of two integers, halves rounded up."""
    wide = a.to(Q), b.to(Q)
    return (wide[0] + wide[1] + 1) >> 1


@TABLE.lane(0x12, Unary, operands=PLAIN_F, example="rndd (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rndd(a: Expr) -> Expr:
    """Round a float down to an integral value."""
    return unary("floor", a)


@TABLE.lane(0x13, Unary, operands=PLAIN_F, example="rndu (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rndu(a: Expr) -> Expr:
    """Round a float up to an integral value."""
    return unary("ceil", a)


@TABLE.lane(0x14, Unary, operands=PLAIN_F, example="rnde (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rnde(a: Expr) -> Expr:
    """Round a float to the nearest integral value, ties to even."""
    return unary("rint", a)


@TABLE.lane(0x15, Unary, operands=PLAIN_F, example="rndz (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rndz(a: Expr) -> Expr:
    """Round a float towards zero to an integral value."""
    return unary("trunc", a)


@TABLE.lane(0x09, Unary, operands=UNSATURATED_F, example="frc (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def frc(a: Expr) -> Expr:
    """Fraction x - floor(x)."""
    return unary("frac", a)


@TABLE.lane(0x1B, Unary, operands=FLOAT, example="inv (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def inv(a: Expr) -> Expr:
    """Reciprocal; visim rounds it correctly, devices may be 1 ULP off."""
    return library.reciprocal(a)


@TABLE.lane(0x19, Unary, operands=FLOAT, example="sqrt (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def sqrt(a: Expr) -> Expr:
    """Square root; visim rounds it correctly, devices may be 1 ULP off."""
    return library.square_root(a)


@TABLE.lane(
    0x1A,
    Unary,
    operands=FUNCTION,
    exactness=functions.RSQRT,
    example="rsqrt (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def rsqrt(a: Expr) -> Expr:
    """Reciprocal square root."""
    return functions.reciprocal_square_root(a, role=Role.MAGNITUDE)


@TABLE.lane(
    0x08,
    Unary,
    operands=FUNCTION,
    exactness=functions.EXP,
    example="exp (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def exp(a: Expr) -> Expr:
    """Two to the power of the source."""
    return functions.single_precision(functions.exp2, a)


@TABLE.lane(
    0x0B,
    Unary,
    operands=FUNCTION,
    exactness=functions.LOG,
    example="log (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def log(a: Expr) -> Expr:
    """Logarithm to the base two."""
    return functions.single_precision(functions.log2, a, role=Role.MAGNITUDE)


@TABLE.lane(
    0x17,
    Unary,
    operands=FUNCTION,
    exactness=functions.SIN,
    example="sin (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def sin(a: Expr) -> Expr:
    """Sine of radians."""
    return functions.single_precision(functions.sine, a)


@TABLE.lane(
    0x18,
    Unary,
    operands=FUNCTION,
    exactness=functions.COS,
    example="cos (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def cos(a: Expr) -> Expr:
    """Cosine of radians."""
    return functions.single_precision(functions.cosine, a)


@TABLE.lane(
    0x11,
    Binary,
    operands=FUNCTION,
    exactness=functions.POW,
    example="pow (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def pow_(a: Expr, b: Expr) -> Expr:
    """Magnitude of the first source to the power of the second."""
    return functions.single_precision(functions.power, a, b)


@TABLE.effect(
    0x82,
    Ternary,
    operands=Operands((row(DWORDS),), modifiers=Modifiers.NONE),
    example="dp4a (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def dp4a(t: Tracer, i: Ternary) -> None:
    """Sum of src0 and the four products of the bytes of src1 and src2."""
    library.dot_product_4(t, i)
