"""Sanitizers for kernels that drivers launch: what watches a walk, and who is told of findings.

Owns which findings were told already: each place of a program is told once, at the end of the
kernel. A file has them all for `visim exec`, which ends with another code because of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from visim.binary.zebin import ZeKernel
from visim.engine.base import Executable, Exit, Machine, RunOptions
from visim.linker.program import LinkedKernel
from visim.machine.extents import Extent
from visim.runtime.launching.sanitizing import Sanitizing, reach_of
from visim.runtime.payload.layout import PayloadLayout, WalkDispatch
from visim.runtime.payload.threads import LaunchPlan, Part
from visim.runtime.sourcetexts import SourceTexts
from visim.sanitize.findings import Finding
from visim.sanitize.watching import Wanted, watched_kernel

VARIABLE = "VISIM_SANITIZE"
FOUND_VARIABLE = "VISIM_FINDINGS"
"""Names a file that gets a line for each finding."""


@dataclass(frozen=True, slots=True)
class KernelWatch:
    """A kernel with instruments: `code` is what runs, `layout` where its payload lies."""

    sanitizing: Sanitizing
    layout: PayloadLayout

    @property
    def code(self) -> LinkedKernel:
        """The kernel with its instruments."""
        return self.sanitizing.watched

    def run(
        self,
        executable: Executable,
        dispatch: WalkDispatch,
        machine: Machine,
        geometry: dict[str, Sequence[int]],
        extents: tuple[Extent, ...],
    ) -> tuple[Exit, tuple[Finding, ...]]:
        """Run all groups of a walk; return what they did and what was found."""
        plan = LaunchPlan(geometry, (Part(dispatch, machine),), machine.surfaces, extents=extents)
        sanitizing = self.sanitizing
        sanitizing.prepare(plan)
        with sanitizing.wanted.turn():
            watcher = sanitizing.begin(plan, (), is_hasty=False)
            try:
                groups = range(dispatch.group_count)
                done = executable.run(groups, dispatch, machine, RunOptions(observers=(watcher,)))
            except BaseException:
                watcher.finish(None)
                raise
            return done, watcher.finish(done.fault)


def watch_kernel(
    names: tuple[str, ...],
    metadata: ZeKernel,
    linked: LinkedKernel,
    layout: PayloadLayout,
    raw: bytes | None,
    texts: SourceTexts,
) -> KernelWatch:
    """Return a kernel as sanitizers watch it; `raw` is the binary that it is from.

    Raises:
        UnsupportedError: the system does not let the process have shadows of memory.
    """
    wanted, reach = (
        Wanted(names, flat=bool(layout.private_bytes)),
        reach_of(layout, linked, raw, texts),
    )
    watched = watched_kernel(linked, wanted, reach)
    if "uninit" in names:
        layout = PayloadLayout(metadata, watched)
    return KernelWatch(Sanitizing(linked, watched, wanted, reach, (), texts), layout)


class Findings:
    """What sanitizers have found in the kernels of a VM.

    Args:
        say: is told of each finding once.
        path: the file that gets a line for each, None if nobody wants it.
    """

    def __init__(self, say: Callable[[str], None], path: Path | None) -> None:
        self._say = say
        self._path = path
        self._known: set[tuple[object, ...]] = set()
        self._lock = Lock()

    def tell(self, kernel: str, found: Sequence[Finding]) -> list[dict[str, Any]]:
        """Tell the user what is new; return that in the form that reports have."""
        with self._lock:
            fresh = [one for one in found if self._is_new(kernel, one)]
            forms = [one.to_dict() for one in fresh]
            for one in fresh:
                self._say(f"kernel {kernel!r}: {one}")
            if self._path is not None and fresh:
                lines = [
                    json.dumps({"kernel": kernel, "counts": one.counts, **form}) + "\n"
                    for one, form in zip(fresh, forms, strict=True)
                ]
                with self._path.open("a") as file:
                    file.writelines(lines)
        return forms

    def _is_new(self, kernel: str, one: Finding) -> bool:
        key = kernel, one.kind, one.buffer, tuple(one.locations)
        is_new = key not in self._known
        self._known.add(key)
        return is_new


def counted(path: Path) -> int:
    """Return how many findings in a file are errors or warnings."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return 0
    return sum(bool(json.loads(line)["counts"]) for line in lines)
