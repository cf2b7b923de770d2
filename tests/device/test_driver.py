"""Intel's own driver on the emulated device; skipped where it is not installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolchains import current_compiler, installed_driver
from visim.device.driver import find_driver
from visim.errors import ToolMissing

ROOT = Path(__file__).parents[2]


def visim_exec(
    *words: str, options: tuple[str, ...] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of the driver's; `words` are those after --."""
    environment = {**os.environ, "VISIM_DRIVER": installed_driver(), "PYTHONPATH": str(ROOT)}
    compiler = current_compiler()
    if compiler is not None:
        environment["VISIM_LIBOCLOC"] = compiler
    return subprocess.run(
        [sys.executable, "-m", "visim", "exec", *options, "--", *words],
        env={**environment, **more},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_saxpy_is_right_by_opencl_and_by_level_zero(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = visim_exec(
        *(sys.executable, "-m", "visim.device.trial"), options=("--report", str(report))
    )
    assert json.loads(done.stdout) == {
        "device": "Intel(R) Arc(TM) B580 Graphics",
        "OpenCL": None,
        "Level Zero": None,
    }, done.stderr
    vms = json.loads(report.read_text())["vms"]
    launches = [one for vm in vms for one in vm["kernels"] if one["kernel"] == "saxpy"]
    assert sum(one["launches"] for one in launches) == 2


def test_a_missing_driver_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISIM_DRIVER", str(tmp_path))
    with pytest.raises(ToolMissing, match="run visim toolchain install driver"):
        find_driver()
