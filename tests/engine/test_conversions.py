"""Conversion, saturation, execution types, rounding and denormals, worked by hand.

Citations are of the vISA specification's chapter 2 (Data Types) and of the runtime's facts about
the control register: bits 5:4 rounding, 6, 7 and 10 keep denormals of DF, F and HF, bit 12 rounds
conversions to integers.
"""

from __future__ import annotations

import numpy as np
import pytest

from .harness import TYPE_NAMES, BFloat, run
from .values import zeros

INF, NAN = np.inf, np.nan
KEEP_DENORMALS = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"


def mov(source: np.ndarray | BFloat, target: str, suffix: str = "", control: int = 0) -> np.ndarray:
    """Convert elements by one instruction and return them; `control` is set in %cr0 before."""
    count = len(source.bits) if isinstance(source, BFloat) else source.size
    wanted = BFloat([0] * count) if target == "bf" else zeros(count, target)
    body = f"""
        or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x{0x4C0 | control:x}:ud
        mov{suffix} (M1, 8) V40(0,0)<1> V41(0,0)<1;1,0>
    """
    assert count == 8, "tables have eight rows"
    return run(body, {"V40": wanted, "V41": source}, simd=8, platform="pvc")["V40"]


class TestFloatToInteger:
    """Specification 2, Float to Integer: fractions are dropped, the rest clamps, NaN is 0."""

    @pytest.mark.parametrize("source", ["float16", "float32", "float64"])
    @pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
    def test_special_values_take_the_limits(self, source, target):
        least, most = np.iinfo(target).min, np.iinfo(target).max
        found = mov(np.array([NAN, INF, -INF, 1.75, 0.99, 0.0, -0.0, 100.5], source), target)
        assert list(found) == [0, most, least, 1, 0, 0, 0, 100]

    def test_negative_values_are_truncated_towards_zero(self):
        found = mov(np.array([-0.5, -1.0, -1.99, -7.5, -8.5, -100.9, -127.9, -128.0], "f4"), "int8")
        assert list(found) == [0, -1, -1, -7, -8, -100, -127, -128]

    def test_values_beyond_the_type_clamp(self):
        found = mov(np.array([127.5, 128, 255, 256, 1e9, -128.5, -129, -1e9], "f4"), "int8")
        assert list(found) == [127, 127, 127, 127, 127, -128, -128, -128]
        found = mov(np.array([127.5, 128, 255, 256, 1e9, -0.5, -1, -1e9], "f4"), "uint8")
        assert list(found) == [127, 128, 255, 255, 255, 0, 0, 0]

    def test_the_limits_of_32_bits(self):
        values = [2147483520, 2147483648, 4294967040, 4294967296, -2147483648, -2147483904, 1, 0]
        source = np.array(values, "f4")
        most, least = 2**31 - 1, -(2**31)
        signed = [2147483520, most, most, most, least, least, 1, 0]
        assert list(mov(source, "int32")) == signed
        unsigned = [2147483520, 2147483648, 4294967040, 2**32 - 1, 0, 0, 1, 0]
        assert list(mov(source, "uint32")) == unsigned

    def test_the_limits_of_64_bits(self):
        source = np.array([2.0**63, 2.0**62, -(2.0**63), -(2.0**64), 2.0**64, 1e300, 3.9, NAN])
        most, least = 2**63 - 1, -(2**63)
        assert list(mov(source, "int64")) == [most, 2**62, least, least, most, most, 3, 0]
        most = 2**64 - 1
        assert list(mov(source, "uint64")) == [2**63, 2**62, 0, 0, most, most, 3, 0]

    @pytest.mark.parametrize(
        ("control", "expected"),
        [
            (0x1000, [0, 2, 2, -2, 3, -3, 1, -1]),  # nearest, ties to even
            (0x1010, [1, 2, 3, -1, 3, -2, 2, 0]),  # up
            (0x1020, [0, 1, 2, -2, 2, -3, 1, -1]),  # down
            (0x1030, [0, 1, 2, -1, 2, -2, 1, 0]),  # towards zero
            (0x0010, [0, 1, 2, -1, 2, -2, 1, 0]),  # bit 12 is off: rounding does not matter
        ],
    )
    def test_bit_12_of_the_control_register_rounds(self, control, expected):
        source = np.array([0.5, 1.5, 2.5, -1.5, 2.75, -2.75, 1.25, -0.75], np.float32)
        assert list(mov(source, "int32", control=control)) == expected


class TestIntegerToInteger:
    """Specification 2, Integer to Integer."""

    @pytest.mark.parametrize(
        ("source", "target", "expected"),
        [
            # Lower precision keeps the low bits, whatever the signs.
            ("uint32", "uint16", [0x5678, 0xFF80, 0, 0xFFFF]),
            ("uint32", "int16", [0x5678, -128, 0, -1]),
            ("uint32", "int8", [0x78, -128, 0, -1]),
            ("uint32", "uint8", [0x78, 0x80, 0, 0xFF]),
            # Higher precision extends by the sign of the source.
            ("int32", "int64", [0x12345678, 0xFF80, -(2**31), -1]),
            ("int32", "uint64", [0x12345678, 0xFF80, 2**64 - 2**31, 2**64 - 1]),
            ("uint32", "int64", [0x12345678, 0xFF80, 2**31, 2**32 - 1]),
            ("uint32", "uint64", [0x12345678, 0xFF80, 2**31, 2**32 - 1]),
            # The same precision keeps the bits.
            ("uint32", "int32", [0x12345678, 0xFF80, -(2**31), -1]),
            ("int32", "uint32", [0x12345678, 0xFF80, 2**31, 2**32 - 1]),
        ],
    )
    def test_bits_are_cut_or_extended(self, source, target, expected):
        bits = np.array([0x12345678, 0xFF80, 0x80000000, 0xFFFFFFFF] * 2, np.uint32)
        assert list(mov(bits.view(source), target)[:4]) == expected

    def test_bytes_extend_by_their_sign(self):
        bits = np.array([0x7F, 0x80, 0xFF, 0, 1, 2, 3, 4], np.uint8)
        assert list(mov(bits, "int32")[:4]) == [127, 128, 255, 0]
        assert list(mov(bits.view(np.int8), "int32")[:4]) == [127, -128, -1, 0]
        assert list(mov(bits.view(np.int8), "uint32")[:4]) == [127, 2**32 - 128, 2**32 - 1, 0]


class TestToFloat:
    """Specification 2, Integer to Float, and Float to Float."""

    def test_integers_round_to_the_nearest_float_ties_to_even(self):
        values = [2**24, 2**24 + 1, 2**24 + 2, 2**24 + 3, -(2**24) - 1, 2**31 - 1, -1, 0]
        expected = [2**24, 2**24, 2**24 + 2, 2**24 + 4, -(2**24), 2**31, -1, 0]
        assert list(mov(np.array(values, np.int32), "float32")) == expected

    def test_the_greatest_integers(self):
        source = np.array([2**64 - 1, 2**63 + 1025, 2**63 + 1024, 2**53 + 1, 0, 1, 2, 3], np.uint64)
        expected = [2**64, 2**63 + 2048, 2**63, 2**53, 0, 1, 2, 3]
        assert [int(x) for x in mov(source, "float64")] == expected

    def test_integers_beyond_half_precision_are_infinite(self):
        source = np.array([2049, 2051, 65504, 65519, 65520, -65520, 70000, 7], np.int32)
        expected = [2048, 2052, 65504, 65504, INF, -INF, INF, 7]
        assert list(mov(source, "float16")) == expected

    @pytest.mark.parametrize(
        ("mode", "expected"),
        [
            (0x00, [2**24, 2**24 + 4, -(2**24), -(2**24) - 4]),
            (0x10, [2**24 + 2, 2**24 + 4, -(2**24), -(2**24) - 2]),
            (0x20, [2**24, 2**24 + 2, -(2**24) - 2, -(2**24) - 4]),
            (0x30, [2**24, 2**24 + 2, -(2**24), -(2**24) - 2]),
        ],
    )
    def test_the_rounding_mode_acts_on_conversions(self, mode, expected):
        exact = [2**24 + 1, 2**24 + 3, -(2**24) - 1, -(2**24) - 3] * 2
        assert list(mov(np.array(exact, np.int32), "float32", control=mode)[:4]) == expected
        assert list(mov(np.array(exact, np.int64), "float32", control=mode)[:4]) == expected
        assert list(mov(np.array(exact, np.float64), "float32", control=mode)[:4]) == expected

    def test_narrowing_floats_overflows_to_infinity(self):
        source = np.array([65504, 65519.99, 65520, -65520, INF, NAN, -0.0, 2.0**-24], np.float64)
        found = mov(source, "float16")
        assert list(found[:5]) == [65504, 65504, INF, -INF, INF]
        assert np.isnan(found[5])
        assert list(found[6:].view(np.uint16)) == [0x8000, 0x0001]

    def test_narrowing_towards_zero_stays_finite(self):
        source = np.array([65520, -65520, 1e300, -1e300, INF, 1 + 2.0**-20, -1 - 2.0**-20, 0])
        found = mov(source, "float16", control=0x30)
        assert list(found) == [65504, -65504, 65504, -65504, INF, 1, -1, 0]

    def test_widening_floats_is_exact(self):
        source = np.array([1.5, -0.0, 65504, 2.0**-24, INF, -INF, 0.333251953125, 3], np.float16)
        assert list(mov(source, "float32")) == [1.5, 0, 65504, 2.0**-24, INF, -INF, 1365 / 4096, 3]
        assert list(mov(source, "float64")) == [1.5, 0, 65504, 2.0**-24, INF, -INF, 1365 / 4096, 3]

    def test_bfloat16_keeps_the_upper_half_of_a_float_rounded(self):
        bits = [
            0x3F800000,
            0x3F808000,
            0x3F808001,
            0x3F818000,
            0x7F7FFFFF,
            0xFF800000,
            0,
            0xBF800001,
        ]
        expected = [0x3F80, 0x3F80, 0x3F81, 0x3F82, 0x7F80, 0xFF80, 0, 0xBF80]
        source = np.array(bits, np.uint32).view(np.float32)
        assert list(mov(source, "bf")) == expected

    def test_bfloat16_widens_exactly(self):
        source = BFloat([0x3F80, 0x4049, 0xFF80, 0x8000, 0x7F7F, 0x0080, 0xC000, 0x0000])
        found = mov(source, "float32").view(np.uint32)
        assert list(found) == [x << 16 for x in source.bits]

    def test_a_move_without_conversion_keeps_every_bit(self):
        bits = np.array([0x7F800001, 0x7FC12345, 0x00000001, 0x80000000] * 2, np.uint32)
        body = "mov (M1, 8) V40(0,0)<1> V41(0,0)<1;1,0>"
        given = {"V40": zeros(8, "float32"), "V41": bits.view(np.float32)}
        assert list(run(body, given, simd=8)["V40"].view(np.uint32)) == list(bits)


class TestSaturation:
    """Specification 2, Saturation."""

    @pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
    def test_floats_saturate_to_zero_and_one(self, kind):
        source = np.array([2.5, 1.0, 0.25, -0.0, -1.0, INF, -INF, NAN], kind)
        found = mov(source, kind, ".sat")
        assert list(found) == [1, 1, 0.25, 0, 0, 1, 0, 0]

    @pytest.mark.parametrize("target", sorted(set(TYPE_NAMES) - {"float16", "float32", "float64"}))
    def test_integers_saturate_to_the_limits_of_the_destination(self, target):
        least, most = int(np.iinfo(target).min), int(np.iinfo(target).max)
        source = np.array([-(2**63), -(2**40), -1, 0, 1, 127, 2**40, 2**63 - 1], np.int64)
        expected = [min(max(int(x), least), most) for x in source]
        assert [int(x) for x in mov(source, target, ".sat")] == expected

    @pytest.mark.parametrize(
        ("instruction", "kind", "a", "b", "expected"),
        [
            ("add.sat", "uint8", [200, 3], [100, 4], [255, 7]),
            ("add.sat", "int8", [100, -100], [100, -100], [127, -128]),
            ("add.sat", "int16", [32767, -32768], [1, -1], [32767, -32768]),
            ("add.sat", "uint16", [65535, 1], [1, 1], [65535, 2]),
            ("add.sat", "int32", [2**31 - 1, -(2**31)], [1, -1], [2**31 - 1, -(2**31)]),
            ("add.sat", "uint32", [2**32 - 1, 5], [2**32 - 1, 6], [2**32 - 1, 11]),
            ("add.sat", "int64", [2**63 - 1, -(2**63)], [1, -1], [2**63 - 1, -(2**63)]),
            ("add.sat", "uint64", [2**64 - 1, 5], [2, 6], [2**64 - 1, 11]),
            ("mul.sat", "int16", [300, -300], [300, 300], [32767, -32768]),
            ("mul.sat", "int32", [2**20, -(2**20)], [2**20, 2**20], [2**31 - 1, -(2**31)]),
            ("mul.sat", "uint32", [2**16, 2], [2**16, 3], [2**32 - 1, 6]),
        ],
    )
    def test_arithmetic_saturates_its_exact_result(self, instruction, kind, a, b, expected):
        body = f"{instruction} (M1, 2) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>"
        given = {"V40": zeros(2, kind), "V41": np.array(a, kind), "V42": np.array(b, kind)}
        assert [int(x) for x in run(body, given, simd=8)["V40"]] == expected

    @pytest.mark.parametrize(
        ("kind", "expected"), [("uint8", [0, 250]), ("uint32", [0, 250]), ("uint64", [0, 250])]
    )
    def test_a_difference_below_zero_saturates_to_zero(self, kind, expected):
        body = "add.sat (M1, 2) V40(0,0)<1> V41(0,0)<1;1,0> (-)V42(0,0)<1;1,0>"
        given = {
            "V40": zeros(2, kind),
            "V41": np.array([3, 255], kind),
            "V42": np.array([4, 5], kind),
        }
        assert [int(x) for x in run(body, given, simd=8)["V40"]] == expected

    def test_a_float_saturates_into_an_integer(self):
        found = mov(np.array([300.7, -5, 255, 3.9, INF, -INF, NAN, 0], "f4"), "uint8", ".sat")
        assert list(found) == [255, 0, 255, 3, 255, 0, 0, 0]


class TestExecutionType:
    """Specification 2, Type Conversion: sources may mix integer types."""

    def binary(self, instruction: str, target: str, a: np.ndarray, b: np.ndarray) -> list[int]:
        body = f"{instruction} (M1, {a.size}) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>"
        given = {"V40": zeros(a.size, target), "V41": a, "V42": b}
        return [int(x) for x in run(body, given, simd=8)["V40"]]

    def test_mixed_signs_are_mathematically_exact_in_a_wide_destination(self):
        a, b = np.array([2**32 - 1, 0], np.uint32), np.array([-1, -1], np.int32)
        assert self.binary("add", "int64", a, b) == [2**32 - 2, -1]
        assert self.binary("mul", "int64", a, b) == [1 - 2**32, 0]

    def test_mixed_signs_wrap_at_the_destination(self):
        a, b = np.array([2**32 - 1, 0], np.uint32), np.array([-1, -1], np.int32)
        assert self.binary("add", "uint32", a, b) == [2**32 - 2, 2**32 - 1]
        assert self.binary("add", "int32", a, b) == [-2, -1]
        assert self.binary("add", "uint16", a, b) == [0xFFFE, 0xFFFF]

    def test_mixed_signs_compare_as_numbers(self):
        body = "cmp.lt (M1, 2) P1 V41(0,0)<1;1,0> V42(0,0)<1;1,0>"
        given = {"V41": np.array([-1, 5], np.int32), "V42": np.array([1, 4], np.uint32)}
        assert run(body, given, {"P1": 0}, simd=8).predicates["P1"] == 0b01

    def test_mixed_signs_have_a_true_minimum(self):
        a, b = np.array([-1, 7], np.int32), np.array([2**32 - 1, 5], np.uint32)
        assert self.binary("min", "int32", a, b) == [-1, 5]
        assert self.binary("max", "uint32", a, b) == [2**32 - 1, 7]

    def test_narrow_sources_are_exact_in_a_wide_destination(self):
        a, b = np.array([300, -300], np.int16), np.array([300, 300], np.int16)
        assert self.binary("mul", "int32", a, b) == [90000, -90000]
        assert self.binary("mul", "int16", a, b) == [90000 - 65536, 65536 - 90000]
        a, b = np.array([255, 200], np.uint8), np.array([255, 100], np.uint8)
        assert self.binary("add", "uint16", a, b) == [510, 300]
        assert self.binary("add", "uint8", a, b) == [254, 44]

    def test_doubleword_sources_are_exact_in_a_quadword_destination(self):
        a, b = np.array([2**31 - 1, -(2**31)], np.int32), np.array([2**31 - 1, 2], np.int32)
        assert self.binary("mul", "int64", a, b) == [(2**31 - 1) ** 2, -(2**32)]

    def test_shifts_right_fill_by_their_name(self):
        # Pages SHR and ASR: shr takes the source's bits as unsigned, asr as its value.
        a, b = np.array([-4, 100], np.int32), np.array([1, 2], np.int32)
        assert self.binary("shr", "int32", a, b) == [0x7FFFFFFE, 25]
        assert self.binary("asr", "int32", a, b) == [-2, 25]

    def test_shift_counts_are_taken_modulo_the_width(self):
        a, b = np.array([1, 1], np.int32), np.array([33, 31], np.int32)
        assert self.binary("shl", "int32", a, b) == [2, -(2**31)]
        a, b = np.array([1, 1], np.int64), np.array([33, 65], np.int64)
        assert self.binary("shl", "int64", a, b) == [2**33, 2]


ULP = 2.0**-23


class TestRounding:
    """docs/kernel-abi.md: the mode acts on add, mul, mad and conversions until it is switched."""

    BODY = """
        or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud
        {0}
        xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
        {1}
        xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
        {2}
    """

    def thrice(self, instruction: str, **values: np.ndarray) -> list[float]:
        """The result to nearest, towards zero, and to nearest again."""
        lines = (instruction.format(dst=f"V40(0,{i})<1>") for i in range(3))
        ended = run(self.BODY.format(*lines), {"V40": zeros(3, "float32"), **values}, simd=8)
        return [float(x) for x in ended["V40"]]

    def test_of_add(self):
        one = np.array([1], np.float32)
        small = np.array([1.5 * 2.0**-24], np.float32)
        found = self.thrice("add (M1, 1) {dst} V41(0,0)<0;1,0> V42(0,0)<0;1,0>", V41=one, V42=small)
        assert found == [1 + ULP, 1, 1 + ULP]

    def test_of_mul(self):
        found = self.thrice(
            "mul (M1, 1) {dst} V41(0,0)<0;1,0> V42(0,0)<0;1,0>",
            V41=np.array([1 + ULP], np.float32),
            V42=np.array([1.5], np.float32),
        )
        # 1.5 + 1.5u lies halfway between 1.5 + u and 1.5 + 2u; the latter is even.
        assert found == [1.5 + 2 * ULP, 1.5 + ULP, 1.5 + 2 * ULP]

    MAD = "mad (M1, 1) {dst} V41(0,0)<0;1,0> V41(0,0)<0;1,0> V42(0,0)<0;1,0>"

    def test_of_mad(self):
        # (1 + u)**2 + 1 + u = 2 + 3u + u**2, just above the middle of 2 + 2u and 2 + 4u.
        one = np.array([1 + ULP], np.float32)
        found = self.thrice(self.MAD, V41=one, V42=one)
        assert found == [2 + 4 * ULP, 2 + 2 * ULP, 2 + 4 * ULP]

    def test_mad_rounds_once(self):
        # (1 + u)**2 - (1 + 2u) = u**2; rounding the product first would leave nothing.
        factor, addend = np.array([1 + ULP], np.float32), np.array([-1 - 2 * ULP], np.float32)
        assert self.thrice(self.MAD, V41=factor, V42=addend) == [ULP**2] * 3

    def test_of_mov_between_types(self):
        found = self.thrice("mov (M1, 1) {dst} V41(0,0)<0;1,0>", V41=np.array([2**24 + 3], "i4"))
        assert found == [2**24 + 4, 2**24 + 2, 2**24 + 4]
        found = self.thrice(
            "mov (M1, 1) {dst} V41(0,0)<0;1,0>", V41=np.array([-1 - 0.75 * ULP], "f8")
        )
        assert found == [-1 - ULP, -1, -1 - ULP]

    @pytest.mark.parametrize(
        ("mode", "expected"),
        [
            (0x00, [1, -1]),
            (0x10, [1 + ULP, -1]),
            (0x20, [1, -1 - ULP]),
            (0x30, [1, -1]),
        ],
    )
    def test_of_each_mode(self, mode, expected):
        body = f"""
            mov (M1_NM, 1) %cr0(0,0)<1> 0x{mode | 0x4C0:x}:ud
            add (M1, 2) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>
        """
        given = {
            "V40": zeros(2, "float32"),
            "V41": np.array([1, -1], np.float32),
            "V42": np.array([2.0**-30, -(2.0**-30)], np.float32),
        }
        assert list(run(body, given, simd=8)["V40"]) == expected

    @pytest.mark.parametrize(("mode", "bits"), [(0, 0), (0x10, 0), (0x20, 0x80000000), (0x30, 0)])
    def test_a_difference_of_equal_numbers_is_minus_zero_when_rounding_down(self, mode, bits):
        body = f"""
            mov (M1_NM, 1) %cr0(0,0)<1> 0x{mode | 0x4C0:x}:ud
            add (M1, 1) V40(0,0)<1> V40(0,0)<0;1,0> (-)V40(0,0)<0;1,0>
        """
        ended = run(body, {"V40": np.array([1.5], np.float32)}, simd=8)
        assert ended["V40"].view(np.uint32)[0] == bits


#: The least denormal of each type, and the bit of the control register that keeps denormals.
LEAST = {"float16": (2.0**-24, 0x400), "float32": (2.0**-149, 0x80), "float64": (5e-324, 0x40)}


class TestDenormals:
    """Specification 2, IEEE Floating Point Mode: kept or flushed, as the control register says."""

    @pytest.mark.parametrize("kind", LEAST)
    def test_arithmetic_flushes_denormals_unless_their_bit_is_set(self, kind):
        least, keep = LEAST[kind]
        given = {"V40": zeros(4, kind), "V41": np.array([least, -least, 3 * least, 1], kind)}
        body = """
            {0}
            add (M1, 4) V40(0,0)<1> V41(0,0)<1;1,0> V41(0,0)<1;1,0>
        """
        set_bit = f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x{keep:x}:ud"
        kept = run(body.format(set_bit), given, simd=8)["V40"]
        assert list(kept) == [2 * least, -2 * least, 6 * least, 2]
        flushed = run(body.format(""), given, simd=8)["V40"]
        assert list(flushed) == [0, 0, 0, 2]
        assert list(np.signbit(flushed)) == [False, True, False, False]

    def test_denormal_results_are_flushed_to_a_zero_of_their_sign(self):
        given = {"V40": zeros(2, "float32"), "V41": np.array([2.0**-100, -(2.0**-100)], np.float32)}
        body = "mul (M1, 2) V40(0,0)<1> V41(0,0)<1;1,0> 0x1e800000:f"  # 2**-66
        found = run(body, given, simd=8)["V40"].view(np.uint32)
        assert list(found) == [0, 0x80000000]
        kept = run(f"{KEEP_DENORMALS}\n{body}", given, simd=8)["V40"]
        assert list(kept) == [0, 0]
        body = "mul (M1, 2) V40(0,0)<1> V41(0,0)<1;1,0> 0x30000000:f"  # 2**-31
        assert list(run(body, given, simd=8)["V40"].view(np.uint32)) == [0, 0x80000000]
        kept = run(f"{KEEP_DENORMALS}\n{body}", given, simd=8)["V40"]
        assert list(kept) == [2.0**-131, -(2.0**-131)]

    def test_a_flushed_denormal_equals_zero(self):
        given = {"V41": np.array([1, 0], np.uint32).view(np.float32)}
        body = "cmp.eq (M1, 2) P1 V41(0,0)<1;1,0> 0x0:f"
        assert run(body, given, {"P1": 0}, simd=8).predicates["P1"] == 0b11
        kept = run(f"{KEEP_DENORMALS}\n{body}", given, {"P1": 0}, simd=8)
        assert kept.predicates["P1"] == 0b10
