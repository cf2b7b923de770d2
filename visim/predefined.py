"""The variables that every vISA program has without declaring them (specification 4).

Data only. Counts are those of 32-byte registers; `elements` gives them for other sizes. Names
follow the tools, not the pages: %tsc, %impl_arg_buf_ptr, %local_id_buf_ptr.
"""

from __future__ import annotations

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
)
# fmt: on

#: V0 to V20. Their indices are their places in this table.
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

#: Every name under which a text may mention a predefined variable: its own and its number.
BY_NAME: dict[str, Variable] = {
    **{f"V{variable.index}": variable for variable in GENERALS},
    **{f"T{variable.index}": variable for variable in SURFACES},
    **{variable.name: variable for variable in (*GENERALS, *SURFACES, BINDLESS_SAMPLER)},
}


def elements(variable: General, grf_bytes: int) -> int:
    """Return how many elements a predefined variable has with registers of `grf_bytes` bytes."""
    registers = WHOLE_REGISTERS.get(variable.name)
    if registers is None:
        return variable.count
    return registers * grf_bytes // variable.type.bytes
