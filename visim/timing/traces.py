"""The data messages of a run: what threads accessed, kept as engines log it, made lines on demand.

Which native messages an access becomes, how many bytes a line has and how many banks there are
belongs to a machine; so the log is kept, and each machine that a run is timed on makes its own
entries of it (`core.coalesce`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import Accesses, AccessSite, access_site
from visim.engine.prefetches import SURFACE_SHIFT, told_by
from visim.timing import compiled
from visim.timing.core import coalesce
from visim.timing.core.coalesce import ENTRIES, LINES, SEEN, Entries, Log, Sites
from visim.timing.core.fields import ATOMIC, LOAD, LOCAL, STORE
from visim.timing.footprint import footprint
from visim.timing.legaliser import MARKS, NativeProgram
from visim.timing.native import SPILL, Native

Words = NDArray[np.int64]

LINE_BYTES = 64
"""What caches keep together, on all generations."""
WORTH_COMPILING = 20_000
"""Words of a log from which on compiling what reads it pays."""
_KINDS = {"load": LOAD, "store": STORE, "atomic": ATOMIC}
_REACHED = frozenset({"flat", "surface", "scratch", "slm"})
_MESSAGES = frozenset({"load", "store", "atomic", "block_load", "block_store"})
_FLAT, _SURFACE, _SCRATCH, _ARGUMENT = 1 << 50, 1 << 58, 1 << 59, 1 << 60
"""Where memory begins: flat one that a launch names, and such whose addresses are no flat ones."""
_PAGE = 1 << 16
"""Drivers begin buffers at multiples of so many bytes, and so does the model: NumPy does not."""


def is_followed(native: Native) -> bool:
    """Return whether a native instruction is a data message whose addresses the log has."""
    if native.opcode.endswith(SPILL):
        return False
    message, _, rest = native.kind.partition(".")
    space, _, name = rest.partition(".")
    return message == "message" and space in _REACHED and name.partition(".")[0] in _MESSAGES


@dataclass(frozen=True, slots=True)
class SiteCount:
    """What the messages of a vISA instruction did.

    `ran` counts native messages with channels that are on, `channels` these channels, `lines` the
    lines that they touched, `cycles` those of shared local memory's banks, and `bytes` what the
    channels moved.
    """

    ran: int
    channels: int
    lines: int
    cycles: int
    bytes: int
    is_local: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Traffic:
    """The entries of all threads for one machine, and what each vISA instruction did.

    `memory` is what each native instruction does, by address. `sites` are by unit and program
    counter.
    """

    memory: Sequence[int]
    entry_at: Words
    lines_at: Words
    cost: Words
    lines: Words
    sites: Mapping[tuple[int, int], SiteCount]


Stretches = tuple[tuple[int, int], ...]


class Placement(NamedTuple):
    """Where stretches of flat memory begin and end, and by how much the model moves them."""

    begins: Words
    ends: Words
    moves: Words


def placement(memory: Stretches) -> Placement:
    """Place stretches of memory as a driver does: one after another, each on pages of its own.

    What overlaps or touches on the host stays together, as parts of one buffer do.
    """
    whole: list[tuple[int, int]] = []
    for start, size in sorted(memory):
        if whole and start <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(whole[-1][1], start + size)
        elif size:
            whole.append((start, start + size))
    begins = [start for start, _ in whole]
    moves = [0] * len(whole)
    place = _FLAT
    named = (bisect_right(begins, start) - 1 for start, size in memory if size)
    for number in dict.fromkeys(named):
        start, end = whole[number]
        moves[number] = place - start
        place += -(-(end - start) // _PAGE) * _PAGE
    return Placement(*(np.array(one, np.int64) for one in (begins, [e for _, e in whole], moves)))


NOWHERE = placement(())


class Traces:
    """What the threads of launches accessed, by group."""

    def __init__(self) -> None:
        self._groups: list[dict[int, list[tuple[int, Words]]]] = []
        self._tables: list[tuple[Sequence[AccessSite], Placement]] = []
        self._placements: dict[Stretches, Placement] = {}
        self._placement = NOWHERE

    def begin_group(self, memory: Sequence[tuple[int, int]] = ()) -> None:
        """Begin a thread group; what follows is of its threads.

        Args:
            memory: the flat memory that they share: where each stretch begins, and its bytes.
        """
        self._groups.append({})
        stretches = tuple(memory)
        if stretches not in self._placements:
            self._placements[stretches] = placement(stretches)
        self._placement = self._placements[stretches]

    def add(self, accesses: Accesses) -> None:
        """Add what a thread did."""
        known = next(
            (
                i
                for i, (t, placed) in enumerate(self._tables)
                if t is accesses.sites and placed is self._placement
            ),
            None,
        )
        if known is None:
            known = len(self._tables)
            self._tables.append((accesses.sites, self._placement))
        log = self._groups[-1].setdefault(accesses.thread, [])
        log.append((known, accesses.words.view(np.int64)))

    def traffic(
        self, program: NativeProgram, threads: Iterable[tuple[int, int]], banks: int
    ) -> Traffic:
        """Return the entries of some threads.

        Args:
            program: the native program.
            threads: the group and number of each, in the order of the simulation.
            banks: how many banks shared local memory has.
        """
        order = [self._groups[group].get(thread, []) for group, thread in threads]
        parts: list[Entries] = []
        counts: dict[tuple[int, int], SiteCount] = {}
        first = 0
        for number, logs in _runs(order):
            table, placed = self._tables[number] if self._tables else ((), NOWHERE)
            found = _entries(_sites(table, program), logs, first, max(1, banks), placed)
            _count(table, found, counts)
            parts.append(found)
            first += len(logs)
        return _joined(program, parts, counts)


def _runs(order: Sequence[list[tuple[int, Words]]]) -> list[tuple[int, list[list[Words]]]]:
    """Return successive threads with logs of one table of sites."""
    runs: list[tuple[int, list[list[Words]]]] = []
    for logs in order:
        table = logs[0][0] if logs else runs[-1][0] if runs else 0
        if not runs or runs[-1][0] != table:
            runs.append((table, []))
        runs[-1][1].append([words for _, words in logs])
    return runs


def _sites(table: Sequence[AccessSite], program: NativeProgram) -> Sites:
    """Return what is to be known of the sites, by number."""
    table = [_as_load(site) for site in table]
    local = [site.space == "SLM" for site in table]
    return Sites(
        masks=[site.masks for site in table],
        lanes=[site.lanes for site in table],
        size=[site.size for site in table],
        kind=[
            LOCAL if is_local else _KINDS.get(site.kind, 0)
            for site, is_local in zip(table, local, strict=True)
        ],
        is_atomic=[int(site.kind == "atomic") for site in table],
        parts=[_parts(program, site) for site in table],
        of=[_accesses(program, site) for site in table],
        base=[
            {"surface": _SURFACE, "scratch": _SCRATCH, "implicit arguments": _ARGUMENT}.get(
                site.space, 0
            )
            for site in table
        ],
        own=[(1 << 24) * (site.space == "scratch") for site in table],
        bound=[(1 << SURFACE_SHIFT) * (site.space == "surface") for site in table],
    )


def _as_load(site: AccessSite) -> AccessSite:
    """Return a site; one that tells of a prefetch as the load that it is."""
    told = told_by(site)
    if told is None:
        return site
    return AccessSite(site.unit, site.pc, "load", told.space.value, site.lanes, told.size)


def _parts(program: NativeProgram, site: AccessSite) -> int:
    """Return how many native messages an access is sent as."""
    if site.kind not in _KINDS:
        return 0
    unit = program.units[site.unit]
    natives = unit.instructions[unit.starts[site.pc] : unit.starts[site.pc + 1]]
    return sum(map(is_followed, natives))


def _accesses(program: NativeProgram, site: AccessSite) -> int:
    """Return how many accesses the instruction of a site makes each time."""
    instruction = program.units[site.unit].unit.body[site.pc]
    if isinstance(instruction, MARKS):
        return 1
    effects = footprint(instruction, program.kernel.platform).effects
    found = (access_site(site.unit, site.pc, effect) for effect in effects)
    return max(1, sum(one is not None and one.kind in _KINDS for one in found))


def _entries(
    sites: Sites, logs: Sequence[Sequence[Words]], first: int, banks: int, placed: Placement
) -> Entries:
    """Return the entries of successive threads."""
    ends = np.cumsum([sum(words.size for words in log) for log in logs], dtype=np.int64)
    pieces = [words for log in logs for words in log]
    words = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
    known = all(map(compiled.is_loaded, (coalesce.room, coalesce.coalesce)))
    run = compiled.call if known or words.size >= WORTH_COMPILING else compiled.interpret
    log = Log(words, ends, first, LINE_BYTES, banks, *placed)
    found = _fresh(len(sites.masks), 0, 0, 0, 0)
    run(coalesce.room, (sites, log, found), ("scalar",))
    found = _fresh(len(sites.masks), len(logs), found.scalar[ENTRIES], found.scalar[LINES], banks)
    changed = tuple(name for name in Entries._fields if not name.startswith(("seen", "bank")))
    run(coalesce.coalesce, (sites, log, found), changed)
    return found


def _fresh(sites: int, threads: int, entries: int, lines: int, banks: int) -> Entries:
    def zeros(count: int) -> Words:
        return np.zeros(count, np.int64)

    return Entries(
        entry_at=zeros(threads + 1),
        lines_at=zeros(entries + 1),
        cost=zeros(entries),
        lines=zeros(lines),
        ran=zeros(sites),
        channels=zeros(sites),
        touched=zeros(sites),
        cycles=zeros(sites),
        scalar=zeros(3),
        seen=zeros(SEEN if banks else 0),
        seen_in=zeros(SEEN if banks else 0),
        bank_in=zeros(banks),
        bank_words=zeros(banks),
    )


def _count(
    table: Sequence[AccessSite], found: Entries, counts: dict[tuple[int, int], SiteCount]
) -> None:
    """Add what the instructions of a table did."""
    for number, site in enumerate(map(_as_load, table)):
        key = site.unit, site.pc
        ran = int(found.ran[number])
        if not ran:
            continue
        old = counts.get(key)
        channels = int(found.channels[number])
        counts[key] = SiteCount(
            ran + (old.ran if old else 0),
            channels + (old.channels if old else 0),
            int(found.touched[number]) + (old.lines if old else 0),
            int(found.cycles[number]) + (old.cycles if old else 0),
            channels * site.size + (old.bytes if old else 0),
            site.space == "SLM",
            site.kind,
        )


def _joined(
    program: NativeProgram,
    parts: Sequence[Entries],
    counts: Mapping[tuple[int, int], SiteCount],
) -> Traffic:
    nothing = np.zeros(0, np.int64)
    entry_at, lines_at = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    cost, lines = [nothing], [nothing]
    for part in parts:
        entries, used = int(part.scalar[ENTRIES]), int(part.scalar[LINES])
        entry_at.append(part.entry_at[1:] + entry_at[-1][-1])
        lines_at.append(part.lines_at[1:] + lines_at[-1][-1])
        cost.append(part.cost[:entries])
        lines.append(part.lines[:used])
    return Traffic(
        _memory(program),
        np.concatenate(entry_at),
        np.concatenate(lines_at),
        np.concatenate(cost),
        np.concatenate(lines),
        counts,
    )


def _memory(program: NativeProgram) -> list[int]:
    """Return what each native instruction does to memory, by address."""
    return [_does(item) if is_followed(item) else 0 for item in program.instructions]


def _does(native: Native) -> int:
    _, space, name, *_ = native.kind.split(".")
    if space == "slm":
        return LOCAL
    return _KINDS[name.removeprefix("block_")]


__all__ = ["LINE_BYTES", "SiteCount", "Traces", "Traffic", "is_followed"]
