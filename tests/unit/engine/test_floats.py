"""Floating-point micro-operations agree with the scalar model bit for bit."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model import floats as model
from tests.unit.engine.patterns import patterns, special_patterns
from visim.engine import conversions, floats
from visim.engine.rounding import Rounding

FORMATS = pytest.mark.parametrize("form", model.FORMATS, ids=lambda f: f.name)
MODES = pytest.mark.parametrize("mode", list(Rounding), ids=lambda m: m.name)
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
EVERY_HALF = np.arange(1 << 16, dtype=np.uint16)


@pytest.fixture(autouse=True)
def _quiet_numpy():
    with np.errstate(all="ignore"):
        yield


@st.composite
def lanes(draw: st.DrawFn, f: model.Format, count: int) -> list[tuple[int, ...]]:
    """Some lanes of `count` operands whose exponents often make them interact."""
    result: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(1, 5))):
        operands = [draw(patterns(f)) for _ in range(count)]
        if count > 1 and draw(st.booleans()):
            operands[-1] = beside(f, operands, draw(st.integers(-2, f.fraction_bits * 2 + 4)))
        result.append(tuple(operands))
    return result


def beside(f: model.Format, operands: list[int], distance: int) -> int:
    """Move the last operand's exponent to `distance` below that of the others' product."""
    fields = [model.magnitude(f, o) >> f.fraction_bits for o in operands[:-1]]
    exponent = sum(fields) - f.bias * (len(fields) - 1) - distance
    exponent = min(max(exponent, 0), (1 << f.exponent_bits) - 2)
    fraction = operands[-1] & ((1 << f.fraction_bits) - 1)
    return (operands[-1] & f.sign_bit) | (exponent << f.fraction_bits) | fraction


def array(f: model.Format, bits: list[int] | np.ndarray) -> np.ndarray:
    return np.array(bits, dtype=f"uint{f.bits}").view(f.name)


def same(f: model.Format, got: np.ndarray, expected: list[int]) -> None:
    """Check bits, taking any quiet not-a-number for any other."""
    assert got.dtype == np.dtype(f.name)
    for lane, (bits, wanted) in enumerate(
        zip(got.view(f"uint{f.bits}").tolist(), expected, strict=True)
    ):
        if model.is_nan(f, wanted):
            assert model.is_nan(f, bits), f"lane {lane}: {bits:#x} is a number"
            assert bits & f.quiet, f"lane {lane}: {bits:#x} is a signalling not-a-number"
        else:
            assert bits == wanted, f"lane {lane}: {bits:#x} should be {wanted:#x}"


@FORMATS
@MODES
@pytest.mark.parametrize(
    ("operation", "count"),
    [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("fma", 3)],
)
def test_arithmetic_is_correctly_rounded(operation, count, mode, form):
    @settings(max_examples=30, deadline=None)
    @given(lanes(form, count))
    def check(cases):
        columns = [array(form, list(column)) for column in zip(*cases, strict=True)]
        got = getattr(floats, operation)(*columns, mode)
        same(form, got, [getattr(model, operation)(form, *case, mode) for case in cases])

    with np.errstate(all="ignore"):
        check()


@FORMATS
@pytest.mark.parametrize(
    ("operation", "count"), [("fmin", 2), ("fmax", 2), ("saturate", 1), ("frac", 1)]
)
def test_selection_and_fraction_agree_with_the_model(operation, count, form):
    @settings(max_examples=40, deadline=None)
    @given(lanes(form, count))
    def check(cases):
        columns = [array(form, list(column)) for column in zip(*cases, strict=True)]
        got = getattr(floats, operation)(*columns)
        wanted = [getattr(model, operation)(form, *case) for case in cases]
        if operation in {"fmin", "fmax"}:
            got = np.where(np.isnan(got), array(form, [form.nan]), got)
        same(form, got, wanted)

    with np.errstate(all="ignore"):
        check()


@FORMATS
@MODES
def test_rounding_to_integral_values_agrees_with_the_model(mode, form):
    @settings(max_examples=40, deadline=None)
    @given(lanes(form, 1))
    def check(cases):
        bits = [case[0] for case in cases]
        got = floats.round_to_integral(array(form, bits), mode)
        same(form, got, [model.round_to_integral(form, b, mode) for b in bits])

    with np.errstate(all="ignore"):
        check()


@FORMATS
def test_flushing_replaces_denormals_by_zeros_of_their_sign(form):
    bits = [b for b in special_patterns(form) if not model.is_nan(form, b)]
    same(form, floats.flush_denormals(array(form, bits)), [model.flush(form, b) for b in bits])
    assert np.isnan(floats.flush_denormals(array(form, [form.nan]))).all()


@FORMATS
def test_all_pairs_of_selected_special_numbers_agree(form):
    chosen = [0, 1, form.least_normal - 1, form.least_normal, form.one, form.greatest,
              form.infinity, form.nan, form.infinity | 1]  # fmt: skip
    chosen += [form.sign_bit | b for b in chosen]
    cases = list(itertools.product(chosen, repeat=3))
    columns = [array(form, list(column)) for column in zip(*cases, strict=True)]
    for mode in Rounding:
        got = floats.fma(*columns, mode)
        same(form, got, [model.fma(form, *case, mode) for case in cases])
    pairs = list(itertools.product(chosen, repeat=2))
    a, b = (array(form, list(column)) for column in zip(*pairs, strict=True))
    for mode, name in itertools.product(Rounding, ("add", "sub", "mul", "div")):
        got = getattr(floats, name)(a, b, mode)
        same(form, got, [getattr(model, name)(form, *pair, mode) for pair in pairs])


def test_fma_of_halfway_products_looks_at_bits_beyond_float64():
    # (1 + 2**-12)**2 = 1 + 2**-11 + 2**-24 is halfway between two float32.
    a = np.full(3, 1 + 2.0**-12, np.float32)
    c = np.array([0, 2.0**-80, -(2.0**-80)], np.float32)
    low, high = 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-23
    assert floats.fma(a, a, c, Rounding.NEAREST_EVEN).tolist() == [low, high, low]


def test_fma_of_denormal_halfway_sums_looks_at_bits_beyond_float64():
    # The product is half the least denormal less 2**-190, which a float64 sum cannot hold.
    a = np.float32([2.0**-75 * (1 + 2.0**-20)] * 2)
    b = np.float32([2.0**-75 * (1 - 2.0**-20)] * 2) * np.float32([1, -1])
    c = np.float32([2.0**-127 + 2.0**-149] * 2)
    assert floats.fma(a, b, c, Rounding.NEAREST_EVEN).tolist() == c.tolist()


@FORMATS
@MODES
def test_fma_beside_a_halfway_point_rounds_to_the_nearer_side(mode, form):
    # The product is half a unit in the last place of the addend, plus or minus very little.
    last = form.fraction_bits
    cases = []
    for k, fraction, signs, down in itertools.product(
        range(last // 2 + 1, last + 1), (0, 1, 2, (1 << last) - 1), range(4), (0, 1)
    ):
        half = form.one - ((last + 1) << last)
        a = (form.one + (1 << (last - k))) | (form.sign_bit if signs & 1 else 0)
        b = half - (1 << (last - k + 1)) if down else half + (1 << (last - k))
        cases.append((a, max(b, 1), (form.one | fraction) | (form.sign_bit * (signs >> 1))))
    columns = [array(form, list(column)) for column in zip(*cases, strict=True)]
    got = floats.fma(*columns, mode)
    same(form, got, [model.fma(form, *case, mode) for case in cases])


def test_operands_broadcast_and_keep_the_result_shape():
    one = np.ones(1)
    many = np.linspace(1e-310, 2e-310, 5)
    assert floats.fma(many, one, one * 1e-310, Rounding.UP).shape == (5,)
    assert floats.mul(one, many, Rounding.DOWN).shape == (5,)


def test_operands_are_never_changed():
    for dtype, mode in itertools.product(("float16", "float32", "float64"), Rounding):
        a = np.array([0.0, -0.0, 1.5, -3.0, 65504.0, np.inf, 6e-8, 0.1], dtype)
        kept = a.tobytes()
        floats.fma(a, a, a, mode)
        floats.add(a, a, mode)
        floats.div(a, a, mode)
        floats.saturate(a)
        floats.fmin(a, a)
        assert a.tobytes() == kept


class TestEveryHalf:
    """All 65536 patterns of float16."""

    HALVES = EVERY_HALF.view(np.float16)

    @MODES
    def test_square_root(self, mode):
        got = floats.sqrt(self.HALVES, mode)
        same(model.F16, got, [model.sqrt(model.F16, b, mode) for b in range(1 << 16)])

    @MODES
    def test_integral_values(self, mode):
        got = floats.round_to_integral(self.HALVES, mode)
        wanted = [model.round_to_integral(model.F16, b, mode) for b in range(1 << 16)]
        same(model.F16, got, wanted)

    def test_fraction(self):
        got = floats.frac(self.HALVES)
        same(model.F16, got, [model.frac(model.F16, b) for b in range(1 << 16)])

    def test_saturation(self):
        got = floats.saturate(self.HALVES)
        same(model.F16, got, [model.saturate(model.F16, b) for b in range(1 << 16)])

    def test_flushing(self):
        numbers = self.HALVES[~np.isnan(self.HALVES)]
        wanted = [model.flush(model.F16, b) for b in numbers.view(np.uint16).tolist()]
        same(model.F16, floats.flush_denormals(numbers), wanted)

    @MODES
    def test_reciprocal(self, mode):
        got = floats.div(np.ones(1, np.float16), self.HALVES, mode)
        wanted = [model.div(model.F16, model.F16.one, b, mode) for b in range(1 << 16)]
        same(model.F16, got, wanted)

    @pytest.mark.parametrize("target", [model.F32, model.F64], ids=lambda f: f.name)
    def test_widening(self, target):
        got = conversions.convert_float(self.HALVES, target.name, Rounding.UP)
        wanted = [model.convert(model.F16, target, b, model.UP) for b in range(1 << 16)]
        same(target, got, wanted)

    @pytest.mark.parametrize("source", [model.F32, model.F64], ids=lambda f: f.name)
    def test_narrowing_around_every_halfway_point(self, source):
        halves = np.arange(model.F16.infinity, dtype=np.uint16).view(np.float16)
        wide = halves.astype(source.name)
        after = np.append(wide[1:], source_type(source)(65536))
        middle = (wide + after) / 2
        odd = np.arange(middle.size) % 2 == 1
        low = halves.view(np.uint16).astype(int)
        for values, up in (
            (np.nextafter(middle, 0), np.zeros_like(odd)),
            (middle, odd),
            (np.nextafter(middle, source_type(source)(np.inf)), np.ones_like(odd)),
        ):
            got = conversions.convert_float(values, "float16", Rounding.NEAREST_EVEN)
            assert (got.view(np.uint16) == low + up).all()


def source_type(f: model.Format):
    return np.dtype(f.name).type


@pytest.mark.parametrize("target", model.FORMATS, ids=lambda f: "to_" + f.name)
@FORMATS
@MODES
def test_float_conversions_round_once(mode, form, target):
    @settings(max_examples=30, deadline=None)
    @given(lanes(form, 1))
    def check(cases):
        bits = [case[0] for case in cases]
        got = conversions.convert_float(array(form, bits), target.name, mode)
        same(target, got, [model.convert(form, target, b, mode) for b in bits])

    with np.errstate(all="ignore"):
        check()


@pytest.mark.parametrize("target", INTEGERS)
@FORMATS
@MODES
def test_floats_become_clamped_integers(mode, form, target):
    info = np.iinfo(target)
    edges = [info.min - 1, info.min, info.min + 1, info.max - 1, info.max, info.max + 1]
    exact = [Fraction(e) + d for e in (*edges, -1, 0, 1) for d in (0, Fraction(1, 2))]
    near = [model.rounded(form, x, m) for x in exact for m in model.MODES]
    bits = near + [b for b in special_patterns(form) if b % 3 == 0 or b & 0xFF < 4]
    got = conversions.float_to_int(array(form, bits), target, mode)
    signed = target.startswith("int")
    wanted = [model.to_integer(form, b, info.bits, signed, mode) for b in bits]
    assert got.dtype == np.dtype(target)
    assert got.tolist() == wanted


def test_conversion_to_integers_truncates_by_default():
    got = conversions.float_to_int(np.array([1.9, -1.9, np.nan, np.inf, -0.0]), "int32")
    assert got.tolist() == [1, -1, 0, 2**31 - 1, 0]


def test_negative_numbers_become_unsigned_zero():
    negative = np.array([-1.0, -0.4, -np.inf, -1e-320])
    assert conversions.float_to_int(negative, "uint64").tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("source", INTEGERS)
@FORMATS
@MODES
def test_integers_become_floats_rounded_once(mode, form, source):
    info = np.iinfo(source)
    edge = st.builds(
        lambda k, d, s: s * ((1 << k) + d), st.integers(0, 64), st.integers(-3, 3),
        st.sampled_from([1, -1]),
    )  # fmt: skip
    two = st.builds(lambda a, b, d: a + b + d, edge, edge, st.integers(-1, 1))
    inside = st.one_of(edge, two, st.integers(info.min, info.max))
    clamped = inside.map(lambda n: min(max(n, info.min), info.max))
    numbers = st.lists(clamped, min_size=1, max_size=8)

    @settings(max_examples=15, deadline=None)
    @given(numbers)
    def check(values):
        got = conversions.int_to_float(np.array(values, source), form.name, mode)
        same(form, got, [model.from_integer(form, v, mode) for v in values])

    with np.errstate(all="ignore"):
        check()


def test_every_bfloat16_widens_exactly():
    got = conversions.bf16_to_f32(EVERY_HALF)
    wanted = [model.convert(model.BF16, model.F32, b, 0) for b in range(1 << 16)]
    same(model.F32, got, wanted)


@MODES
@settings(max_examples=200, deadline=None)
@given(cases=lanes(model.F32, 1))
def test_float32_rounds_to_bfloat16(mode, cases):
    bits = [case[0] for case in cases]
    with np.errstate(all="ignore"):
        got = conversions.f32_to_bf16(array(model.F32, bits), mode)
    assert got.dtype == np.uint16
    for value, wanted in zip(
        got.tolist(), [model.convert(model.F32, model.BF16, b, mode) for b in bits], strict=True
    ):
        if model.is_nan(model.BF16, wanted):
            assert model.is_nan(model.BF16, value)
            assert value & model.BF16.quiet
        else:
            assert value == wanted
