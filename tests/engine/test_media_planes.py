"""Planes of media surfaces, such as the two of NV12: each is a surface, at the next index."""

from __future__ import annotations

import numpy as np
import pytest

import visim

COPY = """.version 4.1
.kernel "copy"
.decl V32 v_type=G type=ud num_elts=8 align=GRF
.decl X v_type=G type=ud num_elts=1
.decl Y v_type=G type=ud num_elts=1
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input T6 offset=32 size=4
.input T7 offset=36 size=4
mul (M1, 1) X(0,0)<1> %thread_x(0,0)<0;1,0> 0x8:ud
mul (M1, 1) Y(0,0)<1> %thread_y(0,0)<0;1,0> 0x4:ud
media_ld.nomod (8,4) T6 0 X(0,0)<0;1,0> Y(0,0)<0;1,0> V32.0
media_st.nomod (8,4) T7 0 X(0,0)<0;1,0> Y(0,0)<0;1,0> V32.0
shr (M1, 1) Y(0,0)<1> Y(0,0)<0;1,0> 0x1:ud
media_ld.nomod (8,2) T6 1 X(0,0)<0;1,0> Y(0,0)<0;1,0> V32.0
media_st.nomod (8,2) T7 1 X(0,0)<0;1,0> Y(0,0)<0;1,0> V32.0
ret (M1, 1)
"""
WIDTH, HEIGHT = 32, 16
SPACE = (WIDTH // 8, HEIGHT // 4)
LUMA = np.arange(WIDTH * HEIGHT, dtype=np.uint32).reshape(HEIGHT, WIDTH).astype(np.uint8)
CHROMA = (LUMA[: HEIGHT // 2] * 7 + 3).astype(np.uint8)

ENGINES = pytest.mark.parametrize("engine", ["interpreter", "jit"])


def copy() -> visim.Kernel:
    return visim.assemble(COPY, platform="skl")["copy"]


def empty() -> list[np.ndarray]:
    return [np.zeros_like(LUMA), np.zeros_like(CHROMA)]


@ENGINES
def test_the_planes_of_a_surface_are_a_list(engine):
    target = empty()
    report = copy().launch([[LUMA, CHROMA], target], thread_space=SPACE, engine=engine)
    assert np.array_equal(target[0], LUMA)
    assert np.array_equal(target[1], CHROMA)
    assert report.dropped_accesses == 0


@ENGINES
def test_planes_stand_at_successive_indices(engine):
    luma, chroma = empty()
    surfaces = {4: LUMA, 5: CHROMA, 9: luma, 10: chroma}
    copy().launch([4, 9], thread_space=SPACE, surfaces=surfaces, engine=engine)
    assert np.array_equal(luma, LUMA)
    assert np.array_equal(chroma, CHROMA)


@ENGINES
def test_a_plane_that_is_not_given_is_not_the_next_argument(engine):
    target = np.zeros_like(LUMA)
    with pytest.raises(visim.FaultError, match="binding table index 1"):
        copy().launch([LUMA, target], thread_space=(1, 1), engine=engine)
    assert np.array_equal(target[:4, :8], LUMA[:4, :8])
    assert not target[4:].any()


@ENGINES
def test_a_plane_that_is_not_given_at_the_next_index_is_not_the_next_argument(engine):
    target = empty()
    with pytest.raises(visim.FaultError, match="binding table index 1"):
        copy().launch([0, target], thread_space=(1, 1), surfaces={0: LUMA}, engine=engine)
    assert not target[1].any()


def test_arguments_take_indices_that_are_free_for_all_planes():
    target = empty()
    other = np.zeros(4, np.uint8)
    given = [[LUMA, CHROMA], target]
    copy().launch(given, thread_space=SPACE, surfaces={1: other, 4: other}, engine="interpreter")
    assert np.array_equal(target[1], CHROMA)
    assert not other.any()


def test_more_planes_than_messages_name_are_refused():
    with pytest.raises(visim.ArgumentError, match=r"'T6': 3 planes given, .* messages have 2"):
        copy().launch([[LUMA, CHROMA, CHROMA], empty()], thread_space=SPACE)


def test_a_list_is_no_plane_where_messages_name_none():
    kernel = visim.assemble(COPY.replace(" 1 X(", " 0 X("), platform="skl")["copy"]
    with pytest.raises(visim.ArgumentError, match="'T6': 2 surfaces given, expected 1"):
        kernel.launch([[LUMA, CHROMA], empty()], thread_space=SPACE)


def test_an_unknown_platform_is_named_before_arguments_are_counted():
    """Which inputs lie in r0 depends on the size of a register."""
    data = visim.assemble(COPY, platform="skl").to_object()
    with pytest.raises(visim.InputError, match="does not say which platform it is for"):
        visim.load(data)["copy"].launch([LUMA], thread_space=SPACE)
