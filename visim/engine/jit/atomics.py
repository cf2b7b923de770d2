"""Atomic messages: functions that do the enabled lanes one after another.

Memory that only this thread's worker can reach needs no atomic instructions of the host.
"""

from __future__ import annotations

from visim.engine.jit.floats import Library
from visim.engine.jit.scattered import lane_loop, loop_tail
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


def atomic_function(
    library: Library, operation: Op, lanes: int, bits: int, *, own_memory: bool
) -> str:
    """Return the name of the function that does `operation` on values of `bits` bits."""
    name = f"atomic.{operation.value}.{lanes}.{bits}.{'own' if own_memory else 'shared'}"
    if name in library.functions:
        return name
    library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
    vector = f"<{lanes} x i{bits}>"
    lines = [
        f"define internal {vector} @{name}(<{lanes} x i64> %where, <{lanes} x i1> %on, "
        f"{vector} %va, {vector} %vb) noinline #0 {{",
        "entry:",
        f"  %at = alloca <{lanes} x i64>, align 64",
        f"  store <{lanes} x i64> %where, ptr %at",
    ]
    for part in ("va", "vb", "vr"):
        value = "zeroinitializer" if part == "vr" else f"%{part}"
        lines.append(f"  %m{part} = alloca {vector}, align 64")
        lines.append(f"  store {vector} {value}, ptr %m{part}")
    lines += lane_loop(lanes)
    lines += ["  %ap = getelementptr i64, ptr %at, i64 %lane", "  %ad = load i64, ptr %ap"]
    lines.append("  %p = inttoptr i64 %ad to ptr")
    for short in ("a", "b", "r"):
        lines.append(f"  %p{short} = getelementptr i{bits}, ptr %mv{short}, i64 %lane")
    lines += [f"  %a = load i{bits}, ptr %pa", f"  %b = load i{bits}, ptr %pb"]
    lines += _own(operation, bits) if own_memory else _shared(operation, bits)
    lines += loop_tail()
    lines += [f"  %result = load {vector}, ptr %mvr", f"  ret {vector} %result", "}"]
    library.functions[name] = "\n".join(lines)
    return name


def _returned(operation: Op) -> str:
    return "%new" if operation is Op.PREDEC else "%old"


def _own(operation: Op, bits: int) -> list[str]:
    return [
        f"  %old = load i{bits}, ptr %p, align 1",
        *_combined(operation, bits),
        f"  store i{bits} %new, ptr %p, align 1",
        f"  store i{bits} {_returned(operation)}, ptr %pr",
        "  br label %next",
    ]


def _shared(operation: Op, bits: int) -> list[str]:
    align, scalar = bits // 8, f"i{bits}"
    done = [f"  store {scalar} {_returned(operation)}, ptr %pr", "  br label %next"]
    if operation is Op.LOAD:
        return [f"  %old = load atomic {scalar}, ptr %p seq_cst, align {align}", *done]
    if operation in _SIMPLE:
        word = _SIMPLE[operation]
        return [f"  %old = atomicrmw {word} ptr %p, {scalar} %a seq_cst, align {align}", *done]
    if operation in {Op.INC, Op.DEC, Op.PREDEC}:
        word = "add" if operation is Op.INC else "sub"
        return [
            f"  %old = atomicrmw {word} ptr %p, {scalar} 1 seq_cst, align {align}",
            f"  %new = sub {scalar} %old, 1",
            *done,
        ]
    if operation is Op.CMPXCHG:
        return [
            f"  %pair = cmpxchg ptr %p, {scalar} %a, {scalar} %b seq_cst seq_cst, align {align}",
            f"  %old = extractvalue {{ {scalar}, i1 }} %pair, 0",
            *done,
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
        *done,
    ]


def _combined(operation: Op, bits: int) -> list[str]:
    """Return the instructions that make `%new` of `%old`, `%a` and `%b`."""
    scalar = f"i{bits}"
    match operation:
        case Op.ADD | Op.SUB | Op.AND | Op.OR | Op.XOR:
            return [f"  %new = {operation.value} {scalar} %old, %a"]
        case Op.INC:
            return [f"  %new = add {scalar} %old, 1"]
        case Op.DEC | Op.PREDEC:
            return [f"  %new = sub {scalar} %old, 1"]
        case Op.XCHG:
            return [f"  %new = add {scalar} %a, 0"]
        case Op.LOAD:
            return [f"  %new = add {scalar} %old, 0"]
        case Op.CMPXCHG:
            return [
                f"  %same = icmp eq {scalar} %old, %a",
                f"  %new = select i1 %same, {scalar} %b, {scalar} %old",
            ]
        case Op.UMIN | Op.UMAX | Op.SMIN | Op.SMAX:
            return [
                f"  %better = icmp {_COMPARED[operation]} {scalar} %a, %old",
                f"  %new = select i1 %better, {scalar} %a, {scalar} %old",
            ]
        case _:
            return _float_combined(operation, bits)


def _float_combined(operation: Op, bits: int) -> list[str]:
    scalar, kind = f"i{bits}", _FLOAT[bits]
    lines = [
        f"  %fold = bitcast {scalar} %old to {kind}",
        f"  %fa = bitcast {scalar} %a to {kind}",
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
                f"  %new = select i1 %same, {scalar} %b, {scalar} %old",
            ]
        case _:
            relation = "olt" if operation is Op.FMIN else "ogt"
            return [
                *lines,
                f"  %better = fcmp {relation} {kind} %fa, %fold",
                f"  %lone = fcmp uno {kind} %fold, %fold",
                "  %taken = or i1 %better, %lone",
                f"  %new = select i1 %taken, {scalar} %a, {scalar} %old",
            ]
