"""What each pass of the JIT brings: kernels timed with every pass, and without one after the other.

Run it with `python -m benchmarks.ablate [--sets usual,public] [--device pvc] [--scale 0.25]
[--rounds 5] [--passes a,b] [--cores 1] [--all] [--json FILE] [kernel ...]` in the repository.

A number is the processor time without the pass over the time with all of them, the least of some
rounds in which both take turns; results are compared, too. Where a pass changes nothing in what
LLVM gets, nothing is compiled or timed. What seems to bring 5 % is timed once more, and the lesser
number counts. A pass that has brought 5 % somewhere has earned its place and is not tried on the
kernels after that, unless `--all` says so. The last lines name those that have not. A file that is
there already is added to. `--list` prints the passes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import visim
from benchmarks import results
from benchmarks.case import Benchmark
from benchmarks.peers import take_turns
from benchmarks.pocl import Side, bound_launches, built, copied, difference
from benchmarks.sets import SETS, every, families
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.passes import NAMES, VARIABLE, Pass
from visim.engine.jit.writing.versions import Version
from visim.linker.program import LinkedKernel

EARNS = 1.05
"""A pass that makes no kernel so much faster does not earn its place."""

Kernels = dict[str, dict[str, float | None]]
"""By kernel and pass what the pass brings; None: it changes nothing there."""

Made = tuple[LinkedKernel, bool, Version]
"""A version that was compiled: of which kernel, and whether its threads save their registers."""


@dataclass
class Code:
    """A kernel compiled with all passes, and what LLVM got of each version that a run takes."""

    side: Side
    made: list[Made]
    texts: list[str] = field(default_factory=list[str])


@contextmanager
def passes(words: str) -> Generator[None]:
    """Have kernels that are prepared meanwhile made with some passes only."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = words
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@contextmanager
def noted() -> Generator[list[Made]]:
    """Give a list to which all versions are added that are compiled meanwhile."""
    found, compile_it = list[Made](), KernelCode.compiled

    def compiled(self: KernelCode, version: Version) -> Any:
        found.append((self.kernel, self.saving, version))
        return compile_it(self, version)

    KernelCode.compiled = compiled
    try:
        yield found
    finally:
        KernelCode.compiled = compile_it


def side(bench: Benchmark, program: bytes, scale: float, words: str) -> Side:
    """Return a kernel that is compiled, and has run once, with some passes."""
    values = copied(bench.make(np.random.default_rng(1), scale))
    before = {name: values[name].copy() for name in bench.outputs}
    with passes(words):
        launches = bound_launches(bench, visim.load(program), values)

        def run() -> None:
            for launch in launches:
                launch()

        run()
    first = {name: values[name].copy() for name in bench.outputs}

    def restore() -> None:
        for name, array in before.items():
            values[name][...] = array

    return Side(run, first.__getitem__, 0.0, restore)


def code(bench: Benchmark, program: bytes, scale: float) -> Code:
    """Return a kernel with all passes."""
    with noted() as made:
        found = Code(side(bench, program, scale, ""), made)
    found.texts = texts(found.made, "")
    return found


def texts(made: Iterable[Made], words: str) -> list[str]:
    """Return what LLVM gets of some versions with some passes, and what these have in common."""
    with passes(words):
        found: list[str] = []
        for kernel, saving, version in made:
            one = KernelCode(kernel, saving=saving)
            found += (repr(one.traits), one.text(version))
        return found


def ratio(with_all: Side, without: Side, rounds: int) -> float:
    """Return how many times as long the second side takes, where both take turns."""
    for one in (with_all, without):
        one.clock.clear()
        one.processor.clear()
    take_turns({"with": with_all, "without": without}, rounds)
    return min(without.processor) / min(with_all.processor)


def brings(
    bench: Benchmark, program: bytes, scale: float, rounds: int, base: Code, name: str
) -> float | None:
    """Return how many times as long a kernel takes without a pass; None: it changes nothing."""
    if texts(base.made, f"-{name}") == base.texts:
        return None
    without = side(bench, program, scale, f"-{name}")
    for output in bench.outputs:
        distance = difference(without.result(output), base.side.result(output))
        # Additions in another order, as atomic ones have, change the last bits of floats.
        if not distance <= bench.tolerance:
            sys.exit(f"{bench.name} without {name}: {output} is {distance:.1e} away")
    found = ratio(base.side, without, rounds)
    return found if found < EARNS else min(found, ratio(base.side, without, rounds))


def zebin(bench: Benchmark, device: str) -> bytes:
    """Return a benchmark's file."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"visim-ablate-{os.getpid()}.zebin"
    try:
        built(bench, device).write(path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def earned(kernels: Kernels, name: str) -> tuple[float, str]:
    """Return the most that a pass brings, and to which kernel."""
    found = [(row[name] or 1.0, kernel) for kernel, row in kernels.items() if name in row]
    return max(found, default=(1.0, ""))


def show(kernels: Kernels, names: Iterable[str]) -> None:
    """Print a row for each pass: on which kernels it was tried and changed something, and more."""
    table = Table("pass", "tried", "changes", "most", "on", "least", "on")
    for name in names:
        tried = {kernel: row[name] for kernel, row in kernels.items() if name in row}
        changed = {kernel: x for kernel, x in tried.items() if x is not None}
        most, where = earned(kernels, name)
        least = min(changed, key=lambda kernel: changed[kernel], default="")
        last = f"{changed[least]:.2f}" if least else ""
        table.add_row(name, str(len(tried)), str(len(changed)), f"{most:.2f}", where, last, least)
    Console(width=120).print(table)
    idle = [name for name in names if earned(kernels, name)[0] < EARNS]
    if idle:
        print(f"below {EARNS} on all of these kernels: {', '.join(idle)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", metavar="kernel")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--scale", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--passes", default=",".join(NAMES))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true")
    return parser


def _chosen(options: argparse.Namespace, names: list[str]) -> list[Benchmark]:
    """Return the kernels that are measured, or end the program if a name is unknown."""
    known, sets = every(), options.sets.split(",")
    unknown = [f"pass {name!r}" for name in names if name not in NAMES]
    unknown += [f"kernel {name!r}" for name in options.kernels if name not in known]
    unknown += [f"set {name!r}" for name in sets if name not in SETS]
    if unknown:
        sys.exit(f"there is no {', no '.join(unknown)}; see --list, and {', '.join(SETS)}")
    if options.kernels:
        return [known[name] for name in options.kernels]
    return [one for name in sets for kernels in families(name).values() for one in kernels]


def main() -> None:
    """Measure, print and write a file of results."""
    options = _parser().parse_args()
    if options.list:
        for one in Pass:
            print(f"{one.title:22} {one.module:22} {one.summary}")
        return
    names: list[str] = options.passes.split(",")
    chosen = _chosen(options, names)
    cores = sorted(os.sched_getaffinity(0))[-options.cores :]
    os.sched_setaffinity(0, cores)
    result = results.heading(len(cores)) | {
        "settings": {key: getattr(options, key) for key in ("device", "scale", "rounds")},
        "kernels": {},
    }
    kernels: Kernels = result["kernels"]
    if options.json and options.json.exists():
        kernels |= results.read(options.json)["kernels"]

    for number, bench in enumerate(chosen, 1):
        row = kernels.setdefault(bench.name, {})
        wanted = [
            name
            for name in names
            if name not in row and (options.all or earned(kernels, name)[0] < EARNS)
        ]
        print(f"{bench.name} ({number} of {len(chosen)}), {len(wanted)} passes", flush=True)
        if not wanted:
            continue
        program = zebin(bench, options.device)
        base = code(bench, program, options.scale)
        for name in wanted:
            row[name] = brings(bench, program, options.scale, options.rounds, base, name)
            if options.json:
                results.write(options.json, result)
    show(kernels, names)


if __name__ == "__main__":
    main()
