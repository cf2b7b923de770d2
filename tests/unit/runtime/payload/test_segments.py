"""Variables of programs in memory (visim.runtime.payload.segments)."""

from __future__ import annotations

import struct

import pytest

from visim.binary.zebin import DataRelocation, RelocationKind, SegmentKind, Symbol, Zebin
from visim.errors import LinkError
from visim.linker import function_handle
from visim.machine.allocations import MemoryViolation
from visim.machine.memory import Memory
from visim.runtime.payload.segments import Segments
from visim.target import platform


def zebin(*relocations, constants=bytes(16), variables=bytes(32)):
    return Zebin(
        "data.zebin",
        "1.20",
        platform("pvc"),
        (),
        constant_data=constants,
        global_data=variables,
        string_data=b"%d\0",
        symbols=(
            Symbol("limit", SegmentKind.CONST, 8, 4),
            Symbol("counter", SegmentKind.GLOBAL, 4, 4),
            Symbol("helper", SegmentKind.FUNCTION, 640, 64),
        ),
        data_relocations=relocations,
    )


def contents(segments, name, size):
    memory = Memory()
    segments.add_to(memory)
    return bytes(next(one for one in memory.allocations if one.name == name).host[:size])


def test_symbols_have_addresses_in_their_segment():
    segments = Segments(zebin(constants=bytes(range(16))), [])
    memory = Memory()
    segments.add_to(memory)
    assert bytes(memory.load_block(segments.symbols["limit"], 4)) == bytes([8, 9, 10, 11])
    assert set(segments.symbols) == {"limit", "counter"}
    assert segments.symbols["counter"] % 64 == 4


def test_constants_and_strings_cannot_be_stored_to():
    segments = Segments(zebin(), [])
    memory = Memory()
    segments.add_to(memory)
    memory.store_block(segments.symbols["counter"], memory.load_block(segments.symbols["limit"], 4))
    with pytest.raises(MemoryViolation, match="read-only"):
        memory.store_block(
            segments.symbols["limit"], memory.load_block(segments.symbols["counter"], 4)
        )


def test_a_pointer_is_increased_by_the_address():
    relocation = DataRelocation(SegmentKind.GLOBAL, 8, RelocationKind.ADDRESS64, "limit", 5)
    segments = Segments(zebin(relocation, variables=struct.pack("<QQ", 0, 5)), [])
    found = contents(segments, "program variables", 16)
    assert struct.unpack("<QQ", found) == (0, segments.symbols["limit"] + 5)


def test_halves_of_an_address_are_patched_apart():
    low = DataRelocation(SegmentKind.CONST, 0, RelocationKind.ADDRESS32_LOW, "counter", 0)
    high = DataRelocation(SegmentKind.CONST, 4, RelocationKind.ADDRESS32_HIGH, "counter", 0)
    segments = Segments(zebin(low, high), [])
    found = contents(segments, "program constants", 8)
    assert struct.unpack("<Q", found) == (segments.symbols["counter"],)


def test_pointers_to_functions_are_their_handles():
    relocation = DataRelocation(SegmentKind.CONST, 0, RelocationKind.ADDRESS64, "helper", 0)
    segments = Segments(zebin(relocation), ["first", "helper"])
    found = contents(segments, "program constants", 8)
    assert struct.unpack("<Q", found) == (function_handle(2),)


def test_a_pointer_to_nothing_is_a_link_error():
    relocation = DataRelocation(SegmentKind.CONST, 0, RelocationKind.ADDRESS64, "gone", 0)
    with pytest.raises(LinkError, match="gone"):
        Segments(zebin(relocation), [])
