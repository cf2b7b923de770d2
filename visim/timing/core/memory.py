"""Data messages: SLM and its banks, the first cache of a subslice, the L3, memory.

Each message brings the lines that its channels touch, each once. A line takes time of the first
cache; one that is not there takes time of the subslice's port to the L3, of a bank of it, and at
last of the memory's bus. Each of these serves one line after another, in the order in which
messages leave their cores. Times of these servers are in ticks, parts of a cycle.
"""

from __future__ import annotations

from typing import Any

from visim.timing.core.fields import (
    ATOMIC,
    DATA_L1_HITS,
    DATA_L1_MISSES,
    DATA_STAMP,
    DRAM_READS,
    DRAM_WRITES,
    L3_HITS,
    L3_MISSES,
    LEVELS_OF_LINE,
    LOAD,
    LOCAL,
    SLM_CYCLES,
    STORE,
    TICKS,
    Chip,
    Code,
    State,
)


def transfer(code: Code, chip: Chip, state: State, slot: int, start: int) -> int:
    """Do a slot's next data message from `start` on; return when its result is there."""
    entry = state.entry[slot]
    state.entry[slot] = entry + 1
    address = state.ip[slot]
    kind = code.memory[address]
    cost = code.cost[entry]
    if kind == LOCAL:
        state.scalar[SLM_CYCLES] += cost
        return start + code.slm_latency[address] + max(0, cost - 1)
    domain = state.core[slot] // chip.eus_per_domain
    done = start
    for index in range(code.lines_at[entry], code.lines_at[entry + 1]):
        time = start * TICKS + (index - code.lines_at[entry]) * chip.l1_ticks
        arrival = line_of(code, chip, state, address, domain, code.lines[index], time)
        done = max(done, arrival)
    return done


def busy_of(code: Code, chip: Chip, state: State, slot: int) -> int:
    """Return how long a slot's next data message keeps its unit busy."""
    entry = state.entry[slot]
    kind = code.memory[state.ip[slot]]
    if kind == LOCAL:
        return max(1, code.cost[entry])
    count = code.lines_at[entry + 1] - code.lines_at[entry]
    ticks = chip.atomic_ticks if kind == ATOMIC else chip.l1_ticks
    return max(1, (count * ticks + TICKS - 1) // TICKS)


def held_up(chip: Chip, state: State, slot: int, start: int) -> int:
    """Return how long a slot's unit takes no message: until not too many lines wait for the L3."""
    waiting = state.port_ticks[state.core[slot] // chip.eus_per_domain] // TICKS - start
    return waiting - chip.l3_latency


def line_of(
    code: Code, chip: Chip, state: State, address: int, domain: int, line: int, time: int
) -> int:
    """Return the cycle in which a line's data are there, or a store is taken; `time` in ticks."""
    kind = code.memory[address]
    state.scalar[DATA_STAMP] += 1
    stamp = state.scalar[DATA_STAMP]
    keeps = chip.dl1_sets and code.cached[address] and kind != ATOMIC
    place, base = -1, 0
    if chip.dl1_sets:
        base = (domain * chip.dl1_sets + set_of(line, chip.dl1_sets)) * chip.dl1_ways
        place = way_of(state.dl1_line, base, chip.dl1_ways, line)
    if keeps and kind == STORE and not chip.dl1_stores:
        keeps = 0
    if keeps and place >= 0:
        state.scalar[DATA_L1_HITS] += 1
        state.found[address * LEVELS_OF_LINE] += 1
        state.dl1_stamp[place] = stamp
        if kind == STORE:
            state.dl1_dirty[place] = 1
            return time // TICKS + chip.dl1_latency
        return max(time // TICKS + chip.dl1_latency, state.dl1_fill[place])
    if keeps:
        state.scalar[DATA_L1_MISSES] += 1
        place = oldest_of(state.dl1_stamp, base, chip.dl1_ways)
        if state.dl1_dirty[place]:
            beyond(chip, state, domain, state.dl1_line[place], time, STORE, -1)
        state.dl1_line[place] = line
        state.dl1_stamp[place] = stamp
        state.dl1_dirty[place] = 0
        if kind == STORE:
            state.found[address * LEVELS_OF_LINE] += 1
            state.dl1_dirty[place] = 1
            state.dl1_fill[place] = time // TICKS + chip.dl1_latency
            return state.dl1_fill[place]
    arrival = beyond(chip, state, domain, line, time, kind, address)
    if keeps:
        state.dl1_fill[place] = arrival
    return arrival


def beyond(
    chip: Chip, state: State, domain: int, line: int, time: int, kind: int, address: int
) -> int:
    """Return the cycle in which the L3 or memory has done what the first cache cannot.

    Lines leave a subslice in their order: one that its bank, or memory, cannot take yet holds up
    those behind it. Both take as many as they can serve within their latency.
    """
    bank = (line + (line >> 5) + (line >> 11)) % chip.l3_banks
    time = max(time, state.port_ticks[domain])
    time = max(time, state.bank_ticks[bank] - chip.l3_latency * TICKS)
    time = max(time, state.bus_ticks[0] - chip.dram_latency * TICKS)
    state.port_ticks[domain] = time + chip.port_ticks
    time = max(time, state.bank_ticks[bank])
    state.bank_ticks[bank] = time + chip.bank_ticks
    changes = 0 if kind == LOAD else 1
    scalar = state.scalar
    scalar[DATA_STAMP] += 1
    place, base = -1, 0
    if chip.l3_sets:
        base = set_of(line, chip.l3_sets) * chip.l3_ways
        place = way_of(state.l3_line, base, chip.l3_ways, line)
    if place >= 0:
        scalar[L3_HITS] += 1
        state.l3_stamp[place] = scalar[DATA_STAMP]
        if address >= 0:
            state.found[address * LEVELS_OF_LINE + 1] += 1
        if changes:
            state.l3_dirty[place] = 1
        return max(time // TICKS + chip.l3_latency, state.l3_fill[place])
    scalar[L3_MISSES] += 1
    if address >= 0:
        state.found[address * LEVELS_OF_LINE + 2] += 1
    if chip.l3_sets:
        place = oldest_of(state.l3_stamp, base, chip.l3_ways)
        if state.l3_dirty[place]:
            scalar[DRAM_WRITES] += 1
            state.bus_ticks[0] = max(state.bus_ticks[0], time) + chip.bus_ticks
        state.l3_line[place] = line
        state.l3_stamp[place] = scalar[DATA_STAMP]
        state.l3_dirty[place] = changes
        if kind == STORE:
            state.l3_fill[place] = time // TICKS + chip.l3_latency
            return state.l3_fill[place]
    time = max(time, state.bus_ticks[0])
    state.bus_ticks[0] = time + chip.bus_ticks
    scalar[DRAM_WRITES if kind == STORE else DRAM_READS] += 1
    arrival = time // TICKS + chip.dram_latency
    if chip.l3_sets:
        state.l3_fill[place] = arrival
    return arrival


def set_of(line: int, sets: int) -> int:
    """Return the set of a line; addresses are mixed, so that even strides use all sets."""
    return (line + (line >> 7) + (line >> 14)) % sets


def way_of(lines: Any, base: int, ways: int, line: int) -> int:
    """Return where a set has a line, or -1."""
    for place in range(base, base + ways):
        if lines[place] == line:
            return place
    return -1


def oldest_of(stamps: Any, base: int, ways: int) -> int:
    """Return the place of a set that was not used for longest."""
    oldest = base
    for place in range(base + 1, base + ways):
        if stamps[place] < stamps[oldest]:
            oldest = place
    return oldest
