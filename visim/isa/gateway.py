"""Raw messages to the message gateway: signals at named barriers (RAW_SEND, NBARRIER).

SYCL programs write them, such as those made with XeTLA; the fields are those that Intel's finalizer
writes for NBARRIER. The wait is an instruction of its own.
"""

from visim.isa.data_port import RawMessage
from visim.sem.effects import NamedBarrierSignal
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD

_GATEWAY = 3
_SIGNAL = 0x4
_PAYLOAD_LENGTH = 0xF << 25
_COUNTS = 2 * UD.bytes


def perform(t: Tracer, message: RawMessage) -> bool:
    """Record a signal; return False if the message is another.

    As NBARRIER it is one of the thread, whatever channels are on.

    Raises:
        Unexecutable: the signal depends on a predicate.
    """
    if message.function != _GATEWAY or not t.platform.has_named_barriers:
        return False
    if message.descriptor is None or message.descriptor & ~_PAYLOAD_LENGTH != _SIGNAL:
        return False
    if t.predication is not None:
        raise Unexecutable("a raw message that signals at a barrier under a predicate")
    operand, _ = message.parts[0]
    given = t.raw(operand, UD, 1, _COUNTS)
    t.emit(
        NamedBarrierSignal(
            id=given & 0xFF,
            role=given >> 14 & 0x3,
            producers=given >> 16 & 0xFF,
            consumers=given >> 24,
        )
    )
    return True
