"""Intel's own driver on the emulated device; skipped where it is not installed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.device.programs import MISTAKES
from tests.shares import share
from tests.toolchains import current_compiler, installed_driver
from visim.device.driver import find_driver
from visim.device.models import MODELS
from visim.errors import ToolMissing

ROOT = Path(__file__).parents[2]


def visim_exec(
    *words: str, options: tuple[str, ...] = (), cwd: Path = ROOT, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of the driver's; `words` are those after --."""
    environment = {**os.environ, "VISIM_DRIVER": installed_driver(), "PYTHONPATH": str(ROOT)}
    compiler = current_compiler()
    if compiler is not None:
        environment["VISIM_LIBOCLOC"] = compiler
    return subprocess.run(
        [sys.executable, "-m", "visim", "exec", *options, "--", *words],
        env={**environment, **more},
        cwd=cwd,
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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("thorough")
    if "model" in metafunc.fixturenames:
        names = [one.name for one in MODELS[1:]]
        metafunc.parametrize("model", names if every else share("models", names, 1))
    if "host" in metafunc.fixturenames:
        pairs = [(name, device) for device in ("bmg", "pvc", "tgllp") for name in _HOSTS]
        metafunc.parametrize("host", pairs if every else share("hosts", pairs, 3), ids="-".join)


def test_saxpy_is_right_on_all_devices(model: str) -> None:
    done = visim_exec(*(sys.executable, "-m", "visim.device.trial"), options=("--device", model))
    said = json.loads(done.stdout)
    assert (said["OpenCL"], said["Level Zero"]) == (None, None), done.stderr


def test_the_drivers_own_kernels_fill_and_copy_images() -> None:
    done = visim_exec(*program("images"))
    assert json.loads(done.stdout or "null") == [1, 2, 3, 4], done.stderr


def test_a_program_sees_several_devices() -> None:
    done = visim_exec(*program("saxpy_on_each"), options=("--device", "bmg,pvc,lnl"))
    assert json.loads(done.stdout) == [
        ["Intel(R) Arc(TM) B580 Graphics", 297.0],
        ["Intel(R) Data Center GPU Max 1100", 297.0],
        ["Intel(R) Arc(TM) Graphics", 297.0],
    ], done.stderr


@pytest.mark.parametrize("pair", ["bmg,bmg", "tgllp,tgllp"])
def test_equal_devices_share_a_context(pair: str) -> None:
    done = visim_exec(*program("saxpy_on_both"), options=("--device", pair))
    assert json.loads(done.stdout or "null") == [297.0, 891.0, 2673.0, 8019.0], done.stderr


_HOSTS = {
    "linked": [10, 16, 22, 28, 34, 40, 46, 52, 58, 64],
    "binary": [0, 297.0],
    "spirv": ["03022307", 297.0],
    "large": True,
    "threads": [32, True],
    "events": 26,
    "forked": [297.0, 3, 297.0],
    "released": 297.0,
    "odd_sizes": [[0, 70], [601, 18], [1601, 192]],
    "variables": [280, 110],
    "misuse": {
        "arguments": "-52",
        "index": "-49",
        "dimensions": "-53",
        "group": "-54",
        "kernel": "-48",
        "queue": "-36",
        "empty": "-61",
        "host": "-37",
        "huge": "-61",
        "name": "-46",
        "text": "-11",
        "wait": "-30",
        "what": "-30",
    },
}
"""What the programs of `hosts` print, on all devices."""


def test_programs_use_the_rest_of_opencl(host: tuple[str, str]) -> None:
    name, device = host
    done = visim_exec(*host_words(name), options=("--device", device))
    assert json.loads(done.stdout or "null") == _HOSTS[name], done.stderr


def test_many_launches_leave_nothing_behind(pytestconfig: pytest.Config) -> None:
    count = 10_000 if pytestconfig.getoption("thorough") else 400
    done = visim_exec(sys.executable, "-m", "tests.device.hosts", "launches", str(count))
    pages, files, shared = json.loads(done.stdout or "null")
    assert files == 0
    assert max(pages, shared) < count, "a page for each launch"


def test_a_program_that_is_killed_leaves_no_process() -> None:
    words = [sys.executable, "-m", "visim", "exec", "--", *host_words("waits")]
    environment = {**os.environ, "VISIM_DRIVER": installed_driver(), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        program.kill()
    running = [Path(f"/proc/{one}") for one in json.loads(line)]
    assert len(running) > 1, "it has a process for its kernels"
    end = time.monotonic() + 60
    while any(one.exists() for one in running) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [one for one in running if one.exists()]


def host_words(name: str) -> tuple[str, ...]:
    return sys.executable, "-m", "tests.device.hosts", name


def test_programs_that_a_program_starts_see_the_device(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text('#!/bin/sh\nset -e\nreadlink /proc/self/exe\n"$@"\nexec "$@"\n')
    script.chmod(0o755)
    code = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True)"
    words = sys.executable, "-c", code, "-m", "tests.device.hosts", "variables"
    done = visim_exec(str(script), *words)
    first, *rest = done.stdout.splitlines()
    assert Path(first).name in {"readlink", "busybox", "coreutils"}, "and not the loader"
    assert rest == ["[280, 110]"] * 2, done.stderr


def test_a_missing_driver_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISIM_DRIVER", str(tmp_path))
    with pytest.raises(ToolMissing, match="run visim toolchain install driver"):
        find_driver()


def program(name: str) -> tuple[str, ...]:
    return sys.executable, "-m", "tests.device.programs", name


def test_a_race_in_an_unmodified_program_is_found(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ("--sanitize", "races,bounds", "--report", str(report))
    done = visim_exec(*program("mistakes"), options=options)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout) == 4000
    found = [
        one
        for vm in json.loads(report.read_text())["vms"]
        for kernel in vm["kernels"]
        for one in kernel["findings"]
    ]
    race, over = sorted(found, key=lambda one: one["kind"], reverse=True)
    assert (race["kind"], [line for _, line in race["locations"]]) == ("race-local", [5, 6])
    assert (over["kind"], over["count"], over["buffer"]) == ("oob-write", 4, "out")
    assert "writes out[1000] of 1000" in done.stderr
    assert done.stderr.count("error[race-local]") == 1
    assert "writes shared[0] of 64" in done.stderr
    source, texts = Path(race["locations"][0][0]), done.stderr.splitlines()
    assert "   | shared[i] = i;" in texts
    assert "   | out[get_global_id(0)] = shared[63 - i];" in texts
    assert source.read_text() == MISTAKES


def test_watched_programs_include_files_of_their_folder(tmp_path: Path) -> None:
    (tmp_path / "included.h").write_text("#define VALUE 7\n")
    words = (sys.executable, "-m", "tests.device.programs", "including")
    done = visim_exec(*words, options=("--sanitize", "all"), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_what_cannot_be_written_is_said_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for option in ("--report", "--record"):
        done = visim_exec("echo", "ran", options=(option, str(tmp_path / "file" / "x")))
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert f"error: {option}: " in done.stderr
    report = tmp_path / "report.json"
    assert visim_exec("true", options=("--report", str(report))).returncode == 0
    assert json.loads(report.read_text()) == {"vms": []}


def test_what_sanitizers_find_nothing_in_ends_as_the_program_does() -> None:
    done = visim_exec(*program("saxpy"), options=("--sanitize", "all"))
    assert (done.returncode, done.stderr) == (0, "")
    done = visim_exec(
        *(sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"),
        options=("--sanitize", "all"),
    )
    assert (done.returncode, done.stderr) == (128 + 15, "")
    done = visim_exec(
        *(sys.executable, "-c", "import os; os.kill(os.getpid(), 11)"),
        options=("--sanitize", "all"),
    )
    assert done.returncode == 128 + 11
    assert done.stderr == "visim: the program was ended by SIGSEGV\n"


def test_recorded_launches_run_again(tmp_path: Path) -> None:
    done = visim_exec(*program("saxpy"), options=("--record", str(tmp_path)))
    assert done.returncode == 0, done.stderr
    launches = sorted(tmp_path.glob("*.toml"))
    assert [one.name for one in launches] == ["0001.toml", "0002.toml"]
    assert 'to" = "as:from+0"' in launches[1].read_text()
    for launch in launches:
        for sanitize in ((), ("--sanitize", "all")):
            again = subprocess.run(
                [sys.executable, "-m", "visim", "run", str(launch), *sanitize],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert again.returncode == 0, again.stdout + again.stderr
            assert " is as in " in again.stdout


def debug_program(name: str, commands: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program under `visim exec --debug` with commands on its standard input."""
    environment = {**os.environ, "VISIM_DRIVER": installed_driver(), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "visim", "exec", "--debug", *options, "--", *program(name)]
    return subprocess.run(
        words,
        env=environment,
        cwd=ROOT,
        input=commands,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_kernel_of_a_program_is_debugged() -> None:
    done = debug_program("saxpy", "break 3\ncontinue\ninfo locals\n", "saxpy")
    assert done.returncode == 0, done.stderr
    assert "after 2 launches; this is 0001.toml, of kernel saxpy" in done.stderr
    assert "float a = 0.1" in done.stdout
    done = debug_program("saxpy", "", "nothing")
    assert done.returncode == 2
    assert "no launch of kernel 'nothing'; there are: saxpy" in done.stderr


def test_the_debugger_stands_at_the_fault_of_a_program() -> None:
    done = debug_program("fault", "backtrace\n")
    assert "of kernel" in done.stderr
    assert "out of range" in done.stdout


def test_a_fault_loses_the_device_and_names_the_buffer_and_the_line(tmp_path: Path) -> None:
    done = visim_exec(*program("fault"), cwd=tmp_path)
    assert json.loads(done.stdout) == "clEnqueueReadBuffer returned -5"
    assert "past the end of 'out'" in done.stderr
    assert "over:" in done.stderr
    assert "help: visim exec --sanitize bounds" in done.stderr
    assert list(tmp_path.iterdir()) == [], "the compiler leaves nothing in the program's folder"
