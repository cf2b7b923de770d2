"""OpenCL programs see images and samplers as the specification says, on every device with images.

The references are `tests.model.images`, which knows one texel at a time and nothing of visim, and
NumPy.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import visim
import visim.opencl
from tests.model import images as model
from tests.opencl.building import built

pytestmark = pytest.mark.usefixtures("each_engine")

SOURCE = (Path(__file__).parent / "images.cl").read_text()
DEVICES = ("skl", "tgllp", "dg2")
SHAPES = {"1d": (9,), "1d_array": (3, 5), "2d": (4, 5), "2d_array": (3, 4, 5), "3d": (3, 2, 5)}
SAMPLERS = [
    visim.Sampler(address=address, filter=chosen, normalized=normalized)
    for address, chosen, normalized in product(
        ("none", "clamp", "clamp_to_edge", "repeat", "mirrored_repeat"),
        ("nearest", "linear"),
        (False, True),
    )
    if normalized or "repeat" not in address
]
FLOATS = [name for name in model.REQUIRED if not model.is_integer(name) and "depth" not in name]
SIGNED = [name for name in model.REQUIRED if ":int" in name]
UNSIGNED = [name for name in model.REQUIRED if ":uint" in name]
ITEMS = 24

on_every_device = pytest.mark.parametrize("device", DEVICES)
with_every_sampler = pytest.mark.parametrize(
    "sampler",
    SAMPLERS,
    ids=[f"{s.address}-{s.filter}-{'01' if s.normalized else 'texels'}" for s in SAMPLERS],
)


def _kernel(device, name):
    return built(SOURCE, device, "-cl-std=CL3.0")[name]


def _coordinates(shape, sampler, seed=2):
    """Return (x, y, z, w) for each work-item: inside, outside and at edges of texels."""
    rng = np.random.default_rng(seed)
    found = rng.uniform(-0.7, 1.7, (ITEMS, 4))
    for axis, size in enumerate(reversed(shape)):
        found[:8, axis] = rng.permutation(np.arange(-2, 6)) / size
        found[8:12, axis] = (rng.integers(0, size, 4) + 0.5) / size
        if not sampler.normalized:
            found[:, axis] *= size
    return found.astype(np.float32)


def _model_bits(name, texels, at, sampler, layers=False):
    axes = texels.ndim - 1
    rows = [
        model.sample(
            name,
            texels,
            list(row[:axes]),
            address=sampler.address,
            linear=sampler.filter == "linear",
            normalized=sampler.normalized,
            layers=layers,
        )
        for row in at
    ]
    return np.array([model.bits(name, row) for row in rows], np.uint32)


def _assert_same(got, want):
    """Compare bits; zeros are equal whatever their sign, which filters may lose."""
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(got, want.view(got.dtype))
    else:
        assert got.view(np.uint32).tolist() == want.tolist()


class TestSamplers:
    @on_every_device
    @with_every_sampler
    @pytest.mark.parametrize("kind", SHAPES)
    def test_every_mode_on_every_kind(self, device, kind, sampler):
        texels = model.random_texels("rg:float", SHAPES[kind])
        at = _coordinates(SHAPES[kind], sampler)
        if kind.endswith("array"):
            at[:, texels.ndim - 2] = np.linspace(-1, 4, ITEMS)
        out = np.zeros((ITEMS, 4), np.float32)
        image = visim.Image(texels, kind=kind)
        _kernel(device, f"sample_{kind}").launch([image, sampler, at, out], global_size=ITEMS)
        _assert_same(out, _model_bits("rg:float", texels, at, sampler, kind.endswith("array")))

    @on_every_device
    @pytest.mark.parametrize("name", FLOATS)
    def test_every_float_format_filtered_and_not(self, device, name):
        for sampler in (SAMPLERS[0], SAMPLERS[3], SAMPLERS[-1]):
            texels = model.random_texels(name, (4, 5))
            at = _coordinates((4, 5), sampler)
            out = np.zeros((ITEMS, 4), np.float32)
            image = visim.Image(texels, format=name)
            _kernel(device, "sample_2d").launch([image, sampler, at, out], global_size=ITEMS)
            _assert_same(out, _model_bits(name, texels, at, sampler))

    @on_every_device
    @pytest.mark.parametrize("name", SIGNED + UNSIGNED)
    def test_every_integer_format_with_all_nearest_samplers(self, device, name):
        kernel = "sample_int" if name in SIGNED else "sample_uint"
        for sampler in (s for s in SAMPLERS if s.filter == "nearest"):
            texels = model.random_texels(name, (4, 5))
            at = _coordinates((4, 5), sampler)
            out = np.zeros((ITEMS, 4), np.uint32)
            image = visim.Image(texels, format=name)
            _kernel(device, kernel).launch([image, sampler, at, out], global_size=ITEMS)
            _assert_same(out, _model_bits(name, texels, at, sampler))

    @on_every_device
    @pytest.mark.parametrize("name", ["depth:float", "depth:unorm16"])
    def test_depth_images_have_one_component(self, device, name):
        for sampler in (SAMPLERS[2], SAMPLERS[-1]):
            texels = model.random_texels(name, (4, 5))
            at = _coordinates((4, 5), sampler)
            out = np.zeros(ITEMS, np.float32)
            image = visim.Image(texels, format=name)
            _kernel(device, "sample_depth").launch([image, sampler, at, out], global_size=ITEMS)
            _assert_same(out, _model_bits(name, texels, at, sampler)[:, 0].copy())

    @on_every_device
    def test_half_results_are_rounded_to_nearest(self, device):
        sampler = visim.Sampler(filter="linear")
        texels = model.random_texels("rgba:float", (4, 5))
        at = _coordinates((4, 5), sampler)
        out = np.zeros((ITEMS, 4), np.float16)
        _kernel(device, "sample_half").launch(
            [visim.Image(texels), sampler, at, out], global_size=ITEMS
        )
        want = _model_bits("rgba:float", texels, at, sampler).view(np.float32)
        np.testing.assert_array_equal(out, want.astype(np.float16))

    @on_every_device
    @pytest.mark.parametrize("address", ["clamp", "clamp_to_edge", "none"])
    def test_whole_coordinates(self, device, address):
        sampler = visim.Sampler(address=address)
        texels = model.random_texels("r:float", (4, 5))
        at = np.random.default_rng(4).integers(-3, 8, (ITEMS, 4), np.int32)
        out = np.zeros((ITEMS, 4), np.float32)
        _kernel(device, "sample_whole").launch(
            [visim.Image(texels), sampler, at, out], global_size=ITEMS
        )
        _assert_same(out, _model_bits("r:float", texels, at, sampler))

    @on_every_device
    def test_samplers_inside_the_program(self, device):
        texels = model.random_texels("rgba:unorm8", (4, 5))
        at = _coordinates((4, 5), visim.Sampler(normalized=True)) * 3
        out = np.zeros((4, ITEMS, 4), np.float32)
        _kernel(device, "inline_samplers").launch(
            [visim.Image(texels, format="rgba:unorm8"), at, out], global_size=ITEMS
        )
        samplers = [
            visim.Sampler(address="repeat", filter="linear", normalized=True),
            visim.Sampler(address="clamp"),
            visim.Sampler(),
            visim.Sampler(address="mirrored_repeat", filter="linear", normalized=True),
        ]
        for got, sampler in zip(out, samplers, strict=True):
            _assert_same(got, _model_bits("rgba:unorm8", texels, at, sampler))

    @on_every_device
    def test_the_border_of_integers_inside_the_program(self, device):
        texels = model.random_texels("rg:int16", (4, 5))
        at = np.random.default_rng(4).integers(-3, 8, (ITEMS, 4), np.int32)
        out = np.zeros((ITEMS, 4), np.int32)
        _kernel(device, "inline_border_int").launch(
            [visim.Image(texels), at, out], global_size=ITEMS
        )
        want = _model_bits("rg:int16", texels, at, visim.Sampler(address="clamp"))
        _assert_same(out, want)


class TestTexels:
    @on_every_device
    @pytest.mark.parametrize("kind", [*SHAPES, "1d_buffer"])
    def test_copies_of_every_kind(self, device, kind):
        shape = SHAPES.get(kind, (9,))
        texels = model.random_texels("rgba:unorm8", shape)
        copied = np.zeros_like(texels)
        images = [visim.Image(array, kind=kind, format="rgba:unorm8") for array in (texels, copied)]
        _kernel(device, f"copy_{kind}").launch(images, global_size=tuple(reversed(shape)))
        assert np.array_equal(copied, texels)

    @on_every_device
    @pytest.mark.parametrize("name", [*FLOATS, *SIGNED, *UNSIGNED])
    def test_every_format_is_written_and_read(self, device, name):
        width, height = 8, 4
        verb = "int" if name in SIGNED else "uint" if name in UNSIGNED else "float"
        rng = np.random.default_rng(8)
        if verb == "float":
            values = rng.uniform(-1.4, 1.4, (height, width, 4)).astype(np.float32)
        else:
            scale = rng.choice([100, 300, 70_000, 2**31 - 1], (height, width, 4))
            low = -1 if verb == "int" else 0
            values = (rng.uniform(low, 1, scale.shape) * scale).astype(f"{verb}32")
        texels = np.zeros((height, width, model.channels(name)), model.dtype(name))
        image = visim.Image(texels, format=name)
        _kernel(device, f"write_{verb}").launch([image, values], global_size=(width, height))
        rows = values.reshape(-1, 4)
        want = [model.write_texel(name, [item.item() for item in row]) for row in rows]
        expected = np.array(want, model.dtype(name)).reshape(texels.shape)
        assert texels.tobytes() == expected.tobytes()
        back = np.zeros_like(values)
        _kernel(device, f"read_{verb}").launch([image, back], global_size=(width, height))
        read = [
            model.bits(name, model.read_texel(name, t)) for t in expected.reshape(len(rows), -1)
        ]
        assert back.view(np.uint32).reshape(-1, 4).tolist() == read

    @on_every_device
    def test_writes_outside_are_dropped_and_reported(self, device):
        at = np.random.default_rng(9).integers(-3, 8, (ITEMS, 4), np.int32)
        texels = np.zeros((4, 5, 4), np.uint8)
        value = np.array([1, 0.5, 0.25, 0], np.float32)
        report = _kernel(device, "scatter").launch(
            [visim.Image(texels, format="rgba:unorm8"), at, value.tobytes()], global_size=ITEMS
        )
        want = np.zeros_like(texels)
        inside = [(x, y) for x, y, *_ in at if 0 <= x < 5 and 0 <= y < 4]
        for x, y in inside:
            want[y, x] = [255, 128, 64, 0]
        assert np.array_equal(texels, want)
        assert report.dropped_accesses == ITEMS - len(inside)

    @on_every_device
    def test_an_image_is_read_and_written_by_one_kernel(self, device):
        texels = model.random_texels("rgba:float", (3, 8))
        want = texels * 2
        _kernel(device, "double_it").launch([visim.Image(texels)], global_size=(8, 3))
        assert np.array_equal(texels, want)

    @on_every_device
    def test_sub_groups_read_and_write_blocks(self, device):
        texels = np.random.default_rng(3).integers(0, 2**32 - 1, (6, 32), np.uint32)
        out = np.zeros_like(texels)
        images = [visim.Image(array) for array in (texels, out)]
        _kernel(device, "blocks").launch(images, global_size=(32, 3), local_size=(16, 1))
        assert np.array_equal(out, texels + np.uint32(1))

    @on_every_device
    def test_a_picture_is_blurred(self, device):
        picture = np.random.default_rng(3).integers(0, 180, (9, 13, 4), np.uint8)
        out = np.zeros_like(picture)
        images = [visim.Image(array, format="rgba:unorm8") for array in (picture, out)]
        _kernel(device, "blur").launch(images, global_size=(13, 9))
        wide = np.pad(picture, ((1, 1), (1, 1), (0, 0)), "edge").astype(np.float64)
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (0, 1))
        want = np.minimum(windows.sum((-1, -2)) / 8, 255)
        assert np.abs(out - want).max() < 0.5001


class TestQuestions:
    @on_every_device
    def test_sizes_types_and_orders(self, device):
        out = np.zeros(12, np.int32)
        arguments = [
            visim.Image(np.zeros((4, 5, 4), np.uint8), format="bgra:unorm8"),
            visim.Image(np.zeros((2, 3, 7, 1), np.float32)),
            visim.Image(np.zeros((6, 3, 7), np.float32), kind="2d_array"),
            visim.Image(np.zeros((8, 9), np.float16), kind="1d_array"),
        ]
        _kernel(device, "sizes").launch([*arguments, out], global_size=1)
        assert out.tolist() == [5, 4, 0x10D2, 0x10B6, 7, 3, 2, 7, 3, 6, 9, 8]


class TestArguments:
    def test_images_of_another_kind_are_refused(self):
        kernel = _kernel("skl", "copy_3d")
        image = visim.Image(np.zeros((2, 2), np.float32))
        with pytest.raises(visim.ArgumentError, match=r"'from': expected a 3d image, found Image"):
            kernel.launch([image, image], global_size=(1, 1, 1))

    def test_arrays_are_no_images(self):
        kernel = _kernel("skl", "double_it")
        with pytest.raises(visim.ArgumentError, match=r"'image': expected visim\.Image"):
            kernel.launch([np.zeros((2, 2), np.float32)], global_size=(1, 1))

    def test_written_images_must_be_writable(self):
        kernel = _kernel("skl", "double_it")
        array = np.zeros((2, 2), np.float32)
        array.flags.writeable = False
        with pytest.raises(visim.ArgumentError, match="read-only"):
            kernel.launch([visim.Image(array)], global_size=(1, 1))

    def test_samplers_are_samplers(self):
        kernel = _kernel("skl", "sample_1d")
        image = visim.Image(np.zeros(2, np.float32), kind="1d")
        floats = np.zeros(4, np.float32)
        with pytest.raises(visim.ArgumentError, match=r"'s': expected visim\.Sampler"):
            kernel.launch([image, 1, floats, floats], global_size=1)

    def test_filtered_integers_are_a_fault(self):
        kernel = _kernel("skl", "sample_int")
        image = visim.Image(np.zeros((2, 2), np.int32))
        at, out = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.int32)
        with pytest.raises(visim.FaultError, match="linear filter") as caught:
            kernel.launch([image, visim.Sampler(filter="linear"), at, out], global_size=1)
        assert caught.value.fault.buffer == "image"

    def test_names_of_arguments_are_those_of_the_source(self):
        kernel = _kernel("dg2", "sample_2d")
        kinds = [(argument.name, argument.kind) for argument in kernel.args]
        assert kinds == [("image", "image"), ("s", "sampler"), ("at", "buffer"), ("out", "buffer")]


WITHOUT_SAMPLERS = """
kernel void sampled(read_only image2d_t from, global float4 *to) {
    const sampler_t nearest = CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP;
    to[get_global_id(0)] = read_imagef(from, nearest, (int2)(get_global_id(0), 0));
}
kernel void unsampled(read_only image2d_t from, global float4 *to) {
    to[get_global_id(0)] = read_imagef(from, (int2)(get_global_id(0), 0));
}
kernel void copied(write_only image2d_t to, read_only image2d_t from) {
    int2 at = (int2)(get_global_id(0), 0);
    write_imagef(to, at, read_imagef(from, at));
}
kernel void changed(read_write image2d_t from) {
    int2 at = (int2)(get_global_id(0), 0);
    write_imagef(from, at, 2 * read_imagef(from, at));
}
kernel void written(write_only image2d_t to, global float4 *from) {
    write_imagef(to, (int2)(get_global_id(0), 0), from[get_global_id(0)]);
}
kernel void block(read_only image2d_t from, global uint *to) {
    to[get_global_id(0)] = intel_sub_group_block_read(from, (int2)(0, 0));
}
"""


@pytest.mark.parametrize("name", ["sampled", "unsampled", "copied", "changed"])
def test_reads_of_images_that_the_compiler_leaves_out_for_pvc_are_refused(name: str) -> None:
    kernel = built(WITHOUT_SAMPLERS, "pvc", "-cl-std=CL2.0")[name]
    image, texels = np.ones((2, 16, 4), np.float32), np.zeros((16, 4), np.float32)
    given = {"copied": [visim.Image(image.copy(), format="rgba:float")], "changed": []}
    arguments = [*given.get(name, []), visim.Image(image, format="rgba:float")]
    with pytest.raises(visim.UnsupportedError, match="'from' is an image that its code does not"):
        kernel.launch([*arguments, texels][: len(kernel.args)], global_size=16, local_size=16)


def test_writes_of_images_and_reads_of_blocks_are_left_on_pvc() -> None:
    program = built(WITHOUT_SAMPLERS, "pvc", "-cl-std=CL2.0")
    image, texels = np.zeros((2, 16, 4), np.float32), np.random.default_rng(1).random((16, 4))
    texels = texels.astype(np.float32)
    written = [visim.Image(image, format="rgba:float"), texels]
    program["written"].launch(written, global_size=16, local_size=16)
    assert np.array_equal(image[0], texels)
    numbers, found = np.arange(64, dtype=np.uint32).reshape(2, 32), np.zeros(16, np.uint32)
    read = [visim.Image(numbers, format="r:uint32"), found]
    program["block"].launch(read, global_size=16, local_size=16)
    # The compiler loads both halves of a row of 16 into the same register.
    assert np.array_equal(found, np.tile(np.arange(8, 16), 2))
