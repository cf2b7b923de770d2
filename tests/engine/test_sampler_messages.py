"""Every operation of the sampler does to an image what an independent model says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model import images as model
from tests.model import samplers
from visim import Image, Sampler
from visim.errors import ArgumentError, FaultError

from .sampling import (
    LANES,
    LEVELS,
    PYRAMID,
    RNG,
    SIZES,
    at_levels,
    floats,
    mixed_coordinates,
    read,
    result,
    run,
    smooth,
    texels,
)


class TestLevels:
    U, V = mixed_coordinates(), mixed_coordinates()
    LOD = floats(-3, 0, 0.25, 1.5, 1.75, 2.498, 4, 9)

    @pytest.mark.parametrize("mip", ["nearest", "linear"])
    @pytest.mark.parametrize("chosen", ["nearest", "linear"])
    def test_sample_l_reads_the_level_that_it_names(self, mip, chosen):
        got = result(
            "sample_l.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (self.LOD, self.U, self.V),
            smooth(mip, chosen),
        )
        linear = chosen == "linear"
        assert got == at_levels(self.U, self.V, self.LOD, mip=mip, linear=linear)

    def test_sample_lz_reads_level_0(self):
        got = result(
            "sample_lz.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}", LEVELS, (self.U, self.V), smooth()
        )
        assert got == at_levels(self.U, self.V, [0] * LANES)

    def test_a_sampler_without_levels_reads_level_0(self):
        got = result(
            "sample_l.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (self.LOD, self.U, self.V),
            smooth("none"),
        )
        assert got == at_levels(self.U, self.V, [0] * LANES)

    def test_bias_and_limits_of_the_sampler(self):
        sampler = smooth(bias=0.5, min_lod=0.75, max_lod=2.25)
        got = result(
            "sample_l.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (self.LOD, self.U, self.V),
            sampler,
        )
        details = [samplers.limited(lod + 0.5, 5, 0.75, 2.25) for lod in self.LOD.astype(float)]
        assert got == at_levels(self.U, self.V, details)

    def test_sample_d_computes_the_level_from_gradients(self):
        gradients = [(RNG.integers(-64, 65, LANES) / 128).astype(np.float32) for _ in range(4)]
        dudx, dudy, dvdx, dvdy = gradients
        got = result(
            "sample_d.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (self.U, dudx, dudy, self.V, dvdx, dvdy),
            smooth(),
        )
        details = [
            samplers.detail((dudx[n], dvdx[n]), (dudy[n], dvdy[n]), SIZES) for n in range(LANES)
        ]
        assert got == at_levels(self.U, self.V, details)

    # Squares whose channels are 1/4 and 1/2 (in texels: 4 and 4) apart.
    SQUARE_U = floats(0.1, 0.35, 0.1, 0.35, 0.5, 0.5625, 0.5, 0.5625)
    SQUARE_V = floats(0.2, 0.2, 0.7, 0.7, 0.25, 0.25, 0.25, 0.25)

    def details(self, bias=0.0):
        found = []
        for n in range(LANES):
            first = n // 4 * 4
            right = [float(a[first + 1]) - float(a[first]) for a in (self.SQUARE_U, self.SQUARE_V)]
            below = [float(a[first + 2]) - float(a[first]) for a in (self.SQUARE_U, self.SQUARE_V)]
            found.append(samplers.detail(right, below, SIZES, bias))
        return found

    def test_sample_3d_computes_the_level_from_its_neighbours(self):
        got = result(
            "sample_3d.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (self.SQUARE_U, self.SQUARE_V),
            smooth(),
        )
        assert got == at_levels(self.SQUARE_U, self.SQUARE_V, self.details())

    def test_sample_b_adds_a_bias(self):
        bias = np.full(LANES, 0.5, np.float32)
        got = result(
            "sample_b.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (bias, self.SQUARE_U, self.SQUARE_V),
            smooth(),
        )
        assert got == at_levels(self.SQUARE_U, self.SQUARE_V, self.details(0.5))

    def test_sample_mlod_has_a_least_level(self):
        least = np.full(LANES, 1.5, np.float32)
        got = result(
            "sample_mlod.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (least, self.SQUARE_U, self.SQUARE_V),
            smooth(),
        )
        details = [max(lod, 1.5) for lod in self.details()]
        assert got == at_levels(self.SQUARE_U, self.SQUARE_V, details)

    def test_inactive_neighbours_count(self):
        set_up = "    setp (M1_NM, 8) P1 0x11:ud"
        text = "(P1) sample_3d.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}"
        got = run(
            text,
            LEVELS,
            (self.SQUARE_U, self.SQUARE_V),
            smooth(),
            set_up=set_up,
        )
        want = at_levels(self.SQUARE_U, self.SQUARE_V, self.details())
        rows = got.view(np.float32).T.tolist()
        assert [rows[0], rows[4]] == [want[0], want[4]]
        assert rows[1] == [0.0] * 4

    def test_lod_gives_the_level_with_and_without_limits(self):
        bias = 0.25
        got = result(
            "lod.RG (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            LEVELS,
            (self.SQUARE_U, self.SQUARE_V),
            smooth(bias=bias, max_lod=1.5),
            registers=2,
        )
        want = self.details(bias)
        clamped = [samplers.limited(lod, 5, 0, 1.5) for lod in want]
        assert got == np.array([clamped, want], np.float32).T.tolist()

    def test_levels_need_normalized_coordinates(self):
        with pytest.raises(FaultError, match="levels of detail with coordinates in texels"):
            run(
                "sample_lz.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
                LEVELS,
                (self.U, self.V),
                Sampler(mip="linear"),
            )

    def test_load_l_has_the_level_last(self):
        u = np.arange(LANES, dtype=np.int32) % 3
        v, r, lod = u[::-1].copy(), np.zeros(LANES, np.int32), np.array([0, 1, 2, 3] * 2, np.int32)
        parameters = (u, v, lod), (u, v, r, lod)
        lines = (f"load_{name}.RG (M1, 8)  0x0:uw T6 V40.0 {{p}}" for name in ("3d", "l"))
        found = [
            result(line, LEVELS, given, None, device="bmg")
            for line, given in zip(lines, parameters, strict=True)
        ]
        assert found[0] == found[1]
        assert len(set(map(tuple, found[0]))) > 2

    def test_offsets_of_sample4_po_share_a_parameter_on_xe2(self):
        given = (self.U, self.V, np.zeros(LANES, np.float32), np.zeros(LANES, np.int32))
        line = "sample4_po.R (M1, 8) 0x0:uw S1 T6 V40.0 {p}"
        with pytest.raises(FaultError, match="how offsets share a parameter"):
            run(line, LEVELS, given, device="bmg")

    def test_load_3d_reads_any_level(self):
        u, v = np.arange(8, dtype=np.int32) % 2, np.zeros(8, np.int32)
        lod = np.array([0, 1, 2, 3, 4, 5, -1, 0], np.int32)
        got = result("load_3d.RG (M1, 8)  0x0:uw T6 V40.0 {p}", LEVELS, (u, v, lod), None)
        want = [
            PYRAMID[level][0, x].tolist() if 0 <= level < 5 and x < PYRAMID[level].shape[1] else 2
            for x, level in zip(u, lod, strict=True)
        ]
        assert [row[:2] for row in got] == [[0, 0] if w == 2 else w for w in want]


class TestOffsets:
    @pytest.mark.parametrize("address", ["clamp", "clamp_to_edge", "repeat", "mirrored_repeat"])
    @pytest.mark.parametrize("chosen", ["nearest", "linear"])
    def test_offsets_move_the_texels_before_they_are_wrapped(self, address, chosen):
        size = (8, 4)
        array = texels(4, 8)
        # Off the texels' edges, so that mirrored coordinates mean the same texel from both sides.
        u = ((RNG.integers(-16, 24, LANES) + 0.25) / 16).astype(np.float32) / 2 + np.float32(1 / 64)
        v = ((RNG.integers(-8, 12, LANES) + 0.25) / 8).astype(np.float32) / 2 + np.float32(1 / 64)
        sampler = Sampler(address=address, filter=chosen, normalized=True)
        # u + 3, v - 2
        message = "sample_lz.RGBA (M1, 8)  0x3e0:uw S1 T6 V40.0 {p}"
        got = result(message, Image(array), (u, v), sampler)
        want = [
            model.sample(
                "rg:float",
                array,
                [u[n] + np.float32(3 / size[0]), v[n] - np.float32(2 / size[1])],
                address=address,
                linear=chosen == "linear",
                normalized=True,
            )
            for n in range(LANES)
        ]
        assert got == want

    def test_loads_take_offsets_too(self):
        array = texels(4, 8)
        u, v = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32), np.ones(8, np.int32)
        got = result("load_lz.RG (M1, 8)  0xf10:uw T6 V40.0 {p}", Image(array), (u, v), None)
        want = [[0.0, 0.0], *(array[2, x - 1].tolist() for x in range(1, 8))]
        assert [row[:2] for row in got] == want

    def test_sample4_po_has_offsets_for_each_channel(self):
        array = texels(16, 16)
        u = v = np.full(LANES, 0.5, np.float32)
        offu = np.array([0, 1, -3, 7, -8, 2, 0, 31], np.int32)
        offv = np.array([0, -2, 3, 0, 7, -8, 5, 0], np.int32)
        got = result(
            "sample4_po.G (M1, 8) 0x0:uw S1 T6 V40.0 {p}", Image(array), (u, v, offu, offv), None
        )
        for n in range(LANES):
            x = np.clip([7 + offu[n], 8 + offu[n]], 0, 15)
            y = np.clip([7 + offv[n], 8 + offv[n]], 0, 15)
            corners = [(y[1], x[0]), (y[1], x[1]), (y[0], x[1]), (y[0], x[0])]
            assert got[n] == [float(array[at][1]) for at in corners]


class TestKinds:
    def test_levels_of_3d_images_halve_all_axes(self):
        pyramid = [texels(4, 4, 8), texels(2, 2, 4), texels(1, 1, 2), texels(1, 1, 1)]
        image = Image(pyramid[0], kind="3d", levels=pyramid[1:])
        u, v, r = mixed_coordinates(), mixed_coordinates(), mixed_coordinates()
        lod = floats(0, 0.5, 1, 1.25, 2, 2.75, 3, 8)
        got = result(
            "sample_l.RGBA (M1, 8)  0x0:uw S1 T6 V40.0 {p}", image, (lod, u, v, r), smooth()
        )
        want = [
            samplers.mixed(
                "rg:float",
                pyramid,
                samplers.limited(float(lod[n]), 4),
                read((u[n], v[n], r[n])),
                linear=True,
            )
            for n in range(LANES)
        ]
        assert got == want

    def test_levels_of_arrays_keep_their_layers(self):
        pyramid = [texels(3, 4, 4), texels(3, 2, 2), texels(3, 1, 1)]
        image = Image(pyramid[0], kind="2d_array", levels=pyramid[1:])
        lod = np.zeros(LANES, np.int32)
        lod[:] = [0, 0, 1, 1, 2, 2, 3, 0]
        sizes = run("resinfo.RGBA (M1, 8)  T6 {p} V40.0", image, (lod,)).T.tolist()
        assert sizes[:6] == [[4, 4, 3, 3]] * 2 + [[2, 2, 3, 3]] * 2 + [[1, 1, 3, 3]] * 2


class TestOptions:
    ARRAY = texels(2, 8)
    U, V = mixed_coordinates(), mixed_coordinates()

    def test_a_mask_of_null_pixels_follows_the_data(self):
        got = run(
            "sample_lz.pixel_null_mask.RG (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            Image(self.ARRAY),
            (self.U, self.V),
        )
        assert got[2].tolist() == [0xFF, 0, 0, 0, 0, 0, 0, 0]
        assert got[3].tolist() == [0] * LANES

    def test_coarse_shading_and_samplers_of_threads_change_nothing(self):
        plain = run(
            "sample_3d.RG (M1, 8)  0x0:uw S1 T6 V40.0 {p}", Image(self.ARRAY), (self.U, self.V)
        )
        marked = run(
            "sample_3d.cps.divS.RG (M1, 8)  0x0:uw S1 T6 V40.0 {p}",
            Image(self.ARRAY),
            (self.U, self.V),
        )
        assert np.array_equal(plain, marked)

    def test_images_have_one_sample(self):
        got = run("sampleinfo.RA (M1, 8)  T6 V41.0", Image(self.ARRAY), ())
        assert got[:2].tolist() == [[1] * LANES, [0] * LANES]

    def test_states_in_memory_are_found_by_their_offset(self):
        plain = run(
            "sample_lz.RG (M1, 8)  0x0:uw S1 T6 V40.0 {p}", Image(self.ARRAY), (self.U, self.V)
        )
        set_up = "    movs (M1_NM, 1) S31(0) 0x30:ud\n    movs (M1_NM, 1) %bss(0) 0x40:ud"
        bindless = run(
            "sample_lz.RG (M1, 8)  0x0:uw S31 %bss V40.0 {p}",
            Image(self.ARRAY),
            (self.U, self.V),
            set_up=set_up,
        )
        assert np.array_equal(plain, bindless)


class TestRefusals:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("load_mcs.R (M1, 8)  0x0:uw T6 V40.0 {p}", "several samples"),
            ("load_2dms_w.R (M1, 8)  0x0:uw T6 V40.0 {p}", "several samples"),
            ("sample4_c.G (M1, 8) 0x0:uw S1 T6 V40.0 {p}", "a comparison with component G"),
            ("lod.B (M1, 8)  0x0:uw S1 T6 V40.0 {p}", "components other than R and G"),
        ],
    )
    def test_what_is_not_defined_stops_the_run(self, line, reason):
        u = np.zeros(LANES, np.float32)
        with pytest.raises(FaultError, match=reason):
            run(line, Image(texels(2, 2)), (u, u))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"mip": "cubic"}, "mip: 'cubic' is not known"),
            ({"compare": "les"}, "did you mean 'less'"),
            ({"min_lod": 2, "max_lod": 1}, "min_lod 2.0 is above max_lod 1.0"),
            ({"bias": float("nan")}, "bias is nan"),
            ({"border": (1, 2)}, "four numbers"),
        ],
    )
    def test_a_sampler_that_is_none_cannot_be_made(self, options, message):
        with pytest.raises(ArgumentError, match=message):
            Sampler(**options)

    @pytest.mark.parametrize(
        ("shape", "options", "message"),
        [
            ((4, 4), {"levels": [np.zeros((2, 3), np.float32)]}, r"level 1 is .* expected"),
            ((5, 2, 2), {"kind": "cube"}, "6 square faces"),
            ((7, 2, 2), {"kind": "cube_array"}, "6 square faces"),
        ],
    )
    def test_an_image_that_is_none_cannot_be_made(self, shape, options, message):
        with pytest.raises(ArgumentError, match=message):
            Image(np.zeros(shape, np.float32), **options)
