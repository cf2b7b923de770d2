"""`visim run --trace` and `visim diff-trace` (visim.debug.tracing); findings of sanitizers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import visim
from tests.debug.kernels import BARE, SOURCE, say, steps
from tests.debug.test_sessions import line_of
from tests.opencl.building import built
from visim.cli import main
from visim.debug.session import Session
from visim.debug.tracing import Chosen, Tracer, compare, read_trace


def traced(session, chosen=None):
    tracer = Tracer(session, chosen or Chosen())
    tracer.run()
    return tracer.to_dict()


def writes_of(trace):
    return read_trace(json.dumps(trace), "trace")


class TestTraces:
    def test_a_track_shows_the_lines_of_a_thread_in_order(self):
        session = steps("pvc", 64)
        trace = traced(session)
        lines = [
            one for one in trace["traceEvents"] if one.get("cat") == "line" and one["tid"] == 0
        ]
        names = [int(one["name"].partition(":")[2]) for one in lines if ".cl:" in one["name"]]
        assert names[0] == line_of("int i = get_global_id")
        assert line_of("out[i] = w") in names
        ends = [one["ts"] + one["dur"] for one in lines]
        assert all(end <= one["ts"] for end, one in zip(ends, lines[1:], strict=False))

    def test_writes_have_their_work_items_and_values(self):
        writes = writes_of(traced(steps("pvc", 64)))
        [one] = writes[0, 0, 30]
        assert (one.buffer, one.element, one.value) == ("out", 30, 121.0)
        assert len(writes) == 58

    def test_groups_threads_and_lines_are_chosen(self):
        session = steps("pvc", 256)
        chosen = Chosen.of(f"group=2-3,thread=1,line={line_of('out[i] = w')}")
        trace = traced(session, chosen)
        shown = [one for one in trace["traceEvents"] if one["ph"] != "M"]
        assert {(one["pid"], one["tid"]) for one in shown} == {(2, 1), (3, 1)}
        [name] = {one["name"] for one in shown if one["cat"] == "line"}
        assert name.endswith(f".cl:{line_of('out[i] = w')}")
        assert session.looker.arguments.array("out")[100] == 400

    @pytest.mark.parametrize("text", ["group", "group=x", "item=3", "line=3-x"])
    def test_what_cannot_be_chosen_is_an_error(self, text):
        with pytest.raises(visim.ArgumentError, match="trace-only"):
            Chosen.of(text)


class TestDifferences:
    @pytest.mark.parametrize("device", ["tgllp", "bmg"])
    def test_devices_write_the_same_though_their_threads_differ(self, device):
        first, second = (writes_of(traced(steps(one))) for one in ("pvc", device))
        assert compare(first, second) is None

    def test_the_first_work_item_that_differs_is_named(self):
        other = SOURCE.replace("out[i] = w;", "out[i] = w + (i == 33) + (i == 40);")
        x = np.arange(64, dtype=np.float32)
        arguments = [np.zeros(64, np.float32), x, np.float32(2), 58]
        session = Session(built(other, "pvc")["steps"], arguments, {"global_size": 64})
        found = compare(writes_of(traced(steps("pvc", 64))), writes_of(traced(session)))
        assert found.count == 2
        assert found.first.who == (0, 0, 33)
        assert (found.first.value, found.second.value) == (133.0, 134.0)
        assert compare(writes_of(traced(session)), writes_of(traced(session)), 0.1) is None

    def test_a_write_that_one_lacks_is_told(self):
        found = compare(writes_of(traced(steps("pvc", 64))), {})
        assert found.second is None
        assert (found.first.element, found.count) == (0, 58)

    def test_on_the_command_line(self, tmp_path, capsys):
        path = tmp_path / "count.visaasm"
        path.write_text(BARE)
        words = ["run", str(path), "--device", "pvc", "--groups", "2", "--arg", "data=zeros:u32:16"]
        files = [str(tmp_path / f"{limit}.json") for limit in (10, 11)]
        for limit, file in zip((10, 11), files, strict=True):
            assert main([*words, "--arg", f"limit={limit}", "--trace", file]) == 0
        assert "45 45 45" in capsys.readouterr().out
        assert main(["diff-trace", files[0], files[0]]) == 0
        assert main(["diff-trace", *files, "--json"]) == 1
        found = json.loads(capsys.readouterr().out.partition("\n")[2])
        assert (found["first"]["value"], found["second"]["value"]) == (45, 55)

    def test_an_empty_trace_is_told(self, tmp_path, capsys):
        text, trace = tmp_path / "count.visaasm", tmp_path / "empty.json"
        text.write_text(BARE)
        launch = ["--groups", "4", "--arg", "data=zeros:u32:32", "--arg", "limit=10"]
        words = ["run", str(text), "--device", "pvc", *launch, "--trace", str(trace)]
        assert main([*words, "--trace-only", "group=9"]) == 0
        assert "is empty: nothing of groups 0 to 3 is" in capsys.readouterr().err
        assert main(["diff-trace", str(trace), str(trace)]) == 0
        assert "neither writes anything" in capsys.readouterr().out

    @pytest.mark.parametrize("text", ["", "{}", "[]", '{"otherData": {"format": "visim trace 1"}}'])
    def test_what_is_no_trace_is_an_error(self, text):
        with pytest.raises(visim.ArgumentError):
            read_trace(text, "file")


RACE = """\
kernel void race(global int *out, local int *shared)
{
    int l = get_local_id(0);
    shared[l] = l;
    out[get_global_id(0)] = shared[(l + 40) % 64];
}
"""


def test_the_debugger_stands_where_a_sanitizer_finds_something():
    program = built(RACE, "pvc")
    out = np.zeros(128, np.int32)
    launch = {"global_size": 128, "local_size": 64, "sanitize": "races"}
    session = Session(program["race"], [out, visim.Local(256)], launch)
    stop = session.run_to_fault()
    assert stop.reason == "finding"
    assert "race" in stop.message
    assert session.describe()["line"] in {4, 5}
    say(session, "back")
    assert session.stop.reason in {"back", "start"}


def test_the_last_write_in_a_long_launch_is_found_at_the_jits_speed():
    session = steps("pvc", 64 * 400)
    say(session, "goto end", "watch out[130]", "reverse-continue")
    assert session.describe()["work_item"] == [130, 0, 0]
    assert session.timeline.executed < 2000
