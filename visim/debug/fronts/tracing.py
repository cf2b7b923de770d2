"""Commands that say where values come from."""

from __future__ import annotations

import re
from typing import Any

from visim.debug.engine.memory import HOST, SLM
from visim.debug.fronts.replies import Reply, short_file
from visim.debug.places import REGISTER, watched
from visim.debug.session import Session
from visim.debug.slicing.chains import REGISTERS, Chain, Node, Slicer, Where
from visim.debug.slicing.sources import ADDRESS, BRANCH
from visim.errors import ArgumentError
from visim.operands import General, PredicateVariable

_LANE = re.compile(r"(%?[A-Za-z_]\w*)\s*\[\s*(\d+)\s*\]")
_MOST_BYTES = 16


def where_of(session: Session, text: str) -> Where:
    """Return the bytes of which a user asks why: an element, or a variable's element.

    Raises:
        ArgumentError: there is no such thing, or it is more than one value.
    """
    text = text.strip()
    lane = _LANE.fullmatch(text)
    is_array = session.looker.arguments.array(lane[1] if lane else text) is not None
    if (lane is not None and not is_array) or (lane is None and _is_variable(session, text)):
        return _variable(session, lane[1] if lane else text, None if lane is None else int(lane[2]))
    _, space, start, size, _, _ = watched(text, session.looker, session.focus)
    if space == REGISTER or size > _MOST_BYTES:
        raise ArgumentError(f"why {text}: name one element, such as {text.partition('[')[0]}[0]")
    return Where(HOST if space == HOST else SLM, 0, start, size)


def _is_variable(session: Session, text: str) -> bool:
    if session.focus is None or session.looker.arguments.array(text) is not None:
        return False
    scope = session.looker.names(session.focus).scope
    return scope is not None and scope.find(text) is not None


def _variable(session: Session, name: str, element: int | None) -> Where:
    """Return the bytes of a variable's element; that of the channel if none is named."""
    focus = session.needed()
    scope = session.looker.names(focus).scope
    found = None if scope is None else scope.find(name)
    if scope is None or found is None:
        raise ArgumentError(f"there is no argument and no variable {name!r} here")
    variable, unit = found
    start, size = scope.place(variable, unit)
    width = 4
    if isinstance(variable, General):
        width = variable.type.bytes
    elif isinstance(variable, PredicateVariable):
        width = 1
    count = size // width
    place = element if element is not None else (focus.lane if count > focus.lane else 0)
    if place >= count:
        raise ArgumentError(f"{name} has {count} elements")
    return Where(REGISTERS, focus.thread, start + place * width, width)


def why(session: Session, text: str) -> Reply:
    """Say what made a value."""
    if not text.strip():
        raise ArgumentError("why what? out[7], or a variable such as V57[3]")
    chain = Slicer(session).why(where_of(session, text))
    return Reply(show_chain(session, text.strip(), chain), chain_data(session, chain))


def who_wrote(session: Session, text: str) -> Reply:
    """Say who has written a value last."""
    chain = Slicer(session).why(where_of(session, text))
    first = chain.nodes[0]
    lines = _node_lines(session, first, None)
    if first.record is not None:
        lines.append(f"  go there with: goto moment {first.group}:{first.record.tick}")
    return Reply(lines, _node_data(session, first))


def show_chain(session: Session, name: str, chain: Chain) -> list[str]:
    """Return a chain as text: each instruction with what it was computed from, by numbers."""
    lines = [f"{name}: {len(chain.nodes)} steps, the newest first"]
    before: str | None = None
    for node in chain.nodes:
        lines += _node_lines(session, node, before)
        before = _source_text(session, node) or before
    if chain.is_cut:
        lines.append(f"  ... more than {len(chain.nodes)} steps; ask why of one of the last ones")
    return lines


def _source_text(session: Session, node: Node) -> str | None:
    if node.record is None:
        return None
    source = session.lines.source((node.record.unit, node.record.pc))
    if source is None:
        return None
    return f"{short_file(source.file)}:{source.line}  {session.lines.text(source).strip()}"


def _node_lines(session: Session, node: Node, before: str | None) -> list[str]:
    value = f" = {node.text}" if node.text else ""
    if node.record is None:
        return [f"{node.number:>4}  {node.origin}{value}"]
    lines: list[str] = []
    source = _source_text(session, node)
    if source is not None and source != before:
        lines.append(f"      {source}".rstrip())
    place = (node.record.unit, node.record.pc)
    where = "" if source is not None else f"{session.lines.where(place)}  "
    causes = ", ".join(
        f"{cause.number}" + (f" ({role})" if role in {ADDRESS, BRANCH} else "")
        for role, cause in sorted(node.causes, key=lambda one: (one[0], one[1].number))
    )
    made = f"  from {causes}" if causes else ""
    instruction = session.lines.instruction(place).strip()
    lines.append(f"{node.number:>4}  {where}[{node.lane}] {instruction}{value}{made}")
    return lines


def chain_data(session: Session, chain: Chain) -> dict[str, Any]:
    """Return a chain as JSON has it."""
    return {"steps": [_node_data(session, node) for node in chain.nodes], "cut": chain.is_cut}


def _node_data(session: Session, node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {
        "number": node.number,
        "value": node.text or None,
        "from": [{"step": cause.number, "as": role} for role, cause in node.causes],
    }
    if node.record is None:
        return {**found, "origin": node.origin}
    place = (node.record.unit, node.record.pc)
    source = session.lines.source(place)
    return {
        **found,
        "moment": [node.group, node.record.tick],
        "group": list(session.debuggee.group_id(node.group)),
        "thread": node.record.thread,
        "channel": node.lane,
        "function": session.lines.unit_name(place[0]),
        "pc": place[1],
        "file": None if source is None else source.file,
        "line": None if source is None else source.line,
        "visa_line": session.lines.visa(place).line,
        "instruction": session.lines.instruction(place).strip(),
    }


__all__ = ["chain_data", "show_chain", "where_of", "who_wrote", "why"]
