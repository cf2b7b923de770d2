"""The campaign that tests run, and what came of it."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[3]
SAXPY = ROOT / "examples" / "saxpy" / "saxpy.zebin"
FUNCTIONS = '''
import os, signal, time
from pathlib import Path

HERE = Path(__file__).parent


def right(arguments, cell):
    """Say what the kernel computes, or do to the process what the seed says."""
    match cell["seed"]:
        case 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 3:
            time.sleep(600)
        case 4:
            kept = b"x" * (4 << 30)
        case 5:
            (HERE / "killed").open("a").write("x")
            if (HERE / "killed").stat().st_size == 1:
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
        case 6:
            raise ValueError("six")
        case 7:
            return {"y": arguments["y"]}
    if (HERE / "slow").exists():
        time.sleep(0.2)
    return {"y": arguments["y"] + arguments["a"] * arguments["x"]}
'''
OUTCOMES = {
    0: "passed",
    1: "passed",
    2: "crashed",
    3: "hung",
    4: "memory",
    5: "passed",
    6: "bug",
    7: "differs",
}
"""What becomes of the seeds of that function."""


def make(folder, *, seeds="count = 8"):
    """Write a campaign, `some.toml`, and its function into a folder."""
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "some.toml").write_text(f"""
seconds = 6
memory = "400 MiB"
[[launch]]
file = "{SAXPY}"
global = 64
local = 64
reference = "functions.py:right"
arg = {{ x = "rand:64", y = "rand:64", a = 2, n = 64 }}
agree = "engine"
[launch.vary]
seed = {{ {seeds} }}
engine = ["jit", "interpreter"]
""")


def results(folder, name="some.campaign"):
    """Return the results of a campaign in the order of their ends."""
    lines = (folder / name / "results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def outcomes(folder, name="some.campaign"):
    """Return how the cells ended, by seed and engine."""
    return {
        (line["name"]["seed"], line["name"]["engine"]): line["outcome"]
        for line in results(folder, name)
    }
