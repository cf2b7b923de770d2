"""Instruction fetch: the buffer of each thread, the caches of rows of cores and of the chip."""

from __future__ import annotations

from typing import Any

from visim.timing.core.fields import (
    L1_HITS,
    L1_MISSES,
    L2_HITS,
    L2_MISSES,
    RING,
    STAMP,
    Chip,
    Code,
    State,
)


def redirect(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """Empty a slot's fetch buffer and fetch the line of its next instruction."""
    state.buffer_end[slot] = code.line_first[code.line_of[state.ip[slot]]]
    fetch(code, chip, state, slot, time)


def fetch(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """Ask for as many successive lines as the buffer has room for."""
    while state.buffer_end[slot] < chip.code:
        line = code.line_of[state.buffer_end[slot]]
        end = code.line_first[line + 1]
        held = state.buffer_end[slot] - state.ip[slot]
        if held > 0 and end - state.ip[slot] > chip.buffer:
            return
        arrival = look_up(chip, state, state.row[state.core[slot]], line, time)
        state.ring[slot * RING + line % RING] = arrival
        state.buffer_end[slot] = end


def look_up(chip: Chip, state: State, row: int, line: int, time: int) -> int:
    """Return when a line arrives from the caches; a row's L1 takes one request a cycle."""
    scalar = state.scalar
    if chip.memory == 0:
        return time
    time = max(time, state.row_port[row])
    state.row_port[row] = time + 1
    scalar[STAMP] += 1
    entry = row * chip.lines + line
    if state.l1_stamp[entry]:
        scalar[L1_HITS] += 1
        state.l1_stamp[entry] = scalar[STAMP]
        return max(time + chip.l1_hit, state.l1_fill[entry])
    scalar[L1_MISSES] += 1
    if state.l2_stamp[line]:
        scalar[L2_HITS] += 1
        state.l2_stamp[line] = scalar[STAMP]
        arrival = max(time + chip.l2_hit, state.l2_fill[line])
    else:
        scalar[L2_MISSES] += 1
        arrival = time + chip.memory
        insert(state.l2_stamp, 0, chip.lines, line, chip.l2_sets, chip.l2_ways, scalar[STAMP])
        state.l2_fill[line] = arrival
    insert(
        state.l1_stamp,
        row * chip.lines,
        chip.lines,
        line,
        chip.l1_sets,
        chip.l1_ways,
        scalar[STAMP],
    )
    state.l1_fill[entry] = arrival
    return arrival


def insert(stamps: Any, base: int, lines: int, line: int, sets: int, ways: int, stamp: int) -> None:
    """Put a line into a cache; the least recently used one of a full set goes."""
    held, oldest = 0, -1
    for other in range(line % sets, lines, sets):
        if stamps[base + other]:
            held += 1
            if oldest < 0 or stamps[base + other] < stamps[base + oldest]:
                oldest = other
    if held >= ways:
        stamps[base + oldest] = 0
    stamps[base + line] = stamp
