"""The plain integers that the core works on: the program, the machine, and what changes.

Times are cycles; a slot is one hardware thread's place in a core.
"""

from __future__ import annotations

from typing import Any, NamedTuple

NEVER = 1 << 60

ACTIVE, CONTROL, PIPE, SEND, DEPENDENCY, SCOREBOARD, SYNC, IFETCH, OTHER = range(9)
CATEGORIES = 9

(
    NEXT_GROUP,
    EVENTS,
    L1_HITS,
    L1_MISSES,
    L2_HITS,
    L2_MISSES,
    STAMP,
    COISSUED,
    IDLE,
    ISSUED,
    BIN_SHIFT,
    DATA_STAMP,
    DATA_L1_HITS,
    DATA_L1_MISSES,
    L3_HITS,
    L3_MISSES,
    DRAM_READS,
    DRAM_WRITES,
    SLM_CYCLES,
    ASTRAY,
) = range(20)
SCALARS = 20
LOAD, STORE, ATOMIC, LOCAL = range(1, 5)
"""What a data message does whose addresses are known; LOCAL ones are to shared local memory."""
TICKS = 256
"""Parts of a cycle, in which caches and memory count."""
LEVELS_OF_LINE = 3
"""Where a line is found: the first cache, the L3, memory."""
RING = 8
"""Lines that a thread's fetch buffer can have on their way; more than any buffer holds."""


class Code(NamedTuple):
    """The program: one entry a native instruction, but for the lists behind `..._at`.

    `waits` are resources, `marks` those that are written `after` as many cycles. `unit_b` is -1
    where only one unit can execute it. `line_first` has the first address of each cache line, and
    one entry more. Blocks are ranges of addresses. A path is a thread's way: blocks in `stream`
    from its `path_at` on to that of the next one; threads can have the same. `barrier` is the
    number of the barrier that an instruction signals or waits for, `members` how many signals end
    a phase of it, 0 for those of all threads of the group. A group starts after the groups in
    `earlier`, from its `earlier_at` on.
    """

    unit_a: Any
    unit_b: Any
    df: Any
    db: Any
    branch: Any
    send: Any
    effect: Any
    release: Any
    barrier: Any
    members: Any
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
    path_at: Any
    thread_path: Any
    thread_group: Any
    group_at: Any
    earlier_at: Any
    earlier: Any
    memory: Any
    cached: Any
    slm_latency: Any
    results_at: Any
    entry_at: Any
    lines_at: Any
    cost: Any
    lines: Any


class Chip(NamedTuple):
    """The machine: numbers by the name of what they are.

    `bins` is an even number. Of the time from `window_begin` to `window_end` as many as `events`
    stretches are kept.
    """

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
    most_groups: int
    most_barriers: int
    group_barriers: int
    barriers: int
    bins: int
    events: int
    window_begin: int
    window_end: int
    atomic_ticks: int
    l1_ticks: int
    port_ticks: int
    bank_ticks: int
    bus_ticks: int
    dl1_sets: int
    dl1_ways: int
    dl1_latency: int
    dl1_stores: int
    l3_sets: int
    l3_ways: int
    l3_banks: int
    l3_latency: int
    dram_latency: int


RESULTS = (
    "started",
    "ended",
    "place",
    "count",
    "stall",
    "busy",
    "total",
    "bin",
    "scalar",
    "event",
    "found",
    "dl1_line",
    "dl1_dirty",
    "l3_line",
    "l3_dirty",
)
"""The fields of the state that say what came of a run."""
CACHES = tuple(
    f"{cache}_{what}" for cache in ("dl1", "l3") for what in ("line", "stamp", "fill", "dirty")
)
"""The fields of the state that may have a million numbers: arrays of NumPy but for Python code."""


class State(NamedTuple):
    """What changes: of slots, cores, rows (an L1 cache), domains (shared functions), groups.

    The first three do not: the core of a slot, the row of a core, and where the shared functions
    of a core's domain begin in `shared_ready`. `bin` has the cycle-slots of each category in each
    part of the run: parts of 1 << BIN_SHIFT cycles, so that all of the run is in `bins` parts.
    `entry` is the next data message of a slot, `found` how often lines of each instruction were
    found at each level. Caches have the `line` at each place of each set, -1 for none.
    """

    core: Any
    row: Any
    domain_base: Any
    thread: Any
    position: Any
    path_end: Any
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
    bin: Any
    scalar: Any
    event: Any
    entry: Any
    found: Any
    groups_free: Any
    barriers_free: Any
    port_ticks: Any
    bank_ticks: Any
    bus_ticks: Any
    dl1_line: Any
    dl1_stamp: Any
    dl1_fill: Any
    dl1_dirty: Any
    l3_line: Any
    l3_stamp: Any
    l3_fill: Any
    l3_dirty: Any
