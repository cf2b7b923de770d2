"""The commands of the prompt and of scripts, one row each.

A command takes a session and the rest of its line, and answers with a `Reply`. What is wrong with
it is an `ArgumentError`. Knows no terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from visim.debug.fronts import asking, moving, tracing
from visim.debug.fronts.replies import Reply
from visim.debug.session import Session
from visim.errors import ArgumentError
from visim.lex import nearest

_WORD = re.compile(r"\s*([A-Za-z_-]+|\?)(/\w+)?\s*(.*)", re.DOTALL)
MOST_COMMAND = 1 << 14


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its names (the first is the one in texts), arguments, what it does in words."""

    names: list[str]
    usage: str
    doc: str
    run: Callable[[Session, str], Reply]


def _help(session: Session, text: str) -> Reply:
    del session
    name = text.strip()
    if name:
        one = find_command(name)
        return Reply([f"{', '.join(one.names)} {one.usage}".rstrip(), f"  {one.doc}"])
    lines: list[str] = []
    for one in COMMANDS:
        others = f" ({', '.join(one.names[1:])})" if len(one.names) > 1 else ""
        lines.append(f"{one.names[0]} {one.usage}".rstrip() + others)
        lines.append(f"    {one.doc}")
    return Reply(lines)


def _quit(session: Session, text: str) -> Reply:
    del session, text
    return Reply(ends=True)


COMMANDS: tuple[Command, ...] = (
    Command(
        ["break", "b"],
        "PLACE [if EXPR]",
        "Stop at a line, file:line, visa:line, pc:N, label, function or barrier.",
        moving.add_break,
    ),
    Command(["tbreak", "tb"], "PLACE [if EXPR]", "Stop there once.", moving.add_temporary),
    Command(
        ["watch"],
        "X [if EXPR]",
        "Stop when out[7], slm:BYTE,SIZE or a variable is written.",
        moving.add_watch,
    ),
    Command(
        ["awatch", "rwatch"],
        "X [if EXPR]",
        "Stop when it is read or written.",
        moving.add_access_watch,
    ),
    Command(
        ["delete", "d"],
        "[N...]",
        "Delete breakpoints and watchpoints; all without a number.",
        moving.delete,
    ),
    Command(["enable"], "N...", "Let breakpoints count again.", moving.enable),
    Command(["disable"], "N...", "Let breakpoints not count.", moving.disable),
    Command(["condition"], "N [EXPR]", "Give a breakpoint a condition, or none.", moving.condition),
    Command(["ignore"], "N COUNT", "Pass a breakpoint so often before it counts.", moving.ignore),
    Command(
        ["continue", "c"],
        "",
        "Go on to the next breakpoint, watchpoint, fault or the end.",
        moving.cont,
    ),
    Command(
        ["step", "s"], "[N]", "Go on to the thread's next source line, into functions.", moving.step
    ),
    Command(
        ["next", "n"], "[N]", "Go on to the next source line, over functions.", moving.next_line
    ),
    Command(["stepi", "si"], "[N]", "Execute an instruction.", moving.step_instruction),
    Command(
        ["nexti", "ni"],
        "[N]",
        "Execute an instruction, and what it calls.",
        moving.next_instruction,
    ),
    Command(
        ["finish", "fin"], "", "Go on until the function returns or the thread ends.", moving.finish
    ),
    Command(["until", "u"], "PLACE", "Go on until the thread is there.", moving.until),
    Command(
        ["back", "reverse-step", "rs"], "[N]", "Go back by source lines of the thread.", moving.back
    ),
    Command(
        ["backi", "reverse-stepi", "rsi"],
        "[N]",
        "Go back by instructions of the group.",
        moving.back_instruction,
    ),
    Command(
        ["reverse-continue", "rc"],
        "",
        "Go back to the last breakpoint or watchpoint that was met.",
        moving.back_cont,
    ),
    Command(
        ["reverse-finish", "rf"], "", "Go back to where the function was called.", moving.back_out
    ),
    Command(["restart", "run"], "", "Go back to the start of the launch.", moving.restart),
    Command(
        ["fault"],
        "",
        "Run at full speed to where the launch faults, or to its end.",
        moving.to_fault,
    ),
    Command(
        ["goto"],
        "item N | group N [thread N] | moment GROUP:TICK | end",
        "Go to any moment.",
        moving.goto,
    ),
    Command(
        ["why"],
        "out[7] | VARIABLE[lane]",
        "Say which instructions and loads made a value, back to arguments.",
        tracing.why,
    ),
    Command(
        ["who"],
        "out[7]",
        "Say which instruction has last written it, and go there with 'goto'.",
        tracing.who_wrote,
    ),
    Command(
        ["print", "p"],
        "[/x|/b|/d|/f] EXPR",
        "Show a value: variables, regions V4(0,8)<8;4,2>:f, out[7], mem(a, f32, 4).",
        asking.show,
    ),
    Command(
        ["display"], "EXPR", "Show a value at every stop; 'undisplay' ends all.", asking.display
    ),
    Command(["undisplay"], "", "Show nothing at stops.", asking.undisplay),
    Command(
        ["item", "work-item"],
        "[X[,Y[,Z]]]",
        "Look at a work-item of this group by its global id.",
        asking.item,
    ),
    Command(["thread", "t"], "[N]", "Look at a thread of the group.", asking.thread),
    Command(["channel", "lane"], "[N]", "Look at a channel of the thread.", asking.channel),
    Command(
        ["frame", "f"], "[N]", "Look at a function of those that the thread is in.", asking.frame
    ),
    Command(["up"], "", "Look at the caller.", asking.up),
    Command(["down"], "", "Look at what is called.", asking.down),
    Command(["follow"], "[off]", "Let steps stop only where this channel is on.", asking.follow),
    Command(
        ["backtrace", "bt", "where"],
        "",
        "Show the functions that the thread is in.",
        asking.backtrace,
    ),
    Command(
        ["list", "l"],
        "[LINE]",
        "Show the source around the line, else the instructions.",
        asking.listing,
    ),
    Command(
        ["disassemble", "disas"],
        "[N]",
        "Show the instructions around this one.",
        asking.disassemble,
    ),
    Command(
        ["channels"], "", "Show which channels are on, and where the others wait.", asking.channels
    ),
    Command(
        ["changes"],
        "",
        "Show the variables that have changed since this was last asked.",
        asking.changes,
    ),
    Command(["picture"], "NAME", "Show an argument as a picture.", asking.picture),
    Command(
        ["info", "i"],
        "breakpoints|threads|variables|locals|args|group|memory|moment|files",
        "Show what there is.",
        asking.info,
    ),
    Command(["help", "h", "?"], "[COMMAND]", "Say what commands do.", _help),
    Command(["quit", "q", "exit"], "", "End.", _quit),
)
_BY_NAME = {name: one for one in COMMANDS for name in one.names}


def find_command(name: str) -> Command:
    """Return a command by name, or by a beginning that only one has.

    Raises:
        ArgumentError: there is none such.
    """
    found = _BY_NAME.get(name)
    if found is not None:
        return found
    begun = {id(one): one for key, one in _BY_NAME.items() if key.startswith(name)}
    if len(begun) == 1:
        return next(iter(begun.values()))
    near = nearest(name, _BY_NAME)
    hint = f"did you mean {near!r}?" if near else "'help' lists all"
    if begun:
        hint = "it may be " + ", ".join(sorted(one.names[0] for one in begun.values()))
    raise ArgumentError(f"there is no command {name!r}; {hint}")


def execute(session: Session, line: str) -> Reply:
    """Do what a line says.

    Raises:
        VisimError: it is no command, or cannot be done.
    """
    if len(line) > MOST_COMMAND:
        raise ArgumentError(f"a command has at most {MOST_COMMAND} characters")
    match = _WORD.fullmatch(line)
    if match is None:
        if not line.strip() or line.lstrip().startswith("#"):
            return Reply()
        raise ArgumentError(f"{line.strip()!r} is no command; 'help' lists all")
    name, form, rest = match.groups()
    one = find_command(name)
    return one.run(session, f"{form or ''} {rest}".strip())


def names() -> list[str]:
    """Return the names of all commands."""
    return sorted(_BY_NAME)


__all__ = ["COMMANDS", "Command", "execute", "find_command", "names"]
