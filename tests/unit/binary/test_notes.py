"""The compiler's notes in zebins (visim.binary.notes), and location expressions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import visim
from tests.opencl.building import built
from visim.binary.notes import read_notes, with_notes
from visim.debug.naming.operations import Origin, Piece, Unplaced, pieces_of

NOTES = Path(__file__).parents[2] / "corpus" / "debug" / "rec_pvc.dbg"
SOURCE = "kernel void one(global int *out) { out[get_global_id(0)] = 1; }"


@pytest.fixture(scope="module")
def zebin():
    return built(SOURCE, "pvc")["one"].debug_facts().zebin


class TestSections:
    def test_notes_come_back_as_they_were_appended(self, zebin):
        made = with_notes(zebin, [NOTES.read_bytes(), b"something else"])
        name = read_names(NOTES.read_bytes())[0]
        assert [one.name for one in read_notes(made, name)] == read_names(NOTES.read_bytes())
        assert read_notes(made, "one") == ()

    def test_what_was_there_stays_where_it_was(self, zebin):
        made = with_notes(zebin, [NOTES.read_bytes()])
        head = 64
        assert made[head : len(zebin)] == zebin[head:]
        assert visim.load(made)["one"].source == visim.load(zebin)["one"].source

    def test_without_notes_nothing_changes(self, zebin):
        assert with_notes(zebin, [b"", NOTES.read_bytes()[:20]]) == zebin


def read_names(data):
    from visim.binary.debuginfo import read_debug_information

    return [one.name for one in read_debug_information(data, "notes")]


class Machine:
    """Registers that hold a hundred times their number, and no memory."""

    def register(self, number, bit, bits):
        return 100 * number + bit // max(bits, 1)

    def memory(self, address, size):
        raise Unplaced("no memory")


LANE, SHR, AND, MUL = 0xED, 0x25, 0x1A, 0x1E
LIT3, LIT4, LIT7, LIT15 = 0x33, 0x34, 0x37, 0x3F


class TestOperations:
    def test_a_register_of_a_channel_as_compilers_of_2026_write_it(self):
        code = bytes([LANE, LIT3, SHR, 0x23, 26, LANE, LIT7, AND, 0x08, 32, MUL, 0xFE, 32, 0x9F])
        origin = Origin(register=11, bit=64)
        assert pieces_of(code, 10, Machine()) == [Piece(value=100 * 11 + 2, origin=origin)]

    def test_a_register_of_a_channel_as_compilers_of_2022_write_it(self):
        code = [LANE, LIT4, SHR, 0x23, 20, 0xEB, LANE, LIT15, AND, 0x08, 32, MUL, 0x08, 32, 0xEC]
        origin = Origin(register=5, bit=32)
        assert pieces_of(bytes([*code, 0x9F]), 17, Machine()) == [
            Piece(value=100 * 5 + 1, origin=origin)
        ]

    def test_halves_of_32_channels_are_chosen_by_a_branch(self):
        low, high = [0x23, 1, 0x2F, 2, 0], [0x23, 2]
        code = bytes([LANE, LANE, 0x40, 0x2A, 0x28, 5, 0, *low, *high, 0x9F])
        assert pieces_of(code, 3, Machine()) == [Piece(value=4)]
        assert pieces_of(code, 16, Machine()) == [Piece(value=18)]

    def test_parts_that_were_removed_are_empty(self):
        code = bytes([0x93, 12, 0x08, 7, 0x9F, 0x9D, 32, 0])
        assert pieces_of(code, 0, Machine()) == [Piece(96), Piece(32, value=7)]

    def test_bits_of_a_register_that_all_channels_share(self):
        assert pieces_of(bytes([0x64, 0x9D, 64, 0xC0, 2]), 5, Machine()) == [
            Piece(64, register=4, bit=320)
        ]

    @pytest.mark.parametrize("code", [b"", b"\x13", b"\x0c\x01", b"\xf3", b"\x2f\xfd\xff"])
    def test_what_makes_no_sense_says_so(self, code):
        with pytest.raises(Unplaced):
            pieces_of(code, 0, Machine())

    @given(st.binary(max_size=40), st.integers(0, 31))
    def test_any_bytes_give_pieces_or_say_why_not(self, code, lane):
        try:
            found = pieces_of(code, lane, Machine())
        except Unplaced:
            return
        assert found
