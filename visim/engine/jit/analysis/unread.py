"""Instructions that write variables which nobody reads.

Where dwords are no longer put together (`dwords`), what computed them is left over. LLVM would drop
it, but who looks at whole instructions, such as for runs and for loops, would count it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from visim.engine.jit.analysis.blocks import StaticBlock, Step
from visim.engine.jit.ir.places import fits_variable
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import FIRST_DECLARED_GENERAL
from visim.sem.effects import Load, Store, WriteRegister, expressions
from visim.sem.expr import Expr


def without_unread(
    blocks: Sequence[StaticBlock], kernel: LinkedKernel, unit: LinkedUnit
) -> list[StaticBlock]:
    """Return the blocks of a unit; what writes unread variables does nothing any more.

    What only such instructions read is unread, too, also where they read it of themselves.
    """
    grf, reached = kernel.platform.grf_bytes, kernel.reached(unit)
    if not all(fits_variable(place, grf) for block in blocks for place in block.places):
        return list(blocks)
    steps = {id(step): step for block in blocks for step in block.steps}
    leaves = [block.transfer for block in blocks if block.transfer is not None]
    writers: dict[int, list[Step]] = {}
    waiting = list(_read(expressions(leaves)))
    for step in steps.values():
        own = _written(step, reached)
        for variable in own:
            writers.setdefault(variable, []).append(step)
        if not own:
            waiting += _read(step.expressions) | _shapes(step)
    found, wanted = (
        set(waiting),
        {one for one, step in steps.items() if not _written(step, reached)},
    )
    while waiting:
        for step in writers.get(waiting.pop(), ()):
            if id(step) not in wanted:
                wanted.add(id(step))
                new = _read(step.expressions) - found
                found |= new
                waiting += new
    dropped = steps.keys() - wanted
    return [_without(block, dropped) for block in blocks]


def _read(nodes: Iterable[Expr]) -> set[int]:
    """Return the variables that some expressions read."""
    found = {node.attribute.variable.index for node in nodes if node.uop.name == "read"}
    return found | {node.attribute[1].variable.index for node in nodes if node.uop.name == "fused"}


def _shapes(step: Step) -> set[int]:
    """Return the variables that have the shapes of 2D blocks of an instruction."""
    moves = (effect for effect in step.effects if isinstance(effect, Load | Store))
    return {one.shape.variable.index for one in moves if one.shape is not None}


def _written(step: Step, reached: frozenset[int]) -> set[int]:
    """Return the unit's own variables that an instruction writes that does nothing else."""
    found = set[int]()
    for effect in step.effects:
        if not isinstance(effect, WriteRegister):
            return set()
        variable = effect.place.variable
        own = variable.index >= FIRST_DECLARED_GENERAL and not variable.is_file_scope
        if not own or variable.index in reached:
            return set()
        found.add(variable.index)
    return found


def _without(block: StaticBlock, dropped: set[int]) -> StaticBlock:
    if not any(id(step) in dropped for step in block.steps):
        return block
    steps = [replace(one, effects=()) if id(one) in dropped else one for one in block.steps]
    return replace(block, steps=tuple(steps))
