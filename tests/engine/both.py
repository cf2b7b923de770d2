"""One thread on both engines from the same registers, and kernels that it runs."""

from __future__ import annotations

import numpy as np

from visim.engine.base import Exit, Machine, RunOptions
from visim.engine.jit import Prepared
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness


def on_jit(
    kernel: harness.Kernel,
    registers: tuple[tuple[int, bytes], ...],
    mask: int,
    *,
    memory: Memory | None = None,
    slm_bytes: int = 0,
    options: RunOptions | None = None,
) -> tuple[Exit, np.ndarray]:
    """Run one thread on the JIT; return how it ended and its register image."""
    prepared = Prepared(kernel.linked, saving=True)
    start = harness.ThreadStart(registers, mask)
    machine = Machine(memory or Memory(), Surfaces())
    dispatch = harness.Group((start,), slm_bytes)
    ended = prepared.run([0], dispatch, machine, options or RunOptions())
    return ended, prepared.last.records[0].image


def on_interpreter(
    kernel: harness.Kernel,
    registers: tuple[tuple[int, bytes], ...],
    mask: int,
    *,
    memory: Memory | None = None,
    slm_bytes: int = 0,
    options: RunOptions | None = None,
) -> tuple[Exit, np.ndarray]:
    """Run one thread on the interpreter; return how it ended and its register image."""
    start = harness.ThreadStart(registers, mask)
    machine = Machine(memory or Memory(), Surfaces())
    dispatch = harness.Group((start,), slm_bytes)
    ended = kernel.prepared.run([0], dispatch, machine, options or RunOptions())
    return ended, kernel.prepared.context.image


def compare(kernel: harness.Kernel, values: dict[str, np.ndarray], mask: int) -> str | None:
    """Run both engines from the same registers; return what differs."""
    registers = tuple((kernel.place(name), array.tobytes()) for name, array in values.items())
    want, wanted = on_interpreter(kernel, registers, mask)
    got, image = on_jit(kernel, registers, mask)
    if (want.fault, want.executed) != (got.fault, got.executed):
        return f"ended {got}, interpreter {want}"
    for name, array in values.items():
        place = kernel.place(name)
        found = image[place : place + array.nbytes].view(array.dtype)
        expected = wanted[place : place + array.nbytes].view(array.dtype)
        if not np.array_equal(found, expected):
            return f"{name} is {found}, interpreter {expected}, mask {mask:#x}"
    return None


def arithmetic(line: str, kind: str, control: int) -> harness.Kernel:
    text = "\n".join(
        [
            ".version 4.1",
            '.kernel "k"',
            *(f".decl V{n} v_type=G type={kind} num_elts=16 align=wordx32" for n in (40, 41, 42)),
            ".kernel_attr SimdSize=16",
            '.function "k"',
            "k:",
            f"    mov (M1_NM, 1) %cr0(0,0)<1> 0x{control:x}:ud",
            f"    {line}",
            "    ret (M1, 1)",
        ]
    )
    return harness.assemble(text + "\n", "skl")


def store_kernel() -> harness.Kernel:
    text = "\n".join(
        [
            ".version 4.1",
            '.kernel "k"',
            ".decl V40 v_type=G type=uq num_elts=16 align=wordx32",
            ".decl V41 v_type=G type=ud num_elts=16 align=wordx32",
            ".kernel_attr SimdSize=16",
            '.function "k"',
            "k:",
            "    lsc_store.ugm (M1, 16)  flat[V40]:a64  V41:d32",
            "    ret (M1, 1)",
        ]
    )
    return harness.assemble(text + "\n", "pvc")
