"""A kernel's register image and the blocks that compute on it."""

from __future__ import annotations

import numpy as np

from visim.engine.accesses import SiteTable
from visim.engine.blocks import BlockTable
from visim.engine.context import Context
from visim.engine.observers import BlockNumbers
from visim.engine.reports import Reports
from visim.engine.taint import Tracker
from visim.linker.program import LinkedKernel

CHANNELS = 64


class KernelImage:
    """A kernel, the register image that its threads use in turn, and its blocks."""

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
