"""The devices that vISA programs are made for, and what differs between them.

Facts: format_facts section 1 (platform codes of Gen binaries), runtime_abi section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from visim.errors import ArgumentError, shown

_FIRST_WITH_NAMED_BARRIERS = 5
_FIRST_WITH_BF16 = _FIRST_WITH_LSC = _FIRST_WITHOUT_DIVISION = 4


@dataclass(frozen=True, slots=True)
class Platform:
    """One device family: `grf_bytes` is the size of a register, `order` its age."""

    name: str
    order: int
    grf_bytes: int
    gen_codes: tuple[int, ...]
    has_fp64: bool

    @property
    def has_int64(self) -> bool:
        """Whether all its integer arithmetic has 64 bits; devices with doubles have."""
        return self.has_fp64

    @property
    def has_bf16(self) -> bool:
        """Whether it computes with BF: from dg2 on."""
        return self.order >= _FIRST_WITH_BF16

    @property
    def has_lsc(self) -> bool:
        """Whether it has the load and store cache, which LSC messages go to: from dg2 on."""
        return self.order >= _FIRST_WITH_LSC

    @property
    def has_named_barriers(self) -> bool:
        """Whether its message gateway has named barriers: from pvc on."""
        return self.order >= _FIRST_WITH_NAMED_BARRIERS

    @property
    def divides_integers(self) -> bool:
        """Whether `div` and `mod` take integers: before dg2."""
        return self.order < _FIRST_WITHOUT_DIVISION


#: Versions of objects that visim reads and writes, the newest last.
OBJECT_VERSIONS = (*((3, minor) for minor in range(9)), (4, 0), (4, 1))
OLDEST_OBJECT, NEWEST_OBJECT = OBJECT_VERSIONS[0], OBJECT_VERSIONS[-1]
NEWEST = "{}.{}".format(*NEWEST_OBJECT)

# fmt: off
PLATFORMS = (
    #        name     age grf  Gen codes     double
    Platform("bdw",   0,  32,  (3, 4),       has_fp64=True),
    Platform("skl",   1,  32,  (5, 6),       has_fp64=True),
    Platform("icllp", 2,  32,  (8, 10),      has_fp64=False),
    Platform("tgllp", 3,  32,  (12,),        has_fp64=False),
    Platform("dg2",   4,  32,  (11, 13),     has_fp64=False),
    Platform("pvc",   5,  64,  (14, 15),     has_fp64=True),
)
# fmt: on
ARCHITECTURES = ("ilk", "snb", "ivb", "hsw", "bdw", "skl", "icl", "tgl", "dg2", "pvc")
"""The generations that timing has a table for, oldest first."""
_BY_NAME = {platform.name: platform for platform in PLATFORMS}


def object_version(text: str) -> tuple[int, int]:
    """Return the version of objects that is written `text`; `ArgumentError` lists the known."""
    known = {f"{major}.{minor}": (major, minor) for major, minor in OBJECT_VERSIONS}
    if not isinstance(cast("object", text), str) or text not in known:
        raise ArgumentError(f"unknown version {shown(text)} of objects; known: {', '.join(known)}")
    return known[text]


def platform(name: str) -> Platform:
    """Return the platform called `name` (any case); `ArgumentError` lists the known ones."""
    try:
        return _BY_NAME[name.lower()]
    except (KeyError, AttributeError):
        known = ", ".join(_BY_NAME)
        raise ArgumentError(f"unknown platform {shown(name)}; known: {known}") from None
