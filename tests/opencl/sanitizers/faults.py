"""Random kernels with one fault put in, and how many of those that can show are found.

`python -m tests.opencl.sanitizers.faults [--count 200] [--seed 1] [--device pvc] [--engine jit]`
measures it. Faults are a barrier that is removed, an index that is shifted out of its array, and an
initialisation that is dropped. A model runs through what the work-items of a group do, and says
whether the fault shows at all: whether two of them meet in the same stretch between barriers, or an
element is read that nobody has written.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import visim
from tests.opencl.building import built

N, GROUPS = 64, 2
WIDEST = 32
"""Work-items of a hardware thread at most: those of one are in the order of its lockstep."""
ARRAYS = ("t", "u", "w")
FENCES = {"t": "CLK_LOCAL_MEM_FENCE", "u": "CLK_LOCAL_MEM_FENCE", "w": "CLK_GLOBAL_MEM_FENCE"}
KINDS = {
    "barrier": {"race-local", "race-global"},
    "index": {"oob-local", "oob-read", "oob-write", "race-global", "race-local"},
    "initialisation": {"uninit-local", "uninit-global"},
}


@dataclass(frozen=True)
class Step:
    """What each work-item does: it reads or writes element `(l + shift) % N` of an array.

    `escapes` says that nothing keeps the index in its array; `barrier` that one follows.
    """

    array: str
    shift: int
    is_write: bool
    escapes: int = 0
    barrier: bool = True

    def index(self, item: int) -> int:
        """Return the element of a work-item."""
        return item + self.escapes if self.escapes else (item + self.shift) % N

    def text(self, number: int) -> str:
        """Return the step in OpenCL C."""
        at = f"l + {self.escapes}" if self.escapes else f"(l + {self.shift}) % {N}"
        base = f"{N} * get_group_id(0) + " if self.array == "w" else ""
        place = f"{self.array}[{base}({at})]"
        done = f"{place} = s + {number + 3} * g;" if self.is_write else f"s = s * 3 + {place};"
        fence = f"    barrier({FENCES[self.array]});\n" if self.barrier else ""
        return f"    {done}\n{fence}"


@dataclass(frozen=True)
class Program:
    """A kernel: what initialises its arrays, and steps.

    There are no loops: Intel's compiler 26.27 drops the modulo of some indices in loops, which the
    sanitizers find, too.
    """

    initial: tuple[Step, ...]
    steps: tuple[Step, ...]

    def text(self, name: str) -> str:
        """Return the kernel in OpenCL C."""
        initial = "".join(step.text(n) for n, step in enumerate(self.initial))
        steps = "".join(step.text(n + 10) for n, step in enumerate(self.steps))
        return (
            f"kernel void {name}(global int *x, global int *y, global int *w, local int *t, "
            "local int *u) {\n    int l = get_local_id(0), g = get_global_id(0), s = x[g];\n"
            f"{initial}{steps}    y[g] = s;\n}}\n"
        )

    def shows(self) -> bool:
        """Whether something is wrong with the kernel that a run can show."""
        written: set[tuple[str, int]] = set()
        epoch: list[Step] = []
        for step in (*self.initial, *self.steps):
            places = {(step.array, step.index(item)) for item in range(N)}
            if step.escapes or (not step.is_write and not places <= written):
                return True
            if any(_meet(step, other) for other in epoch):
                return True
            if step.is_write:
                written |= places
            epoch = [] if step.barrier else [*epoch, step]
        return False


def _meet(one: Step, other: Step) -> bool:
    """Whether work-items of several threads meet at an element, and one writes."""
    if one.array != other.array or not (one.is_write or other.is_write):
        return False
    who = {other.index(item): item for item in range(N)}
    return any(who.get(one.index(item), item) // WIDEST != item // WIDEST for item in range(N))


def right_program(chance: random.Random) -> Program:
    """Return a kernel with nothing wrong.

    It reads all arrays in the end: compilers drop what is written to local memory for nobody, and a
    fault with it.
    """
    initial = tuple(Step(name, chance.randrange(N), is_write=True) for name in ARRAYS)
    steps = tuple(
        Step(chance.choice(ARRAYS), chance.randrange(N), is_write=chance.random() < 0.5)
        for _ in range(chance.randint(3, 9))
    )
    last = tuple(Step(name, chance.randrange(N), is_write=False) for name in ARRAYS)
    return Program(initial, (*steps, *last))


def with_fault(program: Program, kind: str, chance: random.Random) -> Program:
    """Return the kernel with one fault of a kind."""
    if kind == "initialisation":
        gone = chance.randrange(len(program.initial))
        return replace(program, initial=program.initial[:gone] + program.initial[gone + 1 :])
    steps = [*program.initial, *program.steps]
    place = chance.randrange(len(steps))
    if kind == "barrier":
        steps[place] = replace(steps[place], barrier=False)
    else:
        steps[place] = replace(steps[place], escapes=chance.randint(1, N))
    first = len(program.initial)
    return replace(program, initial=tuple(steps[:first]), steps=tuple(steps[first:]))


@dataclass(frozen=True)
class Case:
    """A kernel with a fault that can show, and the same without."""

    kind: str
    right: Program
    wrong: Program


def cases(seed: int, count: int) -> Iterator[Case]:
    """Yield kernels with faults that can show, kinds in turn."""
    chance = random.Random(seed)
    kinds = tuple(KINDS)
    number = 0
    while number < count:
        right = right_program(chance)
        kind = kinds[number % len(kinds)]
        wrong = with_fault(right, kind, chance)
        if wrong.shows() and not right.shows():
            yield Case(kind, right, wrong)
            number += 1


def found_kinds(kernel: visim.Kernel, engine: str) -> tuple[set[str], tuple[visim.Finding, ...]]:
    """Launch a kernel under all sanitizers; return the kinds of findings that count."""
    size = N * GROUPS
    x = np.arange(size, dtype=np.int32)
    scratch = visim.Uninitialised(np.zeros(size, np.int32))
    local = visim.Local(4 * N)
    report = kernel.launch(
        [x, np.zeros(size, np.int32), scratch, local, local],
        global_size=size,
        local_size=N,
        engine=engine,
        sanitize="all",
    )
    return {one.kind for one in report.findings if one.counts}, report.findings


def missed(chosen: list[Case], device: str, engine: str) -> list[str]:
    """Return what was not found, or found where nothing is wrong, as texts."""
    text = "".join(
        case.wrong.text(f"wrong{n}") + case.right.text(f"right{n}") for n, case in enumerate(chosen)
    )
    program = built(text, device)
    failures: list[str] = []
    for number, case in enumerate(chosen):
        kinds, _ = found_kinds(program[f"wrong{number}"], engine)
        if not kinds & KINDS[case.kind]:
            failures.append(f"{case.kind} is not found in\n{case.wrong.text('wrong')}")
        kinds, findings = found_kinds(program[f"right{number}"], engine)
        if kinds:
            shown = "\n".join(map(str, findings))
            failures.append(f"nothing is wrong with\n{case.right.text('right')}{shown}")
    return failures


def main() -> None:
    """Measure how many faults are found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--engine", default="interpreter")
    options = parser.parse_args()
    every = list(cases(options.seed, options.count))
    failures: list[str] = []
    for first in range(0, len(every), 20):
        failures += missed(every[first : first + 20], options.device, options.engine)
    write = sys.stdout.write
    for failure in failures:
        write(f"{failure}\n")
    write(f"{len(every) - len(failures)} of {len(every)} faults found, right kernels well\n")


if __name__ == "__main__":
    main()
