"""Runs the simulation and puts its counters into a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from visim.errors import InternalError
from visim.isa import Instruction
from visim.timing import compiled
from visim.timing.arrays import Work, chip_numbers, code_arrays, fresh_state
from visim.timing.core import fields, simulate
from visim.timing.core.fields import CATEGORIES, NEVER, Chip, State
from visim.timing.footprint import footprint
from visim.timing.legaliser import MARKS, NativeProgram
from visim.timing.occupancy import occupancy
from visim.timing.result import (
    CATEGORY_NAMES,
    DataCounters,
    Left,
    LineData,
    LineTiming,
    Span,
    Timeline,
    TimingResult,
)
from visim.timing.traces import LINE_BYTES
from visim.timing.traffic import moved


def _nothing() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class CacheContent:
    """The line at each place of each set of the L3, and whether memory has an older one.

    `first` and `first_dirty` are the same of first caches, empty for nothing.
    """

    lines: NDArray[np.int64]
    dirty: NDArray[np.int64]
    first: NDArray[np.int64] = field(default_factory=_nothing)
    first_dirty: NDArray[np.int64] = field(default_factory=_nothing)


WHOLE = (0, NEVER)
"""The window that has all cycles."""
WORTH_COMPILING = 10_000
"""Native instructions from which on native code pays: loading it takes as long as so many do in
Python."""
_LOADED = 100
"""Where it is loaded it pays so many times earlier."""
_DATA = ("entry_at", "lines_at", "cost", "lines")
"""What the code has as arrays of NumPy, for it is long."""


def simulate_work(
    program: NativeProgram,
    work: Work,
    *,
    events: int = 0,
    window: tuple[int, int] = WHOLE,
    use_compiled: bool | None = None,
    static_counts: Mapping[str, int] | None = None,
    before: CacheContent | None = None,
) -> TimingResult:
    """Return what the threads take on the program's machine.

    Args:
        program: the native program.
        work: the threads and their ways through it.
        events: how many stretches of the timeline to keep.
        window: of which cycles, from the first to before the last one.
        use_compiled: whether native code runs it; None decides by the number of instructions.
        static_counts: how many native instructions each way of making them gives.
        before: what caches hold before, None for nothing.

    Raises:
        UnsupportedError: the machine has no instruction or message that the program needs, or no
            room for a group.
        InternalError: the categories do not cover the time; a bug in the model.
    """
    chip, state, cycles = _simulated(program, work, events, window, use_compiled, before)
    result = _result(program, work, chip, state, cycles)
    return result if static_counts is None else replace(result, static_counts=static_counts)


def _simulated(
    program: NativeProgram,
    work: Work,
    events: int = 0,
    window: tuple[int, int] = WHOLE,
    use_compiled: bool | None = None,
    before: CacheContent | None = None,
) -> tuple[Chip, State, int]:
    """Return the machine, its state after the last thread, and the cycles."""
    code = code_arrays(program, work)
    chip = chip_numbers(program.machine, code, work, events=events, window=window)
    state = fresh_state(chip, code)
    if before is not None and state.l3_line.size:
        state.l3_line[:], state.l3_dirty[:] = before.lines, before.dirty
        if before.first.size == state.dl1_line.size:
            state.dl1_line[:], state.dl1_dirty[:] = before.first, before.first_dirty
    if use_compiled is None:
        earlier = _LOADED if compiled.is_loaded(simulate.run) else 1
        use_compiled = work.native >= WORTH_COMPILING // earlier
    if not use_compiled:
        code = code._replace(**{name: getattr(code, name).tolist() for name in _DATA})
        state = state._replace(**{name: getattr(state, name).tolist() for name in fields.CACHES})
    cycles = (compiled.run if use_compiled else simulate.run)(code, chip, state)
    _check(chip, state, cycles)
    return chip, state, cycles


@dataclass(frozen=True, slots=True)
class Run:
    """When threads ran, the cycles of all, and what caches have in the end."""

    cycles: int
    spans: tuple[Span, ...]
    left: Left


def run_of(program: NativeProgram, work: Work, before: CacheContent | None = None) -> Run:
    """Return only when threads run on the program's machine, much faster where they are few.

    Raises:
        UnsupportedError: as `simulate_work`.
    """
    chip, state, cycles = _simulated(program, work, before=before)
    return Run(cycles, _spans(work, chip, state), _left(state))


def cycles_of(program: NativeProgram, work: Work) -> int:
    """Return only the cycles that the threads take on the program's machine.

    Raises:
        UnsupportedError: as `simulate_work`.
    """
    return _simulated(program, work)[2]


def _check(chip: Chip, state: State, cycles: int) -> None:
    """Check that every cycle of every slot is in exactly one category."""
    covered, expected = sum(state.total), cycles * chip.eus * chip.slots
    if covered != expected or min(state.total) < 0:
        raise InternalError(
            f"timing: the categories cover {covered} of {expected} cycles of all slots"
        )
    drawn = sum(state.bin)
    if state.scalar[fields.ASTRAY]:
        raise InternalError(
            f"timing: {state.scalar[fields.ASTRAY]} threads sent more or fewer data messages than "
            "they made accesses"
        )
    if drawn != covered - state.scalar[fields.IDLE]:
        raise InternalError(f"timing: the timeline has {drawn} of the {covered} cycles of threads")


def _result(
    program: NativeProgram, work: Work, chip: Chip, state: State, cycles: int
) -> TimingResult:
    instructions = program.instructions
    used = {
        program.machine.class_of(item.kind, item.opcode, item.size)
        for item, count in zip(instructions, state.count, strict=True)
        if count
    }
    scalar = state.scalar
    return TimingResult(
        machine=program.machine,
        program=program,
        cycles=cycles,
        slots=chip.eus * chip.slots,
        spans=_spans(work, chip, state),
        visa=_visa_instructions(program, work),
        native=scalar[fields.ISSUED],
        stalls=dict(zip(CATEGORY_NAMES, state.total, strict=True)),
        idle=scalar[fields.IDLE],
        coissued=scalar[fields.COISSUED],
        icache={
            "l1_hits": scalar[fields.L1_HITS],
            "l1_misses": scalar[fields.L1_MISSES],
            "l2_hits": scalar[fields.L2_HITS],
            "l2_misses": scalar[fields.L2_MISSES],
        },
        bank_conflicts=sum(
            item.sc * count for item, count in zip(instructions, state.count, strict=True)
        ),
        busy=tuple(state.busy),
        lines=tuple(_lines(program, work, state)),
        timeline=_timeline(chip, state, cycles),
        data=None if work.traffic is None else _data(scalar),
        room=occupancy(program.machine, work, any(item.effect for item in instructions)),
        events=(events := _events(state)),
        window=_window(chip, events, cycles),
        provenance=tuple(program.machine.provenance(used)),
        notes=tuple(_notes(program)),
        left=_left(state),
    )


def _left(state: State) -> Left:
    first, held = (
        int(np.count_nonzero(np.asarray(lines, np.int64) >= 0))
        for lines in (state.dl1_line, state.l3_line)
    )
    waiting, dirty = (int(np.sum(flags)) for flags in (state.dl1_dirty, state.l3_dirty))
    changed = min(1.0, (dirty + waiting) / held) if held else 0.0
    return Left(len(state.dl1_line), waiting / first if first else 0.0, changed)


def _data(scalar: Sequence[int]) -> DataCounters:
    return DataCounters(
        l1_hits=scalar[fields.DATA_L1_HITS],
        l1_misses=scalar[fields.DATA_L1_MISSES],
        l3_hits=scalar[fields.L3_HITS],
        l3_misses=scalar[fields.L3_MISSES],
        memory_bytes=LINE_BYTES * (scalar[fields.DRAM_READS] + scalar[fields.DRAM_WRITES]),
        slm_cycles=scalar[fields.SLM_CYCLES],
    )


def _timeline(chip: Chip, state: State, cycles: int) -> Timeline:
    """Return the parts of the run."""
    part = 1 << state.scalar[fields.BIN_SHIFT]
    used = min(chip.bins, -(-cycles // part))
    return Timeline(
        part,
        tuple(tuple(state.bin[CATEGORIES * i : CATEGORIES * (i + 1)]) for i in range(used)),
    )


def _events(state: State) -> tuple[tuple[int, ...], ...]:
    numbers = iter(state.event[: 5 * state.scalar[fields.EVENTS]])
    return tuple(zip(*[numbers] * 5, strict=True))


def _window(chip: Chip, events: Sequence[tuple[int, ...]], cycles: int) -> tuple[int, int]:
    """Return the cycles of which the events are kept, less where there were too many of them."""
    end = min(chip.window_end, cycles)
    if len(events) == chip.events:
        end = min(end, max((begin for _, begin, *_ in events), default=0))
    return min(chip.window_begin, end), end


def _spans(work: Work, chip: Chip, state: State) -> tuple[Span, ...]:
    """Return where and when each thread ran."""
    groups = [group for group, size in enumerate(work.groups) for _ in range(size)]
    return tuple(
        Span(group, place // chip.slots, place % chip.slots, begin, end)
        for group, place, begin, end in zip(
            groups, state.place, state.started, state.ended, strict=True
        )
    )


def _visa_instructions(program: NativeProgram, work: Work) -> int:
    """Return how many vISA instructions the threads executed in blocks that are not empty."""
    counts = work.executions
    owners = [
        (number, pc)
        for number, unit in enumerate(program.units)
        for pc in range(len(unit.unit.body))
        if not isinstance(unit.unit.body[pc], MARKS)
    ]
    total = 0
    for block, (first, end) in enumerate(work.blocks):
        inside = sum(
            first <= program.first[unit] + program.units[unit].starts[pc] < end
            for unit, pc in owners
        )
        total += inside * counts[block]
    return total


def _lines(program: NativeProgram, work: Work, state: State) -> list[LineTiming]:
    """Return the counters of each vISA instruction that was executed."""
    found: list[LineTiming] = []
    for number, unit in enumerate(program.units):
        for pc, instruction in enumerate(unit.unit.body):
            begin = program.first[number] + unit.starts[pc]
            end = program.first[number] + unit.starts[pc + 1]
            if begin == end or not any(state.count[begin:end]):
                continue
            stalls = [0] * CATEGORIES
            for address in range(begin, end):
                for category in range(CATEGORIES):
                    stalls[category] += state.stall[address * CATEGORIES + category]
            ran = max(state.count[begin:end])
            found.append(
                LineTiming(
                    unit.unit.unit.name,
                    pc,
                    getattr(instruction.origin, "line", None),
                    instruction.show(),
                    unit.file_lines[pc],
                    ran,
                    tuple(
                        unit.instructions[i] for i in range(unit.starts[pc], unit.starts[pc + 1])
                    ),
                    sum(state.count[begin:end]),
                    dict(zip(CATEGORY_NAMES, stalls, strict=True)),
                    _moved(program, instruction, ran),
                    _line_data(work, (number, pc), state.found, (begin, end)),
                )
            )
    return found


def _line_data(
    work: Work, place: tuple[int, int], found: Sequence[int], span: tuple[int, int]
) -> LineData | None:
    """Return what the data messages of an instruction did, if it has any that are followed."""
    site = None if work.traffic is None else work.traffic.sites.get(place)
    if site is None:
        return None
    levels = [
        sum(found[address * fields.LEVELS_OF_LINE + level] for address in range(*span))
        for level in range(fields.LEVELS_OF_LINE)
    ]
    return LineData(site, *levels)


def _moved(program: NativeProgram, instruction: Instruction, ran: int) -> Mapping[str, int]:
    """Return the bytes that an instruction moves in so many executions, by level of memory."""
    if isinstance(instruction, MARKS):
        return {}
    once = moved(footprint(instruction, program.kernel.platform))
    return {level: ran * size for level, size in once.items()}


def _notes(program: NativeProgram) -> list[str]:
    """Return what the reader of a result has to know: what was left out or assumed."""
    notes: list[str] = []
    spilled = sum(len(unit.assignment.spilled) for unit in program.units)
    if spilled:
        notes.append(
            f"{spilled} variables find no free register and are spilled to memory; a compiler "
            "may find a way with fewer"
        )
    machine = program.machine
    if machine.native.version < 80 and any(".flat." in i.kind for i in program.instructions):
        notes.append(
            f"{machine.name} has no messages with 64-bit addresses; they are timed as its messages "
            "to surfaces"
        )
    assumed = sum(item.origin == "assumed" for item in program.instructions)
    if assumed:
        notes.append(
            f"{assumed} of {len(program.instructions)} native instructions are expansions of "
            "assumed length"
        )
    return notes


__all__ = [
    "WHOLE",
    "WORTH_COMPILING",
    "CacheContent",
    "Run",
    "cycles_of",
    "run_of",
    "simulate_work",
]
