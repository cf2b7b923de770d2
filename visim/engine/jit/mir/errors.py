"""What can be wrong with MIR, as errors that say where, what is there and what has to be."""

from __future__ import annotations

from visim.errors import InternalError, UnsupportedError, VisimError


class MirTypeError(InternalError):
    """An operation was made of operands, or with an attribute, that it does not take."""

    def __init__(self, op: str, expected: str) -> None:
        self.op = op
        self.expected = expected
        super().__init__(f"MIR: {op} takes {expected}")


class MirSyntaxError(VisimError):
    """A text is no MIR; it says the line and the column, from 1, and what was expected there."""

    def __init__(self, line: int, column: int, expected: str, found: str) -> None:
        self.line = line
        self.column = column
        self.expected = expected
        self.found = found
        super().__init__(f"{line}:{column}: expected {expected}, found {found}")


class MirError(InternalError):
    """A function of MIR is not well formed; `problems` says what is wrong with it, and where."""

    def __init__(self, function: str, problems: tuple[str, ...]) -> None:
        self.function = function
        self.problems = problems
        shown = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"MIR of {function} is not well formed:\n{shown}")


class NotLifted(UnsupportedError):
    """A unit does not become MIR; the message says what of it stands in the way."""


__all__ = ["MirError", "MirSyntaxError", "MirTypeError", "NotLifted"]
