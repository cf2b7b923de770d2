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


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """Order memory accesses; nothing is reordered by an engine that runs in program order."""


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """Wait until every thread of the group is here."""


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
Message = Load | LoadBlock | Store | StoreBlock | Atomic
Transfer = Goto | Jump | Call | Return | FunctionReturn | CallFunction
Effect = RegisterWrite | Message | Transfer | Fence | Barrier
