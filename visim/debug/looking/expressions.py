"""Expressions about a stopped thread: `x[i] * 2`, `V40(0,8)<8;4,2>:f`, `item == 1027 and w < 0`.

The syntax is Python's, with vISA's operands and C's pointers (`*p`, `p->x`) in addition. Everything
is computed for all channels at once; nothing can be changed by it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import numpy as np

from visim.debug.looking.pointed import NOWHERE, either, is_lost, with_stars
from visim.debug.naming.pointers import moved
from visim.debug.naming.values import SourceValue
from visim.errors import ArgumentError
from visim.lex import nearest

MOST_CHARACTERS = 4096
_REGION = re.compile(
    r"(%?\w+)\((\d+),\s*(\d+)\)(?:<(?:(\d+);\s*(\d+),\s*)?(\d+)>)?(?::([a-z]+\d*))?", re.ASCII
)
_TYPED = re.compile(r"(%?[A-Za-z_]\w*):(ud|d|uw|w|ub|b|uq|q|hf|f|df|bf)\b", re.ASCII)
_PERCENT = re.compile(r"(?<![\w)\]])%([a-z]\w*)", re.ASCII)
_MOST_POWER = 1 << 12

_Two = Callable[[Any, Any], Any]
_operators: Any = operator  # its functions are of any types
_BINARY: Mapping[type, _Two] = {
    ast.Add: _operators.add,
    ast.Sub: _operators.sub,
    ast.Mult: _operators.mul,
    ast.Div: _operators.truediv,
    ast.FloorDiv: _operators.floordiv,
    ast.Mod: _operators.mod,
    ast.BitAnd: _operators.and_,
    ast.BitOr: _operators.or_,
    ast.BitXor: _operators.xor,
    ast.LShift: _operators.lshift,
    ast.RShift: _operators.rshift,
}
_COMPARE: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: _operators.eq,
    ast.NotEq: _operators.ne,
    ast.Lt: _operators.lt,
    ast.LtE: _operators.le,
    ast.Gt: _operators.gt,
    ast.GtE: _operators.ge,
}
_UNARY: Mapping[type, Callable[[Any], Any]] = {
    ast.USub: _operators.neg,
    ast.UAdd: _operators.pos,
    ast.Invert: _operators.invert,
    ast.Not: np.logical_not,
}


_MOST_PARTS = 16
_MOST_BEHIND = 64
_numpy: Any = np
_choose: Callable[..., Any] = _numpy.ma.where
Follow = Callable[[SourceValue, int], SourceValue]
"""Returns what a pointer points to, or an element from there on."""


class Names(Protocol):
    """What an expression can ask of a stopped thread."""

    def value(self, name: str) -> Any:
        """Return what a name stands for, None if it is not known."""
        ...

    def region(self, name: str, row: int, col: int, shape: tuple[int, int, int], kind: str) -> Any:
        """Return what a vISA operand reads."""
        ...

    def reinterpreted(self, name: str, kind: str) -> Any:
        """Return a variable's bytes as elements of another type."""
        ...

    def is_buffer(self, name: str) -> bool:
        """Whether a name stands for the whole array of a parameter."""
        ...

    def follow(self, pointer: SourceValue, index: Any) -> SourceValue:
        """Return what a pointer of the source points to, or an element from there on."""
        ...

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Return what a function gives; NotImplemented if there is none such."""
        ...

    def known(self) -> list[str]:
        """Return the names that there are."""
        ...


class Expression:
    """An expression that has been read.

    Args:
        text: as the user wrote it.

    Raises:
        ArgumentError: it is no expression, or has what expressions do not have.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if len(text) > MOST_CHARACTERS:
            raise ArgumentError(f"an expression has at most {MOST_CHARACTERS} characters")
        self._regions: list[tuple[str, int, int, tuple[int, int, int], str]] = []
        self._typed: list[tuple[str, str]] = []
        source = _REGION.sub(self._keep_region, self.text)
        source = _TYPED.sub(self._keep_typed, source)
        source = _PERCENT.sub(r"_percent_\1", source)
        source = source.replace("&&", " and ").replace("||", " or ")
        source, self._stars = with_stars(source.replace("->", ".").strip())
        try:
            self._tree = ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ArgumentError(f"{self.text!r} is no expression") from None

    def __str__(self) -> str:
        return self.text

    def _keep_region(self, match: re.Match[str]) -> str:
        name, row, col, vertical, width, horizontal, kind = match.groups()
        if match[6] is None and not re.fullmatch(r"%?[A-Za-z]\w*", name):
            return match[0]
        if match[6] is None and not match[7]:
            return match[0]  # a call of a function with two numbers
        stride = int(horizontal or 1)
        shape = (int(vertical or 64 * stride), int(width or 64), stride)
        self._regions.append((name, int(row), int(col), shape, kind or ""))
        return f"_region({len(self._regions) - 1})"

    def _keep_typed(self, match: re.Match[str]) -> str:
        self._typed.append((match[1], match[2]))
        return f"_typed({len(self._typed) - 1})"

    @property
    def equalities(self) -> list[tuple[str, int]]:
        """The names that have to be some number for the expression to hold."""
        parts = [self._tree]
        if isinstance(self._tree, ast.BoolOp) and isinstance(self._tree.op, ast.And):
            parts = self._tree.values
        found: list[tuple[str, int]] = []
        for part in parts:
            match part:
                case ast.Compare(ast.Name(id=name), [ast.Eq()], [ast.Constant(value=int() as n)]):
                    found.append((name, n))
                case _:
                    pass
        return found

    @property
    def root(self) -> str | None:
        """The name of the variable that this names, or names a part of; None: it is no such."""
        tree = self._tree
        while isinstance(tree, ast.Attribute | ast.Subscript) or self._is_star(tree):
            tree = tree.operand if isinstance(tree, ast.UnaryOp) else cast("Any", tree).value
        return tree.id.replace("_percent_", "%") if isinstance(tree, ast.Name) else None

    @property
    def element(self) -> int | None:
        """The number in brackets behind the name, None where there is none."""
        match self._tree:
            case ast.Subscript(ast.Name(), ast.Constant(value=int() as number)):
                return number
            case _:
                return None

    def _is_star(self, tree: ast.expr) -> bool:
        """Whether a unary plus is one that stands for the `*` of a pointer."""
        return isinstance(tree, ast.UnaryOp) and tree.col_offset in self._stars

    @property
    def has_stars(self) -> bool:
        """Whether there is a `*` of a pointer in it."""
        return bool(self._stars)

    @property
    def has_pointers(self) -> bool:
        """Whether it is written as what a pointer points to."""
        return self.has_stars or "->" in self.text

    def part_of(self, whole: SourceValue, follow: Follow) -> tuple[SourceValue, int | None]:
        """Return the part of a variable that this names, and the channel if it names one.

        `p.at[2]` is a part, and so is what a pointer points to; a number in brackets behind what is
        no array and no pointer is a channel.

        Args:
            whole: the variable.
            follow: follows pointers (`Names.follow`).

        Raises:
            ArgumentError: there is no such part.
        """
        return self._part_of(self._tree, whole, follow)

    def _part_of(
        self, tree: ast.expr, whole: SourceValue, follow: Follow
    ) -> tuple[SourceValue, int | None]:
        match tree:
            case ast.Name():
                return whole, None
            case ast.UnaryOp(operand=base) if self._is_star(tree):
                value, lane = self._part_of(base, whole, follow)
                return follow(value, 0), lane
            case ast.Attribute(base, name):
                value, lane = self._part_of(base, whole, follow)
                value = follow(value, 0) if value.is_pointer else value
                return self._member_of(value, name), lane
            case ast.Subscript(base, ast.Constant(value=int() as number)):
                value, lane = self._part_of(base, whole, follow)
                if value.is_pointer:
                    return follow(value, number), lane
                if value.is_scalar:
                    return value, number
                try:
                    return value.element(number), lane
                except IndexError as error:
                    raise ArgumentError(f"{self.text}: {error}") from None
            case _:
                raise ArgumentError(
                    f"{self.text}: name a variable, a member, or an element by a number"
                )

    def evaluate(self, names: Names) -> Any:
        """Return the value: an array with a value for each channel or element, or a number.

        Raises:
            ArgumentError: a name is not known, or the operation has no meaning.
        """
        try:
            with np.errstate(all="ignore"):
                found = self._value(self._tree, names)
                if isinstance(found, SourceValue) and found.is_scalar:
                    found = _number(found)
                if is_lost(found):
                    raise ArgumentError(f"{self.text}: {NOWHERE} in any channel")
                return found
        except ArgumentError:
            raise
        except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
            raise ArgumentError(f"{self.text}: {error}") from None
        except RecursionError:
            raise ArgumentError(f"{self.text[:40]}...: too deep") from None

    def _value(self, tree: ast.expr, names: Names) -> Any:
        match tree:
            case ast.Constant(value=int() | float() | str() as value):
                return value
            case ast.Name(id=name):
                return self._named(name.replace("_percent_", "%"), names)
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                a, b = self._value(left, names), self._value(right, names)
                pointer = _pointer_sum(a, op, b)
                if pointer is not None:
                    return pointer
                a, b = self._as_number(a), self._as_number(b)
                if isinstance(op, ast.LShift) and isinstance(b, int) and b > _MOST_POWER:
                    raise ArgumentError(f"a shift by {b} bits is too far")
                return _BINARY[type(op)](a, b)
            case ast.UnaryOp(operand=operand) if self._is_star(tree):
                return self._pointed_to(operand, names)
            case ast.UnaryOp(op, operand):
                return _UNARY[type(op)](self._number_of(operand, names))
            case ast.BoolOp(op, values):
                found = self._number_of(values[0], names)
                for value in values[1:]:
                    other = self._number_of(value, names)
                    found = either(found, other, is_and=isinstance(op, ast.And))
                return found
            case ast.Compare(left, ops, comparators):
                return self._compared(left, ops, comparators, names)
            case ast.IfExp(test, body, orelse):
                parts = [self._number_of(one, names) for one in (test, body, orelse)]
                return _choose(*parts)
            case ast.Subscript(base, index):
                return self._element(self._value(base, names), self._index(index, names), names)
            case ast.Tuple(elts):
                return tuple(self._value(one, names) for one in elts)
            case ast.Attribute(value, attribute):
                base = self._value(value, names)
                if isinstance(base, SourceValue) and base.is_pointer:
                    base = names.follow(base, 0)
                return self._member(base, attribute)
            case ast.Call(ast.Name(id=name), args, []):
                return self._called(name, args, names)
            case _:
                raise ArgumentError(f"{self.text}: {ast.unparse(tree)!r} has no meaning here")

    def _number_of(self, tree: ast.expr, names: Names) -> Any:
        """Return a value that can be computed with."""
        return self._as_number(self._value(tree, names))

    def _as_number(self, found: Any) -> Any:
        if not isinstance(found, SourceValue):
            return found
        numbers: Any = found.array()
        if numbers is found:
            raise ArgumentError(f"{self.text}: {found.type.name} is no number; name a member of it")
        return numbers

    def _pointed_to(self, tree: ast.expr, names: Names) -> Any:
        """Return what a pointer points to; a parameter that is a buffer is its first element."""
        match tree:
            case ast.Name(id=name) if names.is_buffer(name):
                return self._named(name, names).reshape(-1)[0]
            case ast.BinOp(ast.Name(id=name), ast.Add(), index) if names.is_buffer(name):
                return self._named(name, names).reshape(-1)[self._index(index, names)]
            case _:
                value = self._value(tree, names)
        if not isinstance(value, SourceValue) or not value.is_pointer:
            raise ArgumentError(f"{self.text}: {ast.unparse(tree)} is no pointer")
        return _opened(names.follow(value, 0))

    def _member(self, value: Any, name: str) -> Any:
        if isinstance(value, SourceValue):
            return _opened(self._member_of(value, name))
        if isinstance(value, tuple) and name in {"x", "y", "z"}:
            return cast("tuple[Any, ...]", value)["xyz".index(name)]
        raise ArgumentError(f"{self.text}: .{name} has no meaning here")

    def _member_of(self, value: SourceValue, name: str) -> SourceValue:
        found = value.member(name)
        if found is None:
            known = ", ".join(part for part, _ in value.parts()[:_MOST_PARTS])
            raise ArgumentError(f"{value.type.name} has no member {name!r}; it has {known or None}")
        return found

    def _element(self, value: Any, index: Any, names: Names) -> Any:
        if not isinstance(value, SourceValue):
            return value[index]
        if value.is_pointer:
            return self._elements_behind(value, index, names)
        if np.ndim(index) == 0 and not isinstance(index, slice):
            return _opened(value.element(int(index)))
        numbers: Any = value.array()
        if numbers is value:
            raise ArgumentError(f"{self.text}: of {value.type.name} name one element")
        if isinstance(index, slice):
            return numbers[index]
        if np.shape(index) != (value.width,):
            raise ArgumentError(f"{self.text}: an index is a number, or one of each channel")
        if np.any((np.asarray(index) < 0) | (np.asarray(index) >= len(numbers))):
            raise ArgumentError(f"{self.text}: the index is outside of {value.type.name} somewhere")
        return numbers[np.asarray(index), ..., np.arange(value.width)]

    def _elements_behind(self, pointer: SourceValue, index: Any, names: Names) -> Any:
        """Return an element from where a pointer points to, or several as rows."""
        if not isinstance(index, slice):
            return _opened(names.follow(pointer, index))
        index = cast("slice[int | None, int | None, int | None]", index)
        numbers = range(index.start or 0, index.stop or 0, index.step or 1)
        if not 0 < len(numbers) <= _MOST_BEHIND:
            raise ArgumentError(f"{self.text}: give 1 to {_MOST_BEHIND} elements, such as [0:8]")
        rows = [self._as_number(names.follow(pointer, number)) for number in numbers]
        return _numpy.ma.stack(rows) if any(map(np.ma.is_masked, rows)) else np.stack(rows)

    def _named(self, name: str, names: Names) -> Any:
        found = names.value(name)
        if found is None:
            near = nearest(name, names.known())
            hint = f"; did you mean {near!r}?" if near else "; 'info variables' lists all"
            raise ArgumentError(f"there is no {name!r} here{hint}")
        return found

    def _compared(
        self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr], names: Names
    ) -> Any:
        found: Any = None
        before = self._number_of(left, names)
        for op, other in zip(ops, others, strict=True):
            if type(op) not in _COMPARE:
                raise ArgumentError(f"{self.text}: this comparison has no meaning here")
            value = self._number_of(other, names)
            one = _COMPARE[type(op)](before, value)
            found = one if found is None else np.logical_and(found, one)
            before = value
        return found

    def _index(self, tree: ast.expr, names: Names) -> Any:
        if isinstance(tree, ast.Slice):
            parts = (tree.lower, tree.upper, tree.step)
            return slice(*(None if one is None else int(self._value(one, names)) for one in parts))
        if isinstance(tree, ast.Tuple):
            return tuple(self._index(one, names) for one in tree.elts)
        found = self._value(tree, names)
        return found if np.ndim(found) else operator.index(found)

    def _called(self, name: str, args: list[ast.expr], names: Names) -> Any:
        if name == "_region":
            return names.region(*self._regions[self._number(args)])
        if name == "_typed":
            return names.reinterpreted(*self._typed[self._number(args)])
        word = _WORDS.get(name)
        arguments: list[Any] = [
            one.id if number == word and isinstance(one, ast.Name) else self._number_of(one, names)
            for number, one in enumerate(args)
        ]
        found = names.call(name, arguments)
        if found is NotImplemented:
            raise ArgumentError(f"there is no function {name!r}")
        return found

    def _number(self, args: list[ast.expr]) -> int:
        match args:
            case [ast.Constant(value=int() as number)]:
                return number
            case _:
                raise ArgumentError(f"{self.text!r} is no expression")


def _pointer_sum(left: Any, op: ast.operator, right: Any) -> SourceValue | None:
    """Return a pointer and a number added, as C does it; None: it is no such sum."""
    if not isinstance(op, ast.Add | ast.Sub):
        return None
    if isinstance(op, ast.Add) and isinstance(right, SourceValue):
        left, right = right, left
    if not isinstance(left, SourceValue) or not left.is_pointer or isinstance(right, SourceValue):
        return None
    return moved(left, right if isinstance(op, ast.Add) else -right)


def _opened(value: SourceValue) -> Any:
    """Return a part of a variable: the numbers of all channels, where it is a number."""
    return value if value.is_pointer else _number(value)


def _number(value: SourceValue) -> Any:
    row = value.row() if value.is_scalar else None
    if row is None and value.is_scalar:
        raise ArgumentError(f"this part of the variable, a {value.type.name}, is not known here")
    return value if row is None else row


_WORDS = {"var": 0, "mem": 1, "slm": 0, "scratch": 0}
"""Functions that take a word, a variable's or a type's name, and as which argument."""


__all__ = ["Expression", "Names"]
