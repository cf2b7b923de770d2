"""Rules for where operands lie: regions, bounds of variables, addresses (specification 5)."""

from __future__ import annotations

from collections.abc import Iterator

from visim import predefined
from visim.check.instructions import operand_type
from visim.check.rule import Rules, Site, Wrong
from visim.diag import Severity
from visim.operands import (
    AddressOperand,
    AddressVariable,
    ExecSize,
    General,
    GeneralDestination,
    GeneralSource,
    IndirectDestination,
    IndirectSource,
    RawOperand,
    Region,
)
from visim.target import PLATFORMS

WIDTHS = (1, 2, 4, 8, 16)
VERTICAL = (0, 1, 2, 4, 8, 16, 32)
HORIZONTAL = (0, 1, 2, 4)
INDIRECT_OFFSETS = range(-512, 512)
_SMALLEST_REGISTER = 32

rules = Rules()


@rules.instruction(
    "destination-stride-zero",
    "vISA 5, region restriction 5",
    failing="mov (M1, 8) D(0,0)<0> 0x1:d",
    passing="mov (M1, 8) D(0,0)<2> 0x1:d",
)
def destination_stride_zero(at: Site) -> Iterator[Wrong]:
    """A destination has a stride: every channel writes an element of its own."""
    for name, operand in at.operands:
        is_destination = isinstance(operand, GeneralDestination | IndirectDestination)
        if is_destination and operand.stride == 0:
            yield Wrong(f"{name} has stride 0: every channel would write the same element")


@rules.instruction(
    "region-value",
    "vISA 5, region restrictions 1 to 3",
    failing="mov (M1, 8) D(0,0)<8> 0x1:d",
    passing="mov (M1, 8) D(0,0)<4> 0x1:d",
)
def region_values(at: Site) -> Iterator[Wrong]:
    """The parameters of a region have one of the few values that an object can say.

    Widths are 1, 2, 4, 8 and 16, vertical strides 0, 1, 2, 4, 8, 16 and 32, horizontal strides 0,
    1, 2 and 4.
    """
    for name, operand in at.operands:
        if isinstance(operand, GeneralSource | IndirectSource):
            yield from _region_values(name, operand.region)
        is_destination = isinstance(operand, GeneralDestination | IndirectDestination)
        if is_destination and operand.stride not in HORIZONTAL:
            text = f"stride {operand.stride} of {name} is not one of 1, 2, 4"
            yield Wrong(text, passage="vISA 5, region restriction 3")


def _region_values(name: str, region: Region) -> Iterator[Wrong]:
    checks = (
        ("width", region.w, WIDTHS, 1),
        ("vertical stride", region.v, VERTICAL, 2),
        ("horizontal stride", region.h, HORIZONTAL, 3),
    )
    for what, value, legal, number in checks:
        if value is not None and value not in legal:
            text = f"{what} {value} of {name} is not one of {', '.join(map(str, legal))}"
            yield Wrong(text, passage=f"vISA 5, region restriction {number}")


@rules.instruction(
    "region-width",
    "vISA 5, region restriction 4",
    failing="mov (M1, 4) D(0,0)<1> D(2,0)<8;8,1>",
    passing="mov (M1, 8) D(0,0)<1> D(2,0)<8;8,1>",
)
def region_width(at: Site) -> Iterator[Wrong]:
    """The width of a region is at most the execution size."""
    size = at.exec_size
    for name, operand in at.operands:
        if size is None or not isinstance(operand, GeneralSource | IndirectSource):
            continue
        region = operand.region
        if region.w > size.size and region.w in WIDTHS:
            yield Wrong(f"{name} has width {region.w}, more than the execution size {size.size}")


@rules.instruction(
    "operand-out-of-bounds",
    "vISA 5, Region-based Addressing",
    failing="mov (M1, 8) F(0,0)<1> D(0,64)<8;8,1>",
    passing="mov (M1, 8) F(0,0)<1> D(0,56)<8;8,1>",
)
def starts_inside(at: Site) -> Iterator[Wrong]:
    """A direct operand starts inside its variable."""
    for name, operand in at.operands:
        start = _start(operand, at)
        if start is not None and start >= _size(operand.variable, at):
            variable = operand.variable
            bytes_there = f"{variable.name}, which has {_size(variable, at)} bytes"
            yield Wrong(f"{name} starts at byte {start} of {bytes_there}")


@rules.instruction(
    "operand-beyond-variable",
    "vISA 5, Region-based Addressing",
    severity=Severity.WARNING,
    failing="mov (M1_NM, 16) D(0,0)<1> D(0,56)<1;1,0>",
    passing="mov (M1_NM, 16) D(0,0)<1> D(0,48)<1;1,0>",
)
def stays_inside(at: Site) -> Iterator[Wrong]:
    """A direct operand stays inside its variable in every channel that surely executes.

    Only NoMask instructions without predicate are judged: whether the channels of others execute
    is known when they run. What lies beyond is another variable or nothing.
    """
    size = at.exec_size
    if size is None or not size.no_mask or getattr(at.instruction, "pred", None) is not None:
        return
    for name, operand in at.operands:
        if not isinstance(operand, GeneralSource | GeneralDestination):
            continue
        start = _start(operand, at)
        kind = operand_type(operand)
        if start is None or kind is None or start >= _size(operand.variable, at):
            continue
        variable = operand.variable
        end, whole = start + kind.bytes * (_last_element(operand, size) + 1), _size(variable, at)
        if end > whole:
            yield Wrong(f"{name} ends at byte {end} of {variable.name}, which has {whole} bytes")


def _last_element(operand: GeneralSource | GeneralDestination, size: ExecSize) -> int:
    """Return the highest element that an operand touches, counted from its origin."""
    if isinstance(operand, GeneralDestination):
        return (size.size - 1) * operand.stride
    region = operand.region
    width, rows = _width(region, size), _rows(region, size)
    return (rows - 1) * (region.v or 0) + (width - 1) * region.h


def _rows(region: Region, size: ExecSize) -> int:
    return size.size // _width(region, size)


def _width(region: Region, size: ExecSize) -> int:
    """Return how many elements of a row are used; a width of 0 is told by `region-value`."""
    return max(1, min(region.w, size.size))


def _start(operand: object, at: Site) -> int | None:
    """Return the first byte of an operand in its variable, None if it has or tells none."""
    match operand:
        case RawOperand(variable, offset) if not operand.is_null:
            return offset
        case GeneralSource(variable, row, col) | GeneralDestination(variable, row, col):
            if variable == predefined.GENERALS[0] or (row and at.platform is None):
                return None
            grf = at.platform.grf_bytes if at.platform else 0
            return row * grf + col * variable.type.bytes
        case AddressOperand(_, element, _):
            return element * 4
        case _:
            return None


def _size(variable: General | AddressVariable, at: Site) -> int:
    """Return a variable's bytes; an address counts 4 of them."""
    if isinstance(variable, AddressVariable):
        return variable.count * 4
    if not variable.is_predefined:
        return variable.bytes
    grf = at.platform.grf_bytes if at.platform else PLATFORMS[-1].grf_bytes
    return predefined.elements(variable, grf) * variable.type.bytes


@rules.instruction(
    "address-out-of-bounds",
    "vISA 5, Address Operands",
    failing="addr_add (M1, 8) A(4)<8> &D 0x0:uw",
    passing="addr_add (M1, 4) A(4)<4> &D 0x0:uw",
)
def addresses_inside(at: Site) -> Iterator[Wrong]:
    """The addresses that an operand uses are elements of its address variable.

    An indirect operand uses one address, a multi-address operand one for each row of its region,
    and a destination one for each channel.
    """
    size = at.exec_size
    for name, operand in at.operands:
        used = _addresses(name, operand, size)
        if used is None:
            continue
        variable, element, count = used
        is_told = isinstance(operand, AddressOperand) and element >= variable.count
        if element + count > variable.count and not is_told:
            last = element + count - 1
            text = f"{name} uses addresses {element} to {last} of {variable.name}"
            yield Wrong(f"{text}, which has {variable.count}")


def _addresses(
    name: str, operand: object, size: ExecSize | None
) -> tuple[AddressVariable, int, int] | None:
    match operand:
        case AddressOperand(variable, element, _) if name == "dst" and size is not None:
            return variable, element, size.size
        case AddressOperand(variable, element, width):
            return variable, element, width
        case IndirectSource(variable, element, _, _, region) if size is not None:
            return variable, element, _rows(region, size) if region.v is None else 1
        case IndirectDestination(variable, element):
            return variable, element, 1
        case _:
            return None


@rules.instruction(
    "indirect-offset",
    "vISA 5, Indirect Operands",
    failing="mov (M1, 8) D(0,0)<1> r[A(0),512]<8;8,1>:d",
    passing="mov (M1, 8) D(0,0)<1> r[A(0),-512]<8;8,1>:d",
)
def indirect_offset(at: Site) -> Iterator[Wrong]:
    """The offset of an indirect operand is from -512 to 511 bytes."""
    for name, operand in at.operands:
        is_indirect = isinstance(operand, IndirectSource | IndirectDestination)
        if is_indirect and operand.offset not in INDIRECT_OFFSETS:
            yield Wrong(f"{name} has the offset {operand.offset}, not one of -512 to 511")


@rules.instruction(
    "indirect-type",
    "vISA 5, Indirect Operands",
    failing="mov (M1, 8) D(0,0)<1> r[A(0),0]<8;8,1>:v",
    passing="mov (M1, 8) D(0,0)<1> r[A(0),0]<8;8,1>:w",
)
def indirect_type(at: Site) -> Iterator[Wrong]:
    """An indirect operand has a type of variables: no packed vector and no boolean."""
    for name, operand in at.operands:
        is_indirect = isinstance(operand, IndirectSource | IndirectDestination)
        if is_indirect and not (operand.type.is_integer or operand.type.is_float):
            yield Wrong(f"{name} has the type {operand.type!r}")


@rules.instruction(
    "region-span",
    "vISA 5, region restriction 6",
    severity=Severity.NOTE,
    platform="skl",
    failing="mov (M1, 16) D(0,0)<1> D(0,4)<1;1,0>",
    passing="mov (M1, 16) D(0,0)<1> D(0,0)<1;1,0>",
)
def region_span(at: Site) -> Iterator[Wrong]:
    """The elements of an operand lie in at most two adjacent registers.

    Compilers break this; finalizers split such instructions.
    """
    size = at.exec_size
    if at.platform is None or size is None:
        return
    grf = at.platform.grf_bytes
    for name, operand in at.operands:
        if not isinstance(operand, GeneralSource | GeneralDestination):
            continue
        variable = operand.variable
        first = variable.root()[1] % grf + operand.col * variable.type.bytes
        last = first + (_last_element(operand, size) + 1) * variable.type.bytes - 1
        if last // grf - first // grf > 1:
            yield Wrong(f"{name} spans {last // grf - first // grf + 1} registers of {grf} bytes")


@rules.instruction(
    "column-beyond-register",
    "vISA 5, General Operands",
    severity=Severity.NOTE,
    platform="pvc",
    failing="mov (M1, 1) D(0,0)<1> D(0,20)<0;1,0>",
    passing="mov (M1, 1) D(0,0)<1> D(2,4)<0;1,0>",
)
def column_in_register(at: Site) -> Iterator[Wrong]:
    """The column of an operand lies in the register that its row names."""
    if at.platform is None:
        return
    grf = at.platform.grf_bytes
    for name, operand in at.operands:
        if not isinstance(operand, GeneralSource | GeneralDestination):
            continue
        if operand.col * operand.variable.type.bytes >= grf:
            elements = grf // operand.variable.type.bytes
            text = f"{name} has column {operand.col}, a register has {elements} elements"
            yield Wrong(text)


@rules.instruction(
    "raw-unaligned",
    "vISA 5, Raw Operands",
    severity=Severity.NOTE,
    failing="svm_gather.1.1 (M1, 8) UQ.0 D.4",
    passing="svm_gather.1.1 (M1, 8) UQ.0 D.64",
)
def raw_alignment(at: Site) -> Iterator[Wrong]:
    """A raw operand starts at a register.

    Compilers break this for data of a few channels; what visim executes does not depend on it.
    """
    grf = at.platform.grf_bytes if at.platform else _SMALLEST_REGISTER
    for name, operand in at.operands:
        if isinstance(operand, RawOperand) and not operand.variable.is_predefined:
            offset = operand.variable.root()[1] + operand.offset
            if offset % grf:
                yield Wrong(f"{name} starts {offset % grf} bytes into a register of {grf} bytes")


_WRITABLE = {
    "%null", "%tsc", "%arg", "%retval", "%sp", "%fp", "%sr0", "%cr0", "%dbg0",
    "%impl_arg_buf_ptr", "%local_id_buf_ptr",
}  # fmt: skip
_READING = ("gather", "svm_gather", "qw_gather", "svm_block_ld", "oword_ld", "media_ld")


@rules.instruction(
    "read-only-variable",
    "vISA 4, General Variables",
    failing="mov (M1, 1) V3(0,0)<1> 0x1:ud",
    passing="mov (M1, 1) V8(0,0)<1> 0x1:ud",
)
def read_only(at: Site) -> Iterator[Wrong]:
    """Predefined variables that tell a thread about itself are not written."""
    writes_data = at.instruction.op.mnemonic.startswith(_READING)
    for name, operand in at.operands:
        is_written = name == "dst" or (name == "data" and writes_data)
        if not is_written or not isinstance(operand, GeneralDestination | RawOperand):
            continue
        variable = operand.variable.root()[0]
        if variable.is_predefined and variable.name not in _WRITABLE:
            yield Wrong(f"{variable.name} is read-only")


@rules.instruction(
    "null-source",
    "vISA 4, General Variables",
    severity=Severity.WARNING,
    failing="mov (M1, 1) D(0,0)<1> V0(0,0)<0;1,0>",
    passing="mov (M1, 1) V0(0,0)<1> D(0,0)<0;1,0>",
)
def null_source(at: Site) -> Iterator[Wrong]:
    """%null has no value, so that reading it means nothing."""
    for name, operand in at.operands:
        if isinstance(operand, GeneralSource) and operand.variable == predefined.GENERALS[0]:
            yield Wrong(f"{name} reads %null, which has no value")
