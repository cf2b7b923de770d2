"""The device library in a program that plays a driver: no driver is needed, only a C compiler."""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tools.wheels import c_versions
from visim.device.driver import Driver
from visim.device.environment import variables
from visim.device.library import compile_library, folder_name, library, vendor_library
from visim.device.models import MODELS
from visim.device.programs import command
from visim.errors import ArgumentError, ToolMissing

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler to make the device library with"
)
ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    found = variables(MODELS[:1], Driver(ROOT, None, None, None))
    return {**os.environ, **found, "PYTHONPATH": str(ROOT), **more}


def played(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.device.playing", *words]
    done = subprocess.run(
        command, env=environment(**more), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def play(*words: str, **more: str) -> Any:
    return json.loads(played(*words, **more).stdout)


def processes_of_vms() -> list[str]:
    found = list[str]()
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"visim.device.vm" in words:
            found.append(folder.name)
    return found


def test_what_cannot_be_started_is_one_sentence(tmp_path: Path) -> None:
    driver = Driver(ROOT, None, None, ROOT / "loader")
    text = tmp_path / "text"
    text.write_text("no program")
    with pytest.raises(ArgumentError, match=r"text is not executable; chmod \+x"):
        command([str(text)], driver)
    text.chmod(0o755)
    with pytest.raises(ArgumentError, match="neither a program of this machine nor a script"):
        command([str(text)], driver)
    with pytest.raises(FileNotFoundError, match="there is no program nothing-of-this-name"):
        command(["nothing-of-this-name"], driver)


def test_programs_that_take_no_library_are_refused_in_words(tmp_path: Path) -> None:
    driver = Driver(ROOT, None, None, None)
    own = Path(sys.executable).resolve().read_bytes()[:64]
    programs = {
        "static": (own[:56] + bytes(8), r"static is linked statically \(/.*link it dynamically"),
        "small": (own[:4] + b"\1" + own[5:], "a program of 32 bits"),
        "other": (own[:18] + b"\x08\0" + own[20:], "bits for machine 8 of the ELF list"),
    }
    for name, (data, message) in programs.items():
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o755)
        with pytest.raises(ArgumentError, match=message):
            command([str(tmp_path / name)], driver)
    privileged = tmp_path / "privileged"
    shutil.copy(Path(sys.executable).resolve(), privileged)
    assert command([str(privileged), "-c", ""], driver) == [str(privileged), "-c", ""]
    privileged.chmod(0o4755)
    with pytest.raises(ArgumentError, match="privileged has the set-user-ID"):
        command([str(privileged)], driver)


def test_a_misspelt_device_is_corrected() -> None:
    words = [sys.executable, "-m", "visim", "exec", "--device", "bgm", "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "there is no GPU 'bgm' to emulate; did you mean 'bmg'?" in done.stderr


def test_the_device_says_what_its_model_is() -> None:
    assert play("identity") == {
        "device": 0xE20B,
        "bits": True,
        "node": [226, 128],
        "link": "0000:03:00.0/drm/renderD128",
        "sysfs": "0xe20b",
        "engines": 3,
        "others": False,
    }


def test_batches_run_on_several_vms() -> None:
    assert play("batches") == [True] * 4


def test_writes_of_the_program_have_a_barrier() -> None:
    assert play("barrier") == ["EINVAL", "EINVAL", "ENOENT"]


def test_devices_share_objects() -> None:
    assert play("shared", VISIM_DEVICE="bmg,bmg") == {
        "size": 1 << 16,
        "before it is taken": "ENOENT",
        "arrives": True,
        "closed": "ENOENT",
        "no file": "EBADF",
        "another file": "EINVAL",
        "flags": "EINVAL",
        "end": "taken",
        "twice": "EINVAL",
    }


def test_the_copy_engine_reaches_the_programs_own_memory() -> None:
    assert play("program_memory") == [True, "hello", "hello"]


def test_an_unknown_command_loses_the_queue() -> None:
    assert play("unknown_command") == [True, "ECANCELED"]


def test_forked_children_lose_their_vms_and_parents_do_not() -> None:
    done = played("forked")
    assert json.loads(done.stdout) == [True, 0, True]
    assert done.stderr.count("was forked after the program had opened the GPU") == 1


def test_programs_do_not_see_the_processes_of_vms() -> None:
    assert play("no_children") is True


@pytest.mark.parametrize("seed", ["1", "2"])
def test_hostile_requests_do_no_harm(seed: str) -> None:
    assert play("hostile", seed) is True


def test_idle_queues_cost_no_processor() -> None:
    count, seconds = play("idle")
    assert count == 2
    assert seconds <= 0.05


def test_ten_thousand_batches_leave_nothing_behind() -> None:
    pages, files = play("many")
    assert files == 0
    assert pages < 256


def test_several_threads_may_use_the_device() -> None:
    assert play("threads") == [3 * 29 + 50, True]


def test_nothing_stays_behind_a_program_that_is_killed() -> None:
    before = set(processes_of_vms())
    program = (
        "import time, tests.device.playing as p; w = p.Work(p.Device()); "
        "w.run(*p.store(p.DATA, 1)); p.wait(lambda: w.word() == 1); print('up', flush=True); "
        "time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment(), stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        started = set(processes_of_vms()) - before
        running.kill()
    end = time.monotonic() + 30
    while started & set(processes_of_vms()) and time.monotonic() < end:
        time.sleep(0.05)
    assert started
    assert not started & set(processes_of_vms())


def test_without_visim_exec_programs_get_an_error_and_a_sentence() -> None:
    code = (
        "import tests.device.playing as p\n"
        "w = p.Work(p.Device())\n"
        "try:\n    w.run(*p.store(p.DATA, 1))\n"
        "except p.Refused as refused:\n    print(refused)\n"
    )
    found = environment()
    del found["VISIM_VM_COMMAND"]
    done = subprocess.run(
        [sys.executable, "-c", code], env=found, capture_output=True, text=True, check=False
    )
    assert done.stdout == "ECANCELED\n"
    assert "start programs with visim exec" in done.stderr


def test_the_library_is_made_once() -> None:
    first = library()
    changed = first.stat().st_mtime_ns
    assert library() == first
    assert first.stat().st_mtime_ns == changed


def test_a_library_in_the_package_needs_no_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = folder_name(platform.machine())
    compile_library("cc", tmp_path / "built" / name)
    monkeypatch.setattr("visim.device.library.PACKAGED", tmp_path / "built")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert library().parent == vendor_library().parent == tmp_path / "built" / name
    with pytest.raises(ToolMissing, match="needs a C compiler once"):
        library(("-g",))  # Others than those in the package are compiled.


def test_wheels_say_which_c_library_they_need(tmp_path: Path) -> None:
    compile_library("cc", tmp_path / "made")
    found = c_versions(tmp_path / "made" / "libvisim_xe.so")
    assert found
    own = tuple(map(int, platform.libc_ver()[1].split(".")))
    assert all(version <= own for version in found)
    assert folder_name("x86_64") != folder_name("aarch64")
