"""States that kernels find by offsets in their payload."""

from __future__ import annotations

from struct import pack, unpack_from

import pytest

from visim.binary.zebin import ZeKernel
from visim.binary.zeinfo import (
    BindingTableIndex,
    ExecutionEnv,
    PayloadArgument,
    UserAttributes,
)
from visim.device.bindless import numbered
from visim.errors import UnsupportedError


def state(index: int, offset: int, space: str = "image") -> PayloadArgument:
    more = {"arg_index": index, "addrmode": "bindless", "addrspace": space}
    return PayloadArgument("arg_bypointer", offset, 8, **more)


def kernel(*entries: PayloadArgument, table: tuple[int, ...] = ()) -> ZeKernel:
    taken = tuple(BindingTableIndex(index, 0) for index in table)
    return ZeKernel(
        "k", "", ExecutionEnv(128, 16), entries, (), taken, (), (), UserAttributes(), args_info=()
    )


def test_states_get_numbers_that_the_binding_table_has_not() -> None:
    given = kernel(state(0, 0), state(1, 8, "sampler"), state(2, 16), table=(239,))
    payload, states = numbered(given, pack("<4Q", 0x2_00C5, 0x340, 0x2_0140, 77))
    assert unpack_from("<4Q", payload) == (238 * 64 + 5, 0, 237 * 64, 77)
    assert {n: (s.name, s.offset) for n, s in states.surfaces.items()} == {
        238: ("arg0", 0x2_00C0),
        237: ("arg2", 0x2_0140),
    }
    assert {n: (s.name, s.offset) for n, s in states.samplers.items()} == {0: ("arg1", 0x340)}


def test_a_payload_without_states_stays() -> None:
    payload, states = numbered(kernel(), b"1234")
    assert payload == b"1234"
    assert not states.surfaces
    assert not states.samplers


def test_more_states_than_numbers_are_refused() -> None:
    given = kernel(*(state(n, 8 * n, "sampler") for n in range(33)))
    with pytest.raises(UnsupportedError, match="kernel 'k' finds more states"):
        numbered(given, bytes(8 * 33))
