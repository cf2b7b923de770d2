"""Debian's driver of 2022, which knows only i915, on the emulated device."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.device.test_programs_in_c import SOURCES, compiled
from tests.shares import share
from tests.toolchains import old_driver
from visim.device.driver import I915, find_driver
from visim.device.models import MODELS

ROOT = Path(__file__).parents[2]
DEVICES = ("tgllp", "dg2", "pvc")
pytestmark = pytest.mark.skipif(
    old_driver() is None, reason="the system has no driver for i915: Debian 12's intel-opencl-icd"
)


_PROGRAMS = ("buffers", "contexts", "events", "images", "language", "structs", "svm", "usm")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program_on" in metafunc.fixturenames:
        pairs = [(name, device) for device in DEVICES for name in _PROGRAMS]
        pairs.remove(("images", "pvc"))  # It has none.
        every = metafunc.config.getoption("thorough")
        chosen = pairs if every else share("programs in C for 22.43", pairs, 2)
        metafunc.parametrize("program_on", chosen, ids="-".join)


def visim_exec(
    *words: str, device: str = "tgllp", options: tuple[str, ...] = (), cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    more = {"VISIM_DRIVER": old_driver() or "", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "visim", "exec", "--device", device, *options, "--", *words],
        env={**os.environ, **more},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def program(name: str) -> tuple[str, ...]:
    return sys.executable, "-m", "tests.device.programs", name


def test_the_device_plays_the_kernels_driver_that_the_gpus_driver_is_for() -> None:
    found = find_driver(old_driver())
    assert found.kernel == I915
    assert {one.name for one in found.known} == set(DEVICES)


@pytest.mark.parametrize("device", DEVICES)
def test_saxpy_is_right_by_opencl_and_by_level_zero(device: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    trial = (sys.executable, "-m", "visim.device.trial")
    done = visim_exec(*trial, device=device, options=("--report", str(report)), cwd=tmp_path)
    said = json.loads(done.stdout)
    assert (said["OpenCL"], said["Level Zero"]) == (None, None), done.stderr
    vms = json.loads(report.read_text())["vms"]
    kernels = [one["kernel"] for vm in vms for one in vm["kernels"]]
    assert kernels == ["saxpy", "saxpy"]
    assert [one.name for one in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("device", DEVICES[:2])
def test_the_drivers_own_kernels_run(device: str) -> None:
    done = visim_exec(*program("images"), device=device)
    assert json.loads(done.stdout) == [1, 2, 3, 4], done.stderr


def test_programs_in_c_are_right(program_on: tuple[str, str], tmp_path: Path) -> None:
    name, device = program_on
    suffix = ".cpp" if name == "buffers" else ".c"
    words = compiled(SOURCES / f"{name}{suffix}", tmp_path, "-lOpenCL", "-lpthread", "-lm")
    done = visim_exec(words, device=device)
    assert done.stdout == "all right\n", done.stderr
    assert done.returncode == 0


def test_all_three_may_be_seen_at_once() -> None:
    done = visim_exec(*program("saxpy_on_each"), device=",".join(DEVICES))
    found = json.loads(done.stdout)
    assert len({name for name, _ in found}) == len(DEVICES)
    assert {value for _, value in found} == {297.0}, done.stderr


def test_kernels_find_local_memory_and_buffers_in_place() -> None:
    done = visim_exec(*program("saxpy"))
    assert json.loads(done.stdout) == 0x3F8CCCCD + 1, done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_sanitizers_know_lines_and_ends_of_buffers(device: str, tmp_path: Path) -> None:
    options = ("--sanitize", "races,bounds")
    done = visim_exec(*program("mistakes"), device=device, options=options, cwd=tmp_path)
    assert done.returncode == 1
    assert "error[race-local]" in done.stderr
    assert "writes out[1000] of 1000" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_fault_is_told_and_loses_the_device() -> None:
    done = visim_exec(*program("fault_and_finish"))
    assert json.loads(done.stdout) == "clFinish returned -5"
    assert "fault[undefined/memory-access]" in done.stderr


def test_gpus_that_the_driver_does_not_have_are_refused_in_words() -> None:
    done = visim_exec("true", device="bmg")
    assert done.returncode == 2
    assert "is one for i915 and has no bmg, only pvc, dg2, tgllp" in done.stderr
    assert len(find_driver(old_driver()).known) < len(MODELS)
