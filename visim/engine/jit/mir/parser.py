"""MIR from text.

Operations check themselves as they are made; whether values are seen from where they are used is
the verifier's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from visim.engine.jit.mir.errors import MirSyntaxError, MirTypeError
from visim.engine.jit.mir.ops import ANY_MODE, NO_MODE, OPS
from visim.engine.jit.mir.types import type_of
from visim.engine.jit.mir.values import NOWHERE, Block, Edge, End, EndKind, Function, Value, param
from visim.engine.jit.mir.words import BadAttribute, attribute_of
from visim.types import DataType

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")


def parse_function(text: str) -> Function:
    """Return the function that a text is.

    Raises:
        MirSyntaxError: it is none; says where, and what was expected.
    """
    return _Reader(text).function()


@dataclass
class _Reader:
    """Reads a text from its start to its end."""

    text: str
    at: int = 0
    known: dict[str, Value] = field(default_factory=dict[str, Value])

    # Characters

    def _skip(self) -> None:
        text = self.text
        while self.at < len(text):
            if text[self.at] == ";":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif not text[self.at].isspace():
                return
            else:
                self.at += 1

    def _fail(self, expected: str, at: int | None = None) -> MirSyntaxError:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        rest = self.text[at:].split("\n", 1)[0][:20].strip()
        return MirSyntaxError(line, column, expected, repr(rest) if rest else "the end")

    def _has(self, mark: str) -> bool:
        """Whether a mark is next; it is passed by then."""
        self._skip()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def _need(self, mark: str) -> None:
        if not self._has(mark):
            raise self._fail(repr(mark))

    def _word(self, expected: str) -> str:
        self._skip()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in _WORD:
            self.at += 1
        if self.at == start:
            raise self._fail(expected)
        return self.text[start : self.at]

    def _number(self, expected: str) -> int:
        start = self.at
        word = self._word(expected)
        try:
            return int(word, 0)
        except ValueError:
            raise self._fail(expected, start) from None

    def _quoted(self, expected: str) -> str:
        """Read a name, which may be in quotes."""
        self._skip()
        start = self.at
        if self.text.startswith('"', start):
            self._string()
            return str(attribute_of("", f"is {self.text[start : self.at]}"))
        if self._has("%"):
            return f"%{self._word(expected)}"
        return self._word(expected)

    def _string(self) -> None:
        """Pass a string."""
        start = self.at
        self.at += 1
        while not self.text.startswith('"', self.at):
            self.at += 2 if self.text.startswith("\\", self.at) else 1
            if self.at >= len(self.text):
                raise self._fail("a string that ends", start)
        self.at += 1

    # Structure

    def function(self) -> Function:
        """Read a whole function."""
        self._need("function")
        name = self._quoted("a name")
        self._need("simd")
        simd = self._number("how many channels there are")
        self._need("{")
        blocks: list[Block] = []
        while not self._has("}"):
            blocks.append(self._block())
        self._skip()
        if self.at < len(self.text):
            raise self._fail("the end")
        if not blocks:
            raise self._fail("a block")
        return Function(name, simd, tuple(blocks))

    def _block(self) -> Block:
        self._need("^")
        number = self._number("the number of a block")
        params: list[Value] = []
        if self._has("("):
            params = self._list(self._param, ")")
        self._need(":")
        body: list[Value] = []
        while True:
            self._skip()
            start = self.at
            if self._has("%"):
                body.append(self._defined(self._word("a name"), start))
                continue
            word = self._word("an operation or the end of a block")
            if word in set(EndKind):
                end = self._end(EndKind(word))
                return Block(number, tuple(params), tuple(body), end)
            body.append(self._operation(word, start, has_result=False))

    def _list(self, read: Callable[[], Value], closing: str) -> list[Value]:
        found = [read()]
        while self._has(","):
            found.append(read())
        self._need(closing)
        return found

    def _param(self) -> Value:
        self._need("%")
        name, start = self._word("a name"), self.at
        self._need(":")
        return self._define(name, start, param(*self._type()))

    def _defined(self, name: str, start: int) -> Value:
        self._need("=")
        self._skip()
        at = self.at
        word = self._word("an operation")
        return self._define(name, start, self._operation(word, at, has_result=True))

    def _define(self, name: str, start: int, value: Value) -> Value:
        if name in self.known:
            raise self._fail(f"a name that is new, not %{name}", start)
        self.known[name] = value
        return value

    def _type(self) -> tuple[DataType, int]:
        self._skip()
        start = self.at
        found = type_of(self._word("a type"))
        if found is None:
            raise self._fail("a type, such as f32x16, u32 or m16", start)
        return found

    def _operation(self, word: str, start: int, *, has_result: bool) -> Value:
        op = OPS.get(word)
        if op is None or word == "param":
            raise self._fail("an operation", start)
        mode = self._mode()
        args = self._operands()
        attribute = self._attribute(word)
        kind, lanes = None, 0
        if has_result:
            self._need(":")
            kind, lanes = self._type()
        pc = self._pc()
        try:
            return Value(op, kind, lanes, args, attribute, mode, pc)
        except MirTypeError as error:
            raise self._fail(f"for {word} {error.expected}", start) from None

    def _mode(self) -> int:
        if not self.text.startswith("/", self.at):
            return NO_MODE
        self.at += 1
        if self.text.startswith("any", self.at):
            self.at += 3
            return ANY_MODE
        return self._number("bits of %cr0, or any")

    def _operands(self) -> tuple[Value, ...]:
        found: list[Value] = []
        while self._has("%") if not found else self._has_next("%"):
            found.append(self._value())
        return tuple(found)

    def _has_next(self, mark: str) -> bool:
        """Whether a comma and then a mark are next; both are passed by then."""
        before = self.at
        if self._has(",") and self._has(mark):
            return True
        self.at = before
        return False

    def _value(self) -> Value:
        start = self.at - 1
        name = self._word("a name")
        found = self.known.get(name)
        if found is None:
            raise self._fail(f"a value that stands above, not %{name}", start)
        return found

    def _attribute(self, op: str) -> str | None:
        if not self._has("{"):
            return None
        start = self.at
        while not self.text.startswith("}", self.at):
            if self.at >= len(self.text) or self.text[self.at] == "\n":
                raise self._fail("'}'", start)
            if self.text.startswith('"', self.at):
                self._string()
            else:
                self.at += 1
        inside = self.text[start : self.at]
        self.at += 1
        try:
            return attribute_of(op, inside)  # pyright: ignore[reportReturnType]
        except BadAttribute as error:
            raise self._fail(str(error), start) from None

    def _pc(self) -> int:
        return self._number("a program counter") if self._has("@") else NOWHERE

    # Ends

    def _end(self, kind: EndKind) -> End:
        reason = self._quoted("a reason") if kind is EndKind.STOP else ""
        args = self._operands()
        edges: list[Edge] = []
        wants = kind not in {EndKind.RET, EndKind.STOP}
        while wants and ((not edges and not args and self._has("^")) or self._more(edges, args)):
            edges.append(self._edge())
        return End(kind, args, tuple(edges), reason, self._pc())

    def _more(self, edges: list[Edge], args: tuple[Value, ...]) -> bool:
        return bool(edges or args) and self._has_next("^")

    def _edge(self) -> Edge:
        number = self._number("the number of a block")
        if not self._has("("):
            return Edge(number)

        def read() -> Value:
            self._need("%")
            return self._value()

        return Edge(number, tuple(self._list(read, ")")))


__all__ = ["parse_function"]
