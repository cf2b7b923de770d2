"""Messages: which message a vISA memory instruction is, its header, payload and response.

On Gen6 payloads are moved into message registers first; on Gen7 and Gen8 a payload of several
parts is gathered in successive registers; since Gen9 a message takes its payload in two parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.isa import Instruction
from visim.operands import ExecSize, Immediate, LscAddress, LscCache
from visim.sem.effects import (
    Atomic,
    Load,
    LoadBlock,
    Message,
    Request,
    Space,
    Store,
    StoreBlock,
)
from visim.sem.requests import (
    BlockLoad,
    BlockStore,
    DetailQuery,
    SampleQuery,
    Sampling,
    SizeQuery,
    TexelAtomic,
    TexelLoad,
    TexelStore,
)
from visim.timing.emitter import Emitter
from visim.timing.footprint import Footprint, Span
from visim.timing.native import ADDRESS, Native
from visim.types import UD

_SPACES = {
    Space.FLAT: "flat",
    Space.SURFACE: "surface",
    Space.SLM: "slm",
    Space.SCRATCH: "scratch",
    Space.ARGUMENT: "scratch",
    Space.SHADOW: "flat",
}
_REQUESTS: dict[type, str] = {
    Sampling: "sample",
    TexelLoad: "image.load",
    TexelStore: "image.store",
    TexelAtomic: "image.atomic",
    DetailQuery: "image.query",
    SizeQuery: "image.query",
    SampleQuery: "image.query",
    BlockLoad: "media.load",
    BlockStore: "media.store",
}
_HEADED = ("block_load", "block_store", "media.load", "media.store")
"""Messages that need a header of one register (matched within the kind)."""
_SCALAR_BYTES = 8
"""What a block message reads of such a size is its address or offset, which its header holds."""


def message_kind(message: Message) -> str:
    """Return the name of a message's class in the tables of costs, without its prefix."""
    match message:
        case Load():
            return f"{_SPACES[message.space]}.load"
        case LoadBlock():
            return f"{_SPACES[message.space]}.block_load"
        case Store():
            return f"{_SPACES[message.space]}.store"
        case StoreBlock():
            return f"{_SPACES[message.space]}.block_store"
        case Atomic():
            return f"{_SPACES[message.space]}.atomic"
        case Request():
            return _REQUESTS[type(message.operation)]


def emit_messages(emitter: Emitter, instruction: Instruction, found: Footprint) -> None:
    """Add the native instructions of a vISA message.

    A message of more channels than one native message has becomes several, each with its part of
    every payload and of the response.
    """
    kind = message_kind(found.messages[0])
    execution = getattr(instruction, "exec", ExecSize(1, 0, no_mask=True))
    lsc = getattr(instruction, "address", None)
    if isinstance(lsc, LscAddress):
        _address_arithmetic(emitter, lsc, execution)
    else:
        _global_offset(emitter, instruction, found, execution)
    cap = 32 if emitter.native.grf_bytes == 64 else 16
    is_block = "block" in kind or kind.startswith("media")
    parts = 1 if is_block else max(1, execution.size // cap)
    route = _route(instruction, kind) if isinstance(lsc, LscAddress) else ""
    for part in range(parts):
        size = execution.size // parts
        group = execution.offset + part * size
        flags = emitter.predicate(getattr(instruction, "pred", None), group, size)
        _one_message(emitter, (kind, route), found, (part, parts), (size, group), flags)


def _route(instruction: Instruction, kind: str) -> str:
    """Return the opcode of a message to the load/store cache, with its control of the first one."""
    name = next(name for name in ("load", "store", "atomic") if kind.endswith(name))
    cache = getattr(instruction, "cache", None)
    if not isinstance(cache, LscCache) or cache.l1 not in {"ca", "uc"}:
        return name
    return f"{name}.{cache.l1}"


def _address_arithmetic(emitter: Emitter, address: LscAddress, execution: ExecSize) -> None:
    """Add what a message's own scale and offset cost: they are computed before it."""
    for present, opcode in ((address.scale != 1, "shl"), (address.offset != 0, "add")):
        if present:
            registers = max(1, execution.size * address.bits // 8 // emitter.native.grf_bytes)
            kind = "alu.wide" if address.bits == 64 and opcode == "add" else "logic"
            target = emitter.temporary(registers)
            emitter.simple(opcode, kind, (), target, size=execution.size, registers=registers)


def _global_offset(
    emitter: Emitter, instruction: Instruction, found: Footprint, execution: ExecSize
) -> None:
    offset = getattr(instruction, "offset", None)
    if offset is None or (isinstance(offset, Immediate) and offset.bits == 0):
        return
    if not hasattr(instruction, "offsets"):
        return
    registers = max(1, execution.size * UD.bytes // emitter.native.grf_bytes)
    source = _span_registers(emitter, found.reads[:1], (0, 1))
    target = emitter.temporary(registers)
    emitter.simple("add", "alu", source, target, size=execution.size, registers=registers)


def _span_registers(
    emitter: Emitter, spans: Sequence[Span], piece: tuple[int, int]
) -> list[tuple[int, ...]]:
    """Return the registers of the `piece`-th (number, of how many) part of each span."""
    number, count = piece
    found: list[tuple[int, ...]] = []
    for span in spans:
        length = span.end - span.start
        start = span.start + length * number // count
        end = max(start + 1, span.start + length * (number + 1) // count)
        registers = emitter.assignment.registers(span.variable, start, end)
        if registers:
            found.append(registers)
    return found


def _one_message(
    emitter: Emitter,
    named: tuple[str, str],
    found: Footprint,
    piece: tuple[int, int],
    channels: tuple[int, int],
    flags: tuple[int, ...],
) -> None:
    """Emit one of the messages that an instruction is sent as.

    `named` are its kind and its opcode, if it has one of its own, `piece` which of how many it is,
    `channels` how many it has and the first of them.
    """
    kind, route = named
    payload = _payload(emitter, kind, found, piece, channels)
    response = _flat(_merged(_span_registers(emitter, found.writes, piece)))
    sent = _flat(payload)
    size, group = channels
    grf = emitter.native.grf_bytes
    opcode = route or ("sends" if len(payload) > 1 else "send")
    address = (ADDRESS,) if found.reads_address else ()
    emitter.emit(
        Native(
            f"{opcode}.{kind}",
            size,
            group,
            f"message.{kind}",
            emitter.pc,
            tuple(payload),
            tuple(dict.fromkeys((*sent, *flags, *address))),
            response,
            payload=sent,
            sd=len(response),
            sx=max(1, size * UD.bytes // grf, len(response) if "block" in kind else 0),
            ss=len(sent),
        )
    )


def _payload(
    emitter: Emitter,
    kind: str,
    found: Footprint,
    piece: tuple[int, int],
    channels: tuple[int, int],
) -> list[tuple[int, ...]]:
    """Return the registers that a message sends, each part in a row; moves them where it must."""
    is_block = "block" in kind or kind.startswith("media")
    read = [s for s in found.reads if not is_block or s.end - s.start > _SCALAR_BYTES]
    payload = _merged(_span_registers(emitter, read, piece))
    header = any(part in kind for part in _HEADED)
    if emitter.native.mrfs:
        return [_into_message_registers(emitter, payload, channels, header=header)]
    if header:
        payload = [_header(emitter), *payload]
    most = 2 if "sends" in emitter.native.features else 1
    return _gathered(emitter, payload, channels, most) if len(payload) > most else payload


def _merged(parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Join successive parts that touch: components of one payload variable."""
    merged: list[tuple[int, ...]] = []
    for part in sorted(set(parts)):
        if merged and part[0] <= merged[-1][-1] + 1:
            merged[-1] = tuple(range(merged[-1][0], max(part[-1], merged[-1][-1]) + 1))
        else:
            merged.append(part)
    return merged


def _flat(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))


def _header(emitter: Emitter) -> tuple[int, ...]:
    """Put an offset or address into a header."""
    header = emitter.temporary()
    emitter.simple("mov", "alu", (), header)
    return header


def _into_message_registers(
    emitter: Emitter, payload: list[tuple[int, ...]], channels: tuple[int, int], *, header: bool
) -> tuple[int, ...]:
    """Move a payload into message registers, two registers at a time."""
    _, group = channels
    taken: tuple[int, ...] = ()
    if header:
        taken = emitter.message_registers(1)
        emitter.simple("mov", "alu", [(0,)], taken, size=8)
        emitter.simple("mov", "alu", (), taken)
    for part in payload:
        for first in range(0, len(part), 2):
            source = part[first : first + 2]
            target = emitter.message_registers(len(source), 1 + len(taken))
            width = 8 * len(source)
            emitter.simple(
                "mov", "alu", [source], target, size=width, group=group, registers=len(source)
            )
            taken += target
    if not taken:
        taken = emitter.message_registers(1)
        emitter.simple("mov", "alu", [(0,)], taken, size=8)
    return taken


def _gathered(
    emitter: Emitter, payload: list[tuple[int, ...]], channels: tuple[int, int], most: int
) -> list[tuple[int, ...]]:
    """Copy the parts of a payload beyond the first `most - 1` into successive registers."""
    kept, rest = payload[: most - 1], _flat(payload[most - 1 :])
    target = emitter.temporary(len(rest))
    for first in range(0, len(rest), 2):
        source = rest[first : first + 2]
        emitter.simple(
            "mov",
            "alu",
            [source],
            target[first : first + 2],
            size=8 * len(source),
            group=channels[1],
            registers=len(source),
        )
    return [*kept, target]


__all__ = ["emit_messages", "message_kind"]
