"""The program of a cell: read from its file, or compiled once and kept for the other cells."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import visim
from visim import opencl
from visim.campaign.cells import digest_of
from visim.campaign.content import digest
from visim.engine.jit.common.cache import ObjectCache, default_folder
from visim.errors import ArgumentError, ToolMissing
from visim.runtime.compiling.compilers import compiler_for
from visim.runtime.compiling.spirv import is_spirv
from visim.runtime.given import read_file
from visim.runtime.program import Program
from visim.target import product


@dataclass(frozen=True, slots=True)
class Source:
    """What a program is made of.

    Attributes:
        file: its path.
        digest: of its bytes, when the campaign began.
        content: of the bytes together with what they include.
        device: what it is for; None where the file says it.
        options: those of the compiler.
        compiler: the version and the library of the compiler, None where none is needed.
        visa: an edited text in place of a zebin's, as a path and its digest.
    """

    file: str
    digest: str
    content: str
    device: str | None = None
    options: str = ""
    compiler: tuple[str, str] | None = None
    visa: tuple[str, str] | None = None

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> Source:
        """Return a source from what JSON has of it."""
        pairs: dict[str, Any] = {
            name: form[name] and tuple(form[name]) for name in ("compiler", "visa")
        }
        return cls(**{**form, **pairs})

    @property
    def key(self) -> str:
        """A digest of everything that the program depends on."""
        compiler, edited = self.compiler and self.compiler[0], self.visa and self.visa[1]
        return digest_of(self.content, self.device, self.options, compiler, edited)


@cache
def compiler_of(device: str, wanted: str | None = None) -> tuple[str, str]:
    """Return the version of the compiler of a device, and its library."""
    try:
        found = compiler_for(product(device).names[0], wanted)
        return found.version, str(found.path)
    except ToolMissing:
        return wanted or "", ""  # The cell says so.


def compiler_here(version: str, library: str) -> str | None:
    """Return what `opencl.build` takes for a compiler that another machine may have found."""
    return (library if Path(library).is_file() else version) or None


def load(source: Source, version: str) -> Program:
    """Return the program, compiled if it has to be.

    Raises:
        VisimError: it is broken, cannot be compiled, or is not the file that it was.
    """
    data = _unchanged(source.file, source.digest)
    if source.compiler is not None:
        return kept(source, version) or _built(source, data, version)
    if source.visa is not None:
        edited = _unchanged(*source.visa)
        return visim.load(source.file, platform=source.device, visa=edited)
    return visim.load(source.file, platform=source.device)


def kept(source: Source, version: str) -> Program | None:
    """Return a program that another cell has compiled, None if there is none."""
    data = ObjectCache(default_folder()).get(_entry(source, version))
    return None if data is None else pickle.loads(data)


def _built(source: Source, data: bytes, version: str) -> Program:
    assert source.compiler is not None
    made = opencl.build(
        data if is_spirv(data) else Path(source.file),
        device=source.device or "",
        name=source.file,
        options=source.options,
        compiler=compiler_here(*source.compiler),
    )
    ObjectCache(default_folder()).put(_entry(source, version), pickle.dumps(made))
    return made


def _entry(source: Source, version: str) -> str:
    """Return the name of a compiled program in the cache; its findings name its file."""
    return digest_of("campaign program", version, source.key, source.file)


def _unchanged(file: str, known: str) -> bytes:
    """Return the bytes of a file; `ArgumentError` if they are not those of the campaign's start."""
    data = read_file(Path(file))
    if digest(data) != known:
        raise ArgumentError(f"{file}: it has changed since the campaign began; start it again")
    return data
