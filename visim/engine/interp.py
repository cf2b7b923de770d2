"""The reference interpreter: kernels with an image and blocks of their own, ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from visim.engine.accesses import SiteTable
from visim.engine.base import Dispatch, Exit, Machine, RunOptions
from visim.engine.blocks import BlockTable
from visim.engine.context import Context
from visim.engine.observers import BlockNumbers
from visim.engine.reports import Reports
from visim.engine.running import CHANNELS, Run
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


class Prepared:
    """A kernel bound to one register image, which its threads use in turn."""

    def __init__(self, kernel: LinkedKernel, tracker: Tracker | None = None) -> None:
        self.kernel = kernel
        self.tracker = tracker
        size = kernel.register_bytes
        whole = np.zeros(size if tracker is None else 2 * size, np.uint8)
        self.context = Context(whole[:size], np.zeros(CHANNELS, np.bool_), whole=whole)
        self.numbers = BlockNumbers()
        self.sites = SiteTable()
        self.tables = self._tables(None)
        self.noting_tables: list[BlockTable] = []
        self._lock = Lock()

    def _tables(self, sites: SiteTable | None) -> list[BlockTable]:
        """Return the blocks of all units; with `sites`, their steps note accesses."""
        return [
            BlockTable(self.kernel, unit, self.context, self.numbers, self.tracker, sites)
            for unit in self.kernel.units
        ]

    def tables_for(self, reports: Reports) -> list[BlockTable]:
        """Return the blocks of all units, as observers want them."""
        if not reports.wants_accesses:
            return self.tables
        self.noting_tables = self.noting_tables or self._tables(self.sites)
        return self.noting_tables

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

    def expect(self, dispatch: Dispatch, options: RunOptions) -> None:
        """Do nothing: blocks are made when they are first executed."""
