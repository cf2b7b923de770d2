"""Memory of VMs: objects, memory of the program, and what is not there."""

import ctypes
import subprocess
from bisect import bisect_right

import numpy as np
import pytest

import visim.device.address_space as address_space_module
from tests.unit.device.space import BASE, PAGE, address_space
from visim.device.address_space import PageFault
from visim.device.hostmemory import ProgramMemory, tells_of_an_end


def test_objects_are_pages_of_the_file_at_the_gpus_address() -> None:
    with address_space() as (space, _):
        space.map_object(BASE, 2 * PAGE, 0)
        space.map_object(BASE + 8 * PAGE, PAGE, PAGE)
        space.write(BASE + PAGE, b"shared")
        assert space.read(BASE + 8 * PAGE, 6) == b"shared"
        assert ctypes.string_at(BASE + PAGE, 6) == b"shared"


def test_ranges_may_cross_mappings_but_not_holes() -> None:
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        space.map_object(BASE + PAGE, PAGE, 4 * PAGE)
        space.write(BASE + PAGE - 2, b"abcd")
        assert space.read(BASE + PAGE - 2, 4) == b"abcd"
        nearest = rf"0x{BASE + 2 * PAGE:x} .*nearest is object at 0x{BASE + PAGE:x}"
        with pytest.raises(PageFault, match=nearest):
            space.read(BASE + 2 * PAGE - 1, 2)


def test_mapping_replaces_what_was_there() -> None:
    with address_space() as (space, _):
        space.map_object(BASE, 4 * PAGE, 0)
        space.map_object(BASE + PAGE, PAGE, 8 * PAGE)
        assert [(one.start, one.end) for one in space.mappings] == [(BASE + PAGE, BASE + 2 * PAGE)]


def test_addresses_that_this_process_uses_are_refused() -> None:
    own = np.zeros(4 * PAGE, np.uint8)
    page = int(own.ctypes.data) // PAGE * PAGE
    with address_space() as (space, _), pytest.raises(OSError, match="exists"):
        space.map_object(page, PAGE, 0)


def test_kernels_see_the_programs_memory_and_only_what_they_change_goes_back() -> None:
    program = np.arange(2 * PAGE, dtype=np.uint64).view(np.uint8)
    place = -(-int(program.ctypes.data) // PAGE) * PAGE
    first = place - int(program.ctypes.data)
    with address_space() as (space, _):
        space.map_program(BASE, PAGE, place)
        with space.for_kernels() as memory:
            assert memory.load_block(BASE, 16).tolist() == program[first : first + 16].tolist()
            memory.store_block(BASE + 8, np.full(4, 0xAA, np.uint8))
            program[first] = 0x77
        assert program[first + 8 : first + 12].tolist() == [0xAA] * 4
        assert program[first] == 0x77


def test_copies_reach_the_programs_memory_in_place() -> None:
    program = np.zeros(2 * PAGE, np.uint8)
    place = -(-int(program.ctypes.data) // PAGE) * PAGE
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        space.map_program(BASE + PAGE, PAGE, place)
        space.write(BASE, b"to the program")
        space.copy(BASE + PAGE + 3, BASE, 14)
        assert ctypes.string_at(place + 3, 14) == b"to the program"
        space.copy(BASE + 100, BASE + PAGE + 3, 14)
        assert space.read(BASE + 100, 14) == b"to the program"


def test_objects_may_go_while_a_queue_looks_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with address_space() as (space, _):
        for place in (0, 2, 4):
            space.map_object(BASE + place * PAGE, PAGE, 0)

        def interrupted(starts: list[int], address: int) -> int:
            found = bisect_right(starts, address)
            space.unmap(BASE, PAGE)
            return found

        monkeypatch.setattr(address_space_module, "bisect_right", interrupted)
        assert space.find(BASE + 2 * PAGE).start == BASE + 2 * PAGE


def test_the_end_of_the_program_is_told_from_other_errors() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(ProcessLookupError) as caught:
        ProgramMemory(ended.pid).read(BASE, np.zeros(8, np.uint8))
    outer = ValueError("a command failed")
    outer.__cause__ = caught.value
    assert tells_of_an_end(outer)
    assert not tells_of_an_end(ValueError("another"))
