"""The reference of instructions and the page of coverage, made from the declarations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tools.paging import Entry, anchor, in_parts, numbered, title
from visim.isa.codecs import CodedKind
from visim.isa.execution_kinds import PredicationKind
from visim.isa.flow_kinds import JumpTableKind, LifetimeKind
from visim.isa.kinds import DestinationKind, SourceKind, UnregionedSourceKind
from visim.isa.name_kinds import NameKind, StringKind
from visim.isa.operand_types import Modifiers, Saturation
from visim.isa.raw_kinds import RawKind, RawListKind, SamplerKind, SurfaceKind
from visim.isa.registry import Op, kinds_of, template_of
from visim.runtime.facts.coverage import INTERPRETER, JIT, Coverage, coverage
from visim.sem.render import render

GENERATED = "<!-- Made by `python -m tools.generate_docs`; change the declarations instead. -->"
_FIELD = re.compile(r"\{(\w+)\}")
_PIECE = re.compile(r"\{([^}]+)\}")
_SATURATES = {
    Saturation.YES: "saturation",
    Saturation.FLOAT_ONLY: "saturation of floats",
    Saturation.NO: "no saturation",
}
_MODIFIERS = {
    Modifiers.ARITHMETIC: "modifiers (abs), (-), (-abs)",
    Modifiers.LOGIC: "modifier (~)",
    Modifiers.NONE: "no modifiers",
}
#: How an operand is stored where it is not a number of its own width.
_STORED = {
    SourceKind: "vector",
    DestinationKind: "vector",
    UnregionedSourceKind: "vector",
    RawKind: "raw",
    RawListKind: "count and raws",
    PredicationKind: "uw",
    NameKind: "uw",
    StringKind: "ud",
    SurfaceKind: "ub",
    SamplerKind: "ub",
    JumpTableKind: "count, vector and labels",
    LifetimeKind: "ub and ud",
}
_NUMBERS = {1: "ub", 2: "uw", 4: "ud", 8: "uq"}
_LONGEST_LINE = 160


def syntax(op: Op) -> str:
    """Return how an instruction is written; brackets stand around what may be left out."""
    text, _ = template_of(op.form)

    def shown(match: re.Match[str]) -> str:
        special = {"op": op.mnemonic, "sat": "[.sat]", "pred": "[(P)] "}
        return special.get(match.group(1), f"<{match.group(1)}>")

    return _FIELD.sub(shown, text)


def binary(op: Op) -> str:
    """Return the pieces of an instruction in an object, separated by blanks."""
    _, layout = template_of(op.form)
    sub = "" if op.sub is None else f"0x{op.sub:02x}"

    def shown(match: re.Match[str]) -> str:
        parts = [sub if part == "sub" else part for part in match.group(1).split("|")]
        return "|".join(parts)

    return f"0x{op.code:02x} {_PIECE.sub(shown, layout)}".rstrip()


def stored(op: Op) -> str:
    """Return how each field of an instruction is stored that stands in bytes of its own."""
    _, layout = template_of(op.form)
    kinds = kinds_of(op.form)
    fields = [name for name in _PIECE.findall(layout) if name in kinds]
    known = [(name, _stored(kinds[name])) for name in dict.fromkeys(fields)]
    return ", ".join(f"{name} {how}" for name, how in known if how)


def _stored(kind: Any) -> str:
    if isinstance(kind, CodedKind):
        return _NUMBERS[kind.width]
    return next((how for base, how in _STORED.items() if isinstance(kind, base)), "")


def worth(op: Op) -> str:
    """Return what an instruction's results are worth."""
    if op.float_exactness is not None:
        return f"{op.exactness}; floats: {op.float_exactness}"
    return str(op.exactness)


def instructions_page() -> Iterator[str]:
    """Return the lines of docs/instructions.md: how entries are read, and where each is."""
    yield "# Instructions"
    yield ""
    yield GENERATED
    yield ""
    yield (
        "Every instruction that visim reads, writes and verifies, by group. *Object* has the bytes "
        "of a binary object: the opcode, then the fields; `a&m|b&n` are fields that share a byte. "
        "*Stored* says how: numbers by their type, `vector` and `raw` operands as chapter 5 has "
        "them. *Meaning* is what the engines execute for the first example, with `t1`, `t2`, ... "
        "for values that are used twice and `m1`, `m2`, ... for messages. *Worth* says how exact "
        "results are ([fidelity.md](fidelity.md)), *Executed by* which engine takes it "
        "([coverage.md](coverage.md))."
    )
    yield ""
    yield "| Group | Instructions |"
    yield "| --- | --- |"
    for category, parts in _parts().items():
        names = ", ".join(
            f"[`{entry.name}`](instructions/{file}#{anchor(entry.name)})"
            for file, part in numbered(_slug(category), parts)
            for entry in part
        )
        yield f"| {category.capitalize()} | {names} |"


def group_pages() -> Iterator[tuple[str, list[str]]]:
    """Yield the names and lines of the pages in docs/instructions."""
    for category, parts in _parts().items():
        for file, part in numbered(_slug(category), parts):
            lines = [title(category.capitalize(), part, len(parts)), "", GENERATED, ""]
            lines.append("How entries are read: [Instructions](../instructions.md).")
            for entry in part:
                lines += ["", *entry.lines]
            yield file, lines


def _parts() -> dict[str, list[list[Entry]]]:
    """Return the entries of each group, in the parts that become pages."""
    return {
        category: in_parts([Entry(one.op.mnemonic, tuple(_instruction(one))) for one in entries])
        for category, entries in _groups().items()
    }


def _groups() -> dict[str, list[Coverage]]:
    groups: dict[str, list[Coverage]] = {}
    for entry in coverage():
        groups.setdefault(entry.op.category.value, []).append(entry)
    return groups


def _slug(category: str) -> str:
    return category.lower().replace(" ", "-")


def _instruction(entry: Coverage) -> Iterator[str]:
    op = entry.op
    yield f"## {op.mnemonic}"
    yield ""
    yield inspect.cleandoc(op.doc)
    yield ""
    yield "```text"
    yield syntax(op)
    yield from op.examples
    yield "```"
    yield ""
    yield f"- Page: {op.page}. Object: `{binary(op)}`"
    if how := stored(op):
        yield f"- Stored: {how}"
    yield f"- Devices: {_devices(op)}"
    if _has_vectors(op):
        rows = "; ".join(str(row) for row in op.operands.types)
        around = f"{_SATURATES[op.operands.saturates]}, {_MODIFIERS[op.operands.modifiers]}"
        yield f"- Types: {rows}; {around}"
    if rule := inspect.getdoc(op.restrict):
        yield f"- Rule: {' '.join(rule.split())}"
    if op.reason is not None:
        yield f"- Not executed: {op.reason}"
        return
    yield f"- Executed by: {', '.join(entry.engines) or 'none'}. Worth: {worth(op)}"
    if entry.effects:
        yield "- Meaning:"
        yield ""
        yield from (f"      {_cut(line)}" for line in render(entry.effects))


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..."


def _devices(op: Op) -> str:
    names = ", ".join(op.devices) or "none that visim knows"
    major, minor = op.version
    return f"{names}; objects of version {major}.{minor} and later"


def _has_vectors(op: Op) -> bool:
    text, _ = template_of(op.form)
    return bool(op.operands.types) and "{dst}" in text


def coverage_page() -> Iterator[str]:
    """Return the lines of docs/coverage.md."""
    found = coverage()
    yield "# Coverage"
    yield ""
    yield GENERATED
    yield ""
    yield (
        f"visim reads {len(found)} instructions from text and objects, writes and verifies them. "
        "Most of them are executed; reaching another one stops the run as unsupported, with the "
        "reason. What an engine executes was found by giving it the first example of the "
        "instruction; other types or options may be refused when they are met. The pages of "
        "[instructions](instructions.md) say it of each; `visim info --instructions` prints it, "
        "for programs with `--json`."
    )
    yield ""
    yield f"| Group | Instructions | {' | '.join(_ENGINES.values())} |"
    yield f"| --- | ---: |{' ---: |' * len(_ENGINES)}"
    groups = _groups()
    for category, entries in groups.items():
        yield _counts(category.capitalize(), entries)
    yield _counts("All", found)
    yield ""
    yield "## Not executed"
    yield ""
    yield "| Instruction | Opcode | Not executed by | Why |"
    yield "| --- | --- | --- | --- |"
    for entry in found:
        missing = [name for engine, name in _ENGINES.items() if engine not in entry.engines]
        if missing:
            yield _row(entry, missing)


_ENGINES = {INTERPRETER: "Interpreter", JIT: "JIT"}


def _counts(name: str, entries: Sequence[Coverage]) -> str:
    counts = [len(entries), *(sum(one in entry.engines for entry in entries) for one in _ENGINES)]
    return f"| {name} | {' | '.join(map(str, counts))} |"


def _row(entry: Coverage, missing: Sequence[str]) -> str:
    op = entry.op
    sub = "" if op.sub is None else f".{op.sub:02x}"
    who = "either" if len(missing) == len(_ENGINES) else missing[0]
    return f"| `{op.mnemonic}` | 0x{op.code:02x}{sub} | {who} | {entry.reason or ''} |"
