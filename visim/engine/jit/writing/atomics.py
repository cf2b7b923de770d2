"""Atomic messages: what is done for each enabled lane, one after another.

Memory that only this thread's worker can reach needs no atomic instructions of the host.
"""

from __future__ import annotations

from visim.engine.jit.ir.lanes import each_lane_function, indexed, lanes_function
from visim.engine.jit.writing.forms import Access
from visim.sem.effects import AtomicOperation as Op

_SIMPLE = {
    Op.ADD: "add",
    Op.SUB: "sub",
    Op.UMIN: "umin",
    Op.UMAX: "umax",
    Op.SMIN: "min",
    Op.SMAX: "max",
    Op.XCHG: "xchg",
    Op.AND: "and",
    Op.OR: "or",
    Op.XOR: "xor",
}
_COMPARED = {Op.UMIN: "ult", Op.UMAX: "ugt", Op.SMIN: "slt", Op.SMAX: "sgt"}
_FLOAT = {16: "half", 32: "float", 64: "double"}


def atomic_lines(
    operation: Op, lanes: int, scalar: str, *, own: bool, returns: bool = True
) -> list[str]:
    """Return the body of a loop over lanes: do `operation` at the pointer `%p`.

    Operands are vectors at `%data`; the first is replaced by what the operation `returns`, if
    anybody reads that. `own` says that only this worker reaches the memory.
    """
    bits = int(scalar[1:])
    return [
        f"  %pr = getelementptr {scalar}, ptr %data, i64 %lane",
        f"  %pb = getelementptr {scalar}, ptr %pr, i64 {lanes}",
        f"  %va = load {scalar}, ptr %pr, align {bits // 8}",
        f"  %vb = load {scalar}, ptr %pb, align {bits // 8}",
        *(_own(operation, bits) if own else _shared(operation, bits)),
        *([f"  store {scalar} {_returned(operation)}, ptr %pr"] if returns else []),
        "  br label %next",
    ]


def atomic_function(access: Access, name: str, scale: int) -> str:
    """Return a function that does an atomic operation at the lanes of a window, in their order.

    Where memory is this worker's own, all lanes are done without looking at the mask if that is
    full. The host's atomic instructions take so long that the mask does not matter.
    """
    if access.operation is None:
        raise TypeError("an atomic message without an operation")
    lines = atomic_lines(
        access.operation, access.lanes, access.scalar, own=access.own, returns=access.returns
    )
    if not access.own:
        return lanes_function(name, [*indexed("%lane", scale), *lines])

    def done(lane: str, n: str) -> list[str]:
        return [f"  call void @{name}.one(ptr %p{n}, ptr %data, i64 {lane})"]

    one = "\n".join(
        [
            f"define internal void @{name}.one(ptr %p, ptr %data, i64 %lane) alwaysinline #0 {{",
            "body:",
            *lines,
            "next:",
            "  ret void",
            "}",
        ]
    )
    return one + "\n" + each_lane_function(name, access.lanes, scale, done)


def _returned(operation: Op) -> str:
    return "%new" if operation is Op.PREDEC else "%old"


def _own(operation: Op, bits: int) -> list[str]:
    return [
        f"  %old = load i{bits}, ptr %p, align 1",
        *_combined(operation, bits),
        f"  store i{bits} %new, ptr %p, align 1",
    ]


def _shared(operation: Op, bits: int) -> list[str]:
    """Return the instructions that do an operation at `%p` as one step, and make `%old`."""
    align, scalar = bits // 8, f"i{bits}"
    if operation is Op.LOAD:
        return [f"  %old = load atomic {scalar}, ptr %p seq_cst, align {align}"]
    if operation in _SIMPLE:
        word = _SIMPLE[operation]
        return [f"  %old = atomicrmw {word} ptr %p, {scalar} %va seq_cst, align {align}"]
    if operation in {Op.INC, Op.DEC, Op.PREDEC}:
        word = "add" if operation is Op.INC else "sub"
        return [
            f"  %old = atomicrmw {word} ptr %p, {scalar} 1 seq_cst, align {align}",
            f"  %new = sub {scalar} %old, 1",
        ]
    if operation is Op.CMPXCHG:
        return [
            f"  %first = load atomic {scalar}, ptr %p seq_cst, align {align}",
            f"  %may = icmp eq {scalar} %first, %va",
            "  br i1 %may, label %try, label %kept",
            "try:",
            f"  %pair = cmpxchg ptr %p, {scalar} %va, {scalar} %vb seq_cst seq_cst, align {align}",
            f"  %seen = extractvalue {{ {scalar}, i1 }} %pair, 0",
            "  br label %kept",
            "kept:",
            f"  %old = phi {scalar} [ %first, %body ], [ %seen, %try ]",
        ]
    return [
        f"  %first = load atomic {scalar}, ptr %p monotonic, align {align}",
        "  br label %again",
        "again:",
        f"  %old = phi {scalar} [ %first, %body ], [ %seen, %again ]",
        *_combined(operation, bits),
        f"  %pair = cmpxchg ptr %p, {scalar} %old, {scalar} %new seq_cst seq_cst, align {align}",
        f"  %seen = extractvalue {{ {scalar}, i1 }} %pair, 0",
        f"  %took = extractvalue {{ {scalar}, i1 }} %pair, 1",
        "  br i1 %took, label %kept, label %again",
        "kept:",
    ]


def _combined(operation: Op, bits: int) -> list[str]:
    """Return the instructions that make `%new` of `%old`, `%va` and `%vb`."""
    scalar = f"i{bits}"
    match operation:
        case Op.ADD | Op.SUB | Op.AND | Op.OR | Op.XOR:
            return [f"  %new = {operation.value} {scalar} %old, %va"]
        case Op.INC:
            return [f"  %new = add {scalar} %old, 1"]
        case Op.DEC | Op.PREDEC:
            return [f"  %new = sub {scalar} %old, 1"]
        case Op.XCHG:
            return [f"  %new = add {scalar} %va, 0"]
        case Op.LOAD:
            return [f"  %new = add {scalar} %old, 0"]
        case Op.CMPXCHG:
            return [
                f"  %same = icmp eq {scalar} %old, %va",
                f"  %new = select i1 %same, {scalar} %vb, {scalar} %old",
            ]
        case Op.UMIN | Op.UMAX | Op.SMIN | Op.SMAX:
            return [
                f"  %better = icmp {_COMPARED[operation]} {scalar} %va, %old",
                f"  %new = select i1 %better, {scalar} %va, {scalar} %old",
            ]
        case _:
            return _float_combined(operation, bits)


def _float_combined(operation: Op, bits: int) -> list[str]:
    """Return the instructions that make `%new` of `%old`, `%va` and `%vb`, which are floats."""
    scalar, kind = f"i{bits}", _FLOAT[bits]
    lines = [
        f"  %fold = bitcast {scalar} %old to {kind}",
        f"  %fa = bitcast {scalar} %va to {kind}",
    ]
    match operation:
        case Op.FADD | Op.FSUB:
            return [
                *lines,
                f"  %fnew = {operation.value} {kind} %fold, %fa",
                f"  %new = bitcast {kind} %fnew to {scalar}",
            ]
        case Op.FCAS:
            return [
                *lines,
                f"  %same = fcmp oeq {kind} %fold, %fa",
                f"  %new = select i1 %same, {scalar} %vb, {scalar} %old",
            ]
        case _:
            relation = "olt" if operation is Op.FMIN else "ogt"
            return [
                *lines,
                f"  %better = fcmp {relation} {kind} %fa, %fold",
                f"  %lone = fcmp uno {kind} %fold, %fold",
                "  %taken = or i1 %better, %lone",
                f"  %new = select i1 %taken, {scalar} %va, {scalar} %old",
            ]
