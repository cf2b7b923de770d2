"""Lays out programs, machines and fresh state as the flat integers that `core` works on."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import UnsupportedError
from visim.timing.core.fields import (
    CATEGORIES,
    LEVELS_OF_LINE,
    NEVER,
    RING,
    SCALARS,
    TICKS,
    Chip,
    Code,
    State,
)
from visim.timing.costs import timing_of
from visim.timing.legaliser import NativeProgram
from visim.timing.machine import FIRST_SHARED_UNIT, UNITS, Machine
from visim.timing.native import RESOURCES, Native
from visim.timing.occupancy import demand
from visim.timing.traces import LINE_BYTES, Traffic


@dataclass(frozen=True)
class Work:
    """The threads to time: the path of each by its number, and how many threads each group has.

    A path is the numbers of the blocks that it goes through. `blocks` are ranges of addresses
    (first, end); none is empty and no path is without blocks. A group starts after the groups
    that it has in `earlier` have ended. Without `traffic` messages have fixed latencies.
    `registers` are those of a thread.
    """

    blocks: Sequence[tuple[int, int]]
    paths: Sequence[NDArray[np.int64]]
    threads: Sequence[int]
    groups: Sequence[int]
    slm_bytes: int = 0
    earlier: Sequence[Sequence[int]] = ()
    traffic: Traffic | None = None
    registers: int = 128

    @cached_property
    def executions(self) -> list[int]:
        """How often each block is executed."""
        total = np.zeros(len(self.blocks), np.int64)
        for path, times in Counter(self.threads).items():
            total += times * np.bincount(self.paths[path], minlength=len(self.blocks))
        return total.tolist()

    @property
    def native(self) -> int:
        """How many native instructions the threads execute."""
        lengths = (end - first for first, end in self.blocks)
        return sum(map(operator.mul, lengths, self.executions))


def code_arrays(program: NativeProgram, work: Work) -> Code:
    """Return the program and the threads' ways through it.

    Raises:
        UnsupportedError: the generation has no instruction or message that the program needs.
    """
    instructions = program.instructions
    costs = [timing_of(item, program.machine) for item in instructions]
    passed = program.machine.counted_from == "issue"
    traffic = work.traffic or _no_traffic(len(instructions), len(work.threads))
    marks = _starts([cost.after for cost in costs])
    lines = _lines_of(instructions, program.machine.number("line_bytes"))
    waits = [tuple(dict.fromkeys((*item.reads, *item.writes))) for item in instructions]
    return Code(
        unit_a=[cost.units[0] for cost in costs],
        unit_b=[cost.units[1] if len(cost.units) > 1 else -1 for cost in costs],
        df=[cost.front for cost in costs],
        db=[cost.busy for cost in costs],
        branch=[int(item.is_branch) for item in instructions],
        send=[int(item.is_send) for item in instructions],
        effect=[item.effect for item in instructions],
        release=[
            max(0, program.machine.cost(item.kind).ld_1 - passed * cost.front) * bool(item.effect)
            for item, cost in zip(instructions, costs, strict=True)
        ],
        barrier=[item.barrier for item in instructions],
        members=[item.members for item in instructions],
        wait_at=_starts(waits),
        waits=[resource for item in waits for resource in item],
        mark_at=marks,
        marks=[resource for cost in costs for resource, _ in cost.after],
        after=[cycles for cost in costs for _, cycles in cost.after],
        line_of=lines,
        line_first=_first_of(lines),
        block_first=[first for first, _ in work.blocks],
        block_end=[end for _, end in work.blocks],
        stream=np.concatenate(work.paths).tolist(),
        path_at=_sums([path.size for path in work.paths]),
        thread_path=list(work.threads),
        thread_group=[group for group, size in enumerate(work.groups) for _ in range(size)],
        group_at=_sums(work.groups),
        earlier_at=_starts(work.earlier) if work.earlier else [0] * (len(work.groups) + 1),
        earlier=[group for groups in work.earlier for group in groups],
        memory=list(traffic.memory),
        cached=[int("uc" not in item.opcode.split(".")) for item in instructions],
        slm_latency=[program.machine.slm_latency(item.size) for item in instructions],
        results_at=[
            at + len(item.payload) for at, item in zip(marks[:-1], instructions, strict=True)
        ],
        entry_at=traffic.entry_at,
        lines_at=traffic.lines_at,
        cost=traffic.cost,
        lines=traffic.lines,
    )


def _no_traffic(instructions: int, threads: int) -> Traffic:
    nothing = np.zeros(0, np.int64)
    return Traffic(
        [0] * instructions, np.zeros(threads + 1, np.int64), nothing, nothing, nothing, {}
    )


BINS = 512
"""Parts of a run, at most, for which a result has the categories."""


def chip_numbers(
    machine: Machine, code: Code, work: Work, *, events: int, window: tuple[int, int]
) -> Chip:
    """Return the machine for a program.

    Args:
        machine: the machine.
        code: the program.
        work: the threads.
        events: how many stretches of the timeline to keep.
        window: of which cycles, from the first to before the last one.
    """
    number = machine.number
    l1 = number("l1_bytes") // number("line_bytes")
    l2 = number("l2_bytes") // number("line_bytes")
    group = demand(machine, work, any(code.effect))
    return Chip(
        eus=number("eus"),
        slots=group.slots,
        eus_per_domain=number("cores_per_subslice"),
        eus_per_row=number("l1_cores"),
        width=number("issue_width"),
        math_only=int(machine.facts["coissue"].value == "math"),
        math_unit=UNITS.index("em"),
        units=len(UNITS),
        first_shared=FIRST_SHARED_UNIT,
        stay=int(machine.policy == "stay"),
        resources=RESOURCES,
        buffer=number("fetch_buffer"),
        code=len(code.df),
        lines=len(code.line_first) - 1,
        l1_sets=_sets(l1, number("l1_ways")),
        l1_ways=number("l1_ways") or l1,
        l2_sets=_sets(l2, number("l2_ways")),
        l2_ways=number("l2_ways") or l2,
        l1_hit=number("l1_hit"),
        l2_hit=number("l2_hit"),
        memory=number("memory"),
        dispatch=number("dispatch_cycles"),
        switch=number("switch_cycles"),
        align=number("issue_align"),
        slm=number("slm"),
        group_slm=group.slm_bytes,
        most_groups=number("groups"),
        most_barriers=number("barriers"),
        group_barriers=group.barriers,
        barriers=1 + max(code.barrier, default=0),
        bins=BINS,
        events=events,
        window_begin=window[0],
        window_end=window[1],
        **_caches(machine, uses_slm=bool(work.slm_bytes)),
    )


def _caches(machine: Machine, *, uses_slm: bool) -> dict[str, int]:
    """Return the numbers of caches and memory."""
    number = machine.number
    l1 = number("data_l1_slm_bytes" if uses_slm else "data_l1_bytes")
    bus = number("dram_rate") * number("dram_share") / 100 / number("clock")
    return {
        "atomic_ticks": 100 * TICKS // number("atomic_rate"),
        "l1_ticks": LINE_BYTES * TICKS // number("data_l1_rate"),
        "port_ticks": LINE_BYTES * TICKS // number("l3_port"),
        "bank_ticks": LINE_BYTES * TICKS * number("l3_banks") // number("l3_rate"),
        "bus_ticks": round(LINE_BYTES * TICKS / bus),
        "dl1_sets": l1 // LINE_BYTES // number("data_l1_ways"),
        "dl1_ways": number("data_l1_ways"),
        "dl1_latency": number("data_l1_latency"),
        "dl1_stores": number("data_l1_stores"),
        "l3_sets": number("l3_bytes") // LINE_BYTES // number("l3_ways"),
        "l3_ways": number("l3_ways"),
        "l3_banks": number("l3_banks"),
        "l3_latency": number("l3_latency"),
        "dram_latency": number("dram_latency"),
    }


def fresh_state(chip: Chip, code: Code) -> State:
    """Return the state before the first cycle; what caches hold (`CACHES`) are arrays of NumPy.

    Raises:
        UnsupportedError: a group does not fit into the machine.
    """
    slots, domains = chip.eus * chip.slots, -(-chip.eus // chip.eus_per_domain)
    rows = -(-chip.eus // chip.eus_per_row)
    threads, groups = len(code.thread_group), len(code.group_at) - 1
    domain_slots = [
        chip.slots * min(chip.eus_per_domain, chip.eus - first * chip.eus_per_domain)
        for first in range(domains)
    ]
    _check_fit(chip, code, max(domain_slots))
    half = 1
    while half < chip.eus:
        half *= 2
    lines = max(1, chip.lines)
    has_data = any(code.memory)
    l1_places = domains * chip.dl1_sets * chip.dl1_ways * has_data
    l3_places = chip.l3_sets * chip.l3_ways * has_data
    return State(
        core=[slot // chip.slots for slot in range(slots)],
        row=[core // chip.eus_per_row for core in range(chip.eus)],
        domain_base=[core // chip.eus_per_domain * chip.units for core in range(chip.eus)],
        thread=[-1] * slots,
        position=[0] * slots,
        path_end=[0] * slots,
        ip=[0] * slots,
        block_end=[0] * slots,
        avail=[NEVER] * slots,
        fetch_at=[0] * slots,
        dep_at=[0] * slots,
        dep_kind=[0] * slots,
        mark=[0] * slots,
        buffer_end=[0] * slots,
        ring=[0] * (slots * RING),
        ready=[0] * (slots * chip.resources),
        sent=[0] * (slots * chip.resources),
        epoch_wanted=[0] * (slots * chip.barriers),
        blocked=[0] * slots,
        idle_from=[0] * slots,
        tree=[NEVER] * (2 * half),
        current=[core * chip.slots for core in range(chip.eus)],
        unit_ready=[0] * (chip.eus * chip.units),
        port_free=[0] * (chip.eus * chip.width),
        port_least=[0] * (2 * chip.eus),
        shared_ready=[0] * (domains * chip.units),
        row_port=[0] * rows,
        l1_stamp=[0] * (rows * lines),
        l1_fill=[0] * (rows * lines),
        l2_stamp=[0] * lines,
        l2_fill=[0] * lines,
        free=domain_slots,
        slm_free=[chip.slm] * domains,
        arrived=[0] * (groups * chip.barriers),
        epoch=[0] * (groups * chip.barriers),
        released=[0] * (groups * chip.barriers),
        left=[end - first for first, end in itertools.pairwise(code.group_at)],
        domain_of=[0] * groups,
        started=[0] * threads,
        ended=[0] * threads,
        place=[0] * threads,
        count=[0] * chip.code,
        stall=[0] * (chip.code * CATEGORIES),
        busy=[0] * chip.units,
        total=[0] * CATEGORIES,
        bin=[0] * (chip.bins * CATEGORIES),
        scalar=[0] * SCALARS,
        event=[0] * (5 * chip.events),
        entry=[0] * slots,
        found=[0] * (chip.code * LEVELS_OF_LINE),
        groups_free=[chip.most_groups] * domains,
        barriers_free=[chip.most_barriers] * domains,
        port_ticks=[0] * domains,
        bank_ticks=[0] * chip.l3_banks,
        bus_ticks=[0],
        dl1_line=np.full(l1_places, -1, np.int64),
        dl1_stamp=np.full(l1_places, 0, np.int64),
        dl1_fill=np.full(l1_places, 0, np.int64),
        dl1_dirty=np.full(l1_places, 0, np.int64),
        l3_line=np.full(l3_places, -1, np.int64),
        l3_stamp=np.full(l3_places, 0, np.int64),
        l3_fill=np.full(l3_places, 0, np.int64),
        l3_dirty=np.full(l3_places, 0, np.int64),
    )


def _check_fit(chip: Chip, code: Code, most: int) -> None:
    sizes = zip(code.group_at[1:], code.group_at, strict=False)
    largest = max((end - first for end, first in sizes), default=0)
    if largest > most:
        raise UnsupportedError(
            f"timing: a group has {largest} hardware threads, there is room for {most} at once"
        )
    if chip.group_slm > chip.slm:
        raise UnsupportedError(
            f"timing: a group needs {chip.group_slm} bytes of shared local memory, there are "
            f"{chip.slm}"
        )
    if chip.group_barriers > chip.most_barriers:
        raise UnsupportedError(
            f"timing: a group needs {chip.group_barriers} barriers, there are {chip.most_barriers}"
        )


def _lines_of(instructions: Sequence[Native], line_bytes: int) -> list[int]:
    """Return the cache line in which each instruction begins."""
    ends = itertools.accumulate(item.bytes for item in instructions)
    return [(end - item.bytes) // line_bytes for end, item in zip(ends, instructions, strict=True)]


def _first_of(lines: Sequence[int]) -> list[int]:
    firsts = [
        address for address, line in enumerate(lines) if not address or line != lines[address - 1]
    ]
    return [*firsts, len(lines)]


def _sets(lines: int, ways: int) -> int:
    return max(1, lines // ways) if ways else 1


def _starts(items: Sequence[Sequence[Any]]) -> list[int]:
    return _sums([len(item) for item in items])


def _sums(sizes: Sequence[int]) -> list[int]:
    sums = [0]
    for size in sizes:
        sums.append(sums[-1] + size)
    return sums


__all__ = ["Work", "chip_numbers", "code_arrays", "fresh_state"]
