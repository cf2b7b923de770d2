"""Conversions to and from the small float formats (specification FCVT and SRND)."""

from visim.isa.forms import Dst, Exec, Src, UnpredicatedUnary
from visim.isa.operand_types import Modifiers, Operands, Saturation, row
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.sem import small_floats
from visim.sem.expr import Expr
from visim.sem.tracer import Tracer, Unexecutable, destination_type, source_type
from visim.target import Platform
from visim.types import BF, HF, UB, UD, UW, B, DataType, F

TABLE = Table(Category.MOVE)


def _one(kind: DataType) -> frozenset[DataType]:
    return frozenset({kind})


FORMATS = Operands(
    (
        row(_one(HF), frozenset({UB, B})),
        row(frozenset({UB, B}), _one(HF)),
        row(_one(F), _one(UD)),
        row(_one(UD), _one(F)),
    ),
    Saturation.NO,
    Modifiers.NONE,
)
RANDOM = frozenset({UB, UW})
STOCHASTIC = Operands(
    (
        row(_one(HF), _one(F), RANDOM),
        row(frozenset({UB, B}), frozenset({HF, BF}), RANDOM),
    ),
    Saturation.NO,
    Modifiers.NONE,
)


@form("{op} {exec} {dst} {src0} {src1}")
class StochasticRound(Instruction):
    """A source and a random number; neither predicate nor saturation."""

    exec: Exec
    dst: Dst
    src0: Src
    src1: Src


def _masked_bytes(i: UnpredicatedUnary, platform: Platform | None) -> str | None:
    """FCVT, notes: eight-bit destinations are for NoMask."""
    if destination_type(i.dst) in {UB, B} and not i.exec.no_mask:
        return f"a destination of eight bits needs NoMask, found {i.exec}"
    return None


@TABLE.effect(
    0x1D,
    UnpredicatedUnary,
    operands=FORMATS,
    restrict=_masked_bytes,
    example="fcvt (M1_NM, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
)
def fcvt(t: Tracer, i: UnpredicatedUnary) -> None:
    """Convert between HF and BF8 (in UB) or HF8 (in B), and between F and TF32 (in UD)."""
    value = t.read(i.src0)
    result = _converted(value, destination_type(i.dst))
    t.write(i.dst, result, None if i.exec.no_mask else t.execution_mask())


def _converted(value: Expr, target: DataType) -> Expr:
    match value.type, target:
        case (source, kind) if source == HF and kind == UB:
            return small_floats.half_to_bf8(value)
        case (source, kind) if source == HF and kind == B:
            return small_floats.half_to_hf8(value).bits_as(B)
        case (source, kind) if source == UB and kind == HF:
            return small_floats.bf8_to_half(value)
        case (source, kind) if source == B and kind == HF:
            return small_floats.hf8_to_half(value)
        case (source, kind) if source == F and kind == UD:
            return small_floats.single_to_tf32(value)
        case (source, kind) if source == UD and kind == F:
            return value.bits_as(F)
        case (source, kind):
            raise Unexecutable(f"fcvt of {source!r} into {kind!r}")


def _unmasked(i: StochasticRound, platform: Platform | None) -> str | None:
    """SRND, notes: no mask."""
    return None if i.exec.no_mask else f"all channels are rounded: NoMask, found {i.exec}"


@TABLE.effect(
    0x1E,
    StochasticRound,
    operands=STOCHASTIC,
    restrict=_unmasked,
    example="srnd (M1_NM, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>",
)
def srnd(t: Tracer, i: StochasticRound) -> None:
    """Round HF to BF8 (in UB) or F to HF by adding random bits to the mantissa and cutting it."""
    source, target = source_type(i.src0), destination_type(i.dst)
    value, random = t.read(i.src0), t.modified(i.src1, UD)
    if (source, target) == (HF, UB):
        result = small_floats.half_to_bf8_stochastic(value, random)
    elif (source, target) == (F, HF):
        result = small_floats.single_to_half_stochastic(value, random)
    else:
        raise Unexecutable(f"srnd of {source!r} into {target!r}: which bits meet is not stated")
    t.write(i.dst, result, None)
