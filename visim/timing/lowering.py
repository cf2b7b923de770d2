"""Makes LLVM IR of functions that calculate with plain integers, from their Python source.

What it knows is what `visim.timing.core` is written in: 64-bit integers, named tuples whose fields
are integers or arrays of integers, and functions that call each other. Everything else is refused
when it is translated. Integers have 64 bits and wrap; indexes are not checked.

A named tuple is passed as a pointer to two words for each field: its value, or where the array
begins and how long it is. The fields themselves do not change.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any, get_type_hints

from visim.errors import InternalError

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}
_SELECTED = {"min": "slt", "max": "sgt"}

_HELPERS = """
define internal i64 @floor.quotient(i64 %a, i64 %b) alwaysinline {
  %q = sdiv i64 %a, %b
  %r = srem i64 %a, %b
  %inexact = icmp ne i64 %r, 0
  %signs = xor i64 %r, %b
  %apart = icmp slt i64 %signs, 0
  %lower = and i1 %inexact, %apart
  %one = zext i1 %lower to i64
  %floor = sub i64 %q, %one
  ret i64 %floor
}

define internal i64 @floor.rest(i64 %a, i64 %b) alwaysinline {
  %r = srem i64 %a, %b
  %inexact = icmp ne i64 %r, 0
  %signs = xor i64 %r, %b
  %apart = icmp slt i64 %signs, 0
  %lower = and i1 %inexact, %apart
  %more = select i1 %lower, i64 %b, i64 0
  %rest = add i64 %r, %more
  ret i64 %rest
}
"""


def lower(entry: Callable[..., int]) -> str:
    """Return a module with a function and all that it calls; only the first is visible outside.

    Raises:
        InternalError: a function does what cannot be translated.
    """
    if not isinstance(entry, FunctionType):
        raise InternalError(f"lowering: {entry!r} is not a function")
    found: dict[str, str] = {}
    waiting: list[FunctionType] = [entry]
    while waiting:
        function = waiting.pop()
        if function.__name__ not in found:
            writer = _FunctionWriter(function, is_entry=function is entry)
            found[function.__name__] = writer.write()
            waiting += writer.callees
    return "\n".join([_HELPERS, *found.values(), "!0 = !{}"])


@dataclass(frozen=True, slots=True)
class _Array:
    """An array: code that gives its start, and its length where that is known."""

    start: str
    length: str | None


class _FunctionWriter:
    """Writes one function; local variables are in memory, which LLVM makes registers of."""

    def __init__(self, function: FunctionType, *, is_entry: bool) -> None:
        self.function = function
        self.callees: list[FunctionType] = []
        self._globals: Mapping[str, object] = function.__globals__
        self._is_entry = is_entry
        self._lines: list[str] = []
        self._count = 0
        self._locals: dict[str, None] = {}
        self._aliases: dict[str, ast.expr] = {}
        self._loops: list[tuple[str, str]] = []
        self._kinds = _kinds_of(self.function)

    def write(self) -> str:
        """Return the function's text."""
        source = textwrap.dedent(inspect.getsource(self.function))
        definition = ast.parse(source).body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise self._refused(definition)
        names = [argument.arg for argument in definition.args.args]
        for name in names:
            if self._kinds[name] is int:
                self._store(name, f"%{name}")
        self._block(definition.body)
        self._do("ret i64 0")
        parameters = ", ".join(
            f"{'i64' if self._kinds[name] is int else 'ptr'} %{name}" for name in names
        )
        slots = [f"  %{name}.slot = alloca i64" for name in self._locals]
        linkage = "" if self._is_entry else "internal "
        return "\n".join(
            [
                f"define {linkage}i64 @{self.function.__name__}({parameters}) nounwind {{",
                "entry:",
                *slots,
                *self._lines,
                "}",
            ]
        )

    # Text

    def _fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def _let(self, code: str) -> str:
        name = f"%{self._fresh()}"
        self._lines.append(f"  {name} = {code}")
        return name

    def _do(self, code: str) -> None:
        self._lines.append(f"  {code}")

    def _label(self, name: str) -> None:
        """Begin a block; code behind a jump is in one that nobody reaches."""
        self._do(f"br label %{name}")
        self._lines.append(f"{name}:")

    def _leave(self, code: str) -> None:
        self._do(code)
        self._lines.append(f"{self._fresh('behind')}:")

    def _refused(self, node: ast.AST) -> InternalError:
        found = ast.unparse(node)
        return InternalError(f"lowering: {self.function.__name__}: cannot translate {found!r}")

    # Statements

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        match node:
            case ast.Expr(ast.Constant(str())):
                pass
            case ast.Expr(ast.Call() as call):
                self._call(call)
            case ast.Assign([ast.Name(name)], value) if self._is_array(value):
                self._aliases[name] = value
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                found = [self._value(value) for value in values]
                for target, value in zip(targets, found, strict=True):
                    self._assign(target, value)
            case ast.Assign([target], value):
                self._assign(target, self._value(value))
            case ast.AugAssign(target, operation, value):
                whole = ast.BinOp(_read(target), operation, value)
                self._assign(target, self._value(whole))
            case ast.If():
                self._if(node)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), arguments), body, []):
                self._for(name, arguments, body)
            case ast.Return(value):
                self._leave(f"ret i64 {0 if value is None else self._value(value)}")
            case ast.Break():
                self._leave(f"br label %{self._loops[-1][1]}")
            case ast.Continue():
                self._leave(f"br label %{self._loops[-1][0]}")
            case _:
                raise self._refused(node)

    def _assign(self, target: ast.expr, value: str) -> None:
        match target:
            case ast.Name(name):
                self._store(name, value)
            case ast.Subscript(array, index):
                self._do(f"store i64 {value}, ptr {self._element(array, index)}")
            case _:
                raise self._refused(target)

    def _store(self, name: str, value: str) -> None:
        self._locals[name] = None
        self._do(f"store i64 {value}, ptr %{name}.slot")

    def _branch(self, test: ast.expr, yes: str, no: str) -> None:
        condition = self._let(f"icmp ne i64 {self._value(test)}, 0")
        self._do(f"br i1 {condition}, label %{yes}, label %{no}")

    def _if(self, node: ast.If) -> None:
        yes, no, end = self._fresh("then"), self._fresh("else"), self._fresh("end")
        self._branch(node.test, yes, no)
        self._lines.append(f"{yes}:")
        self._block(node.body)
        self._do(f"br label %{end}")
        self._lines.append(f"{no}:")
        self._block(node.orelse)
        self._label(end)

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        head, turn, end = self._fresh("head"), self._fresh("turn"), self._fresh("end")
        self._label(head)
        self._branch(test, turn, end)
        self._lines.append(f"{turn}:")
        self._loops.append((head, end))
        self._block(body)
        self._loops.pop()
        self._do(f"br label %{head}")
        self._lines.append(f"{end}:")

    def _for(self, name: str, arguments: list[ast.expr], body: list[ast.stmt]) -> None:
        """Write a loop over a range, whose step is positive."""
        values = [self._value(argument) for argument in arguments]
        first, last = (values[0], values[1]) if len(values) > 1 else ("0", values[0])
        step = values[2] if len(values) > 2 else "1"
        counter = self._fresh(name)
        self._store(counter, first)
        head, turn = self._fresh("head"), self._fresh("turn")
        following, end = self._fresh("next"), self._fresh("end")
        self._label(head)
        now = self._let(f"load i64, ptr %{counter}.slot")
        more = self._let(f"icmp slt i64 {now}, {last}")
        self._do(f"br i1 {more}, label %{turn}, label %{end}")
        self._lines.append(f"{turn}:")
        self._store(name, now)
        self._loops.append((following, end))
        self._block(body)
        self._loops.pop()
        self._label(following)
        self._store(counter, self._let(f"add i64 {now}, {step}"))
        self._do(f"br label %{head}")
        self._lines.append(f"{end}:")

    # Expressions

    def _value(self, node: ast.expr) -> str:
        """Write what computes an expression; return its name, or a constant."""
        match node:
            case ast.Constant(int(number)):
                return str(int(number))
            case ast.Name(name):
                return self._named(name, node)
            case ast.Attribute(ast.Name(owner), name) if not self._is_array(node):
                return self._let(f"load i64, ptr {self._field(owner, name)}, !invariant.load !0")
            case ast.Subscript(array, index):
                return self._let(f"load i64, ptr {self._element(array, index)}")
            case ast.UnaryOp(ast.USub(), operand):
                return self._let(f"sub i64 0, {self._value(operand)}")
            case ast.UnaryOp(ast.Not(), operand):
                zero = self._let(f"icmp eq i64 {self._value(operand)}, 0")
                return self._let(f"zext i1 {zero} to i64")
            case ast.BinOp(left, operation, right):
                return self._binary(operation, self._value(left), self._value(right), node)
            case ast.Compare(left, [operation], [right]):
                code = f"{_COMPARED[type(operation)]} i64 {self._value(left)}, {self._value(right)}"
                return self._let(f"zext i1 {self._let(f'icmp {code}')} to i64")
            case ast.BoolOp(operation, [first, *rest]):
                return self._logical(operation, first, rest, node)
            case ast.IfExp(test, body, other):
                return self._conditional(test, body, other, node)
            case ast.Call():
                return self._call(node)
            case _:
                raise self._refused(node)

    def _named(self, name: str, node: ast.expr) -> str:
        if name in self._locals:
            return self._let(f"load i64, ptr %{name}.slot")
        constant = self._globals.get(name)
        if not isinstance(constant, int):
            raise self._refused(node)
        return str(constant)

    def _binary(self, operation: ast.operator, left: str, right: str, node: ast.expr) -> str:
        if isinstance(operation, ast.FloorDiv):
            return self._let(f"call i64 @floor.quotient(i64 {left}, i64 {right})")
        if isinstance(operation, ast.Mod):
            return self._let(f"call i64 @floor.rest(i64 {left}, i64 {right})")
        name = _BINARY.get(type(operation))
        if name is None:
            raise self._refused(node)
        return self._let(f"{name} i64 {left}, {right}")

    def _logical(
        self, operation: ast.boolop, first: ast.expr, rest: list[ast.expr], node: ast.expr
    ) -> str:
        """Return the first value that decides; those behind it are not computed."""
        result, end = self._fresh("decided"), self._fresh("end")
        self._store(result, self._value(first))
        for value in rest:
            more = self._fresh("more")
            some = self._let(f"icmp ne i64 {self._named(result, node)}, 0")
            yes, no = (more, end) if isinstance(operation, ast.And) else (end, more)
            self._do(f"br i1 {some}, label %{yes}, label %{no}")
            self._lines.append(f"{more}:")
            self._store(result, self._value(value))
        self._label(end)
        return self._named(result, node)

    def _conditional(self, test: ast.expr, body: ast.expr, other: ast.expr, node: ast.expr) -> str:
        result = self._fresh("chosen")
        yes, no, end = self._fresh("then"), self._fresh("else"), self._fresh("end")
        self._branch(test, yes, no)
        for label, value in ((yes, body), (no, other)):
            self._lines.append(f"{label}:")
            self._store(result, self._value(value))
            self._do(f"br label %{end}")
        self._lines.append(f"{end}:")
        return self._named(result, node)

    def _call(self, node: ast.Call) -> str:
        match node:
            case ast.Call(ast.Name("len"), [array]):
                length = self._array(array).length
                if length is None:
                    raise self._refused(node)
                return length
            case ast.Call(ast.Name("min" | "max" as name), [first, *others]):
                found = self._value(first)
                for other in others:
                    value = self._value(other)
                    better = self._let(f"icmp {_SELECTED[name]} i64 {value}, {found}")
                    found = self._let(f"select i1 {better}, i64 {value}, i64 {found}")
                return found
            case ast.Call(ast.Name(name), arguments, []):
                return self._invoke(name, arguments, node)
            case _:
                raise self._refused(node)

    def _invoke(self, name: str, arguments: list[ast.expr], node: ast.expr) -> str:
        callee = self._globals.get(name)
        if not isinstance(callee, FunctionType):
            raise self._refused(node)
        self.callees.append(callee)
        given = ", ".join(self._argument(argument) for argument in arguments)
        return self._let(f"call i64 @{callee.__name__}({given})")

    def _argument(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and self._is_tuple(node.id):
            return f"ptr %{node.id}"
        if self._is_array(node):
            return f"ptr {self._array(node).start}"
        return f"i64 {self._value(node)}"

    # Named tuples and arrays

    def _is_tuple(self, name: str) -> bool:
        return hasattr(self._kinds.get(name), "_fields")

    def _is_array(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(name):
                return name in self._aliases or self._kinds.get(name) is Any
            case ast.Attribute(ast.Name(owner), name):
                return self._is_tuple(owner) and _kinds_of(self._kinds[owner])[name] is Any
            case _:
                return False

    def _field(self, owner: str, name: str, word: int = 0) -> str:
        """Return a pointer to a word of a field."""
        number = self._kinds[owner]._fields.index(name)
        return self._let(f"getelementptr i64, ptr %{owner}, i64 {2 * number + word}")

    def _array(self, node: ast.expr) -> _Array:
        match node:
            case ast.Name(name) if name in self._aliases:
                return self._array(self._aliases[name])
            case ast.Name(name) if self._is_array(node):
                return _Array(f"%{name}", None)
            case ast.Attribute(ast.Name(owner), name):
                at, size = self._field(owner, name), self._field(owner, name, 1)
                start = self._let(f"load ptr, ptr {at}, !invariant.load !0")
                return _Array(start, self._let(f"load i64, ptr {size}, !invariant.load !0"))
            case _:
                raise self._refused(node)

    def _element(self, array: ast.expr, index: ast.expr) -> str:
        if not self._is_array(array):
            raise self._refused(array)
        start = self._array(array).start
        return self._let(f"getelementptr i64, ptr {start}, i64 {self._value(index)}")


@cache
def _kinds_of(described: Any) -> Mapping[str, Any]:
    """Return the types of a function's parameters, or of a named tuple's fields."""
    return get_type_hints(described)


def _read(target: ast.expr) -> ast.expr:
    """Return what reads the place that an assignment goes to."""
    return ast.parse(ast.unparse(target), mode="eval").body


__all__ = ["lower"]
