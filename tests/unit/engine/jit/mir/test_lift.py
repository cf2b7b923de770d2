"""Kernels as MIR: those of compilers and of the examples are lifted, and all is well formed."""

from __future__ import annotations

import pytest

import visim
from tests.corpus.zebins import zebins
from tests.shares import share
from visim.cli.examples import program_of
from visim.engine.jit.lift import expressions
from visim.engine.jit.lift.program import lift_program
from visim.engine.jit.mir.errors import NotLifted
from visim.engine.jit.mir.parser import parse_function
from visim.engine.jit.mir.pipeline import PASSES, run_passes
from visim.engine.jit.mir.printer import function_text
from visim.engine.jit.mir.verifier import verify
from visim.errors import InternalError
from visim.sem.uops import UOPS, total

FILES = sorted(zebins())
EXAMPLES = ("histogram", "matmul", "nbody", "reduction", "saxpy", "scan", "spmv")


def check(program: visim.Program) -> int:
    """Lift all kernels, verify them before and after passes, and read their text again."""
    checked = 0
    for kernel in program.kernels:
        for lifted in lift_program(kernel._linked).values():
            function = verify(lifted.function)
            text = function_text(function, notes=False)
            assert function_text(parse_function(text), notes=False) == text
            after = run_passes(function, PASSES)
            assert sum(1 for _ in after.values()) <= sum(1 for _ in function.values())
            checked += 1
    return checked


@pytest.mark.parametrize("place", share("lifted kernels", FILES, 12), ids="-".join)
def test_kernels_of_compilers_are_well_formed_mir(place):
    assert check(visim.load(zebins()[place]))


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_well_formed_mir(name):
    assert check(visim.load(program_of(name)))


def test_a_fused_pair_is_not_lifted():
    text = """.version 4.1
    .kernel "k"
    .decl V40 v_type=G type=d num_elts=64 align=GRF
    .kernel_attr SimdSize=8
    .function "k"
        dpasw.s8.s8.8.1 (M1, 8) V40.0 V40.0 V40.0 V40(0,0)
        ret (M1, 1)
    """
    program = visim.assemble(text, platform="dg2")
    with pytest.raises(NotLifted, match="fused pairs"):
        program.kernels[0].ir()


def test_the_way_into_mir_is_known_for_every_micro_operation():
    table = expressions._TABLE
    assert table.keys() == UOPS.keys()
    with pytest.raises(InternalError, match="no way into MIR for: add"):
        total("way into MIR", {name: row for name, row in table.items() if name != "add"})
