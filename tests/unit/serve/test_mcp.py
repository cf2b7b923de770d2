"""The front over MCP: a client of the official library, on the standard streams of a process."""

from __future__ import annotations

import sys

import pytest

from tests.unit.serve.requests import SAXPY, case

pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")


def drive(session):
    """Run `session` with a client of a server's process."""
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "visim", "mcp", "--workers", "1"]
    )

    async def run():
        async with (
            stdio_client(command) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as client,
        ):
            await client.initialize()
            await session(client)

    anyio.run(run)


def test_a_client_compiles_runs_sanitizes_and_times():
    async def session(client):
        listed = await client.list_tools()
        names = {tool.name for tool in listed.tools}
        assert names == {"compile", "check", "run", "sanitize", "time", "explain", "diff"}

        async def call(tool, **request):
            found = await client.call_tool(tool, request)
            assert not found.is_error, found
            return found.structured_content

        compiled = await call("compile", program=SAXPY)
        assert [one["name"] for one in compiled["kernels"]] == ["saxpy"]
        ran = await call("run", program=SAXPY, cases=[case(64), case(100), case(1000)])
        assert ran["verdict"] == "fine"
        sanitized = await call("sanitize", program=SAXPY, cases=[case(64)])
        assert sanitized["verdict"] == "fine"
        timed = await call("time", program=SAXPY, case=case(256))
        assert timed["results"][0]["cycles"] > 0

        wrong = await client.call_tool("run", {"program": SAXPY, "cases": [{"agrs": {}}]})
        assert wrong.is_error
        assert wrong.content[0].text.startswith("cases[0].agrs: there is no such field")

    drive(session)
