"""What the current compiler makes no right program of: docs/spec-notes-compiler.md."""

from __future__ import annotations

from tests.opencl.targets import CURRENT, Target
from tests.toolchains import current_version
from visim.target import PLATFORMS

_XE3P = ("nvl-p", "cri")
_WIDE = ("lnl", "bmg", "ptl", "nvl", "nvl-p", "cri")
_ALL = tuple(one.name for one in PLATFORMS)
_NOT_BUILT_RIGHT: dict[str, tuple[tuple[str, ...], str]] = {
    "dp4a": (_ALL, "its `__builtin_IB_dp4a` saturates"),
    "bytecode": (_WIDE, "it crashes"),
    "stack_machine": (_WIDE, "it crashes"),
    "long_ops": (_XE3P, "its code reads a product of 64 bits before it is written"),
    "math_trig": (_XE3P, "it takes `sin` and `cos` of the hardware for large numbers, too"),
}
_SEEN = "26.27."
"""The version with which all this was found; what another one does is reported."""


def known_bug(program: str, target: Target) -> str | None:
    """Return what the current compiler does wrong with a program, None where nothing is known."""
    devices, why = _NOT_BUILT_RIGHT.get(program, ((), ""))
    return why if target.compiler == CURRENT and target.platform.name in devices else None


def is_unseen(target: Target) -> bool:
    """Whether the target's compiler is of a version whose bugs nobody looked at."""
    return target.compiler == CURRENT and not current_version().startswith(_SEEN)
