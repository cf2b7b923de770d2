"""A worker: a process that has visim loaded, and forks for each cell that it is asked for.

Started as `python -m visim.campaign.server`; cells come on its standard input, results go to its
standard output. A program that a cell has loaded well is loaded here, too, so that the next cells
of it find it there: reading takes several times as long as a small launch.
"""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from socket import gethostname
from time import perf_counter
from typing import Any

import numpy as np

import visim
from visim import messages
from visim.campaign import children, content, jobs, programs
from visim.campaign.outcomes import Outcome, Took
from visim.runtime.files.compared import Tolerance, compare
from visim.runtime.program import Program
from visim.timing import find_machine

_MOST_PROGRAMS = 8
_KNOWN = 4096
_EXAMPLE = Path(visim.__file__).parent / "examples" / "saxpy" / "saxpy.zebin"


class Server:
    """Answers one cell after another.

    Args:
        asked: the descriptor that cells come from.
        answers: the one that results go to.
    """

    def __init__(self, asked: int, answers: int) -> None:
        self._asked = asked
        self._answers = answers
        self._programs: OrderedDict[str, Program] = OrderedDict()
        self._proven: OrderedDict[str, None] = OrderedDict()
        self._name = f"{gethostname()}:{os.getpid()}"

    def serve(self) -> None:
        """Answer until nobody asks any more."""
        with suppress(BrokenPipeError, messages.BrokenMessage, children.OtherSideGoneError):
            while received := messages.receive(self._asked, children.MOST_ANSWER, math.inf):
                messages.send(self._answers, self._answer(received[0]))

    def _answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        cell, limits = asked["cell"], children.Limits(**asked["limits"])
        began = perf_counter()
        source = jobs.source_of(cell)
        program = None if source is None else self._program(cell, *source)
        work = partial(jobs.run, cell, program)
        found = children.run_forked(work, limits, self._asked)
        if source is not None and found["outcome"] == Outcome.PASSED:
            self._proven[source[0].key] = None
            if len(self._proven) > _KNOWN:
                self._proven.popitem(last=False)
        took = Took(round(perf_counter() - began, 4), 1, self._name)
        return {"facts": {}, **found, "took": asdict(took)}

    def _program(
        self, cell: Mapping[str, Any], source: programs.Source, version: str
    ) -> Program | None:
        """Return a program if it is known to do no harm to who loads it."""
        key = source.key
        if key in self._programs:
            self._programs.move_to_end(key)
            return self._programs[key]
        if key not in self._proven:
            return None
        try:
            compiled = source.compiler is not None
            program = programs.kept(source, version) if compiled else programs.load(source, version)
            if program is not None:
                jobs.make_ready(cell, program)
        except Exception:
            return None  # The cell says what is wrong.
        if program is not None:
            self._programs[key] = program
            if len(self._programs) > _MOST_PROGRAMS:
                self._programs.popitem(last=False)
            gc.collect()
            gc.freeze()  # A collection in a child would copy all pages that it looks at.
        return program


def warm() -> None:
    """Load what launches need before the first of them: every cell would load it anew."""
    content.version()
    kernel = visim.load(_EXAMPLE).kernels[0]
    for engine in ("interpreter", "jit"):
        x, y = np.ones(16, np.float32), np.random.default_rng(0).random(16, np.float32)
        arguments = {"x": x, "y": y, "a": 2.0, "n": 16}
        kernel.launch(arguments, global_size=16, engine=engine, workers=1)
    compare("x", "x", x, y, Tolerance())
    find_machine("xe-hpc")


def main() -> None:
    """Serve the process that has started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    warm()
    Server(asked, answers).serve()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
