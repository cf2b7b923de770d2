"""Vectors of 64-bit lanes that LLVM must not make half as wide, in modules that it has optimized.

With AVX-512 LLVM 22 extends eight 32-bit integers in one register. If then only the low halves of
the first four results are wanted, or a shuffle takes no others, it extends the first four alone,
leaves the other four beside them in the operand, and has no instruction for that, where the operand
is held as floats: those are what the bits of floats are, and some shuffles. It ends the process.

Behind a fence, which is no instruction, all eight are wanted. Fences come behind LLVM's own passes:
before, they would keep it from seeing that what is read is what was extended.
"""

from __future__ import annotations

import re

from visim.engine.jit.common.fencing import NAME, Use, fenced, has_fences

_HALVED = re.compile(r"(?:bitcast|trunc) <(2|4|8|16|32) x i64> (%\S+) to ")
"""Instructions that may want the low halves only; what has less lanes may be the first of eight."""
_TAKEN = re.compile(r"shufflevector <(8|16|32) x i64> ([^\s,]+), <\d+ x i64> ([^\s,]+), ")
"""Shuffles, which may take the first four of eight only."""
_EXTENSION = re.compile(r"[sz]ext (?:nneg )?<(?:8|16|32) x i32> (%\S+) to <")
_PASSING = re.compile(
    r"(?:or|and|xor|add|sub|mul|shl|lshr|ashr|select|freeze|shufflevector|insertelement) "
)
"""Instructions whose operands LLVM makes half as wide, with what they return."""
_AS_FLOATS = re.compile(r"bitcast <\d+ x (?:half|float|double)> ")
_MOVED = re.compile(r"(?:bitcast|shufflevector|insertelement|freeze) ")
_MIXED = re.compile(r"shufflevector <8 x i32> %\S+ <8 x i32> %")
"""A shuffle of two vectors, which LLVM may make one of floats."""


def kept_whole(text: str) -> str:
    """Return optimized IR with fences where LLVM could end the process; most has none.

    Only modules that declare fences get any: those for hosts with AVX-512.
    """
    if not has_fences(text) or not _EXTENSION.search(text):
        return text
    if not _HALVED.search(text) and not _TAKEN.search(text):
        return text
    return fenced(text, "whole", _Halves)


class _Halves:
    """Finds instructions that may want the low halves of extended numbers that are floats."""

    def __init__(self) -> None:
        self._floats: set[str] = set()
        self._wide: set[str] = set()

    def wanted(self, name: str, code: str) -> list[Use]:
        """Return the vectors of which an instruction may want a part."""
        extension, names = _EXTENSION.match(code), NAME.findall(code)
        is_moved = _MOVED.match(code) and not self._floats.isdisjoint(names)
        if _AS_FLOATS.match(code) or _MIXED.match(code) or is_moved:
            self._floats.add(name)
        is_passed = _PASSING.match(code) and not self._wide.isdisjoint(names)
        if is_passed or (extension is not None and extension[1] in self._floats):
            self._wide.add(name)
        found = _HALVED.match(code) or _TAKEN.match(code)
        if found is None:
            return []
        lanes = int(found[1])
        values = sorted({one for one in found.groups()[1:] if one in self._wide})
        return [Use(f"<{lanes} x i64>", value, lanes) for value in values]
