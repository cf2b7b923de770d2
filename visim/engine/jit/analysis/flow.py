"""The control-flow graph of a unit: which blocks follow which, and where channels may wait.

A node is a block in one subroutine and one value of CR0. For each node the analysis finds at
which program counters channels may be waiting while it runs: where nowhere, all channels that
entered the subroutine are active again, which is what makes most masks disappear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from visim.engine.jit.analysis.blocks import (
    ANY_MODE,
    StaticBlock,
    UnitCode,
    UnknownControl,
    control_value,
)
from visim.engine.jit.ir.cycles import cyclic
from visim.engine.jit.ir.masks import looks_often
from visim.engine.modes import CR0_USED, FloatMode, float_mode
from visim.engine.stops import go_on
from visim.errors import UnsupportedError
from visim.sem.effects import (
    Call,
    CallFunction,
    FunctionReturn,
    Goto,
    Jump,
    Return,
    Switch,
    expressions,
)
from visim.sem.expr import Expr

LOST = -1
"""In a set of waiting places: some channels have returned already."""

MOST_NODES = 20_000

Key = tuple[int, int, int]
"""A node: the program counter at which its subroutine starts, its own, the value of CR0."""

ModeAfter = Callable[[str | None, int], int]
"""Tells the value of CR0 after a call, by name or by handle, that is made with another value."""


@dataclass
class Site:
    """A call of a subroutine: where it returns to, and what waits there meanwhile."""

    number: int
    caller: int
    next: int
    waiting: frozenset[int]
    everything: bool


@dataclass
class Node:
    """A block in its context; `waiting` are the places where channels may wait meanwhile.

    `after` is CR0 at the block's end, `returned` behind the function that it calls there.
    """

    key: Key
    block: StaticBlock
    waiting: frozenset[int]
    after: int = 0
    returned: int = 0

    @property
    def entry(self) -> int:
        """The program counter at which the subroutine starts."""
        return self.key[0]


Sites = dict[tuple[int, int], Site]


@dataclass
class Flow:
    """The graph of one unit from one value of CR0 on.

    `looks` says at how many places a node looks for waiting channels when it ends, `recursive` are
    the subroutines that may run while they are open, `loops` says that control can go backwards.
    """

    code: UnitCode
    start: Key
    nodes: dict[Key, Node] = field(default_factory=dict[Key, Node])
    sites: dict[int, Sites] = field(default_factory=dict[int, Sites])
    exits: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    slots: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    callees: set[tuple[str | None, int]] = field(default_factory=set[tuple[str | None, int]])
    edges: dict[Key, set[Key]] = field(default_factory=dict[Key, set[Key]])
    looks: dict[Key, int] = field(default_factory=dict[Key, int])
    recursive: set[int] = field(default_factory=set[int])
    loops: bool = False

    def label(self, name: str) -> int:
        """Return the program counter of a label."""
        return self.code.unit.labels[name]

    def returns(self, entry: int) -> list[Site]:
        """Return the calls of the subroutine that starts at `entry`."""
        return list(self.sites.get(entry, {}).values())

    @cached_property
    def closings(self) -> dict[Key, Key]:
        """For nodes to which others further down go back in any case, the last of these."""
        found: dict[Key, Key] = {}
        for key, node in sorted(self.nodes.items()):
            leave = node.block.transfer
            if isinstance(leave, Goto) and leave.mask is None:
                target = (node.entry, self.label(leave.label), node.after)
                if target <= key:
                    found[target] = key
        return found

    @cached_property
    def sources(self) -> dict[Key, set[Key]]:
        """From where control can come to each node."""
        found: dict[Key, set[Key]] = {}
        for source, targets in self.edges.items():
            for target in targets:
                found.setdefault(target, set()).add(source)
        return found

    @cached_property
    def later(self) -> dict[Key, Key]:
        """For nodes where channels may wait the next such one, the last itself.

        Where blocks look for waiting channels at many places, each by itself, LLVM has the square
        of them to follow; so there they all look along one chain, each from its own first place.
        Where most blocks look at few, a chain would only join what all of them hold.
        """
        if not looks_often(list(self.looks.values()), len(self.nodes)):
            return {}
        found, last = dict[Key, Key](), dict[tuple[int, int], Key]()
        for key in sorted(self.nodes, reverse=True):
            if key[:2] in self.slots:
                found[key] = last.get((key[0], key[2]), key)
                last[key[0], key[2]] = key
        return found

    @cached_property
    def readers(self) -> dict[int | str, set[Key]]:
        """The nodes that read each variable, by its number, and each predicate, by its name."""
        found: dict[int | str, set[Key]] = {}
        for key, node in self.nodes.items():
            for what in self._read_in(node.block):
                found.setdefault(what, set()).add(key)
        return found

    def _read_in(self, block: StaticBlock) -> Iterator[int | str]:
        """Yield the variables and the predicates that a block reads."""
        exprs = [expr for step in block.steps for expr in step.expressions]
        for expr in exprs + expressions((block.transfer,) if block.transfer else ()):
            match expr.uop.name:
                case "read":
                    yield expr.attribute.variable.index
                case "fused":
                    yield expr.attribute[1].variable.index
                case "gather":
                    yield from self.code.kernel.reached(self.code.unit)
                case "predicate":
                    yield expr.attribute[0].name
                case _:
                    pass

    def repeats(self, key: Key) -> bool:
        """Whether control can come back to a node."""
        return key in self._repeating

    @cached_property
    def _repeating(self) -> set[Key]:
        return set(cyclic(self.edges))

    def behind(self, keys: Iterable[Key]) -> set[Key]:
        """Return where control can come from some nodes."""
        seen, waiting = set[Key](), list(keys)
        while waiting:
            found = self.edges.get(waiting.pop(), set[Key]()) - seen
            seen |= found
            waiting += found
        return seen

    def chains(self) -> list[list[Node]]:
        """Return all nodes in order, in chains: only the node before leads to each but the first.

        These are blocks of their own where the control register changes.
        """
        sources = Counter(target for targets in self.edges.values() for target in targets)
        behind = {
            key: target
            for key, node in self.nodes.items()
            for target in self.edges.get(key, ())
            if node.block.transfer is None and sources[target] == 1 and self._is_plain(key, target)
        }
        heads = sorted(self.nodes.keys() - set(behind.values()))
        return [[self.nodes[key] for key in _following(behind, head)] for head in heads]

    def _is_plain(self, key: Key, target: Key) -> bool:
        """Whether a node runs with the same channels as the one before."""
        stays = key[0] == target[0] and target[:2] not in self.slots and target != self.start
        return stays and self.nodes[key].waiting == self.nodes[target].waiting

    def exit_mode(self) -> int:
        """Return CR0 when the unit returns."""
        exits = self.exits.get(0, {self.start[2]})
        return next(iter(exits)) if len(exits) == 1 else ANY_MODE

    def full_entries(self) -> set[int]:
        """Return the subroutines that only ever run with all channels of the thread."""
        full = {self.start[0], *self.sites}
        changed = True
        while changed:
            changed = False
            for entry in list(full - {self.start[0]}):
                sites = self.returns(entry)
                if not all(site.everything and site.caller in full for site in sites):
                    full.discard(entry)
                    changed = True
        return full


def _following(behind: dict[Key, Key], head: Key) -> Iterator[Key]:
    """Return a key and those behind it."""
    key: Key | None = head
    while key is not None:
        yield key
        key = behind.get(key)


def mode_of(node: Node) -> FloatMode:
    """Return how a node computes with floats."""
    return float_mode(0 if node.key[2] == ANY_MODE else node.key[2] & CR0_USED)


def is_dynamic(node: Node) -> bool:
    """Whether the interpreter computes what rounds in a node.

    The ALT mode is rare, and treated as one that only the running program knows.
    """
    return node.key[2] == ANY_MODE or mode_of(node).alternate


def function_name(number: int, cr0: int) -> str:
    """Return the name of the function of unit `number` from a value of CR0 on."""
    return f"unit.{number}.{cr0:x}"


def is_uniform(mask: Expr | None) -> bool:
    """Whether a transfer takes all channels or none."""
    if mask is None:
        return True
    return mask.uop.name == "broadcast" and mask.args[0].lanes == 1


def passed(waiting: frozenset[int], first: int, target: int) -> list[int]:
    """Return the places of `waiting` in [first, target), in order."""
    return sorted(place for place in waiting if first <= place < target)


class Explorer:
    """Finds all nodes of a unit and what may wait while they run."""

    def __init__(self, code: UnitCode, cr0: int, mode_after: ModeAfter) -> None:
        self.flow = Flow(code, (0, 0, cr0))
        self._mode_after = mode_after
        self._work: list[Key] = []
        self._source: Key | None = None

    def explore(self) -> Flow:
        """Return the finished graph."""
        flow = self.flow
        self._reach(flow.start, frozenset())
        while self._work:
            node = flow.nodes[self._work.pop()]
            self._source = node.key
            self._follow(node)
            go_on("looking at the kernel", len(flow.nodes))
            if len(flow.nodes) > MOST_NODES:
                raise UnsupportedError(f"jit: more than {MOST_NODES} blocks in one unit")
        flow.recursive = set(_recursive(flow.sites))
        return flow

    def _reach(self, key: Key, waiting: frozenset[int]) -> None:
        """Note that a node can run while channels wait in some places, its own left out."""
        waiting -= {key[1]}
        if self._source is not None:
            self.flow.edges.setdefault(self._source, set()).add(key)
        node = self.flow.nodes.get(key)
        if node is None:
            block = self.flow.code.block(key[1])
            after = _control_after(block, key[2])
            node = self.flow.nodes[key] = Node(key, block, waiting, after, after)
            if isinstance(block.transfer, CallFunction):
                node.returned = self._mode_after(block.transfer.name, after)
        elif waiting <= node.waiting:
            return
        else:
            node.waiting |= waiting
        self._work.append(key)

    def _wake(self, node: Node, places: list[int], waiting: frozenset[int]) -> None:
        """Note that control may go on at any of some places where channels wait."""
        self.flow.looks[node.key] = max(len(places), self.flow.looks.get(node.key, 0))
        for place in places:
            if place != LOST:
                later = frozenset(p for p in waiting if p > place or p == LOST)
                self._slot(node.entry, place)
                self._reach((node.entry, place, node.after), later)

    def _slot(self, entry: int, place: int) -> None:
        self.flow.slots.add((entry, place))

    def _fall(self, node: Node, waiting: frozenset[int]) -> None:
        self._reach((node.entry, node.block.next, node.after), waiting)

    def _follow(self, node: Node) -> None:
        """Reach the nodes to which control can go from a node."""
        if any(step.refusal for step in node.block.steps):
            refused = node.block.steps[-1].refusal
            if refused is not None and refused.pc >= len(self.flow.code.unit.body):
                return
        match node.block.transfer:
            case Goto() as goto:
                self._goto(node, goto)
            case Jump() as jump:
                self._jump(node, jump)
            case Switch() as switch:
                for name in switch.labels:
                    self._jump(node, Jump(name, None))
            case Call() as call:
                self._call(node, call)
            case CallFunction() as call:
                self.flow.callees.add((call.name, node.after))
                self._reach((node.entry, node.block.next, node.returned), node.waiting)
                if call.mask is not None:
                    self._fall(node, node.waiting)
            case Return() | FunctionReturn() as back:
                self._return(node, back)
            case _:
                self._fall(node, node.waiting)

    def _goto(self, node: Node, goto: Goto) -> None:
        """Reach where a goto leads.

        Forward, its channels may wait at the target; backward, those that do not jump wait behind
        it.
        """
        target, following = self.flow.label(goto.label), node.block.next
        waiting, entry = node.waiting, node.entry
        uniform = is_uniform(goto.mask)
        if target == following:
            self._fall(node, waiting)
            return
        if target < following:
            self.flow.loops = True
            if not uniform:
                self._fall(node, waiting)
                self._slot(entry, following)
                waiting |= {following}
            elif goto.mask is not None:
                self._fall(node, waiting)
            self._reach((entry, target, node.after), waiting)
            return
        between = passed(waiting, following, target)
        if uniform and not between:
            self._reach((entry, target, node.after), waiting)
        else:
            self._slot(entry, target)
            self._wake(node, [*between, target], waiting | {target})
        if goto.mask is not None:
            self._fall(node, waiting if uniform else waiting | {target})

    def _jump(self, node: Node, jump: Jump) -> None:
        target = self.flow.label(jump.label)
        self.flow.loops |= target < node.block.next
        passing = set(passed(node.waiting, node.block.next, target))
        self._reach((node.entry, target, node.after), node.waiting - passing)
        if jump.condition is not None:
            self._fall(node, node.waiting)

    def _call(self, node: Node, call: Call) -> None:
        target, following = self.flow.label(call.label), node.block.next
        everything = is_uniform(call.mask) and not node.waiting
        sites = self.flow.sites.setdefault(target, {})
        place = (node.entry, following)
        site = sites.setdefault(
            place, Site(len(sites), node.entry, following, node.waiting, everything)
        )
        site.waiting |= node.waiting
        site.everything &= everything
        self._reach((target, target, node.after), frozenset())
        for cr0 in self.flow.exits.get(target, ()):
            self._reach((site.caller, site.next, cr0), site.waiting)
        if call.mask is not None:
            self._fall(node, node.waiting)

    def _return(self, node: Node, back: Return | FunctionReturn) -> None:
        waiting = node.waiting
        self.flow.exits.setdefault(node.entry, set()).add(node.after)
        for site in self.flow.returns(node.entry):
            self._reach((site.caller, site.next, node.after), site.waiting)
        gone = waiting | {LOST}
        self._wake(node, sorted(waiting), gone)
        if back.mask is not None:
            self._fall(node, waiting if is_uniform(back.mask) else gone)


def _control_after(block: StaticBlock, cr0: int) -> int:
    """Return CR0 at the end of a block that begins with a value of it."""
    if not block.changes_mode:
        return cr0
    try:
        return control_value(block.steps[-1].effects, cr0)
    except UnknownControl:
        return ANY_MODE


def _recursive(sites: dict[int, Sites]) -> Iterator[int]:
    """Yield the subroutines that call themselves, at once or through others."""
    calls: dict[int, set[int]] = {}
    for entry, found in sites.items():
        for site in found.values():
            calls.setdefault(site.caller, set()).add(entry)
    yield from (entry for entry in sites if _reaches(calls, entry, entry))


def _reaches(calls: dict[int, set[int]], start: int, goal: int) -> bool:
    waiting, seen = list(calls.get(start, ())), set[int]()
    while waiting:
        place = waiting.pop()
        if place == goal:
            return True
        if place not in seen:
            seen.add(place)
            waiting.extend(calls.get(place, ()))
    return False
