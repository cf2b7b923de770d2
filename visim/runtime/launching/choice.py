"""Which engine runs a launch that names none: the one that is expected to be done first.

The interpreter starts at once and executes a few hundred thousand instructions a second; the JIT
has to compile first, and is then hundreds of times as fast. What a launch executes is estimated
from its threads and its instructions, so that the same launch always gets the same engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.isa.flow import Branch
from visim.isa.forms import LabelMark
from visim.isa.registry import Category, Op
from visim.linker.program import LinkedKernel
from visim.module import Unit
from visim.runtime.payload.threads import LaunchPlan

TURNS = 16
"""How often a loop is assumed to turn."""
_INTERPRETED_PER_S = 300_000
_IMAGE_MESSAGE, _ATOMIC = 1_000, 25
"""For so many instructions an image message counts, which the interpreter does in 3 to 6 ms, and
an atomic, which it does channel by channel."""
_COMPILING_S = 0.05
_COMPILING_EACH_S = 0.0016
"""What the JIT needs for a kernel, and for each of its instructions (docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class Weight:
    """How many instructions a kernel has, and how often a thread is assumed to execute each.

    Where one takes the interpreter as long as several do, `interpreted` counts it as so many.
    """

    instructions: int
    interpreted: int
    turns: int


@dataclass(slots=True)
class RepeatedLaunches:
    """Chooses engines for a kernel that is launched again and again, nobody knows how often.

    The JIT takes over when the interpreter has spent as much as compiling takes; so a program
    takes at most twice as long as with the better one.
    """

    weight: Weight
    interpreted_s: float = 0.0

    def engine(self, plan: LaunchPlan) -> str:
        """Return the name of the engine for the next launch."""
        self.interpreted_s += interpreting_s(plan, self.weight)
        return "jit" if self.interpreted_s > compiling_s(self.weight) else "interpreter"

    def refuse_compiling(self) -> None:
        """Leave all launches to the interpreter: the JIT refuses the kernel."""
        self.weight, self.interpreted_s = _NEVER_COMPILED, 0.0


_NEVER_COMPILED = Weight(0, 0, 0)
"""With it the interpreter is always as fast."""


def weight_of(kernel: LinkedKernel) -> Weight:
    """Return the weight of a kernel with its functions; it is the same for all launches."""
    body = [item for linked in kernel.units for item in linked.unit.body]
    interpreted = sum(_cost(item.op) for item in body)
    turns = TURNS if any(_has_loop(linked.unit) for linked in kernel.units) else 1
    return Weight(len(body), interpreted, turns)


def _cost(op: Op) -> int:
    """Return for how many instructions of the interpreter one counts."""
    if op.category is Category.SAMPLER:
        return _IMAGE_MESSAGE
    return _ATOMIC if "atomic" in op.mnemonic else 1


def fastest_engine(plan: LaunchPlan, weight: Weight) -> str:
    """Return the name of the engine that is expected to finish a launch first."""
    return "jit" if interpreting_s(plan, weight) > compiling_s(weight) else "interpreter"


def interpreting_s(plan: LaunchPlan, weight: Weight) -> float:
    """Return the seconds that the interpreter is expected to take for a launch."""
    return _threads(plan) * weight.interpreted * weight.turns / _INTERPRETED_PER_S


def compiling_s(weight: Weight) -> float:
    """Return the seconds that the JIT is expected to take for a kernel before it runs."""
    return _COMPILING_S + _COMPILING_EACH_S * weight.instructions


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
