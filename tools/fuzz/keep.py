"""Chooses which found inputs are worth keeping: the small ones that reach lines nothing else does.

    python -m tools.fuzz.keep text      copy them into tests/robustness/seeds/text

They come from build/fuzz/text, where fuzzing leaves what it finds.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from tools.fuzz.seeds import KEPT, ROOT, seeds
from tools.fuzz.targets import TARGETS, Target

LARGEST, MOST = 3_000, 40
_PACKAGE = str(ROOT / "visim")

Line = tuple[str, int]


def main() -> int:
    """Choose among what fuzzing one target has found."""
    name = sys.argv[1]
    found = (ROOT / "build" / "fuzz" / name / "corpus").glob("*")
    inputs = [path.read_bytes() for path in found if path.stat().st_size <= LARGEST]
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    for data in chosen(TARGETS[name], inputs, seeds(name)):
        (folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]).write_bytes(data)
    return 0


def chosen(target: Target, inputs: Iterable[bytes], known: Iterable[bytes]) -> list[bytes]:
    """Return the inputs that reach lines which neither `known` nor smaller ones reach."""
    reached: set[Line] = set()
    for data in known:
        reached |= lines_of(target, data)
    kept: list[bytes] = []
    for data in sorted(inputs, key=lambda data: (len(data), data)):
        new = lines_of(target, data) - reached
        if new and len(kept) < MOST:
            kept.append(data)
            reached |= new
    return kept


def lines_of(target: Target, data: bytes) -> set[Line]:
    """Return the lines of visim that run when `target` takes `data`."""
    found: set[Line] = set()

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if event == "line":
            found.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        target(data)
    finally:
        sys.settrace(before)
    return found


if __name__ == "__main__":
    sys.exit(main())
