"""What the C library in a program and the process of a VM tell each other.

Messages have one size; each but RUN is answered. RUN goes to the socket of its queue, the others
to that of the VM. The C side is generated from this module.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

STATUS_BYTES = 1 << 16
"""The memory file begins with a word for each queue; 1 says that the queue is lost."""

MOST_QUEUES = DONE_WORDS = 4096
"""As many words follow them: the number of the last batch that each queue has done."""


class Kind(IntEnum):
    """What a message says, and what its fields are."""

    MAP = 1
    """Memory of the file from `place` on appears at `address`, `size` bytes. The program has asked
    for `value` bytes of it, if that is not 0."""
    MAP_PROGRAM = 2
    """The program's own memory at `place` appears at `address`, `size` bytes."""
    UNMAP = 3
    """Mappings within `size` bytes from `address` on are gone."""
    QUEUE = 4
    """A queue number `address` of engine class `flags`; its socket is attached."""
    END = 6
    """The program ends: write what there is to report."""
    RUN = 5
    """Run the batch at `address` (none if `flags` is 0), then write `value` to `place`, if that is
    not 0, and note that batch number `size` is done."""


class Message(NamedTuple):
    """A message; 0 stands for what a kind does not use."""

    kind: int
    flags: int
    address: int
    size: int
    place: int
    value: int


MESSAGE = struct.Struct("<2I4Q")
REPLY = struct.Struct("<i")
READ_ONLY = 1
"""A flag of mappings."""


def read_message(data: bytes) -> Message:
    """Return the message that `data` is."""
    return Message._make(MESSAGE.unpack(data))


def protocol_header() -> str:
    """Return the messages as C declares them."""
    kinds = ", ".join(f"MESSAGE_{kind.name} = {kind.value}" for kind in Kind)
    words = ", ".join(Message._fields[:2])
    longs = ", ".join(Message._fields[2:])
    return (
        "#ifndef VISIM_PROTOCOL_H\n#define VISIM_PROTOCOL_H\n#include <stdint.h>\n"
        f"enum {{ {kinds} }};\n"
        f"enum {{ STATUS_BYTES = {STATUS_BYTES}, MOST_QUEUES = {MOST_QUEUES}, "
        f"DONE_WORDS = {DONE_WORDS} }};\n"
        f"struct message {{ uint32_t {words}; uint64_t {longs}; }};\n"
        "struct reply { int32_t status; };\n"
        "#endif\n"
    )
