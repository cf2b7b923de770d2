"""2D blocks of raw messages whose shape is a constant in the payload: they become one message.

Compilers write the shape of a block to the payload as a constant. Where that constant is all that
can be there, the instruction is traced again as one that knows it, and is then written like the
instruction that has the shape in its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import rectangle_of
from visim.engine.jit.analysis.flow import Flow, Key, Node
from visim.isa import Unexecutable
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import Load, Message, Place, Store


def know_shapes(flow: Flow, *, full: bool, shares: bool) -> None:
    """Replace the raw messages of a unit that move 2D blocks of known shapes.

    Args:
        flow: the unit's graph, whose variables lie apart.
        full: whether it starts with all channels.
        shares: whether other functions of the program run.
    """
    found = {
        (node.key, number): place
        for node in flow.nodes.values()
        for number, place in _blocks(node)
        if not place.variable.is_file_scope
    }
    if not found:
        return
    unit, kernel = flow.code.unit, flow.code.kernel
    for (key, number), shape in _known(flow, found, full=full, shares=shares).items():
        node = flow.nodes[key]
        step = _shaped(kernel, unit, node.block.steps[number], shape)
        if step is not None:
            steps = node.block.steps
            steps = (*steps[:number], step, *steps[number + 1 :])
            node.block = replace(node.block, steps=steps)


def _known(
    flow: Flow, asked: dict[tuple[Key, int], Place], *, full: bool, shares: bool
) -> dict[tuple[Key, int], int]:
    """Return what stands at places, in front of instructions, where that is a constant.

    Few kernels ask, so that MIR is imported only then.
    """
    from visim.engine.jit.lift.unit import lift_unit
    from visim.engine.jit.mir.errors import NotLifted
    from visim.engine.jit.mir.solver import Facts

    try:
        lifted = lift_unit(flow.code.kernel, flow, shares=shares, full=full, asked=asked)
    except NotLifted:
        return {}
    facts = Facts(lifted.function)
    found = {at: facts.of(value).lanes for at, value in lifted.asked.items()}
    return {at: lanes[0] for at, lanes in found.items() if lanes and lanes[0] is not None}


def _blocks(node: Node) -> Iterator[tuple[int, Place]]:
    """Yield the instructions whose block's shape only the run knows, and where it stands."""
    for number, step in enumerate(node.block.steps):
        for effect in step.effects[:1]:
            if isinstance(effect, Load | Store) and effect.shape is not None:
                yield number, effect.shape


def _shaped(kernel: LinkedKernel, unit: LinkedUnit, step: Step, shape: int) -> Step | None:
    """Return an instruction that knows its block's shape; None if it is no single message then."""
    try:
        effects = kernel.effects(unit, step.pc, shape)
    except Unexecutable:
        return None
    messages = [effect for effect in effects if isinstance(effect, Message)]
    if not messages or any(rectangle_of(message) is None for message in messages):
        return None
    return Step(step.pc, effects)
