"""What the descriptors of raw messages to the load and store cache ask for (RAW_SEND, RAW_SENDS).

SYCL programs write them, such as those made with XeTLA. A descriptor means what the lsc_
instruction does of which Intel's finalizer makes the same one: that instruction is made of the
descriptor, and traced. A descriptor that asks for something else is refused.
"""

from dataclasses import dataclass
from typing import Any

from visim.isa import lsc, lsc_atomics
from visim.isa.data_port import RawMessage
from visim.isa.lsc_atomics import LSC_ATOMICS
from visim.isa.lsc_kinds import DATA_SIZES
from visim.isa.lsc_raw_blocks import LOAD_BLOCK, STORE_BLOCK, move_block
from visim.isa.registry import Op
from visim.isa.surfaces import block_bytes
from visim.isa.sync import GROUP_SCOPES, SCOPES
from visim.operands import (
    AddressModel,
    Immediate,
    LscAddress,
    LscCache,
    LscShape,
    RawOperand,
    VectorSource,
)
from visim.predefined import GENERALS
from visim.sem.effects import Fence, Space
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD

FUNCTIONS_OF_LSC = {1: "ugml", 13: "tgm", 14: "slm", 15: "ugm"}
"""Shared functions that take LSC messages, on devices that have those, by number."""

_FENCE = 0x1F
_SCOPE_BIT, _FLUSH_BIT = 9, 12
_GROUP_SCOPES = {number for name, number in SCOPES if name in GROUP_SCOPES}
_LOADS, _QUADS, _STORES = {0x00, 0x02}, {0x02, 0x06}, {0x04, 0x06, 0x1C}
_ATOMICS = {sub: operation for _, sub, operation in LSC_ATOMICS}
_OPS: dict[int, Op] = {
    op.sub: op
    for op in (*lsc.TABLE.ops, *lsc_atomics.TABLE.ops)
    if op.sub is not None and op.sub in _LOADS | _STORES | set(_ATOMICS)
}
"""Instructions by operation, which LSC numbers as objects number them."""

_DATA = (None, None, "d32", "d64", "d8c32", "d16c32", "d16c32h", None)
_COUNTS = (1, 2, 3, 4, 8, 16, 32, 64)
_MODELS = (
    AddressModel.FLAT,
    AddressModel.BINDLESS_SURFACE,
    AddressModel.SURFACE_STATE,
    AddressModel.BINDING_TABLE,
)
_NULL = RawOperand(GENERALS[0])
_FIRST_OFFSET_BIT, _INDEX_BIT = 12, 24


def takes(t: Tracer, message: RawMessage) -> bool:
    """Whether a message is one to the load and store cache."""
    return t.platform.has_lsc and message.function in FUNCTIONS_OF_LSC


def perform(t: Tracer, message: RawMessage) -> bool:
    """Record what a message does; return False if it is none that is known here.

    Raises:
        Unexecutable: it is a known one that asks for what visim does not do.
    """
    if message.descriptor is None:
        return False
    if message.operation == _FENCE:
        is_local = FUNCTIONS_OF_LSC[message.function] == "slm"
        scope = message.descriptor >> _SCOPE_BIT & 7
        is_plain = not message.descriptor >> _FLUSH_BIT & 7
        memory = Space.SLM if is_local else Space.FLAT
        t.emit(Fence(memory, scope in _GROUP_SCOPES, is_plain))
        return True
    if message.operation in {LOAD_BLOCK, STORE_BLOCK}:
        _check_offset(message)
        move_block(t, message)
        return True
    op = _OPS.get(message.operation)
    if op is None or FUNCTIONS_OF_LSC[message.function] == "tgm":
        return False
    op.meaning.trace(t, _instruction(t, message, op))
    return True


def _check_offset(message: RawMessage, last: int = 31) -> int:
    """Return the extended descriptor, whose bits from 12 to `last` are 0: there is no offset."""
    known = message.known_extended
    if known is None or known % (1 << last + 1) >> _FIRST_OFFSET_BIT:
        found = "in a register" if known is None else f"0x{known:x}"
        raise Unexecutable(
            f"a raw message to LSC whose extended descriptor is {found}; "
            f"visim expects a constant whose bits {_FIRST_OFFSET_BIT} to {last} are 0"
        )
    return known


@dataclass(frozen=True, slots=True)
class _Lengths:
    """How many registers the parts of a message have."""

    addresses: int
    data: int
    response: int

    def fit(self, message: RawMessage) -> bool:
        """Whether a message has as many."""
        payloads = {(self.addresses, self.data), (self.addresses + self.data,)}
        return _payloads(message) in payloads and _response(message) in {0, self.response}


def _lengths(t: Tracer, message: RawMessage, op: Op, shape: LscShape, bits: int) -> _Lengths:
    """Return how many registers the parts of a message have.

    The finalizer counts more channels than there are, as many as the device has in a message of
    half or of full width. That only adds padding, unless there are several components.
    """
    grf, slot = t.platform.grf_bytes, DATA_SIZES[shape.data][1]
    components = len(shape.channels) or shape.count
    operation = _ATOMICS.get(op.sub or 0)
    found: list[_Lengths] = []
    for lanes in (t.lanes, grf // UD.bytes, 2 * grf // UD.bytes):
        block = -(-lanes * slot // grf)
        if lanes < t.lanes or (components > 1 and block * grf != block_bytes(t, slot)):
            continue
        whole = -(-components * slot // grf) if shape.transposed else components * block
        data, response = (0, whole) if op.sub in _LOADS else (whole, 0)
        if operation is not None:
            data, response = operation.operand_count * whole, whole
        found.append(_Lengths(-(-lanes * bits // 8 // grf), data, response))
    expected = next((one for one in found if one.fit(message)), None)
    if expected is None:
        natural = found[0]
        raise Unexecutable(
            f"a raw message to LSC of {t.lanes} channels with "
            f"{' + '.join(map(str, _payloads(message)))} registers of payload and "
            f"{_response(message)} of response; visim expects {natural.addresses} of addresses, "
            f"{natural.data} of data and {natural.response} of response"
        )
    return expected


def _payloads(message: RawMessage) -> tuple[int, ...]:
    """Return how many registers the payloads have; a second one may be missing."""
    (_, first), *others = message.parts
    return (first, *(registers for _, registers in others if registers))


def _response(message: RawMessage) -> int:
    """Return how many registers the response has."""
    return 0 if message.dst.is_null else message.field(24, 20)


def _instruction(t: Tracer, message: RawMessage, op: Op) -> Any:
    """Return the instruction of which the finalizer makes the message."""
    shape, bits = _shape(message), (0, 16, 32, 64)[message.field(8, 7)]
    if not bits:
        raise Unexecutable("a raw message to LSC of addresses of an unknown size")
    expected = _lengths(t, message, op, shape, bits)
    base, data = _payload(t, message, expected)
    fields: dict[str, Any] = {
        "op": op,
        "exec": t.exec_size,
        "pred": t.predication,
        "sfid": FUNCTIONS_OF_LSC[message.function],
        "cache": LscCache(),
        "address": LscAddress(*_surface(message), base, bits),
        "shape": shape,
    }
    if op.sub in _STORES:
        fields["data"] = data
    else:
        fields["dst"] = message.dst if _response(message) else _NULL
    if op.sub in _ATOMICS:
        second = expected.data // 2 * t.platform.grf_bytes
        fields["src0"] = data
        fields["src1"] = RawOperand(data.variable, data.offset + second)
    form: Any = op.form
    return form(**fields)


def _shape(message: RawMessage) -> LscShape:
    data = _DATA[message.field(11, 9)]
    if data is None:
        raise Unexecutable(f"a raw message to LSC of data size {message.field(11, 9)}")
    if message.operation in _QUADS:
        channels = "".join(c for bit, c in enumerate("xyzw") if message.field(12 + bit, 12 + bit))
        if not channels:
            raise Unexecutable("a raw message to LSC of no components")
        return LscShape(data, channels=channels)
    return LscShape(data, _COUNTS[message.field(14, 12)], bool(message.field(15, 15)))


def _surface(message: RawMessage) -> tuple[AddressModel, VectorSource | None]:
    """Return how the message finds its memory, and its surface if it has one."""
    model = _MODELS[message.field(30, 29)]
    if model is AddressModel.FLAT:
        _check_offset(message)
        return model, None
    if model is AddressModel.BINDING_TABLE:
        return model, Immediate(_check_offset(message, _INDEX_BIT - 1) >> _INDEX_BIT, UD)
    return model, message.extended


def _payload(t: Tracer, message: RawMessage, lengths: _Lengths) -> tuple[RawOperand, RawOperand]:
    """Return where the addresses and the data begin."""
    first, _ = message.parts[0]
    if len(_payloads(message)) > 1:
        return first, message.parts[1][0]
    behind = first.offset + lengths.addresses * t.platform.grf_bytes
    return first, RawOperand(first.variable, behind)
