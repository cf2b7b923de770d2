"""The audit of a zebin's kernels: does the vISA text keep to what the metadata promises?

A driver launches by the metadata alone, so that a kernel that disagrees with it reads arguments
that are not there, or waits at barriers that it never got. Facts: runtime_abi section 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.binary.zebin import ZeKernel
from visim.check.abi import ABI_RULES
from visim.check.flow import uses_slm
from visim.diag import Diagnostic, Origin
from visim.isa import Instruction
from visim.isa.flow import FunctionCall, IndirectFunctionCall
from visim.module import Input, Unit
from visim.operands import General
from visim.target import Platform

_BARRIERS = {"barrier", "sbarrier"}
_OLDER_FREE_REGISTERS = 2
_LATER_PLATFORMS = {"dg2", "pvc"}


def audit(entry: ZeKernel, unit: Unit, platform: Platform) -> Iterator[Diagnostic]:
    """Yield what a kernel's text and its metadata do not agree on."""
    yield from _simd_size(entry, unit)
    yield from _inputs(entry, unit, platform)
    yield from _resources(entry, unit)


def _finding(code: str, message: str, origin: Origin) -> Diagnostic:
    rule = ABI_RULES[code]
    return Diagnostic(code, rule.severity, message, origin, rule=rule.passage)


def _simd_size(entry: ZeKernel, unit: Unit) -> Iterator[Diagnostic]:
    promised = entry.execution_env.simd_size
    if unit.simd_size is not None and unit.simd_size != promised:
        text = f"SimdSize is {unit.simd_size}, the metadata says {promised}"
        yield _finding("abi-simd-size", text, unit.origin)


def _inputs(entry: ZeKernel, unit: Unit, platform: Platform) -> Iterator[Diagnostic]:
    """Each input lies in the local ids or in a piece of the cross-thread data."""
    grf = platform.grf_bytes
    local_ids = sum(piece.size for piece in entry.per_thread_payload)
    cross = grf + local_ids
    if not local_ids and platform.name not in _LATER_PLATFORMS:
        cross = _OLDER_FREE_REGISTERS * grf
    payload_end = cross + max((piece.offset + piece.size for piece in entry.payload), default=0)
    for one in unit.inputs:
        start, end = one.offset, one.offset + one.size
        is_local = grf <= start and end <= grf + local_ids
        is_cross = any(
            cross + piece.offset <= start < cross + piece.offset + piece.size
            for piece in entry.payload
        )
        if not is_local and not (is_cross and isinstance(one.variable, General)):
            text = f"input {one.variable.name} at byte {start} is no part of the payload"
            yield _finding("abi-input-unexplained", text, one.origin)
        elif is_cross and end > payload_end and not is_local:
            yield _beyond(one, payload_end)
    file_bytes = entry.execution_env.grf_count * grf
    for one in unit.inputs:
        if one.offset + one.size > file_bytes:
            text = f"input {one.variable.name} ends at byte {one.offset + one.size}"
            text += f", the {entry.execution_env.grf_count} registers at {file_bytes}"
            yield _finding("abi-grf-count", text, one.origin)


def _beyond(one: Input, payload_end: int) -> Diagnostic:
    text = f"input {one.variable.name} ends at byte {one.offset + one.size}"
    return _finding("abi-input-beyond", f"{text}, the payload at {payload_end}", one.origin)


def _resources(entry: ZeKernel, unit: Unit) -> Iterator[Diagnostic]:
    """Barriers, shared local memory and function calls are those that the metadata announces."""
    env = entry.execution_env
    has_local = bool(env.slm_size) or any(piece.addrspace == "local" for piece in entry.payload)
    has_local = has_local or any(piece.addrmode == "slm" for piece in entry.payload)
    expectations = (
        ("abi-barrier", bool(env.barrier_count), _is_barrier, "a barrier, of which there are 0"),
        ("abi-slm", has_local, uses_slm, "shared local memory, of which there are 0 bytes"),
        ("abi-stack-calls", env.has_stack_calls, _is_call, "a function call without a stack"),
    )
    for code, is_announced, applies, what in expectations:
        if is_announced:
            continue
        found = next((item for item in unit.body if applies(item)), None)
        if found is not None:
            yield _finding(code, f"{found.op.mnemonic} needs {what}", found.origin)


def _is_barrier(item: Instruction) -> bool:
    return item.op.mnemonic in _BARRIERS


def _is_call(item: Instruction) -> bool:
    return isinstance(item, FunctionCall | IndirectFunctionCall)
