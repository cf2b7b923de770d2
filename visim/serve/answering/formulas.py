"""What a formula of a request computes: an expression of NumPy, and nothing else of Python.

Numbers with fractions are computed in float64. A formula sees the arguments as they were before
the launch, and i, the index of each element of the array that it describes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.serve.shapes import RequestError

Value = Any
_DEEPEST = 40
_BINARY: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
    ast.MatMult: np.matmul,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.UAdd: np.positive,
    ast.USub: np.negative,
    ast.Invert: np.invert,
    ast.Not: np.logical_not,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_NAMES = """
abs arccos arcsin arctan arctan2 argmax argmin argsort bincount cbrt ceil clip
concatenate convolve cos cosh cumprod cumsum diff dot exp exp2 expm1 floor fmax fmin
hypot isfinite isnan log log10 log1p log2 logical_and logical_not logical_or matmul max
maximum mean min minimum mod ones outer power prod reshape rint roll sign sin sinh sort
sqrt square std sum tan tanh transpose tril triu trunc var where zeros
"""
FUNCTIONS: Mapping[str, Callable[..., Value]] = {name: getattr(np, name) for name in _NAMES.split()}
"""The functions of NumPy that a formula may call, by their names there."""


def evaluate(formula: str, arguments: Mapping[str, Value], like: NDArray[Any], path: str) -> Any:
    """Return what a formula gives, in the shape of an array.

    Args:
        formula: the expression.
        arguments: the values of the names in it.
        like: the array that it describes.
        path: the field of the request.

    Raises:
        RequestError: it is no such expression, or gives something of another size.
    """
    known = {name: _exact(value) for name, value in arguments.items()}
    known["i"] = np.arange(like.size, dtype=np.int64).reshape(like.shape)
    try:
        tree = ast.parse(formula.strip(), mode="eval")
        with np.errstate(all="ignore"):
            found = np.asarray(_Formula(known, path).value(tree.body, 0))
            if found.size == like.size:
                return found.reshape(like.shape)
            return np.broadcast_to(found, like.shape)
    except (SyntaxError, RecursionError) as error:
        raise RequestError(path, f"no expression: {error}") from None
    except RequestError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise RequestError(path, f"the formula cannot be computed: {error}") from None


def _exact(value: Value) -> Value:
    """Return numbers with fractions as float64, and others as they are."""
    is_fraction = getattr(getattr(value, "dtype", None), "kind", "") == "f"
    return value.astype(np.float64) if is_fraction else value


class _Formula:
    def __init__(self, known: Mapping[str, Value], path: str) -> None:
        self._known = known
        self._path = path

    def value(self, node: ast.expr, depth: int) -> Value:
        """Return what an expression gives."""
        if depth > _DEEPEST:
            raise RequestError(self._path, "the formula is nested too deeply")
        below = depth + 1
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return _number(number)
            case ast.Name(id=name):
                return self._named(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](
                    *_bounded(self.value(left, below), self.value(right, below))
                )
            case ast.UnaryOp(op=op, operand=operand):
                return _UNARY[type(op)](self.value(operand, below))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return _COMPARISONS[type(op)](self.value(left, below), self.value(right, below))
            case ast.IfExp(test=test, body=body, orelse=other):
                chosen: Callable[..., Value] = np.where
                return chosen(*(self.value(part, below) for part in (test, body, other)))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self._called(name, arguments, keywords, below)
            case ast.Subscript(value=array, slice=index):
                return self.value(array, below)[self._index(index, below)]
            case ast.Attribute(value=array, attr="T"):
                return np.transpose(self.value(array, below))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, below) for part in parts)
            case _:
                text = ast.unparse(node)[:80]
                raise RequestError(self._path, f"a formula cannot have {text!r}")

    def _named(self, name: str) -> Value:
        if name in self._known:
            return self._known[name]
        if name in {"pi", "e", "inf", "nan"}:
            return np.float64(getattr(np, name))
        known = ", ".join(self._known)
        raise RequestError(self._path, f"there is no argument {name!r}; there are: {known}")

    def _called(
        self, name: str, arguments: list[ast.expr], keywords: list[ast.keyword], depth: int
    ) -> Value:
        if name not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise RequestError(self._path, f"there is no function {name!r}; there are: {known}")
        given = {word.arg: self.value(word.value, depth) for word in keywords}
        if not set(given) <= {"axis", "keepdims"}:
            raise RequestError(self._path, f"{name} takes axis and keepdims only, of the keywords")
        named = {str(word): _plain(value) for word, value in given.items()}
        return FUNCTIONS[name](*(self.value(one, depth) for one in arguments), **named)

    def _index(self, node: ast.expr, depth: int) -> Value:
        match node:
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = (lower, upper, step)
                return slice(*(part and _plain(self.value(part, depth)) for part in parts))
            case ast.Tuple(elts=parts):
                return tuple(self._index(part, depth) for part in parts)
            case ast.Constant(value=None):
                return None
            case _:
                return self.value(node, depth)


def _number(number: float) -> Value:
    """Return a constant; an integer takes the type of the array that it meets."""
    if isinstance(number, int) and abs(number) > np.iinfo(np.int64).max:
        raise ValueError(f"{str(number)[:20]}... has more than 64 bits")
    return number


def _bounded(left: Value, right: Value) -> tuple[Value, Value]:
    """Return two operands, with 64 bits where both are Python's integers, which grow endlessly."""
    if isinstance(left, int) and isinstance(right, int):
        return np.int64(left), np.int64(right)
    return left, right


def _plain(value: Value) -> Any:
    return value.item() if hasattr(value, "item") else value
