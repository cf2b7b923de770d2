"""Passes over MIR, tested by files: what a function is before a pass, and what after it.

A file of `tests/files/mir` has sections that are split by lines of `; -----`. Each says what is
tested in comments, has a line `; pass: NAME`, a function, and behind a line `; after:` the function
that the pass makes of it; without that it stays as it is. `--bless` writes what passes make now.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from visim.engine.jit.mir.parser import parse_function
from visim.engine.jit.mir.pipeline import PASSES
from visim.engine.jit.mir.printer import function_text
from visim.engine.jit.mir.verifier import verify

FILES = Path(__file__).parents[4] / "files" / "mir"
SPLIT, PASS, AFTER = "; -----\n", "; pass:", "; after:\n"
RUNS = {one.name: one.run for one in PASSES}
LEAST = 3


def sections() -> list[tuple[Path, int]]:
    """Return all sections, by file and number."""
    found = [(path, path.read_text().split(SPLIT)) for path in sorted(FILES.glob("*.mir"))]
    return [(path, number) for path, parts in found for number in range(len(parts))]


def split(section: str) -> tuple[str, str, str]:
    """Return a section's pass, its text up to what is expected, and what is expected."""
    before, _, after = section.partition(AFTER)
    names = [line.removeprefix(PASS).strip() for line in before.splitlines() if PASS in line]
    assert len(names) == 1, "each section has one line that says which pass"
    return names[0], before, after


@pytest.mark.parametrize(
    ("path", "number"), sections(), ids=lambda one: one.stem if isinstance(one, Path) else str(one)
)
def test_a_pass_makes_what_the_file_says(path, number, request):
    parts = path.read_text().split(SPLIT)
    name, before, expected = split(parts[number])
    function = verify(parse_function(before))
    found = function_text(verify(RUNS[name](function)), notes=False)
    if request.config.getoption("--bless", default=False):
        parts[number] = before.rstrip("\n") + "\n" + AFTER + found
        path.write_text(SPLIT.join(parts))
        return
    assert found == (expected or function_text(function, notes=False))


def test_every_pass_has_at_least_three_sections():
    names = [split(path.read_text().split(SPLIT)[number])[0] for path, number in sections()]
    assert {one.name for one in PASSES} == set(names)
    assert all(names.count(one.name) >= LEAST for one in PASSES)
