"""Raw messages to the load and store cache do what the lsc_ instruction does.

Descriptors of 2D blocks are made here of their fields; the others are those that GenX_IR (IGC
1.0.12504) writes for the instruction beside them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.model import lsc as model
from visim.machine.surfaces import Surfaces

from .harness import run
from .test_lsc import ONCE, PLATFORMS, block_text, rectangles
from .values import octets

LOAD_BLOCK, STORE_BLOCK = 3, 7
OFFSETS = st.sampled_from([0, 1, -3, 16])


def block_registers(m: model.Rectangle, grf: int) -> int:
    """Return how many registers a block message moves."""
    inner, outer = (m.height, m.width) if m.transpose else (m.width, m.height)
    row = 1 << (inner - 1).bit_length()
    return m.blocks * -(-row * outer * m.size // grf)


def block_descriptor(operation: int, m: model.Rectangle, response: int) -> int:
    fields = operation | m.transform << 7 | (m.size.bit_length() - 1) << 9 | m.transpose << 15
    return fields | min(response, 31) << 20 | 1 << 25


class TestBlocks:
    """2D blocks, whose shape is in the payload."""

    def go(
        self, line: str, m: model.Rectangle, platform: str, mask: int = 0xFFFF, shape: int = 0
    ) -> tuple[bytes, bytes]:
        """Run a line; return the memory and V."""
        memory = octets(m.pitch * m.surface_height, 1)
        sizes = [m.surface_width - 1, m.surface_height - 1, m.pitch - 1, m.x, m.y]
        shape |= (m.width - 1) | (m.height - 1) << 8 | (m.blocks - 1) << 16
        ended = run(
            "mov (M1_NM, 2) PLACE(0,0)<1> MEMORY_WORDS(0,0)<1;1,0>\n"
            "mov (M1_NM, 8) PAYLOAD(0,0)<1> PLACE(0,0)<1;1,0>\n"
            f"{line}",
            {
                "PLACE": np.array([0, 0, *sizes, shape], np.int64).astype(np.int32),
                "PAYLOAD": np.zeros(16, np.int32),
                "V": octets(32 * 64 + 64, 2),
            },
            declarations=".decl MEMORY_WORDS v_type=G type=d num_elts=2 alias=<MEMORY, 0>",
            platform=platform,
            mask=mask,
            buffers={"MEMORY": memory},
        )
        assert ended.exit.fault is None, ended.exit.fault
        return memory.tobytes(), ended["V"].tobytes()

    FLAT = "flat[MEMORY, PLACE(0,2), PLACE(0,3), PLACE(0,4), PLACE(0,5), PLACE(0,6)]"

    @ONCE
    @given(rectangles(), st.sampled_from(sorted(PLATFORMS)))
    @example(model.Rectangle(4, 1, 16, 32, False, False, 64, 32, 64, 0, 0), "pvc")
    @example(model.Rectangle(1, 2, 12, 5, False, False, 64, 32, 64, 51, -2), "pvc")
    def test_a_load(self, m: model.Rectangle, platform: str):
        registers = block_registers(m, PLATFORMS[platform])
        assume(registers <= 32)
        line = f"lsc_load_block2d.ugm (M1_NM, 1) V:{block_text(m)} {self.FLAT}"
        descriptor = block_descriptor(LOAD_BLOCK, m, registers)
        message = (
            f"raw_sends.15.1.0.{min(registers, 31)} (M1_NM, 1) 0x0:ud 0x{descriptor:x}:ud "
            "PAYLOAD.0 %null.0 V.0"
        )
        # Bits 20 to 31 of the shape mean nothing.
        assert self.go(message, m, platform, shape=0xABC << 20) == self.go(line, m, platform)

    @ONCE
    @given(rectangles(one=True), st.sampled_from(sorted(PLATFORMS)))
    def test_a_store(self, m: model.Rectangle, platform: str):
        registers = block_registers(m, PLATFORMS[platform])
        assume(registers <= 32)
        line = f"lsc_store_block2d.ugm (M1_NM, 1) {self.FLAT} V:{block_text(m)}"
        descriptor = block_descriptor(STORE_BLOCK, m, 0)
        message = (
            f"raw_sends.15.1.{registers}.0 (M1_NM, 1) 0x0:ud 0x{descriptor:x}:ud "
            "PAYLOAD.0 V.0 %null.0"
        )
        assert self.go(message, m, platform) == self.go(line, m, platform)

    @ONCE
    @given(rectangles(), st.sampled_from(sorted(PLATFORMS)), OFFSETS, OFFSETS)
    def test_a_load_whose_payload_stands_ready(
        self, m: model.Rectangle, platform: str, x: int, y: int
    ):
        assume(block_registers(m, PLATFORMS[platform]) <= 32)
        line = f"lsc_load_block2d.ugm (M1_NM, 1) V:{block_text(m)}"
        moved = replace(m, x=m.x - x, y=m.y - y)
        expected = self.go(f"{line} {self.FLAT}", m, platform)
        assert self.go(f"{line} flat[PAYLOAD + ({x},{y})]", moved, platform) == expected
        # Two constants that are added where the place has operands of its own.
        place = f"{self.FLAT[:-1]}{y:+}]".replace("(0,5)", f"(0,5){x:+}")
        assert self.go(f"{line} {place}", moved, platform) == expected

    @ONCE
    @given(rectangles(one=True), st.sampled_from(sorted(PLATFORMS)), OFFSETS, OFFSETS)
    def test_a_store_whose_payload_stands_ready(
        self, m: model.Rectangle, platform: str, x: int, y: int
    ):
        assume(block_registers(m, PLATFORMS[platform]) <= 32)
        shown = f"V:{block_text(m)}"
        expected = self.go(f"lsc_store_block2d.ugm (M1_NM, 1) {self.FLAT} {shown}", m, platform)
        line = f"lsc_store_block2d.ugm (M1_NM, 1) flat[PAYLOAD+({x},{y})] {shown}"
        assert self.go(line, replace(m, x=m.x - x, y=m.y - y), platform) == expected

    SMALL = model.Rectangle(4, 1, 4, 4, False, False, 64, 8, 64, 1, 1)

    def test_the_shape_in_a_payload_that_stands_ready_counts(self):
        short = replace(self.SMALL, height=2)
        line = "lsc_load_block2d.ugm (M1_NM, 1) V:d32.{} flat[PAYLOAD + (0,0)]"
        assert self.go(line.format("4x4nn"), short, "pvc") == self.go(
            line.format("4x2nn"), short, "pvc"
        )

    def test_a_prefetch_changes_nothing_and_never_fails(self):
        descriptor = block_descriptor(LOAD_BLOCK, self.SMALL, 0)
        line = f"raw_sends.15.1.0.0 (M1, 1) 0x0:ud 0x{descriptor:x}:ud PAYLOAD.0 %null.0 %null.0"
        nowhere = f"mov (M1_NM, 2) PAYLOAD(0,0)<1> 0x1:d\n{line}"
        assert self.go(nowhere, self.SMALL, "pvc") == self.go("", self.SMALL, "pvc")

    def test_a_message_of_no_channel_does_not_take_place(self):
        descriptor = block_descriptor(LOAD_BLOCK, self.SMALL, 1)
        line = f"raw_send (M1, 1) 0xf 1 1 0x{descriptor:x}:ud PAYLOAD.0 V.0"
        off = self.go(line, self.SMALL, "pvc", mask=0xFFFE)
        assert off == self.go("", self.SMALL, "pvc")
        assert off != self.go(line, self.SMALL, "pvc")

    def test_registers_of_a_response_that_is_too_long_stay_as_they_are(self):
        long, right = (block_descriptor(LOAD_BLOCK, self.SMALL, count) for count in (3, 1))
        line = "raw_sends.15.1.0.3 (M1, 1) 0x0:ud 0x{:x}:ud PAYLOAD.0 %null.0 V.0"
        assert self.go(line.format(long), self.SMALL, "pvc") == self.go(
            line.format(right), self.SMALL, "pvc"
        )

    def test_memory_that_is_not_there_is_a_fault(self):
        descriptor = block_descriptor(LOAD_BLOCK, self.SMALL, 1)
        message = f"raw_sends.15.1.0.1 (M1, 1) 0x0:ud 0x{descriptor:x}:ud A.0 %null.0 V.0"
        instruction = (
            "lsc_load_block2d.ugm (M1, 1) V:d32.4x4nn "
            "flat[Q, A(0,2), A(0,3), A(0,4), A(0,5), A(0,6)]"
        )
        shape = 3 | 3 << 8
        payload = np.array([0x10000, 0, 63, 7, 63, 1, 1, shape], np.int32)
        faults = [
            run(
                line,
                {"A": payload, "V": octets(256, 2)},
                declarations=".decl Q v_type=G type=uq num_elts=1 alias=<A, 0>",
                platform="pvc",
            ).fault
            for line in (message, instruction)
        ]
        assert faults[0].category == faults[1].category
        assert faults[0].message == faults[1].message

    def test_a_store_that_leaves_its_memory_has_stored_the_registers_before(self):
        memory, data = np.zeros(5 * 64 - 4, np.uint8), octets(512, 5)
        ended = run(
            """
            mov (M1_NM, 1) BASE(0,0)<1> M(0,0)<0;1,0>
            raw_sends.15.1.8.0 (M1, 1) 0x0:ud 0x2000407:ud A.0 V.0 %null.0
            """,
            {"A": np.array([0, 0, 63, 7, 63, 0, 0, 15 | 7 << 8], np.int32), "V": data},
            declarations=".decl BASE v_type=G type=uq num_elts=1 alias=<A, 0>",
            platform="pvc",
            buffers={"M": memory},
        )
        assert "flat store of 4 bytes" in ended.fault.message
        assert "by channel 15: out of range (0 bytes past the end of 'M')" in ended.fault.message
        assert memory[:256].tobytes() == data[:256].tobytes()


# Instruction, shared function, registers of both payloads and the response, descriptors.
# A has addresses in flat memory, O offsets, D data, V the response. The finalizer counts 32
# channels on pvc and 16 on dg2, also where there are fewer.
MESSAGES = [
    ("lsc_load.ugm (M1, {n}) V:d32 flat[A]:a64", 15, (4, 0, 2), 0x08200580),
    ("lsc_load.ugm (M1, {n}) V:d32x4 flat[A]:a64", 15, (4, 0, 8), 0x08803580),
    ("lsc_load_quad.ugm (M1, {n}) V:d32.xzw flat[A]:a64", 15, (4, 0, 6), 0x0860D582),
    ("lsc_load.ugm (M1, {n}) V:d16c32 flat[A]:a64", 15, (4, 0, 2), 0x08200B80),
    ("lsc_load.ugm (M1, {n}) V:d64 flat[A]:a64", 15, (4, 0, 4), 0x08400780),
    ("lsc_load.ugm (M1, {n}) V:d64x2 flat[A]:a64", 15, (4, 0, 8), 0x08801780),
    ("lsc_load.ugm (M1, {n}) V:d32 bti(0x6)[O]:a32", 15, (2, 0, 2), 0x64200500),
    ("lsc_load.ugm.ca.ca (M1, {n}) %null:d32 flat[A]:a64", 15, (4, 0, 0), 0x08080580),
    ("lsc_store.ugm (M1, {n}) flat[A]:a64 D:d32x4", 15, (4, 8, 0), 0x08003584),
    ("lsc_store_quad.ugm (M1, {n}) flat[A]:a64 D:d32.xy", 15, (4, 4, 0), 0x08003586),
    ("lsc_store.ugm (M1, {n}) flat[A]:a64 D:d8c32", 15, (4, 2, 0), 0x08000984),
    ("lsc_store.ugm (M1, {n}) bti(0x6)[O]:a32 D:d32", 15, (2, 2, 0), 0x64000504),
    ("lsc_atomic_iadd.ugm (M1, {n}) V:d32 flat[A]:a64 D %null", 15, (4, 2, 2), 0x0820058C),
    ("lsc_atomic_iinc.ugm (M1, {n}) %null:d32 flat[A]:a64 %null %null", 15, (4, 0, 0), 0x08000588),
    ("lsc_atomic_icas.ugm (M1, {n}) V:d32 bti(0x6)[O]:a32 D D.128", 15, (2, 4, 2), 0x64200512),
    ("lsc_atomic_fadd.ugm (M1, {n}) %null:d32 flat[A]:a64 D %null", 15, (4, 2, 0), 0x08000593),
    ("lsc_load.slm (M1, {n}) V:d32 flat[O]:a32", 14, (2, 0, 2), 0x04200500),
    ("lsc_store.slm (M1, {n}) flat[O]:a32 D:d32", 14, (2, 2, 0), 0x04000504),
    ("lsc_atomic_smax.slm (M1, {n}) V:d32 flat[O]:a32 D %null", 14, (2, 2, 2), 0x0420050F),
]
ON_PVC = [
    ("lsc_load.ugm (M1_NM, 1) V:d32x16t flat[A]:a64", 15, (1, 0, 1), 0x0210D580),
    ("lsc_load.ugm (M1_NM, 1) V:d32x64t flat[A]:a64", 15, (1, 0, 4), 0x0240F580),
    ("lsc_load.ugm (M1, 1) V:d64x8t flat[A]:a64", 15, (1, 0, 1), 0x0210C780),
    ("lsc_store.ugm (M1_NM, 1) flat[A]:a64 D:d32x8t", 15, (1, 1, 0), 0x0200C584),
]
ON_DG2 = [
    ("lsc_load.ugm (M1_NM, 1) V:d32x16t flat[A]:a64", 15, (1, 0, 2), 0x0220D580),
    ("lsc_load.ugm (M1_NM, 1) V:d32x64t flat[A]:a64", 15, (1, 0, 8), 0x0280F580),
    ("lsc_load.ugm (M1, 1) V:d64x8t flat[A]:a64", 15, (1, 0, 2), 0x0220C780),
    ("lsc_store.ugm (M1_NM, 1) flat[A]:a64 D:d32x8t", 15, (1, 1, 0), 0x0200C584),
]
NARROW = [row for row in MESSAGES if not any(x in row[0] for x in ("x4", "x2", "quad"))]
"""Those of one component, whose padding is behind the data."""
CASES = [
    *(("pvc", 32, *row) for row in MESSAGES + ON_PVC),
    *(("dg2", 16, *row) for row in MESSAGES + ON_DG2),
    *(("pvc", 16, *row) for row in NARROW),
    *(("dg2", 8, *row) for row in NARROW if "icas" not in row[0]),
]


def outcome(line: str, platform: str) -> tuple[bytes, ...]:
    """Run a line; return the memory, shared local memory and V."""
    rng = np.random.default_rng(8)
    space = np.zeros(2048 + 64, np.uint8)
    start = -space.ctypes.data % 64
    memory = space[start : start + 2048]
    memory[:] = rng.integers(0, 128, 2048, np.uint8)
    offsets = (rng.permutation(32) * 32).astype(np.uint32)
    data = rng.integers(0, 1 << 32, 512, np.uint32)
    data[:16] = memory.view(np.uint32)[offsets[:16] // 4]
    data[3] += 1
    surfaces = Surfaces()
    surfaces.bind(6, memory, "memory")
    ended = run(
        f"lsc_store.slm (M1_NM, 32) flat[O]:a32 L:d32\n{line}\n"
        "lsc_load.slm (M1_NM, 32) L:d32 flat[O]:a32",
        {
            "A": offsets.astype(np.uint64) + memory.ctypes.data,
            "O": offsets,
            "D": data,
            "L": data[100:132],
            "V": np.full(512, 0xEEEEEEEE, np.uint32),
        },
        mask=0x2B6D5B6D,
        simd=32,
        platform=platform,
        surfaces=surfaces,
        buffers={"M": memory},
        slm_bytes=2048,
    )
    assert ended.exit.fault is None, ended.exit.fault
    return memory.tobytes(), ended["L"].tobytes(), ended["V"].tobytes()


def sends(line: str, function: int, counts: tuple[int, int, int], descriptor: int) -> str:
    """Return the message of a line as RAW_SENDS."""
    src0, src1, response = counts
    channels = line[line.index("(") : line.index(")") + 1]
    extended = 0x06000000 if "bti(0x6)" in line else 0
    return (
        f"raw_sends.{function}.{src0}.{src1}.{response} {channels} 0x{extended:x}:ud "
        f"0x{descriptor:x}:ud {'A.0' if '[A]' in line else 'O.0'} "
        f"{'D.0' if src1 else '%null.0'} {'V.0' if response else '%null.0'}"
    )


@pytest.mark.parametrize(("platform", "lanes", "line", "function", "counts", "descriptor"), CASES)
def test_a_descriptor_means_its_instruction(platform, lanes, line, function, counts, descriptor):
    line = line.format(n=lanes)
    if platform == "dg2":
        line = line.replace("D.128", "D.64")
    message = sends(line, function, counts, descriptor)
    assert outcome(message, platform) == outcome(line, platform)


def test_addresses_and_data_may_be_one_payload():
    line = "lsc_store.ugm (M1, 16) flat[A]:a64 D:d32"
    values = {"A": np.zeros(24, np.uint64), "D": octets(64, 3), "V": octets(64, 4)}

    def stored(text: str) -> bytes:
        memory = np.zeros(1024, np.uint8)
        ended = run(
            "mul (M1_NM, 16) LOW(0,0)<2> LANES(0,0)<1;1,0> 8:uw\n"
            "add (M1_NM, 16) A(0,0)<1> A(0,0)<1;1,0> M(0,0)<0;1,0>\n" + text,
            {**values, "LANES": np.arange(16, dtype=np.uint32)},
            declarations=".decl LOW v_type=G type=ud num_elts=32 alias=<A, 0>\n"
            ".decl BEHIND v_type=G type=ud num_elts=16 alias=<A, 128>\n"
            ".decl WORDS v_type=G type=ud num_elts=16 alias=<D, 0>",
            platform="pvc",
            buffers={"M": memory},
        )
        assert ended.exit.fault is None, ended.exit.fault
        return memory.tobytes()

    message = (
        "mov (M1_NM, 16) BEHIND(0,0)<1> WORDS(0,0)<1;1,0>\n"
        "raw_send (M1, 16) 0xf 3 0 0x6000584:ud A.0 %null.0"
    )
    assert stored(message) == stored(line) != bytes(1024)


def test_surfaces_by_the_offset_of_their_state():
    """The extended descriptor is the offset, which only the run knows."""
    texts = (
        "lsc_load.ugm (M1, 16) V:d32 bss(S)[O]:a32",
        "raw_sends.15.1.0.1 (M1, 16) S(0,0)<0;1,0> 0x22100500:ud O.0 %null.0 V.0",
    )
    found = []
    for line in texts:
        surfaces = Surfaces()
        memory = np.arange(64, dtype=np.uint32)
        surfaces.bind(5, memory.view(np.uint8), "memory")
        ended = run(
            line,
            {
                "S": np.array([5 << 6], np.uint32),
                "O": np.arange(16, dtype=np.uint32)[::-1] * 8,
                "V": np.zeros(16, np.uint32),
            },
            platform="pvc",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        found.append(ended["V"].tolist())
    assert found[0] == found[1] == list(range(30, -1, -2))


def test_a_fence_orders_accesses():
    ended = run("raw_send (M1_NM, 1) 0xf 1 1 0x210071f:ud V.0 V.0", {"V": octets(64, 1)},
                platform="pvc")  # fmt: skip
    assert ended.exit.fault is None


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("raw_send (M1, 1) 0xe 1 1 0x2100403:ud V.0 V.0", ["not in flat memory"]),
        ("raw_send (M1, 1) 0xf 1 1 0x62100403:ud V.0 V.0", ["not in flat memory"]),
        ("raw_send (M1, 1) 0xf 1 1 0x2100803:ud V.0 V.0", ["data size 4"]),
        ("raw_send (M1, 1) 0xf 1 1 0x2100683:ud V.0 V.0", ["data size 3, VNNI"]),
        ("raw_send (M1, 1) 0x100f 1 1 0x2100403:ud V.0 V.0", ["extended descriptor is 0x100f"]),
        ("raw_sends.15.1.0.1 (M1, 1) V(0,1)<0;1,0> 0x2100403:ud V.0 V.0 V.0", ["in a register"]),
        ("raw_sends.15.1.0.1 (M1, 1) V(0,1)<0;1,0> 0x2100580:ud V.0 V.0 V.0", ["in a register"]),
        ("raw_send (M1, 16) 0xf 2 1 0x4100400:ud V.0 V.0", ["addresses of an unknown size"]),
        ("raw_send (M1, 16) 0xf 2 1 0x4100180:ud V.0 V.0", ["data size 0"]),
        ("raw_send (M1, 16) 0xf 3 1 0x6100580:ud V.0 V.0", ["3 registers of payload and 1"]),
        ("raw_send (M1, 16) 0xf 4 8 0x8803580:ud V.0 V.0", ["visim expects 2 of addresses"]),
        ("raw_send (M1, 16) 0xf 2 3 0x4300580:ud V.0 V.0", ["3 of response", "1 of response"]),
        ("raw_send (M1, 16) 0xf 2 4 0x4408594:ud V.0 V.0", ["1 of response"]),
        ("raw_send (M1, 16) 0xf 2 1 0x410058c:ud V.0 V.0", ["2 of addresses, 1 of data"]),
        ("raw_sends.15.2.1.1 (M1, 16) 0x0:ud 0x410078c:ud V.0 V.0 V.0", ["2 of data"]),
        ("raw_send (M1, 16) 0xd 2 1 0x4100580:ud V.0 V.0", ["13 (tgm, operation 0x0)"]),
        ("raw_send (M1, 16) 0xf 2 1 0x4100581:ud V.0 V.0", ["operation 0x1"]),
        ("raw_send (M1, 16) 0xe 2 1 0x64100580:ud V.0 V.0", ["SLM with addresses of model bti"]),
        ("raw_sends.15.1.0.1 (M1, 1) 0x0:ud V(0,1)<0;1,0> V.0 V.0 V.0", ["15 (ugm), desc"]),
    ],
)
def test_others_say_what_they_ask_for(line, parts):
    ended = run(line, {"V": np.zeros(256, np.uint32)}, platform="pvc")
    assert ended.fault.category == "unsupported"
    assert [part for part in parts if part not in ended.fault.message] == []
