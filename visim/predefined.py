"""The variables that every vISA program has without declaring them (specification 4).

Data only. Counts are those of 32-byte registers; `elements` gives them for other sizes. Names
follow the tools, not the pages: %tsc, %impl_arg_buf_ptr, %local_id_buf_ptr.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from visim.operands import General, SamplerVariable, SurfaceVariable, Variable
from visim.types import UD, UQ, UW, DataType

# fmt: off
_GENERALS: tuple[tuple[str, DataType, int], ...] = (
    # name                type  elements with 32-byte registers
    ("%null",             UD,   1),
    ("%thread_x",         UW,   1),
    ("%thread_y",         UW,   1),
    ("%group_id_x",       UD,   1),
    ("%group_id_y",       UD,   1),
    ("%group_id_z",       UD,   1),
    ("%tsc",              UD,   5),
    ("%r0",               UD,   8),
    ("%arg",              UD,   256),
    ("%retval",           UD,   96),
    ("%sp",               UQ,   1),
    ("%fp",               UQ,   1),
    ("%hw_id",            UD,   1),
    ("%sr0",              UD,   4),
    ("%cr0",              UD,   1),
    ("%ce0",              UD,   1),
    ("%dbg0",             UD,   2),
    ("%color",            UW,   1),
    ("%impl_arg_buf_ptr", UQ,   1),
    ("%local_id_buf_ptr", UQ,   1),
    ("%msg0",             UD,   3),
    ("%scratchloc",       UQ,   1),
)
# fmt: on

#: V0 to V21, as version 4.2 has them. Their indices are their places in this table.
GENERALS = tuple(
    General(name, kind, count, index=index) for index, (name, kind, count) in enumerate(_GENERALS)
)
#: T0 to T5.
SURFACES = tuple(
    SurfaceVariable(name, 1, index=index)
    for index, name in enumerate(("%slm", "T1", "T2", "TSS", "%bss", "%scratch"))
)
#: %bss stands for surfaces whose state is found through memory; it holds the offset of one.
BINDLESS_SURFACE = SURFACES[4]
#: S31 stands for samplers whose state is found through memory.
BINDLESS_SAMPLER = SamplerVariable("S31", 1, index=31)

#: Predefined variables that fill whole registers, with the number of those registers.
WHOLE_REGISTERS = {"%r0": 1, "%arg": 32, "%retval": 12}

_FIRST_OF_4_2 = 21


def generals(version: tuple[int, int]) -> tuple[General, ...]:
    """Return the predefined general variables that texts and objects of `version` have."""
    return GENERALS if version >= (4, 2) else GENERALS[:_FIRST_OF_4_2]


#: Every name under which a text may mention a predefined variable: its own and its number.
BY_NAME: dict[str, Variable] = {
    **{f"V{variable.index}": variable for variable in GENERALS},
    **{f"T{variable.index}": variable for variable in SURFACES},
    **{variable.name: variable for variable in (*GENERALS, *SURFACES, BINDLESS_SAMPLER)},
}


@cache
def by_name(version: tuple[int, int]) -> Mapping[str, Variable]:
    """Return the variables by every name under which a text of `version` may mention them."""
    missing = GENERALS[len(generals(version)) :]
    return {name: variable for name, variable in BY_NAME.items() if variable not in missing}


def elements(variable: General, grf_bytes: int) -> int:
    """Return how many elements a predefined variable has with registers of `grf_bytes` bytes."""
    registers = WHOLE_REGISTERS.get(variable.name)
    if registers is None:
        return variable.count
    return registers * grf_bytes // variable.type.bytes
