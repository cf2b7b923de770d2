"""A unit as a function of MIR: its blocks, and where its channels go.

Channels that are not active wait at places, each of which has a mask of them; control goes on at
the lowest place. A place's merge adds those that wait to the active channels, its wake starts again
with them alone. What the flow knows to be nowhere waiting needs no mask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import ANY_MODE as UNKNOWN
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Flow, Key, Node, is_uniform, passed
from visim.engine.jit.lift.drafts import Draft, Drafts
from visim.engine.jit.lift.effects import lift_effects
from visim.engine.jit.lift.expressions import Values
from visim.engine.jit.lift.state import Mask, State, saved
from visim.engine.jit.lift.webs import Variable
from visim.engine.jit.mir.attributes import Callee
from visim.engine.jit.mir.errors import NotLifted
from visim.engine.jit.mir.ops import ANY_MODE
from visim.engine.jit.mir.values import Function, Value, param
from visim.engine.modes import CR0_USED
from visim.linker.program import LinkedKernel
from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    Call,
    CallFunction,
    FunctionReturn,
    FusedExchange,
    Goto,
    Jump,
    NamedBarrierSignal,
    NamedBarrierWait,
    Place,
    Return,
    Switch,
    Synchronization,
    Yield,
    operands,
)
from visim.sem.expr import Expr
from visim.types import BOOL, UD

_SYNCHRONIZATIONS: dict[type[Synchronization], str] = {
    Barrier: "barrier",
    BarrierSignal: "signal",
    BarrierWait: "wait",
    NamedBarrierSignal: "named_signal",
    NamedBarrierWait: "named_wait",
    Yield: "yield",
}

At = tuple[Key, int]
"""An instruction, by its node and its number there."""

_ACTIVE = Mask("active")


@dataclass(frozen=True)
class Lifted:
    """A unit as MIR; `homes` are where its variables begin in the register image.

    `asked` are the values of places that somebody asked for.
    """

    function: Function
    homes: dict[Variable, int]
    asked: dict[At, Value] = field(default_factory=dict[At, Value])


def lift_unit(
    kernel: LinkedKernel,
    flow: Flow,
    *,
    shares: bool = False,
    saving: bool = False,
    full: bool = False,
    asked: Mapping[At, Place] | None = None,
) -> Lifted:
    """Return a unit as a function of MIR.

    Args:
        kernel: the program.
        flow: the unit's control flow.
        shares: whether other functions of the program run, which share predefined variables.
        saving: whether threads that end leave their variables in memory.
        full: whether threads start with all channels.
        asked: places of which the values in front of instructions are to be found.

    Raises:
        NotLifted: the unit does what MIR does not say.
    """
    if flow.recursive:
        raise NotLifted("subroutines that call themselves")
    state = State(kernel, flow, shares=shares, full=full, asked=(asked or {}).values())
    return _Lifter(state, flow, saving=saving, asked=asked or {}).lifted()


class _Lifter:
    """Makes the drafts of one unit."""

    def __init__(
        self, state: State, flow: Flow, *, saving: bool, asked: Mapping[At, Place]
    ) -> None:
        self._flow = flow
        self._simd = state.kernel.simd_size
        self._state = state
        self._saving = saving
        self._asked = asked
        self._found: dict[At, Value] = {}
        on = self._on = param(BOOL, self._simd)
        self._drafts = Drafts(
            Draft("start"),
            self._state.kind,
            lambda draft, name: self._state.initial(draft, name, on),
        )
        self._bodies: dict[Key, Draft] = {}
        self._merges: dict[Key, Draft] = {}
        self._wakes: dict[Key, Draft] = {}

    def lifted(self) -> Lifted:
        """Return the finished function."""
        self._drafts.entry.jump(self._body(self._flow.start))
        for key in sorted(self._flow.nodes):
            self._node(self._flow.nodes[key], self._body(key))
        unit = self._state.unit
        name = f"{unit.unit.name}" + (
            "" if not self._flow.start[2] else f".{self._flow.start[2]:x}"
        )
        function = self._drafts.function(name, self._simd, self._on)
        return Lifted(function, self._state.homes, self._found)

    # Entrances

    def _body(self, key: Key) -> Draft:
        """Return where a node starts with the channels that are active."""
        found = self._bodies.get(key)
        if found is None:
            note = f"pc {key[1]}" + (f" of {key[0]}" if key[0] else "")
            found = self._bodies[key] = Draft(note + (f", cr0 {key[2]:#x}" if key[2] else ""))
        return found

    def _merge(self, key: Key) -> Draft:
        """Return where a node starts with them and those that wait there."""
        if key[:2] not in self._flow.slots:
            return self._body(key)
        if key not in self._merges:
            found = self._merges[key] = Draft(f"merge at {key[1]}")
            found.act(lambda draft: self._gather_waiting(draft, key), *_waking(key))
            found.jump(self._body(key))
        return self._merges[key]

    def _wake(self, key: Key) -> Draft:
        """Return where a node starts with those alone that wait there."""
        if key not in self._wakes:
            found = self._wakes[key] = Draft(f"wake at {key[1]}")
            found.act(lambda draft: self._only_waiting(draft, key), *_waking(key))
            found.jump(self._body(key))
        return self._wakes[key]

    def _gather_waiting(self, draft: Draft, key: Key) -> None:
        waiting = Mask("wait", key[0], key[1])
        both = self._read(draft, _ACTIVE), self._read(draft, waiting)
        draft.write(_ACTIVE, draft.make("or", BOOL, self._simd, both))
        draft.write(waiting, self._nobody(draft))

    def _only_waiting(self, draft: Draft, key: Key) -> None:
        waiting = Mask("wait", key[0], key[1])
        draft.write(_ACTIVE, self._read(draft, waiting))
        draft.write(waiting, self._nobody(draft))

    # Masks

    def _read(self, draft: Draft, name: Mask) -> Value:
        return self._drafts.read(draft, name)

    def _set(self, name: Mask, value: Callable[[Draft], Value]) -> Callable[[Draft], None]:
        def action(draft: Draft) -> None:
            draft.write(name, value(draft))

        return action

    def _nobody(self, draft: Draft) -> Value:
        return draft.make("constant", BOOL, self._simd, attribute=0)

    def _some(self, draft: Draft, mask: Value) -> Value:
        """Return one bit: whether any channel of a mask is on."""
        found = draft.make("any", BOOL, mask.lanes, (mask,))
        return draft.make("take", BOOL, 1, (found,), (0,))

    def _some_of(self, name: Mask) -> Callable[[Draft], Value]:
        return lambda draft: self._some(draft, self._read(draft, name))

    def _without(self, draft: Draft, mask: Value, other: Value) -> Value:
        rest = draft.make("not", BOOL, self._simd, (other,))
        return draft.make("and", BOOL, self._simd, (mask, rest))

    def _values(self, draft: Draft, node: Node, pc: int) -> Values:
        mode = ANY_MODE if node.key[2] == UNKNOWN else node.key[2] & CR0_USED
        return Values(self._state, self._drafts, draft, mode, pc)

    def _chosen(self, draft: Draft, node: Node, mask: Expr | None, offset: int) -> Value:
        """Return the active channels that a transfer takes."""
        active = self._read(draft, _ACTIVE)
        if mask is None:
            return active
        values = self._values(draft, node, node.block.next - 1)
        wide = values.wide(values.value(mask), offset, self._simd)
        return draft.make("and", BOOL, self._simd, (active, wide))

    def _wait(self, draft: Draft, node: Node, place: int, channels: Value) -> None:
        """Let channels wait at a place, besides those that do already."""
        name = Mask("wait", node.entry, place)
        both = self._read(draft, name), channels
        draft.write(name, draft.make("or", BOOL, self._simd, both))

    # Nodes

    def _node(self, node: Node, draft: Draft) -> None:
        """Make what a block of the program does, and where control goes from it."""
        if not node.waiting:
            entered = Mask("entered", node.entry)
            draft.act(self._set(_ACTIVE, lambda at: self._read(at, entered)), _ACTIVE)
        for number, step in enumerate(node.block.before):
            if step.refusal is not None:
                draft.stop("refused", step.refusal.pc)
                return
            self._step(node, draft, step, number)
        count = len(node.block.forms)
        start = node.block.start
        draft.act(lambda at: _void(at.make("tick", None, 0, attribute=count, pc=start)))
        self._ending(node, draft)

    def _step(self, node: Node, draft: Draft, step: Step, number: int) -> None:
        place = self._asked.get((node.key, number))

        def action(at: Draft) -> None:
            values = self._values(at, node, step.pc)
            if place is not None:
                self._found[node.key, number] = values.read(place)
            lift_effects(values, step.effects)

        draft.act(action, *self._state.written(step.effects))

    def _key(self, node: Node, pc: int) -> Key:
        return node.entry, pc, node.after

    def _next(self, node: Node) -> Draft:
        return self._merge(self._key(node, node.block.next))

    def _pause(self, draft: Draft, pc: int) -> None:
        draft.act(lambda at: _void(at.make("pause", None, 0, pc=pc)))

    def _ending(self, node: Node, draft: Draft) -> None:
        match node.block.transfer:
            case None:
                draft.jump(self._next(node))
            case Goto() as goto:
                self._goto(node, draft, goto)
            case Jump() as jump:
                self._jump(node, draft, jump)
            case Switch() as switch:
                self._switch(node, draft, switch)
            case Call() as call:
                self._call(node, draft, call)
            case CallFunction() as call:
                self._call_function(node, draft, call)
            case Return() | FunctionReturn() as back:
                self._return(node, draft, back)
            case FusedExchange():
                raise NotLifted(
                    "instructions of fused pairs of threads read each other's registers"
                )
            case effect:
                self._synchronize(node, draft, effect)
                draft.jump(self._next(node))

    def _synchronize(self, node: Node, draft: Draft, effect: Synchronization) -> None:
        op, pc = _SYNCHRONIZATIONS[type(effect)], node.block.next - 1

        def action(at: Draft) -> None:
            values = self._values(at, node, pc)
            args = tuple(values.value(one) for one in operands(effect))
            at.make(op, None, 0, args, pc=pc)

        draft.act(action)

    # Gotos

    def _goto(self, node: Node, draft: Draft, goto: Goto) -> None:
        target, following = self._flow.label(goto.label), node.block.next
        if target == following:
            draft.jump(self._next(node))
        elif is_uniform(goto.mask):
            self._together(node, draft, goto, target)
        elif target < following:
            self._backward(node, draft, goto, target)
        else:
            self._forward(node, draft, goto, target)

    def _together(self, node: Node, draft: Draft, goto: Goto, target: int) -> None:
        """Go where all active channels go, or none of them."""
        taken, following = Draft(f"to {target}"), node.block.next
        if goto.mask is None:
            draft.jump(taken)
        else:
            self._branch_on(node, draft, goto.mask.args[0], taken)
        if target < following:
            self._pause(taken, following - 1)
            taken.jump(self._body(self._key(node, target)))
            return
        between = passed(node.waiting, following, target)
        if not between:
            taken.jump(self._merge(self._key(node, target)))
            return
        taken.act(
            lambda at: self._wait(at, node, target, self._read(at, _ACTIVE)),
            Mask("wait", node.entry, target),
        )
        self._awaken(node, taken, [*between, target])

    def _branch_on(self, node: Node, draft: Draft, bit: Expr, taken: Draft) -> None:
        """Branch on an expression of one lane; else go on behind the block."""
        pc = node.block.next - 1

        def condition(at: Draft) -> Value:
            values = self._values(at, node, pc)
            return values.take(values.value(bit), (0,))

        draft.branch(condition, taken, self._next(node))

    def _backward(self, node: Node, draft: Draft, goto: Goto, target: int) -> None:
        """Go back with channels; those that do not wait behind the block."""
        taken, following = Draft(f"back to {target}"), node.block.next
        chosen: list[Value] = []

        def condition(at: Draft) -> Value:
            chosen.append(self._chosen(at, node, goto.mask, goto.offset))
            return self._some(at, chosen[0])

        def part(at: Draft) -> None:
            rest = self._without(at, self._read(at, _ACTIVE), chosen[0])
            self._wait(at, node, following, rest)
            at.write(_ACTIVE, chosen[0])

        draft.branch(condition, taken, self._next(node))
        taken.act(part, _ACTIVE, Mask("wait", node.entry, following))
        self._pause(taken, following - 1)
        taken.jump(self._body(self._key(node, target)))

    def _forward(self, node: Node, draft: Draft, goto: Goto, target: int) -> None:
        """Let channels wait further on; the others go on, if there are any."""
        onwards, between = self._next(node), passed(node.waiting, node.block.next, target)
        taken = Draft(f"to {target}")

        def condition(at: Draft) -> Value:
            chosen = self._chosen(at, node, goto.mask, goto.offset)
            rest = self._without(at, self._read(at, _ACTIVE), chosen)
            self._wait(at, node, target, chosen)
            at.write(_ACTIVE, rest)
            return self._some(at, rest)

        draft.defines |= {_ACTIVE, Mask("wait", node.entry, target)}
        draft.branch(condition, onwards, taken)
        self._awaken(node, taken, [*between, target])

    def _awaken(self, node: Node, draft: Draft, places: Sequence[int]) -> None:
        """Go on at the first of some places where channels wait; at the last they surely do."""
        for place in places[:-1]:
            later = Draft("later")
            waiting = Mask("wait", node.entry, place)
            draft.branch(self._some_of(waiting), self._wake(self._key(node, place)), later)
            draft = later
        if places:
            draft.jump(self._wake(self._key(node, places[-1])))

    # Jumps of the whole thread

    def _jump(self, node: Node, draft: Draft, jump: Jump) -> None:
        taken = Draft(f"to {jump.label}")
        if jump.condition is None:
            draft.jump(taken)
        else:
            self._branch_on(node, draft, jump.condition, taken)
        self._leap(node, taken, self._flow.label(jump.label))

    def _leap(self, node: Node, draft: Draft, target: int) -> None:
        """Go to a place with the whole thread; a fault if it passes waiting channels."""
        following = node.block.next
        for place in passed(node.waiting, following, target):
            past, wrong = Draft("past"), Draft("passed waiting channels")
            wrong.stop("passed-waiting", following - 1)
            draft.branch(self._some_of(Mask("wait", node.entry, place)), wrong, past)
            draft = past
        if target < following:
            self._pause(draft, following - 1)
            draft.jump(self._body(self._key(node, target)))
        else:
            draft.jump(self._merge(self._key(node, target)))

    def _switch(self, node: Node, draft: Draft, switch: Switch) -> None:
        pc, index = node.block.next - 1, list[Value]()
        cases = [Draft(f"case {number}") for number in range(len(switch.labels))]
        nowhere = Draft("no case")

        def number(at: Draft) -> Value:
            values = self._values(at, node, pc)
            index.append(values.take(values.value(switch.index), (0,)))
            return index[0]

        nowhere.stop("switch-index", pc, lambda _: index[0])
        draft.switch(number, [*cases, nowhere])
        for label, case in zip(switch.labels, cases, strict=True):
            self._leap(node, case, self._flow.label(label))

    # Calls

    def _entering(
        self, node: Node, draft: Draft, call: Call | CallFunction
    ) -> tuple[Draft, Callable[[], Value]]:
        """Return where a call is made, and its channels; without any it is not."""
        enter, chosen = Draft("call"), list[Value]()

        def find(at: Draft) -> Value:
            chosen.append(self._chosen(at, node, call.mask, call.offset))
            return self._some(at, chosen[0])

        if call.mask is None:
            draft.act(lambda at: chosen.append(self._read(at, _ACTIVE)))
            draft.jump(enter)
        else:
            draft.branch(find, enter, self._next(node))
        return enter, lambda: chosen[0]

    def _call(self, node: Node, draft: Draft, call: Call) -> None:
        target, following = self._flow.label(call.label), node.block.next
        enter, chosen = self._entering(node, draft, call)
        number = self._flow.sites[target][node.entry, following].number

        def action(at: Draft) -> None:
            at.write(Mask("resumed", target), self._read(at, _ACTIVE))
            for what in ("entered", "called"):
                at.write(Mask(what, target), chosen())
            at.write(Mask("site", target), at.make("constant", UD, 1, attribute=number))
            at.write(_ACTIVE, chosen())

        kept = (Mask(what, target) for what in ("resumed", "entered", "called", "site"))
        enter.act(action, _ACTIVE, *kept)
        if target <= node.block.start:
            self._pause(enter, following - 1)
        enter.jump(self._body((target, target, node.after)))

    def _call_function(self, node: Node, draft: Draft, call: CallFunction) -> None:
        enter, chosen = self._entering(node, draft, call)
        pc = node.block.next - 1
        self._pause(enter, pc)

        def action(at: Draft) -> None:
            args = (chosen(),)
            if call.target is not None:
                values = self._values(at, node, pc)
                args = (values.take(values.value(call.target), (0,)), *args)
            at.make("call", None, 0, args, Callee(call.name, node.after), pc=pc)

        enter.act(action)
        enter.jump(self._merge((node.entry, node.block.next, node.returned)))

    def _return(self, node: Node, draft: Draft, back: Return | FunctionReturn) -> None:
        called, chosen = Mask("called", node.entry), list[Value]()
        home, stay = Draft("home"), Draft("stay")

        def condition(at: Draft) -> Value:
            chosen.append(self._chosen(at, node, back.mask, back.offset))
            left = self._without(at, self._read(at, called), chosen[0])
            at.write(called, left)
            return self._some(at, left)

        draft.defines.add(called)
        draft.branch(condition, stay, home)
        self._home(node, home)
        places = sorted(place for place in node.waiting if place >= 0)
        if back.mask is None:
            self._awaken(node, stay, places)
            return
        others = Draft("others")

        def rest(at: Draft) -> Value:
            left = self._without(at, self._read(at, _ACTIVE), chosen[0])
            at.write(_ACTIVE, left)
            return self._some(at, left)

        stay.defines.add(_ACTIVE)
        stay.branch(rest, self._next(node), others)
        self._awaken(node, others, places)

    def _home(self, node: Node, draft: Draft) -> None:
        """Leave the subroutine: go on behind the call that is open, or end the function."""
        entry, pc = node.entry, node.block.next - 1
        if entry == self._flow.start[0]:
            if self._saving:
                draft.act(lambda at: saved(self._state, self._drafts, at))
            draft.ret()
            return
        sites = self._flow.returns(entry)
        resumed = Mask("resumed", entry)
        draft.act(self._set(_ACTIVE, lambda at: self._read(at, resumed)), _ACTIVE)
        targets: list[Draft] = []
        for site in sites:
            caller = Draft(f"back to {site.next}")
            if site.next <= node.block.start:
                self._pause(caller, pc)
            caller.jump(self._merge((site.caller, site.next, node.after)))
            targets.append(caller)
        draft.switch(lambda at: self._read(at, Mask("site", entry)), [*targets, Draft("nowhere")])


def _waking(key: Key) -> tuple[Mask, Mask]:
    """Return the masks that change where channels go on that have waited."""
    return _ACTIVE, Mask("wait", key[0], key[1])


def _void(value: Value) -> None:
    """Take no notice of a value: an action returns nothing."""


__all__ = ["Lifted", "lift_unit"]
