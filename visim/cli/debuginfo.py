"""`visim info --debug`: vISA debug files, and the source lines of programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from visim.binary.debuginfo import MAX_BYTES, is_debug_information, read_debug_information
from visim.cli.files import name_of, read_source
from visim.cli.info import make_console, make_table

Facts = Mapping[str, Any]


def debug_facts(file: str, platform: str | None) -> dict[str, Any]:
    """Return what is known of `file`, in the form that `visim info --debug --json` prints.

    Raises:
        InputError: the file is damaged, or neither debug information nor a program.
    """
    import visim

    source = read_source(file)
    data = source if isinstance(source, bytes) else _beginning(file)
    if is_debug_information(data):
        objects = read_debug_information(data, name_of(file))
        return {"format": "vISA debug information", "objects": [asdict(item) for item in objects]}
    lines = visim.load(source, platform=platform).source_lines()
    return {"format": "source lines", "objects": lines}


def _beginning(file: str) -> bytes:
    """Return as much of a file as can be debug information, and a byte more."""
    with Path(file).open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def show_debug_facts(facts: Facts) -> None:
    """Print what `debug_facts` found."""
    console = make_console()
    console.print(Text(facts["format"]))
    show = _show_object if "debug" in facts["format"] else _show_lines
    for item in facts["objects"]:
        show(console, item)


def _show_lines(console: Console, item: Facts) -> None:
    console.print(Text(f"\n{item['name']}", "bold"))
    if not item["lines"]:
        console.print(Text("no FILE and LOC directives"))
        return
    rows = [(f"{e['file']}:{e['line']}", _range(e["first"], e["last"])) for e in item["lines"]]
    _show_table(console, ("source", "instructions"), rows)


def _show_object(console: Console, item: Facts) -> None:
    console.print(Text(f"\n{item['name']}: Gen code from byte {item['code_offset']}", "bold"))
    for what, key in (("byte of the object", "by_offset"), ("instruction", "by_index")):
        rows = [(str(entry["visa"]), str(entry["gen_offset"])) for entry in item[key]]
        if rows:
            _show_table(console, (what, "Gen byte"), rows)
    variables = [(v["name"], _intervals(v["intervals"])) for v in item["variables"]]
    if variables:
        _show_table(console, ("variable", "where, while instructions"), variables)
    for sub in item["subroutines"]:
        where = _intervals(sub["return_address"]) or "nowhere"
        span = f"instructions {_range(sub['start'], sub['end'])}"
        console.print(Text(f"subroutine {sub['name']}: {span}, return address {where}"))
    _show_frame(console, item["frame"])


def _show_frame(console: Console, frame: Facts) -> None:
    console.print(Text(f"frame of {frame['size']} bytes"))
    for what in ("frame_pointer", "callers_frame_pointer", "return_address"):
        if frame[what] is not None:
            console.print(Text(f"  {what.replace('_', ' ')}: {_intervals(frame[what])}"))
    if frame["ce_offset"] is not None:
        where = f"frame + {frame['ce_offset']}, from Gen byte {frame['ce_stored_at']}"
        console.print(Text(f"  channel enables: {where}"))
    for what in ("callee_saved", "caller_saved"):
        rows = [(str(entry["gen_offset"]), _saved(entry["registers"])) for entry in frame[what]]
        if rows:
            _show_table(console, ("from Gen byte", what.replace("_", " ")), rows)


def _saved(registers: Iterable[Facts]) -> str:
    return ", ".join(
        f"bytes {_range(entry['start'], entry['start'] + entry['size'] - 1)}"
        f" in {_place(entry['place'])}"
        for entry in registers
    )


def _show_table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = make_table(*columns)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _intervals(intervals: Iterable[Facts]) -> str:
    return ", ".join(
        f"{_place(entry['place'])} in {_range(entry['start'], entry['end'])}" for entry in intervals
    )


def _place(place: Facts) -> str:
    letter = {"address": "a", "flag": "f", "general": "r"}.get(place["file"])
    if letter is not None:
        return f"{letter}{place['register']}.{place['sub']}"
    base = "scratch" if place["absolute"] else "frame"
    return f"{base} {place['offset']:+d}"
