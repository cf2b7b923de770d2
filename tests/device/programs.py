"""OpenCL programs as users write them, but for the C functions that they call through ctypes.

Run by tests under `visim exec`; `python -m tests.device.programs NAME` runs one, which prints what
it has got as JSON. Nothing here knows of visim but for the names of OpenCL's functions.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from ctypes import byref, c_char_p, c_size_t, c_uint32, c_void_p

from visim.device.trial import Failed, Interface

_GPU, _READ_WRITE = 4, 1
_BLOCKING = 1


class OpenCL:
    """A context on GPUs of a platform, and a queue in order on each; work goes to `queue`."""

    def __init__(self, platform: int = 0, devices: int = 1) -> None:
        self.cl = Interface("libOpenCL.so.1")
        count = c_uint32()
        self.cl.call("clGetPlatformIDs", 0, None, byref(count))
        platforms, gpus = (c_void_p * count.value)(), (c_void_p * devices)()
        self.cl.call("clGetPlatformIDs", count, platforms, None)
        self.platforms, gpu = count.value, ctypes.c_ulong(_GPU)
        found = c_void_p(platforms[platform])
        self.cl.call("clGetDeviceIDs", found, gpu, devices, gpus, None)
        self.device = c_void_p(gpus[0])
        self.context = self.cl.make("clCreateContext", None, devices, gpus, None, None)
        name = "clCreateCommandQueueWithProperties"
        self.queues = [self.cl.make(name, self.context, c_void_p(one), None) for one in gpus]
        self.queue = self.queues[0]

    def name(self) -> str:
        """Return the device's name."""
        room = ctypes.create_string_buffer(256)
        self.cl.call("clGetDeviceInfo", self.device, 0x102B, c_size_t(256), room, None)
        return room.value.decode()

    def build(self, source: str, options: str = "") -> c_void_p:
        """Return a program."""
        text = c_char_p(source.encode())
        make = "clCreateProgramWithSource"
        program = self.cl.make(make, self.context, 1, byref(text), None)
        self.cl.call("clBuildProgram", program, 0, None, c_char_p(options.encode()), None, None)
        return program

    def kernel(self, program: c_void_p, name: str) -> c_void_p:
        """Return a kernel."""
        return self.cl.make("clCreateKernel", program, c_char_p(name.encode()))

    def buffer(self, size: int) -> c_void_p:
        """Return a new buffer."""
        flags = ctypes.c_ulong(_READ_WRITE)
        return self.cl.make("clCreateBuffer", self.context, flags, c_size_t(size), None)

    def set(self, kernel: c_void_p, *arguments: object) -> None:
        """Give a kernel its arguments: buffers, bytes, or sizes of local memory."""
        for index, one in enumerate(arguments):
            if isinstance(one, c_void_p):
                self.cl.call("clSetKernelArg", kernel, index, c_size_t(8), byref(one))
            elif isinstance(one, bytes):
                self.cl.call("clSetKernelArg", kernel, index, c_size_t(len(one)), c_char_p(one))
            else:
                self.cl.call("clSetKernelArg", kernel, index, c_size_t(int(str(one))), None)

    def run(self, kernel: c_void_p, size: int, local: int | None = None) -> None:
        """Enqueue a kernel of one dimension."""
        group = None if local is None else byref(c_size_t(local))
        whole = byref(c_size_t(size))
        run = "clEnqueueNDRangeKernel"
        self.cl.call(run, self.queue, kernel, 1, None, whole, group, 0, None, None)

    def write(self, buffer: c_void_p, data: bytes) -> None:
        """Fill a buffer."""
        size, zero = c_size_t(len(data)), c_size_t(0)
        self.cl.call("clEnqueueWriteBuffer", self.queue, buffer, 1, zero, size, data, 0, None, None)

    def read(self, buffer: c_void_p, size: int) -> bytes:
        """Return a buffer's bytes."""
        room, zero = ctypes.create_string_buffer(size), c_size_t(0)
        name = "clEnqueueReadBuffer"
        self.cl.call(name, self.queue, buffer, _BLOCKING, zero, c_size_t(size), room, 0, None, None)
        return room.raw

    def finish(self) -> None:
        """Wait until all is done."""
        self.cl.call("clFinish", self.queue)


MISTAKES = """
kernel void race(global int *out) {
    local int shared[64];
    int i = get_local_id(0);
    shared[i] = i;
    out[get_global_id(0)] = shared[63 - i];
}
kernel void over(global int *out, int n) {
    out[get_global_id(0) + n] = 1;
}
"""


def mistakes() -> object:
    """A race in local memory, and four writes behind a buffer of 1000 numbers."""
    cl = OpenCL()
    program, out = cl.build(MISTAKES), cl.buffer(4000)
    race, over = cl.kernel(program, "race"), cl.kernel(program, "over")
    cl.set(race, out)
    cl.run(race, 960, 64)
    cl.set(over, out, struct.pack("<i", 4))
    cl.run(over, 1000)
    return len(cl.read(out, 4000))


def including() -> object:
    """A kernel that includes a file of the folder that the program runs in."""
    cl = OpenCL()
    source = '#include "included.h"\nkernel void put(global int *out) { *out = VALUE; }'
    kernel, out = cl.kernel(cl.build(source), "put"), cl.buffer(4)
    cl.set(kernel, out)
    cl.run(kernel, 1)
    return struct.unpack("<i", cl.read(out, 4))[0]


SAXPY = """
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
kernel void copy(global const int *from, global int *to, local int *room) {
    room[get_local_id(0)] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[get_global_id(0)] = room[get_local_id(0)] + 1;
}
"""


def saxpy() -> object:
    """The usual, and a kernel that works in place with local memory."""
    cl = OpenCL()
    program = cl.build(SAXPY)
    x, y = cl.buffer(1000), cl.buffer(1000)
    numbers = struct.pack("<250f", *range(250))
    cl.write(x, numbers)
    cl.write(y, numbers)
    kernel = cl.kernel(program, "saxpy")
    cl.set(kernel, struct.pack("<f", 0.1), x, y)
    cl.run(kernel, 250)
    in_place = cl.kernel(program, "copy")
    cl.set(in_place, y, y, 100)
    cl.run(in_place, 250, 25)
    return struct.unpack("<250i", cl.read(y, 1000))[1]


def images() -> object:
    """An image that the driver fills, copies and reads back with kernels of its own."""
    cl = OpenCL()
    texels, shape = struct.pack("<2I", 0x10B5, 0x10DC), struct.pack("<I4x3Q", 0x10F1, 8, 4, 0)
    described = ctypes.create_string_buffer(shape + bytes(40))
    flags, kind = ctypes.c_ulong(_READ_WRITE), ctypes.create_string_buffer(texels)
    first, second = (
        cl.cl.make("clCreateImage", cl.context, flags, kind, described, None) for _ in range(2)
    )
    origin, region = (c_size_t * 3)(0, 0, 0), (c_size_t * 3)(8, 4, 1)
    colour = (c_uint32 * 4)(1, 2, 3, 4)
    end = (0, None, None)
    cl.cl.call("clEnqueueFillImage", cl.queue, first, colour, origin, region, *end)
    cl.cl.call("clEnqueueCopyImage", cl.queue, first, second, origin, origin, region, *end)
    room, row = (c_uint32 * 128)(), c_size_t(0)
    read = "clEnqueueReadImage"
    cl.cl.call(read, cl.queue, second, _BLOCKING, origin, region, row, row, room, *end)
    return sorted(set(room))


def saxpy_on_each() -> object:
    """The name of the first device of each platform, and what it computes."""
    found: list[object] = []
    for number in range(OpenCL().platforms):
        cl = OpenCL(number)
        y = cl.buffer(400)
        cl.write(y, struct.pack("<100f", *range(100)))
        kernel = cl.kernel(cl.build(SAXPY), "saxpy")
        cl.set(kernel, struct.pack("<f", 2), y, y)
        cl.run(kernel, 100)
        found.append([cl.name(), struct.unpack("<100f", cl.read(y, 400))[99]])
    return found


def saxpy_on_both() -> object:
    """Two devices of one context take turns on one buffer, and each reads what is in it."""
    cl = OpenCL(devices=2)
    y, kernel = cl.buffer(400), cl.kernel(cl.build(SAXPY), "saxpy")
    cl.write(y, struct.pack("<100f", *range(100)))
    cl.set(kernel, struct.pack("<f", 2), y, y)
    found: list[float] = []
    for queue in (*cl.queues, *cl.queues):
        cl.queue = queue
        cl.run(kernel, 100)
        found.append(struct.unpack("<100f", cl.read(y, 400))[99])
    return found


def _run_over(cl: OpenCL) -> tuple[c_void_p, c_void_p, c_void_p]:
    """Run a kernel that writes far behind all memory; return its program, its buffer, and it."""
    program, out = cl.build(MISTAKES), cl.buffer(4000)
    over = cl.kernel(program, "over")
    cl.set(over, out, struct.pack("<i", 1 << 28))
    cl.run(over, 1000)
    return program, out, over


def fault() -> object:
    """An access far behind all memory: the device is lost, and all calls say so."""
    cl = OpenCL()
    program, out, over = _run_over(cl)
    try:
        cl.read(out, 4000)
    except Failed as error:
        cl.cl.call("clReleaseMemObject", out)
        cl.cl.call("clReleaseKernel", over)
        cl.cl.call("clReleaseProgram", program)
        cl.cl.call("clReleaseCommandQueue", cl.queue)
        cl.cl.call("clReleaseContext", cl.context)
        return str(error)
    return "nothing"


def fault_and_finish() -> object:
    """An access far behind all memory, and what a program that waits for it is told."""
    cl = OpenCL()
    _run_over(cl)
    try:
        cl.finish()
    except Failed as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()) + "\n")
