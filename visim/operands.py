"""Variables, and the operands that name them (specification 4 and 5).

Plain frozen data: how an operand is written in text or bytes is the business of `isa.kinds`,
what it reads is the business of `sem.tracer`.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from visim.diag import Origin
from visim.records import record
from visim.types import DataType


@record
class Attribute:
    """A named attribute of a kernel or variable; value None for a flag that is merely present.

    `width` is the number of bytes that an object file spends on an integer, None if unknown.
    """

    name: str
    value: int | str | None = None
    width: int | None = field(default=None, compare=False, repr=False)
    origin: Origin = field(default=None, compare=False, repr=False, kw_only=True)


@record
class Alias:
    """Says that a general variable overlays `base` from byte `offset` on."""

    base: General
    offset: int

    @property
    def depth(self) -> int:
        """How many aliases lead to the variable that owns the storage, this one included."""
        depth, base = 1, self.base
        while base.alias is not None:
            depth, base = depth + 1, base.alias.base
        return depth


MAX_ALIASES = 64
"""The longest chain of aliases of aliases that is read; compilers make chains of two."""


@record
class General:
    """A general variable: `count` elements of `type` in the register file.

    `index` is the id in the variable table; predefined variables have 0 to 31, those of file
    scope `FILE_SCOPE`, since only their names tell them apart.
    `align` is the alignment's name as in text ("dword", "GRF", ...) or "" for byte. `stored_name`
    is the name in an object file, where it differs.
    """

    name: str
    type: DataType
    count: int
    align: str = ""
    alias: Alias | None = None
    attributes: tuple[Attribute, ...] = ()
    index: int = 0
    stored_name: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    origin: Origin = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.count * self.type.bytes

    @property
    def is_predefined(self) -> bool:
        """Whether the variable belongs to the machine, not to the program."""
        return 0 <= self.index < FIRST_DECLARED_GENERAL

    @property
    def is_file_scope(self) -> bool:
        """Whether all units of a program share the variable."""
        return self.index == FILE_SCOPE

    @property
    def is_shared(self) -> bool:
        """Whether the variable belongs to the thread, and not to a unit."""
        return self.index < FIRST_DECLARED_GENERAL

    def root(self) -> tuple[General, int]:
        """Return the variable that owns the storage and this variable's byte offset in it."""
        variable, offset = self, 0
        while variable.alias is not None:
            offset += variable.alias.offset
            variable = variable.alias.base
        return variable, offset


FIRST_DECLARED_GENERAL = 32
FILE_SCOPE = -1


@record
class AddressVariable:
    """`count` addresses of elements of general variables, for indirect operands."""

    name: str
    count: int
    attributes: tuple[Attribute, ...] = ()
    index: int = 0
    stored_name: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    origin: Origin = field(default=None, compare=False, repr=False, kw_only=True)


@record
class PredicateVariable:
    """`count` booleans, one a channel. P0 means "no predicate" and is never declared."""

    name: str
    count: int
    attributes: tuple[Attribute, ...] = ()
    index: int = 1
    stored_name: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    origin: Origin = field(default=None, compare=False, repr=False, kw_only=True)


@record
class SamplerVariable:
    """`count` sampler indices."""

    name: str
    count: int
    attributes: tuple[Attribute, ...] = ()
    index: int = 0
    v_name: str | None = None
    origin: Origin = field(default=None, compare=False, repr=False, kw_only=True)


@record
class SurfaceVariable:
    """`count` binding table indices; T0 to T5 are predefined (T0 is %slm)."""

    name: str
    count: int
    attributes: tuple[Attribute, ...] = ()
    index: int = 0
    v_name: str | None = None
    origin: Origin = field(default=None, compare=False, repr=False, kw_only=True)


StateVariable = SamplerVariable | SurfaceVariable
Variable = General | AddressVariable | PredicateVariable | SamplerVariable | SurfaceVariable


@record
class ExecSize:
    """How many channels an instruction has, and where its mask control starts (M1 is offset 0)."""

    size: int
    offset: int = 0
    no_mask: bool = False

    def __str__(self) -> str:
        return f"(M{self.offset // 4 + 1}{'_NM' if self.no_mask else ''}, {self.size})"


class Combine(StrEnum):
    """How a predicate's bits are combined before they enable channels."""

    NONE = ""
    ANY = "any"
    ALL = "all"


@record
class Predication:
    """The predicate in front of an instruction (specification 5, Predication)."""

    variable: PredicateVariable
    invert: bool = False
    combine: Combine = Combine.NONE


@record
class Region:
    """A source region <v;w,h> in elements; `v` is None for multi-address indirect operands."""

    v: int | None
    w: int
    h: int


SCALAR = Region(0, 1, 0)


class Modifier(StrEnum):
    """A change that an operand makes to the value it reads."""

    NONE = ""
    ABS = "(abs)"
    NEG = "(-)"
    NEG_ABS = "(-abs)"
    NOT = "(~)"


@record
class GeneralSource:
    """Source V(row, col)<v;w,h>."""

    variable: General
    row: int
    col: int
    region: Region
    modifier: Modifier = Modifier.NONE


@record
class GeneralDestination:
    """Destination V(row, col)<stride>; the binary object keeps the saturation bit here."""

    variable: General
    row: int
    col: int
    stride: int
    saturate: bool = False


@record
class IndirectSource:
    """Source r[A(element), offset]<v;w,h>:type."""

    address: AddressVariable
    element: int
    offset: int
    type: DataType
    region: Region
    modifier: Modifier = Modifier.NONE


@record
class IndirectDestination:
    """Destination r[A(element), offset]<stride>:type."""

    address: AddressVariable
    element: int
    offset: int
    type: DataType
    stride: int
    saturate: bool = False


@record
class Immediate:
    """A constant: its bits (32, or 64 for q, uq, df) and its type."""

    bits: int
    type: DataType


@record
class AddressOperand:
    """`width` successive addresses A(element)<width>, as a source or destination."""

    variable: AddressVariable
    element: int
    width: int


@record
class AddressOf:
    """The address of a byte of a general variable: &V[offset], `offset` in bytes."""

    variable: General
    offset: int


@record
class StateAddressOf:
    """The address of an element of a surface or sampler variable: &T[offset]."""

    variable: StateVariable
    offset: int


@record
class PredicateOperand:
    """A predicate variable read or written as data."""

    variable: PredicateVariable


@record
class StateOperand:
    """Element `element` of a surface or sampler variable."""

    variable: StateVariable
    element: int


@record
class RawOperand:
    """A message's data: contiguous bytes of a general variable from byte `offset` on."""

    variable: General
    offset: int = 0

    @property
    def is_null(self) -> bool:
        """Whether it is %null: nothing is read, what is written is dropped."""
        return self.variable.index == 0


@record
class StatePointer:
    """A surface or sampler that a general variable of 64 bits points to, as devices from cri on do.

    The state meant is number `index` behind the one that the pointer names.
    """

    variable: General
    index: int = 0


class AddressModel(StrEnum):
    """How an LSC message finds its memory (specification LSC_UNTYPED)."""

    FLAT = "flat"
    BINDLESS_SURFACE = "bss"
    SURFACE_STATE = "ss"
    BINDING_TABLE = "bti"
    ARGUMENT = "arg"
    SURFACE_POINTER = "surf"


@record
class LscCache:
    """Cache controls of an LSC message, by their names in text; "df" is the default.

    Devices before cri have no control of the second level: it is None. `overfetch` lets a load
    bring more of a cache line than it asks for; with `samples` an atomic's texels have several.
    """

    l1: str = "df"
    l3: str = "df"
    l2: str | None = None
    overfetch: bool = False
    samples: bool = False


@record
class LscAddress:
    """The address of an LSC message: `scale * base + offset`, addresses of `bits` each.

    `surface` is the surface state or binding table operand of the models that have one, or the
    64-bit base to which addresses of flat memory are added, None without one. `pitch` is the
    distance in bytes between the channels of the strided forms, None in all others. `extended`
    says how addresses become 64 bits: "u" without sign, "s" with it, "" if they are not extended.
    The state meant is number `index` behind that of the surface.
    """

    model: AddressModel
    surface: VectorSource | None
    base: RawOperand
    bits: int
    scale: int = 1
    offset: int = 0
    pitch: VectorSource | None = None
    extended: str = ""
    index: int = 0

    @property
    def size(self) -> tuple[int, str]:
        """Bits of an address, and how it is extended."""
        return self.bits, self.extended


@record
class LscSurface:
    """The surface of an LSC message that has no addresses (append counters).

    The state meant is number `index` behind that of the surface.
    """

    model: AddressModel
    surface: VectorSource
    index: int = 0


@record
class LscTexel:
    """The address of a typed LSC message: coordinates of `bits` each in a surface.

    Coordinates that a message does not have are %null. `du`, `dv` and `dr` are added to them.
    `extended` and `index` are as in `LscAddress`.
    """

    model: AddressModel
    surface: VectorSource
    bits: int
    u: RawOperand
    v: RawOperand
    r: RawOperand
    lod: RawOperand
    du: int = 0
    dv: int = 0
    dr: int = 0
    extended: str = ""
    index: int = 0

    @property
    def size(self) -> tuple[int, str]:
        """Bits of a coordinate, and how it is extended."""
        return self.bits, self.extended


@record
class LscPlane:
    """Where an LSC 2D block lies: a surface in flat memory and a place in it.

    `base` is an address, `width` the bytes of a row minus 1, `height` the rows minus 1, `pitch`
    the bytes from one row to the next; `x` counts elements, `y` rows, and `added` is added to both.
    """

    base: VectorSource
    width: VectorSource
    height: VectorSource
    pitch: VectorSource
    x: VectorSource
    y: VectorSource
    added: tuple[int, int] = (0, 0)

    @property
    def operands(self) -> tuple[VectorSource, ...]:
        """All operands, in the order of text and bytes."""
        return self.base, self.width, self.height, self.pitch, self.x, self.y


@record
class LscPlanePayload:
    """Where an LSC 2D block lies, as the message's payload has it: eight dwords in a register.

    They are the base (two dwords), width, height, pitch minus 1, x, y and the block's shape.
    `added` is added to x and y.
    """

    payload: GeneralSource
    added: tuple[int, int] = (0, 0)

    def payload_at(self, grf_bytes: int) -> RawOperand:
        """Return where the payload begins, on a device whose registers have so many bytes."""
        variable = self.payload.variable
        offset = self.payload.row * grf_bytes + self.payload.col * variable.type.bytes
        return RawOperand(variable, offset)


@record
class LscBlock:
    """What an LSC 2D block message moves: `blocks` of `width` times `height` elements.

    `data` names the element as in text. `transposed` blocks stand column by column in registers;
    `vnni` ones have the elements of a dword from successive rows (or columns).
    """

    data: str
    blocks: int
    width: int
    height: int
    transposed: bool = False
    vnni: bool = False


@record
class LscCorner:
    """Where a typed LSC block lies: byte `x` of row `y` of a surface.

    `added` is added to x and y; `index` is as in `LscAddress`.
    """

    model: AddressModel
    surface: VectorSource
    x: VectorSource
    y: VectorSource
    added: tuple[int, int] = (0, 0)
    index: int = 0


@record
class LscRectangle:
    """The extent of a typed LSC block: bytes of a row, and rows."""

    width: int
    height: int


@record
class LscShape:
    """What an LSC message moves for each address.

    `data` names the element as in text (d8 to d64, d8c32, ...), `count` the elements of a
    vector, `transposed` whether they lie one after another in the register, `channels` the
    enabled components (x, y, z, w) of the quad forms, else "".
    """

    data: str
    count: int = 1
    transposed: bool = False
    channels: str = ""


@record
class JumpTable:
    """An index and the labels that it chooses from."""

    index: VectorSource
    labels: tuple[str, ...]


@record
class Lifetime:
    """Where the lifetime of a variable starts, or ends."""

    variable: General | AddressVariable | PredicateVariable
    ends: bool


VectorSource = (
    GeneralSource
    | IndirectSource
    | Immediate
    | AddressOperand
    | AddressOf
    | StateAddressOf
    | PredicateOperand
    | StateOperand
)
VectorDestination = (
    GeneralDestination | IndirectDestination | AddressOperand | PredicateOperand | StateOperand
)
