"""An OpenCL program on the interpreter, the JIT and PoCL: the same words, or where they differ."""

from __future__ import annotations

import numpy as np

from visim import opencl
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.pocl import Words, run_on_pocl
from visim.errors import FaultError
from visim.runtime.kernel import Kernel
from visim.smith.compare import ENGINES
from visim.smith.opencl import GROUP, INPUT_WORDS, ITEMS, KERNEL, OUTPUT_WORDS, place_of

_SPECIAL = (0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_SHARE = 0.3
POCL = "pocl"


def crosscheck(
    source: str, seed: int, device: str, *, compiler: str | None = None, with_pocl: bool = False
) -> Result:
    """Return whether all compute the same of a random program.

    Args:
        source: OpenCL C, as `visim.smith.opencl` writes it.
        seed: of what it reads.
        device: what it is compiled for.
        compiler: the library that compiles it; None takes the newest that knows the device.
        with_pocl: whether PoCL is one of them.

    Raises:
        ToolMissing: there is no compiler for the device, or no PoCL.
        InputError: the program does not compile, or breaks a rule.
        UnsupportedError: an engine does not run it.
    """
    [kernel] = opencl.build(source, device=device, compiler=compiler).kernels
    found: dict[str, Words] = {}
    for engine in ENGINES:
        try:
            found[engine] = run_on_engine(kernel, seed, engine)
        except FaultError as error:
            return Result(Outcome.DIFFERS, f"{engine} stops at {error}")
    if with_pocl:
        arrays = given_words(seed), np.zeros(OUTPUT_WORDS, np.uint32)
        launched = run_on_pocl(source, KERNEL, *arrays, ITEMS, GROUP)
        if launched.output is None:
            return Result(Outcome.DIFFERS, f"{POCL}: {launched.problem}")
        found[POCL] = launched.output
    return _judged(found)


def run_on_engine(kernel: Kernel, seed: int, engine: str) -> Words:
    """Return what a kernel writes on an engine."""
    output = np.zeros(OUTPUT_WORDS, np.uint32)
    arguments = [given_words(seed), output]
    kernel.launch(arguments, global_size=ITEMS, local_size=GROUP, engine=engine, workers=1)
    return output


def given_words(seed: int) -> Words:
    """Return what the program of a seed reads: random words, and often those at ends of ranges."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, INPUT_WORDS, dtype=np.uint32)
    special = rng.random(words.size) < _SHARE
    words[special] = rng.choice(np.array(_SPECIAL, np.uint32), int(special.sum()))
    return words


def _judged(found: dict[str, Words]) -> Result:
    first, *others = found
    for other in others:
        places = np.flatnonzero(found[first] != found[other])
        if places.size:
            word = int(places[0])
            values = ", ".join(f"{name} {int(words[word]):#x}" for name, words in found.items())
            message = f"{other} and {first} differ at {place_of(word)}: {values}"
            return Result(Outcome.DIFFERS, message)
    return Result(Outcome.PASSED, facts={"compared": list(found)})
