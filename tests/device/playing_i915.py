"""A program that plays an old GPU driver: it talks to the emulated device by i915's ioctls.

Run by tests with the device library preloaded; `python -m tests.device.playing_i915 NAME` runs one
part, which prints what it found as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import random
import struct
import sys
import time
from collections.abc import Sequence

from tests.device import playing
from tests.device.playing import BATCH, CLOSE, DATA, END, OBJECT, PAGE, Refused, store

GETPARAM, CREATE, DOMAIN, OFFSET, BUFFER, WAIT, CONTEXT, GONE = (
    0x40 + number for number in (0x06, 0x1B, 0x1F, 0x24, 0x29, 0x2C, 0x2D, 0x2E)
)
REGISTER, STATS, USERPTR, GET, SET, QUERY, VM, VM_GONE, CREATE_EXT = (
    0x40 + number for number in (0x31, 0x32, 0x33, 0x34, 0x35, 0x39, 0x3A, 0x3B, 0x3C)
)
BUSY, TILING, CACHING = 0x57, 0x61, 0x6F
PINNED = 1 << 3 | 1 << 4
NO_RELOCATIONS, BATCH_FIRST = 1 << 11, 1 << 18


class Device(playing.Device):
    """An open render node of i915."""

    def param(self, number: int) -> int:
        """Return a parameter."""
        value = ctypes.c_int()
        self.ask(GETPARAM, "i4xQ", number, ctypes.addressof(value))
        return value.value

    def answers(self, query: int) -> bytes:
        """Return the answer to a query; `Refused` with the error of its item."""
        item = bytearray(struct.pack("<QiIQ", query, 0, 0, 0))
        place = ctypes.addressof(ctypes.c_char.from_buffer(item))
        self.ask(QUERY, "2IQ", 1, 0, place)
        size = struct.unpack_from("<i", item, 8)[0]
        if size < 0:
            raise Refused(size)
        room = ctypes.create_string_buffer(size)
        struct.pack_into("<Q", item, 16, ctypes.addressof(room))
        self.ask(QUERY, "2IQ", 1, 0, place)
        return room.raw

    def make(self, size: int = OBJECT) -> int:
        """Return the handle of a new object."""
        return self.ask(CREATE, "Q2I", size, 0, 0)[1]

    def lend(self, memory: mmap.mmap) -> int:
        """Return the handle of this program's own memory."""
        place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return self.ask(USERPTR, "2Q2I", place, len(memory), 0, 0)[3]

    def see(self, handle: int, size: int = OBJECT) -> mmap.mmap:
        """Return an object's memory in this process."""
        offset = self.ask(OFFSET, "2I3Q", handle, 0, 0, 2, 0)[2]
        return mmap.mmap(self.file, size, offset=offset)

    def context(self) -> int:
        """Return a new context."""
        return self.ask(CONTEXT, "2IQ", 0, 0, 0)[0]

    def submit(self, context: int, objects: Sequence[tuple[int, int]], flags: int = 0) -> None:
        """Run the last one of the objects, which are handles and addresses."""
        rows = b"".join(
            struct.pack("<2I6Q", handle, 0, 0, 0, place, PINNED, 0, 0) for handle, place in objects
        )
        room = ctypes.create_string_buffer(rows)
        words = (ctypes.addressof(room), len(objects), 0, 0, 0, 0, 0)
        self.ask(BUFFER, "Q6I4Q", *words, 0, flags | NO_RELOCATIONS, context, 0)

    def wait(self, handle: int, nanoseconds: int = -1) -> None:
        """Wait until an object is idle."""
        self.ask(WAIT, "2Iq", handle, 0, nanoseconds)

    def hung(self, context: int) -> bool:
        """Return whether a context was lost."""
        return bool(self.ask(STATS, "6I", context, 0, 0, 0, 0, 0)[3])


class Work:
    """A context, a batch, and data."""

    def __init__(self, device: Device) -> None:
        self.device, self.context = device, device.context()
        self.handles = device.make(), device.make()
        self.batch, self.data = (device.see(handle) for handle in self.handles)

    def run(self, *words: int, data: int = DATA, more: Sequence[tuple[int, int]] = ()) -> None:
        """Run a batch, without waiting for it."""
        self.batch[: 4 * len(words) + 4] = struct.pack(f"<{len(words) + 1}I", *words, END)
        batch, own = self.handles
        self.device.submit(self.context, [(own, data), *more, (batch, BATCH)])

    def word(self, place: int = 0) -> int:
        """Return a word of the data."""
        return struct.unpack_from("<I", self.data, 4 * place)[0]


def until(address: int) -> list[int]:
    """Return an MI_SEMAPHORE_WAIT until a word is 1."""
    return [0x0E00_0003 | 4 << 12, 1, address & 0xFFFF_FFFF, address >> 32, 0]


def identity() -> object:
    """What the device says of itself."""
    device = Device()
    name = ctypes.create_string_buffer(8)
    device.ask(0, "3i4x6Q", 0, 0, 0, 8, ctypes.addressof(name), 0, 0, 0, 0)
    topology = struct.unpack_from("<8H", device.answers(1))
    return {
        "driver": name.value.decode(),
        "device": device.param(4),
        "units": device.param(34),
        "softpin": device.param(37),
        "topology": topology[1:4],
        "engines": struct.unpack_from("<I", device.answers(2))[0],
        "regions": struct.unpack_from("<I", device.answers(4))[0],
        "address bytes": device.ask(GET, "2I2Q", 0, 0, 3, 0)[3],
        "ticks": device.ask(REGISTER, "2Q", 0x2359, 0)[1] > 0,
    }


def batches() -> object:
    """Batches run in order; what was waited for is done, in objects that have moved, too."""
    work = Work(Device())
    found: list[int] = []
    for number in range(1, 20):
        place = DATA + OBJECT * (number % 3)
        work.run(*store(place, number), data=place)
        work.device.wait(work.handles[1])
        found.append(work.word())
    return found


def own_memory() -> object:
    """A batch in the program's own memory writes to the program's own memory."""
    device = Device()
    own, batch = mmap.mmap(-1, PAGE), mmap.mmap(-1, PAGE)
    words = [*store(DATA, 7), END]
    batch[: 4 * len(words)] = struct.pack(f"<{len(words)}I", *words)
    handles = device.lend(own), device.lend(batch)
    device.submit(0, [(handles[0], DATA), (handles[1], BATCH)])
    device.wait(handles[0])
    return own[0]


def waiting() -> object:
    """A batch that waits for the program keeps its objects busy, and alive when they are closed."""
    work = Work(Device())
    work.run(*until(DATA), *store(DATA + 4, 5))
    early = []
    try:
        work.device.wait(work.handles[1], 1_000_000)
    except Refused as refused:
        early.append(refused.args[0])
    early.append(work.device.ask(BUSY, "2I", work.handles[1], 0)[1])
    for handle in work.handles:
        work.device.ask(CLOSE, "2I", handle, 0)
    work.data[0] = 1
    done = playing.wait(lambda: work.word(1) == 5)
    other = Work(work.device)
    other.run(*store(DATA, 6))
    other.device.wait(other.handles[0])
    return [*early, done, other.word()]


def given_up() -> object:
    """Memory that the program has unmapped is no hindrance, but for batches that name it."""
    work = Work(Device())
    own = mmap.mmap(-1, PAGE)
    lent = work.device.lend(own)
    work.run(*store(DATA, 1), more=[(lent, DATA + OBJECT)])
    work.device.wait(lent)
    address = ctypes.addressof(ctypes.c_char.from_buffer(own))
    ctypes.CDLL(None).munmap(ctypes.c_void_p(address), ctypes.c_size_t(PAGE))
    work.run(*store(DATA, 2))
    work.device.wait(work.handles[1])
    try:
        work.run(*store(DATA, 3), more=[(lent, DATA + OBJECT)])
    except Refused as refused:
        return [work.word(), refused.args[0]]
    return [work.word(), "accepted"]


def refused() -> object:
    """What is asked for wrongly is an error, each of its own."""
    work = Work(Device())
    device, handle = work.device, work.handles[1]
    given = [
        lambda: device.ask(CREATE, "Q2I", 1 << 60, 0, 0),
        lambda: device.ask(USERPTR, "2Q2I", 1, PAGE, 0, 0),
        lambda: device.submit(work.context, [(999, BATCH)]),
        lambda: device.submit(work.context, [(handle, BATCH + 1)]),
        lambda: device.submit(work.context, [(handle, BATCH)], flags=4),
        lambda: device.submit(999, [(handle, BATCH)]),
        lambda: device.ask(SET, "2I2Q", work.context, 0, 6, 5000),
        lambda: device.ask(TILING, "4I", handle, 2, 512, 0),
        lambda: device.wait(999),
    ]
    found: list[str] = []
    for one in given:
        try:
            one()
            found.append("accepted")
        except Refused as error:
            found.append(error.args[0])
    return found


def lost() -> object:
    """An unknown command loses the context; others of the program go on."""
    device = Device()
    work, other = Work(device), Work(device)
    work.run(0x1F80_0001, 0)
    work.device.wait(work.handles[0])
    found = [playing.wait(lambda: device.hung(work.context)), device.hung(other.context)]
    with contextlib.suppress(Refused):
        work.run(*store(DATA, 1))
        found.append("accepted")
    other.run(*store(DATA, 3))
    device.wait(other.handles[1])
    return [*found, other.word()]


def many() -> object:
    """What 2,000 batches with objects that come and go leave behind: pages, and open files."""
    work = Work(Device())
    work.run(*store(DATA, 1))
    work.device.wait(work.handles[1])
    (process,) = playing.processes_of_vms()
    held: list[tuple[int, int]] = []
    for turn in range(3):
        for _ in range(1000 if turn else 50):
            handle = work.device.make()
            work.run(*store(DATA, 1), more=[(handle, DATA + OBJECT)])
            work.device.wait(handle)
            work.device.ask(CLOSE, "2I", handle, 0)
        files = len(os.listdir(f"/proc/{process}/fd")) + len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        held.append((playing.memory_pages(process), files))
    return [held[2][0] - held[1][0], held[2][1] - held[0][1]]


def hostile() -> object:
    """Random ioctls and batches end in errors, and the device goes on for others."""
    chance = random.Random(int(sys.argv[2]))
    device = Device()
    handles = [device.make(), device.lend(mmap.mmap(-1, PAGE))]
    known = [CREATE, DOMAIN, OFFSET, BUFFER, CONTEXT, GONE, REGISTER, STATS, USERPTR, GET, SET]
    known += [GETPARAM, QUERY, VM, VM_GONE, CREATE_EXT, BUSY, TILING, CACHING, CLOSE, WAIT]
    for _ in range(3000):
        words = [
            chance.choice([0, 1, 2, 3, 0xFFFF_FFFF, chance.getrandbits(32)]) for _ in range(60)
        ]
        count = chance.choice([0, 1, 4, 6, 16, 60])
        with contextlib.suppress(Refused):
            device.ask(chance.choice(known), f"{count}I", *words[:count])
    for _ in range(300):
        objects = [
            (chance.choice([*handles, 0, 77]), chance.choice([BATCH, DATA, PAGE, 1 << 46, 1 << 63]))
            for _ in range(chance.randrange(1, 4))
        ]
        with contextlib.suppress(Refused):
            device.submit(chance.choice([0, 1, 2]), objects, chance.choice([0, 1, BATCH_FIRST]))
    for _ in range(4):
        work = Work(device)
        words = [chance.getrandbits(32) & ~0x1C00_0000 for _ in range(64)]
        with contextlib.suppress(Refused):
            work.run(*words)
        end = time.monotonic() + 3
        while not device.hung(work.context) and time.monotonic() < end:
            time.sleep(0.01)
    work = Work(device)
    work.run(*store(DATA, 1))
    device.wait(work.handles[1])
    return work.word() == 1


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()) + "\n")
