"""The tools compile and check."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from visim.serve.answering.answers import BROKEN, FINDINGS, FINE, Answer, answer, described
from visim.serve.answering.launching import Clock
from visim.serve.answering.programs import load, verify
from visim.serve.requests import Check, Compile

if TYPE_CHECKING:
    from visim import Kernel


def compile_program(asked: Compile, _clock: Clock) -> Answer:
    """Compile or load a program, and say what its kernels take."""
    program = load(asked.program, "program")
    kernels = [_kernel(kernel) for kernel in program.kernels]
    warnings = described(program.warnings)
    more: dict[str, Any] = {}
    if "zebin" in asked.want:
        more["zebin"] = base64.b64encode(program.to_zebin()).decode()
    if "visa" in asked.want:
        more["visa"] = program.text()
    named = ", ".join(kernel.name for kernel in program.kernels) or "no kernels"
    summary = f"it compiles for {program.platform or 'any device'}: {named}"
    summary += f"; {len(warnings)} warnings" if warnings else ""
    return answer(
        FINE,
        summary,
        "run a kernel with its arguments; check verifies the code that the compiler made",
        device=program.platform,
        compiler=program.compiler,
        kernels=kernels,
        warnings=warnings or None,
        **more,
    )


def _kernel(kernel: Kernel) -> dict[str, Any]:
    form: dict[str, Any] = {"name": kernel.name, "simd_size": kernel.simd_size}
    form["args"] = [
        {"name": one.name, "kind": str(one.kind), "type": one.type_name, "size": one.size}
        for one in kernel.args
    ]
    facts = kernel.info()
    abi: dict[str, Any] = facts["abi"] or {}
    environment: dict[str, Any] = abi.get("execution_env", {})
    known = {name: facts[name] for name in ("slm_size", "barriers", "required_local_size")}
    known |= {name: environment.get(name) for name in ("grf_count", "private_size", "spill_size")}
    unsupported = [one["mnemonic"] for one in facts["not_executable"]]
    known["not_executable"] = list(dict.fromkeys(unsupported))
    return form | {"instructions": facts["instructions"]} | {k: v for k, v in known.items() if v}


def check(asked: Check, _clock: Clock) -> Answer:
    """Verify a program: all that is wrong with it by itself."""
    found = verify(asked.program, "program")
    shown = found if asked.notes else found.without_notes()
    diagnostics = described(shown)
    if found.errors:
        verdict, what = BROKEN, f"{len(found.errors)} errors"
        first = found.errors[0]
        advice = first.help or f"mend the line and check again; explain {first.code} says more"
        summary = f"{what}; the first: {first.message} [{first.code}]"
    elif len(found.without_notes()):
        verdict, first = FINDINGS, next(iter(found.without_notes()))
        summary = f"{len(found.without_notes())} warnings; the first: {first.message}"
        advice = first.help or "mend it, or run the kernel as it is"
    else:
        verdict, summary = FINE, "nothing is wrong with the program by itself"
        advice = "run a kernel with its arguments"
    return answer(verdict, summary, advice, diagnostics=diagnostics)
