"""Threads come and go: groups start where there is room, in their order."""

from __future__ import annotations

from visim.timing.core.accounting import idle
from visim.timing.core.fetch import redirect
from visim.timing.core.fields import ASTRAY, NEVER, NEXT_GROUP, Chip, Code, State
from visim.timing.core.ready import prepare


def dispatch(code: Code, chip: Chip, state: State, time: int) -> None:
    """Start as many groups as there is room for, in their order."""
    groups = len(code.group_at) - 1
    while state.scalar[NEXT_GROUP] < groups:
        group = state.scalar[NEXT_GROUP]
        size = code.group_at[group + 1] - code.group_at[group]
        domain = roomiest(chip, state, size)
        if domain < 0 or not may_start(code, state, group):
            return
        state.scalar[NEXT_GROUP] += 1
        state.slm_free[domain] -= chip.group_slm
        state.groups_free[domain] -= 1
        state.barriers_free[domain] -= chip.group_barriers
        state.domain_of[group] = domain
        for thread in range(code.group_at[group], code.group_at[group + 1]):
            start(code, chip, state, thread, free_slot(chip, state, domain), time + chip.dispatch)


def may_start(code: Code, state: State, group: int) -> int:
    """Return whether all groups that a group depends on have ended."""
    for index in range(code.earlier_at[group], code.earlier_at[group + 1]):
        if state.left[code.earlier[index]]:
            return 0
    return 1


def roomiest(chip: Chip, state: State, size: int) -> int:
    """Return the domain with most free slots that has room for a group, or -1."""
    best = -1
    for domain in range(len(state.free)):
        if state.free[domain] < size or state.slm_free[domain] < chip.group_slm:
            continue
        if not state.groups_free[domain] or state.barriers_free[domain] < chip.group_barriers:
            continue
        if best < 0 or state.free[domain] > state.free[best]:
            best = domain
    return best


def free_slot(chip: Chip, state: State, domain: int) -> int:
    """Return the free slot of the core that has most of them."""
    best, most = -1, 0
    for eu in range(domain * chip.eus_per_domain, (domain + 1) * chip.eus_per_domain):
        if eu >= chip.eus:
            break
        found, first = 0, -1
        for slot in range(eu * chip.slots, (eu + 1) * chip.slots):
            if state.thread[slot] < 0:
                found += 1
                if first < 0:
                    first = slot
        if found > most:
            best, most = first, found
    state.free[domain] -= 1
    return best


def start(code: Code, chip: Chip, state: State, thread: int, slot: int, time: int) -> None:
    """Start a thread in a slot, not before the slot is free."""
    time = max(time, state.idle_from[slot])
    idle(state, slot, time)
    state.thread[slot] = thread
    state.started[thread] = time
    state.place[thread] = slot
    path = code.thread_path[thread]
    state.position[slot] = code.path_at[path]
    state.path_end[slot] = code.path_at[path + 1]
    block = code.stream[state.position[slot]]
    state.ip[slot] = code.block_first[block]
    state.block_end[slot] = code.block_end[block]
    state.mark[slot] = time
    state.entry[slot] = code.entry_at[thread]
    state.blocked[slot] = 0
    for resource in range(slot * chip.resources, (slot + 1) * chip.resources):
        state.ready[resource] = 0
    redirect(code, chip, state, slot, time)
    prepare(code, chip, state, slot, time)


def finish(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """End the slot's thread, and start what now has room."""
    thread = state.thread[slot]
    group = code.thread_group[thread]
    domain = state.domain_of[group]
    state.ended[thread] = time
    if state.entry[slot] != code.entry_at[thread + 1]:
        state.scalar[ASTRAY] += 1
    state.thread[slot] = -1
    state.avail[slot] = NEVER
    state.idle_from[slot] = time
    state.free[domain] += 1
    state.left[group] -= 1
    if state.left[group] == 0:
        state.slm_free[domain] += chip.group_slm
        state.groups_free[domain] += 1
        state.barriers_free[domain] += chip.group_barriers
    dispatch(code, chip, state, time)
