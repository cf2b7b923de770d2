"""SIMD instructions per second of the interpreter in straight loops of arithmetic, on one core.

Run it with `python -m benchmarks.interpreter` in the repository. The rate is that of the best of
several runs, by the processor time of this process; an instruction of execution size 32 counts
once.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from visim.diag import Source
from visim.engine.base import Machine, RunOptions, ThreadStart
from visim.engine.interp import Interpreter, Prepared
from visim.linker import link_kernel
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.target import platform
from visim.text.parser import read_text

ROUNDS = 5
TURNS = 2000
REPEATS = 8


@dataclass(frozen=True)
class Loop:
    """A loop whose body is one instruction, written `REPEATS` times."""

    name: str
    simd: int
    type: str
    instruction: str
    diverged: bool = False


#: 0.3, which keeps products and sums inexact and finite, and 3.
START = {"f": "0x3e99999a:f", "d": "0x3:d"}
VECTOR = "V41(0,0)<1;1,0>"
FLOAT = f"mad (M1, {{simd}}) V40(0,0)<1> V40(0,0)<1;1,0> {VECTOR} {VECTOR}"
INTEGER = f"add (M1, {{simd}}) V40(0,0)<1> V40(0,0)<1;1,0> {VECTOR}"
LOOPS = (
    Loop("mad f, SIMD16", 16, "f", FLOAT),
    Loop("mad f, SIMD32", 32, "f", FLOAT),
    Loop("mul f, SIMD16", 16, "f", FLOAT.replace("mad", "mul").rsplit(" ", 1)[0]),
    Loop("add d, SIMD16", 16, "d", INTEGER),
    Loop("add d, SIMD32", 32, "d", INTEGER),
    Loop("add d, SIMD16, half on", 16, "d", INTEGER, diverged=True),
)


def text_of(loop: Loop) -> str:
    """Return a kernel that executes `TURNS` turns of the loop."""
    line = "    " + loop.instruction.format(simd=loop.simd)
    lines = [
        ".version 4.1",
        '.kernel "loop"',
        f".decl V40 v_type=G type={loop.type} num_elts={loop.simd} align=wordx32",
        f".decl V41 v_type=G type={loop.type} num_elts={loop.simd} align=wordx32",
        ".decl V42 v_type=G type=d num_elts=1 align=dword",
        ".decl P1 v_type=P num_elts=32",
        f".kernel_attr SimdSize={loop.simd}",
        '.function "loop"',
        "loop:",
        "    or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud",
        f"    mov (M1, {loop.simd}) V41(0,0)<1> {START[loop.type]}",
        f"    mov (M1, {loop.simd}) V40(0,0)<1> V41(0,0)<1;1,0>",
        "    mov (M1_NM, 1) V42(0,0)<1> 0x0:d",
        "again:",
        *[line] * REPEATS,
        "    add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:d",
        f"    cmp.lt (M1_NM, 1) P1 V42(0,0)<0;1,0> 0x{TURNS:x}:d",
        "    (P1) goto (M1, 1) again",
        "    ret (M1, 1)",
    ]
    return "\n".join(lines) + "\n"


@dataclass
class OneThread:
    """A dispatch of a single thread whose registers are zero."""

    mask: int
    group_count: int = 1
    slm_bytes: int = 0
    kept: object = None

    def threads(self, group: int) -> int:
        """Return 1."""
        return 1

    def group_id(self, group: int) -> tuple[int, int, int]:
        """Return the origin."""
        return (0, 0, 0)

    def start(self, group: int, thread: int) -> ThreadStart:
        """Return a thread with empty registers."""
        return ThreadStart((), self.mask)


def prepared(loop: Loop) -> Prepared:
    """Return the loop's kernel, ready to run."""
    module = read_text(Source(loop.name, text_of(loop)))
    return Interpreter().prepare(link_kernel(module, module.kernels[0], platform("pvc")))


def rate(loop: Loop) -> float:
    """Return the executed SIMD instructions per second."""
    kernel, machine = prepared(loop), Machine(Memory(), Surfaces())
    dispatch = OneThread((1 << loop.simd) - 1)
    if loop.diverged:
        dispatch = replace(dispatch, mask=dispatch.mask & 0x55555555)
    best = 0.0
    for _ in range(ROUNDS):
        start = time.process_time()
        ended = kernel.run([0], dispatch, machine, RunOptions())
        elapsed = time.process_time() - start
        if ended.fault is not None:
            sys.exit(ended.fault.render())
        best = max(best, ended.executed / elapsed)
    return best


def main() -> None:
    """Measure every loop and print a table."""
    table = Table("loop", "instructions/s", "channels/s", "ns")
    for loop in LOOPS:
        found = rate(loop)
        channels = loop.simd // 2 if loop.diverged else loop.simd
        table.add_row(loop.name, f"{found:,.0f}", f"{found * channels:,.0f}", f"{1e9 / found:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
