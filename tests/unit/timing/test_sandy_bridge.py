"""Sandy Bridge's front end as `docs/timing-snb.md` shows it: turns of threads, caches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import visim
from visim.timing import Timing

PAGE = (Path(__file__).parents[3] / "docs" / "timing-snb.md").read_text()
CHAIN, ADD = re.findall(r"```visa\n(.*?)```", PAGE, re.DOTALL)


def timed(text, threads, turns, **settings):
    timing = Timing("snb", parameters=settings)
    kernel = visim.assemble(text, platform="skl")["chain"]
    launch = {"thread_groups": 12, "group_size": threads, "observers": [timing]}
    kernel.launch([turns], **launch)
    return timing.result


def loop_of(count):
    """Return the page's kernel with so many additions in its loop."""
    head, rest = CHAIN.split("again:\n")
    tail = rest[rest.index("    add (M1_NM, 1) turn") :]
    return f"{head}again:\n{ADD * count}{tail}"


def row(name):
    """Return the numbers of a row of the page's tables."""
    [line] = [one for one in PAGE.splitlines() if one.startswith(f"| {name} |")]
    return [int(re.sub(r"\D.*", "", cell.strip())) for cell in line.split("|")[2:-1]]


def test_the_page_has_the_cycles_of_one_to_five_threads():
    found = [timed(CHAIN, threads, 50) for threads in range(1, 6)]
    assert [one.cycles for one in found] == row("cycles")
    shares = [100 * one.thread_stalls["dependency"] / one.occupied for one in found]
    assert [round(one) for one in shares] == row("threads wait for results")
    assert found[-1].cycles < 1.1 * found[0].cycles


def test_a_switch_that_costs_cycles_makes_turns_dear():
    assert timed(CHAIN, 5, 50, switch_cycles=2).cycles > timed(CHAIN, 5, 50).cycles


@pytest.mark.parametrize("count", [250, 400])
def test_a_loop_larger_than_the_first_cache_misses_in_every_turn(count):
    found = timed(loop_of(count), 1, 20)
    assert found.icache["l1_misses"] == row(str(count))[0]
    lines = count // 4
    rows = 12 // 3
    if count == 250:
        assert found.icache["l1_misses"] < 1.1 * rows * lines
    else:
        assert found.icache["l1_misses"] > 0.95 * 20 * rows * lines
