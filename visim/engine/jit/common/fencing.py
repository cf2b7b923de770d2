"""Fences in IR that LLVM has optimized: what made a value is not seen from behind one.

A fence is no instruction. It takes floats; only modules for hosts with AVX-512 declare any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

NAME = re.compile(r"%[^\s,>)]+")
_LET = re.compile(r"  (%\S+) = (.*)")
"""An instruction that returns something: the name of that, and the rest."""
_FENCE = "llvm.arithmetic.fence"


@dataclass(frozen=True, slots=True)
class Use:
    """A value that an instruction uses: its type, its name, and as how many doubles it is long."""

    kind: str
    value: str
    lanes: int


class Finder(Protocol):
    """Finds what instructions of one function have to use from behind a fence."""

    def wanted(self, name: str, code: str) -> Sequence[Use]:
        """Take the next instruction; return what it has to use so, each once."""
        ...


def has_fences(text: str) -> bool:
    """Whether a module declares fences for vectors of any number of doubles."""
    return f"@{_FENCE}.v8f64" in text


def fenced(text: str, hint: str, finder: Callable[[], Finder]) -> str:
    """Return a module with fences where finders, one for each function, want them.

    Names of what comes out of fences begin with a hint, and have two dots, unlike those of `Text`.
    """
    lines: list[str] = []
    now, is_fenced = finder(), False
    for line in text.split("\n"):
        found = _LET.match(line)
        if found is None and line.startswith("define "):
            now = finder()
        lines.append(line)
        for use in () if found is None else now.wanted(found[1], found[2]):
            is_fenced = True
            lines.extend(_behind_fence(lines.pop(), f"%{hint}..{len(lines)}", use))
    return "\n".join(lines) if is_fenced else text


def _behind_fence(line: str, name: str, use: Use) -> list[str]:
    """Return a line that uses a value from behind a fence, out of which it comes as `name`."""
    kind, value, floats = use.kind, use.value, f"<{use.lanes} x double>"
    used = re.compile(re.escape(f"{kind} {value}") + r"(?=[\s,]|$)")
    return [
        f"  {name}.a = bitcast {kind} {value} to {floats}",
        f"  {name}.b = call {floats} @{_FENCE}.v{use.lanes}f64({floats} {name}.a)",
        f"  {name} = bitcast {floats} {name}.b to {kind}",
        used.sub(f"{kind} {name}", line),
    ]
