"""What the descriptors of raw messages to the load and store cache ask for (RAW_SEND, RAW_SENDS).

SYCL programs write them, such as those made with XeTLA: a descriptor means what the lsc_
instruction does of which Intel's finalizer makes the same one. A descriptor that asks for something
else is refused.
"""

from visim.isa.data_port import RawMessage
from visim.isa.lsc_raw_blocks import LOAD_BLOCK, STORE_BLOCK, move_block
from visim.sem.tracer import Tracer, Unexecutable

FUNCTIONS_OF_LSC = {1: "ugml", 13: "tgm", 14: "slm", 15: "ugm"}
"""Shared functions that take LSC messages, on devices that have those, by number."""

_FIRST_OFFSET_BIT = 12


def takes(t: Tracer, message: RawMessage) -> bool:
    """Whether a message is one to the load and store cache."""
    return t.platform.has_lsc and message.function in FUNCTIONS_OF_LSC


def perform(t: Tracer, message: RawMessage) -> bool:
    """Record what a message does; return False if it is none that is known here.

    Raises:
        Unexecutable: it is a known one that asks for what visim does not do.
    """
    if message.descriptor is None or message.extended is None:
        return False
    if message.operation in {LOAD_BLOCK, STORE_BLOCK}:
        if message.extended >> _FIRST_OFFSET_BIT:
            raise Unexecutable(
                f"a raw message for 2D blocks with the extended descriptor 0x{message.extended:x}; "
                "bits 31 to 12 are 0"
            )
        move_block(t, message)
        return True
    return False
