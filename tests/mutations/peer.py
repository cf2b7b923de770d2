"""What Intel's assembler and verifier say of a text: accepted, or the first thing that is wrong."""

from __future__ import annotations

import re
import shutil
import subprocess

from tools import genx
from tools.genx import compile_file

PROGRAM = shutil.which(genx.PROGRAM)
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
    try:
        made = compile_file(text.encode(), ".visaasm", device, seconds=_SECONDS)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if made.complaints is not None:
        return _first(made.complaints)
    if made.returncode < 0:
        return CRASH
    if made.returncode or "error" in made.output.lower():
        return _first("\n".join(made.output.splitlines()[1:]))
    return None


def _first(text: str) -> str:
    """Return the first line that says something, without headings, frames and places."""
    lines = [_PLACE.sub("", line).strip() for line in text.splitlines()]
    said = [line for line in lines if line and not _HEADING.match(line)]
    first = said[0] if said else "no reason given"
    return _ADDRESS.sub("0x...", _LABEL.sub("", first))[:120]
