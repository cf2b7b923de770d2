"""The loop of the simulation: which slot issues next, what that keeps busy, where it goes on."""

from __future__ import annotations

from visim.timing.core.accounting import account, idle
from visim.timing.core.fetch import fetch, redirect
from visim.timing.core.fields import COISSUED, LOCAL, NEVER, Chip, Code, State
from visim.timing.core.memory import busy_of, held_up, transfer
from visim.timing.core.ready import earliest, possible, prepare, unit_of, wake
from visim.timing.core.threads import dispatch, finish
from visim.timing.native import SIGNAL


def run(code: Code, chip: Chip, state: State) -> int:
    """Run all threads; return the cycle after the last one."""
    dispatch(code, chip, state, 0)
    while state.tree[1] < NEVER:
        step(code, chip, state, earliest(state))
    last = 0
    for thread in range(len(state.ended)):
        last = max(last, state.ended[thread])
    for slot in range(chip.eus * chip.slots):
        if state.thread[slot] < 0:
            idle(state, slot, last)
    return last


def step(code: Code, chip: Chip, state: State, eu: int) -> None:
    """Issue what a core can issue at its next time, and find its next time."""
    time = state.tree[len(state.tree) // 2 + eu]
    issued = 0
    while issued < chip.width:
        slot = choose(code, chip, state, eu, time)
        if slot < 0:
            break
        issue(code, chip, state, slot, time)
        if issued == 0 or not chip.stay:
            state.current[eu] = slot
        issued += 1
    if issued > 1:
        state.scalar[COISSUED] += issued - 1
    least = NEVER
    for slot in range(eu * chip.slots, (eu + 1) * chip.slots):
        if state.avail[slot] < least:
            least = min(least, possible(code, chip, state, slot, least))
    wake(state, eu, least)


def choose(code: Code, chip: Chip, state: State, eu: int, time: int) -> int:
    """Return the slot that issues next at `time`, or -1.

    Either the current thread stays until it stalls and the one that has waited longest follows,
    or they take turns.
    """
    end = (eu + 1) * chip.slots
    slot = state.current[eu]
    if chip.stay:
        slot -= 1
    best = -1
    for turn in range(chip.slots):
        slot += 1
        if slot >= end:
            slot -= chip.slots
        if state.avail[slot] > time or possible(code, chip, state, slot, time) > time:
            continue
        if not chip.stay or turn == 0:
            return slot
        if best < 0 or state.mark[slot] < state.mark[best]:
            best = slot
    return best


def issue(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """Issue a slot's instruction at `time`."""
    eu, address = state.core[slot], state.ip[slot]
    unit = unit_of(code, chip, state, eu, address)
    change = 0 if state.current[eu] == slot else chip.switch
    account(code, chip, state, slot, time, unit, change)
    done = time + code.df[address] + change
    take_port(chip, state, eu, unit, time, done)
    busy, arrival = code.db[address], 0
    if code.memory[address]:
        busy = busy_of(code, chip, state, slot)
        arrival = transfer(code, chip, state, slot, done)
        if code.memory[address] != LOCAL:
            busy = max(busy, held_up(chip, state, slot, done))
    if unit >= chip.first_shared:
        state.shared_ready[state.domain_base[eu] + unit] = done + busy
    elif unit:
        state.unit_ready[eu * chip.units + unit] = done + busy
    state.busy[unit] += busy
    base = slot * chip.resources
    for index in range(code.mark_at[address], code.mark_at[address + 1]):
        ready = done + code.after[index]
        if arrival and index >= code.results_at[address]:
            ready = arrival
        state.ready[base + code.marks[index]] = ready
        state.sent[base + code.marks[index]] = code.send[address]
    if code.effect[address] & SIGNAL:
        signal(code, chip, state, slot, done + code.release[address])
    advance(code, chip, state, slot, time, done)


def take_port(chip: Chip, state: State, eu: int, unit: int, time: int, done: int) -> None:
    """Keep a port busy until `done`; where only math goes beside others, it has the last one."""
    first, last = eu * chip.width, (eu + 1) * chip.width
    is_math = unit == chip.math_unit
    if chip.math_only:
        state.port_free[last - 1 if is_math else first] = done
        state.port_least[2 * eu + is_math] = done
        return
    taken = 0
    least = NEVER
    for port in range(first, last):
        if not taken and state.port_free[port] <= time:
            state.port_free[port] = done
            taken = 1
        least = min(least, state.port_free[port])
    state.port_least[2 * eu] = least
    state.port_least[2 * eu + 1] = least


def advance(code: Code, chip: Chip, state: State, slot: int, time: int, done: int) -> None:
    """Go to a slot's next instruction."""
    address = state.ip[slot] + 1
    state.ip[slot] = address
    if address < state.block_end[slot]:
        fetch(code, chip, state, slot, time)
        prepare(code, chip, state, slot, done)
        return
    position = state.position[slot] + 1
    if position == state.path_end[slot]:
        finish(code, chip, state, slot, done)
        return
    state.position[slot] = position
    block = code.stream[position]
    state.ip[slot] = code.block_first[block]
    state.block_end[slot] = code.block_end[block]
    if state.ip[slot] == address:
        fetch(code, chip, state, slot, time)
    else:
        redirect(code, chip, state, slot, done)
    prepare(code, chip, state, slot, done)


def signal(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """Note that a thread is at a barrier; the last one lets all go on at `time`."""
    group, address = code.thread_group[state.thread[slot]], state.ip[slot]
    barrier, members = code.barrier[address], code.members[address]
    if members == 0:
        members = code.group_at[group + 1] - code.group_at[group]
    phase = group * chip.barriers + barrier
    state.epoch_wanted[slot * chip.barriers + barrier] = state.epoch[phase]
    state.arrived[phase] += 1
    if state.arrived[phase] < members:
        return
    state.arrived[phase] = 0
    state.epoch[phase] += 1
    state.released[phase] = time
    for thread in range(code.group_at[group], code.group_at[group + 1]):
        other = state.place[thread]
        if state.thread[other] == thread and state.blocked[other] == 1 + barrier:
            state.blocked[other] = 0
            prepare(code, chip, state, other, state.mark[other])
