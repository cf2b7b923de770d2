"""Fences in IR that LLVM has optimized: what made a value is not seen from behind one.

A fence is no instruction. It takes floats; only modules for hosts with AVX-512 declare any.
"""

from __future__ import annotations

import re

LET = re.compile(r"  (%\S+) = (.*)")
"""An instruction that returns something: the name of that, and the rest."""
NAME = re.compile(r"%[^\s,>)]+")
_FENCE = "llvm.arithmetic.fence"


def has_fences(text: str) -> bool:
    """Whether a module declares fences for vectors of any number of doubles."""
    return f"@{_FENCE}.v8f64" in text


def behind_fence(line: str, name: str, kind: str, value: str, lanes: int) -> list[str]:
    """Return a line that uses a value of type `kind`, as long as so many doubles, from behind one.

    `name` is a new one, of what comes out of the fence: with two dots, unlike those of `Text`.
    """
    floats = f"<{lanes} x double>"
    used = re.compile(re.escape(f"{kind} {value}") + r"(?=[\s,]|$)")
    return [
        f"  {name}.a = bitcast {kind} {value} to {floats}",
        f"  {name}.b = call {floats} @{_FENCE}.v{lanes}f64({floats} {name}.a)",
        f"  {name} = bitcast {floats} {name}.b to {kind}",
        used.sub(f"{kind} {name}", line),
    ]
