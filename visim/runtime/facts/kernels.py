"""Facts about kernels and functions in the form that `visim info --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import groupby
from operator import itemgetter
from typing import Any

from visim.binary.zebin import ZeKernel
from visim.check.flow import BARRIERS
from visim.isa import Unexecutable, trace
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.module import Unit
from visim.target import PLATFORMS, Platform

_MARKS = (LabelMark, SubroutineMark, FileMark, LineMark)
_SYMBOLS = ("generals", "addresses", "predicates", "samplers", "surfaces")


def declared(unit: Unit) -> dict[str, Any]:
    """Return what a unit declares: numbers of symbols, its inputs, its attributes."""
    symbols = {name: len(getattr(unit, name)) for name in _SYMBOLS}
    symbols["labels"] = sum(isinstance(item, LabelMark) for item in unit.body)
    symbols["subroutines"] = sum(isinstance(item, SubroutineMark) for item in unit.body)
    inputs = [
        {
            "name": entry.variable.name,
            "kind": entry.kind,
            "offset": entry.offset,
            "size": entry.size,
        }
        for entry in unit.inputs
    ]
    attributes = {attribute.name: attribute.value for attribute in unit.attributes}
    return {"symbols": symbols, "inputs": inputs, "attributes": attributes}


def abi(metadata: ZeKernel) -> dict[str, Any]:
    """Return what a zebin says of a kernel's launch: what differs from a key's default."""
    environment = metadata.execution_env
    stated = {
        entry.name: getattr(environment, entry.name)
        for entry in fields(environment)
        if getattr(environment, entry.name) != entry.default
    }
    return {
        "execution_env": stated,
        "payload": [asdict(piece) for piece in metadata.payload],
        "per_thread_payload": [asdict(piece) for piece in metadata.per_thread_payload],
        "binding_table": [asdict(entry) for entry in metadata.binding_table],
        "per_thread_memory": [asdict(entry) for entry in metadata.per_thread_memory],
    }


def barriers(unit: Unit) -> int:
    """Return how many barriers a unit has."""
    return sum(item.op.mnemonic in BARRIERS for item in unit.body)


def line_ranges(unit: Unit) -> list[dict[str, Any]]:
    """Return the runs of instructions that have one source line, in their order."""
    found: list[dict[str, Any]] = []
    for source, run in groupby(enumerate(unit.source_lines()), key=itemgetter(1)):
        if source is not None:
            numbers = [number for number, _ in run if not isinstance(unit.body[number], _MARKS)]
            if numbers:
                entry = {"file": source.file, "line": source.line}
                found.append({**entry, "first": numbers[0], "last": numbers[-1]})
    return found


def body(unit: Unit, platform: Platform | None) -> dict[str, Any]:
    """Return how many instructions of which kind a unit has, and which cannot be executed."""
    items = [item for item in unit.body if not isinstance(item, _MARKS)]
    opcodes = Counter(item.op.mnemonic for item in items)
    return {
        "instructions": len(items),
        "opcodes": dict(sorted(opcodes.items())),
        **_exceptions(items, platform),
    }


def _exceptions(items: Sequence[Instruction], platform: Platform | None) -> dict[str, Any]:
    """Return what visim cannot execute, and what the JIT leaves to the interpreter's code.

    Each kind of instruction is listed once, with its first line. Where the platform is not known,
    what holds on any of them counts.
    """
    from visim.engine.jit.analysis.callouts import reasons

    platforms = PLATFORMS if platform is None else (platform,)
    not_executable: dict[tuple[str, str], dict[str, Any]] = {}
    called_out: dict[tuple[str, str], dict[str, Any]] = {}
    for item in items:
        mnemonic, line = item.op.mnemonic, getattr(item.origin, "line", None)
        for target in platforms:
            try:
                effects = trace(item, target)
            except Unexecutable as error:
                kinds, told = not_executable, [str(error)]
            else:
                kinds, told = called_out, list(reasons(effects))
            for reason in told:
                entry = {"mnemonic": mnemonic, "reason": reason, "line": line}
                kinds.setdefault((mnemonic, reason), entry)
    return {
        "not_executable": list(not_executable.values()),
        "called_out": list(called_out.values()),
    }
