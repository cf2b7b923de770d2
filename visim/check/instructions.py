"""Rules for one instruction by itself: mask, types, modifiers, saturation, predicates."""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import Rules, Site, Wrong
from visim.diag import Severity
from visim.isa.execution_sizes import execution_sizes
from visim.isa.forms import Binary
from visim.isa.matrix import Dpas
from visim.isa.message_types import message_types
from visim.isa.operand_types import UNSIGNED, Modifiers, Saturation, shown
from visim.operands import (
    SCALAR,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    Modifier,
    PredicateOperand,
    Predication,
    RawOperand,
)
from visim.sem.tracer import destination_type, source_type
from visim.target import Platform
from visim.types import BF, DF, DataType

CHANNELS = 32
DEPTH_OF_DEVICES = 8
UPPER_HALF = 16
_DIVISIONS = ("div", "mod")
_MODIFIERS = {
    Modifiers.ARITHMETIC: {Modifier.NONE, Modifier.ABS, Modifier.NEG, Modifier.NEG_ABS},
    Modifiers.LOGIC: {Modifier.NONE, Modifier.NOT},
    Modifiers.NONE: {Modifier.NONE},
}
_MASK = "vISA 3, Execution Mask"

rules = Rules()


@rules.instruction(
    "mask-beyond-channels",
    _MASK,
    failing="mov (M8, 8) D(0,0)<1> 0x1:d",
    passing="mov (M7, 8) D(0,0)<1> 0x1:d",
)
def mask_beyond_channels(at: Site) -> Iterator[Wrong]:
    """The channels of an instruction end at channel 32: mask offset and execution size fit."""
    size = at.exec_size
    if size is not None and size.offset + size.size > CHANNELS:
        last = size.offset + size.size - 1
        text = f"{size} covers channels {size.offset} to {last}, of 0 to 31"
        yield Wrong(text, "use a smaller mask offset")


@rules.instruction(
    "mask-unaligned",
    _MASK,
    failing="mov (M2, 16) D(0,0)<1> 0x1:d",
    passing="mov (M5, 16) D(0,0)<1> 0x1:d",
)
def mask_unaligned(at: Site) -> Iterator[Wrong]:
    """The mask offset of an instruction is a multiple of its execution size."""
    size = at.exec_size
    if size is None or size.offset + size.size > CHANNELS:
        return
    if size.offset % min(size.size, 16):
        yield Wrong(f"{size} starts at channel {size.offset}, not at a multiple of {size.size}")


@rules.instruction(
    "modifier",
    "vISA 6, Source Modifier",
    failing="mov (M1, 8) D(0,0)<1> (~)D(2,0)<1;1,0>",
    passing="mov (M1, 8) D(0,0)<1> (-)D(2,0)<1;1,0>",
)
def modifiers(at: Site) -> Iterator[Wrong]:
    """An instruction takes the source modifiers that its page names.

    Arithmetic takes (-), (abs) and (-abs), logic takes (~), others take none.
    """
    op = at.instruction.op
    legal = _MODIFIERS[op.operands.modifiers]
    for name, operand in at.operands:
        modifier = getattr(operand, "modifier", Modifier.NONE)
        if modifier not in legal:
            text = f"{name} of {op.mnemonic} cannot have the modifier {modifier}"
            yield Wrong(text, passage=f"vISA 6, {op.page}, Source Modifier")


@rules.instruction(
    "mixed-types",
    "vISA 2, Type Conversion",
    failing="add (M1, 8) F(0,0)<1> F(2,0)<1;1,0> 0x1:d",
    passing="add (M1, 8) F(0,0)<1> F(2,0)<1;1,0> 0x3f800000:f",
)
def mixed_types(at: Site) -> Iterator[Wrong]:
    """The sources of an instruction are all integers or all floats."""
    if _mixes(at):
        text = f"sources of {at.instruction.op.mnemonic} mix integers and floats"
        yield Wrong(text, "convert with mov first")


@rules.instruction(
    "operand-type",
    "vISA 6, the instruction's page",
    failing="or (M1, 8) D(0,0)<1> F(2,0)<1;1,0> 0x1:d",
    passing="or (M1, 8) D(0,0)<1> UD(2,0)<1;1,0> 0x1:d",
)
def operand_types(at: Site) -> Iterator[Wrong]:
    """The types of an instruction's operands go together as its page says."""
    op = at.instruction.op
    destination, sources = _types(at)
    if op.operands.accept(destination, sources) or _mixes(at):
        return
    into = "" if destination is None else f" into {destination!r}"
    found = ", ".join("any" if kind is None else repr(kind) for kind in sources)
    text = f"{op.mnemonic} of {found}{into}: these types do not go together"
    legal = "; ".join(str(row) for row in op.operands.types)
    yield Wrong(text, f"it takes {legal}", passage=f"vISA 6, {op.page}")


@rules.instruction(
    "message-operand-type",
    "vISA 6, the instruction's page",
    severity=Severity.WARNING,
    failing="svm_gather.4.1 (M1, 8) UD.0 D.0",
    passing="svm_gather.4.1 (M1, 8) UQ.0 D.0",
)
def typed_messages(at: Site) -> Iterator[Wrong]:
    """The operands of a message have the types that its page names."""
    op = at.instruction.op
    for name, legal in message_types(op.page).items():
        operand = getattr(at.instruction, name, None)
        if isinstance(operand, RawOperand):
            kind = None if operand.is_null else operand.variable.type
        else:
            kind = operand_type(operand)
        if kind is not None and kind not in legal:
            text = f"{name} of {op.mnemonic} is {shown(legal)}, found {kind!r}"
            yield Wrong(text, passage=f"vISA 6, {op.page}")


@rules.instruction(
    "page-types",
    "vISA 6, the instruction's page",
    severity=Severity.NOTE,
    failing="shr (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d",
    passing="shr (M1, 8) UD(0,0)<1> UD(0,0)<1;1,0> 0x1:d",
)
def page_types(at: Site) -> Iterator[Wrong]:
    """The types are those of the instruction's page, where compilers use others as well."""
    op = at.instruction.op
    destination, sources = _types(at)
    asked = op.operands.asked
    if not asked or any(row.accepts(destination, sources) for row in asked):
        return
    legal = "; ".join(str(row) for row in asked)
    if op.operands.accept(destination, sources):
        yield Wrong(f"the page of {op.mnemonic} has {legal}", passage=f"vISA 6, {op.page}")


@rules.instruction(
    "type-unavailable",
    "vISA 6, the instruction's page",
    platform="tgllp",
    failing=".decl BF v_type=G type=bf num_elts=8\nmov (M1, 8) F(0,0)<1> BF(0,0)<1;1,0>",
    passing=".decl HF v_type=G type=hf num_elts=8\nmov (M1, 8) F(0,0)<1> HF(0,0)<1;1,0>",
)
def available_types(at: Site) -> Iterator[Wrong]:
    """The device computes with BF: from dg2 on all do but mtl."""
    if at.platform is not None and not at.platform.has_bf16:
        yield from _with_type(at, at.platform, BF)


@rules.instruction(
    "no-doubles",
    "vISA 2, Data Types",
    severity=Severity.WARNING,
    platform="tgllp",
    failing=".decl DF v_type=G type=df num_elts=8\n"
    "add (M1, 4) DF(0,0)<1> DF(0,0)<1;1,0> DF(0,0)<1;1,0>",
    passing="add (M1, 4) F(0,0)<1> F(0,0)<1;1,0> F(0,0)<1;1,0>",
)
def doubles(at: Site) -> Iterator[Wrong]:
    """The device computes with DF: icllp, tgllp and dg2 do not, though no page says so."""
    if at.platform is not None and not at.platform.has_fp64:
        yield from _with_type(at, at.platform, DF)


@rules.instruction(
    "integer-division",
    "vISA 6, DIV, MOD",
    severity=Severity.WARNING,
    platform="dg2",
    failing="mod (M1, 8) D(0,0)<1> D(1,0)<1;1,0> D(2,0)<1;1,0>",
    passing="div (M1, 8) F(0,0)<1> F(1,0)<1;1,0> F(2,0)<1;1,0>",
)
def integer_division(at: Site) -> Iterator[Wrong]:
    """Devices from dg2 on divide no integers; compilers write it out with `inv` and `mul`.

    The page has no such rule; Intel's assembler refuses the instruction.
    """
    item = at.instruction
    if at.platform is None or at.platform.divides_integers or item.op.mnemonic not in _DIVISIONS:
        return
    if isinstance(item, Binary) and source_type(item.src0).is_integer:
        yield Wrong(f"{at.platform.name} cannot divide integers")


def _with_type(at: Site, platform: Platform, kind: DataType) -> Iterator[Wrong]:
    if any(operand_type(operand) == kind for _, operand in at.operands):
        yield Wrong(f"{platform.name} cannot compute with {kind!r}")


@rules.instruction(
    "execution-size",
    "vISA 6, the instruction's page",
    failing="svm_gather.4.1 (M1, 32) UQ.0 D.0",
    passing="svm_gather.4.1 (M1, 16) UQ.0 D.0",
)
def execution_size(at: Site) -> Iterator[Wrong]:
    """The execution size is one that the instruction's page lists."""
    op, size = at.instruction.op, at.exec_size
    legal = execution_sizes(op.page, at.platform)
    if size is not None and size.size not in legal:
        text = f"{op.mnemonic} has execution size {', '.join(map(str, legal))}, found {size.size}"
        yield Wrong(text, passage=f"vISA 6, {op.page}, Exec_size")


def _mixes(at: Site) -> bool:
    operands = at.instruction.op.operands
    destination, sources = _types(at)
    kinds = {kind.is_float for kind in sources if kind}
    return len(kinds) > 1 and operands.takes_floats and not operands.accept(destination, sources)


def _types(at: Site) -> tuple[DataType | None, list[DataType | None]]:
    sources = [
        operand_type(operand)
        for name, operand in at.operands
        if name.startswith("src") and not isinstance(operand, RawOperand)
    ]
    return operand_type(getattr(at.instruction, "dst", None)), sources


def operand_type(operand: object) -> DataType | None:
    """Return the type that an operand contributes; None if it has none of its own."""
    match operand:
        case GeneralSource() | IndirectSource() | Immediate():
            return source_type(operand)
        case GeneralDestination() | IndirectDestination():
            return destination_type(operand)
        case _:
            return None


@rules.instruction(
    "saturation",
    "vISA 6, Saturation",
    failing="and.sat (M1, 8) D(0,0)<1> D(2,0)<1;1,0> 0x1:d",
    passing="add.sat (M1, 8) D(0,0)<1> D(2,0)<1;1,0> 0x1:d",
)
def saturation(at: Site) -> Iterator[Wrong]:
    """An instruction saturates where its page says so."""
    op, destination = at.instruction.op, getattr(at.instruction, "dst", None)
    if not getattr(destination, "saturate", False):
        return
    kind = operand_type(destination)
    match op.operands.saturates:
        case Saturation.NO:
            text = f"{op.mnemonic} cannot saturate"
        case Saturation.FLOAT_ONLY if kind is not None and not kind.is_float:
            text = f"{op.mnemonic} of integers cannot saturate"
        case _:
            return
    yield Wrong(text, "leave out .sat", passage=f"vISA 6, {op.page}, Saturation")


@rules.instruction(
    "unavailable",
    "vISA, Instructions per platform",
    platform="skl",
    failing="add3 (M1, 8) D(0,0)<1> D(1,0)<1;1,0> D(2,0)<1;1,0> D(3,0)<1;1,0>",
    passing="add (M1, 8) D(0,0)<1> D(1,0)<1;1,0> D(2,0)<1;1,0>",
)
def available(at: Site) -> Iterator[Wrong]:
    """The device has the instruction."""
    op = at.instruction.op
    if at.platform is not None and _is_missing(at):
        known = ", ".join(op.devices)
        verb = "has" if len(op.devices) == 1 else "have"
        hint = f"{known} {verb} it" if known else "no device that visim knows has it"
        yield Wrong(f"{at.platform.name} has no {op.mnemonic}", hint)


def _is_missing(at: Site) -> bool:
    return at.platform is not None and at.platform.name not in at.instruction.op.devices


@rules.instruction(
    "restriction",
    "vISA 6, the instruction's page",
    failing="switchjmp (M1, 2) UD(0,0)<0;1,0> (end)\nend:",
    passing="switchjmp (M1, 1) UD(0,0)<0;1,0> (end)\nend:",
)
def restrictions(at: Site) -> Iterator[Wrong]:
    """What else an instruction's page asks for."""
    op = at.instruction.op
    wrong = op.restrict(at.instruction, at.platform) if op.restrict else None
    if wrong is not None and not _is_missing(at):
        yield Wrong(f"{op.mnemonic}: {wrong}", passage=f"vISA 6, {op.page}")


@rules.instruction(
    "predicate-bits",
    "vISA 6, SETP and MOV, Notes",
    severity=Severity.WARNING,
    failing="setp (M1, 16) P 0x0:ud",
    passing="setp (M1_NM, 16) P 0x0:ud",
)
def predicate_bits(at: Site) -> Iterator[Wrong]:
    """The bits of a scalar are set, and those of a predicate copied, as unsigned integers.

    They are set by M1_NM, or for channels 16 to 31 by M5_NM.
    """
    name, size, source = at.instruction.op.mnemonic, at.exec_size, dict(at.operands).get("src0")
    if name == "mov" and isinstance(source, PredicateOperand):
        kind = operand_type(dict(at.operands)["dst"])
        if kind is not None and kind not in UNSIGNED:
            yield Wrong(f"a predicate is copied to UB, UW or UD, found {kind!r}")
    if name != "setp" or size is None:
        return
    kind = operand_type(source)
    if kind is not None and kind not in UNSIGNED:
        yield Wrong(f"the source of setp is UB, UW or UD, found {kind!r}")
    is_vector = isinstance(source, GeneralSource | IndirectSource) and source.region != SCALAR
    if not is_vector and not (size.no_mask and size.offset in {0, UPPER_HALF}):
        yield Wrong(f"a scalar sets bits by M1_NM or M5_NM, found {size}")


@rules.instruction(
    "systolic-depth",
    "vISA 6, DPAS, Description",
    severity=Severity.WARNING,
    platform="pvc",
    failing="dpas.s8.s8.2.2 (M1, 16) D.0 D.0 D.0 D(0,0)",
    passing=".decl X v_type=G type=d num_elts=128 align=GRF\n"
    "dpas.s8.s8.8.2 (M1, 16) D.0 D.0 X.0 D(0,0)",
)
def systolic_depth(at: Site) -> Iterator[Wrong]:
    """A matrix product has 8 stages on all devices; the others can be written only."""
    item = at.instruction
    if at.platform is not None and isinstance(item, Dpas) and item.depth != DEPTH_OF_DEVICES:
        yield Wrong(f"a product of {item.depth} stages; {at.platform.name} has {DEPTH_OF_DEVICES}")


@rules.instruction(
    "predicate-size",
    "vISA 5, Predication",
    failing="(P8) mov (M1, 16) D(0,0)<1> 0x1:d",
    passing="(P8) mov (M1, 8) D(0,0)<1> 0x1:d",
)
def predicate_size(at: Site) -> Iterator[Wrong]:
    """A predicate has a bit for each channel that asks for one."""
    size = at.exec_size
    if size is None:
        return
    needed = size.offset + size.size
    for name, operand in at.operands:
        if not isinstance(operand, Predication | PredicateOperand):
            continue
        is_copied = at.instruction.op.mnemonic == "mov" and isinstance(operand, PredicateOperand)
        if is_copied or operand.variable.count >= needed:
            continue
        count = operand.variable.count
        yield Wrong(f"{operand.variable.name} has {count} bits, {name} of {size} needs {needed}")
