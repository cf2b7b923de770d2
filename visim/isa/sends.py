"""Raw messages to shared functions.

Compilers write them for what vISA has no instruction for; what their descriptors mean depends on
the device and is not part of the specification (RAW_SEND, RAW_SENDS). Those that
`visim.isa.data_port`, `visim.isa.lsc_raw` and `visim.isa.gateway` know are executed, others stop
with what they ask for.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from visim.isa import data_port, gateway, lsc_raw
from visim.isa.codecs import Absent, Codec, Older
from visim.isa.data_port import FUNCTIONS, RawMessage
from visim.isa.forms import Exec, Pred, Raw, Src
from visim.isa.kinds import SOURCE
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.table import Table
from visim.isa.word_kinds import BYTE, NumberKind
from visim.lex import Cursor
from visim.operands import Immediate, VectorSource
from visim.sem.tracer import Tracer, Unexecutable
from visim.target import Platform
from visim.types import UD

TABLE = Table(Category.MEMORY)

_NUMBERS = re.compile(r"\.(\d+)\.(\d+)\.(\d+)(?:\.(\d+))?", re.ASCII)
_SHARED_FUNCTION = 0xF
_MOST_SENT, _MOST_RETURNED = 15, 16


@dataclass(frozen=True, slots=True)
class HexNumberKind(NumberKind):
    """A plain unsigned integer that is printed in hexadecimal."""

    def show(self, value: int) -> str:
        """Return it in hexadecimal."""
        return f"0x{value:x}"


@dataclass(frozen=True, slots=True)
class SendCounts:
    """The shared function of a split message, and the registers of its payloads and response."""

    sfid: int
    src0: int
    src1: int
    dst: int


@dataclass(frozen=True, slots=True)
class SendCountsKind:
    """The numbers after the mnemonic: `.12.1.1.2`; the first may be missing if `conditional`.

    IGC reads only three numbers for the conditional messages, whose shared function is then 0.
    """

    conditional: bool = False
    expected: str = "a shared function and three numbers of registers such as '.12.1.1.2'"
    has_function: bool = True
    """Whether objects have a place for the shared function."""

    def parse(self, cursor: Cursor, names: Names) -> SendCounts:
        """Take the numbers."""
        start = cursor.position
        found = [int(n) for n in cursor.need(_NUMBERS, self.expected).groups() if n is not None]
        if len(found) == 3:
            if not self.conditional:
                raise cursor.failure(self.expected)
            found.insert(0, 0)
        if max(found) > 0xFF:
            message = f"{max(found)} is outside 0 to 255"
            raise cursor.failure_at(start, "out-of-range", message)
        return SendCounts(*found)

    def show(self, value: SendCounts) -> str:
        """Return them so that they can be read again."""
        counts = f".{value.src0}.{value.src1}.{value.dst}"
        return counts if self.conditional and not value.sfid else f".{value.sfid}{counts}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each number."""
        function = BYTE if self.has_function else Absent(0, "a shared function")
        return {**dict.fromkeys(("src0", "src1", "dst"), BYTE), "sfid": function}

    def join(self, parts: dict[str, Any]) -> SendCounts:
        """Return the numbers."""
        return SendCounts(**parts)


@form(
    "{pred}{op} {exec} {extended} {src_count} {dst_count}  {descriptor} {src} {dst}",
    layout="{sub} {exec} {pred} {extended} {src_count} {dst_count} {descriptor} {src} {dst}",
)
class RawSend(Instruction):
    """A message with one payload."""

    exec: Exec
    pred: Pred
    extended: Annotated[int, HexNumberKind()]
    src_count: Annotated[int, BYTE]
    dst_count: Annotated[int, BYTE]
    descriptor: Src
    src: Raw
    dst: Raw


_SPLIT_TEXT = "{pred}{op}{counts} {exec}  {extended} {descriptor} {src0} {src1} {dst}"
_SPLIT_BYTES = (
    "{sub} {exec} {pred} {counts.src0} {counts.src1} {counts.dst} {counts.sfid} "
    "{extended} {descriptor} {src0} {src1} {dst}"
)
_BEFORE_3_6 = Older((3, 6), _SPLIT_BYTES, {"counts": SendCountsKind(has_function=False)})


@form(_SPLIT_TEXT, layout=_SPLIT_BYTES, older=(_BEFORE_3_6,))
class RawSends(Instruction):
    """A message with two payloads."""

    exec: Exec
    pred: Pred
    counts: Annotated[SendCounts, SendCountsKind()]
    extended: Src
    descriptor: Src
    src0: Raw
    src1: Raw
    dst: Raw


@form(_SPLIT_TEXT, layout=_SPLIT_BYTES, older=(_BEFORE_3_6,))
class RawSendsConditional(Instruction):
    """A message with two payloads that waits for earlier threads."""

    exec: Exec
    pred: Pred
    counts: Annotated[SendCounts, SendCountsKind(conditional=True)]
    extended: Src
    descriptor: Src
    src0: Raw
    src1: Raw
    dst: Raw


def _registers(i: RawSend, platform: Platform | None) -> str | None:
    """RAW_SEND: a payload of 1 to 15 registers, a response of up to 16."""
    del platform
    if not 1 <= i.src_count <= _MOST_SENT:
        return f"its payload has 1 to {_MOST_SENT} registers, found {i.src_count}"
    if i.dst_count > _MOST_RETURNED:
        return f"its response has 0 to {_MOST_RETURNED} registers, found {i.dst_count}"
    return None


def _function(i: RawSends | RawSendsConditional, platform: Platform | None) -> str | None:
    """RAW_SENDS: shared functions are 0 to 15."""
    del platform
    if i.counts.sfid > _SHARED_FUNCTION:
        return f"the shared function is 0 to {_SHARED_FUNCTION}, found {i.counts.sfid}"
    return None


def _shown(value: VectorSource) -> str:
    return f"0x{value.bits:x}" if isinstance(value, Immediate) else f"in {SOURCE.show(value)}"


def _perform(t: Tracer, message: RawMessage, descriptor: VectorSource) -> None:
    """Record what a message does, or say what it asks for."""
    to_lsc = lsc_raw.takes(t, message)
    if (lsc_raw if to_lsc else data_port).perform(t, message) or gateway.perform(t, message):
        return
    name, word, kind = FUNCTIONS.get(message.function, "not known"), "type", message.kind
    if to_lsc:
        name, word = lsc_raw.FUNCTIONS_OF_LSC[message.function], "operation"
        kind = message.operation
    what = "" if message.descriptor is None else f", {word} 0x{kind:x}"
    raise Unexecutable(
        f"a raw message to shared function {message.function} ({name}{what}), "
        f"descriptor {_shown(descriptor)}, extended descriptor {_shown(message.extended)}"
    )


def _number(value: VectorSource) -> int | None:
    return value.bits if isinstance(value, Immediate) else None


def _send(t: Tracer, i: RawSend) -> None:
    function, parts = i.extended & _SHARED_FUNCTION, ((i.src, i.src_count),)
    extended = Immediate(i.extended, UD)
    _perform(t, RawMessage(function, _number(i.descriptor), extended, parts, i.dst), i.descriptor)


def _split_send(t: Tracer, i: RawSends | RawSendsConditional) -> None:
    parts = ((i.src0, i.counts.src0), (i.src1, i.counts.src1))
    message = RawMessage(i.counts.sfid, _number(i.descriptor), i.extended, parts, i.dst)
    _perform(t, message, i.descriptor)


def _last_send(t: Tracer, i: RawSends | RawSendsConditional) -> None:
    raise Unexecutable(
        f"a raw message to shared function {i.counts.sfid} that ends the thread, "
        f"descriptor {_shown(i.descriptor)}"
    )


@TABLE.effect(
    0x5D, RawSend, sub=0, restrict=_registers,
    example="raw_send (M1, 16) 0x2 1 1  0x3:ud V40.0 V41.0",
)  # fmt: skip
def raw_send(t: Tracer, i: RawSend) -> None:
    """Send a message that only its descriptors describe."""
    _send(t, i)


@TABLE.effect(
    0x5D, RawSend, sub=1, page="RAW_SEND", restrict=_registers,
    example="raw_sendc (M1, 16) 0x2 1 1  0x3:ud V40.0 V41.0",
)  # fmt: skip
def raw_sendc(t: Tracer, i: RawSend) -> None:
    """Send a message after those of earlier threads."""
    _send(t, i)


@TABLE.effect(
    0x7A, RawSends, sub=0, restrict=_function,
    example="raw_sends.12.1.1.1 (M1, 16)  0x2:ud 0x3:ud V40.0 V41.0 V42.0",
)  # fmt: skip
def raw_sends(t: Tracer, i: RawSends) -> None:
    """Send a message of two payloads that only its descriptors describe."""
    _split_send(t, i)


@TABLE.effect(
    0x7A, RawSendsConditional, sub=1, page="RAW_SENDS", restrict=_function,
    example="raw_sendsc.1.1.1 (M1, 16)  0x2:ud 0x3:ud V40.0 V41.0 V42.0",
)  # fmt: skip
def raw_sendsc(t: Tracer, i: RawSendsConditional) -> None:
    """Send a message of two payloads after those of earlier threads."""
    _split_send(t, i)


@TABLE.effect(
    0x7A, RawSends, sub=2, page="RAW_SENDS", restrict=_function,
    example="raw_sends_eot.12.1.1.1 (M1, 16)  0x2:ud 0x3:ud V40.0 V41.0 V42.0",
)  # fmt: skip
def raw_sends_eot(t: Tracer, i: RawSends) -> None:
    """Send a message of two payloads and end the thread."""
    _last_send(t, i)


@TABLE.effect(
    0x7A, RawSendsConditional, sub=3, page="RAW_SENDS", restrict=_function,
    example="raw_sendsc_eot.1.1.1 (M1, 16)  0x2:ud 0x3:ud V40.0 V41.0 V42.0",
)  # fmt: skip
def raw_sendsc_eot(t: Tracer, i: RawSendsConditional) -> None:
    """Send a message of two payloads after those of earlier threads, and end the thread."""
    _last_send(t, i)
