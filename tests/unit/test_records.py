"""Records are frozen dataclasses with slots, however many fields they have."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from visim.records import record


@record
class Small:
    """Two fields."""

    a: int
    b: int = 2


@record
class Large:
    """So many that they are stored in another way."""

    a: int
    b: int = field(repr=False)
    c: int
    d: int
    e: int
    f: int
    g: int = 7
    h: str = "h"
    i: tuple[int, ...] = field(default=(), kw_only=True)


class Named(Large):
    """A class that adds nothing but a name."""

    __slots__ = ()


def large(kind: type[Large] = Large) -> Large:
    return kind(1, 2, 3, 4, 5, f=6, i=(9,))


@pytest.mark.parametrize("kind", [Large, Named])
def test_a_record_has_what_it_was_given(kind: type[Large]) -> None:
    found = large(kind)
    assert type(found) is kind
    assert [getattr(found, one.name) for one in fields(found)] == [1, 2, 3, 4, 5, 6, 7, "h", (9,)]
    assert found == large(kind)
    assert hash(found) == hash(large(kind))
    assert repr(found).startswith(f"{kind.__name__}(a=1, c=3,")


@pytest.mark.parametrize("found", [Small(1), large()])
def test_a_record_is_frozen_and_has_slots(found: Small | Large) -> None:
    with pytest.raises(FrozenInstanceError):
        found.a = 2  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(found, "__dict__")


@pytest.mark.parametrize("found", [Small(1), large()])
def test_a_record_can_be_copied_and_pickled(found: Small | Large) -> None:
    assert pickle.loads(pickle.dumps(found)) == found
    assert copy.deepcopy(found) == found
    assert replace(found, a=5).a == 5


def test_a_field_that_is_missing_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError, match="missing"):
        Large(1, 2, 3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected"):
        Small(1, c=3)  # pyright: ignore[reportCallIssue]
