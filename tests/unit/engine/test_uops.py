"""The interpreter's micro-operations agree with the scalar model bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model import floats
from tests.model import uops as model
from tests.unit.engine.patterns import patterns
from visim.engine.context import Context
from visim.engine.modes import float_mode
from visim.engine.plan import StepBuilder
from visim.sem.expr import WIDE, Expr, broadcast, node, take, unsigned, vector_constant
from visim.sem.uops import UOPS, Group, Role
from visim.types import BF, BOOL, DF, HF, TYPES, UD, UQ, D, DataType, F, Q

INTEGERS = [kind for kind in TYPES if kind.is_integer]
UNSIGNED = [kind for kind in INTEGERS if not kind.is_signed]
FLOATS = [HF, F, DF]
KEEP = 0x4C0
MODES = {
    "nearest": KEEP,
    "up": KEEP | 0x10,
    "down": KEEP | 0x20,
    "zero": KEEP | 0x30,
    "flush": 0,
    "flush and round to integer down": 0x1020,
    "alternate": KEEP | 0x1,
    "alternate, down": KEEP | 0x21,
}
BITWISE = ["and", "or", "xor"]
EXAMPLES = 12


def named(name: str, kinds: Sequence[DataType]) -> Any:
    return pytest.mark.parametrize(name, kinds, ids=lambda kind: kind.name)


# Values


def integers(kind: DataType) -> st.SearchStrategy[int]:
    """Integers of a type: around its limits, zero and powers of two, and any."""
    low, high = model.limits(kind)
    special = {low, low + 1, high, high - 1, 0, 1, high // 2, high // 2 + 1}
    for place in range(kind.bits):
        special |= {1 << place, (1 << place) - 1, -(1 << place), -(1 << place) - 1}
    fitting = sorted(value for value in special if low <= value <= high)
    return st.one_of(st.sampled_from(fitting), st.integers(low, high))


def values(kind: DataType) -> st.SearchStrategy[int]:
    if kind is BOOL:
        return st.booleans()
    if kind is WIDE:
        return st.one_of(integers(Q), integers(UQ))
    return patterns(model.FORMATS[kind]) if kind.is_float else integers(kind)


def lanes(*kinds: DataType) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Some lanes of operands of the given types."""
    return st.lists(st.tuples(*map(values, kinds)), min_size=1, max_size=8)


def leaf(column: Sequence[int], kind: DataType) -> Expr:
    """Return a vector of the given values."""
    if kind.is_float:
        return vector_constant(tuple(column), unsigned(kind.bits)).bits_as(kind)
    return vector_constant(tuple(column), kind)


def computed(expr: Expr, cr0: int = KEEP) -> list[int]:
    """Return the lanes of an expression as the interpreter computes them."""
    context = Context(np.zeros(64, np.uint8), np.zeros(64, np.bool_))
    nowhere: Any = None
    builder = StepBuilder(nowhere, nowhere, context, float_mode(cr0), full=False)
    with np.errstate(all="ignore"):
        found = builder.build(builder.value(expr))()
    assert found.shape == (expr.lanes,)
    if expr.type is WIDE:
        return [int(value) for value in found]
    assert found.dtype == np.dtype(expr.type.numpy)
    return (found.view(f"uint{expr.type.bits}") if expr.type.is_float else found).tolist()


def mode_of(cr0: int) -> model.Mode:
    mode = float_mode(cr0)
    return model.Mode(int(mode.rounding), int(mode.to_integer), mode.flushed, mode.alternate)


def same(kind: DataType, got: int, wanted: int) -> bool:
    if kind.is_float and floats.is_nan(model.FORMATS[kind], wanted):
        return floats.is_nan(model.FORMATS[kind], got)
    if kind is WIDE:
        # Programs look at the low 128 bits of products that are larger; the interpreter has more.
        return (got - wanted) % (1 << kind.bits) == 0
    return got == wanted


def agree(
    name: str, kind: DataType, sources: Sequence[DataType], cases: Any, cr0: int = KEEP
) -> None:
    """Check one micro-operation on some lanes."""
    columns = list(zip(*cases, strict=True))
    leaves = [leaf(column, source) for column, source in zip(columns, sources, strict=True)]
    got = computed(node(name, kind, *leaves), cr0)
    for lane, case in enumerate(cases):
        wanted = model.evaluate(name, kind, sources, case, mode_of(cr0))
        assert same(kind, got[lane], wanted), f"{name}{case}: {got[lane]:#x}, not {wanted:#x}"


def check(name: str, kind: DataType, sources: Sequence[DataType]) -> None:
    """Check one micro-operation on many lanes."""

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(lanes(*sources))
    def property_holds(cases):
        agree(name, kind, sources, cases)

    property_holds()


def check_in_all_modes(name: str, kind: DataType, sources: Sequence[DataType]) -> None:
    """Check one micro-operation on many lanes, in all modes of CR0."""

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(lanes(*sources))
    def property_holds(cases):
        for cr0 in MODES.values():
            agree(name, kind, sources, cases, cr0)

    property_holds()


# Integers


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "rem", "min", "max", *BITWISE])
@named("kind", INTEGERS)
def test_two_integers(name: str, kind: DataType):
    check(name, kind, [kind, kind])


@pytest.mark.parametrize("name", ["neg", "abs", "not"])
@named("kind", INTEGERS)
def test_one_integer(name: str, kind: DataType):
    check(name, kind, [kind])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "rem", "min", "max"])
def test_two_wide_integers(name: str):
    check(name, WIDE, [WIDE, WIDE])


@pytest.mark.parametrize("name", ["neg", "abs"])
def test_one_wide_integer(name: str):
    check(name, WIDE, [WIDE])


@pytest.mark.parametrize("name", ["shl", "shr"])
@named("kind", [*INTEGERS, WIDE])
def test_shifts(name: str, kind: DataType):
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.lists(st.tuples(values(kind), st.integers(0, min(kind.bits, 64) - 1)), min_size=1))
    def property_holds(cases):
        agree(name, kind, [kind, kind], cases)

    property_holds()


@named("left", [D, UD])
@named("right", [D, UD])
def test_products_of_bytes(left: DataType, right: DataType):
    check("dot", D, [left, right, D])


@pytest.mark.parametrize("name", ["popcount", "clz", "reverse"])
@named("kind", UNSIGNED)
def test_bit_counts(name: str, kind: DataType):
    check(name, kind, [kind])


@pytest.mark.parametrize("name", BITWISE)
def test_two_booleans(name: str):
    check(name, BOOL, [BOOL, BOOL])


def test_a_boolean_is_inverted():
    agree("not", BOOL, [BOOL], [(True,), (False,)])


# Roles of sources and results


@named("kind", FLOATS)
@pytest.mark.parametrize("role", Role)
def test_roles_of_values_in_all_modes(role: Role, kind: DataType):
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(lanes(kind))
    def property_holds(cases):
        values_given = leaf([case[0] for case in cases], kind)
        for cr0 in MODES.values():
            got = computed(node("canonical", kind, values_given, attribute=role), cr0)
            for lane, (bits,) in enumerate(cases):
                assert same(kind, got[lane], canonical(role, kind, bits, mode_of(cr0)))

    property_holds()


def canonical(role: Role, kind: DataType, bits: int, mode: model.Mode) -> int:
    form = model.FORMATS[kind]
    found = floats.flush(form, bits) if kind in mode.flushed else bits
    if role is Role.RESULT:
        return mode.finished(kind, found)
    if role is Role.MAGNITUDE and mode.alternate and kind == F:
        return floats.magnitude(form, found)
    return found


# Comparisons


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le"])
@named("kind", [*INTEGERS, WIDE])
def test_integers_compare(name: str, kind: DataType):
    check(name, BOOL, [kind, kind])


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le"])
@named("kind", FLOATS)
def test_floats_compare(name: str, kind: DataType):
    check_in_all_modes(name, BOOL, [kind, kind])


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le"])
@named("kind", FLOATS)
def test_special_floats_compare(name: str, kind: DataType):
    form = model.FORMATS[kind]
    special = [0, 1, form.least_normal, form.one, form.greatest, form.infinity, form.nan]
    signed = [sign | bits for sign in (0, form.sign_bit) for bits in special]
    agree(name, BOOL, [kind, kind], [(a, b) for a in signed for b in signed])


# Conversions


@named("target", INTEGERS)
@named("source", INTEGERS)
def test_integers_convert_to_integers(source: DataType, target: DataType):
    check("convert", target, [source])


@named("target", [*INTEGERS, WIDE])
@named("source", [*INTEGERS, WIDE])
def test_integers_clamp(source: DataType, target: DataType):
    if target is not WIDE:
        check("clamp", target, [source])


@named("kind", INTEGERS)
def test_integers_widen_and_come_back(kind: DataType):
    check("convert", WIDE, [kind])
    check("convert", kind, [WIDE])


@named("target", FLOATS)
@named("source", [*INTEGERS, WIDE])
def test_integers_convert_to_floats(source: DataType, target: DataType):
    check_in_all_modes("convert", target, [source])


@named("target", INTEGERS)
@named("source", FLOATS)
def test_floats_convert_to_integers(source: DataType, target: DataType):
    check_in_all_modes("convert", target, [source])


@pytest.mark.parametrize(
    ("source", "target"), [(a, b) for a in FLOATS for b in FLOATS if a != b] + [(F, BF), (BF, F)]
)
def test_floats_convert_to_floats(source: DataType, target: DataType):
    check_in_all_modes("convert", target, [source])


@pytest.mark.parametrize(
    ("source", "target"),
    [(a, b) for a in TYPES for b in TYPES if a.bits == b.bits and (a.is_integer or a.is_float)
     and (b.is_integer or b.is_float)],
)  # fmt: skip
def test_bits_are_reinterpreted(source: DataType, target: DataType):
    check("bitcast", target, [source])


# Floats


@pytest.mark.parametrize(
    "name", ["floor", "ceil", "trunc", "rint", "frac", "saturate", "canonical"]
)
@named("kind", FLOATS)
def test_one_float(name: str, kind: DataType):
    check_in_all_modes(name, kind, [kind])


@pytest.mark.parametrize("name", ["fneg", "fabs"])
@named("kind", FLOATS)
def test_signs_change_without_a_look_at_the_number(name: str, kind: DataType):
    check_in_all_modes(name, kind, [kind])


@pytest.mark.parametrize("name", ["fadd", "fsub", "fmul", "fdiv", "fmin", "fmax"])
@named("kind", FLOATS)
def test_two_floats(name: str, kind: DataType):
    check_in_all_modes(name, kind, [kind, kind])


@named("kind", FLOATS)
def test_square_roots(kind: DataType):
    check_in_all_modes("fsqrt", kind, [kind])


@named("kind", FLOATS)
def test_fused_multiply_add(kind: DataType):
    check_in_all_modes("ffma", kind, [kind, kind, kind])


@named("kind", FLOATS)
def test_products_and_sums(kind: DataType):
    check_in_all_modes("fmuladd", kind, [kind, kind, kind])


@named("kind", FLOATS)
def test_an_operation_to_nearest_ignores_the_rounding_mode(kind: DataType):
    form = model.FORMATS[kind]
    third = floats.rounded(form, floats.Fraction(3), floats.NEAREST_EVEN)
    operands = leaf([form.one, form.one | form.sign_bit], kind), leaf([third, third], kind)
    wanted = [
        floats.div(form, numerator, third, floats.NEAREST_EVEN)
        for numerator in (form.one, form.one | form.sign_bit)
    ]
    for cr0 in MODES.values():
        assert computed(node("fdiv", kind, *operands, attribute="rne"), cr0) == wanted


# Shapes


@named("kind", [*INTEGERS, *FLOATS, BOOL])
def test_selection_takes_bits_as_they_are(kind: DataType):
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(lanes(BOOL, kind, kind))
    def property_holds(cases):
        columns = list(zip(*cases, strict=True))
        leaves = [leaf(columns[0], BOOL), leaf(columns[1], kind), leaf(columns[2], kind)]
        got = computed(node("select", kind, *leaves))
        assert got == [b if a else c for a, b, c in cases]

    property_holds()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=32))
def test_masks_are_combined(bits: list[bool]):
    mask = leaf(bits, BOOL)
    assert computed(node("any", BOOL, mask)) == model.SHAPES["any"](bits)
    assert computed(node("all", BOOL, mask)) == model.SHAPES["all"](bits)
    packed = Expr(UOPS["mask_bits"], UD, 1, (mask,))
    assert computed(packed) == model.SHAPES["mask_bits"](bits)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(integers(UD), min_size=1, max_size=16), st.data())
def test_lanes_are_taken_and_repeated(column: list[int], data: st.DataObject):
    numbers = st.lists(st.integers(0, len(column) - 1), min_size=1, max_size=32)
    taken = tuple(data.draw(numbers))
    assert computed(take(leaf(column, UD), taken)) == model.SHAPES["take"](column, taken)
    one = leaf(column[:1], UD) + 0
    assert computed(broadcast(one, 8)) == model.SHAPES["broadcast"](column[:1], 8)


# The table


def test_every_micro_operation_that_computes_is_modelled():
    assert model.unmodelled() == set()


@pytest.mark.parametrize("uop", UOPS.values(), ids=lambda uop: uop.name)
def test_the_model_takes_as_many_operands_as_the_table_says(uop: Any):
    if uop.group in {Group.LEAF, Group.SHAPE}:
        return
    kind = F if uop.group in {Group.FLOAT, Group.ROUND} else UD
    result = BOOL if uop.group is Group.COMPARE else kind
    model.evaluate(uop.name, result, [kind] * uop.arity, [1] * uop.arity, model.Mode())
