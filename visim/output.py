"""Writes files so that whoever looks at one finds it old or new, and never half written.

Owns how every output of visim reaches the disk: into a temporary file of the same folder, which
then takes the name. What is no regular file, such as /dev/stdout or a pipe, is written directly.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from visim.errors import ArgumentError

_WRITERS = 0o222


def write_file(file: str | os.PathLike[str], data: bytes) -> None:
    """Make `data` the content of `file`; a symbolic link stays one, and so do permissions.

    An error, or an end of the process in between, leaves an old file as it was.

    Raises:
        ArgumentError: cannot be written; the message says why.
    """
    target = check_output(file)
    with _sentences(file):
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        _replace(target, data)


def check_output(file: str | os.PathLike[str]) -> Path:
    """Return the path that `file` leads to, if a file can be written there as far as one can tell.

    Raises:
        ArgumentError: the folder does not exist, it is a folder itself, or the file is read-only.
    """
    with _sentences(file):
        target = Path(os.path.realpath(file))
        if not target.exists() and Path(file).exists():
            return Path(file)  # /dev/stdout where that is a pipe, whose real name is no path
        if target.is_symlink():
            raise ArgumentError(f"{file}: its symbolic links form a loop")
        if not target.parent.is_dir():
            raise ArgumentError(f"{file}: the folder {target.parent} does not exist; make it first")
        if target.is_dir():
            raise ArgumentError(f"{file}: this is a folder, give the name of a file")
        if target.is_file() and not target.stat().st_mode & _WRITERS:
            raise ArgumentError(f"{file}: the file is read-only; remove it or give another name")
    return target


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    made = target.with_name(f".visim-{secrets.token_hex(8)}.tmp")
    try:
        with made.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            made.chmod(mode)
        made.replace(target)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise


@contextmanager
def _sentences(file: str | os.PathLike[str]) -> Generator[None]:
    """Say what the system says of a file as the error of an argument."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"{os.fspath(file)}: cannot be written: {reason}; an existing file is unchanged"
        raise ArgumentError(message) from error
