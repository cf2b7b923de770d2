"""Runs GenX_IR on a kernel for what it writes beside the listing."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from visim.text import show_unit


@dataclass(frozen=True)
class Written:
    """The listing, and the timelines of the blocks that have one."""

    listing: str
    timelines: tuple[str, ...]


def compiled(kernel, platform: str, *options: str) -> Written:
    """Return what the tool writes for a kernel."""
    text = re.sub(r"(?m)^\.kernel_attr OutputAsmPath.*\n", "", show_unit(kernel, (4, 1)))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "k.visaasm").write_text(text, encoding="utf-8")
        words = ["GenX_IR", "k.visaasm", "-platform", platform, "-output", "-dumpSchedule"]
        subprocess.run([*words, *options], cwd=folder, capture_output=True, check=True, timeout=60)
        timelines = [path.read_text() for path in sorted(Path(folder).glob("*.schedule"))]
        return Written((Path(folder) / "k.asm").read_text(), tuple(timelines))
