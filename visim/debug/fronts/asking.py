"""Commands that show what a stopped launch holds, and choose who is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.binary.dwarf.types import Kind
from visim.debug.fronts.moving import triple
from visim.debug.fronts.replies import Reply, short_file, where_lines, who
from visim.debug.looking.expressions import Expression
from visim.debug.looking.stopped import Focus
from visim.debug.looking.views import (
    instruction_listing,
    plain,
    show_mask,
    show_number,
    show_table,
    show_value,
    source_listing,
)
from visim.debug.naming.operations import Unplaced
from visim.debug.naming.values import SourceValue
from visim.debug.session import Session
from visim.errors import ArgumentError
from visim.module import SourceLine
from visim.runtime import pictures

_FORM = re.compile(r"/([xbdf])\s+(.*)", re.DOTALL)
_AROUND = 5
_MOST_ROWS = 200


def _lanes(session: Session) -> Any:
    return None if session.focus is None else session.looker.lanes_on(session.focus)


def show(session: Session, text: str) -> Reply:
    """Show the value of an expression."""
    match = _FORM.fullmatch(text.strip())
    form, source = (match[1], match[2]) if match else ("", text)
    if not source.strip():
        raise ArgumentError("print what? an expression such as x, V40(0,0)<8;8,1>:f or out[7]")
    value = session.evaluate(source)
    lines = show_value(value, lanes=_lanes(session), form=form)
    lines[0] = f"{source.strip()} = {lines[0]}"
    focus = session.focus
    is_row = np.shape(value) == (session.looker.kernel.simd_size,)
    if focus is not None and is_row and focus.lane < len(value):
        lines.append(f"  channel {focus.lane}: {show_number(value[focus.lane], form)}")
    if focus is not None and isinstance(value, SourceValue):
        lines.append(f"  channel {focus.lane}: {value.text(focus.lane)}")
    kind = _type_of(session, source.strip(), value)
    return Reply(lines, {"value": plain(value), **({"type": kind} if kind else {})})


def _type_of(session: Session, name: str, value: Any) -> str | None:
    """Return what C calls the type of a variable of the source."""
    if isinstance(value, SourceValue):
        return value.type.name
    if session.focus is None:
        return None
    found = session.looker.sourced.variables(session.focus).get(name)
    return None if found is None else found.type.name


def display(session: Session, text: str) -> Reply:
    """Show a value at every stop."""
    if text.strip():
        session.displayed.append(Expression(text).text)
    return displayed(session)


def displayed(session: Session) -> Reply:
    """Show what is shown at every stop."""
    lines: list[str] = []
    values: dict[str, Any] = {}
    for text in session.displayed:
        try:
            found = show(session, text)
        except ArgumentError as error:
            lines.append(f"{text}: {error}")
            continue
        lines += found.lines
        values[text] = found.data["value"]
    return Reply(lines, values)


def undisplay(session: Session, text: str) -> Reply:
    """Show nothing at stops."""
    del text
    session.displayed.clear()
    return Reply()


def _looked(session: Session, focus: Focus) -> Reply:
    session.look_at(focus)
    return Reply(where_lines(session), session.describe())


def _index(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text.strip()):
        raise ArgumentError(f"expected {what}, found {text.strip()!r}")
    return int(text)


def item(session: Session, text: str) -> Reply:
    """Look at a work-item."""
    if not text.strip():
        return Reply([who(session)])
    wanted = triple(text)
    channel = session.looker.find_item(wanted)
    if channel.group != session.looker.group_id(session.needed()):
        raise ArgumentError(
            f"work-item {text.strip()} is in group {channel.group}; go there with: goto item "
            f"{text.strip()}"
        )
    return _looked(session, Focus(session.timeline.group, channel.thread, channel.lane))


def thread(session: Session, text: str) -> Reply:
    """Look at a thread."""
    if not text.strip():
        return Reply([who(session)])
    focus = Focus(session.timeline.group, _index(text, "a thread's number"))
    session.looker.thread(focus)
    return _looked(session, replace(focus, lane=session.looker.first_lane(focus)))


def channel(session: Session, text: str) -> Reply:
    """Look at a channel."""
    if not text.strip():
        return Reply([who(session)])
    lane, width = _index(text, "a channel's number"), session.looker.kernel.simd_size
    if lane >= width:
        raise ArgumentError(f"there are channels 0 to {width - 1}")
    return _looked(session, replace(session.needed(), lane=lane))


def frame(session: Session, text: str) -> Reply:
    """Look at a function."""
    return _frame(session, _index(text or "0", "a number"))


def _frame(session: Session, number: int) -> Reply:
    session.look_at_frame(number)
    return Reply(where_lines(session), session.describe())


def up(session: Session, text: str) -> Reply:
    """Look at the caller."""
    del text
    return _frame(session, session.frame_number() + 1)


def down(session: Session, text: str) -> Reply:
    """Look at what is called."""
    del text
    number = session.frame_number()
    if not number:
        raise ArgumentError("this is the innermost function")
    return _frame(session, number - 1)


def follow(session: Session, text: str) -> Reply:
    """Follow a channel."""
    if text.strip() == "off":
        session.followed = None
        return Reply(["steps stop where any channel of the thread is on"])
    session.followed = replace(session.needed(), frame=0)
    return Reply([f"steps stop where this one is on: {who(session)}"])


def backtrace(session: Session, text: str) -> Reply:
    """Show the functions that the thread is in."""
    del text
    looked = session.frame_number()
    width = session.looker.kernel.simd_size
    lines: list[str] = []
    data: list[dict[str, Any]] = []
    for number, one in enumerate(session.backtrace()):
        mark, is_inlined = ">" if number == looked else " ", one.call is not None
        name = f"{one.name} (inlined)" if is_inlined else one.name
        lines.append(f"{mark} {number} {name} at {one.where}  {show_mask(one.active, width)}")
        found = {"function": one.name, "pc": one.place[1], "where": one.where}
        data.append({**found, "inlined": is_inlined})
    return Reply(lines, data)


def listing(session: Session, text: str) -> Reply:
    """Show the source, else the instructions."""
    place = session.looker.place(session.needed())
    source = session.lines.source(place)
    if text.strip() and session.lines.files:
        file = source.file if source is not None else session.lines.files[0]
        source = SourceLine(file, _index(text, "a line"))
    if source is None:
        return disassemble(session, "")
    lines = source_listing(session.lines, source, _AROUND)
    if not any(session.lines.text(SourceLine(source.file, n)) for n in range(1, source.line + 9)):
        lines = [f"the text of {source.file} is not known; 'disassemble' shows instructions"]
    return Reply(lines, {"file": source.file, "line": source.line})


def disassemble(session: Session, text: str) -> Reply:
    """Show instructions."""
    place = session.looker.place(session.needed())
    around = _index(text, "how many") if text.strip() else _AROUND
    lines = instruction_listing(session.lines, place, min(around, _MOST_ROWS))
    return Reply(lines, {"function": session.lines.unit_name(place[0]), "pc": place[1]})


def channels(session: Session, text: str) -> Reply:
    """Show which channels are on."""
    del text
    focus = session.needed()
    width = session.looker.kernel.simd_size
    place = session.looker.place(focus)
    rows = [(show_mask(session.looker.active(focus), width), "on, at", session.lines.where(place))]
    rows += [
        (show_mask(bits, width), "wait at", f"{session.lines.where(at)} (pc {at[1]})")
        for at, bits in session.waiting()
    ]
    data = [{"where": row[2], "channels": row[0]} for row in rows]
    return Reply(show_table(rows), data)


def changes(session: Session, text: str) -> Reply:
    """Show what has changed."""
    del text
    lines: list[str] = []
    found = session.changes()
    for name, before, now in found:
        places = np.flatnonzero(before != now)
        shown = ", ".join(
            f"[{n}] {show_number(before[n])} -> {show_number(now[n])}" for n in places[:4]
        )
        more = f", {places.size - 4} more" if places.size > 4 else ""
        lines.append(f"{name}: {shown}{more}")
    data = [{"name": name, "before": plain(b), "now": plain(now)} for name, b, now in found]
    return Reply(lines or ["nothing has changed"], data)


def picture(session: Session, text: str) -> Reply:
    """Show an argument as a picture."""
    name = text.strip()
    array = session.looker.arguments.array(name)
    if array is None:
        raise ArgumentError(f"there is no array {name!r} among the arguments")
    geometry = session.debuggee.plan.geometry
    sizes = [int(one) for one in geometry.get("global_size") or geometry.get("thread_space") or ()]
    size = (sizes[0], sizes[1]) if len(sizes) > 1 and sizes[1] > 1 else None
    found = pictures.as_picture(array, name=name, size=size)
    shown = pictures.terminal_picture(found, columns=80, has_halves=True)
    return Reply(shown.splitlines(), {"shape": list(found.shape)})


# info


def info(session: Session, text: str) -> Reply:
    """Show what there is."""
    word = text.strip() or "moment"
    known = [name for name in _INFO if name.startswith(word)]
    if len(known) != 1:
        raise ArgumentError(f"info {word!r}: expected one of {', '.join(_INFO)}")
    return _INFO[known[0]](session)


def _breakpoints(session: Session) -> Reply:
    places = session.places
    every = [*places.breakpoints.values(), *places.watchpoints.values()]
    lines = [one.describe() for one in sorted(every, key=lambda one: one.number)]
    data = [{"number": one.number, "name": one.name, "hits": one.hits} for one in every]
    return Reply(lines or ["there are none"], data)


def _threads(session: Session) -> Reply:
    width = session.looker.kernel.simd_size
    focus = session.focus
    rows = [
        (
            f"{'>' if focus is not None and focus.thread == one.number else ' '} {one.number}",
            one.state,
            one.where,
            show_mask(one.active, width) if one.place is not None else "",
        )
        for one in session.threads()
    ]
    data = [
        {"thread": one.number, "state": one.state, "where": one.where} for one in session.threads()
    ]
    return Reply(show_table(rows) or ["the launch has ended"], data)


def _variables(session: Session) -> Reply:
    focus = session.needed()
    scope, lanes = session.looker.names(focus).scope, session.looker.lanes_on(focus)
    lines: list[str] = []
    data: dict[str, Any] = {}
    for variable, unit in session.variables()[:_MOST_ROWS]:
        if scope is None or getattr(variable, "alias", None) is not None:
            continue
        value = scope.value(variable, unit)
        shown = show_value(value, lanes=lanes, most=8)
        lines.append(f"{variable.name} = {' '.join(one.strip() for one in shown)}")
        data[variable.name] = plain(value)
    return Reply(lines, data)


def _locals(session: Session) -> Reply:
    focus, looker = session.needed(), session.looker
    lanes = looker.lanes_on(focus)
    lines: list[str] = []
    data: dict[str, Any] = {}
    for name, variable in looker.sourced.variables(focus).items():
        found: dict[str, Any] = {"type": variable.type.name}
        try:
            value = looker.sourced.value(focus, variable)
        except Unplaced as reason:
            lines.append(f"{variable.type.name} {name}: {reason}")
            data[name] = {**found, "unknown": str(reason)}
            continue
        lines.append(f"{variable.type.name} {name} = {_local(value, focus, lanes)}")
        data[name] = {**found, "value": plain(value)}
    return Reply(lines or [_NO_LOCALS], data)


def _local(value: SourceValue, focus: Focus, lanes: NDArray[np.bool_]) -> str:
    """Return a variable in one line: a number of all channels, else that of the looked-at one."""
    texts = {value.text(int(lane)) for lane in np.flatnonzero(lanes)}
    if len(texts) == 1:
        return f"{texts.pop()}  (all channels)"
    row = value.row() if value.is_scalar else None
    if row is None:
        return f"{value.text(focus.lane)}  (channel {focus.lane})"
    form = "x" if value.type.kind is Kind.POINTER else ""
    return " ".join(one.strip() for one in show_value(row, lanes=lanes, most=8, form=form))


_NO_LOCALS = (
    "no debug data names variables here: compile with -g; 'info variables' shows those of vISA"
)


def _args(session: Session) -> Reply:
    lines: list[str] = []
    data: dict[str, Any] = {}
    for one in session.debuggee.kernel.args:
        value = session.looker.arguments.all[one.name]
        shown = " ".join(part.strip() for part in show_value(value, most=8))
        lines.append(f"{one.name} = {shown}  ({one.type_name})")
        data[one.name] = {"type": one.type_name, "kind": one.kind}
    return Reply(lines, data)


def _group(session: Session) -> Reply:
    timeline, order = session.timeline, session.debuggee.order
    if timeline.is_finished:
        return Reply([f"all {len(order)} groups have ended"])
    group = session.debuggee.group_id(timeline.group)
    threads = len(timeline.stepper.group.order)
    slm = timeline.stepper.slm.size
    text = f"group {group}, number {timeline.group} of {len(order)} in order, {threads} threads"
    return Reply(
        [f"{text}, {slm} bytes of local memory"], {"group": list(group), "threads": threads}
    )


def _memory(session: Session) -> Reply:
    rows = [
        (f"0x{one.base:x}", f"{one.size} bytes", one.name, "" if one.writable else "read-only")
        for one in session.debuggee.machine.memory.allocations
    ]
    return Reply(show_table(rows), [{"address": row[0], "name": row[2]} for row in rows])


def _moment(session: Session) -> Reply:
    moment, timeline = session.timeline.moment, session.timeline
    lines = [
        f"moment {moment.group}:{moment.tick} (group in order : instructions in it)",
        f"{timeline.executed} instructions executed here, {timeline.checkpoints} checkpoints",
    ]
    return Reply(lines, {"moment": list(moment), "executed": timeline.executed})


def _files(session: Session) -> Reply:
    names = [f"{short_file(one)}  {one}" for one in session.lines.files]
    return Reply(names or ["the kernel has no source lines"], list(session.lines.files))


_INFO: dict[str, Callable[[Session], Reply]] = {
    "breakpoints": _breakpoints,
    "threads": _threads,
    "variables": _variables,
    "locals": _locals,
    "args": _args,
    "group": _group,
    "memory": _memory,
    "moment": _moment,
    "files": _files,
}
