"""Arguments for kernels of which nothing is known but their parameters: small, and in range.

Buffers hold small integers, so that they may be indices; numbers are 1. That is enough to run many
kernels, and to run them on two engines that have to agree.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import visim
from visim.campaign.outcomes import Outcome, Result
from visim.errors import FaultError
from visim.sanitize.findings import Finding

ITEMS = 64
BUFFER_BYTES = 1 << 16
SMALL = 8
"""Buffers hold integers below this, so that they may be indices within a small sub-group."""
FLOATS = {"half": "f2", "float": "f4", "double": "f8"}
_INTEGER = re.compile(r"u?(char|short|int|long)|size_t|bool|unsigned .*")


_BUDGET = 1_000_000
_MOST = 8


def run(program: visim.Program, sanitize: Any) -> Result:
    """Run all kernels of a program under sanitizers, on made-up arguments.

    A fault counts as one: such arguments may lead a correct kernel astray, and somebody has to see.

    Raises:
        VisimError: a kernel cannot be run.
    """
    found: list[tuple[str, Finding]] = []
    for kernel in program.kernels:
        try:
            arguments = [argument(parameter) for parameter in kernel.args]
            keywords: dict[str, Any] = {**geometry(kernel), "budget": _BUDGET, "workers": 1}
            report = kernel.launch(arguments, sanitize=sanitize, wait=True, **keywords)
        except FaultError as error:
            fault = error.fault
            text = f"{kernel.name}: {fault.category}/{fault.code}: {fault.message}"
            return Result(
                Outcome.FAULT, text, {"fault": {"code": f"{fault.category}/{fault.code}"}}
            )
        found += [(kernel.name, finding) for finding in report.findings if finding.counts]
    facts = {"kernels": len(program.kernels), "found": len(found)}
    if not found:
        return Result(Outcome.PASSED, facts=facts)
    message = "; ".join(f"{name}: {one.kind}: {one.message}" for name, one in found[:_MOST])
    listed = [{"kernel": name, **one.to_dict()} for name, one in found[:_MOST]]
    return Result(Outcome.FINDING, message, {**facts, "findings": listed})


def geometry(kernel: visim.Kernel) -> dict[str, Any]:
    """Return the sizes of a small launch."""
    facts = kernel.info()
    if not facts["has_metadata"]:
        return {"thread_groups": 1, "group_size": 1}
    required = facts["required_local_size"]
    return {"global_size": required or ITEMS}


def argument(parameter: Any) -> Any:
    """Return a value for a parameter."""
    match parameter.kind:
        case "buffer":
            return np.arange(BUFFER_BYTES // 4, dtype=np.uint32) % SMALL
        case "local":
            return visim.Local(1 << 12)
        case "sampler":
            return visim.Sampler()
        case "image":
            return _image(parameter.type_name)
        case _:
            return _value(parameter)


def _image(type_name: str) -> visim.Image:
    shape = {"image1d": (ITEMS, 4), "image3d": (4, 8, 8, 4)}
    for start, axes in shape.items():
        if type_name.startswith(start):
            return visim.Image(np.ones(axes, np.float32), kind=start.removeprefix("image"))
    return visim.Image(np.ones((8, 8, 4), np.float32))


def _value(parameter: Any) -> Any:
    """Return 1 for a number, zero bytes for anything else."""
    kind = parameter.type_name
    if kind in FLOATS:
        return np.dtype(FLOATS[kind]).type(1)
    return 1 if _INTEGER.fullmatch(kind) else bytes(parameter.size or 0)
