"""Variables of the source by name (visim.debug.naming), against a model of the kernel.

Optimised code has few of them at a time; what is shown has to be right, and what is not shown says
why. Without optimisation all of them are shown.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.debug.client import Client
from tests.debug.kernels import down, say
from tests.debug.variables import ITEMS, LOCAL, SOURCE, TURNS, line, model, session
from tests.opencl.building import built, built_by_current
from visim.binary.elf import ElfImage
from visim.binary.notes import PREFIX, notes_on
from visim.cli import main
from visim.debug.fronts.commands import execute
from visim.debug.naming.operations import Unplaced
from visim.debug.session import Session
from visim.errors import ArgumentError

OLD = [("pvc", False), ("tgllp", False), ("dg2", False)]
NEW = [("pvc", True), ("bmg", True), ("tgllp", True), ("dg2", True), ("ptl", True)]
ITEM = 70
MOST_SHOWN = {"k", "i", "sum", "n", "t", "v"}
"""What optimised code of every compiler has somewhere."""


def shown(stopped, name):
    """Return what a variable holds for the work-item that is looked at; None where it says why."""
    focus, looker = stopped.focus, stopped.looker
    frames = stopped.backtrace()
    for one in frames:
        if one.name == name[0]:
            variables = looker.sourced.variables(one.focus)
            if name[1] not in variables:
                return None
            try:
                value = looker.sourced.value(one.focus, variables[name[1]])
            except Unplaced:
                return None
            return value.of(focus.lane)
    return None


def compare(stopped):
    """Go through the work-item's lines; return the variables shown, and how often none was."""
    found, missing = set(), 0
    places = {line_number for line_number, _, _ in model(ITEM)}
    for number in sorted(places):
        say(stopped, f"break {number} if item == {ITEM}")
    visits: dict[int, int] = {}
    expected: dict[int, list] = {}
    for number, function, known in model(ITEM):
        expected.setdefault(number, []).append((function, known))
    while True:
        stop = stopped.cont()
        if stop.focus is None:
            break
        number = stopped.describe()["line"]
        count = visits[number] = visits.get(number, -1) + 1
        states = expected[number]
        assert count * len({f for f, _ in states}) < len(states), f"line {number} once more"
        here = states[count * len({f for f, _ in states}) :][: len({f for f, _ in states})]
        for function, known in here:
            for name, value in known.items():
                got = shown(stopped, (function, name))
                if got is None:
                    missing += 1
                    continue
                found.add(name)
                assert got == pytest.approx(value) if not isinstance(value, dict) else got == value
    return found, missing


@pytest.mark.parametrize(("device", "current"), [*OLD, *NEW])
def test_what_optimised_code_shows_is_right(device, current):
    found, _ = compare(session(device, "-g", current=current))
    assert found >= MOST_SHOWN


@pytest.mark.parametrize(("device", "current"), [*OLD, *NEW])
def test_without_optimisation_everything_is_shown(device, current):
    found, missing = compare(session(device, "-g -cl-opt-disable", current=current))
    assert found >= {*MOST_SHOWN, "p", "low", "h", "all", "count", "total", "scale"}
    assert missing == 0


class TestInThePrompt:
    @pytest.fixture
    def stopped(self):
        found = session("bmg", "-g", current=True)
        say(found, f"break {line('sum += h')} if item == {ITEM} and k == 3", "continue")
        return found

    def test_a_condition_on_a_variable_chooses_the_turn(self, stopped):
        assert say(stopped, "print k").endswith("channel 6: 3")

    def test_members_and_elements_are_rows_of_all_channels(self, stopped):
        first = ITEM - ITEM % 16
        assert execute(stopped, "print p.at[0]").data["value"] == [
            float(first + lane) for lane in range(16)
        ]
        assert execute(stopped, "print p.tag + 1").data["value"][6] == ITEM + 1
        assert execute(stopped, "print places[2]").data["value"][6] == 2 * ITEM

    def test_an_index_may_differ_from_channel_to_channel(self, stopped):
        found = execute(stopped, "print places[i & 3]").data["value"]
        assert found[:4] == [lane * (64 + lane) for lane in range(4)]

    def test_json_has_types_and_structures(self, stopped):
        found = execute(stopped, "info locals").data
        assert found["p"]["type"] == "point"
        assert found["p"]["value"][6] == {"tag": ITEM, "at": [float(ITEM), 2.5, 7.0]}
        assert found["h"] == {"type": "float", "unknown": "optimised away"}

    def test_what_the_compiler_has_removed_says_so(self, stopped):
        with pytest.raises(ArgumentError, match="optimised away"):
            say(stopped, "print h")
        assert "float h: optimised away" in say(stopped, "info locals")

    def test_a_structure_is_no_number(self, stopped):
        with pytest.raises(ArgumentError, match="point is no number"):
            say(stopped, "print p + 1")
        with pytest.raises(ArgumentError, match=r"it has \.tag, \.at"):
            say(stopped, "print p.nothing")
        with pytest.raises(ArgumentError, match="no element 3"):
            say(stopped, "print p.at[3]")

    def test_an_argument_that_has_no_place_any_more_says_what_was_passed(self, stopped):
        say(stopped, "delete", f"break {line('out[i] = sum')}", "continue")
        with pytest.raises(ArgumentError, match=f"n: .*; the launch passed {TURNS}"):
            say(stopped, "print n")

    def test_an_argument_that_is_an_array_is_the_whole_array(self, stopped):
        assert execute(stopped, "print x[100]").data["value"] == 100


@pytest.mark.parametrize(("device", "current"), [("pvc", False), ("bmg", True)])
class TestInlinedCalls:
    @pytest.fixture
    def stopped(self, device, current):
        found = session(device, "-g", current=current)
        say(found, f"break {line('if (k & 1)')} if item == {ITEM} and k == 2", "continue")
        return found

    def test_they_are_frames(self, stopped):
        frames = [(one["function"], one["inlined"]) for one in execute(stopped, "backtrace").data]
        assert frames == [("part", True), ("sums", False)]
        assert f":{line('float h = part')}" in say(stopped, "backtrace").splitlines()[1]

    def test_each_has_its_own_variables(self, stopped):
        assert {"v", "k", "t"} == set(execute(stopped, "info locals").data)
        say(stopped, "up")
        names = set(execute(stopped, "info locals").data)
        assert {"i", "p", "sum", "k"} <= names
        assert "t" not in names
        with pytest.raises(ArgumentError, match="frames 0 to 1"):
            say(stopped, "up")
        say(stopped, "down")
        assert "t" in execute(stopped, "info locals").data


def test_a_function_that_calls_itself_has_variables_in_each_activation():
    found = down()
    say(found, "break 4", "continue")
    values = []
    for number in range(4):
        say(found, f"frame {number}")
        values.append(execute(found, "print own").data["value"][0])
    assert values == [0, 10, 20, 30]


def test_a_file_without_notes_shows_what_is_in_memory_and_says_so_of_registers(tmp_path):
    found = session("pvc", "-g")
    found.looker.sourced._natives._objects.clear()
    say(found, f"break {line('sum += h')}", "continue")
    with pytest.raises(ArgumentError, match="the compiler's notes"):
        say(found, "print sum")
    whole = session("pvc", "-g -cl-opt-disable")
    whole.looker.sourced._natives._objects.clear()
    say(whole, f"break {line('sum += h')} if item == {ITEM}", "continue")
    assert execute(whole, "print i").data["value"][6] == ITEM


@pytest.mark.parametrize(("device", "current"), [("pvc", False), ("bmg", True)])
def test_vectors_in_registers_are_shown(device, current):
    source = (
        "kernel void go(global float4 *out, global const float *y) {\n"
        "    int i = get_global_id(0);\n"
        "    float2 u = vload2(i, y);\n"
        "    float8 e = vload8(i, y);\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    out[i] = u.xyxy + e.s0246 * e.s1357;\n"
        "}\n"
    )
    program = (built_by_current if current else built)(source, device, "-g")
    values = [np.zeros((64, 4), np.float32), np.arange(512, dtype=np.float32)]
    found = Session(program["go"], values, {"global_size": 64})
    say(found, "break 6 if item == 5", "continue")
    known = execute(found, "info locals").data
    lane = found.focus.lane
    assert known["u"]["value"][lane] == [10.0, 11.0]
    assert known["e"]["value"][lane] == [float(n) for n in range(40, 48)]
    assert execute(found, "why e.s3").data["steps"][0]["value"] == "43.0"


class TestZebinsOfOcloc:
    """Files that lack the compiler's notes, as those that `ocloc` itself writes."""

    @pytest.fixture
    def files(self, tmp_path):
        made = session("bmg", "-g", current=True).looker.facts.zebin
        [notes] = [one.data for one in ElfImage(made, "x").sections if one.name == f"{PREFIX}sums"]
        zebin, folder = tmp_path / "sums.bin", tmp_path / "notes"
        zebin.write_bytes(made.replace(f"{PREFIX}sums".encode(), b".nothing.visa.su"))
        folder.mkdir()
        (folder / "sums.dbg").write_bytes(notes)
        return zebin, folder

    def launch(self, zebin, *notes):
        arguments = ["out=zeros:128", "x=iota:128", "scale=2.5", f"n={TURNS}", "shared=local:256"]
        commands = [f"break {line('sum += h')} if item == 70", "continue", "continue", "print k"]
        return [
            *("debug", str(zebin), "--global", "128", "--local", "64", *notes, "--json"),
            *(word for one in arguments for word in ("--arg", one)),
            *(word for one in commands for word in ("-c", one)),
        ]

    def last(self, capsys):
        return json.loads(capsys.readouterr().out)["commands"][-1]

    def test_without_notes_a_value_of_another_place_is_not_shown(self, files, capsys):
        assert main(self.launch(files[0])) == 2
        assert "give --notes" in self.last(capsys)["error"]

    def test_with_notes_variables_are_shown(self, files, capsys):
        assert main(self.launch(files[0], "--notes", str(files[1]))) == 0
        assert self.last(capsys)["data"]["value"][6] == 1

    def test_what_is_no_note_on_the_kernel_is_an_error(self, files, capsys, tmp_path):
        (tmp_path / "other.dbg").write_bytes(b"hello")
        assert main(self.launch(files[0], "--notes", str(tmp_path / "other.dbg"))) == 2
        assert "is on the kernel sums" in capsys.readouterr().out
        (tmp_path / "empty").mkdir()
        assert main(self.launch(files[0], "--notes", str(tmp_path / "empty"))) == 2
        assert "no notes of a compiler" in capsys.readouterr().out

    def test_notes_of_another_text_are_an_error(self, files):
        with pytest.raises(ArgumentError, match="take those of the compiler's run"):
            notes_on({"sums": 10}, [(files[1] / "sums.dbg").read_bytes()])


def test_lines_alone_name_no_variables():
    found = session("pvc", "")
    say(found, f"break {line('sum += h')}", "continue")
    assert "compile with -g" in say(found, "info locals")


def test_an_editor_sees_variables_in_scopes(tmp_path):
    path = tmp_path / "sums.zebin"
    found = session("bmg", "-g", current=True)
    path.write_bytes(found.looker.facts.zebin)
    arguments = {
        "out": f"zeros:{ITEMS}",
        "x": f"iota:{ITEMS}",
        "scale": 2.5,
        "n": TURNS,
        "shared": f"local:{4 * LOCAL}",
    }
    (tmp_path / "source.cl").write_text(SOURCE)
    with Client() as client:
        client.start(program=str(path), **{"global": ITEMS, "local": LOCAL}, arg=arguments)
        name = f"{line('if (k & 1)')}"
        condition = f"item == {ITEM} and k == 3"
        client.request(
            "setFunctionBreakpoints", breakpoints=[{"name": name, "condition": condition}]
        )
        stop = client.go("configurationDone")
        assert [one["name"] for one in stop["frames"]] == ["part (inlined)", "sums"]
        assert stop["frames"][1]["line"] == line("float h = part")
        rows = channel_rows(client, stop["frames"][0]["id"])
        assert rows["k"]["value"] == "3"
        assert rows["k"]["type"] == "int"
        rows = channel_rows(client, stop["frames"][1]["id"])
        assert rows["h"]["value"] == "<optimised away>"
        reference = rows["p"]["variablesReference"]
        inside = client.request("variables", variablesReference=reference)["variables"]
        assert (inside[0]["name"], inside[0]["value"]) == ("tag", str(ITEM))
        answer = client.request(
            "evaluate", expression="p.at[2]", frameId=stop["frames"][1]["id"], context="watch"
        )
        assert answer["result"].startswith("7.0")


def channel_rows(client, frame):
    """Return the variables of the channel that stands, by name."""
    scopes = client.request("scopes", frameId=frame)["scopes"]
    [reference] = [
        one["variablesReference"] for one in scopes if one["name"].endswith(f"work-item {ITEM}")
    ]
    rows = client.request("variables", variablesReference=reference)["variables"]
    return {one["name"]: one for one in rows}
