"""Tests of the engines run on each of them."""

from __future__ import annotations

import pytest

from . import harness

ON_BOTH = {
    "test_calls",
    "test_conversions",
    "test_faults",
    "test_images",
    "test_interpreter",
    "test_lsc",
    "test_lsc_places",
    "test_older_messages",
    "test_operands",
    "test_synchronization",
}
"""Modules whose tests run on both engines.

The others compile much code: `test_jit` runs some of their programs on the JIT.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of some modules on both engines, the others on the interpreter."""
    if metafunc.module.__name__.rpartition(".")[2] in ON_BOTH:
        metafunc.parametrize("engine", list(harness.ENGINES), indirect=True)


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine on which `harness.run` runs."""
    name = getattr(request, "param", "interpreter")
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES[name])
    return name
