"""Images and samplers as surface and sampler states describe them."""

from __future__ import annotations

import numpy as np
import pytest

from visim.device.image_states import BorrowedImage, read_image, read_sampler
from visim.errors import UnsupportedError
from visim.machine.images import ImageKind
from visim.machine.sampling import Address, Filter

RGBA_FLOAT, R_UINT8 = 0x000, 0x143


def state(kind: int = 1, number: int = R_UINT8, **more: int) -> list[int]:
    """Return the words of an image of 5 by 3 texels whose rows are 8 bytes apart."""
    words = [0] * 16
    words[0] = kind << 29 | more.get("array", 0) << 28 | number << 18 | more.get("tiling", 0) << 12
    words[1] = more.get("qpitch", 0)
    words[2] = 2 << 16 | 4
    words[3] = more.get("depth", 0) << 21 | more.get("pitch", 8) - 1
    words[5] = more.get("levels", 0)
    words[7] = more.get("selects", 4 << 9 | 5 << 6 | 6 << 3 | 7) << 16
    words[8], words[9] = 0x8000_1000, 0x7F
    return words


def test_a_two_dimensional_image_is_where_its_state_says() -> None:
    found = read_image(state(), "argument 0")
    assert (found.kind, found.size, found.row_bytes) == (ImageKind.IMAGE_2D, (5, 3), 8)
    assert found.address == 0x7F_8000_1000
    assert found.nbytes == 2 * 8 + 5


@pytest.mark.parametrize(
    ("kind", "more", "wanted", "size"),
    [
        (0, {}, ImageKind.IMAGE_1D, (5,)),
        (0, {"array": 1, "depth": 6}, ImageKind.ARRAY_1D, (5, 7)),
        (1, {"array": 1, "depth": 1}, ImageKind.ARRAY_2D, (5, 3, 2)),
        (2, {"depth": 3}, ImageKind.IMAGE_3D, (5, 3, 4)),
    ],
)
def test_kinds_have_their_sizes(
    kind: int, more: dict[str, int], wanted: ImageKind, size: tuple[int, ...]
) -> None:
    found = read_image(state(kind, **more), "argument 0")
    assert (found.kind, found.size) == (wanted, size)


@pytest.mark.parametrize(
    ("kind", "qpitch", "nbytes"),
    [(0, 0, 8 + 10), (0, 3, 12 * 2 + 10), (1, 0, 24 + 2 * 8 + 10), (1, 1, 4 * 8 + 2 * 8 + 10)],
)
def test_slices_are_texels_apart_in_one_dimension_and_rows_in_two(
    kind: int, qpitch: int, nbytes: int
) -> None:
    words = state(kind, number=0x10D, array=1, depth=1, qpitch=qpitch)
    assert read_image(words, "argument 0").nbytes == nbytes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (state(number=0x1F0), "texels of format 0x1f0 are not known"),
        (state(levels=2), "smaller levels"),
        (state(kind=3), "surfaces of type 3"),
        (state(selects=2 << 9), "R is read from channel 2"),
    ],
)
def test_what_is_not_known_is_refused_by_name(words: list[int], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        read_image(words, "argument 0")


def test_components_are_read_from_the_channels_that_are_selected() -> None:
    luminance = read_image(state(selects=4 << 9 | 4 << 6 | 4 << 3 | 1), "argument 0")
    assert luminance.format.order.read == (0, 0, 0, "1")
    swapped = read_image(state(number=RGBA_FLOAT, selects=6 << 9 | 5 << 6 | 4 << 3 | 0), "image")
    assert swapped.format.order.read == (2, 1, 0, "0")
    assert read_image(state(), "argument 0").format is read_image(state(), "again").format


def test_rows_with_gaps_are_lent_as_a_copy_and_written_back() -> None:
    host = np.arange(21, dtype=np.uint8)
    image = BorrowedImage(read_image(state(), "argument 0"), host)
    image.memory.array[7] = 200
    assert 200 not in host
    image.give_back()
    changed = np.arange(21, dtype=np.uint8)
    changed[8 + 2] = 200
    assert host.tolist() == changed.tolist()


def test_samplers_have_one_mode_and_one_filter() -> None:
    found, border = read_sampler([1 << 14 | 1 << 17, 0, 3 << 6, 4 << 6 | 4 << 3 | 4], "sampler 0")
    assert (found.address, found.filter, found.normalized) == (Address.CLAMP, Filter.LINEAR, True)
    assert border == 3 << 6
    with pytest.raises(UnsupportedError, match="address modes"):
        read_sampler([0, 0, 0, 4 << 6], "sampler 0")
    with pytest.raises(UnsupportedError, match="filters"):
        read_sampler([1 << 14, 0, 0, 0], "sampler 0")
