"""Where the cycles of a slot go: each of them into exactly one category.

What a thread waited for since its last instruction is accounted when it issues, so that the
categories of a slot cover its time without gap or overlap.
"""

from __future__ import annotations

from visim.timing.core.fields import (
    ACTIVE,
    BIN_SHIFT,
    CATEGORIES,
    CONTROL,
    EVENTS,
    IDLE,
    IFETCH,
    ISSUED,
    OTHER,
    PIPE,
    SEND,
    Chip,
    Code,
    State,
)
from visim.timing.core.ready import ready_of

_BRANCH_CYCLES = 2
"""What a branch takes of the front end like any other instruction; the rest is control."""


def account(
    code: Code, chip: Chip, state: State, slot: int, time: int, unit: int, change: int
) -> None:
    """Account a slot's time since its last instruction, and the issue itself."""
    address, eu = state.ip[slot], state.core[slot]
    until(chip, state, slot, min(state.fetch_at[slot], time), IFETCH)
    until(chip, state, slot, min(state.dep_at[slot], time), state.dep_kind[slot])
    if unit:
        free = ready_of(chip, state, eu, unit) - code.df[address]
        until(chip, state, slot, min(free, time), SEND if unit >= chip.first_shared else PIPE)
    until(chip, state, slot, time + change, OTHER)
    active = code.df[address]
    if code.branch[address]:
        active = min(active, _BRANCH_CYCLES)
    done = time + change + code.df[address]
    until(chip, state, slot, time + change + active, ACTIVE)
    until(chip, state, slot, done, CONTROL)
    state.count[address] += 1
    state.scalar[ISSUED] += 1


def until(chip: Chip, state: State, slot: int, time: int, category: int) -> None:
    """Account a slot's time up to `time` to a category."""
    begin = state.mark[slot]
    cycles = time - begin
    if cycles <= 0:
        return
    state.mark[slot] = time
    state.total[category] += cycles
    state.stall[state.ip[slot] * CATEGORIES + category] += cycles
    spread(chip, state, begin, time, category)
    number = state.scalar[EVENTS]
    if number < chip.events and begin < chip.window_end and time > chip.window_begin:
        state.scalar[EVENTS] = number + 1
        place = 5 * number
        state.event[place] = slot
        state.event[place + 1] = begin
        state.event[place + 2] = time
        state.event[place + 3] = category
        state.event[place + 4] = state.ip[slot]


def spread(chip: Chip, state: State, begin: int, end: int, category: int) -> None:
    """Add a stretch of time to the parts of the run that it is in."""
    while (end - 1) >> state.scalar[BIN_SHIFT] >= chip.bins:
        halve(chip, state)
    shift = state.scalar[BIN_SHIFT]
    part = begin >> shift
    while begin < end:
        edge = min(end, (part + 1) << shift)
        state.bin[part * CATEGORIES + category] += edge - begin
        begin = edge
        part += 1


def halve(chip: Chip, state: State) -> None:
    """Make each two parts of the run one, so that a run twice as long has room."""
    half = chip.bins * CATEGORIES // 2
    for part in range(chip.bins // 2):
        for category in range(CATEGORIES):
            first = 2 * part * CATEGORIES + category
            both = state.bin[first] + state.bin[first + CATEGORIES]
            state.bin[part * CATEGORIES + category] = both
    for place in range(half, 2 * half):
        state.bin[place] = 0
    state.scalar[BIN_SHIFT] += 1


def idle(state: State, slot: int, until: int) -> None:
    """Account that a slot has had no thread."""
    cycles = until - state.idle_from[slot]
    state.total[OTHER] += cycles
    state.scalar[IDLE] += cycles
