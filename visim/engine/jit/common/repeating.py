"""Parts of vectors that LLVM must not repeat from where they lie, in modules that it has optimized.

With AVX-512 LLVM 22 repeats 128 bits all over 512 by one shuffle, which it has read the whole
vector that they are the low part of. It does so before it has made vectors as long as registers
are. Three lanes of 64 bits, or five, six or seven, are a length that it does not expect there: it
ends the process. Its own passes make such vectors, of registers of which no more is used.

Behind a fence the part is a vector of its own. Fences come behind those passes: what is repeated is
found in what they leave.
"""

from __future__ import annotations

import re

from visim.engine.jit.common.fencing import NAME, Use, fenced, has_fences

_ODD = re.compile(r"<[3567] x (?:i64|double)>")
_ODD_BITS = {64 * lanes for lanes in (3, 5, 6, 7)}
_PART_BITS = 128
_TAKEN = re.compile(r"(?:shufflevector|extractelement) <(\d+) x (i\d+|half|float|double)> ")
_PASSED = re.compile(r"(?:bitcast|freeze|shufflevector|insertelement|extractelement) ")
"""Instructions whose results are still found to be a part of the vector."""
_REPEATED = re.compile(
    r"shufflevector (<(\d+) x (i\d+|half|float|double)>) (%[^\s,]+), .*, <\d+ x i32> <(.*)>$"
)
_FLOAT_BITS = {"half": 16, "float": 32, "double": 64}


def kept_apart(text: str) -> str:
    """Return optimized IR with fences where LLVM could end the process; most has none.

    Only modules that declare fences get any: those for hosts with AVX-512.
    """
    if not has_fences(text) or not _ODD.search(text):
        return text
    return fenced(text, "part", _Parts)


class _Parts:
    """Finds shuffles that repeat a part of a vector of such a length."""

    def __init__(self) -> None:
        self._parts: set[str] = set()

    def wanted(self, name: str, code: str) -> tuple[Use, ...]:
        repeated = _REPEATED.match(code)
        if repeated is not None and repeated[4] in self._parts and _is_repetition(repeated):
            return (Use(repeated[1], repeated[4], _PART_BITS // 64),)
        is_passed = _PASSED.match(code) and not self._parts.isdisjoint(NAME.findall(code))
        if is_passed or _is_taken(code):
            self._parts.add(name)
        return ()


def _is_taken(code: str) -> bool:
    """Whether an instruction takes lanes out of a vector of a length that LLVM does not expect."""
    taken = _TAKEN.match(code)
    return taken is not None and int(taken[1]) * _bits(taken[2]) in _ODD_BITS


def _is_repetition(shuffle: re.Match[str]) -> bool:
    """Whether a shuffle repeats all of a part; of undefined lanes LLVM may say what they are."""
    lanes = int(shuffle[2])
    taken = [lane.removeprefix("i32 ") for lane in shuffle[5].split(", ")]
    return (
        lanes * _bits(shuffle[3]) == _PART_BITS
        and len(taken) > lanes
        and all(lane in {"poison", "undef", str(i % lanes)} for i, lane in enumerate(taken))
    )


def _bits(scalar: str) -> int:
    return _FLOAT_BITS.get(scalar) or int(scalar[1:])
