"""A kernel and the functions that it calls as MIR."""

from __future__ import annotations

from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.analysis.exploring import explore
from visim.engine.jit.lift.unit import Lifted, lift_unit
from visim.engine.jit.mir.pipeline import passes_until, run_passes
from visim.engine.jit.mir.printer import function_text
from visim.engine.jit.mir.verifier import verify
from visim.engine.jit.passes import Off
from visim.linker.program import LinkedKernel


def lift_program(
    kernel: LinkedKernel, off: Off = (), *, saving: bool = False
) -> dict[tuple[int, int], Lifted]:
    """Return the units of a program as MIR, by number and the %cr0 that they begin with.

    Args:
        kernel: the program.
        off: passes over the traced instructions that are left out.
        saving: whether the kernel's threads leave their variables in memory when they end.

    Raises:
        NotLifted: a unit does what MIR does not say.
        UnsupportedError: the JIT does not know the control flow.
    """
    codes = [UnitCode(kernel, unit, pairs=not saving, off=off) for unit in kernel.units]
    flows = explore(kernel, codes)
    shares = len(flows) > 1
    return {
        key: lift_unit(kernel, flow, shares=shares, saving=saving and not key[0])
        for key, flow in flows.items()
    }


def program_text(kernel: LinkedKernel, after: str | None = None) -> str:
    """Return the units of a program as the text of their MIR.

    Args:
        kernel: the program.
        after: the pass behind which it is shown; None: the last one.

    Raises:
        ArgumentError: there is no such pass.
        NotLifted: a unit does what MIR does not say.
    """
    passes = passes_until(after)
    units = lift_program(kernel).values()
    return "\n".join(function_text(run_passes(verify(unit.function), passes)) for unit in units)


__all__ = ["lift_program", "program_text"]
