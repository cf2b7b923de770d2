"""Writes small ELF files, right and wrong, for the tests of the zebin reader."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "corpus"
PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS, REL = 1, 2, 3, 4, 7, 8, 9
ZE_INFO, VISAASM, MISC = 0xFF000011, 0xFF000013, 0xFF000014


def sample(name: str) -> bytes:
    return (CORPUS / f"{name}.zebin").read_bytes()


@dataclass
class Part:
    """A section to be written. `size` overrides the size of the data in the header."""

    name: str
    type: int
    data: bytes = b""
    link: int = 0
    info: int = 0
    size: int | None = None
    offset: int | None = None
    flags: int = 0


def elf(*parts: Part, machine: int = 205) -> bytes:
    """Return an ELF file whose sections 1, 2, ... are `parts`; the last one has their names."""
    names = b"\0" + b"".join(part.name.encode() + b"\0" for part in parts) + b".names\0"
    every = [Part("", 0), *parts, Part(".names", STRTAB, names)]
    body, headers, at_name = b"", [], 0
    for part in every:
        offset = 64 + len(body) if part.offset is None else part.offset
        size = len(part.data) if part.size is None else part.size
        name = names.index(b"\0" + part.name.encode() + b"\0", at_name) + 1 if part.name else 0
        headers.append(
            struct.pack(
                "<IIQQQQIIQQ",
                name,
                part.type,
                part.flags,
                0,
                offset,
                size,
                part.link,
                part.info,
                0,
                0,
            )
        )
        body += part.data
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    fields = (1, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(every), len(every) - 1)
    return ident + struct.pack("<HHIQQQIHHHHHH", *fields) + body + b"".join(headers)


def note(kind: int, data: bytes, owner: bytes = b"IntelGT\0") -> bytes:
    """Return one note, each part padded to four bytes."""
    head = struct.pack("<III", len(owner), len(data), kind)
    return head + owner + data + b"\0" * (-len(data) % 4)


def symbols(*entries: tuple[int, int, int, int, int]) -> bytes:
    """Return a symbol table of (name, type, section, value, size), after the null entry."""
    rows = [(0, 0, 0, 0, 0), *entries]
    return b"".join(
        struct.pack("<IBBHQQ", name, kind, 0, section, value, size)
        for name, kind, section, value, size in rows
    )


def relocation(offset: int, symbol: int, kind: int) -> bytes:
    return struct.pack("<QQ", offset, symbol << 32 | kind)


def info(*kernels: str, more: str = "") -> bytes:
    """Return a `.ze_info` text with these kernels and nothing special about them."""
    entries = "".join(
        f"  - name: {name}\n    execution_env: {{grf_count: 128, simd_size: 16}}\n"
        for name in kernels
    )
    return f"---\nversion: '1.20'\nkernels:\n{entries}{more}...\n".encode()


def zebin(*parts: Part, kernels: tuple[str, ...] = ("k",)) -> bytes:
    """Return a zebin with a text for each of `kernels` and further sections before those."""
    texts = [Part(".visaasm", VISAASM, f'.kernel "{name}"'.encode()) for name in kernels]
    return elf(*parts, *texts, Part(".ze_info", ZE_INFO, info(*kernels)))
