"""Which devices and versions have an instruction (appendix of the specification, and compilers).

The appendix ends with tgllp; what later devices have is known from compilers. An instruction that
is not listed here is on all devices that visim knows.
"""

from collections.abc import Callable

from visim.target import PLATFORMS, Generation, Platform


def _where(has: Callable[[Platform], bool]) -> tuple[str, ...]:
    return tuple(platform.name for platform in PLATFORMS if has(platform))


def _from(generation: Generation) -> tuple[str, ...]:
    return _where(lambda platform: platform.generation >= generation)


def _up_to(generation: Generation) -> tuple[str, ...]:
    return _where(lambda platform: platform.generation <= generation)


EVERYWHERE = _where(lambda platform: True)
_FROM_DG2 = _from(Generation.XE_HPG)
_COMPILERS_MACROS = _where(lambda platform: platform.has_macros)
"""The appendix does not list bdw; Intel's compiler divides and takes roots there with them."""
_MACROS = tuple(name for name in _COMPILERS_MACROS if name != "bdw")

#: Before Xe2 descriptors have five bits for the number of a message to the sampler: no room for
#: those with offsets that share a parameter.
_SAMPLER_PAGES = ("3D_SAMPLE", "3D_SAMPLE4")
_MOST_SAMPLER_MESSAGES = 32
#: sample_d_c_mlod, load_l, lsc_apndctr_atomic_store, messages of several samples (IGC's tables:
#: visa/Common_ISA.cpp, and MessageDecoderLSC of its assembler).
_MESSAGES_OF_XE2 = (
    ("3D_SAMPLE", 17), ("3D_LOAD", 27),
    ("LSC_UNTYPED", 0x2A), ("LSC_TYPED", 0x31), ("LSC_TYPED", 0x32),
)  # fmt: skip
#: lsc_load_quad_status, lsc_extended_cache_ctrl, atomics on bfloat16 (MessageDecoderLscE64).
_MESSAGES_OF_XE3P = (
    ("LSC_TYPED", 0x36), ("LSC_UNTYPED", 0x33), *(("LSC_UNTYPED", sub) for sub in range(0x21, 0x26))
)  # fmt: skip

#: Opcodes of objects that newer compilers write.
_NEWER = range(0x93, 0x9D)
_OLDEST, _NEWER_VERSION = (3, 0), (4, 2)

_BY_PAGE = {
    **dict.fromkeys(("LRP", "PLN", "SAD2", "SAD2ADD"), _up_to(Generation.GEN9)),
    **dict.fromkeys(
        ("AVS", "SWITCHJMP", "VME_FBR", "VME_IME", "VME_SIC"), _up_to(Generation.GEN11)
    ),
    "VME_IDM": ("skl", "icllp"),
    **dict.fromkeys(("DIVM", "SQRTM"), _COMPILERS_MACROS),
    **dict.fromkeys(("INVM", "RSQTM"), _MACROS),
    **dict.fromkeys(("ROL", "ROR"), _from(Generation.GEN11)),
    "DP4A": _from(Generation.XE_LP),
    **dict.fromkeys(("ADD3", "ADD3O", "BFN", "QW_GATHER", "QW_SCATTER"), _FROM_DG2),
    "DPAS": _where(lambda platform: platform.has_matrix),
    "DPASW": _where(lambda platform: platform.is_fused),
    **dict.fromkeys(("LSC_FENCE", "LSC_TYPED", "LSC_UNTYPED"), _FROM_DG2),
    **dict.fromkeys(("FCVT", "NBARRIER", "SRND"), _from(Generation.XE_HPC)),
    **dict.fromkeys(
        ("RAW_SENDG", "SHFL_IDX4", "TANH", "SIGM", "LFSR", "BDPAS", "DNSCL"),
        _from(Generation.XE3P),
    ),
}


def devices_of(page: str, sub: int | None = None) -> tuple[str, ...]:
    """Return the names of the devices that have the instructions of a page, the oldest first.

    Args:
        page: the page of the specification.
        sub: which of its instructions, by the number of its message.
    """
    is_wide = page in _SAMPLER_PAGES and sub is not None and sub >= _MOST_SAMPLER_MESSAGES
    if is_wide or (page, sub) in _MESSAGES_OF_XE2:
        return _from(Generation.XE2)
    if (page, sub) in _MESSAGES_OF_XE3P:
        return _from(Generation.XE3P)
    return _BY_PAGE.get(page, EVERYWHERE)


def first_version(code: int) -> tuple[int, int]:
    """Return the first version that visim knows whose objects have an opcode."""
    return _NEWER_VERSION if code in _NEWER else _OLDEST
