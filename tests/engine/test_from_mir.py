"""What the JIT emits from MIR is well formed, takes rows as rows, and refuses what it cannot do."""

from __future__ import annotations

import random
import re

import pytest
from llvmlite import binding

from visim.engine.jit.emit.choice import LEAST_STEPS, takes_mir
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.versions import Version
from visim.linker.program import LinkedKernel

from . import harness
from .generator import generate, text_of

FROM_MIR = (Pass.GRAPHS.title,)
ROWS = """.version 4.1
.kernel "k"
.decl IN v_type=G type=uq num_elts=1 align=qword
.decl LANE v_type=G type=ud num_elts=8 align=wordx32
.decl AT v_type=G type=uq num_elts=8 align=wordx32
.decl GOT v_type=G type=ud num_elts=8 align=wordx32
.input IN offset=64 size=8
.kernel_attr SimdSize=8
.function "k"
k:
    mov (M1, 8) LANE(0,0)<1> {lanes}
    shl (M1, 8) LANE(0,0)<1> LANE(0,0)<1;1,0> 0x2:ud
    add (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> IN(0,0)<0;1,0>
    lsc_load.ugm (M1, 8)  GOT:d32  flat[AT]:a64
    lsc_store.ugm (M1, 8)  flat[AT]:a64  GOT:d32
    ret (M1, 1)
"""
UP = "0x76543210:v"


def emitted(kernel: LinkedKernel) -> str:
    """Return the text of a kernel whose channels all start, from MIR."""
    return ModuleWriter(kernel, Version(True, 0, off=FROM_MIR)).write().text


@pytest.mark.parametrize("seed", range(20))
def test_values_stand_in_front_of_their_uses_on_every_path(seed: int) -> None:
    program = generate(random.Random(seed).randrange(10_000))
    kernel = harness.assemble(text_of(program), program.platform).linked
    text = ModuleWriter(kernel, Version(True, 0, saving=True, off=FROM_MIR)).write().text
    binding.parse_assembly(text).verify()


def test_only_what_a_thread_starts_with_is_in_memory() -> None:
    kernel = harness.assemble(ROWS.format(lanes=UP), "pvc").linked
    graph = ModuleWriter(kernel, Version(True, 0, off=(Pass.MIR.title,))).write().text
    assert "%g1 = alloca" in graph
    assert "%g0 = alloca" in emitted(kernel)
    assert "%g1 = alloca" not in emitted(kernel)


def test_lanes_at_equal_distances_are_moved_as_vectors_behind_a_check() -> None:
    alike, rows = (
        emitted(harness.assemble(ROWS.format(lanes=lanes), "pvc").linked)
        for lanes in ("0x3:ud", UP)
    )
    # Each load is looked at with its first address: a vector of lanes, or one for all of them.
    assert re.search(r"direct\S+\n  %\S+ = load <8 x i32>, ptr", rows)
    assert re.search(r"direct\S+\n  %\S+ = load i32, ptr", alike)


@pytest.mark.parametrize(
    ("steps", "version", "taken"),
    [
        (LEAST_STEPS, Version(True, 0), True),
        (LEAST_STEPS - 1, Version(True, 0), False),
        (1, Version(True, 0, off=FROM_MIR), True),
        (LEAST_STEPS, Version(True, 0, off=(Pass.MIR.title,)), False),
        (LEAST_STEPS, Version(True, 0, in_step=True), False),
        (LEAST_STEPS, Version(True, 0, watched=("access",)), False),
    ],
)
def test_long_programs_are_emitted_from_mir(steps: int, version: Version, taken: bool) -> None:
    assert takes_mir(version, steps) is taken


def test_what_mir_does_not_say_is_written_from_the_traced_graph() -> None:
    text = ROWS.format(lanes=UP).replace("    ret", "    call (M1, 8) again\n    ret", 1)
    text += '.function "again"\nagain:\n    call (M1, 8) again\n    ret (M1, 8)\n'
    kernel = harness.assemble(text, "pvc").linked
    graph = ModuleWriter(kernel, Version(True, 0, off=(Pass.MIR.title,))).write().text
    assert "%active = alloca" in graph
    assert "%active = alloca" in emitted(kernel)
