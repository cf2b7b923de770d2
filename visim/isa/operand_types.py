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
SINGLES: Types = frozenset({F, HF, BF})
"""Floats that may meet in one instruction."""
FLOATS: Types = SINGLES | {DF}
EVERY: Types = INTEGERS | FLOATS


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
        sources = list(dict.fromkeys(_shown(types) for types in self.sources))
        return f"{_shown(self.destination)} <- {'; '.join(sources)}"


def row(destination: Types, *sources: Types) -> TypeRow:
    """Return a row; without sources they have the types of the destination."""
    return TypeRow(destination, sources or (destination,))


@dataclass(frozen=True, slots=True)
class Operands:
    """What may be written for an instruction's operands; no `types` means any."""

    types: tuple[TypeRow, ...] = ()
    saturates: Saturation = Saturation.YES
    modifiers: Modifiers = Modifiers.ARITHMETIC

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


def _shown(types: Types) -> str:
    return ", ".join(repr(kind) for kind in _ORDER if kind in types)


ANY = Operands()
REAL = (row(SINGLES), row(frozenset({DF})))
"""Arithmetic of floats: DF stays among itself."""
NUMBERS = (row(INTEGERS), *REAL)
NARROW_NUMBERS = (row(NARROW), *REAL)
SUM = Operands(NUMBERS)
PRODUCT = Operands((row(NARROW), row(frozenset({UQ, Q}), DWORDS), *REAL), Saturation.FLOAT_ONLY)
"""Products of integers: 64 bits come of dwords only."""
COMPARED = Operands(
    tuple(row(EVERY, types) for types in (INTEGERS, SINGLES, frozenset({DF}))), Saturation.NO
)
FLOAT = Operands(REAL)
FUNCTION = Operands((row(SINGLES),))
"""Mathematical functions, which have no double-precision form."""
MACRO = Operands((row(frozenset({F})), row(frozenset({DF}))))
UNSATURATED_MACRO = Operands(MACRO.types, Saturation.NO)
BITWISE = Operands((row(INTEGERS),), Saturation.NO, Modifiers.LOGIC)
SHIFT = Operands((row(INTEGERS),))
SHIFT_UNSATURATED = Operands((row(INTEGERS),), Saturation.NO)
BITS = Operands((row(INTEGERS),), Saturation.NO, Modifiers.NONE)
"""Moving bits."""
COUNTED = Operands((row(NARROW),), Saturation.NO, Modifiers.NONE)
"""Finding and counting bits, of at most 32."""
ROTATED = Operands((row(INTEGERS - BYTES),), Saturation.NO, Modifiers.NONE)
UNSIGNED_DWORD = Operands((row(frozenset({UD})),), Saturation.NO, Modifiers.NONE)
FIELD = Operands((row(DWORDS),), Saturation.NO, Modifiers.NONE)
CARRY = Operands((row(frozenset({UD}), frozenset({UD, UW, UB})),), Saturation.NO, Modifiers.NONE)
PLAIN_F = Operands((row(frozenset({F})),))
UNSATURATED_F = Operands(PLAIN_F.types, Saturation.NO)
