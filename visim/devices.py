"""The table of devices: all that differs between the GPUs that vISA programs are made for.

Owns the facts. Names, checks, payloads, the command line and docs/devices.md follow from it;
`visim.target` finds rows by name.

Sources: what ocloc 22.43 and 26.27 write for each of their devices (register sizes, notes, SIMD
widths); the finalizer's capabilities (visa/HWCaps.inc, visa/common.cpp) and the compiler's
(Platform.hpp) in intel/intel-graphics-compiler; hw_info_*.cpp and release_helper_*.cpp in
intel/compute-runtime (threads, shared local memory, counts of registers).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Generation(IntEnum):
    """A generation of GPUs, the oldest first: what one has, later ones have if nothing says no."""

    GEN8 = 0
    GEN9 = 1
    GEN11 = 2
    XE_LP = 3
    XE_HPG = 4
    XE_LPG = 5
    XE_LPG_PLUS = 6
    XE_HPC = 7
    XE2 = 8
    XE3 = 9
    XE3P = 10


class Feature(StrEnum):
    """What devices have or have not regardless of their age; the value is what documents say."""

    DOUBLES = "doubles"
    INT64 = "64-bit integer arithmetic"
    MACROS = "exact division and roots (`invm`, `rsqtm`)"
    MATRIX = "matrix products (`dpas`)"
    FUSED = "fused threads"
    BF16 = "bfloat16"
    SAMPLERS = "samplers"


@dataclass(frozen=True, slots=True)
class Product:
    """One product: ocloc's names for it, and its number in a zebin's note.

    The first name is the one to compile with. `graphics` are the graphics versions (major, minor)
    that notes of kind 6 have.
    """

    family: int
    names: tuple[str, ...]
    graphics: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Platform:
    """One device family, for which compiled programs are the same.

    Args:
        name: what visim calls it.
        title: what people call it.
        generation: its generation.
        grf_bytes: the size of a register.
        products: what is sold of it; programs are compiled for the first unless one is named.
        groups: what ocloc calls it and its like together.
        core: the number of its graphics core in a zebin's note.
        gen_codes: its numbers in objects that have Gen code.
        simd_sizes: the sizes of subgroups that OpenCL C has on it.
        grf_counts: how many registers a thread can have.
        threads: how many threads an execution unit runs, with `grf_counts` as most have them.
        slm_kib: the most shared local memory of a group.
        inline_bytes: how much of a payload its hardware leaves in registers, 0 if all of it.
        features: what it has of `Feature`.
        timing: its name where `visim.timing` has a table of it.
    """

    name: str
    title: str
    generation: Generation
    grf_bytes: int
    products: tuple[Product, ...]
    core: int
    gen_codes: tuple[int, ...]
    simd_sizes: tuple[int, ...]
    grf_counts: tuple[int, ...]
    threads: int
    slm_kib: int
    inline_bytes: int
    features: frozenset[Feature]
    groups: tuple[str, ...] = ()
    timing: str | None = None

    @property
    def has_fp64(self) -> bool:
        """Whether it computes with DF."""
        return Feature.DOUBLES in self.features

    @property
    def has_int64(self) -> bool:
        """Whether all its integer arithmetic has 64 bits."""
        return Feature.INT64 in self.features

    @property
    def has_bf16(self) -> bool:
        """Whether it computes with BF."""
        return Feature.BF16 in self.features

    @property
    def has_macros(self) -> bool:
        """Whether it has the steps of exact division and roots, INVM and RSQTM."""
        return Feature.MACROS in self.features

    @property
    def has_samplers(self) -> bool:
        """Whether it has samplers: pvc has none."""
        return Feature.SAMPLERS in self.features

    @property
    def is_fused(self) -> bool:
        """Whether threads of matrix products come in pairs that exchange data (DPASW)."""
        return self.has_matrix and Feature.FUSED in self.features

    @property
    def has_matrix(self) -> bool:
        """Whether it multiplies matrices (DPAS)."""
        return Feature.MATRIX in self.features

    @property
    def matrix_channels(self) -> int:
        """How many channels DPAS has: as many as a register has dwords."""
        return self.grf_bytes // 4 if self.has_matrix else 0

    @property
    def message_channels(self) -> int:
        """How many channels one LSC message has at most."""
        return self.grf_bytes // 2

    @property
    def has_wide_typed(self) -> bool:
        """Whether typed messages have 16 channels: from pvc on."""
        return self.generation >= Generation.XE_HPC

    @property
    def has_lsc(self) -> bool:
        """Whether it has the load and store cache, which LSC messages go to: from dg2 on."""
        return self.generation >= Generation.XE_HPG

    @property
    def loads_payload(self) -> bool:
        """Whether code loads its local ids and most of its arguments itself: from dg2 on."""
        return self.inline_bytes > 0

    @property
    def has_named_barriers(self) -> bool:
        """Whether its message gateway has named barriers: from pvc on."""
        return self.generation >= Generation.XE_HPC

    @property
    def divides_integers(self) -> bool:
        """Whether `div` and `mod` take integers: before dg2."""
        return self.generation < Generation.XE_HPG

    @property
    def has_short_atomics(self) -> bool:
        """Whether it has atomics of 16 bits: from tgllp on."""
        return self.generation >= Generation.XE_LP

    @property
    def has_local_blocks(self) -> bool:
        """Whether shared local memory takes messages of blocks: from icllp on."""
        return self.generation >= Generation.GEN11

    @property
    def has_wide_thread_space(self) -> bool:
        """Whether the coordinates of media threads have 12 bits: from icllp on."""
        return self.generation >= Generation.GEN11


_OLD_SIMD, _NEW_SIMD = (8, 16, 32), (16, 32)
_ONE_FILE, _TWO_FILES = (128,), (128, 256)
_XE3_FILES = (32, 64, 96, 128, 160, 192, 256)
_CRI_FILES = (*_XE3_FILES, 512)
_NVL_P_FILES = (*_XE3_FILES, 320, 448, 512)

_DIVIDING = frozenset({Feature.DOUBLES, Feature.INT64, Feature.MACROS, Feature.SAMPLERS})
_XE_LP = frozenset({Feature.SAMPLERS, Feature.FUSED})
_XE_HPG = _XE_LP | {Feature.MATRIX, Feature.BF16}
_XE2 = _DIVIDING | {Feature.MATRIX, Feature.BF16}

#: The oldest first.
PLATFORMS = (
    Platform(
        "bdw",
        "Broadwell",
        Generation.GEN8,
        grf_bytes=32,
        products=(Product(16, ("bdw",)), Product(17, ("chv",))),
        groups=("gen8",),
        core=0xB,
        gen_codes=(3, 4),
        simd_sizes=_OLD_SIMD,
        grf_counts=_ONE_FILE,
        threads=7,
        slm_kib=64,
        inline_bytes=0,
        features=_DIVIDING,
        timing="bdw",
    ),
    Platform(
        "skl",
        "Skylake and its successors up to Comet Lake",
        Generation.GEN9,
        grf_bytes=32,
        products=(
            Product(18, ("skl",)),
            Product(19, ("kbl", "aml")),
            Product(20, ("cfl", "whl", "cml")),
            Product(22, ("bxt", "apl")),
            Product(23, ("glk",)),
        ),
        groups=("gen9",),
        core=0xC,
        gen_codes=(5, 6),
        simd_sizes=_OLD_SIMD,
        grf_counts=_ONE_FILE,
        threads=7,
        slm_kib=64,
        inline_bytes=0,
        features=_DIVIDING,
        timing="skl",
    ),
    Platform(
        "icllp",
        "Ice Lake",
        Generation.GEN11,
        grf_bytes=32,
        products=(
            Product(26, ("icllp", "icl")),
            Product(27, ("lkf",)),
            Product(28, ("ehl", "jsl")),
        ),
        groups=("gen11",),
        core=0xF,
        gen_codes=(8, 10),
        simd_sizes=_OLD_SIMD,
        grf_counts=_ONE_FILE,
        threads=7,
        slm_kib=64,
        inline_bytes=0,
        features=frozenset({Feature.SAMPLERS}),
        timing="icl",
    ),
    Platform(
        "tgllp",
        "Tiger Lake, Rocket Lake, Alder Lake, Raptor Lake, DG1",
        Generation.XE_LP,
        grf_bytes=32,
        products=(
            Product(29, ("tgllp", "tgl"), ((12, 0),)),
            Product(30, ("rkl",), ((12, 1),)),
            Product(31, ("adl-s", "rpl-s"), ((12, 2),)),
            Product(32, ("adl-p", "rpl-p"), ((12, 3),)),
            Product(33, ("adl-n",), ((12, 4),)),
            Product(1210, ("dg1",), ((12, 10),)),
        ),
        groups=("gen12lp", "xe-lp"),
        core=0x12,
        gen_codes=(12,),
        simd_sizes=_OLD_SIMD,
        grf_counts=_ONE_FILE,
        threads=7,
        slm_kib=64,
        inline_bytes=0,
        features=_XE_LP,
        timing="tgl",
    ),
    Platform(
        "dg2",
        "Alchemist (Arc A), Flex",
        Generation.XE_HPG,
        grf_bytes=32,
        products=(
            Product(1270, ("dg2", "acm-g10", "ats-m150", "dg2-g10"), ((12, 55),)),
            Product(1270, ("acm-g11", "ats-m75", "dg2-g11", "ats-m"), ((12, 56),)),
            Product(1270, ("acm-g12", "dg2-g12"), ((12, 57),)),
        ),
        groups=("xe-hpg",),
        core=0xC07,
        gen_codes=(11, 13),
        simd_sizes=_OLD_SIMD,
        grf_counts=_TWO_FILES,
        threads=8,
        slm_kib=64,
        inline_bytes=32,
        features=_XE_HPG,
        timing="dg2",
    ),
    Platform(
        "mtl",
        "Meteor Lake, Arrow Lake S and U",
        Generation.XE_LPG,
        grf_bytes=32,
        products=(
            Product(1272, ("mtl", "mtl-u", "mtl-m", "mtl-s", "arl-s", "arl-u"), ((12, 70),)),
            Product(1272, ("mtl-h", "mtl-p"), ((12, 71),)),
        ),
        groups=("xe-lpg",),
        core=0xC07,
        gen_codes=(13,),
        simd_sizes=_OLD_SIMD,
        grf_counts=_TWO_FILES,
        threads=8,
        slm_kib=64,
        inline_bytes=32,
        features=_XE_LP | {Feature.DOUBLES},
        timing="mtl",
    ),
    Platform(
        "arl",
        "Arrow Lake H",
        Generation.XE_LPG_PLUS,
        grf_bytes=32,
        products=(Product(1273, ("arl-h",), ((12, 74),)),),
        groups=("xe-lpgplus",),
        core=0xC07,
        gen_codes=(13,),
        simd_sizes=_OLD_SIMD,
        grf_counts=_TWO_FILES,
        threads=8,
        slm_kib=64,
        inline_bytes=32,
        features=_XE_HPG | {Feature.DOUBLES},
        timing="arl",
    ),
    Platform(
        "pvc",
        "Ponte Vecchio (Data Center GPU Max)",
        Generation.XE_HPC,
        grf_bytes=64,
        products=(
            Product(1271, ("pvc",), ((12, 60),)),
            Product(1271, ("pvc-sdv",), ()),
            Product(1271, ("pvc-vg",), ((12, 61),)),
        ),
        groups=("xe-hpc", "xe-hpc-vg"),
        core=0xC08,
        gen_codes=(14, 15),
        simd_sizes=_NEW_SIMD,
        grf_counts=_TWO_FILES,
        threads=8,
        slm_kib=128,
        inline_bytes=32,
        features=_XE2 - {Feature.SAMPLERS},
        timing="pvc",
    ),
    Platform(
        "lnl",
        "Lunar Lake",
        Generation.XE2,
        grf_bytes=64,
        products=(Product(1275, ("lnl-m",), ((20, 4),)),),
        groups=("xe2-lpg",),
        core=0xC09,
        gen_codes=(18,),
        simd_sizes=_NEW_SIMD,
        grf_counts=_TWO_FILES,
        threads=8,
        slm_kib=128,
        inline_bytes=32,
        features=_XE2,
        timing="lnl",
    ),
    Platform(
        "bmg",
        "Battlemage (Arc B)",
        Generation.XE2,
        grf_bytes=64,
        products=(
            Product(1274, ("bmg-g21", "bmg"), ((20, 1),)),
            Product(1274, ("bmg-g31",), ((20, 2),)),
        ),
        groups=("xe2", "xe2-hpg"),
        core=0xC09,
        gen_codes=(18,),
        simd_sizes=_NEW_SIMD,
        grf_counts=_TWO_FILES,
        threads=8,
        slm_kib=128,
        inline_bytes=32,
        features=_XE2,
        timing="bmg",
    ),
    Platform(
        "ptl",
        "Panther Lake, Wildcat Lake",
        Generation.XE3,
        grf_bytes=64,
        products=(
            Product(1300, ("ptl-h", "ptl"), ((30, 0),)),
            Product(1300, ("ptl-u",), ((30, 1),)),
            Product(1300, ("wcl",), ((30, 3),)),
        ),
        groups=("xe3", "xe3-lpg"),
        core=0x1E00,
        gen_codes=(19,),
        simd_sizes=_NEW_SIMD,
        grf_counts=_XE3_FILES,
        threads=10,
        slm_kib=128,
        inline_bytes=32,
        features=_XE2,
        timing="ptl",
    ),
    Platform(
        "nvl",
        "Nova Lake S, HX, UL, H and U",
        Generation.XE3,
        grf_bytes=64,
        products=(
            Product(1340, ("nvl-s", "nvl-hx", "nvl-ul"), ((30, 4),)),
            Product(1340, ("nvl-u", "nvl-h"), ((30, 5),)),
        ),
        core=0x1E00,
        gen_codes=(19,),
        simd_sizes=_NEW_SIMD,
        grf_counts=_XE3_FILES,
        threads=10,
        slm_kib=128,
        inline_bytes=32,
        features=_XE2,
    ),
    Platform(
        "nvl-p",
        "Nova Lake P",
        Generation.XE3P,
        grf_bytes=64,
        products=(Product(1360, ("nvl-p",), ((35, 10),)),),
        groups=("xe3p-lpg",),
        core=0x2300,
        gen_codes=(22,),
        simd_sizes=_NEW_SIMD,
        grf_counts=_NVL_P_FILES,
        threads=10,
        slm_kib=192,
        inline_bytes=64,
        features=_XE2,
    ),
    Platform(
        "cri",
        "Crescent Island",
        Generation.XE3P,
        grf_bytes=64,
        products=(Product(1380, ("cri",), ((35, 11),)),),
        groups=("xe3p", "xe3p-xpc"),
        core=0x2300,
        gen_codes=(21,),
        simd_sizes=_NEW_SIMD,
        grf_counts=_CRI_FILES,
        threads=8,
        slm_kib=384,
        inline_bytes=64,
        features=_XE2,
        timing="cri",
    ),
)
