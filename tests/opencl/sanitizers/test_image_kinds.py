"""Images of three dimensions and arrays of images: texels that race, and those outside."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built

SOURCE = """
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
kernel void halved(write_only KIND y) {
  int g = get_global_id(0);
  write_imageui(y, (int4)(g % 8 / 2, g / 8 % 8, g / 64, 0), (uint4)(g));
}
kernel void right(write_only KIND y) {
  int g = get_global_id(0);
  write_imageui(y, (int4)(g % 8, g / 8 % 8, g / 64, 0), (uint4)(g));
}
kernel void beyond(write_only KIND y) {
  int g = get_global_id(0);
  write_imageui(y, (int4)(g % 8, g / 8 % 8, g / 64 + 1, 0), (uint4)(g));
}
kernel void layers(read_write KIND y) {
  int g = get_global_id(0), far = g / 64;
  write_imageui(y, (int4)(g % 8, g / 8 % 8, far, 0), (uint4)(g));
  write_imageui(y, (int4)(0, 0, 3 - far, 0), read_imageui(y, (int4)(1, 1, 3 - far, 0)));
}
"""
KINDS = {"image3d_t": "3d", "image2d_array_t": "2d_array"}


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize("device", ["dg2", "tgllp"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        ("halved", {"race-global"}),
        ("right", set[str]()),
        ("beyond", {"oob-write"}),
        ("layers", {"race-global", "race-same-value"}),
    ],
)
def test_texels_of_deep_images(
    kernel: str, found: set[str], kind: str, device: str, engine: str
) -> None:
    program = built(SOURCE.replace("KIND", kind), device, "-cl-std=CL2.0")
    image = visim.Image(np.zeros((4, 8, 8, 1), np.uint32), kind=KINDS[kind])
    report = program[kernel].launch(
        [image], global_size=256, local_size=64, engine=engine, sanitize="all"
    )
    told = {one.kind for one in report.findings if one.severity in {"error", "warning"}}
    assert told == found
