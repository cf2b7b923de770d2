"""What is known of all launches of a program: counted by kernel, written as one JSON file.

A program may have several VMs, each in a process of its own, and start other programs. They all
write the same file: each adds what it knows to what is there, under a lock.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_LOCK_SUFFIX = ".lock"


def _no_findings() -> list[dict[str, Any]]:
    return []


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One launch: seconds of running, and of preparing; the fault that ended it, if one did.

    `findings` are those of sanitizers that no launch before has had.
    """

    kernel: str
    engine: str
    groups: int
    threads: int
    wall_s: float
    compile_s: float
    fault: str | None = None
    findings: list[dict[str, Any]] = field(default_factory=_no_findings)


def _no_faults() -> list[str]:
    return []


@dataclass(slots=True)
class KernelTotal:
    """All launches of a kernel on one engine."""

    kernel: str
    engine: str
    launches: int = 0
    groups: int = 0
    threads: int = 0
    wall_s: float = 0.0
    compile_s: float = 0.0
    faults: list[str] = field(default_factory=_no_faults)
    findings: list[dict[str, Any]] = field(default_factory=_no_findings)

    def add(self, record: LaunchRecord) -> None:
        """Count one more launch."""
        self.launches += 1
        self.groups += record.groups
        self.threads += record.threads
        self.wall_s += record.wall_s
        self.compile_s += record.compile_s
        self.findings += record.findings
        if record.fault is not None:
            self.faults.append(record.fault)


class ProgramReport:
    """The launches of one VM.

    Args:
        device: the name of its GPU.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._totals: dict[tuple[str, str], KernelTotal] = {}
        self.errors: list[str] = []

    def add(self, record: LaunchRecord) -> None:
        """Count a launch."""
        key = record.kernel, record.engine
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = KernelTotal(record.kernel, record.engine)
        total.add(record)

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the form that its file has for one VM."""
        kernels = [asdict(total) for total in self._totals.values()]
        return {"device": self._device, "kernels": kernels, "errors": list(self.errors)}

    def write(self, path: Path) -> None:
        """Add the report to a file, which may be there; OSError if it cannot be written."""
        add_to_file(path, [self.to_dict()])


def add_to_file(path: Path, reports: Iterable[dict[str, Any]]) -> None:
    """Add reports of VMs to a file, which is complete at any time."""
    lock = path.with_name(path.name + _LOCK_SUFFIX)
    with _held(lock):
        before = read_file(path)
        room = path.with_name(path.name + ".new")
        room.write_text(json.dumps({"vms": [*before, *reports]}, indent=2) + "\n")
        room.replace(path)
        lock.unlink(missing_ok=True)


@contextmanager
def _held(lock: Path) -> Generator[None]:
    """Hold a lock file, of which its last holder may just have removed the name."""
    while True:
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            is_it = False
            with suppress(FileNotFoundError):
                is_it = os.path.samestat(lock.stat(), os.fstat(file.fileno()))
            if is_it:
                yield
                return


def read_file(path: Path) -> list[dict[str, Any]]:
    """Return the reports of VMs in a file; none if it is not there or is something else."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        return list(found["vms"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
