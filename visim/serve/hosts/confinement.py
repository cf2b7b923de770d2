"""What a process gives up before it looks at what strangers have sent.

Limits of resources hold everywhere. On Linux it can also no more start or signal processes or
talk to others (seccomp), and it opens files in few folders only (Landlock); where the kernel has
neither, it goes without, and `available` says so.

Facts: seccomp(2), landlock(7), prctl(2).
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_FILTER = 2


@dataclass(frozen=True)
class Limits:
    """What one process may take.

    Attributes:
        seconds: of time.
        memory: bytes beyond those that it begins with.
        output: bytes of its answer.
        file: bytes of a file that it writes.
        descriptors: how many it may have open.
    """

    seconds: float = 20.0
    memory: int = 1 << 30
    output: int = 1 << 20
    file: int = 1 << 26
    descriptors: int = 64


@dataclass(frozen=True)
class Abilities:
    """Which of the kernel's means a machine has: `landlock` is its version, 0 for none."""

    seccomp: bool
    landlock: int


def end_with(parent: int) -> None:
    """Let this process end with `parent`, which has just forked it."""
    if _is_linux():
        _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit(limits: Limits) -> None:
    """Set the limits of resources of this process."""
    begin = _address_space()
    seconds = int(limits.seconds) + 1
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_FSIZE, limits.file)
    _set(resource.RLIMIT_NOFILE, limits.descriptors)
    _set(resource.RLIMIT_AS, begin + limits.memory)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def close_all_but(kept: Iterable[int]) -> None:
    """Close all file descriptors except the standard three and `kept`."""
    first = 3
    for kept_one in sorted({*kept, 1 << 20}):
        if kept_one >= first:
            os.closerange(first, kept_one)
            first = kept_one + 1


def confine(readable: Sequence[str], writable: Sequence[str]) -> None:
    """Let this process open files in these folders only, and neither start nor reach others."""
    if not _is_linux():
        return
    _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _use_landlock(readable, writable)
    _use_seccomp()


def available() -> Abilities:
    """Return what this machine has for `confine`."""
    if not _is_linux():
        return Abilities(seccomp=False, landlock=0)
    libc = _libc()
    bad_address = 14
    has_filter = libc.prctl(_PR_SET_SECCOMP, _FILTER, None, 0, 0) < 0
    return Abilities(
        seccomp=has_filter and ctypes.get_errno() == bad_address and _machine() is not None,
        landlock=max(0, libc.syscall(_LANDLOCK_CREATE, None, 0, 1)),
    )


def _set(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def _address_space() -> int:
    """Return the bytes of address space that this process has now."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 1 << 31


def _is_linux() -> bool:
    return platform.system() == "Linux"


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


# Landlock: version 1 has the first 13 rights, later ones add some.

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_NETWORK = 3
_SCOPES = 3


def _use_landlock(readable: Sequence[str], writable: Sequence[str]) -> None:
    libc = _libc()
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return
    handled = _RIGHTS[max(known for known in _RIGHTS if known <= version)]
    network = _NETWORK if version >= 4 else 0
    scopes = _SCOPES if version >= 6 else 0
    about = struct.pack("=QQQ", handled, network, scopes)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = libc.syscall(_LANDLOCK_CREATE, about, size, 0)
    if rules < 0:
        return
    for paths, rights in ((readable, _READING), (writable, handled)):
        for path in paths:
            _allow(libc, rules, path, rights & handled)
    libc.syscall(_LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


def _allow(libc: Any, rules: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # what is not there cannot be opened anyway
        return
    if not os.path.isdir(path):  # noqa: PTH112 - a file descriptor is what counts
        rights &= _OF_FILES
    libc.syscall(_LANDLOCK_ADD, rules, _BENEATH, struct.pack("=Qi", rights, opened), 0)
    os.close(opened)


# seccomp: a program of the Berkeley Packet Filter that sees the number of each system call.

_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NOT_PERMITTED, _NO_SUCH_CALL = 1, 38
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT_0 = 0, 4, 16
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000


@dataclass(frozen=True)
class _Machine:
    """An architecture: what the kernel calls it, and its numbers of system calls."""

    token: int
    refused: tuple[int, ...]
    clone: int
    clone3: int
    tgkill: int
    prlimit: int


# In the order: fork vfork execve execveat kill tkill ptrace process_vm_readv process_vm_writev
# pidfd_send_signal pidfd_getfd socket connect bind listen accept accept4 sendto sendmsg mount
# umount2 pivot_root chroot unshare setns bpf perf_event_open userfaultfd io_uring_setup keyctl
# add_key request_key init_module finit_module kexec_load reboot swapon personality
# open_by_handle_at acct quotactl settimeofday clock_settime
# Landlock says nothing of what follows. Attributes of files (on aarch64 without those that it has
# not): chmod fchmod chown fchown lchown fchownat fchmodat fchmodat2 utime utimes futimesat
# utimensat setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr
# removexattrat. Other processes: rt_sigqueueinfo rt_tgsigqueueinfo setpriority sched_setparam
# sched_setscheduler sched_setaffinity sched_setattr ioprio_set. What stays behind: shmget semget
# msgget mq_open.
# fmt: off
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        (
            57, 58, 59, 322, 62, 200, 101, 310, 311, 424, 438, 41, 42, 49, 50, 43, 288, 44,
            46, 165, 166, 155, 161, 272, 308, 321, 298, 323, 425, 250, 248, 249, 175, 313,
            246, 169, 167, 135, 304, 163, 179, 164, 227,
            90, 91, 92, 93, 94, 260, 268, 452, 132, 235, 261, 280, 188, 189, 190, 463, 197, 198,
            199, 466, 129, 297, 141, 142, 144, 203, 314, 251, 29, 64, 68, 240,
        ),
        clone=56,
        clone3=435,
        tgkill=234,
        prlimit=302,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        (
            221, 281, 129, 130, 117, 270, 271, 424, 438, 198, 203, 200, 201, 202, 242, 206,
            211, 40, 39, 41, 51, 97, 268, 280, 241, 282, 425, 219, 217, 218, 105, 273, 104,
            142, 224, 92, 265, 89, 60, 170, 112,
            52, 55, 54, 53, 452, 88, 5, 6, 7, 463, 14, 15, 16, 466, 138, 240, 140, 118, 119, 122,
            274, 30, 194, 190, 186, 180,
        ),
        clone=220,
        clone3=435,
        tgkill=131,
        prlimit=261,
    ),
}
# fmt: on


def _machine() -> _Machine | None:
    return _MACHINES.get(platform.machine())


def _use_seccomp() -> None:
    machine = _machine()
    if machine is None:
        return
    code = _program(machine, os.getpid())
    steps = b"".join(struct.pack("=HBBI", *step) for step in code)
    buffer = ctypes.create_string_buffer(steps, len(steps))
    about = struct.pack("@HxxxxxxP", len(code), ctypes.addressof(buffer))
    _libc().prctl(_PR_SET_SECCOMP, _FILTER, about, 0, 0)


def _program(machine: _Machine, own: int) -> list[tuple[int, int, int, int]]:
    """Return the filter: each step is an operation, two jumps, and a number."""
    refuse = (_RETURN, 0, 0, _ERROR | _NOT_PERMITTED)
    allow = (_RETURN, 0, 0, _ALLOW)
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.token),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        refuse,
    ]
    for number in machine.refused:
        code += [(_EQUAL, 0, 1, number), refuse]
    # The C library then takes clone(), whose flags are no pointer.
    code += [(_EQUAL, 0, 1, machine.clone3), (_RETURN, 0, 0, _ERROR | _NO_SUCH_CALL)]
    code += [
        (_EQUAL, 0, 4, machine.clone),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_ANY_BIT, 0, 1, _CLONE_THREAD),
        allow,
        refuse,
    ]
    for number in (machine.tgkill, machine.prlimit):  # of this process only: abort() needs it
        code += [
            (_EQUAL, 0, 5, number),
            (_LOAD, 0, 0, _ARGUMENT_0),
            (_EQUAL, 1, 0, 0),
            (_EQUAL, 0, 1, own),
            allow,
            refuse,
        ]
    return [*code, allow]
