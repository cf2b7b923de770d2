"""Binding table surfaces drop what is out of range; SLM and scratch refuse it."""

from __future__ import annotations

import numpy as np
import pytest

from visim.errors import ArgumentError
from visim.machine import AtomicOp, MemoryViolation, Scratch, SharedLocalMemory, Surfaces
from visim.machine.bounds import Bounds
from visim.runtime.arguments.buffers import Buffer

U4 = np.dtype(np.uint32)


def offsets(*values):
    return np.array(values, np.uint32)


@pytest.fixture
def surfaces():
    return Surfaces()


class TestSurfaces:
    def test_offsets_count_from_the_array_in_place(self, surfaces):
        array = np.arange(4, dtype=np.uint32)
        surfaces.bind(3, array, "x")
        assert surfaces.load(3, offsets(4, 12), None, U4).tolist() == [1, 3]
        surfaces.store(3, offsets(0), None, np.array([9], np.uint32))
        assert array[0] == 9

    def test_reads_out_of_range_give_zero_and_are_counted(self, surfaces):
        surfaces.bind(3, np.array([1, 2], np.uint32), "x")
        loaded = surfaces.load(3, offsets(4, 8, 0xFFFFFFFF, 0), None, U4)
        assert loaded.tolist() == [2, 0, 0, 1]
        assert (surfaces.dropped_reads, surfaces.dropped_writes) == (2, 0)

    def test_writes_out_of_range_are_dropped_and_counted(self, surfaces):
        array = np.zeros(2, np.uint32)
        surfaces.bind(3, array, "x")
        surfaces.store(3, offsets(4, 8, 0xFFFFFFFC), None, np.array([1, 2, 3], np.uint32))
        assert array.tolist() == [0, 1]
        assert (surfaces.dropped_reads, surfaces.dropped_writes) == (0, 2)

    def test_of_an_element_across_the_end_the_bytes_in_range_count(self, surfaces):
        array = np.full(6, 0xAA, np.uint8)
        surfaces.bind(3, array, "x")
        assert surfaces.load(3, offsets(4), None, U4).tolist() == [0x0000AAAA]
        surfaces.store(3, offsets(4), None, np.array([0x11223344], np.uint32))
        assert array.tolist() == [0xAA, 0xAA, 0xAA, 0xAA, 0x44, 0x33]
        assert (surfaces.dropped_reads, surfaces.dropped_writes) == (1, 1)

    def test_components_in_range_are_kept(self, surfaces):
        surfaces.bind(3, np.array([1, 2, 3], np.uint32), "x")
        assert surfaces.load(3, offsets(4), None, U4, 4).tolist() == [[2, 3, 0, 0]]
        assert surfaces.dropped_reads == 1

    def test_an_atomic_not_entirely_in_range_does_nothing(self, surfaces):
        array = np.zeros(10, np.uint8)
        surfaces.bind(3, array, "x")
        returned = surfaces.atomic(3, AtomicOp.INC, offsets(4, 8, 4, 400), None, U4)
        assert returned.tolist() == [0, 0, 1, 0]
        assert array.tolist() == [0, 0, 0, 0, 2, 0, 0, 0, 0, 0]
        assert surfaces.dropped_writes == 2

    def test_blocks_are_cut_at_the_end(self, surfaces):
        array = np.arange(6, dtype=np.uint8)
        surfaces.bind(3, array, "x")
        assert surfaces.load_block(3, 0, 4).tolist() == [0, 1, 2, 3]
        assert surfaces.load_block(3, 4, 4).tolist() == [4, 5, 0, 0]
        surfaces.store_block(3, 4, np.array([9, 9, 9], np.uint8))
        surfaces.store_block(3, 0, np.array([8], np.uint8))
        assert array.tolist() == [8, 1, 2, 3, 9, 9]
        assert (surfaces.dropped_reads, surfaces.dropped_writes) == (1, 1)

    def test_an_empty_surface_is_out_of_range_everywhere(self, surfaces):
        surfaces.bind(0, np.zeros(0), "x")
        assert surfaces.load(0, offsets(0), None, U4).tolist() == [0]
        assert surfaces.load_block(0, 0, 2).tolist() == [0, 0]
        assert surfaces.dropped_reads == 2

    def test_a_store_to_a_read_only_array_is_a_violation(self, surfaces):
        array = np.zeros(2, np.uint32)
        array.setflags(write=False)
        surfaces.bind(3, array, "x")
        with pytest.raises(MemoryViolation) as caught:
            surfaces.store(3, offsets(4), None, np.zeros(1, np.uint32))
        assert (caught.value.space, caught.value.reason) == ("surface", "read-only")
        assert (caught.value.address, caught.value.nearest) == (4, "x")

    def test_one_array_may_be_bound_twice(self, surfaces):
        array = np.zeros(2, np.uint32)
        surfaces.bind(0, array, "x")
        surfaces.bind(255, array, "x")
        surfaces.store(0, offsets(4), None, np.array([7], np.uint32))
        assert surfaces.load(255, offsets(4), None, U4).tolist() == [7]

    def test_binding_again_replaces_the_surface_and_keeps_the_counts(self, surfaces):
        surfaces.bind(1, np.zeros(1, np.uint32), "x")
        surfaces.load(1, offsets(4), None, U4)
        surfaces.bind(1, np.ones(2, np.uint32), "y")
        assert surfaces.load(1, offsets(4), None, U4).tolist() == [1]
        assert surfaces.dropped_reads == 1

    def test_a_buffer_can_be_bound(self, surfaces):
        buffer = Buffer(16)
        surfaces.bind(1, buffer[4:8], "b")
        surfaces.store(1, offsets(0), None, np.array([7], np.uint32))
        assert buffer.array(np.uint32).tolist() == [0, 7, 0, 0]

    @pytest.mark.parametrize("index", [-1, 256])
    def test_the_binding_table_has_256_entries(self, surfaces, index):
        with pytest.raises(ArgumentError, match=f"x: binding table index {index}"):
            surfaces.bind(index, np.zeros(1), "x")

    def test_a_two_dimensional_array_has_rows(self, surfaces):
        surface = surfaces.bind(1, np.zeros((3, 5), np.uint16), "picture")
        assert (surface.width, surface.height, surface.size) == (10, 3, 30)
        assert surfaces[1] is surface
        assert surfaces.bind(2, np.zeros(5), "line").width is None
        assert 2 in surfaces
        assert 3 not in surfaces


class TestUnboundIndices:
    @pytest.mark.parametrize(
        ("kind", "access"),
        [
            ("load", lambda s, o, m: s.load(9, o, m, U4)),
            ("store", lambda s, o, m: s.store(9, o, m, np.zeros(3, np.uint32))),
            ("atomic", lambda s, o, m: s.atomic(9, AtomicOp.INC, o, m, U4)),
        ],
    )
    def test_an_access_is_a_violation_where_a_channel_is_active(self, surfaces, kind, access):
        with pytest.raises(MemoryViolation) as caught:
            access(surfaces, offsets(4, 8, 12), np.array([0, 1, 1], np.bool_))
        violation = caught.value
        assert violation.reason == "unbound binding table index 9"
        assert (violation.space, violation.kind, violation.size) == ("surface", kind, 4)
        assert (violation.address, violation.channel) == (8, 1)
        assert (violation.nearest, violation.distance) == (None, None)
        access(surfaces, offsets(4, 8, 12), np.zeros(3, np.bool_))

    def test_a_block_is_a_violation(self, surfaces):
        with pytest.raises(MemoryViolation, match="unbound binding table index 9"):
            surfaces.load_block(9, 0, 4)
        with pytest.raises(MemoryViolation, match="unbound binding table index 9"):
            surfaces.store_block(9, 0, np.zeros(4, np.uint8))


class TestOwnedMemory:
    def test_shared_local_memory_is_zero_after_a_reset(self):
        slm = SharedLocalMemory(64)
        slm.store(offsets(0, 60), None, np.array([1, 2], np.uint32))
        assert slm.load(offsets(0, 60), None, U4).tolist() == [1, 2]
        slm.reset()
        assert not slm.load_block(0, 64).any()

    @pytest.mark.parametrize(
        ("space", "name"), [(SharedLocalMemory(64), "SLM"), (Scratch(64), "scratch")]
    )
    def test_out_of_range_is_a_violation(self, space, name):
        with pytest.raises(MemoryViolation) as caught:
            space.load(offsets(0, 62), None, U4)
        assert (caught.value.space, caught.value.reason) == (name, "out of range")
        assert (caught.value.address, caught.value.distance) == (62, 0)
        with pytest.raises(MemoryViolation):
            space.store(offsets(64), None, np.zeros(1, np.uint8))
        with pytest.raises(MemoryViolation):
            space.atomic(AtomicOp.INC, offsets(64), None, U4)

    def test_offset_zero_is_no_null_pointer(self):
        assert SharedLocalMemory(4).load(offsets(0), None, U4).tolist() == [0]

    def test_scratch_may_begin_at_an_offset(self):
        scratch = Scratch(64, base=1024)
        scratch.store(offsets(1024), None, np.array([5], np.uint32))
        assert scratch.load(offsets(1024), None, U4).tolist() == [5]
        with pytest.raises(MemoryViolation) as caught:
            scratch.load(offsets(1020), None, U4)
        assert caught.value.distance == -4

    def test_no_shared_local_memory_is_all_out_of_range(self):
        with pytest.raises(MemoryViolation):
            SharedLocalMemory(0).load(offsets(0), None, U4)


class TestSurfacesThatFault:
    @pytest.fixture
    def bounded(self):
        surfaces = Surfaces(Bounds.FAULT)
        surfaces.bind(3, np.arange(2, dtype=np.uint32), "x")
        return surfaces

    @pytest.mark.parametrize(
        ("offset", "distance"), [(8, 0), (20, 12), (0xFFFFFFFC, -4), (0x80000000, -0x80000000)]
    )
    def test_loads_are_refused_with_the_way_to_the_surface(self, bounded, offset, distance):
        with pytest.raises(MemoryViolation) as caught:
            bounded.load(3, offsets(0, offset), None, U4)
        assert (caught.value.channel, caught.value.nearest) == (1, "x")
        assert caught.value.distance == distance

    def test_stores_and_atomics_are_refused_and_change_nothing(self, bounded):
        with pytest.raises(MemoryViolation):
            bounded.store(3, offsets(0, 8), None, np.array([7, 7], np.uint32))
        with pytest.raises(MemoryViolation):
            bounded.atomic(3, AtomicOp.INC, offsets(0, 8), None, U4)
        assert bounded.load(3, offsets(0, 4), None, U4).tolist() == [0, 1]
        assert bounded.dropped == 0

    def test_blocks_may_end_a_little_behind(self, bounded):
        assert bounded.load_block(3, 4, 16).view(np.uint32).tolist() == [1, 0, 0, 0]
        for offset, nbytes in ((8, 16), (4, 8), (0, 128)):
            with pytest.raises(MemoryViolation):
                bounded.load_block(3, offset, nbytes)
