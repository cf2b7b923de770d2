"""Arithmetic instructions (specification 6, Arithmetic Instructions)."""

from visim.isa.forms import Binary, Carry, Ternary, Unary, UnpredicatedBinary
from visim.isa.registry import Category
from visim.isa.table import Table
from visim.sem import functions, library
from visim.sem.expr import Expr, fma, maximum, minimum, node, unary
from visim.sem.tracer import Integers, Tracer
from visim.types import UD, UQ, D, Q

TABLE = Table(Category.ARITHMETIC)
RING = Integers.RING


@TABLE.lane(0x01, Binary, integers=RING, example="add (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x1:w")
def add(a: Expr, b: Expr) -> Expr:
    """Sum of two sources."""
    return a + b


@TABLE.lane(
    0x84,
    Ternary,
    integers=RING,
    example="add3 (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def add3(a: Expr, b: Expr, c: Expr) -> Expr:
    """Sum of three sources."""
    return a + b + c


@TABLE.lane(
    0x10, Binary, integers=RING, example="mul (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x3dcccccd:f"
)
def mul(a: Expr, b: Expr) -> Expr:
    """Product of two sources."""
    return a * b


@TABLE.lane(
    0x0C,
    Ternary,
    integers=RING,
    example="mad (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def mad(a: Expr, b: Expr, c: Expr) -> Expr:
    """Product of two sources plus the third; on floats it rounds once."""
    return fma(a, b, c) if a.type.is_float else a * b + c


@TABLE.effect(0x0D, Binary, example="mulh (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>")
def mulh(t: Tracer, i: Binary) -> None:
    """High 32 bits of the 64-bit product of two 32-bit integers."""
    a, b = t.lane_sources([i.src0, i.src1], i.dst, Integers.EXACT)
    wide = Q if a.type.is_signed else UQ
    high = (a.to(wide) * b.to(wide)) >> 32
    t.write(i.dst, high.to(UD if wide is UQ else D), t.mask())


@TABLE.effect(
    0x91,
    Ternary,
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
    0x49, Carry, example="addc (M1, 16) V40(0,0)<1> V41(0,0)<1> V42(0,0)<1;1,0> V43(0,0)<1;1,0>"
)
def addc(t: Tracer, i: Carry) -> None:
    """Sum of two UD sources, and its carry (0 or 1)."""
    a, b = (t.modified(source, UD) for source in (i.src0, i.src1))
    total = a + b
    t.write(i.dst, total, t.mask())
    t.write(i.carry, library.one_where(total.lt(a), UD), t.mask())


@TABLE.effect(
    0x4A, Carry, example="subb (M1, 16) V40(0,0)<1> V41(0,0)<1> V42(0,0)<1;1,0> V43(0,0)<1;1,0>"
)
def subb(t: Tracer, i: Carry) -> None:
    """Difference of two UD sources, and its borrow (0 or 1)."""
    a, b = (t.modified(source, UD) for source in (i.src0, i.src1))
    t.write(i.dst, a - b, t.mask())
    t.write(i.carry, library.one_where(a.lt(b), UD), t.mask())


@TABLE.lane(0x03, Binary, example="div (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>")
def div(a: Expr, b: Expr) -> Expr:
    """Quotient of two sources, rounded to zero for integers; integer x / 0 is all ones."""
    return library.quotient(a, b) if a.type.is_float else node("div", a.type, a, b)


@TABLE.lane(0x0F, Binary, example="mod (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>")
def mod(a: Expr, b: Expr) -> Expr:
    """Remainder of two integers with the dividend's sign; x mod 0 is all ones."""
    return node("rem", a.type, a, b)


@TABLE.lane(0x7F, Binary, example="divm (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>")
def divm(a: Expr, b: Expr) -> Expr:
    """Quotient of two floats, correctly rounded."""
    return node("fdiv", a.type, a, b)


@TABLE.lane(0x7E, Unary, example="sqrtm (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def sqrtm(a: Expr) -> Expr:
    """Square root, correctly rounded."""
    return unary("fsqrt", a)


@TABLE.lane(
    0x45,
    UnpredicatedBinary,
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
    sub=1,
    page="MIN_MAX",
    example="max (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x7:d",
)
def max_(a: Expr, b: Expr) -> Expr:
    """Larger of two sources; of a number and a NaN the number."""
    return maximum(a, b)


@TABLE.lane(0x02, Binary, example="avg (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>")
def avg(a: Expr, b: Expr) -> Expr:
    """Average of two integers, halves rounded up."""
    wide = a.to(Q), b.to(Q)
    return (wide[0] + wide[1] + 1) >> 1


@TABLE.lane(0x12, Unary, example="rndd (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rndd(a: Expr) -> Expr:
    """Round a float down to an integral value."""
    return unary("floor", a)


@TABLE.lane(0x13, Unary, example="rndu (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rndu(a: Expr) -> Expr:
    """Round a float up to an integral value."""
    return unary("ceil", a)


@TABLE.lane(0x14, Unary, example="rnde (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rnde(a: Expr) -> Expr:
    """Round a float to the nearest integral value, ties to even."""
    return unary("rint", a)


@TABLE.lane(0x15, Unary, example="rndz (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def rndz(a: Expr) -> Expr:
    """Round a float towards zero to an integral value."""
    return unary("trunc", a)


@TABLE.lane(0x09, Unary, example="frc (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def frc(a: Expr) -> Expr:
    """Fraction x - floor(x)."""
    return unary("frac", a)


@TABLE.lane(0x1B, Unary, example="inv (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def inv(a: Expr) -> Expr:
    """Reciprocal; visim rounds it correctly, devices may be 1 ULP off."""
    return library.reciprocal(a)


@TABLE.lane(0x19, Unary, example="sqrt (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>")
def sqrt(a: Expr) -> Expr:
    """Square root; visim rounds it correctly, devices may be 1 ULP off."""
    return library.square_root(a)


@TABLE.lane(
    0x1A,
    Unary,
    exactness=functions.RSQRT,
    example="rsqrt (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def rsqrt(a: Expr) -> Expr:
    """Reciprocal square root."""
    return functions.single_precision(functions.reciprocal_square_root, a)


@TABLE.lane(
    0x08,
    Unary,
    exactness=functions.EXP,
    example="exp (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def exp(a: Expr) -> Expr:
    """Two to the power of the source."""
    return functions.single_precision(functions.exp2, a)


@TABLE.lane(
    0x0B,
    Unary,
    exactness=functions.LOG,
    example="log (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def log(a: Expr) -> Expr:
    """Logarithm to the base two."""
    return functions.single_precision(functions.log2, a)


@TABLE.lane(
    0x17,
    Unary,
    exactness=functions.SIN,
    example="sin (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def sin(a: Expr) -> Expr:
    """Sine of radians."""
    return functions.single_precision(functions.sine, a)


@TABLE.lane(
    0x18,
    Unary,
    exactness=functions.COS,
    example="cos (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def cos(a: Expr) -> Expr:
    """Cosine of radians."""
    return functions.single_precision(functions.cosine, a)


@TABLE.lane(
    0x11,
    Binary,
    exactness=functions.POW,
    example="pow (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def pow_(a: Expr, b: Expr) -> Expr:
    """Magnitude of the first source to the power of the second."""
    return functions.single_precision(functions.power, a, b)


@TABLE.effect(
    0x82,
    Ternary,
    example="dp4a (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
)
def dp4a(t: Tracer, i: Ternary) -> None:
    """Sum of src0 and the four products of the bytes of src1 and src2."""
    library.dot_product_4(t, i)
