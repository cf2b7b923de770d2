"""LSC messages against the loops of the page LSC_UNTYPED: layouts, masks, untouched bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.model import lsc as model
from tests.model.atomics import OPERATIONS, operand_count, slots

from .harness import Outcome, run
from .values import octets

PLATFORMS = {"pvc": 64, "dg2": 32}
SPREAD = 512
MEMORY_BYTES = 2 * SPREAD + 32 * 64 * 8 + 1024
#: Each engine has an instance of a test's class, with examples of its own.
ONCE = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)


@dataclass(frozen=True)
class Message:
    """A gathering or scattering message and the channels that take part."""

    platform: str
    lanes: int
    shape: model.Shape
    word: str
    starts: tuple[int, ...]
    mask: int
    predicate: int
    scale: int
    offset: int
    seed: int

    @property
    def grf(self) -> int:
        return PLATFORMS[self.platform]

    @property
    def enabled(self) -> int:
        return self.mask & self.predicate

    @property
    def address(self) -> str:
        sign = "-" if self.offset < 0 else "+"
        return f"0x{self.scale:x}*A{sign}0x{abs(self.offset):x}"

    def go(self, line: str, memory: np.ndarray, registers: np.ndarray) -> Outcome:
        """Run a line on flat memory; V holds `registers`, A the address of each channel."""
        space = np.zeros(memory.size + 64, np.uint8)
        start = -space.ctypes.data % 64
        buffer = space[start : start + memory.size]
        buffer[:] = memory
        base = buffer.ctypes.data + SPREAD
        addresses = [(base + place - self.offset) // self.scale for place in self.starts]
        ended = run(
            f"(P1) {line}",
            {"A": np.array(addresses, np.uint64), "V": registers},
            {"P1": self.predicate},
            simd=32,
            platform=self.platform,
            mask=self.mask,
            buffers={"MEMORY": buffer},
        )
        assert ended.exit.fault is None, ended.exit.fault
        memory[:] = buffer
        return ended


@st.composite
def shapes(draw: st.DrawFn, *, quad: bool = False) -> tuple[model.Shape, str, int]:
    """Draw a shape, its text and its number of channels."""
    data = draw(st.sampled_from(sorted(model.SIZES)))
    lanes = draw(st.sampled_from((1, 8, 16, 32)))
    if quad:
        chosen = draw(st.sets(st.integers(0, 3), min_size=1))
        letters = "".join(letter for v, letter in enumerate("xyzw") if v in chosen)
        return model.Shape(data, tuple(sorted(chosen))), f"{data}.{letters}", lanes
    count = draw(st.sampled_from((1, 2, 3, 4, 8, 16, 32, 64)))
    transposed = lanes == 1 and draw(st.booleans())
    word = f"{data}x{count}{'t' if transposed else ''}"
    return model.Shape(data, tuple(range(count)), transposed), word, lanes


@st.composite
def messages(draw: st.DrawFn, *, quad: bool = False) -> Message:
    shape, word, lanes = draw(shapes(quad=quad))
    bits = st.integers(0, 2**32 - 1)
    scale = draw(st.sampled_from((1, 2, 4)))
    return Message(
        draw(st.sampled_from(sorted(PLATFORMS))),
        lanes,
        shape,
        word,
        tuple(scale * n for n in draw(st.permutations(range(100)))[:lanes]),
        draw(st.one_of(st.just(2**32 - 1), bits)) | 1 << 31,
        draw(st.one_of(st.just(2**32 - 1), bits)),
        scale,
        draw(st.sampled_from((0, 16, -32))),
        draw(st.integers(0, 99)),
    )


class TestGathers:
    """LOAD, LOAD_STRIDED, LOAD_QUAD."""

    def check(self, m: Message, line: str, starts: tuple[int, ...]) -> None:
        memory, registers = octets(MEMORY_BYTES, m.seed), octets(64 * 256, m.seed + 1)
        expected, untouched = registers.copy(), memory.copy()
        model.load(memory, expected, [SPREAD + s for s in starts], m.enabled, m.shape, m.grf)
        ended = m.go(line, memory, registers)
        assert np.array_equal(ended["V"], expected)
        assert np.array_equal(memory, untouched)

    @ONCE
    @given(messages())
    def test_load(self, m: Message):
        line = f"lsc_load.ugm (M1, {m.lanes}) V:{m.word} flat[{m.address}]:a64"
        self.check(m, line, m.starts)

    @ONCE
    @given(messages(quad=True))
    def test_load_quad(self, m: Message):
        line = f"lsc_load_quad.ugm (M1, {m.lanes}) V:{m.word} flat[{m.address}]:a64"
        self.check(m, line, m.starts)

    @ONCE
    @given(messages(), st.sampled_from((None, 0, 1, 8, 24)))
    def test_load_strided(self, m: Message, pitch: int | None):
        place = m.address if pitch is None else f"{m.address}, 0x{pitch:x}"
        line = f"lsc_load_strided.ugm (M1, {m.lanes}) V:{m.word} flat[{place}]:a64"
        self.check(m, line, strided(m, pitch))


def strided(m: Message, pitch: int | None) -> tuple[int, ...]:
    """Return where the channels start; without a pitch, elements are packed."""
    if pitch is None:
        pitch = model.SIZES[m.shape.data][0] * len(m.shape.components)
    return tuple(m.starts[0] + n * pitch for n in range(m.lanes))


class TestScatters:
    """STORE, STORE_UNCOMPRESSED, STORE_STRIDED, STORE_QUAD."""

    def check(self, m: Message, line: str, starts: tuple[int, ...]) -> None:
        memory, registers = octets(MEMORY_BYTES, m.seed), octets(64 * 256, m.seed + 1)
        expected, untouched = memory.copy(), registers.copy()
        model.store(expected, registers, [SPREAD + s for s in starts], m.enabled, m.shape, m.grf)
        ended = m.go(line, memory, registers)
        assert np.array_equal(memory, expected)
        assert np.array_equal(ended["V"], untouched)

    @ONCE
    @given(messages(), st.sampled_from(("lsc_store", "lsc_store_uncompressed")))
    def test_store(self, m: Message, name: str):
        line = f"{name}.ugm (M1, {m.lanes}) flat[{m.address}]:a64 V:{m.word}"
        self.check(m, line, m.starts)

    @ONCE
    @given(messages(quad=True))
    def test_store_quad(self, m: Message):
        # Channels that overlap are in no order; these lie 32 bytes apart.
        apart = tuple(32 * n for n in range(m.lanes))
        m = Message(**{**vars_of(m), "starts": apart})
        line = f"lsc_store_quad.ugm (M1, {m.lanes}) flat[{m.address}]:a64 V:{m.word}"
        self.check(m, line, apart)

    @ONCE
    @given(messages(), st.sampled_from((None, 0, 1, 8, 24)))
    def test_store_strided(self, m: Message, pitch: int | None):
        place = m.address if pitch is None else f"{m.address}, 0x{pitch:x}"
        line = f"lsc_store_strided.ugm (M1, {m.lanes}) flat[{place}]:a64 V:{m.word}"
        self.check(m, line, strided(m, pitch))


def vars_of(m: Message) -> dict[str, object]:
    return {name: getattr(m, name) for name in Message.__dataclass_fields__}


@st.composite
def rectangles(draw: st.DrawFn, *, one: bool = False) -> model.Rectangle:
    size = draw(st.sampled_from((1, 2, 4, 8)))
    transform = size < 4 and draw(st.booleans())
    transpose = draw(st.booleans())
    width, height = draw(st.integers(1, 16)), draw(st.integers(1, 16))
    if transform:
        group = 4 // size
        width, height = (width * group, height) if transpose else (width, height * group)
    surface_width = size * draw(st.integers(1, 40))
    pitch = 16 * draw(st.integers(-(-surface_width // 16), 24))
    return model.Rectangle(
        size,
        1 if one else draw(st.sampled_from((1, 2, 4))),
        width,
        height,
        transpose,
        transform,
        surface_width,
        draw(st.integers(1, 30)),
        pitch,
        draw(st.integers(-10, 40)),
        draw(st.integers(-10, 30)),
    )


def block_text(m: model.Rectangle) -> str:
    order = f"{'t' if m.transpose else 'n'}{'t' if m.transform else 'n'}"
    return f"d{8 * m.size}.{m.blocks}x{m.width}x{m.height}{order}"


NINE_COLUMNS = model.Rectangle(4, 1, 9, 2, True, False, 4, 1, 16, 0, 0)
"""Pieces whose number is no power of 2."""


TWICE = """
again:
    {}
    add (M1_NM, 1) TURN(0,0)<1> TURN(0,0)<0;1,0> 1:d
    cmp.lt (M1_NM, 1) P9 TURN(0,0)<0;1,0> 2:d
    (P9) jmp (M1_NM, 1) again
"""


class TestBlocks:
    """LOAD_BLOCK2D, STORE_BLOCK2D."""

    PLACE = "flat[MEMORY,S(0,0),S(0,1),S(0,2),S(0,3),S(0,4)]"

    def go(
        self, line: str, m: model.Rectangle, memory: np.ndarray, v: np.ndarray, platform: str
    ) -> np.ndarray:
        """Run a message twice: where it has been before, engines may find out less."""
        sizes = [m.surface_width - 1, m.surface_height - 1, m.pitch, m.x, m.y]
        ended = run(
            TWICE.format(line),
            {"S": np.array(sizes, np.int32), "V": v, "TURN": np.zeros(1, np.int32)},
            {"P9": 0},
            platform=platform,
            buffers={"MEMORY": memory},
        )
        assert ended.exit.fault is None, ended.exit.fault
        return ended["V"]

    @ONCE
    @given(rectangles(), st.sampled_from(sorted(PLATFORMS)))
    @example(NINE_COLUMNS, "dg2")
    def test_load_block2d(self, m: model.Rectangle, platform: str):
        memory = octets(m.pitch * m.surface_height, 1)
        v = octets(32768, 2)
        loaded = model.load_block2d(memory, m, PLATFORMS[platform])
        expected = np.concatenate((loaded, v[loaded.size :]))
        line = f"lsc_load_block2d.ugm (M1_NM, 1) V:{block_text(m)} {self.PLACE}"
        assert np.array_equal(self.go(line, m, memory, v, platform), expected)

    @ONCE
    @given(rectangles(one=True), st.sampled_from(sorted(PLATFORMS)))
    def test_store_block2d_is_the_inverse_of_its_load(self, m: model.Rectangle, platform: str):
        before = octets(m.pitch * m.surface_height, 1)
        memory, v = before.copy(), octets(32768, 2)
        line = f"lsc_store_block2d.ugm (M1_NM, 1) {self.PLACE} V:{block_text(m)}"
        self.go(line, m, memory, v, platform)
        expected = before.copy()
        for y in range(m.height):
            for x in range(m.width):
                row, column = m.y + y, m.x + x
                inside = 0 <= row < m.surface_height and column >= 0
                if inside and (column + 1) * m.size <= m.surface_width:
                    place = register_place(m, y, x) * m.size
                    start = row * m.pitch + column * m.size
                    expected[start : start + m.size] = v[place : place + m.size]
        assert np.array_equal(memory, expected)

    @pytest.mark.parametrize("pitch", [64, 63])
    def test_a_pitch_may_be_given_as_compilers_write_it(self, pitch):
        memory = octets(64 * 4, 1)
        m = model.Rectangle(4, 1, 2, 2, False, False, 64, 4, pitch, 1, 1)
        v = self.go(
            f"lsc_load_block2d.ugm (M1, 16) V:{block_text(m)} {self.PLACE}",
            m, memory, octets(256, 2), "pvc",
        )  # fmt: skip
        rows = memory.reshape(4, 16, 4)[1:3, 1:3]
        assert np.array_equal(v[:16], rows.reshape(-1))

    def test_a_block_is_left_alone_where_no_channel_is_on(self):
        v = octets(256, 2)
        ended = run(
            "(P1) lsc_load_block2d.ugm (M1, 16) V:d32.4x4nn flat[A, 63, 3, 64, 0, 0]",
            {"V": v, "A": np.zeros(1, np.uint64)},
            {"P1": 0},
            platform="pvc",
        )
        assert ended.exit.fault is None
        assert np.array_equal(ended["V"], v)


def register_place(m: model.Rectangle, y: int, x: int) -> int:
    """Return the element of the registers in which an element of a block stands."""
    group = 4 // m.size if m.transform else 1
    inner = m.height if m.transpose else m.width
    pitch = 1
    while pitch < inner:
        pitch *= 2
    along, across = (x, y) if m.transpose else (y, x)
    return along // group * group * pitch + across * group + along % group


class TestAtomics:
    """The page's table of operations; channels act one after another."""

    @pytest.mark.parametrize("data", ["d16u32", "d32", "d64"])
    @pytest.mark.parametrize("name", OPERATIONS)
    @pytest.mark.parametrize(
        ("lanes", "platform"), [(1, "pvc"), (8, "dg2"), (16, "dg2"), (16, "pvc"), (32, "pvc")]
    )
    def test_atomic(self, name: str, data: str, lanes: int, platform: str):
        kind, meaning = OPERATIONS[name]
        dtype = np.dtype(f"{kind}{ {'d16u32': 2, 'd32': 4, 'd64': 8}[data] }")
        numbers = np.random.default_rng(lanes).integers(-5, 6, (3, 32))
        memory, first, second = (row.astype(dtype) for row in numbers)
        indices = np.random.default_rng(7).integers(0, 8, lanes)
        enabled = 0x5A5AF0F1
        expected = memory.copy()
        arguments = (first, second)[: operand_count(name)]
        old = model.atomic(expected, indices.tolist(), enabled, meaning, arguments)
        space = np.zeros(memory.nbytes + 64, np.uint8)
        start = -space.ctypes.data % 64
        buffer = space[start : start + memory.nbytes].view(dtype)
        buffer[:] = memory
        addresses = buffer.ctypes.data + indices * dtype.itemsize
        before = octets(512, 3)
        given = [name if n < len(arguments) else "%null" for n, name in enumerate(("S", "T"))]
        ended = run(
            f"lsc_atomic_{name}.ugm (M1, {lanes}) V:{data} flat[A]:a64 {' '.join(given)}",
            {
                "A": addresses.astype(np.uint64),
                "V": before,
                "S": slots(first, data),
                "T": slots(second, data),
            },
            simd=32,
            platform=platform,
            mask=enabled,
            buffers={"MEMORY": buffer},
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(buffer.view(np.uint8), expected.view(np.uint8))
        returned = slots(old, data)
        size = returned.size // lanes
        on = np.repeat([bool(enabled >> n & 1) for n in range(lanes)], size)
        assert np.array_equal(ended["V"][: returned.size][on], returned[on])
        assert np.array_equal(ended["V"][: returned.size][~on], before[: returned.size][~on])
        assert np.array_equal(ended["V"][returned.size :], before[returned.size :])

    @pytest.mark.parametrize("shape", ["d8", "d32x2", "d16u32h"])
    def test_shapes_that_no_atomic_has_stop_the_run(self, shape):
        ended = run(
            f"lsc_atomic_iinc.ugm (M1, 16) %null:{shape} flat[A]:a64 %null %null",
            {"A": np.zeros(16, np.uint64)},
            platform="pvc",
        )
        assert ended.fault.category == "unsupported"


def test_the_largest_message_stays_in_its_place():
    """64 elements of 8 bytes for each of 32 channels are more than the usual area has."""
    memory = np.arange(32 * 64, dtype=np.uint64)
    addresses = memory.ctypes.data + 8 * 64 * np.arange(32, dtype=np.uint64)
    ended = run(
        "lsc_load.ugm (M1, 32) V:d64x64 flat[A]:a64",
        {"A": addresses, "V": np.zeros(32 * 64, np.uint64)},
        simd=32,
        platform="pvc",
        buffers={"MEMORY": memory},
    )
    assert ended.exit.fault is None
    assert np.array_equal(ended["V"].reshape(64, 32).T.ravel(), memory)
