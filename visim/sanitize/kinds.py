"""What sanitizers find: each kind with its severity, its sentence and its advice, declared once.

Also reads what callers ask for. Knows no launch and no engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

from visim.diag import Severity
from visim.errors import ArgumentError, shown
from visim.lex import nearest

DETECTORS = ("races", "uninit", "bounds", "barriers", "undefined")
"""What `sanitize=` names: each is a detector, and "all" is all of them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of finding: the detector that finds it, what it is, and what to do about it."""

    name: str
    detector: str
    severity: Severity
    sentence: str
    advice: str


def _rows() -> tuple[Kind, ...]:
    error, warning, note = Severity.ERROR, Severity.WARNING, Severity.NOTE
    # fmt: off
    return (
        Kind("race-global", "races", error,
             "two work-items access the same bytes of global memory in no order",
             "give each work-item bytes of its own, put barrier(CLK_GLOBAL_MEM_FENCE) between the "
             "accesses of one group, or end the kernel between those of several groups"),
        Kind("race-local", "races", error,
             "two work-items access the same bytes of local memory in no order",
             "put barrier(CLK_LOCAL_MEM_FENCE) between the two accesses"),
        Kind("race-same-value", "races", warning,
             "several work-items write the same value to the same bytes in no order",
             "let one work-item write it, or use an atomic"),
        Kind("race-lockstep", "races", note,
             "work-items of one hardware thread access the same bytes, ordered by nothing but the "
             "thread's lockstep",
             "put a barrier, or sub_group_barrier, between the accesses; another compiler or "
             "device may run these work-items in other threads"),
        Kind("race-scope", "races", note,
             "two work-groups access the same bytes, ordered by fences that reach one work-group",
             "release and acquire with a scope of the device, by atomics of OpenCL 2.0 "
             "(memory_scope_device) or SYCL (memory_scope::device); mem_fence reaches one group"),
        Kind("atomic-plain", "races", error,
             "an atomic and a plain access to the same bytes are in no order",
             "make both accesses atomic, or put a barrier between them"),
        Kind("uninit-local", "uninit", error,
             "a value from local memory that nothing has written decides something",
             "write the local memory first, and put barrier(CLK_LOCAL_MEM_FENCE) behind that"),
        Kind("uninit-global", "uninit", error,
             "a value from a buffer that nothing has written decides something",
             "fill the buffer on the host, or let the kernel write it before it reads it"),
        Kind("uninit-private", "uninit", error,
             "a private variable or array is used that nothing has written",
             "give the variable a value where it is declared"),
        Kind("oob-read", "bounds", error,
             "a read outside of its buffer",
             "guard the access with the buffer's size, or make the buffer larger"),
        Kind("oob-write", "bounds", error,
             "a write outside of its buffer",
             "guard the access with the buffer's size, or make the buffer larger"),
        Kind("oob-local", "bounds", error,
             "an access outside of its local array",
             "guard the access with the array's size, or make the array larger"),
        Kind("oob-sub-buffer", "bounds", error,
             "an access outside of its sub-buffer, in the buffer that it is part of",
             "guard the access with the sub-buffer's size"),
        Kind("barrier-divergence", "barriers", error,
             "not all work-items of a group come to the same barrier",
             "move the barrier out of the branch, and return only behind the last barrier"),
        Kind("division-by-zero", "undefined", note,
             "an integer is divided by zero",
             "test the divisor first"),
        Kind("shift-range", "undefined", note,
             "a shift by more bits than there are: the device takes the count's low bits",
             "test the count first, or mask it where that is meant"),
        Kind("conversion-range", "undefined", note,
             "a float is converted that the integer type has no value for",
             "clamp the value first, or convert with saturation (convert_int_sat)"),
        Kind("misaligned", "undefined", note,
             "a vector or block in memory is not aligned to its elements",
             "align the pointer, or load with vload"),
        Kind("null-operand", "undefined", note,
             "an instruction computes with %null, which has no value",
             "name a variable"),
        Kind("printf-overflow", "undefined", note,
             "output of printf is lost for which the buffer has no room",
             "print less in one group"),
    )
    # fmt: on


KINDS = {kind.name: kind for kind in _rows()}


def read_sanitize(value: object) -> tuple[str, ...]:
    """Return the detectors that a caller asks for, in their order; none for None.

    Raises:
        ArgumentError: it is neither "all" nor names of detectors.
    """
    if value is None:
        return ()
    given = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, Iterable):
        raise _wrong(value)
    names = list(cast("Iterable[object]", given))
    for name in names:
        if not isinstance(name, str):
            raise _wrong(value)
        if name not in {*DETECTORS, "all"}:
            raise _unknown(name)
    return tuple(name for name in DETECTORS if name in names or "all" in names)


def read_kinds(value: object) -> tuple[str, ...]:
    """Return the kinds that a caller names, or patterns of them, in the table's order.

    Raises:
        ArgumentError: no kind is called so.
    """
    given = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, Iterable):
        raise ArgumentError(f"sanitize_errors: expected names of kinds, found {shown(value)}")
    found: set[str] = set()
    for pattern in cast("Iterable[object]", given):
        text = pattern if isinstance(pattern, str) else ""
        fitting = {name for name in KINDS if fnmatchcase(name, text)}
        if not fitting:
            near = nearest(text, KINDS)
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(KINDS)}"
            raise ArgumentError(
                f"sanitize_errors: no kind of finding is called {shown(pattern)}; {hint}"
            )
        found |= fitting
    return tuple(name for name in KINDS if name in found)


def _wrong(value: object) -> ArgumentError:
    return ArgumentError(f"sanitize: expected 'all' or a list of names, found {shown(value)}")


def _unknown(name: str) -> ArgumentError:
    near = nearest(name, DETECTORS)
    hint = f"did you mean {near!r}?" if near else f"known: all, {', '.join(DETECTORS)}"
    return ArgumentError(f"sanitize: there is no sanitizer {shown(name)}; {hint}")


def order_of(kind: str) -> int:
    """Return where a kind stands in the table: findings are listed in that order."""
    return _ORDER[kind]


_ORDER = {name: place for place, name in enumerate(KINDS)}

__all__ = ["DETECTORS", "KINDS", "Kind", "order_of", "read_kinds", "read_sanitize"]
