"""The tools, declared once: name, what it is for, what it takes, and what answers.

HTTP, MCP, the schemas and the documentation all read this table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from visim.serve import requests
from visim.serve.shapes import Record, RequestError, Schema

if TYPE_CHECKING:
    from visim.serve.answering.launching import Clock

_ANSWERING = "visim.serve.answering"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        name: how clients call it.
        purpose: what it is for, in one sentence.
        about: what else a client has to know.
        takes: the dataclass of its request.
        handler: the module and the function that answer, which only the process of a request loads.
    """

    name: str
    purpose: str
    about: str
    takes: type[Any]
    handler: tuple[str, str]

    @property
    def request(self) -> Record:
        """The shape of its request."""
        return Record(self.takes)

    @property
    def schema(self) -> Schema:
        """The JSON Schema of its request."""
        return self.request.schema()

    def read(self, arguments: object) -> Any:
        """Return the request that a JSON value holds; RequestError if it is none."""
        return self.request.read(arguments, "")

    def load(self) -> Callable[[Any, Clock], dict[str, Any]]:
        """Return what answers."""
        module, function = self.handler
        return getattr(importlib.import_module(f"{_ANSWERING}.{module}"), function)


_TOOLS = (
    Tool(
        "compile",
        "Compile OpenCL C, or load vISA or a zebin, and say what its kernels take.",
        "The answer lists the kernels with their arguments, and the compiler's errors with the "
        "lines around them.",
        requests.Compile,
        ("compiling", "compile_program"),
    ),
    Tool(
        "check",
        "Verify a program against the vISA specification, without running it.",
        "OpenCL C is compiled first; what is checked is the code that the compiler made.",
        requests.Check,
        ("compiling", "check"),
    ),
    Tool(
        "run",
        "Run a kernel on one or more cases, and compare what it wrote with what is expected.",
        "Each case is a launch of its own: give several shapes in one request. Results are the "
        "same on each machine. Without expect, the answer shows what has changed.",
        requests.Run,
        ("running", "run"),
    ),
    Tool(
        "sanitize",
        "Run a kernel and find data races, reads of unwritten memory, accesses out of bounds and "
        "barriers that not all work-items reach.",
        "One run finds what any order of the work-items would show. Use small cases.",
        requests.Sanitize,
        ("running", "sanitize"),
    ),
    Tool(
        "time",
        "Say how many cycles a kernel takes on a generation, where they go, and the hottest lines.",
        "Numbers are estimates of a model of the cores, without caches of data; compare versions "
        "of a kernel with them, not devices.",
        requests.Time,
        ("timing", "time"),
    ),
    Tool(
        "explain",
        "Say what a code of a finding, fault or rule means, and how to mend it.",
        "With source and line, the lines around are in the answer.",
        requests.Explain,
        ("explaining", "explain"),
    ),
    Tool(
        "diff",
        "Run one case on two sides (kernels, devices, options, engines, or arrays that another "
        "device wrote) and say where they differ first.",
        "Without tolerances, arrays have to be the same in each bit but for zeros' signs and NaN.",
        requests.Diff,
        ("differing", "diff"),
    ),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _TOOLS}


def find_tool(name: str) -> Tool:
    """Return the tool of a name.

    Raises:
        RequestError: there is none.
    """
    if name not in TOOLS:
        raise RequestError("tool", f"there is no tool {name[:40]!r}; there are: {', '.join(TOOLS)}")
    return TOOLS[name]
