"""What can be found, and how callers ask for it."""

import pytest

from visim.errors import ArgumentError
from visim.sanitize.kinds import DETECTORS, KINDS, read_sanitize


def test_every_kind_belongs_to_a_detector_and_says_what_to_do():
    assert {kind.detector for kind in KINDS.values()} == set(DETECTORS)
    for kind in KINDS.values():
        assert kind.sentence
        assert kind.advice
        assert not kind.advice.endswith(".")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, ()),
        ("all", DETECTORS),
        ("races", ("races",)),
        ("uninit, races", ("races", "uninit")),
        (("bounds", "races"), ("races", "bounds")),
        ([], ()),
    ],
)
def test_names_come_in_one_order(given: object, names: tuple[str, ...]):
    assert read_sanitize(given) == names


@pytest.mark.parametrize("given", ["race", 3, ["races", 3], "races,,x", ("",)])
def test_what_is_no_sanitizer_is_refused(given: object):
    with pytest.raises(ArgumentError, match="sanitize:"):
        read_sanitize(given)


def test_the_nearest_name_is_offered():
    with pytest.raises(ArgumentError, match="did you mean 'races'"):
        read_sanitize("race")
