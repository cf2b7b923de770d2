"""Binaries that the driver keeps on disk, so that programs are compiled once and not in each run.

The driver names them by what they are made of (text, options, device, compiler), writes each under
another name first, and removes those that are used least when there are too many. So processes
may share the folder, and a name's bytes never change. But it takes what it finds for whole: a file
that a full disk has cut off would make each later build fail.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from visim.binary.extent import end_of_file

VARIABLE = "NEO_CACHE_DIR"
_SUFFIXES = (".cl_cache", ".l0_cache")
_COARSE_S = 1.0
"""So much earlier than now a file that is written now may say it was."""


class KeptPrograms:
    """The binaries in the driver's folder.

    Args:
        folder: the folder; it need not exist.
        begun: when the program was started, in seconds since 1970.
    """

    def __init__(self, folder: Path, begun: float = 0.0) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self._looked = begun - _COARSE_S

    def fresh(self) -> Iterator[bytes]:
        """Yield binaries that were written since the program began and not yielded before."""
        since, self._looked = self._looked, time.time() - _COARSE_S
        for path in _paths_since(self._folder, since):
            if path not in self._seen:
                yield from self._bytes(path)

    def unseen(self) -> Iterator[bytes]:
        """Yield binaries that were not yielded before, those used last first."""
        found = [(_used(path), path) for path in _paths(self._folder) if path not in self._seen]
        for _, path in sorted(found, reverse=True):
            yield from self._bytes(path)

    def _bytes(self, path: str) -> Iterator[bytes]:
        self._seen.add(path)
        with suppress(OSError):  # Another process has just removed it.
            yield Path(path).read_bytes()


def remove_damaged(folder: Path) -> None:
    """Remove the files that end before their sections do, so that they are made again."""
    for path in _paths(folder):
        try:
            if not _is_whole(Path(path)):
                Path(path).unlink(missing_ok=True)
        except OSError:  # It is gone, or not ours; the driver will say so.
            continue


def _paths(folder: Path) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(_SUFFIXES):
                yield os.path.join(place, name)  # noqa: PTH118 - as os.walk has them


def _paths_since(folder: Path, since: float) -> Iterator[str]:
    """Yield the files that have appeared in a folder, or below it, since then."""
    try:
        has_changed = folder.stat().st_mtime >= since
        entries = list(os.scandir(folder))
    except OSError:  # It is not there, or another process has just removed it.
        return
    for one in entries:
        if one.is_dir():
            yield from _paths_since(Path(one.path), since)
        elif has_changed and one.name.endswith(_SUFFIXES) and _used(one.path) >= since:
            yield one.path


def _is_whole(path: Path) -> bool:
    """Return whether a file has all bytes that its ELF headers speak of."""
    size = path.stat().st_size
    with path.open("rb") as file:

        def read(start: int, count: int) -> bytes | None:
            file.seek(start)
            data = file.read(count)
            return data if len(data) == count else None

        end = end_of_file(read)
    return end is not None and end <= size


def _used(path: str) -> float:
    """Return when a file was read or written last, 0 where it is gone."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0
    return max(status.st_atime, status.st_mtime)
