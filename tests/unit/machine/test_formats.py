"""Texels become components and components texels as OpenCL's conversion rules say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model import images as model
from visim.errors import ArgumentError
from visim.machine.formats import natural_format, order_of, texel_format

FLOATS = [0.0, -0.0, 0.5, 1.0, -1.0, 1.5, -3.0, 1 / 255, 0.49999997, 65504.0, 65520.0, 1e-8, 3e38]


def _texels(name):
    """Return all values of 8 bits, or a spread of the others, with special ones."""
    kind = model.dtype(name)
    rng = np.random.default_rng(5)
    if kind.kind == "f":
        values = np.array([*FLOATS[:9], -65504, np.inf, -np.inf, 6e-8, 2.0], kind)
    else:
        limits = np.iinfo(kind)
        values = rng.integers(limits.min, limits.max, 251, kind, endpoint=True)
        values = np.append(values, [limits.min, limits.min + 1, 0, 1, limits.max]).astype(kind)
    wide = [np.roll(values, 7 * channel) for channel in range(model.channels(name))]
    return np.ascontiguousarray(np.stack(wide, axis=1))


@pytest.mark.parametrize("name", model.ALL)
def test_reading_is_exactly_rounded(name):
    texels = _texels(name)
    want = [model.bits(name, model.read_texel(name, texel)) for texel in texels]
    assert texel_format(name).decode(texels).tolist() == want


@pytest.mark.parametrize("name", model.ALL)
def test_writing_clamps_and_rounds_to_even(name):
    if model.is_integer(name):
        signed = ":int" in name
        edges = [0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1]
        edges += [-1, -128, -129, -32768, -32769, -(2**31)] if signed else [2**31, 2**32 - 1]
        rgba = np.array(edges, np.int32 if signed else np.uint32)
    else:
        rng = np.random.default_rng(6)
        ties = np.arange(256) / 255 + 0.5 / 255
        rgba = np.array([*FLOATS, -np.inf, np.inf, *rng.uniform(-1.1, 1.1, 200), *ties], np.float32)
    values = np.stack([np.roll(rgba, shift) for shift in range(4)], axis=1)
    want = [model.write_texel(name, [item.item() for item in row]) for row in values]
    got = texel_format(name).encode(np.ascontiguousarray(values).view(np.uint32))
    expected = np.array(want, model.dtype(name))
    assert got.dtype == expected.dtype
    assert got.tobytes() == expected.tobytes()


def test_a_nan_is_written_as_0_to_normalised_formats():
    nan = np.full((1, 4), np.nan, np.float32).view(np.uint32)
    for name in ("rgba:unorm8", "rgba:snorm16"):
        assert texel_format(name).encode(nan).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("name", "border"),
    [
        ("r:float", [0, 0, 0, 0x3F800000]),
        ("rg:unorm8", [0, 0, 0, 0x3F800000]),
        ("rg:uint8", [0, 0, 0, 1]),
        ("luminance:half", [0, 0, 0, 0x3F800000]),
        ("rgba:unorm8", [0, 0, 0, 0]),
        ("bgra:unorm8", [0, 0, 0, 0]),
        ("a:unorm8", [0, 0, 0, 0]),
        ("ra:int8", [0, 0, 0, 0]),
        ("intensity:float", [0, 0, 0, 0]),
    ],
)
def test_the_border_is_transparent_where_the_order_has_alpha(name, border):
    assert texel_format(name).border.tolist() == border


class TestSrgb:
    def test_values_are_read_linear_and_alpha_as_it_is(self):
        texels = np.array([[0, 10, 188, 128], [255, 11, 1, 0]], np.uint8)
        got = texel_format("srgba:unorm8").decode(texels).view(np.float32)
        want = [[0, 10 / 255 / 12.92, ((188 / 255 + 0.055) / 1.055) ** 2.4, 128 / 255]]
        want += [[1, ((11 / 255 + 0.055) / 1.055) ** 2.4, 1 / 255 / 12.92, 0]]
        assert np.allclose(got, want, rtol=1e-6, atol=0)

    def test_what_is_read_is_written_back_as_it_was(self):
        texels = np.arange(256, dtype=np.uint8).repeat(4).reshape(-1, 4)
        chosen = texel_format("sbgra:unorm8")
        assert np.array_equal(chosen.encode(chosen.decode(texels)), texels)


class TestNames:
    def test_a_type_alone_takes_its_order_from_the_channels(self):
        assert texel_format("unorm8", 4).name == "rgba:unorm8"
        assert texel_format("UNORM_INT16", 2).name == "rg:unorm16"

    def test_a_misspelt_type_names_the_nearest(self):
        with pytest.raises(ArgumentError, match="did you mean 'unorm8'"):
            texel_format("rgba:unrom8")

    def test_an_unknown_order_is_refused(self):
        with pytest.raises(ArgumentError, match="no channel order 'xyz'"):
            texel_format("xyz:float")

    def test_combinations_that_opencl_does_not_have_are_refused(self):
        with pytest.raises(ArgumentError, match="depth goes with unorm16, float"):
            texel_format("depth:uint8")

    def test_three_channels_have_no_order(self):
        with pytest.raises(ArgumentError, match="add a fourth"):
            order_of(3)

    def test_arrays_mean_floats_or_plain_integers(self):
        assert natural_format(np.dtype(np.float16), 1).name == "r:half"
        assert natural_format(np.dtype(np.uint8), 4).name == "rgba:uint8"
        assert natural_format(np.dtype(np.int32), 2).name == "rg:int32"
        with pytest.raises(ArgumentError, match="float64"):
            natural_format(np.dtype(np.float64), 1)

    def test_sizes_are_those_of_texels(self):
        assert texel_format("rgba:half").texel_bytes == 8
        assert texel_format("a:unorm8").texel_bytes == 1
