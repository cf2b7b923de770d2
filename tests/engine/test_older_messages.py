"""Scattered, block and atomic messages before LSC, against loops written from their pages."""

from __future__ import annotations

import numpy as np
import pytest

from visim.machine.surfaces import Surfaces

from .harness import Outcome, run
from .values import octets

ENABLED = 0xB6D5


def on_surface(line: str, data: np.ndarray, **values: np.ndarray) -> Outcome:
    """Run a line with the surface variable T6 on `data`, of 16 channels those of `ENABLED`."""
    surfaces = Surfaces()
    surfaces.bind(6, data, "surface")
    ended = run(
        f"movs (M1_NM, 1) T6(0) 0x6:ud\n{line}",
        values,
        mask=ENABLED,
        declarations=".decl T6 v_type=T num_elts=1",
        surfaces=surfaces,
    )
    assert ended.exit.fault is None, ended.exit.fault
    return ended


def is_on(channel: int) -> bool:
    return bool(ENABLED >> channel & 1)


class TestGatherAndScatter:
    """Pages GATHER, SCATTER: offsets count elements, from a global offset on."""

    @pytest.mark.parametrize("lanes", [1, 8, 16])
    @pytest.mark.parametrize("size", [1, 2, 4])
    def test_gather(self, size: int, lanes: int):
        data, before = octets(256, 1), octets(128, 2)
        offsets = np.random.default_rng(3).permutation(16).astype(np.uint32)
        line = f"gather.{size} (M1, {lanes}) T6 0x3:ud A.0 V.0"
        ended = on_surface(line, data, A=offsets, V=before)
        expected = before.copy()
        for i in range(lanes):
            if is_on(i):
                start = size * (3 + int(offsets[i]))
                expected[4 * i : 4 * i + 4] = 0
                expected[4 * i : 4 * i + size] = data[start : start + size]
        assert np.array_equal(ended["V"], expected)

    @pytest.mark.parametrize("lanes", [1, 8, 16])
    @pytest.mark.parametrize("size", [1, 2, 4])
    def test_scatter(self, size: int, lanes: int):
        data, values = octets(256, 1), octets(128, 2)
        offsets = np.random.default_rng(3).permutation(16).astype(np.uint32)
        expected = data.copy()
        for i in range(lanes):
            if is_on(i):
                start = size * (3 + int(offsets[i]))
                expected[start : start + size] = values[4 * i : 4 * i + size]
        line = f"scatter.{size} (M1, {lanes}) T6 0x3:ud A.0 V.0"
        on_surface(line, data, A=offsets, V=values)
        assert np.array_equal(data, expected)

    @pytest.mark.parametrize("channels", ["RG", "RGB", "RGBA", "RB", "GBA"])
    def test_dwords_of_channels(self, channels: str):
        """Pages GATHER4_SCALED, SCATTER4_SCALED."""
        data, before = octets(1024, 1), octets(256, 2)
        offsets = (np.random.default_rng(3).permutation(60)[:16] * 16).astype(np.uint32)
        expected, stored = before.copy(), data.copy()
        for position, letter in enumerate(channels):
            for i in filter(is_on, range(16)):
                at, slot = int(offsets[i]) + 4 * "RGBA".index(letter), 64 * position + 4 * i
                expected[slot : slot + 4] = data[at : at + 4]
                stored[at : at + 4] = before[slot : slot + 4]
        operands = f"{channels} (M1, 16) T6 0x0:ud A.0 V.0"
        ended = on_surface(f"gather4_scaled.{operands}", data, A=offsets, V=before)
        assert np.array_equal(ended["V"], expected)
        on_surface(f"scatter4_scaled.{operands}", data, A=offsets, V=before)
        assert np.array_equal(data, stored)

    def test_qwords(self):
        data, before = octets(256, 1), octets(128, 2)
        offsets = (np.random.default_rng(3).permutation(16) * 9).astype(np.uint32)
        expected, stored = before.copy(), data.copy()
        for i in filter(is_on, range(16)):
            at = int(offsets[i])
            expected[8 * i : 8 * i + 8] = data[at : at + 8]
        ended = on_surface("qw_gather.1 (M1, 16) T6 A.0 V.0", data, A=offsets, V=before)
        assert np.array_equal(ended["V"], expected)
        for i in filter(is_on, range(16)):
            at = int(offsets[i])
            stored[at : at + 8] = before[8 * i : 8 * i + 8]
        on_surface("qw_scatter.1 (M1, 16) T6 A.0 V.0", data, A=offsets, V=before)
        assert np.array_equal(data, stored)

    def test_outside_of_the_surface_reads_are_zero_and_writes_dropped(self):
        data = octets(8, 1)
        offsets = np.arange(16, dtype=np.uint32)
        line = "gather.4 (M1_NM, 16) T6 0x0:ud A.0 V.0\nscatter.4 (M1_NM, 16) T6 0x1:ud A.0 W.0"
        ended = on_surface(line, data, A=offsets, V=octets(64, 2), W=octets(64, 3))
        assert not ended["V"][8:].any()
        assert np.array_equal(data[4:], octets(64, 3)[:4])


class TestEndOfOffsets:
    """What lies behind the last offset of 32 bits is out of range, not the surface's start."""

    LAST = 2**32 - 4

    @pytest.mark.parametrize("channels", ["R", "RG", "RGB", "RGBA", "RB", "GBA", "A"])
    def test_gather4_scaled(self, channels: str):
        data, before = octets(64, 1), octets(256, 2)
        offsets = np.full(16, self.LAST, np.uint32)
        offsets[0] = 16
        line = f"gather4_scaled.{channels} (M1_NM, 16) T6 0x0:ud A.0 V.0"
        found = on_surface(line, data, A=offsets, V=before)["V"].reshape(4, 16, 4)
        for position, letter in enumerate(channels):
            start = 16 + 4 * "RGBA".index(letter)
            assert np.array_equal(found[position, 0], data[start : start + 4])
            assert not found[position, 1:].any()

    @pytest.mark.parametrize("channels", ["RG", "RGBA", "RB", "GBA"])
    def test_scatter4_scaled(self, channels: str):
        data = octets(64, 1)
        before, values = data.copy(), octets(256, 2)
        line = f"scatter4_scaled.{channels} (M1_NM, 16) T6 0x0:ud A.0 V.0"
        on_surface(line, data, A=np.full(16, self.LAST, np.uint32), V=values)
        assert np.array_equal(data, before)

    def test_owords(self):
        data = octets(64, 1)
        before, values = data.copy(), octets(16, 2)
        body = "oword_ld (1) T6 0x10000000:ud V.0\noword_st (1) T6 0x10000001:ud W.0"
        ended = on_surface(body, data, V=octets(16, 3), W=values)
        assert not ended["V"].any()
        assert np.array_equal(data, before)


class TestBlocks:
    """Pages OWORD_LD, OWORD_ST, OWORD_LD_UNALIGNED."""

    @pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
    def test_owords_of_slm(self, count: int):
        body = f"""
            oword_st ({count}) %slm 0x2:ud V.0
            oword_ld ({count}) %slm 0x2:ud W.0
            oword_ld_unaligned ({count}) %slm 0x24:ud X.0
        """
        values = {"V": octets(512, 1), "W": octets(512, 2), "X": octets(512, 3)}
        ended = run(body, values, platform="dg2", slm_bytes=1024)
        assert ended.exit.fault is None, ended.exit.fault
        size = 16 * count
        assert np.array_equal(ended["W"][:size], values["V"][:size])
        assert np.array_equal(ended["W"][size:], values["W"][size:])
        assert np.array_equal(ended["X"][: size - 4], values["V"][4:size])
        assert not ended["X"][size - 4 : size].any()
        assert np.array_equal(ended["X"][size:], values["X"][size:])


class TestVirtualMemory:
    """Pages SVM_GATHER, SVM_SCATTER; registers of 32 bytes."""

    SHAPES = (
        *((s, b, lanes) for s in (1, 4, 8) for b in (1, 2, 4, 8) for lanes in (8, 16)),
        *((1, blocks, 1) for blocks in (1, 2, 4)),
    )

    @staticmethod
    def slot(size: int, blocks: int, lanes: int, i: int, j: int) -> int:
        if size == 1:
            return i * max(4, blocks) + j
        return (j * lanes + i) * size

    @pytest.mark.parametrize(("size", "blocks", "lanes"), SHAPES)
    def test_svm_gather(self, size: int, blocks: int, lanes: int):
        memory, before = octets(1024, 1), octets(2048, 2)
        starts = np.random.default_rng(3).permutation(16) * 40
        expected = before.copy()
        for i in filter(is_on, range(lanes)):
            if size == 1:
                start = self.slot(size, blocks, lanes, i, 0)
                expected[start : start + max(4, blocks)] = 0
            for j in range(blocks):
                place, at = self.slot(size, blocks, lanes, i, j), int(starts[i]) + j * size
                expected[place : place + size] = memory[at : at + size]
        ended = run(
            f"svm_gather.{size}.{blocks} (M1, {lanes}) A.0 V.0",
            {"A": (memory.ctypes.data + starts).astype(np.uint64), "V": before},
            mask=ENABLED,
            buffers={"M": memory},
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(ended["V"], expected)

    @pytest.mark.parametrize(("size", "blocks", "lanes"), SHAPES)
    def test_svm_scatter(self, size: int, blocks: int, lanes: int):
        memory, values = octets(1536, 1), octets(2048, 2)
        starts = np.random.default_rng(3).permutation(16) * 80
        expected = memory.copy()
        for i in filter(is_on, range(lanes)):
            for j in range(blocks):
                place, at = self.slot(size, blocks, lanes, i, j), int(starts[i]) + j * size
                expected[at : at + size] = values[place : place + size]
        ended = run(
            f"svm_scatter.{size}.{blocks} (M1, {lanes}) A.0 V.0",
            {"A": (memory.ctypes.data + starts).astype(np.uint64), "V": values},
            mask=ENABLED,
            buffers={"M": memory},
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(memory, expected)


class TestAtomics:
    """Pages DWORD_ATOMIC, SVM_ATOMIC."""

    def test_predec_returns_the_new_value(self):
        data = np.array([5, 0, 7, 9], np.uint32)
        offsets = np.array([0, 4, 8, 8] + [12] * 12, np.uint32)
        line = "dword_atomic.predec (M1, 4) T6 A.0 %null.0 %null.0 V.0"
        ended = on_surface(line, data, A=offsets, V=np.full(4, 77, np.uint32))
        # Channels 0 and 2 are on, of the first four.
        assert list(ended["V"]) == [4, 77, 6, 77]
        assert list(data) == [4, 0, 6, 9]

    @pytest.mark.parametrize("of", ["dword", "svm"])
    def test_16_bit_atomics_use_the_low_half_of_each_dword(self, of: str):
        data = np.array([0xFFFF, 1, 2, 3], np.uint16)
        operands = np.array([0xAAAA0002, 0xBBBB0005], np.uint32)
        values = {"S": operands, "V": np.full(2, 0xEEEEEEEE, np.uint32)}
        if of == "dword":
            line = "dword_atomic.add.16 (M1_NM, 2) T6 A.0 S.0 %null.0 V.0"
            ended = on_surface(line, data, A=np.array([0, 6], np.uint32), **values)
        else:
            ended = run(
                "svm_atomic.add.16 (M1_NM, 2) A.0 V.0 S.0 %null.0",
                {"A": data.ctypes.data + np.array([0, 6], np.uint64), **values},
                buffers={"M": data},
            )
        assert ended.exit.fault is None, ended.exit.fault
        assert list(data) == [1, 1, 2, 8]
        assert list(ended["V"]) == [0xFFFF, 3]

    def test_16_channels_are_compilers_own(self):
        """The page of SVM_ATOMIC has 8 at most, Intel's vector back end writes 16."""
        data = np.arange(4, dtype=np.uint32)
        ended = run(
            "svm_atomic.add (M1_NM, 16) A.0 V.0 S.0 %null.0",
            {
                "A": data.ctypes.data + 4 * (np.arange(16, dtype=np.uint64) % 4),
                "S": np.arange(16, dtype=np.uint32),
                "V": np.zeros(16, np.uint32),
            },
            buffers={"M": data},
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert list(data) == [24, 29, 34, 39]
        assert list(ended["V"]) == [0, 1, 2, 3, 0, 2, 4, 6, 4, 7, 10, 13, 12, 16, 20, 24]

    def test_16_bit_floats(self):
        data = np.array([1.5, -2.0], np.float16)
        operands = np.array([0.25, -3.0], np.float16).view(np.uint16).astype(np.uint32)
        ended = run(
            "svm_atomic.fmin.16 (M1_NM, 2) A.0 V.0 S.0 %null.0",
            {
                "A": data.ctypes.data + np.array([0, 2], np.uint64),
                "S": operands,
                "V": np.zeros(2, np.uint32),
            },
            buffers={"M": data},
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert list(data) == [0.25, -3.0]
        assert list(ended["V"].astype(np.uint16).view(np.float16)) == [1.5, -2.0]


class TestSurfaceVariables:
    """Messages go to the surface whose number their variable holds then."""

    @pytest.mark.parametrize(
        "way", ["set", "computed", "copied", "set on one way", "set before a jump"]
    )
    def test_the_last_number_counts(self, way: str):
        ways = {
            "set": "movs (M1_NM, 1) T6(0) 0x7:ud",
            "computed": "movs (M1_NM, 1) T6(0) N(0,0)<0;1,0>",
            "copied": "movs (M1, 1) N(0,0)<1> 0x7:ud\nmovs (M1, 1) T6(0) N(0,0)<0;1,0>",
            "set on one way": "(P1) jmp (M1_NM, 1) on\nmovs (M1_NM, 1) T6(0) 0x7:ud\non:",
            "set before a jump": "movs (M1_NM, 1) T6(0) 0x7:ud\n(P1) jmp (M1_NM, 1) on\non:",
        }
        given = 6 if way == "copied" else 7
        surfaces, offsets = Surfaces(), np.arange(16, dtype=np.uint32)
        for number in (6, 7):
            surfaces.bind(number, np.arange(16, dtype=np.uint32) + 100 * number, str(number))
        nothing = np.zeros(16, np.uint32)
        ended = run(
            f"""
            movs (M1_NM, 1) T6(0) 0x6:ud
            gather.4 (M1, 16) T6 0x0:ud A.0 V.0
            {ways[way]}
            gather.4 (M1, 16) T6 0x0:ud A.0 W.0
            """,
            {"A": offsets, "V": nothing, "W": nothing, "N": np.array([given], np.uint32)},
            {"P1": 0},
            declarations=".decl T6 v_type=T num_elts=1",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert list(ended["V"]) == list(600 + offsets)
        assert list(ended["W"]) == list(700 + offsets)

    def test_numbers_behind_the_table_are_unbound(self):
        ended = run(
            "movs (M1_NM, 1) T6(0) 0x1f0:ud\ngather.4 (M1_NM, 16) T6 0x0:ud A.0 V.0",
            {"A": np.arange(16, dtype=np.uint32), "V": np.ones(16, np.uint32)},
            declarations=".decl T6 v_type=T num_elts=1",
        )
        assert "unbound" in ended.fault.message
