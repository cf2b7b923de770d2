"""Samplers choose and weigh texels as OpenCL's equations say, with weights of 8 bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model import images as model
from visim.machine import filtering
from visim.machine.allocations import MemoryViolation
from visim.machine.formats import texel_format
from visim.machine.images import ImageKind, ImageMemory
from visim.machine.sampling import Address, Filter, SamplerState, layers
from visim.sem.requests import Detail, Sampling

SAMPLERS = [
    SamplerState(address, chosen, normalized)
    for address, chosen, normalized in itertools.product(Address, Filter, (False, True))
    if normalized or not address.needs_normalized
]
SIZES = {
    ImageKind.IMAGE_1D: (7,),
    ImageKind.ARRAY_1D: (3, 5),
    ImageKind.IMAGE_2D: (4, 5),
    ImageKind.ARRAY_2D: (3, 4, 5),
    ImageKind.IMAGE_3D: (3, 2, 5),
}
"""Shapes, the slowest axis first."""


def _image(name, kind, texels):
    size = tuple(reversed(texels.shape[:-1]))
    return ImageMemory(texels, size, kind, texel_format(name)).surface("picture")


def _sample(image, coordinates, sampler, mask=None, gathered=None):
    given = dict(zip("uvr", coordinates, strict=False))
    operation = Sampling(tuple(given), Detail.ZERO, gathered)
    return filtering.sample(image, sampler, operation, given, mask)


def _coordinates(shape, sampler, count=6):
    """Return coordinates inside, outside, at edges and at centres of texels."""
    rng = np.random.default_rng(2)
    found = []
    for size in reversed(shape):
        scale = 1 if sampler.normalized else size
        spread = rng.uniform(-1.6, 2.6, count) * scale
        exact = np.array([0, 0.5, 1, size - 0.5, size, -0.5, -1, size + 0.5])
        exact = exact / size if sampler.normalized else exact
        found.append(rng.permutation(np.concatenate((spread, exact))).astype(np.float32))
    return found


def _expected(name, kind, texels, coordinates, sampler):
    return [
        model.bits(
            name,
            model.sample(
                name,
                texels,
                [axis[lane] for axis in coordinates],
                address=str(sampler.address),
                linear=sampler.filter is Filter.LINEAR,
                normalized=sampler.normalized,
                layers=kind.is_array,
            ),
        )
        for lane in range(coordinates[0].size)
    ]


def _id(sampler):
    where = "normalized" if sampler.normalized else "texels"
    return f"{sampler.address}-{sampler.filter}-{where}"


DEFINED = [
    pytest.param(name, sampler, id=f"{name}-{_id(sampler)}")
    for name, sampler in itertools.product(model.ALL, SAMPLERS)
    if sampler.filter is Filter.NEAREST or not model.is_integer(name)
]
"""OpenCL defines no filtered integers."""


@pytest.mark.parametrize(("name", "sampler"), DEFINED)
def test_every_format_with_every_mode(name, sampler):
    texels = model.random_texels(name, SIZES[ImageKind.IMAGE_2D])
    coordinates = _coordinates(texels.shape[:-1], sampler)
    image = _image(name, ImageKind.IMAGE_2D, texels)
    want = _expected(name, ImageKind.IMAGE_2D, texels, coordinates, sampler)
    assert _same(_sample(image, coordinates, sampler), want, name)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=_id)
@pytest.mark.parametrize("kind", SIZES)
def test_every_kind_with_every_mode(kind, sampler):
    texels = model.random_texels("rg:float", SIZES[kind])
    coordinates = _coordinates(texels.shape[:-1], sampler)
    image = _image("rg:float", kind, texels)
    want = _expected("rg:float", kind, texels, coordinates, sampler)
    assert _same(_sample(image, coordinates, sampler), want, "rg:float")


def _same(got, want, name):
    """Compare bits; floats may be one unit apart where double precision was not enough."""
    want = np.array(want, np.uint32)
    if model.is_integer(name):
        return np.array_equal(got, want)
    return np.array_equal(got.view(np.float32), want.view(np.float32))


class TestLinear:
    SAMPLER = SamplerState(Address.CLAMP_TO_EDGE, Filter.LINEAR)

    def _row(self, values, u, sampler=SAMPLER):
        texels = np.array(values, np.float32).reshape(-1, 1)
        image = _image("r:float", ImageKind.IMAGE_1D, texels)
        axis = np.array(u, np.float32)
        return _sample(image, [axis], sampler)[:, 0].view(np.float32).tolist()

    def test_between_two_centres_weights_change_in_steps_of_1_256(self):
        steps = self._row([0, 256], [0.5, 0.5 + 1 / 256, 0.5 + 1.4 / 256, 0.5 + 1.5 / 256, 1.5])
        assert steps == [0, 1, 1, 2, 256]

    def test_at_a_centre_the_neighbours_do_not_show(self):
        assert self._row([np.inf, 3, np.nan], [1.5, 1.501]) == [3, 3]

    def test_the_border_is_mixed_in(self):
        clamp = SamplerState(Address.CLAMP, Filter.LINEAR)
        assert self._row([8, 8], [0, -0.25, 2, -1], clamp) == [4, 2, 4, 0]

    def test_repeating_mixes_the_ends(self):
        repeat = SamplerState(Address.REPEAT, Filter.LINEAR, normalized=True)
        assert self._row([0, 4, 8, 16], [0, 1, -3], repeat) == [8, 8, 8]

    def test_integers_are_refused(self):
        image = _image("r:int32", ImageKind.IMAGE_1D, np.zeros((2, 1), np.int32))
        with pytest.raises(MemoryViolation, match="image of integers"):
            _sample(image, [np.zeros(1, np.float32)], self.SAMPLER)


class TestChannels:
    def test_inactive_channels_give_zeros_and_may_hold_anything(self):
        image = _image("r:float", ImageKind.IMAGE_1D, np.full((2, 1), 5, np.float32))
        axis = np.array([np.nan, 1, np.inf], np.float32)
        found = _sample(image, [axis], SamplerState(), np.array([False, True, False]))
        assert found.view(np.float32).tolist() == [[0, 0, 0, 0], [5, 0, 0, 1], [0, 0, 0, 0]]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_coordinates_that_are_no_finite_numbers_are_refused(self, value):
        image = _image("r:float", ImageKind.IMAGE_1D, np.zeros((2, 1), np.float32))
        with pytest.raises(MemoryViolation, match="channel 1: a coordinate that is not a finite"):
            _sample(image, [np.array([0, value], np.float32)], SamplerState())

    def test_coordinates_that_are_left_out_are_0(self):
        texels = model.random_texels("rgba:unorm8", (2, 3))
        image = _image("rgba:unorm8", ImageKind.IMAGE_2D, texels)
        axis = np.array([0, 1, 2], np.float32)
        zeros = np.zeros(3, np.float32)
        short = _sample(image, [axis], SamplerState())
        assert np.array_equal(short, _sample(image, [axis, zeros, zeros + 9], SamplerState()))


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.integers(1, 64),
    st.sampled_from(SAMPLERS),
)
def test_weights_are_shares_of_256_and_indices_in_range(coordinate, size, sampler):
    taps = sampler.taps(np.array([coordinate], np.float32), size)
    assert taps.weights.sum() == 1
    assert np.array_equal(taps.weights * 256, np.rint(taps.weights * 256))
    assert ((taps.indices >= -1) & (taps.indices < size)).all()


def test_layers_are_rounded_to_even_and_clamped():
    found = layers(np.array([-3, 0.5, 1.5, 1.49, 2.6, 99], np.float32), 4)
    assert found.indices.tolist() == [[0, 0, 2, 1, 3, 3]]


class TestGather:
    @pytest.mark.parametrize("address", [Address.CLAMP, Address.CLAMP_TO_EDGE])
    def test_the_four_texels_are_those_that_a_linear_filter_mixes(self, address):
        name, sampler = "rgba:float", SamplerState(address)
        texels = model.random_texels(name, (4, 5))
        coordinates = _coordinates((4, 5), sampler)
        found = _sample(
            _image(name, ImageKind.IMAGE_2D, texels), coordinates, sampler, gathered="B"
        )
        for lane, (u, v) in enumerate(zip(*coordinates, strict=True)):
            (x0, _), (x1, _) = model.axis_linear(u, 5, str(address), False)
            (y0, _), (y1, _) = model.axis_linear(v, 4, str(address), False)
            corners = [(x0, y1), (x1, y1), (x1, y0), (x0, y0)]
            blue = [model.texel_at(name, texels, corner)[2] for corner in corners]
            assert found[lane].view(np.float32).tolist() == blue

    def test_it_needs_two_axes(self):
        image = _image("r:float", ImageKind.IMAGE_1D, np.zeros((2, 1), np.float32))
        with pytest.raises(MemoryViolation, match="gather on a 1d image"):
            _sample(image, [np.zeros(1, np.float32)], SamplerState(), gathered="R")
