"""The zebins that the compiler of 2026 wrote, from their archive (PROVENANCE.md)."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).with_name("zebins_2026.tar.xz")


@cache
def zebins() -> dict[tuple[str, str], bytes]:
    """Return the files by device, as ocloc calls it, and name."""
    found: dict[tuple[str, str], bytes] = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                _, device, name = member.name.split("/")
                found[device, name.removesuffix(".zebin")] = file.read()
    return dict(sorted(found.items()))
