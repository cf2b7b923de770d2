"""Numbers of thousands of digits, which Python does not write, are refused as others are."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.unit.runtime.texts import SCALE
from visim.errors import ArgumentError

HUGE = 10**5000


@pytest.fixture
def kernel():
    return visim.assemble(SCALE, platform="pvc").kernels[0]


@pytest.mark.parametrize(
    "options",
    [
        {"thread_groups": HUGE},
        {"thread_groups": (1, -HUGE)},
        {"group_size": HUGE},
        {"seed": HUGE},
        {"seed": -HUGE},
        {"workers": -HUGE},
        {"budget": (HUGE,)},
        {"checks": HUGE},
        {"engine": HUGE},
        {"collect": [HUGE]},
        {"collect": HUGE},
        {"wait": HUGE},
        {"observers": [HUGE]},
        {"observers": HUGE},
        {"surfaces": {HUGE: np.zeros(4)}},
        {"samplers": {HUGE: visim.Sampler()}},
        {"thread_space": (2, 2), "dependency": HUGE},
    ],
)
def test_options_of_a_launch_are_refused(kernel, options):
    with pytest.raises(ArgumentError, match=f"^(argument )?'?{next(reversed(options))[:7]}"):
        kernel.launch([np.zeros(64, np.float32), 3.0], **options)


def test_neighbours_far_outside_of_a_thread_space_count_as_done(kernel):
    data = np.ones(64, np.float32)
    report = kernel.launch([data, 3.0], thread_space=(1, 1), dependency=[(HUGE, -HUGE)])
    assert report.threads == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: visim.Local(HUGE * -1),
        lambda: visim.Buffer(HUGE),
        lambda: visim.Buffer(8)[0:HUGE],
        lambda: visim.Buffer(8)[0:4:HUGE],
        lambda: visim.Sampler(bias=HUGE),
        lambda: visim.Sampler(border=(HUGE, 0, 0, 0)),
        lambda: visim.Sampler(filter=HUGE),  # pyright: ignore[reportArgumentType]
        lambda: visim.Image(np.zeros((2, 2), np.float32), kind=HUGE),
        lambda: visim.Image(np.zeros((2, 2), np.float32), levels=5),
        lambda: visim.timing.Timing("skl", native=HUGE),
        lambda: visim.timing.Timing("skl", parameters={HUGE: 1}),
        lambda: visim.timing.Timing("skl", parameters={"eus": -HUGE}),
        lambda: visim.timing.Timing("skl", parameters={"policy": HUGE}),
        lambda: visim.load(HUGE),
        lambda: visim.assemble(SCALE, platform=HUGE),
        lambda: visim.assemble(SCALE, platform="pvc")[HUGE],
    ],
)
def test_what_is_made_of_them_is_refused(make):
    with pytest.raises(ArgumentError):
        make()


def test_arguments_are_refused_and_long_ones_are_cut(kernel):
    data = np.zeros(64, np.float32)
    with pytest.raises(ArgumentError, match="a number of thousands of digits is out of the range"):
        kernel.launch([data, HUGE])
    with pytest.raises(ArgumentError, match=r"10{100,199}\.\.\. is out of the range"):
        kernel.launch([data, 10**400])
