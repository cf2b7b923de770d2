"""MIR as text. Whatever a function is, it can be printed: values without names get a `?`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from visim.engine.jit.mir.ops import ANY_MODE, NO_MODE
from visim.engine.jit.mir.types import type_text
from visim.engine.jit.mir.values import NOWHERE, Block, Edge, End, EndKind, Function, Value
from visim.engine.jit.mir.words import attribute_text, quoted


def function_text(function: Function, *, notes: bool = True) -> str:
    """Return a function as text, which the parser reads as an equal one.

    Args:
        function: the function.
        notes: whether blocks say where they come from, in comments.
    """
    return "\n".join(_lines(function, notes=notes)) + "\n"


def value_text(value: Value, names: dict[Value, int]) -> str:
    """Return a value as it stands in its block."""
    text = value.op.name
    if value.mode != NO_MODE:
        text += "/any" if value.mode == ANY_MODE else f"/{value.mode:#x}"
    if value.args:
        text += f" {_operands(value.args, names)}"
    found = attribute_text(value.attribute)
    text += f" {{{found}}}" if found else ""
    if value.type is not None:
        text = f"{_name(value, names)} = {text} : {type_text(value.type, value.lanes)}"
    return text + _at(value.pc)


def end_text(end: End, names: dict[Value, int]) -> str:
    """Return the end of a block."""
    parts = [_operands(end.args, names)] if end.args else []
    parts += [_edge(edge, names) for edge in end.edges]
    words = [str(end.kind)]
    if end.kind is EndKind.STOP:
        words.append(quoted(end.reason))
    if parts:
        words.append(", ".join(parts))
    return " ".join(words) + _at(end.pc)


def block_text(block: Block, names: dict[Value, int], *, notes: bool = True) -> Iterator[str]:
    """Yield the lines of a block."""
    head = f"^{block.number}"
    if block.params:
        shown = (f"{_name(one, names)}: {_type(one)}" for one in block.params)
        head += f"({', '.join(shown)})"
    yield f"{head}:" + (f"  ; {block.note}" if notes and block.note else "")
    for value in block.body:
        yield f"  {value_text(value, names)}"
    yield f"  {end_text(block.end, names)}"


def _lines(function: Function, *, notes: bool) -> Iterator[str]:
    yield f"function {quoted(function.name)} simd{function.simd} {{"
    for block in function.blocks:
        yield from block_text(block, function.names, notes=notes)
    yield "}"


def _type(value: Value) -> str:
    return "?" if value.type is None else type_text(value.type, value.lanes)


def _name(value: Value, names: dict[Value, int]) -> str:
    return f"%{names.get(value, '?')}"


def _operands(values: Iterable[Value], names: dict[Value, int]) -> str:
    return ", ".join(_name(value, names) for value in values)


def _edge(edge: Edge, names: dict[Value, int]) -> str:
    return f"^{edge.block}" + (f"({_operands(edge.args, names)})" if edge.args else "")


def _at(pc: int) -> str:
    return "" if pc == NOWHERE else f" @{pc}"


__all__ = ["block_text", "end_text", "function_text", "value_text"]
