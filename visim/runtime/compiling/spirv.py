"""The frame of SPIR-V modules: what tells them from other files, and whether one is whole.

The compiler takes a module that was cut off for one without kernels, so this is looked at before.
Knows the lengths of instructions, which of them begin functions, and which all modules have; all
else is the compiler's.

Facts: SPIR-V 2.3 (physical layout of a module and of instructions), 2.4 (logical layout: a memory
model), 2.16.1 (an entry point, unless the module has the capability Linkage).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator

from visim.errors import ArgumentError, InputError

_MAGIC = 0x07230203
_LITTLE, _BIG = _MAGIC.to_bytes(4, "little"), _MAGIC.to_bytes(4, "big")
_HEADER_WORDS = 5
_MEMORY_MODEL, _ENTRY_POINT, _CAPABILITY, _FUNCTION, _FUNCTION_END = 14, 15, 17, 54, 56
_LINKAGE = 5
"""The capability of modules that are linked to others, which need not have entry points."""
_RESULT = 2
"""The operand, in words, that has the id of a function; an entry point names it there, too."""


def is_spirv(data: bytes) -> bool:
    """Whether a file begins as SPIR-V modules do, in either order of bytes."""
    return data.startswith((_LITTLE, _BIG))


def whole_module(data: bytes, name: str) -> bytes:
    """Return a module in little-endian words, as the compiler takes them.

    Args:
        data: the bytes of a file, in either order.
        name: what messages call it.

    Raises:
        ArgumentError: these are no bytes of SPIR-V.
        InputError: the module is not whole.
    """
    if not is_spirv(data):
        raise ArgumentError(
            "source: expected OpenCL C as a str, or a SPIR-V module as bytes (the first word of "
            f"which is 0x07230203), found {len(data)} bytes of something else"
        )
    if len(data) % 4 or len(data) < 4 * _HEADER_WORDS:
        raise _damaged(name, f"it has {len(data)} bytes, which is not a header and whole words")
    words = array("I", data)
    if data.startswith(_BIG) == (sys.byteorder == "little"):
        words.byteswap()
    _check_instructions(words, name)
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()


def _check_instructions(words: array[int], name: str) -> None:
    """Refuse modules that end within an instruction or a function, or before what all have."""
    missing: set[int] = set()
    has_model = has_entry = is_library = is_open = False
    for position, count, opcode in _instructions(words, name):
        operand = words[position + 1] if count > 1 else None
        if opcode == _MEMORY_MODEL:
            has_model = True
        elif opcode == _CAPABILITY:
            is_library |= operand == _LINKAGE
        elif opcode == _ENTRY_POINT and count > _RESULT:
            has_entry = True
            missing.add(words[position + _RESULT])
        elif opcode == _FUNCTION and count > _RESULT:
            missing.discard(words[position + _RESULT])
            is_open = True
        elif opcode == _FUNCTION_END:
            is_open = False
    if not has_model:
        raise _damaged(name, "it ends before its memory model")
    if not has_entry and not is_library:
        raise _damaged(name, "it has no entry point, and no capability Linkage to do without")
    if is_open or missing:
        raise _damaged(name, "it ends before the last of its functions does")


def _instructions(words: array[int], name: str) -> Iterator[tuple[int, int, int]]:
    """Yield where each instruction is, how many words it has, and its opcode."""
    position = _HEADER_WORDS
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        if not count and not any(words[position:]):
            return  # Files are filled up with zeros at times.
        if not count or position + count > len(words):
            raise _damaged(name, f"the instruction at byte {4 * position} does not end in it")
        yield position, count, opcode
        position += count


def _damaged(name: str, what: str) -> InputError:
    message = f"{name}: this SPIR-V module is damaged or cut off: {what}"
    return InputError(message, code="opencl-source")
