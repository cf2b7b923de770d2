"""Runs: successive instructions of a block whose channels do not depend on each other.

Such instructions can be computed for some channels after the others: strip by strip. A run has
*lane-wise* instructions, which compute each channel from the same channel of rows of variables and
from what is the same for all channels; and *leading* ones, which can as well run in front of all
lane-wise ones. Loads lead too: nothing else in a run can fault or moves memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import Step, places, writes_cr0
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Accesses, Bits, LaneWise, is_own
from visim.engine.jit.ir.places import place_span
from visim.sem.effects import (
    Effect,
    Load,
    LoadBlock,
    Place,
    WritePredicate,
    WriteRegister,
    expressions,
)

_LEAST_LANES = 8


@dataclass
class Run:
    """Instructions of a chain of blocks from `first` on, by their numbers.

    Attributes:
        lanes: how many channels the lane-wise ones have.
        leading: the numbers of instructions that run first.
        inputs: rows that are read before they are written, and a place that is the row.
        outputs: rows that are written, and the place that was written last.
        written_bits: bits of predicates that are written.
        accesses: what each lane-wise instruction reads and writes.
    """

    first: int
    lanes: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    leading: set[int] = field(default_factory=set[int])
    inputs: dict[Row, Place] = field(default_factory=dict[Row, Place])
    outputs: dict[Row, Place] = field(default_factory=dict[Row, Place])
    written_bits: set[Bits] = field(default_factory=set[Bits])
    accesses: dict[int, Accesses] = field(default_factory=dict[int, Accesses])

    def numbered(self) -> Iterator[tuple[Step, int]]:
        """Return all instructions with their numbers."""
        return zip(self.steps, range(self.first, self.end), strict=True)

    def lane_wise(self) -> Iterator[tuple[int, Step]]:
        """Return the lane-wise instructions with their numbers."""
        for step, number in self.numbered():
            if number not in self.leading:
                yield number, step

    @property
    def end(self) -> int:
        """The number behind the last instruction."""
        return self.first + len(self.steps)


@dataclass
class _Touched:
    """What the lane-wise instructions of a run read and write, by variable.

    Each entry is the first byte, the end, and the row; None where all channels read the same.
    """

    read: dict[int, set[tuple[int, int, Row | None]]] = field(
        default_factory=dict[int, set[tuple[int, int, Row | None]]]
    )
    written: dict[int, set[tuple[int, int, Row | None]]] = field(
        default_factory=dict[int, set[tuple[int, int, Row | None]]]
    )
    read_bits: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    written_bits: dict[str, set[int]] = field(default_factory=dict[str, set[int]])


class RunFinder:
    """Finds the runs of a block.

    Args:
        keeps_others: whether a write has to keep what lanes have that it is not for.
        is_ragged: whether an instruction, by its number, writes a place with more than scalars
            beside it.
        may_load: whether a load at one number may come before all from another number on.
        dynamic: whether only the running program knows how floats are rounded.
    """

    def __init__(
        self,
        keeps_others: Callable[[WriteRegister], bool],
        is_ragged: Callable[[int, Place], bool],
        may_load: Callable[[int, int], bool],
        *,
        dynamic: bool,
    ) -> None:
        self._lane_wise = LaneWise(keeps_others, dynamic=dynamic)
        self._is_ragged = is_ragged
        self._may_load = may_load

    def runs(self, steps: Sequence[Step]) -> Iterator[Run]:
        """Return all instructions, in order, in runs; a run without lanes is one instruction."""
        run, touched = Run(0), _Touched()
        for number, step in enumerate(steps):
            if self._add(run, touched, number, step):
                continue
            if run.steps:
                yield run
            run, touched = Run(number), _Touched()
            if not self._add(run, touched, number, step):
                yield Run(number, steps=[step])
                run, touched = Run(number + 1), _Touched()
        if run.steps:
            yield run

    def _add(self, run: Run, touched: _Touched, number: int, step: Step) -> bool:
        """Add an instruction to a run, if that is possible."""
        loads = _loads(step)
        if step.refusal is not None or not all(map(_is_plain, step.effects)):
            return False
        if loads and not (loads_block(step) and self._may_load(number, run.first)):
            return False
        found = None if loads else self._accesses(run, number, step)
        fits = found is not None and _fits(touched, found)
        if not fits and _can_lead(touched, step.effects):
            run.leading.add(number)
        elif found is not None and fits:
            run.lanes = _lanes(step.effects)
            run.accesses[number] = found
            self._note(run, touched, found)
        else:
            return False
        run.steps.append(step)
        return True

    def _accesses(self, run: Run, number: int, step: Step) -> Accesses | None:
        """Return what an instruction reads and writes that is lane-wise, of as many lanes."""
        lanes = _lanes(step.effects)
        if lanes != (run.lanes or lanes) or lanes < _LEAST_LANES:
            return None
        found = self._lane_wise.accesses(step.effects, lanes)
        if found is None or any(self._is_ragged(number, place) for place, _ in found.writes):
            return None
        return found

    @staticmethod
    def _note(run: Run, touched: _Touched, found: Accesses) -> None:
        for place, row in (*found.reads, *found.kept):
            if row is not None and row not in run.outputs:
                run.inputs.setdefault(row, place)
        for place, row in found.reads:
            touched.read.setdefault(place.variable.index, set()).add((*place_span(place), row))
        for place, row in found.writes:
            touched.written.setdefault(place.variable.index, set()).add((*place_span(place), row))
            if row is not None:
                run.outputs[row] = place
        for name, offset in found.read_bits:
            touched.read_bits.setdefault(name, set()).add(offset)
        for name, offset in found.written_bits:
            touched.written_bits.setdefault(name, set()).add(offset)
            run.written_bits.add((name, offset))


def loads_block(step: Step) -> bool:
    """Whether an instruction loads a block."""
    return any(isinstance(effect, LoadBlock) for effect in step.effects)


def _loads(step: Step) -> bool:
    """Whether an instruction loads anything."""
    return any(isinstance(effect, Load | LoadBlock) for effect in step.effects)


def _is_plain(effect: Effect) -> bool:
    """Whether an effect loads, or writes own variables, predicates or the mode."""
    if isinstance(effect, WriteRegister):
        return writes_cr0(effect) or is_own(effect.place.variable)
    return isinstance(effect, WritePredicate | Load | LoadBlock)


def _lanes(effects: Sequence[Effect]) -> int:
    """Return how many lanes all effects write; 0 if they differ."""
    found = {e.value.lanes for e in effects if isinstance(e, WriteRegister | WritePredicate)}
    return found.pop() if len(found) == 1 else 0


def _overlaps(
    known: dict[int, set[tuple[int, int, Row | None]]], place: Place, row: Row | None
) -> bool:
    """Whether some bytes of a place are touched otherwise than as exactly this row."""
    low, high = place_span(place)
    return any(
        first < high and low < end and (other is None or other != row)
        for first, end, other in known.get(place.variable.index, ())
    )


def _fits(touched: _Touched, found: Accesses) -> bool:
    """Whether a lane-wise instruction uses what others write as the same rows."""
    if any(_overlaps(touched.written, place, row) for place, row in found.reads):
        return False
    for name, offset in (*found.read_bits, *found.written_bits):
        if touched.written_bits.get(name, {offset}) != {offset}:
            return False
    if any(
        touched.read_bits.get(name, {offset}) != {offset} for name, offset in found.written_bits
    ):
        return False
    own = _Touched()
    for place, row in found.reads:
        own.read.setdefault(place.variable.index, set()).add((*place_span(place), row))
    return not any(
        _overlaps(known, place, row)
        for known in (touched.read, touched.written, own.read)
        for place, row in found.writes
    )


def _can_lead(touched: _Touched, effects: Sequence[Effect]) -> bool:
    """Whether an instruction can run in front of the lane-wise ones before it."""
    nodes = expressions(effects)
    if any(node.uop.name in {"clock", "fused", "gather"} for node in nodes):
        return False
    if any(_overlaps(touched.written, place, None) for place in places(effects)):
        return False
    names = {node.attribute[0].name for node in nodes if node.uop.name == "predicate"}
    for effect in effects:
        if isinstance(effect, WriteRegister) and _overlaps(touched.read, effect.place, None):
            return False
        if isinstance(effect, WritePredicate):
            names.add(effect.variable.name)
            if effect.variable.name in touched.read_bits:
                return False
    return not names & touched.written_bits.keys()
