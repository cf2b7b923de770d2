"""The OpenCL suite through Intel's driver: results, and what is asked of the device.

Run by tests under `visim exec`; prints what is wrong in which case as JSON. Before each launch the
file that `payload_oracle.ASKED` names tells the oracle what the program asks for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from ctypes import c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from tests.device.payload_oracle import ASKED
from tests.opencl.case import Case, Launch, LocalBytes
from tests.opencl.cases import CASES
from tests.opencl.pocl import Pocl, PoclError, PoclProgram

PLATFORM = "Intel(R) OpenCL Graphics"
LEFT_OUT = {
    ("dp4a", None): "today's compiler saturates __builtin_IB_dp4a_*; the case is for Debian's",
    ("bytecode", "bmg"): "today's compiler crashes",
}
"""Cases that are not run on a device, or on none, and why."""
_LIKE = {"bmg": "pvc"}
"""Devices whose cases are those of another one."""


class _Told(PoclProgram):
    """A program whose launches are told to the oracle."""

    def _launch(
        self, launch: Launch, values: Mapping[str, Any], buffers: Mapping[str, c_void_p]
    ) -> None:
        path = os.environ.get(ASKED)
        if path:
            asked = {
                "kernel": launch.kernel,
                "global": launch.global_size,
                "local": launch.local_size,
                "offset": launch.global_offset,
                "arguments": [_argument(values[name]) for name in launch.names],
            }
            Path(path).write_text(json.dumps(asked))
        super()._launch(launch, values, buffers)


def _argument(value: Any) -> tuple[str, int | str]:
    """Return a buffer or local memory by its size, a value by its bytes."""
    if isinstance(value, LocalBytes):
        return "local", value.nbytes
    if isinstance(value, np.ndarray):
        return "buffer", value.nbytes
    return "value", np.asarray(value).tobytes().hex()


def _run(driver: Pocl, case: Case) -> list[str]:
    try:
        built = driver.build(case.text, case.options)
        outputs = _Told(driver, built.program).run(case.values(), case.launches)
    except PoclError as error:
        return [str(error)]
    return [str(one) for one in case.mismatches(outputs)]


def cases_of(device: str) -> list[Case]:
    """Return the cases of a device."""
    known = _LIKE.get(device, device)
    left_out = {name for name, where in LEFT_OUT if where in {None, device}}
    return [one for one in CASES if known in one.devices and one.name not in left_out]


def main(device: str, names: list[str]) -> None:
    """Run the cases of a device, all or some."""
    driver = Pocl(PLATFORM)
    chosen = [one for one in cases_of(device) if not names or one.name in names]
    wrong = {case.name: found for case in chosen if (found := _run(driver, case))}
    sys.stdout.write(json.dumps({"cases": len(chosen), "wrong": wrong}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
