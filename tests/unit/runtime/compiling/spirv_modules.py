"""SPIR-V modules that tests make word by word; no tests."""

from __future__ import annotations

KERNEL, PHYSICAL_64, CROSS_WORKGROUP, ALIGNED = 6, 2, 5, 2


def instruction(opcode: int, *operands: int | str) -> bytes:
    """One instruction of SPIR-V: its length and opcode, then numbers and texts in whole words."""
    words = b"".join(
        one.to_bytes(4, "little")
        if isinstance(one, int)
        else one.encode() + bytes(4 - len(one) % 4)
        for one in operands
    )
    return ((len(words) // 4 + 1) << 16 | opcode).to_bytes(4, "little") + words


def module(addressing: int = PHYSICAL_64) -> bytes:
    """A SPIR-V 1.0 module as SYCL and Triton hand it on: kernel `fill` writes its number."""
    void, number, pointer, signature, fill, target, value, start = range(1, 9)
    head = (0x07230203, 0x10000, 0, 9, 0)
    return b"".join(word.to_bytes(4, "little") for word in head) + b"".join([
        instruction(17, 4), instruction(17, 6),  # OpCapability Addresses, Kernel
        instruction(14, addressing, 2),  # OpMemoryModel, OpenCL
        instruction(15, KERNEL, fill, "fill"),  # OpEntryPoint
        instruction(19, void), instruction(21, number, 32, 0),  # OpTypeVoid, OpTypeInt
        instruction(32, pointer, CROSS_WORKGROUP, number),  # OpTypePointer
        instruction(33, signature, void, pointer, number),  # OpTypeFunction
        instruction(54, void, fill, 0, signature),  # OpFunction
        instruction(55, pointer, target), instruction(55, number, value),  # OpFunctionParameter
        instruction(248, start), instruction(62, target, value, ALIGNED, 4),  # OpLabel, OpStore
        instruction(253), instruction(56),  # OpReturn, OpFunctionEnd
    ])  # fmt: skip
