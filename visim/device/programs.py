"""How a program is started so that it sees visim's devices: by which loader, with which words.

Owns which programs cannot be: those that no library can be loaded into.
"""

from __future__ import annotations

import platform
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from visim.binary.extent import HEADER_BYTES
from visim.device.driver import Driver
from visim.errors import ArgumentError

_MOST_SHEBANGS = 4
_CLASS, _64_BITS, _MACHINE = 4, 2, slice(18, 20)
_SEGMENTS = slice(32, 40), slice(54, 56), slice(56, 58)
"""Of an ELF header: where the table of segments is, how large an entry is, and how many."""
_INTERPRETED = (3).to_bytes(4, "little")
"""The kind of the segment that names a loader: programs without one are static."""
_MACHINES = {"x86_64": 62, "aarch64": 183}


def command(words: Sequence[str], driver: Driver, search: str | None = None) -> list[str]:
    """Return the words that start a program, with the driver's own loader if it has one.

    Args:
        words: the program and its arguments, as a shell has them.
        driver: the driver.
        search: the folders in which programs are looked for; None takes PATH.

    Raises:
        FileNotFoundError: there is no such program.
        ArgumentError: it cannot be started, or would not see the GPU.
    """
    program = shutil.which(words[0], path=search)
    if program is None and Path(words[0]).is_file():
        raise ArgumentError(f"{words[0]} is not executable; chmod +x {words[0]} makes it so")
    if program is None:
        raise FileNotFoundError(f"there is no program {words[0]}")
    name, *rest = _with_interpreter([program, *words[1:]], words[0])
    _refuse_deaf(Path(name), words[0])
    if driver.loader is None:
        return [program, *words[1:]]
    start = [
        "--library-path",
        str(driver.folder),
        "--argv0",
        name if rest != list(words[1:]) else words[0],
    ]
    return [str(driver.loader), *start, name, *rest]


def program_of(started: Sequence[str]) -> str:
    """Return the path of the program that the words of `command` start."""
    return started[started.index("--argv0") + 2] if "--argv0" in started[:5] else started[0]


def _with_interpreter(words: list[str], name: str) -> list[str]:
    """Return a script's words after those of its interpreter, an ELF program's as they are."""
    for _ in range(_MOST_SHEBANGS):
        with Path(words[0]).open("rb") as file:
            first = file.readline(256)
        if first.startswith(b"\x7fELF"):
            return words
        if not first.startswith(b"#!"):
            break
        interpreter, *option = first[2:].decode(errors="replace").strip().split(maxsplit=1)
        words = [interpreter, *option, *words]
        if Path(interpreter).name == "env" and option:
            found = shutil.which(option[0])
            if found is None:
                break
            words = [found, *words[2:]]
    raise ArgumentError(f"{name} is neither a program of this machine nor a script of one")


def _refuse_deaf(program: Path, name: str) -> None:
    """Refuse a program that no library can be loaded into, because none is or none may be."""
    if program.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise ArgumentError(
            f"{name} has the set-user-ID or set-group-ID bit ({program}): the system lets nobody "
            "load a library into it, so it would not see the GPU; run what it runs instead, or a "
            "copy without the bit"
        )
    with program.open("rb") as file:
        header = file.read(HEADER_BYTES)
        kind = header[_CLASS], int.from_bytes(header[_MACHINE], "little")
        machine = _MACHINES.get(platform.machine())
        if machine is not None and kind != (_64_BITS, machine):
            raise ArgumentError(
                f"{name} is a program of {32 * kind[0]} bits for machine {kind[1]} of the ELF "
                f"list ({program}); visim exec needs one of 64 bits for {platform.machine()}"
            )
        start, size, count = (int.from_bytes(header[place], "little") for place in _SEGMENTS)
        file.seek(start)
        table = file.read(size * count)
    kinds = {table[at : at + 4] for at in range(0, len(table), size)} if size else set[bytes]()
    if _INTERPRETED not in kinds:
        raise ArgumentError(
            f"{name} is linked statically ({program}): it loads no driver, so it would not see the "
            "GPU; link it dynamically"
        )
