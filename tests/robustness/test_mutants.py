"""Whatever bytes they are given, readers, verifier and engines raise nothing but VisimErrors.

The bounded part of fuzzing; `python -m tools.fuzz` is the long one, and its findings stay here.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tools.fuzz.mutate import mutants
from tools.fuzz.seeds import FINDINGS, seeds
from tools.fuzz.targets import TARGETS

SEED = 20
MUTANTS = {
    "text": 500, "isa": 900, "zebin": 120, "verify": 120, "run": 120,
    "archive": 150, "debug": 300, "argument": 300,
}  # fmt: skip
SMALL = 8_000
FOUND = sorted(path for path in FINDINGS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_fuzzing_found_is_read_or_refused(path: Path):
    for target in (path.parent.name, "verify"):
        TARGETS[target](path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_a_seed_is_read(target: str):
    for data in seeds(target)[:20]:
        TARGETS[target](data)


@pytest.mark.parametrize("target", MUTANTS)
def test_a_mutant_is_read_or_refused(target: str):
    small = [data for data in seeds(target) if len(data) < SMALL]
    for data in islice(mutants(small, seed=SEED), MUTANTS[target]):
        TARGETS[target](data)


@pytest.mark.parametrize("target", ["text", "isa", "zebin", "verify", "archive", "debug"])
def test_a_truncated_input_is_read_or_refused(target: str):
    for data in seeds(target)[::10]:
        for length in range(0, len(data), max(1, len(data) // 25)):
            TARGETS[target](data[:length])
