"""Moves, selections, comparisons and address arithmetic (specification 6)."""

from typing import Annotated

from visim.isa.forms import Binary, Dst, Exec, Src, Unary, UnpredicatedUnary
from visim.isa.kinds import ADDRESS_BASE
from visim.isa.operand_types import COMPARED, COPIED, SUM, Modifiers, Operands, Saturation
from visim.isa.registry import Category, Instruction, form
from visim.isa.restrictions import added_address, moved, moved_state, set_bits, whole_quads
from visim.isa.table import Table
from visim.isa.word_kinds import ChoiceKind
from visim.operands import (
    SCALAR,
    AddressOf,
    GeneralSource,
    Immediate,
    IndirectSource,
    PredicateOperand,
    VectorSource,
)
from visim.sem.effects import WritePredicate
from visim.sem.expr import Expr, select
from visim.sem.tracer import (
    Integers,
    Tracer,
    Unexecutable,
    bits_of,
    destination_type,
    source_type,
)
from visim.types import UD, D, W

TABLE = Table(Category.MOVE)
RELATIONS = (("eq", 0), ("ne", 1), ("gt", 2), ("ge", 3), ("lt", 4), ("le", 5))


@form("{op}.{relation} {exec} {dst} {src0} {src1}")
class Compare(Instruction):
    """A comparison into a predicate or a general variable."""

    exec: Exec
    relation: Annotated[str, ChoiceKind(RELATIONS, "a relation")]
    dst: Dst
    src0: Src
    src1: Src


@form("{op} {exec} {dst} {src0} {src1}")
class AddressAdd(Instruction):
    """Adds to an address; an object keeps `&V[n]` as the element of V there."""

    exec: Exec
    dst: Dst
    src0: Annotated[VectorSource, ADDRESS_BASE]
    src1: Src


@TABLE.effect(
    0x29, Unary, operands=COPIED, restrict=moved, example="mov (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>"
)
def mov(t: Tracer, i: Unary) -> None:
    """Copy with conversion; from a predicate, its bits as one integer."""
    if isinstance(i.src0, PredicateOperand):
        t.write(i.dst, t.read(i.src0), t.mask())
        return
    if _copies_bits(i):
        t.write(i.dst, t.read(i.src0), t.mask())
        return
    (value,) = t.lane_sources([i.src0], i.dst, Integers.EXACT)
    t.write(i.dst, value, t.mask())


def _copies_bits(i: Unary) -> bool:
    """Whether nothing converts or changes the value, so that even a signalling NaN stays."""
    plain = not getattr(i.src0, "modifier", "") and not getattr(i.dst, "saturate", False)
    return plain and source_type(i.src0) == destination_type(i.dst)


@TABLE.effect(
    0x2A,
    Binary,
    operands=SUM,
    restrict=whole_quads,
    example="(P1) sel (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x0:d",
)
def sel(t: Tracer, i: Binary) -> None:
    """First source where the predicate is true, second where it is false."""
    condition = t.predicate_mask()
    if condition is None:
        raise Unexecutable("sel without a predicate")
    a, b = t.lane_sources([i.src0, i.src1], i.dst, Integers.EXACT)
    mask = None if i.exec.no_mask else t.execution_mask()
    t.write(i.dst, select(condition, a, b), mask)


@TABLE.effect(0x2C, Compare, operands=COMPARED, example="cmp.lt (M1, 16) P1 V40(0,0)<1;1,0> 0x2:d")
def cmp(t: Tracer, i: Compare) -> None:
    """Compare; a predicate gets the truth values, a general variable all ones or zero."""
    sources = [i.src0, i.src1]
    kind = t.compute_type(sources, D, Integers.EXACT, saturate=False)
    a, b = (t.modified(source, kind, computes=True) for source in sources)
    mask = None if i.exec.no_mask else t.execution_mask()
    t.write(i.dst, _compare(i.relation, a, b), mask)


def _compare(relation: str, a: Expr, b: Expr) -> Expr:
    match relation:
        case "eq":
            return a.eq(b)
        case "ne":
            return a.ne(b)
        case "gt":
            return a.gt(b)
        case "ge":
            return a.ge(b)
        case "lt":
            return a.lt(b)
        case _:
            return a.le(b)


@TABLE.effect(
    0x2B,
    UnpredicatedUnary,
    operands=Operands((), Saturation.NO, Modifiers.NONE),
    restrict=set_bits,
    example="setp (M1_NM, 32) P1 0x0:ud",
)
def setp(t: Tracer, i: UnpredicatedUnary) -> None:
    """Set predicate bits: a scalar gives one bit a channel, a vector the lowest bit of each."""
    if not isinstance(i.dst, PredicateOperand):
        raise Unexecutable("setp into something that is not a predicate")
    if isinstance(i.src0, Immediate) or _is_scalar(i.src0):
        bits = bits_of(t.scalar(i.src0, UD), t.lanes)
        t.emit(WritePredicate(i.dst.variable, i.exec.offset, bits, None))
        return
    value = (t.modified(i.src0, UD) & 1).ne(0)
    t.emit(WritePredicate(i.dst.variable, i.exec.offset, value, t.mask()))


def _is_scalar(source: VectorSource) -> bool:
    """Whether a source is one element, direct or indirect (specification 5, Scalar Operands)."""
    return isinstance(source, GeneralSource | IndirectSource) and source.region == SCALAR


@TABLE.effect(0x2D, UnpredicatedUnary, restrict=moved_state, example="movs (M1_NM, 1) T6(0) 0x3:ud")
def movs(t: Tracer, i: UnpredicatedUnary) -> None:
    """Copy a surface or sampler index to or from a state variable."""
    t.write(i.dst, t.read(i.src0), t.mask())


@TABLE.effect(
    0x28,
    AddressAdd,
    restrict=added_address,
    example="addr_add (M1, 16) A0(0)<1> &V40 V41(0,0)<1;1,0>",
)
def addr_add(t: Tracer, i: AddressAdd) -> None:
    """Add a signed 16-bit byte offset to an address or to the address of a variable."""
    base = i.src0
    if isinstance(base, GeneralSource):
        offset = base.row * t.platform.grf_bytes + base.col * base.variable.type.bytes
        base = AddressOf(base.variable, offset)
    step = t.modified(i.src1, W).to(D).bits_as(UD)
    t.write(i.dst, t.read(base) + step, t.mask())
