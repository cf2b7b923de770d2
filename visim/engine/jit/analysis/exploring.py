"""The control flow of a kernel and of all functions that it calls, each from its mode on."""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.analysis.blocks import ANY_MODE, UnitCode
from visim.engine.jit.analysis.flow import Explorer, Flow
from visim.linker.program import LinkedKernel, LinkedUnit

Flows = dict[tuple[int, int], Flow]
"""The graphs of units, by their numbers and the values of %cr0 that they begin with."""


def callees(kernel: LinkedKernel, name: str | None) -> Sequence[LinkedUnit]:
    """Return the functions that a call by name, or by handle, can reach."""
    return kernel.units[1:] if name is None else [kernel.function(name)]


def explore(kernel: LinkedKernel, codes: Sequence[UnitCode], cr0: int = 0) -> Flows:
    """Explore the kernel and all functions that it reaches, each with its entry mode.

    Args:
        kernel: the program.
        codes: the code of its units.
        cr0: the control register when the kernel starts.
    """
    modes: dict[tuple[int, int], int] = {}
    while True:
        flows = _explored(kernel, codes, cr0, modes)
        new = {key: flow.exit_mode() for key, flow in flows.items() if key[0]}
        if all(modes.get(key, key[1]) == mode for key, mode in new.items()):
            return flows
        for key, mode in new.items():
            modes[key] = mode if modes.get(key, mode) == mode else ANY_MODE


def _explored(
    kernel: LinkedKernel,
    codes: Sequence[UnitCode],
    cr0: int,
    modes: dict[tuple[int, int], int],
) -> Flows:
    """Explore, where functions are taken to leave %cr0 as `modes` says, else as it was."""

    def mode_after(name: str | None, before: int) -> int:
        found = {modes.get((unit.number, before), before) for unit in callees(kernel, name)}
        return found.pop() if len(found) == 1 else ANY_MODE

    found: Flows = {}
    waiting = [(0, cr0)]
    while waiting:
        number, before = waiting.pop()
        if (number, before) in found:
            continue
        explorer = Explorer(codes[number], before, mode_after)
        flow = found[number, before] = explorer.explore()
        for name, mode in sorted(flow.callees, key=str):
            waiting += [(unit.number, mode) for unit in callees(kernel, name)]
    return found


__all__ = ["Flows", "callees", "explore"]
