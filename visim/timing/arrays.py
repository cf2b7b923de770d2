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
from visim.timing.core.fields import CATEGORIES, NEVER, RING, SCALARS, Chip, Code, State
from visim.timing.costs import timing_of
from visim.timing.legaliser import NativeProgram
from visim.timing.machine import FIRST_SHARED_UNIT, UNITS, Machine
from visim.timing.native import RESOURCES, Native


@dataclass(frozen=True)
class Work:
    """The threads to time: the path of each by its number, and how many threads each group has.

    A path is the numbers of the blocks that it goes through. `blocks` are ranges of addresses
    (first, end); none is empty and no path is without blocks. A group starts after the groups
    that it has in `earlier` have ended.
    """

    blocks: Sequence[tuple[int, int]]
    paths: Sequence[NDArray[np.int64]]
    threads: Sequence[int]
    groups: Sequence[int]
    slm_bytes: int = 0
    earlier: Sequence[Sequence[int]] = ()

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
        mark_at=_starts([cost.after for cost in costs]),
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
    )


BINS = 512
"""Parts of a run, at most, for which a result has the categories."""


def chip_numbers(
    machine: Machine, code: Code, slm_bytes: int, *, events: int, window: tuple[int, int]
) -> Chip:
    """Return the machine for a program.

    Args:
        machine: the machine.
        code: the program.
        slm_bytes: shared local memory of a group.
        events: how many stretches of the timeline to keep.
        window: of which cycles, from the first to before the last one.
    """
    number = machine.number
    l1 = number("l1_bytes") // number("line_bytes")
    l2 = number("l2_bytes") // number("line_bytes")
    return Chip(
        eus=number("eus"),
        slots=number("slots"),
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
        group_slm=slm_bytes,
        barriers=1 + max(code.barrier, default=0),
        bins=BINS,
        events=events,
        window_begin=window[0],
        window_end=window[1],
    )


def fresh_state(chip: Chip, code: Code) -> State:
    """Return the state before the first cycle.

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
