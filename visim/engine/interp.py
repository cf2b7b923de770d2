"""The reference interpreter: kernels with an image and blocks of their own, ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from visim.engine.base import Dispatch, Exit, Machine, RunOptions
from visim.engine.kernel_image import KernelImage
from visim.engine.running import Run
from visim.engine.taint import Tracker
from visim.linker.program import LinkedKernel


class Interpreter:
    """The engine `"interpreter"`; on request it tracks where inexact values go."""

    name = "interpreter"

    def __init__(self, *, taint: bool = False) -> None:
        self._taint = taint

    def prepare(self, kernel: LinkedKernel) -> Prepared:
        """Return the kernel with an image of its own, ready to run."""
        return Prepared(kernel, Tracker() if self._taint else None)


class Prepared(KernelImage):
    """A kernel that is ready to run."""

    def __init__(self, kernel: LinkedKernel, tracker: Tracker | None = None) -> None:
        super().__init__(kernel, tracker)
        self._lock = Lock()

    def again(self) -> Prepared:
        """Return the kernel with another image, for a launch at the same time."""
        return Prepared(self.kernel, None if self.tracker is None else Tracker())

    def run(
        self, groups: Sequence[int], dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Exit:
        """Run the groups one after another; a fault ends the run and is returned."""
        with self._lock, np.errstate(all="ignore"):
            run = Run(self, dispatch, machine, options)
            try:
                run.groups(groups)
                return run.exit
            finally:
                self.context.release()
                if self.tracker is not None:
                    run.exit.reached = self.tracker.end_run()

    def expect(self, dispatch: Dispatch, machine: Machine, options: RunOptions) -> None:
        """Do nothing: blocks are made when they are first executed."""
