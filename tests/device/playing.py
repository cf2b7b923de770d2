"""A program that plays a GPU driver: it talks to the emulated device as drivers do.

Run by tests with the device library preloaded; `python -m tests.device.playing NAME` runs one part,
which prints what it found as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import random
import struct
import sys
import threading
import time
from collections.abc import Callable

from visim.device.models import ADDRESS_BITS

NODE, FIRST = "/dev/dri/renderD", 128
QUERY, CREATE, OFFSET, VM, VM_GONE, BIND, QUEUE, QUEUE_GONE, PROPERTY, EXEC, WAIT = range(
    0x40, 0x4B
)
CLOSE, VERSION, SHARE, TAKE = 0x09, 0x00, 0x2D, 0x2E
PAGE, OBJECT = 4096, 1 << 16
BATCH, DATA = 0x2345_0000_0000, 0x2345_0010_0000
END = 0x0500_0000
_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """An ioctl failed; `args[0]` is the error's name."""


class Device:
    """An open render node."""

    def __init__(self, number: int = 0) -> None:
        self.file = os.open(f"{NODE}{FIRST + number}", os.O_RDWR | os.O_CLOEXEC)

    def ask(self, command: int, layout: str, *values: int) -> tuple[int, ...]:
        """Do an ioctl with a structure; return the structure afterwards."""
        data = bytearray(struct.pack("<" + layout, *values))
        room = (ctypes.c_char * len(data)).from_buffer(data)
        request = 3 << 30 | len(data) << 16 | ord("d") << 8 | command
        if _libc.ioctl(self.file, ctypes.c_ulong(request), room):
            raise Refused(errno.errorcode[ctypes.get_errno()])
        return struct.unpack("<" + layout, data)

    def query(self, number: int) -> bytes:
        """Return the answer to a device query."""
        size = self.ask(QUERY, "Q2IQ2Q", 0, number, 0, 0, 0, 0)[2]
        room = ctypes.create_string_buffer(size)
        self.ask(QUERY, "Q2IQ2Q", 0, number, size, ctypes.addressof(room), 0, 0)
        return room.raw

    def create(self, size: int = OBJECT, placement: int = 2) -> int:
        """Return the handle of a new object."""
        return self.ask(CREATE, "2Q4IH3H2Q", 0, size, placement, 0, 0, 0, 2, 0, 0, 0, 0, 0)[5]

    def show(self, handle: int, size: int = OBJECT) -> mmap.mmap:
        """Return an object's memory in this process."""
        offset = self.ask(OFFSET, "Q2IQ2Q", 0, handle, 0, 0, 0, 0)[3]
        return mmap.mmap(self.file, size, offset=offset)

    def vm(self) -> int:
        """Return a new VM."""
        return self.ask(VM, "Q2I2Q", 0, 2, 0, 0, 0)[2]

    def bind(
        self, vm: int, address: int, size: int, handle: int, *, kind: int = 0, place: int = 0
    ) -> None:
        """Map an object, or for kind 2 memory of this process at `place`; kind 1 unmaps."""
        operation = (0, handle, 0, 0, place, size, address, kind, 2, 0, 0, 0, 0, 0)
        values = (0, vm, 0, 0, 1, *operation, 0, 0, 0, 0, 0)
        self.ask(BIND, "Q4I" + "QI2H3Q4I3Q" + "2IQ2Q", *values)

    def queue(self, vm: int, engine: int = 4) -> int:
        """Return a new queue."""
        instance = ctypes.create_string_buffer(struct.pack("<4H", engine, 0, 0, 0))
        return self.ask(QUEUE, "Q2H3IQ2Q", 0, 1, 1, vm, 0, 0, ctypes.addressof(instance), 0, 0)[5]

    def run(self, queue: int, address: int) -> None:
        """Start a batch."""
        self.ask(EXEC, "Q2I2QH3H2Q", 0, queue, 0, 0, address, 1, 0, 0, 0, 0, 0)

    def is_lost(self, queue: int) -> bool:
        """Return whether a queue is banned."""
        return bool(self.ask(PROPERTY, "Q2I3Q", 0, queue, 0, 0, 0, 0)[3])


def store(address: int, value: int) -> list[int]:
    """Return an MI_STORE_DATA_IMM."""
    return [0x1000_0002, address & 0xFFFF_FFFF, address >> 32, value]


class Work:
    """A VM with a batch and data, and a queue."""

    def __init__(self, device: Device, engine: int = 4) -> None:
        self.device = device
        self.vm = device.vm()
        handles = device.create(), device.create()
        self.batch, self.data = (device.show(handle) for handle in handles)
        device.bind(self.vm, BATCH, OBJECT, handles[0])
        device.bind(self.vm, DATA, OBJECT, handles[1])
        self.queue = device.queue(self.vm, engine)

    def run(self, *words: int) -> None:
        """Run a batch."""
        self.batch[: 4 * len(words) + 4] = struct.pack(f"<{len(words) + 1}I", *words, END)
        self.device.run(self.queue, BATCH)

    def word(self, place: int = 0) -> int:
        """Return a word of the data."""
        return struct.unpack_from("<I", self.data, 4 * place)[0]


def wait(is_met: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until something is true; return whether it has become so."""
    end = time.monotonic() + seconds
    while not is_met():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def identity() -> object:
    """What the device says of itself."""
    device = Device()
    config = struct.unpack("<2I5Q", device.query(2))
    status = os.fstat(device.file)
    with open("/sys/bus/pci/devices/0000:03:00.0/device") as file:  # noqa: PTH123
        number = file.read()
    return {
        "device": config[2] & 0xFFFF,
        "bits": config[5] == ADDRESS_BITS,
        "node": [os.major(status.st_rdev), os.minor(status.st_rdev)],
        "link": os.readlink("/sys/dev/char/226:128")[-27:],  # noqa: PTH115
        "sysfs": number.strip(),
        "engines": struct.unpack_from("<I", device.query(0))[0],
        "others": os.path.exists("/dev/dri/renderD129"),  # noqa: PTH110
    }


def batches() -> object:
    """Batches run, one after another, on several VMs; what was done is in memory."""
    device = Device()
    works = [Work(device), Work(device, 1)]
    done: list[bool] = []
    for number, work in enumerate(works):
        work.run(*store(DATA, 10 + number))
        done.append(wait(lambda work=work, number=number: work.word() == 10 + number))
        work.run(*store(DATA + 4, 20))
        done.append(wait(lambda work=work: work.word(1) == 20))
    return done


def barrier() -> object:
    """A page whose writes reach the device; nothing else may be asked with its flag."""
    device, found = Device(), list[str]()
    offset = device.ask(OFFSET, "Q2IQ2Q", 0, 0, 1, 0, 0, 0)[3]
    with mmap.mmap(device.file, PAGE, prot=mmap.PROT_WRITE, offset=offset) as page:
        page[:4] = bytes(4)
    for handle, flags in ((device.create(), 1), (0, 2), (0, 0)):
        try:
            device.ask(OFFSET, "Q2IQ2Q", 0, handle, flags, 0, 0, 0)
        except Refused as refused:
            found.append(refused.args[0])
    return found


def _refusal(action: Callable[[], object]) -> str:
    try:
        action()
    except Refused as error:
        return str(error.args[0])
    return "taken"


def shared() -> object:
    """An object of one device is mapped by another, and stays until nobody holds it."""
    first, second = Device(), Device(1)
    handle = first.create()
    token = first.ask(SHARE, "2Ii", handle, os.O_RDWR | os.O_CLOEXEC, 0)[2]
    early = _refusal(lambda: second.bind(second.vm(), DATA, OBJECT, handle))
    taken = second.ask(TAKE, "2Ii", 0, 0, os.dup(token))[0]
    size = os.lseek(token, 0, os.SEEK_END)
    os.close(token)
    first.ask(CLOSE, "2I", handle, 0)
    work = Work(second)
    second.bind(work.vm, DATA + OBJECT, OBJECT, taken)
    view = second.show(taken)
    work.run(*store(DATA + OBJECT, 77))
    return {
        "size": size,
        "before it is taken": early,
        "arrives": wait(lambda: view[:4] == struct.pack("<I", 77)),
        "closed": _refusal(lambda: first.ask(SHARE, "2Ii", handle, 0, 0)),
        "no file": _refusal(lambda: second.ask(TAKE, "2Ii", 0, 0, 999)),
        "another file": _refusal(lambda: second.ask(TAKE, "2Ii", 0, 0, 0)),
        "flags": _refusal(lambda: second.ask(SHARE, "2Ii", taken, 1 << 20, 0)),
        "end": _refusal(lambda: second.ask(CLOSE, "2I", taken, 0)),
        "twice": _refusal(lambda: second.ask(CLOSE, "2I", taken, 0)),
    }


def program_memory() -> object:
    """Memory of the program is copied from and to by the copy engine."""
    device = Device()
    work = Work(device, 1)
    own = mmap.mmap(-1, PAGE)
    own[:5] = b"hello"
    place = ctypes.addressof(ctypes.c_char.from_buffer(own))
    device.bind(work.vm, DATA + OBJECT, PAGE, 0, kind=2, place=place)
    copy = [0x5680_0008, 4, 0, 4, 4]
    there, here = (DATA + 64, DATA + OBJECT), (DATA + OBJECT + 100, DATA + 64)
    words: list[int] = []
    for target, source in (there, here):
        words += [*copy, source & 0xFFFF_FFFF, source >> 32, target & 0xFFFF_FFFF, target >> 32, 0]
    work.run(*words, *store(DATA, 1))
    done = wait(lambda: work.word() == 1)
    return [done, work.data[64:69].decode(), own[100:105].decode()]


def unknown_command() -> object:
    """An unknown command makes the queue a lost one; later batches are refused."""
    work = Work(Device())
    work.run(0x1F80_0001, 0)
    lost = wait(lambda: work.device.is_lost(work.queue))
    try:
        work.run(*store(DATA, 1))
    except Refused as refused:
        return [lost, refused.args[0]]
    return [lost, "accepted"]


def forked() -> object:
    """A forked child has lost the VM and is told so once; the parent goes on."""
    work = Work(Device())
    work.run(*store(DATA, 1))
    first = wait(lambda: work.word() == 1)
    child = os.fork()
    if child == 0:
        for _ in range(2):
            with contextlib.suppress(Refused):
                work.run(*store(DATA, 3))
                os._exit(2)
        os._exit(0 if work.device.is_lost(work.queue) else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    work.run(*store(DATA, 2))
    return [first, code, wait(lambda: work.word() == 2)]


def _processor_s(process: int) -> float:
    with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_pages(process: int) -> int:
    """Return how many pages of memory a process has."""
    with open(f"/proc/{process}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1])


def processes_of_vms() -> list[int]:
    """Return the numbers of the processes that run this program's batches."""
    found: list[int] = []
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:  # noqa: PTH123
            words = file.read().split(b"\0")
            if b"visim.device.vm" in words and words[-2] == str(os.getpid()).encode():
                found.append(int(name))
    return found


def idle() -> object:
    """Processor time, in seconds, of the processes of VMs while nothing is to do for a second."""
    works = [Work(Device()), Work(Device(), 1)]
    for work in works:
        work.run(*store(DATA, 1))
        wait(lambda work=work: work.word() == 1)
    processes = processes_of_vms()
    before = sum(map(_processor_s, processes))
    time.sleep(1)
    return [len(processes), sum(map(_processor_s, processes)) - before]


def many() -> object:
    """What 10,000 batches and 1,000 mappings leave behind: pages, and open files."""
    work = Work(Device())
    (process,) = (work.run(*store(DATA, 1)), wait(lambda: work.word() == 1), processes_of_vms())[2]
    held: list[tuple[int, int]] = []
    for turn in range(3):
        for number in range(2, 5002 if turn else 102):
            work.run(*store(DATA, number))
            wait(lambda number=number: work.word() == number)
            if number % 10 == 0:
                handle = work.device.create()
                work.device.bind(work.vm, DATA + OBJECT, OBJECT, handle)
                work.device.bind(work.vm, DATA + OBJECT, OBJECT, 0, kind=1)
                work.device.ask(CLOSE, "2I", handle, 0)
        work.run(*store(DATA, 0))
        wait(lambda: work.word() == 0)
        files = len(os.listdir(f"/proc/{process}/fd")) + len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        held.append((memory_pages(process), files))
    return [held[2][0] - held[1][0], held[2][1] - held[0][1]]


def threads() -> object:
    """Several threads with VMs of their own, and two that share one."""
    device = Device()
    shared = Work(device)
    done: list[bool] = []

    def alone(number: int) -> None:
        work = Work(device)
        for value in range(1, 30):
            work.run(*store(DATA, value))
            done.append(wait(lambda value=value: work.word() == value))
        del number

    def together(place: int) -> None:
        for number in range(50):
            handle = device.create()
            there = DATA + (2 + place) * OBJECT
            device.bind(shared.vm, there, OBJECT, handle)
            device.bind(shared.vm, there, OBJECT, 0, kind=1)
            device.ask(CLOSE, "2I", handle, 0)
            if place == 0:
                shared.run(*store(DATA, number + 1))
                done.append(wait(lambda number=number: shared.word() == number + 1))

    running = [threading.Thread(target=alone, args=(number,)) for number in range(3)]
    running += [threading.Thread(target=together, args=(place,)) for place in range(2)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return [len(done), all(done)]


def no_children() -> object:
    """The process of a VM is no child of the program."""
    work = Work(Device())
    work.run(*store(DATA, 1))
    wait(lambda: work.word() == 1)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def hostile() -> object:
    """Random ioctls and batches end in errors, and the device goes on for others."""
    seed = int(sys.argv[2])
    chance = random.Random(seed)
    device = Device()
    device.create()
    commands = [CREATE, OFFSET, VM, VM_GONE, BIND, QUEUE, QUEUE_GONE, PROPERTY, EXEC, CLOSE, QUERY]
    commands += [SHARE, TAKE]
    for _ in range(3000):
        command = chance.choice([*commands, WAIT, VERSION])
        words = [
            chance.choice([0, 1, 2, 3, 0xFFFF_FFFF, chance.getrandbits(32)]) for _ in range(60)
        ]
        if command == WAIT:
            words[10:12] = [0, 0]
        count = chance.choice([0, 1, 6, 24, 60])
        with contextlib.suppress(Refused):
            device.ask(command, f"{count}I", *words[:count])
    refused = 0
    for _ in range(4):
        work = Work(device)
        try:
            work.run(*(chance.getrandbits(32) & ~0x1C00_0000 for _ in range(64)))
        except Refused:
            refused += 1
        wait(lambda work=work: device.is_lost(work.queue), 3)
    work = Work(device)
    work.run(*store(DATA, 1))
    return wait(lambda: work.word() == 1)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()) + "\n")
