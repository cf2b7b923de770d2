"""Sizes of launches (visim.runtime.payload.geometry)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.errors import ArgumentError
from visim.runtime.payload.geometry import (
    NDRange,
    Sizes,
    Walk,
    bare_geometry,
    local_ids,
    nd_range,
    thread_groups,
    thread_masks,
    thread_space,
    triple,
)
from visim.target import platform


class TestSizes:
    def test_missing_dimensions_are_one(self):
        assert triple(5, "s") == ((5, 1, 1), 1)
        assert triple((5, 6), "s") == ((5, 6, 1), 2)
        assert triple([np.int32(5), 6, 7], "s") == ((5, 6, 7), 3)

    @pytest.mark.parametrize("value", [0, -1, (4, 0), 1 << 32, (), (1, 2, 3, 4), 2.0, True, "8"])
    def test_other_values_are_refused_by_name(self, value):
        with pytest.raises(ArgumentError, match="global_size"):
            triple(value, "global_size")

    def test_missing_dimensions_of_an_offset_are_zero(self):
        found = nd_range(Sizes(global_size=(4, 4), global_offset=3), None)
        assert found.global_offset == (3, 0, 0)


class TestNDRange:
    def test_global_size_is_required(self):
        with pytest.raises(ArgumentError, match="global_size"):
            nd_range(Sizes(local_size=8), None)

    @pytest.mark.parametrize("name", ["thread_groups", "group_size", "thread_space"])
    def test_geometries_do_not_mix(self, name):
        with pytest.raises(ArgumentError, match=name):
            nd_range(Sizes(global_size=8, **{name: 2}), None)

    def test_dependencies_need_a_thread_space(self):
        with pytest.raises(ArgumentError, match="dependency"):
            nd_range(Sizes(global_size=8, dependency="wavefront"), None)

    @pytest.mark.parametrize(
        ("size", "chosen"), [(1024, 256), (1000, 250), (257, 1), (7, 7), (512, 256), (514, 2)]
    )
    def test_chosen_size_is_the_largest_divisor_up_to_256(self, size, chosen):
        found = nd_range(Sizes(global_size=(size, 3)), None)
        assert found.local_size == (chosen, 1, 1)
        assert found.is_local_size_chosen

    def test_a_required_size_is_taken_and_no_choice(self):
        found = nd_range(Sizes(global_size=(32, 4)), (16, 2, 1))
        assert found.local_size == (16, 2, 1)
        assert not found.is_local_size_chosen

    def test_another_size_than_the_required_one_is_refused(self):
        with pytest.raises(ArgumentError, match="local_size"):
            nd_range(Sizes(global_size=32, local_size=8), (16, 1, 1))

    def test_a_required_size_divides_the_global_size(self):
        with pytest.raises(ArgumentError, match="global_size"):
            nd_range(Sizes(global_size=20), (16, 1, 1))

    def test_a_group_has_at_most_1024_work_items(self):
        nd_range(Sizes(global_size=2048, local_size=(32, 32)), None)
        with pytest.raises(ArgumentError, match="local_size"):
            nd_range(Sizes(global_size=2048, local_size=(32, 33)), None)

    def test_edges_that_are_left_over_are_walks_of_their_own(self):
        found = NDRange((20, 30, 1), (8, 4, 1), (0, 0, 0), 2)
        assert found.group_count == (3, 8, 1)
        assert found.walks == (
            Walk((0, 0, 0), (2, 7, 1), (8, 4, 1)),
            Walk((2, 0, 0), (1, 7, 1), (4, 4, 1)),
            Walk((0, 7, 0), (2, 1, 1), (8, 2, 1)),
            Walk((2, 7, 0), (1, 1, 1), (4, 2, 1)),
        )

    @given(st.tuples(*[st.integers(1, 12)] * 3), st.tuples(*[st.integers(1, 9)] * 3))
    def test_walks_cover_every_work_item_once(self, extent, local):
        seen = set()
        for walk in NDRange(extent, local, (0, 0, 0), 3).walks:
            for number in range(walk.group_count):
                group = walk.group_id(number)
                for item in np.ndindex(*walk.local_size):
                    place = tuple(g * s + i for g, s, i in zip(group, local, item, strict=True))
                    assert place not in seen
                    seen.add(place)
        assert seen == set(np.ndindex(*extent))


class TestThreadGroups:
    def test_default_is_one_thread(self):
        found = thread_groups(Sizes())
        assert (found.thread_groups, found.group_size) == ((1, 1, 1), (1, 1, 1))

    @pytest.mark.parametrize("name", ["global_size", "local_size", "global_offset"])
    def test_geometries_do_not_mix(self, name):
        with pytest.raises(ArgumentError, match=name):
            thread_groups(Sizes(**{name: 1}))

    def test_a_thread_space_has_two_sides_and_a_limit(self):
        skl, icllp = platform("skl"), platform("icllp")
        found = thread_space(Sizes(thread_space=(8, 3)), skl)
        assert (found.thread_groups, found.group_size) == ((8, 3, 1), (1, 1, 1))
        assert thread_space(Sizes(thread_space=5), skl).thread_groups == (5, 1, 1)
        assert thread_space(Sizes(thread_space=(2048, 1)), skl).width == 2048
        assert thread_space(Sizes(thread_space=(1, 4096)), icllp).height == 4096
        for size, device in (((8, 0), skl), ((2, 2, 2), skl), ((2049, 1), skl), ((1, 4097), icllp)):
            with pytest.raises(ArgumentError, match="thread_space"):
                thread_space(Sizes(thread_space=size), device)

    def test_a_launch_has_one_geometry(self):
        with pytest.raises(ArgumentError, match="group_size"):
            bare_geometry(Sizes(thread_space=(8, 8), group_size=2), platform("skl"))
        with pytest.raises(ArgumentError, match="global_size"):
            bare_geometry(Sizes(thread_space=(8, 8), global_size=2), platform("skl"))
        assert bare_geometry(Sizes(), platform("skl")).threads == 1

    def test_a_group_has_at_most_256_threads(self):
        assert thread_groups(Sizes(group_size=(16, 16))).threads == 256
        with pytest.raises(ArgumentError, match="group_size"):
            thread_groups(Sizes(group_size=(16, 16, 2)))


class TestLocalIds:
    def test_items_run_along_x_first(self):
        ids = local_ids((4, 3, 2), 8, (0, 1, 2))
        assert ids.shape == (3, 3, 8)
        assert ids[0, 0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
        assert ids[1, 1].tolist() == [2, 2, 2, 2, 0, 0, 0, 0]
        assert ids[2, 2].tolist() == [1] * 8

    def test_another_order_is_followed(self):
        ids = local_ids((4, 3, 2), 8, (2, 0, 1))
        assert ids[0, 2].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
        assert ids[0, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        assert ids[1, 1].tolist() == [0] * 0 + [1] * 8

    @given(
        st.tuples(*[st.integers(1, 10)] * 3),
        st.sampled_from([8, 16, 32]),
        st.permutations([0, 1, 2]),
    )
    def test_channels_that_are_on_have_every_id_once(self, size, simd, order):
        ids = local_ids(size, simd, tuple(order))
        masks = thread_masks(math.prod(size), simd)
        found = [
            tuple(int(n) for n in ids[thread, :, channel])
            for thread, mask in enumerate(masks)
            for channel in range(simd)
            if mask >> channel & 1
        ]
        assert sorted(found) == sorted(np.ndindex(*size))

    def test_only_the_last_thread_is_partial(self):
        assert thread_masks(40, 16) == [0xFFFF, 0xFFFF, 0xFF]
        assert thread_masks(32, 16) == [0xFFFF, 0xFFFF]
        assert thread_masks(1, 32) == [1]
