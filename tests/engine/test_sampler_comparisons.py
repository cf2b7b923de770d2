"""Samplers compare, gather, and read borders and cubes as an independent model says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model import images as model
from tests.model import samplers
from visim import Image, Sampler
from visim.errors import FaultError

from .sampling import (
    LANES,
    LEVELS,
    PYRAMID,
    RNG,
    SIZES,
    floats,
    mixed_coordinates,
    result,
    run,
    smooth,
    texels,
)


class TestComparisons:
    ARRAY = (RNG.integers(0, 5, (4, 8, 1)) / 4).astype(np.float32)
    REFERENCE = floats(0, 0.25, 0.5, 0.75, 1, 0.5, 0.25, 0.75)
    U, V = mixed_coordinates(), mixed_coordinates()

    @pytest.mark.parametrize("how", samplers.LESS)
    @pytest.mark.parametrize("chosen", ["nearest", "linear"])
    @pytest.mark.parametrize("message", ["sample_c", "sample_c_lz"])
    def test_texels_that_pass_are_weighed(self, message, how, chosen):
        sampler = Sampler(address="clamp", filter=chosen, normalized=True, compare=how)
        got = result(
            f"{message}.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {{p}}",
            Image(self.ARRAY),
            (self.REFERENCE, self.U, self.V),
            sampler,
        )
        want = [
            samplers.compare(
                "r:float",
                how,
                self.ARRAY,
                (self.U[n], self.V[n]),
                self.REFERENCE[n],
                address="clamp",
                linear=chosen == "linear",
                normalized=True,
            )
            for n in range(LANES)
        ]
        assert [row[0] for row in got] == want
        assert [row[1:] for row in got] == [[0, 0, 1]] * LANES

    @pytest.mark.parametrize(
        ("message", "before", "after"),
        [("sample_l_c", 1, 0), ("sample_b_c", 1, 0), ("sample_c_mlod", 1, 0), ("sample_d_c", 0, 2)],
    )
    def test_the_reference_comes_first(self, message, before, after):
        sampler = Sampler(normalized=True, compare="less")
        zeros = np.zeros(LANES, np.float32)
        between = [zeros] * after
        parameters = (self.REFERENCE, *[zeros] * before, self.U, *between, self.V)
        got = result(
            f"{message}.R (M1, 8)  0x0:uw S1 T6 V40.0 {{p}}",
            Image(self.ARRAY),
            parameters,
            sampler,
            registers=1,
        )
        plain = result(
            "sample_c.R (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            Image(self.ARRAY),
            (self.REFERENCE, self.U, self.V),
            sampler,
            registers=1,
        )
        assert got == plain

    @pytest.mark.parametrize(
        ("message", "parameters"),
        [
            ("sample4_c", ("ref", "u", "v")),
            ("sample4_i_c", ("ref", "u", "v")),
            ("sample4_l_c", ("ref", "zero", "u", "v")),
            ("sample4_po_c", ("ref", "u", "v", "none", "none")),
        ],
    )
    def test_gathers_compare_each_of_four_texels(self, message, parameters):
        values = {
            "ref": self.REFERENCE,
            "u": self.U,
            "v": self.V,
            "zero": np.zeros(LANES, np.float32),
            "none": np.zeros(LANES, np.int32),
        }
        sampler = Sampler(normalized=True, compare="greater_equal")
        given = [values[name] for name in parameters]
        line = f"{message}.R (M1, 8) 0x0:uw S1 T6 V40.0 {{p}}"
        got = result(line, Image(self.ARRAY), given, sampler)
        plain = result(
            "sample4.R (M1, 8) 0x0:uw S1 T6 V40.0 {p}",
            Image(self.ARRAY),
            (self.U, self.V),
            sampler,
        )
        for row, texel, reference in zip(got, plain, self.REFERENCE.tolist(), strict=True):
            assert row == [float(reference >= part) for part in texel]


class TestComparisonsOfLevels:
    """Bias, gradients and limits choose levels of compared reads as of others."""

    ARRAYS = tuple(
        (RNG.integers(0, 5, (height, width, 1)) / 4).astype(np.float32)
        for height, width in ((8, 16), (4, 8), (2, 4), (1, 2), (1, 1))
    )
    IMAGE = Image(ARRAYS[0], levels=ARRAYS[1:])
    REFERENCE = floats(0, 0.25, 0.5, 0.75, 1, 0.5, 0.25, 0.75)
    U, V = mixed_coordinates(0, 1), mixed_coordinates(0, 1)
    EXTRA = floats(-3, 0, 0.25, 1.5, 1.75, 2.498, 4, -0.5)
    GRADIENTS = tuple((RNG.integers(-64, 65, LANES) / 128).astype(np.float32) for _ in range(4))

    def neighbours(self, lane):
        first = lane // 4 * 4
        right, below = (
            [float(axis[first + step]) - float(axis[first]) for axis in (self.U, self.V)]
            for step in (1, 2)
        )
        return samplers.detail(right, below, SIZES)

    def given(self, message):
        """Return parameters of a message; levels of detail and least ones of the channels."""
        lanes, extra = range(LANES), self.EXTRA.astype(float)
        dudx, dudy, dvdx, dvdy = self.GRADIENTS
        around = [self.neighbours(n) for n in lanes]
        match message:
            case "sample_d_c":
                parameters = (self.U, dudx, dudy, self.V, dvdx, dvdy)
                details = [
                    samplers.detail((dudx[n], dvdx[n]), (dudy[n], dvdy[n]), SIZES) for n in lanes
                ]
                return (self.REFERENCE, *parameters), details, [0.0] * LANES
            case "sample_b_c":
                details, least = [around[n] + extra[n] for n in lanes], [0.0] * LANES
            case "sample_c_mlod":
                details, least = around, extra.tolist()
            case _:
                details, least = extra.tolist(), [0.0] * LANES
        return (self.REFERENCE, self.EXTRA, self.U, self.V), details, least

    @pytest.mark.parametrize("mip", ["nearest", "linear"])
    @pytest.mark.parametrize("chosen", ["nearest", "linear"])
    @pytest.mark.parametrize("message", ["sample_b_c", "sample_d_c", "sample_c_mlod", "sample_l_c"])
    def test_they_are_those_of_the_model(self, message, chosen, mip):
        parameters, details, least = self.given(message)
        sampler = smooth(mip, chosen, compare="less_equal", bias=0.25, min_lod=0.5, max_lod=3.25)
        line = f"{message}.R (M1, 8)  0x0:uw S1 T6 V40.0 {{p}}"
        got = result(line, self.IMAGE, parameters, sampler, registers=1)
        for n in range(LANES):

            def read(level, n=n):
                share = samplers.compare(
                    "r:float",
                    "less_equal",
                    level,
                    (self.U[n], self.V[n]),
                    self.REFERENCE[n],
                    address="clamp_to_edge",
                    linear=chosen == "linear",
                    normalized=True,
                )
                return [float(share)]

            lod = samplers.limited(details[n] + 0.25, 5, max(0.5, least[n]), 3.25)
            assert got[n] == samplers.mixed(
                "r:float", self.ARRAYS, lod, read, linear=mip == "linear"
            )


class TestGathers:
    @pytest.mark.parametrize("component", "RG")
    @pytest.mark.parametrize(
        ("message", "lod"),
        [("sample4", 0), ("sample4_l", 2), ("sample4_b", 1), ("sample4_i", 0)],
    )
    def test_they_read_the_nearest_level(self, message, lod, component):
        u, v = mixed_coordinates(), mixed_coordinates()
        u[1::4], v[2::4] = u[::4] + np.float32(1 / 16), v[::4] + np.float32(1 / 8)
        u[2::4], v[1::4] = u[::4], v[::4]
        before = [np.full(LANES, lod, np.float32)] if message[-1] in "lb" else []
        details = [lod] * LANES
        if message[-1] in "bi":
            details = [
                lod + np.log2(max(np.hypot((u[f + 1] - u[f]) * 16.0, 0), (v[f + 2] - v[f]) * 8.0))
                for f in (0, 0, 0, 0, 4, 4, 4, 4)
            ]
        got = result(
            f"{message}.{component} (M1, 8) 0x0:uw S1 T6 V40.0 {{p}}",
            LEVELS,
            (*before, u, v),
            smooth("nearest", "nearest"),
        )
        for n in range(LANES):
            level = PYRAMID[int(np.floor(min(max(details[n], 0), 4) + 0.5))]
            axes = [
                [i for i, _ in model.axis_linear(c[n], size, "clamp_to_edge", True)]
                for c, size in ((u, level.shape[1]), (v, level.shape[0]))
            ]
            (left, right), (top, bottom) = axes
            corners = [(bottom, left), (bottom, right), (top, right), (top, left)]
            assert got[n] == [float(level[at]["RG".index(component)]) for at in corners]


class TestBorders:
    def test_outside_is_the_border_colour(self):
        array = np.ones((2, 2, 2), np.float32)
        border = (0.25, 0.5, 0.75, 0.125)
        sampler = Sampler(address="clamp", normalized=True, border=border)
        u = np.full(LANES, 7, np.float32)
        got = result(
            "sample_lz.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}", Image(array), (u, u), sampler
        )
        assert got == [[0.25, 0.5, 0, 1]] * LANES

    def test_integers_have_integer_borders(self):
        array = np.ones((2, 2, 4), np.int32)
        sampler = Sampler(address="clamp", normalized=True, border=(1, -2, 3, 4))
        u = np.full(LANES, 7, np.float32)
        got = run("sample_lz.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}", Image(array), (u, u), sampler)
        assert got.view(np.int32).T.tolist() == [[1, -2, 3, 4]] * LANES


class TestCubes:
    DIRECTIONS = (
        floats(1, -1, 0.25, 0.25, 0.5, -0.75, 0.5, 3),
        floats(0.5, 0.25, 2, -2, 0.25, 0.25, 0.5, 1),
        floats(-0.25, 0.75, 1, 0.5, 4, -1, 0.5, -3),
    )

    @pytest.mark.parametrize("chosen", ["nearest", "linear"])
    @pytest.mark.parametrize("cubes", [1, 3])
    def test_a_direction_meets_a_face(self, cubes, chosen):
        array = texels(6 * cubes, 8, 8)
        sampler = Sampler(filter=chosen, normalized=True)
        index = floats(0, 1, 2, 0.5, 1.5, 2.5, 7, -3)
        parameters = (*self.DIRECTIONS, *([index] if cubes > 1 else []))
        kind = "cube_array" if cubes > 1 else "cube"
        got = result(
            "sample_lz.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            Image(array, kind=kind),
            parameters,
            sampler,
        )
        for n in range(LANES):
            face, u, v = samplers.face([axis[n] for axis in self.DIRECTIONS])
            cube = min(max(round(float(index[n])), 0), cubes - 1)
            want = model.sample(
                "rg:float",
                array[6 * cube + face],
                (u, v),
                address="clamp_to_edge",
                linear=chosen == "linear",
                normalized=True,
            )
            assert got[n] == want

    def test_the_level_follows_from_gradients_on_the_face(self):
        pyramid = [texels(6, 8, 8), texels(6, 4, 4), texels(6, 2, 2), texels(6, 1, 1)]
        image = Image(pyramid[0], kind="cube", levels=pyramid[1:])
        x, y, z = np.full(LANES, 2, np.float32), floats(*[0.25] * 8), floats(*[-0.5] * 8)
        zeros = np.zeros(LANES, np.float32)
        dydx = floats(0, 0.125, 0.25, 0.5, 1, 1.5, 2, 4)
        parameters = (x, zeros, zeros, y, dydx, zeros, z, zeros, zeros)
        got = result(
            "sample_d.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}", image, parameters, smooth("nearest")
        )
        for n in range(LANES):
            # On face +x, v = (1 - y / x) / 2.
            face, u, v = samplers.face((x[n], y[n], z[n]))
            lod = samplers.limited(samplers.detail((0, dydx[n] / 4), (0, 0), (8, 8)), 4)
            level = pyramid[int(np.floor(lod + 0.5))]
            want = model.sample(
                "rg:float",
                level[face],
                (u, v),
                address="clamp_to_edge",
                linear=True,
                normalized=True,
            )
            assert got[n] == want

    def test_no_direction_is_undefined(self):
        zeros = (np.zeros(LANES, np.float32),) * 3
        with pytest.raises(FaultError, match="not a finite number"):
            run(
                "sample_lz.R (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
                Image(texels(6, 2, 2), kind="cube"),
                zeros,
            )
