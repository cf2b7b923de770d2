"""Which units are emitted from MIR, and what passes their MIR goes through."""

from __future__ import annotations

from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.lift.unit import lift_unit
from visim.engine.jit.mir.pipeline import PASSES
from visim.engine.jit.mir.values import Function
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.functions import ModuleFrame, full_entries
from visim.engine.jit.writing.versions import Version

LEAST_STEPS = 3000
"""Programs of so many instructions are long."""


def takes_mir(version: Version, steps: int) -> bool:
    """Whether a version of a program of so many instructions is emitted from MIR if it can be.

    Not where registers are saved for who looks at them: those of a fault are the first ones.
    """
    if not version.runs(Pass.MIR) or version.watched or version.in_step:
        return False
    if not version.runs(Pass.GRAPHS):
        return True
    return steps >= LEAST_STEPS and not version.saving


def optimised(module: ModuleFrame, flow: Flow) -> Function:
    """Return a unit as MIR behind the passes that a version runs.

    Raises:
        NotLifted: the unit does what MIR does not say.
    """
    version, is_kernel = module.version, flow.code.unit.number == 0
    function = lift_unit(
        module.kernel,
        flow,
        shares=module.has_calls,
        saving=version.saving and is_kernel,
        full=flow.start[0] in full_entries(module, flow),
    ).function
    for one in PASSES:
        if one.name not in version.off:
            function = one.run(function)
    return function


__all__ = ["LEAST_STEPS", "optimised", "takes_mir"]
