"""The hosts that code is made for: what their machines and processors have, one entry each.

A *machine* is what all processors of a kind have in common: how a thread leaves its stack, where
the rounding mode is, the numbers of system calls. Machines are named here alone; what a single
processor has is asked of it in `common.native`.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from visim.engine.rounding import Rounding


@dataclass(frozen=True, slots=True)
class Stacks:
    """How code leaves one stack for another, as assembly.

    `switch` has in its three operands the worker's context, the thread's place of registers to go
    on with, and that to leave; they are its results, too. A place holds the stack pointer, the
    register of frames, the one in which LLVM may keep the address of a function's variables, and
    where to go on, in this order. What else code keeps in registers LLVM saves around it, since
    they are named as `lost`: so there is no call, whose return the processor would predict wrongly.

    `begin` is where a new thread goes on: it calls what the place holds for variables, with the
    context and the thread, whose record begins `$PLACE$` bytes in front of its place. That does not
    return. `$$` is a dollar sign for LLVM.
    """

    switch: tuple[str, ...]
    operands: tuple[str, str, str]
    lost: tuple[str, ...]
    begin: tuple[str, ...]

    @property
    def constraints(self) -> str:
        """What LLVM has to know of the registers of `switch`."""
        results = (f"={{{name}}}" for name in self.operands)
        return ",".join((*results, "0,1,2", *(f"~{{{name}}}" for name in self.lost)))


@dataclass(frozen=True, slots=True)
class RoundingRegister:
    """The register that says how floats are rounded, where denormals count and nothing traps.

    `write` is LLVM's intrinsic that sets it, to a number of type `kind` or to one in memory (a
    `ptr`); `numbers` are those of the modes. `name` is what names of constants begin with.
    """

    name: str
    write: str
    kind: str
    numbers: dict[Rounding, int]


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """The numbers of Linux's system calls."""

    futex: int
    sched_setattr: int
    sched_getattr: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What all processors of a kind have in common.

    `known_as` are its names in operating systems, `least` is LLVM's name of the least processor.
    `stacks` is None where threads have none of their own, `rounding` where LLVM has to know how
    rounding modes are set. `rest` is an instruction for loops that wait, of some 20 ns, and
    `declared` what it needs. `has_word_products` says that there is
    an instruction that adds two products of words, `lists_features` that LLVM finds what a
    processor has by its code, and `always_fuses` that each rounds a product and a sum at once.
    """

    name: str
    known_as: tuple[str, ...]
    least: str
    calls: SystemCalls
    stacks: Stacks | None = None
    rounding: RoundingRegister | None = None
    rest: str = ""
    declared: str = ""
    has_word_products: bool = False
    lists_features: bool = False
    always_fuses: bool = True


X86_64 = Machine(
    name="x86-64",
    known_as=("x86_64", "amd64"),
    least="x86-64",
    calls=SystemCalls(futex=202, sched_setattr=314, sched_getattr=315),
    stacks=Stacks(
        switch=(
            "leaq 1f(%rip), %rax",
            "movq %rsp, (%rdx)",
            "movq %rbp, 8(%rdx)",
            "movq %rbx, 16(%rdx)",
            "movq %rax, 24(%rdx)",
            "movq (%rsi), %rsp",
            "movq 8(%rsi), %rbp",
            "movq 16(%rsi), %rbx",
            "jmpq *24(%rsi)",
            "1:",
        ),
        operands=("rdi", "rsi", "rdx"),
        lost=(
            *("rax", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
            *(f"xmm{number}" for number in range(32)),
            *(f"k{number}" for number in range(8)),
            *("dirflag", "fpsr", "flags", "memory"),
        ),
        begin=("subq $$$PLACE$, %rsi", "pushq $$0", "jmpq *%rbx"),
    ),
    rounding=RoundingRegister(
        name="mxcsr",
        write="llvm.x86.sse.ldmxcsr",
        kind="ptr",
        numbers={
            Rounding.NEAREST_EVEN: 0x1F80,
            Rounding.DOWN: 0x3F80,
            Rounding.UP: 0x5F80,
            Rounding.ZERO: 0x7F80,
        },
    ),
    rest="call void @llvm.x86.sse2.pause()",
    declared="declare void @llvm.x86.sse2.pause()",
    has_word_products=True,
    lists_features=True,
    always_fuses=False,
)

AARCH64 = Machine(
    name="AArch64",
    known_as=("aarch64", "arm64"),
    least="generic",
    calls=SystemCalls(futex=98, sched_setattr=274, sched_getattr=275),
    stacks=Stacks(
        switch=(
            "adr x9, 1f",
            "mov x10, sp",
            "stp x10, x29, [x2]",
            "stp x19, x9, [x2, #16]",
            "ldp x10, x29, [x1]",
            "ldp x19, x9, [x1, #16]",
            "mov sp, x10",
            "br x9",
            "1:",
        ),
        operands=("x0", "x1", "x2"),
        lost=(
            *(f"x{number}" for number in range(3, 19)),
            *(f"x{number}" for number in range(20, 29)),
            "lr",  # LLVM knows it by no other name, and says nothing of names that it does not know
            *(f"q{number}" for number in range(32)),
            *(f"p{number}" for number in range(16)),
            *("nzcv", "ffr", "memory"),
        ),
        begin=("sub x1, x1, #$PLACE$", "mov x29, xzr", "mov x30, xzr", "br x19"),
    ),
    rounding=RoundingRegister(
        name="fpcr",
        write="llvm.aarch64.set.fpcr",
        kind="i64",
        numbers={
            Rounding.NEAREST_EVEN: 0,
            Rounding.UP: 1 << 22,
            Rounding.DOWN: 2 << 22,
            Rounding.ZERO: 3 << 22,
        },
    ),
    # A hint to yield costs nothing on most processors; this one waits until others are done.
    rest="call void @llvm.aarch64.isb(i32 15)",
    declared="declare void @llvm.aarch64.isb(i32)",
)

OTHER = Machine(name="other", known_as=(), least="generic", calls=SystemCalls(0, 0, 0))
"""Any other machine: its threads have no stacks of their own."""

MACHINES = (X86_64, AARCH64)


def machine_named(name: str) -> Machine:
    """Return the machine that an operating system calls so."""
    return next((one for one in MACHINES if name.lower() in one.known_as), OTHER)


HERE = machine_named(platform.machine())
"""The machine of this host."""
