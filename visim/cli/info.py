"""`visim info` and `visim doctor`: facts as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from visim.diag import visible

if TYPE_CHECKING:
    from visim.runtime.doctor import Finding
    from visim.runtime.facts.coverage import Coverage

_MARKS = {"ok": "green", "missing": "yellow", "broken": "red"}


def show_info(info: Mapping[str, Any]) -> None:
    """Print what `Program.info()` says of a program."""
    console = make_console()
    head = [f"{key} {info[key]}" for key in ("format", "version", "platform") if info.get(key)]
    console.print(_line(", ".join(head) or "no facts about the file"))
    for kernel in info.get("kernels", ()):
        _show_kernel(console, kernel)
    for what, entries in (
        ("functions", [_with_linkage(item) for item in info.get("functions", ())]),
        ("variables of file scope", [_with_linkage(item) for item in info.get("variables", ())]),
        ("external functions", list(info.get("externals", ()))),
    ):
        if entries:
            console.print(_line(f"\n{what}: " + ", ".join(entries)))


def _line(text: str, style: str = "") -> Text:
    """Return text that may have names out of a file in it."""
    return Text(visible(text), style)


def _with_linkage(item: Mapping[str, Any]) -> str:
    """Return a name, with its linkage where that is no matter of course."""
    linkage = item.get("linkage", "global")
    return item["name"] if linkage == "global" else f"{item['name']} ({linkage})"


def show_findings(findings: Sequence[Finding]) -> None:
    """Print what doctor found, with what to do about what is missing."""
    table = make_table("", "what", "found", "needed for")
    for finding in findings:
        state = Text(str(finding.state), _MARKS.get(str(finding.state), ""))
        table.add_row(state, *(Text(t) for t in (finding.name, finding.detail, finding.purpose)))
    console = make_console()
    console.print(table)
    for finding in findings:
        if finding.help:
            console.print(Text(f"{finding.name}: {finding.help}"))


def show_instructions(entries: Sequence[Coverage]) -> None:
    """Print which engines execute each instruction, and why others do not."""
    table = make_table("instruction", "opcode", "engines", "otherwise")
    for entry in entries:
        sub = "" if entry.op.sub is None else f".{entry.op.sub:02x}"
        cells = (
            entry.op.mnemonic,
            f"0x{entry.op.code:02x}{sub}",
            ", ".join(entry.engines) or "none",
            entry.reason or "",
        )
        table.add_row(*(Text(cell) for cell in cells))
    make_console().print(table)


def _show_kernel(console: Console, kernel: Mapping[str, Any]) -> None:
    facts = (
        ("SIMD{}", kernel.get("simd_size")),
        ("{} bytes of SLM", kernel.get("slm_size")),
        ("{} barriers", kernel.get("barriers")),
        ("{} instructions", kernel.get("instructions")),
    )
    known = [what.format(value) for what, value in facts if value]
    console.print(_line(f"\nkernel {kernel['name']}: " + ", ".join(known), "bold"))
    if kernel.get("args"):
        console.print(_arguments_table(kernel["args"]))
    for line in _declaration_lines(kernel):
        console.print(_line(line))
    opcodes: Mapping[str, int] = kernel.get("opcodes") or {}
    if opcodes:
        by_count = sorted(opcodes.items(), key=lambda item: (-item[1], item[0]))
        console.print(Text("opcodes: " + ", ".join(f"{name} {count}" for name, count in by_count)))
    for what in kernel.get("not_executable") or ():
        place = f" (line {what['line']})" if what.get("line") else ""
        text = f"not executable: {what['mnemonic']}{place}: {what['reason']}"
        console.print(_line(text, "red"))
    for what in kernel.get("called_out") or ():
        place = f" (line {what['line']})" if what.get("line") else ""
        console.print(_line(f"called out by the JIT: {what['mnemonic']}{place}: {what['reason']}"))


def _declaration_lines(kernel: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a kernel declares and what its metadata says, one topic a line."""
    counts: Mapping[str, int] = kernel.get("symbols") or {}
    symbols = {what: count for what, count in counts.items() if count}
    if symbols:
        yield "symbols: " + ", ".join(f"{what} {count}" for what, count in symbols.items())
    given: Sequence[Mapping[str, Any]] = kernel.get("inputs") or ()
    inputs = [
        f"{entry['name']} {entry['size']} at {entry['offset']}"
        + ("" if entry["kind"] == "explicit" else f" ({entry['kind']})")
        for entry in given
    ]
    if inputs:
        yield "inputs (bytes at byte of the registers): " + ", ".join(inputs)
    attributes: Mapping[str, Any] = kernel.get("attributes") or {}
    if attributes:
        yield "attributes: " + ", ".join(
            name if value is None else f"{name}={value}" for name, value in attributes.items()
        )
    abi: Mapping[str, Any] = kernel.get("abi") or {}
    stated: Mapping[str, Any] = abi.get("execution_env") or {}
    if stated:
        yield "metadata: " + ", ".join(f"{key} {value}" for key, value in stated.items())


def _arguments_table(arguments: Sequence[Mapping[str, Any]]) -> Table:
    table = make_table("", "argument", "kind", "type", "bytes")
    for index, argument in enumerate(arguments):
        size = argument.get("size")
        row = (
            str(index),
            str(argument["name"]),
            str(argument["kind"]),
            str(argument.get("type_name") or ""),
            "" if size is None else str(size),
        )
        table.add_row(*(_line(cell) for cell in row))
    return table


def make_table(*columns: str) -> Table:
    """Return an empty table without frames."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def make_console() -> Console:
    """Return the console on the standard output."""
    # A file or pipe has no width; 80 columns would fold long names in it.
    return Console() if sys.stdout.isatty() else Console(width=200)
