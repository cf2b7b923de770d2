"""What can be installed: components, and the packages of Debian's archive that they are made of."""

from __future__ import annotations

from dataclasses import dataclass

from visim.errors import ArgumentError, shown
from visim.lex import nearest

_PYTHON = ("python3-minimal", "libpython3-stdlib")


@dataclass(frozen=True, slots=True)
class Component:
    """A toolchain's part that is installed as one.

    `packages` are asked for, and what they depend on comes along; the first of them gives the
    component its version. `libraries` are patterns of the files in its folder of libraries without
    which it is of no use, the first of which is what users of the component load. `programs` maps
    the names that programs get in `bin` to patterns below the root.
    """

    name: str
    purpose: str
    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    programs: tuple[tuple[str, str], ...] = ()


COMPILER = Component(
    "compiler",
    "Intel's current compiler of OpenCL C and SPIR-V (ocloc, IGC), and its disassembler iga64",
    ("intel-ocloc", "libigc2", "libigdfcl2", "libigc2-tools", *_PYTHON),
    ("libocloc.so", "libigc.so.2", "libigdfcl.so.2"),
    (
        ("ocloc", "usr/bin/ocloc-*"),
        ("iga64", "usr/bin/iga64"),
        ("python3", "usr/bin/python3.[0-9]*"),
    ),
)
LEGACY = Component(
    "legacy",
    "the last compiler that knows skl and icllp",
    ("intel-ocloc-legacy", "libigc1", "libigdfcl1", *_PYTHON),
    ("libocloc_legacy1.so", "libigc.so.1", "libigdfcl.so.1"),
    (("ocloc", "usr/bin/ocloc-*"), ("python3", "usr/bin/python3.[0-9]*")),
)
DRIVER = Component(
    "driver",
    "the user-mode drivers of OpenCL and Level Zero, with their loaders",
    ("intel-opencl-icd", "libze-intel-gpu1", "libze1", "ocl-icd-libopencl1"),
    ("intel-opencl/libigdrcl.so", "libze_intel_gpu.so.1", "libze_loader.so.1", "libOpenCL.so.1"),
)
COMPONENTS = (COMPILER, LEGACY, DRIVER)
COMPILERS = (COMPILER, LEGACY)
_BY_NAME = {component.name: component for component in COMPONENTS}

SKIPPED = frozenset({"debconf", "perl-base", "tzdata", "media-types", "netbase", "readline-common"})
"""Packages that others depend on, and of which nothing is used in a prefix."""


def component(name: str) -> Component:
    """Return the component called `name`.

    Raises:
        ArgumentError: there is none; the message lists the known ones.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = nearest(name, _BY_NAME)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(_BY_NAME)}"
    raise ArgumentError(f"unknown component {shown(name)} of the toolchain; {hint}")
