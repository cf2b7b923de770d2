"""Native code that calls out: operands into the exchange area, results out of it."""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.analysis.blocks import readers
from visim.engine.jit.analysis.callouts import WAIT, CallOut
from visim.engine.jit.analysis.images import function_of
from visim.engine.jit.ir.text import scalar_type, vector_type
from visim.engine.jit.layout import Context, FaultKind, Form
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.operands import Operands
from visim.sem.effects import Effect, Message, Request, Synchronization, expressions, operands
from visim.sem.expr import Expr
from visim.sem.requests import COLOURS, Outside, TexelLoad
from visim.types import BOOL

_COLUMNS = (Form.RED, Form.GREEN, Form.BLUE, Form.ALPHA)
_FIELDS = {
    "u": Form.U,
    "v": Form.V,
    "r": Form.R,
    "lod": Form.LOD,
    **dict(zip(COLOURS, _COLUMNS, strict=True)),
}


class CallOutWriter:
    """Writes the call-outs of one unit."""

    def __init__(self, unit: FunctionFrame) -> None:
        self.unit = unit

    def message(self, values: Operands, effect: Message, effects: Sequence[Effect]) -> None:
        """Write a message; what it returns to an instruction's `effects` becomes known."""
        leaves: dict[int, list[Expr]] = {}
        for expr in readers(effect, expressions(effects)):
            leaves.setdefault(expr.attribute[1], []).append(expr)
        outputs = tuple(group[0] for group in leaves.values())
        found = self.call(values, effect, operands(effect), outputs)
        for group, name in zip(leaves.values(), found, strict=True):
            for leaf in group:
                values.know(leaf, name)

    def expression(self, values: Operands, expr: Expr) -> str:
        """Return the value of an expression that the interpreter's code computes."""
        return self.call(values, None, expr.args, (expr,))[0]

    def call(
        self,
        values: Operands,
        effect: Message | Synchronization | None,
        inputs: tuple[Expr, ...],
        outputs: tuple[Expr, ...],
    ) -> list[str]:
        """Write a call-out and return the names of its outputs."""
        unit, text = self.unit, self.unit.text
        site = CallOut(unit.unit.number, unit.pc, effect, inputs, outputs)
        area = self._give(site, [values.value(expr) for expr in inputs])
        number = unit.module.sites.add_callout(site, site.offsets()[-1])
        answered = None
        if isinstance(effect, Request):
            answered = self._ask_natively(site, effect, area)
        answer = self._ask_host(number, values.control())
        if isinstance(effect, Synchronization) and unit.module.has_host_turns:
            self._suspend_if(text.let(f"icmp eq i32 {answer}, {WAIT}"))
        if answered is not None:
            text.jump(answered)
            text.label(answered)
        return self._results(site, area)

    def ask(self, site: CallOut, number: int, given: Sequence[str], control: str) -> list[str]:
        """Write a call-out that has its number and values; return the names of its outputs."""
        area = self._give(site, given)
        self._ask_host(number, control)
        return self._results(site, area)

    def _give(self, site: CallOut, given: Sequence[str]) -> str:
        """Leave the inputs in the exchange area, which is returned."""
        area = self.unit.context_pointer(Context.EXCHANGE)
        for expr, name, offset in zip(site.inputs, given, site.offsets(), strict=False):
            self._put(area, offset, expr, name)
        return area

    def _ask_host(self, number: int, control: str) -> str:
        """Call the host; return its answer, which is no fault."""
        unit, text = self.unit, self.unit.text
        answer = text.let(
            f"call i32 @host(ptr %ctx, ptr %thread, i64 {number}, i64 0, i64 {control})"
        )
        unit.fault_if(text.let(f"icmp eq i32 {answer}, 1"), FaultKind.HOST, unit.pc)
        return answer

    def _results(self, site: CallOut, area: str) -> list[str]:
        after = site.offsets()[len(site.inputs) :]
        return [self._take(area, at, expr) for expr, at in zip(site.outputs, after, strict=False)]

    def _ask_natively(self, site: CallOut, effect: Request, area: str) -> str | None:
        """Write the call of native code that answers a message to an image, if there is any.

        Returns the label where code goes on with the answers; what follows asks the host.
        """
        text, function = self.unit.text, function_of(effect)
        if function is None:
            return None
        form = self._form(form_of(site, effect))
        tables = self.unit.context_pointer(Context.IMAGES)
        answered, asks, host = text.fresh("answered"), text.fresh("asks"), text.fresh("host")
        text.branch(text.let(f"icmp eq ptr {tables}, null"), host, asks)
        text.label(asks)
        place = text.let(f"getelementptr i64, ptr {tables}, i64 {int(function)}")
        code = text.let(f"load ptr, ptr {place}, align 8")
        done = text.let(f"call i64 {code}(ptr {tables}, ptr {area}, ptr {form})")
        text.likely(text.let(f"icmp ne i64 {done}, 0"), answered, host)
        text.label(host)
        return answered

    def _form(self, fields: Sequence[int]) -> str:
        """Return the pointer to a constant with the fields of `Form`."""
        name = "@form." + ".".join("no" if field < 0 else str(field) for field in fields)
        shown = ", ".join(f"i64 {field}" for field in fields)
        constant = f"{name} = internal constant [{len(fields)} x i64] [{shown}]"
        self.unit.module.library.functions.setdefault(name, constant)
        return name

    def _put(self, area: str, offset: int, expr: Expr, name: str) -> None:
        text, vector = self.unit.text, vector_type(expr.type, expr.lanes)
        place = text.let(f"getelementptr i8, ptr {area}, i64 {offset}")
        if expr.type == BOOL:
            name = text.let(f"zext {vector} {name} to <{expr.lanes} x i8>")
            vector = f"<{expr.lanes} x i8>"
        text.do(f"store {vector} {name}, ptr {place}, align 1")

    def _take(self, area: str, offset: int, expr: Expr) -> str:
        text, scalar, lanes = self.unit.text, scalar_type(expr.type), expr.lanes
        place = text.let(f"getelementptr i8, ptr {area}, i64 {offset}")
        if expr.type == BOOL:
            octets = text.let(f"load <{lanes} x i8>, ptr {place}, align 1")
            return text.let(f"icmp ne <{lanes} x i8> {octets}, zeroinitializer")
        return text.let(f"load <{lanes} x {scalar}>, ptr {place}, align 1")

    def _suspend_if(self, condition: str) -> None:
        text = self.unit.text
        pause, on = text.fresh("gives"), text.fresh("goes")
        text.branch(condition, pause, on)
        text.label(pause)
        self.unit.suspend()
        text.jump(on)
        text.label(on)


def form_of(site: CallOut, effect: Request) -> list[int]:
    """Return the fields of `Form` for a message that native code answers.

    Its inputs stand in the order of the effect's fields.
    """
    offsets, operation = site.offsets(), effect.operation
    inputs, found = iter(offsets), [-1] * Form.SIZE
    found[Form.LANES] = effect.values[0].lanes
    found[Form.SURFACE] = next(inputs)
    if effect.sampler is not None:
        found[Form.SAMPLER] = next(inputs)
    for name, place in zip(operation.parameters, inputs, strict=False):
        if name in _FIELDS:
            found[_FIELDS[name]] = place
    if effect.mask is not None:
        found[Form.MASK] = offsets[len(site.inputs) - 1]
    for expr, place in zip(site.outputs, offsets[len(site.inputs) :], strict=False):
        found[_COLUMNS[expr.attribute[1]]] = place
    is_opaque = isinstance(operation, TexelLoad) and operation.outside is Outside.OPAQUE
    found[Form.OPAQUE] = int(is_opaque)
    return found
