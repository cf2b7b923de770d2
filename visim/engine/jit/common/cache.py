"""Object code on disk: kernels that were compiled before need not be compiled again.

An entry is found by a digest of everything that it was made of. Entries are written to a file of
their own and then renamed, so that processes can share a cache; one that is damaged is thrown away
as if it were not there, and the oldest go when all together are too large.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "VISIM_CACHE_DIR"
MOST_BYTES = 256 << 20
"""Beyond this size the oldest entries are removed."""

_LOOKS_AT = "0"
"""With keys that begin so, one in 16, the size of the folder is looked at: that takes its time."""

_SUFFIX = ".visim-object"
_MAGIC = b"visim object 1\n"
_DIGEST_BYTES = 32


def default_folder() -> Path | None:
    """Return where the cache is: `VISIM_CACHE_DIR`, else in the user's cache; None: nowhere.

    An empty variable turns the cache off.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "visim"


def key_of(*parts: str) -> str:
    """Return the name of an entry that depends on some texts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Contents:
    """What a cache holds."""

    folder: Path | None
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """Object files in a folder; what the file system refuses is no failure, only no cache."""

    folder: Path | None

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None."""
        path = self._path(key)
        if path is None:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        found = _unpacked(data)
        with contextlib.suppress(OSError):
            if found is None:
                path.unlink()
            else:
                os.utime(path)
        return found

    def put(self, key: str, code: bytes) -> None:
        """Store an entry."""
        path = self._path(key)
        if path is None:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_packed(code))
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            if key.startswith(_LOOKS_AT):
                self._shrink()

    def contents(self) -> Contents:
        """Return how much there is."""
        sizes = [size for _, size, _ in self._entries()]
        return Contents(self.folder, len(sizes), sum(sizes))

    def clear(self) -> int:
        """Remove all entries; return how many there were."""
        count = 0
        for _, _, path in list(self._entries()):
            with contextlib.suppress(OSError):
                path.unlink()
                count += 1
        return count

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{key}{_SUFFIX}"

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """Yield the time of last use, the size and the path of each entry."""
        if self.folder is None or not self.folder.is_dir():
            return
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    with contextlib.suppress(OSError):
                        found = entry.stat()
                        yield found.st_mtime, found.st_size, Path(entry.path)

    def _shrink(self) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= MOST_BYTES:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


def _packed(code: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(code).digest() + code


def _unpacked(data: bytes) -> bytes | None:
    """Return the code of an entry's file; None if it is damaged."""
    start = len(_MAGIC) + _DIGEST_BYTES
    code = data[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(code).digest() != data[len(_MAGIC) : start]:
        return None
    return code
