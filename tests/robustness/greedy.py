"""Small files that ask for much memory, read in a process that may not have it.

    python -m tests.robustness.greedy

Prints the name of each, and ends with an error if one is not refused with a `VisimError`.
"""

from __future__ import annotations

import resource
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.unit.binary.elf_files import NOBITS, ZE_INFO, Part, elf
from tests.unit.runtime.files.pngs import SIGNATURE, chunk
from visim.binary.archive import read_archive
from visim.binary.isafile import read_isa
from visim.binary.zebin import read_zebin
from visim.errors import VisimError
from visim.runtime.building.loading import examine_data
from visim.runtime.files.arguments_text import ArgumentText, read_value
from visim.runtime.files.png_reader import decode_png
from visim.target import platform

MOST_MEMORY = 1 << 30
INFO = Part(".ze_info", ZE_INFO, b'version: "1.0"\nkernels: []\n')


def zero_filled(size: int) -> bytes:
    return elf(INFO, Part(".bss.global", NOBITS, size=size))


def array(shape: str) -> bytes:
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def picture(width: int, height: int) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    rows = zlib.compress(bytes(1 << 20))
    return SIGNATURE + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def object_of_names(names: int) -> bytes:
    """Return an object in which each of many variables has the same name of a mebibyte."""
    strings = b"x" * (1 << 20) + b"\0"
    entry = struct.pack("<IBHIHBB", 0, 0x01, 1, 0, 0, 0, 0)
    body = struct.pack("<I", 1) + strings + struct.pack("<II", 0, names) + entry * names
    head = b"CISA\4\1\1\0" + b"\1\0k"
    place = len(head) + 4 * 3 + 2 + 2 + 1 + 4
    header = head + struct.pack("<IIIHHBHH", place, len(body), 0, 0, 0, 0, 0, 0)
    return header + body


def archive_of_names(members: int) -> bytes:
    """Return an archive whose members all have one name of a mebibyte."""

    def member(name: str, content: bytes) -> bytes:
        head = f"{name:<16}{0:<12}{0:<6}{0:<6}{0:<8}{len(content):<10}`\n".encode()
        return head + content

    return b"!<arch>\n" + member("//", b"x" * (1 << 20)) + member("/0", b"") * members


def text(what: str) -> None:
    contents, findings = examine_data(what.encode(), "greedy", platform("pvc"))
    if contents is None or not findings.errors:
        return
    raise VisimError(findings.render())


def value(what: str) -> object:
    return read_value(ArgumentText("x", what), name="x", seed=(0,))


def stored_array(shape: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.npy").write_bytes(array(shape))
        return value(f"npy:{folder}/a.npy")


HEAD = '.version 4.1\n.kernel "k"\n'
GREEDY: dict[str, Callable[[], object]] = {
    "zero-filled data": lambda: read_zebin(zero_filled(1 << 40), "greedy"),
    "zero-filled data of a gibibyte": lambda: read_zebin(zero_filled(1 << 30), "greedy"),
    "a picture": lambda: decode_png(picture(1 << 30, 1 << 30), "greedy"),
    "a picture without its rows": lambda: decode_png(picture(1 << 13, 1 << 13), "greedy"),
    "names": lambda: read_isa(object_of_names(60_000), "greedy"),
    "names in an archive": lambda: read_archive(archive_of_names(10_000), "greedy"),
    "elements": lambda: text(f"{HEAD}.decl X v_type=G type=ud num_elts={1 << 40}\n"),
    "digits": lambda: text(f"{HEAD}.decl X v_type=G type=ud num_elts={'9' * 5000}\n"),
    "zeros": lambda: value(f"zeros:f64:{1 << 40}"),
    "ones": lambda: value("ones:u8:99999999999x99999999999"),
    "a random array": lambda: value(f"rand:f64:{1 << 30}"),
    "dimensions": lambda: value("zeros:u8:" + "x".join("1" * 100)),
    "a number": lambda: value("i32:" + "9" * 100_000),
    "a stored array": lambda: stored_array(str(1 << 40)),
    "a stored array of many dimensions": lambda: stored_array(",".join(["99999"] * 30)),
}


def main() -> int:
    """Read each with little memory; returns the exit code."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    accepted: list[str] = []
    for name, read in GREEDY.items():
        try:
            read()
            accepted.append(name)
        except VisimError as error:
            sys.stdout.write(f"{name}: {str(error)[:100]!r}\n")
    if accepted:
        sys.stderr.write(f"not refused: {', '.join(accepted)}\n")
    return 1 if accepted else 0


if __name__ == "__main__":
    sys.exit(main())
