"""States that a kernel finds by offsets in its payload, instead of by a binding table.

Owns how such offsets are told to engines, whose states are numbered: the state of number i stands
at i times its size. So each offset of the driver's is given a free number, and the payload that
number's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from visim.binary.zebin import ZeKernel
from visim.binary.zeinfo import PayloadArgument
from visim.errors import UnsupportedError
from visim.machine.sampling import SAMPLER_TABLE_SIZE
from visim.machine.surfaces import LAST_FREE_SURFACE, SAMPLER_STATE_BYTES, SURFACE_STATE_BYTES
from visim.runtime.arguments.parameters import parameters

_BY_OFFSET, _OF_SAMPLERS = "bindless", "sampler"
_LOW_BITS = SURFACE_STATE_BYTES - 1
"""The bits of a surface's offset that are other parts of a message's descriptor."""


@dataclass(frozen=True, slots=True)
class State:
    """A state that a payload tells of: the argument's name, and its offset in its heap."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class States:
    """The states of a launch by their numbers, those of surfaces and those of samplers."""

    surfaces: dict[int, State] = field(default_factory=dict[int, State])
    samplers: dict[int, State] = field(default_factory=dict[int, State])


def numbered(kernel: ZeKernel, payload: bytes) -> tuple[bytes, States]:
    """Return a payload in which states have numbers, and the states.

    Raises:
        UnsupportedError: there are more states than numbers.
    """
    entries = [one for one in kernel.payload if one.addrmode == _BY_OFFSET and one.size]
    states = States()
    if not entries:
        return payload, states
    named, changed = parameters(kernel), bytearray(payload)
    surfaces, samplers = _free_surfaces(kernel), _free_samplers(kernel)
    for entry in entries:
        place = slice(entry.offset, entry.offset + entry.size)
        offset = int.from_bytes(payload[place], "little")
        name = named[entry.arg_index].name if entry.arg_index >= 0 else entry.arg_type
        if _is_sampler(entry):
            number = _next(samplers, kernel.name)
            states.samplers[number] = State(name, offset)
            told = number * SAMPLER_STATE_BYTES
        else:
            number = _next(surfaces, kernel.name)
            states.surfaces[number] = State(name, offset & ~_LOW_BITS)
            told = number * SURFACE_STATE_BYTES | offset & _LOW_BITS
        changed[place] = told.to_bytes(entry.size, "little")
    return bytes(changed), states


def _is_sampler(entry: PayloadArgument) -> bool:
    return entry.addrspace == _OF_SAMPLERS or entry.sampler_type is not None


def _free_surfaces(kernel: ZeKernel) -> Iterator[int]:
    taken = {entry.bti_value for entry in kernel.binding_table}
    taken |= {entry.bti_value for entry in kernel.payload}
    return (number for number in range(LAST_FREE_SURFACE, -1, -1) if number not in taken)


def _free_samplers(kernel: ZeKernel) -> Iterator[int]:
    taken = {entry.sampler_index for entry in kernel.payload}
    taken |= {sampler.sampler_index for sampler in kernel.inline_samplers}
    return iter([number for number in range(SAMPLER_TABLE_SIZE) if number not in taken])


def _next(numbers: Iterable[int], kernel: str) -> int:
    for number in numbers:
        return number
    raise UnsupportedError(f"kernel {kernel!r} finds more states by offsets than visim can number")
