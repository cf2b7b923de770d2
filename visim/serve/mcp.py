"""The front over MCP, on the standard streams, with the official library."""

from __future__ import annotations

import importlib.util
import json
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from visim.errors import ToolMissing
from visim.serve.oracle import Busy, Oracle
from visim.serve.shapes import RequestError
from visim.serve.tools import TOOLS

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_INSTRUCTIONS = (
    "visim runs Intel GPU kernels (OpenCL C, vISA, zebins) without a GPU. Work in this order: "
    "compile, run with expect on several shapes, sanitize, time. Each answer has a verdict, a "
    "summary and next, which says what to do."
)


def require() -> None:
    """Raise ToolMissing where the library is not installed."""
    if importlib.util.find_spec("mcp") is None:
        raise ToolMissing("the package mcp is missing: pip install 'visim[mcp]'")


def serve(oracle: Oracle) -> None:
    """Serve the client on the standard streams until it closes them."""
    import anyio
    from mcp.server.stdio import stdio_server

    async def run() -> None:
        server = make_server(oracle)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def make_server(oracle: Oracle) -> Server[Any]:
    """Return an MCP server that has the oracle's tools."""
    import anyio.to_thread
    import mcp_types as types
    from mcp.server.lowlevel import Server

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=f"{tool.purpose} {tool.about}",
                    input_schema=tool.schema,
                )
                for tool in TOOLS.values()
            ]
        )

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        try:
            answered = await anyio.to_thread.run_sync(partial(oracle.call, params.name, arguments))
        except (RequestError, Busy) as error:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=str(error))], is_error=True
            )
        text = answered.data.decode()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content=json.loads(text),
        )

    return Server(
        "visim",
        version=version("visim"),
        instructions=_INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )
