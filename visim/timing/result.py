"""What a kernel takes on a generation: cycles, where they go, line by line.

Plain data and its JSON and text; the pictures are made elsewhere from the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from visim.timing.legaliser import NativeProgram
from visim.timing.machine import Machine
from visim.timing.native import Native
from visim.timing.occupancy import Occupancy
from visim.timing.traces import SiteCount
from visim.timing.traffic import LEVELS

CATEGORY_NAMES = (
    "active",
    "control",
    "pipe",
    "send",
    "dependency",
    "scoreboard",
    "sync",
    "ifetch",
    "other",
)
"""The categories in which Intel's hardware reports stalls."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The whole run in parts of `part_cycles` cycles: the cycle-slots of each category in each.

    Slots without a thread are in none of them; a part holds at most `part_cycles` times the slots.
    """

    part_cycles: int
    parts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A hardware thread: its group's number, its core and slot, and its first and last cycle."""

    group: int
    core: int
    slot: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class LineData:
    """What the data messages of a vISA instruction did: what they asked for, and where it was.

    `l1`, `l3` and `memory` count lines by where they were found.
    """

    site: SiteCount
    l1: int
    l3: int
    memory: int

    def to_dict(self) -> dict[str, Any]:
        """Return it in the form that `--json` prints."""
        return {
            "messages": self.site.ran,
            "channels": self.site.channels,
            "bytes": self.site.bytes,
            "lines": self.site.lines,
            "slm_cycles": self.site.cycles,
            "lines_in_l1": self.l1,
            "lines_in_l3": self.l3,
            "lines_in_memory": self.memory,
        }


@dataclass(frozen=True, slots=True)
class DataCounters:
    """What caches and memory did for data: lines found and not found, and bytes of memory.

    `slm_cycles` are those in which banks of shared local memory worked.
    """

    l1_hits: int
    l1_misses: int
    l3_hits: int
    l3_misses: int
    memory_bytes: int
    slm_cycles: int

    def to_dict(self) -> dict[str, int]:
        """Return them in the form that `--json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LineTiming:
    """A vISA instruction: how often it ran, its native instructions, and cycle-slots by category.

    `line` is that of the vISA text, `source` the file and line that the program names. `moved`
    are the bytes that all executions move, by level of memory (`visim.timing.traffic`), `data` what
    its messages did where their addresses are known.
    """

    unit: str
    pc: int
    line: int | None
    text: str
    source: tuple[str, int] | None
    executions: int
    native: tuple[Native, ...]
    issued: int
    stalls: Mapping[str, int]
    moved: Mapping[str, int]
    data: LineData | None = None

    @property
    def cycles(self) -> int:
        """Cycle-slots that the line takes altogether."""
        return sum(self.stalls.values())

    @property
    def bank_conflicts(self) -> int:
        """Registers in bank conflict, over all executions."""
        return sum(item.sc for item in self.native) * self.executions

    def to_dict(self) -> dict[str, Any]:
        """Return the line in the form that `--json` prints."""
        return {
            "unit": self.unit,
            "pc": self.pc,
            "line": self.line,
            "text": self.text,
            "source_file": None if self.source is None else self.source[0],
            "source_line": None if self.source is None else self.source[1],
            "executions": self.executions,
            "native": [str(item) for item in self.native],
            "issued": self.issued,
            "cycles": self.cycles,
            "stalls": dict(self.stalls),
            "bank_conflicts": self.bank_conflicts,
            "moved_bytes": dict(self.moved),
            "data": None if self.data is None else self.data.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Left:
    """What caches hold at the end of a run: `first` lines in first caches have a place.

    `first_changed` is the part of the lines there that nobody else has as they are, `changed` that
    of the lines in the L3 that memory will have to be told of.
    """

    first: int
    first_changed: float
    changed: float


@dataclass(frozen=True, slots=True)
class Sample:
    """A launch by a sample of its groups (`visim.timing.sampling`).

    `cycles` are those of the launch, `error` the part by which they may be off: by how much alike
    groups differ (95 %), and by what parts of machines were measured to be off. `groups` of `of`
    were timed, on one of `parts` parts of the machine; the others are like them, in `clusters`
    ways.
    """

    cycles: int
    error: float
    groups: int
    of: int
    clusters: int
    parts: int

    def to_dict(self) -> dict[str, Any]:
        """Return it in the form that `--json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True, repr=False)
class TimingResult:
    """The timing of a kernel's launches.

    `slots` are the hardware thread slots of the machine; `stalls` counts cycle-slots by category,
    their sum is `cycles * slots`. `idle` is the part of "other" in which a slot had no thread.
    `visa` and `native` are executed instructions. `coissued` counts instructions that started
    together with another one. `busy` are the cycles of each unit, by `machine.UNITS`. `events`
    are stretches (slot, begin, end, category, address) of the cycles of `window`, from its first
    to before its last one. `static_counts` are the native instructions in the code, by what made
    them. `data` is what caches and memory did, None where messages have fixed latencies; `room` is
    how many threads a core can have, `range` the cycles at the ends of what is uncertain. Of a
    launch that was sampled all of this is the sample's, on a part of the machine, but for `range`;
    what the launch takes is in `sample`. `left` is what caches hold at the end.
    """

    machine: Machine
    program: NativeProgram = field(repr=False)
    cycles: int
    slots: int
    spans: tuple[Span, ...] = field(repr=False)
    visa: int
    native: int
    stalls: Mapping[str, int]
    idle: int
    coissued: int
    icache: Mapping[str, int]
    bank_conflicts: int
    busy: tuple[int, ...]
    lines: tuple[LineTiming, ...] = field(repr=False)
    timeline: Timeline = field(repr=False)
    events: tuple[tuple[int, ...], ...] = field(repr=False)
    window: tuple[int, int]
    provenance: tuple[Mapping[str, Any], ...] = field(repr=False)
    notes: tuple[str, ...]
    data: DataCounters | None
    room: Occupancy
    static_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    range: tuple[int, int] | None = None
    sample: Sample | None = None
    left: Left = Left(0, 0.0, 0.0)

    def __repr__(self) -> str:
        return (
            f"<TimingResult on {self.machine.name}: {self.cycles} cycles, "
            f"{self.native} native instructions>"
        )

    def _repr_html_(self) -> str:
        """Return the result as notebooks show it: the summary, and a listing with its heat."""
        from visim.timing.listing import html_listing

        return html_listing(self)

    @property
    def native_error(self) -> float | None:
        """How many more instructions the legaliser makes than GenX_IR, as a part of the latter."""
        if "genx" not in self.static_counts:
            return None
        return self.static_counts["legaliser"] / self.static_counts["genx"] - 1

    @property
    def threads(self) -> int:
        """Hardware threads that ran."""
        return len(self.spans)

    @property
    def occupied(self) -> int:
        """Cycle-slots in which a slot has a thread, at least 1."""
        return max(1, self.cycles * self.slots - self.idle)

    @property
    def thread_stalls(self) -> Mapping[str, int]:
        """Where the time of threads goes: `stalls` without slots that have no thread."""
        return {**self.stalls, "other": self.stalls["other"] - self.idle}

    @property
    def occupancy(self) -> float:
        """The part of the slots' time in which they have a thread, 0 to 1."""
        whole = self.cycles * self.slots
        return 1 - self.idle / whole if whole else 0.0

    @property
    def moved(self) -> Mapping[str, int]:
        """Bytes that messages move if all of their channels are on, by level of memory."""
        return {level: sum(line.moved.get(level, 0) for line in self.lines) for level in LEVELS}

    def hottest(self, count: int = 5) -> tuple[LineTiming, ...]:
        """Return the lines that take most cycle-slots, the hottest first."""
        return tuple(sorted(self.lines, key=lambda line: -line.cycles)[:count])

    def group_cycles(self) -> tuple[int, ...]:
        """Return the cycles from each group's first to its last one, by group."""
        begin: dict[int, int] = {}
        end: dict[int, int] = {}
        for span in self.spans:
            begin[span.group] = min(begin.get(span.group, span.begin), span.begin)
            end[span.group] = max(end.get(span.group, 0), span.end)
        return tuple(end[group] - begin[group] for group in sorted(begin))

    def to_dict(self) -> dict[str, Any]:
        """Return the result in the form that `--json` prints."""
        return {
            "arch": self.machine.name,
            "preset": self.machine.preset,
            "kernel": self.program.kernel.name,
            "cycles": self.cycles,
            "threads": self.threads,
            "slots": self.slots,
            "instructions": {"visa": self.visa, "native": self.native},
            "stalls": dict(self.stalls),
            "idle": self.idle,
            "coissued": self.coissued,
            "icache": dict(self.icache),
            "bank_conflicts": self.bank_conflicts,
            "moved_bytes": dict(self.moved),
            "data": None if self.data is None else self.data.to_dict(),
            "range": None if self.range is None else list(self.range),
            "room": {
                "threads": self.room.threads,
                "slots": self.room.slots,
                "limit": self.room.limit,
                "groups": dict(self.room.limits),
            },
            "occupancy": self.occupancy,
            "thread_cycles": _spread([span.end - span.begin for span in self.spans]),
            "group_cycles": _spread(self.group_cycles()),
            "lines": [line.to_dict() for line in self.lines],
            "provenance": [dict(item) for item in self.provenance],
            "notes": list(self.notes),
            "sample": None if self.sample is None else self.sample.to_dict(),
            "static_native": dict(self.static_counts),
            "native_error": self.native_error,
        }

    def __str__(self) -> str:
        between = "" if self.range is None else f" ({self.range[0]} to {self.range[1]})"
        found = self.sample
        cycles = f"{self.cycles} cycles" if found is None else f"about {found.cycles} cycles"
        off = "" if found is None else f", {found.error:.1%} more or less"
        lines = [
            f"{self.program.kernel.name} on {self.machine.title}, costs of {self.machine.preset}: "
            f"{cycles}{off}{between}",
            *self._said_of_sample(),
            f"  {self.threads} threads on {self.slots} slots, occupancy {self.occupancy:.1%}; "
            f"{self.visa} vISA and {self.native} native instructions",
        ]
        busy, shares = self.occupied, self.thread_stalls.items()
        stack = ", ".join(f"{name} {share / busy:.1%}" for name, share in shares if share)
        lines.append(f"  of the time of threads: {stack}")
        misses = f"{self.icache['l1_misses']} misses of {sum(self._fetches())} instruction lines"
        lines.append(f"  {misses}; {self.bank_conflicts} bank conflicts; {self.coissued} co-issued")
        lines += self._said_of_data()
        if self.native_error is not None:
            lines.append(
                f"  the legaliser's instructions differ by {self.native_error:+.1%} from GenX_IR's"
            )
        lines += [f"  note: {note}" for note in self.notes]
        for line in self.hottest():
            place = f"line {line.line}" if line.line else f"instruction {line.pc}"
            lines.append(f"  {line.cycles / busy:6.1%}  {place}: {line.text.strip()}")
        return "\n".join(lines)

    def _said_of_sample(self) -> Iterator[str]:
        found = self.sample
        if found is not None:
            ways = f"{found.clusters} way{'s' * (found.clusters != 1)}"
            yield (
                f"  from {found.groups} of {found.of} groups, which are alike in {ways}, on one of "
                f"{found.parts} parts of the machine; what follows is of these:"
            )

    def _said_of_data(self) -> Iterator[str]:
        found = self.data
        if found is None:
            return
        parts = [
            f"{hits} of {hits + misses} lines in {name}"
            for name, hits, misses in (
                ("the first cache", found.l1_hits, found.l1_misses),
                ("the L3", found.l3_hits, found.l3_misses),
            )
            if hits + misses
        ]
        if parts:
            rate = found.memory_bytes * self.machine.number("clock") / max(1, self.cycles) / 1000
            parts.append(f"{found.memory_bytes} bytes of memory ({rate:.1f} GB/s)")
        if found.slm_cycles:
            parts.append(f"{found.slm_cycles} cycles of SLM")
        if parts:
            yield f"  data: {'; '.join(parts)}"

    def _fetches(self) -> tuple[int, int]:
        return self.icache["l1_hits"], self.icache["l1_misses"]


def _spread(values: Sequence[int]) -> dict[str, float]:
    if not values:
        return {"least": 0, "mean": 0, "most": 0}
    return {"least": min(values), "mean": sum(values) / len(values), "most": max(values)}


__all__ = [
    "CATEGORY_NAMES",
    "DataCounters",
    "Left",
    "LineData",
    "LineTiming",
    "Sample",
    "Span",
    "Timeline",
    "TimingResult",
]
