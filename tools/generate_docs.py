"""Writes the pages of `docs/` that are made from declarations and tables.

    python -m tools.generate_docs            write the pages that `pages` lists
    python -m tools.generate_docs --check    tell whether they are what would be written

Whatever stands in these pages comes from `visim.isa`, the verifier's rules, the timing model and
the oracle's tools, and files of results; nothing is kept here but the headings.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools import benchmark_page, correlation, jit_pages, rule_pages
from tools.device_page import device_page
from tools.finalizer import page as finalizer_page
from tools.instruction_pages import GENERATED, coverage_page, group_pages, instructions_page
from visim.isa import ISA, Op
from visim.sem.exactness import Exactness
from visim.serve.tools import TOOLS

DOCS = Path(__file__).parents[1] / "docs"
_JIT = DOCS / "jit.md"
"""Written by hand but for one table, so it is read where it is, whatever folder others go to."""


def pages() -> dict[Path, str]:
    """Return the text of each generated page by its path."""
    return {
        **{DOCS / name: "\n".join(page) + "\n" for name, page in benchmark_page.pages()},
        DOCS / "devices.md": "\n".join(device_page()) + "\n",
        DOCS / "coverage.md": "\n".join(coverage_page()) + "\n",
        DOCS / "instructions.md": "\n".join(instructions_page()) + "\n",
        **{DOCS / "instructions" / name: "\n".join(page) + "\n" for name, page in group_pages()},
        DOCS / "jit.md": jit_pages.with_passes(_JIT.read_text(encoding="utf-8")),
        **{DOCS / name: "\n".join(page) + "\n" for name, page in jit_pages.modules_pages()},
        DOCS / "fidelity.md": "\n".join(_fidelity()) + "\n",
        **{DOCS / name: "\n\n".join(page) + "\n" for name, page in rule_pages.pages()},
        **{DOCS / name: "\n".join(page) + "\n" for name, page in correlation.pages()},
        **{DOCS / name: "\n".join(page) + "\n" for name, page in finalizer_page.pages()},
        DOCS / "schemas" / "oracle-requests.json": _requests(),
    }


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, prog="generate_docs")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if it would")
    is_check = parser.parse_args(arguments).check
    stale = [path for path, text in pages().items() if _read(path) != text]
    for path in stale:
        if is_check:
            sys.stderr.write(f"{path} is not current; run python -m tools.generate_docs\n")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(pages()[path], encoding="utf-8")
    return 1 if stale and is_check else 0


def _requests() -> str:
    """Return the JSON Schemas of what the oracle's tools take."""
    form = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the tools of visim serve and visim mcp take",
        "type": "object",
        "properties": {
            "tool": {"enum": list(TOOLS)},
            "arguments": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in TOOLS]},
        },
        "required": ["tool", "arguments"],
        "$defs": {
            tool.name: {"description": tool.purpose, **tool.schema} for tool in TOOLS.values()
        },
    }
    return json.dumps(form, indent=1) + "\n"


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _fidelity() -> Iterator[str]:
    executed = [op for op in ISA.ops if op.reason is None]
    yield "# Fidelity"
    yield ""
    yield GENERATED
    yield ""
    yield (
        "What the results of each instruction are worth. `report.fidelity` says the same of those "
        "that a run executed, with their counts; `require_exact=True` and `--require-exact` fail a "
        "run in which another than the first kind was executed. How the bounds were measured and "
        "in which order things are added is in [numerics.md](numerics.md)."
    )
    yield from _exact(executed)
    yield from _bounded(executed)
    yield from _chosen(executed)
    yield from _unexecuted(op for op in ISA.ops if op.reason is not None)


def _kinds(op: Op) -> Iterator[tuple[str, Exactness]]:
    """Return what results are worth, with the name under which a table has it."""
    if op.float_exactness is None:
        yield op.mnemonic, op.exactness
    else:
        yield f"{op.mnemonic} of integers", op.exactness
        yield f"{op.mnemonic} of floats", op.float_exactness


def _exact(ops: Iterable[Op]) -> Iterator[str]:
    names = [name for op in ops for name, worth in _kinds(op) if worth.is_exact]
    yield from ("", "## Exact", "")
    yield "Every bit follows from the specification (or, where it is silent, from"
    yield f"[spec-notes.md](spec-notes.md)): {', '.join(f'`{name}`' for name in names)}."


def _bounded(ops: Iterable[Op]) -> Iterator[str]:
    yield from ("", "## Within a bound", "")
    yield "| Instruction | Largest error | Method |"
    yield "| --- | --- | --- |"
    for name, worth in (entry for op in ops for entry in _kinds(op)):
        if worth.ulp is not None:
            yield f"| `{name}` | {worth.ulp} ULP of the correctly rounded result | {worth.note} |"


def _chosen(ops: Iterable[Op]) -> Iterator[str]:
    yield from ("", "## Implementation-defined", "")
    yield "The specification leaves open what a device does; visim does one of it."
    yield from ("", "| Instruction | What is chosen | Where it is explained |")
    yield "| --- | --- | --- |"
    for name, worth in (entry for op in ops for entry in _kinds(op)):
        if worth.choice:
            target = worth.link.removeprefix("docs/")
            yield f"| `{name}` | {worth.note} | [{worth.choice}]({target}) |"


def _unexecuted(ops: Iterable[Op]) -> Iterator[str]:
    yield from ("", "## Not executed", "")
    yield "These stop a run as unsupported when they are reached."
    yield from ("", "| Instruction | Reason |")
    yield "| --- | --- |"
    for op in ops:
        yield f"| `{op.mnemonic}` | {op.reason} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
