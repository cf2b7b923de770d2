"""What `visim doctor` says of unmodified programs: the driver, and a saxpy by each interface."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from visim.device.driver import XE, Driver, find_driver
from visim.device.environment import run_environment
from visim.device.programs import command
from visim.errors import VisimError
from visim.runtime.doctor import Finding, State

INTERFACES = ("OpenCL", "Level Zero")
_PURPOSE = "unmodified programs: visim exec"
_HELP = "visim toolchain install driver"
_LONGEST_S = 120


def examine_driver() -> tuple[Finding, ...]:
    """Return a finding on the driver, and one for each interface if there is a driver."""
    try:
        driver = find_driver()
    except VisimError:
        return (Finding("driver", State.MISSING, "not installed", _PURPOSE, _HELP),)
    found = Finding("driver", State.OK, _described(driver), _PURPOSE)
    return found, *_tried(driver)


def _described(driver: Driver) -> str:
    """Return where a driver is, and of an old one what it is good for."""
    if driver.kernel == XE:
        return str(driver.folder)
    return f"{driver.folder}, for i915: only {', '.join(one.name for one in driver.known)}"


def _tried(driver: Driver) -> tuple[Finding, ...]:
    try:
        said = _try(driver)
    except (VisimError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return (Finding("saxpy", State.MISSING, str(error), _PURPOSE, "visim exec -- clinfo"),)
    return tuple(_finding(name, said[name], said["device"]) for name in INTERFACES)


def _finding(name: str, problem: str | None, device: str | None) -> Finding:
    if problem is None:
        return Finding(name, State.OK, f"saxpy is right on {device}", _PURPOSE)
    return Finding(name, State.MISSING, f"saxpy fails: {problem}", _PURPOSE, _HELP)


def _try(driver: Driver) -> dict[str, Any]:
    """Run the trial program; ValueError with what it said if it broke down."""
    words = command([sys.executable, "-m", "visim.device.trial"], driver)
    environment = run_environment(driver.known[:1], driver)
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=_LONGEST_S, check=False
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise ValueError(f"saxpy breaks down: {lines[-1]}") from None
