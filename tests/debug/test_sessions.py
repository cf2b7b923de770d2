"""Sessions at the prompt: places, steps, what is shown (visim.debug)."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.debug.kernels import DEVICES, SOURCE, bare, down, say, steps, turns
from tests.opencl.building import built
from visim.debug.engine.timeline import Moment
from visim.debug.session import Session


def line_of(text: str) -> int:
    """Return the line of the source that has a text."""
    return next(n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line)


@pytest.mark.parametrize("device", DEVICES)
class TestSourceLines:
    def test_a_breakpoint_stops_before_its_line(self, device):
        session = steps(device)
        line = line_of("float w = twice")
        say(session, f"break {line}")
        stop = session.cont()
        assert stop.reason == "breakpoint"
        found = session.describe()
        assert found["line"] == line
        assert found["work_item"] == [0, 0, 0]

    def test_a_condition_on_the_work_item_chooses_the_group_and_the_channel(self, device):
        session = steps(device, 1024)
        say(session, f"break {line_of('out[i] = w')} if item == 777", "continue")
        found = session.describe()
        assert found["work_item"] == [777, 0, 0]
        assert found["group"] == [777 // 64, 0, 0]
        out = session.looker.arguments.array("out")
        assert out[700] == 2 * 700 * 2 + (700 % 3 == 0)
        assert out[777] == 0

    def test_steps_go_from_line_to_line(self, device):
        session = steps(device)
        say(session, f"break {line_of('float v = x[i]')}", "continue", "delete")
        first = session.describe()["line"]
        seen = [first]
        for _ in range(3):
            session.step()
            seen.append(session.describe()["line"])
        assert line_of("float w = twice") in seen
        assert len(set(seen)) == len(seen)

    def test_until_goes_to_a_line_of_this_thread(self, device):
        session = steps(device)
        line = line_of("out[i] = w")
        session.go_to_item((70, 0, 0))
        thread = session.describe()["thread"]
        say(session, f"until {line}")
        assert (session.describe()["line"], session.describe()["thread"]) == (line, thread)


class TestWhoIsSteppedWith:
    def test_steps_keep_the_work_item(self):
        session = steps("pvc")
        say(session, f"break {line_of('float v = x[i]')} if item == 75", "continue", "delete")
        for command in ("next", "step", "nexti", f"until {line_of('out[i] = w')}", "back"):
            say(session, command)
            assert session.describe()["work_item"] == [75, 0, 0], command

    def test_the_thread_that_is_looked_at_is_stepped(self):
        session = turns("pvc")
        say(session, f"break {line_of('int next')}", "continue", "delete", "thread 1")
        before = session.describe()["pc"]
        say(session, "nexti")
        assert session.describe()["thread"] == 1
        assert session.describe()["pc"] > before
        say(session, f"until {line_of('out[get_global_id(0)] = next')}")
        assert session.describe()["thread"] == 1

    def test_finish_leaves_the_function_that_is_looked_at(self):
        session = down()
        say(session, "break 2 if depth == 0", "continue", "delete")
        depth = len(session.backtrace())
        say(session, "frame 1", "finish")
        assert len(session.backtrace()) == depth - 2


class TestPlaces:
    def test_a_line_without_code_means_the_next_one_with_some(self):
        session = steps("pvc")
        found = session.places.add_breakpoint(str(line_of("if (i < n)") + 1))
        assert found.name.endswith(f":{line_of('if (i < n)') + 1}")

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ("9999", "no code at or behind line 9999"),
            ("other.cl:3", "no code comes of 'other.cl'"),
            ("nowhere", "there is no place 'nowhere'"),
            ("pc:9999", "no instruction 9999"),
            ("barrier", "no barriers"),
            ("gone+3", "no function 'gone'"),
        ],
    )
    def test_what_is_no_place_is_an_error(self, place, message):
        with pytest.raises(visim.ArgumentError, match=message):
            steps("pvc").places.add_breakpoint(place)

    def test_labels_and_lines_of_visa_text(self):
        session = bare()
        assert "again" in say(session, "break again", "continue", "backtrace", "disassemble")
        assert session.describe()["visa_line"] == 19
        say(session, "delete", "break 26", "continue")
        assert session.describe()["instruction"].startswith("ret")

    def test_hits_are_counted_and_ignored(self):
        session = bare()
        say(session, "break again", "ignore 1 4", "continue")
        assert session.evaluate("turn") == 4
        assert "hit 5 times" in say(session, "info breakpoints")

    def test_a_temporary_breakpoint_is_met_once(self):
        session = bare()
        say(session, "tbreak again", "continue")
        assert session.cont().reason == "finished"

    def test_disabled_breakpoints_do_not_count(self):
        session = bare()
        say(session, "break again", "disable 1")
        assert session.cont().reason == "finished"
        say(session, "restart", "enable 1")
        assert session.cont().reason == "breakpoint"

    def test_a_condition_on_a_value(self):
        session = bare()
        say(session, "break again if turn == 7 and group_x == 2", "continue")
        assert session.describe()["group"] == [2, 0, 0]
        assert session.evaluate("turn") == 7


class TestBarriers:
    @pytest.mark.parametrize("device", DEVICES)
    def test_threads_wait_for_each_other(self, device):
        session = turns(device)
        say(session, "break barrier", "continue")
        assert session.describe()["group"] == [0, 0, 0]
        states = [one.state for one in session.threads()]
        assert states[0] == "runs"
        last = len(states) - 1
        session.places.delete(1)
        say(session, f"until {line_of('int next')}")
        assert session.describe()["thread"] == 0
        states = [one.state for one in session.threads()]
        assert all("wait" in state for state in states[1:] if last)

    def test_local_memory_is_shown_as_an_array(self):
        session = turns("pvc")
        say(session, f"break {line_of('int next')}", "continue")
        found = session.evaluate("slm(int)")
        np.testing.assert_array_equal(found[:64], np.arange(64) * 10)


class TestLooking:
    def test_variables_regions_and_memory(self):
        session = bare()
        say(session, "break 26", "continue")
        np.testing.assert_array_equal(session.evaluate("sum"), [45] * 8)
        words = session.evaluate("sum(0,2)<8;2,2>:uw")
        np.testing.assert_array_equal(words, [45, 45, 45, 45])
        assert session.evaluate("sum[3] * 2 + 1") == 91
        np.testing.assert_array_equal(session.evaluate("data[0:8]"), [45] * 8)
        address = int(session.evaluate("var(place)")[0])
        np.testing.assert_array_equal(session.evaluate(f"mem({address}, u32, 2)"), [45, 45])
        assert session.evaluate("%r0:ud").size == 16

    def test_channels_that_are_off_are_dots(self):
        session = steps("pvc")
        session.go_to_item((255, 0, 0))
        say(session, f"until {line_of('float v = x[i]')}")
        text = say(session, "print item")
        assert "249" in text
        assert "250" not in text

    def test_what_is_unknown_names_the_nearest(self):
        with pytest.raises(visim.ArgumentError, match="did you mean 'limit'"):
            bare().evaluate("limits")

    @pytest.mark.parametrize(
        "text",
        [
            "1 +",
            "__import__('os')",
            "x.__class__",
            "[1, 2]",
            "(lambda: 1)()",
            "2 << 99999",
            "sum[99]",
        ],
    )
    def test_what_is_no_expression_is_an_error(self, text):
        with pytest.raises(visim.ArgumentError):
            bare().evaluate(text)

    def test_threads_and_channels_can_be_looked_at(self):
        session = turns("pvc")
        say(session, f"break {line_of('int next')}", "continue")
        say(session, "thread 1", "channel 5")
        assert session.describe()["work_item"] == [37, 0, 0]
        say(session, "item 3")
        assert (session.describe()["thread"], session.describe()["channel"]) == (0, 3)
        with pytest.raises(visim.ArgumentError, match="goto item 100"):
            say(session, "item 100")

    def test_changes_are_shown(self):
        session = bare()
        say(session, "break again", "continue", "changes")
        assert say(session, "continue", "changes").splitlines()[-2:] == [
            "turn: [0] 0 -> 1",
            "more: [0] 0 -> 1",
        ]

    def test_the_source_is_listed(self):
        session = steps("pvc")
        say(session, f"break {line_of('out[i] = w')}", "continue")
        assert f">   {line_of('out[i] = w')}         out[i] = w;" in say(session, "list")


class TestBack:
    def test_back_and_forth_give_the_same(self):
        session = bare()
        seen = {}
        for _ in range(30):
            image = session.timeline.stepper.context.image
            seen[session.timeline.moment] = (session.control.place, image.tobytes())
            session.step_instruction()
        for moment, (place, image) in reversed(seen.items()):
            session.go_to(moment)
            assert session.control.place == place
            assert session.timeline.stepper.context.image.tobytes() == image

    @pytest.mark.parametrize("device", DEVICES)
    def test_memory_goes_back_too(self, device):
        session = turns(device)
        out = session.looker.arguments.array("out")
        session.go_to(Moment(10**6, 0))
        whole = out.copy()
        assert whole.any()
        session.go_to(Moment(1, 0))
        np.testing.assert_array_equal(out[:64], whole[:64])
        assert not out[64:].any()
        session.go_to(Moment(0, 0))
        assert not out.any()
        assert session.cont().reason == "finished"
        np.testing.assert_array_equal(out, whole)

    def test_back_goes_to_the_line_before(self):
        session = steps("pvc")
        line = line_of("out[i] = w")
        say(session, f"break {line}", "continue", "next", "back")
        assert session.describe()["line"] == line
        say(session, "back")
        assert session.describe()["line"] < line

    def test_reverse_continue_finds_the_breakpoint_before(self):
        session = bare()
        say(session, "break again if turn == 3", "goto end", "reverse-continue")
        assert (session.describe()["group"], session.evaluate("turn")) == ([3, 0, 0], 3)
        say(session, "reverse-continue")
        assert (session.describe()["group"], session.evaluate("turn")) == ([2, 0, 0], 3)
        say(session, "reverse-continue", "reverse-continue", "reverse-continue")
        assert session.stop.reason == "start"

    def test_back_over_the_start_of_a_group(self):
        session = bare()
        say(session, "goto group 1", "backi")
        assert session.describe()["group"] == [0, 0, 0]
        assert session.describe()["instruction"].startswith("ret")


class TestWatchpoints:
    @pytest.mark.parametrize("device", DEVICES)
    def test_a_byte_is_watched_in_both_directions(self, device):
        session = steps(device)
        out = session.looker.arguments.array("out")
        say(session, "watch out[130]", "continue")
        assert session.stop.reason == "watchpoint"
        assert out[130] == 520
        assert session.describe()["work_item"] == [130, 0, 0]
        say(session, "goto end", "reverse-continue")
        assert session.describe()["work_item"] == [130, 0, 0]
        assert session.describe()["line"] == line_of("out[i] = w")
        assert out[130] == 0

    def test_a_variable_is_watched(self):
        session = bare()
        say(session, "watch sum", "continue")
        assert session.evaluate("sum[0]") == 1
        say(session, "continue")
        assert session.evaluate("sum[0]") == 3
        say(session, "reverse-continue", "reverse-continue")
        assert session.evaluate("sum[0]") == 0

    def test_reads_are_watched(self):
        session = turns("pvc")
        say(session, "awatch slm:0,4", "continue")
        assert f":{line_of('shared[i] = i * 10')}: lsc_store" in session.stop.message
        say(session, "continue")
        assert f":{line_of('int next')}: lsc_load" in session.stop.message


class TestFaults:
    @pytest.mark.parametrize("device", DEVICES)
    def test_the_debugger_stands_at_the_fault_with_the_past_behind_it(self, device):
        items, first = 100_000, 90_000
        program = built(SOURCE, device)
        session = Session(
            program["beyond"],
            [np.zeros(items, np.int32), first],
            {"global_size": items, "local_size": 32},
        )
        stop = session.run_to_fault()
        assert stop.reason == "fault"
        assert session.describe()["line"] == line_of("out[place] = i")
        assert session.timeline.group == first // 32
        assert session.fault.channel == first % 32
        say(session, "back", "back")
        assert session.timeline.fault is None
        assert session.describe()["line"] < line_of("out[place] = i")
        assert session.cont().reason == "fault"

    def test_without_a_fault_it_stands_at_the_end(self):
        session = steps("pvc")
        assert session.run_to_fault().reason == "finished"
        out = session.looker.arguments.array("out")
        assert out[100] == 400


def test_an_argument_is_shown_as_a_picture():
    source = (
        "kernel void ramp(global uchar *out, int w) {\n"
        "    out[get_global_id(1) * w + get_global_id(0)] = get_global_id(0) * 8; }\n"
    )
    program = built(source, "pvc")
    out = np.zeros((16, 32), np.uint8)
    session = Session(program["ramp"], [out, 32], {"global_size": (32, 16)})
    before = say(session, "picture out")
    say(session, "goto end")
    after = say(session, "picture out")
    assert before != after
    assert len(after.splitlines()) == 8
    with pytest.raises(visim.ArgumentError, match="no array 'w'"):
        say(session, "picture w")
