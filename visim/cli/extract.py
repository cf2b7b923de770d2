"""Takes the Gen code out of objects that carry it (fat binaries), one file for each."""

from __future__ import annotations

import re
from pathlib import Path

import visim
from visim.binary.isafile import NativeCode, is_isa, native_code
from visim.cli.files import name_of, read_source
from visim.errors import ArgumentError, InputError
from visim.output import check_output, write_file
from visim.runtime.building.loading import file_bytes
from visim.target import PLATFORMS

_NO_FILE_NAME = re.compile(r"[^\w.-]")
_MAX_STEM_BYTES = 200
"""File systems take names of 255 bytes; the platform and a number follow."""


def extract(file: str, folder: str) -> list[dict[str, str | int]]:
    """Write the Gen code in `file` to `<kernel>.<platform>-<code>.gen` files in `folder`.

    Returns:
        One entry for each file: its name, the kernel, the platform and its number, the size.

    Raises:
        InputError: the file has no Gen code.
        ArgumentError: something cannot be written.
    """
    found = [
        (kernel, gen.platform_code, gen.code)
        for kernel, codes in _native_code(file).items()
        for gen in codes
    ]
    if not found:
        message = "there is no Gen code in it, only .isa objects can have some"
        raise InputError(f"{name_of(file)}: {message}")
    if Path(folder).is_file():
        raise ArgumentError(f"{folder}: this is a file, give the name of a folder")
    if not Path(folder).is_dir():
        check_output(folder).mkdir()
    written: list[dict[str, str | int]] = []
    names = _Names()
    for kernel, code, data in found:
        target = Path(folder) / names.free(kernel, code)
        write_file(target, data)
        entry = {"file": str(target), "kernel": kernel, "platform": _platform_name(code)}
        written.append({**entry, "code": code, "size": len(data)})
    return written


def _native_code(file: str) -> dict[str, tuple[NativeCode, ...]]:
    """Return the Gen code in an object, which need not have anything else.

    Other files have none; reading them says whether they are programs at all.
    """
    source = read_source(file)
    data, name = file_bytes(source)
    if is_isa(data):
        return native_code(data, name)
    return visim.load(source).native_code()


def _platform_name(code: int) -> str:
    return next((entry.name for entry in PLATFORMS if code in entry.gen_codes), "unknown")


class _Names:
    """Gives each piece of code a file of its own in one call."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._taken: set[str] = set()

    def free(self, kernel: str, code: int) -> str:
        """Return a file's name for a kernel, which may have signs that file systems do not like."""
        plain = _NO_FILE_NAME.sub("_", kernel).lstrip(".") or "_"
        stem = plain.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
        tail = f".{_platform_name(code)}-{code}.gen"
        name = stem + tail
        number = self._counts.get(name, 1)
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}{tail}"
        self._counts[stem + tail] = number
        self._taken.add(name)
        return name
