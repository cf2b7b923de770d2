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
from visim.module import Unit
from visim.operands import General
from visim.runtime.payload import places_of
from visim.target import Platform

_BARRIERS = {"barrier", "sbarrier"}


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
    places = places_of(entry, platform)
    end = places.cross_base + max((piece.offset + piece.size for piece in entry.payload), default=0)
    for one in unit.inputs:
        if places.is_local(one):
            continue
        if not places.is_cross(one) or not isinstance(one.variable, General):
            text = f"input {one.variable.name} at byte {one.offset} is no part of the payload"
            yield _finding("abi-input-unexplained", text, one.origin)
        elif one.offset + one.size > end:
            text = f"input {one.variable.name} ends at byte {one.offset + one.size}"
            yield _finding("abi-input-beyond", f"{text}, the payload at {end}", one.origin)
    file_bytes = entry.execution_env.grf_count * places.grf
    for one in unit.inputs:
        if one.offset + one.size > file_bytes:
            text = f"input {one.variable.name} ends at byte {one.offset + one.size}"
            text += f", the {entry.execution_env.grf_count} registers at {file_bytes}"
            yield _finding("abi-grf-count", text, one.origin)


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
