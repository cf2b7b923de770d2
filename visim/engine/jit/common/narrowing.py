"""Vectors of 64-bit lanes that LLVM must not make half as wide, in modules that it has optimized.

With AVX-512 LLVM 22 extends eight 32-bit integers in one register. If then only the low halves of
the first four results are wanted, it extends the first four alone, leaves the other four beside
them in the operand, and has no instruction for that, where the operand is held as floats: those
are what the bits of floats are, and some shuffles. It ends the process.

Behind a fence, which is no instruction, all eight are wanted. Fences come behind LLVM's own passes:
before, they would keep it from seeing that what is read is what was extended.
"""

from __future__ import annotations

import re

from visim.engine.jit.common.fencing import LET, NAME, behind_fence, has_fences

_EXTENDED = re.compile(r"= [sz]ext (?:nneg )?<(?:8|16|32) x i32> ")
_HALVED = re.compile(r"= (?:bitcast|trunc) <(2|4|8|16|32) x i64> (%\S+) to ")
"""Instructions that may want the low halves only; what has less lanes may be the first of eight."""
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
    if not has_fences(text) or not _EXTENDED.search(text) or not _HALVED.search(text):
        return text
    lines: list[str] = []
    floats: set[str] = set()
    wide: set[str] = set()
    is_fenced = False
    for line in text.split("\n"):
        found = LET.match(line)
        if found is None:
            if line.startswith("define "):
                floats.clear()
                wide.clear()
            lines.append(line)
            continue
        name, code = found.groups()
        extension, halved = _EXTENSION.match(code), _HALVED.search(line)
        names = NAME.findall(code)
        is_moved = _MOVED.match(code) and not floats.isdisjoint(names)
        if _AS_FLOATS.match(code) or _MIXED.match(code) or is_moved:
            floats.add(name)
        is_passed = _PASSING.match(code) and not wide.isdisjoint(names)
        if is_passed or (extension is not None and extension[1] in floats):
            wide.add(name)
        if halved is not None and halved[2] in wide:
            is_fenced = True
            lanes, value = int(halved[1]), halved[2]
            kind = f"<{lanes} x i64>"
            lines.extend(behind_fence(line, f"%whole..{len(lines)}", kind, value, lanes))
        else:
            lines.append(line)
    return "\n".join(lines) if is_fenced else text
