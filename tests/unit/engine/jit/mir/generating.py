"""Random functions of MIR that are well formed, for round trips and passes."""

from __future__ import annotations

from hypothesis import strategies as st

from visim.engine.jit.mir.attributes import Bank, Callee, Home, Message
from visim.engine.jit.mir.ops import NO_MODE, OPS
from visim.engine.jit.mir.types import NAMES
from visim.engine.jit.mir.values import Block, Edge, End, EndKind, Function, Value, param
from visim.sem.effects import Space
from visim.sem.expr import WIDE
from visim.types import BF, BOOL, UD, UQ, D, DataType, F

SIMD = 8
_PLAIN = ("add", "sub", "mul", "and", "or", "xor", "min", "max", "neg", "not", "shl", "shr")
_FLOATS = ("fadd", "fmul", "ffma", "fneg", "fabs", "floor")


def _made(op: str, kind: DataType | None, lanes: int, *args: Value, **more: object) -> Value:
    return Value(OPS[op], kind, lanes, args, **more)  # type: ignore[arg-type]


@st.composite
def constants(draw: st.DrawFn) -> Value:
    """A constant, or what a thread starts with."""
    kind = draw(st.sampled_from([UD, D, UQ, F, BOOL]))
    lanes = draw(st.sampled_from([1, 2, SIMD]))
    if draw(st.booleans()):
        name = draw(st.text(min_size=1, max_size=6))
        places = tuple(draw(st.lists(st.integers(0, 90), min_size=lanes, max_size=lanes)))
        home = Home(draw(st.sampled_from(list(Bank))), name, draw(st.integers(-1, 99)), places)
        return _made("start", kind, lanes, attribute=home)
    numbers = st.floats(width=32) if kind is F else st.integers(-9, 99)
    if kind is BOOL:
        numbers = st.integers(0, 1)
    if draw(st.booleans()):
        return _made("constant", kind, lanes, attribute=draw(numbers))
    found = tuple(draw(st.lists(numbers, min_size=lanes, max_size=lanes)))
    return _made("vector", kind, lanes, attribute=found)


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """A function of some blocks in a row, each of which may go on or skip the next one."""
    count = draw(st.integers(1, 4))
    on = param(BOOL, SIMD)
    blocks: list[Block] = []
    known: list[Value] = [on]
    params = (on,)
    for number in range(count):
        body: list[Value] = []
        for _ in range(draw(st.integers(0, 6))):
            value = draw(_values([*known, *params, *body]))
            body.append(value)
        seen = [one for one in (*known, *params, *body) if one.type is not None]
        if number == count - 1:
            blocks.append(Block(number, params, tuple(body), End(EndKind.RET)))
            break
        given = draw(st.lists(st.sampled_from(seen), max_size=2))
        after = tuple(param(one.type, one.lanes) for one in given if one.type is not None)
        edge = Edge(number + 1, tuple(given))
        bits = [one for one in seen if one.type is BOOL and one.lanes == 1]
        end = End(EndKind.JUMP, (), (edge,))
        if bits and draw(st.booleans()):
            end = End(EndKind.BRANCH, (draw(st.sampled_from(bits)),), (edge, edge))
        blocks.append(Block(number, params, tuple(body), end))
        known += [*(params if number else ()), *body]
        params = after
    return Function(draw(st.text(min_size=1, max_size=8)), SIMD, tuple(blocks))


@st.composite
def _values(draw: st.DrawFn, seen: list[Value]) -> Value:
    """A value of those that are seen, or a constant."""
    seen = [one for one in seen if one.type is not None]
    a = draw(st.sampled_from(seen))
    assert a.type is not None
    same = [one for one in seen if one.type is a.type and one.lanes == a.lanes]
    b, c = draw(st.sampled_from(same)), draw(st.sampled_from(same))
    makers = [lambda: draw(constants())]
    lanes = st.lists(st.integers(0, a.lanes - 1), min_size=1, max_size=9)
    makers.append(lambda: _taken(a, tuple(draw(lanes))))
    if a.lanes == 1:
        makers.append(lambda: _made("broadcast", a.type, SIMD, a))
    if a.type is BOOL:
        makers += [
            lambda: _made("any", BOOL, a.lanes, a),
            lambda: _made("and", BOOL, a.lanes, a, b),
        ]
    elif a.type.is_float:
        name = draw(st.sampled_from(_FLOATS))
        uop = OPS[name].uop
        assert uop is not None
        mode = NO_MODE if name in {"fneg", "fabs"} else draw(st.sampled_from([0, 0x4C0, 0x30]))
        args = (a, b, c)[: uop.arity]
        makers.append(lambda: _made(name, a.type, a.lanes, *args, mode=mode))
    else:
        name = draw(st.sampled_from(_PLAIN))
        uop = OPS[name].uop
        assert uop is not None
        args = (a, b)[: uop.arity]
        makers.append(lambda: _made(name, a.type, a.lanes, *args))
        message = Message(Space.FLAT, 2, masked=False)
        if a.type is UQ:
            makers.append(
                lambda: _made("load", UD, 2 * a.lanes, a, attribute=message, pc=draw(_PCS))
            )
    makers.append(lambda: _made("tick", None, 0, attribute=draw(st.integers(1, 9))))
    masks = [one for one in seen if one.type is BOOL and one.lanes == SIMD]
    callee = Callee(draw(st.text(min_size=1, max_size=5)), draw(st.integers(0, 0x4C0)))
    makers.append(lambda: _made("call", None, 0, draw(st.sampled_from(masks)), attribute=callee))
    return draw(st.sampled_from(makers))()


def _taken(value: Value, lanes: tuple[int, ...]) -> Value:
    return _made("take", value.type, len(lanes), value, attribute=lanes)


_PCS = st.integers(0, 99)
ALL_TYPES = [kind for kind in NAMES if kind not in {WIDE, BF}]
