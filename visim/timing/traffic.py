"""Bytes that messages move, by the memory that they ask: what the rooflines stand on.

Barriers, fences and addresses move none. A message counts as if all of its channels were on: the
model knows which blocks a thread went through, not which of its channels did. Texels count as they
are in registers, whatever the image's format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from visim.sem.effects import (
    Atomic,
    Load,
    LoadBlock,
    Message,
    Request,
    Space,
    Store,
    StoreBlock,
)
from visim.sem.requests import (
    BlockLoad,
    BlockStore,
    DetailQuery,
    SampleQuery,
    Sampling,
    SizeQuery,
    TexelAtomic,
    TexelLoad,
    TexelStore,
)
from visim.timing.footprint import Footprint

SLM, CACHES = "slm", "caches"
"""Shared local memory, and all that lies behind the caches: buffers, images, private memory."""
LEVELS = (SLM, CACHES)
_COLOURS = frozenset("RGBA")


def moved(found: Footprint) -> Mapping[str, int]:
    """Return the bytes that one execution of an instruction moves, by level."""
    total: Counter[str] = Counter()
    for message in found.messages:
        total[_level(message)] += _bytes(message)
    return {level: count for level, count in total.items() if count}


def _level(message: Message) -> str:
    is_local = not isinstance(message, Request) and message.space is Space.SLM
    return SLM if is_local else CACHES


def _bytes(message: Message) -> int:
    """Return the bytes of a message's data; an atomic sends operands and gets an answer."""
    match message:
        case Load():
            return message.addresses.lanes * message.type.bytes * message.components
        case LoadBlock():
            return message.type.bytes * message.count
        case Store():
            return sum(value.lanes * value.type.bytes for value in message.values)
        case StoreBlock():
            return message.value.lanes * message.value.type.bytes
        case Atomic():
            return message.addresses.lanes * message.type.bytes * (1 + len(message.operands))
        case Request():
            return _request_bytes(message)


def _request_bytes(request: Request) -> int:
    operation, names = request.operation, request.operation.parameters
    lanes = request.values[0].lanes if request.values else 1
    match operation:
        case TexelLoad() | Sampling():
            return lanes * operation.columns * operation.type.bytes
        case TexelStore():
            return lanes * operation.type.bytes * sum(name in _COLOURS for name in names)
        case TexelAtomic():
            operands = sum(name.startswith("operand") for name in names)
            return lanes * operation.bits // 8 * (1 + operands)
        case BlockLoad():
            return operation.width * operation.height
        case BlockStore():
            return request.values[names.index("data")].lanes
        case DetailQuery() | SizeQuery() | SampleQuery():
            return 0


__all__ = ["CACHES", "LEVELS", "SLM", "moved"]
