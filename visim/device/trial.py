"""A program that computes saxpy on the first GPU: by OpenCL, then by Level Zero.

`visim doctor` runs it as it would run any program. Uses the libraries' C functions and nothing of
visim, so that what works here works for other programs.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from collections.abc import Callable
from ctypes import POINTER, addressof, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from typing import Any, cast

_COUNT, _FACTOR = 1024, 3.0
_SOURCE = b"""
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
"""
_GPU, _READ_WRITE, _COPIES, _YES = 4, 1, 1 << 5, 1
_DEVICE_NAME, _BINARY_SIZES, _BINARIES = 0x102B, 0x1165, 0x1166
_DESCRIBES_DEVICE_MEMORY, _DESCRIBES_HOST_MEMORY = 0x15, 0x16
_DESCRIBES_CONTEXT, _DESCRIBES_QUEUE, _DESCRIBES_MODULE, _DESCRIBES_KERNEL = 0xD, 0xE, 0x1B, 0x1D
_NATIVE = 1


class Failed(Exception):
    """A function of an interface returned an error; the message has its name and number."""


class Interface:
    """The functions of a library that return an error, or an object and an error."""

    def __init__(self, name: str) -> None:
        self._library = ctypes.CDLL(name)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function that returns 0 if all is well."""
        found = getattr(self._library, name)
        found.restype = c_int
        code = found(*arguments)
        if code:
            raise Failed(f"{name} returned {code}")

    def make(self, name: str, *arguments: Any) -> c_void_p:
        """Call a function that returns an object, and an error by its last argument."""
        found = getattr(self._library, name)
        found.restype, code = c_void_p, c_int()
        made = found(*arguments, byref(code))
        if code.value:
            raise Failed(f"{name} returned {code.value}")
        return c_void_p(cast("int", made))


def by_opencl() -> tuple[str, bytes]:
    """Compute with OpenCL; return the device's name and the program's binary."""
    cl = Interface("libOpenCL.so.1")
    platform, device = c_void_p(), c_void_p()
    cl.call("clGetPlatformIDs", 1, byref(platform), None)
    cl.call("clGetDeviceIDs", platform, ctypes.c_ulong(_GPU), 1, byref(device), None)
    name = ctypes.create_string_buffer(256)
    cl.call("clGetDeviceInfo", device, _DEVICE_NAME, c_size_t(256), name, None)
    context = cl.make("clCreateContext", None, 1, byref(device), None, None)
    queue = cl.make("clCreateCommandQueueWithProperties", context, device, None)
    program = cl.make("clCreateProgramWithSource", context, 1, byref(c_char_p(_SOURCE)), None)
    cl.call("clBuildProgram", program, 1, byref(device), None, None, None)
    kernel = cl.make("clCreateKernel", program, c_char_p(b"saxpy"))
    x, y = _numbers(), _numbers()
    size, flags = c_size_t(ctypes.sizeof(x)), ctypes.c_ulong(_READ_WRITE | _COPIES)
    buffers = [cl.make("clCreateBuffer", context, flags, size, one) for one in (x, y)]
    cl.call("clSetKernelArg", kernel, 0, c_size_t(4), byref(ctypes.c_float(_FACTOR)))
    for index, buffer in enumerate(buffers):
        cl.call("clSetKernelArg", kernel, 1 + index, c_size_t(8), byref(buffer))
    count = byref(c_size_t(_COUNT))
    cl.call("clEnqueueNDRangeKernel", queue, kernel, 1, None, count, None, 0, None, None)
    nothing = c_size_t(0)
    cl.call("clEnqueueReadBuffer", queue, buffers[1], _YES, nothing, size, y, 0, None, None)
    _check(y)
    return name.value.decode(), _binary_of(cl, program)


def _binary_of(cl: Interface, program: c_void_p) -> bytes:
    size = c_size_t()
    cl.call("clGetProgramInfo", program, _BINARY_SIZES, c_size_t(8), byref(size), None)
    room = ctypes.create_string_buffer(size.value)
    place = c_void_p(addressof(room))
    cl.call("clGetProgramInfo", program, _BINARIES, c_size_t(8), byref(place), None)
    return room.raw


def by_level_zero(binary: bytes) -> None:
    """Compute with Level Zero, with the program's binary."""
    ze = Interface("libze_loader.so.1")
    driver, device = c_void_p(), c_void_p()
    ze.call("zeInit", 0)
    ze.call("zeDriverGet", byref(c_uint32(1)), byref(driver))
    ze.call("zeDeviceGet", driver, byref(c_uint32(1)), byref(device))
    context = _made(ze, "zeContextCreate", driver, _structure(_DESCRIBES_CONTEXT, "I4x", 0))
    queue = _structure(_DESCRIBES_QUEUE, "6I", 0, 0, 0, 1, 0, 0)  # synchronous
    commands = _made(ze, "zeCommandListCreateImmediate", context, device, queue)
    room = ctypes.create_string_buffer(binary)
    described = _structure(_DESCRIBES_MODULE, "I4x4Q", _NATIVE, len(binary), addressof(room), 0, 0)
    module, kernel = c_void_p(), c_void_p()
    ze.call("zeModuleCreate", context, device, described, byref(module), None)
    name = c_char_p(b"saxpy")
    text = _structure(_DESCRIBES_KERNEL, "I4xQ", 0, ctypes.cast(name, c_void_p).value or 0)
    ze.call("zeKernelCreate", module, text, byref(kernel))
    arrays = [_shared(ze, context, device) for _ in range(2)]
    ze.call("zeKernelSetGroupSize", kernel, 64, 1, 1)
    ze.call("zeKernelSetArgumentValue", kernel, 0, c_size_t(4), byref(ctypes.c_float(_FACTOR)))
    for index, array in enumerate(arrays):
        place = byref(c_void_p(addressof(array)))
        ze.call("zeKernelSetArgumentValue", kernel, 1 + index, c_size_t(8), place)
    groups = byref((c_uint32 * 3)(_COUNT // 64, 1, 1))
    ze.call("zeCommandListAppendLaunchKernel", commands, kernel, groups, None, 0, None)
    _check(arrays[1])


def _made(ze: Interface, name: str, *arguments: Any) -> c_void_p:
    made = c_void_p()
    ze.call(name, *arguments, byref(made))
    return made


def _structure(kind: int, layout: str, *values: int) -> ctypes.Array[ctypes.c_char]:
    """Return a structure of Level Zero: its kind, no extension, and its fields."""
    return ctypes.create_string_buffer(struct.pack("<I4xQ" + layout, kind, 0, *values))


def _shared(ze: Interface, context: c_void_p, device: c_void_p) -> ctypes.Array[ctypes.c_float]:
    """Return an array in shared memory that holds the numbers."""
    place = c_void_p()
    on_device = _structure(_DESCRIBES_DEVICE_MEMORY, "2I", 0, 0)
    on_host = _structure(_DESCRIBES_HOST_MEMORY, "I4x", 0)
    size, alignment = c_size_t(4 * _COUNT), c_size_t(64)
    ze.call("zeMemAllocShared", context, on_device, on_host, size, alignment, device, byref(place))
    array = ctypes.cast(place, POINTER(ctypes.c_float * _COUNT)).contents
    array[:] = _numbers()[:]
    return array


def _numbers() -> ctypes.Array[ctypes.c_float]:
    return (ctypes.c_float * _COUNT)(*range(_COUNT))


def _check(found: ctypes.Array[ctypes.c_float]) -> None:
    for index, value in enumerate(found):
        if value != (1 + _FACTOR) * index:
            raise Failed(f"element {index} is {value}, expected {(1 + _FACTOR) * index}")


def _said(run: Callable[[], object]) -> str | None:
    """Return what is wrong, None if nothing is."""
    try:
        run()
    except (Failed, OSError, AttributeError) as error:
        return str(error)
    return None


def main() -> int:
    """Print the device's name, and what is wrong with each interface, as JSON."""
    got: list[tuple[str, bytes]] = []
    opencl = _said(lambda: got.append(by_opencl()))
    level_zero = "needs the binary that OpenCL makes"
    if got:
        level_zero = _said(lambda: by_level_zero(got[0][1]))
    device = got[0][0] if got else None
    said = {"device": device, "OpenCL": opencl, "Level Zero": level_zero}
    sys.stdout.write(json.dumps(said) + "\n")
    return 0 if opencl is None and level_zero is None else 1


if __name__ == "__main__":
    sys.exit(main())
