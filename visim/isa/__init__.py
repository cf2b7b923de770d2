"""The instruction set: all declared instructions as `ISA`, and `trace` for their meanings."""

from visim.isa import arith, flow, logic, lsc, matrix, memory, move, sampler, sync
from visim.isa.registry import Exactness, Instruction, Op, schema_of
from visim.isa.table import Isa, trace
from visim.sem.tracer import Unexecutable

ISA = Isa(
    (
        arith.TABLE,
        logic.TABLE,
        move.TABLE,
        flow.TABLE,
        memory.TABLE,
        lsc.TABLE,
        sampler.TABLE,
        matrix.TABLE,
        sync.TABLE,
    ),
    flow.MARKS,
)

__all__ = ["ISA", "Exactness", "Instruction", "Op", "Unexecutable", "schema_of", "trace"]
