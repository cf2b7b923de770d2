"""What pages ask for beside types: restrictions of arithmetic, logic, moves and address arithmetic.

Each function is an instruction's `restrict` (see `visim.isa.registry.Op`): it returns what is wrong
with an instruction on a device, None if nothing.
"""

from collections.abc import Iterator
from typing import Any

from visim.isa.operand_types import DWORDS, NARROW, SMALL
from visim.operands import (
    SCALAR,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    PredicateOperand,
    StateAddressOf,
    StateOperand,
)
from visim.predefined import SURFACES
from visim.sem.tracer import destination_type, source_type
from visim.target import Platform
from visim.types import UQ, DataType, Q

_QUADS = {UQ, Q}
_TYPED = (GeneralSource, IndirectSource, Immediate)
_WRITTEN = (GeneralDestination, IndirectDestination)


def _types(i: Any) -> Iterator[DataType]:
    """Yield the types of an instruction's operands."""
    if isinstance(i.dst, _WRITTEN):
        yield destination_type(i.dst)
    for name in ("src0", "src1"):
        source = getattr(i, name, None)
        if isinstance(source, _TYPED):
            yield source_type(source)


def whole_quads(i: Any, platform: Platform | None) -> str | None:
    """MUL, SEL: 64-bit integers are for devices that compute with them.

    SHL and SHR are for others, too, whatever their pages say: Intel's compiler joins the halves of
    numbers, and rotates vectors of them, so.
    """
    if platform is None or platform.has_int64 or _QUADS.isdisjoint(_types(i)):
        return None
    return f"{platform.name} has no 64-bit integers for it"


def rotated_quads(i: Any, platform: Platform | None) -> str | None:
    """ROL, ROR: 64-bit types are for devices that compute with them."""
    if platform is None or platform.has_int64 or _QUADS.isdisjoint(_types(i)):
        return None
    return f"{platform.name} rotates at most 32 bits"


def no_pairs(i: Any, platform: Platform | None) -> str | None:
    """BFE, BFI, notes: not for two channels."""
    del platform
    return "the execution size cannot be 2" if i.exec.size == 2 else None


def predicates_alone(i: Any, platform: Platform | None) -> str | None:
    """AND, OR, XOR, NOT: predicates go with predicates only, and without predication."""
    del platform
    operands = [getattr(i, name) for name in ("dst", "src0", "src1") if hasattr(i, name)]
    predicates = [isinstance(operand, PredicateOperand) for operand in operands]
    if not any(predicates):
        return None
    if not all(predicates):
        return "its operands are all predicates or none is"
    return None if i.pred is None else "an operation on predicates is not predicated"


def moved(i: Any, platform: Platform | None) -> str | None:
    """MOV, notes: the bits of a predicate go to one unsigned integer that has room for them."""
    del platform
    if not isinstance(i.src0, PredicateOperand) or not isinstance(i.dst, _WRITTEN):
        return None
    kind = destination_type(i.dst)
    if i.exec.size != 1:
        return f"a predicate is copied with execution size 1, found {i.exec.size}"
    if not kind.is_integer:
        return f"a predicate is copied to an integer, found {kind!r}"
    if kind.bits < i.src0.variable.count:
        return f"{i.src0.variable.name} has {i.src0.variable.count} bits, its destination {kind!r}"
    if i.pred is not None or i.dst.saturate:
        return "a copy of a predicate is neither predicated nor saturated"
    return None


def set_bits(i: Any, platform: Platform | None) -> str | None:
    """SETP: the source is an integer of at most 32 bits."""
    del platform
    if not isinstance(i.src0, _TYPED) or source_type(i.src0) in NARROW:
        return None
    return f"the source is an integer of at most 32 bits, found {source_type(i.src0)!r}"


def added_address(i: Any, platform: Platform | None) -> str | None:
    """ADDR_ADD: a UW is added to an address; Intel's verifier takes other words and bytes, too.

    The page allows no address of a predefined variable but %arg and %retval; Intel's compiler
    takes that of %r0.
    """
    del platform
    base = i.src0
    if isinstance(i.src1, _TYPED) and source_type(i.src1) not in SMALL:
        return f"what is added is a UW, found {source_type(i.src1)!r}"
    if isinstance(base, GeneralSource) and base.region != SCALAR:
        return "the region of the variable whose address is taken is <0;1,0>"
    if isinstance(base, StateAddressOf) and base.variable in SURFACES:
        return f"the address of a predefined surface cannot be taken, found {base.variable.name}"
    return None


def moved_state(i: Any, platform: Platform | None) -> str | None:
    """MOVS, notes: from or to surfaces or samplers, of the same kind.

    The page asks for UD on the other side, and for a state variable on one; Intel's compilers
    write D, too, and copy an index that they need several times from variable to variable. Those
    of devices that find states by pointers of 64 bits write Q and UQ.
    """
    del platform
    into, source = i.dst, i.src0
    both = isinstance(into, StateOperand) and isinstance(source, StateOperand)
    if both and type(into.variable) is not type(source.variable):
        return "surfaces and samplers are not copied to each other"
    for name, operand, kind in (
        ("dst", into, destination_type(into)),
        ("src0", source, source_type(source)),
    ):
        if kind not in DWORDS | _QUADS:
            return f"{name} is UD or UQ, found {kind!r}"
        if isinstance(operand, StateOperand):
            end = operand.element + i.exec.size
            if end > operand.variable.count:
                return f"{name} uses elements up to {end - 1} of {operand.variable.name}"
    return None
