"""Public objects in a terminal and in a notebook: short, and saying what they are."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import visim
from visim.errors import ArgumentError

EXAMPLES = Path(__file__).parents[3] / "examples"
MOST = 400


@pytest.fixture(scope="module")
def program():
    return visim.load(EXAMPLES / "saxpy" / "saxpy.zebin")


def arguments(n=64):
    return [np.arange(n, dtype=np.float32), np.ones(n, np.float32), 2, n]


class Watcher(visim.Observer):
    def __init__(self):
        self.seen = []

    def group_begin(self, group):
        self.seen.append(group)

    def thread_end(self, path):
        self.seen.append(path)

    def block_counts(self, counts):
        self.seen.append(counts)

    def accesses(self, accesses):
        self.seen.append(accesses)


def test_representations_are_short(program):
    kernel = program["saxpy"]
    big = arguments(1 << 16)
    bound = kernel.bind(big, global_size=1 << 16)
    timing, watcher = visim.timing.Timing("pvc"), Watcher()
    report = kernel.launch(arguments(), global_size=64, observers=[timing, watcher])
    findings = visim.verify(b".version 4.1\n" + b"nonsense\n" * 5000)
    handle = kernel.launch(arguments(), global_size=64, wait=False)
    handle.result()
    things = [program, kernel, bound, report, findings, *findings, handle, timing.result]
    things += [visim.Buffer(1 << 20), visim.Image(np.zeros((99, 99, 4), np.uint8)), kernel.args[0]]
    things += [timing, *watcher.seen]
    for thing in things:
        assert len(repr(thing)) <= MOST, type(thing)
        assert "object at 0x" not in repr(thing)
        assert type(thing).__name__.lower().strip("_") in repr(thing).lower()


def test_many_names_are_cut_off(tmp_path):
    names = [f"kernel_with_a_rather_long_name_{number}" for number in range(200)]
    text = ".version 4.1\n" + "".join(f'.kernel "{name}"\nret (M1, 1)\n' for name in names)
    assert len(repr(visim.assemble(text, platform="pvc"))) <= MOST


def test_notebooks_get_html_and_pictures(program):
    kernel = program["saxpy"]
    timing = visim.timing.Timing("pvc")
    report = kernel.launch(arguments(), global_size=64, observers=[timing])
    assert "saxpy on pvc" in report._repr_html_()
    assert "<td>x</td><td>buffer</td><td><code>float*</code></td>" in kernel._repr_html_()
    assert "saxpy(" in program._repr_html_()
    assert "region restriction 6" in visim.verify(EXAMPLES / "saxpy/saxpy.zebin")._repr_html_()
    shown = timing.result._repr_html_()
    assert "rgba(230,60,30,0.60)" in shown
    assert "<code>" in shown
    picture = visim.Image(np.full((2, 3), 0.5, np.float32))._repr_png_()
    assert picture is not None
    assert picture.startswith(b"\x89PNG")
    assert visim.Image(np.zeros((2, 2, 2, 4), np.float32))._repr_png_() is None


def test_a_kernel_is_called_with_its_arguments_in_order(program):
    x, y, *rest = arguments()
    report = program["saxpy"](x, y, *rest, global_size=64)
    assert isinstance(report, visim.Report)
    np.testing.assert_array_equal(y, 1 + 2 * x)


def test_sizes_may_be_numbers_of_numpy(program):
    for number in (np.int64(64), np.uint8(64), (np.int64(64),)):
        assert program["saxpy"](*arguments(), global_size=number).groups >= 1


def test_editors_and_help_know_the_keywords(program):
    for method in (visim.Kernel.launch, program["saxpy"].bind, program["saxpy"].__call__):
        keywords = inspect.signature(method).parameters
        assert {"global_size", "engine", "observers"} <= keywords.keys()
        assert keywords["seed"].default == 0


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert visim.__version__ == version("visim")


class Interface:
    """An array of another library, which says by NumPy's interface where it is."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Capsule:
    """An array of another library, which says by DLPack where it is."""

    def __init__(self, array, problem=None):
        self.array, self.problem = array, problem

    def __dlpack__(self, **options):
        if self.problem:
            raise self.problem
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


IS_READ_ONLY = tuple(map(int, np.__version__.split(".")[:2])) < (2, 3)
"""Whether this NumPy calls all memory read-only that it has by DLPack."""


@pytest.mark.skipif(not IS_READ_ONLY, reason="since NumPy 2.3 memory by DLPack can be written")
def test_memory_that_numpy_calls_read_only_is_refused_where_it_is_written(program):
    x, y, *rest = arguments()
    with pytest.raises(ArgumentError, match="the array is read-only"):
        program["saxpy"](Capsule(x), Capsule(y), *rest, global_size=64)
    program["saxpy"](Capsule(x), y, *rest, global_size=64)
    np.testing.assert_array_equal(y, 1 + 2 * x)


@pytest.mark.parametrize("kind", [Interface, Capsule])
def test_arrays_of_other_libraries_are_written_in_place(program, kind):
    if kind is Capsule and IS_READ_ONLY:
        pytest.skip("NumPy before 2.3 calls memory by DLPack read-only")
    x, y, *rest = arguments()
    program["saxpy"](kind(x), kind(y), *rest, global_size=64)
    np.testing.assert_array_equal(y, 1 + 2 * x)


def test_memory_of_a_device_is_refused(program):
    x, y, *rest = arguments()
    elsewhere = Capsule(y, BufferError("it is on the GPU"))
    with pytest.raises(ArgumentError, match=r"'y': the memory of this .*Capsule cannot be shared"):
        program["saxpy"](x, elsewhere, *rest, global_size=64)


@pytest.mark.parametrize("name", ["group_end", "on_fault", "acesses", "thread_start"])
def test_an_event_that_is_none_is_refused(name):
    with pytest.raises(ArgumentError, match=f"X.{name}: there is no such event; there are: group_"):
        type("X", (visim.Observer,), {name: lambda self, event: None})


def test_other_methods_of_observers_are_free():
    class Counts(visim.Observer):
        def fault(self, fault):
            pass

        def counts(self, which):
            return which

        def thread_table(self):
            return []

    assert Counts().wants == {"fault"}
