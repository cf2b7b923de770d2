"""Going back from the end of a long group executes little of it again."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.debug.engine import timeline
from visim.debug.engine.timeline import Moment
from visim.debug.fronts.commands import execute
from visim.debug.session import Session

LONG = """.version 4.1
.kernel "long"
.decl limit v_type=G type=ud num_elts=1 align=dword
.decl count v_type=G type=ud num_elts=1 align=dword
.decl on v_type=P num_elts=1
.input limit offset=64 size=4
.kernel_attr Target="cm"
.function "long_0"

long_0:
    mov (M1_NM, 1) count(0,0)<1> 0x0:ud
again:
    add (M1_NM, 1) count(0,0)<1> count(0,0)<0;1,0> 0x1:ud
    cmp.lt (M1_NM, 1) on count(0,0)<0;1,0> limit(0,0)<0;1,0>
    (on) goto (M1_NM, 1) again
    ret (M1_NM, 1)
"""
TURNS = 20_000


def test_from_the_end_to_the_last_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "_BETWEEN_S", 0.0)
    kernel = visim.assemble(LONG, platform="pvc")["long"]
    session = Session(kernel, [np.uint32(TURNS)], {"thread_groups": 1, "group_size": 1})
    execute(session, "goto end")
    went = session.timeline.executed
    assert went > 3 * TURNS
    execute(session, "backi")
    assert session.timeline.moment == Moment(0, went - 1)
    assert session.timeline.executed - went < went / 4
    assert session.evaluate("count") == TURNS
