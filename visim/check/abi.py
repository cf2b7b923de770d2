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
        "All inputs fit into the registers that a thread has.",
    ),
    _rule(
        "abi-barrier",
        _ZEINFO,
        "A kernel with barriers has a barrier_count: without one, a driver gives a group none.",
    ),
    _rule(
        "abi-slm",
        _ZEINFO,
        "A kernel that uses shared local memory has a slm_size or local arguments.",
    ),
    _rule(
        "abi-stack-calls",
        _ZEINFO,
        "A kernel that calls functions has has_stack_calls: a driver gives it a stack for that.",
    ),
)
ABI_RULES = {rule.code: rule for rule in RULES}
