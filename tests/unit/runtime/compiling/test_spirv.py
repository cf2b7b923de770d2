"""Modules that are not whole are refused before the compiler sees them (visim...spirv)."""

from __future__ import annotations

from array import array

import pytest

from tests.unit.runtime.compiling.spirv_modules import instruction, module
from visim.errors import ArgumentError, InputError
from visim.runtime.compiling.spirv import is_spirv, whole_module

LAST = len(instruction(253) + instruction(56))  # OpReturn, OpFunctionEnd
HEADER = 20


def big_endian() -> bytes:
    words = array("I", module())
    words.byteswap()
    return words.tobytes()


def without_kernels() -> bytes:
    """The header, capabilities and memory model of a module, which ends before its entry point."""
    return module()[: module().index(instruction(15, 6, 5, "fill"))]


def library() -> bytes:
    """The same for a module that others are linked with."""
    header, rest = without_kernels()[:HEADER], without_kernels()[HEADER:]
    return header + instruction(17, 5) + rest  # OpCapability Linkage


@pytest.mark.parametrize(
    "data", [module(), module() + bytes(12), library()], ids=["whole", "filled up", "library"]
)
def test_a_whole_module_is_left_as_it_is(data: bytes):
    assert whole_module(data, "k.spv") == data


def test_big_endian_words_are_turned_round():
    assert is_spirv(big_endian())
    assert whole_module(big_endian(), "k.spv") == module()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (module()[:4], "it has 4 bytes, which is not a header and whole words"),
        (module()[:-1], "which is not a header and whole words"),
        (
            module()[: -LAST - 4],
            f"the instruction at byte {len(module()) - LAST - 20} does not end",
        ),
        (module()[:-LAST], "it ends before the last of its functions does"),
        (module()[:76], "it ends before the last of its functions does"),
        (module()[:HEADER], "it ends before its memory model"),
        (without_kernels(), "it has no entry point, and no capability Linkage"),
        (module() + bytes(4) + instruction(253), f"the instruction at byte {len(module())}"),
    ],
    ids=[
        "magic",
        "bytes",
        "instruction",
        "function",
        "entry point",
        "header",
        "no kernels",
        "no length",
    ],
)
def test_a_module_that_is_not_whole_is_refused(data: bytes, said: str):
    with pytest.raises(
        InputError, match=r"k\.spv: this SPIR-V module is damaged or cut off"
    ) as one:
        whole_module(data, "k.spv")
    assert said in str(one.value)


def test_other_bytes_are_an_argument_error():
    with pytest.raises(ArgumentError, match="found 18 bytes of something else"):
        whole_module(b"kernel void f() {}", "k.spv")
