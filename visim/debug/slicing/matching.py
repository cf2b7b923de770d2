"""Which lanes of what an instruction did concern some bytes, and which message an access is of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from visim.debug.engine.memory import Access
from visim.debug.slicing.nodes import Where
from visim.debug.slicing.recording import Record
from visim.debug.slicing.sources import Facts, Loaded, Write
from visim.sem.effects import Effect, Goto, Jump, LoadBlock, Message, Switch
from visim.sem.expr import Expr


def written(write: Write, record: Record, left: set[int]) -> Iterator[tuple[int, set[int]]]:
    """Yield the lanes of a write that made some bytes, and which."""
    effect = write.effect
    starts = write.starts
    if starts is None:
        addresses = record.known.get(getattr(effect, "addresses", effect.value))
        if addresses is None:
            return
        starts = addresses.astype(np.int64)
    mask = None if effect.mask is None else record.known.get(effect.mask)
    for lane in range(len(starts) - 1, -1, -1):
        start = int(starts[lane])
        covered = left & set(range(start, start + write.size))
        if not covered:
            continue
        if mask is not None and lane < mask.size and not mask[lane]:
            continue
        yield lane, covered
        left = left - covered


def accessed(access: Access, left: set[int]) -> Iterator[tuple[int, set[int]]]:
    """Yield the lanes of an access that wrote some bytes, and which."""
    while left:
        byte = min(left)
        lane = access.lane_at(byte)
        if lane is None:
            left = left - {byte}
            continue
        place = int(np.flatnonzero(access.lanes == lane)[-1])
        start = int(access.addresses[place])
        covered = left & set(range(start, start + access.size))
        yield lane, covered
        left = left - covered


def message_of(record: Record, facts: Facts, access: Access) -> Message | None:
    """Return which message of an instruction an access is of."""
    pairs = _paired(record, facts)
    return next((message for message, one in pairs if one is access), None)


def _paired(record: Record, facts: Facts) -> list[tuple[Message, Access]]:
    """Return the messages of an instruction with their accesses, in order."""
    found: list[tuple[Message, Access]] = []
    waiting = list(record.accesses)
    for message in facts.messages:
        for access in waiting:
            if _kind(message) in {access.kind, "request"}:
                found.append((message, access))
                waiting.remove(access)
                break
    return found


def _kind(message: Message) -> str:
    name = type(message).__name__
    return {"Load": "load", "LoadBlock": "load", "Store": "store", "StoreBlock": "store"}.get(
        name, "atomic" if name == "Atomic" else "request"
    )


def loaded_from(record: Record, facts: Facts, source: Loaded) -> Where | None:
    """Return the memory that a lane's component was loaded from."""
    access = next(
        (one for message, one in _paired(record, facts) if message is source.effect), None
    )
    effect: Effect = source.effect
    if access is None:
        return None
    if access.is_picture:
        return Where(access.space, access.owner, int(access.addresses[0]), 1)
    size = int(getattr(effect, "type").bytes)  # noqa: B009 - loads and atomics have one
    if isinstance(effect, LoadBlock):
        return Where(
            access.space, access.owner, int(access.addresses[0]) + source.lane * size, size
        )
    places = np.flatnonzero(access.lanes == source.lane)
    if not places.size:
        return None
    start = int(access.addresses[places[-1]]) + source.component * size
    return Where(access.space, access.owner, start, size)


def conditions(branch: object, lane: int) -> list[tuple[Expr, int]]:
    """Return what decides which way a branch takes a lane."""
    match branch:
        case Goto(_, offset, mask) if mask is not None:
            return [(mask, max(0, min(lane - offset, mask.lanes - 1)))]
        case Jump(_, condition) if condition is not None:
            return [(condition, 0)]
        case Switch(_, index):
            return [(index, 0)]
        case _:
            return []


__all__ = ["accessed", "conditions", "loaded_from", "message_of", "written"]
