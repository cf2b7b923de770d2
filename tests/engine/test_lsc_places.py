"""Where LSC messages reach: address models, units, counters, prefetches; the page's examples."""

from __future__ import annotations

import numpy as np
import pytest

from visim.check.verifier import verify_module
from visim.diag import Source
from visim.engine.jit.launch.answers import Answers
from visim.machine.surfaces import Surfaces
from visim.target import platform
from visim.text import read_text

from .harness import Outcome, run

# The examples of LSC_UNTYPED; its V13 is a data variable D, and its pitch variable is in bytes.
EXAMPLES = """
lsc_load.ugm.uc.uc  (M1,32) VVAL:d32    flat[VOFF+0x100]:a64
lsc_load.ugm  (M1,32) %null:d32  flat[VOFF]:a64
lsc_load.slm   (M1,32) VVAL:d32x4  flat[0x4*VSMALL-0x10]:a32
lsc_load.ugm (M1_NM, 1)  VVAL:d32t  arg[VSMALL]:a32
lsc_store.ugm     (M1,32) flat[VOFF]:a64  VVAL:d32
lsc_store.slm     (M1,32) flat[VSMALL]:a32  VVAL:d32x4
lsc_atomic_iinc.ugm.uc.uc  (M1,32) %null:d32  flat[VOFF]:a64 %null %null
lsc_atomic_fadd.slm  (M1,32) VOLD:d32  flat[VSMALL]:a32 VADDEND %null
lsc_atomic_icas.ugm.uc.wb  (M1,32) VOLD:d32  flat[VOFF]:a64 VCMP VIFEQ
lsc_load.ugm.uc.uc (M1,32) D:d32 bss(BSSO(0,0))[VPLACE]:a64
lsc_load.ugm.uc.uc (M1,32) D:d32 ss(BSSO(0,0))[VPLACE]:a64
lsc_load.ugm          (M1_NM,1)  D:d32x16t  bti(0x4)[VSMALL]:a32
lsc_load_block2d.ugm  (M1_NM,1)  VDATA:d8.2x16x32nn    \
flat[VSURF_BASE,VSURF_W,V_SURF_H,SURF_P,OFF_X,OFF_Y]
lsc_load_block2d.ugm  (M1_NM,1) VDATA:d16.1x32x16tn   \
flat[VSURF_BASE,VSURF_W,V_SURF_H,SURF_P,OFF_X,OFF_Y]
lsc_load_block2d.ugm  (M1_NM,1) VDATA:d16.1x16x32nt   \
flat[VSURF_BASE,VSURF_W,V_SURF_H,SURF_P,OFF_X,OFF_Y]
lsc_store_block2d.ugm (M1_NM,1)  flat[VSURF_BASE,VSURF_W,V_SURF_H,SURF_P,OFF_X,OFF_Y]  \
VDATA:d16.16x32nn
lsc_apndctr_atomic_add.ugm  (M1,32) VDATA:d32 bti(0xA0) VADDEND:d32
lsc_apndctr_atomic_add.ugm.uc.uc (M1, 32) VDATA:d32 bss(BSSO(0,0)) VADDEND:d32
""".strip().splitlines()


def words(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, count, np.uint32)


def aligned(count: int) -> np.ndarray:
    """Return dwords at an address that is a multiple of 64."""
    space = np.zeros(count + 16, np.uint32)
    start = -space.ctypes.data // 4 % 16
    return space[start : start + count]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_page_executes(line: str):
    memory = aligned(1024)
    memory[:] = words(1024)
    offsets = np.arange(32)
    surfaces = Surfaces()
    for index in (4, 7, 0xA0):
        surfaces.bind(index, words(64, index), f"surface {index}")
    values: dict[str, np.ndarray] = {
        "VOFF": (memory.ctypes.data + 4 * offsets).astype(np.uint64),
        "VPLACE": (4 * offsets).astype(np.uint64),
        "VSMALL": (16 * offsets + 16).astype(np.uint32),
        "VSURF_BASE": np.array([memory.ctypes.data], np.uint64),
        "BSSO": np.array([7 << 6], np.uint32),
    }
    sizes = {"VSURF_W": 127, "V_SURF_H": 31, "SURF_P": 128, "OFF_X": 1, "OFF_Y": 2}
    values |= {name: np.array([value], np.uint32) for name, value in sizes.items()}
    for name in ("VVAL", "VOLD", "VADDEND", "VCMP", "VIFEQ", "VDATA", "D"):
        values[name] = words(512, 3)
    used = {name: value for name, value in values.items() if name in line}
    ended = run(
        line,
        used,
        simd=32,
        platform="pvc",
        buffers={"MEMORY": memory},
        surfaces=surfaces,
        scratch_bytes=1024,
        arguments=words(64).view(np.uint8),
        slm_bytes=4096,
    )
    assert ended.exit.fault is None, ended.exit.fault


class TestPlaces:
    """The models flat, bti, bss, ss and arg; the units ugm, ugml and slm."""

    def load(self, address: str, **places: object) -> np.ndarray:
        ended = run(
            f"lsc_load.ugm (M1, 8) V:d32 {address}",
            {
                "V": words(8, 9),
                "A": np.arange(0, 32, 4, dtype=np.uint32),
                "S": np.array([0, 5 << 6 | 0x3F], np.uint32),
            },
            simd=8,
            platform="dg2",
            **places,
        )
        assert ended.exit.fault is None, ended.exit.fault
        return ended["V"]

    def test_arguments_are_a_space_of_their_own(self):
        data = words(16)
        found = self.load("arg[A+0x10]:a32", arguments=data.view(np.uint8))
        assert np.array_equal(found, data[4:12])

    @pytest.mark.parametrize("surface", ["bti(0x5)", "bss(0x140)", "bss(S(0,1))"])
    def test_a_bindless_offset_counts_states_of_64_bytes(self, surface: str):
        data = words(16)
        surfaces = Surfaces()
        surfaces.bind(5, data, "x")
        assert np.array_equal(self.load(f"{surface}[A+0x10]:a32", surfaces=surfaces), data[4:12])

    def test_outside_of_a_surface_there_are_zeros(self):
        data = words(8)
        surfaces = Surfaces()
        surfaces.bind(5, data, "x")
        found = self.load("bti(0x5)[2*A-0x8]:a32", surfaces=surfaces)
        assert list(found) == [0, *data[0::2], 0, 0, 0]

    def test_an_address_of_64_bits_is_not_cut_to_32(self):
        surfaces = Surfaces()
        surfaces.bind(5, words(8), "x")
        ended = run(
            "lsc_load.ugm (M1, 1) V:d32 bti(0x5)[A]:a64",
            {"V": words(1, 9), "A": np.array([1 << 32], np.uint64)},
            platform="dg2",
            surfaces=surfaces,
        )
        assert ended["V"][0] == 0

    @pytest.mark.parametrize("channels", ["xyzw", "yz", "xw"])
    def test_behind_the_last_offset_of_32_bits_no_surface_begins_again(self, channels: str):
        data, stored = words(8), words(64)
        before, surfaces = data.copy(), Surfaces()
        surfaces.bind(5, data, "x")
        ended = run(
            f"""
            lsc_load_quad.ugm (M1, 8) V:d32.{channels} bti(0x5)[A]:a32
            lsc_store_quad.ugm (M1, 8) bti(0x5)[A]:a32 W:d32.{channels}
            """,
            {"V": words(32, 9), "W": stored, "A": np.full(8, 2**32 - 4, np.uint32)},
            simd=8,
            platform="dg2",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert not ended["V"][: 8 * len(channels)].any()
        assert np.array_equal(data, before)

    def test_addresses_of_16_bits(self):
        ended = run(
            """
            lsc_store.slm (M1, 4) flat[A]:a16 V:d32
            lsc_load.slm (M1, 4) W:d32 flat[A]:a16
            """,
            {"V": words(4), "W": words(4, 1), "A": np.array([0, 12, 8, 4], np.uint16)},
            platform="dg2",
            slm_bytes=64,
        )
        assert np.array_equal(ended["W"], ended["V"])

    def test_ugml_reaches_the_same_memory(self):
        memory = words(4)
        ended = run(
            "lsc_load.ugml (M1_NM, 1) V:d32x4t flat[M]:a64",
            {"V": words(4, 1)},
            platform="pvc",
            buffers={"M": memory},
        )
        assert np.array_equal(ended["V"], memory)

    @pytest.mark.parametrize(("offset", "left"), [(0, 3), (4, 2), (8, 1)])
    def test_a_block_that_ends_behind_an_array_has_zeros_there(self, offset: int, left: int):
        memory = words(3)
        line = "lsc_load.ugm (M1_NM, 1) V:d32x4t flat[A]:a64"
        ended = run(
            f"add (M1_NM, 1) A(0,0)<1> M(0,0)<0;1,0> {offset}:uq\n{line}",
            {"V": words(4, 1), "A": np.zeros(1, np.uint64)},
            platform="pvc",
            buffers={"M": memory},
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert ended["V"][:left].tolist() == memory[3 - left :].tolist()
        assert not ended["V"][left:].any()

    def test_native_code_reads_such_blocks_by_itself(self, monkeypatch: pytest.MonkeyPatch):
        def refuse(*_: object) -> None:
            raise AssertionError("native code asked for a block that ends behind an array")

        monkeypatch.setattr(Answers, "_perform", refuse)
        memory = words(3)
        ended = run(
            "lsc_load.ugm (M1_NM, 1) V:d32x4t flat[M]:a64",
            {"V": words(4, 1)},
            platform="pvc",
            buffers={"M": memory},
        )
        assert ended["V"].tolist() == [*memory.tolist(), 0]

    def test_of_overlapping_arrays_the_one_that_reaches_furthest_counts(self):
        memory = words(5)
        ended = run(
            "lsc_load.ugm (M1_NM, 1) V:d32x8t flat[M]:a64",
            {"V": words(8, 1)},
            platform="pvc",
            buffers={"L": memory[:3], "M": memory[:4], "N": memory[1:], "R": memory[:2]},
        )
        assert ended["V"].tolist() == [*memory[:4].tolist(), 0, 0, 0, 0]

    def test_a_block_that_begins_behind_an_array_faults(self):
        ended = run(
            "add (M1_NM, 1) A(0,0)<1> M(0,0)<0;1,0> 12:uq\n"
            "lsc_load.ugm (M1_NM, 1) V:d32x4t flat[A]:a64",
            {"V": words(4, 1), "A": np.zeros(1, np.uint64)},
            platform="pvc",
            buffers={"M": words(3)},
        )
        assert ended.exit.fault is not None

    def test_the_surface_variable_of_bindless_surfaces_holds_an_offset(self):
        data = words(8)
        surfaces = Surfaces()
        surfaces.bind(3, data, "x")
        ended = run(
            """
            movs (M1_NM, 1) %bss(0) 0xc0:ud
            gather4_scaled.R (M1, 8) %bss 0x0:ud A.0 V.0
            """,
            {"V": words(8, 1), "A": np.arange(0, 32, 4, dtype=np.uint32)},
            simd=8,
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(ended["V"], data)

    @pytest.mark.parametrize(
        "line",
        [
            "lsc_load.ugm (M1, 8) %null:d32 flat[A]:a64",
            "lsc_load.ugm (M1_NM, 1) %null:d32x8t flat[A]:a64",
            "lsc_load_quad.ugm (M1, 8) %null:d32.xy flat[A]:a64",
            "lsc_load_strided.ugm (M1, 8) %null:d32 flat[A]:a64",
            "lsc_load_block2d.ugm (M1_NM, 1) %null:d32.4x4nn flat[A, 63, 63, 63, 0, 0]",
        ],
    )
    def test_a_prefetch_never_faults(self, line: str):
        ended = run(line, {"A": np.full(8, 12345678, np.uint64)}, simd=8, platform="pvc")
        assert ended.exit.fault is None

    def test_a_load_outside_of_memory_faults(self):
        line = "lsc_load.ugm (M1, 8) V:d32 flat[A]:a64"
        ended = run(line, {"A": np.full(8, 12345678, np.uint64), "V": words(8)}, platform="pvc")
        assert ended.fault.code == "memory-access"

    def test_a_status_has_a_bit_for_each_enabled_channel(self):
        memory = words(16)
        addresses = memory.ctypes.data + 4 * np.arange(16)
        ended = run(
            "(P1) lsc_load_status.ugm (M1, 16) V:d32 flat[A]:a64",
            {"A": addresses.astype(np.uint64), "V": words(16, 2)},
            {"P1": 0xF0F1},
            platform="pvc",
            mask=0x3FFF,
            buffers={"M": memory},
        )
        assert ended["V"][0] == 0x30F1
        assert np.array_equal(ended["V"][1:], words(16, 2)[1:])


class TestScratchMemoryByPointer:
    """The pointer %scratchloc of version 4.2: the compiler's code for private arrays on cri."""

    POINTER = ".decl POINTER v_type=G type=uq num_elts=1 align=qword alias=<%scratchloc, 0>"

    def run(self, body: str, surfaces: Surfaces | None = None) -> Outcome:
        given = {
            "A": np.arange(0, 64, 4, dtype=np.uint32)[::-1].copy(),
            "V": words(16),
            "W": words(16, 1),
            "Q": np.zeros(1, np.uint64),
        }
        return run(
            body,
            given,
            platform="cri",
            version="4.2",
            declarations=self.POINTER,
            scratch_bytes=128,
            surfaces=surfaces,
        )

    @pytest.mark.parametrize("pointer", ["%scratchloc", "POINTER"])
    def test_the_surface_that_it_finds_is_scratch_memory(self, pointer: str):
        ended = self.run(
            f"""
            lsc_store.ugm (M1, 16) surf({pointer})[A+0x40]:a32u V:d32
            lsc_load.ugm (M1_NM, 1) W:d32x16t surf({pointer})[Q+0x40]:a32u
            """
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert np.array_equal(ended["W"], words(16)[::-1])

    def test_another_pointer_finds_another_surface(self):
        surfaces = Surfaces()
        surfaces.bind(0, words(16, 7), "x")
        ended = self.run("lsc_load.ugm (M1_NM, 1) W:d32x16t surf(Q)[Q]:a32u", surfaces)
        assert np.array_equal(ended["W"], words(16, 7))

    def test_outside_of_scratch_memory_is_a_fault(self):
        ended = self.run("lsc_load.ugm (M1, 16) W:d32 surf(%scratchloc)[A+0x44]:a32u")
        assert ended.fault.code == "memory-access"

    @pytest.mark.parametrize(
        "line",
        [
            "mov (M1_NM, 1) Q(0,0)<1> %scratchloc(0,0)<0;1,0>",
            "add (M1_NM, 1) Q(0,0)<1> POINTER(0,0)<0;1,0> 0x40:uq",
            "lsc_load.ugm (M1_NM, 1) W:d32x16t flat[%scratchloc]:a64",
            "lsc_load.ugm (M1_NM, 1) W:d32x16t flat(POINTER)[Q]:a32s",
        ],
    )
    def test_what_it_holds_is_not_known(self, line: str):
        ended = self.run(line)
        assert ended.fault.category == "unsupported"
        assert "%scratchloc is read other than" in ended.fault.message


class TestAppendCounters:
    """AppendCounterAtomicAdd, AppendCounterAtomicSub."""

    def test_channels_take_their_turns_on_the_surface_s_counter(self):
        surfaces = Surfaces()
        surfaces.bind(2, words(4), "x")
        ended = run(
            """
            lsc_apndctr_atomic_add.ugm (M1, 8) V:d32 bti(0x2) W:d32
            (P1) lsc_apndctr_atomic_sub.ugm (M1, 8) X:d32 bss(0x80) W:d32
            """,
            {
                "V": words(8, 1),
                "W": np.arange(1, 9, dtype=np.uint32),
                "X": np.full(8, 99, np.uint32),
            },
            {"P1": 0b101},
            simd=8,
            platform="dg2",
            surfaces=surfaces,
        )
        assert ended.exit.fault is None, ended.exit.fault
        assert list(ended["V"]) == [0, 1, 3, 6, 10, 15, 21, 28]
        assert list(ended["X"]) == [36, 99, 35, 99, 99, 99, 99, 99]
        assert surfaces.counter(2) == 32

    def test_a_surface_that_is_not_bound_has_none(self):
        ended = run(
            "lsc_apndctr_atomic_add.ugm (M1, 8) %null:d32 bti(0x9) W:d32",
            {"W": words(8)},
            simd=8,
            platform="dg2",
        )
        assert "binding table index 9" in ended.fault.message


def findings(line: str, device: str = "pvc") -> list[str]:
    names = ("A", "V", "W")
    lines = [
        ".version 4.1",
        '.kernel "k"',
        *(f".decl {name} v_type=G type=uq num_elts=64 align=wordx32" for name in names),
        '.function "k"',
        "k:",
        line,
        "ret (M1, 1)",
    ]
    module = read_text(Source("k", "\n".join(lines) + "\n"))
    return [
        finding.message
        for finding in verify_module(module, platform(device)).errors
        if finding.code.startswith("lsc-")
    ]


class TestLegality:
    """The page's table of cache controls; IGC refuses the same on pvc."""

    LOADS = (".df.df", ".uc.uc", ".st.uc", ".uc.ca", ".ca.uc", ".ca.ca", ".st.ca", ".ri.ca")
    STORES = (".df.df", ".uc.uc", ".st.uc", ".uc.wb", ".wt.uc", ".wt.wb", ".st.wb", ".wb.wb")
    ATOMICS = (".df.df", ".uc.uc", ".uc.wb")
    LINES = (
        ("lsc_load.ugm{} (M1, 16) V:d32 flat[A]:a64", LOADS),
        ("lsc_store.ugm{} (M1, 16) flat[A]:a64 V:d32", STORES),
        ("lsc_atomic_iadd.ugm{} (M1, 16) V:d32 flat[A]:a64 W %null", ATOMICS),
        ("lsc_load_block2d.ugm{} (M1_NM, 1) V:d32.4x4nn flat[A, 63, 63, 63, 0, 0]", LOADS),
    )

    @pytest.mark.parametrize(("line", "legal"), LINES)
    def test_cache_controls(self, line: str, legal: tuple[str, ...]):
        levels = ("df", "uc", "ca", "wb", "wt", "st", "ri")
        controls = [f".{l1}.{l3}" for l1 in levels for l3 in levels]
        silent = {control for control in controls if not findings(line.format(control))}
        assert silent == set(legal)
        assert not findings(line.format(".ca"), "dg2")

    @pytest.mark.parametrize(
        ("line", "part"),
        [
            ("lsc_load.slm (M1, 16) V:d32 bti(1)[A]:a32", "flat addresses"),
            ("lsc_load.tgm (M1, 16) V:d32 flat[A]:a64", "typed messages"),
            ("lsc_load.ugm (M1, 16) V:d32x4t flat[A]:a64", "one channel"),
            ("lsc_atomic_iinc.ugm (M1, 1) V:d32t flat[A]:a64 %null %null", "transposed"),
            ("lsc_atomic_iinc.ugm (M1, 1) V:d32x2 flat[A]:a64 %null %null", "one element"),
            ("lsc_atomic_iinc.ugm (M1, 1) V:d8 flat[A]:a64 %null %null", "no atomics on d8"),
            ("lsc_load_block2d.slm (M1, 1) V:d32.4x4nn flat[A, 1, 1, 1, 0, 0]", "global memory"),
        ],
    )
    def test_what_no_device_does(self, line: str, part: str):
        (found,) = findings(line)
        assert part in found


class TestRefusals:
    """What the page leaves open stops the run."""

    @pytest.mark.parametrize(
        ("line", "part"),
        [
            ("lsc_load_block2d.ugm (M1, 1) V:d16.4x3nt flat[A, 1, 1, 1, 0, 0]", "VNNI"),
            ("lsc_load_block2d.ugm (M1, 1) V:d64.4x4nt flat[A, 1, 1, 1, 0, 0]", "VNNI"),
            ("lsc_store_block2d.ugm (M1, 1) flat[A, 1, 1, 1, 0, 0] V:d16.2x4x4nn", "2 2D blocks"),
            ("lsc_apndctr_atomic_add.ugm (M1, 8) V:d64 bti(1) V:d64", "counters of d64"),
            ("lsc_apndctr_atomic_add.ugm (M1, 8) V:d32 ss(0) V:d32", "model ss"),
            ("lsc_atomic_bfadd.ugm (M1, 8) V:d16c32 flat[A]:a64 V %null", "bfloat16"),
            ("lsc_apndctr_atomic_store.ugm (M1, 8) V:d32 bti(1) V:d32", "stays in the counter"),
            ("lsc_extended_cache_ctrl.ugm.reset.64B (M1, 8) flat[A]:a64", "when caches write"),
            ("raw_sends.12.1.1.1 (M1, 8) 0x2:ud 0x3:ud V.0 V.0 V.0", "shared function 12"),
            ("raw_send (M1, 8) 0xa 1 1 V(0,1)<0;1,0> V.0 V.0", "shared function 10"),
        ],
    )
    def test_it_is_unsupported(self, line: str, part: str):
        given = {"A": np.zeros(8, np.uint64), "V": words(64)}
        ended = run(line, given, simd=8, platform="pvc")
        assert ended.fault.category == "unsupported"
        assert part in ended.fault.message
