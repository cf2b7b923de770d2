"""Tests of the engines run on each of them."""

from __future__ import annotations

import pytest

from . import harness
from .hardware import HARDWARE, use_hardware

ON_BOTH = {
    "test_calls",
    "test_chosen_bits",
    "test_conversions",
    "test_faults",
    "test_images",
    "test_interpreter",
    "test_lsc",
    "test_lsc_places",
    "test_older_messages",
    "test_operands",
    "test_raw_lsc",
    "test_reciprocal_roots",
    "test_rectangles",
    "test_synchronization",
    "test_turns",
}
"""Modules whose tests run on both engines.

The others compile much code: `test_jit` runs some of their programs on the JIT.
"""

ALSO_NATIVELY = {"test_calls", "test_faults", "test_synchronization", "test_turns"}
"""Modules whose tests also run where native code starts the threads."""

ALSO_ON_BOTH = {
    "test_a_fused_pair_shares_the_rows",
    "test_a_half_accumulator_is_rounded_once_at_the_end",
    "test_a_pair_that_is_at_different_instructions_is_undefined",
    "test_a_thread_that_misses_the_other_of_its_pair_is_named",
    "test_tiles_of_few_elements",
}
"""Tests of other modules that do, too."""


ON_MIR = {
    "test_calls",
    "test_conversions",
    "test_faults",
    "test_interpreter",
    "test_lsc",
    "test_older_messages",
    "test_operands",
    "test_synchronization",
    "test_turns",
}
"""Modules whose tests run on the MIR of kernels as well, behind all passes: both ways."""

NOT_ON_MIR = {
    "test_a_budget_that_runs_out_names_the_loop",
    "test_control_that_runs_off_the_end_is_a_fault",
}
"""Tests that look at registers after a fault: MIR leaves them in memory when a thread ends."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of some modules on both engines, the others on the interpreter."""
    module, test = metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__
    if module in ON_BOTH or test in ALSO_ON_BOTH:
        engines = harness.ENGINES_AND_STARTS if module in ALSO_NATIVELY else harness.ENGINES
        of_mir = [harness.MIR, harness.FROM_MIR]
        engines = [name for name in engines if name not in of_mir]
        if module in ON_MIR and test not in NOT_ON_MIR:
            engines += of_mir
        metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine on which `harness.run` runs."""
    name = getattr(request, "param", "interpreter")
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES_AND_STARTS[name])
    return name


@pytest.fixture(params=HARDWARE)
def each_hardware(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make code as for processors that gather lanes fast, and for others."""
    use_hardware(request.param, monkeypatch)
