"""Built-in functions of OpenCL C that some compilers declare and do not have.

Such a call compiles, and stays a call of a function that no part of the program defines. Facts:
docs/spec-notes-compiler.md (what the compiler of 2022 makes of OpenCL C), OpenCL Extension
Specification.
"""

from __future__ import annotations

import re

_MANGLED = re.compile(r"_Z(\d+)(\w+)")
_EXTENSIONS = (
    (r"dot(?:_acc_sat)?(?:_4x8packed_[su]{2}_u?int)?", "cl_khr_integer_dot_product"),
    (r"__builtin_spirv_Op[SU]*Dot\w*", "cl_khr_integer_dot_product"),
    (r"llvm\.genx\.GenISA\.dp4a\.\w+", "cl_khr_integer_dot_product"),
    (r"intel_work_group_barrier_(?:arrive|wait)", "cl_intel_split_work_group_barrier"),
)


def extension_of(function: str) -> str | None:
    """Return the extension that a built-in function is of, by its name, mangled or not."""
    name = plain_name(function)
    return next((is_of for names, is_of in _EXTENSIONS if re.fullmatch(names, name)), None)


def plain_name(function: str) -> str:
    """Return the name that the source has for a function: of C++ names the first part."""
    match = _MANGLED.match(function)
    if match is None:
        return function
    return match[2][: int(match[1])]


def how_to_have(function: str) -> str | None:
    """Return what to do about a built-in function that the compiler does not have."""
    extension = extension_of(function)
    if extension is None:
        return None
    return (
        f"{plain_name(function)} is of the extension {extension}, which this compiler declares and "
        "does not have for this device; a later one may: visim toolchain install compiler"
    )
