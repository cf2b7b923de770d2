"""`why`: the chain of instructions and loads that made a value (visim.debug.slicing)."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.debug.kernels import DEVICES, SOURCE, bare, say, steps, turns
from tests.debug.planted import PLANTED
from tests.opencl.building import built
from tests.shares import share
from visim.debug.fronts.commands import execute
from visim.debug.session import Session

_IN_GATE = 6


def pytest_generate_tests(metafunc):
    """Take a share of the planted mistakes, or all with --thorough."""
    if "planted" not in metafunc.fixturenames:
        return
    chosen = list(enumerate(PLANTED))
    if not metafunc.config.getoption("--thorough"):
        chosen = share("planted", chosen, _IN_GATE)
    cases = [(one, DEVICES[number % len(DEVICES)]) for number, one in chosen]
    metafunc.parametrize(("planted", "device"), cases, ids=[one.name for one, _ in cases])


def _arguments():
    x = (np.arange(256, dtype=np.float32) * 37) % 113
    p = ((np.arange(256, dtype=np.int32) * 29) % 127).astype(np.int32)
    out, other = np.zeros(256, np.float32), np.zeros(256, np.float32)
    return [out, x, p, other, np.float32(1.5), 5, visim.Local(256)]


def _results(source, device):
    arguments = _arguments()
    built(source, device)["k"].launch(arguments, global_size=256, local_size=64)
    return arguments[0]


def test_the_planted_line_is_in_the_chain_and_another_is_not(planted, device):
    wrong, right = (planted.source(wrong=wrong) for wrong in (True, False))
    differs = np.flatnonzero(_results(wrong, device) != _results(right, device))
    assert differs.size
    place = int(differs[-1])
    session = Session(
        built(wrong, device)["k"], _arguments(), {"global_size": 256, "local_size": 64}
    )
    say(session, "goto end")
    found = execute(session, f"why out[{place}]").data
    lines = {step.get("line") for step in found["steps"]}
    assert planted.line in lines
    assert planted.other_line not in lines
    assert not found["cut"]
    assert session.timeline.is_finished


class TestChains:
    def test_a_chain_ends_at_arguments_and_memory(self):
        session = steps("pvc")
        say(session, "goto end")
        found = execute(session, "why out[30]").data["steps"]
        origins = {step["origin"]: step["value"] for step in found if "origin" in step}
        assert origins["x[30], as it was before the launch"] == "30.0"
        assert origins["argument a"] == "2.0"
        assert found[0]["value"] == "121.0"
        assert found[0]["channel"] == 30 % session.looker.kernel.simd_size

    def test_a_value_came_through_local_memory_from_another_thread(self):
        session = turns("pvc")
        say(session, "goto end")
        found = execute(session, "why out[95]").data["steps"]
        threads = {step["thread"] for step in found if "thread" in step}
        assert threads == {0, 1}
        line = next(n for n, one in enumerate(SOURCE.splitlines(), 1) if "shared[i] = i" in one)
        assert line in {step.get("line") for step in found}

    def test_a_variable_and_its_past_in_visa_text(self):
        session = bare()
        say(session, "break again if turn == 2", "continue")
        found = execute(session, "why sum[5]").data["steps"]
        assert found[0]["value"] == "1"
        assert [
            step["visa_line"] for step in found if step.get("instruction", "").startswith("mov")
        ] == [17, 16]

    def test_what_earlier_groups_have_written_is_followed(self):
        session = _chained()
        say(session, "goto end")
        found = execute(session, "why data[3]").data["steps"]
        groups = [step["group"][0] for step in found if "group" in step]
        assert set(groups) == {1, 2, 3}  # group 0 adds 0

    def test_who_wrote_tells_the_moment(self):
        session = steps("pvc", 1024)
        say(session, "goto end")
        moment = execute(session, "who out[777]").data["moment"]
        say(session, f"goto moment {moment[0]}:{moment[1]}")
        assert session.describe()["line"] == 11
        assert session.looker.arguments.array("out")[777] == 0

    def test_nothing_has_written_it(self):
        session = steps("pvc")
        assert "out[255], as it was before the launch = 0.0" in say(
            session, "goto end", "why out[255]"
        )

    @pytest.mark.parametrize("text", ["out", "nothing", "out[9999]", "sum[99]", ""])
    def test_what_is_no_value_is_an_error(self, text):
        with pytest.raises(visim.ArgumentError):
            say(bare(), f"why {text}")


CHAIN = """\
.version 4.1
.kernel "add"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl value v_type=G type=ud num_elts=1 align=dword
.decl place v_type=G type=uq num_elts=1 align=qword
.input data offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=8
.function "add_0"

add_0:
    add (M1_NM, 1) place(0,0)<1> data(0,0)<0;1,0> 0xc:uq
    lsc_load.ugm (M1_NM, 1) value:d32 flat[place]:a64
    add (M1_NM, 1) value(0,0)<1> value(0,0)<0;1,0> %group_id_x(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[place]:a64 value:d32
    ret (M1, 1)
"""


def _chained() -> Session:
    data = np.full(8, 5, np.uint32)
    program = visim.assemble(CHAIN, platform="pvc")
    return Session(program["add"], [data], {"thread_groups": 4})
