"""`python -m tools.hostile`: hostile requests to a server of its own.

    python -m tools.hostile --count 10000 --seconds 3

Malformed and slow requests, huge ones, wrong fields, mutated zebins and texts, endless kernels,
includes and options that reach for files, and whatever takes too much memory. Ends with 1 if the
server is not well: it does not answer, or not as before, an answer is none, a process is left, or a
file was reached.
"""

from __future__ import annotations

import argparse
import sys

from tools.hostile.judging import Judge


def main() -> int:
    """Attack as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="what a request may take")
    parser.add_argument("--clients", type=int, default=6)
    chosen = parser.parse_args()
    judge = Judge(seconds=chosen.seconds)
    with judge:
        judge.attack(chosen.seed, chosen.count, chosen.clients)
    for kind, outcomes in sorted(judge.outcomes.items()):
        listed = ", ".join(f"{name} {count}" for name, count in outcomes.most_common())
        print(f"{kind:8} {sum(outcomes.values()):5}: {listed}")
    total = sum(sum(outcomes.values()) for outcomes in judge.outcomes.values())
    print(f"{total} requests; {len(judge.complaints)} complaints")
    for complaint in judge.complaints[:20]:
        print(f"  {complaint}")
    return 1 if judge.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
