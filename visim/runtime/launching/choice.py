"""Which engine runs a launch that names none: the one that is expected to be done first.

The interpreter starts at once and executes a few hundred thousand instructions a second; the JIT
has to compile first, and is then hundreds of times as fast. What a launch executes is estimated
from its threads and its instructions, so that the same launch always gets the same engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.isa.flow import Branch
from visim.isa.forms import LabelMark
from visim.isa.registry import Category
from visim.linker.program import LinkedKernel
from visim.module import Unit
from visim.runtime.payload.threads import LaunchPlan

TURNS = 16
"""How often a loop is assumed to turn."""
_INTERPRETED_PER_S = 300_000
_IMAGE_MESSAGE = 1_000
"""For so many instructions an image message counts, which the interpreter does in 3 to 6 ms."""
_COMPILING_S = 0.05
_COMPILING_EACH_S = 0.0016
"""What the JIT needs for a kernel, and for each of its instructions (docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class Weight:
    """How many instructions a kernel has, and how often a thread is assumed to execute each.

    `images` says how many of them are messages to images.
    """

    instructions: int
    images: int
    turns: int


def weight_of(kernel: LinkedKernel) -> Weight:
    """Return the weight of a kernel with its functions; it is the same for all launches."""
    body = [item for linked in kernel.units for item in linked.unit.body]
    images = sum(item.op.category is Category.SAMPLER for item in body)
    turns = TURNS if any(_has_loop(linked.unit) for linked in kernel.units) else 1
    return Weight(len(body), images, turns)


def fastest_engine(plan: LaunchPlan, weight: Weight) -> str:
    """Return the name of the engine that is expected to finish a launch first."""
    once = weight.instructions + weight.images * _IMAGE_MESSAGE
    executed = _threads(plan) * once * weight.turns
    compiling = _COMPILING_S + _COMPILING_EACH_S * weight.instructions
    return "jit" if executed / _INTERPRETED_PER_S > compiling else "interpreter"


def _threads(plan: LaunchPlan) -> int:
    """Return how many hardware threads a launch has, taking groups for as large as the first."""
    return sum(
        part.dispatch.group_count * part.dispatch.threads(0)
        for part in plan.parts
        if part.dispatch.group_count
    )


def _has_loop(unit: Unit) -> bool:
    """Whether a branch of a unit goes back to a label before it."""
    seen: set[str] = set()
    for item in unit.body:
        if isinstance(item, LabelMark):
            seen.add(item.name)
        elif isinstance(item, Branch) and item.op.mnemonic != "call" and item.label in seen:
            return True
    return False
