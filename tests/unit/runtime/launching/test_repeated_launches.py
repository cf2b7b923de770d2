"""Which engine runs the launches of a kernel that a program launches again and again."""

from types import SimpleNamespace
from typing import cast

from visim.runtime.launching.choice import RepeatedLaunches, Weight, fastest_engine
from visim.runtime.payload.threads import LaunchPlan

SMALL = Weight(100, 100, 1)


def plan(groups: int) -> LaunchPlan:
    dispatch = SimpleNamespace(group_count=groups, threads=lambda group: 4 + group)
    return cast("LaunchPlan", SimpleNamespace(parts=[SimpleNamespace(dispatch=dispatch)]))


def test_large_launches_are_compiled_and_small_ones_interpreted() -> None:
    assert fastest_engine(plan(1), SMALL) == "interpreter"
    assert fastest_engine(plan(10_000), SMALL) == "jit"
    assert fastest_engine(plan(10), Weight(100, 100_000, 1)) == "jit", "slow instructions count"


def test_a_kernel_is_compiled_when_as_much_was_spent_on_interpreting_it() -> None:
    launches = RepeatedLaunches(SMALL)
    names = [launches.engine(plan(10)) for _ in range(100)]
    first = names.index("jit")
    assert 0 < first < 99
    assert set(names[first:]) == {"jit"}
    assert RepeatedLaunches(SMALL).engine(plan(10 * (first + 1))) == "jit", "the same in one launch"
    assert RepeatedLaunches(SMALL).engine(plan(10 * first)) == "interpreter"


def test_what_the_jit_refuses_stays_with_the_interpreter() -> None:
    launches = RepeatedLaunches(SMALL)
    assert launches.engine(plan(100_000)) == "jit"
    launches.refuse_compiling()
    assert {launches.engine(plan(100_000)) for _ in range(10)} == {"interpreter"}
