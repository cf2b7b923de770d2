"""Scattered messages of surfaces that name the number of their elements (GATHER, QW_GATHER)."""

from typing import Annotated

from visim.isa.codecs import CodedKind, CodingError
from visim.isa.execution_kinds import EXEC
from visim.isa.forms import Exec, Pred, Raw, Src
from visim.isa.memory import Blocks, Surface
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.surfaces import in_space, loaded, surface_space
from visim.isa.table import Table
from visim.isa.word_kinds import SizeKind
from visim.lex import Cursor
from visim.operands import ExecSize
from visim.sem.effects import Load, Space, Store
from visim.sem.expr import Expr, broadcast, unsigned
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD, UQ

TABLE = Table(Category.MEMORY)

ElementBytes = Annotated[int, SizeKind(((1, 0), (2, 1), (4, 2)))]
_COUNTS = {8: 0, 16: 1, 1: 2}


class CountKind(CodedKind):
    """An execution size of 1, 8 or 16, which an object stores as the number of elements."""

    expected = "an execution size of 1, 8 or 16"

    def parse(self, cursor: Cursor, names: Names) -> ExecSize:
        """Take the execution size."""
        cursor.skip_space()
        start = cursor.position
        found = EXEC.parse(cursor, names)
        if found.size not in _COUNTS:
            message = f"expected {self.expected}, found {found}"
            raise cursor.failure_at(start, "out-of-range", message)
        return found

    def show(self, value: ExecSize) -> str:
        """Return it as IGC prints it."""
        return str(value)

    def to_code(self, value: ExecSize) -> int:
        """Return the byte: the number of elements, then the mask control."""
        count = _COUNTS.get(value.size)
        if count is None:
            raise CodingError(f"{value} has no {self.expected}")
        return count | EXEC.to_code(value) & 0xF0

    def from_code(self, code: int) -> ExecSize:
        """Return the execution size of a byte."""
        size = next((size for size, count in _COUNTS.items() if count == code & 15), None)
        if size is None:
            raise CodingError(f"number of elements code {code & 15} is not known")
        control = EXEC.from_code(code & 0xF0)
        return ExecSize(size, control.offset, control.no_mask)


Count = Annotated[ExecSize, CountKind()]


@form(
    "{op}.{size} {exec} {surface} {offset} {offsets} {data}",
    layout="{size} 0? {exec} {surface} {offset} {offsets} {data}",
)
class Gathering(Instruction):
    """A read of an element at each offset, in units of elements."""

    size: ElementBytes
    exec: Count
    surface: Surface
    offset: Src
    offsets: Raw
    data: Raw


@form("{op}.{size} {exec} {surface} {offset} {offsets} {data}")
class Scattering(Instruction):
    """A write of an element at each offset, in units of elements."""

    size: ElementBytes
    exec: Count
    surface: Surface
    offset: Src
    offsets: Raw
    data: Raw


@form(
    "{pred}{op}.{blocks} {exec} {surface} {offsets} {data}",
    layout="{exec} {pred} {blocks} {surface} {offsets} {data}",
)
class Qwords(Instruction):
    """Qwords at each byte offset into a surface."""

    exec: Exec
    pred: Pred
    blocks: Blocks
    surface: Surface
    offsets: Raw
    data: Raw


def _place(t: Tracer, i: Gathering | Scattering) -> tuple[Space, Expr | None, Expr]:
    space, index = surface_space(i.surface)
    base = broadcast(t.scalar(i.offset, UD), t.lanes)
    elements = t.raw(i.offsets, UD, t.lanes) + base
    return space, index, in_space(elements * i.size, i.surface)


@TABLE.effect(0x39, Gathering, example="gather.4 (M1, 16) T6 0x0:ud V40.0 V41.0")
def gather(t: Tracer, i: Gathering) -> None:
    """Load an element of 1, 2 or 4 bytes from each offset into the low part of a dword."""
    space, index, addresses = _place(t, i)
    kind = unsigned(8 * i.size)
    effect = Load(space, index, addresses, kind, 1, t.mask())
    t.emit(effect)
    t.write_raw(i.data, loaded(effect, kind, t.lanes).to(UD), effect.mask)


@TABLE.effect(0x3A, Scattering, example="scatter.1 (M1, 8) T6 0x0:ud V40.0 V41.0")
def scatter(t: Tracer, i: Scattering) -> None:
    """Store the low 1, 2 or 4 bytes of a dword at each offset."""
    space, index, addresses = _place(t, i)
    value = t.raw(i.data, UD, t.lanes).to(unsigned(8 * i.size))
    t.emit(Store(space, index, addresses, (value,), t.mask()))


def _qwords(t: Tracer, i: Qwords) -> tuple[Space, Expr | None, Expr]:
    if i.blocks != 1:
        raise Unexecutable(f"{i.blocks} qwords a channel; the page has one")
    space, index = surface_space(i.surface)
    return space, index, in_space(t.raw(i.offsets, UD, t.lanes), i.surface)


@TABLE.effect(0x86, Qwords, example="qw_gather.1 (M1, 16) T6 V40.0 V41.0")
def qw_gather(t: Tracer, i: Qwords) -> None:
    """Load a qword from each byte offset."""
    space, index, addresses = _qwords(t, i)
    effect = Load(space, index, addresses, UQ, 1, t.mask())
    t.emit(effect)
    t.write_raw(i.data, loaded(effect, UQ, t.lanes), effect.mask)


@TABLE.effect(0x87, Qwords, example="qw_scatter.1 (M1, 16) T6 V40.0 V41.0")
def qw_scatter(t: Tracer, i: Qwords) -> None:
    """Store a qword at each byte offset."""
    space, index, addresses = _qwords(t, i)
    t.emit(Store(space, index, addresses, (t.raw(i.data, UQ, t.lanes),), t.mask()))
