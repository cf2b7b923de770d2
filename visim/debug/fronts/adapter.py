"""`visim dap`: a session spoken to in the Debug Adapter Protocol.

Threads are the hardware threads of the group that stands, channels are scopes, and everything
goes backwards, too. One launch a connection; requests are answered one after another, but for a
pause, which comes while the launch runs.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, BinaryIO, cast

from visim.debug.control import Stop
from visim.debug.engine.timeline import Moment
from visim.debug.fronts.breaking import Breaking
from visim.debug.fronts.commands import execute
from visim.debug.fronts.sourcing import Sourcing, reference
from visim.debug.fronts.tree import Tree
from visim.debug.fronts.wire import Broken, Wire
from visim.debug.looking.stopped import Focus
from visim.debug.session import FrameView, Session
from visim.errors import ArgumentError, VisimError

MakeSession = Callable[[Mapping[str, Any], Callable[[str], None]], Session]
"""Makes a session of what a client's launch request says; takes what gets the kernel's text."""

_REASONS = {
    "breakpoint": "breakpoint",
    "watchpoint": "data breakpoint",
    "scope": "data breakpoint",
    "fault": "exception",
    "finding": "exception",
    "start": "entry",
    "moment": "goto",
    "pause": "pause",
}
_REFUSED = 1
"""The number of all errors; their texts tell them apart."""
_ENDED = 1
"""The thread that stands for a launch that has ended."""
_CAPABILITIES = (
    "supportsConfigurationDoneRequest",
    "supportsFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsEvaluateForHovers",
    "supportsStepBack",
    "supportsDataBreakpoints",
    "supportsDisassembleRequest",
    "supportsSteppingGranularity",
    "supportsInstructionBreakpoints",
    "supportsExceptionInfoRequest",
    "supportsRestartRequest",
    "supportsTerminateRequest",
)


class Adapter:
    """Answers a client.

    Args:
        wire: the connection.
        make: makes the session.
    """

    def __init__(self, wire: Wire, make: MakeSession) -> None:
        self._wire = wire
        self._make = make
        self._session_made: Session | None = None
        self._options: Mapping[str, Any] = {}
        self._after: Callable[[], None] | None = None
        self._is_over = False
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._pause = threading.Event()

    @property
    def session(self) -> Session:
        """The session.

        Raises:
            ArgumentError: the client has not asked to launch anything.
        """
        if self._session_made is None:
            raise ArgumentError("nothing is launched yet")
        return self._session_made

    @cached_property
    def tree(self) -> Tree:
        """What is shown of the launch."""
        return Tree(self.session)

    @cached_property
    def breaking(self) -> Breaking:
        """The breakpoints."""
        return Breaking(self.session, self.tree)

    @cached_property
    def sourcing(self) -> Sourcing:
        """The sources."""
        return Sourcing(self.session.lines)

    def serve(self) -> None:
        """Answer until the client goes."""
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        while not self._is_over:
            message = self._messages.get()
            if message is None:
                return
            self._request(message)

    def _read(self) -> None:
        """Take what the client sends, while the launch runs, too; a pause is answered at once."""
        try:
            while (message := self._wire.receive()) is not None:
                if message.get("type") != "request":
                    continue
                if message.get("command") == "pause":
                    self._pause.set()
                    self._wire.send(_answer_to(message))
                else:
                    self._messages.put(message)
                if message.get("command") == "disconnect":
                    self._pause.set()
                    break
        except Broken as broken:
            self._wire.event("output", category="stderr", output=f"visim dap: {broken}\n")
        except (OSError, ValueError):
            pass  # the client has gone, and with it the connection
        self._messages.put(None)

    def _request(self, message: dict[str, Any]) -> None:
        command = message.get("command")
        given: Any = message.get("arguments") or {}
        answer = _answer_to(message)
        handler = _HANDLERS.get(str(command))
        self._after = None
        try:
            if handler is None or not isinstance(given, dict):
                raise ArgumentError(f"visim dap does not know the request {command!r}")
            answer["body"] = handler(self, cast("dict[str, Any]", given)) or {}
        except VisimError as error:
            answer |= _refusal(str(error))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            answer |= _refusal(f"{command}: wrong arguments: {error!r}")
        self._pause.clear()
        self._wire.send(answer)
        if self._after is not None:
            self._after()

    # Beginning and ending

    def initialize(self, given: dict[str, Any]) -> dict[str, Any]:
        """Say what visim can."""
        del given
        filters = [{"filter": "fault", "label": "Faults", "default": True}]
        return {**dict.fromkeys(_CAPABILITIES, True), "exceptionBreakpointFilters": filters}

    def launch(self, given: dict[str, Any]) -> None:
        """Prepare the launch."""
        self._options = given

        def receive(text: str) -> None:
            self._wire.event("output", category="stdout", output=text)

        if self._session_made is not None:
            raise ArgumentError("a connection has one launch; restart begins it again")
        self._session_made = self._make(given, receive)
        self._session_made.control.pause = self._pause.is_set
        self._after = lambda: self._wire.event("initialized")

    def configuration_done(self, given: dict[str, Any]) -> None:
        """Begin, now that the client has set its breakpoints."""
        del given

        def begin() -> None:
            if self._options.get("atFault"):
                self._stopped(self.session.run_to_fault())
            elif self._options.get("stopOnEntry"):
                self._stopped(self.session.stop)
            else:
                at_start = self.session.control.met_here()
                self._stopped(at_start or self.session.cont())

        self._after = begin

    def restart(self, given: dict[str, Any]) -> None:
        """Go back to the start."""
        del given
        self.session.go_to(Moment(0, 0))
        self.configuration_done({})

    def disconnect(self, given: dict[str, Any]) -> None:
        """End."""
        del given
        self._is_over = True

    def terminate(self, given: dict[str, Any]) -> None:
        """End the launch."""
        del given
        self._after = self._end

    def _end(self) -> None:
        self._wire.event("exited", exitCode=0)
        self._wire.event("terminated")

    def _stopped(self, stop: Stop) -> None:
        """Tell the client where the launch stands, or that it has ended."""
        self.tree.clear()
        session = self.session
        if session.focus is None and session.fault is None and not self._options.get("stopAtEnd"):
            self._end()
            return
        fault = session.fault
        thread = _ENDED if session.focus is None else session.focus.thread + 1
        self._wire.event(
            "stopped",
            reason=_REASONS.get(stop.reason, "step"),
            description=stop.message or stop.reason,
            text=stop.message if fault is None else fault.message,
            threadId=thread,
            allThreadsStopped=True,
            hitBreakpointIds=list(stop.numbers),
        )

    # Moving

    def _move(self, move: Callable[[], Stop], *, continues: bool = False) -> dict[str, Any]:
        self._after = lambda: self._stopped(move())
        return {"allThreadsContinued": True} if continues else {}

    def _choose(self, given: dict[str, Any]) -> None:
        """Let steps be those of the thread that the client names."""
        session, number = self.session, int(given.get("threadId") or 0) - 1
        focus = session.focus
        if focus is None or focus.thread == number or number < 0:
            return
        if number in session.timeline.stepper.group.threads:
            session.look_at(Focus(focus.group, number))

    def cont(self, given: dict[str, Any]) -> dict[str, Any]:
        """Go on."""
        del given
        return self._move(self.session.cont, continues=True)

    def next_line(self, given: dict[str, Any]) -> dict[str, Any]:
        """Go on by a line or an instruction, over functions."""
        session = self.session
        self._choose(given)
        if given.get("granularity") == "instruction":
            return self._move(lambda: session.step_instruction(over=True))
        return self._move(lambda: session.step(over=True))

    def step_in(self, given: dict[str, Any]) -> dict[str, Any]:
        """Go on by a line or an instruction."""
        session = self.session
        self._choose(given)
        if given.get("granularity") == "instruction":
            return self._move(session.step_instruction)
        return self._move(session.step)

    def step_out(self, given: dict[str, Any]) -> dict[str, Any]:
        """Go on to the function's return."""
        self._choose(given)
        return self._move(self.session.finish)

    def step_back(self, given: dict[str, Any]) -> dict[str, Any]:
        """Go back by a line or an instruction."""
        session = self.session
        self._choose(given)
        if given.get("granularity") == "instruction":
            return self._move(session.back_instruction)
        return self._move(session.back)

    def reverse_continue(self, given: dict[str, Any]) -> dict[str, Any]:
        """Go back to what was met last."""
        del given
        return self._move(self.session.back_cont)

    # Looking

    def threads(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the hardware threads of the group that stands."""
        del given
        found = [
            {"id": one.number + 1, "name": self._thread_name(one.number, one.state)}
            for one in self.session.threads()
            if one.place is not None
        ]
        return {"threads": found or [{"id": _ENDED, "name": "the launch has ended"}]}

    def _thread_name(self, number: int, state: str) -> str:
        session = self.session
        group = session.debuggee.group_id(session.timeline.group)
        flat = group[0] if group[1:] == (0, 0) else group
        return f"group {flat}, thread {number} ({state})"

    def stack_trace(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the functions that a thread is in."""
        session, number = self.session, int(given["threadId"]) - 1
        if session.focus is None:
            return {"stackFrames": [], "totalFrames": 0}
        focus = session.focus
        if focus.thread != number:
            focus = Focus(focus.group, number)
            focus = replace(focus, lane=session.looker.first_lane(focus))
        known = session.backtrace(replace(focus, frame=0, inlined=0))
        first = int(given.get("startFrame") or 0)
        count = int(given.get("levels") or 0) or len(known)
        frames = [self._frame(one) for one in known[first : first + count]]
        return {"stackFrames": frames, "totalFrames": len(known)}

    def _frame(self, view: FrameView) -> dict[str, Any]:
        source, line = self.sourcing.of(view.place, view.source)
        found: dict[str, Any] = {
            "id": self.tree.frame(view.focus),
            "name": view.name if view.call is None else f"{view.name} (inlined)",
            "line": line,
            "column": 0 if source is None else 1,
            "instructionPointerReference": reference(view.place),
        }
        return found if source is None else {**found, "source": source}

    def scopes(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the scopes of a function."""
        focus = self.tree.focus(int(given["frameId"]))
        return {"scopes": [] if focus is None else self.tree.scopes(focus)}

    def variables(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what is below a node."""
        rows = self.tree.open(int(given["variablesReference"]))
        first, count = int(given.get("start") or 0), int(given.get("count") or 0)
        return {"variables": rows[first : first + count] if count else rows}

    def evaluate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the value of an expression, or the answer of a command."""
        focus, text = self.tree.focus(given.get("frameId")), str(given["expression"])
        context = str(given.get("context"))
        if context == "repl" and self.tree.moves(text):
            lines = execute(self.session, text).lines
            self._after = lambda: self._stopped(self.session.stop)
            return {"result": "\n".join(lines), "variablesReference": 0}
        return self.tree.evaluate(text, focus, context)

    def exception_info(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what the fault is."""
        del given
        fault, stop = self.session.fault, self.session.stop
        if fault is None and stop.reason == "finding":
            return _exception("sanitizer", stop.message)
        if fault is None:
            raise ArgumentError("the launch does not stand at a fault")
        name = f"{fault.category}/{fault.code}"
        return _exception(name, fault.message, stackTrace=fault.render())


def _answer_to(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request that is done as it asks."""
    return {
        "type": "response",
        "request_seq": message.get("seq", 0),
        "command": str(message.get("command")),
        "success": True,
        "body": {},
    }


def _exception(name: str, message: str, **details: str) -> dict[str, Any]:
    """Return what stops the launch, as the answer to `exceptionInfo` has it."""
    return {
        "exceptionId": name,
        "description": message,
        "breakMode": "always",
        "details": {"message": message, **details},
    }


def _refusal(reason: str) -> dict[str, Any]:
    """Return what the answer to a request that fails has in addition."""
    error = {"id": _REFUSED, "format": reason, "showUser": False}
    return {"success": False, "message": reason, "body": {"error": error}}


_Handler = Callable[[Adapter, dict[str, Any]], dict[str, Any] | None]
_HANDLERS: Mapping[str, _Handler] = {
    "initialize": Adapter.initialize,
    "launch": Adapter.launch,
    "configurationDone": Adapter.configuration_done,
    "restart": Adapter.restart,
    "disconnect": Adapter.disconnect,
    "terminate": Adapter.terminate,
    "setBreakpoints": lambda adapter, given: adapter.breaking.set_breakpoints(given),
    "setFunctionBreakpoints": lambda adapter, given: adapter.breaking.set_function_breakpoints(
        given
    ),
    "setInstructionBreakpoints": lambda adapter, given: (
        adapter.breaking.set_instruction_breakpoints(given)
    ),
    "dataBreakpointInfo": lambda adapter, given: adapter.breaking.data_breakpoint_info(given),
    "setDataBreakpoints": lambda adapter, given: adapter.breaking.set_data_breakpoints(given),
    "setExceptionBreakpoints": lambda adapter, given: adapter.breaking.set_exception_breakpoints(
        given
    ),
    "continue": Adapter.cont,
    "next": Adapter.next_line,
    "stepIn": Adapter.step_in,
    "stepOut": Adapter.step_out,
    "stepBack": Adapter.step_back,
    "reverseContinue": Adapter.reverse_continue,
    "threads": Adapter.threads,
    "stackTrace": Adapter.stack_trace,
    "source": lambda adapter, given: adapter.sourcing.source(given),
    "scopes": Adapter.scopes,
    "variables": Adapter.variables,
    "evaluate": Adapter.evaluate,
    "exceptionInfo": Adapter.exception_info,
    "disassemble": lambda adapter, given: adapter.sourcing.disassemble(given),
}


def serve(wire: Wire, make: MakeSession) -> None:
    """Answer a client until it goes."""
    Adapter(wire, make).serve()


def serve_port(port: int, make: MakeSession, ready: Callable[[int], None]) -> None:
    """Answer one client that connects to a port of this machine; 0 chooses the port.

    Args:
        port: the port.
        make: makes the session.
        ready: is told the port once clients can connect.

    Raises:
        ArgumentError: the port cannot be listened at.
    """
    try:
        server = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise ArgumentError(f"--port {port}: {error}") from None
    with server:
        ready(server.getsockname()[1])
        connection, _ = server.accept()
    with connection:
        stream = connection.makefile("rwb")
        serve(Wire(cast("BinaryIO", stream), cast("BinaryIO", stream)), make)


__all__ = ["Adapter", "MakeSession", "serve", "serve_port"]
