"""Watched variables: of the source by name, forwards and backwards, with conditions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import visim
from tests.debug.client import Client
from tests.debug.kernels import bare, down, say, steps, turns
from tests.debug.variables import ITEMS, LOCAL, SOURCE, TURNS, line, model, session
from tests.opencl.building import built
from visim.debug.engine.timeline import Moment
from visim.debug.fronts.commands import execute
from visim.debug.session import Session

ITEM = 70
BUILDS = [
    ("pvc", "-g", False),
    ("tgllp", "-g", False),
    ("bmg", "-g", True),
    ("pvc", "-g -cl-opt-disable", False),
    ("tgllp", "-g -cl-opt-disable", True),
    ("bmg", "-g -cl-opt-disable", True),
]
_CHANGE = re.compile(r"\(([^()]*) in channel (\d+)\) by thread")


def values_of(name):
    """Return the values that a variable has one after another in the model's work-item."""
    found = []
    for _, function, known in model(ITEM):
        if function == "sums" and name in known and known[name] != (found or [None])[-1]:
            found.append(known[name])
    return found


def stopped_in_the_loop(build):
    device, options, current = build
    found = session(device, options, current=current)
    say(found, f"break {line('sum += h')} if item == {ITEM} and k == 0", "continue", "delete")
    return found


def changes(stopped, command):
    """Repeat a command while it stops at the watchpoint; return the values before and after."""
    found = []
    while True:
        say(stopped, command)
        match = _CHANGE.search(stopped.stop.message)
        if match is None:
            return found
        before, _, now = match[1].rpartition(" -> ")
        found.append((float(before) if before else None, float(now)))


@pytest.mark.parametrize("build", BUILDS, ids=str)
class TestOfTheSource:
    def test_all_values_are_met_on_the_way_there_and_back(self, build):
        stopped = stopped_in_the_loop(build)
        say(stopped, f"watch sum if item == {ITEM}")
        forwards = changes(stopped, "continue")
        expected = values_of("sum")
        assert [now for _, now in forwards] == pytest.approx(expected[1:])
        assert [before for before, _ in forwards] == pytest.approx(expected[:-1])
        assert stopped.stop.reason == "finished"
        assert changes(stopped, "reverse-continue")[: len(forwards)] == forwards[::-1]

    def test_a_stop_stands_behind_the_write_and_backwards_before_it(self, build):
        stopped = stopped_in_the_loop(build)
        say(stopped, f"watch sum if item == {ITEM}", "continue")
        assert stopped.describe()["work_item"] == [ITEM, 0, 0]
        assert f":{line('sum += h')}: " in stopped.stop.message
        behind = stopped.timeline.moment
        say(stopped, "continue", "reverse-continue", "reverse-continue")
        assert stopped.timeline.moment == Moment(behind.group, behind.tick - 1)
        assert stopped.describe()["line"] == line("sum += h")

    def test_elements_are_watched(self, build):
        stopped = stopped_in_the_loop(build)
        say(stopped, "watch places[2]")
        [(_, now)] = changes(stopped, "continue")[:1]
        assert now == pytest.approx(2 * LOCAL)  # the first channel's work-item is 64

    def test_why_tells_of_a_variable(self, build):
        stopped = stopped_in_the_loop(build)
        number = line("int all =")
        say(stopped, f"break {number} if item == {ITEM}", "continue")
        steps_of = execute(stopped, "why sum").data["steps"]
        assert float(steps_of[0]["value"]) == pytest.approx(values_of("sum")[-1])
        lines = {step.get("line") for step in steps_of}
        assert {line("sum += h"), line("return t * t"), line("float t =")} <= lines
        assert line("uchar low") not in lines
        places = execute(stopped, "why places[3]").data["steps"]
        assert int(places[0]["value"]) == 3 * ITEM
        assert places[0]["line"] == line("places[k & 7]")


class TestConditions:
    def test_a_condition_chooses_the_turn(self):
        stopped = stopped_in_the_loop(BUILDS[2])
        say(stopped, f"watch sum if item == {ITEM} and sum > 50000", "continue")
        assert execute(stopped, "print sum").data["value"][ITEM % 16] > 50000
        assert execute(stopped, "print k").data["value"][ITEM % 16] == 3
        say(stopped, "reverse-continue")  # before the write behind which it stands
        assert stopped.stop.reason == "watchpoint"
        assert stopped.cont().reason == "watchpoint"
        say(stopped, "reverse-continue", "reverse-continue")
        assert stopped.stop.reason == "start"

    def test_memory_has_conditions_too(self):
        stopped = steps("pvc")
        say(stopped, "watch out[100:120] if item == 115", "continue")
        assert stopped.describe()["work_item"] == [115, 0, 0]
        stopped = steps("pvc")
        say(stopped, "watch out[100:120] if item == 30", "continue")
        assert stopped.stop.reason == "finished"

    def test_a_condition_that_cannot_be_told_stops_and_says_so(self):
        stopped = session("bmg", "-g", current=True)
        say(stopped, f"break {line('sum += h')} if h > 3", "continue")
        assert "whether h > 3 holds is not known: h: optimised away" in stopped.stop.message

    def test_hits_are_ignored(self):
        stopped = bare()
        say(stopped, "watch sum", "ignore 1 3", "continue")
        assert stopped.evaluate("sum[0]") == 10
        assert "hit 4 times" in say(stopped, "info breakpoints")

    def test_one_channel_of_a_visa_variable(self):
        stopped = bare()
        assert "sum[5] of thread 0 in group 0" in say(stopped, "watch sum[5]")
        say(stopped, "continue")
        assert "(0 -> 1 in channel 5)" in stopped.stop.message


class TestEnds:
    def test_a_variable_ends_with_its_group_and_others_are_not_stepped_through(self):
        stopped = bare(40, 100)
        say(stopped, "goto group 1", "watch turn if turn == 99")
        assert stopped.cont().reason == "watchpoint"
        stop = stopped.cont()
        assert (stop.reason, stopped.timeline.group) == ("scope", 2)
        assert "turn of watchpoint 1 (thread 0)" in stop.message
        executed = stopped.timeline.executed
        assert stopped.cont().reason == "finished"
        assert stopped.timeline.executed - executed < 3 * 406  # 406 in each group
        say(stopped, "reverse-continue")
        assert stopped.timeline.group == 1
        assert stopped.evaluate("turn") == 98

    def test_the_condition_chooses_the_thread(self):
        stopped = session("pvc", "-g")
        say(stopped, f"break {line('places[k & 7]')}", "continue", "delete")
        assert "of thread 1 in group 1" in say(stopped, "watch k if item == 90")
        say(stopped, "continue")
        assert stopped.describe()["work_item"] == [90, 0, 0]


class TestLocalMemory:
    def test_what_the_source_has_there_is_watched_as_memory(self):
        source = (
            "kernel void go(global int *out) { local int table[64];\n"
            "    int i = get_local_id(0);\n"
            "    table[i] = i;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            "    out[get_global_id(0)] = table[63 - i]; }\n"
        )
        program = built(source, "pvc", "-g")
        stopped = Session(program["go"], [np.zeros(64, np.int32)], {"global_size": 64})
        say(stopped, "watch table[40]", "continue")
        assert stopped.describe()["work_item"] == [40, 0, 0]
        assert ":3: " in stopped.stop.message

    def test_bytes(self):
        stopped = turns("pvc")
        say(stopped, "watch slm:160,4 if item == 40", "continue")
        assert stopped.describe()["work_item"] == [40, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum + 1", "is no variable, and no element"),
        ("nothing", "no variable 'nothing'"),
        ("p.nothing", r"it has \.tag, \.at"),
        ("places[9]", "no element 9"),
        ("places[k]", "an element by a number"),
    ],
)
def test_what_cannot_be_watched_is_an_error(text, message):
    with pytest.raises(visim.ArgumentError, match=message):
        say(stopped_in_the_loop(BUILDS[2]), f"watch {text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [("p", r"name one value of this point: p\.tag, p\.at"), ("h", "optimised away")],
)
def test_what_has_no_one_place_has_no_why(text, message):
    with pytest.raises(visim.ArgumentError, match=message):
        say(stopped_in_the_loop(BUILDS[2]), f"why {text}")


def test_a_function_that_calls_itself_is_watched_in_one_activation():
    stopped = down()
    say(stopped, "break 2 if depth == 2", "continue", "delete", "watch own", "continue")
    assert "own (20 -> 30 in channel 0)" in stopped.stop.message
    assert execute(stopped, "why own").data["steps"][0]["value"] == "30"


class TestEditors:
    @pytest.fixture
    def client(self, tmp_path):
        path = tmp_path / "sums.zebin"
        path.write_bytes(session("bmg", "-g", current=True).looker.facts.zebin)
        arguments = {
            "out": f"zeros:{ITEMS}",
            "x": f"iota:{ITEMS}",
            "scale": 2.5,
            "n": TURNS,
            "shared": f"local:{4 * LOCAL}",
        }
        (tmp_path / "source.cl").write_text(SOURCE)
        with Client() as found:
            found.start(program=str(path), **{"global": ITEMS, "local": LOCAL}, arg=arguments)
            condition = f"item == {ITEM} and k == 1"
            found.request(
                "setFunctionBreakpoints",
                breakpoints=[{"name": f"{line('sum += h')}", "condition": condition}],
            )
            found.stop = found.go("configurationDone")
            found.request("setFunctionBreakpoints", breakpoints=[])
            yield found

    def scope(self, client, ending):
        scopes = client.request("scopes", frameId=client.stop["frame"]["id"])["scopes"]
        return next(one for one in scopes if one["name"].endswith(ending))["variablesReference"]

    def watch(self, client, **asked):
        info = client.request("dataBreakpointInfo", **asked)
        assert info["dataId"] is not None, info["description"]
        client.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])
        return info

    def test_a_variable_of_a_channel_is_watched_in_both_directions(self, client):
        reference = self.scope(client, f"work-item {ITEM}")
        info = self.watch(client, variablesReference=reference, name="sum")
        assert info["accessTypes"] == ["write"]
        stop = client.go("continue", threadId=client.stop["threadId"])
        assert stop["reason"] == "data breakpoint"
        assert f"in channel {ITEM % 16})" in stop["text"]
        client.go("continue", threadId=stop["threadId"])
        client.go("reverseContinue", threadId=stop["threadId"])
        stop = client.go("reverseContinue", threadId=stop["threadId"])
        assert stop["frame"]["line"] == line("sum += h")

    def test_a_member_and_an_expression_are_watched(self, client):
        reference = self.scope(client, f"work-item {ITEM}")
        rows = client.request("variables", variablesReference=reference)["variables"]
        [inside] = [one["variablesReference"] for one in rows if one["name"] == "places"]
        self.watch(client, variablesReference=inside, name="[3]")
        assert "places[3]" in client.go("continue", threadId=1)["text"]
        self.watch(client, name="k", frameId=client.stop["frame"]["id"])
        assert "watchpoint 3: k " in client.go("continue", threadId=1)["text"]

    def test_elements_of_arguments_are_watched(self, client):
        reference = self.scope(client, "Arguments")
        rows = client.request("variables", variablesReference=reference)["variables"]
        inside = next(one["variablesReference"] for one in rows if one["name"] == "out")
        info = self.watch(client, variablesReference=inside, name="[100]")
        assert "readWrite" in info["accessTypes"]
        stop = client.go("continue", threadId=1)
        assert "out[100]" in stop["text"]

    def test_what_cannot_be_watched_says_why(self, client):
        reference = self.scope(client, "Thread")
        info = client.request("dataBreakpointInfo", variablesReference=reference, name="moment")
        assert info["dataId"] is None
        assert "no variable" in info["description"]
