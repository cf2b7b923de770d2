"""`visim exec --debug`: a kernel of an unmodified program in the debugger.

The program runs to its end, or to its fault, while its launches are recorded; the debugger then has
one of them, with everything before its fault. So the program's time limits and its other threads
are not in the way, and nothing is different from debugging a recorded launch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from visim.binary.notes import with_notes
from visim.device.recording import ENDED, VARIABLE
from visim.device.waiting import run_watched
from visim.errors import ArgumentError
from visim.output import write_file
from visim.runtime.compiling.opencl_child import ASKING

_NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Launch:
    """A recorded launch: its file, its kernel, and whether it came to its end."""

    file: Path
    kernel: str
    ended: bool


def debug_program(
    words: Sequence[str],
    environment: Mapping[str, str],
    kernel: str,
    record: str | None,
    name: str,
) -> int:
    """Run a program; then open the debugger on one of its launches. Return the debugger's code.

    Args:
        words: the program and its arguments.
        environment: all of its variables.
        kernel: the kernel to debug; empty: of the launch that has not ended, else of the first.
        record: the folder in which launches are kept, None to keep none.
        name: what messages call the program.

    Raises:
        ArgumentError: there is no such launch.
    """
    folder = Path(record).absolute() if record else Path(tempfile.mkdtemp(prefix="visim-debug-"))
    try:
        before = frozenset(folder.glob("*.toml"))
        notes = folder / _NOTES
        notes.mkdir(parents=True, exist_ok=True)
        asking = {**ASKING, "IGC_DumpToCustomDir": str(notes), VARIABLE: str(folder)}
        code = run_watched(words, {**environment, **asking})
        _keep_notes(folder, notes)
        found = _launches(folder, before)
        chosen = _choose(found, kernel)
        click.echo(
            f"visim: {name} has ended with code {code} after {len(found)} launches; "
            f"this is {chosen.file.name}, of kernel {chosen.kernel}",
            err=True,
        )
        fault = [] if chosen.ended else ["--at-fault"]
        command = [sys.executable, "-m", "visim", "debug", str(chosen.file), *fault]
        return subprocess.run(command, env=dict(os.environ), check=False).returncode
    finally:
        if record is None:
            shutil.rmtree(folder, ignore_errors=True)


def _launches(folder: Path, before: frozenset[Path]) -> list[Launch]:
    """Return the launches that are recorded in a folder and were not before, in their order."""
    found: list[Launch] = []
    for file in sorted(set(folder.glob("*.toml")) - before):
        text = file.read_text()
        found.append(Launch(file, str(tomllib.loads(text).get("kernel", "")), ENDED in text))
    return found


def _choose(launches: Sequence[Launch], kernel: str) -> Launch:
    if not launches:
        raise ArgumentError("--debug: the program launched no kernel that can be recorded")
    fitting = [one for one in launches if not kernel or one.kernel == kernel]
    if not fitting:
        known = ", ".join(dict.fromkeys(one.kernel for one in launches))
        raise ArgumentError(f"--debug: no launch of kernel {kernel!r}; there are: {known}")
    return next((one for one in fitting if not one.ended), fitting[0])


def _keep_notes(folder: Path, notes: Path) -> None:
    """Put what the compiler noted of variables into the recorded programs."""
    files = [one.read_bytes() for one in sorted(notes.rglob("*.dbg"))]
    shutil.rmtree(notes, ignore_errors=True)
    for file in folder.glob("code-*.zebin") if files else ():
        write_file(file, with_notes(file.read_bytes(), files))


__all__ = ["debug_program"]
