"""Pieces of code as functions: those that a module has several times are compiled once.

Compilers put a function where it is called, and turns of loops one behind the other: an FFT has 28
reductions of an angle, each of which is the same hundred instructions with other registers. As
functions of what they are given they are alike to the last letter. What is there once LLVM puts
where it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

FRAME = "%frame"
"""The pointer to the memory that a piece uses, as it knows it."""


@dataclass(frozen=True, slots=True)
class Given:
    """A scalar that a piece is given: its name there, its type, and what it is at the call."""

    name: str
    kind: str
    value: str


@dataclass
class _Piece:
    """The name of a function, and how often it is called."""

    name: str
    calls: int = 0

    def text(self, parameters: str, lines: str) -> str:
        """Return the function with these parameters and lines."""
        way = "noinline" if self.calls > 1 else "alwaysinline"
        head = f"define internal void @{self.name}(ptr {FRAME}{parameters}) {way} #0 {{\nentry:"
        return "\n".join([head, lines, "  ret void", "}"])


@dataclass
class Pieces:
    """The pieces of one module, by their parameters and lines."""

    _known: dict[tuple[str, str], _Piece] = field(default_factory=dict[tuple[str, str], _Piece])

    def call(self, frame: str, given: Sequence[Given], lines: Sequence[str]) -> str:
        """Return the call of a piece.

        Args:
            frame: the pointer to the memory that it uses.
            given: its parameters beside that.
            lines: its code behind the label `entry`, which ends without a jump.
        """
        parameters = "".join(f", {one.kind} {one.name}" for one in given)
        name = f"piece.{len(self._known)}"
        piece = self._known.setdefault((parameters, "\n".join(lines)), _Piece(name))
        piece.calls += 1
        values = "".join(f", {one.kind} {one.value}" for one in given)
        return f"call void @{piece.name}(ptr {frame}{values})"

    def render(self) -> str:
        """Return the text of all functions."""
        return "\n".join(piece.text(*key) for key, piece in self._known.items())
