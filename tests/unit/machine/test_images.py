"""Images are read and written in place by integer coordinates, and as blocks of bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model import images as model
from visim.errors import ArgumentError
from visim.machine import MemoryViolation, Surfaces
from visim.machine.dropped import Dropped
from visim.machine.formats import texel_format
from visim.machine.images import ImageInfo, ImageKind, ImageMemory
from visim.machine.sampling import SamplerState
from visim.sem.requests import (
    BlockLoad,
    Detail,
    Outside,
    Sampling,
    SizeQuery,
    TexelLoad,
    TexelStore,
)

ONE = 0x3F800000
TEXEL = TexelLoad(("u", "v"), Outside.BORDER)
RED = TexelStore(("u", "v", "R"))
SHAPES = {
    ImageKind.IMAGE_1D: (7,),
    ImageKind.BUFFER_1D: (7,),
    ImageKind.ARRAY_1D: (3, 5),
    ImageKind.IMAGE_2D: (4, 5),
    ImageKind.ARRAY_2D: (3, 4, 5),
    ImageKind.IMAGE_3D: (3, 2, 5),
}
"""The slowest axis first."""


def memory(array, name, kind=ImageKind.IMAGE_2D):
    return ImageMemory(array, tuple(reversed(array.shape[: kind.axes])), kind, texel_format(name))


def axis(*values):
    return np.array(values, np.int64).astype(np.uint32)


def counting(array, name, kind=ImageKind.IMAGE_2D):
    dropped = Dropped()
    return memory(array, name, kind).surface("picture", dropped), dropped


class TestLoad:
    @pytest.mark.parametrize("kind", SHAPES)
    def test_every_texel_of_every_kind(self, kind):
        shape = SHAPES[kind]
        rng = np.random.default_rng(3)
        texels = rng.integers(0, 255, (*shape, 4), np.uint8)
        image = memory(texels, "rgba:unorm8", kind).surface("picture")
        grid = np.indices(shape).reshape(len(shape), -1)[::-1].astype(np.uint32)
        want = [
            model.bits("rgba:unorm8", model.read_texel("rgba:unorm8", texel))
            for texel in texels.reshape(-1, 4)
        ]
        assert image.load(list(grid)).tolist() == want

    def test_coordinates_that_a_kind_does_not_have_are_ignored(self):
        image, dropped = counting(np.arange(4, dtype=np.uint8), "r:uint8", ImageKind.IMAGE_1D)
        assert image.load([axis(2), axis(9), axis(9)]).tolist() == [[2, 0, 0, 1]]
        assert dropped.reads == 0

    def test_out_of_range_is_the_border_and_counted(self):
        array = np.full((2, 3), 7, np.uint16)
        image, dropped = counting(array, "r:uint16")
        found = image.load([axis(3, -1, 0, 0, 2), axis(0, 0, 2, -1, 1)])
        assert found.tolist() == [[0, 0, 0, 1]] * 4 + [[7, 0, 0, 1]]
        assert (dropped.reads, dropped.writes) == (4, 0)

    def test_out_of_range_is_opaque_for_typed_reads(self):
        array = np.ones((1, 1, 4), np.float32)
        image, _ = counting(array, "rgba:float")
        outside = [axis(5), axis(0)]
        assert image.load(outside).tolist() == [[0, 0, 0, 0]]
        assert image.load(outside, outside=Outside.OPAQUE).tolist() == [[0, 0, 0, ONE]]

    def test_a_level_of_detail_that_the_image_lacks_is_out_of_range(self):
        image, dropped = counting(np.full((1, 2), 9, np.int32), "r:int32")
        found = image.load([axis(0, 1), axis(0, 0)], lod=axis(0, 1))
        assert found.tolist() == [[9, 0, 0, 1], [0, 0, 0, 1]]
        assert dropped.reads == 1

    def test_inactive_channels_give_zeros_and_are_not_counted(self):
        image, dropped = counting(np.full((1, 2), 9, np.int32), "r:int32")
        found = image.load([axis(0, 9), axis(0, 0)], mask=np.array([False, False]))
        assert found.tolist() == [[0, 0, 0, 0]] * 2
        assert dropped.reads == 0


class TestStore:
    def test_texels_are_written_in_place(self):
        array = np.zeros((2, 3, 4), np.uint8)
        image, _ = counting(array, "bgra:unorm8")
        rgba = np.array([[1, 0.5, 0, 2]], np.float32).view(np.uint32)
        image.store([axis(2), axis(1)], rgba)
        assert array[1, 2].tolist() == [0, 128, 255, 255]
        assert array.sum() == 128 + 255 + 255

    def test_out_of_range_is_dropped_and_counted(self):
        array = np.zeros((1, 2), np.int8)
        image, dropped = counting(array, "r:int8")
        values = np.full((3, 4), 5, np.uint32)
        image.store([axis(1, 2, -1), axis(0, 0, 0)], values, np.array([True, True, False]))
        assert array.tolist() == [[0, 5]]
        assert (dropped.reads, dropped.writes) == (0, 1)

    def test_the_highest_channel_wins(self):
        array = np.zeros((1, 1), np.uint32)
        image, _ = counting(array, "r:uint32")
        image.store([axis(0, 0, 0), axis(0, 0, 0)], np.array([[n] * 4 for n in (1, 2, 3)], "u4"))
        assert array.tolist() == [[3]]

    def test_components_that_are_not_named_stay(self):
        array = np.array([[[1, 2, 3, 4]]], np.uint32)
        image, _ = counting(array, "rgba:uint32")
        image.store([axis(0), axis(0)], np.array([[9, 9, 9, 9]], np.uint32), channels="GA")
        assert array.tolist() == [[[1, 9, 3, 9]]]

    def test_read_only_memory_is_refused(self):
        array = np.zeros((2, 2, 4), np.float32)
        array.flags.writeable = False
        image, _ = counting(array, "rgba:float")
        with pytest.raises(MemoryViolation) as caught:
            image.store([axis(9, 1), axis(0, 1)], np.zeros((2, 4), np.uint32))
        assert str(caught.value) == (
            "surface store of 16 bytes at 0x30 by channel 1: read-only (in 'picture')"
        )


class TestSizes:
    @pytest.mark.parametrize(
        ("kind", "info", "query"),
        [
            (ImageKind.IMAGE_1D, ImageInfo(7, 0, 0, 0), [7, 0, 0, 1]),
            (ImageKind.ARRAY_1D, ImageInfo(5, 0, 0, 3), [5, 3, 0, 1]),
            (ImageKind.IMAGE_2D, ImageInfo(5, 4, 0, 0), [5, 4, 0, 1]),
            (ImageKind.ARRAY_2D, ImageInfo(5, 4, 0, 3), [5, 4, 3, 1]),
            (ImageKind.IMAGE_3D, ImageInfo(5, 2, 3, 0), [5, 2, 3, 1]),
        ],
    )
    def test_sizes_of_every_kind(self, kind, info, query):
        image = memory(np.zeros(SHAPES[kind], np.uint8), "r:uint8", kind)
        assert image.info == info
        assert image.surface("picture").query(axis(0)).tolist() == [query]

    def test_sizes_halve_with_the_level_but_not_layers(self):
        image = memory(np.zeros((3, 4, 5), np.uint8), "r:uint8", ImageKind.ARRAY_2D)
        found = image.surface("picture").query(axis(1, 2, 99))
        assert found.tolist() == [[2, 2, 3, 1], [1, 1, 3, 1], [0, 0, 3, 1]]


class TestBlocks:
    def _block(self, array, x, y, width, height, name="r:uint8"):
        image, dropped = counting(array, name)
        return image.blocks.load(x, y, width, height).reshape(height, width), dropped

    def test_a_block_is_a_rectangle_of_bytes(self):
        array = np.arange(40, dtype=np.uint8).reshape(5, 8)
        found, dropped = self._block(array, 3, 1, 4, 2)
        assert np.array_equal(found, array[1:3, 3:7])
        assert dropped.reads == 0

    def test_outside_the_nearest_texel_is_repeated(self):
        array = np.arange(6, dtype=np.uint16).reshape(2, 3)
        found, dropped = self._block(array, -4, -1, 14, 4, "r:uint16")
        rows = np.ascontiguousarray(found).view(np.uint16)
        assert rows.tolist() == [[0, 0, 0, 1, 2, 2, 2]] * 2 + [[3, 3, 3, 4, 5, 5, 5]] * 2
        assert dropped.reads == 1

    def test_rows_are_written_in_place_and_cut_at_the_edges(self):
        array = np.zeros((2, 8), np.uint8)
        image, dropped = counting(array, "r:uint8")
        image.blocks.store(4, 1, 8, np.arange(1, 25, dtype=np.uint8))
        image.blocks.store(-4, -1, 8, np.arange(101, 117, dtype=np.uint8))
        assert array.tolist() == [[113, 114, 115, 116, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2, 3, 4]]
        assert dropped.writes == 2

    def test_a_block_that_misses_the_surface_writes_nothing(self):
        array = np.zeros((2, 4), np.uint8)
        image, dropped = counting(array, "r:uint8")
        image.blocks.store(400, 0, 4, np.ones(4, np.uint8))
        image.blocks.store(0, -9, 4, np.ones(4, np.uint8))
        assert (array.sum(), dropped.writes) == (0, 2)

    def test_writes_want_whole_dwords_on_the_left(self):
        image, _ = counting(np.zeros((2, 8), np.uint8), "r:uint8")
        with pytest.raises(MemoryViolation, match="misaligned"):
            image.blocks.store(2, 0, 4, np.zeros(4, np.uint8))

    def test_read_only_memory_is_refused(self):
        array = np.zeros((2, 8), np.uint8)
        array.flags.writeable = False
        image, _ = counting(array, "r:uint8")
        with pytest.raises(MemoryViolation, match="read-only"):
            image.blocks.store(0, 0, 4, np.zeros(4, np.uint8))


class TestBindingTable:
    def test_an_image_is_also_a_linear_surface_of_its_bytes(self):
        surfaces = Surfaces()
        array = np.array([[1, 2]], np.uint32)
        surfaces.bind_image(3, memory(array, "r:uint32"), "x")
        found = surfaces.request(TEXEL, 3, None, [axis(1), axis(0)], None)
        assert found.tolist() == [[2, 0, 0, 1]]
        assert surfaces.load(3, axis(4), None, np.dtype(np.uint32)).tolist() == [2]

    def test_an_array_of_two_dimensions_has_blocks_and_no_texels(self):
        surfaces = Surfaces()
        surfaces.bind(0, np.arange(8, dtype=np.uint8).reshape(2, 4), "x")
        assert surfaces.request(BlockLoad(2, 2), 0, None, [axis(1), axis(0)], None).tolist() == [
            1,
            2,
            5,
            6,
        ]
        with pytest.raises(MemoryViolation, match="holds a linear surface, not an image"):
            surfaces.request(TEXEL, 0, None, [axis(0), axis(0)], None)

    def test_an_array_of_one_dimension_has_no_blocks(self):
        surfaces = Surfaces()
        surfaces.bind(0, np.zeros(8, np.uint8), "x")
        with pytest.raises(MemoryViolation, match="two dimensions"):
            surfaces.request(BlockLoad(4, 1), 0, None, [axis(0), axis(0)], None)

    def test_an_index_without_anything_is_refused_when_a_channel_uses_it(self):
        surfaces = Surfaces()
        where, nobody = [axis(0, 0), axis(0, 0)], np.array([False, False])
        found = surfaces.request(TEXEL, 5, None, where, nobody)
        assert found.tolist() == [[0, 0, 0, 0]] * 2
        second = np.array([False, True])
        with pytest.raises(MemoryViolation, match="channel 1: unbound binding table index 5"):
            surfaces.request(RED, 5, None, [*where, axis(1, 1)], second)

    def test_binding_something_else_forgets_the_image(self):
        surfaces = Surfaces()
        surfaces.bind_image(3, memory(np.zeros((1, 2), np.uint32), "r:uint32"), "x")
        surfaces.bind(3, np.zeros(4, np.uint8), "y")
        with pytest.raises(MemoryViolation, match="not an image"):
            surfaces.request(SizeQuery(), 3, None, [axis(0)], None)

    def test_samplers_have_a_table_of_their_own(self):
        surfaces = Surfaces()
        surfaces.bind_image(1, memory(np.full((1, 2), 4, np.float32), "r:float"), "x")
        where = [np.zeros(1, np.float32)]
        operation = Sampling(("u",), Detail.ZERO)
        with pytest.raises(MemoryViolation, match="unbound sampler index 2"):
            surfaces.request(operation, 1, 2, where, None)
        surfaces.bind_sampler(2, SamplerState(), "s")
        assert surfaces.request(operation, 1, 2, where, None)[0].view(np.float32).tolist() == [
            4,
            0,
            0,
            1,
        ]
        with pytest.raises(ArgumentError, match=r"not in 0\.\.31"):
            surfaces.bind_sampler(32, SamplerState(), "s")

    def test_accesses_out_of_range_are_counted_with_those_of_other_surfaces(self):
        surfaces = Surfaces()
        surfaces.bind_image(1, memory(np.zeros((1, 2), np.uint8), "r:uint8"), "x")
        surfaces.request(TEXEL, 1, None, [axis(7), axis(0)], None)
        surfaces.request(RED, 1, None, [axis(7), axis(0), axis(1)], None)
        assert (surfaces.dropped_reads, surfaces.dropped_writes) == (1, 1)
