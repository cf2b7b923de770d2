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

FENCE = "llvm.arithmetic.fence"
"""Only modules for hosts with AVX-512 declare fences."""
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
_LET = re.compile(r"  (%\S+) = (.*)")
_NAME = re.compile(r"%[^\s,>)]+")


def kept_whole(text: str) -> str:
    """Return optimized IR with fences where LLVM could end the process; most has none."""
    if f"@{FENCE}.v8f64" not in text or not _EXTENDED.search(text) or not _HALVED.search(text):
        return text
    lines: list[str] = []
    floats: set[str] = set()
    wide: set[str] = set()
    is_fenced = False
    for line in text.split("\n"):
        found = _LET.match(line)
        if found is None:
            if line.startswith("define "):
                floats.clear()
                wide.clear()
            lines.append(line)
            continue
        name, code = found.groups()
        extension, halved = _EXTENSION.match(code), _HALVED.search(line)
        names = _NAME.findall(code)
        is_moved = _MOVED.match(code) and not floats.isdisjoint(names)
        if _AS_FLOATS.match(code) or _MIXED.match(code) or is_moved:
            floats.add(name)
        is_passed = _PASSING.match(code) and not wide.isdisjoint(names)
        if is_passed or (extension is not None and extension[1] in floats):
            wide.add(name)
        if halved is not None and halved[2] in wide:
            is_fenced = True
            lines.extend(_fenced(line, f"%whole.{len(lines)}", int(halved[1]), halved[2]))
        else:
            lines.append(line)
    return "\n".join(lines) if is_fenced else text


def _fenced(line: str, name: str, lanes: int, value: str) -> list[str]:
    """Return a fence behind `value`, and the line that uses it with what comes out of the fence."""
    ints, floats = f"<{lanes} x i64>", f"<{lanes} x double>"
    return [
        f"  {name}.a = bitcast {ints} {value} to {floats}",
        f"  {name}.b = call {floats} @{FENCE}.v{lanes}f64({floats} {name}.a)",
        f"  {name} = bitcast {floats} {name}.b to {ints}",
        line.replace(f"{ints} {value} to", f"{ints} {name} to"),
    ]
