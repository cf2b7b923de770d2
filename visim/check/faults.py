"""What stops a run, explained like rules: the codes of faults, which engines find when they run."""

from __future__ import annotations

from visim.check.rule import Rule, Scope
from visim.diag import Severity


def _fault(code: str, passage: str, explanation: str) -> Rule:
    return Rule(code, Severity.ERROR, passage, explanation, "", "", Scope.FAULT)


FAULTS = (
    _fault(
        "memory-access",
        "vISA 6, the message's page",
        "An access to flat, shared local or scratch memory lies within one array of the launch,\n"
        "or within what the group or thread has, is aligned as the message asks, and writes no\n"
        "read-only array. A surface has something bound to it; what is out of range in one is\n"
        "no fault: it reads 0, and the report counts it.",
    ),
    _fault(
        "register-access",
        "vISA 5, Indirect Operands",
        "An address points into the variable whose address it was made of.",
    ),
    _fault(
        "not-executable",
        "docs/coverage.md",
        "An instruction is one that visim executes; `visim info FILE` lists before a run those\n"
        "that are not. As undefined/not-executable the specification gives it no meaning, as\n"
        "unsupported/not-executable visim has none yet.",
    ),
    _fault(
        "inexact-instruction",
        "docs/fidelity.md",
        "With `--require-exact` (`require_exact=True`) a kernel has only instructions whose\n"
        "results are the same, bit for bit, on every device.",
    ),
    _fault(
        "instruction-budget",
        "visim run --budget",
        "A hardware thread executes no more instructions than `budget` allows.",
    ),
    _fault(
        "timeout",
        "visim run --timeout",
        "A launch runs no longer than `timeout` seconds.",
    ),
    _fault(
        "call-depth",
        "vISA 6, CALL and FCALL",
        "Calls that are open at the same time are no more than visim keeps track of; endless\n"
        "recursion has more.",
    ),
    _fault(
        "bad-function-handle",
        "vISA 6, IFCALL",
        "An indirect call gets what FADDR has given of a function.",
    ),
    _fault(
        "switch-index",
        "vISA 6, SWITCHJMP",
        "The index of a switchjmp is that of one of its labels.",
    ),
    _fault(
        "barrier-deadlock",
        "vISA 6, BARRIER",
        "Threads that wait at a barrier are joined by all others that have to come to it. The\n"
        "message says who waits where, and for whom.",
    ),
    _fault(
        "barrier-misuse",
        "vISA 6, BARRIER, SBARRIER and NBARRIER",
        "Signals and waits of split-phase and named barriers come in pairs, with numbers and\n"
        "counts that all threads of a group agree on.",
    ),
    _fault(
        "fused-apart",
        "vISA 6, the message's page",
        "Both threads of a fused pair come to an instruction that they execute together.",
    ),
    _fault(
        "printf-record",
        "OpenCL C, printf",
        "What a kernel leaves in its printf buffer is a format of the program and values that\n"
        "fit.",
    ),
    _fault(
        "assertion-failed",
        "the compiler's library for assertions",
        "What the program asserts holds in all work-items. All groups run before this is looked\n"
        "at, as a driver does; the message has the text of the assertions.",
    ),
    _fault(
        "cancelled",
        "LaunchHandle.cancel",
        "The launch was cancelled before it was done; arrays hold what it had written by then.",
    ),
    _fault(
        "interrupted",
        "Ctrl-C",
        "The launch was interrupted before it was done; arrays hold what it had written by\nthen.",
    ),
)
