"""What pointers of the source point to: in expressions, conditions, `why`, watchpoints, editors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import visim
from tests.opencl.building import built, built_by_current
from visim.debug.fronts.commands import execute
from visim.debug.fronts.tree import Tree
from visim.debug.looking.expressions import Expression
from visim.debug.session import Session
from visim.errors import ArgumentError

SOURCE = """\
struct node { int value; float w[2]; int next; };

__attribute__((noinline)) int walk(global const struct node *all, int first)
{
    global const struct node *at = all + first;
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        sum += at->value;
        at = at->next ? all + at->next : 0;
        if (!at) break;
    }
    return sum;
}

kernel void sums(global int *out, global const struct node *nodes, local int *tmp)
{
    int i = get_global_id(0);
    local int *slot = tmp + get_local_id(0);
    int mem[4];
    int *p = mem;
    for (int k = 0; k < 4; k++)
        p[k] = k * i + nodes[k].value;
    *slot = p[i & 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    int **q = &p;
    global int *mine = out + i;
    *mine = walk(nodes, i & 7) + *slot + **q;
    *mine += 1;
}
"""
WIDE = """\
kernel void wide(global int *out, global const int *x, local int *tmp)
{
    int i = get_global_id(0), l = get_local_id(0);
    local int *slot = tmp + l;
    int mem[4];
    int *p = mem;
    for (int k = 0; k < 4; k++)
        p[k] = k * i + x[k];
    *slot = p[i & 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    int *q = (i & 1) ? p + 1 : p;
    global int *mine = out + i;
    *mine = *slot + *q;
}
"""
NODE = np.dtype([("value", "i4"), ("w", "f4", 2), ("next", "i4")])
UNOPTIMISED = "-g -cl-opt-disable"
I = np.arange(16)  # noqa: E741 - the variable's name in the kernel


def line(text: str) -> int:
    """Return the line of the source that has a text."""
    return next(n for n, one in enumerate(SOURCE.splitlines(), 1) if text in one)


def session(device: str, options: str = UNOPTIMISED, *, current: bool = True) -> Session:
    """Return a session of the kernel; the list ends with node 7, whose next is 0."""
    program = (built_by_current if current else built)(SOURCE, device, options)
    nodes = np.zeros(8, NODE)
    nodes["value"], nodes["next"] = np.arange(8) * 10, (np.arange(8) + 1) % 8
    nodes["w"] = np.arange(16).reshape(8, 2)
    values = [np.zeros(32, np.int32), nodes.view(np.uint8), visim.Local(128)]
    return Session(program["sums"], values, {"global_size": 32, "local_size": 32})


def at(stopped: Session, text: str) -> Session:
    """Go to a line."""
    execute(stopped, f"break {line(text)}")
    stopped.cont()
    return stopped


@pytest.fixture(scope="module", params=["bmg", "pvc", "tgllp"])
def stopped(request: pytest.FixtureRequest) -> Session:
    """A session that stands where all pointers have their values."""
    return at(session(request.param), "*mine = walk")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p[2]", 2 * I + 20),
        ("*p", 0 * I),
        ("*(p + 3)", 3 * I + 30),
        ("p[i & 3]", (I & 3) * I + 10 * (I & 3)),
        ("p[1:3]", np.stack([I + 10, 2 * I + 20])),
        ("*slot", (I & 3) * I + 10 * (I & 3)),
        ("**q + 2 * *(p + 1)", 2 * I + 20),
        ("(*q)[1]**p", 0 * I),
        ("-*slot", -((I & 3) * I + 10 * (I & 3))),
        ("nodes->value", 0 * I),
        ("nodes[i & 7].w[1]", 2 * (I & 7) + 1.0),
        ("(nodes + 3)->next", 0 * I + 4),
        ("(*nodes).w[0]", 0.0 * I),
        ("*mine", 0 * I),
        ("p[2] > 30 and nodes[3].value == 30", 2 * I + 20 > 30),
    ],
)
def test_a_pointer_leads_to_the_values_of_all_channels(
    stopped: Session, text: str, expected: Any
) -> None:
    width = stopped.looker.kernel.simd_size
    found = np.asarray(stopped.evaluate(text))
    assert np.array_equal(found, expected[..., :width])


def test_the_older_compilers_pointers_lead_there_too() -> None:
    found = at(session("dg2", current=False), "*mine = walk")
    assert np.array_equal(
        found.evaluate("nodes[i & 7].value + *(p + 2)"),
        [10 * (i & 7) + 2 * i + 20 for i in range(found.looker.kernel.simd_size)],
    )


def test_a_buffer_is_read_as_in_c(stopped: Session) -> None:
    assert stopped.evaluate("*out") == 0
    assert stopped.evaluate("*(out + 3)") == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("*i", "i is no pointer"),
        ("p->x", "int has no member 'x'"),
        ("nodes->x", "it has .value, .w, .next"),
        ("p[0:1000]", "give 1 to 64 elements"),
        ("*(nodes + 4000)", "a pointer leads to no memory of the launch in any channel"),
    ],
)
def test_what_leads_nowhere_says_why(stopped: Session, text: str, reason: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        stopped.evaluate(text)
    assert reason in str(caught.value)


def test_where_only_some_channels_lead_somewhere_the_others_are_marked(stopped: Session) -> None:
    lines = execute(stopped, "print (nodes + i + 1)->next").lines
    assert "?" in " ".join(lines[:-1])
    data = execute(stopped, "print (nodes + i + 1)->next").data["value"]
    assert data[6:8] == [0, "?"]
    value = stopped.evaluate("i < 8 and (nodes + i)->next == 3")
    assert not np.ma.is_masked(value)
    assert np.flatnonzero(value).tolist() == [2]


def test_a_condition_goes_through_pointers() -> None:
    found = session("bmg")
    execute(found, f"break {line('sum += at->value')} if at->value == 50 and sum == 30 + 40")
    stop = found.cont()
    assert stop.focus is not None
    assert stop.focus.lane == 3
    execute(found, "delete")
    execute(found, f"break {line('if (!at) break')} if at->value == 1234")
    assert "a pointer leads to no memory of the launch" in found.cont().message


def test_why_and_watch_go_through_pointers() -> None:
    found = at(session("bmg"), "*slot = p[i & 3]")
    execute(found, "item 6")
    lines = execute(found, "why p[2]").lines
    assert lines[0].startswith("p[2]: ")
    assert "p[k] = k * i + nodes[k].value" in lines[1]
    assert lines[2].split("=")[-1].split()[0] == "32"
    execute(found, "watch *slot")
    assert f"source.cl:{line('*slot = p')}" in found.cont().message
    assert found.evaluate("*slot")[6] == 32
    with pytest.raises(ArgumentError, match=r"\(\*nodes\)\.value"):
        execute(found, "why *nodes")


def test_optimised_code_has_structures_behind_parameters() -> None:
    found = at(session("bmg", "-g"), "barrier(")
    assert found.evaluate("nodes[3].w[1]")[0] == 7.0
    assert np.array_equal(found.evaluate("nodes[i & 7].value"), (I & 7) * 10)


def test_an_editor_opens_pointers(stopped: Session) -> None:
    tree, focus = Tree(stopped), stopped.needed()
    scope = next(one for one in tree.scopes(focus) if one["name"].startswith("Channel"))
    rows = tree.open(scope["variablesReference"])
    pointer = next(one for one in rows if one["name"] == "nodes")
    [inner] = tree.open(pointer["variablesReference"])
    assert inner["name"] == "*nodes"
    assert tree.evaluate(inner["evaluateName"], focus, "watch")["type"].endswith("node")
    members = {one["name"]: one["value"] for one in tree.open(inner["variablesReference"])}
    assert members["next"] == "1"


@pytest.mark.parametrize("text", ["a*b", "a * b", "(a)*b", "a[0]*b", "2*3", "'*' == x"])
def test_a_product_is_no_pointer(text: str) -> None:
    assert not Expression(text).has_pointers


def test_what_compilers_describe_wrongly_is_not_shown() -> None:
    """ocloc 22.43 has one address for all channels; both have too many bits for 16-bit ids."""
    found = at(session("tgllp", "-g", current=False), "barrier(")
    with pytest.raises(ArgumentError, match="for one channel only"):
        found.evaluate("slot")
    kernel = built_by_current(WIDE, "tgllp", "-g")["wide"]
    values = [np.zeros(64, np.int32), np.zeros(8, np.int32), visim.Local(256)]
    found = Session(kernel, values, {"global_size": 64, "local_size": 32})
    execute(found, "break 13")
    found.cont()
    for name in ("l", "slot"):
        with pytest.raises(ArgumentError, match="is larger than its register"):
            found.evaluate(name)
