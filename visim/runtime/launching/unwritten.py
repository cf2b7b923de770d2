"""What the report of a launch notes about variables that nothing writes: code that was lost."""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.unwritten import unwritten_reads
from visim.linker import LinkedKernel
from visim.module import Unit


def unwritten_notes(linked: LinkedKernel) -> tuple[str, ...]:
    """Return a sentence for the kernel, and each function, that reads what nothing writes.

    A kernel is linked with functions if it calls any: a call by address may go to each of them.
    """
    kernel, *functions = (one.unit for one in linked.units)
    notes = list(_notes(kernel, "the kernel"))
    notes += [note for one in functions for note in _notes(one, f"function {one.name!r}")]
    return tuple(notes)


def _notes(unit: Unit, what: str) -> Iterator[str]:
    reads = unwritten_reads(unit)
    if not reads:
        return
    first, more = reads[0], len(reads) - 1
    where = "" if first.line is None else f" ({first.line})"
    others = f" (and {more} more)" if more else ""
    yield (
        f"{what} reads {first.variable.name}{where}{others}, which nothing writes: 0 here, "
        "anything on a device; its compiler may have lost code (visim check --explain "
        "unwritten-variable)"
    )
