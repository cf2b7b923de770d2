"""PoCL, an independent OpenCL implementation for the CPU, called through `libOpenCL.so.1`.

Only what the acceptance suite needs: build a source, run launches one after the other on buffers
that are copied in before and copied out after.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

import numpy as np

from tests.opencl.case import Launch, LocalBytes

PLATFORM = "Portable Computing Language"
_PLATFORM_NAME = 0x0902
_DEVICE_TYPE_ALL = 0xFFFFFFFF
_BUILD_LOG = 0x1183
_DEVICE_NAME = 0x102B
_DRIVER_VERSION = 0x102D
_READ_WRITE_COPY = (1 << 0) | (1 << 5)
_ALIGNMENT = 128


class PoclError(RuntimeError):
    """A call of the OpenCL library failed; the text has the call, the code and the build log."""


class Pocl:
    """The first device of an OpenCL platform, PoCL's if not said, with a context and a queue."""

    def __init__(self, platform: str = PLATFORM) -> None:
        self._library = _library()
        self._device = _device(self._library, platform)
        status = c_int32()
        device = c_void_p(self._device)
        create = _function(self._library, "clCreateContext", c_void_p)
        self._context = c_void_p(create(None, 1, byref(device), None, None, byref(status)))
        _check("clCreateContext", status.value)
        create = _function(self._library, "clCreateCommandQueue", c_void_p)
        self._queue = c_void_p(create(self._context, device, c_uint64(0), byref(status)))
        _check("clCreateCommandQueue", status.value)

    def build(self, source: str, options: str) -> PoclProgram:
        """Compile OpenCL C; `PoclError` has the compiler's log."""
        status = c_int32()
        text = c_char_p(source.encode())
        create = _function(self._library, "clCreateProgramWithSource", c_void_p)
        program = c_void_p(create(self._context, 1, byref(text), None, byref(status)))
        _check("clCreateProgramWithSource", status.value)
        device = c_void_p(self._device)
        build = _function(self._library, "clBuildProgram", c_int32)
        code = build(program, 1, byref(device), options.encode(), None, None)
        if code != 0:
            raise PoclError(f"clBuildProgram: error {code}\n{self._log(program)}")
        return PoclProgram(self, program)

    def call(self, name: str, *args: Any) -> None:
        """Call a function that returns a status; a status other than 0 is a `PoclError`."""
        _check(name, _function(self._library, name, c_int32)(*args))

    def create(self, name: str, *args: Any) -> c_void_p:
        """Call a function that returns an object and takes a status pointer last."""
        status = c_int32()
        handle = c_void_p(_function(self._library, name, c_void_p)(*args, byref(status)))
        _check(name, status.value)
        return handle

    @property
    def context(self) -> c_void_p:
        """The context."""
        return self._context

    @property
    def queue(self) -> c_void_p:
        """The in-order queue."""
        return self._queue

    @property
    def version(self) -> str:
        """The platform's driver and its version, and the device."""
        found: list[str] = []
        for key in (_DRIVER_VERSION, _DEVICE_NAME):
            text = ctypes.create_string_buffer(256)
            self.call(
                "clGetDeviceInfo",
                *(c_void_p(self._device), c_uint32(key), c_size_t(256), text, None),
            )
            found.append(text.value.decode())
        return ", ".join(found)

    def _log(self, program: c_void_p) -> str:
        size = c_size_t()
        what = (program, c_void_p(self._device), c_uint32(_BUILD_LOG))
        self.call("clGetProgramBuildInfo", *what, c_size_t(0), None, byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.call("clGetProgramBuildInfo", *what, size, log, None)
        return log.value.decode(errors="replace")


class PoclProgram:
    """A built program."""

    def __init__(self, pocl: Pocl, program: c_void_p) -> None:
        self._pocl = pocl
        self.program = program

    def run(self, values: Mapping[str, Any], launches: Sequence[Launch]) -> dict[str, np.ndarray]:
        """Run the launches in order on copies of the arrays and return the arrays afterwards."""
        pocl = self._pocl
        buffers: dict[str, c_void_p] = {}
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                data = value.ctypes.data_as(c_void_p)
                size = c_size_t(value.nbytes)
                flags = c_uint64(_READ_WRITE_COPY)
                buffers[name] = pocl.create("clCreateBuffer", pocl.context, flags, size, data)
        try:
            for launch in launches:
                self._launch(launch, values, buffers)
            return {name: self._read(values[name], buffers[name]) for name in buffers}
        finally:
            for buffer in buffers.values():
                pocl.call("clReleaseMemObject", buffer)

    def _launch(
        self, launch: Launch, values: Mapping[str, Any], buffers: Mapping[str, c_void_p]
    ) -> None:
        pocl = self._pocl
        kernel = pocl.create("clCreateKernel", self.program, launch.kernel.encode())
        for index, name in enumerate(launch.names):
            size, data = argument(values[name], buffers.get(name))
            pocl.call("clSetKernelArg", kernel, c_uint32(index), c_size_t(size), data)
        rank = len(launch.global_size)
        geometry = [
            None if sizes is None else (c_size_t * rank)(*sizes)
            for sizes in (launch.global_offset, launch.global_size, launch.local_size)
        ]
        queue = pocl.queue
        pocl.call("clEnqueueNDRangeKernel", queue, kernel, c_uint32(rank), *geometry, 0, None, None)
        pocl.call("clFinish", queue)
        pocl.call("clReleaseKernel", kernel)

    def _read(self, value: np.ndarray, buffer: c_void_p) -> np.ndarray:
        result = np.empty_like(value)
        data = result.ctypes.data_as(c_void_p)
        size = c_size_t(value.nbytes)
        pocl = self._pocl
        start = c_size_t(0)
        blocking = c_uint32(1)
        pocl.call(
            "clEnqueueReadBuffer", pocl.queue, buffer, blocking, start, size, data, 0, None, None
        )
        return result


def missing() -> str | None:
    """Return why PoCL cannot be used here, or None."""
    try:
        _device(_library(), PLATFORM)
    except (OSError, PoclError) as error:
        return str(error)
    return None


def argument(value: Any, buffer: c_void_p | None) -> tuple[int, Any]:
    """Return the size and the pointer that `clSetKernelArg` takes."""
    if buffer is not None:
        return ctypes.sizeof(c_void_p), byref(buffer)
    if isinstance(value, LocalBytes):
        return value.nbytes, None
    data = np.asarray(value).tobytes()
    # Vectors and structs are read with their alignment.
    holder = ctypes.create_string_buffer(len(data) + _ALIGNMENT)
    start = -ctypes.addressof(holder) % _ALIGNMENT
    aligned = (ctypes.c_char * len(data)).from_buffer(holder, start)
    aligned.raw = data
    return len(data), aligned


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libOpenCL.so.1")


@cache
def _device(library: ctypes.CDLL, wanted: str) -> int:
    platforms = (c_void_p * 16)()
    count = c_uint32()
    get = _function(library, "clGetPlatformIDs", c_int32)
    _check("clGetPlatformIDs", get(16, platforms, byref(count)))
    name = ctypes.create_string_buffer(256)
    for platform in platforms[: count.value]:
        info = _function(library, "clGetPlatformInfo", c_int32)
        handle = c_void_p(platform)
        key = c_uint32(_PLATFORM_NAME)
        _check("clGetPlatformInfo", info(handle, key, c_size_t(256), name, None))
        if name.value != wanted.encode():
            continue
        device = c_void_p()
        get = _function(library, "clGetDeviceIDs", c_int32)
        kind = c_uint64(_DEVICE_TYPE_ALL)
        _check("clGetDeviceIDs", get(handle, kind, c_uint32(1), byref(device), None))
        assert device.value is not None
        return device.value
    raise PoclError(f"no OpenCL platform here is {wanted!r}; see `visim doctor`")


def _function(library: ctypes.CDLL, name: str, result: Any) -> Any:
    function = library[name]  # a fresh object each time: result types do not leak
    function.restype = result
    return function


def _check(name: str, code: int) -> None:
    if code != 0:
        raise PoclError(f"{name}: error {code}")
