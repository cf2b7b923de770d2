"""Opcodes that no instruction has, and what is known about why (specification 8).

An object with one of them is damaged, older than the versions that visim reads, or newer.
"""

_STRUCTURED = "of the structured control flow that GOTO has replaced"

FIRST_UNASSIGNED = 0x9D
#: What is known about a reserved opcode; all others below `FIRST_UNASSIGNED` are reserved only.
_HISTORY = {
    0x00: "so that zeros are never an instruction",
    0x3B: "it was DWORD_ATOMIC with a global offset; DWORD_ATOMIC is 0x7d now",
    0x61: f"it was ELSE {_STRUCTURED}",
    0x62: f"it was ENDIF {_STRUCTURED}",
    0x63: f"it was DO {_STRUCTURED}",
    0x64: f"it was WHILE {_STRUCTURED}",
    0x65: f"it was BREAK {_STRUCTURED}",
    0x66: f"it was CONT {_STRUCTURED}",
}
_PLAIN = (0x3D, 0x3E, 0x3F, 0x53, 0x58, 0x5E, 0x76, 0x77, 0x88, *range(0x8C, 0x90))
RESERVED = frozenset({*_HISTORY, *_PLAIN, *range(FIRST_UNASSIGNED, 0x100)})
"""Every opcode that is not an instruction's."""


def explain(code: int) -> str:
    """Return what to say of the opcode `code`, which is reserved."""
    if code >= FIRST_UNASSIGNED:
        return f"opcode 0x{code:02x} is reserved: no version of vISA has assigned it"
    history = _HISTORY.get(code)
    return f"opcode 0x{code:02x} is reserved" + (f": {history}" if history else "")
