"""Kernels whose threads can go in step: they only wait at barriers of the whole group.

Between two barriers control only goes forward. So nobody's turn ends in between, and what threads
do for each other they do in the same order as if each had a stack of its own.
"""

from __future__ import annotations

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import Flow, cyclic
from visim.linker.program import LinkedKernel
from visim.sem.effects import Barrier, Synchronization

_MOST_STEPS = 1000
"""So many instructions of a kernel whose threads go in step stand in a loop over threads at most:
LLVM takes half as long again for what stands in one."""
_MOST_PLACES = 1 << 16
"""Frames have 16 bits for a program counter."""


def goes_in_step(kernel: LinkedKernel, flow: Flow) -> bool:
    """Whether threads of a kernel that calls no functions can go in step.

    Variables that indirect operands reach would have to be kept as a whole. What a thread has
    executed is counted from one barrier to the next, so those that read the count keep stacks.
    """
    nodes = flow.nodes
    waits = {
        key: node.block.transfer
        for key, node in nodes.items()
        if isinstance(node.block.transfer, Synchronization)
    }
    if not waits or not all(_meets(wait) for wait in waits.values()):
        return False
    if flow.recursive or kernel.reached(kernel.units[0]):
        return False
    if len(kernel.units[0].body) >= _MOST_PLACES:
        return False
    steps = [step for node in nodes.values() for step in node.block.steps]
    if len(steps) > _MOST_STEPS or any(map(_reads_count, steps)):
        return False
    between = {key: targets for key, targets in flow.edges.items() if key not in waits}
    return not any(True for _ in cyclic(between))


def _meets(wait: object) -> bool:
    return isinstance(wait, Barrier) and not is_called_out(wait)


def _reads_count(step: Step) -> bool:
    return any(expr.uop.name == "clock" for expr in step.expressions)


__all__ = ["goes_in_step"]
