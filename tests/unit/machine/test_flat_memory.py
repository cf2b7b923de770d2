"""Flat memory: the caller's arrays in place, every access checked."""

from __future__ import annotations

import numpy as np
import pytest

from visim.errors import ArgumentError
from visim.machine import Memory, MemoryViolation
from visim.machine.allocations import PADDING, aligned_zeros

F4 = np.dtype(np.float32)
U1 = np.dtype(np.uint8)
U4 = np.dtype(np.uint32)


def at(base, *offsets):
    return np.array([base + offset for offset in offsets], np.uint64)


def lanes(*bits):
    return np.array(bits, np.bool_)


@pytest.fixture
def memory():
    return Memory()


class TestAllocations:
    def test_an_array_is_at_its_own_address_and_is_not_copied(self, memory):
        array = np.arange(8, dtype=np.float32)
        base = memory.add(array, "x")
        assert base == array.ctypes.data
        memory.store(at(base, 4), None, np.array([9], np.float32))
        assert array[1] == 9
        array[2] = 7
        assert memory.load(at(base, 8), None, F4)[0] == 7

    def test_what_becomes_of_the_callers_array_object_is_the_callers(self, memory):
        array = np.zeros(8, np.uint8)
        base = memory.add(array, "x")
        array.shape = 2, 4
        array.flags.writeable = False
        memory.store(at(base, 4), None, np.array([9], np.uint8))
        assert array.tolist() == [[0] * 4, [9, 0, 0, 0]]

    def test_memory_keeps_the_array_alive(self, memory):
        base = memory.add(np.full(1000, 5, np.uint32), "x")
        assert memory.load(at(base, 0, 3996), None, U4).tolist() == [5, 5]

    @pytest.mark.parametrize(
        "array",
        [np.zeros((3, 4)), np.array(1.5), np.zeros(2, "V12"), np.zeros((2, 2), ">i4")],
        ids=["2d", "0d", "void", "big-endian"],
    )
    def test_any_contiguous_array_is_memory(self, memory, array):
        base = memory.add(array, "x")
        data = np.arange(array.nbytes, dtype=np.uint8)
        memory.store_block(base, data)
        assert array.tobytes() == data.tobytes()

    @pytest.mark.parametrize(
        "array", [np.zeros((4, 4)).T, np.zeros(8)[::2], np.zeros((2, 4), order="F")]
    )
    def test_an_array_that_is_not_contiguous_is_refused(self, memory, array):
        with pytest.raises(ArgumentError, match=r"weights: .*not C-contiguous"):
            memory.add(array, "weights")

    def test_an_array_of_objects_is_refused(self, memory):
        with pytest.raises(ArgumentError, match=r"x: .*objects"):
            memory.add(np.array([None, "a"], dtype=object), "x")

    def test_an_empty_array_has_an_address_that_nothing_may_be_read_from(self, memory):
        base = memory.add(np.zeros((0, 3), np.float32), "nothing")
        assert base != 0
        with pytest.raises(MemoryViolation) as caught:
            memory.load(at(base, 0), None, F4)
        assert (caught.value.nearest, caught.value.distance) == ("nothing", 0)

    def test_an_array_may_be_added_twice(self, memory):
        array = np.zeros(4, np.uint32)
        assert memory.add(array, "x") == memory.add(array, "y")
        memory.store(at(array.ctypes.data, 0), None, np.array([3], np.uint32))
        assert array[0] == 3
        assert [one.name for one in memory.allocations] == ["x", "y"]

    @pytest.mark.parametrize("alignment", [1, 64, 4096])
    def test_memory_of_visims_own_is_zeroed_and_aligned(self, memory, alignment):
        base = memory.add(aligned_zeros(100, alignment), "stack")
        assert base % alignment == 0
        assert not memory.load_block(base, 100).any()
        memory.store_block(base, np.full(100, 7, np.uint8))
        with pytest.raises(MemoryViolation):
            memory.load_block(base, 100 + PADDING)


class TestBlocksThatEndBehindAnArray:
    """Compilers load more than a program wants, as far as drivers pad what they allocate."""

    @pytest.mark.parametrize(("offset", "size"), [(4, 16), (8, 12), (12, 16), (0, 15 + PADDING)])
    def test_zeros_are_behind_the_end(self, memory, offset, size):
        data = np.arange(1, 17, dtype=np.uint8)
        base = memory.add(data, "x")
        block = memory.load_block(base + offset, size)
        held = min(size, 16 - offset)
        assert block[:held].tolist() == data[offset : offset + held].tolist()
        assert not block[held:].any()

    @pytest.mark.parametrize(
        ("offset", "size"), [(16, 16), (-4, 16), (12, 8), (0, 16 + PADDING), (8, 8 + PADDING)]
    )
    def test_a_block_begins_inside_is_no_element_and_does_not_go_far(self, memory, offset, size):
        base = memory.add(np.zeros(16, np.uint8), "x")
        with pytest.raises(MemoryViolation):
            memory.load_block(base + offset, size)

    def test_stores_are_refused(self, memory):
        base = memory.add(np.zeros(12, np.uint8), "x")
        with pytest.raises(MemoryViolation):
            memory.store_block(base, np.zeros(16, np.uint8))


class TestLoads:
    def test_inactive_channels_give_zero_and_are_not_checked(self, memory):
        base = memory.add(np.array([1, 2, 3, 4], np.uint32), "x")
        addresses = np.array([0, base + 4, 2**64 - 1, base + 12], np.uint64)
        loaded = memory.load(addresses, lanes(0, 1, 0, 1), U4)
        assert loaded.tolist() == [0, 2, 0, 4]

    def test_no_active_channel_gives_zeros(self, memory):
        addresses = np.zeros(3, np.uint64)
        assert memory.load(addresses, lanes(0, 0, 0), F4, 2).tolist() == [[0, 0]] * 3
        assert memory.load(np.zeros(0, np.uint64), None, F4).shape == (0,)
        memory.store(addresses, lanes(0, 0, 0), np.zeros(3, np.float32))

    @pytest.mark.parametrize("mask", [None, lanes(1, 1), lanes(1, 0)])
    def test_components_are_consecutive_elements(self, memory, mask):
        base = memory.add(np.arange(8, dtype=np.uint32), "x")
        loaded = memory.load(at(base, 4, 16), mask, U4, 3)
        assert loaded[0].tolist() == [1, 2, 3]
        assert loaded[1].tolist() == ([0, 0, 0] if mask is not None and not mask[1] else [4, 5, 6])

    def test_addresses_need_no_alignment(self, memory):
        base = memory.add(np.arange(16, dtype=np.uint8), "x")
        assert memory.load(at(base, 1, 6), None, U4).tolist() == [0x04030201, 0x09080706]

    def test_bits_of_floats_are_kept(self, memory):
        signalling = np.array([0x7F800001, 0xFF800123], np.uint32)
        base = memory.add(signalling, "x")
        loaded = memory.load(at(base, 0, 4), None, F4)
        assert loaded.view(np.uint32).tolist() == signalling.tolist()
        memory.store(at(base, 4, 0), None, loaded)
        assert signalling.tolist() == [0xFF800123, 0x7F800001]

    def test_channels_may_reach_different_arrays(self, memory):
        x = memory.add(np.array([1, 2], np.uint32), "x")
        y = memory.add(np.array([3, 4], np.uint32), "y")
        addresses = np.array([x, y + 4, x + 4, y], np.uint64)
        assert memory.load(addresses, None, U4).tolist() == [1, 4, 2, 3]

    def test_narrow_addresses_are_widened(self, memory):
        with pytest.raises(MemoryViolation, match="0xffffffff"):
            memory.load(np.array([2**32 - 1], np.uint32), None, U4)


class TestStores:
    def test_of_colliding_channels_the_highest_wins(self, memory):
        array = np.zeros(2, np.uint32)
        base = memory.add(array, "x")
        memory.store(at(base, 0, 0, 4, 0, 4), None, np.array([1, 2, 3, 4, 5], np.uint32))
        assert array.tolist() == [4, 5]

    def test_channels_collide_in_order_even_where_only_some_components_do(self, memory):
        array = np.zeros(4, np.uint32)
        base = memory.add(array, "x")
        values = np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], np.uint32))
        memory.store(at(base, 4, 0), None, values, 3)
        assert array.tolist() == [4, 5, 6, 3]

    def test_channels_collide_in_order_across_overlapping_arrays(self, memory):
        array = np.zeros(16, np.uint8)
        base = memory.add(array[:12], "x")
        memory.add(array[4:], "y")
        memory.store(at(base, 6, 2, 10), None, np.array([1, 2, 3], np.uint32) * 0x01010101)
        assert array.tolist() == [0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3, 0, 0]

    def test_inactive_channels_write_nothing(self, memory):
        array = np.zeros(2, np.uint32)
        base = memory.add(array, "x")
        memory.store(
            np.array([base, 0, base], np.uint64), lanes(1, 0, 0), np.array([1, 2, 3], np.uint32)
        )
        assert array.tolist() == [1, 0]

    @pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
    def test_a_refused_store_writes_nothing_at_all(self, memory, order):
        array = np.zeros(4, np.uint32)
        base = memory.add(array, "x")
        addresses = at(base, 0, 4, 8, 16)[order]
        with pytest.raises(MemoryViolation):
            memory.store(addresses, None, np.ones(4, np.uint32))
        assert not array.any()

    def test_vectors_with_a_negative_stride_are_stored_in_channel_order(self, memory):
        array = np.zeros(2, np.uint32)
        base = memory.add(array, "x")
        addresses = at(base, 4, 0, 0)[::-1]
        memory.store(addresses, None, np.array([3, 2, 1], np.uint32)[::-1])
        assert array.tolist() == [2, 3]


class TestReadOnly:
    @pytest.fixture
    def frozen(self):
        array = np.arange(8, dtype=np.uint32)
        array.setflags(write=False)
        return array

    def test_a_read_only_array_can_be_read_but_not_written(self, memory, frozen):
        base = memory.add(frozen, "table")
        assert memory.load(at(base, 8), None, U4)[0] == 2
        with pytest.raises(MemoryViolation) as caught:
            memory.store(at(base, 8), None, np.zeros(1, np.uint32))
        assert (caught.value.reason, caught.value.nearest) == ("read-only", "table")
        assert (caught.value.kind, caught.value.distance) == ("store", 0)

    def test_a_writable_array_over_the_same_bytes_allows_the_store(self, memory):
        array = np.zeros(8, np.uint32)
        view = array[:]
        view.setflags(write=False)
        base = memory.add(view, "in")
        memory.add(array[2:4], "out")
        memory.store(at(base, 8, 12), None, np.array([1, 2], np.uint32))
        assert array.tolist() == [0, 0, 1, 2, 0, 0, 0, 0]
        with pytest.raises(MemoryViolation, match="read-only"):
            memory.store(at(base, 14), None, np.zeros(1, np.uint32))

    def test_a_block_store_is_refused_as_well(self, memory, frozen):
        base = memory.add(frozen, "table")
        with pytest.raises(MemoryViolation, match="read-only"):
            memory.store_block(base, np.zeros(4, np.uint8))


class TestViolations:
    def refusal(self, memory, address, size=4, others=()):
        addresses = np.array([*others, address], np.uint64)
        with pytest.raises(MemoryViolation) as caught:
            memory.load(addresses, None, U1, size)
        return caught.value

    def test_say_who_wanted_what_and_where(self, memory):
        base = memory.add(np.zeros(4, np.uint32), "x")
        addresses = np.array([base, base + 24, base + 12, base + 20], np.uint64)
        with pytest.raises(MemoryViolation) as caught:
            memory.load(addresses, lanes(1, 0, 1, 1), U4)
        violation = caught.value
        assert (violation.space, violation.kind) == ("flat", "load")
        assert (violation.address, violation.size) == (base + 20, 4)
        assert (violation.channel, violation.reason) == (3, "out of range")
        assert (violation.nearest, violation.distance) == ("x", 4)
        assert str(violation) == (
            f"flat load of 4 bytes at 0x{base + 20:x} by channel 3: "
            "out of range (4 bytes past the end of 'x')"
        )

    @pytest.mark.parametrize(
        ("offset", "distance"), [(-12, -12), (-2, -2), (14, 0), (16, 0), (17, 1)]
    )
    def test_measure_the_distance_from_the_nearest_array(self, memory, offset, distance):
        base = memory.add(np.zeros(16, np.uint8), "x")
        violation = self.refusal(memory, base + offset)
        assert violation.address == base + offset
        assert (violation.nearest, violation.distance) == ("x", distance)

    def test_an_access_across_two_neighbouring_arrays_is_out_of_range(self, memory):
        array = np.zeros(32, np.uint8)
        base = memory.add(array[:16], "left")
        memory.add(array[16:], "right")
        violation = self.refusal(memory, base + 14)
        assert (violation.reason, violation.nearest, violation.distance) == (
            "out of range",
            "left",
            0,
        )
        assert memory.load(at(base, 12, 16), None, U4).tolist() == [0, 0]

    @pytest.mark.parametrize("address", [2**64 - 1, 2**64 - 4, 2**63, 2**48])
    @pytest.mark.parametrize("size", [1, 4, 64])
    def test_addresses_do_not_wrap_around(self, memory, address, size):
        base = memory.add(np.zeros(64, np.uint8), "x")
        assert self.refusal(memory, address, size).reason == "out of range"
        assert self.refusal(memory, address, size, [base]).channel == 1

    def test_the_byte_before_an_array_is_not_its_last(self, memory):
        array = np.zeros(64, np.uint8)
        base = memory.add(array[8:], "x")
        assert self.refusal(memory, base - 1, 1, [base]).distance == -1

    @pytest.mark.parametrize("address", [0, 8, 4095])
    def test_the_null_page_has_its_own_reason(self, memory, address):
        memory.add(np.zeros(4), "x")
        violation = self.refusal(memory, address)
        assert violation.reason == "null pointer"
        assert (violation.nearest, violation.distance) == (None, None)
        assert str(violation).endswith("null pointer")

    def test_without_any_array_there_is_no_nearest(self, memory):
        violation = self.refusal(memory, 2**40)
        assert (violation.nearest, violation.distance) == (None, None)

    def test_leave_the_memory_usable(self, memory):
        base = memory.add(np.array([5], np.uint32), "x")
        self.refusal(memory, base + 4)
        assert memory.load(at(base, 0), None, U4).tolist() == [5]


class TestBlocks:
    def test_a_loaded_block_is_a_copy(self, memory):
        array = np.arange(8, dtype=np.uint8)
        block = memory.load_block(memory.add(array, "x") + 2, 3)
        block[:] = 0
        assert array.tolist() == list(range(8))

    def test_a_block_is_within_one_array_or_refused_whole(self, memory):
        array = np.zeros(16, np.uint8)
        base = memory.add(array[:8], "x")
        with pytest.raises(MemoryViolation) as caught:
            memory.store_block(base + 4, np.ones(8, np.uint8))
        assert not array.any()
        assert (caught.value.size, caught.value.channel, caught.value.distance) == (8, 0, 0)

    def test_a_block_of_no_bytes_touches_nothing(self, memory):
        assert memory.load_block(0, 0).shape == (0,)
        memory.store_block(0, np.zeros(0, np.uint8))
