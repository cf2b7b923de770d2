"""The JIT's code for AArch64, run under QEMU.

Run it with `python -m tools.aarch64` and one of

- `make`: download and unpack a Python for AArch64 (some 300 MB);
- `sweep [--set public] [--device pvc] [--scale 0.01] [--every 1] [--jit] [kernel ...]`: run
  kernels of the benchmarks there, and compare all bits with the interpreter here; `--jit`: with
  the JIT here, which is sooner;
- `python ...`: run that Python, such as with `-m pytest tests/engine/test_synchronization.py`.

It needs qemu-user, apt and pip. `VISIM_AARCH64` names the folder. All but `python` make it where it
is not there.
"""

from __future__ import annotations

import argparse
import sys

from tools.aarch64.environment import EnvironmentMissing, default_folder, environment
from tools.aarch64.sweep import Sweep, sweep


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.aarch64", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make")
    one = commands.add_parser("sweep")
    one.add_argument("--set", default="public", dest="chosen")
    one.add_argument("--device", default="pvc")
    one.add_argument("--scale", type=float, default=0.01)
    one.add_argument("--every", type=int, default=1)
    one.add_argument("--jit", action="store_true")
    one.add_argument("kernels", nargs="*")
    return parser


def main(words: list[str]) -> int:
    """Do what the command line says; return how the process ends."""
    if words[:1] == ["python"]:
        return environment(default_folder(), make=False).run(words[1:]).returncode
    asked = _parser().parse_args(words)
    there = environment(default_folder(), make=True)
    if asked.command == "make":
        print(there.python)
        return 0
    engine = "jit" if asked.jit else "interpreter"
    names = tuple(asked.kernels)
    return sweep(there, Sweep(asked.chosen, asked.device, asked.scale, asked.every, engine, names))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except EnvironmentMissing as error:
        sys.exit(str(error))
