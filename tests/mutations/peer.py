"""What Intel's assembler and verifier say of a text: accepted, or the first thing that is wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAM = shutil.which("GenX_IR")
_SECONDS = 20
_PLACE = re.compile(r"^\S*visa/\S+:\d+ |^.*?\.(?:cpp|h|y):\d+:? ?")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_HEADING = re.compile(
    r"Instruction / Operand|/---|Error in CISA|in instruction|Please check|Found a"
)
_LABEL = re.compile(r"^Error Message:\s*|^\*\s*")
CRASH = "it crashes"


def verdict(text: str, device: str) -> str | None:
    """Return None if GenX_IR takes a text, else its first complaint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.visaasm"
        path.write_text(text, encoding="utf-8")
        command = [str(PROGRAM), path.name, "-platform", device.upper(), "-binary", "-output"]
        try:
            run = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "it does not end"
        complaints = Path(folder) / "k.errors.txt"
        if complaints.exists():
            return _first(complaints.read_text(encoding="utf-8", errors="replace"))
        if run.returncode < 0:
            return CRASH
        said = run.stdout + run.stderr
        if run.returncode or "error" in said.lower():
            return _first("\n".join(said.splitlines()[1:]))
    return None


def _first(text: str) -> str:
    """Return the first line that says something, without headings, frames and places."""
    lines = [_PLACE.sub("", line).strip() for line in text.splitlines()]
    said = [line for line in lines if line and not _HEADING.match(line)]
    first = said[0] if said else "no reason given"
    return _ADDRESS.sub("0x...", _LABEL.sub("", first))[:120]
