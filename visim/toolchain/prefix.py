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
_DEEPEST = 3
"""So many folders up from a library its root is, at most: usr/lib/x86_64-linux-gnu."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A root folder with its loader, the folder of its libraries, and its Python, if any."""

    root: Path
    loader: Path
    libraries: Path
    python: Path | None

    def command(self, program: Path, *words: str) -> list[str]:
        """Return the command line that runs a program of this prefix."""
        return [str(self.loader), "--library-path", str(self.libraries), str(program), *words]

    def python_command(self, *words: str) -> list[str] | None:
        """Return the command line of the prefix's Python, None where it has no Python."""
        return None if self.python is None else self.command(self.python, *words)


def prefix_of(library: str | os.PathLike[str]) -> Prefix | None:
    """Return the prefix in which a library lies, or None where it is the system's.

    Args:
        library: the path of the library; a mere name is the system's.
    """
    if os.sep not in os.fspath(library):
        return None
    folder = Path(os.path.realpath(library)).parent
    loader = next(iter(sorted(folder.glob(_LOADERS))), None)
    if loader is None or _is_system(folder):
        return None
    roots = [root for root in [folder, *folder.parents[:_DEEPEST]] if root != Path("/")]
    found = ((root, _python(root)) for root in roots)
    root, python = next((pair for pair in found if pair[1] is not None), (roots[-1], None))
    return Prefix(root, loader, folder, python)


def _is_system(folder: Path) -> bool:
    """Whether the loader in a folder is that of the system."""
    loaders = (Path("/").glob(f"{folder}/{_LOADERS}") for folder in ("lib", "lib64"))
    return any(folder == Path(os.path.realpath(path)).parent for found in loaders for path in found)


def _python(root: Path) -> Path | None:
    """Return the Python below `root`; the one with the longest name is the program itself."""
    found = [path for path in _programs(root) if _PYTHON.fullmatch(path.name) and path.is_file()]
    return max(found, key=lambda path: (len(path.name), path.name), default=None)


def _programs(root: Path) -> Iterator[Path]:
    for folder in ("bin", "usr/bin"):
        yield from sorted((root / folder).glob("python3*"))
