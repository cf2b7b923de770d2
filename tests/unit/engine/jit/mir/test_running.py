"""The MIR of examples, behind all passes, computes what the interpreter computes.

Threads leave nothing in memory but what kernels store, so that passes may drop what nobody reads.
"""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.engine.harness import after_passes, checked
from visim.cli.examples import program_of
from visim.engine.jit.lift.shadow import Shadow
from visim.engine.jit.mir.values import Function
from visim.runtime.launching import launch

RNG = np.random.default_rng(29)


def arrays(name: str) -> tuple[str, dict[str, object], dict[str, object]]:
    """Return the kernel of an example, its arguments, and how it is launched."""
    floats = RNG.random
    match name:
        case "histogram":
            pixels = RNG.integers(0, 256, (96, 160)).astype(np.uint8)
            counts = np.zeros(256, np.uint32)
            args = {"pixels": pixels, "counts": counts, "n": pixels.size}
            return "histogram", args, {"global_size": 1024, "local_size": 256}
        case "reduction":
            args = {"x": floats(2048).astype(np.float32), "sums": np.zeros(8, np.float32)}
            return "reduce_quickly", args, {"global_size": 2048}
        case "scan":
            x = RNG.integers(0, 99, 1000).astype(np.uint32)
            args = {"x": x, "out": np.zeros(1000, np.uint32), "n": 1000}
            return "", args, {"global_size": 256}
        case "stencil":
            grid = floats((64, 64)).astype(np.float32)
            args = {"from": grid, "to": np.zeros((64, 64), np.float32)}
            return "tiled", args, {"global_size": (64, 64)}
        case _:
            a, b = (floats((64, 64)).astype(np.float16) for _ in range(2))
            args = {"a": a, "b": b, "c": np.zeros((64, 64), np.float32), "n": 64, "k": 64}
            return "", args, {"global_size": (64, 8)}


@pytest.mark.parametrize("name", ["histogram", "reduction", "scan", "stencil", "matmul"])
def test_an_example_gives_the_same(name, monkeypatch):
    kernel_name, args, options = arrays(name)

    def run() -> tuple[dict[str, object], visim.Report]:
        program = visim.load(program_of(name))
        kernel = program[kernel_name] if kernel_name else program.kernels[0]
        own = {key: one.copy() if isinstance(one, np.ndarray) else one for key, one in args.items()}
        return own, kernel.launch(own, engine="interpreter", **options)

    wanted, report = run()
    prepared: list[Function] = []

    def passed(function: Function) -> Function:
        prepared.append(after_passes(function))
        return prepared[-1]

    monkeypatch.setattr(launch, "_interpreter", lambda: lambda taint: Shadow(passed, checked))
    found, shadow = run()
    assert prepared
    assert shadow.instructions == report.instructions
    for key, one in wanted.items():
        np.testing.assert_array_equal(found[key], one)
