"""What the interpreter does about masks, predicates and divergence, worked by hand.

Citations are of the vISA specification's chapters and instruction pages.
"""

from __future__ import annotations

import numpy as np
import pytest

from .harness import run
from .values import d, ones_at, zeros


class TestExecutionMask:
    """Specification 3, Execution Mask; specification 5, EvaluateChEn."""

    def test_only_dispatched_channels_write(self):
        ended = run("mov (M1, 16) V40(0,0)<1> 0x1:d", {"V40": zeros(16)}, mask=0x0A01)
        assert ones_at(ended, "V40") == [0, 9, 11]

    @pytest.mark.parametrize("control", range(1, 9))
    def test_mask_control_selects_the_channel_of_the_first_element(self, control):
        first = 4 * (control - 1)
        body = f"mov (M{control}, 4) V40(0,0)<1> 0x1:d"
        ended = run(body, {"V40": zeros(4)}, simd=32, mask=0b0110 << first)
        assert ones_at(ended, "V40") == [1, 2]

    def test_no_mask_writes_all_channels(self):
        ended = run("mov (M1_NM, 16) V40(0,0)<1> 0x1:d", {"V40": zeros(16)}, mask=0x8)
        assert ones_at(ended, "V40") == list(range(16))

    def test_mask_control_of_no_mask_selects_the_predicate_bits(self):
        body = "(P1) mov (M3_NM, 4) V40(0,0)<1> 0x1:d"
        ended = run(body, {"V40": zeros(4)}, {"P1": 0x0502}, mask=0x1)
        assert ones_at(ended, "V40") == [0, 2]

    def test_ce0_is_the_execution_mask(self):
        body = """
            (P1) goto (M1, 16) skip
            mov (M1, 16) V40(0,0)<1> %ce0(0,0)<0;1,0>
            skip:
        """
        ended = run(body, {"V40": zeros(16, "uint32")}, {"P1": 0x000F}, mask=0x00FF)
        assert list(ended["V40"]) == [0, 0, 0, 0, 0xF0, 0xF0, 0xF0, 0xF0] + [0] * 8


class TestPredication:
    """Specification 5, Predication."""

    @pytest.mark.parametrize(
        ("predicate", "written"),
        [
            ("P1", [1, 3]),
            ("!P1", [0, 2]),
            ("P1.any", [0, 1, 2, 3]),
            ("!P1.any", []),
            ("P1.all", []),
            ("!P1.all", [0, 1, 2, 3]),
            ("P2.all", [0, 1, 2, 3]),
            ("!P2.all", []),
            ("P3.any", []),
            ("!P3.any", [0, 1, 2, 3]),
        ],
    )
    def test_combination_comes_before_inversion(self, predicate, written):
        bits = {"P1": 0x000A, "P2": 0x000F, "P3": 0xFFF0}
        ended = run(f"({predicate}) mov (M1, 4) V40(0,0)<1> 0x1:d", {"V40": zeros(4)}, bits)
        assert ones_at(ended, "V40") == written

    def test_any_counts_predicate_bits_of_channels_that_are_off(self):
        ended = run(
            "(P1.any) mov (M1, 8) V40(0,0)<1> 0x1:d", {"V40": zeros(8)}, {"P1": 0x80}, mask=0x3
        )
        assert ones_at(ended, "V40") == [0, 1]

    def test_mask_control_moves_the_window_of_combined_bits(self):
        body = "(P1.any) mov (M3, 4) V40(0,0)<1> 0x1:d"
        assert ones_at(run(body, {"V40": zeros(4)}, {"P1": 0xF0FF}), "V40") == []
        assert ones_at(run(body, {"V40": zeros(4)}, {"P1": 0x0800}), "V40") == [0, 1, 2, 3]

    def test_sel_takes_one_of_two_sources_in_every_enabled_channel(self):
        # Page SEL: the predicate selects; only the execution mask enables.
        body = "(P1) sel (M1, 8) V40(0,0)<1> V41(0,0)<1;1,0> 0x7:d"
        given = {"V40": d(-1, -1, -1, -1, -1, -1, -1, -1), "V41": d(10, 11, 12, 13, 14, 15, 16, 17)}
        ended = run(body, given, {"P1": 0b0101_0101}, mask=0x0F)
        assert list(ended["V40"]) == [10, 7, 12, 7, -1, -1, -1, -1]

    def test_inverted_sel_swaps_the_sources(self):
        body = "(!P1) sel (M1, 4) V40(0,0)<1> 0x1:d 0x2:d"
        assert list(run(body, {"V40": zeros(4)}, {"P1": 0b0011})["V40"]) == [2, 2, 1, 1]


class TestPredicates:
    """Pages CMP, SETP, AND, NOT, MOV."""

    def test_cmp_keeps_the_bits_of_channels_that_are_off(self):
        body = "cmp.ge (M1, 16) P1 V40(0,0)<1;1,0> 0x4:d"
        ended = run(body, {"V40": np.arange(16, dtype=np.int32)}, {"P1": 0xA00F}, mask=0x00FC)
        # Channels 2..7 are on: 4..7 hold, 2 and 3 do not; bits 0, 1, 13 and 15 stay.
        assert ended.predicates["P1"] == 0xA0F3

    def test_cmp_of_the_upper_half_writes_the_upper_bits(self):
        body = "cmp.eq (M5, 16) P1 V40(0,0)<1;1,0> 0x3:d"
        ended = run(body, {"V40": np.arange(16, dtype=np.int32)}, {"P1": 0x1234}, simd=32)
        assert ended.predicates["P1"] == 0x0008_1234

    @pytest.mark.parametrize(
        ("relation", "truth"),
        [("eq", 0b0010), ("ne", 0b1101), ("gt", 0b0100), ("ge", 0b0110), ("lt", 1), ("le", 3)],
    )
    def test_relations(self, relation, truth):
        body = f"cmp.{relation} (M1, 4) P1 V40(0,0)<1;1,0> V41(0,0)<1;1,0>"
        given = {
            "V40": np.array([1, -0.0, 3, np.nan], np.float32),
            "V41": np.array([2, 0.0, 2, np.nan], np.float32),
        }
        assert run(body, given, {"P1": 0}).predicates["P1"] == truth

    def test_cmp_into_a_general_variable_gives_all_ones_or_zero(self):
        body = "cmp.lt (M1, 4) V41(0,0)<1> V40(0,0)<1;1,0> 0x2:d"
        ended = run(body, {"V40": d(1, 2, 3, -4), "V41": np.full(4, 9, np.uint16)}, mask=0xD)
        assert list(ended["V41"]) == [0xFFFF, 9, 0, 0xFFFF]

    def test_setp_sets_bits_from_an_immediate(self):
        assert run("setp (M1_NM, 32) P1 0x80000005:ud", {}, {"P1": 2}).predicates["P1"] == (
            0x80000005
        )

    def test_setp_of_the_upper_half_leaves_the_lower_one(self):
        ended = run("setp (M5_NM, 16) P1 0x8001:uw", {}, {"P1": 0x0000_00FF}, simd=32)
        assert ended.predicates["P1"] == 0x8001_00FF

    def test_setp_from_a_scalar_variable_spreads_its_bits(self):
        ended = run(
            "setp (M1_NM, 16) P1 V40(0,0)<0;1,0>", {"V40": np.array([0xBEEF], np.uint16)}, {"P1": 0}
        )
        assert ended.predicates["P1"] == 0xBEEF

    def test_setp_from_a_vector_takes_each_lowest_bit(self):
        given = {"V40": np.array([1, 2, 3, 4, 5, 6, 7, 8] * 2, np.uint32)}
        ended = run("setp (M1_NM, 16) P1 V40(0,0)<1;1,0>", given, {"P1": 0xFFFF})
        assert ended.predicates["P1"] == 0x5555

    def test_mov_from_a_predicate_gives_its_bits(self):
        ended = run("mov (M1_NM, 1) V40(0,0)<1> P1", {"V40": zeros(1, "uint32")}, {"P1": 0xC0DE})
        assert ended["V40"][0] == 0xC0DE

    @pytest.mark.parametrize(("operation", "bits"), [("and", 0x88), ("or", 0xEE), ("xor", 0x66)])
    def test_logic_on_predicates(self, operation, bits):
        ended = run(f"{operation} (M1, 8) P1 P2 P3", {}, {"P1": 0xF00, "P2": 0xCC, "P3": 0xAA})
        assert ended.predicates["P1"] == 0xF00 | bits

    def test_logic_on_predicates_changes_active_channels_only(self):
        ended = run("not (M1, 8) P1 P2", {}, {"P1": 0xFF, "P2": 0xF0}, mask=0x3C, simd=8)
        assert ended.predicates["P1"] == 0b1100_1111


class TestDivergence:
    """Specification 3, Branch Instructions; page GOTO."""

    def test_both_sides_of_a_branch_run_once_with_their_channels(self):
        body = """
            (P1) goto (M1, 8) other
            mov (M1, 8) V40(0,0)<1> 0x1:d
            add (M1_NM, 1) V41(0,0)<1> V41(0,0)<0;1,0> 0x1:d
            goto (M1, 8) end
            other:
            mov (M1, 8) V40(0,0)<1> 0x2:d
            add (M1_NM, 1) V41(0,1)<1> V41(0,1)<0;1,0> 0x1:d
            end:
            add (M1_NM, 1) V41(0,2)<1> V41(0,2)<0;1,0> 0x1:d
        """
        ended = run(body, {"V40": zeros(8), "V41": zeros(3)}, {"P1": 0xF0}, simd=8)
        assert list(ended["V40"]) == [1, 1, 1, 1, 2, 2, 2, 2]
        assert list(ended["V41"]) == [1, 1, 1]

    def test_a_block_that_no_channel_reaches_does_not_run(self):
        body = """
            (P1) goto (M1, 8) end
            mov (M1_NM, 1) V41(0,0)<1> 0x1:d
            end:
        """
        assert run(body, {"V41": zeros(1)}, {"P1": 0xFF}, simd=8)["V41"][0] == 0
        assert run(body, {"V41": zeros(1)}, {"P1": 0x7F}, simd=8)["V41"][0] == 1
        assert run(body, {"V41": zeros(1)}, {"P1": 0x7F}, simd=8, mask=0x7F)["V41"][0] == 0

    def test_a_loop_runs_as_often_as_its_longest_channel(self):
        body = """
            again:
            add (M1_NM, 1) V41(0,0)<1> V41(0,0)<0;1,0> 0x1:d
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> -0x1:d
            cmp.gt (M1, 8) P1 V40(0,0)<1;1,0> 0x0:d
            (P1) goto (M1, 8) again
            add (M1_NM, 1) V41(0,1)<1> V41(0,1)<0;1,0> 0x1:d
        """
        ended = run(body, {"V40": d(1, 2, 3, 4, 5, 4, 3, 2), "V41": zeros(2)}, {"P1": 0}, simd=8)
        assert list(ended["V40"]) == [0] * 8
        assert list(ended["V41"]) == [5, 1]

    def test_a_goto_to_the_next_instruction_loses_no_channel(self):
        body = """
            (P1) goto (M1, 8) next
            next:
            mov (M1, 8) V40(0,0)<1> 0x1:d
        """
        assert ones_at(run(body, {"V40": zeros(8)}, {"P1": 0x0F}, simd=8), "V40") == list(range(8))

    def test_an_unpredicated_scalar_goto_moves_the_active_channels(self):
        body = """
            (P1) goto (M1, 8) other
            goto (M1, 1) end
            other:
            mov (M1, 8) V40(0,0)<1> 0x1:d
            end:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x10:d
        """
        ended = run(body, {"V40": zeros(8)}, {"P1": 0x03}, simd=8)
        assert list(ended["V40"]) == [17, 17, 16, 16, 16, 16, 16, 16]

    @pytest.mark.parametrize(("bits", "value"), [(0xFE, 1), (0x01, 0)])
    def test_the_first_predicate_bit_decides_a_scalar_goto(self, bits, value):
        body = """
            (P1) goto (M1, 1) end
            mov (M1, 8) V40(0,0)<1> 0x1:d
            end:
        """
        assert list(run(body, {"V40": zeros(8)}, {"P1": bits}, simd=8)["V40"]) == [value] * 8

    def test_a_goto_of_one_half_leaves_the_other_half_alone(self):
        body = """
            goto (M5, 16) end
            mov (M1, 16) V40(0,0)<1> 0x1:d
            mov (M5, 16) V40(2,0)<1> 0x1:d
            end:
        """
        assert ones_at(run(body, {"V40": zeros(32)}, simd=32), "V40") == list(range(16))

    def test_a_predicated_goto_of_one_half_uses_the_bits_of_that_half(self):
        body = """
            (P1) goto (M5, 16) end
            mov (M1, 16) V40(0,0)<1> 0x1:d
            mov (M5, 16) V40(2,0)<1> 0x1:d
            end:
        """
        ended = run(body, {"V40": zeros(32)}, {"P1": 0x00FF_FFFF}, simd=32)
        assert ones_at(ended, "V40") == [*range(16), *range(24, 32)]

    def test_predicate_bits_of_channels_that_are_off_move_nobody(self):
        body = """
            (P1) goto (M1, 8) end
            mov (M1, 8) V40(0,0)<1> 0x1:d
            end:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x2:d
        """
        ended = run(body, {"V40": zeros(8)}, {"P1": 0xFF}, simd=8, mask=0x11)
        assert list(ended["V40"]) == [2, 0, 0, 0, 2, 0, 0, 0]

    def test_the_kernel_goes_on_where_channels_wait_when_the_others_return(self):
        body = """
            (P1) goto (M1, 8) there
            ret (M1, 1)
            there:
            mov (M1, 8) V40(0,0)<1> 0x1:d
        """
        assert ones_at(run(body, {"V40": zeros(8)}, {"P1": 0x41}, simd=8), "V40") == [0, 6]

    def test_channels_that_return_from_the_kernel_are_off_for_good(self):
        body = """
            (P1) ret (M1, 8)
            mov (M1, 8) V40(0,0)<1> 0x1:d
        """
        assert ones_at(run(body, {"V40": zeros(8)}, {"P1": 0x0F}, simd=8), "V40") == [4, 5, 6, 7]

    def test_a_jump_moves_the_whole_thread(self):
        body = """
            (!P1) jmp (M1, 1) end
            mov (M1, 8) V40(0,0)<1> 0x1:d
            end:
        """
        assert ones_at(run(body, {"V40": zeros(8)}, {"P1": 0xFE}, simd=8), "V40") == []
        assert ones_at(run(body, {"V40": zeros(8)}, {"P1": 0x01}, simd=8), "V40") == list(range(8))
