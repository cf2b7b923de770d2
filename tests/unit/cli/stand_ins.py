"""Small stand-ins for programs and kernels.

What is under test is what the command line passes on and what it makes of the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

import visim
from visim.errors import (
    Fault,
)

FAULT = Fault("undefined", "out-of-bounds", "store outside every buffer", kernel="scale", line=7)


@dataclass
class StandInReport:
    engine: str = "interpreter"
    findings: tuple[object, ...] = ()

    def __str__(self):
        return "report of a stand-in"

    def to_dict(self):
        return {"engine": self.engine}


@dataclass
class StandInKernel:
    """A kernel that doubles its first argument in place."""

    name: str = "scale"
    args: tuple = (
        SimpleNamespace(name="x", kind="buffer", size=8, type_name="float*", numbered=None),
        SimpleNamespace(name="n", kind="value", size=4, type_name="int", numbered=None),
    )
    error: Exception | None = None
    launches: list = field(default_factory=list)

    def launch(self, args, **options):
        self.launches.append((args, options))
        if self.error is not None:
            raise self.error
        if isinstance(args[0], np.ndarray):
            args[0] *= args[0].dtype.type(2)
        return StandInReport()


@dataclass
class StandInProgram:
    kernels: tuple
    platform = "pvc"
    compiler: str | None = None
    warnings: tuple = ()

    def __getitem__(self, name):
        return next(kernel for kernel in self.kernels if kernel.name == name)

    def to_zebin(self):
        return b"zebin"

    def text(self, unit=None):
        if unit == "nothing":
            raise KeyError("the program has no unit 'nothing'")
        return f".version 4.1\n{unit or 'everything'}\n"

    def info(self):
        return {
            "format": "zebin",
            "platform": "pvc",
            "version": "4.1",
            "kernels": [
                {
                    "name": "scale",
                    "simd_size": 16,
                    "args": [{"name": "x", "kind": "buffer", "size": 8, "type_name": "float*"}],
                    "slm_size": 64,
                    "barriers": 1,
                    "instructions": 5,
                    "opcodes": {"add": 1, "mov": 4},
                    "not_executable": [{"mnemonic": "dpas", "reason": "none yet", "line": 7}],
                }
            ],
            "functions": [{"name": "helper", "instructions": 1}],
        }


def fails_with(monkeypatch, error):
    def load(source, *, platform=None):
        raise error

    monkeypatch.setattr(visim, "load", load)
