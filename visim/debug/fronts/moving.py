"""Commands that set places to stop, and that go on or back."""

from __future__ import annotations

import re

from visim.debug.engine.timeline import Moment
from visim.debug.fronts.replies import Reply, stop_reply
from visim.debug.session import Session
from visim.errors import ArgumentError

_IF = re.compile(r"\s+if\s+")
_MOMENT = re.compile(r"(\d{1,18}):(\d{1,18})")


def _count(text: str) -> int:
    if not text.strip():
        return 1
    return _number(text, "a count")


def _number(text: str, what: str) -> int:
    text = text.strip()
    if not re.fullmatch(r"\d{1,18}", text):
        raise ArgumentError(f"expected {what}, found {text!r}")
    return int(text)


def _with_condition(text: str) -> tuple[str, str | None]:
    place, *rest = _IF.split(text.strip(), maxsplit=1)
    return place, rest[0] if rest else None


def add_break(session: Session, text: str, *, temporary: bool = False) -> Reply:
    """Add a breakpoint."""
    place, condition = _with_condition(text)
    if not place:
        focus = session.needed()
        unit, pc = session.looker.place(focus)
        place = f"{session.lines.unit_name(unit)}+{pc}"
    found = session.places.add_breakpoint(place, condition, temporary=temporary)
    lines = [f"breakpoint {found.describe()}"]
    is_zebin = session.looker.facts.zebin is not None
    if re.fullmatch(r"\s*\d+\s*", place) and is_zebin and not session.lines.has_sources:
        lines.append(
            "  the program has no source lines, so this is a line of its vISA text; compile with "
            "-g for those of the source"
        )
    return Reply(lines, {"number": found.number, "place": found.name})


def add_temporary(session: Session, text: str) -> Reply:
    """Add a breakpoint that is met once."""
    return add_break(session, text, temporary=True)


def add_watch(session: Session, text: str, kinds: tuple[str, ...] = ("store", "atomic")) -> Reply:
    """Add a watchpoint."""
    name, condition = _with_condition(text)
    if not name:
        raise ArgumentError("watch what? out[7], slm:0,4 or a variable")
    found = session.places.add_watchpoint(name, session.focus, frozenset(kinds), condition)
    return Reply([f"watchpoint {found.describe()}"], {"number": found.number, "place": found.name})


def add_access_watch(session: Session, text: str) -> Reply:
    """Add a watchpoint that reads meet, too."""
    return add_watch(session, text, ("load", "store", "atomic"))


def delete(session: Session, text: str) -> Reply:
    """Delete breakpoints."""
    numbers = [_number(one, "a number") for one in text.split()]
    for number in numbers or [*session.places.breakpoints, *session.places.watchpoints]:
        session.places.delete(number)
    return Reply()


def enable(session: Session, text: str) -> Reply:
    """Enable breakpoints."""
    for one in text.split():
        session.places.set_enabled(_number(one, "a number"), enabled=True)
    return Reply()


def disable(session: Session, text: str) -> Reply:
    """Disable breakpoints."""
    for one in text.split():
        session.places.set_enabled(_number(one, "a number"), enabled=False)
    return Reply()


def condition(session: Session, text: str) -> Reply:
    """Change a breakpoint's condition."""
    number, _, rest = text.partition(" ")
    session.places.condition(_number(number, "a breakpoint's number"), rest.strip() or None)
    return Reply()


def ignore(session: Session, text: str) -> Reply:
    """Let a breakpoint be passed some times."""
    number, _, rest = text.partition(" ")
    found = session.places.numbered(_number(number, "a breakpoint's number"))
    found.ignore = _number(rest, "a count")
    return Reply([found.describe()])


def cont(session: Session, text: str) -> Reply:
    """Go on."""
    del text
    session.cont()
    return stop_reply(session)


def step(session: Session, text: str) -> Reply:
    """Go on by lines."""
    session.step(_count(text))
    return stop_reply(session)


def next_line(session: Session, text: str) -> Reply:
    """Go on by lines, over functions."""
    session.step(_count(text), over=True)
    return stop_reply(session)


def step_instruction(session: Session, text: str) -> Reply:
    """Go on by instructions."""
    session.step_instruction(_count(text))
    return stop_reply(session)


def next_instruction(session: Session, text: str) -> Reply:
    """Go on by instructions, over functions."""
    session.step_instruction(_count(text), over=True)
    return stop_reply(session)


def finish(session: Session, text: str) -> Reply:
    """Go on to the function's return."""
    del text
    session.finish()
    return stop_reply(session)


def until(session: Session, text: str) -> Reply:
    """Go on to a place."""
    session.until(text)
    return stop_reply(session)


def back(session: Session, text: str) -> Reply:
    """Go back by lines."""
    session.back(_count(text))
    return stop_reply(session)


def back_instruction(session: Session, text: str) -> Reply:
    """Go back by instructions."""
    session.back_instruction(_count(text))
    return stop_reply(session)


def back_cont(session: Session, text: str) -> Reply:
    """Go back to the last breakpoint."""
    del text
    session.back_cont()
    return stop_reply(session)


def back_out(session: Session, text: str) -> Reply:
    """Go back to the call."""
    del text
    session.back_out()
    return stop_reply(session)


def restart(session: Session, text: str) -> Reply:
    """Go back to the start."""
    del text
    session.go_to(Moment(0, 0))
    return stop_reply(session)


def to_fault(session: Session, text: str) -> Reply:
    """Run to the fault."""
    del text
    session.run_to_fault()
    return stop_reply(session)


def goto(session: Session, text: str) -> Reply:
    """Go to a moment, a group or a work-item."""
    words = text.split(None, 1)
    match words:
        case ["end"]:
            session.go_to(Moment(len(session.debuggee.order), 0))
        case ["moment", moment] if (found := _MOMENT.fullmatch(moment.strip())) is not None:
            session.go_to(Moment(int(found[1]), int(found[2])))
        case ["item", item]:
            session.go_to_item(triple(item))
        case ["group", rest]:
            group, _, thread = rest.partition("thread")
            index = session.debuggee.index_of(triple(group))
            if index is None:
                raise ArgumentError(f"there is no group {group.strip()}")
            if thread.strip():
                session.go_to_thread(index, _number(thread, "a thread's number"))
            else:
                session.go_to(Moment(index, 0))
        case _:
            raise ArgumentError("goto item N, group N [thread N], moment GROUP:TICK, or end")
    return stop_reply(session)


def triple(text: str) -> tuple[int, int, int]:
    """Return one to three numbers as coordinates."""
    found = re.findall(r"\d{1,18}", text)
    if not 1 <= len(found) <= 3 or not re.fullmatch(r"[\d\s,x()]+", text.strip()):
        raise ArgumentError(
            f"expected one to three numbers such as 5 or 5,2, found {text.strip()!r}"
        )
    x, y, z = (*map(int, found), 0, 0)[:3]
    return x, y, z
