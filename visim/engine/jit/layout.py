"""The memory that native code and Python share: numbers of 64-bit fields, kinds of faults.

`Context` is one worker's block of fields, `Thread` that of one hardware thread.
"""

from __future__ import annotations

from enum import IntEnum

from visim.engine.barriers import NAMED


class Context(IntEnum):
    """Fields of a worker's context.

    `CALLBACK` is Python's function for call-outs, `EXCHANGE` where their operands go, `KERNEL` the
    compiled kernel. Memory: `SLM`, `SCRATCH_BYTES` of each thread, the `ARGUMENTS`, the binding
    table (`SURFACES`), the `TABLE` of allocations, and in `CACHE` what each message remembers of
    them. `COUNTS` has the executions of each block, `BUDGET` is a thread's limit of instructions,
    `WATCHED` says that observers want to hear of groups and turns.

    A group with stacks: `THREADS` is how many it has, `ARRIVED` how many of them have reached a
    barrier in this `PHASE`, `TURN_PHASE` the phase when the turn began, `FIRST` the first thread if
    threads switch to each other (else null), `SPARE` a stack that a thread has left. `PATIENCE` and
    `TURNS` count down to the next look whether the launch is to stop. From `HOME` on are the
    registers of the worker's own stack, as in `Thread`.

    A group whose threads go in step: `WORK` is its worker's range of groups. Threads before number
    `ENTRANTS` begin their first turn of a phase one after another; 0: all have. `ASIDE` is the
    first of the threads that were put aside, `ASIDE_LAST` the last. `SPARE` is the first of the
    stacks that carriers have left, `STACKS` how many there are, `USED` the one in use.

    From `TALLIES` on is what `tallies` says: offsets of messages and how many there are, the copy
    and its size, the surfaces that messages reach (how many, and their numbers behind that), which
    allocation is tallied and its size.
    `IMAGES` is the table of images, 0 without any. `BARRIERS` is where `BARRIER_COUNT` barriers
    are, of which the first is that of the whole group.
    """

    CALLBACK = 0
    EXCHANGE = 1
    SLM = 2
    WORK = 3
    SCRATCH_BYTES = 4
    ARGUMENTS = 5
    ARGUMENT_BYTES = 6
    SURFACES = 7
    TABLE = 8
    TABLE_ENTRIES = 9
    CACHE = 10
    COUNTS = 11
    BUDGET = 12
    FIRST = 13
    ENTRANTS = 14
    ARRIVED = 15
    PHASE = 16
    THREADS = 17
    PATIENCE = 18
    SPARE = 19
    KERNEL = 20
    WATCHED = 21
    TURN_PHASE = 22
    TURNS = 23
    HOME = 24
    TALLIES = 28
    TALLY_SITES = 29
    TALLY_COPY = 30
    TALLY_ROOM = 31
    TALLY_SURFACES = 32
    TALLY_START = 33
    TALLY_BYTES = 34
    IMAGES = 35
    BARRIERS = 36
    BARRIER_COUNT = 37
    ASIDE = 38
    ASIDE_LAST = 39
    STACKS = 40
    USED = 41
    SIZE = 48


class Work(IntEnum):
    """Fields of a range of groups that native code runs by itself.

    `PLACES` have what `Coordinate` has, one behind the other; the first `ROW_PLACES` of them differ
    between groups of a row. `MEMORY` says that threads start with registers or
    memory to be cleared, `TOGETHER` that successive groups of a row can be run by one call.
    A worker takes `CHUNK` groups of a part at a time, at the end one of so many `SHARES` of those
    that are left, and at least `LEAST`. It begins with its `OWN` of the `PARTS`. `ALIKE` is the
    image from which it reads what all threads start with alike, `FIRSTS` are first elements of
    rows in which threads differ, `FRAMES` what threads that go in step leave where they meet. The
    fields from `DONE_GROUPS` to `FAULT_GROUP` are answers.

    A row of groups whose threads go in step begins at `X`, `Y`, `Z` and has `GROUPS`, of which
    `RAN` have ended well. Functions that run it begin with a `GROUP` of the row and one of its
    threads, `ENTRANT`.
    """

    PARTS = 0
    NUMBERS = 1
    THREADS = 2
    RECORDS = 3
    PLACES = 4
    ALL_PLACES = 5
    ROW_PLACES = 6
    WIDTH = 7
    HEIGHT = 8
    FIRST_X = 9
    FIRST_Y = 10
    FIRST_Z = 11
    MEMORY = 12
    IMAGE_BYTES = 13
    PRIVATE_BYTES = 14
    SCRATCH_BYTES = 15
    SLM_BYTES = 16
    SHARED = 17
    CHUNK = 18
    DONE_GROUPS = 19
    STARTED = 20
    EXECUTED = 21
    FAULT_THREAD = 22
    FAULT_GROUP = 23
    TOGETHER = 24
    LEAST = 25
    SHARES = 26
    FIRSTS = 27
    OWN = 28
    ALIKE = 29
    FRAMES = 30
    X = 31
    Y = 32
    Z = 33
    GROUPS = 34
    RAN = 35
    GROUP = 36
    ENTRANT = 37
    SIZE = 40


class Shared(IntEnum):
    """Fields that all workers of a run use: the `END` of its groups, and parts of them.

    A group that faults is the end from then on: all in front of it are run. From `PARTS` on is, in
    a cache line for each part, the `NEXT` group of it that nobody has, and the end of the part.
    """

    END = 0
    PARTS = 8


class Part(IntEnum):
    """Fields of a part of the groups of a run: those that one worker begins with."""

    NEXT = 0
    END = 1
    SIZE = 8


class Call(IntEnum):
    """Fields of a call of native code: a function, its arguments, what it has returned.

    The first one of some that are made together says whether all of them are `SMALL`.
    """

    FUNCTION = 0
    CONTEXT = 1
    WORK = 2
    ANSWER = 3
    SMALL = 4
    SIZE = 8


class Box(IntEnum):
    """Fields that tell a thread which call to make; of `STATE` the first four bytes count.

    `PROCESSOR` is the one on which the thread that asks runs, `PATIENCE` for how many nanoseconds
    more than usual to look for the next call, `THREAD` the system's number of the thread.
    """

    STATE = 0
    CALL = 8
    PROCESSOR = 9
    PATIENCE = 10
    THREAD = 11
    SIZE = 16


class Gang(IntEnum):
    """Fields of what a thread that leads knows of those that it asks.

    `BOXES` are where it finds their boxes, `COUNT` how many there are. `ENDED` is when calls ended
    last, `STREAK` how often they have followed each other quickly; below 0 the threads are left
    alone where calls are small. From `PROCESSORS` on is a set of those on which they may run.
    """

    BOXES = 0
    COUNT = 1
    ENDED = 2
    STREAK = 3
    PROCESSORS = 8
    SIZE = 24


class BoxState(IntEnum):
    """What becomes of a call: nobody waits for it, it waits, or somebody waits for its end.

    The helper sleeps when it has looked for a call in vain for a while.
    """

    EMPTY = 0
    ASLEEP = 1
    POSTED = 2
    RUNNING = 3
    AWAITED = 4


class Thread(IntEnum):
    """Fields of a hardware thread.

    `IMAGE` are its registers, which start as those of `TEMPLATE`, `MASK` its channels; `SCRATCH`
    and `PRIVATE` its memory, of which scratch begins at the address `SCRATCH_BASE`. `EXECUTED`
    counts its instructions, of which `TURN_ENDS` is that with which its turn ends. `DEPTH` counts
    open calls; subroutines that call themselves save their state in `FRAMES`, from `FRAME` on.

    From `STACK` on are the registers of one that has given way: its stack, what LLVM may keep
    there for itself, where it goes on. It can go on when the group's phase is greater than `PHASE`.
    `NEXT` is the thread whose turn is next, null behind the last one, `INDEX` its number in the
    group. `TOP` is the top of its own stack, `USED` that of the stack on which it runs.

    `PC` and `UNIT` say where it has stopped, `FAULT`, `ADDRESS` and `CHANNEL` why. `SITE`, `CHOSEN`
    and `VALUE` are what a thread with a stack asks Python, `ANSWER` is the answer. Notes for
    observers are written at `TRACE` (blocks) and `LOG` (accesses), up to the ends of the buffers.

    `MARKS` are what the thread has done at each barrier (`Mark`). `LINK` is the next one of those
    that wait for the same barrier, or were put aside. From `GROUP` on are the three coordinates of
    its group, where it asks Python for an access that observers may be told of.
    """

    IMAGE = 0
    MASK = 1
    SCRATCH = 2
    SCRATCH_BASE = 3
    STATUS = 4
    PHASE = 5
    PC = 6
    UNIT = 7
    STACK = 8
    BASE = 9
    KEPT = 10
    RESUMED = 11
    NEXT = 12
    INDEX = 13
    TURN_ENDS = 14
    EXECUTED = 15
    FAULT = 16
    ADDRESS = 17
    CHANNEL = 18
    DEPTH = 20
    TEMPLATE = 21
    PRIVATE = 22
    TOP = 23
    USED = 24
    SITE = 25
    CHOSEN = 26
    VALUE = 27
    ANSWER = 28
    FRAMES = 29
    FRAME = 30
    TRACE = 31
    TRACE_END = 32
    LOG = 33
    LOG_END = 34
    MARKS = 35
    LINK = 36
    GROUP = 37
    SIZE = 40


class Status(IntEnum):
    """How a thread stands.

    A new one is ready, one at a barrier waits for the end of a phase, a paused one has let others
    run. One that asks runs again when the host has answered its call-out.
    """

    READY = 0
    DONE = 1
    FAULTED = 2
    WAITING = 3
    PAUSED = 4
    ASKING = 5


NEVER, ANYTIME = (1 << 63) - 1, (1 << 64) - 1
"""In place of a phase: a thread that has ended, and one that waits for nobody (-1)."""

STUCK = (1 << 64) - 1
"""In place of a thread that has faulted: those of a group wait, and cannot go on."""

REFUSED = -2
"""In place of a phase: a thread waits for a barrier that it has not signalled."""


class Barrier(IntEnum):
    """Fields of a barrier that threads signal and wait for apart.

    `PHASE` is how many phases have ended. `EXPECTED` are the producers and, in the high half, the
    consumers of this phase, 0 before anybody has signalled, `ARRIVED` those that have signalled.
    `WAITERS` is the first thread that waits for the end of this phase.
    """

    PHASE = 0
    EXPECTED = 1
    ARRIVED = 2
    WAITERS = 3
    SIZE = 4


class Mark(IntEnum):
    """Bits of what a thread has done at a barrier: as what it signalled last, if ever.

    It has to wait yet (`HELD`), or does or did so (`WAITED`). From bit `MARKED_PHASE` on is the
    number of the phase, counted from 1.
    """

    PRODUCER = 1
    CONSUMER = 2
    HELD = 4
    WAITED = 8


MARKED_PHASE = 4
BARRIER_COUNT = NAMED
"""How many barriers a group has where they have numbers: the first is its own."""

MARKED_WAITS = 2
"""Where signals are counted, a mark is by how many a thread is ahead and, from this bit on, how
often it has waited."""


class FaultKind(IntEnum):
    """Why native code stopped."""

    MEMORY = 1
    REGISTER = 2
    REFUSED = 3
    BUDGET = 4
    PASSED_WAITING = 5
    BAD_HANDLE = 6
    CALL_DEPTH = 7
    SWITCH_INDEX = 8
    HOST = 9


class ImageTable(IntEnum):
    """Fields of the table of a worker's images: functions, counts, samplers, then the images.

    `COUNT` is how many images there are room for. A sampler is a number as `SamplerBits` says, 0
    for none. Accesses beyond an image's edges are counted.
    """

    LOAD = 0
    STORE = 1
    SAMPLE = 2
    COUNT = 3
    MISSED_READS = 4
    MISSED_WRITES = 5
    SAMPLERS = 8
    SAMPLER_COUNT = 32
    IMAGES = 40


class ImageEntry(IntEnum):
    """Fields of an image: host address, extents in texels (1 where it has none), its format.

    `AXES` are those of its kind, of which the first `SMOOTH` are mixed. `BYTES` are those of a
    texel, `TYPE` is OpenCL's number of a channel. The bytes of `READ` say which channel each
    component is read from (4 for 0, 5 for what `ONE` holds), those of `STORED` which component
    each channel is written from, the 16 bits of `WRITES` for each component which bytes of a texel
    hold it. `BORDER` and `OPAQUE` are colours of four numbers.
    """

    BASE = 0
    WIDTH = 1
    HEIGHT = 2
    DEPTH = 3
    AXES = 4
    SMOOTH = 5
    BYTES = 6
    TYPE = 7
    READ = 8
    ONE = 9
    STORED = 10
    WRITES = 11
    WRITABLE = 12
    INTEGER = 13
    BORDER = 14
    OPAQUE = 16
    SIZE = 18


IMAGE_BYTES = 8 * ImageEntry.SIZE

IN_ORDER = 0x03020100
"""Four components in the order of four channels."""


class SamplerBits(IntEnum):
    """What a sampler's number says beside its address mode, which is in its low bits."""

    ADDRESS_BITS = 7
    LINEAR = 8
    NORMALISED = 16
    PRESENT = 32


class Form(IntEnum):
    """Fields of what native code has to know of a message to an image.

    They are bytes of the exchange area, -1 for what a message does not have, but for the number of
    its channels and whether what is outside of the image is opaque. `RED` to `ALPHA` are stored
    or answered.
    """

    LANES = 0
    SURFACE = 1
    SAMPLER = 2
    MASK = 3
    U = 4
    V = 5
    R = 6
    LOD = 7
    RED = 8
    GREEN = 9
    BLUE = 10
    ALPHA = 11
    OPAQUE = 12
    SIZE = 13


POLL = -1
"""In place of a call-out's number: a thread that has run for a while looks whether it may go on."""

DRAIN, GROUP_BEGINS, TURN_ENDS = -2, -3, -4
"""In place of a call-out's number, for observers: a buffer of a thread is full; a thread group,
whose number comes with it, begins; all threads of a group have had a turn."""

NO_ROW = 1 << 63
"""In place of the number of a row's first group: no group is in that row."""

TURNS_BETWEEN_LOOKS = 100
"""How many turns of threads pass from one look at what the host wants to the next."""

BARRIERS_BETWEEN_LOOKS = 10_000
"""How many turns of groups pass, which may end at barriers, where turns are short."""


EXCHANGE_DATA = 1024
"""Byte of the exchange area at which data begins; addresses stand in front of it."""

EXCHANGE_BYTES = 16384

SLM_MARGIN = 1 << 14
"""Bytes in front of shared local memory and behind it, which channels that are off may read."""

SURFACE_ENTRY = 32
"""Bytes of a binding table entry: host address, bytes that reads and writes may reach, and how
many blocks native code has read beyond its end; there the bit `FAULTS` says that it must not."""

FAULTS = 1 << 63

TABLE_ENTRY = 24
"""Bytes of an allocation: first address, end, whether it can be written."""

CACHE_ENTRY = 16
LOOP_NOTES = 16
"""In front of these entries a worker has so many words of 64 bits, which loops of kernels use.

They are zero when a launch is aimed at other memory.
"""
"""Bytes of what a message remembers: the last allocation's base, the first offset refused."""
