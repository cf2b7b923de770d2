"""The process that calls libocloc, so that a crash of the compiler does not end its user.

Run by path with nothing but the standard library. It says where the library is, then answers
requests on its standard input until that is closed. A message is a JSON head and a body of
bytes, each after its length (8 bytes, little-endian). The body of an answer is what the compiler
wrote, one output after the other; the head has their names and sizes. The compiler prints to
standard output and leaves files in the current directory: the first goes nowhere, the second is a
folder that belongs to this process and is emptied after each request.

Facts: Intel's `ocloc_api.h`.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

_ELF = b"\x7fELF"
_NOTES = b"\x10\xd0\xad\xde"
"""What the compiler's notes on variables begin with; see `visim.binary.debuginfo`."""
_OUTPUTS = (_ELF, _NOTES)
ASKING = {"IGC_ShaderDumpEnable": "1", "IGC_ShaderDumpRegexFilter": ".*dbg"}
"""Lets the compiler write its notes. One of 2022 has no filter and writes a dozen files more."""


def main(library: str, folder: str, notes: str = "") -> None:
    """Serve requests with `library`; `folder` is this process's own and is removed at the end.

    With `notes` the compiler leaves its notes on variables. It reads its environment only once.
    """
    replies = os.fdopen(os.dup(1), "wb")
    requests = sys.stdin.buffer
    work = Path(folder, "work")
    work.mkdir()
    os.chdir(work)
    if notes:
        os.environ.update(ASKING, IGC_DumpToCustomDir=str(work))
    _silence(Path(folder, "stderr"))
    try:
        compiler = ctypes.CDLL(library)
        compiler.oclocInvoke.restype = ctypes.c_int
        send(replies, {"path": _path_of(library)})
    except (OSError, AttributeError) as error:
        send(replies, {"missing": str(error)})
        return
    while True:
        request = receive(requests)
        if request is None:
            break
        os.ftruncate(2, 0)
        send(replies, *answer(compiler, *request, work))
        _empty(work)
    shutil.rmtree(folder, ignore_errors=True)


def answer(compiler: Any, head: Any, body: bytes, work: Path) -> tuple[dict[str, Any], bytes]:
    """Do what a request asks in the folder `work`, which is the current one; return the answer."""
    source = _write_files(work, head.get("files", ()), body)
    code, outputs = _invoke(compiler, head["arguments"], head.get("source"), source)
    log = outputs.pop("stdout.log", b"").rstrip(b"\0").decode("utf-8", "replace")
    files = _files(work)
    outputs |= {name: data for name, data in files.items() if data}
    about = {
        "code": code,
        "log": log,
        "outputs": [(name, len(data)) for name, data in outputs.items()],
        "files": [name for name, data in files.items() if not data],
    }
    return about, b"".join(outputs.values())


def send(stream: BinaryIO, head: dict[str, Any], body: bytes = b"") -> None:
    """Write one message to `stream`."""
    parts = (json.dumps(head).encode(), body)
    stream.writelines(len(part).to_bytes(8, "little") + part for part in parts)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[Any, bytes] | None:
    """Read one message, or None where `stream` ends."""
    parts: list[bytes] = []
    for _ in range(2):
        length = stream.read(8)
        if len(length) < 8:
            return None
        parts.append(stream.read(int.from_bytes(length, "little")))
    return json.loads(parts[0]), parts[1]


def _silence(errors: Path) -> None:
    """Send what the compiler prints to nowhere, and its dying words to the file `errors`."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _path_of(library: str) -> str:
    """Return the file from which a loaded library came."""
    if "/" in library:
        return library
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return next((line.split(maxsplit=5)[5] for line in lines if line.endswith(library)), library)


def _invoke(
    compiler: Any, arguments: list[str], name: str | None, source: bytes
) -> tuple[int, dict[str, bytes]]:
    """Call oclocInvoke with at most one source; return its code and the outputs by name."""
    argv = (ctypes.c_char_p * len(arguments))(*(os.fsencode(text) for text in arguments))
    count = 1 if name else 0
    text = ctypes.create_string_buffer(source, len(source) + 1)
    data = (ctypes.c_void_p * 1)(ctypes.addressof(text))
    lengths = (ctypes.c_uint64 * 1)(len(source))
    names = (ctypes.c_char_p * 1)((name or "").encode())
    out_count = ctypes.c_uint32()
    out_data = ctypes.POINTER(ctypes.c_void_p)()
    out_lengths = ctypes.POINTER(ctypes.c_uint64)()
    out_names = ctypes.POINTER(ctypes.c_char_p)()
    results = [ctypes.byref(out) for out in (out_count, out_data, out_lengths, out_names)]
    inputs = (count, data, lengths, names) if name else (0, None, None, None)
    code = compiler.oclocInvoke(len(argv), argv, *inputs, 0, None, None, None, *results)
    outputs = {
        os.fsdecode(out_names[i] or b""): ctypes.string_at(out_data[i] or 0, out_lengths[i])
        for i in range(out_count.value)
        if out_data[i]
    }
    compiler.oclocFreeOutput(*results)
    return code, outputs


def _write_files(folder: Path, files: Iterable[tuple[str, int]], body: bytes) -> bytes:
    """Write the files that `body` begins with into `folder`, and return the rest."""
    for name, size in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body[:size])
        body = body[size:]
    return body


def _files(folder: Path) -> dict[str, bytes]:
    """Return the files that the compiler left in `folder`; of programs and notes their bytes."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream:
                head = stream.read(len(_ELF))
                data = head + stream.read() if head in _OUTPUTS else b""
            found[str(path.relative_to(folder))] = data
    return found


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
