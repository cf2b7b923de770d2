"""Which types an instruction's operands may have, and what may stand around them.

Every declared instruction says it here in its own words: rows of types that go together
(specification 6, Operand type maps), whether the destination may saturate, which source
modifiers there are. The verifier reads it; nothing here knows an instruction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from visim.types import BF, DF, HF, UB, UD, UQ, UW, B, D, DataType, F, Q, W

Types = frozenset[DataType]

SMALL: Types = frozenset({UB, B, UW, W})
NARROW: Types = SMALL | {UD, D}
"""Integers of up to 32 bits."""
INTEGERS: Types = NARROW | {UQ, Q}
DWORDS: Types = frozenset({UD, D})
WORDS: Types = frozenset({UW, W})
BYTES: Types = frozenset({UB, B})
SINGLES: Types = frozenset({F, HF})
"""Floats that may meet in one instruction."""
BRAINS: Types = frozenset({F, BF})
"""Floats that may meet where there is a BF."""
FLOATS: Types = SINGLES | BRAINS | {DF}
UNSIGNED: Types = frozenset({UB, UW, UD, UQ})
SIGNED: Types = INTEGERS - UNSIGNED


class Saturation(Enum):
    """Whether the destination may saturate."""

    YES = auto()
    FLOAT_ONLY = auto()
    NO = auto()


class Modifiers(Enum):
    """The source modifiers that an instruction has."""

    ARITHMETIC = auto()
    LOGIC = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class TypeRow:
    """Types that go together; the last entry of `sources` counts for all sources from there on."""

    destination: Types
    sources: tuple[Types, ...]

    def accepts(self, destination: DataType | None, sources: Sequence[DataType | None]) -> bool:
        """Whether operands of these types go together; None is an operand without a type."""
        if destination is not None and destination not in self.destination:
            return False
        last = len(self.sources) - 1
        return all(
            kind is None or kind in self.sources[min(number, last)]
            for number, kind in enumerate(sources)
        )

    def __str__(self) -> str:
        sources = list(dict.fromkeys(shown(types) for types in self.sources))
        return f"{shown(self.destination)} <- {'; '.join(sources)}"


def row(destination: Types, *sources: Types) -> TypeRow:
    """Return a row; without sources they have the types of the destination."""
    return TypeRow(destination, sources or (destination,))


@dataclass(frozen=True, slots=True)
class Operands:
    """What may be written for an instruction's operands; no `types` means any.

    `asked` are the rows of the page where compilers do not keep to them.
    """

    types: tuple[TypeRow, ...] = ()
    saturates: Saturation = Saturation.YES
    modifiers: Modifiers = Modifiers.ARITHMETIC
    asked: tuple[TypeRow, ...] = ()

    @property
    def takes_floats(self) -> bool:
        """Whether all sources may be floats."""
        return any(types & FLOATS for row in self.types for types in row.sources[:1]) and all(
            len(set(row.sources)) == 1 for row in self.types
        )

    def accept(self, destination: DataType | None, sources: Sequence[DataType | None]) -> bool:
        """Whether operands of these types go together."""
        return not self.types or any(row.accepts(destination, sources) for row in self.types)


_ORDER = (UB, B, UW, W, UD, D, UQ, Q, HF, BF, F, DF)


def shown(types: Types) -> str:
    """Return types as a list for messages."""
    return ", ".join(repr(kind) for kind in _ORDER if kind in types)


ANY = Operands()
REAL = (row(SINGLES), row(frozenset({DF})))
"""Floats: DF stays among itself."""
SUMS = (*REAL, row(BRAINS))
"""Arithmetic of floats: some instructions take BF as well."""
NUMBERS = (row(INTEGERS), *REAL)
NARROW_NUMBERS = (row(NARROW), *REAL)
SUM = Operands((row(INTEGERS), *SUMS))
EXTREME = Operands(NUMBERS)
QUOTIENT = Operands(NARROW_NUMBERS, Saturation.FLOAT_ONLY)
PRODUCT = Operands((row(NARROW), row(frozenset({UQ, Q}), DWORDS), *SUMS), Saturation.FLOAT_ONLY)
"""Products of integers: 64 bits come of dwords only."""
PRODUCT_SUM = Operands((row(NARROW), row(frozenset({UQ, Q}), DWORDS), *SUMS), Saturation.FLOAT_ONLY)
"""Sums of products: 64 bits come of dwords only, which compilers for cri write."""
COPIED = Operands((row(INTEGERS | SINGLES | {DF}), row(BRAINS)))
"""Conversions: BF is converted from and to F only."""
COMPARED = Operands((row(INTEGERS | SINGLES, INTEGERS), *SUMS), Saturation.NO)
FLOAT = Operands(REAL)
FUNCTION = Operands((row(SINGLES),))
"""Mathematical functions, which have no double-precision form."""
MACRO = Operands((row(frozenset({F})), row(frozenset({DF}))))
UNSATURATED_MACRO = Operands(MACRO.types, Saturation.NO)
BITWISE = Operands((row(INTEGERS),), Saturation.NO, Modifiers.LOGIC)
SHIFT = Operands((row(INTEGERS),))
SHIFT_UNSIGNED = Operands((row(INTEGERS),), asked=(row(UNSIGNED, UNSIGNED, INTEGERS),))
SHIFT_SIGNED = Operands((row(INTEGERS),), asked=(row(SIGNED, SIGNED, INTEGERS),))
BITS = Operands((row(WORDS | DWORDS),), Saturation.NO, Modifiers.NONE)
"""Functions of bits."""
COUNTED = Operands(
    (row(NARROW),),
    Saturation.NO,
    Modifiers.NONE,
    (row(frozenset({UD}), frozenset({UB, UW, UD})),),
)
"""Counting and finding bits, of at most 32."""
HIGHEST = Operands(COUNTED.types, Saturation.NO, Modifiers.NONE, (row(frozenset({UD}), DWORDS),))
LOWEST = Operands(COUNTED.types, Saturation.NO, Modifiers.NONE, (row(frozenset({UD})),))
REVERSED = Operands((row(DWORDS),), Saturation.NO, Modifiers.NONE, (row(frozenset({UD})),))
ROTATED = Operands((row(INTEGERS - BYTES),), Saturation.NO)
UNSIGNED_DWORD = Operands((row(frozenset({UD})),), Saturation.NO, Modifiers.NONE)
FIELD = Operands((row(DWORDS),), Saturation.NO, Modifiers.NONE)
CARRY = Operands((row(frozenset({UD}), frozenset({UD, UW, UB})),), Saturation.NO, Modifiers.NONE)
HIGH_PRODUCT = Operands(
    (row(DWORDS),), Saturation.NO, asked=(row(frozenset({UD})), row(frozenset({D})))
)
PLAIN_F = Operands((row(frozenset({F})),))
UNSATURATED_F = Operands(PLAIN_F.types, Saturation.NO)
