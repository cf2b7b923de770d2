"""Forms shared by families of instructions; a form of one instruction stands in its table."""

from typing import Annotated

from visim.isa.execution_kinds import EXEC, PREDICATION
from visim.isa.flow_kinds import EXTERNAL_LABEL
from visim.isa.kinds import DESTINATION, SOURCE
from visim.isa.name_kinds import LABEL, STRING
from visim.isa.raw_kinds import RAW
from visim.isa.registry import Instruction, form
from visim.isa.word_kinds import NUMBER
from visim.operands import ExecSize, Predication, RawOperand, VectorDestination, VectorSource

Exec = Annotated[ExecSize, EXEC]
Pred = Annotated[Predication | None, PREDICATION]
Dst = Annotated[VectorDestination, DESTINATION]
Src = Annotated[VectorSource, SOURCE]
Raw = Annotated[RawOperand, RAW]
Label = Annotated[str, LABEL]


@form("{pred}{op}{sat} {exec} {dst} {src0}")
class Unary(Instruction):
    """One source."""

    exec: Exec
    pred: Pred
    dst: Dst
    src0: Src


@form("{pred}{op}{sat} {exec} {dst} {src0} {src1}")
class Binary(Instruction):
    """Two sources."""

    exec: Exec
    pred: Pred
    dst: Dst
    src0: Src
    src1: Src


@form("{pred}{op}{sat} {exec} {dst} {src0} {src1} {src2}")
class Ternary(Instruction):
    """Three sources."""

    exec: Exec
    pred: Pred
    dst: Dst
    src0: Src
    src1: Src
    src2: Src


@form("{pred}{op} {exec} {dst} {carry} {src0} {src1}")
class Carry(Instruction):
    """Two sources, and a second destination for the carry or borrow."""

    exec: Exec
    pred: Pred
    dst: Dst
    carry: Dst
    src0: Src
    src1: Src


@form("{op}{sat} {exec} {dst} {src0} {src1}", layout="{exec} {sub} {dst} {src0} {src1}")
class UnpredicatedBinary(Instruction):
    """Two sources, no predicate; an object says after the execution size which it is."""

    exec: Exec
    dst: Dst
    src0: Src
    src1: Src


@form("{op} {exec} {dst} {src0}")
class UnpredicatedUnary(Instruction):
    """One source, no predicate."""

    exec: Exec
    dst: Dst
    src0: Src


@form("{pred}{op} {exec} {label}")
class Branch(Instruction):
    """A transfer of control to a label."""

    exec: Exec
    pred: Pred
    label: Label


@form("{pred}{op} {exec} {kernel}")
class ExternalCall(Instruction):
    """A call of a kernel of another file; an object tells it from `call` by the label's kind."""

    exec: Exec
    pred: Pred
    kernel: Annotated[str, EXTERNAL_LABEL]


@form("{pred}{op} {exec}")
class Returning(Instruction):
    """A return from a subroutine, function or kernel."""

    exec: Exec
    pred: Pred


@form("{op}")
class Bare(Instruction):
    """An instruction without operands."""


@form("{name}:")
class LabelMark(Instruction):
    """The start of a basic block."""

    name: Label


@form('.function "{name}"')
class SubroutineMark(Instruction):
    """The start of a subroutine."""

    name: Label


@form("{op} {name}")
class FileMark(Instruction):
    """Names the source file of the instructions that follow."""

    name: Annotated[str, STRING]


@form("{op} {number}")
class LineMark(Instruction):
    """Gives the source line of the instructions that follow."""

    number: Annotated[int, NUMBER]
