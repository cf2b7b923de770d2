"""Reads the timelines of today's compiler, whose messages say themselves what they do.

What differs from GenX_IR's of 2022: a comment of each message has its operation and its lengths,
there are four flag registers and scalar registers, and messages wait for their address registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tools.finalizer.schedules import (
    OPERAND,
    OTHER,
    TEXT,
    Message,
    Operand,
    Reader,
    Resources,
    Scheduled,
    UnreadError,
    is_code,
    memory_of,
    register,
    scheduled,
)
from visim.timing.native import ADDRESS, FLAG_0, Native
from visim.types import BY_NAME, UD

_NODE = re.compile(r"^ *(\d+) [^[]*\[\d+\]((?:I\d+)+)L\d+E\d+P\d+ (.*)$")
_NEXT = re.compile(r", (?=    |\()")
"""Between instructions that are treated as one."""
_LENGTHS = re.compile(r"dstLen=(\d+), src0Len=(\d+), src1Len=(\d+)")
_OPERATION = re.compile(r"; ([a-z]+)(?:_[a-z]+)?\.(\S+) ")
_FENCE = 0x1F
_SCALAR = OTHER + (1 << 12)
"""From here on, resources are words of scalar registers."""
_ADDRESSED = _SCALAR + (1 << 12)
"""From here on, resources are bytes of address registers."""
_EXACT = _ADDRESSED + (1 << 12)
"""From here on, resources are the accumulators that exact division and roots name."""
_SCALARS = re.compile(r"\bs0\.(\d+)(?:<[\d;,]+>)?:(\w+)")
INDIRECT = "indirect registers"
"""Which ones an address register points at stands nowhere in a timeline."""
PSEUDO = "pseudo instructions"
"""The high half of a product, which becomes two instructions."""
_FENCES = frozenset({"barrier", "eot", "fence"})


def schedule(text: str, version: int, grf: int) -> Iterator[Scheduled]:
    """Return the instructions of a timeline, without its label.

    Raises:
        UnreadError: a line is not known.
    """
    reader = _Reader({}, version, grf)
    nodes: list[tuple[int, list[tuple[Native, bool]]]] = []
    for line in text.splitlines():
        node = _NODE.match(line)
        if node is None:
            continue
        parts = _NEXT.split(node[3]) if node[2].count("I") > 1 else [node[3]]
        codes = [part.partition("// ") for part in parts]
        pairs = [(code.rstrip(" ,"), note) for code, _, note in codes if code.strip()]
        nodes.append((int(node[1]), [reader.one(*pair) for pair in pairs if is_code(pair[0])]))
    return scheduled(nodes)


class _Reader(Reader):
    def one(self, body: str, statement: str | None) -> tuple[Native, bool]:
        if "r[" in body:
            raise UnreadError(INDIRECT)
        if " mullh " in body:
            raise UnreadError(PSEUDO)
        match = TEXT.match(body)
        if match is not None and match["opcode"].startswith("dpas"):
            return self._matrix(match), False
        native, is_barrier = super().one(body, statement)
        if native.is_send or match is None:
            return native, is_barrier
        first, *others = match["operands"].strip().split("  ")
        found = (*native.reads, *_scalars(" ".join(others)))
        written = (*native.writes, *_scalars(first))
        if any(_ADDRESSED <= resource < _EXACT for resource in written):
            written = (*written, ADDRESS)  # which says what they cost
        return replace(native, reads=found, writes=written), is_barrier

    def _matrix(self, match: re.Match[str]) -> Native:
        """Return a matrix product: `.8x4` is eight deep and has four rows."""
        size, (depth, rows) = int(match["size"]), map(int, match["mods"].strip(".").split("x"))
        found = [part.partition(".") for part in match["operands"].split()]
        element = 2 if ":hf" in found[0][2] or ":bf" in found[0][2] else 4
        lengths = (rows * size * element, rows * size * element, depth * size * 4, rows * depth * 4)
        spans = [
            self.bytes_from(number, length)
            for (word, _, _), length in zip(found, lengths, strict=True)
            if (number := register(word)) is not None or word == "null"
        ]
        target, *sources = spans
        reads = tuple(r for span in sources for r in span)
        return Native(
            match["opcode"], size, 0, f"dpas.{rows}", 0, (), reads, target,
            sd=rows, sx=self.units(size),
        )  # fmt: skip

    def send(
        self, match: re.Match[str], size: int, statement: str | None, reads: Resources
    ) -> tuple[Native, bool]:
        text, note = match["operands"], statement or ""
        words = text.split()
        lengths = _LENGTHS.search(note)
        if lengths is None:
            raise UnreadError(note)
        message = _message(match["mods"].split(".")[1], text, note)
        counts = [int(number) for number in lengths.groups()]
        spans = [self.span(register(w), n) for w, n in zip(words[:3], counts, strict=False)]
        addresses = tuple(
            resource
            for part in OPERAND.finditer(text)
            if part["file"] == "a"
            for resource in self.operand(part, 1).resources
        )
        read, written = memory_of(message)
        native = Native(
            message.opcode,
            size,
            0,
            f"message.{message.kind}",
            0,
            (),
            (*reads, *addresses, *_scalars(text), *(r for s in spans[1:] for r in s), *read),
            (*spans[0], *written),
            sd=len(spans[0]),
            sx=self.send_units(size, words[0] if ":" in words[0] else _typed(words[0], message)),
        )
        return native, message.kind in _FENCES or "sendc" in match["opcode"]

    def flags(self, text: str, size: int, group: int) -> Resources:
        match = re.search(r"f(\d)\.(\d)", text)
        if match is None:
            return ()
        first = 4 * int(match[1]) + 2 * int(match[2]) + group // 8
        return tuple(FLAG_0 + (first + i) % 16 for i in range(-(-size // 8)))

    def operand(self, match: re.Match[str], size: int) -> Operand:
        found = super().operand(match, size)
        known = tuple(r for r in found.resources if r != OTHER)
        if match["file"] == "a":
            bytes_ = BY_NAME.get(found.type, UD).bytes
            first = _ADDRESSED + int(match["sub"] or 0) * bytes_
            return replace(found, resources=tuple(range(first, first + size * bytes_)))
        if match["file"] == "f":
            return replace(found, resources=known)
        if (match["special"] or "").startswith("acc"):
            return replace(found, resources=(*known, _EXACT + int(match["special"][3:])))
        return found


def _typed(word: str, message: Message) -> str:
    """Return a message's first operand with the type that its data have."""
    is_wide = ".d64" in message.opcode and word != "null"
    return f"{word}:uq" if is_wide else word


def _scalars(text: str) -> Resources:
    sizes = {"uq": 4, "q": 4, "ud": 2, "d": 2, "f": 2}
    return tuple(
        _SCALAR + int(number) * sizes.get(kind, 1) + i
        for number, kind in _SCALARS.findall(text)
        for i in range(sizes.get(kind, 1))
    )


def _message(function: str, text: str, note: str) -> Message:
    """Return what a message to a shared function does."""
    place = "slm" if function == "slm" else None
    if "EOT" in text:
        return Message("eot", "send", None)
    if function == "gtwy":
        return Message("barrier", "send", None)
    operation = _OPERATION.search(note)
    if operation is not None and operation[1] != "fence":
        space = "slm" if place else "flat"
        return Message(f"{space}.{operation[1]}", f"{operation[1]}.{operation[2]}", place)
    descriptors = re.findall(r"0x([\dA-Fa-f]+)", text)
    if operation is None and int(descriptors[-1], 16) & 0x3F != _FENCE:
        raise UnreadError(text)
    return Message("fence", f"fence.{function}", place)


__all__ = ["INDIRECT", "PSEUDO", "schedule"]
