"""Images are views of arrays with a kind and a format; samplers have OpenCL's names."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim import ArgumentError, Image, Sampler

pytestmark = pytest.mark.usefixtures("each_engine")


class TestImage:
    @pytest.mark.parametrize(
        ("shape", "dtype", "kind", "expected"),
        [
            ((4, 5), np.float32, None, "Image(2d 5x4 r:float)"),
            ((4, 5, 4), np.uint8, None, "Image(2d 5x4 rgba:uint8)"),
            ((4, 5, 2), np.int16, None, "Image(2d 5x4 rg:int16)"),
            ((3, 4, 5, 1), np.float16, None, "Image(3d 5x4x3 r:half)"),
            ((7,), np.uint32, None, "Image(1d 7 r:uint32)"),
            ((7, 4), np.int8, "1d", "Image(1d 7 rgba:int8)"),
            ((7, 2), np.int32, "1d_buffer", "Image(1d_buffer 7 rg:int32)"),
            ((3, 7), np.uint16, "1d_array", "Image(1d_array 7x3 r:uint16)"),
            ((3, 4, 5), np.float32, "2d_array", "Image(2d_array 5x4x3 r:float)"),
            ((3, 4, 5), np.float32, "3d", "Image(3d 5x4x3 r:float)"),
        ],
    )
    def test_kind_and_format_follow_from_the_array(self, shape, dtype, kind, expected):
        assert repr(Image(np.zeros(shape, dtype), kind=kind)) == expected

    def test_sizes_are_in_texels(self):
        image = Image(np.zeros((3, 4, 5, 2), np.uint8), kind="2d_array", format="rg:unorm8")
        assert (image.width, image.height, image.depth, image.array_size) == (5, 4, 0, 3)
        assert (image.kind, image.format) == ("2d_array", "rg:unorm8")

    def test_the_array_is_not_copied(self):
        array = np.zeros((4, 5), np.float32)
        assert Image(array).array is array

    def test_a_type_alone_keeps_the_channels(self):
        assert Image(np.zeros((4, 5, 4), np.uint8), format="unorm8").format == "rgba:unorm8"

    def test_a_whole_texel_may_be_one_item(self):
        image = Image(np.zeros((4, 5), np.uint32), format="bgra:unorm8")
        assert (image.width, image.height, image.format) == (5, 4, "bgra:unorm8")

    @pytest.mark.parametrize(
        ("array", "options", "message"),
        [
            ([1, 2], {}, "expected an ndarray, found list"),
            (np.zeros((4, 6))[:, ::2], {}, "ascontiguousarray"),
            (np.zeros((0, 6), np.uint8), {}, "no texels"),
            (np.zeros((4, 6)), {}, "float64"),
            (np.zeros((4, 6, 3), np.uint8), {}, "add a fourth"),
            (np.zeros((4, 6, 4), np.uint8), {"kind": "4d"}, "kind: '4d' is not known"),
            (np.zeros((4, 6, 4), np.uint8), {"kind": "1d"}, "a 1d image has 1, or 2 with"),
            (np.zeros((1, 1, 1, 1, 1), np.uint8), {}, "5 axes"),
            (np.zeros((4, 6, 2), np.uint8), {"format": "rgba:unorm8"}, "4 channels of 1 bytes"),
            (np.zeros((4, 6, 4), np.uint8), {"format": "rgba:float"}, "4 channels of 4 bytes"),
            (np.zeros((4, 6, 4), np.uint8), {"format": "rgbx"}, "no channel type 'rgbx'"),
            (np.zeros((4, 6), ">f4"), {"format": "r:float"}, "big-endian"),
            (np.zeros((4, 6), np.uint8), {"format": 5}, "expected a name such as .*, found 5"),
        ],
    )
    def test_what_is_no_image_is_refused(self, array, options, message):
        with pytest.raises(ArgumentError, match=message):
            Image(array, **options)


class TestSampler:
    def test_defaults_read_texels_up_to_the_edge(self):
        assert Sampler() == Sampler(address="clamp_to_edge", filter="nearest", normalized=False)

    def test_names_may_be_spelt_as_in_opencl(self):
        spelt = Sampler(address="CLK_ADDRESS_REPEAT", filter="CLK_FILTER_LINEAR", normalized=True)
        assert spelt.state == Sampler(address="repeat", filter="linear", normalized=True).state

    def test_unknown_names_are_refused_with_the_nearest(self):
        with pytest.raises(ArgumentError, match="did you mean 'linear'"):
            Sampler(filter="linaer")
        with pytest.raises(ArgumentError, match="address: 'wrap' is not known"):
            Sampler(address="wrap")

    @pytest.mark.parametrize("address", ["repeat", "mirrored_repeat"])
    def test_repeating_needs_normalized_coordinates(self, address):
        with pytest.raises(ArgumentError, match="add normalized=True"):
            Sampler(address=address)


BARE = """
.version 3.6
.kernel "k"
.decl V33 v_type=G type=f num_elts=8 align=GRF
.decl V34 v_type=G type=f num_elts=32 align=GRF
.decl T6 v_type=T num_elts=1
.decl S1 v_type=S num_elts=1
.input T6 offset=32 size=4
.input S1 offset=36 size=4
.input V33 offset=64 size=32
.kernel_attr SimdSize=8
    sample_lz.RGBA (M1, 8) 0x0:uw S1 T6 V34.0 V33.0
    movs (M1, 1) T6(0) 0x9:ud
    oword_st (8) T6 0x0:ud V34.0
    ret (M1, 1)
"""


class TestBareKernels:
    COORDINATES = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 9], np.float32).tobytes()

    def _run(self, surface, sampler, **tables):
        kernel = visim.assemble(BARE, platform="skl")
        out = np.zeros((4, 8), np.float32)
        bound = {9: out, **tables.pop("surfaces", {})}
        arguments = [surface, sampler, self.COORDINATES]
        kernel["k"].launch(arguments, surfaces=bound, **tables)
        return out

    def test_images_and_samplers_are_arguments(self):
        row = Image(np.array([1, 2, 4, 8], np.float32), kind="1d")
        out = self._run(row, Sampler())
        assert out[0].tolist() == [1, 1, 2, 2, 4, 4, 8, 8]
        assert out[3].tolist() == [1] * 8

    def test_images_and_samplers_are_bound_to_indices(self):
        row = Image(np.array([1, 2, 4, 8], np.float32), kind="1d")
        linear = Sampler(filter="linear")
        out = self._run(5, 7, surfaces={5: row}, samplers={7: linear})
        assert out[0].tolist() == [1, 1, 1.5, 2, 3, 4, 6, 8]

    def test_an_unbound_sampler_is_a_fault(self):
        row = Image(np.array([1], np.float32))
        with pytest.raises(visim.FaultError, match="unbound sampler index 3"):
            self._run(row, 3)

    def test_an_index_that_samplers_do_not_have_is_refused(self):
        row = Image(np.array([1], np.float32))
        with pytest.raises(ArgumentError, match="'S1': index 40 is not in"):
            self._run(row, 40)
        with pytest.raises(ArgumentError, match=r"sampler:40: sampler index 40"):
            self._run(row, 1, samplers={40: Sampler()})

    def test_what_is_no_sampler_is_refused(self):
        row = Image(np.array([1], np.float32))
        with pytest.raises(ArgumentError, match=r"'S1': expected visim\.Sampler"):
            self._run(row, "nearest")
        with pytest.raises(ArgumentError, match=r"'sampler:1': expected visim\.Sampler"):
            self._run(row, 1, samplers={1: None})
