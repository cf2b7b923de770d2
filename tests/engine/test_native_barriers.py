"""Split-phase and named barriers in native code: turns, ends and reports are the interpreter's."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tests.engine import harness
from tests.engine.harness import Outcome, run
from tests.engine.tickets import TICKET
from tests.engine.values import slot
from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

THREADS = 4
NATIVE = [name for name in harness.ENGINES_AND_STARTS if name != "interpreter"]


class Program:
    """Lines that only some threads run, one after another."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._labels = 0

    def add(self, what: str, threads: Sequence[int] = range(THREADS)) -> None:
        """Let some threads run what is given, and write a ticket."""
        self._labels += 1
        bits = sum(1 << thread for thread in threads)
        self.lines.append(f"""
            shr (M1_NM, 1) V43(0,0)<1> {bits:#x}:ud V40(0,0)<0;1,0>
            and (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x1:ud
            cmp.eq (M1_NM, 1) P1 V43(0,0)<0;1,0> 0x0:ud
            (P1) jmp (M1, 1) behind_{self._labels}
            {what}
            {TICKET}
            behind_{self._labels}:
        """)


def named(number: int, role: int, producers: int, consumers: int) -> str:
    """Return a signal at a named barrier."""
    return f"nbarrier.signal {number:#x}:ub {role:#x}:uw {producers:#x}:ub {consumers:#x}:ub"


def meetings(rng: random.Random, rounds: int) -> Program:
    """Return rounds in each of which threads meet, and go on between signal and wait."""
    program = Program()
    for number in rng.sample(range(1, 32), rounds):
        for phase in _meeting(rng, number):
            for what, threads in phase:
                program.add(what, threads)
                if rng.random() < 0.3:
                    program.add("yield", rng.sample(range(THREADS), 2))
    return program


def _meeting(rng: random.Random, number: int) -> Iterator[list[tuple[str, Sequence[int]]]]:
    everyone = range(THREADS)
    match rng.randrange(4):
        case 0:
            yield [("barrier", everyone)]
        case 1:
            yield [("sbarrier.signal", everyone)]
            yield [("sbarrier.wait", everyone)]
        case 2:
            yield [(f"nbarrier.signal {number:#x}:ub {THREADS:#x}:ub", everyone)]
            yield [("sbarrier.signal", everyone)]
            yield [(f"nbarrier.wait {number:#x}:ub", everyone)]
            yield [("sbarrier.wait", everyone)]
        case _:
            first = rng.randrange(1, THREADS)
            order = rng.sample(everyone, THREADS)
            counts = first, THREADS - first
            yield [
                (named(number, 1, *counts), order[:first]),
                (named(number, 2, *counts), order[first:]),
            ]
            yield [(f"nbarrier.wait {number:#x}:ub", order[first:])]


def doubled(rng: random.Random, rounds: int) -> Program:
    """Return barriers that threads come to, once or twice at a time."""
    program = Program()
    for _ in range(rounds):
        times = rng.choice((1, 2))
        order = rng.sample(range(THREADS), THREADS)
        for what in ("signal", "wait"):
            for _ in range(times):
                for threads in (order[:2], order[2:]):
                    program.add(f"sbarrier.{what}", threads)
                    if rng.random() < 0.3:
                        program.add("yield", rng.sample(range(THREADS), 2))
    return program


def unsteady(rng: random.Random, count: int) -> Program:
    """Return signals, waits and barriers in any order."""
    program = Program()
    for _ in range(count):
        what = rng.choice(("sbarrier.signal", "sbarrier.signal", "sbarrier.wait", "barrier"))
        program.add(what, rng.sample(range(THREADS), rng.randrange(2, THREADS + 1)))
    return program


def wild(rng: random.Random, count: int) -> Program:
    """Return synchronizations that hardly go well."""
    program = Program()
    for _ in range(count):
        number, counts = rng.randrange(2), (rng.randrange(1, 4), rng.randrange(1, 3))
        what = rng.choice(
            [
                *("barrier", "sbarrier.signal", "sbarrier.wait", "yield"),
                "sbarrier.signal\nsbarrier.wait",
                f"{named(number, 0, *counts)}\nnbarrier.wait {number:#x}:ub",
                f"{named(number, 2, *counts)}\nnbarrier.wait {number:#x}:ub",
                named(number, 1, *counts),
                f"nbarrier.wait {number:#x}:ub",
            ]
        )
        program.add(what, rng.sample(range(THREADS), rng.randrange(1, THREADS + 1)))
    return program


def launch(
    body: str,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int = 0,
    threads: int = THREADS,
    platform: str = "pvc",
) -> tuple[Outcome, list[int]]:
    """Run a group; return how it ended and the order of tickets."""
    log = np.zeros(400, np.uint32)
    given = {name: np.zeros(1, np.uint32) for name in ("V43", "V44", "V45")}
    given |= {"V61": np.zeros(1, np.uint64), "V40": slot(range(threads))}
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES_AND_STARTS[engine])
    ended = run(body, given, {"P1": 0}, platform=platform, buffers={"V41": log}, seed=seed)
    return ended, log[1 : 1 + int(log[0])].tolist()


def same(body: str, monkeypatch: pytest.MonkeyPatch, **how: Any):
    """Run a group on all engines; return how it ends and the order of tickets everywhere."""
    ended, order = launch(body, "interpreter", monkeypatch, **how)
    for engine in NATIVE:
        found = launch(body, engine, monkeypatch, **how)
        assert found[1] == order
        assert found[0].exit == ended.exit
    return ended, order


@pytest.mark.parametrize("seed", range(12))
def test_threads_that_meet_have_the_interpreters_turns(seed, monkeypatch):
    rng = random.Random(seed)
    program = meetings(rng, 6)
    ended, order = same("\n".join(program.lines), monkeypatch, seed=seed % 3)
    assert ended.exit.fault is None
    assert len(order) >= 6 * THREADS


@pytest.mark.parametrize("seed", range(6))
def test_threads_may_signal_twice_where_the_gateway_counts(seed, monkeypatch):
    program = doubled(random.Random(seed), 6)
    body = "\n".join(program.lines)
    ended, order = same(body, monkeypatch, seed=seed % 3, platform="dg2")
    assert ended.exit.fault is None
    assert len(order) >= 6 * THREADS


@pytest.mark.parametrize("seed", range(20))
def test_counted_barriers_end_as_in_the_interpreter(seed, monkeypatch):
    program = unsteady(random.Random(seed), 6)
    ended, _ = same("\n".join(program.lines), monkeypatch, seed=seed % 3, platform="dg2")
    assert ended.exit.fault is None or ended.exit.fault.code.startswith("barrier-")


@pytest.mark.parametrize(
    ("platform", "body", "match"),
    [
        ("pvc", "sbarrier.signal\nsbarrier.signal", "a second time"),
        ("pvc", "sbarrier.signal\nnbarrier.signal 0x0:ub 0x1:ub", "are named barrier 0"),
        ("dg2", "sbarrier.signal\nsbarrier.signal\nsbarrier.signal", "twice signalled"),
        ("dg2", "sbarrier.signal\nbarrier", "already signalled"),
        ("dg2", "sbarrier.wait", "has not signalled"),
    ],
)
def test_misuse_is_told_alike(platform, body, match, monkeypatch):
    ended, _ = same(body, monkeypatch, platform=platform)
    assert ended.fault.code == "barrier-misuse"
    assert match in ended.fault.message


@pytest.mark.parametrize("seed", range(20))
def test_what_is_undefined_is_told_as_by_the_interpreter(seed, monkeypatch):
    program = wild(random.Random(seed), 5)
    ended, _ = same("\n".join(program.lines), monkeypatch, seed=seed % 3)
    assert ended.exit.fault is None or ended.exit.fault.code.startswith("barrier-")


def test_random_synchronizations_end_in_all_ways():
    """The programs above reach misuse and deadlock; else they would show little."""
    codes: set[str] = set()
    for seed in range(20):
        with pytest.MonkeyPatch.context() as patch:
            program = wild(random.Random(seed), 5)
            ended, _ = launch("\n".join(program.lines), "interpreter", patch, seed=seed % 3)
        codes.add(ended.exit.fault.code if ended.exit.fault else "")
    assert {"barrier-misuse", "barrier-deadlock"} <= codes


def test_a_wait_for_a_phase_that_is_over_still_gives_way(monkeypatch):
    body = f"sbarrier.signal\n{TICKET}\nyield\n{TICKET}\nsbarrier.wait\n{TICKET}"
    _, order = same(body, monkeypatch)
    assert order == [*range(THREADS)] * 3


def test_a_signal_in_a_loop_counts_the_phase_that_it_is_in(monkeypatch):
    """Each thread is a phase ahead of its wait; 70 phases of one barrier."""
    body = f"""
        mov (M1_NM, 1) V45(0,0)<1> 0x46:ud
        sbarrier.signal
        again:
        sbarrier.wait
        sbarrier.signal
        add (M1_NM, 1) V45(0,0)<1> V45(0,0)<0;1,0> 0xffffffff:ud
        cmp.gt (M1_NM, 1) P1 V45(0,0)<0;1,0> 0x0:ud
        (P1) jmp (M1, 1) again
        sbarrier.wait
        {TICKET}
    """
    ended, order = same(body, monkeypatch)
    assert ended.exit.fault is None
    assert order == [*range(THREADS)]


@pytest.mark.parametrize(
    "body",
    [
        "sbarrier.signal\nsbarrier.wait",
        "nbarrier.signal 0x3:ub 0x1:ub\nnbarrier.wait 0x3:ub\nyield",
        "nbarrier.signal 0x3:ub 0x2:uw 0x1:ub 0x1:ub\nnbarrier.wait 0x3:ub",
        "sbarrier.wait",
    ],
)
def test_a_thread_that_is_alone(body, monkeypatch):
    ended, order = same(f"{body}\n{TICKET}", monkeypatch, threads=1)
    assert (order == [0]) == (ended.exit.fault is None)


class SecondLook:
    """A flag that is set when somebody looks at it a second time, in the run."""

    looks = 0

    def is_set(self) -> bool:
        self.looks += 1
        return self.looks > 1


@pytest.mark.parametrize("body", ["yield", "barrier", "sbarrier.signal\nsbarrier.wait"])
def test_a_loop_that_gives_way_to_nobody_can_be_cancelled(body):
    again = harness.body_lines(f"""
        mov (M1_NM, 1) V45(0,0)<1> 0x1000000:ud
        again:
        {body}
        add (M1_NM, 1) V45(0,0)<1> V45(0,0)<0;1,0> 0xffffffff:ud
        cmp.gt (M1_NM, 1) P1 V45(0,0)<0;1,0> 0x0:ud
        (P1) jmp (M1, 1) again
        ret (M1, 1)
    """)
    lines = [
        *(".version 4.1", '.kernel "k"', ".decl V45 v_type=G type=ud num_elts=1"),
        *(".decl P1 v_type=P num_elts=32", ".kernel_attr SimdSize=16", '.function "k"', "k:"),
    ]
    kernel = harness.assemble("\n".join([*lines, *again]) + "\n", "pvc")
    group = harness.GroupsAlike((harness.ThreadStart((), 0xFFFF),))
    machine, options = Machine(Memory(), Surfaces()), RunOptions(stop=SecondLook())
    ended = jit.Prepared(kernel.linked).run(range(1), group, machine, options)
    assert ended.stopped is not None


def test_a_computed_number_reaches_no_other_barrier(monkeypatch):
    """4294967295 is not the group's own barrier, whatever numbers barriers have inside."""
    body = f"""
        mov (M1_NM, 1) V45(0,0)<1> 0xffffffff:ud
        sbarrier.signal
        nbarrier.wait V45(0,0)<0;1,0>
        {TICKET}
    """
    ended, _ = same(body, monkeypatch)
    assert "named barrier 4294967295 does not exist" in ended.fault.message
