"""The order of a run's instructions gives what they give as they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Accesses
from visim.engine.jit.analysis.order import Turn, in_order, thrifty
from visim.engine.jit.analysis.runs import Run
from visim.engine.jit.writing import strips
from visim.operands import General
from visim.sem.effects import Place
from visim.types import UD

ROWS = [Row(number, 0, 4, 32, 4) for number in range(6)]
PLACE = Place(General("V32", UD, 32), 0, UD, 32, 32, 128, 4)
BITS = ("P1", 0)

Instruction = tuple[list[int], list[int], bool, bool]
"""The rows it reads and those it writes, whether it reads bits of a predicate, and writes them."""


def run_of(instructions: list[Instruction]) -> Run:
    run = Run(7, 32, [Step(number, ()) for number in range(len(instructions))])
    for number, (reads, writes, reads_bits, writes_bits) in enumerate(instructions, 7):
        found = Accesses([(PLACE, ROWS[n]) for n in reads], [(PLACE, ROWS[n]) for n in writes])
        found.read_bits += [BITS] * reads_bits
        found.written_bits += [BITS] * writes_bits
        run.accesses[number] = found
    return run


def outcome(run: Run, turns: list[Turn]) -> dict[object, object]:
    """What memory and predicates hold at the end, as terms made of what they held before."""
    memory: dict[object, object] = {row: ("old", row.variable) for row in ROWS}
    bits: object = "old"
    held: dict[object, object] = {}
    for turn in turns:
        found = run.accesses[turn.number]
        for row in turn.again:
            del held[row]
        reads = [held.setdefault(row, memory[row]) for _, row in found.reads]
        term = (turn.number, tuple(reads), bits if found.read_bits else None)
        held.update((row, term) for _, row in found.writes)
        bits = (term, bits) if found.written_bits else bits
        memory.update((row, held[row]) for row in turn.written)
    return {**memory, BITS: bits}


numbers = st.integers(0, len(ROWS) - 1)
instructions = st.tuples(
    st.lists(numbers, max_size=3), st.lists(numbers, max_size=2, unique=True), *[st.booleans()] * 2
)


@given(st.lists(instructions, min_size=1, max_size=30), st.integers(1, 8))
def test_values_are_those_of_the_instructions_as_they_come(
    given: list[Instruction], registers: int
) -> None:
    run = run_of(given)
    turns = list(thrifty(run, registers))
    assert sorted(turn.number for turn in turns) == sorted(run.accesses)
    assert outcome(run, turns) == outcome(run, list(in_order(run)))


def test_products_of_one_sum_come_soon_after_one_another() -> None:
    sums, factors = range(4), (4, 5)
    products: list[Instruction] = [
        ([total, factor], [total], False, False) for factor in factors for total in sums
    ]
    turns = list(thrifty(run_of(products), 6))
    places = {turn.number - 7: place for place, turn in enumerate(turns)}
    assert max(places[len(sums) + total] - places[total] for total in sums) <= len(sums)
    assert not any(turn.again for turn in turns)
    assert [row for turn in turns for row in turn.written] == [ROWS[total] for total in sums]


def test_rows_that_registers_hold_no_more_are_loaded_again() -> None:
    reads = [([0, 1], [4]), ([4, 2], [4]), ([4, 0], [5])]
    run = run_of([(*each, False, False) for each in reads])
    assert [turn.again for turn in thrifty(run, 1)] == [(), (), (ROWS[0],)]


def test_rows_that_are_only_read_stay_in_memory_where_each_is_read_often() -> None:
    rows = [ROWS[0]._replace(variable=number) for number in range(20)]
    for count, stays in ((59, False), (60, True)):
        run = run_of([([], [], False, False)] * count)
        run.inputs = dict.fromkeys(rows, PLACE)
        assert strips.stays(run) == stays
        run.outputs = dict.fromkeys(rows, PLACE)
        assert strips.stays(run)
