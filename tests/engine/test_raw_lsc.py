"""Raw messages to the load and store cache do what the lsc_ instruction does.

The descriptors are made here of the fields that Intel's finalizer writes for the instruction.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.model import lsc as model

from .harness import run
from .test_lsc import ONCE, PLATFORMS, block_text, rectangles
from .values import octets

LOAD_BLOCK, STORE_BLOCK = 3, 7


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

    SMALL = model.Rectangle(4, 1, 4, 4, False, False, 64, 8, 64, 1, 1)

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


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("raw_send (M1, 1) 0xe 1 1 0x2100403:ud V.0 V.0", ["not in flat memory"]),
        ("raw_send (M1, 1) 0xf 1 1 0x62100403:ud V.0 V.0", ["not in flat memory"]),
        ("raw_send (M1, 1) 0xf 1 1 0x2100803:ud V.0 V.0", ["data size 4"]),
        ("raw_send (M1, 1) 0xf 1 1 0x2100683:ud V.0 V.0", ["data size 3, VNNI"]),
        ("raw_send (M1, 1) 0x100f 1 1 0x2100403:ud V.0 V.0", ["extended descriptor 0x100f"]),
        ("raw_sends.15.1.0.1 (M1, 1) V(0,1)<0;1,0> 0x2100403:ud V.0 V.0 V.0", ["in V(0,1)"]),
        ("raw_sends.15.1.0.1 (M1, 1) 0x0:ud V(0,1)<0;1,0> V.0 V.0 V.0", ["15 (ugm), desc"]),
    ],
)
def test_others_say_what_they_ask_for(line, parts):
    ended = run(line, {"V": np.zeros(256, np.uint32)}, platform="pvc")
    assert ended.fault.category == "unsupported"
    assert [part for part in parts if part not in ended.fault.message] == []
