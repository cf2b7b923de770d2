"""Asks Intel's assembler and verifier about the random programs of `visim smith`.

    python -m tools.judge_smith --count 200 [--seed 0] [--platform dg2]

Prints how many programs GenX_IR (Debian: libigc-tools) takes, and what it says of the others.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.mutations.peer import PROGRAM, verdict
from visim.smith import smith

DEVICES = ("skl", "icllp", "tgllp", "dg2", "pvc")


def judged(device: str, first: int, count: int) -> Counter[str | None]:
    """Return how often GenX_IR says what of a device's programs; None is acceptance."""
    return Counter(verdict(smith(seed, device), device) for seed in range(first, first + count))


def main(arguments: list[str]) -> int:
    """Print the verdicts; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, prog="judge_smith")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--platform", choices=DEVICES, action="append")
    given = parser.parse_args(arguments)
    if PROGRAM is None:
        sys.stderr.write("GenX_IR is not installed (apt install libigc-tools)\n")
        return 1
    for device in given.platform or DEVICES:
        found = judged(device, given.seed, given.count)
        sys.stdout.write(f"{device}: {found.pop(None, 0)} of {given.count} programs are taken\n")
        for complaint, number in found.most_common():
            sys.stdout.write(f"  {number}: {complaint}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
