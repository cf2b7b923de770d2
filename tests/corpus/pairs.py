"""Texts and objects of the same kernels, from `isa_pairs/pairs.tar.xz` (see its PROVENANCE.md)."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

_ARCHIVE = Path(__file__).parent / "isa_pairs" / "pairs.tar.xz"


@dataclass(frozen=True)
class Dump:
    """One kernel or function as the compiler dumped it.

    `name` is device/source/unit; `object` is None for a function, which is in its kernel's object.
    """

    name: str
    device: str
    text: str
    object: bytes | None


@cache
def dumps() -> tuple[Dump, ...]:
    """Return all dumps, sorted by name."""
    files: dict[PurePosixPath, bytes] = {}
    with tarfile.open(_ARCHIVE) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                files[PurePosixPath(member.name)] = content.read()
    found = (
        Dump(
            str(path.with_suffix("")),
            path.parts[0],
            text.decode(),
            files.get(path.with_suffix(".isa")),
        )
        for path, text in files.items()
        if path.suffix == ".visaasm"
    )
    return tuple(sorted(found, key=lambda dump: dump.name))
