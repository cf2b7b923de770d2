"""Integer division as Intel's compiler writes it with DF, done as one division.

For unsigned n and d the compiler takes r, the reciprocal of d in F, and rounds towards zero:
`e = 1 + 2**-38 - d * r`, `q = n * r`, `q + q * e`. The last is the quotient but for a relative
error between 2**-39 and 2**-37: r is off by at most 2**-22, whose square is below 2**-44. So it is
too large, but too little to reach the next integer, and cut off to UD it gives the integer
quotient. So does the nearest quotient in DF, whose 53 bits hold all of n: without the host's
rounding mode being switched, which costs more than the division. By zero the compiler's sum is no
number, which gives 0.

Where the conversions and the reciprocal stand in front of a loop (`lasting`), n or d may have
changed since: then what they were converted to is divided. What is written with F, for devices
without DF, is in `singles`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import permutations

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Flow, mode_of
from visim.engine.jit.analysis.lanes import channel_of
from visim.engine.jit.analysis.lasting import LastingValues
from visim.engine.jit.analysis.paths import Paths
from visim.engine.jit.analysis.singles import SingleQuotients
from visim.engine.jit.analysis.symbols import ValueFollower
from visim.engine.jit.analysis.terms import Symbol, Symbols
from visim.engine.jit.ir.division import divided
from visim.engine.modes import FloatMode
from visim.engine.rounding import Rounding
from visim.linker.program import LinkedKernel
from visim.sem.effects import Effect, WriteRegister
from visim.sem.expr import Expr
from visim.types import DF, UD, UQ, F

_CORRECTION = 0x3FF0000000004000
"""The bits of 1 + 2**-38 in DF."""


def with_divisions(kernel: LinkedKernel, flow: Flow) -> Flow:
    """Return a unit's graph with divisions in place of the ends of what computes them.

    The rounding mode is switched on the way, so that they are in chains of several nodes.
    """
    chains = flow.chains()
    several = [chain for chain in chains if len(chain) > 1]
    if not several:
        return flow
    lasting, nodes = LastingValues(kernel, flow, chains, Paths(flow)), dict(flow.nodes)
    for chain in several:
        finder = QuotientFinder(lasting.follower(chain))
        for node in chain:
            before, block = node.block.before, node.block
            steps = tuple(finder.next(step, mode_of(node)) for step in before)
            if any(new is not old for new, old in zip(steps, before, strict=True)):
                block = replace(block, steps=(*steps, *block.steps[len(steps) :]))
                nodes[node.key] = replace(node, block=block)
    return replace(flow, nodes=nodes)


@dataclass
class QuotientFinder:
    """Finds divisions among successive instructions that run with the same channels."""

    values: ValueFollower = field(default_factory=ValueFollower)

    def next(self, step: Step, mode: FloatMode) -> Step:
        """Return the next instruction, with a division where it is the end of one."""
        written = self.values.written(step, mode)
        known = {id(write): symbol for write, symbol in written}
        effects = tuple(self._divided(one, known.get(id(one))) for one in step.effects)
        self.values.pass_by(step, written)
        same = all(new is old for new, old in zip(effects, step.effects, strict=True))
        return step if same else replace(step, effects=effects)

    def _divided(self, effect: Effect, symbol: Symbol | None) -> Effect:
        """Return an effect, with a division in place of the compiler's end of one.

        `symbol` is that of the value that it writes.
        """
        if not isinstance(effect, WriteRegister) or symbol is None:
            return effect
        channel = channel_of(effect.mask)
        value = self._cut_off(symbol, effect.value, channel)
        if value is None:
            value = SingleQuotients(self.values, channel).found(symbol, effect.value)
        return effect if value is None else replace(effect, value=value)

    def _cut_off(self, symbol: Symbol, value: Expr, channel: int | None) -> Expr | None:
        """Return the quotient that is cut off from the compiler's sum in DF."""
        symbols, values = self.values.symbols, self.values
        if value.uop.name != "convert" or value.args[0].type != DF:
            return None
        inputs = symbols.converted(symbol)
        for n, d in (*permutations(inputs, 2), *zip(inputs, inputs, strict=True)):
            if symbol == _quotient(symbols, n, d):
                a, b = (values.integer(one, value.lanes, channel) for one in (n, d))
                return None if a is None or b is None else divided(a, b, by_zero=0)
        return None


def _quotient(symbols: Symbols, n: Symbol, d: Symbol) -> Symbol:
    """Return the symbol of what the compiler makes of n and d."""
    near, zero = Rounding.NEAREST_EVEN, Rounding.ZERO
    one = symbols.of("number", F, 1)
    more = symbols.of("bitcast", DF, symbols.of("number", UQ, _CORRECTION))
    wide = [symbols.of("convert", DF, near, UD, each) for each in (n, d)]
    single = symbols.floats("fdiv", F, near, one, symbols.of("convert", F, near, UD, d))
    reciprocal = symbols.of("convert", DF, near, F, single)
    less = symbols.floats("fneg", DF, near, wide[1])
    error = symbols.floats("ffma", DF, zero, less, reciprocal, more)
    raw = symbols.floats("fmul", DF, zero, reciprocal, wide[0])
    return symbols.cut(symbols.floats("ffma", DF, zero, raw, error, raw))
