"""Memory agrees with a model that is a dictionary of bytes and does one channel at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from visim.machine import Memory, MemoryViolation, SharedLocalMemory, Surfaces
from visim.machine.allocations import PADDING

ARENA = 96
TYPES = [np.dtype(name) for name in ("u1", "i2", "u4", "f4", "u8", "f8", "f2")]
EXTREMES = [2**64 - 1, 2**64 - 4, 2**63, 4095, 4096]  # absolute addresses, not offsets


@dataclass
class Access:
    """One load, or store of `data`, at offsets into the arena."""

    is_store: bool
    dtype: np.dtype[Any]
    components: int
    offsets: list[int]
    mask: list[bool] | None
    data: bytes

    @property
    def size(self):
        return self.dtype.itemsize * self.components

    def channels(self, addresses):
        """Return (channel, address, its part of the data) of each active channel."""
        return [
            (i, address, self.data[i * self.size : (i + 1) * self.size])
            for i, address in enumerate(addresses)
            if self.mask is None or self.mask[i]
        ]

    def run(self, load, store, addresses):
        """Return the loaded bytes per channel, None for a store, or the violation."""
        mask = None if self.mask is None else np.array(self.mask, np.bool_)
        values = np.frombuffer(self.data, self.dtype)
        if self.components > 1:
            values = values.reshape(-1, self.components)
        try:
            if self.is_store:
                store(addresses, mask, values, self.components)
                return None
            loaded = load(addresses, mask, self.dtype, self.components)
        except MemoryViolation as violation:
            return violation
        return [row.tobytes() for row in loaded]


class Model:
    """Bytes by address, and the intervals (start, end, writable) an access has to lie in."""

    def __init__(self, bytes_at, intervals):
        self.bytes_at = bytes_at
        self.intervals = intervals

    def holds(self, address, size, *, to_write=False):
        return any(
            start <= address and address + size <= end and (writable or not to_write)
            for start, end, writable in self.intervals
        )

    def refused(self, access, addresses):
        """Return the active channels whose access does not lie in an interval."""
        return [
            channel
            for channel, address, _ in access.channels(addresses)
            if not self.holds(address, access.size, to_write=access.is_store)
        ]

    def run(self, access, addresses):
        """Do one channel after the other; unknown bytes read 0 and are not written."""
        loaded = [bytes(access.size)] * len(addresses)
        for channel, address, data in access.channels(addresses):
            if not access.is_store:
                loaded[channel] = self.load(address, access.size)
            else:
                self.store(address, data)
        return None if access.is_store else loaded

    def held(self, address):
        """Return how many bytes from an address on lie in an interval, of which the furthest."""
        return max((e - address for s, e, _ in self.intervals if s <= address < e), default=0)

    def load(self, address, size):
        return bytes(self.bytes_at.get(address + i, 0) for i in range(size))

    def store(self, address, data):
        for i, byte in enumerate(data):
            if address + i in self.bytes_at:
                self.bytes_at[address + i] = byte


@st.composite
def accesses(draw, *, extremes=False):
    n = draw(st.sampled_from([1, 3, 8, 16]))
    near = st.integers(0, ARENA - 8) if draw(st.booleans()) else st.integers(-9, ARENA + 9)
    few = st.sampled_from(draw(st.lists(near, min_size=1, max_size=3)))
    offsets = draw(st.lists(draw(st.sampled_from([near, few])), min_size=n, max_size=n))
    if extremes and draw(st.integers(0, 7)) == 0:
        offsets[draw(st.integers(0, n - 1))] = draw(st.sampled_from(EXTREMES))
    mask = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=n, max_size=n)))
    dtype = draw(st.sampled_from(TYPES))
    components = draw(st.sampled_from([1, 1, 2, 3, 4]))
    nbytes = n * components * dtype.itemsize
    data = draw(st.binary(min_size=nbytes, max_size=nbytes))
    return Access(draw(st.booleans()), dtype, components, offsets, mask, data)


slices = st.tuples(st.integers(0, ARENA), st.integers(0, ARENA), st.booleans()).map(
    lambda s: (min(s[:2]), max(s[:2]), s[2])
)


def flat_memory(parts):
    """Return an arena, its address, a memory with `parts` of it, and the model of that."""
    arena = np.arange(ARENA, dtype=np.uint8)
    base = arena.ctypes.data
    memory = Memory()
    for number, (start, end, writable) in enumerate(parts):
        view = arena[start:end]
        view.setflags(write=writable)
        memory.add(view, f"part{number}")
    intervals = [(base + start, base + end, writable) for start, end, writable in parts]
    return arena, base, memory, Model({base + i: i for i in range(ARENA)}, intervals)


@given(st.lists(slices, max_size=5), st.lists(accesses(extremes=True), min_size=1, max_size=6))
def test_flat_memory_agrees(parts, program):
    arena, base, memory, model = flat_memory(parts)
    for access in program:
        addresses = [o if o in EXTREMES else base + o for o in access.offsets]
        outcome = access.run(memory.load, memory.store, np.array(addresses, np.uint64))
        if refused := model.refused(access, addresses):
            address = addresses[refused[0]]
            readable = model.holds(address, access.size)
            reason = "read-only" if readable else "out of range"
            assert (outcome.channel, outcome.address) == (refused[0], address)
            assert outcome.reason == ("null pointer" if address < 4096 else reason)
            assert outcome.size == access.size
        else:
            assert outcome == model.run(access, addresses)
        assert arena.tolist() == list(model.bytes_at.values())


@given(st.integers(0, ARENA), st.lists(accesses(), min_size=1, max_size=6))
def test_surfaces_agree(nbytes, program):
    array = np.arange(nbytes, dtype=np.uint8)
    surfaces = Surfaces()
    surfaces.bind(7, array, "x")
    model = Model({i: i for i in range(nbytes)}, [(0, nbytes, True)])
    dropped = [0, 0]
    for access in program:
        offsets = [offset % 2**32 for offset in access.offsets]
        outcome = access.run(
            lambda *a: surfaces.load(7, *a),
            lambda *a: surfaces.store(7, *a),
            np.array(offsets, np.uint32),
        )
        dropped[access.is_store] += len(model.refused(access, offsets))
        assert outcome == model.run(access, offsets)
        assert array.tolist() == list(model.bytes_at.values())
        assert [surfaces.dropped_reads, surfaces.dropped_writes] == dropped


@given(st.lists(accesses(), min_size=1, max_size=6))
def test_shared_local_memory_agrees(program):
    slm = SharedLocalMemory(ARENA)
    model = Model(dict.fromkeys(range(ARENA), 0), [(0, ARENA, True)])
    for access in program:
        offsets = [offset % 2**32 for offset in access.offsets]
        outcome = access.run(slm.load, slm.store, np.array(offsets, np.uint32))
        if refused := model.refused(access, offsets):
            assert (outcome.space, outcome.channel) == ("SLM", refused[0])
        else:
            assert outcome == model.run(access, offsets)
        assert slm.bytes.tolist() == list(model.bytes_at.values())


@given(st.lists(slices, max_size=6), st.integers(-5, ARENA + 5), st.integers(1, 40))
def test_blocks_agree(parts, offset, size):
    arena, base, memory, model = flat_memory(parts)
    try:
        loaded = memory.load_block(base + offset, size).tobytes()
    except MemoryViolation:
        loaded = None
    held = min(size, model.held(base + offset))
    readable = held == size or (held and size > 8 and size - held < PADDING)
    behind = bytes(size - held)
    assert loaded == (model.load(base + offset, held) + behind if readable else None)

    data = np.full(size, 255, np.uint8)
    try:
        memory.store_block(base + offset, data)
    except MemoryViolation:
        stored = False
    else:
        stored = True
        model.store(base + offset, data.tobytes())
    assert stored == model.holds(base + offset, size, to_write=True)
    assert arena.tolist() == list(model.bytes_at.values())
