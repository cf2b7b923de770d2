"""Kinds of messages, as functions for them are told apart."""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.common.moving import packed_form
from visim.engine.jit.ir.text import scalar_bytes
from visim.sem.effects import AtomicOperation


@dataclass(frozen=True, slots=True)
class Access:
    """A kind of message.

    `flat` says that addresses are looked up among the allocations; `checked` that what is out of
    range is noticed; `own` that no other worker can reach the memory; `returns` that somebody
    reads what an atomic operation returns.
    """

    verb: str
    lanes: int
    scalar: str
    parts: int
    flat: bool
    checked: bool
    own: bool = False
    returns: bool = True
    operation: AtomicOperation | None = None

    @property
    def size(self) -> int:
        """How many bytes each lane reaches."""
        return self.parts * scalar_bytes(self.scalar)

    @property
    def name(self) -> str:
        """The name of a function that does an atomic operation."""
        return f"{self.verb}.{'own.' if self.own else ''}{self.lanes}.{self.scalar}"

    @property
    def vector(self) -> str:
        """The type of one vector of values."""
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def vector_bytes(self) -> int:
        """The bytes of one vector in the exchange area."""
        return self.lanes * scalar_bytes(self.scalar)

    @property
    def looks_up(self) -> bool:
        """Whether addresses are compared with the allocations."""
        return self.flat and self.checked

    @property
    def form(self) -> int:
        """What `moving` has to know of the message."""
        return packed_form(
            scalar_bytes(self.scalar),
            self.parts,
            self.vector_bytes,
            flat=self.looks_up,
            writes=self.verb != "load" and self.operation is not AtomicOperation.LOAD,
            aligned=self.operation is not None,
        )
