"""Which arrays are pictures, and how they look in files and terminals (`pictures`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.runtime.files.pngs import decode_png
from visim.errors import ArgumentError
from visim.runtime.pictures import as_picture, encode_png, terminal_picture


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_png_file_holds_the_pixels(channels):
    picture = np.arange(1, 2 * 5 * channels + 1, dtype=np.uint8).reshape(2, 5, channels)
    np.testing.assert_array_equal(decode_png(encode_png(picture)), picture)


def test_alpha_that_is_zero_everywhere_is_left_out():
    picture = np.zeros((2, 2, 4), np.uint8)
    picture[..., 0] = 7
    np.testing.assert_array_equal(decode_png(encode_png(picture)), picture[..., :3])


@pytest.mark.parametrize(
    ("array", "size", "shape"),
    [
        (np.zeros((2, 3), np.uint8), None, (2, 3, 1)),
        (np.zeros((2, 3, 3), np.uint8), None, (2, 3, 3)),
        (np.zeros((2, 3, 4), np.uint8), None, (2, 3, 4)),
        (np.zeros((2, 3), np.uint32), None, (2, 3, 4)),
        (np.zeros(6, np.uint8), (3, 2), (2, 3, 1)),
        (np.zeros(18, np.uint8), (3, 2), (2, 3, 3)),
        (np.zeros(24, np.uint8), (3, 2), (2, 3, 4)),
        (np.zeros(6, np.uint32), (3, 2), (2, 3, 4)),
    ],
)
def test_arrays_of_bytes_and_words_are_pictures(array, size, shape):
    assert as_picture(array, name="x", size=size).shape == shape


def test_a_word_holds_red_green_blue_alpha_from_its_low_byte():
    picture = as_picture(np.array([[0x04030201]], np.uint32), name="x")
    assert picture.ravel().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("array", "size"),
    [
        (np.zeros((2, 3), np.float32), None),
        (np.zeros((2, 3, 2), np.uint8), None),
        (np.zeros(6, np.uint8), None),
        (np.zeros(7, np.uint8), (3, 2)),
        (np.zeros((0, 3), np.uint8), None),
        (7, None),
    ],
)
def test_other_things_are_no_pictures(array, size):
    with pytest.raises(ArgumentError, match="'x'"):
        as_picture(array, name="x", size=size)


def test_a_character_of_a_terminal_shows_two_pixels():
    picture = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.uint8)
    shown = terminal_picture(picture, columns=80)
    assert shown == "\x1b[38;2;1;2;3;48;2;4;5;6m\N{UPPER HALF BLOCK}\x1b[0m"


def test_where_there_are_no_half_blocks_it_shows_their_mean():
    picture = np.array([[[1, 2, 3]], [[5, 4, 3]]], np.uint8)
    shown = terminal_picture(picture, columns=80, has_halves=False)
    assert shown == "\x1b[48;2;3;3;3m \x1b[0m"


def test_a_wide_picture_is_averaged_down_to_the_terminal():
    picture = np.zeros((4, 8, 1), np.uint8)
    picture[:, 0::2] = 200
    lines = terminal_picture(picture, columns=4).splitlines()
    assert len(lines) == 1
    assert lines[0].count("\N{UPPER HALF BLOCK}") == 4
    assert lines[0].count("100;100;100") == 8
