"""The rules for one instruction's operands (specification 3 and 5, and errata).

Each rule is a function from an instruction to its findings. What real compilers break although
the pages state it (region rule 6, for one) is not a rule here; see docs/spec-notes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from visim.diag import Diagnostic, Severity
from visim.isa import Instruction
from visim.isa.operand_types import Modifiers, Saturation
from visim.isa.registry import schema_of
from visim.operands import (
    AddressOperand,
    Combine,
    ExecSize,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    Modifier,
    PredicateOperand,
    Predication,
    RawOperand,
    Region,
)
from visim.sem.tracer import destination_type, source_type
from visim.target import Platform
from visim.types import DataType

CHANNELS = 32
WIDTHS = (1, 2, 4, 8, 16)
VERTICAL = (0, 1, 2, 4, 8, 16, 32)
HORIZONTAL = (0, 1, 2, 4)
_MODIFIERS = {
    Modifiers.ARITHMETIC: {Modifier.NONE, Modifier.ABS, Modifier.NEG, Modifier.NEG_ABS},
    Modifiers.LOGIC: {Modifier.NONE, Modifier.NOT},
    Modifiers.NONE: {Modifier.NONE},
}


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction, its operands by field name, and the device it is for (None: any)."""

    instruction: Instruction
    operands: tuple[tuple[str, object], ...]
    platform: Platform | None

    def error(self, code: str, message: str, rule: str, help: str | None = None) -> Diagnostic:  # noqa: A002
        """Return an error about the instruction."""
        origin = self.instruction.origin
        return Diagnostic(code, Severity.ERROR, message, origin, None, help, rule)

    @property
    def exec_size(self) -> ExecSize | None:
        """The execution size, for forms that have one."""
        found = getattr(self.instruction, "exec", None)
        return found if isinstance(found, ExecSize) else None


def site(instruction: Instruction, platform: Platform | None) -> Site:
    """Return the site of an instruction."""
    fields = schema_of(type(instruction)).fields
    operands = tuple((entry.name, getattr(instruction, entry.name)) for entry in fields)
    return Site(instruction, operands, platform)


Rule = Callable[[Site], Iterator[Diagnostic]]


def mask_offset(at: Site) -> Iterator[Diagnostic]:
    """The channels of an instruction end at channel 32, and start at a multiple of its size."""
    size = at.exec_size
    if size is None:
        return
    rule = "vISA 3, Execution Mask"
    if size.offset + size.size > CHANNELS:
        text = f"{size} covers channels {size.offset} to {size.offset + size.size - 1}, of 0 to 31"
        yield at.error("mask-beyond-channels", text, rule, "use a smaller mask offset")
    elif size.offset % min(size.size, 16):
        text = f"{size} starts at channel {size.offset}, not at a multiple of {size.size}"
        yield at.error("mask-unaligned", text, rule)


def regions(at: Site) -> Iterator[Diagnostic]:
    """Region parameters have the few legal values, and a width fits the execution size."""
    for name, operand in at.operands:
        if isinstance(operand, GeneralSource | IndirectSource):
            yield from _region(at, name, operand.region)
        elif isinstance(operand, GeneralDestination | IndirectDestination):
            if operand.stride == 0:
                text = f"{name} has stride 0: every channel would write the same element"
                rule = "vISA 5, region restriction 5"
                yield at.error("destination-stride-zero", text, rule, "use <1>")
            elif operand.stride not in HORIZONTAL:
                text = f"stride {operand.stride} of {name} is not one of 1, 2, 4"
                yield at.error("region-value", text, "vISA 5, region restriction 3")


def _region(at: Site, name: str, region: Region) -> Iterator[Diagnostic]:
    checks = (
        ("width", region.w, WIDTHS, 1),
        ("vertical stride", region.v, VERTICAL, 2),
        ("horizontal stride", region.h, HORIZONTAL, 3),
    )
    for what, value, legal, number in checks:
        if value is not None and value not in legal:
            text = f"{what} {value} of {name} is not one of {', '.join(map(str, legal))}"
            yield at.error("region-value", text, f"vISA 5, region restriction {number}")
    size = at.exec_size
    if size is not None and region.w > size.size and region.w in WIDTHS and region.h:
        text = f"{name} has width {region.w}, more than the execution size {size.size}"
        yield at.error("region-width", text, "vISA 5, region restriction 4")


def modifiers(at: Site) -> Iterator[Diagnostic]:
    """An instruction has the source modifiers that its declaration names."""
    op = at.instruction.op
    legal = _MODIFIERS[op.operands.modifiers]
    for name, operand in at.operands:
        modifier = getattr(operand, "modifier", Modifier.NONE)
        if modifier not in legal:
            text = f"{name} of {op.mnemonic} cannot have the modifier {modifier}"
            yield at.error("modifier", text, f"vISA 6, {op.page}, Source Modifier")


def types(at: Site) -> Iterator[Diagnostic]:
    """The types of an instruction's operands go together as its declaration says."""
    op = at.instruction.op
    kinds = [
        _operand_type(operand)
        for name, operand in at.operands
        if name.startswith("src") and not isinstance(operand, RawOperand)
    ]
    destination = _operand_type(getattr(at.instruction, "dst", None))
    if op.operands.accept(destination, kinds):
        return
    if op.operands.takes_floats and len({kind.is_float for kind in kinds if kind}) > 1:
        text = f"sources of {op.mnemonic} mix integers and floats"
        yield at.error("mixed-types", text, "vISA 2, Type Conversion", "convert with mov first")
        return
    into = "" if destination is None else f" into {destination!r}"
    found = ", ".join("any" if kind is None else repr(kind) for kind in kinds)
    text = f"{op.mnemonic} of {found}{into}: these types do not go together"
    legal = "; ".join(str(row) for row in op.operands.types)
    yield at.error("operand-type", text, f"vISA 6, {op.page}", f"it takes {legal}")


def _operand_type(operand: object) -> DataType | None:
    """Return the type that an operand contributes; None if it has none of its own."""
    match operand:
        case GeneralSource() | IndirectSource() | Immediate():
            return source_type(operand)
        case GeneralDestination() | IndirectDestination():
            return destination_type(operand)
        case _:
            return None


def saturation(at: Site) -> Iterator[Diagnostic]:
    """A destination saturates where the instruction's declaration says so."""
    op, destination = at.instruction.op, getattr(at.instruction, "dst", None)
    if not getattr(destination, "saturate", False):
        return
    kind = _operand_type(destination)
    match op.operands.saturates:
        case Saturation.NO:
            text = f"{op.mnemonic} cannot saturate"
        case Saturation.FLOAT_ONLY if kind is not None and not kind.is_float:
            text = f"{op.mnemonic} of integers cannot saturate"
        case _:
            return
    yield at.error("saturation", text, f"vISA 6, {op.page}, Saturation", "leave out .sat")


def restrictions(at: Site) -> Iterator[Diagnostic]:
    """What else an instruction's declaration asks for."""
    op = at.instruction.op
    wrong = op.restrict(at.instruction, at.platform) if op.restrict else None
    if wrong is not None:
        yield at.error("restriction", f"{op.mnemonic}: {wrong}", f"vISA 6, {op.page}")


def predicates(at: Site) -> Iterator[Diagnostic]:
    """A predicate has a bit for each channel that asks for one."""
    size = at.exec_size
    if size is None:
        return
    needed = size.offset + size.size
    for name, operand in at.operands:
        if not isinstance(operand, Predication | PredicateOperand):
            continue
        if isinstance(operand, Predication) and (
            size.size == 1 or operand.combine is not Combine.NONE
        ):
            continue
        is_copied = at.instruction.op.mnemonic == "mov" and isinstance(operand, PredicateOperand)
        if is_copied or operand.variable.count >= needed:
            continue
        count = operand.variable.count
        text = f"{operand.variable.name} has {count} bits, {name} of {size} needs {needed}"
        yield at.error("predicate-size", text, "vISA 5, Predication")


def bounds(at: Site) -> Iterator[Diagnostic]:
    """A direct operand starts inside its variable."""
    for name, operand in at.operands:
        start = _start(operand, at.platform)
        if start is None:
            continue
        position, variable_name, size = start
        if position >= size:
            text = f"{name} starts at byte {position} of {variable_name}, which has {size} bytes"
            yield at.error("operand-out-of-bounds", text, "vISA 5, Region-based Addressing")


def _start(operand: object, platform: Platform | None) -> tuple[int, str, int] | None:
    match operand:
        case RawOperand(variable, offset) if not variable.is_predefined:
            return offset, variable.name, variable.bytes
        case GeneralSource(variable, row, col) | GeneralDestination(variable, row, col):
            if variable.is_predefined or variable.alias is not None or (row and platform is None):
                return None
            grf = platform.grf_bytes if platform else 0
            return row * grf + col * variable.type.bytes, variable.name, variable.bytes
        case AddressOperand(variable, element, _):
            return element * 4, variable.name, variable.count * 4
        case _:
            return None


RULES: tuple[Rule, ...] = (
    mask_offset,
    regions,
    modifiers,
    types,
    saturation,
    restrictions,
    predicates,
    bounds,
)
