"""What the audit of a zebin's kernels reports; the audit itself needs the file's metadata.

The rules have no examples in text: what breaks them is a disagreement of text and metadata.
"""

from __future__ import annotations

from visim.check.rule import Rule, Scope
from visim.diag import Severity

_ZEINFO = "zebin specification, .ze_info, execution_env"
_PAYLOAD = "zebin specification, .ze_info, payload_arguments"


def _rule(code: str, passage: str, explanation: str, severity: Severity = Severity.ERROR) -> Rule:
    return Rule(code, severity, passage, explanation, "", "", Scope.ABI)


RULES = (
    _rule(
        "abi-simd-size",
        _ZEINFO,
        "SimdSize of the text is the simd_size by which a driver makes threads and local ids.",
    ),
    _rule(
        "abi-input-unexplained",
        _PAYLOAD,
        "Each input lies in a part of the payload that the metadata describes. Inputs of\n"
        "global barriers and of motion estimation are not; visim cannot launch such kernels.",
        Severity.WARNING,
    ),
    _rule(
        "abi-input-beyond",
        _PAYLOAD,
        "An input ends where the payload ends, or before. Compilers round sizes up.",
        Severity.NOTE,
    ),
    _rule(
        "abi-grf-count",
        _ZEINFO,
        "A thread has 128 registers, or another number that its device has (from dg2 on 256, from\n"
        "ptl on 32 to 256), and all inputs fit into them.",
    ),
    _rule(
        "abi-input-cut",
        _PAYLOAD,
        "An input has a whole piece of the payload, several, or lies within one.",
    ),
    _rule(
        "abi-payload-overlap",
        _PAYLOAD,
        "Pieces of the payload do not overlap.",
    ),
    _rule(
        "abi-payload-size",
        _PAYLOAD,
        "A piece of the payload has the size of what it is: addresses 8 bytes, offsets 4, sizes\n"
        "and ids of three dimensions 12.",
    ),
    _rule(
        "abi-local-ids",
        "zebin specification, .ze_info, per_thread_payload_arguments",
        "The local ids of a dimension fill whole registers, which the SIMD size tells.",
    ),
    _rule(
        "abi-scratch",
        "zebin specification, .ze_info, per_thread_memory_buffers",
        "The scratch memory of a thread has what the text reserves of it (SpillMemOffset).",
    ),
    _rule(
        "abi-barrier",
        _ZEINFO,
        "A kernel with barriers has a barrier_count: without one, a driver gives a group none.",
    ),
    _rule(
        "abi-slm",
        _ZEINFO,
        "A kernel that uses shared local memory has a slm_size or local arguments, and a slm_size\n"
        "is not less than the text's SLMSize.",
    ),
    _rule(
        "abi-stack-calls",
        _ZEINFO,
        "A kernel that calls functions has has_stack_calls: a driver gives it a stack for that.",
    ),
)
ABI_RULES = {rule.code: rule for rule in RULES}
