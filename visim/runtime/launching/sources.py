"""From faults to the lines of the program that a compiler translated (FILE and LOC)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from visim.engine.faults import place_of
from visim.errors import Fault
from visim.module import Unit
from visim.runtime.sourcetexts import SourceTexts


def with_source_line(fault: Fault, units: Iterable[Unit], texts: SourceTexts) -> Fault:
    """Return `fault` with the source line of its instruction, where the units have one for it."""
    place = (fault.file, fault.line, fault.offset)
    if fault.line is None and fault.offset is None:
        return fault
    for unit in units:
        for item, source in zip(unit.body, unit.source_lines(), strict=True):
            if source is not None and place_of(item) == place:
                text = texts.text(source)
                named = {"source_file": source.file, "source_line": source.line}
                return replace(fault, **named, source_text=text)
    return fault
