"""The pass that docs/add-a-pass.md adds: the page's code does what the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

import visim
from tests.engine import harness
from tests.engine.both import on_interpreter
from tests.engine.generator import CHANGING, generate, inputs, text_of
from visim.cli.examples import program_of
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.lift.program import lift_program
from visim.engine.jit.lift.shadow import Shadow
from visim.engine.jit.mir.parser import parse_function
from visim.engine.jit.mir.pipeline import PASSES, run_passes
from visim.engine.jit.mir.printer import function_text
from visim.engine.jit.mir.values import Function
from visim.engine.jit.mir.verifier import verify
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

PAGE = (Path(__file__).parents[5] / "docs" / "add-a-pass.md").read_text(encoding="utf-8")
SPLIT, AFTER = "; -----\n", "; after:\n"
EXAMPLES = ("histogram", "nbody", "reduction", "scan")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def straighten() -> Callable[[Function], Function]:
    """Return the page's pass."""
    [code] = blocks("python")
    names: dict[str, object] = {"__name__": "straighten"}
    exec(compile(code, "add-a-pass.md", "exec"), names)
    return cast("Callable[[Function], Function]", names["straighten"])


def test_its_sections_are_three_and_the_first_becomes_what_the_page_says(straighten) -> None:
    [file] = blocks("mir")
    functions = [verify(parse_function(section)) for section in file.split(SPLIT)]
    line, loop, fork = (verify(straighten(one)) for one in functions)
    [expected] = [text.partition(AFTER)[2] for text in blocks("text") if AFTER in text]
    assert function_text(line, notes=False) == expected
    for before, after in zip(functions[1:], (loop, fork), strict=True):
        assert function_text(before, notes=False) == function_text(after, notes=False)


@pytest.mark.parametrize("name", EXAMPLES)
def test_kernels_stay_well_formed_and_lose_blocks(name, straighten) -> None:
    joined = 0
    for kernel in visim.load(program_of(name)).kernels:
        for lifted in lift_program(kernel._linked).values():
            before = run_passes(lifted.function, PASSES)
            after = verify(straighten(before))
            joined += len(before.blocks) - len(after.blocks)
            assert len(straighten(after).blocks) == len(after.blocks)
    assert joined > 0


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_do_the_same(seed, straighten) -> None:
    program = generate(seed)
    kernel = harness.assemble(text_of(program), program.platform)
    values, mask = inputs(seed, program.simd)
    registers = tuple((kernel.place(name), array.tobytes()) for name, array in values.items())
    want, wanted = on_interpreter(kernel, registers, mask)
    mir = Shadow(lambda one: verify(straighten(one)), saving=True).prepare(kernel.linked)
    dispatch = harness.Group((harness.ThreadStart(registers, mask),), 0)
    got = mir.run([0], dispatch, Machine(Memory(), Surfaces()), RunOptions())
    assert (got.fault, got.executed) == (want.fault, want.executed)
    for name in (*values, *CHANGING):
        place = kernel.place(name)
        image = mir.context.image
        assert bytes(image[place : place + 32]) == bytes(wanted[place : place + 32])
