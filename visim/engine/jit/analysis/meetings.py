"""Kernels whose threads can go in step: they only wait at barriers of the whole group.

That is worth while if threads meet often. Loops that have no barrier in them have worse code in a
loop over threads: fewer registers are left for them, and what they sum up crosses barriers.
"""

from __future__ import annotations

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import Flow, Key
from visim.engine.jit.ir.cycles import cyclic
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
    blocks = [node.block for node in flow.nodes.values()]
    transfers = [block.transfer for block in blocks]
    waits = [each for each in transfers if isinstance(each, Synchronization)]
    if not waits or not all(map(_meets, waits)):
        return False
    if flow.recursive or kernel.reached(kernel.units[0]):
        return False
    if len(kernel.units[0].body) >= _MOST_PLACES:
        return False
    steps = [step for block in blocks for step in block.steps]
    if len(steps) > _MOST_STEPS or any(map(_reads_count, steps)):
        return False
    return gains(flow)


def gains(flow: Flow) -> bool:
    """Whether loops without barriers are a minor part, and in no loop in which threads meet."""
    inner, waits = between(flow), _waits(flow)
    if any(key in flow.behind(inner & flow.behind([key])) for key in waits):
        return False
    steps = {key: len(node.block.steps) for key, node in flow.nodes.items()}
    return 2 * sum(steps[key] for key in inner) <= sum(steps.values())


def between(flow: Flow) -> set[Key]:
    """Return the nodes of loops that have no barrier in them: there turns may end."""
    waits = _waits(flow)
    return set(cyclic({key: to for key, to in flow.edges.items() if key not in waits}))


def _waits(flow: Flow) -> set[Key]:
    nodes = flow.nodes
    return {key for key in nodes if isinstance(nodes[key].block.transfer, Synchronization)}


def _meets(wait: object) -> bool:
    return isinstance(wait, Barrier) and not is_called_out(wait)


def _reads_count(step: Step) -> bool:
    return any(expr.uop.name == "clock" for expr in step.expressions)


__all__ = ["between", "gains", "goes_in_step"]
