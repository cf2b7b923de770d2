"""`python -m tools.builtins`: measure OpenCL's built-in functions, write docs/builtins*.md."""

from __future__ import annotations

import argparse
import datetime
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.builtins.catalogue import FREE, FUNCTIONS, ROUNDED
from tools.builtins.measure import Measured, measure

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = "<!-- Made by `python -m tools.builtins --write`. -->"
KINDS = ("float", "double", "half")
SHOWN_WRONG = 3


def main(words: Sequence[str]) -> int:
    """Measure what the command line asks for; return 1 if something is beyond its limit."""
    parser = argparse.ArgumentParser(prog="python -m tools.builtins", description=__doc__)
    parser.add_argument("--points", type=int, default=2000, help="random points a function")
    parser.add_argument("--device", default="pvc", help="device that ocloc builds for")
    parser.add_argument("--engine", default="jit", help="engine of visim")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--only", nargs="*", default=[], help="names of functions")
    parser.add_argument("--write", action="store_true", help="write the pages in docs/")
    options = parser.parse_args(words)
    found: list[Measured] = []
    for kind in options.kinds:
        functions = [
            function
            for function in FUNCTIONS
            if function.limits[kind] is not None
            and (not options.only or function.name in options.only)
        ]
        measured = measure(
            functions, kind, device=options.device, count=options.points, engine=options.engine
        )
        for one in measured:
            found.append(one)
            print(line(one), flush=True)
    if options.write:
        for name, lines in pages(found, options.points, options.device):
            (DOCS / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all(one.is_within for one in found) else 1


def line(one: Measured) -> str:
    """Return a line for a terminal."""
    verdict = "" if one.is_within else "  BEYOND"
    wrong = f"  wrong at {list(one.wrong[:SHOWN_WRONG])} of {len(one.wrong)}" if one.wrong else ""
    at = f"at {one.worst}" if one.worst else ""
    return (
        f"{one.kind:6} {one.function.name:18} {one.error:10.3f} of {one.limit} {at}; denormals "
        f"{one.denormals:.3g}{verdict}{wrong}"
    )


def pages(found: Sequence[Measured], count: int, device: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the names and the lines of the pages: what holds for all, then one for each type."""
    yield "builtins.md", list(_overview(count, device))
    for kind in KINDS:
        head = [f"# OpenCL's built-in functions in {kind}", "", GENERATED, ""]
        head.append("What the columns mean: [OpenCL's built-in functions](builtins.md).")
        some = [one for one in found if one.kind == kind]
        yield f"builtins-{kind}.md", [*head, *_table(some)]


def _overview(count: int, device: str) -> Iterator[str]:
    yield from ("# OpenCL's built-in functions", "", GENERATED, "")
    yield (
        f"What Intel's compiler (ocloc, IGC 1.0.12504) makes of the mathematical functions for "
        f"{device}, run by visim and compared with mpmath on {datetime.date.today():%Y-%m-%d}: the "
        f"greatest error in units in the last place (ULP) of about {count} random points a "
        "function, biased to special bit patterns, and of special values. "
        "*Limit* is what OpenCL C 3.0 (7.4) "
        "and cl_khr_fp16 allow. The errors are those of the library that the compiler links, "
        "computed with visim's [instructions](numerics.md)."
    )
    yield ""
    yield (
        "Correctly rounded results have an error of at most 0.5. NaN, infinities and numbers are "
        "where the special cases of OpenCL have them unless a note below the table says otherwise; "
        "signs of zeros are not compared. *Denormals* is the error where an argument or the exact "
        "result is a denormal number. What is **beyond** its limit is so in the compiler's library "
        "([spec-notes.md](spec-notes-compiler.md#bugs-of-the-compiler))."
    )
    yield ""
    yield f"The tables: {', '.join(f'[{kind}](builtins-{kind}.md)' for kind in KINDS)}."


def _table(found: Sequence[Measured]) -> Iterator[str]:
    yield ""
    yield "| Function | Error | Limit | Where the error is greatest | Denormals |"
    yield "| --- | --- | --- | --- | --- |"
    for one in found:
        where = ", ".join(f"{value!r}" for value in one.worst)
        error = _number(one.error) + ("" if one.is_within else " **beyond**")
        yield (
            f"| `{one.function.name}` | {error} | {_limit(one.limit)} | {where} | "
            f"{_number(one.denormals)} |"
        )
    for one in found:
        if one.wrong:
            shown = "; ".join(
                ", ".join(map(repr, arguments)) for arguments in one.wrong[:SHOWN_WRONG]
            )
            more = (
                f" and {len(one.wrong) - SHOWN_WRONG} more" if len(one.wrong) > SHOWN_WRONG else ""
            )
            yield ""
            yield f"`{one.function.name}`: another special value than expected at {shown}{more}."


def _number(value: float) -> str:
    if math.isinf(value):
        return "other special value"
    return f"{value:.3g}" if value else "0"


def _limit(limit: float | None) -> str:
    if limit == FREE:
        return "implementation-defined"
    return "correctly rounded" if limit == ROUNDED else f"{limit:g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
