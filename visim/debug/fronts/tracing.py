"""Commands that say where values come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from visim.debug.engine.memory import SCRATCH
from visim.debug.fronts.replies import Reply, short_file
from visim.debug.looking.expressions import Expression
from visim.debug.looking.pointed import NOWHERE
from visim.debug.looking.variables import type_named
from visim.debug.naming.values import SourceValue
from visim.debug.session import Session
from visim.debug.slicing.chains import REGISTERS, Chain, Node, Slicer, Where
from visim.debug.slicing.sources import ADDRESS, BRANCH
from visim.debug.watching import Memory, watched
from visim.errors import ArgumentError
from visim.operands import General, PredicateVariable
from visim.types import DataType

_LANE = re.compile(r"(%?[A-Za-z_]\w*)\s*\[\s*(\d+)\s*\]")
_INDEX = re.compile(r"\[\d+\]")
_MOST_BYTES = 16
_MOST_SHOWN = 300
_MOST_LINES = 40
"""Steps that are shown one by one, and lines of those that are not."""


class Asked(NamedTuple):
    """Bytes of which a user asks why, and their type as far as that is known."""

    where: Where
    kind: DataType | None = None


def asked_of(session: Session, text: str) -> Asked:
    """Return the bytes of which a user asks why: an element, or a variable's element.

    Raises:
        ArgumentError: there is no such thing, or it is more than one value.
    """
    text = text.strip()
    lane = _LANE.fullmatch(text)
    name = lane[1] if lane else text
    if not session.looker.names(session.focus).is_buffer(name):
        found = _of_source(session, text)
        if found is not None:
            return found
        if lane is not None or _is_variable(session, text):
            return Asked(_variable(session, name, None if lane is None else int(lane[2])))
    what = watched(text, session.looker, session.focus)
    if not isinstance(what, Memory) or what.size > _MOST_BYTES:
        raise ArgumentError(f"why {text}: name one element, such as {text.partition('[')[0]}[0]")
    return Asked(Where(what.space, 0, what.start, what.size))


def _of_source(session: Session, text: str) -> Asked | None:
    """Return where a variable of the source is, for a channel; None: the text names none."""
    focus = session.focus
    if focus is None:
        return None
    expression = Expression(text)
    found = session.looker.located(expression, focus)
    if found is None:
        return None
    value, lane = found
    lane = focus.lane if lane is None else lane
    if not value.is_scalar:
        whole = f"({text})" if expression.has_stars else text
        parts = ", ".join(f"{whole}{one}" for one, _ in value.parts()[:3])
        raise ArgumentError(f"why {text}: name one value of this {value.type.name}: {parts}")
    if not 0 <= lane < value.width:
        raise ArgumentError(f"why {text}: there are channels 0 to {value.width - 1}")
    spots = value.spots.of(lane)
    if value.is_lost(lane):
        raise ArgumentError(f"why {text}: {NOWHERE} in channel {lane}")
    if not spots:
        raise ArgumentError(
            f"why {text}: the compiler keeps no {text} here; it knows that its value is "
            f"{value.text(lane)}"
        )
    if len(spots) > 1:
        raise ArgumentError(f"why {text}: it is in {len(spots)} places; ask why of its parts")
    [spot] = spots
    if spot.space == REGISTERS and session.looker.is_set_aside(focus):
        raise ArgumentError(
            f"why {text}: the function has called itself, and its registers are set aside; "
            "go back to where it goes on: finish"
        )
    owner = focus.thread if spot.space in {REGISTERS, SCRATCH} else 0
    return Asked(Where(spot.space, owner, spot.start, spot.size), _type_of(value))


def _type_of(value: SourceValue) -> DataType | None:
    """Return the vISA type that has a number of the source; None where there is none."""
    row = value.row()
    if row is None or row.dtype.kind not in "iuf":
        return None
    return type_named(f"{row.dtype.kind}{8 * row.dtype.itemsize}")


def _is_variable(session: Session, text: str) -> bool:
    if session.focus is None:
        return False
    scope = session.looker.names(session.focus).scope
    return scope is not None and scope.find(text) is not None


def _variable(session: Session, name: str, element: int | None) -> Where:
    """Return the bytes of a variable's element; that of the channel if none is named."""
    focus = session.needed()
    scope = session.looker.names(focus).scope
    found = None if scope is None else scope.find(name)
    if scope is None or found is None:
        raise ArgumentError(
            f"there is no argument and no variable {name!r} here; 'info variables' lists all"
        )
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
        raise ArgumentError("why what? out[7], or a variable such as sum or V57[3]")
    chain = Slicer(session).why(*asked_of(session, text))
    lines = show_chain(session, text.strip(), chain)
    if chain.nodes[0].record is None and not session.timeline.is_finished:
        lines.append("  nothing has written it up to here; 'goto end' goes to the launch's end")
    return Reply(lines, chain_data(session, chain))


def who_wrote(session: Session, text: str) -> Reply:
    """Say who has written a value last."""
    chain = Slicer(session).why(*asked_of(session, text))
    first = chain.nodes[0]
    lines = _node_lines(session, first, None)
    if first.record is not None:
        lines.append(f"  go there with: goto moment {first.group}:{first.record.tick}")
    return Reply(lines, _node_data(session, first))


def show_chain(session: Session, name: str, chain: Chain) -> list[str]:
    """Return a chain as text: each instruction with what it was computed from, by numbers."""
    lines = [f"{name}: {len(chain.nodes)} steps, the newest first"]
    before: str | None = None
    for node in chain.nodes[:_MOST_SHOWN]:
        lines += _node_lines(session, node, before)
        before = _source_text(session, node) or before
    left = chain.nodes[_MOST_SHOWN:]
    if left:
        lines.append(f"  ... and {len(left)} steps more, which --json has all:")
        lines += _left_lines(session, left)
    if chain.is_cut:
        lines.append(f"  ... more than {len(chain.nodes)} steps; ask why of one of the last ones")
    return lines


def _left_lines(session: Session, nodes: Sequence[Node]) -> list[str]:
    """Return how many steps each line and each beginning has that are not shown one by one."""
    counts = Counter(_source_text(session, one) or _where_text(session, one) for one in nodes)
    found = [f"      {text}  ({count} step{'s' * (count != 1)})" for text, count in counts.items()]
    more = len(found) - _MOST_LINES
    return [*found[:_MOST_LINES], *([f"      ... of {more} places more"] if more > 0 else [])]


def _where_text(session: Session, node: Node) -> str:
    if node.record is None:
        return _INDEX.sub("[...]", node.origin)
    return session.lines.where((node.record.unit, node.record.pc))


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


__all__ = ["Asked", "asked_of", "chain_data", "show_chain", "who_wrote", "why"]
