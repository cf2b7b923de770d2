"""vISA debug information: real files, the other layouts, and damaged ones."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from visim.binary.debuginfo import (
    MAGIC,
    CallFrame,
    Interval,
    Location,
    Mapping,
    RegisterFile,
    SavedRegister,
    SavedRegisters,
    is_debug_information,
    read_debug_information,
)
from visim.errors import InputError

FILES = Path(__file__).parents[2] / "corpus" / "debug"
GENERAL = RegisterFile.GENERAL
NO_FRAME = CallFrame(0, None, None, None, None, None, (), ())


def name(text: str) -> bytes:
    return struct.pack("<H", len(text)) + text.encode()


def pack(layout: str, *values: int) -> bytes:
    return struct.pack(f"<{layout}", *values)


HEAD = MAGIC + pack("H", 1) + name("k") + pack("I", 0)
EMPTY_TABLES = pack("IIIH", 0, 0, 0, 0)
NO_POINTERS = pack("HBBB", 0, 0, 0, 0)


def test_a_kernel_maps_instructions_to_gen_code_and_variables_to_registers():
    (kernel,) = read_debug_information((FILES / "lines_skl.dbg").read_bytes(), "k.dbg")
    assert (kernel.name, kernel.code_offset, kernel.by_offset) == ("k", 0, ())
    assert kernel.by_index[:3] == (Mapping(5, 0), Mapping(8, 16), Mapping(5, 24))
    assert [variable.name for variable in kernel.variables] == ["V32", "V33", "P1"]
    flag = kernel.variables[2].intervals
    assert flag == (Interval(6, 6, RegisterFile.FLAG, Location(RegisterFile.FLAG)),)
    assert kernel.frame == NO_FRAME


def test_a_subroutine_has_a_range_and_a_return_address():
    (kernel,) = read_debug_information((FILES / "fcall3_skl.dbg").read_bytes(), "f.dbg")
    (subroutine,) = kernel.subroutines
    assert 0 < subroutine.start <= subroutine.end
    assert all(entry.place.file is GENERAL for entry in subroutine.return_address)


def test_a_recursive_function_has_a_frame_with_saved_registers():
    kernel, function = read_debug_information((FILES / "rec_pvc.dbg").read_bytes(), "rec.dbg")
    assert (kernel.name, function.name, function.code_offset) == ("rec", "fib", 784)
    frame = function.frame
    assert frame.size == 384
    assert frame.frame_pointer == (Interval(80, 944, GENERAL, Location(GENERAL, 125, 12)),)
    assert frame.return_address is not None
    assert frame.return_address[0].place == Location(RegisterFile.MEMORY)
    assert [len(entry.registers) for entry in frame.callee_saved] == [2, 4, 2, 0]
    assert [entry.gen_offset for entry in frame.caller_saved] == [400, 544, 608, 752]


def test_the_main_branchs_layout_says_where_channel_enables_are():
    saved = pack("HHHH", 64, 128, 0, 0)
    (kernel,) = read_debug_information(HEAD + EMPTY_TABLES + NO_POINTERS + saved, "f")
    assert (kernel.frame.ce_offset, kernel.frame.ce_stored_at) == (64, 128)
    none = pack("HH", 0xFFFF, 0)
    data = HEAD + EMPTY_TABLES + NO_POINTERS + none + pack("HH", 0, 0)
    assert read_debug_information(data, "f")[0].frame == NO_FRAME


def test_the_specifications_layout_has_a_wide_count():
    saved = pack("I", 1) + pack("IH", 16, 1) + pack("HHBI", 32, 32, 0, 0x80000040)
    data = HEAD + EMPTY_TABLES + NO_POINTERS + pack("HHH", 0xFFFF, 0, 0) + saved
    (kernel,) = read_debug_information(data, "f")
    place = Location(RegisterFile.MEMORY, offset=64, absolute=True)
    assert kernel.frame.caller_saved == (SavedRegisters(16, (SavedRegister(32, 32, place),)),)


@pytest.mark.parametrize(("bits", "offset"), [(0x7FFFFFC0, -64), (0x40, 64), (0xFFFFFFC0, -64)])
def test_offsets_in_memory_have_31_bits_and_a_sign(bits: int, offset: int):
    interval = pack("HHHBBI", 1, 2, 9, 2, 3, bits)
    tables = pack("III", 0, 0, 1) + name("V32") + interval + pack("H", 0)
    (kernel,) = read_debug_information(HEAD + tables + NO_POINTERS + pack("HH", 0, 0), "f")
    (found,) = kernel.variables[0].intervals
    assert (found.place.offset, found.place.absolute) == (offset, bits >= 1 << 31)


DAMAGED = [
    (b"", "does not begin"),
    (MAGIC, "2 bytes expected"),
    (HEAD + pack("I", 0xFFFFFFFF), "a table of 4294967295 entries"),
    (HEAD + EMPTY_TABLES + NO_POINTERS + pack("HH", 0, 0) + b"x", "bytes after the last object"),
    (HEAD + EMPTY_TABLES + pack("HB", 0, 7), "7 is neither 0 nor 1"),
    (
        HEAD + pack("III", 0, 0, 1) + name("V") + pack("HHHBB", 1, 0, 1, 3, 0),
        "register file 3 is not known",
    ),
]


@pytest.mark.parametrize(("data", "message"), DAMAGED)
def test_damaged_files_are_refused(data: bytes, message: str):
    with pytest.raises(InputError, match=message):
        read_debug_information(data, "f.dbg")


REAL = [path.read_bytes() for path in sorted(FILES.glob("*.dbg"))]


@given(st.sampled_from(REAL), st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255))))
@example(REAL[0], [(4, 255), (5, 255)])
def test_mutated_files_raise_only_input_errors(data: bytes, changes: list[tuple[int, int]]):
    mutated = bytearray(data)
    for position, byte in changes:
        mutated[position % len(mutated)] = byte
    with suppress(InputError):
        read_debug_information(bytes(mutated), "f.dbg")


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_input_errors(data: bytes):
    assert not is_debug_information(data) or data.startswith(MAGIC)
    with suppress(InputError):
        read_debug_information(MAGIC + data, "f.dbg")
