"""A host whose processes do what no request may: `python -m tests.unit.serve.evil CONTROL`."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from visim.serve.hosts.confinement import Limits
from visim.serve.hosts.forkserver import ForkServer, Work

LIMITS = Limits(seconds=2.0, memory=1 << 28, output=1 << 16, file=1 << 16)
SECRET = os.environ.get("SECRET_FILE", "/etc/passwd")


def read_secret():
    return Path(SECRET).read_text()


def write_outside():
    Path(SECRET).with_name("written").write_text("x")
    return "written"


def write_inside():
    Path("mine").write_text("x")
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    return Path("mine").read_text()


def fill_the_disk():
    with Path("large").open("wb") as file:
        file.writelines(b"x" * 1000 for _ in range(1000))
    return "filled"


def fork():
    return os.fork()


def start():
    return subprocess.run(["/bin/true"], check=True).returncode


def execute():
    return os.execv("/bin/true", ["true"])


def change_mode():
    Path(SECRET).chmod(0o777)
    return "open to all"


def change_time():
    os.utime(SECRET, (1, 1))
    return "old"


def change_attribute():
    os.setxattr(SECRET, "user.x", b"x")
    return "marked"


def slow_the_host():
    os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)
    return "slow"


def move_the_host():
    os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))
    return "moved"


def leave_memory():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(0, 4096, 0o1600) < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    return "left"


def connect():
    with socket.socket() as made:
        return made.fileno()


def kill_the_host():
    return os.kill(os.getppid(), signal.SIGKILL)


def thread():
    done = []
    one = threading.Thread(target=done.append, args=("threads work",))
    one.start()
    one.join()
    return done[0]


def eat():
    return len(bytearray(1 << 30))


def eat_in_c():
    found = ctypes.CDLL(None).malloc
    found.restype = ctypes.c_void_p
    return found(ctypes.c_size_t(1 << 30)) is None


def endless():
    while True:
        pass


def sleep():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    time.sleep(1000)


def talk():
    return "x" * (1 << 20)


def crash():
    os.abort()


def fall():
    ctypes.string_at(8)


def fail():
    raise ValueError("on purpose")


def descriptors():
    return sorted(int(entry.name) for entry in Path("/proc/self/fd").iterdir())


def pid():
    return os.getpid()


def wait_and_say():
    Path(SECRET).exists()
    time.sleep(1)
    return "late"


def answer(head, body, _handles):
    return globals()[head](), body


if __name__ == "__main__":
    folders = [sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/proc/self"]
    here = str(Path(__file__).parents[3])
    work = Work(answer, (*folders, here))
    ForkServer(socket.socket(fileno=int(sys.argv[1])), work, LIMITS).serve()
