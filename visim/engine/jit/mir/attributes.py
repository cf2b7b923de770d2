"""What an operation of MIR is given besides values: numbers, lanes, places, how a message is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from visim.sem.effects import Space
from visim.sem.requests import Operation


class Bank(StrEnum):
    """The kinds of variables that a program declares."""

    GENERAL = "general"
    PREDICATE = "predicate"
    ADDRESS = "address"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Home:
    """Elements of a variable of a program, one for each lane.

    `index` tells general variables of a unit apart, `name` those of file scope and of the other
    banks. `places` are bytes from the variable's start, or numbers of elements in the other banks.
    """

    bank: Bank
    name: str
    index: int
    places: tuple[int, ...]

    @property
    def variable(self) -> tuple[Bank, str, int]:
        """Which variable it is."""
        return self.bank, self.name, self.index


@dataclass(frozen=True, slots=True)
class Message:
    """How a message reaches memory.

    The operands come in this order: the number of the surface, if it has one, its address or
    addresses, what is stored or computed with, and the mask, if it has one. `count` is how many
    elements each lane moves, or a block. `detail` is the name of an atomic operation.
    """

    space: Space
    count: int = 1
    surface: bool = False
    masked: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the sampler, or the unit for typed surfaces, is asked for.

    The operands are the surface, the sampler, if there is one, the parameters of the operation
    and the mask, if there is one.
    """

    operation: Operation
    sampler: bool
    masked: bool


@dataclass(frozen=True, slots=True)
class Callee:
    """What a call goes to: a function by its name, or by the handle that is the first operand.

    `control` is the value of %cr0 with which it begins.
    """

    name: str | None
    control: int


@dataclass(frozen=True, slots=True)
class Sources:
    """Whose each lane of an operation is: the channels, and the program counters of instructions.

    Faults tell them.
    """

    channels: tuple[int, ...]
    pcs: tuple[int, ...]


Attribute = None | int | float | str | tuple[float, ...] | Home | Message | Ask | Callee | Sources

__all__ = ["Ask", "Attribute", "Bank", "Callee", "Home", "Message", "Sources"]
