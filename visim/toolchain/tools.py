"""The system's programs that an installation needs, and how they are run.

A program runs in a group of its own, which ends with an interrupt or an error here. What it says
is for messages; its exit code tells whether it did its work.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from visim.errors import ToolMissing

PACKAGES = {"apt-get": "apt", "apt-config": "apt", "dpkg-deb": "dpkg"}
"""Which package has a program; other distributions than Debian's have these packages, too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended: its exit code and what it printed."""

    code: int
    output: str
    errors: str

    def complaints(self) -> str:
        """Return what is wrong in one line, in the words of the program."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        told = [line[3:] for line in lines if line.startswith("E: ")] or lines[-2:]
        return "; ".join(dict.fromkeys(told)) or f"exit code {self.code}"


def find(program: str) -> str:
    """Return the path of a program.

    Raises:
        ToolMissing: it is not installed.
    """
    path = os.environ.get("PATH", os.defpath)
    found = shutil.which(program, path=os.pathsep.join([path, "/usr/bin", "/bin"]))
    if found is None:
        raise ToolMissing(
            f"{program} is not installed; the package {PACKAGES.get(program, program)} has it, "
            "in Debian, Ubuntu, Fedora, openSUSE and Arch Linux alike"
        )
    return found


def run(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Outcome:
    """Run a program that asks nothing, in English, and wait for its end.

    Raises:
        ToolMissing: it is not installed.
    """
    program = words[0] if os.sep in words[0] else find(words[0])
    variables = {**os.environ, "LC_ALL": "C", "LANGUAGE": "C", **(environment or {})}
    process = subprocess.Popen(
        [program, *words[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Outcome(process.returncode, output, errors)
