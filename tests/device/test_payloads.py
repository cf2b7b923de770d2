"""The OpenCL suite through Intel's driver: its results, and the payloads that the driver writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.device.payload_oracle import ASKED, DIFFERENCES
from tests.device.suite import cases_of
from tests.shares import share
from tests.toolchains import installed_driver
from visim.device.driver import find_driver
from visim.device.environment import variables
from visim.device.models import model
from visim.device.programs import command, program_of

ROOT = Path(__file__).parents[2]
DEVICES = ("bmg", "pvc", "tgllp")
_CASES = 8


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("thorough")
    metafunc.parametrize("device", DEVICES if every else share("payloads", DEVICES, 1))


def test_driver_and_visim_write_the_same_payloads(
    device: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    names = [case.name for case in cases_of(device)]
    if not pytestconfig.getoption("thorough"):
        names = share("cases for the driver", names, _CASES)
    driver, gpu = find_driver(installed_driver()), model(device)
    assert gpu is not None
    words = command([sys.executable, "-m", "tests.device.suite", device, *names], driver)
    compared = tmp_path / "compared"
    environment = os.environ | variables([gpu], driver)
    environment |= {
        "PYTHONPATH": str(ROOT),
        "VISIM_PROGRAM": program_of(words),
        "VISIM_VM_COMMAND": "\n".join([sys.executable, "-P", "-m", "tests.device.payload_oracle"]),
        ASKED: str(tmp_path / "asked"),
        DIFFERENCES: str(compared),
    }
    done = subprocess.run(
        words, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"cases": len(names), "wrong": {}}
    launches = [json.loads(line) for line in compared.read_text().splitlines()]
    assert len(launches) >= len(names)
    assert [one for one in launches if one[1]] == []
