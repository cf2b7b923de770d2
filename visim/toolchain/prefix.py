"""Folders that have a C library, a loader and a Python of their own: prefixes.

A library that was built for a newer C library than the system's cannot be loaded by the Python
that runs visim. Where the folder of the library is a whole prefix, a program can be run in it: by
the loader of that prefix, and with its libraries only. Knows how prefixes are laid out (as Debian
does: `usr/lib/x86_64-linux-gnu` and `usr/bin` below one root), and not what is in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LOADERS = "ld-linux*.so.*"
_PYTHON = re.compile(r"python3(\.\d+)?")
_SYSTEM = (Path("/"), Path("/usr"), Path("/usr/local"))
_DEEPEST = 3
"""So many folders up from a library its root is, at most: usr/lib/x86_64-linux-gnu."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A root folder with its loader, the folder of its libraries, and its Python."""

    root: Path
    loader: Path
    libraries: Path
    python: Path

    def command(self, program: Path, *words: str) -> list[str]:
        """Return the command line that runs a program of this prefix."""
        return [str(self.loader), "--library-path", str(self.libraries), str(program), *words]

    def python_command(self, *words: str) -> list[str]:
        """Return the command line of the prefix's Python."""
        return self.command(self.python, *words)


def prefix_of(library: str | os.PathLike[str]) -> Prefix | None:
    """Return the prefix in which a library lies, or None where it is the system's.

    Args:
        library: the path of the library; a mere name is the system's.
    """
    if os.sep not in os.fspath(library):
        return None
    folder = Path(os.path.realpath(library)).parent
    loader = next(iter(sorted(folder.glob(_LOADERS))), None)
    if loader is None:
        return None
    for root in folder.parents[:_DEEPEST]:
        if root in _SYSTEM:
            return None
        if (python := _python(root)) is not None:
            return Prefix(root, loader, folder, python)
    return None


def _python(root: Path) -> Path | None:
    """Return the Python below `root`; the one with the longest name is the program itself."""
    found = [path for path in _programs(root) if _PYTHON.fullmatch(path.name) and path.is_file()]
    return max(found, key=lambda path: (len(path.name), path.name), default=None)


def _programs(root: Path) -> Iterator[Path]:
    for folder in ("bin", "usr/bin"):
        yield from sorted((root / folder).glob("python3*"))
