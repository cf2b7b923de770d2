"""What an instruction does, in order: a closed set of effects over traced expressions.

Register writes of one instruction take place after all its reads and messages; engines rely on
that. Knows no engine and no syntax.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from visim.operands import AddressVariable, General, PredicateVariable, StateVariable
from visim.sem.expr import Expr
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


FIRST_COUNTER = 1 << 31
"""`Space.SURFACE` has the append counter of binding table index i at index i + this."""


class AtomicOperation(StrEnum):
    """An atomic read-modify-write operation; every one returns the old value but `PREDEC`.

    Operands are normalised: `operand0` is the only operand, or the *comparand* of `CMPXCHG` and
    `FCAS`, whose `operand1` is the *new* value. The instructions differ: `lsc_atomic_icas`,
    `lsc_atomic_fcas` and `fcmpwr` of SVM and DWORD_ATOMIC give (comparand, new), but `cmpxchg` of
    SVM, DWORD_ATOMIC and TYPED_ATOMIC gives src0 = new, src1 = comparand and has to be swapped.

    The operation decides how bits are read: F* as floating point, SMIN and SMAX as signed, all
    others as unsigned integers that wrap around.
    """

    ADD = "add"
    SUB = "sub"
    INC = "inc"
    DEC = "dec"
    PREDEC = "predec"
    UMIN = "umin"
    UMAX = "umax"
    SMIN = "smin"
    SMAX = "smax"
    XCHG = "xchg"
    CMPXCHG = "cmpxchg"
    AND = "and"
    OR = "or"
    XOR = "xor"
    LOAD = "load"
    FADD = "fadd"
    FSUB = "fsub"
    FMIN = "fmin"
    FMAX = "fmax"
    FCAS = "fcas"

    @property
    def operand_count(self) -> int:
        """How many operands the operation takes: 0, 1 or 2."""
        if self in _WITHOUT_OPERAND:
            return 0
        return 2 if self in _COMPARING else 1


_WITHOUT_OPERAND = frozenset(
    {AtomicOperation.INC, AtomicOperation.DEC, AtomicOperation.PREDEC, AtomicOperation.LOAD}
)
_COMPARING = frozenset({AtomicOperation.CMPXCHG, AtomicOperation.FCAS})


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


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Read `components` successive elements at each address; results are `loaded` leaves.

    `surface` is the binding table index (UD, one lane) for `Space.SURFACE`.
    """

    space: Space
    surface: Expr | None
    addresses: Expr
    type: DataType
    components: int
    mask: Expr | None


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


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write one or more successive elements at each address."""

    space: Space
    surface: Expr | None
    addresses: Expr
    values: tuple[Expr, ...]
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class StoreBlock:
    """Write all lanes of `value` one after another at one address."""

    space: Space
    surface: Expr | None
    address: Expr
    value: Expr
    mask: Expr | None


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


class Outside(StrEnum):
    """What a read of a texel outside of its image gives.

    `BORDER`: zeros, and 1 for A where the image's format has no A. `OPAQUE`: zeros, and 1 for A.
    """

    BORDER = "border"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True, eq=False)
class ImageLoad:
    """Read texels at integer `coordinates` u, v, r (UD); the `loaded` leaves are R, G, B, A (UD).

    Components are bits of floats or integers, as the image's format says. `lod` is the level of
    detail (UD), None for 0. `surface` is the binding table index (UD, one lane).
    """

    surface: Expr
    coordinates: tuple[Expr, ...]
    lod: Expr | None
    outside: Outside
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class ImageStore:
    """Write the components `channels` of texels, given as bits (UD), at integer coordinates."""

    surface: Expr
    coordinates: tuple[Expr, ...]
    channels: str
    values: tuple[Expr, ...]
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Read an image through a sampler at `coordinates` u, v, r (F); leaves as for `ImageLoad`.

    `sampler` is the sampler's index (UD, one lane). Images have one level, so that there is no
    level of detail. With a `gathered` component, one of R, G, B, A, the leaves are that component
    of the four texels that a linear filter would mix: lower left, lower right, upper right, upper
    left.
    """

    surface: Expr
    sampler: Expr
    coordinates: tuple[Expr, ...]
    mask: Expr | None
    gathered: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ImageQuery:
    """Ask for an image's sizes at levels of detail `lod` (UD); leaves R, G, B, A (UD).

    They are width, height (or layers of a 1D array), depth (or layers of a 2D array), levels.
    """

    surface: Expr
    lod: Expr
    mask: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class MediaLoad:
    """Read `height` rows of `width` bytes at byte `x` of row `y` (UD, one lane).

    The `loaded` leaf has all of them, one row after another (UB).
    """

    surface: Expr
    x: Expr
    y: Expr
    width: int
    height: int


@dataclass(frozen=True, slots=True, eq=False)
class MediaStore:
    """Write rows of `width` bytes, given one after another (UB), at byte `x` of row `y`."""

    surface: Expr
    x: Expr
    y: Expr
    width: int
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """Order memory accesses; nothing is reordered by an engine that runs in program order."""


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
ImageMessage = ImageLoad | ImageStore | Sample | ImageQuery | MediaLoad | MediaStore
Message = Load | LoadBlock | Store | StoreBlock | Atomic | ImageMessage
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
Effect = RegisterWrite | Message | Transfer | Fence | Synchronization
