"""Buffers share their memory with their parts and views; local memory has a size only."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from visim.errors import ArgumentError
from visim.machine import Memory
from visim.runtime.arguments.buffers import Buffer, Local


class TestBuffer:
    @pytest.mark.parametrize("size", [1, 100, 4096, 1 << 20])
    def test_begins_at_a_multiple_of_128(self, size: int):
        buffer = Buffer(size)
        assert len(buffer) == size
        assert buffer.address % 128 == 0

    def test_is_zeroed_memory_of_its_size(self):
        buffer = Buffer(12)
        assert len(buffer) == 12
        assert buffer.array(np.float32).tolist() == [0, 0, 0]
        assert repr(buffer) == "Buffer(12)"

    def test_arrays_are_views(self):
        buffer = Buffer(8)
        buffer.array(np.uint32)[1] = 0x01020304
        assert buffer.array("u1").tolist() == [0, 0, 0, 0, 4, 3, 2, 1]

    def test_a_sub_buffer_shares_memory_and_lies_inside(self):
        buffer = Buffer(16)
        part = buffer[4:12]
        part.array(np.uint32)[:] = 7
        assert buffer.array(np.uint32).tolist() == [0, 7, 7, 0]
        assert part.address == buffer.address + 4
        assert len(part[2:]) == 6
        assert part[2:].address == buffer.address + 6

    @pytest.mark.parametrize(
        ("part", "size"), [(slice(None), 16), (slice(-4, None), 4), (slice(3, 3), 0)]
    )
    def test_parts_are_written_as_for_sequences(self, part, size):
        assert len(Buffer(16)[part]) == size

    @pytest.mark.parametrize(
        "part",
        [slice(0, 17), slice(17, 18), slice(8, 4), slice(-17, 4), slice(0, 8, 2), 3, slice(0.5, 2)],
    )
    def test_a_part_that_does_not_lie_inside_is_refused(self, part):
        with pytest.raises(ArgumentError, match="Buffer: "):
            Buffer(16)[part]

    @pytest.mark.parametrize("size", [-1, 2.5, "8", None])
    def test_a_size_that_is_none_is_refused(self, size):
        with pytest.raises(ArgumentError, match="Buffer: "):
            Buffer(size)

    def test_a_type_has_to_fit_the_size(self):
        with pytest.raises(ArgumentError, match="10 bytes are not a whole number of float32"):
            Buffer(10).array(np.float32)
        with pytest.raises(ArgumentError, match="object"):
            Buffer(8).array(object)

    def test_may_be_empty(self):
        assert Buffer(0).array(np.float64).size == 0

    def test_is_memory_for_kernels(self):
        buffer = Buffer(8)
        memory = Memory()
        assert memory.add(buffer, "b") == buffer.address
        memory.store_block(buffer.address + 7, np.array([3], np.uint8))
        assert buffer.array(np.uint8)[7] == 3


class TestLocal:
    def test_is_a_size(self):
        assert Local(64).nbytes == 64
        assert Local(64) == Local(64)
        with pytest.raises(dataclasses.FrozenInstanceError):
            Local(64).nbytes = 5

    @pytest.mark.parametrize("size", [0, -4, 1.5])
    def test_has_a_positive_whole_size(self, size):
        with pytest.raises(ArgumentError, match="Local: "):
            Local(size)
