"""The instruction set: all declared instructions as `ISA`, and `trace` for their meanings."""

from visim.isa import (
    arith,
    flow,
    logic,
    lsc,
    lsc_atomics,
    lsc_block2d,
    lsc_typed,
    matrix,
    memory,
    move,
    sampler,
    scattered,
    sends,
    small_floats,
    sync,
    tuples,
)
from visim.isa.registry import Exactness, Instruction, Op, schema_of
from visim.isa.table import Isa, trace
from visim.sem.tracer import Unexecutable

ISA = Isa(
    (
        arith.TABLE,
        tuples.TABLE,
        logic.TABLE,
        move.TABLE,
        small_floats.TABLE,
        flow.TABLE,
        memory.TABLE,
        scattered.TABLE,
        sends.TABLE,
        lsc.TABLE,
        lsc_atomics.TABLE,
        lsc_block2d.TABLE,
        lsc_typed.TABLE,
        sampler.TABLE,
        matrix.TABLE,
        sync.TABLE,
    ),
    flow.MARKS,
)

__all__ = ["ISA", "Exactness", "Instruction", "Op", "Unexecutable", "schema_of", "trace"]
