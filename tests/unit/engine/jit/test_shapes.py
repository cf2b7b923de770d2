"""Shapes are the vectors that they stand for."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.relations import RelationWriter
from visim.engine.jit.ir.shapes import (
    Form,
    Shape,
    ShapeWriter,
    linear,
    literal,
    ragged,
    uniform,
)
from visim.engine.jit.ir.text import Text, signed
from visim.engine.jit.targets import HERE
from visim.engine.jit.writing.scattered import core_range


def native(module: str) -> NativeCode:
    """Compile a module with a function f."""
    return NativeCode(object_code(module, processor()), ["f"])


def run(text: Text, value: str, lanes: int, bits: int) -> np.ndarray:
    """Compute a vector natively."""
    body = "\n".join(text.lines)
    vector = f"<{lanes} x i{bits}>"
    code = native(
        f"define void @f(ptr %to) {{\nentry:\n{body}\n  store {vector} {value}, ptr %to, align 1\n"
        "  ret void\n}"
    )
    found = np.zeros(lanes, f"i{bits // 8}")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.addresses["f"])(found.ctypes.data)
    return found


def run_scalar(text: Text, value: str, library: Library) -> int:
    """Compute an i64 natively."""
    body = "\n".join(text.lines)
    code = native(f"{library.render()}\ndefine i64 @f() {{\nentry:\n{body}\n  ret i64 {value}\n}}")
    return ctypes.CFUNCTYPE(ctypes.c_uint64)(code.addresses["f"])()


NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)


@settings(max_examples=25, deadline=None)
@given(NUMBERS, st.integers(-9, 9), st.booleans(), st.sampled_from([1, 4, -8]), NUMBERS)
def test_an_extended_row_is_exact_even_where_it_wraps(
    core: int, step: int, sign: bool, scale: int, offset: int
) -> None:
    text = Text()
    writer = ShapeWriter(text)
    row = linear(8, 32, (str(core),), step, exact=False)
    wide = writer.convert(row, 64, signed=sign)
    assert wide is not None
    moved = writer.add(writer.scaled(wide, scale), uniform(8, 64, str(offset)))
    assert moved is not None
    cores = [core + step * lane for lane in range(8)]
    plain = [signed(one, 32) if sign else one % 2**32 for one in cores]
    wanted = [signed(one * scale + offset, 64) for one in plain]
    assert run(text, writer.vector(moved), 8, 64).tolist() == wanted


@given(st.integers(0, 2**28 - 1), st.integers(1, 5))
@settings(max_examples=10, deadline=None)
def test_low_bits_that_are_cut_out_are_exact(core: int, step: int) -> None:
    text = Text()
    writer = ShapeWriter(text)
    row = linear(8, 32, (str(core),), step, exact=False)
    low = writer.convert(row, 28, signed=False)
    assert low is not None
    wide = writer.convert(low, 32, signed=False)
    assert wide is not None
    wanted = [(core + step * lane) % 2**28 for lane in range(8)]
    assert run(text, writer.vector(wide), 8, 32).tolist() == wanted


def test_pieces_are_refined_and_taken_apart() -> None:
    writer = ShapeWriter(Text())
    row = linear(16, 32, ("0", "100"), 2, exact=True)
    assert writer.refine(row, 4).cores == ("0", "8", "100", "108")
    part = writer.part(row, 8, 8)
    assert part is not None
    assert (part.cores, part.lanes) == (("100",), 8)
    assert writer.part(row, 3, 2) is None


@pytest.mark.parametrize(
    ("core", "step", "sign", "straight"),
    [(2**31 - 8, 1, True, True), (2**31 - 7, 1, True, False), (-(2**31) + 6, -1, True, False)],
)
def test_a_row_says_whether_its_sums_wrap(core: int, step: int, sign: bool, straight: bool) -> None:
    text = Text()
    writer = ShapeWriter(text)
    wide = writer.convert(linear(8, 32, (str(core),), step, exact=False), 64, signed=sign)
    assert isinstance(wide, Shape)
    (test,) = writer.straight(wide.form, wide.cores[0])
    found = text.let(f"insertelement <1 x i1> poison, i1 {test}, i64 0")
    octets = text.let(f"zext <1 x i1> {found} to <1 x i8>")
    assert bool(run(text, octets, 1, 8)[0]) == straight


@pytest.mark.parametrize("step", [1, 8, -3])
@pytest.mark.parametrize("last", [16, 17, 300])
def test_rows_one_after_the_other_are_joined(step: int, last: int) -> None:
    text, writer = Text(), ShapeWriter(Text())
    numbers = (0, 8, last)
    parts = [
        linear(lanes, 16, (str(step * first),), step, exact=False)
        for first, lanes in zip(numbers, (8, 8, 16), strict=True)
    ]
    joined = writer.joined(parts)
    assert joined is not None
    assert len(joined.cores) == (1 if last == 16 else 4)
    assert joined.form.exact is (step > 0)
    wanted = [
        step * (first + k)
        for first, many in zip(numbers, (8, 8, 16), strict=True)
        for k in range(many)
    ]
    writer.text = text
    assert run(text, writer.vector(joined), 32, 16).tolist() == wanted


def test_rows_with_other_steps_are_not_joined() -> None:
    parts = [linear(8, 16, ("%x",), step, exact=True) for step in (1, 2)]
    assert ShapeWriter(Text()).joined(parts) is None
    other = ragged(8, "%y", 16, signed=False)
    assert ShapeWriter(Text()).joined([parts[0], other]) is None


def test_constants_are_folded() -> None:
    writer = ShapeWriter(Text())
    total = writer.add(uniform(4, 32, "5"), uniform(4, 32, "-7"))
    assert total is not None
    assert literal(total.cores[0]) == -2


@pytest.mark.parametrize("sign", [False, True])
def test_a_ragged_shape_is_the_vector_that_it_stands_for(sign: bool) -> None:
    text = Text()
    writer = ShapeWriter(text)
    cores = [5, -1, 7, -(2**31), 2**31 - 1, 0, 3, -9]
    shape = ragged(8, "<" + ", ".join(f"i32 {one}" for one in cores) + ">", 64, signed=sign)
    moved = writer.add(uniform(8, 64, str(2**40)), writer.scaled(shape, 4))
    assert moved is not None
    half = writer.part(moved, 4, 4)
    assert half is not None
    assert writer.add(moved, moved) is None
    wanted = [2**40 + 4 * (one if sign else one % 2**32) for one in cores[4:]]
    assert run(text, writer.vector(half), 4, 64).tolist() == wanted


EDGES = st.sampled_from([0, 1, 1 << 31, 1 << 33, 1 << 47, (1 << 63) - 1, 1 << 63])
NEAR = st.integers(-9, 9)


@pytest.mark.parametrize("scale", [1, 4, 16])
@pytest.mark.parametrize("sign", [False, True])
def test_the_cores_in_range_are_found(sign: bool, scale: int) -> None:
    text, library = Text(), Library(HERE)
    form = Form(8, 64, 32, 0, sign, scale, ragged=True)
    low, room, some = core_range(text, library, form, "%delta", "%limit")
    lines = "\n".join(text.lines)
    code = native(
        f"{library.render()}\ndefine void @f(i64 %delta, i64 %limit, ptr %to) {{\nentry:\n{lines}\n"
        f"  store i64 {low}, ptr %to\n  %more = getelementptr i64, ptr %to, i64 1\n"
        f"  %checked = select i1 {some}, i64 {room}, i64 -1\n"
        f"  store i64 %checked, ptr %more\n  ret void\n}}"
    )
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
        code.addresses["f"]
    )
    least, most = (-(2**31), 2**31 - 1) if sign else (0, 2**32 - 1)

    @settings(max_examples=300, deadline=None)
    @given(EDGES, st.booleans(), NEAR, EDGES, NEAR)
    def check(far: int, below: bool, near: int, size: int, more: int) -> None:
        delta, limit = (
            signed((-far if below else far) + near, 64),
            max(0, min(size, 1 << 47) + more),
        )
        found = np.zeros(2, np.int64)
        function(delta, limit, found.ctypes.data)
        first = max(least, -(delta // scale))
        count = min(most, (limit - 1 - delta) // scale) - first
        if count < 0:
            assert found[1] < 0
        else:
            assert found.tolist() == [first, min(count, 2**31 - 1)]

    check()


NEAR_ENDS = st.sampled_from([0, 2**15, 2**16, 2**31, 2**32]).flatmap(
    lambda end: st.integers(end - 20, end + 20)
)
RELATIONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([*RELATIONS]),
    st.lists(NEAR_ENDS, min_size=1, max_size=2),
    NEAR_ENDS,
    st.sampled_from([16, 32]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_the_lanes_of_a_row_that_compare_are_exact_even_where_it_wraps(
    relation: str,
    firsts: list[int],
    number: int,
    bits: int,
    sign: bool,
    swapped: bool,
    has_masks: bool,
) -> None:
    """A row of 16 lanes, in one piece or two, on either side of a number."""
    text, library = Text(tests_bits=not has_masks), Library(HERE)
    cores = tuple(str(signed(first, bits)) for first in firsts)
    kind = np.dtype(f"{'i' if sign else 'u'}{bits // 8}")
    each = 16 // len(firsts)
    row = np.array(firsts, np.int64).repeat(each) + np.arange(16) % each
    unsigned = row.astype(f"u{bits // 8}").astype(np.int64).reshape(-1, each)
    exact = bool((np.diff(unsigned) == 1).all())
    sides = [linear(16, bits, cores, 1, exact=exact), uniform(16, bits, str(signed(number, bits)))]
    values = [row.astype(kind), np.full(16, number, np.int64).astype(kind)]
    if swapped:
        sides, values = sides[::-1], values[::-1]
    mask = RelationWriter(text, library).bits(relation, sides[0], sides[1], signed=sign)
    assert mask is not None
    found = run_scalar(text, mask, library)
    assert found == sum(1 << lane for lane in np.flatnonzero(RELATIONS[relation](*values)).tolist())


@pytest.mark.parametrize(
    ("lanes", "exact", "has_masks", "by_vector"),
    [
        (16, False, True, True),
        (32, False, True, False),
        (16, False, False, False),
        (16, True, True, False),
    ],
)
def test_rows_of_a_register_that_may_wrap_are_compared_as_vectors_where_masks_have_registers(
    lanes: int, exact: bool, has_masks: bool, by_vector: bool
) -> None:
    text, library = Text(tests_bits=not has_masks), Library(HERE)
    row, number = linear(lanes, 32, ("%first",), 1, exact=exact), uniform(lanes, 32, "%n")
    assert RelationWriter(text, library).bits("lt", row, number, signed=False) is not None
    body = "\n".join(text.lines)
    assert (f"icmp ult <{lanes} x i32>" in body) == by_vector
    assert ("@llvm.smax.i64" in body) != by_vector


@pytest.mark.parametrize("piece", [2, 16, 32])
@pytest.mark.parametrize("core_bits", [1, 3, 4, 5, 16])
@pytest.mark.parametrize("step", [-3, -1, 1, 2])
def test_pieces_that_always_wrap_are_those_that_are_straight_from_no_core(
    piece: int, core_bits: int, step: int
) -> None:
    form = Form(piece, 32, core_bits, step, signed=False)
    never = ShapeWriter(Text()).straight(form, "%core") == ["false"]
    assert form.always_wraps == never


@pytest.mark.parametrize(("relation", "holds"), [("lt", True), ("le", True), ("eq", False)])
def test_numbers_compare_in_all_lanes_or_in_none(relation: str, holds: bool) -> None:
    text, library = Text(), Library(HERE)
    below, above = uniform(8, 32, "-3"), uniform(8, 32, "4")
    mask = RelationWriter(text, library).bits(relation, below, above, signed=True)
    assert mask is not None
    assert run_scalar(text, mask, library) == (0xFF if holds else 0)


def test_other_shapes_are_compared_as_vectors() -> None:
    writer = RelationWriter(Text(), Library(HERE))
    row, number = linear(16, 32, ("5",), 1, exact=True), uniform(16, 32, "9")
    assert writer.bits("lt", linear(16, 32, ("5",), 4, exact=True), number, signed=False) is None
    assert writer.bits("lt", row, row, signed=False) is None
    assert (
        writer.bits("lt", linear(16, 32, ("1",) * 4, 1, exact=True), number, signed=False) is None
    )
    assert writer.bits("lt", linear(16, 64, ("5",), 1, exact=True), number, signed=False) is None
