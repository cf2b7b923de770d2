"""What operands read and write: regions, indirect addresses, modifiers, packed immediates.

All values are worked by hand from specification 5 (Operands).
"""

from __future__ import annotations

import numpy as np
import pytest

from .harness import run
from .values import d, zeros


def iota(count: int, kind: str = "int32") -> np.ndarray:
    return np.arange(count).astype(kind)


class TestSourceRegions:
    """Specification 5, Region-based Addressing: element i*v + j*h of row i, column j."""

    @pytest.mark.parametrize(
        ("region", "elements"),
        [
            ("<0;1,0>", [0] * 16),
            ("<1;1,0>", list(range(16))),
            ("<2;1,0>", list(range(0, 32, 2))),
            ("<4;1,0>", list(range(0, 64, 4))),
            ("<8;8,1>", list(range(16))),
            ("<16;8,2>", list(range(0, 32, 2))),
            ("<8;4,1>", [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]),
            ("<4;4,1>", list(range(16))),
            ("<2;2,1>", list(range(16))),
            ("<0;4,1>", [0, 1, 2, 3] * 4),
            ("<0;2,4>", [0, 4] * 8),
            ("<0;16,1>", list(range(16))),
            ("<4;2,1>", [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29]),
            ("<1;4,0>", [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]),
            ("<2;4,1>", [0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9]),
        ],
    )
    def test_a_region_picks_elements(self, region, elements):
        given = {"V40": zeros(16, "uint16"), "V41": iota(64, "uint16")}
        ended = run(f"mov (M1, 16) V40(0,0)<1> V41(0,0){region}", given)
        assert list(ended["V40"]) == elements

    def test_a_region_wider_than_the_execution_size_is_cut(self):
        given = {"V40": zeros(4), "V41": iota(16)}
        ended = run("mov (M1, 4) V40(0,0)<1> V41(0,1)<8;8,1>", given, simd=8)
        assert list(ended["V40"]) == [1, 2, 3, 4]

    @pytest.mark.parametrize(("platform", "first"), [("skl", 18), ("pvc", 34)])
    def test_a_row_is_one_register(self, platform, first):
        # Thread Organization: 32 bytes, 64 on pvc. Row 1, column 2 of words.
        given = {"V40": zeros(4, "uint16"), "V41": iota(64, "uint16")}
        ended = run("mov (M1, 4) V40(0,0)<1> V41(1,2)<1;1,0>", given, simd=8, platform=platform)
        assert list(ended["V40"]) == [first, first + 1, first + 2, first + 3]

    def test_an_alias_shows_the_bytes_of_its_base(self):
        declarations = ".decl V50 v_type=G type=uw num_elts=8 alias=<V41, 6>"
        given = {"V40": zeros(4, "uint16"), "V41": d(0, 0x11112222, 0x33334444, 0x55556666)}
        ended = run(
            "mov (M1, 4) V40(0,0)<1> V50(0,1)<1;1,0>", given, simd=8, declarations=declarations
        )
        # Byte 8 is the low half of the third element.
        assert list(ended["V40"]) == [0x4444, 0x3333, 0x6666, 0x5555]

    def test_the_null_variable_reads_zero_and_drops_writes(self):
        given = {"V40": np.full(8, 7, np.uint32)}
        body = """
            mov (M1, 8) %null(0,0)<1> V40(0,0)<1;1,0>
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> %null(0,0)<0;1,0>
        """
        assert list(run(body, given, simd=8)["V40"]) == [7] * 8


class TestDestinations:
    """Specification 5, Region-based Addressing: element i*stride."""

    @pytest.mark.parametrize(
        ("stride", "expected"),
        [
            (1, [0, 1, 2, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]),
            (2, [0, 9, 1, 9, 2, 9, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9]),
            (4, [0, 9, 9, 9, 1, 9, 9, 9, 2, 9, 9, 9, 3, 9, 9, 9]),
        ],
    )
    def test_a_stride_leaves_what_is_between(self, stride, expected):
        given = {"V40": np.full(16, 9, np.uint16), "V41": iota(4, "uint16")}
        ended = run(f"mov (M1, 4) V40(0,0)<{stride}> V41(0,0)<1;1,0>", given, simd=8)
        assert list(ended["V40"]) == expected

    @pytest.mark.parametrize("mask", [0xFF, 0xF7])
    def test_all_elements_are_read_before_any_is_written(self, mask):
        given = {"V40": iota(9)}
        ended = run("mov (M1, 8) V40(0,1)<1> V40(0,0)<1;1,0>", given, simd=8, mask=mask)
        kept = [0, 0, 1, 2, 3, 4, 5, 6, 7]
        if not mask & 8:
            kept[4] = 4
        assert list(ended["V40"]) == kept

    def test_bytes_of_a_wider_element_can_be_written_alone(self):
        declarations = ".decl V50 v_type=G type=ub num_elts=16 alias=<V40, 0>"
        given = {"V40": np.full(4, 0x11223344, np.uint32)}
        ended = run("mov (M1, 4) V50(0,1)<4> 0xab:uw", given, simd=8, declarations=declarations)
        assert list(ended["V40"]) == [0x1122AB44] * 4


ADDRESSES = ".decl A0 v_type=A num_elts=16"


class TestIndirect:
    """Specification 5, Region Interpretation for Indirect Operands; page ADDR_ADD."""

    def indirect(self, body: str, values=None, **options):
        given = values or {"V40": zeros(8), "V41": iota(32), "V42": zeros(8, "uint16")}
        return run(body, given, simd=8, declarations=ADDRESSES, **options)

    @pytest.mark.parametrize(
        ("operand", "elements"),
        [
            ("r[A0(0),0]<0;1,0>:d", [3] * 8),
            ("r[A0(0),8]<1;1,0>:d", [5, 6, 7, 8, 9, 10, 11, 12]),
            ("r[A0(0),-8]<2;1,0>:d", [1, 3, 5, 7, 9, 11, 13, 15]),
            ("r[A0(0),0]<8;4,2>:d", [3, 5, 7, 9, 11, 13, 15, 17]),
            ("r[A0(0)]<8;8,1>:d", [3, 4, 5, 6, 7, 8, 9, 10]),
        ],
    )
    def test_one_address_is_the_origin_of_a_region(self, operand, elements):
        body = f"""
            addr_add (M1_NM, 1) A0(0)<1> &V41 0xc:uw
            mov (M1, 8) V40(0,0)<1> {operand}
        """
        assert list(self.indirect(body)["V40"]) == elements

    def test_an_address_is_an_element_of_the_address_variable(self):
        body = """
            addr_add (M1_NM, 1) A0(5)<1> &V41 0x10:uw
            addr_add (M1_NM, 1) A0(6)<1> A0(5)<1> 0xfff8:w
            mov (M1, 1) V40(0,0)<1> r[A0(5),0]<0;1,0>:d
            mov (M1, 1) V40(0,1)<1> r[A0(6),0]<0;1,0>:d
        """
        assert list(self.indirect(body)["V40"][:2]) == [4, 2]

    def test_the_address_of_an_offset_in_bytes(self):
        body = """
            addr_add (M1_NM, 1) A0(0)<1> &V41[64] 0x4:uw
            mov (M1, 1) V40(0,0)<1> r[A0(0),0]<0;1,0>:d
        """
        assert self.indirect(body)["V40"][0] == 17

    OFFSETS = np.array([28, 0, 4, 40, 8, 8, 124, 12], np.uint16)

    def test_every_channel_has_its_address_in_a_multi_address_operand(self):
        body = """
            addr_add (M1, 8) A0(0)<1> &V41 V42(0,0)<1;1,0>
            mov (M1, 8) V40(0,0)<1> r[A0(0),0]<1,0>:d
        """
        values = {"V40": zeros(8), "V41": iota(32), "V42": self.OFFSETS}
        assert list(self.indirect(body, values)["V40"]) == [7, 0, 1, 10, 2, 2, 31, 3]

    def test_every_row_has_its_address_in_a_multi_address_operand(self):
        body = """
            addr_add (M1, 8) A0(0)<1> &V41 V42(0,0)<1;1,0>
            mov (M1, 8) V40(0,0)<1> r[A0(1),4]<4,1>:d
        """
        # Rows start at A0(1) and A0(2), 4 bytes further on: elements 1 and 2.
        values = {"V40": zeros(8), "V41": iota(32), "V42": self.OFFSETS}
        assert list(self.indirect(body, values)["V40"]) == [1, 2, 3, 4, 2, 3, 4, 5]

    def test_the_type_of_an_indirect_operand_is_its_own(self):
        body = """
            addr_add (M1_NM, 1) A0(0)<1> &V41 0x2:uw
            mov (M1, 4) V40(0,0)<1> r[A0(0),0]<2;1,0>:w
        """
        values = {"V40": zeros(4), "V41": d(0x1111_0000, -0x10000, 0x7FFF_0000, 0x0002_FFFF)}
        assert list(self.indirect(body, values)["V40"]) == [0x1111, -1, 0x7FFF, 2]

    @pytest.mark.parametrize(
        ("operand", "places"),
        [("r[A0(0),0]<1>:d", [4, 5, 6, 7]), ("r[A0(0),-8]<2>:d", [2, 4, 6, 8])],
    )
    def test_a_destination_has_one_address(self, operand, places):
        body = f"""
            addr_add (M1_NM, 1) A0(0)<1> &V41 0x10:uw
            mov (M1, 4) {operand} 0x63:d
        """
        values = {"V41": zeros(16)}
        assert list(np.flatnonzero(self.indirect(body, values)["V41"])) == places

    def test_a_destination_is_written_where_channels_are_on(self):
        body = """
            addr_add (M1_NM, 1) A0(0)<1> &V41 0x0:uw
            (P1) mov (M1, 8) r[A0(0),0]<1>:d 0x1:d
        """
        given = {"V41": zeros(8)}
        ended = run(body, given, {"P1": 0x2D}, simd=8, mask=0x0F, declarations=ADDRESSES)
        assert list(np.flatnonzero(ended["V41"])) == [0, 2, 3]

    def test_an_indirect_destination_saturates(self):
        body = """
            addr_add (M1_NM, 1) A0(0)<1> &V41 0x0:uw
            mov.sat (M1, 4) r[A0(0),0]<1>:ub V40(0,0)<1;1,0>
        """
        values = {"V40": d(-1, 0, 255, 300), "V41": zeros(4, "uint8")}
        assert list(self.indirect(body, values)["V41"]) == [0, 0, 255, 255]

    @pytest.mark.parametrize("operand", ["r[A0(0),1]<1;1,0>:d", "r[A0(0),0]<1,0>:d"])
    def test_an_address_outside_or_not_aligned_is_a_fault(self, operand):
        body = f"""
            addr_add (M1, 8) A0(0)<1> &V41 V42(0,0)<1;1,0>
            mov (M1, 8) V40(0,0)<1> {operand}
        """
        offsets = np.array([0, 0, 2, 0, 0, 0, 0, 0], np.uint16)
        ended = self.indirect(body, {"V40": zeros(8), "V41": iota(32), "V42": offsets})
        assert (ended.fault.category, ended.fault.code) == ("undefined", "register-access")
        assert ended.fault.channel == (0 if ",1]" in operand else 2)
        assert ended.faulting_line.startswith("mov")


class TestModifiers:
    """Specification 5, Vector Operands: modifiers."""

    @pytest.mark.parametrize(
        ("modifier", "expected"),
        [
            ("", [3, -4, 0, -(2**31)]),
            ("(-)", [-3, 4, 0, -(2**31)]),
            ("(abs)", [3, 4, 0, -(2**31)]),
            ("(-abs)", [-3, -4, 0, -(2**31)]),
        ],
    )
    def test_of_integers(self, modifier, expected):
        given = {"V40": zeros(4), "V41": d(3, -4, 0, -(2**31))}
        ended = run(f"mov (M1, 4) V40(0,0)<1> {modifier}V41(0,0)<1;1,0>", given, simd=8)
        assert list(ended["V40"]) == expected

    @pytest.mark.parametrize(
        ("modifier", "expected"),
        [
            ("(-)", [0xC0400000, 0x40800000, 0x80000000, 0x7F800000, 0xFFC00001]),
            ("(abs)", [0x40400000, 0x40800000, 0, 0x7F800000, 0x7FC00001]),
            ("(-abs)", [0xC0400000, 0xC0800000, 0x80000000, 0xFF800000, 0xFFC00001]),
        ],
    )
    def test_of_floats_change_the_sign_bit_only(self, modifier, expected):
        bits = np.array([0x40400000, 0xC0800000, 0, 0xFF800000, 0x7FC00001, 0, 0, 0], np.uint32)
        given = {"V40": zeros(8, "float32"), "V41": bits.view(np.float32)}
        ended = run(f"mov (M1, 8) V40(0,0)<1> {modifier}V41(0,0)<1;1,0>", given, simd=8)
        assert list(ended["V40"].view(np.uint32)[:5]) == expected

    def test_a_negative_word_is_exact_in_a_wider_destination(self):
        given = {"V40": zeros(2), "V41": np.array([-32768, 7], np.int16)}
        ended = run("mov (M1, 2) V40(0,0)<1> (-)V41(0,0)<1;1,0>", given, simd=8)
        assert list(ended["V40"]) == [32768, -7]

    def test_a_negated_unsigned_source_is_negative_in_a_wider_destination(self):
        given = {"V40": zeros(2, "int64"), "V41": np.array([2**32 - 1, 7], np.uint32)}
        ended = run("mov (M1, 2) V40(0,0)<1> (-)V41(0,0)<1;1,0>", given, simd=8)
        assert list(ended["V40"]) == [1 - 2**32, -7]

    def test_subtraction_is_addition_of_a_negated_source(self):
        given = {"V40": d(10, 20), "V41": d(3, 30)}
        body = "add (M1, 2) V40(0,0)<1> V40(0,0)<1;1,0> (-)V41(0,0)<1;1,0>"
        assert list(run(body, given, simd=8)["V40"]) == [7, -10]

    def test_not_complements_the_source_of_a_logic_instruction(self):
        given = {"V40": np.array([0b1100, 0b1010], np.uint32), "V41": zeros(2, "uint32")}
        given["V41"][:] = 0b0110
        body = "and (M1, 2) V40(0,0)<1> V40(0,0)<1;1,0> (~)V41(0,0)<1;1,0>"
        assert list(run(body, given, simd=8)["V40"]) == [0b1000, 0b1000]


class TestPackedImmediates:
    """Specification 5, Immediate Operands; specification 2, types V, UV and VF."""

    def test_v_is_eight_signed_nibbles(self):
        ended = run("mov (M1, 8) V40(0,0)<1> 0x9F876210:v", {"V40": zeros(8, "int16")}, simd=8)
        assert list(ended["V40"]) == [0, 1, 2, 6, 7, -8, -1, -7]

    def test_uv_is_eight_unsigned_nibbles(self):
        ended = run("mov (M1, 8) V40(0,0)<1> 0xFEDCBA98:uv", {"V40": zeros(8, "uint16")}, simd=8)
        assert list(ended["V40"]) == [8, 9, 10, 11, 12, 13, 14, 15]

    def test_vf_is_four_restricted_floats(self):
        # Sign, 3 exponent bits of bias 3, 4 fraction bits: 1, 1.5, -2, 31.
        ended = run("mov (M1, 4) V40(0,0)<1> 0x7FC03830:vf", {"V40": zeros(4, "float32")}, simd=8)
        assert list(ended["V40"]) == [1.0, 1.5, -2.0, 31.0]

    def test_vf_zero_has_all_bits_zero(self):
        ended = run("mov (M1, 4) V40(0,0)<1> 0x08101000:vf", {"V40": zeros(4, "float32")}, simd=8)
        assert list(ended["V40"]) == [0.0, 0.25, 0.25, 0.1875]

    def test_v_adds_to_each_channel(self):
        given = {"V40": d(*[100] * 8)}
        ended = run("add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0xF0000001:v", given, simd=8)
        assert list(ended["V40"]) == [101, 100, 100, 100, 100, 100, 100, 99]

    def test_a_plain_immediate_is_the_same_in_every_channel(self):
        ended = run("mov (M1, 4) V40(0,0)<1> 0x40490fdb:f", {"V40": zeros(4, "float32")}, simd=8)
        assert set(ended["V40"].view(np.uint32)) == {0x40490FDB}
