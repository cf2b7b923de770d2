"""Command streamers: batches written by hand, and what must be in memory afterwards."""

import contextlib
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.device.space import BASE, PAGE, address_space
from visim.device.address_space import AddressSpace
from visim.device.commands import GENERATIONS
from visim.device.streamer import Bases, QueueError, Stopped, Streamer
from visim.device.walker import ComputeWalk
from visim.devices import Generation

LAYOUT = GENERATIONS[Generation.XE2]

BATCH, DATA = BASE, BASE + 16 * PAGE
END, NOOP = 0x0500_0000, 0


@dataclass
class Recorder:
    """Takes walks instead of running them."""

    walks: list[tuple[ComputeWalk, tuple[int, int, int], Bases]] = field(
        default_factory=list[tuple[ComputeWalk, tuple[int, int, int], Bases]]
    )

    def run(self, walk: ComputeWalk, groups: tuple[int, int, int], bases: Bases) -> None:
        self.walks.append((walk, groups, bases))


@dataclass
class Bench:
    """A streamer on memory of its own."""

    space: AddressSpace
    compute: Recorder
    stop: threading.Event
    streamer: Streamer

    def run(self, *words: int) -> None:
        self.put(BATCH, [*words, END])
        self.streamer.run(BATCH)

    def put(self, address: int, words: Sequence[int]) -> None:
        self.space.write(address, struct.pack(f"<{len(words)}I", *words))


@pytest.fixture
def bench() -> Iterator[Bench]:
    ticks = iter(range(1000, 1 << 30, 10))
    with address_space() as (space, _):
        space.map_object(BATCH, 16 * PAGE, 0)
        space.map_object(DATA, 16 * PAGE, 16 * PAGE)
        compute, stop = Recorder(), threading.Event()
        streamer = Streamer(LAYOUT, space, lambda: next(ticks), compute, stop)
        yield Bench(space, compute, stop, streamer)


def at(address: int) -> tuple[int, int]:
    return address & 0xFFFF_FFFF, address >> 32


def store(address: int, value: int) -> list[int]:
    return [0x1000_0002, *at(address), value]


def test_stores(bench: Bench) -> None:
    bench.run(*store(DATA, 7), 0x1020_0003, *at(DATA + 8), 0x89ABCDEF, 0x01234567)
    assert bench.space.load(DATA) == 7
    assert bench.space.load_long(DATA + 8) == 0x0123_4567_89AB_CDEF


def test_flushes_of_ranges_write_a_number_if_asked(bench: Bench) -> None:
    ranges, number = at(DATA + PAGE), [7, 9]
    layout = GENERATIONS[Generation.XE_HPG]
    older = Streamer(layout, bench.space, lambda: 0, bench.compute, bench.stop)
    bench.put(
        BATCH, [0x7D80_2605, 0, 0, 0, 0, *ranges, 0x7D90_4605, *at(DATA), *number, *ranges, END]
    )
    older.run(BATCH)
    assert bench.space.load_long(DATA) == 9 << 32 | 7


def test_a_jump_leaves_the_batch_and_a_call_comes_back(bench: Bench) -> None:
    call, jump = 0x18C0_0101, 0x1880_0101
    second, third = BATCH + PAGE, BATCH + 2 * PAGE
    bench.put(second, [*store(DATA, 1), END])
    bench.put(third, [*store(DATA + 8, 3), END])
    bench.run(call, *at(second), *store(DATA + 4, 2), jump, *at(third), *store(DATA + 12, 4))
    assert [bench.space.load(DATA + 4 * i) for i in range(4)] == [1, 2, 3, 0]


def test_registers_move_between_memory_and_each_other(bench: Bench) -> None:
    bench.space.store(DATA, 42)
    bench.run(
        *[0x1480_0002, 0x2608, *at(DATA)],  # MI_LOAD_REGISTER_MEM
        *[0x1500_0001, 0x2608, 0x2610],  # MI_LOAD_REGISTER_REG
        *[0x1100_0003, 0x2618, 5, 0x261C, 6],  # MI_LOAD_REGISTER_IMM
        *[0x1200_0002, 0x2610, *at(DATA + 4)],  # MI_STORE_REGISTER_MEM
        *[0x1200_0002, 0x261C, *at(DATA + 8)],
    )
    assert [bench.space.load(DATA + 4 * i) for i in range(3)] == [42, 42, 6]


@pytest.mark.parametrize(
    ("operation", "old", "operands", "new"),
    [
        (0x04, 9, (5, 0), 5),
        (0x05, 0xFFFF_FFFF, (0, 0), 0),
        (0x06, 0, (0, 0), 0xFFFF_FFFF),
        (0x07, 3, (4, 0), 7),
        (0x0E, 3, (3, 8), 8),
        (0x0E, 4, (3, 8), 4),
    ],
)
def test_atomics(
    bench: Bench, operation: int, old: int, operands: tuple[int, int], new: int
) -> None:
    bench.space.store(DATA, old)
    head = 0x1780_0009 | 1 << 18 | 1 << 16 | operation << 8
    first, second = operands
    bench.run(head, *at(DATA), first, second, *[0] * 6)
    assert bench.space.load(DATA) == new
    assert bench.streamer.registers.read(0x600) == old


def test_long_atomics_carry(bench: Bench) -> None:
    bench.space.store_long(DATA, 0xFFFF_FFFF)
    bench.run(0x1780_0001 | 0x25 << 8, *at(DATA))
    assert bench.space.load_long(DATA) == 1 << 32


def test_ends_of_work_write_values_and_timestamps(bench: Bench) -> None:
    bench.run(
        *[0x7A00_0004, 1 << 14, *at(DATA), 0x55, 0x66],  # PIPE_CONTROL
        *[0x7A00_0004, 3 << 14, *at(DATA + 8), 0, 0],
        *[0x1300_0003 | 1 << 14, *at(DATA + 16), 0x77, 0],  # MI_FLUSH_DW
        *[0x7A00_0004, 0, 0, 0, 0, 0],
    )
    assert bench.space.load_long(DATA) == 0x66_0000_0055
    assert bench.space.load_long(DATA + 8) >= 1000
    assert bench.space.load_long(DATA + 16) == 0x77


def test_commands_are_skipped_under_predication(bench: Bench) -> None:
    on, off = 0x0080_0001, 0x0080_0000
    bench.run(on, *store(DATA, 1), off, *store(DATA + 4, 2))
    assert [bench.space.load(DATA), bench.space.load(DATA + 4)] == [0, 2]


def test_a_semaphore_waits_for_a_store_of_another_thread(bench: Bench) -> None:
    def raise_it() -> None:
        time.sleep(0.02)
        bench.space.store(DATA, 3)

    thread = threading.Thread(target=raise_it)
    thread.start()
    bench.run(0x0E00_1003 | 1 << 15, 3, *at(DATA), 0, *store(DATA + 4, 1))
    thread.join()
    assert bench.space.load(DATA + 4) == 1


def test_a_queue_that_waits_can_be_taken_down(bench: Bench) -> None:
    bench.stop.set()
    with pytest.raises(Stopped):
        bench.run(0x0E00_1003, 3, *at(DATA), 0)


def test_an_unknown_command_stops_with_place_and_words(bench: Bench) -> None:
    with pytest.raises(
        QueueError, match=rf"unknown command 0x1f800001 at 0x{BATCH + 4:x}: 1f800001"
    ):
        bench.run(NOOP, 0x1F80_0001, 5)


def test_a_store_to_nowhere_names_the_command_and_the_nearest_memory(bench: Bench) -> None:
    with pytest.raises(QueueError, match=r"MI_STORE_DATA_IMM at .*nothing is mapped at 0x1000 "):
        bench.run(*store(0x1000, 1))


def walker(groups: Sequence[int], post_sync: Sequence[int] = (0,) * 5) -> list[int]:
    """Return a COMPUTE_WALKER for SIMD32, 64 work-items a group, with 32 bytes inline."""
    words = [0x7208_0026] + [0] * 39
    words[2], words[3], words[4] = 0x40, 0x1000, 0xA604_0000
    words[5], words[6], words[7:10] = 0xFFFF_FFFF, 0x3F, groups
    words[19], words[24], words[27:32] = 0x80, 0x1002_0002, post_sync
    words[32:40] = range(8)
    return words


def test_walkers_are_read_and_their_end_is_written(bench: Bench) -> None:
    bases = [0x6101_0014] + [0] * 21
    bases[1:3], bases[10:12] = at(DATA | 1), at(DATA + PAGE | 1)
    bench.run(*bases, *walker((4, 2, 1), (3, *at(DATA + 64), 0, 0)))
    ((walk, groups, found),) = bench.compute.walks
    assert (walk.simd_size, walk.ids, walk.local_size) == (32, 1, (64, 1, 1))
    assert (walk.threads, walk.slm_bytes, walk.barriers) == (2, 2048, 1)
    assert (walk.kernel, walk.indirect, walk.indirect_bytes) == (0x80, 0x1000, 0x40)
    assert walk.inline == struct.pack("<8I", *range(8))
    assert groups == (4, 2, 1)
    assert (found.general, found.instruction) == (DATA, DATA + PAGE)
    times = [bench.space.load_long(DATA + 64 + 8 * i) for i in range(4)]
    assert times[0] == times[1] < times[2] == times[3]


def test_indirect_walkers_take_their_groups_from_registers(bench: Bench) -> None:
    sizes = [0x1100_0005, 0x2500, 3, 0x2504, 2, 0x2508, 1]
    words = walker((0, 0, 0))
    words[0] |= 1 << 10
    bench.run(*sizes, *words)
    assert bench.compute.walks[0][1] == (3, 2, 1)


def test_empty_walks_run_nothing(bench: Bench) -> None:
    bench.run(*walker((4, 0, 1)))
    assert not bench.compute.walks


def test_linear_copies_rectangles_and_fills(bench: Bench) -> None:
    bench.space.write(DATA, bytes(range(64)))
    linear = [0x5680_0008, 9, 0, 9, 9, *at(DATA + 1), *at(DATA + 256), 0]
    matrix = [0x5680_0008 | 1 << 17, 3, 1, 15, 7, *at(DATA), *at(DATA + 512), 0]
    fill = [0x56C0_0005 | 1 << 17, 2, 1, 7, *at(DATA + 768), 0xAB00_0000]
    bench.run(*linear, *matrix, *fill)
    assert bench.space.read(DATA + 256, 12) == bytes(range(1, 11)) + bytes(2)
    assert bench.space.read(DATA + 512, 16) == bytes(
        [0, 1, 2, 3, 0, 0, 0, 0, 16, 17, 18, 19, 0, 0, 0, 0]
    )
    assert bench.space.read(DATA + 768, 12) == b"\xab\xab\xab\0\0\0\0\0\xab\xab\xab\0"


@given(st.lists(st.integers(0, 0xFFFF_FFFF), min_size=1, max_size=24))
def test_any_words_end_or_stop_the_queue(words: list[int]) -> None:
    with address_space() as (space, _):
        space.map_object(BATCH, PAGE, 0)
        stop = threading.Event()
        stop.set()
        streamer = Streamer(LAYOUT, space, lambda: 0, Recorder(), stop)
        space.write(BATCH, struct.pack(f"<{len(words) + 1}I", *words, END))
        with contextlib.suppress(QueueError, Stopped):
            streamer.run(BATCH)
