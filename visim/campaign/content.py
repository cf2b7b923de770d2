"""Digests of what results depend on: visim itself, and files with what they include."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import visim
from visim.runtime.given import read_file

_INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">\n]+)[">]', re.MULTILINE)
_FOLDER = re.compile(r'(?<!\S)-I\s*(?:"([^"]*)"|(\S+))')
_SUFFIXES = frozenset({".py", ".c", ".h", ".toml"})


@cache
def version() -> str:
    """Return the version of visim together with a digest of its sources.

    A version alone stays the same while somebody changes visim, whose results then are other ones.
    """
    folder = Path(visim.__file__).parent
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in _SUFFIXES and file.is_file():
            found.update(str(file.relative_to(folder)).encode() + b"\0")
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{visim.__version__}+{found.hexdigest()[:12]}"


def digest(data: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def file_digest(path: str | Path) -> str:
    """Return the digest of a file's bytes; it is read again only after a change.

    Raises:
        FileNotFoundError: there is no such file.
        ArgumentError: it cannot be read.
    """
    file = Path(path)
    status = file.stat()
    return _digest_as_of(str(file), status.st_mtime_ns, status.st_size)


@cache
def _digest_as_of(path: str, _changed: int, _size: int) -> str:
    return digest(read_file(Path(path)))


def source_digest(path: str | Path, options: str) -> str:
    """Return the digest of a source file and of all files that it includes, as far as they are."""
    found = hashlib.sha256(file_digest(path).encode())
    for file in sorted(_included(Path(path).absolute(), _folders(options), set())):
        found.update(f"{file.name} {file_digest(file)}\n".encode())
    return found.hexdigest()[:32]


def _folders(options: str) -> list[Path]:
    return [Path(quoted or plain).absolute() for quoted, plain in _FOLDER.findall(options)]


def _included(file: Path, folders: Sequence[Path], seen: set[Path]) -> Iterator[Path]:
    for name in _INCLUDE.findall(read_file(file)):
        for folder in (file.parent, *folders):
            path = folder / name.decode("utf-8", "replace")
            if path.is_file() and path not in seen:
                seen.add(path)
                yield path
                yield from _included(path, folders, seen)
                break
