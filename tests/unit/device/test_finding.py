"""Finding kernels: the symbols in loaded code, and binaries in a program's memory."""

import mmap
import os

import numpy as np

from tests.unit.device.space import BASE, PAGE, address_space
from visim.device.finding import Binary, CodeSection, Found, KernelFinder
from visim.device.hostmemory import ProgramMemory
from visim.target import platform


def found(*addresses: tuple[int, int, str]) -> Found:
    code = np.arange(64, dtype=np.uint8)
    fixed = np.ones(64, np.uint8)
    for offset, _, _ in addresses:
        fixed[offset : offset + 8] = 0
    section = CodeSection("k", code, fixed, addresses)
    return Found(Binary(b"", (section,), has_visa=True), section, BASE)


def test_addresses_of_variables_are_read_from_patched_code() -> None:
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        kernel = found((8, 2, "table"), (24, 3, "table"), (40, 1, "whole"))
        space.write(BASE, kernel.section.code)
        space.store(BASE + 8, 0x1111_2222)
        space.store(BASE + 24, 0x7F01)
        space.store_long(BASE + 40, 0x1234_5678_9ABC)
        assert kernel.section.is_at(space, BASE)
        assert kernel.symbols(space) == {"table": 0x7F01_1111_2222, "whole": 0x1234_5678_9ABC}


def test_code_that_differs_elsewhere_is_not_the_kernels() -> None:
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        kernel = found((8, 1, "table"))
        space.write(BASE, kernel.section.code)
        space.store(BASE + 20, 0xFFFF_FFFF)
        assert not kernel.section.is_at(space, BASE)
        assert not kernel.section.is_at(space, BASE + PAGE)


def test_code_of_no_binary_is_not_found() -> None:
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        space.write(BASE, os.urandom(256))
        assert (
            KernelFinder(space, ProgramMemory(os.getpid()), platform("bmg")).find(BASE + 64) is None
        )


def test_memory_that_is_only_reserved_is_not_touched() -> None:
    program = ProgramMemory(os.getpid())
    reserved = np.frombuffer(mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE), np.uint8)
    start = int(reserved.ctypes.data)
    assert not program.touched_pages(start, reserved.size).any()
    reserved[123 << 12] = 1
    assert program.touched_pages(start, reserved.size).any()
    assert not program.touched_pages(start, 123 << 12).any()


def test_a_search_leaves_pages_that_nobody_has_used_alone() -> None:
    reserved = np.frombuffer(mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE), np.uint8)
    reserved[7 * PAGE] = 1
    program = ProgramMemory(os.getpid())
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        KernelFinder(space, program, platform("bmg")).find(BASE + 64)
    start = int(reserved.ctypes.data)
    assert np.flatnonzero(program.touched_pages(start, reserved.size)).tolist() == [7]
