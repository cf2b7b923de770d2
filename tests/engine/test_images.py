"""Messages to images put parameters and results where the pages of the manual say.

Each test is a bare kernel whose registers are stored as they are afterwards. Layouts are those of
3D_SAMPLE, 3D_SAMPLE4, 3D_LOAD, INFO, GATHER4_TYPED, SCATTER4_TYPED, MEDIA_LD and MEDIA_ST.
"""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim import Image, Sampler

HEAD = """
.version 4.1
.kernel "k"
.decl V32 v_type=G type=f num_elts=64 align=GRF
.decl V33 v_type=G type=ud num_elts=64 align=GRF alias=<V32, 0>
.decl V34 v_type=G type=hf num_elts=128 align=GRF alias=<V32, 0>
.decl V40 v_type=G type=ud num_elts=64 align=GRF
.decl V41 v_type=G type=f num_elts=64 align=GRF alias=<V40, 0>
.decl V42 v_type=G type=hf num_elts=128 align=GRF alias=<V40, 0>
.decl V43 v_type=G type=uw num_elts=128 align=GRF alias=<V40, 0>
.decl V44 v_type=G type=ub num_elts=256 align=GRF alias=<V40, 0>
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.decl S1 v_type=S num_elts=1
.decl P1 v_type=P num_elts=8
.input V33 offset=64 size=256
.kernel_attr SimdSize=SIMD
    movs (M1_NM, 1) T6(0) 0x1:ud
    movs (M1_NM, 1) T7(0) 0x2:ud
    movs (M1_NM, 1) S1(0) 0x0:ud
    mov (M1_NM, 16) V40(0,0)<1> 0xeeeeeeee:ud
    mov (M1_NM, 16) V40(2,0)<1> 0xeeeeeeee:ud
    mov (M1_NM, 16) V40(4,0)<1> 0xeeeeeeee:ud
    mov (M1_NM, 16) V40(6,0)<1> 0xeeeeeeee:ud
"""
TAIL = """
    oword_st (8) T7 0x0:ud V40.0
    oword_st (8) T7 0x8:ud V40.128
    ret (M1, 1)
"""
UNTOUCHED = 0xEEEEEEEE


def run(lines, image, parameters=(), *, sampler=None, simd=8, device="skl"):
    """Run lines that read V32 (payload) and write V40; return V40 as 8 registers of 8 dwords."""
    text = HEAD.replace("SimdSize=SIMD", f"SimdSize={simd}") + lines + TAIL
    payload = np.zeros(64, np.uint32)
    given = b"".join(parameter.tobytes() for parameter in parameters)
    payload.view(np.uint8)[: len(given)] = np.frombuffer(given, np.uint8)
    out = np.zeros(64, np.uint32)
    kernel = visim.assemble(text, platform=device)["k"]
    kernel.launch(
        [payload.tobytes()],
        surfaces={1: image, 2: out},
        samplers={0: sampler or Sampler()},
    )
    return out.reshape(8, 8)


def picture(shape=(4, 8), channels=4):
    """Texel (x, y) has the components 1000 * c + 10 * y + x."""
    full = (*shape, channels)
    y, x, c = np.indices(full)
    return (1000 * c + 10 * y + x).astype(np.uint32)


X = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.uint32)
Y = np.array([0, 1, 2, 3, 3, 2, 1, 0], np.uint32)


class TestLoads:
    def test_enabled_components_follow_one_another(self):
        texels = picture()
        out = run("load_lz.GA (M1, 8) 0x0:uw T6 V40.0 V32.0 V32.32", Image(texels), (X, Y))
        assert out[0].tolist() == texels[Y, X, 1].tolist()
        assert out[1].tolist() == texels[Y, X, 3].tolist()
        assert (out[2:] == UNTOUCHED).all()

    def test_level_of_detail_stands_before_r(self):
        volume = np.arange(3 * 2 * 4, dtype=np.uint32).reshape(3, 2, 4)
        z = np.array([0, 1, 2, 0, 1, 2, 0, 3], np.uint32)
        lod = np.array([0, 0, 0, 0, 0, 0, 1, 0], np.uint32)
        x, y = X % 4, Y % 2
        lines = "load_3d.R (M1, 8) 0x0:uw T6 V40.0 V32.0 V32.32 V32.64 V32.96"
        out = run(lines, Image(volume, kind="3d"), (x, y, lod, z))
        assert out[0, :6].tolist() == volume[z[:6], y[:6], x[:6]].tolist()
        assert out[0, 6:].tolist() == [0, 0]

    def test_parameters_that_are_left_out_are_0(self):
        texels = picture()
        out = run("load_lz.R (M1, 8) 0x0:uw T6 V40.0 V32.0", Image(texels), (X,))
        assert out[0].tolist() == texels[0, X, 0].tolist()

    def test_only_enabled_channels_are_written(self):
        lines = """
        cmp.lt (M1_NM, 8) P1 V33(0,0)<1;1,0> 0x3:ud
        (P1) load_lz.R (M1, 8) 0x0:uw T6 V40.0 V32.0"""
        out = run(lines, Image(picture()), (X,))
        assert out[0].tolist() == [0, 1, 2] + [UNTOUCHED] * 5

    def test_sixteen_channels_fill_two_registers(self):
        x = np.arange(16, dtype=np.uint32) % 8
        out = run("load_lz.RG (M1, 16) 0x0:uw T6 V40.0 V32.0", Image(picture()), (x,), simd=16)
        assert out[:2].reshape(-1).tolist() == x.tolist()
        assert out[2:4].reshape(-1).tolist() == (x + 1000).tolist()

    def test_narrow_destinations_hold_low_halves(self):
        out = run("load_lz.RG (M1, 8) 0x0:uw T6 V43.0 V32.0", Image(picture() + 65536), (X,))
        halves = out.view(np.uint16)
        assert halves[0, :8].tolist() == X.tolist()
        assert halves[1, :8].tolist() == (X + 1000).tolist()
        assert (out[0, 4:] == UNTOUCHED).all()


class TestSamples:
    ROW = np.array([0, 2, 4, 8, 16, 32, 64, 128], np.float32)

    @pytest.mark.parametrize(
        ("mnemonic", "before"),
        [("sample_3d", 0), ("sample_lz", 0), ("sample_l", 1), ("sample_b", 1)],
    )
    def test_coordinates_follow_bias_or_level(self, mnemonic, before):
        u = X.astype(np.float32) + np.float32(0.5)
        first = [np.full(8, 7, np.float32)] * before
        places = " ".join(f"V32.{32 * n}" for n in range(before + 1))
        lines = f"{mnemonic}.RA (M1, 8) 0x0:uw S1 T6 V41.0 {places}"
        out = run(lines, Image(self.ROW, kind="1d"), (*first, u)).view(np.float32)
        assert out[0].tolist() == self.ROW.tolist()
        assert out[1].tolist() == [1.0] * 8

    def test_half_parameters_and_results(self):
        u = np.zeros(16, np.float16)
        u[:8] = np.arange(8) + 0.75
        sampler = Sampler(filter="linear")
        lines = "sample_lz.R (M1, 8) 0x0:uw S1 T6 V42.0 V34.0"
        out = run(lines, Image(self.ROW, kind="1d"), (u,), sampler=sampler, device="tgllp")
        mixed = 0.75 * self.ROW + 0.25 * np.append(self.ROW[1:], self.ROW[-1])
        assert out.view(np.float16)[0, :8].tolist() == mixed.astype(np.float16).tolist()

    def test_sample4_gives_the_four_texels_of_a_linear_filter(self):
        texels = picture().astype(np.float32)
        u = np.array([1.0, 1.5, 2.25, 0, 8, 3, 3, 3], np.float32)
        v = np.array([1.0, 1.0, 1.75, 0, 4, 2, 2, 2], np.float32)
        lines = "sample4.G (M1, 8) 0x0:uw S1 T6 V41.0 V32.0 V32.32"
        out = run(lines, Image(texels), (u, v)).view(np.float32)
        left = np.array([0, 1, 1, 0, 7, 2, 2, 2])
        right = np.array([1, 2, 2, 0, 7, 3, 3, 3])
        top = np.array([0, 0, 1, 0, 3, 1, 1, 1])
        bottom = np.array([1, 1, 2, 0, 3, 2, 2, 2])
        corners = [(bottom, left), (bottom, right), (top, right), (top, left)]
        for row, (y, x) in zip(out, corners, strict=False):
            assert row.tolist() == texels[y, x, 1].tolist()


class TestQuestions:
    def test_sizes_by_level(self):
        image = Image(np.zeros((3, 5, 9), np.float32), kind="2d_array")
        lod = np.array([0, 1, 2, 3, 4, 0, 0, 0], np.uint32)
        out = run("resinfo.RGBA (M1, 8) T6 V32.0 V40.0", image, (lod,))
        assert out[0, :5].tolist() == [9, 4, 2, 1, 0]
        assert out[1, :5].tolist() == [5, 2, 1, 0, 0]
        assert out[2, :5].tolist() == [3] * 5
        assert out[3, :5].tolist() == [1] * 5


class TestTyped:
    def test_reads_convert_and_skip_components(self):
        texels = np.arange(32, dtype=np.uint8).reshape(1, 8, 4)
        lines = "gather4_typed.RA (M1, 8) T6 V32.0 V32.32 %null.0 %null.0 V40.0"
        out = run(lines, Image(texels, format="bgra:unorm8"), (X, X * 0)).view(np.float32)
        assert out[0].tolist() == (texels[0, :, 2] / np.float32(255)).tolist()
        assert out[1].tolist() == (texels[0, :, 3] / np.float32(255)).tolist()

    def test_reads_outside_are_opaque_zeros(self):
        lines = "gather4_typed.RGBA (M1, 8) T6 V32.0 V32.32 %null.0 %null.0 V40.0"
        out = run(lines, Image(picture((1, 2))), (X + 2, X))
        assert out[:4].tolist() == [[0] * 8, [0] * 8, [0] * 8, [1] * 8]

    def test_writes_convert_and_leave_other_components(self):
        texels = np.full((1, 8, 4), 9, np.uint8)
        red = np.linspace(-1, 2, 8, dtype=np.float32)
        blue = np.linspace(0, 1, 8, dtype=np.float32)
        lines = "scatter4_typed.RB (M1, 8) T6 V32.0 V32.32 %null.0 %null.0 V32.64"
        run(lines, Image(texels, format="rgba:unorm8"), (X, X * 0, red, blue))
        assert texels[0, :, 0].tolist() == np.rint(red.clip(0, 1).astype(float) * 255).tolist()
        assert texels[0, :, 2].tolist() == np.rint(blue.astype(float) * 255).tolist()
        assert (texels[0, :, [1, 3]] == 9).all()

    def test_linear_surfaces_are_no_images(self):
        lines = "gather4_typed.R (M1, 8) T6 V32.0 V32.32 %null.0 %null.0 V40.0"
        with pytest.raises(visim.FaultError, match="holds a linear surface, not an image"):
            run(lines, np.zeros((4, 4), np.uint32))


class TestMediaBlocks:
    BYTES = np.arange(8 * 80, dtype=np.uint32).astype(np.uint8).reshape(8, 80)

    @pytest.mark.parametrize(
        ("width", "height", "pitch"),
        [(1, 8, 4), (4, 8, 4), (5, 8, 8), (12, 4, 16), (17, 3, 32), (32, 4, 32), (40, 2, 64)],
    )
    def test_rows_stand_at_the_register_pitch(self, width, height, pitch):
        lines = f"media_ld.nomod ({width},{height}) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V40.0"
        image = Image(self.BYTES)
        out = run(lines, image, (np.array([7, 2], np.uint32),)).reshape(-1).view(np.uint8)
        rows = out[: height * pitch].reshape(height, pitch)
        # The last rows repeat where the block leaves the surface.
        lines_read = np.minimum(2 + np.arange(height), 7)
        assert np.array_equal(rows[:, :width], self.BYTES[lines_read, 7 : 7 + width])
        assert (rows[:, width:] == 0xEE).all()
        assert (out[height * pitch :] == 0xEE).all()

    def test_arrays_of_two_dimensions_have_blocks_too(self):
        corner = np.array([-2, -1], np.int32)
        lines = "media_ld.nomod (4,2) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V40.0"
        out = run(lines, self.BYTES.copy(), (corner,)).reshape(-1).view(np.uint8)
        assert out[:8].tolist() == [0, 0, 0, 1] * 2

    def test_writes_take_rows_at_the_register_pitch(self):
        array = np.zeros((4, 24), np.uint8)
        payload = np.arange(1, 65, dtype=np.uint8)
        corner = np.array([8, 1], np.uint32)
        lines = "media_st.nomod (12,4) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V32.32"
        run(lines, Image(array), (corner, np.zeros(6, np.uint32), payload))
        want = np.zeros_like(array)
        want[1:, 8:20] = payload.reshape(4, 16)[:3, :12]
        assert np.array_equal(array, want)

    @pytest.mark.parametrize(("mode", "first"), [("top", 0), ("bottom", 1)])
    def test_a_field_has_every_second_row(self, mode, first):
        corner = np.array([4, 1], np.uint32)
        lines = f"media_ld.{mode} (8,4) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V40.0"
        out = run(lines, Image(self.BYTES), (corner,)).reshape(-1).view(np.uint8)
        # The field has 4 rows, of which the last repeats.
        field = self.BYTES[first::2][[1, 2, 3, 3], 4:12]
        assert np.array_equal(out[:32].reshape(4, 8), field)
        array = np.zeros((6, 16), np.uint8)
        payload = np.arange(1, 33, dtype=np.uint8)
        lines = f"media_st.{mode} (8,4) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V32.32"
        run(lines, Image(array), (corner, np.zeros(6, np.uint32), payload))
        want = np.zeros_like(array)
        want[first::2][1:3, 4:12] = payload.reshape(4, 8)[:2]
        assert np.array_equal(array, want)

    @pytest.mark.parametrize(
        ("mode", "reason"),
        [
            ("modified", "the modifier 'modified'"),
            ("top_mod", "the modifier 'top_mod'"),
            ("bottom_mod", "the modifier 'bottom_mod'"),
        ],
    )
    def test_what_the_page_does_not_define_stops_the_run(self, mode, reason):
        lines = f"media_ld.{mode} (4,2) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V40.0"
        with pytest.raises(visim.FaultError, match=reason):
            run(lines, Image(self.BYTES), (np.zeros(2, np.uint32),))

    @pytest.mark.parametrize(
        ("width", "height", "reason"),
        [(32, 9, "have 1 to 8 rows, not 9"), (65, 1, "1 to 64 bytes wide"), (3, 65, "1 to 64")],
    )
    def test_blocks_of_other_sizes_are_errors(self, width, height, reason):
        lines = f"media_ld.nomod ({width},{height}) T6 0 V33(0,0)<0;1,0> V33(0,1)<0;1,0> V40.0"
        with pytest.raises(visim.InputError, match=reason):
            run(lines, Image(self.BYTES), (np.zeros(2, np.uint32),))
