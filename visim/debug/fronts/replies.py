"""What a command answers: lines for people, data for programs; and how a stop is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from visim.debug.looking.views import show_mask
from visim.debug.session import Session


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a command; `ends` asks the front to stop."""

    lines: list[str] = field(default_factory=list[str])
    data: Any = None
    ends: bool = False


def who(session: Session) -> str:
    """Return who is looked at, in one line."""
    focus = session.needed()
    group = session.looker.group_id(focus)
    flat = group[0] if group[1:] == (0, 0) else group
    text = f"group {flat}, thread {focus.thread}, channel {focus.lane}"
    item = session.looker.item(focus)
    items = session.looker.items
    if item is not None and items is not None:
        text = f"work-item {items.show(item)}, {text}"
    return text


def where_lines(session: Session) -> list[str]:
    """Return where the thread that is looked at is: function, line, instruction, channels."""
    focus = session.focus
    if focus is None:
        return []
    place = session.looker.place(focus)
    name = session.lines.unit_name(place[0])
    lines = [f"{name} at {session.lines.where(place)} ({who(session)})"]
    source = session.lines.source(place)
    text = session.lines.text(source) if source is not None else ""
    if source is not None and text:
        lines.append(f"{source.line:>6} {text}".rstrip())
    lines.append(f"{'pc ' + str(place[1]):>6} {session.lines.instruction(place).strip()}")
    bits, width = session.looker.active(focus), session.looker.kernel.simd_size
    if bits != (1 << width) - 1:
        lines.append(f"       channels {show_mask(bits, width)}")
    return lines


def stop_reply(session: Session) -> Reply:
    """Return why and where the launch stands."""
    stop = session.stop
    lines: list[str] = []
    fault = session.fault
    if fault is not None:
        lines += fault.render().splitlines()
    elif stop.message:
        lines.append(stop.message)
    lines += where_lines(session)
    return Reply(lines, session.describe())


def short_file(file: str) -> str:
    """Return a file's name without its folders."""
    return PurePath(file).name


__all__ = ["Reply", "short_file", "stop_reply", "where_lines", "who"]
