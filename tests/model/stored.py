"""Takes an instruction's bytes apart by the types that the specification states.

Knows nothing of visim's layouts: what it reads is compared with what visim wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

_WIDTHS = {"u1": 1, "u2": 2, "u4": 4, "d4": 4, "s": 1, "p": 1, "l": 2, "r": 6}
_WIDE_TYPES = {6, 11, 13}  # df, uq, q


class Mismatch(Exception):
    """The bytes are not what the types say."""


def vector_bytes(data: bytes, start: int) -> int:
    """Return how many bytes the vector operand at `start` has (docs/formats.md, Operands)."""
    kind = data[start] & 7
    match kind:
        case 0:
            return 1 + 8
        case 1 | 6:
            return 1 + 4
        case 2:
            return 1 + 2
        case 3:
            return 1 + 8
        case 5:
            return 1 + 1 + (8 if data[start + 1] in _WIDE_TYPES else 4)
        case _:
            raise Mismatch(f"byte {start}: a vector operand of class {kind}")


def item_bytes(kind: str, data: bytes, start: int) -> int:
    """Return how many bytes the item of type `kind` at `start` has."""
    if kind.startswith("+"):
        return len(data) - start
    if kind.startswith("*"):
        return 1 + data[start] * _WIDTHS[kind[1:]]
    return vector_bytes(data, start) if kind == "v" else _WIDTHS[kind]


def take_apart(data: bytes, kinds: Sequence[str]) -> list[bytes]:
    """Return the bytes of each item behind the opcode; all must be used up."""
    found: list[bytes] = []
    position = 1
    for kind in kinds:
        if position + (kind != "*r") > len(data):
            raise Mismatch(f"no byte is left for {kind}, number {len(found)} of {kinds}")
        size = item_bytes(kind, data, position)
        found.append(data[position : position + size])
        position += size
    if position != len(data):
        raise Mismatch(f"{len(data) - position} of {len(data)} bytes are left behind {kinds}")
    return found
