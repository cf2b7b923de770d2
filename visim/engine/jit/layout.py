"""The memory that native code and Python share: numbers of 64-bit fields, kinds of faults.

`Context` is one worker's block of fields, `Thread` that of one hardware thread.
"""

from __future__ import annotations

from enum import IntEnum


class Context(IntEnum):
    """Fields of a worker's context."""

    CALLBACK = 0
    EXCHANGE = 1
    SLM = 2
    SLM_BYTES = 3
    SCRATCH_BYTES = 4
    ARGUMENTS = 5
    ARGUMENT_BYTES = 6
    SURFACES = 7
    TABLE = 8
    TABLE_ENTRIES = 9
    CACHE = 10
    COUNTS = 11
    BUDGET = 12
    SCHEDULER = 13
    NOTHING = 14
    ARRIVED = 15
    PHASE = 16
    THREADS = 17
    PATIENCE = 18
    SPARE = 19
    SIZE = 24


class Work(IntEnum):
    """Fields of a range of groups that native code runs by itself; the last are its answers."""

    GROUPS = 0
    NUMBERS = 1
    THREADS = 2
    RECORDS = 3
    WIDTH = 6
    HEIGHT = 7
    FIRST_X = 8
    FIRST_Y = 9
    FIRST_Z = 10
    IMAGE_BYTES = 11
    PRIVATE_BYTES = 12
    SLM_BYTES = 13
    SCRATCH_BYTES = 14
    DONE_GROUPS = 15
    FAULT_THREAD = 16
    EXECUTED = 17
    STARTED = 18
    SHARED = 19
    CHUNK = 20
    FAULT_GROUP = 21
    SIZE = 24


class Shared(IntEnum):
    """Fields that all workers of a run use: the next group that nobody has, whether to stop."""

    NEXT = 0
    STOP = 8
    SIZE = 16


class Thread(IntEnum):
    """Fields of a hardware thread."""

    IMAGE = 0
    MASK = 1
    SCRATCH = 2
    SCRATCH_BASE = 3
    STATUS = 4
    STACK = 5
    EXECUTED = 6
    PC = 7
    UNIT = 8
    FAULT = 9
    ADDRESS = 10
    CHANNEL = 11
    CODE = 12
    DEPTH = 13
    PHASE = 14
    TEMPLATE = 15
    PRIVATE = 16
    TOP = 17
    USED = 18
    TURN_ENDS = 19
    SITE = 20
    CHOSEN = 21
    VALUE = 22
    ANSWER = 23
    FRAMES = 24
    FRAME = 25
    SIZE = 32


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


POLL = -1
"""In place of a call-out's number: a thread that has run for a while looks whether it may go on."""

TURNS_BETWEEN_LOOKS = 100
"""How many turns of threads pass from one look at what the host wants to the next."""


EXCHANGE_DATA = 1024
"""Byte of the exchange area at which data begins; addresses stand in front of it."""

EXCHANGE_BYTES = 16384

SURFACE_ENTRY = 32
"""Bytes of a binding table entry: host address, bytes that reads and writes may reach."""

TABLE_ENTRY = 24
"""Bytes of an allocation: first address, end, whether it can be written."""

CACHE_ENTRY = 16
"""Bytes of what a message remembers: the last allocation's base, the first offset refused."""
