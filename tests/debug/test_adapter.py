"""`visim dap` with a client of its own process (visim.debug.fronts.adapter)."""

from __future__ import annotations

import json
import queue
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.debug.client import Client
from tests.debug.kernels import BARE, DEVICES, SOURCE
from tests.debug.test_sessions import line_of
from tests.opencl.building import built
from visim.cli.debugging import launched
from visim.debug.fronts.adapter import serve_port
from visim.runtime.files.run_options import read_options

ITEMS = 256


@pytest.fixture
def bare_launch(tmp_path):
    path = tmp_path / "count.visaasm"
    path.write_text(BARE)
    return {
        "program": str(path),
        "device": "pvc",
        "groups": 4,
        "arg": {"data": "zeros:u32:32", "limit": 10},
    }


def opencl_launch(tmp_path, device, kernel, **arguments):
    path, source = tmp_path / f"{device}.zebin", tmp_path / "steps.cl"
    source.write_text(SOURCE)
    built(SOURCE, device).write(path)
    return {
        "program": str(path),
        "kernel": kernel,
        "global": ITEMS,
        "local": 64,
        "arg": arguments,
    }


@pytest.mark.parametrize("device", DEVICES)
def test_a_session_of_an_opencl_kernel(tmp_path, device):
    arguments = {"out": f"zeros:{ITEMS}", "x": f"iota:{ITEMS}", "a": 2, "n": 250}
    with Client() as client:
        client.start(**opencl_launch(tmp_path, device, "steps", **arguments))
        line = line_of("float w = twice")
        answer = client.request(
            "setFunctionBreakpoints", breakpoints=[{"name": str(line), "condition": "item == 70"}]
        )
        assert answer["breakpoints"][0]["line"] == line
        stop = client.go("configurationDone")
        assert (stop["reason"], stop["frame"]["line"]) == ("breakpoint", line)
        threads = client.request("threads")["threads"]
        assert stop["threadId"] in {one["id"] for one in threads}
        scopes = client.request("scopes", frameId=stop["frame"]["id"])["scopes"]
        assert "Channel 6: work-item 70" in {one["name"] for one in scopes}
        [reference] = [one["variablesReference"] for one in scopes if one["name"] == "Arguments"]
        names = [
            one["name"]
            for one in client.request("variables", variablesReference=reference)["variables"]
        ]
        assert names == ["out", "x", "a", "n"]
        value = client.request("evaluate", expression="x[70] * a", frameId=stop["frame"]["id"])
        assert value["result"] == "140.0"
        before = client.go("stepBack", threadId=stop["threadId"])
        assert before["frame"]["line"] < line
        client.request("setFunctionBreakpoints", breakpoints=[])
        info = client.request("dataBreakpointInfo", name="out[200]")
        client.request(
            "setDataBreakpoints", breakpoints=[{"dataId": info["dataId"], "accessType": "write"}]
        )
        stop = client.go("continue", threadId=1)
        assert stop["reason"] == "data breakpoint"
        why = client.request("evaluate", expression="why out[200]", context="repl")
        assert "x[200]" in why["result"]
        client.request("setDataBreakpoints", breakpoints=[])
        assert client.go("continue", threadId=1)["event"] == "terminated"
        client.request("disconnect")


def test_a_session_of_visa_text_with_a_process(bare_launch):
    with Client(is_process=True) as client:
        client.start(**bare_launch, stopOnEntry=True)
        found = client.request(
            "setBreakpoints",
            source={"path": bare_launch["program"]},
            breakpoints=[{"line": 19, "hitCondition": "3"}, {"line": 999}],
        )["breakpoints"]
        assert [one["verified"] for one in found] == [True, False]
        assert client.go("configurationDone")["reason"] == "entry"
        stop = client.go("continue", threadId=1)
        assert stop["frame"]["source"]["path"] == bare_launch["program"]
        assert stop["frame"]["line"] == 19
        frame = stop["frame"]["id"]
        assert client.request("evaluate", expression="turn", frameId=frame)["result"] == "2"
        code = client.request(
            "disassemble",
            memoryReference=stop["frame"]["instructionPointerReference"],
            instructionOffset=-2,
            instructionCount=4,
        )["instructions"]
        assert [one["instruction"].split()[0] for one in code] == ["mov", "mov", "add", "add"]
        stepped = client.go("next", threadId=1, granularity="instruction")
        assert stepped["frame"]["line"] == 20
        back = client.go("stepBack", threadId=1, granularity="instruction")
        assert back["frame"]["line"] == 19
        client.request("setBreakpoints", source={"path": bare_launch["program"]}, breakpoints=[])
        client.request(
            "setInstructionBreakpoints",
            breakpoints=[{"instructionReference": code[0]["address"]}],
        )
        assert client.go("reverseContinue", threadId=1)["frame"]["line"] == 16


def test_a_fault_is_an_exception_and_is_gone_back_from(bare_launch):
    with Client() as client:
        client.start(**{**bare_launch, "groups": 5}, atFault=True)
        stop = client.go("configurationDone")
        assert stop["reason"] == "exception"
        info = client.request("exceptionInfo", threadId=stop["threadId"])
        assert info["exceptionId"] == "undefined/memory-access"
        back = client.go("stepBack", threadId=stop["threadId"])
        assert back["frame"]["line"] < stop["frame"]["line"]


def test_wrong_requests_are_answered(bare_launch):
    with Client() as client:
        client.request("initialize")
        assert "nothing is launched" in client.ask("threads")["message"]
        assert "program" in client.ask("launch")["message"]
        assert "does not know" in client.ask("fly")["message"]
        message = client.ask("launch", **{**bare_launch, "colour": "red"})["message"]
        assert "unknown key 'colour'" in message
        client.request("launch", **bare_launch)
        assert not client.ask("variables")["success"]
        assert not client.ask("disassemble", memoryReference="here", instructionCount=1)["success"]


@pytest.mark.parametrize(
    "data", [b"hello\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: 3\r\n\r\n{]}"]
)
def test_what_is_no_message_ends_the_connection(data):
    with Client() as client:
        client.send_bytes(data)
        client.event("output")
        with pytest.raises(EOFError):
            client.receive()


def test_arrays_are_opened_element_by_element(bare_launch):
    with Client() as client:
        client.start(**bare_launch)
        client.request("setFunctionBreakpoints", breakpoints=[{"name": "pc:11"}])
        stop = client.go("configurationDone")
        row = client.request("evaluate", expression="sum", frameId=stop["frame"]["id"])
        rows = client.request("variables", variablesReference=row["variablesReference"])[
            "variables"
        ]
        np.testing.assert_array_equal([int(one["value"]) for one in rows], [45] * 8)


def test_the_console_goes_and_looks_elsewhere(tmp_path):
    arguments = {"out": f"zeros:{ITEMS}", "x": f"iota:{ITEMS}", "a": 2, "n": 250}
    with Client() as client:
        client.start(**opencl_launch(tmp_path, "pvc", "steps", **arguments), stopOnEntry=True)
        client.go("configurationDone")
        stop = client.go("evaluate", expression="goto item 200", context="repl")
        assert stop["reason"] == "goto"
        scopes = client.request("scopes", frameId=stop["frame"]["id"])["scopes"]
        assert any(one["name"].endswith("work-item 200") for one in scopes)
        line = line_of("out[i] = w")
        stop = client.go("evaluate", expression=f"until {line}", context="repl")
        assert stop["frame"]["line"] == line
        client.request("evaluate", expression="item 201", context="repl")
        client.event("stopped")
        frame = client.request("stackTrace", threadId=stop["threadId"])["stackFrames"][0]["id"]
        found = client.request("evaluate", expression="item", frameId=frame, context="repl")
        assert found["result"].startswith("201")


class TestPausing:
    def test_a_launch_that_runs_can_be_paused_and_goes_on(self, tmp_path):
        path = tmp_path / "count.visaasm"
        path.write_text(BARE)
        launch = {"program": str(path), "device": "pvc", "groups": 1}
        with Client() as client:
            client.start(**launch, arg={"data": "zeros:u32:8", "limit": 3_000_000})
            client.request(
                "setFunctionBreakpoints",
                breakpoints=[{"name": "visa:24", "condition": "turn == 2999999"}],
            )
            client.request("configurationDone")
            client.request("pause", threadId=1)
            stop = client.event("stopped", "terminated")["body"]
            assert stop["reason"] == "pause"
            frames = client.request("stackTrace", threadId=stop["threadId"])["stackFrames"]
            answer = client.request("evaluate", expression="turn", frameId=frames[0]["id"])
            assert int(answer["result"].split()[0]) < 2_999_999

    def test_a_pause_where_nothing_runs_stops_nothing_later(self, bare_launch):
        with Client() as client:
            client.start(**bare_launch, stopOnEntry=True)
            assert client.go("configurationDone")["reason"] == "entry"
            client.request("pause", threadId=1)
            assert client.go("continue", threadId=1)["event"] == "terminated"


class TestPorts:
    def test_a_client_debugs_over_a_port(self, bare_launch):
        chosen = queue.SimpleQueue()
        server = threading.Thread(target=serve_port, args=(0, launched, chosen.put))
        server.start()
        link = socket.create_connection(("127.0.0.1", chosen.get(timeout=20)))
        with link, Client(link=link) as client:
            client.start(**bare_launch, stopOnEntry=True)
            assert client.go("configurationDone")["reason"] == "entry"
            client.request("disconnect")
        server.join(20)
        assert not server.is_alive()


def test_the_extension_of_vs_code_names_what_a_launch_takes():
    folder = Path(__file__).parents[2] / "editors" / "vscode"
    described = json.loads((folder / "package.json").read_text())
    assert (folder / described["main"]).is_file()
    [debugger] = described["contributes"]["debuggers"]
    assert f"onDebugResolve:{debugger['type']}" in described["activationEvents"]
    properties = debugger["configurationAttributes"]["launch"]["properties"]
    assert set(debugger["configurationAttributes"]["launch"]["required"]) <= set(properties)
    options = set(properties) - {"program", "stopOnEntry", "stopAtEnd", "atFault", "notes"}
    for name, value in {"global": 64, "local": 16, "seed": 1, "device": "bmg"}.items():
        assert name in options
        read_options("x.zebin", {name: value})
    for one in debugger["initialConfigurations"]:
        assert set(one) <= {"type", "request", "name", *properties}
    words = {one["language"] for one in described["contributes"]["breakpoints"]}
    assert set(debugger["languages"]) <= words
