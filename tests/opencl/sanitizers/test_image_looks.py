"""Kernels that read images and write them: native code looks first, and texels become as before."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from visim.runtime.launching.quickly import QuickLook

SOURCE = """
kernel void copy(read_only image2d_t x, write_only image2d_t y) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(y, p, read_imageui(x, p) + 1u);
}
kernel void gather(read_write image2d_t x, read_write image2d_t y) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(y, p, read_imageui(y, p) + read_imageui(x, p));
  if (p.x == 0) write_imageui(x, (int2)(0, p.y / 2), (uint4)(p.y / 2));
}
"""
SIZE = 16


def launched(kernel: str, device: str, **options: str) -> tuple[visim.Report, np.ndarray]:
    x = np.arange(SIZE * SIZE, dtype=np.uint32).reshape(SIZE, SIZE, 1)
    y = np.full((SIZE, SIZE, 1), 7, np.uint32)
    program = built(SOURCE, device, "-cl-std=CL2.0")
    images = [visim.Image(x), visim.Image(y)]
    report = program[kernel].launch(
        images, global_size=(SIZE, SIZE), local_size=(8, 2), engine="jit", **options
    )
    return report, y


@pytest.mark.parametrize("device", ["dg2", "tgllp"])
@pytest.mark.parametrize(("kernel", "is_clean"), [("copy", True), ("gather", False)])
def test_images_that_are_read_and_written_have_quick_looks(
    kernel: str, is_clean: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[bool] = []
    run = QuickLook.run

    def noted(self: QuickLook, *given: object) -> object:
        result = run(self, *given)  # pyright: ignore[reportArgumentType]
        looks.append(result is not None)
        return result

    monkeypatch.setattr(QuickLook, "run", noted)
    _, expected = launched(kernel, device)
    report, y = launched(kernel, device, sanitize="races")
    assert looks == [is_clean]
    assert any(one.severity != "note" for one in report.findings) is not is_clean
    np.testing.assert_array_equal(y, expected)
