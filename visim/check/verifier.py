"""The verifier: passes over a module that find what no run could give a meaning.

Order: inputs, labels and ends of units, then each instruction by the rules. Nothing here stops
at the first finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from visim.check.rules import RULES, site
from visim.diag import Diagnostic, Diagnostics, Severity
from visim.isa.flow import Branch, SwitchJump
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import named_labels
from visim.module import Module, Unit, UnitKind
from visim.target import Platform

ENDINGS = {"ret", "fret", "goto", "jmp", "switchjmp"}


def verify_module(module: Module, platform: Platform | None) -> Diagnostics:
    """Return all findings about a module.

    Args:
        module: What was read.
        platform: The device it is for; None leaves out what depends on the register size.
    """
    diagnostics = Diagnostics()
    for unit in module.units:
        diagnostics.extend(_inputs(unit))
        diagnostics.extend(_flow(unit))
        for instruction in unit.body:
            at = site(instruction, platform)
            for rule in RULES:
                diagnostics.extend(rule(at))
    return diagnostics


def _inputs(unit: Unit) -> Iterator[Diagnostic]:
    """Inputs do not overlap in the register file."""
    placed = sorted((entry for entry in unit.inputs if entry.size), key=lambda entry: entry.offset)
    for before, after in pairwise(placed):
        if before.offset + before.size > after.offset:
            message = f"input {after.variable.name} overlaps input {before.variable.name}"
            yield Diagnostic(
                "input-overlap",
                Severity.ERROR,
                message,
                after.origin,
                rule="vISA 4, Input Variables",
            )


def _flow(unit: Unit) -> Iterator[Diagnostic]:
    """Branches go to block labels, and calls to subroutines."""
    blocks = {item.name for item in unit.body if isinstance(item, LabelMark)}
    subroutines = {item.name for item in unit.body if isinstance(item, SubroutineMark)}
    for item in unit.body:
        if not isinstance(item, Branch | SwitchJump):
            continue
        is_call = item.op.mnemonic == "call"
        wrong = blocks - subroutines if is_call else subroutines - blocks
        for label in (name for name in named_labels(item) if name in wrong):
            wanted = "a subroutine" if is_call else "a block label of the same subroutine"
            message = f"{item.op.mnemonic} to {label}, which is not {wanted}"
            yield Diagnostic(
                "label-kind", Severity.ERROR, message, item.origin, rule="vISA 6, control flow"
            )
    yield from _ending(unit)


def _ending(unit: Unit) -> Iterator[Diagnostic]:
    """Control does not run off the end; marks there count only if a branch goes to them.

    IGC leaves the labels of blocks that it removed behind the last return.
    """
    targets = {
        label
        for item in unit.body
        if isinstance(item, Branch | SwitchJump)
        for label in named_labels(item)
    }
    last = None
    for item in reversed(unit.body):
        last = last or item
        if isinstance(item, FileMark | LineMark):
            continue
        if isinstance(item, LabelMark) and item.name not in targets:
            continue
        if item.op.mnemonic in ENDINGS:
            return
        break
    what = "kernel" if unit.kind is UnitKind.KERNEL else "function"
    message = f"control runs off the end of {what} {unit.name!r}"
    origin = last.origin if last is not None else unit.origin
    yield Diagnostic("no-return", Severity.ERROR, message, origin, help="end it with ret or fret")
