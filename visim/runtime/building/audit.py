"""The audit of a zebin's kernels: does the vISA text keep to what the metadata promises?

A driver launches by the metadata alone, so that a kernel that disagrees with it reads arguments
that are not there, or waits at barriers that it never got. Facts: docs/kernel-abi.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from visim.binary.zebin import PayloadArgument, ZeKernel
from visim.check.abi import ABI_RULES
from visim.check.flow import BARRIERS, uses_slm
from visim.diag import Diagnostic, Origin
from visim.isa import Instruction
from visim.isa.flow import FunctionCall, IndirectFunctionCall
from visim.module import Unit
from visim.operands import General
from visim.runtime.payload.layout import Places, dimension_bytes, is_unused, places_of
from visim.target import Platform

_POINTER, _NUMBER, _TRIPLE = 8, 4, 12
_PIECE_BYTES = {
    **dict.fromkeys(("arg_bypointer", "buffer_address", "printf_buffer"), _POINTER),
    **dict.fromkeys(("private_base_stateless", "assert_buffer", "buffer_size"), _POINTER),
    **dict.fromkeys(("const_base", "global_base"), _POINTER),
    **dict.fromkeys(("buffer_offset", "work_dimensions"), _NUMBER),
    **dict.fromkeys(("global_id_offset", "local_size", "enqueued_local_size"), _TRIPLE),
    **dict.fromkeys(("global_size", "group_count"), _TRIPLE),
}
# What code for 32-bit addresses has where visim, as drivers of today, has 64-bit ones.
_NARROW = (_POINTER // 2, _POINTER)
_COMPILE_WIDE = (
    "the kernel was compiled for 32-bit addresses, which visim does not have; compile it with"
    " ocloc -64, or from SPIR-V whose memory model is Physical64"
)
_KIB = 1024


def audit(entry: ZeKernel, unit: Unit, platform: Platform) -> Iterator[Diagnostic]:
    """Yield what a kernel's text and its metadata do not agree on."""
    yield from _simd_size(entry, unit)
    yield from _inputs(entry, unit, platform)
    yield from _payload(entry, unit, platform)
    yield from _resources(entry, unit)
    yield from _sizes(entry, unit, platform)


def _finding(code: str, message: str, origin: Origin, helps: str | None = None) -> Diagnostic:
    rule = ABI_RULES[code]
    return Diagnostic(code, rule.severity, message, origin, help=helps, rule=rule.passage)


def _simd_size(entry: ZeKernel, unit: Unit) -> Iterator[Diagnostic]:
    promised = entry.execution_env.simd_size
    if unit.simd_size is not None and unit.simd_size != promised:
        text = f"SimdSize is {unit.simd_size}, the metadata says {promised}"
        yield _finding("abi-simd-size", text, unit.origin)


def _inputs(entry: ZeKernel, unit: Unit, platform: Platform) -> Iterator[Diagnostic]:
    """Each input lies in the local ids or in a piece of the cross-thread data."""
    places = places_of(entry, unit.inputs, platform)
    last = max((piece.offset + piece.size for piece in entry.payload), default=0)
    end = places.register_byte(last)
    for one in unit.inputs:
        if places.is_local(one) or is_unused(unit, one):
            continue
        if not places.is_cross(one) or not isinstance(one.variable, General):
            text = f"input {one.variable.name} at byte {one.offset} is not part of the payload"
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


def _payload(entry: ZeKernel, unit: Unit, platform: Platform) -> Iterator[Diagnostic]:
    """Pieces of the payload lie apart and have their sizes, and inputs do not cut them."""
    places = places_of(entry, unit.inputs, platform)
    pieces = sorted((one for one in entry.payload if one.size), key=lambda one: one.offset)
    for before, after in pairwise(pieces):
        if before.offset + before.size > after.offset:
            text = f"{_name(after)} at byte {after.offset} of the payload overlaps {_name(before)}"
            yield _finding("abi-payload-overlap", text, unit.origin)
    for piece in pieces:
        wanted = _PIECE_BYTES.get(piece.arg_type, piece.size)
        # Offsets in a heap or in local memory have 4 or 8 bytes.
        is_offset = piece.addrmode in {"bindless", "slm"}
        if piece.size != wanted and not is_offset:
            text = f"{_name(piece)} has {piece.size} bytes, {piece.arg_type} takes {wanted}"
            helps = _COMPILE_WIDE if (piece.size, wanted) == _NARROW else None
            yield _finding("abi-payload-size", text, unit.origin, helps)
    yield from _cut_inputs(unit, pieces, places)


def _cut_inputs(
    unit: Unit, pieces: Sequence[PayloadArgument], places: Places
) -> Iterator[Diagnostic]:
    for one in unit.inputs:
        start = places.start(one)
        end = start + one.size
        for piece in pieces:
            first, last = piece.offset, piece.offset + piece.size
            is_apart = last <= start or end <= first
            is_within = (start <= first and last <= end) or (first <= start and end <= last)
            if not is_apart and not is_within:
                text = f"input {one.variable.name} has a part of {_name(piece)} only, which is at"
                text += f" byte {places.register_byte(first)} of the registers"
                yield _finding("abi-input-cut", text, one.origin)


def _name(piece: PayloadArgument) -> str:
    """Return what a piece of the payload is, for messages."""
    return piece.arg_type if piece.arg_index < 0 else f"argument {piece.arg_index}"


def _sizes(entry: ZeKernel, unit: Unit, platform: Platform) -> Iterator[Diagnostic]:
    """Registers, local ids, scratch and shared local memory have the sizes that the text needs."""
    env, places = entry.execution_env, places_of(entry, unit.inputs, platform)
    legal = platform.grf_counts
    if env.grf_count not in legal:
        text = f"{env.grf_count} registers; threads of {platform.name} have"
        yield _finding("abi-grf-count", f"{text} {' or '.join(map(str, legal))}", unit.origin)
    dimension = dimension_bytes(platform, env.simd_size)
    if places.local_id_bytes % dimension or places.local_id_bytes > 3 * dimension:
        text = f"local ids of {places.local_id_bytes} bytes; {env.simd_size} channels take"
        yield _finding("abi-local-ids", f"{text} {dimension} for a dimension", unit.origin)
    scratch = sum(one.size for one in entry.per_thread_memory if one.type == "scratch")
    reserved = unit.attribute("SpillMemOffset")
    if isinstance(reserved, int) and reserved > scratch:
        text = f"SpillMemOffset is {reserved}, a thread has {scratch} bytes of scratch"
        yield _finding("abi-scratch", text, unit.origin)
    local = unit.attribute("SLMSize")
    if isinstance(local, int) and local * _KIB > env.slm_size and not _has_local_arguments(entry):
        text = f"SLMSize is {local} KiB, the metadata says {env.slm_size} bytes"
        yield _finding("abi-slm", text, unit.origin)


def _has_local_arguments(entry: ZeKernel) -> bool:
    return any(one.addrspace == "local" or one.addrmode == "slm" for one in entry.payload)


def _resources(entry: ZeKernel, unit: Unit) -> Iterator[Diagnostic]:
    """Barriers, shared local memory and function calls are those that the metadata announces."""
    env = entry.execution_env
    has_local = bool(env.slm_size) or _has_local_arguments(entry)
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
    return item.op.mnemonic in BARRIERS


def _is_call(item: Instruction) -> bool:
    return isinstance(item, FunctionCall | IndirectFunctionCall)
