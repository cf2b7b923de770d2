"""A function of MIR as one of LLVM's: blocks, parameters as phis, ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.emit.effects import EffectWriter
from visim.engine.jit.emit.errors import NotEmitted
from visim.engine.jit.emit.inputs import rows_of
from visim.engine.jit.emit.values import MirValues, kind_of
from visim.engine.jit.ir.masks import Masks
from visim.engine.jit.ir.storage import bits_vector
from visim.engine.jit.ir.text import vector_type
from visim.engine.jit.layout import FaultKind
from visim.engine.jit.mir.attributes import Home
from visim.engine.jit.mir.dominators import reverse_postorder
from visim.engine.jit.mir.solver import Facts
from visim.engine.jit.mir.values import Block, Edge, End, EndKind, Function, Value
from visim.engine.jit.writing.functions import FunctionFrame, ModuleFrame
from visim.engine.jit.writing.prologue import Prologue
from visim.engine.stops import go_on
from visim.errors import InternalError

_OFTEN = 256
"""After so many values it is looked whether somebody wants this to stop."""


@dataclass
class _Entrance:
    """The phis of a block: where they stand in the text, and what comes from where."""

    line: int
    names: list[str]
    sources: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])


class MirUnitWriter(FunctionFrame):
    """Writes one function of MIR.

    Args:
        module: the module that gets it.
        flow: the control flow that it was lifted from.
        function: the MIR.

    Raises:
        NotEmitted: the version asks for what is not emitted from MIR.
    """

    def __init__(self, module: ModuleFrame, flow: Flow, function: Function) -> None:
        super().__init__(module, flow)
        if self.meeting is not None:
            raise NotEmitted("threads that go in step")
        if module.version.watched:
            raise NotEmitted("observers")
        self.function = function
        blocks = {node.block.start: node.block for node in flow.nodes.values()}
        rows = rows_of(function, module.version) if self.is_kernel else {}
        self._values = MirValues(self, Facts(function, rows), rows)
        self._effects = EffectWriter(self, self._values, function, blocks)
        self._entrances: dict[int, _Entrance] = {}
        self._loops = _repeated(function)
        self._refusals = {
            step.refusal.pc: step.refusal
            for block in blocks.values()
            for step in block.before
            if step.refusal is not None
        }

    def write(self) -> str:
        """Return the function's text."""
        order = reverse_postorder(self.function)
        self.text.jump(_label(order[0]))
        for number in order:
            self._begin(self.function.by_number[number])
        for done, number in enumerate(order, start=1):
            go_on("writing code", done, len(order))
            self._block(self.function.by_number[number])
        prologue = Prologue(self)
        lines = prologue.lines(Masks(together=False))
        return prologue.text(prologue.function(lines, self._body()))

    def _begin(self, block: Block) -> None:
        """Give the parameters of a block their names, before anything jumps there."""
        names = [f"%{self.text.fresh('p')}" for _ in block.params]
        self._entrances[block.number] = _Entrance(0, names)
        is_entry = block is self.function.entry
        for param, name in zip(block.params, names, strict=True):
            if not is_entry:
                self._values.define(param, name)

    def _block(self, block: Block) -> None:
        text, values = self.text, self._values
        text.label(_label(block.number))
        self._entrances[block.number].line = len(text.lines)
        values.begin_block()
        self._effects.begin_block(repeats=block.number in self._loops)
        if block is self.function.entry:
            (on,) = block.params
            wide = text.let("zext i32 %mask to i64")
            values.define(on, bits_vector(text, wide, 0, on.lanes))
        for number, value in enumerate(block.body):
            if number % _OFTEN == 0:
                go_on("writing code")
            self._value(value)
        self._end(block.end)

    def _value(self, value: Value) -> None:
        if value.op.is_pure and isinstance(value.attribute, Home):
            found = self._effects.variables.read(value.attribute, kind_of(value))
            self._values.define(value, found)
        elif value.op.is_pure:
            self._values.compute(value)
        else:
            self._effects.write(value)

    # Ends

    def _end(self, end: End) -> None:
        """Write where control goes."""
        match end.kind:
            case EndKind.JUMP:
                self._leave(end.edges[0])
                self.text.jump(_label(end.edges[0].block))
            case EndKind.BRANCH:
                bit = self._scalar(end.args[0])
                self.text.branch(bit, *self._apart(end.edges))
                self._leave_apart()
            case EndKind.SWITCH:
                self._switch(end)
            case EndKind.RET:
                self.text.jump("finish")
            case EndKind.STOP:
                self._stop(end)

    def _scalar(self, value: Value) -> str:
        return self._values.scalar(self._values.expr(value))

    def _switch(self, end: End) -> None:
        index = self._scalar(end.args[0])
        *labels, last = self._apart(end.edges)
        cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate(labels))
        self.text.do(f"switch i32 {index}, label %{last} [ {cases} ]")
        self._leave_apart()

    def _leave(self, edge: Edge) -> None:
        """Note what an edge gives the parameters of its block, from where the text has come to."""
        given = [self._values.name(arg) for arg in edge.args]
        self._entrances[edge.block].sources.append((self.text.block, given))

    def _apart(self, edges: Sequence[Edge]) -> list[str]:
        """Return a label for each edge; of those to one block all but the first have their own."""
        labels, seen = list[str](), set[int]()
        self._later: list[tuple[str, Edge]] = []
        for edge in edges:
            if edge.block in seen:
                label = self.text.fresh("edge")
                self._later.append((label, edge))
            else:
                label = _label(edge.block)
                self._leave(edge)
            seen.add(edge.block)
            labels.append(label)
        return labels

    def _leave_apart(self) -> None:
        for label, edge in self._later:
            self.text.label(label)
            self._leave(edge)
            self.text.jump(_label(edge.block))

    def _stop(self, end: End) -> None:
        match end.reason:
            case "refused":
                refusal = self._refusals[end.pc]
                self.fault(FaultKind.REFUSED, end.pc, int(refusal.undefined))
            case "passed-waiting":
                self.fault(FaultKind.PASSED_WAITING, end.pc)
            case "switch-index":
                wide = self.text.let(f"zext i32 {self._scalar(end.args[0])} to i64")
                self.fault(FaultKind.SWITCH_INDEX, end.pc, wide)
            case "unreachable" | "nowhere":
                self.text.do("unreachable")
            case reason:
                raise InternalError(f"MIR ends with {reason}")

    def _body(self) -> list[str]:
        """Return the lines of all blocks, with their phis."""
        lines, found = self.text.lines, list[str]()
        at = {one.line: number for number, one in self._entrances.items()}
        for line, text in enumerate(lines):
            if line in at:
                found += self._phis(self.function.by_number[at[line]])
            found.append(text)
        return found

    def _phis(self, block: Block) -> list[str]:
        entrance, lines = self._entrances[block.number], list[str]()
        if block is self.function.entry:
            return lines
        for number, (param, name) in enumerate(zip(block.params, entrance.names, strict=True)):
            kind = vector_type(kind_of(param), param.lanes)
            pairs = (f"[ {given[number]}, %{label} ]" for label, given in entrance.sources)
            lines.append(f"  {name} = phi {kind} {', '.join(pairs)}")
        return lines


def _label(number: int) -> str:
    return f"b{number}"


def _repeated(function: Function) -> set[int]:
    """Return the blocks between one to which control goes back and where it does, in order."""
    order = reverse_postorder(function)
    places = {number: place for place, number in enumerate(order)}
    found = set[int]()
    for number in order:
        for edge in function.by_number[number].end.edges:
            first = places[edge.block]
            if first <= places[number]:
                found.update(order[first : places[number] + 1])
    return found


__all__ = ["MirUnitWriter"]
