"""Short runs: what native code runs, and what is left out of a result that nobody looks at."""

from __future__ import annotations

import pytest

import visim
from visim.engine.observers import GroupStart, Observer, ThreadPath
from visim.linker.program import LinkedKernel
from visim.timing import Timing, compiled, find_machine, model
from visim.timing.core import simulate
from visim.timing.core.fields import Chip, Code, State
from visim.timing.legaliser import legalise
from visim.timing.paths import Paths

PRODUCTS = 50


def launch(observer: Observer, products: int = PRODUCTS) -> None:
    """Run some products, in nine groups of two threads."""
    names = [f".decl V{n} v_type=G type=f num_elts=8 align=GRF" for n in (32, 40)]
    body = ["mul (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> V32(0,0)<1;1,0>"] * products
    lines = [".version 4.1", '.kernel "k"', *names, ".kernel_attr SimdSize=8", *body, "ret (M1, 1)"]
    kernel = visim.assemble("\n".join(lines) + "\n", platform="skl").kernels[0]
    kernel.launch([], thread_groups=9, group_size=2, observers=[observer])


@pytest.mark.parametrize("is_loaded", [False, True])
def test_native_code_runs_short_kernels_once_it_is_loaded(
    is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    natively = compiled.run

    def noted(code: Code, chip: Chip, state: State) -> int:
        ran.append(1)
        return natively(code, chip, state)

    def loaded(_: object) -> bool:
        return is_loaded

    monkeypatch.setattr(compiled, "is_loaded", loaded)
    monkeypatch.setattr(compiled, "run", noted)
    timing = Timing("skl")
    launch(timing)
    assert timing.result.native < model.WORTH_COMPILING
    assert bool(ran) == is_loaded


def test_native_code_is_loaded_when_it_has_run() -> None:
    timing = Timing("skl")
    launch(timing, model.WORTH_COMPILING // 9)
    assert timing.result.native >= model.WORTH_COMPILING
    assert compiled.is_loaded(simulate.run)


class Seen(Observer):
    """Keeps the ways of threads, as `Timing` does."""

    def __init__(self) -> None:
        self.paths = Paths()
        self.kernels: list[LinkedKernel] = []

    def group_begin(self, group: GroupStart) -> None:
        """Note the kernel and the group."""
        self.kernels.append(group.kernel)
        self.paths.begin_group(group.group[:2])

    def thread_end(self, path: ThreadPath) -> None:
        """Note the way of a thread."""
        self.paths.add(path)


def test_the_short_way_has_the_cycles_and_threads_of_the_whole_result() -> None:
    seen = Seen()
    launch(seen)
    program = legalise(seen.kernels[0], find_machine("skl"))
    work = seen.paths.work(program, 0)
    whole, short = model.simulate_work(program, work), model.run_of(program, work)
    assert whole.threads == 18
    assert (short.cycles, short.spans, short.left) == (whole.cycles, whole.spans, whole.left)
