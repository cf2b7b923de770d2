"""What an instruction does, in order: a closed set of effects over traced expressions.

Register writes of one instruction take place after all its reads and messages; engines rely on
that. Knows no engine and no syntax.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from visim.operands import AddressVariable, General, PredicateVariable, StateVariable
from visim.sem.atomics import AtomicOperation
from visim.sem.expr import Expr, below
from visim.sem.requests import CONTENT, Operation
from visim.types import DataType


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of a general variable's storage.

    Element i stands at byte `offset + (i // width) * row_stride + (i % width) * stride`, both
    strides in bytes.
    """

    variable: General
    offset: int
    type: DataType
    lanes: int
    width: int
    row_stride: int
    stride: int


class Space(StrEnum):
    """The memories that a message can reach."""

    FLAT = "flat"
    SURFACE = "surface"
    SLM = "SLM"
    SCRATCH = "scratch"
    ARGUMENT = "implicit arguments"
    SHADOW = "shadow"
    """What sanitizers keep about the bytes of the others; observers do not see accesses to it."""


FIRST_COUNTER = 1 << 31
"""`Space.SURFACE` has the append counter of binding table index i at index i + this."""


@dataclass(frozen=True, slots=True, eq=False)
class WriteRegister:
    """Write `value` to `place` in the lanes of `mask` (None: all)."""

    place: Place
    value: Expr
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class WriteIndirect:
    """Write `value` to the register elements at byte `addresses`."""

    addresses: Expr
    value: Expr
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class WritePredicate:
    """Write booleans to a predicate variable from bit `offset` on."""

    variable: PredicateVariable
    offset: int
    value: Expr
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class WriteAddress:
    """Write addresses (UD) to an address variable from `element` on."""

    variable: AddressVariable
    element: int
    value: Expr
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class WriteState:
    """Write binding table or sampler indices to a state variable from `element` on."""

    variable: StateVariable
    element: int
    value: Expr
    mask: Expr | None


Cell = tuple[int, int]
"""A row and a column."""


@dataclass(frozen=True, slots=True, eq=False)
class Rectangle:
    """Where the elements of a 2D block are, in few numbers.

    The block begins at row `y` and column `x` of a surface. Element i of its message is in row and
    column `cells[i]` counted from there; None is padding, which is not in memory. Rows of the
    surface are `pitch` bytes apart, elements `size` bytes wide; `height` is the number of the last
    row, `width` that of the last byte of a row. All expressions have one lane: `base` is UQ, `x`
    and `y` are D, the others UD, `enabled` says whether the message takes place (None: it does).

    `parts` are the messages, in order, that move the block register by register, where that is how
    it takes place: what is reached before a fault, and which channel's fault it is, are theirs.
    They are made of the same expressions. Without any the block is one message.
    """

    base: Expr
    width: Expr
    height: Expr
    pitch: Expr
    x: Expr
    y: Expr
    enabled: Expr | None
    cells: tuple[Cell | None, ...]
    size: int
    parts: tuple[Load | Store, ...] = ()

    @property
    def numbers(self) -> tuple[Expr, ...]:
        """The numbers that say where the block is."""
        return (self.base, self.width, self.height, self.pitch, self.x, self.y)


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """Where an access has to stay: lanes outside read 0 or write nothing, which a watch tells.

    `extent` is the address of a table's entry: where the memory starts, and how many bytes of it
    reads and writes reach (UQ each). None: the memory is the access's surface. Of each lane so many
    bytes have to be inside as are `needed`. `name` and `group` are those of the `Watch`.

    Instructions have none by themselves, and only native code keeps to it: by the comparison that
    every access has there.
    """

    extent: int | None
    needed: int
    name: str
    group: tuple[Expr, Expr, Expr] | None


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Read `components` successive elements at each address; results are `loaded` leaves.

    `surface` is the binding table index (UD, one lane) for `Space.SURFACE`. Of a 2D block
    `rectangle` says again what `addresses` and `mask` say. Where only the run knows a 2D block's
    shape, `shape` is the dword in a register that has it.
    """

    space: Space
    surface: Expr | None
    addresses: Expr
    type: DataType
    components: int
    mask: Expr | None
    rectangle: Rectangle | None = None
    shape: Place | None = None
    within: Within | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadBlock:
    """Read `count` successive elements at one address; the result has `count` lanes.

    `mask` (one lane, or None) says whether it happens at all; if not, the result is zero.
    """

    space: Space
    surface: Expr | None
    address: Expr
    type: DataType
    count: int
    mask: Expr | None
    within: Within | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write one or more successive elements at each address; see `Load` for the rest."""

    space: Space
    surface: Expr | None
    addresses: Expr
    values: tuple[Expr, ...]
    mask: Expr | None
    rectangle: Rectangle | None = None
    shape: Place | None = None
    within: Within | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StoreBlock:
    """Write all lanes of `value` one after another at one address."""

    space: Space
    surface: Expr | None
    address: Expr
    value: Expr
    mask: Expr | None
    within: Within | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Atomic:
    """Read, modify and write memory at each address; the `loaded` leaf is the old value."""

    operation: AtomicOperation
    space: Space
    surface: Expr | None
    addresses: Expr
    type: DataType
    operands: tuple[Expr, ...]
    mask: Expr | None
    within: Within | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """Ask the sampler, or the unit for typed surfaces, for what `operation` says.

    `values` are those of the operation's parameters, in their order; the `loaded` leaves are its
    answers, by column. `surface` and `sampler` are indices in their tables (UD, one lane).
    """

    operation: Operation
    surface: Expr
    sampler: Expr | None
    values: tuple[Expr, ...]
    mask: Expr | None

    @property
    def given(self) -> dict[str, Expr]:
        """The values by the names of their parameters."""
        return dict(zip(self.operation.parameters, self.values, strict=True))

    @property
    def content(self) -> tuple[Expr, ...]:
        """The values that are written, or combined with what is there."""
        return tuple(value for name, value in self.given.items() if name in CONTENT)

    @property
    def places(self) -> tuple[Expr, ...]:
        """The values that say where."""
        return tuple(value for name, value in self.given.items() if name not in CONTENT)


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """Tell observers of accesses about the lanes of `mask`, where any is on (None: all).

    `name` says what about; `values` (UQ) has a number for each lane. `group` are the coordinates of
    the thread's group (UD, one lane each), for those who do not follow which group runs.
    Instructions have no such effects by themselves: those who watch a kernel add them.
    """

    name: str
    values: Expr
    mask: Expr | None
    group: tuple[Expr, Expr, Expr] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Note who accesses bytes of memory, and find whether somebody else did in no order with it.

    Each lane of `mask` reaches `bytes` bytes at its address (UQ). `verb` is "load", "store" or
    "atomic"; `is_local` says that groups have such memory each. `words` says where the words are
    of writers and of readers of the memory, whose addresses have `bits` bits. `own` (UQ, one lane)
    is the word of the access without a channel; lane i is of channel `first` + i, or of the thread
    as a whole (None). `launch` says where two words are: the least of the launch, and that of
    atomics of several groups. One lane is loaded: whether the access is suspicious.

    Instructions have no such effects by themselves, and only native code executes them: words are
    a quick look, which the look at all accesses follows. `visim.engine.claims` has their form.
    """

    verb: str
    is_local: bool
    addresses: Expr
    bytes: int
    mask: Expr | None
    own: Expr
    first: int | None
    words: tuple[int, int]
    bits: int
    launch: int


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """Write `octet` to `size` bytes (UQ) of shadow memory from `address` (UQ) on.

    Instructions have no such effects by themselves, and only native code executes them: they make
    shadows of what a group finds where nobody tells Python of groups.
    """

    address: Expr
    size: Expr
    octet: int


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """Order accesses to one kind of memory: `SLM`, `FLAT` for all that is global, or both (None).

    Nothing is reordered by an engine that runs in program order. `of_group` says that it orders
    them for the thread's own group only, `is_plain` that it leaves caches alone.
    """

    memory: Space | None = None
    of_group: bool = False
    is_plain: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """Wait until every thread of the group is here."""


@dataclass(frozen=True, slots=True, eq=False)
class BarrierSignal:
    """Tell the group's barrier that this thread is here, and go on."""


@dataclass(frozen=True, slots=True, eq=False)
class BarrierWait:
    """Wait until every thread of the group has signalled."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedBarrierSignal:
    """Tell named barrier `id` that this thread is here, and go on.

    `role` is 0 for a producer and consumer, 1 for a producer, 2 for a consumer; `producers` and
    `consumers` are how many threads of either kind take part. All are UD, one lane.
    """

    id: Expr
    role: Expr
    producers: Expr
    consumers: Expr


@dataclass(frozen=True, slots=True, eq=False)
class NamedBarrierWait:
    """Wait until all threads that take part in named barrier `id` (UD, one lane) have signalled."""

    id: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Yield:
    """Let other threads of the group run first."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedExchange:
    """Wait for the other thread of the fused pair, which is at the same instruction.

    Threads 2n and 2n + 1 of a group are a pair. `fused` leaves of the instruction's register
    writes, which come after, are what both threads' registers held when they met.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Goto:
    """Send active channels to `label`: those of `mask`, which starts at channel `offset`.

    `mask` None means all channels; only active channels ever take a transfer.
    """

    label: str
    offset: int
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    """Send the whole thread to `label` when the one lane of `condition` is true (or None)."""

    label: str
    condition: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    """Send the whole thread to the label whose number is `index` (UD, one lane)."""

    labels: tuple[str, ...]
    index: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Call the subroutine at `label` with active channels, chosen as for `Goto`."""

    label: str
    offset: int
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """Return active channels, chosen as for `Goto`, from the subroutine, or end them."""

    offset: int
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class FunctionReturn:
    """Return active channels, chosen as for `Goto`, from the function."""

    offset: int
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class CallFunction:
    """Call a function by name, or by the handle in `target`, with active channels."""

    name: str | None
    target: Expr | None
    offset: int
    mask: Expr | None


RegisterWrite = WriteRegister | WriteIndirect | WritePredicate | WriteAddress | WriteState
Message = Load | LoadBlock | Store | StoreBlock | Atomic | Request
Transfer = Goto | Jump | Switch | Call | Return | FunctionReturn | CallFunction
Synchronization = (
    Barrier
    | BarrierSignal
    | BarrierWait
    | NamedBarrierSignal
    | NamedBarrierWait
    | Yield
    | FusedExchange
)
Effect = RegisterWrite | Message | Transfer | Fence | Watch | Claim | Fill | Synchronization


def operands(effect: Effect) -> tuple[Expr, ...]:
    """Return the expressions that an effect is given, in the order of its fields."""
    found: list[Expr] = []
    for name in effect.__slots__:
        value: object = getattr(effect, name)
        if isinstance(value, Within):
            value = value.group
        parts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        found += [part for part in parts if isinstance(part, Expr)]
    return tuple(found)


def expressions(effects: Iterable[Effect]) -> list[Expr]:
    """Return every node below some effects, each once."""
    return below(expr for effect in effects for expr in operands(effect))
