"""Control flow instructions (specification 3, Control Flow, and 6)."""

from typing import Annotated, Any

from visim.isa.flow_kinds import JUMP_TABLE, LIFETIME, MOST_LABELS, PROMISES
from visim.isa.forms import (
    Branch,
    Dst,
    Exec,
    ExternalCall,
    FileMark,
    LabelMark,
    LineMark,
    Pred,
    Returning,
    Src,
    SubroutineMark,
)
from visim.isa.name_kinds import FUNCTION
from visim.isa.registry import Category, Instruction, Op, form
from visim.isa.table import EffectMeaning, Table
from visim.isa.word_kinds import BYTE
from visim.operands import (
    SCALAR,
    GeneralSource,
    Immediate,
    IndirectSource,
    JumpTable,
    Lifetime,
)
from visim.sem.effects import Call, CallFunction, FunctionReturn, Goto, Jump, Return, Switch
from visim.sem.expr import UOPS, Expr, broadcast
from visim.sem.tracer import CHANNELS, Tracer, source_type
from visim.target import Platform
from visim.types import UB, UD, UQ, UW

TABLE = Table(Category.FLOW)
Count = Annotated[int, BYTE]


@form("{pred}{op} {exec} {function} {arguments} {returned}")
class FunctionCall(Instruction):
    """A call of a function by name; sizes of arguments and result in registers."""

    exec: Exec
    pred: Pred
    function: Annotated[str, FUNCTION]
    arguments: Count
    returned: Count


@form(
    "{pred}{op}{promises} {exec} {target} {arguments} {returned}",
    layout="{exec} {pred} {promises} {target} {arguments} {returned}",
)
class IndirectFunctionCall(Instruction):
    """A call of a function by its handle."""

    exec: Exec
    pred: Pred
    promises: Annotated[tuple[str, ...], PROMISES]
    target: Src
    arguments: Count
    returned: Count


@form("{op} {exec} {table}")
class SwitchJump(Instruction):
    """A jump to one of several labels."""

    exec: Exec
    table: Annotated[JumpTable, JUMP_TABLE]


@form("{op}.{lifetime}")
class LifetimeMark(Instruction):
    """The start or end of a variable's lifetime."""

    lifetime: Annotated[Lifetime, LIFETIME]


@form("{op} {function} {dst}")
class FunctionAddress(Instruction):
    """The handle of a function."""

    function: Annotated[str, FUNCTION]
    dst: Dst


def _channels(t: Tracer) -> tuple[int, Expr | None]:
    """Return which channels a transfer takes: an offset and a mask (None: all that are active).

    An execution size of 1 is uniform: the first bit of the predicate decides for all channels.
    """
    if t.lanes == 1:
        predicate = t.predicate_mask()
        return 0, None if predicate is None else broadcast(predicate, CHANNELS)
    if t.predication is None and t.exec_size.no_mask:
        return 0, None
    return t.exec_size.offset, t.mask()


@TABLE.effect(0x6C, Branch, example="(P1) goto (M1, 16) _0_004")
def goto(t: Tracer, i: Branch) -> None:
    """Send each active channel to the label if its predicate says so.

    Channels meet again at labels: the lowest program counter goes first.
    """
    offset, mask = _channels(t)
    t.emit(Goto(i.label, offset, mask))


@TABLE.effect(0x32, Branch, example="(P1) jmp (M1_NM, 1) _0_004")
def jmp(t: Tracer, i: Branch) -> None:
    """The thread jumps to the label if the first bit of the predicate says so."""
    predicate = None
    if t.predication is not None:
        variable, invert = t.predication.variable, t.predication.invert
        bit = t.predicate(variable, t.exec_size.offset, 1)
        predicate = ~bit if invert else bit
    t.emit(Jump(i.label, predicate))


def _switch(i: SwitchJump, platform: Platform | None) -> str | None:
    """Tell what is wrong with an index or the number of labels."""
    if i.exec.size != 1:
        return f"the execution size is 1, found {i.exec.size}"
    if not 1 <= len(i.table.labels) <= MOST_LABELS:
        return f"it has 1 to {MOST_LABELS} labels, found {len(i.table.labels)}"
    index = i.table.index
    if isinstance(index, GeneralSource | IndirectSource) and index.region != SCALAR:
        return "the index is a scalar, its region is <0;1,0>"
    kind = source_type(index)
    if isinstance(index, Immediate) and index.bits >= len(i.table.labels):
        return f"the index is below {len(i.table.labels)}, the number of labels"
    return None if kind in {UB, UW, UD} else f"the index is UB, UW or UD, found {kind!r}"


@TABLE.effect(
    0x69,
    SwitchJump,
    restrict=_switch,
    example="switchjmp (M1, 1) V40(0,0)<0;1,0> (_0_004, _0_005)",
)
def switchjmp(t: Tracer, i: SwitchJump) -> None:
    """The thread jumps to the label that the index chooses, counted from 0."""
    t.emit(Switch(i.table.labels, t.scalar(i.table.index, UD)))


@TABLE.effect(0x7B, LifetimeMark, example="lifetime.start V40")
def lifetime(t: Tracer, i: LifetimeMark) -> None:
    """Tells a compiler where a variable is in use; nothing happens."""


@TABLE.effect(0x33, Branch, example="call (M1, 16) f1_1")
def call(t: Tracer, i: Branch) -> None:
    """Call the subroutine at the label with the active channels that the predicate selects."""
    offset, mask = _channels(t)
    t.emit(Call(i.label, offset, mask))


TABLE.unexecuted(
    0x33, "fccall", ExternalCall, doc="Call a kernel that another linker will supply.",
    example="fccall (M1, 1) other_kernel",
    reason="the kernel is not in the program; a linker of the driver supplies it",
)  # fmt: skip


@TABLE.effect(0x34, Returning, example="ret (M1, 1)")
def ret(t: Tracer, i: Returning) -> None:
    """Return the selected channels from the subroutine; in a kernel they end."""
    offset, mask = _channels(t)
    t.emit(Return(offset, mask))


@TABLE.effect(0x68, Returning, example="fret (M1, 16)")
def fret(t: Tracer, i: Returning) -> None:
    """Return the selected channels from the function."""
    offset, mask = _channels(t)
    t.emit(FunctionReturn(offset, mask))


@TABLE.effect(0x67, FunctionCall, example="fcall (M1, 16) fib 1 1")
def fcall(t: Tracer, i: FunctionCall) -> None:
    """Call a function with the selected channels; %arg, %retval, %sp and %fp are shared."""
    offset, mask = _channels(t)
    t.emit(CallFunction(i.function, None, offset, mask))


@TABLE.effect(0x4F, IndirectFunctionCall, example="ifcall (M1, 16) V40(0,0)<0;1,0> 1 1")
def ifcall(t: Tracer, i: IndirectFunctionCall) -> None:
    """Call the function whose handle (its low 32 bits) the source holds.

    `.uniform` and `.noreturn` promise what finalizers can make use of, and change nothing.
    """
    offset, mask = _channels(t)
    t.emit(CallFunction(None, t.scalar(i.target, UD), offset, mask))


@TABLE.effect(0x50, FunctionAddress, example="faddr f V40(0,0)<1>")
def faddr(t: Tracer, i: FunctionAddress) -> None:
    """Write the handle of a function; its low 32 bits are enough to call it."""
    t.write(i.dst, Expr(UOPS["function"], UQ, 1, (), i.function), None)


def _nothing(t: Tracer, i: Any) -> None:
    """Marks have no effect when they are reached."""


def _mark(mnemonic: str, code: int, shape: type[Instruction], doc: str, example: str) -> Op:
    return Op(
        mnemonic,
        code,
        shape,
        Category.FLOW,
        doc,
        (example,),
        meaning=EffectMeaning(_nothing),
        page=mnemonic.upper(),
    )


MARKS = (
    _mark("label", 0x31, LabelMark, "Starts a basic block.", "_0_004:"),
    _mark("subroutine", 0x30, SubroutineMark, "Starts a subroutine.", '.function "f1_1"'),
    _mark("FILE", 0x51, FileMark, "Names the source file of what follows.", 'FILE "a.cl"'),
    _mark("LOC", 0x52, LineMark, "Gives the source line of what follows.", "LOC 12"),
)
