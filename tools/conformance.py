"""`python -m tools.conformance DIR`: how far visim gets with a folder of programs.

Each program goes through the steps of `visim.campaign.conforming`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from visim.campaign.conforming import STEPS, SUFFIXES, Examination, examine


def main(words: Sequence[str]) -> int:
    """Print the score of a folder; return 1 if visim failed a step."""
    parser = argparse.ArgumentParser(prog="python -m tools.conformance", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="pvc", help="where a file names none that ocloc has")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=120, help="for one file at most")
    parser.add_argument("--only", default="", help="files whose path contains this")
    options = parser.parse_args(words)
    files = sorted(
        path
        for path in options.folder.rglob("*")
        if path.suffix in SUFFIXES and options.only in str(path)
    )
    found: list[Examination] = []
    for path in files:
        name = str(path.relative_to(options.folder))
        found.append(_apart(path, name, options.device, options.seconds))
        print(f"{len(found)} of {len(files)}: {found[-1].line}", file=sys.stderr, flush=True)
    if options.json:
        print(
            json.dumps({"score": score(found), "files": [asdict(one) for one in found]}, indent=2)
        )
    else:
        print("\n".join(summary(found)))
    return int(any(step != "build" for one in found for step in one.failed))


def _apart(path: Path, name: str, device: str, seconds: float) -> Examination:
    """Examine a file in a process of its own, so that nothing can take the others along."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(there, path, name, device))
    process.start()
    there.close()
    try:
        if here.poll(seconds):
            return here.recv()
        return Examination(name, failed={"run": f"not done after {seconds:g} seconds"})
    except EOFError:
        return Examination(name, failed={"run": "the process died"})
    finally:
        process.kill()
        process.join()


def _send(pipe: Connection, path: Path, name: str, device: str) -> None:
    pipe.send(examine(path, name, device))


def score(found: Sequence[Examination]) -> dict[str, dict[str, int]]:
    """Return for each step how many files passed it and failed it."""
    passed = Counter(step for one in found for step in one.passed)
    failed = Counter(step for one in found for step in one.failed)
    return {step: {"passed": passed[step], "failed": failed[step]} for step in STEPS}


def summary(found: Sequence[Examination]) -> Iterator[str]:
    """Yield the lines of a report."""
    yield f"{len(found)} files"
    for step, counts in score(found).items():
        total = counts["passed"] + counts["failed"]
        if total:
            yield f"  {step:8} {counts['passed']:4} of {total}"
    yield from (one.line for one in found if one.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
