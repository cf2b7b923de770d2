"""OpenCL programs that use more of OpenCL than most: linking, binaries, SPIR-V, threads, events.

Run by tests under `visim exec`, as those of `programs` are; each prints what it has got as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import struct
import sys
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path

from tests.device.playing import memory_pages, processes_of_vms
from tests.device.programs import SAXPY, Failed, OpenCL
from visim.binary.elf import ElfImage

_BINARY_SIZES, _BINARIES = 0x1165, 0x1166
_COPY, _OUT_OF_ORDER, _PROPERTIES = 32, 1, 0x1093
_MIB = 1 << 20

LIBRARY = "int triple(int x) { return 3 * x + OFFSET; }"
HEADER = "int triple(int x);\n#define FACTOR 2\n"
USER = """
#include "triple.h"
kernel void fill(global int *out) {
    out[get_global_id(0)] = FACTOR * triple(get_global_id(0));
}
"""


def _source(cl: OpenCL, text: str) -> c_void_p:
    given = c_char_p(text.encode())
    return cl.cl.make("clCreateProgramWithSource", cl.context, 1, byref(given), None)


def _compile(cl: OpenCL, text: str, options: str, header: str | None = None) -> c_void_p:
    program, one = _source(cl, text), byref(cl.device)
    headers = (0, None, None)
    if header is not None:
        headers = (1, byref(_source(cl, header)), byref(c_char_p(b"triple.h")))
    given = c_char_p(options.encode())
    cl.cl.call("clCompileProgram", program, 1, one, given, *headers, None, None)
    return program


def _link(cl: OpenCL, options: str, *parts: c_void_p) -> c_void_p:
    given, inputs = c_char_p(options.encode()), (c_void_p * len(parts))(*parts)
    end = (len(parts), inputs, None, None)
    return cl.cl.make("clLinkProgram", cl.context, 1, byref(cl.device), given, *end)


def _filled(cl: OpenCL, program: c_void_p) -> list[int]:
    out = cl.buffer(40)
    kernel = cl.kernel(program, "fill")
    cl.set(kernel, out)
    cl.run(kernel, 10)
    return list(struct.unpack("<10i", cl.read(out, 40)))


def linked() -> object:
    """Two sources and a header, compiled apart and linked; then by way of a library."""
    cl = OpenCL()
    used, user = _compile(cl, LIBRARY, "-DOFFSET=5"), _compile(cl, USER, "", HEADER)
    at_once = _filled(cl, _link(cl, "", used, user))
    library = _link(cl, "-create-library", used)
    return at_once == _filled(cl, _link(cl, "", library, user)) and at_once


def _saxpy(cl: OpenCL, program: c_void_p) -> float:
    y = cl.buffer(400)
    cl.write(y, struct.pack("<100f", *range(100)))
    kernel = cl.kernel(program, "saxpy")
    cl.set(kernel, struct.pack("<f", 2), y, y)
    cl.run(kernel, 100)
    return float(struct.unpack("<100f", cl.read(y, 400))[99])


def _info(cl: OpenCL, program: c_void_p) -> bytes:
    """Return a program's binary."""
    size = c_size_t()
    cl.cl.call("clGetProgramInfo", program, _BINARY_SIZES, c_size_t(8), byref(size), None)
    room = ctypes.create_string_buffer(size.value)
    place = byref(c_void_p(ctypes.addressof(room)))
    cl.cl.call("clGetProgramInfo", program, _BINARIES, c_size_t(8), place, None)
    return room.raw


def binary() -> object:
    """A program is made of another one's binary, which is freed first."""
    cl = OpenCL()
    first = cl.build(SAXPY)
    data = _info(cl, first)
    cl.cl.call("clReleaseProgram", first)
    status, size, text = c_int(9), c_size_t(len(data)), c_char_p(data)
    made = cl.cl.make(
        *("clCreateProgramWithBinary", cl.context, 1, byref(cl.device), byref(size)),
        *(byref(text), byref(status)),
    )
    cl.cl.call("clBuildProgram", made, 1, byref(cl.device), b"", None, None)
    return [status.value, _saxpy(cl, made)]


def spirv() -> object:
    """A program is made of the SPIR-V that another one was compiled to."""
    cl = OpenCL()
    section = ElfImage(_info(cl, cl.build(SAXPY)), "saxpy").named(".spv")
    assert section is not None
    text = bytes(section.data)
    size = c_size_t(len(text))
    made = cl.cl.make("clCreateProgramWithIL", cl.context, c_char_p(text), size)
    cl.cl.call("clBuildProgram", made, 1, byref(cl.device), b"", None, None)
    return [text[:4].hex(), _saxpy(cl, made)]


def large() -> object:
    """Copies of 32 MiB, which a driver may share out among several engines."""
    cl = OpenCL()
    data = bytes(range(251)) * (32 * _MIB // 251)
    first, second = cl.buffer(len(data)), cl.buffer(len(data))
    cl.write(first, data)
    zero, end = c_size_t(0), (c_size_t(len(data)), 0, None, None)
    cl.cl.call("clEnqueueCopyBuffer", cl.queue, first, second, zero, zero, *end)
    return cl.read(second, len(data)) == data


def threads() -> object:
    """Four threads, each with a queue, read and write memory of the program's own."""
    cl = OpenCL()
    right: list[bool] = []

    def work(factor: int) -> None:
        own = OpenCL.__new__(OpenCL)
        own.cl, own.device, own.context = cl.cl, cl.device, cl.context
        own.queue = cl.cl.make("clCreateCommandQueueWithProperties", cl.context, cl.device, None)
        kernel = own.kernel(own.build(SAXPY), "saxpy")
        for turn in range(8):
            before, y = [float(i + turn) for i in range(1000)], own.buffer(4000)
            own.write(y, struct.pack("<1000f", *before))
            own.set(kernel, struct.pack("<f", factor), y, y)
            own.run(kernel, 1000)
            after = struct.unpack("<1000f", own.read(y, 4000))
            right.append(list(after) == [one * (1 + factor) for one in before])
            own.cl.call("clReleaseMemObject", y)

    running = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 5)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return [len(right), all(right)]


def events() -> object:
    """Kernels in a queue without order wait for each other by events, and for the user's."""
    cl = OpenCL()
    asked = (ctypes.c_uint64 * 3)(_PROPERTIES, _OUT_OF_ORDER, 0)
    queue = cl.cl.make("clCreateCommandQueueWithProperties", cl.context, cl.device, asked)
    program = cl.build("kernel void step(global int *x, int v) { *x = *x * 2 + v; }")
    x, kernel = cl.buffer(4), cl.kernel(program, "step")
    cl.write(x, bytes(4))
    before = first = cl.cl.make("clCreateUserEvent", cl.context)
    for value in range(5):
        cl.set(kernel, x, struct.pack("<i", value))
        after, size = c_void_p(), byref(c_size_t(1))
        end = (1, byref(before), byref(after))
        cl.cl.call("clEnqueueNDRangeKernel", queue, kernel, 1, None, size, None, *end)
        before = after
    cl.cl.call("clSetUserEventStatus", first, 0)
    cl.cl.call("clWaitForEvents", 1, byref(before))
    return struct.unpack("<i", cl.read(x, 4))[0]


def odd_sizes() -> object:
    """How often each work-item ran where groups do not fit, and the sizes of their groups."""
    cl = OpenCL()
    source = """
    kernel void count(global int *out) {
        int x = get_global_id(0) - get_global_offset(0);
        int y = get_global_id(1) - get_global_offset(1);
        atomic_add(out + y * get_global_size(0) + x, 1 + 100 * get_local_size(0));
    }
    """
    out, kernel = cl.buffer(4 * 70 * 4), cl.kernel(cl.build(source, "-cl-std=CL3.0"), "count")
    cl.write(out, bytes(4 * 70 * 4))
    cl.set(kernel, out)
    offset, whole, group = ((c_size_t * 2)(*two) for two in ((5, 3), (70, 3), (16, 2)))
    end = (0, None, None)
    cl.cl.call("clEnqueueNDRangeKernel", cl.queue, kernel, 2, offset, whole, group, *end)
    rows = struct.unpack("<280i", cl.read(out, 4 * 70 * 4))
    return sorted({(value, rows.count(value)) for value in rows})


def variables() -> object:
    """Variables of a program keep their values from kernel to kernel."""
    cl = OpenCL()
    source = """
    constant int table[5] = {3, 1, 4, 1, 5};
    global int counter = 10;
    kernel void add(global int *out) {
        out[get_global_id(0)] = table[get_global_id(0) % 5];
        atomic_inc(&counter);
    }
    kernel void tell(global int *out) { *out = counter; }
    """
    program, out = cl.build(source, "-cl-std=CL3.0"), cl.buffer(400)
    add, tell = cl.kernel(program, "add"), cl.kernel(program, "tell")
    cl.set(add, out)
    cl.run(add, 100)
    total = sum(struct.unpack("<100i", cl.read(out, 400)))
    cl.set(tell, out)
    cl.run(tell, 1)
    return [total, struct.unpack("<i", cl.read(out, 4))[0]]


def _held() -> tuple[int, int, int]:
    """Return pages of memory, open files and pages of shared memory, of all that runs for us."""
    processes = [os.getpid(), *processes_of_vms()]
    pages = sum(map(memory_pages, processes))
    files = [file for one in processes for file in Path(f"/proc/{one}/fd").iterdir()]
    shared = 0
    for file in files:
        with contextlib.suppress(OSError):
            if "visim device memory" in str(file.readlink()):
                shared = max(shared, file.stat().st_blocks // 8)
    return pages, len(files), shared


def launches() -> object:
    """What many launches with buffers leave behind: pages, files, and pages of shared memory."""
    cl = OpenCL()
    kernel = cl.kernel(cl.build(SAXPY), "saxpy")

    def launch(count: int) -> None:
        for _ in range(count):
            y = cl.buffer(4096)
            cl.set(kernel, struct.pack("<f", 2), y, y)
            cl.run(kernel, 1024)
            cl.read(y, 4)
            cl.cl.call("clReleaseMemObject", y)

    count = int(sys.argv[2])
    launch(max(300, count // 4))
    before = _held()
    launch(count)
    return [after - first for first, after in zip(before, _held(), strict=True)]


def waits() -> object:
    """Says when its device runs, then launches kernels until somebody ends it."""
    cl = OpenCL()
    kernel, y = cl.kernel(cl.build(SAXPY), "saxpy"), cl.buffer(4096)
    cl.set(kernel, struct.pack("<f", 2), y, y)
    cl.run(kernel, 1024)
    cl.finish()
    sys.stdout.write(json.dumps([os.getpid(), *processes_of_vms()]) + "\n")
    sys.stdout.flush()
    while True:
        cl.run(kernel, 1024)
        cl.finish()


def forked() -> object:
    """A forked child ends by itself; the parent's device goes on."""
    cl = OpenCL()
    program = cl.build(SAXPY)
    first = _saxpy(cl, program)
    child = os.fork()
    if not child:
        os._exit(3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return [first, code, _saxpy(cl, program)]


SLOW = """
kernel void slow(global int *x) {
    int found = *x;
    for (int i = 0; i < 1000000; i++) found = found * 3 + (found >> 3);
    *x = found;
}
"""


def released() -> object:
    """A kernel and its program are released while a slow kernel before it still runs."""
    cl = OpenCL()
    slow, x = cl.kernel(cl.build(SLOW), "slow"), cl.buffer(4)
    cl.write(x, bytes(4))
    cl.set(slow, x)
    program, y = cl.build(SAXPY), cl.buffer(400)
    cl.write(y, struct.pack("<100f", *range(100)))
    kernel = cl.kernel(program, "saxpy")
    cl.set(kernel, struct.pack("<f", 2), y, y)
    cl.run(slow, 1)
    cl.run(kernel, 100)
    cl.cl.call("clFlush", cl.queue)
    cl.cl.call("clReleaseKernel", kernel)
    cl.cl.call("clReleaseProgram", program)
    return float(struct.unpack("<100f", cl.read(y, 400))[99])


def misuse() -> object:
    """The errors of calls that are wrong, as OpenCL's specification names them."""
    cl = OpenCL()
    program, out = cl.build(SAXPY), cl.buffer(400)
    kernel, size, zero = cl.kernel(program, "saxpy"), c_size_t(100), c_size_t(0)
    run, end = "clEnqueueNDRangeKernel", (0, None, None)
    found: dict[str, str] = {}

    def note(name: str, function: str, *arguments: object, makes: bool = False) -> None:
        try:
            (cl.cl.make if makes else cl.cl.call)(function, *arguments)
            found[name] = "nothing"
        except Failed as error:
            found[name] = str(error).rpartition(" ")[2]

    queue, whole = cl.queue, byref(size)
    flags = ctypes.c_ulong
    note("arguments", run, queue, kernel, 1, None, whole, None, *end)
    note("index", "clSetKernelArg", kernel, 7, c_size_t(8), byref(out))
    cl.set(kernel, struct.pack("<f", 1), out, out)
    note("dimensions", run, queue, kernel, 4, None, whole, None, *end)
    note("group", run, queue, kernel, 1, None, whole, byref(c_size_t(1 << 20)), *end)
    note("kernel", run, queue, None, 1, None, whole, None, *end)
    note("queue", run, None, kernel, 1, None, whole, None, *end)
    note("empty", "clCreateBuffer", cl.context, flags(1), zero, None, makes=True)
    note("host", "clCreateBuffer", cl.context, flags(_COPY), size, None, makes=True)
    note("huge", "clCreateBuffer", cl.context, flags(1), c_size_t(1 << 50), None, makes=True)
    note("name", "clCreateKernel", program, b"nope", makes=True)
    wrong = _source(cl, "kernel void k( {")
    note("text", "clBuildProgram", wrong, 1, byref(cl.device), b"", None, None)
    note("wait", "clWaitForEvents", 0, None)
    note("what", "clGetDeviceInfo", cl.device, 0x9999, c_size_t(8), None, None)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()) + "\n")
