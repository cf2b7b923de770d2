"""Payloads that Intel's driver writes, against those that visim writes for the same launch.

`python -m tests.device.payload_oracle` is the process of a VM, as `visim.device.vm` is, that
compares before it runs. Each launch is a line of the file that `DIFFERENCES` names: its kernel, and
what differs. Compared are all entries of sizes, values and local memory, local ids, the channels
that are on, local memory, and the sizes of surfaces. Addresses are not: each side has its own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from visim import Local
from visim.device import launching, vm
from visim.device.walker import ComputeWalk
from visim.engine.base import Machine
from visim.machine.bounds import Bounds
from visim.runtime.arguments.parameters import parameters
from visim.runtime.payload.abi import prepare
from visim.runtime.payload.geometry import NDRange, Triple, Walk
from visim.runtime.payload.table import ArgumentTable
from visim.runtime.payload.threads import LaunchPlan, Tables

ASKED, DIFFERENCES = "VISIM_TEST_ASKED", "VISIM_TEST_DIFFERENCES"
_SIZES = {"global_id_offset", "local_size", "enqueued_local_size", "global_size", "group_count"}
_COMPARED = _SIZES | {"work_dimensions", "arg_byvalue", "buffer_offset"}
_SURFACE_UNIT = 4


class Compared:
    """One walk of the driver's, and what visim makes of the launch that it is of.

    Args:
        asked: the launch, as the program has asked for it.
        prepared: the kernel.
        walk: the driver's walk.
        groups: how many groups it has.
        payload: what the driver has given to it, local ids included.
    """

    def __init__(
        self,
        asked: dict[str, Any],
        prepared: launching.Prepared,
        walk: ComputeWalk,
        groups: Triple,
        payload: bytes,
    ) -> None:
        self.walk, self.groups, self.payload = walk, groups, payload
        self.prepared, self.layout = prepared, prepared.layout
        local = _three(asked["local"] or self._three("enqueued_local_size"), 1)
        offset, whole = _three(asked["offset"], 0), _three(asked["global"], 1)
        self.geometry = NDRange(whole, local, offset, len(asked["global"]))
        self.tables: list[bytes] = []
        self.plan = self._plan([_given(one) for one in asked["arguments"]])

    def _plan(self, given: list[object]) -> LaunchPlan:
        table = self.layout.table
        write = ArgumentTable.data.__get__(table)

        class Kept:
            def data(_, *words: Any) -> bytes:
                self.tables.append(write(*words))
                return self.tables[-1]

        self.layout.table = Kept()  # pyright: ignore[reportAttributeAccessIssue]
        try:
            named, none = parameters(self.prepared.metadata), Tables({}, {})
            return prepare(self.layout, named, given, self.geometry, none, None, Bounds.FAULT)
        finally:
            self.layout.table = table

    def _three(self, kind: str) -> list[int]:
        for entry in self.prepared.metadata.payload:
            if entry.arg_type == kind and entry.size:
                place = slice(entry.offset, entry.offset + entry.size)
                return np.frombuffer(self.payload[place], np.uint32).tolist()
        return list(self.walk.local_size)

    def differences(self, machine: Machine) -> list[str]:
        """Return what differs."""
        whole = self.geometry.walks
        match = [i for i, one in enumerate(whole) if self._is_it(one)]
        if len(match) != 1:
            return [f"{self.groups} groups from {self.walk.first_group} on are no part of {whole}"]
        part = self.plan.parts[match[0]]
        found = [*self._entries(self.tables[match[0]]), *self._ids(whole[match[0]])]
        if not part.dispatch.slm_bytes <= self.walk.slm_bytes < 4 * part.dispatch.slm_bytes + 1025:
            found.append(f"local memory: {self.walk.slm_bytes}, ours {part.dispatch.slm_bytes}")
        return found + self._surfaces(machine)

    def _is_it(self, one: Walk) -> bool:
        return one.first_group == self.walk.first_group and one.groups == self.groups

    def _entries(self, ours: bytes) -> list[str]:
        """Compare entries; of two of one size the driver writes the last alone, visim both."""
        found: list[str] = []
        payload = self.prepared.metadata.payload
        last = {entry.arg_type: entry for entry in payload if entry.size}
        for entry in payload:
            is_local = entry.addrmode == "slm"
            if not entry.size or not (entry.arg_type in _COMPARED or is_local):
                continue
            if entry.arg_type in _SIZES and entry is not last[entry.arg_type]:
                continue
            place = slice(entry.offset, entry.offset + entry.size)
            if self.payload[place] != ours[place]:
                what = f"{entry.arg_type} of argument {entry.arg_index}"
                found.append(f"{what}: {self.payload[place].hex()}, ours {ours[place].hex()}")
        return found

    def _ids(self, own: Walk) -> list[str]:
        """Compare local ids that are in the data, and which channels are on."""
        ours = self.layout.of_threads(own.local_size)
        masks = launching._masks(self.walk)
        if [one.mask for one in ours.own] != list(masks):
            return [f"channels: {masks}, ours {[one.mask for one in ours.own]}"]
        size, start = self.layout.local_id_bytes, self.prepared.common_bytes
        if self.walk.ids is not None or not size:
            return []
        found: list[str] = []
        for thread, ids in enumerate(ours.ids):
            row = self.payload[start + size * thread : start + size * (thread + 1)]
            theirs = np.frombuffer(row, np.uint16).reshape(-1, self.layout.dimension_bytes // 2)
            on = [c for c in range(ids.shape[1]) if masks[thread] >> c & 1]
            if not np.array_equal(theirs[: len(ids)][:, on], ids[: len(theirs)][:, on]):
                found.append(f"local ids of thread {thread}")
        return found

    def _surfaces(self, machine: Machine) -> list[str]:
        found: list[str] = []
        for index in range(256):
            if index not in self.plan.surfaces:
                continue
            ours = self.plan.surfaces[index].size
            theirs = machine.surfaces[index].size if index in machine.surfaces else -1
            if not 0 <= theirs - ours < _SURFACE_UNIT:
                found.append(f"surface {index}: {theirs} bytes, ours {ours}")
        return found


def _three(sizes: list[int] | None, rest: int) -> Triple:
    x, y, z = [*(sizes or []), rest, rest, rest][:3]
    return x, y, z


def _given(one: tuple[str, Any]) -> object:
    kind, value = one
    if kind == "value":
        return bytes.fromhex(value)
    return Local(value) if kind == "local" else np.zeros(value, np.uint8)


class _Comparing(launching.Kernels):
    """Runs kernels as ever, and compares before."""

    def _payload(
        self, prepared: launching.Prepared, walk: ComputeWalk, payload: bytes
    ) -> tuple[bytes, Any]:
        self._whole = payload
        return super()._payload(prepared, walk, payload)

    def _execute(
        self,
        prepared: launching.Prepared,
        dispatch: Any,
        machine: Machine,
        around: launching.Around,
    ) -> None:
        asked = json.loads(Path(os.environ[ASKED]).read_text())
        name = prepared.metadata.name
        if asked["kernel"] == name and prepared.moves is None:
            walk, groups = around.walk, around.groups
            try:
                one = Compared(asked, prepared, walk, groups, self._whole)
                found = one.differences(machine)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            with Path(os.environ[DIFFERENCES]).open("a") as file:
                file.write(json.dumps([name, found]) + "\n")
        super()._execute(prepared, dispatch, machine, around)


if __name__ == "__main__":
    vm.Kernels = _Comparing  # pyright: ignore[reportPrivateImportUsage]
    sys.exit(vm.main(sys.argv[1:]))
