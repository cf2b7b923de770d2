"""The core as it runs: thread slots, arbitration, fetch, units, barriers - on plain integers.

Every function works on lists or on NumPy arrays alike and calls nothing but its neighbours, so
that the very same source runs in Python and, where Numba is installed, compiled; `compiled` makes
the second. Times are cycles; a slot is one hardware thread's place in a core. Knows neither vISA
nor tables: `arrays` lays out what stands in the fields.

How it goes: each core has the earliest time at which something can happen; the earliest core is
stepped. In a step up to as many instructions start as there are free ports, each of another thread
and on a unit that will be free. What a thread waited for since its last instruction is accounted
when it issues, so that the categories of a slot cover its time without gap or overlap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

NEVER = 1 << 60

ACTIVE, CONTROL, PIPE, SEND, DEPENDENCY, SCOREBOARD, SYNC, IFETCH, OTHER = range(9)
CATEGORIES = 9

(NEXT_GROUP, EVENTS, L1_HITS, L1_MISSES, L2_HITS, L2_MISSES, STAMP, COISSUED, IDLE, ISSUED) = range(
    10
)
SCALARS = 10
RING = 8
"""Lines that a thread's fetch buffer can have on their way; more than any buffer holds."""

_SIGNAL, _WAIT = 1, 2
_BRANCH_CYCLES = 2
"""What a branch takes of the front end like any other instruction; the rest is control."""


class Code(NamedTuple):
    """The program: one entry a native instruction, but for the lists behind `..._at`.

    `waits` are resources, `marks` those that are written `after` as many cycles. `unit_b` is -1
    where only one unit can execute it. `line_first` has the first address of each cache line, and
    one entry more. Blocks are ranges of addresses.
    """

    unit_a: Any
    unit_b: Any
    df: Any
    db: Any
    branch: Any
    send: Any
    effect: Any
    release: Any
    wait_at: Any
    waits: Any
    mark_at: Any
    marks: Any
    after: Any
    line_of: Any
    line_first: Any
    block_first: Any
    block_end: Any
    stream: Any
    thread_at: Any
    thread_group: Any
    group_at: Any


class Chip(NamedTuple):
    """The machine: numbers by the name of what they are."""

    eus: int
    slots: int
    eus_per_domain: int
    eus_per_row: int
    width: int
    math_only: int
    math_unit: int
    units: int
    first_shared: int
    stay: int
    resources: int
    buffer: int
    code: int
    lines: int
    l1_sets: int
    l1_ways: int
    l2_sets: int
    l2_ways: int
    l1_hit: int
    l2_hit: int
    memory: int
    dispatch: int
    switch: int
    align: int
    slm: int
    group_slm: int
    events: int


class State(NamedTuple):
    """What changes: of slots, cores, rows (an L1 cache), domains (shared functions), groups."""

    thread: Any
    position: Any
    ip: Any
    block_end: Any
    avail: Any
    fetch_at: Any
    dep_at: Any
    dep_kind: Any
    mark: Any
    buffer_end: Any
    ring: Any
    ready: Any
    sent: Any
    epoch_wanted: Any
    blocked: Any
    idle_from: Any
    tree: Any
    current: Any
    unit_ready: Any
    port_free: Any
    port_least: Any
    shared_ready: Any
    row_port: Any
    l1_stamp: Any
    l1_fill: Any
    l2_stamp: Any
    l2_fill: Any
    free: Any
    slm_free: Any
    arrived: Any
    epoch: Any
    released: Any
    left: Any
    domain_of: Any
    started: Any
    ended: Any
    place: Any
    count: Any
    stall: Any
    busy: Any
    total: Any
    scalar: Any
    event: Any


def run(code: Code, chip: Chip, state: State) -> int:
    """Run all threads; return the cycle after the last one."""
    dispatch(code, chip, state, 0)
    while state.tree[1] < NEVER:
        step(code, chip, state, earliest(state))
    last = 0
    for time in state.ended:
        last = max(last, time)
    for slot in range(chip.eus * chip.slots):
        if state.thread[slot] < 0:
            idle(state, slot, last)
    return last


# The earliest core: a tree whose leaves are the cores' next times


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


# Threads come and go


def dispatch(code: Code, chip: Chip, state: State, time: int) -> None:
    """Start as many groups as there is room for, in their order."""
    groups = len(code.group_at) - 1
    while state.scalar[NEXT_GROUP] < groups:
        group = state.scalar[NEXT_GROUP]
        size = code.group_at[group + 1] - code.group_at[group]
        domain = roomiest(chip, state, size)
        if domain < 0:
            return
        state.scalar[NEXT_GROUP] += 1
        state.slm_free[domain] -= chip.group_slm
        state.left[group] = size
        state.domain_of[group] = domain
        for thread in range(code.group_at[group], code.group_at[group + 1]):
            start(code, chip, state, thread, free_slot(chip, state, domain), time + chip.dispatch)


def roomiest(chip: Chip, state: State, size: int) -> int:
    """Return the domain with most free slots that has room for a group, or -1."""
    best = -1
    for domain in range(len(state.free)):
        if state.free[domain] < size or state.slm_free[domain] < chip.group_slm:
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
    state.position[slot] = code.thread_at[thread]
    block = code.stream[state.position[slot]]
    state.ip[slot] = code.block_first[block]
    state.block_end[slot] = code.block_end[block]
    state.mark[slot] = time
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
    state.thread[slot] = -1
    state.avail[slot] = NEVER
    state.idle_from[slot] = time
    state.free[domain] += 1
    state.left[group] -= 1
    if state.left[group] == 0:
        state.slm_free[domain] += chip.group_slm
    dispatch(code, chip, state, time)


def idle(state: State, slot: int, until: int) -> None:
    """Account that a slot has had no thread."""
    cycles = until - state.idle_from[slot]
    state.total[OTHER] += cycles
    state.scalar[IDLE] += cycles


# Instruction fetch


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
        arrival = look_up(chip, state, slot // chip.slots // chip.eus_per_row, line, time)
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


# Issue


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
    if code.effect[address] & _WAIT:
        group = code.thread_group[state.thread[slot]]
        kind = SYNC
        if state.epoch[group] <= state.epoch_wanted[slot]:
            state.blocked[slot] = 1
            found = NEVER
        else:
            found = max(found, state.released[group])
    state.fetch_at[slot] = arrival
    state.dep_at[slot] = found
    state.dep_kind[slot] = kind
    state.avail[slot] = aligned(max(time, arrival, found), chip.align)
    eu = slot // chip.slots
    if state.avail[slot] < state.tree[len(state.tree) // 2 + eu]:
        wake(state, eu, state.avail[slot])


def aligned(time: int, align: int) -> int:
    """Return the next time at which an instruction may start."""
    return -(-time // align) * align


def ready_of(chip: Chip, state: State, eu: int, unit: int) -> int:
    """Return from when on a unit can take an instruction."""
    if unit >= chip.first_shared:
        return state.shared_ready[eu // chip.eus_per_domain * chip.units + unit]
    return state.unit_ready[eu * chip.units + unit]


def unit_of(code: Code, chip: Chip, state: State, eu: int, address: int) -> int:
    """Return the unit that would execute an instruction: the one that is free first."""
    first, second = code.unit_a[address], code.unit_b[address]
    if second < 0:
        return first
    if ready_of(chip, state, eu, second) < ready_of(chip, state, eu, first):
        return second
    return first


def possible(code: Code, chip: Chip, state: State, slot: int, bound: int) -> int:
    """Return the earliest time at which a slot's instruction can issue as units stand now.

    Any later time than that stands for "after `bound`", so that the search can end early.
    """
    time = state.avail[slot]
    eu, address = slot // chip.slots, state.ip[slot]
    unit, second = code.unit_a[address], code.unit_b[address]
    port = state.port_least[2 * eu + (unit == chip.math_unit)]
    time = max(time, port)
    if unit == 0 or time > bound:
        return aligned(time, chip.align)
    if unit >= chip.first_shared:
        free = state.shared_ready[eu // chip.eus_per_domain * chip.units + unit]
    else:
        free = state.unit_ready[eu * chip.units + unit]
        if second >= 0 and state.unit_ready[eu * chip.units + second] < free:
            free = state.unit_ready[eu * chip.units + second]
    free -= code.df[address]
    time = max(time, free)
    return time if chip.align == 1 else aligned(time, chip.align)


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


def choose(code: Code, chip: Chip, state: State, eu: int, time: int) -> int:
    """Return the slot that issues next at `time`, or -1.

    Either the current thread stays until it stalls and the one that has waited longest follows,
    or they take turns.
    """
    first = eu * chip.slots
    current = state.current[eu]
    best = -1
    for turn in range(chip.slots):
        slot = first + (current + turn + (0 if chip.stay else 1)) % chip.slots
        if state.avail[slot] > time or possible(code, chip, state, slot, time) > time:
            continue
        if not chip.stay or turn == 0:
            return slot
        if best < 0 or state.mark[slot] < state.mark[best]:
            best = slot
    return best


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
            state.current[eu] = slot % chip.slots
        issued += 1
    if issued > 1:
        state.scalar[COISSUED] += issued - 1
    least = NEVER
    for slot in range(eu * chip.slots, (eu + 1) * chip.slots):
        if state.avail[slot] < least:
            least = min(least, possible(code, chip, state, slot, least))
    wake(state, eu, least)


def issue(code: Code, chip: Chip, state: State, slot: int, time: int) -> None:
    """Issue a slot's instruction at `time`."""
    eu, address = slot // chip.slots, state.ip[slot]
    unit = unit_of(code, chip, state, eu, address)
    change = 0 if state.current[eu] == slot % chip.slots else chip.switch
    account(code, chip, state, slot, time, unit, change)
    done = time + code.df[address] + change
    take_port(chip, state, eu, unit, time, done)
    if unit >= chip.first_shared:
        state.shared_ready[eu // chip.eus_per_domain * chip.units + unit] = done + code.db[address]
    elif unit:
        state.unit_ready[eu * chip.units + unit] = done + code.db[address]
    state.busy[unit] += code.db[address]
    base = slot * chip.resources
    for index in range(code.mark_at[address], code.mark_at[address + 1]):
        state.ready[base + code.marks[index]] = done + code.after[index]
        state.sent[base + code.marks[index]] = code.send[address]
    if code.effect[address] & _SIGNAL:
        signal(code, chip, state, slot, done + code.release[address])
    advance(code, chip, state, slot, time, done)


def advance(code: Code, chip: Chip, state: State, slot: int, time: int, done: int) -> None:
    """Go to a slot's next instruction."""
    address = state.ip[slot] + 1
    state.ip[slot] = address
    if address < state.block_end[slot]:
        fetch(code, chip, state, slot, time)
        prepare(code, chip, state, slot, done)
        return
    position = state.position[slot] + 1
    if position == code.thread_at[state.thread[slot] + 1]:
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
    """Note that a thread is at its group's barrier; the last one lets all go on at `time`."""
    group = code.thread_group[state.thread[slot]]
    state.epoch_wanted[slot] = state.epoch[group]
    state.arrived[group] += 1
    if state.arrived[group] < code.group_at[group + 1] - code.group_at[group]:
        return
    state.arrived[group] = 0
    state.epoch[group] += 1
    state.released[group] = time
    for thread in range(code.group_at[group], code.group_at[group + 1]):
        other = state.place[thread]
        if state.thread[other] == thread and state.blocked[other]:
            state.blocked[other] = 0
            prepare(code, chip, state, other, state.mark[other])


# Accounting


def account(
    code: Code, chip: Chip, state: State, slot: int, time: int, unit: int, change: int
) -> None:
    """Account a slot's time since its last instruction, and the issue itself."""
    address, eu = state.ip[slot], slot // chip.slots
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
    number = state.scalar[EVENTS]
    if number < chip.events:
        state.scalar[EVENTS] = number + 1
        place = 5 * number
        state.event[place] = slot
        state.event[place + 1] = begin
        state.event[place + 2] = time
        state.event[place + 3] = category
        state.event[place + 4] = state.ip[slot]
