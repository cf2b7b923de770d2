"""When a slot's next instruction can issue, and which core is the next to have one."""

from __future__ import annotations

from visim.timing.core.fields import (
    DEPENDENCY,
    NEVER,
    RING,
    SCOREBOARD,
    SYNC,
    Chip,
    Code,
    State,
)
from visim.timing.native import WAIT


def earliest(state: State) -> int:
    """Return the first of the cores whose next time is the least."""
    tree = state.tree
    half = len(tree) // 2
    node = 1
    while node < half:
        node *= 2
        if tree[node] != tree[node // 2]:
            node += 1
    return node - half


def wake(state: State, eu: int, time: int) -> None:
    """Set the next time of a core."""
    tree = state.tree
    node = len(tree) // 2 + eu
    tree[node] = time
    node //= 2
    while node:
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
        node //= 2


def prepare(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """Find out from when on a slot's next instruction could issue, and wake its core."""
    address = state.ip[slot]
    arrival = state.ring[slot * RING + code.line_of[address] % RING]
    found, kind = 0, DEPENDENCY
    base = slot * chip.resources
    for index in range(code.wait_at[address], code.wait_at[address + 1]):
        resource = base + code.waits[index]
        if state.ready[resource] > found:
            found = state.ready[resource]
            kind = SCOREBOARD if state.sent[resource] else DEPENDENCY
    if code.effect[address] & WAIT:
        barrier = code.barrier[address]
        phase = code.thread_group[state.thread[slot]] * chip.barriers + barrier
        kind = SYNC
        if state.epoch[phase] <= state.epoch_wanted[slot * chip.barriers + barrier]:
            state.blocked[slot] = 1 + barrier
            found = NEVER
        else:
            found = max(found, state.released[phase])
    state.fetch_at[slot] = arrival
    state.dep_at[slot] = found
    state.dep_kind[slot] = kind
    state.avail[slot] = aligned(max(time, arrival, found), chip.align)
    eu = state.core[slot]
    if state.avail[slot] < state.tree[len(state.tree) // 2 + eu]:
        wake(state, eu, state.avail[slot])


def possible(code: Code, chip: Chip, state: State, slot: int, bound: int) -> int:
    """Return the earliest time at which a slot's instruction can issue as units stand now.

    Any later time than that stands for "after `bound`", so that the search can end early.
    """
    time = state.avail[slot]
    eu, address = state.core[slot], state.ip[slot]
    unit, second = code.unit_a[address], code.unit_b[address]
    port = state.port_least[2 * eu + (unit == chip.math_unit)]
    time = max(time, port)
    if unit == 0 or time > bound:
        return aligned(time, chip.align)
    if unit >= chip.first_shared:
        free = state.shared_ready[state.domain_base[eu] + unit]
    else:
        free = state.unit_ready[eu * chip.units + unit]
        if second >= 0 and state.unit_ready[eu * chip.units + second] < free:
            free = state.unit_ready[eu * chip.units + second]
    free -= code.df[address]
    time = max(time, free)
    return aligned(time, chip.align)


def aligned(time: int, align: int) -> int:
    """Return the next time at which an instruction may start."""
    return time if align == 1 else -(-time // align) * align


def ready_of(chip: Chip, state: State, eu: int, unit: int) -> int:
    """Return from when on a unit can take an instruction."""
    if unit >= chip.first_shared:
        return state.shared_ready[state.domain_base[eu] + unit]
    return state.unit_ready[eu * chip.units + unit]


def unit_of(code: Code, chip: Chip, state: State, eu: int, address: int) -> int:
    """Return the unit that would execute an instruction: the one that is free first."""
    first, second = code.unit_a[address], code.unit_b[address]
    if second < 0:
        return first
    if ready_of(chip, state, eu, second) < ready_of(chip, state, eu, first):
        return second
    return first
