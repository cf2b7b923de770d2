"""Which compilers there are, what each can do, and which one a build takes.

A compiler is a library `libocloc`: of an installed toolchain, of the system, or the one that
`VISIM_LIBOCLOC` names, which then is the only one. Of those that know a device the newest is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from visim.errors import ArgumentError, ToolMissing
from visim.runtime.compiling import ocloc
from visim.runtime.compiling.worker import (
    INSTALL_HINT,
    LIBRARY_VARIABLE,
    CompilerDied,
    CompilerStuck,
)
from visim.target import PLATFORMS
from visim.toolchain.components import COMPILERS
from visim.toolchain.installed import installed, version_order

SYSTEM = "system"
_SYSTEM_LIBRARY = "libocloc.so"
_SYSTEM_LEGACY = "libocloc_legacy1.so"
_QUERY_TIMEOUT_S = 60.0
_VERSION = "OCL_DRIVER_VERSION"
_INVALID_DEVICE = -33
"""CL_INVALID_DEVICE of OpenCL: what `ocloc compile` ends with for a device it does not know."""
_WITHOUT_ZEBIN = frozenset({"bdw", "chv", "bxt", "apl", "glk", "lkf", "ehl", "jsl"})
"""For these ocloc 24.35 writes the format before zebin, whatever it is asked; 22.43 does zebins."""
_LAST_WITH_ZEBIN = (22, 43)


@dataclass(frozen=True, slots=True)
class Compiler:
    """One compiler: the library to load, its version (as `26.27.39122`), and whose it is.

    `origin` is the name of an installed toolchain, `system`, or `VISIM_LIBOCLOC`.
    """

    library: str
    version: str
    origin: str

    def __str__(self) -> str:
        return f"ocloc {self.version} ({self.origin})"

    @property
    def path(self) -> Path:
        """The file of its library.

        Raises:
            ToolMissing: it cannot be loaded any more.
        """
        return ocloc.path_of(self.library)

    def knows(self, device: str) -> bool:
        """Whether it compiles zebins for a device that ocloc calls so.

        Its list of devices lacks some that it knows; a program for one of these tells.

        Raises:
            CompilerDied: the compiler crashed.
            CompilerStuck: it does not answer.
        """
        if (self.library, device) in _found.knows:
            return _found.knows[self.library, device]
        if device in _WITHOUT_ZEBIN and version_order(self.version)[:2] > _LAST_WITH_ZEBIN:
            return False
        if ocloc.invoke(self.library, ["ocloc", "ids", device], None, _QUERY_TIMEOUT_S).code == 0:
            return True
        words = ["ocloc", "compile", "-q", "-file", "none.cl", "-device", device]
        answer = ocloc.invoke(self.library, words, ("none.cl", b"\0"), _QUERY_TIMEOUT_S)
        return answer.code != _INVALID_DEVICE

    def devices(self) -> tuple[str, ...]:
        """Return the names of visim's devices that it compiles for."""
        return tuple(entry.name for entry in PLATFORMS if self.knows(entry.products[0].names[0]))


@dataclass(frozen=True, slots=True)
class Unusable:
    """A library that is there and cannot be used."""

    library: str
    origin: str
    problem: str


class Found:
    """What another process has found out, so that this one need not run compilers to know it.

    `compilers` are all, the newest first, None where nobody has looked. `knows` says whether the
    compiler in a library compiles for a device.
    """

    def __init__(self) -> None:
        self.compilers: tuple[Compiler, ...] | None = None
        self.knows: Mapping[tuple[str, str], bool] = {}


_found = Found()


def take_as_found(compilers: Sequence[Compiler], knows: Mapping[tuple[str, str], bool]) -> None:
    """Let this process look for no compilers, but take these; see `Found`."""
    _found.compilers, _found.knows = tuple(compilers), knows


def survey() -> tuple[Compiler | Unusable, ...]:
    """Return all compilers, the newest first, and then the libraries that are of no use."""
    if _found.compilers is not None:
        return _found.compilers
    found = [_examined(library, origin) for library, origin in _libraries()]
    found += _beside_the_system(found)
    usable = [entry for entry in found if isinstance(entry, Compiler)]
    usable.sort(key=lambda entry: version_order(entry.version), reverse=True)
    lost = [entry for entry in found if isinstance(entry, Unusable) and entry.origin != SYSTEM]
    return (*usable, *lost)


def compilers() -> tuple[Compiler, ...]:
    """Return the compilers that can be used, the newest first."""
    return tuple(entry for entry in survey() if isinstance(entry, Compiler))


def compiler_for(device: str, wanted: str | os.PathLike[str] | None = None) -> Compiler:
    """Return the compiler that builds for a device.

    Args:
        device: what ocloc calls it.
        wanted: the path of a library, the name of a toolchain, `system`, or a version or its
            beginning; None takes the newest that knows the device.

    Raises:
        ArgumentError: there is no such compiler as `wanted`.
        ToolMissing: there is no compiler, or none that knows the device.
    """
    known = _wanted(wanted) if wanted is not None else compilers()
    if not known:
        problems = [entry.problem for entry in survey() if isinstance(entry, Unusable)]
        raise ToolMissing(f"{'; '.join(problems) or 'no ocloc is installed'}: {INSTALL_HINT}")
    for compiler in known:
        if _knows(compiler, device):
            return compiler
    names = ", ".join(map(str, known))
    if device in _WITHOUT_ZEBIN:
        raise ToolMissing(
            f"{device}: {names} writes no zebins for it; that of Debian 12 (22.43) does"
        )
    raise ToolMissing(f"{device} is not known to {names}: {_advice(device)}")


def _knows(compiler: Compiler, device: str) -> bool:
    try:
        return compiler.knows(device)
    except (CompilerDied, CompilerStuck):
        return False


def _advice(device: str) -> str:
    old = device in {entry.name for entry in PLATFORMS[:3]}
    return f"visim toolchain install{' legacy' if old else ''} brings one that does"


def _wanted(wanted: str | os.PathLike[str]) -> tuple[Compiler, ...]:
    text = os.fspath(wanted)
    if os.sep in text:
        found = _examined(text, text)
        if isinstance(found, Unusable):
            raise ToolMissing(f"{found.problem}: {INSTALL_HINT}")
        return (found,)
    known = compilers()
    chosen = [
        entry
        for entry in known
        if text == entry.origin
        or entry.origin.startswith(f"{text}-")
        or f"{entry.version}.".startswith(f"{text}.")
    ]
    if not chosen:
        listed = ", ".join(map(str, known)) or "none"
        raise ArgumentError(f"compiler: expected one of those installed, found {text!r}: {listed}")
    return tuple(chosen)


def _libraries() -> Iterator[tuple[str, str]]:
    """Yield the libraries of compilers that there may be, and whose they are."""
    if named := os.environ.get(LIBRARY_VARIABLE):
        yield named, LIBRARY_VARIABLE
        return
    for toolchain in installed():
        if toolchain.component in COMPILERS:
            yield str(toolchain.library), toolchain.name
    yield _SYSTEM_LIBRARY, SYSTEM


def _beside_the_system(found: Sequence[Compiler | Unusable]) -> Iterator[Compiler | Unusable]:
    """Yield the compiler of old devices that distributions have beside the system's."""
    for entry in found:
        if isinstance(entry, Compiler) and entry.library == _SYSTEM_LIBRARY:
            legacy = entry.path.with_name(_SYSTEM_LEGACY)
            if legacy.is_file():
                yield _examined(str(legacy), SYSTEM)


def _examined(library: str, origin: str) -> Compiler | Unusable:
    """Return the compiler of a library, or why it is none."""
    try:
        words = ["ocloc", "query", _VERSION]
        answer = ocloc.invoke(library, words, None, _QUERY_TIMEOUT_S)
    except ToolMissing as error:
        return Unusable(library, origin, str(error))
    except CompilerDied as death:
        return Unusable(library, origin, f"{library}: the compiler process ends with {death.how}")
    except CompilerStuck:
        return Unusable(library, origin, f"{library}: the compiler process does not answer")
    version = answer.outputs.get(_VERSION, b"").rstrip(b"\0").decode("ascii", "replace").strip()
    if not version:
        return Unusable(library, origin, f"{library} does not say its version")
    return Compiler(
        library, ".".join(part.lstrip("0") or "0" for part in version.split(".")), origin
    )
