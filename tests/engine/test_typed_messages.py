"""Typed messages move texels of every format and kind as an independent model says.

Old messages (GATHER4_TYPED, SCATTER4_TYPED, TYPED_ATOMIC) and those of LSC_TYPED do the same.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.model import atomics
from tests.model import images as model
from tests.model import lsc as loops
from visim import Image
from visim.machine.surfaces import Surfaces

from .harness import Outcome, run

LANES = 8
UNTOUCHED = 0xEEEEEEEE
SHAPES = {
    "1d": (7,),
    "1d_buffer": (7,),
    "1d_array": (3, 5),
    "2d": (4, 5),
    "2d_array": (3, 4, 5),
    "3d": (3, 2, 5),
    "cube": (6, 3, 3),
}
ENABLED = 0b11101101
OLD = ("skl", "gather4_typed.{c} (M1, 8) T6 {p} V.0", "scatter4_typed.{c} (M1, 8) T6 {p} V.0")
LSC = (
    "dg2",
    "lsc_load_quad.tgm (M1, 8) V:d32.{x} bti(0x6)[{p}]:a32",
    "lsc_store_quad.tgm (M1, 8) bti(0x6)[{p}]:a32 V:d32.{x}",
)
FAMILIES = pytest.mark.parametrize(("device", "load", "store"), [OLD, LSC], ids=["old", "lsc"])


def places(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Return coordinates u, v, r of all channels; channel 1 is off, 2 and 5 are outside."""
    rng = np.random.default_rng(9)
    count = int(np.prod(shape))
    chosen = rng.permutation(count)[:LANES] if count >= LANES else rng.integers(0, count, LANES)
    axes = [axis.astype(np.uint32) for axis in reversed(np.unravel_index(chosen, shape))]
    axes[-1][2], axes[0][5] = shape[0], np.uint32(0xFFFFFFFF)
    return axes


def go(line: str, image: Image, axes: list[np.ndarray], data: np.ndarray, device: str) -> Outcome:
    surfaces = Surfaces()
    surfaces.bind_image(6, image.memory, "image")
    surfaces.bind_image(7, image.memory, "image")
    names = [f"{'ABC'[n]}{'.0' if 'typed' in line else ''}" for n in range(len(axes))]
    if "typed" in line:
        names += ["%null.0"] * (4 - len(names))
        text = line.replace("{p}", " ".join(names))
    else:
        text = line.replace("{p}", ", ".join(names))
    ended = run(
        f"movs (M1_NM, 1) T6(0) 0x6:ud\n{text}",
        {"V": data, **{"ABC"[n]: axis for n, axis in enumerate(axes)}},
        simd=LANES,
        mask=ENABLED,
        platform=device,
        declarations=".decl T6 v_type=T num_elts=1",
        surfaces=surfaces,
    )
    assert ended.exit.fault is None, ended.exit.fault
    return ended


def letters(line: str, channels: str) -> str:
    small = "".join("xyzw"["RGBA".index(letter)] for letter in channels)
    return line.replace("{c}", channels).replace("{x}", small)


def is_inside(lane: int, axes: list[np.ndarray], shape: tuple[int, ...]) -> bool:
    return all(int(a[lane]) < size for a, size in zip(axes, reversed(shape), strict=True))


def check_load(name: str, kind: str, channels: str, family: tuple[str, str, str]) -> None:
    device, load, _ = family
    shape = SHAPES[kind]
    array, axes = model.random_texels(name, shape), places(shape)
    data = np.full(4 * LANES, UNTOUCHED, np.uint32)
    image = Image(array, kind=kind, format=name)
    ended = go(letters(load, channels), image, axes, data, device)
    found = ended["V"].reshape(4, LANES)
    for lane in range(LANES):
        if not ENABLED >> lane & 1:
            want = [UNTOUCHED] * 4
        elif is_inside(lane, axes, shape):
            at = tuple(int(axis[lane]) for axis in reversed(axes))
            want = model.bits(name, model.read_texel(name, array[at]))
        else:
            want = model.bits(name, [0, 0, 0, 1])
        chosen = [want["RGBA".index(letter)] for letter in channels]
        assert found[: len(channels), lane].tolist() == chosen, lane
    assert (found[len(channels) :] == UNTOUCHED).all()


def check_store(name: str, kind: str, channels: str, family: tuple[str, str, str]) -> None:
    device, _, store = family
    shape = SHAPES[kind]
    array, axes = model.random_texels(name, shape), places(shape)
    rng = np.random.default_rng(4)
    if model.is_integer(name):
        values = rng.integers(-70000, 70000, (4, LANES))
        values = np.abs(values) if "uint" in name else values
        bits = values.astype(np.int64).astype(np.uint32)
    else:
        values = rng.uniform(-1.5, 1.5, (4, LANES)).astype(np.float32)
        bits = values.view(np.uint32)
    before = array.copy()
    image = Image(array, kind=kind, format=name)
    go(letters(store, channels), image, axes, bits.reshape(-1), device)
    order = model.MEMORY[name.split(":")[0]]
    for lane in range(LANES):
        if not ENABLED >> lane & 1 or not is_inside(lane, axes, shape):
            continue
        at = tuple(int(axis[lane]) for axis in reversed(axes))
        rgba = [0, 0, 0, 0]
        for position, letter in enumerate(channels):
            rgba["RGBA".index(letter)] = values[position, lane].item()
        written = model.write_texel(name, rgba)
        for slot, letter in enumerate(order):
            if letter in channels:
                before[at][slot] = written[slot]
    assert np.array_equal(array.view(np.uint8), before.view(np.uint8))


@FAMILIES
class TestTexels:
    @pytest.mark.parametrize("name", model.ALL)
    def test_reads_of_every_format(self, name, device, load, store):
        check_load(name, "2d", "RGBA", (device, load, store))

    @pytest.mark.parametrize("name", model.ALL)
    def test_writes_of_every_format(self, name, device, load, store):
        check_store(name, "2d", "RGBA", (device, load, store))

    @pytest.mark.parametrize("kind", SHAPES)
    def test_every_kind(self, kind, device, load, store):
        check_load("rg:int16", kind, "RGBA", (device, load, store))
        check_store("rg:int16", kind, "RGBA", (device, load, store))

    @pytest.mark.parametrize(
        "channels", ["R", "G", "B", "A", "RG", "RB", "RA", "RGB", "GB", "GA", "GBA", "BA"]
    )
    def test_every_choice_of_components(self, channels, device, load, store):
        check_load("bgra:unorm8", "2d", channels, (device, load, store))
        check_store("bgra:unorm8", "2d", channels, (device, load, store))

    def test_levels_of_detail(self, device, load, store):
        del load
        levels = [np.zeros((4, 4), np.uint32), np.zeros((2, 2), np.uint32)]
        image = Image(levels[0], levels=levels[1:])
        zero, lod = np.zeros(LANES, np.uint32), np.full(LANES, 1, np.uint32)
        u = np.arange(LANES, dtype=np.uint32)
        if device == "dg2":
            line = store.replace("[{p}]", "[A, B, %null, C]")
        else:
            line = store.replace("{p}", "A.0 B.0 %null.0 C.0")
        go(letters(line, "R"), image, [u, zero, lod], u + 1, device)
        assert (levels[0].any(), levels[1].tolist()) == (False, [[1, 0], [0, 0]])


class TestAtomics:
    TEXELS = np.random.default_rng(5).integers(-5, 6, (4, 8))
    OPERANDS = np.random.default_rng(6).integers(-5, 6, (2, LANES))
    U = np.array([0, 1, 2, 1, 4, 0, 1, 9], np.uint32)
    V = np.array([0, 0, 1, 0, 3, 0, 0, 0], np.uint32)

    def compare(self, name, operation, bits, line, device):
        kind, meaning = operation
        dtype = np.dtype(f"{kind}{bits // 8}")
        array, first, second = (part.astype(dtype) for part in (self.TEXELS, *self.OPERANDS))
        count = atomics.operand_count(name)
        cells, expected = array.reshape(-1).copy(), array.copy()
        order = (8 * self.V + self.U).tolist()
        on = ENABLED & 0x7F  # channel 7 is outside
        operands = (first, second)[:count]
        old = loops.atomic(cells, order, on, meaning, operands)
        expected = cells.reshape(array.shape)
        if name == "predec":
            old = old - old.dtype.type(1)
        stored = {"u4": "r:uint32", "i4": "r:int32", "f4": "r:float"}
        stored |= {"u2": "r:uint16", "i2": "r:int16", "f2": "r:half"}
        surfaces = Surfaces()
        image = Image(array, format=stored[dtype.str[1:]])
        surfaces.bind_image(6, image.memory, "image")
        narrow = np.dtype(f"u{bits // 8}")
        ended = run(
            f"movs (M1_NM, 1) T6(0) 0x6:ud\n{line}",
            {
                "V": np.full(LANES, UNTOUCHED, np.uint32),
                "A": self.U,
                "B": self.V,
                "S": first.view(narrow).astype(np.uint32),
                "W": second.view(narrow).astype(np.uint32),
            },
            simd=LANES,
            mask=ENABLED,
            platform=device,
            declarations=".decl T6 v_type=T num_elts=1",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(array, expected)
        want = old.view(narrow).astype(np.uint32)
        want[7] = 0
        off = [not ENABLED >> lane & 1 for lane in range(LANES)]
        want[off] = UNTOUCHED
        assert ended["V"].tolist() == want.tolist()

    @pytest.mark.parametrize("bits", [16, 32])
    @pytest.mark.parametrize("name", atomics.OLDER)
    def test_old_ones(self, name, bits):
        given = [n if at < atomics.operand_count(name) else "%null" for at, n in enumerate("SW")]
        width = ".16" if bits == 16 else ""
        line = (
            f"typed_atomic.{name}{width} (M1, 8) T6 A.0 B.0 %null.0 %null.0 "
            f"{given[0]}.0 {given[1]}.0 V.0"
        )
        self.compare(name, atomics.OLDER[name], bits, line, "tgllp")

    def test_one_channel(self):
        """CM's compiler writes them so, though the page names 8 channels only."""
        array = np.arange(32, dtype=np.uint32).reshape(4, 8)
        surfaces = Surfaces()
        surfaces.bind_image(6, Image(array, format="r:uint32").memory, "image")
        place = np.arange(LANES, dtype=np.uint32)
        ended = run(
            "movs (M1_NM, 1) T6(0) 0x6:ud\n"
            "typed_atomic.add (M1, 1) T6 A.0 B.0 %null.0 %null.0 S.0 %null.0 V.0",
            {"V": place * 0 + UNTOUCHED, "A": place + 3, "B": place + 1, "S": place + 7},
            simd=LANES,
            platform="tgllp",
            declarations=".decl T6 v_type=T num_elts=1",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert ended["V"].tolist() == [11] + [UNTOUCHED] * 7
        expected = np.arange(32).reshape(4, 8)
        expected[1, 3] += 7
        assert np.array_equal(array, expected)

    @pytest.mark.parametrize(("bits", "data"), [(16, "d16u32"), (32, "d32")])
    @pytest.mark.parametrize("name", atomics.OPERATIONS)
    def test_those_of_lsc(self, name, bits, data):
        given = [n if at < atomics.operand_count(name) else "%null" for at, n in enumerate("SW")]
        line = f"lsc_atomic_{name}.tgm (M1, 8) V:{data} bti(0x6)[A, B]:a32 {' '.join(given)}"
        self.compare(name, atomics.OPERATIONS[name], bits, line, "dg2")

    @pytest.mark.parametrize("name", ["rg:uint32", "r:uint16", "rgba:unorm8"])
    def test_texels_have_the_size_of_the_operation(self, name):
        surfaces = Surfaces()
        surfaces.bind_image(
            6, Image(model.random_texels(name, (4, 4)), format=name).memory, "image"
        )
        ended = run(
            "lsc_atomic_iinc.tgm (M1, 8) %null:d32 bti(0x6)[A, A]:a32 %null %null",
            {"A": np.zeros(LANES, np.uint32)},
            simd=LANES,
            platform="dg2",
            surfaces=surfaces,
        )
        assert f"an atomic of 32 bits on texels of {name}" in ended.fault.message


class TestDwordAtomics:
    """DWORD_ATOMIC: the same operations on a surface's bytes and on shared local memory."""

    @pytest.mark.parametrize("space", ["T6", "%slm"])
    @pytest.mark.parametrize("bits", [16, 32])
    @pytest.mark.parametrize("name", atomics.OLDER)
    def test_every_operation(self, name, bits, space):
        kind, meaning = atomics.OLDER[name]
        dtype, narrow = np.dtype(f"{kind}{bits // 8}"), np.dtype(f"u{bits // 8}")
        numbers = np.random.default_rng(3).integers(-5, 6, (3, LANES))
        cells, first, second = (row.astype(dtype) for row in numbers)
        order = [0, 3, 3, 1, 7, 3, 0, 2]
        count = atomics.operand_count(name)
        expected = cells.copy()
        old = loops.atomic(expected, order, ENABLED, meaning, (first, second)[:count])
        if name == "predec":
            old = old - old.dtype.type(1)
        given = [n if at < count else "%null" for at, n in enumerate("SW")]
        surfaces = Surfaces()
        memory = cells.copy()
        surfaces.bind(6, memory, "memory")
        size = memory.nbytes // 16
        copies = (
            f"oword_ld ({size}) T6 0x0:ud X.0\noword_st ({size}) %slm 0x0:ud X.0",
            f"oword_ld ({size}) %slm 0x0:ud X.0\noword_st ({size}) T6 0x0:ud X.0",
        )
        width = ".16" if bits == 16 else ""
        ended = run(
            "movs (M1_NM, 1) T6(0) 0x6:ud\n"
            f"{copies[0] if space == '%slm' else ''}\n"
            f"dword_atomic.{name}{width} (M1, 8) {space} A.0 {given[0]}.0 {given[1]}.0 V.0\n"
            f"{copies[1] if space == '%slm' else ''}",
            {
                "A": np.array(order, np.uint32) * dtype.itemsize,
                "V": np.full(LANES, UNTOUCHED, np.uint32),
                "S": first.view(narrow).astype(np.uint32),
                "W": second.view(narrow).astype(np.uint32),
                "X": np.zeros(16, np.uint32),
            },
            simd=LANES,
            mask=ENABLED,
            platform="tgllp",
            declarations=".decl T6 v_type=T num_elts=1",
            surfaces=surfaces,
            slm_bytes=64,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(memory, expected)
        want = old.view(narrow).astype(np.uint32)
        want[[not ENABLED >> lane & 1 for lane in range(LANES)]] = UNTOUCHED
        assert ended["V"].tolist() == want.tolist()


class TestQuestions:
    def test_status_has_a_bit_for_every_enabled_channel(self):
        data = np.full(4 * LANES, UNTOUCHED, np.uint32)
        axes = [np.zeros(LANES, np.uint32)] * 2
        line = "lsc_load_status.tgm (M1, 8) V:d32.xyzw bti(0x6)[{p}]:a32"
        ended = go(line, Image(np.zeros((2, 2), np.float32)), axes, data, "dg2")
        assert ended["V"][0] == ENABLED
        assert (ended["V"][1:] == UNTOUCHED).all()

    def test_on_cri_it_has_a_dword_for_every_channel(self):
        data = np.full(4 * LANES, UNTOUCHED, np.uint32)
        axes = [np.zeros(LANES, np.uint32)] * 2
        line = "lsc_load_quad_status.tgm (M1, 8) V:d32.xyzw bti(0x6)[{p}]:a32"
        ended = go(line, Image(np.zeros((2, 2), np.float32)), axes, data, "cri")
        enabled = [ENABLED >> lane & 1 for lane in range(LANES)]
        assert ended["V"][:LANES].tolist() == [1 if on else UNTOUCHED for on in enabled]
        assert (ended["V"][LANES:] == UNTOUCHED).all()

    @pytest.mark.parametrize(
        "line",
        [
            "lsc_load_quad_msrt.tgm (M1, 8) V:d32.xyzw bti(0x6)[A, A, A, A]:a32",
            "lsc_store_quad_msrt.tgm (M1, 8) bti(0x6)[A, A, A, A]:a32 V:d32.x",
            "lsc_atomic_iadd.tgm.msaa (M1, 8) V:d32 bti(0x6)[A, A, A, A]:a32 A %null",
        ],
    )
    def test_texels_have_one_sample(self, line: str):
        given = {"A": np.zeros(LANES, np.uint32), "V": np.zeros(4 * LANES, np.uint32)}
        ended = run(line, given, simd=LANES, platform="cri", version="4.2")
        assert ended.fault.category == "unsupported"
        assert "several samples a texel" in ended.fault.message

    def test_what_a_surface_state_looks_like_is_not_specified(self):
        ended = run("lsc_read_state_info.tgm V bti(0x6)", {"V": np.zeros(16)}, platform="dg2")
        assert "does not say what a surface's state looks like" in ended.fault.message


class TestRectangles:
    """Typed 2D Block: bytes of rows, each at the register pitch; the surface says how long."""

    BYTES = np.random.default_rng(2).integers(0, 256, (6, 80), np.uint8)

    @staticmethod
    def go(line: str, array: np.ndarray, registers: np.ndarray, x: int, y: int) -> np.ndarray:
        surfaces = Surfaces()
        surfaces.bind_image(6, Image(array, format="r:uint8").memory, "image")
        ended = run(
            line,
            {"V": registers, "X": np.array([x], np.uint32), "Y": np.array([y], np.uint32)},
            platform="dg2",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        return ended["V"]

    @pytest.mark.parametrize(
        ("width", "height", "pitch"), [(3, 2, 4), (7, 3, 8), (16, 4, 16), (24, 2, 32), (64, 2, 64)]
    )
    def test_rows_go_to_and_from_the_register_pitch(self, width, height, pitch):
        before = np.full(256, 0xEE, np.uint8)
        line = f"lsc_load_block2d.tgm V:{width}x{height} bti(0x6)[X, Y]"
        found = self.go(line, self.BYTES, before, 8, 1)[: height * pitch].reshape(height, pitch)
        assert np.array_equal(found[:, :width], self.BYTES[1 : 1 + height, 8 : 8 + width])
        assert (found[:, width:] == 0xEE).all()
        array, given = np.zeros_like(self.BYTES), np.arange(256, dtype=np.uint8)
        line = f"lsc_store_block2d.tgm bti(0x6)[X, Y] V:{width}x{height}"
        self.go(line, array, given, 8, 1)
        want = np.zeros_like(array)
        rows = given[: height * pitch].reshape(height, pitch)[:, :width]
        want[1 : 1 + height, 8 : 8 + width] = rows
        assert np.array_equal(array, want)
