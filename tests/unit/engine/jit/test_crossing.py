"""What of a function's variables crosses places: by small functions."""

from __future__ import annotations

import pytest

from visim.engine.jit.ir.accesses import Body, allocated
from visim.engine.jit.ir.crossing import Crossed, Crossing, Part
from visim.errors import InternalError

ROOM = ["  %a = alloca [8 x i8], align 64", "  %b = alloca i32", "  %c = alloca i32"]
SIZES = {"%a": 8, "%b": 4, "%c": 4}


def crossing(text: str) -> Crossing:
    """Find what crosses the place `met.1`, and `met.2` if there is one."""
    lines = [
        line if line.endswith(":") else f"  {line.strip()}" for line in text.split("\n") if line
    ]
    places = [line[:-1] for line in lines if line.startswith("met.") and line.endswith(":")]
    return Crossing(Body(lines, SIZES), places)


def crossed(text: str) -> Crossed:
    return crossing(text).crossed["met.1"]


def test_room_is_found_with_its_size():
    assert allocated([*ROOM, "  store i32 0, ptr %b"]) == SIZES
    assert allocated(["  %d = alloca <32 x i32>"]) == {"%d": 128}


def test_room_of_unknown_size_is_no_oversight():
    with pytest.raises(InternalError, match="nobody knows"):
        allocated(["  %d = alloca i8, i64 %n"])


def test_what_is_written_in_front_and_read_behind_is_kept():
    found = crossed(
        """
%v.1 = load i32, ptr %work
store i32 %v.1, ptr %b
br label %met.1
met.1:
%v.2 = load i32, ptr %b, align 1
call void @use(i32 %v.2)
ret void
"""
    )
    assert found == Crossed((Part("%b", 0, 4),), (Part("%b", 0, 4),), ())


def test_only_bytes_that_are_read_are_kept():
    found = crossed(
        """
%v.1 = load i64, ptr %work
store i64 %v.1, ptr %a, align 1
br label %met.1
met.1:
%v.2 = getelementptr i8, ptr %a, i64 4
%v.3 = load i16, ptr %v.2, align 1
call void @use(i16 %v.3)
ret void
"""
    )
    assert found.kept == (Part("%a", 4, 2),)


def test_nothing_is_kept_of_what_is_not_read_not_written_or_written_anew():
    found = crossed(
        """
%v.1 = load i64, ptr %work
store i64 %v.1, ptr %a
%v.2 = load i32, ptr %work
store i32 %v.2, ptr %c
br label %met.1
met.1:
%v.3 = load i32, ptr %b
store i32 %v.3, ptr %c
%v.4 = load i32, ptr %c
call void @use(i32 %v.4)
ret void
"""
    )
    assert found == Crossed((), (), ())


def test_a_load_that_nobody_needs_keeps_nothing():
    """What only goes to a variable that nobody reads is not needed either."""
    found = crossed(
        """
%v.1 = load i32, ptr %work
store i32 %v.1, ptr %b
br label %met.1
met.1:
%v.2 = load i32, ptr %b
%v.3 = add i32 %v.2, 1
store i32 %v.3, ptr %c
ret void
"""
    )
    assert not found.kept


def test_what_an_atomic_operation_uses_is_needed():
    found = crossed(
        """
%v.1 = load i32, ptr %work
store i32 %v.1, ptr %b
br label %met.1
met.1:
%v.2 = load i32, ptr %b
%v.3 = atomicrmw add ptr %counter, i32 %v.2 monotonic
ret void
"""
    )
    assert found.kept == (Part("%b", 0, 4),)


def test_a_variable_whose_address_is_given_away_is_kept_as_a_whole():
    found = crossed(
        """
call void @fill(ptr %a)
br label %met.1
met.1:
call void @use(ptr %a)
ret void
"""
    )
    assert found.kept == (Part("%a", 0, 8),)


def test_what_a_variable_is_made_of_whose_address_is_given_away_is_kept():
    found = crossed(
        """
%v.1 = load i32, ptr %work
store i32 %v.1, ptr %b
br label %met.1
met.1:
%v.2 = load i32, ptr %b
store i32 %v.2, ptr %c
call void @use(ptr %c)
ret void
"""
    )
    assert found.kept == (Part("%b", 0, 4),)


@pytest.mark.parametrize(
    "line",
    [
        "%p.1 = getelementptr i32, ptr %c, i64 %v.1",
        "%p.1 = phi ptr [ %b, %one ], [ %c, %other ]",
        "%p.1 = select i1 %v.1, ptr %b, ptr %c",
        "store ptr %c, ptr %work",
    ],
)
def test_nobody_makes_pointers_that_are_not_followed(line: str):
    """Lines that use them later would read and write what nobody sees."""
    with pytest.raises(InternalError, match="a pointer into a variable"):
        Body([f"  {line}"], SIZES)


def test_what_follows_from_numbers_that_stay_is_computed_again():
    found = crossed(
        """
%v.1 = load i32, ptr %c
%v.2 = shl i32 %v.1, 4
store i32 %v.2, ptr %b
br label %met.1
met.1:
%v.3 = load i32, ptr %b
call void @use(i32 %v.3)
ret void
"""
    )
    assert not found.kept
    assert [line.split(" = ")[-1].strip() for line in found.code] == [
        "getelementptr i8, ptr %c, i64 0",
        "load i32, ptr %at.met.1.b.0, align 1",
        "shl i32 %v.1.met.1.b, 4",
        "store i32 %v.2.met.1.b, ptr %b",
    ]


def test_what_has_changed_since_is_not_computed_again():
    found = crossed(
        """
%v.1 = load i32, ptr %c
%v.2 = shl i32 %v.1, 4
store i32 %v.2, ptr %b
%v.3 = load i32, ptr %work
store i32 %v.3, ptr %c
br label %met.1
met.1:
%v.4 = load i32, ptr %b
call void @use(i32 %v.4)
ret void
"""
    )
    assert found.kept == (Part("%b", 0, 4),)


def test_what_is_written_on_one_of_two_paths_is_kept():
    found = crossed(
        """
%v.1 = load i1, ptr %work
br i1 %v.1, label %one, label %other
one:
store i32 7, ptr %b
br label %other
other:
br label %met.1
met.1:
%v.2 = load i32, ptr %b
call void @use(i32 %v.2)
ret void
"""
    )
    assert found.kept == (Part("%b", 0, 4),)


def test_a_counter_of_a_loop_is_kept():
    found = crossed(
        """
store i32 0, ptr %b
br label %again
again:
%v.1 = load i32, ptr %b
%v.2 = add i32 %v.1, 1
store i32 %v.2, ptr %b
br label %met.1
met.1:
%v.3 = load i32, ptr %b
%v.4 = icmp slt i32 %v.3, 9
br i1 %v.4, label %again, label %end
end:
ret void
"""
    )
    assert found.kept == (Part("%b", 0, 4),)


def test_what_only_passes_through_is_left_where_it_is_written():
    found = crossing(
        """
%v.1 = load i32, ptr %work
store i32 %v.1, ptr %b
br label %again
again:
br label %met.1
met.1:
br label %met.2
met.2:
%v.2 = load i32, ptr %b
call void @use(i32 %v.2)
%v.3 = load i32, ptr %work
store i32 %v.3, ptr %b
%v.4 = load i1, ptr %work
br i1 %v.4, label %again, label %end
end:
ret void
"""
    )
    part = Part("%b", 0, 4)
    assert [one.kept for one in found.crossed.values()] == [(part,), (part,)]
    assert [one.left for one in found.crossed.values()] == [(), ()]
    assert found.at_once == {1: [part], 11: [part]}


def test_only_what_is_kept_is_left_where_it_is_written():
    found = crossing(
        """
%v.1 = load i64, ptr %work
store i64 %v.1, ptr %a
br label %again
again:
br label %met.1
met.1:
%v.2 = getelementptr i8, ptr %a, i64 2
%v.3 = load i16, ptr %v.2
call void @use(i16 %v.3)
br label %again
"""
    )
    assert found.at_once == {1: [Part("%a", 2, 2)]}
