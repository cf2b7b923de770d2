"""What a launch did: the report that `Kernel.launch` returns ."""

from __future__ import annotations

import html
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from visim.records import record
from visim.sanitize.findings import Finding


@dataclass(frozen=True, slots=True)
class FormUse:
    """How often an instruction ran, and what its results are worth.

    `exactness` is "exact", a bound with its method, or "implementation-defined" with the note in
    docs/spec-notes.md that explains the choice; only the first is `is_exact`.
    """

    form: str
    count: int
    exactness: str
    is_exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in the form that `--json` prints."""
        return {"form": self.form, "count": self.count, "exactness": self.exactness}


@dataclass(frozen=True, slots=True)
class TaintUse:
    """An instruction at which inexact values decided something, and how often.

    `sink` is "branch" (where the thread goes on), "address" (which memory or register is accessed)
    or "output" (what memory holds afterwards).
    """

    sink: str
    instruction: str
    file: str | None
    line: int | None
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in the form that `--json` prints."""
        return {
            "sink": self.sink,
            "instruction": self.instruction,
            "file": self.file,
            "line": self.line,
            "count": self.count,
        }


@record
class Report:
    """The facts of one launch.

    `shared_geometry` has the sizes by name; all reports of a launch share it. `groups` and
    `threads` are those that ran, `threads` counts hardware threads. `instructions` are SIMD
    instructions, `fidelity` says of each how often it ran and how exact it is, `taint` where
    inexact values decided something; these are None unless collected. `wall_s` and `compile_s` are
    seconds of running and of preparing, that is of binding and of waiting for code in the first
    call.
    `dropped_accesses` are accesses to surfaces out of their range. `notes` are sentences about what
    was asked for and did not apply, or was lost, by the compiler for example.
    `printf` is what the kernel printed: the text of each work-item in its order.
    `findings` are what sanitizers found, in a fixed order.
    `append_counters` has, by binding table index, the counters of surfaces that the kernel used.
    """

    kernel: str
    engine: str
    platform: str
    shared_geometry: Mapping[str, Any] = field(repr=False)
    groups: int
    threads: int
    instructions: int | None
    wall_s: float
    compile_s: float
    fidelity: tuple[FormUse, ...] | None
    dropped_accesses: int
    notes: tuple[str, ...]
    printf: str
    append_counters: Mapping[int, int]
    taint: tuple[TaintUse, ...] | None
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Report of {self.kernel} on {self.platform}, {self.engine}: {self.groups} groups, "
            f"{self.threads} hardware threads, {_seconds(self.wall_s)}>"
        )

    def _repr_html_(self) -> str:
        """Return the report as notebooks show it."""
        return f"<pre>{html.escape(str(self))}</pre>"

    @property
    def geometry(self) -> dict[str, Any]:
        """The sizes by name, in a dict of the caller's own."""
        return deepcopy(dict(self.shared_geometry))

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the form that `--json` prints."""
        fidelity = None if self.fidelity is None else [use.to_dict() for use in self.fidelity]
        taint = None if self.taint is None else [use.to_dict() for use in self.taint]
        return {
            "kernel": self.kernel,
            "engine": self.engine,
            "platform": self.platform,
            "geometry": self.geometry,
            "groups": self.groups,
            "threads": self.threads,
            "instructions": self.instructions,
            "wall_s": self.wall_s,
            "compile_s": self.compile_s,
            "fidelity": fidelity,
            "taint": taint,
            "dropped_accesses": self.dropped_accesses,
            "notes": list(self.notes),
            "printf": self.printf,
            "findings": [finding.to_dict() for finding in self.findings],
            "append_counters": {str(n): value for n, value in self.append_counters.items()},
        }

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} {_shown(value)}" for name, value in self._sizes())
        lines = [
            f"{self.kernel} on {self.platform}, {self.engine}: {sizes}",
            f"  {self.groups} groups, {self.threads} hardware threads",
        ]
        if self.instructions is not None:
            lines[-1] += f", {self.instructions} instructions"
        lines.append(f"  {_seconds(self.wall_s)} running, {_seconds(self.compile_s)} preparing")
        if self.dropped_accesses:
            lines.append(f"  {self.dropped_accesses} accesses out of range of surfaces dropped")
        for index, value in self.append_counters.items():
            lines.append(f"  the append counter of surface {index} is {value}")
        if self.fidelity is not None:
            lines += self._fidelity_lines(self.fidelity)
        if self.taint is not None:
            lines += self._taint_lines(self.taint)
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join([*lines, *map(str, self.findings)])

    def _sizes(self) -> list[tuple[str, Any]]:
        shown: list[tuple[str, Any]] = []
        for name, value in self.shared_geometry.items():
            if isinstance(value, bool) or (name == "global_offset" and not any(value)):
                continue
            chosen = name == "local_size" and self.shared_geometry.get("local_size_chosen")
            shown.append((name.replace("_", " ") + (" (chosen)" if chosen else ""), value))
        return shown

    @staticmethod
    def _fidelity_lines(fidelity: tuple[FormUse, ...]) -> list[str]:
        inexact = [use for use in fidelity if not use.is_exact]
        if not inexact:
            return ["  every instruction that ran is bit-exact"]
        return [f"  {use.form}: {use.exactness}, ran {use.count} times" for use in inexact]

    @staticmethod
    def _taint_lines(taint: tuple[TaintUse, ...]) -> list[str]:
        if not taint:
            return ["  inexact values reached no branch, no address and no output"]
        lines: list[str] = []
        for sink in ("branch", "address", "output"):
            uses = [use for use in taint if use.sink == sink]
            lines.append(f"  inexact values {'reached' if uses else 'reached no'} {sink}")
            for use in uses:
                line = f" (line {use.line})" if use.line else ""
                lines.append(f"    {use.instruction}{line}, {use.count} times")
        return lines


def _shown(value: Any) -> str:
    if isinstance(value, str) or any(isinstance(item, list) for item in value):
        return str(value)
    sizes = list(value)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(str(size) for size in sizes)


def _seconds(value: float) -> str:
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
