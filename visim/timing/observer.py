"""`Timing`: watches a launch and says how many cycles it takes on a generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from visim.engine.accesses import Accesses
from visim.engine.observers import GroupStart, Observer, ThreadPath
from visim.engine.schedule import read_dependency
from visim.errors import ArgumentError, shown
from visim.linker.program import LinkedKernel
from visim.timing.arrays import Work
from visim.timing.genx import listing_of, native_program
from visim.timing.legaliser import NativeProgram, legalise
from visim.timing.machine import Machine, find_machine
from visim.timing.model import WHOLE, CacheContent, Run, cycles_of, run_of, simulate_work
from visim.timing.occupancy import occupancy, registers_of
from visim.timing.paths import Paths
from visim.timing.result import Sample, TimingResult
from visim.timing.sampling import Chosen, Sampler, part_of
from visim.timing.traces import Traces
from visim.timing.warming import before_of, lines_of

NATIVES = ("legaliser", "genx")
TIMELINE_EVENTS = 20_000
"""Stretches of a slot's time that a result keeps, from the window's first cycle on."""


@dataclass(frozen=True, slots=True)
class _Started:
    """A part of a machine in the midst of a launch: what its caches hold, None for what is unknown.

    In the part `filling` of the launch nothing has to go from the L3; that is as the sample takes
    `cold` caches.
    """

    program: NativeProgram
    work: Work
    before: CacheContent | None
    filling: float
    cold: Run

    def sample(self, chosen: Chosen, warm: Run | TimingResult) -> Sample:
        """Return what the launch takes, by what its sample takes when it starts so."""
        first, later = chosen.estimate(self.cold), chosen.estimate(warm)
        if self.before is None:
            return replace(first, error=later.error)
        cycles = round(self.filling * first.cycles + (1 - self.filling) * later.cycles)
        return replace(later, cycles=cycles)


class Timing(Observer):
    """An observer that times what it sees.

    ```python
    timing = visim.timing.Timing("snb")
    kernel.launch(args, global_size=1024, observers=[timing])
    print(timing.result)
    ```

    One object times one kernel; of several launches it sees the threads one after another. Threads
    start in the order in which they ran, those of a thread space after those that they depend on.

    Args:
        arch: one of `ARCHITECTURES`, or another name of its device.
        preset: the set of costs: mesa, igc or measured; None is the table's choice.
        parameters: other values for numbers of the table, such as {"eus": 3, "memory": 400}.
        native: where native instructions come from: "legaliser", or "genx" for those that GenX_IR
            makes, where it is installed (bdw to pvc).
        dependency: of a thread space, as the launch has it: a pattern's name or vectors.
        caches: whether data messages go through caches and memory by their addresses; else each
            has a fixed latency.
        registers: those of a thread; None is what the kernel says, 128 if it says nothing.
        sample: time some of the groups for all, where there are very many: `result.sample`.

    Raises:
        ArgumentError: there is no such generation, preset or parameter, or a thread space with a
            dependency is to be sampled.
    """

    sees_prefetches = True

    def __init__(
        self,
        arch: str,
        *,
        preset: str | None = None,
        parameters: Mapping[str, int | str] | None = None,
        native: str = "legaliser",
        dependency: str | Sequence[tuple[int, int]] = "none",
        caches: bool = True,
        registers: int | None = None,
        sample: bool = False,
    ) -> None:
        if not isinstance(cast("object", native), str) or native not in NATIVES:
            known = ", ".join(NATIVES)
            raise ArgumentError(f"timing: native is one of {known}, found {shown(native)}")
        self._native = native
        self.machine: Machine = find_machine(arch, preset).with_facts(
            {} if parameters is None else parameters
        )
        self._kernel: LinkedKernel | None = None
        self._slm_bytes = 0
        self._paths = Paths(read_dependency(dependency))
        self._traces = Traces() if caches else None
        self._registers = registers
        if sample and dependency != "none":
            raise ArgumentError("timing: threads that wait for others are not sampled")
        self._samples = sample
        self._sampler: Sampler | None = None
        self._result: TimingResult | None = None

    @property
    def wants(self) -> frozenset[str]:
        """The events that are needed: accesses where their addresses matter."""
        found = super().wants
        return found if self._traces is not None else found - {"accesses"}

    def group_begin(self, group: GroupStart) -> None:
        """Note that a group begins."""
        if self._kernel is not None and self._kernel is not group.kernel:
            raise ArgumentError("timing: one Timing object times one kernel; make another one")
        self._kernel = group.kernel
        self._slm_bytes = max(self._slm_bytes, group.slm_bytes)
        if self._samples:
            if self._sampler is None:
                self._sampler = self._new_sampler(group)
            self._sampler.begin_group(group.group[:2], group.memory)
            self._result = None
            return
        self._paths.begin_group(group.group[:2])
        if self._traces is not None:
            self._traces.begin_group(group.memory)
        self._result = None

    def choice(self, groups: int, row: int) -> Sequence[range] | None:
        """Return which groups of a large launch are watched, if it is to be sampled."""
        return None if self._sampler is None else self._sampler.choose(groups, row)

    def thread_end(self, path: ThreadPath) -> None:
        """Note the way of a thread."""
        if self._sampler is not None:
            self._sampler.add_path(path)
            return
        self._paths.add(path)

    def accesses(self, accesses: Accesses) -> None:
        """Note what a thread accessed."""
        if self._sampler is not None:
            self._sampler.add_accesses(accesses)
            return
        if self._traces is not None:
            self._traces.add(accesses)

    def __repr__(self) -> str:
        return f"<Timing on {self.machine.title}>"

    @property
    def result(self) -> TimingResult:
        """What the launches took.

        Raises:
            ArgumentError: nothing was launched.
            UnsupportedError: the generation cannot execute the kernel.
        """
        if self._result is None:
            self._result = self.on(self.machine)
        return self._result

    def on(
        self, target: Machine, *, window: tuple[int, int] | None = None, ranged: bool = False
    ) -> TimingResult:
        """Return what the launches would take on another machine.

        Args:
            target: the machine.
            window: the cycles whose `events` the result keeps, from the first to before the last
                one, `TIMELINE_EVENTS` of them at most; None is the whole run, from its start on.
            ranged: whether to say, too, between which cycles the result is by what is uncertain
                about the machine: two more simulations.

        Raises:
            ArgumentError: nothing was launched.
            UnsupportedError: the machine cannot execute the kernel, or GenX_IR cannot compile it.
            ToolMissing: GenX_IR is asked for and not installed.
        """
        if self._kernel is None:
            raise ArgumentError("timing: nothing was launched with this observer")
        if self._sampler is not None:
            known = self._sampler.whole
            if known is None:
                return self._sampled(self._sampler.chosen(), target, window, ranged=ranged)
            self._paths, self._traces = known[0], known[1] if self._traces else None
        return self._timed(target, window, ranged=ranged)

    def _sampled(
        self, chosen: Chosen, target: Machine, window: tuple[int, int] | None, *, ranged: bool
    ) -> TimingResult:
        """Return what a sample takes on a part of a machine, and so the launch on the whole."""
        has_traces = self._traces is not None
        self._paths, self._traces = chosen.paths, chosen.traces if has_traces else None
        program, counts = self._program(target)
        found = self._started(chosen, target, program)
        result = simulate_work(
            found.program,
            found.work,
            events=TIMELINE_EVENTS,
            window=WHOLE if window is None else window,
            static_counts=counts,
            before=found.before,
        )
        sample = found.sample(chosen, result)
        if not ranged:
            return replace(result, sample=sample)
        ends = [self._started(chosen, target.extreme(end), program) for end in (0, 1)]
        others = [
            end.sample(chosen, run_of(end.program, end.work, end.before)).cycles for end in ends
        ]
        cycles = sample.cycles, *others
        return replace(result, sample=sample, range=(min(cycles), max(cycles)))

    def _started(self, chosen: Chosen, whole: Machine, program: NativeProgram) -> _Started:
        """Return how a sample starts on a part of a machine."""
        part, _ = part_of(whole)
        own = replace(program, machine=replace(part, native=program.machine.native))
        work = self._work(own)
        cold = run_of(own, work)
        if self._traces is None:
            return _Started(own, work, None, 0.0, cold)
        lines = lines_of(work, chosen.sizes)
        machine, before, filling = before_of(
            whole, own.machine, lines, chosen.random, chosen.stretches, cold.left
        )
        return _Started(replace(own, machine=machine), work, before, filling, cold)

    def _new_sampler(self, group: GroupStart) -> Sampler:
        """Return what keeps some groups: in stretches of those that a part has room for."""
        part, parts = part_of(self.machine)
        registers = self._registers or registers_of(group.kernel)
        one = Work((), (), (), (group.threads,), group.slm_bytes, registers=registers)
        program = legalise(group.kernel, replace(part, native=replace(part.native, grfs=registers)))
        has_barriers = any(item.effect for item in program.instructions)
        room = occupancy(part, one, has_barriers=has_barriers)
        domains = max(1, part.number("eus") // part.number("cores_per_subslice"))
        return Sampler(min(room.limits.values()) * domains, parts)

    def _timed(
        self,
        target: Machine,
        window: tuple[int, int] | None,
        *,
        ranged: bool,
    ) -> TimingResult:
        """Return what the threads that are known take on a machine."""
        program, counts = self._program(target)
        result = simulate_work(
            program,
            self._work(program),
            events=TIMELINE_EVENTS,
            window=WHOLE if window is None else window,
            static_counts=counts,
        )
        return replace(result, range=self._range(program, result.cycles)) if ranged else result

    def _program(self, target: Machine) -> tuple[NativeProgram, Mapping[str, int]]:
        """Return the kernel for a machine, and how many instructions each way of making it gives.

        The instructions do not depend on the machine's numbers: one with others gets the same.
        """
        if self._kernel is None:
            raise ArgumentError("timing: nothing was launched with this observer")
        registers = self._registers or registers_of(self._kernel)
        target = replace(target, native=replace(target.native, grfs=registers))
        program = legalise(self._kernel, target)
        counts = {"legaliser": len(program.instructions)}
        if self._native == "genx":
            program = native_program(self._kernel, target, listing_of(self._kernel, target))
            counts["genx"] = len(program.instructions)
        return program, counts

    def _work(self, program: NativeProgram) -> Work:
        """Return the threads as a machine has to execute them."""
        kernel = program.kernel
        registers = self._registers or registers_of(kernel)
        return self._paths.work(program, self._slm_bytes, registers=registers, traces=self._traces)

    def _range(self, program: NativeProgram, cycles: int) -> tuple[int, int]:
        """Return the cycles with all that is uncertain at its fast end, and at its slow one."""
        ends = [replace(program, machine=program.machine.extreme(end)) for end in (0, 1)]
        found = [cycles, *(cycles_of(end, self._work(end)) for end in ends)]
        return min(found), max(found)


__all__ = ["TIMELINE_EVENTS", "Timing"]
