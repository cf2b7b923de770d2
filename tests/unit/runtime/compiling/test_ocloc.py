"""The process in which the compiler runs: used again, replaced, and gone with who uses it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.unit.children import is_gone
from visim.runtime.compiling import ocloc
from visim.runtime.compiling.compilers import compiler_for
from visim.runtime.compiling.opencl import build_zebin

pytestmark = pytest.mark.usefixtures("compiler")

SCALE = "kernel void scale(global float *v, float f) { v[get_global_id(0)] *= f; }"


def test_it_is_used_again_until_closed():
    build_zebin(SCALE, device="pvc")
    worker = running()
    build_zebin(SCALE, device="pvc")
    assert running() is worker
    ocloc.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def test_threads_take_turns():
    with ThreadPoolExecutor(3) as pool:
        built = list(pool.map(lambda _: build_zebin(SCALE, device="pvc"), range(4)))
    assert len({one.zebin for one in built}) == 1


def test_its_folder_goes_with_it():
    folder = Path(running()._folder)
    assert folder.is_dir()
    ocloc.close()
    assert not folder.exists()


def test_one_that_was_killed_is_replaced():
    worker = running()
    os.kill(worker.pid, signal.SIGKILL)
    assert is_gone(worker.pid)
    assert build_zebin(SCALE, device="pvc")


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_it_ends_with_its_user(end):
    pid, folder = run(f"""
        import os, signal
        worker = ocloc._shared.running(("libocloc.so", False))
        print(worker.pid, worker._folder, flush=True)
        {end}
    """).split()
    assert is_gone(int(pid))
    assert not Path(folder).exists()


def test_a_daemon_thread_that_waits_for_it_ends_without_a_word():
    shown = run(f"""
        import threading, time
        begun = threading.Event()
        def work():
            while True:
                build_zebin({SCALE!r}, device="pvc")
                begun.set()
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        while not ocloc._shared.lock.locked():
            time.sleep(0.001)
        [worker] = ocloc._shared.workers.values()
        print(worker.pid, worker._folder, flush=True)
    """)
    pid, folder = shown.split()
    assert is_gone(int(pid))
    assert not Path(folder).exists()


def test_who_waits_at_the_end_for_a_thread_that_builds_gets_it():
    shown = run(f"""
        import atexit, threading
        from contextlib import suppress
        from visim.errors import VisimError
        begun = threading.Event()
        def work():
            with suppress(VisimError):
                while not ocloc._shared.ended:
                    build_zebin({SCALE!r}, device="pvc")
                    begun.set()
            print("ended", flush=True)
        thread = threading.Thread(target=work, daemon=True)
        ocloc._INTERPRETER_END_S = 0.01
        atexit.unregister(ocloc._shared.end)
        atexit.register(thread.join)
        atexit.register(ocloc._shared.end)
        thread.start()
        begun.wait()
        while not ocloc._shared.lock.locked():
            pass
    """)
    assert shown.split() == ["ended"]


def test_a_forked_process_has_its_own():
    parent, child, after = run(f"""
        import os
        build_zebin({SCALE!r}, device="pvc")
        print(*(w.pid for w in ocloc._shared.workers.values()), flush=True)
        if os.fork() == 0:
            build_zebin({SCALE!r}, device="pvc")
            print(*(w.pid for w in ocloc._shared.workers.values()), flush=True)
            ocloc.close()
            os._exit(0)
        os.wait()
        build_zebin({SCALE!r}, device="pvc")
        print(*(w.pid for w in ocloc._shared.workers.values()), flush=True)
    """).split()
    assert parent == after
    assert parent != child


def running():
    """Return the worker of the compiler that builds for pvc."""
    return ocloc._shared.running((compiler_for("pvc").library, False))


def run(program: str) -> str:
    """Run a program in a Python of its own and return what it printed."""
    package = "visim.runtime.compiling"
    head = f"from {package} import ocloc\nfrom {package}.opencl import build_zebin\n"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", head + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.stderr == ""
    return result.stdout
