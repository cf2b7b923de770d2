"""The kernels of the benchmarks on every device: engines give the same bits, and what NumPy says.

An ordinary run takes a share of the kernels and devices; `--thorough` takes all of both.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import visim
from benchmarks.case import Benchmark, Values
from benchmarks.drawn import drawn
from benchmarks.held_out import HELD_OUT
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import copied, difference, visim_argument
from benchmarks.public import FAMILIES, PUBLIC
from benchmarks.public.program import PROGRAMS
from benchmarks.survey import SURVEY
from tests.opencl.building import skip_where_compilers_crash
from tests.opencl.compiler_bugs import is_unseen, known_bug
from tests.opencl.targets import TARGETS, Target, built_for
from tests.shares import choose_seed, share

SMALL = 0.001
SETS = {"public": PUBLIC, "drawn": drawn(choose_seed())}
SHARE = 5
"""Kernels of a set, each on one device, in an ordinary run."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bench" in metafunc.fixturenames:
        is_thorough = metafunc.config.getoption("--thorough")
        chosen: list[tuple[Benchmark, Target]] = []
        for name, kernels in SETS.items():
            every = [
                (one, target) for one in kernels for target in TARGETS if _can_run(one, target)
            ]
            chosen += every if is_thorough else share(f"benchmarks {name}", every, SHARE)
        names = [f"{one.name}-{target}" for one, target in chosen]
        metafunc.parametrize(("bench", "target"), chosen, ids=names)


def _can_run(bench: Benchmark, target: Target) -> bool:
    return target.platform.has_fp64 or not re.search(r"\bdouble\b", bench.source)


def _built(bench: Benchmark, target: Target) -> visim.Program:
    """Return a program; the test is skipped where compilers crash on it.

    On which of the public kernels they do is known. Others of the second set come with each seed.
    """
    try:
        return built_for(target, bench.source, bench.options)
    except visim.InputError as error:
        is_expected = known_bug(bench.name, target) or is_unseen(target)
        if not is_expected and bench.name in {one.name for one in PUBLIC}:
            raise
        skip_where_compilers_crash(error)


def _run(bench: Benchmark, program: visim.Program, values: Values, engine: str) -> Values:
    found = copied(values)
    for one in bench.launches(found):
        program[one.kernel].launch(
            [visim_argument(found[name]) for name in one.args],
            global_size=one.global_size,
            local_size=one.local_size,
            engine=engine,
        )
    return found


def test_engines_agree_with_each_other_and_with_numpy(bench: Benchmark, target: Target):
    values = bench.make(np.random.default_rng(1), SMALL)
    program = _built(bench, target)
    slow, fast = (_run(bench, program, values, engine) for engine in ("interpreter", "jit"))
    for name in bench.outputs:
        assert slow[name].tobytes() == fast[name].tobytes(), f"{name}: engines differ"
    assert bench.expected is not None
    for name, wanted in bench.expected(values).items():
        assert difference(fast[name], np.asarray(wanted)) <= bench.tolerance, name


def test_every_program_is_in_a_table_and_every_name_is_one_kernel():
    listed = {f"{family}/{one.name}.cl" for family, kernels in FAMILIES.items() for one in kernels}
    assert {path.relative_to(PROGRAMS).as_posix() for path in PROGRAMS.glob("*/*.cl")} == listed
    names = [one.name for one in (*BENCHMARKS, *HELD_OUT, *SURVEY, *PUBLIC, *drawn())]
    assert len(names) == len(set(names))


def test_what_is_expected_can_be_missed():
    bench = next(one for one in PUBLIC if one.name == "quadruple")
    values: dict[str, Any] = bench.make(np.random.default_rng(1), SMALL)
    assert bench.expected is not None
    wanted = bench.expected(values)["out"]
    assert difference(values["out"], wanted) > bench.tolerance


def test_a_seed_is_a_set():
    assert [one.source for one in drawn(7)] == [one.source for one in drawn(7)]
    assert [one.source for one in drawn(7, 5)] == [one.source for one in drawn(7)][:5]
    assert [one.source for one in drawn(7)] != [one.source for one in drawn(8)]
