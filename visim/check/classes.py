"""The rule for operand classes: where predicates, addresses and state variables may stand.

General and indirect operands and constants may stand wherever an instruction has a vector operand,
but where its page leaves them out; the others only where the page names them (specification 5,
Vector Operands).
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import Rules, Site, Wrong
from visim.operands import (
    AddressOf,
    AddressOperand,
    Immediate,
    IndirectDestination,
    IndirectSource,
    PredicateOperand,
    StateAddressOf,
    StateOperand,
)

_NAMES: dict[type, str] = {
    PredicateOperand: "a predicate",
    AddressOperand: "an address variable",
    AddressOf: "the address of a variable",
    StateAddressOf: "the address of a variable",
    StateOperand: "a surface or sampler variable",
}
_LOGIC = {"dst": (PredicateOperand,), "src0": (PredicateOperand,), "src1": (PredicateOperand,)}
_PLACES: dict[str, dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("and", "or", "xor", "not"), _LOGIC),
    "mov": {"dst": (AddressOperand,), "src0": (PredicateOperand,)},
    "cmp": {"dst": (PredicateOperand,)},
    "setp": {"dst": (PredicateOperand,)},
    "movs": {"dst": (StateOperand,), "src0": (StateOperand,)},
    "addr_add": {
        "dst": (AddressOperand,),
        "src0": (AddressOperand, AddressOf, StateAddressOf),
    },
    "invm": {"special": (PredicateOperand,)},
    "rsqtm": {"special": (PredicateOperand,)},
}
_ONLY: dict[tuple[str, str], tuple[type, str]] = {
    ("setp", "dst"): (PredicateOperand, "a predicate"),
    ("addr_add", "dst"): (AddressOperand, "an address variable"),
}

_INDIRECT = (IndirectSource, IndirectDestination)
_EXCLUDED: dict[tuple[str, str], tuple[type, ...]] = {
    ("addr_add", "src1"): _INDIRECT,
    ("cmp", "dst"): _INDIRECT,
    ("fcvt", "dst"): _INDIRECT,
    ("fcvt", "src0"): (Immediate, *_INDIRECT),
    ("srnd", "dst"): _INDIRECT,
    ("srnd", "src0"): _INDIRECT,
    ("srnd", "src1"): _INDIRECT,
    ("line", "src0"): (Immediate,),
    ("plane", "src0"): (Immediate,),
    ("plane", "src1"): (Immediate,),
}
"""What pages exclude of what may stand elsewhere; LINE's operands are in chapter 8."""
_EXCLUDED_NAMES: dict[type, str] = {
    Immediate: "a constant",
    IndirectSource: "indirect",
    IndirectDestination: "indirect",
}

rules = Rules()


@rules.instruction(
    "operand-class",
    "vISA 5, Vector Operands",
    failing="add (M1, 16) P P P",
    passing="and (M1, 16) P P P",
)
def operand_classes(at: Site) -> Iterator[Wrong]:
    """An operand is a variable of the class that the instruction takes."""
    op = at.instruction.op
    places = _PLACES.get(op.mnemonic, {})
    for name, operand in at.operands:
        kind: type = operand.__class__
        only = _ONLY.get((op.mnemonic, name))
        if only is not None and kind is not only[0]:
            found = _NAMES.get(kind, "a general variable")
            yield Wrong(f"{name} of {op.mnemonic} is {only[1]}, found {found}")
        elif kind in _NAMES and kind not in places.get(name, ()):
            yield Wrong(f"{name} of {op.mnemonic} cannot be {_NAMES[kind]}")
        if kind in _EXCLUDED.get((op.mnemonic, name), ()):
            text = f"{name} of {op.mnemonic} cannot be {_EXCLUDED_NAMES[kind]}"
            yield Wrong(text, passage=f"vISA 6, {op.page}")
