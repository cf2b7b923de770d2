"""The detector of races: what was found of a launch, told with places, work-items and advice."""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.accesses import Accesses
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.linker.program import LinkedKernel
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.detecting import Surroundings
from visim.sanitize.findings import Actor, Coordinates
from visim.sanitize.images.texels import TEXELS
from visim.sanitize.kinds import KINDS
from visim.sanitize.races.across import Access, Across, Conflict
from visim.sanitize.races.clocks import Clocks
from visim.sanitize.races.columns import ATOMIC, READ, WHOLE, WRITE, Table
from visim.sanitize.races.recording import Recorder
from visim.sanitize.races.scopes import ScopedClocks, scopes_of
from visim.sanitize.races.within import Pair, pairs_within
from visim.sem.effects import (
    Atomic,
    Barrier,
    BarrierSignal,
    Effect,
    Fence,
    NamedBarrierSignal,
    Request,
    Space,
)
from visim.sem.requests import TexelAtomic

BATCH_WORDS = 1 << 21
"""Groups are looked at together until they have noted so many words."""

_VERBS = {READ: "reads", ATOMIC: "atomically updates", WRITE: "writes"}
_OF_GROUPS = (
    "no barrier orders two work-groups: make both accesses atomic, give each group bytes of its "
    "own, or split the kernel in two launches"
)
_FLAGS = {
    "local": "CLK_LOCAL_MEM_FENCE",
    "global": "CLK_GLOBAL_MEM_FENCE",
    "image": "CLK_IMAGE_MEM_FENCE",
}


@dataclass(frozen=True, slots=True)
class _Race:
    """Two accesses that race, ready to be told."""

    kind: str
    first: Access
    second: Access
    memory: str
    address: int
    advice: str | None
    is_scoped: bool = False


class RaceDetector:
    """Finds the races of a launch."""

    def __init__(self, surroundings: Surroundings, collector: Collector) -> None:
        self._surroundings = surroundings
        self._collector = collector
        clocks = Clocks() if _needs_clocks(surroundings.kernel) else None
        self._ordered = clocks is not None
        scopes = scopes_of(surroundings.kernel)
        self._has_scopes = scopes.are_named
        scoped = ScopedClocks() if clocks is not None and scopes.are_needed else None
        self._recorder = Recorder(surroundings, clocks, scoped)
        self._across = Across(surroundings.areas)
        self._groups: list[Coordinates] = []
        self._found: dict[tuple[str, int, int, str | None], tuple[_Race, int]] = {}

    def begin_group(self, group: GroupStart) -> None:
        """Begin a group."""
        self._groups.append(group.group)
        self._recorder.begin_group()

    def accesses(self, accesses: Accesses) -> None:
        """Record what a thread did."""
        self._recorder.take(accesses)

    def end_group(self, fault: Fault | None) -> None:
        """Look at what groups did, when it is enough."""
        del fault
        if self._recorder.size >= BATCH_WORDS:
            self._look()

    def end(self) -> None:
        """Look at the rest, and report what was found."""
        self._look()
        errors = {key[1:3] for key in self._found if key[0] in {"race-local", "race-global"}}
        for key, (race, count) in self._found.items():
            milder = key[0] in {"race-same-value", "race-lockstep"}
            if not (milder and key[1:3] in errors):
                self._tell(race, count)

    def _look(self) -> None:
        recorder = self._recorder
        local, shared = recorder.tables()
        for memory, table in (("local", local), ("global", shared)):
            if table is not None:
                found = pairs_within(table, recorder.entries, ordered=self._ordered)
                for rows, pair in found:
                    self._note_pair(rows, pair, memory)
        if shared is not None:
            conflicts = self._across.conflicts(shared, recorder.entries, ordered=self._ordered)
            for conflict in conflicts:
                self._note(self._race_of_groups(conflict), conflict.count)
        recorder.forget()

    # From rows to races

    def _race_of_groups(self, conflict: Conflict) -> _Race:
        first, second = conflict.first, conflict.second
        same = first.kind == second.kind == WRITE and first.value == second.value
        kind, advice = _kind(first, second, "global", same=same), _OF_GROUPS
        if conflict.is_scoped:
            kind = kind if self._has_scopes else "race-scope"
            advice = KINDS["race-scope"].advice
        is_scoped = conflict.is_scoped
        return _Race(kind, first, second, "global", conflict.address, advice, is_scoped)

    def _note_pair(self, rows: Table, pair: Pair, memory: str) -> None:
        first, second = (self._access(rows, row) for row in (pair.first, pair.second))
        if first.thread == second.thread and first.number != second.number:
            kind = "race-lockstep"
        else:
            kind = _kind(first, second, memory, same=pair.same_value)
        if not self._is_shared(memory, pair.cell * rows.cell):
            return
        advice = self._advice(rows, pair, memory, kind)
        self._note(_Race(kind, first, second, memory, pair.cell * rows.cell, advice), pair.count)

    def _is_shared(self, memory: str, address: int) -> bool:
        """Whether bytes belong to what callers passed: work-items have private memory, too."""
        if memory == "local":
            return True
        area = self._surroundings.area(address)
        return area is None or area.kind == "buffer"

    def _access(self, rows: Table, row: int) -> Access:
        entries, entry = self._recorder.entries, int(rows.entries[row])
        return Access(
            entries.groups[entry],
            entries.threads[entry],
            entries.sites[entry],
            int(rows.channels[row]),
            entries.numbers[entry],
            int(rows.kinds[row]),
            int(rows.values[row]),
        )

    def _advice(self, rows: Table, pair: Pair, memory: str, kind: str) -> str | None:
        """Return what to do about a race within a group; None: what the kind's row says."""
        if kind not in {"race-local", "race-global", "atomic-plain"}:
            return None
        entries = self._recorder.entries
        one, other = (int(rows.entries[row]) for row in (pair.first, pair.second))
        if self._is_of_image(self._access(rows, pair.first)):
            memory = "image"
        if entries.numbers[one] == entries.numbers[other] and (
            entries.threads[one] == entries.threads[other]
        ):
            return "give each work-item an element of its own, or use an atomic"
        if entries.after[one] != entries.after[other]:
            flag = _FLAGS[memory]
            return (
                f"a barrier stands between them, but without a fence for {memory} memory: use "
                f"barrier({flag})"
            )
        if memory != "local" and kind == "race-global":
            return f"put barrier({_FLAGS[memory]}) between the two accesses"
        return None

    def _note(self, race: _Race, count: int) -> None:
        buffer = self._buffer(race)
        sites = sorted((race.first.site, race.second.site))
        key = (race.kind, sites[0], sites[1], buffer)
        known = self._found.get(key)
        self._found[key] = (race, count) if known is None else (known[0], known[1] + count)

    # Telling

    def _tell(self, race: _Race, count: int) -> None:
        sides = [self._side(race.first), self._side(race.second)]
        first, second = (
            self._who(one, side.actor)
            for one, side in zip((race.first, race.second), sides, strict=True)
        )
        what = self._what(race)
        verbs = _VERBS[race.first.kind], _VERBS[race.second.kind]
        if race.kind == "race-same-value":
            message = f"{first} and {second} both write the same value to {what}, in no order"
        elif race.kind == "race-lockstep":
            message = (
                f"{first} {verbs[0]} {what}, {second} of the same hardware thread {verbs[1]} it; "
                "only the thread's lockstep orders them"
            )
        else:
            order = "ordered by fences of one work-group only" if race.is_scoped else "in no order"
            message = f"{first} {verbs[0]} {what}, {second} {verbs[1]} it, {order}"
        self._collector.add(
            race.kind,
            sides,
            message,
            buffer=self._buffer(race),
            count=count,
            advice=race.advice,
        )

    def _side(self, access: Access) -> Side:
        site = self._recorder.sites[access.site]
        channel = None if access.channel == WHOLE else access.channel
        group = self._groups[access.group]
        actor = self._surroundings.actor(group, access.thread, channel)
        return Side(site.unit, site.pc, actor)

    def _who(self, access: Access, actor: Actor) -> str:
        if actor.work_item is not None:
            return f"work-item {actor.work_item}"
        return f"thread {access.thread} of group {self._groups[access.group]}"

    def _buffer(self, race: _Race) -> str | None:
        area = None if race.memory == "local" else self._surroundings.area(race.address)
        return None if area is None else area.name

    def _is_of_image(self, access: Access) -> bool:
        return self._recorder.sites[access.site].operation.startswith(TEXELS)

    def _what(self, race: _Race) -> str:
        if self._is_of_image(race.first):
            picture = self._surroundings.picture(race.address)
            if picture is not None:
                return picture.texel(race.address)
        size = max(1, self._element(race.first))
        if race.memory == "local":
            return self._surroundings.local_element(race.address)
        area = self._surroundings.area(race.address)
        if area is None:
            return f"the bytes at 0x{race.address:x}"
        place, rest = divmod(race.address - area.start, size)
        inside = f", byte {rest} of it" if rest else ""
        count = self._surroundings.asked(area) // size
        return f"{area.name}[{place}] of {count}{inside}"

    def _element(self, access: Access) -> int:
        site = self._recorder.sites[access.site]
        size = site.size
        for effect in self._surroundings.kernel.effects(
            self._surroundings.kernel.units[site.unit], site.pc
        ):
            kind = getattr(effect, "type", None)
            values = getattr(effect, "values", None)
            if kind is not None:
                size = kind.bytes
            elif values:
                size = values[0].type.bytes
        return size


def _kind(first: Access, second: Access, memory: str, *, same: bool) -> str:
    if (first.kind == ATOMIC) != (second.kind == ATOMIC):
        return "atomic-plain"
    return "race-same-value" if same else f"race-{memory}"


def _needs_clocks(kernel: LinkedKernel) -> bool:
    """Whether anything but the barrier of a group can order the threads of a kernel.

    Named barriers can, and atomics with fences. Fences of local memory that belong to a barrier
    are left out: hardly a kernel lets threads meet at local atomics across it.
    """
    has_atomics = has_fences = False
    for unit in kernel.units:
        before: Effect | None = None
        for pc in range(len(unit.body)):
            for effect in kernel.known_effects(unit, pc):
                if isinstance(effect, NamedBarrierSignal):
                    return True
                has_atomics |= _is_atomic(effect)
                if isinstance(before, Fence):
                    meets = isinstance(effect, Fence | Barrier | BarrierSignal)
                    has_fences |= not (before.memory is Space.SLM and meets)
                before = effect
    return has_atomics and has_fences


def _is_atomic(effect: Effect) -> bool:
    of_texels = isinstance(effect, Request) and isinstance(effect.operation, TexelAtomic)
    return of_texels or isinstance(effect, Atomic)


__all__ = ["RaceDetector"]
