"""`visim dap` with clients that others have written: debugpy's protocol library, and Emacs.

debugpy's channel refuses messages that are not as the protocol says; its schema has a class for
each message, which takes nothing else.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from debugpy.common import messaging

from tests.debug.kernels import BARE
from tests.debug.protocol import check


class Editor:
    """A client that keeps the events it is sent."""

    def __init__(self):
        command = [sys.executable, "-m", "visim", "dap"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._events = queue.SimpleQueue()
        stream = messaging.JsonIOStream.from_process(self._process)
        self.channel = messaging.JsonMessageChannel(stream, self)
        self.channel.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.request("disconnect")
        self._process.stdin.close()
        self._process.wait(20)
        self.channel.close()

    def event(self, event):
        """Take an event, as the library does where there is no handler of its name."""
        self._events.put(event)

    def request(self, name, **arguments):
        """Send a request; return the body of its answer."""
        return self.channel.send_request(name, arguments).wait_for_response()

    def next(self, name):
        """Return the next event of a name."""
        while True:
            event = self._events.get(timeout=60)
            if event.event == name:
                return event.body


@pytest.fixture
def launch(tmp_path):
    path = tmp_path / "count.visaasm"
    path.write_text(BARE)
    arguments = {"data": "zeros:u32:32", "limit": 10}
    return {"program": str(path), "device": "pvc", "groups": 4, "arg": arguments}


def test_debugpys_channel_debugs_a_kernel(launch):
    with Editor() as editor:
        can = editor.request("initialize", adapterID="visim")
        assert can["supportsStepBack"]
        assert editor.request("launch", **launch) == {}
        editor.next("initialized")
        source = {"path": launch["program"]}
        [one] = editor.request("setBreakpoints", source=source, breakpoints=[{"line": 20}])[
            "breakpoints"
        ]
        assert one["verified"]
        editor.request("configurationDone")
        stop = editor.next("stopped")
        assert stop["hitBreakpointIds"] == [one["id"]]
        [frame] = editor.request("stackTrace", threadId=stop["threadId"])["stackFrames"]
        assert frame["line"] == 20
        scopes = editor.request("scopes", frameId=frame["id"])["scopes"]
        rows = {}
        for scope in scopes:
            found = editor.request("variables", variablesReference=scope["variablesReference"])
            rows |= {row["name"]: row["value"] for row in found["variables"]}
        assert rows["turn"] == "0"
        editor.request("setBreakpoints", source=source, breakpoints=[])
        editor.request("next", threadId=stop["threadId"])
        stop = editor.next("stopped")
        assert stop["reason"] == "step"
        editor.request("stepBack", threadId=stop["threadId"])
        editor.next("stopped")
        editor.request("continue", threadId=stop["threadId"])
        editor.next("terminated")


def test_debugpys_channel_is_told_why_a_request_fails(launch):
    with Editor() as editor:
        editor.request("initialize", adapterID="visim")
        request = editor.channel.send_request("launch", {**launch, "colour": "red"})
        answer = request.wait_for_response(raise_if_failed=False)
        assert "unknown key 'colour'" in str(answer)


_DAP_MODE = Path("/usr/share/emacs/site-lisp/elpa")


@pytest.mark.skipif(
    shutil.which("emacs") is None or not any(_DAP_MODE.glob("dap-mode-*")),
    reason="needs emacs-nox and elpa-dap-mode",
)
def test_emacs_steps_in_both_directions(launch, tmp_path):
    script = Path(__file__).parent / "session.el"
    environment = {"VISIM_PYTHON": sys.executable, "VISIM_TEXT": launch["program"]}
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", str(script)],
        env={**os.environ, **environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines()
    stops = list(zip(lines[:-1:2], lines[1:-1:2], strict=True))
    here, behind = ("line 20", "turn 0"), ("line 21", "turn 1")
    assert stops == [here, behind, here, behind, here], done.stderr
    assert lines[-1] == "terminated"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "response", "request_seq": 1, "success": True, "command": "scopes", "body": {}},
        {"type": "response", "request_seq": 1, "success": False, "command": "scopes"},
        {"type": "event", "event": "stopped", "body": {"reason": 1}},
        {"type": "event", "event": "stopped", "body": {"reason": "step", "thread": 1}},
    ],
)
def test_the_check_of_messages_refuses_wrong_ones(message):
    with pytest.raises(Exception, match=r"required property|not of type|has \{'thread'\}"):
        check({"seq": 1, **message})
