"""The instruction set: all declared instructions as `ISA`, and `trace` for their meanings."""

from visim.isa import (
    analytics,
    arith,
    flow,
    logic,
    lsc,
    lsc_atomics,
    lsc_block2d,
    lsc_newer,
    lsc_typed,
    lsc_typed_blocks,
    matrix,
    media_blocks,
    memory,
    move,
    newer,
    render,
    sampler,
    sampler_newer,
    scattered,
    sends,
    small_floats,
    sync,
    tuples,
    typed,
    video,
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
        lsc_typed_blocks.TABLE,
        lsc_newer.TABLE,
        sampler.TABLE,
        sampler_newer.TABLE,
        typed.TABLE,
        media_blocks.TABLE,
        matrix.TABLE,
        sync.TABLE,
        video.TABLE,
        analytics.TABLE,
        render.TABLE,
        newer.TABLE,
    ),
    flow.MARKS,
)

__all__ = ["ISA", "Exactness", "Instruction", "Op", "Unexecutable", "schema_of", "trace"]
