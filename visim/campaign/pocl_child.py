"""The process that calls PoCL through `libOpenCL.so.1`, so that a crash of it is a result.

Run by path with nothing but the standard library. It reads one request from its standard input, an
object of JSON: `{}` asks for the version; with the keys `source`, `kernel`, `arrays` (hexadecimal),
`items` and `group` it compiles and launches a kernel of two buffers. The answer is an object with
`version`, or `words`, the second array afterwards; or `missing` or `problem`, which say why not.

Facts: OpenCL 1.2, 4 and 5, and Khronos' `cl.h`.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

PLATFORM = "Portable Computing Language"
_PLATFORM_NAME, _DRIVER_VERSION, _DEVICE_NAME, _BUILD_LOG = 0x0902, 0x102D, 0x102B, 0x1183
_ALL_DEVICES = 0xFFFFFFFF
_COPIED = (1 << 0) | (1 << 5)  # CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR
_MOST_PLATFORMS = 16
_MOST_NAME = 256
_MOST_LOG = 1 << 14
_MEMORY = 2 << 30
_GEOMETRY = ("items", "group")


class PoclError(Exception):
    """A call failed; the text has its name, the code, and what the compiler says."""


def main() -> None:
    """Answer one request; what PoCL prints goes to the standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    with replies:
        json.dump(answer(json.load(sys.stdin)), replies)
    os._exit(0)  # PoCL's threads are not waited for.


def answer(request: dict[str, Any]) -> dict[str, str]:
    """Return the answer to a request."""
    try:
        pocl = Pocl()
    except (OSError, PoclError) as error:
        return {"missing": str(error)}
    try:
        return {"words": pocl.output(request)} if request else {"version": pocl.version()}
    except PoclError as error:
        return {"problem": str(error)}


class Pocl:
    """PoCL's first device. Nothing is released: the process ends with its only launch."""

    def __init__(self) -> None:
        """Find the device.

        Raises:
            OSError: there is no OpenCL library.
            PoclError: it has no such platform.
        """
        self._library = ctypes.CDLL("libOpenCL.so.1")
        self._device = self._found()

    def version(self) -> str:
        """Return the version and the device's name."""
        found: list[str] = []
        for key in (_DRIVER_VERSION, _DEVICE_NAME):
            name = ctypes.create_string_buffer(_MOST_NAME)
            where = (c_size_t(_MOST_NAME), name, None)
            self._call("clGetDeviceInfo", self._device, c_uint32(key), *where)
            found.append(name.value.decode("utf-8", "replace"))
        return ", ".join(found)

    def output(self, request: dict[str, Any]) -> str:
        """Return the second array after a launch, in hexadecimal."""
        context = self._new("clCreateContext", None, c_uint32(1), byref(self._device), None, None)
        queue = self._new("clCreateCommandQueue", context, self._device, c_uint64(0))
        program = self._built(context, request["source"])
        kernel = self._new("clCreateKernel", program, request["kernel"].encode())
        arrays = [ctypes.create_string_buffer(bytes.fromhex(one)) for one in request["arrays"]]
        sizes = [c_size_t(len(array) - 1) for array in arrays]  # a zero byte is behind each
        buffers: list[c_void_p] = []
        for place, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
            buffers.append(self._new("clCreateBuffer", context, c_uint64(_COPIED), size, array))
            argument = (c_size_t(ctypes.sizeof(c_void_p)), byref(buffers[-1]))
            self._call("clSetKernelArg", kernel, c_uint32(place), *argument)
        geometry = (c_uint32(1), None, *(byref(c_size_t(request[key])) for key in _GEOMETRY))
        self._call("clEnqueueNDRangeKernel", queue, kernel, *geometry, c_uint32(0), None, None)
        reading = (c_uint32(1), c_size_t(0), sizes[1], arrays[1], c_uint32(0), None, None)
        self._call("clEnqueueReadBuffer", queue, buffers[1], *reading)
        return arrays[1].raw[:-1].hex()

    def _found(self) -> c_void_p:
        platforms = (c_void_p * _MOST_PLATFORMS)()
        count = c_uint32()
        self._call("clGetPlatformIDs", c_uint32(_MOST_PLATFORMS), platforms, byref(count))
        for platform in platforms[: min(count.value, _MOST_PLATFORMS)]:
            handle, name = c_void_p(platform), ctypes.create_string_buffer(_MOST_NAME)
            where = (c_size_t(_MOST_NAME), name, None)
            self._call("clGetPlatformInfo", handle, c_uint32(_PLATFORM_NAME), *where)
            if name.value == PLATFORM.encode():
                device = c_void_p()
                wanted = (c_uint64(_ALL_DEVICES), c_uint32(1), byref(device), None)
                self._call("clGetDeviceIDs", handle, *wanted)
                return device
        raise PoclError(f"no OpenCL platform here is {PLATFORM}")

    def _built(self, context: c_void_p, source: str) -> c_void_p:
        text = c_char_p(source.encode())
        start = (context, c_uint32(1), byref(text), None)
        program = self._new("clCreateProgramWithSource", *start)
        try:
            self._call("clBuildProgram", program, c_uint32(1), byref(self._device), b"", None, None)
        except PoclError as error:
            log = ctypes.create_string_buffer(_MOST_LOG)
            what = (program, self._device, c_uint32(_BUILD_LOG), c_size_t(_MOST_LOG), log, None)
            self._call("clGetProgramBuildInfo", *what)
            said = log.value.decode("utf-8", "replace").strip()
            raise PoclError(f"{error} at {said}") from None
        return program

    def _call(self, name: str, *given: Any) -> None:
        """Call a function that returns a status."""
        _check(name, self._function(name, c_int32)(*given))

    def _new(self, name: str, *given: Any) -> c_void_p:
        """Call a function that returns an object, and takes where its status goes last."""
        status = c_int32()
        handle = c_void_p(self._function(name, c_void_p)(*given, byref(status)))
        _check(name, status.value)
        return handle

    def _function(self, name: str, result: type) -> Any:
        function: Any = self._library[name]  # A new object each time: types of results do not leak.
        function.restype = result
        return function


def _check(name: str, code: int) -> None:
    if code:
        raise PoclError(f"{name}: error {code}")


if __name__ == "__main__":
    main()
