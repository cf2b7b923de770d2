"""What to do about the hottest lines: the stall, what shows its cause, and the known remedies.

The rules are in one table, `RULES`. A line that waits for a message waits for another line; rules
look at that one, the cause, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from visim.timing.native import ADDRESS, SPILL, Native
from visim.timing.result import CATEGORY_NAMES, LineData, LineTiming, TimingResult
from visim.timing.traces import LINE_BYTES

_HOTTEST = 8
"""Lines that are looked at."""
_WORTH = 0.1
"""A line is worth advice from this part of the hottest line's time on."""
_OFTEN = 2
"""So many times what is needed is too much: lines of a message, cycles of banks, channels."""
_FULL = 0.75
"""A part of the slots that is enough."""
_LONG = 100
"""Cycles of a wait that no first cache explains."""
_SHORT = 4
"""Cycles of a wait for results that are too few to bother."""
_MOST = 0.3
"""The part of a line's time from which on a category is worth advice."""
_BUSY = 0.8
"""The part of its time from which on a memory that is busy is what bounds a kernel."""
_SHOWN = 4
"""Lines of a rule that the text names."""


@dataclass(frozen=True, slots=True)
class Case:
    """A hot line, what most of its time goes to, and the line that makes it wait."""

    result: TimingResult
    line: LineTiming
    category: str
    cause: LineTiming

    @property
    def data(self) -> LineData | None:
        """What the cause's messages did."""
        return self.cause.data

    @property
    def wait(self) -> float:
        """Cycles that one execution of the line spends in the category."""
        return self.line.stalls[self.category] / max(1, self.line.executions)


@dataclass(frozen=True, slots=True)
class Rule:
    """A known cause: `shows` returns the evidence, None where it is not the cause."""

    name: str
    categories: frozenset[str]
    shows: Callable[[Case], str | None]
    remedies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """A rule that fits a hot line; `share` is the line's part of the threads' time."""

    rule: Rule
    line: LineTiming
    cause: LineTiming
    category: str
    share: float
    evidence: str

    def to_dict(self) -> dict[str, Any]:
        """Return it in the form that `--json` prints."""
        return {
            "rule": self.rule.name,
            "share": self.share,
            "category": self.category,
            "unit": self.line.unit,
            "pc": self.line.pc,
            "line": self.line.line,
            "cause_pc": self.cause.pc,
            "cause_line": self.cause.line,
            "evidence": self.evidence,
            "remedies": list(self.rule.remedies),
        }


def _strided(case: Case) -> str | None:
    data = case.data
    if data is None or data.site.is_local or data.site.kind == "atomic":
        return None
    lines, size = data.site.lines / data.site.ran, data.site.bytes / data.site.ran
    needed = max(1.0, size / LINE_BYTES)
    if lines < _OFTEN * needed:
        return None
    return (
        f"a message touches {lines:.1f} lines of {LINE_BYTES} bytes for {size:.0f} bytes, which "
        f"{needed:.1f} could hold; {_found(data)}"
    )


def _atomics(case: Case) -> str | None:
    data = case.data
    if data is None or data.site.kind != "atomic":
        return None
    on = data.site.channels / data.site.ran
    if on < _OFTEN:
        return None
    where = "shared local memory" if data.site.is_local else "the L3"
    return f"a message is {on:.1f} atomic operations, which {where} does one after the other"


def _conflicts(case: Case) -> str | None:
    data = case.data
    if data is None or not data.site.is_local or data.site.kind == "atomic":
        return None
    banks = case.result.machine.number("slm_banks")
    cycles, size = data.site.cycles / data.site.ran, data.site.bytes / data.site.ran
    needed = max(1.0, size / (4 * banks))
    if cycles < _OFTEN * needed:
        return None
    return (
        f"a message keeps shared local memory busy for {cycles:.1f} cycles, {needed:.1f} would do: "
        f"its channels want different words of the same of {banks} banks"
    )


def _spills(case: Case) -> str | None:
    for one in (case.line, case.cause):
        spilled = sum(item.opcode.endswith(SPILL) for item in one.native)
        private = sum(item.kind.startswith("message.scratch") for item in one.native) - spilled
        if spilled or private:
            parts = [(spilled, "for variables without a register"), (private, "to private memory")]
            said = " and ".join(f"{count} {what}" for count, what in parts if count)
            return f"{_place(one)} has {said} of its messages"
    return None


def _divergence(case: Case) -> str | None:
    beside = case.cause if case.data else _beside(case.result, case.line)
    if beside is None or beside.data is None:
        return None
    site = beside.data.site
    width = max((item.size for item in beside.native if item.is_send), default=1)
    on = site.channels / site.ran
    if width == 1 or site.is_local or on * _OFTEN > width:
        return None
    return f"{on:.1f} of {width} channels are on in the messages of {_place(beside)}"


def _room(case: Case) -> str | None:
    room = case.result.room
    if _bound(case.result) is not None or room.share >= _FULL:
        return None
    return (
        f"{room.threads:g} of {room.slots} threads of a core can run at once; the limit is "
        f"{_LIMITS[room.limit]}"
    )


_LIMITS = {
    "threads": "the size of groups and the registers of a thread",
    "slm": "shared local memory",
    "barriers": "the number of barriers",
    "groups": "the number of groups",
}


def _bandwidth(case: Case) -> str | None:
    found = _bound(case.result)
    if found is None or case.data is None or case.data.site.is_local:
        return None
    name, share = found
    return f"{name} moves {share:.0%} of the bytes that it can move in this time"


def _bound(result: TimingResult) -> tuple[str, float] | None:
    """Return the memory that is busy for most of the time, and how busy it is."""
    data, number = result.data, result.machine.number
    if data is None or not result.cycles:
        return None
    bus = number("dram_rate") * number("dram_share") / 100 / number("clock")
    beyond = LINE_BYTES * (data.l3_hits + data.l3_misses)
    name, share = max(
        ("the bus of memory", data.memory_bytes / bus / result.cycles),
        ("the L3", beyond / number("l3_rate") / result.cycles),
        key=lambda one: one[1],
    )
    return (name, min(1.0, share)) if share >= _BUSY else None


def _fetching(case: Case) -> str | None:
    program, cache = case.result.program, case.result.icache
    size = sum(item.bytes for item in program.instructions)
    room = case.result.machine.number("l1_bytes")
    if size <= room:
        return None
    missed = cache["l1_misses"] / max(1, cache["l1_hits"] + cache["l1_misses"])
    return f"the code has {size} bytes, its first cache {room}; {missed:.0%} of its lines missed"


def _few(case: Case) -> str | None:
    result = case.result
    if _bound(result) is not None or result.threads >= _FULL * result.slots:
        return None
    return f"the launch has {result.threads} threads, the machine room for {result.slots}"


def _latency(case: Case) -> str | None:
    if case.wait < _LONG or _bound(case.result) is not None:
        return None  # where all wait for one bus, asking earlier does not make it faster
    data = case.data
    if data is not None and data.site.kind == "atomic":
        return None
    found = "" if data is None or data.site.is_local else f"; {_found(data)}"
    return f"{case.wait:.0f} cycles of wait an execution{found}"


def _chain(case: Case) -> str | None:
    if case.wait < _SHORT:
        return None
    share = case.line.stalls["dependency"] / max(1, case.line.cycles)
    return f"{share:.0%} of the line's time, {case.wait:.0f} cycles an execution"


RULES = (
    Rule(
        "strided access",
        frozenset({"scoreboard", "send"}),
        _strided,
        (
            "let neighbouring channels access neighbouring elements (structure of arrays)",
            "load whole rows as blocks, or through shared local memory, and pick from there",
        ),
    ),
    Rule(
        "bandwidth",
        frozenset({"scoreboard", "send"}),
        _bandwidth,
        (
            "move less: smaller types, several steps in one kernel that keeps what is between them",
            "use again what was loaded: from registers, shared local memory, or tiles in caches",
        ),
    ),
    Rule(
        "atomics",
        frozenset({"scoreboard", "send"}),
        _atomics,
        (
            "add up in registers and in the sub-group (reduce) first, then one atomic operation",
            "add up in shared local memory, several copies of it, and to memory once a group",
        ),
    ),
    Rule(
        "bank conflicts",
        frozenset({"scoreboard", "send"}),
        _conflicts,
        (
            "make rows of a tile one element longer, so that columns go through all banks",
            "let neighbouring channels access neighbouring words",
        ),
    ),
    Rule(
        "spills",
        frozenset({"scoreboard", "send"}),
        _spills,
        (
            "keep less alive: smaller tiles, fewer unrolled turns; index arrays by constants",
            "ask for 256 registers (-cl-intel-256-GRF-per-thread), or a smaller SIMD size",
        ),
    ),
    Rule(
        "divergence",
        frozenset({"active", "pipe", "dependency", "scoreboard", "send", "control", "other"}),
        _divergence,
        (
            "give neighbouring channels work that goes the same way (sort it, or compact it first)",
            "choose a smaller SIMD size",
        ),
    ),
    Rule(
        "low occupancy",
        frozenset({"scoreboard", "dependency", "sync"}),
        _room,
        (
            "use less shared local memory in a group, or more work-items with the same of it",
            "use fewer registers (-cl-intel-128-GRF-per-thread), groups of another size",
        ),
    ),
    Rule(
        "few threads",
        frozenset({"scoreboard", "dependency", "sync", "ifetch"}),
        _few,
        ("split the work into more work-items: along the sum, or into smaller tiles",),
    ),
    Rule(
        "instruction fetch",
        frozenset({"ifetch"}),
        _fetching,
        (
            "unroll less (#pragma unroll 1), let loops be loops",
            "inline less (__attribute__((noinline))), put rare cases into kernels of their own",
        ),
    ),
    Rule(
        "long waits for messages",
        frozenset({"scoreboard"}),
        _latency,
        (
            "load earlier: unroll, and put the loads of the next turn before the work of this one",
            "prefetch what comes some turns later",
            "keep what is used again in registers or shared local memory",
        ),
    ),
    Rule(
        "chains of results",
        frozenset({"dependency"}),
        _chain,
        ("let several independent chains take turns (several sums, unrolled loops)",),
    ),
)
"""All rules, each declared here only."""


def advise(result: TimingResult) -> tuple[Advice, ...]:
    """Return what rules say of the hottest lines, the hottest first."""
    found: dict[tuple[str, str, int], Advice] = {}
    hottest = result.hottest(_HOTTEST)
    for line in hottest:
        if line.cycles < _WORTH * hottest[0].cycles:
            break
        for advice in _of_line(result, line, line.cycles / result.occupied):
            key = advice.rule.name, advice.cause.unit, advice.cause.pc
            found.setdefault(key, advice)
    return tuple(found.values())


def _of_line(result: TimingResult, line: LineTiming, share: float) -> Iterator[Advice]:
    for category in sorted(CATEGORY_NAMES, key=lambda name: -line.stalls[name]):
        if line.stalls[category] < _MOST * line.cycles:
            return
        cause = waited_for(result, line) if category == "scoreboard" else None
        case = Case(result, line, category, line if cause is None else cause)
        for rule in RULES:
            evidence = rule.shows(case) if category in rule.categories else None
            if evidence is not None:
                yield Advice(rule, line, case.cause, category, share, evidence)


def waited_for(result: TimingResult, line: LineTiming) -> LineTiming | None:
    """Return the line whose message a line waits for: the last one before it in the program.

    In a loop that can be one that stands behind it.
    """
    program = result.program
    unit = next(unit for unit in program.units if unit.unit.unit.name == line.unit)
    begin, end = unit.starts[line.pc], unit.starts[line.pc + 1]
    wanted = {
        resource
        for native in unit.instructions[begin:end]
        for resource in (*native.reads, *native.writes)
        if resource < ADDRESS
    }
    before: list[Native] = [*unit.instructions[end:], *unit.instructions[:begin]]
    lines = {one.pc: one for one in result.lines if one.unit == line.unit}
    for native in reversed(before):
        if native.is_send and wanted.intersection(native.writes) and native.pc in lines:
            return lines[native.pc]
    return None


def _beside(result: TimingResult, line: LineTiming) -> LineTiming | None:
    """Return the nearest line with data messages that ran as often as a line, so beside it."""
    near = [
        one
        for one in result.lines
        if one.data is not None and one.unit == line.unit and one.executions == line.executions
    ]
    return min(near, key=lambda one: abs(one.pc - line.pc), default=None)


def _found(data: LineData) -> str:
    whole = max(1, data.l1 + data.l3 + data.memory)
    parts = (("the first cache", data.l1), ("the L3", data.l3), ("memory", data.memory))
    return "found in " + ", ".join(f"{name} {n / whole:.0%}" for name, n in parts if n)


def _place(line: LineTiming) -> str:
    place = f"line {line.line}" if line.line else f"instruction {line.pc}"
    return place if line.source is None else f"{place} ({line.source[0]}:{line.source[1]})"


def advice_text(result: TimingResult) -> str:
    """Return the advice as text."""
    found = advise(result)
    if not found:
        return "advice: none of the rules fits the hottest lines"
    lines = ["advice:"]
    for rule in dict.fromkeys(one.rule for one in found):
        cases = [one for one in found if one.rule is rule]
        lines.append(f"  {rule.name}")
        for one in cases[:_SHOWN]:
            where = f"    {one.share:5.1%}  {_place(one.line)} ({one.category})"
            if one.cause is not one.line:
                where += f", for {_place(one.cause)}"
            lines.append(f"{where}: {one.cause.text.strip()}")
            if one is cases[0] or one.evidence != cases[0].evidence:
                lines.append(f"           {one.evidence}")
        if cases[_SHOWN:]:
            others = sum(one.share for one in cases[_SHOWN:])
            lines.append(f"    {others:5.1%}  in {len(cases) - _SHOWN} more")
        lines += [f"    - {remedy}" for remedy in rule.remedies]
    return "\n".join(lines)


__all__ = ["RULES", "Advice", "Rule", "advice_text", "advise", "waited_for"]
