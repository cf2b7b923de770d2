"""The device library as Linux's i915, in a program that plays an old driver."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from visim.device.driver import I915, Driver
from visim.device.environment import variables
from visim.device.models import model

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler to make the device library with"
)
ROOT = Path(__file__).parents[2]


def play(*words: str, device: str = "tgllp") -> Any:
    chosen = model(device)
    assert chosen is not None
    found = variables([chosen], Driver(ROOT, None, None, None, I915))
    done = subprocess.run(
        [sys.executable, "-m", "tests.device.playing_i915", *words],
        env={**os.environ, **found, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("device", "number", "units", "topology", "engines", "regions"),
    [
        ("tgllp", 0x9A49, 96, [1, 6, 16], 2, 1),
        ("dg2", 0x56A0, 512, [1, 32, 16], 3, 2),
        ("pvc", 0x0BDA, 448, [1, 56, 8], 2, 2),
    ],
)
def test_the_device_says_what_its_model_is(
    device, number, units, topology, engines, regions
) -> None:
    assert play("identity", device=device) == {
        "driver": "i915",
        "device": number,
        "units": units,
        "softpin": 1,
        "topology": topology,
        "engines": engines,
        "regions": regions,
        "address bytes": 1 << 47,
        "ticks": True,
    }


def test_batches_are_done_when_their_objects_are_idle() -> None:
    assert play("batches") == list(range(1, 20))


def test_batches_and_data_may_be_the_programs_own_memory() -> None:
    assert play("own_memory") == 7


def test_closed_objects_stay_for_the_batches_that_use_them() -> None:
    assert play("waiting") == ["ETIME", 1, True, 6]


def test_memory_that_was_given_up_is_refused_and_no_hindrance() -> None:
    assert play("given_up") == [2, "EFAULT"]


def test_wrong_requests_get_errors_of_their_own() -> None:
    assert play("refused") == [
        *("ENOMEM", "EINVAL", "ENOENT", "EINVAL", "EINVAL", "ENOENT", "EINVAL"),
        *("ENOTSUP", "ENOENT"),
    ]


def test_an_unknown_command_loses_the_context_alone() -> None:
    assert play("lost") == [True, False, 3]


def test_thousands_of_batches_leave_nothing_behind() -> None:
    pages, files = play("many")
    assert files == 0
    assert pages < 256


@pytest.mark.parametrize("seed", ["1", "2"])
def test_hostile_requests_do_no_harm(seed: str) -> None:
    assert play("hostile", seed) is True
