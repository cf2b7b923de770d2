"""Which devices and versions have an instruction (appendix of the specification, format_facts).

The appendix ends with tgllp; what later devices have is known from compilers. An instruction that
is not listed here is on all devices that visim knows.
"""

from visim.target import PLATFORMS

EVERYWHERE = tuple(platform.name for platform in PLATFORMS)
_UP_TO_SKL = ("bdw", "skl")
_UP_TO_ICLLP = ("bdw", "skl", "icllp")
_FROM_ICLLP = ("icllp", "tgllp", "dg2", "pvc")
_FROM_TGLLP = ("tgllp", "dg2", "pvc")
_FROM_DG2 = ("dg2", "pvc")
_MACROS = ("skl", "pvc")
_COMPILERS_MACROS = ("bdw", "skl", "pvc")
"""The appendix does not list bdw; Intel's compiler divides and takes roots there with them."""
_PVC = ("pvc",)
_NONE: tuple[str, ...] = ()

#: Descriptors of these devices have five bits for the number of a message to the sampler: no room
#: for those with offsets that share a parameter.
_SAMPLER_PAGES = ("3D_SAMPLE", "3D_SAMPLE4")
_MOST_SAMPLER_MESSAGES = 32

#: Opcodes of objects that newer compilers write.
_NEWER = range(0x93, 0x9D)
_OLDEST, _NEWER_VERSION = (3, 0), (4, 2)

_BY_PAGE = {
    **dict.fromkeys(("LRP", "PLN", "SAD2", "SAD2ADD"), _UP_TO_SKL),
    **dict.fromkeys(("AVS", "SWITCHJMP", "VME_FBR", "VME_IME", "VME_SIC"), _UP_TO_ICLLP),
    "VME_IDM": ("skl", "icllp"),
    **dict.fromkeys(("DIVM", "SQRTM"), _COMPILERS_MACROS),
    **dict.fromkeys(("INVM", "RSQTM"), _MACROS),
    **dict.fromkeys(("ROL", "ROR"), _FROM_ICLLP),
    "DP4A": _FROM_TGLLP,
    **dict.fromkeys(("ADD3", "ADD3O", "BFN", "DPAS", "QW_GATHER", "QW_SCATTER"), _FROM_DG2),
    "DPASW": ("dg2",),
    **dict.fromkeys(("LSC_FENCE", "LSC_TYPED", "LSC_UNTYPED"), _FROM_DG2),
    **dict.fromkeys(("FCVT", "NBARRIER", "SRND"), _PVC),
    **dict.fromkeys(("RAW_SENDG", "SHFL_IDX4", "TANH", "SIGM", "LFSR", "BDPAS", "DNSCL"), _NONE),
}


def devices_of(page: str, sub: int | None = None) -> tuple[str, ...]:
    """Return the names of the devices that have the instructions of a page, the oldest first.

    Args:
        page: the page of the specification.
        sub: which of its instructions, by the number of its message.
    """
    if page in _SAMPLER_PAGES and sub is not None and sub >= _MOST_SAMPLER_MESSAGES:
        return _NONE
    return _BY_PAGE.get(page, EVERYWHERE)


def first_version(code: int) -> tuple[int, int]:
    """Return the first version that visim knows whose objects have an opcode."""
    return _NEWER_VERSION if code in _NEWER else _OLDEST
