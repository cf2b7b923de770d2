"""Payloads as the driver lays them out in a walker's data."""

from __future__ import annotations

import os

import pytest

from tests.unit.device.space import BASE, PAGE, address_space
from tests.unit.device.walks import walk
from visim.binary.zebin import ZeKernel
from visim.binary.zeinfo import ExecutionEnv, PayloadArgument, UserAttributes
from visim.device.finding import KernelFinder
from visim.device.hostmemory import ProgramMemory
from visim.device.launching import Kernels, common_bytes, implicit_arguments
from visim.device.reports import ProgramReport
from visim.device.streamer import Bases, QueueError
from visim.device.watching import Findings
from visim.target import platform


@pytest.mark.parametrize(("end", "wanted"), [(0, 0), (12, 32), (32, 32), (56, 64), (100, 128)])
def test_local_ids_begin_behind_what_all_threads_share(end: int, wanted: int) -> None:
    """Not from the end: the driver pads the data, as a group of 37 work-items showed."""
    given = (PayloadArgument("global_size", end - 12, 12),) if end else ()
    assert common_bytes(given) == wanted


def kernel(*entries: PayloadArgument, calls: bool = True) -> ZeKernel:
    environment = ExecutionEnv(128, 16, has_stack_calls=calls)
    return ZeKernel("k", "", environment, entries, (), (), (), (), UserAttributes(), ())


def test_implicit_arguments_stand_before_the_data_of_kernels_with_a_stack() -> None:
    one, told = walk(), PayloadArgument("implicit_arg_buffer", 0, 8)
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        space.write(BASE, bytes([140, 1, 1, 16, *range(136)]))
        found = implicit_arguments(space, kernel(), one, BASE)
        assert found is not None
        assert found.tobytes() == bytes([140, 1, 1, 16, *range(136)])
        assert implicit_arguments(space, kernel(calls=False), one, BASE) is None
        assert implicit_arguments(space, kernel(told), one, BASE) is None
        with pytest.raises(QueueError, match="no structure of implicit arguments"):
            implicit_arguments(space, kernel(), one, BASE + 8)


def test_machine_code_that_no_compiler_of_intels_has_made_is_refused_in_words() -> None:
    told: list[str] = []
    with address_space() as (space, _):
        space.map_object(BASE, PAGE, 0)
        space.write(BASE, os.urandom(256))
        finder = KernelFinder(space, ProgramMemory(os.getpid()), platform("bmg"))
        report, findings = ProgramReport("bmg"), Findings(told.append, None)
        kernels = Kernels(space, finder, platform("bmg"), None, report, (), findings)
        with pytest.raises(QueueError, match=r"no vISA to run.*oneMKL"):
            kernels.run(walk(), (1, 1, 1), Bases(instruction=BASE))
